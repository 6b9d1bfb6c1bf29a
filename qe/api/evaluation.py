"""Evaluation and comparison from Python."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, quoted
from features.basics.hints import checked
from features.basics.progress import Progress, silent
from qe.data.dataset import DIRECTION, LabelScale
from qe.data.frames import AnyTable, as_pandas
from qe.data.headers import higher_is_better as direction_of
from qe.data.table_rows import check_header
from qe.evaluation.evaluate import DEFAULT_METRICS, Report
from qe.evaluation.evaluate import evaluate as run_evaluation
from qe.statistics.buckets import Buckets
from qe.statistics.draws import Groups
from qe.statistics.settings import ResamplingSettings, SignificanceSettings
from qe.systems.comparison import compare as run_comparison
from qe.systems.comparison import with_buckets
from qe.systems.results import System, SystemsComparison
from qe.systems.text_metric import metrics_for
from qe.systems.texts import Texts


@checked
def evaluate(
    gold: "ArrayLike",
    predictions: Mapping[str, ArrayLike] | AnyTable,
    *,
    higher_is_better: bool | None = None,
    low: float | None = None,
    high: float | None = None,
    metrics: Sequence[str] = DEFAULT_METRICS,
    baselines: Sequence[str] = (),
    groups: "Groups | Mapping[str, Groups] | None" = None,
    rankings: Collection[str] = (),
    margins: Mapping[str, float] | None = None,
    buckets: Sequence[Buckets] = (),
    progress: Progress = silent,
    **settings: Any,
) -> Report:
    """Scores every system against gold labels, with intervals, and tests their differences.

    Parameters
    ----------
    gold : array-like of shape (n,)
        Labels; finite. A column of a table has a name, which the report shows.
    predictions : mapping of str to array-like of shape (n,), or a table of pandas, polars or Arrow
        Predictions of each system, on the scale of the labels.
    higher_is_better : bool, default=None
        Direction of the labels. None: as their name says (`hter`, `da`, `z_mean`, ...).
    low, high : float, default=None
        Ends of the label scale. None: open.
    metrics : sequence of str, default=DEFAULT_METRICS
        Names of files in qe/statistics/metrics.
    baselines : sequence of str, default=()
        Systems that all others are compared with. Empty: all pairs are compared.
    groups : sequence of shape (n,), or mapping of str to such sequences, default=None
        Document of each segment: documents are resampled. With several kinds of units, such as documents and
        judges, a difference must show with each of them.
    rankings : collection of str, default=()
        Systems of which only the order counts: metrics of scores are undefined for them.
    margins : mapping of str to float, default=None
        Metric -> the difference below which two systems are equivalent; all pairs are tested for it.
    buckets : sequence of Buckets, default=()
        Ways to part the segments (`qe.data.by_length`): systems are compared within each bucket, too.
    progress : callable, default=silent
        Called with (stage, done, total).
    **settings
        Fields of `qe.statistics.SignificanceSettings`, which are options of `qe evaluate`: samples (0: no
        intervals and no tests), seed, test, correct, family.

    Returns
    -------
    Report
        Scores, comparisons, clusters; `to_json()` has all figures with their recipe.

    Raises
    ------
    qe.InputError
        For lengths that differ, values that are no finite numbers, unknown names, and a direction that
        nobody has said.

    Examples
    --------
    >>> evaluate([1, 2, 3, 4], {"a": [1, 2, 3, 4]}, higher_is_better=True, samples=0).score("a", "spearman")
    1.0
    """
    if not isinstance(predictions, Mapping) and hasattr(predictions, "__arrow_c_stream__"):
        predictions = as_pandas(predictions)
    if not hasattr(predictions, "items"):
        problem = f"predictions must be given by name, but got {quoted(predictions)}"
        raise InputError(problem, remedy='such as {"ridge": [...], "trees": [...]}')
    check_header([str(name) for name, _ in predictions.items()], "the predictions")
    labels = _numbers(gold, "the gold labels")
    columns = {str(name): _numbers(values, f"'{name}'") for name, values in predictions.items()}
    if not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise InputError(f"the label of row {row} is {labels[row]}", remedy="leave out rows without labels")
    name = str(getattr(gold, "name", None) or "label")
    scale = LabelScale(name, low, high, direction_of(name, higher_is_better, DIRECTION))
    return run_evaluation(
        labels, columns, scale, checked(SignificanceSettings)(**settings), metrics=metrics, groups=groups,
        baselines=baselines, rankings=rankings, margins=margins, buckets=buckets, progress=progress,
    )  # fmt: skip


def _numbers(values: Any, subject: str) -> FloatArray:
    try:
        array = np.asarray(values, np.float64)
        if np.asarray(values).dtype.kind in "mM":  # dates and durations, as nanoseconds
            raise TypeError
    except (TypeError, ValueError):
        raise InputError(f"{subject} must be numbers, but got {quoted(values)}") from None
    if array.ndim != 1:
        raise InputError(f"{subject} must be one number per segment, but got shape {array.shape}")
    return array


@checked
def compare(
    systems: Mapping[str, Sequence[str] | Sequence[Sequence[str]]],
    references: Sequence[str] | Sequence[Sequence[str]],
    *,
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
    baseline: str | None = None,
    groups: Sequence[str] | None = None,
    buckets: Sequence[Buckets] = (),
    tokenize: str | None = None,
    language: str | None = None,
    **settings: Any,
) -> SystemsComparison:
    """Scores MT systems against references, and tests each against the baseline.

    Parameters
    ----------
    systems : mapping of str to sequence of str, or to several such sequences
        n translations of each system, or several runs (optimizer replications) of n translations each.
    references : sequence of str of length n, or several such sequences
        Reference translations.
    metrics : sequence of str, default=('bleu', 'chrf', 'ter')
        Names of files in qe/systems/mt_metrics, with options such as `chrf:word_order=2`.
    baseline : str, default=None
        The system that the others are compared with. None: the first.
    groups : sequence of shape (n,), default=None
        Document of each segment: documents are exchanged and drawn whole.
    buckets : sequence of Buckets, default=()
        Ways to part the segments (`qe.data.by_length`): systems are compared within each bucket, too.
    tokenize : str, default=None
        One of `qe.systems.texts.TOKENIZATIONS`; `none` for text whose tokens stand between blanks. None: as
        sacreBLEU for the language (TER: tokens between blanks).
    language : str, default=None
        Language of the texts. None: one with blanks between words.
    **settings
        Fields of `qe.statistics.ResamplingSettings`, which are options of `qe compare`: samples, seed, ...

    Returns
    -------
    SystemsComparison
        Scores, their instability over runs, and p-values.

    Raises
    ------
    qe.InputError
        For columns that differ in length, references that are empty, and unknown names.

    Examples
    --------
    >>> texts = ["the door is red", "a cat sleeps here"]
    >>> compare({"ours": texts}, texts, metrics=["bleu"], samples=19).scores["ours"]["bleu"].instability.mean
    100.0
    """
    columns = _texts(references, "reference")
    comparison = run_comparison(
        [System(name, _texts(runs, name)) for name, runs in systems.items()], columns,
        metrics_for(metrics, tokenize, language, [line for column in columns for line in column.lines]),
        baseline=baseline, settings=checked(ResamplingSettings)(**settings),
        groups=None if groups is None else list(groups),
    )  # fmt: skip
    return with_buckets(comparison, buckets, settings.get("samples")) if buckets else comparison


def _texts(texts: Sequence[str] | Sequence[Sequence[str]], name: str) -> tuple[Texts, ...]:
    columns = [texts] if isinstance(next(iter(texts), None), str) else texts
    return tuple(Texts.from_lines(list(map(str, c)), f"{name} {i}") for i, c in enumerate(columns, start=1))
