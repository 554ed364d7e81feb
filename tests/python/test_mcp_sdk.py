"""The official MCP Python SDK 2.3.0 works against the server unchanged, over its streamable HTTP client."""
from __future__ import annotations

import contextlib
import json
from typing import AsyncIterator

import jsonschema
import pytest
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from support import Space

MODERN = "2026-07-28"
pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """The SDK is run on asyncio."""
    return "asyncio"


@contextlib.asynccontextmanager
async def connect(space: Space, mode: str = "legacy") -> AsyncIterator[Client]:
    """An SDK client that speaks the given era."""
    headers = {"Authorization": "Bearer " + space.key}
    async with create_mcp_http_client(headers=headers) as http:
        async with Client(streamable_http_client(space.server.url + "/mcp", http_client=http), mode=mode) as client:
            yield client


def content(result) -> object:
    """The JSON that a tool answered as text."""
    assert result.is_error is False, result
    return json.loads(result.content[0].text)


def error_text(result) -> str:
    """What a tool said when it refused."""
    assert result.is_error is True, result
    return result.content[0].text


TYPED_TOOLS = {"list_predicates", "remember", "recall", "forget", "explain", "memory_history", "timeline", "diff"}
TEXT_TOOLS = {"remember", "recall", "forget", "history", "diff"}


async def test_initialize(any_space):
    async with connect(any_space) as client:
        assert client.server_info.name == "recall" and client.server_info.version
        assert client.server_capabilities.tools is not None
        assert client.instructions
        assert client.protocol_version in ("2025-06-18", "2025-11-25")


@pytest.mark.filterwarnings("ignore:ping is removed")
async def test_ping(any_space):
    async with connect(any_space) as client:
        await client.send_ping()


async def test_list(typed, text):
    for space, expected in ((typed, TYPED_TOOLS), (text, TEXT_TOOLS)):
        async with connect(space) as client:
            listed = await client.list_tools()
            assert listed.next_cursor is None
            tools = {tool.name: tool for tool in listed.tools}
            assert expected <= tools.keys()
            assert ("list_predicates" in tools, "memory_history" in tools) == (space is typed,) * 2
            assert all(tool.description and tool.input_schema["type"] == "object" for tool in listed.tools)
            assert tools["recall"].annotations.read_only_hint is True
            assert not (tools["remember"].annotations and tools["remember"].annotations.read_only_hint)


async def test_every_listed_tool_answers_a_good_and_a_bad_call(any_space):
    """doobidoo/mcp-memory-service#207: tools were advertised but broken."""
    pair = {"subject": "user", "predicate": "role"}
    good = {"list_predicates": {}, "explain": {"question": "role"}, "memory_history": pair, "timeline": pair, "diff": {"from": "2024-01-01T00:00:00Z"},
            "history": {"question": "role"}}
    is_text = "list_predicates" not in any_space.tools()
    good |= {"remember": {"text": "hello"}, "recall": {}} if is_text else {
        "remember": {**pair, "value": "pilot"}, "recall": {"subject": "user"}, "forget": {**pair, "value": "sailor"}}
    bad = {"list_predicates": None, "explain": {"question": ""}, "memory_history": {"subject": 5}, "timeline": {"subject": 5}, "diff": {"from": "never"},
           "history": {"question": ""}, "remember": {"text": ""}, "recall": {"as_of": "never"}, "forget": {"text": ""} if is_text else {"subject": "user"}}
    async with connect(any_space) as client:
        for tool in (await client.list_tools()).tools:
            if tool.name in good:
                content(await client.call_tool(tool.name, good[tool.name]))
            if bad.get(tool.name) is not None:
                assert error_text(await client.call_tool(tool.name, bad[tool.name]))


