"""The two sources of Theorem 6 (Hahn 2020): samplers, next-symbol distributions, prefix probabilities, all exact.

**PARITY**: a string ends with probability ``p`` where the number of ones so far is even; otherwise a fair bit follows.
**2DYCK**: the grammar ``S -> (S)S | [S]S`` with ``p/2`` each, ``S -> empty`` with ``1 - p``. Read from left to right:
at any time an opening bracket of either type has probability ``p/2``; with ``1 - p`` the innermost open bracket is
closed, or the string ends where none is open.

"At length m" means: given that the string has at least ``m`` symbols. For PARITY and ``m >= 1`` both parities then have
probability exactly 1/2. For 2DYCK the height is a walk (up ``p``, down ``1 - p``) that is absorbed below 0, given that
it still lives; its law converges, along even and along odd lengths, to ``(h+1) (p/(1-p))^(h/2)`` (normalised).

``P0(m, p)`` is the probability that the prefix ends with a closing bracket and is unbalanced. Its limits are, with
``r = p/(1-p)``: ``r (2-r) / (1+r)`` along even and ``(3-r)/4`` along odd lengths. (The footnote of the paper lets
the chain be positive recurrent; given survival the limit is this quasi-stationary one, for ``p < 1/2``.)
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from restrict.base.arrays import I64
from restrict.base.errors import ResourceLimit, UsageError
from restrict.base.options import Fact
from restrict.soft.models.model import Floats

Numbers = npt.NDArray[Any]
"""Doubles, or objects that are all fractions."""
BRACKETS = ("(", ")", "[", "]")
MAX_EXACT: Fact[int] = 200
"""Lengths up to which the height's law is computed with fractions; beyond, with doubles (error below 1e-10)."""
MAX_LENGTH: Fact[int] = 20_000


def entropy(distribution: tuple[Fraction | float, ...]) -> float:
    """Shannon entropy in bits."""
    return -sum(float(q) * math.log2(float(q)) for q in distribution if q > 0)


@dataclass(frozen=True)
class Source:
    """A distribution over strings; ``symbols`` are the letters, and the end of the string is one symbol more."""

    p: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.p < 1:
            raise UsageError(f"p = {self.p} must be above 0 and below 1")

    def next(self, word: tuple[int, ...]) -> tuple[Fraction, ...]:
        """The distribution of what follows a prefix: a letter, or the end."""
        raise NotImplementedError

    def prefixes(self, m: int) -> list[tuple[tuple[int, ...], Fraction]]:
        """All prefixes of this length with their probabilities given that a string has so many symbols."""
        found: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
        for _ in range(m):
            found = [((*w, s), p * q) for w, p in found for s, q in enumerate(self.next(w)[:-1]) if q]
        total = sum(p for _, p in found)
        return [(word, p / total) for word, p in found]


@dataclass(frozen=True)
class Parity(Source):
    """The PARITY source; letters 0 and 1."""

    symbols = ("0", "1")
    name = "parity"

    def next(self, word: tuple[int, ...]) -> tuple[Fraction, ...]:
        """The distribution of what follows a prefix: 0, 1, end."""
        if sum(word) % 2:
            return Fraction(1, 2), Fraction(1, 2), Fraction(0)
        return (1 - self.p) / 2, (1 - self.p) / 2, self.p

    def sample(self, m: int, count: int, rng: np.random.Generator) -> I64:
        """Prefixes of length ``m``, given survival, (count, m). Cost: ``count * m``. Given survival, the parities after
        1 .. m-1 symbols are independent, even with probability ``(1-p)/(2-p)``, and the last one is fair."""
        odd = rng.random((count, m)) >= float((1 - self.p) / (2 - self.p))
        if m:
            odd[:, -1] = rng.random(count) < 0.5
        before = np.concatenate([np.zeros((count, 1), dtype=bool), odd[:, :-1]], axis=1)[:, :m]
        return np.asarray((odd ^ before).astype(np.int64))

    def next_many(self, words: I64) -> Floats:
        """The distributions of what follows: (count, 3)."""
        odd = words.sum(axis=1) % 2 == 1
        table = np.array([[float(q) for q in self.next(())], [0.5, 0.5, 0.0]])
        return np.asarray(table[odd.astype(np.int64)])

    def optimum(self, m: int) -> float:
        """The least cross-entropy of the next symbol at length ``m``, in bits."""
        even = entropy(self.next(()))
        return even if m == 0 else (even + 1) / 2

    def chance(self, m: int) -> float:
        """The cross-entropy of the best predictor that knows nothing but the length."""
        even, odd = self.next(()), self.next((1,))
        return entropy(even if m == 0 else tuple((a + b) / 2 for a, b in zip(even, odd, strict=True)))

    def chance_given_last(self, m: int) -> float:
        """The cross-entropy of the best predictor that knows the length and the last symbol."""
        if m <= 1:
            return self.optimum(m)
        return (self.mixture(self.last_weight) + self.mixture(1 - self.last_weight)) / 2

    @property
    def last_weight(self) -> Fraction:
        """The probability of even parity given that the last symbol is 0 (and one more symbol before it)."""
        return (1 - self.p) / (2 - self.p)

    def mixture(self, even: Fraction) -> float:
        """The entropy of the next symbol where the parity is even with this probability, in bits."""
        pairs = zip(self.next(()), self.next((1,)), strict=True)
        return entropy(tuple(even * a + (1 - even) * b for a, b in pairs))


