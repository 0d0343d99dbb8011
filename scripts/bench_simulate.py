"""Figures of docs/simulate.md: Dyck by S-RASP, how sharp the temperatures are, and how they grow.

python scripts/bench_simulate.py dyck --kinds 2 --length 8   # every word of a length (and so every prefix)
python scripts/bench_simulate.py long --length 200           # random words, most of them balanced or nearly so
python scripts/bench_simulate.py sharp                       # computed 1/tau against the smallest that still works
python scripts/bench_simulate.py growth                      # 1/tau by length
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from harness import arguments, least_share, timed

from restrict.model.source import load
from restrict.simulate.floating import UNITS
from restrict.simulate.ours.hard import compile_program
from restrict.simulate.ours.measure import measure, words_of
from restrict.simulate.ours.report import CompiledProgram
from restrict.simulate.srasp.budget import ProgramBudget
from restrict.simulate.srasp.compiler import compile_with_budget, gap_of
from restrict.simulate.srasp.interpreter import run
from restrict.simulate.srasp.measure import deviation
from restrict.simulate.srasp.parser import parse
from restrict.simulate.srasp.programs import dyck
from restrict.simulate.srasp.source import BUILT_IN
from restrict.simulate.srasp.syntax import SRaspProgram
from restrict.simulate.theorem26 import Sharpness, by_softmax, temperature
from restrict.soft.models.evaluate import logits
from restrict.soft.models.model import SoftModel
from restrict.soft.models.terms import Term
from tests.prefixes import Decoder, Prefixes

EPSILON = Fraction(1, 5)
CHUNK = 256
"""Prefixes that are continued at once: what fits into the processor's cache."""
Words = npt.NDArray[np.int64]


def balanced(words: Words) -> npt.NDArray[np.bool_]:
    """Whether each prefix is balanced, by stacks: symbol ``2k`` opens and ``2k + 1`` closes kind ``k``."""
    count, length = words.shape
    stack, depth = np.zeros((count, length + 1), dtype=np.int64), np.zeros(count, dtype=np.int64)
    alive, found, rows = np.ones(count, dtype=np.bool_), np.zeros(words.shape, dtype=np.bool_), np.arange(count)
    for at in range(length):
        kind, closes = words[:, at] // 2, words[:, at] % 2 == 1
        alive &= ~closes | ((depth > 0) & (stack[rows, np.maximum(depth - 1, 0)] == kind))
        stack[rows, np.where(closes, length, depth)] = kind
        depth = np.maximum(depth + np.where(closes, -1, 1), 0)
        found[:, at] = alive & (depth == 0)
    return found


def sharpened(model: SoftModel, factor: float) -> SoftModel:
    """The same model with every inverse temperature multiplied. ``factor``: positive."""
    layers = []
    for layer in model.layers:
        heads = [replace(h, scale=Term(f"({h.scale.text})*{factor!r}")) for h in layer.heads]
        layers.append(replace(layer, heads=tuple(heads)))
    return replace(model, layers=tuple(layers))


def smallest_factor(compiled: CompiledProgram, words: Words, exhaustive: bool, steps: int = 20) -> float:
    """The least factor on all inverse temperatures at which every read stays within ``epsilon`` on some words.
    ``compiled``: at factor 1 it is within ``epsilon``. ``exhaustive``: whether these are all words. In (0, 1], up to
    ``2^-steps``: exact (up to rounding) on all words, else an estimate from below."""

    def works(share: float) -> bool:
        found = measure(compiled, words, exhaustive, soft=sharpened(compiled.soft, share))
        return found.error <= compiled.epsilon and not found.wrong

    return least_share(works, steps)


class Softened(NamedTuple):
    """Dyck by S-RASP at one length: the program's budget, its temperature, and the softmax model."""

    budget: ProgramBudget
    sharp: Sharpness
    model: SoftModel


def softened(kinds: int, n: int) -> Softened:
    """The model for words of ``n - 1`` symbols."""
    hard, budget = compile_with_budget(parse(dyck(kinds)))
    sharp = budget.sharpness(n, EPSILON)
    return Softened(budget, sharp, by_softmax(hard, sharp))


