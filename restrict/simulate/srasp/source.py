"""An S-RASP program from what a person types: a file ending in ``.srasp``, or a built-in such as ``srasp:dyck-2``."""

from pathlib import Path

from restrict.base.errors import UsageError, did_you_mean, quote
from restrict.base.files import read_bytes
from restrict.simulate.srasp.parser import parse
from restrict.simulate.srasp.programs import dyck, flip_flop, induction
from restrict.simulate.srasp.syntax import SRaspProgram

BUILT_IN = {f"dyck-{k}": dyck(k) for k in (1, 2, 3, 4)} | {"flip-flop": flip_flop()}
BUILT_IN |= {f"induction-{hops}": induction(hops) for hops in (1, 2, 3)}


def is_srasp(text: str) -> bool:
    """Whether the text names an S-RASP program."""
    return text.startswith("srasp:") or text.endswith(".srasp")


def load(text: str) -> SRaspProgram:
    """The program of a file or a built-in one. ``text``: ``FILE.srasp`` or ``srasp:NAME``."""
    if not text.startswith("srasp:"):
        return parse(read_bytes(Path(text)).decode("utf-8", errors="replace"), text)
    name = text.removeprefix("srasp:")
    if name not in BUILT_IN:
        near = did_you_mean(name, BUILT_IN)
        raise UsageError(f"{quote(name)} is no built-in S-RASP program{near}; built in are {', '.join(BUILT_IN)}")
    return parse(BUILT_IN[name], text)
