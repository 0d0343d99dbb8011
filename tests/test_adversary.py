"""Attempts to make the trusted checker accept a false claim, each by name; each attempt stays here as a test.

Most attacks are a certificate or a model that must be refused. The others are well-formed but treacherous: there the
checker's values and dependencies are compared with the oracle's, and with the truth on every input.
"""

import hashlib
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from restrict.base.errors import RestrictError
from restrict.elaboration.trusted import trusted_check
from restrict.model.fileformat import loads
from restrict.model.trace import run_batch
from tests import mutations, naive
from tests import trusted as check
from tests.documents import Document, dot, head, map_, model, table, tensor_file
from tests.marks import heavy_after

LEAST = "(-9223372036854775807 - 1)"
LARGEST = "9223372036854775807"


def certificate(n: int, **more: Any) -> Document:
    """A certificate that claims very little."""
    claim = {"free": n, "c": 0, "dependencies": [], "values": [0]}
    fields = {"format": "restrict-certificate/1", "n": n, "target": "last", "fixed": [], "cone": "all", "claim": claim}
    return {**fields, **more}


def claiming(n: int, fields: Document | None = None, **claim: Any) -> Document:
    """A certificate with another claim."""
    made = certificate(n, **(fields or {}))
    return {**made, "claim": {**made["claim"], **claim}}


def refused(pair: mutations.Pair, *codes: int) -> None:
    """The abstract run refuses the pair with one of the codes; the kernel does not accept a proof of it either."""
    with pytest.raises(check.Reject) as caught:
        check.verify(*pair.bytes)
    assert caught.value.code in codes, str(caught.value)
    with pytest.raises(RestrictError):
        trusted_check(*pair.bytes, None, "certificate", None)


def same_as_the_oracle(document: Document, n: int, fixed: dict[int, str] | None = None, cone: Any = "all") -> None:
    """V and D of every node are the oracle's, the truth lies in them, and the checkers accept exactly the claim."""
    fixed = fixed or {}
    listed = [[at, 1, symbol] for at, symbol in fixed.items()]
    pair = mutations.sealed(document, certificate(n, fixed=listed, cone=cone))
    oracle, truth = naive.abstract_run(document, n, fixed, cone), naive.true_values(document, n, fixed)
    needed = naive.true_dependencies(document, n, fixed)
    for node, (values, dependencies) in check.nodes(*pair.bytes).items():
        assert set(values) == oracle.values[node] >= truth[node], node
        assert set(dependencies) == oracle.dependencies[node], node
        assert needed[node] <= set(dependencies), node
    for at in range(n):
        depends = sorted(oracle.dependencies["label", at])
        values = sorted(oracle.values[document["output"]["variable"], at])
        claim = {"free": len(naive.free_positions(document, n, fixed)), "c": len(depends), "values": values}
        claim["dependencies"] = mutations.joined(depends)
        pair = mutations.sealed(document, certificate(n, fixed=listed, cone=cone, target=at, claim=claim))
        assert mutations.is_true(pair)
        assert check.verify(*pair.bytes) == trusted_check(*pair.bytes, None, "certificate", None)


# ---------------------------------------------------------------- certificates that lie


def of_both(domain: int, rule: str) -> Document:
    """A map of a position and its token."""
    return map_("o", ["token", "position"], domain, rule)


COPY = model(head("h", "j == i"))
"""The head copies its own token."""
COPIES = claiming(3, c=1, dependencies=[[2, 1]], values=[0, 1])
CONSTANT = {**certificate(3, target="all"), "claim": {"free": 3, "c": 0}}
"""All labels are constant."""
MARKED = {**COPY, "start_marker": "<", "end_marker": ">"}

