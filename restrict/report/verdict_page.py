"""The report of a verdict on a trained model: ranges of all logits by state and position, margins, the hardest word.
The trusted checker verifies the file first. The drawings show what it says: the ranges follow from the certificate's
boxes and cells by affine forms in floats (the search's picture of what the checker computes in integers), and are those
of ``logit times the last LayerNorm's deviation`` (Lemma 4), which has the logit's sign."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from restrict.base.errors import UsageError
from restrict.base.wording import counted
from restrict.elaboration.trusted import trusted_check
from restrict.report.chart import MOST_TICKS, SERIES, Chart, colour
from restrict.report.drawing import Drawing, Shape
from restrict.report.page import Page, Section
from restrict.soft.restriction.forced import Restricted, RestrictedAttack
from restrict.soft.trained.atoms import UNIT, basis_of
from restrict.soft.trained.claim import graph_of_document
from restrict.soft.trained.cycles import ALL, EverySearch
from restrict.soft.trained.directions import Key
from restrict.soft.trained.forms import leaves_of
from restrict.soft.trained.given import demand_same
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Trained, load, shifted
from restrict.soft.trained.read_out import Asked
from restrict.soft.trained.reader import inside
from restrict.soft.trained.stored import Array
from restrict.soft.trained.verdict import Search
from restrict.soft.trained.wrong import logits

WIDTH = 640.0
MOST_SYMBOLS = 60
"""Symbols of a word that are drawn; of a longer one, the last."""
MOST_CLAIMED = 160
"""Symbols of a wrong word in the claim; the section about it has all."""
EVERY = "restrict-soft-every-length/1"
TRIED = 32
"""Symbols of the hardest word of a case of all lengths, at most."""


class Range(NamedTuple):
    """Of one case and all labels: least and greatest value, and the least margin. For every length the number of a
    block of lengths stands for the position."""

    key: Key
    low: Array
    high: Array
    margin: float


def verdict_page(root: dict[str, Any], path: Path, model: str | Trained | None) -> Page:
    """The report of a verdict up to a length, or on every length; ``model``: safetensors, its configuration beside it,
    or what was read of it."""
    if model is None:
        raise UsageError(f"{path}: the report of a verdict needs its model: give --model MODEL.safetensors")
    given = model if isinstance(model, Trained) else load(model)
    line = trusted_check(given.content, json.dumps(root).encode(), None, str(path), None)
    found = shifted(given, root["model"]["offset"])
    demand_same(found, root["model"], str(path))  # the page names symbols and labels as the configuration does
    graph = graph_of_document(root)
    seen = inside(found)  # where the answer is read at a token of its own, that is the last symbol of every word
    ranges = list(ranges_of(seen, graph, root)) if len(found.layers) == 1 else []
    name, every = found.name, root["format"] == EVERY
    lengths = "every length" if every else f"n = {root['n'] - (found.reader is not None)}"
    page = Page(f"{name}, {lengths}", "Verdict on a trained model", claim_of(found, root))
    facts = [("model", f"{name} (SHA-256 {found.sha256})"), ("checked", line), ("cases", str(len(root["cases"])))]
    if found.reader is not None:
        facts.append(("read at", f"{found.vocab[found.reader]}: a position counts this token, too"))
    if every:
        facts.append(("lengths", f"{', '.join(map(span, root['blocks'])) or 'none'}: each block is proved as a whole"))
    file = model if isinstance(model, str) else f"{name}.safetensors"
    page.sections.append(Section("The verdict", facts=facts, code=[f"restrict check {file} {path.name}"]))
    for state in sorted({r.key[2] for r in ranges}):
        page.sections.append(_state_section(seen, graph, state, [r for r in ranges if r.key[2] == state], root))
    if ranges:
        page.sections.append(_potentials_section(seen, ranges, root) if every else _margin_section(ranges))
        hardest = min((r for r in ranges if r.key[0] and r.margin < math.inf), key=lambda r: r.margin, default=None)
        if hardest is not None:
            page.sections.append(_word_section(seen, graph, hardest, root))
    if "wrong" in root:
        page.sections.append(_wrong_section(found, graph, symbols_of(found, root)))
    page.sections.sort(key=lambda section: not section.title.startswith(("The verdict", "The wrong word")))
    return page


def claim_of(model: Trained, root: dict[str, Any]) -> str:
    """The claim in words."""
    less = int(model.reader is not None)
    if "wrong" in root:
        symbols = symbols_of(model, root)
        word = " ".join(model.symbols[s] for s in symbols[:MOST_CLAIMED]) or "the empty word"
        word += f" ... ({len(symbols)} symbols)" * (len(symbols) > MOST_CLAIMED)
        if "read_out" in root["language"]:
            return f"{model.labels[root['wrong']['label']]} is above every label that is wanted behind: {word}."
        return f"The sign of {model.labels[root['wrong']['label']]} is wrong behind: {word}."
    if "fixed" in root:
        fixed = ", ".join(f"{i}: {model.symbols[s]}" for i, s in root["fixed"]) or "nothing"
        graph = graph_of_document(root)
        told = forced_told(model, graph, graph.want[root["cases"][0][2]])
        return f"With {fixed} fixed, {told} behind all words of {root['n'] - less} symbols that may come."
    labels = of_labels(model, graph_of_document(root))
    what = f"The greatest of {labels} is one" if "read_out" in root["language"] else f"Each of {labels} has the sign"
    upto = root["upto"] if "upto" in root else root["blocks"][-1][1] if root["blocks"] else 0
    if upto == ALL:
        return f"{what} that is wanted behind every prefix, whatever its length."
    return f"{what} that is wanted behind every prefix of {'1 to' if model.first else 'at most'} {upto - less} symbols."


def span(block: list[int]) -> str:
    """The lengths of a block."""
    first, last = block
    return f"{first} or more" if last == ALL else str(first) if first == last else f"{first} to {last}"


def places_of(root: dict[str, Any]) -> dict[int, str]:
    """What the number of a case says: the block of lengths, where it is not the position."""
    return dict(enumerate(["the empty word", *map(span, root["blocks"])])) if root["format"] == EVERY else {}


def forced_told(model: Trained, graph: Graph, want: frozenset[int]) -> str:
    """What one answer says of the logits."""
    if graph.greatest:
        return f"{model.labels[min(want)]} is the greatest of {of_labels(model, graph)}"
    return ", ".join(f"{model.labels[k]} is {'positive' if k in want else 'negative'}" for k in graph.labels)


def of_labels(model: Trained, graph: Graph) -> str:
    """The labels that a claim is about."""
    return " ".join(model.labels[k] for k in graph.labels)


def symbols_of(model: Trained, root: dict[str, Any]) -> list[int]:
    """The symbols of a certificate's wrong word, behind which a reader stands, where there is one."""
    word: list[int] = root["wrong"]["word"]
    return word if model.reader is None else word[:-1]


