"""Mutants of proofs for all lengths, by named operators, on the claim, on the layers and on the model.

A mutant may well be wrong. The trusted checker has to refuse it, or its claim has to be true of the (mutated) model,
which :mod:`tests.length_claims` decides. Nothing but ``Reject`` may be raised.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from numpy.random import Generator

from restrict.all_lengths.proof import document, to_bytes
from restrict.base.errors import RestrictError
from restrict.checker.account import Reject
from restrict.checker.main import verify
from restrict.model.fileformat import dumps
from tests.fuzzing.at_all_lengths import judge
from tests.fuzzing.changes import nudged, places
from tests.fuzzing.kinds import Trial
from tests.fuzzing.operators import listed_in, pick
from tests.length_claims import Document, Subject, random_model, true_claim, truth

Operator = Callable[[Generator, Document, Document], bool]
"""Changes (model, proof) in place; False where it does not apply."""
OPERATORS: dict[str, Operator] = {}
STEPS = 30_000_000


operator = listed_in(OPERATORS)


# ---------------------------------------------------------------- the claim


def in_claim(name: str, *kinds: str) -> None:
    """List an operator that nudges what stands under a key of the claim."""

    def change(rng: Generator, model: Document, proof: Document) -> bool:
        claim = proof["claim"]
        inner = claim.get("language", claim.get("machine", {}))
        holder = claim if name in claim else inner
        if name not in holder or (kinds and claim["kind"] not in kinds):
            return False
        spots = [(holder, name), *places(holder[name])]
        nudged(rng, *pick(rng, spots[:1] if rng.random() < 0.3 else spots))
        return True

    OPERATORS[f"change {name} of the claim"] = change


for key in (
    "from",
    "shortest",
    "word",
    "position",
    "start",
    "middle",
    "end",
    "costs",
    "growth",
    "settled",
    "turn",
    "least",
    "most",
):
    in_claim(key)
for key in ("accept", "transitions", "output", "table", "left", "right", "labels"):
    in_claim(key)


@operator
def change_a_cell(rng: Generator, model: Document, proof: Document) -> bool:
    """A cell of a pattern, or a letter of a word, becomes another symbol or free."""
    claim = proof["claim"]
    parts = [claim[key] for key in ("start", "middle", "end", "word") if claim.get(key)]
    if not parts:
        return False
    part = pick(rng, parts)
    part[int(rng.integers(len(part)))] = pick(rng, ["*", *model["alphabet"]])
    return True


@operator
def claim_the_other_label(rng: Generator, model: Document, proof: Document) -> bool:
    claim = proof["claim"]
    if "label" not in claim:
        return False
    claim["label"] = pick(rng, ["accept", "reject", "x", "y", "undefined", "", "0", "1"])
    return True


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
def settle_earlier(rng: Generator, model: Document, proof: Document) -> bool:
    """Costs or lengths are said to be settled at another length, by another turn."""
    claim = proof["claim"]
    if claim["kind"] not in ("cost", "lengths"):
        return False
    key = pick(rng, ["settled", "turn"])
    claim[key] = max(0, claim[key] + int(rng.integers(-3, 4)))
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
def claim_of_another_language(rng: Generator, model: Document, proof: Document) -> bool:
    """The same of a language with another name, other symbols or another depth."""
    language = proof["claim"].get("language", {})
    if "name" not in language or "transitions" in language:
        return False
    how = int(rng.integers(3))
    if how == 0:
        language["name"] = pick(rng, ["majority", "anbn", "palindromes", "dyck", "shuffle-dyck"])
        language.pop("depth", None)
    elif how == 1:
        language["alphabet"].reverse()
    elif language["name"] == "dyck":
        language["depth"] = int(rng.integers(1, 4))
    return True


@operator
def claim_a_longer_word(rng: Generator, model: Document, proof: Document) -> bool:
    """A counterexample with one more letter is rarely a shortest one."""
    claim = proof["claim"]
    if "word" not in claim:
        return False
    claim["word"].insert(int(rng.integers(len(claim["word"]) + 1)), pick(rng, model["alphabet"]))
    return True


@operator
def start_earlier(rng: Generator, model: Document, proof: Document) -> bool:
    if not proof["claim"].get("from"):
        return False
    proof["claim"]["from"] = int(rng.integers(proof["claim"]["from"]))
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


def in_layers(name: str, where: Callable[[Document], list[Any]]) -> None:
    """List an operator that nudges something in a layer, mostly in a late one."""

    def change(rng: Generator, model: Document, proof: Document) -> bool:
        layers = proof["layers"]
        layer = layers[-1] if rng.random() < 0.5 else pick(rng, layers)
        holders = [h for h in where(layer) if h]
        if not holders:
            return False
        holder = pick(rng, holders)
        nudged(rng, *pick(rng, places(holder)))
        return True

    OPERATORS[f"change {name}"] = change


def sides(layer: Document) -> list[Document]:
    """Both refined automata."""
    return [layer[key] for key in ("left", "right") if key in layer]


in_layers("the base of a state", lambda layer: [{"base": side["base"]} for side in sides(layer)])
in_layers("a successor", lambda layer: [{"delta": side["delta"]} for side in sides(layer)])
in_layers("the merging", lambda layer: [{"merge": side["merge"], "next": side["next"]} for side in sides(layer)])
in_layers("a box", lambda layer: [{"boxes": head["boxes"]} for head in layer["heads"] if head["boxes"]])
in_layers(
    "where a box is", lambda layer: [{k: head[k]} for head in layer["heads"] for k in ("left", "right") if k in head]
)
in_layers("a pair or a query", lambda layer: [{"p": head["pairs"], "q": head["queries"]} for head in layer["heads"]])
in_layers("a label", lambda layer: [{"labels": layer["labels"]}])
in_layers("the table", lambda layer: [{"table": layer["table"]}])


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
def flip_a_label(rng: Generator, model: Document, proof: Document) -> bool:
    """The last layer says something else of some positions."""
    labels = proof["layers"][-1]["labels"]
    row = pick(rng, labels) if labels else []
    if not row:
        return False
    row[int(rng.integers(len(row)))] = int(rng.integers(3))
    return True


@operator
def drop_a_layer(rng: Generator, model: Document, proof: Document) -> bool:
    proof["layers"].pop(int(rng.integers(len(proof["layers"]))))
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


@operator
def change_the_classes(rng: Generator, model: Document, proof: Document) -> bool:
    key = pick(rng, ["threshold", "period", "n"])
    proof[key] = max(1, proof[key] + int(rng.integers(-2, 3)))
    return True


# ---------------------------------------------------------------- the model, with its digest put right


def in_model(function: Callable[[Generator, Document], bool]) -> None:
    """List an operator on the model."""

    def change(rng: Generator, model: Document, proof: Document) -> bool:
        return function(rng, model)

    OPERATORS[function.__name__.replace("_", " ") + " of the model"] = change


def one_head(rng: Generator, model: Document) -> Document:
    """A head of the model, or an empty one."""
    heads = [v for v in model["variables"] if v["kind"] == "head"]
    return pick(rng, heads) if heads else {}


@in_model
def change_the_mask(rng: Generator, model: Document) -> bool:
    one_head(rng, model)["mask"] = pick(rng, ["none", "past", "strict_past", "future", "strict_future"])
    return True


@in_model
def change_the_ties(rng: Generator, model: Document) -> bool:
    head = one_head(rng, model)
    head["ties"] = "right" if head.get("ties", "left") == "left" else "left"
    return True


@in_model
def change_the_score(rng: Generator, model: Document) -> bool:
    head = one_head(rng, model)
    scores = [
        "0", "k", "-k", "j", "-j", "2 * j + (k > 0)", "j if k else -1", "j == i - 1", "k + (j == 0)", "n % 2 == k",
    ]  # fmt: skip
    head["score"] = pick(rng, scores)
    return "key" in head


@in_model
def change_the_default(rng: Generator, model: Document) -> bool:
    head = one_head(rng, model)
    head["default"] = int(rng.integers(head.get("domain", 2)))
    return "name" in head


@in_model
def change_when(rng: Generator, model: Document) -> bool:
    model["when"] = pick(rng, ["n % 2 == 0", "n > 4", "n % 3 != 1", "n != 3"])
    if rng.random() < 0.4:
        del model["when"]
    return True


@in_model
def change_what_is_accepted(rng: Generator, model: Document) -> bool:
    output = model["output"]
    if "accept" not in output:
        return False
    output["accept"] = [v for v in range(max(output["accept"], default=0) + 1) if rng.random() < 0.5]
    return True


@in_model
def change_the_output_position(rng: Generator, model: Document) -> bool:
    model["output"]["position"] = "every" if model["output"]["position"] == "last" else "last"
    return True


# ---------------------------------------------------------------- the attack


def attack(rng: Generator, programs: int, each: int) -> dict[str, Counter[str]]:
    """Mutants of proofs of random programs: for each operator, how many were refused and accepted; all those accepted
    are true, or an AssertionError says which one is not."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in OPERATORS}
    names, turn = list(OPERATORS), 0
    for _ in range(programs):
        model = random_model(rng)
        content = dumps(model)
        try:
            subject = Subject(model, content)
        except RestrictError:
            continue
        good = document(subject.model, subject.built, true_claim(rng, subject))
        assert truth(subject, good["claim"]), (model, good["claim"])
        assert verify(content, to_bytes(good)).startswith("s VERIFIED all-lengths ")
        made = 0
        while made < each:
            turn += 1
            made += one_mutant(rng, subject, good, names[turn % len(names)], counts)
    return counts


def one_mutant(rng: Generator, subject: Subject, good: Document, name: str, counts: dict[str, Counter[str]]) -> bool:
    """Try one mutant; whether there was one."""
    model, proof = copy.deepcopy(subject.document), copy.deepcopy(good)
    if not OPERATORS[name](rng, model, proof) or (model, proof) == (subject.document, good):
        return False
    if rng.random() < 0.15:
        nudged(rng, *pick(rng, places(proof["claim"]) or [(proof, "n")]))
    content = dumps(model)
    proof["model"]["sha256"] = hashlib.sha256(content).hexdigest()
    data = json.dumps(proof).encode()
    try:
        verify(content, data, limit=STEPS)
    except Reject as reject:
        counts[name][f"refused {reject.code}"] += 1
        return True
    counts[name]["accepted"] += 1
    changed = subject if model == subject.document else Subject(model, content)
    assert truth(changed, proof["claim"]), (name, model, proof)
    assert judge(Trial(content, data)) != "false", (name, model, proof)  # by no code of the package
    return True
