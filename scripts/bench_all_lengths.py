"""All lengths at once: how far the construction gets, and where it stops (docs/all-lengths.md).

    python scripts/bench_all_lengths.py [SUITE ...] [-o FILE] [--share FRACTION] [--skip SEEDS]

Suites: `two` (two letters, all masks, L=3 H=3 8 states), `deep` (L=6 H=4 16 states), `past` (the same, past masks),
`four` (four letters, L=3 H=3 8 states), `curve` (states and seconds against L, H, S and letters), `mixed` (random
programs with all features), `back` (random star-free automata compiled back), `formulas` (compiled formulas against
formula progression), `proofs`, `large` (certificates and their check), `wrong` (sets of lengths), `free` (instances),
`mona` (where MONA is installed). Every instance runs in a process of its own with a time limit; kernels are compiled
before. All numbers are measured.
"""

from __future__ import annotations

import json
import shutil
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from harness import ROOT, arguments, timed, within, written

from restrict.all_lengths.bimachine import Limits
from restrict.all_lengths.moore import Moore, moore
from restrict.all_lengths.recognise import recognise
from restrict.all_lengths.stages import build
from restrict.base.errors import ResourceLimit
from restrict.model.fileformat import loads
from restrict.model.program import Model
from tests.generator import MASKS, random_order_only, random_transformer

PAST = ("past", "strict_past")
OPTIONS = {"skip": 0}
WINDOWS = ((8, 4), (11, 3), (13, 2), (16, 2))


def transformer(seed: int, layers: int, heads: int, states: int, letters: int, past: bool) -> dict[str, Any]:
    """The result of one instance."""
    rng = np.random.default_rng(seed)
    document = random_transformer(rng, layers, heads, states, letters, PAST if past else MASKS)
    model = loads(json.dumps(document).encode())
    said: list[str] = []
    start = time.perf_counter()
    try:
        built = build(recognise(model), Limits(1_000_000), said.append)
        size = moore(built).states
    except ResourceLimit as error:
        return {"seconds": time.perf_counter() - start, "states": None, "why": str(error)}
    grown = [(*r.grown, *r.states) for r in built.account]
    return {"seconds": time.perf_counter() - start, "states": size, "stages": grown}


def automaton(model: Model) -> Moore:
    """The minimal automaton of a program."""
    return moore(build(recognise(model)))


def limited(seconds: float, *given: Any) -> dict[str, Any] | None:
    """The result of one instance in a process of its own; ``None`` where it takes longer."""
    result = within(seconds + 1, transformer, *given, method="fork")
    return result if result is None or result["seconds"] <= seconds else None


def suite(
    title: str, count: int, seconds: float, layers: int, heads: int, states: int, letters: int, past: bool = False
) -> dict[str, Any]:
    """How many of ``count`` random transformers are done within ``seconds``; prints a line."""
    seeds = range(OPTIONS["skip"], OPTIONS["skip"] + count)
    found = [limited(seconds, seed, layers, heads, states, letters, past) for seed in seeds]
    done = [f for f in found if f is not None and f["states"] is not None]
    times = [f["seconds"] for f in done]
    sizes = [f["states"] for f in done]
    sides = [max(max(s[:2]) for s in f["stages"]) for f in done]
    line = f"{title:<44} {len(done):>3} of {count:<3} within {seconds:g} s"
    if done:
        line += f"; median {statistics.median(times):.2f} s, slowest {max(times):.2f} s"
        line += f"; states {statistics.median(sizes):g} (median), {max(sizes)} (largest), a side at most {max(sides)}"
    print(line, flush=True)
    for seed, f in zip(seeds, found, strict=True):
        if f is not None and f["states"] is None:
            print(f"    seed {seed}: {f['why'][:150]}", flush=True)
    late = [str(seed) for seed, f in zip(seeds, found, strict=True) if f is None]
    if late:
        print(f"    out of time: seeds {', '.join(late)}", flush=True)
    out = {"title": title, "count": count, "limit": seconds, "done": len(done), "times": times, "states": sizes}
    return out | {"largest_side": sides}


def curve(share: float) -> list[dict[str, Any]]:
    """One parameter at a time, all masks."""
    count = max(3, round(10 * share))
    grid = [(layers, 2, 4, 2) for layers in (1, 2, 3, 4, 6, 8)] + [(3, heads, 4, 2) for heads in (1, 3, 4, 6)]
    grid += [(3, 2, states, 2) for states in (2, 8, 16, 32)] + [(3, 2, 4, letters) for letters in (3, 4, 6)]
    return [suite(f"curve L={a} H={b} S={c} letters={d}", count, 30, a, b, c, d) for a, b, c, d in grid]


