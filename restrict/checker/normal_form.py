"""A program in normal form, `restrict-program/1` (docs/kernel-format.md), and the evaluation of its code.

Code is straight-line: each operation makes the next register. It is evaluated an operation at a time, on numbers or on
lists of them (a block of positions, a block of pairs), and in levels: ``Code.given`` puts in what is known now, does
the operations that this determines, and leaves the others. Intervals are computed when a program is read: nothing can
fail for positions below ``n`` and values in their domains, and no number has more than 193 bits.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise, product, repeat
from typing import NamedTuple

from .account import Meter, Place, exhausted, malformed, require

LONGEST = 100_000_000
"""The greatest length."""
FILE_BYTES = 64 << 20
NUMBER = range(-(10**20), 10**20)
LARGEST = 1 << 192
COMBINATIONS = 1 << 24
LINE = 20
"""Steps of a line at the least."""
BLOCK = 2048
"""Numbers of a list that are worked on at a time."""
MULTIPLIER, BITS = 0xD6E8FEB86659FD93, (1 << 64) - 1
PAST, STRICT_PAST, FUTURE, STRICT_FUTURE = 1, 2, 3, 4

Register = int | list[int]
Span = tuple[int, int]
Values = frozenset[int] | range
Letters = Mapping[str, Container[int]]
"""Which numbers a letter of a form may stand for."""


# ---------------------------------------------------------------- lines

INTEGERS = re.compile("(?:0|-?[1-9][0-9]{0,19})(?: (?:0|-?[1-9][0-9]{0,19}))*")


def lines(data: bytes, place: Place, meter: Meter) -> Iterator[tuple[Place, str, list[str]]]:
    """The first word and the others of every line."""
    ends = data.count(b"\n")
    meter.hold(len(data) + 80 * (data.count(b" ") + ends))
    meter.charge(len(data) // 4 + LINE * ends)
    well = len(data) <= FILE_BYTES and data.isascii() and data.endswith(b"\n")
    require(well, place, "expected at most 64 MiB of ASCII, lines that end with a line feed")
    for number, line in enumerate(data.decode("ascii")[:-1].split("\n"), 1):
        name, *words = line.split(" ")
        yield Place(place.file, f"line {number}"), name, words


def numbers(words: Sequence[str], form: str, letters: Letters, place: Place) -> list[int]:
    """The numbers of a line. A form has a letter for each, and after a ``*`` the letters of what may be repeated; where
    a letter is a capital one, each of its numbers is above the last."""
    first, _, again = form.partition("*")
    more = len(words) - len(first)
    well = more >= 0 and (more % len(again) == 0 if again else more == 0)
    require(well, place, f"expected numbers of the form {form}")
    require(not words or INTEGERS.fullmatch(" ".join(words)) is not None, place, "expected integers")
    found = list(map(int, words))
    for at, letter in enumerate(first + again):
        column, allowed = found[at : at + 1] if at < len(first) else found[at :: len(again)], letters[letter.lower()]
        require(all(value in allowed for value in column), place, f"a number {letter} of {form} is out of range")
        rising = letter.islower() or all(a < b for a, b in pairwise(column))
        require(rising, place, f"the numbers {letter} of {form} do not increase")
    return found


# ---------------------------------------------------------------- operations


def corners(function: Callable[..., int]) -> Callable[..., Span]:
    """The interval of what has its extremes at end points of its operands' intervals."""

    def interval(*spans: Span) -> Span:
        ends = [function(*point) for point in product(*spans)]
        return min(ends), max(ends)

    return interval


def divided(a: Span, b: Span) -> Span:
    """The interval of a quotient; fails where the divisor might be 0."""
    return corners(operator.floordiv)(a, b if b[0] > 0 or b[1] < 0 else (0, 0))


def remainder(a: Span, b: Span) -> Span:
    """The interval of a remainder; fails where the divisor might be 0."""
    divided(a, b)
    if b[1] < 0:
        return b[0] + 1, 0
    return a if a[0] >= 0 and a[1] < b[0] else (0, b[1] - 1)


def flag(*spans: Span) -> Span:
    """The interval of a truth value."""
    return 0, 1


OPERATIONS: dict[str, tuple[int, Callable[..., int], Callable[..., Span]]] = {
    "+": (2, operator.add, corners(operator.add)),
    "-": (2, operator.sub, corners(operator.sub)),
    "*": (2, operator.mul, corners(operator.mul)),
    "/": (2, operator.floordiv, divided),
    "%": (2, operator.mod, remainder),
    "<": (2, operator.lt, flag),
    "=": (2, operator.eq, flag),
    "?": (3, lambda c, a, b: a if c else b, lambda c, a, b: (min(a[0], b[0]), max(a[1], b[1]))),
    "&": (2, min, corners(min)),
    "|": (2, max, corners(max)),
    "r": (1, math.isqrt, corners(math.isqrt)),
    "h": (1, lambda a: a >> 1, corners(lambda a: a >> 1)),
    "m": (2, operator.xor, lambda a, b: (0, BITS)),
}
"""How many registers an operation reads, its value (of ``m`` see ``mixed``), and its interval."""
UNDEFINED = {"/": "the divisor of // may be 0", "%": "the divisor of % may be 0"}
UNDEFINED |= {"r": "the argument of isqrt may be negative", "t": "an index may be outside a table"}
FORMS = {"c": "z", "t": "tr", **{sign: "r" * count for sign, (count, _, _) in OPERATIONS.items()}}


