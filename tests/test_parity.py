"""The checker and its fast run agree on verdict, line and steps, at every limit (docs/checker.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.bench_checker import attacks, shapes
from tests import mutations, parity

FOLDER = Path(__file__).parent / "corpus" / "malformed"


@pytest.mark.parametrize(("seed", "count"), [(3000, 40), pytest.param(3001, 500, marks=pytest.mark.heavy)])
def test_both_runs_agree_on_mutants_at_every_limit(seed: int, count: int) -> None:
    found = [parity.difference(*pair.bytes) for _, pair in mutations.mutants(seed, count)]
    assert len(found) == count
    assert set(found) == {None}


@pytest.mark.heavy
def test_both_runs_agree_on_the_corpus_at_every_limit() -> None:
    count = 0
    for certificate in sorted(FOLDER.glob("*.cert.json")):
        model = certificate.with_name(certificate.name.replace(".cert.", ".model."))
        files = model if model.exists() else FOLDER / "good.model.json", certificate
        assert parity.difference(*(file.read_bytes() for file in files), FOLDER) is None, certificate
        count += 1
    assert count >= 100


@pytest.mark.heavy
def test_both_runs_agree_on_attacks_and_slow_shapes_at_a_small_limit() -> None:
    pairs = [*shapes(), *attacks()]
    assert len(pairs) >= 40
    for name, model, certificate in pairs:
        assert parity.difference(model, certificate, limit=300_000) is None, name
