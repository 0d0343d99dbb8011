"""Verdicts that compare logits (`--read-out next`, `greatest`, `tags`): the greatest label is to be a wanted one.
Judged by a plain forward pass on all words."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save_file

from restrict.base.errors import RestrictError, UsageError
from restrict.checker.main import verify
from restrict.languages.dfa import minimal
from restrict.soft.trained.decide import verify_trained
from restrict.soft.trained.graph import graph_of, tagged_graph, task_language
from restrict.soft.trained.model import forward, load
from restrict.soft.trained.read_out import Asked, margin
from restrict.soft.trained.wrong import wrong_of
from tests import verdict_cases
from tests.commands import failed, succeeded, typed
from tests.marks import heavy_after
from tests.naive_gpt2 import Naive
from tests.verdict_cases import SHIPPED, refusal


def test_what_is_asked_of_logits() -> None:
    """By definition: the least of what is asked is positive iff the greatest label is a wanted one."""
    rng = np.random.default_rng(1)
    for _ in range(400):
        labels = int(rng.integers(1, 6))
        said, signs = rng.normal(size=labels), rng.choice([-1.0, 1.0], labels)
        if not (signs > 0).any():
            signs[0] = 1.0
        for greatest in (False, True):
            rows = Asked(signs, greatest).rows(said)
            least = float((rows @ said).min(initial=np.inf))
            assert least == pytest.approx(float(margin(said, signs, greatest)))
            right = signs[said.argmax()] > 0 if greatest else bool(((said > 0) == (signs > 0)).all())
            assert (least > 0) == right
            assert [row[p] * signs[p] > 0 for row, p in zip(rows, Asked(signs, greatest).places, strict=True)] == [
                True
            ] * len(rows)


def test_where_every_label_is_wanted_nothing_is_asked() -> None:
    model, _ = verdict_cases.kept(verdict_cases.NAMES[0])
    graph = graph_of(model, task_language(model), read_out="next")
    whole = replace(graph, want=(frozenset(graph.labels),) * len(graph.want))
    found = verify_trained(model, whole, 5, float32=True)
    assert found.status == "right"
    assert found.float32 is not None
    assert found.float32[::2] == (5, None)  # no margin is infinite in a sentence or in JSON
    assert verify(model.content, found.to_bytes()).startswith("s VERIFIED right n=0..5 greatest ")
    assert wrong_of(model, whole, (0,)) is None


# ---------------------------------------------------------------- the checker refuses


def test_the_greatest_of_no_labels_is_refused() -> None:
    model, _ = verdict_cases.kept(verdict_cases.NAMES[0])
    document = verify_trained(model, graph_of(model, task_language(model), read_out="next"), 4).document()
    assert document["language"]["read_out"] == "greatest"
    for read_out in ("signs", 1, None):
        assert "read_out" in refusal(model.content, document, language={"read_out": read_out})[1]
    document["language"]["want"][0] = []
    assert "the greatest of no labels is wanted" in refusal(model.content, document)[1]


def test_a_label_that_is_wanted_is_no_wrong_one() -> None:
    model, _ = verdict_cases.kept(verdict_cases.NAMES[2])
    graph = graph_of(model, task_language(model), read_out="greatest", label="<eos>")
    found = verify_trained(model, graph, 8)
    assert found.wrong is not None
    document = found.document()
    want = graph.want[graph.state(found.wrong.word)]
    document["wrong"]["label"] = min(want)
    assert "the label is wanted there" in refusal(model.content, document)[1]
    others = [k for k in graph.labels if k not in want and k != found.wrong.label]
    said = forward(model, model.rows([model.symbols[s] for s in found.wrong.word]))[-1]
    for label in others:
        if said[label] < max(said[list(want)]):
            assert "is not shown to be wrong" in refusal(model.content, document, wrong={"label": label})[1]
    low, middle, high = sorted(graph.labels, key=lambda k: said[k])[-3:]
    for two, code in (([low, high], 3), ([low], 0)):  # above one of two that are wanted is not enough
        alone = document | {"upto": -1, "cases": [], "basis": [], "wrong": document["wrong"] | {"label": middle}}
        assert refusal(model.content, alone, language={"want": [sorted(two)] * len(graph.want)})[0] == code


def test_signs_are_another_claim() -> None:
    """What is right by the greatest may be wrong by signs: without its read-out the certificate is refused."""
    rng = np.random.default_rng(5)
    seen = 0
    while seen < 3:
        model, _, graph = verdict_cases.random_case(rng, greatest=True)
        found = verify_trained(model, graph, 2, seconds=60)
        if found.status != "right":
            continue
        document = found.document()
        del document["language"]["read_out"]
        if not verdict_cases.true_of(model.content, document):
            seen += 1
            assert not verdict_cases.accepted(model, document)


# ---------------------------------------------------------------- labels of the read-out's own, and the command


def headed_as(name: str, into: Path, folder: Path = SHIPPED) -> Path:
    """A checkpoint whose read-out has the labels `no` (always 0) and `yes` (as the end token had)."""
    arrays = load_arrays((folder / f"{name}.safetensors").read_bytes())
    config = json.loads((folder / f"{name}.config.json").read_text())
    row = arrays["lm_head.weight"][config["eos_token_id"]]
    arrays["lm_head.weight"] = np.stack([np.zeros_like(row), row])
    config["labels"] = ["no", "yes"]
    config["task"]["dfa"]["tags"] = ["yes" if good else "no" for good in config["task"]["dfa"]["accepting"]]
    save_file(arrays, into / "m.safetensors")
    (into / "m.config.json").write_text(json.dumps(config))
    return into / "m.safetensors"


@pytest.fixture
def headed(tmp_path: Path) -> Path:
    """One of the corpus."""
    return headed_as(verdict_cases.NAMES[1], tmp_path, verdict_cases.FOLDER)


def test_a_label_is_the_greatest_iff_the_prefix_is_a_member(headed: Path, tmp_path: Path) -> None:
    out = tmp_path / "v.json"
    done = succeeded("soft", "verify", headed, "-n", 4, "--read-out", "greatest", "--label", "yes", "-o", out)
    assert "s VERIFIED right n=0..4 greatest " in done.output
    assert typed("check", headed, out).exit_code == 0
    found = typed("soft", "verify", headed, "-n", 4, "--read-out", "greatest", "--label", "no")
    assert found.exit_code == 3
    assert "wrong behind: the empty word" in found.output
    assert "above every wanted one: no" in found.output
    found = succeeded("soft", "verify", headed, "-n", 4, "--read-out", "tags")
    page = tmp_path / "page.html"
    assert typed("report", out, "--model", headed, "-o", page).exit_code == 0
    assert "wanted one of the greatest" in page.read_text()


def test_every_length_by_labels(headed: Path) -> None:
    """As the sign of the end token's logit, right at every length."""
    model = headed_as("tomita1-1l1h16d-nope", headed.parent)
    found = succeeded("soft", "verify", model, "--all-lengths", "--read-out", "tags")
    assert "s VERIFIED right n>=0 greatest " in found.output


