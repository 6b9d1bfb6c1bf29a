"""Read an evaluation: human scores or rankings, and metric scores; or a folder with both."""

from collections.abc import Sequence
from pathlib import Path

from features.basics.errors import InputError, unknown_name
from features.basics.options import configured
from features.basics.progress import Progress, silent
from qe_human.judgements.collection import Collection
from qe_human.judgements.reading import chosen_pairs, format_of
from qe_human.metric_evaluation.metrics_eval import read_metrics_eval
from qe_human.metric_evaluation.rankings import human_of_rankings
from qe_human.metric_evaluation.score_tables import read_human_table, read_metric_tables
from qe_human.metric_evaluation.scores import Evaluation, human_of, made_metrics
from qe_human.ranking_method import RANKINGS, RankingMethod, ScoreMethod


def from_tables(
    human: Path,
    human_column: str | None,
    metrics: Sequence[str],
    columns: Sequence[str] | None,
    lower_is_better: Sequence[str],
    pair: str | None = None,
) -> Evaluation:
    """Human scores and metrics from tables, of one language pair; see `score_tables`."""
    judged = read_human_table(human, human_column, pair)
    tables, _ = read_metric_tables(metrics, columns, pair)
    people = human_of(judged, tables)
    made, notes = made_metrics(tables, people, lower_is_better)
    return Evaluation(pair or human.name.partition(".")[0], people, made, (*judged.notes, *notes))


def from_rankings(
    rankings: Sequence[Path],
    pair: str | None,
    metrics: Sequence[str],
    columns: Sequence[str] | None,
    lower_is_better: Sequence[str],
    method: str,
    reference: str,
    seed: int = 0,
    progress: Progress = silent,
) -> Evaluation:
    """Human rankings of one language pair, and metrics from tables.

    method  ranking method that scores systems

    Raises InputError if there are several language pairs and none is chosen.
    """
    collection = Collection()
    for done, path in enumerate(rankings):
        progress("reading", done, len(rankings))
        format_of(path).read(path, collection)
    judged = collection.judged_pairs()
    if pair is None and len(judged) > 1:
        raise InputError(
            "which language pair?",
            location=rankings[0],
            remedy=f"choose one with --pair: {', '.join(judged)}",
        )
    chosen = next(iter(chosen_pairs(judged, [] if pair is None else [pair]).values()))
    tables, _ = read_metric_tables(metrics, columns, chosen.name)
    made_method = _score_method(configured(RANKINGS, method, {"seed": seed}), method)
    people = human_of_rankings(chosen, collection.segments.texts, made_method, tables, reference)
    made, notes = made_metrics(tables, people, lower_is_better)
    notes = [f"people's scores of systems: {method} of their rankings", *notes]
    return Evaluation(chosen.name, people, made, tuple(notes))


def from_metrics_eval(
    folder: Path,
    pair: str | None,
    gold: str | None,
    metrics: Sequence[str] | None,
    lower_is_better: Sequence[str],
    references: bool = False,
) -> Evaluation:
    """One language pair of a test set of mt-metrics-eval; see `metrics_eval`."""
    name, human, tables, notes = read_metrics_eval(folder, pair, gold, metrics, references)
    people = human_of(human, tables)
    made, more = made_metrics(tables, people, lower_is_better)
    return Evaluation(f"{folder.resolve().name} {name}", people, made, (*notes, *more))


def _score_method(method: RankingMethod, name: str) -> ScoreMethod:
    if not isinstance(method, ScoreMethod):
        known = [other for other in RANKINGS.names if issubclass(RANKINGS.get(other), ScoreMethod)]
        raise unknown_name("ranking method with scores", name, known, location="--ranking-method")
    return method
