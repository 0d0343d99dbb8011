"""The slow, obvious oracle for the kernel's two files, written from docs/kernel-format.md alone.

A program is run on every word, and every line of a proof is read as the statement that it makes: a row about all
words, a fact about the words of its context, a conclusion about restrictions. Nothing here checks a rule: ``lies``
says which statements are false. Files are assumed to be well-formed.
"""

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

Word = tuple[int, ...]
Values = Sequence[Sequence[int]]
"""The values of a run: by variable, then by position."""

MASK = 2**64 - 1


def mixing(a: int, b: int) -> int:
    """One round of the hash."""
    x = (((a & MASK) ^ (b & MASK)) * 0xD6E8FEB86659FD93) & MASK
    return x ^ (x >> 32)


BINARY: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.floordiv, "%": operator.mod,
    "<": operator.lt, "=": operator.eq, "&": min, "|": max, "m": mixing,
}  # fmt: skip


def evaluate(words: Sequence[str], registers: list[int], tensors: Sequence[Sequence[int]]) -> int:
    """The result of straight-line code."""
    at = 0
    while at < len(words):
        sign, rest = words[at], [int(word) for word in words[at + 1 : at + 4] if word.lstrip("-").isdigit()]
        known = [registers[number] if 0 <= number < len(registers) else 0 for number in rest]
        match sign:
            case "c":
                value, width = rest[0], 1
            case "t":
                value, width = tensors[rest[0]][known[1]], 2
            case "r" | "h":
                value, width = math.isqrt(known[0]) if sign == "r" else known[0] // 2, 1
            case "?":
                value, width = known[1] if known[0] != 0 else known[2], 3
            case _:
                value, width = int(BINARY[sign](*known[:2])), 2
        registers.append(value)
        at += 1 + width
    return registers[-1]


@dataclass
class Machine:
    """A program, and its runs on all words."""

    text: str
    tensors: list[list[int]] = field(default_factory=list)
    lines: list[list[str]] = field(default_factory=list)
    found: dict[tuple[int, ...], int] = field(default_factory=dict)
    """Values of code that were computed: of line, and of the registers that it begins with."""

    def __post_init__(self) -> None:
        first, *rest = [line.split() for line in self.text.splitlines()]
        self.n, self.symbols, self.start, self.end, self.output = map(int, first[1:])
        self.tensors = [[int(word) for word in line[1:]] for line in rest if line[0] == "tensor"]
        self.lines = [line for line in rest if line[0] != "tensor"]
        self.marked = {0: self.symbols} if self.start else {}
        if self.end:
            self.marked[self.n - 1] = self.symbols + self.start
        self.letters = [j for j in range(self.n) if j not in self.marked]
        self.domains = [self.symbols + self.start + self.end, self.n, *(int(line[1]) for line in self.lines)]

    @property
    def label(self) -> int:
        """The number of the label map."""
        return len(self.domains) - 1

    def words(self) -> Iterator[Word]:
        """All words, with their markers."""
        for letters in itertools.product(range(self.symbols), repeat=len(self.letters)):
            word = {**dict(zip(self.letters, letters, strict=True)), **self.marked}
            yield tuple(word[j] for j in range(self.n))

    def visible(self, mask: int, i: int) -> list[int]:
        """What a head sees."""
        return [j for j in range(self.n) if (True, j <= i, j < i, j >= i, j > i)[mask]]

    def score(self, line: Sequence[str], i: int, q: int, j: int, k: int) -> int:
        """The score of a pair."""
        return self.once(line, 8, [i, q, j, k])

    def once(self, line: Sequence[str], start: int, registers: list[int]) -> int:
        """The value of a line's code, which begins at a word; computed once for the same registers."""
        key = (id(line), *registers)
        if key not in self.found:
            self.found[key] = evaluate(line[start:], registers, self.tensors)
        return self.found[key]

    def run(self, word: Word) -> list[list[int]]:
        """The values of every variable at every position."""
        values = [list(word), list(range(self.n))]
        for line in self.lines:
            values.append([self.value(line, i, values) for i in range(self.n)])
        return values

    def value(self, line: Sequence[str], i: int, values: Values) -> int:
        """The value of a map or head at a position."""
        if line[0] == "map":
            count = int(line[2])
            args = [values[int(arg)][i] for arg in line[3 : 3 + count]]
            return self.once(line, 3 + count, [i, *args])
        query, key, shown, mask, left, default = map(int, line[2:8])
        q = 0 if query < 0 else values[query][i]
        pairs = [
            (self.score(line, i, q, j, 0 if key < 0 else values[key][j]), -j if left else j)
            for j in self.visible(mask, i)
        ]
        return values[shown][abs(max(pairs)[1])] if pairs else default


