"""Makes two answers comparable: what may differ between runs is replaced by tokens, free orders are sorted."""
from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from typing import Any, Mapping

from .wire import Answer, Step

_TIME = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?Z$")
_EVENT = re.compile(r"^m-[0-9a-f]{24}$")
_KEY = re.compile(r"^rcl_[0-9a-f]{16}_[A-Za-z0-9_-]{32}$")
_KEY_ID = re.compile(r"^[0-9a-f]{16}$")
# Sentences a server may word as it likes.
_PROSE = {"note": "kept_as_text", "message": "code"}
_STARTER_PROSE = ("description", "change")
_TEXT_TOOLS = ("remember", "recall", "forget", "history", "diff")
_TYPED_TOOLS = ("list_predicates", "remember", "recall", "forget", "explain", "memory_history", "timeline", "diff")


def canonical(step: Step, answer: Answer) -> dict[str, Any]:
    """The comparable form of an answer, before ids and times are replaced."""
    if step.path.split("?")[0] == "/mcp" and isinstance(answer.body, dict):
        return {"status": answer.status, "headers": _headers(answer), "rpc": _rpc(step, answer.body)}
    return {"status": answer.status, "headers": _headers(answer), "body": _result(step, answer.body, answer)}


def _headers(answer: Answer) -> dict[str, str]:
    headers = dict(answer.headers)
    if "content-type" in headers:
        headers["content-type"] = headers["content-type"].split(";")[0].strip()
    if answer.status in (200, 202) and not answer.raw:
        headers.pop("content-type", None)  # nobody reads the type of nothing
    if 300 <= answer.status < 400:
        headers.pop("content-type", None)
    return headers


def _rpc(step: Step, body: dict[str, Any]) -> Any:
    reply = {"id": body.get("id"), "jsonrpc": body.get("jsonrpc")}
    if "error" in body:
        error = body["error"]
        return {**reply, "error": {"code": error.get("code")} if isinstance(error, dict) else error}
    result = body.get("result")
    if not isinstance(result, dict):
        return {**reply, "result": result}
    if "content" in result:
        return {**reply, "call": _call(step, result)}
    if "tools" in result:
        return {**reply, "tools": _tools(result["tools"])}
    if "serverInfo" in result:
        return {**reply, "initialize": {
            "protocolVersion": result.get("protocolVersion"),
            "name": result["serverInfo"].get("name"),
            "tools": "tools" in result.get("capabilities", {}),
            "instructions": bool(result.get("instructions")),
        }}
    return {**reply, "result": result}


def _call(step: Step, result: dict[str, Any]) -> Any:
    texts = [item.get("text") for item in result["content"] if isinstance(item, dict) and item.get("type") == "text"]
    if result.get("isError") is not False:
        text = texts[0] if texts else ""
        known = [mark for mark in ("namespace_mismatch:", "unknown memory tool") if mark in text]
        return {"isError": result.get("isError"), "marks": known}
    try:
        value = json.loads(texts[0])
    except (IndexError, ValueError, TypeError):
        return {"isError": False, "not_json": texts}
    return {"isError": False, "value": _result(step, value, None)}


def _tools(tools: list[dict[str, Any]]) -> list[Any]:
    """Names, arguments and read-only marks. Agent tools are another suite's business."""
    listed = []
    for tool in tools:
        if tool.get("name") not in _TEXT_TOOLS + _TYPED_TOOLS:
            continue
        schema = tool.get("inputSchema", {})
        listed.append({
            "name": tool.get("name"),
            "arguments": sorted(schema.get("properties", {})),
            "required": sorted(schema.get("required", [])),
            "read_only": bool(tool.get("annotations", {}).get("readOnlyHint")),
        })
    return listed


def _result(step: Step, body: Any, answer: Answer | None) -> Any:
    if answer is not None and body is None and answer.raw.strip() not in (b"", b"null"):
        return {"not_json": answer.raw[:200].decode("utf-8", "backslashreplace")} if answer.status == 200 else "text"
    body = _unword(body)
    if isinstance(body, list) and step.operation == "recall":
        return _sorted_page(step, body)
    if isinstance(body, list) and step.operation == "explain":
        return tuple(sorted(body, key=_plain))
    if isinstance(body, dict) and isinstance(body.get("related"), list):
        return {**body, "related": tuple(sorted(body["related"], key=_plain))}
    if isinstance(body, dict) and isinstance(body.get("results"), list):
        return {**body, "results": [_result(step, one, None) for one in body["results"]]}
    if isinstance(body, dict) and isinstance(body.get("memories"), list) and _asks(step):
        return {**body, "memories": tuple(sorted(body["memories"], key=_plain))}
    return body


