"""Serving: latency at 1 and 100 segments, rows a second of three learners, and memory under sustained load.

python benchmarks/bench_serving.py --model DIR --input FILE                   # 20 s of load
python benchmarks/bench_serving.py --model DIR --input FILE --seconds 600     # ten minutes

python benchmarks/bench_serving.py --learners                                 # SVR, ridge, LightGBM

The alternative beside it is the same model called in this process, without HTTP. `--learners` trains each
learner on artificial data first (1,500 segments).
"""

import argparse
import json
import re
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from features.core.feature_set import FeatureSet
from features.core.segments import Segments
from features.text.tokenizer import Tokenizer
from qe.data.dataset import LabelScale, Split
from qe.data.folds import make_folds
from qe.data.table_rows import read_rows
from qe.getting_started.demo.generation import generate
from qe.models.companions import make_companions
from qe.models.model import Model
from qe.models.pipeline import Candidate, fit
from qe.scoring.scorer import Options, Scorer

Record = dict[str, str]


def started(model: Path) -> tuple["subprocess.Popen[bytes]", str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "qe",
        "serve",
        "--model",
        str(model),
        "--port",
        str(port),
        "--max-busy",
        "8",
    ]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    url, begun = f"http://127.0.0.1:{port}", time.perf_counter()
    while process.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/ready", timeout=2).close()
            print(f"the server is up after {time.perf_counter() - begun:.1f} s")
            return process, url
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise SystemExit("the server did not start")


def ask(url: str, records: list[Record]) -> None:
    body = json.dumps({"dataframe_records": records}).encode()
    request = urllib.request.Request(f"{url}/invocations", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert len(json.load(answer)["predictions"]) == len(records)


def timed(work: Callable[[int], object], times: int) -> list[float]:
    """Seconds of each of so many calls, sorted."""
    listed = []
    for i in range(times):
        begun = time.perf_counter()
        work(i)
        listed.append(time.perf_counter() - begun)
    return sorted(listed)


def resident(process: "subprocess.Popen[bytes]") -> float:
    """MiB that the server holds."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    best = re.search(r"VmRSS:\s*(\d+)", status)
    return int(best[1]) / 1024 if best else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path)
    parser.add_argument("--input", type=Path, help="TSV with source and target")
    parser.add_argument("--learners", action="store_true", help="compare rows a second of three learners")
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--clients", type=int, default=2)
    given = parser.parse_args()
    if given.learners:
        learners()
        return
    if given.model is None or given.input is None:
        parser.error("--model and --input, or --learners")
    records = [{"source": c["source"], "target": c["target"]} for c, _ in read_rows(given.input)]
    process, url = started(given.model)
    try:
        latency(url, Scorer.load(given.model, Options(drift=False, cache=0)), records, given.requests)
        sustained(process, url, records, given.seconds, given.clients)
    finally:
        process.terminate()
        process.wait(30)


def learners(rows: int = 200, training: int = 1500) -> None:
    """Seconds that a server takes for `rows` segments, beside the same model called in this process."""
    tokenizers = Tokenizer("en"), Tokenizer("es")
    scale = LabelScale("effort", 1.0, 5.0, higher_is_better=True)
    with TemporaryDirectory() as scratch:
        data = generate(Path(scratch), pairs=2000, train=training, test=1, new=rows)
        columns = {k: data.column("train", k).read_text("utf-8").splitlines() for k in ("source", "target")}
        split = Split(Segments.from_columns(columns, *tokenizers), np.loadtxt(data.column("train", "scores")))
        features = FeatureSet.make([{"kind": "surface"}], None)
        table = features.extract(split.segments)
        folds = [held_out for _, held_out in make_folds(len(table), 3)]
        records = [{k: f"{columns[k][i]} {i}" for k in columns} for i in range(rows)]
        for learner in ("svr_rbf", "ridge", "lightgbm"):
            candidate, folder = Candidate(learner), Path(scratch) / learner
            assert split.scores is not None
            pipeline = fit(candidate.pipeline(seed=0), table, split.scores)
            predicted = np.asarray(pipeline.predict(table), np.float64)
            model = Model(learner, candidate, pipeline, features, scale, tokenizers, None)
            model.save(folder, make_companions(split, table, predicted, folds, scale).all())
            compare(folder, records)


def compare(folder: Path, records: list[Record]) -> None:
    process, url = started(folder)
    try:
        scorer = Scorer.load(folder, Options(drift=False, cache=0))
        rows = [(record, "") for record in records]
        timed(lambda i: ask(url, records), 1)  # warm
        timed(lambda i: scorer.score(rows), 1)
        served = statistics.median(timed(lambda i: ask(url, records), 5))
        direct = statistics.median(timed(lambda i: scorer.score(rows), 5))
        speed = f"{served:.3f} s ({len(rows) / served:,.0f} a second)"
        print(f"{folder.name:10} {len(rows)} segments: {speed}; {served / direct:.2f} times a direct call")
    finally:
        process.terminate()
        process.wait(30)


def latency(url: str, scorer: Scorer, records: list[Record], requests: int) -> None:
    for size in (1, 100):

        def batch(i: int, size: int = size) -> list[Record]:
            return [records[(i * size + j) % len(records)] for j in range(size)]

        timed(lambda i: ask(url, batch(i)), 5)  # warm
        timed(lambda i: scorer.score([(r, "") for r in batch(i)]), 5)
        served = timed(lambda i: ask(url, batch(i)), requests)
        direct = timed(lambda i: scorer.score([(r, "") for r in batch(i)]), requests)
        median, tail = statistics.median(served), served[int(0.99 * len(served))]
        print(
            f"{size:4} segments: median {1000 * median:6.1f} ms, 99th percentile {1000 * tail:6.1f} ms;"
            f" {median / statistics.median(direct):.2f} times a direct call"
        )


def sustained(
    process: "subprocess.Popen[bytes]", url: str, records: list[Record], seconds: float, clients: int
) -> None:
    """Load by several clients; memory in the first tenth of the time against the last."""
    end, counts = time.monotonic() + seconds, [0] * clients

    def client(number: int) -> None:
        while time.monotonic() < end:
            start = (17 * counts[number] + 1000 * number) % max(1, len(records) - 100)
            ask(url, records[start : start + 100])
            counts[number] += 1

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    memory = []
    while time.monotonic() < end:
        memory.append(resident(process))
        time.sleep(seconds / 100)
    for thread in threads:
        thread.join()
    tenth = max(1, len(memory) // 10)
    first, last = statistics.median(memory[tenth : 2 * tenth]), statistics.median(memory[-tenth:])
    print(
        f"{seconds:.0f} s of load by {clients} clients: {sum(counts)} requests of 100 segments,"
        f" {100 * sum(counts) / seconds:,.0f} segments/s; memory {first:.0f} MiB early, {last:.0f} MiB late"
        f" ({last - first:+.1f})"
    )


if __name__ == "__main__":
    main()
