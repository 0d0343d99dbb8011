"""What the search knows of a row: the indexed answer is that of the walk, and the abstract run's."""

import numpy as np
import pytest

import restrict
from restrict.abstract.run import AbstractRun
from restrict.base.errors import ResourceLimit
from restrict.force.state import ForcingState, Node
from restrict.model.fileformat import dumps, loads
from restrict.model.program import Head
from restrict.model.restriction import Restriction
from tests.generator import random_program, random_tokens
from tests.marks import heavy_after


@pytest.mark.parametrize("many", heavy_after((150, 600), 1))
def test_key_values_are_those_of_the_walk(many: int) -> None:
    """R(u) and what was read, on random programs, tokens and facts."""
    rng, rows = np.random.default_rng(1), 0
    while rows < many:
        n = int(rng.integers(2, 10))
        at = loads(dumps(random_program(rng, n))).at(n)
        state, fixed = ForcingState(at), random_tokens(rng, at, 0.4)
        for i, a in fixed.items():
            state.fix(i, a)
        run = AbstractRun(at, Restriction.of(at, fixed))
        for v in at.model.variables:
            for i in range(n):
                copies = isinstance(v, Head) and v.value == at.key(v) and len(range(*at.visible(v, i))) > 0
                for u in (state.values(at.query(v), i) if at.query(v) else (0,)) if copies else ():
                    fast, slow = set[Node](), set[Node]()
                    found = {w for _, w in state.walk(v, i, u, slow)}
                    assert state.key_values(v, i, u, fast) == found
                    known = {node for node in slow if node in state.facts or (node[0] == "token" and node[1] in fixed)}
                    assert fast - {(at.key(v), i)} == known - {(at.key(v), i)}
                    rows += 1
                if rng.random() < 0.6:
                    assert state.examine(v, i) == run.examine(v, i)[0]


def test_a_row_of_equal_pairs_is_not_walked() -> None:
    """`historically 1` at 100 000 positions: a few looks, where a walk would take a million steps each time."""
    model = restrict.compile_formula("historically 1", ["0", "1"])
    found = restrict.certify(model, 100_000)
    assert (len(found.restriction.fixed), found.c) == (1, 0)
    state = ForcingState(model.at(100_000))
    head = model.variables[-1]
    state.examine(head, 99_999)
    before = state.work
    state.examine(head, 99_999)
    assert state.work - before < 1000


@pytest.mark.heavy
def test_a_program_too_deep_for_the_search_is_refused_in_one_line() -> None:
    model = restrict.compile_formula("strict once (" * 700 + "1" + ")" * 700, ["0", "1"])
    with pytest.raises(ResourceLimit, match="too deep for the search"):
        restrict.certify(model, 2000)
