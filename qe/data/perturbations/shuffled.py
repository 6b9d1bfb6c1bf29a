"""The words in another order."""

import random

from qe.data.perturbation import Perturbation, Texts, joined, words


class Shuffled(Perturbation):
    """All words in a random order; rows of fewer than three words stay."""

    effect = "destroying"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        units = words(texts.target[row])
        draw.shuffle(units)
        return joined(units, texts.target[row]) if len(units) > 2 else None
