"""HTML tags around words."""

import random

from qe.data.perturbation import Perturbation, Texts


class HtmlTags(Perturbation):
    """Every fifth word, drawn at random, stands between `<b>` and `</b>`."""

    effect = "reported"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        units = texts.target[row].split()
        for i in draw.sample(range(len(units)), -(-len(units) // 5)):
            units[i] = f"<b>{units[i]}</b>"
        return " ".join(units)
