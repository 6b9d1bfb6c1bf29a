"""Punctuation in place of every word."""

import random

from qe.data.perturbation import Perturbation, Texts, words


class PunctuationOnly(Perturbation):
    """One mark for each word of the translation, such as `. , ! - .`."""

    effect = "destroying"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        return " ".join(draw.choice(".,;:!?-") for _ in words(texts.target[row]))
