"""Annotates texts as CoNLL-U blocks with Apertium's taggers, trained annotators or users' models."""

import re
import shutil
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final, Protocol

from features.basics.errors import InputError
from features.basics.numerals import natural
from features.basics.plugins import load_own
from features.basics.progress import Progress, reported, silent
from features.basics.threads import cores
from features.storage.cache import TEXTS, Cache
from features.storage.files import digest, sha256
from features.text.annotation import LAYERS, NOTHING, Layer, block_of
from features.text.languages import language_code
from features.text.tokenizer import batches
from features.text.tokens import Tokens
from qe.language.apertium import MODES, apertium_code, call, unseen
from qe.language.checkers import Hunspell, LinkGrammar

STOP = "."  # surrounds every text, to end the tagger's context
CHUNK = 2500  # texts per call of the analyser

# Special characters of Apertium's stream format are replaced by a letter that begins no analysis.
_SIGNS: Final = str.maketrans(dict.fromkeys("^$/<>{}[]\\@|*~+#", "_"))
_UNIT: Final = re.compile(r"\^(.*?)\$", re.DOTALL)
_TAG: Final = re.compile(r"<([^<>]+)>")

# The first tag of an Apertium analysis -> universal part of speech.
_UNIVERSAL: Final[Mapping[str, str]] = {
    "n": "NOUN", "np": "PROPN", "vblex": "VERB", "vbser": "AUX", "vbhaver": "AUX", "vbmod": "AUX",
    "vaux": "AUX", "vbdo": "AUX", "adj": "ADJ", "adv": "ADV", "preadv": "ADV", "det": "DET", "predet": "DET",
    "prn": "PRON", "rel": "PRON", "pr": "ADP", "post": "ADP", "cnjcoo": "CCONJ", "cnjsub": "SCONJ",
    "cnjadv": "SCONJ", "num": "NUM", "ij": "INTJ", "part": "PART", "cm": "PUNCT", "sent": "PUNCT",
    "guio": "PUNCT", "lpar": "PUNCT", "rpar": "PUNCT", "lquest": "PUNCT", "quot": "PUNCT", "apos": "PUNCT",
}  # fmt: skip

# Column of Segments -> the side that is annotated.
SIDES: Final[Mapping[str, str]] = {
    f"annotation_{side}": side for side in ("source", "target", "pseudo_reference")
}


class Tagger(Protocol):
    def annotate(self, texts: Sequence[Sequence[str]]) -> Iterator[str]:
        """Yields one CoNLL-U block per text, with a word per token."""

    @property
    def fingerprint(self) -> str:
        """Identifies program, version and language."""


@dataclass(frozen=True)
class ApertiumTagger:
    """Apertium's morphological analyser and tagger for one side of an installed language pair.

    Each token of a multi-token word (`New York`) gets the word's analysis; a contraction (`del`) gets that of
    its first part. `xpos` is the whole analysis (`n.f.sg`). Unknown words are `X`, `_`, and so are all words
    of a text whose letters the program changes.

    The tagger adapts to new ambiguities, so that a word's tag can depend on earlier texts. By default a text
    with new ambiguities has a separate process, so that every batch gives the same annotation; for corpora,
    `texts_per_process` is faster.
    """

    language: str
    other_language: str
    folder: Path = MODES
    workers: int = 0  # parallel processes; 0: one per core
    texts_per_process: int = 1  # texts per process of the tagger

    def annotate(self, texts: Sequence[Sequence[str]]) -> Iterator[str]:
        paths = self._paths
        with ThreadPoolExecutor(self.workers or cores()) as pool:
            for blocks in pool.map(
                lambda chunk: self._chunk(paths, chunk),
                batches(texts, self.texts_per_process if self.texts_per_process > 1 else CHUNK),
            ):
                yield from blocks

    def _chunk(self, paths: tuple[Path, Path], texts: Sequence[Sequence[str]]) -> list[str]:
        shown = [[STOP, *(_escaped(token) for token in text), STOP] for text in texts]
        joined = "".join(" ".join(tokens) + "\n\0" for tokens in shown)
        analysed, _ = call(["lt-proc", "-z", "-w", str(paths[0])], joined)
        analyses: dict[int, list[str]] = {}
        for rows, tagged in self._tagged(paths[1], analysed.split("\0")[: len(texts)]):
            lines = tagged.split("\n")[:-1]
            if len(lines) != len(rows):
                raise InputError(f"apertium-tagger gave {len(lines)} lines for {len(rows)} texts")
            for row, line in zip(rows, lines, strict=True):
                analyses[row] = _analyses(line, shown[row])[1:-1]
        return [
            block_of([(form, *_reading(one)) for form, one in zip(text, analyses[i], strict=True)])
            for i, text in enumerate(texts)
        ]

    def _tagged(self, path: Path, analysed: Sequence[str]) -> list[tuple[list[int], str]]:
        def run(batch: Sequence[str]) -> tuple[str, str]:
            return call(["apertium-tagger", "-g", "-d", "-p", str(path)], "".join(batch))

        if self.texts_per_process > 1:
            return [(list(range(len(analysed))), run(analysed)[0])]
        return unseen(analysed, run)

    @cached_property
    def _paths(self) -> tuple[Path, Path]:
        if not (shutil.which("lt-proc") and shutil.which("apertium-tagger")):
            problem = "the program apertium-tagger is not installed"
            raise InputError(problem, remedy="on Debian: apt-get install apertium apertium-eng-spa")
        mode = f"{apertium_code(self.language)}-{apertium_code(self.other_language)}"
        for folder in sorted(self.folder.glob("apertium-*")):
            files = folder / f"{mode}.automorf.bin", folder / f"{mode}.prob"
            if all(file.is_file() for file in files):
                return files
        remedy = f"on Debian: apt-get install apertium-{mode} or the pair the other way round"
        raise InputError(f"Apertium has no tagger for {mode} here", location=self.folder, remedy=remedy)

    @property
    def fingerprint(self) -> str:
        return digest("apertium-tagger", 3, self.texts_per_process, *(sha256(path) for path in self._paths))


