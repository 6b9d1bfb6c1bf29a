"""Record what commands give at one commit, and compare two records.

    python benchmarks/record.py run HEAD~20 --output /tmp/before
    python benchmarks/record.py run HEAD --output /tmp/after
    python benchmarks/record.py compare /tmp/before /tmp/after

`run` checks a commit out in a temporary folder and runs the commands below with this environment's Python,
the demo first. `--data DIR` (the shared data) adds WMT12 experiments; `--only NAME` runs single steps.
`compare` takes numbers as equal within 1e-12 of their size and everything else to the byte; times, versions
and run identifiers are masked. It exits with 1 if anything differs.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXPERIMENTS = ("baseline", "baseline-own", "best", "compact", "sdllw-m5p", "uu-best")
MODEL = "--model output/demo/model"
# Name -> command without `qe`; all run in one folder, in this order.
STEPS = {
    "demo": "demo --quiet",
    "score-tsv": f"score {MODEL} --input output/demo/data/new.tsv --output scored.tsv",
    "score-csv": f"score {MODEL} --input output/demo/data/new.tsv --output scored.csv --keep",
    "score-jsonl": f"score {MODEL} --input output/demo/data/new.tsv --output scored.jsonl --keep",
    "score-parquet": f"score {MODEL} --input output/demo/data/new.tsv --output scored.parquet",
    "score-from-csv": f"score {MODEL} --input scored.csv --output again.tsv",
    "score-from-jsonl": f"score {MODEL} --input scored.jsonl --output again.jsonl",
    "score-explained": f"score {MODEL} --input output/demo/data/new.tsv --output explained.tsv --explain 3",
    "score-xliff": f"score {MODEL} --input given/units.xlf --output units.xlf",
    "score-tmx": f"score {MODEL} --input given/units.tmx --output units.tmx",
    "evaluate": "evaluate --gold given/gold --predictions a=given/a b=given/b --json",
    "power": "power --gold given/gold --predictions a=given/a b=given/b --simulations 100 --json",
    "triage": "triage --gold given/gold --predictions given/a --costs given/costs.yaml --json",
    "compare": "compare --references given/ref.es --system x=given/x.es --system y=given/y.es --json",
    "labels": "labels --target given/x.es --post-edit given/ref.es --target-language es -o labels.tsv",
    "filter": "filter -i given/src.en -i given/x.es -o kept.en -o kept.es --languages en es",
    "rank": "rank given/rankings.csv --json",
    "correlate": "correlate --human given/human.tsv --metrics given/metrics.tsv --json",
    "effort": "effort --target given/x.es --post-edit given/ref.es --effort given/times --target-language es",
    "evaluate-words": "evaluate words --gold given/gold.tags --predictions a=given/a.tags b=given/b.tags"
    " --layout words --json",
    "resources": "resources build --source given/src.en --target given/ref.es --output bundle",
    "aligner": "resources build --source given/src.en --target given/ref.es --only aligner --output aligner",
    "align": "align --resources aligner --source given/src.en --target given/x.es --output x.links",
    "extract": "features extract output/demo/demo.yaml --output features.parquet",
    "data-check": "data check output/demo/demo.yaml --json",
    "robustness": f"robustness {MODEL} --input output/demo/data/new.tsv --rows 50 --json",
    "suggest": "suggest output/demo/demo.yaml --input output/demo/data/new.tsv --count 20 --output next.tsv",
    "select": f"select {MODEL} --source given/src.en --system x=given/x.es --system y=given/y.es -o choice",
    "terrorcat": "terrorcat train --rankings given/ranks.csv --outputs x=given/x.es y=given/y.es"
    " --reference given/ref.es --target-language es --output terrorcat",
    "features": "features list --json",
    "learners": "learners list --json",
    "schema": "schema",
}
MASKS = (
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?"), "TIME"),
    (re.compile(r"\b[0-9a-f]{32,64}\b"), "DIGEST"),
    (re.compile(r"\b[\d,.]+ (ms|s|seconds?|minutes?|MiB|MB|GiB|kB)\b"), "COST"),
    (
        re.compile(r'"(seconds|cpu_seconds|elapsed|created|version|commit|bytes|run_id|host)": [^,}\n]*'),
        r'"\1"',
    ),
)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def record(revision: str, output: Path, data: Path | None, only: list[str]) -> None:
    """Run the steps at `revision`; the folder holds stdout of each and the files that they wrote."""
    output.mkdir(parents=True)
    checkout = Path(tempfile.mkdtemp()) / "checkout"
    subprocess.run(["git", "worktree", "add", "--detach", str(checkout), revision], cwd=ROOT, check=True)
    try:
        make_inputs(output / "given")
        for name, arguments in {**STEPS, **experiments(data)}.items():
            if not only or name in only or name == "demo":
                run_step(checkout, output, name, arguments)
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(checkout)], cwd=ROOT, check=True)


def experiments(data: Path | None) -> dict[str, str]:
    """The WMT12 experiments as further steps."""
    settings = f"--data-root {data} --quiet --output"
    names = EXPERIMENTS if data else ()
    return {f"wmt12-{n}": f"train {{checkout}}/experiments/wmt12/{n}.yaml {settings} {n}" for n in names}


def run_step(checkout: Path, output: Path, name: str, arguments: str) -> None:
    """One command; its exit code, stdout and stderr become a file."""
    paths = [str(checkout), str(checkout / "plugins")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    # A store of its own: no champion of another record.
    environment["MLFLOW_TRACKING_URI"] = f"sqlite:///{output.resolve() / 'mlflow.db'}"
    command = [sys.executable, "-m", "qe", *arguments.format(checkout=checkout).split()]
    result = subprocess.run(command, cwd=output, env=environment, capture_output=True, text=True)
    (output / f"{name}.out").write_text(f"exit {result.returncode}\n{result.stdout}")
    (output / f"{name}.err").write_text(result.stderr)
    print(f"{name}: exit {result.returncode}", flush=True)


def make_inputs(folder: Path) -> None:
    """Fixed small inputs: scores, texts, judgements, translation files."""
    folder.mkdir()
    gold = [round(1 + (i * 37 % 80) / 20, 2) for i in range(200)]
    scores = {"gold": gold, "a": [g + (i * 13 % 7) / 10 for i, g in enumerate(gold)],
              "b": [g + (i * 29 % 17) / 10 for i, g in enumerate(gold)]}  # fmt: skip
    for name, values in scores.items():
        (folder / name).write_text("".join(f"{value}\n" for value in values))
    words = ["la", "casa", "grande", "tiene", "una", "puerta", "roja", "y", "dos", "ventanas"]
    lines = [" ".join(words[: 4 + i % 6]) for i in range(100)]
    texts = {"ref.es": lines, "x.es": [line.replace("roja", "rojo") for line in lines],
             "y.es": [" ".join(reversed(line.split())) for line in lines],
             "src.en": ["the big house has a red door and two windows"] * 100}  # fmt: skip
    for name, content in texts.items():
        (folder / name).write_text("".join(f"{line}\n" for line in content))
    for name, bad in (("gold", 3), ("a", 4), ("b", 5)):
        tags = [" ".join("BAD" if i % bad == 0 else "OK" for i in range(5 + n % 4)) for n in range(50)]
        (folder / f"{name}.tags").write_text("".join(f"{line}\n" for line in tags))
    (folder / "costs.yaml").write_text(
        "good: 3.5\npublish_bad: 10\npost_edit: 4\npost_edit_worst: 8\nretranslate: 9\n"
    )
    _judgements(folder)
    _translation_files(folder, list(zip(texts["src.en"][:5], lines[:5], strict=True)))


def _translation_files(folder: Path, pairs: list[tuple[str, str]]) -> None:
    unit = '<trans-unit id="{}"><source>{}</source><target>{}</target></trans-unit>'
    units = "".join(unit.format(i, *pair) for i, pair in enumerate(pairs))
    (folder / "units.xlf").write_text(
        '<?xml version="1.0"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
        '<file original="f" source-language="en" target-language="es" datatype="plaintext">'
        f"<body>{units}</body></file></xliff>\n"
    )
    unit = '<tu><tuv xml:lang="en"><seg>{}</seg></tuv><tuv xml:lang="es"><seg>{}</seg></tuv></tu>'
    units = "".join(unit.format(*pair) for pair in pairs)
    (folder / "units.tmx").write_text(
        '<?xml version="1.0"?>\n<tmx version="1.4"><header creationtool="t" creationtoolversion="1" '
        'segtype="sentence" o-tmf="t" adminlang="en" srclang="en" datatype="plaintext"/>'
        f"<body>{units}</body></tmx>\n"
    )


def _judgements(folder: Path) -> None:
    systems = [f"s{i}" for i in range(8)]
    rows = ["system_a,system_b,wins,ties,losses"]
    rows += [
        f"{a},{b},{10 + i},{(i + j) % 4},{12 - j}"
        for i, a in enumerate(systems)
        for j, b in enumerate(systems)
        if i < j
    ]
    (folder / "rankings.csv").write_text("\n".join(rows) + "\n")
    ranks = ["source_language,target_language,segment,judge,system,rank"]
    for segment in range(1, 101):
        best = "xy"[segment % 3 == 0]
        ranks += [f"English,Spanish,{segment},judge,{system},{1 + (system != best)}" for system in "xy"]
    (folder / "ranks.csv").write_text("\n".join(ranks) + "\n")
    human, metrics = ["system\tsegment\tscore"], ["system\tsegment\tm1\tm2"]
    for i, system in enumerate(systems):
        for segment in range(30):
            value = (i * 7 + segment * 3) % 23
            human.append(f"{system}\t{segment}\t{value}")
            metrics.append(f"{system}\t{segment}\t{value + segment % 5}\t{(value * 5) % 19}")
    (folder / "human.tsv").write_text("\n".join(human) + "\n")
    (folder / "metrics.tsv").write_text("\n".join(metrics) + "\n")
    (folder / "times").write_text("".join(f"{1 + i % 5}\n" for i in range(100)))


def compare(before: Path, after: Path) -> Iterator[str]:
    """Differences between two records, a line each."""
    names = {p.relative_to(folder) for folder in (before, after) for p in folder.rglob("*") if p.is_file()}
    for name in sorted(names):
        if (
            name.suffix in (".db", ".err", ".lock", ".png", ".npy", ".npz", ".bin")
            or "mlartifacts" in name.parts
        ):
            continue
        pair = before / name, after / name
        if not all(path.exists() for path in pair):
            yield f"{name}: only in {'the first' if pair[0].exists() else 'the second'}"
        elif name.suffix == ".parquet":
            yield from _tables(name, *pair)
        else:
            yield from _texts(name, *(path.read_bytes().decode("utf-8", "replace") for path in pair))


def _texts(name: Path, first: str, second: str) -> Iterator[str]:
    for mask, replacement in MASKS:
        first, second = mask.sub(replacement, first), mask.sub(replacement, second)
    if NUMBER.sub("#", first) != NUMBER.sub("#", second):
        pairs = zip(NUMBER.sub("#", first).splitlines(), NUMBER.sub("#", second).splitlines(), strict=False)
        shown = next(((a, b) for a, b in pairs if a != b), ("", "(one is longer)"))
        yield f"{name}: text differs: {shown[0][:90]!r} and {shown[1][:90]!r}"
        return
    numbers = zip(NUMBER.findall(first), NUMBER.findall(second), strict=True)
    wrong = [
        (a, b) for a, b in numbers if a != b and abs(float(a) - float(b)) > 1e-12 * max(1.0, abs(float(a)))
    ]
    if wrong:
        yield f"{name}: {len(wrong)} numbers differ, first {wrong[0][0]} and {wrong[0][1]}"


def _tables(name: Path, first: Path, second: Path) -> Iterator[str]:
    import pandas as pd

    try:
        pd.testing.assert_frame_equal(pd.read_parquet(first), pd.read_parquet(second), rtol=1e-12, atol=1e-12)
    except AssertionError as error:
        yield f"{name}: {str(error).splitlines()[0]}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("revision")
    run.add_argument("--output", type=Path, required=True)
    run.add_argument("--data", type=Path)
    run.add_argument("--only", nargs="*", default=[])
    run.add_argument("--overwrite", action="store_true")
    both = commands.add_parser("compare")
    both.add_argument("first", type=Path)
    both.add_argument("second", type=Path)
    options = parser.parse_args()
    if options.command == "run":
        if options.overwrite:
            shutil.rmtree(options.output, ignore_errors=True)
        record(options.revision, options.output, options.data and options.data.resolve(), options.only)
        return
    differences = list(compare(options.first, options.second))
    print(json.dumps(differences, indent=1, ensure_ascii=False) if differences else "no difference")
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
