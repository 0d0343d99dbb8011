"""Proofs about what hard attention can compute: find a restriction, certify it, check it.

>>> import restrict
>>> model = restrict.load("instances/contains-one.json")
>>> certificate = restrict.certify(model, 1000)
>>> certificate.c, len(certificate.restriction.fixed)
(0, 1)
>>> restrict.check(model, certificate).split()[:3]
['s', 'VERIFIED', 'n=1000']

Names are imported on first use, so ``import restrict`` is instant and the trusted checker never loads the engine.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from restrict.all_lengths.automaton import Automaton, automaton
    from restrict.all_lengths.certify import certify_all_lengths, certify_costs
    from restrict.all_lengths.evidence import Counterexample, Proved
    from restrict.all_lengths.verify import verify
    from restrict.all_lengths.wrong import WrongLengths, wrong_lengths
    from restrict.base.errors import ModelError, NotEstablished, ResourceLimit, RestrictError, UsageError
    from restrict.certificate.certificate import Certificate, Claim, certificate_of, load_certificate
    from restrict.certificate.lower_bound import LowerBound
    from restrict.certificate.refutation import Errors, Refutation
    from restrict.certification import certify
    from restrict.corollary2.refute import refute
    from restrict.corollary2.verdict import Immune, NoRefutation
    from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
    from restrict.depth_reduction.constants.theorem_bounds import theorem_bounds
    from restrict.depth_reduction.lemma.lemma4 import reduce_layer
    from restrict.depth_reduction.lemma.stage1 import stage1
    from restrict.depth_reduction.lemma.stage2 import stage2
    from restrict.depth_reduction.lemma.stage3 import stage3
    from restrict.depth_reduction.theorem1 import certify_all
    from restrict.elaboration.check import check
    from restrict.elaboration.make import Elaborated, elaborate
    from restrict.importers import Imported, import_brasp, import_transformer_program, import_weights
    from restrict.languages.facts import facts
    from restrict.languages.predicate import Predicate
    from restrict.languages.protocol import Language
    from restrict.languages.source import language
    from restrict.logic.compiler import compile_formula
    from restrict.model.program import Head, Map, Model, Output
    from restrict.model.restriction import Restriction
    from restrict.model.rules import Dot, Table
    from restrict.model.source import load
    from restrict.optimum.exact import exact
    from restrict.optimum.explain import explain
    from restrict.optimum.lower_bound import Bounds, lower_bound
    from restrict.optimum.sensitivity import sensitivity
    from restrict.optimum.tighten import tighten
    from restrict.simulate.formulas.compiler import compile_soft
    from restrict.sweep.result import SweepResult, load_sweep, run_sweep
    from restrict.sweep.workers import workers
    from restrict.tradeoff import pareto

from restrict.version import __version__

_NAMES = {
    "all_lengths.automaton": "Automaton automaton",
    "all_lengths.certify": "certify_all_lengths certify_costs",
    "all_lengths.evidence": "Counterexample Proved",
    "all_lengths.verify": "verify",
    "all_lengths.wrong": "WrongLengths wrong_lengths",
    "base.errors": "ModelError NotEstablished ResourceLimit RestrictError UsageError",
    "certificate.certificate": "Certificate Claim certificate_of load_certificate",
    "certificate.lower_bound": "LowerBound",
    "certificate.refutation": "Errors Refutation",
    "certification": "certify",
    "corollary2.refute": "refute",
    "corollary2.verdict": "Immune NoRefutation",
    "depth_reduction.c_transformer.ctransformer": "CTransformer",
    "depth_reduction.constants.theorem_bounds": "theorem_bounds",
    "depth_reduction.lemma.lemma4": "reduce_layer",
    "depth_reduction.lemma.stage1": "stage1",
    "depth_reduction.lemma.stage2": "stage2",
    "depth_reduction.lemma.stage3": "stage3",
    "depth_reduction.theorem1": "certify_all",
    "elaboration.check": "check",
    "elaboration.make": "Elaborated elaborate",
    "importers": "Imported import_brasp import_transformer_program import_weights",
    "languages.facts": "facts",
    "languages.predicate": "Predicate",
    "languages.protocol": "Language",
    "languages.source": "language",
    "logic.compiler": "compile_formula",
    "model.program": "Head Map Model Output",
    "model.restriction": "Restriction",
    "model.rules": "Dot Table",
    "model.source": "load",
    "optimum.exact": "exact",
    "optimum.explain": "explain",
    "optimum.lower_bound": "Bounds lower_bound",
    "optimum.sensitivity": "sensitivity",
    "optimum.tighten": "tighten",
    "simulate.formulas.compiler": "compile_soft",
    "sweep.result": "SweepResult load_sweep run_sweep",
    "sweep.workers": "workers",
    "tradeoff": "pareto",
}
_HOME = {name: f"restrict.{module}" for module, names in _NAMES.items() for name in names.split()}

_ROOMS = ("report", "simulate", "soft")
"""Rooms whose modules are public: reports of results, hard attention by softmax, softmax models."""

__all__ = [
    "Automaton",
    "Bounds",
    "CTransformer",
    "Certificate",
    "Claim",
    "Counterexample",
    "Dot",
    "Elaborated",
    "Errors",
    "Head",
    "Immune",
    "Imported",
    "Language",
    "LowerBound",
    "Map",
    "Model",
    "ModelError",
    "NoRefutation",
    "NotEstablished",
    "Output",
    "Predicate",
    "Proved",
    "Refutation",
    "ResourceLimit",
    "RestrictError",
    "Restriction",
    "SweepResult",
    "Table",
    "UsageError",
    "WrongLengths",
    "__version__",
    "automaton",
    "certificate_of",
    "certify",
    "certify_all",
    "certify_all_lengths",
    "certify_costs",
    "check",
    "compile_formula",
    "compile_soft",
    "elaborate",
    "exact",
    "explain",
    "facts",
    "import_brasp",
    "import_transformer_program",
    "import_weights",
    "language",
    "load",
    "load_certificate",
    "load_sweep",
    "lower_bound",
    "pareto",
    "reduce_layer",
    "refute",
    "run_sweep",
    "sensitivity",
    "stage1",
    "stage2",
    "stage3",
    "theorem_bounds",
    "tighten",
    "verify",
    "workers",
    "wrong_lengths",
]


def __dir__() -> list[str]:
    """The public names, whether they have been used or not, and the submodules that are loaded."""
    loaded = (name for name, value in globals().items() if name[:2] == "__" or isinstance(value, ModuleType))
    return sorted({*__all__, *loaded})


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"restrict.{name}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'restrict' has no attribute {name!r}")
