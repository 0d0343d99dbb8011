"""The trained models in instances/trained: each loads, and three forward passes give the logits that torch recorded,
and the shortest of them those of a plain pass."""

import json
from pathlib import Path

import numpy as np
import pytest

from restrict.languages.source import language
from restrict.soft.importers import compare, import_weights, read_record
from restrict.soft.models import evaluate
from restrict.soft.models.format import loads
from restrict.soft.models.model import dumps
from restrict.soft.trained.model import forward
from restrict.soft.trained.model import load as load_checkpoint
from tests.naive_soft import run as naive

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "instances" / "trained"
NAMES = sorted(path.name.removesuffix(".safetensors") for path in FOLDER.glob("*.safetensors"))


def test_the_readme_lists_what_is_there() -> None:
    listed = [line.split("|")[1].strip() for line in (FOLDER / "README.md").read_text().splitlines() if "| 0." in line
              or "| 1." in line]  # fmt: skip
    assert listed == NAMES
    assert len(NAMES) == 16
    endings = {"safetensors", "config.json", "dfa.json", "record.json"}
    assert {path.name for path in FOLDER.iterdir()} == {f"{n}.{e}" for n in NAMES for e in endings} | {"README.md"}
    assert all((FOLDER / f"{name}.safetensors").stat().st_size < 40_000 for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_forward_pass_gives_the_recorded_logits(name: str) -> None:
    path = FOLDER / f"{name}.safetensors"
    found = import_weights(path)
    model = loads(dumps(found.model))
    record = read_record(FOLDER / f"{name}.record.json", found.tokens)
    assert compare(found, record, tolerance=2e-6).words == 3
    checkpoint = load_checkpoint(path)
    for word, logits in zip(record.words, record.logits, strict=True):
        allowed = 1e-5 * np.abs(logits).max()
        other = forward(checkpoint, word)
        assert np.abs(other - logits).max() < allowed
        symbols = model.encode([[found.tokens[token] for token in word[checkpoint.bos is not None :]]])
        mine = evaluate.logits(model, symbols)[0]
        np.testing.assert_allclose(mine, other[:, list(found.rows)], atol=1e-9)
        if len(word) == min(map(len, record.words)):
            np.testing.assert_allclose(mine[:3], np.array(naive(model, list(symbols[0]))[:3]), atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_automaton_is_that_of_the_configuration(name: str) -> None:
    """On every word of up to 6 symbols: in the language, and what may come next."""
    from itertools import product

    task = json.loads((FOLDER / f"{name}.config.json").read_text())["task"]
    assert name.startswith(f"{task['language']}-")
    found = language(f"dfa:{FOLDER / f'{name}.dfa.json'}")
    dfa, alphabet = task["dfa"], import_weights(FOLDER / f"{name}.safetensors").model.alphabet
    assert tuple(found.alphabet) == alphabet
    for n in range(1, 6):
        for word in product(range(len(alphabet)), repeat=n):
            state = dfa["start"]
            for symbol in word:
                state = None if state is None else dfa["delta"][state][symbol]
            inside = state is not None and dfa["accepting"][state]
            assert found.contains([alphabet[symbol] for symbol in word]) == inside
