(** To be read: the lines of a proof file as data, and what its conclusion says.  Nothing here is about checking. *)
From Coq Require Import ZArith NArith List Bool.
From R Require Import Semantics.
Import ListNotations.
Open Scope Z_scope.

(** ** The lines *)

Definition runs := list (Z * Z).                        (* half-open *)

(** For one value of the query: a row, a witness with its least score, and the one value shown if there is only one. *)
Record entry := Entry { e_query : Z; e_row : N; e_witness : Z; e_least : Z; e_only : option Z }.

Inductive line :=
| LSet (values : list Z)
| LRuns (r : runs)
| LRow (h : nat) (i u score pos : Z) (listed : N)
| LBox (parent : option N) (triples : list (Z * Z * N))
| LMap (c : N) (v : nat) (i : Z) (s r : N)
| LHead (c : N) (h : nat) (i : Z) (s r : N) (es : list entry)
| LCase (c : N) (v : nat) (i q : Z) (s r : N) (kids : list N)
| LDfa (states start : Z) (accepting : N) (next : list Z)
| LWord (counted : list (Z * Z)).                       (* (how many, of which symbol) *)

Inductive tree := End (boxes : list nat) | Branch (box : nat) (kids : trees) | Case (box cell : nat) (conflict rest : tree)
with trees := Nil | Cons (t : tree) (ts : trees).

Inductive unforced := Unforced (labels : N) (k i : Z) (boxes : N) (t : tree).

Inductive conclusion :=
| Claim (c : N) (i free k : Z) (s r : N)
| Refutes (c : N) (i free k : Z) (s r : N) (member nonmember dfa : N)
| AtEvery (c : N) (free k : Z)
| LowerBound (us : list unforced).

(** ** What the numbers in a line stand for: the things of one kind, in order *)

Definition pick {A} (l : list A) (k : N) (default : A) : A := nth (N.to_nat k) l default.

Section Lines.
Variable ls : list line.
Variable n : Z.                                         (* the length *)

Definition sets : list (list Z) := flat_map (fun l => match l with LSet s => [s] | _ => [] end) ls.
Definition all_runs : list runs := [(0, n)] :: flat_map (fun l => match l with LRuns r => [r] | _ => [] end) ls.

(** A box: positions a .. b-1 have a symbol of a set.  A context: its box, and the context it was made from. *)
Definition cell := (Z * Z * list Z)%type.
Definition contexts : list (option N * list cell) := flat_map (fun l => match l with
  | LBox parent ts => [(parent, map (fun t => (fst t, pick sets (snd t) [])) ts)]
  | _ => [] end) ls.
Definition box (c : N) : list cell := snd (pick contexts c (None, [])).
Definition parent (c : N) : option N := fst (pick contexts c (None, [])).

Record dfa := Dfa { states : Z; initial : Z; accepting : list Z; next : list Z }.
Definition dfas : list dfa := flat_map (fun l => match l with LDfa q s a t => [Dfa q s (pick sets a []) t] | _ => [] end) ls.
Definition the_dfa (d : N) : dfa := pick dfas d (Dfa 0 0 [] []).
Definition texts : list (list (Z * Z)) := flat_map (fun l => match l with LWord t => [t] | _ => [] end) ls.
Definition text (w : N) : list Z := flat_map (fun ca => repeat (snd ca) (Z.to_nat (fst ca))) (pick texts w []).

(** ** Words *)

Section Program.
Variable p : program.

