"""The same questions put to every extractor: whoever adds one file to features/ is asked them too."""

import io
import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from numpy.typing import NDArray

from features import Segments, Tokenizer
from features.basics.array_types import FloatArray
from features.basics.progress import Progress
from features.core.bundle import Bundle, build
from features.core.columns import leaving_out
from features.core.extractor import VARYING, Extractor, FittedExtractor
from features.core.feature_set import (
    EXTRACTORS,
    FeatureSet,
    checked,
    configured,
    from_variant,
    make_extractor,
    parts_needed,
    variants,
)
from features.resources.annotation import Annotation, Holds
from features.text.corpus import ParallelCorpus, Side
from qe.data import Split, make_folds
from qe.getting_started.demo.generation import DemoData, generate
from qe.training.extraction import Extraction
from qe_treebanks.annotators._grammar import escaped
from tests.models.general import small_model

PAIRS, LABELLED, BATCH = 300, 120, 24
TOKENIZERS = Tokenizer("en"), Tokenizer("es")
FOLDS, TRAINING, HELD_OUT = 2, np.arange(40), np.arange(40, 60)  # of cross-fitting
FAMILIES = [name for kind in EXTRACTORS.names for name in variants(kind)]
LEAST_WORK = {"rounds": 5, "networks": 1, "epochs": 1}  # parameters of what is fitted many times

# Parameters without a default that an extractor cannot be made without: name -> (folder -> parameters).
PARAMETERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "columns": lambda folder: {
        "names": ["model_score", "comet"],
        "categories": ["doc_id", "engine"],
        "optional": ["comet", "engine"],
        "values": {"doc_id": ["1"]},
    },
    "encoder": lambda folder: {"model": encoder_folder(folder), "second": ["pseudo_reference"]},
    "general": lambda folder: {"model": str(small_model(folder))},
    "multilingual": lambda folder: {"model": encoder_folder(folder), "layers": []},
    "precomputed": lambda folder: {"files": {"train": feature_file(folder)}, "columns": "header"},
}


def feature_file(folder: Path) -> str:
    """Two columns, one of them partly undefined, for every labelled segment."""
    rows = [f"{i * 0.5}\t{'NaN' if i % 7 == 0 else i % 3}" for i in range(LABELLED)]
    path = folder / "features.tsv"
    path.write_text("\n".join(["half\tthird", *rows]) + "\n", "utf-8")
    return str(path)


def encoder_folder(folder: Path) -> str:
    """A tiny encoder of letters, made once."""
    for package in ("onnx", "onnxruntime", "tokenizers"):
        pytest.importorskip(package)
    from tests.features.encoding.made import Tiny, onnx_folder

    made = folder / "encoder"
    return str(made if made.is_dir() else onnx_folder(made, Tiny.of_seed()))


# --- the world the questions are asked in ------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """Demo data, its bundle (built part by part, as extractors ask for them) and a folder for files."""

    folder: Path
    data: DemoData

    @cached_property
    def rows(self) -> list[tuple[str, str]]:
        """(source, target) of the labelled demo translations."""
        return list(zip(self._lines("source"), self._lines("target"), strict=True))

    @cached_property
    def segments(self) -> Segments:
        return complete(self.rows, [f"train-{i}" for i in range(1, LABELLED + 1)])

    @cached_property
    def labels(self) -> dict[str, Sequence[str] | NDArray[np.float64]]:
        """Every label column that a fitted extractor may ask for."""
        numbers = {name: self._numbers(name) for name in ("scores", "judges", "weights")}
        post_edit, (sources, targets) = tuple(self._lines("post_edit")), zip(*self.rows, strict=True)
        tags = {
            "word_tags": tuple(map(tags_of, targets, post_edit)),
            "source_tags": tuple(" ".join("OK" for _ in TOKENIZERS[0].split(s)) for s in sources),
        }
        annotators = np.full(LABELLED, 3.0)
        return {**numbers, **tags, "post_edit": post_edit, "reference": post_edit, "annotators": annotators}

    def _lines(self, name: str) -> list[str]:
        return self.data.column("train", name).read_text("utf-8").split("\n")[:-1]

    def _numbers(self, name: str) -> NDArray[np.float64]:
        return np.loadtxt(self.data.column("train", name))

    def bundle(self, config: Mapping[str, Any]) -> Bundle:
        """The bundle with the parts that this extractor takes."""
        if config["kind"] == "morphemes":
            pytest.importorskip("morfessor")

        def read() -> ParallelCorpus:
            return ParallelCorpus.read(self.data.corpus_source, self.data.corpus_target, *TOKENIZERS)

        builders = {"annotation": annotation_of_corpus}
        return build(read, self.folder / "bundle", parts_needed([config]), builders=builders)

    def config(self, name: str) -> dict[str, Any]:
        """Of a family, or of a variant of it."""
        if name in PARAMETERS:
            return {"kind": name, **PARAMETERS[name](self.folder)}
        return from_variant(name)


