"""Random B-RASP programs as text: another input language than ``restrict-model/1``.

B-RASP has formulas of propositional logic and no arithmetic, so ``tests/generator`` has no part in it; what is imported
from such a text is compared with the definition of B-RASP, not with another model.
"""

from numpy.random import Generator

MASKS = ("1", "j < i", "j <= i", "j > i", "j >= i", "i > j")


def formula(rng: Generator, atoms: list[str], depth: int) -> str:
    """A random formula over atoms such as `P(i)`."""
    kind = int(rng.integers(9)) if depth else 0
    if kind <= 2:
        return str(rng.choice([*atoms, *atoms, "0", "1"])) if atoms else str(rng.choice(["0", "1"]))
    if kind == 3:
        return f"!{formula(rng, atoms, 0)}"
    if kind == 4:
        return f"!({formula(rng, atoms, depth - 1)})"
    sign = ["&", "|", "^", "->", "<->"][int(rng.integers(5))]
    parts = [formula(rng, atoms, depth - 1) for _ in range(2 + int(rng.integers(2)))]
    return "(" + f" {sign} ".join(f"({p})" if rng.integers(2) else p for p in parts) + ")"


def random_brasp(rng: Generator, letters: int = 2, vectors: int = 4, depth: int = 2) -> str:
    """A program whose later vectors mostly read earlier ones."""
    alphabet = list("ab(c"[:letters])
    lines, names = [f"alphabet: {' '.join(alphabet)}"], list[str]()
    for at in range(vectors):
        tests = [f'Q_"{a}"' if a == "(" else f"Q_{a}" for a in alphabet]
        known = [*tests, *names, *names]
        here, both = [f"{v}(i)" for v in known], [f"{v}({x})" for v in known for x in "ij"]
        name = ["P", "k", "Y", "n", "Z", "q"][at % 6] + str(at // 6 or "")
        if rng.integers(3) == 0:
            right = formula(rng, here, depth)
        else:
            side = ["leftmost", "rightmost_j", "◀", "leftmost_j"][int(rng.integers(4))]
            mask = MASKS[int(rng.integers(len(MASKS)))]
            score, value = formula(rng, both, depth), formula(rng, both, depth)
            right = f"{side} [{mask}, {score}] {value} : {formula(rng, here, 1)}"
        lines.append(f"{name}(i) = {right}")
        names.append(name)
    lines.append(f"output: {names[-1]}" + (" every" if rng.integers(2) else ""))
    return "\n".join(lines) + "\n"
