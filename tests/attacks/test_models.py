"""Files of a model that attack whoever loads it. A case is a line: what is done, and what is said of it.

Every case is tried by `qe score`: exit code 2, one line, and nothing of the file has run. Checksums are
brought up to date first, as whoever makes such a file would do.
"""

import contextlib
import io
import json
import os
import re
import subprocess
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.attacks.models import (
    Node,
    archived,
    copy_of,
    edit,
    holding,
    instance,
    mapping,
    node,
    plain,
    schema_of,
    sealed_again,
    sequence,
    skops_file,
)
from tests.attacks.mutations import saved
from tests.factories import Done, Monkeypatch, qe

MARK = "ran"  # the file that code from a model would leave in the working directory
RIDGE = "sklearn.linear_model._ridge.Ridge"


def dataclass_gadget(code: str) -> Node:
    """`dataclass`, asked from a module that imports it, executes the names of fields as text."""
    quotes = "\"\"\"'''\"\"\"'''"
    first, second = f"a={code}):\n return ({quotes}", '""")\n if 1:#'
    attributes = {
        "__annotations__": mapping({first: plain("InitVar"), second: plain("InitVar")}),
        "__module__": plain("dataclasses"),
        "__mro__": sequence([]),
        "__qualname__": plain("C"),
        "__name__": plain("C"),
    }
    content = sequence([instance(RIDGE, attributes)], "tuple")
    return node("ConstructorFromReduceNode", "qe.learning.learners.trees.dataclass", content=content)


CODE = f"__import__('pathlib').Path({MARK!r}).touch()"
CALL = sequence([plain(f"touch {MARK}")], "tuple")


def reduced(function: str) -> Node:
    """What a pickle does: calls a function with arguments from the file."""
    return node("ConstructorFromReduceNode", function, content=CALL)


def shared(depth: int) -> Node:
    """A list of two of the same list of two ..., each written once: 2^depth nodes to whoever follows them."""
    root = sequence([plain(0)])
    for _ in range(depth):
        again = {key: root[key] for key in ("__class__", "__module__", "__id__")}
        root = sequence([root, {**again, "__loader__": "CachedNode"}])
    return root


def named_again(depth: int) -> Node:
    """The same without CachedNode: a number alone stands for the node that had it."""
    root = sequence([plain(0)])
    for _ in range(depth):
        root = sequence([root, {"__id__": root["__id__"]}])
    return root


def array(file: str) -> Node:
    return node("NdArrayNode", "numpy.ndarray", type="numpy", file=file)


def npy(header: dict[str, Any], content: bytes = b"") -> bytes:
    """An .npy file whose header says what it likes."""
    text = repr(header).encode()
    text += b" " * (-(10 + len(text) + 1) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content


def pickled() -> bytes:
    """An array of objects, which NumPy keeps as a pickle; loading it would leave the mark."""

    class Touch:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (Path(MARK),))

    stream = io.BytesIO()
    np.save(stream, np.array([Touch()], object), allow_pickle=True)
    return stream.getvalue()


HUGE = npy({"descr": "<f8", "fortran_order": False, "shape": (10**13,)})

SVR = "sklearn.svm._classes.SVR"
CALLING = "sklearn.preprocessing._function_transformer.FunctionTransformer"
ANY_KEY = {**mapping({"x": plain(1)}), "key_types": sequence([node("TypeNode", "subprocess.Popen")])}
METHOD = node("MethodNode", "builtins.str", content={"func": "format", "obj": plain("{}")})
PARTIAL = {name: sequence([]) for name in ("func", "args", "kwds", "namespace")}
DEEP = b"[" * 100_000 + b"]" * 100_000


def _twice() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the name is a duplicate
        archive.writestr("schema.json", "{}")
        archive.writestr("schema.json", "{}")
    return stream.getvalue()


