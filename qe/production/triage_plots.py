"""The trade-off of triage as a figure: what is published, what slips through, what it costs."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from qe.display import drawing
from qe.display.numbers import in_words, percent, percent_estimate
from qe.evaluation.plots import errors_let_through
from qe.production.risk import RiskControl
from qe.production.triage import ACTIONS, TradeOff, Triage


def trade_off_figure(curve: TradeOff, decision: Triage, unit: str = "cost") -> Figure:
    figure = drawing.new_figure(10.4, 4.8)
    errors, costs = figure.subplots(1, 2)
    drawing.plain_axes(errors)
    drawing.plain_axes(costs)
    _draw_errors(errors, curve, decision)
    _draw_costs(costs, curve, decision, unit)
    return figure


def _draw_errors(axes: Axes, curve: TradeOff, decision: Triage) -> None:
    share = 100 * curve.published
    axes.fill_between(share, *(100 * curve.bad_ci.T), color=drawing.BLUE, alpha=0.15, linewidth=0)
    axes.plot(
        share, 100 * curve.bad, color=drawing.BLUE, linewidth=1.8, label="by prediction, with 95 % interval"
    )
    axes.plot(
        share,
        100 * curve.perfect,
        color=drawing.GREEN,
        linestyle="--",
        label="by gold label: the best possible",
    )
    axes.axhline(100 * curve.base, color=drawing.GREY, linestyle=":", label="at random")
    published, bad = decision.shares["publish"].value, decision.published_bad.value
    if published and bad is not None:
        axes.plot(
            100 * published,
            100 * bad,
            "o",
            color=drawing.VERMILLION,
            markersize=7,
            label="chosen, cross-fitted",
        )
    axes.set(xlim=(0, 100), ylim=(0, None), xlabel="segments published (%)")
    axes.set_ylabel("published segments that are bad (%)")
    drawing.legend(axes, "best")
    drawing.headline(
        axes, "What slips through", f"n = {decision.n:,} segments · {percent(curve.base, 0)} are bad"
    )


def _draw_costs(axes: Axes, curve: TradeOff, decision: Triage, unit: str) -> None:
    axes.plot(100 * curve.published, curve.cost, color=drawing.BLUE, linewidth=1.8, label="by prediction")
    assert decision.cost.value is not None  # a mean over all segments
    colours = (drawing.ORANGE, drawing.GREY, drawing.VERMILLION)
    for action, colour in zip(ACTIONS, colours, strict=True):
        value = decision.cost.value + (decision.saved[action].value or 0.0)
        if value <= 1.6 * max(np.nanmax(curve.cost), decision.cost.value):
            axes.axhline(value, color=colour, linestyle=":", label=f"{action} everything")
    x = 100 * (decision.shares["publish"].value or 0.0)
    low, high = decision.cost.ci or (decision.cost.value, decision.cost.value)
    whisker = [[decision.cost.value - low], [high - decision.cost.value]]
    axes.errorbar(
        x, decision.cost.value, yerr=whisker, fmt="o", color=drawing.VERMILLION, ecolor=drawing.INK,
        elinewidth=1, capsize=2, markersize=7, label="chosen, cross-fitted",
    )  # fmt: skip
    axes.set(xlim=(0, 100), xlabel="segments published (%)", ylabel=f"mean {unit} per segment")
    drawing.legend(axes, "best")
    saved = decision.saved_share
    told = in_words(percent_estimate(saved.value, saved.ci))
    drawing.headline(axes, "What it costs", f"saved against the cheapest single treatment: {told}")


def risk_figure(control: RiskControl) -> Figure:
    """Plots the share of all bad segments that each threshold lets through on the curve of its group."""
    levels = f"at most {percent(control.risk)} bad with confidence {percent(control.confidence, 0)}"
    figure = errors_let_through(control.curves, f"bad: {control.bad} · dots: {levels}")
    for index, (name, curve) in enumerate(control.curves.items()):
        chosen = control.thresholds[name]
        if chosen.publish is not None:
            share = 100 * chosen.published / chosen.labels
            errors = np.interp(share, 100 * curve.published, 100 * curve.errors)
            colour = drawing.PALETTE[index % len(drawing.PALETTE)]
            figure.axes[0].plot(share, errors, "o", color=colour, markersize=7)
    return figure
