"""Recorded logits against an imported model: what an import assumed wrongly shows as a difference. A record is made
where the model was trained: some words as token numbers (rows of the source's embedding, the start token included) and
the logits that the original gave. The forward pass here is float64; the original's is mostly float32, so the two differ
by rounding: ``tolerance`` is relative to the largest recorded logit."""

import io
import math
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from restrict.base.errors import ModelError, NotEstablished, RestrictError, UsageError, quote
from restrict.base.files import read_bytes
from restrict.soft.importers.read import Imported, import_weights
from restrict.soft.importers.settings import Options
from restrict.soft.models import evaluate
from restrict.soft.models.config import read_object
from restrict.soft.models.model import Floats

TOLERANCE = 1e-5
"""Of the largest recorded logit: some hundred roundings of float32."""
MOST = 2**28
"""Bytes of a record once it is unpacked."""


@dataclass(frozen=True)
class Record:
    """Words as token numbers, and for each the logits: (positions, labels), or (labels,) where one is read."""

    words: tuple[tuple[int, ...], ...]
    logits: tuple[Floats, ...]
    source: str = "record"


@dataclass(frozen=True)
class Comparison:
    """The largest difference found, what was allowed, and which assumptions the record does not tell apart."""

    words: int
    numbers: int
    difference: float
    allowed: float
    untold: tuple[str, ...] = ()
    cut: int = 0
    """Words that are compared without tokens at their end that no input has, such as EOS and PAD."""

    def lines(self) -> list[str]:
        """The comparison in words."""
        told = [
            f"compared: {self.numbers} logits of {self.words} words differ by at most {self.difference:.3g} "
            f"(allowed {self.allowed:.3g})"
        ]
        if self.cut:
            told.append(f"compared without tokens at the end that no word has, such as EOS: {self.cut} of these words")
        if self.untold:
            told.append(f"the record does not tell these apart from what was taken: {'; '.join(self.untold[:6])}")
        return told


def read_record(path: str | Path, tokens: Sequence[str] = ()) -> Record:
    """A record of logits.

    Args:
        path: an ``.npz`` file with the arrays ``tokens`` (words, positions) and ``logits`` (words, positions, labels),
            or (words, labels); or JSON: an object with the same two keys, words of any lengths.
        tokens: the names of tokens, for JSON that has names in place of numbers.

    Raises:
        UsageError: the file cannot be read.
        ModelError: it is malformed.
    """
    content, source = read_bytes(Path(path)), str(path)
    if content[:2] == b"PK":
        words, logits = _unpacked(content, source)
    else:
        document = read_object(content, source, decimals=False)
        if set(document) != {"tokens", "logits"}:
            raise ModelError(f"{source}: expected an object with the keys tokens and logits")
        words, logits = document["tokens"], document["logits"]
    if not isinstance(words, list | np.ndarray) or not isinstance(logits, list | np.ndarray):
        raise ModelError(f"{source}: tokens and logits must be lists")
    if len(words) != len(logits) or not len(words):
        raise ModelError(f"{source}: {len(words)} words and logits for {len(logits)}")
    return Record(
        tuple(_word(word, tokens, f"{source}: tokens[{at}]") for at, word in enumerate(words)),
        tuple(_logits(rows, f"{source}: logits[{at}]") for at, rows in enumerate(logits)),
        source,
    )


