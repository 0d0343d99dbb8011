"""The fuzzer of the command line, a short run; docs/soundness.md has the long one."""

import os
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from restrict.cli.main import cli
from scripts import fuzz_cli
from tests.marks import heavy_after


@pytest.mark.parametrize("lines", heavy_after((40, 200), 1))
def test_every_command_with_bad_input_of_every_kind_ends_in_one_line(lines: int, tmp_path: Path) -> None:
    here = Path.cwd()
    try:
        fuzz_cli.prepare(tmp_path)
        counts, wrong = fuzz_cli.run_lines(range(1, lines), 7, tmp_path, processes=False, tell=lambda _: None)
    finally:
        os.chdir(here)
    assert not wrong
    assert counts["exit 0"] >= lines // 10
    assert counts["exit 2"] >= lines // 4
    assert counts["exit 4"] >= lines // 20


def test_the_fuzzer_sees_what_is_wrong() -> None:
    """Each fault that it looks for is found in an outcome that has it."""
    line = "restrict: no\n"
    for code, out, err, new, old in (
        (1, "", line, set(), "old"),
        ("KeyError: 1", "", line, set(), "old"),
        (0, "", "a warning\n", set(), "old"),
        (2, "", "", set(), "old"),
        (2, "", line * 2, set(), "old"),
        (2, "", "no\n", set(), "old"),
        (2, "", f"restrict: {'x' * 3000}\n", set(), "old"),
        (2, "Traceback (most recent call last)", line, set(), "old"),
        (5, "", line, {"out.json"}, "old"),
        (5, "", line, set(), "new"),
        (0, "", "", {".out.json.abc.part"}, "old"),
    ):
        found = fuzz_cli.Outcome(code, out, err, 0.1)
        assert list(fuzz_cli.faults(["certify"], found, new, old)), found
    assert not list(fuzz_cli.faults(["certify"], fuzz_cli.Outcome(3, "", line, 0.1), set(), "old"))


def commands(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command by its words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from commands(found, f"{before}{name} ")
        elif found is not None:
            yield before + name, found


def test_the_fuzzer_knows_every_command_and_every_option() -> None:
    """A command or an option that is new is drawn, too, or left out for a reason."""
    every = dict(commands(cli))
    assert set(fuzz_cli.COMMANDS) - {"frog"} == set(every) - set(fuzz_cli.LEFT_OUT)
    for name in set(every) - set(fuzz_cli.LEFT_OUT):
        drawn = {option.flag for option in fuzz_cli.COMMANDS[name]} | set(fuzz_cli.LEFT_OUT)
        options = [option for option in every[name].params if isinstance(option, click.Option)]
        missing = [option.opts for option in options if not drawn & {*option.opts, *option.secondary_opts}]
        assert not missing, name
