"""Attacks on running commands: signals, closed and narrow streams, two at once, places that cannot be used.

Time limits are far beyond what a busy machine needs: they end a test that hangs, and measure nothing.
"""

import json
import os
import pty
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from features.storage.outputs import locked_file, locked_folder
from qe.getting_started.demo.run import EXPERIMENT
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
QE = [sys.executable, "-m", "qe"]
ENDS = {"SIGINT": (130, "interrupted"), "SIGTERM": (143, "terminated"), "SIGHUP": (129, "hung up")}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A store of its own."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    store = f"sqlite:///{tmp_path / 'store' / 'mlflow.db'}"
    (tmp_path / "store").mkdir()
    return {**os.environ, "PYTHONPATH": path, "MLFLOW_TRACKING_URI": store, "MLFLOW_EXPERIMENT_NAME": "tests"}


@pytest.fixture
def rows(demo_model: Path, tmp_path: Path) -> Path:
    """The demo's new translations, three times: whoever watches a job may be slower than the job."""
    first, *lines = (demo_model.parent / "data" / "new.tsv").read_text("utf-8").splitlines()
    path = tmp_path / "rows.tsv"
    path.write_text("\n".join([first, *(lines * 3)]) + "\n", "utf-8")
    return path


def until(reached: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not reached():
        assert time.monotonic() < deadline, f"waited {PATIENCE:g} s in vain: {what}"
        time.sleep(0.02)


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that run; a zombie does not: it waits for whoever started it to read its exit code."""
    return [p for p in processes if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


def score(model: Path, rows: Path, output: Path, *more: str) -> list[str]:
    command = [*QE, "score", "--model", str(model), "--input", str(rows), "--output", str(output)]
    return [*command, "--chunk", "100", "--workers", "2", "--no-cache", *more]


def heed_signals() -> None:
    """Whoever runs the tests may ignore signals (nohup, jobs in the background), and that is inherited."""
    for name in ENDS:
        signal.signal(getattr(signal, name), signal.SIG_DFL)


@contextmanager
def begun(command: list[str], output: Path, environment: dict[str, str]) -> "Iterator[subprocess.Popen[str]]":
    """A scoring job that has finished its first chunks."""
    partial = output.with_name(output.name + ".partial")
    process = subprocess.Popen(
        command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, preexec_fn=heed_signals,
    )  # fmt: skip
    try:
        until(lambda: len(list(partial.glob("*.piece"))) > 1 or process.poll() is not None, "two chunks")
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize("name", [*ENDS, "SIGKILL"])
def test_a_signal_to_the_parent_alone_ends_its_workers(
    name: str, demo_model: Path, rows: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    output = tmp_path / "out.tsv"
    with begun(score(demo_model, rows, output), output, environment) as process:
        workers = psutil.Process(process.pid).children(recursive=True)
        assert len(alive(workers)) >= 2 and process.poll() is None
        os.kill(process.pid, getattr(signal, name))
        _, errors = process.communicate(timeout=PATIENCE)  # workers that live on would hold stderr open
        until(lambda: not alive(workers), "the workers end")
    code, said = ENDS.get(name, (-signal.SIGKILL, ""))
    assert process.returncode == code
    stages = ("scoring (segments): ", "joining (segments): ")  # progress
    told = [line for line in errors.splitlines() if not line.startswith(stages)]
    again = score(demo_model, rows, output, "--resume")
    continued = shlex.join(["qe", *again[len(QE) :]])
    assert told == ([f"qe score: {said}; to continue: {continued}"] if said else [])
    assert not output.exists() and (tmp_path / "out.tsv.partial" / "job.json").is_file()
    assert name == "SIGKILL" or not (tmp_path / ".out.tsv.lock").exists()
    done = subprocess.run(again, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    count = len(rows.read_text("utf-8").splitlines())
    assert len(output.read_text("utf-8").splitlines()) == count
    assert {p.name for p in tmp_path.iterdir()} == {"rows.tsv", "out.tsv", "out.tsv.json", "store"}


def test_a_hang_up_that_is_ignored_stays_ignored(
    demo_model: Path, rows: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    """As by nohup."""
    output = tmp_path / "out.tsv"
    command = score(demo_model, rows, output)
    ignoring = (
        "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN);"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    with begun([sys.executable, "-c", ignoring, *command], output, environment) as process:
        os.kill(process.pid, signal.SIGHUP)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert output.is_file()


@pytest.mark.parametrize("more", ["--resume", "--overwrite"])
def test_a_second_job_on_one_output_is_refused_and_the_first_is_whole(
    more: str, demo_model: Path, rows: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    output, few = tmp_path / "out.tsv", tmp_path / "few.tsv"
    few.write_text("\n".join(rows.read_text("utf-8").splitlines()[:200]) + "\n", "utf-8")
    with begun(score(demo_model, rows, output), output, environment) as process:
        os.kill(process.pid, signal.SIGSTOP)  # it must not come to its end while the second one begins
        second = subprocess.run(
            score(demo_model, few, output, more), env=environment, capture_output=True, text=True, check=False
        )
        os.kill(process.pid, signal.SIGCONT)
        out, errors = process.communicate(timeout=PATIENCE)
    assert second.returncode == 2
    assert second.stderr.startswith(f"qe score: {output}: another process is writing this output; wait")
    assert process.returncode == 0, errors
    count = len(rows.read_text("utf-8").splitlines())
    assert f"{count - 1:,} of {count - 1:,} rows scored" in out
    assert len(output.read_text("utf-8").splitlines()) == count


def train(demo_model: Path, output: Path, *settings: str) -> list[str]:
    command = [*QE, "train", str(EXPERIMENT), "--data-root", str(demo_model.parent), "--output", str(output)]
    fast = ["features=[surface]", "learner={kind: ridge, params: {alpha: 1.0}, space: {}}"]
    fast += ["guard=false", "evaluation.robustness=false"]
    options = [word for setting in (*fast, *settings) for word in ("--set", setting)]
    return [*command, "--cache-dir", str(demo_model.parent / "cache"), "--quiet", *options]


def started(command: list[str], environment: dict[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command, env=environment, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def test_trainings_at_once_on_a_new_store_all_finish_and_one_is_champion(
    demo_model: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    import mlflow

    runs = [started(train(demo_model, tmp_path / f"run{i}", f"seed={i}"), environment) for i in range(2)]
    for run in runs:
        _, errors = run.communicate(timeout=PATIENCE)
        assert run.returncode == 0, errors
    client = mlflow.MlflowClient(environment["MLFLOW_TRACKING_URI"], environment["MLFLOW_TRACKING_URI"])
    (model,) = client.search_registered_models()
    assert len(client.search_model_versions(f"name = '{model.name}'")) == 2
    assert set(client.get_registered_model(model.name).aliases) == {"champion", "challenger"}


def test_two_trainings_on_one_output(demo_model: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    """One is refused, or comes when the other one has finished; the run that is there is whole."""
    output = tmp_path / "run"
    runs = [started(train(demo_model, output, f"seed={i}"), environment) for i in range(2)]
    said = [run.communicate(timeout=PATIENCE)[1] for run in runs]
    assert sorted(run.returncode for run in runs) == [0, 2], said
    refusal = next(text for text, run in zip(said, runs, strict=True) if run.returncode)
    assert "another process is writing this output" in refusal or "holds a finished run" in refusal
    assert (output / "report.json").is_file() and (output / "model" / "model.json").is_file()
    assert not list(output.glob(".*.lock"))


def test_a_training_that_is_terminated_goes_on(
    demo_model: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    output = tmp_path / "run"
    space = "learner={kind: ridge, space: {alpha: {low: 0.1, high: 10.0}}}"
    command = train(demo_model, output, space, "search.trials=400")
    run = started(command, environment)
    until(lambda: (output / "study.journal").exists() or run.poll() is not None, "a study")
    run.send_signal(signal.SIGTERM)
    _, errors = run.communicate(timeout=PATIENCE)
    continued = shlex.join(["qe", *command[len(QE) :], "--resume"])
    assert (run.returncode, errors) == (143, f"qe train: terminated; to continue: {continued}\n")
    assert not list(output.glob(".*.lock")) and not (output / "report.json").exists()
    command = [*train(demo_model, output, space, "search.trials=3"), "--resume"]
    again = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr


def shell(command: str, environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """By a shell that has `$QE`, in a folder with two small texts."""
    for name, text in (("t", "casas rojas\n" * 3), ("p", "casa roja\n" * 3)):
        (folder / name).write_text(text)
    environment = {**environment, "QE": " ".join(QE)}
    return subprocess.run(
        ["bash", "-c", command], env=environment, cwd=folder, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


LABELS = "$QE labels --target t --post-edit p --target-language es"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["$QE --help", LABELS, f"{LABELS} --json", "$QE features list"])
def test_a_reader_that_leaves_gives_141(command: str, environment: dict[str, str], tmp_path: Path) -> None:
    """`| head` of nothing: the pipe is closed before the first byte is written."""
    waiting = f"mkfifo pipe; exec 3<>pipe 4>pipe 3<&-; {command} >&4; echo $?"
    done = shell(waiting, environment, tmp_path)
    assert (done.stdout, done.stderr) == ("141\n", "")


@pytest.mark.slow
def test_a_closed_stdout_is_said_and_output_files_are_not_mixed_up(
    environment: dict[str, str], tmp_path: Path
) -> None:
    done = shell(f"{LABELS} -o out.tsv >&-", environment, tmp_path)
    assert done.returncode == 2
    assert done.stderr == "qe labels: stdout: cannot be written (Bad file descriptor)\n"
    assert len((tmp_path / "out.tsv").read_text().splitlines()) == 4  # and nothing of the summary
    done = shell(f"{LABELS} -o other.tsv <&- 2>&-", environment, tmp_path)
    assert done.returncode == 0 and "HTER" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_a_narrow_stdout_gets_escapes(encoding: str, environment: dict[str, str], tmp_path: Path) -> None:
    for name in ("gold", "été"):
        (tmp_path / name).write_text("1\n2\n3\n")
    narrow = {**environment, "PYTHONIOENCODING": encoding}
    command = [
        *QE,
        "evaluate",
        "--gold",
        "gold",
        "--predictions",
        "été•\U0001f600=été",
        "--json",
        "--samples",
        "0",
    ]
    done = subprocess.run(command, env=narrow, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0 and done.stderr == b""
    told = done.stdout.decode(
        "latin-1" if encoding == "latin-1" else "utf-8"
    )  # Click takes ASCII for a mistake
    assert list(json.loads(told)["systems"]) == ["été•\U0001f600"]
    table = subprocess.run(command[:-3], env=narrow, cwd=tmp_path, capture_output=True, check=False)
    assert table.returncode == 0 and b"\\u2022" in table.stdout


PRINTING = (
    "evaluate --gold gold --predictions été=gold --samples 0",
    "rank ranks.tsv --methods expected_wins --samples 0",
    "features describe surface",
    "data formats",
    "schema",
    "completion bash",
)


@pytest.mark.slow
@pytest.mark.parametrize("command", PRINTING)
@pytest.mark.parametrize(
    ("stream", "reason"), [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")]
)
def test_verbs_that_print_say_that_they_cannot(
    command: str, stream: str, reason: str, environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "gold").write_text("1\n2\n3\n")
    judged = "".join(f"Czech\tEnglish\t{i}\tj\t{s}\t{r}\n" for i in range(3) for s, r in (("x", 1), ("y", 2)))
    (tmp_path / "ranks.tsv").write_text(
        "source_language\ttarget_language\tsegment\tjudge\tsystem\trank\n" + judged
    )
    done = shell(f"$QE {command} {stream}", environment, tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"qe {command.split()[0]}: stdout: cannot be written ({reason})\n"


@pytest.mark.slow
def test_a_terminal_gets_no_escape_sequences_of_names(environment: dict[str, str], tmp_path: Path) -> None:
    """Of a system, in a table: its colours are the project's, titles and clearing are not."""
    (tmp_path / "gold").write_text("1\n2\n3\n")
    ours, theirs = pty.openpty()
    name = "a\x1b]0;owned\x07\x1b[2J"
    command = [*QE, "evaluate", "--gold", "gold", "--predictions", f"{name}=gold", "--samples", "0"]
    process = subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=theirs, stderr=theirs)
    os.close(theirs)
    told = b""
    with suppress(OSError):  # of a terminal that nobody writes to any more
        while part := os.read(ours, 4096):
            told += part
    os.close(ours)
    assert process.wait(PATIENCE) == 0
    assert rb"a\x1b]0;owned" in told and b"\x1b]" not in told and b"\x1b[2J" not in told


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["serve", "ui"])
def test_a_port_that_is_taken_is_one_message(verb: str, environment: dict[str, str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        model = ["--model", "nowhere"] if verb == "serve" else []
        command = [*QE, verb, *model, "--port", str(port)]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
    assert done.returncode == 2 and done.stdout == ""
    message = f"127.0.0.1:{port}: cannot listen there (Address already in use); choose another --port"
    assert done.stderr == f"qe {verb}: {message}\n"


@pytest.fixture
def mute() -> Iterator[int]:
    """The port of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["models", "ui"])
def test_a_tracking_server_that_is_not_there_is_one_message(
    verb: str, environment: dict[str, str], tmp_path: Path, mute: int
) -> None:
    reserved = socket.socket()
    reserved.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused
    with reserved:
        for port in (reserved.getsockname()[1], mute):
            address = f"http://127.0.0.1:{port}"
            changed = {**environment, "MLFLOW_TRACKING_URI": address}
            done = subprocess.run(
                [*QE, verb], env=changed, cwd=tmp_path, capture_output=True, text=True, check=False,
                timeout=PATIENCE,
            )  # fmt: skip
            assert done.returncode == 2 and done.stdout == ""
            assert done.stderr.startswith(f"qe {verb}: {address}: ") and done.stderr.count("\n") == 1


def unprivileged() -> list[str]:
    """What goes before a command so that permissions bind it: root without its right to pass them over."""
    if os.getuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere, and there is no setpriv to take that right away")
    rights = "-dac_override,-dac_read_search"
    return ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}"]


def test_a_read_only_installation_without_a_home(
    demo_model: Path, rows: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    installed, work = tmp_path / "installed", tmp_path / "work"
    for package in ("qe", "features"):
        skipped = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, installed / package, ignore=skipped)
    work.mkdir()
    home = tmp_path / "home"
    home.mkdir()
    folders = [p for p in installed.rglob("*") if p.is_dir()] + [installed, home]
    for folder in folders:
        folder.chmod(0o555)
    try:
        bare = {k: v for k, v in environment.items() if k not in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR")}
        bare |= {"PYTHONPATH": str(installed), "HOME": str(home), "TMPDIR": str(work)}
        few = work / "few.tsv"
        few.write_text("\n".join(rows.read_text("utf-8").splitlines()[:20]) + "\n", "utf-8")
        command = [*unprivileged(), *score(demo_model, few, work / "out.tsv", "--workers", "1")]
        done = subprocess.run(command, env=bare, cwd=work, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert {path.name for path in work.iterdir()} == {"few.tsv", "out.tsv", "out.tsv.json"}
    finally:
        for folder in folders:
            folder.chmod(0o755)


def test_a_lock_that_a_kill_left_is_taken_over(tmp_path: Path) -> None:
    lock, output = tmp_path / ".out.tsv.lock", tmp_path / "out.tsv"
    lock.touch()
    with locked_file(output):
        assert lock.exists()
    assert not lock.exists()
    lock.write_text("a file of the user's")
    with locked_file(output):
        pass
    assert lock.read_text() == "a file of the user's"


def test_a_folder_that_got_nothing_is_gone_again(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked_folder(tmp_path / "a" / "b", "compare"):
        raise KeyError
    assert not list(tmp_path.iterdir())
    (tmp_path / "there").mkdir()
    with pytest.raises(KeyError), locked_folder(tmp_path / "there", "compare"):
        raise KeyError
    assert not list((tmp_path / "there").iterdir())
    with locked_folder(tmp_path / "kept", "compare"):
        (tmp_path / "kept" / "report.json").touch()
    with locked_folder(tmp_path / "kept", "compare"):
        pass
    assert {p.name for p in (tmp_path / "kept").iterdir()} == {".qe-output", "report.json"}
