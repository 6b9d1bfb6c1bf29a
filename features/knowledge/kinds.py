"""Kinds of knowledge: what resources, a decoder and an encoder say of words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Self

import numba
import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.hints import Count
from features.core.segments import Segments
from features.decoder_output.statistics import ascending
from features.decoder_output.tokens import DecoderTokens, Marker, SubwordMeans
from features.encoding.encoded import Floats as Vectors
from features.encoding.encoded import as_read
from features.encoding.folder import EncoderFolder, WordStates, fastest_path, word_states
from features.encoding.projections import Projection, fit_pca
from features.learned.synthetic_word_quality import SyntheticWordQuality
from features.resources.aligner import Aligner
from features.resources.predictor import Predictions, Predictor
from features.storage.files import digest
from features.text.tokens import Tokens, ratio, segment_mean, segment_min, segment_sum
from features.word_level.columns import Columns, Floats, Longs, shifted, spread
from features.word_level.knowledge import (
    DescribedSegments,
    Judgement,
    LearnedKnowledge,
    TokenKnowledge,
    knowledge,
)
from features.word_level.lookups import aligned_links
from features.word_level.network import Matrix
from features.word_level.pooling import Parameters
from features.word_level.tokens import TokenTable
from features.word_level.training_text import DECODER


@knowledge("predictor")
@dataclass(frozen=True, eq=False)
class PredictorKnowledge(TokenKnowledge):
    """Log-probability of each word by `predictor`, rank, margin, entropy; and its neighbours'."""

    predictor: Predictor

    def extended(self, table: TokenTable, described: DescribedSegments) -> TokenTable:
        said = _predictions(described, self.predictor)
        columns: Columns = {
            "predicted_log": said.log_probability,
            "predicted_rank": said.rank,
            "predicted_margin": said.margin,
            "predicted_entropy": said.entropy,
        }
        words: Columns = {**columns, "predicted_surprise": said.log_probability + said.entropy}
        for name in ("predicted_log", "predicted_margin"):
            for by in (-1, 1):
                words[f"{name}{by:+d}"] = shifted(columns[name], table.offsets, by)
        beside = {name: columns[name] for name in ("predicted_log", "predicted_margin", "predicted_entropy")}
        return table.with_columns(words, table.beside_gaps(beside))


@knowledge("vectors")
@dataclass(frozen=True, eq=False)
class VectorsKnowledge(TokenKnowledge):
    """The hidden vector of `predictor` at each word. Each unit times its output weight for the word."""

    predictor: Predictor

    def extended(self, table: TokenTable, described: DescribedSegments) -> TokenTable:
        said = _predictions(described, self.predictor)
        vectors = self.predictor.evidence(described.segments.target_tokens, said)
        names = (f"predicted_vector_{k}" for k in range(vectors.shape[1]))
        return replace(table, word_names=(*table.word_names, *names), words=np.hstack([table.words, vectors]))


def _predictions(described: DescribedSegments, predictor: Predictor) -> Predictions:
    source, target = described.segments.source_tokens, described.segments.target_tokens
    return predictor.predict(
        source, target, described.aligner.align(source, target, "source-target", batch=500)
    )


_CERTAIN = 1e-6  # probabilities are kept this far from 0 and 1


@knowledge("pretrained")
@dataclass(frozen=True, eq=False)
class PretrainedKnowledge(TokenKnowledge):
    """Log-odds of BAD by `synthetic_word_quality`: of a word and its neighbours, and of a gap. Pooling
    networks begin as parallel text taught them.
    """

    synthetic_word_quality: SyntheticWordQuality

    def extended(self, table: TokenTable, described: DescribedSegments) -> TokenTable:
        probabilities = self.synthetic_word_quality.probabilities(table)
        kept = (np.clip(probability, _CERTAIN, 1 - _CERTAIN) for probability in probabilities)
        words, gaps = (np.log(probability / (1 - probability)) for probability in kept)
        of_words: Columns = {
            "synthetic": words,
            "synthetic_previous": shifted(words, table.offsets, -1),
            "synthetic_next": shifted(words, table.offsets, 1),
        }
        return table.with_columns(of_words, {"synthetic": gaps})

    def beginnings(
        self, side: str, names: Sequence[str], width: int, outcomes: Matrix
    ) -> Sequence[Parameters]:
        return self.synthetic_word_quality.texts[side].parameters(names, width, outcomes)


