"""`qe unsupervised`: train a quality model without human labels."""

from pathlib import Path
from typing import Annotated

import typer

from qe.cli._common import print_json, tell_refused
from qe.cli._options import (
    CacheDir,
    Columns,
    Delimiter,
    Encoding,
    HeaderRow,
    Json,
    Quiet,
    Quoting,
    SheetName,
    input_option,
    output_option,
    table_layout,
)
from qe.cli._progress import progress_bar


def unsupervised(
    data: Annotated[Path, typer.Argument(help="Translations: a table, XLSX, XLIFF or TMX. No labels.")],
    source_language: Annotated[str, input_option(help="ISO 639 code of the sources, such as en.")],
    target_language: Annotated[str, input_option(help="ISO 639 code of the translations, such as de.")],
    output: Annotated[Path, output_option("--output", "-o", help="Folder for the model.")],
    parallel: Annotated[
        tuple[Path, Path] | None,
        input_option(metavar="SOURCE TARGET", help="Parallel text, a sentence per line, plain or gzip."),
    ] = None,
    encoder: Annotated[
        str | None,
        input_option(
            metavar="MODEL", help="An encoder of yours (`qe encoders list`), or its folder (./NAME)."
        ),
    ] = None,
    columns: Columns = None,
    delimiter: Delimiter = None,
    quoting: Quoting = None,
    encoding: Encoding = None,
    sheet: SheetName = "",
    header_row: HeaderRow = 1,
    tokenized: Annotated[
        bool, input_option("--tokenized", help="The text is tokenized: split it at white space alone.")
    ] = False,
    cache_dir: CacheDir = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Make a model of translations that nobody has judged.

    It goes by how near source and translation lie to each other in the space of an encoder (--encoder), how
    probable words of a translation are wrong, learned from parallel text (--parallel), and how probable a
    neural decoder found what it wrote, where the table has the columns `subwords` and
    `token_log_probabilities`; by the mean of those that are there. Scores are in standard deviations
    from the mean of these translations, higher is better: they order translations, and no more. The model is
    one for `qe score`, `qe serve` and MLflow. How good it is only labels can tell (`qe evaluate`); how good
    such models were elsewhere: docs/results/wmt18.md.

    Example:

        qe unsupervised new.tsv --source-language en --target-language de --parallel train.en.gz train.de.gz
            --output output/unsupervised

        qe score --model output/unsupervised/model --input new.tsv --output scored.tsv
    """
    from dataclasses import replace

    import pandas as pd

    from features.encoding.places import encoder_names
    from features.storage.outputs import check_apart
    from qe.api.unsupervised import train_without_labels
    from qe.scoring.naming import name_pairs
    from qe.scoring.pool import read_pool

    pool = read_pool(
        data,
        name_pairs(columns or (), "--columns"),
        replace(
            table_layout(delimiter, quoting, encoding, sheet=sheet, header_row=header_row),
            languages=(source_language, target_language),
        ),
    )
    check_apart(output, [data])
    with progress_bar(quiet or as_json) as progress:
        made = train_without_labels(
            pd.DataFrame(pool.columns),
            output,
            source_language=source_language,
            target_language=target_language,
            parallel=parallel,
            encoder=encoder,
            tokenized=tokenized,
            cache=cache_dir,
            progress=progress,
        )
    tell_refused("unsupervised", pool.refused, data)
    if as_json:
        print_json("unsupervised", made.to_json())
        return
    names = " and ".join(made.model.feature_set.names)
    unused = encoder_names() if encoder is None else []
    print(f"{len(made.features):,} translations, no label: {names}")
    print(f"model: {made.folder}")
    if unused:
        print(f"with --encoder {unused[0]} it would also go by the cosine of source and translation")
