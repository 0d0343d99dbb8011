"""Mutants of (model, certificate) pairs, and whether what they claim is true.

A mutant is a pair of JSON documents whose certificate may well be wrong. The trusted checker has to refuse it, or its
claim has to be true of the mutated model, which is decided on all consistent inputs: over a product of alphabets, a
label is a function of a set of positions exactly when the set holds every position that makes a difference. The judge
is that of the fuzzer.
"""

import copy
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from restrict.abstract.run import abstract_run
from restrict.base.strictjson import Node
from restrict.certificate.cases import read_cases
from restrict.certificate.certificate import certificate_of
from restrict.checker import formats
from restrict.model.fileformat import loads
from restrict.model.program import Instance
from restrict.model.restriction import Restriction
from restrict.model.task import Target
from tests import generator, naive
from tests import trusted as check
from tests.fuzzing import by_shape
from tests.fuzzing.at_one_length import judged, true_certificate
from tests.fuzzing.kinds import Trial
from tests.fuzzing.operators import listed_in, pick

Document = dict[str, Any]
MOST_INPUTS = 20_000
"""A mutant with more consistent inputs is not made."""
LONGEST, LONGEST_RUN = generator.LONGEST, 1 << 16


@dataclass(frozen=True)
class Pair:
    """A model document and a certificate document, with their bytes."""

    model: Document
    certificate: Document

    @property
    def bytes(self) -> tuple[bytes, bytes]:
        """What the checker reads."""
        return encode(self.model), encode(self.certificate)


def encode(document: Document) -> bytes:
    """The bytes of a document, the same for the same document."""
    return json.dumps(document).encode()


def sealed(model: Document, certificate: Document) -> Pair:
    """The pair with the model's name and digest in the certificate."""
    bound = {"name": model.get("name", ""), "sha256": hashlib.sha256(encode(model)).hexdigest()}
    return Pair(model, {**certificate, "model": bound})


# ---------------------------------------------------------------- originals


def original(rng: Generator, most_inputs: int = 64) -> Pair:
    """A pair that the checker accepts: a random program and what follows at a random target; few claim nothing."""
    while True:
        model = generator.random_program(rng, None, 7)
        n, every = generator.random_length(rng, model), model["output"]["position"] == "every"
        single = ("certificate", "certificate", "certificate", "split", "cases")
        kind = "all" if every and rng.random() < 0.25 else pick(rng, single)
        certificate = certified(rng, model, n, kind, most_inputs)
        if certificate is not None:
            pair = sealed(model, certificate)
            if inputs(pair) <= MOST_INPUTS and (rng.random() < 0.05 or telling(pair)):
                return pair


def certified(rng: Generator, model: Document, n: int, kind: str, most_inputs: int) -> Document | None:
    """A certificate of a kind. Three in four about one position have a minimal restriction that forces the label, the
    others any one; ``None`` where nothing is free to be split."""
    at = loads(encode(model)).at(n)
    fixed = generator.random_restriction(rng, model, n, most_inputs)
    cone = positions_of_cone(generator.random_cone(rng, model, n))
    target: Target = "all" if kind == "all" else "last"
    if kind != "all" and model["output"]["position"] == "every" and rng.random() < 0.6:
        target = int(rng.integers(n))
    if kind != "all" and rng.random() < 0.75:
        fixed, cone = forcing(rng, at, target), "all"
    free = [i for i in range(n) if i not in fixed and i not in at.pinned]
    split: tuple[int, ...] = ()
    cases = None
    if kind in ("split", "cases") and not free:
        return None
    if kind == "split":
        split = tuple(sorted(int(i) for i in rng.permutation(free)[: 1 + int(rng.integers(2))]))
    if kind == "cases":
        cones, tree = [generator.random_cone(rng, model, n), "all"], Document()
        while "position" not in tree:
            tree = random_cases(rng, free, cones, len(model["alphabet"]), 2)
        cases = read_cases(Node(tree, "cases"), n, cone)
    made = certificate_of(at, Restriction.of(at, fixed), cone, target, split=split, cases=cases)
    document: Document = json.loads(made.to_bytes())
    return document


