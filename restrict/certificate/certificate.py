"""Certificates: a restriction, the nodes to examine, and what follows; type and file format
``restrict-certificate/1`` (docs/format.md)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from restrict.abstract.run import AbstractRun, Cone, SharedFinds, abstract_run, all_but_wide, positions_of
from restrict.base.errors import ModelError, ResourceLimit
from restrict.base.htmltable import ShownTable
from restrict.base.strictjson import Node, Record, one_line_lists
from restrict.base.wording import fixed_spans
from restrict.certificate.cases import Case, cases_to_json, leaves, read_cases
from restrict.certificate.outline import FORMAT, Claim, read_outline
from restrict.checker import account, formats
from restrict.checker.account import Place, Reject
from restrict.checker.main import DEFAULT_LIMIT
from restrict.model.arguments import the_instance
from restrict.model.program import Instance
from restrict.model.restriction import Restriction, check_expansion, expanded, runs
from restrict.model.task import MAX_VALUES, Target, Task, position_of


@dataclass(frozen=True, eq=False)
class Certificate(Record):
    """``(model, n, restriction, cone, claim)``; ``sha256`` is ``None`` for a model without a file (checked in this
    process only). With ``split``, the claim is established for every way to fill these free positions. With ``cases``,
    it is established at every leaf of a tree, which has a cone for each leaf."""

    model_name: str
    sha256: str | None
    n: int
    target: Target
    restriction: Restriction
    cone: Cone
    claim: Claim
    provenance: Mapping[str, Any] = field(default_factory=dict)
    split: tuple[int, ...] = ()
    cases: Case | None = None

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
        cones = [self.cone] if self.cases is None else [cone for _, cone in leaves(self.cases)]
        if "all" in cones:
            return None
        return sum(len(p) for cone in cones if cone != "all" for p in cone.values())

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
            **({} if self.cases is None else {"cases": cases_to_json(self.cases)}),
            "claim": claim,
            "provenance": dict(self.provenance),
        }
        return (one_line_lists(document, 1) + "\n").encode()

    @classmethod
    def from_json(cls, root: Node) -> "Certificate":
        """A certificate from its JSON form; see :class:`restrict.base.strictjson.Record`."""
        outline = read_outline(root)
        place = "" if root.place == "top level" else f"{root.place}."
        check_expansion(outline.positions, f"{place}certificate")
        rho = Restriction(outline.n, {i: s for start, count, s in outline.fixed for i in range(start, start + count)})
        cone: Cone = "all"
        if outline.cone != "all":
            cone = {name: expanded(spans, f"{place}cone.{name}") for name, spans in outline.cone.items()}
        c = outline.claim
        depends = None if c.dependencies is None else expanded(c.dependencies, f"{place}claim.dependencies")
        claim = Claim(c.free, c.c, depends, c.values)
        return Certificate(
            outline.model_name, outline.sha256, outline.n, outline.target, rho, cone, claim, outline.provenance,
            outline.split, None if outline.cases is None else read_cases(outline.cases, outline.n, cone),
        )  # fmt: skip

    def __repr__(self) -> str:
        fixed = len(self.restriction.fixed)
        counts = f"fixed={fixed}, free={self.free}, c={self.c}"
        return f"Certificate({self.model_name!r}, n={self.n}, target={self.target}, {counts})"

    def facts(self) -> ShownTable:
        """What a notebook shows."""
        rows: list[tuple[str, object]] = [("target", self.target), ("fixed", len(self.restriction.fixed))]
        rows += [("free", self.free), ("c (certified bound)", self.c)]
        if self.claim.values is not None:
            rows.append(("values", ", ".join(map(str, self.claim.values))))
        rho = self.restriction
        rows.append(("restriction", rho.text() if self.n <= 60 else fixed_spans(rho.to_json())))
        return ShownTable(f"certificate: {self.model_name} at n = {self.n}", rows)


# ---------------------------------------------------------------- making and checking


def claim_under(
    instance: Instance, restriction: Restriction, cone: Cone, target: Target, split: tuple[int, ...] = (),
    cases: Case | None = None,
) -> Claim:  # fmt: skip
    """The strongest claim, a certified bound, that the abstract run over a cone supports; made at all positions at once
    where the cone is ``"all"`` and :mod:`restrict.abstract.all_positions` supports the program. With ``split`` (free
    positions that get every combination of symbols, for a target of one position) or a tree of cases with its own
    cones, it holds in every branch or leaf (Theorem A' of docs/kernel.md). ``UsageError``: no output at the target;
    ``ResourceLimit``: the output has too many values, or a row is too long."""
    from restrict.abstract.all_positions import AllPositions, supported

    if split or cases is not None:
        each = _split(instance, split, cone) if cases is None else leaves(cases)
        return _claim_by_cases(instance, restriction, each, target)
    if cone != "all" or not supported(instance):
        return claim_of(abstract_run(instance, restriction, cone), target)
    position, run = position_of(instance, target), AllPositions(instance, restriction)
    sets = run.label_sets()
    if position is None:
        return Claim(restriction.free, int(sets.sizes().max()), None, None)
    values = int(run.facts[instance.model.output.variable].values[position])
    depends = run.positions(sets, position)
    return Claim(restriction.free, len(depends), depends, tuple(v for v in range(62) if values >> v & 1))


def _claim_by_cases(
    instance: Instance, restriction: Restriction, cases: Iterable[tuple[dict[int, int], Cone]], target: Target
) -> Claim:
    """Theorem A' of docs/kernel.md: the output is a function of the questions below which more than one label is
    met and, in each case, of what it depends on there."""
    values: set[int] = set()
    depends: set[int] = set()
    below: dict[tuple[tuple[int, int], ...], set[str]] = {}
    shared = SharedFinds({}, {})
    for path, cone in cases:
        under = restriction | Restriction.of(instance, dict(path))
        if cone == "all":
            found = claim_under(instance, under, cone, target)
        else:
            found = claim_of(abstract_run(instance, under, cone, found=shared), target)
        assert found.values is not None
        assert found.dependencies is not None
        values.update(found.values)
        depends.update(found.dependencies)
        labels, answers = {instance.label(v) for v in found.values}, tuple(path.items())
        for depth, (asked, _) in enumerate(answers):
            met = below.setdefault(answers[:depth], set())
            met |= labels
            if len(met) > 1:
                depends.add(asked)
    return Claim(restriction.free, len(depends), tuple(sorted(depends)), tuple(sorted(values)))


def _split(instance: Instance, split: tuple[int, ...], cone: Cone) -> Iterator[tuple[dict[int, int], Cone]]:
    """Every way to fill the positions of a split."""
    for symbols in product(range(len(instance.model.alphabet)), repeat=len(split)):
        yield dict(zip(split, symbols, strict=True)), cone


def claim_of(run: AbstractRun, target: Target) -> Claim:
    """The strongest claim, a certified bound, that an abstract run supports in which the target's cone was examined.
    ``ResourceLimit``: the output has more than 2^24 values; ``UsageError``: there is none at the target."""
    position = position_of(run.instance, target)
    output = run.instance.model.output.variable
    if run.instance.domains[output] > MAX_VALUES and output != "position":
        raise ResourceLimit(
            f"the output {output!r} has {run.instance.domains[output]} values, more than 2^24, which cannot be listed"
        )
    if position is None:
        worst = max(run.label_depends(i).bit_count() for i in range(run.instance.n))
        return Claim(run.restriction.free, worst, None, None)
    depends = positions_of(run.label_depends(position))
    return Claim(
        run.restriction.free, len(depends), depends, tuple(run.values(run.instance.model.output.variable, position))
    )


@lru_cache(maxsize=64)
def _read_by_the_checker(content: bytes, source: Path | None, n: int) -> None:
    """Raise :class:`ModelError` where the trusted checker calls a model malformed; its other errors are ignored."""
    place, folder = Place(str(source or "model")), source.parent if source else Path()
    try:
        formats.Model(account.Task(None, place, content, place, folder, account.Meter(DEFAULT_LIMIT)), n)
    except Reject as reject:
        if reject.code == 4:
            raise ModelError(str(reject)) from None


def trusted_reading(instance: Instance) -> None:
    """Refuse (``ModelError``) a model whose file the trusted checker calls malformed: no certificate is made for it.
    Cost: one reading."""
    if instance.model.content is not None:
        _read_by_the_checker(instance.model.content, instance.model.source, instance.n)


def certificate_of(
    instance: Instance,
    restriction: Restriction,
    cone: Cone,
    target: Target = "last",
    provenance: Mapping[str, Any] | None = None,
    split: tuple[int, ...] = (),
    cases: Case | None = None,
) -> Certificate:
    """Run the abstract run under a restriction over a cone, and make the certificate of what follows.

    With a split or a tree of cases it is run in every branch or at every leaf. From the cone ``"all"``, nodes of wide
    maps are left out where their image is too large to compute. Cost: that of
    :func:`restrict.abstract.run.abstract_run`, for each branch or leaf.

    Args:
        instance: the model at one length.
        restriction: what is fixed.
        cone: the nodes to examine, by variable, or ``"all"``.
        target: ``"last"``, ``"all"`` or a position.
        provenance: what the file says about its origin; the checker ignores it.
        split: free positions that get every combination of symbols; only for a target of one position.
        cases: a tree of cases in place of the split.

    Returns:
        The certificate of the strongest claim that follows.

    Raises:
        UsageError: the model has no output at the target, or no instance was given.
        ModelError: the trusted checker calls the model malformed.
        ResourceLimit: the output has too many values to list, or a row is too long.
    """
    trusted_reading(the_instance(instance))
    if cone == "all":
        cone = all_but_wide(instance, restriction)
    claim = claim_under(instance, restriction, cone, target, split, cases)
    kept = (
        cone
        if cone == "all"
        else {v.name: tuple(sorted(cone[v.name])) for v in instance.model.variables if cone.get(v.name)}
    )
    return Certificate(
        instance.model.name,
        instance.model.digest,
        instance.n,
        target,
        restriction,
        kept,
        claim,
        provenance or {},
        split,
        cases,
    )


def certified(
    task: Task, fixed: Mapping[int, int | str], cone: Cone, split: tuple[int, ...] = (), cases: Case | None = None
) -> Certificate:
    """The certificate of the strongest claim that follows for a task under a restriction (symbols or their indices by
    position), from a fresh abstract run over the cone; ``split``, ``cases``: as for :func:`claim_under`. Cost and
    errors: those of :func:`certificate_of`; ``UsageError``: a position or symbol that the model does not have."""
    rho = Restriction.of(task.instance, dict(fixed))
    return certificate_of(task.instance, rho, cone, task.target, task.provenance, split, cases)


# ---------------------------------------------------------------- reading


def load_certificate(path: str | Path) -> Certificate:
    """Read a certificate file; it is not checked against a model here.

    Args:
        path: the file.

    Returns:
        The certificate.

    Raises:
        ModelError: malformed; the message is file: place: reason.
        UsageError: the file cannot be read.
        ResourceLimit: it is too large, or has more positions than can be held one by one.
    """
    return Certificate.load(path)
