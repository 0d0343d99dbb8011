(** Proofs: the loops, lookups and orders of Kernel.v do what they should. *)
From Coq Require Import ZArith NArith List Bool FMapPositive Lia.
From R Require Import Semantics Claims Kernel.
Import ListNotations.
Open Scope Z_scope.

Ltac split_and :=
  repeat match goal with H : _ && _ = true |- _ => apply andb_prop in H; destruct H end.
Ltac zb :=
  repeat match goal with
  | H : (_ <=? _) = true |- _ => apply Z.leb_le in H
  | H : (_ <? _) = true |- _ => apply Z.ltb_lt in H
  | H : (_ =? _) = true |- _ => apply Z.eqb_eq in H
  | H : (_ <=? _) = false |- _ => apply Z.leb_gt in H
  | H : (_ <? _) = false |- _ => apply Z.ltb_ge in H
  | H : (_ =? _) = false |- _ => apply Z.eqb_neq in H
  | H : Nat.eqb _ _ = true |- _ => apply Nat.eqb_eq in H
  | H : N.eqb _ _ = true |- _ => apply N.eqb_eq in H
  | H : negb _ = true |- _ => apply negb_true_iff in H
  end.

(** ** Sets *)

Definition inV (z : Z) (s : vset) : Prop := match s with Upto d => 0 <= z < d | Vals l => In z l end.

Lemma upto_spec : forall c lo f, upto c lo f = true -> forall z, lo <= z < lo + Zpos c -> f z = true.
Proof.
  induction c; cbn; intros lo f H z Hz; split_and.
  - destruct (Z.eq_dec z lo); [subst; auto|].
    destruct (Z_lt_le_dec z (lo + 1 + Zpos c)); [eapply IHc; [exact H0|lia] | eapply IHc; [exact H1|lia]].
  - destruct (Z_lt_le_dec z (lo + Zpos c)); [eapply IHc; [exact H|lia] | eapply IHc; [exact H0|lia]].
  - assert (z = lo) by lia. subst; auto.
Qed.

Lemma between_spec lo hi f : between lo hi f = true -> forall z, lo <= z < hi -> f z = true.
Proof.
  unfold between. intros H z Hz. destruct (hi - lo) eqn:E; try lia.
  eapply upto_spec; [exact H | lia].
Qed.

Lemma all_of_spec s f : all_of s f = true -> forall z, inV z s -> f z = true.
Proof.
  destruct s; cbn; intros H z Hz; [eapply between_spec; eauto | rewrite forallb_forall in H; auto].
Qed.

Lemma mem_spec z l : mem z l = true <-> In z l.
Proof.
  unfold mem. rewrite existsb_exists. split; [intros (y & H & E); zb; subst; auto|].
  intros; exists z; rewrite Z.eqb_refl; auto.
Qed.
Lemma mem_not z l : negb (mem z l) = true <-> ~ In z l.
Proof. rewrite <- mem_spec. destruct (mem z l); cbn; split; congruence. Qed.

Lemma among_spec z s : inV z s -> among z s = true.
Proof.
  destruct s; cbn; intros H; [|apply mem_spec; auto].
  apply andb_true_intro. split; [apply Z.leb_le | apply Z.ltb_lt]; lia.
Qed.

Lemma single_spec l : single l = true -> exists z, l = [z].
Proof. destruct l as [|z [|]]; cbn; try discriminate. eauto. Qed.

Lemma equal_spec : forall l l', equal l l' = true -> l = l'.
Proof. induction l; destruct l'; cbn; try discriminate; auto. intros H. split_and. zb. f_equal; auto. Qed.

