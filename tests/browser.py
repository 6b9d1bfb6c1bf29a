"""A headless Chromium that tests drive as a person would: they open addresses, click, and read.

It speaks the DevTools protocol over two pipes, so that no package and no port is needed.
"""

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE

_SHOWN = 120.0  # seconds in which a page shows what it has

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update "
    "--disable-sync --no-first-run --remote-debugging-pipe --window-size=1900,1200"
)
# The smallest element that shows a text, and where its middle is on the screen.
_FIND = """(text => {
  const shown = [...document.querySelectorAll("*")].filter(
    e => e.innerText?.trim() === text && e.getClientRects().length);
  const found = shown.filter(e => ![...e.children].some(c => shown.includes(c)))[0];
  if (!found) return null;
  found.scrollIntoView({block: "center", inline: "center"});
  const box = found.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})"""


class Page:
    """One tab."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back = os.fdopen(to, "wb", 0), os.fdopen(back, "rb", 0)
        self._number, self._rest, self._session = 0, b"", ""
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def _ask(self, method: str, **params: Any) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        message |= {"sessionId": self._session} if self._session else {}
        self._to.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._answer()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def _answer(self) -> Any:
        while b"\0" not in self._rest:
            part = self._back.read(1 << 16)
            assert part, "Chromium has gone"
            self._rest += part
        text, _, self._rest = self._rest.partition(b"\0")
        return json.loads(text)

    def open(self, address: str) -> None:
        """Loads a page anew, whatever the one before had open."""
        for each in ("about:blank", address):
            self._ask("Page.navigate", url=each)

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        result = self._ask("Runtime.evaluate", expression=script, returnByValue=True)
        return result["result"].get("value")

    @property
    def text(self) -> str:
        """What is shown."""
        return str(self.run("document.body ? document.body.innerText : ''") or "")

    @property
    def address(self) -> str:
        return str(self.run("location.href"))

    def wait(self, *texts: str) -> str:
        """Waits until all these texts are shown; what is shown then."""
        deadline = time.monotonic() + _SHOWN
        while missing := [text for text in texts if text not in self.text]:
            assert time.monotonic() < deadline, f"{missing} not shown at {self.address}:\n{self.text[:3000]}"
            time.sleep(0.3)
        return self.text

    def click(self, text: str) -> None:
        """Clicks on the first element that shows exactly this text, once it stays in its place."""
        self.wait(text)
        deadline, before, place = time.monotonic() + _SHOWN, None, self._place_of(text)
        while place is None or place != before:
            assert time.monotonic() < deadline, f"'{text}' is nowhere by itself:\n{self.text[:3000]}"
            time.sleep(0.5)
            before, place = place, self._place_of(text)
        self.click_at(*place)

    def _place_of(self, text: str) -> Any:
        """The middle of the smallest element with a text; None if there is none."""
        return self.run(f"{_FIND}({json.dumps(text)})")

    def click_at(self, x: float, y: float) -> None:
        """A real click, as of a mouse."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = {"button": "left", "clickCount": 1} if kind != "mouseMoved" else {}
            self._ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def on_paper(self, size: dict[str, Any], dark: bool) -> None:
        """Lays pages out as for a printer, on a screen that is dark."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._ask("Emulation.setEmulatedMedia", media="print", features=features)
        self._ask("Emulation.setDeviceMetricsOverride", **size)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._ask("Page.captureScreenshot")["data"]))


@contextmanager
def browser(profile: Path) -> Iterator[Page]:
    """A page of a Chromium with a fresh profile; it skips the test if there is none on this machine."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine (Debian: apt-get install chromium)")
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    command = [CHROMIUM, *_FLAGS.split(), f"--user-data-dir={profile}"]
    # The protocol's pipes are the descriptors 3 and 4: a shell puts them there.
    script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
    process = subprocess.Popen(
        ["/bin/bash", "-c", script, "browser", *command], pass_fds=(theirs_in, theirs_out),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Page(ours_out, ours_in)
    finally:
        os.killpg(process.pid, 15)
        process.wait(PATIENCE)
