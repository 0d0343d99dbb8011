"""Supports and enclosures of verdicts on random models, against all words and plain forward passes.

    python scripts/verdict_sweep.py --supports 10000 --points 1000000 --seed 1
    python scripts/verdict_sweep.py --supports 0 --points 0 --every 1000 --forced 1000 --seed 1

Supports: for random models of a few dozen weights, random automata and random directions, the greatest value of a
head's output over the words of a case by the search's longest paths, and over all words by a forward pass from the
definition. Points: random cells of the stream behind attention; the checker's enclosure in integers, and its bound on
every label in both signs, against a plain forward pass at random points and corners. Every, forced: claims about every
length and forced decisions that are true, or false, by little, and forged certificates (tests/near_claims.py), against
all words by their counts, and all completions. Exit 1 if one is outside, or verified and false.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator

import numpy as np

from restrict.checker.verdict_forms import Form, moved, network, signed
from restrict.checker.verdict_numbers import ONE
from restrict.kernels.verdict import greatest
from restrict.soft.trained.model import Trained
from restrict.soft.trained.stored import Array
from restrict.soft.trained.verdict import Search
from tests import near_claims, verdict_cases
from tests.naive_gpt2 import Naive, prefixes

LONGEST, DIRECTIONS, CELLS, EACH = 4, 3, 8, 400
"""Words, directions of one case, cells of one model, points of one cell."""
NORMS = ("", "", "", "post", "no-last", "none")
"""Where LayerNorm stands in random models: half of them have it where GPT-2 does."""


def drawn(rng: np.random.Generator) -> tuple[Trained, Naive]:
    """A random model, with LayerNorm where it may stand."""
    return verdict_cases.random_checkpoint(rng, norm=str(rng.choice(NORMS)))


def supports(rng: np.random.Generator) -> Iterator[float]:
    """The differences, relative to the size of the values, for all cases of one random model."""
    model, naive = drawn(rng)
    graph = verdict_cases.random_graph(rng, model, naive)
    words = prefixes(([list(row) for row in graph.delta], sorted(graph.accept)), LONGEST)
    outs = {word: naive.attention(tuple(model.tokens[s] for s in word))[1] for word, _ in words}
    search = Search(model, graph, LONGEST)
    for key in graph.cases(LONGEST):
        ends = [w for w, q in words if len(w) == key[0] and q == key[2] and (not w or w[-1] == key[1])]
        search.weigh(key[0], key[1])
        for h in range(model.heads):
            for _ in range(DIRECTIONS):
                c = rng.normal(size=model.d)
                values = search.atoms.v[h] @ c
                case = np.array(key, dtype=np.int64)
                found = greatest(search.weights[h], values, *graph.edges, case, float(rng.normal()))
                true = max(float(np.array(outs[word][h]) @ c) for word in ends)
                yield abs(found - true) / (1 + float(np.abs(values).max()))


def plain(naive: Naive, y: Array) -> tuple[Array, Array, Array, Array]:
    """The neurons, the stream behind the network, the logits, and the last deviation (1 if nothing is divided by it),
    for rows of the stream behind attention."""
    t, epsilon = naive.tensors, float(naive.config["layer_norm_epsilon"])

    def normed(x: Array, name: str) -> Array:
        gap = x - x.mean(1, keepdims=True)
        unit = gap / np.sqrt((gap**2).mean(1, keepdims=True) + epsilon)
        return np.asarray(unit * t[name + ".weight"] + t[name + ".bias"])

    post, bare = not naive.config.get("norm_first", True), not naive.config.get("layer_norm", True)
    ends = naive.config.get("final_norm", True) and not bare
    into = y if bare else normed(y, "h.0.ln_1" if post else "h.0.ln_2")
    x = into @ np.array(t["h.0.mlp.c_fc.weight"]) + t["h.0.mlp.c_fc.bias"]
    act = np.vectorize(naive.act)(x)
    z = (into if post else y) + act @ np.array(t["h.0.mlp.c_proj.weight"]) + t["h.0.mlp.c_proj.bias"]
    read = normed(z, "h.0.ln_2" if post else "ln_f") if ends else z
    logits = read @ np.array(t.get("lm_head.weight", t["wte.weight"])).T + t.get("lm_head.bias", 0)
    deviation = np.sqrt(((z - z.mean(1, keepdims=True)) ** 2).mean(1) + epsilon)
    return act, z, logits, deviation if ends else np.ones_like(deviation)


def points(rng: np.random.Generator) -> tuple[int, int]:
    """Points of the cells of one random model, and how many are outside."""
    model, naive = drawn(rng)
    check = verdict_cases.checked(model, verdict_cases.random_graph(rng, model, naive))
    outside, d = 0, model.d
    for _ in range(CELLS):
        m = int(rng.integers(1, 6))
        c, g = rng.normal(size=d) * 2, rng.normal(size=(m, d)) * float(rng.choice([1e-5, 1e-3, 0.05, 0.4]))
        rest = np.abs(rng.normal(size=d)) * float(rng.choice([0.0, 1e-3, 0.05]))
        units = [[int(v * ONE) for v in row] for row in (c, rest, *g)]
        y = Form(units[0], units[2:], [r + m + 2 for r in units[1]])
        [z] = network(check.model.epsilon, check.final, y, *moved(check.final.normal, y))
        eps = np.where(rng.random((EACH, 1)) < 0.5, rng.uniform(-1, 1, (EACH, m)), rng.choice([-1.0, 1.0], (EACH, m)))
        act, out, logits, deviation = plain(naive, c + eps @ g + rest * rng.uniform(-1, 1, (EACH, d)).round(1))
        *spans, last = np.array(z.values.spans, float) / ONE
        own = act.shape[1]  # neurons behind these carry the stream on, where it is added behind the LayerNorm
        gap = np.abs(act - np.array(z.values.centre[:own], float) / ONE - eps @ np.array(spans)[:, :own])
        bad = (gap > (np.array(z.values.rest, float) / ONE + np.abs(last))[:own] + 1e-9).any(1)
        gap = out - np.array(z.centre, float) / ONE
        bad |= ((gap - gap.mean(1, keepdims=True)) ** 2).mean(1) > z.square / ONE**2 + 1e-9
        for label, sign in check.signs.items():
            for wanted in (True, False):
                asked = sign if wanted else check.nothing.less(sign)
                [(least, line)] = signed(asked, z, check.final, check.model.epsilon)
                value = logits[:, label] * deviation * (1 if wanted else -1)
                bad |= value < (least + eps @ np.array(line, float)) / ONE - 1e-9
        outside += int(bad.sum())
    return CELLS * EACH, outside


def attacked(what: str, count: int, seed: int) -> int:
    """Attacks of a kind on so many claims; how many found what is verified and false."""
    said, false = Counter[str](), 0
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        try:
            if what == "every":
                said += near_claims.attack_every_length(rng, near_claims.drawn_near(rng))
            else:
                said += near_claims.attack_forced(rng, near_claims.drawn_held(rng))
        except AssertionError as failure:
            print(f"{what} {number}: {failure}", flush=True)
            false += 1
    if count:
        told = ", ".join(f"{n} {name}" for name, n in sorted(said.items()))
        print(f"{what}: {count} claims: {told}; {false} verified and false", flush=True)
    return false


def main() -> int:
    """All sweeps."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--supports", type=int, default=1000)
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--every", type=int, default=0)
    parser.add_argument("--forced", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    rng, largest, seen = np.random.default_rng(chosen.seed), 0.0, 0
    while seen < chosen.supports:
        for gap in supports(rng):
            largest, seen = max(largest, gap), seen + 1
    print(f"{seen} supports, largest relative difference {largest:.1e}", flush=True)
    tried = outside = 0
    while tried < chosen.points:
        more, bad = points(rng)
        tried, outside = tried + more, outside + bad
    print(f"{tried} points, {outside} outside", flush=True)
    false = attacked("every", chosen.every, chosen.seed) + attacked("forced", chosen.forced, chosen.seed)
    return 1 if outside or largest > 1e-9 or false else 0


if __name__ == "__main__":
    sys.exit(main())
