"""The options of restrictions of softmax models: :mod:`restrict.base.options` says what a row is."""

from dataclasses import dataclass

from restrict.base.options import HUGE, option


@dataclass
class ForcedOptions:
    """Of the search for what forces a label."""

    margins: tuple[float, ...] = option((0.02, 0.1, 0.3), 0, 1, "the search aims this much below epsilon", (0.02,))
    """Relatively, as the re-check centres some sets elsewhere; the next one is taken where the re-check does not
    follow."""
    starts: int = option(3, 1, HUGE, "words that are followed for one last symbol and one sign of the label", 1)


FORCED = ForcedOptions()
