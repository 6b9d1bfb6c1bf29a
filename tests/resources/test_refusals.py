"""Parts and settings of resources that are refused, and where the refusal points."""

import gzip
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from features.core.bundle import build
from qe.config import load
from qe.resources import part_inputs, settings
from qe.resources.bundle_source import Inputs
from qe.resources.corpora import Alignments, Monolingual
from qe.resources.part_inputs import PartFiles
from tests.factories import refuses
from tests.resources.building import build_bundle, write_experiment
from tests.resources.test_annotations import annotated, block, blocks, corpus

Builder = Callable[[Path, Path], Any]
LM, LEXICON = "target_lm", "lexicon_source_to_target"


def linked(*parts: str) -> Builder:
    """Builds these parts with the links of a file."""
    return lambda folder, path: build_bundle(folder, parts, Inputs(Alignments(path)))


def further(*parts: str) -> Builder:
    """Builds these parts with the target text of a file."""
    return lambda folder, path: build_bundle(
        folder, parts, Inputs(monolingual=Monolingual.from_files(None, path))
    )


def read(part: str, *parts: str, given: Mapping[str, Any] | None = None) -> Builder:
    """Builds these parts, or the one that is read from the file, with settings."""
    return lambda folder, path: build_bundle(
        folder,
        parts or [part],
        Inputs(files=PartFiles({part: path}), settings={part: given} if given else {}),
    )


def unread(*parts: str, **options: Any) -> Builder:
    """Builds these parts from the corpus alone."""
    return lambda folder, _: build_bundle(folder, parts, **options)


def of_pairs(part: str) -> Builder:
    return lambda folder, _: build(corpus, folder / "b", [part])


# Content of the file `more` (None: there is none), how a bundle is built of it, and where the refusal points.
BUNDLES: dict[str, tuple[str | bytes | None, Builder, str]] = {
    "links: lines": ("0-1 1-0\n\n", linked("phrase_table", "tuple_lm"), "more.*2 lines .* 3 lines"),
    "links: too far": ("0-1\n\n0-0 0-3\n", linked("phrase_table"), "more:3: .*0-3 .*3 source and 3 target"),
    "links: of nothing": ("0-1\n0-0\n0-0\n", linked("phrase_table"), "more:2: .*0-0 points outside"),
    "links: no link": ("0-1 x\n\n0-0\n", linked("phrase_table"), "more:1: expected links .*'x'"),
    "links: digits": ("0-1\n\n0-99999999999\n", linked("phrase_table"), "more:3: expected links"),
    "links: no file": (None, linked("phrase_table"), "more: no such file"),
    "links: no part": ("0-1\n\n0-0\n", linked("source_ngrams"), "takes alignments"),
    "text: nothing": ("", further(LM), "more: no words"),
    "text: blanks": ("\n  \n", further(LM), "more: no words"),
    "text: bytes": (b"gut\n\xff\n", further(LM), "more:2: not UTF-8"),
    "text: gzip": (gzip.compress(b"uno dos\n" * 999, mtime=0)[:-20], further(LM), "more:.*damaged gzip"),
    "text: no file": (None, further(LM), "more: no such file"),
    "text: no part": ("el gato\n", further("source_lm", "target_index"), "takes target text"),
    "read: no file": (None, read(LM), "more: no such file"),
    "read: another part": ("a\n", read(LM, "source_lm"), "'target_lm' is not among"),
    "read: no ARPA": ("a\n", read(LM), "more.*ARPA"),
    "read: no lexicon": ("a\n", read(LEXICON), "more:1: expected two words"),
    "read: a setting of counts": ("a\n", read(LM, given={"order": 3}), "'target_lm' .*'order'; .* case "),
    "settings: another part": (
        None, unread("source_lm", inputs=Inputs(settings={"topic_model": {"topics": 5}})),
        "'topic_model' is not among .*--only topic_model",
    ),
    "no tags": (None, of_pairs("target_pos_lm"), "target side .*no annotation.*apertium.*target_annotation"),
    "no entities": (
        None, of_pairs("source_entity_annotation"), "entities .*source side.*--task entities.*units: name",
    ),
    "no annotator": (
        None, unread("target_pos_lm", annotations={"target": "treetagger"}), "'treetagger' .*apertium",
    ),
}  # fmt: skip
AT_ONCE = ("text: no file", "text: no part", "no tags", "no entities", "no annotator")  # not slow
CROOKED = [*blocks()[:2], block("el gato", "DET NOUN")]
UNKNOWN = Path("x")
# What is called, and where the refusal points.
CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "a block too few": (lambda: annotated(blocks()[:2], corpus()), "2 CoNLL-U blocks, .* 3 lines"),
    "a block too many": (lambda: annotated([*blocks(), "1"], corpus()), "4 CoNLL-U blocks, .* 3 lines"),
    "a crooked block": (lambda: annotated(CROOKED, corpus()), "segment 3.*2 words, .*3 tokens"),
    "unknown part": (lambda: PartFiles({"targt_lm": UNKNOWN}), "part 'targt_lm'; .*'target_lm'"),
    "read from no file": (lambda: PartFiles({"aligner": UNKNOWN}), "x: .*'aligner' .*no file; ARPA"),
    "morphemes of a file": (lambda: PartFiles({"target_morpheme_lm": UNKNOWN}), "x: .*morpheme_lm'"),
    "a file twice": (lambda: part_inputs.parsed(["target_lm=a", "target_lm=b"]), "--read: .*twice"),
    "a layer of words": (lambda: settings.checked({LM: {"layer": "upos"}}, {}), "'target_lm' .*'layer'"),
}  # fmt: skip
for text in ("target_lm", "=x", "target_lm="):
    CALLS[f"--read {text}"] = (partial(part_inputs.parsed, [text]), "--read: expected PART=FILE")
