"""`qe compare`: compare MT systems: BLEU, chrF, TER, with significance tests.
`qe power`: the smallest difference that a test set can detect.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Interval

from features.basics.errors import InputError, did_you_mean
from features.basics.progress import Progress
from qe.cli.shared.printing import Result, groups
from qe.statistics.settings import PowerSettings, ResamplingSettings

if TYPE_CHECKING:
    from features.basics.array_types import FloatArray
    from qe.statistics.buckets import Buckets
    from qe.systems.results import System, SystemsComparison
    from qe.systems.segment_scores import ScoredRuns
    from qe.systems.text_metric import TextMetric
    from qe.systems.texts import Texts


Text = tuple[str, Sequence[str]]  # a name and lines


@dataclass(frozen=True)
class BucketOptions:
    """Buckets of segments within which systems are compared."""

    bucket: list[str] | None = None
    bands: Annotated[int | None, Interval(ge=2)] = None
    corpus: Path | None = None

    def read(self, text: Text | None, predictions: "Sequence[FloatArray]" = ()) -> "list[Buckets]":
        """The buckets; `length` and `rare` are of `text`, `quality` of the mean of `predictions`."""
        from qe.data.buckets import RARE

        parts = [option.partition("=") for option in self.bucket or ()]
        if not parts and self.bands is not None:
            raise InputError("--bands is for buckets", remedy="add --bucket")
        if self.corpus is not None and RARE not in [kind for kind, _, _ in parts]:
            raise InputError("--corpus defines rare words", remedy="add --bucket rare")
        return [self._read(kind, files, text, predictions) for kind, _, files in parts]

    def _read(
        self, kind: str, files: str, text: Text | None, predictions: "Sequence[FloatArray]"
    ) -> "Buckets":
        from features.storage.files import read_lines
        from qe.data import buckets
        from qe.statistics.buckets import BANDS

        count = BANDS if self.bands is None else self.bands
        if kind in (buckets.LENGTH, buckets.RARE):
            if files:
                text = Path(files).name, list(read_lines(Path(files)))
            if text is None:
                raise InputError(f"--bucket {kind} has no text", remedy=f"give --bucket {kind}=FILE")
            if kind == buckets.LENGTH:
                return buckets.by_length(text[1], text[0], count)
            return buckets.by_rare_words(text[1], text[0], self.corpus, count)
        if kind == buckets.QUALITY and not files and predictions:
            return buckets.by_quality(predictions, "predictions", count)
        if not kind or not files:
            shown, name = kind or f"={files}", kind or "NAME"
            near = did_you_mean(kind, (buckets.LENGTH, buckets.RARE, buckets.QUALITY))
            raise InputError(f"--bucket {shown} names no file", remedy=f"give --bucket {name}=FILE{near}")
        if kind == buckets.QUALITY:
            return buckets.read_quality([Path(path) for path in files.split(",")], count)
        return buckets.read_column(kind, Path(files), count)


def check_options(groups: "Sequence[Any]") -> None:
    """Refuse options of groups that the comparison of runs does not take."""
    for group in groups:
        for option in fields(group):
            if getattr(group, option.name) != option.default and option.name not in ("samples", "seed"):
                problem = f"--{option.name.replace('_', '-')} is for MT systems"
                raise InputError(problem, remedy="leave it out: runs have their own metrics and segments")


def compare_runs(folders: list[Path], samples: int | None, seed: int) -> Result:
    """Figures, differences and p-values of runs' out-of-fold predictions."""
    from qe.evaluation import leaderboard
    from qe.evaluation.tables import differences

    remedy = "qe compare RUN RUN, with --json if wanted"
    if len(folders) == 1 and not (folders[0] / "report.json").is_file():
        folders = sorted(path.parent for path in folders[0].glob("*/report.json")) or folders
    if len(folders) < 2:
        count = f"runs are compared two or more at a time, but {len(folders)} is given"
        raise InputError(count, remedy=remedy)
    if missing := [folder for folder in folders if not (folder / "report.json").is_file()]:
        raise InputError(
            "holds no finished run of `qe train` (no report.json)",
            location=missing[0],
            remedy="outputs of MT systems are given as --system NAME=FILE, predictions to `qe evaluate`",
        )
    if not leaderboard.are_of_one_data_set(folders):
        pairs = leaderboard.board_of_pairs(folders, samples=samples, seed=seed)
        write = partial(leaderboard.write_board_of_pairs, pairs)
        return Result("compare-data-sets", pairs, [pairs.summary()], write=write)
    board = leaderboard.make(folders, baseline=folders[0], samples=samples, seed=seed)
    tables = [leaderboard.table(board), *differences(board.report)]
    return Result("evaluate", board.report, tables, write=partial(leaderboard.write, board))


