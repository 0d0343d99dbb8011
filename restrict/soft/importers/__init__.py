"""Weights of other libraries as softmax models: names are mapped, nothing is executed, nothing is guessed silently.

:func:`import_weights` reads a safetensors file, a state dict or a module in one of three layouts (GPT-2's names,
TransformerLens', an ``nn.TransformerEncoder``) with its configuration. Every decision that the weights do not make is
in the result with its origin, and :func:`compare` excludes wrong ones by recorded logits. Pickle files (``.pt``) are
refused: loading one runs code. :func:`save_gpt2_names` writes a model with the names that verdicts read.
"""

from restrict.soft.importers.compare import Comparison, Record, compare, read_record
from restrict.soft.importers.gpt2_names import gpt2_names, save_gpt2_names
from restrict.soft.importers.named import read_arrays
from restrict.soft.importers.read import Imported, from_torch, import_weights
from restrict.soft.importers.settings import Options, Setting

__all__ = [
    "Comparison", "Imported", "Options", "Record", "Setting", "compare", "from_torch", "gpt2_names",
    "import_weights", "read_arrays", "read_record", "save_gpt2_names",
]  # fmt: skip
