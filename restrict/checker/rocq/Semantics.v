(** To be read: hard-attention programs at one length, and what they compute.  Nothing here is about proofs. *)
From Coq Require Import ZArith List Bool.
Import ListNotations.
Open Scope Z_scope.

(** A word is a list of symbols, one for each position; positions count from 0. *)
Definition word := list Z.
Definition at_ (x : word) (q : Z) : Z := nth (Z.to_nat q) x 0.

Inductive mask := Everything | Past | StrictPast | Future | StrictFuture.

(** Variables are numbered; a head without query (key) scores with 0 in its place. *)
Record head := Head {
  h_domain : Z;
  h_query : option nat; h_key : option nat; h_value : nat;
  h_mask : mask;
  h_left : bool;                           (* ties: the leftmost position wins, else the rightmost *)
  h_default : Z;                           (* the value where nothing is visible *)
  h_score : Z -> Z -> Z -> Z -> Z }.       (* i, the query's value at i, j, the key's value at j *)

Inductive var :=
| Token
| Position
| MapVar (domain : Z) (args : list nat) (f : Z -> list Z -> Z)    (* i, the arguments' values at i *)
| HeadVar (h : head).

(** The symbols are 0 .. symbols-1.  A marker has a value of its own, and the word's symbol there does not matter. *)
Record program := Program { length_ : Z; symbols : Z; start_ : bool; end_ : bool; vars : list var }.

(** The order of pairs (score, position): the best pair wins. *)
Definition below (left : bool) (s j s' j' : Z) : bool :=
  (s <? s') || ((s =? s') && (if left then j' <? j else j <? j')).

Definition range (lo hi : Z) : list Z := map (fun k => lo + Z.of_nat k) (seq 0 (Z.to_nat (hi - lo))).

(** The position of the best pair. *)
Fixpoint best (left : bool) (s : Z -> Z) (l : list Z) : option Z :=
  match l with
  | [] => None
  | j :: l' => match best left s l' with
               | None => Some j
               | Some j' => if below left (s j) j (s j') j' then Some j' else Some j
               end
  end.

Section Program.
Variable p : program.
Let n := length_ p.

Definition marker (i : Z) : option Z :=
  if start_ p && (i =? 0) then Some (symbols p)
  else if end_ p && (i =? n - 1) then Some (symbols p + (if start_ p then 1 else 0))
  else None.

Definition token (x : word) (i : Z) : Z :=
  match marker i with Some m => m | None => at_ x i end.

Definition first_visible (m : mask) (i : Z) : Z :=
  match m with Future => i | StrictFuture => i + 1 | _ => 0 end.
Definition end_visible (m : mask) (i : Z) : Z :=
  match m with Past => i + 1 | StrictPast => i | _ => n end.

Definition read (e : nat -> Z -> Z) (v : option nat) (j : Z) : Z :=
  match v with Some a => e a j | None => 0 end.

(** The value of a variable at position i, from the values e of the variables before it. *)
Definition sem (x : word) (w : var) (e : nat -> Z -> Z) (i : Z) : Z :=
  match w with
  | Token => token x i
  | Position => i
  | MapVar _ args f => f i (map (fun a => e a i) args)
  | HeadVar h =>
      let score j := h_score h i (read e (h_query h) i) j (read e (h_key h) j) in
      match best (h_left h) score (range (first_visible (h_mask h) i) (end_visible (h_mask h) i)) with
      | Some j => e (h_value h) j
      | None => h_default h
      end
  end.

Fixpoint build (x : word) (e : list (Z -> Z)) (ws : list var) : list (Z -> Z) :=
  match ws with
  | [] => e
  | w :: ws' => build x (e ++ [sem x w (fun a => nth a e (fun _ => 0))]) ws'
  end.

(** The value of variable v at position i on the word x. *)
Definition val (x : word) (v : nat) (i : Z) : Z := nth v (build x [] (vars p)) (fun _ => 0) i.

Definition domain (v : nat) : Z :=
  match nth_error (vars p) v with
  | Some Token => symbols p + (if start_ p then 1 else 0) + (if end_ p then 1 else 0)
  | Some Position => n
  | Some (MapVar d _ _) => d
  | Some (HeadVar h) => h_domain h
  | None => 1
  end.

Definition reads (w : var) : list nat :=
  match w with
  | MapVar _ args _ => args
  | HeadVar h => h_value h :: match h_query h with Some a => [a] | None => [] end
                          ++ match h_key h with Some a => [a] | None => [] end
  | _ => []
  end.

(** A program is defined: variables read earlier ones, and values lie in their domains. *)
Record defined : Prop := {
  earlier : forall v w a, nth_error (vars p) v = Some w -> In a (reads w) -> (a < v)%nat;
  maps : forall v d args f i e, nth_error (vars p) v = Some (MapVar d args f) -> 0 <= i < n ->
         Forall2 (fun a z => 0 <= z < domain a) args e -> 0 <= f i e < d;
  heads : forall v h, nth_error (vars p) v = Some (HeadVar h) ->
          0 <= h_default h < h_domain h /\ domain (h_value h) <= h_domain h;
  token_first : nth_error (vars p) 0 = Some Token;
  some_symbol : 0 < symbols p }.

End Program.
