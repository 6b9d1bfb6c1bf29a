"""Dependency parsing: arc-standard transitions with a beam, then labels from the root downwards."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numba import njit

from qe_treebanks.annotators._word_models import Candidates
from qe_treebanks.hashed_features import (
    Floats,
    Hashes,
    Ids,
    Linear,
    Longs,
    atom_cells,
    atom_templates,
    best_of,
    update,
)

SHIFT, LEFT, RIGHT = 0, 1, 2  # LEFT: the top of the stack becomes head of the word below; RIGHT: the reverse
ACTIONS: Final = 3

# Words in features: top of the stack, the next two below, the next three of the buffer; the
# outermost children of the top two, and the next ones inwards.
_NODES: Final = (
    "s0", "s1", "s2", "b0", "b1", "b2", "s0l", "s0k", "s0r", "s0q", "s1l", "s1k", "s1r", "s1q",
)  # fmt: skip
_SHOWN: Final = ("w", "p", "m")  # word, part of speech, part of speech with morphology
# Distance of s0 and s1; number of left and right children of each; words between.
_MORE: Final = ("d", "v0l", "v0r", "v1l", "v1r", "between")
ATOMS: Final = tuple(f"{n}.{a}" for n in _NODES for a in _SHOWN) + _MORE

_TEXT: Final = """
s0.w|s0.p|s0.m|s0.w s0.p|s1.w|s1.p|s1.m|s1.w s1.p|s2.w|s2.p|s2.m|b0.w|b0.p|b0.m|b0.w b0.p|b1.w|b1.p|b1.m
b2.p|s0.w s1.w|s0.w s0.p s1.w s1.p|s0.w s0.p s1.p|s0.p s1.w s1.p|s0.p s1.p|s0.m s1.m|s0.m s1.p|s0.p s1.m
s0.w s1.m|s0.m s1.w|s0.p b0.p|s0.w b0.p|s0.p b0.w|s0.m b0.m|s0.w b0.w|s1.p b0.p|s1.w b0.w|s1.m b0.m
s0.p s1.p b0.p|s0.w s1.p b0.p|s0.p s1.w b0.p|s0.p s1.p b0.w|s0.m s1.m b0.m|s0.p b0.p b1.p|s0.w b0.p b1.p
s0.p s1.p b0.p b1.p|b0.p b1.p b2.p|s0.p s1.p s2.p|s0.w s1.p s2.p|s0.p s1.w s2.p|s0.p s1.p s2.w
s1.p s2.p b0.p|s0.m s1.m s2.m|s0.p s1.p s1l.p|s0.p s1.p s1r.p|s0.p s1.p s0l.p|s0.p s1.p s0r.p
s0.p s1.p s1r.w|s0.p s1.p s0l.w|s0.w s1.p s1r.p|s0.p s1.w s1r.p|s0.p s1.w s0l.p|s0.m s1.m s0l.m
s0.m s1.m s1r.m|s0.p s0l.p s0k.p|s0.p s0r.p s0q.p|s0.w s0l.p|s1.p s1l.p s1k.p|s1.p s1r.p s1q.p|s1.w s1r.p
s1.w s1l.p|s1.p s1r.w|s0.p s1.p s1r.p s1q.p|s0.p s1.p s1l.p s1k.p|s0.p s1.p s0l.p s0k.p|s0.p s1.p s1r.p b0.p
s0.p s0r.p b0.p|s0.w d|s0.p d|s1.w d|s1.p d|s0.p s1.p d|s0.m s1.m d|s0.w s1.p d|s0.p s1.w d|s0.p v0l
s0.p v0r|s0.w v0l|s0.w v0r|s1.p v1l|s1.p v1r|s1.w v1l|s1.w v1r|s0.p s1.p v1r|s0.p s1.p v0l|s0.p s1.p between
s0.m s1.m between|s0.p s1.p d between|s0.p s1.p b0.p between
"""


TEMPLATES: Final = atom_templates(_TEXT, ATOMS)


class Words(NamedTuple):
    """The words of one or several texts.

    hashes  (n, 4) of word, part of speech, part of speech with morphology, ending
    marks   (n,) bits for `between`
    """

    hashes: Hashes
    marks: Longs


# Rows of a state's table: head, leftmost child, second leftmost, rightmost, second rightmost; number
# of left and right children; the last row is the stack.
_HEAD, _L1, _L2, _R1, _R2, _NL, _NR, _STACK = range(8)
_ROWS: Final = 8


@njit(cache=True, nogil=True)
def bucket(distance: int) -> int:
    """Bucket of a distance: 1 to 4 exact, then 5 to 6, 7 to 10, more."""
    if distance < 5:
        return distance
    return 5 if distance < 7 else (6 if distance < 11 else 7)


@njit(cache=True, nogil=True)
def between(marks: Longs, low: int, high: int) -> int:
    """Union of the bits of words strictly between two words: verb, punctuation, conjunction."""
    seen = np.int64(0)
    for k in range(low + 1, high):
        seen |= marks[k]
    return int(seen)


@njit(cache=True, nogil=True)
def part_of(words: Words, low: int, high: int) -> Words:
    return Words(words.hashes[low:high], words.marks[low:high])


@njit(cache=True, nogil=True)
def _atoms(table: Longs, top: int, front: int, words: Words, result: Hashes) -> None:
    hashes, n = words.hashes, len(words.marks)
    nodes = np.full(14, -1, np.int64)
    for k in range(3):
        if top > k:
            nodes[k] = table[_STACK, top - 1 - k]
        if front + k < n:
            nodes[3 + k] = front + k
    for k in range(2):
        if nodes[k] >= 0:
            nodes[6 + 4 * k] = table[_L1, nodes[k]]
            nodes[7 + 4 * k] = table[_L2, nodes[k]]
            nodes[8 + 4 * k] = table[_R1, nodes[k]]
            nodes[9 + 4 * k] = table[_R2, nodes[k]]
    for k in range(14):
        for a in range(3):
            result[3 * k + a] = hashes[nodes[k], a] if nodes[k] >= 0 else np.uint64(7 + a)
    for k in range(6):
        result[42 + k] = np.uint64(0)
    if nodes[1] >= 0:
        result[42] = np.uint64(bucket(nodes[0] - nodes[1]))
        result[47] = np.uint64(between(words.marks, nodes[1], nodes[0]))
        result[45] = np.uint64(table[_NL, nodes[1]])
        result[46] = np.uint64(table[_NR, nodes[1]])
    if nodes[0] >= 0:
        result[43] = np.uint64(table[_NL, nodes[0]])
        result[44] = np.uint64(table[_NR, nodes[0]])


@njit(cache=True, nogil=True)
def _start(table: Longs) -> None:
    table[:, :] = -1
    table[_NL, :] = 0
    table[_NR, :] = 0


@njit(cache=True, nogil=True)
def _apply(table: Longs, top: int, front: int, action: int) -> tuple[int, int]:
    if action == SHIFT:
        table[_STACK, top] = front
        return top + 1, front + 1
    upper, lower = table[_STACK, top - 1], table[_STACK, top - 2]
    if action == LEFT:
        table[_HEAD, lower] = upper
        table[_L2, upper] = table[_L1, upper]
        table[_L1, upper] = lower
        table[_NL, upper] += 1
        table[_STACK, top - 2] = upper
    else:
        table[_HEAD, upper] = lower
        table[_R2, lower] = table[_R1, lower]
        table[_R1, lower] = upper
        table[_NR, lower] += 1
    return top - 1, front


@njit(cache=True, nogil=True)
def oracle(heads: Ids) -> Longs:
    """Actions (2n - 1,) that build a projective tree; `heads` from 0, -1 for the root."""
    n = len(heads)
    actions = np.empty(2 * n - 1, np.int64)
    table = np.empty((_ROWS, n), np.int64)
    _start(table)
    left = np.zeros(n, np.int64)  # unattached children
    for h in heads:
        if h >= 0:
            left[h] += 1
    top, front = 0, 0
    for step in range(2 * n - 1):
        action = SHIFT
        if top >= 2:
            upper, lower = table[_STACK, top - 1], table[_STACK, top - 2]
            if heads[lower] == upper and left[lower] == 0:
                action = LEFT
                left[upper] -= 1
            elif heads[upper] == lower and left[upper] == 0:
                action = RIGHT
                left[lower] -= 1
        actions[step] = action
        if action == SHIFT and front >= n:
            return actions[:0]  # not projective
        top, front = _apply(table, top, front, action)
    return actions


@njit(cache=True, nogil=True)
def _score_actions(
    table: Longs, top: int, front: int, words: Words, model: Linear, atoms: Hashes, cells: Longs,
    result: Floats,
) -> None:  # fmt: skip
    _atoms(table, top, front, words, atoms)
    atom_cells(atoms, model, cells)
    result[:] = 0.0
    for cell in cells:
        for action in range(ACTIONS):
            result[action] += model.weights[cell + action]


@njit(cache=True, nogil=True)
def search(words: Words, model: Linear, width: int, gold: Longs) -> tuple[Longs, Longs, int]:
    """Beam search: best actions, heads (-1: root), and with `gold` actions the number of steps to update on.

    The number is 0 if the right derivation won; otherwise the actions are the best ones at that step.
    """
    n = len(words.marks)
    steps = 2 * n - 1
    tables = np.empty((2, width, _ROWS, n), np.int64)
    tops = np.zeros((2, width), np.int64)
    fronts = np.zeros((2, width), np.int64)
    scores = np.zeros((2, width), np.float32)
    right = np.zeros((2, width), np.bool_)  # whether the derivation is still right
    parents = np.zeros((steps, width), np.int64)
    actions = np.zeros((steps, width), np.int64)
    _start(tables[0, 0])
    right[0, 0] = True
    filled, now = 1, 0
    atoms, cells = np.empty(len(ATOMS), np.uint64), np.empty(model.templates.shape[0], np.int64)
    row = np.empty(ACTIONS, np.float32)
    options = np.empty(width * ACTIONS, np.float32)
    learning = len(gold) > 0
    gold_table = np.empty((_ROWS, n), np.int64)
    _start(gold_table)
    gold_top, gold_front, gold_score = 0, 0, np.float32(0.0)
    worst, worst_step, worst_item = np.float32(0.0), 0, 0
    for step in range(steps):
        options[:] = -np.inf
        for item in range(filled):
            top, front = tops[now, item], fronts[now, item]
            _score_actions(tables[now, item], top, front, words, model, atoms, cells, row)
            if front < n:
                options[item * ACTIONS + SHIFT] = scores[now, item] + row[SHIFT]
            if top >= 2:
                options[item * ACTIONS + LEFT] = scores[now, item] + row[LEFT]
                options[item * ACTIONS + RIGHT] = scores[now, item] + row[RIGHT]
        following = 1 - now
        kept = 0
        for place in range(width):
            best = int(np.argmax(options))
            if options[best] == -np.inf:
                break
            item, action = best // ACTIONS, best % ACTIONS
            tables[following, place] = tables[now, item]
            tops[following, place], fronts[following, place] = _apply(
                tables[following, place], tops[now, item], fronts[now, item], action
            )
            scores[following, place] = options[best]
            right[following, place] = learning and right[now, item] and action == gold[step]
            parents[step, place], actions[step, place] = item, action
            options[best] = -np.inf
            kept += 1
        filled, now = kept, following
        if learning:
            _score_actions(gold_table, gold_top, gold_front, words, model, atoms, cells, row)
            gold_score += row[gold[step]]
            gold_top, gold_front = _apply(gold_table, gold_top, gold_front, gold[step])
            gap = scores[now, 0] - gold_score
            if not right[now, 0] and gap >= worst:
                worst, worst_step, worst_item = gap, step + 1, 0
    if learning and right[now, 0]:
        worst_step = 0
    length = worst_step if learning else steps
    scored_actions = np.empty(length, np.int64)
    item = worst_item if learning else 0
    for step in range(length - 1, -1, -1):
        scored_actions[step] = actions[step, item]
        item = parents[step, item]
    return scored_actions, tables[now, 0, _HEAD].copy(), worst_step


@njit(cache=True, nogil=True)
def _update(words: Words, model: Linear, scored_actions: Longs, amount: float, clock: int) -> None:
    table = np.empty((_ROWS, len(words.marks)), np.int64)
    _start(table)
    top, front = 0, 0
    atoms, cells = np.empty(len(ATOMS), np.uint64), np.empty(model.templates.shape[0], np.int64)
    for action in scored_actions:
        _atoms(table, top, front, words, atoms)
        atom_cells(atoms, model, cells)
        for cell in cells:
            model.weights[cell + action] += amount
            model.sums[cell + action] += amount * clock
        top, front = _apply(table, top, front, action)


@njit(cache=True, nogil=True)
def one_pass(
    words: Words, offsets: Longs, heads: Ids, order: Longs, model: Linear, width: int, clock: int
) -> None:
    """Trains on the trees in this order; `clock` is the number of earlier trees.

    The perceptron is updated at the step of maximum violation (Huang, Fayong and Guo 2012). Actions:
    arc-standard (Nivre 2004); features after Zhang and Nivre 2011.
    """
    for k in order:
        low, high = offsets[k], offsets[k + 1]
        clock += 1
        if high - low < 2:
            continue
        gold = oracle(heads[low:high])
        if len(gold) == 0:
            continue
        text = part_of(words, low, high)
        scored_actions, _, steps = search(text, model, width, gold)
        if steps:
            _update(text, model, gold[:steps], 1.0, clock)
            _update(text, model, scored_actions, -1.0, clock)


@njit(cache=True, nogil=True)
def parse(words: Words, offsets: Longs, model: Linear, width: int, heads: Ids) -> None:
    """Fills `heads` of a projective tree with one root: places within the text, from 0; -1 for the root."""
    none = np.empty(0, np.int64)
    for k in range(len(offsets) - 1):
        low, high = offsets[k], offsets[k + 1]
        if high > low:
            _, of_text, _ = search(part_of(words, low, high), model, width, none)
            for i in range(high - low):
                heads[low + i] = of_text[i]


def projective(heads: Sequence[int]) -> list[int]:
    """Heads of a projective tree, lifting the shortest crossing arc repeatedly (Nivre and Nilsson 2005)."""
    result = list(heads)
    while True:
        first, beyond = _spans(result)
        arcs = sorted((abs(word - head), word) for word, head in enumerate(result) if head >= 0)
        for _, word in arcs:
            head = result[word]
            inner = first[min(word, head) + 1 : max(word, head)]
            if len(inner) and not (first[head] <= inner.min() and inner.max() < beyond[head]):
                result[word] = result[head]
                break
        else:
            return result


def _spans(heads: Sequence[int]) -> tuple[Longs, Longs]:
    below: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads):
        below[head].append(word)  # the root's head -1 is the last entry
    order, waiting = list[int](), below[-1][::-1]
    while waiting:
        order.append(waiting.pop())
        waiting += below[order[-1]][::-1]
    first, sizes = np.zeros(len(heads), np.int64), np.ones(len(heads), np.int64)
    first[order] = np.arange(len(order))
    for word in reversed(order):
        if heads[word] >= 0:
            sizes[heads[word]] += sizes[word]
    return first, first + sizes


# Dependant, its head, the head's head, the words next to the dependant, its outermost children, the head's
# outermost children; word, part of speech, part of speech with morphology, ending.
_RELATION_NODES: Final = ("d", "h", "g", "before", "after", "dl", "dr", "hl", "hr")
_RELATION_SHOWN: Final = ("w", "p", "m", "e")
# Side and distance; words between; children of the dependant on each side; label of the head, of the
# previous sibling, whether it is on the same side; root or not.
_RELATION_MORE: Final = ("side", "distance", "between", "left", "right", "above", "sibling")
RELATION_ATOMS: Final = tuple(f"{n}.{a}" for n in _RELATION_NODES for a in _RELATION_SHOWN) + _RELATION_MORE

_RELATION_TEXT: Final = """
d.w|d.p|d.m|d.e d.p|h.w side|h.p side|h.m side|d.w h.w|d.w h.p side|d.p h.w side|d.p h.p side|d.m h.m side
d.m h.p side|d.p h.m side|d.p h.p side distance|d.m h.m distance side|d.w side|d.p side distance|d.e h.e
d.p h.p before.p|d.p h.p after.p|d.p before.p after.p|d.w before.p|d.w after.p|d.p before.w|d.p after.w
d.p dl.w|d.p dl.w h.p|d.p dl.w h.w|d.p dl.p h.p side|d.p dr.p h.p side|d.m dl.m h.m|d.p dr.w|d.w dl.w
d.p left right|d.p h.p left right side|d.p h.p between side|d.m h.m between side|d.p above|d.w above
d.p h.p above side|d.m h.p above side|d.p sibling side|d.p h.p sibling side|d.m h.m sibling side|d.w sibling
h.w sibling d.p side|above sibling d.p side|d.p h.p g.p|d.p h.p g.p above|d.p h.w above|d.p hl.p h.p side
d.p hr.p h.p side|d.p hl.w h.p side|h.w dl.w side|d.e dl.w|d.p dl.p dr.p
"""


RELATION_TEMPLATES: Final = atom_templates(_RELATION_TEXT, RELATION_ATOMS)


@njit(cache=True, nogil=True)
def _outermost(heads: Ids) -> Longs:
    n = len(heads)
    result = np.zeros((4, n), np.int64)
    result[:2] = -1
    for word in range(n):
        head = heads[word]
        if head < 0:
            continue
        if word < head:
            if result[0, head] < 0:
                result[0, head] = word
            result[2, head] += 1
        else:
            result[1, head] = word
            result[3, head] += 1
    return result


@njit(cache=True, nogil=True)
def _order(heads: Ids) -> Longs:
    n = len(heads)
    order, filled = np.empty(n, np.int64), 0
    for word in range(n):
        if heads[word] < 0:
            order[filled] = word
            filled += 1
    done = 0
    while done < filled:
        head = order[done]
        done += 1
        for word in range(n):
            if heads[word] == head and filled < n:
                order[filled] = word
                filled += 1
    return order[:filled]


@njit(cache=True, nogil=True)
def _label_tree(
    words: Words, tags: Ids, heads: Ids, model: Linear, candidates: Candidates, gold: Ids, clock: int,
    labels: Ids,
) -> None:  # fmt: skip
    outer = _outermost(heads)
    last = np.full(len(heads) + 1, -1, np.int64)  # the previously labelled sibling, by head
    atoms, cells = np.empty(len(RELATION_ATOMS), np.uint64), np.empty(model.templates.shape[0], np.int64)
    n = len(heads)
    labels[:] = -1
    for word in _order(heads):
        head = heads[word]
        nodes = np.full(9, -1, np.int64)
        nodes[0], nodes[1] = word, head
        nodes[2] = heads[head] if head >= 0 else -1
        nodes[3], nodes[4] = word - 1, word + 1 if word + 1 < n else -1
        nodes[5], nodes[6] = outer[0, word], outer[1, word]
        if head >= 0:
            nodes[7], nodes[8] = outer[0, head], outer[1, head]
        for k in range(9):
            for a in range(4):
                atoms[4 * k + a] = words.hashes[nodes[k], a] if nodes[k] >= 0 else np.uint64(11 + a)
        low, high = min(word, head), max(word, head)
        before = last[head]
        atoms[36] = np.uint64(0 if head < 0 else (1 if word < head else 2))
        atoms[37] = np.uint64(0 if head < 0 else bucket(high - low))
        atoms[38] = np.uint64(0 if head < 0 else between(words.marks, low, high))
        atoms[39], atoms[40] = np.uint64(outer[2, word]), np.uint64(outer[3, word])
        atoms[41] = np.uint64(1000 if head < 0 else labels[head])
        atoms[42] = np.uint64(1001 if before < 0 else 2 * labels[before] + ((before < head) == (word < head)))
        last[head] = word
        atom_cells(atoms, model, cells)
        allowed = candidates.labels[candidates.starts[tags[word]] : candidates.starts[tags[word] + 1]]
        labels[word] = best_of(cells, model.weights, allowed)
        if len(gold) and gold[word] != labels[word]:
            update(model, cells, gold[word], labels[word], clock)


@njit(cache=True, nogil=True)
def label(
    words: Words, tags: Ids, offsets: Longs, heads: Ids, order: Longs, model: Linear, candidates: Candidates,
    gold: Ids, clock: int, labels: Ids,
) -> None:  # fmt: skip
    """Fills `labels` with the label of each word's arc, among those seen with its part of speech.

    The texts are labelled in this order, and the model is updated where `gold`, if not empty, has another
    label; `clock` is the number of earlier texts.
    """
    for k in order:
        low, high = offsets[k], offsets[k + 1]
        clock += 1
        _label_tree(
            part_of(words, low, high), tags[low:high], heads[low:high], model, candidates, gold[low:high],
            clock, labels[low:high],
        )  # fmt: skip
