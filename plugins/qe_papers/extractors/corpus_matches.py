"""Segments of the corpus near to a text: examples, edits, skip-grams."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Share
from features.comparisons.comparison import TextComparison, smoothed_precision
from features.core.extractor import Extractor, Feature, FittedExtractor
from features.core.segments import Segments
from features.resources.ngrams import NgramCounts
from features.text.tokens import Tokens, ratio, segment_sum
from qe_papers.families import SIDES, load_parts, save_parts
from qe_papers.learned.development_set import DevelopmentSet
from qe_papers.resources.corpus_index import CorpusIndex
from qe_papers.resources.ngram_documents import NgramDocuments, Padded

ORDER: Final = 4
Corpus = Literal["training", "development"]
Examples = Mapping[str, NgramCounts]
_NUMBERS: Final[Mapping[tuple[str, str], int]] = {
    ("source", "best"): 6, ("source", "worst"): 8, ("target", "best"): 7, ("target", "worst"): 9,
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
        save_parts(path, self.learned(self.examples))

    def restore(self, path: Path) -> Self:
        names = [f"{side}_{quarter}" for side, quarter in _NUMBERS]
        return self.with_learned(examples=load_parts(path, NgramCounts, names))


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
    what = f"against the quarter of {description} that was translated"
    return [
        Feature(
            f"{stem}_{side}_{quarter}",
            f"smoothed 1-4-gram precision of the {side} {what} {quarter}; NaN if empty",
            f"SDL Language Weaver at WMT12, LF{number}",
            "share",
        )
        for (side, quarter), number in _NUMBERS.items()
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
    columns = []
    for side, quarter in _NUMBERS:
        tokens = segments.source_tokens if side == "source" else segments.target_tokens
        times = examples[f"{side}_{quarter}"].counts_by_order(tokens, ORDER)
        matched = np.column_stack([segment_sum(counts > 0, offsets) for counts, offsets in times])
        total = np.column_stack([np.diff(offsets) for _, offsets in times])
        columns.append(smoothed_precision(matched, total))
    return np.column_stack(columns)


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


_UEDIN = "University of Edinburgh at WMT12, section 3.6"
_CHARACTERS: Final = {
    "of_nearest_words": "character edits between the {side} and the corpus segment nearest by words (not the "
    "least over the corpus; of several as near the one with the least longer length minus shared words, then "
    "the shortest)",
    "nearest": "least character edits between the {side} and a corpus segment",
}


@dataclass(frozen=True)
class EditDistance(Extractor):
    """Levenshtein distance to the nearest corpus segment by words, on both sides, lower-cased.

    The search for the nearest segment by words is exact. Characters are those of the lower-cased tokens
    joined by spaces:

    characters  `of_nearest_words`: edits into the segment nearest by words, an upper bound of the minimum;
                `nearest`: the exact minimum over the corpus, at about 180 times the cost, because the
                distances of most segments are close to the minimum and bounds exclude few
    """

    plain: ClassVar[str] = "how much of the {text} is like known texts"

    source_index: CorpusIndex
    target_index: CorpusIndex
    characters: Literal["of_nearest_words", "nearest"] = "of_nearest_words"

    @property
    def features(self) -> Sequence[Feature]:
        features = list[Feature]()
        for side in SIDES:
            words = f"least word edits between {side} and a corpus segment, per {side} token; NaN if empty"
            edits, stem = _CHARACTERS[self.characters].format(side=side), f"edit_distance_{side}"
            characters = f"{edits}, per character of the {side}; NaN if empty"
            features.append(Feature(f"{stem}_words", words, _UEDIN, "edits per token"))
            features.append(Feature(f"{stem}_characters", characters, _UEDIN, "edits per character"))
        return features

    def extract(self, segments: Segments) -> FloatArray:
        columns = list[FloatArray]()
        for index, tokens in (
            (self.source_index, segments.source_tokens), (self.target_index, segments.target_tokens),
        ):  # fmt: skip
            nearest = index.nearest(tokens, by_characters=self.characters == "nearest")
            words = ratio(nearest.word_edits, tokens.lengths)
            characters = ratio(nearest.character_edits, nearest.characters)
            columns += [np.where(tokens.lengths == 0, np.nan, values) for values in (words, characters)]
        return np.column_stack(columns)


@dataclass(frozen=True)
class SkipGrams(Extractor):
    """Multi-level matching of skip-grams against the corpus, on both sides (TCD at WMT12, section 2.1.2).

    patterns     1 for a kept word, 0 for a skipped one: `101` keeps the first and the third word of three.
                 Without a 0, n-grams and skip-grams are combined.
    boundaries   with and without boundary marks at the ends of the segment

    A column is the mean over the segment's skip-grams of one pattern: 1 if the corpus has it, else `penalty`
    times the same mean of the skip-grams with one word less (`111`: `11` twice and `101`). It is NaN for a
    segment shorter than the pattern. `similarity` covers n-grams, which back off to two.

    Case and punctuation are those of the resources, as for `similarity`.

    Raises InputError for a pattern that does not begin and end with 1, or is longer than the resource's
    n-grams.
    """

    plain: ClassVar[str] = "how much of the {text} is like known texts"

    source_ngram_documents: NgramDocuments
    target_ngram_documents: NgramDocuments
    patterns: Sequence[str] = ("101", "1001", "1011", "1101", "111", "1111")
    boundaries: Sequence[bool] = (False, True)
    penalty: Share = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        for pattern in self.patterns:
            if not pattern or {pattern[0], pattern[-1]} != {"1"} or set(pattern) - {"0", "1"}:
                raise InputError(
                    f"{pattern!r} is no pattern of skip-grams",
                    remedy="words kept are 1, words left out 0, the first and the last are kept: '101'",
                )
            self.source_ngram_documents.check(len(pattern))
            self.target_ngram_documents.check(len(pattern))

    @property
    def features(self) -> Sequence[Feature]:
        sides = zip(SIDES, (self.source_ngram_documents, self.target_ngram_documents), strict=True)
        features = []
        for (side, documents), pattern, mark in product(sides, self.patterns, self.boundaries):
            names = ("skip_grams", side, documents.variant, pattern, "boundary" if mark else "")
            text = (
                f"{side}: skip-grams {pattern} (1 kept, 0 left out) found in the corpus, shorter ones in "
                f"their place{', with boundary marks' if mark else ''}; NaN where the segment has none"
            )
            origin = "Trinity College Dublin at WMT12, section 2.1.2"
            features.append(Feature("_".join(filter(None, names)), text, origin, "share"))
        return features

    def extract(self, segments: Segments) -> FloatArray:
        columns: list[FloatArray] = []
        for documents, tokens in (
            (self.source_ngram_documents, segments.source_tokens),
            (self.target_ngram_documents, segments.target_tokens),
        ):
            padded = documents.look_up(tokens)
            values: dict[str, FloatArray] = {}
            for pattern, marks in product(self.patterns, self.boundaries):
                self._add(values, pattern, documents, padded)
                there = padded.ends(len(pattern), marks)
                total = segment_sum(np.where(there, values[pattern], 0.0), padded.offsets)
                columns.append(ratio(total, segment_sum(there.astype(np.float64), padded.offsets)))
        return np.column_stack(columns)

    def _add(
        self, values: dict[str, FloatArray], pattern: str, documents: NgramDocuments, padded: Padded
    ) -> None:
        if pattern in values:
            return
        kept = [place for place, mark in enumerate(pattern) if mark == "1"]
        lower: FloatArray = np.zeros(len(padded.ids))
        for left_out in kept if len(kept) > 1 else ():
            rest = pattern[:left_out] + "0" + pattern[left_out + 1 :]
            part, later = rest.strip("0"), len(rest) - len(rest.rstrip("0"))
            self._add(values, part, documents, padded)
            lower += np.concatenate((np.zeros(later), values[part]))[: len(lower)] / len(kept)
        if "0" in pattern:
            matches = documents.skip_grams(pattern).occurrences(padded.ids)
        else:
            matches = padded.nodes[len(pattern) - 1] >= 0
        values[pattern] = np.where(matches, 1.0, self.penalty * lower)
