"""The JSON Schemas of all formats."""

from typing import Any

from jsonschema import Draft202012Validator
from shapes import FORMATS

from scripts import make_schemas

SCHEMAS = {kind: Draft202012Validator(make_schemas.document(kind)) for kind in FORMATS}


def of_its_schema(document: dict[str, Any]) -> bool:
    """Whether a document is of the schema of its format."""
    return bool(SCHEMAS[document["format"]].is_valid(document))
