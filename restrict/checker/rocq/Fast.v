(** The program that is run: what is known of a score before its positions is computed once, tensors are trees.  It has
    the same values. *)
From Coq Require Import ZArith NArith List Bool FMapPositive Lia.
From R Require Import Semantics Operations Claims Kernel Loops Sound.
Import ListNotations.
Open Scope Z_scope.

Inductive step := Known (z : Z) | Do (o : op).

Section Prepare.
Variable entry : nat -> Z -> Z.

Definition known (env : list (option Z)) (a : nat) : option Z := nth a env (Some 0).
Definition operand (env : list (option Z)) (a : nat) : bool := match known env a with Some _ => true | None => false end.
Definition all_known (env : list (option Z)) (o : op) : bool :=
  match o with
  | Const _ => true
  | Unary _ a | Table _ a => operand env a
  | Binary _ a b => operand env a && operand env b
  | If c a b => operand env c && operand env a && operand env b
  end.
Definition guess (env : list (option Z)) : list Z := map (fun a => match a with Some z => z | None => 0 end) env.

Fixpoint prepare (code : list op) (env : list (option Z)) : list step :=
  match code with
  | [] => []
  | o :: code' =>
      if all_known env o then let z := value entry (guess env) o in Known z :: prepare code' (Some z :: env)
      else Do o :: prepare code' (None :: env)
  end.
Fixpoint run_steps (steps : list step) (regs : list Z) : Z :=
  match steps with
  | [] => reg regs 0
  | Known z :: steps' => run_steps steps' (z :: regs)
  | Do o :: steps' => run_steps steps' (value entry regs o :: regs)
  end.

Definition fits (a : option Z) (z : Z) : Prop := match a with Some y => y = z | None => True end.
Lemma reg_guess env regs a : Forall2 fits env regs -> operand env a = true -> reg (guess env) a = reg regs a.
Proof.
  unfold operand, known, reg, guess. intros F. revert a. induction F as [|e z env regs H F IH]; intros [|a] O; cbn in *; auto.
  destruct e; [auto | discriminate].
Qed.

Theorem run_steps_run : forall code env regs, Forall2 fits env regs -> run_steps (prepare code env) regs = run entry code regs.
Proof.
  induction code as [|o code IH]; cbn; intros env regs F; auto. destruct (all_known env o) eqn:A; cbn.
  - assert (V : value entry (guess env) o = value entry regs o).
    { destruct o; cbn in *; auto; repeat match goal with H : _ && _ = true |- _ => apply andb_prop in H; destruct H end;
        rewrite ?(reg_guess env regs) by auto; auto. }
    rewrite V. apply IH. constructor; cbn; auto.
  - apply IH. constructor; cbn; auto.
Qed.
End Prepare.

Lemma run_ext entry entry' : (forall t a, entry t a = entry' t a) -> forall code regs, run entry code regs = run entry' code regs.
Proof. intros H. induction code as [|o code IH]; cbn; intros regs; auto. rewrite IH. f_equal. f_equal. destruct o; cbn; auto. Qed.

(** ** Tensors as trees *)

Definition trees_of (tensors : list (list Z)) : PositiveMap.t (PositiveMap.t Z) := table (map table tensors).
Definition tree_entry (T : PositiveMap.t (PositiveMap.t Z)) (t : nat) (a : Z) : Z :=
  get (get T (N.of_nat t) (PositiveMap.empty Z)) (Z.to_N a) 0.
Lemma tree_entry_is tensors t a : tree_entry (trees_of tensors) t a = entry_of tensors t a.
Proof.
  unfold tree_entry, trees_of, entry_of, tensor. rewrite get_table, Nnat.Nat2N.id.
  change (PositiveMap.empty Z) with (table (@nil Z)). rewrite map_nth, get_table, Z_N_nat. auto.
Qed.

(** ** The same program *)

Definition fast_var (entry : nat -> Z -> Z) (r : rule) : var :=
  match r with
  | RMap d args code => MapVar d args (fun i e => run entry code (map_regs i e))
  | RHead d q k v m lft default code =>
      HeadVar (Head d q k v m lft default (fun i u =>
        let steps := prepare entry code [None; None; Some u; Some i] in fun j w => run_steps entry steps (head_regs i u j w)))
  end.
Definition fast_program (s : source) : program :=
  let T := trees_of (s_tensors s) in
  Program (s_length s) (s_symbols s) (s_start s) (s_end s) (Token :: Position :: map (fast_var (tree_entry T)) (s_rules s)).

Section Same.
Variable s : source.
Let p := program_of s.
Let f := fast_program s.

Lemma sem_same x r e i : sem f x (fast_var (tree_entry (trees_of (s_tensors s))) r) e i = sem p x (var_of (s_tensors s) r) e i.
Proof.
  destruct r; cbn.
  - apply run_ext. intros. apply tree_entry_is.
  - erewrite best_ext; [reflexivity|]. intros j. cbv beta zeta. rewrite run_steps_run.
    + apply run_ext. intros. apply tree_entry_is.
    + unfold head_regs. repeat constructor.
Qed.

