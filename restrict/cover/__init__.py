"""The covering problem of Stage 3 and its solvers."""
