"""Compare labelled brackets by the rules of EVALB (Sekine and Collins). The rules are set as in its
COLLINS.prm.

- Words whose tag in the gold tree is punctuation are taken out of both trees before brackets are counted; so
  are the brackets that they leave empty. Punctuation: `, : `` '' .` of the Penn Treebank, and tags that begin
  with `F` and have no second capital (`Fc`, `fp`) of EAGLES. Other trees keep all words.
- Tags (brackets around one word) and the root (`ROOT`, `TOP`, no label) do not count.
- A label ends before `-`, `=` or `|`; `PRT` and `ADVP` are the same.
- A bracket is right if label, first and last word are those of a gold bracket; each gold bracket once.
- Precision, recall and F1 are over all brackets of all sentences, of any length; a text without a parse has
  no brackets.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from qe_treebanks.annotators._brackets import ROOT, Node, category

_PENN: Final = frozenset({",", ":", "``", "''", "."})
_EAGLES: Final = re.compile(r"[Ff][a-z]{1,3}\d*")
_SAME: Final = {"PRT": "ADVP"}
_ROOTS: Final = frozenset({ROOT, "TOP", "S1", ""})

Bracket = tuple[str, int, int]


def is_punctuation(tag: str) -> bool:
    """Whether a tag is of punctuation, in the treebanks at hand.

    >>> [is_punctuation(tag) for tag in (".", "Fc", "fpa", "FW", "NN", "Fw")]
    [True, True, True, False, False, True]
    """
    return tag in _PENN or bool(_EAGLES.fullmatch(tag))


def brackets(tree: Node, dropped: frozenset[int]) -> Counter[Bracket]:
    """(label, first word, end) of the constituents, without the words in `dropped`."""
    result: Counter[Bracket] = Counter()
    _collect(tree, 0, 0, dropped, result)
    return result


def _collect(
    node: Node, place: int, start: int, dropped: frozenset[int], result: Counter[Bracket]
) -> tuple[int, int]:
    if node.word:
        return place + 1, start + (place not in dropped)
    end = start
    for child in node.children:
        place, end = _collect(child, place, end, dropped, result)
    if end > start and node.label not in _ROOTS:
        label = category(node.label)
        result[_SAME.get(label, label), start, end] += 1
    return place, end


def punctuation(tree: Node) -> frozenset[int]:
    """The places of the words with a tag of punctuation."""
    return frozenset(i for i, leaf in enumerate(tree.leaves()) if is_punctuation(leaf.label))


def scores(pairs: Iterable[tuple[Node, Node | None]]) -> dict[str, Any]:
    """Figures over (gold, parsed) trees of the same words; None: no parse."""
    right = gold = parsed = exact = sentences = missing = tags = words = 0
    for true, guess in pairs:
        dropped = punctuation(true)
        one = brackets(true, dropped)
        other = brackets(guess, dropped) if guess is not None else Counter[Bracket]()
        gold, parsed = gold + one.total(), parsed + other.total()
        right += (one & other).total()
        exact, sentences, missing = exact + (one == other), sentences + 1, missing + (guess is None)
        leaves = [leaf.label for leaf in true.leaves()]
        words += len(leaves)
        if guess is not None:
            tags += sum(a == b.label for a, b in zip(leaves, guess.leaves(), strict=True))
    precision, recall = right / parsed if parsed else 0.0, right / gold if gold else 0.0
    return {
        "n": gold,
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall) if right else 0.0,
        "exact": exact / max(sentences, 1),
        "tags": tags / max(words, 1),
        "sentences": sentences,
        "without_parse": missing,
    }
