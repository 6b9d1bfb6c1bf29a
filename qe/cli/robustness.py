"""`qe robustness`: show what a model makes of spoilt translations."""

from pathlib import Path
from typing import Annotated

import typer

from qe.cli._common import print_json
from qe.cli._options import Columns, Json, Quiet, input_option, output_option, seed_option
from qe.cli._progress import progress_bar


def robustness(
    model: Annotated[str, input_option(metavar="MODEL", help="Folder, or models:/NAME@ALIAS in MLflow.")],
    input_: Annotated[
        Path,
        input_option(
            "--input",
            "-i",
            metavar="FILE",
            help="Translations that the model has not learned from.",
        ),
    ],
    columns: Columns = None,
    rows: Annotated[
        int | None,
        typer.Option(min=1, help="Rows to spoil. (default: as many as ten seconds allow, at least 30)"),
    ] = None,
    kinds: Annotated[
        list[str] | None, typer.Option(metavar="NAME...", help="Ways to spoil them. (default: all)")
    ] = None,
    seed: Annotated[int, seed_option("Seed of all random draws.")] = 0,
    plot: Annotated[
        Path | None, output_option(metavar="FILE", help="Draw how many score below their original (PNG).")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Spoil translations in many ways, and tell how often the model notices.

    Destroyed translations (words gone, another segment's translation, the source in place of the translation,
    repeated or shuffled words, ...) should score below their original; changes that keep the meaning should
    leave the score where it was. Mistakes in one place, tags and upper case are reported only.

    Example:

        qe robustness --model output/demo/model --input output/demo/data/new.tsv --rows 100
    """
    from qe.api.models import model_folder
    from qe.display.terminal import show
    from qe.models.model import Model
    from qe.models.robustness import robustness_of
    from qe.models.robustness_table import robustness_table
    from qe.scoring.flags import Flags
    from qe.scoring.naming import name_pairs
    from qe.scoring.sample import segments_of

    judge = Model.load(*model_folder(model))
    segments = segments_of(judge, input_, name_pairs(columns or (), "--columns"))
    with progress_bar(quiet or as_json) as progress:
        checked = Flags.of(judge).text
        found = robustness_of(
            judge, segments, seed=seed, rows=rows, kinds=kinds or (), checked=checked, progress=progress
        )
    if plot is not None:
        from qe.display.drawing import save
        from qe.models.robustness_plot import robustness_plot

        save(robustness_plot(found), plot)
    if as_json:
        print_json("robustness", found.to_json())
    else:
        show(robustness_table(found))
