"""Metrics of edits: TER, edit rates of tokens and characters, METEOR."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.edits import meteor
from features.edits.meteor import ALPHA, BETA, FUNCTION_WORDS, GAMMA, Words
from features.edits.ter import BEAM_WIDTH, SHIFT_DISTANCE, SHIFT_SIZE, common_ids, ter_edits
from features.text.stems import senses_of, stemmed
from features.text.tokens import Tokens
from qe.systems.text_metric import MT_METRICS, Rate, TextMetric
from qe.systems.texts import Texts, Tokenization, usual_tokenization, word_tokenization


def least_edits(columns: Sequence[Sequence[Sequence[Hashable]]]) -> FloatArray:
    """(n, 2) edits to the nearest reference, which needs fewest, and mean reference length."""
    from rapidfuzz.distance import Levenshtein

    hypotheses, *references = columns
    edits = [
        [Levenshtein.distance(left, right) for left, right in zip(hypotheses, reference, strict=True)]
        for reference in references
    ]
    lengths = np.mean([[len(text) for text in reference] for reference in references], axis=0)
    return np.stack([np.min(edits, axis=0), lengths], axis=1).astype(np.float64)


SACREBLEU_CANDIDATES = 1000


@MT_METRICS.register("ter")
@dataclass(frozen=True)
class Ter(Rate):
    """Edits per 100 reference words, as tercom 0.8.0.

    Its statistics are the edits to the reference that needs fewest, and the mean reference length. NaN if the
    references are empty. With several references MultEval rounds their mean length down to a whole number,
    segment by segment; here it is not rounded. Raises InputError for tercom's preparation of text that
    another tokenization has split, and for `asian_support` alone.

    Source: Snover et al. 2006; see features/edits/ter.py.

    Attributes
    ----------
    normalized : bool
        Tercom's normalisation: punctuation split off, XML entities read.
    asian_support : bool
        Normalisation and removal of punctuation for Chinese, Japanese and Korean characters, too.
    shift_candidates : int
        Shifts that are looked at before no more are made: 1,000 as sacreBLEU; 0: no limit, as tercom,
        which differs in long translations of many repeated words.

    Examples
    --------
    >>> Ter().score(["c a b"], [["a b c"]])  # one shift of three words
    33.3...
    """

    title: ClassVar[str] = "TER"
    higher_is_better: ClassVar[bool | None] = False
    tokenized_by: ClassVar[Callable[[str], str] | None] = word_tokenization
    tokenize: Tokenization = "none"
    lowercase: bool = True
    beam_width: int = BEAM_WIDTH
    shift_distance: int = SHIFT_DISTANCE
    shift_size: int = SHIFT_SIZE
    shift_candidates: int = SACREBLEU_CANDIDATES
    language: str = "en"
    normalized: bool = False
    no_punct: bool = False
    asian_support: bool = False

    def __post_init__(self) -> None:
        if self._prepared and self.tokenize != "none":
            raise InputError(
                f"ter: normalized and no_punct do not go with tokenize={self.tokenize}",
                remedy="add tokenize=none to the options of ter",
            )
        if self.asian_support and not self._prepared:
            raise InputError(
                "ter: asian_support has no effect alone", remedy="add normalized=true or no_punct=true"
            )

    @classmethod
    def usual(cls, language: str) -> Mapping[str, Any]:
        """Split at blanks, as tercom; Chinese by characters as in sacreBLEU, or by a language's tokens."""
        if language == "zh":
            return {"normalized": True, "asian_support": True}
        return super().usual(language)

    @property
    def _prepared(self) -> bool:
        return self.normalized or self.no_punct

    def signature_parts(self) -> dict[str, Any]:
        tok = "tercom" if self.tokenize == "none" else super().signature_parts()["tok"]
        parts = {
            "case": "lc" if self.lowercase else "mixed", "tok": tok, "norm": self.normalized,
            "punct": not self.no_punct, "asian": self.asian_support,
        }  # fmt: skip
        search = {"beam_width": BEAM_WIDTH, "shift_distance": SHIFT_DISTANCE, "shift_size": SHIFT_SIZE,
                  "shift_candidates": SACREBLEU_CANDIDATES}  # fmt: skip
        return parts | {
            name: getattr(self, name) for name, usual in search.items() if getattr(self, name) != usual
        }

    def _tokens(self, texts: Texts) -> Tokens:
        if self._prepared:
            return texts.tercom(self.lowercase, self.normalized, self.no_punct, self.asian_support)
        return texts.tokens(self.tokenize, self.lowercase, self.language)

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        tokens = [self._tokens(texts) for texts in (hypotheses, *references)]
        left, *right = common_ids(*tokens)
        edits = [
            ter_edits(
                left, tokens[0].offsets, ids, column.offsets,
                beam_width=self.beam_width, shift_distance=self.shift_distance, shift_size=self.shift_size,
                shift_candidates=self.shift_candidates,
            ).edits
            for ids, column in zip(right, tokens[1:], strict=True)
        ]  # fmt: skip
        lengths = np.mean([column.lengths for column in tokens[1:]], axis=0)
        return np.stack([np.min(edits, axis=0), lengths], axis=1).astype(np.float64)


