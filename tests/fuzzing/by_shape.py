"""Mutants of any file, made from the shape of its format (:mod:`scripts.shapes`), which has the checker's tables.

A *spot* is a value with its shape, its container and its key there. An operator changes a spot that it applies to.
Those of ``BROKEN`` break the shape, so that the checker must find the file malformed; those of ``CHANGED`` keep it, so
that what the file says may be true or false. A format that gets a table has all of them.
"""

import copy
import inspect
from collections.abc import Callable, Iterator
from functools import cache, partial, wraps
from typing import Any, NamedTuple

from numpy.random import Generator
from shapes import FORMATS, NAMED, Also, Choice, Each, Inside, Keyed, Only, Row, Shape

from restrict.checker import read
from restrict.checker.account import LARGEST, LEAST, Place, Reject
from restrict.checker.formats import symbols
from restrict.checker.read import Maybe
from tests.fuzzing.operators import listed_in, pick

Document = dict[str, Any]
WORDS = ("*", "accept", "reject", "undefined", "last", "0", "1", "x")
PLACE = Place("mutant")


class Spot(NamedTuple):
    """A value with its shape. ``needed``: a key of a table that must be there; ``path``: the keys that lead to it."""

    holder: Any
    key: Any
    shape: Shape
    needed: bool = False
    path: tuple[str, ...] = ()

    @property
    def value(self) -> Any:
        """What stands there now."""
        return self.holder[self.key]

    def put(self, value: Any) -> bool:
        """Put a copy of another value there; whether it is another one."""
        old, self.holder[self.key] = self.value, copy.deepcopy(value)
        return bool(type(old) is not type(value) or old != value)


def opened(shape: Shape, value: Any) -> Shape:
    """The shape with its outer layers taken off: the choice that fits, and what is beside a shape."""
    while isinstance(shape, Maybe | Also | Inside | Choice):
        if isinstance(shape, Choice):
            shape = next((one for one in shape.shapes if fits(one, value)), shape.shapes[0])
        else:
            shape = NAMED[shape.name] if isinstance(shape, Inside) else shape.shape
    return entries(shape) if callable(shape) else shape


@cache
def entries(reader: Any) -> Shape:
    """A reader of lists as a list of what it reads; any other as it is."""
    if reader in (read.strings, symbols):
        return Each(read.text if reader is read.strings else read.symbol)
    bounds = limits(reader)
    return Each(read.integer(*bounds[1:])) if bounds and bounds[0] == "integers" else reader


def limits(shape: Shape) -> tuple[str, int, int] | None:
    """The reader's name and the least and the greatest integer that it takes; None for any other shape."""
    made = getattr(shape, "__qualname__", "").partition(".")[0]
    if made not in ("integer", "integers"):
        return None
    known = inspect.getclosurevars(shape).nonlocals
    return made, known["least"], known["greatest"]


def fits(shape: Shape, value: Any) -> bool:
    """Whether a value is of a shape, by its type, its keys and the keys that have one value."""
    shape = opened(shape, value)
    if isinstance(shape, Only):
        types = shape.schema.get("type", ())
        return "null" in types if value is None else isinstance(value, str) == ("string" in types)
    if isinstance(shape, dict):
        there = isinstance(value, dict) and value.keys() <= shape.keys()
        needed = {key: inner for key, inner in shape.items() if not isinstance(inner, Maybe)}
        return there and all(key in value and fits(inner, value[key]) for key, inner in needed.items())
    if isinstance(shape, Row):
        return isinstance(value, list) and shape.sizes[0] <= len(value) <= shape.sizes[1]
    if isinstance(shape, Each):
        return isinstance(value, list) and all(fits(shape.shape, one) for one in value[:1])
    if isinstance(shape, Keyed):
        return isinstance(value, dict)
    if isinstance(shape, tuple):
        return value in shape
    try:
        shape(value, PLACE)
    except Reject:
        return False
    return True


