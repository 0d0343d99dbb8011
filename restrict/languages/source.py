"""Textual specifications: ``parity``, ``dyck:2,depth=3``, ``regex:(ab)*``, ``dfa:FILE.json``, ``cfg:FILE``, ... The
table below drives the reader, the error that lists what exists, and ``restrict language --list``."""

import re
from collections.abc import Callable
from pathlib import Path

from restrict.base.errors import UsageError, did_you_mean, quote
from restrict.base.wording import symbols_of
from restrict.languages.protocol import Language, the_language

Reader = Callable[[str, str], Language]
LETTERS = re.compile(r"(?i)(regex|dyck|shuffle-dyck)\[(.*)\]:(.*)", re.DOTALL)
"""A language with its symbols: characters, or words separated by spaces."""


def language(spec: str | Language) -> Language:
    """The language of a specification; a :class:`Language` is passed through.

    Args:
        spec: such as ``parity``, ``dyck:2,depth=3``, ``regex:(ab)*`` or ``dfa:FILE`` (docs/languages.md).

    Returns:
        The language.

    Raises:
        UsageError: neither a language nor a text; no such language (the message lists what exists); a file that cannot
            be read.
        ModelError: a malformed file.
        ResourceLimit: an automaton would be too large.
    """
    if not isinstance(spec, str):
        return the_language(spec)
    text = spec.strip()
    listed = LETTERS.fullmatch(text)
    head, colon, rest = (listed[1], ":", listed[3]) if listed else text.partition(":")
    letters = listed[2] if listed else ""
    if "]:" in letters:
        raise UsageError(f"{quote(text)}: ']:' occurs twice, so it is not clear where the alphabet ends")
    key = ALIASES.get(head.lower(), head.lower())
    if key not in READERS or (listed and not letters.strip()):
        near = did_you_mean(head, [*READERS, *ALIASES])
        near = f" (an automaton in a file is dfa:{text})" if text.endswith(".json") else near
        known = ", ".join(form for form, _ in listing())
        raise UsageError(f"{quote(text)} is not a language{near}; there are {known}")
    _form, _about, options, read = READERS[key]
    if options == bool(colon and rest):
        return read(rest, letters)
    raise UsageError(
        f"{quote(text)}: "
        + ("write " + READERS[key][0] if options else f"{key} has no options; write {READERS[key][0]}")
    )


def listing() -> list[tuple[str, str]]:
    """Each form of a specification, and what it means."""
    return [(form, about) for form, about, _, _ in READERS.values()]


def _plain(builder: str) -> Reader:
    def read(_rest: str, _letters: str) -> Language:
        from restrict.languages import builtin

        made: Language = getattr(builtin, builder)()
        return made

    return read


def _palindromes(rest: str, _letters: str) -> Language:
    from restrict.languages.builtin import Palindromes

    return Palindromes(rest)


def _dyck(rest: str, letters: str) -> Language:
    from restrict.languages.builtin import bounded_dyck
    from restrict.languages.dyck import Dyck

    kinds, comma, more = rest.partition(",")
    k = _number(kinds, f"dyck:{rest}")
    if not comma:
        return Dyck(k, tuple(symbols_of(letters)))
    option, _, value = more.partition("=")
    if option != "depth":
        raise UsageError(f"dyck:{rest}: {quote(option)} is not an option; write dyck:K or dyck:K,depth=D")
    return bounded_dyck(k, _number(value, f"dyck:{rest}"), tuple(symbols_of(letters)))


def _shuffle(rest: str, letters: str) -> Language:
    from restrict.languages.shuffle import ShuffleDyck

    return ShuffleDyck(_number(rest, f"shuffle-dyck:{rest}"), tuple(symbols_of(letters)))


def _regex(rest: str, letters: str) -> Language:
    from restrict.languages.regex import from_regex

    return from_regex(rest, letters or None)


def _dfa(rest: str, _letters: str) -> Language:
    from restrict.base.files import naming, read_bytes
    from restrict.base.strictjson import Node, parse
    from restrict.languages.regular import read_dfa

    with naming(rest):
        return read_dfa(Node(parse(read_bytes(Path(rest)), rest), "top level"), f"dfa:{rest}")


def _cfg(rest: str, _letters: str) -> Language:
    from restrict.base.errors import ModelError
    from restrict.base.files import naming, read_bytes
    from restrict.languages.grammar import read_grammar

    with naming(rest):
        try:
            return read_grammar(read_bytes(Path(rest)).decode("utf-8"), f"cfg:{rest}")
        except UnicodeDecodeError:
            raise ModelError("not UTF-8 text") from None


def _number(text: str, spec: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 6 or int(text) < 1:
        raise UsageError(f"{spec}: {quote(text)} must be a positive integer")
    return int(text)


READERS: dict[str, tuple[str, str, bool, Reader]] = {
    "parity": ("parity", "an odd number of ones", False, _plain("parity")),
    "majority": ("majority", "more ones than zeros", False, _plain("Majority")),
    "1*": ("1*", "no zero", False, _plain("all_ones")),
    "(aa)*": ("(aa)*", "even length", False, _plain("even_length")),
    "anbn": ("anbn", "a^m b^m", False, _plain("AnBn")),
    "first": ("first", "begins with 1", False, _plain("first")),
    "flip-flop": ("flip-flop", "the last write is w1 (symbols w0 w1 i r)", False, _plain("flip_flop")),
    "palindromes": ("palindromes:ab", "equal to its reverse, over these letters", True, _palindromes),
    "dyck": (
        "dyck:2 or dyck:2,depth=3 or dyck[aAbB]:2",
        "well-nested brackets of so many types, of any or bounded depth; opener, closer, opener ...",
        True,
        _dyck,
    ),
    "shuffle-dyck": (
        "shuffle-dyck:2 or shuffle-dyck[aAbB]:2",
        "each type of bracket balanced for itself",
        True,
        _shuffle,
    ),
    "regex": (
        "regex:(ab)* or regex[abc]:a.*",
        "a regular expression, with its alphabet (extra languages)",
        True,
        _regex,
    ),
    "dfa": ("dfa:FILE.json", "an automaton (docs/languages.md)", True, _dfa),
    "cfg": ("cfg:FILE", "a context-free grammar (docs/languages.md)", True, _cfg),
}
ALIASES = {"palindrome": "palindromes", "a^nb^n": "anbn", "ones": "1*"}
