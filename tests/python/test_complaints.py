"""Faults that users of other memory servers reported in public. Each test is named after its fault; its line says where it was seen."""
from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import Space, instant

PAIR = {"subject": "user", "predicate": "uses_technology"}
EDITOR = {"subject": "user", "predicate": "prefers_editor"}


def values(space: Space, **arguments) -> list:
    return [belief["value"] for belief in space.ok("recall", limit=1000, **arguments)]


def test_forgetting_in_one_namespace_empties_another(belief_space):
    """mem0ai/mem0#3746, #3928."""
    other = belief_space.server.space()
    for space in (belief_space, other):
        for value in ("rust", "go", "zig"):
            space.ok("remember", **PAIR, value=value)
    before = other.post("history", PAIR).body
    assert belief_space.ok("forget", **PAIR) == {"withdrawn": 3}
    assert values(other, **PAIR) == ["rust", "go", "zig"]
    assert other.post("history", PAIR).body == before


def test_a_forgotten_fact_still_turns_up(belief_space):
    """mem0ai/mem0#3695."""
    belief_space.ok("remember", **EDITOR, value="helixcanary")
    belief_space.ok("remember", **PAIR, value="rust")
    belief_space.ok("forget", **EDITOR, value="helixcanary")
    for arguments in ({"query": "helixcanary"}, {"subject": "user"}, {"predicate": "prefers_editor"}, EDITOR, {"subject": "user", "query": "helixcanary"}):
        assert "helixcanary" not in belief_space.post("recall", arguments).body.decode()
        assert "helixcanary" not in belief_space.call("recall", **arguments)["content"][0]["text"]
    assert "helixcanary" not in belief_space.post("explain", {"question": "helixcanary"}).body.decode()
    related = belief_space.ok("remember", **PAIR, value="go").get("related", [])
    assert "helixcanary" not in json.dumps(related)


@pytest.mark.ours
def test_a_forgotten_text_still_turns_up(text):
    """mem0ai/mem0#3695, text tools."""
    text.ok("remember", text="My cat is called Figaro.")
    text.ok("forget", text="My cat is called Figaro.")
    for arguments in ({}, {"question": "cat"}, {"since": instant(days=1)}):
        assert text.ok("recall", **arguments) == {"memories": []}


def test_every_time_ends_in_z(belief_space):
    """mem0ai/mem0#4402, #3137."""
    belief_space.ok("remember", **EDITOR, value="vim", observed_at="2024-03-10T02:00:00Z")
    belief_space.ok("remember", **EDITOR, value="helix")
    bodies = [belief_space.post(operation, EDITOR).json for operation in ("recall", "history", "timeline")]
    found: list[str] = []

    def collect(value) -> None:
        if isinstance(value, dict):
            found.extend(v for k, v in value.items() if k in ("observed_at", "at", "recorded_at", "stated_at"))
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            collect(item)

    collect(bodies)
    assert len(found) >= 6 and all(time.endswith("Z") for time in found)
    assert [e["observed_at"] for e in bodies[1]][0] == "2024-03-10T02:00:00Z"


def test_a_day_shifts_in_another_time_zone(text):
    """mem0ai/mem0#4402: asked since the start of that UTC day, the note is included and dated that day."""
    text.ok("remember", text="written at two", observed_at="2024-03-10T02:00:00Z")
    [memory] = text.ok("recall", since="2024-03-10T00:00:00Z")["memories"]
    assert memory["since"] == "2024-03-10"


def test_unrelated_facts_retire_each_other(belief_space):
    """getzep/graphiti#1728."""
    for number in range(200):
        belief_space.ok("remember", subject=f"person {number}", predicate="role", value=f"role {number}")
    result = belief_space.ok("remember", subject="person 7", predicate="role", value="retired")
    assert [b["value"] for b in result["superseded"]] == ["role 7"]
    current = values(belief_space, predicate="role")
    assert len(current) == 200 and "retired" in current and "role 7" not in current


