"""S-RASP to uniform-tieless average-hard transformers with gap ``1/(2n)``, as ``restrict-soft/1`` weights.

A start marker stands in front, so position ``i`` of the word is position ``i`` of the model. Every vector is an affine
form of the residual stream, exact under average-hard attention; integers are held as such, so position embeddings are
not bounded. At a temperature that :mod:`.budget` computes (Theorem 26) the result is a softmax transformer: truth
values are rounded wherever attention or a comparison makes them, so they are exact there, too.

- **Position-wise**: sums are affine; ``and`` is ``relu(a + b - 1)``; ``d >= 0`` for an integer ``d`` is ``relu(2d +
  3/2) - relu(2d + 1/2)``, right for what is within 1/4 of ``d``, and rounded once more, for large ``d`` in floating
  point.
- **psum**: a uniform past-masked head reads ``c / (i+1)`` with the count ``c <= i``; a look-up turns it into ``c``:
  keys ``(2j, -j^2)``, query ``(c/(i+1), 1/(i+1))``, so the score is ``(c^2 - (j-c)^2) / (i+1)``, greatest at ``j = c``
  alone, with gap ``1/(i+1)``.
- **Attention** to the rightmost ``j`` with a score ``B(i,j) and u(i) == v(j)``: the score is ``2 u v - v^2 + B - 1``
  plus ``j / (2(i+1))``, relative to ``u^2``: it is in ``[0, 1/2)`` where the condition holds, below ``-1/2`` where it
  does not, and all keys differ by at least ``1/(2(i+1))``. The marker has ``-1/4``: it wins where nothing else does,
  and says that the default holds. For the leftmost, ``1/2 - j / (2(i+1))``. Before they are compared ``u`` and ``v``
  are looked up once more, together with their squares, so what softmax lost until then does not matter (*snapped*).
  ``B`` comes from the one-hot vectors of what it reads at ``i`` and at ``j``.

The construction is our own; Strobl et al. (2024) prove that one exists. Invariant: every head is uniform or tieless
with gap at least ``1/(2n)``: :func:`gap_of`.
"""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import reduce

from restrict.base.errors import NotEstablished, ResourceLimit
from restrict.simulate.srasp.budget import (
    Attended,
    Carried,
    Compared,
    Counted,
    Line,
    ProgramBudget,
    Snapped,
    Spread,
    Step,
)
from restrict.simulate.srasp.form import AffineForm, below, number
from restrict.simulate.srasp.score import holds, leaves, split
from restrict.simulate.srasp.syntax import Mask, Node, PrefixSum, SRaspAttention, SRaspProgram, Statement
from restrict.simulate.stream import HeadRows, Stream, Unit
from restrict.simulate.theorem26 import grows
from restrict.soft.models.model import SoftModel
from restrict.soft.models.terms import Term

MARKER = "<s>"
MAX_LEAVES = 10
"""Truth values that one score may read on either side."""


def gap_of(n: int) -> Fraction:
    """The gap of every tieless head of a compiled program. ``n``: the length of the model, the marker counted. Result:
    ``1 / (2n)``, a certified lower bound."""
    return Fraction(1, 2 * n)


def compile_program(program: SRaspProgram) -> SoftModel:
    """A uniform-tieless average-hard transformer that computes a program, on words of every length. Result: weights for
    :func:`restrict.simulate.laws.run` with the law ``average``: the output is a sign, read at every position. Run as
    softmax at its scales of 1 they mean nothing; see :func:`compile_with_budget`."""
    return compile_with_budget(program)[0]


def compile_with_budget(program: SRaspProgram) -> tuple[SoftModel, ProgramBudget]:
    """The transformer of a program, with what is needed to make it a softmax transformer. Result: the model, and its
    error budget; with ``sharp = budget.sharpness(n, epsilon)`` the softmax transformer is
    ``restrict.simulate.theorem26.by_softmax(model, sharp)``."""
    compiler = _Compiler(program)
    for s in program.statements:
        try:
            compiler.statement(s)
        except (NotEstablished, ResourceLimit) as error:
            raise type(error)(f"{program.name}: vector {s.name!r}: {error}") from None
    model = compiler.result()
    return model, ProgramBudget(tuple(compiler.steps), tuple(compiler.raw), grows(model))


