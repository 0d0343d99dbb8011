"""Context-free languages by a chart (Cocke, Younger, Kasami) over bit sets of end positions. A grammar is brought into
the form ``A -> B C`` or ``A -> a`` (plus "the empty word is a member"), after which every derivation of a word of ``n``
symbols has ``2n - 1`` steps. The chart of a *pattern* lets a free cell derive every symbol, so it decides at once
whether a restriction has a member among its completions: that answer is a proof either way. Completion into a
*non-member* has no such chart (it is the complement's question): it is enumeration where completions are few and search
beyond, and then ``ResourceLimit`` says that nothing is known."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, NoReturn

import numpy as np

from restrict.base.errors import ModelError, ResourceLimit, quote
from restrict.base.scanner import Token, scan
from restrict.languages.predicate import Drawn, Searched, completions, few, look_for
from restrict.languages.protocol import Pattern, Word
from restrict.languages.regular import below, choose

CHART_BUDGET = 40_000_000
DERIVATION_BUDGET = 5_000_000
SAMPLE_TRIES = 1000
MAX_RULES = 5000
Rule = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class NormalForm:
    """``terminal[a]``: the nonterminals with a rule to symbol ``a``; ``binary``: ``(A, B, C)``; 0 is the start."""

    alphabet: tuple[str, ...]
    count: int
    terminal: Mapping[str, frozenset[int]]
    binary: tuple[tuple[int, int, int], ...]
    empty: bool


def normal_form(rules: Sequence[Rule], alphabet: Sequence[str]) -> NormalForm:
    """An equivalent grammar with binary rules, rules to one terminal, and a flag for the empty word. ``rules``: at
    least one (nonterminal, tuple of symbols), the first left-hand side is the start."""
    heads = list(dict.fromkeys(head for head, _ in rules))
    index = {("N", head): at for at, head in enumerate(heads)}

    def number(kind: str, name: str) -> int:
        return index.setdefault((kind, name), len(index))

    units: set[tuple[int, int]] = set()
    binary: set[tuple[int, int, int]] = set()
    nullable: set[int] = set()
    letters: dict[int, str] = {}
    short: list[tuple[int, tuple[int, ...]]] = []
    for head, body in rules:
        parts: list[int] = []
        for symbol in body:
            if symbol in heads:
                parts.append(index["N", symbol])
            else:
                parts.append(number("T", symbol))
                letters[parts[-1]] = symbol
        left = index["N", head]
        while len(parts) > 2:
            rest = number("R", " ".join(map(str, parts[1:])))
            short.append((left, (parts[0], rest)))
            left, parts = rest, parts[1:]
        short.append((left, tuple(parts)))
    changed = True
    while changed:
        new = {left for left, some in short if all(p in nullable for p in some)} - nullable
        nullable |= new
        changed = bool(new)
    for left, body_parts in short:
        if len(body_parts) == 2:
            b, c = body_parts
            binary.add((left, b, c))
            units |= {(left, b)} if c in nullable else set()
            units |= {(left, c)} if b in nullable else set()
        elif len(body_parts) == 1:
            units.add((left, body_parts[0]))
    above = _closure(units, len(index))
    terminal = {
        symbol: frozenset(a for p, s in letters.items() if s == symbol for a in above[p]) for symbol in alphabet
    }
    closed = {(a, b, c) for left, b, c in binary for a in above[left]}
    return NormalForm(tuple(alphabet), len(index), terminal, tuple(sorted(closed)), 0 in nullable)


def _closure(units: set[tuple[int, int]], count: int) -> list[set[int]]:
    """For each symbol, those that derive it by unit steps, itself included."""
    import networkx as nx

    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(units)
    return [{p, *nx.ancestors(graph, p)} for p in range(count)]


@dataclass(frozen=True)
class Chart:
    """``ends[i][A]`` has bit ``j`` iff ``A`` derives some completion of cells ``i .. j-1``."""

    form: NormalForm
    pattern: Pattern
    ends: list[list[int]]

    def member(self) -> bool:
        """Whether some completion is a member."""
        return bool(self.ends[0][0] >> len(self.pattern) & 1) if self.pattern else self.form.empty


def chart(form: NormalForm, pattern: Pattern) -> Chart:
    """The chart of a pattern. Cost O(n^2 R) operations on sets of ``n`` bits. Source: Cocke, Younger and Kasami, with
    sets of end positions instead of a table. ``form``: the grammar in normal form, with ``R`` binary rules.
    ``pattern``: ``n`` cells: a symbol of the alphabet, or ``None`` where it is free. Result: the chart, exact."""
    n = len(pattern)
    if n * n * (len(form.binary) + 1) > CHART_BUDGET:
        raise ResourceLimit(
            f"the chart of {n} symbols and {len(form.binary)} binary rules is over the limit; the longest is "
            f"{int((CHART_BUDGET / (len(form.binary) + 1)) ** 0.5)}"
        )
    firsts: dict[int, list[tuple[int, int]]] = {}
    for a, b, c in form.binary:
        firsts.setdefault(b, []).append((a, c))
    anything = frozenset().union(*form.terminal.values()) if form.terminal else frozenset[int]()
    ends: list[list[int]] = [[0] * form.count for _ in range(n + 1)]
    for i in range(n - 1, -1, -1):
        row, cell = ends[i], pattern[i]
        for a in anything if cell is None else form.terminal[cell]:
            row[a] |= 1 << (i + 1)
        # Ends in increasing order: what a later one adds lies beyond it, so each is final when it is reached.
        for m in range(i + 1, n):
            after = ends[m]
            for b, users in firsts.items():
                if row[b] >> m & 1:
                    for a, c in users:
                        row[a] |= after[c]
    return Chart(form, pattern, ends)


def read_off(found: Chart) -> Word | None:
    """Some member that agrees with the chart's pattern; ``None`` proves that there is none."""
    form, pattern, n = found.form, found.pattern, len(found.pattern)
    if not found.member():
        return None
    word: list[str] = [""] * n
    tasks = [(0, 0, n)] if n else []
    while tasks:
        a, i, j = tasks.pop()
        if j == i + 1:
            cell = pattern[i]
            word[i] = next(s for s in form.alphabet if a in form.terminal[s]) if cell is None else cell
            continue
        tasks += next(
            [(b, i, m), (c, m, j)]
            for left, b, c in form.binary
            if left == a
            for m in range(i + 1, j)
            if found.ends[i][b] >> m & 1 and found.ends[m][c] >> j & 1
        )
    return tuple(word)


