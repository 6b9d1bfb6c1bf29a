"""Static encoders: a text is the mean of token vectors of a table.

Files of model2vec and StaticEmbedding.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from features.encoding.encoded import NO_SPANS, EncodedText, Floats, Spans, units, within_text
from features.encoding.tokenizing import REMEDY, load_tokenizer, package
from features.storage.arrays import within
from features.storage.damage import Damaged, damage_reported

TABLES: Final = ("embeddings", "embedding.weight")  # of model2vec, and of sentence-transformers


@dataclass(frozen=True, eq=False)
class StaticEncoder:
    """The mean of the vectors of a text's tokens; tokens that the vocabulary lacks are left out.

    vectors  (v, d) one for each token of the vocabulary, its weight multiplied in
    """

    vectors: Floats
    tokenizer: Any
    unknown: int | None

    @classmethod
    def load(cls, weights: Path, tokenizer: Path) -> "StaticEncoder":
        loaded = load_tokenizer(tokenizer)
        loaded.no_truncation()
        safetensors = package("safetensors.numpy")
        with damage_reported("the encoder", weights, REMEDY):
            vectors = _table(safetensors.load_file(weights))
            if len(vectors) < loaded.get_vocab_size():
                raise Damaged(f"{len(vectors)} vectors for {loaded.get_vocab_size()} tokens")
        return cls(vectors, loaded, _unknown(loaded))

    def encode(self, texts: Sequence[str], prompt: str = "") -> list[EncodedText]:
        given = [prompt + text for text in texts]
        encodings = self.tokenizer.encode_batch(given, add_special_tokens=False)
        return [self._encoded(np.array(e.ids, np.int64), within_text(e.offsets, prompt)) for e in encodings]

    def _encoded(self, ids: NDArray[np.int64], spans: Spans) -> EncodedText:
        known = ids != self.unknown
        vectors, spans = self.vectors[ids[known]], spans[known]
        shown = vectors.any(axis=1) & (spans[:, 1] > 0)
        if not (spans[:, 1] > 0).any():
            return EncodedText(None, vectors[:0], NO_SPANS)
        return EncodedText(vectors.mean(axis=0), units(vectors[shown]), spans[shown])


def _table(tensors: dict[str, NDArray[Any]]) -> Floats:
    table = next((tensors[name] for name in TABLES if name in tensors), None)
    if table is None or table.ndim != 2 or not table.size:
        raise Damaged(f"no table named {' or '.join(TABLES)} among {', '.join(tensors) or 'no tensors'}")
    vectors = np.asarray(table, np.float32)
    if "mapping" in tensors:
        rows = tensors["mapping"].astype(np.int64).ravel()
        within("mapping", rows, 0, len(vectors))
        vectors = vectors[rows]
    if "weights" in tensors:
        weights = tensors["weights"].astype(np.float32).ravel()
        if len(weights) != len(vectors):
            raise Damaged(f"{len(weights)} weights for {len(vectors)} tokens")
        vectors = vectors * weights[:, np.newaxis]
    if not np.isfinite(vectors).all():
        raise Damaged("the table holds numbers that are not finite")
    return vectors


def _unknown(tokenizer: Any) -> int | None:
    token = getattr(tokenizer.model, "unk_token", None)
    return None if token is None else tokenizer.token_to_id(token)
