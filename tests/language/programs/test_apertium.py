"""Apertium: no text has an influence on another, lines are kept apart; engines and columns."""

import gzip
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from features import Segments, Tokenizer
from qe.language.apertium import call, look_up, paragraphs, pipeline, unseen
from qe.language.engine import ENGINES
from qe.language.engines.apertium import CHUNK, Apertium, clean, split_paragraphs
from qe.language.made_columns import with_made_columns
from tests.factories import Find, qe, ran, refuses

WARNING = (
    "Error: A new ambiguity class was found. \nRetraining is necessary.\nWord '{}'.\nNew class: {{A,B}}\n"
)
WORDS = ["I", "It", "near", "a lot", "house"]


def learning(texts: Sequence[str]) -> tuple[str, str]:
    """Upper-cases; but from the first strange word on (`I`, `near`), the rest is lower-cased."""
    output, messages, learned = [], "", False
    for text in texts:
        strange = [word for word in text.split() if word in ("I", "near")]
        output.append(text.lower() if learned else text.upper())
        messages += "".join(WARNING.format(word) for word in strange)
        learned |= bool(strange)
    return "\n".join(output), messages


@pytest.mark.slow
@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1).map(" ".join), max_size=8))
def test_every_text_comes_out_as_it_does_alone(texts: list[str]) -> None:
    by_name: dict[int, str] = {}
    for rows, output in unseen(texts, learning):
        by_name |= zip(rows, output.split("\n"), strict=True)
    assert [by_name[i] for i in range(len(texts))] == [learning([text])[0] for text in texts]


def test_a_mode_is_taken_apart_at_its_tagger(tmp_path: Path) -> None:
    (tmp_path / "modes").mkdir()
    with pipeline("apertium", tmp_path, "a-b") as outcome:
        assert outcome is None
    mode = tmp_path / "modes" / "a-b.mode"
    mode.write_text("lt-proc 'x y' | cg-proc z | lt-proc $1 w")
    with pipeline("apertium", tmp_path, "a-b") as outcome:
        assert outcome is None
    mode.write_text("lt-proc 'x y' | apertium-tagger -g $2 'a b.prob' | lt-proc z | lt-proc $1 w\n")
    with pipeline("apertium", tmp_path, "a-b") as outcome:
        assert outcome is not None and outcome.tagger == "a b.prob" and outcome.later_stages == ("after0",)
        folder = Path(outcome.folder)
        assert (folder / "modes" / "before.mode").read_text() == "lt-proc 'x y' "
        assert (folder / "modes" / "after0.mode").read_text() == "lt-proc z | lt-proc $1 w"
    assert not folder.exists()


def test_a_mode_is_taken_apart_at_its_dictionaries(tmp_path: Path) -> None:
    (tmp_path / "modes").mkdir()
    dictionaries = "p | t -n 'q' | lt-proc -b 'a b' | r | lt-proc $1 'g' | lt-proc -p 'h'"
    (tmp_path / "modes" / "a-b.mode").write_text(
        f"lt-proc 'm' | apertium-tagger -g $2 'n' | {dictionaries}\n"
    )
    with pipeline("apertium", tmp_path, "a-b") as outcome:
        assert outcome is not None
        translations, forms = ("lt-proc", "-b", "a b"), ("lt-proc", "-n", "g")
        assert outcome.later_stages == ("after0", translations, "after2", forms, "after4")
        modes = [
            (Path(outcome.folder) / "modes" / f"{stage}.mode").read_text()
            for stage in outcome.later_stages[::2]
        ]
    assert modes == ["p | t -n 'q'", "r", "lt-proc -p 'h'"]


def test_units_are_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "upper"
    program.write_text(f"#!/bin/sh\necho call >> '{tmp_path}/calls'\nexec tr a-z A-Z\n")
    program.chmod(0o755)
    text = r"^a<n>$ b ^c\$d<v>$\^e^a<n>$[][\n\n]"
    assert look_up((str(program),), text) == r"^A<N>$ b ^C\$D<V>$\^e^A<N>$[][\n\n]"
    assert look_up((str(program),), "^a<n>$ x") == "^A<N>$ x"
    assert (tmp_path / "calls").read_text() == "call\n"
    monkeypatch.setattr("qe.language.apertium._MOST", 1)  # two are known: forgotten, and looked up again
    assert look_up((str(program),), "^a<n>$ x") == "^A<N>$ x"
    assert (tmp_path / "calls").read_text() == "call\ncall\n"


