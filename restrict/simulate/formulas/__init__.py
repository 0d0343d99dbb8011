"""Theorems 12 to 23 of Yang, Strobl, Chiang & Angluin (2024, section 4): temporal logic with counting by softmax."""

from restrict.simulate.formulas.compiler import Compiled, compile_soft

__all__ = ["Compiled", "compile_soft"]
