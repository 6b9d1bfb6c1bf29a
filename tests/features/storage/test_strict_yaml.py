"""Settings in YAML: plain values, each key once, and everything else one message."""

from pathlib import Path

import pytest

from features.basics.errors import InputError
from features.storage.strict_yaml import MAX_BYTES, parse, read_mapping
from tests.factories import refuses

REFUSED = {
    "a value that holds itself": ("a: &a [*a]", "recursive node"),
    "a mapping that holds itself": ("a: &a {b: *a}", "recursive node"),
    "deep lists": ("[" * 5000, "too many values inside each other"),
    "a long file": ("a: '" + "x" * MAX_BYTES + "'", f"more than {MAX_BYTES:,} bytes"),
    "a bad whole number": ("a: !!int abc", "x.yaml:1: not valid YAML: 'abc' is not a whole number"),
    "an empty whole number": ("a: !!int ''", "is not a whole number"),
    "a list as a whole number": ("a: !!int [1]", "this is not a whole number"),
    "a bad number": ("a: !!float abc", "'abc' is not a number"),
    "a bad truth value": ("a: !!bool maybe", "'maybe' is not true or false"),
    "a huge whole number": ("a: 1" + "0" * 25, "more than 64 bits"),
    "5,000 digits": ("a: " + "9" * 5000, "is not a whole number"),
    "underscores": ("a: 1_0", "x.yaml:1: not valid YAML: '1_0' is no plain number; put text in quotes"),
    "underscores in a fraction": ("a: 1_0.5", "'1_0.5' is no plain number"),
    "octal digits": ("a: 010", "'010' is no plain number"),
    "minutes": ("a: 1:30", "'1:30' is no plain number"),
    "minutes with a fraction": ("a: 1:30.5", "'1:30.5' is no plain number"),
    "underscores by a tag": ("a: !!int 1_0", "'1_0' is no plain number"),
    "a date by its tag": ("a: !!timestamp 2012-13-45", "could not determine a constructor"),
    "an object": ("a: !!python/object/apply:os.system [true]", "could not determine a constructor"),
    "a set": ("a: !!set {b, c}", "could not determine a constructor"),
    "binary": ("a: !!binary x", "could not determine a constructor"),
    "half of a surrogate pair": ('a: "\\ud800"', "half of a surrogate pair"),
    "NUL": ('a: "\\0"', "NUL"),
    "a control character": ("a: \x01", "special characters are not allowed"),
    "a list as a key": ("? [1]\n: 2", "a key must be a plain value"),
    "a mapping as text": ("a: !!str {b: c}", "expected a scalar node"),
    "a text as a mapping": ("!!map a", "this is no mapping"),
    "a key twice": ("a: 1\nb: 2\na: 3", "x.yaml:3: not valid YAML: the key 'a' occurs twice"),
    "two documents": ("a: 1\n---\nb: 2", "but found another document"),
    "no YAML": ("a: [", "not valid YAML"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_what_settings_never_hold_is_one_message(text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        parse(text, "x.yaml")
    assert message in str(refused.value) and "\n" not in str(refused.value)


def test_plain_values_are_read() -> None:
    text = (
        "text: a\nnull: ~\nwhole: [0, -3, 0x10, 9223372036854775807]\n"
        "number: [.5, 1e-3, 1.0e+3, .inf]\ntruth: [yes, off]\n"
    )
    assert parse(text, "x.yaml") == {
        "text": "a", None: None, "whole": [0, -3, 16, 2**63 - 1],
        "number": [0.5, "1e-3", 1000.0, float("inf")], "truth": [True, False],
    }  # fmt: skip


def test_a_date_is_text_possible_or_not() -> None:
    assert parse("[2012-05-01, 2012-13-45, 2012-05-01T10:00:00Z]", "x.yaml") == [
        "2012-05-01", "2012-13-45", "2012-05-01T10:00:00Z",
    ]  # fmt: skip


def test_a_merge_gives_what_the_mapping_does_not_say_itself() -> None:
    text = "a: &a {b: 1, c: 2}\nd: {c: 3, <<: *a}\ne: {<<: [*a, {b: 5, f: 6}]}\ng: <<"
    merged = parse(text, "x.yaml")
    assert merged["d"] == {"b": 1, "c": 3} and merged["e"] == {"b": 1, "c": 2, "f": 6} and merged["g"] == "<<"
    refuses("expected a mapping or list of mappings for merging", parse, "{<<: 3}", "x.yaml")


def test_a_few_aliases_are_read() -> None:
    assert parse("a: &a {b: [1]}\nc: *a\nd: [*a, *a]", "x.yaml")["d"] == [{"b": [1]}, {"b": [1]}]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    refuses("no such feature list", read_mapping, tmp_path / "a.yaml", "feature list")
    refuses("cannot be read", read_mapping, tmp_path, "feature list")
    (tmp_path / "b.yaml").write_bytes(b"a: \xff")
    refuses("no UTF-8 at byte 3", read_mapping, tmp_path / "b.yaml", "feature list")
    (tmp_path / "c.yaml").write_text("[1]")
    with pytest.raises(InputError, match="must be a mapping of keys, as every feature list is"):
        read_mapping(tmp_path / "c.yaml", "feature list")
