"""What the layers of a proof for all lengths are checked against: maps, and what heads offer, without positions.

A rule may read positions where only their classes matter (:mod:`.positions`). A score may also order by ``j``: if, for
one query, all scores that grow with ``j`` differ by less than one step, the later of two such pairs wins (with falling
scores the earlier one), whatever their keys; they must lie above, or below, all other scores of that query. And it may
compare ``j - i`` with constants; :mod:`.window` makes heads of that which do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple, NoReturn

from .account import Place, Reject, Task, unproved
from .evaluate import bound, price
from .formats import Head, Map, Model, bound_model
from .positions import Analysis, Form, Line, number, read
from .rules import Tree, expression

LABEL, WHEN = "@label", "@when"
BEYOND = 1 << 70
"""Ranks from here on (or below its negative) are of scores that order by ``j``; odd ones: the later pair wins."""
Known = dict[str, int]
Refuse = Callable[[str], NoReturn]
Offer = Callable[[int, int], tuple[int, int]]
"""The rank and the value of a pair for a query, by their numbers."""


class Look(NamedTuple):
    """A head as the local equations need it. ``left``: the leftmost of equal ranks wins; ``queries`` and ``pairs``: how
    many numbers there are; at a position they are the values of ``NAME@query`` and ``NAME@pair``."""

    name: str
    mask: str
    left: bool
    default: int
    queries: int
    pairs: int
    price: int
    offer: Offer


class Forms(NamedTuple):
    """The forms of a rule, there may be millions; and of all of them: what they read, the reach, the steps of one."""

    each: dict[tuple[int, ...], Form]
    uses: frozenset[int]
    reach: int
    price: int


class AllLengthsProgram:
    """The model's variables and letters, read at one length that must not matter."""

    def __init__(self, task: Task, fields: dict[str, Any]) -> None:
        self.threshold: int = fields["threshold"]
        self.period: int = fields["period"]
        self.classes: int = self.threshold + self.period
        self.model: Model = bound_model(task, fields, task.top)
        self.task, self.meter, self.place = task, task.meter, task.model_place
        self.variables = {v.name: v for v in self.model.variables}
        self.symbols = len(self.model.alphabet)
        places = [at for at, _ in self.model.markers]
        self.start, self.end = 0 in places, self.model.n - 1 in places
        self.letters = self.symbols + len(places)
        self.rules: dict[str, Callable[[tuple[int, ...]], int]] = {}
        self.analysed: dict[str, Forms] = {}
        self.derived: dict[str, Look] = {}
        self.when = self.condition()
        names = ["reject", "accept"] if self.model.accept is not None else list(self.model.label_names)
        if not names:
            self.meter.charge(2 * self.model.domains[self.model.output])
            self.meter.hold(150 * self.model.domains[self.model.output])
            names = [str(value) for value in range(self.model.domains[self.model.output])]
        self.labels = {name: number for number, name in enumerate(names)}

    def condition(self) -> Form | None:
        """``when`` as a function of the classes of any position."""
        place = self.place.key("when")
        if self.model.when is None:
            return None
        tree, work = expression(self.model.when, place, ("n",), self.meter).tree, Analysis(place, self.meter)
        return self.fits(work.test("!=", work.form(tree, {})), place)

    def fits(self, form: Form, place: Place) -> Form:
        """The form, if the classes of the proof are enough for it."""
        if form.threshold > self.threshold or self.period % form.period:
            unproved(place, "its rule tells more positions apart than the classes of the proof")
        return form

    def defined_at(self, n: int, place: Place) -> None:
        """Not established unless the model is defined at a length: it is read there."""
        if n != self.model.n:
            try:
                Model(self.task, n)
            except Reject as reject:
                if reject.code != 4:
                    raise
                unproved(place, f"the model is not defined at n = {n}: {reject}")

    def defined_from(self, first: int, place: Place) -> None:
        """Not established unless the proof's own length, or the first one from ``first`` on at which ``when`` holds, is
        at least ``first`` and one at which the model is defined."""
        if self.model.n >= first:
            return
        turn = range(first, first + self.classes)
        if (n := next((n for n in turn if self.when is None or self.when.at((0, n - 1, 0, 0, 0))), None)) is None:
            unproved(place, f"the model is defined at no length from {first} on")
        self.defined_at(n, place)

    def label(self, name: str, place: Place) -> int:
        """The number of a label."""
        if name not in self.labels:
            unproved(place, "no value of the output has this label")
        return self.labels[name]

    # ------------------------------------------------------------ rules that read positions

    def forms(self, variable: Map | Head) -> Forms:
        """The form of a rule that reads positions, for each choice of its finite names in order (none: no form).

        Refuses what does not depend on the classes of the proof.
        """
        if variable.name not in self.analysed:
            each = self.analyse(variable)
            uses = frozenset[int]().union(*{form.uses for form in each.values()})
            reach = max((form.reach for form in each.values()), default=0)
            steps = max((form.price for form in each.values()), default=0)
            self.analysed[variable.name] = Forms(each, uses, reach, steps)
        return self.analysed[variable.name]

    def analyse(self, variable: Map | Head) -> dict[tuple[int, ...], Form]:
        """The forms of a rule that reads positions."""
        names, rule = variable.rule.names, variable.rule
        sources = self.sources(variable)
        if not names & {"n", "i", "j"} and "position" not in [sources.get(name) for name in names]:
            return {}
        if rule.tree.op in ("table", "dot"):
            unproved(variable.place, "a table over positions is not covered")
        finite = [name for name in sources if sources[name] != "position"]
        sizes = [self.model.domains[sources[name]] if name in names else 1 for name in finite]
        self.meter.charge(math.prod(sizes))
        tree, work, out = moved(rule.tree, sources), Analysis(variable.place, self.meter), {}
        for values in product(*map(range, sizes)):
            found = work.form(tree, dict(zip(finite, values, strict=True)))
            self.meter.hold(300 * found.price)
            out[values] = self.fits(found, variable.place)
        if isinstance(variable, Head) and any(moving(form) for form in out.values()):
            at = finite.index("q") if "q" in finite else None
            return by_position(partial(unproved, variable.place), out, at)
        if any(any(form.slope) for form in out.values()):
            unproved(variable.place, "its rule grows with the position or with n")
        return out

    @staticmethod
    def sources(variable: Map | Head) -> dict[str, str]:
        """The variable behind each name of the rule that is not a position."""
        if isinstance(variable, Map):
            return {arg: arg for arg in variable.args}
        roles = {"q": variable.query, "k": variable.key}
        return {letter: name for letter, name in roles.items() if name}

    def reads(self, variable: Head, coordinates: set[int]) -> bool:
        """Whether the score reads the class of the attending (0, 1) or of the attended (2, 3) position."""
        return not coordinates.isdisjoint(self.forms(variable).uses)

    def reach(self, variable: Map | Head | None) -> int:
        """From which distance on the score does not depend on ``j - i``; 0 where it does not at all."""
        return self.forms(variable).reach if isinstance(variable, Head) else 0

    # ------------------------------------------------------------ values

    def value(self, name: str, known: Known) -> int:
        """A variable's value from those that are known at the position, through maps."""
        if name not in known:
            known[name] = self.found(name, known)
        return known[name]

    def found(self, name: str, known: Known) -> int:
        """The value of a variable that is not known yet."""
        if name == LABEL:
            if self.value(WHEN, known) == 0:
                return len(self.labels)
            value = self.value(self.model.output, known)
            if self.model.labels is not None:
                return self.model.labels[value]
            return value if self.model.accept is None else +(value in self.model.accept)
        if name == WHEN:
            self.meter.charge(self.when.price if self.when is not None else 0)
            return self.when.at((*self.place_of(known), 0, 0, 0)) if self.when is not None else 1
        variable = self.variables.get(name)
        if isinstance(variable, Map):
            value = self.mapped(variable, known)
        elif isinstance(variable, Head) and self.reach(variable):
            value = self.best(variable, known)
        elif "@" in name[1:]:
            return self.role(name, known)
        else:
            unproved(self.place, f"the value of {name} is not known in this layer")
        if not 0 <= value < self.model.domains[name]:
            # Domains may depend on n, but what is numbered by them must not. At other lengths nothing is claimed.
            if self.when is None or self.value(WHEN, known):
                unproved(self.place, f"the value of {name} is outside its domain at n = {self.model.n}")
            return 0
        return value

    def place_of(self, known: Known) -> tuple[int, int]:
        """The classes of a position."""
        return self.value("@p", known), self.value("@s", known)

    def best(self, head: Head, known: Known) -> int:
        """The value of a head that looks at ``j - i``."""
        unproved(head.place, "its score depends on j - i")

    def mapped(self, variable: Map, known: Known) -> int:
        """The value of a map."""
        name = variable.name
        args = [self.value(a, known) if a in variable.rule.names and a != "position" else 0 for a in variable.args]
        if self.forms(variable).each:
            p, s = self.place_of(known)
            args = [p if a == "position" else v for a, v in zip(variable.args, args, strict=True)]
            args += [p, p + s + 1]
        if name not in self.rules:
            self.rules[name] = bound(variable.rule.tree, {}, (*variable.args, "i", "n"))
        self.meter.charge(1 + price(variable.rule.tree) + len(args) // 8)
        return self.rules[name](tuple(args))

    def role(self, name: str, known: Known) -> int:
        """A head's ``query``, or its ``pair``, as one number: row-major in the query (key), then the classes of the
        position where the score reads them, then (of a pair) the value. What is not read is left out."""
        owner, _, role = name.rpartition("@")
        head = self.variables.get(owner)
        if role not in ("query", "pair") or not isinstance(head, Head):
            unproved(self.place, f"the value of {name} is not known in this layer")
        first, coordinates = (head.query, {0, 1}) if role == "query" else (head.key, {2, 3})
        number = self.value(first, known) if first and first != "position" else 0
        if self.reads(head, coordinates):
            p, s = self.place_of(known)
            number = (number * self.classes + p) * self.classes + s
        return number if role == "query" else number * self.model.domains[head.value] + self.value(head.value, known)

    # ------------------------------------------------------------ heads

    def look(self, name: str) -> Look | None:
        """A head that looks at classes of positions at most; None: there is no such head."""
        head = self.variables.get(name)
        if name not in self.derived:
            if not isinstance(head, Head) or self.reach(head):
                return None
            sizes = self.count(head, "query"), self.count(head, "pair")
            offer = self.offers(head)
            self.derived[name] = Look(name, head.mask, head.left, head.default, *sizes, self.work(head), offer)
        return self.derived[name]

    def work(self, head: Head) -> int:
        """Steps of one offer."""
        return price(head.rule.tree) + self.forms(head).price

    def count(self, head: Head, role: str) -> int:
        """How many numbers a role has."""
        first, coordinates = (head.query, {0, 1}) if role == "query" else (head.key, {2, 3})
        size = self.model.domains[first] if first and first != "position" else 1
        size *= self.classes**2 if self.reads(head, coordinates) else 1
        return size if role == "query" else size * self.model.domains[head.value]

    def offers(self, head: Head, distance: int = 0) -> Offer:
        """Rank and value of a pair for a query, both numbered as in :meth:`role`, at a distance ``j - i``."""
        scored = bound(head.rule.tree, {}, ("q", "k")) if not self.forms(head).each else None

        def offer(query: int, pair: int) -> tuple[int, int]:
            pair, value = divmod(pair, self.model.domains[head.value])
            q, p, s = self.unpack(head, query, {0, 1})
            k, p2, s2 = self.unpack(head, pair, {2, 3})
            known = {"q": q, "k": k}
            if scored is None:
                forms = self.forms(head).each
                sources = self.sources(head)
                form = forms[tuple(known[x] for x in sources if sources[x] != "position")]
                score = form.at((p, s, p2, s2, distance))
                if abs(score) >= BEYOND and form.uses:
                    unproved(head.place, "a score is out of range")
                return score, value
            return scored((q, k)), value

        return offer

    def unpack(self, head: Head, packed: int, coordinates: set[int]) -> tuple[int, int, int]:
        """A number of :meth:`role` taken apart: query or key, and the classes."""
        if not self.reads(head, coordinates):
            return packed, 0, 0
        rest, s = divmod(packed, self.classes)
        return rest // self.classes, rest % self.classes, s


def moved(tree: Tree, sources: dict[str, str]) -> Tree:
    """The tree with the names behind which ``position`` stands replaced: at the attended position it is ``j``."""
    if tree.op == "name" and sources.get(tree.value) == "position":
        return tree._replace(value="j" if tree.value == "k" else "i")
    return tree._replace(args=tuple(moved(arg, sources) for arg in tree.args))


def moving(form: Form) -> bool:
    """Whether a score orders by ``j`` itself."""
    return form.line is not None and form.line.j != 0


def by_position(refuse: Refuse, forms: dict[tuple[int, ...], Form], query: int | None) -> dict[tuple[int, ...], Form]:
    """Scores that order by ``j``: their ranks, as forms without positions. ``query``: the place of q in the choices."""
    by_query: dict[int, dict[tuple[int, ...], Form]] = {}
    for values, form in forms.items():
        by_query.setdefault(values[query] if query is not None else 0, {})[values] = form
    out: dict[tuple[int, ...], Form] = {}
    for some in by_query.values():
        lines = [form.line for form in some.values() if moving(form) and form.line is not None]
        fixed = [value for form in some.values() if (value := number(form)) is not None]
        if len(lines) + len(fixed) < len(some) or any(abs(c) >= BEYOND for c in fixed):
            refuse("its score mixes an order by j with other functions of positions")
        rank = rank_of(refuse, lines, fixed) if lines else 0
        for values, form in some.items():
            out[values] = read(Line(0, 0, 0, rank)) if moving(form) else form._replace(uses=frozenset())
    return out


def rank_of(refuse: Refuse, lines: list[Line], fixed: list[int]) -> int:
    """One rank for all scores ``a i + b j + c n + d`` of a query; odd where the later pair wins, that is ``b > 0``.

    Two pairs at different positions differ by at least ``|b|`` minus the spread of the ``d``, so the order is that of
    the positions. With ``a = 0`` the scores are ``d + b j``, or ``d - b (n - j)`` where ``c = -b``, and ``n - j >= 1``.
    """
    i, j, n, _ = lines[0]
    least, most = min(line[3] for line in lines), max(line[3] for line in lines)
    if any(line[:3] != (i, j, n) for line in lines) or most - least >= abs(j):
        refuse("its score weighs j against the key, which no finite automaton can")
    rank = BEYOND + (j > 0)
    if not fixed:
        return rank
    if i or n not in (0, -j):
        refuse("its score compares j with a constant in one branch and with i or n in another")
    if (j > 0) == (n == 0) and least + n > max(fixed):
        return rank
    if (j > 0) != (n == 0) and most + n < min(fixed):
        return -rank
    refuse("its score is at some positions above and at others below a constant; write the order by j as a tie rule")
