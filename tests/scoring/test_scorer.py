"""Repeated segments are scored once and nothing changes; what goes wrong is said, and work is kept."""

import errno
import gzip
import os
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qe.data.table_rows import read_rows
from qe.models import Model
from qe.scoring import Options, Scorer, jobs, scorer
from tests.factories import Monkeypatch, refuses, score_file

Rows = list[tuple[dict[str, str], str]]


@pytest.fixture(scope="session")
def rows(demo_model: Path) -> Rows:
    return [(dict(c), "") for c, _ in read_rows(demo_model.parent / "data" / "new.tsv")]


@pytest.fixture(scope="session")
def model(demo_model: Path) -> Model:
    return Model.load(demo_model)


def write_tsv(path: Path, rows: Rows) -> Path:
    text = "".join(f"{r['id']}\t{r['source']}\t{r['target']}\n" for r, _ in rows)
    data = ("id\tsource\ttarget\n" + text).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_words_of_a_few_segments_are_described_at_once(
    model: Model, rows: Rows, monkeypatch: Monkeypatch
) -> None:
    """Scores are the same to the last bit; a model that judges no words computes all rows together."""
    expected, seen, extract = Scorer(model).score(rows[:10]).rows, list[int](), Model.features

    def counted(self: Model, segments: Any) -> Any:
        seen.append(len(segments))
        return extract(self, segments)

    monkeypatch.setattr(Model, "features", counted)
    monkeypatch.setattr(scorer, "PIECE", 4)
    assert Scorer(model).score(rows[:10]).rows == expected and seen == [10]
    monkeypatch.setattr(scorer, "judges", lambda extractors: {"target": 0})
    monkeypatch.setattr("qe.scoring.scorer.forget_tables", lambda: seen.append(0))
    assert Scorer(model).score(rows[:10]).rows == expected
    assert seen == [10, 4, 0, 4, 0, 2, 0, 0]  # tables of words are forgotten piece by piece


def test_repeated_segments_are_scored_once(model: Model, rows: Rows, monkeypatch: Monkeypatch) -> None:
    seen: list[int] = []
    extract = Model.features

    def counted(self: Model, segments: object) -> object:
        seen.append(len(segments))  # type: ignore[arg-type]
        return extract(self, segments)  # type: ignore[arg-type]

    monkeypatch.setattr(Model, "features", counted)
    scorer = Scorer(model)
    first = scorer.score([*rows[:6], *rows[:3], ({"source": "a", "target": ""}, "")])
    again = scorer.score([*rows[3:8], *rows[7:9]])
    assert seen == [6, 3] and (first.tally.repeated, again.tally.repeated) == (3, 4)
    assert [r["score"] for r in first.rows[6:9]] == [r["score"] for r in first.rows[:3]]
    assert [r["id"] for r in first.rows[6:]] == [*(r["id"] for r, _ in rows[:3]), "10"]
    assert first.rows[9] == {"id": "10", "score": None, "reason": "empty target"}


def test_the_cache_is_bounded_and_changes_no_bit(model: Model, rows: Rows) -> None:
    mixed = [rows[i] for i in np.random.default_rng(0).integers(0, 40, 300)]
    plain = [Scorer(model, Options(cache=0)).score([row]).rows[0]["score"] for row in mixed]
    for cache in (0, 1, 7, 1000):
        scorer = Scorer(model, Options(cache=cache))
        outputs = [out["score"] for i in range(0, 300, 23) for out in scorer.score(mixed[i : i + 23]).rows]
        assert outputs == plain
        assert len(scorer._cache) == min(cache, 40)


def test_texts_that_join_alike_are_not_taken_for_each_other(model: Model) -> None:
    unguarded = replace(model, guard=None)  # to a guard both are rubbish
    batch = Scorer(unguarded).score(
        [({"source": "a b", "target": "c"}, ""), ({"source": "a", "target": "b c"}, "")]
    )
    assert batch.tally.repeated == 0 and batch.rows[0]["score"] != batch.rows[1]["score"]


@pytest.mark.parametrize("size", [1, 2, 127, 128, 129, 300])
def test_a_score_does_not_depend_on_its_batch(model: Model, rows: Rows, size: int) -> None:
    given = {k: [r[k] for r, _ in rows[:300]] for k in ("source", "target")}
    features = model.features(model.segments(given))
    whole = model.predict_features(features)
    parts = [model.predict_features(features.iloc[i : i + size]) for i in range(0, 300, size)]
    assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["ridge", "mlp_ensemble", "pls"])
