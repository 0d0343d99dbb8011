"""Seeded random order-only programs: all masks, ties, several heads and layers, predicates, markers."""

from __future__ import annotations

from typing import Any

from numpy.random import Generator

MASKS = ("none", "past", "strict_past", "future", "strict_future")
SCORES = (
    "0",
    "k",
    "-k",
    "q == k",
    "q != k",
    "(k + q) % 2",
    "(q - k) % -3",
    "min(q, k, 1)",
    "abs(q - k)",
    "k if q else -k",
    "0 < k <= q",
    "hash(k, {seed}) % 3",
    "hash(q, k, {seed}) % 2",
    "hash(q, k, {seed})",
)
PLACED = (
    "(j % 2) * k",
    "k - j % 3",
    "k == 1 or q == j % 2",
    "n % 2 == 0 and k",
    "j",
    "-j",
    "j if k else -1",
    "-j if k == q else 1",
    "2 * j + (k > 0)",
    "i - j",
    "n - j",
    "j == 0",
    "j == n - 1 and k",
    "(i + j) % 2",
    "j < 2 and q",
    "i % 2 == 0 and k",
    "min(j, 2) + k",
    "n - j <= 2",
    "(n - i) % 3 == k",
)
NEAR = ("i == j", "j == i - 1", "j == i + 1", "(j == i - 1) + k", "j > i - 2 and k", "2 * (i != j) + (q == k)")


def random_order_only(
    rng: Generator, letters: int = 2, most: int = 5, placed: float = 0.25, near: float = 0.08
) -> dict[str, Any]:
    """A random order-only model with up to ``most`` variables."""
    model: dict[str, Any] = {"format": "restrict-model/1", "name": "random", "alphabet": list("abcd"[:letters])}
    if rng.random() < 0.25:
        model["start_marker"] = "<"
    if rng.random() < 0.25:
        model["end_marker"] = ">"
    markers = ("start_marker" in model) + ("end_marker" in model)
    if rng.random() < 0.05:
        model["when"] = str(rng.choice(["n % 2 == 0", "n > 3", "n % 3 != 1"]))
    sizes = {"token": letters + markers}
    variables: list[dict[str, Any]] = []

    def pick() -> str:
        names = list(sizes)
        return names[-1] if rng.random() < 0.4 else names[int(rng.integers(len(names)))]

    for at in range(int(rng.integers(1, most + 1))):
        name = f"v{at}"
        if rng.random() < 0.35:
            variables.append(_map(rng, name, sizes, pick, placed))
        else:
            variables.append(_head(rng, name, sizes, pick, placed, near))
    model["variables"] = variables
    out = list(sizes)[-1]
    position = "last" if rng.random() < 0.8 else "every"
    model["output"] = {
        "variable": out,
        "position": position,
        "accept": [v for v in range(sizes[out]) if rng.random() < 0.5],
    }
    return model


def _map(rng: Generator, name: str, sizes: dict[str, int], pick: Any, placed: float) -> dict[str, Any]:
    size = 2 + int(rng.integers(3))
    args = list(dict.fromkeys(pick() for _ in range(int(rng.integers(1, 4)))))
    total = " + ".join(f"{1 + int(rng.integers(3))} * {a}" for a in args)
    forms = [
        f"({total}) % {size}",
        f"hash({', '.join(args)}, {int(rng.integers(999))}) % {size}",
        f"min({args[0]}, {size - 1})",
    ]
    if rng.random() < placed:
        forms = [
            f"({total} + i) % {size}",
            f"({args[0]} + n) % {size}",
            f"{args[0]} % {size} if i < 2 else 0",
            f"(n - i + {total}) % {size}",
            f"(i == n - 1) * ({total}) % {size}",
            f"min(i, {size - 1})",
            f"i // 2 % {size}",
            f"hash(i % 3, {args[0]}) % {size}",
            f"({total} + position) % {size}" if "position" not in args else "0",
        ]
        rule = str(rng.choice(forms))
        if "position" in rule:
            args.append("position")
    else:
        rule = str(rng.choice(forms))
    sizes[name] = size
    return {"name": name, "kind": "map", "args": args, "domain": size, "map": rule}


def _head(rng: Generator, name: str, sizes: dict[str, int], pick: Any, placed: float, near: float) -> dict[str, Any]:
    query, key, value = pick(), pick(), pick()
    draw = rng.random()
    pool = NEAR if draw < near else PLACED if draw < near + placed else SCORES
    score: Any = str(rng.choice(pool)).format(seed=int(rng.integers(1000)))
    if pool is SCORES and rng.random() < 0.2:
        score = {"table": {"axes": ["q", "k"], "values": rng.integers(0, 3, size=(sizes[query], sizes[key])).tolist()}}
    head = {"name": name, "kind": "head", "query": query, "key": key, "value": value, "score": score}
    head["mask"] = str(rng.choice(MASKS))
    head["ties"] = str(rng.choice(["left", "right"]))
    sizes[name] = sizes[value] + int(rng.random() < 0.2)
    head["domain"] = sizes[name]
    head["default"] = int(rng.integers(sizes[name]))
    return head


def random_transformer(
    rng: Generator, layers: int, heads: int, states: int, letters: int = 2, masks: tuple[str, ...] = MASKS
) -> dict[str, Any]:
    """Hahn's form with order-only scores: independent hashed scores and maps, random masks and ties."""
    seed = int(rng.integers(1 << 30))
    variables: list[dict[str, Any]] = []
    below = "token"
    for layer in range(layers):
        names = []
        for h in range(heads):
            names.append(f"a{layer}_{h}")
            head = {"name": names[-1], "kind": "head", "query": below, "key": below, "value": below}
            head |= {"score": f"hash({seed}, {layer}, {h}, q, k)", "mask": str(rng.choice(masks))}
            head |= {"ties": str(rng.choice(["left", "right"]))}
            variables.append(head)
        size = 2 if layer == layers - 1 else states
        args = [below, *names]
        rule = f"hash({seed}, {layer}, 99, {', '.join(args)}) % {size}"
        below = f"y{layer}"
        variables.append({"name": below, "kind": "map", "args": args, "domain": size, "map": rule})
    output = {"variable": below, "position": "last", "accept": [1]}
    alphabet = list("abcdefgh"[:letters])
    return {
        "format": "restrict-model/1",
        "name": "random",
        "alphabet": alphabet,
        "variables": variables,
        "output": output,
    }
