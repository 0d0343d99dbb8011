"""Random pairs of a program and a proof for the kernel, and mutants of proofs."""

import json
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Any

from numpy.random import Generator

from restrict.base.errors import RestrictError
from restrict.certificate.refutation import Refutation
from restrict.certification import certify
from restrict.checker.account import Meter, Place
from restrict.checker.proof import check
from restrict.corollary2.refute import refute
from restrict.elaboration.make import Elaborated, Elaboration
from restrict.model.fileformat import loads
from restrict.optimum.lower_bound import lower_bound
from restrict.report.lower_bound import has_claim
from tests import bound_mutations, mutations, naive
from tests.fuzzing.certificates import INPUTS
from tests.fuzzing.changes import bytes_changed
from tests.fuzzing.kinds import Trial, sealed
from tests.generator import random_length, random_program
from tests.mutations import Document, Pair
from tests.trusted import Reject

LIMIT = 10**8
MOST_WORDS = 700
LANGUAGES = ("parity", "1*", "regex[01]:(01)*", "majority")


def few_words(model: Document, n: int) -> bool:
    """Whether all words can be tried."""
    return bool(len(model["alphabet"]) ** len(naive.letters(model, n)) <= MOST_WORDS)


def certificate_pair(rng: Generator) -> Pair:
    """A model and a certificate, now and then one that claims too much."""
    while True:
        pair = mutations.original(rng)
        if few_words(pair.model, pair.certificate["n"]):
            return changed(rng, pair) if rng.random() < 0.3 else pair


def changed(rng: Generator, pair: Pair) -> Pair:
    """The same with another claim."""
    claim = json.loads(json.dumps(pair.certificate["claim"]))
    kind = int(rng.integers(4))
    if kind == 0 and len(claim.get("values", ())) > 1:
        claim["values"].pop(int(rng.integers(len(claim["values"]))))
    elif kind == 1 and claim.get("dependencies"):
        listed = [at for start, count in claim["dependencies"] for at in range(start, start + count)]
        listed.pop(int(rng.integers(len(listed))))
        claim |= {"dependencies": [[at, 1] for at in listed], "c": len(listed)}
    elif kind == 2 and "dependencies" in claim:
        taken = {at for start, count, _ in pair.certificate["fixed"] for at in range(start, start + count)}
        listed = [at for at in naive.letters(pair.model, pair.certificate["n"]) if at not in taken]
        claim |= {"dependencies": [[at, 1] for at in listed], "c": len(listed)}
    elif "dependencies" not in claim:
        claim["c"] = max(0, claim["c"] - 1)
    return Pair(pair.model, {**pair.certificate, "claim": claim})


def bound_pair(rng: Generator) -> Pair:
    """A model and a lower bound, now and then one that claims too much."""
    while True:
        pair = bound_mutations.original(rng)
        if not few_words(pair.model, pair.certificate["n"]):
            continue
        claim = json.loads(json.dumps(pair.certificate["claim"]))
        if rng.random() < 0.3 and claim["labels"]:
            name = list(claim["labels"])[int(rng.integers(len(claim["labels"])))]
            claim["labels"][name] = min(claim["labels"][name] + 1, pair.certificate["n"] + 1)
        return Pair(pair.model, {**pair.certificate, "claim": claim})


def refutation_pair(rng: Generator) -> Pair:
    """A model and a refutation."""
    while True:
        document = random_program(rng, None, 6)
        document["alphabet"] = ["0", "1"]
        try:
            model = loads(mutations.encode(document))
            found = refute(model, LANGUAGES[int(rng.integers(len(LANGUAGES)))], random_length(rng, document))
        except RestrictError:
            continue
        if isinstance(found, Refutation):
            return Pair(document, json.loads(found.to_bytes()))


def new_verdict(pair: Pair) -> tuple[str | int, Elaborated | None]:
    """The kernel's line, or the exit code; and what was elaborated."""
    try:
        found = Elaboration(*pair.bytes)
        return found.check(), found.made
    except RestrictError as error:
        return error.exit_code, None


def kernel_verdict(program: bytes, proof: bytes, limit: int = LIMIT) -> str | int:
    """What the proof concludes, or the exit code."""
    try:
        found = check(program, proof, (Place("program"), Place("proof")), Meter(limit)).found
    except Reject as reject:
        return reject.code
    assert found is not None
    return found.text


def about(program: str, lines: Iterable[str]) -> tuple[bytes, bytes]:
    """A program, and a proof about it of these lines."""
    text = program.encode()
    return text, "".join(f"{line}\n" for line in (f"restrict-kernel/1 {sha256(text).hexdigest()}", *lines)).encode()


# ---------------------------------------------------------------- mutants

Operator = Callable[[Generator, list[list[str]]], None]


def off_by_one(rng: Generator, lines: list[list[str]]) -> None:
    """One number one higher or lower."""
    line = lines[int(rng.integers(1, len(lines)))]
    if len(line) > 1:
        at = int(rng.integers(1, len(line)))
        line[at] = str(int(line[at]) + (1 if rng.random() < 0.5 else -1))


def another_number(rng: Generator, lines: list[list[str]]) -> None:
    """One number replaced by another of the file."""
    one, other = (lines[int(rng.integers(1, len(lines)))] for _ in range(2))
    if len(one) > 1 and len(other) > 1:
        one[int(rng.integers(1, len(one)))] = other[int(rng.integers(1, len(other)))]


def swap_lines(rng: Generator, lines: list[list[str]]) -> None:
    """Two lines change places."""
    a, b = (int(rng.integers(1, len(lines))) for _ in range(2))
    lines[a], lines[b] = lines[b], lines[a]


