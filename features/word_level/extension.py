"""Extension: token tables beyond `describe`, and the optional columns that models read."""

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from features.basics.errors import InputError
from features.core.segments import Segments, check_texts
from features.resources.aligner import Aligner
from features.storage.damage import Damaged
from features.word_level.keys import triple_keys
from features.word_level.predicted import TextPredictor
from features.word_level.tokens import TokenTable
from features.word_level.training_text import TrainingText, with_text

OPTIONAL: Final = ("annotation_source", "annotation_target", "back_translation", "pseudo_reference")
DECODER: Final = ("subwords", "token_log_probabilities")  # what the system said of its own words
_FILE: Final = "used.json"


def save_used(used: Set[str], path: Path) -> None:
    (path / _FILE).write_text(json.dumps(sorted(used)), "utf-8")


def load_used(path: Path) -> frozenset[str]:
    used = json.loads((path / _FILE).read_text("utf-8"))
    if not isinstance(used, list) or any(name not in OPTIONAL for name in used):
        raise Damaged(f"{_FILE} names columns that are not read; known: {', '.join(OPTIONAL)}")
    return frozenset(used)


@dataclass(frozen=True)
class Extras:
    """Settings of an extension.

    texts    labels that hold translations, which words are looked up in
    predict  whether networks learn from them, too
    triples  whether words have keys of three words for target encodings
    """

    texts: Sequence[str] = ()
    predict: bool = False
    triples: bool = False

    def check(self) -> None:
        check_texts(self.texts)
        if self.predict and not self.texts:
            raise InputError(
                "`predict` learns from `texts`, but there are none", remedy="name post_edit, or reference"
            )


@dataclass(frozen=True, eq=False)
class Extension:
    triples: bool
    text: TrainingText | None
    predictor: TextPredictor | None

    @classmethod
    def fit(
        cls, extras: Extras, segments: Segments, labels: Mapping[str, Any], aligner: Aligner
    ) -> "Extension":
        given = segments, labels, extras.texts, aligner
        return cls(
            extras.triples,
            TrainingText.fit(*given) if extras.texts else None,
            TextPredictor.fit(*given) if extras.predict else None,
        )

    def extended(
        self, table: TokenTable, segments: Segments, aligner: Aligner, *, is_training: bool
    ) -> TokenTable:
        """The table with more; `is_training`: these are the segments that were learned from."""
        if self.triples:
            keys = {**table.word_keys, **triple_keys(table.word_keys, table.offsets)}
            table = replace(table, word_keys=keys)
        if self.text is not None:
            table = with_text(table, self.text, is_training=is_training)
        if self.predictor is not None:
            table = self.predictor.extended(table, segments, aligner, is_training=is_training)
        return table

    def save(self, path: Path) -> None:
        if self.text is not None:
            self.text.save(path)
        if self.predictor is not None:
            self.predictor.save(path)

    @classmethod
    def load(cls, extras: Extras, path: Path) -> "Extension":
        return cls(extras.triples, TrainingText.load(path), TextPredictor.load(path))
