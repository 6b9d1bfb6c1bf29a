"""The application (ASGI): addresses, request ids, and one answer to every request."""

import asyncio
import logging
import re
import threading
import time
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial

from qe.production.server.answers import Answer, Refused, escaped, json_answer, json_bytes, refusal, shortened
from qe.production.server.bodies import Bodies, Body, ClientDisconnected, Message, Receive
from qe.production.server.hosts import LOOPBACK, Hosts
from qe.production.server.limits import Limits
from qe.production.server.metrics import Metrics
from qe.production.server.parsing import Kind, kind_of
from qe.production.server.service import Service
from qe.production.server.throttle import REQUESTS

Send = Callable[[Message], Awaitable[None]]
_log = logging.getLogger(REQUESTS)
_ID = re.compile(r"[\w.:-]{1,64}", re.ASCII)
_VERSIONS = ("1.0", "1.1")
_AGAIN = {"Retry-After": "1"}


@dataclass(frozen=True)
class Request:
    """What the first line and the headers say."""

    id: str
    method: str
    path: str
    query: bytes
    headers: dict[str, str]
    body: Body
    version: str = "1.1"

    @classmethod
    def from_scope(cls, scope: Message, receive: Receive) -> "Request":
        """A client's own id is kept where it is short and plain."""
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        given, length = headers.get("x-request-id", ""), headers.get("content-length", "")
        number = given if _ID.fullmatch(given) else uuid.uuid4().hex
        # h11 has checked the length: digits, and fewer than twenty.
        body = Body(receive, int(length) if length.isascii() and length.isdigit() else None)
        version = scope.get("http_version", "1.1")
        return cls(number, scope["method"], scope["path"], scope["query_string"], headers, body, version)

    @property
    def ends_unclearly(self) -> bool:
        """Whether servers may differ on where the request ends (RFC 9112, 6.1).

        Bytes after it are not read.
        """
        return self.version not in _VERSIONS or (
            "transfer-encoding" in self.headers
            and ("content-length" in self.headers or self.version == "1.0")
        )


