(** Verdicts on trained models: averages over the words of an automaton are bounded by potentials (docs/soft-verdicts.md,
    Theorems 1, 7, 8 and 10).  Weights and values are numbers of any ordered ring, such as the reals: enclosures of the
    weights are given, and nothing is said about exponentials here. *)
From Coq Require Import Arith Lia Ring Ring_theory.

Section Averages.
Variable R : Type.
Variables (zero one : R) (add mul sub : R -> R -> R) (opp : R -> R) (le : R -> R -> Prop).
Hypothesis rules : ring_theory zero one add mul sub opp eq.
Hypothesis trans : forall a b c, le a b -> le b c -> le a c.
Hypothesis total : forall a b, le a b \/ le b a.
Hypothesis shift : forall a b c, le a b -> le (add a c) (add b c).
Hypothesis scale : forall a b c, le zero c -> le a b -> le (mul c a) (mul c b).
Hypothesis cancel : forall a b d, ~ le d zero -> le (mul a d) (mul b d) -> le a b.
Add Ring numbers : rules.

Fixpoint sum (f : nat -> R) (i : nat) : R := match i with O => f O | S j => add (sum f j) (f i) end.

(** [x] is the average of the values [v 0 .. v i] with the weights [e]. *)
Definition average (e v : nat -> R) (i : nat) (x : R) : Prop :=
  ~ le (sum e i) zero /\ mul x (sum e i) = sum (fun j => mul (e j) (v j)) i.

(** What a bound [u] of one step has to do for a weight between [low] and [high] and a value of at most [most]. *)
Definition covers (low high most l u : R) : Prop :=
  le zero low /\ (le l most -> le (mul high (sub most l)) u) /\ (le most l -> le (mul low (sub most l)) u).

Lemma both a b c d : le a b -> le c d -> le (add a c) (add b d).
Proof.
  intros H K. apply trans with (add b c); [apply shift, H|].
  replace (add b c) with (add c b) by ring. replace (add b d) with (add d b) by ring. apply shift, K.
Qed.

Lemma apart a b : le a b -> le zero (sub b a).
Proof. intros H. replace zero with (add a (opp a)) by ring. replace (sub b a) with (add b (opp a)) by ring. apply shift, H. Qed.

Lemma joined a b : le zero (sub b a) -> le a b.
Proof. intros H. replace a with (add zero a) by ring. replace b with (add (sub b a) a) by ring. apply shift, H. Qed.

Lemma step_covered low high most l u e v :
  covers low high most l u -> le low e -> le e high -> le v most -> le (mul e (sub v l)) u.
