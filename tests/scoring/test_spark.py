"""The Spark engine against the local one, on a real cluster: two executors in processes of their own."""

import gzip
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from features.resources.ngrams import NgramCounts
from features.text.tokens import Tokens
from qe.cli import main
from qe.data.table_rows import read_rows
from qe.data.writing import kind_of
from qe.getting_started.demo.run import EXPERIMENT
from qe.models.model import Model
from qe.production.triage import Thresholds
from qe.scoring.job_summary import ScoredFile
from qe.scoring.scorer import Options

pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'mtqe[spark]')")
if shutil.which("java") is None:
    pytest.skip("no Java runtime (openjdk-17-jre-headless) is installed", allow_module_level=True)

from qe.scoring import spark_features
from qe.scoring.spark import check_installed, on_loopback, ship_folder, shipped, spark_session
from tests.factories import Capsys, Monkeypatch, TempPaths, exit_code, refuses, score_file, score_table
from tests.scoring.test_word_level import word_models

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
CLUSTER = "local-cluster[2,1,1024]"
HEADER = b"id\tscore\treason\n"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: TempPaths) -> Iterator[Any]:
    """One session for all tests. Small splits, so that small files too are read by several tasks."""
    patch = pytest.MonkeyPatch()
    # A task that fails is not tried again: what fails here is meant to.
    patch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.task.maxFailures=1 pyspark-shell")
    patch.setenv("SPARK_LOCAL_DIRS", str(tmp_path_factory.mktemp("spark")))
    patch.setenv("SPARK_WORKER_DIR", str(tmp_path_factory.mktemp("worker")))
    try:
        with spark_session(CLUSTER, quiet=True) as session:
            session.conf.set("spark.sql.shuffle.partitions", "4")
            yield session
    finally:
        patch.undo()


@pytest.fixture
def small_splits(spark: Any) -> Iterator[None]:
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "4096")
    yield
    spark.conf.set("spark.sql.files.maxPartitionBytes", before)


def run(*arguments: str) -> None:
    """The command line, which must end well."""
    try:
        main(list(arguments))
    except SystemExit as stopped:
        assert not stopped.code


def parts(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name.startswith("part-"))


def same_as_local(
    spark: Any, model: Path, path: Path, output: str, options: Options | None = None, **more: Any
) -> ScoredFile:
    """Scores a file with both engines into `output`; rows and summary must be equal, byte for byte."""
    local, folder = path.parent / f"local-{output}", path.parent / output
    expected = score_file(model, [path], local, options=options, workers=1, **more)
    outcome = score_table(spark, model, str(path), str(folder), options=options, **more)
    assert outcome.rows > 0
    for name in outcome.to_json().keys() - {"repeated", "notes"}:  # equal rows are in several processes
        assert getattr(outcome, name) == getattr(expected, name), name
    if output.endswith(".parquet"):
        tables_ = [pq.read_table(part) for part in parts(folder)]
        assert pa.concat_tables(tables_).equals(pq.read_table(local))
        return outcome
    first = gzip.decompress(local.read_bytes()) if output.endswith(".gz") else local.read_bytes()
    header = first[: first.index(b"\n") + 1] if kind_of(folder) in ("tsv", "csv") else b""
    content = [
        gzip.decompress(p.read_bytes()) if p.suffix == ".gz" else p.read_bytes() for p in parts(folder)
    ]
    assert all(part.startswith(header) for part in content if part)
    whole = local.read_bytes()
    whole = gzip.decompress(whole) if output.endswith(".gz") else whole
    assert b"".join(part.removeprefix(header) for part in content) == whole.removeprefix(header)
    return outcome


def new_rows(demo_run: Any, n: int) -> list[dict[str, str]]:
    rows = read_rows(demo_run.output / "data" / "new.tsv")
    return [row for (row, _), _ in zip(rows, range(n), strict=False)]


@pytest.mark.usefixtures("small_splits")
def test_tsv_with_every_kind_of_row(spark: Any, demo_run: Any, demo_model: Path, tmp_path: Path) -> None:
    lines = [f"{row['source']}\t{row['target']}" for row in new_rows(demo_run, 150)]
    lines[3:3] = ["only a source", "", "a\tb\tc", " \tblank source", 'a "quoted\tword" \'', "a\rb\tc\u2028d"]
    path = tmp_path / "in.tsv"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(["source\ttarget", *lines]).encode() + b"\r\n")
    same_as_local(spark, demo_model, path, "out.tsv")
    assert len(parts(tmp_path / "out.tsv")) > 1, "one task read it all: nothing was shown"


