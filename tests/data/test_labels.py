"""HTER and class errors from post-edits: against Hjerson's own output on the WMT12 training set."""

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.edits.class_errors import CLASSES, ClassErrors, class_errors, rate_sums
from features.text.tokens import Tokens
from qe.data.format import FORMATS
from qe.data.labels import PostEditLabels, from_post_edits, hter
from qe.data.writing import save_table
from tests.factories import Find, ran, tokens

TAGS = ("x", "infl", "reord", "miss", "ext", "lex")  # Hjerson's names of labels 0 .. 5


@pytest.fixture(scope="module")
def labels(shared_data: Find) -> PostEditLabels:
    train = FORMATS.get("wmt12")().read(shared_data("wmt12-qe")).splits["train"]
    assert train.post_edit is not None
    return from_post_edits(train.segments.target, train.post_edit, "es")


def lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]


def test_every_word_has_hjersons_label(labels: PostEditLabels, shared_data: Find) -> None:
    golden = [line for line in lines(shared_data("golden/hjerson/training.cats.gz")) if line]
    for given_lines, each in (
        (golden[0::2], labels.errors.reference),
        (golden[1::2], labels.errors.hypothesis),
    ):
        words = [word for line in given_lines for word in line.split("-err-cats: ")[1].split()]
        assert [word.rsplit("~~", 1)[1] for word in words] == [TAGS[label] for label in each]


def test_sentence_counts_and_rates_equal_hjersons(labels: PostEditLabels, shared_data: Find) -> None:
    path = shared_data("golden/hjerson/training.sentence_rates.tsv.gz")
    golden = pd.read_csv(path, sep="\t")
    errors = labels.errors
    assert (golden["ref_len"] == errors.reference_lengths).all()
    assert (golden["hyp_len"] == errors.hypothesis_lengths).all()
    names = {"inflection": "INFer", "reordering": "Rer", "lexical": "LEXer"}
    for side, letter in (("reference", "r"), ("hypothesis", "h")):
        for counts, prefix in ((errors.counts(side), letter), (errors.blocks(side), f"b{letter}")):
            for name, short in names.items():
                expected = golden[f"{prefix}{short}_count"].to_numpy()
                np.testing.assert_array_equal(counts[:, CLASSES.index(name)], expected)
    for name, short, side in (("missing", "MISer", "reference"), ("extra", "EXTer", "hypothesis")):
        for counts, prefix in ((errors.counts(side), ""), (errors.blocks(side), "b")):
            np.testing.assert_array_equal(
                counts[:, CLASSES.index(name)], golden[f"{prefix}{short}_count"].to_numpy()
            )
    rates = ["hINFer", "hRer", "MISer", "EXTer", "hLEXer", "bhINFer", "bhRer", "bMISer", "bEXTer", "bhLEXer"]
    expected = golden[[f"{column}_pct" for column in rates]].to_numpy()
    np.testing.assert_allclose(100 * errors.rates(), expected, atol=0.00501)
    sums = rate_sums(errors.rates())
    np.testing.assert_allclose(100 * sums[:, 0], golden["SUMerr_pct"], atol=0.00501)


def test_corpus_equals_hjersons_totals(labels: PostEditLabels) -> None:
    """golden/hjerson/training.total.txt."""
    corpus = labels.corpus()
    assert corpus["counts"] == {
        "inflection": 2855, "reordering": 3444, "missing": 2588, "extra": 1467, "lexical": 6950,
    }  # fmt: skip
    assert corpus["blocks"] == {
        "inflection": 2662, "reordering": 2547, "missing": 1995, "extra": 1209, "lexical": 5048,
    }  # fmt: skip
    assert [round(100 * rate, 2) for rate in corpus["rates"].values()] == [5.16, 6.22, 4.53, 2.65, 11.77]
    assert [round(100 * rate, 2) for rate in corpus["block_rates"].values()] == [4.79, 4.50, 3.50, 2.18, 8.80]
    assert corpus["sums"]["wsumer"] == pytest.approx(0.3033, abs=5e-5)


