"""Mutants of proofs for all lengths, by named operators, on the claim, on the layers and on the model.

The fuzzer offers them to the trusted checker, which has to refuse a mutant, or its claim is true of the (mutated) model
(:mod:`tests.fuzzing.all_lengths`).
"""

import copy
from collections.abc import Callable

from numpy.random import Generator

from tests.fuzzing import by_shape
from tests.fuzzing.operators import listed_in, pick
from tests.length_claims import Document

Operator = Callable[[Generator, Document, Document], bool]
"""Changes (model, proof) in place; False where it does not apply."""
OPERATORS: dict[str, Operator] = {}
STEPS = 30_000_000


operator = listed_in(OPERATORS)


# ---------------------------------------------------------------- the claim


@operator
def claim_a_cheaper_cost(rng: Generator, model: Document, proof: Document) -> bool:
    """The late costs one less, or from one length later on."""
    claim = proof["claim"]
    if claim["kind"] != "cost":
        return False
    if rng.random() < 0.5:
        late = range(len(claim["costs"]) - len(claim["growth"]), len(claim["costs"]))
        for t in late:
            claim["costs"][t] = max(-1, claim["costs"][t] - 1)
    else:
        claim["costs"].pop(int(rng.integers(len(claim["costs"]))))
    return True


@operator
def claim_another_growth(rng: Generator, model: Document, proof: Document) -> bool:
    """A bounded cost grows, a growing one is bounded, or grows at another rate; perhaps in a longer period."""
    claim = proof["claim"]
    if claim["kind"] != "cost":
        return False
    growth = claim["growth"]
    if rng.random() < 0.4:  # twice the period: the same function, or nearly
        listed = claim["costs"]
        listed += [c if c < 0 else c + g for c, g in zip(listed[-len(growth) :], growth, strict=True)]
        claim["growth"] = growth = [2 * g for g in [*growth, *growth]]
        claim["turn"] *= int(rng.integers(1, 3))
        claim["settled"] = max(claim["settled"], len(listed) - len(growth))
    if rng.random() < 0.6:
        at = int(rng.integers(len(growth)))
        growth[at] = max(0, growth[at] + int(rng.choice([-1, 1])))
    return True


@operator
def claim_other_lengths(rng: Generator, model: Document, proof: Document) -> bool:
    """A length is left out or added, early or late, on one side or on both."""
    claim = proof["claim"]
    if claim["kind"] != "lengths":
        return False
    part, place = pick(rng, ["early", "cycle"]), int(rng.integers(8))
    for side in ("least", "most") if rng.random() < 0.5 else (pick(rng, ["least", "most"]),):
        if listed := claim[side][part]:
            listed[place % len(listed)] ^= 1
    return True


@operator
def claim_another_kind(rng: Generator, model: Document, proof: Document) -> bool:
    """Agreement as difference, and the other way round."""
    claim = proof["claim"]
    other = {"recognises": "differs", "differs": "recognises", "computes": "deviates", "deviates": "computes"}
    if claim["kind"] not in other:
        return False
    claim["kind"] = other[claim["kind"]]
    if claim["kind"] in ("differs", "deviates"):
        claim |= {"word": [pick(rng, model["alphabet"]) for _ in range(int(rng.integers(4)))], "shortest": 0}
        if claim["kind"] == "deviates" and model["output"]["position"] == "every":
            claim["position"] = int(rng.integers(3))
    else:
        for key in ("word", "shortest", "position"):
            claim.pop(key, None)
    return True


# ---------------------------------------------------------------- the layers


def sides(layer: Document) -> list[Document]:
    """Both refined automata."""
    return [layer[key] for key in ("left", "right") if key in layer]


@operator
def merge_two_states(rng: Generator, model: Document, proof: Document) -> bool:
    """Two states of a merged automaton become one, wherever they are named."""
    layer = pick(rng, proof["layers"])
    side = pick(rng, sides(layer))
    if len(side["next"]) < 2:
        return False
    gone = int(rng.integers(1, len(side["next"])))
    kept = int(rng.integers(gone))

    def renamed(q: int) -> int:
        return kept if q == gone else q - (q > gone)

    side["merge"] = [renamed(q) for q in side["merge"]]
    side["next"] = [[renamed(q) for q in row] for at, row in enumerate(side["next"]) if at != gone]
    if side is layer["left"]:
        layer["table"].pop(gone)
    else:
        layer["table"] = [[[v for r, v in enumerate(row) if r != gone] for row in part] for part in layer["table"]]
    return True


@operator
def forget_a_variable(rng: Generator, model: Document, proof: Document) -> bool:
    """A column of the labels is left out, so that later layers do not know it."""
    layer = pick(rng, proof["layers"])
    if not layer["keep"]:
        return False
    at = int(rng.integers(len(layer["keep"])))
    layer["keep"].pop(at)
    for row in layer["labels"]:
        row.pop(at)
    return True


# ---------------------------------------------------------------- the model, with its digest put right


@operator
def change_the_score_of_the_model(rng: Generator, model: Document, proof: Document) -> bool:
    """To one of those that are likely to be order-only."""
    heads = [v for v in model["variables"] if v["kind"] == "head" and "key" in v]
    if not heads:
        return False
    scores = [
        "0", "k", "-k", "j", "-j", "2 * j + (k > 0)", "j if k else -1", "j == i - 1", "k + (j == 0)", "n % 2 == k",
    ]  # fmt: skip
    pick(rng, heads)["score"] = pick(rng, scores)
    return True


@operator
def change_when_in_the_model(rng: Generator, model: Document, proof: Document) -> bool:
    model["when"] = pick(rng, ["n % 2 == 0", "n > 4", "n % 3 != 1", "n != 3"])
    return True


# ---------------------------------------------------------------- whatever a shape says


PARTS: dict[str, tuple[int, int, tuple[str, ...]]] = {
    "the claim": (10, 1, ("claim",)),
    "the last layers": (10, 1, ("layers",)),
    "the classes": (1, 1, ("n", "threshold", "period")),
    "the variables of the model": (4, 0, ("variables",)),
    "the rest of the model": (3, 0, ("alphabet", "output", "start_marker", "end_marker", "when")),
}
"""How often in a round, in which of the two files, and under which keys an operator knows no more than the shape."""


def by_shape_in(which: int, inside: tuple[str, ...]) -> Operator:
    """An operator by the shape of a part; a share of them break it. Layers are changed late as often as anywhere."""

    def change(rng: Generator, model: Document, proof: Document) -> bool:
        shaped = by_shape.any_one(rng)
        document = (model, proof)[which]
        late = document
        if inside == ("layers",) and rng.random() < 0.5:
            late = document | {"layers": document["layers"][-1:]}
        return by_shape.changed(rng, shaped, late, copy.deepcopy(late), inside)

    return change


OPERATORS |= {f"change {part}": by_shape_in(which, inside) for part, (_, which, inside) in PARTS.items()}
TURNS = [name for name in OPERATORS for _ in range(PARTS.get(name.removeprefix("change "), (1,))[0])]
