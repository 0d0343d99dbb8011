"""Certificates: the strongest claim, the same bytes every time, a round trip, errors with file, place and reason."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import restrict
from restrict import Certificate, Claim, Restriction, certificate_of, load_certificate
from restrict.base.errors import ModelError, NotEstablished, ResourceLimit, RestrictError, UsageError
from tests.wrong_ways import certificate


def example(n: int = 5, fixed: dict[int, str] | None = None, **more: Any) -> Certificate:
    """Contains-one with a 1 at position 0."""
    at = restrict.load("contains-one").at(n)
    return certificate_of(at, Restriction.of(at, {0: "1"} if fixed is None else fixed), {"seen": (n - 1,)}, **more)


def test_the_claim_is_what_the_abstract_run_gives() -> None:
    assert example().claim == Claim(4, 0, (), (1,))
    assert example(fixed={}).claim == Claim(5, 5, (0, 1, 2, 3, 4), (0, 1))
    assert (example().c, example().free, example().cone_size) == (0, 4, 1)
    assert example(fixed={0: "0", 1: "0"}).claim == Claim(3, 3, (2, 3, 4), (0, 1))


# ---------------------------------------------------------------- bytes


def test_the_bytes_are_those_of_the_format_and_always_the_same() -> None:
    assert example().to_bytes() == example().to_bytes()
    text = json.loads(example(provenance={"seed": 3}).to_bytes())
    assert text == {
        "format": "restrict-certificate/1",
        "model": {"name": "contains-one", "sha256": restrict.load("contains-one").digest}, "n": 5, "target": "last",
        "fixed": [[0, 1, "1"]], "cone": {"seen": [[4, 1]]},
        "claim": {"free": 4, "c": 0, "dependencies": [], "values": [1]}, "provenance": {"seed": 3},
    }  # fmt: skip
    assert list(text) == ["format", "model", "n", "target", "fixed", "cone", "claim", "provenance"]


def test_a_certificate_does_not_grow_with_n() -> None:
    n = 100_000
    at = restrict.load("contains-one").at(n)
    rho = Restriction.of(at, dict.fromkeys(range(1000, n - 1000), "0"))
    assert len(certificate_of(at, rho, {}).to_bytes()) < 600


@pytest.mark.parametrize(
    ("name", "n", "fixed", "target"),
    [
        ("contains-one", 5, {0: "1"}, "last"), ("contains-one", 5, {}, "last"), ("tagger", 6, {2: "a"}, 3),
        ("tagger", 6, {2: "a"}, "all"), ("flip-flop", 4, {3: "w1"}, "last"), ("parity-attempt", 7, {2: "1"}, "last"),
    ],
)  # fmt: skip
def test_a_certificate_is_read_back(name: str, n: int, fixed: dict[int, str], target: Any, tmp_path: Path) -> None:
    model = restrict.load(name)
    certificate = restrict.certify(model, n, target=target, restriction=Restriction.of(model.at(n), dict(fixed)))
    certificate.save(tmp_path / "c.json")
    again = load_certificate(tmp_path / "c.json")
    assert again.to_bytes() == certificate.to_bytes() == (tmp_path / "c.json").read_bytes()
    assert again.claim == certificate.claim
    assert again.restriction.fixed == certificate.restriction.fixed
    assert restrict.check(model, again) == restrict.check(model, certificate)
    assert restrict.check(model, again, fast=True) == restrict.check(model, again)


def test_a_certificate_is_shown_on_one_line_and_as_a_table() -> None:
    assert repr(example()) == "Certificate('contains-one', n=5, target=last, fixed=1, free=4, c=0)"
    html = dataclasses.replace(example(), model_name="<b>&")._repr_html_()
    assert html.startswith("<table style='width:100%'><caption>")  # it has a drawing
    assert html.endswith("</table>")
    assert "&lt;b&gt;&amp; at n = 5" in html
    assert "c (certified bound)</th><td>0</td>" in html


# ---------------------------------------------------------------- checking


def claim(certificate: Certificate, **more: Any) -> Certificate:
    return dataclasses.replace(certificate, claim=dataclasses.replace(certificate.claim, **more))


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(
    "made",
    [
        lambda: claim(example(), free=3),
        lambda: claim(example(), values=(0,)),
        lambda: claim(example(fixed={}), values=(1,)),
        lambda: claim(example(fixed={}), c=4, dependencies=(0, 1, 2, 3)),
        lambda: dataclasses.replace(example(), cone={}),
    ],
)
def test_a_claim_that_does_not_follow_is_refused(made: Callable[[], Certificate], fast: bool) -> None:
    with pytest.raises(NotEstablished):
        restrict.check(restrict.load("contains-one"), made(), fast=fast)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(
    "made",
    [
        lambda: claim(example(), values=(0, 1)),
        lambda: claim(example(), c=1, dependencies=(3,)),
        lambda: example(fixed={}),
    ],
)
def test_a_claim_may_be_looser_than_what_follows(made: Callable[[], Certificate], fast: bool) -> None:
    assert restrict.check(restrict.load("contains-one"), made(), fast=fast).startswith("s VERIFIED")


@pytest.mark.parametrize("fast", [False, True])
def test_a_certificate_of_another_model_is_refused(fast: bool) -> None:
    with pytest.raises(ModelError, match="sha256"):
        restrict.check(restrict.load("all-ones"), example(), fast=fast)


def test_the_bound_for_all_targets_is_checked() -> None:
    model = restrict.load("tagger")
    certificate = restrict.certify(model, 5, target="all", restriction=Restriction(5, dict.fromkeys(range(4), "a")))
    assert certificate.claim == Claim(1, 1, None, None)
    assert restrict.check(model, certificate).startswith("s VERIFIED n=5 target=all free=1 c=1 ")
    for fast in (False, True):
        with pytest.raises(NotEstablished):
            restrict.check(model, claim(certificate, c=0), fast=fast)


def test_the_work_of_the_checker_may_be_limited() -> None:
    with pytest.raises(ResourceLimit):
        restrict.check(restrict.load("contains-one"), example(), limit=1)


@pytest.mark.parametrize(
    "made",
    [
        lambda: dataclasses.replace(example(), cone={"seen": (4,), "frog": (0,)}),
        lambda: dataclasses.replace(example(), restriction=Restriction(5, {0: "x"})),
        lambda: dataclasses.replace(example(), target=4),
        lambda: dataclasses.replace(example(), split=(0, 2)),
        lambda: claim(example(), values=(1, 2)),
    ],
)
def test_what_the_checker_calls_malformed_the_fast_run_does_too(made: Callable[[], Certificate]) -> None:
    for fast in (False, True):
        with pytest.raises(ModelError):
            restrict.check(restrict.load("contains-one"), made(), fast=fast)


@pytest.mark.parametrize(
    ("name", "target", "reason"),
    [
        ("contains-one", "all", "target all: 'contains-one' has its output at the last position only"),
        ("contains-one", 3, "target 3: 'contains-one' has its output at the last position only"),
        ("tagger", 5, "target 5 is neither last, all nor a position 0..4"),
        ("tagger", -1, "target -1 is neither"),
        ("tagger", "first", "target 'first' is neither"),
    ],
)
def test_a_target_that_the_model_does_not_have_is_refused(name: str, target: Any, reason: str) -> None:
    at = restrict.load(name).at(5)
    with pytest.raises(UsageError) as caught:
        certificate_of(at, Restriction.of(at), "all", target)
    assert reason in str(caught.value)


# ---------------------------------------------------------------- reading


def test_a_file_that_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    for act in (load_certificate, lambda p: example().save(p)):
        with pytest.raises(RestrictError) as caught:
            act(tmp_path / "none" / "c.json")
        assert str(tmp_path / "none" / "c.json") in str(caught.value)
        assert caught.value.exit_code == 2


def test_a_picture_of_a_hundred_million_positions_takes_no_memory(tmp_path: Path) -> None:
    """Runs are drawn as runs; to hold every position would take 13 GiB."""
    import tracemalloc

    from restrict.base.strictjson import Node
    from restrict.certificate.outline import read_outline
    from restrict.report.text import certificate_picture

    n = 10**8
    fixed, claim = [[0, n // 2, "a"], [n // 2, n // 4, "b"]], {"dependencies": [[3 * n // 4, n // 4]]}
    document = certificate(n, fixed=fixed, cone={"h": [[0, n]]}, claim={"free": n // 4, "c": n // 4} | claim)
    document["model"]["sha256"] = None
    tracemalloc.start()
    picture = certificate_picture(read_outline(Node(document, "top level")))
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()
    assert "|" + "#" * 48 + " " * 16 + "|" in picture
    assert "h at 0-99999999" in picture
    with pytest.raises(ResourceLimit, match="more than the 20000000"):
        Certificate.from_json(Node(document, "top level"))
