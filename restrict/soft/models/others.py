"""Architectures that are not read, by the names of their tensors, and why: what they compute is no restrict-soft/1
model (docs/soft-format.md), or no layout here says where its parts stand."""

import re
from collections.abc import Iterable

OTHERS = (
    (r"mlp\.(gate_proj|gate_up_proj)\.weight", "Llama's names (or Mistral's, Qwen's, Gemma's)",
     "RMSNorm, rotary positions and gated networks"),
    (r"gpt_neox\.layers\.\d+\..*", "GPT-NeoX's names (Pythia)", "rotary positions"),
    (r"attn\.rotary_(cos|sin)|rotary_emb\..*", "tensors of rotations", "rotary positions"),
    (r"(encoder\.layer\.\d+\.attention\.self\.query|transformer\.layer\.\d+\.attention\.q_lin)\.weight",
     "BERT's names (or RoBERTa's, DistilBERT's)", "LayerNorm behind the embedding and networks in read-outs"),
    (r"h\.\d+\.attn\.q_proj\.weight", "GPT-J's names", "rotary positions"),
    (r"h\.\d+\.attn\.attention\.q_proj\.weight", "GPT-Neo's names", "windows of attention"),
    (r"(en|de)coder\.layers\.\d+\.self_attn\.q_proj\.weight", "OPT's names (or BART's)", ""),
    (r"h\.\d+\.self_attention\.query_key_value\.weight", "BLOOM's names (or Falcon's)", "ALiBi and rotary positions"),
    (r"SelfAttention\.relative_attention_bias\.weight", "T5's names", "relative positions and RMSNorm"),
    (r"tokens_embed\.weight", "the first GPT's names", ""),
    (r"attn\.[qk]_norm\.w(eight)?", "TransformerLens' names", "norms of queries and keys"),
    (r"attn\._W_[KV]", "TransformerLens' names", "keys that several heads share"),
)  # fmt: skip
"""The end of a tensor's name, whose names these are, and what of the architecture is not read."""
PLACE = "docs/soft-import.md#other-architectures"


def another(names: Iterable[str]) -> str | None:
    """Why a file with such names is not read, in words, if it is of an architecture that is known and not read."""
    kept = list(names)
    for pattern, whose, what in OTHERS:
        found = re.compile(rf"(?:.*\.)?(?:{pattern})")
        if any(found.fullmatch(name) for name in kept):
            if not what:
                return f"{whose} are not read; a small model can get GPT-2's or PyTorch's ({PLACE})"
            return f"{whose}: {what} are not read; train on GPT-2's block, or PyTorch's ({PLACE})"
    return None
