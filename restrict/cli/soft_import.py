"""The command `soft import`: weights of other libraries to a model file. Part of the group in restrict.cli.soft."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from restrict.base.errors import UsageError
from restrict.base.files import will_write
from restrict.cli.common import FILE, JSON, Whole, file_option, output_option
from restrict.cli.printer import Told, put

if TYPE_CHECKING:
    from restrict.soft.importers import Comparison, Imported, Options
    from restrict.soft.importers.gpt2_names import Written

SYMBOLS = "letters side by side, or separated by spaces"


@click.command("import")
@click.argument("file", type=FILE)
@output_option("the model")
@file_option(
    "--weights", text="Write NAME.safetensors with GPT-2's names, NAME.config.json beside it: what soft verify reads."
)
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
@click.option("--names", metavar="ROLE=NAME,...", help="torch: embedding=, position=, unembedding=.")
@JSON
def import_command(
    file: Path, output: Path | None, weights: Path | None, config: Path | None, recorded: Path | None, tolerance: float,
    as_json: bool, **given: Any,
) -> None:  # fmt: skip
    """Map the weights of FILE (safetensors) to a restrict-soft/1 file (-o) or to GPT-2's names (--weights).

    FILE has GPT-2's names, those of TransformerLens, or is the state dict of an nn.TransformerEncoder. What the weights
    and the configuration do not say is assumed and printed; --compare excludes wrong assumptions. Nothing of FILE is
    executed, and no number of it is changed.
    """
    from restrict.soft.importers import compare, import_weights, read_record, save_gpt2_names
    from restrict.soft.importers.gpt2_names import config_of

    if output is None and weights is None:
        raise UsageError("give -o for a restrict-soft/1 file, --weights for one with GPT-2's names, or both")
    if weights is not None:
        will_write(config_of(weights))
    options = options_of(given)
    found = import_weights(file, options, config=config)
    agreed = None
    if recorded is not None:
        record = read_record(recorded, found.tokens)
        agreed = compare(found, record, tolerance=tolerance, source=file, options=options, config=config)
    made = None if weights is None else save_gpt2_names(found, weights)
    if output is not None:
        found.model.save(output)
    where = Files(output, weights, made)
    put(Told(lambda: text(found, agreed, where), lambda: document(found, agreed, where)), as_json)


class Files(NamedTuple):
    """What was written: the model, the weights with GPT-2's names, and what is to be said of these."""

    model: Path | None
    weights: Path | None
    made: Written | None


def options_of(given: dict[str, Any]) -> Options:
    """What the options of the command say."""
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


def document(found: Imported, agreed: Comparison | None, files: Files) -> dict[str, Any]:
    """What --json prints."""
    model = found.model
    told: dict[str, Any] = {"name": model.name, "sha256": model.digest}
    told |= {} if files.model is None else {"file": str(files.model)}
    if files.made is not None:
        told |= {"weights": str(files.weights), "read_out": files.made.read_out, "notes": list(files.made.notes)}
    told |= {"symbols": len(model.alphabet), "layout": found.layout, "settings": [vars(s) for s in found.settings]}
    return told | {"compared": None if agreed is None else vars(agreed)}


def text(found: Imported, agreed: Comparison | None, files: Files) -> str:
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
    if files.made is not None:
        told += [f"note: {note}" for note in files.made.notes]
        told.append(f"the same numbers with GPT-2's names in {files.weights}, which restrict soft verify reads")
    if files.model is not None:
        told.append(f"{found.model!r} in {files.model}")
    return "\n".join(told)
