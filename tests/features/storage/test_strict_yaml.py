"""Settings in YAML: plain values, each key once, and everything else one message."""

from pathlib import Path

import pytest

from features.basics.errors import InputError
from features.storage.strict_yaml import MAX_BYTES, parse, read_mapping
from tests.factories import refuses

REFUSED = {
    "a value that holds itself": ("a: &a [*a]", "recursive node"),
    "deep lists": ("[" * 5000, "too many values inside each other"),
    "a long file": ("a: '" + "x" * MAX_BYTES + "'", f"more than {MAX_BYTES:,} bytes"),
    "a bad whole number": ("a: !!int abc", "x.yaml: not valid YAML: a value is not of its tag"),
    "an object": ("a: !!python/object/apply:os.system [true]", "could not determine a constructor"),
    "half of a surrogate pair": ('a: "\\ud800"', "half of a surrogate pair"),
    "NUL": ('a: "\\0"', "NUL"),
    "a list as a key": ("? [1]\n: 2", "found unhashable key"),
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
        "text: a\nnull: ~\nwhole: [0, -3, 0x10, 999999999999999999]\n"
        "number: [.5, 1e-3, 1.0e+3, .inf]\ntruth: [yes, off]\n"
    )
    assert parse(text, "x.yaml") == {
        "text": "a", None: None, "whole": [0, -3, 16, 10**18 - 1],
        "number": [0.5, "1e-3", 1000.0, float("inf")], "truth": [True, False],
    }  # fmt: skip


def test_what_is_no_plain_number_is_text_as_it_is_written() -> None:
    """YAML 1.1 reads them as 8, 10, 90 and more: a setting of another type then says what it got."""
    written = ["010", "1_0", "1_0.5", "1:30", "1:30.5", "1" + "0" * 25, "9" * 5000]
    assert parse(f"[{', '.join(written)}]", "x.yaml") == written


def test_a_date_is_text_possible_or_not() -> None:
    assert parse("[2012-05-01, 2012-13-45, 2012-05-01T10:00:00Z]", "x.yaml") == [
        "2012-05-01", "2012-13-45", "2012-05-01T10:00:00Z",
    ]  # fmt: skip


def test_a_merge_gives_what_the_mapping_does_not_say_itself() -> None:
    text = "a: &a {b: 1, c: 2}\nd: {c: 3, <<: *a}\ne: {<<: [*a, {b: 5, f: 6}]}\ng: <<"
    merged = parse(text, "x.yaml")
    assert merged["d"] == {"b": 1, "c": 3} and merged["e"] == {"b": 1, "c": 2, "f": 6} and merged["g"] == "<<"
    refuses("expected a mapping or list of mappings for merging", parse, "{<<: 3}", "x.yaml")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    refuses("no such feature list", read_mapping, tmp_path / "a.yaml", "feature list")
    refuses("cannot be read", read_mapping, tmp_path, "feature list")
    (tmp_path / "b.yaml").write_bytes(b"a: \xff")
    refuses("no UTF-8 at byte 3", read_mapping, tmp_path / "b.yaml", "feature list")
    (tmp_path / "c.yaml").write_text("[1]")
    with pytest.raises(InputError, match="must be a mapping of keys, as every feature list is"):
        read_mapping(tmp_path / "c.yaml", "feature list")
