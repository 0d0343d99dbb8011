"""S-RASP to uniform-tieless average-hard transformers with gap ``1/(2n)``, as ``restrict-soft/1`` weights.

A start marker stands in front, so position ``i`` of the word is position ``i`` of the model. Every vector is an affine
form of the residual stream, exact under average-hard attention; integers are held as such, so position embeddings are
not bounded. Theorem 26 (:mod:`restrict.simulate.uniform_tieless`) turns the result into a softmax transformer.

- **Position-wise**: sums are affine; ``and`` is ``relu(a + b - 1)``, comparisons of integers are differences of ReLUs.
- **psum**: a uniform past-masked head reads ``c / (i+1)`` with the count ``c <= i``; a look-up turns it into ``c``:
  keys ``(2j, -j^2)``, query ``(c/(i+1), 1/(i+1))``, so the score is ``(c^2 - (j-c)^2) / (i+1)``, greatest at ``j = c``
  alone, with gap ``1/(i+1)``.
- **Attention** to the rightmost ``j`` with a score ``B(i,j) and u(i) == v(j)``: the score is ``2 u v - v^2 + B - 1``
  plus ``j / (2(i+1))``, relative to ``u^2``: it is in ``[0, 1/2)`` where the condition holds, below ``-1/2`` where it
  does not, and all keys differ by at least ``1/(2(i+1))``. The marker has ``-1/4``: it wins where nothing else does,
  and says that the default holds. For the leftmost, ``1/2 - j / (2(i+1))``. Squares come from a look-up, and ``B``
  from the one-hot vectors of what it reads at ``i`` and at ``j``.

The construction is our own; Strobl et al. (2024) prove that one exists. Invariant: every head is uniform or tieless
with gap at least ``1/(2n)``: :func:`gap_of`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from restrict.errors import NotEstablished, ResourceLimit
from restrict.simulate.srasp.syntax import Attention, Mask, Node, PrefixSum, Program, Statement
from restrict.simulate.stream import HeadRows, Stream, Unit
from restrict.soft.model import SoftModel, SoftOutput
from restrict.soft.terms import Term

MARKER = "<s>"
MAX_LEAVES = 10
"""Truth values that one score may read on either side."""
Line = tuple[int, int]
"""``(a, b)``: the number ``a i + b``, for ``i`` the position of the model, from 0."""


@dataclass(frozen=True)
class Form:
    """An affine form of the stream, ready at ``time``; its values lie between the lines ``low`` and ``high``."""

    row: tuple[tuple[int, float], ...]
    bias: float
    time: int
    low: Line = (0, 0)
    high: Line = (0, 1)

    def scaled(self, factor: int) -> Form:
        """A multiple."""
        ends = [(self.low[0] * factor, self.low[1] * factor), (self.high[0] * factor, self.high[1] * factor)]
        low, high = ends if factor >= 0 else ends[::-1]
        return Form(tuple((d, w * factor) for d, w in self.row), self.bias * factor, self.time, low, high)

    def plus(self, other: Form) -> Form:
        """The sum."""
        row = dict(self.row)
        for d, w in other.row:
            row[d] = row.get(d, 0.0) + w
        low = (self.low[0] + other.low[0], self.low[1] + other.low[1])
        high = (self.high[0] + other.high[0], self.high[1] + other.high[1])
        kept = tuple((d, w) for d, w in row.items() if w)
        return Form(kept, self.bias + other.bias, max(self.time, other.time), low, high)


def number(value: int) -> Form:
    """A constant form.

    Args:
        value: the number.

    Returns:
        The form.
    """
    return Form((), float(value), 0, (0, value), (0, value))


def below(one: Line, two: Line) -> bool:
    """Whether one line is nowhere above another.

    Args:
        one: a line.
        two: a line.

    Returns:
        The answer, for all ``i >= 0``.
    """
    return one[0] <= two[0] and one[1] <= two[1]


def gap_of(n: int) -> Fraction:
    """The gap of every tieless head of a compiled program.

    Args:
        n: the length of the model, the marker counted.

    Returns:
        ``1 / (2n)``, a certified lower bound.
    """
    return Fraction(1, 2 * n)


def compile_program(program: Program) -> SoftModel:
    """A uniform-tieless average-hard transformer that computes a program, on words of every length.

    Args:
        program: the program.

    Returns:
        Weights for :func:`restrict.simulate.laws.run` with the law ``average``: the output is a sign, read at every
        position. Run as softmax at its scales of 1 they mean nothing; see
        :func:`restrict.simulate.uniform_tieless.temperature`.

    Raises:
        NotEstablished: a statement outside what is compiled, with its name and the reason.
        ResourceLimit: a score that reads more than 10 truth values on one side.
    """
    compiler = _Compiler(program)
    for s in program.statements:
        try:
            compiler.statement(s)
        except (NotEstablished, ResourceLimit) as error:
            raise type(error)(f"{program.name}: vector {s.name!r}: {error}") from None
    return compiler.result()


class _Compiler:
    """Vectors as forms; every layer's heads and units go into the stream."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.stream = Stream(program.alphabet, MARKER)
        self.forms: dict[str, Form] = {}
        marker = self.stream.token[len(program.alphabet)]
        self.marker = Form(((marker, 1.0),), 0.0, 0)
        self.place = Form(((self.stream.term("i"), 1.0),), 0.0, 0, (1, 0), (1, 0))

    def result(self) -> SoftModel:
        out = self.forms[self.program.output]
        unembed = np.zeros((1, self.stream.width))
        for d, w in out.row:
            unembed[0, d] = w
        output = SoftOutput(unembed, np.array([out.bias - 0.5]), ("reject", "accept"), "every", "sign", (1,))
        return self.stream.build(f"{self.program.name[:80]} (S-RASP)", output, "uniform-tieless, gap 1/(2n)")

    def statement(self, s: Statement) -> None:
        if isinstance(s, PrefixSum):
            self.forms[s.name] = self.prefix_sum(s)
        elif isinstance(s, Attention):
            self.forms[s.name] = self.attention(s)
        else:
            self.forms[s.name] = self.value(s.value)

    # -------------------------------------------------------- position-wise

    def relu(self, form: Form, low: Line = (0, 0), high: Line = (0, 1)) -> Form:
        """A new dimension with the positive part; ``low`` and ``high`` bound it."""
        made = self.stream.block(1, form.time + 1).start
        self.stream.unit(form.time, Unit(dict(form.row), form.bias, {made: 1.0}))
        return Form(((made, 1.0),), 0.0, form.time + 1, low, high)

    def positive(self, form: Form) -> Form:
        """``max(form, 0)`` of an integer, with its range."""
        high = (max(form.high[0], 0), max(form.high[1], 0))
        low = form.low if below((0, 0), form.low) else (0, 0)
        return form if below((0, 0), form.low) else self.relu(form, low, high)

    def at_least(self, form: Form, least: int) -> Form:
        """Whether an integer is at least a number."""
        shifted = form.plus(number(-least))
        up, down = self.relu(shifted.plus(number(1))), self.relu(shifted)
        found = up.plus(down.scaled(-1))
        return Form(found.row, found.bias, found.time)

    def both(self, *forms: Form) -> Form:
        """The conjunction of truth values."""
        total = number(1 - len(forms))
        for form in forms:
            total = total.plus(form)
        return self.relu(total) if len(forms) > 1 else forms[0]

    def opposite(self, form: Form) -> Form:
        """The negation."""
        found = number(1).plus(form.scaled(-1))
        return Form(found.row, found.bias, found.time)

    def value(self, node: Node) -> Form:
        """The form of an expression over one side."""
        if node.op == "const":
            return number(node.value)
        if node.op == "symbol":
            return Form(((self.stream.token[self.program.alphabet.index(node.text)], 1.0),), 0.0, 0)
        if node.op == "pos":
            return self.place
        if node.op == "vector":
            return self.forms[node.text]
        args = [self.value(a) for a in node.args]
        return self.operation(node, args)

    def operation(self, node: Node, args: list[Form]) -> Form:
        """An operator on forms."""
        if node.op == "not":
            return self.opposite(args[0])
        if node.op == "and":
            return self.both(*args)
        if node.op == "or":
            return self.opposite(self.both(*(self.opposite(a) for a in args)))
        if node.op == "*":
            return args[1].scaled(node.args[0].value)
        if node.op == "+":
            return args[0].plus(args[1])
        difference = args[0].plus(args[1].scaled(-1))
        if node.op == "-":
            return difference
        if node.op in ("min", "max"):
            return self.extreme(node.op, args, difference)
        if node.op in ("==", "!="):
            equal = self.both(self.at_least(difference, 0), self.at_least(difference.scaled(-1), 0))
            return equal if node.op == "==" else self.opposite(equal)
        flipped = difference.scaled(-1)
        return self.at_least({"<": flipped, "<=": flipped}.get(node.op, difference), int(node.op in ("<", ">")))

    def extreme(self, op: str, args: list[Form], difference: Form) -> Form:
        """The smaller or greater of two integers, with its range."""
        a, b = args
        over = self.relu(difference)  # a - b where a is greater
        found = a.plus(over.scaled(-1)) if op == "min" else b.plus(over)
        if op == "min":
            high = b.high if below(b.high, a.high) else a.high
            low = (min(a.low[0], b.low[0]), min(a.low[1], b.low[1]))
            if below((0, 0), a.low) and below((0, 0), b.low):
                low = (0, 0)
        else:
            high = (max(a.high[0], b.high[0]), max(a.high[1], b.high[1]))
            low = b.low if below(a.low, b.low) else a.low
        return Form(found.row, found.bias, found.time, low, high)

    # -------------------------------------------------------- heads

    def head(
        self,
        time: int,
        pairs: list[tuple[Form, Form]],
        values: list[Form],
        mask: Mask,
    ) -> list[Form]:
        """A head whose score is the sum of products ``query * key``; returns what it reads of each value."""
        slots = [self.copied(value, time) for value in values]  # a head reads dimensions, not biases
        raw = self.stream.block(len(values), time + 1)
        queries = [q for q, _ in pairs] or [number(0)]
        keys = [k for _, k in pairs] or [number(0)]
        self.stream.head(
            time,
            HeadRows(
                [dict(q.row) for q in queries], [q.bias for q in queries], [dict(k.row) for k in keys],
                [k.bias for k in keys], [{slot: 1.0} for slot in slots], raw, mask, Term("1"),
            ),
        )  # fmt: skip
        return [Form(((raw[v], 1.0),), 0.0, time + 1, form.low, form.high) for v, form in enumerate(values)]

    def copied(self, form: Form, time: int) -> int:
        """A dimension that holds a form of a value at least 0, at the input of layer ``time``."""
        if len(form.row) == 1 and form.row[0][1] == 1.0 and form.bias == 0:
            return form.row[0][0]
        made = self.stream.block(1, time).start
        self.stream.unit(time - 1, Unit(dict(form.row), form.bias, {made: 1.0}))
        return made

    def look_up(self, form: Form, values: list[tuple[str, Line]]) -> list[Form]:
        """What some terms of ``j`` are at ``j = form``, an integer in ``0 .. i``: the score is ``2 j form - j^2``."""
        if not (below((0, 0), form.low) and below(form.high, (1, 0))):
            raise NotEstablished(
                "an integer that is compared between i and j must lie in 0 .. i at every position; "
                "write it as min(max(x, 0), pos(i))"
            )
        pairs = [(form.scaled(2), self.place), (number(-1), self.term("i*i", (0, 0), (0, 0)))]
        terms = [self.term(text, (0, 0), high) for text, high in values]
        return self.head(form.time, pairs, terms, "past")

    def term(self, text: str, low: Line, high: Line) -> Form:
        """A term of the position."""
        return Form(((self.stream.term(text), 1.0),), 0.0, 0, low, high)

    def prefix_sum(self, s: PrefixSum) -> Form:
        """An average over the past, and the look-up that multiplies it by ``i + 1``."""
        form = self.both(self.value(s.value), self.opposite(self.marker))
        time = max(form.time, 1)
        (average,) = self.head(time, [], [form], "past")
        pairs = [
            (Form(tuple((d, 2 * w) for d, w in average.row), 0.0, average.time), self.place),
            (self.term("1/(i+1)", (0, 0), (0, 1)).scaled(-1), self.term("i*i", (0, 0), (0, 0))),
        ]
        (found,) = self.head(average.time, pairs, [self.place], "past")
        return Form(found.row, found.bias, found.time, (0, 0), (1, 0))

    def attention(self, s: Attention) -> Form:
        """The scored head, its default from the marker."""
        equality, rest = split(s.score)
        pairs, time = self.matches(rest, s)
        if equality is not None:
            pairs, time = self.equal(equality, pairs, time)
        value = self.gated(self.value(s.value))
        default = self.value(s.default)
        time = max(time, value.time + 1, 1)
        found, at_marker = self.head(time, pairs, [value, self.marker], s.mask)
        if s.default.op == "const":
            result = found.plus(at_marker.scaled(s.default.value))
        elif s.default.boolean:
            result = found.plus(self.both(at_marker, default))
        else:
            raise NotEstablished("the default of an integer must be a number")
        low, high = (0, 0), (max(value.high[0], default.high[0]), max(value.high[1], default.high[1]))
        return Form(result.row, result.bias, result.time, low, high)

    def gated(self, form: Form) -> Form:
        """A value that is 0 at the marker; integers must be at least 0."""
        if not below((0, 0), form.low):
            raise NotEstablished("an integer that is read by attention must be at least 0: write max(x, 0)")
        return self.relu(form.plus(self.marker.scaled(-max(form.high[1], 1))), (0, 0), form.high)

    def matches(self, node: Node | None, s: Attention) -> tuple[list[tuple[Form, Form]], int]:
        """``B(i,j) - 1`` on words, ``-1/4`` at the marker, and the tie-break; with the time at which all is there."""
        unit = "1/(2*(i+1))" if s.mask != "none" else "1/(2*n)"
        slope = self.term(unit, (0, 0), (0, 1)).scaled(1 if s.rightmost else -1)
        real = self.opposite(self.marker)
        pairs = [(slope, self.place)]
        shift = -1.0 if s.rightmost else -0.5
        at_key = Form(tuple((d, w * shift) for d, w in real.row), real.bias * shift, 0)
        pairs.append((number(1), at_key.plus(Form(((self.marker.row[0][0], -0.25),), 0.0, 0))))
        if node is None:
            pairs.append((number(1), real))
            return pairs, 0
        lefts, rights = leaves(node, "i"), leaves(node, "j")
        if max(len(lefts), len(rights)) > MAX_LEAVES:
            raise ResourceLimit(f"its score reads more than {MAX_LEAVES} truth values on one side")
        left, right = self.cases(lefts, []), self.cases(rights, [real])
        time = 0
        for (a, query), (b, key) in itertools.product(left, right):
            if holds(node, {**dict(zip(lefts, a, strict=True)), **dict(zip(rights, b, strict=True))}):
                pairs.append((query, key))
                time = max(time, query.time, key.time)
        return _merged(pairs), time

    def cases(self, nodes: list[Node], more: list[Form]) -> list[tuple[tuple[bool, ...], Form]]:
        """For every assignment of some truth values, the form that is 1 where it holds (and ``more`` does)."""
        forms = [self.value(node) for node in nodes]
        found = []
        for bits in itertools.product((False, True), repeat=len(forms)):
            signs = [f if bit else self.opposite(f) for f, bit in zip(forms, bits, strict=True)]
            found.append((bits, self.both(*signs, *more) if signs or more else number(1)))
        return found

    def equal(self, node: Node, pairs: list[tuple[Form, Form]], time: int) -> tuple[list[tuple[Form, Form]], int]:
        """Adds ``2 u v - v^2``, and ``u^2`` at the marker."""
        here, there = node.args if "i" in node.args[0].sides else node.args[::-1]
        u, v = self.value(here), self.value(there)
        (u_square,) = self.look_up(u, [("i*i", (0, 0))])
        (v_square,) = self.look_up(v, [("i*i", (0, 0))])
        pairs = [*pairs, (u.scaled(2), v), (number(-1), v_square), (u_square, self.marker)]
        return pairs, max(time, u_square.time, v_square.time)


