"""Random programs that are order-only, or nearly: for the constructions that hold at every length.

Every part is grown from the grammar. Most are of a shape that a finite automaton can follow (functions of position
classes, comparisons of ``j - i`` with constants, orders by ``j``), but a share ``wild`` of them is anything over
``i, j, n, q, k`` (``min(i, j)``, ``min(j + 1, n - 1)``, ``abs(i - j) <= 2``): some of these are order-only, some are
not, and which is for the program under test to say.
"""

from collections.abc import Mapping
from typing import Any

from numpy.random import Generator

from tests import naive
from tests.generator.draft import (
    MASKS,
    Draft,
    Model,
    Sized,
    finished,
    fits,
    lively,
    map_table,
    over_n,
    random_output,
    started,
    table_score,
    when_text,
)
from tests.generator.expressions import (
    COMPARISONS,
    Phrase,
    Range,
    applied,
    apply,
    bounded,
    constant,
    grown,
    named,
    plain,
)

SLOPES = ("+", "-", "*", "//", "min", "max", "neg")
"""Operators that keep a function of one position affine far out, mostly."""


def random_order_only(
    rng: Generator,
    letters: int | None = None,
    most: int = 5,
    placed: float = 0.25,
    near: float = 0.1,
    wild: float = 0.12,
    labels: bool = False,
) -> Model:
    """A random model that is likely to be order-only.

    Args:
        rng: the generator.
        letters: the size of the alphabet; by default 1 to 4.
        most: the largest number of variables; there is at least one.
        placed: the share of rules that read position classes or order by ``j``.
        near: the share of scores that compare ``j - i`` with constants.
        wild: the share of rules that are any expression at all.
        labels: whether outputs have named labels or none, too; else they have ``accept``.

    Returns:
        The model; it is defined at every length at which its ``when`` holds.
    """
    size = letters or (1 if rng.random() < 0.08 else 2 + int(rng.random() < 0.4) + int(rng.random() < 0.1))
    draft, model = started(rng, None, size, 0.25)
    if draft.chance(0.08):
        model |= order_condition(draft, wild)
    for at in range(1 + draft.below(most)):
        add = add_map if draft.chance(0.35) else add_head
        add(draft, f"v{at}", placed, near, wild)
    model["variables"] = draft.variables
    model["output"] = random_output(draft, not labels, 0.2, 0.9)
    return model


def order_condition(draft: Draft, wild: float) -> Model:
    """A ``when`` that holds at some small length."""
    for _ in range(20):
        text = (when_text(draft) if draft.chance(2 * wild) else closed(draft, "n", 5)).text
        if any(naive.evaluate(text, {"n": n}) for n in range(2, 6)):
            return {"when": text}
    return {}


# ---------------------------------------------------------------- parts


def linear(draft: Draft, side: str) -> Phrase:
    """A function of a position (and perhaps of ``n``) that grows evenly: ``2 * j``, ``n - 1 - i``, ``i // 2 + 1``."""
    rng, ranges = draft.rng, draft.ranges(["n", side])
    here, n = named(side, *ranges[side]), named("n", *ranges["n"])
    if draft.chance(0.3):
        return apply(rng, "-", n, here)
    if draft.chance(0.5):
        return here
    kind = draft.pick(("+", "-", "*", "//"))
    return apply(rng, kind, here, constant(1 + draft.below(3)))


def closed(draft: Draft, side: str, cut: int = 4) -> Phrase:
    """A function of the class of a position, of at most ``cut`` values or so; ``side`` is ``i``, ``j`` or ``n``."""
    rng, here = draft.rng, linear(draft, side)
    way, number = draft.below(8), constant(draft.below(cut))
    if way == 0:
        sides = (here, number) if draft.chance(0.5) else (number, here)
        return apply(rng, draft.pick(COMPARISONS), *sides)
    if way == 1:
        period = constant(draft.pick((2, 2, 3, -2)))
        return apply(rng, "%", here, period)
    if way == 2:
        return apply(rng, "min", here, number) if here.low >= 0 else apply(rng, "min", here, constant(1))
    if way == 3:
        return apply(rng, "max", apply(rng, "neg", here), apply(rng, "neg", number))
    if way == 4:
        folded = apply(rng, "abs", apply(rng, "-", here, constant(draft.below(3))))
        return apply(rng, draft.pick(COMPARISONS), folded, number)
    if way == 5:
        return apply(rng, "chain", number, here, constant(draft.below(cut)))
    if way == 6:
        return apply(rng, "isqrt", apply(rng, "min", apply(rng, "abs", here), constant(draft.below(7))))
    some = grown(rng, draft.ranges([side]), 1 + draft.below(2), SLOPES, large=0.0)
    return bounded(rng, some, 2 + draft.below(2))


