"""Which few symbols force a decision of a trained model, whatever the other symbols are?

A restriction (some symbols of a word of ``n`` are fixed, the others free) is a language with an alphabet for each
position, so "every label has its sign on all completions" is a question for the engine of verdicts
(:mod:`restrict.soft.trained.verdict`) with the cases of one position. Completions may be limited to the prefixes of a
language's words.

Search: follow a word that attacks push far up or down, fix the symbols that push most, the last one first; the
shortest prefix of that order that suffices is found by bisection, then every symbol that is not needed is freed. What
is found is only a hint: the trusted checker decides (``restrict-soft-verdict/1`` with ``fixed``).
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from restrict.base.errors import ModelError, NotEstablished, UsageError, quote
from restrict.base.htmltable import ShownTable
from restrict.base.strictjson import Node
from restrict.base.wording import doing
from restrict.checker.read import listing
from restrict.checker.verdict import MAX_N, VERDICT
from restrict.elaboration.trusted import trusted_check
from restrict.languages.dfa import Dfa
from restrict.soft.restriction.options import FORCED
from restrict.soft.trained.answer import Certified, pairs, said_of
from restrict.soft.trained.atoms import Basis
from restrict.soft.trained.attack import Attack, Word
from restrict.soft.trained.claim import demand_length, head, model_document
from restrict.soft.trained.decide import FORMAT, Tell
from restrict.soft.trained.directions import Key
from restrict.soft.trained.graph import Graph, all_words, paired, proper_words
from restrict.soft.trained.hints import bases_document, case_document
from restrict.soft.trained.model import Trained, forward
from restrict.soft.trained.reader import as_read
from restrict.soft.trained.stored import Array
from restrict.soft.trained.verdict import Case, Open, Search, prepare
from restrict.version import __version__

Fixed = dict[int, int]
"""Position (1 to n) and index of the symbol."""


@dataclass(kw_only=True, repr=False)
class Forced(Certified):
    """With the symbols ``fixed``, every label of the graph has the sign that the graph wants, for all completions."""

    n: int
    fixed: Fixed
    inputs: str
    verified: str | None = None

    @classmethod
    def told(cls, root: Node) -> dict[str, Any]:
        """The attributes that a certificate holds."""
        fields, less, _ = said_of(root, VERDICT | {"fixed": listing})
        node = dict(root.members())["fixed"]
        fixed = pairs(node, 0, MAX_N)
        if any(s >= len(fields["model"]["alphabet"]) for _, s in fixed):
            node.fail("expected symbols of the alphabet")
        inputs = str(fields.get("provenance", {}).get("inputs", "all words"))
        return {"n": fields["n"] - less, "fixed": dict(fixed), "inputs": inputs}

    def document(self) -> dict[str, Any]:
        """The certificate: an object of integers and texts."""
        bases, numbers = bases_document(self.bases, self.cases)
        last = self.n + (self.model.reader is not None)
        found = head(FORMAT, self.model, self.graph, n=last, upto=last)
        found["fixed"] = [[i, s] for i, s in sorted(self.fixed.items())]
        found |= bases | {"cases": [case_document(case, numbers[case.basis]) for case in self.cases]}
        return found | {"provenance": {"tool": f"restrict {__version__}", "inputs": self.inputs}}

    @property
    def answer(self) -> dict[str, bool]:
        """Each label and whether it is forced to be positive, or to be the greatest."""
        want = self.graph.want[0]
        return {self.model.labels[k]: k in want for k in self.graph.labels}

    def text(self) -> str:
        """The claim in words. Gives four lines; the last one is the checker's."""
        told = ", ".join(f"{name} {'positive' if on else 'negative'}" for name, on in self.answer.items())
        if self.graph.greatest:
            told = "".join(f"{name} is the greatest" for name, on in self.answer.items() if on)
        lines = [
            f"{self.model.name}, words of {self.n} symbols ({self.inputs}): {len(self.fixed)} fixed, "
            f"{self.n - len(self.fixed)} free",
            f"fixed: {self.shown()}",
            f"forced behind every completion: {told}",
            self.verified or "not checked: a search in floats, not a proof",
        ]
        return "\n".join(lines)

    def shown(self) -> str:
        """What is fixed, in words."""
        names = self.names()[1]
        return ", ".join(f"{i}: {names[s]}" for i, s in sorted(self.fixed.items())) or "nothing"

    def summary(self) -> dict[str, Any]:
        """The answer for machines."""
        return self.document() | {"verified": self.verified, "stopped": self.stopped}

    def facts(self) -> ShownTable:
        """What a notebook shows."""
        rows = [("fixed", self.shown()), ("free", self.n - len(self.fixed)), ("words", self.inputs)]
        return ShownTable(f"forced decision of {self.names()[0]} at n = {self.n}", rows)