class Oracle:
    """A program with all its runs, asked which statements of a proof are false."""

    def __init__(self, program: str) -> None:
        self.machine = Machine(program)
        self.runs = {word: self.machine.run(word) for word in self.machine.words()}

    def lies(self, proof: str) -> list[str]:
        """The lines of a proof that say what is not true."""
        return [line for line, holds in Statements(self, proof).read() if not holds]


class Statements:
    """One proof, read as statements."""

    def __init__(self, oracle: Oracle, proof: str) -> None:
        self.oracle, self.machine, self.proof = oracle, oracle.machine, proof
        self.sets: list[set[int]] = []
        self.runs: list[set[int]] = [set(range(oracle.machine.n))]
        self.contexts: list[tuple[dict[int, set[int]], list[Word]]] = []
        self.spelt: list[Word] = []
        self.automata: list[tuple[int, set[int], list[int]]] = []
        self.claim_ = 0, 0, 0

    def read(self) -> Iterator[tuple[str, bool]]:
        """Every line but the first, and whether what it says is true."""
        for line in self.proof.splitlines()[1:]:
            name, *words = line.split()
            yield line, getattr(self, name + "_" * (name == "runs"))(*map(int, words)) is not False

    def set(self, *values: int) -> None:
        """A set."""
        self.sets.append(set(values))

    def runs_(self, *ends: int) -> None:
        """Runs."""
        self.runs.append({j for a, b in zip(ends[::2], ends[1::2], strict=True) for j in range(a, b)})

    def row(self, h: int, i: int, u: int, s: int, p: int, r: int) -> bool:
        """On no word is a pair outside of the runs as good as the bar."""
        line = self.machine.lines[h - 2]
        key, mask, left = int(line[3]), int(line[5]), int(line[6])
        bar, outside = (s, -p if left else p), set(self.machine.visible(mask, i)) - self.runs[r]
        return all(
            (self.machine.score(line, i, u, j, 0 if key < 0 else values[key][j]), -j if left else j) < bar
            for values in self.oracle.runs.values()
            for j in outside
        )

    def box(self, c: int, *triples: int) -> None:
        """A context."""
        cells = dict(self.contexts[c][0]) if c >= 0 else {}
        runs = zip(triples[::3], triples[1::3], triples[2::3], strict=True)
        mine = {j: self.sets[s] for a, b, s in runs for j in range(a, b)}
        above = self.contexts[c][1] if c >= 0 else self.oracle.runs
        words = [x for x in above if all(x[j] in a for j, a in mine.items())]
        self.contexts.append(({**cells, **mine}, words))

    def fact(self, c: int, v: int, i: int, s: int, r: int) -> bool:
        """On the words of a context a node takes values of a set, and is a function of what stands at the runs."""
        met: dict[Word, int] = {}
        for word in self.contexts[c][1]:
            value = self.oracle.runs[word][v][i]
            seen = tuple(word[j] for j in sorted(self.runs[r]))
            if value not in self.sets[s] or met.setdefault(seen, value) != value:
                return False
        return True

    def map(self, c: int, v: int, i: int, s: int, r: int) -> bool:
        """A fact."""
        return self.fact(c, v, i, s, r) if len(self.sets[s]) > 1 else self.fact(c, v, i, s, 0)

    def head(self, c: int, v: int, i: int, s: int, r: int, *groups: int) -> bool:
        """A fact."""
        return self.map(c, v, i, s, r)

    def case(self, c: int, v: int, i: int, p: int, s: int, r: int, *kids: int) -> bool:
        """A fact."""
        return self.map(c, v, i, s, r)

    def dfa(self, states: int, start: int, s: int, *moves: int) -> None:
        """An automaton."""
        self.automata.append((start, self.sets[s], list(moves)))

    def word(self, *counted: int) -> None:
        """A word without its markers."""
        self.spelt.append(tuple(a for count, a in zip(counted[::2], counted[1::2], strict=True) for _ in range(count)))

    def claimed(self, c: int, v: int, i: int, r: int) -> bool:
        """A node is a function of what stands at the runs."""
        self.sets.append(set(range(self.machine.domains[v])))
        return self.fact(c, v, i, len(self.sets) - 1, r)

    def restricted(self, c: int, f: int) -> bool:
        """A context is a restriction that leaves so many positions free."""
        cells = self.contexts[c][0]
        return all(len(a) == 1 for a in cells.values()) and f == len(self.machine.letters) - len(cells)

    def claim(self, c: int, i: int, f: int, k: int, s: int, r: int) -> bool:
        """The output's values, and what its label depends on."""
        self.claim_ = c, i, r
        free = set(self.machine.letters) - self.contexts[c][0].keys()
        values = {self.oracle.runs[word][self.machine.output][i] for word in self.contexts[c][1]}
        small = len(self.runs[r]) == k and self.runs[r] <= free
        return self.restricted(c, f) and small and values <= self.sets[s] and self.claimed(c, self.machine.label, i, r)

    def refutes(self, m: int, w: int, d: int) -> bool:
        """Two words with one label, of which the automaton accepts the first alone."""
        c, i, _ = self.claim_
        full, accepted = [], []
        for word in (self.spelt[m], self.spelt[w]):
            letters = {**dict(zip(self.machine.letters, word, strict=True)), **self.machine.marked}
            full.append(tuple(letters[j] for j in range(self.machine.n)))
            state, final, moves = self.automata[d]
            for a in word:
                state = moves[state * self.machine.symbols + a]
            accepted.append(state in final)
        same = len({self.oracle.runs[word][self.machine.label][i] for word in full}) == 1
        return same and all(word in self.contexts[c][1] for word in full) and accepted == [True, False]

    def all(self, c: int, f: int, k: int) -> bool:
        """Every label is a function of few positions."""
        free = sorted(set(self.machine.letters) - self.contexts[c][0].keys())
        return self.restricted(c, f) and all(self.needed(c, i, free) <= k for i in range(self.machine.n))

    def needed(self, c: int, i: int, free: list[int]) -> int:
        """How many free positions make a difference: the words of a restriction are all combinations."""
        labels = {word: self.oracle.runs[word][self.machine.label][i] for word in self.contexts[c][1]}
        return sum(
            any(labels[x] != labels[y] for x in labels for y in neighbours(x, j, self.machine.symbols)) for j in free
        )

    def unforced(self, s: int, k: int, i: int, b: int, *tree: int) -> bool:
        """No restriction of at most ``k`` positions forces one of the labels."""
        for count in range(min(k, len(self.machine.letters)) + 1):
            for places in itertools.combinations(self.machine.letters, count):
                labels: dict[Word, set[int]] = {}
                for word, values in self.oracle.runs.items():
                    labels.setdefault(tuple(word[j] for j in places), set()).add(values[self.machine.label][i])
                if any(len(met) == 1 and met <= self.sets[s] for met in labels.values()):
                    return False
        return True


def neighbours(word: Word, j: int, symbols: int) -> list[Word]:
    """The words that differ at one position."""
    return [(*word[:j], a, *word[j + 1 :]) for a in range(symbols) if a != word[j]]
