"""The published Python client 0.23.0 works unchanged: every method that needs neither a model nor a lease."""
from __future__ import annotations

import math
import urllib.request
from datetime import datetime, timedelta, timezone

import pytest
from polign_recall import Client, RecallError

from support import Space, instant


def connect(space: Space, **options) -> Client:
    return Client(url=space.server.url, api_key=space.key, timeout=30, **options)


def failing(code: str, call, *arguments, **named) -> RecallError:
    """Runs a call that must fail with this code."""
    with pytest.raises(RecallError) as raised:
        call(*arguments, **named)
    assert raised.value.code == code, raised.value
    return raised.value


# --- opening and closing ---------------------------------------------------------------------------------------------


def test_finds_out_what_the_server_serves(typed, open_, text):
    for space, is_text in ((typed, False), (open_, False), (text, True)):
        with connect(space) as client:
            assert client.server_version
            assert client.database is None
            assert client._text is is_text
            assert client.agent_enabled is ("agent_resume" in space.tools())


def test_a_trailing_slash_in_the_url_is_fine(typed):
    with Client(url=typed.server.url + "/", api_key=typed.key) as client:
        assert client.recall("user") == []


def test_asking_for_the_other_surface_is_an_error(typed, text):
    with pytest.raises(ValueError):
        connect(typed, text=True)
    with pytest.raises(ValueError):
        connect(text, typed=True)
    connect(typed, typed=True).close()
    connect(text, text=True).close()


def test_asking_for_agent_tools_that_are_absent_is_an_error(typed):
    if "agent_resume" in typed.tools():
        connect(typed, agent=True).close()
    else:
        with pytest.raises(ValueError, match="resume tools"):
            connect(typed, agent=True)


@pytest.mark.parametrize("options", [{}, {"api_key": "x", "command": ["y"]}, {"api_key": "x", "local_dir": "y"}, {"api_key": "x", "backend": "polign"},
                                     {"api_key": "x", "env": {}}, {"api_key": "x", "extract_model": "y"}])
def test_options_that_contradict_a_url_are_refused(typed, options):
    with pytest.raises(ValueError):
        Client(url=typed.server.url, **options)


def test_from_env_with_a_key(typed, plain_environment):
    plain_environment.setenv("RECALL_URL", typed.server.url)
    plain_environment.setenv("RECALL_API_KEY", typed.key)
    with Client.from_env(command=["never", "run"]) as client:
        client.remember("user", "role", "pilot")
    with connect(typed) as other:
        assert [belief.value for belief in other.recall("user", "role")] == ["pilot"]


def test_from_env_with_a_token_file(pod, plain_environment):
    url, token_file = pod
    plain_environment.setenv("RECALL_URL", url)
    plain_environment.setenv("RECALL_TOKEN_FILE", token_file)
    with Client.from_env() as client:
        assert client.remember("user", "uses_technology", "kubernetes").stored.value == "kubernetes"


def test_a_token_file_alone_and_with_a_dead_key(pod):
    url, token_file = pod
    with Client(url=url, token_file=token_file) as client:
        assert isinstance(client.recall("user"), list)
        first = client._http._key
        assert client._http._ttl and client._http._ttl > 0
        client._http._expires_at = 0.0  # past half the life: renewal is refused for a pod's key, then the token is exchanged
        assert isinstance(client.recall("user"), list)
        assert client._http._key != first
    dead = "rcl_0123456789abcdef_" + "A" * 32
    with Client(url=url, api_key=dead, token_file=token_file) as client:  # the 401 makes it exchange the token
        assert client._http._key != dead


def test_a_token_the_server_does_not_take(pod, tmp_path):
    url, _ = pod
    wrong = tmp_path / "token"
    wrong.write_text("not.a.token")
    failing("unauthenticated", Client, url=url, token_file=str(wrong))


def test_a_token_file_that_is_not_there(typed, tmp_path):
    failing("transport_error", Client, url=typed.server.url, token_file=str(tmp_path / "absent"))


def test_a_token_where_the_exchange_is_off(typed, tmp_path):
    token = tmp_path / "token"
    token.write_text("any")
    failing("not_found", Client, url=typed.server.url, token_file=str(token))


