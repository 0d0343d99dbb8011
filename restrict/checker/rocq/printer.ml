(* Trusted: the text of the data that the checker checks.  It must be that of the files, byte for byte, so nothing that
   the reader does needs to be believed. *)
open Checker
module Z = Big_int_Z

(* Lists may be long: these do not need a deep stack. *)
let map f l = List.rev (List.rev_map f l)
let concat_map f l = List.rev (List.fold_left (fun done_ x -> List.rev_append (f x) done_) [] l)

let z = Z.string_of_big_int
let int = string_of_int
let words l = String.concat " " l ^ "\n"
let flag b = if b then "1" else "0"
let option print = function Some x -> print x | None -> "-1"

(* Operands count backwards from the newest of the registers. *)
let operation registers o =
  let r a = int (registers - 1 - a) in
  match o with
  | Const c -> [ "c"; z c ]
  | Unary (Root, a) -> [ "r"; r a ]
  | Unary (Half, a) -> [ "h"; r a ]
  | If (c, a, b) -> [ "?"; r c; r a; r b ]
  | Table (t, a) -> [ "t"; int t; r a ]
  | Binary (f, a, b) ->
    let name = match f with
      | Add -> "+" | Sub -> "-" | Mul -> "*" | Div -> "/" | Mod -> "%" | Less -> "<" | Equal -> "="
      | Min -> "&" | Max -> "|" | Mix -> "m" in
    [ name; r a; r b ]

let code registers ops = List.concat (List.mapi (fun k o -> operation (registers + k) o) ops)

let mask = function Everything -> "0" | Past -> "1" | StrictPast -> "2" | Future -> "3" | StrictFuture -> "4"

let rule = function
  | RMap (d, args, ops) ->
    let k = List.length args in
    words (("map" :: z d :: int k :: map int args) @ code (k + 1) ops)
  | RHead (d, q, k, v, m, left, default, ops) ->
    words ([ "head"; z d; option int q; option int k; int v; mask m; flag left; z default ] @ code 4 ops)

let program s =
  String.concat ""
    (words [ "restrict-program/1"; z s.s_length; z s.s_symbols; flag s.s_start; flag s.s_end; int s.s_output ]
     :: map (fun t -> words ("tensor" :: map z t)) s.s_tensors
     @ map rule s.s_rules)

let pairs l = concat_map (fun (a, b) -> [ z a; z b ]) l

let line = function
  | LSet l -> words ("set" :: map z l)
  | LRuns l -> words ("runs" :: pairs l)
  | LRow (h, i, u, s, p, r) -> words [ "row"; int h; z i; z u; z s; z p; z r ]
  | LBox (c, l) -> words ("box" :: option z c :: concat_map (fun ((a, b), s) -> [ z a; z b; z s ]) l)
  | LMap (c, v, i, s, r) -> words [ "map"; z c; int v; z i; z s; z r ]
  | LHead (c, h, i, s, r, es) ->
    let entry e = [ z e.e_query; z e.e_row; z e.e_witness; z e.e_least; option z e.e_only ] in
    words ([ "head"; z c; int h; z i; z s; z r ] @ concat_map entry es)
  | LCase (c, v, i, q, s, r, kids) -> words ([ "case"; z c; int v; z i; z q; z s; z r ] @ map z kids)
  | LDfa (q, s, a, next) -> words ([ "dfa"; z q; z s; z a ] @ map z next)
  | LWord l -> words ("word" :: pairs l)

let rec tree = function
  | End l -> int (List.length l) :: map int l
  | Branch (b, ts) -> let ts = trees ts in int (-List.length ts) :: int b :: List.concat ts
  | Case (b, j, t, t') -> "0" :: int b :: int j :: (tree t @ tree t')
and trees = function Nil -> [] | Cons (t, ts) -> tree t :: trees ts

let claim c i f k s r = words [ "claim"; z c; z i; z f; z k; z s; z r ]
let conclusion = function
  | Claim (c, i, f, k, s, r) -> claim c i f k s r
  | Refutes (c, i, f, k, s, r, m, w, d) -> claim c i f k s r ^ words [ "refutes"; z m; z w; z d ]
  | AtEvery (c, f, k) -> words [ "all"; z c; z f; z k ]
  | LowerBound us ->
    String.concat "" (map (fun (Unforced (s, k, i, b, t)) -> words ([ "unforced"; z s; z k; z i; z b ] @ tree t)) us)

let proof digest lines c = String.concat "" (words [ "restrict-kernel/1"; digest ] :: List.rev (conclusion c :: List.rev_map line lines))

(* The line that says what was verified. *)
let success s lines c digest =
  let set k = List.nth (sets lines) (Z.int_of_big_int k) in
  let values k = String.concat "," (map z (set k)) in
  let claim i f k v = [ "target=" ^ z i; "free=" ^ z f; "c=" ^ z k; "values=" ^ values v ] in
  let what = match c with
    | Claim (_, i, f, k, v, _) -> claim i f k v
    | Refutes (_, i, f, k, v, _, _, _, d) ->
      let dfa = List.nth (dfas lines) (Z.int_of_big_int d) in
      claim i f k v @ [ "refutes=dfa-of-" ^ z dfa.states ^ "-states" ]
    | AtEvery (_, f, k) -> [ "target=all"; "free=" ^ z f; "c=" ^ z k ]
    | LowerBound us ->
      let Unforced (_, _, i, _, _) = List.hd us in
      let labels (Unforced (y, k, _, _, _)) = map (fun y -> z y ^ ":" ^ z (Z.succ_big_int k)) (set y) in
      [ "target=" ^ z i; "at_least=" ^ z (forcing_number s lines i us);
        "labels=" ^ String.concat "," (concat_map labels us) ] in
  words ([ "s VERIFIED"; "n=" ^ z s.s_length ] @ what @ [ digest ])
