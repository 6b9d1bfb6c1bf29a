"""What word-level networks say of a token or a text is the same to the last bit in every batch."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.basics import rows as rows_module
from features.basics.rows import row_products, single_row_products
from features.word_level.network import Network, NetworkInputs
from features.word_level.pooling import PoolingNetwork, Texts, random_beginning

RNG = np.random.default_rng(0)
LEFT, RIGHT = RNG.normal(size=(700, 190)), RNG.normal(size=(190, 64))


def test_products_are_put_where_they_should_be() -> None:
    """Into whole and partial blocks, into columns of a wider array, and into memory that was used before."""
    expected = row_products(LEFT, RIGHT)
    wide = np.full((700, 70), 9.0)
    for place in (np.full((700, 64), 9.0), wide[:, 3:67]):
        assert row_products(LEFT, RIGHT, place) is place
        np.testing.assert_array_equal(place, expected)
    assert (wide[:, :3] == 9).all() and (wide[:, 67:] == 9).all()


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 64, 490, 491, 1003])
def test_a_row_does_not_depend_on_its_place_however_many_columns_there_are(columns: int) -> None:
    """BLAS works on the columns beyond a multiple of eight by other code, which looks where a row stands."""
    left, right = RNG.normal(size=(700, 300)), RNG.normal(size=(300, columns))
    together = row_products(left, right)
    np.testing.assert_allclose(together, left @ right, rtol=0, atol=1e-11)
    for rows in (np.arange(250, 600), np.roll(np.arange(700), 100)):
        np.testing.assert_array_equal(row_products(left[rows], right), together[rows])


def test_products_do_not_depend_on_the_number_of_threads() -> None:
    """Asked in a thread of its own, where only this one says how many BLAS has: of a thousand numbers it
    rounds otherwise with two threads than with one."""
    left, right = RNG.normal(size=(600, 1000)), RNG.normal(size=(1000, 64))
    products = []
    for number in (1, 2):
        with threadpool_limits(number, "blas"), ThreadPoolExecutor(1) as pool:
            products.append(pool.submit(row_products, left, right).result())
    np.testing.assert_array_equal(products[0], products[1])
    np.testing.assert_allclose(products[0], left @ right, rtol=0, atol=1e-12)


@pytest.mark.parametrize("columns", [64, 1000, 1537])
def test_single_products_are_those_of_numpy_and_the_same_in_every_batch(columns: int) -> None:
    right = RNG.normal(size=(columns, 128)).astype(np.float32).T
    left = RNG.normal(size=(700, 128)).astype(np.float32)
    together = single_row_products(left, right)
    assert together.dtype == np.float32 and together.shape == (700, columns)
    np.testing.assert_allclose(together, left.astype(float) @ right.astype(float), rtol=0, atol=1e-4)
    for rows in (np.array([5]), np.arange(250, 600), RNG.permutation(700)):
        np.testing.assert_array_equal(single_row_products(left[rows], right), together[rows])
    assert single_row_products(left[:0], right).shape == (0, columns)


def test_single_products_are_rounded_from_double_where_places_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor that rounds a row by its place cannot be had here: the answer of the look is changed."""
    monkeypatch.setattr(rows_module, "_alike", lambda *_: False)
    expected = row_products(LEFT, RIGHT).astype(np.float32)
    np.testing.assert_array_equal(single_row_products(LEFT, RIGHT), expected)


def test_a_token_is_scored_alike_in_every_batch() -> None:
    columns = RNG.normal(size=(600, 90)).astype(np.float32)
    columns[RNG.random(columns.shape) < 0.2] = np.nan
    vectors, places = RNG.normal(size=(600, 40)).astype(np.float32), np.arange(600)
    network = Network.fit(NetworkInputs.from_columns(columns, [(vectors, places)]), columns[:, 0] > 0, seed=0)
    together = network.probability(columns, [(vectors, places)])
    for rows in (slice(3, 4), slice(0, 257), slice(250, 600)):
        np.testing.assert_array_equal(
            network.probability(columns[rows], [(vectors, places[rows])]), together[rows]
        )


def test_a_text_is_scored_alike_in_every_batch() -> None:
    lengths = RNG.integers(1, 40, 80)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    texts = Texts(RNG.normal(size=(offsets[-1], 120)).astype(np.float32), offsets)
    network = PoolingNetwork(random_beginning(np.random.default_rng(1), 120, 2))
    together = network.outcomes(texts)
    for rows in (np.array([5]), np.arange(40, 80), RNG.permutation(80)):
        np.testing.assert_array_equal(network.outcomes(texts.take(rows)), together[rows])
