"""Seeded random programs, restrictions and cones: every feature of docs/format.md at sizes that brute force can do.

Scores come mostly from small ranges, so that ties are the rule and not the exception. Every program is well-formed at
each length `shortest(model) .. LONGEST`, or only at the one length that was asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.random import Generator

from tests import naive

LONGEST = 7
MASKS = ("none", "past", "strict_past", "future", "strict_future")
SCORES = (
    "0",
    "k",
    "-k",
    "q == k",
    "q != k",
    "(k + q) % 2",
    "(q - k) % -3",
    "(q - k) // 2",
    "k // 2 - q % 2",
    "min(q, k, 1)",
    "abs(q - k)",
    "max(i - j, 0)",
    "i == j",
    "j == i - 1",
    "-j",
    "(j % 2) * k",
    "k - j % 3",
    "k if q else -k",
    "k == 1 or q == j % 2",
    "not k and q < 2 <= 3",
    "isqrt(k + j)",
    "n % 2 == 0 and k",
    "0 < k <= q",
    "hash(k, {seed}) % 3",
    "hash(q, k, i, j, {seed}) % 2",
    "hash(k, j - {seed})",
    "hash(i, q, j, k, {seed})",
)


@dataclass
class Draft:
    """A program under construction. A domain is a size, or an expression over `n` where it changes with the length."""

    rng: Generator
    n: int | None
    domain: dict[str, int | str] = field(default_factory=dict)
    depth: dict[str, int] = field(default_factory=dict)
    variables: list[dict[str, Any]] = field(default_factory=list)

    def below(self, size: int) -> int:
        """A random integer in `0 .. size-1`."""
        return int(self.rng.integers(size))

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return bool(self.rng.random() < probability)

    def pick(self, names: list[str] | tuple[str, ...]) -> str:
        """One of the names."""
        return names[self.below(len(names))]

    def recent(self, names: list[str]) -> str:
        """One of the names, more likely a late one."""
        return names[-1] if self.chance(0.3) else self.pick(names)


def random_program(rng: Generator, n: int | None = None, longest_list: int = 6) -> dict[str, Any]:
    """A random well-formed model with up to `longest_list` variables of depth 0 to 3, for length `n` if it is given."""
    draft = Draft(rng, n)
    model: dict[str, Any] = {"format": "restrict-model/1", "name": "random"}
    model["alphabet"] = list("abcd"[: 2 + draft.below(3)])
    if draft.chance(0.3):
        model["start_marker"] = "<"
    if draft.chance(0.3) and (n != 1 or "start_marker" not in model):
        model["end_marker"] = ">"
    if n is not None:
        model["when"] = f"n == {n}"
    markers = ("start_marker" in model) + ("end_marker" in model)
    draft.domain = {"token": len(model["alphabet"]) + markers, "position": "n" if n is None else n}
    draft.depth = {"token": 0, "position": 0}
    for index in range(draft.below(longest_list + 1)):
        add = add_head if draft.chance(0.65) else add_map
        add(draft, f"v{index}")
    model["variables"] = draft.variables
    model["output"] = random_output(draft)
    return model


def declare(draft: Draft, variable: dict[str, Any], domain: int | str, depth: int) -> None:
    """Put a variable at the end of the list."""
    draft.variables.append(variable)
    draft.domain[variable["name"]] = domain
    draft.depth[variable["name"]] = depth


def add_map(draft: Draft, name: str) -> None:
    """A map of up to three arguments into a domain of one to four values."""
    names = list(draft.domain)
    args = [names[int(index)] for index in draft.rng.permutation(len(names))[: draft.below(4)]]
    if names[-1] not in args and draft.chance(0.5):
        args = [*args[:2], names[-1]]
    size = 1 if draft.chance(0.05) else 2 + draft.below(3)
    rule: Any = map_table(draft, args, size) if draft.chance(0.4) else map_expression(draft, args, size)
    written = size if draft.chance(0.7) else f"{size} + n // 100"
    variable = {"name": name, "kind": "map", "args": args, "domain": written, "map": rule}
    declare(draft, variable, size, max([draft.depth[a] for a in args], default=0))


def map_expression(draft: Draft, args: list[str], size: int) -> str:
    """An expression with values in `0 .. size-1`; for some, only trying all combinations shows it."""
    names = [*args, "i", "n"]
    a, b = draft.recent(names), draft.pick(names)
    forms = (
        f"({' + '.join(f'{draft.below(7) - 3} * {v}' for v in names)}) % {size}",
        f"hash({', '.join(names)}, {draft.below(1000)}) % {size}",
        f"hash({', '.join([*args, '7'])}) % {size}",
        f"min({a}, {size - 1})",
        f"{a} if {a} < {size} else 0",
        f"({a} == {b}) * {size - 1}",
        f"({a} < {b} or not {a}) % {size}",
        f"abs({a} - {b}) % {size}",
        f"-{a} % {size}",
        str(draft.below(size)),
    )
    return draft.pick(forms)


def map_table(draft: Draft, args: list[str], size: int) -> dict[str, Any]:
    """A table over some of the arguments, and perhaps `i`."""
    axes = [name for name in args if isinstance(draft.domain[name], int) and draft.chance(0.85)]
    if len(axes) < 3 and draft.chance(0.3):
        axes.insert(draft.below(len(axes) + 1), "i")
    return {"table": tensor(draft, {axis: axis_size(draft, axis) for axis in axes}, 0, size - 1)}


def axis_size(draft: Draft, name: str) -> int:
    """The size of the axis of a variable, or of `i` or `j`, for which it may be more than is needed."""
    if name in ("i", "j"):
        return (draft.n or LONGEST) + draft.below(2)
    size = draft.domain[name]
    assert isinstance(size, int)
    return size


def tensor(draft: Draft, sizes: dict[str, int], low: int, high: int) -> dict[str, Any]:
    """A tensor with the given axes and random entries in `low .. high`."""
    return {"axes": list(sizes), "values": draft.rng.integers(low, high + 1, size=list(sizes.values())).tolist()}


def add_head(draft: Draft, name: str) -> None:
    """A head; query, key and value are often one variable."""
    names = [v for v in draft.domain if draft.depth[v] < 3]
    query, key, value = draft.pick(names), draft.recent(names), draft.recent(names)
    if draft.chance(0.3):
        value = key
    if draft.chance(0.3):
        query = key
    if draft.chance(0.15):
        query = value
    head: dict[str, Any] = {"name": name, "kind": "head", "value": value, "score": random_score(draft, query, key)}
    for role, letter, variable in (("query", "q", query), ("key", "k", key)):
        if naive.mentions(head["score"], letter) or draft.chance(0.3):
            head[role] = variable
    if draft.chance(0.7):
        head["mask"] = draft.pick(MASKS)
    if draft.chance(0.6):
        head["ties"] = draft.pick(("left", "right"))
    domain = head_domain(draft, head)
    read = [value] + [head[role] for role in ("query", "key") if role in head]
    declare(draft, head, domain, 1 + max(draft.depth[v] for v in read))


def head_domain(draft: Draft, head: dict[str, Any]) -> int | str:
    """Choose the head's domain and default; returns the domain."""
    size = draft.domain[head["value"]]
    if draft.chance(0.4):
        grown = f"{size} + 1" if isinstance(size, str) or draft.chance(0.2) else size + draft.below(2)
        head["domain"] = grown
        size = size + 1 if isinstance(size, int) and isinstance(grown, str) else grown
    if draft.chance(0.5):
        head["default"] = draft.below(size) if isinstance(size, int) else 0
    return size


