"""Compilation of expressions to the register code of :mod:`restrict.kernels.machine`."""

from dataclasses import dataclass

import numpy as np

from restrict.base.arrays import I64
from restrict.model.expr import SCALAR, Expr, Payload, const, name

OPCODES = {
    op: code for code, op in enumerate(op for op in (*SCALAR, "gather") if op not in ("gt", "ge", "and", "or", "not"))
}
"""Opcodes of the register machine; the operators left out are rewritten by :func:`lower`, since each opcode costs
compilation."""
ZERO = const(0)


def lower(node: Expr) -> Expr:
    """The same value with the machine's operators only, at the root of the tree."""
    match node.op:
        case "gt" | "ge":
            return Expr("lt" if node.op == "gt" else "le", node.args[::-1])
        case "not":
            return Expr("eq", (node.args[0], ZERO))
        case "and" | "or":
            both = tuple(Expr("ne", (a, ZERO)) for a in node.args)
            return Expr("min" if node.op == "and" else "max", both)
    return node


@dataclass(frozen=True, eq=False, slots=True)
class Code:
    """Register code: ``instructions`` (m, 5) of opcode, destination and up to three sources. Registers ``0 ..
    inputs-1`` are the inputs in the order given to :func:`compile_expr`; ``constants`` (r, 2) are registers to be
    filled with a value once; ``tables`` is what ``gather`` reads; ``result`` is the register of the value."""

    instructions: I64
    constants: I64
    tables: I64
    registers: int
    result: int


def code_of(expr: Expr) -> Code:
    """The expression compiled over its names in alphabetical order, kept with it."""
    if expr.code is None:
        object.__setattr__(expr, "code", compile_expr(expr, tuple(sorted(expr.names))))
    found: Code = expr.code
    return found


_NO_TABLE = np.zeros(1, dtype=np.int64)


def compile_expr(expr: Expr, inputs: tuple[str, ...]) -> Code:
    """Compile an expression, common sub-expressions once; registers ``0, 1, ..`` will hold the ``inputs``."""
    registers: dict[Expr, int] = {name(text): slot for slot, text in enumerate(inputs)}
    instructions: list[tuple[int, int, int, int, int]] = []
    constants: list[tuple[int, int]] = []
    offsets: dict[Payload, int] = {}

    def visit(node: Expr) -> int:
        if node in registers:
            return registers[node]
        node = lower(node)
        if node in registers:
            return registers[node]
        sources = [visit(a) for a in node.args]
        target = len(registers)
        registers[node] = target
        if node.op == "const":
            constants.append((target, node.value))
            return target
        if node.payload is not None:
            sources.append(offsets.setdefault(node.payload, sum(len(p.flat) for p in offsets)))
        padded = [*sources, 0, 0][:3]
        instructions.append((OPCODES[node.op], target, padded[0], padded[1], padded[2]))
        return target

    result = visit(expr)
    tables = [p.flat for p in offsets]
    return Code(
        np.array(instructions, dtype=np.int64).reshape(-1, 5),
        np.array(constants, dtype=np.int64).reshape(-1, 2),
        tables[0] if len(tables) == 1 else np.concatenate(tables) if tables else _NO_TABLE,
        len(registers),
        result,
    )
