"""Dependencies of one side on the other: matched by word links, projected."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Self

import numpy as np
from annotated_types import Gt, Lt
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray
from features.basics.errors import InputError
from features.core.columns import Column
from features.core.extractor import Corpus, Extractor, Feature, FittedExtractor
from features.core.segments import Segments
from features.resources.aligner import Aligner
from features.resources.lexicon import Lexicon
from features.text.tokens import Tokens, ratio
from qe_papers.families import SIDES, ColumnFamily
from qe_papers.learned.edge_counts import (
    Counts,
    EdgeCounts,
    Projection,
    counted,
    edge_features,
    load_counts,
    measured,
    projections,
    save_counts,
)
from qe_papers.syntax import Word, parsed

_SYN: Final = "Mehdad et al. 2012 (adequacy, WMT12), section 3.1: syntactic (Syn)"
_DR: Final = "Mehdad et al. 2012 (adequacy, WMT12), section 3.1: dependency relation matching (DR)"
# Universal relations shared by English and Spanish.
RELATIONS: Final = (
    "nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "advcl", "advmod", "aux", "cop", "mark", "nmod",
    "appos", "nummod", "acl", "amod", "det", "case", "conj", "cc", "flat", "compound", "fixed", "punct",
)  # fmt: skip

Edges = dict[str, list[tuple[int, int]]]  # relation -> (head, dependant) of every edge, as places


@dataclass(frozen=True, eq=False)
class DependencyMatches(ColumnFamily):
    """Occurrences of each relation on both sides, their ratio, and matches per occurrence on each side.

    threshold  minimum lexicon probability, in either direction, of words that translate each other

    Two dependencies match if the relation is the same, and both heads and both dependants are equal or
    translate each other; each matches at most one other. `all` combines all relations. A share is NaN if the
    side lacks the relation.

    Raises InputError for words without a part of speech or a head.
    """

    renamed: ClassVar[Mapping[str, str]] = {"least": "threshold"}
    plain: ClassVar[str] = "whether source and translation are built alike"

    lexicon_source_to_target: Lexicon
    lexicon_target_to_source: Lexicon
    threshold: Annotated[float, Gt(0), Lt(1)] = 0.1

    @property
    def columns(self) -> Sequence[Column[Sequence["_Pair"]]]:
        return [column for relation in (*RELATIONS, "all") for column in _of_relation(relation)]

    def requires(self) -> tuple[str, ...]:
        return "annotation_source", "annotation_target"

    def prepared(self, segments: Segments) -> list["_Pair"]:
        source, target = segments.source_tokens.lower(), segments.target_tokens.lower()
        trees = zip(parsed(segments.source_annotated), parsed(segments.target_annotated), strict=True)
        forward, backward, pairs = self.lexicon_source_to_target, self.lexicon_target_to_source, []
        for i, (source_tree, target_tree) in enumerate(trees):
            left, right = source.words(i), target.words(i)
            likely = np.zeros((len(left), len(right)), bool)
            if likely.size:
                given, words = forward.source.lookup(left)[:, None], forward.target.lookup(right)
                likely = forward.probability(given, words) >= self.threshold
                given, words = backward.source.lookup(right), backward.target.lookup(left)[:, None]
                likely |= backward.probability(given, words) >= self.threshold
                likely |= np.array(left)[:, None] == np.array(right)
            pairs.append(_Pair(edges(source_tree), edges(target_tree), likely))
        return pairs


class _Pair:
    def __init__(self, source: Edges, target: Edges, equal: BoolArray) -> None:
        self.sides = {"source": source, "target": target}
        self.matches = {r: matches(source.get(r, []), target.get(r, []), equal) for r in RELATIONS}

    def count(self, side: str, relation: str) -> int:
        relations = RELATIONS if relation == "all" else (relation,)
        return sum(len(self.sides[side].get(r, ())) for r in relations)

    def matched(self, relation: str) -> int:
        return sum(self.matches.values()) if relation == "all" else self.matches[relation]


def edges(words: Sequence[Word]) -> Edges:
    made: Edges = {}
    for place, word in enumerate(words):
        if word.head is not None and word.head >= 0:
            made.setdefault(word.relation, []).append((word.head, place))
    return made


def matches(source: Sequence[tuple[int, int]], target: Sequence[tuple[int, int]], equal: BoolArray) -> int:
    """Number of source edges that can be assigned, in order, to separate target edges."""
    free = list(target)
    total = 0
    for head, dependant in source:
        match = next((edge for edge in free if equal[head, edge[0]] and equal[dependant, edge[1]]), None)
        if match is not None:
            free.remove(match)
            total += 1
    return total


def _of_relation(relation: str) -> Iterator[Column[Sequence[_Pair]]]:
    def count(pairs: Sequence[_Pair], side: str) -> FloatArray:
        return np.array([pair.count(side, relation) for pair in pairs], np.float64)

    def matched(pairs: Sequence[_Pair], side: str) -> FloatArray:
        found = np.array([pair.matched(relation) for pair in pairs], np.float64)
        return ratio(found, count(pairs, side))

    what, stem = f"dependencies {relation}".removesuffix(" all"), f"dependency_{relation}"
    for side in SIDES:
        yield Column(f"{stem}_{side}", f"{side}: {what}", _SYN, "words", partial(count, side=side))
    text = f"{what}, target / source; NaN if of none"
    yield Column(
        f"{stem}_ratio", text, _SYN, "ratio", lambda p: ratio(count(p, "target"), count(p, "source"))
    )
    for side in SIDES:
        text = f"{what} that match, by those of the {side}; NaN without any there"
        yield Column(f"{stem}_match_{side}", text, _DR, "share", partial(matched, side=side))


@dataclass(frozen=True)
class _Projecting(Extractor):
    aligner: Aligner

    def requires(self) -> tuple[str, ...]:
        return ("annotation_source",)

    def _projections(self, segments: Segments, tokens: Tokens) -> Iterator[Projection]:
        links = self.aligner.align(segments.source_tokens, tokens)
        sources, language = parsed(segments.source_annotated), segments.target_tokenizer.language
        return projections(sources, links, tokens, language)


@dataclass(frozen=True)
class ProjectedDependencies(_Projecting, FittedExtractor):
    """Coverage, C+ and C- of projected edges, by words, stems and suffixes: 21 features.

    Fitted on training rows with the label `reference`: every source dependency is projected on the
    translation and on the reference. M+ counts translation edges that the reference has in the same place, M-
    the others. C+ of edges is the mean of M+ / (M+ + M-), C- that of M- / (M+ + M-); unseen edges count 0.
    Coverage is the share of seen edges, as the paper's prose says; `occurrences`, the mean of M+ + M-,
    follows its equation. Quarters and halves, rounded up, are of the edges ranked by (M+ - M-) / (M+ + M-), 0
    for unseen ones. C+ of all edges is coverage minus C-.

    corpus  source of the translations: the training rows (`training`), or `translated_corpus`, in which case
            nothing is fitted and our own decoder's translations replace those of the evaluated system

    A word with several links gives an edge with each linked word, an unlinked word none. All values are NaN
    for a translation without a projected edge. Stems are Snowball's.

    Raises InputError for sources without dependencies, and training rows without any projected edge.
    """

    plain: ClassVar[str] = "whether words that belong together in the source do so in the translation"

    variants: ClassVar[Sequence[Mapping[str, Any]]] = ({"corpus": "translated"},)

    corpus: Corpus = "training"
    counts: Mapping[str, Counts] | None = field(default=None, init=False, repr=False)

    @classmethod
    def for_settings(cls, settings: Mapping[str, Any]) -> type[Extractor]:
        return _OfTranslatedCorpus if settings.get("corpus") == "translated" else cls

    @property
    def features(self) -> Sequence[Feature]:
        return edge_features("projected")

    def labels_used(self) -> tuple[str, ...]:
        return ("reference",)

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        references = segments.target_tokenizer.tokens([str(text) for text in labels["reference"]])
        own, other = (list(self._projections(segments, t)) for t in (segments.target_tokens, references))
        if not any(map(any, own)):
            raise InputError(
                "no dependency of a training row is projected on its translation",
                location="extractor 'projected_dependencies'",
                remedy="train on more segments, or on an aligner of more text",
            )
        return self.with_learned(counts=counted(own, other))

    def extract(self, segments: Segments) -> FloatArray:
        return measured(self._projections(segments, segments.target_tokens), self.learned(self.counts))

    def save(self, path: Path) -> None:
        save_counts(path, self.learned(self.counts))

    def restore(self, path: Path) -> Self:
        return self.with_learned(counts=load_counts(path))


@dataclass(frozen=True)
class _OfTranslatedCorpus(_Projecting):
    edge_counts: EdgeCounts
    corpus: Corpus = "translated"

    @property
    def features(self) -> Sequence[Feature]:
        return edge_features("projected_translated")

    def extract(self, segments: Segments) -> FloatArray:
        return measured(self._projections(segments, segments.target_tokens), self.edge_counts.counts)
