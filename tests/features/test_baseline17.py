"""The 17 baseline features: by hand, against the official columns and against QuEst's own output."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from features import ParallelCorpus, Segments, Tokenizer
from features.baseline17 import COLUMNS, Baseline17
from features.resources.language_model import LanguageModel
from features.resources.lexicon import Lexicon
from features.resources.ngrams import NgramCounts
from features.storage.files import read_lines
from features.text.tokens import Tokens
from tests.factories import PLAIN, Find

NAMES = tuple(column.name for column in COLUMNS)


def column(values: NDArray[np.float64], identifier: str) -> NDArray[np.float64]:
    index = next(i for i, name in enumerate(NAMES) if name.startswith(identifier))
    return np.asarray(values[:, index])


CORPUS = ParallelCorpus.from_lines(
    [("the house", "la casa"), ("the house is big", "la casa es grande"), ("the book", "el libro"),
     ("a house", "una casa"), ("the the , the", "la la , la")]
    + 3 * [("this is it", "es esto")]
)  # fmt: skip


def extractor(**changes: Any) -> Baseline17:
    resources = {
        "source_lm": LanguageModel.from_tokens(CORPUS.source, order=3),
        "target_lm": LanguageModel.from_tokens(CORPUS.target, order=3),
        "source_ngrams": NgramCounts.from_tokens(CORPUS.source, order=3),
        "lexicon_source_to_target": Lexicon.build(CORPUS),
    }
    return Baseline17(**(resources | changes))


@pytest.mark.slow
def test_by_hand() -> None:
    segments = Segments(("The house, the book.", "unseen"), ("La casa, la 3,5 ¿ ?", "x"))
    made = extractor()
    values = made.extract(segments)
    first, second = values
    lexicon, lower = made.lexicon_source_to_target, ["the", "house", ",", "the", "book"]

    def above(threshold: float, word: str) -> int:
        words = np.arange(len(lexicon.target))
        return int((lexicon.probability(lexicon.source.lookup([word]), words) > threshold).sum())

    assert column(values, "1001").tolist() == [6, 1]
    assert column(values, "1002").tolist() == [7, 1]  # La casa , la 3,5 ¿ ?
    assert column(values, "1006").tolist() == [(3 + 5 + 1 + 3 + 4 + 1) / 6, 6]
    assert column(values, "1015").tolist() == [7 / 6, 1]
    assert column(values, "1074").tolist() == [2, 0]
    assert column(values, "1075").tolist() == [3, 0]
    assert column(values, "1022")[0] == sum(above(0.2, word) for word in lower) / 6
    occurrences = {"the": 6, "house": 3, ",": 1, "book": 1}
    assert column(values, "1036")[0] == pytest.approx(
        sum(above(0.01, word) / occurrences[word] for word in lower) / 6
    )
    # Unigram types seen three times or more: the (6), house (3), is (4), this (3), it (3).
    assert made.source_ngrams.quartile_cutoffs(1) == (3, 3, 4)
    assert column(values, "1058").tolist() == [5 / 6, 0]
    assert column(values, "1046").tolist() == [3 / 6, 0]  # house , book
    assert column(values, "1049").tolist() == [2 / 6, 0]  # the, the
    assert np.isnan(second[NAMES.index("1050_bigrams_quartile1")])
    assert first[NAMES.index("1009_source_lm")] == made.source_lm.log10_probability(segments.source_tokens)[0]
    assert column(values, "1012")[1] < 0


@pytest.mark.slow
def test_compat_differs_where_quest_counts_differently() -> None:
    segments = Segments(("The house, the book.",), ("¿la casa, la?",))
    described, quest = extractor().extract(segments)[0], extractor(compat="quest").extract(segments)[0]
    changed = {name[:4] for name, a, b in zip(NAMES, described, quest, strict=True) if a != b}
    assert changed == {"1036", "1046", "1050", "1058", "1075"}
    assert quest[NAMES.index("1046_unigrams_quartile1")] == 1 / 6  # house; `,` and `book` are too rare
    assert quest[NAMES.index("1058_seen_unigrams")] == 3 / 6  # the, The, house of six distinct tokens
    assert quest[NAMES.index("1075_target_punctuation")] == 4  # two pieces at `¿`, two at `,`


def test_quartiles_of_a_corpus_without_frequent_ngrams_are_nan() -> None:
    tokens = Tokens.from_lists([["a", "b"], ["a", "c"], ["a", "d"]])
    ngrams = NgramCounts.from_tokens(tokens, order=3)
    values = extractor(source_ngrams=ngrams).extract(Segments(("a b c",), ("x",)))
    undefined = {name[:4] for name in NAMES if np.isnan(values[0, NAMES.index(name)])}
    assert undefined == {"1050", "1053", "1054", "1057"}


def test_counting_from_raw_text_equals_the_official_columns(shared_data: Find) -> None:
    folder = shared_data("wmt12-qe")
    files = ("training_set/source.eng", "training_set/target_system.spa")
    source, target = (tuple(read_lines(folder / file)) for file in files)
    segments = Segments(source, target, Tokenizer("en", "moses-2012"), Tokenizer("es", "moses-2012"))
    official = np.loadtxt(folder / "baseline_features/training.tsv")
    values = extractor(compat="quest").extract(segments)
    for identifier in ("1001", "1002", "1006", "1015", "1074", "1075"):
        equal = np.isclose(column(values, identifier), column(official, identifier), rtol=1e-6)
        assert equal.mean() >= 0.98, identifier


class QuestCounts(NgramCounts):
    """The n-gram file of QuEst in place of counts of our own."""

    @classmethod
    def read(cls, path: Path) -> "QuestCounts":
        matches = cls.from_tokens(Tokens.from_lists([["a"] * 5]), order=3, case="true")
        matches.by_ngram, matches.cutoffs = {}, {}
        for line in read_lines(path):
            head, *numbers = line.rstrip("\t").split("\t")
            if re.fullmatch(r"\d-gram", head):
                matches.cutoffs[int(head[0]) + 1] = tuple(int(n) for n in numbers[:3])
            else:
                matches.by_ngram[head] = int(numbers[0])
        return matches

    def counts(self, tokens: Tokens, order: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        words = [tokens.words(i) for i in range(len(tokens))]
        grams = [[" ".join(w[j : j + order]) for j in range(len(w) - order + 1)] for w in words]
        counts = [self.by_ngram.get(g, 0) for line in grams for g in line]
        return np.array(counts, np.int64), np.cumsum([0, *map(len, grams)])

    def quartile_cutoffs(self, order: int, minimum: int = 3) -> tuple[int, int, int]:
        low, middle, high = self.cutoffs[order]
        return low, middle, high


@pytest.fixture(scope="module")
def quest_lexicon(shared_data: Find, tmp_path_factory: pytest.TempPathFactory) -> Lexicon:
    """QuEst's table, less the words that its input lacks: it drops those, as they are written."""
    known = set(" ".join(read_lines(shared_data("golden/questpp/training.en.tok.gz"))).split())
    entries = [line.split(" ") for line in read_lines(shared_data("golden/questpp/lex.e2s.gz"))]
    path = tmp_path_factory.mktemp("quest") / "lex.e2s"
    kept = [f"{source} {target or 'EMPTY'} {p}\n" for source, target, p in entries if source in known]
    path.write_text("".join(kept), "utf-8")
    return Lexicon.read_lex(path)


