"""Raw HTTP: routes, statuses, headers, envelopes, keys and JSON-RPC framing."""
from __future__ import annotations

import json
import re

import pytest

from support import Space

OPERATIONS = ("remember", "recall", "forget", "history", "timeline", "diff", "predicates", "explain")
REALM = 'Bearer realm="recall"'
WRONG_KEY = "rcl_0123456789abcdef_" + "A" * 32
RFC3339_SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def media_type(reply) -> str:
    return reply.headers.get("content-type", "").split(";")[0]


def a_read(space: Space) -> dict[str, str]:
    """Arguments with which recall succeeds on any surface."""
    return {"subject": "user"} if "list_predicates" in space.tools() else {}


# --- routes and methods ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PUT"])
def test_healthz_answers_any_method_without_a_key(any_space, method):
    reply = any_space.server.send(method, "/healthz")
    assert (reply.status, reply.body.strip(), media_type(reply)) == (200, b"ok", "text/plain")


@pytest.mark.parametrize("path", ["/v1/nosuch", "/v1/", "/v1/recall/", "/v1/Recall", "/v1/memory_history", "/v1/list_predicates", "/v1/auth/x", "/v1/recall/x"])
def test_an_unknown_operation(any_space, path):
    for method in ("POST", "GET"):
        without = any_space.server.send(method, path, b"{}")
        assert (without.status, without.code, without.headers["www-authenticate"]) == (401, "unauthenticated", REALM)
        reply = any_space.server.send(method, path, b"{}", any_space.key)
        assert (reply.status, reply.code, media_type(reply)) == (404, "not_found", "application/json")


@pytest.mark.parametrize("path", ["/", "/nosuch", "/V1/recall", "/mcp/", "/metrics", "/.well-known/oauth-protected-resource"])
def test_an_unknown_path_asks_for_no_key(any_space, path):
    assert any_space.server.send("GET", path).status == 404


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations_take_post_only(typed, operation):
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"):
        reply = typed.server.send(method, "/v1/" + operation, key=typed.key)
        assert (reply.status, reply.headers["allow"]) == (405, "POST")
        if method != "HEAD":
            assert reply.code == "method_not_allowed"
        assert typed.server.send(method, "/v1/" + operation).status == 401


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "OPTIONS"])
def test_mcp_takes_post_and_delete(any_space, method):
    reply = any_space.server.send(method, "/mcp", key=any_space.key)
    assert reply.status == 405
    assert {name.strip() for name in reply.headers["allow"].split(",")} == {"POST", "DELETE"}
    assert any_space.server.send(method, "/mcp").status == 401


@pytest.mark.parametrize("path", ["//v1/recall", "/v1/../v1/recall", "/./v1/recall", "/v1/remember/../recall", "/v1"])
def test_an_unclean_path_reaches_no_operation(any_space, path):
    reply = any_space.server.send("POST", path, b"{}", any_space.key)
    assert reply.status in (307, 404)
    if reply.status == 307:
        assert reply.headers["location"] in ("/v1/recall", "/v1/")


@pytest.mark.parametrize("path", ["/v1/recall%2f", "/v1/%00", "/v1/a%20b", "/v1/%ff", "/v1/%zz", "/v1/%2e%2e/%2e%2e/etc/passwd", "/v1/recall;x", "/v1/recall%0d%0aX: y"])
def test_an_odd_path_is_a_clear_refusal(any_space, path):
    reply = any_space.server.send("POST", path.replace(" ", "%20"), None, any_space.key)
    assert reply.status in (400, 404)
    assert "x" not in reply.headers


def test_the_query_string_is_ignored(any_space):
    arguments = a_read(any_space)
    reply = any_space.server.send("POST", "/v1/recall?namespace=elsewhere&bogus=1", arguments, any_space.key)
    assert reply.status == 200


