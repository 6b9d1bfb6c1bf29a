"""Every check on small cases by hand; precision and recall of flags on injected errors."""

import random
from pathlib import Path
from types import ModuleType

import pytest

from features import Tokenizer
from features.resources.lexicon import Lexicon
from features.storage.files import read_lines
from qe.data.table_rows import read_rows
from qe.scoring import Options
from qe.scoring.checks import CHECKS, Flags, Knowledge, Pair, kinds_of
from tests.conftest import ROOT
from tests.factories import Find, score_file, script

EN_DE = ("en", "de")


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    return script(ROOT / "benchmarks" / "studies" / "scoring_flags.py")


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    """Of three sentence pairs that leave no doubt."""
    source = Tokenizer("en").tokens(["the black house sleeps", "the house", "black"] * 4)
    target = Tokenizer("de").tokens(["das schwarze haus schläft", "das haus", "schwarze"] * 4)
    return Lexicon.from_tokens(source, target, iterations=10)


@pytest.mark.parametrize(
    ("kind", "source", "target", "words"),
    [
        ("numbers", "It costs 1,250.50 in 2012.", "Es kostet 1.250,50 im Jahr 2012.", ()),
        ("numbers", "It costs 15 euros.", "Es kostet 50 Euro.", ("15", "50")),
        ("numbers", "12 000 men", "12.000 Mann", ()),
        ("numbers", "2 and 2", "2", ("2",)),
        ("numbers", "٣ men", "3 Mann", ()),
        ("numbers", "Tom &amp; Jerry&#39;s 2 &#x32;", "2 Tom und Jerry 2", ()),
        ("numbers", "door 007", "Tür 7", ()),
        ("numbers", "-7.5 degrees", "7,5 Grad", ("-7.5", "7,5")),
        ("numbers", "at −7.5 degrees (-3)", "bei -7,5 Grad (–3)", ()),
        ("numbers", "1990-1995, Catch-22", "1990–1995, 22", ()),
        ("numbers", "5 m² of CO2", "5 m2 CO₂", ()),
        ("numbers", "2.50 euros", "2,5 Euro", ()),
        ("numbers", "2.50 euros", "250 Euro", ("2.50", "250")),
        ("numbers", "3:30", "3.30 Uhr", ()),
        ("numbers", "1,00,000 and 12,34,567.5", "100.000 und 1.234.567,50", ()),
        ("numbers", "2,500 men", "2500 Mann", ()),
        ("numbers", "in 2012 300 men", "300 Mann in 2012", ()),
        ("numbers", "05/03/2012", "3.5.2012", ()),
        ("names", "we met Obama there", "wir trafen ihn dort", ("Obama",)),
        ("names", "we met Gorbachev there", "wir trafen Gorbatschow dort", ()),
        ("names", "THE NEWS OF LONDON", "die Nachrichten", ()),
        ("names", "we met him there", "wir trafen den Mann", ()),
        ("negation", "I do not know", "ich weiß es", ("not",)),
        ("negation", "I don’t know", "ich weiß es nicht", ()),
        ("negation", "I know", "ich weiß keine Antwort", ("keine",)),
        ("negation", "a knot", "ein Knoten", ()),
        ("ratio", "a sentence of this length here", "ein Satz dieser Länge", ()),
        ("ratio", "a sentence of this length here", "ein Satz", ("8 characters for 30",)),
        ("ratio", "yes", "ja, so ist es", ()),
    ],
)
def test_one_kind(kind: str, source: str, target: str, words: tuple[str, ...]) -> None:
    assert Flags.from_knowledge(Knowledge(EN_DE)).words(source, target).get(kind, ()) == words


@pytest.mark.slow
def test_what_a_lexicon_adds(lexicon: Lexicon) -> None:
    flags = Flags.make(Knowledge(EN_DE, lexicon), {"untranslated": {}, "invented": {}})
    assert flags.words("the black house", "das black haus") == {"untranslated": ("black",)}
    assert flags.words("the black house", "das schwrztz haus") == {"invented": ("schwrztz",)}
    assert flags.words("the house of internet", "das haus internet") == {}
    assert flags.text("the black 2", "black zzzzz 3") == "untranslated: black; invented: zzzzz"


