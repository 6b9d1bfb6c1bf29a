"""The translation of another segment."""

import random

from qe.data.perturbation import Perturbation, Texts, words

_TRIES = 20


class OtherSegment(Perturbation):
    """A translation of about the same length, drawn from the other rows."""

    effect = "destroying"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        own = texts.target[row]
        others = [draw.choice(texts.target) for _ in range(_TRIES)]
        different = [text for text in others if text != own]
        return min(different, key=lambda text: _distance(text, own)) if different else None


def _distance(text: str, other: str) -> int:
    return abs(len(words(text)) - len(words(other)))
