(** The checker as an OCaml program, with big integers from Zarith.  The axioms of the theorems are printed. *)
From Coq Require Import ZArith List FMapPositive Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZBigInt.
From R Require Import Semantics Operations Claims Kernel Defined Fast Main.

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

Extraction "checker.ml" verify forcing_number check_source combinations program_of tables_of know keys_at end_visible first_visible domain marker.
