"""Number of a paper's features that each experiment has, counted from the files, "n of m".

    python docs/site/features_of_papers.py                                      # prints it
    python docs/site/features_of_papers.py --page docs/results/wmt12.md         # writes it into its table

n: the columns that the file selects; m: the features of the paper's system (`published: {features: m}`).
Substitutes count as columns. In the page the table is between `<!-- table of features begins -->` and
`<!-- table of features ends -->`: a row begins with the names of its files; its second cell is replaced.
"""

import argparse
from functools import cache
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.core.feature_set import expand
from features.storage.files import atomic_file
from qe.config.experiment import Experiment, load
from qe.getting_started.catalogue.features import columns_of

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "wmt12"
BEGIN, END = "<!-- table of features begins -->\n", "<!-- table of features ends -->"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--page", type=Path, help="page with the table; default: print the counts")
    arguments = parser.parse_args()
    if arguments.page is None:
        for file in sorted(FOLDER.glob("*.yaml")):
            print(f"{file.stem:24} {of_paper(file.stem)}")
        return
    with atomic_file(arguments.page) as temporary:
        temporary.write_text(renewed(arguments.page.read_text("utf-8")), "utf-8")


@cache
def of_paper(name: str) -> str:
    """The counts of one file.

    >>> of_paper("uu-e")
    'none, and tree kernels'
    """
    experiment = load(FOLDER / f"{name}.yaml")
    columns = len(columns_of(expand(experiment.features), _orders(experiment)))
    total = experiment.published and experiment.published.features
    return _share(columns, total) + (", and tree kernels" if experiment.trees else "")


def _orders(experiment: Experiment) -> dict[str, Any]:
    """The orders of n-grams, which are part of names of columns."""
    settings = {} if experiment.resources is None else experiment.resources.settings
    return {part: {"order": setting["order"]} for part, setting in settings.items() if "order" in setting}


def _share(columns: int, total: int | None) -> str:
    if not columns:
        return "none"
    if total is None:
        return str(columns)
    return f"{columns} of {total}" if columns <= total else f"{total} of {total}, and {columns - total} more"


def renewed(text: str) -> str:
    """The page with current counts. Raises InputError for a page without the marks."""
    before, begin, rest = text.partition(BEGIN)
    table, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError("has no table of features", remedy=f"write {BEGIN.strip()} and {END} around it")
    return before + begin + "".join(map(_row, table.splitlines(keepends=True))) + end + after


def _row(line: str) -> str:
    """A line of the table; head and blank lines are unchanged."""
    cells = line.split(" | ")
    names = cells[0].removeprefix("| ").split(", ")
    if not all((FOLDER / f"{name}.yaml").is_file() for name in names):
        return line
    counts = dict.fromkeys(of_paper(name) for name in names)
    return " | ".join([cells[0], "; ".join(counts), *cells[2:]])


if __name__ == "__main__":
    main()
