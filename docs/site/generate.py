"""The pages of the documentation site: those of docs/, and those made from the code and from the demo.

python docs/site/generate.py [--demo output/demo] [--output output/docs]
"""

import argparse
import dataclasses
import importlib
import inspect
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from qe.cli._help import panels_of, usage_words
from qe.cli._verbs import GROUPS, commands, purpose, verbs
from qe.data.format import page as format_page
from qe.getting_started.catalogue import features as catalogue
from qe.getting_started.catalogue.features import FeatureCosts

ROOT = Path(__file__).resolve().parents[2]
_PLOTS = {
    "predicted_against_gold": "Gold labels and predictions, out of fold",
    "residuals": "Errors by prediction",
    "delta_avg": "DeltaAvg[n] of the model and of oracles that know the post-edits",
    "interval_coverage_test": "How often prediction intervals held the label, on the test split",
    "feature_importance": "What shuffling one feature costs",
    "study_history": "The search: every trial, and the best so far",
}
_MARK = "<!-- runs on the demo -->\n"
_SHOWN = re.compile(r"^ {0,4}(?:\$ )?(?:qe|python) ", re.MULTILINE)
_REPORTS = ("report.html", "scores.html")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--demo", type=Path, default=ROOT / "output" / "demo")
    parser.add_argument("--output", type=Path, default=ROOT / "output" / "docs")
    arguments = parser.parse_args()
    write(arguments.output, arguments.demo)


def write(output: Path, demo: Path) -> None:
    """The source of the site: Markdown pages, plots and reports of the demo in `demo`."""
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    for page in sorted((ROOT / "docs").rglob("*.md")):
        place = output / page.relative_to(ROOT / "docs")
        place.parent.mkdir(exist_ok=True)
        place.write_text(page.read_text("utf-8") + when_run(page), "utf-8")
    shutil.copytree(ROOT / "docs" / "images", output / "images")
    shutil.copy(ROOT / "docs" / "tour.ipynb", output)
    (output / "contributing.md").write_text(_moved(ROOT / "CONTRIBUTING.md"), "utf-8")
    (output / "changes.md").write_text(_moved(ROOT / "CHANGELOG.md"), "utf-8")
    (output / "index.md").write_text(_moved(ROOT / "README.md"), "utf-8")
    made = {
        "command-line.md": command_line(),
        **python_reference(),
        "features.md": features(),
        "formats.md": formats(),
        "gallery.md": gallery(demo, output),
    }
    for name, text in made.items():
        (output / name).write_text(text, "utf-8")


def when_run(page: Path) -> str:
    """A paragraph for pages with commands that no test runs: when they were run, as the history tells."""
    tested = "".join(re.findall(rf"{_MARK}\n?```\w*\n.*?```", page.read_text("utf-8"), re.DOTALL))
    if len(_SHOWN.findall(page.read_text("utf-8"))) == len(_SHOWN.findall(tested)):
        return ""
    history = ["git", "-C", str(ROOT), "log", "--format=%cs", "--", str(page)]
    dates = subprocess.run(history, capture_output=True, text=True, check=False).stdout.split()
    when = f" (between {dates[-1]} and {dates[0]})" if dates else ""
    return f"\n---\n\nCommands that are not marked as run by a test were run when they were written{when}.\n"


def _moved(page: Path) -> str:
    """A page of the repository's root, with links of the site."""
    text = page.read_text("utf-8").replace("](docs/", "](")
    text = text.replace("](CONTRIBUTING.md)", "](contributing.md)").replace(
        "](CHANGELOG.md)", "](changes.md)"
    )
    return re.sub(r"\[([^\]]+)\]\((?:LICENSE|CITATION\.cff)\)", r"\1", text)


