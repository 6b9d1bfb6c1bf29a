"""`qe suggest`: choose which segments to annotate next."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qe.cli.shared.options import ExperimentOptions, Positive, Seed, TableOptions
from qe.cli.shared.printing import emit, tell_refused
from qe.cli.shared.progress import progress_bar


def suggest(
    experiment: Path,
    input_: Path,
    output: Path,
    table: TableOptions,
    settings: ExperimentOptions,
    count: Positive = 100,
    seed: Seed = 0,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Choose segments of a pool to annotate next: uncertain ones that differ from each other.

    A committee of ridge regressions on bootstrap samples of the experiment's training rows predicts the pool;
    segments are drawn in proportion to the disagreement of its members times the squared distance to the
    segments that are labelled or drawn already. Texts that are labelled already are left out. docs/suggest.md
    compares this with random choice.

    Example:

        qe suggest output/demo/demo.yaml --input output/demo/data/new.tsv --count 20 --output next.tsv

    arguments:
      experiment  Experiment file with the labelled data and the features.

    input:
      -i, --input FILE  The pool, without labels: a table, XLSX, XLIFF or TMX.

    output:
      -o, --output FILE  Table of segments to annotate, most useful first.
      -n, --count N  How many segments.
    """
    from features.storage.outputs import check_output, locked_file
    from qe.production.suggestion import suggest as run
    from qe.production.suggestion import write_suggestions
    from qe.scoring.row_formats import kind_of

    loaded = settings.load(experiment)
    kind_of(output)
    check_output(output, [input_, experiment, *loaded.inputs()])
    pool = table.pool(input_, _languages(loaded.dataset.options()))
    with locked_file(output), progress_bar(quiet or json) as progress:
        chosen = run(loaded, pool.columns, count, cache=settings.cache, seed=seed, progress=progress)
        write_suggestions(output, pool, chosen)
    tell_refused("suggest", pool.refused, input_)
    content = {
        "suggested": count, "candidates": chosen.candidates, "labelled": chosen.labelled,
        "refused": dict(pool.refused), "output": output,
    }  # fmt: skip
    shown = f"{count:,} of {chosen.candidates:,} segments, by {chosen.labelled:,} labelled ones: {output}"
    emit("suggest", content, json, *([] if quiet else [shown]))


def _languages(options: Mapping[str, Any]) -> tuple[str, str] | None:
    if "pair" in options:
        first, _, second = str(options["pair"]).partition("-")
        return first, second
    source, target = options.get("source_language"), options.get("target_language")
    return (str(source), str(target)) if source and target else None
