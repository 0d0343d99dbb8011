"""The commands `soft ...`: softmax models. Imported with the command line, so it stays light."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from restrict.cli.common import (
    JSON,
    LENGTH,
    LONGEST,
    Seconds,
    Text,
    Whole,
    file_option,
    output_option,
    print_verdict,
    progress_on,
    say,
)
from restrict.cli.soft_import import import_command
from restrict.cli.terminal import complete_soft_model, echo

if TYPE_CHECKING:
    from restrict.soft.claim import SoftCertificate
    from restrict.soft.cross_entropy import CrossEntropy
    from restrict.soft.influence import Influence
    from restrict.soft.model import SoftModel

MODEL = click.argument("model", metavar="MODEL", shell_complete=complete_soft_model)
LENGTHS = click.option("-n", "lengths", required=True, metavar="N[,N...]", help="Lengths, markers included.")
SEED = click.option("--seed", type=Whole(0, 2**62), default=0, show_default=True, help="Same seed, same answer.")
FIGURE = file_option("--figure", text="Draw it here (matplotlib).")


@click.group()
def soft() -> None:
    """Softmax transformers: influence of one symbol, soft restrictions, cross-entropy (Hahn 2020, section 6).

    MODEL is a restrict-soft/1 file, or one of parity, first, random:layers=2,width=16,percent=30,seed=1 (see
    docs/soft.md).
    """


def lengths_of(text: str) -> list[int]:
    """The lengths of a comma-separated list.

    Raises:
        UsageError: it is neither a positive integer nor several, separated by commas.
    """
    from restrict.errors import UsageError

    parts = text.split(",")
    if not all(p.strip().isascii() and p.strip().isdigit() and len(p.strip()) <= 8 and int(p) >= 1 for p in parts):
        raise UsageError(f"-n {text!r} must be a positive integer, or several separated by commas")
    return sorted({int(p) for p in parts})


def number(x: float | None) -> str:
    """A number with four digits."""
    return "-" if x is None else f"{x:.4g}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Right-aligned columns."""
    widths = [max(len(row[c]) for row in (head, *rows)) for c in range(len(head))]
    return "\n".join("  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in (head, *rows))


@soft.command("influence")
@MODEL
@LENGTHS
@click.option("--samples", type=Whole(1, 10**7), default=2000, show_default=True, help="Exchanges to try.")
@click.option("--logit", is_flag=True, help="Changes of logit differences instead of the activation's norm.")
@click.option("--matrix", is_flag=True, help="Print the bound for every pair (position changed, position read).")
@SEED
@FIGURE
@JSON
def influence_command(
    model: str, lengths: str, samples: int, logit: bool, matrix: bool, seed: int, figure: Path | None, as_json: bool
) -> None:
    """How far exchanging one symbol can move the output: certified bounds (a), (b), and measured (c)."""
    from restrict.soft.influence import fit_decay, influence, influence_matrix
    from restrict.soft.source import load

    loaded = load(model)
    if matrix:
        _matrix({n: influence_matrix(loaded, n).tolist() for n in lengths_of(lengths)}, as_json)
        return
    with progress_on(loaded.name[:40]) as progress:
        show = None if progress is None else lambda what: progress(what, None)
        rows = [influence(loaded, n, samples=samples, seed=seed, progress=show) for n in lengths_of(lengths)]
    if figure is not None:
        from restrict.soft.figures import influence_figure

        influence_figure(rows, loaded.name, str(figure))
    which = 1 if logit else 0
    fits = {name: fit_decay(rows, name, which) for name in ("sharp", "measured")}
    if as_json:
        click.echo(
            json.dumps(
                {
                    "model": loaded.name,
                    "sha256": loaded.digest,
                    "rows": [_finite(vars(r)) for r in rows],
                    "fits": {name: None if fit is None else _finite(vars(fit)) for name, fit in fits.items()},
                }
            )
        )
        return
    what = "largest change of a logit difference" if logit else "norm of the change of the output's activation"
    echo(f"{loaded.name}: {what}, one symbol exchanged anywhere but at the output")
    echo("(a) closed form, (b) layer by layer and by sets: certified bounds; (c) measured: the largest found")
    click.echo(_influence_table(rows, which))
    for name, fit in fits.items():
        if fit is not None:
            echo(f"fit (estimate): {'sets' if name == 'sharp' else name} ~ {fit}")


def _influence_table(rows: Sequence[Influence], which: int) -> str:
    head = ("n", "(a) closed", "(b) layers", "(b) sets", "(c) measured", "sets/measured", "tried")
    cells = []
    for r in rows:
        closed = "-" if r.closed is None else number(r.closed[which])
        if r.closed is not None and r.log10_closed is not None and not math.isfinite(r.closed[which]):
            closed = f"10^{r.log10_closed:.0f}" if math.isfinite(r.log10_closed) else "none: eps is 0"
        ratio = r.sharp[which] / r.measured[which] if r.measured[which] > 0 else math.inf
        tried = f"all {r.tried}" if r.exhaustive else str(r.tried)
        cells.append((str(r.n), closed, number(r.layerwise[which]), number(r.sharp[which]),
                      number(r.measured[which]), f"{ratio:.2f}", tried))  # fmt: skip
    return table(head, cells)


def _matrix(found: dict[int, list[list[float]]], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"bounds": found}))
        return
    for n, rows in found.items():
        echo(f"n = {n}: certified bound; row: position changed, column: position read")
        click.echo(table(("", *map(str, range(n))), [(str(i), *map(number, row)) for i, row in enumerate(rows)]))


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """A row with ``None`` in place of infinity, which JSON does not have."""

    def clean(x: Any) -> Any:
        if isinstance(x, list | tuple):
            return [clean(v) for v in x]
        return None if isinstance(x, float) and not math.isfinite(x) else x

    return {k: clean(v) for k, v in row.items()}


