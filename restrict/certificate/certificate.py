"""Certificates: a restriction, the nodes to examine, and what follows; type and file format
``restrict-certificate/1`` (docs/format.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from restrict.abstract.run import AbstractRun, Cone, abstract_run, all_but_wide, positions_of
from restrict.errors import ModelError, NotEstablished, ResourceLimit, UsageError, quote
from restrict.files import read_bytes, write_bytes
from restrict.model.program import MAX_N, Instance, Model
from restrict.restriction import Restriction, read_runs, runs
from restrict.strictjson import Node, one_line_lists, parse
from restrict.task import Target, Task, position_of

FORMAT = "restrict-certificate/1"
MAX_VALUES = 2**24
MAX_SPLIT = 12
"""Positions that a certificate may be split over."""


@dataclass(frozen=True)
class Claim:
    """What a certificate says. ``values`` is ``None`` for the target ``all``; ``dependencies`` then too."""

    free: int
    c: int
    dependencies: tuple[int, ...] | None
    values: tuple[int, ...] | None

    def text(self, n: int, target: Target) -> str:
        """The claim as the checker prints it."""
        head = f"n={n} target={target} free={self.free} c={self.c}"
        return head if self.values is None else f"{head} values={','.join(map(str, self.values))}"


@dataclass(frozen=True, eq=False)
class Certificate:
    """``(model, n, restriction, cone, claim)``; ``sha256`` is ``None`` for a model without a file (checked in this
    process only). With ``split``, the claim is established for every way to fill these free positions."""

    model_name: str
    sha256: str | None
    n: int
    target: Target
    restriction: Restriction
    cone: Cone
    claim: Claim
    provenance: Mapping[str, Any] = field(default_factory=dict)
    split: tuple[int, ...] = ()

    @property
    def c(self) -> int:
        """The number of free inputs on which the output may depend."""
        return self.claim.c

    @property
    def free(self) -> int:
        """The number of free positions."""
        return self.claim.free

    @property
    def cone_size(self) -> int | None:
        """The number of examined nodes; ``None`` for all."""
        return None if self.cone == "all" else sum(len(p) for p in self.cone.values())

    def to_bytes(self) -> bytes:
        """The bytes of the file; the same for the same certificate."""
        cone = self.cone if self.cone == "all" else {name: runs(p) for name, p in self.cone.items()}
        claim: dict[str, Any] = {"free": self.claim.free, "c": self.claim.c}
        if self.claim.dependencies is not None and self.claim.values is not None:
            claim |= {"dependencies": runs(self.claim.dependencies), "values": list(self.claim.values)}
        document = {
            "format": FORMAT,
            "model": {"name": self.model_name, "sha256": self.sha256},
            "n": self.n,
            "target": self.target,
            "fixed": self.restriction.to_json(),
            "cone": cone,
            **({"split": list(self.split)} if self.split else {}),
            "claim": claim,
            "provenance": dict(self.provenance),
        }
        return (one_line_lists(document, 1) + "\n").encode()

    def save(self, path: str | Path) -> None:
        """Write the file."""
        write_bytes(Path(path), self.to_bytes())

    def __repr__(self) -> str:
        fixed = len(self.restriction.fixed)
        counts = f"fixed={fixed}, free={self.free}, c={self.c}"
        return f"Certificate({self.model_name!r}, n={self.n}, target={self.target}, {counts})"

    def _repr_html_(self) -> str:
        from html import escape

        rows = [
            ("model", self.model_name),
            ("n", self.n),
            ("target", self.target),
            ("fixed", len(self.restriction.fixed)),
        ]
        rows += [("free", self.free), ("c (certified bound)", self.c), ("values", self.claim.values)]
        return "<table>" + "".join(f"<tr><th>{k}</th><td>{escape(str(v))}</td></tr>" for k, v in rows) + "</table>"


# ---------------------------------------------------------------- making and checking


def claim_under(
    at: Instance, restriction: Restriction, cone: Cone, target: Target, split: tuple[int, ...] = ()
) -> Claim:
    """The strongest claim that the abstract run over a cone supports, by the run at all positions at once where the
    cone is everything and the program is of that kind; with ``split``, over all ways to fill these positions."""
    from restrict.abstract.all_positions import BulkRun, supported

    if split:
        return _split_claim(at, restriction, cone, target, split)
    if cone != "all" or not supported(at):
        return claim_of(abstract_run(at, restriction, cone), target)
    where, run = position_of(at, target), BulkRun(at, restriction)
    sets = run.label_sets()
    if where is None:
        return Claim(restriction.free, int(sets.sizes().max()), None, None)
    values = int(run.facts[at.model.output.variable].values[where])
    depends = run.positions(sets, where)
    return Claim(restriction.free, len(depends), depends, tuple(v for v in range(62) if values >> v & 1))


def _split_claim(at: Instance, restriction: Restriction, cone: Cone, target: Target, split: tuple[int, ...]) -> Claim:
    """Theorem A' of docs/trusted-base.md: the output is a function of the split positions and, in each branch, of
    what it depends on there."""
    values: set[int] = set()
    depends = set(split)
    for symbols in product(range(len(at.model.alphabet)), repeat=len(split)):
        branch = restriction | Restriction.of(at, dict(zip(split, symbols, strict=True)))
        found = claim_under(at, branch, cone, target)
        assert found.values is not None
        assert found.dependencies is not None
        values.update(found.values)
        depends.update(found.dependencies)
    if len({at.label(v) for v in values}) == 1:
        depends = set()
    return Claim(restriction.free, len(depends), tuple(sorted(depends)), tuple(sorted(values)))


def claim_of(run: AbstractRun, target: Target) -> Claim:
    """The strongest claim that an abstract run supports."""
    where = position_of(run.instance, target)
    output = run.instance.model.output.variable
    if run.instance.domains[output] > MAX_VALUES and output != "position":
        raise ResourceLimit(
            f"the output {output!r} has {run.instance.domains[output]} values, more than 2^24, which cannot be listed"
        )
    if where is None:
        worst = max(run.label_depends(i).bit_count() for i in range(run.instance.n))
        return Claim(run.restriction.free, worst, None, None)
    depends = positions_of(run.label_depends(where))
    return Claim(
        run.restriction.free, len(depends), depends, tuple(run.values(run.instance.model.output.variable, where))
    )


def certificate_of(
    at: Instance,
    restriction: Restriction,
    cone: Cone,
    target: Target = "last",
    provenance: Mapping[str, Any] | None = None,
    split: tuple[int, ...] = (),
) -> Certificate:
    """Run the abstract run on a restriction and a cone, in every branch of a split, and write down what follows.
    Cost: that of :func:`abstract_run`, for each branch. Of the cone ``"all"`` the nodes of wide maps whose image is too
    large to compute are left out."""
    if cone == "all":
        cone = all_but_wide(at, restriction)
    claim = claim_under(at, restriction, cone, target, split)
    kept = (
        cone if cone == "all" else {v.name: tuple(sorted(cone[v.name])) for v in at.model.variables if cone.get(v.name)}
    )
    return Certificate(at.model.name, at.model.digest, at.n, target, restriction, kept, claim, provenance or {}, split)


def certified(task: Task, fixed: Mapping[int, int | str], cone: Cone, split: tuple[int, ...] = ()) -> Certificate:
    """The certificate of a task for a restriction, from a fresh abstract run.

    Cost: that of :func:`certificate_of`.

    Args:
        task: the output, and what is noted of the certificate's origin.
        fixed: symbols (or their indices) by position.
        cone: the nodes to examine.
        split: free positions to go through case by case.
    """
    rho = Restriction.of(task.instance, dict(fixed))
    return certificate_of(task.instance, rho, cone, task.target, task.provenance, split)


def check_fast(model: Model, certificate: Certificate) -> str:
    """The checker's verdict by the fast abstract run: the success line without the digest.

    Raises :class:`ModelError` where the certificate is for another model and :class:`NotEstablished` where the claim
    does not follow.
    """
    if certificate.sha256 != model.digest:
        raise ModelError(
            f"model.sha256: the certificate is for another model ({certificate.model_name!r}, {certificate.sha256})"
        )
    at = model.at(certificate.n)
    try:
        rho = Restriction.of(at, certificate.restriction.fixed)
        position_of(at, certificate.target)
    except UsageError as error:
        raise ModelError(f"certificate: {error}") from None
    unknown = next((v for v in certificate.cone if v not in model.by_name), None) if certificate.cone != "all" else None
    if unknown is not None:
        raise ModelError(f"cone: {quote(unknown)} is no map or head of the model")
    size = at.domains[model.output.variable]
    if certificate.claim.values is not None and not all(0 <= v < size for v in certificate.claim.values):
        raise ModelError(f"claim.values: {quote(certificate.claim.values)} leaves the domain 0..{size - 1}")
    claim = certificate.claim
    bound = next((p for p in claim.dependencies or () if p in rho.fixed or p in rho.pinned), None)
    if bound is not None:
        raise ModelError(f"claim.dependencies: position {bound} is not free")
    if certificate.split and certificate.target == "all":
        raise ModelError("split: only a certificate for one position can be split")
    bound = next((p for p in certificate.split if p in rho.fixed or p in rho.pinned), None)
    if bound is not None:
        raise ModelError(f"split: position {bound} is not free")
    found = claim_under(at, rho, certificate.cone, certificate.target, certificate.split)
    output = f"{model.output.variable} at {certificate.target}"
    if found.free != claim.free:
        raise NotEstablished(f"claim.free: {claim.free} claimed, {found.free} positions are free")
    if found.dependencies is None or found.values is None or claim.dependencies is None or claim.values is None:
        if found.c > claim.c:
            raise NotEstablished(f"claim.c: {claim.c} claimed, some output depends on up to {found.c} inputs")
    elif not set(found.values) <= set(claim.values):
        raise NotEstablished(f"node {output}: may take {quote(found.values)}, beyond the claimed {quote(claim.values)}")
    elif not set(found.dependencies) <= set(claim.dependencies) or claim.c != len(claim.dependencies):
        extra = sorted(set(found.dependencies) - set(claim.dependencies))
        raise NotEstablished(
            f"node {output}: may depend on {len(extra)} positions not claimed, such as {quote(extra[:3])}"
        )
    return claim.text(certificate.n, certificate.target)


# ---------------------------------------------------------------- reading


def load_certificate(path: str | Path) -> Certificate:
    """Read a certificate file; it is not checked against a model here. Raises :class:`ModelError` (file: place:
    reason)."""
    path = Path(path)
    try:
        return read_certificate(Node(parse(read_bytes(path), str(path)), "top level"))
    except ModelError as error:
        text = str(error)
        raise ModelError(text if text.startswith(f"{path}:") else f"{path}: {text}") from None


def read_certificate(root: Node) -> Certificate:
    """A certificate from its JSON form. Raises :class:`ModelError` with the place."""
    fields = root.fields(("format", "model", "n", "target", "fixed", "cone", "claim"), ("split", "provenance"))
    if fields["format"].text() != FORMAT:
        fields["format"].fail(f"this is {quote(fields['format'].value)}, not {FORMAT!r}")
    model = fields["model"].fields(("name", "sha256"))
    n = fields["n"].integer(1, MAX_N)
    target: Target = fields["target"].value
    if target not in ("last", "all"):
        target = fields["target"].integer(0, n - 1)
    cone: Cone = "all"
    if fields["cone"].value != "all":
        names = fields["cone"].expect(dict, '"all" or an object')
        cone = {name: read_runs(node, n) for name, node in fields["cone"].fields(names).items()}
    provenance = fields["provenance"].expect(dict, "an object") if "provenance" in fields else {}
    digest = None if model["sha256"].value is None else model["sha256"].text()
    rho = Restriction.from_json(fields["fixed"], n)
    claim = _claim(fields["claim"], n, target)
    split = _split(fields["split"], n) if "split" in fields else ()
    return Certificate(model["name"].text(), digest, n, target, rho, cone, claim, provenance, split)


def _split(node: Node, n: int) -> tuple[int, ...]:
    positions = tuple(p.integer(0, n - 1) for p in node.items())
    if list(positions) != sorted(set(positions)):
        node.fail("expected a strictly increasing list")
    if len(positions) > MAX_SPLIT:
        node.fail(f"more than {MAX_SPLIT} positions")
    return positions


def _claim(node: Node, n: int, target: Target) -> Claim:
    if target == "all":
        fields = node.fields(("free", "c"))
        return Claim(fields["free"].integer(0, n), fields["c"].integer(0, n), None, None)
    fields = node.fields(("free", "c", "dependencies", "values"))
    values = tuple(v.integer(0) for v in fields["values"].items())
    if not values or list(values) != sorted(set(values)):
        fields["values"].fail("expected a non-empty increasing list")
    dependencies = read_runs(fields["dependencies"], n)
    c = fields["c"].integer(0, n)
    if c != len(dependencies):
        fields["c"].fail(f"c is {c}, but {len(dependencies)} dependencies are listed")
    return Claim(fields["free"].integer(0, n), c, dependencies, values)
