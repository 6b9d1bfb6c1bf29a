"""WordNet's files: read as its manual describes them, and as they are installed."""

from pathlib import Path

import pytest

from features.text.stems import FOLDER, WordNet, senses_of
from tests.factories import refuses

INDEX = {
    "noun": "car n 2 2 @ ~ 2 1 02958343 02959942  \nauto n 1 1 @ 1 1 02958343  \n"
    "child n 1 0 1 1 09917593  \n",
    "verb": "go v 1 1 @ 1 1 01835496  \ncar v 1 0 1 0 02958343  \n",
    "adj": "fine a 1 1 & 1 1 01123148  \n",
    "adv": "well r 1 0 1 1 00011093  \n",
}
IRREGULAR = {"noun": "children child\n", "verb": "went go\n", "adj": "", "adv": "better well\n"}


def small_wordnet(folder: Path) -> WordNet:
    for pos, lines in INDEX.items():
        (folder / f"index.{pos}").write_text(f"  1 This software and database ...\n{lines}", "utf-8")
        (folder / f"{pos}.exc").write_text(IRREGULAR[pos], "utf-8")
    return WordNet.read(folder)


def test_words_and_their_base_forms_have_sets(tmp_path: Path) -> None:
    """Sets of a verb are none of a noun, even where their numbers are alike."""
    wordnet = small_wordnet(tmp_path)
    assert wordnet.senses("auto") == {"noun02958343"}
    assert wordnet.senses("Cars") == {"noun02958343", "noun02959942", "verb02958343"}
    assert wordnet.senses("children") == {"noun09917593"}
    assert wordnet.senses("went") == wordnet.senses("going") == {"verb01835496"}
    assert wordnet.senses("finest") == {"adj01123148"}
    assert wordnet.senses("better") == {"adv00011093"}
    assert wordnet.senses("s") == wordnet.senses("unknown") == frozenset()


def test_other_files_are_another_wordnet(tmp_path: Path) -> None:
    before = small_wordnet(tmp_path).fingerprint
    (tmp_path / "noun.exc").write_text("oxen ox\n", "utf-8")
    assert WordNet.read(tmp_path).fingerprint != before
    (tmp_path / "adj.exc").unlink()
    refuses("adj.exc: no such file; on Debian: apt-get install wordnet-base", WordNet.read, tmp_path)


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"WordNet is not installed ({FOLDER})")
def test_synonyms_of_the_installed_wordnet() -> None:
    car, auto, train = senses_of(["cars", "automobile", "train"], "en-GB")
    assert car & auto and not auto & train
    bought, purchase = senses_of(["bought", "purchased"], "en")
    assert bought & purchase
