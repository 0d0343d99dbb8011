"""The Depth Reduction Lemma (Hahn 2020, Lemma 4): its stages, one layer removed, and all of them."""
