"""The package: one version everywhere, extras that say what they are for, a wheel that works by itself."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import features
from features.basics.plugins import version
from tests.test_contributing import PLUGIN

ROOT = Path(__file__).resolve().parents[2]
PACKED = ("qe", "features", "plugins", "pyproject.toml", "README.md", "LICENSE")
LOCKS = [f"requirements{name}.lock" for name in ("", "-container", "-dev", "-docs", "-extras")]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_one_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert PROJECT["version"] == version() == citation["version"]
    assert f"## {version()}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()  # required by CFF 1.2.0
    bibtex = (ROOT / "README.md").read_text("utf-8").partition("```bibtex")[2]
    assert f"version = {{{version()}}}" in bibtex and f"date = {{{citation['date-released']}}}" in bibtex


def pins(lock: str) -> list[str]:
    """The packages of a lock file itself."""
    form = r"^([\w.-]+)(?:\[\w+\])?==\S+(?: ; .+)? \\$"
    return re.findall(form, (ROOT / lock).read_text("utf-8"), re.MULTILINE)


def below(lock: str) -> list[str]:
    """The lock files that a lock file lies on."""
    return re.findall(r"^--requirement (\S+)$", (ROOT / lock).read_text("utf-8"), re.MULTILINE)


def test_locks_hold_versions_and_hashes_and_no_addresses() -> None:
    for name in LOCKS:
        text = (ROOT / name).read_text("utf-8")
        assert pins(name) and "://" not in text
        assert text.count("--hash=sha256:") >= len(pins(name))


def test_no_pin_stands_in_two_locks() -> None:
    """A lock names those that it lies on, and adds what they lack; pip reads them all at once."""
    names = [name for lock in LOCKS for name in pins(lock)]
    assert len(names) == len({*names}) > 150
    assert below("requirements.lock") == []
    assert all(below(lock)[0] == "requirements.lock" for lock in LOCKS if lock != "requirements.lock")
    assert all({*below(under)} <= {*below(lock)} for lock in LOCKS for under in below(lock))


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_is_whole_with_those_below(lock: str) -> None:
    """Whatever a pinned package requires is pinned, too: `--require-hashes` refuses anything else."""
    known = {canonicalize_name(name) for one in (lock, *below(lock)) for name in pins(one)}
    for name in pins(lock):
        assert needed(name) <= known, f"{lock} lacks {needed(name) - known} of {name}"


def needed(package: str) -> set[str]:
    """What an installed package requires here; nothing of one that is not installed."""
    try:
        lines = [Requirement(line) for line in requires(package) or []]
    except PackageNotFoundError:
        return set()
    return {canonicalize_name(r.name) for r in lines if not r.marker or r.marker.evaluate({"extra": ""})}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with this project's wheel, and none of the repository.

    Other packages are those of the environment that runs the tests.
    """
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder)]
    copy = folder / "source"
    tracked = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *PACKED],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split("\n")  # fmt: skip
    for name in filter(None, tracked):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run([*build, "--no-build-isolation", str(copy)], check=True, capture_output=True)
    (wheel,) = folder.glob("mtqe-*.whl")
    venv.create(folder / "environment", with_pip=False)
    programs = folder / "environment" / "bin"
    site = next((folder / "environment" / "lib").glob("python*")) / "site-packages"
    (site / "zz_others.pth").write_text(f"{sysconfig.get_paths()['purelib']}\n")
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--quiet", "--no-deps",
         "--no-index", str(wheel)],
        check=True, capture_output=True,
    )  # fmt: skip
    return programs


