"""All wrong words of a claim (`soft verify --wrong-words`), and that all others are right: judged by a plain forward
pass on all words."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from restrict.base.errors import ModelError, ResourceLimit, UsageError
from restrict.base.options import changed
from restrict.checker.main import verify
from restrict.soft.trained import every_wrong as searches
from restrict.soft.trained.confirm import confirmed
from restrict.soft.trained.decide import verify_trained
from restrict.soft.trained.every_wrong import every_wrong
from restrict.soft.trained.excepted import excepting, words_asked
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.labelled import answered, folded
from restrict.soft.trained.options import OPTIONS
from tests import verdict_cases
from tests.commands import failed, raising, typed
from tests.naive_gpt2 import Naive, prefixes
from tests.test_verdicts_answers import greatest_of, numbers, saved, table_of_greatest

Word = tuple[int, ...]


def judged(case: verdict_cases.Case) -> tuple[int, set[Word]]:
    """How many words of a claim something is asked behind, and behind which the model is wrong."""
    model, naive, graph, n = case
    reader, asked, bad = () if model.reader is None else (model.reader,), 0, set[Word]()
    for word, q in prefixes((graph.delta, graph.accept), n):
        others = [k for k in graph.labels if k not in graph.want[q]]
        if (not word and not graph.empty) or (graph.greatest and not others):
            continue
        asked += 1
        said = naive.logits((*(model.tokens[s] for s in word), *reader))
        wanted = graph.want[q]
        if graph.greatest:
            wrong = max(said[k] for k in wanted) <= max(said[k] for k in others)
        else:
            wrong = any((said[k] > 0) != (k in wanted) for k in graph.labels)
        bad |= {word} if wrong else set()
    return asked, bad


def without(naive: Naive, case: verdict_cases.Case, bad: set[Word], found: Graph) -> None:
    """A claim is the given one but behind the wrong words, where it asks nothing, or for the signs that there are."""
    model, _, graph, n = case
    reader = () if model.reader is None else (model.reader,)
    assert {word for word, _ in prefixes((found.delta, found.accept), n)} == {
        word for word, _ in prefixes((graph.delta, graph.accept), n)
    }
    for word, q in prefixes((graph.delta, graph.accept), n):
        wanted = found.want[found.state(word)]
        if word not in bad:
            assert wanted == graph.want[q]
        elif graph.greatest:
            assert wanted == set(graph.labels)
        else:
            said = naive.logits((*(model.tokens[s] for s in word), *reader))
            assert wanted == {k for k in graph.labels if said[k] > 0}


@pytest.mark.parametrize("name", ["greatest", "no start", "norms", "reader", "plain"])
@pytest.mark.parametrize("near", [True, False])
def test_the_wrong_words_are_those_of_all_words(name: str, near: bool) -> None:
    """Of small random models; by neighbours of a wrong word, or by searches alone."""
    complete = 0
    for seed in range(8):
        model, naive, graph, n = verdict_cases.first(name, seed)
        case = model, naive, graph, min(n, 3)
        asked, bad = judged(case)
        with changed(OPTIONS, **({} if near else {"each": 1})):
            found = every_wrong(model, graph, case[3], 24, seconds=60)
        found, line = confirmed(found, "c")
        got = {behind.word for behind in found.wrong_words}
        assert found.share is not None
        assert found.share.words == asked
        assert got <= bad
        assert len(got) == len(found.wrong_words)
        if found.status == "right":
            assert got == bad
            assert line is not None
            assert line.startswith("s VERIFIED right ")
            without(naive, case, bad, excepting(model, graph, got))
            complete += bool(bad)
        elif len(got) == 24:
            assert found.status == "wrong"
            assert "further words may be wrong: the search ends with 24 wrong words" in found.text(line)
    assert complete or name in ("no start", "reader")


def test_two_and_more_layers_keep_what_is_found() -> None:
    """Three layers are never proved: the last certificate is that of the last wrong word."""
    shown = 0
    for seed in range(6):
        model, naive, graph, n = verdict_cases.case("several layers", seed)
        case = model, naive, graph, min(n, 2)
        found = every_wrong(model, graph, case[3], 4, seconds=5)
        got = {behind.word for behind in found.wrong_words}
        assert got <= judged(case)[1]
        if got:
            found, line = confirmed(found, "c")
            assert line is not None
            shown += 1
            assert found.status == "right" or "further words may be wrong" in found.text(line)
    assert shown


def biased(into: Path, **what: Any) -> Any:
    """A model of the greatest of three numbers below 3 that likes 1 too much: wrong behind words without a 1."""
    arrays = greatest_of(3, 3)
    arrays["unembed.b_U"][1] = 100
    return saved(into, arrays, numbers(3))


WORDS = {word for word in table_of_greatest(3, 3) if max(word, key=int) != "1"}


def test_as_many_searches_as_there_may_be_wrong_words(tmp_path: Path) -> None:
    model = biased(tmp_path)
    graph = answered(model, table_of_greatest(3, 3))
    count = len(WORDS)
    found = every_wrong(model, graph, 3, count)
    assert (found.status, len(found.wrong_words), found.share.words) == ("wrong", count, 27)  # type: ignore[union-attr]
    found = every_wrong(model, graph, 3, count + 1, recheck=False)
    assert {tuple(model.symbols[s] for s in b.word) for b in found.wrong_words} == WORDS
    assert found.status == "right"
    assert found.document()["provenance"]["language"].endswith(f", without {count} wrong words")
    assert all(b.label == 1 and b.logit > b.best for b in found.wrong_words)
    assert verify(model.content, found.to_bytes()).startswith("s VERIFIED right n=0..3 greatest start=none ")
    assert every_wrong(model, graph, 3, 1).wrong_words[0].word == verify_trained(model, graph, 3).wrong.word  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="at least one wrong word is looked for, not 0"):
        every_wrong(model, graph, 3, 0)


def test_the_time_and_an_interrupt_keep_what_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = biased(tmp_path)
    graph = answered(model, table_of_greatest(3, 3))
    with changed(OPTIONS, each=1):
        assert every_wrong(model, graph, 3, 40, seconds=0.0).status != "right"
    monkeypatch.setattr(searches.Hunt, "near", raising(KeyboardInterrupt))
    found = every_wrong(model, graph, 3, 40)
    assert (len(found.wrong_words), found.stopped, found.status) == (1, "interrupted", "wrong")
    monkeypatch.setattr(searches, "confirmed", raising(KeyboardInterrupt))
    found = every_wrong(model, graph, 3, 40)
    assert (len(found.wrong_words), found.stopped, found.status) == (0, "interrupted", "open")
    assert "none of 27 words is known to be wrong; words may be wrong" in found.text(None)
    assert found.summary(None)["others"] == found.summary(None)["status"] == "open"
    monkeypatch.setattr(searches, "confirmed", raising(ResourceLimit("too many steps")))
    found = every_wrong(model, graph, 3, 40)
    assert (found.wrong_words, found.status) == ((), "open")
    monkeypatch.undo()
    monkeypatch.setattr(searches, "excepting", raising(ModelError("more than 4096 states")))
    found = every_wrong(model, graph, 3, 40)
    assert found.status == "wrong"
    assert found.wrong_words
    assert "further words may be wrong" in found.text(None)


def test_a_claim_without_words(tmp_path: Path) -> None:
    """The states that it needs, whatever goes on from a word; and what is none of its words."""
    model = biased(tmp_path)
    graph = folded(model, 3, "0", lambda most, s: max(most, s, key=int), str)
    assert excepting(model, graph, []).want == graph.want
    some = [(0, 0, 0), (2, 2), (2, 0, 1)]
    found = excepting(model, graph, some)
    for length in range(4):
        for word in itertools.product(range(3), repeat=length):
            nothing = word in some or length < 3
            assert found.want[found.state(word)] == (set(range(3)) if nothing else {max(word)})
    assert words_asked(found, 3) == 25  # nothing was asked behind the second of them
    assert len(excepting(model, graph, list(itertools.product(range(3), repeat=3))).delta) <= len(graph.delta)
    with pytest.raises(UsageError, match="'0 0 0 0' cannot be taken out of the claim"):
        excepting(model, graph, [(0, 0, 0, 0)])
    wide = folded(model, 9, 0, lambda _, s: 0, lambda _: "0")
    assert words_asked(wide, 9) == 3**9
    assert words_asked(folded(model, 60, 0, lambda _, s: 0, lambda _: "0"), 60) is None
    long = [word for word in itertools.product(range(3), repeat=8) if sum(word) % 2]
    with pytest.raises(ModelError, match="without these words needs more than 4096 states"):
        excepting(model, Graph(((0, 0, 0),), frozenset({0}), (0, 1), (frozenset({0}),), greatest=True), scattered(long))


def scattered(words: list[Word]) -> list[Word]:
    """Words behind which different things go on, so that few states are the same."""
    return [
        (*word, *(k for k in range(3) if (17 * at) >> k & 1), *map(int, f"{at:b}")) for at, word in enumerate(words)
    ]


def test_the_command(tmp_path: Path) -> None:
    model = biased(tmp_path)
    path, kept = tmp_path / "max.txt", tmp_path / "c.json"
    path.write_text("".join(f"{' '.join(word)} -> {a}\n" for word, a in table_of_greatest(3, 3).items()))
    start = "soft", "verify", tmp_path / "m.safetensors", "--answers", path, "-n", 3
    done = typed(*start, "--wrong-words", 99, "-o", kept)
    assert done.exit_code == 3
    text = done.stdout.splitlines()
    count = len(WORDS)
    assert text[0].startswith(f"m on 27 answers of max.txt, without {count} wrong words, n = 0 .. 3: right (")
    assert sum(line.startswith("wrong behind: ") for line in text) == count
    assert f"{count} of 27 words are wrong, all others are right" in text
    assert next(line for line in text if line.startswith("s VERIFIED right ")) == verify(
        model.content, kept.read_bytes()
    )
    assert "m is wrong; the words stand above" in done.stderr
    said = json.loads(typed(*start, "--wrong-words", 99, "--json").stdout)
    assert (said["status"], said["others"], said["words"], len(said["wrong_words"])) == ("wrong", "right", 27, count)
    assert {tuple(entry["word"]) for entry in said["wrong_words"]} == WORDS
    assert all(entry["label"] == "1" and entry["wanted"] == [max(entry["word"])] for entry in said["wrong_words"])
    few = typed(*start, "--wrong-words", 2)
    assert few.exit_code == 3
    assert "2 of 27 words are wrong; further words may be wrong: the search ends with 2 wrong words" in few.stdout
    one = json.loads(typed(*start, "--json").stdout)
    assert one["status"] == "wrong"
    assert "wrong_words" not in one


def test_what_the_command_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    biased(tmp_path)
    path = tmp_path / "max.txt"
    path.write_text("0 0 0 -> 0\n0 0 1 -> 1\n")
    start = "soft", "verify", tmp_path / "m.safetensors", "--answers", path
    for more in (("-n", 3, "--certificate", path), ("--all-lengths",), ("-n", 3, "--all-lengths")):
        assert "--wrong-words searches up to a length" in failed(UsageError, *start, *more, "--wrong-words", 2)
    for count in ("0", "-1", "x", "1001", "1.5"):
        done = typed(*start, "-n", 3, "--wrong-words", count)
        assert done.exit_code == 2
        assert "--wrong-words" in str(done.exception) + done.output
    monkeypatch.setattr("restrict.soft.trained.confirm.trusted_check", raising(ResourceLimit("too many steps")))
    monkeypatch.setattr("restrict.soft.trained.every_wrong._taken", lambda found: found)
    monkeypatch.setattr("restrict.soft.trained.parts.Processes.line", lambda self, content: None)
    done = typed(*start, "-n", 3, "--wrong-words", 2)
    assert isinstance(done.exception, ResourceLimit)
    assert "1 of 2 words is wrong, all others are right" in done.stdout
    assert "not checked: a search in floats" in done.stdout
