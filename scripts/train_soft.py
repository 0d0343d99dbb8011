"""Train small softmax transformers as people do, on 26 regular languages, and write them as people store them.

    python scripts/train_soft.py -o FOLDER [--layers 1] [--heads 1] [--width 16] [--no-positions] [--only NAME,...]
        [--activation relu] [--read-out next] [--no-start] [--norm post] [--reads first]
    python scripts/train_soft.py --describe FOLDER     # automata and recorded logits beside models that are there

Next-symbol-set predictors of GPT-2's shape (causal softmax, LayerNorm first, gelu_new): at every prefix of a word of
the language the logit of a symbol is to be positive where some word goes on with it, that of <eos> where the prefix is
in the language. Words are random walks in the automaton (scripts/train_languages.py), up to 100 symbols behind <bos>;
binary cross-entropy, AdamW, cosine schedule, gradients clipped; the best of the states seen is kept. All languages of
one architecture are trained at once, with a leading dimension for the models; six more by ``--only``. ``--read-out
next`` trains language models (cross-entropy, every symbol that may come next as likely), ``--read-out tags`` taggers:
the label of a prefix is the automaton's state, ``--read-out membership`` acceptors. ``--reads first`` trains encoders
(one layer, no mask) that answer at <bos>, in front of the word, ``--reads last`` models that answer at <eos>, pinned
behind it; each prefix is a word of its own then. ``--no-start`` leaves out <bos>, and with it the empty prefix.
``--norm post`` puts LayerNorm behind each half of a block, as PyTorch's encoders have it, ``--norm no-last`` leaves out
the last one, ``--norm none`` all. Needs torch; seeded; minutes on one core.

Each model is four files: NAME.safetensors (GPT-2's names), NAME.config.json, NAME.dfa.json (restrict-dfa/1), and
NAME.record.json: some words with the logits that torch gives in float32, for `restrict soft import --compare`.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from train_languages import Automaton, held_out, languages

LENGTH, POSITIONS, EPS = 100, 152, 1e-5
RATE, EVERY, TESTED = 3e-3, 400, 512
ACTIVATIONS: dict[str, Any] = {
    "gelu_new": partial(functional.gelu, approximate="tanh"), "gelu": functional.gelu, "relu": functional.relu
}  # fmt: skip
NORMS = {"post": "norm_first", "no-last": "final_norm", "none": "layer_norm"}
"""Where LayerNorm stands, with the key of the configuration that is false then."""
Parameters = dict[str, torch.Tensor]


class Walks:
    """Random walks in several automata at once, with the set of what may come next at every prefix, or the state."""

    def __init__(self, automata: list[Automaton], read_out: str, start: bool = True) -> None:
        models, tokens = len(automata), 2 + max(len(a.alphabet) for a in automata)
        states = max(len(a.delta) for a in automata)
        self.delta = torch.zeros(models, states, tokens, dtype=torch.long)
        self.live, self.accepting = torch.zeros(models, states, tokens), torch.zeros(models, states)
        self.bos = torch.tensor([len(a.alphabet) for a in automata])
        self.used = torch.zeros(models, tokens)  # the tokens that count: symbols and <eos>
        self.read_out, self.labels = read_out, self.used if read_out != "tags" else torch.zeros(models, states)
        self.first = int(not start)
        self.index = torch.arange(models)[:, None]
        for m, automaton in enumerate(automata):
            self.used[m, : len(automaton.alphabet)] = self.used[m, len(automaton.alphabet) + 1] = 1
            if read_out == "tags":
                self.labels[m, : len(automaton.delta)] = 1
            if read_out == "membership":
                self.used[m, : len(automaton.alphabet)] = 0
            for state, row in enumerate(automaton.delta):
                self.accepting[m, state] = automaton.accepting[state]
                for symbol, to in enumerate(row):
                    if to is not None:
                        self.delta[m, state, symbol], self.live[m, state, symbol] = to, 1

    def sample(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Words (models, count, LENGTH + 1) behind <bos>, or LENGTH symbols without it, and targets (..., labels).

        Each walk has its own weights of symbols and its own tendency to repeat the last one, so that long runs and
        rare symbols occur. A walk that cannot go on is filled up with its first symbol, and its targets stay empty.
        """
        models, tokens = self.used.shape
        weights = torch.distributions.Gamma(0.6, 1.0).sample((models, count, tokens)) + 1e-3
        repeat = torch.rand(models, count, 1) ** 3 * 0.9
        state, index = torch.zeros(models, count, dtype=torch.long), self.index.expand(models, count)
        words = torch.empty(models, count, LENGTH + 1, dtype=torch.long)
        targets = torch.zeros(models, count, LENGTH + 1, self.labels.shape[1])
        words[:, :, 0] = self.bos[:, None]
        for at in range(LENGTH + 1):
            alive = self.live[index, state]
            stop = (self.bos + 1)[:, None, None].expand(models, count, 1)
            if self.read_out == "tags":
                targets[:, :, at] = functional.one_hot(state, self.labels.shape[1])
            else:
                targets[:, :, at] = alive.scatter(2, stop, self.accepting[index, state][..., None])
            if at == LENGTH:
                break
            chance = weights * alive
            if at:
                same = functional.one_hot(words[:, :, at], tokens).float() * alive
                chance = (1 - repeat) * chance / chance.sum(-1, keepdim=True).clamp(min=1e-9) + repeat * same
            chance = torch.where(chance.sum(-1, keepdim=True) > 0, chance, functional.one_hot(stop[..., 0] * 0, tokens))
            symbol = torch.multinomial(chance.reshape(models * count, tokens), 1).reshape(models, count)
            words[:, :, at + 1], state = symbol, self.delta[index, state, symbol]
        return words[:, :, self.first :], targets[:, :, self.first :]