def random_cases(rng: Generator, free: list[int], cones: list[Any], symbols: int, depth: int) -> Document:
    """A random tree of cases over free positions; a third of the leaves have a cone of their own."""
    if not free or depth == 0 or rng.random() < 0.2:
        return {"cone": pick(rng, cones)} if rng.random() < 0.35 else {}
    at = pick(rng, free)
    rest = [p for p in free if p != at]
    return {"position": at, "children": [random_cases(rng, rest, cones, symbols, depth - 1) for _ in range(symbols)]}


def forcing(rng: Generator, at: Instance, target: Target) -> dict[int, str]:
    """A random input with positions freed, in random order, as long as the abstract run still gives one label.

    The search would find better ones, but its budget is for large programs, and its answers change as it is improved.
    """
    where = at.n - 1 if target == "last" else int(target)
    order = [int(index) for index in rng.permutation([i for i in range(at.n) if i not in at.pinned])]
    fixed = {i: str(pick(rng, at.model.alphabet)) for i in sorted(order)}
    for i in order:
        fewer = {p: symbol for p, symbol in fixed.items() if p != i}
        if not abstract_run(at, Restriction.of(at, fewer), "all").label_depends(where):
            fixed = fewer
    return fixed


def telling(pair: Pair) -> bool:
    """Whether the claim says something about a listed variable, with something fixed or examined, and free inputs."""
    claim = pair.certificate["claim"]
    output = pair.model["output"]["variable"]
    if output in ("token", "position") or not claim["free"] or not pair.certificate["fixed"]:
        return False
    size = naive.at(pair.model, pair.certificate["n"]).domain[output]
    return size > 1 and (claim["c"] < claim["free"] or len(claim.get("values", range(size))) < size)


def positions_of_cone(cone: str | dict[str, list[list[int]]]) -> Any:
    """A cone by positions instead of run lists."""
    return cone if isinstance(cone, str) else {name: tuple(spread(runs)) for name, runs in cone.items()}


def spread(runs: list[list[Any]]) -> list[int]:
    """The positions of a run list. A run longer than any input of the tests is not spelt out: the mutant's is wrong."""
    if any(not 0 <= count <= LONGEST_RUN for _, count, *_ in runs):
        raise ValueError("a run is longer than the longest input")
    return [p for start, count, *_ in runs for p in range(start, start + count)]


def joined(positions: list[int]) -> list[list[int]]:
    """A run list of single positions."""
    return [[p, 1] for p in sorted(positions)]


# ---------------------------------------------------------------- operators on the certificate

Operator = Callable[[Generator, Pair, Pair], "Pair | None"]
OPERATORS: dict[str, Operator] = {}
WEIGHTS = {
    "free a fixed position": 2, "move a fixed position": 4, "claim fewer dependencies": 2, "drop a cone node": 4,
    "shift positions": 2, "change n": 3, "change the cases": 8, "change the ties or the mask": 10,
    "swap the score": 6, "swap a role": 8, "change a map": 6, "combine two": 2, "change entries of a table": 9,
    "change the labels": 6, "change the restriction": 8, "change the claim": 6, "change the hints": 3,
    "change the variables": 6, "change the output": 2,
}  # fmt: skip
"""How often in a round an operator is used, where not once: claims of its mutants are often still true."""


operator = listed_in(OPERATORS)
"""Lists an operator under its name. It returns None where it does not apply."""


def singles(certificate: Document) -> dict[int, str]:
    """The fixed positions."""
    return {p: symbol for *run, symbol in certificate["fixed"] for p in spread([run])}


def with_fixed(pair: Pair, fixed: dict[int, str], **claim: Any) -> Pair:
    """The pair with other fixed positions, one run each."""
    runs = [[p, 1, symbol] for p, symbol in sorted(fixed.items())]
    return with_claim(Pair(pair.model, {**pair.certificate, "fixed": runs}), **claim)


