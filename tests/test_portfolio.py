"""What certify says of programs of many variables, where every word can be run but no optimum has a certificate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import restrict
from restrict import certification
from restrict.base.errors import NotEstablished
from restrict.model.program import Model
from restrict.optimum import enumeration
from tests.transformer_programs import write_program


def program(tmp_path: Path) -> Model:
    """A random program of 66 variables, whose optimum at n = 8 is 1."""
    path, _ = write_program(
        tmp_path, np.random.default_rng(0), longest=8, heads=4, mlps=2, letters=2, classes=2, markers=False
    )
    model = restrict.import_transformer_program(path).model
    assert len(model.variables) > certification.MANY_VARIABLES
    return model


def test_the_optimum_is_told_once_it_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was lost where the search found nothing, and computed twice where it found something."""
    model = program(tmp_path)
    optimum = restrict.certify(model, 8).provenance["optimum"]
    runs = []
    labels = enumeration.all_labels

    def counted(*args: object) -> object:
        runs.append(1)
        return labels(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(enumeration, "all_labels", counted)
    monkeypatch.setattr(enumeration, "confirm_one", lambda *_: None)
    found = restrict.certify(model, 8)
    assert found.provenance["optimum"] == optimum
    assert found.provenance["optimum_by"] == "enumeration"
    assert len(runs) == 1

    def nothing(_: object) -> None:
        raise NotEstablished("nothing")

    monkeypatch.setattr(certification, "_searched", nothing)
    found = restrict.certify(model, 8)
    assert found.provenance["optimum"] == optimum
    assert " VERIFIED " in restrict.check(model, found)
