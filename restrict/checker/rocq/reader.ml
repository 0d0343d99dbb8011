(* Not trusted: the two files as data.  Spelling is left to the printer, which must give the same bytes; what is read
   here is the form of docs/kernel-format.md. *)
open Checker
module B = Z (* extracted *)
module Z = Big_int_Z

exception Malformed of int * string (* the line, from 1; what is wrong *)

let line_number = ref 0
let bad what = raise (Malformed (!line_number, what))
let check what b = if not b then bad what

let digits w = String.length w - if w <> "" && w.[0] = '-' then 1 else 0
let big w =
  check "expected an integer of at most 20 digits" (digits w >= 1 && digits w <= 20);
  try Z.big_int_of_string w with Failure _ | Invalid_argument _ -> bad "expected an integer of at most 20 digits"
let int w =
  check "expected a number" (digits w >= 1 && digits w <= 12);
  match int_of_string_opt w with Some k -> k | None -> bad "expected a number"
let between lo hi w =
  let k = int w in
  check (Printf.sprintf "expected a number in %d .. %d, found %d" lo (hi - 1) k) (lo <= k && k < hi);
  k
let id count w = between 0 count w
let number_of_id count w = Z.big_int_of_int (id count w)
let none_or read w = if w = "-1" then None else Some (read w)
let least lo w =
  let k = big w in
  check "a number is too small" (Z.le_big_int (Z.big_int_of_int lo) k);
  k
let nonempty l = check "something is missing" (l <> [])
let rec increasing = function
  | a :: (b :: _ as l) -> check "expected increasing numbers" (Z.lt_big_int a b); increasing l
  | _ -> ()

let lines_of text =
  check "expected a line feed at the end" (text <> "" && text.[String.length text - 1] = '\n');
  String.split_on_char '\n' (String.sub text 0 (String.length text - 1))
let words_of line = String.split_on_char ' ' line

(* Each line in turn, with its number. *)
let each f lines = List.iteri (fun k l -> line_number := k + 2; f (words_of l)) lines

let rec take k l = if k = 0 then ([], l) else match l with
    | x :: l -> let a, b = take (k - 1) l in (x :: a, b)
    | [] -> bad "something is missing"

(* Growing lists of numbered things. *)
type 'a things = { mutable all : 'a array; mutable count : int }
let things () = { all = [||]; count = 0 }
let add t x =
  if t.count = Array.length t.all then t.all <- Array.append t.all (Array.make (max 16 t.count) x);
  t.all.(t.count) <- x;
  t.count <- t.count + 1
let listed t = Array.to_list (Array.sub t.all 0 t.count)

(* Programs *)

let read_code tensors registers words =
  let rec go m ops = function
    | [] -> List.rev ops
    | o :: rest ->
      let reg w = m - 1 - id m w in
      let next op rest = go (m + 1) (op :: ops) rest in
      let binary f = match rest with a :: b :: l -> next (Binary (f, reg a, reg b)) l | _ -> bad "an operand is missing" in
      (match o, rest with
       | "c", v :: l -> next (Const (big v)) l
       | "r", a :: l -> next (Unary (Root, reg a)) l
       | "h", a :: l -> next (Unary (Half, reg a)) l
       | "?", c :: a :: b :: l -> next (If (reg c, reg a, reg b)) l
       | "t", t :: a :: l -> let t = id tensors t in next (Table (t, reg a)) l
       | "+", _ -> binary Add | "-", _ -> binary Sub | "*", _ -> binary Mul | "/", _ -> binary Div
       | "%", _ -> binary Mod | "<", _ -> binary Less | "=", _ -> binary Equal
       | "&", _ -> binary Min | "|", _ -> binary Max | "m", _ -> binary Mix
       | _ -> bad "expected an operation") in
  go registers [] words

let masks = [| Everything; Past; StrictPast; Future; StrictFuture |]
let largest = Z.big_int_of_string "9223372036854775807"
let domain w = let d = least 1 w in check "the domain is too large" (Z.le_big_int d largest); d

