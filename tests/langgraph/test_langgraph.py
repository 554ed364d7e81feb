"""The published LangGraph adapter, `recall_langgraph`, against this server: graphs that stop and carry on."""
from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import InjectedToolArg, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from polign_recall import ActionEnd, Client, RecallError
from recall_langgraph import RecallResume, recall_tools

sys.path.insert(0, str(Path(__file__).parent.parent / "python"))
import support  # noqa: E402


class Killed(BaseException):
    """The process ended here: nothing after it runs, and no tool says that it failed."""


class Script(BaseChatModel):
    """A model that says its lines and keeps what it was given."""

    lines: list[Any]
    given: list[list[BaseMessage]] = []

    @property
    def _llm_type(self) -> str:
        return "script"

    def _generate(self, messages, stop=None, run_manager=None, **more) -> ChatResult:
        self.given.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self.lines.pop(0))])


def says(text: str) -> AIMessage:
    return AIMessage(content=text, id="said-" + secrets.token_hex(4))


def calls(name: str, /, **arguments: Any) -> AIMessage:
    call = {"name": name, "args": arguments, "id": "call-" + secrets.token_hex(4)}
    return AIMessage(content="", tool_calls=[call], id="said-" + secrets.token_hex(4))


@pytest.fixture(params=("typed", "text"))
def space(request: pytest.FixtureRequest) -> support.Space:
    """A fresh namespace on each surface by turns."""
    return support.servers()[request.param].space()


def client(space: support.Space, session: str | None = None) -> Client:
    """What a process of its own would have: a key of its session, and no memory of others."""
    fields = {"session": session} if session else {}
    key = space.server.mint(namespace=space.namespace, **fields)["key"] if session else space.key
    return Client(url=space.server.url, api_key=key, timeout=30, agent=True)


def name() -> str:
    return "grapher-" + secrets.token_hex(4)


def graph(resume: RecallResume, model: Script, tools: list, checkpointer=None):
    """A graph as the adapter's guide builds it: the briefing before the model, every message recorded."""

    def think(state: MessagesState):
        return {"messages": [model.invoke(resume.with_briefing(state["messages"]))]}

    builder = StateGraph(MessagesState)
    builder.add_node("note", resume.record_node)
    builder.add_node("think", think)
    builder.add_node("noted", resume.record_node)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "note")
    builder.add_edge("note", "think")
    builder.add_edge("think", "noted")
    builder.add_conditional_edges("noted", tools_condition)
    builder.add_edge("tools", "note")
    return builder.compile(checkpointer=checkpointer)


def asked(text: str) -> dict[str, list[BaseMessage]]:
    return {"messages": [HumanMessage(content=text, id="asked-" + secrets.token_hex(4))]}


def briefing_of(model: Script, at: int) -> str:
    return str(model.given[at][0].content)


def test_a_graph_goes_on_where_its_predecessor_stopped(space):
    agent = name()
    with client(space) as first, RecallResume(agent, client=first, token_budget=2000) as resume:
        model = Script(lines=[
            calls("update_working_state", goal="count the stars", plan=["look up", "count"], progress="looked up"),
            calls("set_pointer", name="sky", type="object", uri="file:///sky"),
            calls("milestone", name="eyes open"),
            says("I looked up."),
        ])
        graph(resume, model, recall_tools(resume)).invoke(asked("Please count the stars."))
        first_epoch = resume.context.epoch
    with client(space) as second, RecallResume(agent, client=second, token_budget=2000) as resume:
        assert resume.context.epoch > first_epoch and not resume.context.fresh
        model = Script(lines=[says("Seven.")])
        graph(resume, model, recall_tools(resume)).invoke(asked("Carry on."))
        briefing = briefing_of(model, 0)
        for part in ("count the stars", "looked up", "eyes open", "file:///sky", "I looked up."):
            assert part in briefing, briefing
        contents = [turn.content for turn in resume.agent.recent_turns(limit=100)]
        assert contents[0] == "Please count the stars." and contents[-2:] == ["Carry on.", "Seven."]


def test_a_thread_that_is_restored_as_well_is_recorded_once(space):
    agent, saver, thread = name(), InMemorySaver(), {"configurable": {"thread_id": "t"}}
    with client(space) as first, RecallResume(agent, client=first) as resume:
        graph(resume, Script(lines=[says("One.")]), [], saver).invoke(asked("Count."), thread)
    with client(space) as second, RecallResume(agent, client=second) as resume:
        graph(resume, Script(lines=[says("Two.")]), [], saver).invoke(asked("Go on."), thread)
        turns = [turn.content for turn in resume.agent.recent_turns(limit=100)]
        assert turns == ["Count.", "One.", "Go on.", "Two."]


