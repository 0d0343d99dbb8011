"""Restrictions that repeat, for every position of programs that treat all positions alike."""

import pytest

from restrict.abstract.run import abstract_run
from restrict.certificate.certificate import claim_of
from restrict.depth_reduction.repeating import Pattern, periodic
from restrict.errors import NotEstablished
from restrict.model.program import Head, Map, Model, Output


def since() -> Model:
    """a since b, over x a b."""
    head = Head("since", "b", "k", key="stop", mask="past", ties="right")
    variables = (Map("b", ("token",), 2, "token == 2"), Map("stop", ("token",), 2, "token != 1"), head)
    return Model("since", ("x", "a", "b"), variables, Output("since", "every"))


def test_a_pattern_repeats_between_its_ends() -> None:
    model = Model("id", ("a", "b"), (), Output("token", "every"), start_marker="<")
    pattern = Pattern((0, -1), (1, -1, -1), (-1, 0))
    assert pattern.restriction(model.at(11)).text() == ".a*b**b**" + "*a"


@pytest.mark.parametrize("c", [0, 1, 4, 9])
def test_since_needs_one_symbol_in_c_plus_one(c: int) -> None:
    """Under `a since b` a position depends on the free ones since the last fixed `x` or `b`: c lie between two."""
    at = since().at(400)
    _, rho, depends = periodic(at, c=c)
    worst = int(depends.max())
    assert worst == claim_of(abstract_run(at, rho, "all"), "all").c <= c
    assert len(rho.fixed) <= 400 / (c + 1) + 2


def test_a_free_share_gives_a_bound_that_does_not_grow() -> None:
    found = {n: periodic(since().at(n), free=int(0.9 * n)) for n in (500, 5000, 50_000)}
    assert {int(depends.max()) for _, _, depends in found.values()} == {9}
    assert all(rho.free >= 0.9 * n for n, (_, rho, _) in found.items())


def test_once_needs_one_symbol() -> None:
    model = Model("once", ("a", "b"), (Head("h", "token", "k", key="token", mask="past"),), Output("h", "every"))
    pattern, rho, depends = periodic(model.at(1000), c=0)
    assert (rho.fixed, depends.max()) == ({0: "b"}, 0)
    assert pattern.text(model.alphabet) == "start b * * *, then (*) repeated, end * * * *"


def test_what_cannot_be_done_is_said() -> None:
    with pytest.raises(
        NotEstablished, match=r"no repeating restriction found with 401 free positions .* allow a larger"
    ):
        periodic(Model("x", ("a", "b"), (), Output("token", "every")).at(400), c=None, free=401)
