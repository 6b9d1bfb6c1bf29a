"""P(BAD) of source words: the probability that they were translated wrongly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count, Seed
from features.core.extractor import Feature
from features.core.segments import Segments
from features.word_level.knowledge import AGGREGATES, aggregate
from features.word_level.labels import PROBABILITIES, Flags
from features.word_level.model import TokenModel
from features.word_level.places import Kind, Places, WordLevelExtractor
from features.word_level.two_sides import TwoSides

_ORIGIN = "this project: feasibility study on MLQE-PE (source tags as in WMT20 task 2)"


@dataclass(frozen=True, eq=False)
class SourceWordQuality(TwoSides, WordLevelExtractor):
    """P(BAD) of every source token, 16 aggregates per segment.

    knowledge  additional knowledge of words, as for `word_network`
    labels  `source_tags`: given tags, one per source token; `post_edit`: a source token is BAD where a target
            token it is linked with is, by a cheapest edit; `word_tags`: the same by tags of the translation,
            where the training data has no tags of the source
    marker  how subwords join, as for `decoder`
    texts   of the training segments, as for `word_quality`
    triples as for `word_quality`
    rounds  of boosting
    seed    of boosting

    Everything is NaN for an empty source.
    """

    plain: ClassVar[str] = "words of the source that look badly translated"

    name: ClassVar[str] = "source_word_quality"
    judges: ClassVar[tuple[Kind, ...]] = ("source",)

    rounds: Count = 150
    seed: Seed = 0
    _model: TokenModel | None = field(default=None, init=False, repr=False)

    @property
    def features(self) -> Sequence[Feature]:
        return [
            Feature(f"{self.stem}_{a.name}", f"source words: {a.description}", _ORIGIN, a.unit)
            for a in AGGREGATES
        ]

    def labels_used(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.labels, *self.texts)))

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        """Learns from source tokens that are OK or BAD; raises InputError without any, or for wrong tags."""
        if not len(segments.source_tokens.ids):
            raise InputError("quality of source words is learned from source words, but there are none")
        prepared = self._prepared(segments, labels)
        sides = prepared._sides(segments, is_training=True)
        bad = prepared._bad_source(segments, labels, sides.links)
        model = TokenModel.fit(
            sides.source.inputs, bad, sides.source.segment, rounds=self.rounds, seed=self.seed
        )
        return prepared.with_learned(_model=model)

    def probability(self, segments: Segments) -> FloatArray:
        """P(BAD) (n_source_tokens,); raises InputError if it was not fitted."""
        return self.learned(self._model).probability(self._sides(segments).source.inputs)

    def places(self, segments: Segments) -> Mapping[Kind, Places]:
        return {"source": Places(self.probability(segments), np.asarray(segments.source_tokens.offsets))}

    def bad_places(
        self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]
    ) -> Mapping[Kind, Flags]:
        tags = {name: column for name, column in labels.items() if name != PROBABILITIES}
        return {"source": self._bad_source(segments, tags).astype(np.bool_)}

    def columns_of(self, places: Mapping[Kind, Places]) -> FloatArray:
        return aggregate(places["source"].bad, places["source"].offsets)

    def save(self, path: Path) -> None:
        self.learned(self._model).save(path / "model")
        self._save_sides(path)

    def restore(self, path: Path) -> Self:
        return self._restored_sides(path).with_learned(_model=TokenModel.load(path / "model"))
