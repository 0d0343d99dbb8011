"""An import from its source to a model: weights, layout, configuration, decisions."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from restrict.base.errors import ModelError, UsageError, quote
from restrict.base.files import refusals
from restrict.soft.importers.gpt2 import gpt2
from restrict.soft.importers.masks import MASK, without_masks
from restrict.soft.importers.module import LAYER, alike, facts_of
from restrict.soft.importers.named import Arrays, Named, read_arrays
from restrict.soft.importers.settings import Choices, Options, Setting
from restrict.soft.importers.torch_encoder import torch_encoder
from restrict.soft.importers.transformer_lens import transformer_lens
from restrict.soft.models.config import SUFFIX, beside, read_config, task_automaton
from restrict.soft.models.model import Activation, Place, SoftModel
from restrict.soft.models.others import another

LAYOUTS: dict[str, tuple[Callable[[Named, Choices, str], SoftModel], str, str]] = {
    "gpt2": (gpt2, r"(?:.*\.)?h\.\d+\.attn\.c_attn\.weight", "GPT-2's names"),
    "transformer-lens": (transformer_lens, r"(?:.*\.)?blocks\.\d+\.attn\.W_Q", "TransformerLens' names"),
    "torch": (torch_encoder, r"(?:.*\.)?layers\.\d+\.self_attn\.in_proj_weight", "an nn.TransformerEncoder"),
}
"""Each layout's reader, the name of a tensor that it always has, and its name in words."""


@dataclass(frozen=True)
class Imported:
    """A model with every decision that the weights alone do not make."""

    model: SoftModel
    layout: str
    settings: tuple[Setting, ...]
    tokens: tuple[str, ...]
    """What the rows of the embedding stood for in the source: recorded words have these numbers."""
    rows: tuple[int, ...]
    """For each row of the model's read-out, its row in the source."""
    stop: str | None = None
    """The end token, which is in no input and may be a label."""
    task: Mapping[str, Any] | None = None
    """What the configuration says of the task: ``kind``, and an automaton ``dfa`` over the alphabet."""

    @property
    def assumed(self) -> tuple[Setting, ...]:
        """The decisions that nobody confirmed."""
        return tuple(s for s in self.settings if s.origin == "assumed")

    def text(self) -> str:
        """Every setting with its origin."""
        names = max(len(s.name) for s in self.settings)
        values = max(len(s.value[:40]) for s in self.settings)
        return "\n".join(f"  {s.name:<{names}}  {s.value:<{values}}  {s.text()}" for s in self.settings)

    def doubts(self) -> list[str]:
        """What is said where nothing was compared."""
        known = "--compare RECORD with recorded logits excludes wrong ones"
        return [f"{len(self.assumed)} settings are assumed; {known}"] if self.assumed else []

    def document(self) -> dict[str, Any]:
        """What was imported, as JSON."""
        model = self.model
        return {"name": model.name, "sha256": model.digest, "symbols": len(model.alphabet), "layout": self.layout,
                "settings": [vars(s) for s in self.settings]}  # fmt: skip


def import_weights(
    source: Any, options: Options | None = None, *,
    config: Mapping[str, Any] | str | Path | None = None, name: str | None = None,
) -> Imported:  # fmt: skip
    """A softmax model from weights as other libraries store them; nothing of a file is executed.

    Args:
        source: a safetensors file, a state dict (arrays or tensors by name), or a module with ``state_dict()``, whose
            configuration and attributes are read then.
        options: what the caller says; see :class:`Options`.
        config: the configuration, or its file; by default ``NAME.config.json`` or ``config.json`` beside the file.
        name: for people; the file's name by default.

    Returns:
        The model and all decisions. Linear in the size of the weights.

    Raises:
        UsageError: a file cannot be read, arguments do not fit, or something must be said that nobody says (heads).
        ModelError: malformed weights or configuration, weights that are not understood, or the two disagree.
        ResourceLimit: a file over the size limit of the package.
    """
    options = options or Options()
    path = Path(source) if isinstance(source, str | Path) else None
    facts: Mapping[str, Any] = {}
    if path is not None:
        arrays: Arrays = read_arrays(no_folder(path), MASK)
    elif callable(getattr(source, "state_dict", None)):
        arrays, facts = source.state_dict(), facts_of(source)
    elif isinstance(source, Mapping):
        arrays = source
    else:
        raise UsageError(f"a file, a state dict or a module is needed, not {type(source).__name__}")
    if path is not None and config is None:
        config = beside(path)
    where = str(config) if isinstance(config, str | Path) else "given"
    written = read_config(Path(config)) if isinstance(config, str | Path) else config or {}
    found = {**facts, **written}
    for key in LAYER:
        if key in facts and not alike(found[key], facts[key]):
            raise ModelError(f"the configuration has {key} {quote(found[key])}, the module {quote(facts[key])}")
    told = "none" if config is None and not facts else f"{where}" if config is not None else "the module"
    label = str(path) if path is not None else "state dict"
    weights, mask = without_masks(arrays, label)
    tensors = Named(weights, label)
    layout = _layout(options.layout, tensors.arrays, label)
    choices = Choices(options, found, label, path)
    choices.mask = mask
    choices.note("layout", LAYOUTS[layout][2], "weights" if options.layout is None else "given")
    choices.note("configuration", told, "given" if config is not None or facts else "assumed")
    title = name if name is not None else path.name.removesuffix(SUFFIX) if path is not None else layout
    made = LAYOUTS[layout][0](tensors, choices, title)
    check_task(choices, made)
    extra = choices.unused()
    if extra:
        choices.note("not used", ", ".join(extra[:12]) + (", ..." if len(extra) > 12 else ""), "config")
    made = replace(made, description=_description(choices))
    task = choices.config.get("task")
    return Imported(made, layout, tuple(choices.made), choices.tokens, choices.rows, choices.stop, task)


