"""The differential suite can fail: it finds nothing between a server and itself, and finds each fault of a broken one."""
from __future__ import annotations

import http.server
import json
import re
import threading
import urllib.error
import urllib.request
from datetime import datetime, timezone
from typing import Any, Callable, Iterator

import pytest

from differential import listed
from differential.compare import differences
from differential.grammar import Session
from differential.normalise import Tokens
from differential.rules import RULES
from differential.run import Lane, scenarios
from differential.wire import Server

BASE = datetime(2026, 1, 1, tzinfo=timezone.utc)
SHORT = ("fixed: replaces", "fixed: back-dated", "fixed: recall arguments", "fixed: mcp bodies", "fixed: operations GET", "seed 1.0")


class Broken(http.server.ThreadingHTTPServer):
    """Passes requests on to a server and spoils some answers."""

    daemon_threads = True

    def __init__(self, target: str, spoil: Callable[[str, int, Any], tuple[int, Any]]):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target, self.spoil = target, spoil


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65_536  # head and body leave in one segment

    def do_any(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else None
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "content-length", "connection")}
        request = urllib.request.Request(self.server.target + self.path, data=body, headers=headers, method=self.command)
        try:
            reply = urllib.request.urlopen(request, timeout=30)
        except urllib.error.HTTPError as refusal:
            reply = refusal
        with reply:
            status, raw = reply.status, reply.read()
            kept = {name: value for name, value in reply.headers.items() if name.lower() in ("content-type", "allow", "www-authenticate", "location")}
        if self.path in ("/v1/recall", "/v1/remember", "/v1/history") and raw:
            status, answer = self.server.spoil(self.path, status, json.loads(raw))
            raw = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in kept.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    do_GET = do_POST = do_DELETE = do_PUT = do_OPTIONS = do_HEAD = do_any

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def play(theirs: str, ours: str, admin_key: str) -> Lane:
    """The short list of scenarios on the typed surface."""
    lane = Lane("typed", Server(theirs, admin_key), Server(ours, admin_key))
    for scenario in scenarios("typed", (1,), 1, datetime.now(timezone.utc).replace(minute=0, second=0, microsecond=0)):
        if scenario.name in SHORT:
            lane.play(scenario.name, scenario.steps, scenario.setup)
    return lane


@pytest.fixture
def broken(servers) -> Iterator[Callable[..., Lane]]:
    """Compares the typed server with itself behind a proxy that spoils answers."""
    started: list[Broken] = []

    def run(spoil: Callable[[str, int, Any], tuple[int, Any]]) -> Lane:
        target = servers["typed"]
        proxy = Broken(target.url, spoil)
        started.append(proxy)
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        return play(target.url, f"http://127.0.0.1:{proxy.server_address[1]}", target.admin_key)

    yield run
    for proxy in started:
        proxy.shutdown()
        proxy.server_close()


def test_a_server_is_like_itself(servers):
    target = servers["typed"]
    lane = play(target.url, target.url, target.admin_key)
    assert lane.result.requests > 100
    assert [finding.describe() for finding in lane.result.findings] == []


def test_an_honest_proxy_changes_nothing(broken):
    assert broken(lambda path, status, answer: (status, answer)).result.findings == []


def _late(path: str, status: int, answer: Any) -> tuple[int, Any]:
    if path == "/v1/recall" and isinstance(answer, list):
        answer = [{**row, "days_ago": row["days_ago"] + 1} for row in answer]
    return status, answer


def _forgetful(path: str, status: int, answer: Any) -> tuple[int, Any]:
    if path == "/v1/recall" and isinstance(answer, list):
        answer = [{name: value for name, value in row.items() if name != "replaced"} for row in answer]
    return status, answer


def _loud(path: str, status: int, answer: Any) -> tuple[int, Any]:
    return (500, {"error": {"code": "internal", "message": "x"}}) if status == 400 else (status, answer)


def _lenient(path: str, status: int, answer: Any) -> tuple[int, Any]:
    return (200, []) if status == 400 and path == "/v1/recall" else (status, answer)


def _shuffled(path: str, status: int, answer: Any) -> tuple[int, Any]:
    return (status, answer[::-1]) if path == "/v1/history" and isinstance(answer, list) else (status, answer)


def _other_ids(path: str, status: int, answer: Any) -> tuple[int, Any]:
    return status, json.loads(re.sub(r'"m-(.)', lambda found: '"m-1' if found[1] == "0" else '"m-0', json.dumps(answer)))


def _rude(path: str, status: int, answer: Any) -> tuple[int, Any]:
    if isinstance(answer, dict) and "superseded" in answer:
        answer = {**answer, "superseded": answer["superseded"] * 2}
    return status, answer


@pytest.mark.parametrize("spoil", [_late, _forgetful, _loud, _lenient, _shuffled, _other_ids, _rude], ids=lambda f: f.__name__.strip("_"))
def test_a_broken_server_is_found_out(broken, spoil):
    lane = broken(spoil)
    assert any(finding.name is None for finding in lane.result.findings)
    report = next(finding for finding in lane.result.findings if finding.name is None).describe()
    assert all(word in report for word in ("request", "original", "ours", "proposed", "typed/"))


@pytest.mark.parametrize("surface", ["typed", "open", "text"])
def test_a_session_is_fixed_by_its_seed(surface):
    def steps(seed: int) -> list[Any]:
        return list(Session(surface, seed, 0, BASE).steps(50))
    assert steps(1) == steps(1)
    assert steps(1) != steps(2)


def test_the_grammar_covers_every_operation():
    seen = {step.operation for number in range(8) for step in Session("open", 1, number, BASE).steps(80)}
    assert seen == {"remember", "recall", "forget", "history", "timeline", "diff", "explain", "predicates"}
    assert {step.operation for number in range(8) for step in Session("text", 1, number, BASE).steps(80)} == {"remember", "recall", "forget", "history", "diff"}


@pytest.mark.parametrize(("theirs", "ours", "places"), [
    ({"a": 1.0}, {"a": 1.0}, []), ({"a": 1.0}, {"a": 2.0}, [("a",)]), ({"a": 1.0}, {}, [("a",)]), ({}, {"b": 1.0}, [("b",)]),
    ([1.0, 2.0], [1.0, 3.0], [(1,)]), ([1.0], [1.0, 2.0], [()]), (True, 1.0, [()]), (None, [], [()]),
])
def test_where_answers_differ(theirs, ours, places):
    assert [found.path for found in differences(theirs, ours)] == places


def test_dated_events_keep_their_id_and_others_get_a_token():
    tokens = Tokens(BASE)
    dated = {"event_id": "m-" + "a" * 24, "observed_at": "2024-01-01T00:00:00Z"}
    fresh = {"event_id": "m-" + "b" * 24, "observed_at": "2026-01-01T00:00:01.5Z"}
    assert tokens.replace([dated, fresh]) == [dated, {"event_id": "<event 1>", "observed_at": "<now>"}]


def test_the_list_of_differences_names_rules(request):
    page = listed.find(request.path)
    assert listed.classes(page) <= {name for name, _ in RULES}


def test_a_class_described_twice_is_an_error(tmp_path):
    page = tmp_path / "differences.md"
    page.write_text("## `one`\n\n## `one`\n")
    with pytest.raises(SystemExit):
        listed.classes(page)
