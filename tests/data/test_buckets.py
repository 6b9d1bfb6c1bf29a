"""What parts segments: lengths, rare words, predicted quality, columns of files."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from qe.data.buckets import by_length, by_quality, by_rare_words, rare_shares, read_column, read_quality

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def bucket(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return bucket


def test_length_counts_words_between_blanks() -> None:
    outcome = by_length(["", "a b", "a  b c d e", "x y z v w u"], "source", 2)
    assert outcome.labels == ("[0, 2]", "[5, 6]") and outcome.about == "words of the source"
    assert outcome.index.tolist() == [0, 0, 1, 1]


def test_rare_is_what_the_corpus_has_at_most_once(write: Write) -> None:
    corpus = write("corpus.txt", "the horse the cat\nThe dog\n")
    lines = ["the the", "the cat", "unseen dog", ""]
    assert rare_shares(lines, corpus.read_text().splitlines()).tolist() == [0, 50, 100, 0]
    outcome = by_rare_words(lines, "source", corpus, 3)
    assert outcome.labels == ("0", "50", "100") and "corpus.txt has at most once" in outcome.about
    assert rare_shares(["A b", "a c"]).tolist() == [50, 50]  # without a corpus: once in the lines themselves


def test_quality_is_the_mean_of_standardised_columns(write: Write) -> None:
    """Two systems' predictions count alike on any scales."""
    columns = [np.array([1.0, 2, 3, 4]), np.array([400.0, 100, 300, 200])]
    means = [(x - 2.5) / np.std([1, 2, 3, 4]) + (y - 250) / np.std([1, 2, 3, 4]) / 100
             for x, y in zip(*columns, strict=True)]  # fmt: skip
    assert by_quality(columns, "predictions", 2).index.tolist() == [
        int(mean > sorted(means)[1]) for mean in means
    ]
    paths = [write("a.txt", "1\n2\n3\n4\n"), write("b.tsv", "id\tscore\nx\t9\ny\t8\nz\t7\nv\t6\n")]
    assert read_quality(paths[:1], 2).labels == ("[1, 2]", "[3, 4]")
    assert read_quality(paths[1:], 2).index.tolist() == [1, 1, 0, 0]
    assert "a.txt, b.tsv" in read_quality([paths[0], write("b.tsv", "1\n2\n3\n9\n")], 2).about


def test_columns_are_bands_of_numbers_or_names(write: Write) -> None:
    numbers = write("n.txt", "1\n2\n3\n4\n")
    assert read_column("age", numbers, 2).labels == ("[1, 2]", "[3, 4]")
    assert read_column("document", numbers, 2).labels == ("1", "2", "3", "4")  # a document's number is a name
    assert read_column("domain", write("d.txt", "news\n7\nnews\n")).labels == ("news", "7")