def test_superseded_facts_crowd_out_the_current_one(belief_space):
    """getzep/graphiti PR 1804, mem0 2.2.1."""
    for number in range(100):
        belief_space.ok("remember", **EDITOR, value=f"editor number {number}", observed_at=instant(hours=500 - number))
    for number in range(20):
        belief_space.ok("remember", **PAIR, value=f"tool number {number}")
    rows = belief_space.ok("recall", query="editor number", limit=20)
    assert "editor number 99" in [row["value"] for row in rows[:3]]
    assert not [row for row in rows if row["predicate"] == "prefers_editor" and row["value"] != "editor number 99"]


def test_a_second_period_of_the_same_value_is_lost(belief_space):
    """getzep/graphiti#1865: stated, withdrawn, stated again: two intervals with a gap."""
    belief_space.ok("remember", **EDITOR, value="vim", observed_at=instant(days=9))
    belief_space.ok("forget", **EDITOR, value="vim")
    assert values(belief_space, **EDITOR) == []
    gap = belief_space.ok("history", **EDITOR)[-1]["observed_at"]
    belief_space.ok("remember", **EDITOR, value="vim")
    assert values(belief_space, **EDITOR) == ["vim"]
    assert values(belief_space, **EDITOR, as_of=gap) == []
    assert values(belief_space, **EDITOR, as_of=instant(days=1)) == ["vim"]
    assert [s["change"] for s in belief_space.ok("timeline", **EDITOR)["steps"]] == ["stated", "withdrawn", "stated"]


def test_a_name_with_a_wildcard_reads_its_neighbours(typed):
    """langchain-ai/langgraph#8300."""
    tag = typed.namespace
    spaces = [typed.server.space(namespace=name.replace("TAG", tag)) for name in ("TAGa_b", "TAGaXb", "TAGa", "TAGa:b", "TAGA_B", "TAGa.b", "TAGa-b")]
    for space in spaces:
        space.ok("remember", **PAIR, value=space.namespace)
    for space in spaces:
        assert values(space, subject="user") == [space.namespace]
        assert values(space, query="user technology") == [space.namespace]


def test_a_subject_with_a_wildcard_matches_others(typed):
    """langchain-ai/langgraph#8300, one level down."""
    for subject in ("a_b", "axb", "a%", "ab", "a*b", "a.b"):
        typed.ok("remember", subject=subject, predicate="role", value=f"of {subject}")
    for subject in ("a_b", "axb", "a%", "ab", "a*b", "a.b"):
        assert values(typed, subject=subject) == [f"of {subject}"]


def test_another_tenant_is_named_in_the_request(any_space):
    """topoteretes/cognee#3520: body and argument refused, header and query string without effect, path unknown; no byte of the other."""
    other = any_space.server.space()
    is_text = "list_predicates" not in any_space.tools()
    canary = "othertenantcanary"
    other.ok("remember", **({"text": canary} if is_text else {**PAIR, "value": canary}))
    read = {} if is_text else {"subject": "user"}
    replies = [
        any_space.post("recall", {**read, "namespace": other.namespace}),
        any_space.post("recall", read, **{"X-Recall-Namespace": other.namespace, "X-Tenant": other.namespace}),
        any_space.server.send("POST", f"/v1/recall?namespace={other.namespace}", read, any_space.key),
        any_space.server.send("POST", f"/v1/{other.namespace}/recall", read, any_space.key),
        any_space.rpc("tools/call", {"name": "recall", "arguments": {**read, "namespace": other.namespace}}),
    ]
    assert [reply.status for reply in replies] == [403, 200, 200, 404, 200]
    assert all(canary not in reply.body.decode() for reply in replies)