def test_a_program_that_does_not_answer_unit_by_unit_sees_the_whole_text(tmp_path: Path) -> None:
    program = tmp_path / "lines"
    program.write_text("#!/bin/sh\ntr -d '\\n'\n")
    program.chmod(0o755)
    assert look_up((str(program),), "^a$ b\n^c$") == "^a$ b^c$"


# A program with Apertium's options: upper-cases ASCII text. What it does to input with odd words is said
# in the cases below; every call is noted in the file `calls`.
FAKE = """#!/bin/sh
case "$1" in
  -l) printf 'eng-spa\\nspa-eng\\nxx-yy\\n'; exit 0 ;;
  -V) echo 'Apertium 0.0'; exit 0 ;;
esac
echo "$*" >> "{folder}/calls"
text=$(cat; echo x)
text=${{text%x}}
case "$text" in
  *crash*) echo 'cannot go on' >&2; exit 3 ;;
  *swallow*other*|*other*swallow*) printf '%s' "$text" | tr -d '\\n' ;;
  *always*) echo ;;
  *) printf '%s' "$text" | tr a-z A-Z ;;
esac
"""


Fake = Callable[[str, str], Apertium]


def fake_apertium(folder: Path) -> Fake:
    program = folder / "apertium"
    program.write_text(FAKE.format(folder=folder))
    program.chmod(0o755)
    return lambda source, target: Apertium(source, target, str(program), workers=2, folder=folder)


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    return fake_apertium(tmp_path)


@pytest.fixture(scope="module")
def apertium() -> None:
    if shutil.which("apertium") is None:
        pytest.skip("the program apertium is absent (apt-get install apertium apertium-eng-spa)")