def searched(model: Trained, graph: Graph, n: int, root: dict[str, Any]) -> Restricted:
    """The search on the words of a certificate."""
    found = Restricted(model, graph, n)
    found.fixed = dict(root.get("fixed", []))
    return found


def ranges_of(model: Trained, graph: Graph, root: dict[str, Any]) -> Iterator[Range]:
    """The ranges of every case, from its box and its cells."""
    every = root["format"] == EVERY
    if not root["cases"]:
        return
    search: Search = EverySearch(model, graph) if every else searched(model, graph, root["upto"], root)
    bases = [root["basis"], *root.get("turned", [])]
    search.turns = [
        [
            basis_of(search.atoms.v[h], np.array(b["centre"]) / UNIT, np.array(b["rows"]).reshape(-1, model.d) / UNIT)
            for h, b in enumerate(basis)
        ]
        for basis in bases
    ]
    said: dict[tuple[int, int], list[Any]] = {}
    for i, a, q, *hints in root["cases"]:
        upper, width, *rest = said[a, q] = hints or said[a, q]
        search.use(rest[1] if len(rest) > 1 else 0)
        if isinstance(search, EverySearch) and i:
            search.block = tuple(root["blocks"][i - 1])
        search.weigh(i, a)
        key, tree, m = (i, a, q), rest[0] if rest else 0, len(search.rows)
        search.held = search.ends(key, rest[2] if len(rest) > 2 else [])
        search.quotients = (key, upper[m:], width[m:]) if upper[m:] else None
        cells = leaves_of(tree, *search.sides_of(key, upper, width, tree))
        leaves = [_leaf(search, key, cell.low, cell.high) for cell in cells if not cell.empty]
        low, high = np.min([leaf[0] for leaf in leaves], axis=0), np.max([leaf[1] for leaf in leaves], axis=0)
        yield Range((i, a, q), low, high, min(leaf[2] for leaf in leaves))


