"""Options of several verbs: their help, their types, and groups of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Interval

from features.basics.errors import InputError, known_name
from qe.scoring.settings import AddedColumns, JobSettings
from qe.statistics.settings import CorrectionSettings

if TYPE_CHECKING:
    from qe.config.experiment import Experiment
    from qe.data.delimited import Layout
    from qe.scoring.input import Pool


class CommonOptions:
    """Options of several verbs, each described once: here, or in CorrectionSettings.

    input:
      --columns NAME=HEADER  Headers of the input: source=HEADER,target=HEADER. Repeatable.
      --require-signature PEM  Load the model only if it is signed with this public key.
      --gold FILE  Gold labels: one per line, a table, or a WMT12 submission.
      --gold-column NAME  Column of the gold labels, for a table.
      --column NAME  Column of the predictions, for a table.
      --lower-is-better  Lower labels are better, as for HTER.
      --source-language CODE  Language of the sources (BCP 47): en, en-US, zh-Hant.
      --target-language CODE  Language of the translations (BCP 47).

    table format, if detection fails:
      --delimiter CHAR  Tab, comma, semicolon, pipe, or a character.
      --quoting/--no-quoting  Whether double quotes delimit fields.
      --escape CHAR  A character before quotes that are text, such as '\\'. (default: they are doubled)
      --encoding NAME  Such as cp1252.
      --decimal .|,  Decimal sign of numbers.
      --sheet NAME  Sheet of an XLSX. (default: the first visible)
      --header-row N  Row of an XLSX that holds the headers.
      --languages SIDE=TAG  Language tags in XLIFF and TMX: source=TAG,target=TAG.

    experiment:
      --data-root DIR  Folder that relative paths of the experiment start from.
          (default: that of the experiment)
      --set KEY=VALUE  Override a setting, such as search.trials=5. Repeatable.

    tests:
      --baseline NAME...  Compare the other systems with these only. (default: all pairs)
      --group [NAME=]FILE...  A unit (document, annotator) per line: units are resampled, not segments. With
          several kinds of units, a difference must be significant with each.
      --margin METRIC=MARGIN...  Also test equivalence: whether systems differ by less than this.
      --bucket KIND[=FILE]...  Also compare within buckets of segments: length[=FILE], rare[=FILE] (words),
          quality=FILE[,FILE], document=FILE, NAME=FILE.
      --bands N  Bands of a bucket of numbers. (default: 4)
      --corpus FILE  With --bucket rare: words that occur in it at most once are rare. (default: the test set)

    running:
      --resume  Continue a job that was interrupted.
      --engine local|spark  Where the work is done; spark: Apache Spark (pip install 'mtqe[spark]', and Java).
      --master URL  Address of Spark, such as spark://HOST:7077. (default: local[*])
      --cache-dir DIR  Folder of cached resources and features. (default: ~/.cache/qe)
      --threads N  Threads and processes that run in parallel. (default: QE_THREADS, or the available cores)

    output:
      --overwrite  Replace outputs that exist.
      --plots FORMAT...  Formats of plots next to PNG: svg pdf. (default: QE_PLOTS, or png)
      --json  Print JSON instead of tables.
      --markdown  Print tables as Markdown.
      --latex  Print tables as LaTeX.
      --csv  Print all numbers as CSV.
      --track  Log figures, tables and plots to MLflow.
      -q, --quiet  Print results and errors only, no progress.
    """


# Types of options with limits.
Positive = Annotated[int, Interval(ge=1)]
Workers = Annotated[int, Interval(ge=1, le=1024)]


@dataclass(frozen=True, kw_only=True)
class HeaderOptions:
    """Headers of a table that are not the usual ones."""

    columns: list[str] | None = None

    @property
    def headers(self) -> dict[str, str]:
        from qe.scoring.row_formats import name_pairs

        return name_pairs(self.columns or (), "--columns")


@dataclass(frozen=True, kw_only=True)
class TextOptions(HeaderOptions):
    """How a table of text is read: headers and quoting are detected unless they are given."""

    delimiter: str | None = None
    quoting: bool | None = None
    encoding: str | None = None
    escape: str | None = None

    def layout(
        self, *, kind: str | None = None, languages: list[str] | None = None, locked: str = "skip"
    ) -> "Layout":
        from qe.data.delimited import TABLE_SETTINGS, Layout
        from qe.scoring.row_formats import name_pairs

        # Subclasses that read sheets and numbers have more options.
        settings = {name: value for name, value in vars(self).items() if name in TABLE_SETTINGS}
        tags = name_pairs(languages or (), "--languages", "SIDE", "TAG")
        layout = Layout(**settings, kind=kind, tags=tags, locked=locked)
        layout.check()
        return layout


@dataclass(frozen=True, kw_only=True)
class TableOptions(TextOptions):
    """How a table, or a sheet of a workbook, is read."""

    sheet: str | None = None
    header_row: Positive = 1

    def pool(self, path: Path, languages: tuple[str, str] | None) -> "Pool":
        from qe.scoring.input import read_pool

        return read_pool(path, self.headers, replace(self.layout(), languages=languages))


@dataclass(frozen=True, kw_only=True)
class RowOptions(TableOptions):
    """How a table with numbers is read."""

    decimal: str | None = None


@dataclass(frozen=True, kw_only=True)
class ExperimentOptions:
    """How an experiment is read, and where its resources and features are cached."""

    data_root: Path | None = None
    overrides: list[str] | None = None
    cache_dir: Path | None = None

    def load(self, path: Path) -> "Experiment":
        from qe.config.experiment import load

        return load(path, data_root=self.data_root, overrides=self.overrides or ())

    @property
    def cache(self) -> Path:
        from qe.resources.bundle_source import default_cache

        return self.cache_dir or default_cache()


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Engine that does the work, and its address."""

    engine: str = "local"
    master: str | None = None

    @property
    def is_spark(self) -> bool:
        """Raises InputError for an unknown engine, and for --master without Spark."""
        known_name("engine", self.engine, ("local", "spark"), location="--engine")
        if self.master is not None and self.engine != "spark":
            raise InputError("--master is Spark's", remedy="add --engine spark")
        return self.engine == "spark"

    @contextmanager
    def session(self, quiet: bool) -> Iterator[Any]:
        """A session of Spark, or None for the local engine."""
        if not self.is_spark:
            yield None
            return
        from qe.scoring.spark import spark_session

        with spark_session(self.master, quiet=quiet) as session:
            yield session


