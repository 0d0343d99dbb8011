(** It is decided that a program is well defined, by intervals; where those do not show that a map stays in its domain,
    by trying all combinations. *)
From Coq Require Import ZArith List Bool Lia Psatz.
From R Require Import Semantics Operations Kernel Loops Sound.
Import ListNotations.
Open Scope Z_scope.

(** ** The checker *)

Definition interval := (Z * Z)%type.
Definition bound_ := 6277101735386680763835789423207666416102355444464034512896.   (* 2^192 *)
Definition limited (r : interval) : option interval :=
  if (- bound_ <=? fst r) && (snd r <=? bound_) then Some r else None.

(** From the values at the four pairs of end points. *)
Definition ends (f : Z -> Z -> Z) (a b : interval) : interval :=
  let (al, ah) := a in let (bl, bh) := b in
  (Z.min (Z.min (f al bl) (f al bh)) (Z.min (f ah bl) (f ah bh)),
   Z.max (Z.max (f al bl) (f al bh)) (Z.max (f ah bl) (f ah bh))).

Definition apply1_interval (f : unary) (a : interval) : option interval :=
  match f with
  | Root => if 0 <=? fst a then Some (Z.sqrt (fst a), Z.sqrt (snd a)) else None
  | Half => Some (Z.shiftr (fst a) one, Z.shiftr (snd a) one)
  end.

Definition apply2_interval (f : binary) (a b : interval) : option interval :=
  let (al, ah) := a in let (bl, bh) := b in
  match f with
  | Add => Some (al + bl, ah + bh)
  | Sub => Some (al - bh, ah - bl)
  | Mul => Some (ends Z.mul a b)
  | Div => if (0 <? bl) || (bh <? 0) then Some (ends Z.div a b) else None
  | Mod => if 0 <? bl then Some (if (0 <=? al) && (ah <? bl) then a else (0, bh - 1))
           else if bh <? 0 then Some (bl + 1, 0) else None
  | Less | Equal => Some (0, 1)
  | Min => Some (Z.min al bl, Z.min ah bh)
  | Max => Some (Z.max al bl, Z.max ah bh)
  | Mix => Some (0, low64)
  end.

Definition hull (a b : interval) : interval := (Z.min (fst a) (fst b), Z.max (snd a) (snd b)).
Definition tensor_interval (l : list Z) : interval :=
  match l with [] => (0, 0) | z :: l' => fold_left (fun r z => (Z.min (fst r) z, Z.max (snd r) z)) l' (z, z) end.

Section Intervals.
Variable tensors : list (list Z).
Definition reg_interval (regs : list interval) (a : nat) : interval := nth a regs (0, 0).

Definition op_interval (regs : list interval) (o : op) : option interval :=
  match o with
  | Const c => Some (c, c)
  | Unary f a => apply1_interval f (reg_interval regs a)
  | Binary f a b => apply2_interval f (reg_interval regs a) (reg_interval regs b)
  | If _ a b => Some (hull (reg_interval regs a) (reg_interval regs b))
  | Table t a => let (l, h) := reg_interval regs a in
      if (0 <=? l) && (h <? Z.of_nat (length (tensor tensors t))) then Some (tensor_interval (tensor tensors t)) else None
  end.

Fixpoint run_interval (code : list op) (regs : list interval) : option interval :=
  match code with
  | [] => Some (reg_interval regs 0)
  | o :: code' => match op_interval regs o with
                  | Some r => match limited r with Some r => run_interval code' (r :: regs) | None => None end
                  | None => None
                  end
  end.
End Intervals.

(** Whether a register, counted backwards, is an operand or the result. *)
Definition operands (o : op) : list nat :=
  match o with
  | Const _ => [] | Unary _ a => [a] | Binary _ a b => [a; b] | If c a b => [c; a; b] | Table _ a => [a]
  end.
Fixpoint used (code : list op) (k : nat) : bool :=
  match code with
  | [] => Nat.eqb k 0
  | o :: code' => existsb (Nat.eqb k) (operands o) || used code' (S k)
  end.
