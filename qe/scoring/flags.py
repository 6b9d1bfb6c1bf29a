"""Flags: what the checks find in a translation, beside its score."""

from typing import Self

from qe.models.model import Model
from qe.scoring.check import CHECKS, Checks, Knowledge


class Flags(Checks):
    """The checks that are flags; the text of a row's column `flags`."""

    @classmethod
    def of(cls, model: Model) -> Self:
        """All flags, with the languages and the lexicon of a model."""
        return cls.knowing(Knowledge.of(model))

    @classmethod
    def knowing(cls, knowledge: Knowledge) -> Self:
        """All flags that can be looked for with this knowledge."""
        settings = {name: CHECKS.get(name).flag for name in CHECKS.names}
        return cls.make(knowledge, {name: flag for name, flag in settings.items() if flag is not None})

    def text(self, source: str, target: str) -> str:
        """Such as `negation: nicht; numbers: 15, 50`; empty if nothing is found."""
        return "; ".join(f"{name}: {', '.join(words)}" for name, words in self.words(source, target).items())


def kinds_of(text: str | None) -> tuple[str, ...]:
    """The checks that `Flags.text` names.

    >>> kinds_of("negation: nicht; numbers: 15, 50"), kinds_of(None)
    (('negation', 'numbers'), ())
    """
    if not text:
        return ()
    known, parts = CHECKS.names, (part.partition(": ")[0] for part in text.split("; "))
    return tuple(part for part in parts if part in known)
