"""Domains of 10^12 values: they are never spelt out, whatever asks for them."""

import json
from pathlib import Path

import numpy as np
import pytest

import restrict
from restrict.model.fileformat import loads
from restrict.model.program import Model
from tests.marks import heavy_after
from tests.transformer_programs import write_program

HUGE = 10**12
"""A list of all values would take 8 * 10^12 bytes, so a search that makes one ends in a MemoryError."""


def model(output: str = "above", labels: list[str] | None = None) -> Model:
    """Six heads whose values are added into a number below 10^12, halved, and compared."""
    letters = list("abcdefgh")
    heads = [
        {"name": f"h{t}", "kind": "head", "key": "token", "value": "token", "query": "token",
         "score": f"((q * {t + 3} + k * {2 * t + 5} + j * {t + 1}) * 7) % 31", "mask": "none"}
        for t in range(6)
    ]  # fmt: skip
    names = [h["name"] for h in heads]
    total = " + ".join(f"{name} * {10 ** (t + 5)}" for t, name in enumerate(names))
    maps = [
        {"name": "total", "kind": "map", "args": names, "domain": HUGE, "map": total},
        {"name": "half", "kind": "map", "args": ["total"], "domain": HUGE, "map": "total // 2"},
        {"name": "above", "kind": "map", "args": ["half"], "domain": 2, "map": "half > 20000000000"},
    ]
    last = {"variable": output, "position": "last"}
    last |= {"labels": labels or ["low", "high"]} if output == "above" else {"accept": [3]}
    text = json.dumps({"format": "restrict-model/1", "name": "huge", "alphabet": letters,
                       "variables": [*heads, *maps], "output": last})  # fmt: skip
    return loads(text.encode())


@pytest.mark.parametrize("n", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_certify_lists_no_huge_domain(n: int) -> None:
    found = restrict.certify(model(), n)
    assert found.c == 0
    assert found.free >= n - 4
    assert " VERIFIED " in restrict.check(model(), found)


@pytest.mark.heavy
def test_the_other_searches_list_none_either() -> None:
    program = model()
    explained = restrict.explain(program, "abcdefgh" * 2)[0]
    assert explained.certificate is not None
    assert explained.weight <= 8
    assert restrict.lower_bound(program, 6).at_least == 1
    assert restrict.certify(program, 7, c=2).c <= 2
    with pytest.raises(restrict.ResourceLimit, match="cone needs more than"):
        restrict.exact(program, 9)


def test_an_output_of_10_to_the_12_values_is_refused_at_once() -> None:
    with pytest.raises(restrict.ResourceLimit, match="more than 2\\^24, which cannot be listed"):
        restrict.certify(model("half"), 8)
    with pytest.raises(restrict.ResourceLimit, match="more than 2\\^24, which cannot be listed"):
        restrict.explain(model("half"), "abcdefgh")


@pytest.mark.heavy
@pytest.mark.parametrize("each", heavy_after((2, 4), 1))
def test_programs_of_many_classes_are_certified(each: int, tmp_path: Path) -> None:
    """Exact weights of eleven digits: sums over 16 classes were kept in one number, and certify ran out of memory."""
    path, _ = write_program(
        tmp_path,
        np.random.default_rng(1),
        heads=each,
        mlps=each,
        letters=5,
        classes=16,
        digits=11,
        longest=16,
        markers=False,
    )
    program = restrict.import_transformer_program(path).model
    found = restrict.certify(program, 12)
    assert found.c == 0
    assert found.free >= 9
    assert " VERIFIED " in restrict.check(program, found)
