"""Files of a selection: chosen translations, preferences by segment and document, report."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from features.basics.array_types import FloatArray
from features.storage.files import atomic_file
from qe.display.numbers import exact
from qe.systems.documents import document_names
from qe_papers.selection.selection import By, Preferences, Selection, Translations


def write(
    folder: Path,
    translations: Translations,
    preferences: Mapping[str, Preferences],
    granularity: By,
    selection: Selection | None = None,
) -> None:
    """Writes into `folder`, each file atomically.

    NAME.txt             the chosen translations, line by line
    NAME.tsv             segment (from 1), document, system chosen, preference for each system
    NAME.documents.tsv   the same by document (what would be chosen for the whole document)
    report.json          scores, shares, tests, recipe, where there were references
    """
    folder.mkdir(parents=True, exist_ok=True)
    systems = translations.names
    for name, preference in preferences.items():
        choice = preference.choice(granularity, translations.documents)
        with atomic_file(folder / f"{name}.txt") as path:
            path.write_text("".join(f"{line}\n" for line in translations.lines(choice)), "utf-8")
        rows = zip(range(1, len(translations) + 1), translations.documents, strict=True)
        _table(
            folder / f"{name}.tsv", ("segment", "document"), rows, [systems[i] for i in choice], systems,
            preference.segments,
        )  # fmt: skip
        documents = document_names(translations.documents)
        whole = [systems[i] for i in preference.documents.argmax(axis=0)]
        keys = ((document,) for document in documents)
        _table(folder / f"{name}.documents.tsv", ("document",), keys, whole, systems, preference.documents)
    if selection is not None:
        with atomic_file(folder / "report.json") as path:
            path.write_text(json.dumps(selection.to_json(), indent=1) + "\n", "utf-8")


def _table(
    path: Path,
    keys: Sequence[str],
    rows: Iterable[tuple[Any, ...]],
    system_names: Sequence[str],
    systems: Sequence[str],
    preferences: FloatArray,
) -> None:
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerow([*keys, "chosen", *systems])
        for key, name, values in zip(rows, system_names, preferences.T, strict=True):
            writer.writerow([*key, name, *(exact(value) for value in values)])
