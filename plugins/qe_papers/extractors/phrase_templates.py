"""Label predicted by support vector regression on a segment's phrases: eleven templates."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import NotNegative, Positive
from features.comparisons.comparison import VARIANTS, ByDecoder, WithBackTranslation
from features.core.extractor import Extractor, Feature, FittedExtractor
from features.core.segments import Segments
from features.resources.ngrams import NgramCounts
from features.storage.damage import Damaged
from qe_papers.resources.phrase_words import PhraseWords
from qe_papers.resources.source_splits import SourceSplits

Words = Sequence[str]
Pattern = tuple[str, ...]  # an n-gram, or an anchor: two bigrams separated by GAP

GAP = "\t"
ORDERS = 2, 3, 4, 5


def ngrams(words: Words) -> set[Pattern]:
    return {tuple(words[i : i + n]) for n in ORDERS for i in range(len(words) - n + 1)}


def unmatched(words: Words, reference: Words) -> list[bool]:
    """Whether each word lacks an equal partner in the other text; repeated words are paired first to last."""
    left, result = Counter(reference), []
    for word in words:
        result.append(left[word] == 0)
        left[word] -= left[word] > 0
    return result


def different(words: Words, reference: Words) -> list[tuple[int, int]]:
    """First place and end of every run of unmatched words."""
    bounds = np.diff([False, *unmatched(words, reference), False])
    return [(start, end) for start, end in np.flatnonzero(bounds).reshape(-1, 2).tolist()]


def surrounded(words: Words, reference: Words) -> list[Words]:
    """The runs of unmatched words, with the word before and after if they exist."""
    return [tuple(words[max(start - 1, 0) : end + 1]) for start, end in different(words, reference)]


def anchors_of_differences(words: Words, reference: Words) -> set[Pattern]:
    """`prev s1 ... sn next` of every run of unmatched words s1 .. sn between two words."""
    return {
        (words[start - 1], words[start], GAP, words[end - 1], words[end])
        for start, end in different(words, reference)
        if start > 0 and end < len(words)
    }


def anchors(words: Words) -> set[Pattern]:
    """All anchors of a text: a bigram, and another one that starts later."""
    pairs = list(pairwise(words))
    return {(*pairs[i], GAP, *pairs[j]) for i in range(len(pairs)) for j in range(i + 1, len(pairs))}


def with_function_words(words: Words) -> list[bool]:
    """Whether each bigram begins or ends with a word of up to three letters.

    >>> with_function_words(["casa", "de", "piedra", "blanca"])
    [True, True, False]
    """
    return [len(a) <= 3 or len(b) <= 3 for a, b in pairwise(words)]


TEMPLATES: Final[Mapping[str, str]] = {
    "reference": "2-5-grams of the translation that references have",
    "source_splits": "bigrams of the source that the corpus translates apart",
    "function_words": "bigrams with a word of up to three letters that the corpus lacks",
    "target_bad": "2-5-grams of bad translations alone",
    "target_good": "2-5-grams of good translations alone",
    "source_bad": "2-5-grams of sources of bad translations alone",
    "source_good": "2-5-grams of sources of good translations alone",
    "edited": "2-5-grams around what post-editors changed",
    "edited_anchors": "anchors of what post-editors changed",
    "inverted": "2-5-grams around what the back-translation changed",
    "inverted_anchors": "anchors of what the back-translation changed",
}
_FIXED: Final = "source_splits", "function_words"  # from the corpus, not from training rows
# N-gram template -> side. Bigrams and anchors lack three consecutive words, so no phrase is similar to them.
_NGRAMS: Final[Mapping[str, Literal["source", "target"]]] = {
    **dict.fromkeys(("reference", "target_bad", "target_good", "edited"), "target"),
    **dict.fromkeys(("source_bad", "source_good", "inverted"), "source"),
}
_ORIGIN: Final = "Wu and Zhao 2012 (SJTU at WMT12), section 3.2"
_LARGEST: Final = 1e100  # maximum stored weight


@dataclass(frozen=True, eq=False)
class Templates:
    """Template -> patterns; n-gram template -> pattern -> similar phrases, also part of the template."""

    patterns: Mapping[str, Set[Pattern]]
    similar: Mapping[str, Mapping[Pattern, Sequence[Pattern]]]

    @cached_property
    def ngrams(self) -> Mapping[str, Set[Pattern]]:
        return {name: self.patterns[name] | _joined(self.similar[name].values()) for name in _NGRAMS}

    def sizes(self) -> dict[str, int]:
        return {name: len(own) for name, own in {**self.patterns, **self.ngrams}.items()}

    def matches(self, row: "_Row") -> dict[str, set[Pattern]]:
        matched: dict[str, set[Pattern]] = {"source_splits": row.splits, "function_words": row.unusual}
        for name, side in _NGRAMS.items():
            here, similar = row.ngrams[side], self.similar[name]
            matched[name] = (here & self.ngrams[name]).union(*(similar.get(pattern, ()) for pattern in here))
        matched["edited_anchors"] = anchors(row.target) & self.patterns["edited_anchors"]
        matched["inverted_anchors"] = anchors(row.source) & self.patterns["inverted_anchors"]
        return matched


def _joined(parts: Iterable[Iterable[Pattern]]) -> set[Pattern]:
    return set().union(*parts)


@dataclass(frozen=True, eq=False)
class Learned:
    """Result of a fit: templates, their sizes, pattern weights (in label units) and intercept."""

    templates: Templates
    weights: Mapping[str, Mapping[Pattern, float]]
    sizes: Mapping[str, int]
    intercept: float


@dataclass(frozen=True)
class PhraseTemplates(WithBackTranslation, FittedExtractor):
    """Sparse templates of phrases: matched patterns of each, and the label by an SVR on all patterns.

    A matched pattern has the value 1 / (size of its template); the matrix is divided by its rows' mean
    length, to give C a scale. The SVR has a linear kernel (the paper: RBF), so that only weights are stored.

    bad, good  labels below `bad` mark bad translations, labels above `good` good ones, in label units; if low
               labels are good, `bad` is the higher bound and the comparisons are reversed
    C, epsilon SVR parameters
    expanded   whether phrases of the phrase table that are similar to a pattern (`PhraseWords.similar`:
               equations 2 and 3 both hold) belong to its template, and count if the segment has the pattern
    engine     `decoder`: our own decoder translates back, as in `back_translation`

    Words are lower-cased. The prediction is NaN for an empty translation.
    """

    plain: ClassVar[str] = "which patterns of phrases the {text} has"
    variants: ClassVar[Sequence[Mapping[str, Any]]] = VARIANTS

    source_splits: SourceSplits
    target_ngrams5: NgramCounts
    source_phrases: PhraseWords
    target_phrases: PhraseWords
    bad: float = 1.5
    good: float = 4.5
    C: Positive = 1.0
    epsilon: NotNegative = 0.2
    expanded: bool = True
    model: Learned | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bad == self.good:
            raise InputError(f"`bad` and `good` must differ, but both are {self.bad}")

    @classmethod
    def for_settings(cls, settings: Mapping[str, Any]) -> type[Extractor]:
        return _ByDecoder if "engine" in settings else cls

    @property
    def features(self) -> Sequence[Feature]:
        also = ", and of known phrases that are like them" if self.expanded else ""
        features = []
        for name, what in TEMPLATES.items():
            text = f"number of {what}{also if name in _NGRAMS else ''}"
            features.append(Feature(f"templates_{name}", text, _ORIGIN, "patterns"))
        what = "label predicted from the templates; undefined for an empty translation"
        return [*features, Feature("templates_prediction", what, _ORIGIN, "as the label")]

    def labels_used(self) -> tuple[str, ...]:
        return ("scores", "post_edit", "reference")

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        from sklearn.svm import SVR

        rows, scores = list(self._rows(segments)), np.asarray(labels["scores"], np.float64)
        post_edits, references = (
            list(map(tokens.words, range(len(tokens))))
            for name in ("post_edit", "reference")
            for tokens in (segments.target_tokenizer.tokens([str(text) for text in labels[name]]).lower(),)
        )
        templates = self._templates(self._patterns(rows, scores, references, post_edits))
        matches = [templates.matches(row) for row in rows]
        sizes = {
            "source_splits": len(self.source_splits),
            "function_words": len(_joined(row.unusual for row in rows)),
            **templates.sizes(),
        }
        cells = [
            (i, name, pattern)
            for i, matched in enumerate(matches)
            for name in TEMPLATES
            for pattern in matched[name]
        ]
        index = {key: k for k, key in enumerate(sorted({(name, pattern) for _, name, pattern in cells}))}
        places = [i for i, _, _ in cells], [index[name, pattern] for _, name, pattern in cells]
        values, shape = [1 / sizes[name] for _, name, _ in cells], (len(rows), max(len(index), 1))
        matrix: Any = sparse.csr_matrix((values, places), shape=shape, dtype=np.float64)
        lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
        scale = float(lengths.mean()) or 1.0
        model = SVR(kernel="linear", C=self.C, epsilon=self.epsilon).fit(matrix / scale, scores)
        coefficients = np.asarray(sparse.csr_matrix(model.coef_).todense(), np.float64).ravel() / scale
        weights: dict[str, dict[Pattern, float]] = {name: {} for name in TEMPLATES}
        for (template, pattern), k in index.items():
            weights[template][pattern] = float(coefficients[k]) / sizes[template]
        return self.with_learned(model=Learned(templates, weights, sizes, float(model.intercept_[0])))

    def _templates(self, patterns: Mapping[str, Set[Pattern]]) -> Templates:
        if not self.expanded:
            return Templates(patterns, {name: {} for name in _NGRAMS})
        phrases = {"source": self.source_phrases, "target": self.target_phrases}
        return Templates(
            patterns, {name: phrases[side].similar(sorted(patterns[name])) for name, side in _NGRAMS.items()}
        )

    def _patterns(
        self, rows: Sequence["_Row"], scores: FloatArray, references: Sequence[Words], edits: Sequence[Words]
    ) -> dict[str, set[Pattern]]:
        sign = 1 if self.bad < self.good else -1
        below, above = sign * scores < sign * self.bad, sign * scores > sign * self.good
        made = {"reference": _joined(map(ngrams, references))}
        for side in ("target", "source"):
            bad, good = (
                _joined(row.ngrams[side] for row, chosen in zip(rows, which, strict=True) if chosen)
                for which in (below, above)
            )
            made |= {f"{side}_bad": bad - good, f"{side}_good": good - bad}
        targets = [row.target for row in rows]
        sources, backs = [row.source for row in rows], [row.back for row in rows]
        for name, left, right in (("edited", targets, edits), ("inverted", sources, backs)):
            pairs = list(zip(left, right, strict=True))
            made[name] = {p for a, b in pairs for run in surrounded(a, b) for p in ngrams(run)}
            made[f"{name}_anchors"] = {p for a, b in pairs for p in anchors_of_differences(a, b)}
        return made

    def extract(self, segments: Segments) -> FloatArray:
        model = self.learned(self.model)
        values = np.empty((len(segments), len(TEMPLATES) + 1))
        for i, row in enumerate(self._rows(segments)):
            matches = model.templates.matches(row)
            values[i, :-1] = [len(matches[name]) for name in TEMPLATES]
            weights = (model.weights[name].get(p, 0.0) for name in TEMPLATES for p in sorted(matches[name]))
            values[i, -1] = model.intercept + sum(weights) if len(row.target) else np.nan
        return values

    def _rows(self, segments: Segments) -> Iterator["_Row"]:
        source, target = segments.source_tokens.lower(), segments.target_tokens.lower()
        back = self.back(segments).lower()
        split = self.source_splits.split(segments.source_tokens)
        counts, offsets = self.target_ngrams5.counts(segments.target_tokens, 2)
        for i in range(len(segments)):
            words, translated = source.words(i), target.words(i)
            at = np.flatnonzero(split[source.offsets[i] : source.offsets[i + 1]])
            seen = counts[offsets[i] : offsets[i + 1]]
            unusual: set[Pattern] = {
                (translated[k], translated[k + 1])
                for k, short in enumerate(with_function_words(translated))
                if short and seen[k] == 0
            }
            apart: set[Pattern] = {(words[k], words[k + 1]) for k in at.tolist()}
            yield _Row(words, translated, back.words(i), apart, unusual)

    def save(self, path: Path) -> None:
        model = self.learned(self.model)
        content = {
            "intercept": model.intercept,
            "sizes": dict(model.sizes),
            "weights": {name: list(own.items()) for name, own in model.weights.items()},
            "patterns": {name: sorted(own) for name, own in model.templates.patterns.items()},
        }
        (path / "templates.json").write_text(json.dumps(content), "utf-8", newline="")

    def restore(self, path: Path) -> Self:
        try:
            content = json.loads((path / "templates.json").read_text("utf-8"))
            weights = {n: {tuple(p): float(w) for p, w in content["weights"][n]} for n in TEMPLATES}
            patterns = {n: {tuple(p) for p in content["patterns"][n]} for n in TEMPLATES if n not in _FIXED}
            sizes = {name: int(content["sizes"][name]) for name in TEMPLATES}
            model = Learned(self._templates(patterns), weights, sizes, float(content["intercept"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Damaged(f"templates.json is damaged: {error}") from None
        every = [model.intercept, *(weight for own in weights.values() for weight in own.values())]
        if not all(abs(weight) < _LARGEST for weight in every):
            raise Damaged("a weight in templates.json is no finite number")
        return self.with_learned(model=model)


@dataclass(frozen=True)
class _ByDecoder(ByDecoder, PhraseTemplates):
    pass


@dataclass(frozen=True, eq=False)
class _Row:
    source: Words
    target: Words
    back: Words
    splits: set[Pattern]
    unusual: set[Pattern]

    @cached_property
    def ngrams(self) -> Mapping[str, set[Pattern]]:
        return {"source": ngrams(self.source), "target": ngrams(self.target)}