@MT_METRICS.register("token_edit_rate")
@dataclass(frozen=True)
class TokenEditRate(Rate):
    """Insertions, deletions and substitutions per 100 reference words; NaN if the references are empty.

    statistics   edits to the reference that needs fewest, mean reference length

    >>> TokenEditRate().score(["c a b"], [["a b c"]])
    66.6...
    """

    title: ClassVar[str] = "Token edit rate"
    higher_is_better: ClassVar[bool | None] = False
    tokenized_by: ClassVar[Callable[[str], str] | None] = word_tokenization
    tokenize: Tokenization = "none"
    lowercase: bool = False
    language: str = "en"

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        tokens = [t.tokens(self.tokenize, self.lowercase, self.language) for t in (hypotheses, *references)]
        return least_edits([[column.words(i) for i in range(len(column))] for column in tokens])


@MT_METRICS.register("character_edit_rate")
@dataclass(frozen=True)
class CharacterEditRate(Rate):
    """Character edits per 100 reference characters; NaN if the references are empty.

    statistics   edits to the reference that needs fewest, mean reference length

    A run of white space counts as one character, none at the ends; `white_space=False` leaves it out.

    >>> CharacterEditRate().score(["the  cats"], [["the cat!"]])
    12.5
    """

    title: ClassVar[str] = "Character edit rate"
    higher_is_better: ClassVar[bool | None] = False
    lowercase: bool = False
    white_space: bool = True

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        return least_edits([[self._plain(line) for line in t.lines] for t in (hypotheses, *references)])

    def _plain(self, line: str) -> str:
        text = (" " if self.white_space else "").join(line.split())
        return text.lower() if self.lowercase else text


@MT_METRICS.register("meteor")
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
    tokenized_by: ClassVar[Callable[[str], str] | None] = usual_tokenization
    tokenize: Tokenization = "13a"
    language: str = "en"
    alpha: float = ALPHA
    beta: float = BETA
    gamma: float = GAMMA
    synonyms: bool = False

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        tokens = [text.tokens(self.tokenize, True, self.language) for text in (hypotheses, *references)]
        counts: Counter[str] = Counter()
        for side in tokens[1:]:
            numbers: NDArray[np.int64] = np.bincount(side.ids, minlength=len(side.types))
            counts.update(dict(zip(side.types, numbers.tolist(), strict=True)))
        least = FUNCTION_WORDS * counts.total()
        functional = {word: count > least for word, count in counts.items()}
        own, *others = ([*self._words(side, functional)] for side in tokens)
        found = [[meteor.statistics(*pair) for pair in zip(own, side, strict=True)] for side in others]
        every = np.array(found, np.float64)  # (references, n, 8)
        best = np.argmax(np.nan_to_num(self.aggregate(every), nan=-1.0), axis=0)
        return np.asarray(every[best, np.arange(len(own))])

    def aggregate(self, sums: FloatArray) -> FloatArray:
        scores = meteor.score_of(sums, self.alpha, self.beta, self.gamma)
        return np.where(sums[..., 7] > 0, 100 * scores, np.nan)

    def _words(self, tokens: Tokens, functional: Mapping[str, bool]) -> Iterator[Words]:
        stems = stemmed(tokens, self.language)
        senses = senses_of(tokens.types, self.language) if self.synonyms else None
        for i in range(len(tokens)):
            words = tokens.words(i)
            ids = tokens.ids[tokens.offsets[i] : tokens.offsets[i + 1]].tolist()
            own = senses and [senses[k] for k in ids]
            yield Words(words, stems.words(i), [functional.get(word, False) for word in words], own)
