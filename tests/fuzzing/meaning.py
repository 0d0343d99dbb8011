"""What a model says, by evaluation over `tests/naive.py`: labels of words, tables of all short words, definedness.

The rules of docs/format.md for one value stand in `tests/naive.py`; here its expressions are first turned into Python
functions, since an oracle that takes longer than a mutant is not asked often enough. Tables are kept for a model as
long as its mutants come.
"""

import ast
import json
import random
from collections.abc import Callable, Sequence
from functools import cache, cached_property, lru_cache
from itertools import product
from typing import Any
from zlib import crc32

from tests import naive
from tests.fuzzing.batch import batch_values
from tests.fuzzing.defined import defined

Word = tuple[int, ...]
TABLE = 81
"""All words of a length are tried where they are at most so many."""
SAMPLES = 3
"""Random words of each length beyond."""
SAMPLED = (9, 13, 18)
FAR = 4_000
GRID = [*(2**k for k in range(12, 27)), 99_999_999, 100_000_000]


class Numbers(ast.NodeTransformer):
    """An expression of the format as one of Python: truth values are numbers, and no name is one of Python's."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name("v_" + node.id, node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.args = [self.visit(arg) for arg in node.args]
        return node

    def visit_BoolOp(self, node: ast.BoolOp | ast.Compare | ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return ast.IfExp(node, ast.Constant(1), ast.Constant(0))

    visit_Compare = visit_BoolOp

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        return self.visit_BoolOp(node) if isinstance(node.op, ast.Not) else self.generic_visit(node)


WORDS = (
    ast.Constant, ast.Name, ast.Load, ast.UnaryOp, ast.unaryop, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv,
    ast.Mod, ast.BoolOp, ast.boolop, ast.Compare, ast.cmpop, ast.IfExp, ast.Call,
)  # fmt: skip
"""What an expression of the format is made of."""


@lru_cache(1 << 12)
def compiled(text: str, names: tuple[str, ...]) -> Callable[..., int]:
    """An expression as a function of these names."""
    tree = ast.parse(f"({text})", mode="eval").body
    if strange := [part for part in ast.walk(tree) if not isinstance(part, WORDS)]:
        raise ValueError(ast.dump(strange[0]))
    given = ", ".join("v_" + name for name in names)
    code = f"lambda {given}: {ast.unparse(Numbers().visit(tree))}"
    function: Callable[..., int] = eval(code, {**naive.FUNCTIONS, "__builtins__": {}})
    return function


class Meaning:
    """A model, with what is known of it. Words are tuples of symbol indices, without the markers."""

    def __init__(self, model: dict[str, Any]) -> None:
        self.model = model
        self.alphabet: list[str] = model["alphabet"]
        self.markers = ("start_marker" in model) + ("end_marker" in model)
        self.every = model["output"]["position"] == "every"
        self.known: dict[int, bool | None] = {}
        self.instances: dict[int, naive.Instance] = {}
        self.labelled: dict[Word, list[str]] = {}
        self.values_of: dict[Word, list[int]] = {}
        self.filled: set[int] = set()
        self.samples: dict[int, list[Word]] = {}
        self.costs: dict[tuple[int, int], dict[str, int]] = {}

    def defined(self, n: int) -> bool | None:
        """Whether the model is defined at a length."""
        if n not in self.known:
            self.known[n] = defined(self.model, n)
        return self.known[n]

    def somewhere(self, first: int) -> bool:
        """Whether it is defined at some length from `first` on: the next ones by everything, later ones by `when`."""
        if any(self.defined(n) is not False for n in [*range(first, first + 40), *(n for n in GRID if n >= first)]):
            return True
        when = compiled(str(self.model.get("when", 1)), ("n",))
        later = range(first + 40, first + FAR)
        return any(self.defined(n) is not False for n in later if when(n))

    def instance(self, n: int) -> naive.Instance:
        """The model at a length, its rules as functions."""
        if n not in self.instances:
            slow = naive.at(self.model, n)
            score = {
                v["name"]: scored(v["score"], n, slow.score[v["name"]])
                for v in self.model["variables"]
                if v["kind"] == "head"
            }
            function = {
                v["name"]: mapped(v, n, slow.function[v["name"]]) for v in self.model["variables"] if v["kind"] == "map"
            }
            self.instances[n] = naive.Instance(self.model, n, slow.domain, score, function)
        return self.instances[n]

    def values(self, word: Word) -> list[int]:
        """The output variable at every position."""
        if word not in self.values_of:
            self.fill(len(word))
        if word not in self.values_of:
            self.values_of[word] = self.value(word)
        return self.values_of[word]

    def value(self, word: Word) -> list[int]:
        """The same, word by word."""
        run = naive.run_at(self.instance(len(word) + self.markers), word)
        return run.values[self.model["output"]["variable"]]

    def labels(self, word: Word) -> list[str]:
        """The label at every position, as text."""
        if word not in self.labelled:
            self.fill(len(word))
        if word not in self.labelled:
            self.labelled[word] = [str(naive.label(self.model, value)) for value in self.values(word)]
        return self.labelled[word]

    def fill(self, t: int) -> None:
        """All words of a length at once, where they are tried."""
        if t in self.filled or t not in self.lengths:
            return
        self.filled.add(t)
        self.learn(self.sampled(t))

    def learn(self, words: Sequence[Word]) -> None:
        """Evaluate words of one length at once, where that can be done."""
        new = [word for word in words if word not in self.labelled]
        found = batch_values(self.instance(len(new[0]) + self.markers), new) if new else []
        for word, row in zip(new, found or [], strict=False):
            self.values_of[word] = row
            self.labelled[word] = [str(naive.label(self.model, value)) for value in row]

    def last(self, word: Word) -> str:
        """The label at the last position."""
        return self.labels(word)[-1]

    def words(self, t: int) -> Sequence[Word] | None:
        """All words of `t` symbols, or None where they are too many."""
        size = len(self.alphabet)
        return list(product(range(size), repeat=t)) if t < 8 and size**t <= TABLE else None

    def sampled(self, t: int) -> list[Word]:
        """All words of `t` symbols, or some: the same ones for the same model."""
        if (every := self.words(t)) is not None:
            return list(every)
        if t not in self.samples:
            self.samples[t] = self.random_words(t)
        return self.samples[t]

    def random_words(self, t: int) -> list[Word]:
        """Some words of `t` symbols."""
        rng, size = random.Random(crc32(json.dumps([self.model["variables"], t]).encode())), len(self.alphabet)
        return [tuple(rng.randrange(size) for _ in range(t)) for _ in range(SAMPLES)]

    @cached_property
    def lengths(self) -> list[int]:
        """The numbers of symbols that are tried: those of which all words are, and some more."""
        few = [t for t in range(8) if self.words(t) is not None]
        return [*few, *(t for t in SAMPLED if t > few[-1])]


def scored(score: Any, n: int, slow: Callable[[int, int, int, int], int]) -> Callable[[int, int, int, int], int]:
    """A score as a function of `i`, `q`, `j`, `k`."""
    if not isinstance(score, str):
        return slow
    fast = compiled(score, ("n", "i", "q", "j", "k"))
    if not naive.names_of(score) & {"i", "j"}:
        placeless = cache(lambda q, k: fast(n, 0, q, 0, k))
        return lambda i, q, j, k: placeless(q, k)
    return lambda i, q, j, k: fast(n, i, q, j, k)


def mapped(variable: dict[str, Any], n: int, slow: Callable[..., int]) -> Callable[..., int]:
    """A map as a function of `i` and its arguments."""
    if not isinstance(variable["map"], str):
        return slow
    fast = compiled(variable["map"], ("n", "i", *variable["args"]))
    return lambda i, *arguments: fast(n, i, *arguments)


@lru_cache(256)
def meaning(model: bytes) -> Meaning:
    """The meaning of a model file."""
    return Meaning(json.loads(model))
