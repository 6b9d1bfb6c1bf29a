"""`qe score`: score new translations with a trained model."""

from qe.cli._score_options import ScoreOptions


def score(options: ScoreOptions) -> None:
    """Score new translations: one row out (id, score, reason) for every row in, in order.

    The input has columns `source` and `target`, and may have `id`. A row that cannot be scored has a reason
    instead of a score. A warning on stderr reports an input that differs from the training data.

    With --tokens, `tokens` are the words of the translation, `bad` the probability that each is wrong, `gaps`
    that words are missing before each and after the last; if the model has learned them, also `tags`,
    `gap_tags`, `spans` of BAD words, and the same for the source (docs/word-level.md).

    XLIFF and TMX are scored into the same format with a note for every segment, XLSX into one with more
    columns; or into a table, or a workbook for reviewers, review.xlsx (docs/scoring.md).

    Exit code 0: done; 1: done, but no row was scored, or a condition of --fail-if holds; 2: bad input.

    With Spark the input is any address that Spark reads and the output a folder of parts, with the same rows
    to the last bit (docs/scale.md).

    Examples:

        qe score --model output/demo/model --input output/demo/data/new.tsv --output scores.tsv

        qe score --model output/demo/model -i mt.csv --columns source=src,target=mt --keep -o scored.csv

        qe score --model output/demo/model --input new.tsv --output scores.tsv --triage costs.yaml --flags

        qe score --model output/mlqe/model --input new.tsv --output scores.jsonl --tokens --tags mcc

        qe score --model output/demo/model --input project.xlf --output project.scored.xlf

        qe score --model output/demo/model --input project.xlf --output review.xlsx --triage costs.yaml
    """
    from qe.cli._score_job import ScoreJob

    ScoreJob(options).run()
