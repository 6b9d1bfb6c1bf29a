"""Settings of parts, by command and experiment: checked, and the parts are those of the Python interface."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from features import ParallelCorpus, Segments, Tokenizer
from features.basics.progress import silent
from features.core import bundle as bundles
from features.core.bundle import Bundle, known_parts
from features.core.feature_set import configured
from features.resources.language_model import LanguageModel
from features.resources.ngrams import NgramCounts
from features.resources.phrase_table import PhraseTable
from features.text.annotation import block_of
from qe.config.experiment import ResourcesSection, load
from qe.resources.bundle_source import Inputs, resources_for
from qe.resources.corpora import Alignments
from qe.resources.settings import catalogue, checked, parsed
from tests.factories import qe, ran, refuses, tokens
from tests.resources.building import build_bundle, build_command, task_bundle, write_experiment, write_lines

SOURCE = ["the red house is red", "the house", "a red cat", "The cat and the house"] * 3
TARGET = ["la casa roja es roja", "la casa", "un gato rojo", "El gato y la casa"] * 3


def write(folder: Path) -> None:
    write_lines(folder / "s", SOURCE)
    write_lines(folder / "t", TARGET)


def built(folder: Path, parts: list[str], settings: Mapping[str, Mapping[str, Any]], **more: Any) -> Bundle:
    return build_bundle(folder, parts, Inputs(settings=settings), **more)


@pytest.mark.slow
def test_the_parts_are_those_of_the_python_interface(tmp_path: Path) -> None:
    write(tmp_path)
    settings = parsed(
        ["source_lm.order=2", "source_lm.case=true", "source_lm.arpa=true", "target_lm.prune=true",
         "target_lm.order=4", "target_lm.minimum=4", "target_ngrams.order=1"]
    )  # fmt: skip
    bundle = built(tmp_path, ["source_lm", "target_lm", "target_ngrams"], settings)
    expected = {
        "source_lm": LanguageModel.from_tokens(tokens(*SOURCE), order=2, case="true"),
        "target_lm": LanguageModel.from_tokens(tokens(*TARGET), order=4, prune=True, minimum=4),
    }
    for name, model in expected.items():
        text = tokens(*SOURCE, *TARGET, "La roja house")
        outcome = cast(LanguageModel, bundle.part(name))
        assert outcome.order == model.order and outcome.trie.sizes == model.trie.sizes
        np.testing.assert_array_equal(outcome.log10_probability(text), model.log10_probability(text))
    assert cast(NgramCounts, bundle.part("target_ngrams")).order == 1
    assert [file.parent.name for file in bundle.path.rglob("*.arpa*")] == ["source_lm"]
    assert bundle.manifest["parts"]["source_lm"]["set"] == {"order": 2, "case": "true", "arpa": True}


@pytest.mark.slow
def test_counts_of_another_layer_of_annotation(tmp_path: Path) -> None:
    write(tmp_path)
    rows = [[(word, word.lower()[:2], "X", "x") for word in line.split()] for line in TARGET]
    own = write_lines(tmp_path / "t.conllu", (block_of(row) + "\n" for row in rows))
    settings = {"target_pos_ngrams": {"layer": "lemma", "order": 2}}
    bundle = built(tmp_path, ["target_pos_ngrams"], settings, annotations={"target": own})
    counts = cast(NgramCounts, bundle.part("target_pos_ngrams"))
    assert counts.counts(tokens("la ca", "ca ro"), 2)[0].tolist() == [9, 3]
    assert counts.counts(tokens("un"), 1)[0].tolist() == [3]


@pytest.mark.slow
def test_settings_of_parts_from_other_links(tmp_path: Path) -> None:
    write(tmp_path)
    lines = (" ".join(f"{i}-{i}" for i in range(len(line.split()))) for line in SOURCE)
    inputs = Inputs(
        Alignments(write_lines(tmp_path / "links", lines)), settings={"phrase_table": {"longest": 1}}
    )
    bundle = build_bundle(tmp_path, ["phrase_table"], inputs)
    table = cast(PhraseTable, bundle.part("phrase_table"))
    assert {len(table.phrase(int(t)).split()) for t in table.target} == {1}
    inputs = Inputs(inputs.alignments, settings={"phrase_table": {"symmetrization": "union"}})
    refuses("it takes longest .*, minimum ", build_bundle, tmp_path, ["phrase_table"], inputs)


def small_enough(part: str) -> bool:
    """Whether a few lines without tags make it: not what holds pairs out, which takes more."""
    needs = bundles.with_needs([part])
    beyond = ("annotation", "development_set", "morph", "synthetic_word_quality", "translated_corpus")
    return not any(word in need for need in needs for word in beyond)


@pytest.mark.slow
@pytest.mark.parametrize("part", list(filter(small_enough, known_parts())))
def test_a_part_tells_every_setting_so_that_cached_features_do(part: str, tmp_path_factory: Any) -> None:
    """The cache of features knows resources by their settings: one that is not told would be mixed up."""
    words = ["red", "house", "cat", "tree", "and", "big", "blue", "old"]
    lines = [" ".join(words[(i * k + k * k) % 8] for k in range(1, 7)) for i in range(120)]
    folder = tmp_path_factory.getbasetemp() / "every"
    small = {
        "source_vectors": {"dimensions": 2, "classes": 2},
        "target_vectors": {"dimensions": 2, "classes": 2},
    }
    small["topic_model"] = {"common": 1.0}
    small |= {f"{side}_stop_words": {"max_words": 3} for side in ("source", "target")}
    bundle = bundles.build(
        lambda: ParallelCorpus.from_lines(zip(lines, lines, strict=True)), folder, [part], settings=small
    )
    entry = next(entry for entry in catalogue() if entry["name"] == part)
    assert set(entry["settings"]) <= set(bundle.manifest["parts"][part]["settings"])


def test_values_have_the_type_of_the_setting() -> None:
    given = {
        "target_lm": {"order": "4", "case": True, "prune": "True"},
        "aligner": {"prune": "1e-3", "alpha": 1},
    }
    assert checked(given, {}) == {
        "target_lm": {"order": 4, "case": "true", "prune": True},
        "aligner": {"prune": 0.001, "alpha": 1.0},
    }


@pytest.mark.slow
def test_settings_of_parts_that_another_needs(tmp_path: Path) -> None:
    write(tmp_path)
    needed = built(tmp_path, ["source_best_quartile"], {"lexicon_source_to_target": {"iterations": 1}})
    assert needed.manifest["parts"]["lexicon_source_to_target"]["settings"]["iterations"] == 1


@pytest.mark.slow
def test_experiments_name_settings_and_do_not_disturb_those_without(tmp_path: Path) -> None:
    write(tmp_path)
    listed = []
    for settings in ("{}", "{source_lm: {order: 2, case: true}}", "{source_lm: {order: 3}}"):
        path = write_experiment(tmp_path, f"{{source: s, target: t, settings: {settings}}}")
        bundle = task_bundle(tmp_path, load(path).resources, "source_lm")
        listed.append((bundle.path, bundle.manifest["parts"]["source_lm"]["settings"]))
    assert listed[0] == listed[2] and listed[0][0] != listed[1][0]
    assert (listed[1][1]["order"], listed[1][1]["case"]) == (2, "true")


@pytest.mark.slow
def test_settings_reach_resources_made_of_the_task(tmp_path: Path) -> None:
    columns = {"source": SOURCE, "target": TARGET}
    segments = Segments.from_columns(columns, Tokenizer("en"), Tokenizer("es"))
    none = tmp_path / "none"
    section = ResourcesSection(source=none, target=none, optional=True, settings={"source_lm": {"order": 2}})
    bundle = resources_for(section, segments, ["source_lm"], tmp_path / "cache", silent)
    assert bundle is not None and cast(LanguageModel, bundle.part("source_lm")).order == 2


@pytest.mark.slow
def test_the_verb(tmp_path: Path) -> None:
    write(tmp_path)
    order = ["--only", "target_lm", "--set", "target_lm.order=4", "--set"]
    done = ran(*build_command(tmp_path, *order, "target_lm.prune=true"))
    part = json.loads(done.out)["parts"]["target_lm"]
    assert part["settings"]["order"] == 4 and part["settings"]["prune"] is True
    done = qe(*build_command(tmp_path, *order, "target_lm.pruned=true"))
    assert done.code == 2 and "did you mean 'prune'" in done.err and "Traceback" not in done.err


def test_the_verb_that_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    done = ran("resources", "list", "--json")
    parts = {part["name"]: part for part in json.loads(done.out)["parts"]}
    assert parts["phrase_table"]["needs"] == ["aligner"]
    assert parts["target_lm"]["settings"]["order"] == {"takes": "a whole number from 1", "default": 5}
    plain = qe("resources", "list").out
    assert all(name in plain for name in parts) and "prune=false" in plain


def test_an_old_name_of_a_setting_works_with_a_notice() -> None:
    with pytest.warns(FutureWarning, match="`source_stop_words.most` is `max_words` now"):
        assert checked({"source_stop_words": {"most": 7}}, {}) == {"source_stop_words": {"max_words": 7}}
    with pytest.warns(FutureWarning, match="`known` is `seen_count` now"):
        configured({"kind": "ngram_frequency", "known": 2})
