"""The smaller reports: of an automaton (``restrict-dfa/1``) and of a proof for all lengths (``restrict-automaton/1``);
of a lower bound, with the boxes that prove it; of a soft restriction's certificate, and of an influence table
(`restrict soft influence --json`); of a sweep's rows (JSON Lines): counts, errors, and what was fixed at each
length."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from restrict.base.errors import ModelError
from restrict.base.groups import axes_of
from restrict.base.strictjson import Node
from restrict.base.wording import counted, joiner
from restrict.certificate.lower_bound import Box, LowerBound
from restrict.certificate.outline import Claim, Outline
from restrict.languages.dfa import Dfa
from restrict.languages.regular import Regular, read_dfa
from restrict.languages.walk import breadth_first, letters_to
from restrict.model.program import Model
from restrict.model.restriction import Restriction
from restrict.report.automaton_drawing import DRAWN, draw_dfa
from restrict.report.chart import Chart, by_length, colour
from restrict.report.lower_bound import box_words, label_bounds
from restrict.report.page import Page, Section, interactive, word_copy
from restrict.report.picture import Axis, Picture, inputs_track
from restrict.report.scene import scene
from restrict.report.soft_charts import COLUMNS, influence_chart
from restrict.report.text import check_command, fixed_list, model_words, output_at
from restrict.soft.restriction.claim import SoftCertificate

LISTED = 200
"""States whose transitions are listed."""
BOXES = 80
"""Boxes that are drawn and listed."""
HEIGHT = 16.0
CURVES = COLUMNS[1:]
"""Columns of an influence table that every model has."""
ROWS = 200
"""Rows that are listed."""
CHARTS = (
    ("fixed_count", "What was fixed", "fixed inputs"),
    ("depends", "What the output still depends on", "c (certified bound)"),
    ("seconds", "How long it took", "seconds"),
)
"""Columns that are drawn: the section's title, and what the values are."""
MEANT = "Medians over the seeds; a line from the lower to the upper quartile stands at each."
SHOWN = ("n", "target", "seed", "outcome", "fixed_count", "free_count", "depends", "seconds")


LONGEST = 1 << 20
"""Bytes of a row of a sweep: a longer first line is another file's, and read under that file's limits."""


def automaton_page(root: Node, path: Path) -> Page:
    """The report of an automaton. ``root``: the JSON of a ``restrict-dfa/1`` file. Result: the page: facts, the drawing
    up to ``DRAWN`` states, transitions, shortest words."""
    found = read_dfa(root, f"dfa:{path}")
    return Page(found.name, "Automaton", _sentence(found), dfa_sections(found))


def _sentence(found: Regular) -> str:
    dfa = found.dfa
    states = counted(dfa.states, "state")
    symbols, accept = counted(len(dfa.alphabet), "symbol"), "accepts" if len(dfa.accept) == 1 else "accept"
    return f"The minimal automaton has {states} over {symbols}; {len(dfa.accept)} of them {accept}."


def dfa_sections(found: Regular) -> list[Section]:
    """What a page says of a regular language. Result: facts with shortest words, the drawing, and the transitions."""
    dfa, words = found.dfa, shortest(found.dfa)
    facts = [("alphabet", " ".join(dfa.alphabet)[:300]), ("states", str(dfa.states))]
    facts += [(f"shortest {'member' if good else 'non-member'}", _word(word)) for good, word in sorted(words.items())]
    out = [Section("The language", facts=facts)]
    if dfa.states <= DRAWN:
        out.append(Section("The automaton", [DRAWN_WORDS], drawing=draw_dfa(dfa)))
    rows = [
        [str(q), "accepts" if q in dfa.accept else "", *map(str, row[:20])] for q, row in enumerate(dfa.delta[:LISTED])
    ]
    table = Section("Transitions", head=("state", "", *dfa.alphabet[:20]), rows=rows)
    if dfa.states > LISTED or len(dfa.alphabet) > 20:
        table.words.append("The first of them; the file has all.")
    return [*out, table]


