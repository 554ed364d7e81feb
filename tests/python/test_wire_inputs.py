"""Bad and extreme inputs: a clear 4xx with a reason, nothing stored, never a 5xx; and what is stored comes back."""
from __future__ import annotations

import json

import pytest

from support import BODY_LIMIT, Reply, Space, instant

PAIR = {"subject": "user", "predicate": "uses_technology"}
FACT = {**PAIR, "value": "rust"}


def refused(reply: Reply, *codes: str) -> str:
    """A refusal in the envelope; gives its message."""
    assert 400 <= reply.status < 500, (reply.status, reply.body[:300])
    assert reply.code in (codes or ("invalid_argument", "tool_error")), reply.body[:300]
    assert reply.message
    return reply.message


def nothing_stored(space: Space) -> None:
    """The namespace is as empty as it was."""
    if "list_predicates" in space.tools():
        assert space.ok("recall", subject="user") == [] and space.ok("recall", predicate="uses_technology") == []
    else:
        assert space.ok("recall") == {"memories": []}


# --- shape of the body -----------------------------------------------------------------------------------------------

NOT_AN_OBJECT = [b"[]", b'"x"', b"5", b"true", b"{", b"}", b"{} x", b"{}{}", b'{"a":1,}', b"{'a':1}", b"\xef\xbb\xbf{}", b"[" * 1_000_000, b'{"a":' * 100_000,
                 b'{"a":NaN}', b'{"a":Infinity}', b'{"a":01}', b'{"a":1e}', b"\x00", b"\xff\xfe", b'{"a":"\x01"}', b'{"a":"\\x"}', b'{"a"', b"<xml/>"]


@pytest.mark.parametrize("body", NOT_AN_OBJECT, ids=lambda body: repr(body[:16]))
def test_a_body_that_is_not_one_object(any_space, body):
    for operation in ("remember", "recall", "forget"):
        refused(any_space.post(operation, body), "invalid_argument")
    nothing_stored(any_space)


def test_a_body_of_the_limit_and_one_byte_more(any_space):
    def padded(size: int) -> bytes:
        return b" " * (size - 2) + b"{}"
    at = any_space.post("recall", padded(BODY_LIMIT))
    assert at.status in (200, 400)
    for operation in ("recall", "remember"):
        over = any_space.post(operation, padded(BODY_LIMIT + 1))
        assert (over.status, over.code) == (413, "invalid_argument")
    over = any_space.server.send("POST", "/mcp", padded(BODY_LIMIT + 1), any_space.key)
    assert (over.status, over.code) == (413, "invalid_argument")
    assert any_space.rpc("ping").status == 200


