"""Random Transformer Programs in the form that the decompiler writes, and what they answer when they are run.

The texts are our own, so the tests may execute them: `answers` runs one with a small stand-in for pandas that adds
exact fractions. It shares nothing with the importer.
"""

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
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


TOKEN_SCORES = """    token_scores = classifier_weights.loc[[("tokens", str(v)) for v in tokens]]

"""
EMBEDDED = """    embed_df = pd.read_csv("some/folder/NAME_embeddings.csv").set_index("word")
    embeddings = embed_df.loc[tokens]
"""


class Member(str):
    """The name of a member of an enumeration, which stands in the text without quotes."""

    __repr__ = str.__str__


class Rows(np.ndarray):
    """A frame of weights: fractions, shape (positions, classes)."""

    def mul(self, numbers: list[int], axis: int) -> "Rows":
        """Row by row."""
        found: Rows = self * np.array(numbers)[:, None]
        return found

    def reset_index(self) -> "Rows":
        """The same rows."""
        return self


class Rowwise:
    """What a frame's ``loc`` finds by a list of keys."""

    def __init__(self, found: Callable[[list[Any]], Any]) -> None:
        self.found = found

    def __getitem__(self, keys: list[Any]) -> Any:
        return self.found(keys)


def pandas(path: Path) -> SimpleNamespace:
    """Just enough of pandas for `run`, with exact sums; a table of embeddings is a column by name."""
    header, *lines = csv.reader(path.read_text().splitlines())
    table = {(f, v): [Fraction(w) for w in weights] for f, v, *weights in lines}
    weights = Rowwise(lambda keys: np.array([table[key] for key in keys], dtype=object).view(Rows))
    columns = SimpleNamespace(to_numpy=lambda: np.array(header[2:], dtype=object))
    embeddings = path.with_name(path.name.replace("_weights", "_embeddings"))
    rows = (
        {row["word"]: row for row in csv.DictReader(embeddings.read_text().splitlines())} if embeddings.exists() else {}
    )
    words = Rowwise(
        lambda tokens: {name: [int(rows[t][name]) for t in tokens] for name in rows[tokens[0]] if name != "word"}
    )

    def concat(frames: list[Rows]) -> SimpleNamespace:
        total = SimpleNamespace(to_numpy=lambda: sum(frames[1:], frames[0]))
        return SimpleNamespace(groupby=lambda level: SimpleNamespace(sum=lambda numeric_only: total))

    def read_csv(*_: Any, index_col: Any = None, **__: Any) -> SimpleNamespace:
        frame = SimpleNamespace(loc=weights, columns=columns)
        return frame if index_col is not None else SimpleNamespace(set_index=lambda _: SimpleNamespace(loc=words))

    return SimpleNamespace(read_csv=read_csv, concat=concat)


def answers(path: Path, weights: Path, rule: str) -> Any:
    """The function `run` of a program, by the printed rule or with a matching self ranked last."""
    text = path.read_text().partition("\nexamples")[0]
    if rule == "trained":
        assert TRAINED in text
        text = text.replace(TRAINED, "len(keys) if j == i else abs(i - j)")
    # The members of an enumeration print as they are named in the weights.
    space: dict[str, Any] = {
        enum: Enum(enum, {f"V{t:02}": t for t in range(40)}) for enum in re.findall(r"\bEmb\d\b", text)
    }
    text = re.sub(r"^from words import .*\n", "", text, flags=re.MULTILINE)
    exec(text.replace("import numpy as np\nimport pandas as pd\n", ""), space)
    space["pd"] = pandas(weights)
    return space["run"]


