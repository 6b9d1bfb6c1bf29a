"""Phrase extraction against its definition; features of it, of words and other units, by hand."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features import ParallelCorpus, Segments
from features.basics.distinct import find
from features.core.bundle import known_parts
from features.core.feature_set import parts_needed
from features.phrase_table import PhraseTableFeatures
from features.resources import phrases
from features.resources.annotation import Annotation
from features.resources.phrase_table import PhraseTable
from features.syntax.phrase_units import Units
from features.text.corpus import Side
from features.text.links import Links
from features.text.tokens import Tokens
from tests.factories import EN_ES, corpus, row, segments, table
from tests.features.parsed import entity_block

Pair = tuple[str, str, str]  # source, target, links


def table_of(pairs: list[Pair], longest: int = 5, minimum: int = 1) -> PhraseTable:
    texts = corpus((s, t) for s, t, _ in pairs)
    return PhraseTable.from_links(texts, Links.from_pharaoh(a for _, _, a in pairs), longest, minimum)


def consistent(pair: Pair, longest: int) -> list[tuple[str, str]]:
    """By the definition: a link inside, and no link between a word inside and a word outside."""
    source, target = pair[0].lower().split(), pair[1].lower().split()
    links = {tuple(map(int, link.split("-"))) for link in pair[2].split()}
    listed = []
    for i, n, j, m in product(range(len(source)), range(longest), range(len(target)), range(longest)):
        if i + n < len(source) and j + m < len(target):
            inside = [(i <= a <= i + n, j <= b <= j + m) for a, b in links]
            if any(x and y for x, y in inside) and all(x == y for x, y in inside):
                listed.append((" ".join(source[i : i + n + 1]), " ".join(target[j : j + m + 1])))
    return listed


def entries(table: PhraseTable, sources: set[str]) -> dict[tuple[str, str], int]:
    """(source phrase, target phrase) -> entry."""
    by_name = {}
    for phrase in sources:
        words = phrase.split()
        row = table.phrases(Tokens.from_lists([words]), "source")[0, len(words) - 1]
        if row >= 0:
            for e in range(table.offsets[row], table.offsets[row + 1]):
                by_name[phrase, table.phrase(table.target[e])] = e
    return by_name


@st.composite
def aligned_pairs(draw: st.DrawFn) -> Pair:
    source = draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=7))
    target = draw(st.lists(st.sampled_from("wxyz"), min_size=1, max_size=7))
    cells = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))
    links = draw(st.sets(cells, max_size=8))
    return " ".join(source), " ".join(target), " ".join(f"{i}-{j}" for i, j in sorted(links))


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(aligned_pairs(), min_size=1, max_size=5), st.integers(1, 5), st.integers(1, 2))
def test_extraction_equals_its_definition(pairs: list[Pair], longest: int, minimum: int) -> None:
    expected = Counter(phrase for pair in pairs for phrase in consistent(pair, longest))
    by_source, by_target = Counter[str](), Counter[str]()
    for (s, t), count in expected.items():
        by_source[s] += count
        by_target[t] += count
    table = table_of(pairs, longest, minimum)
    listed = entries(table, set(by_source))
    kept = {pair: count for pair, count in expected.items() if count >= minimum}
    assert len(table.target) == len(kept)
    assert {pair: int(table.counts[e]) for pair, e in listed.items()} == kept
    for (s, t), e in listed.items():
        assert table.forward[e] == pytest.approx(expected[s, t] / by_source[s], rel=1e-6)
        assert table.backward[e] == pytest.approx(expected[s, t] / by_target[t], rel=1e-6)


@pytest.mark.slow
def test_partitions_and_passes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    pairs = []
    for _ in range(200):
        source, target = ([f"w{i}" for i in random.zipf(1.5, random.integers(1, 15)) % 30] for _ in range(2))
        cells = {(int(random.integers(len(source))), int(random.integers(len(target)))) for _ in source}
        pairs.append((" ".join(source), " ".join(target), " ".join(f"{i}-{j}" for i, j in sorted(cells))))
    whole = table_of(pairs, minimum=2)
    for held, partition, blocks in ((1, 1, 1), (100, 16, 7), (10_000, 1000, 300)):
        monkeypatch.setattr(phrases, "_HELD", held)
        monkeypatch.setattr(phrases, "_PARTITION", partition)
        monkeypatch.setattr(phrases, "_BLOCKS", blocks)
        table = table_of(pairs, minimum=2)
        for name, value in vars(whole).items():
            if isinstance(value, np.ndarray):
                np.testing.assert_array_equal(getattr(table, name), value)


HOUSE = [("the house", "la casa", "0-0 1-1"), ("the book", "el libro", "0-0 1-1"), ("a house", "casa", "1-0")]


def test_lexical_weights_by_hand() -> None:
    """w(la | the) = 1/2, w(casa | house) = 1; w(the | la) = 1, w(a | NULL) = 1."""
    table = table_of(HOUSE)
    listed = entries(table, {"the", "the house", "a house", "house"})
    e = listed["the house", "la casa"]
    assert table.forward_weight[e] == pytest.approx(math.log(0.5), abs=1e-6)
    assert table.backward_weight[e] == pytest.approx(0, abs=1e-6)
    assert table.forward[listed["the", "la"]] == 0.5
    assert table.counts[listed["house", "casa"]] == 2
    assert table.backward[listed["house", "casa"]] == pytest.approx(2 / 3)
    assert table.backward_weight[listed["a house", "casa"]] == pytest.approx(0, abs=1e-6)


def test_phrases_that_are_not_there() -> None:
    table = table_of(HOUSE)
    tokens = Tokens.from_lists([["The", "house", "zebra"], [], ["house"]])
    known = table.phrases(tokens, "source") >= 0
    assert known[:, :2].tolist() == [[True, True], [True, False], [False, False], [True, False]]
    assert not known[:, 2:].any()


def test_features_by_hand() -> None:
    """`the house` - `la casa` matches as a whole; `zebra` is unknown; `el` is known but has no partner."""
    features = row(PhraseTableFeatures(table_of(HOUSE)), segments("the house zebra", "la casa el", EN_ES))
    assert features["phrases_source_matching_1"] == pytest.approx(2 / 3)  # the-la, house-casa
    assert features["phrases_source_matching_2"] == 0.5  # `the house`; not `house zebra`
    assert features["phrases_source_matching_3"] == 0
    assert math.isnan(features["phrases_source_matching_4"])
    assert features["phrases_target_known_1"] == 1
    assert features["phrases_target_matching_1"] == 1  # `el` translates `the`
    assert features["phrases_source_count"] == 2  # [the house] [zebra]
    assert features["phrases_source_length"] == 1.5
    assert features["phrases_source_uncovered"] == pytest.approx(1 / 3)
    assert features["phrases_source_cover_count"] == 2
    assert features["phrases_source_cover_log"] == pytest.approx(0)  # p(la casa | the house) = 1
    assert features["phrases_target_cover_count"] == 2  # [la casa] [el]
    assert features["phrases_length_ratio"] == pytest.approx(1.5 / 1.5)


def test_a_phrase_with_very_many_translations_matches_the_one_that_occurs() -> None:
    extractor = PhraseTableFeatures(table_of([("a", f"b{i}", "0-0") for i in range(40)]))
    features = table(extractor, segments(["a a", "a"], ["b7", "c"]), "phrases_source_")
    np.testing.assert_allclose(features["cover_log"], [math.log(1 / 40), 0], rtol=1e-6)
    np.testing.assert_array_equal(features["matching_1"], [1, 0])


def test_options_by_hand() -> None:
    """`a`: x, `y z`; `b`: w; `a b`: `x w`. Of 40 translations 20 are looked at, the likeliest among them."""

    def options(table: PhraseTable, *sources: str) -> list[list[float]]:
        extractor = PhraseTableFeatures(table, options=True)
        assert extractor.names[-2:] == ("phrases_options", "phrases_options_size")
        return extractor.extract(segments(sources))[:, -2:].tolist()

    table = table_of([("a", "x", "0-0"), ("a", "y z", "0-0 0-1"), ("a b", "x w", "0-0 1-1")])
    few, none = options(table, "a b q", "q")
    assert few == [4, 6 / 4]
    assert none[0] == 0 and math.isnan(none[1])
    many = table_of([("a", f"b{i}", "0-0") for i in range(40)] + [("a", "c d e", "0-0 0-1 0-2")] * 2)
    assert options(many, "a a") == [[40, (19 + 3) / 20]]


@pytest.mark.slow
@settings(max_examples=100)
@given(st.sets(st.integers(1, 2**64 - 1) | st.integers(1, 300)), st.lists(st.integers(0, 300)))
def test_keys_are_found_wherever_they_lie(known: set[int], others: list[int]) -> None:
    """By binary search: also where keys are not spread evenly, as those of phrases are."""
    keys = np.array(sorted(known), np.uint64)
    wanted = np.array([*known, *others, 2**64 - 1], np.uint64)
    expected = [sorted(known).index(k) if k in known else -1 for k in wanted.tolist()]
    assert find(keys, wanted).tolist() == expected


def extractor(units: Units, corpus: ParallelCorpus, links: Links) -> PhraseTableFeatures:
    return PhraseTableFeatures(PhraseTable.from_links(corpus, links, minimum=1, units=units), units)


@pytest.mark.parametrize("units", ["word", "lemma", "stem", "name", "entity"])
def test_units_name_the_part_that_they_need(units: str) -> None:
    (part,) = parts_needed([{"kind": "phrase_table", "units": units}])
    assert known_parts()[part].settings.get("units", "word") == units


# --- base forms --------------------------------------------------------------------------------------

LEMMAS = (
    corpus([("red houses", "casas rojas"), ("a tree", "un árbol")], EN_ES),
    Links.from_pharaoh(["0-1 1-0", "0-0 1-1"]),
)


@pytest.mark.slow
def test_inflections_match_that_the_corpus_does_not_have() -> None:
    """`house` is `casa` as `houses` is `casas`; `roja` and `rojas` are `rojo`. Of tokens nothing but `red` is
    known, and its translation `rojas` is not there."""
    text = segments("the red house", "la casa roja", EN_ES)
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
    values = row(extractor(units, *LEMMAS), segments("red", "", EN_ES))
    assert len(values) == 10 and all(math.isnan(value) for value in values.values())


# --- stems -------------------------------------------------------------------------------------------

STEMS = corpus([("parliament votes", "parlamento vota")], EN_ES), Links.from_pharaoh(["0-0 1-1"])


def test_derivations_match() -> None:
    """`parliamentary` is `parli` as `parliament` is; `parlamentaria` is `parla`; `votac` is not `vota`."""
    text = segments("parliamentary votes", "votación parlamentaria", EN_ES)
    values = row(extractor("stem", *STEMS), text)
    assert values["stem_phrases_source_matching_1"] == values["stem_phrases_target_matching_1"] == 0.5
    assert values["stem_phrases_source_matching_2"] == 0
    assert math.isnan(values["stem_phrases_source_matching_3"])
    assert row(extractor("lemma", *STEMS), text)["lemma_phrases_source_matching_1"] == 0


# --- labels of names and numbers ---------------------------------------------------------------------

NAMES = (
    corpus([("then Ana Gil paid 20 euros", "luego Ana Gil pagó 20 euros")], EN_ES),
    Links.from_pharaoh(["0-0 1-1 2-2 3-3 4-4 5-5"]),
)


def test_names_and_numbers_that_the_corpus_does_not_have_match() -> None:
    """`then <name> paid <number> euros` and `luego <name> pagó <number> euros` match as wholes."""
    text = segments("then Eva paid 1,300 euros", "luego Eva López pagó 1.300 euros", EN_ES)
    values = row(extractor("name", *NAMES), text)
    assert len(values) == 10 and set(values.values()) == {1.0}
    words = row(extractor("word", *NAMES), text)
    assert words["phrases_source_matching_1"] == pytest.approx(3 / 5)  # then, paid, euros
    assert words["phrases_target_matching_1"] == pytest.approx(3 / 6)


# --- types of entities -------------------------------------------------------------------------------

Tagged = list[tuple[str, str]]
SOURCE: Tagged = [("Ana", "B-PERSON"), ("Gil", "I-PERSON"), ("saw", "O"), ("Rome", "B-GPE")]
TARGET: Tagged = [("Ana", "B-PER"), ("Gil", "I-PER"), ("vio", "O"), ("Roma", "B-LOC")]


def words(tagged: Tagged) -> str:
    return " ".join(word for word, _ in tagged)


CORPUS = corpus([(words(SOURCE), words(TARGET))], EN_ES)


def entities(side: Side, tagged: Tagged) -> Annotation:
    return Annotation.from_blocks(CORPUS, side, [entity_block(tagged)], {"by": "hand"}, holds="entities")


def of_entities() -> PhraseTableFeatures:
    links = Links.from_pharaoh(["0-0 1-1 2-2 3-3"])
    sides = entities("source", SOURCE), entities("target", TARGET)
    table = PhraseTable.from_links(CORPUS, links, minimum=1, units="entity", entities=sides)
    return PhraseTableFeatures(table, "entity")


def annotated(source: Tagged, target: Tagged) -> Segments:
    blocks = {"annotation_source": entity_block(source), "annotation_target": entity_block(target)}
    return segments(words(source), words(target), EN_ES, **blocks)


def test_entities_of_one_type_match_whatever_their_words_are() -> None:
    """`<person> saw <location>` of one word each, and `<person> vio <location>` of three and one."""
    source = [("Eva", "B-PERSON"), ("saw", "O"), ("Oslo", "B-GPE")]
    target = [("Eva", "B-PER"), ("de", "I-PER"), ("Luis", "I-PER"), ("vio", "O"), ("Oslo", "B-LOC")]
    values = row(of_entities(), annotated(source, target))
    shares = [
        values[f"entity_phrases_{side}_matching_{n}"] for side in ("source", "target") for n in (1, 2, 3)
    ]
    assert shares == [1.0] * 6


def test_a_name_without_a_name_on_the_other_side_has_no_match() -> None:
    values = row(extractor("name", *NAMES), segments("then Eva paid", "luego pagó", EN_ES))
    assert values["name_phrases_source_matching_1"] == pytest.approx(2 / 3)
    assert values["name_phrases_source_matching_2"] == 0
    assert math.isnan(values["name_phrases_target_matching_3"])


def test_the_first_word_is_no_name() -> None:
    values = row(extractor("name", *NAMES), segments("Then Eva", "Luego Eva", EN_ES))
    assert values["name_phrases_source_matching_2"] == 1


def test_another_type_has_no_match() -> None:
    source = [("Eva", "B-PERSON"), ("saw", "O"), ("Oslo", "B-GPE")]
    target = [("Eva", "B-ORG"), ("vio", "O"), ("Oslo", "B-LOC")]
    values = row(of_entities(), annotated(source, target))
    assert values["entity_phrases_source_matching_1"] == pytest.approx(2 / 3)
    assert values["entity_phrases_source_matching_2"] == 0.5  # saw <location>
    assert values["entity_phrases_target_matching_3"] == 0
