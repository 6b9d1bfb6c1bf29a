"""How probable it is that words and gaps of the translation are wrong: word-level quality estimation."""

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from features._word_quality.aggregates import AGGREGATES, aggregate
from features._word_quality.labels import TokenLabels, post_edit_labels, tag_labels
from features._word_quality.memory import TokenMemory
from features._word_quality.model import TokenModel
from features._word_quality.tokens import COLUMNS_VERSION, Knowledge, TokenTable, describe
from features.core.errors import InputError
from features.core.extractor import Feature, FittedExtractor, FloatArray
from features.core.files import digest
from features.core.segments import Segments

KINDS = ("word", "gap")
# Columns of Segments that are used where the training segments have them.
OPTIONAL = ("annotation_source", "annotation_target", "back_translation", "pseudo_reference")

_ORIGIN = "this project: feasibility study on WMT12; labels as in WMT15 task 2, without shifts"


@dataclass(frozen=True, eq=False)
class TokenQuality:
    """P(BAD) of the tokens of n translations and of the gaps between them.

    words, offsets      (n_tokens,) probabilities; the tokens of text i are offsets[i]:offsets[i + 1]
    gaps, gap_offsets   (n_tokens + n,) likewise: the gap before each token, and the one after the last
    """

    words: FloatArray
    offsets: NDArray[np.int64]
    gaps: FloatArray
    gap_offsets: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WordQuality(Knowledge, FittedExtractor):
    """P(BAD) of every target token and gap, and 16 + 16 aggregates per segment.

    labels  `post_edit`: a token is BAD where a cheapest edit of the translation into its post-edit replaces
            or deletes it (letters alike), a gap where it inserts there; `word_tags`: 2 n + 1 given tags
    use     optional columns of the segments that are read: names, or `auto`: those of `OPTIONAL` that the
            training segments have; what was used in training is required in scoring
    rounds  of boosting
    seed    of boosting

    Everything is NaN for an empty translation.
    """

    labels: Literal["post_edit", "word_tags"] = "post_edit"
    use: Literal["auto"] | Sequence[str] = "auto"
    rounds: int = 150
    seed: int = 0
    _memory: TokenMemory = field(default_factory=TokenMemory, init=False, repr=False)
    _models: Mapping[str, TokenModel] | None = field(default=None, init=False, repr=False)
    _used: frozenset[str] = field(default=frozenset(), init=False, repr=False)

    def __post_init__(self) -> None:
        if self.labels not in ("post_edit", "word_tags"):
            raise InputError(f"unknown labels '{self.labels}'", remedy="known: post_edit, word_tags")
        if self.use != "auto":
            unknown = sorted(set(self.use) - set(OPTIONAL))
            if isinstance(self.use, str) or unknown:
                raise InputError(
                    f"`use` must be auto or a list of columns, but got {self.use!r}",
                    remedy=f"known: {', '.join(OPTIONAL)}",
                )
            object.__setattr__(self, "_used", frozenset(self.use))

    @property
    def features(self) -> Sequence[Feature]:
        return [
            Feature(f"word_quality_{kind}_{a.name}", f"{kind}s: {a.description}", _ORIGIN, a.unit)
            for kind in KINDS
            for a in AGGREGATES
        ]

    def content_fingerprint(self) -> str:
        return digest("token columns", COLUMNS_VERSION)

    def requires(self) -> tuple[str, ...]:
        return tuple(sorted(self._used))

    def labels_used(self) -> tuple[str, ...]:
        return (self.labels,)

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        """Learns from tokens and gaps that are OK or BAD.

        Raises InputError where there is no token, or tags do not fit the tokens.
        """
        if not len(segments.target_tokens.ids):
            raise InputError("word-level quality is learned from translated words, but there are none")
        used = self._used
        if self.use == "auto":
            used = frozenset(name for name in OPTIONAL if getattr(segments, name) is not None)
        bad = self._labels(segments, labels)
        table = self._table(segments, used)
        words, gaps = table.word_inputs(self), table.gap_inputs(self)
        settings = {"rounds": self.rounds, "seed": self.seed}
        models = {
            "word": TokenModel.fit(words, bad.words, _segment(table.offsets), **settings),
            "gap": TokenModel.fit(gaps, bad.gaps, _segment(table.gap_offsets), **settings),
        }
        return self._fitted(models, used)

    def tokens(self, segments: Segments) -> TokenQuality:
        """P(BAD) of every target token and gap. Raises InputError where it was not fitted."""
        if self._models is None:
            raise InputError("word_quality must be fitted before it scores", remedy="train a model with it")
        table = self._table(segments, self._used)
        words = self._models["word"].probability(table.word_inputs(self))
        gaps = self._models["gap"].probability(table.gap_inputs(self))
        return TokenQuality(words, table.offsets, gaps, table.gap_offsets)

    def extract(self, segments: Segments) -> FloatArray:
        quality = self.tokens(segments)
        blocks = [
            aggregate(quality.words, quality.offsets),
            aggregate(quality.gaps, quality.gap_offsets),
        ]
        result = np.hstack(blocks)
        result[np.diff(quality.offsets) == 0] = np.nan
        return result

    def save(self, path: Any) -> None:
        if self._models is None:
            raise InputError("word_quality must be fitted before it is saved")
        for kind in KINDS:
            self._models[kind].save(Path(path) / kind)
        (Path(path) / "used.json").write_text(json.dumps(sorted(self._used)), "utf-8")

    def restore(self, path: Any) -> Self:
        models = {kind: TokenModel.load(Path(path) / kind) for kind in KINDS}
        return self._fitted(models, frozenset(json.loads((Path(path) / "used.json").read_text("utf-8"))))

    def _labels(self, segments: Segments, labels: Mapping[str, Any]) -> TokenLabels:
        target = segments.target_tokens
        if self.labels == "word_tags":
            return tag_labels(labels["word_tags"], target)
        post_edit = segments.target_tokenizer.tokens(labels["post_edit"])
        return post_edit_labels(target.lower(), post_edit.lower())

    def _table(self, segments: Segments, used: frozenset[str]) -> TokenTable:
        return self._memory.table(segments, used, lambda some: self._described(some, used))

    def _described(self, segments: Segments, used: frozenset[str]) -> TokenTable:
        return describe(segments, self, used)

    def _fitted(self, models: Mapping[str, TokenModel], used: frozenset[str]) -> Self:
        """A copy that has learned; both remember the same token tables."""
        fitted = copy.copy(self)
        object.__setattr__(fitted, "_models", models)
        object.__setattr__(fitted, "_used", used)
        return fitted


def _segment(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