Fixpoint varied (code : list op) (k : nat) (sizes : list Z) : list vset :=
  match sizes with
  | [] => []
  | d :: sizes' => (if used code k then Upto d else Vals [0]) :: varied code (S k) sizes'
  end.

Section Rules.
Variable s : source.
Let p := program_of s.
Definition size_of (a : option nat) : Z := match a with Some v => domain p v | None => 1 end.
Definition map_sizes (args : list nat) : list Z := rev (s_length s :: map (domain p) args).
Definition full (d : Z) : interval := (0, d - 1).

(** The combinations that must be tried; none where intervals suffice. *)
Definition shown_by_interval (d : Z) (args : list nat) (code : list op) : bool :=
  match run_interval (s_tensors s) code (map full (map_sizes args)) with
  | Some (l, h) => (0 <=? l) && (h <? d)
  | None => false
  end.
Definition combinations (r : rule) : Z :=
  match r with
  | RMap d args code => if shown_by_interval d args code then 0 else
      fold_left (fun c v => c * match v with Upto d => d | Vals _ => 1 end) (varied code 0 (map_sizes args)) 1
  | RHead _ _ _ _ _ _ _ _ => 0
  end.

Definition check_rule (r : rule) : bool :=
  match r with
  | RMap d args code =>
      match run_interval (s_tensors s) code (map full (map_sizes args)) with
      | Some _ => true | None => false end &&
      (shown_by_interval d args code ||
       product (varied code 0 (map_sizes args)) (fun e => let z := run (entry_of (s_tensors s)) code e in (0 <=? z) && (z <? d)))
  | RHead d q k v _ _ default code =>
      (0 <=? default) && (default <? d) && (domain p v <=? d) &&
      match run_interval (s_tensors s) code (map full [size_of k; s_length s; size_of q; s_length s]) with
      | Some _ => true | None => false end
  end.

Fixpoint in_order (v : nat) (rs : list rule) : bool :=
  match rs with
  | [] => true
  | r :: rs' => forallb (fun a => Nat.ltb a v) (reads (var_of (s_tensors s) r)) && in_order (S v) rs'
  end.
Definition check_source : bool := (0 <? s_symbols s) && in_order 2 (s_rules s) && forallb check_rule (s_rules s).
End Rules.

(** ** Proofs *)

Definition has (r : interval) (z : Z) : Prop := fst r <= z <= snd r.

Lemma ends_mul a b x y : has a x -> has b y -> has (ends Z.mul a b) (x * y).
Proof.
  destruct a as [al ah], b as [bl bh]. unfold has; cbn. intros [A1 A2] [B1 B2].
  assert (L : forall c l h z, l <= z <= h -> Z.min (l * c) (h * c) <= z * c <= Z.max (l * c) (h * c)).
  { intros c l h z Z0. destruct (Z_le_gt_dec 0 c); nia. }
  pose proof (L bl al ah x ltac:(lia)). pose proof (L bh al ah x ltac:(lia)).
  pose proof (L x bl bh y ltac:(lia)). rewrite !(Z.mul_comm _ x) in H1. lia.
Qed.

Lemma div_between x l y h : 0 < l -> l <= y <= h -> Z.min (x / l) (x / h) <= x / y <= Z.max (x / l) (x / h).
Proof.
  intros L Y. destruct (Z_le_gt_dec 0 x).
  - pose proof (Z.div_le_compat_l x y h ltac:(lia) ltac:(lia)). pose proof (Z.div_le_compat_l x l y ltac:(lia) ltac:(lia)). lia.
  - assert (G : forall q r, 0 < q <= r -> x / q <= x / r).
    { intros q r Q. apply Z.div_le_lower_bound; [lia|]. pose proof (Z.mul_div_le x q ltac:(lia)).
      assert (x / q < 0) by (apply Z.div_lt_upper_bound; lia). nia. }
    pose proof (G l y ltac:(lia)). pose proof (G y h ltac:(lia)). lia.
