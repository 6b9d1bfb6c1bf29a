"""What models, their intervals and their stored parts refuse, by the place that the message names."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qe.models import Label
from qe.models.drift import Profile
from qe.models.explanation import Background
from qe.models.intervals import conformal_quantile
from qe.models.robustness import judge_of, robustness_of
from qe.models.taxonomy import Grouping
from qe.models.word_tags import WordTags
from tests.factories import refuses
from tests.models.test_robustness import SCALE, SEGMENTS, by_length, reading_annotations

NINE, NOWHERE = np.arange(1.0, 10.0), Path(__file__).parent / "none"
# What is refused, the function and its arguments.
CASES: list[tuple[Any, ...]] = [
    ("no translations", robustness_of, by_length, SEGMENTS.take([]), SCALE),
    ("'half_dropped'", partial(robustness_of, kinds=("half_droped",)), by_length, SEGMENTS, SCALE),
    ("needs 'annotation_target'", judge_of, reading_annotations()),
    ("none: .*cannot explain its scores.*train it again", Background.load, NOWHERE),
    ("none: .*no profile of its training data.*train it again", Profile.load, NOWHERE),
    ("0.95 needs 19 .* there are 9", conformal_quantile, NINE, 0.95),
    *((f"between 0 and 1.* {x:g};", conformal_quantile, NINE, x) for x in (0.0, 1.0, 90.0)),
    ("`edges` must rise", Label.make, Grouping("label", edges=(3.0, 2.0)), NINE, NINE, ()),
]


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_what_is_refused(case: tuple[Any, ...]) -> None:
    refuses(*case)


FIGURES = {"slope": 1.0, "intercept": 0.0, "f1_mult": 0.3, "mcc": 0.2, "n": 5, "bad": 2}
WORD_TAGS: dict[str, dict[str, Any]] = {
    "unknown key .version": {"version": 2},
    "is missing": {"places": {"word": {"slope": 1}}},
    "slope of 0": {"places": {"word": FIGURES | {"slope": -1.0}}},
    "mcc.* 0 .. 1": {"places": {"word": FIGURES | {"mcc": 1.5}}},
}


@pytest.mark.slow
@pytest.mark.parametrize("place", WORD_TAGS)
def test_damaged_calibrations_of_word_tags(place: str, tmp_path: Path) -> None:
    content = {"insertions": 1.0, "places": {"word": FIGURES}, **WORD_TAGS[place]}
    (tmp_path / "word_tags.json").write_text(json.dumps(content))
    refuses(f"word_tags.json: .*{place}", WordTags.load, tmp_path)
