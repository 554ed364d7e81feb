"""Faults that users of other memory servers reported in public and that show only on a server of one's own: where it runs, what it keeps
its data in, and how much it holds. Each test is named after its fault; its line says where it was seen."""
from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

import support
from support import Server, Space
from test_mcp_sdk import connect, content

pytestmark = pytest.mark.ours

PAIR = {"subject": "user", "predicate": "uses_technology"}
START_SECONDS = 60
NOBODY = 65534
FORGET_SECONDS = 10  # half a second on an idle machine; the tests run an unoptimised server on a busy one


def program() -> Path:
    """The `recall-server` under test: it is built beside `recall`."""
    try:
        return Path(support.setting("RECALL_TEST_PROGRAM")).with_name("recall-server")
    except support.NotConfigured as missing:
        pytest.fail(str(missing), pytrace=False)


def environment(**more: str) -> dict[str, str]:
    """The environment without Recall variables of the machine."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RECALL_")} | more


class Own(Server):
    """A server of one test, and the lines that it logged."""

    def __init__(self, command: list[Any], **how: Any):
        listen = [f"--listen=127.0.0.1:{how.pop('port', 0)}", "--admin-listen=127.0.0.1:0", "--log-format=json"]
        how = {"env": environment(), **how}
        self.process = subprocess.Popen([*command, *listen], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **how)
        self.log: list[str] = []
        address: queue.Queue[str | None] = queue.Queue()
        self._follower = threading.Thread(target=self._follow, args=(address,), daemon=True)
        self._follower.start()
        try:
            found = address.get(timeout=START_SECONDS)
        except queue.Empty:
            self.process.kill()
            raise
        assert found, f"it ended with {self.process.wait()}: {''.join(self.log)}"
        super().__init__(f"http://{found}", Path(support.setting("RECALL_TEST_ADMIN_KEY_FILE")).read_text(encoding="utf-8").strip())

    def _follow(self, address: queue.Queue[str | None]) -> None:
        for line in self.process.stderr:
            self.log.append(line)
            if '"listener":"api"' in line:
                address.put(line.split('"address":"')[1].split('"')[0])
        address.put(None)

    def stop(self) -> None:
        """Ends it in order; then its log is whole."""
        self.process.terminate()
        assert self.process.wait(timeout=START_SECONDS) == 0, "".join(self.log)
        self._follower.join(START_SECONDS)

    def again(self, space: Space) -> Space:
        """A namespace of an earlier server, on this one."""
        return Space(self, space.key, space.namespace)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Own]]:
    """Starts servers, by default all on one data directory, and ends those that are left."""
    started: list[Own] = []

    def one(*flags: str, **how: Any) -> Own:
        command = how.pop("command", [program(), f"--data-dir={tmp_path / 'data'}"])
        key = f"--bootstrap-key-file={support.setting('RECALL_TEST_ADMIN_KEY_FILE')}"
        started.append(Own([*command, key, *flags], **how))
        return started[-1]

    yield one
    for server in started:
        server.process.kill()
        server.process.wait()


def moved(act: str, data: Path, *flags: str, stdin: bytes | None = None) -> bytes:
    """What `recall-server export` or `import` writes; no server may be running on the folder."""
    done = subprocess.run([program(), act, f"--data-dir={data}", *flags], env=environment(), input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def exported(data: Path, namespace: str) -> bytes:
    """The export of one namespace, without the line that says when it was made."""
    return moved("export", data, f"--namespace={namespace}").split(b"\n", 1)[1]


def values(space: Space, **arguments: Any) -> list:
    return [belief["value"] for belief in space.ok("recall", limit=1000, **arguments)]


def many(template: bytes, count: int) -> bytes:
    """The export of a namespace with one note, made into one with many: each has an id and a number of its own."""
    head, namespace, event, _ = template.splitlines()
    lines = [head, namespace]
    for n in range(count):
        said = json.loads(event.replace(b"number 0", b"number %d" % n))
        said["event"]["id"] = f"m-{n:024x}"
        lines.append(json.dumps(said).encode())
    return b"\n".join([*lines, json.dumps({"end": {"namespaces": 1, "events": count, "records": 0}}).encode(), b""])


def test_forgetting_in_one_namespace_changes_what_another_exports(start, tmp_path):
    """mem0ai/mem0#3746, #3928: everything of one user is forgotten, and of the other every byte is as it was."""
    server = start("--surface=typed")
    one, other = server.space(), server.space()
    for space in (one, other):
        for value in ("rust", "go", "zig"):
            space.ok("remember", **PAIR, value=value)
    server.stop()
    before = {space.namespace: exported(tmp_path / "data", space.namespace) for space in (one, other)}
    assert before[other.namespace].count(b'"event"') == 3
    server = start("--surface=typed")
    assert server.again(one).ok("forget", **PAIR) == {"withdrawn": 3}
    assert values(server.again(other), **PAIR) == ["rust", "go", "zig"]
    server.stop()
    assert exported(tmp_path / "data", other.namespace) == before[other.namespace]
    assert exported(tmp_path / "data", one.namespace) != before[one.namespace]


