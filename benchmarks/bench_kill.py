"""Kills parents of jobs (SIGKILL) at random moments and resumes: results, survivors.

python benchmarks/bench_kill.py                          # 100 kills each of build, train and score
python benchmarks/bench_kill.py --kills 20 --only score  # artificial data, made in a temporary folder

A kill hits the process that a user would see, and it alone, after a random share of the CPU time that an
unharmed job takes, so that a busy machine changes nothing. Its workers have to end by themselves. The job is
started again with --resume until it comes to its end, then the next one begins, until all kills are spent.
Compared with an unharmed job are

    build   every file of the bundle, but for the seconds that its manifest records, and its own checksum
    train   parameters and values of all trials, predictions, figures of the report but for times, and
            versions registered
    score   every byte of the output

Jobs are forked from a process that has loaded the code already, so that the kills fall into the work and not
into the start-up. Prints how many results differ and how many processes were left; the exit code is 1 if any.
"""

import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from qe.cli import main as qe

GRACE = 60.0  # seconds in which what was killed has to be gone; a busy machine takes some
HANGS = 3600.0  # seconds after which a job is taken to wait for ever


@dataclass(frozen=True)
class Job:
    """A verb under attack.

    command  what is run, again and again, until it comes to its end
    output   what it leaves, removed before the next one
    result   what has to be the same
    begun    whether there is something to resume
    """

    command: Sequence[str]
    output: Path
    result: Callable[[], object]
    begun: Callable[[], bool]

    def clear(self) -> None:
        for path in (self.output, self.output.with_name(self.output.name + ".partial")):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def started(job: Job) -> int:
    """The job in a process of its own; its process id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        qe(list(job.command))
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        os._exit(code)


def ended(child: int, within: float) -> bool:
    """Whether the job ends before it and its children have used this many CPU seconds."""
    deadline = time.monotonic() + HANGS
    while burned(child) < within:
        if time.monotonic() > deadline:
            killed(child)
            raise SystemExit(f"a job has not come to its end after {HANGS:g} seconds")
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            if status:
                raise SystemExit(f"a job ended with status {status}")
            return True
        time.sleep(0.04)
    return False


def burned(child: int) -> float:
    """CPU seconds of a process, of its children that have ended, and of those that live."""
    total = 0.0
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(child)
        total = sum(parent.cpu_times()[:4])
        for process in parent.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                total += sum(process.cpu_times()[:4])
    return total


def killed(child: int) -> int:
    """Kills the one process; how many of those that it had started live on."""
    family: list[psutil.Process] = []
    with contextlib.suppress(psutil.NoSuchProcess):
        family = psutil.Process(child).children(recursive=True)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    deadline = time.monotonic() + GRACE
    while (left := [p for p in family if alive(p)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    for process in left:
        process.kill()
    return len(left)


def alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def torture(verb: str, job: Job, kills: int, seed: int) -> bool:
    """Spends the kills; whether every result was that of an unharmed job and nobody was left."""
    generator = random.Random(f"{verb} {seed}")
    unharmed = 0.0
    for _ in range(2):  # the first one compiles, and fills the cache
        job.clear()
        begin = sum(os.times()[2:4])
        ended(started(job), 3600)
        unharmed = sum(os.times()[2:4]) - begin
    expected = job.result()
    job.clear()
    spent = within = jobs = different = left = 0
    while spent < kills or job.begun() or not jobs:
        child = started(job)
        if spent < kills and not ended(child, generator.uniform(0.0, 0.95) * unharmed):
            left += killed(child)
            spent += 1
            within += job.begun()
            continue
        if spent >= kills:
            ended(child, 3600)
        jobs += 1
        different += job.result() != expected
        job.clear()
    print(
        f"{verb:6} {spent} kills, {within} of them with work to resume (unharmed: {unharmed:.1f} CPU s);"
        f" {jobs} jobs came to their end: {different} results differ, {left} processes were left",
        flush=True,
    )
    return not different and not left


def files_of(folder: Path) -> dict[str, str]:
    """Path -> checksum, of everything but hidden files and manifests."""
    paths = [p for p in sorted(folder.rglob("*")) if p.is_file() and not p.name.startswith(".")]
    return {
        p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in paths
        if p.name != "manifest.json"
    }


def without(value: object, names: frozenset[str]) -> object:
    """JSON values without the entries of these names."""
    if isinstance(value, dict):
        return {key: without(inner, names) for key, inner in value.items() if key not in names}
    return [without(inner, names) for inner in value] if isinstance(value, list) else value


def bundle_result(folder: Path) -> object:
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    return files_of(folder), without(manifest, frozenset({"seconds", "cpu_seconds", "checksum"}))


def run_result(folder: Path) -> object:
    """Trials and figures; of a search that was killed, the trials cut off are not results."""
    import mlflow
    import optuna

    from qe.training.study import ended, journal

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = journal(folder / "study.journal")
    (study,) = (optuna.load_study(study_name=n, storage=storage) for n in optuna.get_all_study_names(storage))
    report = json.loads((folder / "report.json").read_text("utf-8"))
    run_id = json.loads((folder / "state.json").read_text("utf-8"))["run_id"]
    client = mlflow.MlflowClient(os.environ["MLFLOW_TRACKING_URI"], os.environ["MLFLOW_TRACKING_URI"])
    versions = client.search_model_versions(f"name = '{report['registration']['name']}'")
    told = without(report, frozenset({"seconds", "time", "registration", "trials", "best_trial"}))
    trials = [(trial.params, trial.values) for trial in ended(study)]
    predictions = (folder / "predictions.tsv").read_bytes()
    return trials, told, predictions, sum(version.run_id == run_id for version in versions)


def jobs_in(folder: Path) -> dict[str, Job]:
    """The three jobs, on artificial data."""
    from qe.getting_started.demo.generation import generate
    from qe.getting_started.demo.run import EXPERIMENT

    data = folder / "data"
    generate(data, pairs=4000, train=240, test=80)
    cache, store = folder / "cache", f"sqlite:///{folder / 'mlflow.db'}"
    os.environ |= {"MLFLOW_TRACKING_URI": store, "QE_CACHE_DIR": str(cache)}
    corpus = ["--source", str(data / "corpus.source"), "--target", str(data / "corpus.target")]
    bundle, run, scores = folder / "bundle", folder / "run", folder / "scores.tsv"
    model = folder / "first" / "model"
    setting = ["--data-root", str(folder), "--set", "search.trials=8", "--set", "split.folds=3", "--quiet"]
    train = ["train", str(EXPERIMENT), *setting, "--resume", "--output"]
    score = ["score", "--model", str(model), "--input", str(data / "new.tsv"), "--output", str(scores)]
    ended(started(Job([*train, str(model.parent)], model.parent, dict, bool)), 3600)
    return {
        "build": Job(
            ["resources", "build", *corpus, "--output", str(bundle), "--quiet"],
            bundle,
            lambda: bundle_result(bundle),
            (bundle / "manifest.json").exists,
        ),
        "train": Job([*train, str(run)], run, lambda: run_result(run), (run / "state.json").exists),
        "score": Job(
            [*score, "--chunk", "20", "--workers", "2", "--no-cache", "--resume", "--quiet"],
            scores,
            scores.read_bytes,
            lambda: any(scores.with_name(scores.name + ".partial").glob("*.piece")),
        ),
    }


def load() -> None:
    """What the jobs import, before they are forked."""
    import lightgbm  # noqa: F401
    import mlflow.pyfunc  # noqa: F401

    import qe.cli.production
    import qe.cli.resources
    import qe.cli.train
    import qe.production.promotion
    import qe.resources.bundle_source
    import qe.scoring.jobs
    import qe.tracking.registry
    import qe.training.train  # noqa: F401


def main() -> None:
    load()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="of each verb")
    parser.add_argument("--only", choices=["build", "train", "score"], action="append")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        jobs = jobs_in(Path(name))
        chosen = given.only or list(jobs)
        whole = [torture(verb, jobs[verb], given.kills, given.seed) for verb in chosen]
    sys.exit(0 if all(whole) else 1)


if __name__ == "__main__":
    main()
