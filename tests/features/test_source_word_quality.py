"""Quality of source words: projection and tags by hand, links, and that it is learned from tags (MLQE-PE)."""

import numpy as np
import pytest

from features.basics.errors import InputError
from features.core.segments import Segments
from features.word_level.labels import source_tag_labels
from features.word_level.lookups import TokenLinks, given_links
from features.word_level.two_sides import linked_target, projected
from tests.factories import Find, refuses


def links(alignment: tuple[str, ...], source: tuple[str, ...], target: tuple[str, ...]) -> TokenLinks:
    return given_links(Segments(source, target, alignment=alignment))


def test_a_source_word_follows_the_target_words_it_is_linked_with() -> None:
    ends = np.array([0, 0, 1, 3]), np.array([0, 1, 1, 2])
    bad = np.array([True, False, False])
    assert projected(bad, ends, 4).tolist() == [True, False, False, False]  # word 2 has no link
    assert projected(np.zeros(0, bool), (np.zeros(0, int), np.zeros(0, int)), 2).tolist() == [False, False]


def test_the_linked_target_word_is_mutual_where_it_can_be() -> None:
    outcome = links(("0-0 0-1 1-1 2-1",), ("a b c d",), ("x y",))
    # y is linked with a, b and c, and its middle is b: a has x for itself, b has y; c has only y; d nothing
    source, target = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 1])
    assert linked_target(outcome, source, target, 4).tolist() == [0, 1, 1, -1]


def test_tags_are_one_per_source_word() -> None:
    assert source_tag_labels(["OK BAD", "", "BAD"], np.array([2, 0, 1])).tolist() == [False, True, True]
    with pytest.raises(InputError, match="expected 2 tags for 2 source tokens, but found 1") as error:
        source_tag_labels(["OK", "OK"], np.array([1, 2]))
    assert "segment 2" in str(error.value)
    refuses("'GOOD'", source_tag_labels, ["GOOD"], np.array([1]))


def test_projected_tags_are_near_the_given_ones(shared_data: Find) -> None:
    """MLQE-PE's own source tags, from its target tags over its own alignment: they agree on nearly all."""
    base = shared_data("mlqe-pe/en-de/post-editing/dev") / "dev"
    lines = {
        end: tuple(base.with_name(f"dev.{end}").read_text("utf-8").split("\n")[:300])
        for end in ("src", "mt", "tags", "source_tags", "src-mt.alignments")
    }
    links = [
        [tuple(map(int, link.split("-"))) for link in line.split()] for line in lines["src-mt.alignments"]
    ]
    agreed = total = 0
    for k, pairs in enumerate(links):
        ends = np.array([i for i, _ in pairs], int), np.array([j for _, j in pairs], int)
        bad = np.array([tag == "BAD" for tag in lines["tags"][k].split()[1::2]])
        given = np.array([tag == "BAD" for tag in lines["source_tags"][k].split()])
        agreed += int((projected(bad, ends, len(given)) == given).sum())
        total += len(given)
    assert agreed / total > 0.95
