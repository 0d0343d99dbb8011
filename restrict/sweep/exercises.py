"""Exercises that compile every kernel: small runs of the public functions, for :func:`warm`. A kernel is compiled for
the types that it is called with, and only its callers know these. So each exercise is a run, in which every kernel is
compiled when it is called (or loaded, where the cache has it)."""

from collections.abc import Callable, Iterator

import numpy as np

from restrict.all_lengths.automaton import automaton
from restrict.all_lengths.verify import verify
from restrict.certification import certify
from restrict.corollary2.refute import refute
from restrict.depth_reduction.theorem1 import Method, certify_all
from restrict.elaboration.check import check
from restrict.kernels.plain import always_compiled
from restrict.kernels.verdict import supports
from restrict.model.source import load
from restrict.optimum.exact import exact
from restrict.optimum.explain import explain
from restrict.optimum.lower_bound import lower_bound
from restrict.optimum.sensitivity import sensitivity
from restrict.soft.influence.influence import influence
from restrict.soft.models import source
from restrict.sweep.cluster import spread
from restrict.tradeoff import pareto

RANDOM = "random:layers=2,heads=2,states=4,seed=1"
EVERYWHERE = "random:layers=1,heads=2,states=2,every=1"
TWO_LAYERS = "random:layers=2,heads=1,states=2,every=1"


def warm(jobs: int) -> Iterator[str]:
    """Compile every kernel, on several processes: the name of each exercise when it has ended."""
    names = list(EXERCISES)
    for number, lost in spread(exercise, names, jobs):
        if lost is not None:
            raise RuntimeError(f"{names[number]}: {lost}")
        yield names[number]


def exercise(name: str) -> None:
    """Do one exercise, all kernels compiled. ``name``: one of ``EXERCISES``."""
    with always_compiled():
        EXERCISES[name]()


def _small() -> None:
    """A search in which all words are run, and the trusted checker's fast form."""
    model = load(RANDOM)
    check(model, certify(model, 13), fast=True)
    exact(model, 9)
    pareto(load("parity-attempt"), 10)


def _long() -> None:
    """Long rows: hashed scores, boxes, lower bounds."""
    model = load(RANDOM)
    check(model, certify(model, 20_000), fast=True)
    lower_bound(model, 60, time=4)


def _words() -> None:
    """Questions about one input."""
    explain(load("induction-head"), "abcdabca")
    explain(load("random:seed=1"), "0110100110101", exact=True)
    sensitivity(load("random:seed=1"), "0110100110101")


def _everywhere() -> None:
    """Every position at once, by each method."""
    methods: tuple[Method, ...] = ("exchange", "lemma")
    for method in methods:
        certify_all(load(EVERYWHERE), 400, free=0.8, method=method)


def _every_length() -> None:
    """Automata of models."""
    automaton(load("flip-flop"))
    verify(load("contains-one"), "regex:(0|1)*1(0|1)*")


def _trained() -> None:
    """Longest paths of a verdict: one symbol, one state, two positions."""
    ones, none = np.ones((2, 1)), np.zeros(1, dtype=np.int64)
    supports(ones, np.ones((1, 2, 1)), np.array([0, 1]), none, none, np.array([1, 0, 0]), np.zeros((2, 1)))


EXERCISES: dict[str, Callable[[], object]] = {
    "every position": _everywhere,
    "every position, two layers": lambda: certify_all(load(TWO_LAYERS), 150, free=0.5),
    "every length": _every_length,
    "all words": _small,
    "long inputs": _long,
    "one input": _words,
    "two words": lambda: refute(load("parity-attempt"), "parity", 100),
    "trained models": _trained,
    "softmax": lambda: influence(source.load("random:layers=1,seed=1"), 16),
    "covering": lambda: certify_all(load("tagger"), 60, free=0.5, method="lemma"),
}
"""The exercises, the longest first; "covering": problems of a model with many symbols, by the lemma."""