def tags_of(target: str, post_edit: str) -> str:
    """OK / BAD per target token: BAD where the post-edit lacks it."""
    kept = set(TOKENIZERS[1].split(post_edit))
    return " ".join("OK" if token in kept else "BAD" for token in TOKENIZERS[1].split(target))


def complete(rows: Sequence[tuple[str, str]], ids: Sequence[str] = ()) -> Segments:
    """Segments with every optional column filled from source and target."""
    columns: dict[str, list[str]] = {name: [] for name in Segments.column_names() if name != "id"}
    for i, (source, target) in enumerate(rows):
        for name, value in side_information(i, source, target).items():
            columns[name].append(value)
    return Segments.from_columns({**columns, **({"id": ids} if ids else {})}, *TOKENIZERS)


def side_information(i: int, source: str, target: str) -> dict[str, str]:
    left, right = TOKENIZERS[0].split(source), TOKENIZERS[1].split(target)
    second = " ".join(right[1:] if len(right) % 3 else [*right[2:], *right[:1]])
    noise = np.random.default_rng(len(source) + len(target)).normal(-0.5, 0.2, len(right) + 1)
    return {
        "source": source,
        "target": target,
        "doc_id": f"document-{i // 10}",
        "system": "demo",
        "pseudo_reference": second,
        "back_translation": " ".join(left[:-1]),
        "alignment": " ".join(f"{k}-{k}" for k in range(min(len(left), len(right)))),
        "annotation_source": conllu(left),
        "annotation_target": conllu(right),
        "annotation_pseudo_reference": conllu(TOKENIZERS[1].split(second)),
        "language_pair": ("en-es", "en-de")[len(source) % 2],
        "subwords": " ".join(right),
        "token_log_probabilities": " ".join(f"{value:.4f}" for value in noise),
        "token_entropies": " ".join(f"{abs(value):.4f}" for value in noise),
        "token_highest_log_probabilities": " ".join(f"{value / 2:.4f}" for value in noise),
        "model_score": f"{noise.sum():.4f}",
        "nbest": json.dumps([target, " ".join(right[:-1]), " ".join(right[1:])]),
    }


def conllu(tokens: Sequence[str]) -> str:
    """A chain: every token depends on the one before it. Morphology, entities and spelling by checksums of
    words; a tree as deep as the text is long, but at most 20 levels."""
    rows = [conllu_row(k, word) for k, word in enumerate(tokens, start=1)]
    return "\n".join(["# speller = made up", *tree_comments(tokens), *linkage_comments(tokens), *rows])