def _leaf(search: Search, key: Key, low: Array, high: Array) -> tuple[Array, Array, float]:
    """Least and greatest value of every label on a cell, and the least of what is asked of them; own directions are
    used where the box does not settle that."""
    cell, kept = search.kept(key, low, high)
    near, asked, found = search.tail.near(cell.form()), search.graph.asked[key[2]], []
    for ones in (np.ones_like(asked.signs), -np.ones_like(asked.signs)):
        least, short = search.tail.signs(near, Asked(ones, False))
        found.append(least - np.abs(short).sum(1))
    if not len(asked.places):
        return found[0], -found[1], math.inf
    search.weigh(key[0], key[1])
    _, margins, _ = search.leaf(key, low, high, kept, near, np.zeros(len(asked.places)))
    if not asked.greatest:
        found[0] = np.where(asked.signs > 0, np.maximum(margins, found[0]), found[0])
        found[1] = np.where(asked.signs < 0, np.maximum(margins, found[1]), found[1])
    return found[0], -found[1], float(margins.min())


# ---------------------------------------------------------------- drawings


def _axes(figure: Any) -> Any:
    """Positions to the right, values on a scale that shows 1 and 1000 in one drawing, signs kept."""
    axes = figure.add_subplot(xlabel="position")
    axes.set_yscale("symlog", linthresh=1)
    axes.use_sticky_edges = False
    axes.get_yaxis().set_major_formatter("{x:g}")
    axes.locator_params(axis="x", integer=True, min_n_ticks=1)
    axes.axhline(0, color=colour("grey"), linewidth=0.8, linestyle="--")
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    return axes


