"""What every kind of knowledge must keep, and how families take it by their settings."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features import ParallelCorpus, Segments
from features.basics.errors import InputError
from features.core.bundle import Bundle, build
from features.core.feature_set import (
    from_variant,
    make_extractor,
    parts_needed,
    setting_errors,
    variant,
)
from features.word_level.knowledge import KNOWLEDGE, Knowledge
from features.word_level.places import judges
from tests.factories import EN_ES, refuses
from tests.features.encoding.made import Tiny, onnx_folder

WORDS = ("house", "casa"), ("dog", "perro"), ("red", "rojo"), ("big", "grande"), ("sees", "ve"), ("a", "un")


def texts(count: int, seed: int) -> list[tuple[str, str]]:
    """Sentences that are translated word by word."""
    rng = np.random.default_rng(seed)
    drawn = [rng.integers(len(WORDS), size=rng.integers(3, 8)) for _ in range(count)]
    return [(" ".join(WORDS[i][0] for i in row), " ".join(WORDS[i][1] for i in row)) for row in drawn]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    parts = parts_needed([{"kind": "word_quality", "knowledge": ["predictor"]}])
    corpus = ParallelCorpus.from_lines(texts(60, seed=0), *EN_ES)
    return build(lambda: corpus, tmp_path_factory.mktemp("knowledge") / "bundle", parts)


@pytest.fixture(scope="module")
def segments() -> Segments:
    source, target = map(list, zip(*texts(30, seed=1), strict=True))
    target[::3] = [f"{line} un" for line in target[::3]]
    logs = [" ".join(f"-{1 + len(word) % 3}.5" for word in line.split()) + " -0.5" for line in target]
    columns = {"source": source, "target": target, "subwords": target, "token_log_probabilities": logs}
    return Segments.from_columns(columns, *EN_ES)


@pytest.fixture(scope="module")
def labels(segments: Segments) -> dict[str, Any]:
    post_edits = [line.removesuffix(" un") for line in segments.target]
    return {"post_edit": post_edits, "scores": np.arange(len(segments), dtype=float)}


def errors(*knowledge: Any, kind: str = "word_quality") -> list[str]:
    return [str(error) for error in setting_errors({"kind": kind, "knowledge": list(knowledge)})]


@pytest.mark.parametrize("name", KNOWLEDGE.names)
def test_every_kind_says_what_it_is_and_is_taken_by_word_quality(name: str) -> None:
    assert KNOWLEDGE.documentation(name)
    assert issubclass(KNOWLEDGE.get(name), Knowledge) and not errors(name)
    assert len(parts_needed([from_variant(f"word_quality:knowledge={name}")])) >= 12


@pytest.mark.parametrize(
    ("knowledge", "message"),
    [
        (["pretraind"], "unknown knowledge 'pretraind'; known: decoder, .*did you mean 'pretrained'"),
        (["predictor", "predictor"], "'knowledge' has 'predictor' twice"),
        ([{"kind": "decoder", "marker": "bep"}], "knowledge 'decoder': 'marker' must be 'bpe' or "),
        ([{"kind": "decoder", "marked": "bpe"}], "knowledge 'decoder' has no parameter 'marked'; known"),
        ([{"marker": "bpe"}], "'knowledge.0' must be a name, but got {'marker': 'bpe'}"),
        ([3], "'knowledge.0' must be a name, but got 3"),
        (["synthetic", "predictor"], "`synthetic` judges words without labels.*but got synthetic, predictor"),
    ],
)
def test_what_is_wrong_with_a_list_of_knowledge(knowledge: list[Any], message: str) -> None:
    refuses(message, parts_needed, [{"kind": "word_quality", "knowledge": knowledge}])


@pytest.mark.parametrize("family", ["word_network", "source_word_quality"])
def test_families_that_learn_from_labels_refuse_what_judges_without(family: str) -> None:
    (error,) = errors("synthetic", kind=family)
    assert f"'{family}' learns from labels" in error and "known here: decoder, encoder, predictor" in error


@pytest.mark.slow
def test_columns_are_named_after_the_knowledge_in_its_order(bundle: Bundle) -> None:
    for knowledge in (["predictor", "vectors"], ["vectors", "predictor"]):
        made = make_extractor({"kind": "word_quality", "knowledge": knowledge}, bundle)
        assert made.names[0] == f"word_quality_{'_'.join(knowledge)}_word_mean"


@pytest.mark.slow
def test_the_order_changes_no_value(bundle: Bundle, segments: Segments, labels: dict[str, Any]) -> None:
    values = []
    for knowledge in (["predictor", "vectors"], ["vectors", "predictor"]):
        config = {"kind": "word_quality", "knowledge": knowledge, "rounds": 3, "networks": 1}
        made: Any = make_extractor(config, bundle)
        values.append(made.fit(segments, labels).extract(segments))
    np.testing.assert_array_equal(*values)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["word_quality", "word_network", "source_word_quality"])
def test_what_an_encoder_says_is_saved_and_comes_back(
    kind: str, bundle: Bundle, segments: Segments, labels: dict[str, Any], tmp_path: Path
) -> None:
    """The model holds the encoder: its folder is gone."""
    for package in ("onnx", "onnxruntime", "tokenizers"):
        pytest.importorskip(package)
    folder = onnx_folder(tmp_path / "tiny", Tiny.of_seed())
    knowledge = [{"kind": "encoder", "model": str(folder), "components": 2}]
    made: Any = make_extractor({"kind": kind, "knowledge": knowledge}, bundle)
    fitted = made.fit(segments, labels)
    (tmp_path / "saved").mkdir()
    fitted.save(tmp_path / "saved")
    expected = fitted.extract(segments)
    shutil.rmtree(folder)
    np.testing.assert_array_equal(made.restore(tmp_path / "saved").extract(segments), expected)
    plain: Any = make_extractor({"kind": kind}, bundle)
    assert not np.array_equal(plain.fit(segments, labels).extract(segments), expected)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["word_quality", "word_network", "source_word_quality"])
def test_what_the_decoder_taught_is_saved_and_comes_back(
    kind: str, bundle: Bundle, segments: Segments, labels: dict[str, Any], tmp_path: Path
) -> None:
    made: Any = make_extractor({"kind": kind, "knowledge": ["predictor", "decoder"]}, bundle)
    assert made.requires() == ("subwords", "token_log_probabilities")
    fitted = made.fit(segments, labels)
    fitted.save(tmp_path)
    np.testing.assert_array_equal(made.restore(tmp_path).extract(segments), fitted.extract(segments))


@pytest.mark.slow
def test_a_network_uses_the_decoder_where_it_is_there_asked_for_or_not(
    bundle: Bundle, segments: Segments, labels: dict[str, Any], tmp_path: Path
) -> None:
    values = []
    for knowledge in ([], ["decoder"]):
        config = {"kind": "word_network", "knowledge": knowledge, "networks": 1, "epochs": 1}
        made: Any = make_extractor(config, bundle)
        fitted = made.fit(segments, labels)
        assert fitted.requires() == ("subwords", "token_log_probabilities")
        values.append(fitted.extract(segments))
    np.testing.assert_array_equal(*values)


def test_of_several_families_the_one_that_knows_more_judges_words(bundle: Bundle) -> None:
    names = ("word_quality", "word_quality:knowledge=predictor+decoder", "word_quality:knowledge=predictor")
    assert judges([make_extractor(from_variant(name), bundle) for name in names]) == {"word": 1, "gap": 1}


def test_the_parts_of_knowledge_can_be_other_parts(bundle: Bundle) -> None:
    entry = {"kind": "predictor", "predictor": "own_predictor"}
    config = {"kind": "word_quality", "knowledge": [entry]}
    assert "own_predictor" in parts_needed([config]) and "predictor" not in parts_needed([config])
    wrong = {"kind": "word_quality", "knowledge": [{"kind": "predictor", "predictor": "aligner"}]}
    refuses("knowledge 'predictor': 'predictor' must be a part of kind predictor", parts_needed, [wrong])


def test_names_with_settings_say_what_they_are() -> None:
    name = "word_quality:knowledge=pretrained+predictor"
    config = from_variant(name)
    assert config == {"kind": "word_quality", "knowledge": ["pretrained", "predictor"]}
    assert variant({**config, "rounds": 3, "only": ["a"]}) == name
    assert variant({"kind": "word_quality", "knowledge": [{"kind": "decoder"}]}).endswith("=decoder")
    for wrong in ("word_quality:knowledge=x", "word_quality:know=predictor", "word_qualit"):
        with pytest.raises(InputError):
            from_variant(wrong)
