"""TextMetric: translations and references -> statistics -> a score; metrics by their names."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar

from features.basics.array_types import FloatArray
from features.basics.assignments import configured
from features.basics.catalogue import Catalogue
from features.basics.errors import known_name
from features.basics.plugins import DISTRIBUTION, version
from features.text.tokens import ratio
from qe.data.headers import is_rate, key_of
from qe.systems.texts import TOKENIZATIONS, Texts, language_of, tokenizer_signature


class TextMetric(ABC):
    """A dataclass whose fields are its options (`name:option=value` on the command line).

    Attributes
    ----------
    title : str
        What tables and plots call it; empty if what it measures has a name of the user's.
    about : str
        The unit, for plots, if the title does not say it.
    higher_is_better : bool or None
        Which direction is good; None if neither is.
    needs_references : bool
        Whether `statistics` reads the references at all.
    tokenized_by : callable or None
        Language -> its tokenization, for metrics of tokens.
    """

    title: ClassVar[str] = ""
    about: ClassVar[str] = ""
    higher_is_better: ClassVar[bool | None]
    needs_references: ClassVar[bool] = True
    tokenized_by: ClassVar[Callable[[str], str] | None] = None

    @classmethod
    def usual(cls, language: str) -> Mapping[str, Any]:
        """Default options for texts of a language; raises InputError if none do."""
        split = cls.tokenized_by
        return {"tokenize": split(language), "language": language} if split else {}

    @abstractmethod
    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        """(n, k) sufficient statistics per segment, against one or several references for each."""

    @abstractmethod
    def aggregate(self, sums: FloatArray) -> FloatArray:
        """(..., k) sums of statistics over segments -> (...) scores; NaN if undefined."""

    def segment_scores(self, statistics: FloatArray) -> FloatArray:
        """(n, k) statistics -> (n,) score of each segment by itself."""
        return self.aggregate(statistics)

    def score(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
        """The score of a whole text; `references` holds one or several columns of n segments."""
        statistics = self.statistics(
            Texts.from_lines(hypotheses), [Texts.from_lines(column) for column in references]
        )
        return float(self.aggregate(statistics.sum(axis=0)))

    def signature(self, references: int) -> str:
        """What a score rests on, as sacreBLEU writes it: `nrefs:1|case:mixed|...|version:...`."""
        parts: dict[str, Any] = {"nrefs": references} if self.needs_references else {}
        parts |= self.signature_parts() | {"version": f"{DISTRIBUTION}-{version()}"}
        words = {True: "yes", False: "no"}
        return "|".join(
            f"{name}:{words[value] if isinstance(value, bool) else value}" for name, value in parts.items()
        )

    def signature_parts(self) -> dict[str, Any]:
        """The options, by sacreBLEU's names if it has them; without the language that nothing reads."""
        options: dict[str, Any] = (
            {f.name: getattr(self, f.name) for f in fields(self)} if is_dataclass(self) else {}
        )
        parts: dict[str, Any] = {}
        language = options.pop("language", "")
        if "lowercase" in options:
            parts["case"] = "lc" if options.pop("lowercase") else "mixed"
        if "tokenize" in options:
            parts["tok"] = tokenizer_signature(options.pop("tokenize"), language)
        return parts | options


class Rate(TextMetric):
    """100 x the first statistic for each unit of the second; NaN if that is 0."""

    def aggregate(self, sums: FloatArray) -> FloatArray:
        return 100 * ratio(sums[..., 0], sums[..., 1])


MT_METRICS: Catalogue[TextMetric] = Catalogue(
    "qe.systems.mt_metrics", TextMetric, "metric", group="mt_metric"
)


def known_direction(name: str) -> bool | None:
    """Whether higher is better, by the name of a metric or label; True if it is unknown.

    >>> known_direction("TER"), known_direction("comet"), known_direction("length")
    (False, True, None)
    """
    key = key_of(name.partition(":")[0])
    if is_rate(key):
        return False
    return MT_METRICS.get(key).higher_is_better if key in MT_METRICS else True


def title_of(metric: str) -> str:
    """What people call a metric, with the options of its name; a name of the user's stays."""
    base, sign, options = metric.partition(":")
    title = MT_METRICS.get(base).title if base in MT_METRICS else ""
    return f"{title or base}{sign}{options}"


def metric(text: str, defaults: Mapping[str, Any] | None = None) -> TextMetric:
    """The metric that `text` names, with `defaults` for the options that it leaves open.

    Raises InputError for unknown names, options or values, with the known ones.

    >>> metric("chrf:word_order=2", {"tokenize": "13a"})
    Chrf(order=6, word_order=2, beta=2.0, lowercase=False, white_space=False)
    """
    return configured(MT_METRICS, text, defaults)


def metrics_for(
    names: Sequence[str], tokenize: str | None, language: str | None, texts: Sequence[str]
) -> dict[str, TextMetric]:
    """The metrics that `names` say, in any case, by name; `texts` show the language if none is given."""
    heads = {name: name.partition(":")[0] for name in names}
    names = [name.replace(head, MT_METRICS.spelled(head), 1) for name, head in heads.items()]
    if tokenize is not None:
        known_name("tokenization", tokenize, TOKENIZATIONS)
        return {name: metric(name, {"tokenize": tokenize, "language": language or "en"}) for name in names}
    metrics = {}
    for name in names:
        usual: Mapping[str, Any] = {"language": language or "en"}
        if "tokenize=" not in name:
            usual = MT_METRICS.get(name.partition(":")[0]).usual(language_of(language, texts))
        metrics[name] = metric(name, usual)
    return metrics


def tokenizations_of(metrics: Iterable[TextMetric]) -> list[str]:
    """Tokenizations that were set for metrics with a default of the language (not for TER)."""
    usual = ((metric, metric.usual("en").get("tokenize", "none")) for metric in metrics)
    return [vars(metric)["tokenize"] for metric, tokenize in usual if tokenize != "none"]