def test_a_canary_of_another_namespace_is_in_no_answer(belief_space):
    """getzep/graphiti#632: the filter covered some reads only."""
    other = belief_space.server.space()
    other.ok("remember", **PAIR, value="plantedcanary")
    other.ok("remember", subject="user", predicate="note", value="plantedcanary in a note")
    belief_space.ok("remember", **PAIR, value="rust")
    asked = {"recall": {"query": "plantedcanary"}, "history": PAIR, "timeline": PAIR, "diff": {"from": "2024-01-01T00:00:00Z"},
             "explain": {"question": "plantedcanary"}, "predicates": {}, "remember": {**PAIR, "value": "go"}}
    for operation, arguments in asked.items():
        assert "plantedcanary" not in belief_space.post(operation, arguments).body.decode(), operation
        tool = {"history": "memory_history", "predicates": "list_predicates"}.get(operation, operation)
        assert "plantedcanary" not in json.dumps(belief_space.call(tool, **arguments)), tool
    assert "plantedcanary" not in belief_space.rpc("initialize", {}).body.decode()


@pytest.mark.ours
def test_parallel_writes_of_the_same_fact_are_stored_many_times(belief_space):
    """mem0 2.2.1 (qdrant local): eight identical writes make one event."""
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: belief_space.ok("remember", **PAIR, value="rust"), range(8)))
    assert len(belief_space.ok("history", **PAIR)) == 1
    assert sum(bool(result.get("already_known")) for result in results) == 7
    assert len({result["stored"]["event_id"] for result in results}) == 1


def test_parallel_writes_report_success_and_are_lost(belief_space):
    """vectorize-io/hindsight PR 3395, @modelcontextprotocol/server-memory: every acknowledged fact is there."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: belief_space.ok("remember", subject="user", predicate="note", value=f"note {n}"), range(160)))
    assert sorted(values(belief_space, subject="user")) == sorted(f"note {n}" for n in range(160))


def test_parallel_corrections_leave_two_current_values(belief_space):
    """A single-valued predicate has one current value whatever the order of the writers."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: belief_space.ok("remember", **EDITOR, value=f"editor {n}"), range(40)))
    assert len(values(belief_space, **EDITOR)) == 1
    assert len({event["value"] for event in belief_space.ok("history", **EDITOR)}) == 40


def test_parallel_tool_calls_break_the_answers(belief_space):
    """modelcontextprotocol/servers#1819: every answer has the id of its request."""
    def call(number: int) -> bool:
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call",
                   "params": {"name": "remember", "arguments": {"subject": f"s{number}", "predicate": "role", "value": f"v{number}"}}}
        reply = belief_space.server.send("POST", "/mcp", message, belief_space.key).json
        return reply["id"] == number and json.loads(reply["result"]["content"][0]["text"])["stored"]["value"] == f"v{number}"
    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(call, range(50)))


def test_a_write_is_not_found_by_the_next_read(any_space):
    """redis/agent-memory-server#8, basic-memory 0.24.1: what is acknowledged is found by the very next call."""
    is_text = "list_predicates" not in any_space.tools()
    for number in range(30):
        word = f"uniqueword{number}x"
        any_space.ok("remember", **({"text": f"about {word}"} if is_text else {**PAIR, "value": word}))
        found = any_space.post("recall", {"question": word} if is_text else {"query": word})
        assert word in found.body.decode()


SCRIPTS = [("来週の会議は東京本社で行われます。資料は田中さんが準備します。", "会議"), ("我们下周在北京开会，讨论新的数据库设计。", "数据"),
           ("회의는 다음 주 서울 본사에서 열립니다.", "회의"), ("การประชุมจัดขึ้นที่กรุงเทพฯ สัปดาห์หน้า", "ประชุม"), ("سيعقد الاجتماع في القاهرة الأسبوع المقبل", "الاجتماع"),
           ("बैठक अगले सप्ताह दिल्ली में होगी", "बैठक"), ("Die Straße nach Zürich ist gesperrt", "zürich"), ("Le café est à côté de l'hôtel", "hotel"),
           ("Совещание состоится в Москве", "совещание")]


