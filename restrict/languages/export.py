"""Automata for other tools: Graphviz, model checkers of finite-state systems (SMV), tools for omega-automata (HOA).
Other tools run for ever, so a finite word is followed by endless silence. In SMV the input `letter` is `end` from then
on; in HOA (Babiak and others 2015) the proposition `alive` is false from then on. The word is accepted iff the run
is."""

import json
from collections.abc import Callable, Iterable, Sequence

from restrict.base.errors import UsageError
from restrict.base.strictjson import one_line_lists
from restrict.languages.dfa import Dfa
from restrict.languages.regular import dfa_document


def _string(text: str) -> str:
    """A string of Graphviz and of HOA, neither of which knows JSON's escape of a letter that is not ASCII."""
    return json.dumps(text, ensure_ascii=False)


def edges(rows: Iterable[Sequence[int]]) -> dict[tuple[int, int], list[int]]:
    """For each pair of states with an edge between them, the numbers of its symbols; ``rows``: the successors."""
    out: dict[tuple[int, int], list[int]] = {}
    for q, row in enumerate(rows):
        for a, to in enumerate(row):
            out.setdefault((q, to), []).append(a)
    return out


def to_json(dfa: Dfa, name: str) -> str:
    """The automaton as a restrict-dfa/1 file."""
    return one_line_lists(dfa_document(dfa, name), 2) + "\n"


def graphviz(name: str, nodes: Iterable[str], rows: Iterable[Sequence[int]], alphabet: Sequence[str]) -> str:
    """An automaton for Graphviz: one edge for all symbols between two states; ``nodes``: what is said of each."""
    out = [f"digraph {name} {{", "  rankdir=LR;", "  start [shape=point];", "  start -> 0;"]
    out += [f"  {q} [{shown}];" for q, shown in enumerate(nodes)]
    for (q, to), symbols in edges(rows).items():
        out.append(f"  {q} -> {to} [label={_string(' '.join(alphabet[a] for a in symbols))}];")
    return "\n".join([*out, "}", ""])


def to_dot(dfa: Dfa, name: str) -> str:
    """The automaton for Graphviz; double circles accept."""
    nodes = (f"shape={'doublecircle' if q in dfa.accept else 'circle'}" for q in range(dfa.states))
    return graphviz(_string(name), nodes, dfa.delta, dfa.alphabet)


def to_smv(dfa: Dfa, name: str) -> str:
    """A module of SMV (NuSMV, nuXmv): the automaton reads `letter`, and `accepted` holds behind an accepted word.
    Symbols are `s0`, `s1`, ... in the order of the alphabet, which a comment lists: SMV has few letters for names."""
    letters = [f"s{a}" for a in range(len(dfa.alphabet))]
    named = ", ".join(f"{letter} = {json.dumps(symbol)}" for letter, symbol in zip(letters, dfa.alphabet, strict=True))
    final = ", ".join(map(str, sorted(dfa.accept)))
    out = [
        f"-- {json.dumps(name)}: {named}",
        "MODULE main",
        "VAR",
        f"  letter : {{{', '.join([*letters, 'end'])}}};",
        f"  state : 0..{max(dfa.states - 1, 1)};",
        "DEFINE",
        f"  accepted := letter = end & state in {{{final}}};" if final else "  accepted := FALSE;",
        "ASSIGN",
        "  init(state) := 0;",
        "  next(state) := case",
    ]
    for (q, to), symbols in edges(dfa.delta).items():
        chosen = ", ".join(letters[a] for a in symbols)
        out.append(f"    state = {q} & letter in {{{chosen}}} : {to};")
    return "\n".join([*out, "    TRUE : state;", "  esac;", "TRANS letter = end -> next(letter) = end", ""])


def to_hoa(dfa: Dfa, name: str) -> str:
    """A deterministic Buechi automaton in the HOA format: `alive` and one letter at a time, then silence for ever.
    Proposition 0 is `alive` (`alive_` where that is a symbol); proposition `a + 1` is symbol `a`. The last state is
    entered by silence behind an accepted word, and is the only accepting one; what is neither a word nor silence has no
    run."""
    count = len(dfa.alphabet)
    end = dfa.states
    alive = next(name for k in range(count + 1) if (name := "alive" + "_" * k) not in dfa.alphabet)
    labels = ["&".join(["0", *(f"{'' if a == b else '!'}{b + 1}" for b in range(count))]) for a in range(count)]
    silence = "&".join(f"!{b}" for b in range(count + 1))
    out = [
        "HOA: v1",
        f"name: {_string(name)}",
        f"States: {dfa.states + 1}",
        "Start: 0",
        f"AP: {count + 1} " + " ".join(_string(text) for text in (alive, *dfa.alphabet)),
        "acc-name: Buchi",
        "Acceptance: 1 Inf(0)",
        "properties: trans-labels explicit-labels state-acc deterministic",
        "--BODY--",
    ]
    for q, row in enumerate(dfa.delta):
        out.append(f"State: {q}")
        out += [f"[{labels[a]}] {to}" for a, to in enumerate(row)]
        if q in dfa.accept:
            out.append(f"[{silence}] {end}")
    return "\n".join([*out, f"State: {end} {{0}}", f"[{silence}] {end}", "--END--", ""])


WRITERS: dict[str, Callable[[Dfa, str], str]] = {".dot": to_dot, ".hoa": to_hoa, ".json": to_json, ".smv": to_smv}
"""What writes a file, by its suffix."""


def exported(dfa: Dfa, name: str, suffix: str) -> str:
    """The text of a file. ``suffix``: a key of :data:`WRITERS`; case does not count."""
    writer = WRITERS.get(suffix.lower())
    if writer is None:
        raise UsageError(f"automata are written as {', '.join(WRITERS)}, not as {suffix!r}; the file's name says which")
    return writer(dfa, name)