def command_line() -> str:
    """Every verb with its help and options, as its parser has them."""
    parts = ["# Command line", "", "Made from the parsers: what `qe VERB --help` says.", ""]
    for title, members in GROUPS.items():
        parts += [f"**{title}**", ""]
        parts += [f"- [`qe {verb}`](#qe-{verb}): {purpose(verb)}" for verb in members.split()] + [""]
    for verb in verbs():
        if verb not in commands(verb):
            parts += ["", f"## qe {verb}", "", f"    qe {verb} [OPTIONS] COMMAND", "", f"{purpose(verb)}."]
        for name, subcommand in commands(verb).items():
            parts += [
                "",
                f"{'##' if name == verb else '###'} qe {name}",
                "",
                *_command(subcommand),
            ]
    return "\n".join(parts) + "\n"


def _command(command: Any) -> list[str]:
    lines = [f"    {' '.join(usage_words(command))}", "", *_described(command.text)]
    for title, rows in panels_of(command).items():
        lines += ["", f"| {title} | |", "| --- | --- |"]
        lines += [f"| `{_cell(names)}` | {_cell(text)} |" for names, text in rows if "--help" not in names]
    return lines


def _described(text: str) -> list[str]:
    """A docstring's paragraphs; commands, which are indented, on one line each."""
    return [
        line
        for block in inspect.cleandoc(text).split("\n\n")
        for line in ("    " * block.startswith("    ") + " ".join(block.split()), "")
    ][:-1]


def _cell(text: str) -> str:
    """Text for a cell of a table."""
    return " ".join(text.replace("|", "\\|").split())


def python_reference() -> dict[str, str]:
    """Page -> its text: the public names of every package, with signatures and docstrings."""
    packages = [importlib.import_module(name) for name in public_packages()]
    pages = {page_of(package.__name__): "\n".join(_package(package)) + "\n" for package in packages}
    index = [f"- [`{each.__name__}`]({page_of(each.__name__)}): {_first(each)}" for each in packages[1:]]
    first = page_of(packages[0].__name__)
    return pages | {first: "\n".join([*_INTRODUCTION, *index, "", pages[first]])}


_INTRODUCTION = [
    "# Python reference",
    "",
    "Made from the docstrings of public names; [Python](python.md) is a tour. A name is imported from its "
    "package:",
    "`from qe.statistics import DeltaAvg`. Below are the names of `qe` itself; other packages have theirs:",
    "",
]


def page_of(package: str) -> str:
    """The page of a package: python-reference.md of `qe`, reference-data.md of `qe.data`."""
    return "python-reference.md" if package == "qe" else f"reference-{package.removeprefix('qe.')}.md"


def _package(package: Any) -> list[str]:
    lines = [f"{'##' if package.__name__ == 'qe' else '#'} {package.__name__}", "", *_docstring(package)]
    for name in package.__all__:
        lines += ["", f"## {package.__name__}.{name}", "", *_object(name, getattr(package, name))]
    return lines


PLUGINS = ("qe_human", "qe_papers", "qe_treebanks")


def public_packages() -> list[str]:
    """`qe`, then the others with public names."""
    roots = {"qe": ROOT, "features": ROOT, **{name: ROOT / "plugins" for name in PLUGINS}}
    files = {path: root for top, root in roots.items() for path in sorted((root / top).rglob("__init__.py"))}
    with_exports = {path: root for path, root in files.items() if "exports import" in path.read_text("utf-8")}
    return [".".join(path.parent.relative_to(root).parts) for path, root in with_exports.items()]


def _first(value: Any) -> str:
    return (inspect.getdoc(value) or "").partition("\n")[0]


def _object(name: str, value: Any) -> list[str]:
    lines = [*_code(f"{name}{_signature(value)}"), "", *_docstring(value)]
    if inspect.isclass(value):
        for member, function in sorted(vars(value).items()):
            plain = function.__func__ if isinstance(function, classmethod | staticmethod) else function
            if member.startswith("_") or not inspect.getdoc(plain):
                continue
            if isinstance(plain, property):
                lines += ["", f"### {name}.{member}", "", *_docstring(plain)]
            elif inspect.isfunction(plain):
                lines += ["", f"### {name}.{member}", "", *_code(f"{member}{_signature(plain)}"), ""]
                lines += _docstring(plain)
    return lines