def spots(shape: Shape, document: Any, parts: tuple[str, ...] = ()) -> list[Spot]:
    """Every value of a document inside its shape, the outermost first, or those in some of its parts. The provenance,
    which says nothing, is left as it is."""
    found: list[Spot] = []
    todo: list[tuple[Shape, Any, tuple[str, ...]]] = [(shape, document, ())]
    while todo:
        shape, value, path = todo.pop()
        for spot in inner(shape, value):
            here = (*path, spot.key) if isinstance(spot.key, str) else path
            if here[-1:] != ("provenance",) and (not parts or here[0] in parts):
                found.append(spot._replace(path=here))
                todo.append((spot.shape, spot.value, here))
    return found


def inner(shape: Shape, value: Any) -> Iterator[Spot]:
    """The spots right inside a value."""
    shape = opened(shape, value)
    if isinstance(shape, dict) and isinstance(value, dict):
        for key in filter(value.__contains__, shape):  # in the order of the table: that of a set is another in each run
            yield Spot(value, key, shape[key], not isinstance(shape[key], Maybe))
    elif isinstance(shape, Keyed) and isinstance(value, dict):
        yield from (Spot(value, key, shape.values) for key in value)
    elif isinstance(shape, Each) and isinstance(value, list):
        yield from (Spot(value, at, shape.shape) for at in range(len(value)))
    elif isinstance(shape, Row) and isinstance(value, list):
        yield from (Spot(value, at, one) for at, one in enumerate(shape.shapes[: len(value)]))


# ---------------------------------------------------------------- operators

Operator = Callable[[Generator, list[Spot], list[Spot]], bool]
"""Changes one of the spots, perhaps to what stands at one of others; False where it does not apply."""
BROKEN: dict[str, Operator] = {}
CHANGED: dict[str, Operator] = {}


def one(rng: Generator, found: list[Spot], apt: Callable[[Spot], Any]) -> Spot | None:
    """A spot that an operator applies to: a path first, so that a long list is chosen no more often than a number."""
    paths: dict[tuple[str, ...], list[Spot]] = {}
    for spot in found:
        if apt(spot):
            paths.setdefault(spot.path, []).append(spot)
    return pick(rng, pick(rng, paths.values())) if paths else None


Change = Callable[[Generator, Spot, list[Spot], list[Spot]], bool]
"""What is done to one spot, beside those of its file and of another one; False where it does not apply."""


def listed(operators: dict[str, Operator], apt: Callable[[Spot], Any]) -> Callable[[Change], None]:
    """A decorator that lists a change of one spot as an operator, which chooses it among those that are apt."""

    def add(change: Change) -> None:
        def operator(rng: Generator, found: list[Spot], others: list[Spot]) -> bool:
            spot = one(rng, found, apt)
            return spot is not None and change(rng, spot, found, others)

        listed_in(operators)(wraps(change)(operator))

    return add


breaks, changes = partial(listed, BROKEN), partial(listed, CHANGED)


def within(shape: Shape) -> Shape:
    """The shape of a key, also where it may be missing."""
    return shape.shape if isinstance(shape, Maybe) else shape


def is_integer(spot: Spot) -> bool:
    """Whether there is an integer."""
    return type(spot.value) is int


def is_words(spot: Spot) -> bool:
    """Whether there is one of a list of words."""
    return type(within(spot.shape)) is tuple and len(within(spot.shape)) > 1


def is_text(spot: Spot) -> bool:
    """Whether there is a string that no list has."""
    return type(spot.value) is str and type(within(spot.shape)) is not tuple


def is_table(spot: Spot) -> bool:
    """Whether there is an object with the keys of a table."""
    return isinstance(opened(spot.shape, spot.value), dict)


def is_list(spot: Spot) -> bool:
    """Whether there is a list of entries of one shape, some of them there."""
    return isinstance(spot.value, list) and bool(spot.value) and isinstance(opened(spot.shape, spot.value), Each)


def has_entries(spot: Spot) -> bool:
    """Whether there is such a list, or an object with any keys."""
    keyed = isinstance(spot.value, dict) and bool(spot.value) and isinstance(opened(spot.shape, spot.value), Keyed)
    return keyed or is_list(spot)


