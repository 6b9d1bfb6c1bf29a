"""`qe distill`: train a small, fast model on the scores of a large one."""

from pathlib import Path

from qe.cli.shared.options import ExperimentOptions, TableOptions
from qe.cli.shared.printing import tell_refused
from qe.cli.shared.progress import progress_bar


def distill(
    model: str,
    input_: Path,
    output: Path,
    table: TableOptions,
    settings: ExperimentOptions,
    student: str | None = None,
    overwrite: bool = False,
    require_signature: Path | None = None,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Train a small model on the scores that a large one gives to text without labels.

    The student is a model like any other: `qe score`, `qe serve`, `qe evaluate` and MLflow take it. Its
    figures measure how well it follows the teacher, not human labels: evaluate both on labelled segments. Use
    text that the teacher was not trained on, the more the better.

    Example:

        qe distill --model output/demo/model --input output/demo/data/new.tsv --output output/student

    input:
      -m, --model MODEL  The teacher: folder of a model or its run, or models:/NAME@champion.
      -i, --input FILE  Translations without labels: a table, XLSX, XLIFF or TMX.
      --student words|surface|FILE  words: with word-level models; surface: without resources; or your own
          experiment, whose dataset is not read. (default: words, if the teacher scores words and has
          resources)

    output:
      -o, --output DIR  Folder of the student's run and model.
    """
    from features.storage.outputs import check_no_overlap
    from qe.api.models import model_folder
    from qe.cli._summary import print_outcome, print_reports
    from qe.models.model import Model
    from qe.production.distillation.distill import check_teaches, learns_words, student_of, taught
    from qe.scoring.scorer import languages_of
    from qe.training.check import check
    from qe.training.train import train

    folder, identity = model_folder(model, require_signature)
    teacher = Model.load(folder, identity)
    experiment = student_of(teacher, student, settings.data_root, settings.overrides or ())
    check_teaches(teacher, experiment)
    plan = check(experiment, in_memory=True)
    check_no_overlap(output, [input_, folder, *experiment.inputs()])
    pool = table.pool(input_, languages_of(teacher))
    with progress_bar(quiet or json) as progress:
        dataset = taught(teacher, pool, input_, progress, words=learns_words(experiment))
        outcome = train(
            plan, output, cache=settings.cache, dataset=dataset, overwrite=overwrite, progress=progress
        )
    tell_refused("distill", pool.refused, input_)
    if json:
        print_reports([outcome])
    else:
        print_outcome(outcome)
