"""A third of the words replaced by other words of the corpus."""

import random

from qe.data.perturbation import Perturbation, Texts, joined, words


class ThirdReplaced(Perturbation):
    """Words drawn at random become words drawn from all translations."""

    effect = "destroying"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        units = words(texts.target[row])
        for i in draw.sample(range(len(units)), -(-len(units) // 3)):
            units[i] = draw.choice(texts.target_words)
        return joined(units, texts.target[row])
