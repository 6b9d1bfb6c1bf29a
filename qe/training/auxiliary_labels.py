"""Auxiliary labels: a second label of the same segments, mixed into the learned one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.storage.files import digest
from qe.config.experiment import Experiment
from qe.data.dataset import Dataset, LabelScale, Split
from qe.data.folds import Fold
from qe.data.labels import hter
from qe.training.reading import folds_of, rescaled, scores_of, weights_of

NOTE: Final = (
    "the label '{label}' is learned mixed with {other}, of weight {weight:g} (the label has 1){how}; all "
    "figures are of '{label}' alone"
)
CHOSEN: Final = ", chosen inside the rows learned from (here: all of them)"
WEIGHTS: Final = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0)  # that `auto` chooses among
_SCALES: Final[Mapping[str, LabelScale]] = {
    "hter": LabelScale("hter", 0.0, None, higher_is_better=False),
    "da": LabelScale("da", None, None, higher_is_better=True),
}
_NAMES: Final = {"hter": "HTER of the post-edits", "da": "direct assessments"}
_PARTS: Final = 5  # of the rows, by which `auto` chooses
_PENALTY: Final = 0.1  # of its ridge regressions, per row: between the labels' noise and its features


@dataclass(frozen=True, eq=False)
class AuxiliaryLabels:
    """A second label of the training segments, mixed into the learned one.

    A set of rows learns (w y + v h) / (w + v), where y is the label, w the row's weight (1 on average), h the
    second label on mean, deviation and direction of y in these rows, and v its weight. With "auto", v is
    chosen among WEIGHTS by ridge regression, learned from the mixture in four fifths of the rows and compared
    with y in the others (Pearson, rows weighted by w): the smallest that is not worse than the best by more
    than the standard error of the difference over the parts (the rule of one standard error: Breiman et al.
    1984, "Classification and Regression Trees").

    kind     `hter`, made from the post-edits, or `da`, direct assessments in addition to another label
    values   the second label by the id of the segment
    static   the columns of all training rows by families that learn nothing, for "auto"
    """

    experiment: Experiment
    scale: LabelScale
    kind: str
    values: pd.Series
    static: Callable[[], pd.DataFrame]
    setting: float | Literal["auto"]
    _weights_by_split: dict[str, float] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def for_training(
        cls, experiment: Experiment, dataset: Dataset, training: Split, static: Callable[[], pd.DataFrame]
    ) -> "AuxiliaryLabels":
        """Labels by the experiment's `auxiliary_labels`. Raises InputError for data without the other one."""
        ((kind, setting),) = experiment.auxiliary_labels.items()
        try:
            if dataset.scale.name == kind:
                raise InputError("the label is this one already", remedy="leave out `auxiliary_labels`")
            if kind == "da":
                if training.direct_assessment is None:
                    raise InputError(
                        "the training segments have no direct assessments in addition to their label",
                        remedy="leave out `auxiliary_labels`",
                    )
                second = training.direct_assessment
            else:
                if training.post_edit is None:
                    remedy = "leave out `auxiliary_labels`"
                    raise InputError("the training segments have no post-edits", remedy=remedy)
                segments = training.segments
                edited = segments.target_tokenizer.tokens(training.post_edit)
                second = hter(segments.target_tokens, edited)
                if np.isnan(second).any():
                    row = int(np.flatnonzero(np.isnan(second))[0])
                    raise InputError(f"the post-edit of segment '{segments.id[row]}' is empty")
            values = pd.Series(second, index=list(training.segments.id))
        except InputError as error:
            raise InputError(str(error), location=f"auxiliary_labels.{kind}") from None
        return cls(experiment, dataset.scale, kind, values, static, setting)

    @property
    def fingerprint(self) -> str:
        rule = (
            (WEIGHTS, _PARTS, _PENALTY, "one standard error, of all rows of the fold")
            if self.setting == "auto"
            else ()
        )
        settings = self.experiment.settings()
        how = (settings["weights"], settings["weight_power"])
        split = self.experiment.split.model_dump(
            mode="json", include={"fold_by", "block", "seed"}, by_alias=True
        )
        features = [str(family) for family in self.experiment.features] if self.setting == "auto" else []
        return digest(
            self.kind, self.setting, rule, how, str(split), features, self.values.to_numpy().tobytes()
        )

    def mixed(self, split: Split, rows: Split | None = None) -> Split:
        """The rows with mixed labels, for families that learn; `rows` are all rows if the split is a part."""
        labels, weights = self._mixture(split, self.weight(split if rows is None else rows))
        known = split.annotators is not None and self.experiment.weights == "annotators"
        return replace(
            split, scores=labels, annotators=weights / weights.mean() if known else split.annotators
        )

    def learned(self, split: Split) -> tuple[FloatArray, FloatArray]:
        """(n,) labels that are learned, and (n,) weights of the rows, 1 on the mean."""
        labels, weights = self._mixture(split, self.weight(split))
        return labels, weights / weights.mean()

    def weight(self, split: Split) -> float:
        """Weight of the second label; the label counts 1 on average."""
        if self.setting != "auto":
            return self.setting
        key = split.fingerprint
        if key not in self._weights_by_split:
            self._weights_by_split[key] = self._best(split)
        return self._weights_by_split[key]

    def note(self, split: Split) -> str:
        how = CHOSEN if self.setting == "auto" else ""
        return NOTE.format(label=self.scale.name, other=_NAMES[self.kind], weight=self.weight(split), how=how)

    def _mixture(self, split: Split, weight: float) -> tuple[FloatArray, FloatArray]:
        gold, counts = scores_of(split), self._row_weights(split)
        values = self.values.loc[list(split.segments.id)].to_numpy()
        second = rescaled(values, _SCALES[self.kind], gold, self.scale, "standard")
        return (counts * gold + weight * second) / (counts + weight), counts + weight

    def _row_weights(self, split: Split) -> FloatArray:
        weights = weights_of(split, self.experiment)
        return np.ones(len(split)) if weights is None else weights / weights.mean()

    def _best(self, split: Split) -> float:
        table = self.static()
        if not len(table.columns):
            raise InputError(
                "`auto` chooses by families that learn nothing from labels, and there are none",
                location=f"auxiliary_labels.{self.kind}",
                remedy="name one (surface, for example), or a weight",
            )
        if len(split) < 3 * _PARTS:
            return 0.0
        folds = folds_of(split, self.experiment, _PARTS, stratified=False)
        values = table.loc[list(split.segments.id)].select_dtypes("number").to_numpy(np.float64)
        figures = np.array([self._figures(split, values, folds, weight) for weight in WEIGHTS])
        lost = figures[figures.mean(axis=1).argmax()] - figures
        error = lost.std(axis=1, ddof=1) / np.sqrt(_PARTS)
        return WEIGHTS[int(np.argmax(lost.mean(axis=1) <= error))]

    def _figures(self, split: Split, values: FloatArray, folds: Sequence[Fold], weight: float) -> list[float]:
        figures = []
        for rows, test_rows in folds:
            labels, weights = self._mixture(split.take(rows), weight)
            model = make_pipeline(
                SimpleImputer(keep_empty_features=True),
                StandardScaler(),
                Ridge(_PENALTY * weights.sum(), solver="cholesky"),
            )
            model.fit(values[rows], labels, ridge__sample_weight=weights)
            gold, counts = scores_of(split)[test_rows], self._row_weights(split)[test_rows]
            moments = np.cov(model.predict(values[test_rows]), gold, aweights=counts)
            deviations = np.sqrt(moments[0, 0] * moments[1, 1])
            figures.append(float(moments[0, 1] / deviations) if deviations > 0 else 0.0)
        return figures
