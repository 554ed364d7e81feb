"""Names the class of a difference. Each rule is one small function; the first that fits gives the name.

A class is a decision, described in docs/differences.md. A rule must be narrow: what it does not fit is unlisted.
"""
from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Any, Callable, Mapping

from .compare import MISSING, Difference, differences
from .wire import Answer, Step

WRITING = ("remember", "forget")
FIELDS = {
    "typed": {
        "remember": {"subject", "predicate", "value", "kind", "confidence", "source", "observed_at", "replaces", "cardinality",
                     "description", "text", "statements"},
        "recall": {"subject", "predicate", "query", "as_of", "min_confidence", "limit", "with_sources", "observed_after", "observed_before"},
        "forget": {"subject", "predicate", "value", "all"},
        "history": {"subject", "predicate"},
        "timeline": {"subject", "predicate"},
        "diff": {"from", "to", "subject"},
        "explain": {"question"},
        "predicates": set(),
    },
    "text": {},
}
TIME_FIELDS = ("observed_at", "as_of", "since", "from", "to", "observed_after", "observed_before")
STRICT_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)")


@dataclass(frozen=True)
class Case:
    """One step with both answers as sent and the difference to be named."""

    surface: str
    step: Step
    theirs: Answer
    ours: Answer
    difference: Difference

    @property
    def fields(self) -> Mapping[str, Any]:
        """The arguments as a mapping, empty when they are not one."""
        return self.step.arguments if isinstance(self.step.arguments, Mapping) else {}

    @property
    def operation(self) -> str:
        """The memory operation, or ""."""
        return self.step.operation

    @property
    def last(self) -> str | int:
        """The last part of the difference's place."""
        return self.difference.path[-1] if self.difference.path else ""


def refused(answer: Answer) -> bool:
    """The server said no, over REST or in a tool result."""
    if answer.status >= 400:
        return True
    try:
        return answer.body["result"]["isError"] is not False
    except (TypeError, KeyError):
        return False


def code(answer: Answer) -> str:
    """The error code of a REST refusal."""
    try:
        return str(answer.body["error"]["code"])
    except (TypeError, KeyError):
        return ""


def only_ours_refuses(case: Case) -> bool:
    """The original takes it, ours says no with a 4xx or a tool error."""
    return not refused(case.theirs) and refused(case.ours) and case.ours.status < 500


def only_theirs_refuses(case: Case) -> bool:
    """Ours takes what the original says no to."""
    return refused(case.theirs) and not refused(case.ours)


def one_refuses(case: Case) -> bool:
    """Exactly one of the two says no."""
    return only_ours_refuses(case) or only_theirs_refuses(case)


def raw_text(case: Case) -> bytes:
    """The request body as bytes."""
    return case.step.body or b""


def _typed(case: Case) -> bool:
    return case.surface != "text"


def typed_unknown_field(case: Case) -> bool:
    known = FIELDS["typed"].get(case.operation)
    if not _typed(case) or known is None or not only_ours_refuses(case):
        return False
    unknown = set(case.fields) - known
    nested = [set(item) - {"subject", "predicate", "value", "evidence", "replaces", "cardinality", "description"}
              for item in case.fields.get("statements") or () if isinstance(item, Mapping)]
    nested += [set(item) - {"predicate", "value"} for item in case.fields.get("replaces") or () if isinstance(item, Mapping)]
    return not _other_case(case) and (bool(unknown) or any(nested))


def _other_case(case: Case) -> bool:
    return any(name != name.lower() for name in case.fields)


def field_name_case(case: Case) -> bool:
    return _other_case(case) and only_ours_refuses(case)


def nothing_is_an_empty_list(case: Case) -> bool:
    empty = case.difference.theirs is None and case.difference.ours == []
    return empty and (case.operation == "history" or case.last == "proposals")


def missing_argument(case: Case) -> bool:
    blank = any(not str(case.fields.get(name) or "").strip() for name in ("subject", "predicate"))
    return case.operation in ("history", "timeline") and _typed(case) and blank and only_ours_refuses(case)


def blank_argument(case: Case) -> bool:
    blank = any(isinstance(v, str) and v and not v.strip() for v in case.fields.values())
    return blank and case.operation in ("recall", "diff") and one_refuses(case)


def malformed_code(case: Case) -> bool:
    codes = {code(case.theirs), code(case.ours)}
    return case.theirs.status == case.ours.status == 400 and case.last == "code" and codes == {"tool_error", "invalid_argument"}


def nul(case: Case) -> bool:
    return only_ours_refuses(case) and (b"\\u0000" in raw_text(case))


