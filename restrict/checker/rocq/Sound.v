(** Proofs: facts that pass the checker hold (Theorem K of the theory). *)
From Coq Require Import ZArith NArith List Bool FMapPositive Lia.
From R Require Import Semantics Claims Kernel Loops.
Import ListNotations.
Open Scope Z_scope.

Section Program.
Variable p : program.
Hypothesis wf : defined p.
Let n := length_ p.

(** ** The equations of the semantics *)

Lemma build_app x : forall ws e, exists r, build p x e ws = e ++ r.
Proof.
  induction ws; cbn; intros e; [exists []; rewrite app_nil_r; auto|].
  destruct (IHws (e ++ [sem p x a (fun a0 => nth a0 e (fun _ => 0))])) as [r ->].
  rewrite <- app_assoc. eexists; reflexivity.
Qed.

Lemma build_nth x : forall ws e v w, nth_error ws v = Some w ->
  exists e', nth (length e + v) (build p x e ws) (fun _ => 0) = sem p x w (fun a => nth a e' (fun _ => 0)) /\
  (length e' = length e + v)%nat /\ exists r, build p x e ws = e' ++ r.
Proof.
  induction ws; intros e v w H; [destruct v; discriminate|]. destruct v; cbn in H.
  - injection H as ->. exists e. cbn [build].
    destruct (build_app x ws (e ++ [sem p x w (fun a0 => nth a0 e (fun _ => 0))])) as [r E].
    rewrite E. rewrite Nat.add_0_r. split; [|split; auto].
    + rewrite <- app_assoc. rewrite app_nth2; [|lia]. rewrite Nat.sub_diag. reflexivity.
    + rewrite <- app_assoc. eexists; reflexivity.
  - cbn [build]. destruct (IHws (e ++ [sem p x a (fun a0 => nth a0 e (fun _ => 0))]) v w H) as (e' & E & L & r & R).
    rewrite app_length in *. cbn in *. exists e'. split; [|split].
    + rewrite <- E. f_equal. lia.
    + lia.
    + eauto.
Qed.

Lemma sem_ext x w e e' i : (forall a, In a (reads w) -> forall j, e a j = e' a j) -> sem p x w e i = sem p x w e' i.
Proof.
  destruct w as [| |d args f|h]; cbn; intros H; auto.
  - f_equal. apply map_ext_in. auto.
  - assert (Hq : read e (h_query h) i = read e' (h_query h) i).
    { unfold read. destruct (h_query h); auto. apply H. right. apply in_or_app. left. left. auto. }
    assert (Hk : forall j, read e (h_key h) j = read e' (h_key h) j).
    { unfold read. destruct (h_key h); auto. intros. apply H. right. apply in_or_app. right. left. auto. }
    rewrite (best_ext _ _ (fun j => h_score h i (read e' (h_query h) i) j (read e' (h_key h) j))).
    + destruct (best _ _ _); auto.
    + intros j. rewrite Hq, Hk. auto.
Qed.

Theorem val_eq x v w i : nth_error (vars p) v = Some w -> val p x v i = sem p x w (val p x) i.
Proof.
  intros H. unfold val at 1. destruct (build_nth x (vars p) [] v w H) as (e' & E & L & r & R).
  cbn in E, L. rewrite E. apply sem_ext. intros a Ha j. unfold val. rewrite R.
  pose proof (earlier p wf v w a H Ha). rewrite app_nth1; [auto | lia].
Qed.

Lemma val_none x v i : nth_error (vars p) v = None -> val p x v i = 0.
Proof.
  intros H. unfold val. apply nth_error_None in H. rewrite nth_overflow; auto.
  assert (L : forall ws e, length (build p x e ws) = (length e + length ws)%nat).
  { induction ws; cbn; intros; [lia|]. rewrite IHws, app_length. cbn. lia. }
  rewrite L. cbn. lia.
Qed.

Lemma val_token x q : marker p q = None -> val p x 0 q = at_ x q.
Proof. intros M. rewrite (val_eq _ _ _ _ (token_first p wf)). cbn. unfold token. rewrite M. auto. Qed.

Lemma visible_bounds m i j : 0 <= i < n -> first_visible m i <= j < end_visible p m i -> 0 <= j < n.
Proof. destruct m; cbn; fold n; lia. Qed.

Lemma in_domain x : word_of p x -> forall v i, 0 <= i < n -> 0 <= val p x v i < domain p v.
Proof.
  intros [Hl Hs]. induction v as [v IH] using lt_wf_ind. intros i Hi.
  destruct (nth_error (vars p) v) as [w|] eqn:E.
  2:{ rewrite val_none; auto. unfold domain. rewrite E. lia. }
  rewrite (val_eq _ _ _ _ E). unfold domain. rewrite E. destruct w as [| |d args f|h]; cbn.
  - unfold token, marker. pose proof (some_symbol p wf). destruct (Hs i Hi) as [Hi' _].
    destruct (start_ p), (end_ p); cbn; destruct (i =? 0); cbn; try destruct (i =? length_ p - 1); cbn; lia.
  - fold n. lia.
  - eapply (maps p wf); eauto. assert (Ha : forall a, In a args -> (a < v)%nat) by (intros; eapply (earlier p wf); eauto).
    clear E. induction args; cbn; constructor; auto; [apply IH; auto; apply Ha; left; auto|].
    apply IHargs. intros; apply Ha; right; auto.
  - destruct (heads p wf v h E) as [Hd Hv]. destruct (best _ _ _) as [j|] eqn:Eb; [|auto].
    apply best_spec in Eb as [Hj _]. apply in_range in Hj. apply (visible_bounds _ _ _ Hi) in Hj.
    assert (h_value h < v)%nat by (eapply (earlier p wf); eauto; left; auto).
    specialize (IH _ H j Hj). lia.
Qed.

Lemma same_word x x' : word_of p x -> word_of p x' -> agree x x' [(0, n)] -> x = x'.
Proof.
  intros [L _] [L' _] H. apply (nth_ext _ _ 0 0); [congruence|]. intros k Hk.
  specialize (H (Z.of_nat k)). unfold at_ in H. rewrite Nat2Z.id in H. apply H.
  exists (0, n). cbn. split; auto. unfold n. lia.
Qed.

(** ** The tables *)

Variable ls : list line.
Let T := tables_of ls n.

Lemma set_of_eq k : set_of T k = pick (sets ls) k [].
Proof. unfold set_of, T, tables_of. cbn [t_sets]. apply get_table. Qed.
Lemma runs_of_eq k : runs_of T k = pick (all_runs ls n) k [].
Proof. unfold runs_of, T, tables_of. cbn [t_runs]. apply get_table. Qed.

Definition to_context (pb : option N * list cell) : context := Context (fst pb) (snd pb) (search_of (snd pb)).
Lemma contexts_eq : contexts_of (fun k => get (table (sets ls)) k []) ls = map to_context (contexts ls).
Proof.
  unfold contexts_of, contexts. generalize (sets ls) as S. intros S. induction ls as [|l ls' IH]; cbn; auto.
  destruct l; cbn; auto. rewrite IH. f_equal. unfold to_context. cbn.
  assert (E : map (fun t => (fst t, get (table S) (snd t) [])) triples = map (fun t => (fst t, pick S (snd t) [])) triples).
  { apply map_ext. intros. f_equal. apply get_table. }
  rewrite E. auto.
Qed.
Lemma context_of_eq k : context_of T k = to_context (pick (contexts ls) k (None, [])).
Proof.
  unfold context_of, T, tables_of. cbn. rewrite contexts_eq, get_table.
  assert (E : no_context = to_context (None, [])) by (unfold to_context; cbn; rewrite search_of_nil; auto).
  rewrite E. unfold pick. apply map_nth.
Qed.
Lemma up_eq k : up (context_of T k) = parent ls k.
Proof. rewrite context_of_eq. reflexivity. Qed.
Lemma cells_eq k : cells (context_of T k) = box ls k.
Proof. rewrite context_of_eq. reflexivity. Qed.
Lemma tree_eq k : tree_of (context_of T k) = search_of (box ls k).
Proof. rewrite context_of_eq. reflexivity. Qed.

(** ** The words of a context *)

Inductive above : N -> N -> Prop :=
| above_refl c : above c c
| above_up c c' d : parent ls c = Some c' -> above c' d -> above c d.

Lemma above_trans c d e : above c d -> above d e -> above c e.
Proof. induction 1; auto. intros. econstructor; eauto. Qed.

Definition words (c : N) (x : word) : Prop := word_of p x /\ forall d, above c d -> satisfies p x (box ls d).
Lemma words_above c d x : above c d -> words c x -> words d x.
Proof. intros A [W H]. split; auto. intros e E. apply H. eapply above_trans; eauto. Qed.

Lemma climb_above {A} (ask : N -> option A) : forall fuel c a, climb T fuel ask c = Some a -> exists d, above c d /\ ask d = Some a.
Proof.
  induction fuel; intros c a H; cbn [climb] in H; destruct (ask c) as [b|] eqn:E;
    try (injection H as ->; exists c; split; [constructor | auto]; fail); [discriminate|].
  rewrite up_eq in H. destruct (parent ls c) as [c'|] eqn:U; [|discriminate].
  destruct (IHfuel _ _ H) as (d & Ad & Ed). exists d. split; auto. econstructor; eauto.
Qed.

(** ** Facts *)

Definition holds (c : N) (v : nat) (i : Z) (f : fact) : Prop :=
  (forall x, words c x -> inV (val p x v i) (fst f)) /\
  (forall x x', words c x -> words c x' -> agree x x' (snd f) -> val p x v i = val p x' v i).

Definition sound (m : facts) : Prop :=
  forall c v i f, 0 <= i < n -> find_fact m c v i = Some f -> holds c v i f.

Lemma index_inj i j : 0 <= i -> 0 <= j -> index i = index j -> i = j.
Proof. destruct i, j; cbn; lia. Qed.

Lemma part_add {A} k k' (m : PositiveMap.t (PositiveMap.t A)) m' :
  part k' (PositiveMap.add k m' m) = if Pos.eqb k k' then m' else part k' m.
Proof.
  unfold part. destruct (Pos.eqb k k') eqn:E.
  - apply Pos.eqb_eq in E. subst. rewrite PositiveMap.gss. auto.
  - apply Pos.eqb_neq in E. rewrite PositiveMap.gso; auto.
Qed.

Lemma find_add m c v i f c' v' i' f' : 0 <= i -> 0 <= i' -> find_fact (add_fact m c v i f) c' v' i' = Some f' ->
  (c = c' /\ v = v' /\ i = i' /\ f = f') \/ find_fact m c' v' i' = Some f'.
Proof.
  intros Hi Hi'. unfold find_fact, add_fact. rewrite part_add. destruct (Pos.eqb (N.succ_pos c) (N.succ_pos c')) eqn:Ec; [|auto].
  apply Pos.eqb_eq in Ec. assert (c = c') by (rewrite <- (N.pos_pred_succ c), <- (N.pos_pred_succ c'), Ec; auto). subst c'.
  rewrite part_add. destruct (Pos.eqb (Pos.of_succ_nat v) (Pos.of_succ_nat v')) eqn:Ev; [|auto].
  apply Pos.eqb_eq in Ev. assert (v = v') by lia. subst v'.
  destruct (Z.eq_dec i i') as [<-|Hn].
  - rewrite PositiveMap.gss. intros [= <-]. auto.
  - rewrite PositiveMap.gso; [auto|]. intros E. apply Hn. symmetry. apply index_inj; auto.
Qed.

Lemma settle_sound m c v i V D : 0 <= i < n -> sound m -> holds c v i (Vals V, D) -> sound (settle m c v i V D).
Proof.
  intros Hi Hm [H1 H2] c' v' i' f' Hi' E. unfold settle in E. apply find_add in E; try lia.
  destruct E as [(<- & <- & <- & <-)|E]; [|apply Hm; auto].
  destruct (single V) eqn:S; split; cbn in *; auto.
  intros x x' Hx Hx' _. destruct (single_spec _ S) as [z ->].
  destruct (H1 x Hx) as [<-|[]], (H1 x' Hx') as [E|[]]. auto.
Qed.

Lemma know_holds m c v i : 0 <= i < n -> sound m -> holds c v i (know p T m c v i).
Proof.
  intros Hi Hm. unfold know. destruct (nth_error (vars p) v) as [w|] eqn:E.
  2:{ split; cbn; intros; rewrite ?val_none; auto. }
  assert (Dom : holds c v i (Upto (domain p v), [(0, n)])).
  { split; cbn.
    - intros x [Hx _]. apply in_domain; auto.
    - intros x x' [Hx _] [Hx' _] H. f_equal. apply same_word; auto. }
  assert (Near : holds c v i (match nearest T (fun c => find_fact m c v i) c with Some f => f | None => (Upto (domain p v), [(0, n)]) end)).
  { destruct (nearest _ _ _) as [f|] eqn:F; [|exact Dom]. unfold nearest in F. apply climb_above in F as (d & A & F).
    destruct (Hm d v i f Hi F) as [H1 H2]. split; intros; [apply H1 | apply H2]; eauto using words_above. }
  destruct w as [| |d args f|h]; auto.
  - clear Near. assert (V : forall x, val p x v i = token p x i) by (intros; rewrite (val_eq _ _ _ _ E); auto).
    destruct (marker p i) as [a|] eqn:M.
    { split; cbn; intros; rewrite ?V; unfold token; rewrite M; auto. }
    assert (W : forall x, val p x v i = at_ x i) by (intros; rewrite V; unfold token; rewrite M; auto).
    assert (At : forall x x', agree x x' [(i, i + 1)] -> val p x v i = val p x' v i).
    { intros x x' H. rewrite !W. apply H. apply on_point. auto. }
    destruct (nearest _ _ _) as [s|] eqn:F.
    + unfold nearest in F. apply climb_above in F as (d & A & F). cbv beta in F. rewrite tree_eq in F.
      apply locate_spec in F as (l & h & I & Q).
      assert (S : forall x, words c x -> In (at_ x i) s).
      { intros x [_ H]. destruct (H d A) as [_ B]. eapply B; eauto. }
      split; [intros x Hx; rewrite W; apply S; auto|].
      intros x x' Hx Hx' H. destruct (single s) eqn:Si; auto. cbn in H.
      destruct (single_spec _ Si) as [z ->]. rewrite !W.
      destruct (S x Hx) as [<-|[]], (S x' Hx') as [X|[]]. auto.
    + split; cbn; auto. intros x [[_ Hx] _]. rewrite W. apply Hx. auto.
  - split; cbn; intros; rewrite ?(val_eq _ _ _ _ E); cbn; auto.
Qed.

(** ** Rows *)

Definition row_holds (r : row) : Prop :=
  forall h, nth_error (vars p) (r_head r) = Some (HeadVar h) ->
  0 <= r_at r < n /\
  forall x j, word_of p x ->
    first_visible (h_mask h) (r_at r) <= j < end_visible p (h_mask h) (r_at r) -> ~ on j (r_listed r) ->
    below (h_left h) (h_score h (r_at r) (r_query r) j (read (val p x) (h_key h) j)) j (r_score r) (r_pos r) = true.

Lemma position_spec i : position p i = true -> 0 <= i < n.
Proof. unfold position. intros. split_and; zb. unfold n. lia. Qed.

Lemma key_values_hold h x j : word_of p x -> 0 <= j < n -> inV (read (val p x) (h_key h) j) (key_values p h j).
Proof.
  intros Hx Hj. unfold key_values, read. destruct (h_key h) as [k|]; cbn; auto.
  pose proof (in_domain x Hx k j Hj) as D. destruct (nth_error (vars p) k) as [[| | |]|] eqn:E; cbn; auto.
  - rewrite (val_eq _ _ _ _ E). cbn. unfold token. destruct (marker p j); cbn; auto. apply Hx. auto.
  - rewrite (val_eq _ _ _ _ E). cbn. auto.
Qed.

Lemma check_row_holds r : check_row p r = true -> row_holds r.
Proof.
  intros H h E. unfold check_row in H. rewrite E in H. split_and. apply position_spec in H. split; auto.
  intros x j Hx Hj Hn. eapply gaps_spec in H0; eauto. cbv zeta in H0.
  eapply all_of_spec in H0; [exact H0|]. apply key_values_hold; auto. apply (visible_bounds _ _ _ H Hj).
Qed.

(** ** Maps *)

Lemma product_spec f : forall l, product l f = true -> forall e, Forall2 (fun s z => inV z s) l e -> f e = true.
Proof.
  intros l. revert f. induction l; cbn; intros f H e He; inversion He; subst; auto.
  eapply all_of_spec in H; eauto. eapply IHl in H; eauto.
Qed.

Lemma single_or c v i V D : (forall x, words c x -> In (val p x v i) V) ->
  (single V = false -> forall x x', words c x -> words c x' -> agree x x' D -> val p x v i = val p x' v i) ->
  holds c v i (Vals V, D).
Proof.
  intros H1 H2. split; auto. cbn. intros x x' Hx Hx' H. destruct (single V) eqn:S; auto.
  destruct (single_spec _ S) as [z ->]. destruct (H1 x Hx) as [<-|[]], (H1 x' Hx') as [E|[]]. auto.
Qed.

Lemma agree_inside x x' d d' : inside d d' = true -> agree x x' d' -> agree x x' d.
Proof. intros H A q Q. apply A. eapply inside_spec; eauto. Qed.

Lemma map_holds m c v i V D d args f : sound m -> 0 <= i < n -> nth_error (vars p) v = Some (MapVar d args f) ->
  check_map p T m c args f i V D = true -> holds c v i (Vals V, D).
Proof.
  intros Hm Hi E H. unfold check_map in H. split_and. rewrite map_map in H. apply single_or.
  - intros x Hx. rewrite (val_eq _ _ _ _ E). cbn. apply mem_spec.
    eapply product_spec in H; [exact H|]. clear -wf Hm Hi Hx.
    induction args; cbn; constructor; auto. apply know_holds; auto.
  - intros S x x' Hx Hx' Hq. rewrite S in H0. cbn in H0. rewrite forallb_forall in H0.
    rewrite !(val_eq _ _ _ _ E). cbn. f_equal. apply map_ext_in. intros a Ha.
    apply (know_holds m c a i Hi Hm); auto. eapply agree_inside; [|exact Hq]. apply H0. apply in_map_iff. eauto.
Qed.

(** ** Heads *)

Lemma same_spec a b : same a b = true -> a = b /\ a <> None.
Proof. destruct a, b; cbn; try discriminate. intros. zb. subst. split; congruence. Qed.

Section Head.
Hypothesis rows_hold : forall k, row_holds (row_of T k).
Variable m : facts.
Hypothesis Hm : sound m.
Variables (c : N) (v : nat) (h : head) (i : Z).
Hypothesis Hi : 0 <= i < n.
Hypothesis E : nth_error (vars p) v = Some (HeadVar h).
Let lo := first_visible (h_mask h) i.
Let hi := end_visible p (h_mask h) i.
Let query x := read (val p x) (h_query h) i.
Let key x j := read (val p x) (h_key h) j.

Lemma keys_hold x j : words c x -> lo <= j < hi -> inV (key x j) (fst (keys_at p T m c h i (query x) j)).
Proof.
  intros Hx Hj. unfold keys_at, key, query, read. destruct (h_key h) as [k|] eqn:K; [|left; auto].
  destruct ((j =? i) && same (Some k) (h_query h)) eqn:S.
  - split_and. zb. apply same_spec in H0 as [H0 _]. subst j. left. rewrite <- H0. auto.
  - apply know_holds; auto. apply (visible_bounds (h_mask h) i); auto.
Qed.

Lemma keys_agree x x' j D : words c x -> words c x' -> query x = query x' -> lo <= j < hi ->
  inside (snd (keys_at p T m c h i (query x) j)) D = true -> agree x x' D -> key x j = key x' j.
Proof.
  intros Hx Hx' U Hj Hw A. unfold keys_at in Hw. unfold key, query, read in *. destruct (h_key h) as [k|] eqn:K; auto.
  destruct ((j =? i) && same (Some k) (h_query h)) eqn:S.
  - split_and. zb. apply same_spec in H0 as [H0 _]. subst j. rewrite <- H0 in U. auto.
  - apply (know_holds m c k j); auto; [apply (visible_bounds (h_mask h) i); auto | eapply agree_inside; eauto].
Qed.

Lemma shown_holds x j : words c x -> lo <= j < hi ->
  inV (val p x (h_value h) j) (fst (shown p T m c h i (query x) j (key x j))).
Proof.
  intros Hx Hj. unfold shown, key, query. destruct (same (h_key h) (Some (h_value h))) eqn:S.
  - apply same_spec in S as [S _]. rewrite S. left. auto.
  - destruct ((j =? i) && same (h_query h) (Some (h_value h))) eqn:S'.
    + split_and. zb. apply same_spec in H0 as [H0 _]. subst j. left. unfold read. rewrite H0. auto.
    + apply know_holds; auto. apply (visible_bounds (h_mask h) i); auto.
Qed.

Lemma shown_agree x x' j D : words c x -> words c x' -> query x = query x' -> key x j = key x' j -> lo <= j < hi ->
  inside (snd (shown p T m c h i (query x) j (key x j))) D = true -> agree x x' D ->
  val p x (h_value h) j = val p x' (h_value h) j.
Proof.
  intros Hx Hx' U K Hj Hw A. unfold shown in Hw. destruct (same (h_key h) (Some (h_value h))) eqn:S.
  { apply same_spec in S as [S _]. unfold key in K. rewrite S in K. exact K. }
  destruct ((j =? i) && same (h_query h) (Some (h_value h))) eqn:S'.
  { split_and. zb. apply same_spec in H0 as [H0 _]. subst j. unfold query in U. rewrite H0 in U. exact U. }
  apply (know_holds m c (h_value h) j); auto; [apply (visible_bounds (h_mask h) i); auto | eapply agree_inside; eauto].
Qed.

(** The winner of a word is listed, and was checked. *)
Lemma winner V D e x : words c x -> lo < hi -> e_query e = query x -> check_entry p T m c v h i lo hi V D e = true ->
  exists j, lo <= j < hi /\ val p x v i = val p x (h_value h) j /\
    (forall j', lo <= j' < hi -> j' <> j ->
       below (h_left h) (h_score h i (query x) j' (key x j')) j' (h_score h i (query x) j (key x j)) j = true) /\
    check_pair p T m c h i (query x) j (key x j) V D (e_only e) = true.
Proof.
  intros Hx L Q C. set (s := fun j => h_score h i (query x) j (key x j)).
  assert (Eq : val p x v i = match best (h_left h) s (range lo hi) with Some j => val p x (h_value h) j | None => h_default h end).
  { rewrite (val_eq _ _ _ _ E). reflexivity. }
  destruct (best (h_left h) s (range lo hi)) as [j|] eqn:Eb.
  2:{ apply best_none in Eb. assert (In lo (range lo hi)) by (apply in_range; lia). rewrite Eb in H. destruct H. }
  apply best_spec in Eb as [Hj Hb]. apply in_range in Hj. exists j. split; [auto|]. split; [auto|].
  split; [intros j' Hj' Hn; apply Hb; auto; apply in_range; auto|].
  unfold check_entry in C. rewrite Q in C. split_and. zb.
  match goal with H : r_head _ = v |- _ => rename H into Ehd end.
  match goal with H : r_at _ = i |- _ => rename H into Eat end.
  match goal with H : r_query _ = query x |- _ => rename H into Equ end.
  match goal with H : below _ _ _ _ _ = false |- _ => rename H into Hbar end.
  match goal with H : all_of _ _ = true |- _ => rename H into Hwit end.
  match goal with H : forallb _ _ = true |- _ => rename H into Hlist end.
  set (r := row_of T (e_row e)) in *. pose proof (rows_hold (e_row e)) as Rr. fold r in Rr.
  unfold row_holds in Rr. rewrite Ehd, Eat, Equ in Rr. destruct (Rr h E) as [_ Hrow]. fold lo hi in Hrow.
  set (f := e_witness e) in *.
  assert (Wf : e_least e <= s f).
  { unfold s. eapply all_of_spec in Hwit; [|apply keys_hold; auto; lia]. zb. auto. }
  assert (Nf : below (h_left h) (s j) j (e_least e) f = false).
  { destruct (below (h_left h) (s j) j (e_least e) f) eqn:Bf; auto. exfalso.
    assert (Bs : below (h_left h) (s j) j (s f) f = true) by (eapply below_not; [exact Bf | apply below_score; auto]).
    destruct (Z.eq_dec f j) as [->|Hn]; [exact (below_asym _ _ _ _ _ Bs Bs)|].
    refine (below_asym _ _ _ _ _ Bs _). apply Hb; [apply in_range; lia | auto]. }
  destruct (existsb (fun ab => (fst ab <=? j) && (j <? snd ab)) (r_listed r)) eqn:In_.
  - apply existsb_exists in In_ as (ab & Hab & Hj'). split_and; zb.
    rewrite forallb_forall in Hlist. specialize (Hlist ab Hab). cbv beta in Hlist.
    eapply between_spec with (z := j) in Hlist; [|lia].
    eapply all_of_spec in Hlist; [|apply keys_hold; auto].
    apply orb_true_iff in Hlist as [Hl|Hl]; [|exact Hl]. unfold s in Nf. congruence.
  - exfalso. assert (Hrj : below (h_left h) (s j) j (r_score r) (r_pos r) = true).
    { apply Hrow; auto; [apply Hx|]. intros (ab & Hab & Hj').
      assert (existsb (fun ab => (fst ab <=? j) && (j <? snd ab)) (r_listed r) = true); [|congruence].
      apply existsb_exists. exists ab. split; auto. apply andb_true_intro. split; [apply Z.leb_le | apply Z.ltb_lt]; lia. }
    pose proof (below_not _ _ _ _ _ _ _ Hrj Hbar) as Hc'. congruence.
Qed.

Lemma head_holds V D es : check_head p T m c v h i V D es = true -> holds c v i (Vals V, D).
Proof.
  intros H. unfold check_head in H. fold lo hi in H. destruct (hi <=? lo) eqn:L.
  { zb. split_and. apply mem_spec in H.
    assert (Eq : forall x, val p x v i = h_default h).
    { intros x. rewrite (val_eq _ _ _ _ E). cbn. fold lo hi. destruct (best _ _ (range lo hi)) as [j|] eqn:Eb; auto.
      apply best_spec in Eb as [Hj _]. apply in_range in Hj. lia. }
    apply single_or; intros; rewrite !Eq; auto. }
  zb. set (kq := match h_query h with Some a => know p T m c a i | None => (Vals [0], []) end) in *.
  assert (Q : (forall x, words c x -> inV (query x) (fst kq)) /\
     (forall x x', words c x -> words c x' -> agree x x' (snd kq) -> query x = query x')).
  { unfold kq, query, read. destruct (h_query h) as [a|]; [apply know_holds; auto|]. split; cbn; auto. }
  destruct Q as [QV QD]. split_and.
  assert (Entry : forall x, words c x -> exists e, find (fun e => e_query e =? query x) es = Some e /\
     e_query e = query x /\ check_entry p T m c v h i lo hi V D e = true).
  { intros x Hx. pose proof (lists_spec _ _ H1 _ (QV x Hx)) as I. apply in_map_iff in I as (e & Ee & I).
    destruct (find (fun e => e_query e =? query x) es) as [e'|] eqn:F.
    - exists e'. split; auto. apply find_some in F as [F1 F2]. zb. split; auto. rewrite forallb_forall in H0. auto.
    - exfalso. pose proof (find_none _ _ F e I) as X. cbn in X. zb. auto. }
  apply single_or.
  - intros x Hx. destruct (Entry x Hx) as (e & _ & Qe & Ce).
    destruct (winner V D e x Hx L Qe Ce) as (j & Hj & Ev & _ & Cp). rewrite Ev.
    unfold check_pair in Cp. apply andb_prop in Cp as [Cp _].
    eapply all_of_spec in Cp; [|apply shown_holds; auto]. apply andb_prop in Cp as [Cp _]. apply mem_spec; auto.
  - intros S x x' Hx Hx' A. rewrite S in H. cbn in H.
    assert (U : query x = query x') by (apply QD; auto; eapply agree_inside; eauto).
    destruct (Entry x Hx) as (e & Fe & Qe & Ce). destruct (Entry x' Hx') as (e' & Fe' & Qe' & Ce').
    rewrite <- U, Fe in Fe'. injection Fe' as <-.
    destruct (winner V D e x Hx L Qe Ce) as (j & Hj & Ev & Hb & Cp).
    destruct (winner V D e x' Hx' L Qe' Ce') as (j' & Hj' & Ev' & Hb' & Cp').
    rewrite <- U in Hb', Cp'. rewrite Ev, Ev'. unfold check_pair in Cp, Cp'. rewrite S in Cp, Cp'.
    apply andb_prop in Cp as [Ca Cb]. apply andb_prop in Cp' as [Ca' Cb'].
    destruct (e_only e) as [o|].
    { eapply all_of_spec in Ca; [|apply shown_holds; auto]. eapply all_of_spec in Ca'; [|rewrite U; apply shown_holds; auto].
      apply andb_prop in Ca as [_ Ca]. apply andb_prop in Ca' as [_ Ca']. zb. congruence. }
    cbn in Cb, Cb'. apply andb_prop in Cb as [Ck Cs]. apply andb_prop in Cb' as [Ck' Cs'].
    pose proof (keys_agree x x' j D Hx Hx' U Hj Ck A) as Kj.
    pose proof (keys_agree x x' j' D Hx Hx' U Hj' Ck' A) as Kj'.
    assert (j = j') as <-.
    { destruct (Z.eq_dec j j'); auto. exfalso. specialize (Hb j' Hj' (not_eq_sym n0)). specialize (Hb' j Hj n0).
      rewrite Kj, Kj' in Hb. exact (below_asym _ _ _ _ _ Hb Hb'). }
    eapply shown_agree; eauto.
Qed.
End Head.

(** ** Cases *)

Lemma answer_spec c q kid a x : answer T c q kid = Some a -> words c x -> at_ x q = a -> words kid x.
Proof.
  unfold answer. rewrite context_of_eq. unfold to_context. intros H Hx Ha.
  destruct (pick (contexts ls) kid (None, [])) as [u b] eqn:P. cbn in H.
  destruct u as [c'|]; [|discriminate]. destruct b as [|[[l h] s] [|]]; try discriminate.
  2:{ destruct s as [|? [|]]; discriminate. }
  destruct s as [|a' [|]]; try discriminate.
  destruct (N.eqb c' c && (l =? q) && (h =? q + 1)) eqn:C; [|discriminate]. injection H as ->. split_and. zb. subst.
  split; [apply Hx|]. intros d A. inversion A; subst.
  - split; [apply Hx|]. unfold box. rewrite P. cbn. intros l h s q' [[= <- <- <-]|[]] Q. left. f_equal. lia.
  - unfold parent in H. rewrite P in H. cbn in H. injection H as ->. apply Hx. auto.
Qed.

Lemma case_holds m c v i q V D kids : sound m -> 0 <= i < n -> check_case p T m c v i q V D kids = true ->
  holds c v i (Vals V, D).
Proof.
  intros Hm Hi H. unfold check_case in H. split_and. apply position_spec in H.
  match goal with H : match marker p q with _ => _ end = true |- _ => rename H into Hmk end.
  match goal with H : lists _ _ = true |- _ => rename H into Hli end.
  match goal with H : forallb _ _ = true |- _ => rename H into Hk end.
  match goal with H : single V || _ = true |- _ => rename H into Hs end.
  assert (M : marker p q = None) by (destruct (marker p q); [discriminate | auto]).
  assert (K : forall x, words c x -> exists kid, answer T c q kid = Some (at_ x q) /\ In kid kids /\ words kid x).
  { intros x Hx. pose proof (proj1 (know_holds m c 0%nat q H Hm) x Hx) as I. rewrite (val_token _ _ M) in I.
    apply (lists_spec _ _ Hli) in I. apply in_flat_map in I as (kid & Ik & I). exists kid.
    destruct (answer T c q kid) as [a|] eqn:Ea; [|destruct I]. destruct I as [->|[]].
    split; [auto|]. split; [auto|]. eapply answer_spec; eauto. }
  rewrite forallb_forall in Hk. unfold check_kid in Hk.
  apply single_or.
  - intros x Hx. destruct (K x Hx) as (kid & _ & Ik & Wk). specialize (Hk _ Ik). split_and.
    eapply all_of_spec in H2; [apply mem_spec; exact H2|]. apply know_holds; auto.
  - intros S x x' Hx Hx' A. rewrite S in Hs. cbn -[inside] in Hs.
    assert (Eq : at_ x q = at_ x' q) by (apply A; eapply inside_spec; [exact Hs | apply on_point; auto]).
    destruct (K x Hx) as (kid & Ea & Ik & Wk).
    assert (Wk' : words kid x') by (eapply answer_spec; eauto).
    specialize (Hk _ Ik). rewrite S in Hk. split_and. cbn in H1.
    apply (know_holds m kid v i Hi Hm); auto. eapply agree_inside; eauto.
Qed.

(** ** Whole proofs *)

Variable scan : row -> bool.
Hypothesis scan_checks : forall r, scan r = true -> check_row p r = true.

Lemma rows_checked allow : forall l m k m', check_lines p T scan allow m l k = inl m' ->
  forall h i u s q r, In (LRow h i u s q r) l -> check_row p (Row h i u s q (runs_of T r)) = true.
Proof.
  induction l as [|a l IH]; cbn; intros m k m' H h i u s q r I; [tauto|].
  destruct (allow m a); [|discriminate]. destruct (check_line p T scan m a) as [m1|] eqn:C; [|discriminate].
  destruct I as [->|I]; [|eapply IH; eauto]. cbn in C. destruct (scan _) eqn:S; [auto | discriminate].
Qed.

Lemma rows_hold_of : (forall h i u s q r, In (LRow h i u s q r) ls -> check_row p (Row h i u s q (runs_of T r)) = true) ->
  forall k, row_holds (row_of T k).
Proof.
  intros H k. assert (E : row_of T k = nth (N.to_nat k) (rows_of (runs_of T) ls) no_row).
  { unfold row_of, T, tables_of. cbn [t_rows]. apply get_table. }
  rewrite E. destruct (nth_in_or_default (N.to_nat k) (rows_of (runs_of T) ls) no_row) as [I| ->].
  - unfold rows_of in I at 2. apply in_flat_map in I as (a & Ia & I). destruct a; try destruct I as [I|[]]; try destruct I.
    apply check_row_holds. apply (H _ _ _ _ _ _ Ia).
  - intros h X. change (nth_error (vars p) 0 = Some (HeadVar h)) in X. rewrite (token_first p wf) in X. discriminate.
Qed.

Lemma check_lines_sound allow : (forall k, row_holds (row_of T k)) -> forall l m k m', sound m ->
  check_lines p T scan allow m l k = inl m' -> sound m'.
Proof.
  intros R. induction l as [|a l IH]; cbn; intros m k m' Hm H; [injection H as <-; auto|].
  destruct (allow m a); [|discriminate]. destruct (check_line p T scan m a) as [m1|] eqn:C; [|discriminate].
  apply (IH m1 _ _) in H; auto. clear H IH. destruct a; cbn in C; try (injection C as <-; auto; fail).
  - destruct (scan _); [injection C as <-; auto | discriminate].
  - destruct (nth_error (vars p) v) as [[| |d args f|h]|] eqn:E; try discriminate.
    destruct (position p i && _) eqn:P; [|discriminate]. injection C as <-. split_and. apply position_spec in H.
    apply settle_sound; auto. eapply map_holds; eauto.
  - destruct (nth_error (vars p) h) as [[| |d args f|hd]|] eqn:E; try discriminate.
    destruct (position p i && _) eqn:P; [|discriminate]. injection C as <-. split_and. apply position_spec in H.
    apply settle_sound; auto. eapply head_holds; eauto.
  - destruct (position p i && _) eqn:P; [|discriminate]. injection C as <-. split_and. apply position_spec in H.
    apply settle_sound; auto. eapply case_holds; eauto.
Qed.

Lemma no_facts_sound : sound no_facts.
Proof. intros c v i f _ H. unfold find_fact, no_facts, part in H. rewrite !PositiveMap.gempty in H. discriminate. Qed.

Theorem lines_sound allow m : check_lines p T scan allow no_facts ls 0 = inl m -> sound m.
Proof.
  intros H. eapply check_lines_sound; [apply rows_hold_of; eapply rows_checked; eauto | apply no_facts_sound | eauto].
Qed.
End Program.