DRAWN_WORDS = (
    "State 0 is the start; states with two rings accept. One arrow stands for all symbols between two states. "
    "Where a symbol has no arrow, no word is accepted from there on."
)


def _word(word: tuple[str, ...]) -> str:
    """A word as people read it."""
    text = joiner(word).join(word[:200])
    return text + (" ..." if len(word) > 200 else "") if word else "the empty word"


def shortest(dfa: Dfa) -> dict[bool, tuple[str, ...]]:
    """A shortest member and a shortest non-member, as far as there are any."""
    reached = breadth_first(0, lambda state: dfa.delta[state])
    first = {state in dfa.accept: state for state in reversed(reached)}
    return {good: tuple(dfa.alphabet[x] for x in letters_to(reached, state)) for good, state in first.items()}


# ---------------------------------------------------------------- proofs for all lengths

SAYS = {
    "recognises": "At every length from {from} on, the model accepts exactly the words of the language.",
    "differs": "The model is wrong on a word of {length} symbols.",
    "forces": "At every length from {from} on, a repeating restriction forces the label {label}.",
    "cost": "The least number of fixed inputs that forces the label {label}, at every length.",
    "computes": "At every length from {from} on, the labels are those of an automaton.",
    "deviates": "A label differs from an automaton's on a word of {length} symbols.",
    "lengths": "The lengths at which the model is wrong about the language on some word.",
}


def proof_page(root: Node, path: Path) -> Page:
    """The report of a proof for all lengths: its claim, and the automata after each layer. ``root``: the JSON of a
    ``restrict-automaton/1`` file. Result: the page. What the file claims is shown, not checked."""
    fields = root.fields(("format", "model", "n", "threshold", "period", "layers", "claim"), ("provenance",))
    model = fields["model"].fields(("name", "sha256"))
    claim: dict[str, Any] = fields["claim"].expect(dict, "an object")
    kind = str(claim.get("kind"))
    if kind not in SAYS:
        fields["claim"].fail(f"the kind {kind!r} is none of {', '.join(SAYS)}")
    told = {"from": max(1, claim.get("from", 1)), "label": claim.get("label"), "length": len(claim.get("word", ()))}
    name = model["name"].text()
    page = Page(name, "Proof for all lengths", SAYS[kind].format(**told))
    facts = [("model", f"{name} (SHA-256 {model['sha256'].text()})"), ("claim", kind)]
    facts += [
        (key, str(value)[:400]) for key, value in claim.items() if key not in ("kind", "language", "word", "machine")
    ]
    section = Section("The claim", facts=facts, code=[check_command(name, path)])
    if isinstance(claim.get("word"), list):
        section.copies.append(word_copy("The word", [str(symbol) for symbol in claim["word"][:1_000_000]]))
    page.sections.append(section)
    rows = [_layer_row(at, layer) for at, layer in enumerate(fields["layers"].items(), 1)]
    head = ("layer", "heads", "left states", "merged", "right states", "merged")
    page.sections.append(Section("The automata, layer by layer", head=head, rows=rows))
    language = claim.get("language")
    if isinstance(language, dict) and "transitions" in language:
        page.sections += dfa_sections(read_dfa(fields["claim"].fields(tuple(claim))["language"], f"dfa:{path}"))
    return page


def _layer_row(at: int, layer: Node) -> list[str]:
    content: dict[str, Any] = layer.expect(dict, "an object")
    row = [str(at), ", ".join(str(h.get("name")) for h in content.get("heads", ()) if isinstance(h, dict))]
    for side in ("left", "right"):
        part = content.get(side) or {}
        row += [str(len(part.get("delta", ()))), str(len(part.get("next", ())))] if part else ["", ""]
    return row


