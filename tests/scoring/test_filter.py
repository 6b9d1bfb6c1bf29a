"""Parallel text filtered: every check by hand, files of every kind, scores; and on spoilt parallel text."""

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from features.storage.files import read_lines
from qe.data.table_rows import read_rows
from qe.scoring.checks import CHECKS, Checks, Knowledge
from qe.scoring.filtering import Threshold, filter_checks, filter_files
from tests.factories import Capsys, Find, exit_code, refuses, score_file

EN_DE = ("en", "de")
GOOD = ("The house is not big at all.", "Das Haus ist gar nicht groß.")
BAD = {
    "length": ("", "Das Haus."),
    "ratio": ("A house.", "Das Haus ist gar nicht groß und hat nur ein kleines Dach aus Holz."),
    "copy": ("The house is not big.", "The house is not big!"),
    "numbers": ("The house has 12 rooms.", "Das Haus hat 21 Zimmer."),
    "language": ("The house is not big at all.", "Quelques voisins voulaient acheter cette maison."),
}


def usual(**options: Any) -> Checks:
    return filter_checks(Knowledge(EN_DE), **options)


def test_the_usual_checks_have_a_case_each_and_cheap_ones_come_first() -> None:
    names = list(usual().checks)
    assert set(names) == set(BAD) == {name for name in CHECKS if CHECKS[name].filters}
    costs = [CHECKS[name].cost for name in names]
    assert costs == sorted(costs)


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD)
def test_each_check_refuses_its_case_and_no_other_check_does_before(name: str) -> None:
    assert usual().first(*GOOD) == ("", "")
    check, reason = usual().first(*BAD[name])
    assert check == name and reason
    assert usual(excluded=[name]).first(*BAD[name])[0] != name


@pytest.mark.slow
def test_flags_are_asked_too_if_they_are_named() -> None:
    pair = "The house is not big at all.", "Das Haus ist groß und schön."
    assert usual().first(*pair) == ("", "")
    assert usual(additional=["negation"]).first(*pair) == ("negation", "not")


# The same sentence in twenty languages.
DOGS = {
    "en": "I have never seen such a big dog.",
    "es": "Nunca he visto un perro tan grande.",
    "pt": "Nunca vi um cão tão grande.",
    "ca": "No he vist mai un gos tan gran.",
    "fr": "Je n'ai jamais vu un chien aussi grand.",
    "it": "Non ho mai visto un cane così grande.",
    "ro": "Nu am văzut niciodată un câine atât de mare.",
    "de": "Ich habe noch nie einen so großen Hund gesehen.",
    "nl": "Ik heb nog nooit zo'n grote hond gezien.",
    "sv": "Jag har aldrig sett en så stor hund.",
    "da": "Jeg har aldrig set så stor en hund.",
    "nb": "Jeg har aldri sett en så stor hund.",
    "fi": "En ole koskaan nähnyt niin isoa koiraa.",
    "pl": "Nigdy nie widziałem tak dużego psa.",
    "cs": "Nikdy jsem neviděl tak velkého psa.",
    "hu": "Soha nem láttam ilyen nagy kutyát.",
    "tr": "Hiç bu kadar büyük bir köpek görmedim.",
    "ru": "Я никогда не видел такой большой собаки.",
    "uk": "Я ніколи не бачив такого великого собаки.",
    "el": "Δεν έχω δει ποτέ τόσο μεγάλο σκύλο.",
}


@pytest.mark.slow
@pytest.mark.parametrize("target", ["de", "es", "ro", "nl"])
def test_a_third_language_is_refused(target: str) -> None:
    checks = Checks.make(Knowledge(("en", target)), {"language": {}})
    refused = {code for code, text in DOGS.items() if checks.words(DOGS["en"], text)}
    assert refused >= {*DOGS} - {target, *({"ca"} if target == "es" else ())}  # Catalan is close to Spanish
    assert target not in refused
    assert (
        Checks.make(Knowledge((target, "en")), {"language": {}}).first(DOGS["pl"], DOGS["en"])[0]
        == "language"
    )


def test_settings_reach_their_check() -> None:
    assert usual(settings={"length.maximum": "5"}).first(*GOOD)[1] == "7 words in the source"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.tsv", "out.csv.gz", "out.jsonl", "out.parquet"])
@pytest.mark.capability
def test_kept_and_refused_rows_are_all_rows(tmp_path: Path, name: str) -> None:
    rows = [{"key": key, "src": s, "mt": t} for key, (s, t) in {"good": GOOD, **BAD}.items()]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "oops\n")
    rejected = tmp_path / f"rejected.{name.partition('.')[2]}"
    summary = filter_files(
        [tmp_path / "in.jsonl"],
        [tmp_path / name],
        usual(),
        columns={"source": "src", "target": "mt"},
        rejected=rejected,
    )
    assert (summary.pairs, summary.passing) == (7, 1)
    refusing = [name for name in BAD if name != "length"]  # an empty side is told of before
    assert summary.refused == {**dict.fromkeys(refusing, 1), "unreadable": 2}
    (kept,) = (row for row, _ in read_rows(tmp_path / name))
    assert kept == rows[0]
    refused = [row for row, _ in read_rows(rejected)]
    assert [row.get("key") or "" for row in refused] == [*BAD, ""]
    assert [row["check"] for row in refused] == ["unreadable", *refusing, "unreadable"]
    assert refused[0]["reason"] == "empty source" and "not valid JSON" in refused[-1]["reason"]


