"""Dependencies of the source projected over word links, and whether references have them, too."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from features.core.array_types import FloatArray
from features.core.arrays import typed, within
from features.core.errors import InputError
from features.core.extractor import Feature, FittedExtractor
from features.core.files import read_words, write_words
from features.core.lemmas import base_forms
from features.core.segments import Segments
from features.core.storage import load_arrays, save_arrays
from features.core.syntax import Word, parsed
from features.core.tokens import Tokens
from features.resources.aligner import Aligner
from features.sequence_lm import suffix

_UPC: Final = "UPC at WMT12 (Pighin et al. 2012), section 2.2"
VARIANTS: Final[Mapping[str, str]] = {"words": "words", "roots": "base forms", "suffixes": "suffixes"}

# (name, what it says, which part of the ranked edges: from the best, or from the worst, one in so many)
_PARTS: Final = (
    ("agreed_quarter", "share that references agree with, of the quarter with most agreement", "agreed", 4),
    ("agreed_half", "share that references agree with, of the half with most agreement", "agreed", 2),
    ("differed", "share that references differ from", "differed", 1),
    (
        "differed_quarter",
        "share that references differ from, of the quarter with least agreement",
        "differed",
        4,
    ),
    ("differed_half", "share that references differ from, of the half with least agreement", "differed", 2),
)

Edge = tuple[str, str, str]  # relation, head, modifier
Counts = Mapping[Edge, tuple[int, int]]  # in how many places the reference had it (M+), and had it not (M-)


@dataclass(frozen=True)
class ProjectedDependencies(FittedExtractor):
    """Coverage, C+ and C- of projected edges, by words, base forms and suffixes: 18 features.

    Learns from the training rows and the label `reference`: every dependency of the source is projected on
    the translation and on the reference; M+ counts the edges of translations that the reference has in the
    same place, M- the others. C+ of edges is the mean of M+ / (M+ + M-), C- that of M- / (M+ + M-), edges
    that were never seen count 0; coverage is the share of edges that were seen. Quarters and halves are of
    the edges ranked by (M+ - M-) / (M+ + M-), 0 of unseen ones, rounded up. C+ of all edges is coverage less
    C-.

    A word that is linked to several gives an edge with each of them, an unlinked one none. Everything is NaN
    of a translation without a projected edge. Base forms come from simplemma.

    Raises InputError for a target language without base forms, sources without dependencies, and training
    rows without any projected edge.
    """

    aligner: Aligner
    counts: Mapping[str, Counts] | None = field(default=None, init=False, repr=False)

    @property
    def features(self) -> Sequence[Feature]:
        made = []
        for variant, of in VARIANTS.items():
            about = f"of dependencies projected on {of}; undefined without any"
            made.append(
                Feature(f"projected_{variant}_coverage", f"share seen in training {about}", _UPC, "share")
            )
            made += [
                Feature(f"projected_{variant}_{n}", f"{t} {about}", _UPC, "share") for n, t, _, _ in _PARTS
            ]
        return made

    def requires(self) -> tuple[str, ...]:
        return ("annotation_source",)

    def labels_used(self) -> tuple[str, ...]:
        return ("reference",)

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        references = segments.target_tokenizer.tokens([str(text) for text in labels["reference"]])
        own, other = (list(self._projections(segments, t)) for t in (segments.target_tokens, references))
        if not any(map(any, own)):
            raise InputError(
                "no dependency of a training row is projected on its translation",
                where="extractor 'projected_dependencies'",
                remedy="train on more segments, or on an aligner of more text",
            )
        return self.with_learned(counts={v: counted(own, other, v) for v in VARIANTS})

    def extract(self, segments: Segments) -> FloatArray:
        counts = self.learned(self.counts)
        rows = [
            [
                value
                for variant in VARIANTS
                for value in measures([e[variant] for e in edges], counts[variant])
            ]
            for edges in (
                [edge for place in places for edge in place]
                for places in self._projections(segments, segments.target_tokens)
            )
        ]
        return np.array(rows, np.float64).reshape(len(segments), len(self.features))

    def _projections(self, segments: Segments, tokens: Tokens) -> Iterator["Projection"]:
        """For every segment the projections of its dependencies on its text of `tokens`."""
        lowered = tokens.lower()
        roots = dict(
            zip(lowered.types, base_forms(lowered.types, segments.target_tokenizer.language), strict=True)
        )
        links = self.aligner.align(segments.source_tokens, tokens)
        for i, source in enumerate(parsed(segments.source_annotated)):
            words = lowered.words(i)
            forms = {
                "words": words,
                "roots": [roots[word] for word in words],
                "suffixes": [suffix(word, roots[word]) for word in words],
            }
            partners: list[list[int]] = [[] for _ in source]
            for k in range(links.offsets[i], links.offsets[i + 1]):
                partners[links.source[k]].append(int(links.target[k]))
            yield projection(source, partners, forms)

    def save(self, path: Path) -> None:
        for variant, counts in self.learned(self.counts).items():
            (path / variant).mkdir()
            _save(path / variant, counts)

    def restore(self, path: Path) -> Self:
        return self.with_learned(counts={variant: _load(path / variant) for variant in VARIANTS})


Projected = Mapping[str, Edge]  # variant -> an edge of a text
Projection = Sequence[Sequence[Projected]]  # of every dependency of a source: the edges it becomes


def projection(
    source: Sequence[Word], partners: Sequence[Sequence[int]], forms: Mapping[str, Sequence[str]]
) -> Projection:
    """What the dependencies of a source become, one entry for each word that has a head.

    partners  of every source word, the places of the words that it is linked to
    forms     variant -> the words of the text
    """
    made = []
    for place, word in enumerate(source):
        if word.head is None or word.head < 0:
            continue
        pairs = product(partners[word.head], partners[place])
        made.append(
            [
                {variant: (word.relation, texts[h], texts[m]) for variant, texts in forms.items()}
                for h, m in pairs
                if h != m
            ]
        )
    return made


def counted(own: Sequence[Projection], other: Sequence[Projection], variant: str) -> Counts:
    """M+ and M- of the edges of translations: in how many places the reference's projection has the same."""
    agreed, differed = Counter[Edge](), Counter[Edge]()
    for translation, reference in zip(own, other, strict=True):
        for edges, others in zip(translation, reference, strict=True):
            there = {edge[variant] for edge in others}
            for edge in {edge[variant] for edge in edges}:
                (agreed if edge in there else differed)[edge] += 1
    return {edge: (agreed[edge], differed[edge]) for edge in {**agreed, **differed}}


