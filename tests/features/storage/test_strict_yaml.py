"""Settings in YAML: plain values, each key once, and everything else one message."""

from features.storage.strict_yaml import parse


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