def parameters(models: int, tokens: int, labels: int, options: argparse.Namespace) -> Parameters:
    """Fresh weights with GPT-2's names (without a prefix), each with a leading dimension of models."""
    d = options.width

    def normal(*shape: int, deviation: float) -> torch.Tensor:
        return torch.randn(models, *shape) * deviation

    found = {"wte.weight": normal(tokens, d, deviation=0.3), "lm_head.weight": normal(labels, d, deviation=0.3)}
    if options.positions:
        found["wpe.weight"] = normal(POSITIONS, d, deviation=0.05)
    norms = [] if options.norm else ["ln_f"]
    halves = () if options.norm == "none" else ("ln_1", "ln_2")
    for layer in range(options.layers):
        norms += [f"h.{layer}.{half}" for half in halves]
        for name, inputs, outputs in (
            ("attn.c_attn", d, 3 * d), ("attn.c_proj", d, d), ("mlp.c_fc", d, 4 * d), ("mlp.c_proj", 4 * d, d)
        ):  # fmt: skip
            found[f"h.{layer}.{name}.weight"] = normal(inputs, outputs, deviation=0.7 / math.sqrt(inputs))
            found[f"h.{layer}.{name}.bias"] = torch.zeros(models, outputs)
    for name in norms:
        found[f"{name}.weight"], found[f"{name}.bias"] = torch.ones(models, d), torch.zeros(models, d)
    return found


