"""`qe triage`: find thresholds to publish, post-edit or retranslate, by costs."""

from pathlib import Path
from typing import Annotated

import typer

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
    scale_low: Annotated[float, input_option(help="Low end of the label.")] = 1.0,
    scale_high: Annotated[float, input_option(help="High end of the label.")] = 5.0,
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

    Exit code 1 where treating all segments alike costs no more.

    Example:

        qe triage --gold effort.txt --predictions scores.tsv --costs costs.yaml --plot triage.png
    """
    from features.storage.outputs import check_output
    from qe.data.dataset import LabelScale
    from qe.data.score_files import read_scores, same_segments
    from qe.display.terminal import show
    from qe.production.triage import read_costs, trade_off
    from qe.production.triage import triage as find
    from qe.production.triage_tables import triage_tables

    if plot is not None:
        check_output(plot, [gold, predictions, costs])
    table = read_costs(costs)
    labels = read_scores(gold, gold_column, scale_low, scale_high)
    predicted = read_scores(predictions, column)
    same_segments(labels, {predicted.name: predicted})
    scale = LabelScale(gold.name, scale_low, scale_high, not lower_is_better)
    decision = find(labels.scores, predicted.scores, table, scale, samples=samples, seed=seed)
    if plot is not None:
        from qe.display.drawing import save
        from qe.production.triage_plots import trade_off_figure

        curve = trade_off(labels.scores, predicted.scores, table, scale, decision.retranslate, seed=seed)
        save(trade_off_figure(curve, decision), plot)
    if as_json:
        import json

        print(json.dumps(decision.to_json(), indent=1))
    elif not quiet:
        show(*triage_tables(decision, scale.higher_is_better))
    if not decision.saved_share.value or decision.saved_share.value <= 0:
        raise typer.Exit(1)
