"""The older published Python client 0.16.0 works unchanged. Run with an environment made from requirements-016.txt."""
from __future__ import annotations

from datetime import datetime

import pytest
from polign_recall import Client, RecallError

from support import Space, instant


def connect(space: Space, **options) -> Client:
    return Client(url=space.server.url, api_key=space.key, timeout=30, **options)


def failing(code: str, call, *arguments, **named) -> None:
    """Runs a call that must fail with this code."""
    with pytest.raises(RecallError) as raised:
        call(*arguments, **named)
    assert raised.value.code == code, raised.value


def test_finds_out_what_the_server_serves(typed, open_, text):
    for space, is_text in ((typed, False), (open_, False), (text, True)):
        with connect(space) as client:
            assert client._text is is_text
            assert client.agent_enabled is ("agent_resume" in space.tools())
    with pytest.raises(ValueError):
        connect(typed, text=True)


def test_from_env_with_a_key(typed, plain_environment):
    plain_environment.setenv("RECALL_URL", typed.server.url)
    plain_environment.setenv("RECALL_API_KEY", typed.key)
    with Client.from_env() as client:
        assert client.recall("user") == []


def test_from_env_with_a_token_file(pod, plain_environment):
    url, token_file = pod
    plain_environment.setenv("RECALL_URL", url)
    plain_environment.setenv("RECALL_TOKEN_FILE", token_file)
    with Client.from_env() as client:
        client.remember("user", "uses_technology", "kubernetes")
        first = client._http._key
        client._http._expires_at = 0.0  # renewal of a pod's key is refused with 409, then the token is exchanged
        assert client.recall("user", "uses_technology")
        assert client._http._key != first


def test_codes_of_refusals(typed, tmp_path):
    failing("unauthenticated", Client, url=typed.server.url, api_key="rcl_0123456789abcdef_" + "A" * 32)
    failing("forbidden", Client, url=typed.server.url, api_key=typed.server.admin_key)
    failing("transport_error", Client, url="http://127.0.0.1:9", api_key="x", timeout=5)
    token = tmp_path / "token"
    token.write_text("any")
    failing("not_found", Client, url=typed.server.url, token_file=str(token))
    with connect(typed) as client:
        failing("tool_error", client.remember, "user", "no_such_predicate", "x")
        failing("tool_error", client.recall)
    client.close()
    failing("closed", client.recall, "user")


def test_beliefs(belief_space):
    with connect(belief_space) as client:
        old = client.remember("user", "prefers_editor", "vim", observed_at=instant(days=9))
        new = client.remember("user", "prefers_editor", "helix", kind="preference", confidence=0.5, source="tool_result")
        assert [b.event_id for b in new.superseded] == [old.stored.event_id]
        assert client.remember("user", "prefers_editor", "Helix").already_known
        [belief] = client.recall("user", "prefers_editor")
        assert (belief.value, belief.kind, belief.confidence, belief.source) == ("helix", "preference", 0.5, "tool_result")
        assert [p.value for p in belief.replaced] == ["vim"]
        assert [b.value for b in client.recall("user", "prefers_editor", as_of=instant(days=5))] == ["vim"]
        assert [b.value for b in client.recall(query="helix")][0] == "helix"
        with pytest.raises(ValueError):
            client.recall("user", as_of=datetime(2024, 1, 1))


def test_replaces_and_elsewhere(belief_space):
    with connect(belief_space) as client:
        client.remember("user", "role", "pilot")
        client.remember("user", "uses_technology", "pilot")
        [belief] = client.recall("user", "uses_technology")
        assert [p.predicate for p in belief.elsewhere] == ["role"]
        result = client.remember("user", "project_name", "x", replaces=[{"predicate": "role", "value": "pilot"}])
        assert [b.value for b in result.superseded] == ["pilot"]


def test_statements_from_a_text(belief_space):
    with connect(belief_space) as client:
        result = client.remember(text="I fly planes", statements=[{"subject": "user", "predicate": "role", "value": "pilot", "evidence": "I fly"}])
        assert [r.stored.value for r in result.results] == ["pilot"]
        [belief] = client.recall("user", "role", with_sources=True)
        assert (belief.evidence, belief.source_text) == ("I fly", "I fly planes")


def test_history_forget_and_predicates(belief_space):
    with connect(belief_space) as client:
        assert client.history("user", "role") == []
        client.remember("user", "role", "pilot")
        assert client.forget("user", "role", "PILOT") == 1
        assert client.forget("user", "role", all=True) == 0
        assert [(e.value, e.retraction) for e in client.history("user", "role")] == [("pilot", False), ("PILOT", True)]
        assert "prefers_editor" in {p["predicate"] for p in client.predicates()}


def test_text(text):
    with connect(text, text=True) as client:
        assert client.remember(text="My cat is called Figaro.", observed_at=instant(days=4)).kept_as_text
        first = client.ask("my cat")[0]
        assert (first.text, first.days_ago) == ("My cat is called Figaro.", 4)
        assert client.ask("my cat", as_of=instant(days=9)) == []
        failing("tool_error", client.forget_text, "whatever I said about pets")
        failing("tool_error", client.remember, text=" ")
        with pytest.raises(ValueError):
            client.recall("user")
