"""Temporal logic with counting to softmax transformers (Yang, Strobl, Chiang & Angluin 2024, section 4)."""

from restrict.simulate.formulas.compiler import Compiled, compile_soft

__all__ = ["Compiled", "compile_soft"]
