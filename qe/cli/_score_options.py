"""The options of `qe score`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from qe.cli.shared.options import Positive, RowOptions


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(RowOptions):
    """The options of `qe score`.

    input:
      -i, --input FILE  Table, XLIFF, TMX, XLSX; folder or pattern of tables; - (stdin); or twice: source and
          target.
      -m, --model MODEL  Folder of a model or its run, or models:/NAME@champion.
      --models ROUTES  YAML: columns of a row choose its model.
      --locked skip|score  Segments of XLIFF that are locked, not to be translated, or copies not translated
          yet: no score, or one.
      --missing-columns error|impute  Columns that features read by name, such as the score of another metric,
          and the input lacks: an error, or a note and values as for missing ones. (default: error)
      --reuse-scores PREVIOUS  Reuse the scores of an earlier output of the same model.

    columns added:
      --interval SHARE  low, high: bounds that contain this share of true labels, such as 0.9.
      --explain N  because: the N features that moved the score most (Shapley values).
      --triage FILE  action: the cheapest by a cost table (.yaml), or by the output of `qe triage --json`
          (.json).
      --tokens  tokens, bad, gaps, ...: probabilities that words are wrong.
      --tags f1_mult|mcc  With --tokens: the metric that the thresholds of tags maximise. (default: f1_mult)
      --flags  flags: numbers, names or negations on one side only, untranslated and invented words, unusual
          lengths.
      --outside  outside, unlike: out-of-distribution score and reason.
      --with-model  model: its name, version and fingerprint.

    running:
      --cache/--no-cache  Score repeated segments once; scores do not change.
      --workers N  Processes. (default: one for each core)
      --chunk N  Rows between points from which --resume continues.
      --fail-if CONDITION  Exit code 1 if 'unscored>1%', 'unscored>9' or drift. Repeatable.
      --log text|json  Format of messages on stderr; json: a JSON object per line, one for each stage.

    output:
      -o, --output FILE  TSV, CSV or JSONL (.gz and .zst too), Parquet, or the format of the input; - for
          stdout.
      --documents FILE  Mean scores of documents (TSV, ...).
      --doc-ids NAME|FILE  Document ids for --documents: a column, or a file.
      --keep  Keep all columns of the input, before those that are added.
      --suffix TEXT  Suffix of added columns, such as _qe. (default: none)
      --safe-cells  Write formulas in TSV and CSV as text, with an apostrophe.
      --drift FILE  Comparison of the input with the training data (JSON).
      --summary FILE  Model, counts, times, ... (default: OUTPUT.json)
      --no-summary  Write no summary.
      --overwrite  Replace an output or an unfinished job.
    """

    languages: list[str] | None = None
    locked: str = "skip"
    input_: list[str]
    output: str
    model: str | None = None
    models: Path | None = None
    interval: float | None = None
    explain: Annotated[int, typer.Option(min=0)] = 0
    triage: Path | None = None
    tokens: bool = False
    tags: str | None = None
    flags: bool = False
    outside: bool = False
    with_model: bool = False
    keep: bool = False
    suffix: str = ""
    safe_cells: bool = False
    missing_columns: str = "error"
    reuse_scores: Path | None = None
    resume: bool = False
    overwrite: bool = False
    cache: bool = True
    workers: Annotated[int | None, typer.Option(min=1, max=1024)] = None
    chunk: Positive = 5000
    fail_if: list[str] | None = None
    documents: Path | None = None
    doc_ids: str | None = None
    engine: str = "local"
    master: str | None = None
    drift: Path | None = None
    summary: Path | None = None
    no_summary: bool = False
    require_signature: Path | None = None
    log: str | None = None
    quiet: bool = False
    json: bool = False
