"""N-best lists of a decoder: diversity, model scores, phrases, search statistics."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
from rapidfuzz.distance import Levenshtein

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core.columns import Column, features_of
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments

_LIMIT = 10**9  # words of a text
_KEYS = ("text", "score", "scores", "phrases", "search")


@dataclass(frozen=True)
class Hypothesis:
    """One translation considered by the decoder.

    score    of the whole model; NaN if unknown
    scores   model -> its unweighted numbers
    phrases  (first source word, last, first target word, last), inclusive, in the order of the target
    search   statistics of the search graph (`nodes`, `dead`, `recombined`, `transitions`)
    """

    text: str
    score: float = float("nan")
    scores: Mapping[str, Sequence[float]] = field(default_factory=dict)
    phrases: Sequence[Sequence[int]] = ()
    search: Mapping[str, Any] = field(default_factory=dict)


def hypotheses(segments: Segments) -> list[list[Hypothesis]]:
    """Hypotheses of each segment, best first; none if the entry is empty.

    An entry is a JSON list of texts, or of objects with the keys of `Hypothesis` (only `text` is needed).
    Raises InputError, naming the segment, for anything else.
    """
    lists = []
    for text, identifier in zip(segments.require("nbest"), segments.id, strict=True):
        location = f"segment '{identifier}', nbest"
        try:
            entry = json.loads(text) if text.strip() else []
        except (ValueError, RecursionError) as error:
            raise InputError(f"not JSON: {error}", location=location) from None
        if not isinstance(entry, list):
            found = type(entry).__name__
            raise InputError(f"expected a list of hypotheses, found {found}", location=location)
        lists.append([_hypothesis(item, location) for item in entry])
    return lists


def _hypothesis(item: Any, location: str) -> Hypothesis:
    if isinstance(item, str):
        return Hypothesis(item)
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        raise InputError(
            f"a hypothesis is a text or an object with `text`, found {item!r:.60}", location=location
        )
    unknown = sorted(set(item) - set(_KEYS))
    if unknown:
        raise InputError(f"unknown keys {unknown}", location=location, remedy=f"known: {', '.join(_KEYS)}")
    scores = item.get("scores", {})
    if not isinstance(scores, dict) or not all(isinstance(values, list) for values in scores.values()):
        raise InputError("`scores` must map names of models to lists of numbers", location=location)
    if not all(map(_is_number, [item.get("score", 0.0), *(v for values in scores.values() for v in values)])):
        raise InputError("scores must be finite numbers", location=location)
    phrases, search = item.get("phrases", []), item.get("search", {})
    if not isinstance(phrases, list):
        raise InputError(f"`phrases` must be a list, found {phrases!r:.60}", location=location)
    for phrase in phrases:
        whole = isinstance(phrase, list) and len(phrase) == 4 and all(type(v) is int for v in phrase)
        if not whole or not (
            0 <= phrase[0] <= phrase[1] < _LIMIT and 0 <= phrase[2] <= phrase[3] + 1 < _LIMIT
        ):
            raise InputError(
                f"a phrase is [first source word, last, first target word, last], found {phrase!r:.60}",
                location=location,
            )
    transitions = search.get("transitions", []) if isinstance(search, dict) else None
    counts = [v for k, v in search.items() if k != "transitions"] if isinstance(search, dict) else []
    if not isinstance(transitions, list) or not all(map(_is_number, [*transitions, *counts])):
        raise InputError(f"`search` must hold finite numbers, found {search!r:.60}", location=location)
    return Hypothesis(**item)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= 1e300


NAN: Final = float("nan")
SDLLW: Final = "Soricut et al. 2012 (SDLLW), section 2.2"
DFKI: Final = "Avramidis 2012 (DFKI), section 2.2.2"
PRHLT: Final = "Gonzalez-Rubio et al. 2012 (PRHLT-UPV), section 2"
SJTU: Final = "Wu and Zhao 2012 (SJTU), section 3.2"
SPECIA: Final = "Specia et al. 2009, Estimating the sentence-level quality of MT systems: n-best features"

# Place of each model's score in Moses' output, older and newer versions: (labels, index of the number).
_LM: Final = ("lm", "LM")
_TM: Final = ("tm", "TranslationModel", "PhraseDictionary")
_DISTORTION: Final = ("Distortion",)
_REORDERING: Final = ("LexicalReordering",)
_WORD: Final = ("w", "WordPenalty")
_PHRASE: Final = ("PhrasePenalty",)


@dataclass(frozen=True, eq=False)
class _List:
    items: Sequence[Hypothesis]
    words: Sequence[Sequence[str]]
    source_length: int

    @property
    def best(self) -> Hypothesis:
        return self.items[0]

    @cached_property
    def lengths(self) -> FloatArray:
        return np.array([len(words) for words in self.words], np.float64)

    @cached_property
    def scores(self) -> FloatArray:
        return np.array([item.score for item in self.items], np.float64)

    @cached_property
    def posteriors(self) -> FloatArray:
        if np.isnan(self.scores).any():
            return np.full(len(self.items), 1 / len(self.items))
        exponent = np.exp(self.scores - self.scores.max())
        return np.asarray(exponent / exponent.sum())

    @cached_property
    def distances(self) -> FloatArray:
        first = self.words[0]
        return np.array(
            [Levenshtein.distance(first, w) / max(len(first), len(w), 1) for w in self.words[1:]], np.float64
        )

    @cached_property
    def support(self) -> FloatArray:
        counts = [Counter(words) for words in self.words]
        seen: Counter[str] = Counter()
        result = []
        for word in self.words[0]:
            seen[word] += 1
            has = np.array([count[word] >= seen[word] for count in counts])
            result.append(float(self.posteriors[has].sum()))
        return np.array(result, np.float64)

    @cached_property
    def phrases(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        return np.array(self.best.phrases, np.int64).reshape(-1, 4)

    def model(self, labels: tuple[str, ...], index: int | None = None) -> float:
        groups = [
            values for label, values in self.best.scores.items() if label.rstrip("0123456789") in labels
        ]
        if index is None:
            return float(sum(sum(v) for v in groups)) if groups else NAN
        there = [v[index] for v in groups if len(v) > index]
        return float(sum(there)) if there else NAN

    def search(self, key: str) -> float:
        return float(self.best.search[key]) if key in self.best.search else NAN


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else NAN


def _distortion(n: _List) -> float:
    new = n.model(_DISTORTION)
    return new if not np.isnan(new) else n.model(("d",), 0)


def _reordering(n: _List) -> float:
    new = n.model(_REORDERING)
    if not np.isnan(new):
        return new
    old = n.best.scores.get("d", ())
    return float(sum(old[1:])) if len(old) > 1 else NAN


def _phrase_penalty(n: _List) -> float:
    new = n.model(_PHRASE)
    return new if not np.isnan(new) else n.model(_TM, 4)


def _entropy(n: _List) -> float:
    shares: Counter[str] = Counter()
    for item, share in zip(n.items, n.posteriors.tolist(), strict=True):
        shares[item.text] += share
    return float(-sum(p * np.log(p) for p in shares.values() if p > 0))


def _jumps(n: _List) -> FloatArray:
    before = np.concatenate(([-1], n.phrases[:-1, 1]))
    return np.abs(n.phrases[:, 0] - before - 1).astype(np.float64)


def _sizes(n: _List, side: int) -> FloatArray:
    return (n.phrases[:, 2 * side + 1] - n.phrases[:, 2 * side] + 1).astype(np.float64)


def _phrases(compute: Callable[[_List], float]) -> Callable[[_List], float]:
    return lambda n: compute(n) if len(n.phrases) else NAN


def _ratio(value: float, divisor: float) -> float:
    return value / divisor if divisor else NAN


def _share(n: _List, key: str) -> float:
    nodes = n.search("nodes")
    return n.search(key) / nodes if nodes > 0 else NAN


def _transitions(n: _List) -> FloatArray:
    return np.array(n.best.search.get("transitions", ()), np.float64)


def _column(
    name: str, description: str, origin: str, unit: str, compute: Callable[[_List], float]
) -> Column[_List]:
    return Column(f"nbest_{name}", description, origin, unit, compute)


DISPERSION: Final = (
    _column("size", "hypotheses in the list", SPECIA, "hypotheses", lambda n: float(len(n.items))),
    _column("distinct", "share of distinct texts", SPECIA, "share",
            lambda n: len({item.text for item in n.items}) / len(n.items)),
    _column("score", "model score of the best hypothesis", SPECIA, "as the system gives it",
            lambda n: n.best.score),
    _column("score_per_token", "model score of the best hypothesis by its tokens", SPECIA,
            "as the system gives it", lambda n: n.best.score / len(n.words[0]) if n.words[0] else NAN),
    _column("margin", "score of the best minus that of the second; undefined for one hypothesis", SPECIA,
            "as the system gives it",
            lambda n: float(n.scores[0] - n.scores[1]) if len(n.scores) > 1 else NAN),
    _column("score_range", "score of the best minus the mean", SPECIA, "as the system gives it",
            lambda n: float(n.scores[0] - n.scores.mean())),
    _column("posterior", "softmax share of the best text; without scores hypotheses count alike", SPECIA,
            "probability",
            lambda n: float(n.posteriors[[i.text == n.best.text for i in n.items]].sum())),
    _column("entropy", "entropy of the shares of the texts", SPECIA, "nats", _entropy),
    _column("distance", "mean edit distance of the others from the best, by tokens; undefined for one",
            SPECIA, "ratio", lambda n: _mean(n.distances)),
    _column("distance_highest", "highest edit distance from the best, by tokens; undefined for one", SPECIA,
            "ratio", lambda n: float(n.distances.max()) if len(n.distances) else NAN),
    _column("length_ratio", "tokens of the best by the mean over the list; undefined without tokens", SPECIA,
            "ratio", lambda n: _ratio(len(n.words[0]), float(n.lengths.mean()))),
    _column("length_sd", "standard deviation of the tokens by their mean; undefined without tokens", SPECIA,
            "ratio", lambda n: _ratio(float(n.lengths.std()), float(n.lengths.mean()))),
    _column("vocabulary", "distinct tokens of the list by tokens of the best; undefined for an empty one",
            SPECIA, "ratio",
            lambda n: _ratio(len({w for words in n.words for w in words}), len(n.words[0]))),
    _column("support", "mean posterior of the best's tokens; undefined for an empty one", SPECIA,
            "probability", lambda n: _mean(n.support)),
    _column("support_lowest", "lowest posterior of the best's tokens; undefined for an empty one", SPECIA,
            "probability", lambda n: float(n.support.min()) if len(n.support) else NAN),
)  # fmt: skip

MODELS: Final = (
    _column("distortion", "MF1: distortion cost", SDLLW, "words, negative", _distortion),
    _column("word_penalty", "MF2: word penalty", SDLLW, "words, negative", lambda n: n.model(_WORD)),
    _column("lm", "MF3: language models, summed", SDLLW, "natural logarithm", lambda n: n.model(_LM)),
    _column("phrase_inverse", "MF4: phrase probability of source given target", SDLLW, "natural logarithm",
            lambda n: n.model(_TM, 0)),
    _column("lexical_inverse", "MF5: lexical probability of source given target", SDLLW,
            "natural logarithm", lambda n: n.model(_TM, 1)),
    _column("phrase_direct", "MF6: phrase probability of target given source", SDLLW, "natural logarithm",
            lambda n: n.model(_TM, 2)),
    _column("lexical_direct", "MF7: lexical probability of target given source", SDLLW,
            "natural logarithm", lambda n: n.model(_TM, 3)),
    _column("phrase_penalty", "MF8: phrase penalty", SDLLW, "phrases", _phrase_penalty),
    _column("reordering", "lexical reordering, summed (d1 .. d6)", DFKI, "natural logarithm", _reordering),
)  # fmt: skip

SEGMENTATION: Final = (
    _column("phrases", "phrases of the best hypothesis", PRHLT, "phrases",
            _phrases(lambda n: float(len(n.phrases)))),
    _column("trace_density", "phrases by tokens of the source", SJTU, "ratio",
            _phrases(lambda n: _ratio(len(n.phrases), n.source_length))),
    _column("source_phrase_length", "mean source words of a phrase", SJTU, "words",
            _phrases(lambda n: _mean(_sizes(n, 0)))),
    _column("target_phrase_length", "mean target words of a phrase", SJTU, "words",
            _phrases(lambda n: _mean(_sizes(n, 1)))),
    _column("longest_phrase", "source words of the longest phrase", SJTU, "words",
            _phrases(lambda n: float(_sizes(n, 0).max()))),
    _column("single_words", "share of phrases of one source word", SJTU, "share",
            _phrases(lambda n: float((_sizes(n, 0) == 1).mean()))),
    _column("jumped", "share of phrases that do not follow the one before in the source", DFKI, "share",
            _phrases(lambda n: float((_jumps(n) > 0).mean()))),
    _column("jump_distance", "mean source words jumped over between phrases", DFKI, "words",
            _phrases(lambda n: _mean(_jumps(n)))),
)  # fmt: skip

SEARCH: Final = (
    _column("search_nodes", "hypotheses in the search graph by tokens of the source", PRHLT, "ratio",
            lambda n: _ratio(n.search("nodes"), n.source_length)),
    _column("search_dead", "share of dead hypotheses in the search graph", PRHLT, "share",
            lambda n: _share(n, "dead")),
    _column("search_recombined", "share of recombined hypotheses in the search graph", PRHLT, "share",
            lambda n: _share(n, "recombined")),
    _column("transition_mean", "mean score of a step in the search graph", DFKI, "as the system gives it",
            lambda n: _mean(_transitions(n))),
    _column("transition_sd", "standard deviation of the score of a step in the search graph", DFKI,
            "as the system gives it", lambda n: float(np.std(t)) if len(t := _transitions(n)) else NAN),
)  # fmt: skip

COLUMNS: Final = (*DISPERSION, *MODELS, *SEGMENTATION, *SEARCH)


@dataclass(frozen=True)
class NBest(Extractor):
    """Diversity of a decoder's hypotheses and its scores of the best one: `COLUMNS`.

    Reads the column `nbest`; `qe_papers.moses` makes it from files of Moses. What an entry does not say
    (scores, phrases, search) is NaN; everything is NaN for an empty list. Raises InputError for entries that
    are not JSON lists of texts or hypotheses.
    """

    plain: ClassVar[str] = "how far the MT system's alternatives differ"

    @property
    def features(self) -> Sequence[Feature]:
        return features_of(COLUMNS)

    def requires(self) -> tuple[str, ...]:
        return ("nbest",)

    def extract(self, segments: Segments) -> FloatArray:
        lists = hypotheses(segments)
        tokens = segments.target_tokenizer.tokens([item.text for items in lists for item in items])
        result = np.full((len(segments), len(COLUMNS)), NAN)
        start = 0
        for i, items in enumerate(lists):
            if items:
                words = [tokens.words(k) for k in range(start, start + len(items))]
                here = _List(items, words, int(segments.source_tokens.lengths[i]))
                result[i] = [column.compute(here) for column in COLUMNS]
            start += len(items)
        return result
