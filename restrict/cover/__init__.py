"""The covering problem of Stage 3 (Hahn 2020, Depth Reduction Lemma) and its solvers, one file each.

:mod:`problem` states it, :mod:`core` is what is left of it once the prior assignment is substituted, :mod:`solution` is
an answer. Solvers: :mod:`greedy`, :mod:`decimate`, :mod:`local`, :mod:`moser_tardos`, :mod:`sat`, :mod:`maxsat`;
:mod:`solve` chooses one. Proofs: :mod:`lower_bound` (packing), :mod:`infeasible` (a budget that is too small),
:mod:`local_lemma` (that resampling ends).
"""
