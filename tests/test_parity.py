"""Package and checker read models in the same way, so that an elaborated proof is about the same program."""

import hashlib
import json

import pytest

from restrict.base.errors import ModelError, ResourceLimit, RestrictError
from restrict.elaboration.trusted import trusted_check
from restrict.model.expr_parser import parse
from restrict.model.fileformat import loads
from tests import documents
from tests import trusted as check


def encoded(document: dict[str, object]) -> bytes:
    """A document as a file."""
    return json.dumps(document).encode()


def test_known_keys_of_an_enormous_domain_are_scanned() -> None:
    """Found by the fuzzer: the engine refuses a row of so many pairs; the certificate leaves one for each position."""
    n, wide = 300, 1 << 62
    key = documents.head("a", "0", "position", mask="strict_future", domain=wide)
    out = documents.head("b", "q != k", "a", key="a", query="position")
    model = encoded(documents.model(key, out, position="last", name="wide"))
    claim = {"free": n, "c": 0, "dependencies": [], "values": [1]}
    certificate = encoded(
        {
            "format": "restrict-certificate/1",
            "model": {"name": "wide", "sha256": hashlib.sha256(model).hexdigest()},
            "n": n,
        }
        | {"target": "last", "fixed": [], "cone": {"a": [[0, n]], "b": [[n - 1, 1]]}, "claim": claim}
    )
    assert check.verify(model, certificate).startswith(f"s VERIFIED n={n} ")


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        ("hash(1) * 3 + k", 4), ("k // (1 < 2)", 4), ("9223372036854775807 * (1 > 2) * 2 + k", 4),
        ("hash(1) // 3 + k", 0), ("min(" + ", ".join(["k", "1"] * 700) + ")", 0), ("k" + " < 2" * 1500, 0),
        ("hash(" + ", ".join(["k", "1"] * 90) + ") // 2", 0),
    ],
)  # fmt: skip
def test_package_and_checker_read_the_same_expressions(score: str, expected: int) -> None:
    """A hash and a comparison have an interval, not a value, before interval analysis; no width is too wide."""
    data = encoded(documents.model(documents.head("h", score, key="token"), position="last"))
    certificate = {
        "format": "restrict-certificate/1",
        "model": {"name": "m", "sha256": hashlib.sha256(data).hexdigest()},
        **{"n": 3, "target": "last", "fixed": [], "cone": "all"},
        "claim": {"free": 3, "c": 3, "dependencies": [[0, 3]], "values": [0, 1]},
    }
    try:
        trusted_check(data, json.dumps(certificate).encode(), None, "certificate", 10**6)
        code = 0
    except RestrictError as error:
        code = error.exit_code
    assert code == expected
    try:
        loads(data).at(3)
        package = 0
    except ModelError:
        package = 4
    assert package == expected


def test_a_hash_of_thousands_is_a_limit_of_the_package() -> None:
    with pytest.raises(ResourceLimit, match="hashes more than 200"):
        parse(f"hash({', '.join(['k'] * 1500)})", frozenset("k"))
