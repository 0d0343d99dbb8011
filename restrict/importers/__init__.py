"""Models from elsewhere: Transformer Programs, B-RASP text, exact integer or rational weights (docs/importers.md).
Nothing of the source is ever executed: Python files are read as syntax trees against a list of allowed forms. What is
outside Theorem 1 (averaging, counting, softmax) is declined by name."""

from restrict.importers.brasp import import_brasp
from restrict.importers.common import Imported
from restrict.importers.transformer_program import import_transformer_program
from restrict.importers.weights import import_weights

__all__ = ["Imported", "import_brasp", "import_transformer_program", "import_weights"]
