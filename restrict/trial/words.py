"""The words of a trial: all short ones where they are few, else random ones, from an explicit generator."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from restrict.base.arrays import I64, all_words

FEW = 512
"""All words of a length are run where they are at most so many."""
SOME = 64
"""Random words of a short length, where there are more."""
CHANGES = (1.0, 0.15)
"""How often the next symbol of a random word is drawn anew: always, or seldom, so that there are long runs."""


def words_of(symbols: int, length: int, rng: np.random.Generator, count: int = SOME) -> I64:
    """All words of a length where they are few, else random ones: symbol indices, int64, (words, length)."""
    if symbols == 1 or symbols ** min(length, 40) <= FEW:
        return all_words(symbols, length)
    return random_words(symbols, length, rng, count)


def random_words(symbols: int, length: int, rng: np.random.Generator, count: int) -> I64:
    """Random words, every other one with long runs of a symbol: symbol indices, int64, (count, length)."""
    letters = rng.integers(0, symbols, (count, length))
    share = np.array([CHANGES[at % len(CHANGES)] for at in range(count)])
    drawn = rng.random((count, length)) < share[:, None]
    last = np.maximum.accumulate(np.where(drawn, np.arange(length), 0), axis=1) if length else letters
    found: I64 = np.take_along_axis(letters, last, axis=1)
    return found


def completions(
    cells: Sequence[int], symbols: int, fixed: Mapping[int, int], rng: np.random.Generator, count: int, few: int = 0
) -> I64:
    """Words that agree with a restriction. ``rng``: where the other symbols come from; ``few``: where there are at most
    so many words in all, all of them are given. Gives symbol indices, int64, shape (words, cells)."""
    free = len(cells) - len(fixed)
    if symbols ** min(free, 60) <= few:
        words = np.zeros((symbols**free, len(cells)), dtype=np.int64)
        words[:, [t for t, i in enumerate(cells) if i not in fixed]] = all_words(symbols, free)
    else:
        words = random_words(symbols, len(cells), rng, count)
    places = np.arange(cells.start, cells.stop) if isinstance(cells, range) else np.asarray(cells, dtype=np.int64)
    where = np.searchsorted(places, sorted(fixed))
    words[:, where] = [fixed[i] for i in sorted(fixed)]
    return words


def by_length(words: Sequence[Sequence[int]]) -> Iterator[I64]:
    """Words of several lengths, put together by length."""
    for length in sorted({len(word) for word in words}):
        group = [word for word in words if len(word) == length]
        yield np.array(group, dtype=np.int64).reshape(len(group), length)


def spelled(alphabet: Sequence[str], word: npt.ArrayLike) -> tuple[str, ...]:
    """The symbols of a word."""
    return tuple(alphabet[int(a)] for a in np.asarray(word))