def test_tags_on_other_words(headed: Path) -> None:
    graph = tagged_graph(load(headed))
    assert (graph.greatest, len(graph.delta)) == (True, 3)
    headed = headed_as(verdict_cases.NAMES[0], headed.parent, verdict_cases.FOLDER)
    succeeded("soft", "verify", headed, "-n", 6, "--read-out", "tags", "--inputs", "regex:(10)*")
    found = failed(RestrictError, "soft", "verify", headed, "-n", 6, "--read-out", "tags", "--inputs", "regex[01]:0*")
    assert "a word that may come is none that the automaton of the tags reads" in found


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--read-out", "greatest"), "--label names the label of members, one of .*yes"),
        (("--read-out", "greatest", "--label", "maybe"), "--label names the label of members"),
        (("--read-out", "next"), "labels of its own.*--read-out greatest"),
        ((), "labels of its own.*--read-out greatest"),
        (("--label", "yes"), "--label is for --read-out greatest"),
        (("--read-out", "tags", "-L", "dyck"), "--read-out tags is what the configuration says"),
    ],
)
def test_a_read_out_that_does_not_fit_is_one_line(headed: Path, given: tuple[str, ...], says: str) -> None:
    found = typed("soft", "verify", headed, "-n", 4, *given)
    assert found.exit_code != 0
    assert re.search(says, str(found.exception)), found.exception
    assert "\n" not in str(found.exception)


def test_a_prefix_behind_which_no_label_is_right_is_refused_however_long_its_words_are(headed: Path) -> None:
    """`aaa` goes on to `aaaaab`, which has more symbols than there are states; the only label is the greatest there,
    too, where it is not to be."""
    whole = load(headed)
    model = replace(whole, labels=("yes",), unembed=whole.unembed[1:], shifts=whole.shifts[1:])
    delta = [[1, 5], [2, 4], [3, 5], [0, 5], [5, 5], [5, 5]]
    inputs, right = (minimal(model.symbols, delta, 0, accept) for accept in ([4], [0, 1, 2, 4]))
    with pytest.raises(UsageError, match="behind a prefix that may come no label is right"):
        graph_of(model, right, inputs, "greatest", "yes")


def test_tags_need_a_label_for_each_state(headed: Path) -> None:
    config = headed.with_name("m.config.json")
    said = json.loads(config.read_text())
    for tags in (None, ["yes"], ["yes", "no", "other"], "yes"):
        said["task"]["dfa"]["tags"] = tags
        config.write_text(json.dumps(said))
        found = failed(RestrictError, "soft", "verify", headed, "-n", 4, "--read-out", "tags")
        assert "no task.dfa.tags, a label of the model, or null, for each state" in found


def test_a_special_token_is_no_tag(tmp_path: Path) -> None:
    vocab = verdict_cases.kept("tomita2-1l1h16d")[0].vocab
    for tag, exit_code in ((vocab[-2], 1), (vocab[-1], 3)):
        task = {"kind": "tags", "dfa": {"delta": [[0, 0]], "tags": [tag]}}
        found = typed("soft", "verify", verdict_cases.changed(tmp_path, "tomita2-1l1h16d", task=task), "-n", 2)
        assert found.exit_code == exit_code
        assert exit_code == 3 or "no task.dfa.tags, a label" in str(found.exception)


