"""What the tests of docs/how-it-could-be-wrong.md share: small models, proofs of claims about them, and verdicts."""

import json
from functools import lru_cache, partial
from typing import Any

from restrict.all_lengths.bimachine import Limits
from restrict.all_lengths.proof import document
from restrict.all_lengths.recognise import recognise
from restrict.all_lengths.stages import build
from restrict.checker.account import Reject
from restrict.model.fileformat import dumps, loads
from tests import documents
from tests.fuzzing.kinds import Trial, sealed
from tests.trusted import verify

Document = dict[str, Any]


def model(score: str = "0", ties: str = "right", mask: str = "none", **more: Any) -> Document:
    """One head that copies a token; by default the last one."""
    head = documents.head("h", score, key="token", ties=ties, mask=mask)
    head |= {key: more.pop(key) for key in ("domain", "default") if key in more}
    output = {"position": "last", "accept": [1]} | more.pop("output", {})
    return documents.model(head, **{"alphabet": "ab"} | output | more)


LAST, CONTAINS = model(), model("k")
"""Accepts words that end with b; words with a b."""
MARKED = {"start_marker": "<", "end_marker": ">"}
EVERY = model(mask="past", output={"position": "every"})
"""Copies each token."""


def bare(document: Document, *dropped: str, **output: Any) -> Document:
    """The model with other labels: without `accept`, or with something else in its place."""
    kept = {key: value for key, value in document["output"].items() if key not in ("accept", *dropped)}
    return {**document, "output": {**kept, **output}}


def certificate(n: int, **more: Any) -> Document:
    """A certificate that everything is free, and the output at the last position (or at all) depends on one input."""
    last = {} if more.get("target") == "all" else {"dependencies": [[n - 1, 1]], "values": [0, 1]}
    claim = {"free": n, "c": 1} | last | more.pop("claim", {})
    fields: Document = {"format": "restrict-certificate/1", "model": {"name": "m", "sha256": ""}, "n": n}
    return {**fields, "target": "last", "fixed": [], "cone": "all", "claim": claim, **more}


def bound(n: int, boxes: list[Document], others: int | None = None, **labels: int) -> Document:
    """A lower bound."""
    claim: Document = {"labels": labels} | ({} if others is None else {"others": others})
    fields: Document = {"format": "restrict-lower-bound/1", "model": {"name": "m", "sha256": ""}, "n": n}
    return {**fields, "target": "last", "boxes": boxes, "claim": claim}


def refutation(inner: Document, member: str, nonmember: str, language: Document, **more: Any) -> Document:
    """A refutation with two words, from the first position without a marker on."""
    start = more.pop("start", 0)
    words = [[[start + at, 1, symbol] for at, symbol in enumerate(word)] for word in (member, nonmember)]
    fields = {"format": "restrict-refutation/1", "certificate": inner, "language": language}
    return {**fields, "member": words[0], "nonmember": words[1], **more}


def automaton(moves: list[list[int]], accept: list[int], alphabet: str = "ab", start: int = 0) -> Document:
    """A language as a complete automaton."""
    fields: Document = {"format": "restrict-dfa/1", "alphabet": list(alphabet), "start": start}
    return {**fields, "accept": accept, "transitions": moves}


ENDS_WITH_B = automaton([[0, 1], [0, 1]], [1])
HAS_B = automaton([[0, 1], [1, 1]], [1])
PARITY = {"name": "parity", "alphabet": ["a", "b"]}


@lru_cache(64)
def layers(content: bytes) -> str:
    """The engine's proof of what a model is at every length, without a claim."""
    program = loads(content)
    return json.dumps(document(program, build(recognise(program), Limits(400), keep=True), {}))


def everywhere(document: Document, claim: Document, **more: Any) -> tuple[Document, Document]:
    """A model and the proof for all lengths, with a claim of anybody's."""
    return document, {**json.loads(layers(dumps(document))), "claim": claim, **more}


def code(document: Document, made: Document, limit: int = 10_000_000) -> int:
    """The checker's exit code for a proof, or for a claim about every length, which gets the engine's layers."""
    trial: Trial = sealed(*everywhere(document, made) if "kind" in made else (document, made))
    try:
        line = verify(trial.model, trial.proof, limit=limit)
    except Reject as reject:
        return reject.code if "\n" not in str(reject) else 1
    assert line.startswith("s VERIFIED ")
    return 0


def holds(document: Document, *made: Document, expected: int = 0) -> None:
    """Each of the proofs or claims about a model is verified; or is refused with another exit code."""
    for one in made:
        assert code(document, one) == expected, one


fails, malformed = partial(holds, expected=3), partial(holds, expected=4)
"""Each is well-formed and not established; each is malformed."""
