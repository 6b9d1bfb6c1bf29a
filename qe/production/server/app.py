"""The application (ASGI): host names, addresses, request ids, and one answer to every request."""

import asyncio
import ipaddress
import logging
import re
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Self

from features.basics.errors import InputError, quoted
from qe.production.server import protocol
from qe.production.server.connections import Body, BodyReader, ClientDisconnected, Message, Receive
from qe.production.server.monitoring import REQUESTS, Metrics
from qe.production.server.service import Service

Send = Callable[[Message], Awaitable[None]]
_log = logging.getLogger(REQUESTS)
_ID = re.compile(r"[\w.:-]{1,64}", re.ASCII)
_VERSIONS = ("1.0", "1.1")
_RETRY, _CLOSE = {"Retry-After": "1"}, {"Connection": "close"}
_SCORING = "/invocations"

ANY_HOST: Final = "*"
# A host by RFC 3986: a name or an address, IPv6 in brackets, and a port.
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[\w.-]+)(:\d*)?", re.ASCII)


@dataclass(frozen=True)
class Hosts:
    """Host names that a server answers to, in lower case, without ports; loopback is always among them.

    Otherwise a page of another site could read answers in a browser on this machine (DNS rebinding).
    """

    names: frozenset[str] = frozenset({"localhost"})  # and addresses of loopback

    @classmethod
    def from_names(cls, names: Iterable[str], listening: str = "") -> Self:
        """These names, and the address that the server listens on, unless it listens on every one."""
        allowed = set(cls().names)
        for name in names:
            if name != ANY_HOST and not _name(name):
                raise InputError(
                    f"{quoted(name)} is no name of a host", remedy="such as qe.example.org, or *"
                )
            allowed.add(name if name == ANY_HOST else _name(name))
        address = _address(listening)
        own = _name(f"[{listening}]" if address and address.version == 6 else listening)
        if own and not (address and address.is_unspecified):
            allowed.add(own)
        return cls(frozenset(allowed))

    def check(self, header: str | None) -> None:
        """Raises Refused (421) for another name in the header Host; browsers always send one."""
        if header is None or ANY_HOST in self.names:
            return
        name = _name(header)
        address = _address(name.strip("[]"))
        if name not in self.names and not (address and address.is_loopback):
            problem = f"this server does not answer to the host {quoted(header)}"
            raise protocol.Refused(421, f"{problem}; --allowed-hosts names those it does", _CLOSE)


def _name(host: str) -> str:
    """A host without its port, in lower case; empty for what is none."""
    match = _HOST.fullmatch(host.strip().lower())
    return match[1].removesuffix(".") if match else ""


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def check_proxies(names: Iterable[str]) -> list[str]:
    """Addresses and networks of proxies, or `*`; raises InputError for anything else."""
    checked = list(names)
    for name in checked:
        try:
            name == ANY_HOST or ipaddress.ip_network(name)
        except ValueError:
            raise InputError(
                f"{quoted(name)} is no address of a proxy", remedy="such as 10.0.0.1, or 10.0.0.0/8"
            ) from None
    return checked


@dataclass(frozen=True)
class Request:
    id: str
    method: str
    path: str
    query: bytes
    headers: dict[str, str]
    body: Body
    version: str

    @classmethod
    def from_scope(cls, scope: Message, receive: Receive) -> "Request":
        """A client's own request id is used if it is short and plain."""
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        client_id, length = headers.get("x-request-id", ""), headers.get("content-length", "")
        number = client_id if _ID.fullmatch(client_id) else uuid.uuid4().hex
        # h11 has checked the length: digits, and fewer than twenty.
        body = Body(receive, int(length) if length.isascii() and length.isdigit() else None)
        version = scope.get("http_version", "1.1")
        return cls(number, scope["method"], scope["path"], scope["query_string"], headers, body, version)

    @property
    def ends_unclearly(self) -> bool:
        """Whether servers may differ on its end (RFC 9112, 6.1); bytes after it are not read."""
        return self.version not in _VERSIONS or (
            "transfer-encoding" in self.headers
            and ("content-length" in self.headers or self.version == "1.0")
        )