async def test_a_life_cycle_over_mcp_alone(belief_space):
    """qdrant/mcp-server-qdrant#69: write, read, correct, withdraw and look back, all as tools."""
    async with connect(belief_space) as client:
        async def call(tool: str, **arguments):
            return content(await client.call_tool(tool, arguments))
        pair = {"subject": "user", "predicate": "prefers_editor"}
        assert (await call("remember", **pair, value="vim"))["stored"]["value"] == "vim"
        assert (await call("remember", **pair, value="helix"))["superseded"][0]["value"] == "vim"
        assert [b["value"] for b in await call("recall", **pair)] == ["helix"]
        assert (await call("forget", **pair, value="helix")) == {"withdrawn": 1}
        assert await call("recall", **pair) == []
        assert [e["value"] for e in await call("memory_history", **pair)] == ["vim", "helix", "helix"]
        assert [s["change"] for s in (await call("timeline", **pair))["steps"]] == ["stated", "replaced", "withdrawn"]


async def test_text_tools(text):
    async with connect(text) as client:
        kept = content(await client.call_tool("remember", {"text": "My cat is called Figaro."}))
        assert kept["kept_as_text"] is True
        found = content(await client.call_tool("recall", {"question": "cat"}))
        assert [m["text"] for m in found["memories"]] == ["My cat is called Figaro."]


async def test_a_refusal_is_a_result(typed):
    async with connect(typed) as client:
        assert "no_such_predicate" in error_text(await client.call_tool("remember", {"subject": "user", "predicate": "no_such_predicate", "value": "x"}))
        assert content(await client.call_tool("recall", {"subject": "user"})) == []


async def test_an_unknown_tool(any_space):
    async with connect(any_space) as client:
        assert 'unknown memory tool "no_such_tool"' in error_text(await client.call_tool("no_such_tool", {}))


async def test_another_namespace_is_refused(any_space):
    async with connect(any_space) as client:
        assert error_text(await client.call_tool("recall", {"namespace": "elsewhere"})).startswith("namespace_mismatch:")


async def test_two_clients_at_once(any_space):
    async with connect(any_space) as one, connect(any_space) as other:
        arguments = {"text": "shared note"} if "list_predicates" not in any_space.tools() else {"subject": "user", "predicate": "note", "value": "shared note"}
        content(await one.call_tool("remember", arguments))
        read = {} if "text" in arguments else {"subject": "user"}
        assert "shared note" in json.dumps(content(await other.call_tool("recall", read)))


def modern(space: Space) -> None:
    """Skips, saying so, while the server does not answer server/discover with the modern revision."""
    meta = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
    reply = space.rpc("server/discover", {"_meta": meta}, **{"MCP-Protocol-Version": MODERN, "Mcp-Method": "server/discover"})
    versions = reply.json.get("result", {}).get("supportedVersions", []) if reply.status == 200 else []
    if MODERN not in versions:
        pytest.skip(f"this server does not offer MCP {MODERN} in server/discover; these tests wait for it")


@pytest.mark.ours
@pytest.mark.parametrize("mode", ["auto", MODERN])
async def test_modern_list_and_call(any_space, mode):
    modern(any_space)
    async with connect(any_space, mode) as client:
        assert client.protocol_version == MODERN
        listed = await client.list_tools()
        assert "remember" in {tool.name for tool in listed.tools}
        is_text = "list_predicates" not in {tool.name for tool in listed.tools}
        arguments = {"text": "a note"} if is_text else {"subject": "user", "predicate": "note", "value": "a note"}
        content(await client.call_tool("remember", arguments))
        assert "a note" in json.dumps(content(await client.call_tool("recall", {} if is_text else {"subject": "user"})))


@pytest.mark.ours
@pytest.mark.parametrize("mode", ["auto", MODERN])
async def test_modern_unknown_tool_is_an_error(any_space, mode):
    modern(any_space)
    async with connect(any_space, mode) as client:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("no_such_tool", {})
        assert raised.value.error.code == -32602


async def test_auto_falls_back_to_the_handshake_or_goes_modern(any_space):
    async with connect(any_space, "auto") as client:
        assert client.protocol_version in ("2025-06-18", "2025-11-25", MODERN)
        assert (await client.list_tools()).tools