@knowledge("synthetic")
@dataclass(frozen=True, eq=False)
class SyntheticKnowledge(Judgement):
    """P(BAD) by `synthetic_word_quality` itself: nothing is learned from the labels of the task. Synthetic
    data as in Tuan et al. 2021, section 3.
    """

    synthetic_word_quality: SyntheticWordQuality

    def judged(self, table: TokenTable) -> tuple[FloatArray, FloatArray]:
        return self.synthetic_word_quality.probabilities(table)


# What a gap sees of the words at its sides.
GAP_COLUMNS = (
    "decoder_sum",
    "decoder_first",
    "decoder_minimum",
    "decoder_residual",
    "decoder_residual_first",
)


def decoder_columns(
    tokens: Tokens, decoder: DecoderTokens, means: SubwordMeans, *, is_training: bool
) -> Columns:
    """name -> (n_tokens,) decoder columns of the target tokens; NaN if no subword begins in a token."""
    index = decoder.token_index(tokens)
    residuals, seen = means.residuals(decoder, leave_one_out=is_training), means.log_counts(decoder)
    size, offsets = len(tokens.ids), tokens.offsets
    total = _total(decoder.log_probability, index, size)
    residual = _total(residuals, index, size)
    columns: Columns = {
        "decoder_sum": total,
        "decoder_first": _first(decoder.log_probability, index, size),
        "decoder_minimum": _lowest(decoder.log_probability, index, size),
        "decoder_pieces": np.bincount(index[index >= 0], minlength=size).astype(np.float64),
        "decoder_residual": residual,
        "decoder_residual_first": _first(residuals, index, size),
        "decoder_residual_minimum": _lowest(residuals, index, size),
        "decoder_seen_minimum": _lowest(seen, index, size),
        "decoder_rank": _rank(total, offsets),
        "decoder_text_mean": spread(segment_mean(decoder.log_probability, decoder.subwords.offsets), offsets),
        "decoder_text_minimum": spread(
            segment_min(decoder.log_probability, decoder.subwords.offsets), offsets
        ),
        "decoder_text_residual": spread(segment_mean(residuals, decoder.subwords.offsets), offsets),
        "decoder_end": spread(decoder.end, offsets),
    }
    for by in (-2, -1, 1, 2):
        columns[f"decoder_sum_{by:+d}"] = shifted(total, offsets, by)
        columns[f"decoder_residual_{by:+d}"] = shifted(residual, offsets, by)
    columns["decoder_contrast"] = total - columns["decoder_text_mean"]
    around = np.vstack([total, columns["decoder_sum_-1"], columns["decoder_sum_+1"]])
    known = ~np.isnan(around)
    columns["decoder_window"] = ratio(np.where(known, around, 0.0).sum(axis=0), known.sum(axis=0))
    return columns


def _total(values: Floats, index: Longs, size: int) -> Floats:
    inside = index >= 0
    counts = np.bincount(index[inside], minlength=size)
    sums = np.bincount(index[inside], weights=values[inside], minlength=size)
    return np.where(counts > 0, sums, np.nan)


def _first(values: Floats, index: Longs, size: int) -> Floats:
    result = np.full(size, np.nan)
    inside = np.flatnonzero(index >= 0)[::-1]
    result[index[inside]] = values[inside]  # the last assignment, that is the first value, stays
    return result


def _lowest(values: Floats, index: Longs, size: int) -> Floats:
    result = np.full(size, np.inf)
    inside = index >= 0
    np.minimum.at(result, index[inside], values[inside])
    return np.where(np.isinf(result), np.nan, result)


def _rank(values: Floats, offsets: Longs) -> Floats:
    known = np.where(np.isnan(values), np.inf, values)
    rising = ascending(known, offsets)
    result = np.full(len(values), np.nan)
    for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        result[start:end] = np.searchsorted(rising[start:end], known[start:end]) / max(end - start, 1)
    return np.where(np.isnan(values), np.nan, result)


