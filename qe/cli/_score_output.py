"""What `qe score` says of a job: counts, warnings, triage's actions, the drift report."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from features.storage.files import atomic_file
from qe.cli._log import Log
from qe.display import output_schemas
from qe.display.numbers import percent
from qe.display.terminal import show
from qe.models.drift import DriftReport
from qe.production.triage import Thresholds, actions_table
from qe.scoring.job_summary import ScoredFile

if TYPE_CHECKING:
    from qe.scoring.spark.scoring import ScoredTable


def warn_of_input(log: Log, warnings: Sequence[str], not_checked: Mapping[str, str]) -> None:
    """On stderr: what was not looked for, and how the input differs from the training data."""
    for kind, reason in not_checked.items():
        log.tell("warning", f"{kind} are not checked: {reason}")
    for warning in warnings:
        log.tell("warning", f"the input differs from the training data: {warning}")


def show_actions(thresholds: Thresholds, actions: Mapping[str, int], scored: int) -> None:
    """How many segments triage sends where."""
    show(actions_table(thresholds, actions, scored))


def summary_json(
    completed: "ScoredFile | ScoredTable", output: str, model: Mapping[str, object] | None
) -> str:
    """The summary that --json prints; Spark's names no model."""
    of_model = {} if model is None else {"model": model}
    content = {**completed.to_json(), "output": output, **of_model}
    return json.dumps(output_schemas.stamped("score" if of_model else "score-spark", content))


def show_scored(completed: "ScoredFile | ScoredTable", output: str) -> None:
    """For people: how many rows were scored, where their scores are from, why others have none."""
    if getattr(completed, "unchanged", False):
        print(
            f"{output} is finished: the same job made it, so there is nothing to do (--overwrite repeats it)"
        )
    print(f"{completed.scored:,} of {completed.rows:,} rows scored: {output}")
    if repeated := getattr(completed, "repeated", 0):
        print(f"  {repeated:,} ({percent(repeated / completed.scored)}) reused the score of an equal segment")
    if reused := getattr(completed, "reused", 0):
        print(f"  {reused:,} ({percent(reused / completed.scored)}) reused the score of an earlier job")
    for name, route in getattr(completed, "routes", {}).items():
        print(f"  {route.scored:,} of {route.rows:,} rows scored: {name}")
    for kind, count in sorted(getattr(completed, "flagged", {}).items()):
        print(f"  {count:,} flagged: {kind}")
    for reason, count in sorted(completed.reasons.items(), key=lambda item: -item[1])[:10]:
        print(f"  {count:,} without a score: {reason}")


def write_drift(path: Path, report: DriftReport | None) -> None:
    """The drift report as JSON; `null` where no row could be scored."""
    content = None if report is None else report.to_json()
    with atomic_file(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
