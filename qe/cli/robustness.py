"""`qe robustness`: test a model on perturbed translations."""

from pathlib import Path
from typing import Annotated

import typer

from qe.cli.shared.options import Seed
from qe.cli.shared.printing import emit
from qe.cli.shared.progress import progress_bar


def robustness(
    model: str,
    input_: Path,
    columns: list[str] | None = None,
    rows: Annotated[int | None, typer.Option(min=1)] = None,
    kinds: list[str] | None = None,
    seed: Seed = 0,
    plot: Path | None = None,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Test a model on perturbed translations: how often does the score react as it should?

    Destroyed translations (missing words, the translation of another segment, the source instead of the
    translation, repeated or shuffled words, ...) should score below their original; changes that keep the
    meaning should not change the score. Local errors, tags and upper case are reported only.

    Example:

        qe robustness --model output/demo/model --input output/demo/data/new.tsv --rows 100

    input:
      -m, --model MODEL  Folder of a model or its run, or models:/NAME@champion.
      -i, --input FILE  Translations that the model was not trained on.

    options:
      --rows N  Rows to perturb. (default: as many as 20 CPU seconds allow, from 30 to 100)
      --kinds NAME...  Perturbations. (default: all)

    output:
      --plot FILE  Plot of the share that scores below the original (PNG, SVG or PDF).
    """
    from qe.api.models import model_folder
    from qe.models.model import Model
    from qe.models.robustness import judge_of, robustness_of
    from qe.models.robustness_table import robustness_table
    from qe.scoring.checks import Flags
    from qe.scoring.naming import name_pairs
    from qe.scoring.pool import segments_of

    loaded = Model.load(*model_folder(model))
    segments = segments_of(loaded, input_, name_pairs(columns or (), "--columns"))
    with progress_bar(quiet or json) as progress:
        checked = Flags.from_model(loaded).text
        found = robustness_of(
            judge_of(loaded), segments, loaded.scale,
            seed=seed, rows=rows, kinds=kinds or (), checked=checked, progress=progress,
        )  # fmt: skip
    if plot is not None:
        from qe.display.drawing import save
        from qe.models.robustness_table import robustness_plot

        save(robustness_plot(found), plot)
    emit("robustness", found, json, robustness_table(found))