@knowledge("decoder")
@dataclass(frozen=True, eq=False)
class DecoderKnowledge(LearnedKnowledge):
    """Log-probabilities of a word's subwords, neighbours' among them, and rank in the sentence. Their
    difference from the mean of the subword's type over the training translations is learned (leave-one-out
    means while learning).

    marker  how subwords join, as for `decoder`
    """

    marker: Marker = "bpe"
    _means: SubwordMeans | None = field(default=None, init=False, repr=False)

    def requires(self) -> tuple[str, ...]:
        return DECODER

    def fit(self, segments: Segments, aligner: Aligner) -> Self:
        means = SubwordMeans.fit(DecoderTokens.from_segments(segments, self.marker))
        return self.with_learned(_means=means)

    def extended(self, table: TokenTable, described: DescribedSegments) -> TokenTable:
        decoder = DecoderTokens.from_segments(described.segments, self.marker)
        target, is_training = described.segments.target_tokens, described.is_training
        words = decoder_columns(target, decoder, self.learned(self._means), is_training=is_training)
        return table.with_columns(words, table.beside_gaps({name: words[name] for name in GAP_COLUMNS}))

    def save(self, path: Path) -> None:
        self.learned(self._means).save(path)

    def restore(self, path: Path) -> Self:
        return self.with_learned(_means=SubwordMeans.load(path))


_FOLDER: Final = "encoder"  # in what is saved
_KINDS: Final = ("state", "difference")
_LEARNED_FROM: Final = 40_000  # words at most that components are learned from
_BLOCK: Final = 2048  # segments whose states are held at a time
_OF_GAPS: Final = ("encoder_best", "encoder_partner")

_OfWords = Callable[[tuple[str, ...], Tokens], Vectors]  # texts and their words -> states of the words


@knowledge("encoder")
@dataclass(frozen=True, eq=False)
class EncoderKnowledge(LearnedKnowledge):
    """Cosines of a word's state with source words, and principal components of states. Cosines are with the
    most similar word of the source and with the aligned one. Components are of its state and of its
    difference from the aligned one's.

    model       name of an encoder of yours, or the path of its folder, as for `encoder`; by default the one
                that `qe encoders make` makes
    prompt      before every text; null: what the encoder's folder says
    components  of state and difference each, learned from the words of training translations
    threads     on which the encoder runs
    normalise   typographic quotes are made plain, letters composed, and blanks before a full stop, at the end
                and repeated ones removed, so that they do not change a score
    """

    model: str | Path = "multilingual-e5-small"
    prompt: str | None = None
    components: Annotated[int, Ge(0)] = 16
    threads: Count = 1
    normalise: bool = True
    _loaded: "_Loaded" = field(default_factory=lambda: _Loaded(), init=False, repr=False)
    _projections: dict[str, Projection] | None = field(default=None, init=False, repr=False)
    _copy: Path | None = field(default=None, init=False, repr=False)

    def content_fingerprint(self) -> str:
        return digest(*sorted(self._folder.checksums().values()))

    def checksums(self) -> Mapping[str, str]:
        return self._folder.named_checksums()

    def fit(self, segments: Segments, aligner: Aligner) -> Self:
        step = int(segments.target_tokens.offsets[-1]) // _LEARNED_FROM + 1
        some: dict[str, list[Vectors]] = {kind: [] for kind in _KINDS}
        first = 0  # of the words of a block that is learned from
        for states in _States.blocks(self._words, segments, aligner):
            for kind, rows in states.by_kind().items():
                some[kind].append(rows[first::step])
            first = (first - len(states.target)) % step
        learned = {kind: fit_pca(_defined(rows), self.components) for kind, rows in some.items()}
        return self.with_learned(_projections=learned)

    def extended(self, table: TokenTable, described: DescribedSegments) -> TokenTable:
        blocks = _States.blocks(self._words, described.segments, described.aligner)
        parts = []
        for states in blocks:
            columns = _cosines(states)
            for kind, rows in states.by_kind().items():
                values = projected(self.learned(self._projections)[kind], rows)
                columns |= {f"encoder_{kind}_{k + 1}": values[:, k] for k in range(self.components)}
            parts.append(columns)
        words = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return table.with_columns(words, table.beside_gaps({name: words[name] for name in _OF_GAPS}))

    def save(self, path: Path) -> None:
        for kind, projection in self.learned(self._projections).items():
            projection.save(path / kind)
        self._folder.copy(path / _FOLDER)

    def restore(self, path: Path) -> Self:
        loaded = {kind: Projection.load(path / kind, self.components) for kind in _KINDS}
        return self.with_learned(_projections=loaded, _loaded=_Loaded(), _copy=path / _FOLDER)

    @property
    def _folder(self) -> EncoderFolder:
        return EncoderFolder(self._copy or fastest_path(self.model))

    def _words(self, texts: tuple[str, ...], tokens: Tokens) -> Vectors:
        if self._loaded.states is None:
            self._loaded.states = word_states(self._folder.path, self.prompt, self.threads)
        read = tuple(map(as_read, texts)) if self.normalise else texts
        return self._loaded.states.word_states(read, tokens)


