"""N-gram precision of a segment against the system's best and worst translated segments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.comparisons.comparison import TextComparison, smoothed_precision
from features.core.extractor import Extractor, Feature, FittedExtractor
from features.core.segments import Segments
from features.resources.ngrams import NgramCounts
from features.text.corpus import Side
from features.text.tokens import Tokens, segment_sum
from qe_papers.learned.development_set import DevelopmentSet

ORDER: Final = 4
Quarter = Literal["best", "worst"]
Corpus = Literal["training", "development"]
Examples = Mapping[str, NgramCounts]
_NUMBERS: Final[Mapping[tuple[str, str], int]] = {
    ("source", "best"): 6, ("target", "best"): 7, ("source", "worst"): 8, ("target", "worst"): 9,
}  # fmt: skip


@dataclass(frozen=True)
class ExamplePrecision(FittedExtractor):
    """BLEU without brevity penalty against the best and worst translated quarters of the training rows.

    Precision is the geometric mean of the shares of 1- to 4-grams found in a quarter, with add-one smoothing
    from bigrams on. Rows are ranked by the sentence BLEU (smoothed, with brevity penalty) of their
    translation against `label`; ties keep their order, rows with an empty side are ignored. A segment's
    source is compared with the quarter's sources, its translation with the quarter's `label`.

    corpus  source of the rows: the training rows of a fold (`training`), or the part `development_set`, as in
            the paper: nothing is fitted then, and our own decoder is the system that translated them
    label   `reference` or `post_edit`, used as the reference of training rows

    NaN for an empty text. Raises InputError if fewer than four rows can be ranked.
    """

    plain: ClassVar[str] = "how like it is to translations that were judged good or bad"

    variants: ClassVar[Sequence[Mapping[str, Any]]] = ({"corpus": "development"},)

    corpus: Corpus = "training"
    label: Literal["reference", "post_edit"] = "reference"
    examples: Examples | None = field(default=None, init=False, repr=False)

    @classmethod
    def for_settings(cls, settings: Mapping[str, Any]) -> type[Extractor]:
        return _OfDevelopmentSet if settings.get("corpus") == "development" else cls

    @property
    def features(self) -> Sequence[Feature]:
        return _features("example_precision", "training segments")

    def labels_used(self) -> tuple[str, ...]:
        return (self.label,)

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        references = segments.target_tokenizer.tokens([str(text) for text in labels[self.label]])
        return self.with_learned(
            examples=_examples(segments.source_tokens, segments.target_tokens, references)
        )

    def extract(self, segments: Segments) -> FloatArray:
        return _precisions(self.learned(self.examples), segments)

    def save(self, path: Path) -> None:
        for name, ngrams in self.learned(self.examples).items():
            (path / name).mkdir()
            ngrams.save(path / name)

    def restore(self, path: Path) -> Self:
        names = [f"{side}_{quarter}" for side in get_args(Side) for quarter in get_args(Quarter)]
        examples = {name: NgramCounts.load(path / name) for name in names}
        for ngrams in examples.values():
            ngrams.check_stored()
        return self.with_learned(examples=examples)


@dataclass(frozen=True, eq=False)
class _OfDevelopmentSet(Extractor):
    development_set: DevelopmentSet
    corpus: Corpus = "development"

    @property
    def features(self) -> Sequence[Feature]:
        return _features("example_precision_development", "the development set")

    def extract(self, segments: Segments) -> FloatArray:
        return _precisions(self._examples, segments)

    @cached_property
    def _examples(self) -> Examples:
        texts = self.development_set
        return _examples(texts.source, texts.machine, texts.reference)


def _features(stem: str, description: str) -> list[Feature]:
    return [
        Feature(
            f"{stem}_{side}_{quarter}",
            f"smoothed 1-4-gram precision of the {side} against the quarter of {description} "
            f"that was translated {quarter}; NaN if empty",
            f"SDL Language Weaver at WMT12, LF{_NUMBERS[side, quarter]}",
            "share",
        )
        for side in get_args(Side)
        for quarter in get_args(Quarter)
    ]


def _examples(source: Tokens, translations: Tokens, references: Tokens) -> Examples:
    ranking = ranked(translations, references)
    size = -(-len(ranking) // 4)
    quarters = {"best": np.sort(ranking[:size]), "worst": np.sort(ranking[-size:])}
    return {
        f"{side}_{quarter}": NgramCounts.from_tokens(tokens.take(rows), order=ORDER)
        for side, tokens in {"source": source, "target": references}.items()
        for quarter, rows in quarters.items()
    }


def _precisions(examples: Examples, segments: Segments) -> FloatArray:
    sides = {"source": segments.source_tokens, "target": segments.target_tokens}
    return np.column_stack(
        [
            _precision(examples[f"{side}_{quarter}"], tokens)
            for side, tokens in sides.items()
            for quarter in get_args(Quarter)
        ]
    )


def ranked(translations: Tokens, references: Tokens) -> NDArray[np.int64]:
    compared = TextComparison(translations.lower(), references.lower())
    rows = np.flatnonzero((translations.lengths > 0) & (references.lengths > 0))
    if len(rows) < 4:
        raise InputError(
            f"quarters of examples need 4 translations with references, but there are {len(rows)}",
            location="extractor 'example_precision'",
        )
    scores = (compared.bleu * compared.brevity_penalty)[rows]
    return np.asarray(rows[np.argsort(-scores, kind="stable")], np.int64)


def _precision(ngrams: NgramCounts, tokens: Tokens) -> FloatArray:
    times = ngrams.counts_by_order(tokens, ORDER)
    matched = np.column_stack([segment_sum(counts > 0, offsets) for counts, offsets in times])
    total = np.column_stack([np.diff(offsets) for _, offsets in times])
    return smoothed_precision(matched, total)
