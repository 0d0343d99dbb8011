"""A softmax model from what a person types: a file, or a built-in one such as ``parity`` or ``random:seed=1``."""

from collections.abc import Callable
from pathlib import Path

from restrict.base.errors import ModelError, UsageError, did_you_mean, near_files, quote
from restrict.base.files import is_there, read_bytes
from restrict.base.tensorfile import is_safetensors
from restrict.model.foreign import softmax_hint
from restrict.model.source import options_of
from restrict.soft.models.format import is_soft, loads
from restrict.soft.models.known import first, parity, random
from restrict.soft.models.model import SoftModel

GENERATORS: dict[str, Callable[..., SoftModel]] = {"parity": parity, "first": first, "random": random}


def load(source: str | Path) -> SoftModel:
    """The softmax model in a file, or made by a generator: ``NAME`` or ``NAME:option=integer,...``."""
    text = str(source)
    if isinstance(source, Path) or is_there(text):
        content = read_bytes(Path(source))
        if not is_soft(content) and content[:1] == b"{" and not is_safetensors(content):
            raise ModelError(
                f"{text}: this is no restrict-soft/1 file (softmax weights in safetensors); for hard-attention models "
                "leave out 'soft' (restrict certify, refute, ...)"
            )
        hint = "" if is_soft(content) else softmax_hint(content)
        if hint:
            raise ModelError(f"{text}: no restrict-soft/1 file but {hint}")
        return loads(content, text, Path(source))
    name, _, rest = text.partition(":")
    if name not in GENERATORS:
        known = ", ".join(sorted(GENERATORS))
        near = did_you_mean(name, GENERATORS) or near_files(text)
        raise UsageError(f"{quote(text)} is neither a file nor a built-in softmax model{near}; built in are {known}")
    return GENERATORS[name](**options_of(name, GENERATORS[name], rest))
