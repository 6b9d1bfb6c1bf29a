"""Language model and IBM Model 1 scores of unit texts (tags, tag n-grams, morphemes; Popovic 2012)."""

from dataclasses import dataclass

import numpy as np

from features.basics.array_types import FloatArray
from features.core.columns import Column
from features.resources.language_model import LMScores
from features.resources.lexicon import WordScores
from features.text.tokens import Tokens, ratio, segment_sum


@dataclass(frozen=True, eq=False)
class Modelled:
    """Texts of units and their language model scores; all NaN for an empty text."""

    units: Tokens
    scores: LMScores

    @property
    def log10(self) -> FloatArray:
        total = segment_sum(self.scores.log10, self.scores.offsets)
        return np.where(self.units.lengths > 0, total, np.nan)

    @property
    def per_unit(self) -> FloatArray:
        return ratio(self.log10, self.units.lengths)

    @property
    def perplexity(self) -> FloatArray:
        return np.asarray(10 ** -ratio(self.log10, self.units.lengths + 1), np.float64)


def model_columns(unit: str, origin: str) -> tuple[Column[Modelled], ...]:
    """Language model columns of units, as in Popovic 2012 (DFKI at WMT12), sections 2.1 and 2.2."""
    end = "log10 probability, end included"
    return (
        Column("log10", end, origin, "log10", lambda m: m.log10),
        Column(f"per_{unit}", f"{end}, per {unit}", origin, f"log10 per {unit}", lambda m: m.per_unit),
        Column("perplexity", "perplexity, end included", origin, "choices", lambda m: m.perplexity),
    )


@dataclass(frozen=True, eq=False)
class Translated:
    """IBM Model 1 scores of one side's units given the other's; NaN if a side has none."""

    direct: WordScores
    inverse: WordScores

    @property
    def log10(self) -> FloatArray:
        defined = (np.diff(self.direct.offsets) > 0) & (np.diff(self.inverse.offsets) > 0)
        return np.where(defined, self.direct.log10(), np.nan)

    @property
    def per_unit(self) -> FloatArray:
        return ratio(self.log10, np.diff(self.direct.offsets))


def translated_columns(
    name: str, units: str, origin: str, side: str, inverse: str, undefined: str
) -> tuple[Column[Translated], ...]:
    """IBM Model 1 columns of a side's units: log-probability, total and per unit."""
    what, many = f"log10 p({side} {units} | {inverse} {units}), IBM Model 1", units.split()[-1]
    each = f"{what}, divided by the number of {side} {many}; {undefined}"
    return (
        Column("log10", f"{what}; {undefined}", origin, "log10", lambda t: t.log10),
        Column(f"per_{name}", each, origin, f"log10 per {many.removesuffix('s')}", lambda t: t.per_unit),
    )
