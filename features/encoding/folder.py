"""Folders of encoders: paths, files and checksums, and the states of words."""

import json
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Final, Literal
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError, did_you_mean
from features.encoding.cached import CachedEncoder, TextStore
from features.encoding.encoded import EncodedText, Floats, TextEncoder, units
from features.encoding.onnx import OnnxEncoder, Pooling, StaticEncoder, external_files, layer_outputs
from features.encoding.tokenizing import REMEDY, GuardedEncoder, growing_normalizer, guarded
from features.storage.cache_folder import default_cache
from features.storage.checksums import checksum
from features.storage.damage import Damaged, damage_reported, read_json
from features.storage.files import digest
from features.text.spelling import overlaps
from features.text.tokens import Tokens

EIGHT_BITS: Final = "-int8"  # after the name of an encoder: the same in eight bits
HOME: Final = "QE_ENCODERS"  # the environment's variable that names the folder of encoders


def encoders_home() -> Path:
    """The folder that QE_ENCODERS names, else `encoders` in the user's cache."""
    given = os.environ.get(HOME)
    return Path(given).expanduser() if given else default_cache() / "encoders"


def encoder_names() -> list[str]:
    home = encoders_home()
    if not home.is_dir():
        return []
    return sorted(path.name for path in home.iterdir() if path.is_dir() and not path.name.startswith("."))


def encoder_path(model: str | Path) -> Path:
    """The folder of an encoder: a path with `/`, or a name in `encoders_home`; else raises InputError."""
    if is_path(model):
        return Path(model).expanduser()
    names = encoder_names()
    if str(model) not in names:
        raise InputError(
            f"no encoder is named '{model}'",
            location=encoders_home(),
            remedy=f"known: {', '.join(names) or 'none'}{did_you_mean(str(model), names)}; "
            f"`qe encoders make` or `fetch` brings one, a path has a / (./{model})",
        )
    return encoders_home() / model


def fastest_path(model: str | Path) -> Path:
    """The folder of an encoder: for a name, that of the same encoder in eight bits (`qe encoders quantize`),
    if it is there. Raises InputError as `encoder_path`.
    """
    path = encoder_path(model)
    quantized = path.with_name(path.name + EIGHT_BITS)
    return quantized if not is_path(model) and quantized.is_dir() else path


def is_path(model: str | Path) -> bool:
    """Whether a model is given as a path, with a `/`.

    >>> is_path("labse"), is_path("./labse"), is_path(Path("labse"))
    (False, True, True)
    """
    return isinstance(model, Path) or "/" in model


TOKENIZER: Final = "tokenizer.json"
# Places that exporters write it to, the likeliest first.
WEIGHTS: Final = ("model.onnx", "onnx/model.onnx", "model.safetensors", "0_StaticEmbedding/model.safetensors")
POOLING: Final = "1_Pooling/config.json"  # of sentence-transformers
PROMPTS: Final = "config_sentence_transformers.json"  # likewise
PLACES: Final = (TOKENIZER, "0_StaticEmbedding/tokenizer.json")


@dataclass(frozen=True)
class EncoderSettings:
    """Settings of an encoder.

    pooling  `auto`: the folder's setting, else the encoder's own output for texts, else the mean
    longest  tokens that it reads at once; None: the tokenizer's setting, else 512
    layers   inner layers, counted from 1, whose vectors of texts are given, too
    """

    pooling: Literal["auto", "mean", "cls"] = "auto"
    longest: int | None = None
    threads: int = 1
    batch: int = 32
    layers: tuple[int, ...] = ()


# By files, settings and threads: families of one experiment, and copies in one model, share what is loaded.
_LOADED: WeakValueDictionary[tuple[str, int, int], GuardedEncoder] = WeakValueDictionary()


