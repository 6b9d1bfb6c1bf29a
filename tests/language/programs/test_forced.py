"""Forced decoding by CTranslate2: a tiny model's own translations have the scores that it gave them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from features.decoder import Decoder
from qe.language.user_models import ForcedDecoder
from tests.factories import qe, refuses, segments

ctranslate2 = pytest.importorskip("ctranslate2")
WORDS = ["<unk>", "<s>", "</s>", "a", "b", "c", "d"]
WIDTH, INNER = 8, 16
SOURCES = ["a c", "b d a", "c", "d d d d a b c", "b"]


def tiny(folder: Path) -> Path:
    """A transformer of one layer and random weights over a few words."""
    random = np.random.default_rng(5)
    spec = ctranslate2.specs.TransformerSpec.from_config(num_layers=1, num_heads=2)

    def linear(layer: Any, rows: int, columns: int) -> None:
        layer.weight = random.normal(0, 0.6, (rows, columns)).astype(np.float32)
        layer.bias = random.normal(0, 0.3, rows).astype(np.float32)

    def norm(layer: Any) -> None:
        layer.gamma, layer.beta = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)

    def attention(layer: Any, *rows: int) -> None:
        norm(layer.layer_norm)
        for part, count in zip(layer.linear, rows, strict=True):
            linear(part, count * WIDTH, WIDTH)

    def feed_forward(layer: Any) -> None:
        norm(layer.layer_norm)
        linear(layer.linear_0, INNER, WIDTH)
        linear(layer.linear_1, WIDTH, INNER)

    for embeddings in (spec.encoder.embeddings[0], spec.decoder.embeddings):
        embeddings.weight = random.normal(0, 1, (len(WORDS), WIDTH)).astype(np.float32)
    for side in (spec.encoder, spec.decoder):
        norm(side.layer_norm)
        attention(side.layer[0].self_attention, 3, 1)
        feed_forward(side.layer[0].ffn)
    attention(spec.decoder.layer[0].attention, 1, 2, 1)
    linear(spec.decoder.projection, len(WORDS), WIDTH)
    spec.register_source_vocabulary(WORDS)
    spec.register_target_vocabulary(WORDS)
    spec.config.add_source_eos = True
    spec.validate()
    spec.optimize()
    folder.mkdir()
    spec.save(str(folder))
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny(tmp_path_factory.mktemp("ct2") / "model")


def test_the_models_own_translations_have_its_scores(model: Path) -> None:
    """`translate_batch` gives these sums over tokens and end, without penalty of length and least length."""
    translator = ctranslate2.Translator(str(model), device="cpu")
    found = translator.translate_batch(
        [text.split() for text in SOURCES], return_scores=True, length_penalty=0, beam_size=2,
        max_decoding_length=12, return_end_token=True, min_decoding_length=0,
    )  # fmt: skip
    own = [(tokens, each.scores[0]) for each in found for tokens in each.hypotheses[:1]]
    ended = [i for i, (tokens, _) in enumerate(own) if tokens[-1] == "</s>"]
    assert ended
    targets = [" ".join(own[i][0][:-1]) for i in ended]
    decoded = list(ForcedDecoder(model).decode([SOURCES[i] for i in ended], targets))
    for i, target, (subwords, values) in zip(ended, targets, decoded, strict=True):
        assert subwords == target
        assert sum(map(float, values.split())) == pytest.approx(
            own[i][1],
            abs=6e-4,  # four decimals
        )


def test_probabilities_of_all_words_sum_to_one(model: Path) -> None:
    """The first token is each word or the end, which is all that an empty translation of one prefix has."""
    decoder = ForcedDecoder(model)
    first = [
        float(values.split()[0])
        for _, values in decoder.decode(["a c"] * 6, ["a", "b", "c", "d", "<unk>", "<s>"])
    ]
    after = ForcedDecoder(model, prefixes={"target": ["a"]})
    (longer,), (prefixed,) = list(decoder.decode(["a c"], ["a b"])), list(after.decode(["a c"], ["b"]))
    assert prefixed == ("b", longer[1].split(" ", 1)[1])
    assert 0 < np.exp(first).sum() < 1  # the rest is the end's
    (other,) = decoder.decode(["d d"], ["a b"])
    assert other[0] == "a b" and other[1] != longer[1]


def test_a_table_gets_columns_that_the_family_reads(model: Path, tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"source": SOURCES, "target": ["a b", "", "zzz", "c c c", "b"], "note": list("vwxyz")}
    )
    table.to_csv(tmp_path / "in.tsv", sep="\t", index=False)
    output = tmp_path / "out.tsv"
    done = qe("data", "force", "-m", model, "-i", tmp_path / "in.tsv", "-o", output)
    assert done.code == 0 and "5 rows" in done.out
    made = pd.read_csv(output, sep="\t", keep_default_na=False, dtype=str)
    assert list(made) == ["source", "target", "note", "subwords", "token_log_probabilities"]
    assert made[["source", "target", "note"]].equals(table)
    assert made["subwords"].tolist() == table["target"].tolist()
    columns = {name: tuple(made[name]) for name in made if name != "note"}
    values = Decoder().extract(segments(**columns))
    assert made["token_log_probabilities"][1] == ""
    mean = Decoder().feature_names.index("decoder_mean")
    assert np.isfinite(values[:, mean]).tolist() == [True, False, True, True, True]


def test_pieces_of_sentencepiece(model: Path, tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    (tmp_path / "text").write_text("a b c d\nab cd\nabcd d c\n" * 20, "utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "text"), model_prefix=str(tmp_path / "p"), vocab_size=9, model_type="char",
        minloglevel=2,
    )  # fmt: skip
    pieces = {"source": tmp_path / "p.model", "target": tmp_path / "p.model"}
    ((subwords, values),) = ForcedDecoder(model, pieces).decode(["ab"], ["ab c"])
    assert subwords.split() == ["▁", "a", "b", "▁", "c"] and len(values.split()) == 6


def test_what_is_no_model_is_one_message(model: Path, tmp_path: Path) -> None:
    refuses("no model of CTranslate2", lambda: list(ForcedDecoder(tmp_path).decode(["a"], ["a"])))
    (tmp_path / "x").write_bytes(b"x")
    broken = ForcedDecoder(model, {"source": tmp_path / "x"})
    refuses("no model of SentencePiece", lambda: list(broken.decode(["a"], ["a"])))