Table = tuple[Sequence[int], Span]
"""The entries of a tensor, and an interval that has them all."""


def table_of(table: Sequence[int], entries: Span) -> tuple[Callable[..., int], Callable[..., Span]]:
    """The operation that looks an entry up, and its interval; fails where the index might be none."""

    def span(at: Span) -> Span:
        if at[0] < 0 or at[1] >= len(table):
            raise IndexError
        return entries

    return table.__getitem__, span


def each(function: Callable[..., int], *operands: Register) -> Register:
    """The operation on numbers, or place by place on lists of one length, where a number stands for a list of it."""
    if not any(isinstance(x, list) for x in operands):
        return function(*operands)
    return list(map(function, *(x if isinstance(x, list) else repeat(x) for x in operands)))


def mixed(a: Register, b: Register) -> Register:
    """One round of the hash on 64 bits; modulo 2^64 it does not matter when numbers are cut."""
    state = a if isinstance(b, int) and b == 0 else each(operator.xor, a, b)
    if isinstance(state, list):
        return [(x := v * MULTIPLIER & BITS) ^ x >> 32 for v in state]
    x = state * MULTIPLIER & BITS
    return x ^ x >> 32


class Step(NamedTuple):
    """One operation: the register that it makes, and those that it reads."""

    made: int
    sign: str
    function: Callable[..., int]
    reads: tuple[int, ...]


