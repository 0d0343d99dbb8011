(** Proofs: claims, claims at every position, and refutations that pass the checker are true. *)
From Coq Require Import ZArith NArith List Bool FMapPositive Lia.
From R Require Import Semantics Claims Kernel Loops Sound.
Import ListNotations.
Open Scope Z_scope.

Section Program.
Variable p : program.
Hypothesis wf : defined p.
Let n := length_ p.
Variable ls : list line.
Let T := tables_of ls n.

(** ** Some word satisfies a box and a fixing that does not conflict with it *)

Lemma unmarked_spec r q : unmarked p r = true -> on q r -> 0 <= q < n /\ marker p q = None.
Proof.
  unfold unmarked. rewrite forallb_forall. intros H (ab & I & Q). specialize (H _ I). fold n in H. split_and.
  unfold marker. fold n. destruct (start_ p), (end_ p); zb; cbn;
    try (replace (q =? 0) with false by (symmetry; apply Z.eqb_neq; lia));
    try (replace (q =? n - 1) with false by (symmetry; apply Z.eqb_neq; lia)); split; auto; lia.
Qed.

Lemma on_cell b l h s q : In (l, h, s) b -> l <= q < h -> on q (cell_runs b).
Proof. intros I Q. exists (l, h). split; auto. apply (in_map fst) in I. exact I. Qed.