@dataclass(frozen=True)
class EncoderFolder:
    """A folder with `tokenizer.json`, and `model.onnx` or `model.safetensors`."""

    path: Path

    @property
    def weights(self) -> str:
        return self._first(WEIGHTS, "model.onnx or model.safetensors")

    @property
    def tokenizer(self) -> str:
        return self._first(PLACES, TOKENIZER)

    def _first(self, places: tuple[str, ...], required: str) -> str:
        if not self.path.is_dir():
            raise InputError("no such folder with an encoder", location=self.path, remedy="check the path")
        for place in places:
            if (self.path / place).is_file():
                return place
        raise InputError(
            f"the folder of an encoder holds {required}, but this one does not",
            location=self.path,
            remedy="export the encoder as docs/encoders.md says",
        )

    def files(self) -> tuple[str, ...]:
        """Relative paths of the files read; raises InputError if weights are outside the folder."""
        weights = PurePosixPath(self.weights)
        is_onnx = weights.suffix == ".onnx"
        names = external_files(self.path / weights) if is_onnx else ()
        optional = [name for name in (POOLING, PROMPTS) if (self.path / name).is_file()]
        beside = [str(weights.parent / name) for name in names]
        return (self.weights, self.tokenizer, *beside, *optional)

    def checksums(self) -> dict[str, str]:
        return {name: checksum(self.path / name) for name in self.files()}

    def named_checksums(self) -> dict[str, str]:
        """Checksums of the files, with the name of the folder: which encoder was read."""
        return {f"{self.path.name}/{name}": value for name, value in self.checksums().items()}

    def copy(self, target: Path) -> None:
        for name in self.files():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.path / name, target / name)

    @property
    def prompt(self) -> str:
        """The folder's default prompt before a text, else `query`; raises InputError for a missing one."""
        path = self.path / PROMPTS
        if not path.is_file():
            return ""
        with damage_reported("the prompts", path, REMEDY):
            content = read_json("the prompts", path, REMEDY)
            prompts = content.get("prompts") or {}
            default = content.get("default_prompt_name")
            prompt = prompts.get(default or "query", None if default else "")
            if not isinstance(prompt, str):
                raise Damaged(f"it has no prompt '{default or 'query'}' that is text")
            return prompt

    def load(self, settings: EncoderSettings) -> GuardedEncoder:
        """Loads the encoder; raises InputError for absent, damaged or outside files, and missing packages."""
        weights, tokenizer = self.path / self.weights, self.path / self.tokenizer
        self.files()
        with guarded(self.path):
            encoder = self._loaded(weights, tokenizer, settings)
            with damage_reported("the tokenizer", tokenizer, REMEDY):
                normalize = growing_normalizer(encoder.tokenizer)
            return GuardedEncoder(encoder, normalize, self.path)

    def load_cached(self, settings: EncoderSettings) -> CachedEncoder:
        """The encoder, with its results kept in the user's cache. It reads all inner layers, which costs
        nothing: whoever reads others of them finds the same results. Raises InputError as `load`.
        """
        layers = settings.layers  # of an encoder that gives vectors of texts itself, or has unknown layers
        if self.weights.endswith(".onnx") and self._pooling(settings) is not None:
            with suppress(InputError):
                known = tuple(range(1, len(layer_outputs(self.path / self.weights))))
                layers = known if set(settings.layers) <= set(known) else settings.layers
        content = digest(sorted(self.checksums().items()), (settings.pooling, settings.longest, layers))
        key = content, settings.threads, settings.batch
        encoder = _LOADED.get(key)
        if encoder is None:
            encoder = _LOADED[key] = self.load(replace(settings, layers=layers))
        return CachedEncoder(encoder, TextStore.of_user(content), tuple(map(layers.index, settings.layers)))

    def _loaded(
        self, weights: Path, tokenizer: Path, settings: EncoderSettings
    ) -> StaticEncoder | OnnxEncoder:
        if weights.suffix == ".safetensors":
            if settings.layers:
                raise InputError(
                    "static vectors have no inner layers",
                    location=weights,
                    remedy="leave `layers` out, or name an encoder in ONNX",
                )
            return StaticEncoder.load(weights, tokenizer)
        return OnnxEncoder.load(
            weights,
            tokenizer,
            pooling=self._pooling(settings),
            longest=settings.longest,
            threads=settings.threads,
            batch=settings.batch,
            layers=settings.layers,
        )

    def _pooling(self, settings: EncoderSettings) -> Pooling | None:
        if settings.pooling != "auto":
            return settings.pooling
        if not (self.path / POOLING).is_file():
            return None
        content = read_json("how the encoder pools", self.path / POOLING, REMEDY)
        location = self.path / POOLING
        modes = {name for name, on in content.items() if name.startswith("pooling_mode_") and on is True}
        if modes == {"pooling_mode_cls_token"}:
            return "cls"
        if modes == {"pooling_mode_mean_tokens"}:
            return "mean"
        raise InputError(
            f"the encoder pools its tokens by {json.dumps(sorted(modes))}, which is not known",
            location=location,
            remedy="name `pooling: mean` or `pooling: cls`",
        )


_CHUNK: Final = 1024  # texts whose subwords are held at a time
_LIMIT: Final = 200_000_000  # numbers remembered, 400 MB

_Key = tuple[str, tuple[str, ...]]  # a text, and its words


@dataclass(eq=False)
class WordStates:
    """An encoder, and cached states of words in float16, which changes cosines by less than .001."""

    encoder: TextEncoder
    prompt: str
    _cached: dict[_Key, NDArray[np.float16]] = field(default_factory=dict, repr=False)
    _numbers: int = 0

    def word_states(self, texts: tuple[str, ...], tokens: Tokens) -> Floats:
        """States (n_tokens, d) of length 1 of the words of texts; NaN without a subword."""
        keys = [(text, tuple(tokens.words(i))) for i, text in enumerate(texts)]
        states = [state for i in range(0, len(keys), _CHUNK) for state in self._chunk(keys[i : i + _CHUNK])]
        width = max((state.shape[1] for state in states), default=0)
        undefined = np.float16(np.nan)
        filled = [state if state.shape[1] else np.full((len(state), width), undefined) for state in states]
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
    place = EncoderFolder(folder)
    key = folder.resolve(), place.prompt if prompt is None else prompt, threads
    states = _SHARED.get(key)
    if states is None:
        states = _SHARED[key] = WordStates(place.load_cached(EncoderSettings(threads=threads)), key[1])
    return states
