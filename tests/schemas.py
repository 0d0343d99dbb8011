"""The JSON Schemas of all formats."""

from typing import Any

from jsonschema import Draft202012Validator
from make_schemas import document
from shapes import FORMATS

SCHEMAS = {kind: Draft202012Validator(document(kind)) for kind in FORMATS}


def of_its_schema(found: dict[str, Any]) -> bool:
    """Whether a document is of the schema of its format."""
    return bool(SCHEMAS[found["format"]].is_valid(found))
