"""The command `certify`. Imported with the command line, so it stays light."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from restrict.cli.certificate_words import report
from restrict.cli.common import MODEL, check_writable, leave_interrupted, progress_on, target_of, trusted_line
from restrict.cli.everywhere import certify_everywhere

if TYPE_CHECKING:
    from restrict.certificate.certificate import Certificate
    from restrict.model.program import Model
    from restrict.optimum.exact import Exact


@click.command()
@MODEL
@click.option("-n", "n", type=int, required=True, help="Length, markers included.")
@click.option(
    "--target",
    default="last",
    show_default=True,
    help="last; or, for models with output at every position, a position, or all of them at once.",
)
@click.option(
    "-c",
    "c",
    type=int,
    default=None,
    help="Let the output depend on at most C free inputs; free as much as possible.  [default: 0]",
)
@click.option(
    "--free",
    type=float,
    default=None,
    help="Keep at least this fraction of the positions free; make c as small as possible.",
)
@click.option(
    "--restriction",
    "rho",
    default=None,
    metavar="TEXT",
    help="Certify this restriction, such as '**1*0', instead of searching.",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the certificate here.")
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same certificate.")
@click.option("--time", type=float, default=None, help="Go on improving for this many seconds.")
@click.option(
    "--exact", is_flag=True, help="Find the optimum by SAT, with a proof; with --time, bounds on it (small models)."
)
@click.option(
    "--pareto", is_flag=True, help="The front of free positions against c; -o then names a folder for its certificates."
)
@click.option(
    "--figure",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --pareto: draw the front (needs matplotlib).",
)
@click.option("--trace", is_flag=True, help="With --target all: print what each removed layer came to.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def certify(
    model: str,
    n: int,
    target: str,
    c: int | None,
    free: float | None,
    rho: str | None,
    output: Path | None,
    seed: int,
    time: float | None,
    exact: bool,
    pareto: bool,
    figure: Path | None,
    trace: bool,
    as_json: bool,
) -> None:
    """Find a restriction under which MODEL's output depends on at most c inputs, and certify it."""
    from restrict.certification import certify as run
    from restrict.errors import UsageError
    from restrict.model.source import load
    from restrict.restriction import Restriction

    if c is not None and free is not None:
        raise UsageError("give -c or --free, not both: -c bounds the dependencies, --free the free positions")
    if not 0 <= seed < 2**63:
        raise UsageError(f"--seed {seed} must be at least 0 and below 2^63")
    if time is not None and not time >= 0:
        raise UsageError(f"--time {time} must be a number of seconds, at least 0")
    program = load(model)
    everywhere = target_of(target) == "all" and rho is None
    if trace and not everywhere:
        raise UsageError("--trace is for --target all without --restriction")
    if everywhere:
        if exact or pareto or figure is not None:
            raise UsageError("--exact, --pareto and --figure are for one position, not for --target all")
        certify_everywhere(program, n, c, free, output, seed, time, trace, as_json)
        return
    if pareto:
        if rho is not None or c is not None or free is not None:
            raise UsageError("--pareto goes through all c by itself; leave out -c, --free and --restriction")
        _pareto(program, n, target_of(target), seed, time, output, figure, as_json)
        return
    check_writable(output)
    given = Restriction.parse(program.at(n), rho) if rho is not None else None
    if exact and (given is not None or free is not None):
        raise UsageError("--exact is for -c; leave out --free and --restriction")
    optimum = None
    with progress_on(f"{program.name[:40]}, n = {n}") as progress:
        found = run(
            program,
            n,
            target=target_of(target),
            c=c or 0,
            free=free,
            seed=seed,
            time=time,
            restriction=given,
            progress=progress,
        )
        if exact:
            found, optimum = _exact(program, found, c or 0, time, seed, progress)
        if output is not None:
            found.save(output)
        line = trusted_line(program, found)
    report(program, found, output, line, as_json, optimum)
    if found.provenance.get("stopped") == "interrupted":
        leave_interrupted(output)


def _pareto(
    program: Model,
    n: int,
    target: Any,
    seed: int,
    time: float | None,
    folder: Path | None,
    figure: Path | None,
    as_json: bool,
) -> None:
    from restrict.errors import UsageError
    from restrict.force.release import pareto

    check_writable(figure)
    if figure is not None:
        try:
            import matplotlib as _  # noqa: F401
        except ImportError:
            raise UsageError("--figure needs matplotlib: pip install 'restrict[report]'") from None
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder}: cannot make the folder: {error.strerror}") from None
    with progress_on(f"{program.name[:40]}, n = {n}") as progress:
        front = pareto(program, n, target=target, seed=seed, time=time, progress=progress)
    for point in front.points if folder is not None else ():
        assert folder is not None
        point.save(folder / f"c{point.c}.cert.json")
    if figure is not None:
        front.figure(str(figure))
    if as_json:
        rows = [{"c": p.c, "free": p.free, "certificate": json.loads(p.to_bytes())} for p in front.points]
        click.echo(json.dumps({"model": program.name, "n": n, "points": rows}))
        return
    click.echo(front.table())
    for what, path in (("certificates in", folder), ("figure", figure)):
        if path is not None:
            click.echo(f"{what} {path}")


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
