"""Softmax weights given to a command for hard attention: one line that says which command reads them. Names are looked
for in the header only, so the answer costs nothing and never parses a stranger's file."""

import re

NAMES = re.compile(
    rb'"(?:[^"]*\.)?(?:h\.\d+\.attn\.c_attn\.weight|blocks\.\d+\.attn\.W_Q|layers\.\d+\.self_attn\.in_proj_weight)"'
)
"""Tensors of GPT-2, of TransformerLens, of an nn.TransformerEncoder."""


def softmax_hint(content: bytes) -> str:
    """What to do with softmax weights; empty where none are known. Linear in the header, at most 16 MiB of it."""
    header = content[8 : 8 + min(int.from_bytes(content[:8], "little"), 2**24)]
    if b'\\"restrict-soft/' in header:
        return (
            "a softmax model (restrict-soft/1); Theorem 1 and Corollary 2 hold for attention to one position only; "
            "use the soft commands (restrict soft ...)"
        )
    if NAMES.search(header):
        return (
            "softmax weights; `restrict soft import` makes a model of them for the soft commands, and "
            "`restrict soft verify` decides them over a language"
        )
    return ""
