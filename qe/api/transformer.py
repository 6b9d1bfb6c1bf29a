"""Features as a scikit-learn transformer."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from features.basics.errors import InputError, name_parameters
from features.basics.hints import check_parameters
from features.core.bundle import Bundle
from features.core.extractor import FittedExtractor
from features.core.feature_set import EXTRACTORS, FeatureSet
from features.core.segments import Segments
from features.text.tokenizer import Tokenizer
from qe.data.columns import frame_texts
from qe.data.frames import AnyFrame, AnyTable, as_pandas, convert_like
from qe.data.split import Split
from qe.training.extraction import Extraction

_TEXT_LABELS: Final = ("post_edit", "reference", "word_tags", "source_tags")


class FeatureExtractor(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns a table with `source` and `target` into named feature columns.

    Tables are of pandas, polars or Arrow. Nothing is learned: `fit` checks the settings and loads the
    resources. Other columns that features read (`alignment`, `pseudo_reference`, ...) are taken from the
    table by name. Values are float64; NaN is "undefined for this segment".

    Parameters
    ----------
    features : sequence of str or mapping, default=('surface',)
        Families as in experiments: names, or mappings such as {"kind": "lm", "orders": "all"} or
        {"set": "baseline17"}.
    resources : str or Path, default=None
        Folder of a bundle (`qe resources build`), for features that need one.
    source_language, target_language : str, default=None
        Codes such as "en"; needed without `resources`, which have their own.
    tokenizer : {'moses', 'moses-2012', 'whitespace'}, default='moses'
        How texts are split; `resources` have their own.

    Raises
    ------
    qe.InputError
        For unknown names, for columns or resources that are missing, and for cells that have no text.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"source": ["a house ."], "target": ["una casa ."]})
    >>> extractor = FeatureExtractor(["surface"], source_language="en", target_language="es")
    >>> extractor.fit_transform(table)["tokens_source"].tolist()
    [3.0]
    """

    def __init__(
        self,
        features: Sequence[str | Mapping[str, Any]] = ("surface",),
        *,
        resources: str | Path | None = None,
        source_language: str | None = None,
        target_language: str | None = None,
        tokenizer: str = "moses",
    ) -> None:
        self.features = features
        self.resources = resources
        self.source_language = source_language
        self.target_language = target_language
        self.tokenizer = tokenizer

    def fit(self, X: AnyTable, y: Any = None) -> Self:
        """Loads the resources; families that learn from labels are fitted. `y`: (n,) labels, for these."""
        self._learned(as_pandas(X), y)
        return self

    def fit_transform(self, X: AnyFrame, y: Any = None) -> AnyFrame:
        """The features of the rows that it is fitted on; families that learn are cross-fitted."""
        table = as_pandas(X)
        extraction, split = self._learned(table, y)
        if split is None:
            return self.transform(X)
        return convert_like(X, extraction.training_table(split).set_axis(table.index))

    def _learned(self, table: pd.DataFrame, y: Any) -> tuple[Extraction, Split | None]:
        check_parameters(self, self.get_params(deep=False))
        configs = [{"kind": f} if isinstance(f, str) else dict(f) for f in self.features]
        bundle = None if self.resources is None else Bundle(Path(self.resources))
        try:
            feature_set = FeatureSet.make(configs, bundle)
        except InputError as error:
            name_parameters(error)
            raise
        if bundle is not None:
            self.tokenizers_ = bundle.tokenizers
        elif self.source_language is None or self.target_language is None:
            remedy = 'say source_language="en", target_language="de", or name `resources`'
            raise InputError("the languages of the texts are not known", remedy=remedy)
        else:
            kind: Any = self.tokenizer
            self.tokenizers_ = Tokenizer(self.source_language, kind), Tokenizer(self.target_language, kind)
        self.feature_set_ = feature_set
        extraction, split = Extraction(feature_set, None), None
        if feature_set.fitted:
            needed = {name for each in feature_set.fitted for name in each.labels_used()}
            split = self._split(table, y, needed)
            self.feature_set_ = extraction.fitted_extractors(split)
        self.n_features_in_ = len(table.columns)
        self.feature_names_in_ = np.asarray(table.columns, dtype=object)
        return extraction, split

    def _split(self, table: pd.DataFrame, y: Any, needed: set[str]) -> Split:
        if y is None and "scores" in needed:
            raise InputError("the features learn from labels", location="fit", remedy="give them as `y`")
        texts = [name for name in _TEXT_LABELS if name in table.columns]
        if lacking := sorted(needed - {"scores", *texts}):
            remedy = f"the table has {list(table.columns)}"
            raise InputError(f"the features learn from '{lacking[0]}'", location="fit", remedy=remedy)
        columns = frame_texts(table, {name: name for name in texts})
        labels: dict[str, Any] = {name: tuple(column) for name, column in columns.items()}
        scores = None if y is None else column_or_1d(check_array(y, ensure_2d=False, dtype=np.float64))
        return Split(self._segments(table), scores, **labels)

    def transform(self, X: AnyFrame) -> AnyFrame:
        """The (n, k) feature columns as the kind of table that `X` is; a DataFrame has its index."""
        check_is_fitted(self, "feature_set_")
        table = as_pandas(X)
        return convert_like(X, self.feature_set_.extract(self._segments(table)).set_axis(table.index))

    def _segments(self, table: pd.DataFrame) -> Segments:
        for column in ("source", "target"):
            if column not in table.columns:
                raise InputError(
                    f"features need the column '{column}'", remedy=f"the table has {list(table.columns)}"
                )
        named = self.feature_set_.table_columns
        names = [name for name in (*Segments.column_names(), *named) if name in table.columns]
        texts = frame_texts(table, {name: name for name in names}, named)
        return Segments.from_columns(texts, *self.tokenizers_)

    @staticmethod
    def needs() -> pd.DataFrame:
        """Lists what every family of features needs.

        Returns
        -------
        DataFrame, a row a family
            `resources`: parts that a bundle must have (`qe resources build`); `columns`: of the table,
            besides source and target; `parameters`: settings without a default; `learns`: whether it learns
            from labels, so that it needs `y` (or columns such as `post_edit`).
        """
        from qe.getting_started.catalogue.features import FeatureCosts, families

        rows = {
            family.name: {
                "resources": ", ".join(family.resources),
                "columns": ", ".join(family.columns),
                "parameters": ", ".join(family.parameters),
                "learns": issubclass(EXTRACTORS.get(family.name), FittedExtractor),
            }
            for family in families(FeatureCosts.load())
        }
        return pd.DataFrame.from_dict(rows, orient="index")

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """(k,) the names of the columns."""
        check_is_fitted(self, "feature_set_")
        return np.asarray(self.feature_set_.names, dtype=object)
