"""CROWN on the cases of bench_soft_peers.py: what another tool's linear relaxations decide of the same questions.

    python scripts/bench_crown.py write tests/corpus/trained -n 8,30,100 -o questions
    OTHER/bin/python scripts/bench_crown.py bound questions

With ``write`` the folder that ``-o`` names is filled. It needs this project: for every case at position n of the
one-layer checkpoints in a folder, one file with the scores and values of the symbols that may stand at each position,
and the block behind attention. ``bound`` needs only numpy, torch and auto_LiRPA, in an environment of its own, since
the index's last auto_LiRPA (0.3) wants an old torch and numpy. What worked with Python 3.11,
without its other dependencies:

    python3.11 -m venv OTHER
    OTHER/bin/pip install --no-deps auto_LiRPA==0.3 torch==1.13.1 nvidia-cublas-cu11==11.10.3.66 \
        nvidia-cuda-nvrtc-cu11==11.7.99 nvidia-cuda-runtime-cu11==11.7.99 nvidia-cudnn-cu11==8.5.0.96
    OTHER/bin/pip install "numpy<2" packaging appdirs pyyaml typing_extensions tqdm setuptools wheel

The question is posed as kindly as that library can take it. Its inputs are boxes, so a position with m symbols has
m - 1 inputs in [0, 1], each of which moves score and value from those of the first symbol to those of another one: for
two symbols just their segment, for more the simplex and a little more. Scores and values are linear in them, so CROWN
keeps them coupled. Softmax is exp / sum, as in Shi et al. 2020 (Robustness Verification for Transformers). A label's
sign is that of ``u . z + beta sd(z)``, without the division by the last deviation (Lemma 4). There are no cells: one
call decides a case or does not.

The library's relaxation of the square root is false (its tangent has the slope of 1/sqrt), and words were met outside
its bounds; ``mended`` replaces that rule, unless ``--as-shipped`` is given. The table has the median radius of the
widest entry of attention's output, the cases decided, and seconds. ``--check 20`` holds the bounds against 20 random
words of each case, and counts the numbers that lie outside.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from harness import arguments, head, line

KINDS = ("gelu_new", "relu")
"""Activations that the other side knows."""


def write(folder: Path, lengths: list[int], out: Path) -> None:
    """One file for each model and length."""
    from bench_soft_peers import allowed

    from restrict.soft.trained.graph import graph_of, task_language
    from restrict.soft.trained.model import load
    from restrict.soft.trained.verdict import Search

    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.glob("*.safetensors")):
        model = load(path)
        if len(model.layers) != 1 or model.activation not in KINDS or model.final is None:
            continue
        graph, layer = graph_of(model, task_language(model)), model.layers[0]
        rows = list(graph.labels)
        for n in lengths:
            search = Search(model, graph, n)
            keys = [key for key in graph.cases(n + len(graph.delta)) if key[0] == n]
            found: dict[str, Any] = {"keys": np.array(keys), "n": n, "gelu": model.activation == "gelu_new"}
            found["epsilon"] = float(model.epsilon)
            for name in ("norm2", "inner", "outer"):
                found[f"{name}.weight"], found[f"{name}.bias"] = getattr(layer, name)
            scaled = model.unembed[rows] * model.final.weight
            found["u"] = scaled - scaled.mean(1, keepdims=True)
            found["beta"] = model.unembed[rows] @ model.final.bias + model.shifts[rows]
            for number, key in enumerate(keys):
                search.weigh(key[0], key[1])
                found[f"{number}.e"] = np.array(search.weights)
                found[f"{number}.may"] = allowed(graph, key)
                found[f"{number}.x"] = search.atoms.x[key[0], key[1]] + search.atoms.bias
                found[f"{number}.wanted"] = search.graph.asked[key[2]].signs
            found["v"] = search.atoms.v[:, : n + 1]
            name = path.name.removesuffix(".safetensors")
            np.savez_compressed(out / f"{name}@{n:04}.npz", **found)


def modules() -> tuple[Any, Any]:
    """The network of one case as a torch module, and the library's class: made here, as torch is not at hand before."""
    import auto_LiRPA
    import torch

    torch.set_default_dtype(torch.float64)

    class Question(torch.nn.Module):
        """The labels' signs, as wanted, and attention's output, from the inputs in [0, 1]."""

        base_s: Any
        base_v: Any
        move_s: Any
        move_v: Any

        def __init__(self, data: Any, number: int) -> None:
            super().__init__()
            e, may, v = data[f"{number}.e"], data[f"{number}.may"], data["v"]
            heads, places, d = len(e), len(may), v.shape[-1]
            first = may.argmax(1)
            others = [(j, s) for j in range(places) for s in np.flatnonzero(may[j]) if s != first[j]]
            scores, rows = np.log(e), np.arange(places)
            base_s, base_v = scores[:, rows, first], v[:, rows, first]
            move_s, move_v = np.zeros((heads, len(others), places)), np.zeros((heads, len(others), places, d))
            for k, (j, s) in enumerate(others):
                move_s[:, k, j] = scores[:, j, s] - base_s[:, j]
                move_v[:, k, j] = v[:, j, s] - base_v[:, j]
            self.first, self.others, self.heads, self.places, self.d = first, others, heads, places, d
            for name, value in {
                "base_s": base_s, "base_v": base_v.reshape(heads, -1), "move_s": move_s,
                "move_v": move_v.reshape(heads, len(others), places * d), "x": data[f"{number}.x"], "u": data["u"].T,
                "beta": data["beta"], "wanted": data[f"{number}.wanted"],
                "weight": data["norm2.weight"], "bias": data["norm2.bias"], "inner": data["inner.weight"],
                "inner_bias": data["inner.bias"], "outer": data["outer.weight"], "outer_bias": data["outer.bias"],
            }.items():  # fmt: skip
                setattr(self, name, torch.nn.Parameter(torch.tensor(value), requires_grad=False))
            self.epsilon, self.gelu = float(data["epsilon"]), bool(data["gelu"])

        def word(self, symbols: Any) -> Any:
            """The inputs that stand for one word."""
            return torch.tensor([[float(symbols[j] == s) for j, s in self.others]])

        def attention(self, z: Any) -> Any:
            """What all heads add."""
            found = []
            for h in range(self.heads):
                e = torch.exp(z.matmul(self.move_s[h]) + self.base_s[h])
                p = e * torch.reciprocal(e.sum(1, keepdim=True))
                v = (z.matmul(self.move_v[h]) + self.base_v[h]).reshape(-1, self.places, self.d)
                found.append((p.unsqueeze(2) * v).sum(1))
            total = found[0]
            for part in found[1:]:
                total = total + part
            return total + self.x

        def deviation(self, centred: Any) -> Any:
            """What LayerNorm divides by; relu keeps a relaxed square from going below 0."""
            return torch.sqrt(torch.relu((centred**2).mean(1, keepdim=True)) + self.epsilon)

        def forward(self, z: Any) -> Any:
            """The signs, turned so that all should be positive, then the output of attention."""
            y = self.attention(z)
            c = y - y.mean(1, keepdim=True)
            normal = c * torch.reciprocal(self.deviation(c)) * self.weight + self.bias
            h = normal.matmul(self.inner) + self.inner_bias
            if self.gelu:
                h = h * 0.5 * (torch.tanh((h + h * h * h * 0.044715) * float(np.sqrt(2 / np.pi))) + 1.0)
            else:
                h = torch.relu(h)
            out = y + h.matmul(self.outer) + self.outer_bias
            last = out - out.mean(1, keepdim=True)
            signs = (last.matmul(self.u) + self.beta * self.deviation(last)) * self.wanted
            return torch.cat([signs, y], dim=1)

    return Question, auto_LiRPA