def test_a_chunked_body_over_the_limit(any_space):
    def chunks():
        yield b'{"text":"'
        for _ in range(BODY_LIMIT // 65_536 + 1):
            yield b"x" * 65_536
        yield b'"}'
    for path in ("/v1/remember", "/mcp"):
        reply = any_space.server.send("POST", path, chunks(), any_space.key, {"Transfer-Encoding": "chunked"})
        assert (reply.status, reply.code) == (413, "invalid_argument")
    nothing_stored(any_space)


def test_a_chunked_body_within_the_limit(typed):
    reply = typed.server.send("POST", "/v1/remember", iter([json.dumps(FACT).encode()]), typed.key, {"Transfer-Encoding": "chunked"})
    assert reply.status == 200
    assert [b["value"] for b in typed.ok("recall", subject="user")] == ["rust"]


# --- characters ------------------------------------------------------------------------------------------------------


@pytest.mark.ours
@pytest.mark.parametrize("escape", ["\\u0000", "\\ud800", "\\udc00", "\\ud800\\u0041", "\\udc00\\ud800"])
@pytest.mark.parametrize("where", ["subject", "value"])
def test_characters_no_text_may_hold(typed, escape, where):
    raw = json.dumps({**FACT, where: "xMARKy"}).replace("MARK", escape).encode()
    refused(typed.post("remember", raw))
    nothing_stored(typed)


@pytest.mark.ours
@pytest.mark.parametrize("escape", ["\\u0000", "\\ud800", "\\udc00"])
def test_characters_no_note_may_hold(text, escape):
    refused(text.post("remember", ('{"text":"x%sy"}' % escape).encode()))
    refused(text.post("remember", ('{"messages":[{"role":"user","content":"x%sy"}]}' % escape).encode()))
    nothing_stored(text)


@pytest.mark.ours
def test_bytes_that_are_not_utf8(typed, text):
    refused(typed.post("remember", b'{"subject":"user","predicate":"uses_technology","value":"\xff\xfe"}'))
    refused(text.post("remember", b'{"text":"\xc3\x28"}'))
    nothing_stored(typed)
    nothing_stored(text)


KEPT = ["😀", "👩‍👩‍👧‍👦", "a\u202eb", "\u2066x\u2069", "\ufffe", "\uffff", "\ufffd", "e\u0301", "é", "日本語", "ไทย", "اللغة", "<|endoftext|>", "</script>", "a\\b", '"q"',
        "line\nbreak\ttab", "\u200bzero\u200bwidth", "\ufeffbom", "𝔘𝔫𝔦", "x" * 30_000]


@pytest.mark.parametrize("value", KEPT, ids=lambda value: ascii(value[:12]))
def test_what_is_stored_is_what_comes_back(typed, text, value):
    """vectorize-io/hindsight#1875: unusual characters answered 500."""
    assert typed.ok("remember", **PAIR, value=value)["stored"]["value"] == value
    assert [b["value"] for b in typed.ok("recall", **PAIR)] == [value]
    result = typed.call("recall", **PAIR)
    assert [b["value"] for b in json.loads(result["content"][0]["text"])] == [value]
    assert [e["value"] for e in typed.ok("history", **PAIR)] == [value]
    text.ok("remember", text=value)
    assert [m["text"] for m in text.ok("recall")["memories"]] == [value]


@pytest.mark.parametrize("subject", ["😀", "a\u202eb", "日本語", "a\tb", "../etc/passwd", "'; drop table x; --", "%00", "a%b_c", "s" * 1024])
def test_subjects_are_just_text(typed, subject):
    typed.ok("remember", subject=subject, predicate="role", value="x")
    assert [b["subject"] for b in typed.ok("recall", subject=subject)] == [subject]
    assert len(typed.ok("history", subject=subject, predicate="role")) == 1
    typed.ok("forget", subject=subject, predicate="role")
    assert typed.ok("recall", subject=subject) == []


# --- fields ----------------------------------------------------------------------------------------------------------

WRONG_TYPES = [("remember", {**FACT, "subject": 5}), ("remember", {**FACT, "predicate": 5}), ("remember", {**FACT, "confidence": "1"}),
               ("remember", {**FACT, "kind": 5}), ("remember", {**FACT, "source": []}), ("remember", {**FACT, "observed_at": 5}),
               ("remember", {**FACT, "replaces": "x"}), ("remember", {**FACT, "replaces": [5]}), ("remember", {**FACT, "value": []}),
               ("remember", {**FACT, "value": {}}), ("remember", {**FACT, "value": None}), ("remember", {**FACT, "value": 5}),
               ("remember", {"text": 5, "statements": []}), ("remember", {"text": "x", "statements": "y"}), ("remember", {"text": "x", "statements": [5]}),
               ("recall", {"subject": 5}), ("recall", {"query": []}), ("recall", {"subject": "user", "limit": "1"}), ("recall", {"subject": "user", "limit": 1.5}),
               ("recall", {"subject": "user", "with_sources": "yes"}), ("recall", {"subject": "user", "min_confidence": "1"}),
               ("forget", {**PAIR, "subject": 5}), ("forget", {**PAIR, "value": None}), ("history", {**PAIR, "subject": 5}), ("timeline", {**PAIR, "predicate": 5}),
               ("diff", {"from": 5}), ("explain", {"question": 5})]


@pytest.mark.parametrize(("operation", "arguments"), WRONG_TYPES, ids=lambda value: value if isinstance(value, str) else json.dumps(value)[:60])
def test_wrong_types(typed, operation, arguments):
    refused(typed.post(operation, arguments))
    result = typed.call({"history": "memory_history"}.get(operation, operation), **arguments)
    assert result["isError"] is True
    nothing_stored(typed)


@pytest.mark.ours
@pytest.mark.parametrize(("operation", "arguments"), WRONG_TYPES[:7], ids=lambda value: value if isinstance(value, str) else json.dumps(value)[:60])
def test_a_refusal_speaks_of_the_field_and_not_of_our_types(typed, operation, arguments):
    message = refused(typed.post(operation, arguments))
    wrong = next(name for name, value in arguments.items() if FACT.get(name) != value)
    assert wrong in message
    assert not any(word in message for word in ("struct", "serde", "u64", "f64", "usize", "Option", "::"))


@pytest.mark.parametrize(("operation", "arguments"), [("remember", {"text": 5}), ("remember", {"messages": "x"}), ("remember", {"messages": ["x"]}),
                                                      ("remember", {"messages": [{"role": 5, "content": "x"}]}), ("recall", {"question": 5}),
                                                      ("recall", {"as_of": 5}), ("forget", {"text": 5}), ("history", {"question": []}), ("diff", {"from": 5})])
def test_wrong_types_in_words(text, operation, arguments):
    refused(text.post(operation, arguments))
    nothing_stored(text)


@pytest.mark.ours
@pytest.mark.parametrize(("operation", "arguments"), [("remember", FACT), ("recall", PAIR), ("forget", PAIR), ("history", PAIR), ("explain", {"question": "x"})])
def test_typed_tools_refuse_unknown_fields(typed, operation, arguments):
    """doobidoo/mcp-memory-service#847: an argument was ignored without a word."""
    assert "bogus" in refused(typed.post(operation, {**arguments, "bogus": 1}), "invalid_argument")
    assert "Observed_At" in refused(typed.post(operation, {**arguments, "Observed_At": instant(days=1)}), "invalid_argument")
    nothing_stored(typed)


@pytest.mark.parametrize(("operation", "arguments"), [("timeline", PAIR), ("diff", {"from": "2024-01-01T00:00:00Z"})])
def test_newer_typed_tools_refuse_unknown_fields_everywhere(typed, operation, arguments):
    assert "bogus" in refused(typed.post(operation, {**arguments, "bogus": 1}), "invalid_argument")


@pytest.mark.parametrize(("operation", "arguments"), [("remember", {"text": "x"}), ("recall", {}), ("forget", {"text": "x"}), ("history", {"question": "x"}),
                                                      ("diff", {"from": "2024-01-01T00:00:00Z"}), ("remember", {"messages": [{"role": "user", "content": "x"}]})])
def test_text_tools_refuse_unknown_fields(text, operation, arguments):
    assert "bogus" in refused(text.post(operation, {**arguments, "bogus": 1}), "invalid_argument")
    nothing_stored(text)


def test_a_message_has_two_fields(text):
    assert "x" in refused(text.post("remember", {"messages": [{"role": "user", "content": "y", "x": 1}]}), "invalid_argument")


# --- limits ----------------------------------------------------------------------------------------------------------


def test_the_limit_of_recall(typed):
    assert typed.post("recall", {**PAIR, "limit": 1000}).status == 200
    for limit in (1001, 10**9):
        assert "1000" in refused(typed.post("recall", {**PAIR, "limit": limit})).replace(",", "")
    for value in range(25):
        typed.ok("remember", **PAIR, value=f"v{value:02}")
    for default in ({}, {"limit": 0}, {"limit": -1}):
        assert len(typed.ok("recall", **PAIR, **default)) == 20
    assert len(typed.ok("recall", **PAIR, limit=1000)) == 25


def test_the_limit_of_statements(typed):
    def statements(count: int) -> dict:
        return {"text": "x y", "statements": [{**PAIR, "value": f"v{n}", "evidence": "x"} for n in range(count)]}
    refused(typed.post("remember", statements(33)))
    nothing_stored(typed)
    assert len(typed.ok("remember", **statements(32))["results"]) == 32


def test_the_limit_of_a_text_with_statements(typed):
    refused(typed.post("remember", {"text": "x" * 32_769, "statements": []}))
    refused(typed.post("remember", {"text": "", "statements": []}))
    nothing_stored(typed)
    assert typed.post("remember", {"text": "x" * 32_768, "statements": []}).status == 200


@pytest.mark.ours
def test_the_limit_of_a_text(text):
    refused(text.post("remember", {"text": "x" * 32_769}))
    refused(text.post("remember", {"text": "é" * 16_385}))
    nothing_stored(text)
    text.ok("remember", text="x" * 32_768)
    assert len(text.ok("recall")["memories"][0]["text"]) == 32_768


@pytest.mark.ours
def test_the_limit_of_replaces(typed):
    def named(count: int) -> dict:
        return {**FACT, "replaces": [{"predicate": "role", "value": f"v{n}"} for n in range(count)]}
    refused(typed.post("remember", named(17)))
    nothing_stored(typed)
    assert len(typed.ok("remember", **named(16))["unreplaced"]) == 16


@pytest.mark.ours
@pytest.mark.parametrize(("field", "most"), [("subject", 1024), ("value", 65_536)])
def test_the_limits_of_subject_and_value(typed, field, most):
    assert field in refused(typed.post("remember", {**FACT, field: "x" * (most + 1)}))
    nothing_stored(typed)
    typed.ok("remember", **{**FACT, field: "x" * most})


def test_the_limit_of_a_predicate(typed, open_):
    refused(typed.post("remember", {**FACT, "predicate": "p" * 65}))
    refused(open_.post("remember", {**FACT, "predicate": "p" * 65}))
    open_.ok("remember", **{**FACT, "predicate": "p" * 64})


# --- numbers and times -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1e400"])
def test_numbers_that_do_not_exist(open_, number):
    refused(open_.post("remember", ('{"subject":"user","predicate":"shoe_size","value":%s}' % number).encode()))
    refused(open_.post("remember", ('{"subject":"user","predicate":"role","value":"x","confidence":%s}' % number).encode()))
    assert open_.ok("recall", subject="user") == []


@pytest.mark.parametrize("number", ["42", "42.0", "-0.5", "1e300", "1e-300", "0", "9007199254740993"])
def test_numbers_come_back(open_, number):
    open_.post("remember", ('{"subject":"user","predicate":"shoe_size","value":%s}' % number).encode())
    [belief] = open_.ok("recall", subject="user")
    assert float(belief["value"]) == float(number)


@pytest.mark.parametrize("confidence", [1.0001, -0.0001, 2, -1])
def test_confidence_is_between_zero_and_one(typed, confidence):
    refused(typed.post("remember", {**FACT, "confidence": confidence}))
    refused(typed.post("recall", {**PAIR, "min_confidence": confidence}))
    nothing_stored(typed)


NOT_INSTANTS = ["2026-01-01", "yesterday", "2026-01-01T00:00:00", "2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T00:00Z",
                "10000-01-01T00:00:00Z", "-001-01-01T00:00:00Z", "1767225600", "2026-01-01T00:00:00.Z", " 2026-01-01T00:00:00Z", "2026-1-1T00:00:00Z"]


@pytest.mark.parametrize("time", NOT_INSTANTS)
def test_a_time_needs_a_zone_and_a_real_date(typed, text, time):
    """getzep/graphiti#893: times with and without zone met in one comparison."""
    assert "observed_at" in refused(typed.post("remember", {**FACT, "observed_at": time}))
    assert "as_of" in refused(typed.post("recall", {**PAIR, "as_of": time}))
    assert "from" in refused(typed.post("diff", {"from": time}))
    assert "observed_at" in refused(text.post("remember", {"text": "x", "observed_at": time}))
    assert "since" in refused(text.post("recall", {"since": time}))
    nothing_stored(typed)
    nothing_stored(text)


@pytest.mark.ours
@pytest.mark.parametrize("time", ["0000-01-01T00:00:00Z", "0000-12-31T23:59:59Z", "2026-01-01T00:00:00,5Z", "2026-01-01T0:00:00Z", "2026-01-01T00:00:00+24:00",
                                  "2026-01-01T00:00:00+00:60"])
def test_times_only_the_original_takes(typed, time):
    refused(typed.post("remember", {**FACT, "observed_at": time}))
    nothing_stored(typed)


def test_the_future_is_not_remembered(typed, text):
    refused(typed.post("remember", {**FACT, "observed_at": "2999-01-01T00:00:00Z"}))
    refused(text.post("remember", {"text": "x", "observed_at": "2999-01-01T00:00:00Z"}))
    nothing_stored(typed)
    nothing_stored(text)


@pytest.mark.parametrize(("sent", "kept"), [("2024-01-01T02:00:00+02:00", "2024-01-01T00:00:00Z"), ("2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00.5Z"),
                                            ("2024-01-01T00:00:00.123456789Z", "2024-01-01T00:00:00.123456789Z"),
                                            ("2024-01-01T00:00:00.100000000Z", "2024-01-01T00:00:00.1Z"), ("2024-02-29T23:59:59-23:59", "2024-03-01T23:58:59Z")])
def test_times_come_back_in_utc(typed, sent, kept):
    assert typed.ok("remember", **FACT, observed_at=sent)["stored"]["observed_at"] == kept
    assert typed.ok("history", **PAIR)[0]["observed_at"] == kept


# --- missing arguments -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("operation", "arguments"), [("remember", {}), ("remember", {"subject": "user"}), ("remember", {**PAIR}), ("remember", {"predicate": "role", "value": "x"}),
                                                      ("remember", {"statements": []}), ("recall", {}), ("forget", {}), ("forget", {"subject": "user"}),
                                                      ("forget", {"predicate": "role"}), ("diff", {}), ("explain", {}), ("explain", {"question": " "})])
def test_missing_arguments(typed, operation, arguments):
    refused(typed.post(operation, arguments))
    nothing_stored(typed)


@pytest.mark.ours
@pytest.mark.parametrize("operation", ["history", "timeline"])
def test_a_missing_scope_is_not_an_empty_memory(typed, operation):
    """getzep/graphiti PR 1791: a missing scope answered "nothing found"."""
    assert "predicate" in refused(typed.post(operation, {"subject": "user"}))
    assert "subject" in refused(typed.post(operation, {"predicate": "role"}))


@pytest.mark.ours
def test_no_history_is_an_empty_list(typed):
    assert typed.post("history", PAIR).body.strip() == b"[]"
    assert typed.call("memory_history", **PAIR)["content"][0]["text"] == "[]"


@pytest.mark.ours
def test_a_cardinality_that_contradicts_the_registry(typed, open_):
    refused(typed.post("remember", {"subject": "user", "predicate": "role", "value": "x", "cardinality": "multi"}))
    open_.ok("remember", subject="user", predicate="nick", value="a", cardinality="multi")
    refused(open_.post("remember", {"subject": "user", "predicate": "nick", "value": "b", "cardinality": "single"}))
    assert [b["value"] for b in open_.ok("recall", subject="user")] == ["a"]
