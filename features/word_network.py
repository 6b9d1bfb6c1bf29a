"""The label as small networks predict it from the words of a segment; they learn what a bad word is, too."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features._word_quality.beginnings import standardised
from features._word_quality.labels import error_rate
from features._word_quality.pooling import Parameters
from features._word_quality.scaling import Matrix
from features._word_quality.text_model import TextModel
from features._word_quality.two_sides import Side, Sides, TwoSides
from features.core.array_types import FloatArray
from features.core.errors import InputError
from features.core.extractor import Feature
from features.core.hints import Count, Seed
from features.core.segments import Segments
from features.core.threads import side_by_side

_ORIGIN: Final = "this project: pooled words, after predictor-estimator (Kim et al. 2017)"
_SIDES: Final = ("target", "source")
_OUTCOMES: Final = (
    ("label", "label", "standard deviations of the label"),
    ("bad", "BAD words and gaps per word of the translation", "standard deviations of that rate"),
)


@dataclass(frozen=True, eq=False)
class WordNetwork(TwoSides):
    """Predictions of the label, and of the rate of BAD words and gaps, from the words of either side.

    Every word is what `word_quality` (of the target) and `source_word_quality` know of it; networks pool the
    words of a text by attention and learn from the labels of texts and of words together.

    labels    of target words, as for `word_quality`: `post_edit` or `word_tags`; source words follow them
              over the links, or have tags of their own beside `word_tags`
    marker    how subwords join, as for `decoder`
    texts     of the training segments, as for `word_quality`
    predict   as for `word_quality`
    triples   as for `word_quality`
    networks  of each side, which differ in their seeds
    epochs    of training: some 14 for several thousand segments, more for fewer
    seed      of the first

    Rows are weighted by the number of annotators where the training data says it. A side without tokens has
    NaN.
    """

    stem: ClassVar[str] = "word_network"  # of the names of columns

    networks: Count = 3
    epochs: Count = 14
    seed: Seed = 0
    _models: Mapping[str, TextModel] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels == "source_tags":
            raise InputError(
                "word_network learns from words of the target", remedy="set labels: post_edit or word_tags"
            )
        for name in ("networks", "epochs"):
            if getattr(self, name) < 1:
                raise InputError(f"`{name}` must be 1 or more, but got {getattr(self, name)}")

    @property
    def features(self) -> Sequence[Feature]:
        return [
            Feature(
                f"{self.stem}_{side}_{name}",
                f"{what} predicted from the words of the {side}; undefined for an empty text",
                _ORIGIN,
                unit,
            )
            for side in _SIDES
            for name, what, unit in _OUTCOMES
        ]

    def labels_used(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(("scores", self.labels, *self.texts)))

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        """Learns from texts and their words.

        Raises InputError if one side has no word at all, or tags do not fit the tokens.
        """
        if not (len(segments.target_tokens.ids) and len(segments.source_tokens.ids)):
            raise InputError("word_network learns from words of both sides, but one side has none")
        prepared = self._prepared(segments, labels)
        sides = prepared._sides(segments, own=True)
        target = prepared._bad_target(segments, labels)
        bad = {"target": target.words, "source": prepared._bad_source(segments, labels, sides.links)}
        scores = np.asarray(labels["scores"], np.float64)
        rate = error_rate(target, sides.target.offsets)
        outcomes = np.column_stack([standardised(scores), standardised(rate)])
        weights = np.asarray(labels.get("annotators", np.ones(len(scores))), np.float64)

        def model(name: str, side: Side) -> TextModel:
            return TextModel.fit(
                side,
                bad[name],
                outcomes,
                (weights / weights.mean()).astype(np.float32),
                networks=self.networks,
                epochs=self.epochs,
                seed=self.seed,
                beginnings=self._beginnings(name, side, outcomes),
            )

        by_name = _by_name(sides)
        with threadpool_limits(1, "blas"):  # for both of them: each would lift the limit of the other
            models = side_by_side(model, list(by_name), list(by_name.values()))
            return prepared.with_learned(_models=dict(zip(by_name, models, strict=True)))

    def extract(self, segments: Segments) -> FloatArray:
        models, sides = self.learned(self._models), _by_name(self._sides(segments))
        return np.hstack([models[name].outcomes(side) for name, side in sides.items()])

    def save(self, path: Path) -> None:
        for name, model in self.learned(self._models).items():
            model.save(path / name)
        self._save_sides(path)

    def restore(self, path: Path) -> Self:
        models = {name: TextModel.load(path / name) for name in _SIDES}
        return self._restored_sides(path).with_learned(_models=models)

    def _beginnings(self, name: str, side: Side, outcomes: Matrix) -> Sequence[Parameters]:
        """Where the networks of a side begin; none: anywhere."""
        return ()


def _by_name(sides: Sides) -> dict[str, Any]:
    return {name: getattr(sides, name) for name in _SIDES}
