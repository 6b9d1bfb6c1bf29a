"""`qe report`: write one HTML page of a training run or of a scored file."""

from pathlib import Path
from typing import Annotated

import typer


def _default_output(target: Path) -> Path:
    return target / "report.html" if target.is_dir() else target.with_suffix(".html")


def _output_or_default(ctx: typer.Context, output: Path | None) -> Path | None:
    target = ctx.params.get("target")
    return output if output is not None or target is None else _default_output(target)


def report(
    target: Path,
    output: Annotated[Path | None, typer.Option(callback=_output_or_default)] = None,
    model: str | None = None,
    drift: Path | None = None,
    triage: Path | None = None,
    summary: Path | None = None,
    worst: Annotated[int | None, typer.Option(min=1, max=10_000)] = None,
    require_signature: Path | None = None,
    quiet: bool = False,
) -> None:
    """Write one self-contained HTML page that needs no network, prints, and works with screen readers.

    The page of a run has figures with intervals, predictions, DeltaAvg, errors by length and by prediction,
    importance, the segments with the largest and smallest errors with explanations, and the recipe. The page
    of a scored file has scores compared with those of training, drift, the action for each band and its cost,
    flags, and the segments to look at first (score with --keep --flags --explain 3 --tokens, and the page
    shows all of it).

    Example:

        qe report output/demo

        qe report kept.jsonl --model output/demo/model --drift drift.json --triage costs.yaml -o page.html

        qe report kept.jsonl --model output/demo/model --worst 100

    arguments:
      target  Output folder of `qe train` or `qe demo`, or a file that `qe score` wrote.

    input:
      -m, --model MODEL  For a scored file: the model that scored it.
      --drift FILE  For a scored file: drift report of `qe score --drift`.
      --triage FILE  For a scored file: cost table or thresholds, as in `qe score`.
      --summary FILE  For a scored file: summary of the same job. (default: the one next to the scores)
      --worst N  For a scored file: number of segments shown, of the worst scores. (default: 20)

    output:
      -o, --output FILE  The page. (default: report.html in the run, or the name of the scores with .html)
    """
    from features.basics.errors import NO_MODEL, InputError
    from features.storage.files import atomic_file
    from features.storage.outputs import check_output

    is_run = target.is_dir()
    place = output or _default_output(target)
    read = [path for path in (drift, triage, summary) if path]
    check_output(place, read if is_run else [target, *read])
    if is_run:
        given = {"--model": model, "--drift": drift, "--triage": triage, "--summary": summary}
        for name, value in (*given.items(), ("--worst", worst)):
            if value is not None:
                raise InputError(
                    f"{name} is for scored files", location=target, remedy="leave it out for a run"
                )
        from qe.training.page import run_page

        page = run_page(target)
    else:
        if model is None:
            remedy = f"give the model that scored it; {NO_MODEL}"
            raise InputError("a scored file needs --model", location=target, remedy=remedy)
        from qe.api.models import model_folder
        from qe.reports.scored import scored_page

        folder, identity = model_folder(model, require_signature)
        page = scored_page(
            target, folder, identity=identity, drift=drift, costs=triage, summary=summary, worst=worst
        )
    with atomic_file(place) as temporary:
        temporary.write_text(page, "utf-8")
    if not quiet:
        print(f"report: {place}")