@breaks(lambda spot: spot.needed)
def leave_a_key_out(rng: Generator, spot: Spot, found: list[Spot], others: list[Spot]) -> bool:
    del spot.holder[spot.key]
    return True


@breaks(is_table)
def add_an_unknown_key(rng: Generator, spot: Spot, found: list[Spot], others: list[Spot]) -> bool:
    return bool(spot.value.setdefault("unheard", 0) == 0)


@listed_in(BROKEN)
def write_another_type(rng: Generator, found: list[Spot], others: list[Spot]) -> bool:
    """What no choice of the shape takes."""
    other = pick(rng, (None, True, 0, "", [], {}, [[]], [0], 1.5))
    spot = one(rng, found, lambda spot: type(spot.value) is not type(other) and not anyhow(spot.shape, other))
    return spot is not None and spot.put(other)


def anyhow(shape: Shape, value: Any) -> bool:
    """Whether some choice of a shape may take a value."""
    if isinstance(shape, Maybe | Also | Inside):
        return anyhow(NAMED[shape.name] if isinstance(shape, Inside) else shape.shape, value)
    if isinstance(shape, Choice):
        return any(anyhow(one, value) for one in shape.shapes)
    return (
        shape is read.anything or (isinstance(shape, Only) and type(value) in (str, type(None))) or fits(shape, value)
    )


def beyond(spot: Spot) -> list[int]:
    """The integers next to the range of a spot that its shape does not take."""
    bounds = limits(opened(spot.shape, spot.value)) if is_integer(spot) else None
    ends = (bounds[1] - 1, bounds[2] + 1) if bounds else ()
    return [end for end in ends if LEAST <= end <= LARGEST and not anyhow(spot.shape, end)]


@breaks(beyond)
def go_beyond_the_range(rng: Generator, spot: Spot, found: list[Spot], others: list[Spot]) -> bool:
    """An integer that is one too small, or one too large."""
    return spot.put(pick(rng, beyond(spot)))


@breaks(lambda spot: type(spot.value) is str and not anyhow(spot.shape, "unheard"))
def write_another_word(rng: Generator, spot: Spot, found: list[Spot], others: list[Spot]) -> bool:
    """What is none of the words that a table lists."""
    return spot.put("unheard")


@changes(is_integer)
def change_a_number(rng: Generator, spot: Spot, found: list[Spot], others: list[Spot]) -> bool:
    """Off by one or two, a small one, or another number of the file; inside the range."""
    near = [spot.value + by for by in (-2, -1, -1, 1, 1, 2)]
    listed = [*near, int(rng.integers(4)), pick(rng, [other.value for other in found if is_integer(other)])]
    return spot.put(pick(rng, [number for number in listed if anyhow(spot.shape, number)] or [spot.value]))


@changes(is_words)
def choose_another_word(rng: Generator, spot: Spot, found: list[Spot], others: list[Spot]) -> bool:
    """Of those that a table lists."""
    return spot.put(pick(rng, [word for word in within(spot.shape) if word != spot.value]))


@changes(is_text)
def change_a_text(rng: Generator, spot: Spot, found: list[Spot], others: list[Spot]) -> bool:
    """To another text of this file or of another one, that a reader takes there."""
    texts = [other.value for other in [*found, *others] if type(other.value) is str and type(other.shape) is not tuple]
    return spot.put(pick(rng, [text for text in [*WORDS, *texts] if anyhow(spot.shape, text)] or [spot.value]))


@changes(is_table)
def add_what_may_be_missing(rng: Generator, spot: Spot, found: list[Spot], others: list[Spot]) -> bool:
    """A word that a table lists, a small number, or what this file or another one has of the shape."""
    table = opened(spot.shape, spot.value)
    if not (missing := [key for key, shape in table.items() if isinstance(shape, Maybe) and key not in spot.value]):
        return False
    key = pick(rng, missing)
    shape = within(table[key])
    listed = list(shape) if type(shape) is tuple else [number for number in range(4) if anyhow(shape, number)]
    listed += [other.value for other in [*found, *others] if within(other.shape) is shape]
    if listed and key != "provenance":
        spot.value[key] = copy.deepcopy(pick(rng, listed))
    return bool(listed)


