(** Position classes (docs/trusted-base.md, "Position classes"): a form that is accepted as constant on classes is
    constant on classes, for every operator.  Nothing here is extracted: the checker of proofs for all lengths, in Python,
    goes by these lemmas. *)
From Coq Require Import ZArith List Bool Lia Psatz.
Import ListNotations.
Open Scope Z_scope.

(** ** To be read: points, forms, classes *)

(** A point: p, s, p2, s2 (natural numbers) and d.  Of positions i, j of a word of length n they are i, n-1-i, j, n-1-j
    and j-i. *)
Inductive coordinate := P1 | S1 | P2 | S2.
Record point := Point { at_ : coordinate -> Z; dist : Z }.
Definition natural (x : point) : Prop := forall c, 0 <= at_ x c.
Definition same (c c' : coordinate) : bool :=
  match c, c' with P1, P1 | S1, S1 | P2, P2 | S2, S2 => true | _, _ => false end.
Definition set (x : point) (c : coordinate) (z : Z) : point :=
  Point (fun c' => if same c c' then z else at_ x c') (dist x).
Definition cut (R d : Z) : Z := Z.max (- R) (Z.min R d).
Definition near (R : Z) (x : point) : point := Point (at_ x) (cut R (dist x)).
Definition point_of (n i j : Z) : point :=
  Point (fun c => match c with P1 => i | S1 => n - 1 - i | P2 => j | S2 => n - 1 - j end) (j - i).

(** (b) and (c) of the page; functions of points see their coordinates only. *)
Record form (T P R : Z) (k : coordinate -> Z) (F : point -> Z) : Prop := {
  period : 0 < P;
  threshold : 0 <= T;
  reach : 0 <= R;
  sees : forall x y, (forall c, at_ x c = at_ y c) -> dist x = dist y -> F x = F y;
  slope : forall x c, natural x -> T <= at_ x c -> F (set x c (at_ x c + P)) = F x + k c;
  far : forall x, natural x -> F (near R x) = F x }.
Definition none (_ : coordinate) : Z := 0.

(** The class of a natural number. *)
Definition class (T P z : Z) : Z := if z <? T then z else T + (z - T) mod P.
Definition classes (T P : Z) (x : point) : point := Point (fun c => class T P (at_ x c)) (dist x).

(** ** Theorem F *)

Lemma same_spec c c' : same c c' = true <-> c = c'.
Proof. destruct c, c'; cbn; split; congruence. Qed.
Lemma set_same x c z : at_ (set x c z) c = z.
Proof. destruct c; reflexivity. Qed.
Lemma natural_set x c z : natural x -> 0 <= z -> natural (set x c z).
Proof. intros N Z0 c'. cbn. destruct (same c c'); auto. Qed.

Lemma steps T P R k F : form T P R k F -> forall x c (m : nat), natural x -> T <= at_ x c ->
  F (set x c (at_ x c + Z.of_nat m * P)) = F x + Z.of_nat m * k c.
Proof.
  intros H x c m N L. induction m as [|m IH].
  - replace (F (set x c (at_ x c + Z.of_nat 0 * P))) with (F x); [lia|]. apply (sees _ _ _ _ _ H); [|reflexivity].
    intros c'. cbn. destruct (same c c') eqn:E; auto. apply same_spec in E. subst. lia.
  - pose proof (period _ _ _ _ _ H). set (y := set x c (at_ x c + Z.of_nat m * P)) in *.
    assert (Y : at_ y c = at_ x c + Z.of_nat m * P) by apply set_same.
    assert (E : F (set x c (at_ x c + Z.of_nat (S m) * P)) = F (set y c (at_ y c + P))).
    { apply (sees _ _ _ _ _ H); [|reflexivity]. intros c'. rewrite Y. unfold y. cbn [set at_].
      destruct (same c c'); auto. lia. }
    rewrite E, (slope _ _ _ _ _ H); [rewrite IH; lia | apply natural_set; auto; specialize (N c); nia | rewrite Y; nia].
Qed.

(** A number of periods is taken away from one coordinate. *)
Lemma back T P R k F x c z : form T P R k F -> natural x -> T <= z -> z <= at_ x c -> (at_ x c - z) mod P = 0 ->
  F x = F (set x c z) + (at_ x c - z) / P * k c.
Proof.
  intros H N L Le M. pose proof (period _ _ _ _ _ H). pose proof (threshold _ _ _ _ _ H).
  pose proof (steps _ _ _ _ _ H (set x c z) c (Z.to_nat ((at_ x c - z) / P))) as S. rewrite set_same in S.
  assert (Q : 0 <= (at_ x c - z) / P) by (apply Z.div_pos; lia). rewrite Z2Nat.id in S by auto.
  rewrite <- S; [|apply natural_set; auto; lia | auto].
  apply (sees _ _ _ _ _ H); [|reflexivity]. intros c'. cbn. destruct (same c c') eqn:E; auto. apply same_spec in E. subst c'.
  pose proof (Z.div_mod (at_ x c - z) P ltac:(lia)). lia.
Qed.

Lemma class_bounds T P z : 0 < P -> 0 <= z -> 0 <= T -> 0 <= class T P z <= z /\ class T P z < T + P /\
  (class T P z = z \/ T <= class T P z) /\ (z - class T P z) mod P = 0.
Proof.
  intros HP Hz HT. unfold class. destruct (z <? T) eqn:E.
  - apply Z.ltb_lt in E. rewrite Z.sub_diag, Z.mod_0_l by lia. lia.
  - apply Z.ltb_ge in E. pose proof (Z.mod_pos_bound (z - T) P HP). pose proof (Z.mod_le (z - T) P ltac:(lia) HP).
    split; [lia|]. split; [lia|]. split; [lia|]. pose proof (Z.div_mod (z - T) P ltac:(lia)).
    replace (z - (T + (z - T) mod P)) with ((z - T) / P * P) by lia. apply Z.mod_mul. lia.
Qed.

Lemma to_class T P R F x c : form T P R none F -> natural x -> F (set x c (class T P (at_ x c))) = F x.
Proof.
  intros H N. pose proof (period _ _ _ _ _ H). pose proof (threshold _ _ _ _ _ H).
  destruct (class_bounds T P (at_ x c) H0 (N c) H1) as (B & _ & [E|L] & M).
  - apply (sees _ _ _ _ _ H); [|reflexivity]. intros c'. cbn. destruct (same c c') eqn:S; auto. apply same_spec in S. subst. auto.
  - rewrite (back _ _ _ _ _ x c (class T P (at_ x c)) H); auto; [unfold none; lia | lia].