def test_what_cannot_be_looked_for_is_said() -> None:
    flags = Flags.from_knowledge(Knowledge(("en", "fi")))
    assert set(flags.checks) == {"numbers", "names", "ratio"}
    assert flags.lacking == {
        "negation": "no list of negators for fi (there are de, en, es, ro)",
        "untranslated": "no lexicon among the resources",
        "invented": "no lexicon among the resources",
    }


@pytest.mark.parametrize("kind", CHECKS)
@pytest.mark.parametrize("pair", [("", ""), ("a", ""), ("", "a"), ("…", "‽"), ("e\u0301 \ud800", "\x00")])
def test_every_check_takes_any_text(kind: str, pair: tuple[str, str], lexicon: Lexicon) -> None:
    check = CHECKS[kind](Knowledge(EN_DE, lexicon))
    assert isinstance(check.words(Pair(*pair)), tuple)


# Floors well below what benchmarks/studies/scoring_flags.py measures, and ceilings of false alarms.
EXPECTED = {
    "invented": (0.95, 0.35),
    "ratio": (0.9, 0.02),
    "names": (0.85, 0.15),
    "negation": (0.9, 0.06),
    "numbers": (0.95, 0.05),
    "untranslated": (0.5, 0.03),
}


def test_injected_errors_are_seen(shared_data: Find, bench: ModuleType) -> None:
    """Small version of benchmarks/studies/scoring_flags.py: Romanian-English, a lexicon of 16,000 pairs."""
    folder = shared_data("parallel/ro-en")
    sides = (read_lines(folder / "train.ro.gz"), read_lines(folder / "train.en.gz"))
    pairs = [(s, t) for s, t in zip(*sides, strict=True) if s.strip() and t.strip()]
    random.Random(0).shuffle(pairs)
    languages = ("ro", "en")
    flags = Flags.from_knowledge(Knowledge(languages, bench.lexicon_of(pairs[:16000], languages)))
    measured = bench.figures(flags, pairs[16000:16400], languages)
    assert set(measured) == set(EXPECTED) == {n for n in CHECKS if CHECKS[n].flag is not None}
    for kind, (recall, alarms) in EXPECTED.items():
        assert measured[kind].recall >= recall and measured[kind].alarms <= alarms, (kind, measured[kind])


def test_an_injection_changes_the_translation(bench: ModuleType) -> None:
    """Otherwise recall would be measured on nothing."""
    source, target = (
        "I saw Obama, not 12 tall people from Boston there",
        "Am văzut-o pe Obama, nu 12 oameni înalți",
    )
    for kind, inject in bench.INJECTIONS.items():
        changed = inject(source, target, ("en", "ro"), random.Random(1))
        if kind != "ratio":
            assert changed is not None
        assert changed != target


def test_flags_stand_beside_the_score(demo_model: Path, tmp_path: Path) -> None:
    rows = [*read_rows(demo_model.parent / "data" / "new.tsv")][:40]
    (row, _), *_ = rows
    path = tmp_path / "in.tsv"
    path.write_text(
        f"source\ttarget\n{row['source']} 15\t{row['target']} 50\n{row['source']}\t{row['target']}\n"
    )
    summary = score_file(demo_model, [path], tmp_path / "o.tsv", options=Options(flags=True), workers=1)
    first, second = (row for row, _ in read_rows(tmp_path / "o.tsv"))
    assert "numbers: 15, 50" in first["flags"] and "numbers" not in second["flags"]
    assert summary.flagged["numbers"] == 1 and summary.not_checked == {}
    assert list(first) == ["id", "score", "flags", "reason"]
    assert Options(flags=True).key != Options().key
    assert kinds_of(first["flags"])