@dataclass(frozen=True)
class Dyck2(Source):
    """The 2DYCK source; letters ``( ) [ ]``."""

    symbols = BRACKETS
    name = "2dyck"

    def next(self, word: tuple[int, ...]) -> tuple[Fraction, ...]:
        """The distribution of what follows a prefix: ``( ) [ ]``, end."""
        stack = self.pending(word)
        found = [self.p / 2, Fraction(0), self.p / 2, Fraction(0), Fraction(0)]
        found[stack[-1] + 1 if stack else 4] = 1 - self.p
        return tuple(found)

    def pending(self, word: tuple[int, ...]) -> list[int]:
        """The open brackets, innermost last."""
        stack: list[int] = []
        for symbol in word:
            if symbol % 2 == 0:
                stack.append(symbol)
            elif not stack or stack.pop() != symbol - 1:
                raise UsageError(f"{''.join(BRACKETS[s] for s in word)!r} is no prefix of a word of 2DYCK")
        return stack

    def heights(self, m: int) -> tuple[Numbers, Numbers]:
        """The law of the height at length ``m`` given survival, and its part where the last symbol closes. Fractions
        for ``m`` up to :data:`MAX_EXACT`, else doubles. Cost: ``m^2``."""
        if not 0 <= m <= MAX_LENGTH:
            raise ResourceLimit(f"2DYCK: the length {m} is above {MAX_LENGTH}")
        return _heights(self.p if m <= MAX_EXACT else float(self.p), m)

    def p0(self, m: int) -> Fraction | float:
        """``P0(m, p)``: the prefix ends with a closing bracket and is unbalanced."""
        _law, closed = self.heights(m)
        found: Fraction | float = closed[1:].sum()
        return found

    def p0_limit(self, even: bool) -> Fraction:
        """The limit of ``P0`` along even or odd lengths, for ``p < 1/2``."""
        if self.p >= Fraction(1, 2):
            raise UsageError("P0 has this limit for p below 1/2 only")
        r = self.p / (1 - self.p)
        return r * (2 - r) / (1 + r) if even else (3 - r) / 4

    def unbalanced(self, m: int) -> Fraction | float:
        """The probability that the prefix is unbalanced."""
        law, _ = self.heights(m)
        found: Fraction | float = law[1:].sum()
        return found

    def sample(self, m: int, count: int, rng: np.random.Generator) -> I64:
        """Prefixes of length ``m``, given survival, (count, m). Cost: ``m^2 + count * m``."""
        if m > 5000:
            raise ResourceLimit("2DYCK: prefixes are sampled up to length 5000")
        live = _living(float(self.p), m)
        words, height = np.zeros((count, m), dtype=np.int64), np.zeros(count, dtype=np.int64)
        stacks = np.zeros((count, m + 1), dtype=np.int64)
        rows, p = np.arange(count), float(self.p)
        for t in range(m):
            rise = p * live[t + 1][height + 1]
            fall = np.where(height > 0, (1 - p) * live[t + 1][np.maximum(height - 1, 0)], 0.0)
            opens = rng.random(count) * (rise + fall) < rise
            kind = 2 * rng.integers(0, 2, count)
            stacks[rows[opens], height[opens]] = kind[opens]
            words[:, t] = np.where(opens, kind, stacks[rows, np.maximum(height - 1, 0)] + 1)
            height = height + np.where(opens, 1, -1)
        return words

    def next_many(self, words: I64) -> Floats:
        """The distributions of what follows: (count, 5)."""
        return np.array([[float(q) for q in self.next(tuple(int(s) for s in word))] for word in words])

    def optimum(self, m: int) -> float:
        """The least cross-entropy of the next symbol, in bits: the same at every length."""
        return entropy((self.p / 2, self.p / 2, 1 - self.p))

    def chance(self, m: int) -> float:
        """The cross-entropy of the best predictor that knows nothing but the length."""
        some = self.unbalanced(m)
        close = (1 - self.p) * some / 2
        return entropy((self.p / 2, self.p / 2, close, close, (1 - self.p) * (1 - some)))


SOURCES: dict[str, type[Parity | Dyck2]] = {"parity": Parity, "2dyck": Dyck2, "dyck:2": Dyck2}
"""By the names that users give."""


def _ground(p: Fraction | float, m: int) -> Numbers:
    """The law of the height at length 0, with room for ``m`` steps: fractions where ``p`` is one, else doubles."""
    law: Numbers = np.zeros(m + 2, dtype=object if isinstance(p, Fraction) else np.float64)
    law[0] = p**0
    return law


def _walk(law: Numbers, p: Fraction | float) -> tuple[Numbers, Numbers]:
    """One step of the height: the mass that lives on, and its part that came down."""
    closed = np.append((1 - p) * law[1:], 0)
    return np.append(0, p * law[:-1]) + closed, closed


def _heights(p: Fraction | float, m: int) -> tuple[Numbers, Numbers]:
    law = _ground(p, m)
    closed = 0 * law
    for _ in range(m):  # doubles would underflow
        law, closed = _walk(law if isinstance(p, Fraction) else law / law.sum(), p)
    return law / law.sum(), closed / law.sum()


def _living(p: float, m: int) -> list[Floats]:
    """``live[t][h]``: proportional to the probability of living until ``m`` from height ``h`` at time ``t``."""
    found = [np.ones(m + 2)]
    for _ in range(m):
        later = found[-1]
        now = p * np.append(later[1:], later[-1])
        now[1:] += (1 - p) * later[:-1]
        found.append(now / now.max())
    return found[::-1]
