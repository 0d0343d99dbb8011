"""What a program decides, as a language: a model file, a built-in model, or a formula of temporal logic."""

from collections.abc import Sequence

from restrict.all_lengths.verify import language_of_model
from restrict.base.errors import ModelError, UsageError, quote
from restrict.base.files import is_there
from restrict.languages.regular import Regular
from restrict.model.program import Model
from restrict.model.source import load


def program_of(text: str, alphabet: Sequence[str]) -> Model:
    """The hard-attention program of a text. ``text``: a model file, a built-in model, or a formula that is true at the
    last position of what it accepts. Gives the model; a formula is compiled."""
    from restrict.logic import compile_formula, parse

    if is_there(text) or text.endswith(".json"):
        return load(text)
    try:
        return load(text)
    except UsageError:
        pass
    try:
        return compile_formula(parse(text, alphabet), alphabet)
    except UsageError as error:
        raise UsageError(f"{quote(text)} is neither a model nor a formula over {' '.join(alphabet)}: {error}") from None


def decides_empty(program: Model) -> bool:
    """Whether a program is defined on the empty word: not without markers, as there is no last position."""
    try:
        program.run(())
    except (ModelError, UsageError):
        return False
    return True


def decisions_of(program: Model, alphabet: Sequence[str]) -> Regular:
    """What an order-only program, with ``accept`` at the last position, accepts at every length, over an alphabet that
    it must have; words at which it is not defined are not in it."""
    if set(program.alphabet) != set(alphabet):
        raise UsageError(
            f"{program.name} is over {quote(' '.join(program.alphabet))}, not over {quote(' '.join(alphabet))}"
        )
    return language_of_model(program)