Proof.
  intros (P & Hhigh & Hlow) E E' V. apply trans with (mul e (sub most l)).
  { apply scale; [apply trans with low; assumption|]. replace (sub v l) with (add v (opp l)) by ring.
    replace (sub most l) with (add most (opp l)) by ring. apply shift, V. }
  destruct (total l most) as [L|L].
  - apply trans with (mul high (sub most l)); [|apply Hhigh, L]. replace (mul e (sub most l)) with (mul (sub most l) e) by ring.
    replace (mul high (sub most l)) with (mul (sub most l) high) by ring. apply scale; [apply apart, L | exact E'].
  - apply trans with (mul low (sub most l)); [|apply Hlow, L]. apply joined.
    replace (sub (mul low (sub most l)) (mul e (sub most l))) with (mul (sub l most) (sub e low)) by ring.
    replace zero with (mul (sub l most) zero) by ring. apply scale; apply apart; assumption.
Qed.

Lemma centred e v l i : sum (fun j => mul (e j) (sub (v j) l)) i = sub (sum (fun j => mul (e j) (v j)) i) (mul l (sum e i)).
Proof. induction i as [|i IH]; cbn; [|rewrite IH]; ring. Qed.

Lemma along (node : Type) (run : nat -> node) (phi u : nat -> node -> R) (f : nat -> R) i :
  (forall j, j <= i -> le (f j) (u j (run j))) -> le (u 0 (run 0)) (phi 0 (run 0)) ->
  (forall j, j < i -> le (add (phi j (run j)) (u (S j) (run (S j)))) (phi (S j) (run (S j)))) ->
  le (sum f i) (phi i (run i)).
Proof.
  intros U Z. induction i as [|i IH]; intros P; cbn [sum].
  - apply trans with (u 0 (run 0)); auto.
  - apply trans with (add (phi i (run i)) (u (S i) (run (S i)))); [|apply P; lia].
    apply both; [apply IH|apply U; lia]; intros j Hj; [apply U|apply P]; lia.
Qed.

(** Theorems 1 and 8, and with them 7: [run] is how a word goes through the nodes of any layered graph, and at each it is
    in one of the cells, where its weight and its value are enclosed. *)
Theorem averages_bounded (node cell : Type) (run : nat -> node) (follows : nat -> node -> node -> Prop)
  (inside : nat -> node -> cell -> Prop) (low high most : nat -> cell -> R) (phi u : nat -> node -> R) (e v : nat -> R)
  (l x : R) (i : nat) :
  (forall j, j < i -> follows j (run j) (run (S j))) ->
  (forall j, j <= i -> exists c, inside j (run j) c /\ le (low j c) (e j) /\ le (e j) (high j c) /\ le (v j) (most j c)) ->
  (forall j p c, inside j p c -> covers (low j c) (high j c) (most j c) l (u j p)) ->
  le (u 0 (run 0)) (phi 0 (run 0)) ->
  (forall j p q, follows j p q -> le (add (phi j p) (u (S j) q)) (phi (S j) q)) ->
  le (phi i (run i)) zero ->
  average e v i x -> le x l.
Proof.
  intros F C U Z P N (D & X). apply (cancel x l (sum e i) D). rewrite X. apply joined.
  set (gap := sum (fun j => mul (e j) (sub (v j) l)) i).
  replace (sub (mul l (sum e i)) _) with (sub zero gap) by (unfold gap; rewrite centred; ring).
  apply apart. apply trans with (phi i (run i)); [|exact N]. apply (along node run phi u); auto.
  intros j Hj. destruct (C j Hj) as (c & I & E & E' & V). eapply step_covered; eauto.
Qed.

(** Theorem 7: the runs of an automaton whose states project to those of another project to its runs. *)
Theorem memory_projects (symbol state finer : Type) (delta : state -> symbol -> state) (delta' : finer -> symbol -> finer)
  (of : finer -> state) (word : nat -> symbol) (run : nat -> state) (run' : nat -> finer) :
  (forall p s, of (delta' p s) = delta (of p) s) -> of (run' 0) = run 0 ->
  (forall j, run (S j) = delta (run j) (word (S j))) -> (forall j, run' (S j) = delta' (run' j) (word (S j))) ->
  forall j, of (run' j) = run j.
Proof. intros H Z A B j. induction j as [|j IH]; [exact Z|]. rewrite A, B, H, IH. reflexivity. Qed.

(** Theorem 10: one number for each state, for words of every length. *)
Theorem averages_bounded_at_every_length (symbol state : Type) (delta : state -> symbol -> state) (within : state -> Prop)
  (low high most : symbol -> R) (phi : state -> R) (first : R) (u : symbol -> R) (word : nat -> symbol) (run : nat -> state)
  (e v : nat -> R) (l x : R) (i : nat) :
  (forall j, run (S j) = delta (run j) (word (S j))) -> (forall j, j <= i -> within (run j)) ->
  le (mul (e 0) (sub (v 0) l)) first ->
  (forall j, 0 < j <= S i -> le (low (word j)) (e j) /\ le (e j) (high (word j)) /\ le (v j) (most (word j))) ->
  (forall s, covers (low s) (high s) (most s) l (u s)) ->
  le first (phi (run 0)) ->
  (forall p s, within p -> within (delta p s) -> le (add (phi p) (u s)) (phi (delta p s))) ->
  le (add (phi (run i)) (u (word (S i)))) zero ->
  average e v (S i) x -> le x l.
Proof.
  intros A W F C U Z P N (D & X). apply (cancel x l (sum e (S i)) D). rewrite X. apply joined.
  set (gap := sum (fun j => mul (e j) (sub (v j) l)) (S i)).
  replace (sub (mul l (sum e (S i))) _) with (sub zero gap) by (unfold gap; rewrite centred; ring).
  apply apart. unfold gap. cbn [sum]. eapply trans; [apply both|exact N].
  - apply (along nat (fun j => j) (fun j _ => phi (run j)) (fun j _ => match j with O => first | _ => u (word j) end)); auto.
    + intros [|j] Hj; [exact F|]. destruct (C (S j)) as (E & E' & V); [lia|]. eapply step_covered; eauto.
    + intros j Hj. rewrite A. apply P; [|rewrite <- A]; apply W; lia.
  - destruct (C (S i)) as (E & E' & V); [lia|]. eapply step_covered; eauto.
Qed.
End Averages.