def branches(cases: Iterable[tuple[str, str]]) -> str:
    """The branches of a function: tests and what they return."""
    return "".join(
        f"        {'elif' if at else 'if'} {test}:\n            return {answer}\n"
        for at, (test, answer) in enumerate(cases)
    )


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
    embedded: int = 0,
) -> tuple[Path, Path]:
    """A random program and its weights; every choice that is not given is random. With ``embedded`` tables, words are
    read through a CSV of embeddings only, ``NAME_embeddings.csv``."""

    def below(m: int) -> int:
        return int(rng.integers(m))

    def pick(names: Sequence[Any]) -> Any:
        return names[below(len(names))]

    causal = bool(below(2)) if causal is None else causal
    markers = bool(below(2)) if markers is None else markers
    tokens = [*"abcdef"[:letters], *(["</s>", "<pad>", "<s>"] if markers else ["<pad>"])]
    values: dict[str, list[Any]] = {"tokens": tokens, "positions": list(range(longest))}
    parts = [HEAD.replace("SEEN", "keys[: i + 1]" if causal else "keys")]
    names, columns = [f"Emb{t}" for t in range(embedded)], dict[str, list[int]]()
    if embedded:
        del values["tokens"]
        start = parts[0].replace(TOKEN_SCORES, "")
        parts[0] = start.replace(
            "import pandas as pd\n", f"import pandas as pd\nfrom words import {', '.join(names)}\n"
        )
        parts.append(EMBEDDED)
    for t, enum in enumerate(names):
        name = f"var{t}_embeddings"
        columns[name] = [below(3) for _ in tokens]
        values[name] = [Member(f"{enum}.V{v:02}") for v in sorted(set(columns[name]))]
        parts.append(f'    {name} = [{enum}[f"V{{i:02}}"] for i in embeddings["{name}"]]\n')
        parts.append(f'    {name[:-1]}_scores = classifier_weights.loc[[("{name}", str(v)) for v in {name}]]\n')
    kinds = rng.permutation([0] * heads + [1] * mlps).tolist()
    for at, kind in enumerate(kinds):
        if kind == 0:
            q, k, v = (pick(list(values)) for _ in range(3))
            name = f"attn_0_{at}_outputs"
            groups: dict[Any, list[Any]] = {}
            for value in values[q]:
                if value != "<pad>" and below(8):
                    groups.setdefault(pick(values[k]), []).append(value)
            groups = groups or {values[k][0]: [values[q][0]]}
            chain = branches((f"qq in {{{', '.join(map(repr, g))}}}", f"kk == {w!r}") for w, g in groups.items())
            parts.append(
                f"\n    # {name} ######\n    def predicate_{at}(qq, kk):\n{chain}\n"
                f"    attn_0_{at}_pattern = select_closest({k}, {q}, predicate_{at})\n"
                f"    {name} = aggregate(attn_0_{at}_pattern, {v})\n"
            )
            values[name] = values[v]
        else:
            args = [pick(list(values)) for _ in range(1 + below(2))]
            name, single = f"mlp_0_{at}_outputs", len(args) == 1
            cases = []
            for _ in range(below(3)):
                points = [tuple(pick(values[a]) for a in args) for _ in range(1 + below(4))]
                members = ", ".join(repr(p[0] if single else p) for p in points)
                cases.append((f"key in {{{members}}}", str(below(4))))
            formals, key, ks = ("aa", "aa", "k0") if single else ("aa, bb", "(aa, bb)", "k0, k1")
            parts.append(
                f"\n    def mlp_{at}({formals}):\n        key = {key}\n{branches(cases)}        return {below(4)}\n\n"
                f"    {name} = [mlp_{at}({ks}) for {ks} in {args[0] if single else f'zip({args[0]}, {args[1]})'}]\n"
            )
            values[name] = [0, 1, 2, 3]
        parts.append(
            f'    {name[:-1]}_scores = classifier_weights.loc[\n        [("{name}", str(v)) for v in {name}]\n    ]\n'
        )
    frames = [f"{n[:-1]}_scores" for n in values] + ["one_scores"]
    parts.append(
        "\n    feature_logits = pd.concat(\n        [\n            df.reset_index()\n            for df in [\n"
    )
    parts.append("".join(f"                {f},\n" for f in frames) + "            ]\n        ]\n    )\n")
    name = f"program{below(10**6)}"
    text = "".join(parts) + TAIL
    path, weights = folder / f"{name}.py", folder / f"{name}_weights.csv"
    path.write_text(text.replace("NAME", name).replace("EXAMPLES", examples))
    if embedded:
        rows = [",".join(map(str, row)) for row in zip(tokens, *columns.values(), strict=True)]
        (folder / f"{name}_embeddings.csv").write_text("\n".join([f"word,{','.join(columns)}", *rows]) + "\n")
    lines = ["feature,value," + ",".join(f"C{c}" for c in range(classes))]
    for feature, domain in [*values.items(), ("ones", ["_"])]:
        lines += [f"{feature},{v},{','.join(number(rng, digits) for _ in range(classes))}" for v in domain]
    weights.write_text("\n".join(lines) + "\n")
    return path, weights


def number(rng: Generator, digits: int) -> str:
    """A decimal number, sometimes in exponent form; few digits make ties."""
    if digits == 0:
        return str(int(rng.integers(-2, 3)))
    if rng.integers(6) == 0:
        return f"{int(rng.integers(-99, 100))}.5e-0{int(rng.integers(1, 1 + digits))}"
    return f"{int(rng.integers(-5 * 10**digits, 5 * 10**digits)) / 10**digits:.{digits}f}"