def with_claim(pair: Pair, **claim: Any) -> Pair:
    """The pair with another claim."""
    return Pair(pair.model, {**pair.certificate, "claim": {**pair.certificate["claim"], **claim}})


def depends(pair: Pair) -> list[int]:
    """The claimed dependencies, none for the target all."""
    return spread(pair.certificate["claim"].get("dependencies", []))


@operator
def free_a_fixed_position(rng: Generator, pair: Pair, other: Pair) -> Pair | None:
    """With the number of free positions put right, except one time in five; the new one is sometimes a dependency."""
    fixed, claim = singles(pair.certificate), pair.certificate["claim"]
    if not fixed:
        return None
    freed = pick(rng, fixed)
    del fixed[freed]
    changed: Document = {"free": claim["free"] + (rng.random() < 0.8)}
    if "dependencies" in claim and rng.random() < 0.2:
        more = [*depends(pair), freed]
        changed |= {"dependencies": joined(more), "c": len(more)}
    return with_fixed(pair, fixed, **changed)


@operator
def move_a_fixed_position(rng: Generator, pair: Pair, other: Pair) -> Pair | None:
    """To a free position; a dependency there moves the other way."""
    fixed, n = singles(pair.certificate), pair.certificate["n"]
    free = naive.free_positions(pair.model, n, fixed)
    if not fixed or not free:
        return None
    source, goal = pick(rng, fixed), pick(rng, free)
    fixed[goal] = fixed.pop(source)
    claimed = depends(pair)
    if goal not in claimed:
        return with_fixed(pair, fixed)
    return with_fixed(pair, fixed, dependencies=joined([p for p in claimed if p != goal] + [source]))


@operator
def claim_fewer_dependencies(rng: Generator, pair: Pair, other: Pair) -> Pair | None:
    """One less or many less, with ``c`` put right; for all positions the number alone."""
    claim = pair.certificate["claim"]
    if not claim["c"]:
        return None
    smaller = int(rng.integers(claim["c"])) if rng.random() < 0.5 else claim["c"] - 1
    if "dependencies" not in claim:
        return with_claim(pair, c=smaller)
    kept = [depends(pair)[int(index)] for index in rng.permutation(claim["c"])[:smaller]]
    return with_claim(pair, dependencies=joined(kept), c=smaller)


@operator
def shift_positions(rng: Generator, pair: Pair, other: Pair) -> Pair | None:
    """The fixed positions, the cone or the dependencies, or all of them, by one; what leaves the input is lost."""
    n, by = pair.certificate["n"], pick(rng, (-1, 1))
    part = pick(rng, ("fixed", "cone", "dependencies", "everything", "everything"))
    document = copy.deepcopy(pair.certificate)

    def moved(runs: list[list[Any]]) -> list[list[Any]]:
        single = [[p, 1, *rest] for start, count, *rest in runs for p in range(start, start + count)]
        return [[p + by, *rest] for p, *rest in single if 0 <= p + by < n]

    pinned = naive.marked(pair.model, n)
    if part in ("fixed", "everything"):
        document["fixed"] = [run for run in moved(document["fixed"]) if run[0] not in pinned]
    if part in ("cone", "everything") and isinstance(document["cone"], dict):
        cone = {name: moved(runs) for name, runs in document["cone"].items()}
        document["cone"] = {name: runs for name, runs in cone.items() if runs}
    free = set(naive.free_positions(pair.model, n, singles(document)))
    if part in ("dependencies", "everything") and "dependencies" in document["claim"]:
        kept = [p + by for p in depends(pair) if p + by in free]
        document["claim"] |= {"dependencies": joined(kept), "c": len(kept)}
    document["claim"]["free"] = len(free)
    return Pair(pair.model, document)


