"""The prediction of a saved model, such as one of many language pairs, as a feature."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core import feature_set
from features.core.extractor import Feature, FittedExtractor, TableColumn
from features.core.segments import Segments
from features.storage.checksums import regular_files
from features.storage.files import link_or_copy, sha256
from qe.models.description import NAME, read_unverified
from qe.models.model import Model
from qe.models.training_rows import Learned

_KNOWN: Final = 0.01  # share of the rows that a model may have learned from, by chance
_FOLDER: Final = "model"


@dataclass(frozen=True, eq=False)
class General(FittedExtractor):
    """The score that a saved model gives (`model`: its folder, or that of its run); it is not fitted again.

    It must not have learned from the training rows, unless these have a `language_pair` and the model is of
    the family `multilingual`, which leaves the pair out.
    """

    plain: ClassVar[str] = "what was learned from other data says of the {text}"
    cross_fitted: ClassVar[bool] = False

    model: str | Path
    _fitted_folder: Path | None = field(default=None, init=False, repr=False)

    @property
    def features(self) -> Sequence[Feature]:
        description = "score by the saved model, on its scale; NaN if a text is empty"
        return [Feature("general_prediction", description, "this project", "label of the model")]

    @property
    def _folder(self) -> Path:
        folder = self._fitted_folder or Path(self.model)
        return folder if (folder / NAME).is_file() else folder / _FOLDER

    @cached_property
    def saved(self) -> Model:
        return Model.load(self._folder)

    def requires(self) -> tuple[str, ...]:
        given = {"source", "target", *(column.name for column in self.table_columns())}
        return tuple(name for name in read_unverified(self._folder).columns if name not in given)

    def table_columns(self) -> Sequence[TableColumn]:
        needed = feature_set.families(read_unverified(self._folder).features)
        return tuple(feature_set.table_columns(family.unmade() for family in needed).values())

    def labels_used(self) -> tuple[str, ...]:
        return ()

    def content_fingerprint(self) -> str:
        read_unverified(self._folder)
        return sha256(self._folder / NAME)

    def checksums(self) -> Mapping[str, str]:
        return {str(self._folder / NAME): self.content_fingerprint()}

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        seen = Learned.find(self._folder)
        kinds = {config["kind"] for config in read_unverified(self._folder).features}
        if seen is not None and (segments.language_pair is None or kinds != {"multilingual"}):
            known = int(seen.knows(zip(segments.source, segments.target, strict=True)).sum())
            if known > _KNOWN * len(segments):
                raise InputError(
                    f"the model has learned from {known:,} of the {len(segments):,} training rows",
                    location=self._folder,
                    remedy="take a model of other rows; with `multilingual`, give the column language_pair",
                )
        return self.with_learned(saved=self.saved, _fitted_folder=self._folder)

    def extract(self, segments: Segments) -> FloatArray:
        self.learned(self._fitted_folder)
        columns = {name: values for name, values in segments.columns() if values is not None}
        given = self.saved.segments({**columns, **segments.further})
        both = zip(segments.source, segments.target, strict=True)
        empty = np.array([not (source.strip() and target.strip()) for source, target in both], bool)
        return np.where(empty, np.nan, self.saved.predict(given))[:, np.newaxis]

    def save(self, path: Path) -> None:
        folder = self.learned(self._fitted_folder)
        for name in regular_files(folder):
            (path / _FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
            link_or_copy(folder / name, path / _FOLDER / name)

    def restore(self, path: Path) -> Self:
        return self.with_learned(_fitted_folder=path / _FOLDER)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "saved"}
