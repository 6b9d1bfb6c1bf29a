"""`qe suggest`: choose which segments to annotate next."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from qe.cli._common import print_json, tell_refused
from qe.cli._options import (
    CacheDir,
    Columns,
    DataRoot,
    Delimiter,
    Encoding,
    HeaderRow,
    Json,
    Overrides,
    Quiet,
    Quoting,
    SheetName,
    input_option,
    output_option,
    seed_option,
    table_layout,
)
from qe.cli._progress import progress_bar


def suggest(
    experiment: Annotated[
        Path, typer.Argument(help="Experiment file: what is labelled already, and features.")
    ],
    input_: Annotated[
        Path, input_option("--input", "-i", help="The pool, without labels: a table, XLSX, XLIFF or TMX.")
    ],
    output: Annotated[
        Path, output_option("--output", "-o", help="A table of what to annotate, most urgent first.")
    ],
    count: Annotated[int, output_option("--count", "-n", min=1, help="How many segments.")] = 100,
    columns: Columns = None,
    delimiter: Delimiter = None,
    quoting: Quoting = None,
    encoding: Encoding = None,
    sheet: SheetName = "",
    header_row: HeaderRow = 1,
    data_root: DataRoot = None,
    settings: Overrides = None,
    seed: Annotated[int, seed_option("Seed of the committee and the draw.")] = 0,
    cache_dir: CacheDir = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Choose which segments of a pool to annotate next: uncertain ones, far from each other.

    A committee of ridge regressions on bootstrap samples of the experiment's training rows predicts the pool;
    segments are drawn by how much its members disagree, times the squared distance to what is labelled or
    drawn. Texts that are labelled already are left out. docs/suggest.md says how this compares with chance.

    Example:

        qe suggest output/demo/demo.yaml --input output/demo/data/new.tsv --count 20 --output next.tsv
    """
    from dataclasses import replace

    from features.storage.outputs import check_output, locked_file
    from qe.config.experiment import load
    from qe.production.suggestion.files import write_suggestions
    from qe.production.suggestion.suggest import suggest as run
    from qe.resources.cache import default_cache
    from qe.scoring.naming import name_pairs
    from qe.scoring.pool import read_pool
    from qe.scoring.row_formats import kind_of

    loaded = load(experiment, data_root=data_root, overrides=settings or ())
    kind_of(output)
    check_output(output, [input_, experiment, *loaded.inputs()])
    pool = read_pool(
        input_,
        name_pairs(columns or (), "--columns"),
        replace(
            table_layout(delimiter, quoting, encoding, sheet=sheet, header_row=header_row),
            languages=_languages(loaded.dataset.options()),
        ),
    )
    with locked_file(output), progress_bar(quiet or as_json) as progress:
        chosen = run(
            loaded, pool.columns, count, cache=cache_dir or default_cache(), seed=seed, progress=progress
        )
        write_suggestions(output, pool, chosen)
    tell_refused("suggest", pool.refused, input_)
    if as_json:
        told = {"suggested": count, "candidates": chosen.candidates, "labelled": chosen.labelled}
        print_json("suggest", {**told, "refused": dict(pool.refused), "output": str(output)})
    elif not quiet:
        print(f"{count:,} of {chosen.candidates:,} segments, by {chosen.labelled:,} labelled ones: {output}")


def _languages(options: Mapping[str, Any]) -> tuple[str, str] | None:
    if "pair" in options:
        source, _, target = str(options["pair"]).partition("-")
        return source, target
    said = options.get("source_language"), options.get("target_language")
    return (str(said[0]), str(said[1])) if all(said) else None
