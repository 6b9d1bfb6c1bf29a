"""The trade-off of triage as a figure: what is published, what slips through, what it costs."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from qe.display import charts
from qe.display.numbers import in_words, percent, percent_estimate
from qe.evaluation.plots import errors_let_through
from qe.production.risk import RiskControl
from qe.production.triage import ACTIONS, TradeOff, Triage

_CHOSEN = "chosen, cross-fitted"


def trade_off_figure(curve: TradeOff, decision: Triage, unit: str = "cost") -> Figure:
    figure, (errors, costs) = charts.panels(10.4, 4.8, columns=2)
    _draw_errors(errors, curve, decision)
    _draw_costs(costs, curve, decision, unit)
    return figure


def _draw_errors(axes: Axes, curve: TradeOff, decision: Triage) -> None:
    published, bad, ends = 100 * curve.published, 100 * curve.bad, 100 * curve.bad_ci
    charts.curve(axes, published, bad, ends, label="by prediction, with 95 % interval")
    best = "by gold label: the best possible"
    charts.curve(axes, published, 100 * curve.perfect, color=charts.GREEN, linestyle="--", label=best)
    axes.axhline(100 * curve.base, color=charts.GREY, linestyle=":", label="at random")
    chosen, chosen_bad = decision.shares["publish"].value, decision.published_bad.value
    if chosen and chosen_bad is not None:
        axes.plot(100 * chosen, 100 * chosen_bad, "o", color=charts.VERMILLION, markersize=7, label=_CHOSEN)
    charts.describe(
        axes, "What slips through", f"n = {decision.n:,} segments · {percent(curve.base, 0)} are bad", "best",
        xlim=(0, 100), ylim=(0, None), xlabel="segments published (%)",
        ylabel="published segments that are bad (%)",
    )  # fmt: skip


def _draw_costs(axes: Axes, curve: TradeOff, decision: Triage, unit: str) -> None:
    charts.curve(axes, 100 * curve.published, curve.cost, label="by prediction")
    cost = decision.cost.value
    assert cost is not None  # a mean over all segments
    for action, colour in zip(ACTIONS, (charts.ORANGE, charts.GREY, charts.PURPLE), strict=True):
        value = cost + (decision.saved[action].value or 0.0)
        if value <= 1.6 * max(np.nanmax(curve.cost), cost):
            axes.axhline(value, color=colour, linestyle=":", label=f"{action} everything")
    published, ends = 100 * (decision.shares["publish"].value or 0.0), decision.cost.ci or (cost, cost)
    charts.curve(axes, [published], [cost], [ends], 1, bars=True, marker="o", markersize=7, label=_CHOSEN)
    saved = in_words(percent_estimate(decision.saved_share.value, decision.saved_share.ci))
    charts.describe(
        axes, "What it costs", f"saved against the cheapest single treatment: {saved}", "best",
        xlim=(0, 100), xlabel="segments published (%)", ylabel=f"mean {unit} per segment",
    )  # fmt: skip


def risk_figure(control: RiskControl) -> Figure:
    """Plots the share of all bad segments that each threshold lets through on the curve of its group."""
    levels = f"at most {percent(control.risk)} bad with confidence {percent(control.confidence, 0)}"
    figure = errors_let_through(control.curves, f"bad: {control.bad} · dots: {levels}")
    for index, (name, curve) in enumerate(control.curves.items()):
        chosen = control.thresholds[name]
        if chosen.publish is not None:
            share = 100 * chosen.published / chosen.labels
            errors = np.interp(share, 100 * curve.published, 100 * curve.errors)
            colour = charts.PALETTE[index % len(charts.PALETTE)]
            figure.axes[0].plot(share, errors, "o", color=colour, markersize=7)
    return figure
