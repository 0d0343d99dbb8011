"""B-RASP programs as hard-attention programs: one head and a map per attention, one map per position-wise vector. For
``Y(i) = leftmost_j [M, S(i,j)] V(i,j) : D(i)``: what ``S`` and ``V`` read at ``j`` is packed into one variable, which
is both key and value of the head; what ``S`` reads at ``i`` is packed into the query; the score is 1 where ``S`` holds
and 0 elsewhere, with B-RASP's mask and ties. So the head brings the packed vectors of the leftmost ``j`` with ``S``
where there is one, otherwise those of some other ``j`` or its default. A map then checks ``S`` again and gives ``V`` or
``D``: it has all that they read, at ``i`` directly and at ``j`` from the head. So the model equals the definition, by
induction over the program."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from restrict.base.errors import ResourceLimit
from restrict.checker.rules import RESERVED
from restrict.importers.brasp_text import APPLIED, Atom, Attend, Brasp, Constant, Definition, Formula, Operation, parse
from restrict.importers.common import Imported, finish
from restrict.model import document

MAX_PACK = 2**12
"""Values of a packed variable; the score table has one entry for each two of them."""
MAX_SCORES = 2**16
CUT = 24
"""Formulas higher than this become several maps (an expression of the format has at most height 50)."""
Text = tuple[str, int, frozenset[str]]
"""An expression with its height and the variables that it reads."""


def import_brasp(path: str | Path) -> Imported:
    """A B-RASP program (text, docs/importers.md) as a model that equals it on every word of length at least 1.

    Cost: two or three variables per vector.

    Args:
        path: the file.

    Returns:
        The model, a recogniser at the last position, or at every one where the program says ``output: Y every``.

    Raises:
        ModelError: the message is file:line: reason; for malformed text and for counting or averaging attention.
        ResourceLimit: an attention reads too many vectors at once, or the file is too large.
        UsageError: the file cannot be read.
    """
    path = Path(path)
    program = parse(path)
    build = _Build(program)
    for definition in program.definitions:
        build.define(definition)
    description = f"Imported from {path.name} (B-RASP)."
    output = {"variable": build.names[program.output], "position": "every" if program.every else "last", "accept": [1]}
    model = finish(path, path.stem, description, program.alphabet, build.variables, output)
    where = "every position" if program.every else "the last position"
    return Imported(model, (f"output: {program.output} at {where}; the empty word is not covered",))


@dataclass(frozen=True)
class _Slot:
    """Where an atom is in a packed value ``v``: it holds where ``v // unit % size == equal``."""

    unit: int
    size: int
    equal: int

    def of(self, value: int) -> int:
        return int(value // self.unit % self.size == self.equal)

    def text(self, v: str, whole: int) -> str:
        """The atom as an expression; ``whole`` is the number of packed values."""
        if self.unit == 1 and self.size == whole:
            return f"({v} == {self.equal})"
        part = f"{v} // {self.unit}" if self.unit > 1 else v
        return f"({part} % {self.size} == {self.equal})"


@dataclass(frozen=True)
class _Pack:
    """Several atoms in one variable: its name, its size, and how to read an atom from a value."""

    name: str
    size: int
    read: dict[Atom, _Slot]


@dataclass
class _Build:
    """The variables made so far; ``names`` maps vectors to them."""

    program: Brasp
    variables: list[document.Variable] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        taken = {"token", "position", *RESERVED}
        for d in self.program.definitions:  # before any helper, so that vectors keep their names
            self.names[d.name] = self._free(d.name, taken | set(self.names.values()))
        self.taken = taken | set(self.names.values())

    @staticmethod
    def _free(name: str, taken: set[str]) -> str:
        free, count = name, 1
        while free in taken:
            free, count = f"{name}_{count if count > 1 else ''}", count + 1
        return free

    def helper(self, name: str) -> str:
        """A free name."""
        name = self._free(name, self.taken)
        self.taken.add(name)
        return name

    def add(self, name: str, args: Sequence[str], domain: int, text: str) -> str:
        """A map under a free name."""
        self.variables.append(document.mapped(self.helper(name), args, domain, text))
        return str(self.variables[-1]["name"])

    def define(self, d: Definition) -> None:
        text, _, reads = self._attend(d, d.rule) if isinstance(d.rule, Attend) else self.text(d.rule, d.name, {})
        self.variables.append(document.mapped(self.names[d.name], sorted(reads), 2, text))

    def own(self, atom: Atom) -> tuple[str, str]:
        """An atom at the position itself: its expression and the variable that it reads."""
        if atom.symbol:
            return f"(token == {self.program.alphabet.index(atom.name)})", "token"
        return self.names[atom.name], self.names[atom.name]

    def text(self, formula: Formula, name: str, brought: dict[Atom, tuple[str, str]]) -> Text:
        """A formula as an expression with values 0 and 1; atoms at ``j`` are read as ``brought`` says."""
        if isinstance(formula, Constant):
            return str(int(formula.value)), 1, frozenset()
        if isinstance(formula, Atom):
            text, variable = self.own(formula) if formula.index == "i" else brought[formula]
            return text, 6, frozenset((variable,))
        parts = [self.text(part, name, brought) for part in formula.parts]
        if formula.op == "not":
            return self.cut(f"(not {parts[0][0]})", parts, name)
        if formula.op == "implies":
            return self.cut(f"(not {parts[0][0]} or {parts[1][0]})", parts, name, 2)
        sign = {"and": "and", "or": "or", "xor": "!=", "iff": "=="}[formula.op]
        left = parts[0]
        for right in parts[1:]:
            left = self.cut(f"({left[0]} {sign} {right[0]})", [left, right], name)
        return left

    def cut(self, text: str, parts: Sequence[Text], name: str, more: int = 1) -> Text:
        """An expression over ``parts``; one that grows too high or long becomes a map of its own."""
        height = more + max(h for _, h, _ in parts)
        reads = frozenset[str]().union(*(r for _, _, r in parts))
        if height <= CUT and len(text) <= 3000:
            return text, height, reads
        part = self.add(f"{name}_part", sorted(reads), 2, text)
        return part, 1, frozenset((part,))

    def letter(self, atom: Atom) -> _Slot:
        """A symbol test where the lowest digit is the token."""
        return _Slot(1, len(self.program.alphabet), self.program.alphabet.index(atom.name))

    # ------------------------------------------------------------ attention

    def _attend(self, d: Definition, rule: Attend) -> Text:
        place = f"{self.program.path}:{d.line}: {d.name}"
        at_j = _atoms((rule.score, rule.value), "j")
        at_i = _atoms((rule.score,), "i")
        keys = self.pack(at_j, f"{d.name}_key", place)
        queries = self.pack(at_i, f"{d.name}_query", place) if at_i else _Pack("", 1, {})
        if keys.size * queries.size > MAX_SCORES:
            raise ResourceLimit(
                f"{place}: a score table of {keys.size * queries.size} entries; the limit is {MAX_SCORES}"
            )
        score = [[_truth(rule.score, queries, u, keys, w) for w in range(keys.size)] for u in range(queries.size)]
        rows = document.table(["q", "k"], score) if at_i else document.table(["k"], score[0])
        strict = rule.mask.startswith("strict")
        head = self.helper(f"{d.name}_head")
        self.variables.append(document.head(
            head, **({"query": queries.name} if at_i else {}), key=keys.name, value=keys.name, score=rows,
            mask=rule.mask, ties=rule.ties, domain=keys.size + strict, default=keys.size if strict else 0,
        ))  # fmt: skip
        brought = {atom: (keys.read[atom].text(head, keys.size), head) for atom in at_j}
        score_text, value, default = (self.text(f, d.name, brought) for f in (rule.score, rule.value, rule.default))
        seen = [f"{head} != {keys.size}"] if strict else []
        found = " and ".join([*seen, *([] if score_text[0] == "1" else [score_text[0]])]) or "1"
        reads = score_text[2] | value[2] | default[2] | ({head} if strict else frozenset())
        return f"{value[0]} if {found} else {default[0]}", 0, reads

    def pack(self, atoms: list[Atom], name: str, place: str) -> _Pack:
        """One variable that holds all atoms: a vector itself, the token, or a map that packs bits."""
        symbols, vectors = [a for a in atoms if a.symbol], [a for a in atoms if not a.symbol]
        if not symbols and len(vectors) == 1:
            return _Pack(self.names[vectors[0].name], 2, {vectors[0]: _Slot(1, 2, 1)})
        letters = len(self.program.alphabet)
        whole = 2 ** len(symbols) >= letters and bool(symbols)
        if whole and not vectors:
            return _Pack("token", letters, {a: self.letter(a) for a in symbols})
        unit = letters if whole else 1
        bits = vectors if whole else [*symbols, *vectors]
        size = unit * 2 ** len(bits)
        if size > MAX_PACK:
            raise ResourceLimit(
                f"{place} reads too many vectors at one position: {size} combinations; the limit is {MAX_PACK}"
            )
        terms, reads = (["token"] if whole else []), ({"token"} if whole else set[str]())
        read = {atom: self.letter(atom) for atom in (symbols if whole else [])}
        for t, atom in enumerate(bits):
            text, variable = self.own(atom)
            terms.append(f"{unit * 2**t} * {text}")
            reads.add(variable)
            read[atom] = _Slot(unit * 2**t, 2, 1)
        return _Pack(self.add(name, sorted(reads), size, " + ".join(terms) or "0"), size, read)


def _atoms(formulas: Sequence[Formula], index: str) -> list[Atom]:
    """The distinct atoms at an index, in the order in which they occur."""
    found: dict[Atom, None] = {}
    stack = list(reversed(formulas))
    while stack:
        f = stack.pop()
        if isinstance(f, Atom) and f.index == index:
            found[f] = None
        elif isinstance(f, Operation):
            stack.extend(reversed(f.parts))
    return list(found)


def _truth(formula: Formula, queries: _Pack, u: int, keys: _Pack, w: int) -> int:
    """The score predicate for a query and a key value."""
    if isinstance(formula, Constant):
        return int(formula.value)
    if isinstance(formula, Atom):
        pack, value = (queries, u) if formula.index == "i" else (keys, w)
        return pack.read[formula].of(value)
    return int(APPLIED[formula.op]([bool(_truth(p, queries, u, keys, w)) for p in formula.parts]))
