"""A first experiment for a table: what it holds, and that it trains as it stands."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from features.basics.errors import InputError
from qe.config.experiment import Experiment
from qe.data.headers import LOWER, higher_is_better
from qe.getting_started.demo.generation import DemoData, generate
from qe.getting_started.init.experiment import Beginning, begin
from qe.getting_started.init.table import Wishes, parse_columns, read_labelled
from qe.training.check import load
from tests.factories import Monkeypatch, TempPaths, exit_code, ran

EN_ES = Wishes(languages=("en", "es"), higher_is_better=True)


@pytest.fixture(scope="module")
def data(tmp_path_factory: TempPaths) -> DemoData:
    return generate(tmp_path_factory.mktemp("data"), pairs=60, train=310, test=1, new=1)


@pytest.fixture(autouse=True)
def encoders(tmp_path: Path, monkeypatch: Monkeypatch) -> Path:
    """The folder of the user's encoders; there is none in it."""
    monkeypatch.setenv("QE_ENCODERS", str(tmp_path / "encoders"))
    return tmp_path / "encoders"


@pytest.fixture
def table(data: DemoData) -> pd.DataFrame:
    """The demo's labelled segments with a number on each source, so that none repeats."""
    columns = {name: data.column("train", name).read_text().splitlines() for name in ("source", "target")}
    frame = pd.DataFrame(columns)
    frame["source"] += [f" {row}" for row in range(len(frame))]
    frame["score"] = [float(line) for line in data.column("train", "scores").read_text().splitlines()]
    return frame


def begun(folder: Path, table: pd.DataFrame, wishes: Wishes = EN_ES, **options: object) -> Beginning:
    path = folder / "mine.tsv"
    table.to_csv(path, sep="\t", index=False, quoting=3)
    return begin(path, wishes, folder / "mine.yaml", **options)  # type: ignore[arg-type]


def kinds(experiment: Experiment) -> list[str]:
    return [config["kind"] for config in experiment.features]


@pytest.mark.parametrize("header", [*LOWER, "TER", "Z_Mean", "z-score", "DA"])
def test_direction_of_headers_that_say_it(header: str) -> None:
    assert higher_is_better(header, None, "say") == (header.lower() not in LOWER)
    assert higher_is_better(header, False, "say") is False


def recognised(folder: Path, headers: Sequence[str], columns: dict[str, str]) -> dict[str, str]:
    """The roles of a table with these headers, whose cells are all numbers."""
    rows = [[f"{row}.{column}" for column in range(len(headers))] for row in range(20)]
    path = folder / "a.tsv"
    path.write_text("".join("\t".join(cells) + "\n" for cells in [headers, *rows]))
    wishes = Wishes(languages=("en", "es"), columns=columns)
    return dict(read_labelled(path, wishes).options["columns"])


MLQE_PE = ["index", "original", "translation", "scores", "mean", "z_scores", "z_mean", "model_scores"]


def test_columns_of_mlqe_pe(tmp_path: Path) -> None:
    roles = recognised(tmp_path, MLQE_PE, parse_columns(["scores=z_mean"]))
    assert roles == {"source": "original", "target": "translation", "scores": "z_mean"}


def test_a_column_that_has_a_role_is_no_candidate_for_another(tmp_path: Path) -> None:
    headers = ["source", "target", "mt", "hter"]  # `target` is a reference here
    roles = recognised(tmp_path, headers, {"target": "mt", "reference": "target"})
    assert roles == {"source": "source", "target": "mt", "scores": "hter", "reference": "target"}


def test_all_that_is_missing_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("sorce\tmt\tscore\na\tb\t1\n")
    with pytest.raises(InputError) as raised:
        read_labelled(path, Wishes(languages=(None, "de")))
    first, languages, columns, direction = str(raised.value).splitlines()
    assert first == f"{path}: 3 mistakes:" and "the languages of the data are not known" in languages
    assert "no column is known as the source; name it: --columns source=sorce;" in columns
    assert "the direction of the label 'score' is not known" in direction


