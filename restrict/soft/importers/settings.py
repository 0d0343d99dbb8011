"""What an import decides that the weights alone do not say, and where each decision comes from. Nothing is guessed
silently: every setting is a record with its origin, printed by the command and written into the description of the
model. What is *assumed* can be wrong; recorded logits exclude that (:mod:`compare`)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from restrict.base.errors import ModelError, UsageError, quote
from restrict.soft.models.config import first_of
from restrict.soft.models.model import Activation, Mask, Place

Origin = Literal["given", "config", "weights", "assumed"]
"""``given``: by the caller. ``config``: by the configuration. ``weights``: read off names, shapes or values."""
Value = TypeVar("Value")
ACTIVATIONS: dict[str, Activation] = {
    "relu": "relu", "gelu": "gelu", "gelu_python": "gelu", "gelu_new": "gelu_tanh", "gelu_tanh": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}  # fmt: skip
"""Names of activations in configurations. Others, such as gelu_fast with its rounded constant, are refused."""


@dataclass(frozen=True)
class Setting:
    """One decision: what, which value, where it comes from (``note``: the key or the reason)."""

    name: str
    value: str
    origin: Origin
    note: str = ""

    def text(self) -> str:
        """The origin in words, such as ``config n_head``."""
        between = ": " if self.origin == "assumed" else " "
        return f"{self.origin}{between}{self.note}" if self.note else self.origin


@dataclass(frozen=True)
class Options:
    """What the caller says about weights; ``None`` where nothing is said.

    Args:
        layout: ``gpt2``, ``transformer-lens`` or ``torch``; seen from the names of the tensors.
        heads: heads of a layer.
        alphabet: what the rows of the embedding stand for, in order; markers that are not in it come behind it.
        labels: names of the read-out's rows.
        start_marker, end_marker: the token pinned in front, at the end; the empty text for none.
        never: tokens that no input has (PAD, SEP, EOS).
        norm_first: LayerNorm before each half of a layer.
        activation: of the networks.
        causal: a causal mask.
        place: where the output is read.
        read_out: ``label`` (the greatest logit), or ``set`` (every label whose logit is positive).
        eps: the constant of LayerNorm, a decimal.
        positions: ``none`` for a model without position embeddings.
        offset: the row of the position table that position 0 gets.
        names: for ``torch``: names of the ``embedding``, ``position`` and ``unembedding``.
    """

    layout: str | None = None
    heads: int | None = None
    alphabet: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    start_marker: str | None = None
    end_marker: str | None = None
    never: tuple[str, ...] | None = None
    norm_first: bool | None = None
    activation: str | None = None
    causal: bool | None = None
    place: Place | None = None
    read_out: Literal["label", "set"] | None = None
    eps: str | None = None
    positions: Literal["none"] | None = None
    offset: int | None = None
    names: Mapping[str, str] = field(default_factory=dict)


class Choices:
    """The decisions of one import, in the order in which they are made. ``tokens``, ``rows`` and ``stop`` are those of
    :class:`Imported`, kept on the way; ``mask`` is the one that is stored beside the weights."""

    def __init__(self, options: Options, config: Mapping[str, Any] | None, source: str, folder: Path | None) -> None:
        self.options, self.config, self.source, self.folder = options, dict(config or {}), source, folder
        self.made: list[Setting] = []
        self.used: set[str] = set()
        self.tokens: tuple[str, ...] = ()
        self.rows: tuple[int, ...] = ()
        self.stop: str | None = None
        self.mask: Mask | None = None

    def note(self, name: str, value: object, origin: Origin, note: str = "") -> None:
        """Keep a decision, as a :class:`Setting`."""
        self.made.append(Setting(name, str(value), origin, note))

    def key(self, *keys: str) -> tuple[str, Any]:
        """The first of these keys that the configuration has, and its value, or ``("", None)``; all count as used.
        ``ModelError``: two of them say different things."""
        self.used |= set(keys)
        return first_of(self.config, keys, self.source)

    def pick(self, name: str, given: Value | None, keys: tuple[str, ...], default: Value, why: str) -> Any:
        """A setting: as given, else as configured by one of the keys, or the default, an assumption with a reason
        ``why``."""
        key, configured = self.key(*keys)
        if given is not None:
            self.note(name, given, "given", f"(config {key}: {configured})" if key and configured != given else "")
            return given
        if key:
            self.note(name, configured, "config", key)
            return configured
        self.note(name, default, "assumed", why)
        return default

    def heads(self, d: int, *keys: str) -> int:
        """The number of heads, never assumed, which must divide the width ``d``: ``UsageError`` where nobody says it or
        what is given does not, ``ModelError`` where what is configured does not."""
        given = self.options.heads
        if given is None and not self.key(*keys)[0]:
            raise UsageError(
                f"{self.source}: the weights do not say how many heads there are; give --heads or --config"
            )
        found = self.pick("heads", given, keys, 0, "")
        if type(found) is not int or found < 1 or d % found:
            message = f"{self.source}: {quote(found)} heads do not divide the width {d}"
            raise UsageError(message) if given is not None else ModelError(message)
        return found

    def activation(self, keys: tuple[str, ...], default: str, why: str) -> Activation:
        """As :meth:`pick`: ``relu``, ``gelu`` or ``gelu_tanh``; ``ModelError``: another one."""
        found = self.pick("activation", self.options.activation, keys, default, why)
        if not isinstance(found, str) or found not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise ModelError(f"{self.source}: the activation {quote(str(found))} is not one of {known}")
        return ACTIVATIONS[found]

    def flag(self, name: str, given: bool | None, keys: tuple[str, ...], default: bool, why: str) -> bool:
        """A setting that is true or false, as :meth:`pick`; ``ModelError``: the configuration has something else."""
        found = self.pick(name, given, keys, default, why)
        if type(found) is not bool:
            raise ModelError(f"{self.source}: config {keys[0]}: {quote(str(found))} is neither true nor false")
        return found

    def truth(self, key: str) -> bool | None:
        """What the configuration says of this key, if anything; ``ModelError``: neither true nor false."""
        found: bool | None = self.key(key)[1]
        if found is not None and type(found) is not bool:
            raise ModelError(f"{self.source}: config {key}: {found!r} is neither true nor false")
        return found

    def eps(self, *keys: str) -> str:
        """The constant of LayerNorm as a decimal."""
        return str(self.pick("eps", self.options.eps, keys, "0.00001", "the default of PyTorch and GPT-2"))

    def demand_mask(self, mask: Mask) -> None:
        """A mask that is stored beside the weights must be the one that is taken; else ``ModelError``."""
        if self.mask not in (None, mask):
            stored, taken = ("a causal mask" if kind == "past" else "no mask" for kind in (self.mask, mask))
            raise ModelError(f"{self.source}: {stored} is stored beside the weights, and {taken} given or assumed")

    def demand(self, **wanted: object) -> None:
        """Keys that, where the configuration has them (and not null), must say what weights say; else
        ``ModelError``."""
        for key, found, value in self._others(wanted):
            if found is not None:
                raise ModelError(f"{self.source}: config {key} is {quote(str(found))}; the weights have {value}")

    def only(self, **wanted: object) -> None:
        """Keys that may have one value only, as another one changes what the model computes; else ``ModelError``."""
        for key, found, value in self._others(wanted):
            if found != value:
                raise ModelError(f"{self.source}: config {key}: only {value!r} is read, not {quote(str(found))}")

    def _others(self, wanted: dict[str, object]) -> Iterator[tuple[str, object, object]]:
        """The keys with another value or type than wanted, one by one: key, value, value wanted."""
        for key, value in wanted.items():
            self.used.add(key)
            found = self.config.get(key, value)
            if found != value or type(found) is not type(value):
                yield key, found, value

    def unused(self) -> list[str]:
        """The keys of the configuration that nothing asked for."""
        return sorted(set(self.config) - self.used)
