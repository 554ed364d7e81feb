"""Faults of the interface that users of other memory servers reported in public: what is refused and how, what an answer leaves out, and
what happens on a pipe. Each test is named after its fault; its line says where it was seen.

`tests/complaints.md` says of each complaint which test holds it."""
from __future__ import annotations

import itertools
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import instant
from test_mcp_bridge import start
from test_mcp_sdk import AGENT, AGENT_CALLS, TEXT_CALLS, TYPED_CALLS

PAIR = {"subject": "user", "predicate": "uses_technology"}


def ask(bridge: subprocess.Popen[str], *messages: dict) -> list[dict]:
    """The answers to messages, in the order of their ids."""
    bridge.stdin.write("".join(json.dumps(message) + "\n" for message in messages))
    bridge.stdin.flush()
    asked = [message for message in messages if "id" in message]
    return sorted((json.loads(bridge.stdout.readline()) for _ in asked), key=lambda answer: answer["id"])


def call(number: int, tool: str, **arguments) -> dict:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def test_a_filter_on_two_ids_matches_nothing(belief_space):
    """mem0ai/mem0#3773, #3218: every combination of filters gives exactly what fits all of them."""
    facts = [(subject, predicate, confidence) for subject in ("ana", "ben") for predicate in ("likes", "note") for confidence in (0.2, 0.9)]
    facts = [(s, "uses_technology" if p == "likes" else p, c) for s, p, c in facts]
    for number, (subject, predicate, confidence) in enumerate(facts):
        belief_space.ok("remember", subject=subject, predicate=predicate, value=f"value {number}", confidence=confidence, observed_at=instant(days=number + 1))
    day = instant(days=4, hours=12)
    filters = {"subject": ("ana", lambda n: facts[n][0] == "ana"), "predicate": ("note", lambda n: facts[n][1] == "note"),
               "min_confidence": (0.5, lambda n: facts[n][2] >= 0.5), "observed_after": (day, lambda n: n < 4)}
    for chosen in itertools.chain.from_iterable(itertools.combinations(filters, size) for size in range(1, 5)):
        if not {"subject", "predicate"} & set(chosen):
            continue  # something has to name a scope
        found = belief_space.ok("recall", limit=100, **{name: filters[name][0] for name in chosen})
        expected = {f"value {n}" for n in range(len(facts)) if all(filters[name][1](n) for name in chosen)}
        assert {belief["value"] for belief in found} == expected, chosen


@pytest.mark.ours
def test_a_misspelt_scope_looks_like_an_empty_memory(belief_space):
    """getzep/graphiti PR 1791, MystenLabs/MemWal#416."""
    belief_space.ok("remember", **PAIR, value="rust")
    for arguments, part in (({"subject": "usre"}, "subject"), ({"predicate": "uses_tecnology"}, "predicate")):
        reply = belief_space.post("recall", arguments)
        assert (reply.status, reply.json) == (200, [])
        assert (reply.headers["recall-empty"], reply.headers["recall-unknown"]) == ("scope_unknown", part)
        told = belief_space.call("recall", **arguments)["structuredContent"]["coverage"]
        assert told["empty"] and told["in_scope"] == 0, told
    assert belief_space.post("recall", {"subject": "user", "query": "zig"}).headers["recall-in-scope"] == "1"


@pytest.mark.ours
def test_a_part_of_a_large_text_is_kept(text):
    """vectorize-io/hindsight#1797: 10 MB are refused with the limit, and what is taken is taken whole."""
    for path, body in (("/v1/remember", {"text": "x" * 10_000_000}), ("/mcp", call(1, "remember", text="x" * 10_000_000))):
        reply = text.server.send("POST", path, body, text.key)
        assert reply.status == 413 and "4194304" in reply.message
    assert text.ok("recall") == {"memories": []}
    whole = "word " * 6_553 + "end"
    text.ok("remember", text=whole)
    assert [memory["text"] for memory in text.ok("recall")["memories"]] == [whole]


ODD = ["\\ud800", "a\\u0000b", "\\ufffe", "\\ud83e\\udd80", "left \\u202eright", "<|endoftext|>", "\\u200b|", "\\u2028"]


@pytest.mark.parametrize("escaped", ODD)
def test_odd_text_is_a_fault_of_the_server(text, escaped):
    """vectorize-io/hindsight#1875: over REST, MCP and a pipe, taken and given back, or refused with a reason; never 5xx, never silence."""
    body = f'{{"text":"odd {escaped} text"}}'.encode()
    rest = text.post("remember", body)
    assert rest.status in (200, 400), rest.body
    message = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remember","arguments":' + body + b"}}"
    over_mcp = text.server.send("POST", "/mcp", message, text.key)
    assert over_mcp.status in (200, 400), over_mcp.body
    bridge = start(text)
    bridge.stdin.write(message.decode() + "\n")
    bridge.stdin.flush()
    piped = json.loads(bridge.stdout.readline())
    assert piped["id"] == 1
    for answer in (over_mcp.json, piped):
        refused = answer.get("error", {}).get("message") or (answer["result"]["isError"] and answer["result"]["content"][0]["text"])
        assert bool(refused) == (rest.status == 400), answer
    if rest.status == 200:
        assert [memory["text"] for memory in text.ok("recall")["memories"]] == [json.loads(f'"odd {escaped} text"')]
    bridge.stdin.close()
    assert bridge.wait(timeout=10) == 0


