"""Annotated texts, and sets of segments whose score and TER disagree."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.edits.edit_labels import EDITS, EditLabels
from features.text.annotation import LAYERS, layers, word_class_tokens, words_of
from features.text.stems import annotated_lemmas
from features.text.tokenizer import Tokenizer
from features.text.tokens import Tokens
from qe.language.taggers import Tagger, annotated
from qe.resources.part_inputs import read_blocks

_FORM = 1  # column of CoNLL-U


@dataclass(frozen=True, eq=False)
class AnnotatedTexts:
    """Words, lemmas and word classes of n texts, one entry per word in each."""

    words: Tokens
    lemmas: Tokens
    classes: Tokens

    def __len__(self) -> int:
        return len(self.words)


def tagged_texts(
    texts: Sequence[str],
    language: str,
    tagger: Tagger,
    cache: Path | None = None,
    name: str = "texts",
    progress: Progress = silent,
) -> AnnotatedTexts:
    """Raw texts, tokenized as for HTER and annotated by a tagger; `cache` is the folder of annotations."""
    words = Tokenizer(language, normalise=False).tokens(texts)
    blocks = annotated(words, tagger, cache, f"tagging {name}", progress)
    return _with_layers(words, blocks, language, name)


def read_conllu(path: Path, language: str) -> AnnotatedTexts:
    """Texts from a CoNLL-U file, plain or gzip; raises InputError for invalid content."""
    blocks = list(read_blocks(path))
    rows = [[row[_FORM] for row in words_of(block, str(path), k)] for k, block in enumerate(blocks, start=1)]
    for k, forms in enumerate(rows, start=1):
        if not all(forms):
            raise InputError("a word without form", location=f"{path}, segment {k}")
    return _with_layers(Tokens.from_lists(rows), blocks, language, str(path))


def is_conllu(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(".conllu")


def _with_layers(words: Tokens, blocks: Sequence[str], language: str, location: str) -> AnnotatedTexts:
    lemma, upos, _ = layers(blocks, words, LAYERS, location)
    return AnnotatedTexts(words, annotated_lemmas(words, lemma, language), word_class_tokens(words, upos))


Rows = NDArray[np.int64]

_TIE = 1e-9  # far below any difference of two TERs


@dataclass(frozen=True)
class Limits:
    """Limits of effort scores (higher is less effort) and TER of the sets (Koponen 2012, section 3)."""

    low_effort: float = 2.5
    high_effort: float = 4.0
    low_ter: float = 0.33
    high_ter: float = 0.45

    def __post_init__(self) -> None:
        for low, high in ((self.low_effort, self.high_effort), (self.low_ter, self.high_ter)):
            if not -np.inf < low <= high < np.inf:
                raise InputError(
                    f"low <= high must hold for the limits of the sets, but got {low} and {high}",
                    remedy="give finite numbers",
                )


@dataclass(frozen=True, eq=False)
class SetPair:
    """Segments of similar TER with low and with high scores; row i of one side belongs to row i of the other.

    name        `low TER` or `high TER`
    low, high   rows with low scores (much effort) and with high ones
    difference  largest difference of TER between segments that belong together; NaN for empty sets
    unmatched   chosen segments without a partner; they are in neither side
    """

    name: str
    low: Rows
    high: Rows
    difference: float
    unmatched: int = 0

    @property
    def rows(self) -> Rows:
        return np.concatenate([self.low, self.high])


def four_sets(
    effort: FloatArray, ter: FloatArray, limits: Limits | None = None, seed: int = 0
) -> tuple[SetPair, SetPair]:
    """The pairs `low TER` and `high TER`.

    effort  (n,) scores, higher is less effort
    ter     (n,) edits per word of the post-edit; segments whose TER is undefined (NaN) are in no set
    seed    decides between segments of equal TER

    Segments with much perceived effort but few edits are compared with as many of high scores, those with
    little perceived effort but many edits with as many of low scores: the assignment with the least sum of
    differences of TER.

    Source: Koponen 2012, "Comparing human perceptions of post-editing effort with post-editing operations",
    section 3.
    """
    limits = limits or Limits()
    low, high = effort <= limits.low_effort, effort >= limits.high_effort
    little, much = (
        np.flatnonzero(low & (ter <= limits.low_ter)),
        np.flatnonzero(high & (ter >= limits.high_ter)),
    )
    defined = np.isfinite(ter)
    generator = np.random.default_rng(seed)
    pairs, others, largest = _matched(little, np.flatnonzero(high & defined), ter, generator)
    low_ter = SetPair("low TER", pairs, others, largest, len(little) - len(pairs))
    pairs, others, largest = _matched(much, np.flatnonzero(low & defined), ter, generator)
    return low_ter, SetPair("high TER", others, pairs, largest, len(much) - len(pairs))


def _matched(
    rows: Rows, candidates: Rows, ter: FloatArray, generator: np.random.Generator
) -> tuple[Rows, Rows, float]:
    """The rows with a partner, their partners, and the largest difference of TER."""
    costs = np.abs(ter[rows][:, None] - ter[candidates][None, :])
    matched, right = linear_sum_assignment(costs + _TIE * generator.random(costs.shape))
    left, partners = rows[matched], candidates[right]
    largest = float(np.abs(ter[left] - ter[partners]).max()) if len(left) else float("nan")
    return left, partners, largest


@dataclass(frozen=True)
class MarkedWord:
    text: str
    edit: str
    word_class: str
    partner: str | None
    distance: int
    grouped: bool


@dataclass(frozen=True)
class MarkedSegment:
    """A translation and its post-edit, word by word.

    discrepancy  share of segments that need less effort minus share that need fewer edits, -1 .. 1;
                 below 0: it was perceived as harder than its edits
    """

    row: int
    effort: float
    ter: float
    discrepancy: float
    source: str | None
    target: tuple[MarkedWord, ...]
    post_edit: tuple[MarkedWord, ...]


def discrepancies(effort: FloatArray, ter: FloatArray) -> FloatArray:
    """Rank (n,) of the effort score (higher is less effort) minus rank of TER, as shares; NaN without TER."""
    there = np.isfinite(ter) & np.isfinite(effort)
    result = np.full(len(ter), np.nan)
    result[there] = (rankdata(effort[there]) - rankdata(-ter[there])) / max(int(there.sum()), 1)
    return result


def marked_segment(
    row: int,
    labels: EditLabels,
    texts: tuple[AnnotatedTexts, AnnotatedTexts],
    effort: float,
    ter: float,
    discrepancy: float,
    source: str | None = None,
) -> MarkedSegment:
    words = [side.words.words(row) for side in texts]
    classes = [side.classes.words(row) for side in texts]
    sides = (
        (labels.target, labels.partners, labels.target_order, labels.target_offsets),
        (labels.post_edit, labels.post_edit_partners, labels.post_edit_order, labels.post_edit_offsets),
    )
    marked = []
    for k, (edits, partners, order, offsets) in enumerate(sides):
        here = slice(int(offsets[row]), int(offsets[row + 1]))
        columns: Any = (edits[here], partners[here], order.distances[here], order.group_sizes[here])
        marked.append(
            tuple(
                MarkedWord(
                    word, EDITS[edit], word_class, words[1 - k][partner] if partner >= 0 else None,
                    distance, size > 1,
                )
                for word, word_class, edit, partner, distance, size in zip(
                    words[k], classes[k], *(column.tolist() for column in columns), strict=True
                )
            )
        )  # fmt: skip
    return MarkedSegment(row, effort, ter, discrepancy, source, *marked)
