"""`restrict language`: what is known of a language, and what follows from it. Imported with the command line, so it
stays light."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import click

from restrict.base.errors import NotEstablished, ResourceLimit, RestrictError, UsageError
from restrict.base.files import read_bytes, write_bytes
from restrict.cli import common
from restrict.cli.printer import put
from restrict.cli.terminal import complete_language

if TYPE_CHECKING:
    from restrict.languages.protocol import Language
    from restrict.languages.varieties import Varieties

MAX_LENGTH = 2_000_000
ANSWERS = {"yes": True, "1": True, "true": True, "no": False, "0": False, "false": False, "": None, "?": None}


@common.command()
@click.argument("name", metavar="LANGUAGE", required=False, type=common.Text(), shell_complete=complete_language)
@common.option("-n length", common.Whole(0, MAX_LENGTH), "The length of the words (without markers).")
@common.option(
    "--pre",
    common.Text(),
    "Fixed beforehand (repeatable): first=20%:S, last=K:S, I:S, I-J:S, a pattern, or corollary2 (for Dyck).",
    multiple=True,
    metavar="ITEM",
)
@common.flag("--classes", "Print only the classes that it is in, which need no length.")
@common.file_option("--export", "Write its minimal automaton here: FILE.json, FILE.dot, FILE.hoa or FILE.smv.")
@common.option(
    "--table",
    common.FILE,
    "A CSV file with a column `language` and columns named after classes: compare with what it expects.",
)
@common.flag("--list listing", "List the languages.")
@common.JSON
def language(o: common.Given) -> None:
    """Print the forcing cost of LANGUAGE, its growth, star-freeness and sensitivity, and what follows from theorems.

    LANGUAGE is for instance parity, dyck:2,depth=3, 'regex:(ab)*', dfa:FILE.json or cfg:FILE. With --table: exit 3
    where a language is not in a class that the table expects, or is in one that it excludes.
    """
    from restrict.all_lengths.verify import named
    from restrict.languages import source
    from restrict.languages.consequences import Unknown
    from restrict.languages.facts import facts
    from restrict.languages.pre import read_pre

    if o.listing:
        forms = dict(source.listing())
        put("\n".join(f"{form:<34} {about}" for form, about in forms.items()), forms, o.as_json)
        return
    if o.table is not None:
        compare_table(o.table, o.as_json)
        return
    if o.name is not None and o.length is None and (o.classes or o.export is not None):
        without_length(named(o.name), o.export, o.as_json)
        return
    if o.name is None or o.length is None:
        raise UsageError("name a language and a length, such as `restrict language parity -n 100`; --list lists them")
    found = named(o.name)
    known = facts(found, o.length, read_pre(found, o.length, o.pre))
    if o.export is not None:
        write_automaton(found, o.export)
    put(known.text, known.document, o.as_json, {"  automaton written to": o.export})
    for what, answer in (("membership", known.into), ("non-membership", known.out)):
        if isinstance(answer, Unknown):
            raise ResourceLimit(f"the cost of forcing {what} is not known: {answer.reason}")


def of_language(language: Language) -> Varieties:
    """The classes of a regular language."""
    from restrict.languages.consequences import Unknown, tried
    from restrict.languages.monoid import star_free
    from restrict.languages.regular import Regular
    from restrict.languages.varieties import varieties

    if not isinstance(language, Regular):
        raise UsageError(f"{language.spec} is not regular; the classes are those of regular languages")
    free = tried(star_free, language.dfa)
    return varieties(language.dfa, None if isinstance(free, Unknown) else free)


def without_length(language: Language, export: Path | None, as_json: bool) -> None:
    """The classes, and the automaton to a file."""
    found = of_language(language)
    if export is not None:
        write_automaton(language, export)
    free = next(each for each in found.classes if each.name == "star-free")
    lines = [language.spec, f"  {free.name:<18} {free.text()}", *found.lines()]
    content = {"language": language.spec, **found.document()}
    put("\n".join(lines), content, as_json, {"  automaton written to": export})


def write_automaton(language: Language, path: Path) -> None:
    """The minimal automaton as the file's name says."""
    from restrict.languages.export import exported
    from restrict.languages.regular import Regular

    if not isinstance(language, Regular):
        raise UsageError(f"{language.spec} is not regular, so it has no automaton to export")
    write_bytes(path, exported(language.dfa, language.spec, path.suffix).encode())


def compare_table(path: Path, as_json: bool) -> None:
    """The languages of a CSV file with what it expects of them; NotEstablished where one is otherwise."""
    rows = [(spec, of_language(language), expected) for spec, language, expected in _rows(path)]
    lines, wrong = [], []
    for spec, found, expected in rows:
        holds = {each.name: each for each in found.classes}
        differ = [holds[name] for name, value in expected.items() if value is not None and holds[name].holds != value]
        lines.append(f"{spec}: {'as expected' if not differ else 'not as expected'}; dot-depth {found.dot_depth()}")
        lines += [f"  {each.name:<18} {each.text()}" for each in differ]
        wrong += [spec] if differ else []
    content = [{"language": spec, **found.document()} for spec, found, _ in rows]
    put("\n".join(lines), content, as_json)
    if wrong:
        raise NotEstablished(f"{path}: {len(wrong)} of {len(rows)} languages are not as expected, first {wrong[0]}")


def _rows(path: Path) -> list[tuple[str, Language, dict[str, bool | None]]]:
    """The rows of a table: a language and what is expected of it."""
    from restrict.all_lengths.verify import named
    from restrict.languages.varieties import CLASSES

    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 at byte {error.start}") from None
    table = csv.DictReader(text.splitlines())
    columns = [c for c in table.fieldnames or () if c != "language"]
    unknown = [c for c in columns if c not in CLASSES]
    if "language" not in (table.fieldnames or ()) or unknown:
        raise UsageError(f"{path}: the first line names `language` and classes of {', '.join(CLASSES)}; not {unknown}")
    if len(set(columns)) < len(columns) or len(columns) + 1 < len(table.fieldnames or ()):
        raise UsageError(f"{path}: the first line names a column twice")
    out = []
    for row in table:
        if None in row:
            raise UsageError(f"{path}, line {table.line_num}: more cells than the first line names")
        try:
            expected = {c: ANSWERS[(row[c] or "").strip().lower()] for c in columns}
            out.append((row["language"], named(row["language"]), expected))
        except KeyError as error:
            raise UsageError(f"{path}, line {table.line_num}: {error} is not yes, no or empty") from None
        except RestrictError as error:
            raise UsageError(f"{path}, line {table.line_num}: {error}") from None
    if not out:
        raise UsageError(f"{path}: no language below the first line")
    return out
