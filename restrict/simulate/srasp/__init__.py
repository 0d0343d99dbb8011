"""S-RASP: programs on vectors over a word, with prefix sums and attention (Strobl, Angluin, Chiang, Rawski &
Sabharwal, "Transformers as transducers", 2024).

:mod:`.parser` reads them, :mod:`.interpreter` runs them, :mod:`.compiler` writes uniform-tieless average-hard
transformers, and :mod:`.programs` has Dyck-k, k-hop induction heads and the flip-flop. The concrete syntax is our own.
"""
