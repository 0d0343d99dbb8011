"""The usual alphabet of brackets, for models and for the Dyck languages."""

from dataclasses import dataclass

from restrict.base.errors import UsageError

PLAIN = ("()", "[]", "{}", "<>")
MAX_TYPES = 64


def bracket_alphabet(k: int) -> tuple[str, ...]:
    """``k`` openers, each before its closer: ``( ) [ ] { } < >``, then ``(5 )5`` and so on."""
    if not 1 <= k <= MAX_TYPES:
        raise UsageError(f"the number of bracket types must be 1 to 64, not {k}")
    pairs = [tuple(PLAIN[t]) if t < len(PLAIN) else (f"({t + 1}", f"){t + 1}") for t in range(k)]
    return tuple(s for pair in pairs for s in pair)


@dataclass(frozen=True)
class Brackets:
    """``k`` types of bracket; ``letters`` are their symbols where they are not the usual ones."""

    k: int
    letters: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        usual = bracket_alphabet(self.k)
        given = self.letters or usual
        if len(given) != len(usual) or len(set(given)) != len(given) or "*" in given:
            raise UsageError(
                f"{self.k} types of bracket take {len(usual)} different symbols, each opener followed by its closer, "
                f"and '*' means free; these are {' '.join(given)[:60]}"
            )
        object.__setattr__(self, "letters", () if given == usual else given)

    @property
    def alphabet(self) -> tuple[str, ...]:
        """Openers and closers, type by type."""
        return self.letters or bracket_alphabet(self.k)

    def spec_of(self, name: str, more: str = "") -> str:
        """A language over these brackets: ``name:k``, or ``name[SYMBOLS]:k`` where the letters are others."""
        return f"{name}[{' '.join(self.letters)}]:{self.k}{more}" if self.letters else f"{name}:{self.k}{more}"
