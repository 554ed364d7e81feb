"""The official MCP Python SDK 2.3.0 works through `recall connect`, in each of its modes."""
from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from typing import AsyncIterator

import pytest
from mcp import MCPError, StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

import support

MODERN = "2026-07-28"
pytestmark = [pytest.mark.anyio, pytest.mark.ours]


@pytest.fixture
def anyio_backend() -> str:
    """The SDK is run on asyncio."""
    return "asyncio"


def program() -> str:
    """The `recall` under test."""
    try:
        return support.setting("RECALL_TEST_PROGRAM")
    except support.NotConfigured as missing:
        pytest.fail(str(missing), pytrace=False)


def environment(space: support.Space) -> dict[str, str]:
    """What tells the bridge its server and key."""
    return {"PATH": os.environ["PATH"], "RECALL_URL": space.server.url, "RECALL_API_KEY": space.key}


@contextlib.asynccontextmanager
async def connect(space: support.Space, mode: str) -> AsyncIterator[Client]:
    """An SDK client of the bridge."""
    parameters = StdioServerParameters(command=program(), args=["connect"], env=environment(space))
    async with Client(stdio_client(parameters), mode=mode) as client:
        yield client


@pytest.mark.parametrize("mode", ["legacy", "auto", MODERN])
async def test_a_session_through_the_bridge(text, mode):
    async with connect(text, mode) as client:
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else MODERN)
        assert "remember" in {tool.name for tool in (await client.list_tools()).tools}
        kept = await client.call_tool("remember", {"text": "My cat is called Figaro."})
        assert kept.is_error is False and kept.structured_content["kept_as_text"] is True
        found = await client.call_tool("recall", {"question": "cat"})
        assert found.structured_content["memories"][0]["text"] == "My cat is called Figaro."
        with pytest.raises(MCPError) as raised:
            await client.session.list_prompts()
        assert raised.value.error.code == -32601


@pytest.mark.parametrize("mode", ["auto", MODERN])
async def test_an_unknown_tool_through_the_bridge(text, mode):
    async with connect(text, mode) as client:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("no_such_tool", {})
        assert raised.value.error.code == -32602


def start(space: support.Space) -> subprocess.Popen[str]:
    """The bridge as a process of its own."""
    return subprocess.Popen([program(), "connect"], env=environment(space), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_hundred_calls_are_answered_by_id_and_the_end_is_quick(text):
    lines = [json.dumps({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "recall", "arguments": {}}}) for n in range(100)]
    bridge = start(text)
    bridge.stdin.write("\n".join(lines) + "\n")
    bridge.stdin.flush()
    answers = [json.loads(bridge.stdout.readline()) for _ in lines]
    assert sorted(answer["id"] for answer in answers) == list(range(100))
    assert all(answer["result"]["isError"] is False for answer in answers)
    ended = time.monotonic()
    bridge.stdin.close()
    assert bridge.wait(timeout=10) == 0
    assert time.monotonic() - ended < 2


def test_a_process_that_only_probes_ends_well_and_leaves_agents_alone(text):
    """The TypeScript client asks `server/discover` of a process of its own and ends it with SIGTERM."""
    assert text.call("agent_resume", agent_id="builder")["isError"] is False
    meta = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
    bridge = start(text)
    bridge.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}}) + "\n")
    bridge.stdin.flush()
    assert MODERN in json.loads(bridge.stdout.readline())["result"]["supportedVersions"]
    bridge.terminate()
    assert bridge.wait(timeout=10) == 0
    bridge.stdin.close()
    assert text.call("record_turn", agent_id="builder", role="user", content="still mine")["isError"] is False
