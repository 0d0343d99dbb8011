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

# isort: off
if TYPE_CHECKING:  # an alias with the name itself is an export to type checkers
    from restrict.all_lengths.automaton import Automaton as Automaton, automaton as automaton
    from restrict.all_lengths.certify import certify_all_lengths as certify_all_lengths, certify_costs as certify_costs
    from restrict.all_lengths.evidence import Counterexample as Counterexample, Proved as Proved
    from restrict.all_lengths.verify import verify as verify
    from restrict.all_lengths.wrong import WrongLengths as WrongLengths, wrong_lengths as wrong_lengths
    from restrict.base.errors import (
        ModelError as ModelError,
        NotEstablished as NotEstablished,
        ResourceLimit as ResourceLimit,
        RestrictError as RestrictError,
        UsageError as UsageError,
    )
    from restrict.certificate.certificate import (
        Certificate as Certificate,
        certificate_of as certificate_of,
        load_certificate as load_certificate,
    )
    from restrict.certificate.lower_bound import LowerBound as LowerBound
    from restrict.certificate.outline import Claim as Claim
    from restrict.certificate.refutation import Errors as Errors, Refutation as Refutation
    from restrict.certification import certify as certify
    from restrict.corollary2.refute import refute as refute
    from restrict.corollary2.verdict import Immune as Immune, NoRefutation as NoRefutation
    from restrict.depth_reduction.c_transformer.ctransformer import CTransformer as CTransformer
    from restrict.depth_reduction.constants.theorem_bounds import theorem_bounds as theorem_bounds
    from restrict.depth_reduction.lemma.lemma4 import reduce_layer as reduce_layer
    from restrict.depth_reduction.lemma.stage1 import stage1 as stage1
    from restrict.depth_reduction.lemma.stage2 import stage2 as stage2
    from restrict.depth_reduction.lemma.stage3 import stage3 as stage3
    from restrict.depth_reduction.theorem1 import certify_all as certify_all
    from restrict.elaboration.check import check as check
    from restrict.elaboration.make import Elaborated as Elaborated, elaborate as elaborate
    from restrict.importers import (
        Imported as Imported,
        import_brasp as import_brasp,
        import_transformer_program as import_transformer_program,
        import_weights as import_weights,
    )
    from restrict.languages.facts import facts as facts
    from restrict.languages.predicate import Predicate as Predicate
    from restrict.languages.protocol import Language as Language
    from restrict.languages.source import language as language
    from restrict.logic.compiler import compile_formula as compile_formula
    from restrict.model.program import Head as Head, Map as Map, Model as Model, Output as Output
    from restrict.model.restriction import Restriction as Restriction
    from restrict.model.rules import Dot as Dot, Table as Table
    from restrict.model.source import load as load
    from restrict.optimum.exact import exact as exact
    from restrict.optimum.explain import explain as explain
    from restrict.optimum.lower_bound import Bounds as Bounds, lower_bound as lower_bound
    from restrict.optimum.sensitivity import sensitivity as sensitivity
    from restrict.optimum.tighten import tighten as tighten
    from restrict.simulate.formulas.compiler import compile_soft as compile_soft
    from restrict.sweep.result import SweepResult as SweepResult, load_sweep as load_sweep, run_sweep as run_sweep
    from restrict.sweep.workers import workers as workers
    from restrict.tradeoff import pareto as pareto
# isort: on
from restrict.version import __version__ as __version__


def _homes() -> dict[str, str]:
    """The module of each public name: the imports above, which only type checkers execute, say both."""
    import re

    with open(__file__, encoding="utf-8") as source:
        imports = re.findall(r"^    from (restrict\.[\w.]+) import (\([^)]*\)|.*)$", source.read(), re.MULTILINE)
    return {name: module for module, names in imports for name in re.findall(r"(\w+) as \1\b", names)}


_HOME = _homes()

_ROOMS = ("report", "simulate", "soft")
"""Rooms whose modules are public: reports of results, hard attention by softmax, softmax models."""

__all__ = sorted((*_HOME, "__version__"))  # noqa: PLE0605 - strings, made of the imports above


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