def lone_surrogate(case: Case) -> bool:
    return only_ours_refuses(case) and re.search(rb"\\ud[89ab]|\\ud[cdef]", raw_text(case), re.I) is not None


def invalid_utf8(case: Case) -> bool:
    try:
        raw_text(case).decode("utf-8")
    except UnicodeDecodeError:
        return only_ours_refuses(case) or case.ours.status == 400
    return False


def time_forms(case: Case) -> bool:
    given = [case.fields[name] for name in TIME_FIELDS if isinstance(case.fields.get(name), str)]
    odd = [text for text in given if text and not STRICT_TIME.fullmatch(text)]
    return bool(odd) and one_refuses(case)


def year_range(case: Case) -> bool:
    given = [case.fields[name] for name in TIME_FIELDS if isinstance(case.fields.get(name), str)]
    return case.step.label == "year-one" or (one_refuses(case) and any(text.startswith("0000-") for text in given))


def text_limit(case: Case) -> bool:
    text = case.fields.get("text")
    messages = case.fields.get("messages")
    size = len(text.encode()) if isinstance(text, str) else len(json.dumps(messages or "").encode())
    return case.operation == "remember" and size > 32_768 and only_ours_refuses(case)


def argument_limits(case: Case) -> bool:
    sizes = {"subject": 1024, "value": 65_536, "query": 4_096, "question": 4_096, "description": 1_024}
    over = [name for name, most in sizes.items()
            if isinstance(case.fields.get(name), str) and len(case.fields[name].encode()) > most]
    return bool(over) and only_ours_refuses(case)


def replaces_limit(case: Case) -> bool:
    named = case.fields.get("replaces")
    return isinstance(named, list) and len(named) > 16 and only_ours_refuses(case)


def replaces_incomplete(case: Case) -> bool:
    named = case.fields.get("replaces")
    if not isinstance(named, list):
        return False
    incomplete = any(isinstance(item, Mapping) and ("predicate" not in item or item.get("value") is None) for item in named)
    return incomplete and only_ours_refuses(case)


def cardinality_change(case: Case) -> bool:
    return "cardinality" in case.fields and only_ours_refuses(case)


def text_forget(case: Case) -> bool:
    return case.surface == "text" and case.operation == "forget" and only_theirs_refuses(case)


# Members that the Memory API knows: one of these where the original has none is never just "extra".
KNOWN_MEMBERS = frozenset((
    "stored", "already_known", "superseded", "related", "unreplaced", "episode", "proposals", "results", "unfiled", "subject", "predicate", "value",
    "confidence", "source", "kind", "observed_at", "event_id", "days_ago", "replaced", "elsewhere", "evidence", "evidence_id", "source_text",
    "relevance", "id", "retraction", "replaced_by", "withdrawn", "now", "steps", "at", "statement", "change", "added", "removed", "changes", "before",
    "after", "memories", "text", "since", "said", "remembered", "replaces", "kept_as_text", "forgotten", "history", "about", "when", "began", "ended",
    "excludes", "historical", "error", "code", "status", "key", "namespace", "agent", "session", "note", "admin", "expires_at", "ttl", "renewable", "revoked",
))


def extra_member(case: Case) -> bool:
    named = isinstance(case.last, str) and case.last not in KNOWN_MEMBERS
    return case.difference.theirs == MISSING and named and "headers" not in case.difference.path


def history_evidence(case: Case) -> bool:
    return case.operation == "history" and case.difference.theirs == MISSING and case.last in ("evidence", "evidence_id")


def text_already_known(case: Case) -> bool:
    return case.surface == "text" and case.operation == "remember" and case.last == "already_known" and case.difference.ours is True


def replaced_once(case: Case) -> bool:
    """`replaces` and `excludes` on the same value: everything about that pair, in a session labelled so."""
    return case.step.label == "replaces-and-excludes"


MOST_RELATED = 8


def related_choice(case: Case) -> bool:
    """Ours shows fewer of the same beliefs; where the original's page is full, others of the same kind."""
    if case.last != "related":
        return False
    theirs, ours = ((() if rows == MISSING else rows) for rows in (case.difference.theirs, case.difference.ours))
    known = {_row_key(row): row for row in theirs}
    if any(row.get("predicate") in (case.fields.get("predicate"), "note") for row in ours):
        return False
    if len(theirs) >= MOST_RELATED:
        return len(ours) <= MOST_RELATED
    return all(_row_key(row) in known and _tells_the_same(known[_row_key(row)], row) for row in ours)


