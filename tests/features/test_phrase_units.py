"""Phrases of other units than words match where the words do not, by hand."""

import math

import pytest

from features import Segments, Tokenizer
from features.basics.errors import InputError
from features.core.bundle import known_parts
from features.core.feature_set import parts_needed
from features.phrase_table import PhraseTableFeatures
from features.resources.annotation import Annotation
from features.resources.phrase_table import PhraseTable
from features.syntax.phrase_units import Units
from features.text.corpus import ParallelCorpus, Side
from features.text.links import Links
from tests.factories import ENGLISH, SPANISH, refuses, row


def corpus_of(*pairs: tuple[str, str]) -> ParallelCorpus:
    return ParallelCorpus.from_lines(list(pairs), ENGLISH, SPANISH)


def segments(source: str, target: str) -> Segments:
    return Segments((source,), (target,), ENGLISH, SPANISH)


def extractor(units: Units, corpus: ParallelCorpus, links: Links) -> PhraseTableFeatures:
    return PhraseTableFeatures(PhraseTable.from_links(corpus, links, minimum=1, units=units), units)


@pytest.mark.parametrize("units", ["word", "lemma", "stem", "name", "entity"])
def test_units_name_the_part_that_they_need(units: str) -> None:
    (part,) = parts_needed([{"kind": "phrase_table", "units": units}])
    assert known_parts()[part].settings.get("units", "word") == units


@pytest.mark.slow
def test_a_table_of_other_units_is_refused() -> None:
    table = PhraseTable.from_links(*LEMMAS, minimum=1, units="lemma")
    with pytest.raises(InputError, match="units are `stem`, but the phrases of the table are of `lemma`"):
        PhraseTableFeatures(table, "stem")


# --- base forms --------------------------------------------------------------------------------------

LEMMAS = (
    corpus_of(("red houses", "casas rojas"), ("a tree", "un árbol")),
    Links.from_pharaoh(["0-1 1-0", "0-0 1-1"]),
)


@pytest.mark.slow
def test_inflections_match_that_the_corpus_does_not_have() -> None:
    """`house` is `casa` as `houses` is `casas`; `roja` and `rojas` are `rojo`. Of tokens nothing but `red` is
    known, and its translation `rojas` is not there."""
    text = segments("the red house", "la casa roja")
    values = row(extractor("lemma", *LEMMAS), text)
    assert values["lemma_phrases_source_matching_1"] == pytest.approx(2 / 3)  # red, house; not `the`
    assert values["lemma_phrases_target_matching_1"] == pytest.approx(2 / 3)  # casa, roja
    assert values["lemma_phrases_source_matching_2"] == 0.5  # `red house`; not `the red`
    assert values["lemma_phrases_target_matching_3"] == 0
    assert math.isnan(values["lemma_phrases_source_matching_4"])
    words = row(extractor("word", *LEMMAS), text)
    assert words["phrases_source_matching_1"] == words["phrases_target_matching_1"] == 0


@pytest.mark.parametrize("units", ["lemma", "stem", "name"])
def test_an_empty_side_has_no_shares(units: Units) -> None:
    values = row(extractor(units, *LEMMAS), segments("red", ""))
    assert len(values) == 10 and all(math.isnan(value) for value in values.values())


def test_a_language_without_base_forms_is_one_message() -> None:
    text = Segments(("red",), ("x",), ENGLISH, Tokenizer("ko", "whitespace"))
    refuses("no base forms for the language 'ko'", extractor("lemma", *LEMMAS).extract, text)


# --- stems -------------------------------------------------------------------------------------------

STEMS = corpus_of(("parliament votes", "parlamento vota")), Links.from_pharaoh(["0-0 1-1"])


def test_derivations_match() -> None:
    """`parliamentary` is `parli` as `parliament` is; `parlamentaria` is `parla`; `votac` is not `vota`."""
    text = segments("parliamentary votes", "votación parlamentaria")
    values = row(extractor("stem", *STEMS), text)
    assert values["stem_phrases_source_matching_1"] == values["stem_phrases_target_matching_1"] == 0.5
    assert values["stem_phrases_source_matching_2"] == 0
    assert math.isnan(values["stem_phrases_source_matching_3"])
    assert row(extractor("lemma", *STEMS), text)["lemma_phrases_source_matching_1"] == 0


# --- labels of names and numbers ---------------------------------------------------------------------

NAMES = (
    corpus_of(("then Ana Gil paid 20 euros", "luego Ana Gil pagó 20 euros")),
    Links.from_pharaoh(["0-0 1-1 2-2 3-3 4-4 5-5"]),
)