def test_equals_quest_with_its_own_resources(shared_data: Find, quest_lexicon: Lexicon) -> None:
    golden = shared_data("golden/questpp")
    sides = (tuple(read_lines(golden / f"training.{language}.tok.gz")) for language in ("en", "es"))
    segments = Segments(*sides, PLAIN, PLAIN)
    table = [line.split("\t") for line in read_lines(golden / "training.features15.tsv.gz")]
    expected = np.array(table[1:], np.float64)
    quest = {"lexicon_source_to_target": quest_lexicon, "compat": "quest"}
    ngrams = QuestCounts.read(golden / "english_ngram.ngram.clean.gz")
    values = extractor(source_ngrams=ngrams, **quest).extract(segments)
    corpus = Tokens.from_lists(line.split() for line in read_lines(golden / "source_corpus.en.gz"))
    counts = NgramCounts.from_tokens(corpus, order=3, case="true")
    rarity = extractor(source_ngrams=counts, **quest).extract(segments)
    for i, identifier in enumerate(table[0]):
        annotation = column(rarity if identifier == "1036" else values, identifier)
        np.testing.assert_allclose(annotation, expected[:, i], rtol=2e-6, atol=2e-7, err_msg=identifier)


def test_nothing_to_divide_by_is_nan() -> None:
    values = extractor().extract(Segments(("", "a"), ("b", "")))
    undefined = {name[:4] for name in NAMES if np.isnan(values[0, NAMES.index(name)])}
    assert undefined == {"1006", "1022", "1036", "1046", "1049", "1050", "1053", "1054", "1057", "1058"}
    assert np.isnan(column(values, "1015")).tolist() == [False, True]
    assert np.isfinite(column(values, "1009")).all()