AGENT = {"agent_id": "builder"}
ENTRY = {"subject": "user", "predicate": "role"}
# Calls by tool, in an order in which each succeeds and answers something.
TYPED_CALLS = [
    ("list_predicates", {}), ("remember", {**ENTRY, "value": "pilot"}), ("remember", {**ENTRY, "value": "pilot"}),
    ("remember", {**ENTRY, "value": "captain", "replaces": [{"predicate": "role", "value": "cook"}]}),
    ("remember", {"text": "I use helix now and live in Lisbon.", "statements": [
        {"subject": "user", "predicate": "prefers_editor", "value": "helix", "evidence": "I use helix now"},
        {"subject": "user", "predicate": "lives_in", "value": "Lisbon", "evidence": "live in Lisbon"}]}),
    ("remember", {"text": "Nothing to file.", "statements": []}),
    ("recall", {"subject": "user"}), ("recall", {"query": "editor", "with_sources": True}), ("recall", {"subject": "nobody"}),
    ("explain", {"question": "role"}), ("memory_history", ENTRY), ("memory_history", {**ENTRY, "subject": "nobody"}), ("timeline", ENTRY),
    ("timeline", {**ENTRY, "subject": "nobody"}), ("forget", {**ENTRY, "value": "captain"}), ("forget", {**ENTRY, "all": True}),
    ("diff", {"from": "2024-01-01T00:00:00Z"}),
]
TEXT_CALLS = [
    ("remember", {"text": "My cat is called Figaro."}), ("remember", {"text": "My cat is called Figaro."}),
    ("remember", {"messages": [{"role": "user", "content": "I moved to Lisbon."}]}), ("recall", {}), ("recall", {"question": "cat"}),
    ("recall", {"since": "2024-01-01T00:00:00Z"}), ("history", {"question": "cat"}), ("diff", {"from": "2024-01-01T00:00:00Z"}),
    ("forget", {"text": "My cat is called Figaro."}),
]
AGENT_CALLS = [
    ("agent_resume", {}), ("update_working_state", {"goal": "ship", "plan": ["a"], "step": 1}), ("agent_milestone", {"name": "half"}),
    ("record_turn", {"role": "user", "content": "go"}), ("record_turn", {"role": "tool", "content": "x " * 9000, "name": "cat", "message_id": "m1"}),
    ("recent_turns", {}), ("store_output", {"content": "long", "tool": "cat", "ref": "out"}), ("fetch_output", {"ref": "out"}),
    ("set_pointer", {"name": "code", "type": "git_ref", "fields": {"branch": "main"}}), ("list_pointers", {}), ("remove_pointer", {"name": "code"}),
    ("begin_action", {"tool": "deploy", "class": "external", "args": "{}"}), ("pending_actions", {}),
    ("end_action", {"seq": 1, "status": "done", "result": "ok"}), ("agent_context", {}), ("working_state_history", {}), ("agent_release", {}),
    ("agent_resume", {"defer_lease": True}), ("agent_acquire", {}), ("agent_release", {}),
]


@pytest.mark.ours
def test_every_answer_fits_its_output_schema(any_space):
    """Clients refuse a result that does not: each tool is called, and each kind of its answers checked."""
    tools = {tool["name"]: tool for tool in any_space.rpc("tools/list", {}).json["result"]["tools"]}
    calls = (TYPED_CALLS if "list_predicates" in tools else TEXT_CALLS) + [(tool, {**AGENT, **arguments}) for tool, arguments in AGENT_CALLS]
    for name, arguments in calls:
        result = any_space.rpc("tools/call", {"name": name, "arguments": arguments}).json["result"]
        assert result["isError"] is False, (name, arguments, result)
        jsonschema.Draft202012Validator(tools[name]["outputSchema"]).validate(result["structuredContent"])
        jsonschema.Draft202012Validator(tools[name]["inputSchema"]).validate(arguments)
        spoken = json.loads(result["content"][0]["text"])
        structured = {key: value for key, value in result["structuredContent"].items() if key != "coverage"}
        assert structured == (spoken if isinstance(spoken, dict) else {"result": spoken}), name
    assert {name for name, _ in calls} == tools.keys()


@pytest.mark.ours
def test_every_schema_is_one(any_space):
    for tool in any_space.rpc("tools/list", {}).json["result"]["tools"]:
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        jsonschema.Draft202012Validator.check_schema(tool["outputSchema"])
        assert tool["annotations"].keys() >= {"readOnlyHint", "openWorldHint"}
