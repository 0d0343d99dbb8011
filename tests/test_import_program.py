"""Transformer Programs: the imported model equals the program when it is run, and other Python is refused by line."""

import itertools
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import restrict
from restrict.base.arrays import all_words
from restrict.base.errors import ModelError, ResourceLimit, UsageError
from restrict.importers import argmax as readout
from restrict.importers import import_transformer_program
from restrict.importers.argmax import Feature, argmax
from restrict.importers.common import finish
from restrict.importers.tp_forms import AGGREGATE
from restrict.importers.tp_parse import parse_program
from restrict.importers.tp_reference import closest, predict
from restrict.importers.tp_tree import Attention, Mlp
from restrict.importers.tp_weights import read_weights
from restrict.importers.transformer_program import with_embeddings
from restrict.model.document import mapped
from restrict.model.program import Model
from restrict.model.trace import run_batch
from scripts.make_imports import INSTANCES
from tests.marks import heavy_after
from tests.transformer_programs import answers, write_program

EXAMPLE = INSTANCES / "tp-same-as-first.txt"
WEIGHTS = INSTANCES / "tp-same-as-first_weights.csv"


def outputs(model: Model, n: int) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """All words for inputs of length n, each with the labels at every position."""
    batch = run_batch(model.at(n), all_words(len(model.alphabet), n - len(model.markers)))
    words = itertools.product(model.alphabet, repeat=n - len(model.markers))
    for word, row in zip(words, batch.values[model.output.variable], strict=True):
        yield word, [model.output.label(int(v)) for v in row]


def agree(path: Path, weights: Path, rule: str, longest: int) -> None:
    """The model, the reference and the program as Python runs it, on all inputs up to a length."""
    model, run = import_transformer_program(path, weights, self_rule=rule).model, answers(path, weights, rule)
    program, rows = parse_program(path), read_weights(weights)
    if program.embeddings is not None:
        program = with_embeddings(program, path.with_name(f"{path.stem}_embeddings.csv"))
    for n in range(max(1, len(model.markers)), longest + 1):
        for word, output in outputs(model, n):
            tokens = [s for s in (model.start_marker, *word, model.end_marker) if s is not None]
            expected = run(tokens)
            assert output == expected, (path.read_text(), tokens)
            if n <= 3:
                assert predict(program, rows, tokens, rule) == expected


@pytest.mark.parametrize("seeds", heavy_after((range(3), range(3, 51), range(1000, 1500)), 1))
def test_random_programs_equal_themselves_when_run(seeds: range, tmp_path: Path) -> None:
    """By both rules; the printed one is refused where several keys can match. Of the many some are larger."""
    for seed in seeds:
        size = {"digits": seed % 6, "classes": 1 + seed % 4}
        if seed >= 1000:
            size = {"digits": seed % 9, "classes": 1 + seed % 6, "letters": 1 + seed % 3, "heads": 5}
        path, weights = write_program(tmp_path, np.random.default_rng(seed), **size)
        agree(path, weights, "trained", 5)
        if "may differ" not in import_transformer_program(path).notes[0]:
            agree(path, weights, "printed", 5)
            continue
        with pytest.raises(ModelError, match="the printed select_closest cannot be written as a score for attn"):
            import_transformer_program(path, self_rule="printed")


def test_the_two_rules_differ_where_it_says(tmp_path: Path) -> None:
    """Where the printed rule is refused there really are programs on which the rules differ."""
    said = []
    for seed in range(22, 27):
        path, weights = write_program(tmp_path, np.random.default_rng(seed), classes=3, markers=False)
        note = import_transformer_program(path).notes[0]
        printed, trained = (answers(path, weights, rule) for rule in ("printed", "trained"))
        differs = any(printed(list(w)) != trained(list(w)) for w in itertools.product("ab", repeat=5))
        assert not differs or "may differ for attn" in note
        said.append((differs, "may differ" not in note))
    assert all(sum(column) > 1 for column in zip(*said, strict=True))


def test_no_score_of_pairs_gives_the_printed_rule() -> None:
    """The proof of the module, as an instance: with keys that match at {3, 5} position 3 attends to itself, with
    {3, 5, 6} to 5, so no scores of the pairs (3, 3) and (3, 5) say it."""
    for matches, attended in (((3, 5), 3), ((3, 5, 6), 5)):
        assert closest(False, "printed", 3, [j in matches for j in range(7)], True) == attended


