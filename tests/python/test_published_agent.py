"""The published client's agent methods: resume, actions, working state, turns, outputs, pointers."""
from __future__ import annotations

import secrets

import pytest
from polign_recall import ActionEnd, Client, RecallError

from support import Space


@pytest.fixture(params=("typed", "text"))
def space(request: pytest.FixtureRequest, servers) -> Space:
    """A fresh namespace on a server that serves the agent tools."""
    fresh = servers[request.param].space()
    if "agent_resume" not in fresh.tools():
        pytest.skip("this server lists no agent_resume: resuming agents is not built yet, and these tests wait for it")
    return fresh


def connect(space: Space, session: str | None = None) -> Client:
    """A client whose key carries a session, as a pod's key does."""
    fields = {"session": session} if session else {}
    key = space.server.mint(namespace=space.namespace, **fields)["key"]
    return Client(url=space.server.url, api_key=key, timeout=30, agent=True)


def agent_name() -> str:
    return "coder-" + secrets.token_hex(4)


def failing(code: str, call, *arguments, **named) -> RecallError:
    with pytest.raises(RecallError) as raised:
        call(*arguments, **named)
    assert raised.value.code == code, raised.value
    return raised.value


def test_the_first_resume_is_fresh(space):
    with connect(space) as client, client.resume(agent_name(), token_budget=500) as agent:
        context = agent.context
        assert (context.fresh, context.lease_held, context.token_budget, context.turn_seq) == (True, True, 500, 0)
        assert context.epoch >= 1
        assert agent.agent_id in context.briefing
        assert context.omitted == {"turns": 0, "memories": 0, "outputs": 0}
        assert context.working_state is None and context.recent_turns == () and context.pending_actions == ()


def test_a_second_resume_finds_what_the_first_left(space):
    name = agent_name()
    with connect(space) as client:
        with client.resume(name) as agent:
            first = agent.context.epoch
            agent.record_turn("user", "please fix the build")
            agent.update_working_state(goal="fix the build", plan=["look", "fix"])
        with client.resume(name) as agent:
            context = agent.context
            assert not context.fresh and context.epoch > first
            assert [t.content for t in context.recent_turns] == ["please fix the build"]
            assert (context.working_state.goal, context.working_state.plan) == ("fix the build", ("look", "fix"))
            assert context.turn_seq == 1 and "fix the build" in context.briefing


def test_resuming_twice_in_one_session_is_refused(space):
    name = agent_name()
    with connect(space, "s1") as client, client.resume(name):
        error = failing("tool_error", client.resume, name)
        assert "agent_release" in str(error)


def test_tools_before_resume_are_refused(space):
    with connect(space) as client:
        failing("tool_error", client._tool, "record_turn", {"agent_id": agent_name(), "role": "user", "content": "x"})


def test_another_session_takes_over_and_the_old_one_learns_it(space):
    name = agent_name()
    with connect(space, "pod-1") as first, connect(space, "pod-2") as second:
        old = first.resume(name)
        new = second.resume(name)
        assert new.context.epoch > old.context.epoch
        new.record_turn("user", "from the new one")
        with pytest.raises(RecallError):
            old.record_turn("user", "from the old one")
        assert [t.content for t in new.recent_turns()] == ["from the new one"]
        new.release()


def test_releasing(space):
    name = agent_name()
    with connect(space) as client:
        agent = client.resume(name)
        assert agent.release() is True
        assert agent.release() is False
        client.resume(name).release()
    assert agent.release() is False  # the client is closed


def test_deferred_resume_reads_but_does_not_write(space):
    name = agent_name()
    with connect(space) as client:
        agent = client.resume(name, defer_lease=True)
        assert (agent.lease_held, agent.context.lease_held, agent.context.epoch) == (False, False, 0)
        assert agent.recent_turns() == []
        failing("lease_not_held", agent.record_turn, "user", "x")
        assert agent.acquire() is True and agent.lease_held
        assert agent.acquire() is True
        assert agent.record_turn("user", "x").seq == 1
        agent.release()


def test_lease_arguments(space):
    with connect(space) as client:
        for ttl in (0, -1, float("nan")):
            with pytest.raises(ValueError):
                client.resume(agent_name(), lease_ttl=ttl)
        with client.resume(agent_name(), lease_ttl=30.5, holder="laptop", output_threshold=10) as agent:
            assert agent.lease_held
        failing("tool_error", client.resume, "not a name!")
        failing("tool_error", client.resume, agent_name(), token_budget=-1)


def test_an_agent_bound_key_is_that_agent_only(space):
    key = space.server.mint(namespace=space.namespace, agent="bound")["key"]
    with Client(url=space.server.url, api_key=key) as client:
        client.resume("bound").release()
        error = failing("tool_error", client.resume, "other")
        assert str(error).startswith("namespace_mismatch:")


def test_working_state(space):
    with connect(space) as client, client.resume(agent_name()) as agent:
        first = agent.update_working_state(goal="g", decisions=("d",), step=1)
        assert (first.version, first.goal, first.decisions, first.step) == (1, "g", ("d",), 1)
        second = agent.update_working_state(progress="half")
        assert (second.version, second.goal, second.progress) == (2, "g", "half")
        cleared = agent.update_working_state(goal="", decisions=[])
        assert (cleared.goal, cleared.decisions, cleared.progress) == ("", (), "half")
        reached = agent.milestone("halfway", "half done")
        assert (reached.last_milestone, reached.progress) == ("halfway", "half done")
        assert [w.version for w in agent.working_state_history(limit=2)] == [reached.version, cleared.version]
        failing("tool_error", agent.update_working_state, bogus="x")
        failing("tool_error", agent.milestone, " ")