@dataclass
class Walk:
    """All words of a length by their prefixes, each run once; with ``orbits`` one for each renaming of the kinds."""

    decoder: Decoder
    kinds: int
    length: int
    orbits: bool
    prefixes: int = 0
    words: int = 0
    wrong: int = 0
    error: float = 0.0

    def run(self) -> None:
        """All of them."""
        start = self.decoder.extend(self.decoder.empty(), np.array([2 * self.kinds]))  # the start marker
        self.step(np.zeros((1, 0), dtype=np.int64), start.chosen(np.zeros(1, np.int64), np.zeros(1, np.int64)))

    def step(self, words: Words, before: Prefixes) -> None:
        """Continue some prefixes by every symbol, compare, and go on with them."""
        found = self.decoder.extend(before, np.arange(2 * self.kinds))
        prefix, symbol = (x.reshape(-1) for x in np.indices(found.logits.shape[:2]))
        if self.orbits:  # a kind may be new only if all before it have occurred
            used = words.max(axis=1, initial=-1) // 2
            keep = symbol // 2 <= used[prefix] + 1
            prefix, symbol = prefix[keep], symbol[keep]
        longer = np.concatenate([words[prefix], symbol[:, None]], axis=1)
        truth, logit = balanced(longer)[:, -1], found.logits[prefix, symbol, 0]
        self.prefixes += len(longer)
        self.wrong += int(((logit > 0) != truth).sum())
        self.error = max(self.error, float(np.abs(logit - (truth - 0.5)).max()))
        if longer.shape[1] == self.length:
            self.words += orbit_sizes(longer, self.kinds) if self.orbits else len(longer)
            return
        for at in range(0, len(longer), CHUNK):
            part = slice(at, at + CHUNK)
            self.step(longer[part], found.chosen(prefix[part], symbol[part]))


def orbit_sizes(words: Words, kinds: int) -> int:
    """How many words some words become by renaming kinds: ``kinds! / (kinds - used)!`` each."""
    used = words.max(axis=1) // 2 + 1
    return int(
        sum(math.perm(kinds, int(u)) * int(c) for u, c in zip(*np.unique(used, return_counts=True), strict=True))
    )