TAGGERS: Final[Mapping[str, type[ApertiumTagger]]] = {"apertium": ApertiumTagger}
MODELS: Final = ("udpipe", "spacy", "stanza")  # users' models, such as `spacy:es_core_news_md`
ADDED: Final = ("hunspell", "link-grammar")  # added to another annotator: `annotators/en+hunspell`
_MANIFEST: Final = "annotators.json"  # file in a folder of trained annotators
KNOWN: Final = (
    f"{', '.join(TAGGERS)}, a folder of trained annotators (qe annotate train), udpipe:FILE, spacy:NAME, "
    f"stanza:LANGUAGE; with + {', + '.join(ADDED)}"
)


class TrainedFolder(Tagger, Protocol):
    @property
    def language(self) -> str:
        """Code of the annotated language."""

    def for_layers(self, layers: Collection[Layer]) -> "TrainedFolder":
        """Only the annotators required for these layers."""


class Addition(Protocol):
    """A program that adds comments and MISC values to tokenized texts."""

    def additions(self, texts: Sequence[Sequence[str]]) -> Iterator[tuple[list[str], dict[int, str]]]:
        """Yields (comments, token -> MISC value) of every text."""

    @property
    def fingerprint(self) -> str:
        """Identifies program, version and data."""


def is_tagger(name: str) -> bool:
    first, *_ = _parts(name)
    known = first in TAGGERS or first in ADDED or first.partition(":")[0] in MODELS
    return known or (Path(first) / _MANIFEST).is_file()


def for_corpora(annotator: Tagger, layers: Sequence[Layer] = LAYERS) -> Tagger:
    """The annotator reduced to layers that annotated corpora store, without additions by programs."""
    if isinstance(annotator, Combined) and annotator.base is not None:
        return for_corpora(annotator.base, layers)
    return annotator.for_layers(layers) if hasattr(annotator, "for_layers") else annotator


def is_program(name: str) -> bool:
    """Whether `name` is an installed program or model, not a file or folder."""
    first, *_ = _parts(name)
    kind, _, model = first.partition(":")
    installed = kind in ("spacy", "stanza") and re.fullmatch(r"\w[\w-]*", model) is not None
    return first in TAGGERS or first in ADDED or installed


def tagger(name: str, language: str, other_language: str, texts_per_process: int = 1) -> Tagger:
    """The annotator `name` of a language: a program, a folder of trained annotators, or a user's model.

    Additional programs follow `+` (`annotators/en+hunspell+link-grammar`). `texts_per_process` texts share a
    process of a program and may affect each other (corpora: many).
    """
    language, other_language = language_code(language), language_code(other_language)
    first, *added = _parts(name)
    if first in ADDED:
        first, added = "", [first, *added]
    if not added:
        return _tagger(first, language, other_language, texts_per_process)
    base = _tagger(first, language, other_language, texts_per_process) if first else None
    programs = (Hunspell(language) if part == "hunspell" else LinkGrammar(language) for part in added)
    return Combined(base, tuple(programs))


def _parts(name: str) -> list[str]:
    """A name and its additions; a folder's path may contain `+`."""
    parts, added = name.split("+"), list[str]()
    while len(parts) > 1 and parts[-1] in ADDED:
        added.insert(0, parts.pop())
    return ["+".join(parts), *added]


@dataclass(frozen=True)
class Combined:
    """An annotator (None: tokens only) and additional programs."""

    base: Tagger | None
    added: tuple[Addition, ...]

    def annotate(self, texts: Sequence[Sequence[str]]) -> Iterator[str]:
        bare = (block_of([(word, NOTHING, NOTHING, NOTHING) for word in text]) for text in texts)
        blocks = self.base.annotate(texts) if self.base else bare
        for block, *more in zip(blocks, *(part.additions(texts) for part in self.added), strict=True):
            for comments, misc in more:
                block = _with_additions(block, comments, misc)
            yield block

    @property
    def fingerprint(self) -> str:
        return digest("combined", self.base and self.base.fingerprint, *(p.fingerprint for p in self.added))


