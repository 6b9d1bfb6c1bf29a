"""`qe report`: write one HTML page of a training run or of a scored file."""

from pathlib import Path
from typing import Annotated

import typer

from qe.cli._options import Quiet, Signed, input_option, output_option


def _usual(target: Path) -> Path:
    return target / "report.html" if target.is_dir() else target.with_suffix(".html")


def _place(ctx: typer.Context, given: Path | None) -> Path | None:
    target = ctx.params.get("target")
    return given if given is not None or target is None else _usual(target)


def report(
    target: Annotated[
        Path,
        typer.Argument(help="Output folder of `qe train` or `qe demo`, or a file that `qe score` wrote."),
    ],
    output: Annotated[
        Path | None,
        output_option("--output", "-o", callback=_place, help="Default: report.html in or beside it."),
    ] = None,
    model: Annotated[str | None, input_option("--model", "-m", help="Model that scored the file.")] = None,
    drift: Annotated[
        Path | None, input_option(help="Drift report by `qe score --drift`, for a scored file.")
    ] = None,
    triage: Annotated[
        Path | None, input_option(help="Cost table or thresholds, as in `qe score`, for a scored file.")
    ] = None,
    summary: Annotated[
        Path | None,
        input_option(help="Summary of the scores, which must be the model's. (default: the one beside them)"),
    ] = None,
    require_signature: Signed = None,
    quiet: Quiet = False,
) -> None:
    """Write one self-contained HTML page; it needs no network, prints, and reads well aloud.

    A run's page has figures with intervals, predictions, DeltaAvg, errors by length and by prediction,
    importance, the segments with the largest and smallest errors with explanations, the recipe. A scored
    file's page has scores beside those of training, drift, what to do with each band and what it costs,
    flags, the segments to look at first (score with --keep --flags --explain 3 --tokens, and the page shows
    all of it).

    Example:

        qe report output/demo

        qe report kept.jsonl --model output/demo/model --drift drift.json --triage costs.yaml -o page.html
    """
    from features.basics.errors import InputError
    from features.storage.files import atomic_file
    from features.storage.outputs import check_output

    is_run = target.is_dir()
    place = output or _usual(target)
    check_output(place, [path for path in (drift, triage, summary) if path] if is_run else
                 [path for path in (target, drift, triage, summary) if path])  # fmt: skip
    if is_run:
        given = {"--model": model, "--drift": drift, "--triage": triage, "--summary": summary}
        for name, value in given.items():
            if value is not None:
                raise InputError(
                    f"{name} is for scored files", location=target, remedy="leave it out for a run"
                )
        from qe.reports.run import run_page

        page = run_page(target)
    else:
        if model is None:
            raise InputError(
                "a scored file needs --model", location=target, remedy="the model that scored it"
            )
        from qe.api.models import model_folder
        from qe.reports.scored import scored_page

        folder, identity = model_folder(model, require_signature)
        page = scored_page(target, folder, identity=identity, drift=drift, costs=triage, summary=summary)
    with atomic_file(place) as temporary:
        temporary.write_text(page, "utf-8")
    if not quiet:
        print(f"report: {place}")
