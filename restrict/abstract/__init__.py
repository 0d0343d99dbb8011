"""The abstract run (theory: docs/kernel.md) on numba kernels, for the engine and the elaborator."""