def _unpacked(content: bytes, source: str) -> tuple[Any, Any]:
    """The two arrays of an ``.npz`` file; nothing pickled is read."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MOST:
                raise ModelError(f"{source}: more than {MOST} bytes unpacked")
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            if set(arrays.files) != {"tokens", "logits"}:
                raise ModelError(f"{source}: expected the arrays tokens and logits")
            words, logits = arrays["tokens"], arrays["logits"]
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, NotImplementedError, SyntaxError) as error:
        raise ModelError(f"{source}: not an .npz file that can be read: {quote(str(error))}") from None
    if words.ndim != 2 or words.dtype.kind not in "iu" or logits.ndim not in (2, 3) or logits.dtype.kind != "f":
        raise ModelError(f"{source}: expected integers (words, positions) and floats (words, positions, labels)")
    return words, logits


def _word(word: Any, tokens: Sequence[str], place: str) -> tuple[int, ...]:
    at = {token: row for row, token in enumerate(tokens)}
    listed = list(word) if isinstance(word, list | np.ndarray) else []
    found = [at.get(t, -1) if isinstance(t, str) else int(t) for t in listed if isinstance(t, str | int | np.integer)]
    if not found or len(found) != len(listed) or min(found) < 0:
        raise ModelError(f"{place}: expected the numbers or names of tokens, at least one")
    return tuple(found)


def _logits(rows: Any, place: str) -> Floats:
    try:
        found = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        found = np.empty(0)
    if found.ndim not in (1, 2) or not found.size or not np.isfinite(found).all():
        raise ModelError(f"{place}: expected finite numbers: a row of logits, or a row for each position")
    return found


def compare(
    imported: Imported, record: Record, *, tolerance: float = TOLERANCE, source: Any = None,
    options: Options | None = None, config: Any = None,
) -> Comparison:  # fmt: skip
    """Demand that the model gives the recorded logits.

    Args:
        imported: the import.
        record: what the original gave.
        tolerance: relative to the largest recorded logit.
        source, options, config: what was imported, as given to :func:`import_weights`; with them other settings are
            tried: those that would agree are proposed where these do not, and named as not told apart where they do.

    Returns:
        The comparison. Cost: that of evaluation, once and for each other setting tried (at most some dozens).

    Raises:
        NotEstablished: the logits differ; the message names the place and, where one is found, a setting that agrees.
        ModelError: the record does not fit the model.
        UsageError: the tolerance is no positive number.
    """
    if not 0 < tolerance < 1:
        raise UsageError(f"the tolerance {tolerance!r} must be between 0 and 1")
    allowed = tolerance * max(1.0, *(float(np.abs(rows).max()) for rows in record.logits))
    whole, record = record, _cut(imported, record)
    gaps = [_gap(imported, word, rows, record.source) for word, rows in zip(record.words, record.logits, strict=True)]
    worst = max(range(len(gaps)), key=lambda k: gaps[k][0])
    difference, place = gaps[worst]
    others = _agreeing(imported, record, allowed, source, options, config) if source is not None else ()
    if not difference <= allowed:
        hint = f"; these agree: {'; '.join(others[:3])}" if others else ""
        raise NotEstablished(
            f"{record.source}: the imported model differs by {difference:.3g} at word {worst}, position {place} "
            f"(allowed {allowed:.3g}): something given or assumed is wrong{hint}"
        )
    cut = sum(len(one) > len(other) for one, other in zip(whole.words, record.words, strict=True))
    return Comparison(len(gaps), sum(rows.size for rows in record.logits), difference, allowed, others, cut)


def _cut(imported: Imported, record: Record) -> Record:
    """The record without the tokens in no input at the ends of its words (EOS, PAD): behind a causal mask, logits in
    front of them do not depend on them."""
    model = imported.model
    causal = all(head.mask == "past" for layer in model.layers for head in layer.heads)
    if not causal or model.output.place != "every" or model.end_marker is not None:
        return record
    idle = {row for row, token in enumerate(imported.tokens) if token not in model.symbols or token == imported.stop}
    words = tuple((word[0], *_without(word[1:], idle)) for word in record.words)
    pairs = zip(record.logits, record.words, words, strict=True)
    logits = (rows[: len(word)] if len(rows) == len(whole) else rows for rows, whole, word in pairs)
    return replace(record, words=words, logits=tuple(logits))


def _without(word: tuple[int, ...], idle: set[int]) -> tuple[int, ...]:
    """A word without such tokens at its end."""
    return word[: 1 + max((at for at, token in enumerate(word) if token not in idle), default=-1)]


def _gap(imported: Imported, word: tuple[int, ...], rows: Floats, source: str) -> tuple[float, int]:
    """The largest difference on one word, and its position."""
    model = imported.model
    symbols = _encoded(imported, word, source)
    every = model.output.place == "every"
    if every and rows.ndim == 1:
        raise ModelError(f"{source}: one row of logits for a word, and the model is read at every position (--place)")
    n = len(word)
    if rows.ndim == 2 and len(rows) != n:
        raise ModelError(f"{source}: {len(rows)} rows of logits for a word of {n} tokens")
    at = np.arange(n) if every else np.array([model.output_position(n)])
    recorded = rows[at] if rows.ndim == 2 else rows[None]
    if max(imported.rows) >= recorded.shape[1]:
        raise ModelError(f"{source}: {recorded.shape[1]} logits in a row; the read-out has {max(imported.rows) + 1}")
    found = evaluate.logits(model, symbols[None], at=at)[0]
    gaps = np.abs(found - recorded[:, list(imported.rows)]).max(axis=1)
    worst = int(np.argmax(gaps))
    return float(gaps[worst]), int(at[worst])


def _encoded(imported: Imported, word: tuple[int, ...], source: str) -> Any:
    """A recorded word as rows of the model's embedding; the markers must stand where they are pinned."""
    model, tokens = imported.model, imported.tokens
    if max(word) >= len(tokens):
        raise ModelError(f"{source}: token {max(word)} in a word; there are {len(tokens)}")
    pinned, row = model.pinned(len(word)), {symbol: at for at, symbol in enumerate(model.symbols)}
    for at, token in enumerate(word):
        name = tokens[token]
        if (at in pinned) != (name in (model.start_marker, model.end_marker)) or name not in row:
            wanted = f"the marker {quote(model.symbols[pinned[at]])}" if at in pinned else "a free symbol"
            raise ModelError(f"{source}: a recorded word has {quote(name)} at position {at}; the import has {wanted}")
    return np.array([row[tokens[token]] for token in word])