@dataclass(frozen=True, kw_only=True)
class SystemOptions:
    """What is compared of MT systems, and how it is shown.

    input:
      --system NAME=RUN[,RUN]...  Systems, each with the outputs of its runs.
      --references REF...  One or several references.
      --metrics METRIC...  {qe.systems.mt_metrics}; with options: chrf:word_order=2.
          (default: bleu ter length)
      --scores METRIC:SYSTEM=RUN[,RUN]...  Scores of another metric (a neural one), a number per segment; for
          each system.
      --lower-is-better METRIC...  Metrics of --scores that are errors.
      --annotator NAME  Adds dependency_f: F-score of dependencies by a parser (qe annotate train;
          spacy:NAME).
      --dev NAME=...  Development-set outputs (files), or their scores by the first metric (numbers;
          NAME:METRIC=... for another metric), one per run.
      --dev-references REF...  References of the development set.
      --tokenize NAME  none (tokenized text, split at whitespace), 13a, intl, char, moses, zh, ja-mecab,
          ko-mecab, flores101, flores200. (default: as sacreBLEU for the language; ter: whitespace)
      --language CODE  Language of the texts; meteor uses its stems. (default: one with blanks between words)
      --source FILE  Sources: shown on the page, and the text of --bucket length and rare.

    tests:
      --baseline NAME  System that the others are compared with. (default: the first)
      --ranks  Test all pairs, and show the range of ranks of each system.
      --power  Also find how many segments the differences seen need, by resampling.
      --single-runs  Also show what single runs would give, and the differences by run.
    """

    system: list[str] | None = None
    references: list[Path] | None = None
    metrics: list[str] | None = None
    scores: list[str] | None = None
    lower_is_better: list[str] | None = None
    annotator: str | None = None
    baseline: str | None = None
    dev: list[str] | None = None
    dev_references: list[Path] | None = None
    tokenize: str | None = None
    language: str | None = None
    group: list[str] | None = None
    margin: list[str] | None = None
    ranks: bool = False
    single_runs: bool = False
    power: bool = False
    source: Path | None = None
    markdown: bool = False
    latex: bool = False
    csv: bool = False
    track: bool = False


