"""Proofs with one false line, or of a program that is not quite this one: the kernel refuses what is false of some
word, and a kernel without one of its looks is found out."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from restrict.checker import kernel
from restrict.checker.kernel import Kernel
from restrict.elaboration.make import Elaborated
from tests import broken_lines
from tests.fuzzing.kinds import kinds
from tests.kernel_cases import kernel_verdict
from tests.kernel_judges import elaborated
from tests.marks import heavy_after
from tests.naive_kernel import Machine, Oracle

KINDS = ("certificate", "split", "cases", "all", "refutation")
MOST_WORDS = 200


def pairs(seed: int, folder: Path) -> Iterator[Elaborated]:
    """Elaborated proofs about programs with few words."""
    for turn in range(20):
        rng = np.random.default_rng([seed, turn])
        trial = kinds()[KINDS[turn % len(KINDS)]].original(rng)
        for name, content in trial.files:
            (folder / name).write_bytes(content)
        made = elaborated(trial, folder)[1]
        if made is not None and sum(1 for _ in Machine(made.program.decode()).words()) <= MOST_WORDS:
            yield made


def tried(seed: int, folder: Path, each: int) -> Counter[str]:
    """How many forgeries are accepted and true, or refused; ``AssertionError`` where one is accepted and false."""
    rng, said = np.random.default_rng(seed), Counter[str]()
    for pair in pairs(seed, folder):
        for program, proof in broken_lines.forgeries(rng, pair, each):
            verdict = kernel_verdict(program, proof)
            said["accepted" if isinstance(verdict, str) else "refused"] += 1
            if isinstance(verdict, str):
                lies = Oracle(program.decode()).lies(proof.decode())
                assert not lies, f"accepted and false: {lies}"
    return said


@pytest.mark.parametrize("seed", heavy_after(range(100), 1))
def test_a_proof_with_a_false_line_is_refused(seed: int, tmp_path: Path) -> None:
    said = tried(seed, tmp_path, 6)
    assert said["refused"] > 5
    assert said["accepted"] > 10


def yes(*_: Any) -> bool:
    """Whatever it is."""
    return True


def tied(left: int, score: int, at: int, other: int, other_at: int) -> bool:
    """The order of pairs with the other rule for ties."""
    return score < other or (score == other and (at < other_at if left else at > other_at))


WEAKER: dict[str, tuple[int, Any, str, Callable[..., Any]]] = {
    "rows": (1, Kernel, "row", yes),
    "images": (2, Kernel, "map", yes),
    "groups": (2, Kernel, "group", yes),
    "cases": (6, Kernel, "case", yes),
    "positions": (3, Kernel, "inside", yes),
    "the other tie": (3, kernel, "below", tied),
    "values": (3, kernel, "part_of", yes),
}
"""A seed whose first forgeries find it out, and what is weaker."""


@pytest.mark.parametrize("name", WEAKER)
def test_a_kernel_without_one_look_is_found_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    """One of the forgeries, which the whole kernel makes, is accepted by the weaker one, and false."""
    seed, *weaker = WEAKER[name]
    rng = np.random.default_rng(seed)
    for pair in pairs(seed, tmp_path):
        made = list(broken_lines.forgeries(rng, pair, 12))
        with monkeypatch.context() as patch:
            patch.setattr(*weaker)
            taken = (p for p in made if isinstance(kernel_verdict(*p), str))
            if any(Oracle(program.decode()).lies(proof.decode()) for program, proof in taken):
                return
    pytest.fail("no forgery was accepted and false")
