(* For tests: the verdicts on many pairs of files from one process.  Standard input has a line with the most steps and
   the lengths of a program and a proof, then both; and so on.  Standard output has a line for each: of success, or of
   the exit code.  What decides is `Verdict.on`, as in `restrict-verified`. *)
let () =
  set_binary_mode_in stdin true;
  try
    while true do
      let steps, program, proof = Scanf.sscanf (input_line stdin) "%s %d %d" (fun a b c -> (a, b, c)) in
      let first = really_input_string stdin program in
      let second = really_input_string stdin proof in
      (match Verdict.on ("program", first) ("proof", second) (Big_int_Z.big_int_of_string steps) with
       | Verdict.Success line -> print_string line
       | Verdict.Failure (code, _) -> Printf.printf "%d\n" code
       | exception error -> Printf.printf "crash: %s\n" (String.escaped (Printexc.to_string error)));
      flush stdout
    done
  with End_of_file -> ()
