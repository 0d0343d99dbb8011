"""``restrict certify --target all``: Theorem 1 at the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from restrict.base.wording import counted
from restrict.cli.certificate_words import certificate_document, report
from restrict.cli.checking import asked
from restrict.cli.common import Given, leave_interrupted, progress_on, saved
from restrict.cli.printer import put_json
from restrict.cli.terminal import echo

if TYPE_CHECKING:
    from restrict.depth_reduction.c_transformer.layers import LayerTrace
    from restrict.depth_reduction.theorem1 import Everywhere
    from restrict.model.program import Model


def certify_everywhere(program: Model, o: Given) -> None:
    """Search, write, print."""
    from restrict.depth_reduction.theorem1 import certify_all

    with progress_on(f"{program.name[:40]}, n = {o.n}") as progress:
        found = certify_all(
            program, o.n, free=o.free, c=o.c, method=o.method, seed=o.seed, time=o.time,
            progress=progress,
        )  # fmt: skip
        late = saved(found.certificate, o.output) or found.certificate.provenance.get("stopped") == "interrupted"
        said = asked(program, found.certificate, o.checker, late=late)
    if o.as_json:
        put_json(_document(found, said.line, o))
    else:
        report(program, found.certificate, said, o, None, None)
        echo(f"  method  {found.method}")
        if o.trace:
            echo("\n".join(_trace(found)))
    if late or said.interrupted:
        leave_interrupted(o.output)


def _document(found: Everywhere, line: str | None, o: Given) -> dict[str, object]:
    return certificate_document(found.certificate, line, o) | {
        "method": found.method,
        "mean": found.mean,
        "trace": [vars(layer) for layer in found.trace],
        "stages": [step.document() for step in found.stages],
    }


def _trace(found: Everywhere) -> list[str]:
    """What was chosen, the stages of the lemma with their bounds, and the layers as in the paper's Figure 1."""
    out = [f"  how     {found.how}"]
    out.append(f"  mean    {found.mean:.1f} (certified bounds on the dependencies, mean over the positions)")
    for layer, step in enumerate(found.stages, 1):
        out.extend(_stage_lines(layer, step.document()))
    if found.trace:
        out.append("layer  heads  captured  constant  values  dependencies: mean   99 %    max  fixed for it")
        out.extend(_row(layer) for layer in found.trace)
    return out


def _row(t: LayerTrace) -> str:
    return (
        f"{t.layer:>5}  {t.heads:>5}  {t.captured:>8}  {t.constant:>8}  {t.values:>6.2f}  {t.mean:>18.1f}"
        f"  {t.quantile:>5.0f}  {t.most:>5}  {t.fixed:>12}"
    )


def _stage_lines(layer: int, step: dict[str, Any]) -> list[str]:
    """Stages 1 to 3 of a layer: what was measured, the lemma's bound in brackets."""
    a, b, d = step["stage1"], step["stage2"], step["stage3"]
    lemma = {None: "not examined", True: "holds", False: "does not hold"}[d["local_lemma"]]
    neighbours = "not counted" if b["neighbours_after"] is None else b["neighbours_after"]
    return [
        f"layer {layer}, Stage 1: eta = {a['eta']:g}, fixed {counted(a['fixed'], 'input')} "
        f"(bound {a['fixed_bound']}); an input feeds {a['degree_before']}, then {a['degree_after']} activations "
        f"(bound {a['degree_bound']})",
        f"layer {layer}, Stage 2: k = {b['k']}, fixed {counted(b['fixed'], 'input')} in "
        f"{counted(b['rounds'], 'round')} (bound {b['rounds_bound']}); captured {b['captured_before']}, then "
        f"{b['captured_after']} of {b['pairs']} pairs; dependents {b['dependents_before']}, then "
        f"{b['dependents_after']} (bound {b['dependents_bound']}); "
        f"neighbours {neighbours} (bound {b['neighbours_bound']})",
        f"layer {layer}, Stage 3: {counted(d['pairs'], 'pair')} captured with {d['spent']} of {d['budget']} inputs, by "
        f"{d['method']} after {d['resamplings']} redraws; local lemma {lemma}",
        f"layer {layer} removed: c' = {step['c']} (bound {step['c_bound']}), {step['free']} free",
    ]
