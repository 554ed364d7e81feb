"""Fixed cases: every edge and bad input once, in families that share a namespace and a few setup writes."""
from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Iterable, Iterator

from .wire import Step, memory_step


@dataclass(frozen=True)
class Scenario:
    """A family of steps that shares one fresh namespace, filled by `setup` first."""

    name: str
    steps: tuple[Step, ...]
    setup: tuple[Step, ...] = ()


TYPED_SETUP = (
    {"subject": "user", "predicate": "prefers_editor", "value": "vim", "observed_at": "2024-01-01T00:00:00Z"},
    {"subject": "user", "predicate": "prefers_editor", "value": "helix", "observed_at": "2024-02-01T00:00:00Z"},
    {"subject": "user", "predicate": "uses_technology", "value": "rust", "observed_at": "2024-03-01T00:00:00Z"},
    {"subject": "user", "predicate": "note", "value": "keeps bees", "observed_at": "2024-04-01T00:00:00Z"},
)
TEXT_SETUP = (
    {"text": "I use helix these days.", "observed_at": "2024-01-01T00:00:00Z"},
    {"text": "My cat is called Figaro.", "observed_at": "2024-02-01T00:00:00Z"},
)
PAIR = {"subject": "user", "predicate": "prefers_editor"}
FACT = {**PAIR, "value": "zed"}
ODD_TIMES = (
    "2024-05-01t00:00:00z", "2024-05-01 00:00:00Z", "2024-05-01T24:00:00Z", "2024-02-30T00:00:00Z", "2024-05-01T00:00:60Z",
    "2024-05-01T00:00Z", "2024-5-1T00:00:00Z", "2024-05-01T00:00:00,5Z", "2024-05-01T00:00:00.Z", "2024-05-01T00:00:00+24:00",
    "2024-05-01T00:00:00+23:59", "2024-05-01T00:00:00+00:60", "2024-05-01T00:00:00-00:00", "2024-05-01T0:00:00Z",
    " 2024-05-01T00:00:00Z", "10000-01-01T00:00:00Z", "-001-01-01T00:00:00Z", "0000-06-01T00:00:00Z",
    "2024-05-01T00:00:00.123456789Z", "2024-05-01T00:00:00.1234567891Z", "2024-05-01", "May 2024", "1714521600", "",
)
ODD_VALUES = (
    "", "   ", None, [], {}, ["a"], {"a": 1}, 5, -0.0, 1e300, True, False, "x\u0000y", "\u202ereversed", "\ufffe", "😀", "\u00a0padded\u3000",
    "\u200bzero width", "İstanbul", "ſharp", "\u212a", "Straße", "e\u0301", "é", "<|endoftext|>", "a\tb\nc", "\\", "\"quoted\"", "<b>&amp;</b>",
    "x" * 40_000, "x" * 65_536, "x" * 65_537,
)
ODD_SUBJECTS = ("", "  ", " USER ", "İ", "ß", "a\tb", "x\u0000y", "\u00a0user\u00a0", "😀", "s" * 1024, "s" * 1025, 5, None, [])
ODD_PREDICATES = ("", " prefers_editor ", "Prefers_Editor", "prefers editor", "no_such_predicate", "p" * 64, "p" * 65, "_x", "x_", "9x", "été", 5, None)
RAW_BODIES = (
    b"", b"null", b"[]", b'"x"', b"5", b"{}", b"{} x", b"{}{}", b"  {}  ", b'{"subject":"user",}', b"\xef\xbb\xbf{}", b"{'a':1}", b"{", b"[" * 1_000_000,
    b'{"a":' * 5_000, b'{"subject":"user","predicate":"role","value":NaN}', b'{"subject":"user","predicate":"role","value":1e999}',
    b'{"subject":"user","predicate":"role","value":"x","confidence":1e999}', b'{"subject":"user","predicate":"role","value":"\\ud800x"}',
    b'{"subject":"user","predicate":"role","value":"x\\udc00"}', b'{"subject":"user","predicate":"role","value":"\\ud83d\\ude00"}',
    b'{"subject":"user","predicate":"role","value":"\xff\xfe"}', b'{"subject":"user","predicate":"role","value":"a","value":"b"}',
    b'{"subject":"user","predicate":"role","value":"x\\u0000y"}', b'{"text":"\\ud800x"}', b'{"text":"x\\u0000y"}', b'{"text":"\xff"}',
)