def mixed(share: float) -> list[dict[str, Any]]:
    """Random programs with all features: declined, too large, and times."""
    from restrict.all_lengths.recognise import NotOrderOnly

    rng = np.random.default_rng(0)
    counts = {"done": 0, "declined": 0, "too large": 0}
    times = []
    for _ in range(round(500 * share)):
        model = loads(json.dumps(random_order_only(rng, 2 + int(rng.integers(2)), 6)).encode())
        start = time.perf_counter()
        try:
            build(recognise(model), Limits(20_000))
        except NotOrderOnly:
            counts["declined"] += 1
        except ResourceLimit:
            counts["too large"] += 1
        else:
            counts["done"] += 1
            times.append(time.perf_counter() - start)
    print(f"mixed: {counts}; median {statistics.median(times):.3f} s, slowest {max(times):.2f} s", flush=True)
    return [{"title": "mixed", "counts": counts, "times": times}]


def free(share: float) -> list[dict[str, Any]]:
    """The instances of this repository: their automata, or what is not order-only; a second run of each is timed."""
    from restrict.all_lengths.recognise import NotOrderOnly
    from restrict.model.source import load

    out: list[dict[str, Any]] = []
    declined = []
    for path in sorted((ROOT / "instances").glob("*.json")):
        if '"restrict-model/1"' not in path.read_text()[:400]:
            continue
        model = load(path)
        try:
            build(recognise(model))
        except NotOrderOnly:
            declined.append(path.stem)
            continue
        found, seconds = timed(partial(automaton, model))
        out.append({"title": path.stem, "seconds": seconds, "states": found.states})
    slow = max(out, key=lambda f: f["seconds"])
    print(f"free: {len(out)} instances, slowest {slow['title']} {slow['seconds']:.3f} s", flush=True)
    print(f"    not order-only: {', '.join(declined)}", flush=True)
    return out


def model_file(name: str, alphabet: str, variables: list[dict[str, Any]], output: dict[str, Any]) -> dict[str, Any]:
    """A model file."""
    found = {"format": "restrict-model/1", "name": name, "alphabet": list(alphabet)}
    return found | {"variables": variables, "output": output}


def shift(length: int) -> dict[str, Any]:
    """ "The symbol ``length`` places before the end is b": a chain of heads, 2**length states."""
    variables = chain(length - 1, "token", "strict_past", "right", "back")
    output = {"variable": variables[-1]["name"], "position": "last", "accept": [1]}
    return model_file(f"shift{length}", "ab", variables, output)


def chain(length: int, source: str, mask: str, ties: str, name: str) -> list[dict[str, Any]]:
    """Heads that carry a variable over ``length`` positions."""
    head = {"kind": "head", "score": "0", "mask": mask, "ties": ties}
    names = [source, *(f"{name}{d}" for d in range(1, length + 1))]
    return [{"name": names[d], "value": names[d - 1], **head} for d in range(1, length + 1)]


def window(back: int, ahead: int) -> dict[str, Any]:
    """At every position: "two symbols ``ahead`` apart differ" here, and not ``back`` positions before, or the other way
    round. What heads find to the left depends on what is to the right: both automata have memory."""
    variables = chain(ahead, "token", "strict_future", "left", "ahead")
    here = {"name": "here", "kind": "map", "args": ["token", f"ahead{ahead}"], "domain": 2}
    variables += [here | {"map": f"token != ahead{ahead}"}, *chain(back, "here", "strict_past", "right", "back")]
    args = ["here", f"back{back}"]
    variables.append({"name": "change", "kind": "map", "args": args, "domain": 2, "map": " != ".join(args)})
    output = {"variable": "change", "position": "every", "labels": ["same", "other"]}
    return model_file(f"window{back}+{ahead}", "ab", variables, output)


def seen(letters: int) -> dict[str, Any]:
    """ "An odd number of the letters occur": a head for each, all in one layer, 2**letters states."""
    variables: list[dict[str, Any]] = []
    for a in range(letters):
        variables.append({"name": f"is{a}", "kind": "map", "args": ["token"], "domain": 2, "map": f"token == {a}"})
        head = {"name": f"seen{a}", "kind": "head", "key": f"is{a}", "value": f"is{a}", "score": "k", "mask": "past"}
        variables.append(head)
    heads = [f"seen{a}" for a in range(letters)]
    variables.append({"name": "odd", "kind": "map", "args": heads, "domain": 2, "map": f"({' + '.join(heads)}) % 2"})
    output = {"variable": "odd", "position": "last", "accept": [1]}
    return model_file(f"seen{letters}", "abcdefghijklmnopqrstuvwxyz"[:letters], variables, output)


