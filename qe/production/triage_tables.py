"""Tables of a triage.

They show what is done with which segments, how often that is wrong, and what it saves.
"""

from collections.abc import Mapping

from qe.display.numbers import NumberText, count, estimate, percent, percent_estimate
from qe.display.table import Column, Table
from qe.production.thresholds import Thresholds, rules
from qe.production.triage import Estimate, Triage


def triage_tables(decision: Triage, higher_is_better: bool) -> list[Table]:
    """The actions with their rules; errors, costs and savings with 95 % intervals."""
    told = rules(decision.publish, decision.retranslate, higher_is_better, "predicted")
    actions = [[action, _share(decision.shares[action]), rule] for action, rule in told.items()]
    figures = {
        "published but bad": (_share(decision.published_bad), "of the published"),
        "not published but good": (_share(decision.edited_needlessly), "of the others"),
        "retranslated, though editing is cheaper": (
            _share(decision.retranslated_wrongly), "of the retranslated",
        ),
        "mean cost per segment": (_cost(decision.cost), ""),
        **{f"saved against {name} everything": (_cost(one), "") for name, one in decision.saved.items()},
        "saved of the cheapest single treatment": (_share(decision.saved_share), ""),
    }  # fmt: skip
    note = (
        f"thresholds from {count(decision.n)} segments; figures cross-fitted, with 95 % bootstrap intervals"
    )
    rows = [[name, *cells] for name, cells in figures.items()]
    return [
        Table("", [Column("action"), Column("segments", "share"), Column("rule")], actions),
        Table("", [Column("figure"), Column("value"), Column("", "of")], rows, [decision.verdict, note]),
    ]


def actions_table(thresholds: Thresholds, counts: Mapping[str, int], scored: int) -> Table:
    """How many of the scored segments each action takes, and by which rule."""
    rows = [
        [
            action,
            count(counts.get(action, 0)),
            percent(counts.get(action, 0) / scored if scored else None),
            rule,
        ]
        for action, rule in thresholds.rules().items()
    ]
    return Table("", [Column("action"), Column("segments"), Column("share"), Column("rule")], rows)


def _share(figure: Estimate) -> NumberText:
    return percent_estimate(figure.value, figure.ci)


def _cost(figure: Estimate) -> NumberText:
    return estimate(figure.value, figure.ci, 4)