@soft.command("cross-entropy")
@MODEL
@click.option("-L", "--language", required=True, type=Text(), help="parity or 2dyck.")
@LENGTHS
@click.option("-p", "p", default="1/10", show_default=True, help="The source's parameter, such as 0.1.")
@click.option("--samples", type=Whole(2, 10**7), default=2000, show_default=True, help="Strings to draw.")
@SEED
@FIGURE
@JSON
def cross_entropy_command(
    model: str, language: str, lengths: str, p: str, samples: int, seed: int, figure: Path | None, as_json: bool
) -> None:
    """Theorem 6: optimum, certified lower bound and measured cross-entropy of MODEL on a source, in bits."""
    from restrict.soft.claim import read_epsilon
    from restrict.soft.cross_entropy import cross_entropy
    from restrict.soft.source import load

    loaded = load(model)
    share = read_epsilon(p)
    rows = [cross_entropy(loaded, n, language, p=share, samples=samples, seed=seed) for n in lengths_of(lengths)]
    if figure is not None:
        from restrict.soft.figures import cross_entropy_figure

        cross_entropy_figure(rows, loaded.name, str(figure))
    if as_json:
        click.echo(json.dumps({"model": loaded.name, "rows": [_finite(vars(r)) for r in rows]}))
        return
    echo(f"{loaded.name} on {language}, {rows[0].task}: bits per prediction")
    echo("optimum, chance: exact; floor: certified lower bound; measured: exact, or +- a 99 % interval")
    click.echo(_entropy_table(rows))


def _entropy_table(rows: Sequence[CrossEntropy]) -> str:
    head = ("n", "optimum", "floor", "measured", "+-", "chance", "eta")
    return table(
        head,
        [
            (str(r.n), f"{r.optimum:.6f}", f"{r.floor:.6f}", f"{r.measured:.6f}",
             "exact" if r.exhaustive else f"{r.margin:.1e}", f"{r.chance:.6f}", number(r.eta))
            for r in rows
        ],
    )  # fmt: skip


