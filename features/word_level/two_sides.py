"""The source side of token tables, and what families of both sides have in common."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.basics.array_types import row_index, rows_of
from features.basics.errors import InputError
from features.basics.threads import cores
from features.core.extractor import Extractor
from features.core.out_of_fold import ResourceLookup, in_groups
from features.core.segments import Segments, check_texts
from features.decoder_output.tokens import Marker
from features.storage.damage import Damaged, finite, typed
from features.text.tokens import segment_mean
from features.word_level.columns import (
    Columns,
    Longs,
    concatenated,
    matrix,
    places,
    prefixed,
    same_width,
    shifted,
    spread,
    values_at,
)
from features.word_level.keys import (
    Encoding,
    Keys,
    encoded,
    hashes,
    key_at,
    load_encodings,
    neighbour_keys,
    neighbours,
    out_of_fold,
    paired,
    save_encodings,
)
from features.word_level.knowledge import KNOWLEDGE, Judgement, Knowing, LearnedKnowledge, judgements, stem
from features.word_level.labels import Bad, source_tag_labels, target_labels
from features.word_level.lookups import (
    TokenLinks,
    _copied,
    _repeated,
    _words,
    aligned_links,
    language_columns,
    spread_share,
)
from features.word_level.model import Inputs
from features.word_level.network import Matrix, moments, standardised_inputs
from features.word_level.pooling import (
    Learned,
    Parameters,
    PoolingNetwork,
    fit_network,
    full_texts,
    load_network,
    save_network,
)
from features.word_level.tokens import TokenResources, TokenTable, remembered
from features.word_level.training_text import DECODER, OPTIONAL, Extension, TrainingText, load_used, save_used

# Columns of target tokens of which a source token also sees the lowest among all that it is linked with ...
_LOWEST = (
    "decoder_sum",
    "decoder_minimum",
    "decoder_residual",
    "lm",
    "ibm_pair",
    "ibm_pair_back",
    "posterior",
)
# ... and those that it also sees of its neighbours' target tokens.
_BESIDE = ("decoder_sum", "decoder_residual", "decoder_sum_lowest", "ibm_pair", "fertility")
_SUFFIX = 3  # letters


@dataclass(frozen=True, eq=False)
class SourceTable:
    """n segments: their source tokens.

    names, columns  (n_tokens, k) NaN: undefined
    keys            name -> (n_tokens,) keys for target encodings
    rows            (n_tokens, 4) rows of word vectors: the word, its neighbours, the linked target word
    links           (n_links,) source token, target token, numbered through the batch; or None
    offsets         (n + 1,) tokens
    """

    names: tuple[str, ...]
    columns: NDArray[np.float32]
    keys: Mapping[str, Keys]
    rows: NDArray[np.int32]
    links: tuple[Longs, Longs] | None
    offsets: Longs

    def inputs(self, resources: TokenResources) -> Inputs:
        source, target = resources.source_vectors.vectors, resources.target_vectors.vectors
        tables = (source, source, source, target)
        return Inputs(self.columns, self.keys, list(zip(tables, self.rows.T, strict=True)))

    def take(self, rows: Longs) -> "SourceTable":
        offsets, tokens = rows_of(self.offsets, rows)
        keys = {name: values[tokens] for name, values in self.keys.items()}
        return SourceTable(self.names, self.columns[tokens], keys, self.rows[tokens], None, offsets)


def describe_sources(
    segments: Segments, links: TokenLinks, target: TokenTable, resources: TokenResources
) -> SourceTable:
    """The source table of a batch, seen through links from the table of its target tokens."""
    source = segments.source_tokens
    ends = link_ends(links, segments)
    best = linked_target(links, *ends, len(source.ids))
    columns = {
        **_source_columns(segments, links, resources),
        **prefixed("target_", _linked(target, best, ends, source.offsets)),
    }
    rows = resources.source_vectors.ids(source)
    target_rows = resources.target_vectors.ids(segments.target_tokens)
    kinds = resources.source_vectors.classes[rows].astype(np.uint64)
    target_kinds = resources.target_vectors.classes[target_rows].astype(np.uint64)
    before, after = (np.nan_to_num(shifted(rows, source.offsets, by)).astype(np.int32) for by in (-1, 1))
    aligned = np.nan_to_num(values_at(target_rows, best)).astype(np.int32)
    return SourceTable(
        tuple(columns),
        matrix(columns, len(rows)),
        source_keys(segments, best, kinds, key_at(target_kinds, best)),
        np.column_stack([rows, before, after, aligned]),
        ends,
        np.asarray(source.offsets),
    )


def source_keys(segments: Segments, best: Longs, kinds: Keys, target_kinds: Keys) -> dict[str, Keys]:
    """name -> (n_source_tokens,) keys: word, linked target word, their neighbours."""
    source, target = segments.source_tokens, segments.target_tokens
    word, suffix, translated = hashes(source), hashes(source, _SUFFIX), hashes(target)
    aligned = key_at(translated, best)
    return {
        "word": word,
        "target": aligned,
        **neighbours(word, suffix, aligned, source.offsets),
        "word_target_before": paired(word, key_at(neighbour_keys(translated, target.offsets, -1), best)),
        "word_target_after": paired(word, key_at(neighbour_keys(translated, target.offsets, 1), best)),
        "class": kinds,
        "class_pair": paired(kinds, target_kinds),
        "class_before": paired(neighbour_keys(kinds, source.offsets, -1), kinds),
        "class_after": paired(kinds, neighbour_keys(kinds, source.offsets, 1)),
    }


def linked_target(links: TokenLinks, source: Longs, target: Longs, size: int) -> Longs:
    mutual = links.best[target] == source
    score = mutual + np.nan_to_num(links.posterior["posterior"][target])
    order = np.lexsort((score, source))
    result = np.full(size, -1, np.int64)
    result[source[order]] = target[order]  # the last assignment, that is the highest score, stays
    return result


def projected(bad: Bad, links: tuple[Longs, Longs], size: int) -> Bad:
    """BAD (n_source_tokens,) if a linked target token is BAD, or the highest probability of them.

    A token without links is OK: so are 87 % (en-de) and 66 % (ro-en) of those in the source tags of MLQE-PE
    dev.
    """
    source, target = links
    result: NDArray[Any] = np.zeros(size, bad.dtype)
    np.maximum.at(result, source, bad[target])
    return result


def _source_columns(segments: Segments, links: TokenLinks, resources: TokenResources) -> Columns:
    source, target = segments.source_tokens, segments.target_tokens
    free = links.source_fertility == 0
    scores = resources.lexicon_target_to_source.score(target, source)
    forward = resources.lexicon_source_to_target
    given = source.lower().ids_in(forward.source)
    highest = np.log10(scores.maximum)
    return {
        **language_columns(source, resources.source_lm5, None, resources.source_ngrams),
        **_words(source),
        "copied": _copied(target, source),
        "repeated": _repeated(source),
        "place": places(source.offsets),
        "position": spread_share(source.offsets),
        "fertility": links.source_fertility,
        "free_left": shifted(free, source.offsets, -1),
        "free_right": shifted(free, source.offsets, 1),
        "ibm_mean": np.log10(scores.probability),
        "ibm_highest": highest,
        "ibm_highest_next": shifted(highest, source.offsets, 1),
        "ibm_highest_previous": shifted(highest, source.offsets, -1),
        "ibm_entropy": forward.entropies[given],
        "ibm_choices": forward.translations_above(0.05)[given],
        "ibm_segment": spread(segment_mean(highest, source.offsets), source.offsets),
    }


def _linked(target: TokenTable, best: Longs, ends: tuple[Longs, Longs], offsets: Longs) -> Columns:
    columns: Columns = {name: values_at(target.words[:, k], best) for k, name in enumerate(target.word_names)}
    for name in _LOWEST:
        if name in target.word_names:
            values = target.words[:, target.word_names.index(name)].astype(np.float64)
            known = ~np.isnan(values[ends[1]])
            lowest = np.full(len(best), np.inf)
            np.minimum.at(lowest, ends[0][known], values[ends[1][known]])
            columns[f"{name}_lowest"] = np.where(np.isinf(lowest), np.nan, lowest)
    for name in _BESIDE:
        if name in columns:
            for by in (-1, 1):
                columns[f"{name}_source{by:+d}"] = shifted(columns[name], offsets, by)
    return columns


def link_ends(links: TokenLinks, segments: Segments) -> tuple[Longs, Longs]:
    source, target = segments.source_tokens.offsets, segments.target_tokens.offsets
    segment = row_index(links.links.offsets)
    return (
        np.asarray(source[segment] + links.links.source, np.int64),
        np.asarray(target[segment] + links.links.target, np.int64),
    )


LABELS = ("post_edit", "word_tags", "source_tags")


@dataclass(frozen=True, eq=False)
class Side:
    """The tokens of one side of n segments: inputs of a model, column names, offsets (n + 1,)."""

    inputs: Inputs
    offsets: Longs
    names: tuple[str, ...]

    @property
    def segment(self) -> Longs:
        return row_index(self.offsets)


@dataclass(frozen=True, eq=False)
class Sides:
    """Both sides, and links (source token, target token) numbered through the batch, if known."""

    source: Side
    target: Side
    links: tuple[Longs, Longs] | None


@dataclass(frozen=True, eq=False)
class TwoSides(Knowing, ResourceLookup):
    """Resources, and the tokens of both sides seen with them.

    Log-probabilities of the decoder, second translations and annotations are used if the training segments
    have them, and are then required in scoring.
    """

    name: ClassVar[str]  # of the family

    labels: Literal["post_edit", "word_tags", "source_tags"] = "post_edit"
    marker: Marker = "bpe"
    texts: Sequence[str] = ()
    triples: bool = False
    decode: bool = True
    _used: frozenset[str] = field(default=frozenset(), init=False, repr=False)
    _extension: Extension | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_texts(self.texts)

    @classmethod
    def for_settings(cls, settings: Mapping[str, Any]) -> type[Extractor]:
        for kind in judgements(settings):
            known = (name for name in KNOWLEDGE.names if not issubclass(KNOWLEDGE.get(name), Judgement))
            raise InputError(
                f"'{cls.name}' learns from labels, but `{kind}` judges words without any",
                location="knowledge",
                remedy=f"known here: {', '.join(known)}",
            )
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
        extension = Extension.fit(self, segments, labels, self.aligner)
        return self.with_learned(_used=used, _learned_knowledge=learned, _extension=extension)

    @property
    def _decoder(self) -> LearnedKnowledge | None:
        if any(each.kind == "decoder" for each in self.knowledge):
            return None
        kind: Any = KNOWLEDGE.get("decoder")
        decoder: LearnedKnowledge = kind(marker=self.marker)
        return decoder

    def _sides(self, segments: Segments, *, is_training: bool = False) -> Sides:
        table = self._target_table(segments, is_training)

        def sources_of(resources: TwoSides, subset: Segments, rows: Longs) -> SourceTable:
            return describe_sources(
                subset, aligned_links(subset, resources.aligner), table.take(rows), resources
            )

        groups = self._groups(segments)
        sources = in_groups(
            groups, segments, sources_of, lambda pieces: replace(concatenated(pieces), links=None)
        )
        return Sides(
            Side(sources.inputs(self), sources.offsets, sources.names),
            Side(table.word_inputs(self), table.offsets, table.word_names),
            sources.links,
        )

    def _target_table(self, segments: Segments, is_training: bool) -> TokenTable:
        def described(resources: TwoSides, subset: Segments, _: Longs) -> TokenTable:
            return remembered(resources, subset, self._used)

        table = in_groups(self._groups(segments), segments, described, concatenated)
        if self._extension is not None:
            table = self._extension.extended(table, is_training=is_training)
        return self._with_knowledge(table, segments, is_training=is_training)

    def _bad_source(
        self, segments: Segments, labels: Mapping[str, Any], links: tuple[Longs, Longs] | None = None
    ) -> Bad:
        source = segments.source_tokens
        if self.labels == "source_tags" or (self.labels == "word_tags" and "source_tags" in labels):
            return source_tag_labels(labels["source_tags"], source.lengths)
        ends = links or link_ends(aligned_links(segments, self.aligner), segments)
        return projected(target_labels(self.labels, labels, segments).words, ends, len(source.ids))

    def _save_sides(self, path: Path) -> None:
        save_used(self._used, path)
        self._save_knowledge(path)
        self.learned(self._extension).save(path)

    def _restored_sides(self, path: Path) -> Self:
        used = load_used(path)
        learned = self._knowledge_in(path)
        if self._decoder is not None and (path / "decoder").is_dir():
            learned = (*learned, self._decoder.restore(path / "decoder"))
        extension = Extension(self.triples, TrainingText.load(path))
        return self.with_learned(_used=used, _learned_knowledge=learned, _extension=extension)


_BATCH = 500  # texts scored at a time: memory stays small


@dataclass(frozen=True, eq=False)
class TextModel:
    """Mean of networks over standardised columns, target encodings and word vectors of the tokens."""

    encodings: Mapping[str, Encoding]
    mean: Matrix
    deviation: Matrix
    networks: tuple[PoolingNetwork, ...]

    @classmethod
    def fit(
        cls,
        side: Side,
        bad: Bad,
        outcomes: Matrix,
        weights: Matrix,
        *,
        networks: int,
        epochs: int,
        dropout: float = 0.4,
        seed: int,
        beginnings: Sequence[Parameters] = (),
    ) -> "TextModel":
        """Fits networks to labels or probabilities `bad` (n_tokens,), outcomes (n, m) and weights (n,)."""
        encodings = out_of_fold(side.inputs.keys, bad, side.segment).astype(np.float32)
        columns = np.hstack([side.inputs.columns, encodings])
        mean, deviation = moments(columns)
        inputs = standardised_inputs(columns, side.inputs.vectors, mean, deviation)
        texts, full = full_texts(inputs, side.offsets)
        learned = Learned(outcomes[full], weights[full], bad.astype(np.float32))

        def network(i: int) -> PoolingNetwork:
            initial_state = beginnings[i % len(beginnings)] if beginnings else None
            return fit_network(
                texts, learned, epochs=epochs, dropout=dropout, seed=seed + i, beginning=initial_state
            )

        # One thread each, and one for their products: not for all of them at once.
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(min(networks, cores())) as pool:
            fitted = tuple(pool.map(network, range(networks)))
        by_name = {name: Encoding.fit(keys, bad) for name, keys in side.inputs.keys.items()}
        return cls(by_name, mean, deviation, fitted)

    def outcomes(self, side: Side) -> NDArray[np.float64]:
        """(n, m); NaN for texts without tokens."""
        encodings = encoded(self.encodings, side.inputs.keys).astype(np.float32)
        columns = np.hstack([side.inputs.columns, encodings])
        same_width(columns.shape[1], len(self.mean))
        inputs = standardised_inputs(columns, side.inputs.vectors, self.mean, self.deviation)
        for network in self.networks:
            same_width(inputs.shape[1], len(network.parameters["token"]))
        texts, there = full_texts(inputs, side.offsets)
        full = np.flatnonzero(there)
        width = len(self.networks[0].parameters["outcome_bias"])
        result = np.full((len(side.offsets) - 1, width), np.nan)
        for first in range(0, len(full), _BATCH):
            rows = np.arange(first, min(first + _BATCH, len(full)))
            batch = texts.take(rows)
            result[full[rows]] = np.mean([network.outcomes(batch) for network in self.networks], axis=0)
        return result

    def save(self, path: Path) -> None:
        path.mkdir()
        np.save(path / "moments.npy", np.vstack([self.mean, self.deviation]), allow_pickle=False)
        for i, network in enumerate(self.networks):
            save_network(network, path / f"network{i}")
        save_encodings(self.encodings, path)

    @classmethod
    def load(cls, path: Path) -> "TextModel":
        moments = np.load(path / "moments.npy", allow_pickle=False)
        typed("moments", moments, np.float32, 2, None)
        finite("moments", moments)
        networks = tuple(load_network(folder) for folder in sorted(path.glob("network*")))
        if not networks or len({len(network.parameters["outcome_bias"]) for network in networks}) > 1:
            raise Damaged("there is no network, or they have different outcomes")
        return cls(load_encodings(path), moments[0], moments[1], networks)