# ---------------------------------------------------------------- the read-out


@pytest.mark.parametrize("base", heavy_after([16, 64, 32], 1))
def test_argmax_is_exact(base: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random weights with many digits and near ties, all combinations of feature values."""
    monkeypatch.setattr(readout, "BASES", (base,))
    for seed in range(7 if base == 16 else 14):
        rng = np.random.default_rng(seed)
        classes, count, digits = [1, 2, 3, 4, 5, 13, 29][seed % 7], 1 + seed % 4, [0, 1, 9, 20][seed % 4]

        def number(rng: np.random.Generator = rng, digits: int = digits) -> Fraction:
            high, low = int(rng.integers(-3, 4)), int(rng.integers(-2, 3))
            return Fraction(high) + Fraction(low, 10**digits)

        weights = [tuple(tuple(number() for _ in range(classes)) for _ in range(3)) for _ in range(count)]
        bias = [number() for _ in range(classes)]
        features = [Feature(f"f{t}", w) for t, w in enumerate(weights)]
        maps, last = argmax(features, bias, "o_", 4000)
        digits_of = [mapped(f"f{t}", ["token"], 3, f"token // {3**t} % 3") for t in range(count)]
        alphabet = [f"s{t}" for t in range(3**count)]
        output = {"variable": last, "position": "last"}
        model = finish(tmp_path / "x", "x", "", alphabet, [*digits_of, *maps], output)
        found = run_batch(model.at(1), np.arange(3**count).reshape(-1, 1)).values[last][:, 0]
        for token, answer in enumerate(found):
            rows = [w[token // 3**t % 3] for t, w in enumerate(weights)]
            sums = [bias[c] + sum(row[c] for row in rows) for c in range(classes)]
            assert answer == sums.index(max(sums)), (seed, token)


def test_argmax_says_when_it_is_too_large() -> None:
    rng = np.random.default_rng(0)
    rows = tuple(tuple(Fraction(int(x), 10**12) for x in rng.integers(-(10**12), 10**12, size=6)) for _ in range(4))
    for features, classes, room, message in (
        ([Feature(f"f{t}", rows) for t in range(10)], 6, 100, r"the exact read-out needs \d+ maps and 100 are left"),
        ([], 13, 90, "the exact read-out of 13 classes needs 112 maps; 90 are left"),
        ([], 257, 4000, "257 output classes; the importer compares at most 256"),
    ):
        with pytest.raises(ResourceLimit, match=message):
            argmax(features, [Fraction(0)] * classes, "o_", room)


def test_pooled_logits_are_declined_for_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "words.py"
    path.write_text("from words import Emb0\ndef run(tokens):\n    logits = tokens\n    pooled = logits.mean(0)\n")
    with pytest.raises(ModelError, match=r":4: the logits of all positions are averaged \(pooled\): .*Theorem 1"):
        import_transformer_program(path)


# ---------------------------------------------------------------- embeddings of words


@pytest.mark.parametrize("part", heavy_after(range(5), 1))
def test_programs_that_embed_words_equal_themselves_when_run(part: int, tmp_path: Path) -> None:
    for seed in range(5 * part, 5 * part + 5):
        rng = np.random.default_rng(seed)
        path, weights = write_program(tmp_path, rng, embedded=1 + seed % 3, letters=2 + seed % 2, classes=1 + seed % 4)
        agree(path, weights, "trained", 4)


def embedded(tmp_path: Path, examples: str = "[]") -> tuple[Path, Path]:
    """A program with two embeddings, and their table."""
    path, _ = write_program(tmp_path, np.random.default_rng(3), embedded=2, markers=False, examples=examples)
    return path, path.with_name(path.stem + "_embeddings.csv")


def test_the_table_of_embeddings_can_stand_elsewhere(tmp_path: Path) -> None:
    path, table = embedded(tmp_path, '[(["a", "b"], ["C0", "C1"]), (["a", "zebra"], ["C0", "C0"])]')
    found = import_transformer_program(path)
    assert found.model.alphabet == ("a", "b")
    assert found.notes[1].startswith("examples: 1, 2 outputs; the model equals the program (trained rule) at 2")
    assert found.notes[1].endswith("; 1 more examples are outside the model")
    other = tmp_path / "other.csv"
    table.rename(other)
    assert import_transformer_program(path, embeddings=other).model.content == found.model.content
    with pytest.raises(UsageError, match=r"_embeddings\.csv: cannot read"):
        import_transformer_program(path)
    with pytest.raises(UsageError, match="reads no embeddings of words; leave out the embeddings file"):
        import_transformer_program(EXAMPLE, embeddings=other)


def test_words_that_pandas_cannot_look_up_are_left_out(tmp_path: Path) -> None:
    path, table = embedded(tmp_path)
    alphabet = import_transformer_program(path).model.alphabet
    table.write_text(table.read_text() + "NA,0,0\nnull,1,1\n,1,1\n")
    assert import_transformer_program(path).model.alphabet == alphabet


TABLES = [
    ("word,", "token,", ":1: expected one column 'word' in the header"),
    ("var1_embeddings", "var2_embeddings", ":1: expected one column 'var1_embeddings' in the header"),
    ("\nb,", "\na,", ":3: the word 'a' has two rows"),
    ("\nb,", "\nb,7,", ":3: 4 fields, not 3"),
    ("\nb,", "\nb,-", "' is not the number of an embedding"),
]


LINES = [
    ("    embed_df = pd", "    other = pd", "is not part of a generated Transformer Program"),
    ("    embeddings = embed_df.loc[tokens]\n", "", "the embeddings of the tokens are not looked up before this line"),
    ("from words import Emb0, Emb1", "from words import Emb0", "'Emb1' is not imported as an enumeration of embeddi"),
    ("from words import Emb0, Emb1", "from words import Emb0, Emb1 as E", "is not part of a generated"),
    ("from words import Emb0, Emb1", "from .words import Emb0, Emb1", "is not part of a generated"),
    ("from words import Emb0, Emb1", "from words import Emb0, Emb1, run", "is not part of a generated"),
    ("== Emb", '== "Emb0.V00" == Emb', "a branch must return"),
    ("def mlp_0(aa", "def mlp_0(Emb0", "mlp_0 must take plain, distinct arguments"),
    ("== Emb0.V0", '== "Emb0.V00" #', "the string 'Emb0.V00' is no member of an enumeration"),
]


@pytest.mark.parametrize(("file", "old", "new", "message"), [*((1, *t) for t in TABLES), *((0, *t) for t in LINES)])
def test_other_ways_to_embed_and_bad_tables_are_refused(
    file: int, old: str, new: str, message: str, tmp_path: Path
) -> None:
    """In the program (0) and in its table (1)."""
    files = embedded(tmp_path)
    text = files[file].read_text()
    assert old in text
    files[file].write_text(text.replace(old, new))
    with pytest.raises(ModelError, match=re.escape(message)):
        import_transformer_program(files[0])


# ---------------------------------------------------------------- the example


def test_the_example_by_both_rules() -> None:
    for rule in ("trained", "printed"):
        found = import_transformer_program(EXAMPLE, self_rule=rule)
        assert found.notes[1] == (
            f"examples: 2, 7 outputs; the model equals the program ({rule} rule) at 7, the printed text at 7, "
            "the listed expectation at 7 of 7"
        )
        agree(EXAMPLE, WEIGHTS, rule, 8)
    assert found.notes[0] == "rule: printed (a matching self is len(matches) away); exact for every head"
    model = found.model
    for n in range(2, 9):
        for word, output in outputs(model, n):
            assert output == ["<s>", *("same" if letter == word[0] else "other" for letter in word)]
    with pytest.raises(ModelError, match="not defined at n = 9"):
        model.at(9)


@pytest.mark.heavy
def test_certificates_at_every_position_of_the_example() -> None:
    model = restrict.load(INSTANCES / "tp-same-as-first.json")
    for target in range(8):
        certificate = restrict.certify(model, 8, target=target)
        # At 1 nothing needs to be fixed, which only a proof by cases shows: the head brings the own token.
        assert len(certificate.restriction.fixed) == (0 if target < 2 else 2)
        assert restrict.check(model, certificate).startswith(f"s VERIFIED n=8 target={target}")


def test_output_at_the_last_position_only() -> None:
    model = import_transformer_program(EXAMPLE, output="last").model
    assert model.run("abb").output == "other"


def test_parsing_runs_nothing(tmp_path: Path) -> None:
    """Whatever stands in the file, at most it is refused."""
    mark = tmp_path / "mark"
    path = tmp_path / "p.py"
    path.write_text(f"open({str(mark)!r}, 'w')\n" + EXAMPLE.read_text())
    with pytest.raises(ModelError, match=r"p\.py:1: .* is not part of a generated Transformer Program"):
        import_transformer_program(path, WEIGHTS)
    assert not mark.exists()


def edited(tmp_path: Path, old: str, new: str, count: int = 1) -> Path:
    """The example with one piece of text replaced."""
    text = EXAMPLE.read_text()
    assert old in text
    path = tmp_path / "p.py"
    path.write_text(text.replace(old, new, count))
    return path


def line_of(path: Path, piece: str) -> int:
    """The number of the first line with a piece of text."""
    return next(t for t, line in enumerate(path.read_text().splitlines(), 1) if piece in line)


COUNT = """
    num_attn_0_0_pattern = select(tokens, tokens, predicate_0_0)
    num_attn_0_0_outputs = aggregate_sum(num_attn_0_0_pattern, ones)
"""
OTHER_ONES = """
    def count(token):
        key = token
        if key in {"a"}:
            return 5
        return 0
    ones = [count(k) for k in tokens]
"""
CALLED = "    mlp_0_0_outputs = [mlp_0_0(k0, k1) for k0, k1 in zip(tokens, attn_0_0_outputs)]\n"
ONE = """
    def one(token):
        key = token
        if key in {("a",), "b"}:
            return 1
        return 0
    mlp_0_0_outputs = [one(k) for k in tokens]
"""
BAD = [
    ("def run(tokens):", "def walk(tokens):", "walk",
     "the function walk is not one that a generated Transformer Program has"),
    ("def run(tokens):", "def run(tokens, x=1):", "def run", "run must take one argument, tokens"),
    ("abs(i - j))", "abs(i - j) + 1)", "def select_closest", "the function select_closest is not one that"),
    ("import numpy as np", "import os", "import os", "'import os' is not part of a generated Transformer Program"),
    ("if q_position in {0}:", "if q_position < 1:", "q_position < 1",
     "expected `if q_position in {...}: return ...`, not 'q_position < 1'"),
    ("return k_position == 0", "return k_position != 0", "!= 0", "a branch must return `k_position == constant`"),
    ("return k_position == 0", "return k_position == n", "== n", "expected a string or an integer, not 'n'"),
    ("return k_position == 0", "return k_position == True", "== True", "expected a string or an integer, not 'True'"),
    ("return k_position == 0", "return k_position == 0.5", "0.5", "expected a string or an integer, not '0.5'"),
    ("    # mlp_0_0 ####", COUNT + "    # mlp_0_0 ####", "select(tokens",
     "num_attn_0_0_pattern counts (a numerical attention head reads a sum over positions): outside Theorem 1"),
    ("    # mlp_0_0 ####", "    tokens = positions\n    # mlp_0_0 ####", "tokens = pos",
     "'tokens = positions' is not part of"),
    ("mlp_0_0_outputs = [mlp", "attn_0_0_outputs = [mlp", "attn_0_0_outputs = [",
     "'attn_0_0_outputs' already has a meaning"),
    ("[mlp_0_0(k0, k1) for k0, k1 in", "[k0(k0, k1) for k0, k1 in", "[k0(k0, k1)",
     "is not part of a generated Transformer Program"),
    ("    ones = [1 for _ in range(len(tokens))]\n", OTHER_ONES, "ones = [count(k)", "'ones' has a fixed meaning"),
    ("    ones = [1 for _ in range(len(tokens))]\n", "", "one_scores = c", "the ones are used before they are defined"),
    ("    positions = list(range(len(tokens)))\n", OTHER_ONES.replace("ones", "positions"), "positions = [count(k)",
     "'positions' has a fixed meaning"),
    (CALLED, ONE, '("a",)', "one: a case is a tuple, but the key is the argument itself"),
    (f"{AGGREGATE.strip()}\n", "", "def run", "there is no aggregate, so this is not a generated Transformer Program"),
    ("mlp_0_0_outputs = [mlp", "zip = [mlp", "zip = [mlp", "'zip' already has a meaning"),
    ("zip(tokens, attn_0_0_outputs)", "zip(tokens, other)", "zip(tokens, other)",
     "'other' is not a categorical variable"),
    ("aggregate(attn_0_0_pattern, tokens)", "aggregate(attn_0_0_pattern, ones)", "pattern, ones",
     "'ones' is not a categorical"),
    ("aggregate(attn_0_0_pattern, tokens)", "aggregate(pattern, tokens)", "aggregate(pattern, t",
     "'pattern' is not the result of a"),
    ("positions, predicate_0_0)", "positions, other)", "attn_0_0_outputs = agg",
     "the predicate 'other' is not defined before"),
    ('("attn_0_0_outputs", str(v))', '("tokens", str(v))', "attn_0_0_output_scores = c",
     "the weights of 'tokens' are applied to attn"),
    ("        return 0\n", "        return x\n", "return x", "expected a string or an integer, not 'x'"),
    ("key = (token, attn_0_0_output)", "key = (attn_0_0_output, token)", "def mlp_0_0",
     "mlp_0_0 is not `key = (token, attn_0"),
    ("if key in {", "if key not in {", "if key not in", "expected `if key in {...}: return ...`"),
    ('("a", "a")', '("a", "a", "a")', "return 1", "a case has 3 values for 2 arguments"),
    ("logits.argmax(-1)", "logits.argmin(-1)", "argmin", "expected `'predictions = classes[logits.argmax(-1)]'` here"),
    ('predictions[0] = "<s>"', 'predictions[0] = "x"', 'if tokens[0] == "<s>"', "expected `"),
    ("                mlp_0_0_output_scores,\n", "                scores,\n", "                scores,",
     "'scores' is not the scores of"),
    ("return predictions.tolist()", "return predictions", "return predictions",
     "expected `'return predictions.tolist()'` here"),
    ('["<pad>", "same", "same", "other"]', '["<pad>", "same"]', "examples = [", "examples is not a list of pairs"),
    ("y_hat = run(x)", "y_hat = eval(x)", "for x, y in", "is not part of a generated Transformer Program"),
    ("index_col=[0, 1]", "index_col=[0]", "classifier_weights = pd", "is not part of a generated Transformer Program"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "piece", "message"), BAD)
def test_other_python_is_refused_with_its_line(old: str, new: str, piece: str, message: str, tmp_path: Path) -> None:
    path = edited(tmp_path, old, new)
    with pytest.raises(ModelError) as error:
        import_transformer_program(path, WEIGHTS)
    assert str(error.value).startswith(f"{path}:{line_of(path, piece)}: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "x = (", "def f(:\n", "\0", "(" * 5000, "examples = [1]\n", "x" * 100_000])
def test_files_that_are_not_programs_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(text)
    with pytest.raises(ModelError) as error:
        import_transformer_program(path)
    assert str(error.value).startswith(f"{path}:")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 600


CSV = [
    ("feature,value,other,same", "a,b,c", ":1: expected the header feature,value,CLASS,..."),
    ("feature,value,other,same", "feature,value,same,same", ":1: class names must be distinct and not empty"),
    ("feature,value,other,same", "feature,value,other,value", ":1: a class cannot be called feature or value"),
    ("tokens,a,0.25,-0.125", "tokens,a,0.25,٣", ":18: '٣' is not a decimal number"),
    ("tokens,a,0.25,-0.125", "tokens,a,0.25", ":18: 3 fields, not 4"),
    ("tokens,a,0.25,-0.125", "tokens,a,0.25,nan", ":18: 'nan' is not a decimal number"),
    ("tokens,a,0.25,-0.125", "tokens,a,0.25,1_0", ":18: '1_0' is not a decimal number"),
    ("tokens,a,0.25,-0.125", "tokens,a,0.25,1e9999", ":18: '1e9999' is not a decimal number"),
    ("ones,_,0.0625", "one,_,0.0625", ": there is no row for feature ones, value '_'"),
    ("mlp_0_0_outputs,1,", "mlp_0_0_outputs,2,", ": there is no row for feature mlp_0_0_outputs, value '1'"),
    ("attn_0_0_outputs,b,", "attn_0_0_outputs,a,", ": there are several rows for feature attn_0_0_outputs, value 'a'"),
    ("positions,7,", "positions,9,", ": the positions with weights are not 0 .. 7"),
]


@pytest.mark.parametrize(("old", "new", "message"), CSV)
def test_bad_weights_are_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    assert old in WEIGHTS.read_text()
    path.write_text(WEIGHTS.read_text().replace(old, new))
    with pytest.raises(ModelError, match=re.escape(f"{path}{message}")):
        import_transformer_program(EXAMPLE, path)
    with pytest.raises(UsageError, match=r"nothing\.csv: cannot read"):
        import_transformer_program(EXAMPLE, tmp_path / "nothing.csv")


def test_rows_that_cannot_be_looked_up_are_left_out(tmp_path: Path) -> None:
    """Those that pandas reads as missing; and rows named `_`, which the decompiler writes for values that no variable
    has, often several of a name."""
    path = tmp_path / "w.csv"
    filler = "".join(f"{f},_,0.5,0.5\n" * 3 for f in ("tokens", "attn_0_0_outputs"))
    for more in ("tokens,null,0.5,0.5\ntokens,NA,0.5,0.5\n", filler):
        path.write_text(WEIGHTS.read_text() + more)
        found = import_transformer_program(EXAMPLE, path).model
        assert found.content == import_transformer_program(EXAMPLE).model.content


def test_a_bare_call_is_an_example(tmp_path: Path) -> None:
    path, program = tmp_path / "p.py", EXAMPLE.read_text().partition("examples = [")[0]
    path.write_text(program + 'print(run(["<s>", "a", "b"]))\n')
    assert import_transformer_program(path, WEIGHTS).notes[1].startswith("examples: 1, 2 outputs; the model equals")
    path.write_text(program + "print(run(input()))\n")
    with pytest.raises(ModelError, match="run is not called with a list of strings"):
        import_transformer_program(path, WEIGHTS)


def test_constants_of_other_types_do_not_match(tmp_path: Path) -> None:
    """`"1" == 1` is false in Python: such a branch asks for a key that never occurs, so position 0 is read."""
    path = edited(tmp_path, "return k_position == 1", 'return k_position == "1"')
    agree(path, WEIGHTS, "printed", 5)
    heads = [s for s in parse_program(path).steps if isinstance(s, Attention)]
    assert set(heads[0].wanted.values()) == {0, "1"}


def test_a_file_is_read_in_the_encoding_that_it_names(tmp_path: Path) -> None:
    """As Python reads it: these are the bytes of one letter in UTF-8, and of two in Latin-1."""
    path = edited(tmp_path, '("a", "a")', '("é", "a")')
    wanted = []
    for cookie in ("", "# -*- coding: latin-1 -*-\n"):
        path.write_text(cookie + path.read_text(), encoding="utf-8")
        wanted += [step.table for step in parse_program(path).steps if isinstance(step, Mlp)]
    assert wanted == [{("é", "a"): 1, ("b", "b"): 1}, {("Ã©", "a"): 1, ("b", "b"): 1}]


def test_a_quoted_word_keeps_its_line_separator(tmp_path: Path) -> None:
    """Only line feeds and returns end a row of a CSV, and none within quotes: such a word is not changed."""
    for separator in ("\u2028", "\x85", "\n"):
        path = tmp_path / "w.csv"
        path.write_text(WEIGHTS.read_text() + f'tokens,"a{separator}c",0.5,0.5\n')
        assert f"a{separator}c" in read_weights(path).values("tokens")


def test_wrong_options_are_refused() -> None:
    with pytest.raises(UsageError, match="one of trained, printed, not 'other'"):
        import_transformer_program(EXAMPLE, self_rule="other")
    with pytest.raises(UsageError, match="output must be every or last, not 'first'"):
        import_transformer_program(EXAMPLE, output="first")