class RestrictedAttack(Attack):
    """Attacks with words that have some symbols fixed."""

    fixed: Fixed

    def longest(self, key: Key, lengths: Array) -> Word:
        """The word of a case, as fixed, whose sum of ``lengths[j, s]``, shape ``(n + 1, S)``, is greatest."""
        return super().longest(key, masked(lengths, self.fixed))


def masked(table: Array, fixed: Fixed) -> Array:
    """A table by position and symbol in which symbols that are not allowed have NaN: no comparison chooses them."""
    found = table.copy()
    for j, s in fixed.items():
        found[j] = np.nan
        found[j, s] = table[j, s]
    return found


class Restricted(Search):
    """A search for verdicts on the words of ``n`` symbols that have some symbols fixed."""

    def __init__(self, model: Trained, graph: Graph, n: int) -> None:
        super().__init__(model, graph, n)
        self.fixed: Fixed = {}

    def weigh(self, i: int, a: int) -> None:
        """Make the weights of a position and its symbol ready, those of other symbols than the fixed ones left out."""
        if self.last == (i, a):
            return
        super().weigh(i, a)
        self.weights = [masked(weights, self.fixed) for weights in self.weights]

    def keys(self) -> list[Key]:
        """The cases: what a completion can end with."""
        states = {0}
        for j in range(1, self.n + 1):
            before, symbols = states, self.allowed(j)
            states = {t for p in before for s in symbols if (t := self.graph.delta[p][s]) >= 0}
        if not self.n:
            return [(0, -1, 0)]
        ends = [(s, sorted({self.graph.delta[p][s] for p in before} & self.graph.accept)) for s in self.allowed(self.n)]
        return [(self.n, s, q) for s, states_behind in ends for q in states_behind]

    def allowed(self, j: int) -> range | tuple[int, ...]:
        """The symbols that may stand at a position."""
        if j in self.fixed:
            return (self.fixed[j],)
        return self.graph.ends if j == self.n else range(len(self.model.symbols))

    def forced(self, fixed: Fixed) -> list[Case] | None:
        """The hints of all cases with these symbols fixed, or ``None`` where one is open or there is no word."""
        self.fixed, self.last = fixed, (-1, -1)
        self.chosen, self.tried = {}, {}
        found, keys = [], self.keys()
        asked = [self.graph.about(0, k) for k in range(len(self.graph.asked[0].places))]
        if any(self.escaped(key, label) for key in keys if key[0] for label in asked):
            return None
        for key in keys:
            case = self.case(key)
            if isinstance(case, Open):
                return None
            found.append(case)
        return found or None

    def escaped(self, key: Key, label: int) -> bool:
        """Whether an attack finds a completion on which what is asked of a label does not hold."""
        attack = RestrictedAttack(self.model, self.graph, self.atoms)
        attack.fixed = self.fixed
        return any(value <= 0 for value, _ in attack.words(key, label))


def words_of(model: Trained, inputs: Dfa | None) -> Graph:
    """The prefixes of the words of a language (or all words) as a graph on which nothing is wanted yet."""
    words = proper_words(inputs or all_words(model))
    delta = tuple(row for _, _, row in paired(words.delta, words.delta, words.dead))
    return Graph(delta, frozenset(range(len(delta))), (), (), tuple(range(len(delta))))


class Decision(NamedTuple):
    """The signs of some labels, or which of them is the greatest."""

    labels: tuple[int, ...]
    greatest: bool = False

    def answer(self, said: Array) -> frozenset[int]:
        """What the logits of all labels decide: the labels that are positive, or the greatest."""
        if self.greatest:
            return frozenset({max(self.labels, key=lambda k: said[k])})
        return frozenset(k for k in self.labels if said[k] > 0)

    def wanting(self, graph: Graph, answer: frozenset[int]) -> Graph:
        """The graph with one answer wanted behind every word."""
        want = (answer,) * len(graph.delta)
        return replace(graph, labels=self.labels, want=want, greatest=self.greatest)


