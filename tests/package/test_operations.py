"""docs/operations.md and the Dockerfile: the night's job runs, units and manifests ask for what there is."""

import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

from qe.cli._verbs import commands
from qe.production.server.app import App
from qe.production.server.protocol import Limits
from tests.production.server.asgi import listening

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operations.md").read_text("utf-8")
FILES = dict(re.findall(r"```(?:sh|ini|yaml) title=\"(\S+)\"\n(.*?)```", PAGE, re.DOTALL))
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
STAGES = re.findall(r"^FROM (\S+) AS (\S+)$", DOCKERFILE, re.MULTILINE)


@pytest.fixture
def night(demo_run: Any, tmp_path: Path) -> Path:
    """A folder with night.sh, an `alert` that keeps what it is told, and new translations."""
    folder = tmp_path / "srv"
    folder.mkdir()
    (folder / "night.sh").write_text(FILES["night.sh"], "utf-8")
    (folder / "alert").write_text('#!/bin/sh\n{ echo "$1"; cat; } > alerted\n', "utf-8")
    (folder / "qe").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m qe "$@"\n', "utf-8")
    for name in ("night.sh", "alert", "qe"):
        (folder / name).chmod(0o755)
    rows = (demo_run.output / "data" / "new.tsv").read_text("utf-8").splitlines(keepends=True)[:301]
    (folder / "new.tsv").write_text("".join(rows), "utf-8")
    return folder


def run(folder: Path, store: Path) -> tuple[int, str]:
    """What cron would run: the exit code, and what `alert` was told."""
    (folder / "alerted").unlink(missing_ok=True)
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    environment["MLFLOW_TRACKING_URI"] = f"sqlite:///{store}"
    (line,) = re.findall(r"^    30 2 \* \* \* (flock .*)$", PAGE, re.MULTILINE)
    cron = line.replace("/srv/qe", str(folder))
    done = subprocess.run(["sh", "-c", cron], cwd="/", env=environment, capture_output=True, text=True)
    assert done.stdout == "" and done.stderr == "", done.stderr
    told = folder / "alerted"
    return done.returncode, told.read_text("utf-8") if told.exists() else ""


def test_nights_from_cron_to_alert(night: Path, demo_run: Any) -> None:
    store = demo_run.output / "mlflow.db"
    assert run(night, store) == (0, "")
    (scores,) = night.glob("scores-*.tsv")
    before = scores.stat().st_mtime_ns
    assert len(scores.read_text("utf-8").splitlines()) == 301
    assert run(night, store) == (0, "") and scores.stat().st_mtime_ns == before
    for output in night.glob("scores-*"):  # the next day
        output.unlink()
    rows = (night / "new.tsv").read_text("utf-8").splitlines(keepends=True)
    (night / "new.tsv").write_text(
        "".join([*rows, *(f"x{i}\t{rows[1].split(chr(9))[1]}\t\n" for i in range(9))])
    )
    code, told = run(night, store)
    assert code == 1 and told.startswith("qe score ended with 1\n") and "unscored>1%" in told, told
    assert [*night.glob("scores-*.tsv")]
    for output in night.glob("scores-*"):
        output.unlink()
    (night / "new.tsv").unlink()
    code, told = run(night, store)
    assert code == 2 and "new.tsv" in told and not [*night.glob("scores-*.tsv")], told


def arguments(path: list[str]) -> list[str]:
    """The words of a command, whose parser raises for options that there are not."""
    commands(path[0])[path[0]].parse(path[1:])
    return path


