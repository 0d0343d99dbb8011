"""Expressions with their values, worked out by hand, and texts that are none: for the package, the checker and the
naive evaluation alike. And random ones."""

import random

ENV = {"n": 10, "i": 3, "j": 4, "q": 1, "k": 2}
TABLE = """
1 + 2 * 3: 7 | (1 + 2) * 3: 9 | 10 - 3 - 2: 5 | 100 // 7 // 2: 7 | 100 // 7 % 4 * 5: 10 | -7 // 2: -4 | -7 % 2: 1
7 % -2: -1 | -(7 // 2): -3 | - - 3: 3 | 2*-k: -4 | k == 2: 1 | k != 2: 0 | 1 < k < 3: 1 | 3 > k > 2: 0
1 == 1 == 1 != 0: 1 | 2 == 2 == 2: 1 | (2 == 2) == 2: 0 | not k == 2: 0 | not not 7: 1 | 1 or 0 and 0: 1
(1 or 0) and 0: 0 | not 0 and 5: 1 | 5 and 7: 1 | 0 or 7: 1 | 1 + 1 == 2 and 3: 1 | 1 if 0 else 2 if 0 else 3: 3
(1 if 1 else 2) if 1 else 3: 1 | 1 if 1 else 2 if 0 else 3: 1 | 0 or 1 if 0 or 0 else 5 and 0: 0 | i if q else j: 3
i if k - 2 else j: 4 | min(k, j, 1) + max(k, j): 5 | abs(k - j) * abs(-5): 10
isqrt(n) + isqrt(0) + isqrt(15) + isqrt(16): 10 | n*n: 100 | 9223372036854775807 - 9223372036854775807: 0 | j-1: 3
0: 0 | 2 * 7 // 3: 4 | -7 % 3: 2 | 7 % -3: -2 | 7 // -2: -4 | - - 5: 5 | --5: 5 | 3 - -2: 5 | 2 * -3: -6
1 < 2 < 3: 1 | 1 < 3 < 2: 0 | 3 > 2 == 2 != 1: 1 | (1 < 3) < 2: 1 | not 1 == 2: 1 | 5 or 0: 1 | 0 and 1 or 1: 1
not 0 and 0: 0 | 4 if 2 else 5: 4 | 4 if 0 else 5 if 0 else 6: 6 | (4 if 0 else 5) if 1 else 6: 5
1 or 0 if 0 else 7: 7 | 1 + 2 if 0 else 3 + 4: 7 | min(3, 1, 2) + max(3, 1, 2): 4 | abs(-3) + isqrt(10): 6
min (k , 1): 1 | (((k))): 2 | 1-1: 0 | not-k: 0 | k<-1: 0 | 9223372036854775807: 9223372036854775807
-9223372036854775807 - 1: -9223372036854775808 | n * i + j - q // k: 34 | 2 + 3 * 4: 14 | 10 - 4 - 3: 3 | - - 2 * 3: 6
100 // 10 * 10 % 7: 2 | 1 < 3 < 3: 0 | 3 > 2 == 2: 1 | (3 > 2) == 2: 0 | 1 == 1 + 0: 1 | not 0 + 1: 0 | not not 5: 1
2 and 3: 1 | 0 and 0 or 1: 1 | 5 if 2 else 6: 5 | 5 if 0 else 6 if 0 else 7: 7 | 1 or 1 if 0 else 4: 4
abs(-4) + abs(4): 8 | isqrt(15) * 10 + isqrt(16): 34
"""
VALUES = [
    *(
        (text, int(value))
        for text, _, value in (cell.partition(": ") for cell in TABLE.strip().replace("\n", " | ").split(" | "))
    ),
    (" \t\n1 \n", 1),
    ("\n k\t+\n1 ", 3),
    ("\n 1 +\t2\n* 3 ", 7),
]

BEYOND = """
k.real | k() | k(1) | print(1) | pow(2, 3) | min(1, 2)(3) | k ** 2 | k / 2 | k @ 2 | k & 1 | k ^ 1 | ~k | k << 1
k <> 1 | +k | 'a' | b'a' | f'{k}' | 1.0 | .5 | 1e3 | 1j | ... | None | True | lambda: 1 | lambda k: k | k := 1
(k := 1) | k[0] | k[0:1] | [k] | [k for k in j] | min(k for k in j) | {k} | {} | () | (k,) | k, | k, j | min(k, 2,)
min(*k) | min(a=1, b=2) | hash(k, key=1) | min(,) | min(1,,2) | min | min + 1 | k in j | k not in j | k is j
k is not j | yield | (yield k) | await k | k; 1 | k = 1 | k # 1 | 0 0 | 1 2 | k j | k 1 | (k | k) | ((k) | )( | k +
* k | k if 1 | if 1 else 2 | k else 1 | not | 1 == not 2 | - not k | k and | 0x10 | 0b1 | 0o7 | 1_000 | 007 | 00
9223372036854775808 | min(k) | max(k) | abs() | abs(k, 1) | isqrt() | isqrt(k, 1) | hash() | token | K | __import__
__import__('os').system('true') | ().__class__ | 1 + | (1 | 1) | k k | if | 1 if 2 | a | min() | min(1) | abs(1, 2)
1 + not 2 | -not 1 | 01 | 1.5 | k; k | min(1, 2,) | (1, 2) | < 1 | 1 <> 2 | 1 if 0 else | else | and 1 | hash(1
"""
REFUSED = [
    *BEYOND.strip().replace("\n", " | ").split(" | "),
    "",
    "  ",
    "k | 1",
    '"a"',
    "k \\\n + 1",
    "\u0661",
    "\xb2",
    "\uff4b",
    "k\xa0+ 1",
    "k\r+ 1",
    "k\x0b+ 1",
    "k\x00",
    "\u03bb",
    "1" * 5000,
    "k\r",
    "\xa01",
]
"""What the grammar does not give."""


def random_text(rng: random.Random, depth: int) -> str:
    """A random sentence of the grammar, with few parentheses, so that precedence decides, and odd white space."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice([*ENV, "0", "1", "2", "7", "9223372036854775807", "4611686018427387904"])

    def inner() -> str:
        text = random_text(rng, depth - 1)
        return f"({text})" if rng.random() < 0.3 else text

    gap = rng.choice(["", " ", "\n", "\t "])
    match rng.randrange(9):
        case 0:
            return f"{inner()} if {inner()} else {inner()}"
        case 1:
            return f"{inner()} {rng.choice(['and', 'or'])} {inner()}"
        case 2:
            return f"not {inner()}"
        case 3:
            return f"-{gap}{inner()}"
        case 4:
            sign = [rng.choice(["==", "!=", "<", "<=", ">", ">="]) for _ in range(rng.randint(1, 3))]
            return inner() + "".join(f"{gap}{s}{gap}{inner()}" for s in sign)
        case 5:
            name = rng.choice(["min", "max", "hash"])
            return f"{name}({gap}{', '.join(inner() for _ in range(rng.randint(2, 4)))}{gap})"
        case 6:
            return f"{rng.choice(['abs', 'isqrt', 'hash'])}({inner()})"
        case _:
            return f"{inner()}{gap}{rng.choice(['+', '-', '*', '//', '%'])}{gap}{inner()}"
