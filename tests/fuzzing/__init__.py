"""What `scripts/fuzz_checker.py` runs: for every kind of proof a generator, mutation operators and a judge.

`kinds.py` has the registry, `changes.py` what is done to any pair of files. `defined.py`, `meaning.py`, `batch.py`,
`at_one_length.py` and `at_all_lengths.py` are the judge, written from docs/format.md over `tests/naive.py`, which
shares no code with `restrict` at all. The other files are the kinds.
"""
