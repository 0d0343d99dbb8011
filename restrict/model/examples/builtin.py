"""The example models: each builder returns one `restrict-model/1` object (docs/format.md), a family over `n`.

The models are exact recognisers (or functions) unless their text says otherwise, written as one would program a
hard-attention transformer by hand: a head looks for a witness, a map combines what heads brought. The proof of a
construction stands above it. The integer parameters choose one member of a family of models; the length stays open,
and `when` says which lengths are meant.
"""

from collections.abc import Callable
from typing import Any

from restrict.model.document import Variable, accept, head, mapped, model

Model = dict[str, Any]

BITS = ["0", "1"]


def _head(name: str, value: str, score: str, **more: str | int) -> Variable:
    """A head; `more` holds `query`, `key`, `mask`, `ties`, `domain`, `default`."""
    return head(name, value=value, **more, score=score)


def _labels(variable: str, labels: list[str], position: str = "last") -> dict[str, Any]:
    """Output with a label per value."""
    return {"variable": variable, "position": position, "labels": labels}


# --- one look ---


def contains_one() -> Model:
    """Accepts the words with at least one 1. The head sees a 1 if there is one."""
    seen = _head("seen", "token", "k == 1", key="token")
    return model("contains-one", "Accepts if some symbol is 1.", BITS, [seen], accept("seen", 1))


def all_ones() -> Model:
    """Accepts `1*`. The head sees a 0 if there is one."""
    seen = _head("seen", "token", "k == 0", key="token")
    return model("all-ones", "Accepts the words of ones, 1*.", BITS, [seen], accept("seen", 1))


def first_symbol() -> Model:
    """Accepts the words that begin with 1."""
    first = _head("first", "token", "j == 0")
    return model("first-symbol", "Accepts if the first symbol is 1.", BITS, [first], accept("first", 1))


def a_n_b_n() -> Model:
    """Accepts `a^m b^m` for `n = 2m`, `m >= 1`.

    Every position knows which symbol it must have; one head looks for a position that has the other one. At odd `n`
    every position is wrong.
    """
    wrong = mapped("wrong", ["token", "position"], 2, "n % 2 == 1 or token != (2 * position >= n)")
    violation = _head("violation", "wrong", "k", key="wrong")
    text = "Accepts a^m b^m with n = 2m and m >= 1; rejects every word of odd length."
    return model("anbn", text, ["a", "b"], [wrong, violation], accept("violation", 0))


def q_then_u() -> Model:
    """Over the 26 letters: every q is immediately followed by u (so the last letter is not q)."""
    letters = [chr(ord("a") + index) for index in range(26)]
    follows = _head("next", "token", "0", mask="strict_future", domain=27, default=26)
    wrong = mapped("wrong", ["token", "next"], 2, "token == 16 and next != 20")
    violation = _head("violation", "wrong", "k", key="wrong")
    text = "Accepts if every q is immediately followed by u."
    return model("q-then-u", text, letters, [follows, wrong, violation], accept("violation", 0))


# --- alternating formulas ---


def _gate(name: str, source: str, kind: str, inside: str = "1", leader: str = "1") -> Variable:
    """The AND or OR of `source` over the positions where `inside` and `leader` hold.

    A pair there scores 1, or 2 where it decides the gate (a 0 for AND, a 1 for OR), and all others score 0. So the
    winner is the leftmost deciding position, or the leftmost of the gate's inputs when none decides. `inside` says
    that `j` is in the group of `i`, `leader` that `j` stands for its own group.
    """
    decides = "k == 0" if kind == "and" else "k == 1"
    where = " * ".join(f"({part})" for part in (inside, leader) if part != "1")
    return _head(name, source, f"{where} * (1 + ({decides}))", key=source)


def _square(name: str, inner: str, outer: str) -> Model:
    """Two layers of gates over `n = m * m` inputs in `m` blocks of `m`. The block of `j` is `j // m`."""
    blocks = _gate("block", "token", inner, inside="j // isqrt(n) == i // isqrt(n)")
    whole = _gate("whole", "block", outer, leader="j % isqrt(n) == 0")
    text = f"The {outer.upper()} over m blocks of the {inner.upper()} of m inputs, n = m * m."
    return model(name, text, BITS, [blocks, whole], accept("whole", 1), when="isqrt(n) * isqrt(n) == n")


def and_of_ors() -> Model:
    """AND over `m` blocks of the OR of `m` inputs, `n = m * m`. Either output is forced by exactly `m` inputs."""
    return _square("and-of-ors", "or", "and")