def _agreeing(
    imported: Imported, record: Record, allowed: float, source: Any, options: Options | None, config: Any
) -> tuple[str, ...]:
    """Other settings under which the model would agree with the record (its first words), in words."""
    part = Record(record.words[:4], record.logits[:4], record.source)
    tried, found = dict[str, Imported](), []
    for words, changed in _changes(imported, options or Options()):
        with suppress(RestrictError):
            tried[words] = import_weights(source, changed, config=config)
            if _agrees(tried[words], part, allowed):
                found.append(words)
    if found or imported.layout != "torch" or _agrees(imported, part, allowed):
        return tuple(found)
    # The encoder of PyTorch's tutorial: no weight says it, and no option, as the numbers would not be the file's.
    by = math.sqrt(imported.model.width)
    told = f"the embedding times sqrt({imported.model.width}), which the weights are to be stored with"
    for words, other in {"": imported, **tried}.items():
        scaled = replace(other, model=replace(other.model, embed=other.model.embed * by))
        if _agrees(scaled, part, allowed):
            return (f"{words}, {told}" if words else told,)
    return ()


def _agrees(imported: Imported, record: Record, allowed: float) -> bool:
    """Whether a model gives the recorded logits."""
    try:
        pairs = zip(record.words, record.logits, strict=True)
        return all(_gap(imported, word, rows, record.source)[0] <= allowed for word, rows in pairs)
    except RestrictError:
        return False


def _changes(imported: Imported, options: Options) -> Iterator[tuple[str, Options]]:
    """Other settings: each alone; for an encoder, where most is assumed, all together with each number of heads."""
    has = {s.name: s.value for s in imported.settings}
    d, heads = imported.model.width, [h for h in range(1, imported.model.width + 1) if imported.model.width % h == 0]
    used = {layer.ffn.activation for layer in imported.model.layers if layer.ffn}
    for eps in ("0.00001", "0.000001", "1e-12"):
        if "eps" in has and float(eps) != float(has["eps"]):
            yield f"--eps {eps}", replace(options, eps=eps)
    if "offset" in has:
        yield from ((f"--offset {k}", replace(options, offset=k)) for k in (1, 2) if str(k) != has["offset"])
    if imported.layout == "transformer-lens":
        for name in ("relu", "gelu", "gelu_tanh"):
            if "activation" in has and used != {name}:
                yield f"--activation {name}", replace(options, activation=name)
        return
    if d > 4096:
        return
    encoder = {} if imported.layout == "gpt2" else {"norm_first": "LayerNorm first", "causal": "causal mask"}
    now = [has["heads"], used, *(has[said] for said in encoder.values())]
    for h, kind, *flags in product(heads[:8], ("relu", "gelu", "gelu_tanh"), *[(True, False)] * len(encoder)):
        if [str(h), {kind}, *map(str, flags)] != now:
            words = f"--heads {h} --activation {kind}"
            if flags:
                words += f" --norm-{'first' if flags[0] else 'last'} --{'' if flags[1] else 'not-'}causal"
            changed: dict[str, Any] = {"heads": h, "activation": kind, **dict(zip(encoder, flags, strict=True))}
            yield words, replace(options, **changed)
