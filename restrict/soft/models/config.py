"""Configurations beside weights: ``NAME.config.json`` or ``config.json``, as Hugging Face and this package write."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from restrict.base.errors import ModelError, quote
from restrict.base.files import read_bytes

SUFFIX = ".safetensors"
POSITION_KEYS = ("position_embeddings", "positional_embedding_type", "position_embedding_type")
POSITIONS = {"learned": True, "standard": True, "absolute": True, "none": False}
"""Kinds of positions, and whether there is a table of them. Others (rotary) change what is computed."""
SAME = (
    ("n_embd", "hidden_size"), ("n_head", "num_attention_heads"), ("n_layer", "num_hidden_layers"),
    ("n_inner", "intermediate_size"), ("n_positions", "n_ctx", "max_position_embeddings"),
    ("activation_function", "hidden_act"), ("layer_norm_epsilon", "layer_norm_eps"),
)  # fmt: skip
"""GPT-2's keys and their other names: a configuration that has two of a group says one thing with both."""


def beside(path: Path) -> Path | None:
    """The configuration beside a file of weights. Result: ``NAME.config.json``, else ``config.json``, else nothing."""
    own = path.with_name(f"{path.name.removesuffix(SUFFIX)}.config.json")
    return next((found for found in (own, path.with_name("config.json")) if found.is_file()), None)


def read_config(path: Path) -> dict[str, Any]:
    """A configuration, its decimals kept as the texts that stand there."""
    return read_object(read_bytes(path), str(path), decimals=True)


def read_object(content: bytes, source: str, *, decimals: bool) -> dict[str, Any]:
    """A JSON object. ``content``: UTF-8 text. ``decimals``: whether numbers that are not integers stay texts."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs):
            raise ModelError(f"{source}: a key occurs twice in one object")
        return members

    def refuse(text: str) -> NoReturn:
        raise ModelError(f"{source}: {text} is no number of JSON")

    try:
        value = json.loads(
            content.decode(), object_pairs_hook=unique, parse_float=str if decimals else None, parse_constant=refuse
        )
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{source}: not JSON: {quote(str(error))}") from None
    if not isinstance(value, dict):
        raise ModelError(f"{source}: expected an object of JSON")
    return value


def first_of(config: Mapping[str, Any], keys: Sequence[str], source: str) -> tuple[str, Any]:
    """The first of some keys for one thing that a configuration has, with its value; ``("", None)`` without any. Raises
    ``ModelError`` where another one of them says something else."""
    said = [(key, config[key]) for key in keys if config.get(key) is not None]
    for key, value in said[1:]:
        if value != said[0][1]:
            first = f"config {said[0][0]} is {quote(said[0][1])}"
            raise ModelError(f"{source}: {first} and config {key} is {quote(value)}: which of them is meant?")
    return said[0] if said else ("", None)


def position_kind(config: Mapping[str, Any], source: str) -> tuple[str, bool | None]:
    """Whether a configuration says that there is a table of positions, and by which key; ``("", None)``: neither.
    Raises ``ModelError`` for a kind of positions that is not read, and for two keys that contradict each other."""
    said = [(key, config[key]) for key in POSITION_KEYS if config.get(key) is not None]
    for key, kind in said:
        if not (isinstance(kind, str) and kind in POSITIONS):
            read = "a learned table of positions or none is read"
            raise ModelError(f"{source}: config {key}: {quote(kind)} is not one of {', '.join(POSITIONS)}: {read}")
    found = {POSITIONS[kind]: key for key, kind in reversed(said)}
    if len(found) > 1:
        raise ModelError(f"{source}: config {found[True]} and config {found[False]} contradict each other")
    return next(((key, there) for there, key in found.items()), ("", None))


def token_names(path: Path | None, config: dict[str, Any]) -> tuple[Any, str]:
    """The names of tokens beside weights, a list or an object with their numbers, from the configuration's ``vocab`` or
    the file ``vocab.json``, and where they stand; ``(None, "")`` without any."""
    if config.get("vocab") is not None:
        return config["vocab"], "vocab"
    there = path.with_name("vocab.json") if path is not None else None
    if there is None or not there.is_file():
        return None, ""
    return read_object(read_bytes(there), str(there), decimals=True), "vocab.json"


def names_of_rows(names: Any, rows: int, where: str, source: str) -> tuple[str, ...]:
    """The names in a list, or in an object with the row of each, as many as there are rows, all different. ``where``:
    where they stand, for messages."""
    if isinstance(names, dict):
        if sorted(v for v in names.values() if type(v) is int) != list(range(rows)) or len(names) != rows:
            raise ModelError(f"{source}: {where} does not give each of the {rows} rows one name")
        names = sorted(names, key=lambda token: int(names[token]))
    if not isinstance(names, list) or not all(isinstance(t, str) and t for t in names):
        raise ModelError(f"{source}: {where} is no list of names, nor an object with a number for each")
    if len(names) != rows or len(set(names)) != rows:
        raise ModelError(f"{source}: {where} has {len(set(names))} different names for {rows} rows")
    return tuple(names)


def task_automaton(task: Any, symbols: int, source: str) -> tuple[list[list[int]], int, dict[str, Any]] | None:
    """The automaton ``task.dfa`` of a configuration over so many symbols, if there is one: complete transitions, of
    which the last state is dead, the start, and the rest. ``delta`` has null where there is no transition."""
    given = task.get("dfa") if isinstance(task, dict) else None
    if given is None:
        return None
    try:
        rows, start = given["delta"], given.get("start", 0)
        dead = len(rows)
        delta = [[dead if t is None else t for t in row] for row in rows] + [[dead] * symbols]
        whole = all(t is None or (type(t) is int and 0 <= t < dead) for row in rows for t in row)
        proper = whole and all(len(row) == symbols for row in delta) and type(start) is int and 0 <= start < dead
    except (TypeError, KeyError, AttributeError):
        proper = False
    if not proper:
        raise ModelError(f"{source}: task.dfa is no automaton over {symbols} symbols")
    return delta, start, given
