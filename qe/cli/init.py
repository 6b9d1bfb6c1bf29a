"""`qe init`: write a first experiment for your own table, commented."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from qe.cli.shared.options import RowOptions
from qe.cli.shared.printing import emit
from qe.display.numbers import span

if TYPE_CHECKING:
    from collections.abc import Mapping


def _default_output(data: Path) -> Path:
    return Path(f"{data.name.removesuffix('.gz').rpartition('.')[0] or data.name}.yaml")


def init(
    data: Path,
    table: RowOptions,
    source_language: str | None = None,
    target_language: str | None = None,
    higher_is_better: bool | None = None,
    parallel: tuple[Path, Path] | None = None,
    own_corpus: bool = False,
    name: str | None = None,
    output: Path | None = None,
    kind: str | None = None,
    overwrite: bool = False,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Write a first experiment for a table of labelled translations, ready to train.

    The usual headers are recognised (source, src, original; target, mt, translation; score, z_mean, hter;
    post_edit, pe; doc_id). Anything in doubt must be given; nothing is guessed.

    Examples:

        qe init data.tsv --source-language en --target-language de --higher-is-better

        qe init data.csv --source-language en --target-language de --columns scores=z_mean
        --parallel train.en.gz train.de.gz --output mine.yaml

    arguments:
      data  Labelled segments: a table, or XLSX, XLIFF or TMX.

    input:
      --columns NAME=HEADER  Headers that are not recognised: scores=z_mean,target=mt; `id=` ignores the ids.
      --higher-is-better/--lower-is-better  Direction of the score. (default: that of a known header)
      --parallel SOURCE TARGET  Parallel text, one sentence per line, plain or gzip.
      --own-corpus  Without parallel text: use a third of the rows as the corpus.
      --kind KIND  tsv, csv, jsonl, parquet, xlsx, xliff or tmx. (default: by the file's name)

    output:
      --name NAME  Name of the experiment and its model. (default: that of the experiment file)
      -o, --output FILE  The experiment file. (default: the name of the data, with .yaml)
    """
    from qe.getting_started.init.experiment import begin
    from qe.getting_started.init.table import Wishes, parse_columns

    wishes = Wishes(
        languages=(source_language, target_language),
        columns=parse_columns(table.columns or ()),
        higher_is_better=higher_is_better,
        layout=table.layout(kind=kind),
    )
    made = begin(
        data, wishes, output or _default_output(data), name=name, parallel=parallel, own_corpus=own_corpus,
        overwrite=overwrite,
    )  # fmt: skip
    content = made.to_json()
    emit("init", content, json, *([] if quiet else _lines(made.path, content)))


def _lines(path: Path, content: "Mapping[str, Any]") -> list[str]:
    columns = ", ".join(f"{role} = {header}" for role, header in content["columns"].items())
    direction = "higher is better" if content["label"]["higher_is_better"] else "lower is better"
    low, high = content["labels"].values()
    return [
        f"{path}: {content['segments']:,} segments; columns: {columns}",
        f"label {content['label']['name']}, {span(low, high, 6)} here, {direction}",
        *(f"note: {note}" for note in content["notes"]),
        f"next: look at `label` in {path}, then qe train {path}",
        *(f"a step up: {step}" for step in content["steps"]),
    ]
