"""Templates of phrases: a text's n-grams, words unmatched in another text, and anchors."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

Words = Sequence[str]
Pattern = tuple[str, ...]  # n-grams; an anchor is two bigrams with GAP between them

GAP = "\t"
ORDERS = 2, 3, 4, 5


def ngrams(words: Words) -> set[Pattern]:
    """The 2-5-grams of a text.

    >>> sorted(ngrams(["a", "b", "c"]))
    [('a', 'b'), ('a', 'b', 'c'), ('b', 'c')]
    """
    return {tuple(words[i : i + n]) for n in ORDERS for i in range(len(words) - n + 1)}


def unmatched(words: Words, reference: Words) -> list[bool]:
    """Which words have no equal partner in the other text; the first of equals have one.

    >>> unmatched(["a", "b", "a", "c"], ["a", "c", "d"])
    [False, True, True, False]
    """
    left, result = Counter(reference), []
    for word in words:
        result.append(left[word] == 0)
        left[word] -= left[word] > 0
    return result


def different(words: Words, reference: Words) -> Iterator[tuple[str, ...]]:
    """Runs of unmatched words, with the word before and the word after if there are such.

    >>> list(different(["a", "x", "y", "b", "z"], ["b", "a"]))
    [('a', 'x', 'y', 'b'), ('b', 'z')]
    """
    alone = unmatched(words, reference)
    start = 0
    while start < len(words):
        if not alone[start]:
            start += 1
            continue
        end = start
        while end < len(words) and alone[end]:
            end += 1
        yield tuple(words[max(start - 1, 0) : end + 1])
        start = end


def anchors_of_differences(words: Words, reference: Words) -> set[Pattern]:
    """`prev s1 ... sn next` of every run of unmatched words s1 .. sn between two words.

    >>> anchors_of_differences(["a", "x", "y", "b", "z"], ["b", "a"])
    {('a', 'x', '\\t', 'y', 'b')}
    """
    alone = unmatched(words, reference)
    patterns, start = set[Pattern](), 0
    while start < len(words):
        end = start
        while end < len(words) and alone[end]:
            end += 1
        if end > start and start > 0 and end < len(words):
            patterns.add((words[start - 1], words[start], GAP, words[end - 1], words[end]))
        start = max(end, start + 1)
    return patterns


def anchors(words: Words) -> set[Pattern]:
    """All anchors of a text: two bigrams, the second one after the first one's first word.

    >>> sorted(anchors(["a", "b", "c"]))
    [('a', 'b', '\\t', 'b', 'c')]
    """
    pairs = list(pairwise(words))
    return {(*pairs[i], GAP, *pairs[j]) for i in range(len(pairs)) for j in range(i + 1, len(pairs))}


def with_function_words(words: Words) -> list[bool]:
    """Which bigrams begin or end with a word of up to three letters, by their place.

    >>> with_function_words(["casa", "de", "piedra", "blanca"])
    [True, True, False]
    """
    return [len(a) <= 3 or len(b) <= 3 for a, b in pairwise(words)]
