(** The checker: what is decided of the lines of a proof.  A sceptic need not read it: Main.v has its theorem. *)
From Coq Require Import ZArith NArith List Bool FMapPositive.
From R Require Import Semantics Claims.
Import ListNotations.
Open Scope Z_scope.

(** ** Loops and sets *)

(** All numbers from [lo] on, as many as the positive says. *)
Fixpoint upto (c : positive) (lo : Z) (f : Z -> bool) : bool :=
  match c with
  | xH => f lo
  | xO c' => upto c' lo f && upto c' (lo + Zpos c') f
  | xI c' => f lo && (upto c' (lo + 1) f && upto c' (lo + 1 + Zpos c') f)
  end.
Definition between (lo hi : Z) (f : Z -> bool) : bool :=
  match hi - lo with Zpos c => upto c lo f | _ => true end.

Inductive vset := Upto (d : Z) | Vals (l : list Z).
Definition all_of (s : vset) (f : Z -> bool) : bool :=
  match s with Upto d => between 0 d f | Vals l => forallb f l end.
Definition mem (z : Z) (l : list Z) : bool := existsb (Z.eqb z) l.
Definition among (z : Z) (s : vset) : bool :=
  match s with Upto d => (0 <=? z) && (z <? d) | Vals l => mem z l end.
Definition single (l : list Z) : bool := match l with [_] => true | _ => false end.

(** The list has all values of the set (and no others, in their order). *)
Fixpoint counts (from d : Z) (l : list Z) : bool :=
  match l with [] => d <=? from | z :: l' => (z =? from) && counts (from + 1) d l' end.
Fixpoint equal (l l' : list Z) : bool :=
  match l, l' with [], [] => true | z :: m, z' :: m' => (z =? z') && equal m m' | _, _ => false end.
Definition lists (s : vset) (l : list Z) : bool :=
  match s with Upto d => counts 0 d l | Vals l' => equal l' l end.

(** Each run lies in one of the others; both lists increase. *)
Fixpoint inside (r r' : runs) {struct r'} : bool :=
  match r' with
  | [] => match r with [] => true | _ => false end
  | (l', h') :: t' =>
      (fix drop (r : runs) : bool :=
         match r with
         | [] => true
         | (l, h) :: t => if (l' <=? l) && (h <=? h') then drop t else inside r t'
         end) r
  end.

(** ** Numbered things, looked up in a tree *)

Definition table {A} (l : list A) : PositiveMap.t A :=
  snd (fold_left (fun km a => (Pos.succ (fst km), PositiveMap.add (fst km) a (snd km))) l (1%positive, PositiveMap.empty A)).
Definition get {A} (m : PositiveMap.t A) (k : N) (default : A) : A :=
  match PositiveMap.find (N.succ_pos k) m with Some a => a | None => default end.

(** A box as a search tree. *)
Inductive search := Leaf | Node (before : search) (c : cell) (after : search).
Fixpoint grow (depth : nat) (b : list cell) : search * list cell :=
  match depth with
  | O => (Leaf, b)
  | S d => let (before, rest) := grow d b in
           match rest with
           | [] => (before, [])
           | c :: rest' => let (after, rest'') := grow d rest' in (Node before c after, rest'')
           end
  end.
Definition search_of (b : list cell) : search := fst (grow (S (Nat.log2 (length b))) b).
Fixpoint locate (t : search) (q : Z) : option (list Z) :=
  match t with
  | Leaf => None
  | Node before (l, h, s) after => if q <? l then locate before q else if q <? h then Some s else locate after q
  end.

Record row := Row { r_head : nat; r_at : Z; r_query : Z; r_score : Z; r_pos : Z; r_listed : runs }.
Record context := Context { up : option N; cells : list cell; tree_of : search }.
Record tables := Tables {
  t_sets : PositiveMap.t (list Z); t_runs : PositiveMap.t runs;
  t_rows : PositiveMap.t row; t_contexts : PositiveMap.t context }.

