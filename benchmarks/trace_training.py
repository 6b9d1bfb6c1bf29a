"""Count the project's functions that a first `qe train` of 90 rows enters, by stage.

    python benchmarks/trace_training.py [--list] [--features surface]

Data are the demo's. Resources, where features need some, are built before; features, folds and the search
are not. Functions are distinct code objects of `qe/`, `features/` and `plugins/`; the second figure leaves
out comprehensions, generator expressions and lambdas. `train()` alone is counted from its call on, the
process from its start, with imports and the command line.
"""

import argparse
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = tuple(f"{ROOT / name}{os.sep}" for name in ("features", "plugins", "qe"))
FUNCTION = inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS  # flags that modules and class bodies lack
STAGES = ("before the first feature", "before the first fit", "until the end")
EXPERIMENT = """name: traced
dataset:
  format: parallel_text
  path: data
  label: {name: effort, low: 1, high: 5, higher_is_better: true}
  source_language: en
  target_language: es
  splits:
    train: {source: train.source, target: train.target, post_edit: train.post_edit, scores: train.scores}
resources: {source: data/corpus.source, target: data/corpus.target}
learner: {kind: ridge, params: {alpha: 10}, space: {}}
"""


class Trace:
    """Distinct functions in the order of their first call, and the stage in which that was."""

    def __init__(self) -> None:
        self.stage = 0
        self.entered: dict[CodeType, int] = {}

    def enter(self, code: CodeType) -> None:
        self.entered.setdefault(code, self.stage)

    def to_json(self) -> list[tuple[int, str, str]]:
        functions = self.entered.items()
        return [
            (stage, str(Path(code.co_filename).relative_to(ROOT)), code.co_qualname)
            for code, stage in functions
        ]


def traced(arguments: list[str], output: Path) -> None:
    """Runs `qe` with arguments in this process; writes what it enters to a JSON file."""
    process, training = Trace(), Trace()
    in_training = False

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal in_training
        if event != "call":
            return
        code = frame.f_code
        project = code.co_filename.startswith(PACKAGES)
        in_training |= project and code.co_filename.endswith("training/train.py") and code.co_name == "train"
        if project and code.co_flags & FUNCTION == FUNCTION:
            process.enter(code)
            if in_training:
                training.enter(code)
        if not in_training:
            return
        if code.co_name == "extract" and project:
            process.stage = training.stage = max(training.stage, 1)
        # A model is an estimator of scikit-learn's, or of this project.
        if training.stage == 1 and code.co_name == "fit" and ("sklearn" in code.co_filename or project):
            process.stage = training.stage = 2

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        from qe.cli import main

        sys.argv = ["qe", *arguments]
        main()
    finally:
        sys.setprofile(None)
        content = {"train()": training.to_json(), "the process": process.to_json()}
        output.write_text(json.dumps(content))


def count(functions: list[tuple[int, str, str]], stage: int) -> str:
    """How many functions were entered up to a stage, and how many of them have a name."""
    entered = [name for at, _, name in functions if at <= stage]
    named = sum(not name.endswith(">") for name in entered)
    return f"{len(entered):4} ({named} named)"


def run(folder: Path, features: str) -> dict[str, list[tuple[int, str, str]]]:
    """Prepares data and resources in a folder, then traces one training in a fresh process."""
    from qe.getting_started.demo.generation import generate

    generate(folder / "data", seed=1, pairs=2000, train=90, test=40, new=1)
    (folder / "traced.yaml").write_text(f"{EXPERIMENT}features: [{features}]\n")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db",
    }
    train = ["train", "traced.yaml", "--cache-dir", "cache", "--quiet"]

    def python(*arguments: str) -> None:
        command = [sys.executable, *arguments]
        subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)

    python("-m", "qe", *train, "--output", "warm")
    for name in ("features", "fitted"):
        shutil.rmtree(folder / "cache" / name, ignore_errors=True)
    for file in folder.glob("mlflow.db*"):
        file.unlink()
    python(str(Path(__file__).resolve()), "--traced", "trace.json", *train, "--output", "out")
    content: dict[str, list[tuple[int, str, str]]] = json.loads((folder / "trace.json").read_text())
    return content


def main() -> None:
    """Prints the counts, and the functions by stage and file if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="also list the functions, by stage and file")
    parser.add_argument("--features", default="surface", help="families, separated by commas")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        traces = run(Path(folder), options.features)
    for name, functions in traces.items():
        print(name)
        for stage, title in enumerate(STAGES):
            print(f"  {title:26}{count(functions, stage)}")
    if not options.list:
        return
    for stage, title in enumerate(STAGES):
        print(f"\n{title}, from train() on")
        files = Counter(file for at, file, _ in traces["train()"] if at == stage)
        for file, size in files.most_common():
            names = [name for at, where, name in traces["train()"] if (at, where) == (stage, file)]
            print(f"  {size:3} {file}: {', '.join(names)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--traced"]:
        traced(sys.argv[3:], Path(sys.argv[2]))
    else:
        main()
