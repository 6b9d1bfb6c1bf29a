"""`qe models` at 80 columns: who learned, from which data, how good, when."""

from qe.tracking.registry import Version, versions_table

TAGS = {"model": "svr_rbf", "data": "wmt12", "metric": "mae", "value": "0.5612", "experiment": "demo"}
VERSION = Version("qe-demo", "1", ("challenger",), TAGS, {}, "run", "2026-11-26T01:40:00")


def test_a_version_says_learner_data_figure_and_date() -> None:
    text = versions_table([VERSION]).text(80)
    assert all(word in text for word in ("svr_rbf", "wmt12", "MAE", "0.5612", "2026-11-26", "challenger"))
    assert text.index("learner") < text.index("data") < text.index("metric") < text.index("created")


def test_they_are_there_with_names_as_long_as_people_give_them() -> None:
    tags = TAGS | {
        "model": "lightgbm on 139 features (surface, bag_of_words)",
        "data": "data.tsv: score, en to es",
    }
    text = versions_table(
        [Version("qe-customer", "12", ("challenger",), tags, {}, "run", VERSION.created)]
    ).text(80)
    assert all(word in text for word in ("lightgbm", "data.tsv", "MAE", "0.5612", "2026-11-26", "01:40"))
    assert max(map(len, text.splitlines())) <= 80


def test_a_version_without_tags_is_a_row_all_the_same() -> None:
    (record,) = versions_table([Version("mine", "3", (), {}, {}, "run", "2026-11-26")]).records()
    assert record["model"] == "mine" and record["learner"] in ("", None)