def window(draft: Draft) -> Phrase:
    """A comparison of ``j - i`` with constants."""
    rng, ranges = draft.rng, draft.ranges(["i", "j"])
    i, j = (named(name, *ranges[name]) for name in "ij")
    one, two = (j, i) if draft.chance(0.5) else (i, j)
    number, sign, way = constant(draft.below(4) - 1), draft.pick(COMPARISONS), draft.below(5)
    if way == 0:
        return apply(rng, sign, one, apply(rng, draft.pick("+-"), two, constant(draft.below(3))))
    if way == 1:
        return apply(rng, sign, apply(rng, "-", one, two), number)
    if way == 2:
        return apply(rng, "chain", constant(-draft.below(3)), apply(rng, "-", one, two), number)
    if way == 3:
        return apply(rng, sign, apply(rng, "abs", apply(rng, "-", one, two)), constant(draft.below(4)))
    if draft.chance(0.3):
        return apply(rng, sign, one, two)
    double = apply(rng, "*", constant(2), one)
    return apply(rng, sign, double, apply(rng, "+", apply(rng, "*", two, constant(2)), number))


def values(draft: Draft, names: Mapping[str, Range], depth: int = 2) -> Phrase:
    """Anything over finite values."""
    return grown(draft.rng, names, draft.below(depth + 1))


def mixed(draft: Draft, one: Phrase, two: Phrase) -> Phrase:
    """One expression of two, by an operator at random; small if both are."""
    rng = draft.rng
    operator = draft.pick(("+", "+", "-", "*", "and", "or", "min", "max", "==", "<", "hash", "if", "if"))
    parts = {"if": (one, two, constant(draft.below(3))), "hash": (one, two, constant(draft.below(1000)))}
    found = applied(rng, operator, parts.get(operator, (one, two)))
    if found is None or (operator == "hash" and draft.chance(0.7)):
        return bounded(rng, found or one, 2 + draft.below(2))
    return found


def moving(draft: Draft, names: Mapping[str, Range]) -> Phrase:
    """An order by ``j``, perhaps only where a condition on values holds, perhaps with a small weight of values."""
    rng, ranges = draft.rng, draft.ranges(["i", "j", "n"])
    i, j, n = (named(name, *ranges[name]) for name in "ijn")
    forms = (j, j, apply(rng, "neg", j), apply(rng, "-", n, j), apply(rng, "-", i, j), apply(rng, "+", j, i))
    by: Phrase = draft.pick((*forms, apply(rng, "*", constant(2), j), apply(rng, "-", j, n)))
    if draft.chance(0.25):
        step = apply(rng, "*", constant(2 + draft.below(2)), by)
        return apply(rng, "+", step, bounded(rng, values(draft, names), 2))
    if draft.chance(0.6):
        other = constant(draft.pick((-1, -1, 0, -2, 1)))
        return apply(rng, "if", *draft.pick(((by, values(draft, names), other), (other, values(draft, names), by))))
    return by


def crossed(draft: Draft, names: Mapping[str, Range]) -> Phrase:
    """A choice between positions, or between a position and a value: ``min(j + 1, n - 1)``, ``max(i - j, q)``."""
    rng = draft.rng

    def side() -> Phrase:
        """One of the two."""
        if draft.chance(0.45):
            return plain(rng, names, ("+", "-")) if draft.chance(0.5) else grown(rng, names, 0)
        return plain(rng, names, SLOPES) if draft.chance(0.3) else grown(rng, names, 0, large=0.0)

    if draft.chance(0.15):
        return apply(rng, "abs", plain(rng, names, ("-", "-", "+")))
    return apply(rng, draft.pick(("min", "max")), side(), side(), *([side()] if draft.chance(0.1) else []))


def anything(draft: Draft, names: Mapping[str, Range], positions: str) -> Phrase:
    """Any small expression over positions and values; half of them are brought into a small range or compared."""
    rng, way = draft.rng, draft.below(10)
    known = {**draft.ranges(list(positions)), **names}
    phrase = grown(rng, known, 2, shallow=0.75) if way > 7 else plain(rng, known) if way > 4 else crossed(draft, known)
    if draft.chance(0.3):
        return apply(rng, draft.pick(COMPARISONS), phrase, constant(draft.below(4)))
    return bounded(rng, phrase, 2 + draft.below(2)) if draft.chance(0.4) else phrase


# ---------------------------------------------------------------- variables