def test_not_even_where_matrix_products_round_by_shape(learner: str) -> None:
    """Plain predictions of these learners differ in the last digits for other batch sizes."""
    import pandas as pd

    from qe.models.model import _in_blocks
    from qe.models.pipeline import Candidate

    generator = np.random.default_rng(1)
    names = [f"f{i}" for i in range(17)]
    table = pd.DataFrame(generator.normal(size=(300, 17)), columns=names)
    gold = table["f0"].to_numpy() + generator.normal(size=300)
    pipeline = Candidate(learner).pipeline(0).fit(table[:120], gold[:120])
    whole = _in_blocks(pipeline, table)
    for size in (1, 7, 200):
        parts = [_in_blocks(pipeline, table.iloc[i : i + size]) for i in range(0, 300, size)]
        assert np.array_equal(np.concatenate(parts), whole)
    assert np.allclose(whole, pipeline.predict(table), atol=1e-12)


def test_the_summary_counts_repeats_and_output_is_the_same(
    demo_model: Path, rows: Rows, tmp_path: Path
) -> None:
    path = write_tsv(tmp_path / "in.tsv", [*rows[:50], *rows[:50], *rows[10:30]])
    outputs = []
    for workers, cache, chunk in ((1, 1000, 30), (2, 1000, 30), (1, 0, 120)):
        output = tmp_path / f"{workers}-{cache}.tsv"
        options = Options(cache=cache)
        summary = score_file(demo_model, [path], output, options=options, workers=workers, chunk=chunk)
        outputs.append(output.read_bytes())
        if workers == 1:
            assert summary.repeated == 70  # also without a cache: within the only chunk
    assert len(set(outputs)) == 1


class Killed(BaseException):
    """Ends a job as a signal would: nothing catches it."""


def killed_after(chunks: int, monkeypatch: Monkeypatch, source: Path, model: Path, output: Path) -> None:
    """A job in chunks of ten rows that ends once so many are stored, without tidying up."""
    store = jobs._Job.store

    def stored(job: Any, number: int, piece: Any) -> None:
        if number == chunks:
            raise Killed
        store(job, number, piece)

    with monkeypatch.context() as patched:
        patched.setattr(jobs._Job, "store", stored)
        patched.setattr(jobs._Job, "left_only_with_work", nullcontext)
        with pytest.raises(Killed):
            score_file(model, [source], output, workers=1, chunk=10)


def test_a_job_goes_on_with_the_same_options_only(
    demo_model: Path, rows: Rows, tmp_path: Path, monkeypatch: Monkeypatch
) -> None:
    path, output = write_tsv(tmp_path / "in.tsv", rows[:30]), tmp_path / "out.tsv"
    killed_after(1, monkeypatch, path, demo_model, output)
    refuses("unfinished job; use --resume", score_file, demo_model, [path], output, chunk=10)
    more: dict[str, Any] = {"options": Options(interval=0.9), "resume": True, "chunk": 10}
    refuses("begun with another model", score_file, demo_model, [path], output, **more)
    done = score_file(demo_model, [path], output, options=Options(cache=5), resume=True, chunk=10, workers=1)
    assert done.resumed_chunks == 1


def test_an_attempt_without_a_finished_chunk_stops_no_other(
    demo_model: Path, rows: Rows, tmp_path: Path, monkeypatch: Monkeypatch
) -> None:
    path, output = write_tsv(tmp_path / "in.tsv", rows[:30]), tmp_path / "out.tsv"
    killed_after(0, monkeypatch, path, demo_model, output)
    assert (tmp_path / "out.tsv.partial" / "job.json").is_file()
    assert score_file(demo_model, [path], output, options=Options(interval=0.9), workers=1).scored == 30
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.tsv", "out.tsv"]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_score_that_is_no_number_has_a_reason(
    model: Model, rows: Rows, monkeypatch: Monkeypatch, bad: float
) -> None:
    judge = Model.judge

    def damaged(self: Model, *given: Any) -> Any:
        scores, seen = judge(self, *given)
        return np.where(np.arange(len(scores)) == 1, bad, scores), seen

    monkeypatch.setattr(Model, "judge", damaged)
    scorer = Scorer(model, Options(outside=True))
    batch = scorer.score([*rows[:3], rows[1], rows[2]])
    nothing = dict.fromkeys(scorer.output_columns)
    for i in (1, 3):
        expected = {"id": rows[i % 2][0]["id"], "reason": "the model gives no finite score"}
        assert batch.rows[i] == nothing | expected
    assert [row["reason"] for row in batch.rows if row["score"] is not None] == [""] * 3
    assert batch.tally.repeated == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_a_truncated_gzip_file_keeps_what_was_read(
    demo_model: Path, rows: Rows, tmp_path: Path, workers: int
) -> None:
    path = write_tsv(tmp_path / "in.tsv.gz", rows[:1500])
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    more: dict[str, Any] = {"workers": workers, "chunk": 100}
    refuses(r"in\.tsv\.gz:\d+: damaged gzip", score_file, demo_model, [path], tmp_path / "out.tsv", **more)
    kept = sorted((tmp_path / "out.tsv.partial").glob("*.piece"))
    assert len(kept) >= 5 and [int(p.stem) for p in kept] == list(range(len(kept)))
    assert not (tmp_path / "out.tsv").exists()


