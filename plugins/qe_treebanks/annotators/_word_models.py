"""Models of words: choices among candidates, sequences of labels, lemmas."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from features.basics.progress import Progress, silent
from features.storage.damage import rising, rows, typed
from features.text.tokens import Tokens
from qe_treebanks.annotators import _storage
from qe_treebanks.annotators._storage import Arrays
from qe_treebanks.hashed_features import (
    Floats,
    Hashes,
    Ids,
    Linear,
    Longs,
    Template,
    Texts,
    averaged,
    best_of,
    hashed,
    linear,
    template_array,
    texts_of,
    untrained,
    update,
    word_cells,
)

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Training:
    """Training settings: 2^bits weights, passes over the texts, seed of their order."""

    epochs: int = 8
    seed: int = 0
    bits: int = 20
    progress: Progress = silent
    stage: str = "training"

    def steps(self, texts: int, one_pass: Callable[[Longs, int], int]) -> int:
        random, steps = np.random.default_rng(self.seed), 0
        for epoch in range(self.epochs):
            steps = one_pass(random.permutation(texts), steps)
            self.progress(self.stage, epoch + 1, self.epochs)
        return steps


class Candidates(NamedTuple):
    """Labels that tag t allows, at least one: labels[starts[t]:starts[t + 1]]."""

    labels: Ids
    starts: Longs

    @classmethod
    def from_gold(cls, tags: Ids, gold: Ids, number: int) -> "Candidates":
        """The labels seen with each of `number` tags; an unseen tag allows the most frequent label."""
        labels: list[set[int]] = [set() for _ in range(number)]
        for tag, label in zip(tags.tolist(), gold.tolist(), strict=True):
            labels[tag].add(label)
        usual = int(np.bincount(gold).argmax()) if len(gold) else 0
        lists = [sorted(choices) or [usual] for choices in labels]
        flat = np.array([label for choices in lists for label in choices], np.int32)
        return cls(flat, np.cumsum([0, *map(len, lists)]).astype(np.int64))

    @classmethod
    def load(cls, arrays: Arrays, tags: int, labels: int) -> "Candidates":
        """The candidates of so many tags; raises Damaged for others, or a tag without one."""
        candidates, starts = arrays["candidates"], arrays["starts"]
        rows(starts, tags, candidates, labels)
        rising("starts of candidates", starts, 0, len(candidates), strictly=True)
        return cls(candidates, starts)


@dataclass(frozen=True, eq=False)
class ChoiceModel:
    """A linear model that labels single words, choosing among the labels that a known tag allows.

    templates  inputs of each feature; attribute -1 is the tag
    weights    (2^k + L,)
    """

    labels: tuple[str, ...]
    tags: tuple[str, ...]
    templates: tuple[Template, ...]
    weights: Floats
    candidates: Candidates

    def predict(self, tokens: Tokens, tags: Ids, hashes: Hashes | None = None) -> Ids:
        result, none = np.empty(len(tokens.ids), np.int32), np.empty(0, np.int32)
        of_tags = np.array([hashed(f"tag={tag}") for tag in self.tags], np.uint64)
        texts = texts_of(tokens, hashes, of_tags[tags])
        model = linear(template_array(self.templates), self.weights, len(self.labels))
        _choose(texts, tags, np.arange(len(tokens)), model, self.candidates, none, 0, result)
        return result


def fit_choices(
    tokens: Tokens, tags: Ids, gold: Ids, tag_names: Sequence[str], labels: Sequence[str],
    templates: Sequence[Template], training: Training,
) -> ChoiceModel:  # fmt: skip
    candidates = Candidates.from_gold(tags, gold, len(tag_names))
    of_tags = np.array([hashed(f"tag={tag}") for tag in tag_names], np.uint64)
    texts = texts_of(tokens, None, of_tags[tags])
    model, guess = untrained(template_array(templates), training.bits, len(labels)), np.empty_like(gold)

    def one_pass(order: Longs, steps: int) -> int:
        _choose(texts, tags, order, model, candidates, gold, steps, guess)
        return steps + len(order)

    average = averaged(model, training.steps(len(tokens), one_pass))
    return ChoiceModel(tuple(labels), tuple(tag_names), tuple(templates), average, candidates)


@njit(cache=True, nogil=True)
def _choose(
    texts: Texts, tags: Ids, order: Longs, model: Linear, candidates: Candidates, gold: Ids, steps: int,
    result: Ids,
) -> None:  # fmt: skip
    for k in order:
        low, high = texts.offsets[k], texts.offsets[k + 1]
        cells = word_cells(texts, low, high, model)
        steps += 1
        for i in range(low, high):
            allowed = candidates.labels[candidates.starts[tags[i]] : candidates.starts[tags[i] + 1]]
            result[i] = best_of(cells[i - low], model.weights, allowed)
            if len(gold) and gold[i] != result[i]:
                update(model, cells[i - low], gold[i], result[i], steps)


@dataclass(frozen=True, eq=False)
class SequenceModel:
    """Labels a text by Viterbi's algorithm, from hashed features of nearby words and the previous label.

    weights      (2^k + L,) of feature and label (`qe_treebanks.hashed_features`)
    transitions  (L + 1, L) of a label after another; the last row: at the beginning; minus infinity: never

    Source: Collins 2002, Discriminative training methods for hidden Markov models.
    """

    labels: tuple[str, ...]
    templates: tuple[Template, ...]
    weights: Floats
    transitions: Floats

    def predict(self, tokens: Tokens, hashes: Hashes | None = None) -> Ids:
        result = np.empty(len(tokens.ids), np.int32)
        _predict(*self._arrays(tokens, hashes), result)
        return result

    def near(self, tokens: Tokens, margin: float, hashes: Hashes | None = None) -> Flags:
        """Labels (n_tokens, L) of every token in labellings of its text up to `margin` below the best."""
        result = np.zeros((len(tokens.ids), len(self.labels)), np.bool_)
        _near(*self._arrays(tokens, hashes), np.float32(margin), result)
        return result

    def _arrays(self, tokens: Tokens, hashes: Hashes | None) -> tuple[Texts, Linear, Floats]:
        model = linear(template_array(self.templates), self.weights, len(self.labels))
        return texts_of(tokens, hashes), model, self.transitions

    @classmethod
    def load(
        cls, arrays: Arrays, name: str, labels: tuple[str, ...], templates: tuple[Template, ...]
    ) -> "SequenceModel":
        transitions = arrays["transitions"]
        typed("transitions", transitions, np.float32, len(labels) + 1, len(labels))
        sound = ~np.isnan(transitions) & (transitions < np.inf)
        _storage.check(sound.all(), "transitions hold what is no score")
        return cls(labels, templates, _storage.weights(arrays, name, len(labels)), transitions)


class _Moves(NamedTuple):
    weights: Floats
    sums: NDArray[np.float64]
    fence: Floats  # minus infinity forbids a transition


def fit_sequence(
    tokens: Tokens, gold: Ids, labels: Sequence[str], templates: Sequence[Template], training: Training,
    follows: Flags | None = None,
) -> SequenceModel:  # fmt: skip
    """Fits a model of tokens with labels `gold` (n_tokens,).

    follows  (L + 1, L) allowed transitions (last row: allowed first labels); None: all
    """
    shape = len(labels) + 1, len(labels)
    allowed = np.ones(shape, np.bool_) if follows is None else follows
    fence = np.where(allowed, 0.0, -np.inf).astype(np.float32)
    moves = _Moves(np.zeros(shape, np.float32), np.zeros(shape), fence)
    texts, model = texts_of(tokens), untrained(template_array(templates), training.bits, len(labels))
    steps = training.steps(
        len(tokens), lambda order, steps: _sequence_pass(texts, gold, order, model, moves, steps)
    )
    transitions = (moves.weights - moves.sums / max(steps, 1) + fence).astype(np.float32)
    return SequenceModel(tuple(labels), tuple(templates), averaged(model, steps), transitions)


@njit(cache=True, nogil=True)
def _emissions(texts: Texts, low: int, high: int, model: Linear, size: int) -> tuple[Longs, Floats]:
    cells = word_cells(texts, low, high, model)
    scores = np.zeros((high - low, size), np.float32)
    for i in range(cells.shape[0]):
        for t in range(cells.shape[1]):
            base = cells[i, t]
            for label in range(size):
                scores[i, label] += model.weights[base + label]
    return cells, scores


@njit(cache=True, nogil=True)
def _viterbi(scores: Floats, transitions: Floats, back: Ids, best: Ids) -> None:
    n, size = scores.shape
    for label in range(size):
        scores[0, label] += transitions[size, label]
    for i in range(1, n):
        for label in range(size):
            top, last = scores[i - 1, 0] + transitions[0, label], 0
            for before in range(1, size):
                score = scores[i - 1, before] + transitions[before, label]
                if score > top:
                    top, last = score, before
            scores[i, label] += top
            back[i, label] = last
    best[n - 1] = np.argmax(scores[n - 1])
    for i in range(n - 1, 0, -1):
        best[i - 1] = back[i, best[i]]


@njit(cache=True, nogil=True)
def _predict(texts: Texts, model: Linear, transitions: Floats, result: Ids) -> None:
    size = transitions.shape[1]
    for k in range(len(texts.offsets) - 1):
        low, high = texts.offsets[k], texts.offsets[k + 1]
        if high > low:
            _, scores = _emissions(texts, low, high, model, size)
            _viterbi(scores, transitions, np.empty((high - low, size), np.int32), result[low:high])


@njit(cache=True, nogil=True)
def _near(texts: Texts, model: Linear, transitions: Floats, margin: np.float32, result: Flags) -> None:
    size = transitions.shape[1]
    for k in range(len(texts.offsets) - 1):
        low, high = texts.offsets[k], texts.offsets[k + 1]
        n = high - low
        if n == 0:
            continue
        _, own = _emissions(texts, low, high, model, size)
        before = own.copy()  # scores of the best labellings up to a word, by its label
        _viterbi(before, transitions, np.empty((n, size), np.int32), np.empty(n, np.int32))
        after = np.zeros((n, size), np.float32)  # scores of the best labellings after a word
        for i in range(n - 2, -1, -1):
            for label in range(size):
                best = np.float32(-np.inf)
                for following in range(size):
                    score = transitions[label, following] + own[i + 1, following] + after[i + 1, following]
                    best = max(best, score)
                after[i, label] = best
        least = before[n - 1].max() - margin
        for i in range(n):
            for label in range(size):
                result[low + i, label] = before[i, label] + after[i, label] >= least


@njit(cache=True, nogil=True)
def _sequence_pass(texts: Texts, gold: Ids, order: Longs, model: Linear, moves: _Moves, steps: int) -> int:
    size = moves.fence.shape[1]
    for k in order:
        low, high = texts.offsets[k], texts.offsets[k + 1]
        n = high - low
        steps += 1
        if n == 0:
            continue
        cells, scores = _emissions(texts, low, high, model, size)
        best = np.empty(n, np.int32)
        _viterbi(scores, moves.weights + moves.fence, np.empty((n, size), np.int32), best)
        before, guess_before = size, size
        for i in range(n):
            right, guess = gold[low + i], best[i]
            if right != guess:
                update(model, cells[i], right, guess, steps)
            if right != guess or before != guess_before:
                moves.weights[before, right] += 1.0
                moves.sums[before, right] += steps
                moves.weights[guess_before, guess] -= 1.0
                moves.sums[guess_before, guess] -= steps
            before, guess_before = right, guess
    return steps


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
        rules = {key: _most_frequent(counts) for key, counts in endings.items()}
        kept = {key: rule for key, rule in rules.items() if endings[key][rule] >= _LEAST}
        return cls(
            {key: _most_frequent(counts) for key, counts in words.items()},
            {
                (tag, ending, more): rule
                for (tag, ending, more), rule in kept.items()
                if not ending or kept.get((tag, ending[1:], more)) != rule  # a shorter ending has it
            },
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
                    stem = form if rule[1].startswith(_AS_IT_IS) else lower
                    return (stem[: len(stem) - rule[0]] + rule[1].removeprefix(_AS_IT_IS)) or form
        return form

    def as_json(self) -> dict[str, Any]:
        return {
            "words": [[*key, lemma] for key, lemma in self.words.items()],
            "endings": [[*key, cut, add] for key, (cut, add) in self.endings.items()],
        }

    @classmethod
    def from_json(cls, content: Any) -> Self:
        """Reverse of `as_json`; fails for other content."""
        words = {(str(f), str(t), str(m)): str(lemma) for f, t, m, lemma in content["words"]}
        rules = {
            (str(t), str(e), str(m)): (max(int(cut), 0), str(add)) for t, e, m, cut, add in content["endings"]
        }
        return cls(words, rules)


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


def _most_frequent(counts: Counter[Any]) -> Any:
    return min(counts, key=lambda item: (-counts[item], item))