def test_names_and_numbers_that_the_corpus_does_not_have_match() -> None:
    """`then <name> paid <number> euros` and `luego <name> pagó <number> euros` match as wholes."""
    text = segments("then Eva paid 1,300 euros", "luego Eva López pagó 1.300 euros")
    values = row(extractor("name", *NAMES), text)
    assert len(values) == 10 and set(values.values()) == {1.0}
    words = row(extractor("word", *NAMES), text)
    assert words["phrases_source_matching_1"] == pytest.approx(3 / 5)  # then, paid, euros
    assert words["phrases_target_matching_1"] == pytest.approx(3 / 6)


# --- types of entities -------------------------------------------------------------------------------

Tagged = list[tuple[str, str]]
SOURCE: Tagged = [("Ana", "B-PERSON"), ("Gil", "I-PERSON"), ("saw", "O"), ("Rome", "B-GPE")]
TARGET: Tagged = [("Ana", "B-PER"), ("Gil", "I-PER"), ("vio", "O"), ("Roma", "B-LOC")]
LINKS = Links.from_pharaoh(["0-0 1-1 2-2 3-3"])


def words(tagged: Tagged) -> str:
    return " ".join(word for word, _ in tagged)


def conllu(tagged: Tagged) -> str:
    rows = enumerate(tagged, start=1)
    return "\n".join(f"{k}\t{word}" + "\t_" * 7 + f"\tNER={tag}" for k, (word, tag) in rows)


CORPUS = corpus_of((words(SOURCE), words(TARGET)))


def entities(side: Side, tagged: Tagged) -> Annotation:
    return Annotation.from_blocks(CORPUS, side, [conllu(tagged)], {"by": "hand"}, holds="entities")


def of_entities() -> PhraseTableFeatures:
    sides = entities("source", SOURCE), entities("target", TARGET)
    table = PhraseTable.from_links(CORPUS, LINKS, minimum=1, units="entity", entities=sides)
    return PhraseTableFeatures(table, "entity")


def annotated(source: Tagged, target: Tagged) -> Segments:
    columns = {
        "source": [words(source)], "target": [words(target)],
        "annotation_source": [conllu(source)], "annotation_target": [conllu(target)],
    }  # fmt: skip
    return Segments.from_columns(columns, ENGLISH, SPANISH)


def test_entities_of_one_type_match_whatever_their_words_are() -> None:
    """`<person> saw <location>` of one word each, and `<person> vio <location>` of three and one."""
    source = [("Eva", "B-PERSON"), ("saw", "O"), ("Oslo", "B-GPE")]
    target = [("Eva", "B-PER"), ("de", "I-PER"), ("Luis", "I-PER"), ("vio", "O"), ("Oslo", "B-LOC")]
    values = row(of_entities(), annotated(source, target))
    shares = [
        values[f"entity_phrases_{side}_matching_{n}"] for side in ("source", "target") for n in (1, 2, 3)
    ]
    assert shares == [1.0] * 6


def test_words_without_entity_tags_are_one_message() -> None:
    bare = "\n".join(f"{k}\tx" + "\t_" * 8 for k in range(1, 5))
    with pytest.raises(InputError, match="block 1 has no entity tags"):
        Annotation.from_blocks(CORPUS, "target", [bare], {}, holds="entities")
    with pytest.raises(InputError, match="some words have no entity tag"):
        partly = conllu(TARGET).replace("NER=O", "_")
        Annotation.from_blocks(CORPUS, "target", [partly], {}, holds="entities")
    columns = {"source": ["x"], "target": ["x"]}
    blocks = {f"annotation_{side}": ["1\tx" + "\t_" * 8] for side in ("source", "target")}
    with pytest.raises(InputError, match="has no entity tag; annotate with an annotator of entities"):
        of_entities().extract(Segments.from_columns({**columns, **blocks}, ENGLISH, SPANISH))


def test_a_name_without_a_name_on_the_other_side_has_no_match() -> None:
    values = row(extractor("name", *NAMES), segments("then Eva paid", "luego pagó"))
    assert values["name_phrases_source_matching_1"] == pytest.approx(2 / 3)
    assert values["name_phrases_source_matching_2"] == 0
    assert math.isnan(values["name_phrases_target_matching_3"])


def test_the_first_word_is_no_name() -> None:
    values = row(extractor("name", *NAMES), segments("Then Eva", "Luego Eva"))
    assert values["name_phrases_source_matching_2"] == 1


def test_another_type_has_no_match() -> None:
    source = [("Eva", "B-PERSON"), ("saw", "O"), ("Oslo", "B-GPE")]
    target = [("Eva", "B-ORG"), ("vio", "O"), ("Oslo", "B-LOC")]
    values = row(of_entities(), annotated(source, target))
    assert values["entity_phrases_source_matching_1"] == pytest.approx(2 / 3)
    assert values["entity_phrases_source_matching_2"] == 0.5  # saw <location>
    assert values["entity_phrases_target_matching_3"] == 0
