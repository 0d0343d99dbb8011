"""What an automatic check of a claim about every position would take, from a few positions."""

from pathlib import Path

import pytest

import restrict
from restrict import Restriction
from restrict.checker import formats
from restrict.checker.account import Meter, Place
from restrict.checker.normal_form import Program
from restrict.checker.one_length import program_of, read_claim
from restrict.cli.checking import trusted_line
from restrict.elaboration.foreseen import SAMPLE, beyond, read_tokens, sampled
from restrict.elaboration.make import instance_of, least_steps, task_of, written
from tests.marks import rows_after


def everywhere(spec: str, n: int, free: float) -> tuple[restrict.Model, restrict.Certificate]:
    """A model, and a claim about all its positions."""
    model = restrict.load(spec)
    fixed = {i: model.alphabet[i % 2] for i in range(0, n, round(1 / (1 - free)))}
    return model, restrict.certify(model, n, target="all", restriction=Restriction.of(model.at(n), fixed))


SPECS = ("random:layers=1,heads=2,states=2,every=1", "random:layers=1,heads=3,every=1")


@pytest.mark.parametrize(("spec", "n"), rows_after([(SPECS[0], 30), (SPECS[0], 100), (SPECS[1], 100)], 1))
def test_a_sample_says_what_the_rows_take(spec: str, n: int) -> None:
    """Against the steps of the whole proof."""
    limit = 10**9
    model, certificate = everywhere(spec, n, 0.9)
    assert model.content is not None
    places = Place("model"), Place("certificate")
    task = task_of(model.content, certificate.to_bytes(), places, Path(), Meter(limit))
    claim = read_claim(task)
    assert isinstance(claim, formats.Certificate)
    program, instance = program_of(claim), instance_of(claim, task)
    read = Program(program, Place("program"), Meter(limit))
    whole = least_steps(read, written(claim, program, instance, limit))
    part = least_steps(read, sampled(claim, instance, Meter(limit)))
    assert 0.8 < part * n / SAMPLE / whole < 1.2
    assert beyond(model, certificate, whole // 2)
    assert not beyond(model, certificate, 2 * whole)


def test_a_check_that_cannot_end_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the proof is written."""
    model, certificate = everywhere(SPECS[0], 40, 0.9)
    assert (trusted_line(model, certificate) or "").startswith("s VERIFIED n=40 target=all")
    monkeypatch.setattr("restrict.elaboration.make.certificate_lines", lambda *_: pytest.fail("the proof is written"))
    assert trusted_line(model, certificate, limit=10_000) is None


def test_what_says_nothing_is_not_estimated() -> None:
    """Its proof has no facts. A claim about one position goes to the checker as it is."""
    model, certificate = everywhere("random:layers=2,heads=2,states=4,every=1", 20, 0.9)
    assert certificate.c == certificate.free
    assert not beyond(model, certificate, 1)
    model = restrict.load("contains-one")
    assert trusted_line(model, restrict.certify(model, 20)) is not None


def test_only_heads_that_the_output_reads_count() -> None:
    """Of two layers those of the first, which read tokens."""
    instance = restrict.load("random:layers=2,heads=2,states=4,every=1").at(20)
    heads = {head.name: instance.key(head) for head in read_tokens(instance)}
    assert len(heads) == 2
    assert {None, "token"}.issuperset(heads.values())
