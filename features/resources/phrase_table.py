"""PhraseTable: phrase pairs of the aligned corpus, probabilities and lexical weights."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numba
import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from features.basics.array_types import offsets_of
from features.basics.distinct import find
from features.basics.errors import InputError
from features.basics.hints import Count
from features.basics.progress import Progress, silent
from features.core.bundle import RESOURCES
from features.core.resource import Builder, Parts, Resource
from features.resources.aligner import Aligner, Symmetrization
from features.resources.annotation import Annotation
from features.resources.phrases import (
    MOST_WORDS,
    AlignedSide,
    AlignedText,
    assembled,
    count_phrases,
    keys_of,
)
from features.storage.damage import finite, rising, rows, typed
from features.syntax.phrase_units import Units, in_units, moved
from features.text.corpus import ParallelCorpus
from features.text.links import Links
from features.text.tokens import Tokens, Vocabulary

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Keys = NDArray[np.uint64]
Singles = NDArray[np.float32]
Entities = tuple[Annotation, Annotation]

_LEAST = float(np.finfo(np.float32).smallest_subnormal)  # of a probability: its logarithm is taken


@dataclass(frozen=True, kw_only=True)
class PhraseTableBuilder(Builder):
    """Aligns the corpus, extracts, counts and scores phrase pairs seen at least `minimum` times."""

    aligner: Aligner
    units: Units = "word"
    source_entity_annotation: Annotation | None = None
    target_entity_annotation: Annotation | None = None
    longest: Annotated[int, Ge(1), Le(MOST_WORDS)] = 5
    minimum: Count = 2
    symmetrization: Symmetrization = "grow-diag-final-and"

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "PhraseTable":
        links = self.aligner.corpus_links(corpus, self.symmetrization, progress)
        source, target = self.source_entity_annotation, self.target_entity_annotation
        return PhraseTable.from_links(
            corpus,
            links,
            self.longest,
            self.minimum,
            self.aligner.provenance(self.symmetrization),
            units=self.units,
            entities=None if source is None or target is None else (source, target),
            progress=progress,
        )


@RESOURCES.register("phrase_table")
@dataclass(frozen=True, eq=False)
class PhraseTable(Resource):
    """Phrase pairs of up to `longest` words a side, consistent with the word alignment. Koehn et al. 2003.
    Source phrases are rows 0 .. n - 1, target phrases 0 .. m - 1, both by their 64-bit keys; the entries of
    row r are offsets[r] .. offsets[r + 1], by target phrase.

    target          (entries,) target phrase
    counts          (entries,) how often extracted
    forward         (entries,) p(target phrase | source phrase), relative frequency before pruning
    backward        (entries,) p(source phrase | target phrase)
    forward_weight  (entries,) natural logarithm of the lexical weight of the target given the source
    backward_weight (entries,) of the source given the target; of several alignments the best
    target_words    the words of target phrase t are target_words[target_starts[t] : target_starts[t + 1]],
                    ids of `target_vocabulary`

    Words are lower-cased. Phrases can be of other `units` than words, with the links of the words (Mehdad et
    al. 2012, section 3.1): base forms by simplemma, stems (the first five letters), text with types of
    entities in their place (there the labelled text is aligned again), or, where no annotator of entities is
    at hand, with labels of names and numbers told by their form.
    """

    parts: ClassVar[Parts] = {
        "phrase_table": {},
        **{f"{units}_phrase_table": {"units": units} for units in ("lemma", "stem", "name")},
        "entity_phrase_table": {
            "units": "entity",
            "source_entity_annotation": "source_entity_annotation",
            "target_entity_annotation": "target_entity_annotation",
        },
    }
    builder: ClassVar[type[Builder]] = PhraseTableBuilder

    source_vocabulary: Vocabulary = field(metadata={"stored": "source"})
    target_vocabulary: Vocabulary = field(metadata={"stored": "target"})
    source_keys: Keys
    target_keys: Keys
    offsets: Longs
    target: Ints
    counts: Ints
    forward: Singles
    backward: Singles
    forward_weight: Singles
    backward_weight: Singles
    target_starts: Longs
    target_words: Ints

    @classmethod
    def from_links(
        cls,
        corpus: ParallelCorpus,
        links: Links,
        longest: int = 5,
        minimum: int = 2,
        provenance: Mapping[str, Any] | None = None,
        *,
        units: Units = "word",
        entities: Entities | None = None,
        progress: Progress = silent,
    ) -> Self:
        """From links made elsewhere (`Links.read`); `provenance` joins the settings.

        Raises InputError if the links are of another number of pairs, or point outside a sentence, and for
        phrases of more than 255 words.
        """
        if not 1 <= longest <= MOST_WORDS:
            raise InputError(f"phrases must have 1 to {MOST_WORDS} words at most, but got longest={longest}")
        if len(links) != len(corpus):
            raise InputError(f"expected links of {len(corpus)} sentence pairs, but found {len(links)}")
        links.check(corpus.source.lengths, corpus.target.lengths, "links")
        settings = {"longest": longest, "minimum": minimum, "units": units, **(provenance or {})}
        if entities is not None:
            settings["entities"] = [side.fingerprint for side in entities]
        tags = (None, None) if entities is None else [side.layer("entity") for side in entities]
        in_source = in_units(corpus.source, units, corpus.source_tokenizer.language, tags[0])
        in_target = in_units(corpus.target, units, corpus.target_tokenizer.language, tags[1])
        links = moved(links, in_source, in_target, (corpus.source, corpus.target))
        corpus = replace(corpus, source=in_source.tokens, target=in_target.tokens)
        source_vocabulary, source = _encoded(corpus.source)
        target_vocabulary, target = _encoded(corpus.target)
        text = _weighted(source, target, links)
        entries, keys, phrases = count_phrases(text, longest, minimum, progress)
        table: dict[str, Any] = assembled(entries, keys, phrases.totals)
        starts = offsets_of(phrases.lengths)
        words = np.arange(starts[-1]) + np.repeat(phrases.places - starts[:-1], phrases.lengths)
        return cls(
            source_vocabulary=source_vocabulary,
            target_vocabulary=target_vocabulary,
            target_starts=starts,
            target_words=target.ids[words],
            settings=settings,
            corpus_fingerprint=corpus.fingerprint,
            **table,
        )

    @property
    def units(self) -> str:
        return str(self.settings.get("units", "word"))

    @property
    def longest(self) -> int:
        return int(self.settings["longest"])

    def check_arrays(self) -> None:
        names = "forward", "backward", "forward_weight", "backward_weight"
        singles = {name: (getattr(self, name), np.float32) for name in names}
        sizes = len(self.source_keys), len(self.target_keys)
        rows(self.offsets, sizes[0], self.target, sizes[1], counts=(self.counts, np.int32), **singles)
        for name in ("source_keys", "target_keys"):
            typed(name, getattr(self, name), np.uint64, None)
            if len(getattr(self, name)):
                rising(name, getattr(self, name), None, None, strictly=True)
        rows(self.target_starts, sizes[1], self.target_words, len(self.target_vocabulary))
        for name in names:
            finite(name, getattr(self, name), *((_LEAST, 1) if name in names[:2] else ()))

    def phrases(self, tokens: Tokens, side: Literal["source", "target"]) -> Ints:
        """Phrases (n_tokens, longest) that start at each token with 1, 2, ... words; -1: not in the table."""
        vocabulary = self.source_vocabulary if side == "source" else self.target_vocabulary
        known = self.source_keys if side == "source" else self.target_keys
        lowered = tokens.lower()
        keys = keys_of(lowered.ids_in(vocabulary), lowered.offsets, self.longest)
        return find(known, keys)

    def phrase(self, target: int) -> str:
        first, last = self.target_starts[target], self.target_starts[target + 1]
        return " ".join(self.target_vocabulary.word(word) for word in self.target_words[first:last])


def part_of_units(settings: Mapping[str, Any]) -> str:
    """The part of a bundle with phrases of the `units` in settings.

    >>> part_of_units({"units": "word"}), part_of_units({"units": "stem"})
    ('phrase_table', 'stem_phrase_table')
    """
    return "phrase_table" if settings["units"] == "word" else f"{settings['units']}_phrase_table"


def _encoded(tokens: Tokens) -> tuple[Vocabulary, Tokens]:
    lowered = tokens.lower()
    vocabulary, mapping = Vocabulary.by_frequency(lowered.types, lowered.ids)
    return vocabulary, Tokens(vocabulary.words, mapping[lowered.ids], lowered.offsets)


def _weighted(source: Tokens, target: Tokens, links: Links) -> AlignedText:
    counts = np.diff(links.offsets)
    s = np.repeat(source.offsets[:-1].astype(np.int32), counts) + links.source
    t = np.repeat(target.offsets[:-1].astype(np.int32), counts) + links.target
    return AlignedText(
        AlignedSide(source.ids, source.offsets, _token_weights(target, source, t, s), links.source),
        AlignedSide(target.ids, target.offsets, _token_weights(source, target, s, t), links.target),
        links.offsets,
    )


def _token_weights(given_words: Tokens, words: Tokens, links_given: Ints, links_words: Ints) -> Singles:
    size = len(words.types)
    means = np.zeros(len(words.ids))
    link_counts = np.bincount(links_words, minlength=len(words.ids))
    starts = np.concatenate(
        ([0], np.cumsum(np.bincount(given_words.ids[links_given], minlength=len(given_words.types))))
    )
    links = links_given, links_words
    _mean_shares((given_words.ids, words.ids), links, starts, size, link_counts, means)
    free = link_counts == 0
    null = np.bincount(words.ids[free], minlength=size) / max(int(free.sum()), 1)
    means[free] = null[words.ids[free]]
    return np.log(means, out=means).astype(np.float32)


@numba.njit(cache=True, nogil=True)
def _mean_shares(ids: Any, links: Any, starts: Any, size: int, link_counts: Any, means: Any) -> None:
    (given_words, words), (links_given, links_words) = ids, links
    free, order = starts[:-1].copy(), np.empty(len(links_given), np.int32)
    for e in range(len(links_given)):
        order[free[given_words[links_given[e]]]] = e
        free[given_words[links_given[e]]] += 1
    counts, shares = np.zeros(size, np.int32), np.empty(len(links_given))
    for row in range(len(starts) - 1):
        here = order[starts[row] : starts[row + 1]]
        for e in here:
            counts[words[links_words[e]]] += 1
        for e in here:
            shares[e] = counts[words[links_words[e]]] / len(here)
        for e in here:
            counts[words[links_words[e]]] = 0
    for e in range(len(shares)):
        means[links_words[e]] += shares[e]
    for token in range(len(means)):
        means[token] /= max(link_counts[token], 1)


@dataclass(frozen=True, kw_only=True)
class BackPhraseTableBuilder(PhraseTableBuilder):
    """Aligns the corpus as it is, and exchanges the sides of texts and links."""

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "BackPhraseTable":
        links = self.aligner.corpus_links(corpus, self.symmetrization, progress).swapped()
        origin = self.aligner.provenance(self.symmetrization)
        return BackPhraseTable.from_links(
            corpus.swapped(), links, self.longest, self.minimum, origin, progress=progress
        )


@RESOURCES.register("back_phrase_table")
@dataclass(frozen=True, eq=False)
class BackPhraseTable(PhraseTable):
    """A phrase table from target to source: its source is the target of the corpus."""

    parts: ClassVar[Parts] = {"back_phrase_table": {}}
    builder: ClassVar[type[Builder]] = BackPhraseTableBuilder