Qed.

Lemma ends_div_pos al ah bl bh x y : 0 < bl -> al <= x <= ah -> bl <= y <= bh -> has (ends Z.div (al, ah) (bl, bh)) (x / y).
Proof.
  intros P X Y. unfold has; cbn. pose proof (div_between x bl y bh P Y).
  pose proof (Z.div_le_mono al x bl P ltac:(lia)). pose proof (Z.div_le_mono x ah bl P ltac:(lia)).
  pose proof (Z.div_le_mono al x bh ltac:(lia) ltac:(lia)). pose proof (Z.div_le_mono x ah bh ltac:(lia) ltac:(lia)). lia.
Qed.

Lemma ends_div al ah bl bh x y : (0 < bl \/ bh < 0) -> al <= x <= ah -> bl <= y <= bh -> has (ends Z.div (al, ah) (bl, bh)) (x / y).
Proof.
  intros [P|P] X Y; [apply ends_div_pos; auto|].
  pose proof (ends_div_pos (- ah) (- al) (- bh) (- bl) (- x) (- y) ltac:(lia) ltac:(lia) ltac:(lia)) as H.
  unfold has in *. cbn in *. rewrite !Z.div_opp_opp in H by lia. lia.
Qed.

Lemma mix_bound h a : 0 <= mix h a <= low64.
Proof.
  unfold mix. set (m := Z.land _ low64).
  assert (M : 0 <= m < 2 ^ 64).
  { unfold m. change low64 with (Z.ones 64). rewrite Z.land_ones by lia. apply Z.mod_pos_bound. lia. }
  assert (S : 0 <= Z.shiftr m half64) by (apply Z.shiftr_nonneg; lia).
  assert (L : 0 <= Z.lxor m (Z.shiftr m half64)) by (apply Z.lxor_nonneg; lia). split; [auto|].
  enough (Z.lxor m (Z.shiftr m half64) < 2 ^ 64) by (change (2 ^ 64) with (low64 + 1) in *; lia).
  destruct (Z.eq_dec (Z.lxor m (Z.shiftr m half64)) 0) as [->|N]; [lia|].
  apply Z.log2_lt_pow2; [lia|]. pose proof (Z.log2_lxor m (Z.shiftr m half64) ltac:(lia) S) as B.
  assert (Z.log2 m < 64). { destruct (Z.eq_dec m 0) as [->|]; [cbn; lia | apply Z.log2_lt_pow2; lia]. }
  assert (Z.shiftr m half64 <= m).
  { rewrite Z.shiftr_div_pow2 by (unfold half64; lia). apply Z.div_le_upper_bound; unfold half64; [lia | nia]. }
  pose proof (Z.log2_le_mono _ _ H0). lia.
Qed.

Lemma apply1_has f a r x : apply1_interval f a = Some r -> has a x -> has r (apply1 f x) /\ (f = Root -> 0 <= x).
Proof.
  destruct a as [l h], f; unfold has; cbn [apply1_interval apply1 fst snd]; intros H [X1 X2].
  - destruct (0 <=? l) eqn:E; [|discriminate]. injection H as <-. zb. cbn [fst snd].
    repeat split; try apply Z.sqrt_le_mono; lia.
  - injection H as <-. cbn [fst snd]. rewrite !Z.shiftr_div_pow2 by (unfold one; lia). unfold one. split; [|discriminate].
    split; apply Z.div_le_mono; lia.
Qed.

Lemma apply2_has f a b r x y : apply2_interval f a b = Some r -> has a x -> has b y ->
  has r (apply2 f x y) /\ (f = Div \/ f = Mod -> y <> 0).
