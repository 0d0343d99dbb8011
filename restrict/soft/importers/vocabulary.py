"""What the rows of an embedding stand for: free symbols, markers that are pinned, and tokens that no input has. A start
token is no free symbol: it is pinned at position 0. PAD, SEP and EOS are none either: a restriction that fixes inputs
to PAD would say nothing about words. So they are left out of the alphabet, and stay labels where the read-out has a row
for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from restrict.base.errors import ModelError, UsageError, quote
from restrict.soft.importers.settings import Choices
from restrict.soft.models.config import token_names

STARTS = {"bos", "sos", "cls", "startoftext", "start"}
OTHERS = {"eos", "pad", "sep", "unk", "mask", "endoftext", "end"}
NEVER = ("eos_token_id", "pad_token_id", "sep_token_id", "unk_token_id", "mask_token_id", "cls_token_id")


@dataclass(frozen=True)
class Vocabulary:
    """The names of the embedding's rows: ``start``, ``end`` are pinned, ``never`` is in no input, ``stop`` is EOS."""

    tokens: tuple[str, ...]
    start: str | None
    end: str | None
    never: tuple[str, ...]
    stop: str | None = None

    @property
    def free(self) -> tuple[str, ...]:
        """The alphabet: the tokens that a word may have."""
        return tuple(t for t in self.tokens if t not in (self.start, self.end, *self.never))

    @property
    def rows(self) -> list[int]:
        """The rows of the embedding that the model keeps: the alphabet, then the markers."""
        at = {token: row for row, token in enumerate(self.tokens)}
        return [at[t] for t in (*self.free, *(m for m in (self.start, self.end) if m is not None))]

    @property
    def next(self) -> tuple[str, ...]:
        """The labels of a set of next symbols: the alphabet, the end marker, EOS; neither BOS nor PAD."""
        return (*self.free, *(t for t in (self.end, self.stop) if t is not None))


def bare(token: str) -> str:
    """The word in a token's name that looks like a special one's, such as ``pad`` in ``[PAD]`` or ``<|pad|>``."""
    if token in ("<s>", "</s>"):
        return "bos" if token == "<s>" else "eos"
    inner = token.strip("<>[]|")
    special = token != inner or (token.isupper() and len(token) >= 3)
    return inner.lower() if special and inner.isalpha() else ""


def vocabulary(choices: Choices, rows: int) -> Vocabulary:
    """The roles of the rows of an embedding, each decision noted."""
    tokens = choices.tokens = _tokens(choices, rows)
    start = _start(choices, tokens)
    end = _end(choices, tokens)
    never = _never(choices, tokens, start, end)
    row = choices.key("eos_token_id")[1]
    stops = [tokens[row]] if row is not None else [t for t in never if bare(t) in ("eos", "end", "endoftext")]
    choices.stop = stops[0] if stops else None
    found = Vocabulary(tokens, start, end, never, choices.stop)
    if not found.free:
        raise ModelError(f"{choices.source}: no token is left that a word may have")
    return found


def _tokens(choices: Choices, rows: int) -> tuple[str, ...]:
    options = choices.options
    if options.alphabet is not None:
        markers = [m for m in (options.start_marker, options.end_marker) if m and m not in options.alphabet]
        found = (*options.alphabet, *markers)
        if len(found) != rows:
            raise UsageError(f"{choices.source}: {len(found)} symbols for {rows} rows of the embedding")
        if len(set(found)) < rows:
            raise UsageError(f"{choices.source}: a symbol occurs twice")
        choices.note("tokens", rows, "given")
        return found
    choices.used |= {"vocab"}
    names, where = token_names(choices.folder, choices.config)
    if names is None:
        choices.note("tokens", f"t0 .. t{rows - 1}", "assumed", "nothing names them; --alphabet does")
        return tuple(f"t{row}" for row in range(rows))
    choices.note("tokens", rows, "config", where)
    return _listed(choices.source, names, where, rows)


def _listed(source: str, names: Any, where: str, rows: int) -> tuple[str, ...]:
    """The names in a list, or in an object with the row of each."""
    if isinstance(names, dict):
        if sorted(v for v in names.values() if type(v) is int) != list(range(rows)) or len(names) != rows:
            raise ModelError(f"{source}: {where} does not give each of the {rows} rows of the embedding one name")
        names = sorted(names, key=lambda token: int(names[token]))
    if not isinstance(names, list) or not all(isinstance(t, str) and t for t in names):
        raise ModelError(f"{source}: {where} is no list of names, nor an object with a number for each")
    if len(names) != rows or len(set(names)) != rows:
        raise ModelError(f"{source}: {where} has {len(set(names))} different names for {rows} rows of the embedding")
    return tuple(names)


def _start(choices: Choices, tokens: tuple[str, ...]) -> str | None:
    """The start marker: as given, as configured, by its name, or none."""
    given = choices.options.start_marker
    if given is not None:
        if given and given not in tokens:
            raise UsageError(f"{choices.source}: the start marker {quote(given)} is not one of the tokens")
        choices.note("start marker", given or "none", "given")
        return given or None
    key, row = choices.key("bos_token_id")
    if key:
        found = tokens[_row(choices, key, row, len(tokens))]
        choices.note("start marker", found, "config", key)
        return found
    named = [t for t in tokens if bare(t) in STARTS]
    if len(named) > 1:
        raise UsageError(f"{choices.source}: {quote(named[0])} or {quote(named[1])} could be the start marker; "
                         "give --start-marker")  # fmt: skip
    choices.note("start marker", named[0] if named else "none", "assumed", "by its name" if named else "")
    return named[0] if named else None


def _end(choices: Choices, tokens: tuple[str, ...]) -> str | None:
    """The end marker: as given, as configured, or none."""
    given, (key, row) = choices.options.end_marker, choices.key("end_marker_token_id")
    if given is None and row is not None:
        given = tokens[_row(choices, key, row, len(tokens))]
        choices.note("end marker", given, "config", key)
        return given
    if given and given not in tokens:
        raise UsageError(f"{choices.source}: the end marker {quote(given)} is not one of the tokens")
    choices.note("end marker", given or "none", "assumed" if given is None else "given")
    return given or None


def _never(choices: Choices, tokens: tuple[str, ...], *markers: str | None) -> tuple[str, ...]:
    """The tokens that no input has, beside the markers."""
    configured = []
    for key in NEVER:
        there, row = choices.key(key)
        configured += [tokens[_row(choices, key, row, len(tokens))]] if there else []
    given = choices.options.never
    if given is not None:
        strange = [t for t in given if t not in tokens]
        if strange:
            raise UsageError(f"{choices.source}: {quote(strange[0])} is not one of the tokens")
        found = tuple(t for t in given if t not in markers)
        choices.note("in no input", " ".join(found) or "none", "given")
        return found
    ids = tuple(t for t in dict.fromkeys(configured) if t not in markers)
    named = tuple(t for t in tokens if bare(t) in STARTS | OTHERS and t not in (*markers, *ids))
    if ids:
        choices.note("in no input", " ".join(ids), "config", "..._token_id")
    if named or not ids:
        choices.note("in no input", " ".join(named) or "none", "assumed", "by their names" if named else "")
    return (*ids, *named)


def _row(choices: Choices, key: str, row: Any, rows: int) -> int:
    """A special token's row."""
    if type(row) is not int or not 0 <= row < rows:
        raise ModelError(
            f"{choices.source}: config {key}: {quote(str(row))} is not a row of the embedding (0 .. {rows - 1})"
        )
    return row
