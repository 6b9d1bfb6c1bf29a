"""Order of words shared with a pseudo-reference: kept, moved alone, in a group, far."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from features.basics.array_types import FloatArray
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.edits.edit_labels import edit_labels
from features.text.stems import base_form_tokens, base_forms
from features.text.tokens import ratio, segment_sum

_MOVES = (
    ("same", "kept their place"),
    ("alone", "moved alone"),
    ("group", "moved together with a neighbour"),
    ("by_1", "moved by one place"),
    ("further", "moved by two places or more"),
)
_ORIGIN = "Koponen 2012, Comparing human perceptions of post-editing effort with post-editing operations, 3"


@dataclass(frozen=True)
class WordMoves(Extractor):
    """Shares of paired target words by their movement in a second translation, which replaces the post-edit.

    Words are paired by `features.edits.edit_labels`, lower-cased; positions count paired words only. Base
    forms come from simplemma for the target language. `error_classes` has the source's other edit categories.

    Raises InputError for a target language without base forms.
    """

    plain: ClassVar[str] = "words that another translation has in another order"

    @property
    def features(self) -> Sequence[Feature]:
        return [
            Feature(
                f"word_moves_{name}",
                f"words paired with the pseudo-reference that {text}, per paired word; NaN without any",
                _ORIGIN,
                "share",
            )
            for name, text in _MOVES
        ]

    def requires(self) -> tuple[str, ...]:
        return ("pseudo_reference",)

    def extract(self, segments: Segments) -> FloatArray:
        language = segments.target_tokenizer.language
        base_forms((), language)  # raises InputError early
        words = segments.target_tokens.lower(), segments.pseudo_reference_tokens.lower()
        lemmas = base_form_tokens(words[0], language), base_form_tokens(words[1], language)
        labels = edit_labels(words, lemmas)
        paired = labels.partners >= 0
        distances, sizes = labels.target_order.distances, labels.target_order.group_sizes
        kinds = (paired & (distances == 0), sizes == 1, sizes > 1, distances == 1, distances > 1)
        offsets = words[0].offsets
        totals = segment_sum(paired, offsets)
        return np.column_stack([ratio(segment_sum(kind, offsets), totals) for kind in kinds])
