"""The command `soft write`: the file of a model. Imported with the command line, so it stays light."""

from restrict.cli.common import JSON, Given, command, output_option
from restrict.cli.printer import put
from restrict.cli.soft_common import MODEL


@command("write")
@MODEL
@output_option("the file", required=True)
@JSON
def write_command(o: Given) -> None:
    """Write MODEL, such as a built-in one, as a restrict-soft/1 file."""
    from restrict.soft.models.source import load

    loaded = load(o.model)
    loaded.save(o.output)
    document = {"file": str(o.output), "name": loaded.name, "sha256": loaded.digest, "symbols": len(loaded.alphabet)}
    put(f"{loaded!r} in {o.output}", document, o.as_json)