@soft.command("certify")
@MODEL
@LENGTH
@click.option("--epsilon", required=True, help="How far the free tokens together may move the output, such as 0.01.")
@click.option(
    "--quantity", type=click.Choice(["probability", "margin"]), default="probability", show_default=True,
    help="What may move by epsilon.",
)  # fmt: skip
@click.option("--fix", default=None, metavar="TEXT", help="Certify this instead of searching, such as 3:1,7:0.")
@click.option(
    "--position",
    type=Whole(0, LONGEST),
    default=None,
    help="Where the output is read, for models that have it everywhere.",
)
@click.option(
    "--time", "seconds", type=Seconds(), default=30.0, show_default=True, help="Stop improving after this many seconds."
)
@click.option(
    "--no-recheck", is_flag=True, help="Leave out the re-check in exact arithmetic: a bound, not called certified."
)
@SEED
@output_option("the certificate")
@JSON
def certify_command(
    model: str,
    n: int,
    epsilon: str,
    quantity: str,
    fix: str | None,
    position: int | None,
    seconds: float,
    no_recheck: bool,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Fix few tokens so that all the others together move the output by at most epsilon, and certify it.

    What is found is checked again by a separate program in exact arithmetic (as `soft check` does) before it is called
    certified. That is slow: seconds at n = 50, minutes at several hundred with two layers or more.
    """
    from restrict.soft.restriction import certify_soft
    from restrict.soft.source import load

    loaded = load(model)
    fixed = None if fix is None else fixed_of(fix)
    with progress_on(f"{loaded.name[:40]}, n = {n}") as progress:
        show = None if progress is None else lambda what: progress(what, None)
        found = certify_soft(
            loaded, n, epsilon, quantity="margin" if quantity == "margin" else "probability", position=position,
            fixed=fixed, seed=seed, seconds=seconds, check=not no_recheck, progress=show,
        )  # fmt: skip
    if output is not None:
        found.save(output)
    if as_json:
        extra = {"bound": found.bound, "free": found.free, "verified": found.verified}
        click.echo(json.dumps(json.loads(found.to_bytes()) | extra))
    else:
        _show_restriction(found, output)
    if found.provenance.get("stopped") == "interrupted":
        where = f"; it is in {output}" if output else "; use -o FILE to keep it"
        state = "is valid" if found.verified else "was not re-checked"
        sys.exit(say(f"interrupted; the restriction above is the best so far and {state}{where}", 130))


def _show_restriction(found: SoftCertificate, output: Path | None) -> None:
    tokens = " ".join(f"{i}:{s}" for i, s in list(found.fixed.items())[:20])
    more = " ..." if len(found.fixed) > 20 else ""
    echo(f"{found.model} at n = {found.n}: fixed {len(found.fixed)}, free {found.free}")
    if found.verified is None:
        echo(f"the {found.quantity} moves by at most {found.bound:.6g} by the propagation (not re-checked)")
    else:
        echo(f"the {found.quantity} moves by at most {found.epsilon} (certified), whatever the free tokens are")
        echo(f"the propagation's own bound is {found.bound:.6g}; the re-check confirms {found.epsilon}")
    echo(f"fixed: {tokens}{more}" if tokens else "nothing has to be fixed")
    if output is not None:
        echo(f"certificate in {output}")


def fixed_of(text: str) -> dict[int, str]:
    """The tokens of ``3:1,7:0``.

    Raises:
        UsageError: not POSITION:SYMBOL, or a position that comes twice.
    """
    from restrict.errors import UsageError

    found: dict[int, str] = {}
    for part in text.split(",") if text.strip() else []:
        position, colon, symbol = part.strip().partition(":")
        if not colon or not position.isascii() or not position.isdigit() or int(position) in found:
            raise UsageError(f"--fix {text!r}: {part!r} is not POSITION:SYMBOL, or the position comes twice")
        found[int(position)] = symbol
    return found


@soft.command("check")
@MODEL
@click.argument("certificate", type=click.Path(dir_okay=False, path_type=Path))
@JSON
def check_command(model: str, certificate: Path, as_json: bool) -> None:
    """Check a soft restriction by the trusted checker, in exact integer arithmetic (slow): `restrict check`, which also
    knows the names of built-in models here."""
    from restrict.checker.main import main
    from restrict.elaboration.check import trusted_check
    from restrict.files import read_bytes
    from restrict.soft.format import dumps
    from restrict.soft.source import is_there, load

    if is_there(model) and not as_json:
        sys.exit(main([model, str(certificate)]))
    content = read_bytes(Path(model)) if is_there(model) else dumps(load(model))
    print_verdict(trusted_check(content, read_bytes(certificate), None, str(certificate), None), as_json)


@soft.command("run")
@MODEL
@click.argument("words", nargs=-1, required=True)
@click.option("--float32", is_flag=True, help="Evaluate in single precision.")
@JSON
def run_command(model: str, words: tuple[str, ...], float32: bool, as_json: bool) -> None:
    """Evaluate MODEL on words: letters side by side, or symbols separated by spaces.

    A compiled model's file says up to which length it is certified; beyond it a line on standard error warns.
    """
    import numpy as np

    from restrict.soft import evaluate
    from restrict.soft.source import load

    loaded, kind = load(model), "float32" if float32 else "float64"
    found = []
    for word in words:
        symbols = word.split() if " " in word.strip() or any(len(s) > 1 for s in loaded.alphabet) else list(word)
        batch = loaded.encode([symbols])
        logits = evaluate.logits(loaded, batch, dtype=np.float32 if float32 else np.float64)[0]
        chances = evaluate.probabilities(loaded, logits)
        chosen = _answers(loaded, logits)
        found.append((word, chosen, chances, logits, loaded.beyond(batch.shape[1], kind)))
        _warn(loaded, batch.shape[1], kind)
    if as_json:
        rows = [
            {"word": w, "labels": c, "probabilities": p.tolist(), "logits": z.tolist(), "beyond_certified": beyond}
            for w, c, p, z, beyond in found
        ]
        click.echo(json.dumps({"model": loaded.name, "rows": rows}))
        return
    for word, chosen, chances, *_ in found:
        if len(chosen) == 1:
            shown = ", ".join(f"{n} {p:.6g}" for n, p in zip(loaded.output.labels, chances[0], strict=True))
            echo(f"{word}: {chosen[0]} ({shown})")
        else:
            echo(f"{word}: {' '.join(chosen)}")


def _answers(model: SoftModel, logits: Any) -> list[str]:
    """At each position read, the label, or the set of labels."""
    from restrict.soft import evaluate

    names = model.output.labels
    if model.output.kind != "signs":
        return [names[int(k)] for k in evaluate.labels(model, logits)]
    rows = evaluate.label_sets(model, logits)
    return ["{" + ",".join(name for name, on in zip(names, row, strict=True) if on) + "}" for row in rows]


def _warn(model: SoftModel, n: int, kind: str) -> None:
    """Say that a compiled model may be wrong at a length."""
    limit = model.beyond(n, kind)
    if limit is not None:
        what = kind if limit == model.certified.get(kind) else "exact arithmetic"
        where = f"n = {n} is beyond {limit}, up to which it is certified in {what}"
        say(f"warning: {model.name}: {where}; the labels may be wrong", 0)


@soft.command("export")
@MODEL
@LENGTH
@output_option("the file", required=True)
@click.option("--float64", is_flag=True, help="In double precision, instead of single.")
@JSON
def export_command(model: str, n: int, output: Path, float64: bool, as_json: bool) -> None:
    """Write the weights of MODEL at one length as an nn.Module's (safetensors), for PyTorch.

    restrict.simulate.torch_export.load_module reads the file; ReLU networks and dot-product scores only.
    """
    from restrict.simulate.torch_export import save
    from restrict.soft.source import load

    loaded, kind = load(model), "float64" if float64 else "float32"
    save(loaded, n, output, kind)
    if as_json:
        found = {"file": str(output), "model": loaded.name, "n": n, "type": kind}
        click.echo(json.dumps(found | {"beyond_certified": loaded.beyond(n, kind)}))
    else:
        echo(f"{loaded!r} at n = {n} in {kind}: {output}")
    _warn(loaded, n, kind)


@soft.command("write")
@MODEL
@output_option("the file", required=True)
@JSON
def write_command(model: str, output: Path, as_json: bool) -> None:
    """Write MODEL, such as a built-in one, as a restrict-soft/1 file."""
    from restrict.soft.source import load

    loaded = load(model)
    loaded.save(output)
    _written(loaded, output, as_json)


soft.add_command(import_command)


def _written(model: SoftModel, output: Path, as_json: bool) -> None:
    """Say what was written where."""
    told = {"file": str(output), "name": model.name, "sha256": model.digest, "symbols": len(model.alphabet)}
    if as_json:
        click.echo(json.dumps(told))
    else:
        echo(f"{model!r} in {output}")
