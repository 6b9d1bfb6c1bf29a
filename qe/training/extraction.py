"""Extraction: feature tables of a split, cached and computed without leaks between folds."""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.apart import OutOfFold, ResourceLookup
from features.core.extractor import Extractor, FittedExtractor
from features.core.feature_set import FeatureSet, checked, extractor_fingerprint, verified
from features.core.segments import Segments
from features.core.tree_columns import tree_table
from features.storage.cache_folder import cache_entry
from features.storage.files import atomic_file, digest
from features.word_level.places import PLACES, Kind, Places, WordLevelExtractor, gathered
from qe.data.dataset import Split
from qe.data.splits import Fold, make_folds
from qe.training.auxiliary_labels import AuxiliaryLabels
from qe.training.clock import Clock
from qe.training.kept_fits import kept_fit
from qe.training.sharing import Sharing

Rows = NDArray[np.int64]
Tables = tuple[pd.DataFrame, pd.DataFrame]
Compute = Callable[[FeatureSet, int, Segments], NDArray[np.float64]]


def _here(feature_set: FeatureSet, i: int, segments: Segments) -> NDArray[np.float64]:
    return checked(feature_set.extractors[i], segments)


@dataclass(frozen=True)
class Extraction:
    """Makes feature tables; every extractor's columns are cached on disk by what they depend on.

    `cross_fit` folds give the training rows of a fitted extractor values from models that never saw them;
    they are made like the folds of the experiment (`by`, `block`), unless these share what is fitted
    (`qe/training/sharing.py`). `compute` is how an extractor that learns nothing is run. `clock` knows what
    each family took. `apart` has the features with the resources of rows whose texts are in the others'
    (`features/core/apart.py`); extractors that learn know of them themselves. `labels` are others of the same
    segments, which are mixed into the one that families learn.
    """

    feature_set: FeatureSet
    cache: Path | None
    by: Literal["random", "block", "document"] = "random"
    block: int = 31
    seed: int = 0
    cross_fit: int = 5
    progress: Progress = silent
    compute: Compute = _here
    clock: Clock = field(default_factory=Clock, repr=False)
    apart: OutOfFold[FeatureSet] | None = None
    labels: AuxiliaryLabels | None = None
    _last: dict[int, tuple[str, FittedExtractor]] = field(default_factory=dict, init=False, repr=False)
    _keys: dict[int, str] = field(default_factory=dict, init=False, repr=False)
    _trees: dict[str, pd.DataFrame] = field(default_factory=dict, init=False, repr=False)

    def static(self, segments: Segments) -> pd.DataFrame:
        """(n, k) columns of the extractors that learn nothing from labels, and those of trees."""
        blocks = {
            i: self._cached(
                digest(self._key(i), segments.fingerprint),
                lambda i=i: self._computed(i, segments),
                i,
            )
            for i, extractor in enumerate(self.feature_set.extractors)
            if not isinstance(extractor, FittedExtractor)
        }
        table = self._frame(blocks, segments)
        return table.join(self.trees(segments)) if self.feature_set.trees else table

    def _computed(self, i: int, segments: Segments) -> FloatArray:
        if self.apart is None:
            return self.compute(self.feature_set, i, segments)
        result = np.empty((len(segments), len(self.feature_set.extractors[i].names)))
        for feature_set, rows in self.apart.groups(self.feature_set, segments):
            result[rows] = self.compute(feature_set, i, segments.take(rows))
        return result

    def fold(self, split: Split, train: Rows, held_out: Rows) -> Tables:
        """Features of the training rows (fitted families cross-fitted) and of the held-out rows."""
        fitting, scoring = split.take(train), split.take(held_out).segments
        return self.fit_and_score(fitting, scoring, self.static(split.segments))

    def folds(self, split: Split, folds: Sequence[tuple[Rows, Rows]]) -> list[Tables]:
        """`fold` of all folds of a split; they share what is fitted, where there are enough of them."""
        sharing = Sharing.of(folds)
        if sharing is None or not self.fitted_families:
            return [self.fold(split, train, held_out) for train, held_out in folds]
        static = self.static(split.segments)
        shared = {i: self._shared(i, extractor, split, sharing) for i, extractor in self.fitted_families}
        tables = []
        for number, (train, held_out) in enumerate(folds):
            fitting, scoring = split.take(train), split.take(held_out).segments
            trained = {i: sharing.trained(values, number)[train] for i, values in shared.items()}
            applied = {i: self._applied(i, x, fitting, scoring) for i, x in self.fitted_families}
            own, other = static.loc[list(fitting.segments.id)], static.loc[list(scoring.id)]
            tables.append(
                (self._joined(own, trained, fitting.segments), self._joined(other, applied, scoring))
            )
        return tables

    def fit_and_score(self, fitting: Split, scoring: Segments, static: pd.DataFrame | None = None) -> Tables:
        """Features of the rows learned from and of other rows, which no label of theirs reaches."""
        own = self.static(fitting.segments) if static is None else static.loc[list(fitting.segments.id)]
        other = self.static(scoring) if static is None else static.loc[list(scoring.id)]
        trained = {i: self._cross_fitted(i, extractor, fitting) for i, extractor in self.fitted_families}
        applied = {i: self._applied(i, x, fitting, scoring) for i, x in self.fitted_families}
        return self._joined(own, trained, fitting.segments), self._joined(other, applied, scoring)

    def scored(self, fitting: Split, scoring: Segments) -> pd.DataFrame:
        """Features of other rows than those learned from."""
        applied = {i: self._applied(i, x, fitting, scoring) for i, x in self.fitted_families}
        return self._joined(self.static(scoring), applied, scoring)

    def training_table(self, fitting: Split, folds: Sequence[tuple[Rows, Rows]] = ()) -> pd.DataFrame:
        """Features of the training rows, with cross-fitted values of fitted families.

        If `folds` share fits, these fits also give the values here.
        """
        sharing = Sharing.of(folds)
        if sharing is None:
            return self.fit_and_score(fitting, fitting.segments.take([]))[0]
        trained = {
            i: sharing.trained(self._shared(i, extractor, fitting, sharing), None)
            for i, extractor in self.fitted_families
        }
        return self._joined(self.static(fitting.segments), trained, fitting.segments)

    @property
    def fitted_families(self) -> list[tuple[int, FittedExtractor]]:
        """The extractors that learn from labels, and their places."""
        extractors = enumerate(self.feature_set.extractors)
        return [(i, extractor) for i, extractor in extractors if isinstance(extractor, FittedExtractor)]

    def fitted_extractors(self, split: Split) -> FeatureSet:
        """The feature set with its fitted extractors fitted on all rows of `split`, for the model."""
        extractors = tuple(
            self._alone(i, extractor, split) if isinstance(extractor, FittedExtractor) else extractor
            for i, extractor in enumerate(self.feature_set.extractors)
        )
        return replace(self.feature_set, extractors=extractors)

    def _alone(self, i: int, extractor: FittedExtractor, split: Split) -> FittedExtractor:
        name = f"{self.feature_set.configs[i]['kind']}-{digest(self._key(i), split.fingerprint)}"
        path = cache_entry(self.cache, "fitted", name) if self.cache else None
        fitted = kept_fit(path, extractor, partial(self._fitted, i, extractor, split))
        return fitted.with_out_of_fold(None) if isinstance(fitted, ResourceLookup) else fitted

    def _cross_fitted(self, i: int, extractor: FittedExtractor, fitting: Split) -> FloatArray:
        key = digest(self._key(i), fitting.fingerprint, self.by, self.block, self.seed, self.cross_fit)

        def compute() -> FloatArray:
            result = np.full((len(fitting), len(extractor.names)), np.nan)
            for train, held_out in self._parts(fitting):
                own = fitting.take(train)
                result[held_out] = self._values(
                    i, self._fit(extractor, own, fitting), own, fitting.segments.take(held_out)
                )
            return result

        return self._cached(key, compute, i)

    def _parts(self, fitting: Split) -> list[tuple[Rows, Rows]]:
        return make_folds(
            len(fitting),
            self.cross_fit,
            seed=self.seed,
            by=self.by,
            block=self.block,
            documents=fitting.segments.doc_id,
        )

    def _shared(
        self, i: int, extractor: FittedExtractor, split: Split, sharing: Sharing
    ) -> dict[tuple[int, int], FloatArray]:
        return {
            place: self._applied(i, extractor, split.take(training), split.take(rows).segments)
            for training, asked in sharing.fits()
            for place, rows in asked
        }

    def _joined(
        self, static: pd.DataFrame, fitted: Mapping[int, FloatArray], segments: Segments
    ) -> pd.DataFrame:
        return pd.concat([static, self._frame(fitted, segments)], axis=1)[self.feature_set.columns]

    def _applied(self, i: int, extractor: FittedExtractor, fitting: Split, scoring: Segments) -> FloatArray:
        if not len(scoring):
            return np.empty((0, len(extractor.names)))
        key = digest(self._key(i), fitting.fingerprint, scoring.fingerprint, "applied")
        return self._cached(
            key, lambda: self._values(i, self._fitted(i, extractor, fitting), fitting, scoring), i
        )

    def _values(self, i: int, fitted: FittedExtractor, fitting: Split, scoring: Segments) -> FloatArray:
        if not isinstance(fitted, WordLevelExtractor):
            return checked(fitted, scoring)
        places = fitted.places(scoring)
        self._keep_places(self._places_file(i, fitting, scoring), places)
        return verified(fitted, fitted.columns_of(places), len(scoring))

    def places(self, i: int, fitting: Split, scoring: Segments) -> Mapping[Kind, Places]:
        """P(BAD) of the words of rows, by extractor i (of words) fitted on other rows."""
        path = self._places_file(i, fitting, scoring)
        if path is not None and path.is_file():
            with np.load(path, allow_pickle=False) as kept:
                return _unpacked(kept)
        extractor = self.feature_set.extractors[i]
        assert isinstance(extractor, WordLevelExtractor)
        fitted = self._fitted(i, extractor, fitting)
        assert isinstance(fitted, WordLevelExtractor)
        places = fitted.places(scoring)
        self._keep_places(path, places)
        return places

    def training_places(
        self, i: int, split: Split, folds: Sequence[Fold], held_out: int | None = None
    ) -> dict[Kind, list[FloatArray | None]]:
        """P(BAD) of the words of a fold's training rows (None: all rows), out of fold.

        The models are those behind the columns of `folds` (`training_table`), which never saw the
        rows. Held-out rows of the fold have None.
        """
        sharing = Sharing.of(folds)
        if sharing is not None:
            parts = sharing.behind(held_out)
            lost = () if held_out is None else folds[held_out][1]
        else:
            rows = np.arange(len(split)) if held_out is None else folds[held_out][0]
            parts = [(rows[a], rows[b]) for a, b in self._parts(split.take(rows))]
            lost = ()
        pieces = [(b, self.places(i, split.take(a), split.take(b).segments)) for a, b in parts]
        result = {
            kind: gathered(len(split), [(rows, places[kind]) for rows, places in pieces])
            for kind in pieces[0][1]
        }
        for values in result.values():
            for row in lost:
                values[row] = None
        return result

    def _places_file(self, i: int, fitting: Split, scoring: Segments) -> Path | None:
        if self.cache is None:
            return None
        key = digest(self._key(i), fitting.fingerprint, scoring.fingerprint, "places")
        return cache_entry(self.cache, "features", f"{self.feature_set.configs[i]['kind']}-{key}.npz")

    @staticmethod
    def _keep_places(path: Path | None, places: Mapping[Kind, Places]) -> None:
        if path is not None:
            with atomic_file(path) as temporary, temporary.open("wb") as stream:
                np.savez(stream, **_packed(places))

    def _fitted(self, i: int, extractor: FittedExtractor, fitting: Split) -> FittedExtractor:
        key = fitting.fingerprint
        if i not in self._last or self._last[i][0] != key:
            with self.clock.part(f"features · {self.feature_set.configs[i]['kind']}"):
                self._last[i] = (key, self._fit(extractor, fitting))
        return self._last[i][1]

    def _fit(self, extractor: FittedExtractor, split: Split, of: Split | None = None) -> FittedExtractor:
        return _fit(extractor, split if self.labels is None else self.labels.mixed(split, of))

    def _frame(self, blocks: Mapping[int, FloatArray], segments: Segments) -> pd.DataFrame:
        names = [feature.name for i in blocks for feature in self.feature_set.kept_features(i)]
        kept = [self.feature_set.keep(i, block) for i, block in blocks.items()]
        data = np.hstack(kept) if kept else np.empty((len(segments), 0))
        return pd.DataFrame(data, index=pd.Index(segments.id, name="id"), columns=names)

    def trees(self, segments: Segments) -> pd.DataFrame:
        """(n, t) tree columns: one batch for all folds, so that kernels are computed once."""
        key = segments.fingerprint
        if key not in self._trees:
            self._trees[key] = tree_table(self.feature_set.trees, segments)
        return self._trees[key]

    def _key(self, i: int) -> str:
        if i not in self._keys:
            config, extractor = self.feature_set.configs[i], self.feature_set.extractors[i]
            apart = "" if self.apart is None else self.apart.parts.fingerprint
            mixed = [] if self.labels is None else [self.labels.fingerprint]
            self._keys[i] = digest(
                extractor_fingerprint(config, extractor), _source(extractor), apart, *mixed
            )
        return self._keys[i]

    def _cached(self, key: str, compute: Any, i: int) -> FloatArray:
        kind = self.feature_set.configs[i]["kind"]
        path = cache_entry(self.cache, "features", f"{kind}-{key}.npy") if self.cache else None
        if path and path.is_file():
            return np.asarray(np.load(path, allow_pickle=False), np.float64)
        self.progress(f"features · {kind}", i, len(self.feature_set.extractors))
        with self.clock.part(f"features · {kind}"):
            block: FloatArray = compute()
        if path:
            with atomic_file(path) as temporary, temporary.open("wb") as stream:
                np.save(stream, block, allow_pickle=False)
        return block