def query_choice(case: Case) -> bool:
    """A ranked page: ours may leave out rows that share no word with the question, and choose at the cut; no more."""
    theirs, ours = case.difference.theirs, case.difference.ours
    if not isinstance(theirs, tuple) or not isinstance(ours, tuple):
        return False
    known = {_row_key(row): row for row in theirs}
    held = {_row_key(row): row for row in ours}
    same = all(_tells_the_same(known[key], held[key]) for key in known.keys() & held.keys())
    cut = case.surface == "text" and len(theirs) >= 20
    left_out = [row for key, row in known.items() if key not in held]
    words = set(_words(case.fields.get("query") or case.fields.get("question")))
    return same and (cut or (held.keys() <= known.keys() and not any(words & set(_words(_said(row))) for row in left_out)))


def _said(row: Mapping[str, Any]) -> str:
    return " ".join(str(row.get(name, "")) for name in ("subject", "predicate", "value", "text", "memory"))


def _row_key(row: Mapping[str, Any]) -> str:
    return json.dumps([row.get(name) for name in ("subject", "predicate", "value", "text", "memory")])


def _words(text: Any) -> list[str]:
    return re.findall(r"\w+", str(text or "").lower().replace("_", " "))


def _tells_the_same(theirs: Any, ours: Any) -> bool:
    """Every member the original gives is there and equal; ours may give more."""
    return all(found.theirs == MISSING for found in differences(theirs, ours))


def key_route_allow(case: Case) -> bool:
    return case.step.path.startswith("/v1/keys") and case.difference.path[-2:] == ("headers", "allow") \
        and case.difference.theirs == MISSING


def key_limits(case: Case) -> bool:
    return case.step.path == "/v1/keys" and case.step.method == "POST" and case.step.label == "key-limits" and only_ours_refuses(case)


def trailing_bytes(case: Case) -> bool:
    return case.step.label == "trailing-bytes" and only_ours_refuses(case)


def duration_forms(case: Case) -> bool:
    return case.step.label == "duration-form" and only_ours_refuses(case)


def newest_protocol(case: Case) -> bool:
    return case.last == "protocolVersion" and case.step.label == "protocol-version" and case.difference.ours == "2025-11-25"


def protocol_header(case: Case) -> bool:
    return case.step.label == "protocol-header" and case.theirs.status == 200 and case.ours.status == 400


def modern_discover(case: Case) -> bool:
    return case.step.label == "server-discover" and not case.difference.path[:1] == ("status",) and "result" in (case.ours.body or {})


def own_routes(case: Case) -> bool:
    return case.step.label == "own-route" and case.theirs.status == 404 and case.ours.status == 200


def tool_schema(case: Case) -> bool:
    return "tools" in case.difference.path and case.last in ("arguments", "required") \
        and set(case.difference.theirs or ()) <= set(case.difference.ours or ()) | {"text", "statements"}


def not_found_page(case: Case) -> bool:
    return case.theirs.status == case.ours.status == 404 and case.theirs.headers.get("content-type", "").startswith("text/plain") \
        and code(case.ours) in ("not_found", "")


def not_a_message(case: Case) -> bool:
    return case.step.path == "/mcp" and raw_text(case) in (b"null", b"{}") and case.theirs.status == 202 and case.ours.status == 400


def own_id(case: Case) -> bool:
    return case.step.path == "/mcp" and raw_text(case) == b'{"id": 1, "method": 5}' and case.ours.status == 400 and case.last == "id"


def members_twice(case: Case) -> bool:
    """An object of the body has a member twice."""
    if not only_ours_refuses(case):
        return False
    twice: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        twice.extend(name for name in names if names.count(name) > 1)
        return dict(pairs)

    try:
        json.loads(raw_text(case), object_pairs_hook=note)
    except (ValueError, RecursionError):
        return False
    return bool(twice)


def foreign_origin(case: Case) -> bool:
    """A web page of another site: the original serves it, ours does not."""
    return case.step.path == "/mcp" and case.step.label == "foreign-origin" and case.ours.status == 403


def path_escapes(case: Case) -> bool:
    return case.step.label == "escaped-path" and case.ours.status < 500


def content_encoding(case: Case) -> bool:
    return case.step.label == "content-encoding" and case.ours.status == 415


def unclean_path(case: Case) -> bool:
    """A path that only means a route once it is tidied: the original redirects, ours knows no such route."""
    path = case.step.path
    unclean = path == "/v1" or "//" in path or "/../" in path
    return unclean and case.theirs.status == 307 and case.ours.status in (401, 404)