def test_a_server_in_another_time_zone_shifts_days(start):
    """mem0ai/mem0#4402, #3137: written at two in the morning of a UTC day, found since that day, and every time ends in Z."""
    space = start("--surface=text", env=environment(TZ="America/Los_Angeles")).space()
    space.ok("remember", text="written at two", observed_at="2024-03-10T02:00:00Z")
    space.ok("remember", text="written the day before", observed_at="2024-03-09T23:00:00Z")
    [memory] = space.ok("recall", since="2024-03-10T00:00:00Z")["memories"]
    assert (memory["text"], memory["since"]) == ("written at two", "2024-03-10")
    typed = start("--surface=typed", "--backend=memory", command=[program()], env=environment(TZ="America/Los_Angeles")).space()
    typed.ok("remember", **PAIR, value="rust", observed_at="2024-03-10T02:00:00Z")
    typed.ok("remember", **PAIR, value="go")
    times = [event["observed_at"] for event in typed.ok("history", **PAIR)]
    assert times[0] == "2024-03-10T02:00:00Z" and all(moment.endswith("Z") for moment in times)


def test_many_sessions_lock_each_other_out(start):
    """mem0ai/mem0#7196, mem0 2.2.1, @modelcontextprotocol/server-memory: 32 writers and 32 readers; no call fails, and all that was
    acknowledged is there."""
    space = start("--surface=typed").space()

    def write(writer: int) -> None:
        for n in range(25):
            stored = space.ok("remember", subject=f"writer {writer}", predicate="note", value=f"note {n}")
            assert not stored.get("already_known")

    def read(reader: int) -> None:
        for _ in range(25):
            space.ok("recall", subject=f"writer {reader}")

    with ThreadPoolExecutor(64) as pool:
        for call in [pool.submit(act, n) for n in range(32) for act in (write, read)]:
            call.result()
    for writer in range(32):
        assert sorted(values(space, subject=f"writer {writer}")) == sorted(f"note {n}" for n in range(25))


@pytest.fixture(scope="module")
def full() -> Iterator[Space]:
    """Twenty thousand notes under one subject, on an embedded store; the last test that takes it forgets them all."""
    with tempfile.TemporaryDirectory() as name:
        key = f"--bootstrap-key-file={support.setting('RECALL_TEST_ADMIN_KEY_FILE')}"
        one, data = Path(name, "one"), Path(name, "data")
        server = Own([program(), f"--data-dir={one}", key, "--surface=typed"])
        try:
            first = server.space()
            first.ok("remember", subject="user", predicate="note", value="note number 0")
            server.stop()
            moved("import", data, stdin=many(moved("export", one, f"--namespace={first.namespace}"), 20_000))
            server = Own([program(), f"--data-dir={data}", key, "--surface=typed"])
            yield server.space(namespace=first.namespace)
        finally:
            server.process.kill()
            server.process.wait()


