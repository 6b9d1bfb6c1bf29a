"""TwoSides: what families that look at the words of both sides have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError, unknown_name
from features.core.extractor import Extractor
from features.core.out_of_fold import ResourceLookup, in_groups
from features.core.segments import Segments
from features.decoder_output.tokens import Marker
from features.word_level.columns import Longs
from features.word_level.extension import DECODER, OPTIONAL, Extension, Extras, load_used, save_used
from features.word_level.knowledge import KNOWLEDGE, Knowing, LearnedKnowledge, refuse_judgements, stem
from features.word_level.labels import (
    Bad,
    Flags,
    TokenLabels,
    TokenProbabilities,
    learned_labels,
    post_edit_labels,
)
from features.word_level.links import aligned_links
from features.word_level.memory import remembered
from features.word_level.model import Inputs
from features.word_level.source_side import (
    SourceTable,
    describe_sources,
    joined_sources,
    link_ends,
    projected,
)
from features.word_level.tokens import TokenTable, joined

LABELS = ("post_edit", "word_tags", "source_tags")


@dataclass(frozen=True, eq=False)
class Side:
    """The tokens of one side of n segments: inputs of a model, column names, offsets. Offsets are (n +
    1,).
    """

    inputs: Inputs
    offsets: Longs
    names: tuple[str, ...]

    @property
    def segment(self) -> Longs:
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


@dataclass(frozen=True, eq=False)
class Sides:
    """Both sides, and the links between them, unless rows were looked up apart. A link is (source token,
    target token), numbered through the batch.
    """

    source: Side
    target: Side
    links: tuple[Longs, Longs] | None


@dataclass(frozen=True, eq=False)
class TwoSides(Knowing, ResourceLookup):
    """Resources, and the tokens of both sides seen with them. Log-probabilities of the decoder, second
    translations and annotations are used if the training segments have them, and are then required in
    scoring.
    """

    name: ClassVar[str]  # of the family

    labels: Literal["post_edit", "word_tags", "source_tags"] = "post_edit"
    marker: Marker = "bpe"
    texts: Sequence[str] = ()
    predict: bool = False
    triples: bool = False
    decode: bool = True
    _used: frozenset[str] = field(default=frozenset(), init=False, repr=False)
    _extension: Extension | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.labels not in LABELS:
            raise unknown_name("labels", self.labels, LABELS)
        self._extras.check()

    @classmethod
    def for_settings(cls, settings: Mapping[str, Any]) -> type[Extractor]:
        refuse_judgements(cls.name, settings)
        return cls

    @property
    def stem(self) -> str:
        return stem(self.name, self.knowledge)

    @property
    def decodes(self) -> bool:
        return self.decode

    def requires(self) -> tuple[str, ...]:
        known = {each.kind: each.requires() for each in (*self.knowledge, *self._learned_knowledge)}
        return (*sorted(self._used), *(column for columns in known.values() for column in columns))

    def _prepared(self, segments: Segments, labels: Mapping[str, Any]) -> Self:
        used = frozenset(name for name in OPTIONAL if getattr(segments, name) is not None)
        learned = self._knowledge_of(segments)
        if self._decoder is not None and all(getattr(segments, name) is not None for name in DECODER):
            learned = (*learned, self._decoder.fit(segments, self.aligner))
        extension = Extension.fit(self._extras, segments, labels, self.aligner)
        return self.with_learned(_used=used, _learned_knowledge=learned, _extension=extension)

    @property
    def _decoder(self) -> LearnedKnowledge | None:
        if any(each.kind == "decoder" for each in self.knowledge):
            return None
        kind: Any = KNOWLEDGE.get("decoder")
        decoder: LearnedKnowledge = kind(marker=self.marker)
        return decoder

    @property
    def _extras(self) -> Extras:
        return Extras(tuple(self.texts), self.predict, self.triples)

    def _sides(self, segments: Segments, *, is_training: bool = False) -> Sides:
        table = self._target_table(segments, is_training)

        def sources_of(resources: TwoSides, subset: Segments, rows: Longs) -> SourceTable:
            return describe_sources(
                subset, aligned_links(subset, resources.aligner), table.take(rows), resources
            )

        sources = in_groups(self._groups(segments), segments, sources_of, joined_sources)
        return Sides(
            Side(sources.inputs(self), sources.offsets, sources.names), self._side_of(table), sources.links
        )

    def _target_side(self, segments: Segments, *, is_training: bool = False) -> Side:
        return self._side_of(self._target_table(segments, is_training))

    def _side_of(self, table: TokenTable) -> Side:
        return Side(table.word_inputs(self), table.offsets, table.word_names)

    def _target_table(self, segments: Segments, is_training: bool) -> TokenTable:
        groups = self._groups(segments)
        table = in_groups(
            groups, segments, lambda resources, subset, _: remembered(resources, subset, self._used), joined
        )
        if self._extension is not None:
            table = self._extension.extended(table, segments, self.aligner, is_training=is_training)
        return self._with_knowledge(table, segments, is_training=is_training)

    def _bad_target(self, segments: Segments, labels: Mapping[str, Any]) -> TokenLabels | TokenProbabilities:
        target = segments.target_tokens
        if self.labels == "word_tags":
            return learned_labels(labels, target)
        post_edit = segments.target_tokenizer.tokens(labels["post_edit"])
        return post_edit_labels(target.lower(), post_edit.lower())

    def _bad_source(
        self, segments: Segments, labels: Mapping[str, Any], links: tuple[Longs, Longs] | None = None
    ) -> Bad:
        source = segments.source_tokens
        if self.labels == "source_tags" or (self.labels == "word_tags" and "source_tags" in labels):
            return source_tag_labels(labels["source_tags"], source.lengths)
        ends = links or link_ends(aligned_links(segments, self.aligner), segments)
        return projected(self._bad_target(segments, labels).words, ends, len(source.ids))

    def _save_sides(self, path: Path) -> None:
        save_used(self._used, path)
        self._save_knowledge(path)
        self.learned(self._extension).save(path)

    def _restored_sides(self, path: Path) -> Self:
        used = load_used(path)
        learned = self._knowledge_in(path)
        if self._decoder is not None and (path / "decoder").is_dir():
            learned = (*learned, self._decoder.restore(path / "decoder"))
        extension = Extension.load(self._extras, path)
        return self.with_learned(_used=used, _learned_knowledge=learned, _extension=extension)


def source_tag_labels(tags: Sequence[str], lengths: NDArray[np.int64]) -> Flags:
    """(n_source_tokens,) from one `OK` or `BAD` per source token (MLQE-PE). Raises InputError, with the
    number of the segment, for another number of tags or other tags.
    """
    all_tags: list[str] = []
    for i, (line, length) in enumerate(zip(tags, lengths.tolist(), strict=True), start=1):
        words = line.split()
        location = f"source_tags, segment {i}"
        if len(words) != length:
            raise InputError(
                f"expected {length} tags for {length} source tokens, but found {len(words)}",
                location=location,
                remedy="set the tokenizer that the tags were made with, or other labels",
            )
        unknown = set(words) - {"OK", "BAD"}
        if unknown:
            raise InputError(f"tags are OK or BAD, but found {min(unknown)!r}", location=location)
        all_tags += words
    return np.array([word == "BAD" for word in all_tags], np.bool_)
