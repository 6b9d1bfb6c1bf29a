"""How frequent each class of errors is in each translation, by comparison with a reference.

Stand-in for the paper's annotations: those are counts of Addicter and Hjerson, with TreeTagger's and Morce's
lemmas; these are the project's class error rates (Popovic 2011, with the project's base forms), by words and
by blocks; with a tagger, by words of each general part of speech instead (section 3.1, GenPoS).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.edits.class_errors import CLASSES, Labels, class_errors
from features.edits.edit_categories import WORD_CLASSES, word_groups
from features.text.stems import base_forms
from features.text.tokens import Tokens, ratio
from qe.data.labels import RATES, from_post_edits
from qe.data.reading import Reading
from qe.language.programs.taggers import Tagger
from qe_human.effort.texts import AnnotatedTexts, tagged_texts

FREQUENCIES = (*RATES, *(f"b{name}" for name in RATES))
BY_WORD_CLASS = tuple(f"{name}_{word_class}" for name in RATES for word_class in WORD_CLASSES)


@dataclass(frozen=True, eq=False)
class Frequencies:
    """(k, n, f) errors per word of k systems' translations of n segments. NaN if a side is empty.

    names  of the f classes of errors: FREQUENCIES, or BY_WORD_CLASS
    """

    systems: tuple[str, ...]
    segments: tuple[str, ...]
    values: FloatArray
    names: tuple[str, ...] = FREQUENCIES


def error_frequencies(
    translations: Mapping[str, Sequence[str]],
    reference: Sequence[str],
    language: str,
    segments: Sequence[str] | None = None,
    progress: Progress = silent,
    tagger: Tagger | None = None,
) -> Frequencies:
    """Frequencies of every error class. With a tagger, frequencies of every error class of every word class.

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
    if tagger is not None:
        right = tagged_texts(reference, language, tagger, None, "the reference", progress)
        by_class = [
            _by_word_class(tagged_texts(lines, language, tagger, None, system, progress), right)
            for system, lines in translations.items()
        ]
        return Frequencies(tuple(translations), names, np.stack(by_class), BY_WORD_CLASS)
    base_forms((), language)  # refuses before any work is done
    values = [
        from_post_edits(lines, reference, language, progress).errors.rates()
        for lines in translations.values()
    ]
    return Frequencies(tuple(translations), names, np.stack(values))


def _by_word_class(hypothesis: AnnotatedTexts, reference: AnnotatedTexts) -> FloatArray:
    left, right = (
        (side.words.lower(), side.lemmas.lower(), side.classes) for side in (hypothesis, reference)
    )
    errors = class_errors(left[0], left[1], right[0], right[1])
    counts = _counts(errors.hypothesis, left[2])
    missing = CLASSES.index("missing")
    counts[:, missing] = _counts(errors.reference, right[2])[:, missing]
    lengths = np.repeat(errors.hypothesis_lengths[:, None], len(CLASSES), axis=1)
    lengths[:, missing] = errors.reference_lengths
    rates: FloatArray = ratio(counts, lengths[:, :, None]).reshape(len(counts), len(BY_WORD_CLASS))
    return rates


def _counts(labels: Labels, classes: Tokens) -> NDArray[np.int64]:
    counts = np.zeros((len(classes), len(CLASSES), len(WORD_CLASSES)), np.int64)
    text = np.repeat(np.arange(len(classes)), np.diff(classes.offsets))
    wrong = labels > 0
    np.add.at(counts, (text[wrong], labels[wrong] - 1, word_groups(classes)[wrong]), 1)
    return counts


def read_texts(outputs: Mapping[str, Path], reference: Path) -> tuple[dict[str, list[str]], list[str]]:
    """Translations of each system, line by line with the reference; and its lines. Raises InputError for
    files of another length, and fewer than two systems.
    """
    lines = Reading(Path()).lines(reference).texts
    texts = {system: Reading(Path()).lines(file).texts for system, file in outputs.items()}
    for system, translations in texts.items():
        if len(translations) != len(lines):
            raise InputError(
                f"{len(translations)} translations, but {len(lines)} references", location=outputs[system]
            )
    if len(texts) < 2:
        raise InputError("fewer than two systems", location="--outputs", remedy="give SYSTEM=FILE of each")
    return texts, lines
