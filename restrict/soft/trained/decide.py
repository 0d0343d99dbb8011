"""``verify_trained``: is a trained model right on every prefix of every word of a language up to a length?

A hunt for wrong words first, then the cases in order of their position; an open case is attacked, then the graph is
given a memory that decides it. What is decided is written as a ``restrict-soft-verdict/1`` certificate.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from restrict.base.errors import ModelError, UsageError
from restrict.base.options import Fact
from restrict.base.strictjson import Node
from restrict.checker.verdict import VERDICT
from restrict.checker.verdict_second import SECOND
from restrict.soft.trained.answer import Decided, said_of
from restrict.soft.trained.atoms import Basis
from restrict.soft.trained.attack import Attack
from restrict.soft.trained.claim import demand_length, head, model_document, wrong_document
from restrict.soft.trained.directions import Key
from restrict.soft.trained.excepted import Behind, Share
from restrict.soft.trained.float32 import Float32, as_run
from restrict.soft.trained.graph import MOST_STATES, Graph
from restrict.soft.trained.hints import bases_document, cases_document, layered_document
from restrict.soft.trained.histories import merged_histories
from restrict.soft.trained.memory import LAST, SEEN, beginnings, memories, singles
from restrict.soft.trained.model import Trained
from restrict.soft.trained.options import OPTIONS, Fine
from restrict.soft.trained.reader import as_read, ended, opened, without_reader
from restrict.soft.trained.second import Second
from restrict.soft.trained.sharing import SharedSearch
from restrict.soft.trained.verdict import Case, Open, Search, prepare
from restrict.soft.trained.wrong import Hunt, Wrong, wrong_of

FORMAT, LAYERED = "restrict-soft-verdict/1", "restrict-soft-verdict/2"
"""Of one layer, and of several."""
WHOLE = {key: shape for key, shape in VERDICT.items() if key != "fixed"}
"""The checker's table of verdicts of one layer: on all words."""
SEEN_OF_WORD: Fact[int] = 12
"""Symbols of a wrong word that stand beside what is being done."""
ALL = ("all symbols",)
"""The memory of every prefix that is shorter than a wrong word."""
Tell = Callable[[str], None]
Ahead = Callable[[dict[str, Any], list[Case], list[list[Basis]]], None]
"""Gets what a certificate is going to say beside its cases, the cases that are decided so far, in order, and bases."""


@dataclass(kw_only=True, repr=False)
class Verdict(Decided):
    """Every case up to ``upto`` symbols is right. ``float32`` says what is right as run, if that was asked for and the
    model has one layer. ``share`` says which words were found to be wrong, if several were looked
    for; all else is then about the claim without those before the last search."""

    n: int
    upto: int
    second: Second | None = field(default=None, repr=False)
    float32: Float32 | None = None
    share: Share | None = None

    @property
    def last(self) -> int:
        """The last position of a decided case: behind it stands a reader, where there is one."""
        return self.upto + (self.model.reader is not None)

    @property
    def proves(self) -> bool:
        """Whether there is anything to certify."""
        return self.wrong is not None or any(case.key[0] <= self.last for case in self.cases)

    def without(self, number: int, label: int) -> Verdict:
        """The verdict where ``label`` in case ``number``, and all from its position on, is open after all."""
        doubted = [case for case in self.cases if case.key[0] <= self.last][number]
        return replace(
            self,
            status="wrong" if self.wrong is not None else "open",
            upto=doubted.key[0] - 1 - (self.last - self.upto),
            open=[opened(self.model, self.graph, Open(doubted.key, label, doubted.least)), *self.open],
        )

    @classmethod
    def told(cls, root: Node) -> dict[str, Any]:
        """The attributes that a certificate holds."""
        layered = isinstance(root.value, dict) and root.value.get("format") == LAYERED
        fields, less, told = said_of(root, SECOND if layered else WHOLE)
        n, upto = fields["n"] - less, fields["upto"] - less
        return told | {"n": n, "upto": upto, "status": "wrong" if told["wrong"] else "right" if upto == n else "open"}

    @property
    def wrong_words(self) -> tuple[Behind, ...]:
        """The wrong words, where several were looked for."""
        return () if self.share is None else self.share.found

    def summary(self, line: str | None) -> dict[str, Any]:
        """The answer for machines; where several wrong words were looked for, with these."""
        return super().summary(line) | ({} if self.share is None else self.share.summary(self.model, self.status))

    def wrong_lines(self) -> list[str]:
        """The word behind which the model is wrong, or the words."""
        if self.share is None:
            return super().wrong_lines()
        return self.share.lines(self.model, self.graph.greatest, self.status)

    def rounded(self) -> dict[str, Any] | None:
        """What is right as run: margin and rounding are those of a label's logit times the last deviation."""
        if self.float32 is None or (near := self.float32.closest) is None:
            return None
        upto = min(self.float32.upto, self.upto)
        return {"upto": upto, "ratio": float(near.ratio), "margin": float(near.least), "rounding": float(near.error),
                "position": near.key[0]}  # fmt: skip

    def document(self) -> dict[str, Any]:
        """The certificate: an object of integers and texts."""
        cases, more = [case for case in self.cases if case.key[0] <= self.last], self.last - self.upto
        bases, numbers = bases_document(self.bases, cases) if self.last >= 0 else ({"basis": []}, {})
        kind = FORMAT if len(self.model.layers) == 1 else LAYERED
        found = head(kind, self.model, self.graph, n=self.n + more, upto=self.last) | bases
        if len(self.model.layers) == 1:
            found["cases"] = cases_document(cases, numbers)
        else:
            at = self.second
            found |= layered_document(cases, numbers, *((at.turns, at.frames) if at is not None else ([], [])))
        if self.wrong is not None:
            found["wrong"] = wrong_document(self.model, self.wrong)
        return found | self.provenance()


