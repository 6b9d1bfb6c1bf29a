"""What options and long texts are refused for, a row each: the place with words of the rule, and the call."""

from functools import partial
from typing import Any

import pytest

from features import ParallelCorpus
from features.basics.assignments import assigned, assignments, configured, named_files, numbers
from features.edits.ter import ter
from qe.data import from_post_edits
from tests.factories import PAIR, refuses, tokens
from tests.features.basics.test_options import PARTS
from tests.features.basics.test_text_limits import LONG

SHORT, LONGER = tokens("a", "a"), tokens("a", LONG)
REFUSED = [
    ("part 'part': unknown option 'sise'", partial(configured, PARTS, "part:sise=4")),
    ("part 'part': expected option=value, but got 'size'", partial(configured, PARTS, "part:size")),
    ("'size' of part 'part': .*whole number", partial(configured, PARTS, "part:size=x")),
    ("'share' of part 'part': .*number or null", partial(configured, PARTS, "part:share=x")),
    ("'loud' of part 'part': .*true or false", partial(configured, PARTS, "part:loud=perhaps")),
    ("'kind' of part 'part': unknown value 'c'", partial(configured, PARTS, "part:kind=c")),
    *((f"^--x: expected NAME=FILE, but got '{text}'$", partial(assigned, text, "NAME=FILE", "--x"))
      for text in ("name", "=value", "name=", "", "=")),
    ("^--x: 'a' is given twice", partial(assignments, ["a=1", "b=2", "a=3"], "NAME=VALUE", "--x")),
    ("^--x: 'y' is given twice; use NAME=FILE",
     partial(named_files, ["y.txt", "other/y.tsv"], "--x", lambda path: path.stem)),
    *((f"^--m: .*above 0, but got '{text}'", partial(numbers, [text], "METRIC=MARGIN", "--m", above=0))
      for text in ("mae", "=1", "mae=x", "mae=nan", "mae=inf", "mae=0", "mae=-1")),
    ("post-edit 2: 2,001 words", partial(from_post_edits, ["a", "b"], ["a", LONG], "es")),
    ("segment 2: 2,001 words, but the edit rate", partial(ter, SHORT, LONGER)),
    ("segment 2: 2,001 words, but the edit rate", partial(ter, LONGER, SHORT)),
    ("^line 2 of the parallel corpus: 2,001 words",
     partial(ParallelCorpus.from_lines, [("a", "b"), ("", LONG), ("a", "b")], *PAIR)),
]  # fmt: skip


@pytest.mark.parametrize(("location", "call"), REFUSED)
def test_refused(location: str, call: Any) -> None:
    refuses(location, call)
