"""Repeated phrases of documents and their translations, by hand: Carpuat and Simard 2012, section 4."""

import json
from pathlib import Path

import numpy as np
import pytest

from features.comparisons.consistency import COLUMNS, Consistency
from features.resources.phrase_table import PhraseTable
from features.text.links import Links
from tests.factories import corpus, qe, tokens

# `the` and `el` are the one function word of each side; bank is banco or orilla, house is casa.
CORPUS = [("the bank", "el banco")] * 4 + [("the bank", "el orilla")] * 2 + [("the house", "el casa")] * 3
CORPUS += [("the", "el")] * 9


def straight(lines: list[str]) -> list[str]:
    return [" ".join(f"{i}-{i}" for i in range(len(line.split()))) for line in lines]


def found(pairs: list[tuple[str, str, str]], links: list[str] | None = None) -> Consistency:
    documents, source, target = zip(*pairs, strict=True)
    left, right = tokens(*source), tokens(*target)
    given = Links.from_pharaoh(links or straight(list(source)))
    known = Links.from_pharaoh(straight([s for s, _ in CORPUS]))
    table = PhraseTable.from_links(corpus(CORPUS), known, longest=1)
    return Consistency.from_segments(left, right, documents, given, table, function_words=1)


DOCUMENTS = [
    ("d1", "the bank", "el banco"),
    ("d1", "a Bank house", "un banco casa"),
    ("d1", "the bank", "el orilla"),
    ("d1", "house", "casa"),
    ("d2", "the bank", "el orilla"),  # alone in its document
]


def test_repeated_phrases_and_how_they_are_translated() -> None:
    values = found(DOCUMENTS)
    assert {phrase.document for phrase in values.phrases} == {"d1"}
    bank, house = values.phrases
    assert bank.translations == {("banco",): 2, ("orilla",): 1} and not bank.consistent
    assert house.translations == {("casa",): 2} and house.consistent
    expected = [
        [0.5, 0.5, 0.0, 1, 0.0],
        [2 / 3, 1 / 3, 0.0, 2, 0.5],
        [0.5, 0.5, 0.5, 1, 0.0],
        [1.0, 0.0, 0.0, 1, 1.0],
        [0.0, 0.0, 0.0, 0, np.nan],
    ]
    np.testing.assert_allclose(values.features(), expected)
    assert values.features().shape[1] == len(COLUMNS)
    assert values.summary() == {
        "repeated_phrases": 2, "consistent_percent": 50.0, "occurrences": 2.5,
        "occurrences_inconsistent": 3.0, "documents": 1, "documents_inconsistent_percent": 100.0,
    }  # fmt: skip


def test_what_the_table_does_not_translate_counts_not() -> None:
    """`puente` is no translation in the table, nor is a target word that is linked elsewhere, too."""
    assert not found([("d", "bank", "banco"), ("d", "bank", "puente")]).phrases
    both = [("d", "bank", "banco"), ("d", "bank house", "orilla")]
    assert not found(both, ["0-0", "0-0 1-0"]).phrases
    assert found(both, ["0-0", "0-0"]).summary()["consistent_percent"] == 0


@pytest.mark.slow
def test_the_command(tmp_path: Path) -> None:
    """The table is what the family `precomputed` reads."""
    texts = {
        "c.en": [s for s, _ in CORPUS * 3],
        "c.es": [t for _, t in CORPUS * 3],
        **{name: [row[i] for row in DOCUMENTS] for i, name in enumerate(("d.txt", "s.en", "t.es"))},
        "links.txt": straight([row[1] for row in DOCUMENTS]),
    }
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    bundle, output = tmp_path / "bundle", tmp_path / "consistency.tsv"
    built = ["resources", "build", "--source", tmp_path / "c.en", "--target", tmp_path / "c.es"]
    assert qe(*built, "--only", "phrase_table", "--only", "aligner", "--output", bundle).code == 0
    command = ["features", "consistency", "--source", tmp_path / "s.en", "--target", tmp_path / "t.es",
               "--resources", bundle, "--alignment", tmp_path / "links.txt", "--output", output]  # fmt: skip
    done = qe(*command, "--doc-ids", tmp_path / "d.txt", "--json")
    assert set(json.loads(done.out)) == {"schema", *found(DOCUMENTS).summary()}
    done = qe(*command, "--doc-ids", tmp_path / "d.txt", "--overwrite")
    assert done.code == 0 and f"5 segments: {output}" in done.out
    header, *rows = output.read_text("utf-8").splitlines()
    assert header.split("\t") == list(COLUMNS) and len(rows) == 5
    assert all(len(row.split("\t")) == 5 for row in rows)
    done = qe(*command, "--doc-ids", tmp_path / "c.en", "--overwrite")
    assert done.code == 2 and "documents, but 5 segments" in done.err
