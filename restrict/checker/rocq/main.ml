(* restrict-verified PROGRAM PROOF [--limit STEPS]: the files, the limit of work, the exit codes of docs/kernel-format.md.
   The verdict is `verify`'s, extracted from Main.v. *)
open Checker
module Z = Big_int_Z

let usage = "usage: restrict-verified PROGRAM PROOF [--limit STEPS]"
let megabytes = 64

let fail code text =
  prerr_endline ("restrict-verified: " ^ String.map (fun c -> if c < ' ' || c > '~' then '?' else c) text);
  exit code

let read path =
  try
    let channel = open_in_bin path in
    let buffer = Buffer.create 65536 and chunk = Bytes.create 65536 in
    let rec go () =
      let k = input channel chunk 0 65536 in
      if k > 0 then begin
        Buffer.add_subbytes buffer chunk 0 k;
        if Buffer.length buffer > megabytes * 1024 * 1024 then fail 4 (path ^ ": larger than 64 MiB");
        go ()
      end in
    go (); close_in channel; Buffer.contents buffer
  with Sys_error text -> fail 2 text

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

let run program_path proof_path limit =
  let program_text = read program_path and proof_text = read proof_path in
  let s = try Reader.read_program program_text with Reader.Malformed (k, text) -> fail 4 (Printf.sprintf "%s: line %d: %s" program_path k text) in
  if Printer.program s <> program_text then fail 4 (program_path ^ ": not written as it should be (blanks, zeros, signs)");
  let digest = Sha256.hex program_text in
  let left = ref limit in
  List.iter (fun r -> let k = combinations s r in
    if Z.gt_big_int k at_most_2_24 then fail 5 (program_path ^ ": a map has more than 2^24 combinations to try"); charge left k) s.s_rules;
  if not (check_source s) then fail 4 (program_path ^ ": not defined at this length");
  let stated, lines, conclusion =
    try Reader.read_proof s proof_text with Reader.Malformed (k, text) -> fail 4 (Printf.sprintf "%s: line %d: %s" proof_path k text) in
  if stated <> digest then fail 4 (proof_path ^ ": line 1: the digest is that of another program");
  if Printer.proof digest lines conclusion <> proof_text then fail 4 (proof_path ^ ": not written as it should be (blanks, zeros, signs)");
  match verify s (allow s lines left) lines conclusion with
  | Verified -> print_string (Printer.success s lines conclusion digest); flush stdout
  | Refused k -> fail 3 (Printf.sprintf "%s: line %s: not established" proof_path (Z.string_of_big_int (Z.add_int_big_int 2 k)))
  | NotEstablished -> fail 3 (proof_path ^ ": the conclusion does not follow")

let () =
  Sys.catch_break true;
  let steps w = if String.length w >= 1 && String.length w <= 18 && String.for_all (fun c -> c >= '0' && c <= '9') w
    then Z.big_int_of_string w else fail 2 usage in
  try match List.tl (Array.to_list Sys.argv) with
    | [ program; proof ] -> run program proof (Z.big_int_of_string "10000000000")
    | [ program; proof; "--limit"; w ] | [ "--limit"; w; program; proof ] -> run program proof (steps w)
    | _ -> fail 2 usage
  with
  | Limit -> fail 5 "more steps than the limit allows"
  | Stack_overflow | Out_of_memory -> fail 5 "out of memory or stack"
  | Sys.Break -> fail 130 "interrupted"
  | Sys_error text -> fail 2 text
  | e -> fail 1 ("a bug, please report it: " ^ Printexc.to_string e)