def test_writers_of_a_subject_with_many_notes_are_refused(full):
    """polign-recall 0.23.0: 32 writers to a subject with 20,000 notes, each write is answered 200 and each note found."""
    with ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda n: full.ok("remember", subject="user", predicate="note", value=f"late number {n}"), range(320)))
    history = full.ok("history", subject="user", predicate="note")
    said = {event["value"] for event in history}
    assert {f"note number {n}" for n in range(20_000)} | {f"late number {n}" for n in range(320)} <= said
    assert full.ok("recall", query="late number 319")[0]["value"] == "late number 319"
    assert full.ok("recall", query="note number 19999")[0]["value"] == "note number 19999"


def test_a_search_in_a_full_memory_answers_everything(full):
    """modelcontextprotocol/servers#3953: with defaults a search in 20,000 notes fits a model's budget, and says what it left out."""
    for tool, arguments in (("recall", {"subject": "user"}), ("recall", {"predicate": "note"}), ("recall", {"query": "note number"}),
                            ("explain", {"question": "note number"})):
        result = full.call(tool, **arguments)
        assert len(result["content"][0]["text"]) < 32_000, (tool, arguments)
        assert result["structuredContent"]["coverage"]["left_out"] >= 20_000 - 20, (tool, arguments)


def test_forgetting_twenty_thousand_takes_minutes_and_shows_a_half(full):
    """MemTensor/MemOS#1103: it is one step, and whoever reads meanwhile sees all or nothing."""
    scope = {"subject": "user", "predicate": "note", "limit": 1}
    looking, gone = threading.Barrier(5), threading.Event()

    def count() -> int:
        reply = full.post("recall", scope)
        return len(reply.json) + int(reply.headers["recall-left-out"])

    def look() -> set[int]:
        seen = {count()}
        looking.wait(START_SECONDS)
        while not gone.is_set():
            seen.add(count())
        return seen | {count()}

    with ThreadPoolExecutor(4) as pool:
        looks = [pool.submit(look) for _ in range(4)]
        looking.wait(START_SECONDS)
        began = time.monotonic()
        try:
            withdrawn = full.ok("forget", subject="user", predicate="note")["withdrawn"]
        finally:
            gone.set()
        took = time.monotonic() - began
        seen = set.union(*(each.result() for each in looks))
    assert withdrawn >= 20_000 and seen == {withdrawn, 0}, (withdrawn, seen)
    assert took < FORGET_SECONDS


def test_a_fact_is_found_and_gone_a_moment_later(start):
    """MemTensor/MemOS#1950: found in every look while its memory is put out of the way and read anew, again and again."""
    server = start("--surface=typed", "--view-memory=1")
    space, others = server.space(), [server.space() for _ in range(4)]
    space.ok("remember", subject="user", predicate="note", value="the lantern is in the shed")
    for turn in range(40):
        others[turn % 4].ok("remember", subject="user", predicate="note", value=f"note {turn}")
        assert values(space, query="lantern") == ["the lantern is in the shed"], turn
        assert values(space, subject="user") == ["the lantern is in the shed"], turn


def test_an_update_wipes_the_default_folder(start, tmp_path):
    """modelcontextprotocol/servers#4117: nothing is kept beside the program, and another copy of it finds the memory of the first."""
    homes = {"HOME": str(tmp_path / "home"), "XDG_DATA_HOME": ""}
    space, kept = None, tmp_path / "home/.local/share/recall"
    for version in ("old", "new"):
        place = tmp_path / version
        place.mkdir()
        copy = shutil.copy2(program(), place / "recall-server")
        server = start("--surface=typed", command=[copy], env=environment(**homes), cwd=place)
        if space is None:
            space = server.space()
            space.ok("remember", **PAIR, value="rust")
        assert values(server.again(space), **PAIR) == ["rust"]
        server.stop()
        assert kept.is_dir() and [path.name for path in place.iterdir()] == ["recall-server"]
        shutil.rmtree(place)


