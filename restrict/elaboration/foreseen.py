"""How long the kernel will take for a claim about every position, from a few positions: an automatic check that cannot
end within its steps is not begun. Only an automatic check may rest on it, since it is an estimate."""

from pathlib import Path

import numpy as np

from restrict.base.strictjson import translated
from restrict.certificate.certificate import Certificate
from restrict.checker import formats
from restrict.checker.account import Meter, Place
from restrict.checker.normal_form import Program
from restrict.checker.one_length import program_of, read_claim
from restrict.elaboration.context import Known
from restrict.elaboration.make import instance_of, least_steps, task_of
from restrict.elaboration.rows import Rows
from restrict.elaboration.tokens import Tokens, fixed_cells
from restrict.elaboration.writer import Writer
from restrict.model.program import Head, Instance, Model
from restrict.model.variables import references

SAMPLE = 16
"""So many positions, evenly spread: up to n = 1000 (one layer, two heads, binary) the estimate is a tenth off. They
take 0.05 s, where the proof of all took two seconds to be given up."""


def beyond(model: Model, found: Certificate, limit: int) -> bool:
    """Whether a check of a claim about every position takes more than ``limit`` steps, by what the kernel charges for
    the rows that read tokens. Other rows come on top; so the estimate is low where there are several layers."""
    if found.c >= found.free or model.content is None:
        return False  # a claim that says nothing needs no facts
    n, folder, places = found.n, model.source.parent if model.source else Path(), (Place("model"), Place("certificate"))
    with translated("certificate"):
        task = task_of(model.content, found.to_bytes(), places, folder, Meter(limit))
        claim = read_claim(task)
        assert isinstance(claim, formats.Certificate)
        program = Program(program_of(claim), Place("program"), Meter(limit))
        writer = sampled(claim, instance_of(claim, task), Meter(limit))
        return least_steps(program, writer) * n > limit * min(n, SAMPLE)


def read_tokens(instance: Instance) -> list[Head]:
    """The heads that the output reads, directly or not, and that compare tokens or positions."""
    model, given = instance.model, (None, "token", "position")
    read, found = {model.output.variable}, list[Head]()
    for variable in reversed(model.variables):
        if variable.name in read:
            read.update(name for _, name in references(variable))
            if isinstance(variable, Head) and instance.key(variable) in given and instance.query(variable) in given:
                found.append(variable)
    return found


def sampled(certificate: formats.Certificate, instance: Instance, meter: Meter) -> Writer:
    """The lines about the heads that read tokens, at the sampled positions."""
    meter.place = certificate.top
    cells = fixed_cells(certificate)
    tokens = Tokens.make(instance.n, len(instance.model.alphabet), cells, instance.pinned)
    rows, writer = Rows(instance, meter), Writer(instance, "", meter)
    known = Known(instance, tokens, rows)
    places = np.linspace(0, instance.n - 1, min(instance.n, SAMPLE) + 2, dtype=int)[1:-1].tolist()
    for head in read_tokens(instance):
        for i in places:
            known.examine(head.name, i)
    for said in known.statements:
        rows.keep(said)
    writer.write_rows(rows)
    for said in known.statements:
        writer.statement(0, said)
    return writer
