"""`qe evaluate words`: tags of words, gaps and source words against gold tags."""

from pathlib import Path

from qe.cli._evaluation_options import WordOptions
from qe.cli.shared.printing import emit


def words(
    gold: Path,
    predictions: list[str],
    options: WordOptions,
    reliability: Path | None = None,
    output: Path | None = None,
    json: bool = False,
    quiet: bool = False,
) -> None:
    """Score tags of words, gaps and source words against gold tags: MCC, F1, calibration, significance.

    Probabilities become tags by a threshold: one that is given, or one that is chosen on other segments.

    Examples:

        qe evaluate words --gold dev.tags --predictions a=a.tags b=b.probs --threshold 0.5

        qe evaluate words --gold dev.tags --source-gold dev.src_tags --predictions model=scores.jsonl
        --reliability reliability.png

    input:
      --gold FILE  Gold tags: OK and BAD.
      --predictions [NAME=]FILE...  Tags or P(BAD) of each system, or the output of
          `qe score --tokens` (JSONL).

    output:
      --reliability FILE  Plot of the calibration of probabilities (PNG, SVG or PDF).
      -o, --output FILE  Also write the JSON report to this file.
    """
    from features.basics.assignments import named_file
    from features.storage.outputs import check_output
    from qe.cli._words import check_options, draw_reliability, evaluate_tag_files
    from qe.evaluation.tables import word_notes, word_tables

    check_options(options)
    arguments = (*predictions, *(options.tune or ()), *(options.source_predictions or ()))
    files = (gold, options.tune_gold, options.source_gold, *(named_file(text)[1] for text in arguments))
    inputs = [path for path in files if path is not None]
    if output is not None:
        check_output(output, inputs)
    if reliability is not None:
        check_output(reliability, [*inputs, *([output] if output is not None else [])])
    reports = evaluate_tag_files(gold, predictions, options, quiet)
    if reliability is not None:
        draw_reliability(reliability, reports)
    emit("evaluate-words", reports, json, *word_tables(reports), *word_notes(reports), output=output)