@operator
def change_n(rng: Generator, pair: Pair, other: Pair) -> Pair | None:
    """Mostly with what lies beyond the new end cut off, and the number of free positions put right."""
    certificate, n = pair.certificate, pair.certificate["n"]
    m = n + int(pick(rng, (-2, -1, -1, 1, 1, 2)))
    if not generator.shortest(pair.model) <= m <= LONGEST:
        return None
    if rng.random() < 0.1:
        return Pair(pair.model, {**certificate, "n": m})
    target = certificate["target"]
    if isinstance(target, int) and target >= m:
        target = m - 1
    pinned = naive.marked(pair.model, m)
    fixed = {p: symbol for p, symbol in singles(certificate).items() if p < m and p not in pinned}
    free = set(naive.free_positions(pair.model, m, fixed))
    cone = certificate["cone"]
    if isinstance(cone, dict):
        cone = {name: joined([p for p in spread(runs) if p < m]) for name, runs in cone.items()}
        cone = {name: runs for name, runs in cone.items() if runs}
    # A c beyond m does not make the claim false, but load_certificate would refuse it.
    claim: Document = {"free": len(free), "c": min(certificate["claim"]["c"], m)}
    if "dependencies" in certificate["claim"]:
        kept = [p for p in depends(pair) if p in free]
        claim |= {"dependencies": joined(kept), "c": len(kept)}
    changed = {**certificate, "n": m, "target": target, "cone": cone}
    return with_fixed(Pair(pair.model, changed), fixed, **claim)


@operator
def drop_a_cone_node(rng: Generator, pair: Pair, other: Pair) -> Pair | None:
    """Or, one time in four, all nodes of a variable; late variables more often, as the output depends on them."""
    names = [v["name"] for v in pair.model["variables"]]
    listed, n = pair.certificate["cone"], pair.certificate["n"]
    cone = {name: list(range(n)) if listed == "all" else spread(listed.get(name, [])) for name in names}
    cone = {name: positions for name, positions in cone.items() if positions}
    if not cone:
        return None
    name = pick(rng, list(cone)[-2:])
    last = n - 1 if pair.certificate["target"] in ("last", "all") else pair.certificate["target"]
    cone[name].remove(last if last in cone[name] and rng.random() < 0.5 else pick(rng, cone[name]))
    if not cone[name] or rng.random() < 0.25:
        del cone[name]
    return Pair(pair.model, {**pair.certificate, "cone": {name: joined(cone[name]) for name in cone}})


@operator
def change_the_cases(rng: Generator, pair: Pair, other: Pair) -> Pair | None:
    """A node becomes a leaf, a leaf loses or gets a cone, another position is asked, or two children change places."""
    if not (tree := copy.deepcopy(pair.certificate.get("cases"))):
        return None
    nodes = [tree]
    for node in nodes:
        nodes += node.get("children", [])
    node, turn = pick(rng, nodes), rng.random()
    if "position" not in node:
        node.clear()
        node.update({"cone": {}} if turn < 0.7 else {})
    elif turn < 0.4:
        node.clear()
        node.update({"cone": {}} if turn < 0.2 else {})
    elif turn < 0.7:
        node["position"] = int(rng.integers(pair.certificate["n"]))
    else:
        node["children"].reverse()
    return Pair(pair.model, {**pair.certificate, "cases": tree})


@operator
def splice_two_files(rng: Generator, pair: Pair, other: Pair) -> Pair | None:
    """Another model's certificate, its ``n`` as it is: the digest left, or put right and its cone without the variables
    that this model does not have."""
    certificate = dict(other.certificate)
    if rng.random() < 0.3:
        return None if encode(pair.model) == encode(other.model) else Pair(pair.model, certificate)
    if isinstance(certificate["cone"], dict):
        known = {v["name"] for v in pair.model["variables"]}
        certificate["cone"] = {name: runs for name, runs in certificate["cone"].items() if name in known}
    if pair.model["output"]["position"] == "last":
        if certificate["target"] == "all":
            return None
        certificate["target"] = "last"
    return sealed(pair.model, certificate)


