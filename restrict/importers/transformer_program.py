"""Transformer Programs (Friedman, Wettig & Chen 2023) as hard-attention programs.

Every categorical variable of the program is a variable of the model. A head asks for one key value per query value
(``wanted``) and reads at the closest match: left before right at equal distance, position 0 where nothing matches. As a
pairwise score, with ``k == q`` for a match (the query variable of the model holds the wanted key value):

    2n + 2 - |i - j|  at a match j other than i,   n + 2  at i itself if it matches,   1 at j = 0, else 0,   ties left

**Self.** That is the *trained* rule: a matching self ranks last. The printed ``select_closest`` puts a matching self
``len(matches)`` away instead. Which of two fixed pairs wins then depends on how many other matches there are, so no
score of pairs can express it. But where at most one key matches, or the self cannot match, both rules are the same. The
*printed* rule is therefore refused where neither can be seen from the program; the message names these heads.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path

import numpy as np

from restrict.base.errors import ModelError, ResourceLimit, UsageError, quote
from restrict.base.wording import counted
from restrict.importers.argmax import Feature, argmax
from restrict.importers.common import MAX_TABLE, MAX_VARIABLES, Imported, finish
from restrict.importers.tp_parse import parse_program
from restrict.importers.tp_reference import predict
from restrict.importers.tp_tree import Attention, Mlp, TransformerProgram, Value
from restrict.importers.tp_weights import OutputWeights, read_embeddings, read_weights
from restrict.model.document import Variable, head, mapped, table
from restrict.model.program import Model
from restrict.model.validate import NAME, STAR, escaped

RULES = ("trained", "printed")
START, END, PAD = "<s>", "</s>", "<pad>"
SCORE = "(2 * n + 2 - abs(i - j) if i != j else n + 2) if k == q else j == 0"


@dataclass(frozen=True)
class _Setting:
    """The program with what its CSV says: ``values[name]`` are the values of each variable, in the model's order."""

    program: TransformerProgram
    weights: OutputWeights
    alphabet: tuple[str, ...]
    start: str | None
    end: str | None
    longest: int
    values: dict[str, tuple[Value, ...]]


def import_transformer_program(
    path: str | Path, weights: str | Path | None = None, *, embeddings: str | Path | None = None,
    self_rule: str = "trained", output: str = "every",
) -> Imported:  # fmt: skip
    """A Transformer Program as a model with a class at every position.

    Cost: about (classes^2 + classes * digits) * features small maps.

    Args:
        path: the generated Python file; it is parsed, never run.
        weights: the CSV of output weights; by default the file that the program names, in the program's folder.
        embeddings: the CSV of embeddings of words, where the program reads one; found in the same way by default.
        self_rule: ``"trained"`` (a matching self ranks last) or ``"printed"`` (the text of ``select_closest``).
        output: ``"every"`` position, or ``"last"``: the class at position n-1 only.

    Returns:
        The model, defined for n up to the number of positions that the CSV knows, and notes: the rule, and how the
        model and the program agree on the file's own examples.

    Raises:
        ModelError: anything that is not the generated form, counting heads, a missing row of weights, or a head to
            which the printed rule gives no score; the message is file:line: reason.
        ResourceLimit: the read-out, a table or a file is too large.
        UsageError: a rule or an output that does not exist, an embeddings file for a program that reads none, or a file
            that cannot be read.
    """
    path = Path(path)
    if self_rule not in RULES:
        raise UsageError(f"the rule for a matching self is one of {', '.join(RULES)}, not {quote(self_rule)}")
    if output not in ("every", "last"):
        raise UsageError(f"output must be every or last, not {quote(output)}")
    program = parse_program(path)
    if program.embeddings is not None:
        program = with_embeddings(program, _beside(path, embeddings, program.embeddings.csv))
    elif embeddings is not None:
        raise UsageError(f"{path} reads no embeddings of words; leave out the embeddings file")
    setting = _setting(program, read_weights(_beside(path, weights, program.csv)))
    open_heads = [s for s in program.steps if isinstance(s, Attention) and not _rules_agree(setting, s)]
    if self_rule == "printed" and open_heads:
        names = ", ".join(f"{s.name} (line {s.line})" for s in open_heads)
        raise ModelError(
            f"{path}: the printed select_closest cannot be written as a score for {names}: a matching self is "
            'len(matches) away, and several keys can match; import with the trained rule (`self_rule="trained"`)'
        )
    variables = _variables(setting)
    readout, best = _readout(setting, MAX_VARIABLES - len(variables) - 1)
    labels = [*setting.weights.classes, *(m for m in (setting.start, setting.end) if m is not None)]
    final = _final(setting, best, len(setting.weights.classes))
    model = finish(
        path, path.stem, f"Imported from {path.name} (Transformer Program, {self_rule} rule for a matching self).",
        [escaped(a) for a in setting.alphabet], [*variables, *readout, final],
        {"variable": final["name"], "position": output, "labels": labels},
        start_marker=setting.start, end_marker=setting.end, when=f"n <= {setting.longest}",
    )  # fmt: skip
    star = (f"the word * of the program is written {STAR}, since * means a free position",)
    notes = (*_rule_notes(self_rule, program, open_heads), *_example_notes(setting, model, self_rule, output))
    notes += star if STAR in model.alphabet else ()
    return Imported(model, notes)