@pytest.mark.ours
@pytest.mark.parametrize(("paragraph", "word"), SCRIPTS, ids=lambda value: value[:8])
def test_a_word_of_another_script_is_not_found(text, paragraph, word):
    """basicmachines-co/basic-memory#1022, google/adk-python#5601."""
    for number in range(30):
        text.ok("remember", text=f"filler number {number} about something else")
    text.ok("remember", text=paragraph)
    assert text.ok("recall", question=word)["memories"][0]["text"] == paragraph


def test_stating_the_same_again_deletes_it(belief_space):
    """mem0ai/mem0#1674."""
    results = [belief_space.ok("remember", **PAIR, value="rust") for _ in range(10)]
    assert [bool(r.get("already_known")) for r in results] == [False] + [True] * 9
    assert values(belief_space, **PAIR) == ["rust"]
    assert len(belief_space.ok("history", **PAIR)) == 1


def test_the_time_of_an_import_is_overwritten(belief_space):
    """mem0ai/mem0 PR 4499."""
    moment = "2023-05-20T02:21:00Z"
    assert belief_space.ok("remember", **PAIR, value="rust", observed_at=moment)["stored"]["observed_at"] == moment
    assert belief_space.ok("recall", **PAIR)[0]["observed_at"] == moment


def test_overwriting_loses_the_old_value_and_its_time(belief_space):
    """langchain-ai/langmem#180."""
    belief_space.ok("remember", **EDITOR, value="vim", observed_at="2024-01-01T00:00:00Z")
    belief_space.ok("remember", **EDITOR, value="helix", observed_at="2024-02-01T00:00:00Z")
    assert [(e["value"], e["observed_at"]) for e in belief_space.ok("history", **EDITOR)] == [
        ("vim", "2024-01-01T00:00:00Z"), ("helix", "2024-02-01T00:00:00Z")]
    [belief] = belief_space.ok("recall", **EDITOR)
    assert (belief["replaced"][0]["value"], belief["replaced"][0]["observed_at"]) == ("vim", "2024-01-01T00:00:00Z")


def test_one_memory_cannot_be_forgotten_alone(belief_space):
    """vectorize-io/hindsight#2523."""
    for value in ("rust", "go", "zig"):
        belief_space.ok("remember", **PAIR, value=value)
    assert belief_space.ok("forget", **PAIR, value="go") == {"withdrawn": 1}
    assert belief_space.ok("forget", **PAIR, value="go") == {"withdrawn": 0}
    assert json.loads(belief_space.call("forget", **PAIR, value="zig")["content"][0]["text"]) == {"withdrawn": 1}
    assert values(belief_space, **PAIR) == ["rust"]


def test_a_page_has_no_ceiling(typed):
    """basicmachines-co/basic-memory#1296."""
    reply = typed.post("recall", {"subject": "user", "limit": 10**9})
    assert reply.status == 400 and "1000" in reply.message.replace(",", "")


def test_a_correction_is_not_seen_in_an_open_conversation(belief_space):
    """letta-ai/letta#3233: another key's correction is in the next answer."""
    second = Space(belief_space.server, belief_space.server.mint(namespace=belief_space.namespace)["key"], belief_space.namespace)
    belief_space.ok("remember", **EDITOR, value="vim")
    assert values(second, **EDITOR) == ["vim"]
    second.ok("remember", **EDITOR, value="helix")
    assert values(belief_space, **EDITOR) == ["helix"]


def test_an_unregistered_name_is_accepted_and_lost(typed):
    """MemTensor/MemOS#1681."""
    reply = typed.post("remember", {"subject": "user", "predicate": "no_such_predicate", "value": "x"})
    assert (reply.status, reply.code) == (400, "tool_error")
    assert "no_such_predicate" in reply.message and "note" in reply.message
    assert typed.ok("recall", subject="user") == []


def test_many_facts_make_an_answer_without_end(belief_space):
    """modelcontextprotocol/servers#3953: defaults give at most twenty."""
    for number in range(40):
        belief_space.ok("remember", subject="user", predicate="note", value=f"note {number}")
    for arguments in ({"subject": "user"}, {"predicate": "note"}, {"query": "note"}):
        assert len(belief_space.ok("recall", **arguments)) <= 20