PARTS = {
    "the restriction": ("fixed", "target", "n"),
    "the claim": ("claim",),
    "the hints": ("cone", "split", "cases"),
    "the variables": ("variables",),
    "the output": ("output", "alphabet", "start_marker", "end_marker", "when"),
}
"""Parts of a certificate and of a model that have the operators by shape."""


def by_shape_in(part: str, inside: tuple[str, ...]) -> None:
    """List an operator that knows of a part of the pair no more than the shape of its format; seldom it breaks it."""

    def change(rng: Generator, pair: Pair, other: Pair) -> Pair | None:
        made, shaped = copy.deepcopy(pair), by_shape.any_one(rng)
        if set(inside) <= formats.CERTIFICATE.keys():
            return made if by_shape.changed(rng, shaped, made.certificate, other.certificate, inside) else None
        done = by_shape.changed(rng, shaped, made.model, other.model, inside)
        return sealed(made.model, made.certificate) if done else None

    OPERATORS[f"change {part}"] = change


BY_SHAPE = [f"change {part}" for part in PARTS]
for part, keys in PARTS.items():
    by_shape_in(part, keys)


# ---------------------------------------------------------------- operators on the model


def used(model: Document) -> list[int]:
    """Where the variables are on which the output may rest."""
    names: set[str] = {model["output"]["variable"]}
    found = []
    for index in reversed(range(len(model["variables"]))):
        variable = model["variables"][index]
        if variable["name"] in names:
            found.append(index)
            names |= set(variable.get("args", ())) | {variable[r] for r in ("query", "key", "value") if r in variable}
    return found


def heads(model: Document) -> list[int]:
    """The heads among them."""
    return [index for index in used(model) if model["variables"][index]["kind"] == "head"]


def with_variable(pair: Pair, index: int, **changed: Any) -> Pair | None:
    """The pair with one variable changed, the digest put right; None where nothing has changed."""
    variables = list(pair.model["variables"])
    variables[index] = {**variables[index], **changed}
    if variables[index] == pair.model["variables"][index]:
        return None
    return sealed({**pair.model, "variables": variables}, pair.certificate)


def a_head(rng: Generator, pair: Pair) -> tuple[int, Document, list[str]] | None:
    """A head, with the names that it may read."""
    if not (found := heads(pair.model)):
        return None
    index = pick(rng, found)
    variables = pair.model["variables"]
    return index, variables[index], ["token", "position", *(v["name"] for v in variables[:index])]


@operator
def swap_a_role(rng: Generator, pair: Pair, other: Pair) -> Pair | None:
    """Another variable as value, or in a role that the score mentions, of the same size so that tables fit, if there is
    one."""
    if not (found := a_head(rng, pair)):
        return None
    index, head, names = found
    letters = {"query": "q", "key": "k"}
    role = pick(rng, ["value", *(role for role in letters if naive.mentions(head["score"], letters[role]))])
    sizes = naive.at(pair.model, pair.certificate["n"]).domain
    others = [name for name in names if name != head[role]]
    fitting = [name for name in others if sizes[name] == sizes[head[role]]]
    return with_variable(pair, index, **{role: pick(rng, fitting or others)})


@operator
def change_the_ties_or_the_mask(rng: Generator, pair: Pair, other: Pair) -> Pair | None:
    if not (found := a_head(rng, pair)):
        return None
    index, head, _ = found
    key, words, usual = pick(rng, (("ties", ("left", "right"), "left"), ("mask", generator.MASKS, "none")))
    return with_variable(pair, index, **{key: pick(rng, [word for word in words if word != head.get(key, usual)])})


