"""Reading the HTML pages that the project writes: tags, attributes, text, and what every page keeps to."""

from html.parser import HTMLParser
from itertools import pairwise

_VOID = {"meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """Tags, their attributes, and text; `open` holds what was opened and never closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    @property
    def words(self) -> str:
        """All text, white space as single blanks."""
        return " ".join(" ".join(self.text).split())


def needs_nothing_else(page: Page) -> None:
    """No script, no address but places on the page itself, no picture that is not in it."""
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in page.tags}
    places = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    for tag, attributes in page.tags:
        assert str(attributes.get("src", "data:")).startswith("data:"), tag
        assert not any(name.startswith("on") for name in attributes)
        address = attributes.get("href")
        assert address is None or (address.startswith("#") and address[1:] in places), address


def is_readable_aloud(page: Page) -> None:
    """A language, a title, headings that skip no level, headers in tables, words for every picture."""
    names = [tag for tag, _ in page.tags]
    assert ("html", {"lang": "en"}) in page.tags and names.count("main") == names.count("h1") == 1
    levels = [int(name[1]) for name in names if name in ("h1", "h2", "h3", "h4")]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(attributes.get("alt") for tag, attributes in page.tags if tag == "img")
    assert all(attributes.get("scope") for tag, attributes in page.tags if tag == "th")
    assert not page.open
