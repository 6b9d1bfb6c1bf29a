"""Parts read from files of other tools: values by hand from the files themselves."""

import base64
import gzip
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from features.core.bundle import Bundle
from features.resources.language_model import LanguageModel
from features.resources.lexicon import Lexicon
from qe.config.experiment import load
from qe.resources.bundle_source import Inputs
from qe.resources.part_inputs import PartFiles
from tests.factories import qe, ran, refuses, tokens
from tests.resources.building import build_bundle, build_command, task_bundle, write_experiment, write_lines

# Two words, one bigram: log10 p(a b) = p(a) of <s> backed off, b after a, </s> after b backed off.
ARPA = """
\\data\\
ngram 1=5
ngram 2=2

\\1-grams:
-99\t<s>\t-0.5
-1.0\t</s>
-2.0\t<unk>
-0.7\ta\t-0.2
-0.9\tb\t-0.3

\\2-grams:
-0.1\t<s> a
-0.4\ta b

\\end\\
"""
# What `build_binary` of KenLM (0.3.0, x86-64) makes of it, in zlib's format.
BINARY = (
    b"eNrLzU0sUMjJVcgoKSmw0tfPzkhNTMtMzUnRS87P1U/OT0lVSMsvyk0sUShLLSrOzM9TMOViQIAGeyCxnxFI/AcCkAgjVIYJTB6w"
    b"RxZjRZFDAJB4QZ3iXsu2UrBawezsy5fExdmZGXADrpzvH2uLH2SDzDLX0ppU+6f7FQumsgMgRzIwHDsEcieQuR/ENzY2tj97xmdf"
    b"Wlqa/ayZM/fBFHN8Yspo2WgsfPbMmX2NRW8/1FbXtALZe5ENtCnNy7ZjsCkGYn0gkciQxAAAQs5GVQ=="
)
A_B = -0.1 - 0.4 + (-0.3 - 1.0)
LM, LEXICON = "target_lm", "lexicon_source_to_target"


def write(folder: Path) -> None:
    write_lines(folder / "s", ["house", "the house"])
    write_lines(folder / "t", ["casa", "la casa"])


def built(folder: Path, read: Mapping[str, Path], parts: list[str] | None = None, **settings: Any) -> Bundle:
    return build_bundle(folder, parts or list(read), Inputs(files=PartFiles(read), settings=settings))


def model(bundle: Bundle, part: str = LM) -> LanguageModel:
    return cast(LanguageModel, bundle.part(part))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lm.arpa", "lm.arpa.gz", "model"])
def test_a_model_scores_as_its_arpa_file_says(tmp_path: Path, name: str) -> None:
    write(tmp_path)
    content = ARPA.encode()
    (tmp_path / name).write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)
    bundle = built(tmp_path, {LM: tmp_path / name})
    for each in (model(bundle), model(Bundle(bundle.path))):
        np.testing.assert_allclose(each.log10_probability(tokens("A b")), [A_B], atol=1e-6)
        assert each.order == 2 and each.fingerprint == bundle.manifest["parts"][LM]["fingerprint"]
    bundle.export([LM], tmp_path / "model-of-it")
    carried = model(Bundle(tmp_path / "model-of-it"))
    np.testing.assert_allclose(carried.log10_probability(tokens("a b")), [A_B], atol=1e-6)


@pytest.mark.slow
def test_a_model_of_cased_words_and_a_backward_one(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "lm.arpa").write_text(ARPA)
    read = {LM: tmp_path / "lm.arpa", "source_lm_backward": tmp_path / "lm.arpa"}
    bundle = built(tmp_path, read, target_lm={"case": "true"})
    unknown_b = (-0.5 - 2.0) - 0.9 + (-0.3 - 1.0)  # A, unknown, ends every context
    np.testing.assert_allclose(model(bundle).log10_probability(tokens("A b")), [unknown_b], atol=1e-6)
    backward = model(bundle, "source_lm_backward")
    np.testing.assert_allclose(backward.log10_probability(tokens("b a")), [A_B], atol=1e-6)
    assert bundle.manifest["parts"]["source_lm_backward"]["settings"]["side"] == "source"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "settings"),
    [
        ("house casa .8\nthe la .6\nNULL la .1\n", {}),
        ("casa house .8\nla the .6\nla NULL .1\n", {"order": "generated_first"}),
        ("casa house .8\nla the .6\nla EMPTY .1\n", {"order": "generated_first", "null": "EMPTY"}),
    ],
)
def test_a_lexicon_has_the_probabilities_of_its_file(tmp_path: Path, lines: str, settings: Any) -> None:
    """The best of `la casa` are .6 and .8, that of `casa` is .8: their quartiles are .7, .8, .8."""
    write(tmp_path)
    (tmp_path / "lex").write_text(lines)
    bundle = built(tmp_path, {LEXICON: tmp_path / "lex"}, **{LEXICON: settings})
    lexicon = cast(Lexicon, Bundle(bundle.path).part(LEXICON))
    scores = lexicon.score(tokens("the house"), tokens("La casa"))
    np.testing.assert_allclose(scores.maximum, [0.6, 0.8], rtol=1e-6)
    np.testing.assert_allclose(scores.probability, [(0.6 + 0.1 + 1e-7) / 3, (0.8 + 2e-7) / 3], rtol=1e-6)
    np.testing.assert_allclose(lexicon.quartiles, [0.7, 0.8, 0.8], rtol=1e-6)
    assert lexicon.settings["direction"] == "source_to_target"


