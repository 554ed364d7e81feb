"""One request, one answer, and the HTTP connection between them."""
from __future__ import annotations

import contextlib
import http.client
import json
import time
import urllib.parse
from dataclasses import dataclass, field
from typing import Any

TIMEOUT_SECONDS = 60.0
COMPARED_HEADERS = ("content-type", "allow", "www-authenticate", "location")


@dataclass(frozen=True)
class Step:
    """One request to both servers, and what the comparison may assume about it."""

    method: str
    path: str
    body: bytes | None = None
    key: str = "memory"  # memory | admin | none | bad
    headers: dict[str, str] = field(default_factory=dict)
    operation: str = ""  # remember, recall, … or "" for a raw request
    arguments: Any = None
    through: str = "raw"  # rest | mcp | raw
    writes: bool = False
    label: str = ""

    def describe(self) -> str:
        """The request as one readable block."""
        body = "" if self.body is None else self.body[:2000].decode("utf-8", "backslashreplace")
        extra = "".join(f"\n    {name}: {value}" for name, value in self.headers.items())
        return f"{self.method} {self.path} (key: {self.key}){extra}\n    {body}"


@dataclass(frozen=True)
class Answer:
    """What a server said: status, the compared headers and the parsed body."""

    status: int
    headers: dict[str, str]
    raw: bytes
    body: Any

    def describe(self) -> str:
        """The answer as one readable line."""
        text = self.raw[:1500].decode("utf-8", "backslashreplace")
        return f"{self.status} {text}"


class Server:
    """One running server and the admin key that makes keys on it."""

    def __init__(self, url: str, admin_key: str):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise SystemExit(f"{url!r} is not an http URL with a host")
        self.host, self.port, self.url = parts.hostname, parts.port or 80, url
        self.admin_key = admin_key
        self._connection: http.client.HTTPConnection | None = None

    def mint(self, **fields: Any) -> dict[str, Any]:
        """Make a key through POST /v1/keys."""
        body = json.dumps(fields).encode()
        for pause in (0.5, 2, 5, None):
            answer = self.send("POST", "/v1/keys", body, {"Authorization": "Bearer " + self.admin_key})
            # The published server answers 401 to a good key while its store is too busy to be asked.
            if answer.status != 401 or pause is None:
                break
            time.sleep(pause)
        if answer.status != 201:
            raise SystemExit(f"{self.url} does not make keys: {answer.describe()}")
        return answer.body

    def send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        """Send one request; a connection that the server closed while idle is opened again once."""
        for attempt in (0, 1):
            reused = self._connection is not None
            connection = self._connection or http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_SECONDS)
            self._connection = connection
            try:
                with contextlib.suppress(BrokenPipeError):  # a server may answer an oversized body before reading it all
                    connection.request(method, path, body, headers)
                response = connection.getresponse()
                raw = response.read()
            except (http.client.HTTPException, ConnectionError):
                connection.close()
                self._connection = None
                if attempt == 0 and reused:
                    continue
                raise
            if response.will_close:
                connection.close()
                self._connection = None
            return _answer(response, raw)
        raise AssertionError("unreachable")


def _answer(response: http.client.HTTPResponse, raw: bytes) -> Answer:
    headers = {name: response.headers[name] for name in COMPARED_HEADERS if name in response.headers}
    try:
        body = json.loads(raw) if raw.strip() else None
    except (ValueError, RecursionError):
        body = None
    return Answer(response.status, headers, raw, body)


REST_TOOLS = {
    "typed": {"history": "memory_history", "predicates": "list_predicates"},
    "text": {},
}


def memory_step(surface: str, operation: str, arguments: Any, through: str, label: str = "") -> Step:
    """A memory operation over REST or as an MCP tools/call."""
    writes = operation in ("remember", "forget")
    if through == "rest":
        body = json.dumps(arguments, ensure_ascii=False).encode("utf-8", "surrogatepass")
        return Step("POST", "/v1/" + operation, body, operation=operation, arguments=arguments,
                    through="rest", writes=writes, label=label)
    tool = REST_TOOLS["text" if surface == "text" else "typed"].get(operation, operation)
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    body = json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return Step("POST", "/mcp", body, operation=operation, arguments=arguments, through="mcp", writes=writes, label=label)
