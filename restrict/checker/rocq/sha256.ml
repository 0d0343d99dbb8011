(* Trusted: SHA-256 of a text, FIPS 180-4, as 64 hex digits. *)

let low = 0xffffffff

(* The first 32 bits of the fractional parts of the cube roots (of the square roots) of the first primes. *)
let primes = List.filter (fun n -> n > 1 && List.for_all (fun d -> n mod d <> 0) (List.init (max 0 (n - 2)) (( + ) 2)))
    (List.init 312 Fun.id)
let fraction power prime = (* the largest r with r^power <= prime * 2^(32 power), without its integer part *)
  Z.to_int (Z.logand (Z.root (Z.shift_left (Z.of_int prime) (32 * power)) power) (Z.of_int low))
let constants = Array.of_list (List.map (fraction 3) primes)
let start = Array.init 8 (fun t -> fraction 2 (List.nth primes t))

let turn x k = ((x lsr k) lor (x lsl (32 - k))) land low

let padded text =
  let length = String.length text in
  let zeros = (119 - (length mod 64)) mod 64 in
  let bits = Bytes.create 8 in
  Bytes.set_int64_be bits 0 (Int64.of_int (8 * length));
  text ^ "\x80" ^ String.make zeros '\x00' ^ Bytes.to_string bits

let block state text from =
  let w = Array.make 64 0 in
  for t = 0 to 63 do
    w.(t) <-
      (if t < 16 then Int32.to_int (String.get_int32_be text (from + (4 * t))) land low
       else
         let a = w.(t - 15) and b = w.(t - 2) in
         let s0 = turn a 7 lxor turn a 18 lxor (a lsr 3) and s1 = turn b 17 lxor turn b 19 lxor (b lsr 10) in
         (w.(t - 16) + s0 + w.(t - 7) + s1) land low)
  done;
  let v = Array.copy state in
  for t = 0 to 63 do
    let a = v.(0) and e = v.(4) in
    let s1 = turn e 6 lxor turn e 11 lxor turn e 25 and choice = (e land v.(5)) lxor (lnot e land v.(6)) in
    let one = v.(7) + s1 + choice + constants.(t) + w.(t) in
    let s0 = turn a 2 lxor turn a 13 lxor turn a 22 in
    let most = (a land v.(1)) lxor (a land v.(2)) lxor (v.(1) land v.(2)) in
    Array.blit v 0 v 1 7;
    v.(4) <- (v.(4) + one) land low;
    v.(0) <- (one + s0 + most) land low
  done;
  Array.map2 (fun x y -> (x + y) land low) state v

let hex text =
  let text = padded text in
  let rec go state from = if from = String.length text then state else go (block state text from) (from + 64) in
  String.concat "" (Array.to_list (Array.map (Printf.sprintf "%08x") (go start 0)))
