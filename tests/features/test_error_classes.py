"""Class error rates as features: equal to the labels' where the pseudo-reference is the post-edit."""

from dataclasses import replace

import numpy as np
import pytest

from features import Segments, Tokenizer
from features.second_translation import ErrorClasses
from qe.data import from_post_edits
from qe.data.format import FORMATS
from tests.factories import Find


def spanish(targets: list[str], references: list[str] | None) -> Segments:
    columns = {"source": ["x"] * len(targets), "target": targets}
    if references is not None:
        columns["pseudo_reference"] = references
    return Segments.from_columns(columns, Tokenizer("en"), Tokenizer("es"))


def test_equal_to_the_labels_against_the_post_edit(shared_data: Find) -> None:
    train = FORMATS.get("wmt12")().read(shared_data("wmt12-qe")).splits["train"].take(range(300))
    assert train.post_edit is not None
    plain = Tokenizer("es", normalise=False)
    segments = replace(train.segments, pseudo_reference=train.post_edit, target_tokenizer=plain)
    labels = from_post_edits(train.segments.target, train.post_edit, "es")
    np.testing.assert_array_equal(ErrorClasses().extract(segments)[:, :10], labels.errors.rates())


def test_by_hand() -> None:
    names = list(ErrorClasses().names)
    values = ErrorClasses().extract(spanish(["Las ayer casas roja ."], ["las casas rojas ."]))[0]
    row = dict(zip(names, values, strict=True))
    assert row["class_errors_infer"] == row["class_errors_binfer"] == 1 / 5  # roja / rojas
    assert row["class_errors_exter"] == 1 / 5  # ayer
    assert row["class_errors_rer"] == row["class_errors_miser"] == row["class_errors_lexer"] == 0
    assert row["class_errors_wsumer"] == pytest.approx(2 / 5)


@pytest.mark.parametrize("language", ["gu", "ko", "sr", "vi"])
def test_reordering_is_known_in_a_language_without_base_forms(language: str) -> None:
    columns = {"source": ["a"], "target": ["b c d"], "pseudo_reference": ["c b e"]}
    segments = Segments.from_columns(columns, Tokenizer("en"), Tokenizer(language, "whitespace"))
    values = dict(zip(ErrorClasses().names, ErrorClasses().extract(segments)[0], strict=True))
    known = {name: value for name, value in values.items() if not np.isnan(value)}
    assert known == {"class_errors_rer": 2 / 3, "class_errors_brer": 1 / 3}  # b and c, side by side
