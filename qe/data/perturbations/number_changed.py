"""One number changed."""

import random

import regex

from qe.data.perturbation import Perturbation, Texts


class NumberChanged(Perturbation):
    """One digit of the translation becomes another one."""

    effect = "wrong in one place"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        text = texts.target[row]
        digits = [match.start() for match in regex.finditer("[0-9]", text)]
        if not digits:
            return None
        at = draw.choice(digits)
        other = str((int(text[at]) + draw.randint(1, 9)) % 10)
        return text[:at] + other + text[at + 1 :]