def compare(
    options: SystemOptions,
    resampling: ResamplingSettings,
    buckets: BucketOptions,
    progress: Progress,
    runs: list[Path] | None = None,
    output: Path | None = None,
) -> Result:
    """Compare MT systems over optimizer replications: scores, instability, p-values, intervals.

    Examples:

        qe compare --references ref.en --system base=b0.en,b1.en,b2.en --system new=n0.en,n1.en,n2.en
        --metrics bleu ter chrf --margin bleu=0.5 --output comparison

        qe compare --references ref.en --system a=a.en --system b=b.en --system c=c.en --ranks
        --metrics bleu:smooth=floor ter:normalized=true --scores comet:a=a.txt --scores comet:b=b.txt
        --scores comet:c=c.txt

        qe compare --references ref.en --system base=b0.en --system new=n0.en --bucket length
        --bucket rare --bucket document=documents.txt --output comparison

        qe compare output/demo output/demo-lightgbm

    arguments:
      runs [RUN RUN...]  Instead of systems: output folders of `qe train`, compared with the first; or the one
          folder of a sweep.

    output:
      -o, --output DIR  Folder for page, report, segments, changes, plot.
    """
    if runs and options.system:
        raise InputError("folders of runs and --system exclude each other")
    if runs:
        check_options((options, resampling, buckets))
        return compare_runs(runs, resampling.samples, resampling.seed)
    if not options.system and not options.scores:
        remedy = "--references FILE --system A=FILE --system B=FILE, --scores TABLE, or two folders of runs"
        raise InputError("nothing to compare", remedy=remedy)
    from qe.statistics.buckets import check_buckets
    from qe.statistics.ranks import margins
    from qe.systems.comparison import compare as run_comparison
    from qe.systems.comparison import with_buckets
    from qe.systems.power import needed_segments, single_runs
    from qe.systems.segment_scores import named_files, read_segment_scores
    from qe.systems.text_metric import metrics_for

    reference = [_texts(path) for path in options.references or []]
    sources = None if options.source is None else _texts(options.source)
    system_files = [named_files(text, "--system") for text in options.system or []]
    names = options.metrics or ([] if options.scores and not reference else ["bleu", "ter", "length"])
    lines = [line for texts in reference for line in texts.lines]
    chosen: dict[str, Any] = {**metrics_for(names, options.tokenize, options.language, lines)}
    _warn_of_tokenization(chosen, lines)
    outputs = [(name, tuple(_texts(Path(run)) for run in runs_of)) for name, runs_of in system_files]
    columns = [*(runs_of[0] for _, runs_of in outputs), *reference]
    scored = read_segment_scores(options.scores or [], dict(outputs), options.lower_is_better or [], columns)
    if twice := sorted(scored.metrics.keys() & set(names)):
        raise InputError(f"--scores names a metric of --metrics: {', '.join(twice)}", remedy="rename it")
    chosen |= scored.metrics
    if options.annotator is not None:
        chosen["dependency_f"] = _dependency_f(options.annotator, options.tokenize, options.language, lines)
    texts = {"source": sources, "reference": reference[0] if reference else None}
    shown = ((name, column.lines) for name, column in texts.items() if column is not None)
    bands = buckets.read(next(shown, None))
    systems = _systems(outputs or list(scored.outputs.items()), options.dev or [], list(chosen), scored)
    segments = len(systems[0].runs[0])
    check_buckets(bands, segments)
    if sources is not None and len(sources) != segments:
        raise InputError(f"{segments} segments, but {len(sources)} sources", location=options.source)
    comparison = run_comparison(
        systems, reference, chosen,
        baseline=options.baseline, settings=resampling, progress=progress,
        dev_references=[_texts(path) for path in options.dev_references or []],
        groups=groups(options.group), margins=margins(options.margin or [], list(chosen)),
        ranks=options.ranks,
    )  # fmt: skip
    comparison.recipe["notes"] += scored.notes
    if buckets.bucket:
        comparison = with_buckets(comparison, bands, resampling.samples)
    if options.power:
        comparison = replace(comparison, power=tuple(needed_segments(comparison, progress=progress)))
    if options.single_runs:
        comparison = replace(comparison, single_runs=tuple(single_runs(comparison)))
    return _result(comparison, sources, options.language or "")


def _result(comparison: "SystemsComparison", sources: "Texts | None", language: str) -> Result:
    from qe.evaluation.tables import bucket_notes
    from qe.systems import report
    from qe.systems.text_metric import title_of

    def write(folder: Path) -> None:
        from qe.systems.comparison_files import write

        write(comparison, folder, sources, language)

    tables = {"latex": report.latex_tables, "markdown": report.markdown_tables, "csv": report.csv_table}
    notes = [] if comparison.buckets is None else bucket_notes(comparison.buckets, title_of)
    return Result(
        "compare", comparison, [report.table(comparison), *report.further_tables(comparison), *notes],
        write=write, recipe=comparison.recipe, figures=comparison.figures, under="comparison",
        forms={form: partial(function, comparison) for form, function in tables.items()},
    )  # fmt: skip


def _warn_of_tokenization(metrics: Mapping[str, Any], lines: list[str]) -> None:
    from qe.systems.text_metric import tokenizations_of
    from qe.systems.texts import doubt

    warnings = filter(None, (doubt(tokenize, lines) for tokenize in tokenizations_of(metrics.values())))
    if warning := next(warnings, ""):
        print(f"qe compare: {warning}", file=sys.stderr)


def _dependency_f(
    annotator: str, tokenize: str | None, language: str | None, lines: list[str]
) -> "TextMetric":
    from qe.language.taggers import language_said, tagger
    from qe.resources.bundle_source import default_cache
    from qe.systems.dependency_f import DependencyF
    from qe.systems.texts import language_of, usual_tokenization

    code = language_of(language or language_said(annotator), lines)
    parser = tagger(annotator, code, "es" if code == "en" else "en", texts_per_process=2000)
    tokens: Any = tokenize or usual_tokenization(code)
    return DependencyF(parser, annotator, tokens, code, default_cache())


