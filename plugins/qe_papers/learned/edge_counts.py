"""EdgeCounts: projected dependencies of translations, and their frequency in references."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import ClassVar, Final, Self

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.extractor import Feature
from features.core.resource import Builder, Parts, Resource, load_arrays, save_arrays
from features.learned.translated_corpus import TranslatedCorpus
from features.resources.aligner import Aligner
from features.resources.annotation import Annotation
from features.storage.damage import typed, within
from features.storage.files import read_words, write_words
from features.text.corpus import ParallelCorpus
from features.text.links import Links
from features.text.stems import stems
from features.text.tokens import Tokens
from qe_papers.learned.sequence_models import suffix
from qe_papers.syntax import Word

_UPC: Final = "UPC at WMT12 (Pighin et al. 2012), section 2.2"
_UPC_PRINTED: Final = f"{_UPC} (Coverage as its equation is printed, not as its prose has it)"
VARIANTS: Final[Mapping[str, str]] = {"words": "words", "roots": "stems", "suffixes": "suffixes"}

# (name, description, part of the ranked edges: from the best or from the worst, one in so many)
_PARTS: Final = (
    ("agreed_quarter", "agree with, of the quarter with most agreement", "agreed", 4),
    ("agreed_half", "agree with, of the half with most agreement", "agreed", 2),
    ("differed", "differ from", "differed", 1),
    ("differed_quarter", "differ from, of the quarter with least agreement", "differed", 4),
    ("differed_half", "differ from, of the half with least agreement", "differed", 2),
)

Edge = tuple[str, str, str]  # relation, head, modifier
Counts = Mapping[Edge, tuple[int, int]]  # M+ (places where the reference has it) and M-
Projected = Mapping[str, Edge]  # variant -> an edge of a text
Projection = Sequence[Sequence[Projected]]  # projected edges of every dependency of a source


def edge_features(stem: str) -> list[Feature]:
    made, seen = list[Feature](), "mean number of times seen in training"
    for variant, of in VARIANTS.items():
        name, about = f"{stem}_{variant}", f"of dependencies projected on {of}; undefined without any"
        made.append(Feature(f"{name}_coverage", f"share seen in training {about}", _UPC, "share"))
        made.append(Feature(f"{name}_occurrences", f"{seen} {about}", _UPC_PRINTED, "edges"))
        for part, what, _, _ in _PARTS:
            made.append(Feature(f"{name}_{part}", f"share that references {what} {about}", _UPC, "share"))
    return made


def measured(texts: Iterable[Projection], counts: Mapping[str, Counts]) -> FloatArray:
    rows = []
    for places in texts:
        edges = [edge for place in places for edge in place]
        rows.append([v for name in VARIANTS for v in measures([edge[name] for edge in edges], counts[name])])
    return np.array(rows, np.float64).reshape(len(rows), len(VARIANTS) * (2 + len(_PARTS)))


def projections(
    sources: Iterable[Sequence[Word]], links: Links, tokens: Tokens, language: str
) -> Iterator[Projection]:
    lowered = tokens.lower()
    roots = dict(zip(lowered.types, stems(lowered.types, language), strict=True))
    for i, source in enumerate(sources):
        words = lowered.words(i)
        forms = {
            "words": words,
            "roots": [roots[word] for word in words],
            "suffixes": [suffix(word, roots[word]) for word in words],
        }
        partners: list[list[int]] = [[] for _ in source]  # places linked to each word of the source
        for k in range(links.offsets[i], links.offsets[i + 1]):
            partners[links.source[k]].append(int(links.target[k]))
        made: list[list[Projected]] = []
        for place, word in enumerate(source):
            if word.head is not None and word.head >= 0:
                pairs = [(h, m) for h, m in product(partners[word.head], partners[place]) if h != m]
                made.append(
                    [
                        {name: (word.relation, texts[h], texts[m]) for name, texts in forms.items()}
                        for h, m in pairs
                    ]
                )
        yield made


def counted(own_edges: Iterable[Projection], other_edges: Iterable[Projection]) -> dict[str, Counts]:
    """Variant -> M+ (edges that the reference has in the same place) and M- (others)."""
    agreed, differed = ({variant: Counter[Edge]() for variant in VARIANTS} for _ in range(2))
    for translation, reference in zip(own_edges, other_edges, strict=True):
        for edges, others in zip(translation, reference, strict=True):
            for variant in VARIANTS:
                there = {edge[variant] for edge in others}
                for edge in dict.fromkeys(edge[variant] for edge in edges):  # a set has no fixed order
                    (agreed if edge in there else differed)[variant][edge] += 1
    pairs = ((variant, agreed[variant], differed[variant]) for variant in VARIANTS)
    return {variant: {e: (plus[e], minus[e]) for e in {**plus, **minus}} for variant, plus, minus in pairs}


def measures(edges: Sequence[Edge], counts: Counts) -> list[float]:
    """Coverage, occurrences, and every part of the ranked edges; NaN without edges.

    Coverage is the share of seen edges (the prose of the paper), occurrences the mean of M+ + M- (its
    equation).

    >>> counts = {("det", "casa", "la"): (3, 1), ("obj", "come", "pan"): (0, 2)}
    >>> measures([("det", "casa", "la"), ("obj", "come", "pan"), ("obj", "come", "sal")], counts)
    [0.6666666666666666, 2.0, 0.75, 0.375, 0.4166666666666667, 1.0, 0.5]
    """
    if not edges:
        return [np.nan] * (2 + len(_PARTS))
    counted = np.array([counts.get(edge, (0, 0)) for edge in edges])
    total = counted.sum(axis=1)
    shares = counted / np.maximum(total, 1)[:, None]
    order = np.argsort(-((counted[:, 0] - counted[:, 1]) / np.maximum(total, 1)), kind="stable")
    ranked = {"agreed": shares[order, 0], "differed": shares[order[::-1], 1]}
    parts = [float(ranked[kind][: -(-len(edges) // among)].mean()) for _, _, kind, among in _PARTS]
    return [float((total > 0).mean()), float(total.mean()), *parts]


def save_counts(path: Path, counts: Mapping[str, Counts]) -> None:
    for variant in VARIANTS:
        folder, index = path / variant, dict[str, int]()
        folder.mkdir()
        edges = [[index.setdefault(part, len(index)) for part in edge] for edge in counts[variant]]
        write_words(folder / "words.txt", index)
        rows = np.array(edges, np.int32).reshape(-1, 3)
        save_arrays(
            folder, {}, edges=rows, counts=np.array([*counts[variant].values()], np.int64).reshape(-1, 2)
        )


def load_counts(path: Path) -> dict[str, Counts]:
    """Loads the output of `save_counts`; raises Damaged for invalid arrays."""
    loaded: dict[str, Counts] = {}
    for variant in VARIANTS:
        words, (_, arrays) = read_words(path / variant / "words.txt"), load_arrays(path / variant)
        edges, counts = arrays["edges"], arrays["counts"]
        typed("edges", edges, np.int32, None, 3)
        typed("counts", counts, np.int64, len(edges), 2)
        within("counts", counts, 0, 2**31)
        within("edges", edges, 0, len(words))
        rows = zip(edges.tolist(), counts.tolist(), strict=True)
        loaded[variant] = {(words[r], words[h], words[m]): (plus, minus) for (r, h, m), (plus, minus) in rows}
    return loaded


_BATCH = 5000  # texts between two progress reports


@dataclass(frozen=True, kw_only=True)
class EdgeCountsBuilder(Builder):
    """Counts the edges of the whole translated corpus."""

    translated_corpus: TranslatedCorpus
    source_dependency_annotation: Annotation
    aligner: Aligner

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "EdgeCounts":
        texts, language = self.translated_corpus, corpus.target_tokenizer.language
        own, other = (
            projections(self._sources(report), self.aligner.align(texts.source, tokens), tokens, language)
            for tokens, report in ((texts.machine, progress), (texts.reference, silent))
        )
        counts = counted(own, other)
        if not counts["words"]:
            raise InputError(
                "no dependency of the corpus is projected on its translations",
                location="edge_counts",
                remedy="give more parallel text",
            )
        return EdgeCounts(counts, settings=dict(self.settings), corpus_fingerprint=corpus.fingerprint)

    def _sources(self, progress: Progress) -> Iterator[list[Word]]:
        rows = self.translated_corpus.rows
        for low in range(0, len(rows), _BATCH):
            batch = rows[low : low + _BATCH]
            relations = self.source_dependency_annotation.layer("deprel").take(batch)
            heads = self.source_dependency_annotation.heads(batch)
            for i in range(len(batch)):
                places = heads[relations.offsets[i] : relations.offsets[i + 1]].tolist()
                yield [
                    Word("", "", "", head=head, relation=relation.partition(":")[0])
                    for head, relation in zip(places, relations.words(i), strict=True)
                ]
            progress("counting projected dependencies", min(low + _BATCH, len(rows)), len(rows))


@dataclass(frozen=True, eq=False)
class EdgeCounts(Resource):
    """Frequency of projected edges with (M+) and without (M-) a match in the references.

    Edges are those of `translated_corpus`, by words, stems and suffixes. UPC at WMT12, section 2.2.
    """

    version: ClassVar[int] = 2
    parts: ClassVar[Parts] = {"edge_counts": {}}
    builder: ClassVar[type[Builder]] = EdgeCountsBuilder

    counts: Mapping[str, Counts] = field(repr=False)

    def save(self, path: Path) -> None:
        save_arrays(path, {"settings": dict(self.settings), "corpus_fingerprint": self.corpus_fingerprint})
        save_counts(path, self.counts)

    @classmethod
    def load(cls, path: Path) -> Self:
        meta, _ = load_arrays(path)
        return cls(load_counts(path), **meta)
