"""The trusted checker as the tests use it: its parts under one name, with proofs from the elaborator."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from restrict.base.errors import RestrictError
from restrict.checker import kernel, lower, main, proof, read, rules
from restrict.checker.account import Meter, Place, Reject, Task
from restrict.checker.formats import Certificate
from restrict.checker.main import DEFAULT_LIMIT, check_files
from restrict.checker.read import JSON_BYTES, read_json
from restrict.elaboration import hints
from restrict.elaboration.context import Known
from restrict.elaboration.hints import Hints
from restrict.elaboration.make import Elaboration
from restrict.elaboration.rows import Rows
from restrict.elaboration.tokens import Tokens
from restrict.elaboration.trusted import proof_in_memory
from restrict.elaboration.writer import Writer
from restrict.model.fileformat import loads

FOLDER = Path(str(main.__file__)).parent
MODULES = tuple(import_module(f"restrict.checker.{name}") for name in (
    "account", "read", "tensors", "rules", "formats", "lower", "normal_form", "kernel", "tree", "proof", "one_length",
    "refutation", "lower_bound", "main", "rows", "positions", "program", "machines", "window", "labelling", "costs",
    "equations", "lengths", "claims", "all_lengths", "soft_terms", "soft_sets", "soft_model", "soft_layers", "soft_run",
    "soft",
))  # fmt: skip
FILES = tuple(Path(str(module.__file__)) for module in (*MODULES, hints))
"""What refuses a file of a user: the checker, and the reader of hints for the elaborator."""
__all__ = [
    "DEFAULT_LIMIT", "FILES", "FOLDER", "JSON_BYTES", "MODULES", "Place", "Reject", "bind", "check_files",
    "elaborated_here", "hints", "interval", "main", "nodes", "parse", "prepare", "read", "verify",
]  # fmt: skip


def verify(model: bytes, certificate: bytes, *, limit: int = DEFAULT_LIMIT, **names: Any) -> str:
    """The checker's line, by a proof that is elaborated in memory; every failure is a ``Reject``."""
    try:
        return main.verify(model, certificate, limit=limit, proof=proof_in_memory(limit), **names)
    except RestrictError as error:
        raise Reject(error.exit_code, str(error)) from None


def parse(text: str, place: Place, names: Any) -> rules.Tree:
    """The syntax tree of an expression."""
    return rules.Parser(text, place, names, Meter(DEFAULT_LIMIT)).tree


def emitted(tree: rules.Tree, spans: Mapping[str, tuple[int, int]], place: Place) -> rules.Emitter:
    """The code of a tree over registers with these intervals; ``n`` is a register like all others."""
    names = {"size" if name == "n" else name: at for at, name in enumerate(spans)}
    emitter = rules.Emitter(names, [1] * len(spans), 1, [], place, Meter(DEFAULT_LIMIT))
    emitter.spans = list(spans.values())
    emitter.finish(renamed(tree))
    return emitter


def renamed(tree: rules.Tree) -> rules.Tree:
    """The tree without the name ``n``, which would be a number."""
    value = "size" if tree.op == "name" and tree.value == "n" else tree.value
    return tree._replace(value=value, args=tuple(map(renamed, tree.args)))


def interval(tree: rules.Tree, spans: Mapping[str, tuple[int, int]], place: Place) -> tuple[int, int]:
    """The interval of a tree."""
    return emitted(tree, spans, place).spans[-1]


def bind(tree: rules.Tree, known: dict[str, int], others: list[str]) -> Any:
    """The code of the tree with the known names folded in: a function of a tuple with the others."""

    def value(given: Sequence[int]) -> Any:
        point = {**known, **dict(zip(others, given, strict=True))}
        at = {name: register for register, name in enumerate(point)}
        code = emitted(tree, {name: (value, value) for name, value in point.items()}, Place("test")).code()
        code = code.given({at[name]: number for name, number in known.items()})
        found = code.value({at[name]: point[name] for name in others})
        assert isinstance(found, int)
        return +found  # a truth value is a number

    return value


def prepare(model: bytes, certificate: bytes, folder: str | Path = ".") -> Certificate:
    """Both files, read."""
    meter, top = Meter(DEFAULT_LIMIT), Place("certificate")
    document = read_json(certificate, top, meter)
    return Certificate(Task(document, top, model, Place("model"), Path(folder), meter), document, top)


def nodes(
    model: bytes, certificate: bytes, folder: str | Path = "."
) -> dict[tuple[str, int], tuple[tuple[int, ...], tuple[int, ...]]]:
    """Values and dependencies of every node of the cone, both sorted: the kernel's facts, by a proof of them all."""
    found, meter = prepare(model, certificate, folder), Meter(DEFAULT_LIMIT)
    instance, written = loads(model, "model", Path(folder)).at(found.n), lower.lower(found.model)
    digest, known_rows = sha256(written).hexdigest(), Rows(instance, meter)
    writer = Writer(instance, digest, meter)
    runs = read.runs_of(found.fixed.bounds)
    fixed = [(*run, (symbol,)) for run, symbol in zip(runs, found.fixed.symbols, strict=True)]
    tokens = Tokens.make(found.n, len(instance.model.alphabet), fixed, instance.pinned)
    known, cone = Known(instance, tokens, known_rows), Hints(found).cone
    names = [variable.name for variable in instance.model.variables if variable.name in cone]
    listed = [(name, at) for name in names for run in read.runs_of(cone[name]) for at in range(*run)]
    for node in listed:
        known.examine(*node)
    for said in known.statements:
        known_rows.keep(said)
    writer.write_rows(known_rows)
    context = writer.box(-1, fixed)
    for said in known.statements:
        writer.statement(context, said)
    writer.add(f"all {context} {found.free.bit_count()} {found.n}")
    checked = proof.check(written, writer.to_bytes(), (Place("program"), Place("proof")), Meter(DEFAULT_LIMIT)).kernel
    free = {at for at in range(found.n) if found.free >> at & 1}
    facts = {node: checked.known(context, writer.numbers[node[0]], node[1]) for node in listed}
    return {node: (tuple(sorted(values)), where(checked, runs, free)) for node, (values, runs) in facts.items()}


def where(checked: kernel.Kernel, runs: int, free: set[int]) -> tuple[int, ...]:
    """The free positions among those that a fact depends on."""
    if runs < 0:
        return () if runs == kernel.NONE else (kernel.NONE - 1 - runs,)
    return tuple(sorted(free.intersection(kernel.positions(checked.runs[runs]))))


def elaborated_here(model: bytes, certificate: bytes, folder: Path, names: Sequence[str], limit: int) -> bytes:
    """What `main.elaborated` has from another process, without one."""
    try:
        return Elaboration(
            model, certificate, folder=folder, model_name=names[0], certificate_name=names[1], limit=limit
        ).made.proof
    except RestrictError as error:
        raise Reject(error.exit_code, str(error)) from None