def test_renewing_a_key_that_expires(typed):
    record = typed.server.mint(namespace=typed.namespace, expires_in="10m")
    with Client(url=typed.server.url, api_key=record["key"]) as client:
        client._http._ttl = 600.0
        client._http._expires_at = 0.0
        assert client.recall("user") == []
        assert client._http._expires_at > 0.0
        assert client._http._key == record["key"]


def test_closing_twice_and_calling_after(typed):
    client = connect(typed)
    client.close()
    client.close()
    failing("closed", client.recall, "user")


# --- refusals and their codes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["rcl_0123456789abcdef_" + "A" * 32, "nonsense"])
def test_an_unknown_key_is_unauthenticated(typed, key):
    failing("unauthenticated", Client, url=typed.server.url, api_key=key)


def test_a_revoked_key_is_unauthenticated(typed):
    record = typed.server.mint(namespace=typed.namespace)
    with Client(url=typed.server.url, api_key=record["key"]) as client:
        assert typed.server.send("DELETE", "/v1/keys/" + record["id"], key=typed.server.admin_key).status == 204
        failing("unauthenticated", client.recall, "user")


def test_an_admin_key_is_forbidden_to_use_memory(typed):
    failing("forbidden", Client, url=typed.server.url, api_key=typed.server.admin_key)


def test_a_server_that_is_not_there_is_a_transport_error():
    failing("transport_error", Client, url="http://127.0.0.1:9", api_key="x", timeout=5)


def test_a_refused_statement_is_a_tool_error(typed):
    with connect(typed) as client:
        error = failing("tool_error", client.remember, "user", "no_such_predicate", "x")
        assert "no_such_predicate" in str(error)
        assert error.partial is None
        assert client.recall("user") == []


def test_a_tool_of_the_other_surface_is_unsupported(text, typed):
    with connect(text) as client:
        failing("unsupported", client._new_tool, "timeline", {"subject": "a", "predicate": "b"})
    with connect(typed) as client:
        client._text = True  # a client that believes the server serves text
        failing("tool_error", client._tool, "no_such_tool", {})


def test_methods_of_the_other_surface_are_misuse(typed, text):
    with connect(typed) as client:
        for misuse in (lambda: client.ask("x"), lambda: client.forget_text("x"), lambda: client.history_text("x"),
                       lambda: client.remember(messages=[{"role": "user", "content": "x"}])):
            with pytest.raises(ValueError):
                misuse()
    with connect(text) as client:
        for misuse in (lambda: client.recall("user"), lambda: client.predicates(), lambda: client.history("a", "b"), lambda: client.timeline("a", "b"),
                       lambda: client.forget("a", "b", all=True), lambda: client.remember("a", "b", "c"), lambda: client.diff(instant(days=1), subject="a")):
            with pytest.raises(ValueError):
                misuse()


def test_resume_without_agent_tools_is_misuse(typed):
    with connect(typed) as client:
        if not client.agent_enabled:
            with pytest.raises(ValueError):
                client.resume("coder")


# --- typed tools -----------------------------------------------------------------------------------------------------


def test_remember_and_recall_a_belief(belief_space):
    with connect(belief_space) as client:
        result = client.remember(" User ", "prefers_editor", " Helix ", kind="preference", confidence=0.75, source="agent_inferred")
        stored = result.stored
        assert (stored.subject, stored.predicate, stored.value) == ("user", "prefers_editor", "Helix")
        assert (stored.kind, stored.confidence, stored.source) == ("preference", 0.75, "agent_inferred")
        assert stored.event_id.startswith("m-") and len(stored.event_id) == 26
        assert stored.observed_at.endswith("Z")
        assert (result.already_known, result.superseded, result.related, result.unreplaced) == (False, (), (), ())
        [belief] = client.recall("user", "prefers_editor")
        assert (belief.event_id, belief.days_ago, belief.replaced, belief.elsewhere) == (stored.event_id, 0, (), ())


def test_what_a_belief_is_when_nothing_is_said_about_it(belief_space):
    with connect(belief_space) as client:
        stored = client.remember("user", "role", "pilot").stored
        assert (stored.kind, stored.confidence, stored.source) == ("fact", 1, "user_stated")


def test_restating_writes_nothing(belief_space):
    with connect(belief_space) as client:
        first = client.remember("user", "prefers_editor", "Vim")
        again = client.remember("USER", "prefers_editor", "vim", confidence=0.1)
        assert again.already_known
        assert again.stored == first.stored
        assert len(client.history("user", "prefers_editor")) == 1