Definition rows_of (runs_of : N -> runs) (ls : list line) : list row :=
  flat_map (fun l => match l with LRow h i u s q r => [Row h i u s q (runs_of r)] | _ => [] end) ls.
Definition contexts_of (set_of : N -> list Z) (ls : list line) : list context :=
  flat_map (fun l => match l with
    | LBox parent ts => let b := map (fun t => (fst t, set_of (snd t))) ts in [Context parent b (search_of b)]
    | _ => [] end) ls.
Definition no_row := Row 0 0 0 0 0 [].
Definition no_context := Context None [] Leaf.
Definition tables_of (ls : list line) (n : Z) : tables :=
  let s := table (sets ls) in
  let r := table (all_runs ls n) in
  Tables s r (table (rows_of (fun k => get r k []) ls)) (table (contexts_of (fun k => get s k []) ls)).

(** ** Facts about nodes in contexts *)

Definition fact := (vset * runs)%type.
Definition facts := PositiveMap.t (PositiveMap.t (PositiveMap.t fact)).
Definition index (i : Z) : positive := match i with Zpos c => Pos.succ c | _ => xH end.
Definition no_facts : facts := PositiveMap.empty _.
Definition part {A} (k : positive) (m : PositiveMap.t (PositiveMap.t A)) : PositiveMap.t A :=
  match PositiveMap.find k m with Some m' => m' | None => PositiveMap.empty A end.
Definition find_fact (m : facts) (c : N) (v : nat) (i : Z) : option fact :=
  PositiveMap.find (index i) (part (Pos.of_succ_nat v) (part (N.succ_pos c) m)).
Definition add_fact (m : facts) (c : N) (v : nat) (i : Z) (f : fact) : facts :=
  let mc := part (N.succ_pos c) m in
  let mv := part (Pos.of_succ_nat v) mc in
  PositiveMap.add (N.succ_pos c) (PositiveMap.add (Pos.of_succ_nat v) (PositiveMap.add (index i) f mv) mc) m.

Definition same (a b : option nat) : bool :=
  match a, b with Some x, Some y => Nat.eqb x y | _, _ => false end.

Section Check.
Variable p : program.
Variable T : tables.
Let n := length_ p.

Definition set_of (k : N) : list Z := get (t_sets T) k [].
Definition runs_of (k : N) : runs := get (t_runs T) k [].
Definition row_of (k : N) : row := get (t_rows T) k no_row.
Definition context_of (k : N) : context := get (t_contexts T) k no_context.

(** The first answer of a context, or of one it was made from. *)
Fixpoint climb {A} (fuel : nat) (ask : N -> option A) (c : N) : option A :=
  match ask c with
  | Some a => Some a
  | None => match fuel, up (context_of c) with S fuel', Some c' => climb fuel' ask c' | _, _ => None end
  end.
Definition nearest {A} (ask : N -> option A) (c : N) : option A := climb (N.to_nat c) ask c.

Definition know (m : facts) (c : N) (v : nat) (i : Z) : fact :=
  match nth_error (vars p) v with
  | Some Token =>
      match marker p i with
      | Some a => (Vals [a], [])
      | None => match nearest (fun c => locate (tree_of (context_of c)) i) c with
                | Some s => (Vals s, if single s then [] else [(i, i + 1)])
                | None => (Upto (symbols p), [(i, i + 1)])
                end
      end
  | Some Position => (Vals [i], [])
  | Some _ => match nearest (fun c => find_fact m c v i) c with Some f => f | None => (Upto (domain p v), [(0, n)]) end
  | None => (Vals [0], [])
  end.

Definition position (i : Z) : bool := (0 <=? i) && (i <? n).

(** ** Rows: the only loop over all positions *)

Fixpoint gaps (lo hi : Z) (r : runs) (f : Z -> bool) : bool :=
  match r with
  | [] => between lo hi f
  | (a, b) :: r' => between lo (Z.min a hi) f && gaps (Z.max lo b) hi r' f
  end.

