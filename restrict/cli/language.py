"""`restrict language`: what is known of a language, and what follows from it. Imported with the command line, so it
stays light."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from restrict.base.errors import NotEstablished, ResourceLimit, RestrictError, UsageError
from restrict.base.files import read_bytes, write_bytes
from restrict.base.wording import counted, joined
from restrict.cli import common
from restrict.cli.printer import parts, put
from restrict.cli.terminal import complete_language

if TYPE_CHECKING:
    from restrict.languages.facts import Facts, Unknown
    from restrict.languages.growth import Growth
    from restrict.languages.monoid import Aperiodicity
    from restrict.languages.protocol import Forcing, Language
    from restrict.languages.varieties import Varieties

Answer = TypeVar("Answer")

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
    from restrict.languages.facts import Unknown, facts
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
    put(lambda: text(known), lambda: document(known), o.as_json, {"  automaton written to": o.export})
    for what, answer in (("membership", known.into), ("non-membership", known.out)):
        if isinstance(answer, Unknown):
            raise ResourceLimit(f"the cost of forcing {what} is not known: {answer.reason}")


# ------------------------------------------------------------ words


def text(known: Facts) -> str:
    """The facts and consequences in words."""
    from restrict.languages.consequences import consequences

    language, n = known.language, known.n
    lines = [
        f"{language.name} ({language.spec}) over {' '.join(language.alphabet)[:60]}, words of {counted(n, 'symbol')}"
        + ("" if known.pre is None else f", {len(known.pre.fixed)} of them fixed beforehand")
        + ("" if language.exact else "; answers by search where there is no dynamic programming"),
        *_forcing("into L", known.into, known),
        *_forcing("out of L", known.out, known),
        *_growth("into L", known.growth_in),
        *_growth("out of L", known.growth_out),
        f"  star-free          {_aperiodic(known.star_free)}",
    ]
    if known.ac0 is not None:
        lines.append(f"  in AC0             {_aperiodic(known.ac0)}")
    lines += class_lines(known.classes)
    most = f"{known.sensitivity} (exact: the most pivotal positions of a word of {counted(n, 'symbol')})"
    lines.append(f"  sensitivity        {_unknown(known.sensitivity) or most}")
    lines.append("  what follows")
    lines += [f"    [{c.theorem}] {c.text}" for c in consequences(known)]
    return "\n".join(lines)


def _unknown(answer: object) -> str:
    """Why an answer is not known; empty where it is."""
    from restrict.languages.facts import Unknown

    return f"unknown: {answer.reason}" if isinstance(answer, Unknown) else ""


def _forcing(title: str, answer: Any, known: Facts) -> list[str]:
    from restrict.report.text import fixed_list

    head = f"  force {title:<13}"
    if answer is None:
        return [
            f"{head}impossible (exact: there is no such word" + (" with this pre-restriction)" if known.pre else ")")
        ]
    if unknown := _unknown(answer):
        return [f"{head}{unknown}"]
    beyond = " beyond the pre-restriction" if known.pre is not None else ""
    lines = [f"{head}{counted(answer.cost, 'fixed symbol')}{beyond} (exact minimum; {answer.method})"]
    if answer.cost:
        already = known.pre.fixed if known.pre is not None else {}
        fresh = answer.restriction.release(already)
        lines.append(f"                     {fixed_list(fresh)}")
    return lines


def _growth(title: str, answer: Any) -> list[str]:
    head = f"  growth {title:<12}"
    if unknown := _unknown(answer):
        return [f"{head}{unknown}"]
    return [f"{head}{what} (exact, {where}; {answer.proof})" for where, what in answer.lines()]


def _aperiodic(answer: Any) -> str:
    if answer is None:
        return "unknown: decided for regular languages and the built-in ones only"
    if unknown := _unknown(answer):
        return unknown
    if answer.aperiodic:
        return f"yes (exact; {answer.method})"
    shown = ""
    if answer.word is not None:
        shown = (
            f"; the word {joined(answer.word)} permutes {counted(len(answer.states), 'state')} of the minimal automaton"
        )
    return f"no (exact; {answer.method}{shown})"


# ------------------------------------------------------------ JSON


def document(known: Facts) -> dict[str, Any]:
    """The facts and consequences as JSON."""
    from restrict.languages.consequences import consequences

    return {
        "language": parts(known.language, "name spec alphabet exact"),
        "n": known.n,
        "pre": None if known.pre is None else known.pre.to_json(),
        "forcing": {at: _or_unknown(x, _forcing_document) for at, x in (("in", known.into), ("out", known.out))},
        "growth": {
            at: _or_unknown(x, _growth_document) for at, x in (("in", known.growth_in), ("out", known.growth_out))
        },
        "star_free": _or_unknown(known.star_free, _aperiodic_document),
        "ac0": _or_unknown(known.ac0, _aperiodic_document),
        "classes": classes_document(known.classes),
        "sensitivity": _or_unknown(known.sensitivity, int),
        "consequences": [vars(c) for c in consequences(known)],
    }


def _or_unknown(answer: Answer | Unknown, document: Callable[[Answer], Any]) -> Any:
    """The answer as JSON, or why it is not known."""
    from restrict.languages.facts import Unknown

    return {"unknown": answer.reason} if isinstance(answer, Unknown) else document(answer)


def _forcing_document(answer: Forcing | None) -> dict[str, Any]:
    if answer is None:
        return {"possible": False}
    rho = answer.restriction.to_json()
    return {"possible": True, "cost": answer.cost, "restriction": rho, "method": answer.method}


def _growth_document(answer: Growth) -> dict[str, Any]:
    return {
        "period": answer.period,
        "cases": [vars(c) | {"rate": None if c.rate is None else str(c.rate)} for c in answer.cases],
        "proof": answer.proof,
        "exact": answer.exact and parts(answer.exact, "values growth"),
    }


def _aperiodic_document(answer: Aperiodicity | None) -> dict[str, Any] | None:
    if answer is None:
        return None
    return {"holds": answer.aperiodic} | parts(answer, "method word states")


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
