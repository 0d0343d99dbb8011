"""What a module of Python says about itself beside its weights; torch is not imported, attributes are only read."""

from collections.abc import Mapping
from typing import Any

from restrict.base.errors import ModelError

CONFIGS = ("config", "cfg")
"""Where libraries keep a configuration: transformers, TransformerLens."""
LAYER = ("nhead", "norm_first", "layer_norm_eps", "activation")
"""What layers say, by keys of a configuration, which must not say something else."""


def facts_of(module: Any) -> dict[str, Any]:
    """The configuration of a module with ``state_dict()``: its own, and the attributes of the encoder layers in it."""
    found: dict[str, Any] = {}
    for key in CONFIGS:
        config: Any = getattr(module, key, None)
        if callable(getattr(config, "to_dict", None)):
            config = config.to_dict()
        if isinstance(config, Mapping):
            found |= {str(k): _plain(v) for k, v in config.items()}
            if found.get("architectures", "") is None:  # transformers says it in files alone
                found["architectures"] = [type(module).__name__]
    parts = list(module.modules()) if hasattr(module, "modules") else []
    for part in parts:
        _demand_norm(part)
    facts = [_layer_facts(part) for part in parts if hasattr(part, "self_attn")]
    if any(other != facts[0] for other in facts):
        raise ModelError("the layers of the module differ in heads, norms, activation or eps")
    epsilons = {part.eps for part in parts if hasattr(part, "normalized_shape") and isinstance(part.eps, float)}
    if len(epsilons) > 1:
        raise ModelError(f"the LayerNorms of the module differ in eps: {', '.join(map(repr, sorted(epsilons)))}")
    return found | (facts[0] if facts else {})


def _demand_norm(part: Any) -> None:
    """Refuse norms whose weights look like those of a LayerNorm, or of none, and that compute something else."""
    name = type(part).__name__
    if "rms" in name.lower():
        raise ModelError(f"the module has a {name}, and only LayerNorm is read")
    if hasattr(part, "normalized_shape") and not getattr(part, "elementwise_affine", True):
        raise ModelError(
            f"the module has a {name} with elementwise_affine false, which no weight shows; it is not read"
        )


def _layer_facts(layer: Any) -> dict[str, Any]:
    """What an ``nn.TransformerEncoderLayer`` says about itself."""
    found: dict[str, Any] = {}
    if type(getattr(layer.self_attn, "num_heads", None)) is int:
        found["nhead"] = layer.self_attn.num_heads
    if getattr(layer.self_attn, "add_zero_attn", False):
        raise ModelError("a layer of the module has add_zero_attn, which is not read")
    if type(getattr(layer, "norm_first", None)) is bool:
        found["norm_first"] = layer.norm_first
    if isinstance(getattr(getattr(layer, "norm1", None), "eps", None), float):
        found["layer_norm_eps"] = repr(layer.norm1.eps)
    if hasattr(layer, "activation"):
        found["activation"] = _activation(layer.activation)
    return found


def _activation(function: Any) -> str:
    """The name of an activation: of a function, or of a module such as ``nn.GELU(approximate="tanh")``. One that is not
    torch's is named with its module, as its name does not say what it computes: that must be given, then."""
    name = getattr(function, "__name__", type(function).__name__)
    home = getattr(function, "__module__", None)
    if isinstance(home, str) and home.partition(".")[0] != "torch":
        return f"{home}.{name}"
    if name.lower() == "gelu" and getattr(function, "approximate", "none") == "tanh":
        return "gelu_tanh"
    return str(name).lower()


def alike(value: Any, other: Any) -> bool:
    """Whether two values of a configuration are the same, be they texts or numbers."""
    try:
        return bool(value == other or float(value) == float(other))
    except (TypeError, ValueError):
        return False


def _plain(value: Any) -> Any:
    """A value as a configuration file would have it: decimals as texts, those of numpy, too."""
    return repr(float(value)) if isinstance(value, float) else value
