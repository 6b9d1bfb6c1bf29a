"""States of words: what an encoder says of the subwords that each word is made of, averaged."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from features.encoding.encoded import EncodedText, Floats, TextEncoder, units
from features.encoding.folder import EncoderFolder, EncoderSettings
from features.text.spelling import overlaps
from features.text.tokens import Tokens

_CHUNK: Final = 1024  # texts whose subwords are held at a time
_LIMIT: Final = 200_000_000  # numbers remembered, 400 MB

_Key = tuple[str, tuple[str, ...]]  # a text, and its words


@dataclass(eq=False)
class WordStates:
    """An encoder, and the states of the words of texts it has read; emptied when full. States are kept in
    float16, which changes cosines by less than .001.
    """

    encoder: TextEncoder
    prompt: str
    _cached: dict[_Key, NDArray[np.float16]] = field(default_factory=dict, repr=False)
    _numbers: int = 0

    def word_states(self, texts: tuple[str, ...], tokens: Tokens) -> Floats:
        """(n_tokens, d) states of length 1 of the words of texts; NaN of a word without subword. d is 0 if
        the encoder gives no vectors of tokens, or knows none of the words.
        """
        keys = [(text, tuple(tokens.words(i))) for i, text in enumerate(texts)]
        states = [state for i in range(0, len(keys), _CHUNK) for state in self._chunk(keys[i : i + _CHUNK])]
        width = max((state.shape[1] for state in states), default=0)
        filled = [state if state.shape[1] else _undefined(len(state), width) for state in states]
        return np.concatenate([np.empty((0, width), np.float16), *filled]).astype(np.float32)

    def _chunk(self, keys: list[_Key]) -> list[NDArray[np.float16]]:
        new = [key for key in dict.fromkeys(keys) if key not in self._cached]
        encoded = self.encoder.encode([text for text, _ in new], self.prompt) if new else []
        states = {key: _state(*key, each) for key, each in zip(new, encoded, strict=True)}
        result = [states[key] if key in states else self._cached[key] for key in keys]
        size = sum(state.size for state in states.values())
        if self._numbers + size > _LIMIT:
            self._cached, self._numbers = {}, 0
        self._cached |= states
        self._numbers += size
        return result


def _undefined(rows: int, width: int) -> NDArray[np.float16]:
    return np.full((rows, width), np.nan, np.float16)


def _state(text: str, words: tuple[str, ...], encoded: EncodedText) -> NDArray[np.float16]:
    tokens = encoded.tokens
    pieces = ["".join(text[begin:end].split()) for begin, end in encoded.spans.tolist()]
    piece, word = overlaps(pieces, list(words)).T
    sums = np.zeros((len(words), tokens.shape[1]), np.float32)
    np.add.at(sums, word, tokens[piece])
    sums[np.bincount(word, minlength=len(words)) == 0] = np.nan
    return units(sums).astype(np.float16)


# By the folder, the prompt and the threads: families of words in one experiment share what was read.
_SHARED: WeakValueDictionary[tuple[Path, str, int], WordStates] = WeakValueDictionary()


def word_states(folder: Path, prompt: str | None, threads: int) -> WordStates:
    """The states by the encoder in a folder; shared by all that ask for the same. Raises InputError if files
    are absent or damaged, or a package is not installed.
    """
    place = EncoderFolder(folder)
    key = folder.resolve(), place.prompt if prompt is None else prompt, threads
    states = _SHARED.get(key)
    if states is None:
        states = _SHARED[key] = WordStates(place.load(EncoderSettings(threads=threads)), key[1])
    return states
