"""The command `soft export`: a model's weights for PyTorch. Imported with the command line, so it stays light."""

from restrict.cli.common import JSON, LENGTH, Given, command, flag, output_option
from restrict.cli.printer import put
from restrict.cli.soft_common import MODEL, warn


@command("export")
@MODEL
@LENGTH
@output_option("the file", required=True)
@flag("--float64", "In double precision, instead of single.")
@JSON
def export_command(o: Given) -> None:
    """Write the weights of MODEL at one length as an nn.Module's (safetensors), for PyTorch.

    restrict.simulate.torch_export.load_module reads the file; ReLU networks and dot-product scores only.
    """
    from restrict.simulate.torch_export import save
    from restrict.soft.models.source import load

    loaded, kind = load(o.model), "float64" if o.float64 else "float32"
    save(loaded, o.n, o.output, kind)
    document = {"file": str(o.output), "model": loaded.name, "n": o.n, "type": kind}
    document["beyond_certified"] = loaded.beyond(o.n, kind)
    put(f"{loaded!r} at n = {o.n} in {kind}: {o.output}", document, o.as_json)
    warn(loaded, o.n, kind)