class _Compiler:
    """Vectors as forms; every layer's heads and units go into the stream."""

    def __init__(self, program: SRaspProgram) -> None:
        self.program = program
        self.stream = Stream(program.alphabet, MARKER)
        self.forms: dict[str, AffineForm] = {}
        marker = self.stream.token[len(program.alphabet)]
        self.marker = AffineForm(((marker, 1.0),), 0.0, 0)
        self.place = AffineForm(((self.stream.term("i"), 1.0),), 0.0, 0, (1, 0), (1, 0))
        self.steps: list[Step] = []
        self.raw: list[int] = []
        self.sizes: dict[int, Line] = {self.place.row[0][0]: (1, 0)}

    def spread(self, form: AffineForm) -> Spread:
        """A form for the budget; dimensions without a size hold truth values."""
        sizes = [(abs(w), *self.sizes.get(d, (0, 1))) for d, w in form.row]
        slope, rest = (math.ceil(sum(w * line[at] for w, *line in sizes)) for at in (0, 1))
        return Spread(form.known, (slope, rest + math.ceil(abs(form.bias))))

    def result(self) -> SoftModel:
        out = self.forms[self.program.output]
        name, read = f"{self.program.name[:80]} (S-RASP)", (dict(out.row), out.bias - 0.5)
        return self.stream.build(name, "uniform-tieless, gap 1/(2n)", [read])

    def statement(self, s: Statement) -> None:
        if isinstance(s, PrefixSum):
            self.forms[s.name] = self.prefix_sum(s)
        elif isinstance(s, SRaspAttention):
            self.forms[s.name] = self.attention(s)
        else:
            self.forms[s.name] = self.value(s.value)

    # -------------------------------------------------------- position-wise

    def units(self, time: int, *parts: tuple[AffineForm, float]) -> AffineForm:
        """A new dimension with the weighted sum of positive parts, by units of layer ``time``."""
        made = self.stream.block(1, time + 1).start
        for form, weight in parts:
            self.stream.unit(time, Unit(dict(form.row), form.bias, {made: weight}))
        return AffineForm(((made, 1.0),), 0.0, time + 1)

    def relu(self, form: AffineForm, low: Line = (0, 0), high: Line = (0, 1)) -> AffineForm:
        """A new dimension with the positive part; ``low`` and ``high`` bound it."""
        return replace(self.units(form.time, (form, 1.0)), low=low, high=high)

    def carried(self, form: AffineForm, low: Line, high: Line) -> AffineForm:
        """The positive part of an integer."""
        found = self.relu(form, low, high)
        made = found.row[0][0]
        self.sizes[made] = self.spread(form).size
        self.steps.append(Carried(made, self.spread(form)))
        return found

    def at_least(self, form: AffineForm, least: int) -> AffineForm:
        """Whether an integer is at least a number: rounded, and rounded again for floating point."""
        if not form.row:
            return number(int(form.bias >= least))
        double = form.plus(number(-least)).scaled(2)
        self.steps.append(Compared(self.spread(form)))
        first = self.units(form.time, (double.plus(number(1.5)), 1.0), (double.plus(number(0.5)), -1.0))
        return self.rounded(form.time + 1, first)

    def rounded(self, time: int, *raw: AffineForm) -> AffineForm:
        """A truth value from approximate ones of which at most one holds (Lemma 9), by units of layer ``time``."""
        signs = ((-0.5, 1.0), (-1.5, -1.0))
        return self.units(time, *((form.scaled(2).plus(number(at)), w) for form in raw for at, w in signs))

    def both(self, *forms: AffineForm) -> AffineForm:
        return self.relu(reduce(AffineForm.plus, forms, number(1 - len(forms)))) if len(forms) > 1 else forms[0]

    def opposite(self, form: AffineForm) -> AffineForm:
        return replace(number(1).plus(form.scaled(-1)), low=(0, 0), high=(0, 1), spread=None)

    def value(self, node: Node) -> AffineForm:
        """The form of an expression over one side."""
        if node.op == "const":
            return number(node.value)
        if node.op == "symbol":
            return AffineForm(((self.stream.token[self.program.alphabet.index(node.text)], 1.0),), 0.0, 0)
        if node.op == "pos":
            return self.place
        if node.op == "vector":
            return self.forms[node.text]
        args = [self.value(a) for a in node.args]
        return self.operation(node, args)

    def operation(self, node: Node, args: list[AffineForm]) -> AffineForm:
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

    def extreme(self, op: str, args: list[AffineForm], difference: AffineForm) -> AffineForm:
        """The smaller or greater of two integers, with its range."""
        a, b = args
        over = self.carried(difference, (0, 0), (abs(difference.high[0]), abs(difference.high[1])))  # a - b, or 0
        most: dict[int, float] = {}
        for d, w in (*a.known, *b.known):  # the greater of two numbers moves no more than one of them
            most[d] = max(most.get(d, 0.0), w)
        most.update({~d: 1.0 for d, _ in over.row})  # its own rounding
        found = a.plus(over.scaled(-1)) if op == "min" else b.plus(over)
        if op == "min":
            high = b.high if below(b.high, a.high) else a.high
            low = (min(a.low[0], b.low[0]), min(a.low[1], b.low[1]))
            if below((0, 0), a.low) and below((0, 0), b.low):
                low = (0, 0)
        else:
            high = (max(a.high[0], b.high[0]), max(a.high[1], b.high[1]))
            low = b.low if below(a.low, b.low) else a.low
        return AffineForm(found.row, found.bias, found.time, low, high, tuple(most.items()))

    # -------------------------------------------------------- heads

    def head(
        self, time: int, pairs: list[tuple[AffineForm, AffineForm]], values: list[AffineForm], mask: Mask
    ) -> list[AffineForm]:
        """A head whose score is the sum of products ``query * key``; returns what it reads of each value."""
        slots = [self.copied(value, time) for value in values]  # a head reads dimensions, not biases
        raw = self.stream.block(len(values), time + 1)
        pairs, copied = pairs or [(number(0), number(0))], [({slot: 1.0}, 0.0) for slot in slots]
        query, key = ([(dict(pair[k].row), pair[k].bias) for pair in pairs] for k in (0, 1))
        self.stream.head(time, HeadRows(query, key, copied, raw, mask, Term("1")))
        return [AffineForm(((raw[v], 1.0),), 0.0, time + 1, form.low, form.high) for v, form in enumerate(values)]

    def copied(self, form: AffineForm, time: int) -> int:
        """A dimension that holds a form of a value at least 0, at the input of layer ``time``."""
        if len(form.row) == 1 and form.row[0][1] == 1.0 and form.bias == 0:
            return form.row[0][0]
        made = self.stream.block(1, time).start
        self.stream.unit(time - 1, Unit(dict(form.row), form.bias, {made: 1.0}))
        return made

    def snapped(self, form: AffineForm) -> tuple[AffineForm, AffineForm]:
        """An integer in ``0 .. i`` read again, and its square: the score is ``2 j form - j^2``."""
        if not (below((0, 0), form.low) and below(form.high, (1, 0))):
            raise NotEstablished(
                "an integer that is compared between i and j must lie in 0 .. i at every position; "
                "write it as min(max(x, 0), pos(i))"
            )
        square = self.term("i*i", (0, 0), (0, 0))
        if form.row == self.place.row and form.bias == 0:
            return self.place, square  # exact already
        pairs = [(form.scaled(2), self.place), (number(-1), square)]
        found, squared = self.head(form.time, pairs, [self.place, square], "past")
        at, at_square = found.row[0][0], squared.row[0][0]
        self.steps.append(Snapped(at, at_square, self.spread(form)))
        self.raw += [at, at_square]
        return AffineForm(found.row, 0.0, found.time, (0, 0), (1, 0)), squared

    def term(self, text: str, low: Line, high: Line) -> AffineForm:
        return AffineForm(((self.stream.term(text), 1.0),), 0.0, 0, low, high)

    def prefix_sum(self, s: PrefixSum) -> AffineForm:
        """An average over the past, and the look-up that multiplies it by ``i + 1``."""
        form = self.both(self.value(s.value), self.opposite(self.marker))
        time = max(form.time, 1)
        (average,) = self.head(time, [], [form], "past")
        whole = self.term("1/(i+1)", (0, 0), (0, 1))
        pairs = [(average.scaled(2), self.place), (whole.scaled(-1), self.term("i*i", (0, 0), (0, 0)))]
        (found,) = self.head(average.time, pairs, [self.place], "past")
        at = found.row[0][0]
        self.steps.append(Counted(at))
        self.sizes[at] = (1, 0)
        self.raw.append(at)
        return replace(found, low=(0, 0), high=(1, 0))

    def attention(self, s: SRaspAttention) -> AffineForm:
        """The scored head, its default from the marker."""
        equality, rest = split(s.score)
        pairs, time = self.matches(rest, s)
        snapped, unique = None, False
        if equality is not None:
            pairs, time, snapped, unique = self.equal(equality, pairs, time)
        inner = self.value(s.value)
        value, default = self.gated(inner), self.value(s.default)
        boolean = s.value.boolean
        if not boolean and s.default.op != "const":
            raise NotEstablished("the default of an integer must be a number")
        time = max(time, value.time + 1, default.time, 1)
        found, at_marker = self.head(time, pairs, [value, self.marker], s.mask)
        at = found.row[0][0]
        high = (max(value.high[0], default.high[0]), max(value.high[1], default.high[1]))
        read = Spread(self.spread(inner).weights, (abs(high[0]), abs(high[1])))
        self.steps.append(Attended(at, boolean, snapped, unique, len(pairs), read, s.value.op == "pos"))
        self.raw += [at, at_marker.row[0][0]]
        if boolean:
            return self.rounded(time, found, at_marker.plus(default).plus(number(-1)))
        self.sizes[at] = high
        result = found.plus(at_marker.scaled(s.default.value))
        return AffineForm(result.row, result.bias, result.time, (0, 0), high, ((at, 1.0),))

    def gated(self, form: AffineForm) -> AffineForm:
        """A value that is 0 at the marker; integers must be at least 0."""
        if not below((0, 0), form.low):
            raise NotEstablished("an integer that is read by attention must be at least 0: write max(x, 0)")
        return self.relu(form.plus(self.marker.scaled(-max(form.high[1], 1))), (0, 0), form.high)

    def matches(self, node: Node | None, s: SRaspAttention) -> tuple[list[tuple[AffineForm, AffineForm]], int]:
        """``B(i,j) - 1`` on words, ``-1/4`` at the marker, and the tie-break; with the time at which all is there."""
        unit = "1/(2*(i+1))" if s.mask != "none" else "1/(2*n)"
        slope = self.term(unit, (0, 0), (0, 1)).scaled(1 if s.rightmost else -1)
        real = self.opposite(self.marker)
        pairs = [(slope, self.place)]
        shift = -1.0 if s.rightmost else -0.5
        at_key = AffineForm(tuple((d, w * shift) for d, w in real.row), real.bias * shift, 0)
        pairs.append((number(1), at_key.plus(AffineForm(((self.marker.row[0][0], -0.25),), 0.0, 0))))
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

    def cases(self, nodes: list[Node], more: list[AffineForm]) -> list[tuple[tuple[bool, ...], AffineForm]]:
        """For every assignment of some truth values, the form that is 1 where it holds (and ``more`` does)."""
        forms = [self.value(node) for node in nodes]
        found = []
        for bits in itertools.product((False, True), repeat=len(forms)):
            signs = [f if bit else self.opposite(f) for f, bit in zip(forms, bits, strict=True)]
            found.append((bits, self.both(*signs, *more) if signs or more else number(1)))
        return found

    def equal(
        self, node: Node, pairs: list[tuple[AffineForm, AffineForm]], time: int
    ) -> tuple[list[tuple[AffineForm, AffineForm]], int, tuple[int, int], bool]:
        """Adds ``2 u v - v^2``, and ``u^2`` at the marker; also what was snapped, and whether ``v`` is the position."""
        here, there = node.args if "i" in node.args[0].sides else node.args[::-1]
        (u, u_square), (v, v_square) = self.snapped(self.value(here)), self.snapped(self.value(there))
        pairs = [*pairs, (u.scaled(2), v), (number(-1), v_square), (u_square, self.marker)]
        ready = max(time, u.time, u_square.time, v_square.time)
        return pairs, ready, (u.row[0][0], v.row[0][0]), there.op == "pos"


def _merged(pairs: list[tuple[AffineForm, AffineForm]]) -> list[tuple[AffineForm, AffineForm]]:
    """Keys of one query added up."""
    found: dict[tuple[tuple[tuple[int, float], ...], float], tuple[AffineForm, AffineForm]] = {}
    for query, key in pairs:
        slot = (query.row, query.bias)
        found[slot] = (query, found[slot][1].plus(key)) if slot in found else (query, key)
    return list(found.values())
