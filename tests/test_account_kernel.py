"""The account of work in proofs for the kernel, which anyone may write: as tests/test_account.py."""

import tracemalloc
from collections.abc import Callable

import pytest

from restrict.checker.account import Meter, Place
from restrict.checker.normal_form import BLOCK, Program, lines
from tests.fuzzing.kinds import Trial
from tests.fuzzing.operators import listed_in
from tests.kernel_cases import about
from tests.test_account import by_limit, keeps_the_contract, spent

SHAPES: dict[str, Callable[[], Trial]] = {}
shape = listed_in(SHAPES)


def kernel(program: list[str], lines: list[str], n: int = 4) -> Trial:
    """A program and a proof about it; the label map reads the last variable."""
    text = [f"restrict-program/1 {n} 2 0 0 {len(program) + 1}", *program, f"map 2 1 {len(program) + 1} c 0"]
    return Trial(*about("".join(f"{line}\n" for line in text), lines))


def boxes(count: int) -> list[str]:
    """Contexts, each within the last."""
    return ["box -1", *(f"box {at}" for at in range(count - 1))]


def wide(keys: int, values: int, code: str = "c 0") -> list[str]:
    """A head whose key may have many values; its number is 4, and its value's 3."""
    return [f"map {keys} 1 0 c 0", f"map {values} 1 0 c 0", f"head {values} -1 2 3 0 1 0 {code}"]


@shape
def keys_that_are_asked_for_in_a_deep_context() -> Trial:
    lines = ["set 0 1", *boxes(5_000), "row 4 0 0 0 0 0", "head 4999 4 0 0 0 0 0 0 0 -1", "all 4999 4 4"]
    return kernel(wide(100_000, 2), lines)


@shape
def keys_with_many_values_each() -> Trial:
    lines = [f"set {' '.join(map(str, range(9_000)))}", "box -1", "row 4 0 0 0 0 0", "head 0 4 0 0 0 0 0 0 0 -1"]
    return kernel(wide(9_000, 9_000), [*lines, "all 0 4 4"])


SHAPES |= {
    # Every pair is listed; what is left to do is to put a position into the code.
    "rows of a long code": lambda: kernel(wide(2, 2, " ".join(["c 0"] * 60_000)), [*["row 4 0 0 0 0 0"] * 20_000]),
    "rows of a code with many steps": lambda: kernel(
        wide(2, 2, " ".join(["c 0", *["+ 2 3"] * 20_000])), [*["row 4 0 0 0 0 0"] * 10_000]
    ),
}


@shape
def a_row_that_is_cut_into_many_pieces() -> Trial:
    runs = " ".join(f"{at} {at + 1}" for at in range(1, 2_000, 2))
    code = " ".join(["c 0", *["+ 2 3"] * 300])
    return kernel(wide(2, 2, code), [f"runs {runs}", *["row 4 0 0 1000000 0 1"] * 200], n=10_000)


@shape
def groups_of_a_long_code() -> Trial:
    asked = 2_000
    program = [f"map {asked} 1 0 c 0", "map 2 1 0 c 0", f"head 2 2 -1 3 0 1 0 {' '.join(['c 0'] * 30_000)}"]
    rows = [f"row 4 0 {u} 0 0 1" for u in range(asked)]
    groups = " ".join(f"{u} {u} 0 0 -1" for u in range(asked))
    return kernel(program, ["set 0 1", "runs 0 1", "box -1", *rows, f"head 0 4 0 0 0 {groups}", "all 0 1 1"], n=1)


@shape
def maps_of_a_long_code() -> Trial:
    program = [f"map 2 1 0 {' '.join(['c 0'] * 60_000)}"]
    return kernel(program, ["set 0", "box -1", *["map 0 2 0 0 0"] * 20_000, "all 0 4 4"])


@shape
def roots_of_large_numbers() -> Trial:
    large = "c 99999999999999999999 * 4 4 + 5 2 r 6 r 6 r 6 r 6 r 6 r 6 r 6 r 6 c 0"
    return kernel(wide(2, 2, large), ["runs", "row 4 0 0 1 0 1"], n=300_000)


@shape
def runs_that_are_compared_for_each_position() -> Trial:
    """Each of many positions has a fact with long runs of its own, which many sets of positions contain."""
    n, places, ends = 40_000, range(0, 200, 2), " ".join(f"{at} {at + 1}" for at in range(0, 12_000, 2))
    runs = [*([f"runs {ends}"] * len(places)), "runs " + " ".join(f"{at} {at + 1}" for at in places)]
    wheres = [f"runs 0 {n - k}" for k in range(200)]
    facts = [f"map 0 2 {at} 0 {1 + number}" for number, at in enumerate(places)]
    heads = [f"head 0 3 0 0 {2 + len(places) + k} 0 0 198 1 -1" for k in range(200)]
    program = ["map 2 1 0", "head 2 -1 -1 2 0 1 0 c 2 % 2 4 c 1 - 6 5"]
    row = f"row 3 0 0 1 198 {1 + len(places)}"
    return kernel(program, ["set 0 1", *runs, *wheres, "box -1", *facts, row, *heads, f"all 0 {n} {n}"], n=n)


@shape
def labels_of_which_nothing_is_known() -> Trial:
    """Whether a box has one of two labels does not depend on how many values the label may have."""
    model = "restrict-program/1 2 2 0 0 2\nmap 4611686018427387904 1 0\nmap 4611686018427387904 1 2\n"
    return Trial(*about(model, ["set 0", "box -1 0 1 0", f"set {1 << 61}", "unforced 1 0 1 0 1 0"]))


