"""Sweeps: batches of certificates and refutations over a grid of models, lengths, targets, languages and seeds. A spec
(:mod:`restrict.sweep.spec`) describes items (:mod:`restrict.sweep.items`); a pool of processes
(:mod:`restrict.sweep.local`) or a Dask cluster (:mod:`restrict.sweep.cluster`) does them; every result is one line of
an append-only file (:mod:`restrict.sweep.store`). Invariant: whatever is killed, an item has a row or will get one. It
has two rows only after ``retry``, and then the later one counts."""