def test_forgetting_many_takes_minutes(belief_space):
    """MemTensor/MemOS#1103, in small: all are gone with one call, and only one event was written."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: belief_space.ok("remember", **PAIR, value=f"value {n}"), range(200)))
    assert belief_space.ok("forget", **PAIR) == {"withdrawn": 200}
    assert values(belief_space, **PAIR) == []
    assert len(belief_space.ok("history", **PAIR)) == 201


def test_no_input_makes_a_call_hang(any_space):
    """basic-memory 0.24.1: a lone surrogate hung the call for two minutes; here each is answered, and quickly enough for the client's limit."""
    for body in (b'{"text":"\\ud800"}', b'{"question":"\\ud800"}', b'{"query":"\\ud800"}', b'{"query":"' + b"a " * 2_000 + b'"}'):
        for operation in ("remember", "recall"):
            assert any_space.post(operation, body).status < 500


def key_of(space, **fields) -> Space:
    """Another key of the same namespace."""
    return Space(space.server, space.server.mint(namespace=space.namespace, **fields)["key"], space.namespace)


def tool(space, name: str, /, **arguments):
    """What an agent tool answers, which must succeed."""
    result = space.call(name, agent_id="coder", **arguments)
    assert result["isError"] is False, (name, arguments, result)
    return json.loads(result["content"][0]["text"])


def refusal(space, name: str, /, **arguments) -> str:
    """The words with which an agent tool refuses."""
    result = space.call(name, agent_id="coder", **arguments)
    assert result["isError"] is True, (name, arguments, result)
    return result["content"][0]["text"]


def turn(content: str, **more) -> dict:
    return {"role": "user", "content": content, **more}


# Whose session may do what differs from the published server (docs/resume.md).
@pytest.fixture(params=[pytest.param(surface, marks=pytest.mark.ours) for surface in ("typed", "text")])
def agents(request: pytest.FixtureRequest, servers) -> Space:
    """A fresh namespace on each surface with agent tools by turns."""
    return servers[request.param].space()


def test_a_resumed_run_repeats_its_side_effects(agents):
    """langchain-ai/langgraph#6577, #6208: an external action that a crash cut off is listed as unknown, and nothing says to run it again."""
    first, second = key_of(agents, session="pod-1"), key_of(agents, session="pod-2")
    tool(first, "agent_resume")
    begun = tool(first, "begin_action", tool="send_mail", **{"class": "external"}, args="to ada")
    context = tool(second, "agent_resume")
    [action] = context["pending_actions"]
    assert (action["seq"], action["status"], action["key"]) == (begun["seq"], "unknown", begun["key"])
    assert "send_mail" in context["briefing"] and "do not run it again" in context["briefing"].lower()
    assert "lease was lost" in refusal(first, "end_action", seq=begun["seq"], status="done")
    ended = tool(second, "end_action", seq=begun["seq"], status="done", resolution="found in the outbox")
    assert ended["status"] == "done" and tool(second, "pending_actions") == []


def test_a_recoverer_with_a_stale_view_runs_what_it_no_longer_owns(agents):
    """dbos-inc/dbos-transact-py#742: every kind of write of a replaced owner is refused, and readers see its successor's alone."""
    old, new = key_of(agents, session="a"), key_of(agents, session="b")
    first = tool(old, "agent_resume")["epoch"]
    tool(old, "record_turn", **turn("old"))
    assert tool(new, "agent_resume")["epoch"] > first
    tool(new, "record_turn", **turn("new"))
    for name, arguments in (
        ("record_turn", turn("late")),
        ("update_working_state", {"goal": "late"}),
        ("agent_milestone", {"name": "late"}),
        ("store_output", {"content": "late"}),
        ("set_pointer", {"name": "late", "type": "object", "fields": {"uri": "file:///late"}}),
        ("begin_action", {"tool": "late", "class": "external"}),
    ):
        assert "lease was lost" in refusal(old, name, **arguments), name
    assert "late" not in json.dumps(tool(new, "agent_context"))
    assert [each["content"] for each in tool(agents, "recent_turns")] == ["old", "new"]


