import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import sparse

from features.resources import lexicon as _lexicon
from features.resources.lexicon import pair_values

ROWS, COLUMNS = 6, 9
WORDS = st.lists(st.integers(0, ROWS - 1), max_size=7)
TEXTS = st.lists(st.tuples(WORDS, WORDS), max_size=5)
TABLES = npst.arrays(np.float32, (ROWS, COLUMNS), elements=st.sampled_from([0.0, 0.0, 0.25, -3.0]))


def _flat(texts):
    ids = np.array([word for text in texts for word in text], np.int32)
    return ids, np.cumsum([0, *map(len, texts)], dtype=np.int64)


def _sparse(dense):
    rows = sparse.csr_array(dense)
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data.astype(np.float32)


@pytest.mark.slow
@settings(deadline=None)  # the first call compiles
@pytest.mark.parametrize("cells", [1, 20, 1 << 22])
@given(dense=TABLES, texts=TEXTS)
def test_every_pair_of_words_has_its_entry_of_the_dense_table(cells, dense, texts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_lexicon, "_CELLS", cells)
        blocks = list(
            pair_values(_sparse(dense), COLUMNS, _flat([a for a, _ in texts]), _flat([b for _, b in texts]))
        )
    listed = [
        listed[offsets[k] : offsets[k + 1]] for _, offsets, listed in blocks for k in range(len(offsets) - 1)
    ]
    assert [first for first, _, _ in blocks] == np.cumsum([0, *(len(o) - 1 for _, o, _ in blocks)])[
        :-1
    ].tolist()
    assert len(listed) == len(texts)
    for values, (left, right) in zip(listed, texts, strict=True):
        np.testing.assert_array_equal(values, dense[np.ix_(left, right)].ravel())


def test_long_rows_asked_for_seldom_are_searched_with_the_same_result():
    columns = np.arange(0, 2000, 2, dtype=np.int32)
    values = np.arange(1000, dtype=np.float32) + 1
    table = (np.array([0, 1000], np.int64), columns, values)
    one = np.array([0], np.int32)
    ((_, _, cells),) = pair_values(
        table, 2000, (one, np.array([0, 1])), (np.array([0, 1, 1998], np.int32), np.array([0, 3]))
    )
    assert cells.tolist() == [1, 0, 1000]