Proof.
  destruct a as [al ah], b as [bl bh]. intros H X Y. assert (X' := X). assert (Y' := Y). unfold has in X', Y'. cbn in X', Y'.
  destruct f; cbn [apply2_interval apply2] in *.
  - injection H as <-. unfold has. cbn. split; [lia | intros [|]; discriminate].
  - injection H as <-. unfold has. cbn. split; [lia | intros [|]; discriminate].
  - injection H as <-. split; [apply (ends_mul (al, ah) (bl, bh)); auto | intros [|]; discriminate].
  - destruct ((0 <? bl) || (bh <? 0)) eqn:E; [|discriminate]. injection H as <-. apply orb_prop in E as [E|E]; zb.
    + split; [apply (ends_div al ah bl bh); auto; lia | lia].
    + split; [apply (ends_div al ah bl bh); auto; lia | lia].
  - unfold has. destruct (0 <? bl) eqn:E; zb.
    + pose proof (Z.mod_pos_bound x y ltac:(lia)). destruct ((0 <=? al) && (ah <? bl)) eqn:F; injection H as <-; cbn.
      * apply andb_prop in F as [F1 F2]. zb. rewrite Z.mod_small by lia. split; lia.
      * split; lia.
    + destruct (bh <? 0) eqn:F; [|discriminate]. zb. injection H as <-. pose proof (Z.mod_neg_bound x y ltac:(lia)). cbn. split; lia.
  - injection H as <-. unfold has, flag. cbn. split; [destruct (_ <? _); lia | intros [|]; discriminate].
  - injection H as <-. unfold has, flag. cbn. split; [destruct (_ =? _); lia | intros [|]; discriminate].
  - injection H as <-. unfold has. cbn. split; [lia | intros [|]; discriminate].
  - injection H as <-. unfold has. cbn. split; [lia | intros [|]; discriminate].
  - injection H as <-. unfold has. cbn [fst snd]. split; [apply mix_bound | intros [|]; discriminate].
Qed.

Lemma tensor_has l z : In z l -> has (tensor_interval l) z.
Proof.
  destruct l as [|y l]; [intros []|]. cbn.
  assert (G : forall l r, let r' := fold_left (fun r z => (Z.min (fst r) z, Z.max (snd r) z)) l r in
    fst r' <= fst r /\ snd r <= snd r' /\ forall z, In z l -> has r' z).
  { clear. induction l as [|y l IH]; intros r; cbn; [split; [lia|]; split; [lia | intros z []]|].
    destruct (IH (Z.min (fst r) y, Z.max (snd r) y)) as (A & B & C). cbn in A, B. split; [lia|]. split; [lia|].
    intros z [<-|I]; [unfold has; lia | auto]. }
  destruct (G l (y, y)) as (A & B & C). cbn in A, B. intros [<-|I]; [unfold has; lia | auto].
Qed.

Section Has.
Variable tensors : list (list Z).

Lemma reg_has regs rs a : Forall2 has rs regs -> has (reg_interval rs a) (reg regs a).
Proof.
  intros H. unfold reg_interval, reg. revert a. induction H; intros [|a]; cbn; auto; unfold has; cbn; lia.
Qed.

Lemma op_interval_has rs regs o r : op_interval tensors rs o = Some r -> Forall2 has rs regs ->
  has r (value (entry_of tensors) regs o) /\ proper_op tensors regs o.
Proof.
  intros E F. destruct o; cbn [op_interval value proper_op] in *.
  - injection E as <-. unfold has. cbn. split; [lia | auto].
  - destruct (apply1_has _ _ _ _ E (reg_has regs rs a F)). split; auto. destruct f; auto.
  - destruct (apply2_has _ _ _ _ _ _ E (reg_has regs rs a F) (reg_has regs rs b F)). split; auto. destruct f; auto.
  - injection E as <-. pose proof (reg_has regs rs a F) as A. pose proof (reg_has regs rs b F) as B.
    unfold has, hull in *. cbn. split; [destruct (_ =? _); lia | auto].
  - pose proof (reg_has regs rs a F) as A. destruct (reg_interval rs a) as [l h]. unfold has in A. cbn in A.
    destruct ((0 <=? l) && (h <? _)) eqn:C; [|discriminate]. injection E as <-. apply andb_prop in C as [C1 C2]. zb.
    split; [|lia]. apply tensor_has. unfold entry_of. apply nth_In. lia.
Qed.

Theorem run_interval_has : forall code rs regs r, run_interval tensors code rs = Some r -> Forall2 has rs regs ->
  proper tensors code regs /\ has r (run (entry_of tensors) code regs).
Proof.
  induction code as [|o code IH]; cbn; intros rs regs r H F.
  - injection H as <-. split; auto. apply reg_has. auto.
  - destruct (op_interval tensors rs o) as [r1|] eqn:E; [|discriminate]. unfold limited in H.
    destruct (_ && _) in H; [|discriminate]. destruct (op_interval_has rs regs o r1 E F).
    destruct (IH (r1 :: rs) (value (entry_of tensors) regs o :: regs) r H); auto.
Qed.
End Has.

Lemma run_used entry : forall code regs regs', (forall k, used code k = true -> reg regs k = reg regs' k) ->
  run entry code regs = run entry code regs'.