# --- credentials -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/v1/" + name for name in OPERATIONS] + ["/mcp", "/v1/keys", "/v1/keys/renew"])
def test_without_a_key_nothing_else_is_looked_at(any_space, path):
    for body in (b"{}", b"not json", b"[" * 1000):
        missing = any_space.server.send("POST", path, body)
        wrong = any_space.server.send("POST", path, body, WRONG_KEY)
        for reply in (missing, wrong):
            assert (reply.status, reply.code, reply.headers["www-authenticate"]) == (401, "unauthenticated", REALM)
        assert missing.message != wrong.message


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER ", "Bearer   "])
def test_ways_to_send_a_key(any_space, scheme):
    assert any_space.server.send("POST", "/v1/recall", a_read(any_space), headers={"Authorization": scheme + any_space.key}).status == 200


@pytest.mark.parametrize("headers", [{"Authorization": "Basic {key}"}, {"Authorization": "{key}"}, {"X-API-Key": "{key}"}, {"Authorization": "Bearer"},
                                     {"Authorization": "Bearer {key}x"}, {"Authorization": "Bearer x {key}"}])
def test_ways_that_are_not(any_space, headers):
    filled = {name: value.format(key=any_space.key) for name, value in headers.items()}
    reply = any_space.server.send("POST", "/v1/recall", a_read(any_space), headers=filled)
    assert (reply.status, reply.code) == (401, "unauthenticated")


def test_an_admin_key_reaches_no_namespace(any_space):
    for path in ("/v1/recall", "/v1/remember", "/mcp"):
        reply = any_space.server.send("POST", path, b'{"id":1,"method":"ping"}', any_space.server.admin_key)
        assert (reply.status, reply.code) == (403, "namespace_mismatch")


def test_naming_another_namespace_agent_or_session(any_space):
    bound = any_space.server.space(agent="a1", session="s1")
    for name in ("namespace", "agent_id", "session"):
        reply = bound.post("recall", {**a_read(bound), name: "elsewhere"})
        assert (reply.status, reply.code) == (403, "namespace_mismatch")
        result = bound.call("recall", **{**a_read(bound), name: "elsewhere"})
        assert result["isError"] is True and result["content"][0]["text"].startswith("namespace_mismatch:")
    assert bound.post("recall", {**a_read(bound), "namespace": bound.namespace, "session": "s1"}).status == 200
    assert any_space.post("recall", {**a_read(any_space), "session": "any"}).status == 200


def test_text_tools_do_not_know_agent_id(text):
    bound = text.server.space(agent="a1")
    assert bound.post("recall", {"agent_id": "a1"}).status == 400


# --- keys ------------------------------------------------------------------------------------------------------------


def test_a_key_record(typed):
    record = typed.server.mint(agent="a1", session="s", note="n", expires_in="15m")
    assert re.fullmatch(r"rcl_[0-9a-f]{16}_[A-Za-z0-9_-]{32}", record["key"])
    assert record["key"].split("_")[1] == record["id"]
    assert (record["agent"], record["session"], record["note"], record["ttl"]) == ("a1", "s", "n", "15m0s")
    assert (record["admin"], record["revoked"], record["renewable"]) == (False, False, True)
    assert RFC3339_SECONDS.fullmatch(record["created_at"]) and RFC3339_SECONDS.fullmatch(record["expires_at"])
    plain = typed.server.mint()
    assert not {"agent", "session", "note", "expires_at", "ttl", "renewable"} & plain.keys()


@pytest.mark.parametrize(("given", "shown"), [("15m", "15m0s"), ("1h30m", "1h30m0s"), ("90s", "1m30s"), ("2h", "2h0m0s"), ("", None), ("0", None)])
def test_durations(typed, given, shown):
    assert typed.server.mint(expires_in=given).get("ttl") == shown


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"null", b"{", {"namespace": ""}, {"namespace": "a" * 129}, {"namespace": "a b"}, {"namespace": "_a"},
                                  {"namespace": "-a"}, {"namespace": "a%"}, {"namespace": "a\\b"}, {"namespace": "a/b"}, {"namespace": "é"},
                                  {"namespace": "a\u0000"}, {"namespace": 5}, {"namespace": "a", "admin": True}, {"namespace": "a", "x": 1},
                                  {"namespace": "a", "expires_in": "15"}, {"namespace": "a", "expires_in": "7d"}, {"namespace": "a", "expires_in": 15},
                                  {"namespace": "a", "expires_in": "-5m"}])