def scenarios(surface: str, base: datetime) -> Iterator[Scenario]:
    """Every fixed case of a surface."""
    yield from _text(base) if surface == "text" else _typed(surface, base)
    yield from _protocol(surface)
    yield from _routes(surface)
    if surface == "typed":
        yield from _keys()


Asked = tuple[str, Any]


def _family(surface: str, name: str, requests: Iterable[Asked], then: tuple[Asked, ...] = ()) -> Scenario:
    """Each request over REST or MCP by turns, with the reads after it that show what it did."""
    setup = TEXT_SETUP if surface == "text" else TYPED_SETUP
    steps = []
    for number, (operation, arguments) in enumerate(requests):
        steps.append(memory_step(surface, operation, arguments, "rest" if number % 3 else "mcp"))
        steps += [memory_step(surface, after, its, "rest") for after, its in then]
    return Scenario(name, tuple(steps), tuple(memory_step(surface, "remember", one, "rest") for one in setup))


def _typed(surface: str, base: datetime) -> Iterator[Scenario]:
    after = (("history", PAIR),)
    yield _family(surface, "observed_at", (("remember", {**FACT, "observed_at": time}) for time in ODD_TIMES), after)
    yield _family(surface, "as_of", (("recall", {"subject": "user", "as_of": time}) for time in ODD_TIMES))
    yield _family(surface, "values", (("remember", {**FACT, "value": value}) for value in ODD_VALUES), after)
    yield _family(surface, "forget values", (("forget", {**PAIR, "value": value}) for value in ODD_VALUES))
    yield _family(surface, "subjects", (("remember", {**FACT, "subject": subject}) for subject in ODD_SUBJECTS), (("recall", {"predicate": "prefers_editor"}),))
    yield _family(surface, "recall subjects", (("recall", {"subject": subject}) for subject in ODD_SUBJECTS))
    for operation in ("remember", "recall", "forget", "history", "timeline"):
        value = {"value": "zed"} if operation == "remember" else {}
        yield _family(surface, f"{operation} predicates", ((operation, {"subject": "user", "predicate": one, **value}) for one in ODD_PREDICATES))
    yield from _typed_fields(surface)
    yield from _typed_correction(surface, base)
    yield from _statements(surface)


