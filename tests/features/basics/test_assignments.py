"""`NAME=VALUE`: one reader for every option that takes it."""

from pathlib import Path

import pytest

from features.basics.assignments import assigned, assignments, named_file, named_files, numbers, once
from features.basics.errors import InputError
from tests.factories import refuses


@pytest.mark.parametrize("text", ["name", "=value", "name=", "", "="])
def test_other_forms_are_refused_with_the_form_and_what_was_seen(text: str) -> None:
    refuses(f"^--x: expected NAME=FILE, but got '{text}'$", assigned, text, "NAME=FILE", "--x")


def test_values_may_hold_an_equals_sign_and_be_empty_where_that_is_said() -> None:
    assert assigned("a=b=c", "NAME=VALUE", "--x") == ("a", "b=c")
    assert assignments(["id=", "source=en"], "NAME=HEADER", "--x", empty=True) == {"id": "", "source": "en"}


def test_names_are_given_once() -> None:
    refuses("--x: 'a' is given twice; leave one out", assignments, ["a=1", "b=2", "a=3"], "NAME=VALUE", "--x")
    with pytest.raises(InputError, match="--x: 'y' is given twice; use NAME=FILE"):
        named_files(["y.txt", "other/y.tsv"], "--x", lambda path: path.stem)
    assert once([("a", 1), ("b", 2)], "--x") == {"a": 1, "b": 2}


@pytest.mark.parametrize("text", ["mae", "=1", "mae=x", "mae=nan", "mae=inf", "mae=0", "mae=-1"])
def test_numbers_are_finite_and_above_their_bound(text: str) -> None:
    with pytest.raises(InputError, match=f"expected METRIC=MARGIN, a number above 0, but got '{text}'"):
        numbers([text], "METRIC=MARGIN", "--margin", above=0)
    assert numbers(["chrf:word_order=2=0.5"], "METRIC=MARGIN", "--margin") == {"chrf:word_order=2": 0.5}


def test_a_path_that_is_there_may_hold_an_equals_sign(tmp_path: Path) -> None:
    odd = tmp_path / "a=b.txt"
    assert named_file(str(odd)) == (f"{tmp_path}/a", Path("b.txt"))
    odd.write_text("")
    assert named_file(str(odd)) == ("", odd)
    assert named_file(f"x={odd}") == ("x", odd)
