"""Hard attention simulated by softmax attention, with certified errors (Yang, Strobl, Chiang & Angluin 2024). From the
paper: the laws of attention (`laws.py`), what softmax loses against them (`lemmas_6_to_9.py`), Theorems 12 to 23
(`formulas/`), Theorem 26 (`theorem26.py`, `srasp/`) and Lemma 27 (`lemma27.py`). Ours: programs of this project as
softmax transformers (`ours/`), and the error budget of floating point that all of them use (`floating.py`)."""