(** By convention the symbol at a marker's position is 0; it does not matter. *)
Definition word_of (x : word) : Prop :=
  length x = Z.to_nat (length_ p) /\
  forall q, 0 <= q < length_ p -> 0 <= at_ x q < symbols p /\ (marker p q <> None -> at_ x q = 0).
Definition satisfies (x : word) (b : list cell) : Prop :=
  word_of x /\ forall l h s q, In (l, h, s) b -> l <= q < h -> In (at_ x q) s.
Definition on (q : Z) (r : runs) : Prop := exists ab, In ab r /\ fst ab <= q < snd ab.
Definition agree (x x' : word) (r : runs) : Prop := forall q, on q r -> at_ x q = at_ x' q.

(** The word with these symbols at the positions without marker. *)
Definition with_markers (t : list Z) : word := (if start_ p then [0] else []) ++ t ++ (if end_ p then [0] else []).

Definition accepts (d : dfa) (t : list Z) : Prop :=
  In (fold_left (fun q a => nth (Z.to_nat (q * symbols p + a)) (next d) 0) t (initial d)) (accepting d).

(** A restriction fixes each position of a box to one symbol; the others, but for markers, are free. *)
Definition size (r : runs) : Z := fold_right (fun ab t => snd ab - fst ab + t) 0 r.
Definition cell_runs (b : list cell) : runs := map fst b.
Fixpoint increasing (from : Z) (r : runs) : bool :=
  match r with [] => true | (l, h) :: r' => (from <=? l) && (l <? h) && increasing h r' end.
Definition free_positions (b : list cell) : Z :=
  length_ p - (if start_ p then 1 else 0) - (if end_ p then 1 else 0) - size (cell_runs b).
Definition is_free (b : list cell) (q : Z) : Prop := 0 <= q < length_ p /\ marker p q = None /\ ~ on q (cell_runs b).
Record restriction (b : list cell) : Prop := {
  one_symbol : forall c, In c b -> exists a, snd c = [a];
  apart_and_in_order : increasing 0 (cell_runs b) = true;
  without_marker : forall q, on q (cell_runs b) -> 0 <= q < length_ p /\ marker p q = None;
  some_word : exists x, satisfies x b }.

(** ** The conclusions *)

Variable out lab : nat.

Definition claim_true (c : N) (i free k : Z) (s r : N) : Prop :=
  let b := box c in let d := pick all_runs r [] in
  0 <= i < length_ p /\ restriction b /\ free_positions b = free /\
  size d = k /\ increasing 0 d = true /\ (forall q, on q d -> is_free b q) /\
  (forall x, satisfies x b -> In (val p x out i) (pick sets s [])) /\
  (forall x x', satisfies x b -> satisfies x' b -> agree x x' d -> val p x lab i = val p x' lab i).

(** Two words with one label, a member and a non-member: no set of labels makes the model right on both. *)
Definition refutation_true (c : N) (i : Z) (member nonmember d : N) : Prop :=
  let x := with_markers (text member) in let x' := with_markers (text nonmember) in
  satisfies x (box c) /\ satisfies x' (box c) /\ val p x lab i = val p x' lab i /\
  accepts (the_dfa d) (text member) /\ ~ accepts (the_dfa d) (text nonmember).

(** The label at every position is a function of at most k free inputs. *)
Definition everywhere_true (c : N) (free k : Z) : Prop :=
  let b := box c in
  restriction b /\ free_positions b = free /\
  forall i, 0 <= i < length_ p -> exists d, size d <= k /\ increasing 0 d = true /\
    forall x x', satisfies x b -> satisfies x' b -> agree x x' d -> val p x lab i = val p x' lab i.

(** Positions with their symbols. *)
Definition fixing := list (Z * Z).
Definition proper_fixing (rho : fixing) : Prop :=
  NoDup (map fst rho) /\ forall q a, In (q, a) rho -> 0 <= q < length_ p /\ marker p q = None /\ 0 <= a < symbols p.
Definition forces (rho : fixing) (i y : Z) : Prop :=
  forall x, word_of x -> (forall q a, In (q, a) rho -> at_ x q = a) -> val p x lab i = y.

Definition unforced_true (u : unforced) : Prop :=
  let (s, k, i, _, _) := u in
  forall y rho, In y (pick sets s []) -> proper_fixing rho -> forces rho i y -> k < Z.of_nat (length rho).

Definition true_of (c : conclusion) : Prop :=
  match c with
  | Claim c i free k s r => claim_true c i free k s r
  | Refutes c i free k s r m w d => claim_true c i free k s r /\ refutation_true c i m w d
  | AtEvery c free k => everywhere_true c free k
  | LowerBound us => Forall unforced_true us
  end.

End Program.
End Lines.
