"""`qe triage`: find thresholds to publish, post-edit or retranslate, by costs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from qe.production.triage import Estimate, Triage


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
    seed: Annotated[int, seed_option("Of the folds and the bootstrap.", TESTS)] = 0,
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
    from qe.production.triage import read_costs, trade_off
    from qe.production.triage import triage as find

    if plot is not None:
        check_output(plot, [gold, predictions, costs])
    table = read_costs(costs)
    labels = read_scores(gold, gold_column, scale_low, scale_high)
    predicted = read_scores(predictions, column)
    same_segments(labels, {predicted.name: predicted})
    scale = LabelScale(gold.name, scale_low, scale_high, not lower_is_better)
    decision = find(labels.scores, predicted.scores, table, scale, samples=samples, seed=seed)
    if plot is not None:
        from qe.evaluation.plots import save
        from qe.production.triage_plots import trade_off_figure

        curve = trade_off(labels.scores, predicted.scores, table, scale, decision.retranslate, seed=seed)
        save(trade_off_figure(curve, decision), plot)
    if as_json:
        import json

        print(json.dumps(decision.to_json(), indent=1))
    elif not quiet:
        _print(decision, scale.higher_is_better)
    if not decision.saved_share.value or decision.saved_share.value <= 0:
        raise typer.Exit(1)


def _print(decision: "Triage", higher_is_better: bool) -> None:
    better, worse = ("at least", "below") if higher_is_better else ("at most", "above")
    rules = {
        "publish": None if decision.publish is None else f"predicted {better} {decision.publish:.3f}",
        "post-edit": "the rest",
        "retranslate": None
        if decision.retranslate is None
        else f"predicted {worse} {decision.retranslate:.3f}",
    }
    for action, rule in rules.items():
        print(f"{action:12} {_percent(decision.shares[action]):>24}  {rule or 'never'}")
    print(f"published but bad                     {_percent(decision.published_bad)} of the published")
    print(f"not published but good                {_percent(decision.edited_needlessly)} of the others")
    wrongly = _percent(decision.retranslated_wrongly)
    print(f"retranslated, though editing is cheaper {wrongly} of the retranslated")
    print(f"mean cost per segment                 {_number(decision.cost)}")
    for action, estimate in decision.saved.items():
        print(f"  saved against {action + ' everything':24}{_number(estimate)}")
    print(f"saved of the cheapest single treatment {_percent(decision.saved_share)}")
    print(decision.verdict)
    print(f"thresholds from {decision.n:,} segments; figures cross-fitted, with 95 % bootstrap intervals")


def _percent(estimate: "Estimate") -> str:
    if estimate.value is None:
        return "undefined"
    interval = "" if estimate.ci is None else f" [{100 * estimate.ci[0]:.1f}, {100 * estimate.ci[1]:.1f}]"
    return f"{100 * estimate.value:.1f} %{interval}"


def _number(estimate: "Estimate") -> str:
    if estimate.value is None:
        return "undefined"
    return f"{estimate.value:.4f}" + (
        "" if estimate.ci is None else f" [{estimate.ci[0]:.4f}, {estimate.ci[1]:.4f}]"
    )
