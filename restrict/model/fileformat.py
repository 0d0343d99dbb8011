"""Reading and writing ``restrict-model/1`` files (docs/format.md). Loading a file never runs code from it."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from restrict.base.errors import ModelError, UsageError
from restrict.base.files import STANDARD_INPUT, is_regular, naming, read_bytes, will_read, write_bytes
from restrict.base.strictjson import one_line_lists, translated
from restrict.base.tensorfile import is_safetensors
from restrict.checker.account import LARGEST, Meter, Place, require
from restrict.checker.formats import HEAD, MAP, MODEL, VARIABLES
from restrict.checker.main import DEFAULT_LIMIT, uncollected
from restrict.checker.read import integer, read_json, record, string, thing
from restrict.checker.rules import read_rule
from restrict.checker.tensors import Files, Tensor
from restrict.model.document import FORMAT
from restrict.model.foreign import softmax_hint
from restrict.model.program import Head, Map, Model, Output, Size, Variable
from restrict.model.rules import Dot, Formula, Rule, Table


def load(path: str | Path) -> Model:
    """Read a model file. ``path``: the file; its tensor files lie beside it. Those of a pipe, or of ``-`` (standard
    input), lie in the working folder."""
    path, content = Path(path), read_bytes(Path(path))
    if not is_regular(path):
        return loads(content, "standard input" if str(path) == STANDARD_INPUT else str(path), Path())
    return loads(content, str(path), path.parent, path)


def loads(content: bytes, source: str = "model", folder: Path | None = None, path: Path | None = None) -> Model:
    """A model from the bytes of a file. ``folder``: where its tensor files lie; by default the current folder."""
    if is_safetensors(content) or (content[8:9] == b"{" and content[:1] != b"{"):
        raise ModelError(f"{source}: {_weights_message(content)}")
    with naming(source), uncollected(), translated(source):
        return _model(content, source, folder or Path(), path)


def _weights_message(content: bytes) -> str:
    """What to do with a safetensors file, which is never a hard-attention program."""
    known = softmax_hint(content)
    if known:
        return known
    ways = "`restrict import weights` reads exact hard-attention weights, `restrict soft import` softmax ones"
    return f"a safetensors file, not {FORMAT!r}; {ways}"


def _model(content: bytes, source: str, folder: Path, path: Path | None) -> Model:
    """A model, read by the trusted checker's tables of fields; what they cannot say is checked when it is made."""
    top, meter = Place(source), Meter(DEFAULT_LIMIT)
    fields = record(read_json(content, top, meter), MODEL, top)
    listed, inside = fields["variables"], top.key("variables")
    require(len(listed) <= VARIABLES, inside, f"more than {VARIABLES} variables")
    for name in fields.get("files", {}):
        will_read(folder / name)
    files = Files(folder, fields.get("files", {}), top.key("files"), meter)
    output = fields["output"]
    accept, labels = output.get("accept"), output.get("labels")
    repeated = accept is not None and len(set(accept)) < len(accept)
    require(not repeated, top.key("output").key("accept"), "a value occurs twice")
    return Model(
        name=fields["name"],
        alphabet=tuple(fields["alphabet"]),
        variables=tuple(_variable(thing(v, at := inside.item(t)), at, files) for t, v in enumerate(listed)),
        output=Output(
            output["variable"],
            output["position"],
            None if accept is None else frozenset(accept),
            None if labels is None else tuple(labels),
        ),
        start_marker=fields.get("start_marker"),
        end_marker=fields.get("end_marker"),
        when=fields.get("when"),
        description=fields.get("description", ""),
        digest=hashlib.sha256(content).hexdigest(),
        source=path,
        content=content,
    )


def _variable(value: dict[str, Any], place: Place, files: Files) -> Variable:
    fields = record(value, MAP if value.get("kind") == "map" else HEAD, place)
    size = _size(fields["domain"], place.key("domain")) if "domain" in fields else None
    if "map" in fields:
        rule = _rule(fields["map"], place.key("map"), {"i", *fields["args"]}, files)
        assert size is not None
        return Map(fields["name"], tuple(fields["args"]), size, rule)
    score = _rule(fields["score"], place.key("score"), set("qkij"), files)
    given = {key: fields[key] for key in ("query", "key", "mask", "ties", "default") if key in fields}
    return Head(fields["name"], fields["value"], score, domain=size, **given)