def test_a_correction_names_what_it_replaced(belief_space):
    with connect(belief_space) as client:
        old = client.remember("user", "prefers_editor", "vim", observed_at=instant(days=9)).stored
        result = client.remember("user", "prefers_editor", "helix", observed_at=instant(days=2))
        assert [belief.value for belief in result.superseded] == ["vim"]
        [belief] = client.recall("user", "prefers_editor")
        assert belief.value == "helix"
        [prior] = belief.replaced
        assert (prior.value, prior.event_id, prior.predicate) == ("vim", old.event_id, "")


def test_many_values_accumulate_oldest_first(belief_space):
    with connect(belief_space) as client:
        for value, days in (("rust", 1), ("go", 5), ("zig", 3)):
            client.remember("user", "uses_technology", value, observed_at=instant(days=days))
        assert [belief.value for belief in client.recall("user", "uses_technology")] == ["go", "zig", "rust"]
        assert [belief.value for belief in client.recall("user", "uses_technology", limit=2)] == ["go", "zig"]


def test_back_dating_is_history_only(belief_space):
    with connect(belief_space) as client:
        client.remember("user", "prefers_editor", "helix", observed_at=instant(days=5))
        late = client.remember("user", "prefers_editor", "emacs", observed_at=datetime.now(timezone.utc) - timedelta(days=20))
        assert late.superseded == ()
        [belief] = client.recall("user", "prefers_editor")
        assert (belief.value, [prior.value for prior in belief.replaced]) == ("helix", ["emacs"])
        [then] = client.recall("user", "prefers_editor", as_of=instant(days=10))
        assert (then.value, then.days_ago) == ("emacs", 10)


def test_as_of_counts_the_instant_itself(belief_space):
    with connect(belief_space) as client:
        moment = "2024-05-05T05:05:05Z"
        client.remember("user", "role", "pilot", observed_at=moment)
        assert [b.value for b in client.recall("user", "role", as_of=moment)] == ["pilot"]
        assert client.recall("user", "role", as_of="2024-05-05T05:05:04.999999999Z") == []


def test_replaces_across_predicates(belief_space):
    with connect(belief_space) as client:
        client.remember("user", "uses_technology", "vim")
        result = client.remember("user", "prefers_editor", "helix", replaces=[{"predicate": "uses_technology", "value": "VIM"},
                                                                              {"predicate": "role", "value": "nobody"}])
        assert [(b.predicate, b.value) for b in result.superseded] == [("uses_technology", "vim")]
        assert result.unreplaced == ({"predicate": "role", "value": "nobody"},)
        assert [(p.predicate, p.value) for p in result.stored.replaced] == [("uses_technology", "vim")]
        assert client.recall("user", "uses_technology") == []
        events = client.history("user", "uses_technology")
        assert [event.retraction for event in events] == [False, True]


def test_elsewhere_names_the_same_value_under_another_predicate(belief_space):
    with connect(belief_space) as client:
        client.remember("user", "role", "rust")
        client.remember("user", "uses_technology", "Rust")
        [belief] = client.recall("user", "uses_technology")
        assert [(p.predicate, p.value) for p in belief.elsewhere] == [("role", "rust")]


def test_recall_by_subject_puts_notes_last(belief_space):
    with connect(belief_space) as client:
        client.remember("user", "note", "keeps bees")
        client.remember("user", "role", "pilot")
        client.remember("ana", "role", "nurse")
        assert [b.predicate for b in client.recall("user")] == ["role", "note"]
        assert sorted(b.subject for b in client.recall(predicate="role")) == ["ana", "user"]
        assert [b.value for b in client.recall("user", query="bees")][-1] == "keeps bees"


def test_recall_filters(belief_space):
    with connect(belief_space) as client:
        client.remember("user", "uses_technology", "old", confidence=0.2, observed_at="2024-01-01T00:00:00Z")
        client.remember("user", "uses_technology", "new", confidence=0.9, observed_at="2024-03-01T00:00:00Z")
        def values(**filters):
            return [b.value for b in client.recall("user", "uses_technology", **filters)]
        assert values(min_confidence=0.5) == ["new"]
        assert values(observed_after="2024-02-01T00:00:00Z") == ["new"]
        assert values(observed_before="2024-02-01T00:00:00Z") == ["old"]
        assert values(observed_after="2024-02-01T00:00:00Z", observed_before="2024-01-01T00:00:00Z") == []