def equivariant(kinds: int, length: int, found: Softened, dtype: type) -> int:
    """Asserts that renaming the kinds changes no logit of any word of a length, bit by bit; how many were compared."""
    grid = np.indices((2 * kinds,) * length, dtype=np.int64).reshape(length, -1).T
    logit = logits(found.model, found.model.encode(grid), dtype=dtype)
    weights = (2 * kinds) ** np.arange(length)[::-1]
    for order in itertools.permutations(range(kinds)):
        renamed = np.array([2 * order[a // 2] + a % 2 for a in range(2 * kinds)])[grid]
        assert np.array_equal(logit[renamed @ weights], logit), order
    return len(grid)


def every(kinds: int, length: int, kind: str, orbits: bool) -> None:
    """All words of a length, by their prefixes."""
    n, dtype = length + 1, {"float64": np.float64, "float32": np.float32}[kind]
    found = softened(kinds, n)
    certified = found.budget.deviation(n, found.sharp.scale, UNITS[kind])
    walk = Walk(Decoder(found.model, n, dtype), kinds, length, orbits)
    _, seconds = timed(walk.run)
    assert walk.words == (2 * kinds) ** length
    by = "every prefix once"
    if orbits:
        by = f"one for each renaming of kinds, which changes no bit on all {equivariant(kinds, 5, found, dtype)} of " \
             "length 5"  # fmt: skip
    print(f"dyck-{kinds}, {kind}: all {walk.words} words of length {length} ({walk.prefixes} prefixes run: {by}): "
          f"{walk.wrong} wrong; largest error of a logit {walk.error:.2g}; certified before rounding {certified:.4f}; "
          f"1/tau = {found.sharp.scale:.0f}; {seconds:.0f} s")  # fmt: skip


def near(rng: np.random.Generator, kinds: int, length: int) -> list[int]:
    """A balanced word, half of the time with one symbol changed."""
    word, stack = list[int](), list[int]()
    while len(word) < length:
        if stack and (len(stack) >= length - len(word) or rng.random() < 0.5):
            word.append(stack.pop() + 1)
        else:
            stack.append(2 * int(rng.integers(kinds)))
            word.append(stack[-1])
    if rng.random() < 0.5:
        word[int(rng.integers(length))] = int(rng.integers(2 * kinds))
    return word


def long_words(length: int, count: int) -> None:
    """Random words, half of them near Dyck, half uniform, in float64."""
    for kinds in (1, 2, 3):
        rng, found = np.random.default_rng(kinds), softened(kinds, length + 1)
        words = np.array([near(rng, kinds, length) for _ in range(count // 2)])
        words = np.concatenate([words, rng.integers(0, 2 * kinds, (count - count // 2, length))])
        wrong, error = 0, 0.0
        for part in np.array_split(words, max(1, words.size * found.model.width // 2**21)):
            logit, truth = logits(found.model, found.model.encode(part))[:, 1:, 0], balanced(part)
            wrong += int(((logit > 0) != truth).any(axis=1).sum())
            error = max(error, float(np.abs(logit - (truth - 0.5)).max()))
        print(f"dyck-{kinds}: {count} random words of length {length}, every prefix: {wrong} wrong; largest error of a "
              f"logit {error:.2g}; certified before rounding {found.sharp.error:.4f}; 1/tau = {found.sharp.scale:.0f}; "
              f"float32 certified up to n = {found.budget.safe_length(found.sharp, UNITS['float32'])}")  # fmt: skip


def sharp() -> None:
    """Computed over smallest working inverse temperature, at small lengths on all words."""
    print("program             n  1/tau  smallest within epsilon  ratio")
    for name in ("contains-one", "flip-flop", "induction-head", "dyck1-depth2", "tagger", "parity8"):
        n = {"flip-flop": 6, "induction-head": 6, "tagger": 7}.get(name, 9)
        compiled = compile_program(load(name), n, EPSILON)
        factor = smallest_factor(compiled, *words_of(compiled), steps=10)
        print(f"{name:<18} {n:>2}  {compiled.scale:5.2f}  {compiled.scale * factor:23.2f}  {1 / factor:5.2f}")
    for name, length in (("dyck-1", 8), ("dyck-2", 5), ("dyck-3", 4), ("flip-flop", 5), ("induction-1", 7),
                         ("induction-2", 7), ("induction-3", 7)):  # fmt: skip
        scale, least = least_of_program(parse(BUILT_IN[name]), length)
        print(f"{'srasp:' + name:<18} {length + 1:>2}  {scale:5.0f}  {least:23.2f}  {scale / least:5.2f}")
    for name, length in (("flip-flop", 5), ("induction-1", 5), ("dyck-1", 6)):  # the weights alone
        program = parse(BUILT_IN[name])
        scale = temperature(compile_with_budget(program)[0], length + 1, gap_of(length + 1), EPSILON).scale
        least = least_of_program(program, length)[1]
        print(f"{name + ' (recursion)':<22} {length + 1:>2} {scale:5.0f}  {least:23.2f}  {scale / least:5.2f}")


def least_of_program(program: SRaspProgram, length: int, sample: Words | None = None) -> tuple[float, float]:
    """The inverse temperature of an S-RASP program, and the smallest at which all stays within epsilon.

    On all words of a length, or on a sample of them.
    """
    hard, budget = compile_with_budget(program)
    words = np.indices((len(program.alphabet),) * length).reshape(length, -1).T if sample is None else sample
    truth = np.array([run(program, [program.alphabet[a] for a in word])[program.output] for word in words]) > 0
    found = budget.sharpness(length + 1, EPSILON)

    def works(share: float) -> bool:
        soft = by_softmax(hard, replace(found, scale=1.0), f"*{share * found.scale!r}")
        off, logit = deviation(soft, budget.raw, words)
        return off <= EPSILON and bool(((logit > 0) == truth).all())

    return found.scale, found.scale * least_share(works)


def growth() -> None:
    """The inverse temperature by length."""
    lengths = (8, 32, 128, 512)
    print("program".ljust(28) + "".join(f"n = {n}".rjust(12) for n in lengths))
    for name in ("contains-one", "flip-flop"):
        found = [compile_program(load(name), n, EPSILON).scale for n in lengths]
        print(name.ljust(28) + "".join(f"{x:.5g}".rjust(12) for x in found))
    for name in ("flip-flop", "dyck-2", "induction-2"):
        budget = compile_with_budget(parse(BUILT_IN[name]))[1]
        found = [budget.sharpness(n, EPSILON).scale for n in lengths]
        print(f"srasp:{name}".ljust(28) + "".join(f"{x:.5g}".rjust(12) for x in found))


def main() -> None:
    """Run one part."""
    parser = arguments(__doc__, None)
    parser.add_argument("part", choices=["dyck", "long", "sharp", "growth"])
    parser.add_argument("--kinds", type=int, default=1)
    parser.add_argument("--length", type=int, default=10)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--kind", choices=list(UNITS), default="float64")
    parser.add_argument("--orbits", action="store_true", help="one word for each renaming of the kinds")
    given = parser.parse_args()
    if given.part == "dyck":
        every(given.kinds, given.length, given.kind, given.orbits)
    elif given.part == "long":
        long_words(given.length, given.count)
    else:
        {"sharp": sharp, "growth": growth}[given.part]()


if __name__ == "__main__":
    main()