def projected(projection: Projection, rows: Vectors) -> NDArray[np.float64]:
    # `projection.apply` gives the same numbers to the last bit, but copies the rows in double precision.
    if rows.shape[1] != len(projection.mean) or projection.directions.shape[1] == 1:  # added up otherwise
        return projection.apply(rows.astype(np.float64))
    directions = np.ascontiguousarray(projection.directions)
    return np.asarray(_products(rows, projection.mean, directions, projection.width), np.float64)


@numba.njit(cache=True, nogil=True)
def _products(rows: Any, mean: Any, directions: Any, width: int) -> Any:
    result = np.full((len(rows), width), np.nan)
    for i in range(len(rows)):
        if np.isfinite(rows[i]).all():
            result[i, : directions.shape[1]] = 0
            for d in range(rows.shape[1]):
                for k in range(directions.shape[1]):
                    result[i, k] += (rows[i, d] - mean[d]) * directions[d, k]
    return result


@dataclass(eq=False)
class _Loaded:
    states: WordStates | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"states": None}


@dataclass(frozen=True, eq=False)
class _States:
    offsets: NDArray[np.int64]
    target: Vectors
    partner: Vectors
    source: Vectors
    source_offsets: NDArray[np.int64]

    @classmethod
    def blocks(cls, words: _OfWords, segments: Segments, aligner: Aligner) -> Iterator["_States"]:
        links = aligned_links(segments, aligner).best
        for begin in range(0, max(1, len(segments)), _BLOCK):
            rows = np.arange(begin, min(begin + _BLOCK, len(segments)))
            sources, targets = segments.source_tokens.take(rows), segments.target_tokens.take(rows)
            source = words(segments.source[begin : begin + _BLOCK], sources)
            target = words(segments.target[begin : begin + _BLOCK], targets)
            if target.shape[1] != source.shape[1]:  # one side has no word that the encoder knows
                source, target = (np.full((len(x), 1), np.nan, np.float32) for x in (source, target))
            first = segments.target_tokens.offsets[begin]
            own = links[first : first + len(target)]
            partner = np.full_like(target, np.nan)
            partner[own >= 0] = source[own[own >= 0] - segments.source_tokens.offsets[begin]]
            yield cls(targets.offsets, target, partner, source, sources.offsets)

    def by_kind(self) -> dict[str, Vectors]:
        return {"state": self.target, "difference": self.target - self.partner}


def _best(states: _States) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    count = len(states.offsets) - 1
    best, free = np.full(len(states.target), np.nan), np.full(count, np.nan)
    for i in range(count):
        a, b = states.offsets[i : i + 2].tolist()
        c, d = states.source_offsets[i : i + 2].tolist()
        cosines = states.target[a:b] @ states.source[c:d].T
        known = np.where(np.isnan(cosines), -np.inf, cosines)
        if known.size:
            best[a:b], lowest = known.max(axis=1), known.max(axis=0)
            free[i] = np.where(np.isinf(lowest), np.inf, lowest).min()
    return np.where(np.isfinite(best), best, np.nan), np.where(np.isfinite(free), free, np.nan)


def _defined(parts: list[Vectors]) -> NDArray[np.float64]:
    whole = [part[np.isfinite(part).all(axis=1)] for part in parts]
    width = max(part.shape[1] for part in whole)
    return np.concatenate([part for part in whole if part.shape[1] == width]).astype(np.float64)


def _cosines(states: _States) -> Columns:
    partner = np.einsum("nd,nd->n", states.target, states.partner).astype(np.float64)
    best, free = _best(states)
    columns: Columns = {"encoder_best": best, "encoder_partner": partner}
    for by in (-1, 1):
        columns[f"encoder_best_{by:+d}"] = shifted(best, states.offsets, by)
        columns[f"encoder_partner_{by:+d}"] = shifted(partner, states.offsets, by)
    defined = np.isfinite(best)
    sums = segment_sum(np.where(defined, best, 0.0), states.offsets)
    text_mean = ratio(sums, segment_sum(defined, states.offsets))
    columns["encoder_text_best"] = spread(text_mean, states.offsets)
    columns["encoder_text_free"] = spread(free, states.offsets)
    columns["encoder_contrast"] = best - columns["encoder_text_best"]
    return columns
