"""The command `soft import`: weights of other libraries to a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from restrict.base.errors import UsageError
from restrict.base.files import will_write
from restrict.cli.common import FILE, JSON, PATH, Given, Whole, command, file_option, option, output_option
from restrict.cli.printer import put

if TYPE_CHECKING:
    from restrict.soft.importers import Options

SYMBOLS = "letters side by side, or separated by spaces"


@command("import")
@click.argument("file", type=PATH)
@output_option("the model")
@file_option(
    "--weights", "Write NAME.safetensors with GPT-2's names, NAME.config.json beside it: what soft verify reads."
)
@option("--config", FILE, "Its configuration; else NAME.config.json or config.json beside FILE.")
@option("--compare recorded", FILE, "Recorded tokens and logits (.npz or JSON) that the model must give.")
@option(
    "--tolerance",
    click.FloatRange(0, 1, min_open=True, max_open=True),
    "Of --compare, relative to the largest recorded logit.",
    default=1e-5,
)
@option("--layout", ("gpt2", "transformer-lens", "torch"), "The names of the tensors.")
@option("--heads", Whole(1), "Heads of a layer.")
@option("--alphabet", None, f"What the rows of the embedding stand for: {SYMBOLS}.")
@option("--labels", None, "Names of the read-out's rows, separated by spaces.")
@option("--start-marker", None, "The token pinned in front; empty for none.")
@option("--end-marker", None, "The token pinned at the end; empty for none.")
@option("--never", None, "Tokens that no input has (PAD, SEP), separated by spaces; empty for none.")
@click.option("--norm-first/--norm-last", default=None, help="torch: as given to nn.TransformerEncoderLayer.")
@click.option("--causal/--not-causal", default=None, help="torch: whether the encoder is called with a causal mask.")
@option("--place", ("last", "first", "every"), "The position where the output is read.")
@option("--read-out", ("label", "set"), "The greatest logit, or all positive ones.")
@option("--activation", ("relu", "gelu", "gelu_tanh"), "Of the networks.")
@option("--eps", None, "The constant of LayerNorm, a decimal.")
@option("--positions", ("none",), "none: the model has no position embeddings.")
@option("--offset", Whole(0), "The row of the position table that position 0 gets.")
@option("--names", None, "torch: embedding=, position=, unembedding=.", metavar="ROLE=NAME,...")
@JSON
def import_command(o: Given) -> None:
    """Map the weights of FILE (safetensors) to a restrict-soft/1 file (-o) or to GPT-2's names (--weights).

    FILE has GPT-2's names, those of TransformerLens, or is the state dict of an nn.TransformerEncoder. What the weights
    and the configuration do not say is assumed and printed; --compare excludes wrong assumptions. Nothing of FILE is
    executed, and no number of it is changed.
    """
    from restrict.soft.importers import compare, import_weights, read_record, save_gpt2_names
    from restrict.soft.importers.gpt2_names import config_of

    if o.output is None and o.weights is None:
        raise UsageError("give -o for a restrict-soft/1 file, --weights for one with GPT-2's names, or both")
    if o.weights is not None:
        will_write(config_of(o.weights))
    options = options_of(o)
    found = import_weights(o.file, options, config=o.config)
    agreed = None
    if o.recorded is not None:
        record = read_record(o.recorded, found.tokens)
        agreed = compare(found, record, tolerance=o.tolerance, source=o.file, options=options, config=o.config)
    made = None if o.weights is None else save_gpt2_names(found, o.weights)
    if o.output is not None:
        found.model.save(o.output)
    told = [found.text(), *(found.doubts() if agreed is None else agreed.lines())]
    told += [] if made is None else made.lines(o.weights)
    told += [] if o.output is None else [f"{found.model!r} in {o.output}"]
    document = found.document()
    place: dict[str, Any] = {} if o.output is None else {"file": str(o.output)}
    place |= {} if made is None else {"weights": str(o.weights), "read_out": made.read_out, "notes": list(made.notes)}
    first = {key: document[key] for key in ("name", "sha256")}
    put("\n".join(told), first | place | document | {"compared": agreed and vars(agreed)}, o.as_json)


GIVEN = (
    "layout", "heads", "start_marker", "end_marker", "norm_first", "activation", "causal", "place", "read_out", "eps",
    "positions", "offset",
)  # fmt: skip
"""Options that are passed on as they are."""


def options_of(o: Given) -> Options:
    """What the options of the command say."""
    from restrict.soft.importers import Options

    pairs = [part.partition("=") for part in (o.names or "").split(",") if part]
    for role, _, name in pairs:
        if role not in ("embedding", "position", "unembedding") or not name:
            raise UsageError("--names takes embedding=NAME, position=NAME, unembedding=NAME, separated by commas")
    return Options(
        alphabet=None if o.alphabet is None else tuple(symbols_of(o.alphabet)),
        labels=None if o.labels is None else tuple(o.labels.split()),
        never=None if o.never is None else tuple(o.never.split()),
        names={role: name for role, _, name in pairs},
        **o.only(*GIVEN),
    )


def symbols_of(text: str) -> list[str]:
    """The symbols of an option."""
    return text.split() if " " in text.strip() else list(text)