def test_recovery_adopts_what_the_same_holder_is_running(agents):
    """dbos-inc/dbos-transact-java#491: the same holder resumes many times at once and is one owner with one epoch."""
    with ThreadPoolExecutor(8) as pool:
        contexts = list(pool.map(lambda _: tool(agents, "agent_resume"), range(8)))
    assert len({context["epoch"] for context in contexts}) == 1, contexts
    named = key_of(agents, session="one")
    tool(agents, "agent_release")
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: named.call("agent_resume", agent_id="coder"), range(8)))
    texts = [result["content"][0]["text"] for result in results if result["isError"]]
    assert len(texts) == 7 and all("call agent_release first" in text for text in texts), results


def test_parallel_appends_report_success_and_overwrite_each_other(agents):
    """vectorize-io/hindsight PR 3395: twenty at once are twenty turns without a gap; one message sent by all is one."""
    tool(agents, "agent_resume")
    with ThreadPoolExecutor(20) as pool:
        turns = list(pool.map(lambda n: tool(agents, "record_turn", **turn(f"turn {n}")), range(20)))
        same = list(pool.map(lambda _: tool(agents, "record_turn", **turn("once", message_id="m")), range(20)))
    assert sorted(each["seq"] for each in turns) == list(range(1, 21))
    assert {each["seq"] for each in same} == {21}
    kept = {each["seq"]: each["content"] for each in tool(agents, "recent_turns", limit=100)}
    assert kept == {each["seq"]: each["content"] for each in turns} | {21: "once"}


def test_parallel_updates_of_the_working_state_lose_some(agents):
    """vectorize-io/hindsight PR 3395, one object further: updates of different fields at once are all kept, each a version."""
    tool(agents, "agent_resume")
    fields = {name: f"the {name}" for name in ("goal", "progress", "focus", "notes")}
    with ThreadPoolExecutor(4) as pool:
        states = list(pool.map(lambda item: tool(agents, "update_working_state", **dict([item])), fields.items()))
    assert sorted(state["version"] for state in states) == [1, 2, 3, 4]
    state = tool(agents, "agent_context")["working_state"]
    assert {name: state[name] for name in fields} == fields


def test_two_ends_of_one_action_both_win(agents):
    """Two processes of one pod end the same action at once: one is acknowledged, and that is what stays."""
    tool(agents, "agent_resume")
    seq = tool(agents, "begin_action", tool="deploy", **{"class": "external"})["seq"]
    end = lambda n: agents.call("end_action", agent_id="coder", seq=seq, status=("done", "failed")[n % 2], result=str(n))
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(end, range(6)))
    won = [json.loads(r["content"][0]["text"]) for r in results if not r["isError"]]
    assert len(won) == 1, results
    assert all("has ended already" in r["content"][0]["text"] for r in results if r["isError"]), results


def test_an_abandoned_action_blocks_those_behind_it(agents):
    """dbos-inc/dbos-transact-py#805."""
    tool(agents, "agent_resume")
    tool(agents, "begin_action", tool="stuck", **{"class": "external"})
    for n in range(5):
        seq = tool(agents, "begin_action", tool=f"next-{n}", **{"class": "pure"})["seq"]
        assert tool(agents, "end_action", seq=seq, status="done")["status"] == "done"
    assert [action["tool"] for action in tool(agents, "pending_actions")] == ["stuck"]