def drop_line(rng: Generator, lines: list[list[str]]) -> None:
    """One line less."""
    lines.pop(int(rng.integers(1, len(lines))))


def double_line(rng: Generator, lines: list[list[str]]) -> None:
    """One line twice."""
    at = int(rng.integers(1, len(lines)))
    lines.insert(at, list(lines[at]))


def change_set(rng: Generator, lines: list[list[str]]) -> None:
    """One value more or less in a set."""
    sets = [line for line in lines if line[0] == "set"]
    if sets:
        line = sets[int(rng.integers(len(sets)))]
        values = {int(word) for word in line[1:]} ^ {int(rng.integers(4))}
        line[1:] = map(str, sorted(values))


def change_runs(rng: Generator, lines: list[list[str]]) -> None:
    """Some positions less in runs."""
    runs = [line for line in lines if line[0] == "runs" and len(line) > 1]
    if runs:
        line = runs[int(rng.integers(len(runs)))]
        at = 1 + 2 * int(rng.integers(len(line) // 2))
        del line[at : at + 2]


def loosen_group(rng: Generator, lines: list[list[str]]) -> None:
    """The least score of a witness, or the bar of a row, is another one."""
    found = [line for line in lines if line[0] == "row" or (line[0] == "head" and len(line) > 6)]
    if found:
        line = found[int(rng.integers(len(found)))]
        at = 4 if line[0] == "row" else 9 + 5 * int(rng.integers((len(line) - 6) // 5))
        line[at] = str(int(line[at]) + int(rng.integers(-3, 4)))


OPERATORS: tuple[Operator, ...] = (
    off_by_one, another_number, swap_lines, drop_line, double_line, change_set, change_runs, loosen_group,
)  # fmt: skip


def mutants(rng: Generator, proof: bytes, count: int) -> Iterator[bytes]:
    """Proofs that differ from this one in one to three ways."""
    for _ in range(count):
        lines = [line.split(" ") for line in proof.decode().splitlines()]
        for _ in range(1 + int(rng.integers(3))):
            if len(lines) > 1:
                OPERATORS[int(rng.integers(len(OPERATORS)))](rng, lines)
        yield "".join(" ".join(line) + "\n" for line in lines).encode()


def pair_mutants(rng: Generator, program: bytes, proof: bytes, count: int) -> Iterator[tuple[bytes, bytes]]:
    """Both files, one of them changed, mostly the proof; the digest is that of the program, but for a few."""
    for _ in range(count):
        if rng.random() < 0.6:
            yield program, next(mutants(rng, proof, 1))
            continue
        if rng.random() < 0.15:
            yield program, bytes_changed(rng, proof)
            continue
        changed = changed_program(rng, program)
        digest = sha256(changed).hexdigest() if rng.random() < 0.97 else "0" * 64
        rest = proof.partition(b"\n")[2]
        yield changed, f"restrict-kernel/1 {digest}\n".encode() + rest


SIGNS = ["c", "+", "-", "*", "/", "%", "<", "=", "?", "&", "|", "r", "h", "m", "t", "x"]


def changed_program(rng: Generator, program: bytes) -> bytes:
    """A program with a number, an operation, a line or some bytes changed."""
    if rng.random() < 0.1:
        return bytes_changed(rng, program)
    lines = [line.split(" ") for line in program.decode().splitlines()]
    for _ in range(1 + int(rng.random() < 0.2)):
        line, other = (lines[int(rng.integers(len(lines)))] for _ in range(2))
        at, kind = int(rng.integers(len(line))), int(rng.integers(8))
        if kind < 4 and line[at].lstrip("-").isdigit():
            line[at] = str(int(line[at]) + int(rng.integers(-2, 3)))
        elif kind == 4:
            line[at] = other[int(rng.integers(len(other)))]
        elif kind == 5:
            line[at] = SIGNS[int(rng.integers(len(SIGNS)))]
        elif kind == 6:
            line.insert(at, other[int(rng.integers(len(other)))])
        elif len(line) > 1:
            del line[at]
    return "".join(" ".join(line) + "\n" for line in lines).encode()


# ---------------------------------------------------------------- larger programs

LARGE_KINDS = ("searched", "at every position", "split", "cases", "refutation", "lower-bound")
LARGEST_LENGTH = 40


def large_trial(rng: Generator, kind: str) -> Trial:
    """A random program of up to some tens of positions, with what the engine finds about it."""
    while True:
        n = 2 + int(LARGEST_LENGTH * rng.random() ** 2)
        model = random_program(rng, n, 6)
        if kind == "at every position":
            model["output"]["position"] = "every"
        if kind == "refutation":
            model["alphabet"] = ["0", "1"]
        try:
            proof = found_by_the_engine(rng, model, n, kind)
        except RestrictError:
            continue  # not defined, or nothing is found
        if proof is not None:
            return sealed(mutations.encode(model), proof)


def found_by_the_engine(rng: Generator, model: Document, n: int, kind: str) -> Document | None:
    """What a search finds; None where it finds nothing."""
    if kind in ("split", "cases"):
        return mutations.certified(rng, model, n, kind, INPUTS)
    program, seed = loads(mutations.encode(model)), int(rng.integers(99))
    found: Any
    if kind == "refutation":
        found = refute(program, LANGUAGES[int(rng.integers(len(LANGUAGES)))], n, seed=seed)
        if not isinstance(found, Refutation):
            return None
    elif kind == "lower-bound":
        found = lower_bound(program, n, seed=seed, time=1).bound
        if not has_claim(found):
            return None
    elif kind == "searched":
        found = certify(program, n, c=int(rng.integers(3)), seed=seed)
    else:
        found = certify(program, n, target="all", seed=seed)
    return dict(json.loads(found.to_bytes()))