Definition same_functions (e e' : list (Z -> Z)) : Prop := Forall2 (fun g g' => forall i, g i = g' i) e e'.
Lemma nth_same e e' a i : same_functions e e' -> nth a e (fun _ => 0) i = nth a e' (fun _ => 0) i.
Proof. intros F. revert a. induction F; intros [|a]; cbn; auto. Qed.

Lemma sem_same_env x w e e' i : same_functions e e' ->
  sem p x w (fun a => nth a e (fun _ => 0)) i = sem p x w (fun a => nth a e' (fun _ => 0)) i.
Proof. intros F. apply sem_ext. intros a _ j. apply nth_same. auto. Qed.

Lemma build_same x : forall rs e e', same_functions e e' ->
  same_functions (build f x e (map (fast_var (tree_entry (trees_of (s_tensors s)))) rs)) (build p x e' (map (var_of (s_tensors s)) rs)).
Proof.
  induction rs as [|r rs IH]; cbn [map build]; intros e e' F; auto. apply IH. apply Forall2_app; auto. constructor; [|constructor].
  intros i. rewrite sem_same. apply sem_same_env. auto.
Qed.

Theorem val_same x v i : val f x v i = val p x v i.
Proof. unfold val. apply nth_same. apply (build_same x (s_rules s) [token p x; fun i => i]). repeat constructor. Qed.

Lemma domain_same v : domain f v = domain p v.
Proof.
  unfold domain. destruct v as [|[|v]]; auto. cbn. rewrite !nth_error_map. destruct (nth_error (s_rules s) v) as [r|]; auto.
  destruct r; auto.
Qed.

Theorem defined_same : defined p -> defined f.
Proof.
  intros H.
  assert (Rule : forall v w, nth_error (vars f) v = Some w -> exists w', nth_error (vars p) v = Some w' /\ reads w = reads w' /\
    match w, w' with
    | MapVar d args g, MapVar d' args' g' => d = d' /\ args = args' /\ forall i e, g i e = g' i e
    | HeadVar h, HeadVar h' => h_default h = h_default h' /\ h_domain h = h_domain h' /\ h_value h = h_value h'
    | Token, Token | Position, Position => True
    | _, _ => False end).
  { intros [|[|v]] w E; cbn in E |- *; try (injection E as <-; eexists; split; [reflexivity | cbn; auto]; fail).
    rewrite nth_error_map in *. destruct (nth_error (s_rules s) v) as [r|]; [|discriminate]. injection E as <-.
    eexists. split; [reflexivity|]. destruct r; cbn; repeat split; auto.
    intros. apply run_ext. intros. apply tree_entry_is. }
  constructor.
  - intros v w a E I. destruct (Rule v w E) as (w' & E' & R & _). rewrite R in I. eapply (earlier p H); eauto.
  - intros v d args g i e E Hi F. destruct (Rule v _ E) as (w' & E' & _ & M). destruct w'; try destruct M. subst.
    destruct H1 as [<- G]. rewrite G. eapply (maps p H); eauto. clear -F. induction F; constructor; auto.
    rewrite <- domain_same. auto.
  - intros v h E. destruct (Rule v _ E) as (w' & E' & _ & M). destruct w'; try destruct M. destruct H1 as [D V].
    rewrite H0, D, V, domain_same. eapply (heads p H); eauto.
  - reflexivity.
  - exact (some_symbol p H).
Qed.

(** What is said of the one is said of the other: they differ in the variables' functions only. *)
Lemma restriction_same b : restriction f b -> restriction p b.
Proof. intros [A B C D]. constructor; auto. Qed.

Theorem true_same ls n out lab c : true_of ls n f out lab c -> true_of ls n p out lab c.
Proof.
  assert (C : forall c i free k s' r, claim_true ls n f out lab c i free k s' r -> claim_true ls n p out lab c i free k s' r).
  { intros c' i free k s' r (A1 & A2 & A3 & A4 & A5 & A6 & A7 & A8). split; [auto|]. split; [apply restriction_same; auto|].
    split; [auto|]. split; [auto|]. split; [auto|]. split; [auto|]. split.
    - intros x Hx. rewrite <- val_same. apply A7. auto.
    - intros x x' Hx Hx' A. rewrite <- !val_same. apply A8; auto. }
  destruct c as [c i free k s' r|c i free k s' r m w d|c free k|us]; cbn [true_of].
  - apply C.
  - intros [H (R1 & R2 & R3 & R4 & R5)]. split; [apply C; auto|]. rewrite !val_same in R3. repeat (split; auto).
  - intros (R & F & H). split; [apply restriction_same; auto|]. split; [auto|]. intros i Hi.
    destruct (H i Hi) as (d & D1 & D2 & D3). exists d. split; auto. split; auto. intros x x' Hx Hx' A. rewrite <- !val_same. apply D3; auto.
  - intros H. rewrite Forall_forall in *. intros u I. specialize (H u I). destruct u as [s' k i bs t]. cbn in *.
    intros y rho Hy P F. apply (H y rho Hy P). intros x Wx Ex. rewrite val_same. apply F; auto.
Qed.
End Same.