def bound_page(bound: LowerBound, path: Path, model: Model | None = None, checked: str | None = None) -> Page:
    """The report of a lower bound, with its model and the trusted checker's line where these are known."""
    least = bound.at_least(model) if model is not None else min([*bound.labels.values(), bound.others or 0], default=0)
    sure = "" if checked is None else " (certified bound)"
    claim = f"Forcing {output_at(bound.target)} fixes at least {counted(least, 'position')}{sure}."
    page = Page(f"{model_words(bound.model_name)}, n = {bound.n}", "Lower bound", claim)
    widest = max((len(box) for box in bound.boxes), default=0)
    facts = [
        ("model", f"{bound.model_name} (SHA-256 {bound.sha256 or 'none: a model without a file'})"),
        ("length n", str(bound.n)),
        ("label by label", label_bounds(bound)),
        ("boxes", f"{len(bound.boxes)}, each of at most {counted(widest, 'position')}"),
        ("checked", checked or "not here; the command at the end of this page checks it"),
    ]
    page.sections.append(Section("The claim", facts=facts))
    words = [
        "Each row is a box: at the orange positions only the symbols that the table lists are allowed. While all "
        "inputs stay in the box, some label is impossible, so what forces that label conflicts with the box. No fewer "
        "positions conflict with all of them."
    ]
    if len(bound.boxes) > BOXES:
        words.append(f"{counted(len(bound.boxes) - BOXES, 'more box')} are not drawn.")
    page.sections.append(Section("The boxes", words, drawing=draw_boxes(bound)))
    rows = [[str(at), *_told(box)] for at, box in enumerate(bound.boxes[:BOXES])]
    page.sections.append(Section("Box by box", head=("box", "positions and symbols", "nodes"), rows=rows))
    page.sections.append(Section("How to check it", code=[check_command(bound.model_name, path)]))
    return page


def _told(box: Box) -> list[str]:
    cells, nodes = box_words(box)
    return [" ".join(cells[:16]) + (f" ... ({len(cells) - 16} more)" if len(cells) > 16 else ""), nodes[:400]]


def draw_boxes(bound: LowerBound) -> Chart:
    """The boxes over the positions, one row each."""
    shown = bound.boxes[:BOXES]

    def paint(figure: Any) -> None:
        axes = figure.add_subplot(xlabel="position", xlim=(-0.5, bound.n - 0.5))
        axes.eventplot([[*box.only, *box.never] for box in shown], linelengths=0.7, linewidths=3, color=colour("fixed"))
        axes.set_yticks(range(len(shown)), [f"box {at}" for at in range(len(shown))])
        axes.invert_yaxis()

    return Chart(f"{counted(len(shown), 'box')} of a lower bound", paint, height=60.0 + HEIGHT * len(shown))


def soft_page(root: Node, path: Path) -> Page:
    """The report of a ``restrict-soft-certificate/1`` file."""
    found = SoftCertificate.from_json(root)
    free = found.n - len(found.fixed)
    spans = tuple((int(start), int(count), str(a)) for start, count, a in Restriction(found.n, found.fixed).to_json())
    unknown = Claim(free, free, (), None)
    outline = Outline(found.model, found.sha256, found.n, found.position, spans, {}, unknown)
    claim = (
        f"Whatever the other inputs are, the output at position {found.position} moves by at most "
        f"{found.epsilon} ({found.quantity})."
    )
    page = Page(f"{found.model}, n = {found.n}", "Certificate of a soft restriction", claim)
    facts = [
        ("model", f"{found.model} (SHA-256 {found.sha256})"),
        ("fixed inputs", str(len(found.fixed))),
        ("other inputs, markers included", str(free)),
        ("epsilon", str(found.epsilon)),
        ("fixed", fixed_list(outline.fixed, 60)),
    ]
    picture = Picture(Axis(found.n), [inputs_track(outline, ())])
    section = Section("The restriction", facts=facts, drawing=scene(picture, "fixed and free inputs"))
    section.code = [f"restrict soft check {found.model} {path.name}"]
    page.sections.append(interactive(section, picture))
    return page


