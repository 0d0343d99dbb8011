"""The languages of scripts/train_soft.py as automata, with a transition only where a word of the language can go on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

State = Hashable
Step = Callable[[Any, str], Any]


@dataclass(frozen=True)
class Automaton:
    """``delta[state][symbol]`` is a state, or ``None`` where no word of the language goes on so; the start is 0."""

    alphabet: tuple[str, ...]
    delta: tuple[tuple[int | None, ...], ...]
    accepting: tuple[bool, ...]

    def document(self, name: str) -> dict[str, Any]:
        """The automaton as restrict-dfa/1 has it: complete, with one more state where a step is missing."""
        sink = len(self.delta)
        rows = [[sink if to is None else to for to in row] for row in self.delta]
        if any(sink in row for row in rows):
            rows.append([sink] * len(self.alphabet))
        accept = [state for state, yes in enumerate(self.accepting) if yes]
        return {"format": "restrict-dfa/1", "name": name, "alphabet": list(self.alphabet), "start": 0,
                "accept": accept, "transitions": rows}  # fmt: skip


def explored(alphabet: Sequence[str], start: State, step: Step, accepting: Callable[[Any], bool]) -> Automaton:
    """The automaton of a step function (``None``: never a word again), without states that no word leaves."""
    number, order, todo, delta = {start: 0}, [start], deque([start]), []
    while todo:
        state, row = todo.popleft(), []
        for symbol in alphabet:
            to = step(state, symbol)
            if to is not None and to not in number:
                number[to] = len(order)
                order.append(to)
                todo.append(to)
            row.append(None if to is None else number[to])
        delta.append(row)
    accept = tuple(bool(accepting(state)) for state in order)
    live = {at for at, yes in enumerate(accept) if yes}
    while True:
        more = {at for at, row in enumerate(delta) if at not in live and any(to in live for to in row)}
        if not more:
            break
        live |= more
    return Automaton(tuple(alphabet), tuple(tuple(to if to in live else None for to in row) for row in delta), accept)


def dyck(depth: int, kinds: int) -> Automaton:
    """Balanced brackets, at most ``depth`` open."""
    opens, closes = "([{<"[:kinds], ")]}>"[:kinds]

    def step(stack: str, symbol: str) -> str | None:
        if symbol in opens:
            return stack + symbol if len(stack) < depth else None
        return stack[:-1] if stack and stack[-1] == opens[closes.index(symbol)] else None

    return explored([s for pair in zip(opens, closes, strict=True) for s in pair], "", step, lambda stack: stack == "")


def by_table(alphabet: str, table: dict[tuple[int, str], int], accepting: set[int]) -> Automaton:
    """An automaton from a table of its steps."""
    return explored(alphabet, 0, lambda state, symbol: table.get((state, symbol)), lambda state: state in accepting)


def tomita() -> dict[str, Automaton]:
    """Tomita's seven languages over 0 and 1 (1982), each given by its partial automaton."""

    def third(state: tuple[str, int, bool], symbol: str) -> tuple[str, int, bool] | None:
        run, odd, after = state  # the run's symbol, its parity, whether an odd run of 1 came before it
        if symbol == "1":
            if run == "0" and after and odd:
                return None
            return ("1", 1 - odd if run == "1" else 1, False)
        return ("0", 1, bool(odd)) if run == "1" else ("0", 1 - odd if run == "0" else 1, after)

    def seventh(state: int, symbol: str) -> int | None:
        return state if symbol == "01"[state % 2] else state + 1 if state < 3 else None

    def fifth(state: tuple[int, int], symbol: str) -> tuple[int, int]:
        return (1 - state[0], state[1]) if symbol == "0" else (state[0], 1 - state[1])

    return {
        "tomita1": by_table("01", {(0, "1"): 0}, {0}),
        "tomita2": by_table("01", {(0, "1"): 1, (1, "0"): 0}, {0}),
        "tomita3": explored("01", ("", 0, False), third, lambda s: not (s[0] == "0" and s[1] and s[2])),
        "tomita4": by_table("01", {**{(k, "1"): 0 for k in range(3)}, (0, "0"): 1, (1, "0"): 2}, {0, 1, 2}),
        "tomita5": explored("01", (0, 0), fifth, lambda s: s == (0, 0)),
        "tomita6": explored("01", 0, lambda s, a: (s + (1 if a == "0" else 2)) % 3, lambda s: s == 0),
        "tomita7": explored("01", 0, seventh, lambda s: True),
    }