@pytest.mark.usefixtures("small_splits")
def test_jsonl_to_csv_with_intervals_and_explanations(
    spark: Any, demo_run: Any, demo_model: Path, tmp_path: Path
) -> None:
    rows: list[Any] = [
        {**row, "id": f"id,{i}" if i % 3 else i} for i, row in enumerate(new_rows(demo_run, 60))
    ]
    rows[5:5] = [{"source": "no target"}, {"source": 7, "target": "x"}, [1], {"source": None, "target": ""}]
    path = tmp_path / "in.jsonl"
    text = "\n".join([*(json.dumps(row, ensure_ascii=False) for row in rows), "{", '"x"'])
    path.write_text(text, encoding="utf-8")
    same_as_local(spark, demo_model, path, "out.csv", Options(interval=0.9, explain=2))


def test_parquet_to_parquet(spark: Any, demo_run: Any, demo_model: Path, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{**row, "id": i} for i, row in enumerate(new_rows(demo_run, 90))]
    rows[4]["target"], rows[5]["id"], rows[6]["source"] = None, None, " "
    path = tmp_path / "in.parquet"
    columns = {name: [row[name] for row in rows] for name in ("id", "source", "target")}
    pq.write_table(pa.table({"other": [[1]] * 90, **columns}), path, row_group_size=30)
    same_as_local(spark, demo_model, path, "out.parquet", Options(interval=0.8))


@pytest.fixture
def thresholds(demo_model: Path, tmp_path: Path) -> Thresholds:
    path = tmp_path / "triage.json"
    path.write_text('{"publish": 3.0, "retranslate": 2.0, "n": 200}')
    return Thresholds.from_file(path, demo_model, Model.load(demo_model).scale)


@pytest.mark.usefixtures("small_splits")
@pytest.mark.parametrize("output", ["all.tsv", "all.csv", "all.parquet"])
def test_all_that_can_be_asked_for_beside_the_score(
    output: str, spark: Any, demo_run: Any, demo_model: Path, tmp_path: Path, thresholds: Thresholds
) -> None:
    """Own names of columns, all columns kept, bounds, reasons, flags, actions, signs of rubbish, drift."""
    rows = [*new_rows(demo_run, 120), {"source": "one two 3", "target": "=banana banana banana"}]
    lines = [f"n{i}\t{row['source']}\t=SUM\t{row['target']}" for i, row in enumerate(rows)]
    lines[7] = "n7\tonly a source\t\t"
    path = tmp_path / "in.tsv"
    path.write_text("\n".join(["key\tQUELLE\tnote\tZIEL", *lines]) + "\n", "utf-8")
    outcome = same_as_local(
        spark, demo_model, path, output,
        Options(interval=0.9, explain=2, triage=thresholds, flags=True, outside=True),
        columns={"source": "QUELLE", "target": "ZIEL", "id": "key"}, keep=True, suffix="_qe",
        safe_cells=output != "all.parquet",
    )  # fmt: skip
    assert len(parts(tmp_path / output)) > 1 and outcome.drift is not None
    assert outcome.drift.n == outcome.scored == 120 and outcome.reasons == {"empty target": 1}
    assert sum(outcome.actions.values()) == 120 and outcome.flagged