def test_languages_are_tags(tmp_path: Path, table: pd.DataFrame) -> None:
    made = begun(tmp_path, table, Wishes(languages=("en-US", "zh-Hant"), higher_is_better=True))
    segments = made.table.split.segments
    assert (segments.source_tokenizer.language, segments.target_tokenizer.language) == ("en", "zh")


def test_a_third_of_the_rows_can_be_the_corpus(tmp_path: Path, table: pd.DataFrame) -> None:
    made = begun(tmp_path, table, own_corpus=True)
    assert load(made.path).experiment == made.experiment
    assert kinds(made.experiment) == ["baseline17", "surface", "bag_of_words"]
    assert made.experiment.resources is not None and made.experiment.resources.optional
    assert "103 of 310 labels" in " ".join(made.path.read_text().split())


def test_without_parallel_text(tmp_path: Path, table: pd.DataFrame) -> None:
    made = begun(tmp_path, table)
    assert kinds(made.experiment) == ["surface", "bag_of_words"] and made.experiment.resources is None
    assert made.experiment.split.fold_by == "random" and made.table.dataset.scale.higher_is_better


def test_a_step_that_qe_init_would_not_take_is_not_offered(tmp_path: Path, table: pd.DataFrame) -> None:
    """Experiments of two classes have no encoder, whatever encoders there are."""
    assert [step.split(",")[0] for step in begun(tmp_path, table).steps] == [
        "a sentence encoder",
        "parallel text",
    ]
    table["score"] = np.where(table["score"] > table["score"].median(), "OK", "BAD")
    made = begun(tmp_path, table, overwrite=True)
    assert [step.split(",")[0] for step in made.steps] == ["parallel text"]


def test_translations_of_one_source_stay_together(tmp_path: Path, table: pd.DataFrame) -> None:
    table.loc[1, "source"] = table.loc[0, "source"]
    made = begun(tmp_path, table)
    assert made.experiment.split.fold_by == "document"
    assert made.experiment.dataset.options()["columns"]["doc_id"] == "source"


def test_with_parallel_text(tmp_path: Path, table: pd.DataFrame, data: DemoData) -> None:
    made = begun(tmp_path, table, parallel=(data.corpus_source, data.corpus_target))
    assert made.experiment.resources is not None
    assert made.experiment.resources.source is not None
    assert made.experiment.resources.source.resolve() == data.corpus_source.resolve()
    assert {"ibm1", "alignment", "baseline17"} < {*kinds(made.experiment)}
    assert "60 sentence pairs" in made.path.read_text()


def test_documents_stay_together_and_repeated_ids_are_left_out(tmp_path: Path, table: pd.DataFrame) -> None:
    table["Document ID"] = [f"d{row // 10}" for row in range(len(table))]
    table["id"] = 1
    made = begun(tmp_path, table)
    assert made.experiment.split.fold_by == "document"
    assert made.experiment.dataset.options()["columns"] == {
        "source": "source", "target": "target", "scores": "score", "doc_id": "Document ID",
    }  # fmt: skip
    assert "the column 'id' names no segment" in made.notes[0]


def test_post_edits_alone_give_hter(tmp_path: Path, table: pd.DataFrame, data: DemoData) -> None:
    table["pe"] = data.column("train", "post_edit").read_text().splitlines()
    made = begun(tmp_path, table.drop(columns="score"), Wishes(languages=("en", "es")))
    assert made.experiment.dataset.options()["label"] == "hter"
    assert not made.table.dataset.scale.higher_is_better


def test_paths_lead_through_links(tmp_path: Path, table: pd.DataFrame) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a/b")
    table.to_csv(tmp_path / "mine.tsv", sep="\t", index=False, quoting=3)
    made = begin(tmp_path / "mine.tsv", EN_ES, tmp_path / "link" / "x.yaml")
    assert load(made.path).experiment.dataset.path.resolve() == tmp_path / "mine.tsv"