def conllu_row(k: int, word: str) -> str:
    code = crc32(word.encode("utf-8", "surrogatepass"))
    upos, xpos, relation = WORDS[code % 5]
    misc = f"NER={ENTITIES[code // 5 % 7]}" + ("|Spell=no" if code % 4 == 3 else "")
    relation = "root" if k == 1 else relation
    cells = (str(k), word, word.lower(), upos, xpos, FEATS[code // 5 % 3], str(k - 1), relation, "_", misc)
    return "\t".join(cells)


WORDS = (
    ("NOUN", "nn", "nsubj"), ("VERB", "vb", "conj"), ("ADJ", "jj", "amod"), ("DET", "dt", "det"),
    ("ADP", "in", "case"),
)  # fmt: skip
FEATS = (
    "Gender=Fem|Number=Sing|Person=3|VerbForm=Fin", "Gender=Masc|Number=Plur|Person=3|VerbForm=Fin", "_",
)  # fmt: skip
ENTITIES = ("O", "B-PER", "O", "B-LOC", "I-LOC", "O", "B-MISC")


def tree_comments(tokens: Sequence[str]) -> list[str]:
    """What a parser says of a text of words; of none, that it has no tree."""
    if not tokens:
        return ["# tree_grammar = none"]
    labels, tree = ("NP", "VP", "PP", "S"), f"(NN {escaped(tokens[-1])})"
    for k, word in enumerate(reversed(tokens[:-1])):
        tree = f"(VB {escaped(word)}) {tree}"
        if k < 20:
            tree = f"({labels[len(word) % 4]} {tree})"
    logs = [-4.0 * len(tokens) - 0.1 * k * len(tokens[0]) for k in range(min(len(tokens), 9))]
    return [
        f"# constituency = (S {tree})",
        "# tree_grammar = fine",
        f"# tree_log_probabilities = {' '.join(f'{value:.3f}' for value in logs)}",
    ]


def linkage_comments(tokens: Sequence[str]) -> list[str]:
    """What link grammar says of a text of words; nothing of none."""
    figures = {
        "linkages": min(2 ** len(tokens), 2**31 - 1),
        "unused": len(tokens) % 3,
        "cost": 0.4 * len(tokens) - 1,
        "length": 3 * len(tokens),
    }
    return [f"# link_grammar_{name} = {value}" for name, value in figures.items()] if tokens else []


def annotation_of_corpus(
    corpus: ParallelCorpus, *, side: Side, holds: Holds = "tags", progress: Progress
) -> Annotation:
    tokens = corpus.side(side)
    blocks = (conllu(tokens.words(i)) for i in range(len(tokens)))
    return Annotation.from_blocks(corpus, side, blocks, {"by": "chains"}, progress, holds=holds)


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("contract")
    return World(folder, generate(folder / "data", pairs=PAIRS, train=LABELLED, test=10, new=10))


@dataclass(frozen=True)
class Subject:
    """An extractor under question; `make` builds it anew, fitted where it learns from labels."""

    world: World
    make: Callable[[], Extractor]
    make_unfitted: Callable[[], Extractor] | None = None
    make_bare: Callable[[], Extractor] | None = None

    @cached_property
    def extractor(self) -> Extractor:
        return self.make()

    @property
    def batch(self) -> Segments:
        return self.world.segments.take(range(BATCH))

    def extract(self, segments: Segments) -> FloatArray:
        """The features, their shape, type and finiteness checked."""
        return checked(self.extractor, segments)


def unfitted(world: World, kind: str) -> Extractor:
    """With as little work to fit as its parameters allow."""
    config = world.config(kind)
    known = {f.name for f in fields(configured(config).kind) if f.init}
    least = {name: value for name, value in LEAST_WORK.items() if name in known}
    return make_extractor({**config, **least}, world.bundle(config))


def bare(world: World, kind: str) -> Extractor:
    config = world.config(kind)
    return make_extractor(config, world.bundle(config))


def ready(world: World, kind: str) -> Extractor:
    extractor = bare(world, kind)
    if isinstance(extractor, FittedExtractor):
        labels = {name: world.labels[name] for name in extractor.labels_used()}
        return extractor.fit(world.segments, labels)
    return extractor


@pytest.fixture(scope="session")
def subjects(world: World) -> Callable[[str], Subject]:
    @cache
    def subject(kind: str) -> Subject:
        makers = (partial(make, world, kind) for make in (ready, unfitted, bare))
        return Subject(world, *makers)

    return subject


# --- the questions -----------------------------------------------------------------------------------


def same(left: FloatArray, right: FloatArray) -> None:
    """Equal up to the order of summation, NaN in the same places."""
    np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-12, equal_nan=True)


def every_feature_is_described(subject: Subject) -> None:
    for feature in subject.extractor.features:
        for value in (feature.name, feature.description, feature.origin, feature.unit):
            assert value and value == value.strip() and "\n" not in value and "\t" not in value, feature


def names_are_unique_and_stable(subject: Subject) -> None:
    names = subject.extractor.feature_names
    assert names and len(set(names)) == len(names)
    subject.extract(subject.batch)
    assert subject.extractor.feature_names == names == subject.make().feature_names


def a_batch_has_one_defined_row_per_segment(subject: Subject) -> None:
    block = subject.extract(subject.batch)
    defined = np.isfinite(block).any(axis=0)
    assert defined.any(), "every feature is undefined on ordinary translations"
    varies = np.nanstd(block[:, defined], axis=0) > 0
    assert varies.any(), "every feature is constant on ordinary translations"


def one_row_equals_its_row_in_the_batch(subject: Subject) -> None:
    batch = subject.batch
    rows = [0, 5, BATCH - 1]
    alone = [subject.extract(complete_row(batch, i)) for i in rows]
    same(np.vstack(alone), subject.extract(batch)[rows])


def complete_row(batch: Segments, i: int) -> Segments:
    """One segment on its own, tokenized anew."""
    columns = {name: (column[i],) for name, column in batch.columns()}
    return Segments.from_columns(columns, *TOKENIZERS)


def permuted_rows_permute(subject: Subject) -> None:
    order = np.random.default_rng(0).permutation(BATCH)
    same(subject.extract(subject.batch.take(order)), subject.extract(subject.batch)[order])


def a_column_needs_no_other(subject: Subject) -> None:
    """Scoring computes the columns that a model kept, of any family."""
    names, batch = subject.extractor.feature_names, subject.batch
    whole = subject.extract(batch)
    for first in range(min(3, len(names))):
        kept = list(range(first, len(names), 3))
        with leaving_out(set(names) - {names[k] for k in kept}):
            same(subject.extract(batch)[:, kept], whole[:, kept])


def no_segments_give_no_rows(subject: Subject) -> None:
    assert subject.extract(subject.batch.take([])).shape == (0, len(subject.extractor.feature_names))


def required_columns_are_enough(subject: Subject) -> None:
    needed = {"id", "source", "target", *subject.extractor.requires()}
    columns = {name: column for name, column in subject.batch.columns() if name in needed}
    subject.extract(Segments.from_columns(columns, *TOKENIZERS))


def the_segments_stay_as_they_are(subject: Subject) -> None:
    batch = subject.batch
    before = batch.fingerprint, batch.source_tokens.fingerprint, batch.target_tokens.fingerprint
    tokens = batch.source_tokens.ids.copy(), batch.target_tokens.ids.copy()
    subject.extract(batch)
    assert (batch.fingerprint, batch.source_tokens.fingerprint, batch.target_tokens.fingerprint) == before
    assert np.array_equal(tokens[0], batch.source_tokens.ids)
    assert np.array_equal(tokens[1], batch.target_tokens.ids)


def the_same_seed_gives_the_same_twice(subject: Subject) -> None:
    assert np.array_equal(
        checked(subject.make(), subject.batch), subject.extract(subject.batch), equal_nan=True
    )


def a_pickled_copy_does_the_same(subject: Subject) -> None:
    """Worker processes get their extractors pickled (models on disk never are)."""
    stream = io.BytesIO()
    pickle.dump(subject.extractor, stream)
    copy = pickle.loads(stream.getvalue())
    assert np.array_equal(checked(copy, subject.batch), subject.extract(subject.batch), equal_nan=True)


def a_saved_fitted_extractor_comes_back(subject: Subject) -> None:
    fitted = subject.extractor
    if not isinstance(fitted, FittedExtractor):
        return
    folder = subject.world.folder / f"saved-{fitted.feature_names[0]}"
    folder.mkdir()
    fitted.save(folder)
    bare = (subject.make_bare or subject.make)()
    assert isinstance(bare, FittedExtractor)
    restored = bare.restore(folder)
    assert np.array_equal(checked(restored, subject.batch), subject.extract(subject.batch), equal_nan=True)


# Units of what can be counted in an empty text, and of what others computed.
COUNTS = {
    "tokens", "tokens^2", "words", "subwords", "bigrams", "characters", "characters^2", "hypotheses",
    "0 or 1", "patterns", "as in the file", "as in the table", "as the system gives it",
}  # fmt: skip
# What else is defined where source and target are empty, and why.
DEFINED_WITHOUT_WORDS = {
    "1009_source_lm": "the end of the text is predicted",
    "1012_target_lm": "the end of the text is predicted",
    "decoder_log_probability": "the decoder gives the end of the text a probability",
    "decoder_mean": "the decoder gives the end of the text a probability",
    "decoder_end": "the decoder gives the end of the text a probability",
    "nbest_distinct": "three empty hypotheses are three hypotheses, one of them distinct",
    "nbest_posterior": "the three hypotheses say the same: all of the probability is theirs",
    "nbest_entropy": "the three hypotheses say the same: nothing is open",
    "nbest_distance": "nothing is edited to make equal texts equal",
    "nbest_distance_highest": "nothing is edited to make equal texts equal",
}


def nothing_is_guessed_of_empty_texts(subject: Subject) -> None:
    """Shares, ratios, probabilities, ... of no words are NaN; counts may be 0."""
    row = subject.extract(complete([("", "")], subject.world.segments.id[:1]))[0]
    for feature, value in zip(subject.extractor.features, row, strict=True):
        if feature.unit not in COUNTS:
            assert np.isnan(value) == (feature.name not in DEFINED_WITHOUT_WORDS), (feature, value)


def its_own_label_does_not_reach_a_training_row(subject: Subject) -> None:
    """Training rows are cross-fitted: a label changes rows of other folds, and none of its own fold.

    A family that is not cross-fitted must not change the row itself.
    """
    if not isinstance(subject.extractor, FittedExtractor):
        return
    tables = Tables(subject)
    before = tables.training(tables.split)
    for _, fold in make_folds(len(TRAINING), FOLDS):
        after = tables.training(tables.changed(TRAINING[fold[:1]]))
        same_rows = ((before == after) | (np.isnan(before) & np.isnan(after))).all(axis=1)
        own = fold if subject.extractor.cross_fitted else fold[:1]
        assert same_rows[own].all(), "a label reached rows of its own fold"
        assert same_rows.all() == (not subject.extractor.labels_used()), "labels used must be learned from"


def labels_of_held_out_rows_reach_nothing(subject: Subject) -> None:
    if not isinstance(subject.extractor, FittedExtractor):
        return
    tables = Tables(subject)
    changed = tables.changed(HELD_OUT)
    for before, after in zip(tables.fold(tables.split), tables.fold(changed), strict=True):
        assert np.array_equal(before, after, equal_nan=True)


class Tables:
    """Feature tables of a fitted extractor as `Extraction` makes them, nothing cached between two of them."""

    def __init__(self, subject: Subject) -> None:
        assert subject.make_unfitted is not None
        self.feature_set = FeatureSet(({"kind": "subject"},), (subject.make_unfitted(),))
        self.split = Split(subject.world.segments, **subject.world.labels)  # type: ignore[arg-type]

    @property
    def extraction(self) -> Extraction:
        return Extraction(self.feature_set, None, cross_fit=FOLDS)

    def training(self, split: Split) -> FloatArray:
        """Features of the training rows."""
        return self.extraction.training_table(split.take(TRAINING)).to_numpy()

    def fold(self, split: Split) -> tuple[FloatArray, FloatArray]:
        """Features of the training rows and of the rows held out."""
        trained, applied = self.extraction.fold(split, TRAINING, HELD_OUT)
        return trained.to_numpy(), applied.to_numpy()

    def changed(self, rows: NDArray[np.int64]) -> Split:
        """The split with every label of these rows another."""
        labels = {name: changed_labels(name, column, rows) for name, column in self.split.labels().items()}
        return Split(self.split.segments, **labels)


def changed_labels(name: str, column: Any, rows: NDArray[np.int64]) -> Any:
    """Numbers far from all others; tags turned around, texts without a common word."""
    if isinstance(column, np.ndarray):
        changed = column.copy()
        changed[rows] += 100
        return changed
    other = turned if name.endswith("_tags") else lambda _: "Xqz wkpt ffgh"
    return tuple(other(text) if i in rows else text for i, text in enumerate(column))


def turned(tags: str) -> str:
    """OK for BAD, BAD for OK."""
    return " ".join("OK" if tag == "BAD" else "BAD" for tag in tags.split())


QUESTIONS: tuple[Callable[[Subject], None], ...] = (
    every_feature_is_described,
    names_are_unique_and_stable,
    a_batch_has_one_defined_row_per_segment,
    one_row_equals_its_row_in_the_batch,
    permuted_rows_permute,
    a_column_needs_no_other,
    no_segments_give_no_rows,
    required_columns_are_enough,
    the_segments_stay_as_they_are,
    the_same_seed_gives_the_same_twice,
    a_pickled_copy_does_the_same,
    a_saved_fitted_extractor_comes_back,
    nothing_is_guessed_of_empty_texts,
    its_own_label_does_not_reach_a_training_row,
    labels_of_held_out_rows_reach_nothing,
)

# Awkward texts; `{s}` and `{t}` are an ordinary source and target of the demo.
EDGES: dict[str, tuple[str, str]] = {
    "empty source": ("", "{t}"),
    "empty target": ("{s}", ""),
    "both empty": ("", ""),
    "white space": (" \t  ", "\u00a0 "),
    "one token": ("{s1}", "{t1}"),
    "one mark": (".", "."),
    "no common token": ("{s}", "Quf wub jiz."),
    "source copied": ("{s}", "{s}"),
    "unseen words only": ("Xqz wkpt ffgh", "Gxx ooqw pptz"),
    "500 tokens": ("{s500}", "{t500}"),
    "one word 500 times": ("{s1} " * 500, "{t1} " * 500),
    "emoji": ("{s1} 👩‍👩‍👧 🇪🇸 👍🏽", "🎉 {t1} 👩‍👩‍👧"),
    "combining marks": ("cafe\u0301 n\u0303o {s1}", "e\u0302\u0323 {t1} \u0301"),
    "other scripts": ("你好 世界 नमस्ते", "שלום עולם مرحبا"),
    "brackets and quotes": ("(({s1}[ ]})) «\"'", '")]» ({t1} ¿¡'),
    "numbers": ("1,234.5 -7 1e9 50% ½", "1.234,5 -7 1e9 50 % ٣"),
    "markup": ("<s> </s> <unk> &amp; |||", "<unk> </s> ||| &quot;"),
    "control characters": ("{s1}\u200b\u2028\u0085 {s1}", "\ufeff{t1}\u00ad {t1}\x0c"),
}


def edge(name: str, world: World) -> tuple[str, str]:
    source, target = world.rows[0]
    long = [" ".join(row[side] for row in world.rows).split()[:500] for side in (0, 1)]
    values = {
        "{s500}": " ".join(long[0]),
        "{t500}": " ".join(long[1]),
        "{s1}": source.split()[0],
        "{t1}": target.split()[0],
        "{s}": source,
        "{t}": target,
    }
    filled = []
    for text in EDGES[name]:
        for mark, value in values.items():
            text = text.replace(mark, value)
        filled.append(text)
    return filled[0], filled[1]


@pytest.mark.parametrize("kind", EXTRACTORS.names)
def test_settings_that_make_variants_are_known_to_names_and_costs(kind: str) -> None:
    assert all(settings.keys() <= {*VARYING} for settings in EXTRACTORS.get(kind).variants)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.__name__)
def test_question(question: Callable[[Subject], None], kind: str, subjects: Callable[[str], Subject]) -> None:
    question(subjects(kind))


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("name", EDGES)
def test_edge(name: str, kind: str, subjects: Callable[[str], Subject], world: World) -> None:
    """Alone or between ordinary segments, an awkward one is finite or NaN and disturbs no other."""
    subject = subjects(kind)
    ids = world.segments.id[:3]
    alone = subject.extract(complete([edge(name, world)], ids[1:2]))
    among = subject.extract(complete([world.rows[0], edge(name, world), world.rows[2]], ids))
    same(alone, among[1:2])
    same(among[[0, 2]], subject.extract(complete([world.rows[0], world.rows[2]], (ids[0], ids[2]))))
