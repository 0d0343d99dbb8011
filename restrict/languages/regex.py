"""Regular expressions: a syntax check with our own messages, and automata-lib (extra ``languages``) for the automaton.

    union  = joined { ("|" | "&" | "^") joined }        "&" is intersection and "^" is shuffle
    joined = { factor }                                  at least one
    factor = part { "*" | "+" | "?" | "{" [low] "," [high] "}" }      not {0,0}
    part   = symbol | "." | "(" union ")" | "()"         "." is any symbol, "()" the empty word

One character is one symbol. The size of the automaton is bounded before it is built: a repetition multiplies.
"""

import re
from collections.abc import Sequence
from math import prod
from typing import Any, NoReturn

from restrict.base.errors import ResourceLimit, UsageError, quote
from restrict.base.scanner import Operators, Token, scan
from restrict.languages.dfa import Dfa, minimal
from restrict.languages.regular import Regular

MAX_DEPTH = 50
MAX_SIZE = 2_000
"""Symbols of an expression whose repetitions are written out."""
SIGNS = frozenset("|*+?(){}.,&^")
_TOKEN = re.compile(r"(?P<sign>[|*+?().&^])|(?P<repeat>\{[^{}]*\})|(?P<symbol>[^\s|*+?(){}.&^])")
_REPEAT = re.compile(r"\{([0-9]{0,6}),([0-9]{0,6})\}|\{([0-9]{1,6})\}")


class _Syntax(Operators[int]):
    """Checks the syntax; every rule returns the size of what it read, with repetitions written out."""

    levels = (("left", ("|", "&", "^")),)

    def __init__(self, pattern: str, symbols: frozenset[str]) -> None:
        self.pattern, self.symbols = pattern, symbols
        self.pieces = scan(pattern, _TOKEN, self.bad_character, "")
        super().__init__(self.pieces, self.refuse, MAX_DEPTH, f"parentheses are nested more than {MAX_DEPTH} deep")

    def refuse(self, token: Token, reason: str) -> NoReturn:
        """Refuse, naming the column."""
        raise UsageError(f"the regular expression {quote(self.pattern)}, column {token.start + 1}: {reason}")

    def bad_character(self, token: Token) -> NoReturn:
        """Refuse white space and lone braces."""
        known = "write a repetition as {2,3}" if token.text in "{}" else "a symbol is one character, and no white space"
        self.refuse(token, f"{quote(token.text)} cannot stand here; {known}")

    def check(self) -> None:
        """Refuse what is not well-formed or too large."""
        size = self.operators()
        if self.token.kind != "end":
            self.refuse(self.token, "this ')' closes nothing")
        if size > MAX_SIZE:
            raise ResourceLimit(
                f"the regular expression {quote(self.pattern)} has {size} symbols with its repetitions written out, "
                f"more than {MAX_SIZE}"
            )

    def spelled(self, letters: dict[str, str]) -> str:
        """The expression with other symbols."""
        return "".join(letters[t.text] if t.kind == "symbol" else t.text for t in self.pieces)

    def join(self, signs: Sequence[Token], parts: list[int]) -> int:
        """Alternatives; ``&`` and ``^`` may multiply the automata, so the sizes are multiplied there."""
        return sum(parts) if signs[0].text == "|" else prod(parts)

    def atom(self) -> int:
        """Factors one after another, at least one."""
        size, first = 0, self.token
        while self.token.kind != "end" and self.token.text not in "|&^)":
            size += self.factor()
        if size == 0:
            found = quote(first.text) if first.text else "the end"
            self.refuse(first, f"a symbol, '.' or '(' is expected before {found}; write () for the empty word")
        return size

    def factor(self) -> int:
        size = self.part()
        while True:
            if self.take("*", "+", "?"):
                continue
            if self.token.kind != "repeat":
                return size
            token = self.step()
            found = _REPEAT.fullmatch(token.text)
            if found is None or found[3] is not None:
                hint = f"{{{found[3]},{found[3]}}}" if found else "{2,3}, {2,} or {,3}"
                self.refuse(token, f"{quote(token.text)} is no repetition; write {hint}")
            low, high = int(found[1] or 0), int(found[2] or 0)
            if found[2] and low > high:
                self.refuse(token, f"the repetition {token.text} asks for at least {low} and at most {high}")
            if high == 0 and not token.text.endswith(",}"):  # automata-lib reads it as {0,1}
                self.refuse(token, f"the repetition {token.text} asks for none; write () for the empty word")
            size *= max(1, low, high)

    def part(self) -> int:
        """A symbol, any symbol, or an expression in parentheses."""
        token = self.step()
        if token.text == "(":
            if self.take(")"):
                return 1
            size = self.nested(self.operators)
            if not self.take(")"):
                self.refuse(token, "this '(' is never closed")
            return size
        if token.kind == "symbol":
            if token.text not in self.symbols:
                known = " ".join(sorted(self.symbols))[:60]
                self.refuse(token, f"{quote(token.text)} is not in the alphabet {known}")
            return 1
        if token.text != ".":
            self.refuse(token, f"{quote(token.text)} has nothing to repeat")
        return 1


def from_regex(pattern: str, alphabet: str | None = None) -> Regular:
    """The language of a regular expression over symbols of one character and ``| * + ? ( ) { } . & ^`` (see the
    module). ``alphabet``: by default the pattern's symbols, where ``.`` does not occur."""
    symbols = tuple(dict.fromkeys(alphabet)) if alphabet else tuple(sorted(set(pattern) - SIGNS - set("\\ []-")))
    if alphabet is None and ("." in pattern or "{" in pattern or "[" in pattern):
        raise UsageError(f"the regular expression {quote(pattern)} needs its alphabet: write regex[abc]:{pattern[:40]}")
    wrong = next((s for s in symbols if s in SIGNS or s.isspace()), None)
    if not symbols or wrong is not None:
        what = "has no symbol" if wrong is None else f"has {quote(wrong)}, which is an operator or white space"
        raise UsageError(f"the alphabet of the regular expression {quote(pattern)} {what}: write regex[abc]:...")
    syntax = _Syntax(pattern, frozenset(symbols))
    syntax.check()
    from automata.fa.dfa import DFA
    from automata.fa.nfa import NFA

    letters = {s: chr(0xE000 + a) for a, s in enumerate(symbols)}  # for private use, as \\ [ ] - may mean more there
    try:
        nfa = NFA.from_regex(syntax.spelled(letters), input_symbols=set(letters.values()))
        found = DFA.from_nfa(nfa, minify=False)
    except Exception as error:  # whatever the library refuses beyond our syntax
        raise UsageError(f"the regular expression {quote(pattern)} is not well-formed") from error
    return Regular(pattern, f"regex[{''.join(symbols)}]:{pattern}", _from_automata(found, letters))


def _from_automata(found: Any, letters: dict[str, str]) -> Dfa:
    """Our automaton from an automata-lib ``DFA``, which may be partial; ``letters``: what stands for each symbol."""
    order = sorted(found.states, key=repr)
    index = {q: at for at, q in enumerate(order)}
    sink = len(order)
    delta = [[index.get(found.transitions.get(q, {}).get(s), sink) for s in letters.values()] for q in order]
    delta.append([sink] * len(letters))
    return minimal(tuple(letters), delta, index[found.initial_state], [index[q] for q in found.final_states])
