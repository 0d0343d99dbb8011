"""An instance on its way to another process: the model's rules travel, tables made from them are made again there."""

import pickle
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from restrict.model.program import Instance, Model
from restrict.model.rules import Callback
from restrict.model.variables import rule_of


@dataclass(frozen=True, eq=False)
class Shipped:
    """An instance that can be pickled; on arrival the same model at the same length is made once in a process."""

    instance: Instance

    @property
    def portable(self) -> bool:
        """Whether it can be sent: a Python function of the user's need not exist on the other side."""
        return not any(isinstance(rule_of(variable), Callback) for variable in self.instance.model.variables)

    def __reduce__(self) -> tuple[Any, ...]:
        model = replace(self.instance.model, _instances={})
        return _arrived, (pickle.dumps(model), self.instance.n)


@lru_cache(maxsize=4)
def _arrived(model: bytes, n: int) -> Shipped:
    """The instance, once for each model and length."""
    found: Model = pickle.loads(model)  # from the process that asked for the work, never from a file
    return Shipped(found.at(n))
