"""The invented example of a model's input."""

from features import Segments, Tokenizer
from features.nbest import hypotheses
from qe.tracking.logged_models import INVENTED, example


def test_it_has_every_column_and_its_columns_fit_each_other() -> None:
    assert set(INVENTED) == set(Segments.column_names())
    table = example(Segments.column_names())
    segments = Segments.from_columns(table.to_dict("list"), Tokenizer("de"), Tokenizer("en"))
    words = segments.target_tokens.words(0)
    assert segments.source_tokens.words(0) == words == ["one", "two", "three", "."]
    assert len(str(table["token_log_probabilities"][0]).split()) == len(words) + 1
    assert hypotheses(segments)[0][0].text == INVENTED["target"]
    assert [line.split("\t")[1] for line in INVENTED["annotation_target"].splitlines()] == words
