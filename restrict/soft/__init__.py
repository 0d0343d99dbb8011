"""Soft attention: softmax transformers, how little one symbol can move them, and what follows (Hahn 2020, section 6).
``restrict-soft/1`` files (docs/soft-format.md), a batched evaluator, certified influence bounds (Lemma 5, repaired),
soft restrictions with certificates, and the cross-entropy floor of Theorem 6."""