Proof.
  induction code as [|o code IH]; cbn; intros regs regs' H; [apply H; auto|].
  assert (V : value entry regs o = value entry regs' o).
  { assert (G : forall a, In a (operands o) -> reg regs a = reg regs' a).
    { intros a I. apply H. apply orb_true_iff. left. apply existsb_exists. exists a. rewrite Nat.eqb_refl. auto. }
    destruct o; cbn in *; auto; rewrite ?(G a), ?(G b), ?(G c); auto. }
  rewrite V. apply IH. intros [|k] U; [reflexivity|]. cbn. apply H. rewrite U. apply orb_true_r.
Qed.

(** What is tried in place of registers that do not matter. *)
Fixpoint tried (code : list op) (k : nat) (regs : list Z) : list Z :=
  match regs with [] => [] | z :: regs' => (if used code k then z else 0) :: tried code (S k) regs' end.
Lemma tried_reg code : forall regs k a, reg (tried code k regs) a = if used code (k + a) then reg regs a else 0.
Proof.
  induction regs as [|z regs IH]; intros k a; unfold reg in *; cbn.
  - destruct a, (used code _); auto.
  - destruct a; cbn; [rewrite Nat.add_0_r; auto|]. rewrite IH. replace (S k + a)%nat with (k + S a)%nat by lia. auto.
Qed.
Lemma tried_varied code : forall sizes regs k, Forall2 (fun d z => 0 <= z < d) sizes regs ->
  Forall2 (fun v z => inV z v) (varied code k sizes) (tried code k regs).
Proof. intros sizes regs k F. revert k. induction F; intros k; cbn; constructor; auto. destruct (used code k); cbn; auto. Qed.

Lemma Forall2_app_rev {A B} (R : A -> B -> Prop) : forall l l', Forall2 R l l' -> Forall2 R (rev l) (rev l').
Proof. induction 1; cbn; auto. apply Forall2_app; auto. Qed.

Section Source.
Variable s : source.
Let p := program_of s.

Lemma in_order_spec : forall rs v k r a, in_order s v rs = true -> nth_error rs k = Some r ->
  In a (reads (var_of (s_tensors s) r)) -> (a < v + k)%nat.
Proof.
  induction rs; intros v k r x H E I; [destruct k; discriminate|]. cbn in H. apply andb_prop in H as [H1 H2]. destruct k; cbn in E.
  - injection E as ->. rewrite forallb_forall in H1. specialize (H1 _ I). apply Nat.ltb_lt in H1. lia.
  - specialize (IHrs _ _ _ _ H2 E I). lia.
Qed.

Lemma map_in_sizes args i e : 0 <= i < s_length s -> Forall2 (fun a z => 0 <= z < domain p a) args e ->
  Forall2 (fun d z => 0 <= z < d) (map_sizes s args) (map_regs i e).
Proof.
  intros Hi F. unfold map_sizes, map_regs. apply Forall2_app_rev. constructor; auto.
  clear -F. induction F; cbn; constructor; auto.
Qed.
Lemma sizes_full sizes regs : Forall2 (fun d z => 0 <= z < d) sizes regs -> Forall2 has (map full sizes) regs.
Proof. induction 1; cbn; constructor; auto. unfold has, full. cbn. lia. Qed.

Theorem check_source_sound : check_source s = true -> well_defined s.
Proof.
  unfold check_source. intros H. apply andb_prop in H as [H Hr]. apply andb_prop in H as [Hs Ho]. zb. rewrite forallb_forall in Hr.
  assert (Rule : forall v w, nth_error (vars p) v = Some w -> w = Token \/ w = Position \/
    exists k r, v = S (S k) /\ nth_error (s_rules s) k = Some r /\ w = var_of (s_tensors s) r).
  { intros [|[|v]] w E; cbn in E; [left; congruence | right; left; congruence | right; right].
    rewrite nth_error_map in E. destruct (nth_error (s_rules s) v) as [r|] eqn:R; [|discriminate]. injection E as <-. eauto. }
  split; [constructor|].
  - intros v w a E I. destruct (Rule v w E) as [->|[->|(k & r & -> & R & ->)]]; try destruct I.
    exact (in_order_spec _ _ _ _ _ Ho R I).
  - intros v d args f i e E Hi F. destruct (Rule _ _ E) as [X|[X|(k & r & -> & R & X)]]; try discriminate.
    apply nth_error_In in R. specialize (Hr _ R). destruct r as [d' args' code|]; [|discriminate]. injection X as -> -> ->.
    cbn [check_rule] in Hr. apply andb_prop in Hr as [_ Hr]. pose proof (map_in_sizes args' i e Hi F) as M. apply orb_prop in Hr as [Hr|Hr].
    + unfold shown_by_interval in Hr. destruct (run_interval _ _ _) as [[l h]|] eqn:Er; [|discriminate].
      apply andb_prop in Hr as [H1 H2]. zb. destruct (run_interval_has _ _ _ _ _ Er (sizes_full _ _ M)) as [_ B]. unfold has in B. cbn [fst snd] in B. cbv beta. lia.
    + eapply product_spec in Hr; [|apply tried_varied; exact M]. cbv zeta in Hr. apply andb_prop in Hr as [H1 H2]. zb.
      rewrite (run_used _ code (map_regs i e) (tried code 0 (map_regs i e))); [lia|].
      intros a U. rewrite tried_reg. cbn. rewrite U. auto.
  - intros v h E. destruct (Rule _ _ E) as [X|[X|(k & r & -> & R & X)]]; try discriminate.
    apply nth_error_In in R. specialize (Hr _ R). destruct r; [discriminate|]. injection X as ->. cbn [check_rule h_default h_domain h_value] in *.
    apply andb_prop in Hr as [Hr _]. apply andb_prop in Hr as [Hr H3]. apply andb_prop in Hr as [H1 H2]. zb. auto.
  - reflexivity.
  - exact Hs.
  - apply Forall_forall. intros r I. specialize (Hr _ I). destruct r; cbn [check_rule] in Hr.
    + intros i e Hi F. apply andb_prop in Hr as [Hr _]. destruct (run_interval _ _ _) as [b|] eqn:Er; [|discriminate].
      apply (run_interval_has _ _ _ _ _ Er). apply sizes_full. apply map_in_sizes; auto.
    + intros i u j w Hi Hj Hu Hw. apply andb_prop in Hr as [_ Hr]. destruct (run_interval _ _ _) as [b|] eqn:Er; [|discriminate].
      apply (run_interval_has _ _ _ _ _ Er). apply sizes_full. unfold head_regs, size_of.
      assert (Q : 0 <= u < match query with Some v => Semantics.domain (program_of s) v | None => 1 end) by (destruct query; lia).
      assert (K : 0 <= w < match key with Some v => Semantics.domain (program_of s) v | None => 1 end) by (destruct key; lia).
      constructor; [exact K|]. constructor; [lia|]. constructor; [exact Q|]. constructor; [lia|]. constructor.
Qed.
End Source.
