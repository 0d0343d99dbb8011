(* The verdict on the contents of two files, and its exit code (docs/kernel-format.md).  It is `verify`'s, extracted from
   Main.v; the line of success is made here and nowhere else. *)
open Checker
module Z = Big_int_Z

type answer = Success of string | Failure of int * string

(* Steps: values of scores and maps, weighted by the length of their code. *)
exception Limit
let charge left price = if Z.lt_big_int left.contents price then raise Limit else left := Z.sub_big_int left.contents price

let size_of = function Upto d -> d | Vals l -> Z.big_int_of_int (List.length l)
let weights s =
  let weight ops = Z.big_int_of_int (1 + (List.length ops / 4)) in
  Array.of_list (Z.unit_big_int :: Z.unit_big_int :: List.map (function
    | RMap (_, _, ops) -> weight ops | RHead (_, _, _, _, _, _, _, ops) -> weight ops) s.s_rules)

let allow s lines left =
  let p = program_of s and weights = weights s and tables = tables_of lines s.s_length in
  let vars = Array.of_list p.vars in
  let row r = match PositiveMap.find (Z.succ_big_int r) tables.t_rows with Some r -> r | None -> raise Limit in
  let seen h i = Z.max_big_int Z.zero_big_int (Z.sub_big_int (end_visible p h.h_mask i) (first_visible h.h_mask i)) in
  let keys h = match h.h_key with Some k when k > 1 -> domain p k | Some 0 -> domain p 0 | _ -> Z.unit_big_int in
  let price facts line = match line with
    | LRow (v, i, _, _, _, _) ->
      (match vars.(v) with
       | HeadVar h -> Z.mult_big_int (seen h i) (Z.mult_big_int (keys h) weights.(v)) | _ -> Z.unit_big_int)
    | LMap (c, v, i, _, _) ->
      (match vars.(v) with
       | MapVar (_, args, _) ->
         List.fold_left (fun t a -> Z.mult_big_int t (size_of (fst (know p tables facts c a i)))) weights.(v) args
       | _ -> Z.unit_big_int)
    | LHead (_, v, i, _, _, es) ->
      (match vars.(v) with
       | HeadVar h ->
         let listed e = List.fold_left (fun t (a, b) -> Z.add_big_int t (Z.sub_big_int b a)) Z.unit_big_int (row e.e_row).r_listed in
         let each = Z.mult_big_int (keys h) (Z.add_big_int weights.(v) Z.unit_big_int) in
         List.fold_left (fun t e -> Z.add_big_int t (Z.mult_big_int each (Z.min_big_int (listed e) (Z.succ_big_int (seen h i))))) Z.unit_big_int es
       | _ -> Z.unit_big_int)
    | LCase (_, _, _, _, _, _, kids) -> Z.big_int_of_int (List.length kids)
    | _ -> Z.unit_big_int in
  fun facts line -> charge left (price facts line); true

let at_most_2_24 = Z.big_int_of_int (1 lsl 24)

(* What the reader or the account of work refuses. *)
exception Refuse of answer
let refuse code text = raise (Refuse (Failure (code, text)))

let program_of_file path text left =
  let s = try Reader.read_program text with Reader.Malformed (k, why) -> refuse 4 (Printf.sprintf "%s: line %d: %s" path k why) in
  if Printer.program s <> text then refuse 4 (path ^ ": not written as it should be (blanks, zeros, signs)");
  List.iter (fun r -> let k = combinations s r in
    if Z.gt_big_int k at_most_2_24 then refuse 5 (path ^ ": a map has more than 2^24 combinations to try"); charge left k) s.s_rules;
  if not (check_source s) then refuse 4 (path ^ ": not defined at this length");
  s

let proof_of_file path text s digest =
  let stated, lines, conclusion =
    try Reader.read_proof s text with Reader.Malformed (k, why) -> refuse 4 (Printf.sprintf "%s: line %d: %s" path k why) in
  if stated <> digest then refuse 4 (path ^ ": line 1: the digest is that of another program");
  if Printer.proof digest lines conclusion <> text then refuse 4 (path ^ ": not written as it should be (blanks, zeros, signs)");
  lines, conclusion

(* Names and contents of the two files, and the most steps. *)
let on (program_path, program_text) (proof_path, proof_text) limit =
  try
    let left = ref limit in
    let s = program_of_file program_path program_text left in
    let digest = Sha256.hex program_text in
    let lines, conclusion = proof_of_file proof_path proof_text s digest in
    match verify s (allow s lines left) lines conclusion with
    | Verified -> Success (Printer.success s lines conclusion digest)
    | Refused k -> refuse 3 (Printf.sprintf "%s: line %s: not established" proof_path (Z.string_of_big_int (Z.add_int_big_int 2 k)))
    | NotEstablished -> refuse 3 (proof_path ^ ": the conclusion does not follow")
  with
  | Refuse answer -> answer
  | Limit -> Failure (5, "more steps than the limit allows")
  | Stack_overflow | Out_of_memory -> Failure (5, "out of memory or stack")
