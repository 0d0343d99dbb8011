"""Bounds at several lengths as the command line shows them: in words, and as JSON."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from restrict.base.wording import at_least, at_most, columns
from restrict.soft.influence.attention import attention_influence
from restrict.soft.influence.influence import Influence, Progress, fit_decay, influence, influence_matrix
from restrict.soft.influence.logits import logit_influence
from restrict.soft.influence.pairs import PairBound, changes_of, runs_of
from restrict.soft.influence.theorem6 import CrossEntropy, cross_entropy
from restrict.soft.models.model import SoftModel


@dataclass(frozen=True)
class Influences:
    """The influence of one symbol at several lengths; ``logit``: on differences of logits, else on the activation."""

    model: SoftModel
    rows: Sequence[Influence]
    logit: bool = False

    def document(self) -> dict[str, Any]:
        """The rows and the fits of their decay, as JSON."""
        fits = {name: fit_decay(self.rows, name, int(self.logit)) for name in ("sharp", "measured")}
        return {
            "model": self.model.name,
            "sha256": self.model.digest,
            "rows": [vars(row) for row in self.rows],
            "fits": {name: None if fit is None else vars(fit) for name, fit in fits.items()},
        }

    def text(self) -> str:
        """A table, and how the bounds decay."""
        what = "norm of the change of the output's activation"
        what = "largest change of a logit difference" if self.logit else what
        fits = [(shown, fit_decay(self.rows, name, int(self.logit))) for name, shown in _FITTED]
        head = ("n", "(a) closed", "(b) layers", "(b) sets", "(c) measured", "sets/measured", "tried")
        return "\n".join([
            f"{self.model.name}: {what}, one symbol exchanged anywhere but at the output",
            "(a) closed form, (b) layer by layer and by sets: certified bounds; "
            "(c) measured: the largest found, in floats",
            columns([head, *(_cells(row, int(self.logit)) for row in self.rows)], right=True),
            *(f"fit (estimate): {shown} ~ {fit}" for shown, fit in fits if fit is not None),
        ])  # fmt: skip


_FITTED = (("sharp", "sets"), ("measured", "measured"))


def _cells(r: Influence, which: int) -> tuple[str, ...]:
    closed = "-" if r.closed is None else at_most(r.closed[which])
    if r.closed is not None and r.log10_closed is not None and not math.isfinite(r.closed[which]):
        closed = f"10^{math.ceil(r.log10_closed)}" if math.isfinite(r.log10_closed) else "none: eps is 0"
    ratio = r.sharp[which] / r.measured[which] if r.measured[which] > 0 else math.inf
    tried = f"all {r.tried}" if r.exhaustive else str(r.tried)
    bounds = (closed, at_most(r.layerwise[which]), at_most(r.sharp[which]), at_least(r.measured[which]))
    return (str(r.n), *bounds, f"{ratio:.2f}", tried)


def influences(
    model: SoftModel, lengths: Sequence[int], *, logit: bool = False, samples: int = 2000, seed: int = 0,
    progress: Progress | None = None,
) -> Influences:  # fmt: skip
    """:func:`.influence` at several lengths."""
    rows = [influence(model, n, samples=samples, seed=seed, progress=progress) for n in lengths]
    return Influences(model, rows, logit)


@dataclass(frozen=True)
class InfluenceMatrices:
    """:func:`.influence_matrix` at several lengths, by length."""

    bounds: dict[int, list[list[float]]]

    def document(self) -> dict[str, Any]:
        """The matrices by length, as JSON."""
        return {"bounds": self.bounds}

    def text(self) -> str:
        """A table for each length."""
        told = []
        for n, rows in self.bounds.items():
            told.append(f"n = {n}: certified bound; row: position changed, column: position read")
            lines = [(str(i), *map(at_most, row)) for i, row in enumerate(rows)]
            told.append(columns([("", *map(str, range(n))), *lines], right=True))
        return "\n".join(told)


def influence_matrices(model: SoftModel, lengths: Sequence[int]) -> InfluenceMatrices:
    """:func:`.influence_matrix` at several lengths."""
    return InfluenceMatrices({n: influence_matrix(model, n).tolist() for n in lengths})


@dataclass(frozen=True)
class PairBounds:
    """Bounds by pairs of words at several lengths, of a logit where ``logit`` says so; ``inputs``: the language of
    which both words are prefixes."""

    model: SoftModel
    rows: Sequence[tuple[int, PairBound]]
    logit: bool = False
    inputs: str | None = None

    def document(self) -> dict[str, Any]:
        """The rows, with the words as symbols, as JSON."""
        rows = [{"n": n, **vars(bound), "words": self._spelled(bound)} for n, bound in self.rows]
        return {"model": self.model.name, "rows": rows}

    def text(self) -> str:
        """The table, then the words that attain the last row."""
        what = "norm of the change of what attention adds at the output"
        if self.logit:
            difference = " difference" if self.model.output.kind == "softmax" else ""
            what = f"largest change of a logit{difference} at the output"
        cells = [("n", "certified bound", "attained", "quotient")]
        for n, found in self.rows:
            quotient = f"{found.bound / found.attained:.4f}" if found.attained > 0 else "-"
            cells.append((str(n), at_most(found.bound), at_least(found.attained), quotient))
        which = f"both words prefixes of {self.inputs}" if self.inputs else "all words"
        told = [f"{self.model.name}: {what}, one symbol exchanged elsewhere; {which}", columns(cells, right=True)]
        words = self._spelled(self.rows[-1][1]) or ()
        told += [f"{label}: {' '.join(word)}" for label, word in zip(("attained by", "and"), words, strict=False)]
        return "\n".join(told)

    def _spelled(self, found: PairBound) -> list[list[str]] | None:
        """Both words as symbols, markers left out."""
        if found.words is None:
            return None
        pinned, names = self.model.pinned(len(found.words[0])), self.model.alphabet
        return [[names[s] for j, s in enumerate(word) if j not in pinned] for word in found.words]


def pair_bounds(
    model: SoftModel, lengths: Sequence[int], *, logit: bool = False, language: Any = None,
    inputs: str | None = None, seconds: float = 60.0, progress: Progress | None = None,
) -> PairBounds:  # fmt: skip
    """Bounds by pairs of words at several lengths. ``language``: both words are prefixes of its words (regular), and
    ``inputs`` is what the table calls it; ``seconds``: of halving for each length, of logits. ``UsageError`` as
    :func:`.changes_of` and :func:`.runs_of`."""
    delta, rows = None if language is None else runs_of(model, language), []
    for n in lengths:
        if progress is not None:
            progress(f"n = {n}")
        found = changes_of(model, n, delta=delta)
        rows.append((n, logit_influence(model, found, seconds=seconds) if logit else attention_influence(found)))
    return PairBounds(model, rows, logit, inputs or getattr(language, "name", None))


@dataclass(frozen=True)
class CrossEntropies:
    """Theorem 6 at several lengths."""

    model: SoftModel
    language: str
    rows: Sequence[CrossEntropy]

    def document(self) -> dict[str, Any]:
        """The rows, as JSON."""
        return {"model": self.model.name, "rows": [vars(row) for row in self.rows]}

    def text(self) -> str:
        """A table, in bits for each prediction."""
        head = ("n", "optimum", "floor", "measured", "+-", "chance", "eta")
        cells = [
            (str(r.n), f"{r.optimum:.6f}", f"{math.floor(r.floor * 1e6) / 1e6:.6f}", f"{r.measured:.6f}",
             "exact" if r.exhaustive else f"{r.margin:.1e}", f"{r.chance:.6f}", f"{r.eta:.4g}")
            for r in self.rows
        ]  # fmt: skip
        return "\n".join([
            f"{self.model.name} on {self.language}, {self.rows[0].task}: bits per prediction",
            "optimum, chance: exact; floor: certified lower bound; measured: exact, or +- a 99 % interval",
            columns([head, *cells], right=True),
        ])  # fmt: skip


def cross_entropies(
    model: SoftModel, lengths: Sequence[int], language: str, *, p: Fraction = Fraction(1, 10), samples: int = 2000,
    seed: int = 0,
) -> CrossEntropies:  # fmt: skip
    """:func:`.cross_entropy` at several lengths."""
    rows = [cross_entropy(model, n, language, p=p, samples=samples, seed=seed) for n in lengths]
    return CrossEntropies(model, language, rows)
