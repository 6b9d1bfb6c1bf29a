"""Tables as Markdown, LaTeX and HTML."""

import re

from markupsafe import Markup

from qe.display.numbers import SIGNIFICANT, UNDEFINED, NumberText
from qe.display.sheet import Sheet, Strip

# No line ends within an interval; on paper and on a phone it may stand below its figure.
_IN_INTERVAL = re.compile(r"(?<=,) (?=[^\[\]]*\])")

_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<=": r"$\le$",
    ">": "$>$", "<": "$<$", "–": "--", "†": r"$\dagger$", "‡": r"$\ddagger$", "*": r"$^{*}$",
    "•": r"$\bullet$",
    "|": r"\textbar{}", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "µ": r"\textmu{}", "±": r"$\pm$",
}  # fmt: skip


def markdown(sheet: Sheet) -> str:
    """A heading and a pipe table, or the word `none` in place of its rows."""
    heading = f"### {sheet.title}\n\n" if sheet.title else ""
    if not sheet.rows:
        return f"{heading}none\n"
    rule = ["---:" if strip.right else "---" for strip in sheet.strips]
    lines = [[_piped(strip.title) for strip in sheet.strips], rule, *([*map(_piped, r)] for r in sheet.rows)]
    foot = "".join(f"\n{_starred(line)}\n" for line in sheet.foot)
    return heading + "".join(f"| {' | '.join(line)} |\n" for line in lines) + foot


def _piped(cell: str) -> str:
    return _starred(cell).replace("|", "\\|").replace("\n", "<br>")


def _starred(text: str) -> str:
    return text.replace("*", "\\*")


def latex(sheet: Sheet) -> str:
    layout = "".join("r" if strip.right else "l" for strip in sheet.strips)
    titles = [strip.latex or latex_escaped(strip.title) for strip in sheet.strips]
    rows = [f"{' & '.join(map(_latex_cell, row))} \\\\" for row in sheet.rows]
    for gap in reversed(sheet.gaps):
        rows.insert(gap, r"\midrule")
    told = [f"{latex_escaped(line).removesuffix('.')}." for line in (sheet.title, *sheet.foot) if line]
    told = [line.replace("-: undefined", "--: undefined") for line in told]
    label = re.sub(r"[^a-z0-9]+", "-", sheet.title.partition(";")[0].lower()).strip("-")
    labels = [rf"\label{{tab:{label}}}"] if label else []
    return "\n".join([
        r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{layout}}}", r"\toprule",
        f"{' & '.join(titles)} \\\\", r"\midrule", *rows, r"\bottomrule", r"\end{tabular}",
        rf"\caption{{{' '.join(told)}}}", *labels, r"\end{table}", "",
    ])  # fmt: skip


def _latex_cell(cell: str) -> str:
    if not isinstance(cell, NumberText):
        return latex_escaped(cell)
    return "--" if cell == UNDEFINED else re.sub(r"-(?=\d)", "$-$", latex_escaped(cell))


def latex_escaped(text: str) -> str:
    """Text as LaTeX shows it.

    >>> latex_escaped("p <= 5 %, a_b")
    'p $\\\\le$ 5 \\\\%, a\\\\_b'
    """
    special = "|".join(re.escape(mark) for mark in sorted(_LATEX, key=len, reverse=True))
    return re.sub(f"{special}|[&%$#_{{}}]", lambda m: _LATEX.get(m.group(), "\\" + m.group()), text)


def html(sheet: Sheet) -> str:
    """A `<table>` with its caption, and its foot below; all text is escaped."""
    caption = Markup("<caption><span>{}</span></caption>\n").format(sheet.title) if sheet.title else Markup()
    head = Markup().join(_cell(_heading(strip), strip.right, "col") for strip in sheet.strips)
    rows = [Markup("<tr>{}</tr>\n").format(_html_row(sheet, row)) for row in sheet.rows]
    for gap in reversed(sheet.gaps):
        rows.insert(gap, Markup("</tbody>\n<tbody>\n"))
    foot = Markup().join(Markup('<p class="lead">{}</p>\n').format(line) for line in sheet.foot)
    return Markup(
        '<div class="wide"><table>\n{}<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table></div>\n{}'
    ).format(caption, head, Markup().join(rows), foot)


def _html_row(sheet: Sheet, row: tuple[str, ...]) -> Markup:
    cells = enumerate(zip(row, sheet.strips, strict=True))
    return Markup().join(
        _cell(cell, strip.right, "row" if place == sheet.name_column else "")
        for place, (cell, strip) in cells
    )


def _heading(strip: Strip) -> str:
    return Markup("{}<small>{}</small>").format(strip.title, strip.about) if strip.about else strip.title


def _cell(text: str, right: bool, scope: str) -> Markup:
    kinds = ["sure"] if isinstance(text, NumberText) and text.endswith(SIGNIFICANT) else []
    if isinstance(text, NumberText):
        text = _IN_INTERVAL.sub("\u00a0", text)
    kinds += [] if right else ["text"]
    tag = "th" if scope else "td"
    scoped = Markup(' scope="{}"').format(scope) if scope else Markup()
    styled = Markup(' class="{}"').format(" ".join(kinds)) if kinds else Markup()
    return Markup("<{}{}{}>{}</{}>").format(tag, scoped, styled, text, tag)