def test_turns(space):
    with connect(space) as client, client.resume(agent_name()) as agent:
        turn = agent.record_turn("tool", "listing", name="ls", message_id="m1", brief="ls")
        assert (turn.seq, turn.role, turn.name, turn.message_id, turn.brief) == (1, "tool", "ls", "m1", "ls")
        for number in range(24):
            agent.record_turn("assistant", f"turn {number}")
        assert [t.seq for t in agent.recent_turns()] == list(range(6, 26))
        assert [t.content for t in agent.recent_turns(limit=2)] == ["turn 22", "turn 23"]
        failing("tool_error", agent.record_turn, "robot", "x")
        failing("tool_error", agent.record_turn, "user", "x", message_id="m" * 257)
        failing("tool_error", agent.record_turn, "user", "x", brief="b" * 4097)


def test_a_long_turn_is_stored_as_an_output(space):
    with connect(space) as client, client.resume(agent_name(), output_threshold=10) as agent:
        whole = "word " * 500
        turn = agent.record_turn("tool", whole)
        assert turn.output_ref and len(turn.content) < len(whole)
        assert agent.fetch_output(turn.output_ref).content == whole


def test_outputs(space):
    with connect(space) as client, client.resume(agent_name()) as agent:
        ref = agent.store_output("a long listing", tool="ls", summary="listing", ref="out.1")
        assert (ref.ref, ref.tool, ref.summary) == ("out.1", "ls", "listing")
        assert agent.fetch_output("out.1").content == "a long listing"
        agent.store_output("newer", ref="out.1")
        assert agent.fetch_output("out.1").content == "newer"
        assert agent.store_output("x").ref != agent.store_output("y").ref
        failing("tool_error", agent.fetch_output, "absent")
        failing("tool_error", agent.store_output, "x" * (1024 * 1024 + 1))


def test_pointers(space):
    with connect(space) as client, client.resume(agent_name()) as agent:
        agent.set_pointer("work", "git_ref", {"branch": "fix"}, note="where the fix is")
        agent.set_pointer("image", "env", {"image": "x:1"})
        assert [p.name for p in agent.pointers()] == ["image", "work"]
        agent.set_pointer("work", "git_ref", {"sha": "abc"})
        assert dict(agent.pointers()[1].fields) == {"sha": "abc"}
        agent.remove_pointer("work")
        agent.remove_pointer("work")
        assert [p.name for p in agent.pointers()] == ["image"]
        failing("tool_error", agent.set_pointer, "bad", "git_ref", {"colour": "red"})
        failing("tool_error", agent.set_pointer, "bad", "planet", {"sha": "x"})


def test_actions(space):
    with connect(space) as client, client.resume(agent_name()) as agent:
        one = agent.begin_action("deploy", "idempotent", {"to": "staging"})
        two = agent.begin_action("deploy", "idempotent", {"to": "staging"})
        assert one.open and len(one.key) == 32 and one.key != two.key
        assert [a.seq for a in agent.pending_actions()] == [one.seq, two.seq]
        ended = agent.end_action(one.seq, "done", result={"ok": True})
        assert (ended.status, ended.result, ended.open) == ("done", '{"ok": true}', False)
        unknown = agent.end_action(two.seq, "unknown", resolution="cannot tell")
        assert unknown.open and [a.seq for a in agent.pending_actions()] == [two.seq]
        failing("tool_error", agent.end_action, one.seq, "done")
        failing("tool_error", agent.end_action, 999, "done")
        with pytest.raises(ValueError):
            agent.begin_action("x", "harmless")


def test_half_finished_actions_are_settled_by_their_class(space):
    name = agent_name()
    with connect(space, "pod-1") as first, connect(space, "pod-2") as second:
        old = first.resume(name)
        classes = ("pure", "idempotent", "external")
        for class_ in classes:
            old.begin_action("tool-" + class_, class_)
        agent = second.resume(name)
        assert {a.class_ for a in agent.context.pending_actions} >= {"idempotent", "external"}
        assert {a.class_: a.status for a in agent.pending_actions()} == {"idempotent": "started", "external": "unknown"}
        report = agent.reconcile(lambda action: ActionEnd("done", result="again") if action.class_ == "idempotent" else None)
        assert [a.class_ for a in report.closed] == ["idempotent"]
        assert [a.class_ for a in report.open] == ["external"]
        assert [t.role for t in agent.recent_turns()] == ["tool"]
        agent.release()


def test_the_briefing_fits_its_budget(space):
    name = agent_name()
    with connect(space) as client:
        with client.resume(name) as agent:
            for number in range(30):
                agent.record_turn("assistant", f"turn {number} " + "word " * 40)
        with client.resume(name, token_budget=400) as agent:
            assert agent.context.tokens <= 400
            assert agent.context.omitted["turns"] > 0
            assert agent.context.recent_turns[-1].content.startswith("turn 29")


def test_a_closed_http_client_leaves_the_agent_held(space):
    name = agent_name()
    with connect(space, "pod-1") as client:
        client.resume(name)
    with connect(space, "pod-1") as client:
        failing("tool_error", client.resume, name)
        client._tool("agent_release", {"agent_id": name})
        client.resume(name).release()