def _packed(places: Mapping[Kind, Places]) -> dict[str, Any]:
    bad: dict[str, Any] = {kind: one.bad for kind, one in places.items()}
    return bad | {f"{kind}_offsets": one.offsets for kind, one in places.items()}


def _unpacked(arrays: Mapping[str, NDArray[Any]]) -> dict[Kind, Places]:
    return {kind: Places(arrays[kind], arrays[f"{kind}_offsets"]) for kind in PLACES if kind in arrays}


def _fit(extractor: FittedExtractor, split: Split) -> FittedExtractor:
    labels = split.labels()
    for name in extractor.labels_used():
        if name not in labels:
            raise InputError(
                f"{type(extractor).__name__} learns from '{name}', which the dataset lacks",
                remedy=f"it has {', '.join(labels) or 'no labels'}",
            )
    return extractor.fit(split.segments, labels)


def _source(extractor: Extractor) -> str:
    sources: dict[str, str] = {}
    waiting = [type(extractor).__module__]
    while waiting:
        name = waiting.pop()
        if name in sources or name.partition(".")[0] != "features" or name not in sys.modules:
            continue
        module = sys.modules[name]
        sources[name] = inspect.getsource(module)
        for value in vars(module).values():
            used = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
            if isinstance(used, str):
                waiting.append(used)
    return "\n".join(sources[name] for name in sorted(sources))
