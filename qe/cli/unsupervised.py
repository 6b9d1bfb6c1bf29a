"""`qe unsupervised`: train a quality model without human labels."""

from pathlib import Path

from qe.cli.shared.options import TableOptions
from qe.cli.shared.printing import emit, tell_refused
from qe.cli.shared.progress import progress_bar


def unsupervised(
    data: Path,
    source_language: str,
    target_language: str,
    output: Path,
    table: TableOptions,
    parallel: tuple[Path, Path] | None = None,
    encoder: str | None = None,
    tokenized: bool = False,
    cache_dir: Path | None = None,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Train a quality model without human labels.

    It uses up to three signals: the similarity of source and translation in the space of an encoder
    (--encoder); the probability that words of the translation are wrong, learned from parallel text
    (--parallel); and the probability that a neural decoder gave its own output, if the table has the columns
    `subwords` and `token_log_probabilities`. The score is their mean, in standard deviations from the mean of
    these translations, higher is better: it only orders translations. The model works with `qe score`,
    `qe serve` and MLflow. Labels are needed to measure how good it is (`qe evaluate`); docs/results/wmt18.md
    has figures of such models.

    Example:

        qe unsupervised new.tsv --source-language en --target-language de --parallel train.en.gz train.de.gz
            --output output/unsupervised

        qe score --model output/unsupervised/model --input new.tsv --output scored.tsv

    arguments:
      data  Translations: a table, XLSX, XLIFF or TMX. No labels.

    input:
      --parallel SOURCE TARGET  Parallel text, one sentence per line, plain or gzip.
      --encoder MODEL  One of your encoders (`qe encoders list`), or its folder (./NAME).
      --tokenized  The text is tokenized: split it at whitespace only.

    output:
      -o, --output DIR  Folder of the model.
    """
    import pandas as pd

    from features.encoding.folder import encoder_names
    from qe.api.training import train_without_labels

    pool = table.pool(data, (source_language, target_language))
    with progress_bar(quiet or json) as progress:
        made = train_without_labels(
            pd.DataFrame(pool.columns), output, source_language=source_language,
            target_language=target_language, parallel=parallel, encoder=encoder, tokenized=tokenized,
            cache=cache_dir, progress=progress,
        )  # fmt: skip
    tell_refused("unsupervised", pool.refused, data)
    names = " and ".join(made.model.feature_set.names)
    lines = [f"{len(made.features):,} translations, no label: {names}", f"model: {made.folder}"]
    if encoder is None and (encoders := encoder_names()):
        lines.append(f"--encoder {encoders[0]} would add the cosine of source and translation")
    emit("unsupervised", made, json, *lines)