def test_kept_columns_of_parquet_have_their_types(
    spark: Any, demo_run: Any, demo_model: Path, tmp_path: Path
) -> None:
    rows = new_rows(demo_run, 40)
    table = pa.table({
        "n": pa.array(range(40), pa.int32()), "src": [row["source"] for row in rows],
        "share": [None if i == 3 else i / 7 for i in range(40)], "mt": [row["target"] for row in rows],
        "labels": [[f"a{i}", None] for i in range(40)],
    })  # fmt: skip
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=15)
    same_as_local(spark, demo_model, tmp_path / "in.parquet", "kept.tsv", keep=True)
    local = tmp_path / "local.parquet"
    score_file(demo_model, [tmp_path / "in.parquet"], local, keep=True, workers=1)
    score_table(spark, demo_model, str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet"), keep=True)
    outcome = pa.concat_tables([pq.read_table(part) for part in parts(tmp_path / "out.parquet")])
    assert outcome.to_pylist() == pq.read_table(local).to_pylist()


@pytest.fixture(scope="module")
def word_level(tmp_path_factory: TempPaths) -> Path:
    return word_models(tmp_path_factory.mktemp("words"))


@pytest.mark.slow
@pytest.mark.parametrize("output", ["words.jsonl", "words.tsv"])
def test_words_are_tagged(output: str, spark: Any, word_level: Path, tmp_path: Path) -> None:
    path = tmp_path / "in.tsv"
    shutil.copy(word_level / "data" / "new.tsv", path)
    same_as_local(spark, word_level / "model", path, output, Options(tokens=True))


_KILLED = """
import json, sys, threading, time
import psutil
from pathlib import Path
from qe.scoring.settings import JobSettings
from qe.scoring.spark import score_table, spark_session

killed = []

def kill():
    while not killed:
        for process in psutil.Process().children(recursive=True):
            try:
                both = process.cmdline(), process.parent().cmdline()
                if all("pyspark.daemon" in words for words in both) and process.cpu_times().user > 3:
                    process.kill()
                    killed.append(process.pid)
                    return
            except (psutil.NoSuchProcess, psutil.ZombieProcess):
                pass
        time.sleep(0.05)

threading.Thread(target=kill, daemon=True).start()
model, source, output = sys.argv[1:]
with spark_session("local-cluster[2,1,1024]", quiet=True) as session:
    session.conf.set("spark.sql.files.maxPartitionBytes", str(Path(source).stat().st_size // 5))
    done = score_table(session, Path(model), source, output, JobSettings(chunk=200))
print(json.dumps({"killed": len(killed), **done.to_json()}))
"""


@pytest.mark.slow
def test_a_task_whose_process_is_killed_is_repeated_and_no_row_is_lost_or_doubled(
    demo_run: Any, demo_model: Path, tmp_path: Path
) -> None:
    rows = new_rows(demo_run, 2000)
    count = len(rows)
    lines = [
        f"{rows[i % count]['source']}\t{rows[(i + i // count) % count]['target']}\n" for i in range(30_000)
    ]
    path = tmp_path / "in.tsv"
    path.write_text("source\ttarget\n" + "".join(lines) + "only a source\n", "utf-8")
    arguments = [str(demo_model), str(path), str(tmp_path / "out.tsv")]
    # Without the setting of the session above, by which no task is tried again.
    environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_SUBMIT_ARGS"}
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, *arguments], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    expected = score_file(demo_model, [path], tmp_path / "local.tsv", workers=1)
    assert told["killed"] == 1, "nothing was killed: nothing is shown"
    assert (told["rows"], told["scored"], told["reasons"]) == (30_001, 30_000, dict(expected.reasons))
    assert expected.drift is not None and told["drift"] == json.loads(json.dumps(expected.drift.to_json()))
    joined = b"".join(part.read_bytes().removeprefix(HEADER) for part in parts(tmp_path / "out.tsv"))
    assert HEADER + joined == (tmp_path / "local.tsv").read_bytes()


def test_a_folder_of_files_is_numbered_in_the_order_of_paths(
    spark: Any, demo_run: Any, demo_model: Path, tmp_path: Path
) -> None:
    rows = new_rows(demo_run, 40)
    folder = tmp_path / "in.tsv"
    folder.mkdir()
    for name, chosen in (("b", rows[:5]), ("a", rows[5:])):
        lines = [f"{row['source']}\t{row['target']}" for row in chosen]
        (folder / name).write_text("\n".join(["source\ttarget", *lines]) + "\n", "utf-8")
    score_table(spark, demo_model, str(folder), str(tmp_path / "out.parquet"))
    by_name = {row["id"]: row["score"] for part in parts(tmp_path / "out.parquet") for row in
             pq.read_table(part).to_pylist()}  # fmt: skip
    whole = tmp_path / "whole.tsv"
    whole.write_text(
        "source\ttarget\n" + "".join(f"{r['source']}\t{r['target']}\n" for r in rows[5:] + rows[:5])
    )
    score_file(demo_model, [whole], tmp_path / "whole.parquet", workers=1)
    expected = pq.read_table(tmp_path / "whole.parquet").to_pylist()
    assert by_name == {row["id"]: row["score"] for row in expected}


def test_a_table_that_is_no_files(spark: Any, demo_run: Any, demo_model: Path, tmp_path: Path) -> None:
    rows = new_rows(demo_run, 10)
    local = tmp_path / "in.parquet"
    pq.write_table(pa.Table.from_pylist([{**row, "id": f"{i}"} for i, row in enumerate(rows)]), local)
    spark.createDataFrame(pq.read_table(local)).createOrReplaceTempView("segments")
    score_table(spark, demo_model, "segments", str(tmp_path / "out.parquet"))
    score_file(demo_model, [local], tmp_path / "local.parquet", workers=1)
    outcome = pa.concat_tables([pq.read_table(part) for part in parts(tmp_path / "out.parquet")])
    assert outcome.sort_by("id").equals(pq.read_table(tmp_path / "local.parquet").sort_by("id"))


