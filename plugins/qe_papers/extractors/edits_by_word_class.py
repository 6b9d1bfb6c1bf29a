"""Edits that would turn the translation into a pseudo-reference, by word class."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from features.basics.array_types import FloatArray
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.edits.edit_labels import CATEGORIES, EDITS, WORD_CLASSES, edit_counts, edit_labels
from features.text.annotation import layers, word_class_tokens
from features.text.stems import annotated_lemmas
from features.text.tokens import Tokens, ratio

_CHANGED = {"word_changed": "another word of the same class", "pos_changed": "a word of another class"}
_ORIGIN = "Koponen 2012, Comparing human perceptions of post-editing effort with post-editing operations, 3"


@dataclass(frozen=True)
class EditsByWordClass(Extractor):
    """Shares of words replaced, edited at all, or moved in a second translation, by word class.

    Edits are those of `features.edits.edit_labels`, lower-cased; a share is NaN without such words. Lemmas
    come from the annotations, or from simplemma if they have none.
    """

    plain: ClassVar[str] = "which kinds of words another translation has otherwise"

    @property
    def features(self) -> Sequence[Feature]:
        columns = [
            Feature(f"edits_{name}", f"words that the pseudo-reference has {text} for", _ORIGIN, "share")
            for name, text in _CHANGED.items()
        ]
        for name in WORD_CLASSES:
            noun = f"{name}s" if name not in ("other", "punctuation") else f"words of the class {name}"
            edited, moved = f"{noun} that differ in the pseudo-reference", f"paired {noun} in another place"
            columns.append(Feature(f"edits_{name}_edited", edited, _ORIGIN, "share"))
            columns.append(Feature(f"edits_{name}_moved", f"{moved} there", _ORIGIN, "share"))
        return columns

    def requires(self) -> tuple[str, ...]:
        return ("pseudo_reference", "annotation_target", "annotation_pseudo_reference")

    def extract(self, segments: Segments) -> FloatArray:
        sides = [_annotated(segments, side) for side in ("target", "pseudo_reference")]
        words, lemmas, classes = ((sides[0][k], sides[1][k]) for k in range(3))
        labels = edit_labels(words, lemmas, classes)
        counts = edit_counts(labels, classes).counts
        edits = counts[:, :, : len(EDITS)]
        whole, of_class = edits.sum(axis=(1, 2)), edits.sum(axis=2)
        changed = [edits[:, :, EDITS.index(name)].sum(axis=1) for name in _CHANGED]
        edited = of_class - edits[:, :, EDITS.index("match")]
        kept = counts[:, :, CATEGORIES.index("order_same")]
        near, far = (CATEGORIES.index(name) for name in ("distance_1", "distance_2_or_more"))
        moved = counts[:, :, near] + counts[:, :, far]
        by_class = np.stack([ratio(edited, of_class), ratio(moved, kept + moved)], axis=2)
        columns = by_class.reshape(len(counts), 2 * len(WORD_CLASSES))
        return np.hstack([*(ratio(column, whole)[:, None] for column in changed), columns])


def _annotated(segments: Segments, side: str) -> tuple[Tokens, Tokens, Tokens]:
    column = f"annotation_{side}"
    tokens: Tokens = getattr(segments, f"{side}_tokens")
    lemma, upos = layers(segments.require(column), tokens, ("lemma", "upos"), column)
    language = segments.target_tokenizer.language
    return tokens.lower(), annotated_lemmas(tokens, lemma, language), word_class_tokens(tokens.lower(), upos)
