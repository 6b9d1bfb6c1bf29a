"""`qe models` at 80 columns: who learned, from which data, how good, when."""

from qe.tracking.registry import Version, versions_table

TAGS = {"model": "svr_rbf", "data": "wmt12", "metric": "mae", "value": "0.5612", "experiment": "demo"}
VERSION = Version("qe-demo", "1", ("challenger",), TAGS, {}, "run", "2026-11-26T01:40:00")


def test_a_version_says_learner_data_figure_and_date() -> None:
    text = versions_table([VERSION]).text(80)
    assert all(word in text for word in ("svr_rbf", "wmt12", "MAE", "0.5612", "2026-11-26", "challenger"))
    assert text.index("learner") < text.index("data") < text.index("metric") < text.index("created")


def test_a_version_without_tags_is_a_row_all_the_same() -> None:
    (record,) = versions_table([Version("mine", "3", (), {}, {}, "run", "2026-11-26")]).records()
    assert record["model"] == "mine" and record["learner"] in ("", None)
