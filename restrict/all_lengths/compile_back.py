"""The way back: a hard-attention model for any star-free language, verified at every length before it is returned. Each
level of the cascade (:mod:`restrict.all_lengths.cascade`) is one head on the rightmost reset before, and three maps:
the old chain's set, the event, and the new chain's set. The same levels give a formula of temporal logic: "the tile is
t" says "no reset since the last reset to t"."""

from collections.abc import Callable
from typing import Any

from restrict.all_lengths.automaton import automaton
from restrict.all_lengths.cascade import Cascade, Level, decompose
from restrict.all_lengths.evidence import Proved
from restrict.all_lengths.tried import agree_with
from restrict.all_lengths.verify import verify
from restrict.base.errors import NotEstablished, ResourceLimit
from restrict.languages.dfa import Dfa
from restrict.languages.monoid import star_free
from restrict.languages.regular import Regular
from restrict.logic.compiler import compile_formula
from restrict.logic.formula import Builder, Formula
from restrict.logic.semantics import evaluate_tokens
from restrict.model.document import accept, head, mapped, model, table
from restrict.model.fileformat import dumps, loads
from restrict.model.program import Model
from restrict.trial.disagreement import disagree

MAX_TABLE = 2_000_000


def compile_language(language: Regular, *, name: str | None = None) -> tuple[Model, Proved]:
    """A model that recognises a star-free language at every length, and the proof of that."""
    cascade = cascade_of(language.dfa, language.spec)
    content = dumps(document(cascade, name or language.spec[:200]))
    model = loads(content, language.spec)
    found = verify(model, language)
    if not isinstance(found, Proved):
        disagree(model, "the compiled model is right", found.difference.word, repr(found.difference.said), content)
    return model, found


def cascade_of(dfa: Dfa, what: str) -> Cascade:
    """The cascade of a language."""
    found = star_free(dfa)
    if not found.aperiodic:
        cycle = ", ".join(map(str, found.states))
        word = "" if found.word is None else f": the word {' '.join(found.word)} permutes the states {cycle}"
        order = f"of order {len(found.states)}" if found.states else "of some order over 1"
        raise NotEstablished(
            f"{what} is not star-free{word}, a group {order}; no model whose scores only compare query and key "
            "recognises it"
        )
    return decompose(dfa)


def document(cascade: Cascade, name: str) -> dict[str, Any]:
    """The model of a cascade."""
    variables: list[dict[str, Any]] = []
    old = new = ""
    for at, level in enumerate(cascade.levels):
        variables += _level(level, at, old, new, cascade)
        old, new = f"old{at}", f"new{at}"
    accepted = [q for q, states in enumerate(cascade.states) if states <= cascade.dfa.accept]
    if not variables:
        variables.append(mapped("state", [], 1, "0"))
        new, accepted = "state", [0] if 0 in cascade.dfa.accept else []
    about = "compiled from a star-free language: each head keeps one level of a cascade of resets"
    return model(name, about, cascade.dfa.alphabet, variables, accept(new, *accepted))


def _level(level: Level, at: int, old: str, new: str, cascade: Cascade) -> list[dict[str, Any]]:
    """Event, head, and the next sets of both chains."""
    letters, sets, tiles = len(cascade.dfa.alphabet), len(level.sets), len(level.tiles)
    below = len(cascade.levels[at + 1].sets) if at + 1 < len(cascade.levels) else len(cascade.states)
    event, tile = f"event{at}", f"tile{at}"
    if letters * sets * sets > MAX_TABLE:
        raise ResourceLimit(f"level {at} of the cascade has {sets} sets; its table is over the limit")

    def happens(p: tuple[int, ...]) -> int:
        return level.event.get((p[0], p[1], p[2]) if old else (p[0], 0, 0), 0)

    def after_old(p: tuple[int, ...]) -> int:
        return level.down.get((p[0] if old else 0, max(p[-1] - 1, 0)), 0)

    def after_new(p: tuple[int, ...]) -> int:
        chosen = p[-2] - 1 if p[-2] else max(p[-1] - 1, 0)
        return level.down.get((p[0] if new else 0, chosen), 0)

    chains = [(old, sets), (new, sets)] if old else []
    return [
        _map(event, [("token", letters), *chains], happens, tiles + 1),
        head(tile, key=event, value=event, score="k > 0", mask="strict_past", ties="right", default=0),
        _map(f"old{at}", [*chains[:1], (tile, tiles + 1)], after_old, below),
        _map(f"new{at}", [*chains[1:], (event, tiles + 1), (tile, tiles + 1)], after_new, below),
    ]


def _map(name: str, args: list[tuple[str, int]], entry: Callable[[tuple[int, ...]], int], size: int) -> dict[str, Any]:
    names = [a for a, _ in args]
    return mapped(name, names, max(size, 1), table(names, _table([s for _, s in args], entry)))


def _table(shape: list[int], entry: Callable[[tuple[int, ...]], int], point: tuple[int, ...] = ()) -> Any:
    """Nested lists of ``entry`` at every point."""
    if len(point) == len(shape):
        return entry(point)
    return [_table(shape, entry, (*point, at)) for at in range(shape[len(point)])]


