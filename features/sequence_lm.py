"""Perplexities of sequences made from a translation, by models of translations and of references."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from features._texts.units import Modelled
from features.core.annotation import layer_tokens
from features.core.array_types import FloatArray
from features.core.errors import InputError
from features.core.extractor import Feature, FittedExtractor
from features.core.hints import Count
from features.core.lemmas import base_forms
from features.core.segments import Segments
from features.core.tokens import Tokens, ratio
from features.resources.aligner import Aligner
from features.resources.language_model import LanguageModel
from features.resources.ngrams import NgramCounts

SEQUENCES: Final[Mapping[str, str]] = {
    "words": "words",
    "roots": "base forms",
    "suffixes": "suffixes: what a word has beyond what it shares with its base form",
    "root_stop": "stop words, and the base forms of others",
    "suffix_stop": "stop words, and the suffixes of others",
    "pos_stop": "stop words, and the tags of the source words that others are aligned to",
    "chains": "chains of neighbouring stop words",
}
UNALIGNED, BARE = "*", "-"  # a word without source words; a word that is its base form
_ORIGIN: Final = "UPC at WMT12, section 2.1"

Texts = Sequence[Sequence[str]]


@dataclass(frozen=True)
class SequenceLanguageModels(FittedExtractor):
    """Perplexity by a model of the system's translations, and its ratio to that by a model of references.

    Both models are learned from the same training rows: the translations, and the label `reference`.

    order       of the models
    stop_words  so many of the most frequent words of the target side of the corpus are stop words

    Base forms come from simplemma, tags from the source's annotation. A perplexity is NaN for an empty
    sequence, as chains are where no two stop words meet. Raises InputError for a target language without base
    forms, and for training rows in which one of the sequences is nowhere.
    """

    target_ngrams5: NgramCounts
    aligner: Aligner
    order: Count = 3
    stop_words: Count = 150
    models: Mapping[str, LanguageModel] | None = field(default=None, init=False, repr=False)

    @property
    def features(self) -> Sequence[Feature]:
        kinds = (
            ("sys", "perplexity by a model of translations", "choices"),
            ("sys_ref", "the same by the perplexity by a model of references", "ratio"),
            ("ref_sys", "perplexity by a model of references by that by a model of translations", "ratio"),
        )
        return [
            Feature(f"sequence_{name}_{kind}", f"{what}: {text}; undefined without any", _ORIGIN, unit)
            for name, what in SEQUENCES.items()
            for kind, text, unit in kinds
        ]

    def requires(self) -> tuple[str, ...]:
        return ("annotation_source",)

    def labels_used(self) -> tuple[str, ...]:
        return ("reference",)

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        references = segments.target_tokenizer.tokens([str(text) for text in labels["reference"]])
        models = {}
        for kind, tokens in (("sys", segments.target_tokens), ("ref", references)):
            for name, texts in self._sequences(segments, tokens).items():
                if not texts.lengths.any():  # chains, in few rows
                    raise InputError(
                        f"no training row has {SEQUENCES[name]}",
                        where="extractor 'sequence_lm'",
                        remedy="train on more segments, or with more `stop_words`",
                    )
                models[f"{name}_{kind}"] = LanguageModel.from_tokens(texts, order=self.order)
        return self.with_learned(models=models)

    def extract(self, segments: Segments) -> FloatArray:
        models, columns = self.learned(self.models), list[FloatArray]()
        for name, texts in self._sequences(segments, segments.target_tokens).items():
            system, reference = (
                Modelled(texts, models[f"{name}_{kind}"].score(texts)).perplexity for kind in ("sys", "ref")
            )
            made = texts.lengths > 0
            for values in (system, ratio(system, reference), ratio(reference, system)):
                columns.append(np.where(made, values, np.nan))
        return np.column_stack(columns)

    def _sequences(self, segments: Segments, tokens: Tokens) -> dict[str, Tokens]:
        """Name -> the sequences of translations, or references, of the segments."""
        lowered = tokens.lower()
        forms = base_forms(lowered.types, segments.target_tokenizer.language)
        roots = dict(zip(lowered.types, forms, strict=True))
        stop = self._stop_words()
        tags = self._tags(segments, tokens)
        made: dict[str, list[list[str]]] = {name: [] for name in SEQUENCES}
        for i in range(len(lowered)):
            words = lowered.words(i)
            suffixes = [suffix(word, roots[word]) for word in words]
            others: dict[str, Sequence[str]] = {
                "root_stop": [roots[w] for w in words],
                "suffix_stop": suffixes,
                "pos_stop": tags[i],
            }
            made["words"].append(words)
            made["roots"].append([roots[word] for word in words])
            made["suffixes"].append(suffixes)
            made["chains"].append(chains(words, stop))
            for name, instead in others.items():
                made[name].append([w if w in stop else o for w, o in zip(words, instead, strict=True)])
        return {name: Tokens.from_lists(texts) for name, texts in made.items()}

    def _stop_words(self) -> frozenset[str]:
        """The most frequent words of letters."""
        counts, words = self.target_ngrams5.types(1), self.target_ngrams5.vocabulary
        by_word = Tokens.from_lists([[word] for word in words.words if word.isalpha()])
        frequencies, _ = self.target_ngrams5.counts(by_word, 1)
        most = np.argsort(-frequencies, kind="stable")[: min(self.stop_words, len(counts))]
        return frozenset(by_word.words(int(i))[0] for i in most)

    def _tags(self, segments: Segments, tokens: Tokens) -> Texts:
        """Of every word, the tags of its source words in order, joined by `+`; `*` without any."""
        annotation = segments.require("annotation_source")
        tags = layer_tokens(annotation, segments.source_tokens, "xpos", "annotation_source")
        links = self.aligner.align(segments.source_tokens, tokens)
        result: list[list[str]] = []
        for i in range(len(tokens)):
            own, partners = tags.words(i), [list[int]() for _ in tokens.words(i)]
            for k in range(links.offsets[i], links.offsets[i + 1]):
                partners[links.target[k]].append(int(links.source[k]))
            result.append(["+".join(own[j] for j in sorted(p)) or UNALIGNED for p in partners])
        return result

    def save(self, path: Path) -> None:
        for name, model in self.learned(self.models).items():
            (path / name).mkdir()
            model.save(path / name)

    def restore(self, path: Path) -> Self:
        names = [f"{name}_{kind}" for name in SEQUENCES for kind in ("sys", "ref")]
        models = {name: LanguageModel.load(path / name) for name in names}
        for model in models.values():
            model.check_stored()
        return self.with_learned(models=models)


def suffix(word: str, root: str) -> str:
    """What a word has beyond the beginning that it shares with its base form.

    >>> suffix("casas", "casa"), suffix("comieron", "comer"), suffix("casa", "casa")
    ('s', 'ieron', '-')
    """
    pairs = zip(word, root, strict=False)
    shared = next((k for k, (own, other) in enumerate(pairs) if own != other), min(len(word), len(root)))
    return word[shared:] or BARE


def chains(words: Sequence[str], stop: frozenset[str]) -> list[str]:
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
