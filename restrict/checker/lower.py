"""A `restrict-model/1` at one length, as the checker's reader has it, in the normal form `restrict-program/1`.

Every operation of an expression becomes one or a few steps of straight-line code with the same value for all integers,
and intervals that are no wider than those of the model's reader; so what that reader finds defined is defined here.
Variables keep their order: token, position, then as in the model. The last one is the label map.
"""

from __future__ import annotations

from collections.abc import Sequence

from .account import Place, exhausted
from .formats import MASKS, Head, Map, Model
from .normal_form import FILE_BYTES
from .rules import SEED, Tree
from .tensors import Tensor

SAME = {"+": "+", "-": "-", "*": "*", "//": "/", "%": "%"}
FOLDED = {"min": "&", "max": "|"}


class Emitter:
    """Writes the code of one tree; ``names`` are the registers of the names that it reads."""

    def __init__(self, names: dict[str, int], count: int, n: int, tensors: list[Sequence[int]]) -> None:
        self.names, self.count, self.n, self.tensors = names, count, n, tensors
        self.words: list[str] = []
        self.constants: dict[int, int] = {}

    def step(self, sign: str, *numbers: int) -> int:
        """One operation; the register that it makes."""
        self.words += [sign, *map(str, numbers)]
        self.count += 1
        return self.count - 1

    def constant(self, value: int) -> int:
        """The register of a number."""
        if value not in self.constants:
            self.constants[value] = self.step("c", value)
        return self.constants[value]

    def finish(self, tree: Tree) -> str:
        """The code of a tree. Its value has to be in the last register."""
        found = self.tree(tree)
        if found != self.count - 1:
            self.step("+", found, self.constants[0] if 0 in self.constants else self.step("c", 0))
        return "".join(f" {word}" for word in self.words)

    def tree(self, tree: Tree) -> int:
        """The register of a tree's value."""
        if tree.op == "int":
            return self.constant(tree.value)
        if tree.op == "name":
            return self.constant(self.n) if tree.value == "n" else self.names[tree.value]
        if tree.op == "table":
            return self.entry(tree.value[0])
        if tree.op == "dot":
            return self.dot(*tree.value)
        args = [self.tree(arg) for arg in tree.args]
        if tree.op in SAME:
            return self.step(SAME[tree.op], *args)
        if tree.op in FOLDED:
            return self.fold(FOLDED[tree.op], args)
        if tree.op in ("and", "chain"):
            tests = [self.truth(arg) for arg in args]
            if tree.op == "chain":
                tests = [self.compared(sign, *args[at : at + 2]) for at, sign in enumerate(tree.value)]
            return self.fold("*", tests)
        if tree.op == "if":
            return self.step("?", args[1], args[0], args[2])
        if tree.op in ("neg", "not", "or", "abs", "isqrt", "hash"):
            return self.function(tree.op, args)
        return self.compared(tree.op, *args)

    def function(self, op: str, args: list[int]) -> int:
        """A function or a prefix operator."""
        zero = self.constant(0)
        if op == "neg":
            return self.step("-", zero, args[0])
        if op == "not":
            return self.step("=", args[0], zero)
        if op == "or":
            return self.step("=", self.fold("*", [self.step("=", arg, zero) for arg in args]), zero)
        if op == "abs":
            return self.step("|", self.step("|", args[0], self.step("-", zero, args[0])), zero)
        if op == "isqrt":
            return self.step("r", args[0])
        return self.step("h", self.fold("m", [self.constant(SEED), *args, zero]))

    def truth(self, register: int) -> int:
        """1 where a number is not 0."""
        return self.step("=", self.step("=", register, self.constant(0)), self.constant(0))

    def fold(self, sign: str, registers: list[int]) -> int:
        """An operation from left to right."""
        found = registers[0]
        for register in registers[1:]:
            found = self.step(sign, found, register)
        return found

    def compared(self, sign: str, a: int, b: int) -> int:
        """A comparison."""
        found = self.step("=" if sign in ("==", "!=") else "<", *((b, a) if sign in (">", "<=") else (a, b)))
        return self.step("=", found, self.constant(0)) if sign in ("!=", "<=", ">=") else found

    def entry(self, tensor: Tensor, place: int = 0) -> int:
        """An entry of a tensor; ``place`` is the index inside a row where the last axis is ``dim``."""
        at = self.constant(place)
        for axis, stride in tensor.strides.items():
            if axis in self.names:
                index = self.names[axis]
                at = self.step("+", at, index if stride == 1 else self.step("*", index, self.constant(stride)))
        data = tensor.entries.data
        number = next((t for t, known in enumerate(self.tensors) if known is data), len(self.tensors))
        if number == len(self.tensors):
            self.tensors.append(data)
        return self.step("t", number, at)

    def dot(self, query: Tensor, key: Tensor) -> int:
        """A dot product, unrolled."""
        dim = query.sizes["dim"]
        return self.fold("+", [self.step("*", self.entry(query, t), self.entry(key, t)) for t in range(dim)])


def label_table(model: Model) -> list[int] | None:
    """The number of each value's label; None where the value is its own label."""
    domain = model.domains[model.output]
    if model.labels is not None:
        return list(model.labels)
    return None if model.accept is None else [+(value in model.accept) for value in range(domain)]


def label_names(model: Model) -> list[str] | None:
    """The labels by number; None where the value is its own label."""
    return (
        list(model.label_names) if model.labels is not None else None if model.accept is None else ["reject", "accept"]
    )


def variable_line(variable: Map | Head, numbers: dict[str, int], n: int, tensors: list[Sequence[int]]) -> str:
    """The line of a map or head."""
    if isinstance(variable, Map):
        names = {"i": 0} | {arg: 1 + at for at, arg in enumerate(variable.args)}
        code = Emitter(names, 1 + len(variable.args), n, tensors).finish(variable.rule.tree)
        args = "".join(f" {numbers[arg]}" for arg in variable.args)
        return f"map {variable.domain} {len(variable.args)}{args}{code}"
    code = Emitter({"i": 0, "q": 1, "j": 2, "k": 3}, 4, n, tensors).finish(variable.rule.tree)
    roles = [numbers[role] if role is not None else -1 for role in (variable.query, variable.key)]
    rest = f"{numbers[variable.value]} {MASKS.index(variable.mask)} {+variable.left} {variable.default}"
    return f"head {variable.domain} {roles[0]} {roles[1]} {rest}{code}"


def lower(model: Model) -> bytes:
    """The bytes of the program."""
    numbers, tensors, lines = {"token": 0, "position": 1}, list[Sequence[int]](), list[str]()
    for variable in model.variables:
        lines.append(variable_line(variable, numbers, model.n, tensors))
        numbers[variable.name] = len(numbers)
    output, table = numbers[model.output], label_table(model)
    domain, code = model.domains[model.output], ""
    if table is not None:
        domain = 2 if model.accept is not None else len(model.label_names)
        code = f" t {len(tensors)} 1"
        tensors.append(table)
    lines.append(f"map {domain} 1 {output}{code}")
    if 2 * sum(map(len, tensors)) > FILE_BYTES:
        exhausted(Place("program"), "its tensors are larger than 64 MiB")
    start = +any(at == 0 for at, _ in model.markers)
    first = f"restrict-program/1 {model.n} {len(model.alphabet)} {start} {len(model.markers) - start} {output}"
    data = ["tensor" + "".join(f" {value}" for value in tensor) for tensor in tensors]
    found = "\n".join([first, *data, *lines, ""]).encode("ascii")
    if len(found) > FILE_BYTES:
        exhausted(Place("program"), "larger than 64 MiB")
    return found