def or_of_ands() -> Model:
    """OR over `m` blocks of the AND of `m` inputs, `n = m * m`. Either output is forced by exactly `m` inputs."""
    return _square("or-of-ands", "and", "or")


def alternating_tree(bottom: int = 8, middle: int = 8) -> Model:
    """AND of ORs of ANDs.

    Forcing 1 costs exactly the product of the AND fan-ins, `(n // (bottom * middle)) * bottom`; forcing 0 exactly the
    product of the OR fan-ins, `middle`. ``bottom``: inputs per AND, at least 1; ``middle``: ANDs per OR, at least 1.
    There are `n // (bottom * middle)` ORs.
    """
    size = bottom * middle
    variables = [
        _gate("low", "token", "and", inside=f"j // {bottom} == i // {bottom}"),
        _gate("middle", "low", "or", inside=f"j // {size} == i // {size}", leader=f"j % {bottom} == 0"),
        _gate("top", "middle", "and", leader=f"j % {size} == 0"),
    ]
    text = f"AND of n // {size} ORs of {middle} ANDs of {bottom} inputs."
    return model("alternating-tree", text, BITS, variables, accept("top", 1), when=f"n % {size} == 0")


def tribes(width: int = 8) -> Model:
    """OR over `n // width` tribes of the AND of their members.

    Forcing 1 costs exactly `width`, forcing 0 exactly `n // width`. ``width``: members per tribe, at least 1.
    """
    variables = [
        _gate("tribe", "token", "and", inside=f"j // {width} == i // {width}"),
        _gate("some", "tribe", "or", leader=f"j % {width} == 0"),
    ]
    text = f"Accepts if some tribe of {width} consecutive positions is all ones."
    return model("tribes", text, BITS, variables, accept("some", 1), when=f"n % {width} == 0")


# --- memory ---


def flip_flop() -> Model:
    """The bit of the last write (`w0`, `w1`) at or before the last position, 0 if there is none.

    `i` is ignored and `r` reads. The head takes the rightmost write; with no write it brings an `i` or `r`, which is
    not 1.
    """
    last = _head("last", "token", "k <= 1", key="token", mask="past", ties="right")
    bit = mapped("bit", ["last"], 2, "last == 1")
    text = "The bit of the last write: w0 and w1 write, i is ignored, r reads; 0 before the first write."
    return model("flip-flop", text, ["w0", "w1", "i", "r"], [last, bit], _labels("bit", ["0", "1"]))


def induction_head(letters: int = 4) -> Model:
    """The symbol that followed the most recent earlier occurrence of the last symbol, or `none`.

    `previous` is the symbol before each position. The two heads of the second layer attend to the same position: the
    rightmost `j <= i` whose previous symbol is the current one, and the symbol at that `j` is what followed it. If no
    `j` matches, `matched` brings a symbol that is not the current one, which is how the map knows. ``letters``: the
    size of the alphabet, 1 .. 26: the first letters from `a`.
    """
    alphabet = [chr(ord("a") + index) for index in range(letters)]
    variables = [
        _head("previous", "token", "j", mask="strict_past", domain=letters + 1, default=letters),
        _head("matched", "previous", "k == q", query="token", key="previous", mask="past", ties="right"),
        _head("copied", "token", "k == q", query="token", key="previous", mask="past", ties="right"),
        mapped("answer", ["token", "matched", "copied"], letters + 1, f"copied if matched == token else {letters}"),
    ]
    text = "The symbol after the most recent earlier occurrence of the last symbol, or none."
    return model("induction-head", text, alphabet, variables, _labels("answer", [*alphabet, "none"]))


def tagger(letters: int = 3) -> Model:
    """Tags every letter `first` (not seen before), `double` (equal to the symbol just before) or `again`.

    ``letters``: the size of the alphabet, 1 .. 26: the first letters from `a`.
    """
    alphabet = [chr(ord("a") + index) for index in range(letters)]
    none: dict[str, str | int] = {"mask": "strict_past", "domain": letters + 1, "default": letters}
    variables = [
        _head("previous", "token", "j", **none),
        _head("seen", "token", "k == q", query="token", key="token", **none),
        mapped("tag", ["token", "previous", "seen"], 3, "2 if previous == token else 1 if seen == token else 0"),
    ]
    text = "Tags every letter: first, again (seen before, but not just before) or double (the same as just before)."
    return model("tagger", text, alphabet, variables, _labels("tag", ["first", "again", "double"], "every"))


# --- Dyck languages of bounded depth ---