def bounds_of(labels: int, lines: int) -> Trial:
    """Of so many labels that never occur, again and again."""
    model = "restrict-program/1 1 2 0 0 2\nmap 1000000 1 0 c 0\nmap 1000000 1 2\n"
    facts = ["set 0", "box -1", "map 0 2 0 0 0", "map 0 3 0 0 0"]
    names = " ".join(map(str, range(500_000, 500_000 + labels)))
    return Trial(*about(model, [*facts, f"set {names}", *["unforced 1 0 0 0 1 0"] * lines]))


@shape
def arguments_of_a_map_in_a_deep_context() -> Trial:
    return kernel([f"map 2 10000 {' '.join(['0'] * 10_000)} c 0"], ["set 0", *boxes(3_000), "map 2999 2 0 0 0"])


@shape
def facts_with_a_large_set() -> Trial:
    values = " ".join(map(str, range(100_000)))
    return kernel(["map 1000000 1 0 c 0"], [f"set {values}", "box -1", *["map 0 2 0 0 0"] * 1_000])


@shape
def boxes_with_a_large_set() -> Trial:
    values = " ".join(map(str, range(60_000)))
    model = "restrict-program/1 1 65536 0 0 2\nmap 2 1 0 c 0\nmap 2 1 2 c 0\n"
    return Trial(*about(model, [f"set {values}", *["box -1 0 1 0"] * 2_000]))


@shape
def groups_with_long_runs() -> Trial:
    asked, n = 2_000, 10_000
    program = [f"map {asked} 1 0 c 0", "map 2 1 0 c 0", f"head 2 2 -1 3 0 1 0 {' '.join(['c 0'] * 2)}"]
    runs = " ".join(f"{at} {at + 1}" for at in range(0, n, 2))
    groups = " ".join(f"{u} 0 0 0 -1" for u in range(asked))
    lines = [f"runs {runs}", "set 0 1", "box -1", "row 4 0 0 1 0 1", f"head 0 4 0 0 0 {groups}"]
    return kernel(program, lines, n=n)


@shape
def bounds_of_a_label_again_and_again() -> Trial:
    return bounds_of(1, 5_000)


SHAPES |= {
    "a code that is only read": lambda: kernel([f"map 1 1 0 c 0 {' '.join(['* 2 2'] * 400_000)}"], []),
    "maps that are only read": lambda: kernel(["map 1 0 c 0"] * 200_000, []),
    "contexts of which nothing is said": lambda: kernel(["map 1 0 c 0"], ["box -1"] * 300_000),
    "runs of no positions": lambda: kernel(["map 1 0 c 0"], ["runs"] * 400_000),
}


@pytest.mark.parametrize("line", ["map 2 0 c 0", "head 2 -1 -1 0 0 0 0 c 0"])
def test_the_reading_of_a_program_is_charged(line: str) -> None:
    """A line takes some ten microseconds, an operation about six, whatever their bytes."""

    def steps(lines: int, operations: int) -> int:
        meter, rule = Meter(10**9), f"{line}{' = 0 0' * operations}"
        text = "\n".join(["restrict-program/1 1 2 0 0 0", *[rule] * lines, "map 2 1 0 c 0", ""])
        Program(text.encode(), Place("program"), meter)
        return meter.limit - meter.left - len(text) // 4

    assert steps(1001, 0) - steps(1, 0) >= 1000 * (20 + 8)
    assert steps(1, 1000) - steps(1, 0) >= 1000 * 12


def test_the_memory_of_bounds_is_charged() -> None:
    found = spent(bounds_of(100_000, 5), 10**9)
    assert found.code == 0
    assert found.taken < (24 << 20) + found.held, found


AGAIN = {
    "a row that is cut into many pieces", "maps of a long code", "rows of a code with many steps",
    "rows of a long code",
}  # fmt: skip
"""Their checks repeat themselves until the limit."""
assert SHAPES.keys() >= AGAIN


@pytest.mark.parametrize(("name", "limit"), by_limit(SHAPES, AGAIN))
def test_a_step_of_the_kernel_takes_no_longer_than_the_contract_says(name: str, limit: int) -> None:
    keeps_the_contract(SHAPES[name](), limit)


def test_the_memory_of_short_lines_is_charged() -> None:
    meter, data = Meter(10**7), b"ab\n" * 200_000
    tracemalloc.start()
    try:
        next(lines(data, Place("program"), meter))
        assert tracemalloc.get_traced_memory()[1] < (1 << 17) + meter.held
    finally:
        tracemalloc.stop()


def test_a_domain_check_is_charged_for_what_is_known() -> None:
    """Each block of combinations copies the registers that are known, and there may be millions of them."""

    def steps(constants: int) -> int:
        """Of a map over 27 000 combinations that is always 0, but whose interval says less."""
        first = 4 + constants
        ends = f"- 1 1 - 2 2 - 3 3 + {first} {first + 1} + {first + 2} {first + 3}"
        code = " ".join([*["c 0"] * constants, ends])
        lines = ["restrict-program/1 2 2 0 0 5", *["map 30 1 0 c 0"] * 3, f"map 2 3 2 3 4 {code}", "map 2 1 5", ""]
        meter, content = Meter(10**9), "\n".join(lines).encode()
        Program(content, Place("program"), meter)
        return meter.limit - meter.left - len(content) // 4

    assert steps(64_000) - steps(0) >= (30**3 // BLOCK) * 1000