@dataclass(eq=False)
class App:
    """Answers while the model is being loaded (`service` is None), and afterwards."""

    limits: protocol.Limits
    service: Service | None = None
    hosts: Hosts = field(default_factory=Hosts)
    stopping: Callable[[], bool] = lambda: False
    busy: int = 0
    bodies: BodyReader = field(init=False)
    metrics: Metrics = field(default_factory=Metrics)
    _running: set[threading.Event] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.bodies = BodyReader(self.limits)
        # Threads end with their work: one that is given up on holds its place until then.
        self.pool = ThreadPoolExecutor(self.limits.busy, thread_name_prefix="scoring")
        # Address -> answer to GET. An answer to HEAD is the same: the protocol leaves out its body.
        self.pages: Mapping[str, Callable[[], protocol.Answer]] = {
            "/health": lambda: protocol.json_answer({"status": "alive"}),
            "/ping": lambda: protocol.json_answer({"status": "alive"}),
            "/ready": lambda: protocol.json_answer({"status": "ready", "model": self.ready.about["model"]}),
            "/version": lambda: protocol.json_answer(self.ready.about),
            "/metrics": self.metrics.answer,
            "/openapi.json": lambda: self.ready.description,
            "/docs": lambda: self.ready.page,
        }
        self.routes = {_SCORING: "POST", **dict.fromkeys(self.pages, "GET")}
        if self.service is not None:
            self.take(self.service)

    def take(self, service: Service) -> None:
        """Answers with this model from now on; requests that are being scored keep theirs."""
        self.metrics.of_model(service.about, service.bounds, service.recent)
        self.service = service

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        start = time.perf_counter()
        request = Request.from_scope(scope, receive)
        try:
            answer = await self._answer(request)
            if "expect" not in request.headers and not request.ends_unclearly:
                await request.body.discard()
        except ClientDisconnected:
            self.metrics.count("disconnected")
            return
        await _send(send, answer, request)
        seconds = time.perf_counter() - start
        self.metrics.answered(request.path if request.path in self.routes else "other", answer, seconds)
        _log_request(scope, request, answer, seconds)

    async def _answer(self, request: Request) -> protocol.Answer:
        try:
            if request.ends_unclearly:
                reason = "Content-Length, or HTTP/1.0, does not go with Transfer-Encoding"
                if request.version not in _VERSIONS:
                    reason = f"HTTP/{request.version} is not spoken here, but {' and '.join(_VERSIONS)}"
                raise protocol.Refused(400, reason, _CLOSE)
            self.hosts.check(request.headers.get("host"))
            method = self.routes.get(request.path)
            if method is None:
                raise protocol.Refused(404, f"no such address; there is {', '.join(self.routes)}")
            if request.method != method and (request.method, method) != ("HEAD", "GET"):
                raise protocol.Refused(405, f"{request.path} takes {method}", {"Allow": method})
            if request.path == _SCORING:
                return await self._invocations(request)
            return self.pages[request.path]()
        except protocol.Refused as refused:
            return protocol.refusal(refused, request.id)
        except ClientDisconnected:
            raise
        except Exception:
            _log.exception("id=%s could not be answered", request.id)
            error = protocol.Refused(500, "the request could not be answered; the server's log says more")
            return protocol.refusal(error, request.id)

    @property
    def ready(self) -> Service:
        """The loaded model. Raises Refused (503) before it is loaded, and when the server is stopping."""
        if self.stopping():
            raise protocol.Refused(503, "the server is stopping")
        if self.service is None:
            raise protocol.Refused(503, "the model is being loaded; try again", _RETRY)
        return self.service

    async def _invocations(self, request: Request) -> protocol.Answer:
        service, kind = self.ready, protocol.kind_of(request.headers.get("content-type"))
        if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise protocol.Refused(415, "send the body as it is, without Content-Encoding")
        body = await self.bodies.read(request.body)
        if self.busy >= self.limits.busy:
            raise protocol.Refused(503, f"{self.limits.busy} requests are being scored; try again", _RETRY)
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
            raise protocol.Refused(504, f"the answer took longer than {self.limits.seconds} s") from None

    def stop(self) -> None:
        for stopped in list(self._running):
            stopped.set()
        self.pool.shutdown(wait=False, cancel_futures=True)

    def _finish(self, stopped: threading.Event, future: "asyncio.Future[protocol.Answer]") -> None:
        self.busy -= 1
        self._running.discard(stopped)
        if not future.cancelled():
            future.exception()  # nobody else reads that of a request that was given up on


def _scored(
    service: Service, body: bytes, kind: protocol.Kind, request: Request, stopped: threading.Event
) -> protocol.Answer:
    """The scores or the refusal: an exception in a future would keep its frames, and so the body, alive."""
    try:
        return service.answer(body, kind, request.query, stopped.is_set)
    except protocol.Refused as refused:
        return protocol.refusal(refused, request.id)


async def _send(send: Send, answer: protocol.Answer, request: Request) -> None:
    headers = {
        "content-type": answer.kind,
        "content-length": str(len(answer.content)),
        "x-content-type-options": "nosniff",
        "x-request-id": request.id,
        **(answer.headers or {}),
    }
    if not request.body.complete:
        headers["connection"] = "close"  # the rest of the body is not waited for
    encoded = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": encoded})
    await send({"type": "http.response.body", "body": answer.content})


def _log_request(scope: Message, request: Request, answer: protocol.Answer, seconds: float) -> None:
    path = protocol.escaped(scope.get("raw_path", b"").decode("latin-1"), 200)
    client = (scope.get("client") or ("-",))[0]
    rows = "" if answer.predictions is None else f" rows={len(answer.predictions)}"
    reason = (
        f" {protocol.json_bytes({'error': protocol.shortened(answer.reason, 200)}).decode()}"
        if answer.reason
        else ""
    )
    _log.log(
        logging.WARNING if answer.status >= 500 else logging.INFO,
        "id=%s %s %s %s %d%s %.1f ms%s",
        request.id, protocol.escaped(client, 200), protocol.escaped(request.method, 20), path, answer.status,
        rows, 1000 * seconds, reason,
    )  # fmt: skip
