"""Ranked pairs of translations: what judges say of the same pair, put to the vote."""

from dataclasses import dataclass, field

import numpy as np

from features.basics.errors import InputError
from qe_human.judgements.collection import CodeArray, JudgedPair


@dataclass(frozen=True, eq=False)
class RankedPairs:
    """p pairs of translations of one segment, of which judges prefer one.

    systems        k names
    segment        (p,) code of the segment
    better, worse  (p,) places of the systems
    equal          pairs left out because all judges found them equal
    conflicting    pairs left out because the votes are tied
    equals         (3, equal) segment and both systems of the pairs that all judges found equal
    """

    systems: tuple[str, ...]
    segment: CodeArray
    better: CodeArray
    worse: CodeArray
    equal: int
    conflicting: int
    equals: CodeArray = field(default_factory=lambda: np.zeros((3, 0), np.int32))


def ranked_pairs(judged: JudgedPair, reference: str | None = "_ref") -> RankedPairs:
    """Equal ranks are left out, judges who differ are outvoted, tied votes are left out.

    reference  system that is left out; None: the reference stays among the systems

    Raises InputError if only counts were given. Source: the TerrorCat paper, section 2.3.
    """
    tasks = judged.comparisons
    if tasks is None:
        raise InputError(f"{judged.name}: counts of judgements do not identify segments")
    kept = np.ones(len(tasks.first_item), np.bool_)
    if reference in tasks.systems:
        place = tasks.systems.index(str(reference))
        kept = (tasks.first_item != place) & (tasks.right != place)
    columns = tasks.segment[tasks.task], tasks.first_item, tasks.right
    keys = np.stack([column[kept] for column in columns], axis=1)
    outcome = tasks.outcome[kept].astype(np.int64)
    pairs, places = np.unique(keys, axis=0, return_inverse=True)
    places = places.ravel()
    votes = np.bincount(places, outcome, len(pairs))
    decided = np.bincount(places, outcome != 0, len(pairs)) > 0
    won = votes != 0
    segment, first_item, right = pairs[won].T
    first = votes[won] > 0
    return RankedPairs(
        tasks.systems,
        segment,
        np.where(first, first_item, right),
        np.where(first, right, first_item),
        int((~decided).sum()),
        int((decided & ~won).sum()),
        pairs[~decided].T.astype(np.int32),
    )
