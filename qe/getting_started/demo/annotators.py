"""Three judges of different strictness, who score the effort of post-editing from 1 to 5."""

from dataclasses import dataclass
from math import sqrt

from qe.getting_started.demo.dice import Dice
from qe.getting_started.demo.translator import Translation

LOW, HIGH = 1, 5


@dataclass(frozen=True)
class Judge:
    """A judge's habits.

    weight      share of this judge in the official score
    strictness  how many points below the typical judge this one scores
    sharpness   how far this judge spreads good and bad apart
    noise       sd of the judge's own mood, in points
    """

    weight: float
    strictness: float
    sharpness: float
    noise: float

    def score(self, quality: float, dice: Dice) -> int:
        """An integer from 1 (translate from scratch) to 5 (hardly any editing) for a true quality."""
        felt = MIDDLE + self.sharpness * (quality - MIDDLE) - self.strictness + self.noise * dice.normal()
        return round(min(max(felt, LOW), HIGH))


MIDDLE = 3.5
# Weights as in the WMT12 training set; the strictest judge counts most there too.
JUDGES = (
    Judge(weight=0.33, strictness=0.0, sharpness=1.0, noise=0.60),
    Judge(weight=0.17, strictness=-0.30, sharpness=0.85, noise=0.60),
    Judge(weight=0.50, strictness=0.25, sharpness=1.10, noise=0.60),
)


def true_quality(translation: Translation) -> float:
    """What a judge without mood or habits would feel, in points; may leave the scale.

    Severity per word counts most; the sheer amount of work also counts.
    """
    density = translation.severity / max(len(translation.tokens), 1)
    return 4.95 - 4.2 * sqrt(density) - 0.13 * sqrt(translation.severity)


def judge(translation: Translation, dice: Dice) -> tuple[int, ...]:
    """One score per judge."""
    quality = true_quality(translation)
    return tuple(one.score(quality, dice) for one in JUDGES)


def weighted_mean(scores: tuple[int, ...]) -> float:
    """The official score: the weighted mean, rounded to one decimal."""
    return round(sum(one.weight * score for one, score in zip(JUDGES, scores, strict=True)) + 1e-9, 1)
