"""How near source and target lie to each other in the space of an encoder that the user brings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count, Seed
from features.core.extractor import Feature, FittedExtractor
from features.core.segments import Segments
from features.encoding.encoded import TextEncoder
from features.encoding.folder import EncoderFolder, EncoderSettings
from features.encoding.pairs import EncodedPairs, PairMemory
from features.encoding.projections import Projection, fit_pca, fit_pls
from features.storage.files import digest
from features.text.tokens import ratio

Second = Literal["pseudo_reference", "back_translation"]
# Pair -> the columns of its texts, and what is compared.
_PAIRS: Mapping[str, tuple[str, str, str]] = {
    "source": ("target", "source", "target against source"),
    "pseudo_reference": ("target", "pseudo_reference", "target against pseudo-reference"),
    "back_translation": ("source", "back_translation", "source against back-translation"),
}
_BERTSCORE = "Zhang et al. 2020 (BERTScore), section 3, without idf"
_MATCHES = (
    ("precision", "mean over tokens of the first text of the cosine with the most similar one of the second"),
    ("recall", "mean over tokens of the second text of the cosine with the most similar one of the first"),
    ("f1", "harmonic mean of token precision and recall; 0 if one is not above 0"),
    ("lowest", "lowest best cosine of a token of the first text"),
)
_FOLDER = "encoder"  # in what is saved
_OWN = "this project: source, target, |difference| and product as in Rei et al. 2020 (COMET), section 2.2"


@dataclass(frozen=True, eq=False)
class Encoder(FittedExtractor):
    """Cosine, lengths and projections of the vectors of source and target, and how well their tokens match.

    directory  of the encoder: `tokenizer.json` and `model.onnx`, or `model.safetensors` with static vectors
    second     second translations that are compared too: `pseudo_reference` with the target,
               `back_translation` with the source
    pca        principal components of source, target, |difference| and product (of vectors of length 1)
    pls        components of partial least squares of the same, learned from the label
    pooling    of an encoder in ONNX: `auto` is what its folder says, else its own output for texts, else mean
    longest    tokens that it reads at once: a longer text is read in pieces; null: what its tokenizer says
    threads    on which it runs
    batch      texts of equal length that are read together, at most
    prefix     goes before every name, for two encoders in one experiment
    seed       of the search for principal components

    Everything about a text without a token that the encoder knows is NaN. A saved model holds a copy of the
    encoder. Needs the packages of `mtqe[encoder]`.
    """

    directory: str | Path
    second: Sequence[Second] = ()
    pca: Annotated[int, Ge(0)] = 4
    pls: Annotated[int, Ge(0)] = 4
    pooling: Literal["auto", "mean", "cls"] = "auto"
    longest: Annotated[int, Ge(4)] | None = None
    threads: Count = 1
    batch: Count = 32
    prefix: str = ""
    seed: Seed = 0
    _loaded: "_Loaded" = field(default_factory=lambda: _Loaded(), init=False, repr=False)
    _projections: Mapping[str, Projection] | None = field(default=None, init=False, repr=False)
    _copy: Path | None = field(default=None, init=False, repr=False)

    @property
    def features(self) -> Sequence[Feature]:
        return list(self._features())

    def _features(self) -> Iterator[Feature]:
        stem, without = f"{self.prefix}encoder", "NaN if a text has no known token"
        for side in ("source", "target"):
            yield Feature(
                f"{stem}_{side}_norm",
                f"Euclidean length of the {side}'s vector; {without}",
                "this project",
                "length",
            )
        for pair in self._pairs:
            what = _PAIRS[pair][2]
            yield Feature(
                f"{stem}_{pair}_cosine", f"{what}: cosine of the vectors; {without}", "this project", "cosine"
            )
            for name, meaning in _MATCHES:
                yield Feature(
                    f"{stem}_{pair}_match_{name}", f"{what}: {meaning}; {without}", _BERTSCORE, "cosine"
                )
        for kind, number in self._widths.items():
            for k in range(1, number + 1):
                yield Feature(
                    f"{stem}_{kind}_{k}",
                    f"component {k} of {kind.upper()} of source, target, |difference| and product; {without}",
                    _OWN,
                    "component",
                )

    @property
    def _pairs(self) -> tuple[str, ...]:
        return ("source", *dict.fromkeys(self.second))

    @property
    def _widths(self) -> dict[str, int]:
        return {kind: number for kind, number in (("pca", self.pca), ("pls", self.pls)) if number}

    def requires(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.second))

    def labels_used(self) -> tuple[str, ...]:
        return ("scores",) if self.pls else ()

    @property
    def _folder(self) -> EncoderFolder:
        return EncoderFolder(self._copy or Path(self.directory))

    @property
    def _encoder(self) -> TextEncoder:
        if self._loaded.encoder is None:
            settings = EncoderSettings(self.pooling, self.longest, self.threads, self.batch)
            self._loaded.encoder = self._folder.load(settings)
        return self._loaded.encoder

    def content_fingerprint(self) -> str:
        """Fingerprint of the encoder's files, whatever their folder; raises InputError if there are none."""
        return digest(*sorted(self._folder.checksums().values()))

    def checksums(self) -> Mapping[str, str]:
        return self._folder.checksums()

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        joint = _joint(self._compared("source", segments))
        defined = np.isfinite(joint).all(axis=1)
        if not (joint.shape[1] and defined.any()):
            raise InputError(
                "no training segment has a token that the encoder knows",
                where=self._folder.path,
                remedy="take an encoder of these languages",
            )
        rows, projections = joint[defined], {}
        if self.pca:
            projections["pca"] = fit_pca(rows, self.pca, self.seed)
        if self.pls:
            scores = np.asarray(labels["scores"], np.float64)[defined]
            projections["pls"] = fit_pls(rows, scores, self.pls)
        return self.with_learned(_projections=projections)

    def extract(self, segments: Segments) -> FloatArray:
        projections = self.learned(self._projections)
        compared = {pair: self._compared(pair, segments) for pair in self._pairs}
        of_source = compared["source"]
        columns = [_norms(of_source.second), _norms(of_source.first)]
        for pairs in compared.values():
            columns += [_cosines(pairs), *pairs.matches.T]
        joint = _joint(of_source)
        projected = [projections[kind].apply(joint) for kind in self._widths]
        return np.hstack([np.column_stack(columns), *projected])

    def _compared(self, pair: str, segments: Segments) -> EncodedPairs:
        """Vectors of the two texts, and how well their tokens match."""
        first, second, _ = _PAIRS[pair]
        memory = self._loaded.memories.setdefault(pair, PairMemory())
        return memory.pairs(self._encoder, segments.require(first), segments.require(second))

    def save(self, path: Path) -> None:
        for kind, projection in self.learned(self._projections).items():
            projection.save(path / kind)
        self._folder.copy(path / _FOLDER)

    def restore(self, path: Path) -> Self:
        loaded = {kind: Projection.load(path / kind, width) for kind, width in self._widths.items()}
        return self.with_learned(_projections=loaded, _loaded=_Loaded(), _copy=path / _FOLDER)


@dataclass(eq=False)
class _Loaded:
    """The encoder and what it said, shared by all that is fitted with it; neither copied nor pickled."""

    encoder: TextEncoder | None = None
    memories: dict[str, PairMemory] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {"encoder": None, "memories": {}}


def _joint(pairs: EncodedPairs) -> FloatArray:
    """(n, 4 d) source, target, |difference| and product of vectors of length 1."""
    target, source = _unit(pairs.first), _unit(pairs.second)
    return np.hstack([source, target, np.abs(source - target), source * target])


def _unit(vectors: FloatArray) -> FloatArray:
    return ratio(vectors, np.broadcast_to(_norms(vectors)[:, np.newaxis], vectors.shape))


def _norms(vectors: FloatArray) -> FloatArray:
    """(n,) Euclidean lengths; NaN of vectors of no dimension, which nothing defines."""
    if not vectors.shape[1]:
        return np.full(len(vectors), np.nan)
    return np.asarray(np.sqrt(np.einsum("nd,nd->n", vectors, vectors)), np.float64)


def _cosines(pairs: EncodedPairs) -> FloatArray:
    products = np.einsum("nd,nd->n", pairs.first, pairs.second)
    return ratio(products, _norms(pairs.first) * _norms(pairs.second))
