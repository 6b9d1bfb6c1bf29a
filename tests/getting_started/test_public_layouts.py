"""The first hour (docs/own-data.md) on three public layouts, from an empty folder."""

import json
from itertools import islice
from pathlib import Path

import pandas as pd
import pytest

from features.storage.files import read_lines
from tests.factories import Find, exit_code

ROWS, NEW = 150, 20
LANGUAGES = {"mlqe": "ro en", "wmt12": "en es", "wmt18": "en de"}
SAID = {"mlqe": ["--columns", "scores=z_mean"], "wmt12": ["--higher-is-better"], "wmt18": []}


def lines(path: Path, n: int) -> list[str]:
    return list(islice(read_lines(path), n))


def table(layout: str, shared: Find, n: int) -> str:
    """The first rows as a table: the TSV of MLQE-PE as it is, plain files of WMT pasted under a header."""
    if layout == "mlqe":
        folder = shared("mlqe-pe") / "ro-en" / "direct-assessments" / "train"
        return "\n".join(lines(folder / "train.roen.df.short.tsv", n + 1)) + "\n"
    files = {
        "wmt12": {
            "source": "training_set/source.eng",
            "target": "training_set/target_system.spa",
            "effort": "training_set_annotations/target_system.effort",
        },
        "wmt18": {
            "src": "en-de.smt/train.src.gz",
            "mt": "en-de.smt/train.mt.gz",
            "hter": "en-de.smt/train.hter.gz",
        },
    }[layout]
    columns = [lines(shared(f"{layout}-qe") / file, n) for file in files.values()]
    return "".join("\t".join(row) + "\n" for row in [tuple(files), *zip(*columns, strict=True)])


def run(*arguments: str) -> int:
    return exit_code(*arguments, "--quiet")


@pytest.mark.slow
@pytest.mark.parametrize("layout", LANGUAGES)
def test_the_first_hour_on_a_public_layout(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_data: Find
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    whole = table(layout, shared_data, ROWS + NEW).splitlines(keepends=True)
    Path("data.tsv").write_text("".join(whole[: ROWS + 1]), "utf-8")
    Path("new.tsv").write_text("".join([whole[0], *whole[ROWS + 1 :]]), "utf-8")
    source, target = LANGUAGES[layout].split()
    languages = ["--source-language", source, "--target-language", target]
    assert run("init", "data.tsv", *languages, *SAID[layout]) == 0
    assert run("train", "data.yaml", "--set", "search.trials=2") == 0
    report = json.loads(Path("output/data/report.json").read_text())
    assert report["data"]["splits"] == {"train": ROWS} or sum(report["data"]["splits"].values()) == ROWS
    model = ["--model", "output/data/model"]
    assert run("score", *model, "--input", "new.tsv", "--output", "scores.tsv") == 0
    scores = pd.read_csv("scores.tsv", sep="\t", keep_default_na=False)
    assert len(scores) == NEW and (scores["reason"] == "").all()
    assert run("report", "output/data") == 0
    assert '<p class="verdict">' in Path("output/data/report.html").read_text("utf-8")
