"""Every verb takes every language: labels, comparison, filter, init, resources, training and scoring.

The texts are of made-up words in the letters of the language; nothing depends on what they mean.
"""

import random
from pathlib import Path

import pytest

from tests.factories import qe

pytestmark = pytest.mark.slow
LATIN = "af az cs cy eu fi ga ha hr hu is mt pl sw tr uz vi zu"
# Languages of other scripts, with the first of twenty letters.
SCRIPTS = {
    "gu": "\u0a95", "ta": "\u0b95", "te": "\u0c15", "mr": "\u0915", "ne": "\u0915", "hi": "\u0915",
    "si": "\u0d9a", "bn": "\u0995", "ko": "\uac00", "ps": "\u0628", "ur": "\u0628", "ar": "\u0628",
    "fa": "\u0628", "he": "\u05d0", "am": "\u1200", "km": "\u1780", "lo": "\u0e81", "my": "\u1000",
    "th": "\u0e01", "ja": "\u3042", "zh": "\u4e00", "ru": "\u0430", "uk": "\u0430", "sr": "\u0430",
    "kk": "\u0430", "el": "\u03b1", "ka": "\u10d0", "hy": "\u0561",
}  # fmt: skip
WITHOUT_BLANKS = ("km", "lo", "my", "th", "ja", "zh")
LANGUAGES = (*LATIN.split(), *SCRIPTS)
ROWS = 60


def lines_in(language: str, generator: random.Random) -> list[str]:
    first = ord(SCRIPTS.get(language, "a"))

    def word() -> str:
        return "".join(chr(first + generator.randrange(20)) for _ in range(generator.randint(2, 6)))

    blank = "" if language in WITHOUT_BLANKS else " "
    return [blank.join(word() for _ in range(generator.randint(4, 9))) for _ in range(ROWS)]


@pytest.fixture
def files(language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`source`, `target`, `post_edit` (every third line is another) and the table `data.tsv`."""
    generator = random.Random(language)
    source, target, others = (lines_in(side, generator) for side in ("en", language, language))
    post_edit = [
        other if i % 3 == 0 else text for i, (text, other) in enumerate(zip(target, others, strict=True))
    ]
    for name, lines in (("source", source), ("target", target), ("post_edit", post_edit)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", "utf-8")
    texts = zip(source, target, post_edit, strict=True)
    rows = [f"{a}\t{b}\t{c}\t{i % 5 + 1}" for i, (a, b, c) in enumerate(texts)]
    header = "source\ttarget\tpseudo_reference\tscore"
    (tmp_path / "data.tsv").write_text("\n".join([header, *rows]) + "\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    # No chart has a word of the texts, and drawing takes half of the time.
    monkeypatch.setattr("qe.training.reporting._write_plots", lambda *_: None)


def succeeds(command: str, *more: str, codes: tuple[int, ...] = (0,)) -> None:
    done = qe(*command.split(), *more)
    assert done.code in codes, done.err


@pytest.mark.parametrize("language", LANGUAGES)
def test_verbs(language: str, files: None) -> None:
    succeeds(f"labels --target target --post-edit post_edit --target-language {language} -o labels.tsv")
    header, *labels = Path("labels.tsv").read_text("utf-8").splitlines()
    hter = [float(row.split("\t")[header.split("\t").index("hter")]) for row in labels]
    assert len(hter) == ROWS
    assert [i for i, value in enumerate(hter) if value == 0] == [i for i in range(ROWS) if i % 3]
    systems = "--references post_edit --system a=target --system b=post_edit --samples 20"
    # Others have no usual tokens, or those of packages that need not be installed (Japanese, Korean).
    tokens = "--tokenize char" if language in ("km", "lo", "my", "th", "ja", "ko") else ""
    succeeds(f"compare {systems} --language {language} --metrics bleu chrf ter {tokens}")
    succeeds(f"filter -i source -i target -o a -o b --languages en {language}", codes=(0, 1))
    sides = f"--source-language en --target-language {language}"
    succeeds(f"init data.tsv {sides} --higher-is-better")
    succeeds(f"resources build --source source --target target {sides} --output resources")


@pytest.mark.parametrize("language", LANGUAGES)
def test_training_and_scoring(language: str, files: None) -> None:
    succeeds(f"init data.tsv --source-language en --target-language {language} --higher-is-better")
    families = "surface, bag_of_words, pseudo_reference, error_classes"
    column = "dataset.columns.pseudo_reference=pseudo_reference"
    settings = (f"features=[{families}]", "learner={kind: ridge}", "guard=false", "tracking=off", column)
    succeeds("train data.yaml --output model --quiet", *(each for one in settings for each in ("--set", one)))
    succeeds("score --model model --input data.tsv --output scores.tsv")
    rows = Path("scores.tsv").read_text("utf-8").splitlines()[1:]
    assert len(rows) == ROWS and all(row.split("\t")[1] for row in rows)