Qed.

Theorem classes_sound T P R F : form T P R none F -> forall x y, natural x -> natural y ->
  (forall c, class T P (at_ x c) = class T P (at_ y c)) -> cut R (dist x) = cut R (dist y) -> F x = F y.
Proof.
  intros H. pose proof (period _ _ _ _ _ H). pose proof (threshold _ _ _ _ _ H).
  assert (G : forall x, natural x -> F x = F (near R (classes T P x))).
  { intros x N. assert (NC : natural (classes T P x)) by (intros c; cbn; apply class_bounds; auto).
    rewrite (far _ _ _ _ _ H) by auto.
    set (x1 := set x P1 (class T P (at_ x P1))). set (x2 := set x1 S1 (class T P (at_ x1 S1))).
    set (x3 := set x2 P2 (class T P (at_ x2 P2))). set (x4 := set x3 S2 (class T P (at_ x3 S2))).
    assert (N1 : natural x1) by (apply natural_set; auto; apply class_bounds; auto).
    assert (N2 : natural x2) by (apply natural_set; auto; apply class_bounds; auto).
    assert (N3 : natural x3) by (apply natural_set; auto; apply class_bounds; auto).
    transitivity (F x4).
    - unfold x4. rewrite (to_class _ _ _ _ _ _ H) by auto. unfold x3. rewrite (to_class _ _ _ _ _ _ H) by auto.
      unfold x2. rewrite (to_class _ _ _ _ _ _ H) by auto. unfold x1. rewrite (to_class _ _ _ _ _ _ H) by auto. auto.
    - apply (sees _ _ _ _ _ H); [|reflexivity]. intros []; reflexivity. }
  intros x y Nx Ny E D. rewrite (G x Nx), (G y Ny). apply (sees _ _ _ _ _ H).
  - intros c. cbn. auto.
  - cbn. auto.
Qed.

(** ** Lemmas 1 to 3: lines, common classes, sums *)

(** Both ways to read n. *)
Lemma line_form a b c e (left : bool) : form 0 1 0
  (fun w => match w with P1 => a + (if left then c else 0) | S1 => if left then c else 0
                       | P2 => b + (if left then 0 else c) | S2 => if left then 0 else c end)
  (fun x => a * at_ x P1 + b * at_ x P2 + c * (if left then at_ x P1 + at_ x S1 + 1 else at_ x P2 + at_ x S2 + 1) + e).
Proof.
  constructor; try lia.
  - intros x y A _. rewrite !A. auto.
  - intros x w _ _. destruct w, left; cbn; lia.
  - intros x _. reflexivity.
