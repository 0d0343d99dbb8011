"""Random Transformer Programs in the form that the decompiler writes, and what they answer when they are run.

The texts are our own, so the tests may execute them: `answers` runs one with a small stand-in for pandas that adds
exact fractions. It shares nothing with the importer.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from numpy.random import Generator

HEAD = """import numpy as np
import pandas as pd


def select_closest(keys, queries, predicate):
    scores = [[False for _ in keys] for _ in queries]
    for i, q in enumerate(queries):
        matches = [j for j, k in enumerate(SEEN) if predicate(q, k)]
        if not (any(matches)):
            scores[i][0] = True
        else:
            j = min(matches, key=lambda j: len(matches) if j == i else abs(i - j))
            scores[i][j] = True
    return scores


def aggregate(attention, values):
    return [[v for a, v in zip(attn, values) if a][0] for attn in attention]


def run(tokens):
    # classifier weights ##########################################
    classifier_weights = pd.read_csv(
        "some/folder/NAME_weights.csv",
        index_col=[0, 1],
        dtype={"feature": str},
    )
    # inputs #####################################################
    token_scores = classifier_weights.loc[[("tokens", str(v)) for v in tokens]]

    positions = list(range(len(tokens)))
    position_scores = classifier_weights.loc[[("positions", str(v)) for v in positions]]

    ones = [1 for _ in range(len(tokens))]
    one_scores = classifier_weights.loc[[("ones", "_") for v in ones]].mul(ones, axis=0)
"""
TAIL = """    logits = feature_logits.groupby(level=0).sum(numeric_only=True).to_numpy()
    classes = classifier_weights.columns.to_numpy()
    predictions = classes[logits.argmax(-1)]
    if tokens[0] == "<s>":
        predictions[0] = "<s>"
    if tokens[-1] == "</s>":
        predictions[-1] = "</s>"
    return predictions.tolist()


examples = EXAMPLES
for x, y in examples:
    print(f"x: {x}")
    print(f"y: {y}")
    y_hat = run(x)
    print(f"y_hat: {y_hat}")
    print()
