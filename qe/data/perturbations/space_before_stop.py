"""A blank more before the full stop."""

import random

from qe.data.perturbation import Perturbation, Texts


class SpaceBeforeStop(Perturbation):
    """`word .` for `word.`; a stop that stands apart is not joined to its word, another token."""

    effect = "harmless"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        text = texts.target[row].rstrip()
        if not text.endswith(".") or text.endswith(".."):
            return None
        return f"{text[:-1]} ."