def test_a_folder_that_cannot_be_read_empties_the_memory():
    """basicmachines-co/basic-memory#1007: while its folder is closed to it a server is right or says that it is not, a new start is refused
    by name, and afterwards everything is there."""
    with tempfile.TemporaryDirectory() as name:
        folder, how = Path(name), {}
        copy, key, data = folder / "recall-server", folder / "admin.key", folder / "data"
        shutil.copy2(program(), copy)
        shutil.copy2(support.setting("RECALL_TEST_ADMIN_KEY_FILE"), key)
        data.mkdir()
        if os.geteuid() == 0:  # what is closed to others is open to the superuser
            how = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            for path in (folder, copy, key, data):
                os.chown(path, NOBODY, NOBODY)
        command = [copy, f"--data-dir={data}", f"--bootstrap-key-file={key}", "--surface=typed"]
        server = Own(command, **how)
        try:
            space = server.space()
            space.ok("remember", **PAIR, value="rust")
            close(data)
            written = space.post("remember", {**PAIR, "value": "go"})
            read = space.post("recall", PAIR)
            assert written.status in (200, 503) and read.status in (200, 503), (written.body, read.body)
            expected = ["rust", "go"] if written.status == 200 else ["rust"]
            assert read.status == 503 or [belief["value"] for belief in read.json] == expected
            server.stop()
            refused = subprocess.run([*command, "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0"], env=environment(), capture_output=True,
                                     text=True, timeout=START_SECONDS, check=False, **how)
            assert refused.returncode not in (0, None) and str(data) in refused.stderr, refused
            data.chmod(0o700)
            for path in data.iterdir():
                path.chmod(0o600)
            server = Own(command, **how)
            assert values(server.again(space), **PAIR) == expected
        finally:
            data.chmod(0o700)
            server.process.kill()
            server.process.wait()


def close(folder: Path) -> None:
    """Takes all rights to a folder and its files away."""
    for path in [*folder.iterdir(), folder]:
        path.chmod(0)


def test_looking_before_taking_over_changes_the_export(start, tmp_path):
    """restatedev/restate#4312: a resume without the lease leaves every byte of the agent as it was."""
    server = start("--surface=typed")
    owner = server.space(session="a")
    looker = Space(server, server.mint(namespace=owner.namespace, session="b")["key"], owner.namespace)
    for tool, arguments in (("agent_resume", {}), ("record_turn", {"role": "user", "content": "half done"}),
                            ("begin_action", {"tool": "deploy", "class": "external"}), ("agent_release", {})):
        assert owner.call(tool, agent_id="coder", **arguments)["isError"] is False
    server.stop()
    before = exported(tmp_path / "data", owner.namespace)
    assert b"half done" in before
    server = start("--surface=typed")
    context = server.again(looker).call("agent_resume", agent_id="coder", defer_lease=True)
    assert context["isError"] is False and context["structuredContent"]["lease_held"] is False
    server.stop()
    assert exported(tmp_path / "data", owner.namespace) == before


def test_a_misspelt_setting_is_taken_silently(start):
    """memodb-io/memobase#157, #48: a variable with our prefix that nobody reads is a warning that names it."""
    server = start("--backend=memory", command=[program()], env=environment(RECALL_SURFAC="typed"))
    server.stop()
    assert [line for line in server.log if '"WARN"' in line and "RECALL_SURFAC" in line], server.log


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_is_lost_with_the_session_that_the_server_forgot(start, mode):
    """nowledge-co/community#383, #405: between two calls of the Python SDK the server is another process, which knows of no session and has
    cut every connection; the client goes on as if nothing had been."""
    server = start("--surface=text")
    async with connect(server.space(), mode) as client:
        assert content(await client.call_tool("remember", {"text": "My cat is called Figaro."}))["kept_as_text"] is True
        server.stop()
        start("--surface=text", port=server.port)
        found = content(await client.call_tool("recall", {"question": "cat"}))
        assert [memory["text"] for memory in found["memories"]] == ["My cat is called Figaro."]


@pytest.fixture
def anyio_backend() -> str:
    """The SDK is run on asyncio."""
    return "asyncio"
