"""`soft verify --equals`: the trained model and a program decide the same, against runs of both on all words."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from restrict.all_lengths.decisions import decides_empty, decisions_of, program_of
from restrict.base.errors import UsageError
from restrict.checker.main import verify
from restrict.soft.trained.decide import verify_trained
from restrict.soft.trained.graph import all_words, dfa_of, empty_left_out, graph_of
from tests import verdict_cases
from tests.commands import typed
from tests.marks import heavy_after

LOOPS = verdict_cases.FOLDER / "ax-or-ay-1l1h16d-nope.safetensors"
FORMULAS = (
    "0", "not 1", "once (1 and previous 0)", "1 since 0", "true", "false", "historically 1", "previous 1",
    "once 0 implies 1", "first and 1 or previous previous 0",
)  # fmt: skip


@pytest.mark.parametrize("formula", heavy_after(FORMULAS, 4))
def test_the_first_difference_is_the_first_among_all_words(formula: str) -> None:
    model, naive = verdict_cases.kept("tomita2-1l1h16d")
    program = program_of(formula, model.symbols)
    decided = dfa_of(decisions_of(program, model.symbols), model)
    graph = graph_of(model, decided, all_words(model), "membership")
    if not decides_empty(program):
        graph = empty_left_out(model, graph)
    n, eos = 4, model.eos
    assert eos is not None
    different = []
    for length in range(1, n + 1):
        for word in product(range(len(model.symbols)), repeat=length):
            trace = program.run([model.symbols[s] for s in word])
            says = naive.logits(tuple(model.tokens[s] for s in word))[eos] > 0
            if (trace.output == "accept") != says:
                different.append(word)
    found = verify_trained(model, graph, n)
    assert found.status == ("wrong" if different else "right")
    if found.wrong is not None:
        assert found.shortest
        assert found.wrong.word in [word for word in different if len(word) == len(different[0])]
    assert verify(model.content, found.to_bytes()).startswith(f"s VERIFIED {found.status} ")


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_asked_behind_the_empty_word(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, naive, graph = verdict_cases.random_case(rng)
    left = empty_left_out(model, graph)
    said = naive.logits(())
    assert left.want[0] == {k for k in graph.labels if said[k] > 0}
    for length in range(4):
        for word in product(range(len(model.symbols)), repeat=length):
            states = [0, 0]
            for s in word:
                states = [g.delta[q][s] if q >= 0 else -1 for g, q in zip((graph, left), states, strict=True)]
            assert (states[0] >= 0) == (states[1] >= 0)
            if word and states[0] >= 0:
                assert graph.want[states[0]] == left.want[states[1]]
            assert (states[0] in graph.accept) == (states[1] in left.accept)


def test_a_trained_model_decides_like_a_compiled_one_at_every_length(tmp_path: Path) -> None:
    program, out, words = tmp_path / "loops.json", tmp_path / "v.json", "regex[axy]:(ax)*|(ay)*"
    assert typed("compile", "-L", words, "-o", program).exit_code == 0
    found = typed("soft", "verify", LOOPS, "--all-lengths", "--equals", program, "--inputs", words, "-o", out)
    assert found.exit_code == 0, found.output
    assert "s VERIFIED right n>=0" in found.output
    assert typed("check", LOOPS, out).exit_code == 0
    found = typed("soft", "verify", LOOPS, "-n", 6, "--equals", program, "--json")
    assert found.exit_code == 3
    document = json.loads(found.stdout)
    assert (document["wrong"]["word"], document["wrong"]["shortest"]) == (["x"], True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--equals", "parity"), "neither a model nor a formula"),
        (("--equals", "nofile.json"), "neither a file nor"),
        (("--equals", "a and ("), "a formula is expected"),
        (("--equals", "induction-head"), "is over"),
        (("--equals", "a", "-L", "parity"), "one of the two"),
    ],
)
def test_what_is_no_program_is_one_line(words: tuple[str, ...], says: str) -> None:
    found = typed("soft", "verify", LOOPS, "-n", 3, *words)
    assert isinstance(found.exception, UsageError)
    assert says in str(found.exception)
    assert "\n" not in str(found.exception)


def test_a_program_over_other_symbols_is_refused() -> None:
    with pytest.raises(UsageError, match="is over"):
        decisions_of(program_of("parity8", "01"), ("a", "b"))