CERTIFICATES: dict[str, tuple[Document, Document]] = {
    "values that the output does not keep to": (COPY, claiming(3, c=1, dependencies=[[2, 1]])),
    "no dependencies": (COPY, claiming(3, values=[0, 1])),
    "another dependency": (COPY, claiming(3, c=1, dependencies=[[1, 1]], values=[0, 1])),
    "a dependency listed twice": (COPY, claiming(3, c=2, dependencies=[[2, 1], [2, 1]], values=[0, 1])),
    "a dependency on a marker": (
        {**COPY, "end_marker": ">"},
        claiming(3, free=2, c=1, dependencies=[[2, 1]], values=[0, 1, 2]),
    ),
    "more free positions than there are": (COPY, claiming(3, free=4, c=1, dependencies=[[2, 1]], values=[0, 1])),
    "the markers counted as free": (MARKED, claiming(4, {"target": 1}, c=1, dependencies=[[1, 1]], values=[0, 1])),
    "a run over a marker": (MARKED, claiming(4, {"fixed": [[1, 3, "0"]]}, free=0, values=[3])),
    "a free position fixed to a marker": (MARKED, claiming(3, {"fixed": [[1, 1, "<"]]}, free=0, values=[3])),
    "a run of 2^63-1 positions": (COPY, claiming(3, {"fixed": [[2, 2**63 - 1, "0"]]}, free=2)),
    "c at the last position for all": (model(of_both(2, "token if position < n - 1 else 0")), CONSTANT),
    "one label for the target all, but at one position": (
        model(of_both(3, "2 if token and position == 1 else token"), labels=["x", "x", "y"]),
        CONSTANT,
    ),
    "an output outside the cone": (COPY, claiming(3, {"cone": {}, "fixed": [[0, 3, "0"]]}, free=0)),
}


@pytest.mark.parametrize("name", CERTIFICATES)
def test_a_certificate_that_claims_too_much_is_refused(name: str) -> None:
    refused(mutations.sealed(*CERTIFICATES[name]), 3, 4)


def test_another_digest_and_one_written_in_another_way_are_refused() -> None:
    pair = mutations.sealed(COPY, COPIES)
    assert mutations.verdict(pair) == 0
    right = pair.certificate["model"]["sha256"]
    wide = right.translate({0x30: 0xFF10})
    others: list[Any] = ["0" * 64, "", "A" * 64, None, 0]
    for digest in (*others, right.upper(), right + "\n", right + " ", " " + right, right[:-1], wide):
        refused(mutations.Pair(COPY, {**pair.certificate, "model": {"name": "m", "sha256": digest}}), 4)


# ---------------------------------------------------------------- models that are not models

