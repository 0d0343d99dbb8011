"""The automaton of a model: what it computes at every length."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any

from restrict.all_lengths.bimachine import DEFAULT_STATES, Limits
from restrict.all_lengths.compare import needs_accept
from restrict.all_lengths.forcing import Costs, cheapest_restriction, costs
from restrict.all_lengths.lengths import Lengths, lengths_where
from restrict.all_lengths.moore import Moore, moore
from restrict.all_lengths.patterns import Pattern, cheapest_pattern
from restrict.all_lengths.program import UNDEFINED
from restrict.all_lengths.recognise import recognise
from restrict.all_lengths.stages import Record, build
from restrict.all_lengths.tried import Found, agree_with, members_of, try_automaton, try_cells, try_costs, try_pattern
from restrict.base.errors import UsageError
from restrict.base.htmltable import Shown, ShownTable
from restrict.base.wording import counted, parts, spoken
from restrict.languages.consequences import tried
from restrict.languages.dfa import Dfa
from restrict.languages.monoid import Aperiodicity, star_free
from restrict.model.arguments import the_model
from restrict.model.program import Model
from restrict.trial.run import Trial

Progress = Callable[[str], None]
LABELS = 8
"""The cost of forcing is said of at most this many labels."""


class Automaton(Shown, Found):
    """What a model computes at every length. ``moore``: the minimal automaton of the label at the last position. With
    output at every position ``built.machine`` is the bimachine of all labels. ``account``: states on both sides after
    each stage. ``trial``: the runs of the model with which it was compared."""

    @property
    def account(self) -> tuple[Record, ...]:
        """One record for each stage."""
        return self.built.account

    def dfa(self) -> Dfa:
        """The minimal automaton of the accepted words.

        Raises:
            UsageError: the output is at every position, or has no ``accept``.
            Disagreement: a run of the model contradicts it.
        """
        dfa = self.acceptor().language()
        agree_with(self, members_of(self, lambda word: dfa.run(word) in dfa.accept), "the minimal automaton")
        return dfa

    def acceptor(self) -> Moore:
        """The automaton, of a model that recognises a language.

        Raises:
            UsageError: the output is at every position, or has no ``accept``.
        """
        if self.every:
            raise UsageError("the model has output at every position, so it recognises no language")
        needs_accept(self.moore)
        return self.moore

    @property
    def undefined(self) -> Lengths:
        """The lengths, markers counted, at which the model is not defined: exact. Nothing is said of these lengths."""
        one, markers = self.moore, len(self.model.markers)
        missing = [name == UNDEFINED for name in one.said]
        return lengths_where(0, lambda q: int(one.delta[q, 0]), missing.__getitem__, markers, markers > 0, one.states)

    def pattern(self, label: str) -> Pattern | None:
        """The cheapest pattern that forces a label of the last position at every length from some on, or ``None``.

        Raises:
            ResourceLimit: too many sets of states.
            Disagreement: a run of the model contradicts it.
        """
        pattern = cheapest_pattern(self.moore, label, len(self.model.markers))
        if pattern is not None:
            try_pattern(self.model, pattern)
        return pattern

    def costs(self, label: str) -> Costs:
        """The exact cost of forcing a label of the last position, at every length.

        Raises:
            ResourceLimit: too many sets of states, or no period was found up to a limit of lengths.
            Disagreement: a run of the model contradicts it.
        """
        found = costs(self.moore, label, len(self.model.markers))
        try_costs(self, found)
        return found

    def cheapest(self, label: str, n: int) -> tuple[str, ...] | None:
        """A restriction with the fewest fixed symbols that forces a label of the last position at length ``n``.

        Args:
            label: the label.
            n: the length, markers counted.

        Returns:
            A symbol or ``*`` (free) for each position without a marker; ``None`` where no restriction forces it.

        Raises:
            ResourceLimit: too many sets of states, or too many steps at this length.
            UsageError: ``n`` is below 1, or the markers alone are longer.
            ModelError: the model is not defined at length ``n``.
            Disagreement: a run of the model contradicts it.
        """
        if n < max(1, len(self.model.markers)):
            raise UsageError(f"there are no inputs of length {n}")
        if n in self.undefined:
            self.model.at(n)
        cells = cheapest_restriction(self.moore, label, n - len(self.model.markers))
        try_cells(self.model, cells, label, "a cheapest restriction forces")
        return cells

    def undefined_document(self) -> dict[str, Any]:
        """The lengths at which the model is not defined.

        Returns:
            A JSON object, empty where there is none.
        """
        lengths = self.undefined
        return {"undefined": lengths.document() | {"text": lengths.text()}} if lengths else {}

    def undefined_text(self) -> list[str]:
        """The lengths at which the model is not defined.

        Returns:
            A line, or none where there is no such length.
        """
        lengths = self.undefined
        return [f"  not defined, and nothing is said (a cost is 0): {lengths.text()}"] if lengths else []

    def document(self) -> dict[str, Any]:
        """The states, whether the language is star-free, the cost of forcing each label, shortest words. Cost: that of
        :meth:`costs` and :meth:`pattern` for each of up to ``LABELS`` labels.

        Returns:
            A JSON object; what is too large to compute is ``{"unknown": REASON}``.

        Raises:
            Disagreement: a run of the model contradicts it.
        """
        out: dict[str, Any] = {"model": self.model.name, "stages": []} | self.undefined_document()
        for record in self.account:
            stage = {"heads": list(record.heads), "before_merging": list(record.grown), "states": list(record.states)}
            out["stages"].append(stage | {"seconds": round(record.seconds, 3)})
        labels = labels_of(self)
        if self.every:
            machine = self.built.machine
            out["bimachine"] = {"left": len(machine.left), "right": len(machine.right), "labels": labels}
        one = self.moore
        out |= {"states": one.states, "labels": labels}
        out["shortest"] = {label: list(word) for label, word in one.shortest().items() if label}
        if one.accepts and not self.every:
            free = tried(star_free, dfa := self.dfa())
            out |= {"dfa_states": dfa.states, "star_free": free.document()}
            if isinstance(free, Aperiodicity):
                out["star_free"] = {"holds": free.aperiodic} | parts(free, "word method")
        for label in labels[:LABELS]:
            pattern = tried(self.pattern, label)
            out[f"cost_{label}"] = tried(self.costs, label).document()
            out[f"pattern_{label}"] = pattern and pattern.document()
        return out

    def text(self) -> str:
        """What :meth:`document` has, in words.

        Returns:
            Lines.

        Raises:
            Disagreement: a run of the model contradicts it.
        """
        content = self.document()
        out = [f"{content['model']}: at every length at which it is defined (exact)", *self.undefined_text()]
        for stage in content["stages"]:
            grown, states = stage["before_merging"], stage["states"]
            sides = f"{grown[0]} left and {grown[1]} right states, {states[0]} and {states[1]} after merging"
            out.append(f"  stage   {(', '.join(stage['heads']) or 'maps')[:60]}: {sides}, {stage['seconds']} s")
        if "bimachine" in content:
            sides = "{left} and {right} states".format(**content["bimachine"])
            out.append(f"  labels  at every position by a bimachine of {sides}")
            out.append("  what follows is about the label at the last position")
        labels = content["labels"]
        more = f" and {len(labels) - 20} more" if len(labels) > 20 else ""
        out.append(f"  states  {content['states']} with the labels {', '.join(labels[:20])}{more}")
        out += [f"  shortest word with {label!r}: {spoken(word)}" for label, word in content["shortest"].items()]
        if "star_free" in content:
            out.append(f"  minimal automaton of the accepted words: {counted(content['dfa_states'], 'state')}")
            star = content["star_free"]
            word = f"no: {spoken(star['word'])} permutes states" if star.get("word") is not None else "no"
            out.append(f"  star-free: {_known(star) or ('yes' if star['holds'] else word)}")
        for label in labels[:LABELS]:
            cost, pattern = content[f"cost_{label}"], content[f"pattern_{label}"]
            out.append(f"  cost of forcing {label!r}: {_known(cost) or cost['text']}")
            if pattern is not None and not _known(pattern):
                out.append(f"    {pattern['text']} forces it at every n >= {pattern['from']}")
        return "\n".join(out)

    def figure(self) -> Any:
        """The drawing of the minimal automaton of the accepted words, with arrows between states; a notebook shows it.

        Returns:
            A :class:`restrict.report.figure.Figure`, whose ``save`` writes an SVG or PDF file.

        Raises:
            UsageError: the output is at every position, has no ``accept``, or there are too many states to draw.
        """
        return import_module("restrict.report.figure").figure_of_dfa(self.dfa())

    def facts(self) -> ShownTable:
        """What a notebook shows: the states."""
        one = self.moore
        rows = [(q, one.said[q], *map(int, one.delta[q])) for q in range(one.states)]
        title = f"automaton of {self.model.name} at every length: {one.states} states, 0 is the start"
        return ShownTable(title, rows, ("state", "label", *one.alphabet))

    def drawing(self) -> str:
        """The drawing, no wider than it is, where there is one."""
        with suppress(UsageError):
            drawn = self.figure().drawing
            return f"<div style='max-width:{drawn.width:.0f}px'>{drawn.svg()}</div>"
        return ""

    def __repr__(self) -> str:
        return f"Automaton({self.model.name!r}, {self.built.machine if self.every else self.moore})"


def automaton(
    model: Model, *, states: int = DEFAULT_STATES, progress: Progress | None = None, keep: bool = False
) -> Automaton:
    """The automaton of an order-only model.

    Args:
        model: the model.
        states: the most states on either side, at any moment.
        progress: called with a line after each stage.
        keep: whether to keep the layers, which a proof needs.

    Returns:
        The automaton, exact at every length at which the model is defined.

    Raises:
        UsageError: something else than a model was given.
        NotEstablished: the model is not order-only; the message names the variable and the sub-expression.
        ModelError: the model is not defined at any length.
        ResourceLimit: a side has more than ``states`` states, or a table is too large; the message names the variable.
        Disagreement: a run of the model contradicts the automaton, which is a bug.
    """
    built = build(recognise(the_model(model)), Limits(states), progress, keep)
    found = Automaton(model, built, moore(built), Trial(model))
    return replace(found, trial=try_automaton(found))


def _known(answer: dict[str, Any]) -> str:
    """That an answer is not known; nothing where it is."""
    return f"unknown: {answer['unknown']}" if "unknown" in answer else ""


def labels_of(found: Automaton) -> list[str]:
    """The labels that values of the output have."""
    return [name for name in found.built.program.labels if name != UNDEFINED]


def known_label(found: Automaton, label: str) -> str:
    """A label of the model; ``UsageError``, which lists its labels, if it has another one."""
    if label not in labels_of(found):
        some = ", ".join(repr(name) for name in labels_of(found)[:20])
        raise UsageError(f"no value of the output has the label {label!r}; the labels are {some}")
    return label
