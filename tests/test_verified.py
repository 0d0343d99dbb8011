"""`restrict-verified` does what docs/kernel-format.md says. Collected where it is built (tests/conftest.py)."""

import hashlib
import re
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from tests.conftest import VERIFIED
from tests.kernel_judges import Verified, VerifiedPairs, accepted, pairs_program

CORPUS = Path(__file__).resolve().parent / "corpus"

# The head copies the leftmost symbol; position 0 is fixed to 1.
PROGRAM = """restrict-program/1 4 2 0 0 2
head 2 -1 -1 0 0 1 0 c 0 - 4 2
map 2 1 2
"""
PROOF = """runs
runs 0 1
set 1
row 2 3 0 0 0 2
box -1 0 1 0
head 0 2 3 0 1 0 0 0 0 -1
map 0 3 3 0 1
claim 0 3 3 0 0 1
"""
# The row lists nothing, and the pair of the first position is equal to the bar: a proof that leaves out the winner.
EQUAL = PROOF.replace("row 2 3 0 0 0 2", "row 2 3 0 0 0 1")
WORDS = """dfa 2 0 0 0 1 1 0
word 1 1 3 0
word 2 1 2 0
"""


def run(folder: Path, program: str, proof: str, *options: str) -> tuple[int, str, str]:
    """Exit code, standard output, standard error; the proof gets the digest of the program."""
    paths = [folder / "program", folder / "proof"]
    paths[0].write_bytes(program.encode())
    digest = hashlib.sha256(program.encode()).hexdigest()
    paths[1].write_bytes(f"restrict-kernel/1 {digest}\n{proof}".encode())
    done = subprocess.run([VERIFIED, *paths, *options], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def code(folder: Path, program: str, proof: str, *options: str) -> int:
    """The exit code; without success there is one line on standard error and nothing else."""
    found, out, err = run(folder, program, proof, *options)
    assert (out.count("\n"), err.count("\n")) == ((1, 0) if found == 0 else (0, 1))
    return found


def cases() -> list[tuple[Path, Path, int]]:
    """The corpus: programs, proofs, exit codes. The name of a refused file ends with its code."""
    found = []
    for proof in sorted([*CORPUS.glob("kernel/**/*.proof"), *CORPUS.glob("verified/**/*.proof")]):
        beside = proof.with_suffix(".program")
        program = beside if beside.exists() else CORPUS / "kernel" / "base.program"
        found.append((program, proof, int(proof.stem[-1]) if proof.parent.name == "refused" else 0))
    return found


def test_a_claim_is_verified_and_the_line_says_what(tmp_path: Path) -> None:
    digest = hashlib.sha256(PROGRAM.encode()).hexdigest()
    assert run(tmp_path, PROGRAM, PROOF) == (0, f"s VERIFIED n=4 target=3 free=3 c=0 values=1 {digest}\n", "")


@pytest.mark.parametrize("length", [0, 1, 54, 55, 56, 63, 64, 65, 119, 120, 1000])
def test_the_digest_is_sha_256(length: int, tmp_path: Path) -> None:
    program = PROGRAM.replace("head", f"tensor 1{' 0' * length}\nhead")
    for more in range(2):
        assert code(tmp_path, program.replace("tensor 1", "tensor 1" + more * "0"), PROOF) == 0


def test_a_pair_that_is_equal_to_the_bar_is_not_below_it(tmp_path: Path) -> None:
    assert code(tmp_path, PROGRAM, EQUAL) == 3


def test_a_refutation_has_a_member_and_a_nonmember(tmp_path: Path) -> None:
    start = PROOF.replace("claim", WORDS + "claim")
    assert " refutes=dfa-of-2-states " in run(tmp_path, PROGRAM, start + "refutes 0 1 0\n")[1]
    for wrong in ("refutes 1 0 0\n", "refutes 0 0 0\n"):
        assert code(tmp_path, PROGRAM, start + wrong) == 3
    against_the_restriction = start.replace("word 1 1 3 0", "word 3 0 1 1")
    assert code(tmp_path, PROGRAM, against_the_restriction + "refutes 0 1 0\n") == 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("runs 0 1", "runs 0  1"), ("runs 0 1", "runs 0 1 "), ("runs 0 1", " runs 0 1"), ("runs 0 1", "runs 0 +1"),
        ("runs 0 1", "runs 0 01"), ("runs 0 1", "runs -0 1"), ("runs 0 1", "runs 0 0x1"), ("runs 0 1", "runs 0 1_"),
        ("runs 0 1", "runs 0\t1"), ("runs 0 1", "runs 0 1\r"), ("runs 0 1", "runs 0 1\n"),
        ("runs 0 1", "runs 0 " + 30 * "9"), ("claim 0 3 3 0 0 1\n", "claim 0 3 3 0 0 1"),
        ("claim 0 3 3 0 0 1\n", "claim 0 3 3 0 0 1\n\n"),
    ],
)  # fmt: skip
def test_a_file_is_spelt_in_one_way(old: str, new: str, tmp_path: Path) -> None:
    assert code(tmp_path, PROGRAM, PROOF.replace(old, new, 1)) == 4


