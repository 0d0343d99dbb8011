(** To be read: the checker as a whole, and its theorem. *)
From Coq Require Import ZArith NArith List Bool.
From R Require Import Semantics Operations Claims Kernel Loops Sound Conclusions Forcing Defined Fast Scan.
Import ListNotations.
Open Scope Z_scope.

Definition verify (s : source) (allow : facts -> line -> bool) (ls : list line) (c : conclusion) : outcome :=
  if check_source s then check (fast_program s) (scan s) (s_output s) (label_of s) allow ls c else NotEstablished.

Definition forcing_number (s : source) (ls : list line) (i : Z) (us : list unforced) : Z :=
  at_least (fast_program s) (tables_of ls (s_length s)) (label_of s) i us.

Lemma verify_facts s allow ls c : verify s allow ls c = Verified -> well_defined s /\
  exists m, sound (fast_program s) ls m /\
    check_conclusion (fast_program s) (tables_of ls (s_length s)) m ls (s_output s) (label_of s) c = true.
Proof.
  unfold verify. destruct (check_source s) eqn:S; [|discriminate]. apply check_source_sound in S. intros H. split; [auto|].
  unfold check in H. destruct (check_lines _ _ _ allow no_facts ls 0) as [m|k] eqn:L; [|discriminate].
  exists m. split.
  - eapply lines_sound; [apply defined_same; apply S | apply scan_sound | exact L].
  - destruct (check_conclusion _ _ _ _ _ _ _); [auto | discriminate].
Qed.

(** If the checker says Verified, the program is well defined and its conclusion is true of it. *)
Theorem verified_is_true s allow ls c : verify s allow ls c = Verified ->
  well_defined s /\ true_of ls (s_length s) (program_of s) (s_output s) (label_of s) c.
Proof.
  intros H. destruct (verify_facts _ _ _ _ H) as (W & m & Hm & C). split; [auto|]. apply true_same.
  assert (D := defined_same s (proj1 W)). destruct c as [c i free k r d|c i free k r d a b q|c free k|us]; cbn in C.
  - eapply (claim_sound _ D ls m); eauto.
  - apply andb_prop in C as [C R]. split; [eapply (claim_sound _ D ls m); eauto | eapply (refutes_sound _ D ls m); eauto].
  - eapply (everywhere_sound _ D ls m); eauto.
  - apply Forall_forall. intros u I. rewrite forallb_forall in C. eapply (unforced_sound _ D ls m); eauto.
Qed.

(** A restriction that forces any label at i has at least the number of positions on the line of success. *)
Theorem forcing_number_is_true s allow ls i us : verify s allow ls (LowerBound us) = Verified ->
  forall y rho, proper_fixing (program_of s) rho -> forces (program_of s) (label_of s) rho i y ->
    forcing_number s ls i us <= Z.of_nat (length rho).
Proof.
  intros H y rho P F. destruct (verify_facts _ _ _ _ H) as (W & m & Hm & C).
  eapply (at_least_sound _ (defined_same s (proj1 W)) ls m); eauto.
  intros x Wx Ex. rewrite val_same. apply F; auto.
Qed.