def test_keys_that_are_not_made(typed, body):
    reply = typed.server.send("POST", "/v1/keys", body, typed.server.admin_key)
    assert (reply.status, reply.code) == (400, "invalid_argument")


@pytest.mark.ours
@pytest.mark.parametrize("fields", [{"agent": "bad agent!"}, {"agent": "a" * 129}, {"note": "n" * 1_000_000}, {"session": "s" * 100_000}])
def test_key_fields_have_limits(typed, fields):
    reply = typed.server.send("POST", "/v1/keys", {"namespace": typed.namespace, **fields}, typed.server.admin_key)
    assert reply.status in (400, 413) and reply.code == "invalid_argument"


@pytest.mark.parametrize("namespace", ["0", "a", "A.b:c-d_E", "a" * 128])
def test_namespaces_at_the_edge(typed, namespace):
    assert typed.server.mint(namespace=namespace)["namespace"] == namespace


def test_only_an_admin_key_manages_keys(typed):
    record = typed.server.mint()
    for method, path in (("POST", "/v1/keys"), ("GET", "/v1/keys"), ("DELETE", "/v1/keys/" + record["id"])):
        reply = typed.server.send(method, path, b"{}" if method == "POST" else None, typed.key)
        assert (reply.status, reply.code) == (403, "forbidden")
        assert typed.server.send(method, path).status == 401


def every_key(space: Space) -> list[dict]:
    """All keys, following the pages of a server that gives them in pages."""
    found, cursor = [], ""
    while True:
        reply = space.server.send("GET", f"/v1/keys?cursor={cursor}" if cursor else "/v1/keys", key=space.server.admin_key)
        assert reply.status == 200
        found += reply.json["keys"]
        cursor = reply.json.get("next_cursor")
        if not cursor:
            return found


def test_listing_and_revoking(typed):
    admin = typed.server.admin_key
    record = typed.server.mint(note="to be revoked")
    mine = next(one for one in every_key(typed) if one["id"] == record["id"])
    assert (mine["note"], mine["revoked"], "key" in mine) == ("to be revoked", False, False)
    assert record["key"].split("_", 2)[2] not in json.dumps(mine)
    for _ in range(2):
        reply = typed.server.send("DELETE", "/v1/keys/" + record["id"], key=admin)
        assert (reply.status, reply.body) == (204, b"")
    assert typed.server.send("POST", "/v1/recall", {"subject": "user"}, record["key"]).status == 401
    unknown = typed.server.send("DELETE", "/v1/keys/0123456789abcdef", key=admin)
    assert (unknown.status, unknown.code) == (404, "not_found")


def test_renewing(typed):
    record = typed.server.mint(namespace=typed.namespace, expires_in="10m")
    for body in (b"", b"junk", None):
        reply = typed.server.send("POST", "/v1/keys/renew", body, record["key"])
        assert (reply.status, reply.json["id"], reply.json["ttl"], "key" in reply.json) == (200, record["id"], "10m0s", False)
    never = typed.server.send("POST", "/v1/keys/renew", b"", typed.key)
    assert (never.status, never.code) == (400, "invalid_argument")
    assert typed.server.send("POST", "/v1/keys/renew", b"", WRONG_KEY).status == 401


def test_a_key_dies_at_its_time(typed):
    record = typed.server.mint(namespace=typed.namespace, expires_in="1ms")
    reply = typed.server.send("POST", "/v1/recall", {"subject": "user"}, record["key"])
    assert (reply.status, reply.code) == (401, "unauthenticated")


