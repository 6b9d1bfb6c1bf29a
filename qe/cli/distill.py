"""`qe distill`: train a small, fast model on the scores of a large one."""

from pathlib import Path
from typing import Annotated

from qe.cli._common import tell_refused
from qe.cli._options import (
    CacheDir,
    Columns,
    DataRoot,
    Delimiter,
    Encoding,
    HeaderRow,
    Json,
    Overrides,
    Overwrite,
    Quiet,
    Quoting,
    SheetName,
    Signed,
    input_option,
    output_option,
    table_layout,
)
from qe.cli._progress import progress_bar


def distill(
    model: Annotated[
        str, input_option("--model", "-m", help="The teacher: folder, or models:/NAME@champion.")
    ],
    input_: Annotated[
        Path,
        input_option("--input", "-i", help="Translations without labels: a table, XLSX, XLIFF or TMX."),
    ],
    output: Annotated[Path, output_option("--output", "-o", help="Folder for the student's run and model.")],
    student: Annotated[
        str | None,
        input_option(
            metavar="words|surface|FILE",
            help="With models of words, without resources, or an experiment of your own, whose dataset is "
            "not read. (default: words, if the teacher judges words and has resources)",
        ),
    ] = None,
    columns: Columns = None,
    delimiter: Delimiter = None,
    quoting: Quoting = None,
    encoding: Encoding = None,
    sheet: SheetName = "",
    header_row: HeaderRow = 1,
    data_root: DataRoot = None,
    settings: Overrides = None,
    overwrite: Overwrite = False,
    cache_dir: CacheDir = None,
    require_signature: Signed = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train a small model on what a large one says of text without labels.

    The student is a model like any other: `qe score`, `qe serve`, `qe evaluate` and MLflow take it. Its
    figures tell how well it follows the teacher, not people: evaluate both on labelled segments. Give it text
    that the teacher was not trained on, the more the better.

    Example:

        qe distill --model output/demo/model --input output/demo/data/new.tsv --output output/student
    """
    from dataclasses import replace

    from features.storage.outputs import check_apart
    from qe.api.models import model_folder
    from qe.cli._summary import print_outcome, print_reports
    from qe.models.model import Model
    from qe.production.distillation.distill import check_teaches, learns_words, student_of, taught
    from qe.resources.cache import default_cache
    from qe.scoring.naming import name_pairs
    from qe.scoring.pool import read_pool
    from qe.scoring.scorer import languages_of
    from qe.training.check import check
    from qe.training.train import train

    folder, identity = model_folder(model, require_signature)
    teacher = Model.load(folder, identity)
    experiment = student_of(teacher, student, data_root, settings or ())
    check_teaches(teacher, experiment)
    plan = check(experiment, in_memory=True)
    check_apart(output, [input_, folder, *experiment.inputs()])
    pool = read_pool(
        input_,
        name_pairs(columns or (), "--columns"),
        replace(
            table_layout(delimiter, quoting, encoding, sheet=sheet, header_row=header_row),
            languages=languages_of(teacher),
        ),
    )
    with progress_bar(quiet or as_json) as progress:
        dataset = taught(teacher, pool, input_, progress, words=learns_words(experiment))
        outcome = train(
            plan,
            output,
            cache=cache_dir or default_cache(),
            dataset=dataset,
            overwrite=overwrite,
            progress=progress,
        )
    tell_refused("distill", pool.refused, input_)
    if as_json:
        print_reports([outcome])
    else:
        print_outcome(outcome)
