"""The commands `soft write` and `soft export`: a model's file, and its weights for PyTorch. Light."""

from __future__ import annotations

from pathlib import Path

import click

from restrict.cli.common import JSON, LENGTH, output_option
from restrict.cli.printer import Told, put
from restrict.cli.soft_common import MODEL, warn


@click.command("export")
@MODEL
@LENGTH
@output_option("the file", required=True)
@click.option("--float64", is_flag=True, help="In double precision, instead of single.")
@JSON
def export_command(model: str, n: int, output: Path, float64: bool, as_json: bool) -> None:
    """Write the weights of MODEL at one length as an nn.Module's (safetensors), for PyTorch.

    restrict.simulate.torch_export.load_module reads the file; ReLU networks and dot-product scores only.
    """
    from restrict.simulate.torch_export import save
    from restrict.soft.models.source import load

    loaded, kind = load(model), "float64" if float64 else "float32"
    save(loaded, n, output, kind)
    document = {"file": str(output), "model": loaded.name, "n": n, "type": kind}
    document["beyond_certified"] = loaded.beyond(n, kind)
    put(Told(lambda: f"{loaded!r} at n = {n} in {kind}: {output}", lambda: document), as_json)
    warn(loaded, n, kind)


@click.command("write")
@MODEL
@output_option("the file", required=True)
@JSON
def write_command(model: str, output: Path, as_json: bool) -> None:
    """Write MODEL, such as a built-in one, as a restrict-soft/1 file."""
    from restrict.soft.models.source import load

    loaded = load(model)
    loaded.save(output)
    document = {"file": str(output), "name": loaded.name, "sha256": loaded.digest, "symbols": len(loaded.alphabet)}
    put(Told(lambda: f"{loaded!r} in {output}", lambda: document), as_json)
