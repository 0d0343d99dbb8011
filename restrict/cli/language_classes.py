"""What `restrict language` prints of the classes of a language. Imported with the command line, so it stays light."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from restrict.base.errors import NotEstablished, ResourceLimit, RestrictError, UsageError
from restrict.base.files import read_bytes, write_bytes
from restrict.cli.printer import put

if TYPE_CHECKING:
    from restrict.languages.protocol import Language
    from restrict.languages.varieties import Varieties

ANSWERS = {"yes": True, "1": True, "true": True, "no": False, "0": False, "false": False, "": None, "?": None}


def class_lines(found: Varieties | None) -> list[str]:
    """The classes in words, without star-freeness, which has a line of its own."""
    if found is None:
        return []
    lines = [f"  {each.name:<18} {each.text()}" for each in found.classes if each.name != "star-free"]
    return [*lines, f"  dot-depth          {found.dot_depth()}"]


def classes_document(found: Varieties | None) -> dict[str, Any] | None:
    """The classes as JSON."""
    if found is None:
        return None
    classes = {each.name: {"holds": each.holds, "reason": each.reason} for each in found.classes}
    return {"classes": classes, "dot_depth": {"least": found.least, "most": found.most}}


def of_language(language: Language) -> Varieties:
    """The classes of a regular language."""
    from restrict.languages.monoid import star_free
    from restrict.languages.regular import Regular
    from restrict.languages.varieties import varieties

    if not isinstance(language, Regular):
        raise UsageError(f"{language.spec} is not regular; the classes are those of regular languages")
    try:
        return varieties(language.dfa, star_free(language.dfa))
    except ResourceLimit:
        return varieties(language.dfa, None)


def without_length(language: Language, export: Path | None, as_json: bool) -> None:
    """The classes, and the automaton to a file."""
    found = of_language(language)
    if export is not None:
        write_automaton(language, export)
    free = next(each for each in found.classes if each.name == "star-free")
    lines = [language.spec, f"  {free.name:<18} {free.text()}", *class_lines(found)]
    content = {"language": language.spec, **(classes_document(found) or {})}
    put("\n".join(lines), content, as_json, {"  automaton written to": export})


def write_automaton(language: Language, path: Path) -> None:
    """The minimal automaton as the file's name says."""
    from restrict.languages.exchange import exported
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
    content = [{"language": spec, **(classes_document(found) or {})} for spec, found, _ in rows]
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
    out = []
    for row in table:
        try:
            expected = {c: ANSWERS[(row[c] or "").strip().lower()] for c in columns}
            out.append((row["language"], named(row["language"]), expected))
        except KeyError as error:
            raise UsageError(f"{path}, line {table.line_num}: {error} is not yes, no or empty") from None
        except RestrictError as error:
            raise UsageError(f"{path}, line {table.line_num}: {error}") from None
    return out
