"""The command `soft import`: weights of other libraries to a model file. Part of the group in restrict.cli.soft."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from restrict.cli.common import FILE, JSON, Whole, output_option
from restrict.cli.printer import Told, put

if TYPE_CHECKING:
    from restrict.soft.importers import Comparison, Imported, Options

SYMBOLS = "letters side by side, or separated by spaces"


@click.command("import")
@click.argument("file", type=FILE)
@output_option("the model", required=True)
@click.option("--config", type=FILE, help="Its configuration; else NAME.config.json or config.json beside FILE.")
@click.option(
    "--compare", "recorded", type=FILE, help="Recorded tokens and logits (.npz or JSON) that the model must give."
)
@click.option(
    "--tolerance", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=1e-5, show_default=True,
    help="Of --compare, relative to the largest recorded logit.",
)  # fmt: skip
@click.option("--layout", type=click.Choice(["gpt2", "transformer-lens", "torch"]), help="The names of the tensors.")
@click.option("--heads", type=Whole(1), help="Heads of a layer.")
@click.option("--alphabet", help=f"What the rows of the embedding stand for: {SYMBOLS}.")
@click.option("--labels", help="Names of the read-out's rows, separated by spaces.")
@click.option("--start-marker", help="The token pinned in front; empty for none.")
@click.option("--end-marker", help="The token pinned at the end; empty for none.")
@click.option("--never", help="Tokens that no input has (PAD, SEP), separated by spaces; empty for none.")
@click.option("--norm-first/--norm-last", default=None, help="torch: as given to nn.TransformerEncoderLayer.")
@click.option("--causal/--not-causal", default=None, help="torch: whether the encoder is called with a causal mask.")
@click.option("--place", type=click.Choice(["last", "first", "every"]), help="The position where the output is read.")
@click.option("--read-out", type=click.Choice(["label", "set"]), help="The greatest logit, or all positive ones.")
@click.option("--activation", type=click.Choice(["relu", "gelu", "gelu_tanh"]), help="Of the networks.")
@click.option("--eps", help="The constant of LayerNorm, a decimal.")
@click.option("--positions", type=click.Choice(["none"]), help="none: the model has no position embeddings.")
@click.option("--offset", type=Whole(0), help="The row of the position table that position 0 gets.")
@click.option("--names", default=None, metavar="ROLE=NAME,...", help="torch: embedding=, position=, unembedding=.")
@JSON
def import_command(
    file: Path, output: Path, config: Path | None, recorded: Path | None, tolerance: float, as_json: bool, **given: Any
) -> None:
    """Map the weights of FILE (safetensors) to a restrict-soft/1 file; nothing of it is executed.

    FILE has GPT-2's names, those of TransformerLens, or is the state dict of an nn.TransformerEncoder. What the weights
    and the configuration do not say is assumed and printed; --compare excludes wrong assumptions.
    """
    from restrict.soft.importers import compare, import_weights, read_record

    options = options_of(given)
    found = import_weights(file, options, config=config)
    agreed = None
    if recorded is not None:
        record = read_record(recorded, found.tokens)
        agreed = compare(found, record, tolerance=tolerance, source=file, options=options, config=config)
    found.model.save(output)
    put(Told(lambda: text(found, agreed, output), lambda: document(found, agreed, output)), as_json)


def options_of(given: dict[str, Any]) -> Options:
    """What the options of the command say."""
    from restrict.base.errors import UsageError
    from restrict.soft.importers import Options

    pairs = [part.partition("=") for part in (given.pop("names") or "").split(",") if part]
    for role, _, name in pairs:
        if role not in ("embedding", "position", "unembedding") or not name:
            raise UsageError("--names takes embedding=NAME, position=NAME, unembedding=NAME, separated by commas")
    alphabet, labels, never = (given.pop(key) for key in ("alphabet", "labels", "never"))
    return Options(
        alphabet=None if alphabet is None else tuple(symbols_of(alphabet)),
        labels=None if labels is None else tuple(labels.split()),
        never=None if never is None else tuple(never.split()),
        names={role: name for role, _, name in pairs},
        **given,
    )


def symbols_of(text: str) -> list[str]:
    """The symbols of an option."""
    return text.split() if " " in text.strip() else list(text)


def document(found: Imported, agreed: Comparison | None, output: Path) -> dict[str, Any]:
    """What --json prints."""
    model = found.model
    told: dict[str, Any] = {"file": str(output), "name": model.name, "sha256": model.digest}
    told |= {"symbols": len(model.alphabet), "layout": found.layout, "settings": [vars(s) for s in found.settings]}
    return told | {"compared": None if agreed is None else vars(agreed)}


def text(found: Imported, agreed: Comparison | None, output: Path) -> str:
    """What is said without --json: every setting with its origin, then the comparison."""
    names = max(len(s.name) for s in found.settings)
    values = max(len(s.value[:40]) for s in found.settings)
    told = [f"  {s.name:<{names}}  {s.value:<{values}}  {s.text()}" for s in found.settings]
    if agreed is not None:
        told.append(
            f"compared: {agreed.numbers} logits of {agreed.words} words differ by at most {agreed.difference:.3g} "
            f"(allowed {agreed.allowed:.3g})"
        )
        if agreed.untold:
            told.append(f"the record does not tell these apart from what was taken: {'; '.join(agreed.untold[:6])}")
    elif found.assumed:
        told.append(
            f"{len(found.assumed)} settings are assumed; --compare RECORD with recorded logits excludes wrong ones"
        )
    return "\n".join([*told, f"{found.model!r} in {output}"])
