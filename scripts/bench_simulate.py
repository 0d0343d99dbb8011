"""Figures of docs/simulate.md: Dyck by S-RASP, how sharp the temperatures are, and how they grow.

python scripts/bench_simulate.py dyck --kinds 2 --length 8   # every word of a length (and so every prefix)
python scripts/bench_simulate.py long --length 200           # random words, most of them balanced or nearly so
python scripts/bench_simulate.py sharp                       # computed 1/tau against the smallest that still works
python scripts/bench_simulate.py growth                      # 1/tau by length
"""

from __future__ import annotations

import argparse
import time
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from restrict.model.source import load
from restrict.simulate.hard import compile_program
from restrict.simulate.measure import smallest_factor, words_of
from restrict.simulate.srasp.compiler import compile_program as compile_srasp
from restrict.simulate.srasp.compiler import gap_of
from restrict.simulate.srasp.parser import parse
from restrict.simulate.srasp.programs import dyck, flip_flop, induction
from restrict.simulate.uniform_tieless import Sharpness, by_softmax, temperature
from restrict.soft.evaluate import logits

EPSILON = Fraction(1, 5)
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


def compare(kinds: int, words: Words, n: int) -> tuple[int, float, Sharpness]:
    """Words with a wrong label at some position, the largest error of a logit, and the temperature."""
    hard = compile_srasp(parse(dyck(kinds)))
    sharp = temperature(hard, n, gap_of(n), EPSILON)
    soft, wrong, error = by_softmax(hard, sharp), 0, 0.0
    for part in np.array_split(words, max(1, len(words) * n * hard.width // 2**21)):
        found, truth = logits(soft, soft.encode(part))[:, 1:, 0], balanced(part)
        wrong += int(((found > 0) != truth).any(axis=1).sum())
        error = max(error, float(np.abs(found - (truth - 0.5)).max()))
    return wrong, error, sharp


def every(kinds: int, length: int) -> None:
    """All words of a length."""
    start, n = time.perf_counter(), length + 1
    grid = np.indices((2 * kinds,) * length, dtype=np.int64).reshape(length, -1).T
    wrong, error, sharp = compare(kinds, np.ascontiguousarray(grid), n)
    print(f"dyck-{kinds}: all {len(grid)} words of length {length}, every prefix: {wrong} wrong; largest error of a "
          f"logit {error:.2g}, certified {sharp.error:.2g}; 1/tau = {sharp.scale:.0f}; "
          f"{time.perf_counter() - start:.0f} s")  # fmt: skip


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
    """Random words, half of them near Dyck, half uniform."""
    for kinds in (1, 2, 3):
        rng = np.random.default_rng(kinds)
        words = np.array([near(rng, kinds, length) for _ in range(count // 2)])
        words = np.concatenate([words, rng.integers(0, 2 * kinds, (count - count // 2, length))])
        wrong, error, sharp = compare(kinds, words, length + 1)
        print(f"dyck-{kinds}: {count} random words of length {length}: {wrong} wrong; largest error of a logit "
              f"{error:.2g}, certified {sharp.error:.2g}; 1/tau = {sharp.scale:.0f}")  # fmt: skip


def sharp() -> None:
    """Computed over smallest working inverse temperature, at small lengths on all words."""
    print("program          n  1/tau  smallest within epsilon  ratio")
    for name in ("contains-one", "flip-flop", "induction-head", "dyck1-depth2", "tagger", "parity8"):
        n = {"flip-flop": 6, "induction-head": 6, "tagger": 7}.get(name, 9)
        compiled = compile_program(load(name), n, EPSILON)
        factor = smallest_factor(compiled, *words_of(compiled), steps=10)
        print(f"{name:<15} {n:>2}  {compiled.scale:5.2f}  {compiled.scale * factor:23.2f}  {1 / factor:5.2f}")


def growth() -> None:
    """The inverse temperature by length."""
    lengths = (8, 32, 128, 512)
    print("program".ljust(28) + "".join(f"n = {n}".rjust(12) for n in lengths))
    for name in ("contains-one", "flip-flop"):
        found = [compile_program(load(name), n, EPSILON).scale for n in lengths]
        print(name.ljust(28) + "".join(f"{x:.5g}".rjust(12) for x in found))
    for name, text in (("flip-flop", flip_flop()), ("dyck-2", dyck(2)), ("induction-2", induction(2))):
        model = compile_srasp(parse(text))
        found = [temperature(model, n, gap_of(n), EPSILON).scale for n in lengths]
        print(f"{name} (Theorem 26)".ljust(28) + "".join(f"{x:.5g}".rjust(12) for x in found))


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=["dyck", "long", "sharp", "growth"])
    parser.add_argument("--kinds", type=int, default=1)
    parser.add_argument("--length", type=int, default=10)
    parser.add_argument("--count", type=int, default=200)
    given = parser.parse_args()
    if given.part == "dyck":
        every(given.kinds, given.length)
    elif given.part == "long":
        long_words(given.length, given.count)
    else:
        {"sharp": sharp, "growth": growth}[given.part]()


if __name__ == "__main__":
    main()
