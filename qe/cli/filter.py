"""`qe filter`: remove bad pairs from parallel text, by checks and scores."""

import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from qe.cli.shared.options import TextOptions
from qe.cli.shared.printing import emit
from qe.cli.shared.progress import progress_bar
from qe.display.numbers import percent

if TYPE_CHECKING:
    from qe.scoring.filtering import Threshold


def filter_(
    input_: list[Path],
    output: list[Path],
    languages: list[str],
    table: TextOptions,
    rejected: Path | None = None,
    added_checks: list[str] | None = None,
    excluded_checks: list[str] | None = None,
    overrides: list[str] | None = None,
    worst: float | None = None,
    model: str | None = None,
    score_column: str = "score",
    lower_is_better: bool = False,
    require_signature: Path | None = None,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Keep the pairs of a parallel text that pass all checks, and a quality threshold if you give one.

    The usual checks, cheap ones first: `ratio` of the sides' characters (maximum=2.5, allowance=20),
    `length` (minimum=1, maximum=200 words), `copy` (alike=90 %), `numbers` on one side only (maximum=0),
    `language` of each side (share=0.4 of its words in the dictionary, margin=0.1, odds=10 of a third
    language, minimum=4 words). `--with` adds checks of `qe score --flags`: `names`, `negation`; with a
    --model that has a lexicon also `untranslated` and `invented`. Pairs that pass are written unchanged,
    in order.

    Exit code 1 if no pair passes.

    Example:

        qe filter -i train.en -i train.de -o clean.en -o clean.de --languages en de --rejected out.tsv

        qe filter -i pairs.tsv -o clean.tsv --languages en es --without numbers --set length.maximum=80

        qe filter -i pairs.tsv -o clean.tsv --languages en es --model output/demo/model --worst 3.5

    input:
      -i, --input FILE  TSV, CSV, JSONL or Parquet; or twice: source and target text.
      --languages CODE...  Languages of source and target, such as en de.

    checks:
      --with CHECK...  Add checks, such as negation.
      --without CHECK...  Leave out checks.
      --set CHECK.KEY=VALUE  Setting of a check, such as length.maximum=100. Repeatable.

    quality:
      --worst X  The worst score that passes: by --model, otherwise in --score-column. (default: no threshold)
      -m, --model MODEL  Folder of a model or its run, or models:/NAME@champion.
      --score-column NAME  Column of scores that the input already has.
      --lower-is-better  Lower scores in that column are better (HTER and other error rates).

    output:
      -o, --output FILE  A table; or twice, like the input: source and target text.
      --rejected FILE  Table of the rejected pairs, with the columns check and reason.
    """
    from features.basics.errors import InputError
    from features.text.languages import language_code
    from qe.scoring.checks import Knowledge
    from qe.scoring.filtering import filter_checks, filter_files, parse_settings

    if len(input_) > 2 or (len(output) != len(input_) and len(output) != 1):
        raise InputError("--input and --output are given once (a table) or twice (source, target)")
    if len(languages) != 2:
        raise InputError(f"--languages takes two, source and target, but got {len(languages)}")
    threshold = _threshold(worst, model, score_column, not lower_is_better, require_signature)
    scorer = None if threshold is None else threshold.scorer
    lexicon = None if scorer is None else Knowledge.from_model(scorer.model).lexicon
    checks = filter_checks(
        Knowledge((language_code(languages[0]), language_code(languages[1])), lexicon),
        additional=added_checks or (),
        excluded=excluded_checks or (),
        settings=parse_settings(overrides or ()),
    )
    for name, reason in checks.lacking.items():
        print(f"qe filter: the check '{name}' is skipped: {reason}", file=sys.stderr)
    with progress_bar(quiet or json) as progress:
        summary = filter_files(
            input_, output, checks, threshold=threshold, columns=table.headers, layout=table.layout(),
            rejected=rejected, progress=progress,
        )  # fmt: skip
    share = f" ({percent(summary.passing / summary.pairs)})" if summary.pairs else ""
    counts = sorted(summary.refused.items(), key=lambda item: -item[1])
    emit(
        "filter", asdict(summary), json,
        f"{summary.passing:,} of {summary.pairs:,} pairs kept{share}",
        *(f"  {count:,} left out: {check}" for check, count in counts),
    )  # fmt: skip
    if not summary.passing:
        raise typer.Exit(1)


def _threshold(
    worst: float | None, model: str | None, column: str, higher_is_better: bool, signature: Path | None
) -> "Threshold | None":
    from features.basics.errors import InputError
    from qe.scoring.filtering import Threshold

    if worst is None:
        if model is not None:
            raise InputError("--model needs --worst", remedy="give the worst score that passes")
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
