"""Rankings as JSON: the short form that other tools read, and the whole report."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qe_human.judgements.agreement import Kappa
from qe_human.judgements.ranking_report import MethodResult, RankingReport


def rankings_json(report: RankingReport) -> dict[str, Any]:
    """Method -> its ranking, violations, whether it is unique, and further results. A ranking has pairs of
    system and score, best first. Scores are null if undefined, and for methods without scores.
    """
    return {name: _method(result) for name, result in report.methods.items()}


def report_json(report: RankingReport) -> dict[str, Any]:
    """All that a report holds."""
    counts = report.counts
    return {
        "pair": report.name,
        "systems": list(counts.systems),
        "judgements": counts.total,
        "ties": int(counts.ties.sum()) // 2,
        **report.appearances,
        "methods": rankings_json(report),
        "comparisons_per_system": [int(n) for n in counts.decided],
        "winners": list(report.winners),
        "constrained_winners": list(report.constrained_winners),
        "tested_ranks": {name: list(bounds) for name, bounds in report.tested.items()},
        "sign_tests": _sign_tests(report),
        "agreement": None
        if report.agreement is None
        else {name: _kappa(kappa) for name, kappa in vars(report.agreement).items()},
        "circles": [
            {"systems": list(circle.systems), "margins": list(circle.margins)} for circle in report.circles
        ],
        "knots": [list(knot) for knot in report.knots],
        "correlations": {
            "methods": list(report.correlations.methods),
            "spearman": _matrix(report.correlations.spearman),
            "kendall": _matrix(report.correlations.kendall),
        },
        "power": _power(report),
        "recipe": dict(report.recipe),
        "notes": list(report.notes),
    }


def figures(report: RankingReport) -> dict[str, float]:
    """All scores, costs and kappas by a dotted name, for tracking; NaN if undefined."""
    told = {}
    for name, result in report.methods.items():
        told[f"{report.name}.{name}.violations"] = float(result.cost_in_judgements)
        for system, score in zip(result.order, result.scores or (), strict=False):
            told[f"{report.name}.{name}.{system}"] = score
    if report.agreement is not None:
        for judges, kappa in vars(report.agreement).items():
            told[f"{report.name}.kappa.{judges}"] = kappa.kappa
    return told


def _method(result: MethodResult) -> dict[str, Any]:
    scores = (np.nan,) * len(result.order) if result.scores is None else result.scores
    told: dict[str, Any] = {
        "ranking": [[name, _number(score)] for name, score in zip(result.order, scores, strict=True)],
        "violations": float(result.cost_in_judgements),
        "unique": result.unique,
    }
    if result.cost is not None:
        told["cost"] = _number(result.cost)
    if result.ranges is not None and result.clusters is not None:
        told["ranges"] = {name: list(bounds) for name, bounds in result.ranges.items()}
        told["clusters"] = [list(group) for group in result.clusters]
    return told


def _sign_tests(report: RankingReport) -> list[dict[str, Any]]:
    counts = report.counts
    return [
        {
            "systems": [counts.systems[a], counts.systems[b]],
            "wins": int(counts.wins[a, b]),
            "ties": int(counts.ties[a, b]),
            "losses": int(counts.wins[b, a]),
            "p": _number(report.p_values[a, b]),
            "p_corrected": _number(report.corrected[a, b]),
        }
        for a in range(len(counts.systems))
        for b in range(a + 1, len(counts.systems))
    ]


def _kappa(kappa: Kappa) -> dict[str, Any]:
    return {**{key: _number(getattr(kappa, key)) for key in ("pairs", "observed", "chance", "kappa")},
            "ci": [_number(bound) for bound in kappa.ci]}  # fmt: skip


def _power(report: RankingReport) -> dict[str, Any] | None:
    power = report.power
    if power is None:
        return None
    shares = power.shares.mean(axis=-1)
    rows = zip(power.levels, shares, strict=True)
    return {
        "judgements_per_pair": [float(n) for n in power.judgements],
        "significant": {f"{level:g}": [float(share) for share in row] for level, row in rows},
    }


def _matrix(values: NDArray[np.float64]) -> list[list[float | int | None]]:
    return [[_number(value) for value in row] for row in values]


def _number(value: float) -> float | int | None:
    if isinstance(value, int):
        return value
    return float(value) if np.isfinite(value) else None