@operator
def swap_the_score(rng: Generator, pair: Pair, other: Pair) -> Pair | None:
    """For another expression, or that of another head; missing roles are filled with ``token``."""
    if not (found := a_head(rng, pair)):
        return None
    index, head, names = found
    scores = [v["score"] for v in pair.model["variables"] if v["kind"] == "head" and v["score"] != head["score"]]
    score: Any = generator.random_score(rng)
    if scores and rng.random() < 0.3:
        score = pick(rng, scores)
    return with_variable(
        pair, index, score=score, query=head.get("query", pick(rng, names)), key=head.get("key", pick(rng, names))
    )


@operator
def change_entries_of_a_table(rng: Generator, pair: Pair, other: Pair) -> Pair | None:
    """Of a map, a score or a dot product, on which the output may rest: one row, half of its entries."""
    variables = copy.deepcopy(pair.model["variables"])
    tensors = [(at, tensor) for at in used(pair.model) for tensor in tensors_of(variables[at])]
    if not tensors:
        return None
    index, row = pick(rng, tensors)
    while isinstance(row, list) and isinstance(row[0], list):
        row = pick(rng, row)
    if not isinstance(row, list):
        return None
    size = 0
    if variables[index]["kind"] == "map" and rng.random() < 0.9:
        size = naive.evaluate(variables[index]["domain"], {"n": pair.certificate["n"]})
    for at in range(len(row)):
        if rng.random() < 0.5:
            row[at] = (row[at] + 1) % size if size else row[at] + int(pick(rng, (-3, -1, 1, 3)))
    return sealed({**pair.model, "variables": variables}, pair.certificate)


def tensors_of(variable: Document) -> Iterator[Any]:
    """The values of the tensors of a variable."""
    rule = variable["map" if variable["kind"] == "map" else "score"]
    if isinstance(rule, dict):
        for tensor in [rule["table"]] if "table" in rule else rule["dot"].values():
            yield tensor["values"]


@operator
def change_a_map(rng: Generator, pair: Pair, other: Pair) -> Pair | None:
    """An expression's value moved by one, or only where an argument or the position is odd."""
    listed = [(at, pair.model["variables"][at]) for at in used(pair.model)]
    maps = [(at, v) for at, v in listed if v["kind"] == "map" and isinstance(v["map"], str)]
    if not maps:
        return None
    index, variable = pick(rng, maps)
    by = pick(rng, ("1", f"{pick(rng, [*variable['args'], 'i'])} % 2"))
    size = naive.evaluate(variable["domain"], {"n": pair.certificate["n"]})
    return with_variable(pair, index, map=f"(({variable['map']}) + {by}) % {size}")


@operator
def change_the_labels(rng: Generator, pair: Pair, other: Pair) -> Pair | None:
    """Every value its own label, or other values accepted; mostly where several values had one label."""
    claimed, n = pair.certificate["claim"].get("values", []), pair.certificate["n"]
    apt = len(claimed) > 1 and not pair.certificate["claim"]["c"]
    if not apt and rng.random() < 0.97:
        return None
    output = {key: found for key, found in pair.model["output"].items() if key in ("variable", "position")}
    if rng.random() < 0.5:
        choices = claimed if apt else range(naive.at(pair.model, n).domain[output["variable"]])
        output["accept"] = [value for value in choices if rng.random() < 0.5]
    if output == pair.model["output"]:
        return None
    return sealed({**pair.model, "output": output}, pair.certificate)


@operator
def combine_two(rng: Generator, pair: Pair, other: Pair) -> Pair | None:
    """Two operators, one after the other."""
    simple = [name for name in OPERATORS if name not in ("combine two", "splice two files")]
    first = pick(rng, [name for name in simple if name not in BY_SHAPE])  # a file that is broken is not changed again
    changed = OPERATORS[first](rng, pair, other)
    return OPERATORS[pick(rng, simple)](rng, changed, other) if changed is not None else None


MODEL_OPERATORS = [
    *("change the ties or the mask", "swap the score", "swap a role", "change a map", "change entries of a table"),
    "change the variables",
]
"""Those that change the rules of a model alone."""

# ---------------------------------------------------------------- the truth


