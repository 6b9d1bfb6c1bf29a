"""System selection: chooses among translations of several systems, by segment or by document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from features.basics.array_types import FloatArray, IntArray
from features.basics.errors import InputError, known_name
from features.basics.progress import Progress, silent
from features.core.bundle import Bundle
from features.core.feature_set import FeatureSet, parts_needed
from features.core.segments import Segments
from features.text.tokenizer import Tokenizer
from qe.data.dataset import Split
from qe.data.folds import make_folds
from qe.display.files import plain_fields
from qe.display.numbers import percent
from qe.display.summary import Printable, table_by
from qe.display.table import Table
from qe.models.model import Model
from qe.statistics.draws import group_index
from qe.statistics.family import Pair
from qe.statistics.settings import ResamplingSettings, check_enough, check_seed
from qe.systems.comparison import compare
from qe.systems.documents import (
    DocumentReport,
    document_means,
    document_names,
    document_statistics,
    evaluate_documents,
)
from qe.systems.mt_metrics.ngrams import Bleu
from qe.systems.results import System
from qe.systems.text_metric import TextMetric
from qe.systems.texts import Texts
from qe.training.extraction import Extraction
from qe_papers.selection.chooser import Chooser, Outputs, segment_bleu, without_reference

By = Literal["segment", "document"]
Tokenizers = tuple[Tokenizer, Tokenizer]
RANDOM, ORACLE = "random", "oracle"
_SAME_ENGINE = 0.5  # minimum share of equal translations that identifies the model's own engine
_DRAWS = 200  # number of random choices in the mean score


@dataclass(frozen=True, eq=False)
class Translations(Printable):
    """n source segments and their translations by S >= 2 systems.

    Raises InputError for fewer than two systems, columns of different length, or no segment.

    Attributes
    ----------
    documents : tuple of str
        (n,) the document of each segment.
    references : tuple of tuple of str
        One or several columns; none if the choice is applied, not learned.
    """

    source: tuple[str, ...]
    systems: Mapping[str, tuple[str, ...]]
    documents: tuple[str, ...]
    references: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if len(self.systems) < 2:
            raise InputError(f"a choice needs at least two systems, but got {len(self.systems)}")
        for name in (RANDOM, ORACLE):
            if name in self.systems:
                raise InputError(f"'{name}' names a line of the report", remedy="name the system otherwise")
        if not self.source:
            raise InputError("there are no segments")
        columns = {"documents": self.documents, **self.systems}
        columns |= {f"reference {i}": column for i, column in enumerate(self.references, start=1)}
        for name, column in columns.items():
            if len(column) != len(self.source):
                raise InputError(f"{len(self.source)} source segments, but {len(column)} of {name}")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.systems)

    def __len__(self) -> int:
        return len(self.source)

    def statistics(self, metric: TextMetric) -> FloatArray:
        """Statistics (S, n, k) of the metric; raises InputError without references."""
        if not self.references:
            raise InputError("there are no references to learn from or evaluate with")
        references = [Texts.from_lines(column) for column in self.references]
        return np.stack(
            [metric.statistics(Texts.from_lines(out), references) for out in self.systems.values()]
        )

    def agreement(self, metric: TextMetric) -> FloatArray:
        """Metric (S,) of each system's whole text, with the other systems' outputs as references."""
        texts = [Texts.from_lines(output) for output in self.systems.values()]
        sums = [
            metric.statistics(system_sums, [other for other in texts if other is not system_sums]).sum(axis=0)
            for system_sums in texts
        ]
        return metric.aggregate(np.stack(sums))

    def segments(self, tokenizers: Tokenizers) -> list[Segments]:
        """Each system's output as segments; its pseudo-reference is the first other system's output."""
        outputs, documents = list(self.systems.values()), self.documents
        others = [outputs[1], *outputs[:1] * (len(outputs) - 1)]
        return [
            Segments(self.source, output, *tokenizers, doc_id=documents, pseudo_reference=other)
            for output, other in zip(outputs, others, strict=True)
        ]

    def lines(self, choice: IntArray) -> tuple[str, ...]:
        """Translations (n,) of the systems with the indices `choice`."""
        outputs = list(self.systems.values())
        return tuple(outputs[number][i] for i, number in enumerate(choice))


@dataclass(frozen=True, eq=False)
class Preferences:
    """A chooser's preferences for held-out rows; the highest is chosen.

    segments   (S, n)
    documents  (S, d), documents in order of first appearance
    """

    segments: FloatArray
    documents: FloatArray

    def choice(self, granularity: By, documents: Sequence[str]) -> IntArray:
        """Indices (n,) of the chosen systems; ties go to the first system."""
        values = self.segments if granularity == "segment" else self.documents
        best = np.asarray(np.argmax(values, axis=0), np.int64)
        return best if granularity == "segment" else best[group_index(documents, len(documents))[0]]


def cross_validated(
    translations: Translations, extraction: Extraction, choosers: Mapping[str, Chooser],
    statistics: FloatArray, tokenizers: Tokenizers, *, bleu: Bleu | None = None, folds: int = 10,
    seed: int = 0, progress: Progress = silent,
) -> dict[str, Preferences]:  # fmt: skip
    """Name -> preferences of every chooser on held-out documents, unseen by chooser and features."""
    splits = _labelled(translations, statistics, tokenizers)
    agreement = translations.agreement(bleu or Bleu())
    shape = len(splits), len(translations)
    names = document_names(translations.documents)
    chosen = {
        name: Preferences(np.full(shape, np.nan), np.full((shape[0], len(names)), np.nan))
        for name in choosers
    }
    by_document = make_folds(
        len(translations), folds, seed=seed, scheme="document", documents=translations.documents
    )
    for number, (train, held) in enumerate(by_document):
        progress("cross-validation", number, folds)
        tables = [extraction.fold(split, train, held) for split in splits]
        known, other = (
            Outputs(tuple(pair[part] for pair in tables), rows, agreement)
            for part, rows in ((0, statistics[:, train]), (1, without_reference(statistics[:, held])))
        )
        documents = [translations.documents[i] for i in held]
        columns = [names.index(name) for name in document_names(documents)]
        for name, chooser in choosers.items():
            fitted = chooser.fit(known)
            chosen[name].segments[:, held] = fitted.preferences(other)
            chosen[name].documents[:, columns] = fitted.document_preferences(other, documents)
    return chosen


def applied(
    translations: Translations, new: Translations, extraction: Extraction, choosers: Mapping[str, Chooser],
    tokenizers: Tokenizers, bleu: Bleu,
) -> dict[str, Preferences]:  # fmt: skip
    """Name -> preferences for new translations by the same systems; raises InputError for other systems."""
    if new.names != translations.names:
        raise InputError(
            f"learned to choose among {', '.join(translations.names)}, but got {', '.join(new.names)}",
            remedy="give the same systems in the same order",
        )
    statistics = translations.statistics(bleu)
    splits = _labelled(translations, statistics, tokenizers)
    pairs = zip(splits, new.segments(tokenizers), strict=True)
    tables = [extraction.fit_and_score(split, segments) for split, segments in pairs]
    texts = [Texts.from_lines(output) for output in new.systems.values()]
    known = np.stack([bleu.statistics(text, [text]) for text in texts])
    system_sums = Outputs(tuple(table for table, _ in tables), statistics, translations.agreement(bleu))
    other = Outputs(tuple(table for _, table in tables), without_reference(known), new.agreement(bleu))
    chosen = {}
    for name, chooser in choosers.items():
        fitted = chooser.fit(system_sums)
        by_document = fitted.document_preferences(other, new.documents)
        chosen[name] = Preferences(fitted.preferences(other), by_document)
    return chosen


def _labelled(translations: Translations, statistics: FloatArray, tokenizers: Tokenizers) -> list[Split]:
    return [
        Split(segments, scores=segment_bleu(rows), reference=translations.references[0])
        for segments, rows in zip(translations.segments(tokenizers), statistics, strict=True)
    ]


def make_extraction(
    features: Sequence[Mapping[str, Any]], resources: Path | None, languages: tuple[str, str],
    cache: Path | None, *, seed: int = 0, progress: Progress = silent,
) -> tuple[Extraction, Tokenizers]:  # fmt: skip
    """The feature set on a bundle, and its tokenizers; raises InputError for a wrong or incomplete bundle."""
    tokenizers = Tokenizer(languages[0]), Tokenizer(languages[1])
    bundle = None if resources is None else Bundle(resources)
    if bundle is not None:
        tokenizers = bundle.tokenizers
        languages_there = tokenizers[0].language, tokenizers[1].language
        if languages_there != languages:
            raise InputError(
                f"resources for {'-'.join(languages_there)}, but the segments are {'-'.join(languages)}",
                location=resources,
            )
        bundle.require(parts_needed(features))
    feature_set = FeatureSet.make(features, bundle)
    return Extraction(feature_set, cache, fold_by="document", seed=seed, progress=progress), tokenizers


@dataclass(frozen=True, eq=False)
class Selection(Printable):
    """Choices and their evaluation.

    Attributes
    ----------
    best : str
        The single system with the highest BLEU on these segments, the baseline.
    scores : mapping of str to mapping of str to float
        System, random, oracle or method -> metric -> score; random: the mean of 200 random choices.
    shares : mapping of str to array of float
        Oracle or method -> (S,) share of the segments taken from each system.
    choices : mapping of str to array of int
        Oracle or method -> (n,) index of the chosen system.
    preferences : mapping of str to Preferences
        Chooser -> preferences.
    comparisons : tuple of Pair
        Every method against `best`: approximate randomization with whole documents exchanged.
    bootstrap : tuple of Pair
        The same by the paired bootstrap.
    documents : mapping of str to DocumentReport
        System -> accuracy of predicted document BLEU, for choosers that predict BLEU.
    """

    translations: Translations
    granularity: By
    best: str
    scores: Mapping[str, Mapping[str, float]]
    shares: Mapping[str, FloatArray]
    choices: Mapping[str, IntArray]
    preferences: Mapping[str, Preferences]
    comparisons: tuple[Pair, ...]
    bootstrap: tuple[Pair, ...]
    documents: Mapping[str, DocumentReport]
    recipe: Mapping[str, Any] = field(default_factory=dict)

    def divergence(self, method: str) -> float:
        """Kullback-Leibler divergence D(method || oracle) of the shares, in nats (table 3: x 100)."""
        return divergence(self.shares[known_name("method", method, self.shares)], self.shares[ORACLE])

    def to_json(self) -> dict[str, Any]:
        return plain_fields(
            {
                "by": self.granularity,
                "segments": len(self.translations),
                "documents": len(document_names(self.translations.documents)),
                "best": self.best,
                "scores": self.scores,
                "shares": {
                    m: dict(zip(self.translations.names, s, strict=True)) for m, s in self.shares.items()
                },
                "divergence": {m: self.divergence(m) for m in self.shares if m != ORACLE},
                "randomization": self.comparisons,
                "bootstrap": self.bootstrap,
                "document_scores": self.documents,
                "recipe": self.recipe,
            }
        )

    def summary(self) -> Table:
        return table_by("qe_papers.selection.files.scores_table", self)


def select(
    translations: Translations, extraction: Extraction, choosers: Mapping[str, Chooser],
    tokenizers: Tokenizers, metrics: Mapping[str, TextMetric], *, bleu: Bleu | None = None,
    granularity: By = "segment", folds: int = 10, samples: int = 10_000, correction: str = "holm",
    seed: int = 0, progress: Progress = silent,
) -> Selection:  # fmt: skip
    """Chooses by cross-validation over documents, and compares with always taking the best system.

    bleu     metric that choosers learn and the oracle maximises
    metrics  metrics that compare choices

    p-values are corrected over methods and metrics. Raises InputError for too few documents, no references,
    and for inputs that the features lack.
    """
    check_seed(seed)
    check_enough(samples)
    bleu = bleu or Bleu()
    statistics = translations.statistics(bleu)
    preferences = cross_validated(
        translations, extraction, choosers, statistics, tokenizers,
        bleu=bleu, folds=folds, seed=seed, progress=progress,
    )  # fmt: skip
    choices = {ORACLE: oracle(statistics, bleu, granularity, translations.documents)}
    for name, preference in preferences.items():
        choices[name] = preference.choice(granularity, translations.documents)
    whole = bleu.aggregate(statistics.sum(axis=1))
    best = translations.names[int(np.argmax(whole))]
    settings = ResamplingSettings(samples=samples, seed=seed, correct=correction, family="table")
    randomization, bootstrap = (
        _tests(translations, choices, best, metrics, replace(settings, test=test), progress)
        for test in ("ar", "bootstrap")
    )
    recipe = {
        "bleu": repr(bleu), "folds": folds, "seed": seed, "samples": samples, "correction": correction,
        "features": extraction.feature_set.names,
        "choosers": {n: type(c).__name__ for n, c in choosers.items()},
    }  # fmt: skip
    return Selection(
        translations, granularity, best, _scores(translations, choices, metrics, granularity, seed),
        {name: shares(choice, len(translations.names)) for name, choice in choices.items()},
        choices, preferences, randomization, bootstrap,
        _document_reports(translations, statistics, choosers, preferences, bleu, seed), recipe,
    )  # fmt: skip


def oracle(statistics: FloatArray, bleu: Bleu, granularity: By, documents: Sequence[str]) -> IntArray:
    """The system (n,) with the highest true BLEU of the segment or its document; ties go to the first."""
    sums = np.stack([document_statistics(rows, documents) for rows in statistics])
    scores = Preferences(bleu.segment_scores(statistics), bleu.aggregate(sums))
    return scores.choice(granularity, documents)


def shares(choice: IntArray, systems: int) -> FloatArray:
    return np.bincount(choice, minlength=systems) / len(choice)


def divergence(system_sums: FloatArray, reference: FloatArray) -> float:
    """Kullback-Leibler divergence D(own || reference) in nats, infinite if `reference` lacks a system."""
    used = system_sums > 0
    if (reference[used] == 0).any():
        return float("inf")
    return float((system_sums[used] * np.log(system_sums[used] / reference[used])).sum())


def choose_by_model(model: Model, translations: Translations) -> Preferences:
    """Preferences by a trained scoring model, without references; the highest is the best.

    A document's preference is the mean of its segments, weighted by source length in words. An empty
    translation (or a document with one) is chosen only if all systems have one. Raises InputError if the
    model needs more than source, target and document ids, and if a system is the engine of the model's second
    translations.
    """
    rows, lengths = [], np.ones(len(translations))
    for name, output in translations.systems.items():
        segments = model.segments(
            {"source": translations.source, "target": output, "doc_id": translations.documents}
        )
        if segments.pseudo_reference is not None:
            pairs = zip(segments.target, segments.pseudo_reference, strict=True)
            same = np.mean([own.split() == other.split() for own, other in pairs])
            if same >= _SAME_ENGINE:
                engine = model.made_columns.get("pseudo_reference", "given")
                raise InputError(
                    f"{percent(float(same), 0)} of the translations of '{name}' are the pseudo-references of "
                    f"the model '{model.name}' ({engine}), which would always prefer them",
                    remedy="use a model without pseudo-references of that engine, or learn the choice "
                    "(--references)",
                )
        empty = np.array([not text.strip() for text in output])
        rows.append(np.where(empty, -np.inf, model.scale.sign * model.predict(segments)))
        lengths = np.maximum(segments.source_tokens.lengths, 1).astype(np.float64)
    documents = [document_means(row, translations.documents, lengths) for row in rows]
    return Preferences(np.stack(rows), np.stack(documents))


def _tests(
    translations: Translations, choices: Mapping[str, IntArray], best: str, metrics: Mapping[str, TextMetric],
    settings: ResamplingSettings, progress: Progress,
) -> tuple[Pair, ...]:  # fmt: skip
    methods = [
        System(name, (Texts.from_lines(translations.lines(choice), name),))
        for name, choice in choices.items()
        if name != ORACLE
    ]
    single = System(best, (Texts.from_lines(translations.systems[best], best),))
    references = [Texts.from_lines(column) for column in translations.references]
    comparison = compare(
        [single, *methods], references, metrics,
        settings=settings, groups=translations.documents, progress=progress,
    )  # fmt: skip
    return comparison.comparisons


def _scores(
    translations: Translations, choices: Mapping[str, IntArray], metrics: Mapping[str, TextMetric],
    granularity: By, seed: int,
) -> dict[str, dict[str, float]]:  # fmt: skip
    numbers = np.arange(len(translations))
    systems = range(len(translations.names))
    alone = {name: np.full(len(numbers), i) for i, name in enumerate(translations.names)}
    rng = np.random.default_rng(seed)
    if granularity == "segment":
        draws = rng.integers(0, len(systems), (_DRAWS, len(translations)))
    else:
        index, count = group_index(translations.documents, len(translations))
        draws = rng.integers(0, len(systems), (_DRAWS, count))[:, index]
    scores: dict[str, dict[str, float]] = {name: {} for name in (*alone, RANDOM, *choices)}
    for metric_name, metric in metrics.items():
        statistics = translations.statistics(metric)
        for name, choice in (alone | dict(choices)).items():
            scores[name][metric_name] = float(metric.aggregate(statistics[choice, numbers].sum(axis=0)))
        sums = sum(np.einsum("bn,nk->bk", (draws == i).astype(np.float64), statistics[i]) for i in systems)
        scores[RANDOM][metric_name] = float(np.mean(metric.aggregate(np.asarray(sums))))
    return scores


def _document_reports(
    translations: Translations, statistics: FloatArray, choosers: Mapping[str, Chooser],
    preferences: Mapping[str, Preferences], bleu: Bleu, seed: int,
) -> dict[str, DocumentReport]:  # fmt: skip
    for name, chooser in choosers.items():
        if chooser.predicts_bleu:
            rows = zip(translations.names, statistics, preferences[name].documents, strict=True)
            return {
                system: evaluate_documents(true, predicted, translations.documents, bleu.aggregate, seed=seed)
                for system, true, predicted in rows
            }
    return {}
