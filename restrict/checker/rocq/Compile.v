(** Scores on machine words: code becomes an expression, where intervals show that words are enough, and an expression a
    function of j and the key, in which all that is known before is computed once. *)
From Coq Require Import ZArith List Bool Lia.
From R Require Import Semantics Operations Kernel Loops Defined Words.
Import ListNotations.
Open Scope Z_scope.

Inductive operation := AddW | SubW | MulW | DivW | ModW | LessW | EqualW | MinW | MaxW | MixW.

Inductive expr :=
| Lit (w : word)
| At | Query | Place | Key                              (* i, the query's value, j, the key's value *)
| HalfSigned (a : expr) | HalfUnsigned (a : expr)
| Two (f : operation) (a b : expr)
| Choice (c a b : expr)
| Entry (v : vector) (a : expr).

Definition apply_word (f : operation) (a b : word) : word :=
  match f with
  | AddW => add a b | SubW => sub a b | MulW => mul a b
  | DivW => div_word a b | ModW => mod_word a b
  | LessW => truth (less a b) | EqualW => truth (equals a b)
  | MinW => smaller a b | MaxW => larger a b
  | MixW => mix_word a b
  end.

Section Eval.
Variables i u j k : word.
Fixpoint eval (e : expr) : word :=
  match e with
  | Lit w => w
  | At => i | Query => u | Place => j | Key => k
  | HalfSigned a => half_signed (eval a)
  | HalfUnsigned a => half_unsigned (eval a)
  | Two f a b => apply_word f (eval a) (eval b)
  | Choice c a b => choose (eval c) (eval a) (eval b)
  | Entry v a => lookup v (eval a)
  end.
End Eval.

(** ** From code to expressions *)

(** A register: its interval, its expression, and how large that is.  What is used twice is computed twice, so there is a
    limit. *)
Record register := Register { r_interval : interval; r_expr : expr; r_weight : Z }.
Definition heaviest := 1000.
Definition nothing := Register (0, 0) (Lit zero) 1.

Definition two (f : binary) (ia ib : interval) (a b : expr) : option expr :=
  let signed := fits_signed ia && fits_signed ib in
  let divides := fits_signed ia && (1 <=? fst ib) && (snd ib <? middle) in
  match f with
  | Add => Some (Two AddW a b)
  | Sub => Some (Two SubW a b)
  | Mul => Some (Two MulW a b)
  | Mix => Some (Two MixW a b)
  | Div => if divides then Some (Two DivW a b) else None
  | Mod => if divides then Some (Two ModW a b) else None
  | Less => if signed then Some (Two LessW a b) else None
  | Equal => if signed || (fits_unsigned ia && fits_unsigned ib) then Some (Two EqualW a b) else None
  | Min => if signed then Some (Two MinW a b) else None
  | Max => if signed then Some (Two MaxW a b) else None
  end.

Section Compile.
Variable tensors : list (list Z).
Definition vectors : list vector := map (fun l => Vector (map word_of l)) tensors.

Section Vectors.
Variable vs : list vector.

