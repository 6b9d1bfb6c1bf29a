"""Parts of tags and morphemes, of the same kinds as those of words: what is theirs, and what is not."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pytest

from features.core import bundle as bundles
from features.core.bundle import known_parts, optional_resources, plain_parts
from features.resources.annotation import Annotation
from features.resources.language_model import LanguageModel
from features.resources.lexicon import Lexicon
from features.resources.ngrams import NgramCounts, NgramCountsBuilder
from features.text.annotation import block_of
from features.text.corpus import ParallelCorpus
from features.text.tokens import Tokens
from qe.resources.corpora import Monolingual
from qe.resources.part_inputs import Annotations, PartFiles, from_column
from qe.resources.settings import settings_of
from tests.factories import refuses

LINES = [("a red house", "una casa roja"), ("the house", "la casa")] * 2
WORDS = {
    LanguageModel: ["source_lm", "target_lm", "source_lm5", "source_lm_backward", "target_lm_backward"],
    NgramCounts: ["source_ngrams", "target_ngrams", "source_ngrams5", "target_ngrams5"],
    Lexicon: ["lexicon_source_to_target", "lexicon_target_to_source"],
}


def corpus() -> ParallelCorpus:
    return ParallelCorpus.from_lines(LINES)


def annotations() -> Annotations:
    """Tags by the first letter of a word."""

    def blocks(lines: Iterable[str]) -> list[str]:
        return [block_of([(w, w, w[0].upper(), w[0]) for w in line.split()]) for line in lines]

    source, target = zip(*LINES, strict=True)
    return Annotations.alike({"source": from_column(blocks(source)), "target": from_column(blocks(target))})


@pytest.mark.slow
@pytest.mark.parametrize("kind", WORDS)
def test_only_parts_of_words_are_built_from_the_corpus_alone(kind: Any) -> None:
    assert list(plain_parts(kind)) == WORDS[kind]
    others = kind.parts.keys() - plain_parts(kind).keys()
    assert others and all(known_parts()[name].needs for name in others)
    assert not any(known_parts()[name].needs for name in WORDS[kind])


def test_settings_of_tags_are_no_settings_of_words() -> None:
    parts = known_parts()
    assert {"layer", "sample"}.isdisjoint(settings_of(parts["target_lm"], {}))
    assert "layer" in settings_of(parts["target_pos_lm"], {})
    assert "sample" not in settings_of(parts["target_pos_lm"], {})
    assert "sample" in settings_of(parts["target_morpheme_lm"], {})
    assert {"ngrams", "sample"} <= settings_of(parts["pos_lexicon_source_to_target"], {}).keys()
    assert "ngrams" not in settings_of(parts["lexicon_source_to_target"], {})


@pytest.mark.slow
def test_further_text_is_of_words(tmp_path: Path) -> None:
    """A model of tags is built as without it, though its kind takes further text."""
    (tmp_path / "more").write_text("una casa más\n", "utf-8")
    further = Monolingual.from_files(None, tmp_path / "more")
    builders = {**annotations().builders(), **further.builders({})}
    parts = ["target_pos_lm", "target_pos_ngrams", "target_lm"]
    with_text = bundles.build(corpus, tmp_path / "with", parts, builders=builders)
    without = bundles.build(corpus, tmp_path / "without", parts, builders=annotations().builders())
    prints = [
        {n: part["fingerprint"] for n, part in b.manifest["parts"].items()} for b in (with_text, without)
    ]
    assert {name for name in parts if prints[0][name] != prints[1][name]} == {"target_lm"}
    assert "target_lm" in further.wanted and "target_pos_lm" not in further.wanted
    refuses("takes target text", further.check_used, ["target_pos_lm"])


TREEBANK = """\
1-2\tdel\t_\t_\t_\t_\t_\t_\t_\t_
1\tde\tde\tADP\tsps00\t_\t3\tcase\t_\t_
2\tel\tel\tDET\tda0ms0\t_\t3\tdet\t_\t_
3\tmar\tmar\tNOUN\tncms000\t_\t0\troot\t_\t_

1\tmar\tmar\tNOUN\tncms000\t_\t0\troot\t_\t_
"""


@pytest.mark.slow
def test_models_of_tags_are_read_from_treebanks(tmp_path: Path) -> None:
    """The tags of `del mar` and of `mar`, in both layers; the corpus and its annotator are not asked."""
    treebank = tmp_path / "bank.conllu"
    treebank.write_text(TREEBANK, "utf-8")
    files = PartFiles({"target_pos_lm": treebank, "target_upos_lm": treebank})
    parts = list(files.files)
    bundle = bundles.build(corpus, tmp_path / "b", parts, builders=files.builders(), wanted=files.wanted)
    for part, tags in (("target_pos_lm", ["sps00", "ncms000"]), ("target_upos_lm", ["ADP", "NOUN"])):
        model = bundle.part(part)
        assert isinstance(model, LanguageModel)
        own = LanguageModel.from_tokens(Tokens.from_lists([tags, tags[1:]]), order=6, case="true")
        texts = Tokens.from_lists([tags, tags[1:], ["zz"]])
        assert model.log10_probability(texts).tolist() == own.log10_probability(texts).tolist()
    treebank.write_text(
        TREEBANK.replace("sps00", "_").replace("ncms000", "_").replace("da0ms0", "_"), "utf-8"
    )
    builders = PartFiles(files.files).builders()
    refuses("no xpos", bundles.build, corpus, tmp_path / "c", parts, builders=builders)


@pytest.mark.slow
def test_counts_elsewhere_are_of_the_same_units(tmp_path: Path) -> None:
    """Counting on Spark: what a builder takes by the name of its kind reaches it, the annotation too."""
    seen: list[Tokens] = []

    def build(
        corpus: ParallelCorpus, *, annotation: Annotation | None = None, progress: Any, **settings: Any
    ) -> NgramCounts:
        local = NgramCountsBuilder(annotation=annotation, **settings)
        seen.append(local.text(corpus))
        return local.build(corpus, progress)

    builders = {**annotations().builders(), "ngrams": build}
    built = bundles.build(corpus, tmp_path / "b", ["target_pos_ngrams", "target_ngrams"], builders=builders)
    assert sorted(tokens.words(0) for tokens in seen) == [["u", "c", "r"], ["una", "casa", "roja"]]
    counts = cast(NgramCounts, built.part("target_pos_ngrams"))
    assert counts.counts(Tokens.from_lists([["u", "c"]]), 2)[0].tolist() == [2]
    assert optional_resources(build) == ("annotation",)


@pytest.mark.slow
def test_a_part_of_a_kind_that_is_gone_is_built_again(tmp_path: Path) -> None:
    built = bundles.build(corpus, tmp_path / "b", ["target_lm"])
    manifest = built.manifest
    manifest["parts"]["target_lm"]["kind"] = "gone"
    bundles._write_manifest(tmp_path / "b", manifest)
    again = bundles.build(corpus, tmp_path / "b", ["target_lm"])
    assert again.manifest["parts"]["target_lm"]["kind"] == "language_model"
    assert isinstance(again.part("target_lm"), LanguageModel)