def test_a_session_is_lost_after_idle_minutes(any_space):
    """nowledge-co/community#383: no session is kept, so none is lost; an old id is as good as none."""
    for identity in ("", "0191a1b2c3d4e5f6", "a session of last week"):
        assert any_space.rpc("ping", **{"Mcp-Session-Id": identity}).json["result"] == {}
        assert any_space.rpc("tools/list", **{"Mcp-Session-Id": identity}).json["result"]["tools"]


def test_a_time_without_a_zone_is_guessed(any_space):
    """getzep/graphiti#893: refused, and the field is named."""
    is_text = "list_predicates" not in any_space.tools()
    fact = {"text": "x"} if is_text else {**PAIR, "value": "x"}
    for operation, field, arguments in (("remember", "observed_at", fact), ("recall", "as_of", {} if is_text else PAIR), ("diff", "from", {})):
        reply = any_space.post(operation, {**arguments, field: "2026-01-01T00:00:00"})
        assert reply.status == 400 and field in reply.message, reply.body


def test_parallel_calls_on_one_pipe_lose_writes(text):
    """modelcontextprotocol/servers#1819, #2579: fifty at once, each answered by its id, and all of them kept."""
    bridge = start(text)
    answers = ask(bridge, *(call(number, "remember", text=f"note number {number}") for number in range(50)))
    assert [answer["id"] for answer in answers] == list(range(50))
    assert all(answer["result"]["isError"] is False for answer in answers)
    bridge.stdin.close()
    assert bridge.wait(timeout=10) == 0
    assert sorted(memory["text"] for memory in text.ok("recall")["memories"]) == sorted(f"note number {number}" for number in range(50))


@pytest.mark.ours
def test_an_answer_does_not_say_what_it_left_out(belief_space):
    """modelcontextprotocol/servers#3953: with defaults an answer is small, and tells how much there is beyond it."""
    for number in range(60):
        belief_space.ok("remember", subject="user", predicate="note", value=f"note number {number}")
    for arguments in ({"subject": "user"}, {"query": "note number"}):
        reply = belief_space.post("recall", arguments)
        assert (len(reply.json), reply.headers["recall-left-out"]) == (20, "40")
        result = belief_space.call("recall", **arguments)
        assert result["structuredContent"]["coverage"]["left_out"] == 40
        assert len(result["content"][0]["text"]) < 16_000