@dataclass(frozen=True, kw_only=True)
class ScoredFiles(RowOptions, EngineOptions):
    """What `qe score` reads and writes.

    input:
      -i, --input FILE  Table, XLIFF, TMX, XLSX; folder or pattern of tables; - (stdin); or twice: source and
          target.
      -m, --model MODEL  Folder of a model or its run, or models:/NAME@champion.
      --models ROUTES  YAML: columns of a row choose its model.
      --locked skip|score  Segments of XLIFF that are locked, not to be translated, or copies not translated
          yet: no score, or one.

    output:
      -o, --output FILE  TSV, CSV or JSONL (.gz and .zst too), Parquet, or the format of the input; - for
          stdout.
    """

    languages: list[str] | None = None
    locked: str = "skip"
    input_: list[str]
    output: str
    model: str | None = None
    models: Path | None = None


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(JobSettings, AddedColumns, ScoredFiles):
    """The options of `qe score`.

    columns added:
      --triage FILE  action: the cheapest by a cost table (.yaml), or by the output of `qe triage --json`
          (.json).
      --with-model  model: its name, version and fingerprint.

    running:
      --cache/--no-cache  Score repeated segments once; scores do not change.
      --fail-if CONDITION  Exit code 1 if 'unscored>1%', 'unscored>9' or drift. Repeatable.
      --log text|json  Format of messages on stderr; json: a JSON object per line, one for each stage.

    output:
      --documents FILE  Mean scores of documents (TSV, ...).
      --doc-ids NAME|FILE  Document ids for --documents: a column, or a file.
      --drift FILE  Comparison of the input with the training data (JSON).
      --summary FILE  Model, counts, times, ... (default: OUTPUT.json)
      --no-summary  Write no summary.
    """

    triage: Path | None = None
    with_model: bool = False
    cache: bool = True
    fail_if: list[str] | None = None
    documents: Path | None = None
    doc_ids: str | None = None
    drift: Path | None = None
    summary: Path | None = None
    no_summary: bool = False
    require_signature: Path | None = None
    log: str | None = None
    quiet: bool = False
    json: bool = False


@dataclass(frozen=True, kw_only=True)
class WordOptions(CorrectionSettings):
    """How probabilities become tags, and what is compared.

    input:
      --layout tags|words|gaps|source  Content of a line; tags: gap, word, gap, word, ..., gap.
      --source-gold FILE  Gold tags of source words, which are evaluated too.
      --source-predictions [NAME=]FILE...  Source words of systems whose own files do not contain them.

    probabilities as tags:
      --threshold P  A word is BAD if P(BAD) is at least this. (default: the tags of the file)
      --tune [NAME=]FILE...  Or: choose thresholds with these P(BAD) of a development set.
      --tune-gold FILE  Gold tags of the development set.
      --folds N  Or: choose thresholds by cross-validation with this number of folds.
      --thresholds-by mcc|f1_mult  Metric that chosen thresholds maximise.
    """

    layout: str = "tags"
    source_gold: Path | None = None
    source_predictions: list[str] | None = None
    threshold: Annotated[float | None, Interval(ge=0, le=1)] = None
    tune: list[str] | None = None
    tune_gold: Path | None = None
    folds: Annotated[int | None, Interval(ge=2)] = None
    thresholds_by: str = "mcc"
    baseline: list[str] | None = None