def test_recall_refuses_what_it_cannot_do(belief_space):
    with connect(belief_space) as client:
        failing("tool_error", client.recall)
        failing("tool_error", client.recall, "user", limit=1001)
        failing("tool_error", client.recall, "user", min_confidence=1.5)
        failing("tool_error", client.recall, "user", as_of="yesterday")
        with pytest.raises(ValueError):
            client.recall("user", as_of=datetime(2024, 1, 1))
        assert client.recall("user", limit=1000) == []


def test_numbers_that_json_cannot_say_never_leave_the_client(belief_space):
    with connect(belief_space) as client:
        with pytest.raises(ValueError):
            client.remember("user", "role", math.nan)


def test_statements_from_a_text(belief_space):
    text = "I use neovim now and my name is Ana."
    with connect(belief_space) as client:
        result = client.remember(text=text, statements=[
            {"subject": "user", "predicate": "prefers_editor", "value": "neovim", "evidence": "I use neovim now"},
            {"subject": "user", "predicate": "name", "value": "Ana", "evidence": "my name is Ana"}])
        assert [r.stored.value for r in result.results] == ["neovim", "Ana"]
        assert [r.stored.kind for r in result.results] == ["preference", "fact"]
        assert {r.stored.confidence for r in result.results} == {0.8}
        assert (result.episode.stored.value, result.episode.stored.confidence) == (text, 0.5)
        assert result.unfiled == () and len(result.proposals) == 2
        [belief] = client.recall("user", "prefers_editor", with_sources=True)
        assert (belief.evidence, belief.evidence_id, belief.source_text) == ("I use neovim now", result.episode.stored.event_id, text)
        [plain] = client.recall("user", "prefers_editor")
        assert (plain.evidence, plain.source_text) == ("", "")


def test_a_statement_of_an_unregistered_predicate_stays_a_note(typed):
    with connect(typed) as client:
        result = client.remember(text="I live in Lisbon", statements=[
            {"subject": "user", "predicate": "lives_in", "value": "Lisbon", "evidence": "I live in Lisbon"}])
        assert [p["predicate"] for p in result.unfiled] == ["lives_in"]
        assert [b.predicate for b in client.recall("user")] == ["note"]


def test_one_bad_statement_stops_all(belief_space):
    with connect(belief_space) as client:
        good = {"subject": "user", "predicate": "role", "value": "pilot", "evidence": "I fly"}
        failing("tool_error", client.remember, text="I fly", statements=[good, {**good, "evidence": "I swim"}])
        assert client.recall("user") == []


def test_a_text_without_statements_needs_a_model(belief_space):
    with connect(belief_space) as client:
        failing("tool_error", client.remember, text="I fly")
        kept = client.remember(text="I fly", statements=[])
        assert kept.episode.stored.value == "I fly" and kept.proposals == ()


def test_forget(belief_space):
    with connect(belief_space) as client:
        for value in ("rust", "go", "zig"):
            client.remember("user", "uses_technology", value)
        assert client.forget("user", "uses_technology", "GO") == 1
        assert client.forget("user", "uses_technology", "go") == 0
        assert [b.value for b in client.recall("user", "uses_technology")] == ["rust", "zig"]
        assert client.forget("user", "uses_technology", all=True) == 2
        assert client.recall("user", "uses_technology") == []
        failing("tool_error", client.forget, "user", "no_such_predicate", all=True)
        with pytest.raises(ValueError):
            client.forget("user", "uses_technology")


def test_history_keeps_everything(belief_space):
    with connect(belief_space) as client:
        assert client.history("user", "prefers_editor") == []
        client.remember("user", "prefers_editor", "vim")
        client.remember("user", "prefers_editor", "helix", source="tool_result")
        client.forget("user", "prefers_editor", all=True)
        events = client.history("user", "prefers_editor")
        assert [(e.value, e.retraction, e.source) for e in events] == [
            ("vim", False, "user_stated"), ("helix", False, "tool_result"), (None, True, "user_stated")]
        assert [e.observed_at for e in events] == sorted(e.observed_at for e in events)


