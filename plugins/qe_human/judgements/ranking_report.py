"""Rank the systems of one language pair by several methods, with measures of certainty."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.plugins import DISTRIBUTION, versions
from features.basics.progress import Progress, silent
from qe.display.summary import Printable, table_by
from qe.display.table import Table
from qe_human.judgements.certainty import (
    Kappa,
    Power,
    agreement,
    clusters,
    corrected,
    power,
    rank_ranges,
    resampled_ranks,
    sign_tests,
    tested_ranks,
    winners,
)
from qe_human.judgements.collection import (
    Circle,
    JudgedPair,
    PairwiseCounts,
    Violation,
    circles,
    knots,
    violations,
)
from qe_human.ranking_method import Ranking, RankingMethod, ScoreMethod
from qe_human.settings import RankSettings


@dataclass(frozen=True, eq=False)
class MethodCorrelations:
    methods: tuple[str, ...]
    spearman: FloatArray
    kendall: FloatArray


def method_correlations(orders: Mapping[str, Sequence[str]]) -> MethodCorrelations:
    systems = next(iter(orders.values()))
    ranks = np.array([[order.index(system) for system in systems] for order in map(list, orders.values())])
    if len(systems) < 2:
        undefined = np.full((len(orders), len(orders)), np.nan)
        return MethodCorrelations(tuple(orders), undefined, undefined)
    # Ranks without ties: Pearson's correlation of them is Spearman's of the orders.
    kendall = [[float(kendalltau(a, b).statistic) for b in ranks] for a in ranks]
    return MethodCorrelations(tuple(orders), np.atleast_2d(np.corrcoef(ranks)), np.array(kendall))


@dataclass(frozen=True, eq=False)
class MethodResult:
    """Result of one method.

    order     the systems it ranks, best first
    scores    their scores in that order, NaN if undefined; None for a method without scores
    unique    whether no other order is as good
    cost      the minimised cost, if the method has one
    ranges    system -> lowest and highest rank; None if not requested, or without tasks
    clusters  groups of systems that rank ranges cannot tell apart, best first
    """

    order: tuple[str, ...]
    scores: tuple[float, ...] | None
    unique: bool
    cost: float | None
    unit: str
    violations: tuple[Violation, ...]
    ranges: Mapping[str, tuple[int, int]] | None = None
    clusters: tuple[tuple[str, ...], ...] | None = None

    @property
    def cost_in_judgements(self) -> int:
        return sum(violation.margin for violation in self.violations)


@dataclass(frozen=True, eq=False)
class RankingReport(Printable):
    """One language pair.

    Attributes
    ----------
    counts : PairwiseCounts
        Of the systems that are ranked, without the reference unless it is one of them.
    appearances : mapping of str to int
        Tasks, segments and judges; empty if only counts were given.
    p_values : array of float
        (k, k) of the sign tests, in the order of counts.systems.
    corrected : array of float
        (k, k) the same, corrected for all pairs.
    decisive : array of float
        (k, k) those that decide: the corrected ones with a correction.
    winners : tuple of str
        Systems that no other is significantly better than.
    constrained_winners : tuple of str
        Constrained systems that no other constrained one is significantly better than.
    tested : mapping of str to pair of int and int
        System -> lowest and highest rank that the sign tests leave open.
    agreement : mapping of str to Kappa or None
        Between and within judges, the reference among the systems; None without tasks.
    power : Power or None
        None without tasks, and for a single system.
    """

    name: str
    counts: PairwiseCounts
    appearances: Mapping[str, int]
    methods: Mapping[str, MethodResult]
    p_values: FloatArray
    corrected: FloatArray
    decisive: FloatArray
    winners: tuple[str, ...]
    constrained_winners: tuple[str, ...]
    tested: Mapping[str, tuple[int, int]]
    circles: tuple[Circle, ...]
    knots: tuple[tuple[str, ...], ...]
    correlations: MethodCorrelations
    agreement: Mapping[str, Kappa] | None
    power: Power | None
    recipe: Mapping[str, Any]
    notes: tuple[str, ...] = field(default=())

    def summary(self) -> Table:
        """The order of the leading method, and the ranks by others."""
        return table_by("qe_human.judgements.ranking_tables.ranking_table", self)


def ranking_report(
    judged: JudgedPair,
    methods: Mapping[str, RankingMethod],
    settings: RankSettings | None = None,
    *,
    optional: bool = False,
    progress: Progress = silent,
) -> RankingReport:
    """Ranks the systems of one language pair by every method.

    Raises InputError if fewer than two systems remain, for rank ranges of unknown methods, and if a method
    cannot rank and is not optional.

    Parameters
    ----------
    optional : bool, default=False
        Whether a method that cannot rank these systems is skipped with a note.
    """
    settings = settings or RankSettings()
    counts = judged.counts if settings.with_reference else judged.counts.drop(settings.reference)
    if len(counts.systems) < 2 or counts.total == 0:
        raise InputError(
            f"no two systems of {judged.name} are compared, the reference '{settings.reference}' aside",
            remedy="add --with-reference to rank it like a system",
        )
    tasks, appearances = judged.comparisons, dict[str, int]()
    if tasks is not None:
        segments, judges = len(np.unique(tasks.segment)), len(np.unique(tasks.judge))
        appearances = {"tasks": tasks.tasks, "segments": segments, "judges": judges}
    tables = {name: judged.counts if method.counts_reference else counts for name, method in methods.items()}
    rankings, notes = _rankings(judged, tables, appearances, methods, settings, optional)
    kept = {name: methods[name] for name in rankings}
    ranges = _ranges(judged, tables, appearances, kept, settings, progress)
    results = {
        name: _result(methods[name], ranking, tables[name], counts, ranges.get(name))
        for name, ranking in rankings.items()
    }
    p_values = sign_tests(counts.wins)
    mended = corrected(p_values, settings.correction or "holm")
    decisive = mended if settings.correction else p_values
    left = tested_ranks(counts.wins, decisive, settings.level)
    own = [] if tasks is None else [tasks.systems.index(name) for name in counts.systems]
    return RankingReport(
        judged.name,
        counts,
        appearances,
        results,
        p_values,
        mended,
        decisive,
        _winners(counts, decisive, settings.level, counts.systems),
        _winners(counts, decisive, settings.level, settings.constrained or ()),
        {name: (int(low), int(high)) for name, (low, high) in zip(counts.systems, left, strict=True)},
        tuple(circles(counts)),
        tuple(map(tuple, knots(counts))),
        method_correlations(
            {name: [s for s in result.order if s in counts.systems] for name, result in results.items()}
        ),
        None if tasks is None else agreement([tasks], settings.samples, settings.seed),
        None if tasks is None else power(tasks, own, seed=settings.seed),
        {
            **vars(settings),
            "methods": {name: str(method) for name, method in kept.items()},
            "versions": versions(DISTRIBUTION, "numpy", "scipy", "numba"),
        },
        (*judged.notes, *notes),
    )


def _winners(
    counts: PairwiseCounts, p_values: FloatArray, level: float, among: Sequence[str]
) -> tuple[str, ...]:
    own = [i for i, name in enumerate(counts.systems) if name in among]
    wins = winners(counts.wins[np.ix_(own, own)], p_values[np.ix_(own, own)], level)
    return tuple(counts.systems[i] for i, won in zip(own, wins, strict=True) if won)


def _rankings(
    judged: JudgedPair,
    tables: Mapping[str, PairwiseCounts],
    appearances: Mapping[str, int],
    methods: Mapping[str, RankingMethod],
    settings: RankSettings,
    optional: bool,
) -> tuple[dict[str, Ranking], list[str]]:
    rankings, notes = {}, []
    for name, method in methods.items():
        table = tables[name]
        try:
            rankings[name] = method.ranking(table.wins.astype(np.float64), table.ties.astype(np.float64))
        except InputError as error:
            if not optional:
                raise InputError(
                    error.problem, location=f"{judged.name}, {name}", remedy=error.remedy
                ) from None
            notes.append(f"{name} is left out: {error.problem}")
    undefined = [
        f"{name} is undefined for {system}"
        for name, ranking in rankings.items()
        if ranking.scores is not None
        for system, score in zip(tables[name].systems, ranking.scores, strict=True)
        if np.isnan(score)
    ]
    if not settings.samples and judged.comparisons is not None:
        notes.append("no bootstrap samples: no rank ranges")
    elif appearances.get(settings.draw) == 1:
        notes.append(
            f"one {settings.draw.removesuffix('s')} only: there is nothing to draw, so no rank ranges"
        )
    return rankings, [*notes, *undefined]


def _ranges(
    judged: JudgedPair,
    tables: Mapping[str, PairwiseCounts],
    appearances: Mapping[str, int],
    methods: Mapping[str, RankingMethod],
    settings: RankSettings,
    progress: Progress,
) -> dict[str, NDArray[np.int64]]:
    wanted = settings.ranges
    chosen = {
        name: method
        for name, method in methods.items()
        if (method.resampled if wanted is None else wanted == ["all"] or name in wanted)
    }
    tasks = judged.comparisons
    if tasks is None or settings.samples == 0 or not chosen or appearances[settings.draw] == 1:
        return {}
    systems = {
        name: [judged.counts.systems.index(system) for system in tables[name].systems] for name in chosen
    }
    ranks = resampled_ranks(
        tasks, chosen, systems,
        samples=settings.samples, seed=settings.seed, draw=settings.draw, progress=progress,
    )  # fmt: skip
    return {name: rank_ranges(drawn, settings.confidence) for name, drawn in ranks.items()}


def _result(
    method: RankingMethod,
    ranking: Ranking,
    table: PairwiseCounts,
    counts: PairwiseCounts,
    ranges: NDArray[np.int64] | None,
) -> MethodResult:
    order = tuple(table.systems[i] for i in ranking.order)
    scores = None if ranking.scores is None else tuple(float(ranking.scores[i]) for i in ranking.order)
    told = groups = None
    if ranges is not None:
        told = {name: (int(low), int(high)) for name, (low, high) in zip(table.systems, ranges, strict=True)}
        groups = tuple(tuple(table.systems[i] for i in group) for group in clusters(ranking.order, ranges))
    violated = tuple(violations([name for name in order if name in counts.systems], counts))
    unit = method.unit if isinstance(method, ScoreMethod) else ""
    return MethodResult(order, scores, ranking.unique, ranking.cost, unit, violated, told, groups)
