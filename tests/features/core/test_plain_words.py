"""Every family says what it is about, in words of translators."""

import re

import pytest

from features.core.extractor import Feature, phrase
from features.core.feature_set import EXTRACTORS

# Words of the field that a translator does not know.
JARGON = re.compile(
    r"log|probab|n-gram|perplex|entrop|ibm|nan\b|token|corpus|lexicon|vector|tag|lemma|tf-idf|p\(bad|percentile"
    r"|ratio|\bmodel|segment-|/|\^|=",
    re.IGNORECASE,
)


@pytest.mark.parametrize("name", EXTRACTORS.names)
def test_every_family_has_a_phrase_without_jargon(name: str) -> None:
    plain = EXTRACTORS.get(name).plain
    assert 0 < len(plain) <= 80 and not JARGON.search(plain), plain
    assert plain.replace("{text}", "").count("{") == 0


def test_a_feature_says_its_own_its_familys_or_its_description() -> None:
    both, own = Feature("a", "d", "", "", ""), Feature("a", "d", "", "", "words {}")
    assert phrase(own, "how the {text} is") == "words {}"
    assert phrase(both, "how the {text} is") == "how the segment is" and phrase(both, "") == "d {}"
    assert phrase(Feature("x_source_target", "", "", ""), "the {text}") == "the segment"
