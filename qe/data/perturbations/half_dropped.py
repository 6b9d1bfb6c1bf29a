"""Half of the words left out."""

import random

from qe.data.perturbation import Perturbation, Texts, joined, words


class HalfDropped(Perturbation):
    """Words drawn at random are gone; the others keep their order."""

    effect = "destroying"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        units = words(texts.target[row])
        kept = sorted(draw.sample(range(len(units)), (len(units) + 1) // 2))
        return joined([units[i] for i in kept], texts.target[row]) if len(units) > 1 else None
