"""WordLevel: how probable it is that each token and gap of a translation is wrong, by a trained model."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from features.core.errors import InputError
from features.core.segments import Segments
from qe.models.model import Model

if TYPE_CHECKING:
    from features.word_quality import WordQuality

_DIGITS = 6


@dataclass(frozen=True, eq=False)
class WordLevel:
    """The fitted word-level part of a model: its `word_quality`, or a kind derived from it that sees more."""

    extractor: "WordQuality"

    @classmethod
    def of(cls, model: Model) -> Self:
        """Raises InputError for a model without a word-level part."""
        from features.word_quality import WordQuality

        extractors = [e for e in model.feature_set.extractors if isinstance(e, WordQuality)]
        if not extractors:
            raise InputError(
                f"the model '{model.name}' has no word-level part",
                where="--tokens",
                remedy="train one with the features word_quality or word_quality_decoder",
            )
        return cls(next(e for e in extractors if not any(_derived(other, e) for other in extractors)))

    def columns(self, segments: Segments) -> dict[str, list[list[Any]]]:
        """Per segment `tokens` (n), `bad` (n) and `gaps` (n + 1: before each token, and after the last).

        P(BAD) is rounded to six digits after the point.
        """
        quality = self.extractor.tokens(segments)
        target = segments.target_tokens
        return {
            "tokens": [target.words(i) for i in range(len(target))],
            "bad": _rows(quality.words, quality.offsets),
            "gaps": _rows(quality.gaps, quality.gap_offsets),
        }


def _derived(one: object, other: object) -> bool:
    """Whether one's kind is derived from the other's: it sees what that sees, and more."""
    return type(one) is not type(other) and isinstance(one, type(other))


def _rows(values: NDArray[np.float64], offsets: Sequence[int] | NDArray[np.int64]) -> list[list[float]]:
    rounded = np.round(values.astype(np.float64), _DIGITS).tolist()
    return [rounded[first:last] for first, last in pairwise(np.asarray(offsets).tolist())]
