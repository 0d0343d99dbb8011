"""Write the JSON Schemas under docs/schema from the checker's tables; the tests hold that the files are these.

    python scripts/make_schemas.py          # say which files are not what the tables say; exit code 1 where one is not
    python scripts/make_schemas.py --write

The shapes are those of ``scripts/shapes.py``. A schema cannot see duplicate keys, 1.0 for 1, the order of things, or
what depends on the model or on ``n``; it accepts all that the checker accepts.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

from harness import ROOT
from shapes import FORMATS, NAMED, Also, Choice, Each, Inside, Keyed, Only, Row, Shape

from restrict.checker import formats, read, soft_terms
from restrict.checker.read import Maybe

Schema = dict[str, Any]
SCHEMAS = ROOT / "docs" / "schema"
COMMENT = "Made by scripts/make_schemas.py from the checker's tables. Not expressible here: duplicate keys, 1.0 for 1, "
COMMENT += "the order of things, what depends on n or on the model, and the truth of a claim."
PAGES = {"restrict-soft/1": "soft-format", "restrict-soft-certificate/1": "soft-format"}
PAGES |= {
    kind: "soft-verdicts" for kind in FORMATS if kind.startswith(("restrict-soft-verdict", "restrict-soft-every"))
}
SPACES = "".join(
    chr(code) for code in range(0x20, 0x10000) if re.match(r"\s", chr(code)) and code not in range(0x7F, 0xA0)
)
END = r"(?![\s\S])"
"""The end of a string, also where the last character is a line break."""
WHOLE = {"(?s:.*)": {}, "(?s:.+)": {"minLength": 1}}


def portable(pattern: str) -> str:
    """A pattern of the checker, which is matched as a whole, as one that every validator reads alike."""
    pattern = pattern.replace(r"\Z", END).replace(r"\s)", f"[{SPACES}])")
    escaped = "".join(c if c.isascii() and c.isprintable() else f"\\u{ord(c):04x}" for c in pattern)
    return f"^(?:{escaped}){END}"


def of_reader(reader: Any) -> Schema:
    """The schema of a reader of the checker: what its closure says, or what it is known to read."""
    plain: dict[Any, Shape | Schema] = {
        read.thing: Only({"type": "object"}), read.listing: Only({"type": "array"}), read.anything: Only({}),
        read.strings: Each(read.text), formats.symbols: Each(read.symbol, 1, 65536, unique=True),
        soft_terms.quotient: read.matching(f"{soft_terms.DECIMAL.pattern}|{soft_terms.QUOTIENT.pattern}", "a number"),
    }  # fmt: skip
    if reader in plain:
        return schema(plain[reader], {})
    made, known = reader.__qualname__.partition(".")[0], inspect.getclosurevars(reader).nonlocals
    if made == "matching":
        pattern = known["matches"].__self__.pattern
        more = WHOLE.get(pattern, {"pattern": portable(pattern)})
        return (
            {"type": "string", **more, "description": known["what"]}
            if pattern not in WHOLE
            else {"type": "string"} | more
        )
    single = {"type": "integer", "minimum": known["least"], "maximum": known["greatest"]}
    return {"integer": single, "integers": {"type": "array", "items": single}}[made]


def schema(shape: Shape, names: dict[int, str]) -> Schema:
    """The schema of a shape; one that has a name in ``names``, by identity, is referred to."""
    return {"$ref": f"#/$defs/{names[id(shape)]}"} if id(shape) in names else spelt(shape, names)


def spelt(shape: Shape, names: dict[int, str]) -> Schema:
    """The schema of a shape, spelt out."""
    match shape:
        case Inside():
            return {"$ref": f"#/$defs/{shape.name}"}
        case Only():
            return shape.schema
        case Also():
            return {**schema(shape.shape, names), **shape.schema}
        case Choice():
            return {"anyOf": [schema(one, names) for one in shape.shapes]}
        case Row():
            (least, most), items = shape.sizes, [schema(one, names) for one in shape.shapes]
            return {"type": "array", "prefixItems": items, "items": False, "minItems": least, "maxItems": most}
        case Each():
            bounds = {"minItems": shape.least or None, "maxItems": shape.most, "uniqueItems": shape.unique or None}
            return {"type": "array", "items": schema(shape.shape, names)} | present(bounds)
        case Keyed():
            inner = {"propertyNames": schema(shape.names, names), "additionalProperties": schema(shape.values, names)}
            return {"type": "object", **inner} | present({"minProperties": shape.least or None})
        case dict():
            return of_table(shape, names)
        case tuple():
            return {"enum": list(shape)} if len(shape) > 1 else {"const": shape[0]}
    return of_reader(shape)


def present(found: Schema) -> Schema:
    """Without what is not said."""
    return {key: value for key, value in found.items() if value is not None}


def of_table(table: dict[str, Shape], names: dict[int, str]) -> Schema:
    """An object with the keys of a table and no others."""
    inner = {key: schema(shape.shape if isinstance(shape, Maybe) else shape, names) for key, shape in table.items()}
    required = [key for key, shape in table.items() if not isinstance(shape, Maybe)]
    return {"type": "object", "additionalProperties": False, "required": required, "properties": inner}


def referred(found: Any) -> set[str]:
    """The names that a schema refers to."""
    if isinstance(found, list):
        return set().union(*map(referred, found)) if found else set()
    if not isinstance(found, dict):
        return set()
    own = {found["$ref"].rpartition("/")[2]} if "$ref" in found else set()
    return own.union(*map(referred, found.values()))


def document(kind: str) -> Schema:
    """The schema of a format, with the definitions that it needs."""
    names = {id(shape): name for name, shape in NAMED.items()}
    top = spelt(FORMATS[kind], names)
    defined: dict[str, Schema] = {}
    todo = referred(top)
    while todo:
        name = min(todo)
        defined[name] = spelt(NAMED[name], names)
        todo = (todo | referred(defined[name])) - defined.keys()
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:restrict:schema:" + kind.replace("/", "-"),
        "title": kind,
        "description": f"docs/{PAGES.get(kind, 'format')}.md defines this format.",
        "$comment": COMMENT,
    }
    return {**head, **top, "$defs": dict(sorted(defined.items()))}


def files() -> dict[Path, str]:
    """Every schema file with its content."""
    dumped = {kind: json.dumps(document(kind), indent=1, ensure_ascii=True) + "\n" for kind in FORMATS}
    return {SCHEMAS / f"{kind.replace('/', '-')}.schema.json": text for kind, text in dumped.items()}


def main() -> int:
    """Compare or write the files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the files")
    if parser.parse_args().write:
        for path, text in files().items():
            path.write_text(text, encoding="utf-8")
    other = [path for path, text in files().items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    print(
        "\n".join(f"not what the tables say: {path.relative_to(ROOT)}" for path in other)
        or "all schemas are up to date"
    )
    return bool(other)


if __name__ == "__main__":
    sys.exit(main())
