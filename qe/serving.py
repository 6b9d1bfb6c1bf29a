"""Serving: a model behind MLflow's scoring server, with limits, on loopback unless told otherwise."""

import asyncio
import json
import logging
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from features.core.errors import InputError
from features.core.files import digest
from qe import tracking
from qe.model import Model, versions
from qe.scorer import Options, Scorer
from qe.scoring import frame_of

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


@dataclass(frozen=True)
class Limits:
    """What one request may ask for, and how many may be worked on at a time.

    bytes    of the body; more: 413
    rows     segments; more: 422
    seconds  to send the body (408) and to answer (504)
    busy     requests that are being scored, those given up on included; more: 503
    """

    bytes: int = 8 << 20
    rows: int = 5000
    seconds: int = 60
    busy: int = 4

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1:
                raise InputError(f"the limit of {name} must be at least 1, but got {value}")


@dataclass
class _Refusal:
    """Why a request is not answered, set where it is found and read where it is answered."""

    status: int = 0
    message: str = ""


_log = logging.getLogger(__name__)
_REFUSAL: ContextVar[_Refusal] = ContextVar("refusal")


class _Refused(Exception):
    """Ends a prediction; MLflow's server would say 400 or 500, with a stack trace."""


def refuse(status: int, message: str) -> _Refused:
    refusal = _REFUSAL.get()
    refusal.status, refusal.message = status, message
    return _Refused(message)


@dataclass
class Predictor:
    """Scores the parsed rows of a request, within the limits."""

    scorer: Scorer
    limits: Limits
    slots: threading.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self.slots = threading.Semaphore(self.limits.busy)

    def __call__(self, data: Any) -> pd.DataFrame:
        """`score` and `reason` (`low`, `high` with an interval) for each row."""
        if not self.slots.acquire(blocking=False):
            raise refuse(503, f"{self.limits.busy} requests are being scored; try again")
        try:
            return self._scored(data)
        except InputError as error:
            raise refuse(422, str(error)) from None
        except _Refused:
            raise
        except Exception:
            _log.exception("a request could not be answered")
            raise refuse(500, "the request could not be answered; the server's log says more") from None
        finally:
            self.slots.release()

    def _scored(self, data: Any) -> pd.DataFrame:
        try:
            table = data if isinstance(data, pd.DataFrame) else pd.DataFrame(data)
        except (ValueError, TypeError):
            raise refuse(
                422, "the request holds no table; send dataframe_records or dataframe_split"
            ) from None
        if len(table) > self.limits.rows:
            raise refuse(422, f"{len(table)} rows, but at most {self.limits.rows} are answered at once")
        scored = frame_of(self.scorer, table)
        return scored.astype(object).where(scored.notna(), None)  # JSON knows no NaN


@dataclass(frozen=True)
class Guard:
    """Stands before the scoring server: /version, the limits, and plain answers where it refuses."""

    inner: Application
    limits: Limits
    about: dict[str, Any]

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
        elif scope["path"] == "/version":
            await _answer(send, 200, self.about)
        else:
            await self._guarded(scope, receive, send)

    async def _guarded(self, scope: Message, receive: Receive, send: Send) -> None:
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        if scope["method"] == "POST" and "content-type" not in headers:
            return await _error(send, 415, "name the Content-Type: application/json, text/csv")
        declared = headers.get("content-length", "0")
        too_large = f"the body is larger than {self.limits.bytes:,} bytes"
        if declared.isdigit() and int(declared) > self.limits.bytes:
            return await _error(send, 413, too_large)
        try:
            body = await asyncio.wait_for(_body(receive, self.limits.bytes), self.limits.seconds)
        except TimeoutError:
            return await _error(send, 408, f"the body was not sent within {self.limits.seconds} s")
        if body is None:
            return await _error(send, 413, too_large)
        refusal = _Refusal()
        token = _REFUSAL.set(refusal)
        try:
            sent = await _collected(self.inner, scope, body, receive)
        finally:
            _REFUSAL.reset(token)
        if refusal.status:
            await _error(send, refusal.status, refusal.message)
        elif sent[0]["status"] >= 400:
            await _error(send, sent[0]["status"], _message(sent))
        else:
            for message in sent:
                await send(message)


async def _body(receive: Receive, limit: int) -> bytes | None:
    """The whole body; None where it is larger than the limit."""
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
        if size > limit:
            return None
    return b"".join(parts)


async def _collected(inner: Application, scope: Message, body: bytes, receive: Receive) -> list[Message]:
    """What the inner application sends."""
    sent: list[Message] = []
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def keep(message: Message) -> None:
        sent.append(message)

    await inner(scope, replay, keep)
    return sent


def _message(sent: list[Message]) -> str:
    """What MLflow's server says of an error, which is plain text or one of several forms of JSON."""
    text = b"".join(message.get("body", b"") for message in sent).decode("utf-8", "replace")
    try:
        content = json.loads(text)
    except json.JSONDecodeError:
        return text.strip()
    return str(content.get("message") or content.get("detail") or text) if isinstance(content, dict) else text


async def _error(send: Send, status: int, message: str) -> None:
    await _answer(send, status, {"error": message})


async def _answer(send: Send, status: int, content: dict[str, Any]) -> None:
    body = json.dumps(content, ensure_ascii=False).encode("utf-8")
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 503:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def application(folder: Path, limits: Limits | None = None, level: float | None = None) -> Guard:
    """The server's application (ASGI) for the model in `folder`; `level` adds prediction intervals.

    POST /invocations (MLflow's protocol), GET /ping and /health (200 while the model is loaded),
    GET /version. Raises InputError where the model cannot be loaded or has no intervals.
    """
    limits = limits or Limits()
    # No cache: threads share the scorer.
    scorer = Scorer.load(folder, Options(level=level, drift=False, cache=0))
    inner = tracking.scoring_app(Predictor(scorer, limits), scorer.model.columns(), limits.seconds)
    return Guard(inner, limits, _about(scorer.model, folder))


def _about(model: Model, folder: Path) -> dict[str, Any]:
    """What /version says: which model, made of what, run by what."""
    return {
        "model": model.name,
        "fingerprint": digest((folder / "model.json").read_bytes()),
        "features": model.feature_set.fingerprint,
        "columns": list(model.columns()),
        "versions": versions(),
    }


def serve(app: Guard, host: str, port: int) -> None:
    """Answers requests until it is stopped (Ctrl-C, SIGTERM)."""
    import uvicorn

    uvicorn.run(app, host=host, port=port, log_level="warning", timeout_keep_alive=10)