def _with_additions(block: str, comments: Sequence[str], misc: Mapping[int, str]) -> str:
    lines = [f"# {comment}" for comment in comments]
    word = 0
    for line in block.split("\n") if block else ():
        if natural(line.partition("\t")[0]) is not None:
            if word in misc:
                rest, _, last = line.rpartition("\t")
                line = f"{rest}\t{misc[word] if last == NOTHING else f'{last}|{misc[word]}'}"
            word += 1
        lines.append(line)
    return "\n".join(lines)


def _tagger(name: str, language: str, other_language: str, texts_per_process: int) -> Tagger:
    kind, _, model = name.partition(":")
    if name in TAGGERS:
        return TAGGERS[name](language, other_language, texts_per_process=texts_per_process)
    if kind in MODELS and model:
        from qe.language.user_models import SpacyTagger, StanzaTagger, UDPipeTagger

        if kind == "udpipe":
            return UDPipeTagger(Path(model))
        return SpacyTagger(model) if kind == "spacy" else StanzaTagger(model)
    if folder := _folder(name):
        if folder.language != language:
            raise InputError(
                f"holds annotators of '{folder.language}', but the text is '{language}'", location=Path(name)
            )
        return folder
    raise InputError(f"unknown annotator '{name}'", remedy=f"known: {KNOWN}")


def language_said(name: str) -> str | None:
    """The language of a folder of annotators; None for a program's name."""
    folder = _folder(_parts(name)[0])
    return folder.language if folder else None


def _folder(name: str) -> TrainedFolder | None:
    manifest = Path(name) / _MANIFEST
    return _trained(Path(name), manifest.stat().st_mtime_ns) if manifest.is_file() else None


@lru_cache(maxsize=4)
def _trained(path: Path, changed: int) -> TrainedFolder:
    folder: TrainedFolder = load_own("annotations", "folder").AnnotatorFolder(path)
    return folder


def export_annotator(name: str, folder: Path) -> str:
    first, *added = _parts(name)
    kind, _, model = first.partition(":")
    if kind == "udpipe" and model:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(model), folder / "model.udpipe")
        first = f"udpipe:{folder / 'model.udpipe'}"
    elif first not in TAGGERS and first not in ADDED and kind not in MODELS:
        load_own("annotations", "folder").export(Path(first), folder)
        first = str(folder)
    return "+".join((first, *added))


def annotated(
    tokens: Tokens,
    annotator: Tagger,
    cache: Path | None,
    stage: str = "annotating",
    progress: Progress = silent,
) -> tuple[str, ...]:
    """CoNLL-U blocks (n,) of n tokenized texts, cached by annotator and texts."""

    def blocks() -> Sequence[str]:
        made = annotator.annotate([tokens.words(i) for i in range(len(tokens))])
        return list(reported(made, progress, stage, len(tokens)))

    name = digest(annotator.fingerprint, tokens.fingerprint)
    kept = Cache(cache).get("annotations", name, TEXTS, blocks)
    return tuple(kept)


def _analyses(tagged: str, tokens: Sequence[str]) -> list[str]:
    letters: list[str] = []
    units: list[tuple[int, str]] = []  # end position among the letters, analysis
    last = end = 0
    for unit in _UNIT.finditer(tagged):
        surface, _, analysis = unit[1].partition("/")
        between = tagged[last : unit.start()]
        letters += [between, surface]
        end += len(between)
        units.append((end, ""))
        end += len(surface)
        units.append((end, analysis if surface else ""))
        last = unit.end()
    text, place, k = "".join([*letters, tagged[last:]]), 0, 0
    units.append((len(text), ""))
    analyses = []
    for token in tokens:
        while place < len(text) and text[place].isspace():
            place += 1
        if not text.startswith(token, place):
            return [""] * len(tokens)
        place, first = place + len(token), place
        while k < len(units) and units[k][0] <= first:
            k += 1
        analyses.append(_first_analysis(units, k, place))
    return analyses


def _first_analysis(units: Sequence[tuple[int, str]], k: int, end: int) -> str:
    begin = 0
    while k < len(units) and begin < end:
        if units[k][1]:
            return units[k][1]
        begin, k = units[k][0], k + 1
    return ""


def _escaped(token: str) -> str:
    if token.isalnum():
        return token
    return "".join("_" if unicodedata.category(c)[0] in "CZ" else c for c in token.translate(_SIGNS)) or "_"


@lru_cache(maxsize=50_000)
def _reading(analysis: str) -> tuple[str, str, str]:
    first = analysis.split("+", 1)[0]
    tags = _TAG.findall(first)
    if not tags:
        return NOTHING, "X", NOTHING
    return first.split("<", 1)[0] or NOTHING, _UNIVERSAL.get(tags[0], "X"), ".".join(tags)
