"""Suggestions: the translations of a pool whose labels would teach most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.segments import Segments
from qe.config.experiment import Experiment
from qe.display.summary import summarised
from qe.language.programs.made_columns import with_made_columns
from qe.production.suggestion.choice import choose
from qe.training.check import check
from qe.training.preparation import Prepared, prepare


@summarised
@dataclass(frozen=True, eq=False)
class Suggestions:
    """Rows of a pool that are worth labels next.

    Attributes
    ----------
    rows : array of int
        Of the pool, the most urgent first.
    uncertainty : array of float
        (count,) how much learners disagree about each, in label units.
    labelled : int
        Segments that were learned from.
    candidates : int
        Rows of the pool that were chosen from: those with a label already are not.
    """

    rows: NDArray[np.int64]
    uncertainty: FloatArray
    labelled: int
    candidates: int


def suggest(
    experiment: Experiment,
    pool: Mapping[str, Sequence[str]],
    count: int,
    *,
    cache: Path,
    seed: int = 0,
    progress: Progress = silent,
) -> Suggestions:
    """Chooses `count` rows of the pool, by the features and labels of an experiment.

    The pool has columns of Segments.

    Raises InputError if the pool has fewer rows that are not labelled already, or lacks a column.
    """
    prepared = prepare(check(experiment), cache, progress)
    segments = _segments(prepared, pool, cache, progress)
    free = _unlabelled(prepared, segments)
    if len(free) < count:
        raise InputError(
            f"{count} segments are asked for, but only {len(free)} of the pool have no label yet",
            remedy="ask for fewer, or give a larger pool",
        )
    progress("choosing", 0, 1)
    own, other = prepared.extraction.fit_and_score(prepared.training, segments.take(free))
    numbers = prepared.extraction.feature_set.names
    chosen, uncertainty = choose(
        own[numbers].to_numpy(), prepared.scores, other[numbers].to_numpy(), count, seed
    )
    progress("choosing", 1, 1)
    return Suggestions(free[chosen], uncertainty[chosen], len(prepared.training), len(free))


def _segments(
    prepared: Prepared, pool: Mapping[str, Sequence[str]], cache: Path, progress: Progress
) -> Segments:
    training = prepared.training.segments
    needed = ("source", "target", *prepared.extraction.feature_set.requires())
    columns: dict[str, Any] = {name: pool[name] for name in dict.fromkeys(needed) if name in pool}
    columns["id"] = [f"pool-{number}" for number in range(1, len(columns["source"]) + 1)]
    segments = Segments.from_columns(columns, training.source_tokenizer, training.target_tokenizer)
    absent = {c: by for c, by in prepared.experiment.made_columns().items() if c not in columns}
    return with_made_columns(segments, absent, cache, progress) if absent else segments


def _unlabelled(prepared: Prepared, segments: Segments) -> NDArray[np.int64]:
    seen = set(zip(prepared.training.segments.source, prepared.training.segments.target, strict=True))
    rows = []
    for row, pair in enumerate(zip(segments.source, segments.target, strict=True)):
        if pair not in seen:
            seen.add(pair)
            rows.append(row)
    return np.array(rows, np.int64)
