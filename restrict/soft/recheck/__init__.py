"""The independent re-check of a soft restriction: the standard library only, and no code shared with the rest.

Run it as ``python -m restrict.soft.recheck MODEL.safetensors CERTIFICATE.json``. Success is exit 0 and one line
``s VERIFIED ...``; otherwise standard output stays empty and standard error has one line. Exit 2: usage or I/O, 3: well
formed but not established, 4: malformed or the wrong model, 5: outside what is checked here.

The claim: any two inputs of length ``n`` that agree with ``fixed`` give outputs that differ by at most ``epsilon`` (in
each label's probability, or in each difference of two logits), in real arithmetic, with the meaning of
docs/soft-format.md.

Method: sets of vectors (a centre, a box, a Euclidean ball), pushed through the layers. Every number is an integer times
``2^-128``; sums of products are exact and rounded once, outward. ``exp`` comes from the decimal module, which rounds
correctly. A norm in the certificate is a hint: ``N^2 - A^T A`` is factored as ``L D L^T``, all ``D`` positive, and the
exact residual is added. What each step contains is said at its function.
"""

from restrict.soft.recheck.claim import verify
from restrict.soft.recheck.fixed import Reject

__all__ = ["Reject", "verify"]
