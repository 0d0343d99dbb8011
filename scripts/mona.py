"""Order-only programs in M2L-str for MONA, and the comparison of the minimal automata.

Every variable value is a set of positions: ``v_c`` holds the positions where ``v`` has value ``c``. A head's value is
defined through its winner: the position that is visible and no visible position beats. Words over two letters; no
markers and no predicates of positions.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from restrict.all_lengths.moore import moore
from restrict.all_lengths.recognise import recognise
from restrict.all_lengths.stages import build
from restrict.model.fileformat import loads
from tests import naive
from tests.formula_automaton import same
from tests.generator import random_transformer

VISIBLE = {"none": "true", "past": "j <= i", "strict_past": "j < i", "future": "j >= i", "strict_future": "j > i"}


def encode(document: dict[str, Any]) -> str:
    """The program as a formula of M2L-str that holds for the accepted words; the letter b is the free variable X."""
    sizes = {"token": 2}
    names: list[str] = []
    lines = []
    for v in document["variables"]:
        name = v["name"]
        sizes[name] = v["domain"] if v["kind"] == "map" else sizes[v["value"]]
        names += [f"{name}_{c}" for c in range(sizes[name])]
        lines.append(_map(v, sizes) if v["kind"] == "map" else _head(v, sizes))
    last = document["output"]["variable"]
    accept = " | ".join(f"max($) in {last}_{c}" for c in document["output"]["accept"]) or "false"
    sets = f"ex2 {', '.join(names)}: " if names else ""
    body = " & ".join([*lines, f"({accept})"])
    return f"m2l-str;\nvar2 X;\n(ex1 p: p = p) & ({sets}{body});\n"


def _is(name: str, value: int, place: str) -> str:
    if name == "token":
        return f"{place} in X" if value else f"{place} notin X"
    return f"{place} in {name}_{value}"


def _map(v: dict[str, Any], sizes: dict[str, int]) -> str:
    args = v["args"]
    cases: dict[int, list[str]] = {c: [] for c in range(v["domain"])}
    for point in np.ndindex(*[sizes[a] for a in args]):
        value = naive.evaluate(v["map"], dict(zip(args, map(int, point), strict=True)))
        cases[value].append(" & ".join(_is(a, int(c), "i") for a, c in zip(args, point, strict=True)) or "true")
    parts = [
        f"(i in {v['name']}_{c} <=> ({' | '.join(f'({t})' for t in tests) or 'false'}))" for c, tests in cases.items()
    ]
    return f"(all1 i: {' & '.join(parts)})"


def _head(v: dict[str, Any], sizes: dict[str, int]) -> str:
    q, k, value = v["query"], v["key"], v["value"]
    seen = VISIBLE[v.get("mask", "none")]
    parts = []
    for u in range(sizes[q]):
        ranks = [naive.evaluate(v["score"], {"q": u, "k": w}) for w in range(sizes[k])]
        beats = []
        for w in range(sizes[k]):
            better = [f"({_is(k, x, 'j')})" for x in range(sizes[k]) if ranks[x] > ranks[w]]
            equal = [f"({_is(k, x, 'j')})" for x in range(sizes[k]) if ranks[x] == ranks[w]]
            side = "j > h" if v.get("ties", "left") == "right" else "j < h"
            bad = " | ".join([*better, f"({side} & ({' | '.join(equal)}))"])
            beats.append(f"({_is(k, w, 'h')} & ~(ex1 j: {seen} & ({bad})))")
        winner = f"{seen.replace('j', 'h')} & ({' | '.join(beats)})"
        for c in range(sizes[v["name"]]):
            found = f"(ex1 h: {winner} & {_is(value, c, 'h')})"
            none = f" | ~(ex1 j: {seen})" if c == v.get("default", 0) else ""
            parts.append(f"({_is(q, u, 'i')} => (i in {v['name']}_{c} <=> ({found}{none})))")
    return f"(all1 i: {' & '.join(parts)})"


def automaton(document: dict[str, Any], seconds: float) -> tuple[list[list[int]], list[bool], float] | None:
    """MONA's minimal automaton (from the state after its initial step) and its time; ``None`` where it takes longer."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.mona"
        path.write_text(encode(document))
        start = time.perf_counter()
        call = ["mona", "-w", str(path)]
        try:
            done = subprocess.run(call, capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return None
    taken = time.perf_counter() - start
    if "unsatisfiable" in done.stdout:
        return [[0, 0]], [False], taken
    if "valid" in done.stdout and "State" not in done.stdout:
        return [[0, 0]], [True], taken
    moves: dict[int, dict[str, int]] = {}
    for q, symbol, to in re.findall(r"State (\d+): (\S) -> state (\d+)", done.stdout):
        moves.setdefault(int(q), {})[symbol] = int(to)
    good = {int(q) for q in re.findall(r"Accepting states: ([\d ]*)", done.stdout)[0].split()}
    first = next(iter(moves[0].values()))
    order = [first, *(q for q in moves if q != first)]
    table = [[order.index(moves[q].get(a, moves[q].get("X", -1))) for a in "01"] for q in order]
    return table, [q in good for q in order], taken


def compare(count: int) -> list[dict[str, Any]]:
    """Programs of one layer, or of two with two states: both automata, states and times."""
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for at in range(count):
        document = random_transformer(rng, 1 + at % 3 // 2, 1 + at % 2, 2)
        start = time.perf_counter()
        ours = moore(build(recognise(loads(json.dumps(document).encode()))))
        seconds = time.perf_counter() - start
        theirs = automaton(document, 20)
        row: dict[str, Any] = {"states": ours.states, "seconds": seconds, "mona_states": None, "agree": None}
        if theirs is not None:
            row |= {"mona_states": len(theirs[0]), "mona_seconds": theirs[2], "agree": same(ours, theirs[:2])}
        rows.append(row)
    done = [r for r in rows if r["agree"] is not None]
    wrong = [r for r in done if not r["agree"]]
    slow = max((r["mona_seconds"] for r in done), default=0.0)
    ours_slow = max(r["seconds"] for r in rows)
    print(f"mona: {len(done)} of {count} done by MONA within 20 s each (slowest {slow:.1f} s), {len(wrong)} differ")
    print(f"    the construction: all {count}, slowest {ours_slow:.2f} s")
    return rows