@pytest.mark.slow
def test_two_texts_stay_two_texts(tmp_path: Path) -> None:
    pairs = [GOOD, *BAD.values(), (GOOD[0] + "\u2028", GOOD[1])]
    for number in (0, 1):
        (tmp_path / f"in{number}").write_text("".join(pair[number] + "\n" for pair in pairs))
    summary = filter_files([tmp_path / "in0", tmp_path / "in1"], [tmp_path / "a", tmp_path / "b.gz"], usual())
    assert summary.passing == 2
    assert list(read_lines(tmp_path / "a")) == [GOOD[0], GOOD[0] + "\u2028"]
    assert list(read_lines(tmp_path / "b.gz")) == [GOOD[1]] * 2


def test_a_bad_input_leaves_the_outputs_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("a\nb\n")
    (tmp_path / "t").write_text("a\n")
    (tmp_path / "out.tsv").write_text("mine")
    texts, output = [tmp_path / "s", tmp_path / "t"], tmp_path / "out.tsv"
    refuses("number of lines", filter_files, texts, [output], usual())
    assert output.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.tsv", "s", "t"]


@pytest.mark.slow
def test_scores_of_a_column(tmp_path: Path) -> None:
    lines = ["source\ttarget\tscore", *("\t".join((*GOOD, score)) for score in ("3.5", "3.4", "", "nan"))]
    path, output = tmp_path / "in.tsv", tmp_path / "o.tsv"
    path.write_text("\n".join(lines) + "\n")
    for higher, kept in ((True, ["3.5"]), (False, ["3.5", "3.4"])):
        filter_files([path], [output], usual(), threshold=Threshold(3.5, higher))
        assert [row["score"] for row, _ in read_rows(output)] == kept
    other = Threshold(3.5, True, column="qe")
    refuses("column 'qe'", filter_files, [path], [output], usual(), threshold=other)


def test_a_models_scores_are_those_of_qe_score(demo_model: Path, tmp_path: Path, capsys: Capsys) -> None:
    rows = demo_model.parent / "data" / "new.tsv"
    score_file(demo_model, [rows], tmp_path / "scores.tsv", workers=1)
    scores = pd.read_csv(tmp_path / "scores.tsv", sep="\t")
    command = ["filter", "-i", str(rows), "-o", str(tmp_path / "o.tsv"), "--languages", "en", "es"]
    command += ["--without", "numbers", "language", "--model", str(demo_model), "--worst", "3.4", "--quiet"]
    assert exit_code(*command) == 0
    kept = [row["id"] for row, _ in read_rows(tmp_path / "o.tsv")]
    assert f"{len(kept):,} of {len(scores):,} pairs kept" in capsys.readouterr().out
    assert kept == scores["id"][scores["score"] >= 3.4].tolist() and 0 < len(kept) < len(scores)


def test_parallel_text_is_told_from_spoilt_text(shared_data: Find) -> None:
    """Few pairs of people are refused (numbers aside); of swapped or moved texts, nearly all are."""
    folder = shared_data("parallel/en-de")
    sides = [list(islice(read_lines(folder / f"train.{code}.gz"), 3000)) for code in EN_DE]
    pairs = [(s, t) for s, t in zip(*sides, strict=True) if len(s.split()) >= 5 and len(t.split()) >= 5][
        :1000
    ]
    checks = usual(excluded=["numbers"])

    def refused(texts: list[tuple[str, str]]) -> float:
        return sum(bool(checks.first(*pair)[0]) for pair in texts) / len(texts)

    assert refused(pairs) <= 0.03
    assert refused([(t, s) for s, t in pairs]) >= 0.95
    assert refused([(s, s) for s, _ in pairs]) >= 0.99
    assert refused([(s, sides[0][i]) for i, (s, _) in enumerate(pairs, start=1500)]) >= 0.95


MARK = b"\xef\xbb\xbf"


@pytest.mark.parametrize("mark", [b"", MARK])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("ending", ["txt", "tsv", "csv", "jsonl"])
def test_byte_order_marks_and_line_ends_stay(mark: bytes, end: bytes, ending: str, tmp_path: Path) -> None:
    """What all checks let pass is the file itself, to the byte."""
    lines = {
        "tsv": ["source\ttarget", *["\t".join(GOOD)] * 2],
        "csv": ["source,target,note", *[",".join([*GOOD, '"two\nlines"'])] * 2],
        "jsonl": [json.dumps(dict(zip(("source", "target"), GOOD, strict=True)), ensure_ascii=False)] * 2,
    }
    texts = [lines[ending]] if ending in lines else [[side] * 2 for side in GOOD]
    inputs, outputs = (
        [tmp_path / f"{name}{i}.{ending}" for i in range(len(texts))] for name in ("in", "out")
    )
    for path, text in zip(inputs, texts, strict=True):
        path.write_bytes(mark + b"".join(line.encode() + end for line in text))
    assert filter_files(inputs, outputs, usual()).passing == 2
    for path, output in zip(inputs, outputs, strict=True):
        assert output.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("text", ["1_0", "٣", "nan", "inf", "1e400"])
def test_a_score_that_is_no_number_lets_nothing_pass(text: str, tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_text(f"source\ttarget\tscore\n{GOOD[0]}\t{GOOD[1]}\t{text}\n", "utf-8")
    done = filter_files(
        [tmp_path / "in.tsv"], [tmp_path / "out.tsv"], usual(), threshold=Threshold(0.5, True, column="score")
    )
    assert done.passing == 0 and done.refused == {"score": 1}
