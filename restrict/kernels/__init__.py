"""Numba kernels: arrays in, arrays out, no I/O and no global state; each body also runs as plain Python
(``NUMBA_DISABLE_JIT=1``)."""