def _merged(pairs: list[tuple[Form, Form]]) -> list[tuple[Form, Form]]:
    """Keys of one query added up."""
    found: dict[tuple[tuple[tuple[int, float], ...], float], tuple[Form, Form]] = {}
    for query, key in pairs:
        slot = (query.row, query.bias)
        found[slot] = (query, found[slot][1].plus(key)) if slot in found else (query, key)
    return list(found.values())


def split(score: Node) -> tuple[Node | None, Node | None]:
    """The integer equality between ``i`` and ``j`` of a conjunction, and the rest.

    Args:
        score: a truth value over both sides.

    Returns:
        The equality or ``None``, and the other conjuncts or ``None`` where there are none.

    Raises:
        NotEstablished: two of them, or one that is not a conjunct.
    """
    parts = list(score.args) if score.op == "and" else [score]
    equalities = [p for p in parts if _is_equality(p)]
    rest = [p for p in parts if not _is_equality(p)]
    if len(equalities) > 1:
        raise NotEstablished("a score may have one integer equality between i and j")
    for part in rest:
        _no_comparison(part)
    whole = None if not rest else rest[0] if len(rest) == 1 else Node("and", tuple(rest), boolean=True)
    if whole is not None and whole.op == "const" and whole.value == 1:
        whole = None
    return (equalities[0] if equalities else None), whole


