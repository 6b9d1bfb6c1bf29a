"""Consistency: whether source phrases that a document repeats are translated alike."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray
from features.basics.errors import InputError
from features.resources.phrase_table import PhraseTable
from features.text.links import Links
from features.text.tokens import MARKERS, Tokens, Vocabulary

FUNCTION_WORDS: Final = 150  # the most frequent words of the table's corpus
COLUMNS: Final[Mapping[str, str]] = {
    "consistency_repeated": "share of source tokens in a phrase that its document repeats",
    "consistency_inconsistent": "share of source tokens in a repeated phrase with several translations",
    "consistency_minority": "share of source tokens in a repeated phrase whose translation here is not the"
    " most frequent one of its document",
    "consistency_phrases": "occurrences of repeated phrases",
    "consistency_consistent": "share of them that are translated alike in their document; NaN without any",
}


@dataclass(frozen=True)
class Occurrence:
    """A repeated phrase at a place; `translation` (content words) is None if it is not in the table."""

    segment: int
    first: int
    words: int
    translation: tuple[str, ...] | None


@dataclass(frozen=True)
class Repeated:
    document: str
    occurrences: tuple[Occurrence, ...]

    @cached_property
    def translations(self) -> Counter[tuple[str, ...]]:
        return Counter(one.translation for one in self.occurrences if one.translation is not None)

    @property
    def consistent(self) -> bool:
        return len(self.translations) == 1


@dataclass(frozen=True, eq=False)
class Consistency:
    """n segments of documents, and the repeated phrases with two or more known translations.

    Source: Carpuat and Simard 2012, section 4: phrases of the phrase table with a content word, which occur
    more than once in a document; translated consistently if the linked phrases are identical but for
    punctuation and function words, here the 150 most frequent words of the table's corpus.
    """

    lengths: NDArray[np.int64]
    phrases: tuple[Repeated, ...]

    @classmethod
    def from_segments(
        cls,
        source: Tokens,
        target: Tokens,
        documents: Sequence[str],
        links: Links,
        table: PhraseTable,
        function_words: int = FUNCTION_WORDS,
    ) -> "Consistency":
        """From n segments and their word links; raises InputError for other numbers of documents or links."""
        given = {"documents": len(documents), "links": len(links), "translations": len(target)}
        for what, number in given.items():
            if number != len(source):
                raise InputError(f"{len(source)} segments, but {number} {what}")
        links.check(source.lengths, target.lengths, "links")
        texts = _Texts(
            source,
            target,
            links,
            table,
            table.phrases(source, "source"),
            table.phrases(target, "target"),
            content_words(source, table.source_vocabulary, function_words),
            content_words(target, table.target_vocabulary, function_words),
        )
        places: dict[tuple[str, int], list[tuple[int, int, int]]] = defaultdict(list)
        for segment, first, words, phrase in texts.phrases():
            places[documents[segment], phrase].append((segment, first, words))
        repeated = (
            Repeated(document, tuple(texts.occurrence(phrase, *place) for place in there))
            for (document, phrase), there in places.items()
            if len(there) > 1
        )
        return cls(source.lengths, tuple(phrase for phrase in repeated if phrase.translations.total() > 1))

    def features(self) -> FloatArray:
        n = len(self.lengths)
        covered = np.zeros((n, 3))
        marks = [np.zeros((3, length), np.bool_) for length in self.lengths]
        counts = np.zeros((n, 2))
        for phrase in self.phrases:
            usual = max(phrase.translations.values())
            for one in phrase.occurrences:
                place = slice(one.first, one.first + one.words)
                minority = one.translation is not None and phrase.translations[one.translation] < usual
                marks[one.segment][:, place] |= np.array([[True], [not phrase.consistent], [minority]])
                counts[one.segment] += 1, phrase.consistent
        for segment, mark in enumerate(marks):
            covered[segment] = mark.mean(axis=1) if mark.shape[1] else np.nan
        with np.errstate(invalid="ignore"):
            shares = np.where(counts[:, 0] > 0, counts[:, 1] / counts[:, 0], np.nan)
        return np.column_stack([covered, counts[:, 0], shares])

    def summary(self) -> dict[str, float]:
        """How often documents repeat phrases, and how consistently: Table 2 of the paper without references.

        Repeated phrases; % consistent; mean occurrences in a document of all phrases and of inconsistent
        ones; documents with such a phrase; % of those documents with an inconsistent one (not in the table).
        The table's shares of matches with the reference, and of "easy fixes", are not here.
        """
        split = [phrase for phrase in self.phrases if not phrase.consistent]
        documents = {phrase.document for phrase in self.phrases}
        return {
            "repeated_phrases": len(self.phrases),
            "consistent_percent": _percent(len(self.phrases) - len(split), len(self.phrases)),
            "occurrences": _mean([len(phrase.occurrences) for phrase in self.phrases]),
            "occurrences_inconsistent": _mean([len(phrase.occurrences) for phrase in split]),
            "documents": len(documents),
            "documents_inconsistent_percent": _percent(len({p.document for p in split}), len(documents)),
        }


@dataclass(frozen=True, eq=False)
class _Texts:
    source: Tokens
    target: Tokens
    links: Links
    table: PhraseTable
    source_phrases: NDArray[np.int32]
    target_phrases: NDArray[np.int32]
    source_content: BoolArray
    target_content: BoolArray

    def phrases(self) -> Iterator[tuple[int, int, int, int]]:
        offsets = self.source.offsets
        for segment in range(len(self.source)):
            start = offsets[segment]
            for place, column in np.argwhere(self.source_phrases[start : offsets[segment + 1]] >= 0).tolist():
                first, words = start + place, column + 1
                if self.source_content[first : first + words].any():
                    yield segment, place, words, int(self.source_phrases[first, column])

    def occurrence(self, phrase: int, segment: int, first: int, words: int) -> Occurrence:
        untranslated = Occurrence(segment, first, words, None)
        span = self._span(segment, first, words)
        if span is None or span[1] > self.target_phrases.shape[1]:
            return untranslated
        begin, length = span
        low, high = self.table.offsets[phrase], self.table.offsets[phrase + 1]
        if not (self.table.target[low:high] == self.target_phrases[begin, length - 1]).any():
            return untranslated
        types, ids, places = self.target.types, self.target.ids, range(begin, begin + length)
        content = tuple(types[ids[place]].lower() for place in places if self.target_content[place])
        return Occurrence(segment, first, words, content)

    def _span(self, segment: int, first: int, words: int) -> tuple[int, int] | None:
        low, high = self.links.offsets[segment], self.links.offsets[segment + 1]
        source, target = self.links.source[low:high], self.links.target[low:high]
        inside = (source >= first) & (source < first + words)
        if not inside.any():
            return None
        begin, last = int(target[inside].min()), int(target[inside].max())
        if ((target >= begin) & (target <= last) & ~inside).any():
            return None
        return int(self.target.offsets[segment]) + begin, last - begin + 1


def content_words(tokens: Tokens, vocabulary: Vocabulary, function_words: int = FUNCTION_WORDS) -> BoolArray:
    """Whether each token (n_tokens,) has a letter or digit, and is none of the most frequent words."""
    lowered = tokens.lower()
    words = np.array([any(letter.isalnum() for letter in word) for word in lowered.types], np.bool_)
    places = lowered.ids_in(vocabulary)  # markers, then words by falling frequency
    frequent = (places >= len(MARKERS)) & (places < len(MARKERS) + function_words)
    return np.asarray(words[lowered.ids] & ~frequent, np.bool_)


def _percent(part: int, total: int) -> float:
    return 100 * part / total if total else float("nan")


def _mean(values: Sequence[int]) -> float:
    return float(np.mean(values)) if values else float("nan")
