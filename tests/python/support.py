"""What the tests know about the server under test, and plain HTTP to talk to it."""
from __future__ import annotations

import contextlib
import http.client
import json
import os
import secrets
import urllib.parse
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

BODY_LIMIT = 4 * 1024 * 1024
HOW_TO_RUN = "run `cargo xtask test --only python`, which starts the servers and sets it"
TIMEOUT_SECONDS = 60


class NotConfigured(Exception):
    """A variable that the test runner sets is missing."""


def setting(name: str) -> str:
    """The value of a variable that the test runner sets."""
    value = os.environ.get(name)
    if not value:
        raise NotConfigured(f"{name} is not set: {HOW_TO_RUN}")
    return value


def instant(**before_now: float) -> str:
    """A past instant in RFC 3339, whole seconds."""
    return (datetime.now(timezone.utc) - timedelta(**before_now)).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Reply:
    """One HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The error code of the envelope."""
        return self.json["error"]["code"]

    @property
    def message(self) -> str:
        """The error message of the envelope."""
        return self.json["error"]["message"]


class Server:
    """One running server and its admin key."""

    def __init__(self, url: str, admin_key: str):
        parts = urllib.parse.urlsplit(url)
        assert parts.hostname and parts.port, f"{url!r} must be http://host:port"
        self.url, self.host, self.port, self.admin_key = url.rstrip("/"), parts.hostname, parts.port, admin_key

    def send(self, method: str, path: str, body: Any = None, key: str | None = None, headers: dict[str, str] | None = None) -> Reply:
        """One request on a connection of its own; the path is sent as it is."""
        named = dict(headers or {})
        if key is not None:
            named["Authorization"] = "Bearer " + key
        raw = body if body is None or isinstance(body, bytes) or hasattr(body, "__next__") else json.dumps(body).encode()
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_SECONDS)
        with contextlib.closing(connection):
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the answer may come before the body is all sent
                connection.request(method, path, raw, named, encode_chunked=hasattr(raw, "__next__"))
            response = connection.getresponse()
            return Reply(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())

    def mint(self, **fields: Any) -> dict[str, Any]:
        """A new key, in a fresh namespace unless one is named."""
        if not fields.get("admin"):
            fields.setdefault("namespace", "t-" + secrets.token_hex(8))
        reply = self.send("POST", "/v1/keys", fields, self.admin_key)
        assert reply.status == 201, (reply.status, reply.body)
        return reply.json

    def space(self, **fields: Any) -> Space:
        """A fresh namespace with its key."""
        record = self.mint(**fields)
        return Space(self, record["key"], record["namespace"])


@dataclass(frozen=True)
class Space:
    """One namespace on one server, reached with one key."""

    server: Server
    key: str
    namespace: str

    def post(self, operation: str, body: Any = None, **headers: str) -> Reply:
        """POST /v1/<operation>."""
        return self.server.send("POST", "/v1/" + operation, body, self.key, headers)

    def ok(self, operation: str, **arguments: Any) -> Any:
        """The result of an operation that must succeed."""
        reply = self.post(operation, arguments)
        assert reply.status == 200, (operation, arguments, reply.status, reply.body)
        return reply.json

    def rpc(self, method: str, params: Any = None, **headers: str) -> Reply:
        """One JSON-RPC request to /mcp."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method}
        if params is not None:
            message["params"] = params
        return self.server.send("POST", "/mcp", message, self.key, headers)

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The result object of a tools/call."""
        reply = self.rpc("tools/call", {"name": tool, "arguments": arguments})
        assert reply.status == 200, (reply.status, reply.body)
        return reply.json["result"]

    def tools(self) -> set[str]:
        """The names in tools/list."""
        return {tool["name"] for tool in self.rpc("tools/list", {}).json["result"]["tools"]}


def servers() -> dict[str, Server]:
    """The servers under test by surface."""
    admin = Path(setting("RECALL_TEST_ADMIN_KEY_FILE")).read_text(encoding="utf-8").strip()
    return {surface: Server(setting(f"RECALL_TEST_{surface.upper()}_URL"), admin) for surface in ("typed", "open", "text")}


def pod_server() -> tuple[str, str] | None:
    """URL and token file of a server with the token exchange on, or None when the runner has no cluster."""
    url, token = os.environ.get("RECALL_TEST_TYPED_K8S_URL"), os.environ.get("RECALL_TEST_TOKEN_FILE")
    if bool(url) != bool(token):
        raise NotConfigured("RECALL_TEST_TYPED_K8S_URL and RECALL_TEST_TOKEN_FILE go together, and only one is set")
    return (url, token) if url and token else None
