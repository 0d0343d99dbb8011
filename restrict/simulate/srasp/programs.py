"""Published S-RASP programs: Dyck-k, k-hop induction heads, the flip-flop (Yang et al. 2024, section 6 and E)."""

from restrict.base.errors import UsageError

BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"))


def dyck(k: int = 1) -> str:
    """Dyck-k: balanced words over ``k`` kinds of brackets (appendix E). ``left`` and ``right`` count brackets; where
    there are more right ones there is an error. ``depth`` is the depth of nesting after a left bracket and before a
    right one. A right bracket must have the left bracket of its kind as the nearest bracket before it with the same
    depth. A prefix without an error is right so far; it is in Dyck-k if the counts agree, too. ``k``: 1 to 4."""
    if not 1 <= k <= len(BRACKETS):
        raise UsageError(f"k = {k} must be 1 .. {len(BRACKETS)}")
    pairs = BRACKETS[:k]
    lefts = " or ".join(f'Q_"{a}"(j)' for a, _ in pairs)
    rights = " or ".join(f'Q_"{b}"(j)' for _, b in pairs)
    lines = [f"alphabet: {' '.join(s for p in pairs for s in p)}", f"left(i) = psum [j <= i] ({lefts})",
             f"right(i) = psum [j <= i] ({rights})", f"closes(i) = {rights.replace('(j)', '(i)')}",
             "depth(i) = min(max(left(i) - right(i) + closes(i), 0), pos(i))"]  # fmt: skip
    for at, (a, _) in enumerate(pairs):
        lines.append(f'prev{at}(i) = rightmost [j < i, depth(i) == depth(j)] Q_"{a}"(j) : 0')
    wrong = " or ".join(f'Q_"{b}"(i) and not prev{at}(i)' for at, (_, b) in enumerate(pairs))
    lines += [f"error(i) = left(i) < right(i) or {wrong}", "bad(i) = rightmost [j <= i, error(j)] 1 : 0",
              "member(i) = not bad(i) and left(i) == right(i)", "output: member"]  # fmt: skip
    return "\n".join(lines) + "\n"


def induction(hops: int = 1, letters: str = "ab", ask: str = "a") -> str:
    """k-hop induction: does the ``hops``-fold most recent continuation of the last symbol end in ``ask``?

    One hop from position ``p`` goes to the nearest position after an earlier occurrence of the symbol at ``p``.

    ``hops``: at least 1.
    """
    if hops < 1 or ask not in letters:
        raise UsageError("at least one hop, and a symbol of the alphabet, are needed")
    lines = [f"alphabet: {' '.join(letters)}"]
    lines += [f"before_{a}(i) = rightmost [j < i, 1] Q_{a}(j) : 0" for a in letters]
    same = " or ".join(f"Q_{a}(i) and before_{a}(j)" for a in letters)
    lines.append(f"to1(i) = rightmost [j <= i, {same}] pos(j) : 0")
    lines += [f"to{h}(i) = rightmost [j <= i, to{h - 1}(i) == pos(j)] to1(j) : 0" for h in range(2, hops + 1)]
    lines.append(f"answer(i) = rightmost [j <= i, to{hops}(i) == pos(j)] Q_{ask}(j) : 0")
    return "\n".join([*lines, "output: answer"]) + "\n"


def flip_flop() -> str:
    """The bit of the last write: ``w0`` and ``w1`` write, ``x`` does nothing."""
    return "alphabet: w0 w1 x\nbit(i) = rightmost [j <= i, Q_w0(j) or Q_w1(j)] Q_w1(j) : 0\noutput: bit\n"