class Code(NamedTuple):
    """What is known of the registers, the steps left, the register of the result, and its interval."""

    known: dict[int, Register]
    rest: Sequence[Step]
    result: int
    span: Span

    def given(self, values: dict[int, Register]) -> Code:
        """The code with more registers known, and what follows from them done."""
        known, rest = {**self.known, **values}, []
        for step in self.rest:
            if all(register in known for register in step.reads):
                operands = [known[register] for register in step.reads]
                known[step.made] = mixed(*operands) if step.sign == "m" else each(step.function, *operands)
            else:
                rest.append(step)
        return self._replace(known=known, rest=rest)

    def value(self, values: dict[int, Register]) -> Register:
        """The result, once all registers that it needs are known."""
        return self.given(values).known[self.result]

    def images(self, sets: Iterable[Values]) -> Iterator[Iterable[int]]:
        """The values for all combinations of the first registers, block by block."""
        combinations = product(*sets)
        while block := list(islice(combinations, BLOCK)):
            value = self.value({at: list(column) for at, column in enumerate(zip(*block, strict=True))})
            yield value if isinstance(value, list) else (value,)

    def work(self, places: int, calls: int = 0) -> int:
        """Steps of the account for so many places, and for so many evaluations, each of which copies what is known."""
        return places * (1 + len(self.rest)) // 4 + calls * (len(self.rest) + len(self.known) // 64)

    def stays(self, domain: int, sizes: Sequence[int], place: Place, meter: Meter) -> None:
        """Refuse a value outside the domain. Where the interval leaves it, all that is read is combined."""
        if self.span[0] >= 0 and self.span[1] < domain:
            return
        read = {register for step in self.rest for register in step.reads} | {self.result}
        sets = [range(size if register in read else 1) for register, size in enumerate(sizes)]
        if (combinations := math.prod(map(len, sets))) > COMBINATIONS:
            exhausted(place, "more than 2^24 combinations to try for the domain")
        meter.charge(self.work(combinations, 1 + combinations // BLOCK))
        inside = all(min(block) >= 0 and max(block) < domain for block in self.images(sets))
        require(inside, place, "a value is outside the domain")


class Registers:
    """Code in the making. Registers of some sizes come first; each step makes one more, of which ``spans`` has the
    interval, and refuses what may not be defined."""

    def __init__(self, sizes: Sequence[int], tables: Sequence[Table], place: Place) -> None:
        self.spans, self.tables, self.place = [(0, size - 1) for size in sizes], tables, place
        self.known, self.rest = dict[int, Register](), list[Step]()

    def step(self, sign: str, *found: int) -> int:
        """One operation on registers (of ``c`` a number, of ``t`` a table first); the register that it makes."""
        made = len(self.spans)
        if sign == "c":
            self.known[made] = found[0]
            self.spans.append((found[0], found[0]))
            return made
        reads = found[sign == "t" :]
        function, span = OPERATIONS[sign][1:] if sign != "t" else table_of(*self.tables[found[0]])
        try:
            self.spans.append(span(*(self.spans[register] for register in reads)))
        except (ZeroDivisionError, ValueError, IndexError):
            malformed(self.place, UNDEFINED[sign])
        low, high = self.spans[-1]
        require(low >= -LARGEST and high <= LARGEST, self.place, "a number may be too large")
        self.rest.append(Step(made, sign, function, reads))
        return made

    def code(self) -> Code:
        """The code; its result is the last register."""
        return Code(self.known, self.rest, len(self.spans) - 1, self.spans[-1]).given({})


# ---------------------------------------------------------------- programs


class Map(NamedTuple):
    """Registers of the code are the position and the arguments."""

    domain: int
    args: tuple[int, ...]
    code: Code


class Head(NamedTuple):
    """Registers of the code are ``i q j k``; ``query`` and ``key`` are -1 where the score does not mention them."""

    domain: int
    query: int
    key: int
    value: int
    mask: int
    left: int
    default: int
    code: Code


def visible(mask: int, i: int, n: int) -> tuple[int, int]:
    """The visible positions as start and stop."""
    return {FUTURE: i, STRICT_FUTURE: i + 1}.get(mask, 0), {PAST: i + 1, STRICT_PAST: i}.get(mask, n)


class Program:
    """Variables are numbers: 0 is the token, 1 the position; ``markers`` are tokens that no word decides."""

    def __init__(self, data: bytes, place: Place, meter: Meter) -> None:
        self.meter, self.tables = meter, list[Table]()
        read = lines(data, place, meter)
        self.place, name, words = next(read)
        require(name == "restrict-program/1", self.place, "not a restrict-program/1")
        letters = {"n": range(1, LONGEST + 1), "s": range(1, 65537), "b": (0, 1), "z": NUMBER}
        n, symbols, start, end, self.output = numbers(words, "nsbbz", letters, self.place)
        require(start + end <= n, self.place, "more markers than positions")
        self.n, self.symbols, self.domains = n, symbols, [symbols + start + end, n]
        self.markers = ({0: symbols} if start else {}) | ({n - 1: symbols + start} if end else {})
        self.variables: list[Map | Head | None] = [None, None]
        for self.place, name, words in read:
            self.line(name, words)
        last = self.variables[-1]
        require(isinstance(last, Map) and last.args == (self.output,), self.place, "the last line is no label map")

    def line(self, name: str, words: list[str]) -> None:
        """A tensor, a map or a head."""
        count = len(self.variables)
        letters = {"d": range(1, 1 << 63), "v": range(count), "q": range(-1, count), "m": range(5), "b": (0, 1)}
        if name == "tensor" and words and count == 2:
            table = numbers(words, "*z", {"z": NUMBER}, self.place)
            self.tables.append((table, (min(table), max(table))))
            return
        require(name in ("map", "head"), self.place, "no such line here, or with so few words")
        made = self.map(words, letters) if name == "map" else self.head(words, letters)
        self.variables.append(made)
        self.domains.append(made.domain)

    def map(self, words: list[str], letters: Letters) -> Map:
        """A map; where its interval leaves the domain, every combination of what it reads is tried."""
        domain, count = numbers(words[:2], "dc", {**letters, "c": range(len(words) - 1)}, self.place)
        args = numbers(words[2 : 2 + count], "*v", letters, self.place)
        sizes = [self.n, *(self.domains[arg] for arg in args)]
        code = self.code(words[2 + count :], sizes)
        code.stays(domain, sizes, self.place, self.meter)
        return Map(domain, tuple(args), code)

    def head(self, words: list[str], letters: Letters) -> Head:
        """A head."""
        domain, query, key, value, mask, left, default = numbers(
            words[:7], "dqqvmbz", {**letters, "z": NUMBER}, self.place
        )
        well = self.domains[value] <= domain and 0 <= default < domain
        require(well, self.place, "the value or the default is outside the domain")
        q, k = (1 if role == -1 else self.domains[role] for role in (query, key))
        return Head(domain, query, key, value, mask, left, default, self.code(words[7:], [self.n, q, self.n, k]))

    def code(self, words: list[str], sizes: list[int]) -> Code:
        """Code over registers of these sizes; refuses what is not defined."""
        made, at = Registers(sizes, self.tables, self.place), 0
        self.meter.charge(5 * len(words))
        while at < len(words):
            sign = words[at]
            require(sign in FORMS, self.place, "no such operation")
            letters = {"z": NUMBER, "t": range(len(self.tables)), "r": range(len(made.spans))}
            found = numbers(words[at + 1 : at + 1 + len(FORMS[sign])], FORMS[sign], letters, self.place)
            made.step(sign, *found)
            at += 1 + len(found)
        return made.code()
