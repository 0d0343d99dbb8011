(* restrict-verified PROGRAM PROOF [--limit STEPS]: files, arguments and exit codes of docs/kernel-format.md. *)
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

let run program proof limit =
  let first = read program in
  match Verdict.on (program, first) (proof, read proof) limit with
  | Verdict.Success line -> print_string line; flush stdout
  | Verdict.Failure (code, text) -> fail code text

let () =
  Sys.catch_break true;
  let steps w = if String.length w >= 1 && String.length w <= 18 && String.for_all (fun c -> c >= '0' && c <= '9') w
    then Z.big_int_of_string w else fail 2 usage in
  try match List.tl (Array.to_list Sys.argv) with
    | [ program; proof ] -> run program proof (Z.big_int_of_string "10000000000")
    | [ program; proof; "--limit"; w ] | [ "--limit"; w; program; proof ] -> run program proof (steps w)
    | _ -> fail 2 usage
  with
  | Stack_overflow | Out_of_memory -> fail 5 "out of memory or stack"
  | Sys.Break -> fail 130 "interrupted"
  | Sys_error text -> fail 2 text
  | e -> fail 1 ("a bug, please report it: " ^ Printexc.to_string e)
