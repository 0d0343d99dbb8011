"""Proofs for the kernel with one line that is false, and all later lines as strong as the kernel's rules then allow.

A random mutant of a proof is mostly refused at a line that has nothing to do with what was changed, and what it claims
mostly stays true. Here one line says too much (a value or a position less, a row whose bar is lower or which lists
less, another witness or floor, a case left out); it is taken as it is, and from there on each fact is made as small as
its rule lets it. So the conclusion is often false, and only the rule of that one line can refuse it. A second family
are proofs of a program that is not quite this one: another mask, tie, default or number, under this one's digest."""

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

from numpy.random import Generator

from restrict.checker.account import Meter, Place, Reject
from restrict.checker.kernel import Kernel
from restrict.checker.normal_form import Program
from restrict.checker.proof import FORMS, Proof, fixed_letters
from restrict.elaboration.make import Elaborated

LIMIT, LAST = 10**7, ("claim", "refutes", "all", "unforced")


class Written(Proof):
    """The tables of a proof that is being written; its sets and runs are numbered anew."""

    def __init__(self, program: bytes) -> None:
        self.meter, self.place = Meter(LIMIT), Place("proof")
        self.program = Program(program, Place("program"), self.meter)
        self.kernel, self.digest = Kernel(self.program, self.meter), sha256(program).hexdigest()
        self.automata, self.words, self.found = [], [], None
        self.letters, self.trusting = fixed_letters(self.program), False
        self.text, self.sets_of, self.runs_of = [f"restrict-kernel/1 {self.digest}"], list[int](), [0]

    def right(self, holds: bool) -> None:
        """The rule of a line that is trusted need not hold."""
        if not self.trusting:
            super().right(holds)

    def say(self, name: str, *words: int) -> None:
        """Write a line."""
        self.line(name, list(map(str, words)))
        self.text.append(" ".join([name, *map(str, words)]))

    def number(self, values: frozenset[int]) -> int:
        """A set's number; it is written if it is new."""
        if values not in self.kernel.sets:
            self.say("set", *sorted(values))
        return self.kernel.sets.index(values)

    def run_number(self, places: set[int]) -> int:
        """The number of runs; they are written if they are new."""
        ends = [e for j in sorted(places) for e in (j, j + 1)]
        ends = [e for e in ends if ends.count(e) == 1]
        if tuple(ends) not in self.kernel.runs:
            self.say("runs", *ends)
        return self.kernel.runs.index(tuple(ends))

    def places(self, runs: int) -> set[int]:
        """The positions of runs."""
        ends = iter(self.kernel.runs[runs])
        return {j for a, b in zip(ends, ends, strict=True) for j in range(a, b)}

    def translated(self, name: str, words: list[str]) -> list[int]:
        """The numbers of a line, those of sets and runs as they are here."""
        form, found = FORMS[name], [int(word) for word in words]
        once, _, more = form.partition("*")
        letters = once + more * ((len(found) - len(once)) // len(more) if more else 0)
        tables = {"s": self.sets_of, "r": self.runs_of}
        return [tables[x][v] if x in tables else v for x, v in zip(letters, found, strict=True)]

    def smaller(
        self, rng: Generator, name: str, found: list[int], rule: Callable[..., bool] | None = None
    ) -> list[int]:
        """A fact with the fewest values and positions that its rule (or another one) allows, one left out after the
        other."""
        if name == "head" and rule is None:
            query = self.kernel.head_of(found[1]).query
            asked = self.kernel.known(found[0], query, found[2])[0] if query >= 0 else range(1)
            groups = [found[at : at + 5] for at in range(5, len(found), 5) if found[at] in asked]
            found = [*found[:5], *(word for group in groups for word in group)]
        at = FORMS[name].index("s")
        rule = rule or getattr(self.kernel, name)
        assert rule is not None
        head, tail = found[:at], found[at + 2 :]
        node, more = head[:3], [*head[3:], *tail]  # a case names its position before the set
        values, runs = self.kernel.sets[found[at]], found[at + 1]
        for value in rng.permutation(sorted(values)).tolist():
            if len(values) > 1 and rule(*node, values - {value}, runs, *more):
                values -= {value}
        left = self.places(runs)
        for j in rng.permutation(sorted(left)).tolist() if len(values) > 1 else ():
            if rule(*node, values, fewer := self.run_number(left - {j}), *more):
                left, runs = left - {j}, fewer
        return [*head, self.number(values), runs, *tail]


def lie(rng: Generator, made: Written, name: str, found: list[int]) -> list[int]:
    """A line that says more than the one that is there."""
    kernel, form, said = made.kernel, FORMS[name], list(found)
    if name in LAST:
        at = int(rng.integers(min(6, len(said))))
        said[at] = max(0, said[at] + int(rng.choice([-1, 1])))
        return said
    if name == "row":
        if (left := made.places(said[5])) and rng.random() < 0.6:
            said[5] = made.run_number(left - {int(rng.choice(sorted(left)))})
        else:
            said[3 + int(rng.integers(2))] -= int(rng.choice([-1, 1, 2, 100]))
        return said
    kind, at = int(rng.integers(4 if name == "head" else 3)), form.index("s")
    values, places = kernel.sets[said[at]], made.places(said[at + 1])
    if kind == 0 and len(values) > 1:
        one = frozenset({int(rng.choice(sorted(values)))})
        said[at] = made.number(one if rng.random() < 0.6 else values - one)
    elif kind == 1 and places and len(values) > 1:
        said[at + 1] = made.run_number(set() if rng.random() < 0.5 else places - {int(rng.choice(sorted(places)))})
    elif name == "case":
        kids, spot = said[6:], int(rng.integers(len(said) - 6))
        said[6:] = [*kids[:spot], *kids[spot + 1 :]] if rng.random() < 0.5 and len(kids) > 1 else kids
        said[-1] = said[-1] if len(kids) > len(said) - 6 else int(rng.integers(len(kernel.contexts)))
        return made.smaller(rng, name, said, lambda *words: in_kids(kernel, *words))
    elif name == "head" and len(said) > 5:
        return lie_of_a_head(rng, made, said)
    return said


def in_kids(kernel: Kernel, c: int, v: int, i: int, values: Any, where: int, p: int, *kids: int) -> bool:
    """What a case says, if its kids were all the ways to fill the position."""
    facts = [kernel.known(kid, v, i) for kid in kids]
    return all(f[0] and set(f[0]) <= set(values) and (len(values) == 1 or kernel.inside(f[1], where)) for f in facts)


def lie_of_a_head(rng: Generator, made: Written, said: list[int]) -> list[int]:
    """A head with a value of its query less, another row, a row whose bar is above the witness, or another witness or
    floor; what it shows is what the other values and pairs show."""
    kernel, (_, h, i, *_), kind = made.kernel, said, int(rng.integers(5))
    groups = [said[at : at + 5] for at in range(5, len(said), 5)]
    spot = int(rng.integers(len(groups)))
    u, row, witness, *_ = groups[spot]
    if kind == 0 and len(groups) > 1:
        groups.pop(spot)
    elif kind == 1:
        groups[spot][1] = int(rng.integers(len(kernel.rows)))
    elif kind == 2 and (left := made.places(kernel.rows[row][5])):
        runs = made.run_number(left - {int(rng.choice(sorted(left)))})
        made.trusting = False
        made.say("row", h, i, u, 10**15, witness, runs)  # true, as no score is as high
        groups[spot][1] = len(kernel.rows) - 1
    elif kind == 3:
        groups[spot][2] = int(rng.integers(made.program.n))
    else:
        groups[spot][3] += int(rng.choice([1, 2, 50]))
    real, at = list(kernel.rows), groups[spot % len(groups)][1]
    kernel.rows[at] = (h, i, groups[spot % len(groups)][0], -(10**15), 0, kernel.rows[at][5])

    def shown(c: int, v: int, i: int, values: Any, where: int, *words: int) -> bool:
        """The rule of the groups alone, each with a floor that its witness has."""
        return all(kernel.group(c, v, i, values, where, *group) for group in zip(*[iter(words)] * 5, strict=True))

    words = [word for group in groups for word in group]
    found = made.smaller(rng, "head", [*said[:5], *words], shown)
    kernel.rows[:] = real
    return found


def broken(rng: Generator, pair: Elaborated) -> bytes | None:
    """A proof with one line that is trusted; ``None`` where a later one cannot be written."""
    lines = [line.split() for line in pair.proof.decode().splitlines()[1:]]
    able = [k for k, line in enumerate(lines) if line[0] in ("row", "map", "head", "case", *LAST)]
    made, chosen = Written(pair.program), int(rng.choice(able)) if able else -1
    try:
        for k, (name, *words) in enumerate(lines):
            found = made.translated(name, words)
            if k == chosen:
                found, made.trusting = lie(rng, made, name, found), True
            elif k > chosen and name in ("map", "head", "case"):
                found = made.smaller(rng, name, found)
            elif k > chosen and name in ("claim", "all"):
                found = concluded(made, name, found)
            if name == "set":
                made.sets_of.append(made.number(frozenset(found)))
            elif name == "runs":
                made.runs_of.append(len(made.kernel.runs))
                made.say(name, *found)
            else:
                made.say(name, *found)
            made.trusting = False
    except Reject:
        return None
    return ("\n".join(made.text) + "\n").encode()


def concluded(made: Written, name: str, found: list[int]) -> list[int]:
    """The strongest claim that what is known allows."""
    if name == "all":
        runs = [made.kernel.known(found[0], made.kernel.label, i)[1] for i in range(made.program.n)]
        return [*found[:2], max(len(made.places(r)) if r > 0 else found[1] * (r == 0) + (r < -1) for r in runs)]
    c, i, free, k, _, r = found
    values, (_, where) = made.kernel.known(c, made.program.output, i)[0], made.kernel.known(c, made.kernel.label, i)
    if where < 0:
        r = made.run_number(set() if where == -1 else {-2 - where})
    elif made.places(where) <= made.places(r):
        r = where
    return [c, i, free, len(made.places(r)) if r != found[5] else k, made.number(frozenset(values)), r]


def otherwise(rng: Generator, program: bytes) -> bytes:
    """A program with one number changed: of a mask, a tie, a default, a score or a table."""
    lines = [line.split() for line in program.decode().splitlines()]
    line = lines[int(rng.integers(1, len(lines)))]
    if line[0] == "head":
        at = int(rng.choice([5, 6, 7]))
        line[at] = str((int(line[at]) + 1) % (5, 2, max(1, int(line[1])))[at - 5])
    numbers = [k + 1 for k, word in enumerate(line[:-1]) if word == "c"]
    numbers += range(1, len(line)) if line[0] == "tensor" else ()
    if numbers and (line[0] != "head" or rng.random() < 0.5):
        at = int(rng.choice(numbers))
        line[at] = str(int(line[at]) + int(rng.choice([-1, 1])))
    return ("\n".join(map(" ".join, lines)) + "\n").encode()


def sealed(program: bytes, proof: bytes) -> bytes:
    """The proof under the digest of a program."""
    _, _, rest = proof.partition(b"\n")
    return f"restrict-kernel/1 {sha256(program).hexdigest()}\n".encode() + rest


def forgeries(rng: Generator, pair: Elaborated, count: int) -> Iterator[tuple[bytes, Any]]:
    """Programs, each with a proof of which a line is broken, or that was another program's."""
    for _ in range(count):
        if rng.random() < 0.7:
            if (proof := broken(rng, pair)) is not None:
                yield pair.program, proof
        else:
            other = otherwise(rng, pair.program)
            yield other, sealed(other, pair.proof)
