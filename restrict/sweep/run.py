"""A sweep from its items to its rows, and the re-check of what it wrote."""

import hashlib
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from restrict.base.blocks import cores
from restrict.base.errors import NotEstablished, RestrictError, UsageError
from restrict.base.files import read_bytes
from restrict.base.groups import Row, grouped, table
from restrict.base.wording import counted, parts
from restrict.sweep.cluster import spread
from restrict.sweep.items import Item, Outcome, lost, warm_up, work
from restrict.sweep.local import Lost
from restrict.sweep.said import contradiction
from restrict.sweep.store import Store, opened, read_rows

Step = Callable[[Row], None]
GROUPS = 60
"""Groups of rows that are summed up at the end."""


@dataclass(frozen=True)
class Engine:
    """Where items are done: by ``jobs`` processes here (``None``: one for each core), or on the cluster at ``dask``.
    ``begin`` is told how many they are, ``step`` each row."""

    jobs: int | None
    dask: str | None = None
    begin: Callable[[int], None] = lambda count: None
    step: Step = lambda row: None

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Generator[tuple[int, Any], None, None]:
        """Results as they come, with the items' numbers."""
        self.begin(len(items))
        return spread(function, items, cores() if self.jobs is None else self.jobs, self.dask, warm_up)


@dataclass(frozen=True)
class Summary:
    """How a sweep ended: items of the spec, rows that are new, and rows with an error, of those of the spec. ``rows``
    are those of the spec, in its order; ``older`` counts the rows of the file that no item of it has."""

    items: int
    new: int
    failed: int
    rows: tuple[Row, ...] = field(default=(), repr=False)
    older: int = 0

    def document(self) -> dict[str, Any]:
        """The numbers, and the rows that differ in their seed only, with quartiles, as JSON."""
        groups = grouped(self.rows) if self.rows else []
        shown = [asdict(group) for group in groups[:GROUPS]]
        return parts(self, "items new failed older") | {"groups": shown, "more": max(0, len(groups) - GROUPS)}

    def text(self) -> str:
        """What :meth:`document` has, in words."""
        older = f"; {counted(self.older, 'row')} of another spec left alone" if self.older else ""
        lines = [f"{counted(self.items, 'item')}, {self.new} new, {self.failed} with an error{older}"]
        groups = grouped(self.rows) if self.rows else []
        lines += [table(groups[:GROUPS])] if len(self.rows) > 1 else []
        lines += [f"... and {len(groups) - GROUPS} more groups"] if len(groups) > GROUPS else []
        return "\n".join(lines)


def run_items(
    items: Sequence[Item],
    output: Path,
    engine: Engine,
    *,
    retry: bool = False,
    function: Callable[[Item], Outcome] = work,
) -> Summary:
    """Do all items that have no row yet, and those whose model file is another one than their row was made from."""
    with opened(output) as store:
        digest = cache(_digest)  # many items have one model
        todo = [item for item in items if _open(store, item, retry, digest)]
        with closing(engine.map(function, todo)) as results:  # so that the workers end where writing fails
            for number, found in results:
                outcome = lost(todo[number], str(found)) if isinstance(found, Lost) else found
                store.keep(outcome)
                engine.step(outcome.row)
        rows = tuple(store.rows[item.identity] for item in items)
        failed = sum(not row["ok"] for row in rows)
        return Summary(len(items), len(todo), failed, rows, len(store.rows) - len(rows))


def _digest(path: str) -> str | None:
    """The SHA-256 of a file; ``None`` for one that cannot be read."""
    with suppress(RestrictError):
        return hashlib.sha256(read_bytes(Path(path))).hexdigest()
    return None


def _open(store: Store, item: Item, retry: bool, digest: Callable[[str], str | None]) -> bool:
    """Whether an item is to be done: there is no row, or none that counts."""
    row = store.rows.get(item.identity)
    if row is None or (retry and not row["ok"]):
        return True
    known = row.get("model_digest")
    return known is not None and item.path is not None and digest(item.path) not in (None, known)


@dataclass(frozen=True)
class RowClaim:
    """A row, the files of its certificate and its model, and whether there is no limit that matters."""

    row: Row
    model: str
    certificate: str
    fast: bool


def recheck(claim: RowClaim) -> str | None:
    """The reason, one line, why a row's certificate, read again, does not hold, or says another thing than the row;
    ``None`` where there is none."""
    from restrict.elaboration.trusted import trusted_check

    model = Path(claim.model)
    try:
        content = read_bytes(Path(claim.certificate))
        line = trusted_check(read_bytes(model), content, model, claim.certificate, None, claim.fast)
        return contradiction(claim.row, content, line)
    except RestrictError as error:
        return str(error)
    except Exception as error:  # the other rows are still to be checked
        return f"internal: {type(error).__name__}: {error}"


@dataclass(frozen=True)
class Rechecked:
    """How many rows were checked again, how many have nothing to check, and what was found: (row, reason)."""

    checked: int
    without: int
    wrong: tuple[tuple[str, str], ...]

    def document(self) -> dict[str, Any]:
        """The numbers as JSON, and the reason for each row that does not hold."""
        without = {} if self.wrong else {"without": self.without}
        return {"checked": self.checked} | without | {"wrong": dict(self.wrong)}

    def text(self) -> str:
        """The numbers in words."""
        return f"{counted(self.checked, 'certificate')} verified, {counted(self.without, 'row')} without one"


def recheck_rows(output: Path, engine: Engine, *, fast: bool = False, up_to: int | None = None) -> Rechecked:
    """Check the certificates of all rows again, by the trusted checker. ``up_to``: only rows of at most this length;
    the others count as those without a certificate. Result: the result; rows without a certificate (errors, immune
    models) have nothing to check."""
    if not output.is_file():
        raise UsageError(f"{output}: there is no such file of rows")
    rows = list(read_rows(output)[0].values())
    chosen = [row for row in rows if row.get("certificate") and (up_to is None or row["n"] <= up_to)]
    folder = output.parent  # absolute paths stay what they are
    claims = [RowClaim(r, str(folder / r["model_file"]), str(folder / r["certificate"]), fast) for r in chosen]
    wrong = []
    with closing(engine.map(recheck, claims)) as results:
        for number, found in results:
            if found is not None:
                wrong.append((str(chosen[number]["id"]), str(found)))
            engine.step({"ok": found is None, "id": chosen[number]["id"]})
    return Rechecked(len(claims), len(rows) - len(claims), tuple(sorted(wrong)))


def established(found: Rechecked, output: Path) -> None:
    """Nothing, where every certificate held; else ``NotEstablished`` with the first that did not."""
    if found.wrong:
        identity, reason = found.wrong[0]
        raise NotEstablished(f"{output}: {len(found.wrong)} of {found.checked} fail; first: row {identity}: {reason}")
