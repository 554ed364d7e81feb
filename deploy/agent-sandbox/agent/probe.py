"""Asks the server what an agent would not: for the demo and its checks, from inside a pod.

    probe.py exchange           exchanges this pod's token, or the one on standard input with `-`; prints status and code
    probe.py key                the same, and prints the key
    probe.py load               calls until standard input ends, and prints how many calls failed and how
    probe.py reach HOST PORT    whether a connection comes about within two seconds
    probe.py until-refused      with a key on standard input: asks until it is refused, and prints how long it was good

Each prints one JSON object.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
import urllib.error
import urllib.request

URL = os.environ.get("RECALL_URL", "")
TOKEN_FILE = os.environ.get("RECALL_TOKEN_FILE", "")


def post(path: str, body: dict[str, object], key: str | None = None) -> tuple[int, dict]:
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = "Bearer " + key
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def exchange(token: str) -> dict[str, object]:
    began = time.monotonic()
    status, answer = post("/v1/auth/kubernetes", {"token": token.strip()})
    return {
        "status": status,
        "code": answer.get("error", {}).get("code"),
        "namespace": answer.get("namespace"),
        "key": answer.get("key"),
        "ms": round((time.monotonic() - began) * 1000, 1),
    }


def until_refused(key: str) -> dict[str, object]:
    began = time.monotonic()
    while time.monotonic() - began < 60:
        status, answer = post("/v1/recall", {"question": "anything"}, key)
        if status == 401:
            return {"refused": True, "code": answer["error"]["code"], "ms": round((time.monotonic() - began) * 1000, 1)}
        time.sleep(0.05)
    return {"refused": False}


def reach(host: str, port: str) -> dict[str, object]:
    try:
        socket.create_connection((host, int(port)), timeout=2).close()
    except TimeoutError:
        return {"reached": False, "how": "no answer"}
    except OSError as error:
        # A refusal is an answer too: the packet came through.
        return {"reached": isinstance(error, ConnectionRefusedError), "how": str(error)}
    return {"reached": True, "how": "connected"}


def load() -> dict[str, object]:
    """Writes and reads on a new connection each, as many short-lived programs would."""
    key = str(exchange(open(TOKEN_FILE, encoding="utf-8").read())["key"])
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    calls, failed = 0, []
    while not ended.is_set():
        calls += 1
        path, body = ("/v1/remember", {"text": f"Call {calls} was made."}) if calls % 2 else ("/v1/recall", {"question": "call"})
        try:
            status, answer = post(path, body, key)
            if status != 200:
                failed.append(f"{path}: {status} {answer.get('error', {}).get('code')}")
        except OSError as error:
            failed.append(f"{path}: {error}")
        time.sleep(0.02)
    return {"calls": calls, "failed": failed}


def main() -> None:
    command, *rest = sys.argv[1:]
    if command == "load":
        found = load()
    elif command == "reach":
        found = reach(*rest)
    elif command == "until-refused":
        found = until_refused(sys.stdin.read().strip())
    else:
        token = sys.stdin.read() if rest == ["-"] else open(TOKEN_FILE, encoding="utf-8").read()
        found = exchange(token)
        if command != "key":
            del found["key"]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