def test_what_is_there_is_kept(spark: Any, demo_run: Any, demo_model: Path, tmp_path: Path) -> None:
    path, output = demo_run.output / "data" / "new.tsv", tmp_path / "out.tsv"
    output.mkdir()
    (output / "mine").write_text("kept")
    for overwrite, message in ((False, "is there already"), (True, "no folder that Spark wrote")):
        refuses(message, score_table, spark, demo_model, str(path), str(output), overwrite=overwrite)
    assert (output / "mine").read_text() == "kept"


def test_the_command(spark: Any, demo_run: Any, demo_model: Path, tmp_path: Path, capsys: Capsys) -> None:
    path, output = tmp_path / "in.tsv", tmp_path / "out.tsv"
    lines = [f"{row['source']}\t{row['target']}\n" for row in new_rows(demo_run, 50)]
    path.write_text("source\ttarget\n" + "".join(lines), "utf-8")
    for again in ([], ["--overwrite"]):
        arguments = ["--model", str(demo_model), "--input", str(path), "--output", str(output), *again]
        run("score", "--engine", "spark", "--json", *arguments)
        printed = json.loads(capsys.readouterr().out)
    assert printed["rows"] == printed["scored"] == 50 and printed["drift"]["n"] == 50
    assert (printed["reasons"], printed["output"]) == ({}, str(output))
    score_file(demo_model, [path], tmp_path / "local.tsv", workers=1)
    joined = b"".join(part.read_bytes().removeprefix(HEADER) for part in parts(output))
    assert HEADER + joined == (tmp_path / "local.tsv").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engine", "flink"], "unknown engine 'flink'"),
        (["--master", "spark://x:7077"], "--master is Spark's"),
        (["--engine", "spark", "--resume"], "--resume is for the local engine"),
        (["--engine", "spark", "--input", "y"], "--engine spark takes one table"),
    ],
)
def test_options_that_do_not_go_together(
    arguments: list[str], message: str, demo_model: Path, tmp_path: Path, capsys: Capsys
) -> None:
    given = ["score", "--model", str(demo_model), "--input", "x.tsv", "--output", str(tmp_path / "o.tsv")]
    assert exit_code(*given, *arguments) == 2 and message in capsys.readouterr().err


@pytest.mark.slow
def test_everything_listens_on_loopback(spark: Any) -> None:
    assert on_loopback(CLUSTER)
    spark.range(4, numPartitions=4).mapInArrow(lambda batches: batches, "id long").count()
    jvms = [p for p in psutil.Process().children(recursive=True) if "java" in p.name()]
    assert len(jvms) == 3, "a driver and two executors"
    listening = [
        c.laddr.ip for p in jvms for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN
    ]
    assert listening and {ip.removeprefix("::ffff:") for ip in listening} == {"127.0.0.1"}


