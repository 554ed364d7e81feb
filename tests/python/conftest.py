"""Fixtures: the servers under test, and a fresh namespace for every test."""
from __future__ import annotations

import importlib.metadata
from typing import Iterator

import pytest

import support

CLIENT = importlib.metadata.version("polign-recall")
OLD_CLIENT_TESTS = "test_published_client_016.py"
# One virtual environment holds one client, so each collects the tests of its own client.
collect_ignore_glob = [] if CLIENT.startswith("0.16.") else [OLD_CLIENT_TESTS]


def pytest_ignore_collect(collection_path) -> bool | None:
    """With the 0.16 client installed only its own tests can run."""
    named_like_a_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    if CLIENT.startswith("0.16.") and named_like_a_test and collection_path.name != OLD_CLIENT_TESTS:
        return True
    return None


def pytest_report_header() -> str:
    """Which client these tests run with."""
    return f"published client: polign-recall {CLIENT}"


@pytest.fixture(scope="session")
def servers() -> dict[str, support.Server]:
    """The three servers under test."""
    try:
        return support.servers()
    except support.NotConfigured as missing:
        pytest.fail(str(missing), pytrace=False)


@pytest.fixture(params=("typed", "open", "text"))
def any_space(request: pytest.FixtureRequest, servers) -> support.Space:
    """A fresh namespace on each surface by turns."""
    return servers[request.param].space()


@pytest.fixture(params=("typed", "open"))
def belief_space(request: pytest.FixtureRequest, servers) -> support.Space:
    """A fresh namespace on the servers with typed tools."""
    return servers[request.param].space()


@pytest.fixture
def typed(servers) -> support.Space:
    """A fresh namespace on the typed server with the closed registry."""
    return servers["typed"].space()


@pytest.fixture
def open_(servers) -> support.Space:
    """A fresh namespace on the typed server whose registry is open."""
    return servers["open"].space()


@pytest.fixture
def text(servers) -> support.Space:
    """A fresh namespace on the text server."""
    return servers["text"].space()


@pytest.fixture
def pod() -> tuple[str, str]:
    """URL and token file of a server with the token exchange on."""
    try:
        found = support.pod_server()
    except support.NotConfigured as missing:
        pytest.fail(str(missing), pytrace=False)
    if found is None:
        pytest.skip("needs a real pod-bound token: RECALL_TEST_TYPED_K8S_URL and RECALL_TEST_TOKEN_FILE are not set (no cluster in this run)")
    return found


@pytest.fixture
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """An environment without Recall variables of the machine."""
    for name in ("RECALL_URL", "RECALL_API_KEY", "RECALL_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    yield monkeypatch