def install(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """`apertium` is the fake program."""
    known = ENGINES.get
    monkeypatch.setattr(ENGINES, "get", lambda name: fake if name == "apertium" else known(name))


def test_one_line_out_per_line_in(fake: Fake, tmp_path: Path) -> None:
    lines = [f"line {i} end" for i in range(2 * CHUNK + 7)]
    lines[3] = lines[CHUNK] = lines[-1] = ""
    lines[5] = "  \t * @ "
    translations = list(fake("en", "es").translate(iter(lines)))
    assert translations == ["" if i == 5 else line.upper() for i, line in enumerate(lines)]
    assert (tmp_path / "calls").read_text() == "-u eng-spa\n" * 3  # one call per chunk


def test_mixed_up_lines_are_translated_apart(fake: Fake) -> None:
    lines = ["a", "swallow", "b", "other", "c"]
    assert list(fake("en", "es").translate(lines)) == ["A", "SWALLOW", "B", "OTHER", "C"]


@pytest.mark.slow
def test_a_hung_program_is_an_error(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by = fake("en", "es")
    assert by.mode == "eng-spa"
    (tmp_path / "apertium").write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr("qe.language.apertium.PATIENCE", 0.2)
    refuses("no answer", list, by.translate(["a"]))


def test_a_pair_is_named_as_it_is(fake: Fake) -> None:
    assert fake("xx", "yy").mode == "xx-yy"


@given(st.text())
def test_cleaned_text_has_no_sign_of_the_stream_format(text: str) -> None:
    cleaned = clean(text)
    assert not set(cleaned) & set("^$/<>{}[]\\@|*\n\r\x00\u2028")
    assert cleaned == cleaned.strip() and cleaned == clean(cleaned)


@given(st.lists(st.text("ab ", min_size=1).filter(str.strip)))
def test_paragraphs_come_apart(lines: list[str]) -> None:
    text = "".join(f"{line} \n\n" for line in lines)
    assert split_paragraphs(text, len(lines)) == [" ".join(line.split()) for line in lines]
    assert split_paragraphs(text, len(lines) + 1) is None
    assert split_paragraphs(text.replace("\n\n", "\n"), len(lines)) is None or len(lines) < 2


def spanish(columns: dict[str, list[str]]) -> Segments:
    return Segments.from_columns(columns, Tokenizer("en"), Tokenizer("es"))


def test_columns_of_segments(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(fake, monkeypatch)
    segments = spanish({"source": ["one", "two", "one", ""], "target": ["uno", "dos", "uno", "x"]})
    columns = {"pseudo_reference": "apertium", "back_translation": "apertium"}
    translated = with_made_columns(segments, columns, tmp_path / "cache")
    assert translated.pseudo_reference == ("ONE", "TWO", "ONE", "")
    assert translated.back_translation == ("UNO", "DOS", "UNO", "X")
    assert translated.source == segments.source and translated.id == segments.id
    calls = (tmp_path / "calls").read_text()
    assert calls.splitlines() == ["-u eng-spa", "-u spa-eng"]
    again = with_made_columns(segments, columns, tmp_path / "cache")
    assert again.fingerprint == translated.fingerprint and (tmp_path / "calls").read_text() == calls
    with_made_columns(spanish({"source": ["three"], "target": ["x"]}), columns, tmp_path / "cache")
    assert (tmp_path / "calls").read_text() != calls
    refuses("'pseudo_reference' already", with_made_columns, translated, columns)


def test_command(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(fake, monkeypatch)
    given, other = tmp_path / "in", tmp_path / "other"
    pair = ["data", "translate", "--source-language", "en", "--target-language", "es", "--input", given]
    given.write_text("one\n\ntwo\n")
    assert qe(*pair, "--output", tmp_path / "out").code == 0
    assert (tmp_path / "out").read_text() == "ONE\n\nTWO\n"
    given.write_text("one\ncrash\n")
    for output, message in (
        (other, "cannot go on"),
        (given / "x", "in is a file, not a directory"),
        (tmp_path, "is a directory, not a file"),
    ):
        assert message in ran(*pair, "--output", output, code=2).err
    given.write_bytes(gzip.compress(b"one\n", mtime=0)[:10] + b"\xff" * 20)
    assert "in:1: damaged gzip file" in ran(*pair, "--output", other, code=2).err and not other.exists()
    assert qe(*pair, "--output", other, "--engine", "x").code == 2


@pytest.mark.slow
def test_apertium_keeps_lines_apart(apertium: None) -> None:
    """Titles without a full stop, quotes, stream signs, unknown words: a line never sees its neighbours."""
    lines = [
        "Free Vaccines for Children Born in August",
        "Starting January, there could be free vaccines.",
        'He said "hello" to the blorfxx [1/2] {house} ^x$ <b>',
        '"',
        "",
        "* @",
        "The “red” house — and\x00 the\u200b dog’s bone…",
        "the end",
    ]
    by = Apertium("en", "es")
    translations = list(by.translate(lines))
    assert translations == [next(by.translate([line])) for line in lines]
    assert translations[2].startswith('Dijo "hola"') and "blorfxx" in translations[2]
    assert "*" not in translations[2]
    assert translations[3:6] == ['"', "", ""]


def test_a_line_is_translated_alike_whatever_came_before(apertium: None, shared_data: Find) -> None:
    """The tagger learns ambiguities that it meets: later lines of one process come out otherwise."""
    lines = (shared_data("wmt12-qe/test_set") / "source.eng").read_text("utf-8").split("\n")[:240]
    by = Apertium("en", "es")
    together = list(by.translate(lines))
    assert together == [*list(by.translate(lines[:100])), *list(by.translate(lines[100:]))]
    # Without the care taken, at least one differs: else this test shows nothing.
    output, _ = call(["apertium", "-u", "eng-spa"], paragraphs([clean(line) for line in lines]))
    assert split_paragraphs(output, len(lines)) != together


def test_dictionaries_answer_units_as_they_answer_whole_texts(apertium: None, shared_data: Find) -> None:
    lines = (shared_data("wmt12-qe/test_set") / "source.eng").read_text("utf-8").split("\n")[:300]
    by = Apertium("en", "es")
    with pipeline("apertium", by.folder, by.mode) as parts:
        assert parts is not None
        text, _ = call(["apertium-destxt"], paragraphs([clean(line) for line in lines if line]))
        text, _ = call(["apertium-tagger", "-g", "-d", parts.tagger], parts._stage("before", text))
        dictionaries = 0
        for stage in parts.later_stages:
            if isinstance(stage, str):
                text = parts._stage(stage, text)
                continue
            text, before = call(stage, text)[0], text
            assert look_up(stage, before) == text
            dictionaries += 1
    assert dictionaries == 2
