"""Programs at every length at once: star-free languages, and what is declined. Automata: tests/test_every_length.py."""

import json
from typing import Any

import numpy as np
import pytest

from restrict.all_lengths.bimachine import Limits, TooLarge
from restrict.all_lengths.moore import moore
from restrict.all_lengths.recognise import NotOrderOnly, recognise
from restrict.all_lengths.stages import build
from restrict.base.errors import ResourceLimit
from restrict.languages.monoid import star_free
from restrict.model.fileformat import loads
from restrict.model.program import Model
from tests import documents
from tests.generator import random_order_only, random_transformer
from tests.marks import heavy_after


def model_of(document: dict[str, Any]) -> Model:
    """The model of a document."""
    return loads(json.dumps(document).encode())


@pytest.mark.parametrize("programs", heavy_after((15, 200, 1500), 1))
def test_without_periodic_predicates_the_language_is_star_free(programs: int) -> None:
    """Random programs of all features: those whose classes have no period recognise star-free languages, by Yang,
    Chiang & Angluin 2024 (thresholds of positions are definable there)."""
    rng = np.random.default_rng(3)
    plain = periodic = 0
    for _ in range(programs):
        transformer = rng.random() < 0.3
        document = random_transformer(rng, 1 + int(rng.integers(3)), 2, 4) if transformer else random_order_only(rng, 2)
        document["output"]["position"] = "last"
        document.pop("when", None)
        try:
            program = recognise(model_of(document))
            language = moore(build(program, Limits(2000))).language()
        except (NotOrderOnly, ResourceLimit):
            continue
        periodic, plain = periodic + (program.period > 1), plain + (program.period == 1)
        assert program.period > 1 or star_free(language).aperiodic, document
    assert plain >= 0.6 * programs
    assert periodic >= 0.03 * programs


DECLINED = [
    ("hash(i, j)", "hash"), ("j * k", "tie rule"), ("j == n // 2", "share of n"),
    ("i - j + 3 * k", "weighs j against the key"), ("abs(i - j)", "compares positions with each other"),
]  # fmt: skip


@pytest.mark.parametrize(("score", "why"), DECLINED)
def test_what_is_not_order_only_is_declined_by_name(score: str, why: str) -> None:
    document = documents.model(documents.head("h", score, key="token"), alphabet="ab", position="last", accept=[1])
    with pytest.raises(NotOrderOnly, match=f"variable 'h' is not order-only.*{why}"):
        recognise(model_of(document))


def test_the_state_limit_names_the_variable() -> None:
    model = model_of(random_transformer(np.random.default_rng(0), 3, 3, 8))
    with pytest.raises(TooLarge, match=r"too large at variable 'a\d_\d': more than 4 states .* left and .* right"):
        build(recognise(model), Limits(4))