# Steps of a pipeline whose types are not trusted, and the types.
UNTRUSTED: dict[str, tuple[Node, str]] = {
    "dataclass executes its argument": (dataclass_gadget(CODE), "qe.learning.learners.trees.datacl"),
    "os.system as a constructor": (reduced("os.system"), r"os.system \(Constructor"),
    "what a module of ours imports": (reduced("qe.learning.learners.trees.numba"), "qe.learning.learners.t"),
    "a trusted class, called": (reduced(SVR), SVR),
    "LightGBM with a file's name": (reduced("lightgbm.basic.Booster"), "lightgbm.basic.Bo"),
    "a class asked from elsewhere": (
        instance("qe.learning.learners.similarity.SVR", {}),
        "qe.learning.learners.similarity",
    ),
    "a class that is no estimator": (instance("qe.learning.learners.ensembles.TrustedByMembers", {}), ""),
    "another learner's class": (
        instance("qe.learning.learners.m5p.M5PRegressor", {}),
        "qe.learning.learners.m",
    ),
    "an estimator that calls functions": (instance(CALLING, {}), "sklearn.preprocessing"),
    "a function": (node("FunctionNode", "os.system"), "os.system"),
    "a function of NumPy's": (node("FunctionNode", "numpy.load"), "numpy.load"),
    "a type that is called with keys": (ANY_KEY, "subprocess.Popen"),
    "a method": (METHOD, "builtins.str"),
    "a partial": (node("PartialNode", "functools.partial", content=PARTIAL), "functools.part"),
    "an operator": (node("OperatorFuncNode", "operator.methodcaller", attrs=plain(0)), "operator"),
    "a random state": (node("RandomStateNode", "numpy.random.RandomState", content=plain(0)), ""),
    "bytes": (node("BytesNode", "builtins.bytes", file="1"), "builtins.bytes|is not there"),
    "2^60 nodes": (shared(60), r"builtins.list \(CachedNode\)|refers to parts"),
}
# What pipeline.skops may be: name -> its bytes, and what is said of it.
PIPELINES: dict[str, tuple[bytes, str]] = {
    **{
        name: (holding(step), f"types that are not trusted: {kind}")
        for name, (step, kind) in UNTRUSTED.items()
    },
    "an older protocol": (holding(instance(RIDGE, {}), protocol=0), "protocol 0 of skops is not read"),
    "a newer protocol": (holding(instance(SVR, {}), protocol=99), "protocol 99"),
    "no pipeline": (skops_file(instance(SVR, {})), "does not consist of SimpleImputer"),
    "a step of another kind": (holding(instance(SVR, {})), "does not consist of SimpleImputer"),
    "a zip bomb": (holding(array("1.npy"), {"1.npy": bytes(10**6)}, packed=True), "it is packed"),
    "one array for many": (holding(sequence([array("1"), array("1")]), {"1": b"x"}), "belongs to several"),
    "2^60 nodes by their numbers": (holding(named_again(60)), "refers to parts of itself"),
    "a number beyond Python's": (skops_file({**plain(0), "content": "9" * 5000}), "is damaged"),
    "an array of objects": (holding(array("1"), {"1": pickled()}), "allow_pickle"),
    "an array of 80 TB": (holding(array("1"), {"1": HUGE}), "is damaged"),
    "an array of another file": (holding(array("../../../etc/passwd")), "is not there"),
    "no zip archive": (b"\x80\x04\x95", "BadZipFile"),
    "an empty file": (b"", "BadZipFile"),
    "no schema": (archived({"x": b""}), "schema.json"),
    "a schema that is no object": (archived({"schema.json": b"[]"}), "is damaged"),
    "a schema 100,000 deep": (archived({"schema.json": DEEP}), "is damaged"),
    "a schema twice": (_twice(), "it is packed"),
}


def described(**changes: Any) -> Callable[[Path], None]:
    """model.json with other values; `a__b` is the key b within a."""

    def change(content: dict[str, Any]) -> dict[str, Any]:
        for name, value in changes.items():
            *way, last = name.split("__")
            place = content
            for key in way:
                place = place[key]
            place[last] = value
        return content

    return lambda folder: edit(folder / "model.json", change)


def first_feature(**config: Any) -> Callable[[Path], None]:
    def change(content: dict[str, Any]) -> dict[str, Any]:
        return {**content, "features": [config, *content["features"][1:]]}

    return lambda folder: edit(folder / "model.json", change)


def in_manifest(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Path], None]:
    return lambda folder: edit(folder / "resources" / "manifest.json", change)


def parts(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Path], None]:
    return in_manifest(lambda content: {**content, "parts": change(content["parts"])})


def written(name: str, content: bytes | str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)

    return spoil


def linked(name: str, target: str) -> Callable[[Path], None]:
    """A file or folder of the model as a symbolic link to what lies elsewhere."""

    def spoil(folder: Path) -> None:
        outside = folder.parent / target
        (folder / name).rename(outside)
        (folder / name).symlink_to(outside)

    return spoil


