"""Constituents: a probabilistic context-free grammar, trained from bracketed trees."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.storage.damage import rising, typed, within
from features.storage.files import sha256
from features.text.tokens import Tokens
from qe.display.numbers import fixed
from qe.display.summary import Printable
from qe_treebanks.annotator_folder import Annotator, Batch, Files, Settings, indexed
from qe_treebanks.annotators import _storage
from qe_treebanks.annotators._chart_parser import VERSION, ChartParser, Guide
from qe_treebanks.annotators._grammar import (
    ROOT,
    Counts,
    Node,
    counted,
    kind_name,
    plain_name,
    read_trees,
    scores,
    transformed,
)


@dataclass(frozen=True, eq=False)
class Constituents(Annotator, Printable):
    """Adds comments with the best tree (`constituency`) and its grammar (`tree_grammar`: `fine` or `plain`).

    `tree_log_probability` belongs to the best tree, `tree_log_probabilities` to the n best, best first.

    Words that the treebank joins by `_` (`Nueva_York`) are learned both joined and split, because texts
    separate them. A text of more than 250 words, or without a tree, has one comment only: `tree_grammar =
    none`.
    """

    treebank = "bracketed trees"
    defaults: ClassVar[Mapping[str, int]] = {"vertical": 2, "horizontal": 1, "n_best": 1}

    settings: Mapping[str, Any]
    counts: Counts
    parser: ChartParser

    @classmethod
    def train(cls, files: Files, language: str, settings: Settings, progress: Progress = silent) -> Self:
        read = [read_trees(file) for file in files]
        trees = [tree for trees_of_file, _ in read for tree in trees_of_file]
        skipped = sum(len(notes) for _, notes in read)
        if not trees:
            raise InputError("no tree", location=", ".join(map(str, files)))
        about = {"trees": len(trees), "skipped": skipped, "files": [sha256(file) for file in files]}
        forms: list[list[Node]] = []
        for tree in trees:
            joined = any("_" in word.strip("_") for word in tree.words())
            forms.append([tree, transformed(tree, _split_leaf)] if joined else [tree])
        weighted = ((form, 2 // len(of_tree)) for of_tree in forms for form in of_tree)
        counts = counted(weighted, settings["vertical"], settings["horizontal"])
        guide = Guide.learned([form for of_tree in forms for form in of_tree], progress=progress)
        return cls({**settings, **about}, counts, ChartParser(counts, guide))

    def annotate(self, batch: Batch) -> None:
        n_best = int(self.settings["n_best"])
        for i, parse in enumerate(self.parser.parse_all(batch.treebank_tokens, n_best, batch.attributes)):
            batch.comments[i].append(f"tree_grammar = {parse.grammar}")
            if parse.trees:
                logs = [fixed(p, 4) for p in parse.log_probabilities]
                batch.comments[i].insert(-1, f"constituency = {parse.trees[0]}")
                batch.comments[i].append(f"tree_log_probability = {logs[0]}")
                batch.comments[i].append(f"tree_log_probabilities = {' '.join(logs)}")

    def save(self, path: Path) -> None:
        rules, chains = list(self.counts.binary.items()), list(self.counts.chains.items())
        words = list(self.counts.words.items())
        symbols, _ = indexed(
            [
                *(symbol for rule, _ in rules for symbol in rule),
                *(symbol for (a, path_, b), _ in chains for symbol in (a, *path_, b)),
                *(symbol for (symbol, _), _ in words),
                *self.counts.roots,
            ]
        )
        index = {name: i for i, name in enumerate(symbols)}
        texts, _ = indexed([word for (_, word), _ in words])
        place = {word: i for i, word in enumerate(texts)}
        paths = [symbol for (_, path_, _), _ in chains for symbol in path_]
        guide = self.parser.guide
        assert guide is not None
        meta = {
            "settings": dict(self.settings), "symbols": symbols, "words": texts,
            "roots": dict(self.counts.roots), "guide": guide.model.labels, "guide_version": VERSION,
        }  # fmt: skip
        _storage.save(
            path,
            meta,
            **guide.arrays(),
            binary=np.array([[*(index[s] for s in rule), n] for rule, n in rules], np.int64).reshape(-1, 4),
            chains=np.array([[index[a], index[b], n] for (a, _, b), n in chains], np.int64).reshape(-1, 3),
            path_starts=np.cumsum([0, *(len(path_) for (_, path_, _), _ in chains)]).astype(np.int64),
            paths=np.array([index[symbol] for symbol in paths], np.int64),
            uses=np.array([[index[s], place[w], n] for (s, w), n in words], np.int64).reshape(-1, 3),
        )  # fmt: skip

    @classmethod
    def load(cls, path: Path) -> Self:
        meta, arrays = _storage.load(path)
        symbols, words = (_storage.texts(meta[name], name) for name in ("symbols", "words"))
        settings, roots = meta["settings"], meta["roots"]
        n_best = settings["n_best"]
        _storage.check(isinstance(n_best, int) and 0 < n_best <= 1000, "n_best is no number")
        sound = all(isinstance(n, int) and n > 0 for n in roots.values()) and set(symbols).issuperset(roots)
        _storage.check(sound and any(plain_name(name) == ROOT for name in roots), "no root")
        binary, chains, uses, paths, starts = (
            arrays[name] for name in ("binary", "chains", "uses", "paths", "path_starts")
        )
        typed("paths", paths, np.int64, None)
        typed("path_starts", starts, np.int64, len(chains) + 1)
        rising("path_starts", starts, 0, len(paths))
        for name, array, columns in (("binary", binary, 4), ("chains", chains, 3), ("uses", uses, 3)):
            typed(name, array, np.int64, None, columns)
            within(f"counts of {name}", array[:, -1], 1, 2**62)
        _storage.check(len(uses), "there is no word")
        for array in (binary[:, :3], chains[:, :2], uses[:, :1], paths):
            within("symbols", array, 0, len(symbols))
        within("words", uses[:, 1], 0, len(words))
        tops = {*(symbols.index(name) for name in roots), *binary[:, 1:3].ravel().tolist()}
        known = tops | {*binary[:, 0].tolist(), *uses[:, 0].tolist()}
        linked = tops.issuperset(chains[:, 0].tolist()) and known.issuperset(chains[:, 1].tolist())
        _storage.check(linked, "a chain begins or ends at a symbol without rules")
        names = [symbols[k] for k in paths.tolist()]
        inner = [tuple(names[low:high]) for low, high in pairwise(starts.tolist())]
        rows = zip(chains.tolist(), inner, strict=True)
        made = Counts(
            Counter({(symbols[a], symbols[b], symbols[c]): n for a, b, c, n in binary.tolist()}),
            Counter({(symbols[a], path_, symbols[b]): n for (a, b, n), path_ in rows}),
            Counter({(symbols[s], words[w]): n for s, w, n in uses.tolist()}),
            Counter(roots),
        )
        _storage.same_version(meta["guide_version"], VERSION, path)
        guide = Guide.load(arrays, _storage.texts(meta["guide"], "guide"))
        kinds = {kind_name(symbol) for symbol in symbols}
        _storage.check(kinds.issuperset(guide.kinds), "the guide has tags that the grammar lacks")
        return cls(settings, made, ChartParser(made, guide))

    @classmethod
    def evaluate(cls, gold: Files, language: str, annotators: Sequence[Annotator]) -> dict[str, Any]:
        """Brackets by the rules of EVALB, with full labels and with labels up to a dot."""
        (own,) = (annotator for annotator in annotators if isinstance(annotator, cls))
        trees = [tree for file in gold for tree in read_trees(file)[0]]
        parses = own.parser.parse_all(Tokens.from_lists([tree.words() for tree in trees]))
        pairs = [
            (tree, parse.trees[0] if parse.trees else None) for tree, parse in zip(trees, parses, strict=True)
        ]
        short = [(_undotted(a), None if b is None else _undotted(b)) for a, b in pairs]
        return {"brackets": scores(pairs), "undotted": scores(short)}


def _split_leaf(leaf: Node) -> list[Node]:
    """The words that `_` joins in a leaf, as separate leaves.

    >>> [str(node) for node in _split_leaf(Node("np00000", word="Nueva_York"))]
    ['(np00000 Nueva)', '(np00000 York)']
    """
    return [Node(leaf.label, word=part) for part in leaf.word.split("_") if part] or [leaf]


def _undotted(node: Node) -> Node:
    label = node.label if node.word else node.label.split(".", 1)[0] or node.label
    return Node(label, tuple(map(_undotted, node.children)), node.word)