def _typed_fields(surface: str) -> Iterator[Scenario]:
    odd = {
        "remember": [{**FACT, "kind": "x"}, {**FACT, "kind": ""}, {**FACT, "kind": 5}, {**FACT, "source": "x"}, {**FACT, "confidence": 1.01},
                     {**FACT, "confidence": -0.01}, {**FACT, "confidence": 0}, {**FACT, "confidence": "1"}, {**FACT, "confidence": None},
                     {**FACT, "bogus": 1}, {**FACT, "all": True}, {**FACT, "agent_id": "x"}, {**FACT, "cardinality": "single"},
                     {**FACT, "cardinality": "multi"}, {**FACT, "cardinality": "bogus"}, {**FACT, "description": "words"},
                     {"SUBJECT": "user", "Predicate": "role", "VALUE": "x"}, {"subject": "user"}, {"predicate": "role", "value": "x"},
                     {"subject": "user", "value": "x"}, {}, {**FACT, "text": "x"}, {"statements": []}, {"text": "x"}, {**FACT, "namespace": "elsewhere"},
                     {**FACT, "session": "s"}, {**FACT, "observed_at": 5}, {**FACT, "observed_at": "2199-01-01T00:00:00Z"}],
        "recall": [{}, {"query": ""}, {"query": "   "}, {"subject": " "}, {"subject": "nobody"}, {"predicate": "prefers_editor"},
                   {"subject": "user", "limit": 0}, {"subject": "user", "limit": -1}, {"subject": "user", "limit": 1000},
                   {"subject": "user", "limit": 1001}, {"subject": "user", "limit": 10**9}, {"subject": "user", "limit": 1.5},
                   {"subject": "user", "limit": "1"}, {"subject": "user", "min_confidence": 1}, {"subject": "user", "min_confidence": 1.01},
                   {"subject": "user", "min_confidence": -0.01}, {"subject": "user", "with_sources": True}, {"subject": "user", "with_sources": "x"},
                   {"query": "helix"}, {"query": "zzzunrelated"}, {"query": "!!!"}, {"query": "x" * 5000}, {"subject": "user", "bogus": 1},
                   {"subject": "user", "observed_after": "2024-03-01T00:00:00Z", "observed_before": "2024-02-01T00:00:00Z"},
                   {"subject": "user", "observed_after": "2024-03-01T00:00:00Z"}, {"subject": "user", "observed_before": "2024-02-01T00:00:00Z"},
                   {"subject": "user", "as_of": "2024-01-15T00:00:00Z"}, {"subject": "user", "as_of": "2024-02-01T00:00:00Z"},
                   {"subject": "user", "as_of": "2024-01-31T23:59:59.999999999Z"}, {**PAIR, "query": "zzzunrelated"}, {"subject": "user", "agent_id": "a"},
                   {"subject": "user", "namespace": "elsewhere"}, {"subject": 5}, {"query": 5}],
        "forget": [{}, {"subject": "user"}, {"predicate": "role"}, PAIR, {**PAIR, "value": "HELIX"}, {**PAIR, "value": "vim"}, {**PAIR, "all": True},
                   {**PAIR, "bogus": 1}, {"subject": "nobody", "predicate": "role"}, {"subject": "user", "predicate": "note"}],
        "history": [{}, {"subject": "user"}, {"predicate": "role"}, PAIR, {**PAIR, "bogus": 1}, {"subject": "nobody", "predicate": "role"}],
        "timeline": [{}, {"subject": "user"}, {"predicate": "role"}, PAIR, {**PAIR, "bogus": 1}, {"subject": "nobody", "predicate": "role"}],
        "diff": [{}, {"from": ""}, {"from": "2023-01-01T00:00:00Z"}, {"from": "2024-01-01T00:00:00Z"}, {"from": "2023-12-31T23:59:59.999999999Z"},
                 {"from": "2023-01-01T00:00:00Z", "to": "2024-01-01T00:00:00Z"}, {"from": "2024-01-15T00:00:00Z", "to": "2024-02-15T00:00:00Z"},
                 {"from": "2024-01-15T00:00:00Z", "to": "2024-01-15T00:00:00Z"}, {"from": "2024-02-15T00:00:00Z", "to": "2024-01-15T00:00:00Z"},
                 {"from": "2199-01-01T00:00:00Z"}, {"from": "2023-01-01T00:00:00Z", "to": "2199-01-01T00:00:00Z"},
                 {"from": "2023-01-01T00:00:00Z", "subject": " USER "}, {"from": "2023-01-01T00:00:00Z", "subject": "nobody"},
                 {"from": "2023-01-01T00:00:00Z", "subject": ""}, {"from": "2023-01-01T00:00:00Z", "bogus": 1}, {"from": 5}],
        "explain": [{}, {"question": ""}, {"question": " "}, {"question": 5}, {"question": "helix"}, {"question": "helix", "bogus": 1}],
        "predicates": [{}, {"bogus": 1}],
    }
    for operation, all_arguments in odd.items():
        after = (("history", PAIR),) if operation in ("remember", "forget") else ()
        yield _family(surface, f"{operation} arguments", ((operation, arguments) for arguments in all_arguments), after)
    yield _year_one(surface, FACT, ("recall", {"subject": "user"}))
    yield _bodies(surface, {"subject": "user"})


def _year_one(surface: str, dated: dict[str, Any], read: Asked) -> Scenario:
    """The zero of the original's clock type, which it takes for "no time given"."""
    first = "0001-01-01T00:00:00Z"
    asked = (("remember", {**dated, "observed_at": first}), read, (read[0], {**read[1], "as_of": first}))
    return Scenario("year one", tuple(memory_step(surface, operation, arguments, "rest", "year-one") for operation, arguments in asked))


