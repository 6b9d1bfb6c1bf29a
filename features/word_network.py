"""The label predicted by small networks on a segment's words, which learn bad words too."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, Self

import numpy as np
from annotated_types import Ge, Lt
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count, Seed
from features.basics.threads import side_by_side
from features.core.extractor import Feature
from features.core.segments import Segments
from features.word_level.knowledge import TokenKnowledge
from features.word_level.labels import Bad, error_rate, target_labels
from features.word_level.network import Matrix
from features.word_level.pooling import Parameters, standardised
from features.word_level.two_sides import Side, TextModel, TwoSides

_ORIGIN: Final = "this project: pooled words, after predictor-estimator (Kim et al. 2017)"
_SIDES: Final = ("target", "source")
Links = tuple[NDArray[np.int64], NDArray[np.int64]]
_OUTCOMES: Final = (
    ("label", "label", "standard deviations of the label"),
    ("bad", "BAD words and gaps per word of the translation", "standard deviations of that rate"),
)


@dataclass(frozen=True, eq=False)
class WordNetwork(TwoSides):
    """The label, and the rate of BAD words and gaps, predicted from words of either side.

    Every word is what `word_quality` (of the target) and `source_word_quality` know of it; networks pool the
    words of a text by attention and learn from the labels of texts and of words together.

    knowledge additional knowledge of words, as for `word_quality`, but for `synthetic`. By `pretrained`,
              networks begin as parallel text taught them; log-probabilities of the decoder are used wherever
              the training segments have them, and `decoder` requires them
    labels    of target words, as for `word_quality`: `post_edit` or `word_tags`; source words follow them
              over the links, or have their own tags in addition to `word_tags`
    marker    how subwords join, as for `decoder`
    texts     of the training segments, as for `word_quality`
    triples   as for `word_quality`
    sides     whose words are pooled: `both`, or `target`, which takes half of the time
    decode    as for `word_quality`
    networks  of each side, which differ in their seeds
    epochs    of training: some 14 for several thousand segments, more for fewer
    dropout   share of the inputs of words that a step of training leaves out
    seed      of the first

    Rows are weighted by the number of annotators where the training data says it. A side without tokens has
    NaN.
    """

    plain: ClassVar[str] = "words that look wrong"

    name: ClassVar[str] = "word_network"
    variants: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"knowledge": ["predictor"]},
        {"knowledge": ["predictor", "vectors"]},
        {"knowledge": ["pretrained"]},
        {"knowledge": ["pretrained", "predictor"]},
    )

    sides: Literal["both", "target"] = "both"
    networks: Count = 3
    epochs: Count = 14
    dropout: Annotated[float, Ge(0), Lt(1)] = 0.4
    seed: Seed = 0
    _models: Mapping[str, TextModel] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels == "source_tags":
            raise InputError(
                "word_network learns from words of the target", remedy="set labels: post_edit or word_tags"
            )

    @property
    def features(self) -> Sequence[Feature]:
        return [
            Feature(f"{self.stem}_{side}_{name}",
                f"{what} predicted from the words of the {side}; undefined for an empty text", _ORIGIN,
                unit)
            for side in self._names
            for name, what, unit in _OUTCOMES
        ]  # fmt: skip

    def labels_used(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(("scores", self.labels, *self.texts)))

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        """Learns from texts and their words; raises InputError if a side has no word, or for wrong tags."""
        if not (len(segments.target_tokens.ids) and len(segments.source_tokens.ids)):
            raise InputError("word_network learns from words of both sides, but one side has none")
        prepared = self._prepared(segments, labels)
        by_name, links = prepared._by_name(segments, is_training=True)
        target = target_labels(self.labels, labels, segments)
        bad: dict[str, Bad] = {"target": target.words}
        if "source" in by_name:
            bad["source"] = prepared._bad_source(segments, labels, links)
        scores = np.asarray(labels["scores"], np.float64)
        rate = error_rate(target, by_name["target"].offsets)
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
                dropout=self.dropout,
                seed=self.seed,
                beginnings=self._beginnings(name, side, outcomes),
            )

        with threadpool_limits(1, "blas"):  # for both of them: each would lift the limit of the other
            models = side_by_side(model, list(by_name), list(by_name.values()))
            return prepared.with_learned(_models=dict(zip(by_name, models, strict=True)))

    def extract(self, segments: Segments) -> FloatArray:
        models, (by_name, _) = self.learned(self._models), self._by_name(segments)
        return np.hstack([models[name].outcomes(side) for name, side in by_name.items()])

    def save(self, path: Path) -> None:
        for name, model in self.learned(self._models).items():
            model.save(path / name)
        self._save_sides(path)

    def restore(self, path: Path) -> Self:
        models = {name: TextModel.load(path / name) for name in self._names}
        return self._restored_sides(path).with_learned(_models=models)

    def _beginnings(self, name: str, side: Side, outcomes: Matrix) -> Sequence[Parameters]:
        known = (each for each in self.knowledge if isinstance(each, TokenKnowledge))
        begun = (each.beginnings(name, side.names, side.inputs.width, outcomes) for each in known)
        return next(filter(None, begun), ())

    @property
    def _names(self) -> tuple[str, ...]:
        return _SIDES if self.sides == "both" else ("target",)

    def _by_name(
        self, segments: Segments, *, is_training: bool = False
    ) -> tuple[dict[str, Side], Links | None]:
        if self.sides == "target":
            table = self._target_table(segments, is_training)
            return {"target": Side(table.word_inputs(self), table.offsets, table.word_names)}, None
        both = self._sides(segments, is_training=is_training)
        return {"target": both.target, "source": both.source}, both.links
