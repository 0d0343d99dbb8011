"""Checking from Python and from the command line: elaborate the proof in memory, and let the kernel decide. The user's
file is read by the checker's own reader; the elaborator writes the proof down, and the kernel checks every line of it
(docs/kernel.md). Proofs of other kinds are decided by the checker's modules for them.

A model without a file at one length, with tables in place of its Python callables: so it can be a file.
"""

import dataclasses
from dataclasses import replace
from itertools import product
from math import prod

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import ModelError, ResourceLimit, UsageError, quote
from restrict.base.strictjson import Record
from restrict.certificate.claimed import Claimed, Weights
from restrict.certificate.refutation import Refutation
from restrict.elaboration.trusted import trusted_check
from restrict.model.arguments import the_model
from restrict.model.fileformat import dumps, loads, to_document
from restrict.model.program import Head, Instance, Map, Model, Variable, rule_of
from restrict.model.rules import Callback, Dot, Rule, Table, formula, int64

FAST_LIMIT = 10**12
"""Steps of ``fast``: no limit that matters."""
ENTRIES = 1 << 22
"""The most values of a callable that are tabulated."""


def check(model: Model | Weights, certificate: Record, *, fast: bool = False, limit: int | None = None) -> str:
    """Verify a certificate, a refutation or a lower bound; or what is shown at every length, or of a softmax model.

    The trusted checker (restrict/checker) reads the bytes of both; at one length its kernel decides. A model built from
    Python callables has no file: it is tabulated at the certificate's length, and the line ends in ``unsigned`` in
    place of a digest.

    Cost: docs/checker.md.

    Args:
        model: the program, or the softmax model.
        certificate: what is to be verified: any result with a file that the trusted checker reads.
        fast: let the engine's compiled scans decide on the rows of the proof, without a limit that matters where
            none is given.
        limit: the most steps, by default those of docs/checker.md.

    Returns:
        The line ``s VERIFIED ...``.

    Raises:
        NotEstablished: the claim does not follow, or the result has no proof.
        ModelError: the certificate is malformed or for another model; or it is a refutation of a model without a file.
        ResourceLimit: more than ``limit`` steps, not enough memory, or callables with too many values to tabulate.
        UsageError: something else than a model and one of these was given.
    """
    content = getattr(model, "content", None)
    if not isinstance(content, bytes):
        the_model(model)
    if not isinstance(certificate, Record):
        raise UsageError(
            f"expected a Certificate, a Refutation or a LowerBound, not {quote(certificate)}; "
            "restrict.load_certificate reads a certificate's file"
        )
    limit = FAST_LIMIT if fast and limit is None else limit
    if isinstance(content, bytes):
        source = getattr(model, "source", None)
        return trusted_check(content, certificate.to_bytes(), source, "certificate", limit, fast)
    assert isinstance(model, Model)
    if not isinstance(certificate, Claimed):
        raise ModelError("model: only what is shown at one length can be checked of a model without a file")
    if isinstance(certificate, Refutation):
        raise ModelError(
            "model: a refutation of a model without a file cannot be checked again; it was when it was made"
        )
    if certificate.sha256 is not None:
        raise ModelError(f"model.sha256: the certificate is for another model ({certificate.sha256})")
    made = tabulated(model, certificate.n)
    assert made.content is not None
    named = dataclasses.replace(certificate, sha256=made.digest)
    line = trusted_check(made.content, named.to_bytes(), None, "certificate", limit, fast)
    return line.rsplit(" ", 1)[0] + " unsigned"


def tabulated(model: Model, n: int) -> Model:
    """A model with the same values, defined at this length alone; ``content`` has the bytes of its file. Cost: one call
    of each callable for every combination of what it may read."""
    instance = model.at(n)
    variables = tuple(_written(instance, variable) for variable in model.variables)
    return loads(dumps(to_document(replace(model, variables=variables, when=f"n == {n}"))))


def _written(instance: Instance, variable: Variable) -> Variable:
    """The variable with a rule that a file can hold."""
    rule = _rule(instance, variable)
    return replace(variable, score=rule) if isinstance(variable, Head) else replace(variable, map=rule)


def _rule(instance: Instance, variable: Variable) -> Rule:
    rule = rule_of(variable)
    if isinstance(rule, Table):
        return replace(rule, source=None)
    if isinstance(rule, Dot):
        return Dot(replace(rule.query, source=None), replace(rule.key, source=None))
    return _table(instance, variable, rule) if isinstance(rule, Callback) else rule


def _table(instance: Instance, variable: Variable, rule: Callback) -> Rule:
    """A callable's values at all that it may read; axes along which nothing changes are left out."""
    n, sizes = instance.n, instance.domains
    if isinstance(variable, Map):
        names, shape = ("i", *variable.args), [n, *(sizes[arg] for arg in variable.args)]
    else:
        names = ("i", "q", "j", "k")
        query, key = (1 if role is None else sizes[role] for role in (variable.query, variable.key))
        shape = [n, query, n, key]
    if (count := prod(shape)) > ENTRIES:
        raise ResourceLimit(
            f"variable {variable.name!r}: a Python callable with {count} values at n = {n}; at most 2^22 can be "
            "tabulated for a check; write it as an expression or a table"
        )
    what = "map" if isinstance(variable, Map) else "score"
    found = (int64(rule.function(n, *point), what) for point in product(*map(range, shape)))
    return _without_constant_axes(names, np.fromiter(found, dtype=np.int64, count=count).reshape(shape))


def _without_constant_axes(names: tuple[str, ...], values: I64) -> Rule:
    for axis in reversed(range(values.ndim)):
        if values.shape[axis] and (values == values.take([0], axis)).all():
            values, names = np.asarray(values.take(0, axis)), names[:axis] + names[axis + 1 :]
    if names:
        return Table(names, values)
    number = int(values)  # an expression has no literal for -2^63
    return formula(str(number) if number >= 0 else f"{number + 1} - 1", frozenset())
