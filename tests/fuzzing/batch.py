"""All words of a length at once: the same values as `tests/naive.py` gives one by one, which a test compares.

A score is tabulated over positions, query values and key values, a map over its arguments; where that is too much, the
caller evaluates word by word.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from tests import naive

Values = dict[str, Any]
ENTRIES = 30_000
"""A table has at most so many entries."""


def batch_values(instance: naive.Instance, words: Sequence[Sequence[int]]) -> list[list[int]] | None:
    """The output variable at every position of every word, or None where a table would be too large."""
    n, count = instance.n, len(words)
    values: Values = {"token": np.array([naive.tokens(instance.model, x, n) for x in words], dtype=np.int64)}
    values["position"] = np.tile(np.arange(n, dtype=np.int64), (count, 1))
    for variable in instance.model["variables"]:
        found = (mapped if variable["kind"] == "map" else attended)(instance, variable, values)
        if found is None:
            return None
        values[variable["name"]] = found
    rows: list[list[int]] = values[instance.model["output"]["variable"]].tolist()
    return rows


def mapped(instance: naive.Instance, variable: dict[str, Any], values: Values) -> Any:
    """A map, from its table."""
    sizes = [instance.n, *(instance.domain[arg] for arg in variable["args"])]
    if np.prod(np.array(sizes, dtype=float)) > ENTRIES:
        return None
    function = instance.function[variable["name"]]
    table = np.array([function(*point) for point in product(*map(range, sizes))], dtype=np.int64).reshape(sizes)
    return table[(values["position"], *(values[arg] for arg in variable["args"]))]


def attended(instance: naive.Instance, head: dict[str, Any], values: Values) -> Any:
    """A head, position by position."""
    n, query, key = instance.n, naive.query_of(head), naive.key_of(head)
    asked, shown = (instance.domain[role] if role else 1 for role in (query, key))
    if float(n * n) * asked * shown > ENTRIES:
        return None
    score, zero = instance.score[head["name"]], np.zeros_like(values["token"])
    q, k, source = values[query] if query else zero, values[key] if key else zero, values[head["value"]]
    out = np.full_like(source, head.get("default", 0))
    words = np.arange(len(source))
    for i in range(n):
        seen = naive.visible(head.get("mask", "none"), i, n)
        if not seen:
            continue
        if head.get("ties", "left") == "right":
            seen = seen[::-1]
        table = np.array(
            [[[score(i, u, j, w) for w in range(shown)] for j in seen] for u in range(asked)], dtype=np.int64
        )
        found = table[q[:, i][:, None], np.arange(len(seen))[None, :], k[:, seen]]
        out[:, i] = source[words, np.array(seen)[found.argmax(axis=1)]]
    return out
