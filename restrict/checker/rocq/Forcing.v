(** Proofs: no few positions force a label where the tree over boxes closes. *)
From Coq Require Import ZArith NArith List Bool FMapPositive Lia.
From R Require Import Semantics Claims Kernel Loops Sound Conclusions.
Import ListNotations.
Open Scope Z_scope.

Scheme tree_ind' := Induction for tree Sort Prop with trees_ind' := Induction for trees Sort Prop.
Combined Scheme tree_trees_ind from tree_ind', trees_ind'.

(** ** The tree *)

Section Tree.
Variable boxes : list (list place).
Variable symbols_ : Z.
Variable k : nat.
Local Notation can := (can symbols_).
Local Notation ways := (ways boxes symbols_ k).
Local Notation apart := (apart boxes symbols_ k).
Local Notation ruled_out := (ruled_out symbols_).
Local Notation allowing := (allowing symbols_).
Local Notation check_tree := (check_tree boxes symbols_ k).
Local Notation check_kids := (check_kids boxes symbols_ k).
Variable rho : fixing.
Hypothesis distinct : NoDup (map fst rho).
Hypothesis few : (length rho <= k)%nat.

Definition conflicts (b : list place) : Prop := exists q a A, In (q, a) rho /\ In (q, A) b /\ ~ In a A.
Definition fits (has : list place) (chosen : list Z) : Prop :=
  NoDup chosen /\ incl chosen (map fst rho) /\ forall q a, In (q, a) rho -> In a (can has q).