def run(programs: Path, folder: Path, *arguments: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MLFLOW_TRACKING_URI")}
    environment["PATH"] = f"{programs}{os.pathsep}{environment['PATH']}"
    environment["XDG_CACHE_HOME"] = str(folder / "cache")
    done = subprocess.run(list(arguments), cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_is_what_runs_and_no_folder_shadows_it(installed: Path, tmp_path: Path) -> None:
    """A user's own folders `features` and `qe` in the working directory are not imported."""
    for package in ("features", "qe"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise SystemExit('shadowed')\n")
    assert run(installed, tmp_path, "qe", "--version") == f"qe {version()}\n"
    assert "baseline17" in run(installed, tmp_path, "qe", "features", "list")
    location = run(installed, tmp_path, "python", "-I", "-c", "import features; print(features.__file__)")
    assert location.strip() != features.__file__ and "site-packages" in location


@pytest.mark.slow
def test_the_plugin_of_the_guide_is_installed_and_used(installed: Path, tmp_path: Path) -> None:
    for name, content in PLUGIN.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    pip = [sys.executable, "-m", "pip", "--python", str(installed / "python"), "install", "--quiet"]
    options = ["--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, *options, str(tmp_path / "plugin")], check=True, capture_output=True)
    assert "  shout " in run(installed, tmp_path, "qe", "--help")
    assert run(installed, tmp_path, "qe", "shout", "a!b!") == "2\n"
    script = (
        "from features.core.feature_set import FeatureSet; from features.core.extractor import Segments\n"
        "from features.text.tokenizer import Tokenizer; en = Tokenizer('en')\n"
        "made = FeatureSet.make([{'kind': 'acme-qe:exclamations'}], None)\n"
        "print(made.extract(Segments(('a',), ('b!',), en, en, ('1',))).to_dict('list'))"
    )
    expected = "{'acme-qe.exclamations.exclamations_target': [1.0]}\n"
    assert run(installed, tmp_path, "python", "-c", script) == expected


@pytest.mark.slow
def test_without_a_plugin_package_the_core_works(installed: Path, tmp_path: Path) -> None:
    site = next((installed.parent / "lib").glob("python*")) / "site-packages"
    for package in ("qe_human", "qe_papers"):
        shutil.move(site / package, tmp_path / package)
    try:
        listed = run(installed, tmp_path, "qe", "--help")
        assert "  train " in listed and "  rank " not in listed and "  annotate " in listed
        assert "agreement" not in run(installed, tmp_path, "qe", "features", "list")
        with pytest.raises(
            AssertionError, match="'agreement' is part of the package qe_papers, which is not"
        ):
            run(installed, tmp_path, "qe", "features", "describe", "agreement")
    finally:
        for package in ("qe_human", "qe_papers"):
            shutil.move(tmp_path / package, site / package)


@pytest.mark.slow
def test_the_demo_of_the_wheel_and_every_command_that_it_prints(installed: Path, tmp_path: Path) -> None:
    printed = run(installed, tmp_path, "qe", "demo", "--quiet", "--output", "demo")
    commands = re.findall(r"^  (qe \w+[^:\n]*)", printed, re.MULTILINE)
    assert [command.split()[1] for command in commands] == ["ui", "train"]
    for path in re.findall(r"demo/[\w./]+", printed):
        assert (tmp_path / path.rstrip(".")).exists(), path
    train = commands[1].split()
    run(installed, tmp_path, *train, "--set", "search.trials=1", "--quiet")
    assert (tmp_path / "demo-lightgbm" / "report.json").is_file()
    run(installed, tmp_path, "qe", "ui", "--help")


@pytest.mark.parametrize("theirs", ["features/__init__.py", "features/mine.py", "features.py"])
def test_a_folder_of_our_name_gets_one_message(tmp_path: Path, theirs: str) -> None:
    """A module or package `features` in the user's project is found before ours."""
    (tmp_path / theirs).parent.mkdir(exist_ok=True)
    (tmp_path / theirs).write_text("", "utf-8")
    ours = tmp_path / "site-packages"
    ours.mkdir()
    (ours / "qe").symlink_to(ROOT / "qe")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ours)])}
    told = subprocess.run(
        [sys.executable, "-c", "import qe"], capture_output=True, text=True, cwd=tmp_path, env=environment
    ).stderr.splitlines()[-1]
    place = tmp_path / theirs.partition("/")[0]
    assert told == (
        f"ImportError: {place} hides the package `features` that mtqe needs; "
        "rename it, or start Python in another folder"
    )


def test_clean_leaves_what_training_made(tmp_path: Path) -> None:
    """`make clean` removes what the Makefile built; `make distclean` lists the rest and asks."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    built, made = (
        ["output/site/x", "output/demo/x", ".venv/x"],
        ["output/mine/model/x", "mlflow.db", "mlruns/x"],
    )
    for name in (*built, *made):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", "utf-8")

    def make(target: str, answer: str) -> str:
        return subprocess.run(
            ["make", target], cwd=tmp_path, input=answer, capture_output=True, text=True, check=True
        ).stdout

    make("clean", "")
    assert [name for name in (*built, *made) if (tmp_path / name).exists()] == made
    for answer in ("n\n", ""):
        told = make("distclean", answer)
        assert "mlflow.db" in told and "mlruns" in told and "[y/N]" in told
        assert all((tmp_path / name).exists() for name in made)
    make("distclean", "y\n")
    assert not [name for name in made if (tmp_path / name).exists()]
