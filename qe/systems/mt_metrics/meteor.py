"""METEOR."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.edits import meteor
from features.edits.meteor import ALPHA, BETA, FUNCTION_WORDS, GAMMA, Words
from features.text.stems import senses_of, stemmed
from features.text.tokens import Tokens
from qe.systems.text_metric import TextMetric
from qe.systems.texts import Texts, Tokenization
from qe.systems.tokenizers import usual_tokenization

Functional = dict[str, bool]


@dataclass(frozen=True)
class Meteor(TextMetric):
    """Weighted F of words and stems, times a penalty for chunks; x 100.

    statistics   weights of matched and of all words of the hypothesis, the same of the reference, chunks,
                 matches, words of both; against the reference with the best score

    Words match if they are equal or their stems are; there are no paraphrases, and no synonyms unless
    `synonyms` is set, so that scores are lower than METEOR's own. Function words are those that are more than
    1 in 1,000 words of the references, which resampling keeps fixed. NaN if the references are empty.

    Source: Denkowski and Lavie 2011; see features/edits/meteor.py.

    Attributes
    ----------
    alpha, beta, gamma : float
        As version 1.3 has them for English (task `rank`).
    language : str
        Of the stemmer (Snowball); a language without one is stemmed by its first five letters.
    synonyms : bool
        Synonyms of WordNet match, too (Debian's `wordnet-base`); English alone.

    Examples
    --------
    >>> round(Meteor().score(["the parks"], [["the park"]]), 1)  # P .7, R .8, one chunk
    78.3
    """

    title: ClassVar[str] = "METEOR"
    higher_is_better: ClassVar[bool | None] = True
    tokenize: Tokenization = "13a"
    language: str = "en"
    alpha: float = ALPHA
    beta: float = BETA
    gamma: float = GAMMA
    synonyms: bool = False

    @classmethod
    def usual(cls, language: str) -> Mapping[str, Any]:
        return {"tokenize": usual_tokenization(language), "language": language}

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        tokens = [text.tokens(self.tokenize, True, self.language) for text in (hypotheses, *references)]
        functional = _functional(tokens[1:])
        own, *others = ([*self._words(side, functional)] for side in tokens)
        found = [[meteor.statistics(*pair) for pair in zip(own, side, strict=True)] for side in others]
        every = np.array(found, np.float64)  # (references, n, 8)
        best = np.argmax(np.nan_to_num(self.aggregate(every), nan=-1.0), axis=0)
        return np.asarray(every[best, np.arange(len(own))])

    def aggregate(self, sums: FloatArray) -> FloatArray:
        scores = meteor.score_of(sums, self.alpha, self.beta, self.gamma)
        return np.where(sums[..., 7] > 0, 100 * scores, np.nan)

    def _words(self, tokens: Tokens, functional: Functional) -> Iterator[Words]:
        stems = stemmed(tokens, self.language)
        senses = senses_of(tokens.types, self.language) if self.synonyms else None
        for i in range(len(tokens)):
            words = tokens.words(i)
            ids = tokens.ids[tokens.offsets[i] : tokens.offsets[i + 1]].tolist()
            own = senses and [senses[k] for k in ids]
            yield Words(words, stems.words(i), [functional.get(word, False) for word in words], own)


def _functional(references: Sequence[Tokens]) -> Functional:
    counts: dict[str, int] = {}
    for side in references:
        of_side: NDArray[np.int64] = np.bincount(side.ids, minlength=len(side.types))
        for word, count in zip(side.types, of_side.tolist(), strict=True):
            counts[word] = counts.get(word, 0) + count
    least = FUNCTION_WORDS * sum(counts.values())
    return {word: count > least for word, count in counts.items()}
