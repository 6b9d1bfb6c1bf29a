"""TupleLM: an n-gram model of bilingual units, target words with their source words."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numba
import numpy as np

from features.basics.errors import InputError
from features.basics.hints import Count
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts, Resource
from features.resources.aligner import Aligner
from features.resources.language_model import LanguageModel, LMScores
from features.storage.files import digest
from features.text.corpus import ParallelCorpus
from features.text.links import Links
from features.text.tokens import Tokens

_NULL = "<null>"
_SEPARATOR = "|||"  # between the two words of a unit; no tokenizer leaves it inside a word


def units(source: Tokens, target: Tokens, links: Links) -> Tokens:
    """Every target word as `word|||source word` (of its first link, or `<null>`), lower-cased, in order."""
    left, right = source.lower(), target.lower()
    given_words = np.full(len(right.ids), len(left.types), np.int32)
    alignment = links.offsets, links.source, links.target
    _first_links(alignment, left.ids, left.offsets, np.asarray(right.offsets), given_words)
    index = np.empty(len(right.ids), np.int32)
    targets, sources = _numbered(right.ids, given_words, len(right.types), len(left.types) + 1, index)
    names = (*left.types, _NULL)
    words = zip(targets.tolist(), sources.tolist(), strict=True)
    types = tuple(f"{right.types[t]}{_SEPARATOR}{names[s]}" for t, s in words)
    return Tokens(types, index, np.asarray(right.offsets))


@numba.njit(cache=True, nogil=True)
def _first_links(alignment: Any, ids: Any, offsets: Any, places: Any, given_words: Any) -> None:
    links, positions, target_positions = alignment
    for k in range(len(links) - 1):
        for e in range(links[k + 1] - 1, links[k] - 1, -1):
            given_words[places[k] + target_positions[e]] = ids[offsets[k] + positions[e]]


@numba.njit(cache=True, nogil=True)
def _numbered(words: Any, given_words: Any, types: int, size: int, index: Any) -> Any:
    starts = np.zeros(types + 1, np.int64)
    for word in words:
        starts[word + 1] += 1
    starts = np.cumsum(starts)
    free, order = starts[:-1].copy(), np.empty(len(words), np.int32)
    for token in range(len(words)):
        order[free[words[token]]] = token
        free[words[token]] += 1
    lefts, rights = np.empty(len(words), np.int32), np.empty(len(words), np.int32)
    number, pairs = np.full(size, -1, np.int32), 0
    for word in range(types):
        here, first = order[starts[word] : starts[word + 1]], pairs
        for token in here:
            if number[given_words[token]] < 0:
                number[given_words[token]] = 0
                lefts[pairs], rights[pairs] = word, given_words[token]
                pairs += 1
        rights[first:pairs].sort()
        for k in range(first, pairs):
            number[rights[k]] = k
        for token in here:
            index[token] = number[given_words[token]]
        for k in range(first, pairs):
            number[rights[k]] = -1
    return lefts[:pairs].copy(), rights[:pairs].copy()


@dataclass(frozen=True, kw_only=True)
class TupleLMBuilder(Builder):
    """Aligns the corpus; rarer units than `minimum` are unknown, `prune` drops n-grams that occur once."""

    aligner: Aligner
    order: Count = 3
    minimum: Count = 2
    prune: bool = False

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "TupleLM":
        links = self.aligner.corpus_links(corpus, "source-target", progress)
        return TupleLM.from_links(
            corpus,
            links,
            order=self.order,
            minimum=self.minimum,
            prune=self.prune,
            provenance=self.aligner.provenance(),
            progress=progress,
        )


@dataclass(frozen=True, eq=False)
class TupleLM(Resource):
    """Modified Kneser-Ney model of the bilingual units of `units`. The n-gram translation model of Mariño et
    al. 2006, section 2, with one target word per unit. The links of the corpus, and of what is scored, are
    those of every target word and its most probable source word.
    """

    parts: ClassVar[Parts] = {"tuple_lm": {"order": 3}}
    builder = TupleLMBuilder
    version: ClassVar[int] = LanguageModel.version
    older: ClassVar[frozenset[int]] = LanguageModel.older

    model: LanguageModel

    @classmethod
    def from_links(
        cls,
        corpus: ParallelCorpus,
        links: Links,
        *,
        order: int = 3,
        minimum: int = 2,
        prune: bool = False,
        provenance: Mapping[str, Any] | None = None,
        progress: Progress = silent,
    ) -> Self:
        """From links made elsewhere (`Links.read`); raises InputError if they do not fit the corpus."""
        if len(links) != len(corpus):
            raise InputError(f"expected links of {len(corpus)} sentence pairs, but found {len(links)}")
        links.check(corpus.source.lengths, corpus.target.lengths, "links")
        text = units(corpus.source, corpus.target, links)
        model = LanguageModel.from_tokens(
            text,
            order=order,
            case="true",
            minimum=minimum,
            prune=prune,
            progress=progress,
            corpus_fingerprint=digest(corpus.fingerprint, *(provenance or {}).values()),
        )
        settings = {"order": order, "minimum": minimum, "prune": prune, "ngrams": model.settings["ngrams"]}
        settings |= provenance or {}
        return cls(model, settings=settings, corpus_fingerprint=corpus.fingerprint)

    def score(self, source: Tokens, target: Tokens, links: Links) -> LMScores:
        """Scores of each target word and `</s>`; `links` are `Aligner.align(..., "source-target")`."""
        links.check(source.lengths, target.lengths)
        if len(links) != len(target):
            raise InputError(f"{len(target)} segments, but the links of {len(links)}")
        return self.model.score(units(source, target, links))

    def check_arrays(self) -> None:
        self.model.check_arrays()

    def save(self, path: Path) -> None:
        meta = {"settings": dict(self.settings), "corpus_fingerprint": self.corpus_fingerprint}
        (path / "tuples.json").write_text(json.dumps(meta, indent=1, sort_keys=True), "utf-8")
        self.model.save(path)

    @classmethod
    def load(cls, path: Path) -> Self:
        meta = json.loads((path / "tuples.json").read_text("utf-8"))
        return cls(LanguageModel.load(path), **meta)