def _asks(step: Step) -> bool:
    question = step.arguments.get("question") if isinstance(step.arguments, Mapping) else None
    return isinstance(question, str) and bool(question.strip())


def _sorted_page(step: Step, page: list[Any]) -> Any:
    """Sort the pairs of a page, keep the order inside a pair. A ranked page is sorted whole and made a tuple, which
    is compared as one thing.

    Notes must come after typed beliefs whatever the order of the pairs: that is kept as a fact of its own.
    """
    if not all(isinstance(row, dict) for row in page):
        return page
    notes = [row.get("predicate") == "note" for row in page]
    arguments = step.arguments if isinstance(step.arguments, Mapping) else {}
    if arguments.get("query") and not (arguments.get("subject") and arguments.get("predicate")):
        return {"rows": tuple(sorted(page, key=_plain)), "notes_last": notes == sorted(notes)}
    rows = sorted(page, key=lambda row: (str(row.get("subject")), str(row.get("predicate"))))
    return {"rows": rows, "notes_last": notes == sorted(notes)}


def _plain(row: Any) -> str:
    """A sort key that does not depend on ids or on when the run happened."""
    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: strip(v) for k, v in value.items() if k not in ("event_id", "observed_at", "id", "evidence_id", "stated_at", "replaced_by")}
        if isinstance(value, list):
            return [strip(v) for v in value]
        return value
    head = [row.get(name) for name in ("subject", "predicate", "value", "text", "memory")] if isinstance(row, dict) else []
    return json.dumps([head, strip(row)], sort_keys=True)


def _unword(value: Any) -> Any:
    if isinstance(value, list):
        return [_unword(item) for item in value]
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return float(value)
    if not isinstance(value, dict):
        return value
    plain = {}
    for name, item in value.items():
        if name in _PROSE and _PROSE[name] in value:
            item = "<prose>"
        if name in _STARTER_PROSE and "cardinality" in value and item:
            item = "<prose>"
        if name == "request_id":
            item = "<request id>"
        plain[name] = _unword(item)
        if name == "elsewhere" and isinstance(item, list):
            plain[name].sort(key=_plain)  # the original lists them by event id, a hash
    return plain


class Tokens:
    """Replaces one server's ids and clock readings by tokens, in the order they first appear.

    An event that the request dated keeps its time and its id: both must be equal on the two servers.
    """

    def __init__(self, started: datetime):
        self.started = started - timedelta(seconds=5)
        self._tokens: dict[str, str] = {}
        self._dated: set[str] = set()

    def replace(self, value: Any) -> Any:
        """The answer with its tokens put in."""
        self._note_dated(value)
        return self._walk(value)

    def _note_dated(self, value: Any) -> None:
        if isinstance(value, (list, tuple)):
            for item in value:
                self._note_dated(item)
        if isinstance(value, dict):
            time = value.get("observed_at") or value.get("at")
            event = value.get("event_id") or value.get("id")
            if isinstance(time, str) and isinstance(event, str) and _EVENT.match(event) and not self._is_now(time):
                self._dated.add(event)
            for item in value.values():
                self._note_dated(item)

    def _is_now(self, text: str) -> bool:
        match = _TIME.match(text)
        if not match:
            return False
        try:
            moment = datetime.fromisoformat(match.group(1) + "+00:00")
        except ValueError:
            return False
        return moment >= self.started.replace(microsecond=0)

    def _walk(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(self._walk(item) for item in value)
        if isinstance(value, dict):
            return {name: self._walk(item) for name, item in value.items()}
        return self._word(value) if isinstance(value, str) else value

    def _word(self, text: str) -> str:
        if _TIME.match(text):
            return "<now>" if self._is_now(text) else text
        if text == (self.started + timedelta(seconds=5)).strftime("%Y-%m-%d"):
            return "<today>"
        if _EVENT.match(text) and text not in self._dated:
            return self._tokens.setdefault(text, f"<event {len(self._tokens) + 1}>")
        if text.startswith("diff-"):
            return "<namespace>"
        if _KEY.match(text):
            return "<key>"
        if _KEY_ID.match(text):
            return "<key id>"
        return text