@pytest.mark.slow
def test_another_file_builds_again_with_what_is_built_from_it(tmp_path: Path) -> None:
    write(tmp_path)
    lex = tmp_path / "lex"
    parts = [LEXICON, "source_best_quartile", "source_ngrams"]

    def run(content: str | None) -> dict[str, Any]:
        lex.write_text(content or "")
        bundle = built(tmp_path, {LEXICON: lex} if content else {}, parts)
        return {
            name: (part["fingerprint"], (bundle.path / name / "meta.json").stat().st_mtime_ns)
            for name, part in bundle.manifest["parts"].items()
        }

    first = run("house casa .8\n")
    assert run("house casa .8\n") == first
    other = run("house casa .7\n")
    ours = run(None)
    for name in parts[:2]:
        assert len({each[name][0] for each in (first, other, ours)}) == 3
    assert first["source_ngrams"] == other["source_ngrams"] == ours["source_ngrams"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lm.bin", "lm.arpa"])
def test_a_kenlm_binary_is_known_by_its_content_and_carried(tmp_path: Path, name: str) -> None:
    pytest.importorskip("kenlm")
    write(tmp_path)
    (tmp_path / name).write_bytes(zlib.decompress(base64.b64decode(BINARY)))
    bundle = built(tmp_path, {LM: tmp_path / name})
    bundle.export([LM], tmp_path / "model")
    (tmp_path / name).unlink()  # the bundle has its own
    for each in (bundle, Bundle(bundle.path), Bundle(tmp_path / "model")):
        np.testing.assert_allclose(model(each).log10_probability(tokens("A b")), [A_B], atol=1e-5)
        assert model(each).fingerprint == bundle.manifest["parts"][LM]["fingerprint"]
    assert model(bundle).settings["side"] == "target" and model(bundle).order == 2


@pytest.mark.slow
def test_a_damaged_kenlm_binary(tmp_path: Path) -> None:
    """Cut short: KenLM itself refuses it."""
    pytest.importorskip("kenlm")
    write(tmp_path)
    (tmp_path / "lm.arpa").write_bytes(b"mmap lm http://kheafield.com/code format version 5\n\0" + b"\0" * 9)
    refuses(r"lm\.arpa: KenLM cannot read this file", built, tmp_path, {LM: tmp_path / "lm.arpa"})


@pytest.mark.slow
def test_experiments_name_files_relative_to_the_data_by_language(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    write(data)
    (data / "es.arpa").write_text(ARPA)
    listed = []
    for read in ("", ', read: {target_lm: "{target}.arpa"}'):
        path = write_experiment(tmp_path, f"{{source: s, target: t{read}}}")
        bundle = task_bundle(tmp_path, load(path, data_root=data).resources, LM)
        listed.append((model(bundle).order, bundle.path))
    assert [order for order, _ in listed] == [5, 2] and listed[0][1] != listed[1][1]


@pytest.mark.slow
def test_the_verb(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "lm.arpa").write_text(ARPA)
    command = build_command(tmp_path, "--only", LM, "--read")
    done = ran(*command, f"{LM}={tmp_path / 'lm.arpa'}")
    settings = json.loads(done.out)["parts"][LM]["settings"]
    assert settings["read"] == PartFiles({LM: tmp_path / "lm.arpa"}).fingerprints[LM]
    done = qe(*command, f"phrase_table={tmp_path / 'lm.arpa'}")
    assert done.code == 2 and "'phrase_table' is read from no file" in done.err
    assert "Traceback" not in done.err
