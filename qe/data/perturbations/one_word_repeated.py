"""One word repeated in place of every word."""

import random

from qe.data.perturbation import Perturbation, Texts, joined, words


class OneWordRepeated(Perturbation):
    """A word drawn from all translations, as often as the translation has words."""

    effect = "destroying"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        units = words(texts.target[row])
        return joined([draw.choice(texts.target_words)] * max(len(units), 3), texts.target[row])
