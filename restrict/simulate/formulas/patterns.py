"""The attention patterns of the compilers, each as queries, keys, a scale and a certified bound.

Two ways to be sharp: ``temperature`` has bounded position embeddings and an inverse temperature ``1/tau(n)`` for each
head; ``positions`` has unbounded position embeddings and temperature 1. A *decoder* sees ``j <= i`` only, and its
embeddings do not mention ``n``. In the tables ``u = i + 1``; the constants are ours.

=========  ===========================  ===========================  ==========================  =================
pattern    encoder, temperature         encoder, positions           decoder, temperature        decoder, positions
=========  ===========================  ===========================  ==========================  =================
exists     scale log(6n-5)              query log(6n-5)              scale log(6n-5)             query log(6i+1)
nearest    scale 2n, tie j/n            query 2n, tie 2j             scale 2n(n-1), tie -1/u     query 2u, tie 2j
neighbour  scale n-1, tie j/n           query n, tie j               scale (n-1)(n-3), tie -1/u  query u, tie j
threshold  scale 2n log(6n-5)           key 2n log(6n-5)             scale 2n log(6n-5)          (none)
look-up    scale g n^3, keys u/n^2 ...  keys g n u, g n u^2          scale g n^3 (n-1), 1/u ...  (none)
=========  ===========================  ===========================  ==========================  =================

*nearest* has the score ``2 (key - 1) + tie`` times the scale: positions with the key beat those without by twice what
the tie-breaking term can differ (Lemma 8; for a decoder ``1/(j+1) - 1/(j*+1) >= (j* - j) / (i (i+1))`` for ``j < j* <=
i``). *neighbour* has the score ``-7/8 (1 + (-1)^i (-1)^j) + tie`` (with unbounded embeddings ``-2 n (-1)^i (-1)^j``):
the nearest position of the other parity; below ``n = 4`` the decoder's scale is 1. The term that breaks ties has a
product of its own, so it is not rounded together with larger numbers where they cancel. *look-up* has the
score ``2 u c - u^2 / N`` with ``c = C / N``, so ``-(u - C)^2 / N`` and what does not depend on ``u`` (Lemma 7); a
decoder with bounded embeddings has ``2 / (u N) - c / u^2``, so ``-(u - C)^2 / (N C u^2)``. With ``N <= n`` and the
scales above neighbours of ``C`` are at least ``g`` below.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

from restrict.simulate.formulas.bounds import Bound, Exists, Lookup, Nearest, Neighbour, Threshold
from restrict.simulate.formulas.gates import TRUE
from restrict.simulate.formulas.network import Network, PlannedHead, Value
from restrict.soft.models.model import Mask

How = Literal["temperature", "positions"]
HOWS: tuple[How, ...] = ("temperature", "positions")
GAP = Fraction(17, 8)
"""What neighbours are below the winner in a look-up of a truth value."""
NUMBER = 0.11
"""What neighbours on one side may add to a weighted number, in steps of the table; 1/8 is the limit."""
_LOG = "log(6*n-5)"


class Result(NamedTuple):
    """A head's coordinate, the pattern's name, and the bound on its deviation (``None`` for an average)."""

    raw: Value
    pattern: str
    bound: Bound | None


@dataclass(frozen=True)
class Patterns:
    """The patterns of one way to be sharp, written into one network."""

    network: Network
    how: How
    decoder: bool

    @property
    def sharp(self) -> bool:
        """Whether the scales make heads sharp, not the embeddings."""
        return self.how == "temperature"

    def _head(
        self, query: list[Value], key: list[Value], value: Value, mask: Mask, scale: str, name: str, bound: Bound
    ) -> Result:
        scale = scale if self.sharp else "1"
        return Result(self.network.attend(PlannedHead(tuple(query), tuple(key), value, mask, scale)), name, bound)

    def _tie(self, mask: Mask) -> Value:
        """A value that grows towards the query, by which ties are broken."""
        if self.sharp and self.decoder:
            return self.network.term("1/(i+1)") * -1
        return self.network.term("i/n" if self.sharp else "i") * (-1 if mask == "future" else 1)

    def exists(self, key: Value, mask: Mask) -> Result:
        """Whether the key holds at a visible position. ``mask``: ``past``, ``future`` or ``none``."""
        query = TRUE if self.sharp else self.network.term("log(6*i+1)" if self.decoder else _LOG)
        return self._head([query], [key], key, mask, _LOG, "exists", Exists())

    def nearest(self, key: Value, value: Value, mask: Mask) -> Result:
        """The value at the nearest visible position with the key, rightmost (mask ``past``) or leftmost (``future``).
        Where the key is false everywhere in view, the value must be the same everywhere."""
        missed = key * 2 - 2.0
        beyond = math.exp(-4 if self.sharp and self.decoder else -6) * 1.001
        if not self.sharp:
            query = [self.network.term("i+1" if self.decoder else "n") * 2, TRUE]
            bound = Nearest(1, beyond, "integer")
            return self._head(query, [missed, self._tie(mask) * 2], value, mask, "1", "nearest", bound)
        bound = Nearest(1, beyond, "harmonic" if self.decoder else "share")
        scale = "2*n*(n-1)" if self.decoder else "2*n"
        return self._head([TRUE, TRUE], [missed, self._tie(mask)], value, mask, scale, "nearest", bound)

    def neighbour(self, value: Value, mask: Mask) -> Result:
        """The value at the nearest position in view other than the query's own; its own value where there is none.
        ``mask``: ``past`` (one to the left) or ``future`` (one to the right)."""
        parity = self.network.term("(-1)**i")
        if not self.sharp:
            bound = Nearest(2, math.exp(-7) * 1.001, "integer")
            query = [self.network.term("(i+1)*(-1)**i" if self.decoder else "n*(-1)**i") * -2, TRUE]
            return self._head(query, [parity, self._tie(mask)], value, mask, "1", "neighbour", bound)
        scale = "1 if n < 4 else (n-1)*(n-3)" if self.decoder else "n-1"
        query = [parity * -0.875 - 0.875, parity * 0.875 - 0.875, TRUE]  # -7/4 for the query's own parity, else 0
        key = [parity * 0.5 + 0.5, parity * -0.5 + 0.5, self._tie(mask)]
        return self._head(query, key, value, mask, scale, "neighbour", Neighbour(self.decoder))

    def average(self, value: Value, mask: Mask) -> Result:
        """The mean over what is visible. ``mask``: ``past``, ``future`` or ``none``. Result: the head; it is exact."""
        head = PlannedHead((Value(),), (Value(),), value, mask, "1")
        return Result(self.network.attend(head), "average", None)

    def threshold(self, number: Value, mask: Mask, size: float, per: Fraction) -> Result:
        """Whether a number is positive, where at least two positions are visible; see ``bounds.Threshold``. ``number``:
        at least ``1 / (2 per N)`` from 0, ``N`` the number of visible positions. ``mask``: ``past``, ``future`` or
        ``none``. ``per``: 1, or 4/3 after a look-up; the logarithm is then that of ``4n - 3``."""
        base = 6 if per == 1 else 4
        text = f"{2 * per}*n*log({base}*n-{base - 1})"
        end = "i == n-1" if mask == "future" else "i == 0"
        one = self.end(mask)
        key = one if self.sharp else self.network.term(f"{text} if {end} else 0")
        return self._head([number], [key], one, mask, text, "threshold", Threshold(size, float(per), base))

    def lookup(self, share: Value, whole: Value, value: Value, mask: Mask, weight: int = 0) -> Result:
        """The value at the position ``C - 1`` for a count ``C >= 1``; see ``bounds.Lookup``. ``share``: ``C / N``.
        ``whole``: ``1 / N``. ``mask``: ``past`` in a decoder, otherwise ``none``. ``weight``: 0 for a truth value; for
        ``(i+1)/n`` the sum of the weights that it is multiplied by."""
        gap = GAP
        if weight:
            gap = Fraction(math.ceil(8 * math.log((weight - NUMBER) / NUMBER)), 8)
        term, bound = self.network.term, Lookup(float(gap), float(weight))
        if self.decoder:
            key = [term("1/(i+1)**2") * -1, term("1/(i+1)") * 2]
            return self._head([share, whole], key, value, mask, f"{gap}*n**3*(n-1)", "look-up", bound)
        if self.sharp:
            key = [term("(i+1)/n**2") * 2, term("((i+1)/n)**2") * -1]
        else:
            key = [term(f"{gap}*n*(i+1)") * 2, term(f"{gap}*n*(i+1)**2") * -1]
        return self._head([share, whole], key, value, mask, f"{gap}*n**3", "look-up", bound)

    def end(self, mask: Mask) -> Value:
        """The position that a threshold compares with: the first, or under a ``future`` mask the last. ``mask``:
        ``past``, ``future`` or ``none``. Result: a truth value, ``relu(2 / (i+1) - 1)`` or its mirror image."""
        return self.network.relus((self.whole("future" if mask == "future" else "past") * 2 - 1.0, 1.0))

    def whole(self, mask: Mask) -> Value:
        """One over the number of visible positions. ``mask``: ``past``, ``future`` or ``none``."""
        return self.network.term({"past": "1/(i+1)", "future": "1/(n-i)", "none": "1/n"}[mask])

    def alone(self, mask: Mask) -> Value:
        """Whether the query's position is the only one in view. ``mask``: ``past``, ``future`` or ``none``."""
        return self.network.relus((self.whole(mask) * 2 - 1.0, 1.0))
