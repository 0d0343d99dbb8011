"""B-RASP programs as text (Yang, Chiang & Angluin 2024, section 3): grammar and parser.

A program defines Boolean vectors over the positions of a word, each from earlier ones: position-wise, or by attention,

    Y(i) = leftmost_j [M(i,j), S(i,j)] V(i,j) : D(i)

which is ``V(i,j)`` for the leftmost (or rightmost) ``j`` where the mask ``M`` and the score predicate ``S`` hold, and
``D(i)`` where there is none. ``Q_a(i)`` holds where the symbol is ``a``. docs/importers.md has the grammar.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NoReturn

from restrict.base.errors import ModelError, quote
from restrict.base.scanner import Operators, Token, scan
from restrict.importers.common import OUTSIDE, source_text
from restrict.model.validate import check_symbol

Index = Literal["i", "j"]


@dataclass(frozen=True)
class Atom:
    """A vector, or the symbol test ``Q_symbol``, at ``i`` or at ``j``."""

    name: str
    index: Index
    symbol: bool = False


@dataclass(frozen=True)
class Constant:
    """True or false."""

    value: bool


@dataclass(frozen=True)
class Operation:
    """``not`` (one part), ``and`` and ``or`` (two or more), ``xor``, ``iff`` and ``implies`` (two)."""

    op: str
    parts: "tuple[Formula, ...]"


Formula = Atom | Constant | Operation


@dataclass(frozen=True)
class Attend:
    """``leftmost_j [mask, score] value : default``; ``mask`` is one of the masks of docs/format.md."""

    ties: Literal["left", "right"]
    mask: str
    score: Formula
    value: Formula
    default: Formula


@dataclass(frozen=True)
class Definition:
    """One vector, with the line where it is defined."""

    name: str
    line: int
    rule: Formula | Attend


@dataclass(frozen=True)
class Brasp:
    """A B-RASP program; ``every``: the output is wanted at every position, not at the last."""

    path: Path
    alphabet: tuple[str, ...]
    definitions: tuple[Definition, ...]
    output: str
    every: bool


APPLIED: dict[str, Callable[[Sequence[bool]], bool]] = {
    "not": lambda v: not v[0], "and": all, "or": any, "xor": lambda v: v[0] != v[1], "iff": lambda v: v[0] == v[1],
    "implies": lambda v: not v[0] or v[1],
}  # fmt: skip
"""An operation on the truth values of its parts."""


# ---------------------------------------------------------------- the text

WORDS = {
    "¬": "!", "~": "!", "not": "!", "∧": "&", "&&": "&", "and": "&", "∨": "|", "||": "|", "or": "|", "xor": "^",
    "→": "->", "↔": "<->", "⊤": "1", "true": "1", "⊥": "0", "false": "0",
    "◀": "leftmost", "leftmost_j": "leftmost", "◀_j": "leftmost", "▶": "rightmost", "rightmost_j": "rightmost",
    "▶_j": "rightmost", ":=": "=", "≤": "<=", "≥": ">=",
}  # fmt: skip
OPERATIONS = {"<->": "iff", "->": "implies", "|": "or", "^": "xor", "&": "and"}
TOKEN = re.compile(
    r"""(?P<quoted>Q_"[^"\s]+")|(?P<name>[◀▶]_j|[A-Za-z_][A-Za-z0-9_]*)"""
    r"""|(?P<sign><->|->|:=|<=|>=|&&|\|\||[][()!~¬&∧|∨^→↔⊤⊥◀▶=:,<>≤≥01])"""
)
MASK_NAMES = {
    ("j", "<", "i"): "strict_past", ("j", "<=", "i"): "past", ("j", ">", "i"): "strict_future",
    ("j", ">=", "i"): "future", ("i", ">", "j"): "strict_past", ("i", ">=", "j"): "past",
    ("i", "<", "j"): "strict_future", ("i", "<=", "j"): "future",
}  # fmt: skip
COUNTING = re.compile(r"(count|sum|average|avg|mean|uniform|majority|softmax|averagemax|avghard)\w*", re.I)
OPEN = re.compile(r"(?:[=!~¬&∧|∨^→↔(\[\],>]|\b(?:not|and|or|xor))$")
"""The end of a text after which a term must stand."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,47}")
KEYWORDS = {"i", "j", "alphabet", "output", "leftmost", "rightmost", *(w for w in WORDS if w.isidentifier())}
MAX_DEPTH, MAX_CHAIN = 30, 100
"""The most nested parentheses, and operators ``^``, ``->``, ``<->`` in one line, so that no formula is too deep."""


class _Line(Operators[Formula]):
    """The tokens of one definition, read from the left."""

    levels = (("left", ("<->",)), ("right", ("->",)), ("flat", ("|",)), ("left", ("^",)), ("flat", ("&",)))

    def __init__(self, text: str, place: str, known: set[str], alphabet: tuple[str, ...], name: str) -> None:
        self.text, self.place, self.known, self.alphabet, self.name = text, place, known, alphabet, name
        self.links, self.indices = 0, "i"
        found = scan(text, TOKEN, self.bad_character)
        tokens = [replace(t, text=WORDS.get(t.text, t.text)) for t in found]
        super().__init__(
            tokens, self.refuse, MAX_DEPTH,
            f"nested more than {MAX_DEPTH} deep; define a part of it as a vector of its own",
        )  # fmt: skip

    def bad_character(self, token: Token) -> NoReturn:
        """Refuse a character that starts no token; ``#`` is a counting term of C-RASP."""
        if token.text == "#":
            self.counts("#")
        self.refuse(token, f"cannot read {quote(self.text[token.start :].strip()[:20])}")

    def counts(self, term: str) -> NoReturn:
        """Decline a term that reads all positions at once."""
        raise ModelError(f"{self.place}: {self.name} attends by {quote(term)} (counting or averaging): {OUTSIDE}")

    def refuse(self, token: Token, reason: str) -> NoReturn:
        raise ModelError(f"{self.place}: {reason}")

    def deny(self, reason: str) -> NoReturn:
        """Refuse at the next token."""
        self.refuse(self.token, reason)

    def expect(self, text: str) -> None:
        got = self.step().text
        if got != text:
            self.deny(f"expected {text!r}, not {quote(got) if got else 'the end of the line'}")

    def formula(self, indices: str) -> Formula:
        """A formula over atoms at ``indices``: ``i``, or both."""
        self.indices = indices
        return self.nested(self.operators)

    def join(self, signs: Sequence[Token], parts: list[Formula]) -> Formula:
        op = OPERATIONS[signs[0].text]
        self.links += op not in ("and", "or")
        if self.links > MAX_CHAIN:
            self.deny(f"more than {MAX_CHAIN} operators ^, -> and <->; define a part of it as a vector of its own")
        return Operation(op, tuple(parts))

    def atom(self) -> Formula:
        negations = 0
        while self.take("!"):
            negations += 1
        token = self.step().text
        unit: Formula
        if token in ("0", "1"):
            unit = Constant(token == "1")
        elif token == "(":
            unit = self.formula(self.indices)
            self.expect(")")
        else:
            unit = self._vector(token)
        return Operation("not", (unit,)) if negations % 2 else unit

    def _vector(self, token: str) -> Atom:
        if COUNTING.fullmatch(token) and token not in self.known and token not in KEYWORDS:
            self.counts(token)
        symbol = token.startswith("Q_")
        name = token[2:].strip('"') if symbol else token
        if not symbol and (not NAME.fullmatch(token) or token in KEYWORDS):
            self.deny(f"expected a vector such as P(i), not {quote(token) if token else 'the end of the line'}")
        if symbol and name not in self.alphabet:
            self.deny(f"{quote(name)} in {token} is not in the alphabet: {' '.join(self.alphabet)[:60]}")
        if not symbol and name not in self.known:
            self.deny(f"the vector {quote(name)} is not defined above this line")
        self.expect("(")
        index = self.step().text
        if index not in ("i", "j") or index not in self.indices:
            allowed = "(i)" if self.indices == "i" else "(i) or (j)"
            self.deny(f"{token} must be read at {allowed} here, not {quote(index)}")
        self.expect(")")
        return Atom(name, "i" if index == "i" else "j", symbol)

    def attention(self, ties: Literal["left", "right"]) -> Attend:
        """What follows ``leftmost_j``."""
        self.expect("[")
        mask = "none"
        if digit := self.take("1", "0"):
            if digit == "0":
                self.deny("the mask 0 hides every position; write the default instead")
        else:
            triple = (self.step().text, self.step().text, self.step().text)
            if triple not in MASK_NAMES:
                self.deny("expected a mask: 1, j < i, j <= i, j > i or j >= i")
            mask = MASK_NAMES[triple]
        self.expect(",")
        score = self.formula("ij")
        self.expect("]")
        value = self.formula("ij")
        self.expect(":")
        return Attend(ties, mask, score, value, self.formula("i"))


