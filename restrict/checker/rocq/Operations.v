(** To be read: what a line of a program file means.  Scores and maps are straight-line code over the integers. *)
From Coq Require Import ZArith List Bool.
From R Require Import Semantics.
Import ListNotations.
Open Scope Z_scope.

Inductive unary := Root | Half.
Inductive binary := Add | Sub | Mul | Div | Mod | Less | Equal | Min | Max | Mix.

(** Operands count backwards: 0 is the newest register.  (The printer turns them into the numbers of the file.) *)
Inductive op :=
| Const (c : Z)
| Unary (f : unary) (a : nat)
| Binary (f : binary) (a b : nat)
| If (c a b : nat)                         (* a where c is not 0, else b *)
| Table (t a : nat).                       (* entry a of tensor t *)

Definition flag (b : bool) : Z := if b then 1 else 0.

Definition low64 := 18446744073709551615.              (* names, so that extraction computes them once *)
Definition multiplier := 0xD6E8FEB86659FD93.
Definition half64 := 32.
Definition one := 1.
Definition mix (h a : Z) : Z :=
  let m := Z.land (Z.lxor h (Z.land a low64) * multiplier) low64 in Z.lxor m (Z.shiftr m half64).

Definition apply1 (f : unary) (a : Z) : Z :=
  match f with Root => Z.sqrt a | Half => Z.shiftr a one end.

Definition apply2 (f : binary) (a b : Z) : Z :=
  match f with
  | Add => a + b
  | Sub => a - b
  | Mul => a * b
  | Div => Z.div a b
  | Mod => Z.modulo a b
  | Less => flag (a <? b)
  | Equal => flag (a =? b)
  | Min => Z.min a b
  | Max => Z.max a b
  | Mix => mix a b
  end.

Definition reg (regs : list Z) (a : nat) : Z := nth a regs 0.

Section Run.
Variable entry : nat -> Z -> Z.                         (* of a tensor, by its number and the index *)

Definition value (regs : list Z) (o : op) : Z :=
  match o with
  | Const c => c
  | Unary f a => apply1 f (reg regs a)
  | Binary f a b => apply2 f (reg regs a) (reg regs b)
  | If c a b => if reg regs c =? 0 then reg regs b else reg regs a
  | Table t a => entry t (reg regs a)
  end.

(** The result is the newest register. *)
Fixpoint run (code : list op) (regs : list Z) : Z :=
  match code with
  | [] => reg regs 0
  | o :: code' => run code' (value regs o :: regs)
  end.
End Run.

Section Tensors.
Variable tensors : list (list Z).
Definition tensor (t : nat) : list Z := nth t tensors [].
Definition entry_of (t : nat) (a : Z) : Z := nth (Z.to_nat a) (tensor t) 0.

(** No operation is applied where it is not defined: no divisor is 0, no root is of a negative number, no index leaves
    its tensor.  (Above, such an operation has some value, that is never used.) *)
Definition proper_op (regs : list Z) (o : op) : Prop :=
  match o with
  | Unary Root a => 0 <= reg regs a
  | Binary Div _ b | Binary Mod _ b => reg regs b <> 0
  | Table t a => 0 <= reg regs a < Z.of_nat (length (tensor t))
  | _ => True
  end.
Fixpoint proper (code : list op) (regs : list Z) : Prop :=
  match code with
  | [] => True
  | o :: code' => proper_op regs o /\ proper code' (value entry_of regs o :: regs)
  end.
End Tensors.

(** The lines `map` and `head`. *)
Inductive rule :=
| RMap (domain : Z) (args : list nat) (code : list op)
| RHead (domain : Z) (query key : option nat) (val : nat) (m : mask) (left : bool) (default : Z) (code : list op).

Record source := Source {
  s_length : Z; s_symbols : Z; s_start : bool; s_end : bool; s_output : nat;
  s_tensors : list (list Z); s_rules : list rule }.

Definition map_regs (i : Z) (args : list Z) : list Z := rev (i :: args).
Definition head_regs (i q j k : Z) : list Z := [k; j; q; i].

Definition var_of (tensors : list (list Z)) (r : rule) : var :=
  match r with
  | RMap d args code => MapVar d args (fun i e => run (entry_of tensors) code (map_regs i e))
  | RHead d q k v m lft default code =>
      HeadVar (Head d q k v m lft default (fun i u j w => run (entry_of tensors) code (head_regs i u j w)))
  end.

Definition program_of (s : source) : program :=
  Program (s_length s) (s_symbols s) (s_start s) (s_end s) (Token :: Position :: map (var_of (s_tensors s)) (s_rules s)).

(** The label map is the last variable. *)
Definition label_of (s : source) : nat := S (length (s_rules s)).

(** Nothing in a program is undefined, whatever the values are that the variables have. *)
Definition well_defined (s : source) : Prop :=
  let p := program_of s in
  let has (a : option nat) z := match a with Some v => 0 <= z < domain p v | None => z = 0 end in
  defined p /\
  Forall (fun r => match r with
    | RMap _ args code => forall i e, 0 <= i < s_length s -> Forall2 (fun a z => 0 <= z < domain p a) args e ->
        proper (s_tensors s) code (map_regs i e)
    | RHead _ q k _ _ _ _ code => forall i u j w, 0 <= i < s_length s -> 0 <= j < s_length s -> has q u -> has k w ->
        proper (s_tensors s) code (head_regs i u j w)
    end) (s_rules s).
