"""Headers in use: a header more is a line more."""

import pytest

from features.basics.errors import InputError
from qe.data.headers import header_of
from qe.scoring.row_formats import Names

KNOWN = {
    "source": ["source", "SRC", "Original", "Source Text", "source-segment"],
    "target": ["target", "TGT", "MT", "hyp", "mt-output", "Machine Translation"],
    "scores": ["z_mean", "HTER", "score", "mqm"],
    "post_edit": ["pe", "Post-Edit"],
    "id": ["seg_id", "Segment ID"],
}
CASES = [(role, header) for role, headers in KNOWN.items() for header in headers]


@pytest.mark.parametrize(("role", "header"), CASES)
def test_a_header_in_use(role: str, header: str) -> None:
    assert header_of(role, ["other", header], "x") == header


def test_none_and_several() -> None:
    assert header_of("source", ["a", "b"], "x") == ""
    with pytest.raises(InputError, match="several columns could be the target: mt, hyp; choose one"):
        header_of("target", ["mt", "hyp"], "x")


# Headers of a table, what the model remembers, what the user says -> the names that scoring takes.
COMPLETED: dict[str, tuple[list[str], dict[str, str], dict[str, str], dict[str, str]]] = {
    "its own": (["source", "target", "mt"], {}, {}, {}),
    "in use": (["SRC", "mt", "x"], {}, {}, {"source": "SRC", "target": "mt"}),
    "remembered": (
        ["en", "es", "mt"],
        {"source": "en", "target": "es"},
        {},
        {"source": "en", "target": "es"},
    ),
    "remembered, but not there": (["src", "mt"], {"source": "en"}, {}, {"source": "src", "target": "mt"}),
    "given": (["src", "mt", "hyp"], {}, {"target": "hyp"}, {"target": "hyp", "source": "src"}),
    "an id": (["src", "mt", "seg_id"], {}, {}, {"source": "src", "target": "mt", "id": "seg_id"}),
    "two ids": (["src", "mt", "seg_id", "sent_id"], {}, {}, {"source": "src", "target": "mt"}),
}


@pytest.mark.parametrize("case", COMPLETED)
def test_names_are_completed(case: str) -> None:
    headers, remembered, given, expected = COMPLETED[case]
    names = Names(given).completed(("source", "target"), headers, remembered, "x")
    assert names.headers == expected


def test_what_was_completed_is_told() -> None:
    given = Names({"target": "hyp"})
    assert given.completed(("source", "target"), ["src", "hyp"], {}, "x").notes(given) == ("source = src",)
