"""`qe filter`: leave out bad pairs of parallel text, by checks and scores."""

import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qe.cli._common import print_json
from qe.cli._options import (
    Columns,
    Delimiter,
    Encoding,
    Json,
    Quiet,
    Quoting,
    Signed,
    input_option,
    output_option,
    table_layout,
)
from qe.cli._progress import progress_bar
from qe.display.numbers import percent

if TYPE_CHECKING:
    from qe.scoring.filter_files import Filtered
    from qe.scoring.filter_threshold import Threshold


def filter_(
    input_: Annotated[
        list[Path],
        input_option("--input", "-i", help="TSV, CSV, JSONL or Parquet; or twice: source and target text."),
    ],
    output: Annotated[
        list[Path],
        output_option("--output", "-o", help="A table; or twice, as the input: source and target text."),
    ],
    languages: Annotated[
        list[str],
        input_option("--languages", metavar="CODE...", help="Languages of source and target, such as en de."),
    ],
    rejected: Annotated[
        Path | None, output_option(help="A table of the pairs left out, with the columns check and reason.")
    ] = None,
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="CHECK...", help="Other checks to ask, such as negation."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", metavar="CHECK...", help="Checks not to ask.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="CHECK.key=value, such as length.most=100.")
    ] = None,
    columns: Columns = None,
    delimiter: Delimiter = None,
    quoting: Quoting = None,
    encoding: Encoding = None,
    worst: Annotated[
        float | None,
        typer.Option(help="The worst score that passes; of --model, otherwise of the column --score-column."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Model folder, or models:/NAME@champion.")
    ] = None,
    score_column: Annotated[str, typer.Option(help="Column of scores that the input has already.")] = "score",
    lower_is_better: Annotated[
        bool,
        typer.Option(
            "--lower-is-better", help="Lower scores of that column are better (HTER and other error rates)."
        ),
    ] = False,
    require_signature: Signed = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Keep the pairs of a parallel text that all checks let pass.

    If you give a quality score, pairs must pass that, too.

    The usual checks, cheap ones first: `ratio` of the sides' characters (most=2.5, allowance=20), `length`
    (fewest=1, most=200 words), `copy` (alike=90 %), `numbers` on one side alone (most=0), `language` of each
    side (share=0.4 of its words in the dictionary, margin=0.1, fewest=4 words). `--with` adds what
    `qe score --flags` looks for: `names`, `negation`; with a --model that has a lexicon `untranslated` and
    `invented`, too. Pairs that are kept stay as they are, in order.

    Exit code 1 if nothing is kept.

    Example:

        qe filter -i train.en -i train.de -o clean.en -o clean.de --languages en de --rejected out.tsv

        qe filter -i pairs.tsv -o clean.tsv --languages en es --without numbers --set length.most=80

        qe filter -i pairs.tsv -o clean.tsv --languages en es --model output/demo/model --worst 3.5
    """
    from features.basics.errors import InputError
    from features.storage.outputs import check_output
    from qe.scoring.check import Knowledge
    from qe.scoring.filter_checks import filter_checks, parse_settings
    from qe.scoring.filter_files import filter_files
    from qe.scoring.naming import name_pairs

    if len(input_) > 2 or (len(output) != len(input_) and len(output) != 1):
        raise InputError("--input and --output are given once (a table) or twice (source, target)")
    if len(languages) != 2:
        raise InputError(f"--languages are two, source and target, but got {len(languages)}")
    threshold = _threshold(worst, model, score_column, not lower_is_better, require_signature)
    scorer = None if threshold is None else threshold.scorer
    lexicon = None if scorer is None else Knowledge.of(scorer.model).lexicon
    checks = filter_checks(
        Knowledge((languages[0], languages[1]), lexicon),
        also=with_ or (),
        without=without or (),
        settings=parse_settings(set_ or ()),
    )
    for name, reason in checks.lacking.items():
        print(f"qe filter: the check '{name}' is not asked: {reason}", file=sys.stderr)
    layout = table_layout(delimiter, quoting, encoding)
    for path in (*output, *([rejected] if rejected else [])):
        check_output(path, input_)
    with progress_bar(quiet or as_json) as progress:
        summary = filter_files(
            input_,
            output,
            checks,
            threshold=threshold,
            columns=name_pairs(columns or (), "--columns"),
            layout=layout,
            rejected=rejected,
            progress=progress,
        )
    _print(summary, as_json)
    if not summary.kept:
        raise typer.Exit(1)


def _threshold(
    worst: float | None, model: str | None, column: str, higher_is_better: bool, signature: Path | None
) -> "Threshold | None":
    from features.basics.errors import InputError
    from qe.scoring.filter_threshold import Threshold

    if worst is None:
        if model is not None:
            raise InputError("--model needs --worst", remedy="say which score is the worst that passes")
        return None
    if not math.isfinite(worst):
        raise InputError(f"--worst must be a finite number, but got {worst}")
    if model is None:
        return Threshold(worst, higher_is_better, column=column)
    from qe.api.models import model_folder
    from qe.scoring.scorer import Options, Scorer

    folder, identity = model_folder(model, signature)
    scorer = Scorer.load(folder, Options(drift=False), identity=identity)
    return Threshold(worst, scorer.model.scale.higher_is_better, scorer)


def _print(summary: "Filtered", as_json: bool) -> None:
    if as_json:
        print_json("filter", asdict(summary))
    else:
        share = f" ({percent(summary.kept / summary.pairs)})" if summary.pairs else ""
        print(f"{summary.kept:,} of {summary.pairs:,} pairs kept{share}")
        for check, count in sorted(summary.refused.items(), key=lambda item: -item[1]):
            print(f"  {count:,} left out: {check}")
