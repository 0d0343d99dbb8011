"""What a row says of its certificate, and whether the certificate says the same."""

from restrict.base.groups import Row
from restrict.base.strictjson import Node, parse
from restrict.certificate.certificate import Certificate
from restrict.certificate.refutation import Refutation


def certified(found: Certificate) -> Row:
    """The numbers of a certificate."""
    fixed = len(found.restriction.fixed)
    return {
        "fixed_count": fixed, "free_count": found.free, "free_fraction": found.free / max(1, found.free + fixed),
        "depends": found.c, "cone_size": found.cone_size,
    }  # fmt: skip


def refuted(found: Refutation) -> Row:
    """Those of a refutation."""
    return {
        "outcome": "refuted", "free_count": found.free, "depends": found.certificate.c,
        "fixed_count": len(found.certificate.restriction.fixed), "label": found.label, "optimum": found.optimum,
    }  # fmt: skip


def contradiction(row: Row, content: bytes, line: str) -> str | None:
    """Where a row says another thing than its certificate, which holds with the checker's ``line``; ``None``:
    nowhere."""
    said = _said(row, content) | {"verified": line}
    wrong = next((name for name, value in said.items() if row.get(name, value) not in (value, None)), None)
    return None if wrong is None else f"its {wrong} is {row.get(wrong)!r}, its certificate's {said[wrong]!r}"


def _said(row: Row, content: bytes) -> Row:
    """What the certificate says, by the names of the row."""
    root = Node(parse(content, "certificate"), "top level")
    if row["task"] == "certify":
        certificate = Certificate.from_json(root)
        return {"n": certificate.n} | certified(certificate)
    if row["task"] == "refute":
        refutation = Refutation.from_json(root)
        return {"n": refutation.n} | refuted(refutation)
    from restrict.all_lengths.proof import FORMAT

    if root.value["format"] == FORMAT:
        claim = root.value["claim"]
        word = " ".join(claim["word"]) if "word" in claim else None
        return {"n": 0, "outcome": "right" if word is None else "wrong", "word": word}
    from restrict.soft.trained.decide import Verdict
    from restrict.soft.trained.every_length import EveryLength

    verdict = (EveryLength if row["n"] == 0 else Verdict).from_json(root)
    word = None if verdict.wrong is None else " ".join(verdict.names()[1][s] for s in verdict.wrong.word)
    return {"outcome": verdict.status, "upto": verdict.upto, "word": word}