@pytest.mark.parametrize("name", ["qe-night.service", "qe-night.timer", "qe-serve.service"])
def test_units_are_what_systemd_takes(name: str, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is absent")
    for unit in ("qe-night.service", "qe-night.timer", "qe-serve.service"):
        text = re.sub(r"/srv/qe/(?:night\.sh|\.venv/bin/qe)", "/bin/true", FILES[unit])
        (tmp_path / unit).write_text(text, "utf-8")
    done = subprocess.run(
        [program, "verify", f"./{name}"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "Unknown" not in done.stderr, done.stderr


def test_the_server_of_the_unit_takes_its_options() -> None:
    (line,) = re.findall(r"^ExecStart=\S*/qe (.*)$", FILES["qe-serve.service"], re.MULTILINE)
    arguments(line.split())


def test_manifests_name_the_images_ports_and_addresses_that_there_are() -> None:
    targets = {f"mtqe-{stage}" for _, stage in STAGES}
    job = yaml.safe_load(FILES["qe-night.yaml"])["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    pod = yaml.safe_load(FILES["qe-serve.yaml"])["spec"]["template"]["spec"]
    (score,), (serve,) = job["containers"], pod["containers"]
    assert {score["image"], serve["image"]} == targets == {"mtqe-score", "mtqe-serve"}
    arguments(["score", *score["args"]])
    arguments(["serve", *serve["args"]])
    (port,) = re.findall(r"^EXPOSE (\d+)$", DOCKERFILE, re.MULTILINE)
    assert serve["ports"] == [{"containerPort": int(port)}]
    asked = {kind: serve[kind]["httpGet"] for kind in ("livenessProbe", "readinessProbe")}
    assert {probe["port"] for probe in asked.values()} == {int(port)}
    routes = App(Limits()).routes
    assert {kind: probe["path"] for kind, probe in asked.items()} == {
        "livenessProbe": "/health", "readinessProbe": "/ready",
    }  # fmt: skip
    assert all(probe["path"] in routes for probe in asked.values())
    assert pod["terminationGracePeriodSeconds"] > Limits().seconds


def test_the_dockerfile_has_no_faults() -> None:
    program = Path(sys.executable).with_name("hadolint")
    if not program.is_file():
        pytest.skip(f"{program} is absent (make setup installs it)")
    done = subprocess.run([str(program), str(ROOT / "Dockerfile")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_base_is_named_by_digest_and_what_is_copied_is_there() -> None:
    (base, first), (again, second) = STAGES
    assert re.fullmatch(r"python:3\.11-slim-\w+@sha256:[0-9a-f]{64}", base)
    assert (first, again, second) == ("score", "score", "serve")
    copied = [
        name for line in re.findall(r"^COPY (.*) \S+$", DOCKERFILE, re.MULTILINE) for name in line.split()
    ]
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert copied and all((ROOT / name).exists() and name not in ignored for name in copied)


def test_commands_of_the_header_and_the_entries_are_taken() -> None:
    header = DOCKERFILE.partition("\nFROM")[0].replace("\\\n#", " ")
    shown = re.findall(r"docker run .*? (mtqe-\w+) +(.*)$", header, re.MULTILINE)
    entries = re.findall(r"^ENTRYPOINT (.*)$", DOCKERFILE, re.MULTILINE)
    assert [name for name, _ in shown] == ["mtqe-score", "mtqe-serve"]
    for (_, given), entry in zip(shown, entries, strict=True):
        program, *words = yaml.safe_load(entry)
        assert program == "qe"
        arguments([*words, *given.split()])


@pytest.mark.slow
def test_the_health_check_asks_a_server_and_fails_without_one() -> None:
    (words,) = re.findall(r"^    CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    python, option, code = yaml.safe_load(words)
    assert (python, option) == ("python", "-c") and "127.0.0.1:5002/" in code

    def check(port: int) -> int:
        told = code.replace("5002", str(port))
        return subprocess.run([sys.executable, "-c", told], capture_output=True).returncode

    with listening(App(Limits())) as port:
        assert check(port) == 0
    assert check(port) == 1


def reachable(program: Path) -> bool:
    """Whether any user can start a program: its folders can be passed by all."""
    places = program.resolve().parents if program.exists() else ()
    return bool(places) and all(place.stat().st_mode & stat.S_IXOTH for place in places)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can enter; pytest's own they cannot."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_user_without_a_name_scores(demo_model: Path, open_folder: Path) -> None:
    """As by `docker run --user 54321:54321` with the variables of the Dockerfile."""
    minor = f"python3.{sys.version_info.minor}"
    programs = [program for program in (Path(sys.executable), Path("/usr/bin") / minor) if reachable(program)]
    if not programs:
        pytest.skip("no Python of this version that other users can start")
    user = 54321
    home, data = open_folder / "tmp", open_folder / "data"
    for folder, mode in ((home, 0o1777), (data, 0o755)):
        folder.mkdir()
        folder.chmod(mode)
    os.chown(data, user, user)
    shutil.copytree(demo_model, data / "model")
    shutil.copy(demo_model.parent / "data" / "new.tsv", data)
    for place in data.rglob("*"):
        place.chmod(place.stat().st_mode | (0o055 if place.is_dir() else 0o044))
    given = {"HOME": str(home), "USER": "qe", "TMPDIR": str(home), "PATH": "/usr/bin:/bin"}
    given["PYTHONPATH"] = os.pathsep.join([str(ROOT), sysconfig.get_paths()["purelib"]])
    assert re.search(r"^ENV HOME=/tmp USER=qe$", DOCKERFILE, re.MULTILINE)
    code = "import sys; from qe.__main__ import main; main()"
    words = ["score", "--model", "model", "--input", "new.tsv", "--output", "scores.tsv", "--quiet"]
    done = subprocess.run(
        [str(programs[0]), "-P", "-c", code, *words], cwd=data, env=given, user=user, group=user,
        extra_groups=[], capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (data / "scores.tsv").stat().st_uid == user