def test_timeline(belief_space):
    with connect(belief_space) as client:
        client.remember("user", "prefers_editor", "vim", observed_at=instant(days=9))
        client.remember("user", "prefers_editor", "helix", observed_at=instant(days=5))
        client.forget("user", "prefers_editor", "helix")
        line = client.timeline("user", "prefers_editor")
        assert (line.about, line.now, line.subject, line.predicate) == ("user prefers editor", (), "user", "prefers_editor")
        assert [(s.change, s.began, s.ended) for s in line.changes] == [
            ("stated", ("user prefers editor: vim",), ()),
            ("replaced", ("user prefers editor: helix",), ("user prefers editor: vim",)),
            ("withdrawn", (), ("user prefers editor: helix",))]
        assert line.changes[-1].statement == "withdrew user prefers editor: helix"
        assert client.timeline("nobody", "prefers_editor").changes == ()


def test_diff(belief_space):
    with connect(belief_space) as client:
        client.remember("user", "prefers_editor", "vim", observed_at=instant(days=9))
        client.remember("user", "prefers_editor", "helix", observed_at=instant(days=5))
        client.remember("ana", "role", "nurse", observed_at=instant(days=4))
        changes = client.diff(instant(days=7))
        assert [(c.subject, c.predicate) for c in changes] == [("ana", "role"), ("user", "prefers_editor")]
        assert (changes[1].ended, changes[1].began) == (("user prefers editor: vim",), ("user prefers editor: helix",))
        assert (changes[1].before, changes[1].after) == (changes[1].ended, changes[1].began)
        assert [c.subject for c in client.diff(instant(days=7), subject="ANA")] == ["ana"]
        assert client.diff(instant(days=7), instant(days=6)) == []
        failing("tool_error", client.diff, instant(days=1), instant(days=2))


def test_predicates(typed, open_):
    with connect(typed) as client:
        listed = client.predicates()
        assert [p["predicate"] for p in listed] == [
            "deployment_target", "name", "note", "prefers_editor", "prefers_language", "prefers_package_manager", "prefers_response_style",
            "prefers_test_framework", "project_constraint", "project_name", "project_status", "pronouns", "repository_url", "role", "timezone",
            "uses_technology"]
        assert {p["value_type"] for p in listed} == {"string"}
        assert {p["predicate"] for p in listed if p["cardinality"] == "multi"} == {"note", "project_constraint", "uses_technology"}
    with connect(open_) as client:
        named = {p["predicate"]: p for p in client.predicates()}
        assert named["likes"]["excludes"] == ["dislikes"]
        assert named["did"]["historical"] is True
        assert len(named) == 36


def test_an_open_server_learns_predicates(open_):
    with connect(open_) as client:
        assert client.remember("user", "shoe_size", 42).stored.value == 42
        assert client.remember("user", "shoe_size", 43).superseded[0].value == 42
        assert client.remember("user", "is_ready", True).stored.value is True
        failing("tool_error", client.remember, "user", "shoe_size", "large")
        named = {p["predicate"]: (p["cardinality"], p["value_type"]) for p in client.predicates()}
        assert (named["shoe_size"], named["is_ready"]) == (("single", "number"), ("single", "boolean"))


def test_excluding_predicates(open_):
    with connect(open_) as client:
        client.remember("user", "likes", "mangoes", observed_at=instant(days=3))
        result = client.remember("user", "dislikes", "Mangoes", observed_at=instant(days=1))
        assert [(b.predicate, b.value) for b in result.superseded] == [("likes", "mangoes")]
        [belief] = client.recall("user")
        assert [(p.predicate, p.value) for p in belief.replaced] == [("likes", "mangoes")]
        step = client.timeline("user", "likes").changes[-1]
        assert (step.change, step.statement) == ("withdrawn", "user dislikes: Mangoes")


# --- text tools ------------------------------------------------------------------------------------------------------


def test_remember_text_and_ask(text):
    with connect(text) as client:
        kept = client.remember(text="  My cat is called Figaro. ", observed_at=instant(days=4))
        assert (kept.remembered, kept.kept_as_text) == ((), True)
        client.remember(text="I moved to Lisbon.")
        first = client.ask("what is my cat called?")[0]
        assert (first.text, first.days_ago, first.since) == ("My cat is called Figaro.", 4, instant(days=4)[:10])
        assert (first.before, first.elsewhere, first.said) == ((), (), "")