def large(share: float) -> list[dict[str, Any]]:
    """Proofs with many states: two families and random transformers, checked by the trusted checker."""
    from restrict.all_lengths.compare import spelled
    from restrict.all_lengths.proof import document, to_bytes
    from restrict.checker.main import verify as check
    from restrict.languages.regular import Regular
    from restrict.model.fileformat import dumps

    cases = [(f"shift {k}", dumps(shift(k)), k) for k in (12, 15, 17, 18)]
    cases += [(f"seen {k}", dumps(seen(k)), 0) for k in (8, 11, 13)]
    cases += [(f"window {k}+{m}", dumps(window(k, m)), k + 1) for k, m in WINDOWS]
    for heads, states, letters in ((2, 4, 4), (3, 8, 2), (3, 8, 3)):
        random = random_transformer(np.random.default_rng(0), 3, heads, states, letters)
        cases.append((f"L=3 H={heads} S={states} letters={letters}", dumps(random), 0))
    out = []
    for title, content, back in cases[OPTIONS["skip"] : max(1, round(len(cases) * share))]:
        model = loads(content)
        built = build(recognise(model), Limits(1_000_000), None, True)
        label = "other" if title.startswith("window") else "accept"
        claim: dict[str, Any] = {"kind": "forces", "label": label, "start": [], "middle": ["*"], "from": max(1, back)}
        claim["end"] = ["b"] + ["*"] * (back - 1)
        if title.startswith("window"):
            claim["end"][int(title.partition("+")[2])] = claim["end"][-1] = "a"
        if not back:
            own = Regular("own", "dfa:own", moore(built).language())
            claim = {"kind": "recognises", "language": spelled(own), "from": 1}
        proof = to_bytes(document(model, built, claim))
        line, seconds = timed(partial(check, content, proof, limit=10**12))
        states = sum(max(r.grown) for r in built.account)
        text = f"{states} states in all layers, {len(proof)} bytes, {seconds:.1f} s: {line[:90]}"
        print(f"large {title}: {text}", flush=True)
        out.append({"title": title, "states": states, "bytes": len(proof), "seconds": seconds})
    return out


def back(share: float) -> list[dict[str, Any]]:
    """Random star-free automata of up to 12 states, compiled back and proved equal at all lengths."""
    from restrict.all_lengths.compile_back import compile_language
    from restrict.languages.regular import Regular
    from tests.test_all_lengths_language import random_star_free

    rng = np.random.default_rng(0)
    times, failed = [], []
    for at in range(round(200 * share)):
        language = Regular("random", "dfa:random", random_star_free(rng, 12))
        try:
            times.append(timed(partial(compile_language, language))[1])
        except ResourceLimit as error:
            failed.append(f"{at}: {error}")
    line = f"back: {len(times)} of {len(times) + len(failed)} star-free automata compiled and proved equal"
    print(f"{line}; median {statistics.median(times):.2f} s, slowest {max(times):.1f} s", flush=True)
    for text in failed:
        print(f"    {text}", flush=True)
    return [{"title": "back", "done": len(times), "failed": failed, "times": times}]


def formulas(share: float) -> list[dict[str, Any]]:
    """Compiled formulas of 10 operators, past and future, against an automaton by recursion on values and guessing."""
    from restrict.logic.compiler import compile_formula
    from restrict.logic.sample import random_formula
    from tests.formula_automaton import automaton_of, same

    rng = np.random.default_rng(0)
    equal = total = 0
    start = time.perf_counter()
    for _ in range(round(500 * share)):
        formula = random_formula(rng, ["a", "b"], 10)
        found = automaton(compile_formula(formula, ["a", "b"]))
        total += 1
        equal += same(found, automaton_of(formula, ["a", "b"]))
    seconds = time.perf_counter() - start
    text = "equal to the automaton by recursion on values, at all lengths"
    print(f"formulas: {equal} of {total} {text}; {seconds:.0f} s", flush=True)
    return [{"title": "formulas", "equal": equal, "total": total, "seconds": seconds}]


