"""An agent that is killed in the middle of its work and carries on.

    agent.py work               works until it is killed; started again, it goes on with the next step
    agent.py remember TEXT      keeps a sentence
    agent.py ask QUESTION       prints what is known
    agent.py resume             prints where the work stands, without working

Each prints one JSON object a line. `--through connect` speaks MCP to the bridge `recall connect`; otherwise the Python
client speaks to the server itself. The agent's name is the pod's label, which the kubelet writes into a file. A lie about
it would be refused: Recall learns who the agent is from the pod's token.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from polign_recall import Client, RecallError

GOAL = "count the stars"
# What passes by itself: the pod waits in a warm pool, the server or the API server is away, another pod still works.
PASSING = {"transport_error", "lease_held"}


def say(event: str, **more: object) -> None:
    print(json.dumps({"event": event, **more}), flush=True)


def connected(through: str) -> Client:
    if through == "connect":
        return Client(command=["recall", "connect"], agent=True)
    # A call that meets a server on its way out may get no answer at all: do not wait the default two minutes for it.
    return Client.from_env(agent=True, timeout=10)


def patiently(what: str, attempt):
    """Tries until it succeeds; refusals that no waiting mends end the program."""
    pause = 0.2
    while True:
        try:
            return attempt()
        except RecallError as error:
            if error.code not in PASSING:
                say("refused", what=what, code=error.code, message=str(error))
                raise SystemExit(1) from error
            say("waiting", what=what, message=str(error))
        time.sleep(pause * random.uniform(0.5, 1.5))
        pause = min(pause * 2, 15)


def own_name() -> str:
    """The pod's label. A pod that waits in a warm pool has none yet."""
    path = Path(os.environ["AGENT_NAME_FILE"])
    if not path.read_text():
        say("waiting", what="claim", message="this pod is nobody yet")
    while not (name := path.read_text()):
        time.sleep(0.1)
    return name


def standing(agent) -> dict[str, object]:
    state = agent.context.working_state
    return {
        "fresh": agent.context.fresh,
        "epoch": agent.context.epoch,
        "step": state.step if state and state.step else 0,
        "goal": state.goal if state else None,
        "unfinished": [action.tool for action in agent.context.pending_actions],
    }


def work(through: str, name: str, period: float) -> None:
    """One step after another. Whatever passes by itself is waited for, and the work taken up where it stands."""
    while True:
        client = patiently("connect", lambda: connected(through))
        try:
            with client, patiently("resume", lambda: client.resume(name)) as agent:
                steps(agent, period)
        except RecallError as error:
            if error.code not in PASSING:
                raise
            say("waiting", what="step", message=str(error))


def steps(agent, period: float) -> None:
    where = standing(agent)
    say("resumed", **where)
    if where["fresh"]:
        agent.update_working_state(goal=GOAL, plan=["look up", "count", "write it down"])
        agent.record_turn("user", f"Please {GOAL}.")
    # Looking at stars changes nothing outside, so what was under way is simply done again.
    agent.reconcile()
    step = where["step"]
    while True:
        step += 1
        action = agent.begin_action("telescope", "pure", {"step": step})
        time.sleep(period)
        agent.end_action(action.seq, "done", {"stars": step * 7})
        agent.update_working_state(step=step, progress=f"{step * 7} stars in {step} steps")
        say("step", step=step)


def main() -> None:
    # Process 1 of a container is not ended by signals that it does not handle.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    parser = argparse.ArgumentParser(description="An agent that carries on.")
    parser.add_argument("--through", choices=["http", "connect"], default="http")
    parser.add_argument("--period", type=float, default=1.0, help="seconds that a step takes")
    parser.add_argument("command", choices=["work", "remember", "ask", "resume"])
    parser.add_argument("text", nargs="?", default="")
    given = parser.parse_args()
    if given.command == "work":
        work(given.through, own_name(), given.period)
    client = patiently("connect", lambda: connected(given.through))
    with client:
        if given.command == "remember":
            client.remember(text=given.text)
            say("remembered", text=given.text)
        elif given.command == "ask":
            say("asked", found=[memory.text for memory in client.ask(given.text)])
        else:
            # Reads without taking the agent from whoever works.
            say("standing", **standing(client.resume(own_name(), defer_lease=True)))


if __name__ == "__main__":
    main()
