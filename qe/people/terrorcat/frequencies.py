"""How frequent each class of errors is in each translation, by comparison with a reference.

Stand-in for the paper's annotations: those are counts of Addicter and Hjerson, with TreeTagger's and Morce's
lemmas; these are the project's class error rates (Popovic 2011, with the project's base forms), by words and
by blocks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from qe.data.labels import RATES, from_post_edits
from qe.data.reading import Reading

FREQUENCIES = (*RATES, *(f"b{name}" for name in RATES))


@dataclass(frozen=True, eq=False)
class Frequencies:
    """(k, n, 10) errors per word of k systems' translations of n segments; NaN if a side is empty."""

    systems: tuple[str, ...]
    segments: tuple[str, ...]
    values: FloatArray


def error_frequencies(
    translations: Mapping[str, Sequence[str]],
    reference: Sequence[str],
    language: str,
    segments: Sequence[str] | None = None,
    progress: Progress = silent,
) -> Frequencies:
    """Frequencies of every error class.

    translations  system -> n lines
    segments      n names; default: line numbers from 1

    Raises InputError for a language without base forms, and names that are not one per line, or twice.
    """
    names = tuple(str(i) for i in range(1, len(reference) + 1)) if segments is None else tuple(segments)
    if len(names) != len(reference):
        raise InputError(f"{len(names)} names of segments, but {len(reference)} references")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two segments are named '{twice}'")
    values = [
        from_post_edits(lines, reference, language, progress).errors.rates()
        for lines in translations.values()
    ]
    return Frequencies(tuple(translations), names, np.stack(values))


def read_texts(outputs: Mapping[str, Path], reference: Path) -> tuple[dict[str, list[str]], list[str]]:
    """Translations of each system, line by line with the reference; and its lines.

    Raises InputError for files of another length, and fewer than two systems.
    """
    lines = Reading(Path()).lines(reference).texts
    texts = {system: Reading(Path()).lines(file).texts for system, file in outputs.items()}
    for system, translations in texts.items():
        if len(translations) != len(lines):
            raise InputError(
                f"{len(translations)} translations, but {len(lines)} references", where=outputs[system]
            )
    if len(texts) < 2:
        raise InputError("fewer than two systems", where="--outputs", remedy="give SYSTEM=FILE of each")
    return texts, lines
