"""No false claim is accepted: mutants of models and certificates, judged by the checker and by exhaustive evaluation.

The same with more mutants is scripts/soundness_sweep.py; its figures are in docs/soundness.md.
"""

import json

import numpy as np
import pytest

import restrict
from restrict.base.errors import NotEstablished
from restrict.model.fileformat import loads
from tests import mutations
from tests.marks import heavy_after, rows_after

SWEEPS = [(0, 600, 3), *((chunk, 2050, 15) for chunk in range(7))]
"""Chunk, mutants, and how many of each operator must be rejected, so that every operator makes wrong ones."""


@pytest.mark.heavy
@pytest.mark.parametrize(("chunk", "each", "rejected"), rows_after(SWEEPS, 1))
def test_no_mutant_is_accepted_with_a_false_claim(chunk: int, each: int, rejected: int) -> None:
    """14350 mutants in full."""
    outcome = mutations.sweep(chunk, each)
    assert not outcome.faults, outcome.faults[0]
    assert sum(row.mutants for row in outcome.rows.values()) == each
    assert sum(row.true for row in outcome.rows.values()) >= each // 5, "nearly everything is rejected"
    refused = {name: row.rejected for name, row in outcome.rows.items()}
    assert min(refused.values()) >= rejected, refused


@pytest.mark.parametrize("programs", heavy_after((2, 12), 1))
def test_what_the_search_finds_is_true(programs: int) -> None:
    """Certificates of the engine on small programs: accepted, true, and their mutants are judged like all others."""
    rng, outcome, found = np.random.default_rng(20261121), mutations.Outcome(), 0
    while found < programs:
        pair = mutations.original(rng)
        at = loads(mutations.encode(pair.model)).at(pair.certificate["n"])
        try:
            certificate = restrict.certify(at.model, at.n, seed=found, time=0.05)
        except NotEstablished:
            continue
        made = mutations.sealed(pair.model, json.loads(certificate.to_bytes()))
        if mutations.inputs(made) > mutations.MOST_INPUTS:
            continue
        found += 1
        assert mutations.verdict(made) == 0, made
        assert mutations.is_true(made), made
        for name, operator in mutations.OPERATORS.items():
            mutant = operator(rng, made, pair)
            if mutant is not None and not mutations.too_large(mutant):
                outcome.add(name, mutant)
    assert not outcome.faults, outcome.faults[0]