@pytest.mark.ours
def test_405_on_key_routes_names_what_is_allowed(typed):
    reply = typed.server.send("PUT", "/v1/keys", b"{}", typed.server.admin_key)
    assert reply.status == 405 and {"GET", "POST"} <= {name.strip() for name in reply.headers["allow"].split(",")}


def test_the_exchange_is_absent_where_it_is_off(typed):
    for key in (None, WRONG_KEY, typed.key):
        reply = typed.server.send("POST", "/v1/auth/kubernetes", {"token": "x"}, key)
        assert (reply.status, reply.code) == (404, "not_found")


# --- answers of operations -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/x-www-form-urlencoded", ""])
def test_the_content_type_is_not_looked_at(any_space, content_type):
    reply = any_space.post("recall", a_read(any_space), **{"Content-Type": content_type})
    assert (reply.status, media_type(reply)) == (200, "application/json")


def test_a_bare_array_or_an_object(typed, text):
    assert typed.post("recall", {"subject": "user"}).json == []
    assert typed.post("predicates", b"").status == 200
    assert text.post("recall", b"").json == {"memories": []}
    assert text.post("recall", b"null").json == {"memories": []}


@pytest.mark.parametrize(("surface", "operation", "tool"), [("text", "timeline", "timeline"), ("text", "predicates", "list_predicates"), ("text", "explain", "explain")])
def test_an_operation_of_the_other_surface(servers, surface, operation, tool):
    space = servers[surface].space()
    reply = space.post(operation, {})
    assert (reply.status, reply.code) == (400, "tool_error")
    assert f'unknown memory tool "{tool}"' in reply.message


@pytest.mark.ours
def test_headers_of_every_answer(any_space):
    read = any_space.post("recall", a_read(any_space))
    assert read.headers["x-request-id"] and read.headers["recall-revision"]
    for reply in (any_space.post("nosuch", {}), any_space.server.send("POST", "/v1/recall", b"{}"), any_space.rpc("ping")):
        assert reply.headers["x-request-id"]
    named = any_space.post("recall", a_read(any_space), **{"x-request-id": "mine-1"})
    assert named.headers["x-request-id"] == "mine-1"


@pytest.mark.ours
def test_the_revision_grows_with_writes(belief_space):
    fact = {"subject": "user", "predicate": "uses_technology"}
    seen = [int(belief_space.post("remember", {**fact, "value": value}).headers["recall-revision"]) for value in ("a", "b", "c")]
    assert seen == sorted(set(seen))
    assert int(belief_space.post("recall", fact).headers["recall-revision"]) == seen[-1]


# --- /mcp ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"", b"[]", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', b"{", b'"x"', b"5", b'{"id":1,"method":"ping"} x'])
def test_what_is_not_one_request(any_space, body):
    reply = any_space.server.send("POST", "/mcp", body, any_space.key)
    assert (reply.status, reply.json["id"], reply.json["error"]["code"]) == (400, None, -32700)


def test_a_refused_message_keeps_its_id(any_space):
    reply = any_space.server.send("POST", "/mcp", b'{"id":1,"method":5}', any_space.key)
    assert (reply.status, reply.json["id"], reply.json["error"]["code"]) == (400, 1, -32700)


@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/cancelled", "tools/list", "tools/call", "ping", "nosuch"])
def test_a_notification_is_not_answered(any_space, method):
    """doobidoo/mcp-memory-service#733: the server answered notifications."""
    reply = any_space.server.send("POST", "/mcp", {"jsonrpc": "2.0", "method": method}, any_space.key)
    assert (reply.status, reply.body) == (202, b"")


def test_a_notification_does_nothing(typed):
    arguments = {"name": "remember", "arguments": {"subject": "user", "predicate": "role", "value": "pilot"}}
    reply = typed.server.send("POST", "/mcp", {"jsonrpc": "2.0", "method": "tools/call", "params": arguments}, typed.key)
    assert reply.status == 202
    assert typed.ok("recall", subject="user") == []