@dataclass(frozen=True)
class ContextFree(Drawn, Searched):
    """The language of a grammar. ``sample`` is uniform: uniform derivations, each word kept by 1/derivations."""

    name: str
    spec: str
    form: NormalForm = field(repr=False, compare=False)
    exact: ClassVar[bool] = False
    """Completions into members come from a chart, but those into non-members from search."""

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The terminal symbols, in order of appearance."""
        return self.form.alphabet

    def _has(self, word: Sequence[str]) -> bool:
        """By the chart of the word."""
        return chart(self.form, tuple(word)).member()

    def _fill(self, pattern: Pattern, member: bool) -> Word | None:
        """A member by the chart, exact; a non-member by enumeration or search."""
        if member:
            return read_off(chart(self.form, pattern))
        return look_for(self.alphabet, pattern, lambda w: not self._has(w), "non-member", tries=60)

    def _count(self, pattern: Pattern) -> int | None:
        """By enumeration; ``None`` where there are many completions (a chart counts derivations, not words)."""
        if not chart(self.form, pattern).member():
            return 0
        return sum(map(self._has, completions(self.alphabet, pattern))) if few(self.alphabet, pattern) else None

    def _member(self, n: int, rng: np.random.Generator) -> Word | None:
        """A member of this length, each as likely as any other; the class has the cost."""
        if not chart(self.form, (None,) * n).member():
            return None
        if n == 0:
            return ()
        ways = _derivations(self.form, n)
        for _ in range(SAMPLE_TRIES):
            word = _draw(self.form, ways, n, rng)
            if below(_ambiguity(self.form, word), rng) == 0:
                return word
        raise ResourceLimit(f"members of length {n} have too many derivations for a uniform sample")

    def __repr__(self) -> str:
        return f"ContextFree({self.spec!r}, {len(self.form.binary)} binary rules)"


@lru_cache(maxsize=8)
def _rules_of(form: NormalForm) -> list[list[tuple[int, int]]]:
    rules: list[list[tuple[int, int]]] = [[] for _ in range(form.count)]
    for a, b, c in form.binary:
        rules[a].append((b, c))
    return rules


def _derivations(form: NormalForm, n: int) -> list[list[int]]:
    """``[l][A]``: the derivations from ``A`` of words of ``l`` symbols."""
    if n * n * (len(form.binary) + 1) > DERIVATION_BUDGET:
        raise ResourceLimit(f"counting the derivations of words of {n} symbols is over the limit")
    ways = [[0] * form.count, [sum(a in heads for heads in form.terminal.values()) for a in range(form.count)]]
    for length in range(2, n + 1):
        row = [0] * form.count
        for a, b, c in form.binary:
            row[a] += sum(ways[m][b] * ways[length - m][c] for m in range(1, length))
        ways.append(row)
    return ways


def _draw(form: NormalForm, ways: list[list[int]], n: int, rng: np.random.Generator) -> Word:
    """The word of a uniform derivation."""
    rules, word, tasks = _rules_of(form), list[str](), [(0, n)]
    while tasks:
        a, length = tasks.pop()
        if length == 1:
            word.append([s for s in form.alphabet if a in form.terminal[s]][below(ways[1][a], rng)])
            continue
        cuts = [(b, m, c) for b, c in rules[a] for m in range(1, length)]
        b, m, c = cuts[choose([ways[m][b] * ways[length - m][c] for b, m, c in cuts], rng)]
        tasks += [(c, length - m), (b, m)]
    return tuple(word)


def _ambiguity(form: NormalForm, word: Word) -> int:
    """The number of derivations of a word."""
    n = len(word)
    ways = [[[0] * form.count for _ in range(n + 1)] for _ in range(n + 1)]
    for i in range(n - 1, -1, -1):
        for a in form.terminal[word[i]]:
            ways[i][i + 1][a] = 1
        for j in range(i + 2, n + 1):
            row = ways[i][j]
            for m in range(i + 1, j):
                left, right = ways[i][m], ways[m][j]
                for a, b, c in form.binary:
                    if left[b] and right[c]:
                        row[a] += left[b] * right[c]
    return ways[0][n][0]


# ------------------------------------------------------------ the text form


def read_grammar(text: str, spec: str) -> ContextFree:
    """A language from lines ``A -> b A | c`` (docs/languages.md). Symbols are separated by spaces. A line that begins
    with ``#`` is a comment, and ``'#'`` in quotes is that symbol. What has a left-hand side is a nonterminal, the first
    one is the start symbol, and an alternative may be empty (write ``ε`` or nothing)."""
    rules: list[Rule] = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        rules += _rules_in(line, number)
    if not rules:
        raise ModelError("line 1: the grammar has no rules; write for instance S -> ( S ) S |")
    if len(rules) + sum(len(body) for _, body in rules) > MAX_RULES:
        raise ResourceLimit(f"a grammar with over {MAX_RULES} symbols is too large")
    heads = {head for head, _ in rules}
    alphabet = tuple(dict.fromkeys(s for _, body in rules for s in body if s not in heads))
    if not alphabet:
        raise ModelError("line 1: the grammar has no terminal symbol")
    return ContextFree(spec, spec, normal_form(rules, alphabet))


TOKEN = re.compile(r"(?P<arrow>->)|(?P<bar>\|)|(?P<quoted>'#[^\s|]*)|(?P<symbol>(?:(?!->)[^\s|])+)")
"""The tokens of a line of a grammar."""


def _rules_in(line: str, number: int) -> Iterator[Rule]:
    """The rules of one line, an alternative each."""

    def bad(token: Token) -> NoReturn:  # pragma: no cover (every character starts a token)
        raise ModelError(f"line {number}: {quote(token.text)} is no symbol")

    if re.search(r"(?<!\S)(['\"])\|\1(?!\S)", line):  # it would be two alternatives with a quotation mark each
        raise ModelError(
            f"line {number}: '|' cannot be a symbol of a grammar, also not in quotes; give the symbol another name, "
            "such as 'or'"
        )
    head, *rest = scan(line, TOKEN, bad)
    if head.kind != "symbol" or rest[0].kind != "arrow":
        raise ModelError(f"line {number}: expected NONTERMINAL -> SYMBOLS | SYMBOLS, not {quote(line)}")
    body: list[str] = []
    for token in rest[1:]:
        if token.kind in ("bar", "end"):
            yield head.text, tuple(body)
            body = []
        elif token.kind == "symbol" and token.text.startswith("#"):
            raise ModelError(
                f"line {number}: a comment has a line of its own, and the symbol # is written '#', with the quotes"
            )
        elif token.kind == "arrow" or token.text == "*":
            raise ModelError(
                f"line {number}: '*' (which means a free position) and '->' cannot be symbols of a grammar; "
                "give the symbol another name, such as 'times'"
            )
        elif token.text != "ε":
            body.append(token.text.strip("'") if token.kind == "quoted" else token.text)