def test_a_notification_is_answered_on_a_pipe(text):
    """doobidoo/mcp-memory-service#733: what has no id gets no line, whatever it asks for."""
    bridge = start(text)
    silent = [{"jsonrpc": "2.0", "method": method} for method in ("notifications/initialized", "tools/list", "nosuch")]
    silent.append({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
    [answer] = ask(bridge, *silent, {"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert answer == {"jsonrpc": "2.0", "id": 1, "result": {}}
    bridge.stdin.close()
    assert bridge.stdout.read() == "" and bridge.wait(timeout=10) == 0


@pytest.mark.ours
def test_an_argument_that_is_not_known_is_ignored(any_space):
    """doobidoo/mcp-memory-service#847: 400 that names it, on every operation."""
    is_text = "list_predicates" not in any_space.tools()
    good = {"remember": {"text": "x"}, "recall": {}, "forget": {"text": "x"}, "history": {"question": "x"}, "diff": {"from": instant(days=1)}} if is_text else {
        "remember": {**PAIR, "value": "x"}, "recall": PAIR, "forget": PAIR, "history": PAIR, "timeline": PAIR, "diff": {"from": instant(days=1)},
        "explain": {"question": "x"}, "predicates": {}}
    for operation, arguments in good.items():
        reply = any_space.post(operation, {**arguments, "tags": ["work"]})
        assert (reply.status, reply.code) == (400, "invalid_argument") and "tags" in reply.message, (operation, reply.body)


def test_a_page_of_another_site_is_let_in(any_space):
    """doobidoo/mcp-memory-service#877: no page of another site may read, and a 401 sends nobody to a sign-in that is not there."""
    reply = any_space.server.send("OPTIONS", "/mcp", headers={"Origin": "http://localhost:1", "Access-Control-Request-Method": "POST"})
    assert not [name for name in reply.headers if name.startswith("access-control-")]
    reply = any_space.server.send("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert (reply.status, reply.headers["www-authenticate"]) == (401, 'Bearer realm="recall"')


def test_an_idle_stream_is_cut(any_space):
    """anthropics/claude-code#38631: no stream is opened, so that a load balancer has none to cut."""
    reply = any_space.server.send("GET", "/mcp", key=any_space.key, headers={"Accept": "text/event-stream"})
    assert (reply.status, reply.headers["allow"]) == (405, "POST, DELETE")
    assert any_space.rpc("ping", Accept="application/json, text/event-stream").headers["content-type"].startswith("application/json")


def test_a_limit_of_nothing_is_a_mistake(typed):
    """basicmachines-co/basic-memory#1296: 0 and less are the default, as its description says."""
    for number in range(30):
        typed.ok("remember", subject="user", predicate="note", value=f"note {number}")
    for limit in (0, -1, -5):
        assert len(typed.ok("recall", subject="user", limit=limit)) == 20
    assert len(typed.ok("recall", subject="user", limit=1000)) == 30


@pytest.mark.ours
def test_a_tool_shows_what_another_namespace_keeps(any_space):
    """getzep/graphiti#632: every tool is called, of the memory and of an agent of the same name, and none shows a word of the other."""
    other = any_space.server.space()
    is_text = "list_predicates" not in any_space.tools()
    canary = "plantedcanary"
    facts = [{"text": f"The role and the cat are a {canary}."}] if is_text else [
        {"subject": "user", "predicate": predicate, "value": f"{canary} {predicate}"} for predicate in ("role", "prefers_editor", "lives_in", "note")
        if other.post("remember", {"subject": "user", "predicate": predicate, "value": "x"}).status == 200]
    for fact in facts:
        other.ok("remember", **fact)
    for name, arguments in (("agent_resume", {}), ("update_working_state", {"goal": canary}), ("agent_milestone", {"name": canary}),
                            ("record_turn", {"role": "user", "content": canary}), ("store_output", {"content": canary, "ref": "out"}),
                            ("set_pointer", {"name": "code", "type": "git_ref", "fields": {"branch": canary}}),
                            ("begin_action", {"tool": canary, "class": "external"})):
        assert other.call(name, **AGENT, **arguments)["isError"] is False, name
    calls = (TEXT_CALLS if is_text else TYPED_CALLS) + [(name, {**AGENT, **arguments}) for name, arguments in AGENT_CALLS]
    assert {name for name, _ in calls} == any_space.tools()
    calls += [("recall", {"question": canary})] if is_text else [("recall", {"query": canary}), ("explain", {"question": canary})]
    for name, arguments in calls:
        answer = any_space.rpc("tools/call", {"name": name, "arguments": arguments})
        assert answer.status == 200 and canary not in answer.body.decode(), name


@pytest.mark.ours
def test_two_programs_on_one_memory_drop_each_others_writes(text):
    """modelcontextprotocol/servers#4797, mcp-memory-service#59: two stdio programs and HTTP write at once; all is there, and each sees it."""
    bridges = [start(text), start(text)]

    def pipe(at: int) -> None:
        answers = ask(bridges[at], *(call(n, "remember", text=f"note {n} of pipe {at}") for n in range(100)))
        assert [answer["result"]["isError"] for answer in answers] == [False] * 100

    def plain() -> None:
        for n in range(100):
            text.ok("remember", text=f"note {n} of http")

    with ThreadPoolExecutor(3) as pool:
        for writer in [pool.submit(pipe, 0), pool.submit(pipe, 1), pool.submit(plain)]:
            writer.result()
    expected = sorted(f"note {n} of {by}" for n in range(100) for by in ("pipe 0", "pipe 1", "http"))
    assert sorted(memory["text"] for memory in text.ok("recall")["memories"]) == expected
    for bridge in bridges:
        [answer] = ask(bridge, call(1, "recall"))
        assert sorted(memory["text"] for memory in answer["result"]["structuredContent"]["memories"]) == expected
        bridge.stdin.close()
        assert bridge.wait(timeout=10) == 0


@pytest.mark.ours
def test_an_unknown_agent_looks_like_an_empty_one(any_space):
    """getzep/graphiti#838: an agent that was never resumed is told so by its context and beside each empty list, and an operator gets 404."""
    context = any_space.call("agent_context", agent_id="cdoer")["structuredContent"]
    assert context["fresh"] is True and "Nothing is recorded yet" in context["briefing"]
    for tool in ("recent_turns", "list_pointers", "pending_actions", "working_state_history"):
        answer = any_space.call(tool, agent_id="cdoer")
        assert (answer["content"][0]["text"], answer["structuredContent"]) == ("[]", {"result": [], "fresh": True}), tool
    any_space.call("agent_resume", agent_id="coder")
    assert any_space.call("agent_milestone", agent_id="coder", name="begun")["isError"] is False
    assert any_space.call("recent_turns", agent_id="coder")["structuredContent"] == {"result": [], "fresh": False}
    assert "fresh" not in any_space.call("working_state_history", agent_id="coder")["structuredContent"]
    seen = any_space.server.send("GET", f"/v1/agents/cdoer?namespace={any_space.namespace}", key=any_space.server.admin_key)
    assert (seen.status, seen.code) == (404, "not_found")
