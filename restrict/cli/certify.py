"""The command `certify`. Imported with the command line, so it stays light.

How a certificate is printed by the commands that find one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from restrict.base.deadline import Deadline
from restrict.base.errors import UsageError
from restrict.cli import common
from restrict.cli.checking import Asked, checked_by, saved_and_asked
from restrict.cli.every_length import STATES, certify_everywhere, refuse_others
from restrict.cli.printer import put
from restrict.cli.terminal import echo

if TYPE_CHECKING:
    from restrict.certificate.certificate import Certificate
    from restrict.optimum.exact import Exact
    from restrict.optimum.lower_bound import Bounds

FOUND = "each row has a certificate; that none is better is not proved"
"""What is said below a front."""
LOWER_BOUND_SECONDS = 30.0
"""The time limit of `--lower-bound` where no `--time` is given; `restrict lower-bound` goes on to the optimum."""


def check(o: common.Given) -> None:
    """Refuse options that do not go together."""
    everywhere, bounded, given = _everywhere(o), o.c is not None or o.free is not None, o.rho is not None
    shared = (o.jobs is not None or o.dask is not None) and o.target != "all" and not o.lower_bound
    lower = o.lower_bound and (everywhere or o.pareto or o.c or o.free is not None)
    for wrong, why in (
        (shared, "--jobs and --dask are for --target all and --lower-bound: these have independent parts"),
        (
            o.c is not None and o.free is not None,
            "give -c or --free, not both: -c bounds the dependencies, --free the free positions",
        ),
        (o.method != "auto" and not everywhere, "--method is for --target all without --restriction"),
        (o.trace and not everywhere, "--trace is for --target all without --restriction"),
        (
            everywhere and (o.exact or o.pareto or o.figure is not None),
            "--exact, --pareto and --figure are for one position, not for --target all",
        ),
        (
            o.pareto and (given or bounded),
            "--pareto goes through all c by itself; leave out -c, --free and --restriction",
        ),
        (o.pareto and o.exact, "--pareto and --exact are two searches: give one of them"),
        (o.figure is not None and not o.pareto, "--figure draws the front: give --pareto, too"),
        (o.exact and (given or o.free is not None), "--exact is for -c; leave out --free and --restriction"),
        (lower, "--lower-bound is for c = 0 at one position; leave out -c, --free, --pareto, --target all"),
    ):
        if wrong:
            raise UsageError(why)


def _everywhere(o: common.Given) -> bool:
    """Whether the output at all positions is searched for."""
    return bool(o.target == "all" and o.rho is None)


@common.command("certify")
@common.MODEL
@common.LENGTH_OR_ALL
@common.option(
    "--target",
    common.TARGETS,
    "last; or, for models with output at every position, a position, or all of them at once.",
    default="last",
)
@common.option(
    "-c",
    common.Whole(0),
    "Let the output depend on at most C free inputs; free as much as possible.  [default: 0]",
    metavar="C",
)
@common.option(
    "--free", common.SHARE, "Keep at least this fraction of the positions free; make c as small as possible."
)
@common.option(
    "--restriction rho",
    common.Text(),
    "Certify this restriction instead of searching: a symbol or * for each position, and . at the markers, "
    "such as '**1*0' or '.**1*0.'.",
    metavar="TEXT",
)
@common.option("-o --output", common.PATH, "Write the certificate here.")
@common.SEED
@common.TIME
@common.flag("--exact", "Find the optimum by SAT, with a proof; with --time, bounds on it (small models).")
@common.flag("--pareto", "The front of free positions against c; -o then names a folder for its certificates.")
@common.file_option("--figure", "With --pareto: draw the front.")
@common.option(
    "--method",
    ("auto", "lemma", "exchange", "repeating"),
    "With --target all: Stages 1 to 3 of the Depth Reduction Lemma, exchange of fixed inputs, a restriction that "
    "repeats, or the best of these.",
    default="auto",
)
@common.option("--jobs", common.Whole(1, 4096), "With --target all or --lower-bound: share the work among N processes.")
@common.option(
    "--dask",
    None,
    "With --target all or --lower-bound: share the work among the workers of this Dask cluster; local: of --jobs "
    "processes here.",
    metavar="ADDRESS|local",
)
@common.flag("--trace", "With --target all: print the figures of each removed layer.")
@common.flag(
    "--lower-bound",
    "Also prove how many positions it takes at least, at any length, in 30 s (or --time) at most; with -o "
    "FILE.json, the proof goes to FILE.lower.json.",
)
@common.option("--label", common.Text(), "With --all-lengths: the label to force.")
@common.flag("--cost", "With --all-lengths and --label: the exact fewest fixed positions at every length.")
@STATES
@checked_by
@common.JSON
def certify_command(o: common.Given) -> None:
    """Find a restriction under which MODEL's output depends on at most c inputs, and certify it.

    With --all-lengths: a pattern of fixed symbols that forces the label at the last position at every length, with a
    proof. With --cost as well: instead of a pattern, the exact fewest positions that must be fixed, at every length,
    with a proof; then -n N also gives a restriction with the fewest at that length.
    """
    if (o.label is not None or o.cost) and not o.all_lengths:
        raise UsageError("--label and --cost are for --all-lengths")
    if o.cost and o.label is None:
        raise UsageError("--cost needs --label: the label to force")
    if o.all_lengths:
        refuse_others(("model", "states", "label", "cost", "output", "as_json", *(("n",) if o.cost else ())))
    else:
        check(o)
    if not o.pareto:
        common.check_writable(o.output)
    if o.all_lengths:
        certify_everywhere(o)
        return
    _ = o.program  # before workers start
    with common.crew(o.jobs, o.dask):
        (_pareto if o.pareto else _all_positions if _everywhere(o) else _one_position)(o)


def _one_position(o: common.Given) -> None:
    from restrict.certification import certify
    from restrict.model.restriction import Restriction

    given = Restriction.parse(o.program.at(o.n), o.rho) if o.rho is not None else None
    optimum, bounds = None, None
    parts = 1 + o.exact + o.lower_bound
    deadline = Deadline.after(o.time)  # one limit for all parts
    with common.progress_on(f"{o.program.name[:40]}, n = {o.n}") as progress:
        found = certify(
            o.program, o.n, time=deadline.share(1 / parts).left, restriction=given, progress=progress,
            **o.only("target", "c", "free", "seed"),
        )  # fmt: skip
        if o.exact:
            share = deadline.share(1 / (parts - 1)).left
            found, optimum = _exact(found, o, share, progress)
        if o.lower_bound and found.provenance.get("stopped") != "interrupted":
            left = LOWER_BOUND_SECONDS if o.time is None else deadline.left
            found, bounds = _bounded(found, o, left, progress)
        stopped = "interrupted" in (found.provenance.get("stopped"), bounds and bounds.stopped)
        said = saved_and_asked(o, found, stopped)
    report(found, said, o, optimum, bounds)
    common.leave_interrupted(said.interrupted, o.output)


def _bounded(found: Certificate, o: common.Given, time: float | None, progress: Any) -> tuple[Certificate, Bounds]:
    """The lower bound, its file, and the better certificate: the one given, or one that this search met."""
    from restrict.optimum.lower_bound import lower_bound
    from restrict.report.lower_bound import bound_path, has_claim

    upper = len(found.restriction.fixed) if found.c == 0 else None
    bounds = lower_bound(o.program, o.n, target=o.target, upper=upper, seed=o.seed, time=time, progress=progress)
    if o.output is not None and has_claim(bounds.bound):
        bounds.bound.save(bound_path(o.output))
    return (found if bounds.forcing is None or o.rho is not None else bounds.forcing), bounds


def _pareto(o: common.Given) -> None:
    """The front: search, write each point, draw, print."""
    from restrict.report.drawing import CHARTS, check_ending
    from restrict.tradeoff import pareto

    folder, figure = o.output, o.figure
    if figure is not None:
        check_ending(figure, CHARTS)
    with common.result_folder(folder), common.progress_on(f"{o.program.name[:40]}, n = {o.n}") as progress:
        front = pareto(o.program, o.n, target=o.target, seed=o.seed, time=o.time, progress=progress)
    for point in front.points if folder is not None else ():
        assert folder is not None
        point.save(folder / f"c{point.c}.cert.json")
    if figure is not None:
        front.figure(figure)
    put(lambda: f"{front.table()}\n{FOUND}", lambda: {"model": o.program.name, "n": o.n} | front.document(), o.as_json,
        {"certificates in": folder, "figure": figure}, wide=True)  # fmt: skip


def _exact(found: Certificate, o: common.Given, time: float | None, progress: Any) -> tuple[Certificate, Exact]:
    """The exact optimum, starting from what the search found; and the better certificate of the two."""
    from restrict.optimum.exact import exact

    optimum = exact(
        o.program, found.n, target=found.target, c=o.c or 0, time=time, seed=o.seed, start=found, progress=progress
    )
    better = optimum.certificate
    if better is not None and len(better.restriction.fixed) <= len(found.restriction.fixed):
        return better, optimum
    return found, optimum


def _all_positions(o: common.Given) -> None:
    """Search, write, print."""
    from restrict.depth_reduction.theorem1 import certify_all

    with common.progress_on(f"{o.program.name[:40]}, n = {o.n}") as progress:
        found = certify_all(o.program, o.n, progress=progress, **o.only("free", "c", "method", "seed", "time"))
        more, how = found.document(), found.text(o.trace)
        said = saved_and_asked(o, found.certificate, found.certificate.provenance.get("stopped") == "interrupted")
    report(found.certificate, said, o, more=more)
    if not o.as_json:
        echo(how)
    common.leave_interrupted(said.interrupted, o.output)


def report(
    found: Certificate, said: Asked, o: common.Given, optimum: Exact | None = None,
    bounds: Bounds | None = None, more: dict[str, Any] | None = None,
) -> None:  # fmt: skip
    """Print a certificate, in words or as JSON, with the name of its file and what a checker says."""
    from restrict.report.lower_bound import bound_document, bounds_below
    from restrict.report.text import summary

    def document() -> dict[str, Any]:
        out = {"certificate": found.document(), "file": o.output and str(o.output)} | said.document() | (more or {})
        if optimum is not None:
            out["exact"] = optimum.document()
        if bounds is not None:
            out["lower_bound"] = bound_document(bounds, found, optimum)
        return out

    def text() -> str:
        told = [summary(o.program, found)]
        told += [] if optimum is None else [optimum.text(found)]
        told += [] if bounds is None else [bounds_below(found, bounds, o.output, optimum)]
        return "\n".join([*told, said.text()])

    put(text, document, o.as_json, {"  written to": o.output})
