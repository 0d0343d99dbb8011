"""The symbol ``*`` of data: it is escaped, since ``*`` means a free position."""

import json
from pathlib import Path

import numpy as np
import pytest

import restrict
from restrict.base.errors import ModelError
from restrict.languages.regular import dfa_document
from restrict.languages.source import language
from restrict.model.fileformat import loads
from restrict.model.restriction import Restriction
from restrict.model.validate import STAR, escaped
from tests.transformer_programs import answers, write_program


def test_different_symbols_stay_different() -> None:
    words = ["*", "\\*", "\\\\*", "\\", "a*", "**", "*a", "a"]
    found = [escaped(w) for w in words]
    assert found == ["\\*", "\\\\*", "\\\\\\*", "\\", "a*", "**", "*a", "a"]
    assert "*" not in found
    assert len(set(found)) == len(words)


def program(tmp_path: Path) -> tuple[Path, Path]:
    """A random program over the words ``*`` and ``b``."""
    path, weights = write_program(
        tmp_path, np.random.default_rng(3), longest=4, letters=2, markers=False, examples="[(['*', 'b'], ['C0', 'C0'])]"
    )
    path.write_text(path.read_text().replace("'a'", "'*'"))
    weights.write_text(weights.read_text().replace(",a,", ",*,"))
    return path, weights


def test_a_program_over_the_word_asterisk(tmp_path: Path) -> None:
    """It is imported, run, certified and checked; a restriction is written with the escaped symbol."""
    path, weights = program(tmp_path)
    imported = restrict.import_transformer_program(path)
    model = imported.model
    assert model.alphabet == (STAR, "b")
    assert any("is written \\*" in note for note in imported.notes)
    run = answers(path, weights, "trained")
    for word in (["*", "b"], ["b", "*", "*"], ["*"] * 4):
        assert model.run(word).output == model.run([escaped(a) for a in word]).output == run(word)
    rho = Restriction.parse(model.at(4), "\\* * b *")
    assert rho.fixed == {0: STAR, 2: "b"}
    assert Restriction.parse(model.at(4), rho.text()) == rho
    found = restrict.certify(model, 4)
    assert " VERIFIED " in restrict.check(model, found)
    assert restrict.explain(model, ["*", "b", "*", "b"])[0].certificate is not None


def test_automata_over_the_symbol_asterisk(tmp_path: Path) -> None:
    document = {"format": "restrict-dfa/1", "alphabet": ["*", "b"], "start": 0, "accept": [1],
                "transitions": [[1, 0], [0, 1]]}  # fmt: skip
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document))
    found = language(f"dfa:{path}")
    assert found.alphabet == (STAR, "b")
    path.write_text(json.dumps(dfa_document(found.dfa, "odd")))  # what is written is read back as it is
    assert language(f"dfa:{path}").dfa == found.dfa


def test_a_model_file_says_how_the_symbol_is_written() -> None:
    document = {"format": "restrict-model/1", "name": "x", "alphabet": ["*", "b"], "variables": [],
                "output": {"variable": "token", "position": "last"}}  # fmt: skip
    with pytest.raises(ModelError, match=r"is a free position, \\\* the symbol"):
        loads(json.dumps(document).encode())