# ---------------------------------------------------------------- temporal logic


MAX_NODES = 4_000
MAX_TEXT = 200_000


def formula_of_model(model: Model) -> Formula:
    """A formula that is true at the last position of exactly the words that an order-only model accepts. ``model``: an
    order-only model without markers, with ``accept`` at the last position. Result: the formula: compiled again, it is
    proved to have the language of the model; and its own truth on words is compared with runs of the model."""
    if model.markers:
        raise NotEstablished("a formula does not see markers; --to ltl is for models without them")
    found = automaton(model)
    language = Regular(f"the language of {model.name}", model.name, found.dfa())
    formula = formula_of(language.dfa, language.name)
    proof = verify(compile_formula(formula, language.alphabet), language)
    if not isinstance(proof, Proved):
        disagree(model, "the formula is right", proof.difference.word, repr(proof.difference.said), str(formula))
    agree_with(found, lambda words: evaluate_tokens(formula, words, model.alphabet)[:, -1].tolist(), "the formula")
    return formula


def formula_of(dfa: Dfa, what: str) -> Formula:
    """A formula of temporal logic that is true at the last position of exactly the words of a language. Result: the
    formula; its operators are Boolean ones and strict ``since``."""
    cascade = cascade_of(dfa, what)
    builder = Builder()
    writer = _Writer(builder, cascade)
    states = writer.states()
    good = [states[q] for q, one in enumerate(cascade.states) if one <= dfa.accept and q in states]
    root = writer.any(good) if cascade.levels else builder.add("true" if 0 in dfa.accept else "false")
    return builder.formula(root)


class _Writer:
    """The levels as formulas: for each set a formula that says that the old (new) chain has it at a level."""

    def __init__(self, builder: Builder, cascade: Cascade) -> None:
        self.builder, self.cascade = builder, cascade
        self.true, self.false = builder.add("true"), builder.add("false")
        self.letters = [builder.add("symbol", (), a) for a in cascade.dfa.alphabet]

    def states(self) -> dict[int, int]:
        """The node of each state after the current position."""
        old, new = {0: self.true}, {0: self.true}
        for level in self.cascade.levels:
            old, new = self.level(level, old, new)
            if len(self.builder.nodes) > MAX_NODES:
                raise ResourceLimit(f"the formula has more than {MAX_NODES} parts")
        return new

    def level(self, level: Level, old: dict[int, int], new: dict[int, int]) -> tuple[dict[int, int], dict[int, int]]:
        """The next sets of both chains."""
        resets: dict[int, list[int]] = {}
        for (a, s, r), event in level.event.items():
            if event and s in old and r in new:
                resets.setdefault(event - 1, []).append(self.all([self.letters[a], old[s], new[r]]))
        reset = {tile: self.any(parts) for tile, parts in resets.items()}
        stays = self.negation(self.any(list(reset.values())))
        tile = {t: self.builder.add("strict since", (stays, node)) for t, node in reset.items()}
        never = self.negation(self.builder.add("strict since", (self.true, self.negation(stays))))
        tile[0] = self.any([never, tile[0]]) if 0 in tile else never
        onward: dict[int, list[int]] = {}
        renewed: dict[int, list[int]] = {}
        for (s, t), to in level.down.items():
            if s in old and t in tile:
                onward.setdefault(to, []).append(self.all([old[s], tile[t]]))
            if s in new:
                kept = [self.all([stays, tile[t]])] if t in tile else []
                chosen = self.any([*kept, *([reset[t]] if t in reset else [])])
                renewed.setdefault(to, []).append(self.all([new[s], chosen]))
        return {to: self.any(p) for to, p in onward.items()}, {to: self.any(p) for to, p in renewed.items()}

    def negation(self, part: int) -> int:
        node = self.builder.nodes[part]
        if node.op == "not":
            return node.args[0]
        swapped = {self.true: self.false, self.false: self.true}
        return swapped[part] if part in swapped else self.builder.add("not", (part,))

    def any(self, parts: list[int]) -> int:
        """A disjunction; all letters together are true."""
        if self.true in parts or set(self.letters) <= set(parts):
            return self.true
        return self._join("or", self.false, parts)

    def all(self, parts: list[int]) -> int:
        return self.false if self.false in parts else self._join("and", self.true, parts)

    def _join(self, op: str, neutral: int, parts: list[int]) -> int:
        parts = [p for p in dict.fromkeys(parts) if p != neutral]
        out = parts[0] if parts else neutral
        for part in parts[1:]:
            out = self.builder.add(op, (out, part))
        return out


def spelled(formula: Formula) -> str:
    """A formula as text. ``formula``: a formula, whose parts may be shared."""
    sizes: list[int] = []
    for node in formula.nodes:
        sizes.append(1 + sum(sizes[a] for a in node.args))
    if sizes[-1] > MAX_TEXT:
        raise ResourceLimit(
            f"the formula has {len(formula.nodes)} different parts, but {sizes[-1]} as text, more than {MAX_TEXT}"
        )
    return str(formula)
