"""How far one symbol reaches (Hahn's Lemma 5) and the floor on the cross-entropy that follows (his Theorem 6)."""
