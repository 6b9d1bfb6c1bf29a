"""Moses n-best lists, traces and search graphs as the column `nbest` of Segments."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import regex

from features.basics.errors import InputError
from features.basics.numerals import natural, real
from features.storage.files import read_lines

Hypothesis = dict[str, Any]

_LABEL: Final = regex.compile(r"(\S*[^\s\d.+-]\S*)(?:=|:)$")  # older versions: `lm:`, newer ones: `LM0=`
_RANGE: Final = regex.compile(r"(\d+)(?:-(\d+))?=(\d+)(?:-(\d+))?")
_TRACE: Final = regex.compile(r"\|(\d+)-(\d+)(?:,(?:[^|]|\|(?!\s|$))*)?\|(?=\s|$)")
_TOTAL: Final = regex.compile(r",total=(\S+?),")
_NODE: Final = regex.compile(r"(\d+) hyp=(\d+) stack=(\d+)(.*)")


def nbest_column(path: Path, segments: int) -> tuple[str, ...]:
    """The column (segments,) from a Moses n-best list (`-n-best-list`).

    An entry is a JSON list, best hypothesis first, each `{"text", "score", "scores", "phrases"}`: `scores`
    maps a model's name to its unweighted numbers, `phrases` are `[first source word, last, first target word,
    last]` from 0, inclusive. A segment that the file lacks gets an empty list.

    Raises InputError, with the line, for invalid lines, and for numbers beyond the segments.
    Source: the Moses manual, sections "n-best lists", "report-segmentation", "search graph"; Manager.cpp.
    """
    hypotheses_of: list[list[Hypothesis]] = [[] for _ in range(segments)]
    for number, line in enumerate(read_lines(path), start=1):
        location = f"{path}:{number}"
        fields = [field.strip() for field in line.split("|||")]
        if len(fields) < 4:
            raise InputError(
                f"expected at least 4 fields between '|||', found {len(fields)}", location=location
            )
        segment = _integer(fields[0], location)
        if segment >= segments:
            raise InputError(
                f"segment {segment} is beyond the {segments} segments (counted from 0)", location=location
            )
        text, phrases = _without_trace(fields[1], location)
        hypothesis: Hypothesis = {
            "text": text,
            "score": _number(fields[3], location),
            "scores": _scores(fields[2], location),
        }
        if len(fields) > 4 and fields[4] and all(_RANGE.fullmatch(item) for item in fields[4].split()):
            phrases = [_phrase(item, location) for item in fields[4].split()]
        hypotheses_of[segment].append(hypothesis | ({"phrases": phrases} if phrases else {}))
    return tuple(json.dumps(hypotheses, ensure_ascii=False) for hypotheses in hypotheses_of)


def trace_column(path: Path) -> tuple[str, ...]:
    """Entries from output lines with `-t` (`this house |0-1| is small |2-3|`) or `-tt`.

    Raises InputError, with the line, for words without a following mark.
    """
    entries = []
    for number, line in enumerate(read_lines(path), start=1):
        text, phrases = _without_trace(line, f"{path}:{number}")
        if text and (phrases is None or phrases[-1][3] != len(text.split()) - 1):
            raise InputError(
                "expected every phrase to end in a mark like |0-1|",
                location=f"{path}:{number}",
                remedy="run moses with -t",
            )
        totals = [float(t) for t in _TOTAL.findall(line)]
        hypothesis: Hypothesis = {"text": text, "phrases": phrases or []}
        entries.append([hypothesis | ({"score": sum(totals)} if totals else {})])
    return tuple(json.dumps(entry, ensure_ascii=False) for entry in entries)


def with_search(column: Sequence[str], path: Path) -> tuple[str, ...]:
    """Adds statistics of a search graph (`-output-search-graph`) to the best hypotheses of the column.

    `search` is `{"nodes", "dead", "recombined", "transitions"}`: hypotheses of the graph, dead ends
    (`forward=-1` and source words left), recombined hypotheses, and the score of every transition.

    Raises InputError, with the line, for an invalid line.
    """
    graphs = [_Graph() for _ in column]
    for number, line in enumerate(read_lines(path), start=1):
        match, location = _NODE.match(line), f"{path}:{number}"
        segment = None if match is None else natural(match[1])
        if match is None or segment is None or segment >= len(column):
            raise InputError(
                f"expected `number hyp=...` of one of {len(column)} segments, found '{line[:40]}'",
                location=location,
            )
        graphs[segment].add(_integer(match[3], location), match[4], location)
    result = []
    for entry, graph in zip(column, graphs, strict=True):
        hypotheses = json.loads(entry)
        if hypotheses and graph.stacks:
            best = hypotheses[0]
            best = {"text": best} if isinstance(best, str) else best
            hypotheses[0] = best | {"search": graph.summary()}
        result.append(json.dumps(hypotheses, ensure_ascii=False))
    return tuple(result)


@dataclass
class _Graph:
    stacks: list[int] = field(default_factory=list)
    forward: list[int] = field(default_factory=list)
    recombined: int = 0
    transitions: list[float] = field(default_factory=list)

    def add(self, stack: int, rest: str, location: str) -> None:
        head = takewhile(
            lambda item: not item.startswith(("out=", "scorebreakdown", "scores=")), rest.split()
        )
        values = dict(item.split("=", 1) for item in head if "=" in item)
        forward = values.get("forward", "-1")
        self.stacks.append(stack)
        self.forward.append(-1 if forward == "-1" else _integer(forward, location))
        self.recombined += "recombined" in values
        if "transition" in values:
            self.transitions.append(_number(values["transition"], location))

    def summary(self) -> dict[str, Any]:
        last = max(self.stacks)
        ends = zip(self.stacks, self.forward, strict=True)
        dead = sum(to < 0 and stack < last for stack, to in ends)
        counts = {"nodes": len(self.stacks), "dead": dead, "recombined": self.recombined}
        return {**counts, "transitions": self.transitions}


def _without_trace(text: str, location: str) -> tuple[str, list[list[int]] | None]:
    """Words, and phrases from marks like `|0-1|`; None without marks."""
    phrases: list[list[int]] = []
    words: list[str] = []
    end = 0
    for match in _TRACE.finditer(text):
        here = text[end : match.start()].split()
        first, last = _integer(match[1], location), _integer(match[2], location)
        phrases.append([first, last, len(words), len(words) + len(here) - 1])
        words += here
        end = match.end()
    words += text[end:].split()
    return " ".join(words), phrases or None


def _scores(text: str, location: str) -> dict[str, list[float]]:
    """Numbers by the preceding label; '' for those before any label."""
    scores: dict[str, list[float]] = {}
    label = ""
    for item in text.split():
        if match := _LABEL.fullmatch(item):
            label = match[1]
        numbers = scores.setdefault(label, [])
        if not match:
            numbers.append(_number(item, location))
    return scores


def _phrase(item: str, location: str) -> list[int]:
    first, last, target_first, target_last = _RANGE.fullmatch(item).groups()
    return [
        _integer(text, location) for text in (first, last or first, target_first, target_last or target_first)
    ]


def _integer(text: str, location: str) -> int:
    number = natural(text)
    if number is None:
        raise InputError(f"expected a whole number, found '{text[:40]}'", location=location)
    return number


def _number(text: str, location: str) -> float:
    try:
        return real(text)
    except ValueError:
        raise InputError(f"expected a number, found '{text}'", location=location) from None
