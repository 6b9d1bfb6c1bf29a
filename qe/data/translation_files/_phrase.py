"""Tags of Phrase, which are part of the text in its files: `{1}`, `{b>text<b}`."""

import re
from itertools import groupby

from qe.data.translation_files._xml import Element

NAMESPACE = "http://www.memsource.com/mxlf/"
_TAG = re.compile(r"(\{(?:[1-9]\d{0,3}|j)\}|\{[\w^]{1,8}>|<[\w^]{1,8}\})")  # {j} joins segments


def split_tags(element: Element) -> None:
    """Put an element `x` in place of every tag, in the element and in those inside it."""
    children: list[Element | str] = []
    for is_text, group in groupby(element.children, key=lambda child: isinstance(child, str)):
        if is_text:
            for number, part in enumerate(_TAG.split("".join(map(str, group)))):
                children.append(_placeholder(element, part) if number % 2 else part)
            continue
        for child in group:
            if isinstance(child, Element):
                split_tags(child)
                children.append(child)
    element.children = children


def _placeholder(around: Element, tag: str) -> Element:
    return Element(around.namespace, "x", around.prefix, {"id": tag.strip("{}<>")}, around.start)


def codes_of(unit: Element) -> dict[str, str]:
    children = (child for child in unit.children if isinstance(child, Element))
    marks = (mark for child in children if child.namespace.startswith(NAMESPACE) for mark in child.members())
    contents = ((mark.attributes.get("id", ""), mark.first("content")) for mark in marks)
    return {name: content.text for name, content in contents if content is not None}