def decision_of(model: Trained, name: str | None) -> Decision:
    """The sign of one label by name, or of ``all`` of the read-out, or which is the ``greatest``; by default the sign
    of the end token, and the greatest where the read-out has labels of its own."""
    everything, own = model.outputs, model.labels != model.vocab
    if name == "greatest" or (name is None and own):
        return Decision(everything, True)
    if name == "all" or (name is None and model.eos is None):
        return Decision(everything)
    if name is None:
        return Decision(everything[-1:])
    if name not in [model.labels[k] for k in everything]:
        raise UsageError(f"{quote(name)} is no label of {model.name}: {' '.join(model.labels[k] for k in everything)}")
    return Decision((model.labels.index(name),))


class _Trail(NamedTuple):
    """A word that is followed, the search with its answer, and its positions, the first to be fixed first."""

    word: tuple[int, ...]
    search: Restricted
    order: list[int]


class _Hunt:
    """The search for few symbols that force some labels."""

    def __init__(self, model: Trained, words: Graph, n: int, decision: Decision, tell: Tell) -> None:
        self.model, self.words, self.n, self.decision, self.tell = model, words, n, decision, tell
        self.best: tuple[Graph, Fixed, list[Case], list[list[Basis]]] | None = None
        self.until = float("inf")

    def run(self) -> None:
        """The shortest prefixes of all orders first, then those twice as long."""
        followed = list(dict.fromkeys(word for a in self.words.ends for word in self.followed(a)))
        trails = [self.trail(word) for word in followed]
        most = 0
        while self.best is None and most < self.n:
            least, most = most, min(max(1, 2 * most), self.n)
            for trail in trails:
                self.shortened(trail, least, most if self.best is None else len(self.best[1]) - 1)

    def followed(self, a: int) -> Iterator[tuple[int, ...]]:
        """Words that end with a symbol: those that attacks push farthest, each label up and down."""
        signs = Decision(self.decision.labels)
        empty, full = (signs.wanting(self.words, frozenset(want)) for want in ((), signs.labels))
        search = Search(self.model, empty, self.n)
        ends = sorted(self.words.reached(self.n)[-1])
        for graph in (empty, full):
            attack = Attack(self.model, graph, search.atoms)
            for q in ends:
                if not any(row[a] == q for row in self.words.delta):
                    continue
                for label in signs.labels:
                    found = sorted(attack.words((self.n, a, q), label))
                    yield from [word for _, word in found[: FORCED.starts]]

    def trail(self, word: tuple[int, ...]) -> _Trail:
        """A word, what the model says behind it, and its positions in the order in which they are fixed."""
        said = forward(self.model, self.model.rows([self.model.symbols[s] for s in word]))[-1]
        graph = self.decision.wanting(self.words, self.decision.answer(said))
        search = Restricted(self.model, graph, self.n)
        return _Trail(word, search, self.order(search, word))

    def shortened(self, trail: _Trail, low: int, high: int) -> None:
        """Fix the first ``high`` symbols of a trail's order, or fewer; more than ``low`` are known to be needed."""
        if high < low or not self.attempt(trail, trail.order[:high]):
            return
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.attempt(trail, trail.order[:middle]) else (middle, high)
        kept = trail.order[:high]
        for j in reversed(trail.order[:high]):
            shorter = [k for k in kept if k != j]
            kept = shorter if self.attempt(trail, shorter) else kept

    def attempt(self, trail: _Trail, places: list[int]) -> bool:
        """Whether the symbols at these places force the labels; the best restriction is kept."""
        if time.monotonic() > self.until:
            raise TimeoutError
        fixed = {j: trail.word[j - 1] for j in sorted(places)}
        best = "" if self.best is None else f", best {len(self.best[1])}"
        self.tell(f"{len(fixed)} fixed, last symbol {self.model.symbols[trail.word[-1]]}{best}")
        cases = trail.search.forced(fixed)
        if cases is not None and (self.best is None or len(fixed) < len(self.best[1])):
            self.best = (trail.search.graph, fixed, cases, list(trail.search.turns))
        return cases is not None

    def order(self, search: Restricted, word: tuple[int, ...]) -> list[int]:
        """Positions, those first whose symbols push most; the last one, whose symbol asks, before all others."""
        attack = Attack(self.model, search.graph, search.atoms)
        weights = [search.atoms.weights(h, self.n, word[-1]) for h in range(search.atoms.heads)]
        outs, sums = attack.output(word, weights)
        start = search.atoms.x[self.n, word[-1]] + search.atoms.bias
        push: Array = np.zeros(self.n + 1)
        at = np.arange(self.n + 1)
        asked = search.graph.asked[0]
        for label in (self.decision.labels[p] for p in asked.places):
            value, gradient = attack.label(start + np.sum(outs, axis=0), label, asked)
            gradient = gradient / max(abs(value), 1e-9)
            for h, w in enumerate(weights):
                part = w * ((search.atoms.v[h] - outs[h]) @ gradient) / sums[h]
                push += part[at, (0, *word)] - part.min(1)
        last = [self.n] if self.n and not self.words.closing else []
        return last + [int(j) for j in np.argsort(-push, kind="stable") if 0 < j < self.n]


