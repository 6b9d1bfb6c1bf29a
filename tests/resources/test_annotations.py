"""Annotated corpora: layers in step with the tokens, from files or a program, built again when due."""

import json
import shutil
from pathlib import Path
from typing import cast

import pytest

from features.basics.progress import silent
from features.core.bundle import Bundle, build
from features.resources.annotation import Annotation
from features.resources.phrase_table import PhraseTable
from features.text.annotation import block_of
from features.text.corpus import ParallelCorpus
from qe.config.experiment import ResourcesSection
from qe.resources.bundle_source import Inputs, resources_for
from qe.resources.corpora import Alignments
from qe.resources.part_inputs import Annotations, CorpusAnnotation, annotated_sides, from_column, from_file
from tests.factories import ENGLISH, SPANISH, ran, segments
from tests.resources.building import build_bundle, build_command, write_lines

PAIRS = [("a cat", "un gato"), ("", "nada"), ("the cat sleeps", "el gato duerme")]
TARGETS = ["DET NOUN", "PRON", "DET NOUN VERB"]

installed = pytest.mark.skipif(
    shutil.which("apertium-tagger") is None, reason="apertium-tagger is not installed (apt: apertium)"
)


def block(text: str, tags: str) -> str:
    return block_of([(w, w, t, t.lower()) for w, t in zip(text.split(), tags.split(), strict=True)])


def blocks() -> list[str]:
    return [block(target, tags) for (_, target), tags in zip(PAIRS, TARGETS, strict=True)]


def corpus() -> ParallelCorpus:
    return ParallelCorpus.from_lines(PAIRS)


def annotated(column: list[str], corpus: ParallelCorpus) -> Annotation:
    tags = from_column(column)
    return Annotation.from_blocks(corpus, "target", tags.blocks(corpus, "target"), tags.settings)


def test_layers_pass_over_the_pairs_that_the_corpus_skipped(tmp_path: Path) -> None:
    text = corpus()
    assert text.lines is not None and text.lines.tolist() == [0, 2]
    annotation = annotated(blocks(), text)
    annotation.save(tmp_path)
    again = Annotation.load(tmp_path)
    assert again.fingerprint == annotation.fingerprint
    for each in (annotation, again):
        assert [each.layer("upos").words(i) for i in (0, 1)] == [["DET", "NOUN"], ["DET", "NOUN", "VERB"]]
        assert each.layer("xpos").words(1) == ["det", "noun", "verb"]
        assert each.layer("lemma").words(0) == ["un", "gato"]


def test_the_corpus_keeps_its_lines(tmp_path: Path) -> None:
    text = corpus()
    text.save(tmp_path)
    again = ParallelCorpus.load(tmp_path)
    assert again.lines is not None and again.lines.tolist() == [0, 2]
    assert ParallelCorpus.from_lines(PAIRS[:1]).lines is None


@pytest.mark.parametrize("gzipped", [False, True])
def test_files_have_comments_and_empty_sentences(tmp_path: Path, gzipped: bool) -> None:
    text = ParallelCorpus.from_lines([("a", "uno"), ("b", ""), ("c", "dos tres")])
    lines = ["# text = uno", block("uno", "NUM"), "", "# text =", "", block("dos tres", "NUM NUM"), ""]
    path = write_lines(tmp_path / "t.conllu", lines, gzipped=gzipped)
    outcome = Annotation.from_blocks(text, "target", from_file(path).blocks(text, "target"), {})
    assert [outcome.layer("upos").words(i) for i in (0, 1)] == [["NUM"], ["NUM", "NUM"]]


def annotations(fingerprint: str, tag: str) -> Annotations:
    def made(corpus: ParallelCorpus, side: str) -> list[str]:
        tokens = corpus.side(side)
        return [block_of([(w, w, tag, tag) for w in tokens.words(i)]) for i in range(len(tokens))]

    return Annotations(
        {"tags": {"target": CorpusAnnotation("test", fingerprint, lambda c, s: iter(made(c, s)))}}
    )


def built(folder: Path, given: Annotations) -> Bundle:
    parts = ["target_ngrams", "target_pos_ngrams"]
    return build(corpus, folder, parts, builders=given.builders(), wanted=given.wanted)


@pytest.mark.slow
def test_another_annotation_builds_again_what_is_made_of_it_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "b"

    def times() -> dict[str, int]:
        return {path.parent.name: path.stat().st_mtime_ns for path in folder.glob("target_*/meta.json")}

    built(folder, annotations("1", "X"))
    first = times()
    built(folder, annotations("1", "X"))
    assert times() == first
    bundle = built(folder, annotations("2", "Y"))
    changed = {name for name, time in times().items() if time != first[name]}
    assert changed == {"target_annotation", "target_pos_ngrams"}
    assert bundle.part("target_pos_ngrams").vocabulary.words[3:] == ("Y",)  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_rebuild_that_was_stopped_goes_on(tmp_path: Path) -> None:
    """The annotation is new already, what is made of it is not: it is found out by what it was made of."""
    built(tmp_path / "b", annotations("1", "X"))
    given = annotations("2", "Y")
    build(corpus, tmp_path / "b", ["target_annotation"], builders=given.builders(), wanted=given.wanted)
    bundle = built(tmp_path / "b", given)
    assert bundle.part("target_pos_ngrams").vocabulary.words[3:] == ("Y",)  # type: ignore[attr-defined]


