"""Hahn's Corollary 2: a model refuted on a language."""