"""
TRAINED = "len(matches) if j == i else abs(i - j)"


class Rows(list[list[Fraction]]):
    """A frame of weights, one row a position."""

    def mul(self, numbers: list[int], axis: int) -> Rows:
        """Row by row."""
        return Rows([w * m for w in row] for row, m in zip(self, numbers, strict=True))

    def reset_index(self) -> Rows:
        """The same rows."""
        return self


class Classes(list[str]):
    """An array of class names."""

    def __getitem__(self, index: Any) -> Any:
        return Classes([list(self)[t] for t in index]) if isinstance(index, list) else super().__getitem__(index)

    def tolist(self) -> list[str]:
        """As a list."""
        return list(self)


def pandas(path: Path) -> SimpleNamespace:
    """Just enough of pandas for `run`, with exact sums."""
    with path.open() as file:
        header, *lines = csv.reader(file)
    table = {(f, v): [Fraction(w) for w in weights] for f, v, *weights in lines}

    class Loc:
        def __getitem__(self, keys: list[tuple[str, str]]) -> Rows:
            return Rows(table[key] for key in keys)

    def concat(frames: list[Rows]) -> SimpleNamespace:
        sums = [[sum(column, Fraction(0)) for column in zip(*rows, strict=True)] for rows in zip(*frames, strict=True)]
        array = SimpleNamespace(argmax=lambda axis: [row.index(max(row)) for row in sums])
        total = SimpleNamespace(to_numpy=lambda: array)
        return SimpleNamespace(groupby=lambda level: SimpleNamespace(sum=lambda numeric_only: total))

    columns = SimpleNamespace(to_numpy=lambda: Classes(header[2:]))
    frame = SimpleNamespace(loc=Loc(), columns=columns)
    return SimpleNamespace(read_csv=lambda *_, **__: frame, concat=concat)


def answers(path: Path, weights: Path, rule: str) -> Any:
    """The function `run` of a program, by the printed rule or with a matching self ranked last."""
    text = path.read_text().partition("\nexamples")[0]
    if rule == "trained":
        assert TRAINED in text
        text = text.replace(TRAINED, "len(keys) if j == i else abs(i - j)")
    space: dict[str, Any] = {}
    exec(text.replace("import numpy as np\nimport pandas as pd\n", ""), space)
    space["pd"] = pandas(weights)
    return space["run"]


def write_program(
    folder: Path,
    rng: Generator,
    *,
    longest: int = 5,
    heads: int = 3,
    mlps: int = 2,
    classes: int = 3,
    letters: int = 2,
    causal: bool | None = None,
    markers: bool | None = None,
    digits: int = 3,
    examples: str = "[]",
) -> tuple[Path, Path]:
    """A random program and its weights; every choice that is not given is random."""

    def below(m: int) -> int:
        return int(rng.integers(m))

    def pick(names: Sequence[Any]) -> Any:
        return names[below(len(names))]

    causal = bool(below(2)) if causal is None else causal
    markers = bool(below(2)) if markers is None else markers
    tokens = [*"abcdef"[:letters], *(["</s>", "<pad>", "<s>"] if markers else ["<pad>"])]
    values: dict[str, list[Any]] = {"tokens": tokens, "positions": list(range(longest))}
    parts = [HEAD.replace("SEEN", "keys[: i + 1]" if causal else "keys")]
    kinds = rng.permutation([0] * heads + [1] * mlps).tolist()
    for at, kind in enumerate(kinds):
        if kind == 0:
            q, k, v = (pick(list(values)) for _ in range(3))
            name = f"attn_0_{at}_outputs"
            groups: dict[Any, list[Any]] = {}
            for value in values[q]:
                if value != "<pad>" and below(8):
                    groups.setdefault(pick(values[k]), []).append(value)
            chain = (
                "".join(
                    f"        {'elif' if t else 'if'} qq in {{{', '.join(map(repr, g))}}}:\n"
                    f"            return kk == {w!r}\n"
                    for t, (w, g) in enumerate(groups.items())
                )
                or f"        if qq in {{{values[q][0]!r}}}:\n            return kk == {values[k][0]!r}\n"
            )
            parts.append(
                f"\n    # {name} ######\n    def predicate_{at}(qq, kk):\n{chain}\n"
                f"    attn_0_{at}_pattern = select_closest({k}, {q}, predicate_{at})\n"
                f"    {name} = aggregate(attn_0_{at}_pattern, {v})\n"
            )
            values[name] = values[v]
        else:
            args = [pick(list(values)) for _ in range(1 + below(2))]
            name, formals = f"mlp_0_{at}_outputs", ["aa", "bb"][: len(args)]
            key = f"({', '.join(formals)})" if len(args) > 1 else formals[0]
            chain = ""
            for t in range(below(3)):
                cases = [tuple(pick(values[a]) for a in args) for _ in range(1 + below(4))]
                members = ", ".join(repr(c if len(args) > 1 else c[0]) for c in cases)
                chain += f"        {'elif' if t else 'if'} key in {{{members}}}:\n            return {below(4)}\n"
            loop = f"zip({', '.join(args)})" if len(args) > 1 else args[0]
            ks = ", ".join(f"k{t}" for t in range(len(args)))
            parts.append(
                f"\n    def mlp_{at}({', '.join(formals)}):\n        key = {key}\n{chain}        return {below(4)}\n\n"
                f"    {name} = [mlp_{at}({ks}) for {ks} in {loop}]\n"
            )
            values[name] = [0, 1, 2, 3]
        parts.append(
            f'    {name[:-1]}_scores = classifier_weights.loc[\n        [("{name}", str(v)) for v in {name}]\n    ]\n'
        )
    frames = ["token_scores", "position_scores", *(f"{n[:-1]}_scores" for n in list(values)[2:]), "one_scores"]
    parts.append(
        "\n    feature_logits = pd.concat(\n        [\n            df.reset_index()\n            for df in [\n"
    )
    parts.append("".join(f"                {f},\n" for f in frames) + "            ]\n        ]\n    )\n")
    name = f"program{below(10**6)}"
    text = "".join(parts) + TAIL
    path, weights = folder / f"{name}.py", folder / f"{name}_weights.csv"
    path.write_text(text.replace("NAME", name).replace("EXAMPLES", examples))
    lines = ["feature,value," + ",".join(f"C{c}" for c in range(classes))]
    for feature, domain in [*values.items(), ("ones", ["_"])]:
        lines += [f"{feature},{v},{','.join(number(rng, digits) for _ in range(classes))}" for v in domain]
    weights.write_text("\n".join(lines) + "\n")
    return path, weights


def number(rng: Generator, digits: int) -> str:
    """A decimal number, now and then in exponent form; few digits make ties."""
    if digits == 0:
        return str(int(rng.integers(-2, 3)))
    if rng.integers(6) == 0:
        return f"{int(rng.integers(-99, 100))}.5e-0{int(rng.integers(1, 1 + digits))}"
    return f"{int(rng.integers(-5 * 10**digits, 5 * 10**digits)) / 10**digits:.{digits}f}"
