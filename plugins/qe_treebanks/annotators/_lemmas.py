"""Base forms: a dictionary from the treebank, and suffix rules for unknown words."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from qe_treebanks.annotators import _storage

_LONGEST: Final = 6  # maximum letters of a rule's suffix
_LEAST: Final = 2  # minimum uses of a rule

Rule = tuple[int, str]  # letters to cut, letters to add


@dataclass(frozen=True, eq=False)
class Lemmas:
    """Base forms by (lower-cased form, tag, morphology) or (form, tag, ""), and suffix rules for other words.

    endings  (tag, ending, morphology or "") -> letters to cut and to add
    """

    words: Mapping[tuple[str, str, str], str]
    endings: Mapping[tuple[str, str, str], Rule]

    @classmethod
    def learned(cls, rows: Iterable[tuple[str, str, str, str]]) -> Self:
        """Learns from (form, tag, morphology, base form) of a treebank's words."""
        words: defaultdict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
        endings: defaultdict[tuple[str, str, str], Counter[Rule]] = defaultdict(Counter)
        distinct = Counter(rows)
        for (form, tag, morphology, lemma), n in distinct.items():
            for more in (morphology, ""):
                words[form.lower(), tag, more][lemma] += n
        for form, tag, morphology, lemma in distinct:
            for more in (morphology, ""):
                for length in range(min(_LONGEST, len(form)) + 1):
                    endings[tag, form.lower()[len(form) - length :], more][_rule(form, lemma)] += 1
        best = {key: _most_frequent(lemma_counts) for key, lemma_counts in endings.items()}
        kept = {key: best[key] for key, lemma_counts in endings.items() if lemma_counts[best[key]] >= _LEAST}
        return cls(
            {key: _most_frequent(lemma_counts) for key, lemma_counts in words.items()}, _without_repeats(kept)
        )

    def lemma(self, form: str, tag: str, morphology: str) -> str:
        lower = form.lower()
        for more in (morphology, ""):
            if (lower, tag, more) in self.words:
                return self.words[lower, tag, more]
        for more in (morphology, ""):
            for length in range(min(_LONGEST, len(lower)), -1, -1):
                rule = self.endings.get((tag, lower[len(lower) - length :], more))
                if rule is not None and rule[0] <= len(lower):
                    stem = lower if rule[1] is not None and not _keeps(rule) else form
                    return (stem[: len(stem) - rule[0]] + rule[1].removeprefix(_AS_IT_IS)) or form
        return form

    def as_json(self) -> dict[str, Any]:
        return {
            "words": [[*key, lemma] for key, lemma in self.words.items()],
            "endings": [[*key, cut, add] for key, (cut, add) in self.endings.items()],
        }

    @classmethod
    def from_json(cls, content: Any, path: Path) -> Self:
        """Reverse of `as_json`; raises InputError for invalid content."""
        good = isinstance(content, dict) and {"words", "endings"} <= set(content)
        _storage.check(good, "no base forms", path)
        try:
            words = {(str(f), str(t), str(m)): str(lemma) for f, t, m, lemma in content["words"]}
            endings = {
                (str(t), str(e), str(m)): (max(int(cut), 0), str(add))
                for t, e, m, cut, add in content["endings"]
            }
        except (TypeError, ValueError):
            _storage.check(False, "base forms are no lists of texts", path)
            raise
        return cls(words, endings)


_AS_IT_IS: Final = "\x00"  # marks a rule whose base form keeps the form's capitals


def _rule(form: str, lemma: str) -> Rule:
    """The rule from a form, lower-cased unless the base form has capitals, to its base form.

    >>> _rule("casas", "casa"), _rule("Fue", "ser"), _rule("Paris", "Paris")
    ((1, ''), (3, 'ser'), (0, '\\x00'))
    """
    mark = _AS_IT_IS if lemma != lemma.lower() else ""
    start = form if mark else form.lower()
    common = 0
    while common < min(len(start), len(lemma)) and start[common] == lemma[common]:
        common += 1
    return len(start) - common, mark + lemma[common:]


def _keeps(rule: Rule) -> bool:
    return rule[1].startswith(_AS_IT_IS)


def _most_frequent(counts: Counter[Any]) -> Any:
    return min(counts, key=lambda item: (-counts[item], item))


def _without_repeats(endings: dict[tuple[str, str, str], Rule]) -> dict[tuple[str, str, str], Rule]:
    return {
        (tag, ending, more): rule
        for (tag, ending, more), rule in endings.items()
        if not ending or endings.get((tag, ending[1:], more)) != rule
    }