def test_a_successor_takes_over_from_one_that_never_released_and_the_old_one_is_told(space):
    agent = name()
    with client(space, "pod-1") as first, client(space, "pod-2") as second:
        old = RecallResume(agent, client=first).open()
        old.record([HumanMessage(content="half done", id="m1")])
        with RecallResume(agent, client=second) as new:
            assert "half done" in new.briefing
            with pytest.raises(RecallError) as refused:
                old.record([HumanMessage(content="too late", id="m2")])
            assert refused.value.code == "lease_lost"
            assert [turn.content for turn in new.agent.recent_turns()] == ["half done"]


def test_a_process_that_comes_back_under_the_same_key_goes_on_at_once(space):
    agent = name()
    with client(space) as first, client(space) as again:
        epoch = RecallResume(agent, client=first).open().context.epoch
        with RecallResume(agent, client=again) as resume:
            assert resume.context.epoch == epoch


def test_an_external_tool_that_was_cut_off_is_checked_and_never_run_again(space):
    agent, sent = name(), []

    @tool
    def send_mail(to: str, idempotency_key: Annotated[str, InjectedToolArg] = "") -> str:
        """Sends a mail."""
        sent.append((to, idempotency_key))
        raise Killed

    with client(space, "pod-1") as first, client(space, "pod-2") as second, client(space, "pod-3") as third:
        resume = RecallResume(agent, client=first).open()
        model = Script(lines=[calls("send_mail", to="ada@example.com")])
        with pytest.raises(Killed):
            graph(resume, model, resume.durable([send_mail], {"send_mail": "external"})).invoke(asked("Mail her."))

        # Nobody can tell yet: it stays open, and the model is told not to do it again.
        resume = RecallResume(agent, client=second).open()
        resume.durable([send_mail], {"send_mail": "external"})
        assert "send_mail" in resume.briefing and "do not run it again" in resume.briefing.lower()
        [open_action] = resume.open_actions()
        assert (open_action.status, open_action.key) == ("unknown", sent[0][1])

        # A resolver finds it by its key.
        asked_of = []

        def found(action):
            asked_of.append(action.key)
            return ActionEnd("done", result="it was sent", resolution="found in the outbox")

        with RecallResume(agent, client=third, resolver=found) as resume:
            resume.durable([send_mail], {"send_mail": "external"})
            resume.settle()
            assert resume.open_actions() == []
    assert len(sent) == 1 and asked_of == [sent[0][1]]


def test_an_idempotent_tool_that_was_cut_off_runs_again_with_its_key(space):
    agent, charged = name(), []

    @tool
    def charge(amount: int, idempotency_key: Annotated[str, InjectedToolArg] = "") -> str:
        """Charges a card."""
        charged.append((amount, idempotency_key))
        if len(charged) == 1:
            raise Killed
        return "charged"

    with client(space, "pod-1") as first, client(space, "pod-2") as second:
        resume = RecallResume(agent, client=first).open()
        model = Script(lines=[calls("charge", amount=7)])
        with pytest.raises(Killed):
            graph(resume, model, resume.durable([charge], {"charge": "idempotent"})).invoke(asked("Charge it."))
        with RecallResume(agent, client=second) as resume:
            resume.durable([charge], {"charge": "idempotent"})
            assert "charge" in resume.briefing
            assert resume.open_actions() == []
    assert len(charged) == 2 and charged[0] == charged[1]


def test_a_long_result_is_kept_whole_and_fetched_by_its_reference(space):
    agent, text = name(), "star " * 4000

    @tool
    def look() -> str:
        """Looks up."""
        return text

    with client(space) as first, RecallResume(agent, client=first, output_threshold=100) as resume:
        model = Script(lines=[calls("look"), says("Many.")])
        graph(resume, model, resume.durable([look], {"look": "pure"})).invoke(asked("Look."))
        kept = [turn for turn in resume.agent.recent_turns() if turn.role == "tool"]
        [fetch] = [each for each in recall_tools(resume) if each.name == "fetch_output"]
        call = {"name": "fetch_output", "args": {"ref": kept[0].output_ref}, "id": "c", "type": "tool_call"}
        answer = fetch.invoke(call)
        assert isinstance(answer, ToolMessage) and answer.content == text