def mended(library: Any) -> None:
    """Give the square root its relaxation: the chord from below, the tangent at the middle from above."""
    import torch

    def backward(self: Any, last_low: Any, last_high: Any, x: Any) -> Any:
        low, high = torch.sqrt(x.lower), torch.sqrt(torch.maximum(x.upper, x.lower))
        middle = torch.sqrt((x.lower + x.upper) / 2)
        chord, tangent = 1 / (low + high), 0.5 / middle
        lines = (chord, low - chord * x.lower), (tangent, middle / 2)

        def carried(last: Any, positive: Any, negative: Any) -> Any:
            if last is None:
                return None, 0
            up, down = last.clamp(min=0), last.clamp(max=0)
            shift = self.get_bias(up, positive[1]) + self.get_bias(down, negative[1])
            return up * positive[0] + down * negative[0], shift

        (low_part, low_shift), (high_part, high_shift) = carried(last_low, *lines), carried(last_high, *lines[::-1])
        return [(low_part, high_part), (None, None)], low_shift, high_shift

    library.bound_ops.BoundSqrt.bound_backward = backward


def ends(question: Any, library: Any) -> tuple[Any, Any]:
    """Lower and upper bounds of a question's outputs by CROWN."""
    import torch

    free = torch.full((1, len(question.others)), 0.5)
    net = library.BoundedModule(
        question, free, bound_opts={"relu": "zero-lb", "conv_mode": "matrix"}, device="cpu", verbose=False
    )
    box = library.PerturbationLpNorm(norm=np.inf, x_L=torch.zeros_like(free), x_U=torch.ones_like(free))
    low, high = net.compute_bounds(x=(library.BoundedTensor(free, box),), method="CROWN")
    return low[0].detach().numpy(), high[0].detach().numpy()