def flip_flop() -> Automaton:
    """Writes, reads and other symbols: a read gives the bit of the last write."""

    def step(bit: str, symbol: str) -> str | None:
        if symbol[0] == "w":
            return symbol[1]
        return bit if symbol == "i" or bit == symbol[1] else None

    return explored(["w0", "w1", "r0", "r1", "i"], "none", step, lambda bit: True)


def languages() -> dict[str, Automaton]:
    """All languages by name."""
    found = tomita()
    found["parity"] = explored("01", 0, lambda s, a: s ^ (a == "1"), lambda s: s == 0)
    found |= {f"dyck1-depth{depth}": dyck(depth, 1) for depth in (1, 2, 3, 4)}
    found |= {f"dyck2-depth{depth}": dyck(depth, 2) for depth in (2, 3)}
    found["aa-star"] = explored("a", 0, lambda s, a: 1 - s, lambda s: s == 0)
    found["abab-star"] = by_table("ab", {(s, "abab"[s]): (s + 1) % 4 for s in range(4)}, {0})
    ab, cd = {(0, "a"): 0, (0, "b"): 0, (0, "d"): 1}, {(1, "b"): 1, (1, "c"): 1}
    found["ab-d-bc"] = by_table("abcd", ab | cd, {1})
    steps = {(s, "abcde"[to]): to for s in range(5) for to in range(s, 5)}
    found["a-b-c-d-e"] = by_table("abcde", steps, set(range(5)))
    last = {(s, "0"): 1 for s in range(3)} | {(s, "1"): 0 for s in range(3)}
    found["012-0-2"] = by_table("012", last | {(0, "2"): 0, (1, "2"): 2, (2, "2"): 2}, {1, 2})
    aba = {(0, "a"): 1, (0, "b"): 0, (1, "a"): 1, (1, "b"): 2, (2, "a"): 3, (2, "b"): 0, (3, "a"): 3, (3, "b"): 3}
    found["contains-aba"] = by_table("ab", aba, {3})
    found["first-is-last"] = explored("ab", "", lambda s, a: (s[:1] or a) + a, lambda s: s[:1] == s[-1:])
    found["flip-flop"] = flip_flop()
    found["no-equal-neighbours"] = explored("abc", "", lambda s, a: a if a != s else None, lambda s: True)
    found["at-most-3-a"] = explored("ab", 0, lambda s, a: s + (a == "a") if s < 3 or a == "b" else None, lambda s: True)
    found["last-but-one-is-a"] = explored("ab", "bb", lambda s, a: s[1] + a, lambda s: s[0] == "a")
    loops = {(0, "a"): 1, (1, "x"): 2, (1, "y"): 3, (2, "a"): 4, (4, "x"): 2, (3, "a"): 5, (5, "y"): 3}
    found["ax-or-ay"] = by_table("axy", loops, {0, 2, 3})
    return found


def held_out() -> dict[str, Automaton]:
    """Languages that no model was ever tuned on; each is trained by its name alone."""

    def second(state: str, symbol: str) -> str | None:
        if state == "":
            return symbol if symbol in "ab" else None
        return state if symbol in ("c" if state == "a" else "d") + "e" else None

    aba = {(0, "a"): 1, (0, "b"): 0, (1, "a"): 1, (1, "b"): 2, (2, "b"): 0}
    return {
        "aaaa-star": by_table("a", {(s, "a"): (s + 1) % 4 for s in range(4)}, {0}),
        "abc-star": by_table("abc", {(s, "abc"[s]): (s + 1) % 3 for s in range(3)}, {0}),
        "no-aba": by_table("ab", aba, {0, 1, 2}),
        "last-is-a": explored("abc", "", lambda s, a: a, lambda s: s == "a"),
        "at-least-2-a": explored("ab", 0, lambda s, a: min(2, s + (a == "a")), lambda s: s == 2),
        "first-decides": explored("abcde", "", second, bool),
        "a-before-b": explored("abc", 0, lambda s, a: None if a == "b" and not s else int(s or a == "a"), bool),
    }