Lemma lists_spec s l : lists s l = true -> forall z, inV z s -> In z l.
Proof.
  destruct s as [d|l']; cbn; [|intros H; apply equal_spec in H; subst; auto].
  assert (G : forall l from, counts from d l = true -> forall z, from <= z < d -> In z l).
  { clear l. induction l; cbn; intros from H z Hz; [zb; lia|]. split_and. zb.
    destruct (Z.eq_dec z from); [left; congruence | right; eapply IHl; [exact H0 | lia]]. }
  intros H z Hz. eapply G; eauto.
Qed.

(** ** Runs and boxes *)

Lemma inside_spec : forall r' r, inside r r' = true -> forall q, on q r -> on q r'.
Proof.
  induction r' as [|[l' h'] t' IH]; intros r H q Hq.
  - destruct r; [exact Hq | discriminate].
  - induction r as [|[l h] t IHr]; [destruct Hq as (ab & [] & _)|]. cbn -[inside] in H.
    change (inside ((l, h) :: t) ((l', h') :: t') = true) in H. cbn in H.
    destruct ((l' <=? l) && (h <=? h')) eqn:E.
    + destruct Hq as (ab & [<-|Hi] & Hab).
      * split_and. zb. exists (l', h'). cbn in *. split; auto. lia.
      * apply IHr; [exact H | exists ab; auto].
    + destruct (IH _ H q Hq) as (ab & Hi & Hab). exists ab. split; [right; auto | auto].
Qed.

Lemma on_point q i : on q [(i, i + 1)] <-> q = i.
Proof. split; [intros (ab & [<-|[]] & H); cbn in H; lia | intros ->; exists (i, i + 1); cbn; split; auto; lia]. Qed.

Lemma gaps_spec f : forall l lo hi, gaps lo hi l f = true -> forall j, lo <= j < hi -> ~ on j l -> f j = true.
Proof.
  induction l as [|[a b] l IH]; cbn; intros lo hi H j Hj Hn; split_and.
  - eapply between_spec; eauto.
  - destruct (Z_lt_le_dec j a); [eapply between_spec; [exact H | lia]|].
    assert (~ (a <= j < b)) by (intros X; apply Hn; exists (a, b); cbn; auto).
    eapply IH; [exact H0 | lia |]. intros (ab & I & X). apply Hn. exists ab. cbn. auto.
Qed.

Lemma increasing_from : forall r from ab, increasing from r = true -> In ab r -> from <= fst ab < snd ab.
Proof.
  induction r as [|[l h] r IH]; cbn; intros from ab H I; [tauto|]. split_and. zb.
  destruct I as [<-|I]; [cbn; lia|]. specialize (IH _ _ H0 I). lia.
Qed.

(** At most one cell of a box holds a position. *)
Lemma increasing_once : forall b from l h s l' h' s' q, increasing from (cell_runs b) = true ->
  In (l, h, s) b -> In (l', h', s') b -> l <= q < h -> l' <= q < h' -> (l, h, s) = (l', h', s').
Proof.
  induction b as [|[[l0 h0] s0] b IH]; cbn; intros from l h s l' h' s' q H I I' Q Q'; [tauto|]. split_and. zb.
  assert (F : forall l h s, In (l, h, s) b -> h0 <= l).
  { intros. apply (in_map fst) in H2. apply (increasing_from _ _ _ H0) in H2. cbn in H2. lia. }
  destruct I as [[= -> -> ->]|I], I' as [[= -> -> ->]|I']; auto.
  - apply F in I'. lia.
  - apply F in I. lia.
  - eapply IH; eauto.
Qed.

Lemma size_nonneg : forall r from, increasing from r = true -> 0 <= size r.
Proof.
  induction r as [|[l h] r IH]; intros from H; [cbn; lia|]. cbn in H. change (size ((l, h) :: r)) with (h - l + size r).
  split_and. zb. specialize (IH _ H0). lia.
Qed.

(** ** Lookups *)

Lemma table_spec {A} (l : list A) : forall k m, let m' := fold_left (fun km a => (Pos.succ (fst km), PositiveMap.add (fst km) a (snd km))) l (k, m) in
  (forall i, (i < k)%positive -> PositiveMap.find i (snd m') = PositiveMap.find i m) /\
  (forall j, (j < length l)%nat -> PositiveMap.find (Pos.of_succ_nat j + k - 1)%positive (snd m') = nth_error l j) /\
  (forall i, (Pos.of_succ_nat (length l) + k - 1 <= i)%positive -> PositiveMap.find i (snd m') = PositiveMap.find i m).
Proof.
  induction l as [|a l IH]; cbn; intros k m; [split; [auto|]; split; [intros; lia | auto]|].
  destruct (IH (Pos.succ k) (PositiveMap.add k a m)) as (A1 & A2 & A3). split; [|split].
  - intros i Hi. rewrite A1 by lia. apply PositiveMap.gso. lia.
  - intros [|j] Hj.
    + replace (Pos.of_succ_nat 0 + k - 1)%positive with k by lia. rewrite A1 by lia. apply PositiveMap.gss.
    + change (nth_error (a :: l) (S j)) with (nth_error l j). rewrite <- A2 by lia. f_equal. lia.
  - intros i Hi. rewrite A3 by lia. apply PositiveMap.gso. lia.
Qed.

Lemma succ_pos_nat k : N.succ_pos k = Pos.of_succ_nat (N.to_nat k).
Proof. destruct k; cbn; [auto|]. symmetry. apply Pos2SuccNat.id_succ. Qed.

Lemma get_table {A} (l : list A) k d : get (table l) k d = nth (N.to_nat k) l d.
Proof.
  unfold get, table. rewrite succ_pos_nat. destruct (table_spec l 1%positive (PositiveMap.empty A)) as (_ & A2 & A3).
  destruct (Nat.lt_ge_cases (N.to_nat k) (length l)) as [L|L].
  - specialize (A2 _ L). replace (Pos.of_succ_nat (N.to_nat k) + 1 - 1)%positive with (Pos.of_succ_nat (N.to_nat k)) in A2 by lia.
    rewrite A2. rewrite (nth_error_nth' l d L). auto.
  - rewrite A3 by lia. rewrite PositiveMap.gempty. rewrite nth_overflow; auto.
Qed.

Fixpoint holds_cell (t : search) (c : cell) : Prop :=
  match t with Leaf => False | Node t1 c' t2 => c = c' \/ holds_cell t1 c \/ holds_cell t2 c end.

Lemma grow_spec : forall d b, (forall c, holds_cell (fst (grow d b)) c -> In c b) /\ incl (snd (grow d b)) b.
Proof.
  induction d; cbn; intros b; [split; [tauto | apply incl_refl]|].
  destruct (grow d b) as [t1 rest] eqn:E1. destruct (IHd b) as [A1 B1]. rewrite E1 in A1, B1. cbn in A1, B1.
  destruct rest as [|c rest]; [split; auto; intros x []|].
  destruct (grow d rest) as [t2 rest'] eqn:E2. destruct (IHd rest) as [A2 B2]. rewrite E2 in A2, B2. cbn in A2, B2.
  split; cbn.
  - intros c' [->|[H|H]]; [apply B1; left; auto | auto | apply B1; right; auto].
  - intros x H. apply B1. right. auto.
Qed.

Lemma locate_spec b q s : locate (search_of b) q = Some s -> exists l h, In (l, h, s) b /\ l <= q < h.
Proof.
  unfold search_of. pose proof (proj1 (grow_spec (S (Nat.log2 (length b))) b)) as H. revert H. generalize (fst (grow (S (Nat.log2 (length b))) b)). intros t H E.
  assert (exists l h, holds_cell t (l, h, s) /\ l <= q < h) as (l & h & X & Y); [|eauto].
  clear H. induction t as [|t1 IH1 [[l h] s'] t2 IH2]; cbn in *; [discriminate|].
  destruct (q <? l) eqn:L; [destruct (IH1 E) as (l' & h' & X & Y); exists l', h'; auto|].
  destruct (q <? h) eqn:L'; [|destruct (IH2 E) as (l' & h' & X & Y); exists l', h'; auto].
  injection E as ->. zb. exists l, h. split; auto; lia.
Qed.

Lemma search_of_nil : search_of [] = Leaf.
Proof. vm_compute. reflexivity. Qed.
#[global] Opaque search_of.

(** ** The order of pairs *)

Lemma below_trans l s j s' j' s'' j'' : below l s j s' j' = true -> below l s' j' s'' j'' = true -> below l s j s'' j'' = true.
Proof. unfold below. destruct l; rewrite !orb_true_iff, !andb_true_iff, ?Z.ltb_lt, ?Z.eqb_eq; lia. Qed.
Lemma below_asym l s j s' j' : below l s j s' j' = true -> below l s' j' s j = true -> False.
Proof. unfold below. destruct l; rewrite !orb_true_iff, !andb_true_iff, ?Z.ltb_lt, ?Z.eqb_eq; lia. Qed.
Lemma below_total l s j s' j' : j <> j' -> below l s j s' j' = false -> below l s' j' s j = true.
Proof.
  unfold below. intros Hn H. apply orb_false_iff in H as [H1 H2]. zb.
  apply andb_false_iff in H2. rewrite orb_true_iff, andb_true_iff, Z.ltb_lt, Z.eqb_eq.
  destruct l, H2; zb; rewrite ?Z.ltb_lt; lia.
Qed.
Lemma below_not l s j s' j' s'' j'' :
  below l s j s' j' = true -> below l s'' j'' s' j' = false -> below l s j s'' j'' = true.
Proof.
  unfold below. intros H1 H2. apply orb_false_iff in H2 as [H2 H3]. apply andb_false_iff in H3. zb.
  rewrite orb_true_iff, andb_true_iff, ?Z.ltb_lt, ?Z.eqb_eq in *.
  destruct l, H3; zb; rewrite ?Z.ltb_lt in *; lia.
Qed.
Lemma below_score l s s' j : s <= s' -> below l s' j s j = false.
Proof.
  unfold below. intros H. apply orb_false_iff. split; [apply Z.ltb_ge; lia|].
  apply andb_false_iff. right. destruct l; apply Z.ltb_ge; lia.
Qed.

Lemma in_range lo hi j : In j (range lo hi) <-> lo <= j < hi.
Proof.
  unfold range. rewrite in_map_iff. split.
  - intros (k & <- & Hk). apply in_seq in Hk. lia.
  - intros H. exists (Z.to_nat (j - lo)). split; [lia | apply in_seq; lia].
Qed.

Lemma best_spec left s : forall l j, best left s l = Some j ->
  In j l /\ forall j', In j' l -> j' <> j -> below left (s j') j' (s j) j = true.
Proof.
  induction l as [|a l IH]; cbn; [discriminate|]. intros j.
  destruct (best left s l) as [b|] eqn:E.
  - destruct (IH b eq_refl) as [Hb Hl]. destruct (below left (s a) a (s b) b) eqn:B; intros [= <-].
    + split; auto. intros j' [<-|H] Hn; auto.
    + split; auto. intros j' [<-|H] Hn; [congruence|].
      assert (Ba : b <> a -> below left (s b) b (s a) a = true) by (intros; apply below_total; auto).
      destruct (Z.eq_dec j' b) as [->|Hb']; [auto|].
      destruct (Z.eq_dec b a) as [->|]; [auto|]. eapply below_trans; [apply Hl; auto | auto].
  - intros [= <-]. split; auto. intros j' [<-|H] Hn; [congruence|].
    destruct l; [destruct H|]. cbn in E. destruct (best left s l); [destruct (below _ _ _ _ _)|]; discriminate.
Qed.

Lemma best_none left s l : best left s l = None -> l = [].
Proof. destruct l; cbn; auto. destruct (best left s l); [destruct (below _ _ _ _ _)|]; discriminate. Qed.

Lemma best_ext left s s' l : (forall j, s j = s' j) -> best left s l = best left s' l.
Proof. intros H. induction l; cbn; auto. rewrite IHl. destruct (best left s' l); auto. rewrite !H. auto. Qed.