def _beside(path: Path, given: str | Path | None, named: str) -> Path:
    """The file that was given; otherwise the file that the program names, in the program's folder."""
    return Path(given) if given is not None else path.parent / named.replace("\\", "/").rpartition("/")[2]


def with_embeddings(program: TransformerProgram, csv: Path) -> TransformerProgram:
    """The program with its table of embeddings in its steps: each embedded variable is a function of the word.
    ``ModelError``: a malformed table; ``UsageError``: unreadable; ``ResourceLimit``: too large."""
    assert program.embeddings is not None
    tables = read_embeddings(csv, program.embeddings.columns)
    steps = tuple(
        replace(s, table={(word,): value for word, value in tables[s.name].items()})
        if isinstance(s, Mlp) and s.name in tables
        else s
        for s in program.steps
    )
    return replace(program, steps=steps)


# ---------------------------------------------------------------- domains


def _setting(program: TransformerProgram, weights: OutputWeights) -> _Setting:
    """Alphabet, markers and the values of every variable. The tokens and positions are those with weights."""
    for feature in ("positions",) if program.embeddings else ("tokens", "positions"):
        if not weights.values(feature):
            raise ModelError(f"{weights.path}: there are no rows for feature {feature}, so its values are unknown")
    tokens, places = _words(program) or weights.values("tokens"), weights.values("positions")
    start, end = (START if START in tokens else None), (END if END in tokens else None)
    if program.examples:  # the file's own examples say which markers are really used
        start = START if all(x[:1] == (START,) for x, _ in program.examples) else None
        end = END if all(x[-1:] == (END,) for x, _ in program.examples) else None
    alphabet = tuple(t for t in tokens if t not in (START, END, PAD))
    longest = len(places)
    if set(places) != {str(p) for p in range(longest)}:
        raise ModelError(f"{weights.path}: the positions with weights are not 0 .. {longest - 1}")
    values: dict[str, tuple[Value, ...]] = {
        "tokens": (*alphabet, *(m for m in (start, end) if m is not None)),
        "positions": tuple(range(longest)),
    }
    for step in program.steps:
        if not NAME.fullmatch(step.name):
            raise ModelError(f"{program.path}:{step.line}: {quote(step.name)} is too long a name")
        values[step.name] = values[step.value] if isinstance(step, Attention) else _results(step, values)
    return _Setting(program, weights, alphabet, start, end, longest, values)


def _words(program: TransformerProgram) -> list[str]:
    """The words of the table of embeddings; none where there is no such table."""
    if program.embeddings is None:
        return []
    step = next(s for s in program.steps if s.name in program.embeddings.columns)
    assert isinstance(step, Mlp)
    words = [str(word) for (word,) in step.table]
    if not words:
        raise ModelError(f"{program.path}: the table of embeddings has no words")
    return words


def _results(step: Mlp, values: Mapping[str, tuple[Value, ...]]) -> tuple[Value, ...]:
    """The values that a function takes on its arguments' values, sorted."""
    args = list(dict.fromkeys(step.args))
    size = prod(len(values[a]) for a in args)
    if size > MAX_TABLE:
        raise ResourceLimit(
            f"{step.name} (line {step.line}) would be a table of {size} entries; the limit is {MAX_TABLE}"
        )
    found = {_apply(step, dict(zip(args, point, strict=True))) for point in product(*(values[a] for a in args))}
    return tuple(sorted(found, key=lambda v: (isinstance(v, str), v)))


def _apply(step: Mlp, point: Mapping[str, Value]) -> Value:
    return step.table.get(tuple(point[a] for a in step.args), step.default)


# ---------------------------------------------------------------- variables


def _rules_agree(setting: _Setting, head: Attention) -> bool:
    """Whether it can be seen that a matching self is always the only match. For each query value: nothing is wanted
    that the key can be; or the key value occurs at one position only (a position, or a marker); or the self cannot
    match, because query and key are the same variable and the value wants another one, or because the query is position
    0, where the start marker stands."""
    for value in setting.values[head.query]:
        wanted = head.wanted.get(value)
        if wanted is None or wanted not in setting.values[head.key] or head.key == "positions":
            continue
        if head.key == "tokens" and wanted in (setting.start, setting.end):
            continue
        if head.query == head.key and wanted != value:
            continue
        if head.query == "positions" and value == 0 and head.key == "tokens" and setting.start is not None:
            continue
        return False
    return True


