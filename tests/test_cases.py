"""Trees of cases: the checker, its fast twin and brute force agree; a small tree proves what the plain run cannot."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import restrict
from restrict.certificate.cases import Leaf, Question, cases_to_json, leaves, read_cases
from restrict.certificate.certificate import Certificate, certificate_of, check_fast, load_certificate
from restrict.errors import ModelError, NotEstablished
from restrict.model.fileformat import loads
from restrict.restriction import Restriction
from restrict.strictjson import Node
from tests import mutations, naive
from tests import trusted as check

SAME = {
    "format": "restrict-model/1",
    "name": "same",
    "alphabet": ["0", "1"],
    "variables": [
        {"name": "a", "kind": "head", "value": "token", "score": "j == 0"},
        {"name": "b", "kind": "head", "value": "token", "score": "j == 0", "ties": "right"},
        {"name": "o", "kind": "map", "args": ["a", "b"], "domain": 2, "map": "a != b"},
    ],
    "output": {"variable": "o", "position": "last"},
}
"""Two heads copy the same token: the output is always 0, but the plain run takes them for independent."""


def same(cases: Any) -> Certificate:
    """A certificate for it with the restriction that fixes nothing."""
    at = loads(json.dumps(SAME).encode()).at(4)
    tree = None if cases is None else read_cases(Node(cases, "cases"), 4, "all")
    return certificate_of(at, Restriction.of(at, {}), "all", cases=tree)


def spelt(cone: Any) -> Any:
    """A cone as run lists."""
    return cone if cone == "all" else {name: mutations.joined(list(listed)) for name, listed in cone.items()}


def test_a_tree_proves_what_the_plain_run_cannot() -> None:
    model = loads(json.dumps(SAME).encode())
    assert same(None).claim.values == (0, 1)
    found = same({"position": 0, "children": [{}, {}]})
    assert (found.claim.values, found.c) == ((0,), 0)
    assert restrict.check(model, found).startswith("s VERIFIED n=4 target=last free=4 c=0 values=0 ")
    assert restrict.check(model, found, fast=True) == restrict.check(model, found)
    assert check_fast(model, found) == "n=4 target=last free=4 c=0 values=0"


def test_one_leaf_without_its_proof_is_refused() -> None:
    found = same({"position": 0, "children": [{}, {}]})
    lie = Certificate(**{**vars(found), "cases": Question(0, (Leaf("all"), Leaf({})))})
    with pytest.raises(NotEstablished, match="may take"):
        restrict.check(loads(json.dumps(SAME).encode()), lie)


def test_the_checker_says_what_is_so_in_every_leaf() -> None:
    """On random programs: the claim is the union over the leaves, computed here by the oracle, and it is true."""
    rng, done = np.random.default_rng(5), 0
    while done < 25:
        pair = mutations.original(rng)
        if not (cases := pair.certificate.get("cases")):
            continue
        done += 1
        assert mutations.verdict(pair) == mutations.fast_verdict(pair) == 0
        assert mutations.is_true(pair)
        fixed, certificate, symbols = mutations.singles(pair.certificate), pair.certificate, pair.model["alphabet"]
        target, n = certificate["target"], certificate["n"]
        where = n - 1 if target == "last" else target
        values: set[int] = set()
        depends: set[int] = set()
        for path, cone in leaves(read_cases(Node(cases, "cases"), n, "all")):
            branch = {**fixed, **{p: symbols[a] for p, a in path.items()}}
            oracle = naive.abstract_run(pair.model, n, branch, spelt(cone))
            values |= oracle.values[pair.model["output"]["variable"], where]
            depends |= set(path) | oracle.dependencies["label", where]
        one = len({naive.label(pair.model, v) for v in values}) == 1
        assert certificate["claim"]["values"] == sorted(values)
        assert mutations.depends(pair) == ([] if one else sorted(depends))


def test_the_file_keeps_the_tree(tmp_path: Any) -> None:
    tree = {"position": 1, "children": [{"cone": {"o": [[3, 1]]}}, {"position": 0, "children": [{}, {}]}]}
    made = same(tree)
    made.save(tmp_path / "c.json")
    read = load_certificate(tmp_path / "c.json")
    assert read.cases is not None
    assert cases_to_json(read.cases)["children"][0] == tree["children"][0]
    assert read.to_bytes() == made.to_bytes()


@pytest.mark.parametrize("cases", [[], {"position": 0}, {"position": 9, "children": []}, {"children": []}])
def test_a_malformed_tree_is_refused_by_both_readers(cases: Any, tmp_path: Any) -> None:
    document = {**json.loads(same(None).to_bytes()), "cases": cases}
    (tmp_path / "c.json").write_text(json.dumps(document))
    with pytest.raises(ModelError):
        load_certificate(tmp_path / "c.json")
    with pytest.raises(check.Reject) as caught:
        check.verify(json.dumps(SAME).encode(), (tmp_path / "c.json").read_bytes())
    assert caught.value.code == 4
