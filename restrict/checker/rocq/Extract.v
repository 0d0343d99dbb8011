(** The checker as an OCaml program, with big integers from Zarith.  The axioms of the theorems are printed. *)
From Coq Require Import ZArith List FMapPositive Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZBigInt.
From R Require Import Semantics Operations Claims Kernel Defined Fast Words Compile Scan Main.

(* On the numbers that occur these are the same functions, faster. *)
Extract Constant length => "List.length".
Extract Constant Z.land => "Z.logand".
Extract Constant Z.lxor => "Z.logxor".
Extract Constant Z.sqrt => "(fun z -> if Z.sign z < 0 then Z.zero else Z.sqrt z)".
Extract Constant Z.leb => "Z.leq".
Extract Constant Z.ltb => "Z.lt".
Extract Constant Z.to_nat => "(fun z -> if Z.sign z < 0 then 0 else Z.to_int z)".
Extract Constant Z.of_nat => "Z.of_int".
Extract Constant N.of_nat => "Z.of_int".
Extract Constant N.to_nat => "Z.to_int".
Extract Constant Pos.of_succ_nat => "(fun n -> Z.of_int (n + 1))".
Extract Constant Z.shiftr => "(fun z k -> Z.shift_right z (Z.to_int k))".

(* Words are OCaml's 64-bit integers; no constructor or field of theirs is left in the code. *)
Extract Inductive word => "int64" [ "(fun _ -> assert false)" ] "(fun _ _ -> assert false)".
Extract Constant word_of => "(fun z ->
  let bits from = Big_int_Z.int64_of_big_int (Big_int_Z.extract_big_int z from 32) in
  Int64.logor (Int64.shift_left (bits 32) 32) (bits 0))".
Extract Inlined Constant add => "Int64.add".
Extract Inlined Constant sub => "Int64.sub".
Extract Inlined Constant mul => "Int64.mul".
Extract Constant quot => "(fun a b -> if b = 0L then 0L else Int64.div a b)".
Extract Inlined Constant xor => "Int64.logxor".
Extract Inlined Constant upper_half => "(fun a -> Int64.shift_right_logical a 32)".
Extract Inlined Constant half_unsigned => "(fun a -> Int64.shift_right_logical a 1)".
Extract Inlined Constant half_signed => "(fun a -> Int64.shift_right a 1)".
Extract Inlined Constant less => "(fun (a : int64) b -> a < b)".
Extract Inlined Constant equals => "(fun (a : int64) b -> a = b)".
Extract Inlined Constant word_of_nat => "Int64.of_int".
Extract Inductive vector => "int64 array" [ "Array.of_list" ] "(fun _ _ -> assert false)".
Extract Constant lookup => "(fun v a -> if 0L <= a && a < Int64.of_int (Array.length v) then v.(Int64.to_int a) else 0L)".
Extraction Inline mix_word hash truth smaller larger choose lift1 lift2 lift3.

Extraction "checker.ml" verify forcing_number check_source combinations program_of tables_of know keys_at end_visible first_visible domain marker.
