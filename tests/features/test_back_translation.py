"""Back-translations are compared with the source, which plays the reference."""

import numpy as np
import pytest

from features.back_translation import BackTranslation
from features.basics.errors import InputError
from features.core.feature_set import FeatureSet
from features.core.segments import Segments
from features.pseudo_reference import PseudoReference


def test_back_translation_compares_with_the_source() -> None:
    columns = {"source": ["The red house"], "target": ["la casa"], "back_translation": ["the house"]}
    extractor = BackTranslation()
    row = dict(zip(extractor.names, extractor.extract(Segments.from_columns(columns))[0], strict=True))
    assert row["back_translation_recall_1"] == 2 / 3 and row["back_translation_precision_1"] == 1
    assert row["back_translation_words_only_in_other"] == 1


def test_the_same_measures_as_against_a_pseudo_reference() -> None:
    back = Segments(("the red house .",), ("x",), back_translation=("a red house !",))
    pseudo = Segments(("x",), ("a red house !",), pseudo_reference=("the red house .",))
    np.testing.assert_array_equal(BackTranslation().extract(back), PseudoReference().extract(pseudo))


def test_the_column_is_required() -> None:
    features = FeatureSet.make([{"kind": "back_translation"}], None)
    with pytest.raises(InputError, match="no column 'back_translation'"):
        features.extract(Segments(("a",), ("b",)))


def test_each_comparison_is_credited_to_those_who_made_it() -> None:
    """SDL compares with a pseudo-reference (LF10), DCU-SYMC with a back-translation (section 2.1)."""
    back, second = (
        {f.name.removeprefix(f"{e.column}_"): f.origin for f in e.features}
        for e in (BackTranslation(), PseudoReference())
    )
    assert second["bleu"] == "SDL Language Weaver at WMT12, LF10"
    assert (
        back["bleu"].startswith("DCU-SYMC at WMT12, section 2.1")
        and back["ter"] == "DCU-SYMC at WMT12, section 2.1"
    )
    assert second["ter"] == "DCU-SYMC at WMT12, section 2.1 (there of back-translations)"
