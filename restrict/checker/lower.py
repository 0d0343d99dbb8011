"""A `restrict-model/1` at one length, as the checker's reader has it, in the normal form `restrict-program/1`.

Variables keep their order: token, position, then as in the model. The last one is the label map.
"""

from __future__ import annotations

from .account import Place, exhausted
from .formats import Model
from .normal_form import FILE_BYTES


def label_table(model: Model) -> list[int] | None:
    """The number of each value's label; None where the value is its own label."""
    domain = model.domains[model.output]
    if model.labels is not None:
        return list(model.labels)
    return None if model.accept is None else [+(value in model.accept) for value in range(domain)]


def lower(model: Model) -> bytes:
    """The bytes of the program."""
    tensors, domain, code = [data for data, _ in model.tables], model.domains[model.output], ""
    entries = sum(map(len, tensors)) + (0 if model.accept is None else domain)
    if 2 * entries > FILE_BYTES:
        exhausted(Place("program"), "its tensors are larger than 64 MiB")
    model.meter.charge(entries)
    model.meter.hold(64 * entries)
    output, table = model.numbers[model.output], label_table(model)
    if table is not None:
        domain = 2 if model.accept is not None else len(model.label_names)
        code = f" t {len(tensors)} 1"
        tensors.append(table)
    lines = [*model.lines, f"map {domain} 1 {output}{code}"]
    start = +any(at == 0 for at, _ in model.markers)
    first = f"restrict-program/1 {model.n} {len(model.alphabet)} {start} {len(model.markers) - start} {output}"
    data = ["tensor" + "".join(f" {value}" for value in tensor) for tensor in tensors]
    found = "\n".join([first, *data, *lines, ""]).encode("ascii")
    if len(found) > FILE_BYTES:
        exhausted(Place("program"), "larger than 64 MiB")
    return found