def _systems(
    runs: "list[tuple[str, tuple[Texts, ...]]]", dev: list[str], metrics: list[str], scored: "ScoredRuns"
) -> "list[System]":
    from qe.systems.results import System
    from qe.systems.segment_scores import named_files

    scores: dict[str, dict[str, tuple[float, ...]]] = {}
    outputs: dict[str, tuple[Texts, ...]] = {}
    for name, values in dict(named_files(text, "--dev") for text in dev).items():
        system, _, metric = name.partition(":")
        try:
            scores.setdefault(system, {})[metric or metrics[0]] = tuple(map(float, values))
        except ValueError:  # names of files
            outputs[system] = tuple(_texts(Path(value)) for value in values)
    systems = [
        System(name, texts, outputs.get(name, ()), scores.get(name, {}), scored.files[name])
        for name, texts in runs
    ]
    if unknown := sorted((outputs.keys() | scores.keys()) - scored.files.keys()):
        raise InputError(f"--dev names no system: {', '.join(unknown)}")
    dev_metrics = {metric for by_metric in scores.values() for metric in by_metric}
    if unknown := sorted(dev_metrics - {*metrics}):
        raise InputError(f"--dev names no metric of --metrics: {', '.join(unknown)}")
    return systems


def _texts(path: Path) -> "Texts":
    from qe.data.delimited import lines_of
    from qe.systems.texts import Texts

    return Texts.from_lines(list(lines_of(path)), str(path))


def power(
    gold: Path,
    predictions: list[str],
    *,
    progress: Progress,
    metrics: list[str] | None = None,
    size: Annotated[int | None, Interval(ge=4)] = None,
    gain: list[str] | None = None,
    settings: PowerSettings,
    lower_is_better: bool = False,
    column: str | None = None,
    gold_column: str | None = None,
    group: Path | None = None,
    output: Path | None = None,
) -> Result:
    """Simulate which difference a test set can detect, and how many segments a difference needs.

    Virtual test sets are drawn from a pilot, one system is improved by the gain in question, and the
    randomization test of `qe evaluate` is run on each. A gain is always an improvement, for MAE too.

    Example:

        qe power --gold effort.txt --predictions svr=svr.txt ridge=ridge.txt --size 422
        --metrics delta_avg mae --gain delta_avg=0.02 --output power

    input:
      --gold FILE  Gold labels of the pilot: one per line, or a table.
      --predictions [NAME=]FILE...  Predictions of a system and a baseline that are as similar as those to be
          compared.

    tests:
      --metrics METRIC...  {qe.statistics.metrics}. (default: delta_avg spearman mae)
      --size N  Segments (or groups) of the test set. (default: as many as the pilot has)
      --gain METRIC=GAIN...  Also compute how many segments such a gain needs.
      --group FILE  One document per line: documents are resampled and counted instead of segments.

    output:
      -o, --output DIR  Folder for power.json and power.png.
    """
    from features.basics.assignments import named_file, numbers
    from features.storage.files import read_lines
    from qe.data.score_files import read_predictions, read_scores, same_segments
    from qe.evaluation.power import DEFAULT_METRICS, power_table
    from qe.evaluation.power import power as find_power

    if output is not None:  # fail early if matplotlib is missing
        from qe.display.charts import save
        from qe.display.files import write_json
        from qe.evaluation.plots import power_plot
    if len(predictions) != 2:
        problem = f"power compares two systems, but --predictions has {len(predictions)}"
        raise InputError(problem, remedy="give a system and a baseline")
    gains = numbers(gain or (), "METRIC=GAIN", "--gain")
    paths = [named_file(text)[1] for text in predictions]
    labels = read_scores(gold, gold_column)
    files = [read_predictions(path, column) for path in paths]
    same_segments(labels, {text: file for text, file in zip(predictions, files, strict=True)})
    sign = -1.0 if lower_is_better else 1.0
    report = find_power(
        sign * labels.scores, sign * files[0].scores, sign * files[1].scores,
        metrics=metrics or DEFAULT_METRICS, size=size, gains=gains, settings=settings,
        groups=None if group is None else list(read_lines(group)), progress=progress,
    )  # fmt: skip
    if output is not None:
        write_json(output / "power.json", report.to_json())
        save(power_plot(report), output / "power.png")
    return Result("power", report, [power_table(report)])