@pytest.mark.parametrize(
    ("operations", "wanted"),
    [
        ("c 0 / 1 4", 4), ("c 0 % 1 4", 4), ("c -1 r 4", 4), ("r 2", 0), ("- 4 2 r 4", 4), ("t 0 2", 4),
        ("c 3 & 2 4 c 2 & 5 6 t 0 7", 0), ("c 0 c 1 | 5 2 / 4 6", 0), ("c 0 - 4 2 | 2 5 | 6 4 r 7", 0),
        (" ".join(["c 99999999999999999999"] + [f"* {k} {k}" for k in range(4, 9)]), 4),
    ],
)  # fmt: skip
def test_being_defined_is_decided(operations: str, wanted: int, tmp_path: Path) -> None:
    """By intervals; `min`, `max` and the absolute value have exact ones."""
    program = f"restrict-program/1 4 2 0 0 2\ntensor 5 6 7\nhead 2 -1 -1 0 0 1 0 {operations}\nmap 2 1 2\n"
    claim = "set 0 1\nbox -1\nclaim 0 3 4 4 0 0\n"
    assert code(tmp_path, program, claim) == wanted


@pytest.mark.parametrize(("values", "wanted"), [("0 1", 0), ("0 2", 4), ("1 -1", 4)])
def test_a_map_stays_in_its_domain(values: str, wanted: int, tmp_path: Path) -> None:
    program = f"restrict-program/1 4 2 0 0 2\ntensor {values} 7\nmap 2 1 0 t 0 1\nmap 2 1 2\n"
    assert code(tmp_path, program, "set 0 1\nbox -1\nclaim 0 3 4 4 0 0\n") == wanted


def mixed(a: int, b: int) -> int:
    """One step of the hash, from the table of docs/kernel-format.md."""
    x = ((a ^ (b % 2**64)) * 0xD6E8FEB86659FD93) % 2**64
    return x ^ (x >> 32)


EDGES = (0, -1, 7, -9, 2**31, 2**32 - 1, -(2**33), 2**62, 2**63 - 9, 8 - 2**63, 2**63, 2**64 - 1)
BINARY: dict[str, Callable[[int, int], int]] = {
    "+": int.__add__, "-": int.__sub__, "*": int.__mul__, "/": int.__floordiv__, "%": int.__mod__,
    "<": lambda a, b: +(a < b), "=": lambda a, b: +(a == b), "&": min, "|": max, "m": mixed,
}  # fmt: skip
NOUGHT = ("- 2 2", "- 3 3")
"""Registers that are 0, with intervals around it: of the position, of the key."""


