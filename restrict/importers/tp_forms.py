"""The forms of a generated Transformer Program, and matching syntax trees against them. A *pattern* is such a form, in
which names that start with ``X`` stand for any name, those with ``XX`` for anything, and strings that start with ``$``
for any string. Helper functions are compared whole: they are known by what they do, not by their names. The counting
forms (``select``, ``aggregate_sum``) are known too, so that they can be declined by name."""

import ast
from functools import lru_cache

CLOSEST = """
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
"""
AGGREGATE = """
def aggregate(attention, values):
    return [[v for a, v in zip(attn, values) if a][0] for attn in attention]
"""
SUM = """
def aggregate_sum(attention, values):
    return [sum([v for a, v in zip(attn, values) if a]) for attn in attention]
"""
SELECT = "def select(keys, queries, predicate):\n    return [[predicate(q, k) for k in keys] for q in queries]\n"
SELECT_PAST = (
    "def select(keys, queries, predicate):\n"
    "    return [[predicate(q, k) for k in keys[: i + 1]] for i, q in enumerate(queries)]\n"
)


def _shape(text: str) -> str:
    return ast.dump(ast.parse(text).body[0])


HELPERS = {
    _shape(CLOSEST.replace("SEEN", "keys")): "full",
    _shape(CLOSEST.replace("SEEN", "keys[: i + 1]")): "causal",
    **{_shape(text): "other" for text in (AGGREGATE, SUM, SELECT, SELECT_PAST)},
}


def match(pattern: ast.AST, node: object, found: dict[str, object]) -> bool:
    """Whether a whole tree has the form of a pattern; what stands at ``X...`` names and ``$...`` strings goes to
    ``found``, also where it does not, and must be the same wherever a name occurs twice."""
    hole = _hole(pattern)
    if hole is not None:
        anything = hole[:2] == "XX"
        got = node if anything else getattr(node, "value" if isinstance(node, ast.Constant) else "id", None)
        if hole in found:
            return bool(found[hole] == got)
        found[hole] = got
        return isinstance(got, str) if hole[0] == "$" else anything or isinstance(node, ast.Name)
    return type(pattern) is type(node) and all(
        _match_part(part, getattr(node, name), found)
        for name, part in ast.iter_fields(pattern)
        if name not in ("ctx", "type_comment", "kind")
    )


def _hole(pattern: ast.AST) -> str | None:
    if isinstance(pattern, ast.Name) and pattern.id[0] == "X":
        return pattern.id
    if isinstance(pattern, ast.Constant) and isinstance(pattern.value, str) and pattern.value[:1] == "$":
        return pattern.value
    return None


def _match_part(part: object, node: object, found: dict[str, object]) -> bool:
    if isinstance(part, list):
        return (
            isinstance(node, list)
            and len(part) == len(node)
            and all(_match_part(p, x, found) for p, x in zip(part, node, strict=True))
        )
    if isinstance(part, ast.AST):
        return match(part, node, found)
    return type(part) is type(node) and part == node


def pattern_of(text: str) -> ast.stmt:
    """The statement of a text, whose names that begin with ``$`` match anything."""
    return ast.parse(text).body[0]


def test_of(text: str) -> ast.expr:
    """The expression of a text, likewise."""
    return ast.parse(text, mode="eval").body


@lru_cache
def function_of(count: int, zipped: bool) -> ast.stmt:
    """A variable that is a function of others: ``Y = [f(k0, k1) for k0, k1 in zip(a, b)]``, or without ``zip``."""
    names, sources = (", ".join(f"{hole}{at}" for at in range(count)) for hole in ("Xk", "XX"))
    return pattern_of(f"Xname = [Xf({names}) for {names}{f', in zip({sources})' if zipped else f' in {sources}'}]")


MEMBER = test_of("Xname in XX")
EQUAL = test_of("Xname == XX")


class Line:
    """The lines of ``run``, and of the file around it."""

    FRAMES = pattern_of("feature_logits = pd.concat([df.reset_index() for df in XX])")
    READ = pattern_of('classifier_weights = pd.read_csv("$csv", index_col=[0, 1], dtype={"feature": str})')
    POSITIONS = pattern_of("positions = list(range(len(tokens)))")
    ONES = pattern_of("ones = [1 for _ in range(len(tokens))]")
    ONE_SCORES = pattern_of('Xscores = classifier_weights.loc[[("ones", "_") for v in ones]].mul(ones, axis=0)')
    SCORES = pattern_of('Xscores = classifier_weights.loc[[("$feature", str(v)) for v in Xvalues]]')
    NUM_SCORES = pattern_of(
        'Xscores = classifier_weights.loc[[("$feature", "_") for v in Xvalues]].mul(Xvalues, axis=0)'
    )
    PATTERN = pattern_of("Xpattern = select_closest(Xkey, Xquery, Xpredicate)")
    OUTPUTS = pattern_of("Xname = aggregate(Xpattern, Xvalue)")
    WORDS = pattern_of('embed_df = pd.read_csv("$csv").set_index("word")')
    LOOKED_UP = pattern_of("embeddings = embed_df.loc[tokens]")
    EMBEDDED = pattern_of('Xname = [Xenum[f"V{i:02}"] for i in embeddings["$column"]]')
    COUNTING = (
        pattern_of("Xname = select(Xkey, Xquery, Xpredicate)"),
        pattern_of("Xname = aggregate_sum(Xpattern, Xvalue)"),
    )
    ENDING = tuple(
        ast.parse(
            """
logits = feature_logits.groupby(level=0).sum(numeric_only=True).to_numpy()
classes = classifier_weights.columns.to_numpy()
predictions = classes[logits.argmax(-1)]
if tokens[0] == "<s>":
    predictions[0] = "<s>"
if tokens[-1] == "</s>":
    predictions[-1] = "</s>"
return predictions.tolist()
"""
        ).body
    )
    CALL = pattern_of("print(run(XX))")
    SHOW = """
for x, y in examples:
    print(f"x: {x}")
    print(f"y: {y}")
    y_hat = run(x)
    print(f"y_hat: {y_hat}")
    print()
"""
    FIXED = tuple(map(pattern_of, ("import numpy as np", "import pandas as pd", SHOW)))


RESERVED = frozenset((
    "tokens", "str", "list", "range", "len", "zip", "enumerate", "min", "abs", "any", "sum", "pd", "np", "df", "v",
    "examples", "run", "select_closest", "select", "aggregate", "aggregate_sum", "feature_logits", "logits", "classes",
    "predictions", "print",
))  # fmt: skip
"""Names that mean something in the fixed lines: a program that assigned one would not mean what it says."""
