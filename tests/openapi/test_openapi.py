"""The document at /openapi.json is what the server does: schemathesis sends what it allows and what it forbids."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import jsonschema_rs
import pytest

EXAMPLES = os.environ.get("RECALL_TEST_OPENAPI_EXAMPLES", "60")
# A request that fits its schema may still be refused: a memory has rules that no schema tells.
NEVER = "positive_data_acceptance"


def setting(name: str) -> str:
    """The value of a variable that `cargo xtask test --only python` sets."""
    value = os.environ.get(name)
    assert value, f"{name} is not set: run `cargo xtask test --only python`"
    return value


def admin_key() -> str:
    """The key that manages keys."""
    return Path(setting("RECALL_TEST_ADMIN_KEY_FILE")).read_text(encoding="utf-8").strip()


def send(url: str, key: str | None = None, body: object = None) -> bytes:
    """A request that must succeed."""
    request = urllib.request.Request(url, data=None if body is None else json.dumps(body).encode())
    if key:
        request.add_header("Authorization", "Bearer " + key)
    with urllib.request.urlopen(request, timeout=60) as response:
        return response.read()


def server(surface: str) -> str:
    """Where the server of a surface is."""
    return setting(f"RECALL_TEST_{surface.upper()}_URL")


def run(surface: str, tags: list[str], key: str | None, *flags: str, without: str = NEVER) -> None:
    """Runs all checks but those excluded over the operations of these tags."""
    command = [str(Path(sys.executable).parent / "schemathesis"), "run", server(surface) + "/openapi.json", "--no-color", "--continue-on-failure",
               "--generation-deterministic", "--phases", "examples,coverage,fuzzing", "-n", EXAMPLES, "--warnings", "off", "--exclude-checks", without, *flags]
    for tag in tags:
        command += ["--include-tag", tag]
    if key:
        command += ["-H", "Authorization: Bearer " + key]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "No issues found" in ran.stdout, ran.stdout


@pytest.mark.parametrize("surface", ["typed", "open", "text"])
def test_memory(surface):
    minted = json.loads(send(server(surface) + "/v1/keys", admin_key(), {"namespace": "openapi"}))
    run(surface, ["memory"], minted["key"])


@pytest.mark.parametrize("surface", ["typed", "text"])
def test_examples_are_served(surface):
    key = json.loads(send(server(surface) + "/v1/keys", admin_key(), {"namespace": "examples"}))["key"]
    document = json.loads(send(server(surface) + "/openapi.json"))
    served = 0
    # What is withdrawn or asked for has to be kept before.
    paths = sorted(document["paths"].items(), key=lambda item: item[0] != "/v1/remember")
    for path, methods in paths:
        operation = methods.get("post", {})
        if operation.get("tags") == ["memory"]:
            example = operation["requestBody"]["content"]["application/json"]["examples"].get(surface)
            if example:
                send(server(surface) + path, key, example["value"])
                served += 1
    assert served >= 5


@pytest.mark.parametrize("surface", ["typed", "text"])
def test_mcp(surface):
    minted = json.loads(send(server(surface) + "/v1/keys", admin_key(), {"namespace": "openapi"}))
    # Its refusals are JSON-RPC errors, most of them under 200.
    run(surface, ["mcp"], minted["key"], without=NEVER + ",negative_data_rejection")


def test_renewing():
    minted = json.loads(send(server("typed") + "/v1/keys", admin_key(), {"namespace": "openapi", "expires_in": "1h"}))
    # Only pods' keys have a proof to send; of other keys the body is ignored, whatever it is.
    run("typed", ["keys"], minted["key"], "--include-operation-id", "renewKey", without=NEVER + ",negative_data_rejection")


def test_the_server_itself():
    # Health checks may come with any method.
    run("typed", ["system"], None, without=NEVER + ",unsupported_method")


def test_the_committed_document_is_served_byte_for_byte():
    committed = Path(__file__).parents[2] / "docs" / "openapi.json"
    assert send(server("text") + "/openapi.json") == committed.read_bytes()


def test_examples_fit_their_schemas():
    document = json.loads(send(server("text") + "/openapi.json"))
    count = 0

    def visit(node: object) -> None:
        nonlocal count
        if isinstance(node, list):
            for item in node:
                visit(item)
        elif isinstance(node, dict):
            if "schema" in node and "examples" in node:
                whole = {**node["schema"], "components": document["components"]}
                validator = jsonschema_rs.Draft202012Validator(whole)
                for name, example in node["examples"].items():
                    validator.validate(example["value"])
                    count += 1
            for value in node.values():
                visit(value)

    visit(document)
    assert count > 50


def test_keys_and_agents():
    """Comes last: schemathesis revokes what it finds listed, the admin key included."""
    # Renewing is done with the key itself, which an admin key without an end is not.
    run("typed", ["keys", "agents"], admin_key(), "--exclude-operation-id", "renewKey")