Definition covering (b : list cell) (q : Z) : option cell := find (fun c => (fst (fst c) <=? q) && (q <? snd (fst c))) b.
Lemma covering_some b q l h s : covering b q = Some (l, h, s) -> In (l, h, s) b /\ l <= q < h.
Proof. intros H. apply find_some in H as [I H]. cbn in H. split_and. zb. auto. Qed.
Lemma covering_is b q l h s : increasing 0 (cell_runs b) = true -> In (l, h, s) b -> l <= q < h -> covering b q = Some (l, h, s).
Proof.
  intros Inc I Q. destruct (covering b q) as [[[l' h'] s']|] eqn:C.
  - apply covering_some in C as [I' Q']. f_equal. eapply increasing_once; eauto.
  - exfalso. unfold covering in C. pose proof (find_none _ _ C _ I) as X. cbn in X. apply andb_false_iff in X as [X|X]; zb; lia.
Qed.

Lemma NoDup_find : forall (rho : fixing) q a, NoDup (map fst rho) -> In (q, a) rho -> find (fun c => fst c =? q) rho = Some (q, a).
Proof.
  induction rho as [|[q' a'] l IH]; cbn; [tauto|]. intros q a N [[= -> ->]|I]; [rewrite Z.eqb_refl; auto|].
  inversion N; subst. destruct (q' =? q) eqn:E; [|auto]. zb. subst. exfalso. apply H1. apply in_map_iff. exists (q, a). auto.
Qed.

Lemma good_box_spec b : good_box p b = true -> increasing 0 (cell_runs b) = true /\ unmarked p (cell_runs b) = true /\
  forall l h s, In (l, h, s) b -> s <> [] /\ forall a, In a s -> 0 <= a < symbols p.
Proof.
  unfold good_box. intros H. split_and. split; [auto|]. split; [auto|]. intros l h s I. rewrite forallb_forall in H0.
  specialize (H0 _ I). cbn in H0. split_and. split; [intros ->; discriminate|]. intros a Ia.
  unfold symbols_of in H0. rewrite forallb_forall in H0. specialize (H0 a Ia). split_and. zb. lia.
Qed.

Lemma some_common_word b rho : good_box p b = true -> proper_fixing p rho ->
  (forall q a l h s, In (q, a) rho -> In (l, h, s) b -> l <= q < h -> In a s) ->
  exists x, satisfies p x b /\ forall q a, In (q, a) rho -> at_ x q = a.
Proof.
  intros G [N P] C. apply good_box_spec in G as (Inc & U & G).
  set (choose q := match find (fun c => fst c =? q) rho with Some c => snd c
    | None => match covering b q with Some (_, _, a :: _) => a | _ => 0 end end).
  set (x := map (fun m => choose (Z.of_nat m)) (seq 0 (Z.to_nat n))).
  assert (Ax : forall q, 0 <= q < n -> at_ x q = choose q).
  { intros q Hq. unfold at_, x. rewrite (nth_indep _ 0 (choose (Z.of_nat 0))); [|rewrite map_length, seq_length; lia].
    rewrite map_nth with (f := fun m => choose (Z.of_nat m)). rewrite seq_nth; [|lia]. f_equal. lia. }
  exists x. split; [split; [split|]|].
  - unfold x. rewrite map_length, seq_length. auto.
  - intros q Hq. rewrite Ax by exact Hq. pose proof (some_symbol p wf). unfold choose.
    destruct (find _ rho) as [[q' a]|] eqn:F.
    { apply find_some in F as [I E]. cbn in E. zb. subst q'. destruct (P _ _ I) as (_ & M & S). cbn. split; [auto | congruence]. }
    destruct (covering b q) as [[[l h] [|a s]]|] eqn:F'; try (split; auto; lia).
    apply covering_some in F' as [I Q]. destruct (G _ _ _ I) as [_ S]. split; [apply S; left; auto|].
    pose proof (unmarked_spec _ q U (on_cell _ _ _ _ _ I Q)) as [_ M]. congruence.
  - intros l h s q I Q. pose proof (unmarked_spec _ q U (on_cell _ _ _ _ _ I Q)) as [Hq _]. rewrite Ax by auto. unfold choose.
    destruct (find _ rho) as [[q' a]|] eqn:F.
    { apply find_some in F as [I' E]. cbn in E. zb. subst q'. cbn. eapply C; eauto. }
    rewrite (covering_is b q l h s); auto. destruct (G _ _ _ I) as [S _]. destruct s; [congruence | left; auto].
  - intros q a I. destruct (P _ _ I) as (Hq & _). rewrite Ax by auto. unfold choose. rewrite (NoDup_find _ _ _ N I). auto.
Qed.

(** ** Restrictions *)

Lemma above_top c x : parent ls c = None -> satisfies p x (box ls c) -> words p ls c x.
Proof. intros U S. split; [apply S|]. intros d A. inversion A; subst; [auto | congruence]. Qed.

Lemma restriction_spec c free : check_restriction p T c free = true ->
  parent ls c = None /\ restriction p (box ls c) /\ free_positions p (box ls c) = free /\ 0 <= free.
Proof.
  unfold check_restriction. unfold T, n. rewrite cells_eq, up_eq. intros H. split_and. zb.
  split; [destruct (parent ls c); [discriminate | auto]|]. split; [|auto].
  match goal with H : good_box p _ = true |- _ => rename H into Hg end.
  match goal with H : forallb _ _ = true |- _ => rename H into Hs end.
  pose proof (good_box_spec _ Hg) as (Inc & U & G). constructor; auto.
  - intros d I. rewrite forallb_forall in Hs. apply single_spec. auto.
  - intros q Q. apply unmarked_spec with (1 := U) in Q. exact Q.
  - destruct (some_common_word (box ls c) [] Hg) as (x & S & _); [split; [constructor | intros q a []] | intros q a l h s [] | eauto].
Qed.

(** ** Claims *)

Theorem claim_sound m out lab c i free k s r : sound p ls m ->
  check_claim p T m out lab c i free k s r = true -> claim_true ls n p out lab c i free k s r.
Proof.
  unfold check_claim. intros Hm H. unfold T, n in H. rewrite cells_eq, set_of_eq, runs_of_eq in H. fold n in H. fold T in H.
  apply andb_prop in H as [H Hl]. apply andb_prop in H as [H Ho]. apply andb_prop in H as [H Hk]. apply andb_prop in H as [H Hout].
  apply andb_prop in H as [H Hu]. apply andb_prop in H as [H Hi']. apply andb_prop in H as [Hi Hr]. zb.
  apply position_spec in Hi. destruct (restriction_spec _ _ Hr) as (Top & R & F & F0).
  unfold claim_true. split; [auto|]. split; [auto|]. split; [auto|]. split; [auto|]. split; [auto|]. split; [|split].
  - intros q Q. destruct (unmarked_spec _ q Hu Q) as [Hq M]. split; [auto|]. split; [auto|].
    intros (ab' & I' & Q'). destruct Q as (ab & I & Q). unfold outside in Hout. rewrite forallb_forall in Hout.
    specialize (Hout _ I). rewrite forallb_forall in Hout. specialize (Hout _ I'). apply orb_prop in Hout as [X|X]; zb; lia.
  - intros x Hx. eapply all_of_spec in Ho; [apply mem_spec; exact Ho|].
    apply (know_holds p wf ls m c out i Hi Hm). apply above_top; auto.
  - intros x x' Hx Hx' A. apply (know_holds p wf ls m c lab i Hi Hm); try (apply above_top; auto).
    eapply agree_inside; eauto.
Qed.

(** ** Every position *)

(** The runs between lo and hi that a list leaves out. *)
Fixpoint between_runs (lo hi : Z) (r : runs) : runs :=
  match r with
  | [] => if lo <? hi then [(lo, hi)] else []
  | (a, b) :: r' => if lo <? a then (lo, a) :: between_runs b hi r' else between_runs b hi r'
  end.

Lemma increasing_weaker r : forall a b, a <= b -> increasing b r = true -> increasing a r = true.
Proof. destruct r as [|[l h] r]; cbn; auto. intros a b L H. split_and. rewrite H0, H1, andb_true_r. rewrite andb_true_r. zb. apply Z.leb_le. lia. Qed.

Lemma between_runs_spec : forall r lo hi, lo <= hi -> increasing lo r = true -> (forall ab, In ab r -> snd ab <= hi) ->
  size (between_runs lo hi r) = hi - lo - size r /\ increasing lo (between_runs lo hi r) = true /\
  forall q, lo <= q < hi -> on q r \/ on q (between_runs lo hi r).
Proof.
  induction r as [|[a b] r IH]; intros lo hi L Inc B; cbn [between_runs].
  - destruct (lo <? hi) eqn:E; zb; (split; [cbn; lia|]); (split; [|intros q Q]).
    + cbn. rewrite Z.leb_refl, (proj2 (Z.ltb_lt _ _) E). auto.
    + right. exists (lo, hi). cbn. auto.
    + auto.
    + lia.
  - cbn in Inc. split_and. zb. assert (Lb : b <= hi) by (apply (B (a, b)); left; auto).
    destruct (IH b hi Lb H0) as (S & I & C); [intros; apply B; right; auto|].
    change (size ((a, b) :: r)) with (b - a + size r).
    assert (C' : forall q, lo <= q < hi -> q < a \/ on q ((a, b) :: r) \/ on q (between_runs b hi r)).
    { intros q Q. destruct (Z_lt_le_dec q a); [auto|]. right. destruct (Z_lt_le_dec q b).
      - left. exists (a, b). cbn. auto.
      - destruct (C q ltac:(lia)) as [(ab & X & Y)|X]; [left; exists ab; cbn; auto | auto]. }
    destruct (lo <? a) eqn:E; zb.
    + change (size ((lo, a) :: between_runs b hi r)) with (a - lo + size (between_runs b hi r)). split; [lia|]. split.
      * cbn. rewrite !andb_true_iff. repeat split; [apply Z.leb_le; lia | apply Z.ltb_lt; lia | eapply increasing_weaker; [|exact I]; lia].
      * intros q Q. destruct (C' q Q) as [X|[X|(ab & X & Y)]]; [|auto|right; exists ab; cbn; auto].
        right. exists (lo, a). cbn. split; auto. lia.
    + split; [lia|]. split; [eapply increasing_weaker; [|exact I]; lia|].
      intros q Q. destruct (C' q Q) as [X|[X|X]]; [lia | auto | auto].
Qed.

Theorem everywhere_sound m lab c free k : sound p ls m -> check_everywhere p T m lab c free k = true ->
  everywhere_true ls p lab c free k.
Proof.
  intros Hm H. unfold check_everywhere in H. split_and. destruct (restriction_spec _ _ H) as (Top & R & F & F0).
  split; [auto|]. split; [auto|]. intros i Hi. eapply between_spec in H0; [|exact Hi]. cbv zeta in H0.
  assert (K : forall x x', satisfies p x (box ls c) -> satisfies p x' (box ls c) -> agree x x' (snd (know p T m c lab i)) ->
    val p x lab i = val p x' lab i).
  { intros x x' Hx Hx' A. apply (know_holds p wf ls m c lab i Hi Hm); try (apply above_top; auto). exact A. }
  set (d := snd (know p T m c lab i)) in *. apply orb_prop in H0 as [X|X].
  - destruct d as [|[l h] [|]]; try discriminate. split_and. zb. subst l h.
    set (lo := if start_ p then 1 else 0). set (hi := n - if end_ p then 1 else 0).
    pose proof (apart_and_in_order p _ R) as Inc. pose proof (without_marker p _ R) as U.
    assert (Fr : size (cell_runs (box ls c)) = hi - lo - free) by (unfold free_positions in F; unfold lo, hi, n; lia).
    assert (Mk : forall q, 0 <= q < n -> marker p q = None -> lo <= q < hi).
    { intros q Q M. unfold marker in M. fold n in M. unfold lo, hi. destruct (start_ p), (end_ p); cbn in M;
        destruct (q =? 0) eqn:E0; try discriminate; try destruct (q =? n - 1) eqn:E1; try discriminate; zb; lia. }
    assert (Ends : forall ab, In ab (cell_runs (box ls c)) -> lo <= fst ab /\ snd ab <= hi).
    { intros ab I. pose proof (increasing_from _ _ _ Inc I) as X. destruct ab as [a b]. cbn in *.
      assert (Qa : on a (cell_runs (box ls c))) by (exists (a, b); cbn; split; auto; lia).
      assert (Qb : on (b - 1) (cell_runs (box ls c))) by (exists (a, b); cbn; split; auto; lia).
      destruct (U _ Qa) as [A1 A2], (U _ Qb) as [B1 B2]. apply Mk in A2, B2; auto. lia. }
    assert (L : lo <= hi).
    { pose proof (size_nonneg _ _ Inc). lia. }
    destruct (between_runs_spec (cell_runs (box ls c)) lo hi L) as (S & I & C).
    { destruct (cell_runs (box ls c)) as [|[a b] r] eqn:Eb; auto. cbn in Inc |- *.
      apply andb_prop in Inc as [Inc I2]. apply andb_prop in Inc as [_ I1]. rewrite I1, I2, !andb_true_r. apply Z.leb_le. apply (Ends (a, b)). left. auto. }
    { intros ab Iab. apply Ends. auto. }
    exists (between_runs lo hi (cell_runs (box ls c))). split; [lia|]. split.
    { eapply increasing_weaker; [|exact I]. unfold lo. destruct (start_ p); lia. }
    intros x x' Hx Hx' A. apply K; auto. intros q (ab & [<-|[]] & Q). cbn in Q.
    destruct (marker p q) eqn:M.
    { destruct Hx as [[_ Wx] _], Hx' as [[_ Wx'] _]. rewrite (proj2 (Wx q Q)), (proj2 (Wx' q Q)); congruence. }
    destruct (C q (Mk q Q M)) as [(ab & Iab & Qab)|X]; [|apply A; auto].
    unfold cell_runs in Iab. apply in_map_iff in Iab as ([[a b] s] & <- & Iab). cbn in Qab.
    destruct (one_symbol p _ R _ Iab) as [y Ey]. cbn in Ey. subst s.
    destruct Hx as [_ Sx], Hx' as [_ Sx']. destruct (Sx _ _ _ _ Iab Qab) as [<-|[]], (Sx' _ _ _ _ Iab Qab) as [E|[]]. auto.
  - split_and. zb. exists d. auto.
Qed.

(** ** Refutations *)

Lemma spans_spec : forall t from l h a q, (forall ca, In ca t -> 0 <= fst ca) -> In (l, h, [a]) (spans from t) -> l <= q < h ->
  from <= q /\ nth (Z.to_nat (q - from)) (flat_map (fun ca => repeat (snd ca) (Z.to_nat (fst ca))) t) 0 = a.
Proof.
  induction t as [|[c b] t IH]; cbn; intros from l h a q P I Q; [tauto|].
  assert (0 <= c) by (apply (P (c, b)); auto). destruct I as [[= <- <- <-]|I].
  - split; [lia|]. rewrite app_nth1 by (rewrite repeat_length; lia). rewrite (nth_indep _ 0 b) by (rewrite repeat_length; lia). apply nth_repeat.
  - destruct (IH (from + c) l h a q) as [L E]; auto. split; [lia|].
    rewrite app_nth2; rewrite repeat_length; [|lia]. rewrite <- E. f_equal. lia.
Qed.

Lemma spans_size : forall t from, (forall ca, In ca t -> 0 <= fst ca) ->
  size (cell_runs (spans from t)) = Z.of_nat (length (flat_map (fun ca => repeat (snd ca) (Z.to_nat (fst ca))) t)).
Proof.
  induction t as [|[c b] t IH]; intros from P; [reflexivity|].
  assert (0 <= c) by (apply (P (c, b)); left; auto). cbn [spans cell_runs map fst flat_map snd].
  change (size ((from, from + c) :: map fst (spans (from + c) t))) with (from + c - from + size (cell_runs (spans (from + c) t))).
  rewrite IH by (intros; apply P; right; auto). rewrite app_length, repeat_length. lia.
Qed.

Section Text.
Variable t : list (Z * Z).
Let s := flat_map (fun ca => repeat (snd ca) (Z.to_nat (fst ca))) t.
Hypothesis G : good_text p t = true.

Lemma text_counts ca : In ca t -> 0 <= fst ca /\ 0 <= snd ca < symbols p.
Proof.
  pose proof G as H. unfold good_text in H. apply andb_prop in H as [H _]. rewrite forallb_forall in H. intros I. specialize (H _ I).
  split_and. zb. lia.
Qed.
Lemma text_length : Z.of_nat (length s) = n - (if start_ p then 1 else 0) - (if end_ p then 1 else 0).
Proof.
  pose proof G as H. unfold good_text in H. apply andb_prop in H as [_ H]. zb. unfold spans_of in H. rewrite spans_size in H; [exact H|].
  intros ca I. apply (text_counts ca I).
Qed.
Lemma text_symbols a : In a s -> 0 <= a < symbols p.
Proof. intros I. apply in_flat_map in I as (ca & I & J). apply repeat_spec in J. subst a. apply (text_counts ca I). Qed.

Lemma with_markers_at q : 0 <= q < n -> at_ (with_markers p s) q =
  if match marker p q with Some _ => true | None => false end then 0 else nth (Z.to_nat (q - if start_ p then 1 else 0)) s 0.
Proof.
  intros Q. pose proof text_length as L. unfold at_, with_markers, marker. fold n. destruct (start_ p), (end_ p); cbn [andb app].
  - destruct (q =? 0) eqn:E0; zb; [subst; reflexivity|]. replace (Z.to_nat q) with (S (Z.to_nat (q - 1))) by lia. cbn [nth].
    destruct (q =? n - 1) eqn:E1; zb.
    + rewrite app_nth2 by lia. replace (Z.to_nat (q - 1) - length s)%nat with O by lia. reflexivity.
    + apply app_nth1. lia.
  - destruct (q =? 0) eqn:E0; zb; [subst; reflexivity|]. replace (Z.to_nat q) with (S (Z.to_nat (q - 1))) by lia. cbn [nth].
    rewrite app_nil_r. auto.
  - rewrite Z.sub_0_r. destruct (q =? n - 1) eqn:E1; zb.
    + rewrite app_nth2 by lia. replace (Z.to_nat q - length s)%nat with O by lia. reflexivity.
    + apply app_nth1. lia.
  - rewrite app_nil_r, Z.sub_0_r. auto.
Qed.

Lemma with_markers_word : word_of p (with_markers p s).
Proof.
  pose proof text_length as L. pose proof (some_symbol p wf). split.
  - unfold with_markers. rewrite !app_length. fold n. destruct (start_ p), (end_ p); cbn [length]; lia.
  - intros q Q. rewrite with_markers_at by exact Q. destruct (marker p q) as [a|] eqn:M; [split; [lia | auto]|].
    split; [|congruence]. destruct (nth_in_or_default (Z.to_nat (q - if start_ p then 1 else 0)) s 0) as [I|E].
    + apply text_symbols. exact I.
    + rewrite E. lia.
Qed.

Lemma symbol_at_spec q a : 0 <= q < n -> marker p q = None -> symbol_at (search_of (spans_of p t)) q = Some a ->
  at_ (with_markers p s) q = a.
Proof.
  intros Q M H. unfold symbol_at in H. destruct (locate _ _) as [[|b [|]]|] eqn:X; try discriminate. injection H as ->.
  apply locate_spec in X as (l & h & I & B). rewrite with_markers_at, M by auto.
  apply (spans_spec t _ l h a q) in I; auto; [apply I | intros ca J; apply (text_counts ca J)].
Qed.
End Text.

Lemma fits_satisfies t b : good_text p t = true -> unmarked p (cell_runs b) = true ->
  text_fits (search_of (spans_of p t)) b = true ->
  satisfies p (with_markers p (flat_map (fun ca => repeat (snd ca) (Z.to_nat (fst ca))) t)) b.
Proof.
  intros G U H. split; [apply with_markers_word; auto|]. intros l h s q I Q.
  pose proof (unmarked_spec _ q U (on_cell _ _ _ _ _ I Q)) as [Hq M].
  unfold text_fits in H. rewrite forallb_forall in H. specialize (H _ I). cbv beta iota in H.
  eapply between_spec in H; [|exact Q]. cbv beta in H. destruct (symbol_at _ q) as [a|] eqn:X; [|discriminate].
  apply symbol_at_spec in X; auto. rewrite X. apply mem_spec; auto.
Qed.

Lemma iter_shift {A} (f : A -> A) : forall k x,
  nat_rect (fun _ => A) (f x) (fun _ => f) k = f (nat_rect (fun _ => A) x (fun _ => f) k).
Proof. induction k; intros x; cbn; [auto|]. rewrite IHk. auto. Qed.

Lemma iter_repeat {A} (f : A -> Z -> A) a c x : 0 <= c ->
  Z.iter c (fun q => f q a) x = fold_left f (repeat a (Z.to_nat c)) x.
Proof.
  intros Hc. rewrite iter_nat_of_Z by auto. rewrite Zabs2Nat.abs_nat_nonneg by auto. revert x.
  induction (Z.to_nat c) as [|k IH]; intros x; [reflexivity|]. cbn [repeat fold_left]. rewrite <- IH.
  cbn. rewrite (iter_shift (fun q => f q a)). auto.
Qed.

Lemma member_spec d t : good_text p t = true ->
  member p d t = true <-> accepts p d (flat_map (fun ca => repeat (snd ca) (Z.to_nat (fst ca))) t).
Proof.
  intros G. unfold member, accepts. rewrite mem_spec.
  assert (E : forall l x, (forall ca, In ca l -> 0 <= fst ca) ->
    fold_left (fun q ca => Z.iter (fst ca) (fun q => get (table (next d)) (Z.to_N (q * symbols p + snd ca)) 0) q) l x =
    fold_left (fun q a => nth (Z.to_nat (q * symbols p + a)) (next d) 0) (flat_map (fun ca => repeat (snd ca) (Z.to_nat (fst ca))) l) x).
  { induction l as [|[c a] l IH]; intros x P; [reflexivity|]. cbn [fold_left flat_map fst snd]. rewrite fold_left_app.
    rewrite IH by (intros; apply P; right; auto). f_equal.
    rewrite <- (iter_repeat (fun q a => nth (Z.to_nat (q * symbols p + a)) (next d) 0)) by (apply (P (c, a)); left; auto).
    generalize (symbols p) as k. intros k. generalize (P (c, a) (or_introl eq_refl)). cbn. intros Hc.
    rewrite !iter_nat_of_Z by auto. induction (Z.abs_nat c) as [|m IHm]; cbn; auto. rewrite IHm, get_table. f_equal. lia. }
  rewrite E; [reflexivity | intros ca I; apply (text_counts t G ca I)].
Qed.

Theorem refutes_sound m out lab c i free k s r a b d : sound p ls m ->
  check_claim p T m out lab c i free k s r = true -> check_refutes p T ls c r a b d = true ->
  refutation_true ls p lab c i a b d.
Proof.
  intros Hm C H. pose proof (claim_sound m out lab c i free k s r Hm C) as (_ & R & _ & _ & _ & Fr & _ & D).
  assert (U : unmarked p (cell_runs (box ls c)) = true).
  { unfold check_claim, check_restriction in C. unfold T, n in C. rewrite cells_eq in C. split_and.
    match goal with H : good_box p _ = true |- _ => apply good_box_spec in H as (_ & U & _) end. auto. }
  unfold check_refutes in H. unfold T, n in H. rewrite cells_eq, runs_of_eq in H.
  apply andb_prop in H as [H Nb]. apply andb_prop in H as [H Ma]. apply andb_prop in H as [H Ag].
  apply andb_prop in H as [H Fb]. apply andb_prop in H as [H Fa]. apply andb_prop in H as [Ga Gb].
  unfold refutation_true, text. cbv zeta.
  assert (Sa := fits_satisfies _ _ Ga U Fa). assert (Sb := fits_satisfies _ _ Gb U Fb).
  split; [exact Sa|]. split; [exact Sb|]. split; [|split].
  - apply D; auto. intros q Q. destruct (Fr q Q) as (Hq & M & _). destruct Q as (ab & I & Q).
    unfold texts_agree in Ag. rewrite forallb_forall in Ag. specialize (Ag _ I). eapply between_spec in Ag; [|exact Q].
    cbv beta in Ag. destruct (symbol_at (search_of (spans_of p (pick (texts ls) a []))) q) as [ya|] eqn:Ya; [|discriminate].
    destruct (symbol_at (search_of (spans_of p (pick (texts ls) b []))) q) as [yb|] eqn:Yb; [|discriminate]. zb.
    apply symbol_at_spec in Ya, Yb; auto. congruence.
  - apply member_spec; auto.
  - intros X. apply member_spec in X; auto. rewrite X in Nb. discriminate.
Qed.
End Program.