def test_looking_before_taking_over_changes_something(agents):
    """restatedev/restate#4312: a resume without the lease leaves the agent as it is, for its owner and for an operator."""
    owner, looker = key_of(agents, session="a"), key_of(agents, session="b")
    tool(owner, "agent_resume")
    tool(owner, "record_turn", **turn("half done"))
    tool(owner, "begin_action", tool="deploy", **{"class": "external"})

    def everything():
        seen = agents.server.send("GET", f"/v1/agents/coder?namespace={agents.namespace}", key=agents.server.admin_key)
        assert seen.status == 200, seen.body
        lease = {name: value for name, value in seen.json["lease"].items() if name != "expires_at"}
        return {**seen.json, "lease": lease}

    before = everything()
    context = tool(looker, "agent_resume", defer_lease=True)
    assert context["lease_held"] is False and context["held_by"], context
    assert context["recent_turns"][0]["content"] == "half done"
    assert "lease not acquired" in refusal(looker, "record_turn", **turn("mine"))
    assert everything() == before
    assert tool(owner, "record_turn", **turn("done"))["seq"] == 2


def test_the_second_resume_loses_what_was_kept(agents):
    """e2b-dev/E2B#884, #736, #582: ten rounds of crash and resume, one record each, all there in order."""
    for n in range(10):
        process = key_of(agents, session=f"pod-{n}")
        context = tool(process, "agent_resume")
        assert context["turn_seq"] == n and context["fresh"] is (n == 0)
        tool(process, "record_turn", **turn(f"round {n}"))
        tool(process, "store_output", content=f"output of round {n}")
    kept = tool(agents, "recent_turns", limit=100)
    assert [(each["seq"], each["content"]) for each in kept] == [(n + 1, f"round {n}") for n in range(10)]
    context = tool(key_of(agents, session="last"), "agent_resume")
    references = [output["ref"] for output in context["outputs"]]
    assert len(references) == len(set(references)) == 10, references
    contents = {tool(agents, "fetch_output", ref=reference)["content"] for reference in references}
    assert contents == {f"output of round {n}" for n in range(10)}


def test_a_forgotten_fact_stays_in_the_briefing(agents):
    """mem0ai/mem0#3695, one place further: what an agent is told at its start holds what is known, and nothing that was forgotten."""
    is_text = "list_predicates" not in agents.tools()
    facts = [{"text": f"The user prefers {word} as editor."} if is_text else {"subject": "user", "predicate": "note", "value": f"prefers {word} as editor"}
             for word in ("helixcanary", "vim")]
    for fact in facts:
        agents.ok("remember", **fact)
    tool(agents, "agent_resume")
    tool(agents, "update_working_state", focus="Which editor does the user prefer?")
    before = tool(agents, "agent_context")["briefing"]
    assert "helixcanary" in before and "vim" in before
    agents.ok("forget", **facts[0])
    context = agents.call("agent_context", agent_id="coder")["content"][0]["text"]
    assert "helixcanary" not in context and "vim" in json.loads(context)["briefing"]


@pytest.mark.ours
def test_a_briefing_that_is_written_back_becomes_belief(typed):
    """mem0ai/mem0#4573: statements drawn from the server's own briefing are known already, and evidence that is not in the text is refused."""
    typed.ok("remember", **EDITOR, value="helix")
    tool(typed, "agent_resume")
    tool(typed, "update_working_state", focus="Which editor does the user prefer?")
    briefing = tool(typed, "agent_context")["briefing"]
    assert "helix" in briefing
    told = typed.ok("remember", text=briefing, statements=[{**EDITOR, "value": "helix", "evidence": "helix"}])
    assert [result["already_known"] for result in told["results"]] == [True]
    refused = typed.post("remember", {"text": briefing, "statements": [{**EDITOR, "value": "vim", "evidence": "prefers vim"}]})
    assert refused.status == 400 and "evidence" in refused.message, refused.body
    # Whoever sends it as a text alone asks to keep that text; nothing is stated by it, however often it comes.
    again = typed.ok("remember", text=briefing, statements=[])
    kept = [(result["stored"]["predicate"], result["already_known"]) for result in again["results"]]
    assert again["episode"]["already_known"] is True and kept == [("note", True)], again
    assert [event["value"] for event in typed.ok("history", **EDITOR)] == ["helix"]
    assert sorted(row["predicate"] for row in typed.ok("recall", subject="user")) == ["note", "prefers_editor"]
