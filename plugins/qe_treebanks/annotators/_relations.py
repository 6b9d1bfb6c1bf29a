"""Labels of dependency arcs: averaged perceptron, from the root downwards."""

from typing import Final

import numpy as np
from numba import njit

from qe_treebanks.annotators._transitions import Words, bucket, part_of
from qe_treebanks.annotators._transitions import between as lying_between
from qe_treebanks.annotators._word_models import Candidates
from qe_treebanks.hashed_features import Ids, Linear, Longs, atom_cells, atom_templates, best_of, update

# Dependant, its head, the head's head, the words next to the dependant, its outermost children, the head's
# outermost children; word, part of speech, part of speech with morphology, ending.
_NODES: Final = ("d", "h", "g", "before", "after", "dl", "dr", "hl", "hr")
_SHOWN: Final = ("w", "p", "m", "e")
# Side and distance; words between; children of the dependant on each side; label of the head, of the
# previous sibling, whether it is on the same side; root or not.
_MORE: Final = ("side", "distance", "between", "left", "right", "above", "sibling")
ATOMS: Final = tuple(f"{n}.{a}" for n in _NODES for a in _SHOWN) + _MORE

_TEXT: Final = """
d.w|d.p|d.m|d.e d.p|h.w side|h.p side|h.m side|d.w h.w|d.w h.p side|d.p h.w side|d.p h.p side|d.m h.m side
d.m h.p side|d.p h.m side|d.p h.p side distance|d.m h.m distance side|d.w side|d.p side distance|d.e h.e
d.p h.p before.p|d.p h.p after.p|d.p before.p after.p|d.w before.p|d.w after.p|d.p before.w|d.p after.w
d.p dl.w|d.p dl.w h.p|d.p dl.w h.w|d.p dl.p h.p side|d.p dr.p h.p side|d.m dl.m h.m|d.p dr.w|d.w dl.w
d.p left right|d.p h.p left right side|d.p h.p between side|d.m h.m between side|d.p above|d.w above
d.p h.p above side|d.m h.p above side|d.p sibling side|d.p h.p sibling side|d.m h.m sibling side|d.w sibling
h.w sibling d.p side|above sibling d.p side|d.p h.p g.p|d.p h.p g.p above|d.p h.w above|d.p hl.p h.p side
d.p hr.p h.p side|d.p hl.w h.p side|h.w dl.w side|d.e dl.w|d.p dl.p dr.p
"""


TEMPLATES: Final = atom_templates(_TEXT, ATOMS)


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
    atoms, cells = np.empty(len(ATOMS), np.uint64), np.empty(model.templates.shape[0], np.int64)
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
        atoms[38] = np.uint64(0 if head < 0 else lying_between(words.marks, low, high))
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
def one_pass(
    words: Words, tags: Ids, offsets: Longs, heads: Ids, gold: Ids, order: Longs, model: Linear,
    candidates: Candidates, clock: int,
) -> None:  # fmt: skip
    for k in order:
        low, high = offsets[k], offsets[k + 1]
        clock += 1
        _label_tree(
            part_of(words, low, high), tags[low:high], heads[low:high], model, candidates, gold[low:high],
            clock, np.empty(high - low, np.int32),
        )  # fmt: skip


@njit(cache=True, nogil=True)
def label(
    words: Words, tags: Ids, offsets: Longs, heads: Ids, model: Linear, candidates: Candidates, labels: Ids
) -> None:
    """Fills `labels` with the label of each word's arc, among those seen with its part of speech."""
    none = np.empty(0, np.int32)
    for k in range(len(offsets) - 1):
        low, high = offsets[k], offsets[k + 1]
        _label_tree(
            part_of(words, low, high), tags[low:high], heads[low:high], model, candidates, none, 0,
            labels[low:high],
        )  # fmt: skip