def _dyck1(depth: int) -> Model:
    """A recogniser of Dyck-1 with nesting depth at most `depth`, 2 or 3, over `(` and `)`.

    At even boundaries the height of a legal prefix is even and at most 3, so it is 0 or 2. Take the symbols in pairs.
    A pair is legal, and leads to a legal boundary, exactly so:
      `((` at height 0 only, leads to 2;  `))` at height 2 only, leads to 0;  `)(` at height 2 only, keeps it;
      `()` keeps the height: at height 0 always, at height 2 only for depth 3 (it passes through 3).
    Up to and including the first illegal pair, the height before a pair is therefore 2 exactly if the last pair
    before it among `((` and `))` is `((`; `high` is right there, and that pair is found. If no pair is illegal, `high`
    is right everywhere, and the word is legal exactly if its length is even and the height after the last pair is 0.
    """
    nested = "high" if depth == 2 else "0"
    illegal = f"high if pair == 0 else {nested} if pair == 1 else not high if pair < 4 else 0"
    open_end = "i == n - 1 and (pair == 0 or high and pair != 3)"
    variables = [
        _head("previous", "token", "j", mask="strict_past"),
        # 0 to 3 at odd positions: (( () )( )); 4 at even positions, where no pair ends.
        mapped("pair", ["previous", "token"], 5, "2 * previous + token if i % 2 == 1 else 4"),
        _head("change", "pair", "k == 0 or k == 3", key="pair", mask="strict_past", ties="right", default=4),
        mapped("high", ["change"], 2, "change == 0"),
        mapped("wrong", ["pair", "high"], 2, f"n % 2 == 1 or ({illegal}) or {open_end}"),
        _head("violation", "wrong", "k", key="wrong"),
    ]
    text = f"Accepts the balanced words of one kind of bracket with nesting depth at most {depth}."
    return model(f"dyck1-depth{depth}", text, ["(", ")"], variables, accept("violation", 0))


def dyck1_depth2() -> Model:
    """A recogniser of Dyck-1 with nesting depth at most 2."""
    return _dyck1(2)


def dyck1_depth3() -> Model:
    """A recogniser of Dyck-1 with nesting depth at most 3."""
    return _dyck1(3)


# --- parity, as far as it goes ---


def parity8(width: int = 8) -> Model:
    """Accepts if the first symbols have an odd number of ones: one head per symbol and one map.

    ``width``: how many symbols count, 1 .. 2000.
    """
    bits = [f"bit{index}" for index in range(width)]
    heads = [_head(bit, "token", f"j == {index}") for index, bit in enumerate(bits)]
    odd = mapped("odd", bits, 2, f"({' + '.join(bits)}) % 2")
    text = f"Accepts if the first {width} symbols have an odd number of ones."
    return model(f"parity{width}", text, BITS, [*heads, odd], accept("odd", 1), when=f"n >= {width}")


def parity_attempt(layers: int = 4) -> Model:
    """PARITY tried with some layers: right for `n <= layers + 2` (both markers counted), wrong beyond.

    `parity0` is the symbol itself (0 at the markers). Layer `l` reads `parity(l-1)` one position to the left, so
    `parity l` at `i` is the parity of the symbols at `i - l .. i`; where nothing is to the left the default is 0, and
    the start marker counts 0. At the end marker the last layer holds the parity of the last `layers` symbols: of the
    whole word if it has at most `layers`; otherwise the first symbol is ignored. ``layers``: 1 .. 2000. Gives the
    object of a model file, for every `n >= 2`.
    """
    variables = [mapped("parity0", ["token"], 2, "token == 1")]
    for layer in range(1, layers + 1):
        below = f"parity{layer - 1}"
        variables.append(_head(f"left{layer}", below, "j", mask="strict_past"))
        variables.append(mapped(f"parity{layer}", ["parity0", f"left{layer}"], 2, f"parity0 != left{layer}"))
    text = f"Tries PARITY with {layers} layers: exact for words of up to {layers} symbols, wrong for longer ones."
    markers = {"start_marker": "<", "end_marker": ">"}
    return model("parity-attempt", text, BITS, variables, accept(f"parity{layers}", 1), **markers)


BUILTINS: dict[str, Callable[..., Model]] = {
    build()["name"]: build
    for build in (
        contains_one, all_ones, first_symbol, a_n_b_n, q_then_u, and_of_ors, or_of_ands, alternating_tree, tribes,
        flip_flop, induction_head, tagger, dyck1_depth2, dyck1_depth3, parity8, parity_attempt,
    )
}  # fmt: skip
