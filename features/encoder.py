"""Similarity of source and target in the space of an encoder that the user brings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count, Seed
from features.core.extractor import Feature, FittedExtractor
from features.core.segments import Segments
from features.encoding.encoded import (
    EncodedPairs,
    PairMemory,
    TextEncoder,
    as_read,
    cosines,
    joined,
    norms,
    unit_rows,
)
from features.encoding.folder import EncoderFolder, EncoderSettings, fastest_path
from features.encoding.projections import Projection, Ridge, fit_pca, fit_pls, fit_ridge
from features.storage.damage import finite, typed
from features.storage.files import digest

Second = Literal["pseudo_reference", "back_translation"]
Side = Literal["source", "target"]  # whose language a text has


class _Pair(NamedTuple):
    columns: tuple[str, str]
    sides: tuple[Side, Side]
    subject: str


_PAIRS: Mapping[str, _Pair] = {
    "source": _Pair(("target", "source"), ("target", "source"), "target against source"),
    "pseudo_reference": _Pair(
        ("target", "pseudo_reference"), ("target", "target"), "target against pseudo-reference"
    ),
    "back_translation": _Pair(
        ("source", "back_translation"), ("source", "source"), "source against back-translation"
    ),
}
_BERTSCORE = "Zhang et al. 2020 (BERTScore), section 3, without idf"
_MATCHES = (
    ("precision", "mean over tokens of the first text of the cosine with the most similar one of the second"),
    ("recall", "mean over tokens of the second text of the cosine with the most similar one of the first"),
    ("f1", "harmonic mean of token precision and recall; 0 if one is not above 0"),
    ("lowest", "lowest best cosine of a token of the first text"),
    *(
        (f"q{share}", f"quantile {share} % of the best cosines of the tokens of the first text")
        for share in (10, 25, 50)
    ),
)
_SIDES = ("source", "target")
_COSINES = (
    ("cosine", "cosine of the vectors"),
    ("centred_cosine", "cosine of the vectors less the mean of the training texts of their language"),
)
_FOLDER = "encoder"  # in what is saved
_OWN = "this project: source, target, |difference| and product as in Rei et al. 2020 (COMET), section 2.2"


@dataclass(frozen=True, eq=False)
class Encoder(FittedExtractor):
    """Cosine, lengths and projections of source and target vectors, and token matches.

    model      name of an encoder of yours (`qe encoders list`), or the path of its folder, with a `/`:
               `tokenizer.json` and `model.onnx`, or `model.safetensors` with static vectors
    prompt     text that goes before every text, or one for each side (`source`, `target`); null: what the
               encoder's folder says
    second     second translations that are compared too: `pseudo_reference` with the target,
               `back_translation` with the source
    prediction of the label by a ridge on source, target, |difference| and product (of centred vectors)
    layers     inner layers, counted from 1, each with its own ridge: the prediction is the mean of the ridges
               and of the last one's (of an encoder in ONNX that is built as BERT and XLM-R)
    pca        principal components of the same
    pls        components of partial least squares of the same, learned from the label
    pooling    of an encoder in ONNX: `auto` is what its folder says, else its own output for texts, else mean
    longest    tokens that it reads at once: a longer text is read in pieces; null: what its tokenizer says
    threads    on which it runs
    batch      texts of equal length that are read together, at most
    normalise  typographic quotes are made plain, letters composed; blanks are removed before a full stop, at
               the end, or if doubled, so that none of them moves a score
    prefix     goes before every name, for two encoders in one experiment
    seed       has no effect: principal components are exact

    Everything about a text without a token that the encoder knows is NaN. Cosines are reported twice: as they
    are, and of vectors centred: less the mean of the training texts of their language. A saved model holds a
    copy of the encoder. Needs the packages of `mtqe[encoder]`.
    """

    plain: ClassVar[str] = "how near source and translation are in meaning"

    model: str | Path
    prompt: str | Mapping[Side, str] | None = None
    second: Sequence[Second] = ()
    prediction: bool = True
    layers: Sequence[Annotated[int, Ge(1)]] = ()
    pca: Annotated[int, Ge(0)] = 4
    pls: Annotated[int, Ge(0)] = 0
    pooling: Literal["auto", "mean", "cls"] = "auto"
    longest: Annotated[int, Ge(4)] | None = None
    threads: Count = 1
    batch: Count = 32
    normalise: bool = True
    prefix: str = ""
    seed: Seed = 0
    _loaded: "_Loaded" = field(default_factory=lambda: _Loaded(), init=False, repr=False)
    _learned: "_Learned | None" = field(default=None, init=False, repr=False)
    _copy: Path | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layers and not self.prediction:
            raise InputError(
                "`layers` are read for the prediction alone, but `prediction` is off",
                remedy="leave `layers` out, or leave `prediction` on",
            )

    @property
    def features(self) -> Sequence[Feature]:
        stem, without = f"{self.prefix}encoder", "NaN if a text has no known token"
        features = [
            Feature(f"{stem}_{side}_norm", f"Euclidean length of the {side}'s vector; {without}",
                "this project", "length")
            for side in ("source", "target")
        ]  # fmt: skip
        for pair in self._pairs:
            what = _PAIRS[pair].subject
            features += [
                Feature(f"{stem}_{pair}_{name}", f"{what}: {meaning}; {without}", "this project", "cosine")
                for name, meaning in _COSINES
            ]
            features += [
                Feature(f"{stem}_{pair}_match_{name}", f"{what}: {meaning}; {without}", _BERTSCORE, "cosine")
                for name, meaning in _MATCHES
            ]
        if self.prediction:
            inner = ", ".join(map(str, self.layers))
            mean = f", mean of ridges on layers {inner} and the last" if inner else ""
            features.append(Feature(f"{stem}_prediction",
                f"label predicted by a ridge on source, target, |difference| and product{mean}; {without}",
                _OWN, "label"))  # fmt: skip
        for kind, number in self._widths.items():
            features += [
                Feature(f"{stem}_{kind}_{k}",
                    f"component {k} of {kind.upper()} of source, target, |difference| and product; {without}",
                    _OWN, "component")
                for k in range(1, number + 1)
            ]  # fmt: skip
        return features

    @property
    def _pairs(self) -> tuple[str, ...]:
        return ("source", *dict.fromkeys(self.second))

    @property
    def _widths(self) -> dict[str, int]:
        return {kind: number for kind, number in (("pca", self.pca), ("pls", self.pls)) if number}

    def requires(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.second))

    def labels_used(self) -> tuple[str, ...]:
        return ("scores",) if self.pls or self.prediction else ()

    @property
    def _folder(self) -> EncoderFolder:
        return EncoderFolder(self._copy or fastest_path(self.model))

    @property
    def _encoder(self) -> TextEncoder:
        if self._loaded.encoder is None:
            layers = tuple(self.layers)
            settings = EncoderSettings(self.pooling, self.longest, self.threads, self.batch, layers)
            self._loaded.encoder = self._folder.load_cached(settings)
        return self._loaded.encoder

    def content_fingerprint(self) -> str:
        return digest(*sorted(self._folder.checksums().values()))

    def checksums(self) -> Mapping[str, str]:
        return self._folder.named_checksums()

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        compared = self._compared("source", segments)
        centres = _centres(compared)
        joint = _joint(compared, centres)
        defined = np.asarray(np.isfinite(joint).all(axis=1))
        if not (joint.shape[1] and defined.any()):
            raise InputError(
                "no training segment has a token that the encoder knows",
                location=self._folder.path,
                remedy="take an encoder of both languages",
            )
        rows, projections, predictors = joint if defined.all() else joint[defined], {}, list[_Predictor]()
        if self.pca:
            projections["pca"] = fit_pca(rows, self.pca)
        if self.labels_used():
            scores = np.asarray(labels["scores"], np.float64)[defined]
            projections |= {"pls": fit_pls(rows, scores, self.pls)} if self.pls else {}
            for layer in compared.by_layer() if self.prediction else []:
                of_layer = _centres(layer)
                ridge = fit_ridge(_joint(layer, of_layer)[defined], scores)
                predictors.append(_Predictor(of_layer, ridge))
        return self.with_learned(_learned=_Learned(centres, projections, predictors))

    def extract(self, segments: Segments) -> FloatArray:
        learned = self.learned(self._learned)
        compared = {pair: self._compared(pair, segments) for pair in self._pairs}
        of_source = compared["source"]
        columns = [norms(of_source.second), norms(of_source.first)]
        for pair, pairs in compared.items():
            first, second = (learned.centres[side] for side in _PAIRS[pair].sides)
            centred = np.full(len(pairs.first), np.nan)
            if pairs.first.shape[1]:
                centred = cosines(unit_rows(pairs.first) - first, unit_rows(pairs.second) - second)
            columns += [cosines(pairs.first, pairs.second), centred, *pairs.matches.T]
        joint = _joint(of_source, learned.centres)
        if learned.predictors:
            layers = zip(learned.predictors, of_source.by_layer(), strict=True)
            predicted = [each.ridge.predict(_joint(layer, each.centres)) for each, layer in layers]
            columns += [np.mean(predicted, axis=0)]
        projected = [learned.projections[kind].apply(joint) for kind in self._widths]
        return np.hstack([np.column_stack(columns), *projected])

    def pairs(self, segments: Segments) -> EncodedPairs:
        """Targets (first) and sources (second)."""
        return self._compared("source", segments)

    def _compared(self, pair: str, segments: Segments) -> EncodedPairs:
        (first, second), sides, _ = _PAIRS[pair]
        if pair not in self._loaded.memories:
            if isinstance(self.prompt, str):
                prompts = [self.prompt, self.prompt]
            else:
                own, given = self._folder.prompt, self.prompt or {}
                prompts = [given.get(side, own) for side in sides]
            self._loaded.memories[pair] = PairMemory((prompts[0], prompts[1]))
        texts: list[Sequence[str]] = [segments.require(name) for name in (first, second)]
        if self.normalise:
            texts = [[as_read(text) for text in column] for column in texts]
        return self._loaded.memories[pair].pairs(self._encoder, *texts)

    def save(self, path: Path) -> None:
        self.learned(self._learned).save(path)
        self.copy_encoder(path)

    def copy_encoder(self, path: Path) -> None:
        """Writes the encoder into the folder of what a model has learned."""
        self._folder.copy(path / _FOLDER)

    def reading_copy(self, path: Path) -> Self:
        """This family with the encoder that `copy_encoder` has written."""
        return self.with_learned(_loaded=_Loaded(), _copy=path / _FOLDER)

    def restore(self, path: Path) -> Self:
        learned = _Learned.load(path, self._widths, 1 + len(self.layers) if self.prediction else 0)
        return self.with_learned(_learned=learned, _loaded=_Loaded(), _copy=path / _FOLDER)


@dataclass(frozen=True, eq=False)
class _Predictor:
    centres: "_Centres"
    ridge: Ridge


@dataclass(frozen=True, eq=False)
class _Learned:
    centres: "_Centres"
    projections: Mapping[str, Projection]
    predictors: Sequence[_Predictor]

    def save(self, path: Path) -> None:
        _save_centres(self.centres, path)
        for kind, projection in self.projections.items():
            projection.save(path / kind)
        for last in self.predictors[:1]:  # whose centres are those above
            last.ridge.save(path / "ridge")
        for number, inner in enumerate(self.predictors[1:]):
            folder = path / f"layer_{number}"
            folder.mkdir()
            _save_centres(inner.centres, folder)
            inner.ridge.save(folder / "ridge")

    @classmethod
    def load(cls, path: Path, widths: Mapping[str, int], predictors: int) -> "_Learned":
        centres = _load_centres(path)
        loaded = {kind: Projection.load(path / kind, width) for kind, width in widths.items()}
        last = [_Predictor(centres, Ridge.load(path / "ridge"))] if predictors else []
        folders = [path / f"layer_{number}" for number in range(predictors - 1)]
        inner = [_Predictor(_load_centres(folder), Ridge.load(folder / "ridge")) for folder in folders]
        return cls(centres, loaded, [*last, *inner])


_Centres = Mapping[str, FloatArray]


def _centres(pairs: EncodedPairs) -> _Centres:
    return {"target": _mean_unit(pairs.first), "source": _mean_unit(pairs.second)}


def _save_centres(centres: _Centres, path: Path) -> None:
    np.save(path / "centres.npy", np.array([centres[side] for side in _SIDES]), allow_pickle=False)


def _load_centres(path: Path) -> _Centres:
    centres = np.load(path / "centres.npy", allow_pickle=False)
    typed("centres", centres, np.float64, len(_SIDES), None)
    finite("centres", centres)
    return dict(zip(_SIDES, centres, strict=True))


@dataclass(eq=False)
class _Loaded:
    encoder: TextEncoder | None = None
    memories: dict[str, PairMemory] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {"encoder": None, "memories": {}}


def _joint(pairs: EncodedPairs, centres: Mapping[str, FloatArray]) -> FloatArray:
    if not pairs.first.shape[1]:  # nothing was encoded: no text has words
        return np.full((len(pairs.first), 4 * len(centres["target"])), np.nan)
    target = unit_rows(unit_rows(pairs.first) - centres["target"])
    source = unit_rows(unit_rows(pairs.second) - centres["source"])
    return joined(source, target)


def _mean_unit(vectors: FloatArray) -> FloatArray:
    units = unit_rows(vectors)
    defined = units[np.isfinite(units).all(axis=1)]
    return np.asarray(defined.mean(axis=0) if len(defined) else np.zeros(units.shape[1]), np.float64)