def _is_equality(node: Node) -> bool:
    return node.op == "==" and len(node.sides) == 2 and all(len(a.sides) == 1 for a in node.args)


def _no_comparison(node: Node) -> None:
    """Refuse a comparison of ``i`` with ``j`` inside a Boolean combination."""
    if len(node.sides) < 2:
        return
    if node.op not in ("and", "or", "not"):
        raise NotEstablished(
            "integers at i and j are compared by one == that is joined by 'and' to the rest of the score only"
        )
    for arg in node.args:
        _no_comparison(arg)


def leaves(node: Node, side: str) -> list[Node]:
    """The greatest parts of a score that read one side only, each once.

    Args:
        node: a Boolean combination of such parts.
        side: ``i`` or ``j``.

    Returns:
        The parts; what reads neither side is none.
    """
    if len(node.sides) <= 1:
        return [node] if side in node.sides else []
    return list(dict.fromkeys(leaf for arg in node.args for leaf in leaves(arg, side)))


def holds(node: Node, known: dict[Node, bool]) -> bool:
    """The value of a Boolean combination.

    Args:
        node: the combination.
        known: the values of its parts on one side.

    Returns:
        The value.
    """
    if node in known:
        return known[node]
    if node.op == "const":
        return bool(node.value)
    args = [holds(a, known) for a in node.args]
    return {"not": lambda: not args[0], "and": lambda: all(args), "or": lambda: any(args)}[node.op]()