def _size(value: Any, place: Place) -> Size | str:
    size: int | str = value if isinstance(value, str) else integer(1, LARGEST)(value, place)
    return size


def _rule(value: Any, place: Place, names: set[str], files: Files) -> Rule | str:
    """The text of an expression, which the model parses; or tensors, which the checker reads."""
    if not isinstance(value, dict):
        return str(string(value, place))
    tree = read_rule(value, place, names, files).tree
    parts = [value["table"]] if tree.op == "table" else [value["dot"][role] for role in ("query", "key")]
    tables = [_table(tensor, part) for tensor, part in zip(tree.value, parts, strict=True)]
    return tables[0] if tree.op == "table" else Dot(tables[0], tables[1])


def _table(tensor: Tensor, part: dict[str, Any]) -> Table:
    """The entries as an array, and the file that they lie in."""
    values = np.array(tensor.entries.data, dtype=np.int64).reshape(tuple(tensor.entries.sizes))
    return Table(tuple(tensor.sizes), values, (part["file"], part["tensor"]) if "file" in part else None)


# ---------------------------------------------------------------- writing


def to_document(model: Model) -> dict[str, Any]:
    """The JSON object of a model of expressions and tables; ``UsageError``: it has Python callables or tensor files."""
    output = model.output
    answers = {
        "variable": output.variable, "position": output.position,
        "accept": None if output.accept is None else sorted(output.accept),
        "labels": None if output.labels is None else list(output.labels),
    }  # fmt: skip
    return _present({
        "format": FORMAT, "name": model.name, "description": model.description or None,
        "alphabet": list(model.alphabet), "start_marker": model.start_marker, "end_marker": model.end_marker,
        "when": _dump_size(model.when), "variables": [_dump_variable(v) for v in model.variables],
        "output": _present(answers),
    })  # fmt: skip


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that have a value."""
    return {key: value for key, value in fields.items() if value is not None}


def _dump_variable(variable: Variable) -> dict[str, Any]:
    name, size = variable.name, _dump_size(variable.domain)
    if isinstance(variable, Map):
        fields = {"kind": "map", "args": list(variable.args), "domain": size, "map": _dump_rule(variable.map, name)}
    else:
        fields = {"kind": "head", "query": variable.query, "key": variable.key, "value": variable.value}
        fields |= {"score": _dump_rule(variable.score, name), "mask": variable.mask, "ties": variable.ties}
        fields |= {"default": variable.default, "domain": size}
    return {"name": name} | _present(fields)


def _dump_size(size: Size | str | None) -> int | str | None:
    return size.text if isinstance(size, Formula) else size


def _dump_rule(rule: object, name: str) -> Any:
    match rule:
        case Formula(text=text):
            return text
        case Table():
            return {"table": _dump_table(rule, name)}
        case Dot():
            return {"dot": {"query": _dump_table(rule.query, name), "key": _dump_table(rule.key, name)}}
    raise UsageError(
        f"variable {name!r} is a Python callable, which a file cannot hold; write it as an expression or a table"
    )


def _dump_table(table: Table, name: str) -> dict[str, Any]:
    if table.source is not None:
        raise UsageError(f"variable {name!r} reads a tensor file; copy the model file and its tensor files instead")
    return {"axes": list(table.axes), "values": table.values.tolist()}


def dumps(document: dict[str, Any]) -> bytes:
    """A model file's bytes, of :func:`to_document`'s object: UTF-8, one variable per line; the same for the same
    model."""
    return (one_line_lists(document, 2) + "\n").encode()


def save(model: Model, path: str | Path) -> Model:
    """Write a model file and read it back, so that the result carries its digest."""
    write_bytes(Path(path), dumps(to_document(model)))
    return load(path)
