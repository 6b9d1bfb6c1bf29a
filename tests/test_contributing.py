"""The examples of the guides, at their places in a copy of the project, pass what CI asks."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
GUIDES = "".join((ROOT / name).read_text("utf-8") for name in ("CONTRIBUTING.md", "docs/extending.md"))
FILES = dict(re.findall(r"```(?:python|toml) (\S+)\n(.*?)```", GUIDES, re.DOTALL))
EXAMPLES = {name: code for name, code in FILES.items() if not name.startswith("plugin/")}
PLUGIN = {name: code for name, code in FILES.items() if name.startswith("plugin/")}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with the examples in it; what was compiled comes along."""
    copy = tmp_path_factory.mktemp("project")
    for folder in (".ci", "benchmarks", "docs", "experiments", "features", "plugins", "qe", "tests"):
        shutil.copytree(ROOT / folder, copy / folder)
    for path in ROOT.iterdir():
        if path.suffix in (".lock", ".md", ".toml", ".yaml", ".yml", ".cff", "") and path.is_file():
            shutil.copy2(path, copy)
    for name, code in EXAMPLES.items():
        assert not (copy / name).exists(), f"{name} is a file of the project now"
        (copy / name).write_text(code, "utf-8")
    return copy


def run(project: Path, *command: str, site: Path | None = None) -> str:
    """What a tool printed. Its exit code is asserted. `site` is a folder of installed packages."""
    folders = [project, project / "plugins", site, os.environ.get("PYTHONPATH")]
    places = os.pathsep.join(str(folder) for folder in folders if folder)
    environment = {**os.environ, "PYTHONPATH": places}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=project, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_extractors_of_the_guides_train_beside_what_init_writes(project: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "acme_qe-1.0.dist-info").mkdir(parents=True)
    settings = tomllib.loads(PLUGIN["plugin/pyproject.toml"])["project"]
    entries = settings["entry-points"]["mtqe.extractor"]
    lines = ["[mtqe.extractor]", *(f"{name} = {place}" for name, place in entries.items())]
    (site / "acme_qe-1.0.dist-info" / "entry_points.txt").write_text("\n".join(lines))
    (site / "acme_qe-1.0.dist-info" / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {settings['name']}\nVersion: 1.0\n"
    )
    (site / "acme_qe.py").write_text(PLUGIN["plugin/acme_qe.py"])
    table = [f"a word {row}\tein Wort{'!' * (row % 4)} {row}\t{row % 4 / 4}" for row in range(60)]
    (tmp_path / "mine.tsv").write_text("\n".join(["source\ttarget\tscore", *table]) + "\n", "utf-8")
    data, experiment, own = tmp_path / "mine.tsv", tmp_path / "mine.yaml", "acme-qe:exclamations"
    direction = ("--higher-is-better", "--source-language", "en", "--target-language", "de")
    run(project, "qe", "init", str(data), *direction, "-o", str(experiment), site=site)
    content = yaml.safe_load(experiment.read_text("utf-8"))
    content["features"] += ["long_words", own]
    experiment.write_text(yaml.safe_dump(content | {"tracking": "off"}), "utf-8")
    options = ("--set", "search.trials=2")
    run(project, "qe", "train", str(experiment), *options, "-o", str(tmp_path / "out"), site=site)
    names = json.loads((tmp_path / "out" / "report.json").read_text())["features"]["names"]
    assert {"share_of_long_words_target", "acme-qe.exclamations.exclamations_target"} < {*names}


def test_the_guides_have_an_example_of_every_kind() -> None:
    folders = [str(Path(name).parent) for name in EXAMPLES]
    assert sorted(folders) == [
        "features", "features/resources", "qe/data/formats", "qe/learning/learners", "qe/learning/selectors",
        "qe/statistics/metrics", "qe/systems/mt_metrics",
    ]  # fmt: skip


@pytest.mark.slow
def test_the_examples_are_formatted_and_free_of_lint(project: Path) -> None:
    run(project, "ruff", "check", *EXAMPLES)
    run(project, "ruff", "format", "--check", *EXAMPLES)


@pytest.mark.slow
def test_the_examples_have_right_types(project: Path) -> None:
    modules = [name.removesuffix(".py").replace("/", ".") for name in EXAMPLES]
    run(project, "mypy", *(argument for module in modules for argument in ("-m", module)))


CONTRACTS = (
    "tests/features/test_extractor_contract.py", "tests/features/resources/test_resource_contract.py",
    "tests/learning", "tests/statistics/metrics", "tests/systems/test_mt_metric_contract.py",
    "tests/data/test_format.py",
)  # fmt: skip


@pytest.mark.slow
def test_the_contract_tests_find_the_examples_and_pass(project: Path) -> None:
    stems = [Path(name).stem for name in EXAMPLES]
    chosen = ("-p", "no:cacheprovider", "-rA", "-m", "not slow", "-k", " or ".join(stems))
    printed = run(project, "pytest", *chosen, *CONTRACTS)
    for stem in stems:
        assert re.search(rf"^PASSED tests/.*{stem}", printed, re.MULTILINE), f"no test asked {stem}"