def _layout(given: str | None, names: Mapping[str, Any], source: str) -> str:
    """The layout as given, or as seen, unless the names are those of an architecture that no layout is for."""
    if (why := another(names)) is not None:
        raise ModelError(f"{source}: {why}")
    layout = given or seen_layout(names, source)
    if layout not in LAYOUTS:
        raise UsageError(f"the layout {layout!r} is not one of {', '.join(LAYOUTS)}")
    return layout


WEIGHTS = (SUFFIX, ".bin", ".npz", ".pt", ".pth", ".ckpt")
"""Endings of files with weights; only the first is read, the others are told how to become one."""


def no_folder(path: Path) -> Path:
    """The path; ``UsageError``, which names the files that may be meant, where it is a folder."""
    if path.is_dir():
        with refusals(f"{path}: cannot read"):
            found = sorted(inner for inner in path.iterdir() if inner.suffix in WEIGHTS)
        readable = [inner for inner in found if inner.suffix == SUFFIX] or found
        told = ", ".join(map(str, readable[:4])) + (", ..." if len(readable) > 4 else "")
        hint = f"give the file in it: {told}" if found else f"and no {SUFFIX} file is in it"
        raise UsageError(f"{path}: it is a folder; {hint}")
    return path


def seen_layout(names: Sequence[str] | Mapping[str, Any], source: str) -> str:
    """The key of ``LAYOUTS`` that names of tensors show; ``ModelError``: no layout, or more than one."""
    seen = [key for key, (_, name, _) in LAYOUTS.items() if any(re.fullmatch(name, n) for n in names)]
    if len(seen) != 1:
        known = ", ".join(words for _, _, words in LAYOUTS.values())
        what = "more than one" if seen else "none"
        first = quote(min(names, default=""))
        raise ModelError(
            f"{source}: the names of the tensors ({first}, ...) show {what} of the known layouts ({known})"
        )
    return seen[0]


def check_task(choices: Choices, model: SoftModel) -> None:
    """The automaton in a configuration (``task.dfa``), if there is one, must fit the alphabet, else ``ModelError``."""
    found = task_automaton(choices.config.get("task"), len(model.alphabet), f"{choices.source}: config")
    if found is not None:
        delta, _, given = found
        accepting = given.get("accepting")
        if not isinstance(accepting, list) or [type(a) for a in accepting] != [bool] * (len(delta) - 1):
            raise ModelError(f"{choices.source}: config task.dfa: expected accepting, true or false for each state")


def _description(choices: Choices) -> str:
    """What a model's file says about its origin: the decisions that were assumed."""
    assumed = [f"{s.name} {s.value}" for s in choices.made if s.origin == "assumed"]
    layout = next(s.value for s in choices.made if s.name == "layout")
    return f"imported from {layout}" + (f"; assumed: {', '.join(assumed)}" if assumed else "")


def from_torch(
    state: Arrays | str | Path, *, heads: int, alphabet: Sequence[str], labels: Sequence[str] | None = None,
    start_marker: str | None = None, end_marker: str | None = None, norm_first: bool = False,
    activation: Activation = "relu", causal: bool = False, place: Place = "last", eps: str = "0.00001",
    names: Mapping[str, str] | None = None, name: str = "torch",
) -> SoftModel:  # fmt: skip
    """A model around an ``nn.TransformerEncoder``: :func:`import_weights` with everything said. ``names``: the names of
    the ``embedding``, ``position`` (optional) and ``unembedding`` modules or parameters; found by their shapes where
    not given."""
    options = Options(
        "torch", heads, tuple(alphabet), tuple(labels) if labels else None, start_marker or "", end_marker or "", (),
        norm_first, activation, causal, place, None, eps, names=dict(names or {}),
    )  # fmt: skip
    return import_weights(state, options, config={}, name=name).model