def parse(path: Path) -> Brasp:
    """Read a B-RASP program. ``path``: the text file (docs/importers.md). Result: the program; without an output line,
    its output is the last vector at the last position."""
    alphabet: tuple[str, ...] | None = None
    definitions: dict[str, Definition] = {}
    output: tuple[str, bool] | None = None
    for number, text in enumerate(source_text(path).splitlines(), 1):
        place = f"{path}:{number}"
        text = _without_comment(text)
        if not text:
            continue
        head = re.match(r"(alphabet|output)\s*:(?!=)\s*(.*)", text)
        if head and head[1] == "alphabet":
            if alphabet is not None:
                raise ModelError(f"{place}: a second alphabet")
            alphabet = _alphabet(head[2].split(), place)
        elif alphabet is None:
            raise ModelError(f"{place}: the first line must be `alphabet: SYMBOL SYMBOL ...`")
        elif head:
            if output is not None:
                raise ModelError(f"{place}: a second output")
            output = _output(head[2], definitions, place)
        else:
            definition = _definition(text, place, number, set(definitions), alphabet)
            definitions[definition.name] = definition
    if alphabet is None or not definitions:
        raise ModelError(f"{path}: there is no {'alphabet' if alphabet is None else 'vector'} in this file")
    name, every = output or (list(definitions)[-1], False)
    return Brasp(path, alphabet, tuple(definitions.values()), name, every)


