"""`qe triage`: find thresholds to publish, post-edit or retranslate, by costs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qe.cli._common import print_json
from qe.cli._options import (
    MOST_SAMPLES,
    TESTS,
    Column,
    GoldColumn,
    Json,
    LowerIsBetter,
    Quiet,
    input_option,
    output_option,
    seed_option,
    test_option,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qe.data.dataset import LabelScale
    from qe.data.score_files import ScoreFile


def triage(
    gold: Annotated[Path, input_option("--gold", "-g", help="True labels: lines, or a table's column.")],
    predictions: Annotated[
        Path, input_option("--predictions", "-p", help="Predictions for the same segments.")
    ],
    costs: Annotated[
        Path,
        input_option(help="YAML: good, publish_bad, post_edit, post_edit_worst, retranslate; see below."),
    ],
    gold_column: GoldColumn = None,
    column: Column = None,
    model: Annotated[
        str | None,
        input_option(
            metavar="MODEL",
            help="Take the label's ends and direction from the model; scores of others are refused.",
        ),
    ] = None,
    scale_low: Annotated[
        float | None, input_option(help="Low end of the label. (default: the model's, or 1 of 1 to 5)")
    ] = None,
    scale_high: Annotated[float | None, input_option(help="High end of the label.")] = None,
    lower_is_better: LowerIsBetter = False,
    plot: Annotated[Path | None, output_option(help="Draw the trade-off into this PNG file.")] = None,
    samples: Annotated[int, test_option(min=1, max=MOST_SAMPLES, help="Bootstrap samples.")] = 1000,
    seed: Annotated[int, seed_option("Seed of the folds and the bootstrap.", TESTS)] = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Find the thresholds that cost least, and what they would save and let through.

    The cost table (YAML; per segment, in any one unit): `good`, the label from which a segment may be
    published; `publish_bad`, the cost of publishing a worse one (`publish_good` otherwise, 0 by default);
    `post_edit` and `post_edit_worst`, of editing the best and the worst segment; `retranslate`.

    Exit code 1 where treating all segments alike costs no more, and where all get the same action.

    Example:

        qe triage --gold effort.txt --predictions scores.tsv --costs costs.yaml --plot triage.png
    """
    from features.storage.outputs import check_output
    from qe.data.score_files import read_scores, same_segments
    from qe.display.terminal import show
    from qe.production.triage import read_costs, trade_off
    from qe.production.triage import triage as find
    from qe.production.triage_tables import triage_tables
    from qe.scoring.job_summary import told_of

    if plot is not None:
        check_output(plot, [gold, predictions, costs])
    told = told_of(predictions)
    if told is not None and model is not None:
        _check_model(told, predictions, model)
    table = read_costs(costs)
    scale = _scale(read_scores(gold, gold_column), model, (scale_low, scale_high), lower_is_better)
    labels = read_scores(gold, gold_column, scale.low, scale.high)
    predicted = read_scores(predictions, column)
    same_segments(labels, {predicted.name: predicted})
    decision = find(labels.scores, predicted.scores, table, scale, samples=samples, seed=seed)
    if plot is not None:
        from qe.display.drawing import save
        from qe.production.triage_plots import trade_off_figure

        curve = trade_off(labels.scores, predicted.scores, table, scale, decision.retranslate, seed=seed)
        save(trade_off_figure(curve, decision), plot)
    if as_json:
        by = {} if told is None else {"model": told["model"]}
        print_json("triage", {**decision.to_json(), **by})
    else:
        if told is not None:
            print(f"scores by {told['model']['name']}, fingerprint {told['model']['fingerprint'][:12]}")
        show(*triage_tables(decision, scale.higher_is_better))
    if decision.alike is not None or not decision.saved_share.value or decision.saved_share.value <= 0:
        raise typer.Exit(1)


def _check_model(told: "Mapping[str, Any]", predictions: Path, model: str) -> None:
    from qe.api.models import model_folder
    from qe.scoring.job_summary import check_model

    check_model(told, predictions, model_folder(model)[1])


def _scale(
    labels: "ScoreFile", model: str | None, given: tuple[float | None, float | None], lower_is_better: bool
) -> "LabelScale":
    from features.basics.errors import InputError
    from qe.api.models import model_folder
    from qe.data.dataset import LabelScale
    from qe.models import description

    low, high = given
    if model is not None:
        described = description.read(model_folder(model)[0])
        ends = (described.scale.low, described.scale.high)
        low, high = ends if None not in ends else (described.limits or (None, None))
        low, high = (low if given[0] is None else given[0]), (high if given[1] is None else given[1])
        return LabelScale(described.scale.name, low, high, described.scale.higher_is_better)
    smallest, largest = float(labels.scores.min()), float(labels.scores.max())
    if given == (None, None) and (smallest < 1 or largest > 5):
        raise InputError(
            f"its labels lie from {smallest:g} to {largest:g}, and nothing says where the label ends",
            location=labels.path,
            remedy="give --model, or --scale-low and --scale-high",
        )
    return LabelScale(
        labels.name, 1.0 if low is None else low, 5.0 if high is None else high, not lower_is_better
    )