(** The values of a key with nothing known. *)
Definition key_values (h : head) : Z -> vset :=
  match h_key h with
  | None => fun _ => Vals [0]
  | Some k => match nth_error (vars p) k with
      | Some Token => fun j => match marker p j with Some a => Vals [a] | None => Upto (symbols p) end
      | Some Position => fun j => Vals [j]
      | _ => let s := Upto (domain p k) in fun _ => s
      end
  end.

Definition check_row (r : row) : bool :=
  match nth_error (vars p) (r_head r) with
  | Some (HeadVar h) =>
      let lo := first_visible (h_mask h) (r_at r) in
      let hi := end_visible p (h_mask h) (r_at r) in
      let score := h_score h (r_at r) (r_query r) in
      let keys := key_values h in
      position (r_at r) &&
      gaps lo hi (r_listed r)
        (fun j => let score := score j in all_of (keys j) (fun w => below (h_left h) (score w) j (r_score r) (r_pos r)))
  | _ => false
  end.

(** ** Maps and heads *)

Fixpoint product (l : list vset) (f : list Z -> bool) : bool :=
  match l with
  | [] => f []
  | s :: l' => all_of s (fun z => product l' (fun e => f (z :: e)))
  end.

Definition check_map (m : facts) (c : N) (args : list nat) (f : Z -> list Z -> Z) (i : Z) (V : list Z) (D : runs) : bool :=
  let known := map (fun a => know m c a i) args in
  product (map fst known) (fun e => mem (f i e) V) &&
  (single V || forallb (fun k => inside (snd k) D) known).

(** The keys possible at j for query value u. *)
Definition keys_at (m : facts) (c : N) (h : head) (i u j : Z) : fact :=
  match h_key h with
  | None => (Vals [0], [])
  | Some k => if (j =? i) && same (h_key h) (h_query h) then (Vals [u], []) else know m c k j
  end.

(** What the head shows where j wins with the key w. *)
Definition shown (m : facts) (c : N) (h : head) (i u j w : Z) : fact :=
  if same (h_key h) (Some (h_value h)) then (Vals [w], [])
  else if (j =? i) && same (h_query h) (Some (h_value h)) then (Vals [u], [])
  else know m c (h_value h) j.

Definition check_pair (m : facts) (c : N) (h : head) (i u j w : Z) (V : list Z) (D : runs) (only : option Z) : bool :=
  let s := shown m c h i u j w in
  all_of (fst s) (fun z => mem z V && match only with Some o => z =? o | None => true end) &&
  (single V || (match only with Some _ => true | None => false end) ||
   (inside (snd (keys_at m c h i u j)) D && inside (snd s) D)).

Definition check_entry (m : facts) (c : N) (v : nat) (h : head) (i lo hi : Z) (V : list Z) (D : runs) (e : entry) : bool :=
  let r := row_of (e_row e) in
  let u := e_query e in
  let f := e_witness e in
  let score := h_score h i u in
  Nat.eqb (r_head r) v && (r_at r =? i) && (r_query r =? u) && (lo <=? f) && (f <? hi) &&
  negb (below (h_left h) (e_least e) f (r_score r) (r_pos r)) &&
  all_of (fst (keys_at m c h i u f)) (fun w => e_least e <=? score f w) &&
  forallb (fun ab => between (Z.max lo (fst ab)) (Z.min hi (snd ab)) (fun j =>
    all_of (fst (keys_at m c h i u j)) (fun w =>
      below (h_left h) (score j w) j (e_least e) f || check_pair m c h i u j w V D (e_only e))))
    (r_listed r).

Definition check_head (m : facts) (c : N) (v : nat) (h : head) (i : Z) (V : list Z) (D : runs) (es : list entry) : bool :=
  let lo := first_visible (h_mask h) i in
  let hi := end_visible p (h_mask h) i in
  if hi <=? lo then mem (h_default h) V && match es with [] => true | _ => false end else
  let q := match h_query h with Some a => know m c a i | None => (Vals [0], []) end in
  (single V || inside (snd q) D) &&
  lists (fst q) (map e_query es) &&
  forallb (check_entry m c v h i lo hi V D) es.

(** ** Cases, and a whole proof *)