def test_remember_messages(text):
    with connect(text) as client:
        client.remember(messages=[{"role": "user", "content": "I moved to Lisbon"}, {"role": "assistant", "content": "Noted"}])
        assert [m.text for m in client.ask()] == ["User: I moved to Lisbon\nAssistant: Noted"]
        failing("tool_error", client.remember, messages=[{"role": "system", "content": "x"}])
        failing("tool_error", client.remember, messages=[])
        with pytest.raises(ValueError):
            client.remember(text="x", messages=[{"role": "user", "content": "y"}])


def test_ask_without_a_question_is_the_profile(text):
    with connect(text) as client:
        for number in range(25):
            client.remember(text=f"fact number {number} about bees", observed_at=instant(hours=100 - number))
        profile = [m.text for m in client.ask()]
        assert profile == [f"fact number {n} about bees" for n in range(25)]
        newest = [m.text for m in client.ask(since=instant(days=30))]
        assert newest == profile[::-1]
        assert len(client.ask("bees")) == 20
        assert [m.text for m in client.ask(as_of=instant(hours=99))] == profile[:2]


def test_ask_as_of_and_since(text):
    with connect(text) as client:
        client.remember(text="old", observed_at="2024-01-01T00:00:00Z")
        client.remember(text="new", observed_at="2024-03-01T00:00:00Z")
        assert [m.text for m in client.ask(as_of="2024-02-01T00:00:00Z")] == ["old"]
        assert [m.text for m in client.ask(since="2024-02-01T00:00:00Z")] == ["new"]
        assert client.ask(as_of="2024-02-01T00:00:00Z", since="2024-03-01T00:00:00Z") == []


def test_the_same_text_is_kept_once(text):
    with connect(text) as client:
        for said in ("My cat is Figaro.", " my CAT is figaro. ", "My cat is Figaro."):
            assert client.remember(text=said).kept_as_text
        assert [m.text for m in client.ask()] == ["My cat is Figaro."]


def test_forgetting_by_description_needs_a_model(text):
    with connect(text) as client:
        client.remember(text="My cat is called Figaro.")
        failing("tool_error", client.forget_text, "whatever I said about pets")
        assert len(client.ask()) == 1


@pytest.mark.ours
def test_forgetting_the_exact_text_needs_none(text):
    with connect(text) as client:
        client.remember(text="My cat is called Figaro.")
        assert client.forget_text("my cat is called Figaro.") == ["My cat is called Figaro."]
        assert client.ask() == []


def test_history_and_diff_in_words(text):
    with connect(text) as client:
        client.remember(text="old", observed_at="2024-01-01T00:00:00Z")
        client.remember(text="new", observed_at="2024-03-01T00:00:00Z")
        assert client.history_text("old") == []
        failing("tool_error", client.history_text, "")
        [change] = client.diff("2024-02-01T00:00:00Z")
        assert (change.began, change.ended, change.subject) == (("new",), (), "")
        assert client.diff("2024-03-01T00:00:00Z") == []
        failing("tool_error", client.diff, "2099-01-01T00:00:00Z")


def test_a_text_client_remembers_text_alone(text):
    with connect(text) as client:
        failing("tool_error", client.remember, text=" ")
        failing("tool_error", client.remember, text="x", observed_at="2099-01-01T00:00:00Z")
        with pytest.raises(ValueError):
            client.remember(text="x", statements=[])
        assert client.ask() == []


# --- isolation and requests ------------------------------------------------------------------------------------------


def test_a_namespace_is_its_own(any_space):
    other = any_space.server.space()
    with connect(any_space) as mine, connect(other) as theirs:
        if mine._text:
            mine.remember(text="my secret canary")
            assert theirs.ask() == [] and theirs.ask("canary") == []
        else:
            mine.remember("user", "note", "my secret canary")
            assert theirs.recall("user") == [] and theirs.recall(query="canary") == []


def test_the_client_is_not_redirected(typed, monkeypatch):
    seen = []
    opened = urllib.request.urlopen

    def watch(request, **options):
        response = opened(request, **options)
        seen.append((request.full_url, response.geturl()))
        return response

    monkeypatch.setattr(urllib.request, "urlopen", watch)
    with connect(typed) as client:
        client.recall("user")
    assert seen and all(asked == answered for asked, answered in seen)