def told(answer: Answer) -> Any:
    """What the operation answers, over REST or in a tool result."""
    try:
        return json.loads(answer.body["result"]["content"][0]["text"])
    except (TypeError, KeyError, IndexError, ValueError):
        return answer.body


def _composed(text: Any) -> Any:
    return unicodedata.normalize("NFC", text) if isinstance(text, str) else text


def composition(case: Case) -> bool:
    """A value that stands already, with its accents put together otherwise: new to the original, known to ours."""
    theirs, ours = told(case.theirs), told(case.ours)
    if case.operation != "remember" or not isinstance(theirs, Mapping) or not isinstance(ours, Mapping):
        return False
    sent, held = (answer.get("stored", {}).get("value") for answer in (theirs, ours))
    return ours.get("already_known") is True and "already_known" not in theirs and sent != held and _composed(sent) == _composed(held)


HISTORICAL = ("cancelled", "did", "gave_away")


def historical_replaced(case: Case) -> bool:
    """What a statement of a historical predicate ended under another one: the original does not show it."""
    if case.operation != "recall" or case.last != "replaced" or case.difference.theirs != MISSING:
        return False
    ended = _named(case.difference.ours)
    rows = [row for row in told(case.ours) or () if isinstance(row, Mapping) and row.get("predicate") in HISTORICAL]
    return all(predicate for predicate, _ in ended) and ended in [_named(row.get("replaced", ())) for row in rows]


def _named(beliefs: Any) -> list[tuple[Any, Any]]:
    return [(belief.get("predicate"), belief.get("value")) for belief in beliefs]


RULES: tuple[tuple[str, Callable[[Case], bool]], ...] = (
    ("nul-refused", nul),
    ("lone-surrogate-refused", lone_surrogate),
    ("invalid-utf8-refused", invalid_utf8),
    ("year-range", year_range),
    ("time-forms", time_forms),
    ("field-names-exact", field_name_case),
    ("text-limit-enforced", text_limit),
    ("argument-limits", argument_limits),
    ("replaces-limit-enforced", replaces_limit),
    ("replaces-incomplete-refused", replaces_incomplete),
    ("cardinality-change-refused", cardinality_change),
    ("typed-unknown-field-refused", typed_unknown_field),
    ("missing-argument-refused", missing_argument),
    ("blank-argument", blank_argument),
    ("text-forget-exact", text_forget),
    ("replaced-once", replaced_once),
    ("trailing-bytes-refused", trailing_bytes),
    ("duration-forms", duration_forms),
    ("key-field-limits", key_limits),
    ("key-routes-allow", key_route_allow),
    ("own-routes", own_routes),
    ("not-found-is-json", not_found_page),
    ("mcp-not-a-message", not_a_message),
    ("mcp-refusal-has-its-id", own_id),
    ("members-twice-refused", members_twice),
    ("foreign-origin-refused", foreign_origin),
    ("content-encoding-refused", content_encoding),
    ("escaped-paths", path_escapes),
    ("unclean-paths-not-redirected", unclean_path),
    ("newest-protocol-offered", newest_protocol),
    ("protocol-header-checked", protocol_header),
    ("server-discover", modern_discover),
    ("tool-schema", tool_schema),
    ("malformed-argument-code", malformed_code),
    ("empty-list-not-null", nothing_is_an_empty_list),
    ("history-evidence", history_evidence),
    ("text-already-known", text_already_known),
    ("composition-ignored", composition),
    ("historical-replaced", historical_replaced),
    ("related-selection", related_choice),
    ("query-unrelated-rows", query_choice),
    ("extra-response-member", extra_member),
)


# What these classes tell of does not change what the next answers may be.
SHOWN_ONLY = frozenset(("related-selection", "query-unrelated-rows", "extra-response-member", "empty-list-not-null", "malformed-argument-code",
                        "tool-schema", "history-evidence", "text-already-known", "missing-argument-refused", "blank-argument", "historical-replaced"))


def classify(case: Case) -> str | None:
    """The class of a difference, or None when no rule fits."""
    for name, fits in RULES:
        if fits(case):
            return name
    return None


def proposed(case: Case) -> str:
    """A name for a difference that no rule fits."""
    where = "-".join(str(part) for part in case.difference.path if not isinstance(part, int)) or "answer"
    what = case.operation or case.step.label or case.step.path.strip("/").replace("/", "-")
    return re.sub(r"[^a-z0-9-]+", "-", f"{case.surface}-{what}-{where}".lower()).strip("-")