let read_program text =
  line_number := 1;
  let lines = lines_of text in
  let n, symbols, start, finish, output = match words_of (List.hd lines) with
    | [ "restrict-program/1"; n; s; st; en; out ] ->
      (between 1 100_000_001 n, between 1 65_537 s, between 0 2 st, between 0 2 en, int out)
    | _ -> bad "expected restrict-program/1 N SYMBOLS START END OUTPUT" in
  check "no room for the markers" (start + finish <= n);
  let tensors = things () and rules = things () and domains = things () in
  add domains (Z.big_int_of_int (symbols + start + finish));
  add domains (Z.big_int_of_int n);
  let variable w = id domains.count w in
  each (function
    | "tensor" :: l ->
      check "tensors come first" (rules.count = 0); nonempty l; add tensors (Printer.map big l)
    | "map" :: d :: k :: l ->
      let k = id (List.length l + 1) k in
      let args, code = take k l in
      let rule = RMap (domain d, Printer.map variable args, read_code tensors.count (k + 1) code) in
      add rules rule; add domains (domain d)
    | "head" :: d :: q :: k :: v :: m :: left :: default :: code ->
      let rule = RHead (domain d, none_or variable q, none_or variable k, variable v, masks.(id 5 m), id 2 left = 1,
                        least 0 default, read_code tensors.count 4 code) in
      add rules rule; add domains (domain d)
    | _ -> bad "expected tensor, map or head") (List.tl lines);
  (match if rules.count = 0 then None else Some rules.all.(rules.count - 1) with
   | Some (RMap (_, [ a ], _)) -> check "the label map reads the output" (a = output)
   | _ -> bad "the last line is the label map");
  { s_length = Z.big_int_of_int n; s_symbols = Z.big_int_of_int symbols; s_start = start = 1; s_end = finish = 1;
    s_output = output; s_tensors = listed tensors; s_rules = listed rules }

(* Proofs *)

let pairs l =
  let rec go done_ = function a :: b :: l -> go ((a, b) :: done_) l | [] -> List.rev done_ | _ -> bad "a number is missing" in
  go [] l
let triples l =
  let rec go done_ = function
    | a :: b :: c :: l -> go ((a, b, c) :: done_) l | [] -> List.rev done_ | _ -> bad "a number is missing" in
  go [] l

let read_tree boxes words =
  let rec one = function
    | [] -> bad "the tree is not complete"
    | w :: l ->
      let m = int w in
      if m = 0 then begin match l with
        | b :: j :: l ->
          let b = id boxes b and j = id 100_000_001 j in
          let t, l = one l in let t', l = one l in (Case (b, j, t, t'), l)
        | _ -> bad "the tree is not complete"
      end else if m > 0 then begin
        check "the tree is not complete" (List.compare_length_with l m >= 0);
        let bs, l = take m l in
        (End (Printer.map (id boxes) bs), l)
      end else match l with
        | b :: l -> let b = id boxes b in let ts, l = several (-m) l in (Branch (b, ts), l)
        | [] -> bad "the tree is not complete"
  and several m l = if m = 0 then (Nil, l) else
      let t, l = one l in let ts, l = several (m - 1) l in (Cons (t, ts), l) in
  match one words with t, [] -> t | _ -> bad "something is left over"