def _signature(value: Any) -> str:
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""
    text = re.sub(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[([\w.]+)\]\]", r"ndarray[\1]", text)
    return re.sub(
        r"\b(?:pathlib(?:\._local)?|numpy|typing|collections\.abc|qe\.[\w.]+|features\.[\w.]+)\.", "", text
    )


def _code(text: str) -> list[str]:
    return ["```python", text, "```"]


def _docstring(value: Any) -> list[str]:
    """Its text; what is set in columns stays as it is."""
    blocks = re.split(r"\n\n", inspect.getdoc(value) or "")
    return [line for block in blocks for line in (*_block(block), "")][:-1]


def _block(block: str) -> list[str]:
    if block.startswith(">>>"):
        return _code(block)
    if re.search(r"^\w[\w, *]*  +\S", block, re.MULTILINE):
        return ["```text", *block.splitlines(), "```"]
    return block.splitlines()


def features() -> str:
    """All feature families and sets with definitions, sources, units and costs."""
    costs = FeatureCosts.load()
    parts = [
        "# Features",
        "",
        "Made from the extractors: what `qe features describe NAME` says. Costs are processor time: "
        f"{costs.measured}, {costs.machine}; {costs.data}",
        "",
        "## Families",
    ]
    for family in catalogue.families(costs):
        _, entries = catalogue.describe(family.name, costs)
        parts += ["", f"### {family.name}", "", *_paragraphs(family.documentation), ""]
        parts += [f"Needs {', '.join((*family.resources, *family.columns))}.", ""] if family.resources else []
        if family.microseconds is not None:
            parts += [f"Costs {family.microseconds:,.0f} µs per segment.", ""]
        parts += _entries(entries)
    parts += ["", "## Sets", ""]
    for entry in catalogue.sets(costs):
        parts += [f"- **{entry.name}**: {_cell(entry.description)}. Source: {_cell(entry.origin)}. "
                  f"Families: {', '.join(entry.families)}."]  # fmt: skip
    return "\n".join(parts) + "\n"


def formats() -> str:
    """All dataset formats: what `qe data formats` says."""
    head = (
        "# Dataset formats\n\nMade from the formats: their keys belong under `dataset:`, with `format` and "
        "`path`; the examples are invented.\n\n"
    )
    return head + re.sub(r"^###", "##", format_page(), flags=re.MULTILINE)


def _paragraphs(text: str) -> list[str]:
    return [line for block in text.split("\n\n") for line in (*_block(inspect.cleandoc(block)), "")][:-1]


def _entries(entries: Iterable[Any]) -> list[str]:
    rows = [
        f"| `{e.name}` | {_cell(e.description)} | {_cell(e.origin)} | {_cell(e.unit)} |"
        for e in entries
        if dataclasses.is_dataclass(e)
    ]
    return ["| feature | definition | source | unit |", "| --- | --- | --- | --- |", *rows] if rows else []


def gallery(demo: Path, output: Path) -> str:
    """Plots and reports of the demo's run, copied to the page's folder."""
    parts = [
        "# Gallery",
        "",
        "Plots and reports of `qe demo` (artificial data), made when this site was built. `qe train` leaves "
        "the same plots of every run in `plots/` and in MLflow.",
    ]
    (output / "gallery").mkdir(exist_ok=True)
    for name, text in _PLOTS.items():
        plot = demo / "plots" / f"{name}.png"
        if not plot.is_file():
            raise SystemExit(f"{plot} is absent: run `qe demo` first")
        shutil.copy(plot, output / "gallery" / plot.name)
        parts += ["", f"## {text}", "", f"![{text}](gallery/{plot.name})"]
    reports = [demo / name for name in _REPORTS if (demo / name).is_file()]
    if reports:
        parts += ["", "## Reports", "", "Pages that `qe report` writes; each is one file.", ""]
    for report in reports:
        shutil.copy(report, output / "gallery" / report.name)
        parts.append(f"- [{_title(report)}](gallery/{report.name})")
    return "\n".join(parts) + "\n"


def _title(report: Path) -> str:
    matched = re.search(r"<title>(.*?)</title>", report.read_text("utf-8"), re.DOTALL)
    return matched[1].strip() if matched else report.stem


if __name__ == "__main__":
    main()
