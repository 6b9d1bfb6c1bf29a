"""A hub on the loopback interface: what huggingface_hub asks of the real one, answered in the same way."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """Repository -> file -> bytes; `large` files are told with their SHA-256, as files of Git LFS are.

    stop_after  bytes of a file after which the connection breaks; None: never
    fragile     whether the hub is down after that
    claims      file -> another SHA-256 than its own
    """

    repositories: Mapping[str, Mapping[str, bytes]]
    licence: str | None = "mit"
    stop_after: int | None = None
    fragile: bool = False
    down: bool = False
    fetched: list[str] = field(default_factory=list)
    claims: dict[str, str] = field(default_factory=dict)
    ranges: list[str] = field(default_factory=list)
    address: str = ""

    def about(self, repository: str) -> dict[str, Any]:
        files = self.repositories[repository]
        siblings = [self.sibling(name, content) for name, content in files.items()]
        card = {} if self.licence is None else {"license": self.licence}
        return {"_id": "1", "id": repository, "modelId": repository, "sha": COMMIT, "private": False,
                "siblings": siblings, "cardData": card, "tags": [], "downloads": 0, "likes": 0}  # fmt: skip

    def sibling(self, name: str, content: bytes) -> dict[str, Any]:
        told: dict[str, Any] = {"rfilename": name, "size": len(content), "blobId": "b" * 40}
        if is_large(name):
            sha = self.claims.get(name, hashlib.sha256(content).hexdigest())
            told["lfs"] = {"sha256": sha, "size": len(content), "pointerSize": 130}
        return told


def is_large(name: str) -> bool:
    return name.endswith((".onnx", ".safetensors", "_data"))


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """The hub at a free port of 127.0.0.1."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, *, body: bool) -> None:
            if hub.down:
                return self.send(500, b"", body)
            parts = self.path.partition("?")[0].strip("/").split("/")
            if parts[:2] == ["api", "models"]:
                return self.of_model("/".join(parts[2:4]), parts[5] if len(parts) > 5 else "main", body)
            if len(parts) > 4 and parts[2] == "resolve":
                return self.of_file("/".join(parts[:2]), "/".join(parts[4:]), body)
            return self.refused("EntryNotFound", body)

        def of_model(self, repository: str, revision: str, body: bool) -> None:
            if repository not in hub.repositories:
                return self.refused("RepoNotFound", body)
            if revision not in ("main", COMMIT):
                return self.refused("RevisionNotFound", body)
            return self.send(200, json.dumps(hub.about(repository)).encode(), body)

        def of_file(self, repository: str, name: str, body: bool) -> None:
            content = hub.repositories[repository].get(name)
            if content is None:
                return self.refused("EntryNotFound", body)
            digest = hashlib.sha256(content).hexdigest()
            headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{digest}"', "Accept-Ranges": "bytes"}
            if is_large(name):
                headers |= {"X-Linked-Etag": f'"{digest}"', "X-Linked-Size": str(len(content))}
            asked, status, start = self.headers.get("Range"), 200, 0
            if body and asked:
                hub.ranges.append(asked)
                status, start = 206, int(asked.removeprefix("bytes=").split("-")[0])
                headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
            if body:
                hub.fetched.append(name)
            return self.send(status, content[start:], body, headers)

        def refused(self, code: str, body: bool) -> None:
            self.send(404, b"{}", body, {"X-Error-Code": code, "X-Error-Message": code})

        def send(self, status: int, content: bytes, body: bool, headers: Mapping[str, str] = {}) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if not body:
                return
            limit = hub.stop_after
            if limit is not None and len(content) > limit:
                self.wfile.write(content[:limit])
                self.close_connection, hub.down = True, hub.fragile
                self.connection.close()
                return
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
