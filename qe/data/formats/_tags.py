"""OK/BAD tags against the tokens they are for."""

from qe.data.reading import Column, Reading


def check_tags(reading: Reading, tags: Column, text: Column, gaps: bool) -> None:
    """Reports each row with a wrong number of tags: n for n tokens, with `gaps` 2 n + 1."""
    for row, (tag, words) in enumerate(zip(tags.texts, text.texts, strict=True)):
        n = len(words.split())
        expected = 2 * n + 1 if gaps else n
        if len(tag.split()) != expected:
            reading.defect(
                f"expected {expected} tags for {n} tokens, found {len(tag.split())}",
                location=tags.location(row),
            )