def scores() -> list[tuple[str, int]]:
    """Code with its value at every position and key: each operation on numbers around which words end."""
    found = []
    for a, b in product(EDGES, EDGES):
        for at, (sign, operation) in enumerate(BINARY.items()):
            # Registers 5 and 7 are the numbers, with wider intervals: no divisor may come near 0.
            if sign in "/%" and abs(b) < 5:
                continue
            value = operation(a, b)
            start = f"{NOUGHT[at % 2]} c {a} + 4 5 c {b} + 4 7 {sign} 6 8"
            found += [(start, value), (f"{start} h 9", value >> 1), (f"{start} ? 9 8 6", b if value else a)]
    return [(words, value) for words, value in found if abs(value) < 2**63 - 20]


def last(words: str) -> int:
    """The last register of a head with this code."""
    return 3 + sum(not re.fullmatch("-?[0-9]+", word) for word in words.split())


def rows_of(cases: list[tuple[str, int]], more: int) -> tuple[str, str]:
    """A program with a head for each score, and a row for each: below a bar that is ``more`` than the value."""
    heads = "".join(f"head 2 -1 0 0 0 1 0 {words}\n" for words, _ in cases)
    rows = "".join(f"row {at} 0 0 {value + more} 4 1\n" for at, (_, value) in enumerate(cases, 2))
    return f"restrict-program/1 5 2 0 0 2\n{heads}map 2 1 2\n", f"set 0 1\nruns\n{rows}box -1\nclaim 0 0 5 5 0 0\n"


def test_scores_have_the_values_of_the_table(tmp_path: Path) -> None:
    """Each is below the next number, and minus each, too; so it is the number. Nothing is below itself."""
    cases = scores()
    assert len(cases) > 2000
    negated = [(f"{words} - 4 {last(words)}", -value) for words, value in cases]
    for at in range(0, len(cases), 200):
        together = rows_of([*cases[at : at + 200], *negated[at : at + 200]], 1)
        assert run(tmp_path, *together)[::2] == (0, "")
    for at in range(0, len(cases), 397):
        assert code(tmp_path, *rows_of(cases[at : at + 1], 0)) == 3


def test_more_work_than_the_limit_is_not_done(tmp_path: Path) -> None:
    assert code(tmp_path, PROGRAM, PROOF, "--limit", "5") == 5
    assert code(tmp_path, PROGRAM, PROOF, "--limit", "100") == 0
    large = PROGRAM.replace(" 4 2 0 0 2\n", " 100000000 2 0 0 2\n")
    assert code(tmp_path, large, PROOF.replace("row 2 3", "row 2 99999999"), "--limit", "1000000") == 5


def test_usage_and_files_that_are_not_there(tmp_path: Path) -> None:
    assert code(tmp_path, PROGRAM, PROOF, "--limit") == 2
    assert code(tmp_path, PROGRAM, PROOF, "--limit", "-1") == 2
    missing = subprocess.run([VERIFIED, tmp_path / "no", tmp_path / "no"], capture_output=True, text=True, check=False)
    assert (missing.returncode, missing.stdout, missing.stderr.count("\n")) == (2, "", 1)


def test_another_program_is_refused(tmp_path: Path) -> None:
    run(tmp_path, PROGRAM, PROOF)
    (tmp_path / "program").write_text(PROGRAM + "map 2 1 2\n")
    done = subprocess.run([VERIFIED, tmp_path / "program", tmp_path / "proof"], check=False, capture_output=True)
    assert done.returncode == 4


def test_the_corpus_gets_its_exit_codes() -> None:
    wrong = {}
    for program, proof, wanted in cases():
        done = subprocess.run([VERIFIED, program, proof], capture_output=True, check=False)
        if done.returncode != wanted:
            wrong[proof.name] = done.stderr
    assert cases()
    assert not wrong


@pytest.mark.skipif(pairs_program() is None, reason="restrict-verified-pairs is not built")
def test_many_pairs_from_one_process_get_the_same_verdicts() -> None:
    found = cases()
    one, many = Verified(VERIFIED), VerifiedPairs(pairs_program() or VERIFIED)
    for program, proof, wanted in [*found, *found[::-1]]:
        content = program.read_bytes(), proof.read_bytes()
        said = one.verdict(*content)
        assert many.verdict(*content) == said
        assert said == wanted or accepted(said)
    one.close()
    many.close()
