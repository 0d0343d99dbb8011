"""Reading and writing ``restrict-model/1`` files (docs/format.md). Loading a file never runs code from it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import numpy as np

from restrict.arrays import I64
from restrict.errors import ModelError, UsageError, quote
from restrict.files import STANDARD_INPUT, is_regular, read_bytes, write_bytes
from restrict.model.foreign import softmax_hint
from restrict.model.program import Head, Map, Model, Output, Size, Variable
from restrict.model.rules import Dot, Formula, Rule, Table
from restrict.model.validate import has_control
from restrict.strictjson import Node, one_line_lists, parse

FORMAT = "restrict-model/1"
_DTYPES = {"int64", "int32", "int16", "int8", "uint32", "uint16", "uint8"}


def load(path: str | Path) -> Model:
    """Read a model file.

    Args:
        path: the file; its tensor files lie beside it. Those of a pipe, or of ``-`` (standard input), lie in the
            working folder.

    Returns:
        The model, with its path, its bytes and their SHA-256.

    Raises:
        UsageError: the file cannot be read.
        ModelError: (file: place: reason) where it breaks a rule.
        ResourceLimit: a file of more than 64 MiB.
    """
    path, content = Path(path), read_bytes(Path(path))
    if not is_regular(path):
        return loads(content, "standard input" if str(path) == STANDARD_INPUT else str(path), Path())
    return loads(content, str(path), path.parent, path)


def loads(content: bytes, source: str = "model", folder: Path | None = None, path: Path | None = None) -> Model:
    """A model from the bytes of a file.

    Args:
        content: the bytes.
        source: what to call them in messages.
        folder: where its tensor files lie; by default the current folder.
        path: the file they were read from, if there is one.

    Returns:
        The model, with these bytes and their SHA-256.

    Raises:
        ModelError: the bytes break a rule of the format.
        UsageError: a tensor file cannot be read.
        ResourceLimit: a tensor file of more than 64 MiB.
    """
    if content[8:9] == b"{" and content[:1] != b"{":
        raise ModelError(f"{source}: {_weights_message(content)}")
    root = Node(parse(content, source), "top level")
    try:
        return _model(root, folder or Path(), content, path)
    except ModelError as error:
        raise ModelError(f"{source}: {error}") from None


def _weights_message(content: bytes) -> str:
    """What to do with a safetensors file, which is never a hard-attention program."""
    known = softmax_hint(content)
    if known:
        return known
    ways = "`restrict import weights` reads exact hard-attention weights, `restrict soft import` softmax ones"
    return f"a safetensors file, not {FORMAT!r}; {ways}"


def _model(root: Node, folder: Path, content: bytes, path: Path | None) -> Model:
    required = ("format", "name", "alphabet", "variables", "output")
    fields = root.fields(required, ("description", "start_marker", "end_marker", "when", "files"))
    if fields["format"].text() != FORMAT:
        fields["format"].fail(f"this is {quote(fields['format'].value)}, not {FORMAT!r}")
    tensors = _Tensors(fields.get("files"), folder)
    variables = fields["variables"].items()
    if len(variables) > 4096:
        fields["variables"].fail("more than 4096 variables")

    def optional(key: str) -> str | None:
        return fields[key].text() if key in fields else None

    return Model(
        name=fields["name"].text(),
        alphabet=tuple(s.text() for s in fields["alphabet"].items()),
        variables=tuple(_variable(v, tensors) for v in variables),
        output=_output(fields["output"]),
        start_marker=optional("start_marker"),
        end_marker=optional("end_marker"),
        when=optional("when"),
        description=optional("description") or "",
        digest=hashlib.sha256(content).hexdigest(),
        source=path,
        content=content,
    )


def _variable(node: Node, tensors: _Tensors) -> Variable:
    kind = node.expect(dict, "an object").get("kind")
    if kind == "map":
        fields = node.fields(("name", "kind", "args", "domain", "map"))
        args = tuple(a.text() for a in fields["args"].items())
        return Map(fields["name"].text(), args, _size(fields["domain"]), _rule(fields["map"], tensors, ("table",)))
    if kind != "head":
        node.fail(f"kind: {quote(kind)} is neither 'map' nor 'head'")
    fields = node.fields(("name", "kind", "value", "score"), ("query", "key", "mask", "ties", "default", "domain"))
    return Head(
        name=fields["name"].text(),
        value=fields["value"].text(),
        score=_rule(fields["score"], tensors, ("table", "dot")),
        query=fields["query"].text() if "query" in fields else None,
        key=fields["key"].text() if "key" in fields else None,
        mask=fields["mask"].text() if "mask" in fields else "none",  # type: ignore[arg-type] # validated with the model
        ties=fields["ties"].text() if "ties" in fields else "left",  # type: ignore[arg-type]
        default=fields["default"].integer() if "default" in fields else 0,
        domain=_size(fields["domain"]) if "domain" in fields else None,
    )


def _size(node: Node) -> Size | str:
    return node.value if isinstance(node.value, str) else node.integer(1)


def _rule(node: Node, tensors: _Tensors, kinds: tuple[str, ...]) -> Rule | str:
    if isinstance(node.value, str):
        return node.value
    kind = next((k for k in kinds if k in node.expect(dict, "an expression or a table")), kinds[0])
    inner = node.fields((kind,))[kind]
    if kind == "table":
        return tensors.read(inner)
    parts = inner.fields(("query", "key"))
    return Dot(tensors.read(parts["query"]), tensors.read(parts["key"]))


def _output(node: Node) -> Output:
    fields = node.fields(("variable", "position"), ("accept", "labels"))
    accept = [v.integer(0) for v in fields["accept"].items()] if "accept" in fields else None
    if accept is not None and len(set(accept)) != len(accept):
        fields["accept"].fail("a value occurs twice")
    labels = tuple(_label(v) for v in fields["labels"].items()) if "labels" in fields else None
    position = fields["position"].text()
    return Output(fields["variable"].text(), position, None if accept is None else frozenset(accept), labels)  # type: ignore[arg-type]


def _label(node: Node) -> str:
    text = node.text()
    if not text or has_control(text):
        node.fail("a label is a non-empty string without control characters")
    return text


class _Tensors:
    """Inline tensors, and those of the safetensors files that the model lists with their digests."""

    def __init__(self, files: Node | None, folder: Path) -> None:
        self.folder = folder
        self.digests: dict[str, str] = {}
        self.loaded: dict[str, dict[str, Any]] = {}
        for key, digest in (files.expect(dict, "an object") if files else {}).items():
            if not key or key in (".", "..") or "/" in key or "\\" in key:
                raise ModelError(f"files: {quote(key)} is not a plain file name")
            if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
                raise ModelError(f"files.{key}: expected a SHA-256 of 64 lower-case hex digits")
            self.digests[key] = digest

    def read(self, node: Node) -> Table:
        """A tensor object of the format."""
        inline = "values" in node.expect(dict, "a tensor")
        fields = node.fields(("axes", "values") if inline else ("axes", "file", "tensor"))
        axes = tuple(a.text() for a in fields["axes"].items())
        if inline:
            return Table(axes, _nested(fields["values"], len(axes)))
        file, tensor = fields["file"].text(), fields["tensor"].text()
        return Table(axes, self._from_file(fields["file"], file, tensor), (file, tensor))

    def _from_file(self, node: Node, file: str, tensor: str) -> I64:
        from safetensors import SafetensorError
        from safetensors.numpy import load as load_tensors

        if file not in self.digests:
            node.fail(f"{quote(file)} is not listed under 'files' with its SHA-256")
        if file not in self.loaded:
            content = read_bytes(self.folder / file, regular=True)
            if hashlib.sha256(content).hexdigest() != self.digests[file]:
                node.fail(f"the SHA-256 of {quote(file)} is not the one under 'files'")
            try:
                self.loaded[file] = load_tensors(content)
            except (SafetensorError, KeyError, ValueError) as error:
                node.fail(f"{quote(file)} is not a safetensors file: {quote(str(error))}")
        if tensor not in self.loaded[file]:
            node.fail(f"no tensor {quote(tensor)} in {quote(file)}")
        array = self.loaded[file][tensor]
        if array.dtype.name not in _DTYPES:
            node.fail(
                f"tensor {quote(tensor)} has type {array.dtype.name}; integers are needed (I64 I32 I16 I8 U32 U16 U8)"
            )
        return np.asarray(array, dtype=np.int64, order="C")  # np.ascontiguousarray would give a number an axis


def _nested(node: Node, depth: int) -> I64:
    if depth == 0:
        return np.array(node.integer(), dtype=np.int64)
    children = node.items()
    if not children:
        node.fail("an empty list in a table")
    parts = [_nested(child, depth - 1) for child in children]
    for child, part in zip(children, parts, strict=True):
        if part.shape != parts[0].shape:
            child.fail("lists of unequal length in a table")
    return np.stack(parts)


# ---------------------------------------------------------------- writing


def to_document(model: Model) -> dict[str, Any]:
    """The JSON object of a model.

    Args:
        model: a model of expressions and of tables that do not come from tensor files.

    Returns:
        The object of docs/format.md.

    Raises:
        UsageError: a model with Python callables or tensor files.
    """
    document: dict[str, Any] = {"format": FORMAT, "name": model.name}
    if model.description:
        document["description"] = model.description
    document["alphabet"] = list(model.alphabet)
    for key in ("start_marker", "end_marker"):
        if getattr(model, key) is not None:
            document[key] = getattr(model, key)
    if isinstance(model.when, Formula):
        document["when"] = model.when.text
    document["variables"] = [_dump_variable(v) for v in model.variables]
    output: dict[str, Any] = {"variable": model.output.variable, "position": model.output.position}
    if model.output.accept is not None:
        output["accept"] = sorted(model.output.accept)
    if model.output.labels is not None:
        output["labels"] = list(model.output.labels)
    return document | {"output": output}


def _dump_variable(variable: Variable) -> dict[str, Any]:
    if isinstance(variable, Map):
        return {
            "name": variable.name,
            "kind": "map",
            "args": list(variable.args),
            "domain": _dump_size(variable.domain),
            "map": _dump_rule(variable.map, variable.name),
        }
    optional = {"query": variable.query, "key": variable.key}
    head: dict[str, Any] = {"name": variable.name, "kind": "head"} | {
        k: v for k, v in optional.items() if v is not None
    }
    head |= {"value": variable.value, "score": _dump_rule(variable.score, variable.name)}
    head |= {"mask": variable.mask, "ties": variable.ties, "default": variable.default}
    if variable.domain is not None:
        head["domain"] = _dump_size(variable.domain)
    return head


def _dump_size(size: Size | str) -> int | str:
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
    """The bytes of a model file: one variable per line, the same bytes for the same model.

    Args:
        document: as :func:`to_document` gives it.

    Returns:
        UTF-8 text with a line end.
    """
    return (one_line_lists(document, 2) + "\n").encode()


def save(model: Model, path: str | Path) -> Model:
    """Write a model file and read it back, so that the result carries its digest.

    Args:
        model: a model that a file can hold.
        path: the file; an older one is replaced whole.

    Returns:
        The model as read back.

    Raises:
        UsageError: the file cannot be written, or the model has Python callables or tensor files.
        ResourceLimit: the file has more than 64 MiB.
    """
    write_bytes(Path(path), dumps(to_document(model)))
    return load(path)