@changes(lambda spot: isinstance(within(spot.shape), Choice))
def write_another_form(rng: Generator, spot: Spot, found: list[Spot], others: list[Spot]) -> bool:
    """Where there is a choice: a number for a word, a word for a number, an empty leaf."""
    forms: list[Any] = ["last", "all", 0, 1, 2, 3, {}]
    fitting = [form for form in forms if anyhow(spot.shape, form)]
    return bool(fitting) and spot.put(pick(rng, fitting))


@changes(has_entries)
def leave_an_entry_out(rng: Generator, spot: Spot, found: list[Spot], others: list[Spot]) -> bool:
    """Of a list, or of an object with any keys."""
    value = spot.value
    value.pop(int(rng.integers(len(value))) if isinstance(value, list) else pick(rng, value))
    return True


@changes(lambda spot: isinstance(spot.shape, Maybe))
def leave_out_what_may_be_missing(rng: Generator, spot: Spot, found: list[Spot], others: list[Spot]) -> bool:
    del spot.holder[spot.key]
    return True


@changes(is_list)
def repeat_an_entry(rng: Generator, spot: Spot, found: list[Spot], others: list[Spot]) -> bool:
    spot.value.insert(int(rng.integers(len(spot.value) + 1)), copy.deepcopy(pick(rng, spot.value)))
    return True


@changes(lambda spot: has_entries(spot) and len(spot.value) > 1)
def exchange_two_entries(rng: Generator, spot: Spot, found: list[Spot], others: list[Spot]) -> bool:
    """Of a list, or of an object with any keys."""
    keys = list(spot.value) if isinstance(spot.value, dict) else range(len(spot.value))
    return exchanged(Spot(spot.value, pick(rng, keys), None), Spot(spot.value, pick(rng, keys), None))


@changes(lambda spot: spot.key != "format")
def exchange_two_values(rng: Generator, spot: Spot, found: list[Spot], others: list[Spot]) -> bool:
    """Of one shape, anywhere in the file; none of them inside the other."""
    alike = [other for other in found if other.shape is spot.shape and other.value is not spot.value]
    return bool(alike) and exchanged(spot, pick(rng, alike))


def exchanged(first: Spot, second: Spot) -> bool:
    """Each gets a copy of what the other has; whether that is a change."""
    a, b = copy.deepcopy(first.value), copy.deepcopy(second.value)
    return bool(first.put(b) and second.put(a))


@changes(lambda spot: spot.key not in ("model", "format"))
def splice(rng: Generator, spot: Spot, found: list[Spot], others: list[Spot]) -> bool:
    """What another file of the format has under the same key."""
    alike = [other for other in others if other.shape is spot.shape and type(other.value) is type(spot.value)]
    return bool(alike) and spot.put(pick(rng, alike).value)


OFTEN = {
    "change a number": 6, "exchange two entries": 3, "leave an entry out": 3, "choose another word": 2,
    "exchange two values": 2,
}  # fmt: skip
"""How often one of ``CHANGED`` is taken, where not once: what is still well-formed tells more of a checker."""


def any_one(rng: Generator, broken: float = 0.06) -> Operator:
    """An operator, seldom one that breaks the shape."""
    if rng.random() < broken:
        return BROKEN[str(pick(rng, BROKEN))]
    return CHANGED[str(pick(rng, [name for name in CHANGED for _ in range(OFTEN.get(name, 1))]))]


def changed(
    rng: Generator, operator: Operator, document: Document, other: Document, parts: tuple[str, ...] = ()
) -> bool:
    """Change a document of a known format in place, or some parts of it, by an operator and another file of the
    format; False where it does not apply, or the document has been broken before."""
    shape = FORMATS.get(str(document.get("format")))
    theirs = spots(shape, other, parts) if other.get("format") == document.get("format") else []
    return shape is not None and operator(rng, spots(shape, document, parts), theirs)
