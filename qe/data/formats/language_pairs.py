"""Several language pairs as one dataset, for one model of all of them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from features.basics.errors import InputError
from features.core.segments import Segments
from features.text.languages import MULTIPLE
from features.text.tokenizer import Tokenizer
from qe.data.dataset import Dataset, LabelScale, Split, concatenate
from qe.data.format import Format, make_format, option_errors
from qe.data.reading import Reading

_FORMAT, _PATH = "format", "path"  # keys of a pair
# What segments of several pairs have: an empty text where a pair has none.
_OPTIONAL = ("subwords", "token_log_probabilities")


@dataclass(frozen=True)
class LanguagePairs(Format):
    """Datasets of several language pairs, read as one with the column `language_pair`.

    The splits `train` are joined to one; of the others, those with labels stay apart, named after the pair
    (`dev-ro-en`), so that reports have figures for every pair. Texts have the tokenizers of `mul` (several
    languages). Segments keep source, target and the decoder's log-probabilities, which are empty in pairs
    that have none. With `split: {by: language_pair}` each fold holds out whole pairs.

    Parameters
    ----------
    pairs : mapping of str to mapping of str to Any
        Pair, such as `ro-en` -> `format` and `path` (below `path` of the dataset), and the format's keys.
    scaling : {'standard', 'none'}, default='standard'
        `standard`: labels of each pair have mean 0 and deviation 1 in its split `train`; `none`: unchanged.
    """

    pairs: Mapping[str, Mapping[str, Any]]
    scaling: Literal["standard", "none"] = "standard"

    def check_options(self) -> None:
        if not self.pairs:
            raise InputError("no language pair is given", location="dataset.pairs")
        for pair, settings in self.pairs.items():
            for key in (_FORMAT, _PATH):
                if key not in settings:
                    raise InputError(f"the key '{key}' is missing", location=f"dataset.pairs.{pair}")
            for error in option_errors(settings[_FORMAT], _options(settings)):
                raise InputError(error.problem, location=f"dataset.pairs.{pair}", remedy=error.remedy)

    def read_with(self, reading: Reading, path: Path) -> Dataset:
        self.check_options()
        datasets = reading.splits(self.pairs, lambda pair, settings: self._read(reading, path, pair))
        scales = {pair: dataset.scale for pair, dataset in datasets.items()}
        if len(set(scales.values())) > 1:
            raise InputError(
                "the pairs have labels of different names, limits or directions: "
                + ", ".join(f"{pair} {scale.name}" for pair, scale in scales.items()),
                location="dataset.pairs",
            )
        splits = {"train": concatenate([each.split("train") for each in datasets.values()])}
        for pair, dataset in datasets.items():
            others = {name: split for name, split in dataset.splits.items() if name != "train"}
            splits |= {f"{name}-{pair}": split for name, split in others.items() if split.scores is not None}
        return self.dataset(reading, path, splits, self._scale(next(iter(scales.values()))))

    def _scale(self, scale: LabelScale) -> LabelScale:
        return scale if self.scaling == "none" else LabelScale(scale.name, None, None, scale.higher_is_better)

    def _read(self, reading: Reading, path: Path, pair: str) -> Dataset:
        settings = self.pairs[pair]
        dataset = make_format(settings[_FORMAT], _options(settings)).read_with(
            reading, path / settings[_PATH]
        )
        train = dataset.split("train")
        if train.scores is None or not np.isfinite(train.scores).all():
            raise InputError("training segments without labels", location=f"dataset.pairs.{pair}")
        mean, deviation = float(train.scores.mean()), float(train.scores.std()) or 1.0
        if self.scaling == "none":
            mean, deviation = 0.0, 1.0
        return replace(
            dataset,
            splits={
                name: _of_pair(split, name, pair, mean, deviation) for name, split in dataset.splits.items()
            },
        )


def _options(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key not in (_FORMAT, _PATH)}


def _of_pair(split: Split, name: str, pair: str, mean: float, deviation: float) -> Split:
    own, n = split.segments, len(split)
    columns = {column: getattr(own, column) or ("",) * n for column in _OPTIONAL}
    columns |= {"source": own.source, "target": own.target, "language_pair": (pair,) * n}
    columns["id"] = tuple(f"{pair}/{each}" for each in own.id)
    tokenizer = Tokenizer(MULTIPLE)
    segments = Segments.from_columns(columns, tokenizer, tokenizer)
    scores = None if split.scores is None else (split.scores - mean) / deviation
    return Split(segments, scores=scores)
