"""A small forward checker for DRAT proofs, apart from the solvers that write them.

A proof is a list of lines: a lemma ``1 -2 0`` or a deletion ``d 1 -2 0``. A lemma must have the RUP property: assume
all its literals false; unit propagation over the clauses so far gives a conflict (Goldberg and Novikov, DATE 2003;
Wetzler, Heule and Hunt, SAT 2014). Then the clauses imply it. The proof is a refutation once the clauses and lemmas
give a conflict by unit propagation alone.

Only RUP is accepted: a RAT lemma, which need not be implied, is refused (solvers need them for few techniques, none
of which matters at our sizes). So all lemmas are consequences of the formula, and deletions can only lose strength;
literals once derived are kept when a clause that gave them is deleted (as drat-trim does), and unit clauses are never
deleted. Every refutation accepted here is accepted by a DRAT checker of that kind.
"""

from collections.abc import Iterable, Sequence


class ProofError(Exception):
    """The proof does not refute the formula; the message says where it fails."""


class Checker:
    """Clauses with two watched literals and a trail of literals that hold; ``refuted`` once they contradict."""

    def __init__(self, clauses: Iterable[Sequence[int]]) -> None:
        self.clauses, self.alive = list[list[int]](), list[bool]()
        self.numbers, self.watches = dict[tuple[int, ...], list[int]](), dict[int, list[int]]()
        self.true, self.trail = set[int](), list[int]()
        self.done, self.refuted = 0, False
        for clause in clauses:
            self.add(clause)

    def add(self, clause: Sequence[int]) -> None:
        """Take a clause as given. Cost: its length, and the propagation that it starts."""
        literals = sorted(set(clause), key=lambda y: (-y in self.true, y))
        number = len(self.clauses)
        self.clauses.append(literals)
        self.alive.append(True)
        self.numbers.setdefault(tuple(sorted(literals)), []).append(number)
        for y in literals[:2] if len(literals) > 1 else ():
            self.watches.setdefault(y, []).append(number)
        # Literals that are false already stand last, so one false among the first two means a unit or a conflict.
        if not literals or -literals[0] in self.true:
            self.refuted = True
        elif len(literals) == 1 or -literals[1] in self.true:
            self._assume(literals[0])
            self.refuted = self._propagate() or self.refuted

    def delete(self, clause: Sequence[int]) -> None:
        """Forget one copy of a clause (a missing one is an error); units stay."""
        literals = tuple(sorted(set(clause)))
        if not self.numbers.get(literals):
            raise ProofError(f"the deleted clause {' '.join(map(str, literals))} is not there")
        if len(literals) > 1:
            self.alive[self.numbers[literals].pop()] = False

    def implies(self, lemma: Sequence[int]) -> bool:
        """Whether the lemma has the RUP property. The trail is as before afterwards."""
        mark, conflict = len(self.trail), self.refuted
        for y in lemma:
            conflict = conflict or y in self.true
            self._assume(-y)
        conflict = conflict or self._propagate()
        for y in self.trail[mark:]:
            self.true.discard(y)
        del self.trail[mark:]
        self.done = mark
        return conflict

    def _assume(self, literal: int) -> None:
        if literal not in self.true:
            self.true.add(literal)
            self.trail.append(literal)

    def _propagate(self) -> bool:
        """Propagate what is on the trail; whether there is a conflict."""
        while self.done < len(self.trail):
            false = -self.trail[self.done]
            self.done += 1
            watching = self.watches.get(false, [])
            kept: list[int] = []
            for at, number in enumerate(watching):
                if not self.alive[number]:
                    continue
                if not self._moved(number, false):
                    kept.append(number)
                    first = self.clauses[number][0]
                    if -first in self.true:
                        self.watches[false] = kept + watching[at + 1 :]
                        return True
                    self._assume(first)
            self.watches[false] = kept
        return False

    def _moved(self, number: int, false: int) -> bool:
        """Watch another literal instead of a false one; if there is none, the other watched one comes first."""
        clause, true = self.clauses[number], self.true
        if clause[0] == false:
            clause[0], clause[1] = clause[1], clause[0]
        if clause[0] in true:
            return False
        for t in range(2, len(clause)):
            if -clause[t] not in true:
                clause[1], clause[t] = clause[t], clause[1]
                self.watches.setdefault(clause[1], []).append(number)
                return True
        return False


def check_refutation(clauses: Iterable[Sequence[int]], proof: Iterable[str]) -> int:
    """Check that a proof refutes a formula. Only RUP lemmas are accepted (Goldberg and Novikov, DATE 2003). Cost: one
    unit propagation a lemma. ``proof``: DRAT lines: a lemma ``1 -2 0`` or a deletion ``d 1 -2 0``. Lines after the
    contradiction are not read."""
    checker, lemmas = Checker(clauses), 0
    for at, line in enumerate(proof, 1):
        if checker.refuted:
            break
        literals, deletion = _read(line, at)
        if deletion:
            checker.delete(literals)
        elif checker.implies(literals):
            checker.add(literals)
            lemmas += 1
        else:
            raise ProofError(f"line {at}: {line.strip()!r} does not follow by unit propagation")
    if not checker.refuted:
        raise ProofError("the proof ends without a contradiction")
    return lemmas


def _read(line: str, at: int) -> tuple[list[int], bool]:
    words = line.split()
    deletion = bool(words) and words[0] == "d"
    try:
        numbers = [int(w) for w in words[1 if deletion else 0 :]]
    except ValueError:
        raise ProofError(f"line {at}: {line.strip()!r} is not a clause") from None
    if not numbers or numbers[-1] != 0 or 0 in numbers[:-1]:
        raise ProofError(f"line {at}: {line.strip()!r} does not end with its only 0")
    return numbers[:-1], deletion


def dimacs(clauses: Sequence[Sequence[int]], top: int) -> str:
    """The formula as a DIMACS file. ``top``: the largest variable, at least 0."""
    lines = [f"p cnf {top} {len(clauses)}", *(" ".join(map(str, [*clause, 0])) for clause in clauses)]
    return "\n".join(lines) + "\n"
