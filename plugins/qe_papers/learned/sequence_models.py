"""SequenceModels: language models of sequences from translations, and from references."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final, Self

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count
from features.basics.progress import Progress, silent
from features.core.extractor import Feature
from features.core.resource import Builder, Parts, Resource, load_arrays, save_arrays
from features.learned.translated_corpus import TranslatedCorpus
from features.resources.aligner import Aligner
from features.resources.annotation import Annotation
from features.resources.language_model import LanguageModel
from features.resources.word_lexicon import StopWords
from features.text.corpus import ParallelCorpus
from features.text.links import Links
from features.text.stems import stems
from features.text.tokens import Tokens, ratio
from qe_papers.families import Modelled, load_parts, save_parts

SEQUENCES: Final[Mapping[str, str]] = {
    "words": "words",
    "roots": "stems",
    "suffixes": "suffixes: what a word has beyond what it shares with its stem",
    "root_stop": "stop words, and the stems of others",
    "suffix_stop": "stop words, and the suffixes of others",
    "pos_stop": "stop words, and the tags of the source words that others are aligned to",
    "chains": "chains of neighbouring stop words",
}
UNALIGNED, BARE = "*", "-"  # a word without source words; a word equal to its stem

Texts = Sequence[Sequence[str]]
Models = Mapping[str, LanguageModel]  # NAME_sys: translations, NAME_ref: references

_ORIGIN: Final = "UPC at WMT12, section 2.1"
_KINDS: Final = (
    ("sys", "perplexity by a model of translations", "choices"),
    ("sys_ref", "the same by the perplexity by a model of references", "ratio"),
    ("ref_sys", "perplexity by a model of references by that by a model of translations", "ratio"),
)


def perplexity_features(stem: str) -> list[Feature]:
    return [
        Feature(f"{stem}_{name}_{kind}", f"{what}: {text}; undefined without any", _ORIGIN, unit)
        for name, what in SEQUENCES.items()
        for kind, text, unit in _KINDS
    ]


def perplexities(texts: Mapping[str, Tokens], models: Models) -> FloatArray:
    """Perplexities (n, 21) of the sequences of n texts; NaN for an empty sequence."""
    columns = list[FloatArray]()
    for name, tokens in texts.items():
        system, reference = (
            Modelled(tokens, models[f"{name}_{kind}"].score(tokens)).perplexity for kind in ("sys", "ref")
        )
        for values in (system, ratio(system, reference), ratio(reference, system)):
            columns.append(np.where(tokens.lengths > 0, values, np.nan))
    return np.column_stack(columns)


def sequences(tokens: Tokens, language: str, tags: Texts, stop: Collection[str]) -> dict[str, Tokens]:
    """Name -> the sequences of every text; `tags` (n,) represent its words in `pos_stop` (`aligned_tags`)."""
    lowered = tokens.lower()
    roots = dict(zip(lowered.types, stems(lowered.types, language), strict=True))
    made: dict[str, list[list[str]]] = {name: [] for name in SEQUENCES}
    for i in range(len(lowered)):
        words = lowered.words(i)
        stemmed = [roots[word] for word in words]
        suffixes = [suffix(word, roots[word]) for word in words]
        plain = {"words": words, "roots": stemmed, "suffixes": suffixes, "chains": chains(words, stop)}
        for name, own in plain.items():
            made[name].append(own)
        for name, instead in (("root_stop", stemmed), ("suffix_stop", suffixes), ("pos_stop", tags[i])):
            made[name].append([w if w in stop else o for w, o in zip(words, instead, strict=True)])
    return {name: Tokens.from_lists(texts) for name, texts in made.items()}


def aligned_tags(tags: Tokens, links: Links, words: Tokens) -> list[list[str]]:
    """Source tags linked to each word in order, joined by `+`; `*` without any."""
    result: list[list[str]] = []
    for i in range(len(words)):
        own, partners = tags.words(i), [list[int]() for _ in words.words(i)]
        for k in range(links.offsets[i], links.offsets[i + 1]):
            partners[links.target[k]].append(int(links.source[k]))
        result.append(["+".join(own[j] for j in sorted(p)) or UNALIGNED for p in partners])
    return result


def suffix(word: str, root: str) -> str:
    """The part of a word after the prefix that it shares with its stem.

    >>> suffix("casas", "cas"), suffix("comieron", "com"), suffix("sol", "sol")
    ('as', 'ieron', '-')
    """
    pairs = zip(word, root, strict=False)
    shared = next((k for k, (own, other) in enumerate(pairs) if own != other), min(len(word), len(root)))
    return word[shared:] or BARE


def chains(words: Sequence[str], stop: Collection[str]) -> list[str]:
    """Runs of two or more stop words, each as one token.

    >>> chains("el de casa la y sol de".split(), frozenset(["el", "de", "la", "y"]))
    ['el_de', 'la_y']
    """
    runs: list[list[str]] = [[]]
    for word in words:
        if word in stop:
            runs[-1].append(word)
        elif runs[-1]:
            runs.append([])
    return ["_".join(run) for run in runs if len(run) > 1]


def load_models(path: Path) -> Models:
    """Loads saved models; raises Damaged for invalid arrays."""
    return load_parts(
        path, LanguageModel, [f"{name}_{kind}" for name in SEQUENCES for kind in ("sys", "ref")]
    )


@dataclass(frozen=True, kw_only=True)
class SequenceModelsBuilder(Builder):
    translated_corpus: TranslatedCorpus
    source_annotation: Annotation
    aligner: Aligner
    target_stop_words: StopWords
    order: Count = 3

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "SequenceModels":
        """Raises InputError if a sequence is empty in all texts."""
        texts, language = self.translated_corpus, corpus.target_tokenizer.language
        stop = frozenset(self.target_stop_words.words)
        tags = self.source_annotation.layer("xpos").take(texts.rows)
        models: dict[str, LanguageModel] = {}
        for kind, tokens in (("sys", texts.machine), ("ref", texts.reference)):
            aligned = aligned_tags(tags, self.aligner.align(texts.source, tokens), tokens)
            made = sequences(tokens, language, aligned, stop)
            for name, sequence in made.items():
                if not sequence.lengths.any():  # chains can be absent from few texts
                    raise InputError(
                        f"the corpus and its translations have no {SEQUENCES[name]}",
                        location="sequence_models",
                        remedy="give more text, or more stop words",
                    )
            for name, sequence in made.items():
                models[f"{name}_{kind}"] = LanguageModel.from_tokens(sequence, order=self.order)
                progress("models of sequences", len(models), 2 * len(SEQUENCES))
        return SequenceModels(models, settings=self.settings, corpus_fingerprint=corpus.fingerprint)


@dataclass(frozen=True, eq=False)
class SequenceModels(Resource):
    """Language models of the sequences of `translated_corpus`.

    `words_sys`, ... model its machine translations, `words_ref`, ... its references.
    """

    version: ClassVar[int] = 3
    older: ClassVar[frozenset[int]] = frozenset({2})  # models of version 1
    parts: ClassVar[Parts] = {"sequence_models": {}}
    builder: ClassVar[type[Builder]] = SequenceModelsBuilder

    models: Models = field(repr=False)

    def check_arrays(self) -> None:
        for model in self.models.values():
            model.check_stored()

    def save(self, path: Path) -> None:
        save_arrays(path, {"settings": dict(self.settings), "corpus_fingerprint": self.corpus_fingerprint})
        save_parts(path, self.models)

    @classmethod
    def load(cls, path: Path) -> Self:
        meta, _ = load_arrays(path)
        return cls(load_models(path), **meta)
