(** Rows on machine words: a scan that says yes only where `check_row` does. *)
From Coq Require Import ZArith NArith List Bool FMapPositive Lia.
From R Require Import Semantics Operations Claims Kernel Loops Sound Defined Fast Words Compile.
Import ListNotations.
Open Scope Z_scope.

(** ** The loops: over the keys at one position, over positions, over the gaps between the listed ones *)

Fixpoint all_below (f : word -> word) (bar : word) (count : nat) : bool :=
  match count with
  | O => true
  | S c => if less (f (word_of_nat c)) bar then all_below f bar c else false
  end.
Fixpoint all_hashes (a c bar : word) (count : nat) : bool :=
  match count with
  | O => true
  | S k => if less (hash a c (word_of_nat k)) bar then all_hashes a c bar k else false
  end.

(** The keys at a position: 0, the position itself, or all numbers below one. *)
Inductive keys := One | Itself | Below (count : nat).

Definition test (s : staged) (ks : keys) : word -> word -> bool :=
  match s, ks with
  | Fixed w, _ => fun _ bar => less w bar
  | OnJ f, _ => fun j bar => less (f j) bar
  | Hash f c, Below d => fun j bar => all_hashes (f j) c bar d
  | _, Below d => let f := at_j s in fun j bar => all_below (f j) bar d
  | _, Itself => let f := at_j s in fun j bar => less (f j j) bar
  | _, One => let f := at_j s in fun j bar => less (f j zero) bar
  end.

Fixpoint sweep (f : word -> bool) (from count : nat) : bool :=
  match count with
  | O => true
  | S c => if f (word_of_nat (from + c)) then sweep f from c else false
  end.

Fixpoint gaps_by (lo hi : Z) (r : runs) (g : Z -> Z -> bool) : bool :=
  match r with
  | [] => g lo hi
  | (a, b) :: r' => g lo (Z.min a hi) && gaps_by (Z.max lo b) hi r' g
  end.

(** ** The scan *)

Definition most := 1099511627776.                       (* 2^40: positions and keys are far below 2^62 *)

Section Scan.
Variable s : source.
Let p := fast_program s.
Let n := s_length s.

Definition compile_rule (vs : list vector) (r : rule) : option register :=
  match r with
  | RMap _ _ _ => None
  | RHead _ q k _ _ _ _ code =>
      compile (s_tensors s) vs code [
        Register (full (size_of s k)) Key 1; Register (full n) Place 1;
        Register (full (size_of s q)) Query 1; Register (full n) At 1]
  end.
Definition compiled : list (option register) :=
  let vs := vectors (s_tensors s) in None :: None :: map (compile_rule vs) (s_rules s).

Definition keys_of (h : head) : keys :=
  match h_key h with
  | None => One
  | Some k => match nth_error (vars p) k with
      | Some Token => Below (Z.to_nat (symbols p))
      | Some Position => Itself
      | _ => Below (Z.to_nat (domain p k))
      end
  end.

(** Everything is as small as the words need it. *)
Definition ready (c : register) (h : head) (r : row) : bool :=
  fits_signed (r_interval c) && (n <=? most) && position p (r_pos r) &&
  (0 <=? r_query r) && (r_query r <? match h_query h with Some v => domain p v | None => 1 end) &&
  (- middle <=? r_score r) && (r_score r + 1 <? middle) &&
  match h_key h with Some v => domain p v <=? most | None => true end.

(** Positions a .. b-1: the first and the last one, which may have markers, and those between. *)
Definition stretch (slow : Z -> bool) (fast : word -> bool) (a b : Z) : bool :=
  let edge q := if (a <=? q) && (q <? b) then slow q else true in
  let from := Z.max 1 a in
  edge 0 && edge (n - 1) && sweep fast (Z.to_nat from) (Z.to_nat (Z.min (n - 1) b - from)).

Definition one_position (h : head) (r : row) : Z -> bool :=
  let score := h_score h (r_at r) (r_query r) in
  let ks := key_values p h in
  fun j => all_of (ks j) (fun w => below (h_left h) (score j w) j (r_score r) (r_pos r)).

