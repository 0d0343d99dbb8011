"""What verdicts on trained models have in common: a certificate with its file, and an answer in words and as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from restrict.base.htmltable import ShownTable, shortened
from restrict.base.options import Fact
from restrict.base.strictjson import Node, Record
from restrict.base.wording import at_least, counted
from restrict.checker.read import integers, strings
from restrict.checker.verdict import WRONG
from restrict.checker.verdict_model import MODEL
from restrict.checker.verdict_second import LAYERS
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Trained
from restrict.soft.trained.verdict import Case, Open
from restrict.soft.trained.wrong import Wrong
from restrict.version import __version__

LISTED: Fact[int] = 8
"""Undecided cases that are printed."""
WORD: Fact[int] = 120
"""Symbols of a wrong word that are printed, where no length was given."""


@dataclass(kw_only=True, repr=False)
class Certified(Record):
    """An answer with a certificate. ``stopped`` says why a search ended early: ``time`` or ``interrupted``. What
    ``load`` reads has what the file holds; weights, cases and all else of the search are absent (``AttributeError``).
    """

    model: Trained
    graph: Graph
    cases: list[Case]
    bases: Any
    seconds: float
    stopped: str | None = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(f"{name!r} is not in the file of a {type(self).__name__}; document() is what it says")

    def to_bytes(self) -> bytes:
        """The certificate as one line of JSON."""
        return json.dumps(self.document(), separators=(",", ":")).encode() + b"\n"

    @classmethod
    def from_json(cls, root: Node) -> Self:
        """What a certificate says; it is not checked here."""
        found = cls.__new__(cls)
        vars(found).update(cls.told(root), document=partial(dict, root.value))
        return found

    @classmethod
    def told(cls, root: Node) -> dict[str, Any]:
        """The attributes that a certificate holds."""
        raise NotImplementedError

    def names(self) -> tuple[str, tuple[str, ...]]:
        """The name of the model, and those of its symbols."""
        if "model" in vars(self):
            return self.model.name, self.model.symbols
        said = self.document()["model"]
        return said["name"], tuple(said["alphabet"])

    def drawing(self) -> str:
        """None: those of a report need a check by the trusted checker, which may take long."""
        return ""


class Answer:
    """What was found about a language, and its words. ``upto``: every prefix of at most so many symbols is right
    (``None``: every prefix)."""

    model: Trained
    graph: Graph
    language: str
    status: str
    upto: int | None
    wrong: Wrong | None

    @property
    def asked(self) -> int | None:
        """The length up to which was asked; ``None``: every length."""
        return vars(self).get("n")

    @property
    def shortest(self) -> bool:
        """Whether every shorter prefix than the wrong one is right."""
        return self.wrong is not None and self.upto == len(self.wrong.word) - 1

    def lengths(self) -> str:
        """The lengths that were asked for."""
        return "every length" if self.asked is None else f"n = 0 .. {self.asked}"

    def wrong_summary(self) -> dict[str, Any] | None:
        """A wrong word for machines."""
        if (wrong := self.wrong) is None:
            return None
        model, length = self.model, {} if self.asked is not None else {"length": len(wrong.word)}
        return {
            "word": [model.symbols[s] for s in wrong.word], **length, "label": model.labels[wrong.label],
            "logit": wrong.logit, "shortest": self.shortest,
        }  # fmt: skip

    @property
    def every(self) -> str:
        """What all prefixes are called: without those that were left out of the claim."""
        return "every other prefix" if vars(self).get("share") and vars(self)["share"].found else "every prefix"

    def right_lines(self) -> list[str]:
        """What is said of the prefixes that are right, where it is not all that was asked for."""
        if self.upto is None:
            return ["every prefix of every word that may come is right, whatever its length"]
        limited = self.asked is None or self.status == "open"
        if self.upto >= 0:
            return [f"{self.every} of at most {self.upto} symbols is right"] if limited else []
        return ["nothing is decided"] if self.asked is not None and limited else []

    def wrong_lines(self) -> list[str]:
        """The word behind which the model is wrong."""
        if (wrong := self.wrong) is None:
            return []
        word = [self.model.symbols[s] for s in wrong.word]
        most = WORD if self.asked is None else len(word)
        more = f" ... ({len(word)} symbols)" if len(word) > most else ""
        which = "no shorter prefix is wrong" if self.shortest else "a shorter one may be wrong"
        want = self.graph.want[self.graph.state(wrong.word)]  # of a logit near to 0 a float may have the other sign
        told = f"wanted {'positive' if wrong.label in want else 'negative'}"
        if self.graph.greatest:
            told = f"above every wanted one: {' '.join(self.model.labels[k] for k in sorted(want))}"
        return [
            f"wrong behind: {' '.join(word[:most]) or 'the empty word'}{more}",
            f"length {len(word)} ({which}): logit of {self.model.labels[wrong.label]} is {wrong.logit:.4g}, {told}",
        ]


@dataclass(kw_only=True, repr=False)
class Decided(Answer, Certified):
    """What was decided about a language: ``status`` is ``right``, ``wrong`` or ``open``. Of what was loaded the wrong
    word has no logit (NaN)."""

    language: str
    status: str
    open: list[Open]
    wrong: Wrong | None
    memory: tuple[str, ...]

    def provenance(self) -> dict[str, Any]:
        """Where a certificate comes from."""
        return {"provenance": {"tool": f"restrict {__version__}", "language": self.language}}

    def facts(self) -> ShownTable:
        """What a notebook shows."""
        (name, symbols), wrong = self.names(), self.wrong
        upto = "every prefix, whatever its length" if self.upto is None else f"prefixes of at most {self.upto} symbols"
        rows = [("right", upto if self.upto is None or self.upto >= 0 else "nothing is decided")]
        if wrong is not None:
            word = shortened([symbols[s] for s in wrong.word]) or "the empty word"
            rows.append(("wrong behind", f"{word}{' (no shorter prefix is wrong)' * self.shortest}"))
        return ShownTable(f"{name} on {self.language}, {self.lengths()}: {self.status}", rows)

    def symbol(self, a: int) -> str:
        """The name of a symbol; the start token's, or the reader's, for -1."""
        if a < 0 and self.model.reader is not None:
            return self.model.vocab[self.model.reader]
        return "the start" if a < 0 else self.model.symbols[a]

    def rounded(self) -> dict[str, Any] | None:
        """What is right as run in float32, if anything is said of it."""
        return None

    def summary(self, line: str | None) -> dict[str, Any]:
        """The answer for machines. For every length ``upto`` is null where all are decided, and a case has no position.
        ``line``: the checker's."""
        model, n = self.model, self.asked
        blocks: dict[str, Any] = {} if n is not None else {"blocks": [list(block) for block in vars(self)["blocks"]]}
        return {
            "model": model.name,
            "sha256": model.sha256,
            "language": self.language,
            **({} if n is None else {"n": n}),
            "status": self.status,
            "upto": self.upto,
            **blocks,
            "cases": len(self.cases),
            "cells": sum(case.cells for case in self.cases),
            "memory": list(self.memory),
            "seconds": round(self.seconds, 3),
            "stopped": self.stopped,
            "checked": line,
            "float32": self.rounded(),
            "wrong": self.wrong_summary(),
            "open": [
                {**({} if n is None else {"position": case.key[0]}), "symbol": self.symbol(case.key[1]),
                 "state": case.key[2], "label": model.labels[case.label], "bound": case.least}
                for case in self.open
            ],
        }  # fmt: skip

    def text(self, line: str | None) -> str:
        """The answer in words. ``line``: the checker's."""
        cells = sum(case.cells for case in self.cases)
        told = [f"{self.model.name} on {self.language}, {self.lengths()}: {self.status} "
                f"({counted(len(self.cases), 'case')}, {counted(cells, 'cell')}, {self.seconds:.1f} s)"]  # fmt: skip
        told += [] if self.graph.empty else ["no start token: nothing is asked behind the empty word"]
        told += [f"memory: {what}" for what in self.memory]
        told += [*self.right_lines(), *self.run_lines(), *self.wrong_lines()]
        if self.stopped is not None:
            told.append(f"stopped: {self.stopped}")
        for case in self.open[:LISTED]:
            i, a, q = case.key
            where = "open at every length: " if self.asked is None else f"open: position {i}, "
            told.append(f"{where}symbol {self.symbol(a)}, state {q}: "
                        f"{self.model.labels[case.label]} reaches {case.least:.3g} only")  # fmt: skip
        if len(self.open) > LISTED:
            told.append(f"open: {len(self.open) - LISTED} more cases")
        told.append(line or "not checked: a search in floats, not a proof")
        return "\n".join(told)

    def run_lines(self) -> list[str]:
        """What is said of executions in float32."""
        if (said := self.rounded()) is None or said["upto"] < 0:
            return []
        whole = self.status == "right" and said["upto"] == self.upto
        which = self.every if whole else f"prefixes of at most {said['upto']} symbols"
        return [
            f"right as run in float32: {which}; every margin is at least {at_least(said['ratio'], 3)} times its "
            f"rounding ({said['margin']:.3g} beside {said['rounding']:.2g} at position {said['position']}; this "
            "engine's bound)"
        ]


def pairs(node: Node, low: int, high: int) -> list[tuple[int, int]]:
    """A list of pairs of integers in ``low .. high``."""
    read = [tuple(pair.read(integers(low, high))) for pair in node.items()]
    return [(both[0], both[1]) if len(both) == 2 else node.fail("expected pairs") for both in read]


def said_of(root: Node, shape: dict[str, Any]) -> tuple[dict[str, Any], int, dict[str, Any]]:
    """A certificate of a shape of the checker: its fields, how many symbols of a word are a reader's (0 or 1), and the
    language's name and the wrong word as attributes, without the reader."""
    fields, parts = root.read(shape), dict(root.members())
    model = parts["model"].read((LAYERS if "layers" in fields["model"] else MODEL) | {"alphabet": strings})
    less, wrong = int("reads" in model), None
    if "wrong" in fields:
        word, label = parts["wrong"].read(WRONG).values()
        if len(word) < less or max(word, default=0) >= len(model["alphabet"]):
            parts["wrong"].fail("expected symbols of the alphabet")
        wrong = Wrong(tuple(word[: len(word) - less]), label, float("nan"))
    return fields, less, {"language": str(fields.get("provenance", {}).get("language", "?")), "wrong": wrong}