def force_decision(
    model: Trained,
    n: int,
    decision: Decision,
    *,
    inputs: Dfa | None = None,
    fixed: Fixed | None = None,
    seconds: float | None = None,
    check: bool = True,
    told: str = "all words",
    tell: Tell | None = None,
) -> Forced:
    """Few symbols (or check: those ``fixed``) that force a decision, the same behind every word of ``n`` symbols that
    has them and is a prefix in ``inputs`` (default: every word), which messages call ``told``. ``seconds``: of
    improving. ``NotEstablished``: nothing was found or the checker does not follow."""
    begin = time.monotonic()
    model_document(model)
    if len(model.layers) != 1:
        raise ModelError(f"{model.name} has {len(model.layers)} layers; forced decisions are about models of one layer")
    demand_length(model, n)
    hunt = _Hunt(*as_read(model, words_of(model, inputs), n), decision, tell or (lambda _: None))
    stopped = None
    try:
        prepare(model)
        hunt.until = float("inf") if seconds is None else time.monotonic() + seconds
        if fixed is not None or not n:
            _given(hunt, fixed or {})
        else:
            hunt.run()
    except KeyboardInterrupt:
        stopped = "interrupted"
    except TimeoutError:
        stopped = "time"
    if hunt.best is None:
        raise NotEstablished(f"{model.name}: no restriction was found that forces the decision")
    graph, chosen, cases, bases = hunt.best
    found = Forced(
        model=model, graph=graph, n=n, fixed=chosen, cases=cases, bases=bases, inputs=told, stopped=stopped,
        seconds=time.monotonic() - begin,
    )  # fmt: skip
    if not check:
        return found
    try:
        return replace(found, verified=trusted_check(model.content, found.to_bytes(), None, "certificate", None))
    except NotEstablished as error:
        raise NotEstablished(
            f"{model.name}: {doing(len(chosen), 'fixed symbol', 'force')} the decision in floats, but the trusted "
            f"checker does not follow; it sees less where a word weighs little beside other symbols ({error})"
        ) from None


def _given(hunt: _Hunt, fixed: Fixed) -> None:
    """Symbols that the user fixed: what the model says behind one completion must be forced."""
    most = hunt.n - hunt.words.closing
    bad = next((i for i in fixed if not 1 <= i <= most), None)
    if bad is not None:
        raise UsageError(f"position {bad} is not in 1 .. {most}, where the symbols stand; a start token is never fixed")
    search = Restricted(hunt.model, Decision(hunt.decision.labels).wanting(hunt.words, frozenset()), hunt.n)
    search.fixed, search.last = fixed, (-1, -1)
    keys = search.keys()
    if not keys:
        raise UsageError("no word has these symbols")
    said = forward(hunt.model, hunt.model.rows([hunt.model.symbols[s] for s in _completion(search, keys[0])]))[-1]
    graph = hunt.decision.wanting(hunt.words, hunt.decision.answer(said))
    again = Restricted(hunt.model, graph, hunt.n)
    cases = again.forced(fixed)
    if cases is not None:
        hunt.best = (graph, dict(sorted(fixed.items())), cases, list(again.turns))


def _completion(search: Restricted, key: Key) -> tuple[int, ...]:
    """Some word of a case."""
    if not key[0]:
        return ()
    search.weigh(key[0], key[1])
    return search.word(key, np.zeros(len(search.atoms.bases[0].rows)))[0]