(** The symbol of a context made from c by giving position q one symbol. *)
Definition answer (c : N) (q : Z) (kid : N) : option Z :=
  match context_of kid with
  | Context (Some c') [(l, h, [a])] _ => if (N.eqb c' c) && (l =? q) && (h =? q + 1) then Some a else None
  | _ => None
  end.
Definition answers (c : N) (q : Z) (kids : list N) : list Z :=
  flat_map (fun kid => match answer c q kid with Some a => [a] | None => [] end) kids.

Definition check_kid (m : facts) (c : N) (v : nat) (i q : Z) (V : list Z) (D : runs) (kid : N) : bool :=
  let k := know m kid v i in
  match answer c q kid with Some _ => true | None => false end &&
  all_of (fst k) (fun z => mem z V) && (single V || inside (snd k) D).

Definition check_case (m : facts) (c : N) (v : nat) (i q : Z) (V : list Z) (D : runs) (kids : list N) : bool :=
  position q && match marker p q with None => true | Some _ => false end &&
  lists (fst (know m c 0 q)) (answers c q kids) &&
  (single V || inside [(q, q + 1)] D) &&
  forallb (check_kid m c v i q V D) kids.

Definition settle (m : facts) (c : N) (v : nat) (i : Z) (V : list Z) (D : runs) : facts :=
  add_fact m c v i (Vals V, if single V then [] else D).

(** [scan] says which rows hold: [check_row], or whatever says yes only where that does. *)
Variable scan : row -> bool.

Definition check_line (m : facts) (l : line) : option facts :=
  match l with
  | LRow h i u s q r => if scan (Row h i u s q (runs_of r)) then Some m else None
  | LMap c v i s r =>
      match nth_error (vars p) v with
      | Some (MapVar _ args f) =>
          if position i && check_map m c args f i (set_of s) (runs_of r)
          then Some (settle m c v i (set_of s) (runs_of r)) else None
      | _ => None
      end
  | LHead c v i s r es =>
      match nth_error (vars p) v with
      | Some (HeadVar h) =>
          if position i && check_head m c v h i (set_of s) (runs_of r) es
          then Some (settle m c v i (set_of s) (runs_of r)) else None
      | _ => None
      end
  | LCase c v i q s r kids =>
      if position i && check_case m c v i q (set_of s) (runs_of r) kids
      then Some (settle m c v i (set_of s) (runs_of r)) else None
  | LSet _ | LRuns _ | LBox _ _ | LDfa _ _ _ _ | LWord _ => Some m
  end.

(** [allow] may stop the run at any line (a limit of work); it cannot make it accept. *)
Fixpoint check_lines (allow : facts -> line -> bool) (m : facts) (ls : list line) (k : N) : facts + N :=
  match ls with
  | [] => inl m
  | l :: ls' => match (if allow m l then check_line m l else None) with
                | Some m' => check_lines allow m' ls' (N.succ k)
                | None => inr k
                end
  end.

(** ** Conclusions *)

Definition unmarked (r : runs) : bool :=
  forallb (fun ab => (if start_ p then 0 <? fst ab else 0 <=? fst ab) && (if end_ p then snd ab <? n else snd ab <=? n)) r.
Definition symbols_of (s : list Z) : bool := forallb (fun a => (0 <=? a) && (a <? symbols p)) s.
Definition good_box (b : list cell) : bool :=
  increasing 0 (cell_runs b) && unmarked (cell_runs b) &&
  forallb (fun c => symbols_of (snd c) && match snd c with [] => false | _ => true end) b.
