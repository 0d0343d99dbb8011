"""The report of an automaton (``restrict-dfa/1``) and of a proof for all lengths (``restrict-automaton/1``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from restrict.base.strictjson import Node
from restrict.base.wording import counted, joiner
from restrict.languages.dfa import Dfa
from restrict.languages.regular import Regular, read_dfa
from restrict.languages.walk import breadth_first, letters_to
from restrict.report.automaton_drawing import DRAWN, draw_dfa
from restrict.report.page import Page, Section, word_copy
from restrict.report.text import check_command

LISTED = 200
"""States whose transitions are listed."""


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
