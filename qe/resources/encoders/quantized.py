"""A smaller and faster encoder: its matrices in eight bits."""

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from features.basics.errors import InputError
from features.encoding.folder import EncoderFolder, EncoderSettings
from features.storage.files import atomic_directory, digest
from features.storage.outputs import check_no_overlap
from qe.resources.encoders._eight_bits import write_eight_bits
from qe.resources.encoders.checked import ENGLISH, GERMAN, pairs_a_second, vectors
from qe.resources.encoders.origin import Origin, check_unchanged, is_up_to_date, origin_of

_WEIGHTS = "model.onnx"
_REPEATS = 8


@dataclass(frozen=True)
class Quantized:
    """An encoder with quantized weights: lowest cosine with its original, pairs a second, bytes."""

    folder: Path
    cosine: float
    speed: tuple[float, float]
    size: tuple[int, int]
    new: bool = True

    def to_json(self) -> dict[str, Any]:
        return {
            key: value for key, value in {**asdict(self), "folder": str(self.folder)}.items() if key != "new"
        }

    def lines(self) -> list[str]:
        (before, after), (large, small) = self.speed, self.size
        return [
            f"{self.folder}: {small / 1e6:.0f} MB, the original {large / 1e6:.0f} MB",
            f"{after:.0f} pairs of short sentences a second of processor time, the original {before:.0f}",
            f"lowest cosine of six sentences with the original's vectors: {self.cosine:.4f}",
        ]


def quantize_encoder(folder: Path, output: Path, overwrite: bool = False) -> Quantized:
    """Writes an encoder with matrices in eight bits into the folder `output`."""
    place = EncoderFolder(folder)
    names, origin = place.files(), origin_of(folder)
    if not place.weights.endswith(".onnx"):
        raise InputError("static vectors have no matrices to quantize", location=folder)
    check_no_overlap(output, [folder])
    if origin is not None:
        check_unchanged(origin, folder)
    origin = origin or Origin(folder.name, "brought by you", "", "not said", place.checksums())
    command = f"quantize {folder.name} ({digest(json.dumps(origin.files, sort_keys=True))[:12]})"
    if is_up_to_date(output, command, overwrite):
        return Quantized(output, *_compared(place, EncoderFolder(output)), new=False)
    with atomic_directory(output) as temporary:
        notices = [name for name in ("NOTICE", "LICENSE") if (folder / name).is_file()]
        texts = [name for name in names if name == place.tokenizer or name.endswith(".json")]
        for name in (*texts, *notices):
            (temporary / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / name, temporary / name)
        write_eight_bits(folder / place.weights, temporary / _WEIGHTS)
        files = EncoderFolder(temporary).checksums()
        source = f"{origin.source}, matrices in eight bits"
        Origin(output.name, source, origin.revision, origin.licence, files, command).write(temporary)
        result = _compared(place, EncoderFolder(temporary))
    return Quantized(output, *result)


def _compared(
    original: EncoderFolder, quantized: EncoderFolder
) -> tuple[float, tuple[float, float], tuple[int, int]]:
    texts, prompt = [*ENGLISH, *GERMAN], original.prompt
    encoders = [place.load(EncoderSettings()) for place in (original, quantized)]
    first, second = (vectors(encoder, texts, prompt) for encoder in encoders)
    speeds = [pairs_a_second(encoder, texts * _REPEATS, prompt) for encoder in encoders]
    sizes = [_size(place) for place in (original, quantized)]
    cosine = float(np.einsum("nd,nd->n", first, second).min())
    return cosine, (speeds[0], speeds[1]), (sizes[0], sizes[1])


def _size(place: EncoderFolder) -> int:
    return sum((place.path / name).stat().st_size for name in place.files() if not name.endswith(".json"))