Definition fast_position (c : register) (h : head) (r : row) : word -> bool :=
  let try_ := test (stage (word_of (r_at r)) (word_of (r_query r)) (r_expr c)) (keys_of h) in
  let bar := word_of (r_score r) in
  let next_bar := word_of (r_score r + 1) in            (* where an equal score loses the tie *)
  let pos := word_of (r_pos r) in
  if h_left h then fun j => try_ j (if less pos j then next_bar else bar)
  else fun j => try_ j (if less j pos then next_bar else bar).

Definition scan_row (cs : list (option register)) (r : row) : bool :=
  match nth (r_head r) cs None, nth_error (vars p) (r_head r) with
  | Some c, Some (HeadVar h) =>
      if ready c h r then
        position p (r_at r) &&
        gaps_by (first_visible (h_mask h) (r_at r)) (end_visible p (h_mask h) (r_at r)) (r_listed r)
          (stretch (one_position h r) (fast_position c h r))
      else check_row p r
  | _, _ => check_row p r
  end.
Definition scan : row -> bool := let cs := compiled in fun r => scan_row cs r.

(** ** Proofs *)

Lemma upto_intro f : forall c lo, (forall z, lo <= z < lo + Zpos c -> f z = true) -> upto c lo f = true.
Proof.
  induction c; cbn; intros lo H.
  - rewrite H, !IHc by (intros; try apply H; lia). auto.
  - rewrite !IHc by (intros; apply H; lia). auto.
  - apply H. lia.
Qed.
Lemma between_intro lo hi f : (forall z, lo <= z < hi -> f z = true) -> between lo hi f = true.
Proof. unfold between. intros H. destruct (hi - lo) eqn:E; auto. apply upto_intro. intros. apply H. lia. Qed.
Lemma all_of_intro f v : (forall z, inV z v -> f z = true) -> all_of v f = true.
Proof. destruct v; cbn; intros H; [apply between_intro; auto | apply forallb_forall; auto]. Qed.

Lemma gaps_by_gaps f g top : (forall a b, 0 <= a -> b <= top -> g a b = true -> forall j, a <= j < b -> f j = true) ->
  forall r lo hi, 0 <= lo -> hi <= top -> gaps_by lo hi r g = true -> gaps lo hi r f = true.
Proof.
  intros H. induction r as [|[a b] r IH]; cbn; intros lo hi L U G; [apply between_intro; eauto|].
  apply andb_prop in G as [G1 G2]. apply andb_true_intro. split.
  - apply between_intro. eapply H; [exact L | | exact G1]. lia.
  - apply IH; auto. lia.
Qed.

Lemma sweep_spec f from : forall count, sweep f from count = true ->
  forall j, (from <= j < from + count)%nat -> f (word_of_nat j) = true.
Proof.
  induction count as [|c IH]; cbn; intros H j J; [lia|]. destruct (f _) eqn:E; [|discriminate].
  destruct (Nat.eq_dec j (from + c)) as [->|]; auto. apply IH; auto. lia.
Qed.

(** A key, and its word. *)
Definition is_key (ks : keys) (j : word) (k : word) : Prop :=
  match ks with One => k = zero | Itself => k = j | Below d => exists c, (c < d)%nat /\ k = word_of_nat c end.

Lemma all_below_spec f bar : forall count, all_below f bar count = true ->
  forall c, (c < count)%nat -> less (f (word_of_nat c)) bar = true.