def _bodies(surface: str, everything: dict[str, Any]) -> Scenario:
    read = memory_step(surface, "recall", everything, "rest")
    steps = []
    for body in RAW_BODIES:
        steps += [Step("POST", "/v1/remember", body, operation="remember", through="raw", writes=True), read]
    return Scenario("raw bodies", tuple(steps))


def _typed_correction(surface: str, base: datetime) -> Iterator[Scenario]:
    def fact(predicate: str, value: Any, hours: int | None = None, **more: Any) -> tuple[str, dict[str, Any]]:
        dated = {} if hours is None else {"observed_at": (base - timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")}
        return "remember", {"subject": "ada", "predicate": predicate, "value": value, **dated, **more}

    def reads(*predicates: str) -> list[tuple[str, dict[str, Any]]]:
        pairs = [{"subject": "ada", "predicate": predicate} for predicate in predicates]
        return [(operation, pair) for pair in pairs for operation in ("history", "timeline", "recall")] + [("recall", {"subject": "ada"})]

    def story(name: str, *steps: tuple[str, dict[str, Any]], label: str = "") -> Scenario:
        return Scenario(name, tuple(memory_step(surface, operation, arguments, "rest", label) for operation, arguments in steps))

    editor = {"subject": "ada", "predicate": "prefers_editor"}
    yield story("back-dated", fact("prefers_editor", "b", 48), fact("prefers_editor", "a", 96), fact("prefers_editor", "between", 72),
                fact("prefers_editor", "b", 24), fact("prefers_editor", "A", 120), *reads("prefers_editor"))
    yield story("same instant", *(fact("prefers_editor", v, 48) for v in "dbac"), *(fact("uses_technology", v, 48) for v in "dbac"),
                *reads("prefers_editor", "uses_technology"))
    yield story("withdraw and restate", fact("prefers_editor", "x", 300), ("forget", {**editor, "value": "X"}), fact("prefers_editor", "x"),
                ("forget", {**editor}), ("forget", {**editor}), fact("prefers_editor", "y", 200), *reads("prefers_editor"))
    yield story("withdraw a superseded value", fact("prefers_editor", "x", 300), fact("prefers_editor", "y", 200), ("forget", {**editor, "value": "x"}),
                ("forget", {**editor, "value": "y"}), *reads("prefers_editor"))
    yield story("replaces", fact("uses_technology", "go", 90), fact("role", "tester", 80),
                fact("project_name", "recall", 70, replaces=[{"predicate": "uses_technology", "value": "GO"}, {"predicate": "role", "value": "tester"},
                                                            {"predicate": "name", "value": "nobody"}, {"predicate": "no_such", "value": "x"}]),
                fact("project_name", "recall", 60, replaces=[{"predicate": "role", "value": "tester"}]), *reads("uses_technology", "role", "project_name"))
    yield story("elsewhere", fact("role", "rust", 90), fact("uses_technology", "Rust", 80), fact("name", "rust"), ("recall", {"subject": "ada"}))
    yield story("replaces 16", fact("role", "x", replaces=[{"predicate": "uses_technology", "value": f"v{n}"} for n in range(16)]))
    yield story("replaces 17", fact("role", "x", replaces=[{"predicate": "uses_technology", "value": f"v{n}"} for n in range(17)]))
    yield story("replaces without value", fact("role", "x", replaces=[{"predicate": "uses_technology"}]))
    yield story("replaces without predicate", fact("role", "x", replaces=[{"value": "y"}]))
    yield story("replaces nothing", fact("role", "x", replaces=[]), fact("role", "y", replaces=None))
    yield story("replaces itself", fact("role", "x", 50), fact("role", "y", 40, replaces=[{"predicate": "role", "value": "x"}]), *reads("role"))
    yield story("many related", *(fact(p, "shared word", 50) for p in ("role", "name", "timezone", "pronouns", "project_name", "project_status")),
                fact("prefers_language", "shared word"))
    if surface == "open":
        yield from _open(fact, reads, story)


def _open(fact: Any, reads: Any, story: Any) -> Iterator[Scenario]:
    yield story("excludes", fact("likes", "mangoes", 90), fact("dislikes", "Mangoes", 80), fact("likes", "mangoes", 70), *reads("likes", "dislikes"),
                ("diff", {"from": "2024-01-01T00:00:00Z"}))
    yield story("historical", fact("plans", "a trip", 90), fact("cancelled", "a trip", 80), fact("plans", "a trip", 70), fact("did", "a trip", 60),
                fact("detail", "x", 50, replaces=[{"predicate": "did", "value": "a trip"}]), *reads("plans", "cancelled", "did"))
    yield story("excludes and replaces", fact("likes", "figs", 90), fact("dislikes", "figs", 80, replaces=[{"predicate": "likes", "value": "figs"}]),
                *reads("likes", "dislikes"), label="replaces-and-excludes")
    yield story("numbers", *(fact("shoe_size", v, 90 - n) for n, v in enumerate((42, 42.0, 43.5, -1e-7, 1e300, 12345678901234567890, 0.1, 1e23))),
                *reads("shoe_size"))
    yield story("defined types", fact("shoe_size", 42), fact("shoe_size", "42"), fact("shoe_size", True), fact("is_ready", True, cardinality="multi"),
                fact("is_ready", False), fact("nick", "Al", description="what friends say"), ("predicates", {}), ("recall", {"subject": "recall:registry"}))
    yield story("cardinality of a known predicate", fact("nick", "a", cardinality="multi"), fact("nick", "b", cardinality="single"))
    yield story("cardinality unknown word", fact("nick", "a", cardinality="some"))
    yield story("odd name", fact("Bad Name", "x"), ("recall", {"subject": "ada"}))
    yield story("null value", fact("nick", None))
    yield story("list value", fact("nick", [1]))


def _statements(surface: str) -> Iterator[Scenario]:
    text = "I use neovim now and I live in Lisbon."
    good = {"subject": "user", "predicate": "role", "value": "pilot", "evidence": "use neovim"}
    lists: tuple[Any, ...] = (
        [], [good], [good, good], [good, {**good, "value": "sailor"}], [{**good, "predicate": "no_such_thing"}], [{**good, "predicate": "Bad Pred"}],
        [{**good, "evidence": "not there"}], [{**good, "evidence": ""}], [{**good, "value": None}], [{**good, "value": 5}], [{**good, "subject": ""}],
        [{k: v for k, v in good.items() if k != "evidence"}], [{**good, "bogus": 1}], [good, {**good, "evidence": "nowhere"}],
        [{**good, "predicate": "note", "value": "flies"}], [{**good, "replaces": [{"predicate": "prefers_editor", "value": "helix"}]}],
        [{**good, "predicate": "uses_technology", "value": f"v{n}"} for n in range(32)],
        [{**good, "predicate": "uses_technology", "value": f"v{n}"} for n in range(33)], "x", [5], None,
    )
    after = (("recall", {"subject": "user", "with_sources": True, "limit": 1000}), ("history", {"subject": "user", "predicate": "role"}),
             ("timeline", {"subject": "user", "predicate": "note"}))
    yield _family(surface, "statements", (("remember", {"text": text, "statements": statements}) for statements in lists), after)
    yield _family(surface, "statement texts", (("remember", {"text": body, "statements": []}) for body in ("", " ", "x" * 32_768, "x" * 32_769, 5)),
                  (("recall", {"subject": "user"}),))
    yield _family(surface, "statements dated", (("remember", {"text": text, "statements": [good], "observed_at": "2024-06-01T00:00:00Z"}),), after)


def _text(base: datetime) -> Iterator[Scenario]:
    odd = {
        "remember": [{}, {"text": ""}, {"text": " "}, {"text": None}, {"text": 5}, {"text": "  padded  "}, {"text": "MY CAT is called figaro."},
                     {"text": "x", "messages": []}, {"text": "x", "messages": [{"role": "user", "content": "y"}]}, {"messages": []}, {"messages": "x"},
                     {"messages": ["x"]}, {"messages": [{"role": "system", "content": "y"}]}, {"messages": [{"role": "user", "content": ""}]},
                     {"messages": [{"role": "user"}]}, {"messages": [{"content": "y"}]}, {"messages": [{"role": "user", "content": "y", "x": 1}]},
                     {"messages": [{"role": "user", "content": " a "}, {"role": "assistant", "content": "b\nc"}]}, {"text": "x", "bogus": 1},
                     {"text": "x", "subject": "user"}, {"text": "x", "namespace": "elsewhere"}, {"text": "x", "agent_id": "a"}, {"text": "x" * 32_768},
                     {"text": "x" * 32_769}, {"text": "two\nlines\tand\r\nmore"}, {"text": "x\u0000y"}, {"text": "😀"}, {"text": "\u202eabc"}],
        "recall": [{}, {"question": ""}, {"question": "  "}, {"question": "cat"}, {"question": "zzzunrelated"}, {"question": 5}, {"since": "2024-01-15T00:00:00Z"},
                   {"since": "2024-02-01T00:00:00Z"}, {"as_of": "2024-01-15T00:00:00Z"}, {"as_of": "2024-01-15T00:00:00Z", "since": "2024-02-15T00:00:00Z"},
                   {"as_of": "2023-01-01T00:00:00Z"}, {"question": "helix", "since": "2024-01-15T00:00:00Z"}, {"limit": 5}, {"bogus": 1}, {"since": "x"}],
        "forget": [{}, {"text": ""}, {"text": "my cat"}, {"text": "My cat is called Figaro."}, {"text": 5}, {"bogus": 1}],
        "history": [{}, {"question": ""}, {"question": " "}, {"question": "cat"}, {"question": 5}, {"bogus": 1}],
        "diff": [{}, {"from": ""}, {"from": "2023-01-01T00:00:00Z"}, {"from": "2024-01-01T00:00:00Z"}, {"from": "2024-01-15T00:00:00Z"},
                 {"from": "2023-01-01T00:00:00Z", "to": "2024-01-15T00:00:00Z"}, {"from": "2024-02-15T00:00:00Z", "to": "2024-01-15T00:00:00Z"},
                 {"from": "2023-01-01T00:00:00Z", "subject": "user"}, {"from": 5}, {"from": "2199-01-01T00:00:00Z"}],
        "timeline": [{"subject": "user", "predicate": "role"}], "predicates": [{}], "explain": [{"question": "x"}],
    }
    for operation, all_arguments in odd.items():
        after = (("recall", {}),) if operation in ("remember", "forget") else ()
        yield _family("text", f"{operation} arguments", ((operation, arguments) for arguments in all_arguments), after)
    yield _family("text", "observed_at", (("remember", {"text": f"dated {n}", "observed_at": time}) for n, time in enumerate(ODD_TIMES)), (("recall", {}),))
    yield _family("text", "since", (("recall", {"since": time}) for time in ODD_TIMES))
    yield _year_one("text", {"text": "dated"}, ("recall", {}))
    yield _bodies("text", {})
    many = tuple(memory_step("text", "remember", {"text": f"fact number {n} about topic {n % 3}",
                                                  "observed_at": (base - timedelta(hours=100 + n)).strftime("%Y-%m-%dT%H:%M:%SZ")}, "rest") for n in range(25))
    reads = tuple(memory_step("text", "recall", arguments, "rest") for arguments in ({}, {"since": "2020-01-01T00:00:00Z"}, {"question": "topic"}))
    yield Scenario("twenty at most", many + reads)


def _protocol(surface: str) -> Iterator[Scenario]:
    def rpc(body: Any, label: str = "", **headers: str) -> Step:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return Step("POST", "/mcp", raw, headers=named, label=label)

    bodies: tuple[Any, ...] = (
        b"", b"null", b"[]", b"{}", b'"x"', b"5", b"{", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', b'{"id":1,"method":"ping"} x', {"id": 1},
        {"method": "ping"}, {"id": None, "method": "ping"}, {"id": "a", "method": "ping"}, {"id": 1, "method": 5}, {"jsonrpc": "1.0", "id": 1, "method": "ping"},
        {"method": "nosuch"}, {"id": 1, "method": "nosuch"}, {"id": 1, "method": "resources/list"}, {"id": 1, "method": "prompts/list"},
        {"id": 1, "method": "logging/setLevel"}, {"id": 1, "method": "tools/list"}, {"id": 1, "method": "tools/list", "params": {"cursor": "x"}},
        {"method": "tools/list"}, {"id": 1, "method": "tools/call"}, {"id": 1, "method": "tools/call", "params": {}},
        {"id": 1, "method": "tools/call", "params": {"name": "no_such_tool"}}, {"id": 1, "method": "tools/call", "params": {"name": 5}},
        {"id": 1, "method": "tools/call", "params": [1]}, {"id": 1, "method": "tools/call", "params": {"name": "recall"}},
        {"id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": "x"}}, {"id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": None}},
        {"id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": {"namespace": "elsewhere"}}}, {"method": "notifications/initialized"},
        {"method": "notifications/cancelled", "params": {"requestId": 1}}, {"id": 1, "method": "ping", "params": "x"}, {"id": 1, "method": "initialize"},
    )
    yield Scenario("mcp bodies", tuple(rpc(body) for body in bodies))
    versions = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "bogus", "")
    yield Scenario("mcp versions", tuple(
        rpc({"id": 1, "method": "initialize", "params": {"protocolVersion": v, "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}},
            "protocol-version") for v in versions))
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    yield Scenario("mcp headers", (
        rpc(ping, Mcp_Session_Id="bogus"), rpc(ping, Accept="text/event-stream"), rpc(ping, Content_Type="text/plain"), rpc(ping, "foreign-origin", Origin="https://example.com"),
        rpc(ping, MCP_Protocol_Version="2025-06-18"), rpc(ping, "protocol-header", MCP_Protocol_Version="bogus"),
        rpc({"jsonrpc": "2.0", "id": 1, "method": "server/discover"}, "server-discover")))
    yield Scenario("mcp methods", tuple(Step(method, "/mcp", b"{}" if method in ("PUT", "PATCH") else None, key=key)
                                        for method in ("GET", "DELETE", "PUT", "PATCH", "OPTIONS", "HEAD") for key in ("memory", "none")))


def _routes(surface: str) -> Iterator[Scenario]:
    paths = ("/healthz", "/nosuch", "/v1", "/v1/", "/v1/nosuch", "/v1/recall/", "//v1/recall", "/v1/../v1/recall", "/v1/Recall", "/V1/recall", "/mcp/", "/",
             "/v1/memory_history", "/v1/list_predicates", "/v1/auth/x", "/v1/recall/x", "/v1/auth/kubernetes/x")
    for method in ("POST", "GET", "HEAD", "PUT"):
        body = b"{}" if method in ("POST", "PUT") else None
        yield Scenario(f"paths {method}", tuple(Step(method, path, body, key=key) for path in paths for key in ("memory", "none")))
    escaped = ("/v1/%72ecall", "/v1/recall%2f", "/v1/keys%2Frenew", "/v1/%00", "/v1/a%20b", "/v1/%ff", "/v1/recall/../forget", "/./v1/recall", "/v1/%2e%2e/v1/recall")
    yield Scenario("escaped paths", tuple(Step("POST", path, b"{}", label="escaped-path") for path in escaped))
    yield Scenario("own routes", tuple(Step("GET", path, label="own-route") for path in ("/openapi.json",)))
    operations = ("remember", "recall", "forget", "history", "timeline", "diff", "predicates", "explain")
    for method in ("GET", "PUT", "DELETE", "OPTIONS"):
        yield Scenario(f"operations {method}", tuple(Step(method, "/v1/" + name, key=key) for name in operations for key in ("memory", "none")))
    yield Scenario("credentials", tuple(
        [Step("POST", "/v1/" + name, b"{}", key=key) for name in operations for key in ("none", "bad", "admin")]
        + [Step("POST", "/mcp", b"{}", key=key) for key in ("none", "bad", "admin")]
        + [Step("POST", "/v1/recall", b"{}", key="none", headers={"Authorization": value}) for value in ("Basic x", "Bearer", "Bearer ", "Bearer a b", "x")]
        + [Step("POST", "/v1/recall?namespace=elsewhere", b'{"subject":"user"}' if surface != "text" else b"{}"),
           Step("POST", "/v1/recall", b'{"subject":"user"}' if surface != "text" else b"{}", headers={"X-Recall-Namespace": "elsewhere"})]))
    yield Scenario("body of exactly the limit", tuple(
        Step("POST", path, b"{" + b" " * (4_194_304 - 2) + b"}", operation="", label="body-limit") for path in ("/v1/predicates",)))
    yield Scenario("body over the limit", tuple(Step("POST", path, b'{"pad":"' + b"x" * (4_194_304 - 9) + b'"}') for path in ("/v1/recall", "/v1/remember", "/mcp")))


    yield Scenario("encoded body", (Step("POST", "/v1/recall", b'{"subject":"user"}' if surface != "text" else b"{}", headers={"Content-Encoding": "gzip"},
                                         operation="", label="content-encoding"),))


def _keys() -> Iterator[Scenario]:
    def make(fields: Any, label: str = "", key: str = "admin") -> Step:
        raw = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
        return Step("POST", "/v1/keys", raw, key=key, label=label)

    base: dict[str, Any] = {"namespace": "differential.keys"}
    refused = ({"namespace": ""}, {}, {"namespace": "a" * 129}, {"namespace": "a b"}, {"namespace": "_a"}, {"namespace": "-a"}, {"namespace": ":a"}, {"namespace": ".a"},
               {"namespace": "a%"}, {"namespace": "a\\b"}, {"namespace": "a/b"}, {"namespace": "é"}, {"namespace": "a\u0000"}, {"namespace": 5}, {"namespace": "a", "admin": True},
               {**base, "x": 1}, {**base, "expires_in": "15"}, {**base, "expires_in": "7d"}, {**base, "expires_in": 15}, {**base, "expires_in": "-5m"},
               {**base, "expires_in": "soon"}, {**base, "admin": "yes"}, {**base, "note": 5}, b"[]", b"{", b"", b"null")
    yield Scenario("keys refused", tuple(make(fields) for fields in refused))
    taken = (base, {"namespace": "a" * 128}, {"namespace": "0"}, {"namespace": "A.b:c-d_E"}, {**base, "agent": "a1", "session": "s", "note": "n"},
             {**base, "expires_in": "15m"}, {**base, "expires_in": "1h30m"}, {**base, "expires_in": "90s"}, {**base, "expires_in": ""}, {**base, "expires_in": "0"},
             {"admin": True, "expires_in": "10m"})
    yield Scenario("keys made", tuple(make(fields) for fields in taken))
    yield Scenario("keys with odd durations", tuple(make({**base, "expires_in": text}, "duration-form") for text in ("1.5h", "+5m", "0s", "99999h")))
    yield Scenario("keys with odd fields", tuple(make(fields, "key-limits") for fields in (
        {**base, "agent": "bad agent!"}, {**base, "note": "n" * 100_000}, {**base, "session": "s" * 100_000}, {**base, "agent": "a" * 129}, {"admin": True, "agent": "x"})))
    yield Scenario("keys with trailing bytes", (make(json.dumps(base).encode() + b" x", "trailing-bytes"),))
    yield Scenario("keys by others", (make(base, key="memory"), make(base, key="none"), Step("GET", "/v1/keys", key="memory"), Step("GET", "/v1/keys", key="none"),
                                      Step("DELETE", "/v1/keys/0123456789abcdef", key="memory"), Step("DELETE", "/v1/keys/0123456789abcdef", key="admin"),
                                      Step("DELETE", "/v1/keys/", key="admin"), Step("DELETE", "/v1/keys/zz", key="admin"), Step("PUT", "/v1/keys", b"{}", key="admin"),
                                      Step("GET", "/v1/keys/renew", key="memory"), Step("GET", "/v1/keys/abc", key="admin"), Step("POST", "/v1/keys/abc", b"", key="admin")))
    yield Scenario("renew", (Step("POST", "/v1/keys/renew", b"", key="memory"), Step("POST", "/v1/keys/renew", b"junk", key="memory"),
                             Step("POST", "/v1/keys/renew", b"", key="none"), Step("POST", "/v1/keys/renew", b"", key="bad"),
                             Step("POST", "/v1/keys/renew", b"", key="expiring"), Step("POST", "/v1/recall", b'{"subject":"user"}', key="expiring"),
                             Step("POST", "/v1/recall", b'{"subject":"user"}', key="revoked"), Step("POST", "/v1/keys/renew", b"", key="revoked")))