def pipe(name: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return spoil


def reversed_names(folder: Path) -> None:
    edit(folder / "profile.json", lambda content: {**content, "names": content["names"][::-1]})


def no_background(folder: Path) -> None:
    path = folder / "explanation.rows.npy"
    np.save(path, np.load(path)[:0])


def outside(folder: Path) -> None:
    """A part that lies in another folder, by its name."""
    (folder / LM).rename(folder.parent / "elsewhere")
    parts(lambda given: {**given, "../../elsewhere": given.pop("source_lm")})(folder)


def lm(**changes: Any) -> Callable[[Path], None]:
    """The manifest's entry of a language model with other values."""
    return parts(lambda given: {**given, "source_lm": {**given["source_lm"], **changes}})


def tokenized(language: str, kind: str = "moses") -> Callable[[Path], None]:
    return described(tokenizers=[{"language": language, "kind": kind, "normalise": True}] * 2)


def nested(folder: Path) -> None:
    """1,200 folders within each other."""
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("f", dir_fd=descriptor)
        below = os.open("f", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)


def changed_array(name: str, value: float, rows: slice = slice(None)) -> Callable[[Path], None]:
    """A fitted attribute of the learner with other values."""

    def change(folder: Path) -> None:
        schema, members = schema_of(folder / "pipeline.skops")
        steps = schema["content"]["content"]["steps"]["content"]
        attribute = steps[-1]["content"][1]["content"]["content"][name]
        if attribute["__loader__"] == "JsonNode":
            attribute["content"] = json.dumps(value)
        else:
            array = np.load(io.BytesIO(members[attribute["file"]]))
            array = np.full_like(array, value) if array.ndim == 0 else array
            array[(..., rows) if array.ndim else ...] = value
            members[attribute["file"]] = saved(array)
        content = archived({"schema.json": json.dumps(schema).encode(), **members})
        (folder / "pipeline.skops").write_bytes(content)

    return change


LM, WORDS = "resources/source_lm", "resources/source_lm/vocabulary.txt"
FILE = {"kind": "precomputed", "files": {"test": "/etc/passwd"}, "columns": "header"}
LEARNED = "fitted/1/target_words/values.npy"
STRUCTURES = npy({"descr": [("a", "<i4")], "fortran_order": False, "shape": (0,)})

# What else a model's folder may hold: name -> what is done to it, and what is said of it.
FOLDERS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a vocabulary linked to a system file": (linked(WORDS, "passwd"), "vocabulary.txt: is a symbolic link"),
    "a linked folder": (linked(LM, "elsewhere"), "source_lm: is a symbolic link"),
    "a linked pipeline": (linked("pipeline.skops", "p"), "pipeline.skops: is a symbolic link"),
    "a pipe": (pipe(f"{LM}/words.npy"), "words.npy: is a device or a pipe"),
    "a part in another folder": (outside, r"'../../elsewhere' is no part"),
    "a part of an unknown kind": (lm(kind="../../os"), r"unknown resource '../../os'"),
    "a part of another kind": (lm(kind="ngrams"), "the part 'source_lm' is damaged"),
    "parts that are no mapping": (in_manifest(lambda c: {**c, "parts": [1]}), "manifest.json is damaged"),
    "a part that is a number": (parts(lambda p: {**p, "source_lm": 1}), "is no part"),
    "a manifest 100,000 deep": (written("resources/manifest.json", DEEP), "manifest.json is damaged"),
    "features from a file": (first_feature(**FILE), "come from files"),
    "an extractor that is a path": (first_feature(kind="../../os"), r"unknown extractor '../../os'"),
    "an unknown parameter": (first_feature(kind="baseline17", command="sh"), "no parameter 'command'"),
    "an extractor without a kind": (first_feature(language="en"), "model.json is damaged"),
    "a set that is a path": (first_feature(set="../../secret"), "model.json is damaged"),
    "a program that is none of ours": (described(made_columns={"pseudo_reference": "/bin/sh"}), "'/bin/sh'"),
    "a made column that is none": (described(made_columns={"source": "apertium"}), "'source'"),
    "a learner that is a path": (described(candidate__learner="../../os"), r"unknown learner '../../os'"),
    "a learner of another name": (described(candidate__learner="ridge"), "not trusted: sklearn.svm"),
    "a learner's unknown parameter": (described(candidate__learner_params={"command": "sh"}), "command"),
    "a selector that is a path": (described(candidate__selector="os"), "unknown selector 'os'"),
    "a language that is an option": (tokenized("-f"), "unknown language code"),
    "a tokenizer of another kind": (tokenized("en", "os"), "tokenizers.0.kind"),
    "a key that is unknown": (described(command="sh"), "unknown key .command"),
    "a scale that is text": (described(scale__low="1"), "scale.low"),
    "a format of the future": (described(format=99), "has model format 99"),
    "features that are not these": (described(feature_names=["a"]), "other feature columns"),
    "a model.json 100,000 deep": (written("model.json", DEEP), "model.json is damaged"),
    "a model.json that is no object": (written("model.json", "[]"), "model.json is damaged"),
    "a model.json in Latin-1": (written("model.json", b'{"name": "\xe9"}'), "model.json is damaged"),
    "a model.json that is empty": (written("model.json", b""), "model.json is damaged"),
    "a number beyond Python's": (written("model.json", b"9" * 5000), "model.json is damaged"),
    "an array of objects": (written(f"{LM}/words.npy", pickled()), "the part 'source_lm' is damaged"),
    "an array of 80 TB": (written(f"{LM}/words.npy", HUGE), "the part 'source_lm' is damaged"),
    "an array of structures": (written(f"{LM}/words.npy", STRUCTURES), "the part 'source_lm' is damaged"),
    "learned values that are objects": (written(LEARNED, pickled()), "'bag_of_words' has learned is damaged"),
    "a learned constant that is infinite": (
        written(LEARNED.replace("values", "intercept"), saved(np.array(np.inf))),
        "`intercept` must hold numbers",
    ),
    "1,200 folders within each other": (nested, "folders deep"),
    "support vectors of NaN": (changed_array("support_vectors_", np.nan), "support_vectors_. of SVR"),
    "a support vector of NaN": (changed_array("support_vectors_", np.nan, slice(1)), "vectors_. of SVR"),
    "an infinite coefficient": (changed_array("_dual_coef_", np.inf, slice(0, 1)), "dual_coef_. of SVR"),
    "a gamma of NaN": (changed_array("_gamma", np.nan), "_gamma. of SVR"),
    "an intercept of NaN": (changed_array("_intercept_", np.nan), "intercept_. of SVR"),
    "intervals that are none": (written("intervals.json", "{}"), "intervals.json: the intervals is damaged"),
    "a profile that is none": (written("profile.json", "{}"), "profile.json"),
    "a profile of other features": (reversed_names, "other features"),
    "no row to explain with": (no_background, "explanation.json"),
}