for text in ("target_lm.order", "order=4", "target_lm.=4", ".order=4", "=", "a.b="):
    CALLS[f"--set {text}"] = (partial(settings.parsed, [text]), "--set: expected PART.key=value")
VALUES = (None, [4], {"a": 1}, True, 4.5, "4.5", float("inf"), "x")
# Setting of a part -> where the refusal points.
SETTINGS = {
    "targt_lm.order=4": "part 'targt_lm'; .*'target_lm'",
    "target_lm.ordr=4": r"'target_lm' .*'ordr'; it takes order \(a whole",
    "target_lm_backward.direction=forward": "'direction'",
    "source_truecaser.case=true": "'case'; it takes none",
    "target_lm.order=-1": "target_lm.order .*whole number from 1, .*'-1'",
    "target_lm.prune=x": "target_lm.prune .*true or false, .*'x'",
    "target_lm.case=upper": "target_lm.case .*'upper'",
    "aligner.prune=nan": "aligner.prune .*number from 0, .*'nan'",
}
CHECKED: list[tuple[Mapping[str, Any], str]] = [
    (settings.parsed([text]), SETTINGS[text]) for text in SETTINGS
]
CHECKED += [({LM: {"order": value}}, "target_lm.order .*whole number from 1") for value in VALUES]
# `resources` of an experiment -> where the refusal points.
EXPERIMENTS = {
    "{source: s, target: t, setings: {}}": "'resources.setings'.*'settings'",
    "{source: s, target: t, settings: {source_lm: 3}}": "resources.settings.source_lm: .*3",
    "{bundle: b, settings: {source_lm: {order: 2}}}": "`settings` is for parts to be built",
    "{bundle: b, read: {source_lm: x}}": "`read` is for parts to be built",
}


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[] if case in AT_ONCE else [pytest.mark.slow]) for case in BUNDLES]
)
def test_bundles(case: str, tmp_path: Path) -> None:
    content, built, place = BUNDLES[case]
    (tmp_path / "s").write_text("red house\n\nthe red house\n")
    (tmp_path / "t").write_text("casa roja\nnada\nla casa roja\n")
    if content is not None:
        (tmp_path / "more").write_bytes(content if isinstance(content, bytes) else content.encode())
    refuses(place, built, tmp_path, tmp_path / "more")
    begun = not case.endswith(("no file", "no part", "another part"))
    assert begun or not (tmp_path / "b").exists()


@pytest.mark.parametrize("case", CALLS)
def test_calls(case: str) -> None:
    call, place = CALLS[case]
    refuses(place, call)


@pytest.mark.slow
@pytest.mark.parametrize(("given", "place"), CHECKED)
def test_settings(given: Mapping[str, Any], place: str) -> None:
    refuses(place, settings.checked, given, {})


@pytest.mark.parametrize("resources", EXPERIMENTS)
def test_experiments(resources: str, tmp_path: Path) -> None:
    refuses(EXPERIMENTS[resources], load, write_experiment(tmp_path, resources))