def random_score(draft: Draft, query: str, key: str) -> Any:
    """An expression, a table or a dot product."""
    kind = draft.below(4)
    if kind < 2:
        return draft.pick(SCORES).format(seed=draft.below(1000))
    sizes = {"q": draft.domain[query], "k": draft.domain[key], "i": axis_size(draft, "i"), "j": axis_size(draft, "j")}
    wanted = {"q": 0.7, "k": 0.9, "i": 0.2, "j": 0.3}
    known = {axis: size for axis, size in sizes.items() if isinstance(size, int) and draft.chance(wanted[axis])}
    axes = {a: known[a] for a in (list(known)[int(index)] for index in draft.rng.permutation(len(known)))}
    if kind == 2:
        return {"table": tensor(draft, axes, -1, 1 + draft.below(2))}
    dim = 1 + draft.below(3)
    left = {axis: size for axis, size in axes.items() if axis in "qi"} | {"dim": dim}
    right = {axis: size for axis, size in axes.items() if axis in "kj"} | {"dim": dim}
    return {"dot": {"query": tensor(draft, left, -1, 1), "key": tensor(draft, right, -1, 1)}}


def random_output(draft: Draft) -> dict[str, Any]:
    """Any variable, mostly the last one, with all three ways to name labels."""
    names = list(draft.domain)
    variable = names[-1] if draft.chance(0.7) else draft.pick(names)
    output: dict[str, Any] = {"variable": variable, "position": draft.pick(("last", "every"))}
    size = draft.domain[variable]
    kind = draft.below(3)
    if kind == 0:
        output["accept"] = [a for a in range(size) if draft.chance(0.5)] if isinstance(size, int) else [0]
    elif kind == 1 and isinstance(size, int):
        output["labels"] = [draft.pick(("x", "y", "z")) for _ in range(size)]
    return output


def shortest(model: dict[str, Any]) -> int:
    """The least length that the markers allow."""
    return 2 if "start_marker" in model and "end_marker" in model else 1


def random_length(rng: Generator, model: dict[str, Any]) -> int:
    """A length at which the model (made without `n`) is defined."""
    return int(rng.integers(shortest(model), LONGEST + 1))


def random_restriction(rng: Generator, model: dict[str, Any], n: int, most_inputs: int = 300) -> dict[int, str]:
    """A random restriction with at most `most_inputs` consistent inputs."""
    alphabet = model["alphabet"]
    free = naive.letters(model, n)
    share = rng.random()
    fixed = [i for i in free if rng.random() < share]
    left = [i for i in free if i not in fixed]
    while len(alphabet) ** len(left) > most_inputs:
        fixed.append(left.pop(int(rng.integers(len(left)))))
    return {i: str(alphabet[int(rng.integers(len(alphabet)))]) for i in sorted(fixed)}


def random_cone(rng: Generator, model: dict[str, Any], n: int) -> str | dict[str, list[list[int]]]:
    """`"all"`, or run lists for some of the variables; neighbouring runs are not always joined."""
    if rng.random() < 0.4:
        return "all"
    share = rng.random() ** 0.3
    cone = {}
    for variable in model["variables"]:
        runs: list[list[int]] = []
        for i in range(n):
            if rng.random() < share:
                if runs and sum(runs[-1]) == i and rng.random() < 0.7:
                    runs[-1][1] += 1
                else:
                    runs.append([i, 1])
        if runs:
            cone[variable["name"]] = runs
    return cone
