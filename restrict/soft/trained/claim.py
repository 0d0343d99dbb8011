"""What a certificate of a verdict says of the claim: the model's architecture, the words, and what is wanted behind
them."""

from __future__ import annotations

from typing import Any

from restrict.base.errors import ModelError, UsageError, quote
from restrict.base.options import Fact
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Trained
from restrict.soft.trained.reader import ended, inside
from restrict.soft.trained.wrong import Wrong

MOST_LAYERS: Fact[int] = 16
MOST_ROWS: Fact[int] = 4096
"""Of the vocabulary, and of the width, in the checker."""
MOST_SYMBOLS: Fact[int] = 4096
"""Of a word in the checker, a reader among them."""


def head(kind: str, model: Trained, graph: Graph, **lengths: int) -> dict[str, Any]:
    """The beginning of a certificate: its format, the model, what it says of lengths, and the claim."""
    return {"format": kind, "model": model_document(model)} | lengths | claim_document(graph)


def wrong_document(model: Trained, wrong: Wrong) -> dict[str, Any]:
    """What a certificate says of a wrong word: a reader stands behind it."""
    word = ended(inside(model), wrong)
    assert word is not None
    return {"word": list(word.word), "label": wrong.label}


def claim_document(graph: Graph) -> dict[str, Any]:
    """What a certificate says of the words and of what is wanted behind them: ``language`` and, where there is one,
    ``memory``, with the state of the language that each state refines. ``graph``: with any number of memories."""
    of, base = list(range(len(graph.delta))), graph
    while base.base is not None:
        of, base = [base.of[q] for q in of], base.base
    found: dict[str, Any] = {
        "language": {
            "delta": [list(row) for row in base.delta],
            "accept": sorted(base.accept),
            "labels": list(base.labels),
            "want": [sorted(want) for want in base.want],
        }
    }
    if base.greatest:
        found["language"]["read_out"] = "greatest"
    if graph is not base:
        found["memory"] = {"delta": [list(row) for row in graph.delta], "of": of}
    return found


def graph_of_document(root: dict[str, Any]) -> Graph:
    """The graph on which a certificate's cases are, with its memory."""
    language, memory = root["language"], root.get("memory")
    labels, want = tuple(language["labels"]), tuple(frozenset(w) for w in language["want"])
    greatest, closing, accept = "read_out" in language, "reads" in root["model"], frozenset(language["accept"])
    delta, of = tuple(map(tuple, language["delta"])), tuple(range(len(want)))
    base = Graph(delta, accept, labels, want, of, greatest=greatest, closing=closing)
    return base.refined(map(tuple, memory["delta"]), memory["of"]) if memory else base


def model_document(model: Trained) -> dict[str, Any]:
    """What a certificate says of the architecture. ``ModelError``: none that a verdict can be about."""
    model.demand_names()
    if model.epsilon.numerator != 1 or model.epsilon.denominator >= 10**16:
        raise ModelError(f"{model.name}: layer_norm_epsilon must be 1/N with N below 10^16, not {model.epsilon}")
    if not 2 <= min(model.embed.shape) <= max(model.embed.shape) <= MOST_ROWS:
        rows, d = model.embed.shape
        raise ModelError(f"{model.name} has {rows} tokens and width {d}; verdicts are about 2 to {MOST_ROWS} of both")
    if model.reader is not None and model.reader == model.bos:
        raise ModelError(
            f"{model.name}: {quote(model.vocab[model.reader])} stands in front of the word and behind it, too "
            "(bos_token_id, end_marker_token_id): no verdict covers that"
        )
    if len(model.layers) > MOST_LAYERS:
        raise ModelError(f"{model.name} has {len(model.layers)} layers; verdicts are about at most {MOST_LAYERS}")
    if model.reader is not None and len(model.layers) > 1:
        raise ModelError(
            f"{model.name} has {len(model.layers)} layers and is read at {quote(model.vocab[model.reader])}: that is "
            "covered in one layer"
        )
    model = inside(model)
    return (
        ({} if len(model.layers) == 1 else {"layers": len(model.layers)})
        | {
            "name": model.name,
            "sha256": model.sha256,
            "heads": model.heads,
            "epsilon": f"1/{model.epsilon.denominator}",
            "activation": model.activation,
            "positions": "none" if model.positions is None else "learned",
            "offset": model.offset,
            "tied": "yes" if model.tied else "no",
            "alphabet": list(model.symbols),
            "rows": list(model.tokens),
        }
        | ({} if model.bos is None else {"start": model.bos})
        | ({} if model.norm == "" else {"norm": model.norm})
        | ({} if model.reader is None else {"reads": "first" if model.ahead else "last"})
    )


def demand_length(model: Trained, n: int) -> None:
    """Refuse a number of symbols that no word of a verdict has."""
    limit = MOST_SYMBOLS - (model.reader is not None)
    if not 0 <= n <= limit:
        raise UsageError(f"-n must be at most {limit}, not {n}")
    if n < model.first:
        raise UsageError(
            f"{model.name} has no start token, and so no answer behind the empty word: -n must be at least 1"
        )
