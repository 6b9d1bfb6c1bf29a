"""`qe annotate`: train, run, resume, evaluate; the files feed datasets and resources."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from features.text.tokenizer import Tokenizer
from qe_treebanks.annotator_folder import AnnotatorFolder, annotate_file
from tests.factories import qe, ran
from tests.qe_treebanks.annotators.made import write_conllu


@pytest.fixture(scope="module")
def annotators(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("cli")
    treebank = write_conllu(root / "t.conllu")
    for task in ("pos", "dependencies"):
        options = ["--task", task, "--treebank", treebank, "--language", "es", "--output", root / "es"]
        assert qe("annotate", "train", *options, "--set", "epochs=2", "--quiet").code == 0
    return root / "es"


@pytest.mark.slow
@pytest.mark.capability
def test_a_file_is_annotated_line_by_line(annotators: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("la luna busca el gato .\n\nAna mira la casa del niño .\n")
    out = tmp_path / "out.conllu.gz"
    options = ["--annotator", annotators, "--input", tmp_path / "in", "-o", out, "--json"]
    assert json.loads(qe("annotate", "run", *options).out) == {
        "schema": 1, "output": str(out), "lines": 3, "tokens": 13, "resumed": 0
    }  # fmt: skip
    with gzip.open(out, "rt", encoding="utf-8") as stream:
        blocks = stream.read().split("\n\n")
    assert len(blocks) == 4 and blocks[1] == "# no tokens" and blocks[3] == ""
    assert blocks[0].split("\n")[1].split("\t")[1:8] == [
        "luna", "luna", "NOUN", "noun", "Gender=Fem", "3", "nsubj"
    ]  # fmt: skip


@pytest.mark.slow
def test_a_run_that_was_cut_off_goes_on(annotators: Path, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "in").write_text("la luna .\n" * 25)
    folder, out = AnnotatorFolder(annotators), tmp_path / "out"
    whole = annotate_file(tmp_path / "in", tmp_path / "all", folder, Tokenizer("es"), chunk=10)

    class Failing:
        fingerprint = folder.fingerprint
        calls = 0

        def annotate(self, texts: Any) -> Any:
            self.calls += 1
            if self.calls > 2:
                raise KeyboardInterrupt
            return folder.annotate(texts)

    with pytest.raises(KeyboardInterrupt):
        annotate_file(tmp_path / "in", out, Failing(), Tokenizer("es"), chunk=10)
    assert not out.exists() and (tmp_path / "out.partial").is_dir()
    done = annotate_file(tmp_path / "in", out, folder, Tokenizer("es"), chunk=10)
    assert (whole.resumed, done.resumed, done.lines) == (0, 2, 25)
    assert out.read_bytes() == (tmp_path / "all").read_bytes() and not (tmp_path / "out.partial").exists()


@pytest.mark.slow
def test_a_trained_parser_compares_systems(annotators: Path, tmp_path: Path) -> None:
    """`qe compare` takes the language from the folder, and tells another one."""
    said = "la luna busca el gato .\nel gato busca la luna .\n"
    for name, text in (("ref", said), ("same", said), ("other", "gato el .\nluna la .\n")):
        (tmp_path / name).write_text(text)
    command = ["compare", "--references", tmp_path / "ref", "--annotator", annotators, "--metrics", "bleu"]
    for name in ("same", "other"):
        command += ["--system", f"{name}={tmp_path / name}"]
    comparisons = json.loads(qe(*command, "--samples", "20", "--json").out)["comparisons"]
    (found,) = (each for each in comparisons if each["metric"] == "dependency_f")
    assert found["system"] == "other" and -100 <= found["difference"] < -50
    assert "holds annotators of 'es', but the text is 'en'" in ran(*command, "--language", "en", code=2).err