def _state_section(
    model: Trained, graph: Graph, state: int, ranges: list[Range], root: dict[str, Any]
) -> Section:  # fmt: skip
    """The ranges of all labels behind the prefixes that lead to a state."""
    names = places_of(root)
    places = sorted({r.key[0] for r in ranges})
    by_place = [[r for r in ranges if r.key[0] == i] for i in places]
    low = np.array([np.min([r.low for r in mine], axis=0) for mine in by_place])
    high = np.array([np.max([r.high for r in mine], axis=0) for mine in by_place])
    width = 0.7 / len(graph.labels)

    good, bad = ("one of the greatest", "less") if graph.greatest else ("positive", "negative")

    def paint(figure: Any) -> None:
        axes = _axes(figure)
        if names:
            some = places[:: 1 + len(places) // MOST_TICKS]
            axes.set_xticks(some, [names[place] for place in some])
            axes.set(xlabel="symbols")
        for at, label in enumerate(graph.labels):
            where = np.array(places) + width * (at - (len(graph.labels) - 1) / 2)
            look = colour(SERIES[at % len(SERIES)])
            told = f"{model.labels[label]}, wanted {good if label in graph.want[state] else bad}"
            axes.bar(where, high[:, at] - low[:, at], width, low[:, at], color=look, edgecolor=look, label=told)
        figure.legend(loc="outside right upper")

    least = min(ranges, key=lambda r: r.margin)
    where = f"of words with {names[least.key[0]]} symbols" if names else f"at position {least.key[0]}"
    words = [f"Least margin {least.margin:.3g}, {where}. The vertical scale is squeezed."]
    return Section(f"State {state}", words, drawing=Chart(f"ranges of logits in state {state}", paint))


def _margin_section(ranges: list[Range]) -> Section:
    """The least margin of each position."""
    least: dict[int, float] = {}
    for r in (r for r in ranges if r.margin < math.inf):
        least[r.key[0]] = min(least.get(r.key[0], math.inf), r.margin)
    points = sorted(least.items())

    def paint(figure: Any) -> None:
        _axes(figure).plot(*zip(*points, strict=True), marker="o", color=colour("head"))

    return Section("The least margin at each position", drawing=Chart("least margins", paint))


def _potentials_section(model: Trained, ranges: list[Range], root: dict[str, Any]) -> Section:
    """What proves the bounds of each case, and its least margin."""
    unit, rows, names = 2.0 ** -root["scale"], [], places_of(root)
    for r, lists in zip(ranges, root["phi"], strict=True):
        i, a, q = r.key
        ends = [end * unit for found in lists for end in (min(found), max(found))]
        told = f"{min(ends):.3g} to {max(ends):.3g}" if ends else "longest paths, length by length" if i else "one word"
        symbol = model.symbols[a] if a >= 0 else "the start"
        rows.append([names[i], symbol, str(q), f"{r.margin:.3g}", str(len(lists)), told])
    words = [
        "A case is a block of lengths, the last symbol, and the state behind it. In a block without an end a bound is "
        "proved by potentials: a number for each state that never falls along a transition by less than its weight "
        "says, so no word, however long, goes beyond it."
    ]
    head = ("symbols", "last symbol", "state", "least margin", "bounds by potentials", "potentials")
    return Section("What proves it, case by case", words, head=head, rows=rows)


def _word_section(model: Trained, graph: Graph, hardest: Range, root: dict[str, Any]) -> Section:
    """The attention of the word that attacks find nearest to a wrong answer, in the case of the least margin."""
    blocks, key = places_of(root), hardest.key
    if blocks:  # words of one length of the block
        key = (length_of(graph, key, root["blocks"][key[0] - 1]), *key[1:])
    search = searched(model, graph, key[0], root)
    attack = RestrictedAttack(model, graph, search.atoms)
    attack.fixed = search.fixed
    asked = [graph.labels[p] for p in graph.asked[key[2]].places]
    value, word = min(pair for label in asked for pair in attack.words(key, label))
    weights = [search.atoms.weights(h, key[0], key[1]) for h in range(search.atoms.heads)]
    steps, names = np.arange(model.first, len(word) + 1), ["start", *(model.symbols[s] for s in word)][model.first :]
    each = [table[steps, np.array((0, *word))[steps]] for table in weights]
    shares = [share / share.sum() for share in each]
    first = max(0, len(names) - MOST_SYMBOLS)
    shown = ["^" if name == "start" else name for name in names[first:]]

    def paint(figure: Any) -> None:
        for h, (axes, share) in enumerate(zip(figure.subplots(len(shares), squeeze=False)[:, 0], shares, strict=True)):
            axes.bar(range(len(shown)), share[first:], 0.7, color=colour("head"))
            axes.set(title=f"head {h}: weights, the greatest {share.max():.3g}")
            axes.set_xticks(range(len(shown)), shown)

    drawing = Chart("attention of the hardest word", paint, height=60.0 + 110 * len(shares))
    where = f"{blocks[hardest.key[0]]} symbols" if blocks else f"position {key[0]}"
    this = f"of {counted(key[0], 'symbol')} " if blocks else ""
    words = [
        f"The case of the least margin: {where}, last symbol {model.symbols[key[1]]}, state {key[2]}. On this word "
        f"{this}what is asked of the logits "
        f"has the value {value:.3g}, the certified margin is {hardest.margin:.3g}."
    ]
    if first:
        words.append(f"The last {len(names) - first} of {len(names)} symbols are drawn.")
    return Section("Attention of the hardest word", words, drawing=drawing)


def length_of(graph: Graph, key: Key, block: list[int]) -> int:
    """A length of a block at which there are words of a case: the greatest up to ``TRIED``, or the least."""
    first, last = block
    most = max(first, TRIED) + len(graph.delta) if last == ALL else last
    reached = graph.reached(most)
    fits = [i for i in range(first, most + 1) if any(graph.delta[p][key[1]] == key[2] for p in reached[i - 1])]
    return max((i for i in fits if i <= TRIED), default=fits[0])


def _wrong_section(model: Trained, graph: Graph, word: list[int]) -> Section:
    """The wrong word, step by step: what is said and what is wanted behind every prefix."""
    said = logits(model, np.array([word], dtype=np.int64))[0][model.first :, list(graph.labels)]
    names, state = ["start", *(model.symbols[s] for s in word)][model.first :], 0
    first = max(0, len(names) - MOST_SYMBOLS)
    gap = min(40.0, (WIDTH - 80) / (len(names) - first))
    drawing = Drawing(WIDTH, 40.0 + 22 * len(graph.labels), "the wrong word, step by step")
    group, rows = drawing.group(), []
    for at, label in enumerate(graph.labels):
        group.shapes.append(Shape("text", (4, 44.0 + 22 * at, 10), "label", model.labels[label]))
    for j, name in enumerate(names):
        length = j + model.first
        state = graph.delta[state][word[length - 1]] if length else 0
        bar = float(said[j].max()) if graph.greatest else 0.0
        signs = [bool(x >= bar if graph.greatest else x > bar) for x in said[j]]
        wanted = [label in graph.want[state] and (s or not graph.greatest)
                  for label, s in zip(graph.labels, signs, strict=True)]  # fmt: skip
        told = [f"{x:.3g}{'' if s == w else ' (wrong)'}" for x, s, w in zip(said[j], signs, wanted, strict=True)]
        rows.append([str(length), name, str(state), *told])
        if j < first:
            continue
        x = 70 + gap * (j - first) + gap / 2
        group.shapes.append(Shape("text", (x, 18, min(11.0, gap)), "label", "^" if not length else name, "middle"))
        for at, (s, w) in enumerate(zip(signs, wanted, strict=True)):
            look = "needed" if s != w else "forced" if s else "open"
            group.shapes.append(Shape("circle", (x, 40.0 + 22 * at, min(7.0, gap * 0.4)), look))
    legend = [("forced", "said and wanted"), ("open", "neither"), ("needed", "wrong")]
    head = ("step", "symbol", "state", *(model.labels[k] for k in graph.labels))
    return Section("The wrong word, step by step", drawing=drawing, legend=legend, head=head, rows=rows)
