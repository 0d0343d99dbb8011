"""A softmax model by what a person types: a file of this package, a built-in model, or a checkpoint of others."""

from pathlib import Path

from restrict.base.files import is_there, read_bytes
from restrict.soft.importers.read import import_weights
from restrict.soft.models.config import beside
from restrict.soft.models.format import is_soft
from restrict.soft.models.model import SoftModel
from restrict.soft.models.source import load


def is_checkpoint(text: str) -> bool:
    """Whether this names weights of another library with their configuration beside them."""
    if not (text.endswith(".safetensors") and is_there(text)):
        return False
    return beside(Path(text)) is not None and not is_soft(read_bytes(Path(text)))


def opened(text: str) -> SoftModel:
    """The softmax model that ``text`` names; a checkpoint with its configuration is imported, without any loss."""
    return import_weights(text).model if is_checkpoint(text) else load(text)