def too_large(pair: Pair) -> bool:
    """Whether there are too many inputs to try; a pair that is no longer of the shape has none."""
    n = pair.certificate.get("n")
    try:
        return (type(n) is int and n > LONGEST) or inputs(pair) > MOST_INPUTS
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        return False


def inputs(pair: Pair) -> int:
    """How many inputs agree with the restriction."""
    free = naive.free_positions(pair.model, pair.certificate["n"], singles(pair.certificate))
    return int(len(pair.model["alphabet"]) ** len(free))


def is_true(pair: Pair) -> bool:
    """Whether the certificate's claim holds of the model, by evaluation on every consistent input."""
    return judged(Trial(*pair.bytes), partial(true_certificate, most=MOST_INPUTS)) == "true"


# ---------------------------------------------------------------- verdicts


def verdict(pair: Pair, **names: Any) -> int:
    """The checker's exit code: 0 where it accepts."""
    try:
        line = check.verify(*pair.bytes, **names)
    except check.Reject as reject:
        return int(reject.code)
    assert line.startswith(f"s VERIFIED n={pair.certificate['n']} target={pair.certificate['target']} ")
    return 0


class Row(NamedTuple):
    """How many mutants of one operator there were, and what became of them."""

    mutants: int
    rejected: int
    true: int
    false: int


@dataclass
class Outcome:
    """What became of all mutants, counted by operator; ``faults`` has those accepted but false."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: list[Document] = field(default_factory=list)

    def count(self, name: str, what: str, pair: Pair) -> None:
        """Count one mutant: ``true`` or ``false`` where it was accepted, else why it was not."""
        self.counts[name, what] += 1
        if what == "false":
            self.faults.append({"operator": name, "model": pair.model, "certificate": pair.certificate})

    def add(self, name: str, pair: Pair) -> None:
        """Judge one mutant."""
        code = verdict(pair)
        assert code in (0, 3, 4), (name, code, pair)
        accepted = "true" if code == 0 and is_true(pair) else "false"
        self.count(name, {3: "unproved", 4: "malformed"}.get(code, accepted), pair)

    def join(self, other: "Outcome") -> None:
        """Add the counts of another part of a sweep."""
        self.faults += other.faults
        self.counts += other.counts

    def row(self, *names: str) -> Row:
        """The sum over some operators, or over all."""
        found = Counter[str]()
        for (name, what), count in self.counts.items():
            found[what] += count if name in names or not names else 0
        mutants, true, false = found.total(), found["true"], found["false"]
        return Row(mutants, mutants - true - false, true, false)

    def rows(self) -> dict[str, Row]:
        """A row for each operator, and the total last."""
        return {name: self.row(name) for name, _ in self.counts} | {"total": self.row()}


def mutants(seed: int, count: int) -> Iterator[tuple[str, Pair]]:
    """``count`` mutants with their operators in turn, about 30 for every original; all differ from it."""
    rng = np.random.default_rng([20261121, 7, seed])
    pool = [original(rng) for _ in range(2 + count // 30)]
    for pair in pool:
        assert verdict(pair) == 0, pair
    turns = [name for name in OPERATORS for _ in range(WEIGHTS.get(name, 1))]
    for turn in range(count):
        name, mutant = turns[turn % len(turns)], None
        tries = 0
        while mutant is None:
            tries += 1
            if tries % 20 == 0:
                # The operator may apply to nothing in the pool.
                pool[int(rng.integers(len(pool)))] = original(rng)
            pair, other = pick(rng, pool), pick(rng, pool)
            mutant = OPERATORS[name](rng, pair, other)
            if mutant == pair or (mutant is not None and too_large(mutant)):
                mutant = None
        yield name, mutant


def sweep(seed: int, count: int) -> Outcome:
    """Judge ``count`` mutants."""
    outcome = Outcome()
    for name, mutant in mutants(seed, count):
        outcome.add(name, mutant)
    return outcome
