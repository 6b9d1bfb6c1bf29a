"""One negation dropped."""

import random

import regex

from features.text.negators import NEGATORS
from qe.data.perturbation import Perturbation, Texts


class NegationDropped(Perturbation):
    """One negator of the translation is left out; languages without a list of negators stay."""

    effect = "wrong in one place"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        pattern = NEGATORS.get(texts.target_language)
        text = texts.target[row]
        if pattern is None:
            return None
        found = list(regex.finditer(rf"(?i)(?<![\w'’])(?:{pattern})(?!\w|['’]\w)\s*", text))
        if not found:
            return None
        match = draw.choice(found)
        return (text[: match.start()] + text[match.end() :]).strip()
