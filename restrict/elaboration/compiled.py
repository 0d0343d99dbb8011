"""Elaborated proofs checked with the engine's compiled scans: `restrict check --fast`. Everything but the row lemma is
what the kernel does. A row is one scan of the engine, which is some forty times faster than the kernel's own loop, and
has to be believed in its place. The checker knows nothing of this file."""

from functools import cache, partial
from hashlib import sha256

import numpy as np

from restrict.base.strictjson import translated
from restrict.checker.account import Meter, Place
from restrict.checker.kernel import POSITION, below, size
from restrict.checker.normal_form import Program, visible
from restrict.checker.one_length import line_of
from restrict.checker.proof import Proof
from restrict.elaboration.make import Elaboration
from restrict.elaboration.rows import PAIRS_A_STEP
from restrict.model.program import Head, Instance
from restrict.rows.row import Row
from restrict.rows.values import unrestricted


class CompiledProof(Proof):
    """A proof whose rows are scanned by the engine's kernels, on the instance that the program was made from."""

    def __init__(self, data: bytes, program: Program, digest: str, meter: Meter, instance: Instance) -> None:
        self.instance, self.free = instance, cache(partial(unrestricted, instance))
        super().__init__(data, Place("proof"), program, digest, meter)

    def row(self, h: int, i: int, u: int, s: int, p: int, r: int) -> None:
        """The best unlisted pair is among the best, one more than are listed; if it is below the bar, all unlisted
        are."""
        kernel, head = self.kernel, self.kernel.head_of(h)
        self.form(u in kernel.domain(head.query))
        low, high = visible(head.mask, i, self.program.n)
        keys, ends = 1 if head.key == POSITION else len(kernel.domain(head.key)), kernel.listed(r, low, high)
        unlisted, most = max(0, high - low) - size(ends), size(ends) * keys + 1
        self.meter.charge(4 + (unlisted and (high - low) * keys // PAIRS_A_STEP + 2 * most))
        mine = self.instance.model.variables[h - POSITION - 1]
        assert isinstance(mine, Head)
        if unlisted:
            row = Row(self.instance, mine, i, u)
            row.own = (-1, -1)  # nothing is known of this position, either
            places, values, _ = row.best(self.free(self.instance.key(mine)), most)
            outside = np.flatnonzero(np.searchsorted(np.array(ends, dtype=np.int64), places, side="right") % 2 == 0)
            for at in outside[:1].tolist():
                j, w = int(places[at]), int(values[at])
                found = head.code.given({0: i, 1: u}).value({2: [j], 3: [w]})
                score = found[0] if isinstance(found, list) else found
                self.right(below(head.left, score, j, s, p))
        kernel.rows.append((h, i, u, s, p, r))


def check_compiled(found: Elaboration) -> str:
    """Let the engine's scans decide on the rows of an elaborated proof, and the kernel on all else. Cost: some 30
    nanoseconds for each score of a row, at most. Gives the line ``s VERIFIED ...`` of the user's file."""
    program, proof = found.made
    with translated(found.name):
        read = Program(program, Place("program"), found.meter)
        digest = sha256(program).hexdigest()
        return line_of(found.claim, CompiledProof(proof, read, digest, found.meter, found.instance))
