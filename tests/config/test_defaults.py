"""The defaults that docs/experiments.md states are those of the experiment file's sections."""

import re

from qe.config.experiment import EvaluationSection, IntervalsSection, SearchSection, SplitSection
from tests.conftest import ROOT


def stated() -> dict[str, str]:
    """Key -> the last cell of its row in the table of keys."""
    page = (ROOT / "docs" / "experiments.md").read_text("utf-8")
    return dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", page, re.MULTILINE))


def test_the_page_states_the_defaults_of_the_sections() -> None:
    split, search = SplitSection.model_validate({}), SearchSection.model_validate({})
    assert stated()["split"] == f"{split.folds} {split.fold_by} folds"
    objective = " and ".join(search.objective).upper()
    assert stated()["search"] == f"{search.most_trials} {search.sampler.upper()} trials on {objective}"
    assert stated()["intervals"] == f"`{IntervalsSection.model_validate({}).method}`"
    evaluation = EvaluationSection.model_validate({})
    metric, correction = evaluation.metric.upper(), evaluation.correct.capitalize()
    robustness = "yes" if evaluation.robustness else "no"
    bad = "worst quarter" if evaluation.bad is None else evaluation.bad
    assert (
        stated()["evaluation"]
        == f"{metric}, as many as the comparisons need, {correction}, {robustness}, {bad}"
    )