def test_parts_without_tags_need_no_annotation() -> None:
    assert annotated_sides(["target_lm", "phrase_table"]) == []
    assert annotated_sides(["target_pos_lm"]) == ["target"]
    assert annotated_sides(["pos_lexicon_source_to_target"]) == ["source", "target"]


def write_corpus(folder: Path) -> list[str]:
    """Its lines of the target."""
    things = ["house", "cat", "book", "car", "door"]
    other = ["casa", "gato", "libro", "coche", "puerta"]
    lines = [f"{a} y {b} son cosas pequeñas ." for a in other for b in other]
    write_lines(folder / "s", (f"the {a} and the {b} are small ." for a in things for b in things))
    write_lines(folder / "t", lines)
    return lines


@pytest.mark.slow
@installed
def test_the_verb_builds_from_apertium_and_from_a_file(tmp_path: Path) -> None:
    tags = "NOUN CCONJ NOUN AUX NOUN ADJ PUNCT"
    own = write_lines(tmp_path / "own", (block(line, tags) + "\n" for line in write_corpus(tmp_path)))
    given = ["--source-annotation", "apertium", "--target-annotation", own]
    done = ran(*build_command(tmp_path, *given, "--only", "source_upos_lm", "--only", "target_upos_lm"))
    parts = json.loads(done.out)["parts"]
    assert parts["source_annotation"]["settings"]["by"] == "apertium"
    assert parts["target_annotation"]["settings"]["by"] == "file"
    outcome = cast(Annotation, Bundle(tmp_path / "b").part("source_annotation")).layer("upos")
    assert outcome.words(0) == ["DET", "NOUN", "CCONJ", "DET", "NOUN", "AUX", "ADJ", "PUNCT"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["whitespace", "moses"])
def test_tokenized_segments_take_a_bundle_of_tokenized_text_or_of_moses(tmp_path: Path, kind: str) -> None:
    write_corpus(tmp_path)
    build_bundle(tmp_path, ["target_ngrams"], tokenizer=kind)
    section = ResourcesSection(bundle=tmp_path / "b")
    batch = segments("a", "b", (ENGLISH, SPANISH))
    outcome = resources_for(section, batch, ["target_ngrams"], tmp_path, silent)
    assert outcome is not None and outcome.path == tmp_path / "b"


def entity_blocks(path: Path, lines: list[str]) -> Path:
    """A CoNLL-U file; words with a capital are persons."""
    blocks = []
    for line in lines:
        rows = enumerate(line.split(), start=1)
        tags = (f"{k}\t{w}" + "\t_" * 7 + f"\tNER={'B-PER' if w[0].isupper() else 'O'}" for k, w in rows)
        blocks.append("\n".join(tags) + "\n")
    return write_lines(path, blocks)


@pytest.mark.slow
def test_entities_of_the_corpus_are_a_part_of_their_own(tmp_path: Path) -> None:
    """Tags are not read for it; other entities build it, and what is made of it, again."""
    texts = {"s": ["then Ana paid", "then Eva paid"], "t": ["luego Ana pagó", "luego Eva pagó"]}
    for name, lines in texts.items():
        write_lines(tmp_path / name, lines)
    sides = zip(("source", "target"), texts.values(), strict=True)
    files = {side: entity_blocks(tmp_path / f"{side}.conllu", lines) for side, lines in sides}
    links = write_lines(tmp_path / "links", ["0-0 1-1 2-2"] * 2)

    def built() -> Bundle:
        inputs = Inputs(Alignments(links))
        return build_bundle(tmp_path, ["entity_phrase_table"], inputs, files, tokenizer="whitespace")

    bundle = built()
    table = cast(PhraseTable, bundle.part("entity_phrase_table"))
    assert "<person>" in table.source_vocabulary.words and "ana" not in table.source_vocabulary.words
    entities = {"source_entity_annotation", "target_entity_annotation"}
    assert set(bundle.manifest["parts"]) == {"entity_phrase_table", *entities}
    entity_blocks(files["source"], [line.lower() for line in texts["s"]])
    again = cast(PhraseTable, built().part("entity_phrase_table"))
    assert "ana" in again.source_vocabulary.words and "ana" not in again.target_vocabulary.words


def test_parts_that_need_entities() -> None:
    assert annotated_sides(["entity_phrase_table"], "tags") == []
    assert annotated_sides(["entity_phrase_table"], "entities") == ["source", "target"]
    assert annotated_sides(["target_pos_lm", "name_phrase_table"], "entities") == []
