"""What engines and annotators refuse, a row each: the place with words of the rule, and the call."""

import importlib.util
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from features import Segments
from features.text.annotation import block_of, layer_tokens
from qe.language.engine import engine
from qe.language.engines.apertium import CHUNK, Apertium
from qe.language.made_columns import with_made_columns
from qe.language.taggers import ApertiumTagger, tagger
from tests.factories import EN_ES, Monkeypatch, refuses, segments, tokens
from tests.language.programs.test_apertium import fake_apertium
from tests.language.programs.test_taggers import TEXTS, installed

BLOCK = block_of([("a", "a", "X", "_")])
GIVEN = segments("a", "b", EN_ES)
ANNOTATED = replace(GIVEN, annotation_source=(BLOCK,))


def translated(*lines: str, source: str = "en", target: str = "es") -> Callable[[], object]:
    return lambda: list(fake_apertium(Path.cwd())(source, target).translate(lines))


def without_programs(name: str, language: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shutil, "which", lambda name: None)
        list(tagger(name, language, "en").annotate(TEXTS))


def layers(*blocks: str) -> Callable[[], object]:
    return partial(layer_tokens, blocks, tokens("a", "a b"), "upos", "annotation_source")


def made(given: Segments, **columns: str) -> Callable[[], object]:
    return lambda: with_made_columns(given, columns)


REFUSED = [
    ("did not give one line for 'always this'", translated("a", "b", "always  this")),
    ("-u eng-spa failed: cannot go on", translated(*["a"] * 3 * CHUNK, "crash")),
    ("no language pair spa-deu.*spa-eng.*apertium-deu-spa", translated("a", source="es", target="de")),
    ("apt-get install apertium apertium-eng-spa",
     lambda: list(Apertium("en", "es", "no-such-apertium").translate(["a"]))),
    ("unknown translation engine 'moses'", partial(engine, "moses", "en", "es")),
    ("^annotation_source, segment 2: .*1 words, but the text 2", layers(BLOCK, BLOCK)),
    ("^annotation_source, segment 1: .*10 columns", layers("DET NOUN", BLOCK)),
    ("unknown annotator 'treetagger'", made(GIVEN, annotation_source="treetagger")),
    ("no program makes the column 'target'", made(GIVEN, target="apertium")),
    ("'annotation_source' already", made(ANNOTATED, annotation_source="apertium")),
    pytest.param("no tagger for zul-", lambda: list(ApertiumTagger("zul", "en").annotate([["a"]])),
                 marks=installed),
    ("apt-get install hunspell hunspell-es", partial(without_programs, "hunspell", "es")),
    ("apt-get install link-grammar", partial(without_programs, "link-grammar", "en")),
    *((f"the package {package} is not installed; pip install {package}",
       lambda package=package: tagger(f"{package}:es", "es", "en").fingerprint)
      for package in ("spacy", "stanza") if importlib.util.find_spec(package) is None),
]  # fmt: skip


@pytest.mark.parametrize(("location", "call"), REFUSED)
def test_refused(location: str, call: Callable[[], object], tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    refuses(location, call)
