"""Which report a file gets: the file says what it is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from restrict.base.errors import ModelError, RestrictError, UsageError, quote
from restrict.base.files import naming, read_bytes
from restrict.base.strictjson import Node, parse
from restrict.certificate import lower_bound, outline, refutation
from restrict.certificate.certificate import Certificate
from restrict.certificate.lower_bound import LowerBound
from restrict.certificate.refutation import Refutation
from restrict.model import document
from restrict.model.program import Model
from restrict.model.source import GENERATORS, load
from restrict.report import pages
from restrict.report.certificate_page import Loaded, certificate_page
from restrict.report.page import Page

PAGES = {
    "restrict-dfa/1": pages.automaton_page,
    "restrict-automaton/1": pages.proof_page,
    "restrict-soft-certificate/1": pages.soft_page,
}
"""The pages of what needs nothing but the file."""
VERDICTS = ("restrict-soft-verdict/1", "restrict-soft-verdict/2", "restrict-soft-every-length/1")
"""On one layer, on two, on every length."""
KNOWN = (outline.FORMAT, refutation.FORMAT, lower_bound.FORMAT, *PAGES, *VERDICTS)
DRAWN = (outline.FORMAT, refutation.FORMAT, None)
"""Formats that `restrict show` draws in letters, and a file without one; of the others it prints the page as text."""
UNCHECKED = "Not checked here; the file claims: "
"""What stands before a claim that no checker has verified for the page."""
Checked = Callable[[Model, Any], str | None]
"""The trusted checker's line for what a file holds, or ``None`` where that takes too long."""


def page_of(path: Path, model: str | None = None, check: Checked | None = None, stages: bool = False) -> Page:
    """The report of a file: a certificate, a refutation, a lower bound, an automaton, a proof for all lengths, a soft
    certificate, a verdict on a trained model, the rows of a sweep, or the output of `restrict soft influence --json`.
    ``model``: by default the one that it names."""
    return page_in(read_bytes(path), path, model, check, stages)


def page_in(content: bytes, path: Path, model: Any = None, check: Checked | None = None, stages: bool = False) -> Page:
    """The report of a file's content; ``model``: by its name, or of a verdict itself."""
    page = table_page(content, path)
    return page or document_page(Node(parse(content, str(path)), "top level"), path, model, check, stages)


def table_page(content: bytes, path: Path) -> Page | None:
    """The report of a file that is no proof: the rows of a sweep, or an influence table. Result: the page, or ``None``
    where the file is none of these; then no more than its first line was parsed."""
    if pages.is_sweep(content):
        return pages.sweep_page(content, path)
    return pages.influence_page(content, path) if b'"format"' not in content and b'"rows"' in content else None


def document_page(
    root: Node, path: Path, model: Any = None, check: Checked | None = None, stages: bool = False
) -> Page:
    """The report of a proof that has been parsed."""
    kind = root.value.get("format") if isinstance(root.value, dict) else None
    if kind in VERDICTS:
        from restrict.report.verdict_page import verdict_page

        return verdict_page(root.value, path, model)
    given = None if model is None else load(model)
    with naming(path):
        if str(kind) in PAGES:
            page = PAGES[str(kind)](root, path)
            return page if kind == "restrict-dfa/1" else _claimed(page, None)
        if kind == lower_bound.FORMAT:
            bound = LowerBound.from_json(root)
            known = _model(bound.model_name, bound.sha256, given)
            line = None if known is None or check is None else check(known, bound)
            return _claimed(pages.bound_page(bound, path, known, line), line)
        if kind in (outline.FORMAT, refutation.FORMAT):
            return _certificate(path, root, kind, given, check, stages)
    if kind == document.FORMAT:
        advice = f"`restrict certify {path} -n N -o FILE` makes one"
        raise UsageError(f"{path} is a model, where a file with a result is expected: {advice}")
    raise UsageError(f"{path}: no report for the format {quote(kind)}; there is one for {', '.join(KNOWN)}")


def _certificate(path: Path, root: Node, kind: str, given: Model | None, check: Checked | None, stages: bool) -> Page:
    refuted = Refutation.from_json(root) if kind == refutation.FORMAT else None
    inner = root if refuted is None else root.fields(root.value)["certificate"]
    read = outline.read_outline(inner)
    known = _model(read.model_name, read.sha256, given)
    line = None
    if known is not None and check is not None:
        line = check(known, refuted if refuted is not None else Certificate.from_json(root))
    page = certificate_page(Loaded(path, read, inner, known, refuted), line)
    if stages:
        from restrict.report.stages import stages_section

        if known is None:
            raise UsageError("--stages runs the lemma on the model: give --model MODEL")
        page.sections.insert(-1, stages_section(known, read))
    return _claimed(page, line)


def _claimed(page: Page, line: str | None) -> Page:
    """A page whose claim is called one, unless the trusted checker has verified it."""
    page.claim = page.claim if line else UNCHECKED + page.claim
    return page


def _model(name: str, digest: str | None, given: Model | None) -> Model | None:
    """The model that was given, which must be the right one; or the built-in model of this name, if it is."""
    if given is not None:
        if given.digest != digest:
            raise ModelError(f"model.sha256: the file is for another model than {given.source or given.name}")
        return given
    if name.partition(":")[0] not in GENERATORS:
        return None
    try:
        found = load(name)
    except RestrictError:
        return None
    return found if found.digest == digest else None