Definition outside (d r : runs) : bool :=
  forallb (fun ab => forallb (fun ab' => (snd ab <=? fst ab') || (snd ab' <=? fst ab)) r) d.

Definition check_restriction (c : N) (free : Z) : bool :=
  let b := cells (context_of c) in
  match up (context_of c) with None => true | Some _ => false end &&
  good_box b && forallb (fun c => single (snd c)) b && (free_positions p b =? free) && (0 <=? free).

Definition check_claim (m : facts) (out lab : nat) (c : N) (i free k : Z) (s r : N) : bool :=
  let d := runs_of r in
  position i && check_restriction c free &&
  increasing 0 d && unmarked d && outside d (cell_runs (cells (context_of c))) && (size d =? k) &&
  all_of (fst (know m c out i)) (fun z => mem z (set_of s)) && inside (snd (know m c lab i)) d.

Definition check_everywhere (m : facts) (lab : nat) (c : N) (free k : Z) : bool :=
  check_restriction c free &&
  between 0 n (fun i => let d := snd (know m c lab i) in
    match d with [(l, h)] => (l =? 0) && (h =? n) && (free <=? k) | _ => false end
    || (increasing 0 d && (size d <=? k))).

(** *** Refutations: words as search trees *)

Fixpoint spans (from : Z) (t : list (Z * Z)) : list cell :=
  match t with [] => [] | (c, a) :: t' => (from, from + c, [a]) :: spans (from + c) t' end.
Definition spans_of (t : list (Z * Z)) : list cell := spans (if start_ p then 1 else 0) t.
Definition good_text (t : list (Z * Z)) : bool :=
  forallb (fun ca => (0 <=? fst ca) && (0 <=? snd ca) && (snd ca <? symbols p)) t &&
  (size (cell_runs (spans_of t)) =? n - (if start_ p then 1 else 0) - (if end_ p then 1 else 0)).
Definition symbol_at (t : search) (q : Z) : option Z := match locate t q with Some [a] => Some a | _ => None end.
Definition text_fits (t : search) (b : list cell) : bool :=
  forallb (fun c => let '(l, h, s) := c in
    between l h (fun q => match symbol_at t q with Some a => mem a s | None => false end)) b.
Definition texts_agree (t t' : search) (d : runs) : bool :=
  forallb (fun ab => between (fst ab) (snd ab) (fun q =>
    match symbol_at t q, symbol_at t' q with Some a, Some a' => a =? a' | _, _ => false end)) d.
Definition member (d : dfa) (t : list (Z * Z)) : bool :=
  let next := table (next d) in
  let go a q := get next (Z.to_N (q * symbols p + a)) 0 in
  mem (fold_left (fun q ca => Z.iter (fst ca) (go (snd ca)) q) t (initial d)) (accepting d).

Definition check_refutes (ls : list line) (c : N) (r m w d : N) : bool :=
  let a := pick (texts ls) m [] in
  let b := pick (texts ls) w [] in
  let sa := search_of (spans_of a) in
  let sb := search_of (spans_of b) in
  good_text a && good_text b &&
  text_fits sa (cells (context_of c)) && text_fits sb (cells (context_of c)) && texts_agree sa sb (runs_of r) &&
  member (the_dfa ls d) a && negb (member (the_dfa ls d) b).
End Check.

(** ** Lower bounds: no few positions conflict with every box *)

Definition place := (Z * list Z)%type.                  (* a position and its allowed symbols *)

Section Tree.
Variable boxes : list (list place).
Variable symbols_ : Z.
Variable k : nat.

Fixpoint can (has : list place) (q : Z) : list Z :=
  match has with [] => range 0 symbols_ | (q', a) :: has' => if q =? q' then a else can has' q end.

Definition ways (has : list place) (chosen : list Z) (b : nat) : list place :=
  filter (fun c => (mem (fst c) chosen || Nat.ltb (length chosen) k)
                   && existsb (fun a => negb (mem a (snd c))) (can has (fst c))) (nth b boxes []).

(** Boxes that take a new position each; one without a way is enough alone. *)
Fixpoint apart (has : list place) (chosen used : list Z) (count : nat) (bs : list nat) : bool :=
  match bs with
  | [] => Nat.ltb k (length chosen + count)
  | b :: bs' => Nat.ltb b (length boxes) &&
    match map fst (ways has chosen b) with
    | [] => true
    | mine => forallb (fun q => negb (mem q used) && negb (mem q chosen)) mine
              && apart has chosen (mine ++ used) (S count) bs'
    end
  end.

(** A conflict at a position, or none there. *)
Definition choosing (q : Z) (chosen : list Z) : list Z := if mem q chosen then chosen else q :: chosen.
Definition ruled_out (q : Z) (A : list Z) (has : list place) : list place := (q, filter (fun a => negb (mem a A)) (can has q)) :: has.
Definition allowing (q : Z) (A : list Z) (has : list place) : list place := (q, filter (fun a => mem a A) (can has q)) :: has.

Fixpoint check_tree (has : list place) (chosen : list Z) (t : tree) : bool :=
  match t with
  | End bs => apart has chosen [] 0 bs
  | Branch b ts => Nat.ltb b (length boxes) && check_kids has chosen (ways has chosen b) ts
  | Case b j t t' =>
      match nth_error (nth b boxes []) j with
      | None => false
      | Some (q, A) => check_tree (ruled_out q A has) (choosing q chosen) t && check_tree (allowing q A has) chosen t'
      end
  end
with check_kids (has : list place) (chosen : list Z) (ws : list place) (ts : trees) : bool :=
  match ts with
  | Nil => match ws with [] => true | _ => false end
  | Cons t ts' =>
      match ws with
      | [] => false
      | (q, A) :: ws' =>
          let none := mem q chosen && match filter (fun a => mem a A) (can has q) with [] => true | _ => false end in
          check_tree (ruled_out q A has) (choosing q chosen) t &&
          if none then match ts' with Nil => true | _ => false end else check_kids (allowing q A has) chosen ws' ts'
      end
  end.
End Tree.

Section Bound.
Variable p : program.
Variable T : tables.

Definition places (b : list cell) : list place :=
  flat_map (fun c => let '(l, h, s) := c in map (fun q => (q, s)) (range l h)) b.
Definition context_box (c : N) : list cell := cells (context_of T c).

Definition avoids (m : facts) (lab : nat) (i : Z) (V : list Z) (c : N) : bool :=
  match up (context_of T c) with None => true | Some _ => false end && good_box p (context_box c) &&
  let s := fst (know p T m c lab i) in forallb (fun z => negb (among z s)) V.

Definition check_unforced (m : facts) (lab : nat) (u : unforced) : bool :=
  let (s, k, i, bs, t) := u in
  let boxes := map Z.to_N (set_of T bs) in
  position p i && (0 <=? k) && forallb (avoids m lab i (set_of T s)) boxes &&
  check_tree (map (fun c => places (context_box c)) boxes) (symbols p) (Z.to_nat k) [] [] t.

(** The number of positions that forcing any label at i takes; 0 where some label has no bound. *)
Definition bound (u : unforced) : Z := let '(Unforced _ k _ _ _) := u in k + 1.
Definition at_least (lab : nat) (i : Z) (us : list unforced) : Z :=
  let has z u := let '(Unforced s _ i' _ _) := u in (i' =? i) && mem z (set_of T s) in
  let small b u := Z.min b (bound u) in
  if position p i && between 0 (domain p lab) (fun z => existsb (has z) us)
  then match us with [] => 0 | u :: us' => fold_left small us' (bound u) end
  else 0.

Definition check_conclusion (m : facts) (ls : list line) (out lab : nat) (c : conclusion) : bool :=
  match c with
  | Claim c i free k s r => check_claim p T m out lab c i free k s r
  | Refutes c i free k s r m' w d => check_claim p T m out lab c i free k s r && check_refutes p T ls c r m' w d
  | AtEvery c free k => check_everywhere p T m lab c free k
  | LowerBound us => forallb (check_unforced m lab) us
  end.
End Bound.

(** The outcome, with the facts that were established. *)
Inductive outcome := Verified | Refused (line_ : N) | NotEstablished.

Definition check (p : program) (scan : row -> bool) (out lab : nat) (allow : facts -> line -> bool) (ls : list line) (c : conclusion) : outcome :=
  let T := tables_of ls (length_ p) in
  match check_lines p T scan allow no_facts ls 0 with
  | inl m => if check_conclusion p T m ls out lab c then Verified else NotEstablished
  | inr k => Refused k
  end.