def outside(question: Any, data: Any, number: int, found: tuple[Any, Any], words: int) -> int:
    """How many outputs of random words lie outside the bounds."""
    may, rng, count = data[f"{number}.may"], np.random.default_rng(number), 0
    for _ in range(words):
        symbols = [rng.choice(np.flatnonzero(row)) for row in may]
        value = question(question.word(symbols))[0].detach().numpy()
        slack = 1e-6 * (1 + np.abs(value))
        count += int(((value < found[0] - slack) | (value > found[1] + slack)).sum())
    return count


def bound(folder: Path, words: int, shipped: bool) -> None:
    """Print the table."""
    question_of, library = modules()
    if not shipped:
        mended(library)
    print(head(("model", "n", "cases", "radius", "decided", "seconds")), flush=True)
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as file:
            data = dict(file)
        labels, radius, decided, begin, wrong = len(data["beta"]), [], 0, time.process_time(), 0
        for number in range(len(data["keys"])):
            question = question_of(data, number)
            if question.others:
                found = ends(question, library)
            else:
                value = question(question.word([]))[0].numpy()
                found = value, value
            wrong += outside(question, data, number, found, words)
            radius.append(float(((found[1] - found[0]) / 2)[labels:].max()))
            decided += bool((found[0][:labels] > 0).all())
        name, _, n = path.stem.partition("@")
        took = f"{time.process_time() - begin:.1f}"
        row = line((name, int(n), len(radius), f"{np.median(radius):.2g}", decided, took))
        print(row + (f" {wrong} outside" if words else ""), flush=True)


def main() -> None:
    """Write or bound."""
    parser = arguments(__doc__, None)
    parser.add_argument("part", choices=("write", "bound"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("-n", default="8,30,100", help="lengths, for write")
    parser.add_argument("--check", type=int, default=0, help="random words of each case that must lie inside")
    parser.add_argument("--as-shipped", action="store_true", help="keep the library's square root")
    options = parser.parse_args()
    if options.part == "write":
        write(options.folder, [int(n) for n in options.n.split(",")], options.output or Path("questions"))
    else:
        bound(options.folder, options.check, options.as_shipped)


if __name__ == "__main__":
    main()