def proofs(share: float) -> list[dict[str, Any]]:
    """Proofs of random transformers, written and checked by the trusted checker."""
    from restrict.all_lengths.verify import language_of_model, verify
    from restrict.checker.main import verify as check

    out = []
    for layers, heads, states, letters in ((2, 2, 4, 2), (3, 3, 8, 2), (4, 3, 8, 2), (3, 2, 8, 4), (6, 4, 16, 2)):
        rng = np.random.default_rng(1)
        past = (layers, letters) == (6, 2)
        document = random_transformer(rng, layers, heads, states, letters, PAST if past else MASKS)
        model = loads(json.dumps(document).encode())
        found = verify(model, language_of_model(model))
        if found.proof is None or model.content is None:
            print(f"proofs L={layers} H={heads} S={states} letters={letters}: {found.reason}", flush=True)
            continue
        _, seconds = timed(partial(check, model.content, found.proof, limit=10**12))
        size = sum(max(r.grown) for r in found.automaton.account)
        text = f"proofs L={layers} H={heads} S={states} letters={letters}: {size} states in all layers"
        print(f"{text}, {len(found.proof)} bytes, checked in {seconds:.2f} s", flush=True)
        out.append({"title": text, "bytes": len(found.proof), "seconds": seconds, "states": size})
    return out


def mona(share: float) -> list[dict[str, Any]]:
    """Minimal automata against MONA's, where it is installed."""
    if shutil.which("mona") is None:
        print("mona: not installed; skipped", flush=True)
        return []
    from mona import compare

    found: list[dict[str, Any]] = compare(round(100 * share))
    return found


def wrong(share: float) -> list[dict[str, Any]]:
    """The set of lengths at which a random automaton is wrong about a language: equations, terms, seconds."""
    from restrict.all_lengths.compare import spelled
    from restrict.all_lengths.verify import named
    from restrict.all_lengths.wrong import equations_of, settled_pair

    out = []
    for spec in ("majority", "anbn", "dyck:1", "dyck:2", "palindromes:ab", "shuffle-dyck:2"):
        language = named(spec)
        for size in (10, 40, 80)[: max(1, round(3 * share))]:
            rng = np.random.default_rng(0)
            delta = rng.integers(size, size=(size, len(language.alphabet))).astype(np.int32)
            one = Moore(language.alphabet, delta, rng.integers(2, size=size), ("reject", "accept", ""), True)
            start = time.perf_counter()
            found = equations_of(one, spelled(language))
            first, turn = settled_pair(found)
            row = {"title": f"{spec}, {size} states", "equations": len(found.system.names)}
            row |= {"terms": found.system.size, "from": first, "period": turn, "seconds": time.perf_counter() - start}
            text = f"{row['equations']} equations of {row['terms']} terms, from {first} with period {turn}"
            print(f"wrong {row['title']}: {text}, {row['seconds']:.2f} s", flush=True)
            out.append(row)
    return out


SUITES: dict[str, Callable[[float], list[dict[str, Any]]]] = {
    "two": lambda s: [suite("two letters, L=3 H=3 S=8, all masks", round(100 * s), 1, 3, 3, 8, 2)],
    "deep": lambda s: [suite("two letters, L=6 H=4 S=16, all masks", round(50 * s), 120, 6, 4, 16, 2)],
    "past": lambda s: [suite("two letters, L=6 H=4 S=16, past masks", round(200 * s), 10, 6, 4, 16, 2, True)],
    "four": lambda s: [suite("four letters, L=3 H=3 S=8, all masks", round(50 * s), 60, 3, 3, 8, 4)], "curve": curve,
    "mixed": mixed, "free": free, "large": large, "wrong": wrong, "back": back, "formulas": formulas,
    "proofs": proofs, "mona": mona,
}  # fmt: skip


def main() -> None:
    """Run the suites that are named, or all."""
    parser = arguments(__doc__, None)
    parser.add_argument("suites", nargs="*", help=", ".join(SUITES))
    parser.add_argument("--share", type=float, default=1.0, help="run this share of each suite")
    parser.add_argument("--skip", type=int, default=0, help="begin with this seed (to run a suite in parts)")
    options = parser.parse_args()
    OPTIONS["skip"] = options.skip
    transformer(0, 2, 2, 4, 2, False)  # compiles the kernels
    results = {name: SUITES[name](options.share) for name in options.suites or SUITES}
    written(options.output, results)


if __name__ == "__main__":
    main()