@pytest.mark.parametrize("labels", [["no"], ["no", "no"], ["no", "yes", "both"], "no yes", [0, 1]])
def test_labels_that_do_not_fit_are_refused(headed: Path, labels: object) -> None:
    config = headed.with_name("m.config.json")
    config.write_text(json.dumps(json.loads(config.read_text()) | {"labels": labels}))
    found = typed("soft", "verify", headed, "-n", 4, "--read-out", "tags")
    assert re.search("config labels (has|is no)", str(found.exception))


def test_the_certified_restriction_of_a_label(headed: Path) -> None:
    """Where the read-out has labels of its own, the decision is the greatest of them."""
    for given in ((), ("--label", "greatest"), ("--label", "yes")):
        found = succeeded("soft", "certify", headed, "-n", 5, *given)
        assert ("forced behind every completion: no is the greatest" in found.output) == ("yes" not in given)


@pytest.mark.parametrize("name", heavy_after(["first-is-last-1l1h16d-next", "dyck1-depth2-1l1h16d-tags"], 1))
def test_a_configuration_names_its_read_out(name: str, tmp_path: Path) -> None:
    """The shipped language model and the shipped tagger; written with GPT-2's names they are the same."""
    path = SHIPPED / f"{name}.safetensors"
    assert f"on task (read-out {name.rsplit('-', 1)[1]})" in succeeded("soft", "verify", path, "-n", 5).output
    succeeded(
        "soft", "import", path, "--compare", SHIPPED / f"{name}.record.json", "--weights", tmp_path / "w.safetensors"
    )
    succeeded("soft", "verify", tmp_path / "w.safetensors", "-n", 5)
    one, other = load(path), load(tmp_path / "w.safetensors")
    word = one.rows([one.symbols[0]] * 5)
    assert np.array_equal(forward(one, word), forward(other, other.rows([other.symbols[0]] * 5)))


def test_an_unknown_task_is_refused_by_the_import(headed: Path) -> None:
    config = headed.with_name("m.config.json")
    said = json.loads(config.read_text())
    for changed, says in (
        (
            {"task": said["task"] | {"kind": "parity"}},
            "config task: 'parity' is none of next-set, next, membership, tags",
        ),
        ({"labels": "no yes"}, "config labels: expected a list of names"),
    ):
        config.write_text(json.dumps(said | changed))
        assert says in failed(RestrictError, "soft", "import", headed, "-o", headed.with_name("o.safetensors"))


@pytest.mark.parametrize("head", ["score", "classifier"])
def test_classifiers_of_transformers_have_verdicts(head: str, tmp_path: Path) -> None:
    """The read-out's own name, and ``id2label`` in the configuration, as ``save_pretrained`` writes them."""
    name = "dyck1-depth2-1l1h16d-tags"
    arrays = load_arrays((SHIPPED / f"{name}.safetensors").read_bytes())
    config = json.loads((SHIPPED / f"{name}.config.json").read_text())
    arrays[f"{head}.weight"] = arrays.pop("lm_head.weight")
    if head == "classifier":
        arrays["classifier.bias"] = np.array([0.25, 0, -0.125], dtype=np.float32)
    config["id2label"] = {str(k): label for k, label in enumerate(config.pop("labels"))}
    config["tie_word_embeddings"] = True
    path, new = tmp_path / "m.safetensors", tmp_path / "w.safetensors"
    save_file(arrays, path)
    path.with_name("m.config.json").write_text(json.dumps(config))
    assert "soft import" in str(typed("soft", "verify", path, "-n", 4).exception)
    made = succeeded("soft", "import", path, "--weights", new)
    assert re.search(rf"read at +{'last' if head == 'score' else 'every'}", made.output)
    assert re.search("labels +q0 q1 q2 +config", made.output)
    assert "(read-out tags)" in succeeded("soft", "verify", new, "-n", 8).output
    model, naive = load(new), Naive((SHIPPED / f"{name}.safetensors").read_bytes(), config)
    word = (0, 1, 0, 0, 1)
    plain = naive.logits(tuple(model.tokens[s] for s in word))
    more = arrays.get("classifier.bias", np.zeros(3))
    assert np.allclose(forward(model, model.rows([model.symbols[s] for s in word]))[-1], plain + more, atol=1e-9)
    for changed, says in (
        ({"id2label": {"0": "a", "1": "b"}}, "config id2label: expected 3 different names"),
        ({"id2label": ["a", "b", "c"]}, "config id2label: expected 3 different names"),
    ):
        path.with_name("m.config.json").write_text(json.dumps(config | changed))
        assert says in str(typed("soft", "import", path, "--weights", new).exception)
    arrays["lm_head.weight"] = arrays["transformer.wte.weight"]
    save_file(arrays, path)
    assert "which one is the read-out?" in str(typed("soft", "import", path, "--weights", new).exception)
