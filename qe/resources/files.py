"""Parts read from files: language models (also from treebanks), lexicons (GIZA++, Moses), lists of words."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

from features.basics.assignments import assignments
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.bundle import Builders, known_parts, plain_parts, unknown_part
from features.core.resource import Resource
from features.resources.language_model import Direction, LanguageModel
from features.resources.lexicon import Lexicon
from features.resources.word_lexicon import KeptWords, StopWords
from features.storage.files import sha256
from features.text.corpus import ParallelCorpus, Side
from features.text.ngram_tables import Case
from qe.language.conllu import tags_of_texts


@dataclass(frozen=True)
class PartFiles:
    """Part -> the file it is read from; raises InputError for an unknown part."""

    files: Mapping[str, Path]

    def __post_init__(self) -> None:
        parts = known_parts()
        for name, path in self.files.items():
            if name not in parts:
                raise unknown_part(name)
            if name not in _READERS:
                raise InputError(
                    f"the part '{name}' is read from no file",
                    location=path,
                    remedy="ARPA and KenLM files are read as language models "
                    f"({', '.join(plain_parts(LanguageModel))}), treebanks in CoNLL-U as models of tags "
                    f"({', '.join(_TAG_MODELS)}), those of GIZA++ and Moses as lexicons "
                    f"({', '.join(plain_parts(Lexicon))}), lists as stop words "
                    f"({', '.join(StopWords.parts)}), texts as words to keep ({', '.join(KeptWords.parts)})",
                )

    @cached_property
    def fingerprints(self) -> Mapping[str, str]:
        return {name: sha256(path) for name, path in self.files.items()}

    def builders(self) -> Builders:
        return {
            name: partial(_READERS[name], path, self.fingerprints[name]) for name, path in self.files.items()
        }

    @property
    def readers(self) -> Builders:
        return {name: partial(_READERS[name], path, "") for name, path in self.files.items()}

    @property
    def wanted(self) -> Mapping[str, Mapping[str, str | None]]:
        return {name: {"read": self.fingerprints.get(name)} for name in _READERS}


def parsed(texts: Iterable[str]) -> dict[str, Path]:
    """Part -> file, from `PART=FILE`."""
    return {part: Path(path) for part, path in assignments(texts, "PART=FILE", "--read").items()}


def _language_model(
    path: Path,
    checksum: str,
    corpus: ParallelCorpus,
    *,
    side: str,
    direction: Direction = "forward",
    case: Case = "lower",
    progress: Progress = silent,
    **of_built: Any,
) -> LanguageModel:
    progress(f"reading {path.name}", 0, 1)
    model = LanguageModel.read(path, direction=direction, case=case)
    model = model.with_settings(side=side, read=checksum)
    progress(f"reading {path.name}", 1, 1)
    return model


def _lexicon(
    path: Path,
    checksum: str,
    corpus: ParallelCorpus,
    *,
    direction: Literal["source_to_target", "target_to_source"],
    order: Literal["given_first", "generated_first"] = "given_first",
    null: str = "NULL",
    progress: Progress = silent,
) -> Lexicon:
    progress(f"reading {path.name}", 0, 1)
    sides = (corpus.source, corpus.target)
    given, words = sides if direction == "source_to_target" else sides[::-1]
    lexicon = Lexicon.read_lex(path, order, null).with_quartiles(given, words)
    progress(f"reading {path.name}", 1, 1)
    settings = {"direction": direction, **lexicon.settings, "null": null, "read": checksum}
    return replace(lexicon, settings=settings)


def _stop_words(
    path: Path, checksum: str, corpus: ParallelCorpus, *, side: Side, progress: Progress = silent
) -> StopWords:
    return StopWords.read(path, side, checksum)


def _tag_model(
    path: Path,
    checksum: str,
    corpus: ParallelCorpus,
    *,
    side: str,
    layer: Literal["lemma", "upos", "xpos"] = "xpos",
    order: int,
    direction: Direction = "forward",
    case: Case = "true",
    minimum: int = 1,
    prune: bool = False,
    progress: Progress = silent,
    **of_built: Any,
) -> LanguageModel:
    model = LanguageModel.from_tokens(
        tags_of_texts(path, layer),
        order=order,
        direction=direction,
        case=case,
        minimum=minimum,
        prune=prune,
        progress=progress,
        corpus_fingerprint=checksum,
    )
    return model.with_settings(side=side, layer=layer, read=checksum)


def _kept_words(
    path: Path,
    checksum: str,
    corpus: ParallelCorpus,
    *,
    side: Side,
    progress: Progress = silent,
    **of_built: Any,
) -> KeptWords:
    return KeptWords.read(path, corpus, side, checksum)


_TAG_MODELS: Sequence[str] = [
    name for name, settings in LanguageModel.parts.items() if "annotation" in settings
]
_READERS: Mapping[str, Callable[..., Resource]] = {
    **dict.fromkeys(plain_parts(LanguageModel), _language_model),
    **dict.fromkeys(_TAG_MODELS, _tag_model),
    **dict.fromkeys(plain_parts(Lexicon), _lexicon),
    **dict.fromkeys(StopWords.parts, _stop_words),
    **dict.fromkeys(KeptWords.parts, _kept_words),
}
