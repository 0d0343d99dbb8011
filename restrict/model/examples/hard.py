"""Hard families for the Depth Reduction Lemma: models on which one of its stages has real work to do.

All have an output at every position and are families over ``n``; hashed constants make them reproducible.
``tribes-trap``: the value that captures attention takes all of ``width`` inputs (choose about log2 n), so a random
restriction rarely forces it (Stage 3). ``shared-hubs``: many layer-1 activations read the same few inputs (Stage
1). ``dot-dense`` and ``dot-sparse``: scores are integer dot products of hashed vectors, so many heads prefer the same
positions, or have ties.
"""

from collections.abc import Callable
from typing import Any

from restrict.model.document import head, mapped, model


def _document(name: str, text: str, variables: list[dict[str, Any]]) -> dict[str, Any]:
    return model(name, text, "01", variables, {"variable": variables[-1]["name"], "position": "every"})


def tribes_trap(width: int = 8, seed: int = 0) -> dict[str, Any]:
    """A head that attends to the best-ranked position whose tribe of `width` inputs agrees with its pattern.

    Layer 1 reads `width` hashed positions at every position `i` (one head each); `trap` is 1 when all of them agree
    with a pattern: on half of the positions it is part of one hidden assignment, on the others it is random, so these
    contradict each other. Layer 2 attends, in a hashed order of its own at every position, to the first trap that is 1.
    ``width``: inputs per tribe, 1 .. 80; ``seed``: of the hashed constants, at least 0.
    """
    where = [f"hash({seed}, {t}, i) % n" for t in range(width)]
    reads = [head(f"read{t}", value="token", score=f"j == {place}") for t, place in enumerate(where)]
    agree = [
        f"read{t} == (hash({seed}, 1000, {place}) % 2 if hash({seed}, 2000, i) % 2 else hash({seed}, 3000, {t}, i) % 2)"
        for t, place in enumerate(where)
    ]
    trap = mapped("trap", [r["name"] for r in reads], 2, " and ".join(agree))
    score = f"(k == 1) * 1000000000 + hash({seed}, 4000, i, j) % 1000000000"
    seen = head("seen", key="trap", value="token", score=score)
    text = f"at every position the symbol at the best-ranked position whose {width} inputs agree with its pattern"
    return _document("tribes-trap", text, [*reads, trap, seen])


def shared_hubs(width: int = 3, states: int = 3, seed: int = 0) -> dict[str, Any]:
    """Layer-1 activations that share inputs: each is a random function of its symbol and of some hubs.

    There are isqrt(n) hubs, so one hub feeds about `width` isqrt(n) activations. Layer 2 is one head with independent
    hashed scores over them. ``width``: hubs per activation, 1 .. 1000; ``states``: values per activation, at least 1;
    ``seed``: of the hashed constants, at least 0.
    """
    reads = [head(f"hub{t}", value="token", score=f"j == hash({seed}, {t}, i) % isqrt(n)") for t in range(width)]
    args = ["token", *(r["name"] for r in reads)]
    mixed = mapped("mixed", args, states, f"hash({seed}, 1000, i, {', '.join(args)}) % {states}")
    seen = head("seen", query="mixed", key="mixed", value="mixed", score=f"hash({seed}, 2000, i, q, j, k)")
    text = f"random functions of the symbol and {width} of isqrt(n) hubs, then one head with hashed scores"
    return _document("shared-hubs", text, [*reads, mixed, seen])


def _dot(name: str, text: str, entry: Callable[[str, int], str], dim: int, seed: int) -> dict[str, Any]:
    """One layer of two heads whose scores are dot products of hashed vectors of (query, i) and (key, j)."""
    heads = []
    for h in range(2):
        terms = [
            f"({entry(f'hash({seed}, {h}, {d}, q, i)', d)}) * ({entry(f'hash({seed}, {h}, {1000 + d}, k, j)', d)})"
            for d in range(dim)
        ]
        heads.append(head(f"head{h}", query="token", key="token", value="token", score=" + ".join(terms)))
    out = mapped("out", ["token", "head0", "head1"], 2, "(token + head0 + head1) % 2")
    return _document(name, text, [*heads, out])


def dot_dense(dim: int = 6, seed: int = 0) -> dict[str, Any]:
    """Two heads whose scores are dot products of dense hashed vectors with entries -50..50.

    ``dim``: the dimension of the vectors, 1 .. 120; ``seed``: of the hashed constants, at least 0.
    """
    text = f"dot products of dense vectors of dimension {dim}; the parity of the symbol and what two heads bring"
    return _dot("dot-dense", text, lambda h, d: f"{h} % 101 - 50", dim, seed)


def dot_sparse(dim: int = 6, seed: int = 0) -> dict[str, Any]:
    """Two heads whose scores are dot products of sparse 0/1 hashed vectors (one entry in four is 1): ties abound.

    ``dim``: the dimension of the vectors, 1 .. 120; ``seed``: of the hashed constants, at least 0.
    """
    text = f"dot products of sparse 0/1 vectors of dimension {dim}; the parity of the symbol and what two heads bring"
    return _dot("dot-sparse", text, lambda h, d: f"{h} % 4 == 0", dim, seed)


HARD: dict[str, Callable[..., dict[str, Any]]] = {
    build()["name"]: build for build in (tribes_trap, shared_hubs, dot_dense, dot_sparse)
}