Proof.
  induction count as [|c' IH]; cbn; intros H c L; [lia|]. destruct (less _ _) eqn:E; [|discriminate].
  destruct (Nat.eq_dec c c') as [->|]; auto. apply IH; auto. lia.
Qed.
Lemma all_hashes_below a c bar : forall count, all_hashes a c bar count = all_below (hash a c) bar count.
Proof. induction count; cbn; auto. rewrite IHcount. auto. Qed.

#[local] Opaque less hash mix_word zero word_of_nat.
Lemma test_spec st ks j bar k : test st ks j bar = true -> is_key ks j k -> less (at_j st j k) bar = true.
Proof.
  intros H K. destruct ks as [| |d]; cbn [is_key] in K.
  - subst k. destruct st; exact H.
  - subst k. destruct st; exact H.
  - destruct K as (c & L & ->). destruct st; cbn [test at_j] in *; try exact H; try (eapply all_below_spec in H; [exact H | exact L]).
    rewrite all_hashes_below in H. eapply all_below_spec in H; [exact H | exact L].
Qed.
#[local] Transparent less hash mix_word zero word_of_nat.

Lemma head_of v h : nth_error (vars p) v = Some (HeadVar h) -> exists k d q ke va m l df code,
  v = S (S k) /\ nth_error (s_rules s) k = Some (RHead d q ke va m l df code) /\
  h_query h = q /\ h_key h = ke /\ forall i u j w, h_score h i u j w = run (entry_of (s_tensors s)) code (head_regs i u j w).
Proof.
  destruct v as [|[|v]]; cbn; try discriminate. rewrite nth_error_map. destruct (nth_error (s_rules s) v) as [r|] eqn:E; [|discriminate].
  destruct r as [|d q ke va m l df code]; cbn; [discriminate|]. intros [= <-].
  exists v, d, q, ke, va, m, l, df, code. cbn. repeat (split; [auto|]). intros i u j w. rewrite run_steps_run.
  - apply run_ext. intros. apply tree_entry_is.
  - unfold head_regs. repeat constructor.
Qed.

Lemma size_same a : size_of s a = match a with Some v => domain p v | None => 1 end.
Proof. destruct a; cbn; auto. symmetry. apply domain_same. Qed.

Lemma less_words a b x y : means a x -> means b y -> - middle <= x < middle -> - middle <= y < middle -> less a b = (x <? y).
Proof. intros A B X Y. unfold less. rewrite (means_signed_range a x A X), (means_signed_range b y B Y). auto. Qed.

Lemma one_position_true c h r j : nth (r_head r) compiled None = Some c -> nth_error (vars p) (r_head r) = Some (HeadVar h) ->
  ready c h r = true -> position p (r_at r) = true -> 0 < j < n - 1 ->
  fast_position c h r (word_of j) = true -> one_position h r j = true.
Proof.
  intros C E R P J F. destruct (head_of _ _ E) as (k & d & q & ke & va & m & l & df & code & V & Er & Hq & Hk & Score).
  unfold compiled in C. rewrite V in C. cbn [nth] in C.
  rewrite (nth_indep _ None (compile_rule (vectors (s_tensors s)) (RMap 0 [] []))) in C
    by (rewrite map_length; apply nth_error_Some; congruence).
  rewrite map_nth, (nth_error_nth _ _ _ Er) in C. cbn [compile_rule] in C.
  unfold ready in R. split_and. apply position_spec in P. rename H5 into Hpos. apply position_spec in Hpos. zb.
  change (length_ p) with n in *. assert (most < middle) by reflexivity.
  apply all_of_intro. intros w W.
  (* the key, in its domain and as a word *)
  assert (K : 0 <= w < size_of s ke /\ - middle <= w < middle /\ is_key (keys_of h) (word_of j) (word_of w)).
  { rewrite size_same. rewrite <- Hk. unfold key_values, keys_of in *. destruct (h_key h) as [v|] eqn:Hv; [|destruct W as [<-|[]]; repeat split; unfold middle; lia].
    assert (D : forall e, 0 <= w < e -> e <= domain p v -> 0 <= w < domain p v /\ - middle <= w < middle /\
      is_key (Below (Z.to_nat e)) (word_of j) (word_of w)).
    { intros e We L. split; [lia|]. split; [lia|]. exists (Z.to_nat w). split; [lia|]. unfold word_of_nat. rewrite Z2Nat.id by lia. auto. }
    destruct (nth_error (vars p) v) as [[| | |]|] eqn:Ev.
    - assert (M : marker p j = None).
      { unfold marker. change (length_ p) with n. replace (j =? 0) with false by (symmetry; apply Z.eqb_neq; lia).
        replace (j =? n - 1) with false by (symmetry; apply Z.eqb_neq; lia). rewrite !andb_false_r. auto. }
      rewrite M in W. apply D; auto. unfold domain. rewrite Ev. destruct (start_ p), (end_ p); lia.
    - destruct W as [<-|[]]. unfold domain. rewrite Ev. change (length_ p) with n. cbn. split; [lia|]. split; [lia | auto].
    - apply D; [exact W | lia].
    - apply D; [exact W | lia].
    - apply D; [exact W | lia]. }
  destruct K as (K1 & K2 & K3).
  (* the score, as a word *)
  assert (Q : 0 <= r_query r < size_of s q) by (rewrite size_same, <- Hq; lia).
  assert (S : stands_for (word_of (r_at r)) (word_of (r_query r)) (word_of j) (word_of w) c
                (h_score h (r_at r) (r_query r) j w)).
  { rewrite Score. eapply compile_means; [exact C|].
    unfold head_regs, stands_for, has, full. repeat constructor; cbn; try apply means_of; lia. }
  destruct (signed_of _ _ _ _ _ _ S H) as [Sg B]. rewrite <- (stage_eval _ _ _ (word_of j) (word_of w)) in Sg.
  set (sc := h_score h (r_at r) (r_query r) j w) in *. set (st := stage _ _ _) in *.
  assert (G : less (at_j st (word_of j) (word_of w))
    (if (if h_left h then r_pos r <? j else j <? r_pos r) then word_of (r_score r + 1) else word_of (r_score r)) = true).
  { eapply test_spec; [|exact K3]. unfold fast_position in F. fold st in F.
    rewrite <- (less_words _ _ _ _ (means_of (r_pos r)) (means_of j)) by lia.
    rewrite <- (less_words _ _ _ _ (means_of j) (means_of (r_pos r))) by lia. destruct (h_left h); exact F. }
  unfold less in G. rewrite Sg in G. unfold below. change (h_score h (r_at r) (r_query r) j w) with sc.
  destruct (if h_left h then r_pos r <? j else j <? r_pos r);
    rewrite (means_signed_range _ _ (means_of _)) in G by lia; zb; apply orb_true_iff; rewrite andb_true_iff, Z.ltb_lt, Z.eqb_eq; lia.
Qed.

Lemma stretch_spec slow fast a b : n <= most -> (forall j, 0 < j < n - 1 -> fast (word_of j) = true -> slow j = true) ->
  0 <= a -> b <= n -> stretch slow fast a b = true -> forall j, a <= j < b -> slow j = true.
Proof.
  intros N H A B T j J. unfold stretch in T. split_and.
  destruct (Z.eq_dec j 0) as [->|]; [rewrite (proj2 (Z.leb_le a 0)), (proj2 (Z.ltb_lt 0 b)) in H0 by lia; exact H0|].
  destruct (Z.eq_dec j (n - 1)) as [->|]; [rewrite (proj2 (Z.leb_le a (n - 1))), (proj2 (Z.ltb_lt (n - 1) b)) in H2 by lia; exact H2|].
  apply H; [lia|]. eapply sweep_spec with (j := Z.to_nat j) in H1; [|lia].
  unfold word_of_nat in H1. rewrite Z2Nat.id in H1 by lia. exact H1.
Qed.

Theorem scan_sound r : scan r = true -> check_row p r = true.
Proof.
  unfold scan. cbv zeta. unfold scan_row. destruct (nth (r_head r) compiled None) as [c|] eqn:C; auto.
  destruct (nth_error (vars p) (r_head r)) as [[| | |h]|] eqn:E; auto. destruct (ready c h r) eqn:R; auto.
  intros H. apply andb_prop in H as [P G]. unfold check_row. rewrite E. cbv zeta. rewrite P. cbn [andb].
  assert (I := position_spec _ _ P). change (length_ p) with n in I.
  assert (N : n <= most) by (unfold ready in R; split_and; zb; auto).
  eapply (gaps_by_gaps _ (stretch (one_position h r) (fast_position c h r)) n); [| | |exact G].
  - intros a b A B S. apply (stretch_spec (one_position h r) (fast_position c h r) a b N); auto.
    intros j J. apply one_position_true; auto.
  - unfold first_visible. destruct (h_mask h); lia.
  - unfold end_visible. change (length_ p) with n. destruct (h_mask h); lia.
Qed.
End Scan.
