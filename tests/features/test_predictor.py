"""The sentence family of the predictor, against the predictions of its words."""

import numpy as np
import pytest

from features import Bundle, Segments, Tokenizer
from features.core.feature_set import make_extractor
from features.predictor import PredictorScores
from tests.features.resources.test_predictor import bundle as bundle
from tests.features.resources.test_predictor import sentences

pytestmark = pytest.mark.slow


def segments(pairs: list[tuple[str, str]]) -> Segments:
    columns = {"source": [pair[0] for pair in pairs], "target": [pair[1] for pair in pairs]}
    return Segments.from_columns(columns, Tokenizer("en"), Tokenizer("es"))


@pytest.fixture(scope="module")
def scores(bundle: Bundle) -> PredictorScores:
    made = make_extractor({"kind": "predictor"}, bundle)
    assert isinstance(made, PredictorScores)
    return made


def test_columns_are_numpys_statistics_of_the_words(scores: PredictorScores) -> None:
    batch = segments([*sentences(5, 3), ("the red cat", "el rojo verde gato mesa")])
    source, target = batch.source_tokens, batch.target_tokens
    predicted = scores.predictor.predict(
        source, target, scores.aligner.align(source, target, "source-target")
    )
    table = dict(zip(scores.names, scores.extract(batch).T, strict=True))
    for i, (first, last) in enumerate(zip(target.offsets[:-1], target.offsets[1:], strict=True)):
        log, rank = predicted.log_probability[first:last], np.expm1(predicted.rank[first:last])
        expected = {
            "mean": log.mean(),
            "minimum": log.min(),
            "quantile_0.25": np.quantile(log, 0.25),
            "below_3": (log < -3).mean(),
            "first_1": (rank < 0.5).mean(),
            "first_10": (rank < 9.5).mean(),
            "highest_margin": predicted.margin[first:last].max(),
            "surprise": log.mean() + predicted.entropy[first:last].mean(),
        }
        for name, value in expected.items():
            np.testing.assert_allclose(table[f"predictor_{name}"][i], value, rtol=1e-5, err_msg=name)
