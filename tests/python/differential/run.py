"""Plays sessions on both servers and collects what differs."""
from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Iterable, Iterator

from . import corpus
from .compare import Difference, differences
from .grammar import Session
from .normalise import Tokens, canonical
from .rules import SHOWN_ONLY, Case, classify, proposed
from .wire import Answer, Server, Step

STEPS_PER_SESSION = 40


@dataclass(frozen=True)
class Place:
    """Where a step is in a run, enough to play it again."""

    surface: str
    session: str
    index: int

    def __str__(self) -> str:
        return f"{self.surface}/{self.session}#{self.index}"


@dataclass(frozen=True)
class Finding:
    """One difference with everything needed to understand it."""

    place: Place
    case: Case
    name: str | None

    def describe(self) -> str:
        """Request, both answers and the place."""
        case = self.case
        return "\n".join((
            f"  at {self.place}", f"  request   {case.step.describe()}", f"  original  {case.theirs.describe()}",
            f"  ours      {case.ours.describe()}", f"  differs   {case.difference.describe()}",
            f"  proposed  {self.name or proposed(case)}",
        ))


@dataclass
class Result:
    """What one surface gave."""

    requests: int = 0
    sessions: int = 0
    parted: int = 0
    findings: list[Finding] = field(default_factory=list)


class Lane:
    """One surface on both servers."""

    def __init__(self, surface: str, theirs: Server, ours: Server):
        self.surface, self.theirs, self.ours = surface, theirs, ours
        self.result = Result()
        self.failed = ""

    def play(self, name: str, steps: Iterable[Step], setup: tuple[Step, ...] = ()) -> None:
        """One session; where the two states part, the rest is played in a fresh namespace after the same setup."""
        self.result.sessions += 1
        pair = self._fresh(name, setup)
        for index, step in enumerate(steps):
            if not self._compare(Place(self.surface, name, index), step, pair):
                self.result.parted += 1
                pair = self._fresh(name, setup)

    def _fresh(self, name: str, setup: tuple[Step, ...]) -> _Pair:
        pair = _Pair(self.theirs, self.ours, f"diff-{self.surface}-{secrets.token_hex(6)}")
        for index, step in enumerate(setup):
            self._compare(Place(self.surface, name + " (setup)", index), step, pair)
        return pair

    def _compare(self, place: Place, step: Step, pair: _Pair) -> bool:
        """Whether the two states can still be the same after this step."""
        theirs, ours, readable = pair.ask(step)
        self.result.requests += 1
        same_state = True
        for difference in _most_telling(differences(*readable)):
            case = Case(self.surface, step, theirs, ours, difference)
            name = classify(case)
            self.result.findings.append(Finding(place, case, name))
            same_state = same_state and (name in SHOWN_ONLY or not step.operation)
        return same_state


class _Pair:
    """One fresh namespace on each server."""

    def __init__(self, theirs: Server, ours: Server, namespace: str):
        # Two names, so that a server can also be compared with itself.
        self._keys = (_Keys(theirs, namespace + "-t"), _Keys(ours, namespace + "-o"))
        started = datetime.now(timezone.utc)
        self._tokens = (Tokens(started), Tokens(started))

    def ask(self, step: Step) -> tuple[Answer, Answer, list[object]]:
        """Both answers, and both in comparable form."""
        theirs, ours = (keys.send(step) for keys in self._keys)
        readable = [tokens.replace(canonical(step, answer)) for tokens, answer in zip(self._tokens, (theirs, ours))]
        return theirs, ours, readable


def _most_telling(found: list[Difference]) -> list[Difference]:
    """A different status explains the rest of the answer; only it is kept."""
    status = [one for one in found if one.path == ("status",) or one.path[-1:] == ("isError",)]
    return status[:1] or found


class _Keys:
    """The credentials of one session on one server, made when first used."""

    def __init__(self, server: Server, namespace: str):
        self.server, self.namespace = server, namespace
        self._made: dict[str, str] = {}

    def send(self, step: Step) -> Answer:
        headers = {"Content-Type": "application/json", **step.headers}
        if step.key != "none":
            headers["Authorization"] = "Bearer " + self._credential(step.key)
        return self.server.send(step.method, step.path, step.body, headers)

    def _credential(self, kind: str) -> str:
        if kind == "admin":
            return self.server.admin_key
        if kind == "bad":
            return "rcl_0123456789abcdef_" + "A" * 32
        if kind not in self._made:
            self._made[kind] = self._mint(kind)
        return self._made[kind]

    def _mint(self, kind: str) -> str:
        fields = {"expires_in": "15m"} if kind == "expiring" else {}
        record = self.server.mint(namespace=self.namespace, **fields)
        if kind == "revoked":
            self.server.send("DELETE", "/v1/keys/" + record["id"], None, {"Authorization": "Bearer " + self.server.admin_key})
        return record["key"]


def scenarios(surface: str, seeds: Iterable[int], per_seed: int, base: datetime) -> Iterator[corpus.Scenario]:
    """The fixed cases, then `per_seed` random sessions for each seed."""
    for scenario in corpus.scenarios(surface, base):
        yield corpus.Scenario("fixed: " + scenario.name, scenario.steps, scenario.setup)
    for seed in seeds:
        for number in range(per_seed):
            steps = tuple(Session(surface, seed, number, base).steps(STEPS_PER_SESSION))
            yield corpus.Scenario(f"seed {seed}.{number}", steps)