@pytest.mark.parametrize("identity", [1, 0, -1, "a", "", None, 10**15])
def test_ids_come_back(any_space, identity):
    reply = any_space.server.send("POST", "/mcp", {"jsonrpc": "2.0", "id": identity, "method": "ping"}, any_space.key)
    assert (reply.status, reply.json) == (200, {"jsonrpc": "2.0", "id": identity, "result": {}})


@pytest.mark.parametrize("message", [{"id": 1, "method": "ping"}, {"jsonrpc": "1.0", "id": 1, "method": "ping"}])
def test_the_jsonrpc_member_is_not_looked_at(any_space, message):
    assert any_space.server.send("POST", "/mcp", message, any_space.key).json["result"] == {}


@pytest.mark.parametrize("method", ["nosuch", "resources/list", "prompts/list", "logging/setLevel", "completion/complete", ""])
def test_an_unknown_method(any_space, method):
    reply = any_space.rpc(method)
    assert (reply.status, reply.json["error"]["code"]) == (200, -32601)


@pytest.mark.parametrize(("asked", "answered"), [("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"), (None, "2025-06-18")])
def test_protocol_versions(any_space, asked, answered):
    result = any_space.rpc("initialize", {} if asked is None else {"protocolVersion": asked}).json["result"]
    assert result["protocolVersion"] == answered
    assert result["serverInfo"]["name"] == "recall" and "tools" in result["capabilities"] and result["instructions"]
    assert "database" not in result["serverInfo"]


@pytest.mark.ours
def test_the_newest_handshake_version_is_offered(any_space):
    for asked in ("2025-11-25", "bogus"):
        assert any_space.rpc("initialize", {"protocolVersion": asked}).json["result"]["protocolVersion"] == "2025-11-25"


def test_no_session_is_made(any_space):
    reply = any_space.rpc("initialize", {"protocolVersion": "2025-06-18"}, **{"Mcp-Session-Id": "bogus", "Accept": "application/json, text/event-stream"})
    assert (reply.status, media_type(reply)) == (200, "application/json")
    assert "mcp-session-id" not in reply.headers
    assert any_space.server.send("DELETE", "/mcp", key=any_space.key).status == 200
    assert any_space.rpc("ping", **{"Mcp-Session-Id": "anything"}).status == 200


def test_tool_results(typed):
    good = typed.call("recall", subject="user")
    assert (good["isError"], good["content"][0]["type"], json.loads(good["content"][0]["text"])) == (False, "text", [])
    bad = typed.call("recall")
    assert bad["isError"] is True and bad["content"][0]["text"]
    assert typed.rpc("tools/call").json["error"]["code"] == -32602
    assert typed.rpc("tools/call", {"name": 5}).json["error"]["code"] == -32602
    for params in ({}, {"name": "no_such_tool"}):
        result = typed.rpc("tools/call", params).json["result"]
        assert result["isError"] is True
        assert f'unknown memory tool "{params.get("name", "")}"' in result["content"][0]["text"]


def test_the_list_of_tools(typed, text):
    for space, names in ((typed, ["list_predicates", "remember", "recall", "forget", "explain", "memory_history", "timeline", "diff"]),
                         (text, ["remember", "recall", "forget", "history", "diff"])):
        result = space.rpc("tools/list", {}).json["result"]
        assert [tool["name"] for tool in result["tools"]][:len(names)] == names
        assert "nextCursor" not in result
        assert not {"resultType", "ttlMs", "cacheScope", "_meta"} & result.keys()


def test_no_cross_origin_access_is_granted(any_space):
    """A page in a browser gets no CORS headers: the original asks a preflight for a key, ours refuses foreign pages outright."""
    reply = any_space.server.send("OPTIONS", "/mcp", headers={"Origin": "https://example.com", "Access-Control-Request-Method": "POST"})
    assert reply.status in (401, 403)
    assert not any(name.startswith("access-control-") for name in reply.headers)