Definition compile_op (regs : list register) (o : op) : option (expr * Z) :=
  let get a := nth a regs nothing in
  match o with
  | Const c => Some (Lit (word_of c), 1)
  | Unary Root _ => None
  | Unary Half a => let r := get a in
      if fits_signed (r_interval r) then Some (HalfSigned (r_expr r), 1 + r_weight r)
      else if fits_unsigned (r_interval r) then Some (HalfUnsigned (r_expr r), 1 + r_weight r) else None
  | Binary f a b => let r := get a in let r' := get b in
      match two f (r_interval r) (r_interval r') (r_expr r) (r_expr r') with
      | Some e => Some (e, 1 + r_weight r + r_weight r')
      | None => None
      end
  | If c a b => let r := get c in
      if fits_signed (r_interval r) || fits_unsigned (r_interval r)
      then Some (Choice (r_expr r) (r_expr (get a)) (r_expr (get b)), 1 + r_weight r + r_weight (get a) + r_weight (get b))
      else None
  | Table t a => let r := get a in
      if fits_signed (r_interval r) then Some (Entry (nth t vs (Vector [])) (r_expr r), 1 + r_weight r) else None
  end.

Fixpoint compile (code : list op) (regs : list register) : option register :=
  match code with
  | [] => Some (nth 0 regs nothing)
  | o :: code' =>
      match op_interval tensors (map r_interval regs) o with
      | None => None
      | Some r =>
          match (if fst r =? snd r then Some (Lit (word_of (fst r)), 1) else compile_op regs o) with
          | Some (e, w) => if w <=? heaviest then compile code' (Register r e w :: regs) else None
          | None => None
          end
      end
  end.
End Vectors.

(** *** Proofs *)

Section Proofs.
Variables i u j k : word.
Definition stands_for (r : register) (z : Z) : Prop := has (r_interval r) z /\ means (eval i u j k (r_expr r)) z.

Lemma means_truth b : means (truth b) (flag b).
Proof. destruct b; reflexivity. Qed.

Lemma signed_of r z : stands_for r z -> fits_signed (r_interval r) = true ->
  signed (eval i u j k (r_expr r)) = z /\ - middle <= z < middle.
Proof.
  intros [H M] F. split; [eapply means_signed; eauto|]. unfold fits_signed, has in *. split_and. zb. lia.
Qed.

Lemma equals_spec a b x y : means a x -> means b y ->
  (- middle <= x < middle /\ - middle <= y < middle) \/ (0 <= x < modulus /\ 0 <= y < modulus) -> equals a b = (x =? y).
Proof.
  intros A B R. unfold equals. destruct (Z.eqb_spec x y) as [->|N].
  - unfold means in *. rewrite A, B. apply Z.eqb_refl.
  - apply Z.eqb_neq. intros E. apply N. destruct R as [[X Y]|[X Y]].
    + rewrite <- (means_signed_range a x A X), <- (means_signed_range b y B Y). unfold signed. rewrite E. auto.
    + rewrite <- (means_unsigned_range a x A X), <- (means_unsigned_range b y B Y). auto.
Qed.

Lemma two_means f r r' x y e : two f (r_interval r) (r_interval r') (r_expr r) (r_expr r') = Some e ->
  stands_for r x -> stands_for r' y -> means (eval i u j k e) (apply2 f x y).
Proof.
  intros H X Y. assert (MX := proj2 X). assert (MY := proj2 Y).
  assert (S : fits_signed (r_interval r) && fits_signed (r_interval r') = true ->
    signed (eval i u j k (r_expr r)) = x /\ signed (eval i u j k (r_expr r')) = y /\ - middle <= x < middle /\ - middle <= y < middle).
  { intros F. split_and. destruct (signed_of r x X H0), (signed_of r' y Y H1). auto. }
  assert (D : fits_signed (r_interval r) && (1 <=? fst (r_interval r')) && (snd (r_interval r') <? middle) = true ->
    - middle <= x < middle /\ 1 <= y < middle).
  { intros F. split_and. destruct (signed_of r x X H0). destruct Y as [[Y1 Y2] _]. zb. lia. }
  destruct f; cbn [two apply2] in *.
  - injection H as <-. apply means_add; auto.
  - injection H as <-. apply means_sub; auto.
  - injection H as <-. apply means_mul; auto.
  - destruct (_ && _ && _) eqn:F; [|discriminate]. injection H as <-. destruct (D eq_refl). apply means_div; auto.
  - destruct (_ && _ && _) eqn:F; [|discriminate]. injection H as <-. destruct (D eq_refl). apply means_mod; auto.
  - destruct (_ && _) eqn:F; [|discriminate]. injection H as <-. destruct (S eq_refl) as (SX & SY & _).
    cbn [eval apply_word]. unfold less. rewrite SX, SY. apply means_truth.
  - destruct (_ || _) eqn:F; [|discriminate]. injection H as <-. cbn [eval apply_word]. rewrite (equals_spec _ _ x y MX MY).
    + apply means_truth.
    + apply orb_prop in F as [F|F]; [left; destruct (S F) as (_ & _ & ?); auto | right].
      destruct X as [[] _], Y as [[] _]. unfold fits_unsigned in F. split_and. zb. lia.
  - destruct (_ && _) eqn:F; [|discriminate]. injection H as <-. destruct (S eq_refl) as (SX & SY & _).
    cbn [eval apply_word]. unfold smaller, less. rewrite SX, SY. destruct (Z.ltb_spec x y).
    + rewrite Z.min_l by lia. auto.
    + rewrite Z.min_r by lia. auto.
  - destruct (_ && _) eqn:F; [|discriminate]. injection H as <-. destruct (S eq_refl) as (SX & SY & _).
    cbn [eval apply_word]. unfold larger, less. rewrite SX, SY. destruct (Z.ltb_spec x y).
    + rewrite Z.max_r by lia. auto.
    + rewrite Z.max_l by lia. auto.
  - injection H as <-. apply means_mix; auto.
Qed.

Lemma register_stands regs zs a : Forall2 stands_for regs zs -> stands_for (nth a regs nothing) (reg zs a).
Proof.
  intros F. unfold reg. revert a. induction F; intros [|a]; cbn; auto; split; try reflexivity; unfold has; cbn; lia.
Qed.

Lemma compile_op_means regs zs o e w r : compile_op vectors regs o = Some (e, w) -> Forall2 stands_for regs zs ->
  op_interval tensors (map r_interval regs) o = Some r -> means (eval i u j k e) (value (entry_of tensors) zs o).
Proof.
  intros H F R. pose proof (register_stands regs zs) as G. destruct o as [c|[|] a|f a b|c a b|t a]; cbn [compile_op value] in *.
  - injection H as <- _. apply means_of.
  - discriminate.
  - specialize (G a F). destruct (fits_signed _) eqn:S.
    + injection H as <- _. destruct (signed_of _ _ G S) as [E _]. cbn [eval]. unfold half_signed. rewrite E. apply means_of.
    + destruct (fits_unsigned _) eqn:U; [|discriminate]. injection H as <- _. cbn [eval]. unfold half_unsigned.
      rewrite (means_unsigned _ _ _ U (proj1 G) (proj2 G)). apply means_of.
  - destruct (two _ _ _ _ _) eqn:T; [|discriminate]. injection H as <- _. eapply two_means; eauto.
  - pose proof (G c F) as C. destruct (_ || _) eqn:S; [|discriminate]. injection H as <- _. cbn [eval]. unfold choose.
    rewrite (equals_spec _ zero (reg zs c) 0); [|apply C | reflexivity |].
    + destruct (reg zs c =? 0); apply G; auto.
    + apply orb_prop in S as [S|S]; [left | right]; destruct C as [[] _]; unfold fits_signed, fits_unsigned, middle, modulus in *;
        split_and; zb; lia.
  - specialize (G a F). destruct (fits_signed _) eqn:S; [|discriminate]. injection H as <- _. cbn [eval].
    cbn [op_interval] in R. unfold reg_interval in R. change (0, 0) with (r_interval nothing) in R. rewrite map_nth in R.
    destruct (signed_of _ _ G S) as [_ B]. destruct G as [I M].
    destruct (r_interval (nth a regs nothing)) as [l h]. unfold has in I. cbn in I.
    destruct ((0 <=? l) && (h <? Z.of_nat (length (tensor tensors t)))) eqn:L; [|discriminate]. split_and. zb.
    unfold lookup. rewrite (means_unsigned_range _ _ M) by (unfold middle, modulus in *; lia). unfold vectors.
    change (Vector []) with ((fun l => Vector (map word_of l)) []). rewrite map_nth. cbn [items].
    unfold zero. rewrite map_nth. apply means_of.
Qed.

Theorem compile_means : forall code regs zs r, compile vectors code regs = Some r -> Forall2 stands_for regs zs ->
  stands_for r (run (entry_of tensors) code zs).
Proof.
  induction code as [|o code IH]; cbn [compile run]; intros regs zs r H F; [injection H as <-; apply register_stands; auto|].
  destruct (op_interval tensors (map r_interval regs) o) as [b|] eqn:E; [|discriminate].
  destruct (if fst b =? snd b then _ else _) as [[e w]|] eqn:C; [|discriminate]. destruct (w <=? heaviest); [|discriminate].
  eapply IH; [exact H|]. constructor; auto.
  assert (I : has b (value (entry_of tensors) zs o)).
  { apply (op_interval_has tensors _ zs o b E). clear -F. induction F as [|r z l l' [H _] F IH]; cbn; auto. }
  split; auto. cbn [r_expr]. destruct (Z.eqb_spec (fst b) (snd b)).
  - injection C as <- _. cbn [eval]. unfold has in I. replace (fst b) with (value (entry_of tensors) zs o) by lia. apply means_of.
  - eapply compile_op_means; eauto.
Qed.
End Proofs.
End Compile.

(** ** From expressions to functions *)

Inductive staged :=
| Fixed (w : word)
| OnJ (f : word -> word)
| OnKey
| MixKey (f : word -> word)                             (* the key is mixed into a hash of j *)
| MixMore (f : word -> word) (c : word)                 (* and a number after it *)
| Hash (f : word -> word) (c : word)                    (* and the result is halved *)
| OnK (f : word -> word -> word).

Definition hash (a c k : word) : word := half_unsigned (mix_word (mix_word a k) c).

Definition at_j (s : staged) : word -> word -> word :=
  match s with
  | Fixed w => fun _ _ => w
  | OnJ f => fun j => let a := f j in fun _ => a
  | OnKey => fun _ k => k
  | MixKey f => fun j => let a := f j in fun k => mix_word a k
  | MixMore f c => fun j => let a := f j in fun k => mix_word (mix_word a k) c
  | Hash f c => fun j => let a := f j in fun k => hash a c k
  | OnK f => f
  end.

Definition lift1 (g : word -> word) (s : staged) : staged :=
  match s with
  | Fixed w => Fixed (g w)
  | OnJ f => OnJ (fun j => g (f j))
  | _ => OnK (fun j => let h := at_j s j in fun k => g (h k))
  end.
Definition lift2 (g : word -> word -> word) (s t : staged) : staged :=
  match s, t with
  | Fixed a, Fixed b => Fixed (g a b)
  | Fixed a, OnJ f => OnJ (fun j => g a (f j))
  | OnJ f, Fixed b => OnJ (fun j => g (f j) b)
  | OnJ f, OnJ f' => OnJ (fun j => g (f j) (f' j))
  | Fixed a, OnKey => OnK (fun _ k => g a k)
  | OnKey, Fixed b => OnK (fun _ k => g k b)
  | Fixed a, _ => OnK (fun j => let h := at_j t j in fun k => g a (h k))
  | _, Fixed b => OnK (fun j => let h := at_j s j in fun k => g (h k) b)
  | OnJ f, _ => OnK (fun j => let a := f j in let h := at_j t j in fun k => g a (h k))
  | _, OnJ f => OnK (fun j => let b := f j in let h := at_j s j in fun k => g (h k) b)
  | _, _ => OnK (fun j => let h := at_j s j in let h' := at_j t j in fun k => g (h k) (h' k))
  end.
Definition early (s : staged) : bool := match s with Fixed _ | OnJ _ => true | _ => false end.
Definition lift3 (g : word -> word -> word -> word) (s t t' : staged) : staged :=
  let f := at_j s in let f' := at_j t in let f'' := at_j t' in
  if early s && early t && early t' then OnJ (fun j => g (f j zero) (f' j zero) (f'' j zero))
  else OnK (fun j => let h := f j in let h' := f' j in let h'' := f'' j in fun k => g (h k) (h' k) (h'' k)).

Definition stage_mix (s t : staged) : staged :=
  match s, t with
  | Fixed a, OnKey => MixKey (fun _ => a)
  | OnJ f, OnKey => MixKey f
  | MixKey f, Fixed c => MixMore f c
  | _, _ => lift2 mix_word s t
  end.

Section Stage.
Variables i u : word.
Fixpoint stage (e : expr) : staged :=
  match e with
  | Lit w => Fixed w
  | At => Fixed i
  | Query => Fixed u
  | Place => OnJ (fun j => j)
  | Key => OnKey
  | HalfSigned a => lift1 half_signed (stage a)
  | HalfUnsigned a => match stage a with MixMore f c => Hash f c | s => lift1 half_unsigned s end
  | Two f a b =>
      let s := stage a in let t := stage b in
      match f with
      | AddW => lift2 add s t | SubW => lift2 sub s t | MulW => lift2 mul s t
      | DivW => lift2 div_word s t | ModW => lift2 mod_word s t
      | LessW => lift2 (fun a b => truth (less a b)) s t | EqualW => lift2 (fun a b => truth (equals a b)) s t
      | MinW => lift2 smaller s t | MaxW => lift2 larger s t
      | MixW => stage_mix s t
      end
  | Choice c a b => lift3 choose (stage c) (stage a) (stage b)
  | Entry v a => lift1 (lookup v) (stage a)
  end.

Lemma lift1_at g s j k : at_j (lift1 g s) j k = g (at_j s j k).
Proof. destruct s; reflexivity. Qed.
Lemma lift2_at g s t j k : at_j (lift2 g s t) j k = g (at_j s j k) (at_j t j k).
Proof. destruct s, t; reflexivity. Qed.
Lemma lift3_at g s t t' j k : at_j (lift3 g s t t') j k = g (at_j s j k) (at_j t j k) (at_j t' j k).
Proof. destruct s, t, t'; reflexivity. Qed.

Theorem stage_eval e j k : at_j (stage e) j k = eval i u j k e.
Proof.
  induction e; cbn [stage eval]; auto.
  - rewrite lift1_at, IHe. auto.
  - rewrite <- IHe. destruct (stage e); reflexivity.
  - rewrite <- IHe1, <- IHe2. destruct f; cbv zeta; try apply lift2_at.
    destruct (stage e1), (stage e2); reflexivity.
  - rewrite lift3_at, IHe1, IHe2, IHe3. auto.
  - rewrite lift1_at, IHe. auto.
Qed.
End Stage.
