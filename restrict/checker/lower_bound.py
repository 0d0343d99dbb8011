"""The file of a lower bound, `restrict-lower-bound/1`: the model, and how many positions each label takes at the least.

Its boxes are hints for the elaborator, and not read here.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from .account import Task, malformed, shown
from .formats import MAX_N, Model, bound_model
from .read import Maybe, anything, digest, integer, listing, record, string, thing

BOUND = {
    "format": Maybe(anything),
    "model": {"name": string, "sha256": digest},
    "n": integer(1, MAX_N),
    "target": anything,
    "boxes": listing,
    "claim": {"labels": thing, "others": Maybe(integer(1, MAX_N + 1))},
    "provenance": Maybe(thing),
}


def label_number(model: Model, name: str) -> int | None:
    """The number of a label that some value has."""
    domain = model.domains[model.output]
    if model.labels is not None:
        return model.label_names.get(name)
    if model.accept is not None:
        there = {"accept": len(model.accept) > 0, "reject": len(model.accept) < domain}
        return +(name == "accept") if there.get(name) else None
    number = int(name) if re.fullmatch("0|[1-9][0-9]{0,9}", name) else domain
    return number if number < domain else None


def label_count(model: Model) -> int:
    """How many labels the values have."""
    domain = model.domains[model.output]
    if model.labels is not None:
        return len(model.label_names)
    return domain if model.accept is None else (len(model.accept) > 0) + (len(model.accept) < domain)


class Bound:
    """A lower bound and its model; ``position`` is the target, ``claims`` are label numbers with their bounds."""

    def __init__(self, task: Task) -> None:
        self.top, self.fields = task.top, record(task.document, BOUND, task.top)
        self.n, self.digest = self.fields["n"], self.fields["model"]["sha256"]
        self.model: Model = bound_model(task, self.fields, task.top)
        self.target = self.fields["target"]
        self.position = self.model.read_target(self.target, task.top.key("target"))
        self.read_claim()

    def read_claim(self) -> None:
        """The numbers, by label and for the others."""
        place, claim = self.top.key("claim"), self.fields["claim"]
        self.named, self.others, least = claim["labels"], claim.get("others"), integer(1, self.n + 1)
        if not self.named and self.others is None:
            malformed(place, "nothing is claimed")
        self.model.meter.charge(4 * len(self.named) + (len(self.named) ** 2 >> 10))  # all may collide
        self.claims: dict[int, int] = {}
        for name, value in self.named.items():
            number = label_number(self.model, name)
            if number is None:
                malformed(place.key("labels"), "no such label: " + shown(name))
            self.claims[number] = least(value, place.key("labels").key(name))
        if self.others is not None:
            least(self.others, place.key("others"))

    def line(self) -> str:
        """With ``at_least``: any label takes so many positions, 0 where a label is not claimed."""
        rest = [] if len(self.named) == label_count(self.model) else [self.others or 0]
        names = ",".join(f"{quote(name, '', None, 'backslashreplace')}:{value}" for name, value in self.named.items())
        more = (f" labels={names}" if names else "") + (f" others={self.others}" if self.others else "")
        least = min([*self.claims.values(), *rest])
        return f"s VERIFIED n={self.n} target={self.target} at_least={least}{more} {self.digest}"