def add_map(draft: Draft, name: str, placed: float, near: float, wild: float) -> None:
    """A map into two to four values (rarely one), of values and classes of ``i`` and ``n``."""
    names = [v for v in draft.domain if v != "position"]
    size = 1 if draft.chance(0.04) else 2 + draft.below(3)
    args = list(dict.fromkeys(draft.recent(names) for _ in range(draft.below(4))))
    if "token" not in args and draft.chance(0.3):
        args = ["token", *args[:2]]
    place = "i" if draft.chance(0.85) else "n"
    if draft.chance(0.3 * placed) or draft.chance(0.5 * wild):
        args.append("position")
        place = "position"
    finite = [a for a in args if a != "position"]
    known = draft.ranges(finite)
    ranges = draft.ranges([*args, "i", "n"])
    rule: Any
    if draft.chance(wild):
        rule = lively(draft, lambda: bounded(draft.rng, anything(draft, draft.ranges(args), "in"), size), ranges, args)
    elif draft.chance(placed) or place == "position":
        rule = lively(
            draft,
            lambda: bounded(draft.rng, mixed(draft, values(draft, known), closed(draft, place)), size),
            ranges,
            [*finite, place],
        )
    elif draft.chance(0.2):
        rule = map_table(draft, args, size, 0.1 * wild)
    else:
        rule = lively(
            draft, lambda: bounded(draft.rng, grown(draft.rng, known, 1 + draft.below(3)), size), ranges, args
        )
    rule = rule.text if isinstance(rule, Phrase) else rule
    whole = over_n(draft, size) if draft.chance(0.1 * wild) else size
    written = whole.text if isinstance(whole, Sized) else whole
    draft.declare({"name": name, "kind": "map", "args": args, "domain": written, "map": rule}, whole, 0)


def add_head(draft: Draft, name: str, placed: float, near: float, wild: float) -> None:
    """A head of which mostly everything is said."""
    names = [v for v in draft.domain if v != "position"]
    query, key, value = (draft.recent(names, 0.4) for _ in range(3))
    if draft.chance(0.05):
        query = "position"
    if draft.chance(0.05):
        key = "position"
    if draft.chance(0.1 * wild):
        value = "position"
    found = order_score(draft, query, key, placed, near, wild)
    head: Model = {"name": name, "kind": "head", "query": query, "key": key, "value": value}
    head["score"] = found.text if isinstance(found, Phrase) else found
    finished(draft, head, draft.pick(MASKS) if draft.chance(0.9) else None, 0.3 * wild)


def order_score(draft: Draft, query: str, key: str, placed: float, near: float, wild: float) -> Phrase | Model:
    """A score: of values, of position classes, of a window, of an order by ``j``, or anything."""
    known = draft.ranges([a for a, v in (("q", query), ("k", key)) if v != "position"], query, key)
    ranges, draw = draft.ranges(list("ijnqk"), query, key), draft.rng.random()

    def make() -> Phrase:
        if draw < wild:
            return anything(draft, draft.ranges(["q", "k"], query, key), "ijn")
        if draw < wild + near:
            return mixed(draft, values(draft, known), window(draft)) if draft.chance(0.7) else window(draft)
        if draw < wild + near + 0.4 * placed:
            return moving(draft, known)
        if draw < wild + near + placed:
            return mixed(draft, values(draft, known), closed(draft, draft.pick("ijjn")))
        return grown(draft.rng, known, draft.below(4))

    if draw >= wild + near + placed and draft.chance(0.2) and fits(draft, query) and fits(draft, key):
        return table_score(draft, query, key, {"q": 0.8, "k": 0.97})
    return lively(draft, make, ranges, "k" if draft.chance(0.4) and key != "position" and draft.most(key) > 1 else "jk")


# ---------------------------------------------------------------- Hahn's form


def random_transformer(
    rng: Generator, layers: int, heads: int, states: int, letters: int = 2, masks: tuple[str, ...] = MASKS
) -> Model:
    """Hahn's form with order-only scores: independent hashed scores and maps, random masks and ties."""
    seed = int(rng.integers(1 << 30))
    variables: list[Model] = []
    below = "token"
    for layer in range(layers):
        names = []
        for h in range(heads):
            names.append(f"a{layer}_{h}")
            head = {"name": names[-1], "kind": "head", "query": below, "key": below, "value": below}
            head |= {"score": f"hash({seed}, {layer}, {h}, q, k)", "mask": str(rng.choice(masks))}
            head |= {"ties": str(rng.choice(["left", "right"]))}
            variables.append(head)
        size = 2 if layer == layers - 1 else states
        args = [below, *names]
        rule = f"hash({seed}, {layer}, 99, {', '.join(args)}) % {size}"
        below = f"y{layer}"
        variables.append({"name": below, "kind": "map", "args": args, "domain": size, "map": rule})
    output = {"variable": below, "position": "last", "accept": [1]}
    return {
        "format": "restrict-model/1", "name": "random", "alphabet": list("abcdefgh"[:letters]),
        "variables": variables, "output": output,
    }  # fmt: skip
