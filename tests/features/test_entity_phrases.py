"""Entities of one type match whatever their words are, those of another do not."""

from pathlib import Path

import pytest

from features.basics.errors import InputError
from features.core.segments import Segments
from features.entity_phrases import EntityPhrases
from features.resources.entity_annotation import EntityAnnotation
from features.resources.entity_phrase_table import EntityPhraseTable
from features.text.corpus import ParallelCorpus, Side
from features.text.links import Links
from tests.features.parsed import ENGLISH, SPANISH, row

Tagged = list[tuple[str, str]]
SOURCE: Tagged = [("Ana", "B-PERSON"), ("Gil", "I-PERSON"), ("saw", "O"), ("Rome", "B-GPE")]
TARGET: Tagged = [("Ana", "B-PER"), ("Gil", "I-PER"), ("vio", "O"), ("Roma", "B-LOC")]
LINKS = Links.from_pharaoh(["0-0 1-1 2-2 3-3"])


def words(tagged: Tagged) -> str:
    return " ".join(word for word, _ in tagged)


def block(tagged: Tagged) -> str:
    rows = enumerate(tagged, start=1)
    return "\n".join(f"{k}\t{word}" + "\t_" * 7 + f"\tNER={tag}" for k, (word, tag) in rows)


CORPUS = ParallelCorpus.from_lines([(words(SOURCE), words(TARGET))], ENGLISH, SPANISH)


def entities(side: Side, tagged: Tagged) -> EntityAnnotation:
    return EntityAnnotation.from_blocks(CORPUS, side, [block(tagged)], {"by": "hand"})


def extractor() -> EntityPhrases:
    sides = entities("source", SOURCE), entities("target", TARGET)
    return EntityPhrases(EntityPhraseTable.from_entities(CORPUS, LINKS, sides, minimum=1))


def segments(source: Tagged, target: Tagged) -> Segments:
    columns = {
        "source": [words(source)], "target": [words(target)],
        "annotation_source": [block(source)], "annotation_target": [block(target)],
    }  # fmt: skip
    return Segments.from_columns(columns, ENGLISH, SPANISH)


def test_by_hand() -> None:
    """`<person> saw <location>` of one word each, and `<person> vio <location>` of three and one."""
    source = [("Eva", "B-PERSON"), ("saw", "O"), ("Oslo", "B-GPE")]
    target = [("Eva", "B-PER"), ("de", "I-PER"), ("Luis", "I-PER"), ("vio", "O"), ("Oslo", "B-LOC")]
    values = row(extractor(), segments(source, target))
    shares = [
        values[f"entity_phrases_{side}_matching_{n}"] for side in ("source", "target") for n in (1, 2, 3)
    ]
    assert shares == [1.0] * 6


def test_another_type_has_no_match() -> None:
    source = [("Eva", "B-PERSON"), ("saw", "O"), ("Oslo", "B-GPE")]
    target = [("Eva", "B-ORG"), ("vio", "O"), ("Oslo", "B-LOC")]
    values = row(extractor(), segments(source, target))
    assert values["entity_phrases_source_matching_1"] == pytest.approx(2 / 3)
    assert values["entity_phrases_source_matching_2"] == 0.5  # saw <location>
    assert values["entity_phrases_target_matching_3"] == 0


def test_the_entities_of_a_corpus_are_saved_and_loaded(tmp_path: Path) -> None:
    made = entities("target", TARGET)
    made.save(tmp_path)
    loaded = EntityAnnotation.load(tmp_path)
    assert loaded.layer("entity").words(0) == ["B-PER", "I-PER", "O", "B-LOC"]
    assert loaded.fingerprint == made.fingerprint


def test_words_without_entity_tags_are_one_message() -> None:
    bare = "\n".join(f"{k}\tx" + "\t_" * 8 for k in range(1, 5))
    with pytest.raises(InputError, match="block 1 has no entity tags"):
        EntityAnnotation.from_blocks(CORPUS, "target", [bare], {})
    with pytest.raises(InputError, match="some words have no entity tag"):
        partly = block(TARGET).replace("NER=O", "_")
        EntityAnnotation.from_blocks(CORPUS, "target", [partly], {})
    columns = {"source": ["x"], "target": ["x"]}
    blocks = {f"annotation_{side}": ["1\tx" + "\t_" * 8] for side in ("source", "target")}
    with pytest.raises(InputError, match="has no entity tag; annotate with an annotator of entities"):
        extractor().extract(Segments.from_columns({**columns, **blocks}, ENGLISH, SPANISH))