Lemma one_symbol_each q a a' : In (q, a) rho -> In (q, a') rho -> a = a'.
Proof.
  clear -distinct. induction rho as [|[p b] l IH]; cbn; [tauto|]. cbn in distinct. inversion distinct; subst.
  intros [E|H] [E'|H']; auto.
  - congruence.
  - exfalso. injection E as -> ->. apply H1. apply in_map_iff. exists (q, a'). auto.
  - exfalso. injection E' as -> ->. apply H1. apply in_map_iff. exists (q, a). auto.
Qed.

Lemma fits_length has chosen : fits has chosen -> (length chosen <= k)%nat.
Proof. intros (N & I & _). apply NoDup_incl_length in I; auto. rewrite map_length in I. lia. Qed.

(** A conflict is at a way. *)
Lemma conflict_way has chosen b : fits has chosen -> conflicts (nth b boxes []) ->
  exists q a A, In (q, a) rho /\ In (q, A) (ways has chosen b) /\ ~ In a A.
Proof.
  intros F (q & a & A & Hr & Hb & Hn). exists q, a, A. split; [auto|]. split; [|auto].
  apply filter_In. split; auto. cbn. apply andb_true_intro. split.
  - destruct (mem q chosen) eqn:M; auto. cbn. apply Nat.ltb_lt.
    assert (fits has (q :: chosen)).
    { destruct F as (N & I & F). split; [constructor; auto; rewrite <- mem_spec; congruence|]. split; auto.
      intros z [<-|Hz]; auto. apply in_map_iff. exists (q, a). auto. }
    apply fits_length in H. cbn in H. lia.
  - apply existsb_exists. exists a. split; [apply F; auto | apply mem_not; auto].
Qed.

Definition all_conflict : Prop := forall b, (b < length boxes)%nat -> conflicts (nth b boxes []).
Hypothesis AC : all_conflict.

Lemma apart_false has chosen : fits has chosen -> forall bs used qs,
  NoDup qs -> incl qs (map fst rho) -> incl qs used -> (forall q, In q qs -> ~ In q chosen) ->
  apart has chosen used (length qs) bs = true -> False.
Proof.
  intros F. induction bs as [|b bs IH]; cbn; intros used qs N I U D H.
  - apply Nat.ltb_lt in H. assert (NoDup (chosen ++ qs)).
    { clear -F N D. destruct F as (N' & _ & _). induction chosen; cbn; auto. inversion N'; subst. constructor.
      - rewrite in_app_iff. intros [X|X]; [auto|]. apply (D a X). left. auto.
      - apply IHchosen; auto. intros q Hq X. apply (D q Hq). right. auto. }
    assert (incl (chosen ++ qs) (map fst rho)) by (apply incl_app; [apply F | auto]).
    apply NoDup_incl_length in H1; auto. rewrite app_length, map_length in H1. lia.
  - apply andb_prop in H as [Hb H]. apply Nat.ltb_lt in Hb.
    destruct (conflict_way has chosen b F (AC b Hb)) as (q & a & A & Hr & Hw & Hn).
    assert (Hm : In q (map fst (ways has chosen b))) by (apply in_map_iff; exists (q, A); auto).
    destruct (map fst (ways has chosen b)) as [|m mine] eqn:E; [destruct Hm|].
    change (forallb (fun q => negb (mem q used) && negb (mem q chosen)) (m :: mine) && apart has chosen ((m :: mine) ++ used) (S (length qs)) bs = true) in H.
    apply andb_prop in H as [H1 H2]. rewrite forallb_forall in H1. specialize (H1 q Hm).
    apply andb_prop in H1 as [H1 H3]. rewrite mem_not in H1, H3.
    apply (IH ((m :: mine) ++ used) (q :: qs)); auto.
    + constructor; auto.
    + intros z [<-|Hz]; auto. apply in_map_iff. exists (q, a). auto.
    + intros z [<-|Hz]; apply in_or_app; auto.
    + intros z [<-|Hz]; auto.
Qed.



(** There is a conflict at q, or none there. *)
Lemma fits_either has chosen q A : fits has chosen ->
  fits (ruled_out q A has) (choosing q chosen) \/ fits (allowing q A has) chosen /\ forall a, In (q, a) rho -> In a A.
Proof.
  intros (N & I & F). destruct (existsb (fun c => (fst c =? q) && negb (mem (snd c) A)) rho) eqn:X.
  - left. apply existsb_exists in X as ([q' a] & Hr & X). cbn in X. apply andb_prop in X as [X1 X2]. apply Z.eqb_eq in X1. subst q'.
    apply mem_not in X2. unfold choosing. split; [|split].
    + destruct (mem q chosen) eqn:M; auto. constructor; auto. rewrite <- mem_spec. congruence.
    + destruct (mem q chosen); auto. intros z [<-|Hz]; auto. apply in_map_iff. exists (q, a). auto.
    + intros q' a' H. cbn. destruct (q' =? q) eqn:E; auto. zb. subst.
      rewrite (one_symbol_each _ _ _ H Hr). apply filter_In. split; [apply F; auto | apply mem_not; auto].
  - right. assert (Y : forall a, In (q, a) rho -> In a A).
    { intros a Ha. destruct (in_dec Z.eq_dec a A); auto. exfalso.
      assert (existsb (fun c => (fst c =? q) && negb (mem (snd c) A)) rho = true); [|congruence].
      apply existsb_exists. exists (q, a). split; auto. cbn. rewrite Z.eqb_refl. apply mem_not. auto. }
    split; [|exact Y]. split; [auto|]. split; [auto|]. intros q' a' H. cbn. destruct (q' =? q) eqn:E; auto.
    zb. subst. apply filter_In. split; auto. apply mem_spec. auto.
Qed.

Lemma tree_false :
  (forall t has chosen, fits has chosen -> check_tree has chosen t = true -> False) /\
  (forall ts has chosen ws, fits has chosen -> (exists q a A, In (q, a) rho /\ In (q, A) ws /\ ~ In a A) ->
     check_kids has chosen ws ts = true -> False).
Proof.
  apply tree_trees_ind.
  - intros bs has chosen F H. cbn in H. apply (apart_false has chosen F bs [] []); auto; try (intros z []). constructor.
  - intros b ts IH has chosen F H. cbn in H. apply andb_prop in H as [Hb H]. apply Nat.ltb_lt in Hb.
    eapply IH; [exact F | | exact H]. apply conflict_way; auto.
  - intros b j t IHt t' IHt' has chosen F H. cbn in H. destruct (nth_error (nth b boxes []) j) as [[q A]|]; [|discriminate].
    apply andb_prop in H as [Ht Ht']. destruct (fits_either has chosen q A F) as [F'|[F' _]]; [eapply IHt | eapply IHt']; eauto.
  - intros has chosen ws F (q & a & A & _ & Hw & _) H. cbn in H. destruct ws; [destruct Hw | discriminate].
  - intros t IHt ts IHs has chosen ws F C H. cbn in H. destruct ws as [|[q A] ws].
    { destruct C as (q & a & A & _ & [] & _). }
    apply andb_prop in H as [Ht Hs]. destruct (fits_either has chosen q A F) as [F'|[F' Y]]; [eapply IHt; eauto|].
    destruct (mem q chosen && match filter (fun a => mem a A) (can has q) with [] => true | _ => false end) eqn:Em.
    + apply andb_prop in Em as [Hm He]. apply mem_spec in Hm. destruct F as (N & I & F). apply I in Hm.
      apply in_map_iff in Hm as ([q' a] & E & Hr). cbn in E. subst q'.
      destruct F' as (_ & _ & F'). specialize (F' q a Hr). cbn in F'. rewrite Z.eqb_refl in F'.
      assert (Z0 : filter (fun a => mem a A) (can has q) = []) by (destruct (filter (fun a => mem a A) (can has q)); [auto | discriminate]).
      rewrite Z0 in F'. destruct F'.
    + eapply IHs; [exact F' | | exact Hs]. destruct C as (q' & a & A' & Hr & [[= <- <-]|Hw] & Hn).
      * exfalso. auto.
      * exists q', a, A'. auto.
Qed.
End Tree.


(** ** From boxes to restrictions *)

Section Program.
Variable p : program.
Hypothesis wf : defined p.
Let n := length_ p.
Variable ls : list line.
Let T := tables_of ls n.

Lemma places_spec b q A : In (q, A) (places b) <-> exists l h, In (l, h, A) b /\ l <= q < h.
Proof.
  unfold places. rewrite in_flat_map. split.
  - intros ([[l h] s] & I & J). apply in_map_iff in J as (q' & [= -> ->] & J). apply in_range in J. eauto.
  - intros (l & h & I & Q). exists (l, h, A). split; auto. apply in_map_iff. exists q. split; auto. apply in_range. auto.
Qed.

Lemma conflict_or_word rho b : good_box p b = true -> proper_fixing p rho ->
  conflicts rho (places b) \/ exists x, satisfies p x b /\ forall q a, In (q, a) rho -> at_ x q = a.
Proof.
  intros G P. destruct (existsb (fun qa => existsb (fun qA => (fst qa =? fst qA) && negb (mem (snd qa) (snd qA))) (places b)) rho) eqn:X.
  - left. apply existsb_exists in X as ([q a] & Hq & X). apply existsb_exists in X as ([q' A] & HA & X). cbn in X.
    apply andb_prop in X as [X1 X2]. apply Z.eqb_eq in X1. subst q'. apply mem_not in X2. exists q, a, A. auto.
  - right. apply some_common_word; auto. intros q a l h s I J Q. destruct (in_dec Z.eq_dec a s) as [|N]; auto. exfalso.
    assert (E : existsb (fun qa => existsb (fun qA => (fst qa =? fst qA) && negb (mem (snd qa) (snd qA))) (places b)) rho = true); [|congruence].
    apply existsb_exists. exists (q, a). split; auto. apply existsb_exists. exists (q, s). split.
    + apply places_spec. eauto.
    + cbn. rewrite Z.eqb_refl. apply mem_not. auto.
Qed.

Theorem unforced_sound m lab u : sound p ls m -> check_unforced p T m lab u = true -> unforced_true ls p lab u.
Proof.
  destruct u as [s k i bs t]. unfold check_unforced, unforced_true. unfold T, n. rewrite !set_of_eq. intros Hm H y rho Hy P F.
  apply andb_prop in H as [H Ht]. apply andb_prop in H as [H Ha]. apply andb_prop in H as [Hi Hk]. zb. apply position_spec in Hi.
  destruct (Z_lt_le_dec k (Z.of_nat (length rho))) as [|L]; auto. exfalso.
  set (boxes := map Z.to_N (pick (sets ls) bs [])) in *.
  assert (AC : all_conflict (map (fun c => places (context_box (tables_of ls (length_ p)) c)) boxes) rho).
  { intros b Lb. rewrite map_length in Lb. destruct (nth_error boxes b) as [c|] eqn:E; [|apply nth_error_None in E; lia].
    rewrite nth_error_nth with (x := places (context_box (tables_of ls (length_ p)) c)) by (rewrite nth_error_map, E; auto).
    apply nth_error_In in E. rewrite forallb_forall in Ha. specialize (Ha c E). unfold avoids, context_box in *.
    rewrite up_eq, cells_eq in *. split_and.
    destruct (conflict_or_word rho (box ls c) ltac:(assumption) P) as [|(x & Sx & Ex)]; auto. exfalso.
    assert (Top : parent ls c = None) by (destruct (parent ls c); [discriminate | auto]).
    pose proof (proj1 (know_holds p wf ls m c lab i Hi Hm) x (above_top p ls c x Top Sx)) as V.
    rewrite (F x (proj1 Sx) Ex) in V. apply among_spec in V. rewrite forallb_forall in H0.
    specialize (H0 y Hy). cbv beta zeta in H0. rewrite V in H0. discriminate. }
  assert (L' : (length rho <= Z.to_nat k)%nat) by lia.
  eapply (proj1 (tree_false _ (symbols p) (Z.to_nat k) rho (proj1 P) L' AC)); [|exact Ht].
  split; [constructor|]. split; [intros z []|]. intros q a I. cbn. apply in_range. apply (proj2 P q a I).
Qed.

Theorem at_least_sound m lab i us : sound p ls m -> forallb (check_unforced p T m lab) us = true ->
  forall y rho, proper_fixing p rho -> forces p lab rho i y -> at_least p T lab i us <= Z.of_nat (length rho).
Proof.
  intros Hm H y rho P F. unfold at_least. destruct (position p i && _) eqn:C; [|lia].
  apply andb_prop in C as [Hi C]. apply position_spec in Hi.
  assert (W : exists x, word_of p x /\ forall q a, In (q, a) rho -> at_ x q = a).
  { destruct (some_common_word p wf [] rho eq_refl P) as (x & Sx & Ex); [intros ? ? ? ? ? _ []|]. exists x. split; auto. apply Sx. }
  destruct W as (x & Wx & Ex). pose proof (in_domain p wf x Wx lab i Hi) as D. rewrite (F x Wx Ex) in D.
  eapply between_spec in C; [|exact D]. apply existsb_exists in C as ([s k i' bs t] & I & C).
  apply andb_prop in C as [C1 C2]. zb. subst i'. apply mem_spec in C2. unfold T, n in C2. rewrite set_of_eq in C2.
  rewrite forallb_forall in H. pose proof (unforced_sound m lab _ Hm (H _ I)) as U. cbn in U. specialize (U y rho C2 P F).
  assert (G : forall l b, (forall z, fold_left (fun b u => Z.min b (bound u)) l b <= z \/ (z < b /\ forall u, In u l -> z < bound u))).
  { induction l as [|u l IH]; intros b z; cbn; [destruct (Z_le_gt_dec b z); [auto | right; split; [lia | tauto]]|].
    destruct (IH (Z.min b (bound u)) z) as [X|[X Y]]; [auto|]. right. split; [lia|]. intros u' [<-|J]; [lia | auto]. }
  destruct us as [|u us]; [destruct I|]. destruct (G us (bound u) (Z.of_nat (length rho))) as [X|[X Y]]; [exact X|].
  exfalso. destruct I as [->|I]; [cbn in X; lia | specialize (Y _ I); cbn in Y; lia].
Qed.
End Program.