def measures(edges: Sequence[Edge], counts: Counts) -> list[float]:
    """Coverage, and every part of the ranked edges; NaN without edges.

    >>> counts = {("det", "casa", "la"): (3, 1), ("obj", "come", "pan"): (0, 2)}
    >>> measures([("det", "casa", "la"), ("obj", "come", "pan"), ("obj", "come", "sal")], counts)
    [0.6666666666666666, 0.75, 0.375, 0.4166666666666667, 1.0, 0.5]
    """
    if not edges:
        return [np.nan] * (1 + len(_PARTS))
    ranked = sorted((counts.get(edge, (0, 0)) for edge in edges), key=_score, reverse=True)
    shares = {
        "agreed": [agreed / max(agreed + differed, 1) for agreed, differed in ranked],
        "differed": [differed / max(agreed + differed, 1) for agreed, differed in ranked][::-1],
    }
    parts = [float(np.mean(shares[kind][: -(-len(ranked) // among)])) for _, _, kind, among in _PARTS]
    return [sum(seen != (0, 0) for seen in ranked) / len(ranked), *parts]


def _score(seen: tuple[int, int]) -> float:
    agreed, differed = seen
    return (agreed - differed) / max(agreed + differed, 1)


def _save(path: Path, counts: Counts) -> None:
    index: dict[str, int] = {}
    edges = [[index.setdefault(part, len(index)) for part in edge] for edge in counts]
    write_words(path / "words.txt", index)
    save_arrays(
        path,
        {},
        edges=np.array(edges, np.int32).reshape(-1, 3),
        counts=np.array(list(counts.values()), np.int64).reshape(-1, 2),
    )


def _load(path: Path) -> Counts:
    words, (_, arrays) = read_words(path / "words.txt"), load_arrays(path)
    edges, counts = arrays["edges"], arrays["counts"]
    typed("edges", edges, np.int32, None, 3)
    typed("counts", counts, np.int64, len(edges), 2)
    within("counts", counts, 0, 2**31)
    within("edges", edges, 0, len(words))
    rows = zip(edges.tolist(), counts.tolist(), strict=True)
    return {(words[r], words[h], words[m]): (agreed, differed) for (r, h, m), (agreed, differed) in rows}
