"""What a file says of a segment besides its texts: not to be translated, locked, not translated yet."""

from collections.abc import Mapping
from dataclasses import dataclass

from qe.data.translation_files._xml import Element

_NOT_LOCKED = ("", "0", "false", "no", "unlocked")
_MEMOQ_STATUS = "{MQXliff}status"
_UNTRANSLATED = ("new", "needs-translation", "initial", "NotStarted")  # XLIFF 1.2, XLIFF 2, memoQ


@dataclass(frozen=True)
class State:
    """The state of a segment; `stage` of the translation is the file's own word, empty if it has none."""

    translate: bool = True
    locked: bool = False
    stage: str = ""

    def within(self, *elements: Element) -> "State":
        """The state inside elements, the outermost first; each overrides what it says itself."""
        state = self
        for element in elements:
            state = state._inside(element.attributes)
        return state

    def _inside(self, attributes: Mapping[str, str]) -> "State":
        locks = [value for key, value in attributes.items() if key.rpartition("}")[2] == "locked"]
        stages = (attributes.get(name) for name in ("state", "conf", _MEMOQ_STATUS))  # `conf` is Trados'
        return State(
            attributes["translate"] != "no" if "translate" in attributes else self.translate,
            locks[0].lower() not in _NOT_LOCKED if locks else self.locked,
            next(filter(None, stages), self.stage),
        )

    def reason(self, source: str, target: str) -> str:
        """Why a segment with this source and translation needs no score; empty if it needs one."""
        if not self.translate:
            return "not to be translated"
        if self.locked:
            return "locked"
        is_copy = self.stage in _UNTRANSLATED and source == target != ""
        return f"not translated yet: a copy of the source, state '{self.stage}'" if is_copy else ""

    def __str__(self) -> str:
        marks = ("" if self.translate else "translate=no", "locked" if self.locked else "", self.stage)
        return ", ".join(filter(None, marks))
