"""Human rankings as preferences between translations of a segment."""

from collections.abc import Sequence

import numpy as np

from features.basics.errors import InputError
from qe_human.human import Human, Preferences
from qe_human.judgements.collection import JudgedPair
from qe_human.metric_evaluation.scores import ScoreTable
from qe_human.ranking_method import ScoreMethod


def human_of_rankings(
    judged: JudgedPair,
    segment_names: Sequence[str],
    method: ScoreMethod,
    metrics: Sequence[ScoreTable],
    reference: str = "_ref",
) -> Human:
    """The rankings of one language pair without the reference. Also returns the segments that only metrics
    score.

    segment_names  names of the segments by the codes of the judgements

    Raises InputError if only counts were given: they do not identify segments.
    """
    tasks = judged.comparisons
    if tasks is None:
        raise InputError(f"{judged.name}: counts of judgements do not identify segments")
    kept = [i for i, name in enumerate(tasks.systems) if name != reference]
    place = np.full(len(tasks.systems), -1)
    place[kept] = np.arange(len(kept))
    systems = tuple(tasks.systems[i] for i in kept)
    ours = (place[tasks.first_item] >= 0) & (place[tasks.right] >= 0)
    codes = tasks.segment[tasks.task[ours]]
    known = dict.fromkeys(segment_names[code] for code in np.unique(codes))
    scored = dict.fromkeys(segment for metric in metrics for _, segment in metric.segments)
    segments = tuple(known | scored)
    row = {name: i for i, name in enumerate(segments)}
    of_code = {int(code): row[segment_names[code]] for code in np.unique(codes)}
    preferences = Preferences(
        np.array([of_code[int(code)] for code in codes], np.int64),
        place[tasks.first_item[ours]].astype(np.int64),
        place[tasks.right[ours]].astype(np.int64),
        tasks.outcome[ours],
        method,
    )
    return Human(systems, segments or ("",), None, preferences)
