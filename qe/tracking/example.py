"""An invented input example of a model.

It sends no text of the user's to the tracking server.
"""

from collections.abc import Sequence
from typing import Final

import pandas as pd

_WORDS: Final = "one two three ."
_ANNOTATED: Final = "".join(
    f"{i}\t{word}\t{word}\tX\t_\t_\t{min(i - 1, 1)}\t{'dep' if i > 1 else 'root'}\t_\t_\n"
    for i, word in enumerate(_WORDS.split(), start=1)
)
# Every column that a model may take, consistent with each other.
INVENTED: Final = {
    "source": _WORDS,
    "target": _WORDS,
    "id": "1",
    "doc_id": "1",
    "system": "system",
    "pseudo_reference": _WORDS,
    "back_translation": _WORDS,
    "alignment": "0-0 1-1 2-2 3-3",
    "annotation_source": _ANNOTATED,
    "annotation_target": _ANNOTATED,
    "annotation_pseudo_reference": _ANNOTATED,
    "subwords": _WORDS,
    "token_log_probabilities": "-0.2 -0.3 -0.2 -0.1 -0.1",
    "model_score": "-0.9",
    "nbest": f'["{_WORDS}"]',
}


def example(columns: Sequence[str]) -> pd.DataFrame:
    """One row of a table with these columns.

    >>> example(["source", "alignment"]).to_dict("records")
    [{'source': 'one two three .', 'alignment': '0-0 1-1 2-2 3-3'}]
    """
    return pd.DataFrame([{column: INVENTED[column] for column in columns}])
