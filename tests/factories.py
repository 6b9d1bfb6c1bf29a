"""What tests of all rooms share: texts, columns of features by name, and the form of a test of a refusal."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from io import BytesIO, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from features import Extractor, ParallelCorpus, Segments, Tokenizer
from features.basics.errors import InputError
from features.core.bundle import Bundle, build
from features.storage.files import read_lines
from features.text.tokens import Tokens
from qe.scoring.settings import JobSettings

# Words are what stands between blanks.
PLAIN: Final = Tokenizer(kind="whitespace", normalise=False)
PAIR: Final = (PLAIN, PLAIN)
ENGLISH: Final = Tokenizer("en", "whitespace")
SPANISH: Final = Tokenizer("es", "whitespace")
EN_ES: Final = (ENGLISH, SPANISH)
# Punctuation is cut off.
TOKENIZERS: Final = (Tokenizer("en"), Tokenizer("es"))
Texts = str | Sequence[str]
Find = Callable[[str], Path]  # the path of shared data
Tokenizers = tuple[Tokenizer, Tokenizer]
# Fixtures of pytest, named as those who ask for them name them.
Capsys = pytest.CaptureFixture[str]
Monkeypatch = pytest.MonkeyPatch
TempPaths = pytest.TempPathFactory


def _job(place: str) -> Callable[..., Any]:
    """A function that scores, with the settings of its job as arguments."""

    def scored(*arguments: Any, **options: Any) -> Any:
        module, _, name = place.rpartition(".")
        names = options.keys() & {one.name for one in fields(JobSettings)}
        settings = JobSettings(**{key: options.pop(key) for key in names})
        return getattr(import_module(module), name)(*arguments, settings, **options)

    return scored


score_file, score_in_place = _job("qe.scoring.jobs.score_file"), _job("qe.scoring.in_place.score_in_place")
score_table = _job("qe.scoring.spark.score_table")


def tokens(*texts: str) -> Tokens:
    return Tokens.from_lists([text.split() for text in texts])


def corpus(pairs: Iterable[tuple[str, str]], tokenizers: Tokenizers = PAIR) -> ParallelCorpus:
    return ParallelCorpus.from_lines(pairs, *tokenizers)


def segments(
    source: Texts = "x", target: Texts = "x", tokenizers: Tokenizers = PAIR, **columns: Texts
) -> Segments:
    """Segments of these columns; a single text is repeated in each segment."""
    given = {"source": source, "target": target, **columns}
    count = max([len(column) for column in given.values() if not isinstance(column, str)], default=1)
    filled = {name: (c,) * count if isinstance(c, str) else tuple(c) for name, c in given.items()}
    return Segments.from_columns(filled, *tokenizers)


def decoded(*outputs: tuple[str, str], **columns: Texts) -> Segments:
    """Segments whose decoder gave these (subwords, log-probabilities)."""
    subwords, log_probabilities = zip(*outputs, strict=True)
    return segments("a b", subwords=subwords, token_log_probabilities=log_probabilities, **columns)


def paired(pairs: Iterable[Sequence[str]], tokenizers: Tokenizers = PAIR) -> Segments:
    """Segments of these sources and translations, which each row begins with."""
    rows = list(pairs)
    return segments([row[0] for row in rows], [row[1] for row in rows], tokenizers)


def europarl(shared_data: Find, pairs: int) -> list[tuple[str, str]]:
    """The first pairs of an English and Spanish corpus of which both sides have words."""
    folder = shared_data("alignment/en-es/cse256")
    sides = (read_lines(folder / f"corpus.{language}.gz") for language in ("en", "es"))
    return list(islice(((s, t) for s, t in zip(*sides, strict=True) if s and t), pairs))


def annotated_bundle(
    folder: Path,
    texts: Segments,
    parts: Sequence[str],
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> Bundle:
    """Resources of a corpus of these texts, with their annotations of both sides."""
    from qe.resources.part_inputs import Annotations, from_column

    columns = {"source": texts.annotation_source or (), "target": texts.annotation_target or ()}
    annotations = Annotations.alike({side: from_column(column) for side, column in columns.items()})
    pairs, tokenizers = (
        zip(texts.source, texts.target, strict=True),
        (texts.source_tokenizer, texts.target_tokenizer),
    )
    return build(
        lambda: corpus(pairs, tokenizers), folder, parts, builders=annotations.builders(),
        wanted=annotations.wanted, settings=settings or {},
    )  # fmt: skip


def table(extractor: Extractor, batch: Segments, prefix: str = "") -> dict[str, Any]:
    """Name -> values of the segments, of features whose names begin with the prefix, without it."""
    values = dict(zip(extractor.names, extractor.extract(batch).T, strict=True))
    return {name.removeprefix(prefix): column for name, column in values.items() if name.startswith(prefix)}


def rows(extractor: Extractor, batch: Segments, prefix: str = "") -> list[dict[str, float]]:
    """Name -> value of each segment."""
    columns = table(extractor, batch, prefix)
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def row(extractor: Extractor, batch: Segments, i: int = 0, prefix: str = "") -> dict[str, float]:
    """Name -> value of one segment."""
    return {name: float(column[i]) for name, column in table(extractor, batch, prefix).items()}


class Done(NamedTuple):
    """What a command leaves: its exit code and what it printed."""

    code: int
    out: str
    err: str


def exit_code(*arguments: object) -> int:
    """Exit code of `qe` with these arguments, run in this process without capturing what it prints."""
    from qe.cli import main

    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    return int(str(ended.value.code or 0))


def qe(*arguments: object) -> Done:
    """`qe` with these arguments, in this process."""
    out, err = (TextIOWrapper(BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        code = exit_code(*arguments)
    printed = (stream.detach().getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]
    return Done(code, *printed)


def ran(*arguments: object, code: int = 0) -> Done:
    """`qe` with these arguments, which ends with this code."""
    done = qe(*arguments)
    assert done.code == code, done.err
    return done


def prints(command: str, contained: Sequence[str], absent: Sequence[str], code: int = 0) -> None:
    """What `qe` prints with the arguments of a line has some texts and has not others."""
    done = ran(*command.split(), code=code)
    printed = done.out + done.err
    assert [text for text in contained if text not in printed] == [], printed
    assert [text for text in absent if text in printed] == [], printed


def costs_file(folder: Path, **changes: float) -> Path:
    """A cost table for `qe triage` of labels from 1 to 5, with these entries otherwise."""
    usual = {"good": 4, "publish_bad": 10, "post_edit": 1, "post_edit_worst": 5, "retranslate": 3.5}
    lines = [f"{name}: {cost}\n" for name, cost in (usual | changes).items()]
    (folder / "costs.yaml").write_text("".join(lines))
    return folder / "costs.yaml"


def refuses(
    location: str, call: Callable[..., Any], *values: Any, error: type[Exception] = InputError, **named: Any
) -> None:
    """The call raises this class of error, and its message has what matches `location`."""
    with pytest.raises(error, match=location):
        call(*values, **named)


def script(path: Path) -> Any:
    """A script as a module, under its own name, which dataclasses and worker processes ask for."""
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    sys.modules[path.stem] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
