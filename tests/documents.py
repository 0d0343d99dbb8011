"""The JSON objects of models, certificates and tensor files, as tests write them; nothing is checked here, so that they
may break any rule."""

import json
import struct
from hashlib import sha256
from typing import Any

from restrict.model.document import FORMAT

Document = dict[str, Any]


def head(name: str, score: Any, value: str = "token", **more: Any) -> Document:
    return {"name": name, "kind": "head", "value": value, "score": score, **more}


def map_(name: str, args: list[str], domain: Any, rule: Any) -> Document:
    return {"name": name, "kind": "map", "args": args, "domain": domain, "map": rule}


def table(axes: str, values: Any) -> Document:
    """A rule or a score by a table; its axes have a space between them."""
    return {"table": {"axes": axes.split(), "values": values}}


def dot(query: str, queries: Any, key: str, keys: Any) -> Document:
    """A score by a dot product: the axes and the numbers of the query, then of the key."""
    return {"dot": {"query": table(query, queries)["table"], "key": table(key, keys)["table"]}}


def model(*variables: Document, alphabet: str | list[str] = "01", position: str = "every", **more: Any) -> Document:
    """A model whose output is its last variable, with ``accept`` or ``labels`` where there are any."""
    output = {"variable": variables[-1]["name"] if variables else "token", "position": position}
    output |= {key: more.pop(key) for key in ("accept", "labels") if key in more}
    fields = {"format": FORMAT, "name": "m", "alphabet": list(alphabet), "variables": list(variables)}
    return {**fields, "output": output, **more}


def pair(model: Document, n: int, claim: Document | None = None, **more: Any) -> tuple[bytes, bytes]:
    """The bytes of a model and of a certificate for it; by default everything is examined and the claim is void."""
    data = json.dumps(model).encode()
    certificate = {
        "format": "restrict-certificate/1", "model": {"name": model["name"], "sha256": sha256(data).hexdigest()},
        "n": n, "target": "last", "fixed": [], "cone": "all",
        "claim": claim or {"free": 0, "c": 0, "dependencies": [], "values": [0]},
    }  # fmt: skip
    return data, json.dumps({**certificate, **more}).encode()


def changed(document: Any, changes: Document) -> Any:
    """A document with other parts, by their paths in it, such as ``heads.0.name``. It is changed in place."""
    for path, value in changes.items():
        part, *steps = document, *path.split(".")
        for step in steps[:-1]:
            part = part[int(step) if isinstance(part, list) else step]
        part[int(steps[-1]) if isinstance(part, list) else steps[-1]] = value
    return document


def tensor_file(header: Document | bytes, data: bytes) -> bytes:
    """A safetensors file."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data