Qed.
Lemma line_is a b c e left n i j : 
  a * at_ (point_of n i j) P1 + b * at_ (point_of n i j) P2 + c * (if left : bool then at_ (point_of n i j) P1 + at_ (point_of n i j) S1 + 1
    else at_ (point_of n i j) P2 + at_ (point_of n i j) S2 + 1) + e = a * i + b * j + c * n + e.
Proof. destruct left; cbn; lia. Qed.

Lemma cut_cut R R' d : 0 <= R <= R' -> cut R (cut R' d) = cut R d.
Proof. unfold cut. lia. Qed.

Theorem coarser T P R k F T' m R' : form T P R k F -> T <= T' -> 0 < m -> R <= R' ->
  form T' (m * P) R' (fun c => m * k c) F.
Proof.
  intros H HT Hm HR. pose proof (period _ _ _ _ _ H). pose proof (threshold _ _ _ _ _ H). pose proof (reach _ _ _ _ _ H).
  constructor; try nia; [apply (sees _ _ _ _ _ H)|..].
  - intros x c N L. pose proof (steps _ _ _ _ _ H x c (Z.to_nat m) N ltac:(lia)) as S. rewrite Z2Nat.id in S by lia. exact S.
  - intros x N. transitivity (F (near R x)); [|apply (far _ _ _ _ _ H); exact N].
    transitivity (F (near R (near R' x))); [symmetry; apply (far _ _ _ _ _ H); exact N|]. apply (sees _ _ _ _ _ H); [auto|]. cbn. apply cut_cut. lia.
Qed.

Theorem combined T P R k l F G (f : Z -> Z -> Z) (g : coordinate -> Z) : form T P R k F -> form T P R l G ->
  (forall c a b, f (a + k c) (b + l c) = f a b + g c) -> form T P R g (fun x => f (F x) (G x)).
Proof.
  intros H I E. constructor; try apply H.
  - intros x y A D. rewrite (sees _ _ _ _ _ H x y A D), (sees _ _ _ _ _ I x y A D). auto.
  - intros x c N L. rewrite (slope _ _ _ _ _ H), (slope _ _ _ _ _ I) by auto. apply E.
  - intros x N. rewrite (far _ _ _ _ _ H), (far _ _ _ _ _ I) by auto. auto.
Qed.

Theorem sum_form T P R k l F G : form T P R k F -> form T P R l G -> form T P R (fun c => k c + l c) (fun x => F x + G x).
Proof. intros. eapply (combined _ _ _ _ _ _ _ Z.add); eauto. intros. cbv beta. lia. Qed.
Theorem difference_form T P R k l F G : form T P R k F -> form T P R l G -> form T P R (fun c => k c - l c) (fun x => F x - G x).
Proof. intros. eapply (combined _ _ _ _ _ _ _ Z.sub); eauto. intros. cbv beta. lia. Qed.
Theorem multiple_form T P R k F z : form T P R k F -> form T P R (fun c => z * k c) (fun x => z * F x).
Proof. intros H. eapply (combined _ _ _ _ _ _ _ (fun a _ => z * a) _ H H). intros. cbv beta. lia. Qed.

(** Any function of finite forms is finite: products, hash, and, or, not, comparisons. *)
Theorem function_form T P R F G f : form T P R none F -> form T P R none G -> form T P R none (fun x => f (F x) (G x)).
Proof. intros H I. eapply (combined _ _ _ _ _ _ _ f _ H I). intros. unfold none. rewrite !Z.add_0_r. auto. Qed.

(** ** Lemma 4: quotients and remainders *)

Theorem quotient_form T P R k F z : form T P R k F -> z <> 0 ->
  form T (Z.abs z * P) R (fun c => k c * (Z.abs z / z)) (fun x => F x / z).
Proof.
  intros H Hz. pose proof (coarser _ _ _ _ _ T (Z.abs z) R H ltac:(lia) ltac:(lia) ltac:(lia)) as H'.
  eapply (combined _ _ _ _ _ _ _ (fun a _ => a / z) _ H' H'). intros c a _. cbv beta.
  assert (E : Z.abs z = Z.abs z / z * z).
  { replace (Z.abs z) with (Z.sgn z * z) by (rewrite Z.mul_comm; apply Z.sgn_abs). rewrite Z.div_mul by auto. auto. }
  rewrite E at 1. replace (Z.abs z / z * z * k c) with (k c * (Z.abs z / z) * z) by lia. apply Z.div_add. auto.
Qed.
Theorem remainder_form T P R k F z : form T P R k F -> z <> 0 -> form T (Z.abs z * P) R none (fun x => F x mod z).
Proof.
  intros H Hz. pose proof (coarser _ _ _ _ _ T (Z.abs z) R H ltac:(lia) ltac:(lia) ltac:(lia)) as H'.
  eapply (combined _ _ _ _ _ _ _ (fun a _ => a mod z) _ H' H'). intros c a _. cbv beta. unfold none. rewrite Z.add_0_r.
  destruct (Z.abs_spec z) as [[A ->]|[A ->]].
  - replace (z * k c) with (k c * z) by lia. apply Z.mod_add. auto.
  - replace (- z * k c) with (- k c * z) by lia. apply Z.mod_add. auto.
Qed.

(** ** Lemma 5: comparison with 0 *)

(** No two slopes have different signs. *)
Definition one_sign (k : coordinate -> Z) : Prop := (forall c, 0 <= k c) \/ (forall c, k c <= 0).
(** The checker goes through the points below T + P (in the coordinates that F reads). *)
Definition bounded (T P M : Z) (F : point -> Z) : Prop :=
  forall x, natural x -> (forall c, at_ x c < T + P) -> Z.abs (F x) <= M.
Definition beyond (T P M m : Z) : Z := T + P * (M / m + 2).

(** Taking the coordinates back to their classes, one after the other, takes away their slopes. *)
Lemma back_to_classes T P R k F x : form T P R k F -> natural x -> exists q : coordinate -> Z,
  (forall c, 0 <= q c /\ at_ x c - class T P (at_ x c) = q c * P) /\
  F x = F (classes T P x) + (q P1 * k P1 + q S1 * k S1 + q P2 * k P2 + q S2 * k S2).
Proof.
  intros H N. pose proof (period _ _ _ _ _ H). pose proof (threshold _ _ _ _ _ H).
  exists (fun c => (at_ x c - class T P (at_ x c)) / P). split.
  { intros c. destruct (class_bounds T P (at_ x c) H0 (N c) H1) as (B & _ & _ & M). split; [apply Z.div_pos; lia|].
    pose proof (Z.div_mod (at_ x c - class T P (at_ x c)) P ltac:(lia)). lia. }
  assert (B : forall y c, natural y -> F y = F (set y c (class T P (at_ y c))) + (at_ y c - class T P (at_ y c)) / P * k c).
  { intros y c Ny. destruct (class_bounds T P (at_ y c) H0 (Ny c) H1) as (B & _ & [E|L] & M).
    - rewrite E, Z.sub_diag, Z.div_0_l by lia. rewrite Z.mul_0_l, Z.add_0_r. apply (sees _ _ _ _ _ H); [|reflexivity].
      intros c'. cbn. destruct (same c c') eqn:S; auto. apply same_spec in S. subst. auto.
    - apply (back _ _ _ _ _ y c _ H); auto. lia. }
  set (x1 := set x P1 (class T P (at_ x P1))). set (x2 := set x1 S1 (class T P (at_ x1 S1))).
  set (x3 := set x2 P2 (class T P (at_ x2 P2))). set (x4 := set x3 S2 (class T P (at_ x3 S2))).
  assert (N1 : natural x1) by (apply natural_set; auto; apply class_bounds; auto).
  assert (N2 : natural x2) by (apply natural_set; auto; apply class_bounds; auto).
  assert (N3 : natural x3) by (apply natural_set; auto; apply class_bounds; auto).
  rewrite (B x P1 N). fold x1. rewrite (B x1 S1 N1). fold x2. rewrite (B x2 P2 N2). fold x3. rewrite (B x3 S2 N3). fold x4.
  replace (F x4) with (F (classes T P x)) by (apply (sees _ _ _ _ _ H); [intros []; reflexivity | reflexivity]).
  change (at_ x1 S1) with (at_ x S1). change (at_ x2 P2) with (at_ x P2). change (at_ x3 S2) with (at_ x S2). lia.
Qed.

(** Far out in a coordinate whose slope is not 0, the sign is that of the slopes. *)
Lemma far_out T P R k F M m x c : form T P R k F -> one_sign k -> bounded T P M F -> 0 < m -> (forall c, k c <> 0 -> m <= Z.abs (k c)) ->
  natural x -> k c <> 0 -> beyond T P M m <= at_ x c -> (0 < k c -> 0 < F x) /\ (k c < 0 -> F x < 0).
Proof.
  intros H S B Hm Least N K L. pose proof (period _ _ _ _ _ H). pose proof (threshold _ _ _ _ _ H).
  destruct (back_to_classes _ _ _ _ _ x H N) as (q & Q & E).
  assert (Bz : Z.abs (F (classes T P x)) <= M).
  { apply B; intros c'; cbn; apply (class_bounds T P (at_ x c') H0 (N c') H1). }
  assert (HM : 0 <= M) by lia. assert (Big : M / m + 1 < q c + 1).
  { destruct (Q c) as [Q0 Qc]. destruct (class_bounds T P (at_ x c) H0 (N c) H1) as (_ & Lt & _). unfold beyond in L. nia. }
  pose proof (Z.div_mod M m ltac:(lia)) as D. pose proof (Z.mod_pos_bound M m Hm) as D'.
  assert (Prod : M < q c * m) by nia. pose proof (Least c K).
  pose proof (proj1 (Q P1)). pose proof (proj1 (Q S1)). pose proof (proj1 (Q P2)). pose proof (proj1 (Q S2)).
  destruct S as [S|S]; pose proof (S P1); pose proof (S S1); pose proof (S P2); pose proof (S S2); pose proof (S c).
  - split; [intros _ | lia].
    assert (q c * k c <= q P1 * k P1 + q S1 * k S1 + q P2 * k P2 + q S2 * k S2) by (destruct c; nia). nia.
  - split; [lia | intros _].
    assert (q P1 * k P1 + q S1 * k S1 + q P2 * k P2 + q S2 * k S2 <= q c * k c) by (destruct c; nia). nia.
Qed.

Lemma later T P M m : 0 <= M -> 0 < m -> 0 < P -> T <= beyond T P M m.
Proof. intros. unfold beyond. pose proof (Z.div_pos M m ltac:(lia) ltac:(lia)). nia. Qed.

(** [f] is a comparison with 0: it depends on the sign only. *)
Theorem comparison_form T P k F M m f : form T P 0 k F -> one_sign k -> bounded T P M F -> 0 <= M -> 0 < m ->
  (forall c, k c <> 0 -> m <= Z.abs (k c)) -> (forall a b, Z.sgn a = Z.sgn b -> f a = f b) ->
  form (beyond T P M m) P 0 none (fun x => f (F x)).
Proof.
  intros H S B HM Hm Least Sg. pose proof (period _ _ _ _ _ H) as HP. pose proof (threshold _ _ _ _ _ H).
  pose proof (later T P M m HM Hm HP) as La. constructor; try lia.
  - intros x y A D. f_equal. apply (sees _ _ _ _ _ H); auto.
  - intros x c N L. unfold none. rewrite Z.add_0_r. rewrite (slope _ _ _ _ _ H) by (auto; lia).
    destruct (Z.eq_dec (k c) 0) as [->|K]; [f_equal; lia|]. apply Sg.
    destruct (far_out _ _ _ _ _ M m x c H S B Hm Least N K L) as [Up Down]. destruct (Z_lt_le_dec 0 (k c)) as [G|G].
    + specialize (Up G). rewrite !Z.sgn_pos by lia. auto.
    + assert (G' : k c < 0) by lia. specialize (Down G'). rewrite !Z.sgn_neg by lia. auto.
  - intros x N. f_equal. apply (far _ _ _ _ _ H). auto.
Qed.

(** ** Lemma 6: a (j - i) + e *)

Theorem reach_form a e f : a <> 0 -> (forall y z, Z.sgn y = Z.sgn z -> f y = f z) ->
  form 0 1 (Z.abs e / Z.abs a + 1) none (fun x => f (a * dist x + e)).
Proof.
  intros Ha Sg. set (R := Z.abs e / Z.abs a + 1). pose proof (Z.div_pos (Z.abs e) (Z.abs a) ltac:(lia) ltac:(lia)).
  constructor; try (unfold R; lia).
  - intros x y _ D. rewrite D. auto.
  - intros x c _ _. unfold none. cbn. lia.
  - intros x _. cbn. unfold cut. apply Sg. pose proof (Z.div_mod (Z.abs e) (Z.abs a) ltac:(lia)) as D.
    pose proof (Z.mod_pos_bound (Z.abs e) (Z.abs a) ltac:(lia)). assert (E : Z.abs e < R * Z.abs a) by (unfold R; nia).
    assert (G : forall d, R <= d -> Z.sgn (a * d + e) = Z.sgn a /\ Z.sgn (a * - d + e) = - Z.sgn a).
    { intros d Hd. assert (Z.abs e < d * Z.abs a) by nia. destruct (Z_lt_le_dec 0 a).
      - rewrite (Z.sgn_pos a) by lia. rewrite Z.sgn_pos, Z.sgn_neg by nia. auto.
      - rewrite (Z.sgn_neg a) by lia. rewrite Z.sgn_neg, Z.sgn_pos by nia. auto. }
    destruct (Z_lt_le_dec (dist x) (- R)); [|destruct (Z_lt_le_dec R (dist x))].
    + replace (Z.max (- R) (Z.min R (dist x))) with (- R) by (unfold R in *; lia).
      destruct (G R ltac:(lia)) as [_ ->]. destruct (G (- dist x) ltac:(lia)) as [_ X]. rewrite Z.opp_involutive in X. auto.
    + replace (Z.max (- R) (Z.min R (dist x))) with R by (unfold R in *; lia).
      destruct (G R ltac:(lia)) as [-> _]. destruct (G (dist x) ltac:(lia)) as [-> _]. auto.
    + f_equal. f_equal. f_equal. lia.
Qed.

(** ** Lemma 7: min, max, abs *)

(** The larger slopes, where those of F - G have one sign. *)
Theorem maximum_form T P k l F G M m : form T P 0 k F -> form T P 0 l G -> (forall c, l c <= k c) ->
  bounded T P M (fun x => F x - G x) -> 0 <= M -> 0 < m -> (forall c, k c - l c <> 0 -> m <= Z.abs (k c - l c)) ->
  form (beyond T P M m) P 0 k (fun x => Z.max (F x) (G x)) /\ form (beyond T P M m) P 0 l (fun x => Z.min (F x) (G x)).
Proof.
  intros H I K B HM Hm Least. pose proof (difference_form _ _ _ _ _ _ _ H I) as D.
  pose proof (period _ _ _ _ _ H) as HP. pose proof (threshold _ _ _ _ _ H). pose proof (later T P M m HM Hm HP).
  assert (Key : forall x c, natural x -> beyond T P M m <= at_ x c -> F (set x c (at_ x c + P)) = F x + k c /\
    G (set x c (at_ x c + P)) = G x + l c /\ (k c = l c \/ 0 < F x - G x)).
  { intros x c N L. split; [apply (slope _ _ _ _ _ H); auto; lia|]. split; [apply (slope _ _ _ _ _ I); auto; lia|].
    destruct (Z.eq_dec (k c - l c) 0) as [|K0]; [left; lia | right].
    destruct (far_out _ _ _ _ _ M m x c D) as [Up _]; auto; [left; intros c'; specialize (K c'); lia|].
    apply Up. specialize (K c). lia. }
  split; constructor; try lia.
  - intros x y A E. rewrite (sees _ _ _ _ _ H x y A E), (sees _ _ _ _ _ I x y A E). auto.
  - intros x c N L. destruct (Key x c N L) as (-> & -> & X). specialize (K c). lia.
  - intros x N. rewrite (far _ _ _ _ _ H), (far _ _ _ _ _ I) by auto. auto.
  - intros x y A E. rewrite (sees _ _ _ _ _ H x y A E), (sees _ _ _ _ _ I x y A E). auto.
  - intros x c N L. destruct (Key x c N L) as (-> & -> & X). specialize (K c). lia.
  - intros x N. rewrite (far _ _ _ _ _ H), (far _ _ _ _ _ I) by auto. auto.
Qed.

(** ** Lemma 8: A if C else B *)

Theorem choice_form T P R k C A B : form T P R none C -> form T P R k A -> form T P R k B ->
  form T P R k (fun x => if C x =? 0 then B x else A x).
Proof.
  intros H I J. constructor; try apply H.
  - intros x y E D. rewrite (sees _ _ _ _ _ H x y E D), (sees _ _ _ _ _ I x y E D), (sees _ _ _ _ _ J x y E D). auto.
  - intros x c N L. rewrite (slope _ _ _ _ _ H), (slope _ _ _ _ _ I), (slope _ _ _ _ _ J) by auto.
    unfold none. rewrite Z.add_0_r. destruct (C x =? 0); auto.
  - intros x N. rewrite (far _ _ _ _ _ H), (far _ _ _ _ _ I), (far _ _ _ _ _ J) by auto. auto.
Qed.

(** ** To be read: expressions, and which are covered *)

Inductive expr :=
| Number (z : Z) | NameI | NameJ | NameN
| Sum (a b : expr) | Difference (a b : expr) | Multiple (z : Z) (a : expr)
| Quotient (a : expr) (z : Z) | Remainder (a : expr) (z : Z)
| Compare (f : Z -> Z) (a b : expr)                     (* f of a - b *)
| Minimum (a b : expr) | Maximum (a b : expr) | Absolute (a : expr)
| Any (f : Z -> Z -> Z) (a b : expr)                    (* a product, and, or, a step of hash, ... *)
| Choice (c a b : expr).

Section Value.
Variables n i j : Z.
Fixpoint eval (e : expr) : Z :=
  match e with
  | Number z => z
  | NameI => i | NameJ => j | NameN => n
  | Sum a b => eval a + eval b
  | Difference a b => eval a - eval b
  | Multiple z a => z * eval a
  | Quotient a z => eval a / z
  | Remainder a z => eval a mod z
  | Compare f a b => f (eval a - eval b)
  | Minimum a b => Z.min (eval a) (eval b)
  | Maximum a b => Z.max (eval a) (eval b)
  | Absolute a => Z.abs (eval a)
  | Any f a b => f (eval a) (eval b)
  | Choice c a b => if eval c =? 0 then eval b else eval a
  end.
End Value.

(** [f] is a comparison with 0. *)
Definition by_sign (f : Z -> Z) : Prop := forall y z, Z.sgn y = Z.sgn z -> f y = f z.
Definition line_slope (a b c : Z) (left : bool) (w : coordinate) : Z :=
  match w with P1 => a + (if left then c else 0) | S1 => if left then c else 0
             | P2 => b + (if left then 0 else c) | S2 => if left then 0 else c end.
Definition line (a b c e : Z) (left : bool) (x : point) : Z :=
  a * at_ x P1 + b * at_ x P2 + c * (if left then at_ x P1 + at_ x S1 + 1 else at_ x P2 + at_ x S2 + 1) + e.
Definition least_slope (m : Z) (k : coordinate -> Z) : Prop := 0 < m /\ forall c, k c <> 0 -> m <= Z.abs (k c).

(** The forms that the lemmas give an expression; nothing else is accepted. *)
Inductive covered : expr -> Z -> Z -> Z -> (coordinate -> Z) -> (point -> Z) -> Prop :=
| lemma1 e a b c d left : (forall n i j, eval n i j e = a * i + b * j + c * n + d) ->
    covered e 0 1 0 (line_slope a b c left) (line a b c d left)
| lemma2 e T P R k F T' m R' : covered e T P R k F -> T <= T' -> 0 < m -> R <= R' ->
    covered e T' (m * P) R' (fun c => m * k c) F
| same_slopes e T P R k k' F : covered e T P R k F -> (forall c, k c = k' c) -> covered e T P R k' F
| lemma3_sum a b T P R k l F G : covered a T P R k F -> covered b T P R l G ->
    covered (Sum a b) T P R (fun c => k c + l c) (fun x => F x + G x)
| lemma3_difference a b T P R k l F G : covered a T P R k F -> covered b T P R l G ->
    covered (Difference a b) T P R (fun c => k c - l c) (fun x => F x - G x)
| lemma3_multiple z a T P R k F : covered a T P R k F -> covered (Multiple z a) T P R (fun c => z * k c) (fun x => z * F x)
| lemma4_quotient a z T P R k F : covered a T P R k F -> z <> 0 ->
    covered (Quotient a z) T (Z.abs z * P) R (fun c => k c * (Z.abs z / z)) (fun x => F x / z)
| lemma4_remainder a z T P R k F : covered a T P R k F -> z <> 0 ->
    covered (Remainder a z) T (Z.abs z * P) R none (fun x => F x mod z)
| finite f a b T P R F G : covered a T P R none F -> covered b T P R none G ->
    covered (Any f a b) T P R none (fun x => f (F x) (G x))
| finite_comparison f a b T P R F G : covered a T P R none F -> covered b T P R none G ->
    covered (Compare f a b) T P R none (fun x => f (F x - G x))
| lemma5 f a b T P k l F G M m : covered a T P 0 k F -> covered b T P 0 l G -> by_sign f -> one_sign (fun c => k c - l c) ->
    bounded T P M (fun x => F x - G x) -> 0 <= M -> least_slope m (fun c => k c - l c) ->
    covered (Compare f a b) (beyond T P M m) P 0 none (fun x => f (F x - G x))
| lemma6 f a b z d : (forall n i j, eval n i j a - eval n i j b = z * (j - i) + d) -> z <> 0 -> by_sign f ->
    covered (Compare f a b) 0 1 (Z.abs d / Z.abs z + 1) none (fun x => f (z * dist x + d))
| lemma7_maximum a b T P k l F G M m : covered a T P 0 k F -> covered b T P 0 l G -> (forall c, l c <= k c) ->
    bounded T P M (fun x => F x - G x) -> 0 <= M -> least_slope m (fun c => k c - l c) ->
    covered (Maximum a b) (beyond T P M m) P 0 k (fun x => Z.max (F x) (G x))
| lemma7_minimum a b T P k l F G M m : covered a T P 0 k F -> covered b T P 0 l G -> (forall c, l c <= k c) ->
    bounded T P M (fun x => F x - G x) -> 0 <= M -> least_slope m (fun c => k c - l c) ->
    covered (Minimum a b) (beyond T P M m) P 0 l (fun x => Z.min (F x) (G x))
| other_way_maximum a b T P R k F : covered (Maximum b a) T P R k F -> covered (Maximum a b) T P R k F
| other_way_minimum a b T P R k F : covered (Minimum b a) T P R k F -> covered (Minimum a b) T P R k F
| finite_maximum a b T P R F G : covered a T P R none F -> covered b T P R none G ->
    covered (Maximum a b) T P R none (fun x => Z.max (F x) (G x))
| finite_minimum a b T P R F G : covered a T P R none F -> covered b T P R none G ->
    covered (Minimum a b) T P R none (fun x => Z.min (F x) (G x))
| lemma7_absolute a T P R k F : covered (Maximum a (Multiple (-1) a)) T P R k F -> covered (Absolute a) T P R k F
| lemma8_number c a b z T P R k F : (forall n i j, eval n i j c = z) -> covered (if z =? 0 then b else a) T P R k F ->
    covered (Choice c a b) T P R k F
| lemma8 c a b T P R k C A B : covered c T P R none C -> covered a T P R k A -> covered b T P R k B ->
    covered (Choice c a b) T P R k (fun x => if C x =? 0 then B x else A x).

(** ** The theorem: what is covered has its form, and one without slopes is a function of the classes *)

Lemma same_form T P R k k' F : form T P R k F -> (forall c, k c = k' c) -> form T P R k' F.
Proof. intros H E. constructor; try apply H. intros x c N L. rewrite <- E. apply (slope _ _ _ _ _ H); auto. Qed.

Ltac rewrite_values := repeat match goal with H : forall n i j, _ (point_of n i j) = _ |- _ => rewrite <- H end; auto.

Theorem covered_sound e T P R k F : covered e T P R k F ->
  form T P R k F /\ forall n i j, F (point_of n i j) = eval n i j e.
Proof.
  induction 1; repeat match goal with H : form _ _ _ _ _ /\ _ |- _ => destruct H as [? ?] end.
  - split; [apply line_form|]. intros. rewrite H. apply line_is.
  - split; [eapply coarser; eauto | auto].
  - split; [eapply same_form; eauto | auto].
  - split; [eapply sum_form; eauto | intros; cbn [eval]; rewrite_values].
  - split; [eapply difference_form; eauto | intros; cbn [eval]; rewrite_values].
  - split; [eapply multiple_form; eauto | intros; cbn [eval]; rewrite_values].
  - split; [eapply quotient_form; eauto | intros; cbn [eval]; rewrite_values].
  - split; [eapply remainder_form; eauto | intros; cbn [eval]; rewrite_values].
  - split; [eapply (function_form _ _ _ _ _ f); eauto | intros; cbn [eval]; rewrite_values].
  - split; [eapply (function_form _ _ _ _ _ (fun a b => f (a - b))); eauto | intros; cbn [eval]; rewrite_values].
  - destruct H5 as [? ?]. split; [eapply (comparison_form T P _ (fun x => F x - G x)); eauto; eapply difference_form; eauto | intros; cbn [eval]; rewrite_values].
  - split; [apply reach_form; auto | intros; cbn; rewrite H; auto].
  - destruct H4 as [? ?]. split; [eapply (maximum_form T P k l F G); eauto | intros; cbn [eval]; rewrite_values].
  - destruct H4 as [? ?]. split; [eapply (maximum_form T P k l F G); eauto | intros; cbn [eval]; rewrite_values].
  - split; [auto | intros n i j; rewrite H1; cbn; apply Z.max_comm].
  - split; [auto | intros n i j; rewrite H1; cbn; apply Z.min_comm].
  - split; [eapply (function_form _ _ _ _ _ Z.max); eauto | intros; cbn [eval]; rewrite_values].
  - split; [eapply (function_form _ _ _ _ _ Z.min); eauto | intros; cbn [eval]; rewrite_values].
  - split; [auto | intros n i j; rewrite H1; cbn [eval]; lia].
  - split; [auto | intros n i j; rewrite H2; cbn [eval]; rewrite H; destruct (z =? 0); auto].
  - split; [eapply choice_form; eauto | intros; cbn [eval]; rewrite_values].
Qed.

Theorem covered_classes e T P R F : covered e T P R none F -> forall n i j n' i' j',
  0 <= i < n -> 0 <= j < n -> 0 <= i' < n' -> 0 <= j' < n' ->
  (forall c, class T P (at_ (point_of n i j) c) = class T P (at_ (point_of n' i' j') c)) ->
  cut R (j - i) = cut R (j' - i') -> eval n i j e = eval n' i' j' e.
Proof.
  intros H n i j n' i' j' Hi Hj Hi' Hj' C D. destruct (covered_sound _ _ _ _ _ _ H) as [Fm E]. rewrite <- !E.
  apply (classes_sound _ _ _ _ Fm); auto; intros []; cbn; lia.
Qed.