def _without_comment(text: str) -> str:
    """The line without its comment: ``--`` or ``#`` between spaces; in the alphabet only ``--``. Where a term must
    follow, after ``=``, an operator or a bracket, ``#`` is a counting term and no comment."""
    signs = "--" if text.lstrip().startswith("alphabet") else "--|#"
    for found in re.finditer(rf"(?:^|(?<=\s))({signs})(?=\s|$)", text):
        before = text[: found.start()].rstrip()
        if found[1] == "--" or not OPEN.search(before):
            return before.strip()
    return text.strip()


def _alphabet(symbols: list[str], place: str) -> tuple[str, ...]:
    if not symbols or len(set(symbols)) != len(symbols):
        raise ModelError(f"{place}: an alphabet is one or more distinct symbols separated by spaces")
    for symbol in symbols:
        check_symbol(symbol, place)
    return tuple(symbols)


def _output(text: str, definitions: dict[str, Definition], place: str) -> tuple[str, bool]:
    words = text.split()
    every = words[1:] == ["every"]
    if not words or (words[1:] and not every):
        raise ModelError(f"{place}: write `output: VECTOR` or `output: VECTOR every`")
    if words[0] not in definitions:
        raise ModelError(f"{place}: the vector {quote(words[0])} is not defined above this line")
    return words[0], every


def _definition(text: str, place: str, number: int, known: set[str], alphabet: tuple[str, ...]) -> Definition:
    head = re.match(r"([A-Za-z_]\w*)\s*\(\s*i\s*\)\s*:?=\s*(.*)", text)
    if head is None:
        raise ModelError(f"{place}: expected `NAME(i) = ...`, not {quote(text)}")
    name, right = head[1], head[2]
    if not NAME.fullmatch(name) or name in KEYWORDS or name.startswith("Q_"):
        raise ModelError(f"{place}: {quote(name)} cannot be the name of a vector")
    if name in known:
        raise ModelError(f"{place}: the vector {name} is defined twice")
    line = _Line(right, place, known, alphabet, name)
    rule: Formula | Attend
    if side := line.take("leftmost", "rightmost"):
        rule = line.attention("left" if side == "leftmost" else "right")
    else:
        rule = line.formula("i")
    if line.token.kind != "end":
        line.deny(f"unexpected {quote(line.token.text)} after the definition of {name}")
    return Definition(name, number, rule)
