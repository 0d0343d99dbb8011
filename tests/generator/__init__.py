"""One generator of random programs for every differential test, fuzzer and sweep.

:mod:`~tests.generator.expressions` grows expressions from the grammar of docs/format.md; two regions use it:
:func:`random_program` (every feature, at small lengths or at one) and :func:`random_order_only` (likely to be accepted
by the constructions for all lengths); :func:`random_transformer` is Hahn's form.
:mod:`~tests.generator.coverage` counts which operator meets which operand where. Programs of other input languages are
elsewhere: B-RASP texts in ``tests/random_brasp.py``, trained weights in ``tests/random_weights.py``.
"""

from tests.generator.draft import LONGEST, MASKS, Draft
from tests.generator.expressions import Phrase, grown
from tests.generator.inputs import lengths, random_cone, random_length, random_restriction, random_tokens, shortest
from tests.generator.order import random_order_only, random_transformer
from tests.generator.programs import random_case, random_program, random_score

__all__ = [
    "LONGEST", "MASKS", "Draft", "Phrase", "grown", "lengths", "random_case", "random_cone", "random_length",
    "random_order_only", "random_program", "random_restriction", "random_score", "random_tokens", "random_transformer",
    "shortest",
]  # fmt: skip
