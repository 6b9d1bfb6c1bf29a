"""A blank before the full stop."""

import random

from qe.data.perturbation import Perturbation, Texts


class SpaceBeforeStop(Perturbation):
    """`word .` for `word.`, or the other way round."""

    effect = "harmless"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        text = texts.target[row].rstrip()
        if not text.endswith(".") or text.endswith(".."):
            return None
        body = text[:-1]
        return body.rstrip() + "." if body.endswith(" ") else body + " ."
