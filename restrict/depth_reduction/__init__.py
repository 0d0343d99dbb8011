"""The Depth Reduction Lemma (Lemma 4) and Theorem 1 of Hahn (2020)."""
