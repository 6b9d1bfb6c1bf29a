"""Dependency F: how many dependencies of a parsed translation its parsed reference has."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.numerals import natural
from features.text.annotation import NOTHING, words_of
from qe.language.taggers import Tagger, annotated
from qe.systems.text_metric import TextMetric
from qe.systems.texts import Texts, Tokenization, tokenizer_signature

_FORM, _HEAD, _RELATION = 1, 6, 7  # columns of CoNLL-U
_ROOT = ""
Dependencies = Counter[tuple[str, str, str]]


@dataclass(frozen=True)
class DependencyF(TextMetric):
    """Harmonic mean of precision and recall of dependencies (head, relation, word), lower-cased; x 100.

    statistics   dependencies of both, of the translation, of the reference with the highest F

    NaN if the references have no word. Raises InputError for an annotator that does not parse. Source:
    Riezler and Maxwell 2005, section 3 (there by an LFG grammar), after Crouch et al. 2002.
    """

    higher_is_better: ClassVar[bool | None] = True
    annotator: Tagger = field(repr=False)
    annotator_name: str
    tokenize: Tokenization = "13a"
    language: str = "en"
    cache: Path | None = field(default=None, repr=False)

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        own = list(self._dependencies(hypotheses))
        counts = [list(map(_counts, own, self._dependencies(side))) for side in references]
        every = np.array(counts, np.float64).reshape(len(references), len(own), 3)
        best = np.argmax(np.nan_to_num(self.aggregate(every), nan=-1.0), axis=0)
        return np.asarray(every[best, np.arange(len(own))])

    def aggregate(self, sums: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore", divide="ignore"):
            scores = 200 * sums[..., 0] / (sums[..., 1] + sums[..., 2])
        return np.where(sums[..., 2] > 0, scores, np.nan)

    def signature_parts(self) -> dict[str, Any]:
        tokens = tokenizer_signature(self.tokenize, self.language)
        return {
            "tok": tokens,
            "annotator": self.annotator_name,
            "fingerprint": self.annotator.fingerprint[:8],
        }

    def _dependencies(self, texts: Texts) -> Iterator[Dependencies]:
        tokens = texts.tokens(self.tokenize, False, self.language)
        blocks = annotated(tokens, self.annotator, self.cache, f"parsing {texts.name}")
        for number, block in enumerate(blocks, start=1):
            yield dependencies(block, self.annotator_name, number)


def dependencies(block: str, annotator: str, number: int) -> Dependencies:
    """(head, relation, word) of every word of a CoNLL-U block; the head of a root is empty."""
    rows = list(words_of(block, annotator, number))
    words = [_ROOT, *(row[_FORM].lower() for row in rows)]
    found: Dependencies = Counter()
    for row in rows:
        head = natural(row[_HEAD])
        if head is None or head >= len(words) or row[_RELATION] == NOTHING:
            raise InputError(
                f"the annotator '{annotator}' parses no dependencies",
                location="--annotator",
                remedy="train one: qe annotate train --task pos, then --task dependencies",
            )
        found[words[head], row[_RELATION], row[_FORM].lower()] += 1
    return found


def _counts(translation: Dependencies, reference: Dependencies) -> tuple[int, int, int]:
    return (translation & reference).total(), translation.total(), reference.total()