def test_a_full_disk_keeps_the_finished_chunks(
    demo_model: Path, rows: Rows, tmp_path: Path, monkeypatch: Monkeypatch
) -> None:
    path, output = write_tsv(tmp_path / "in.tsv", rows[:200]), tmp_path / "out.tsv"
    write, written = Path.write_bytes, []

    def until_full(self: Path, data: bytes) -> int:
        if self.parent.name == "out.tsv.partial" and len(written) >= 5:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(self)
        return write(self, data)

    monkeypatch.setattr(Path, "write_bytes", until_full)
    full = "No space left .*are kept.*make room.*--resume"
    refuses(full, score_file, demo_model, [path], output, workers=1, chunk=50)
    monkeypatch.undo()
    assert len(list((tmp_path / "out.tsv.partial").glob("*.piece"))) == 2
    summary = score_file(demo_model, [path], output, workers=1, chunk=50, resume=True)
    assert summary.resumed_chunks == 2 and summary.rows == 200
    score_file(demo_model, [path], tmp_path / "whole.tsv", workers=1, chunk=50)
    assert output.read_bytes() == (tmp_path / "whole.tsv").read_bytes()


def test_an_output_too_large_for_the_disk_is_finished_later(
    demo_model: Path, rows: Rows, tmp_path: Path
) -> None:
    """A limit on file size (as a full disk, but without one) lets the pieces pass and the whole fail."""
    path, output = write_tsv(tmp_path / "in.tsv", rows[:400]), tmp_path / "out.tsv"
    script = (
        "import resource, sys; from qe.cli import main;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000)); main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", script, "score", "--model", str(demo_model), "--input", str(path)]
    command += ["--output", str(output), "--chunk", "100", "--workers", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "File too large" in done.stderr and "chunks are kept" in done.stderr
    assert "Traceback" not in done.stderr and not output.exists()
    summary = score_file(demo_model, [path], output, workers=1, chunk=100, resume=True)
    assert summary.resumed_chunks == 4 and summary.rows == 400
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.tsv", "out.tsv"]


def test_a_job_killed_while_it_tidies_up_is_finished_by_resuming(
    demo_model: Path, rows: Rows, tmp_path: Path, monkeypatch: Monkeypatch
) -> None:
    path, output = write_tsv(tmp_path / "in.tsv", rows[:40]), tmp_path / "out.tsv"

    def half_removed(job: Any) -> None:
        counts = sorted(job.folder.glob("*.json"))
        for file in counts:
            file.unlink()
        if counts:
            raise Killed

    monkeypatch.setattr(jobs._Job, "remove", half_removed)
    with pytest.raises(Killed):
        score_file(demo_model, [path], output, workers=1, chunk=10)
    monkeypatch.undo()
    first = output.read_bytes()
    score_file(demo_model, [path], output, workers=1, chunk=10, resume=True)
    assert output.read_bytes() == first
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.tsv", "out.tsv"]


def test_scoring_loads_neither_tracking_nor_plots_nor_boosting(demo_model: Path) -> None:
    script = (
        "import sys, qe.scoring.jobs; from pathlib import Path;"
        "from qe.scoring.scorer import Options, Scorer;"
        "Scorer.load(Path(sys.argv[1]), Options()).score([({'source': 'a b', 'target': 'c d'}, '')]);"
        "print(*({m.split('.')[0] for m in sys.modules} & {'mlflow', 'lightgbm', 'matplotlib', 'optuna'}))"
    )
    done = subprocess.run([sys.executable, "-c", script, str(demo_model)], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.strip() == "", done.stdout + done.stderr
