(** Machine words: integers modulo 2^64.  Extraction puts OCaml's `int64` in their place, and its operations in place of
    those that come first (Extract.v has the table).  What is proved: they compute with integers as long as
    these fit. *)
From Coq Require Import ZArith List Bool Lia.
From R Require Import Semantics Operations Kernel Loops Defined.
Import ListNotations.
Open Scope Z_scope.

Definition modulus := 18446744073709551616.             (* 2^64 *)
Definition middle := 9223372036854775808.               (* 2^63 *)

Record word := Word { unsigned : Z }.                   (* 0 <= unsigned < 2^64 *)
Definition word_of (z : Z) : word := Word (z mod modulus).
Definition signed (a : word) : Z := if unsigned a <? middle then unsigned a else unsigned a - modulus.

Definition add (a b : word) : word := word_of (unsigned a + unsigned b).
Definition sub (a b : word) : word := word_of (unsigned a - unsigned b).
Definition mul (a b : word) : word := word_of (unsigned a * unsigned b).
Definition quot (a b : word) : word := word_of (Z.quot (signed a) (signed b)).
Definition xor (a b : word) : word := word_of (Z.lxor (unsigned a) (unsigned b)).
Definition upper_half (a : word) : word := word_of (Z.shiftr (unsigned a) 32).
Definition half_unsigned (a : word) : word := word_of (Z.shiftr (unsigned a) 1).
Definition half_signed (a : word) : word := word_of (Z.shiftr (signed a) 1).
Definition less (a b : word) : bool := signed a <? signed b.
Definition equals (a b : word) : bool := unsigned a =? unsigned b.
Definition word_of_nat (k : nat) : word := word_of (Z.of_nat k).

(** A tensor as an array of words; 0 outside. *)
Record vector := Vector { items : list word }.
Definition zero := word_of 0.
Definition lookup (v : vector) (a : word) : word := nth (Z.to_nat (unsigned a)) (items v) zero.

(** ** The operations of a program file, on words *)

Definition unit_ := word_of 1.
Definition minus_one := word_of (-1).
Definition factor := word_of multiplier.

Definition truth (b : bool) : word := if b then unit_ else zero.
Definition div_word (a b : word) : word :=
  if less a zero then sub minus_one (quot (sub minus_one a) b) else quot a b.
Definition mod_word (a b : word) : word := sub a (mul b (div_word a b)).
Definition smaller (a b : word) : word := if less a b then a else b.
Definition larger (a b : word) : word := if less a b then b else a.
Definition mix_word (a b : word) : word := let m := mul (xor a b) factor in xor m (upper_half m).
Definition choose (c a b : word) : word := if equals c zero then b else a.

(** ** Proofs *)

(** The word of an integer of any size. *)
Definition means (a : word) (z : Z) : Prop := unsigned a = z mod modulus.
Definition fits_signed (r : interval) : bool := (- middle <=? fst r) && (snd r <? middle).
Definition fits_unsigned (r : interval) : bool := (0 <=? fst r) && (snd r <? modulus).

Ltac words := unfold means, word_of, modulus, middle in *; cbn [unsigned].

Lemma means_of z : means (word_of z) z.
Proof. reflexivity. Qed.
Lemma means_signed_range a z : means a z -> - middle <= z < middle -> signed a = z.
Proof.
  unfold signed. words. intros M H. rewrite M. destruct (Z_le_gt_dec 0 z).
  - rewrite Z.mod_small by lia. destruct (Z.ltb_spec z 9223372036854775808); lia.
  - replace (z mod 18446744073709551616) with (z + 18446744073709551616).
    + destruct (Z.ltb_spec (z + 18446744073709551616) 9223372036854775808); lia.
    + apply Zmod_unique with (-1); lia.
Qed.
Lemma means_signed a z r : fits_signed r = true -> has r z -> means a z -> signed a = z.
Proof. unfold fits_signed, has. intros F H M. split_and. zb. apply means_signed_range; auto. lia. Qed.
Lemma means_unsigned_range a z : means a z -> 0 <= z < modulus -> unsigned a = z.
Proof. words. intros M H. rewrite M. apply Z.mod_small. lia. Qed.
Lemma means_unsigned a z r : fits_unsigned r = true -> has r z -> means a z -> unsigned a = z.
Proof. unfold fits_unsigned, has. intros F H M. split_and. zb. apply means_unsigned_range; auto. lia. Qed.