MODELS: dict[str, Document] = {
    "a variable called position": model(map_("position", [], 2, "0")),
    "a variable called k": model(map_("k", [], 2, "0"), head("h", "k", key="k")),
    "a name with a line break": model(map_("a\n", [], 2, "0")),
    "a name in full-width letters": model(map_("\uff41", [], 2, "0")),
    "j in a map": model(map_("a", [], 2, "j % 2")),
    "k in a branch never taken, without a key": model(head("h", "k if 0 else 1")),
    "a map outside its domain at one place": model(
        map_("a", ["token", "position"], 2, "token + token * position // 2")
    ),
    "an axis dim in a map": model(map_("a", ["token"], 2, table("dim", [0, 1]))),
    "an axis dim in a table of scores": model(head("h", table("k dim", [[0, 1], [1, 0]]), key="token")),
    "a default of true": model(head("h", "0", default=True, mask="strict_past")),
    "a marker outside the domain": model(map_("a", ["token"], 2, "token"), end_marker="$"),
    "an entry that is read of a table that is too long": model(map_("a", [], 2, table("i", [0, 1, 7]))),
    "a domain of 0": model(map_("a", [], "n - 3", "0")),
    "a domain that depends on i": model(map_("a", [], "i + 2", "0")),
    "an overflow in a branch never taken": model(map_("a", ["token"], 2, f"{LARGEST} + 1 if 0 else token")),
    "an overflow that cancels": model(map_("a", ["token"], 2, f"({LARGEST} + token) * 0 + token")),
    "the least number negated": model(map_("a", ["token"], 2, f"(-{LEAST}) * 0 + token")),
    "the least number's absolute value": model(head("h", f"abs({LEAST})")),
    "the least number divided by -1": model(head("h", f"{LEAST} // -1")),
    "a division by a token": model(head("h", "1 // k", key="token")),
    "a remainder by j - i": model(head("h", "1 % (j - i)")),
    "a root of j - i": model(head("h", "isqrt(j - i)")),
    "a file outside the folder, for Windows": model(files={"..\\x": "0" * 64}),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_breaks_a_rule_is_refused(name: str) -> None:
    """Whatever is claimed: here everything is fixed, and the output is claimed to be 0."""
    refused(mutations.sealed(MODELS[name], claiming(3, {"fixed": [[0, 3, "0"]]}, free=0)), 4)


# ---------------------------------------------------------------- well-formed and treacherous

TREACHEROUS: dict[int, dict[str, Document]] = {
    1: {"an end marker alone": model(end_marker=">")},
    2: {
        "an argument called dim": model(
            map_("dim", ["token"], 2, "token"), map_("o", ["dim"], 2, table("dim", [0, 1]))
        ),
        "a map's table longer than the input": model(map_("o", [], 2, table("i", [0, 1, 7]))),
        "a dot product at the border of 64 bits": model(head("h", dot("dim", [2**62 - 1, 1], "dim", [-2, 1]))),
        "a constant domain by an expression": model(head("h", "k", key="token", domain="1 + 1")),
        "a domain that only all combinations show": model(map_("o", ["token"], 1, "token - token")),
        "no accepted value": model(accept=[]),
        "a marker as the output": model(start_marker="<", accept=[2]),
    },
    3: {
        "arguments called dim and table": model(
            map_("dim", ["token"], 2, "token"),
            map_("table", ["token", "position"], 3, "(token + position) % 3"),
            map_("o", ["table", "dim"], 3, table("dim i table", [[[0, 1, 2]] * 3, [[2, 0, 1]] * 3])),
        ),
        "names with capital letters of reserved words": model(
            map_("N", ["token"], 2, "token"), map_("If", ["N"], 2, "N if N else not N - 1"), head("h", "k", key="If")
        ),
        "two spellings of one symbol": model(head("h", "k", key="token"), alphabet=["\u00e9", "e\u0301"]),
        "an alphabet of one symbol": model(head("h", "hash(k, j) % 3", key="token"), alphabet=["0"]),
        "one symbol and both markers": model(
            head("h", "hash(k, j) % 3", key="token"), alphabet=["0"], start_marker="<", end_marker=">"
        ),
        "every score the least number": model(head("h", LEAST, ties="right")),
        "scores at both ends": model(head("h", f"{LEAST} if k else {LARGEST}", key="token", ties="right")),
        "scores at both ends, by position": model(head("h", f"{LEAST} if j % 2 else {LEAST} + k", key="token")),
        "nothing visible": model(head("h", "k", key="token", mask="strict_past", default=1)),
        "nothing visible, with a wider domain": model(
            head("h", "k", key="token", mask="strict_future", domain=5, default=4), map_("o", ["h"], 5, "4 - h")
        ),
        "the query is the key": model(head("h", "q != k", query="token", key="token", value="position")),
        "the query is the key, and i is not visible": model(
            head("h", "q == k", query="token", key="token", value="token", mask="strict_past", default=1)
        ),
        "the query is the value": model(head("h", "(j == i) * q", query="token")),
        "a key mentioned in a branch never taken": model(head("h", "j if 1 else k", key="token")),
        "a query mentioned times 0": model(head("h", "q * 0 + j", query="token")),
        "a key that is not mentioned": model(head("h", "j", key="token", query="position", value="position")),
        "an unmentioned key that is the value": model(head("h", "0", key="token", ties="right")),
        "a table without axes": model(head("h", table("", -5), ties="right")),
        "a table longer than the input": model(
            head("h", table("j k", [[3, 0], [0, 2], [1, 1], [9, 9], [9, 9]]), key="token")
        ),
        "a table with its axes the other way": model(
            head("h", table("k i q", [[[0, 1]] * 4, [[1, 0]] * 4]), query="token", key="token")
        ),
        "a dot product by position only": model(
            head("h", dot("i q dim", [[[1, 0], [0, 1]]] * 3, "j dim", [[1, -1], [0, 2], [1, 1], [9, 9]]), query="token")
        ),
        "an argument that the map ignores": model(of_both(2, "i % 2")),
        "a map of no arguments": model(map_("o", [], "n", "n - 1 - i"), head("h", "k", key="o")),
        "a domain that depends on n": model(
            map_("o", ["position"], "n * n", "position * i"), head("h", "-k", key="o", value="o")
        ),
        "labels that coincide": model(of_both(4, "token + 2 * (position % 2)"), labels=["a", "a", "a", "b"]),
        "the position as the output": model(output={"variable": "position", "position": "every"}),
        "equal to equal": model(of_both(2, "token == position == 1")),
        "not before a comparison": model(of_both(2, "not token == position")),
        "and before or": model(of_both(2, "1 or token and 0 or position")),
        "a conditional in a conditional": model(of_both(3, "1 if token else 2 if position == 1 else 0 if i else 2")),
        "truth values added": model(of_both(4, "(token < 1) + (position or 0) + (not 5 - 5)")),
    },
    4: {
        "a floor of the least number, to the left": model(head("h", f"{LEAST} + k", key="token")),
        "a chain of comparisons": model(of_both(2, "0 <= token < position != 2")),
        "a minus before a division": model(of_both(9, "-position // 2 + 6 - token - 1 - -token % 3")),
    },
}
"""Models by the length at which they are judged."""


@pytest.mark.parametrize("restrictions", heavy_after((1, 3), 1))
@pytest.mark.parametrize(("n", "name"), [(n, name) for n, models in TREACHEROUS.items() for name in models])
def test_a_treacherous_model_is_judged_as_by_the_oracle(n: int, name: str, restrictions: int) -> None:
    """Under no restriction, with everything examined; under a random one, with half of the nodes examined."""
    document = TREACHEROUS[n][name]
    same_as_the_oracle(document, n)
    rng = random.Random(name)
    for _ in range(restrictions):
        free = naive.letters(document, n)
        fixed = {at: rng.choice(document["alphabet"]) for at in free if rng.random() < 0.5}
        cone = {
            v["name"]: mutations.joined([at for at in range(n) if rng.random() < 0.7]) for v in document["variables"]
        }
        same_as_the_oracle(document, n, fixed, {key: runs for key, runs in cone.items() if runs})


def test_the_order_of_a_cone_does_not_matter() -> None:
    """The nodes are examined in the order of the program, not of the cone."""
    document = model(map_("a", ["token"], 2, "1 - token"), head("b", "k", key="a", value="a"), map_("c", ["b"], 2, "b"))
    cone = {"c": [[2, 1]], "b": [[1, 1], [2, 1]], "a": [[0, 3]]}
    same_as_the_oracle(document, 3, {1: "0"}, cone)


# ---------------------------------------------------------------- tensor files


def with_file(folder: Path, content: bytes, sizes: Document | None = None, digest: str | None = None) -> mutations.Pair:
    """A model that scores tokens by tensor ``t`` of a file, with the last value claimed to be that of a 1."""
    (folder / "x.safetensors").write_bytes(content)
    score = {"table": {"axes": ["k"], "file": "x.safetensors", "tensor": "t"}}
    files = {"x.safetensors": digest or hashlib.sha256(content).hexdigest()}
    document = model(head("h", score, key="token"), files=files)
    return mutations.sealed(document, claiming(2, {"fixed": [[0, 1, "1"]]}, free=1, values=[1]))


@pytest.mark.parametrize(
    ("kind", "numbers", "true"),
    [
        ("I8", [-1, 1], True), ("U8", [255, 1], False), ("I16", [-256, 1], True), ("U16", [256, 1], False),
        ("I16", [256, 1], False), ("I16", [0x0100, 0x0201], True), ("I32", [-(2**31), 2**31 - 1], True),
        ("U32", [2**32 - 1, 0], False), ("I64", [-(2**63), 2**63 - 1], True), ("I64", [2**63 - 1, -(2**63)], False),
    ],
)  # fmt: skip
def test_the_bytes_of_a_tensor_are_read_with_sign_and_byte_order(
    tmp_path: Path, kind: str, numbers: list[int], true: bool
) -> None:
    """Signs and byte order: a score for a 1 that is at least as good forces the output; a worse one does not."""
    code = {"I64": "q", "I32": "i", "I16": "h", "I8": "b", "U32": "I", "U16": "H", "U8": "B"}[kind]
    data = struct.pack(f"<2{code}", *numbers)
    entry = {"t": {"dtype": kind, "shape": [2], "data_offsets": [0, len(data)]}}
    pair = with_file(tmp_path, tensor_file(entry, data))
    assert mutations.verdict(pair, folder=tmp_path) == (0 if true else 3)
    inlined = naive.inline(pair.model, tmp_path)
    assert (naive.true_values(inlined, 2, {0: "1"})["h", 1] == {1}) == true


GOOD = {"t": {"dtype": "I8", "shape": [2], "data_offsets": [0, 2]}}
FILES: dict[str, bytes] = {
    "truth values": tensor_file({"t": {**GOOD["t"], "dtype": "BOOL"}}, b"\0\1"),
    "unsigned 64 bits": tensor_file({"t": {"dtype": "U64", "shape": [2], "data_offsets": [0, 16]}}, bytes(16)),
    "offsets the wrong way round": tensor_file({"t": {**GOOD["t"], "data_offsets": [2, 0]}}, b"\0\1"),
    "negative offsets": tensor_file({"t": {**GOOD["t"], "data_offsets": [-2, 0]}}, b"\0\1"),
    "one offset": tensor_file({"t": {**GOOD["t"], "data_offsets": [2]}}, b"\0\1"),
    "a shape of another size": tensor_file({"t": {**GOOD["t"], "shape": [1]}}, b"\0\1"),
    "a shape of two axes": tensor_file({"t": {**GOOD["t"], "shape": [2, 1]}}, b"\0\1"),
    "a negative shape": tensor_file({"t": {**GOOD["t"], "shape": [-1, -2]}}, b"\0\1"),
    "an empty shape": tensor_file({"t": {**GOOD["t"], "shape": []}}, b"\0\1"),
    "the tensor twice": tensor_file(b'{"t": {"dtype": "I8", "shape": [2], "data_offsets": [0, 2]}, '
                               b'"t": {"dtype": "I8", "shape": [2], "data_offsets": [2, 4]}}', b"\0\1\1\0"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_malformed_tensor_file_is_refused(tmp_path: Path, name: str) -> None:
    for content, code in ((tensor_file(GOOD, b"\0\1"), 0), (FILES[name], 4)):
        assert mutations.verdict(with_file(tmp_path, content), folder=tmp_path) == code


# ---------------------------------------------------------------- the one about batches


def test_the_judge_sees_the_axis_dim() -> None:
    """The evaluators read an axis called dim, which is only special in a dot product."""
    document = TREACHEROUS[2]["an argument called dim"]
    at = loads(mutations.encode(document)).at(2)
    assert run_batch(at, np.array([[0, 1], [1, 0]])).values["o"].tolist() == [[0, 1], [1, 0]]
    assert naive.run(document, [0, 1]).values["o"] == [0, 1]


@pytest.mark.parametrize("rule", ["hash({}) % 2", "hash({}) - 1"])
def test_a_product_of_domains_with_thousands_of_digits_is_a_resource_limit(rule: str) -> None:
    """A resource limit, and no traceback: 300 arguments of 2^62 values each, unexamined."""
    wide = [map_(f"a{index}", [], 2**62, "0") for index in range(300)]
    names = [variable["name"] for variable in wide]
    pair = mutations.sealed(
        model(*wide, map_("o", names, 2, rule.format(", ".join(names)))), claiming(2, {"cone": {"o": [[1, 1]]}})
    )
    assert mutations.verdict(pair) == 5
