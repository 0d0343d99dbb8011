"""The examples of a documentation page, run as they stand."""

import doctest
import re
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def run_examples(page: str, least: int) -> None:
    """Every example of a page gives what stands there; there are more than ``least``."""
    text = (DOCS / page).read_text(encoding="utf-8")
    examples = "\n".join(re.findall(r"```pycon\n(.*?)```", text, re.DOTALL))
    found = doctest.DocTestParser().get_doctest(examples, {}, page, page, 0)
    assert len(found.examples) > least
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(found, out=report.append)
    assert runner.failures == 0, "".join(report)
