"""What stands in the files of every format, complete: the checker's tables, and what they leave to be read later.

The checker reads a file by tables of keys and shapes (``restrict/checker/read.py``). Where the shape of a value depends
on what stands elsewhere, its table says ``anything``, ``listing`` or ``thing``; here such an entry has a shape, too,
and everything else is the checker's own. ``scripts/make_schemas.py`` writes the JSON Schemas from these shapes, and
``tests/fuzzing/changes_by_shape.py`` makes mutants from them. A key that a table gets is here at once; one that is
filled in here (:func:`filled`) must be a key of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any, NamedTuple

from restrict.checker import all_lengths, claims, formats, labelling, lower_bound, refutation, rules, soft, soft_model
from restrict.checker import tensors as stored
from restrict.checker.account import LARGEST, LEAST
from restrict.checker.formats import MAX_N, name, symbols
from restrict.checker.lengths import SET
from restrict.checker.read import Maybe, digest, integer, integers, matching, string, strings, symbol, text
from restrict.checker.soft_model import MANY, token
from restrict.checker.soft_terms import CHARACTERS, quotient
from restrict.elaboration import hints

from restrict.checker import verdict, verdict_every, verdict_model, verdict_paths, verdict_second  # isort: skip

Shape = Any
"""A table, a tuple of the values allowed, a reader of the checker, or one of the following."""


class Each(NamedTuple):
    """A list of entries of one shape."""

    shape: Shape
    least: int = 0
    most: int | None = None
    unique: bool = False


class Row(NamedTuple):
    """A list with one entry of each of these shapes; those behind the first ``least`` may be left out at the end."""

    shapes: tuple[Shape, ...]
    least: int | None = None

    @property
    def sizes(self) -> tuple[int, int]:
        """The fewest and the most entries."""
        return len(self.shapes) if self.least is None else self.least, len(self.shapes)


class Choice(NamedTuple):
    """One of these shapes; a table is told from another one by its keys, and by a key with one value."""

    shapes: tuple[Shape, ...]


class Keyed(NamedTuple):
    """An object with any keys of a shape."""

    names: Shape
    values: Shape
    least: int = 0


class Inside(NamedTuple):
    """The shape of this name, inside itself."""

    name: str


class Also(NamedTuple):
    """A shape, and what JSON Schema says beyond it."""

    shape: Shape
    schema: dict[str, Any]


class Only(NamedTuple):
    """What JSON Schema alone says; no table has it."""

    schema: dict[str, Any]


def filled(table: dict[str, Shape], /, **inner: Shape) -> dict[str, Shape]:
    """The table with shapes where it leaves them open. The format chooses the table, so it is there."""
    assert inner.keys() <= table.keys(), sorted(inner.keys() - table.keys())
    given = {
        key: Maybe(inner[key]) if key != "format" and isinstance(table[key], Maybe) else inner[key] for key in inner
    }
    return {**table, **given}


def without(table: dict[str, Shape], *keys: str) -> dict[str, Shape]:
    """The table without some of its keys."""
    assert set(keys) <= table.keys()
    return {key: shape for key, shape in table.items() if key not in keys}


def known(table: dict[str, Shape], /, **values: str) -> dict[str, Shape]:
    """The table where these keys have these values."""
    return filled(table, **{key: (value,) for key, value in values.items()})


# ---------------------------------------------------------------- what many formats have

JSON = Choice(
    (
        Only({"type": ["null", "boolean", "string"]}),
        integer(LEAST, LARGEST),
        Each(Inside("json")),
        Keyed(string, Inside("json")),
    )
)
PROVENANCE = Keyed(string, JSON)
POSITION, COUNT, INDEX = integer(0, MAX_N - 1), integer(1, MAX_N), integer(0, LARGEST)
RUNS = Each(Row((POSITION, COUNT)))
SOME_RUNS = Each(Row((POSITION, COUNT)), least=1)
WORD = Each(Row((POSITION, COUNT, symbol)))
NO_FILE = {"name": formats.MODEL["name"], "sha256": Choice((digest, Only({"type": "null"})))}
"""A model that has no file has no digest; the package writes such files, and the checker refuses them."""

# ---------------------------------------------------------------- a model

WORDS = ("and", "or", "not", "if", "else", *rules.FUNCTIONS)
VARIABLE = Also(name, {"not": {"enum": sorted({"token", "position"} | rules.RESERVED)}})
REFERENCE = Also(name, {"not": {"enum": sorted(rules.RESERVED)}})
STRANGE = {"pattern": r"[^ \t\n0-9A-Za-z_+\-*/%=!<>(),]"}


def expression(*names: str) -> Only:
    """An expression over these names; over any, where none are given."""
    listed = "|".join([*names, *WORDS])
    other = {"pattern": rf"(^|[^A-Za-z0-9_])(?!({listed})(?![A-Za-z0-9_]))[A-Za-z_]"}
    unlike = {"anyOf": [STRANGE, other] if names else [STRANGE]}
    return Only({"type": "string", "minLength": 1, "maxLength": rules.EXPRESSION_CHARACTERS, "not": unlike})


def nested(rank: int) -> Shape:
    """Integers in lists nested so deep, none of them empty."""
    return Each(nested(rank - 1), least=1) if rank else integer(LEAST, LARGEST)


RANKS = {rank: nested(rank) for rank in range(5)}
NUMBER = integer(LEAST, LARGEST)
DEEP = Choice((NUMBER, Each(NUMBER, 1), Each(Also(Inside("deep"), {"type": "array"}), 1)))
FILE = Only({"type": "string", "minLength": 1, "not": {"anyOf": [{"pattern": r"[/\\\u0000]"}, {"enum": [".", ".."]}]}})


def tensor(axes: Callable[[int], Shape]) -> Choice:
    """A tensor with axes of a shape that depends on their number, inline or in a file."""
    inline = [without(stored.INLINE, "values") | {"axes": axes(rank), "values": deep} for rank, deep in RANKS.items()]
    inline.append(without(stored.INLINE, "values") | {"axes": axes(-1), "values": DEEP})
    there = filled(stored.STORED, axes=axes(-2), file=FILE)
    return Choice((*(table for table in inline if table["axes"] is not None), there))


def among(shape: Shape) -> Callable[[int], Shape]:
    """Axes of a shape, none twice: of some rank, of more than four (-1), or of any (-2)."""

    def axes(rank: int) -> Shape:
        least, most = {-1: (5, None), -2: (0, None)}.get(rank, (rank, rank))
        return Each(shape, least, most, unique=True)

    return axes


def vectors(*names: str) -> Callable[[int], Shape]:
    """Any of these axes, then ``dim``."""
    orders = [[*some, "dim"] for count in range(len(names) + 1) for some in permutations(names, count)]

    def axes(rank: int) -> Shape:
        listed = [order for order in orders if rank in (len(order), -2)]
        return Only({"enum": listed}) if listed else None

    return axes


def mentions(letter: str, role: str) -> dict[str, Any]:
    """A score that mentions a letter needs the variable of that role."""
    listed = {"properties": {"axes": {"contains": {"const": letter}}}, "required": ["axes"]}
    spoken = {"type": "string", "pattern": f"(^|[^A-Za-z0-9_]){letter}($|[^A-Za-z0-9_])"}
    table = {"type": "object", "required": ["table"], "properties": {"table": listed}}
    dot = {
        "type": "object",
        "required": ["dot"],
        "properties": {"dot": {"required": [role], "properties": {role: listed}}},
    }
    score = {"anyOf": [spoken, table, dot]}
    return {"if": {"required": ["score"], "properties": {"score": score}}, "then": {"required": [role]}}


LENGTH = expression("n")
DOMAIN = Choice((integer(1, LARGEST), LENGTH))
AXES = ("q", "k", "i", "j")
SCORE_TABLE = filled(rules.TABLE, table=tensor(among(AXES)))
DOT = filled(rules.DOT, dot=filled(rules.DOT["dot"], query=tensor(vectors("q", "i")), key=tensor(vectors("k", "j"))))
MAP = filled(
    formats.MAP | {"kind": ("map",)},
    args=Each(REFERENCE, unique=True),
    name=VARIABLE,
    domain=DOMAIN,
    map=Choice((expression(), filled(rules.TABLE, table=tensor(among(Choice((("i",), REFERENCE))))))),
)
HEAD = filled(
    known(formats.HEAD, kind="head"),
    **dict.fromkeys(("value", "query", "key"), REFERENCE),
    name=VARIABLE,
    domain=DOMAIN,
    score=Choice((expression("n", *AXES), SCORE_TABLE, DOT)),
)
ACCEPT: Any = formats.OUTPUT["accept"]
OUTPUT = filled(
    formats.OUTPUT,
    variable=REFERENCE,
    accept=Also(ACCEPT.shape, {"uniqueItems": True}),
    labels=Each(text, least=1),
)
MODEL = filled(
    formats.MODEL,
    when=LENGTH,
    files=Keyed(FILE, digest),
    variables=Each(
        Choice((MAP, Also(HEAD, {"allOf": [mentions("q", "query"), mentions("k", "key")]}))), most=formats.VARIABLES
    ),
    output=Also(OUTPUT, {"not": {"required": ["accept", "labels"]}}),
)

# ---------------------------------------------------------------- proofs about one length

CONE = Choice((("all",), Keyed(VARIABLE, SOME_RUNS)))
CASE = Choice(
    (filled(hints.LEAF, cone=CONE), filled(hints.CASE, position=POSITION, children=Each(Inside("case"), least=1)))
)
SPLIT = Each(POSITION, most=hints.SPLIT, unique=True)
VALUES = Also(formats.CLAIM["values"], {"minItems": 1, "uniqueItems": True})
ONE = filled(
    formats.CERTIFICATE,
    target=Choice((("last",), POSITION)),
    fixed=WORD,
    cone=CONE,
    claim=filled(formats.CLAIM, dependencies=RUNS, values=VALUES),
    split=SPLIT,
    cases=CASE,
    provenance=PROVENANCE,
)
ALL = without(filled(ONE, target=("all",), claim=formats.CLAIM_ALL, split=Each(POSITION, most=0)), "cases")
CERTIFICATE = Choice((filled(ONE, model=NO_FILE), filled(ALL, model=NO_FILE)))


def language(kinds: tuple[str, ...], least: int, most: int | None = None) -> dict[str, Shape]:
    """The built-in languages of these names, over so many symbols; ``dyck`` may have a depth."""
    found = filled(refutation.LANGUAGE, name=kinds, alphabet=Each(symbol, least, most, unique=True))
    return found if "dyck" in kinds else without(found, "depth")


DFA = filled(refutation.DFA, transitions=Each(Each(INDEX, least=1), least=1))
LANGUAGES = (
    language(("parity", "majority", "anbn"), 2, 2), language(("palindromes",), 1), language(("shuffle-dyck",), 2),
    language(("dyck",), 2), DFA,
)  # fmt: skip
REFUTATION = filled(
    refutation.REFUTATION,
    format=("restrict-refutation/1",),
    certificate=filled(ONE, model=NO_FILE),
    language=Choice((*LANGUAGES, {"unchecked": string})),
    member=WORD,
    nonmember=WORD,
    errors=matching("[1-9a-f][0-9a-f]*", "hex digits"),
    provenance=PROVENANCE,
)
ALLOWED = Each(Row((POSITION, COUNT, Each(symbol, least=1, unique=True))))
BOX = filled(hints.BOX, only=ALLOWED, never=ALLOWED, cone=Keyed(VARIABLE, SOME_RUNS))
LABELS: Any = lower_bound.BOUND["claim"]
NUMBERED = filled(LABELS, labels=Keyed(string, integer(1, MAX_N + 1)))
BOUND = filled(
    lower_bound.BOUND,
    format=("restrict-lower-bound/1",),
    model=NO_FILE,
    target=Choice((("last",), POSITION)),
    boxes=Each(BOX),
    claim=Also(NUMBERED, {"anyOf": [{"required": ["others"]}, {"properties": {"labels": {"minProperties": 1}}}]}),
    provenance=PROVENANCE,
)

# ---------------------------------------------------------------- proofs about every length

STATES, ENTRIES = integers(0, LARGEST), integers(-1, LARGEST)
ROWS, TABLE = Each(ENTRIES), Each(Each(ENTRIES))
SIDE = filled(all_lengths.SIDE, base=STATES, delta=ROWS, merge=STATES, next=ROWS)
BOXED = filled(all_lengths.HEAD, queries=STATES, pairs=STATES, boxes=TABLE, left=ROWS, right=ROWS)
LAYER = filled(
    all_lengths.LAYER, heads=Each(BOXED), left=SIDE, right=SIDE, keep=strings, labels=Each(STATES), table=TABLE
)
MACHINE = Choice(
    (
        filled(labelling.AUTOMATON, transitions=Each(STATES, least=1), output=STATES),
        filled(labelling.BIMACHINE, left=Each(ENTRIES, least=1), right=Each(ENTRIES, least=1), table=TABLE),
    )
)
LENGTHS = filled(SET, cycle=Also(SET["cycle"], {"minItems": 1}))
FILLED: dict[str, Shape] = {
    "language": Choice(LANGUAGES), "machine": MACHINE, "middle": Each(text, least=1),
    "costs": Also(claims.COST["costs"], {"minItems": 1}), "growth": Also(claims.COST["growth"], {"minItems": 1}),
    "least": LENGTHS, "most": LENGTHS,
}  # fmt: skip


def claim(kind: str) -> dict[str, Shape]:
    """A claim about every length."""
    table = claims.CLAIMS[kind]
    return {"kind": (kind,), **filled(table, **{key: FILLED[key] for key in table if key in FILLED})}


PROOF = filled(
    all_lengths.PROOF,
    format=("restrict-automaton/1",),
    layers=Each(LAYER, least=1),
    claim=Choice(tuple(claim(kind) for kind in claims.CLAIMS)),
    provenance=PROVENANCE,
)

# ---------------------------------------------------------------- softmax models and their certificates

TERM = Only({"type": "string", "minLength": 1, "maxLength": CHARACTERS})
SOFT_HEAD = filled(soft_model.HEAD, scale=TERM)
SOFT_LAYER = filled(soft_model.LAYER, heads=Each(SOFT_HEAD, most=MANY), eps=TERM)
NORMED = {
    "if": {"required": ["norm"], "properties": {"norm": {"enum": ["pre", "post"]}}},
    "then": {"required": ["eps"]},
    "else": {"not": {"required": ["eps"]}},
}
WITH_TERMS = {
    "if": {"properties": {"kind": {"const": "terms"}}},
    "then": {"required": ["terms"]},
    "else": {"not": {"required": ["terms"]}},
}
SOFT_MODEL = filled(
    soft_model.MODEL,
    alphabet=Each(token, least=1, unique=True),
    position=Also(filled(soft_model.POSITION, terms=Each(TERM)), WITH_TERMS),
    layers=Each(Also(SOFT_LAYER, NORMED), most=MANY),
    final_norm={"eps": TERM},
    output=filled(soft_model.OUTPUT, labels=Each(string, least=1, unique=True)),
)
SOFT_CERTIFICATE = filled(
    soft.CERTIFICATE,
    format=("restrict-soft-certificate/1",),
    fixed=Each(Row((integer(0, soft_model.MAX_N - 1), token))),
    norms=Keyed(string, quotient),
    provenance=PROVENANCE,
)

# ---------------------------------------------------------------- verdicts on trained models

HINTS, KEY, PIECES, TURN = verdict.hint, (integer(-1, 1 << 20),) * 3, integer(0, verdict.PIECES), verdict_second.turning
DIRECTIONS = filled(verdict.BASIS, rows=Each(HINTS))
BASES = Each(DIRECTIONS, least=1)
TREE = Choice((PIECES, Row((HINTS,)), Row((PIECES, Each(HINTS))), Row((INDEX, Inside("tree"), Inside("tree")))))
HINTED = (*KEY, HINTS, HINTS, TREE, integer(0, verdict.TURNS - 1))
"""A case, as far as both formats have the same: its tree, and which bases it has."""
LEAF = Choice((Row((HINTS, HINTS, TREE), least=2), Row((HINTS, HINTS, TREE, INDEX, HINTS, HINTS))))
CASES = Each(Choice((Row(KEY), Row((*HINTED, Each(HINTS)), least=5))))
LAYERED = Each(Choice((Row(KEY), Row((*HINTED, INDEX, Each(LEAF, least=1))))))
DELTA = Each(integers(-1, verdict_paths.STATES - 1), 1, verdict_paths.STATES)
GRAPH = filled(verdict_paths.GRAPH, delta=DELTA, want=Each(integers(0, verdict_model.SIZE - 1), least=1))
MEMORY = Choice((filled(verdict_paths.MEMORY, delta=DELTA), (None,)))
TURNS = Each(Row((Choice((Each(TURN), (None,))),) * 2), least=1)
FIXED = Each(Row((integer(1, verdict.MAX_N), integer(0, verdict_model.SIZE - 1))))
PHI = Each(Each(verdict_every.numbers))
BLOCKS = Each(Row((integer(verdict_every.ALL, verdict_every.LONGEST),) * 2))
READ_AS, OF_LAYERS = (
    filled(table, alphabet=Each(string, least=1, unique=True)) for table in (verdict_model.MODEL, verdict_second.LAYERS)
)
UNREAD = Only({"type": "array"})


def decided(table: dict[str, Shape], model: Shape, cases: Shape, **more: Shape) -> dict[str, Shape]:
    """A certificate with cases."""
    said = {"model": model, "language": GRAPH, "memory": MEMORY, "wrong": verdict.WRONG, "provenance": PROVENANCE}
    return filled(table, **said, basis=BASES, turned=Each(BASES, most=verdict.TURNS - 1), cases=cases, **more)


def verdict_of(table: dict[str, Shape], model: Shape, cases: Shape, **more: Shape) -> Choice:
    """A verdict up to a length: with cases, or on a wrong word alone, where the checker reads no list of hints."""
    whole = decided(table, model, cases, **more)
    lists = {key: UNREAD for key in ("basis", "turned", "cases", "second", "turn") if key in table}
    alone = {key: shape for key, shape in filled(whole, **lists).items() if key != "fixed"}
    return Choice((alone | {"upto": (-1,), "wrong": verdict.WRONG}, whole))


FORMATS: dict[str, Shape] = {
    "restrict-model/1": MODEL, "restrict-certificate/1": CERTIFICATE, "restrict-refutation/1": REFUTATION,
    "restrict-lower-bound/1": BOUND, "restrict-automaton/1": PROOF, "restrict-soft/1": SOFT_MODEL,
    "restrict-soft-certificate/1": SOFT_CERTIFICATE,
    "restrict-soft-verdict/1": verdict_of(verdict.VERDICT, READ_AS, CASES, fixed=FIXED),
    "restrict-soft-verdict/2": verdict_of(verdict_second.SECOND, OF_LAYERS, LAYERED, second=Each(BASES), turn=TURNS),
    "restrict-soft-every-length/1": decided(verdict_every.EVERY, READ_AS, CASES, blocks=BLOCKS, phi=PHI),
}  # fmt: skip
NAMED: dict[str, Shape] = {
    "json": JSON, "position": POSITION, "count": COUNT, "index": INDEX, "runs": RUNS, "some_runs": SOME_RUNS,
    "word": WORD, "symbol": symbol, "symbols": symbols, "sha256": digest, "variable": VARIABLE,
    "reference": REFERENCE, "length_expression": LENGTH, "domain": DOMAIN, "deep": DEEP, "map": MAP, "head": HEAD,
    "cone": CONE, "case": CASE, "boxes": ALLOWED, "states": STATES, "entries": ENTRIES, "rows": ROWS, "table": TABLE,
    "side": SIDE, "layer": LAYER, "lengths": LENGTHS, "machine": MACHINE, "automaton": DFA, "from": claims.FROM,
    "term": TERM, "soft_head": SOFT_HEAD, "soft_layer": SOFT_LAYER, "language": FILLED["language"],
    "hints": HINTS, "directions": DIRECTIONS, "bases": BASES, "tree": TREE, "leaf": LEAF, "delta": DELTA,
    "graph": GRAPH, "memory": MEMORY, "read_as": READ_AS, "of_layers": OF_LAYERS, "wrong": verdict.WRONG,
    **{f"rank_{rank}": shape for rank, shape in RANKS.items()},
}  # fmt: skip
"""What a schema names, and then refers to."""