Lemma means_add a b x y : means a x -> means b y -> means (add a b) (x + y).
Proof. unfold add. words. intros -> ->. rewrite Zplus_mod_idemp_l, Zplus_mod_idemp_r. auto. Qed.
Lemma means_sub a b x y : means a x -> means b y -> means (sub a b) (x - y).
Proof. unfold sub. words. intros -> ->. rewrite Zminus_mod_idemp_l, Zminus_mod_idemp_r. auto. Qed.
Lemma means_mul a b x y : means a x -> means b y -> means (mul a b) (x * y).
Proof. unfold mul. words. intros -> ->. rewrite Zmult_mod_idemp_l, Zmult_mod_idemp_r. auto. Qed.

Lemma means_div a b x y : - middle <= x < middle -> 1 <= y < middle -> means a x -> means b y -> means (div_word a b) (x / y).
Proof.
  intros X Y A B. assert (SB : signed b = y) by (apply means_signed_range; auto; unfold middle in *; lia).
  unfold div_word, less. rewrite (means_signed_range a x A X). replace (signed zero) with 0 by reflexivity.
  destruct (Z.ltb_spec x 0).
  - replace (x / y) with (-1 - (-1 - x) / y).
    + apply means_sub; [reflexivity|]. unfold quot. rewrite SB.
      rewrite (means_signed_range _ (-1 - x)) by (try (apply means_sub; [reflexivity | auto]); unfold middle in *; lia).
      rewrite Z.quot_div_nonneg by lia. apply means_of.
    + pose proof (Z.div_mod (-1 - x) y ltac:(lia)). pose proof (Z.mod_pos_bound (-1 - x) y ltac:(lia)).
      apply Z.div_unique with (y - 1 - (-1 - x) mod y); lia.
  - unfold quot. rewrite SB, (means_signed_range a x A X), Z.quot_div_nonneg by lia. apply means_of.
Qed.
Lemma means_mod a b x y : - middle <= x < middle -> 1 <= y < middle -> means a x -> means b y -> means (mod_word a b) (x mod y).
Proof.
  intros X Y A B. replace (x mod y) with (x - y * (x / y)) by (rewrite (Z.div_mod x y) at 1; lia).
  apply means_sub; auto. apply means_mul; auto. apply means_div; auto.
Qed.

Lemma low_bits z : Z.land z low64 = z mod modulus.
Proof. change low64 with (Z.ones 64). rewrite Z.land_ones by lia. auto. Qed.
Lemma xor_bits x y : Z.lxor x y mod modulus = Z.lxor (x mod modulus) (y mod modulus).
Proof.
  rewrite <- !low_bits. apply Z.bits_inj'. intros k K. rewrite !Z.land_spec, !Z.lxor_spec, !Z.land_spec.
  destruct (Z.testbit low64 k); rewrite ?andb_true_r, ?andb_false_r; auto.
Qed.
Lemma means_mix a b x y : means a x -> means b y -> means (mix_word a b) (mix x y).
Proof.
  intros A B. assert (M : unsigned (mul (xor a b) factor) = Z.land (Z.lxor x (Z.land y low64) * multiplier) low64).
  { unfold mul, xor, factor. words. rewrite A, B. rewrite !low_bits. rewrite <- xor_bits, Zmod_mod.
    rewrite <- (Zmult_mod (Z.lxor x y) multiplier), <- (Zmult_mod_idemp_l (Z.lxor x (y mod _))).
    change 18446744073709551616 with modulus. rewrite !xor_bits, Zmod_mod.
    rewrite <- xor_bits, Zmult_mod_idemp_l. auto. }
  unfold mix_word. cbv zeta. unfold xor at 1, upper_half. words. rewrite M. change 18446744073709551616 with modulus.
  change 32 with half64. unfold mix. cbv zeta. set (m := Z.land (_ * multiplier) low64).
  rewrite xor_bits, Zmod_mod, <- xor_bits. auto.
Qed.