let hex_digest w = String.length w = 64 && String.for_all (fun c -> (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')) w

let read_proof s text =
  line_number := 1;
  let lines = lines_of text in
  let digest = match words_of (List.hd lines) with
    | [ "restrict-kernel/1"; d ] when hex_digest d -> d
    | _ -> bad "expected restrict-kernel/1 DIGEST" in
  let n = Z.int_of_big_int s.s_length and symbols = Z.int_of_big_int s.s_symbols in
  let p = program_of s in
  let vars = Array.of_list p.vars in
  let sets = things () and runs = things () and rows = things () and boxes = things () in
  let dfas = things () and texts = things () and body = things () in
  let ends = ref [] in
  add runs ();
  let position w = Z.big_int_of_int (between 0 n w) in
  let count w = Z.big_int_of_int (between 0 (n + 1) w) in
  let set w = number_of_id sets.count w and run w = number_of_id runs.count w in
  let context w = number_of_id boxes.count w in
  let unmarked a b = a >= (if s.s_start then 1 else 0) && b <= n - (if s.s_end then 1 else 0) in
  let below limit k = List.for_all (fun v -> Z.lt_big_int v limit) sets.all.(Z.int_of_big_int k) in
  let kind what test w = let v = id (Array.length vars) w in check what (test vars.(v)); v in
  let map = kind "expected a map" (function MapVar _ -> true | _ -> false) in
  let head = kind "expected a head" (function HeadVar _ -> true | _ -> false) in
  let either = kind "expected a map or a head" (function MapVar _ | HeadVar _ -> true | _ -> false) in
  let interval a b =
    let a = between 0 n a in
    let b = between 0 (n + 1) b in
    check "an empty run" (a < b); (a, b) in
  let inside v k = check "a value is outside the domain" (below (Checker.domain p v) k); k in
  let queries h = match vars.(h) with HeadVar { h_query = Some q; _ } -> Checker.domain p q | _ -> Z.unit_big_int in
  let read_runs l =
    let l = Printer.map (fun (a, b) -> interval a b) (pairs l) in
    ignore (List.fold_left (fun last (a, b) -> check "runs increase and do not touch" (a > last); b) (-1) l);
    Printer.map (fun (a, b) -> (Z.big_int_of_int a, Z.big_int_of_int b)) l in
  let read_box l =
    let last = ref 0 in
    Printer.map (fun (a, b, k) ->
      let a, b = interval a b in
      let k = set k in
      check "the runs of a box increase" (a >= !last);
      check "a marker is in a box" (unmarked a b);
      check "a set of a box has something that is no symbol" (below s.s_symbols k);
      last := b;
      ((Z.big_int_of_int a, Z.big_int_of_int b), k)) (triples l) in
  let rec entries done_ = function
    | u :: r :: f :: l :: o :: rest ->
      let e = { e_query = least 0 u; e_row = number_of_id rows.count r; e_witness = position f; e_least = big l;
                e_only = none_or (least 0) o } in
      entries (e :: done_) rest
    | [] -> List.rev done_
    | _ -> bad "a number is missing" in
  let read_word l =
    let l = Printer.map (fun (c, a) -> (between 1 (n + 1) c, between 0 symbols a)) (pairs l) in
    let rec apart = function (_, a) :: ((_, b) :: _ as l) -> check "equal symbols are counted together" (a <> b); apart l | _ -> () in
    apart l;
    check "a word has a symbol for each position without marker"
      (List.fold_left (fun t (c, _) -> t + c) 0 l = n - Bool.to_int s.s_start - Bool.to_int s.s_end);
    Printer.map (fun (c, a) -> (Z.big_int_of_int c, Z.big_int_of_int a)) l in
  let conclude c = check "a conclusion stands last" (match !ends, c with
    | [], `Refutes _ -> false | [], _ -> true
    | [ `Claim _ ], `Refutes _ -> true
    | `Bound (Unforced (_, _, i, _, _)) :: _, `Bound (Unforced (_, _, j, _, _)) -> Z.eq_big_int i j
    | _ -> false);
    ends := c :: !ends in
  let step l = check "a conclusion stands last" (!ends = []); add body l in
  let step_with t x l = add t x; step l in
  each (function
    | "set" :: l ->
      nonempty l; let l = Printer.map (least 0) l in increasing l; step_with sets l (LSet l)
    | "runs" :: l -> step_with runs () (LRuns (read_runs l))
    | [ "row"; h; i; u; sc; q; r ] ->
      let h = head h in
      let u = least 0 u in
      check "no value of the query" (Z.lt_big_int u (queries h));
      step_with rows () (LRow (h, position i, u, big sc, position q, run r))
    | "box" :: c :: l -> let c = none_or context c in step_with boxes c (LBox (c, read_box l))
    | [ "map"; c; v; i; k; r ] ->
      let v = map v in
      step (LMap (context c, v, position i, inside v (set k), run r))
    | "head" :: c :: h :: i :: k :: r :: l ->
      let es = entries [] l in
      increasing (Printer.map (fun e -> e.e_query) es);
      let h = head h in
      step (LHead (context c, h, position i, inside h (set k), run r, es))
    | "case" :: c :: v :: i :: q :: k :: r :: kids ->
      nonempty kids;
      let kids = Printer.map context kids in
      increasing kids;
      let at = between 0 n q in
      check "a marker is asked" (unmarked at (at + 1));
      let v = either v in
      step (LCase (context c, v, position i, position q, inside v (set k), run r, kids))
    | "dfa" :: q :: st :: a :: l ->
      let states = Z.int_of_big_int (least 1 (string_of_int (int q))) in
      check "expected a state for each state and symbol"
        (states <= List.length l && List.length l = states * symbols);
      let k = set a in
      check "no state" (below (Z.big_int_of_int states) k);
      step_with dfas () (LDfa (Z.big_int_of_int states, number_of_id states st, k, Printer.map (number_of_id states) l))
    | "word" :: l -> step_with texts () (LWord (read_word l))
    | [ "claim"; c; i; f; k; v; r ] -> conclude (`Claim (context c, position i, count f, count k, set v, run r))
    | [ "refutes"; m; w; d ] ->
      conclude (`Refutes (number_of_id texts.count m, number_of_id texts.count w, number_of_id dfas.count d))
    | [ "all"; c; f; k ] -> conclude (`All (context c, count f, count k))
    | "unforced" :: y :: k :: i :: b :: l ->
      let y = set y and b = set b in
      check "no label" (below (Checker.domain p (Array.length vars - 1)) y);
      check "no context" (below (Z.big_int_of_int boxes.count) b);
      let tree = read_tree (List.length sets.all.(Z.int_of_big_int b)) l in
      conclude (`Bound (Unforced (y, count k, position i, b, tree)))
    | _ -> bad "expected a statement with its numbers") (List.tl lines);
  let conclusion = match List.rev !ends with
    | [ `Claim (c, i, f, k, v, r) ] -> Claim (c, i, f, k, v, r)
    | [ `Claim (c, i, f, k, v, r); `Refutes (m, w, d) ] -> Refutes (c, i, f, k, v, r, m, w, d)
    | [ `All (c, f, k) ] -> AtEvery (c, f, k)
    | `Bound _ :: _ as l -> LowerBound (Printer.map (function `Bound u -> u | _ -> bad "a conclusion stands last") l)
    | _ -> bad "a conclusion is missing" in
  (digest, listed body, conclusion)
