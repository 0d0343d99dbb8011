"""The abstract run (theory: docs/trusted-base.md) on numba kernels, the fast twin of restrict/checker."""