def test_the_papers_example_as_the_tool_counts_it(shared_data: Find) -> None:
    folder = shared_data("golden/hjerson/table1")
    errors = class_errors(
        *(tokens((folder / name).read_text()) for name in ("hyp", "hyp.base", "ref", "ref.base"))
    )
    for side, line in (("reference", 0), ("hypothesis", 1)):
        golden = (folder / "cats").read_text().splitlines()[line].split(": ")[1].split()
        outcome: list[int] = getattr(errors, side).tolist()
        assert [word.rsplit("~~", 1)[1] for word in golden] == [TAGS[label] for label in outcome]
    assert errors.rates()[0, [1, 3, 4]].tolist() == [6 / 14, 0, 5 / 14]  # README: RER, EXTER, LEXER
    assert errors.blocks("hypothesis")[0].tolist() == [0, 3, 0, 0, 3]


def test_sums_of_a_uniform_vector() -> None:
    """Closed form: ten equal rates r give 5r, 5r, 5r, and r for interpolations whose weights add up to 1."""
    np.testing.assert_allclose(rate_sums(np.full((1, 10), 0.1)), [[0.5, 0.5, 0.5, 0.1, 0.1]])


def test_directed_sums_weigh_by_table_2() -> None:
    """EXTER alone: 42.7 of 519.0 into English, 12.2 of 513.5 from English."""
    rates = np.eye(10)[[3]]
    into, out = 46.2 + 53.8 + 26.3 + 42.7 + 86.0, 71.7 + 51.1 + 54.4 + 12.2 + 58.3
    into, out = into + 47.9 + 78.3 + 21.1 + 36.8 + 79.5, out + 75.6 + 60.0 + 53.9 + 10.0 + 62.8
    np.testing.assert_allclose(rate_sums(rates)[0, 3:], [42.7 / into, 12.2 / out])


def test_empty_sides_are_undefined_not_zero() -> None:
    empty = Tokens.from_lists([[], ["a"], []])
    other = Tokens.from_lists([["a", "b"], [], []])
    errors = class_errors(empty, empty, other, other)
    rates = errors.rates()
    assert rates[0, 2] == 1 and np.isnan(rates[0, [0, 1, 3, 4]]).all()
    assert np.isnan(rates[1, 2]) and rates[1, 3] == 1
    assert np.isnan(rates[2]).all()
    assert np.isnan(hter(empty, other)).tolist() == [False, True, True]


TEXTS = st.lists(
    st.tuples(st.lists(st.sampled_from("abcdE"), max_size=9), st.lists(st.sampled_from("abcdE"), max_size=9)),
    min_size=1,
    max_size=5,
)


def label(pairs: list[tuple[list[str], list[str]]]) -> ClassErrors:
    hypothesis = Tokens.from_lists(left for left, _ in pairs)
    reference = Tokens.from_lists(right for _, right in pairs)
    return class_errors(hypothesis, hypothesis.lower(), reference, reference.lower())


@pytest.mark.slow
@given(TEXTS)
def test_laws_of_class_errors(pairs: list[tuple[list[str], list[str]]]) -> None:
    errors = label(pairs)
    left, right = errors.counts("hypothesis"), errors.counts("reference")
    assert (left[:, [0, 1]] == right[:, [0, 1]])[:, 1].all()  # reordered words come in pairs
    assert not left[:, CLASSES.index("missing")].any() and not right[:, CLASSES.index("extra")].any()
    assert (left.sum(axis=1) <= errors.hypothesis_lengths).all()
    assert (errors.blocks("hypothesis") <= left).all() and (errors.blocks("reference") <= right).all()
    for k, (hypothesis, reference) in enumerate(pairs):
        if hypothesis == reference:
            assert not left[k].any() and not right[k].any()
        alone = label([pairs[k]])
        assert (alone.counts("reference")[0] == right[k]).all()


def test_hter_ignores_case_and_counts_shifts() -> None:
    targets = Tokens.from_lists(text.split() for text in ("The cat sat", "d e a b c", "a b"))
    edited = Tokens.from_lists(text.split() for text in ("the cat sat", "a b c d e", "x y z"))
    assert hter(targets, edited).tolist() == [0, 0.2, 1]