@pytest.mark.slow
def test_a_folder_lies_once_on_every_executor_and_is_memory_mapped(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    np.save(tmp_path / "folder" / "deep" / "numbers.npy", np.arange(1000))
    name = ship_folder(spark, tmp_path / "folder")
    assert ship_folder(spark, tmp_path / "folder") == name and len(spark.sparkContext.listArchives) >= 1

    def look(batches: Any) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            array = np.load(shipped(name) / "deep" / "numbers.npy", mmap_mode="r")
            mapped = "numbers.npy" in Path("/proc/self/maps").read_text()
            columns = {
                "where": [str(shipped(name))] * batch.num_rows,
                "sum": [int(array.sum())] * batch.num_rows,
            }
            yield pa.RecordBatch.from_pydict({**columns, "mapped": [mapped] * batch.num_rows})

    frame = spark.range(8, numPartitions=8).mapInArrow(look, "where string, sum long, mapped boolean")
    collected = frame.toPandas()
    assert set(collected["sum"]) == {499_500} and set(collected["mapped"]) == {True}
    assert 1 <= collected["where"].nunique() <= 2 and str(tmp_path) not in collected["where"][0]


def files_of(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


def saved(counts: NgramCounts, path: Path) -> dict[str, bytes]:
    path.mkdir()
    counts.save(path)
    return files_of(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "words", "texts"), [(5, 300, 400), (3, 3, 40), (1, 5, 10)], ids=["many", "few words", "order 1"]
)
def test_ngrams_are_the_local_ones(
    order: int, words: int, texts: int, spark: Any, tmp_path: Path, monkeypatch: Monkeypatch
) -> None:
    monkeypatch.setattr(spark_features, "SLICE", 700)
    generator = random.Random(order)
    vocabulary = ["<s>", "Ünï", "\U0001f600", *(f"w{i}" for i in range(words))]
    lists = [generator.choices(vocabulary, k=generator.randint(0, 30)) for _ in range(texts)]
    tokens = Tokens.from_lists(lists)
    expected = NgramCounts.from_tokens(tokens, order=order)
    counted = spark_features.count(spark, tokens, order=order)
    assert counted.fingerprint == expected.fingerprint
    assert saved(counted, tmp_path / "spark") == saved(expected, tmp_path / "local")


def test_resources_build_makes_the_same_bundle(spark: Any, demo_run: Any, tmp_path: Path) -> None:
    sides = [str(demo_run.output / "data" / f"corpus.{side}") for side in ("source", "target")]
    only = ["--only", "source_ngrams5", "--only", "target_ngrams"]
    arguments = ["resources", "build", "--source", sides[0], "--target", sides[1], *only, "--quiet"]
    run(*arguments, "--output", str(tmp_path / "local"))
    run(*arguments, "--output", str(tmp_path / "spark"), "--engine", "spark")
    for part in ("source_ngrams5", "target_ngrams"):
        assert files_of(tmp_path / "spark" / part) == files_of(tmp_path / "local" / part)
    manifests = [json.loads((tmp_path / e / "manifest.json").read_text()) for e in ("local", "spark")]
    for manifest in manifests:
        del manifest["checksum"]  # of the times too
        for part in manifest["parts"].values():
            del part["seconds"], part["cpu_seconds"]
    assert manifests[0] == manifests[1]


def test_features_are_the_local_ones(spark: Any, demo_run: Any, tmp_path: Path) -> None:
    """Families with and without resources, and one that learns from labels."""
    families = "[{kind: baseline17}, {kind: surface}, {kind: lm}, {kind: ibm1}, {kind: bag_of_words}]"
    arguments = ["features", "extract", str(EXPERIMENT), "--data-root", str(demo_run.output), "--quiet"]
    arguments += ["--set", f"features={families}"]
    caches = tmp_path / "one", tmp_path / "other"
    for cache in caches:
        shutil.copytree(demo_run.output / "cache" / "resources", cache / "resources")
    run(*arguments, "--cache-dir", str(caches[0]), "--output", str(tmp_path / "local.parquet"))
    arguments += ["--engine", "spark"]
    run(*arguments, "--cache-dir", str(caches[1]), "--output", str(tmp_path / "spark.parquet"))
    local, outcome = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("local", "spark"))
    assert outcome.column_names == local.column_names and outcome.num_rows == local.num_rows > 300
    for name in local.column_names[2:]:
        left, right = (np.asarray(t[name].to_numpy(), np.float64) for t in (local, outcome))
        assert left.tobytes() == right.tobytes(), name


BAD: dict[str, tuple[str, bytes, str]] = {
    "no column": ("x.tsv", b"source\tother\na\tb\n", "needs the column 'target'"),
    "not UTF-8": ("x.jsonl", b'{"source": "\xe9", "target": "b"}\n', "not UTF-8 .byte 0xe9"),
    "record of two lines": ("x.csv", b'source,target\n"a\nb",c\n', "row 1: not a CSV record on one line"),
    "damaged gzip": ("x.jsonl.gz", gzip.compress(b'{"source": "a"}\n' * 2000)[:-20], "Spark could not read"),
    "skipped by Spark": ("_x.jsonl", b"{}\n", "Spark skips files"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_an_error_and_leaves_nothing(
    case: str, spark: Any, demo_model: Path, tmp_path: Path
) -> None:
    name, content, message = BAD[case]
    (tmp_path / name).write_bytes(content)
    refuses(message, score_table_caught, spark, demo_model, str(tmp_path / name), str(tmp_path / "out.tsv"))
    assert [path.name for path in tmp_path.iterdir()] == [name]


def score_table_caught(session: Any, *arguments: Any) -> None:
    """As the command runs it: inside the session's block, where errors of Spark are put into words."""
    with spark_session(None) as active:
        assert active is session
        score_table(active, *arguments)


@pytest.mark.slow
def test_without_pyspark_or_java_the_remedy_is_named(monkeypatch: Monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    refuses("Java runtime.*JAVA_HOME=.*apt-get install openjdk", check_installed)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    refuses(r"pip install 'mtqe\[spark\]'", check_installed)