@dataclass(eq=False)
class App:
    """Answers while the model is being loaded (`service` is None), and while it is there.

    hosts     names that it answers to
    stopping  whether the server takes no new requests
    busy      requests that are being scored
    """

    limits: Limits
    service: Service | None = None
    hosts: Hosts = LOOPBACK
    stopping: Callable[[], bool] = lambda: False
    busy: int = 0
    bodies: Bodies = field(init=False)
    metrics: Metrics = field(default_factory=Metrics)
    _running: set[threading.Event] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.bodies = Bodies(self.limits)
        # Threads end with their work: one that is given up on holds its place until then.
        self.pool = ThreadPoolExecutor(self.limits.busy, thread_name_prefix="scoring")
        if self.service is not None:
            self.take(self.service)

    def take(self, service: Service) -> None:
        """Answer by this model from now on.

        Requests that are being scored keep the model they began with.
        """
        self.metrics.of_model(service.about, service.bounds, service.recent)
        self.service = service

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        begun = time.perf_counter()
        request = Request.from_scope(scope, receive)
        try:
            answer = await self._answer(request)
            if "expect" not in request.headers and not request.ends_unclearly:
                await request.body.discard()
        except ClientDisconnected:
            self.metrics.client_disconnected()
            return
        await _send(send, answer, request)
        seconds = time.perf_counter() - begun
        self.metrics.answered(request.path if request.path in self.routes else "other", answer, seconds)
        _log_request(scope, request, answer, seconds)

    async def _answer(self, request: Request) -> Answer:
        try:
            self._check(request)
            return await self._handler(request)(request)
        except Refused as refused:
            return refusal(refused, request.id)
        except ClientDisconnected:
            raise
        except Exception:
            _log.exception("id=%s could not be answered", request.id)
            told = Refused(500, "the request could not be answered; the server's log says more")
            return refusal(told, request.id)

    def _check(self, request: Request) -> None:
        if request.ends_unclearly:
            reason = "Content-Length, or HTTP/1.0, does not go with Transfer-Encoding"
            if request.version not in _VERSIONS:
                reason = f"HTTP/{request.version} is not spoken here, but {' and '.join(_VERSIONS)}"
            raise Refused(400, reason, {"Connection": "close"})
        self.hosts.check(request.headers.get("host"))

    def _handler(self, request: Request) -> Callable[[Request], Awaitable[Answer]]:
        methods = self.routes.get(request.path)
        if methods is None:
            raise Refused(404, f"no such address; there is {', '.join(self.routes)}")
        # An answer to HEAD is that to GET; its body is left out by the protocol.
        handler = methods.get("GET" if request.method == "HEAD" else request.method)
        if handler is None:
            raise Refused(405, f"{request.path} takes {', '.join(methods)}", {"Allow": ", ".join(methods)})
        return handler

    @cached_property
    def routes(self) -> dict[str, dict[str, Callable[[Request], Awaitable[Answer]]]]:
        """address -> method -> what answers."""
        return {
            "/invocations": {"POST": self._invocations},
            "/health": {"GET": self._health},
            "/ping": {"GET": self._health},
            "/ready": {"GET": self._ready},
            "/version": {"GET": self._version},
            "/metrics": {"GET": self._metrics},
            "/openapi.json": {"GET": self._openapi},
            "/docs": {"GET": self._docs},
        }

    @property
    def ready(self) -> Service:
        """The loaded model.

        Raises Refused (503) before it is loaded, and when the server is stopping.
        """
        if self.stopping():
            raise Refused(503, "the server is stopping")
        if self.service is None:
            raise Refused(503, "the model is being loaded; try again", _AGAIN)
        return self.service

    async def _invocations(self, request: Request) -> Answer:
        service, kind = self.ready, kind_of(request.headers.get("content-type"))
        if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise Refused(415, "send the body as it is, without Content-Encoding")
        body = await self.bodies.read(request.body)
        if self.busy >= self.limits.busy:
            raise Refused(503, f"{self.limits.busy} requests are being scored; try again", _AGAIN)
        self.busy += 1
        stopped = threading.Event()
        self._running.add(stopped)
        future = asyncio.get_running_loop().run_in_executor(
            self.pool, _scored, service, body, kind, request, stopped
        )
        future.add_done_callback(partial(self._finish, stopped))
        try:
            return await asyncio.wait_for(asyncio.shield(future), self.limits.seconds)
        except TimeoutError:
            stopped.set()
            raise Refused(504, f"the answer took longer than {self.limits.seconds} s") from None

    def stop(self) -> None:
        """Stop all scoring: what is being computed ends after its block of rows."""
        for stopped in list(self._running):
            stopped.set()
        self.pool.shutdown(wait=False, cancel_futures=True)

    def _finish(self, stopped: threading.Event, future: "asyncio.Future[Answer]") -> None:
        self.busy -= 1
        self._running.discard(stopped)
        if not future.cancelled():
            future.exception()  # of a request that was given up on, nobody else asks

    async def _health(self, request: Request) -> Answer:
        return json_answer({"status": "alive"})

    async def _ready(self, request: Request) -> Answer:
        return json_answer({"status": "ready", "model": self.ready.about["model"]})

    async def _version(self, request: Request) -> Answer:
        return json_answer(self.ready.about)

    async def _metrics(self, request: Request) -> Answer:
        return self.metrics.answer()

    async def _openapi(self, request: Request) -> Answer:
        return self.ready.description

    async def _docs(self, request: Request) -> Answer:
        return self.ready.page


def _scored(service: Service, body: bytes, kind: Kind, request: Request, stopped: threading.Event) -> Answer:
    try:
        return service.answer(body, kind, request.query, stopped.is_set)
    except Refused as refused:
        return refusal(refused, request.id)


async def _send(send: Send, answer: Answer, request: Request) -> None:
    headers = {
        "content-type": answer.kind,
        "content-length": str(len(answer.content)),
        "x-content-type-options": "nosniff",
        "x-request-id": request.id,
        **(answer.headers or {}),
    }
    if not request.body.complete:
        headers["connection"] = "close"  # what is still to come of the body is not waited for
    encoded = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": encoded})
    await send({"type": "http.response.body", "body": answer.content})


def _log_request(scope: Message, request: Request, answer: Answer, seconds: float) -> None:
    path = escaped(scope.get("raw_path", b"").decode("latin-1"), 200)
    client = (scope.get("client") or ("-",))[0]
    rows = "" if answer.rows is None else f" rows={answer.rows}"
    reason = f" {json_bytes({'error': shortened(answer.reason, 200)}).decode()}" if answer.reason else ""
    _log.log(
        logging.WARNING if answer.status >= 500 else logging.INFO,
        "id=%s %s %s %s %d%s %.1f ms%s",
        request.id, escaped(client, 200), escaped(request.method, 20), path, answer.status, rows,
        1000 * seconds, reason,
    )  # fmt: skip