def forward(
    p: Parameters, words: torch.Tensor, heads: int, kind: str, post: bool, reader: torch.Tensor | None = None
) -> torch.Tensor:
    """Logits (models, count, positions, labels); ``post``: LayerNorm stands behind each half of a block. ``reader``:
    the token pinned behind each prefix, at which the answer is read; of a row alone, the one in front of all."""
    models, count, n = words.shape
    x = p["wte.weight"][torch.arange(models)[:, None, None], words]
    d = x.shape[-1]
    if "wpe.weight" in p:
        x = x + p["wpe.weight"][:, None, :n]
    at = torch.ones(n, n, dtype=torch.bool).tril()
    if reader is not None:  # what it sees of a prefix is what a causal model sees there: of one layer that is enough
        asks = x[:, :, :1].expand(-1, -1, n, -1)
        if reader.numel():
            asks = p["wte.weight"][torch.arange(models), reader][:, None, None].expand(-1, count, n, -1)
            asks = asks + p["wpe.weight"][:, None, 1 : n + 1] if "wpe.weight" in p else asks
            x, at = torch.cat([x, asks], 2), torch.cat([at, torch.eye(n, dtype=torch.bool)], 1)

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        if f"{name}.weight" not in p:
            return x
        scaled = functional.layer_norm(x, (d,), eps=EPS)
        return scaled * p[f"{name}.weight"][:, None, None] + p[f"{name}.bias"][:, None, None]

    def linear(x: torch.Tensor, name: str) -> torch.Tensor:
        return torch.einsum("mbti,mio->mbto", x, p[f"{name}.weight"]) + p[f"{name}.bias"][:, None, None]

    for layer in range(sum(name.endswith("ln_1.bias") for name in p)):
        h = f"h.{layer}"
        read = x if post else norm(x, f"{h}.ln_1")
        parts = linear(read, f"{h}.attn.c_attn").reshape(models, count, -1, 3, d).unbind(3)
        if reader is not None:
            x = asks
            parts = (linear(x if post else norm(x, f"{h}.ln_1"), f"{h}.attn.c_attn")[..., :d], *parts[1:])
        q, k, v = (part.reshape(models * count, -1, heads, d // heads).transpose(1, 2) for part in parts)
        read = functional.scaled_dot_product_attention(q, k, v, attn_mask=at)
        x = x + linear(read.transpose(1, 2).reshape(models, count, n, d), f"{h}.attn.c_proj")
        x = norm(x, f"{h}.ln_1") if post else x
        hidden = ACTIVATIONS[kind](linear(x if post else norm(x, f"{h}.ln_2"), f"{h}.mlp.c_fc"))
        x = x + linear(hidden, f"{h}.mlp.c_proj")
        x = norm(x, f"{h}.ln_2") if post else x
    return torch.einsum("mbti,mvi->mbtv", norm(x, "ln_f"), p["lm_head.weight"])


class Best:
    """For each model the best weights seen: by the share of prefixes answered right, then by the least margin."""

    def __init__(self, walks: Walks, logits: Callable[[Parameters, torch.Tensor], torch.Tensor]) -> None:
        self.walks, self.logits, (self.words, self.targets) = walks, logits, walks.sample(TESTED)
        self.score: list[tuple[float, float]] = [(-1.0, -math.inf)] * len(walks.used)
        self.kept: list[Parameters] = [{} for _ in walks.used]

    def look(self, p: Parameters) -> None:
        """Measure the weights on the fixed sample, and keep what is better."""
        counts, right, margin = self.walks.labels[:, None, None] > 0, [], []
        with torch.no_grad():
            for start in range(0, TESTED, 128):
                z, y = (t[:, start : start + 128] for t in (self.words, self.targets))
                z = self.logits(p, z)
                signed = torch.where(counts, (2 * y - 1) * z, torch.full_like(z, 99.0))
                if self.walks.read_out in ("next", "tags"):
                    good, bad = (torch.where(counts & (y == k), z, torch.full_like(z, -99.0)) for k in (1, 0))
                    signed = (good.amax(-1) - bad.amax(-1))[..., None]
                right.append((signed > 0).all(-1).float().mean((1, 2)))
                margin.append(signed.amin((1, 2, 3)))
        for m, score in enumerate(zip(torch.stack(right).mean(0).tolist(), torch.stack(margin).amin(0).tolist(),
                                      strict=True)):  # fmt: skip
            if score > self.score[m]:
                self.score[m], self.kept[m] = score, {name: a[m].detach().clone() for name, a in p.items()}


def train(walks: Walks, options: argparse.Namespace) -> Best:
    """Train all models at once."""
    (models, tokens), labels = walks.used.shape, walks.labels.shape[1]
    fresh = parameters(models, tokens, labels, options)
    p = {name: a.requires_grad_() for name, a in fresh.items()}
    decayed = [{"params": [a for name, a in p.items() if name.endswith("weight") == weights], "weight_decay": decay}
               for weights, decay in ((True, 0.01), (False, 0.0))]  # fmt: skip
    optimiser = torch.optim.AdamW(decayed, lr=RATE, betas=(0.9, 0.98))
    reader = {"": None, "first": torch.tensor([]), "last": walks.bos + 1}[options.reads]
    logits = partial(forward, heads=options.heads, kind=options.activation, post=options.norm == "post", reader=reader)
    best, start, counts = Best(walks, logits), time.monotonic(), walks.labels[:, None, None]
    for step in range(options.steps):
        if step % 200 == 0:
            pool = walks.sample(options.batch * 8)
        chosen = torch.randint(0, options.batch * 8, (options.batch,))
        words, targets = (a[:, chosen] for a in pool)
        done = step / options.steps
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / 200) * (0.02 + 0.49 * (1 + math.cos(math.pi * done)))
        z = logits(p, words)
        if options.read_out in ("next-set", "membership"):
            loss = functional.binary_cross_entropy_with_logits(z, targets, weight=counts.expand_as(z), reduction="none")
        else:
            share = targets / targets.sum(-1, keepdim=True).clamp(min=1)
            loss = -share * functional.log_softmax(z.masked_fill(counts == 0, -1e4), -1)
        optimiser.zero_grad(set_to_none=True)
        total: Any = loss.sum(-1).mean((1, 2)).sum()
        total.backward()
        clip(p)
        optimiser.step()
        if (step + 1) % EVERY == 0 or step + 1 == options.steps:
            best.look(p)
            print(f"step {step + 1}: {sum(r == 1 for r, _ in best.score)} of {len(best.score)} right on the sample, "
                  f"{time.monotonic() - start:.0f} s", flush=True)  # fmt: skip
    return best


def clip(p: Parameters) -> None:
    """Bring the gradient of each model to a norm of at most 1."""
    with torch.no_grad():
        gradients = [a.grad for a in p.values() if a.grad is not None]
        size = sum((g.flatten(1) ** 2).sum(1) for g in gradients)
        factor = (1 / (torch.as_tensor(size).sqrt() + 1e-6)).clamp(max=1)
        for g in gradients:
            g.mul_(factor.reshape(-1, *([1] * (g.dim() - 1))))


def write(folder: Path, name: str, automaton: Automaton, found: Parameters, score: tuple[float, float],
          options: argparse.Namespace) -> None:  # fmt: skip
    """The weights and the configuration of one model."""
    from safetensors.torch import save_file

    vocab, d, k = [*automaton.alphabet, *(["<bos>"] * options.start), "<eos>"], options.width, len(automaton.alphabet)
    tokens = [*range(len(vocab) - 1), k + 1]  # training numbers them as with <bos>
    states = [f"q{state}" for state in range(len(automaton.delta))]
    labels = states if options.read_out == "tags" else vocab
    tensors = {}
    for key, a in found.items():
        own = key == "lm_head.weight" and options.read_out == "tags"
        rows = a[: len(labels)] if own else a[tokens] if key in ("wte.weight", "lm_head.weight") else a
        tensors[key if key.startswith("lm_head") else f"transformer.{key}"] = rows.contiguous().float()
    save_file(tensors, folder / f"{name}.safetensors", metadata={"format": "pt"})
    config = {
        "architectures": ["GPT2LMHeadModel"], "activation_function": options.activation, "layer_norm_epsilon": EPS,
        "n_layer": options.layers, "n_head": options.heads, "n_embd": d,
        "n_positions": POSITIONS if options.positions else None, "vocab_size": len(vocab),
        "bos_token_id": k if options.start else None, "eos_token_id": len(vocab) - 1, "tie_word_embeddings": False,
        "vocab": vocab,
        "position_embeddings": "learned" if options.positions else "none", "attention": "softmax",
        "task": {"kind": options.read_out, "language": name.rsplit(f"-{options.layers}l", 1)[0],
                 "trained_to_length": LENGTH,
                 "dfa": {"start": 0, "delta": automaton.delta, "accepting": automaton.accepting}
                 | ({"tags": states} if options.read_out == "tags" else {})},
        **({NORMS[options.norm]: False} if options.norm else {}),
        **{"": {}, "first": {"place": "first", "causal": False},
           "last": {"place": "last", "end_marker_token_id": len(vocab) - 1}}[options.reads],
        "sampled": {"prefixes_right": score[0], "least_margin": score[1], "words": TESTED},
    }  # fmt: skip
    if options.read_out == "tags":
        config["labels"] = labels
    (folder / f"{name}.config.json").write_text(json.dumps(config) + "\n")


def describe(folder: Path) -> None:
    """Beside each model of a folder its automaton, and logits that torch gives in float32 on a few random walks."""
    from safetensors.torch import load_file

    known = languages() | held_out()
    for path in sorted(folder.glob("*.safetensors")):
        name = path.name.removesuffix(".safetensors")
        config = json.loads((folder / f"{name}.config.json").read_text())
        automaton = known[config["task"]["language"]]
        (folder / f"{name}.dfa.json").write_text(json.dumps(automaton.document(config["task"]["language"])) + "\n")
        p = {key.removeprefix("transformer."): a[None] for key, a in load_file(path).items()}
        torch.manual_seed(0)
        walks = Walks([automaton], "next-set", config["bos_token_id"] is not None).sample(3)[0][0]
        tokens, logits = [], []
        for word, n in zip(walks, (2, 5, 12), strict=True):
            tokens.append(word[:n].tolist())
            post, end = not config.get("norm_first", True), config.get("end_marker_token_id")
            reader = torch.tensor([end] if end is not None else []) if "place" in config else None
            z = forward(p, word[None, None, :n], config["n_head"], config["activation_function"], post, reader)
            rows = [[float(f"{z:.7g}") for z in row] for row in z[0, 0].tolist()]
            logits.append(rows if reader is None else rows[-1])
            tokens[-1] += [] if end is None else [end]
        (folder / f"{name}.record.json").write_text(json.dumps({"tokens": tokens, "logits": logits}) + "\n")
        print(name, np.abs(np.array(logits[-1])).max())


def main() -> None:
    """Train, write, describe."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--describe", type=Path)
    for name, default in (("layers", 1), ("heads", 1), ("width", 16), ("steps", 12000), ("batch", 64), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--no-positions", dest="positions", action="store_false")
    parser.add_argument("--no-start", dest="start", action="store_false")
    parser.add_argument("--norm", choices=NORMS, default="")
    parser.add_argument("--activation", choices=ACTIVATIONS, default="gelu_new")
    parser.add_argument("--read-out", choices=("next-set", "next", "tags", "membership"), default="next-set")
    parser.add_argument("--reads", choices=("first", "last"), default="")
    parser.add_argument("--only", default="", help="languages, separated by commas")
    options = parser.parse_args()
    if options.reads and (options.layers > 1 or not options.start):
        parser.error("--reads is for one layer with a start token")
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(options.seed)
        torch.set_num_threads(1)
        known = languages() | held_out()
        chosen = {name: known[name] for name in options.only.split(",")} if options.only else languages()
        best = train(Walks(list(chosen.values()), options.read_out, options.start), options)
        tag = f"{options.layers}l{options.heads}h{options.width}d" + ("" if options.positions else "-nope")
        tag += "" if options.activation == "gelu_new" else f"-{options.activation}"
        tag += "" if options.start else "-bare"
        tag += f"-{options.norm}" if options.norm else ""
        tag += f"-{options.reads}" if options.reads else ""
        tag += "" if options.read_out == "next-set" else f"-{options.read_out}"
        for (name, automaton), found, score in zip(chosen.items(), best.kept, best.score, strict=True):
            write(options.output, f"{name}-{tag}", automaton, found, score, options)
            print(f"{name}-{tag}: {score[0]:.6f} of the prefixes right, least margin {score[1]:.3f}")
    if options.describe or options.output:
        describe(options.describe or options.output)


if __name__ == "__main__":
    main()
