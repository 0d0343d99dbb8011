"""The command `certify`. Imported with the command line, so it stays light."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from restrict.base.deadline import Deadline
from restrict.base.errors import UsageError
from restrict.cli import common
from restrict.cli.certificate_words import report
from restrict.cli.checking import asked, checked_by
from restrict.cli.common import check_writable, leave_interrupted, progress_on, result_folder, saved
from restrict.cli.every_length import STATES, certify_cost, certify_pattern, refuse_others
from restrict.cli.everywhere import certify_everywhere
from restrict.cli.printer import Told, put

if TYPE_CHECKING:
    from fractions import Fraction

    from restrict.certificate.certificate import Certificate
    from restrict.model.program import Model
    from restrict.optimum.exact import Exact
    from restrict.optimum.lower_bound import Bounds
    from restrict.tradeoff import Front


LOWER_BOUND_SECONDS = 30.0
"""The time limit of `--lower-bound` where no `--time` is given; `restrict lower-bound` goes on to the optimum."""


@dataclass(frozen=True)
class Wish:
    """The options of one call, by their names."""

    n: int
    target: Any
    c: int | None
    free: Fraction | None
    rho: str | None
    output: Path | None
    seed: int
    time: float | None
    exact: bool
    pareto: bool
    figure: Path | None
    trace: bool
    lower_bound: bool
    method: str
    jobs: int | None
    dask: str | None
    checker: str
    as_json: bool

    @property
    def everywhere(self) -> bool:
        """Whether the output at all positions is searched for."""
        return self.target == "all" and self.rho is None

    def check(self) -> None:
        """Refuse options that do not go together."""
        if (self.jobs is not None or self.dask is not None) and self.target != "all" and not self.lower_bound:
            raise UsageError("--jobs and --dask are for --target all and --lower-bound: these have independent parts")
        if self.c is not None and self.free is not None:
            raise UsageError("give -c or --free, not both: -c bounds the dependencies, --free the free positions")
        if self.method != "auto" and not self.everywhere:
            raise UsageError("--method is for --target all without --restriction")
        if self.trace and not self.everywhere:
            raise UsageError("--trace is for --target all without --restriction")
        if self.everywhere and (self.exact or self.pareto or self.figure is not None):
            raise UsageError("--exact, --pareto and --figure are for one position, not for --target all")
        if self.pareto and (self.rho is not None or self.c is not None or self.free is not None):
            raise UsageError("--pareto goes through all c by itself; leave out -c, --free and --restriction")
        if self.pareto and self.exact:
            raise UsageError("--pareto and --exact are two searches: give one of them")
        if self.figure is not None and not self.pareto:
            raise UsageError("--figure draws the front: give --pareto, too")
        if self.exact and (self.rho is not None or self.free is not None):
            raise UsageError("--exact is for -c; leave out --free and --restriction")
        if self.lower_bound and (self.everywhere or self.pareto or self.c or self.free is not None):
            raise UsageError("--lower-bound is for c = 0 at one position; leave out -c, --free, --pareto, --target all")


@click.command("certify")
@common.MODEL
@common.LENGTH_OR_ALL
@click.option(
    "--target",
    type=common.TARGETS,
    default="last",
    show_default=True,
    help="last; or, for models with output at every position, a position, or all of them at once.",
)
@click.option(
    "-c",
    "c",
    metavar="C",
    type=common.Whole(0),
    help="Let the output depend on at most C free inputs; free as much as possible.  [default: 0]",
)
@click.option(
    "--free",
    type=common.SHARE,
    help="Keep at least this fraction of the positions free; make c as small as possible.",
)
@click.option(
    "--restriction",
    "rho",
    type=common.Text(),
    metavar="TEXT",
    help="Certify this restriction instead of searching: a symbol or * for each position, and . at the markers, "
    "such as '**1*0' or '.**1*0.'.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the certificate here.")
@common.SEED
@common.TIME
@click.option(
    "--exact", is_flag=True, help="Find the optimum by SAT, with a proof; with --time, bounds on it (small models)."
)
@click.option(
    "--pareto", is_flag=True, help="The front of free positions against c; -o then names a folder for its certificates."
)
@common.file_option("--figure", text="With --pareto: draw the front.")
@click.option(
    "--method",
    type=click.Choice(["auto", "lemma", "exchange", "repeating"]),
    default="auto",
    show_default=True,
    help="With --target all: Stages 1 to 3 of the Depth Reduction Lemma, exchange of fixed inputs, a restriction that "
    "repeats, or the best of these.",
)
@click.option(
    "--jobs", type=common.Whole(1, 4096), help="With --target all or --lower-bound: share the work among N processes."
)
@click.option(
    "--dask",
    metavar="ADDRESS|local",
    help="With --target all or --lower-bound: share the work among the workers of this Dask cluster; local: of --jobs "
    "processes here.",
)
@click.option("--trace", is_flag=True, help="With --target all: print the figures of each removed layer.")
@click.option(
    "--lower-bound",
    is_flag=True,
    help="Also prove how many positions it takes at least, at any length, in 30 s (or --time) at most; with -o "
    "FILE.json, the proof goes to FILE.lower.json.",
)
@click.option("--label", type=common.Text(), help="With --all-lengths: the label to force.")
@click.option(
    "--cost", is_flag=True, help="With --all-lengths and --label: the exact fewest fixed positions at every length."
)
@STATES
@checked_by
@common.JSON
def certify_command(model: str, all_lengths: bool, states: int, label: str | None, cost: bool, **options: Any) -> None:
    """Find a restriction under which MODEL's output depends on at most c inputs, and certify it.

    With --all-lengths: a pattern of fixed symbols that forces the label at the last position at every length, with a
    proof. With --cost as well: instead of a pattern, the exact fewest positions that must be fixed, at every length,
    with a proof; then -n N also gives a restriction with the fewest at that length.
    """
    from restrict.model.source import load

    if (label is not None or cost) and not all_lengths:
        raise UsageError("--label and --cost are for --all-lengths")
    if cost and label is None:
        raise UsageError("--cost needs --label: the label to force")
    if all_lengths:
        refuse_others(("model", "states", "label", "cost", "output", "as_json", *(("n",) if cost else ())))
        chosen = (load(model), label, states, options["output"], options["as_json"])
        if cost:
            certify_cost(*chosen, options["n"])
        else:
            certify_pattern(*chosen)
        return
    wish = Wish(**options)
    wish.check()
    if not wish.pareto:
        check_writable(wish.output)
    program = load(model)
    if wish.pareto:
        _pareto(program, wish)
        return
    with _crew(wish):
        (certify_everywhere if wish.everywhere else _one_position)(program, wish)


def _crew(wish: Wish) -> AbstractContextManager[None]:
    """The workers that share the work, where --jobs or --dask asks for them."""
    if wish.jobs is None and wish.dask is None:
        return nullcontext()
    from restrict.sweep.workers import workers

    return workers(wish.jobs, wish.dask)


def _one_position(program: Model, wish: Wish) -> None:
    from restrict.certification import certify
    from restrict.model.restriction import Restriction

    given = Restriction.parse(program.at(wish.n), wish.rho) if wish.rho is not None else None
    optimum, bounds = None, None
    parts = 1 + wish.exact + wish.lower_bound
    deadline = Deadline.after(wish.time)  # one limit for all parts
    with progress_on(f"{program.name[:40]}, n = {wish.n}") as progress:
        found = certify(
            program,
            wish.n,
            target=wish.target,
            c=wish.c,
            free=wish.free,
            seed=wish.seed,
            time=deadline.share(1 / parts).left,
            restriction=given,
            progress=progress,
        )
        if wish.exact:
            share = deadline.share(1 / (parts - 1)).left
            found, optimum = _exact(program, found, wish.c or 0, share, wish.seed, progress)
        if wish.lower_bound and found.provenance.get("stopped") != "interrupted":
            left = LOWER_BOUND_SECONDS if wish.time is None else deadline.left
            found, bounds = _bounded(program, found, wish, left, progress)
        late = saved(found, wish.output) or "interrupted" in (
            found.provenance.get("stopped"),
            bounds and bounds.stopped,
        )
        said = asked(program, found, wish.checker, late=late)
    report(program, found, wish.output, said, wish.as_json, optimum, bounds, checker=wish.checker)
    if late or said.interrupted:
        leave_interrupted(wish.output)


def _bounded(
    program: Model, found: Certificate, wish: Wish, time: float | None, progress: Any
) -> tuple[Certificate, Bounds]:
    """The lower bound, its file, and the better certificate: the one given, or one that this search met."""
    from restrict.optimum.lower_bound import lower_bound
    from restrict.report.lower_bound import bound_path, has_claim

    upper = len(found.restriction.fixed) if found.c == 0 else None
    bounds = lower_bound(program, wish.n, target=wish.target, upper=upper, seed=wish.seed, time=time, progress=progress)
    if wish.output is not None and has_claim(bounds.bound):
        bounds.bound.save(bound_path(wish.output))
    return (found if bounds.forcing is None or wish.rho is not None else bounds.forcing), bounds


def _pareto(program: Model, wish: Wish) -> None:
    """The front: search, write each point, draw, print."""
    from restrict.report.drawing import CHARTS, check_ending
    from restrict.tradeoff import pareto

    folder, figure = wish.output, wish.figure
    if figure is not None:
        check_ending(figure, CHARTS)
    with result_folder(folder), progress_on(f"{program.name[:40]}, n = {wish.n}") as progress:
        front = pareto(program, wish.n, target=wish.target, seed=wish.seed, time=wish.time, progress=progress)
    for point in front.points if folder is not None else ():
        assert folder is not None
        point.save(folder / f"c{point.c}.cert.json")
    if figure is not None:
        front.figure(figure)
    put(Told(front.table, lambda: _front(front, program, wish.n)), wish.as_json,
        {"certificates in": folder, "figure": figure}, wide=True)  # fmt: skip


def _front(front: Front, program: Model, n: int) -> dict[str, Any]:
    rows = [{"c": p.c, "free": p.free, "certificate": json.loads(p.to_bytes())} for p in front.points]
    return {"model": program.name, "n": n, "points": rows}


def _exact(
    program: Model, found: Certificate, c: int, time: float | None, seed: int, progress: Any
) -> tuple[Certificate, Exact]:
    """The exact optimum, starting from what the search found; and the better certificate of the two."""
    from restrict.optimum.exact import exact

    optimum = exact(program, found.n, target=found.target, c=c, time=time, seed=seed, start=found, progress=progress)
    better = optimum.certificate
    if better is not None and len(better.restriction.fixed) <= len(found.restriction.fixed):
        return better, optimum
    return found, optimum
