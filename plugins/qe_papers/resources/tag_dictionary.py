"""TagDictionary: number of tags of every word of an annotated corpus."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.hints import Share
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts, Resource
from features.resources.annotation import Annotation
from features.storage.damage import typed
from features.text.annotation import Layer
from features.text.corpus import ParallelCorpus, Side
from features.text.tokens import MARKERS, UNK, Tokens, Vocabulary, segment_mean

LEAST_SHARE = 0.05  # rarer tags of a word are considered tagging errors


@dataclass(frozen=True, kw_only=True)
class TagDictionaryBuilder(Builder):
    """Counts tags in a layer of one side's annotation.

    Tags below `least_share` of a word's occurrences are ignored, but every word has at least one.
    """

    side: Side
    annotation: Annotation
    layer: Layer = "xpos"
    least_share: Share = LEAST_SHARE

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "TagDictionary":
        progress(f"tags of words, {self.side}", 0, 1)
        words, tags = corpus.side(self.side), self.annotation.layer(self.layer)
        cells, uses = np.unique(words.ids.astype(np.int64) * len(tags.types) + tags.ids, return_counts=True)
        owner = cells // max(len(tags.types), 1)
        total = np.bincount(words.ids, minlength=len(words.types))
        frequent = np.bincount(owner[uses >= self.least_share * total[owner]], minlength=len(total))
        counts = np.maximum(frequent, total > 0)
        known = np.flatnonzero(counts)
        made = TagDictionary(
            words=Vocabulary([words.types[i] for i in known]),
            tags=np.asarray(counts[known], np.int64),
            settings=self.settings,
            corpus_fingerprint=corpus.fingerprint,
        )
        progress(f"tags of words, {self.side}", 1, 1)
        return made


@dataclass(frozen=True, eq=False, kw_only=True)
class TagDictionary(Resource):
    """tags[k] is the number of tags of the k-th word in the corpus, case-sensitive.

    It replaces the dictionary of a tagger that lists the possible tags of every word.
    """

    parts: ClassVar[Parts] = {
        f"{side}_tag_dictionary": {"side": side, "annotation": f"{side}_annotation"}
        for side in ("source", "target")
    }
    builder: ClassVar[type[Builder]] = TagDictionaryBuilder

    words: Vocabulary
    tags: NDArray[np.int64]

    def check_arrays(self) -> None:
        typed("tags", self.tags, np.int64, len(self.words) - len(MARKERS))

    def ambiguous(self, tokens: Tokens) -> FloatArray:
        """Share (n,) of tokens whose word has more than one tag; NaN without tokens."""
        return segment_mean(self._counts(tokens) > 1, tokens.offsets)

    def unknown(self, tokens: Tokens) -> FloatArray:
        """Share (n,) of tokens whose word is not in the dictionary; NaN without tokens."""
        return segment_mean(self._counts(tokens) == 0, tokens.offsets)

    def _counts(self, tokens: Tokens) -> NDArray[np.int64]:
        places = self.words.lookup(tokens.types)
        first = len(self.words) - len(self.tags)  # the markers come before the words
        by_type = np.zeros(len(places), np.int64)
        by_type[places != UNK] = self.tags[places[places != UNK] - first]
        return by_type[tokens.ids]