def attempt(folder: Path) -> Done:
    """`qe score` with everything that a model can be asked for, in an empty working directory."""
    Path("in.tsv").write_text("source\ttarget\na house\tuna casa\n")
    files = ["--model", folder, "--input", "in.tsv", "--output", "out.tsv"]
    return qe("score", *files, "--workers", 1, "--interval", 0.8, "--explain", 2, "--quiet")


def check(given: Done, message: str) -> None:
    """Refused with one line that says why; no code has run and no output is there."""
    assert given.code == 2 and given.err.startswith("qe score: ") and given.err.count("\n") == 1, given
    assert re.search(message, given.err) and given.out == "", given
    assert sorted(path.name for path in Path().iterdir()) == ["in.tsv"]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: Monkeypatch) -> Iterator[Path]:
    """The working directory, and a cache of its own."""
    monkeypatch.setenv("QE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    yield tmp_path
    if (tmp_path / "model" / "f").exists():  # pytest cannot remove folders this deep
        subprocess.run(["rm", "-r", str(tmp_path / "model")], check=True)


@pytest.mark.slow
def test_the_model_scores_where_nothing_is_done_to_it(model: Path, empty_folder: Path) -> None:
    folder = copy_of(model, empty_folder / "model")
    sealed_again(folder)
    assert attempt(folder) == Done(0, "", "") and Path("out.tsv").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("case", PIPELINES)
def test_a_pipeline_that_attacks(case: str, model: Path, empty_folder: Path) -> None:
    folder, (content, message) = copy_of(model, empty_folder / "model"), PIPELINES[case]
    (folder / "pipeline.skops").write_bytes(content)
    sealed_again(folder)
    check(attempt(folder), message)


@pytest.mark.slow
@pytest.mark.parametrize("case", FOLDERS)
def test_a_folder_that_attacks(case: str, model: Path, empty_folder: Path) -> None:
    folder, (spoil, message) = copy_of(model, empty_folder / "model"), FOLDERS[case]
    spoil(folder)
    with contextlib.suppress(Exception):  # what cannot be read at all has no checksums
        sealed_again(folder)
    check(attempt(folder), message)
