"""Settings of scoring: the command line, Python, the server and Spark take the same records."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Interval

from features.basics.errors import InputError, known_name


@dataclass(frozen=True, kw_only=True)
class AddedColumns:
    """Output columns besides the score and the reason.

    columns added:
      --interval SHARE  low, high: bounds that contain this share of true labels, such as 0.9.
      --explain N  because: the N features that moved the score most (Shapley values).
      --tokens  tokens, bad, gaps, ...: probabilities that words are wrong.
      --tags f1_mult|mcc  With --tokens: the metric that the thresholds of tags maximise. (default: f1_mult)
      --flags  flags: numbers, names or negations on one side only, untranslated and invented words, unusual
          lengths.
      --outside  outside, unlike: out-of-distribution score and reason.

    input:
      --missing-columns error|impute  Columns that features read by name, such as the score of another metric,
          and the input lacks: an error, or a note and values as for missing ones. (default: error)
    """

    interval: float | None = None
    explain: Annotated[int, Interval(ge=0)] = 0
    tokens: bool = False
    tags: str | None = None
    flags: bool = False
    outside: bool = False
    missing_columns: str = "error"

    def __post_init__(self) -> None:
        if self.interval is not None and not 0 < self.interval < 1:
            problem = f"--interval lies between 0 and 1, but got {self.interval:g}"
            raise InputError(problem, remedy="such as 0.9")
        known_name("choice", self.missing_columns, ("error", "impute"), location="--missing-columns")

    @property
    def tag_by(self) -> str:
        return self.tags or "f1_mult"


@dataclass(frozen=True, kw_only=True)
class JobSettings:
    """How a job makes its output.

    output:
      --keep  Keep all columns of the input, before those that are added.
      --suffix TEXT  Suffix of added columns, such as _qe. (default: none)
      --safe-cells  Write formulas in TSV and CSV as text, with an apostrophe.
      --overwrite  Replace an output or an unfinished job.

    input:
      --reuse-scores PREVIOUS  Reuse the scores of an earlier output of the same model.

    running:
      --workers N  Processes. (default: one for each core)
      --chunk N  Rows between points from which --resume continues.
    """

    keep: bool = False
    suffix: str = ""
    safe_cells: bool = False
    reuse_scores: Path | None = None
    resume: bool = False
    overwrite: bool = False
    workers: Annotated[int | None, Interval(ge=1, le=1024)] = None
    chunk: Annotated[int, Interval(ge=1)] = 5000