@dataclass
class _State:
    """The cases of one graph: the first ``done`` of them are decided or open. ``share``: they have one part of so many
    of the time that is left."""

    graph: Graph
    search: Search | Second
    keys: list[Key]
    memory: tuple[str, ...] = ()
    found: list[Case] = field(default_factory=list)
    open: list[Open] = field(default_factory=list)
    done: int = 0
    share: int = 1

    @cached_property
    def short(self) -> int:
        """With several heads: the greatest length up to which a memory can tell all words apart."""
        return beginnings(self.graph)[0] if self.search.model.heads > 1 else 0

    def upto(self) -> int:
        """The greatest length up to which every case is right."""
        waiting: list[Key] = [case.key for case in self.open] + self.keys[self.done : self.done + 1]
        return min([key[0] for key in waiting], default=self.search.n + 1) - 1


class _Run:
    """One search: what is decided so far, and when to stop."""

    def __init__(self, model: Trained, graph: Graph, n: int, tell: Tell, ahead: Ahead | None = None) -> None:
        self.told, self.hunt, self.ahead = tell, Hunt(model, graph, n), ahead
        self.given, (self.model, graph, self.n) = model, as_read(model, graph, n)
        self.until: float | None = None
        self.began, self.below = time.monotonic(), math.inf
        self.wrong: Wrong | None = None
        self.stopped: str | None = None
        self.states = [self.begun(graph)]

    def tell(self, what: str) -> None:
        """What is being done, and the shortest wrong word so far: that is an answer already."""
        if (wrong := without_reader(self.given, self.wrong)) is not None:
            known = " ".join(self.model.symbols[s] for s in wrong.word[:SEEN_OF_WORD])
            what = f"{what}; wrong behind {len(wrong.word)} symbols: {known}{' ...' * (len(wrong.word) > SEEN_OF_WORD)}"
        self.told(what)

    @cached_property
    def attack(self) -> Attack:
        """Attacks on the first graph."""
        return Attack(self.model, self.states[0].graph, self.search().atoms)

    def search(self) -> SharedSearch:
        """The search on the finest graph."""
        found = self.states[-1].search
        assert isinstance(found, SharedSearch)
        return found

    def begun(self, graph: Graph, memory: tuple[str, ...] = ()) -> _State:
        """The state of the search on a graph, of which all cases are to be decided."""
        return _State(graph, SharedSearch(self.model, graph, self.n), graph.cases(self.n), memory)

    def late(self) -> bool:
        if self.until is not None and time.monotonic() > self.until:
            self.stopped = "time"
        return self.stopped is not None

    def over(self) -> bool:
        """Whether it is late, or nothing more is to be done below a wrong word."""
        return self.late() or time.monotonic() > self.below

    def bounded(self, least: float) -> None:
        """Below a wrong word no more is done than the search has done so far, or so many seconds."""
        if self.wrong is not None:
            now = time.monotonic()
            self.below = min(self.below, now + OPTIONS.below * max(least, now - self.began))

    def hunted(self) -> None:
        """Short and random words, then attacks on a grid of positions, and below the first that succeeds."""
        self.tell("words")
        self.wrong = ended(self.model, self.hunt.short()[0] or self.hunt.random())
        low, high = 0, self.n + 1 if self.wrong is None else len(self.wrong.word)
        grid = sorted({1 + (high - 2) * k // OPTIONS.grid for k in range(1, OPTIONS.grid + 1)}) if high > 2 else []
        while grid and not self.late():
            i = grid.pop(0)
            self.tell(f"attacks at position {i}")
            if not self.struck(i):
                low = i
                continue
            high, grid = i, [(low + i) // 2] if i - low > 1 else []

    def struck(self, i: int) -> bool:
        """Whether an attack at a position finds a wrong word; a shorter one is kept."""
        at = self.states[0]
        word = self.attack.at([key for key in at.keys if key[0] == i])
        found = None if word is None else wrong_of(self.model, at.graph, word)
        if found is not None and (self.wrong is None or len(found.word) < len(self.wrong.word)):
            self.wrong = found
        return found is not None

    def cases(self) -> None:
        """The cases that are not decided, in order, up to the shortest wrong word that is known."""
        graph = self.states[0].graph
        if self.wrong is not None and (table := singles(graph, len(self.wrong.word) - 1)) is not None:
            self.states.append(self.begun(graph.remembering(table), ALL))
        while True:
            at = self.states[-1]
            if self.below == math.inf:
                self.bounded(OPTIONS.least_below)
            if at.done == len(at.keys) or len(at.open) >= OPTIONS.many or self.late():
                return
            if time.monotonic() > self.below:
                self.sooner(self.best().upto() + 1)
                return
            key = at.keys[at.done]
            if self.wrong is not None and key[0] >= len(self.wrong.word):
                return
            self.tell(f"position {key[0]} of {self.n}, {len(at.open)} open")
            few = self.wrong is not None and key[0] <= at.short
            self.search().cells = OPTIONS.fewer if few else OPTIONS.cells
            self.search().asked = self.n if self.wrong is None else len(self.wrong.word) - 1
            found = self.search().case(key)
            hard = isinstance(found, Open) and not self.attacked(at, found)
            if isinstance(found, Open) and hard and self.remembered(at, found):
                continue  # from the beginning, on a finer graph
            if isinstance(found, Case):
                at.found.append(found)
                if self.ahead is not None:
                    self.ahead(self.claim(at), at.found, self.search().turns)
            elif self.wrong is None or len(self.wrong.word) > key[0]:
                at.open.append(found)
            at.done += 1  # last, so that an interrupt leaves no case out
            if self.wrong is not None and at.open:
                self.sooner(key[0])
                return

    def claim(self, at: _State) -> dict[str, Any]:
        """What the certificate says beside its cases, if all goes well."""
        upto = self.n if self.wrong is None else len(self.wrong.word) - 1
        found = head(FORMAT, self.given, at.graph, n=self.n, upto=upto)
        return found | ({} if self.wrong is None else {"wrong": {"word": self.wrong.word, "label": self.wrong.label}})

    def sooner(self, low: int) -> None:
        """Where a case stays open below a wrong word, later ones say nothing more: only shorter wrong words do."""
        assert self.wrong is not None
        for i in range(low, len(self.wrong.word)):
            if self.late() or self.struck(i):
                return

    def attacked(self, at: _State, case: Open) -> bool:
        """Whether a word of an open case is wrong; it is then a shortest one, or as short as the open cases allow."""
        for word in self.search().attack(case.key, case.label):
            found = wrong_of(self.model, at.graph, word)
            if found is not None:
                self.wrong = found
                return True
        return False

    def remembered(self, at: _State, case: Open) -> bool:
        """Begin again on a graph whose memory decides an open case, if there is one."""
        if len(at.memory) >= OPTIONS.memories or at.open:
            return False
        base = self.states[0].graph
        room = OPTIONS.singles_room // self.model.d
        every = None if self.wrong is None else singles(base, len(self.wrong.word) - 1, room)
        if every is not None and at.memory != ALL:
            self.states.append(self.begun(base.remembering(every), ALL))
            return True
        self.bounded(OPTIONS.least_memory)
        last, table = beginnings(at.graph)
        first = [(f"the first {last} symbols", table)] if case.key[0] <= last else []
        most = min(MOST_STATES, OPTIONS.whole_room // self.model.d) if self.wrong is None and not first else 0
        if most and (every := singles(base, self.n, most)) is not None:
            first = [(ALL[0], every)]
        for name, table in (*first, *memories(len(self.model.symbols))):
            try:
                finer = at.graph.remembering(table)
            except ModelError:
                continue
            if len(finer.delta) == len(at.graph.delta) or self.over():
                continue
            self.tell(f"position {case.key[0]} of {self.n}, with {name}")
            search = Search(self.model, finer, self.n)
            search.cells = self.search().cells if self.model.heads == 1 else min(OPTIONS.fewer, self.search().cells)
            keys = [k for k in finer.cases(self.n) if k[:2] == case.key[:2] and finer.of[k[2]] == case.key[2]]
            if all(not self.over() and isinstance(search.case(key), Case) for key in keys):
                self.states.append(self.begun(finer, (*at.memory, name)))
                return True
        return False

    def best(self) -> _State:
        """The state that says most: a finer graph that was left early may say less than the one before, or, below a
        wrong word, the same in more cases."""
        states = self.states if self.wrong is not None else self.states[::-1]
        return max(states, key=lambda state: state.upto())


class _Layers(_Run):
    """The run for several layers: words by sampling alone; two layers are decided with finer and finer cells."""

    def begun(
        self, graph: Graph, memory: tuple[str, ...] = (), fine: Fine | None = None, share: int | None = None,
        patient: bool = True,
    ) -> _State:  # fmt: skip
        """The state of the search on a graph, of which all cases are to be decided, with cells as fine as is said."""
        share = OPTIONS.share if share is None else share
        search = Second(self.model, graph, self.n, *(fine or OPTIONS.finer[0]), patient)
        return _State(graph, search, graph.cases(self.n), memory, share=share)

    def hunted(self) -> None:
        """Short words, then random ones, the worst of which are changed again and again: most of the time is left for
        cases, if they can be decided."""
        self.tell("words")
        begin, part = time.monotonic(), OPTIONS.hunt if len(self.model.layers) == 2 else 1
        end = math.inf if self.until is None else begin + (self.until - begin) / part
        self.wrong, length = self.hunt.short(lambda: time.monotonic() > end or self.late())
        if self.wrong is None and length < self.n:
            self.wrong = self.hunt.climbed(None, lambda: time.monotonic() > end or self.late())

    def cases(self) -> None:
        """The cases of two layers in order, until one is open; then again, finer, or with a memory."""
        self.bounded(OPTIONS.least_below)
        for at in self.tries() if len(self.model.layers) == 2 else ():
            self.states.append(at)
            if not self.ran(at) or self.over():
                return

    def tries(self) -> Iterator[_State]:
        """The graph, then with memories made for the model, then finer cells, and other memories with finer cells."""
        graph = self.states[0].graph
        if self.wrong is not None and (table := singles(graph, len(self.wrong.word) - 1)) is not None:
            yield self.begun(graph.remembering(table), ALL, OPTIONS.wider[0], 1)
        yield self.begun(graph)
        last, tired, fine = graph, 0, OPTIONS.wider[0] if self.model.heads == 1 else OPTIONS.several
        for most, alike, share in OPTIONS.histories:
            if most <= tired:
                continue
            self.tell("histories")
            if (merged := merged_histories(self.model, graph, self.n, most, self.over, alike)) is None:
                return
            if len(merged.delta) > OPTIONS.sparse * self.n * most and alike:
                continue  # what is hardly smaller would do what comes next, with more cells
            last, at = merged, self.begun(merged, (SEEN,), fine, share, alike <= OPTIONS.patient)
            yield at
            if alike <= OPTIONS.patient and not at.open:
                tired = most  # the clock ended it, and would end what has more states of that kind
        yield self.begun(graph, fine=OPTIONS.finer[1])
        finer = {}
        for name, table in memories(len(self.model.symbols)):
            with suppress(ModelError):
                if len((made := graph.remembering(table)).delta) > len(graph.delta):
                    finer[name] = made
        yield from (self.begun(finer[name], (name,), OPTIONS.finer[1]) for name in LAST if name in finer)
        yield from (self.begun(last, (SEEN,), fine, 1) for fine in OPTIONS.wider[1:])
        yield from (self.begun(graph, fine=fine, share=1) for fine in OPTIONS.finer[2:])
        for name, made in finer.items():
            yield from (self.begun(made, (name,), fine, 1) for fine in OPTIONS.finer[2 if name in LAST else 1 :])

    def ran(self, at: _State) -> bool:
        """Whether a case stays open; none behind it is tried, as all need what comes before.

        What has a part of the time only counts its next case as open behind that. Time is looked at inside a case, too;
        one that it ends is not listed as open where all time is over.
        """
        assert isinstance(at.search, Second)
        begin = time.monotonic()
        part = math.inf if self.until is None or at.share == 1 else begin + (self.until - begin) / at.share
        share = min(part, self.below)

        def over() -> bool:
            return time.monotonic() > share or self.late()

        at.search.late = over
        for key in at.keys:
            if time.monotonic() > share:
                return True
            if self.late() or (self.wrong is not None and key[0] >= len(self.wrong.word)):
                return False
            self.tell(f"position {key[0]} of {self.n}, cells of {at.search.fine}{''.join(f', {m}' for m in at.memory)}")
            found = at.search.case(key)
            if isinstance(found, Open):
                if over():
                    return not self.late()
                at.open.append(found)
                return True
            at.found.append(found)
            at.done += 1
        return False


def demand_claim(model: Trained, graph: Graph, n: int | None) -> None:
    """Refuse what a verdict cannot be about. ``n``: the greatest length; ``None``: every length."""
    model_document(model)
    if n is not None:
        demand_length(model, n)
    far, most = graph.distances, math.inf if n is None else n + 1
    if not (graph.empty and far[0] < most) and not any(t >= 0 and far[t] + 1 < most for t in graph.delta[0]):
        which = "that the model reads" if n is None else f"of {'at most' if graph.empty else '1 to'} {n} symbols"
        raise UsageError(f"the language has no word {which}: there is nothing to verify")


def verify_trained(
    model: Trained, graph: Graph, n: int, *, language: str = "", seconds: float | None = None,
    tell: Tell | None = None, float32: bool = False, decided: Callable[[Verdict], None] | None = None,
    ahead: Ahead | None = None,
) -> Verdict:  # fmt: skip
    """Decide whether a model is right on every prefix of every word of a graph with at most ``n`` symbols; of more
    than two layers only wrong words are looked for. ``language``: its name, for the certificate's provenance.
    ``seconds``: stop after this long, not counting the compilation of kernels. ``float32``: find out what is right
    as run in float32, too, in a quarter of the time; ``decided`` gets the verdict before that, to have it checked
    meanwhile, and ``ahead`` of one layer what is known of it behind each case. An interrupt ends the search, and
    what is decided is kept. Cost: O(n^2 S Q T m / 2) for the boxes (S symbols, Q states, T transitions, m
    directions), O(m d f) for each cell (f neurons). ``ModelError``: no verdict can be about it; ``UsageError``: it
    has no position embeddings that far, or there are no such words."""
    begin = time.monotonic()
    demand_claim(model, graph, n)
    run = (_Run if len(model.layers) == 1 else _Layers)(model, graph, n, tell or (lambda _: None), ahead)
    try:
        run.tell("kernels")
        if len(model.layers) == 1:
            prepare(model)
        run.until = None if seconds is None else time.monotonic() + seconds
        run.hunted()
        run.cases()
    except KeyboardInterrupt:
        run.stopped = "interrupted"
    best, wrong = run.best(), run.wrong
    upto = min(best.upto(), run.n if wrong is None else len(wrong.word) - 1) if len(model.layers) <= 2 else -1
    less = run.n - n  # the reader is no symbol of a word
    found = Verdict(
        model=model,
        graph=best.graph,
        language=language,
        n=n,
        status="wrong" if wrong is not None else "right" if upto == run.n else "open",
        upto=upto - less,
        cases=best.found,
        bases=best.search.turns if isinstance(best.search, Search) else best.search.first.turns,
        second=best.search if isinstance(best.search, Second) else None,
        open=[opened(model, best.graph, case) for case in best.open],
        wrong=without_reader(model, wrong),
        memory=best.memory,
        seconds=time.monotonic() - begin,
        stopped=run.stopped,
    )
    if not (float32 and isinstance(best.search, Search)):
        return found
    with suppress(KeyboardInterrupt):
        (decided or (lambda _: None))(found)
        late = None if seconds is None else time.monotonic() + seconds / 4
        said = as_run(run.model, best.search, best.found, upto, until=late, tell=run.tell)
        found.float32 = None if said is None else said.shorter(less)
        found.seconds = time.monotonic() - begin
    return found