def _model_name(name: str) -> str:
    return "token" if name == "tokens" else name


def _variables(setting: _Setting) -> list[Variable]:
    """The positions, heads and MLPs as maps and heads over the positions of the values in ``setting.values``."""
    made: list[Variable] = [mapped("positions", [], setting.longest, "i")]
    codes = {name: {v: at for at, v in enumerate(values)} for name, values in setting.values.items()}
    for step in setting.program.steps:
        if isinstance(step, Attention):
            key = codes[step.key]
            wanted = [key.get(step.wanted[v], len(key)) if v in step.wanted else len(key) for v in codes[step.query]]
            asks = f"ask_{step.name}"[:64]
            names = [_model_name(name) for name in (step.query, step.key, step.value)]
            made.append(mapped(asks, names[:1], len(key) + 1, table(names[:1], wanted)))
            mask = "past" if setting.program.causal else "none"
            made.append(head(step.name, query=asks, key=names[1], value=names[2], score=SCORE, mask=mask))
        else:
            args = list(dict.fromkeys(step.args))
            names, shape = [_model_name(a) for a in args], [len(setting.values[a]) for a in args]
            points = (dict(zip(args, point, strict=True)) for point in product(*(setting.values[a] for a in args)))
            values = np.array([codes[step.name][_apply(step, point)] for point in points]).reshape(shape).tolist()
            made.append(mapped(step.name, names, len(codes[step.name]), table(names, values)))
    return made


def _readout(setting: _Setting, room: int) -> tuple[list[Variable], str]:
    program, weights = setting.program, setting.weights
    bias = [Fraction(0)] * len(weights.classes)
    features = []
    for name in program.features:
        if name == "ones":
            bias = [b + w for b, w in zip(bias, weights.row("ones", "_"), strict=True)]
        else:
            rows = tuple(weights.row(name, v) for v in setting.values[name])
            features.append(Feature(_model_name(name), rows))
    try:
        return argmax(features, bias, "out_", room)
    except ResourceLimit as error:
        raise ResourceLimit(f"{program.path}: {error}") from None


def _final(setting: _Setting, best: str, classes: int) -> Variable:
    """The class, except at the markers, where the program answers the marker."""
    answer, at = best, classes
    markers = [m for m in (setting.start, setting.end) if m is not None]
    for token in range(len(setting.alphabet), len(setting.alphabet) + len(markers)):
        answer = f"({at} if token == {token} else {answer})"
        at += 1
    return mapped("prediction", [best, "token"] if at > classes else [best], at, answer)


# ---------------------------------------------------------------- notes


def _rule_notes(rule: str, program: TransformerProgram, open_heads: list[Attention]) -> tuple[str, ...]:
    heads = sum(isinstance(s, Attention) for s in program.steps)
    if rule == "printed":
        return ("rule: printed (a matching self is len(matches) away); exact for every head",)
    same = heads - len(open_heads)
    names = ", ".join(s.name for s in open_heads[:6]) + (", ..." if len(open_heads) > 6 else "")
    means = f"the printed text means the same for {same} of {counted(heads, 'head')}"
    text = f"rule: trained (a matching self ranks last); {means}"
    return (text + (f", and may differ for {names}" if open_heads else ""),)


def _example_notes(setting: _Setting, model: Model, rule: str, output: str) -> tuple[str, ...]:
    """How the model, the program by either rule, and the file's examples agree, position by position."""
    usable, skipped = [], 0
    inner = slice(setting.start is not None, -1 if setting.end is not None else None)
    for x, y in setting.program.examples:
        word = x[inner]
        if len(x) <= setting.longest and word and all(s in setting.alphabet for s in word):
            usable.append((x, y, word))
        else:
            skipped += 1
    if not usable:
        return ("examples: none that the model can run",)
    same = dict.fromkeys(("itself", "printed", "expected"), 0)
    total = listed = 0
    for x, y, word in usable:
        found = model.run([escaped(a) for a in word]).output
        answers = {
            "itself": predict(setting.program, setting.weights, x, rule),
            "printed": predict(setting.program, setting.weights, x, "printed"),
            "expected": list(y or ()),
        }
        where = range(len(x))[inner] if output == "every" else [len(x) - 1]
        total += len(where)
        for kind, answer in answers.items():
            same[kind] += sum(answer[i] == (found[i] if output == "every" else found) for i in where if answer)
        listed += len(where) if y else 0
    if same["itself"] != total:
        raise ModelError(
            f"{setting.program.path}: the imported model differs from the program on its own examples at "
            f"{total - same['itself']} of {total} positions; please report this file"
        )
    more = f"; {skipped} more examples are outside the model" if skipped else ""
    return (
        f"examples: {len(usable)}, {total} outputs; the model equals the program ({rule} rule) at {total}, the printed "
        f"text at {same['printed']}, the listed expectation at {same['expected']} of {listed}{more}",
    )