HARD = ["no", "[a]: {b}", "a, b", "# x", "\u202e\x85odd", "'q' \"r\"", "ż🙂"]


@pytest.mark.parametrize("name", HARD)
def test_hard_names_come_through(tmp_path: Path, table: pd.DataFrame, name: str) -> None:
    path = tmp_path / "no, [x] # y.jsonl"
    table.rename(columns={"score": name}).to_json(path, orient="records", lines=True)
    wishes = Wishes(languages=("no", "es"), columns={"scores": name}, higher_is_better=False)
    made = begin(path, wishes, tmp_path / "new" / "ü b.yaml")
    loaded = load(made.path).experiment
    assert loaded.dataset.path.resolve() == path and loaded.name == "b"
    label = loaded.dataset.options()["label"]
    assert label == {"name": name, "low": None, "high": None, "higher_is_better": False}


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "tsv.gz"])
def test_kinds_of_tables(tmp_path: Path, table: pd.DataFrame, suffix: str) -> None:
    path = tmp_path / f"mine.{suffix}"
    {
        "csv": lambda: table.to_csv(path, index=False),
        "jsonl": lambda: table.to_json(path, orient="records", lines=True),
        "parquet": lambda: table.to_parquet(path),
        "tsv.gz": lambda: table.to_csv(path, sep="\t", index=False, quoting=3),
    }[suffix]()
    split = begin(path, EN_ES, tmp_path / "mine.yaml").table.split
    assert split.scores is not None and split.scores.tolist() == table["score"].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("corpus", [(), ("--own-corpus",), ("--parallel", "corpus.source", "corpus.target")])
def test_it_trains_as_it_stands(
    corpus: Sequence[str], tmp_path: Path, table: pd.DataFrame, monkeypatch: Monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.setenv("QE_CACHE_DIR", str(tmp_path / "cache"))
    generate(tmp_path, pairs=300, train=1, test=1, new=1)
    table.to_csv("mine.tsv", sep="\t", index=False, quoting=3)
    languages = ("--source-language", "en", "--target-language", "es")
    told = json.loads(ran("init", "mine.tsv", *languages, "--higher-is-better", *corpus, "--json").out)
    assert told["experiment"] == "mine.yaml" and told["segments"] == 310
    assert exit_code("train", "mine.yaml", "--check") == 0
    assert exit_code("train", "mine.yaml", "--set", "search.trials=2", "--json") == 0
    report = json.loads(Path("output/mine/report.json").read_text())
    assert report["cross_validation"]["systems"]["mine"]["spearman"] > 0.2


@pytest.mark.parametrize(
    ("file", "given", "expected"),
    [("train", None, "train-model"), ("mine", None, "mine"), ("train", "a", "a")],
)
def test_no_split_and_no_label_has_the_default_name(
    tmp_path: Path, table: pd.DataFrame, file: str, given: str | None, expected: str
) -> None:
    table.to_csv(tmp_path / "data.tsv", sep="\t", index=False, quoting=3)
    made = begin(tmp_path / "data.tsv", EN_ES, tmp_path / f"{file}.yaml", name=given)
    assert made.experiment.name == expected


def test_an_encoder_of_the_user_is_used_and_told(encoders: Path, table: pd.DataFrame, tmp_path: Path) -> None:
    for package in ("onnx", "onnxruntime", "safetensors", "tokenizers"):
        pytest.importorskip(package)
    from tests.features.encoding.made import Tiny, onnx_folder

    without = begun(tmp_path, table)
    assert "encoder" not in kinds(without.experiment)
    assert "qe encoders make multilingual-e5-small" in without.path.read_text()
    (encoders / "a-broken-one").mkdir(parents=True)
    onnx_folder(encoders / "tiny", Tiny.of_seed())
    beginning = begun(tmp_path, table, overwrite=True)
    assert {"kind": "encoder", "model": "tiny"} in beginning.experiment.features
    assert any("your encoder 'tiny' is used" in note for note in beginning.notes)
