"""The sentence that a comparison of MT systems begins with."""

from typing import Any

import pytest

from qe.systems.comparison_files import page
from qe.systems.report import verdict
from qe.systems.results import SystemsComparison
from tests.systems.test_buckets import compared, texts


def of(*systems: str, **changes: Any) -> SystemsComparison:
    lines = texts()
    return compared({**lines, "same": lines["old"], **changes}, "old", *systems)


def test_better_worse_and_alike_are_told_by_metric_with_the_scores() -> None:
    whole = of("new", "same")
    means = {name: whole.scores[name]["ter"].instability.mean for name in ("new", "old")}
    told = verdict(whole)
    assert f"TER {means['new']:.2f} against {means['old']:.2f}, better (p " in told  # lower is better
    assert told.count("no difference is shown (p 1.000)") == 2 and told.startswith("new: BLEU ")
    assert "worse" in verdict(of("new", new=["zz"] * len(texts()["old"])))


@pytest.mark.parametrize("systems", [("new",), ()])
def test_the_page_has_it_before_any_table(systems: tuple[str, ...]) -> None:
    html = page(of(*systems))
    assert f'<p class="verdict">{verdict(of(*systems))}'.replace("< ", "&lt; ") in html.partition("<table")[0]