def influence_page(content: bytes, path: Path) -> Page:
    """The report of an influence table."""
    try:
        document = json.loads(content)
        rows, name = [dict(row) for row in document["rows"]], str(document["model"])
        drawing = influence_chart(rows, "")
        lines = [[str(int(row["n"])), *(_number(row[key][0]) for key, *_ in CURVES), str(row["tried"])] for row in rows]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise ModelError(f"{path}: not an influence table of `restrict soft influence --json`: {error}") from None
    page = Page(name, "Influence of one input", "How far exchanging one symbol can move the output, by length.")
    words = [
        "Both axes are logarithmic. Bounds were certified when the table was made; what was measured is the largest "
        "change that was found."
    ]
    page.sections.append(Section("The curves", words, drawing=drawing))
    head = ("n", *(meaning for _, meaning, *_ in CURVES), "exchanges tried")
    page.sections.append(Section("The numbers", head=head, rows=lines))
    return page


def _number(x: Any) -> str:
    return "none" if x is None else f"{float(x):.4g}"


def is_sweep(content: bytes) -> bool:
    """Whether a file's first line is a row of a sweep, an object with an identity and a task. Linear in that line."""
    line = content[: LONGEST + 1].partition(b"\n")[0]
    try:
        first = json.loads(line) if len(line) <= LONGEST else None
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and {"id", "task", "ok"} <= first.keys()


def sweep_page(content: bytes, path: Path) -> Page:
    """The report of a sweep."""
    rows = _rows(content, path)
    good = [row for row in rows if row["ok"]]
    failed = Counter(str(row.get("error"))[:200] for row in rows if not row["ok"])
    outcomes = Counter(str(row["outcome"])[:40] for row in good if row.get("outcome")).most_common()
    said = f" ({', '.join(f'{count} {name}' for name, count in outcomes)})" if outcomes else ""
    claim = f"{counted(len(rows), 'row')}: {len(good)} with a result{said}, {len(rows) - len(good)} with an error."
    page = Page(path.name, "Sweep", claim)
    seconds = [float(row["seconds"]) for row in rows if isinstance(row.get("seconds"), int | float)]
    facts = [("models", str(len({row.get("model") for row in rows}))), ("seconds in all", f"{sum(seconds):.1f}")]
    told = "What the rows say; `restrict sweep SPEC --recheck` checks their certificates again."
    page.sections.append(Section("The rows", [told], facts=facts))
    page.sections += [Section(title, [MEANT], drawing=chart) for title, chart in _charts(good)]
    if failed:
        reasons = [(error, str(count)) for error, count in failed.most_common(20)]
        page.sections.append(Section("Errors", head=("error", "rows"), rows=reasons))
    shown = [name for name in SHOWN if any(row.get(name) is not None for row in rows[:ROWS])]
    listed = [[str(row.get("model"))[:80], *(_cell(row.get(name)) for name in shown)] for row in rows[:ROWS]]
    words = [f"The first {ROWS} of {len(rows)}."] if len(rows) > ROWS else []
    page.sections.append(Section("Row by row", words, head=("model", *shown), rows=listed))
    return page


def _charts(rows: list[dict[str, Any]]) -> Iterator[tuple[str, Chart]]:
    """What was measured against the length: a curve for each group of rows that differ in length and seed only."""
    axes = [name for name in axes_of(rows) if name not in ("n", "seed")]
    for name, title, what in CHARTS:
        series: dict[str, list[tuple[int, float]]] = {}
        for row in rows:
            if row["n"] and isinstance(row.get(name), int | float):
                told = ", ".join(f"{axis} {row.get(axis)}"[:40] for axis in axes)
                series.setdefault(told, []).append((row["n"], float(row[name])))
        if any(value for pairs in series.values() for _, value in pairs):
            yield title, by_length(title, series, what)


def _rows(content: bytes, path: Path) -> list[dict[str, Any]]:
    """The rows, the last one for each identity."""
    lines = content.split(b"\n")
    found: dict[str, dict[str, Any]] = {}
    for at, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            found[str(row["id"])] = {**row, "ok": bool(row["ok"]), "n": int(row["n"])}
        except (ValueError, KeyError, TypeError, RecursionError):
            if at == len(lines):
                break  # cut off by a kill; the sweep will write it again
            raise ModelError(f"{path}: line {at}: not a row of a sweep") from None
    return list(found.values())


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