@pytest.mark.parametrize(
    "language",
    ["gu", "ta", "te", "mr", "ne", "si", "ko", "ps", "vi", "ur", "bn", "hr", "sr", "az", "uz", "kk", "eu",
     "ha", "mt", "af", "zu"],
)  # fmt: skip
def test_a_language_without_base_forms_has_hter_and_reordering(language: str) -> None:
    labels = from_post_edits(["a b c", "b a"], ["a b d", "a b"], language)
    table, corpus = labels.table(["x", "y"]), labels.corpus()
    assert table["hter"].tolist() == [pytest.approx(1 / 3), 0.5] and corpus["hter"] == 0.4
    classes = table.drop(columns=["id", "hter", "edits", "target_words", "post_edit_words"])
    known = classes[["reordering", "reordering_blocks", "rer", "brer"]]
    assert known.to_numpy().tolist() == [[0, 0, 0, 0], [2, 1, 1, 0.5]]
    undefined = classes.drop(columns=known.columns)
    assert len(undefined.columns) == 21 and undefined.isna().all(axis=None)
    for kind, value in {"counts": 2, "blocks": 1, "rates": 0.4, "block_rates": 0.2}.items():
        others = dict(corpus[kind])
        assert others.pop("reordering") == value and {*others.values()} == {None}
    assert {*corpus["sums"].values()} == {None}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["l.tsv", "l.csv.gz", "l.jsonl", "l.parquet"])
def test_tables_round_trip(tmp_path: Path, name: str) -> None:
    table = from_post_edits(["casas rojas", "", "a"], ["casa roja", "a", "a"], "es").table(["x", "y", "z"])
    save_table(table, tmp_path / name)
    readers = {
        "l.tsv": lambda path: pd.read_csv(path, sep="\t"),
        "l.csv.gz": pd.read_csv,
        "l.jsonl": lambda path: pd.read_json(path, lines=True),
        "l.parquet": pd.read_parquet,
    }
    outcome = readers[name](tmp_path / name)
    assert outcome["id"].tolist() == ["x", "y", "z"] and outcome["inflection"].tolist() == [2, 0, 0]
    np.testing.assert_allclose(outcome["infer"].astype(float), [1, np.nan, 0])
    np.testing.assert_allclose(outcome["hter"], [1, 1, 0])
    assert sorted(p.name for p in tmp_path.iterdir()) == [name]


@pytest.mark.slow
def test_batches_are_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """The golden 1,832 segments above come in batches of 1,000; here batches of 3 against one of all."""
    target = ["casas rojas", "", "x", "el gato negro duerme", "uno", "la casa", "", "dos tres", "a b c", "z"]
    post_edit = ["casa roja", "y", "", "duerme el gato", "uno", "casa", "", "tres dos", "a c", "las z"]
    seen: list[tuple[int, int | None]] = []
    tables = {}
    for size in (3, 100):
        monkeypatch.setattr("qe.data.labels._BATCH", size)
        outcome = from_post_edits(
            target, post_edit, "es", lambda stage, rows, total: seen.append((rows, total))
        )
        tables[size] = outcome.table([str(i) for i in range(10)])
        assert outcome.corpus()["segments"] == 10
    pd.testing.assert_frame_equal(tables[3], tables[100])
    assert seen == [(3, 10), (6, 10), (9, 10), (10, 10), (10, 10)]
    assert len(from_post_edits([], [], "es").table([])) == 0


def test_command_line(tmp_path: Path) -> None:
    for name, text in (("s", "red houses\nx\n"), ("t", "casas rojas\nx\n"), ("p", "casa roja\nx\n")):
        (tmp_path / name).write_text(text)
    files = ["--source", tmp_path / "s", "--target", tmp_path / "t", "--post-edit", tmp_path / "p"]
    arguments = ["labels", *files, "--target-language", "es"]
    corpus = json.loads(ran(*arguments, "--json", "--quiet", "-o", tmp_path / "out.tsv").out)["corpus"]
    assert corpus["counts"]["inflection"] == 2 and corpus["rates"]["inflection"] == pytest.approx(2 / 3)
    assert corpus["hter"] == pytest.approx(2 / 3)
    assert len(pd.read_csv(tmp_path / "out.tsv", sep="\t")) == 2
    assert "HTER 66.67 %" in ran(*arguments).out
    (tmp_path / "p").write_text("casa roja\n")
    assert "ends after 1 lines" in ran(*arguments, "--output", tmp_path / "never.tsv", code=2).err
    assert not (tmp_path / "never.tsv").exists()
