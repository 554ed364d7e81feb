"""Random but replayable sessions of memory operations.

A session is fixed by its seed, surface and number alone. Value pools are small on purpose, so that restating,
correcting, withdrawing and back-dating the same things happens all the time.
"""
from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any, Iterator

from .wire import Step, memory_step

SUBJECTS = ("user", "user", "user", "ana", " User ", "project:recall", "Zoë")
SINGLE = ("prefers_editor", "role", "name", "timezone", "project_status")
MULTI = ("uses_technology", "project_constraint", "note")
OPEN_ONLY = ("likes", "dislikes", "owns", "gave_away", "plans", "cancelled", "did", "goal", "lives_in", "detail", "works_at")
DEFINED = (("shoe_size", (41, 42, 42.0, 42.5, -7, 0)), ("is_ready", (True, False)), ("nick_name", ("Al", "al", "Bo")))
VALUES = ("vim", "Vim", " helix ", "zed", "rust", "Rust", "go", "日本語", "😀 smile", "café", "straße", "two words", "x" * 300)
TEXTS = (
    "My cat is called Figaro.",
    "I moved to Lisbon in spring and I work on compilers.",
    "The build breaks when the cache is cold; use neovim for the fix.",
    "猫の名前はフィガロです。",
    "Deploy the rust service to staging on Friday.",
    "Ana likes mangoes, Zoë likes figs.",
)
WORDS = ("vim", "helix", "rust", "compilers", "figaro", "lisbon", "mangoes", "staging", "unrelatedword")
# Hours before the base time. Whole hours keep days_ago the same on both servers, whenever each answers.
HOURS = (1, 2, 24, 25, 48, 72, 73, 168, 169, 500, 720, 2400)


class Session:
    """The steps of one session on one surface."""

    def __init__(self, surface: str, seed: int, number: int, base: datetime):
        self.surface = surface
        self.random = random.Random(f"{surface}/{seed}/{number}")
        self.base = base

    def steps(self, count: int) -> Iterator[Step]:
        """`count` requests."""
        for _ in range(count):
            operation, arguments = self._text() if self.surface == "text" else self._typed()
            if self.random.random() < 0.08:
                arguments = self._spoil(operation, arguments)
            through = "mcp" if self.random.random() < 0.35 else "rest"
            yield memory_step(self.surface, operation, arguments, through)

    def _time(self) -> str:
        moment = self.base - timedelta(hours=self.random.choice(HOURS))
        zone = self.random.random()
        if zone < 0.1:
            return (moment + timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%S") + "+02:00"
        if zone < 0.2:
            return moment.strftime("%Y-%m-%dT%H:%M:%S") + ".250Z"
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def _maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    def _predicate(self) -> str:
        names = SINGLE + MULTI + (OPEN_ONLY * 2 if self.surface == "open" else ())
        return self.random.choice(names)

    def _pair(self) -> dict[str, Any]:
        return {"subject": self.random.choice(SUBJECTS), "predicate": self._predicate()}

    def _fact(self) -> dict[str, Any]:
        fact = {**self._pair(), "value": self.random.choice(VALUES)}
        if self.surface == "open" and self._maybe(0.12):
            fact["predicate"], values = self.random.choice(DEFINED)
            fact["value"] = self.random.choice(values)
        return fact

    def _typed(self) -> tuple[str, dict[str, Any]]:
        choice = self.random.random()
        if choice < 0.40:
            return "remember", self._remember()
        if choice < 0.46:
            return "remember", self._statements()
        if choice < 0.70:
            return "recall", self._recall()
        if choice < 0.78:
            return "forget", self._forget()
        if choice < 0.86:
            return "history", self._pair()
        if choice < 0.93:
            return "timeline", self._pair()
        if choice < 0.98:
            return "diff", self._diff()
        if choice < 0.99:
            return "explain", {"question": self.random.choice(WORDS)}
        return "predicates", {}

    def _remember(self) -> dict[str, Any]:
        arguments = self._fact()
        if self._maybe(0.45):
            arguments["observed_at"] = self._time()
        if self._maybe(0.15):
            arguments["confidence"] = self.random.choice((0, 0.25, 0.5, 1, 1.0))
        if self._maybe(0.15):
            arguments["source"] = self.random.choice(("user_stated", "agent_inferred", "tool_result"))
        if self._maybe(0.15):
            arguments["kind"] = self.random.choice(("fact", "preference"))
        if self._maybe(0.15):
            arguments["replaces"] = self._replaces(arguments)
        return arguments

    def _replaces(self, arguments: dict[str, Any]) -> list[dict[str, Any]]:
        # Never a pair that also excludes the new statement: that answer is compared by the fixed cases.
        excluded = {"likes": "dislikes", "dislikes": "likes", "gave_away": "owns", "owns": "gave_away",
                    "plans": "cancelled", "cancelled": "plans"}.get(arguments["predicate"])
        named = [self._fact() for _ in range(self.random.randint(1, 2))]
        return [{"predicate": f["predicate"], "value": f["value"]} for f in named
                if f["predicate"] not in (excluded, arguments["predicate"])]

    def _statements(self) -> dict[str, Any]:
        text = self.random.choice(TEXTS)
        statements = []
        for _ in range(self.random.randint(0, 3)):
            words = text.split()
            start = self.random.randrange(len(words))
            evidence = " ".join(words[start:start + self.random.randint(1, 4)])
            statements.append({**self._pair(), "value": self.random.choice(VALUES), "evidence": evidence})
        arguments: dict[str, Any] = {"text": text, "statements": statements}
        if self._maybe(0.5):
            arguments["observed_at"] = self._time()
        return arguments

    def _recall(self) -> dict[str, Any]:
        shape = self.random.random()
        if shape < 0.35:
            arguments = self._pair()
        elif shape < 0.6:
            arguments = {"subject": self.random.choice(SUBJECTS), "limit": 1000}
        elif shape < 0.7:
            arguments = {"predicate": self._predicate(), "limit": 1000}
        else:
            arguments = {"query": self.random.choice(WORDS), "limit": 1000}
            if self._maybe(0.5):
                arguments["subject"] = self.random.choice(SUBJECTS)
        if self._maybe(0.3):
            arguments["as_of"] = self._time()
        if self._maybe(0.1):
            arguments["min_confidence"] = self.random.choice((0, 0.5, 0.8, 1))
        if self._maybe(0.1):
            arguments["with_sources"] = True
        if self._maybe(0.08):
            arguments["observed_after"] = self._time()
        if self._maybe(0.08):
            arguments["observed_before"] = self._time()
        return arguments

    def _forget(self) -> dict[str, Any]:
        arguments = self._pair()
        if self._maybe(0.75):
            arguments["value"] = self.random.choice(VALUES)
        return arguments

    def _diff(self) -> dict[str, Any]:
        arguments = {"from": self._time()}
        if self._maybe(0.5):
            arguments["to"] = self._time()
        if self.surface != "text" and self._maybe(0.3):
            arguments["subject"] = self.random.choice(SUBJECTS)
        return arguments

    def _text(self) -> tuple[str, dict[str, Any]]:
        choice = self.random.random()
        if choice < 0.4:
            return "remember", self._note()
        if choice < 0.75:
            return "recall", self._question()
        if choice < 0.85:
            return "diff", self._diff()
        if choice < 0.95:
            return "history", {"question": self.random.choice(WORDS)}
        return "forget", {"text": "something that nobody wrote down word for word"}

    def _note(self) -> dict[str, Any]:
        if self._maybe(0.3):
            turns = [{"role": self.random.choice(("user", "assistant")), "content": self.random.choice(TEXTS)}
                     for _ in range(self.random.randint(1, 3))]
            arguments: dict[str, Any] = {"messages": turns}
        else:
            arguments = {"text": self.random.choice(TEXTS + VALUES)}
        if self._maybe(0.5):
            arguments["observed_at"] = self._time()
        return arguments

    def _question(self) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        if self._maybe(0.6):
            arguments["question"] = self.random.choice(WORDS)
        if self._maybe(0.3):
            arguments["as_of"] = self._time()
        if self._maybe(0.3):
            arguments["since"] = self._time()
        return arguments

    def _spoil(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Make the arguments invalid in a way that every Recall server refuses."""
        spoiled = dict(arguments)
        ways = {
            "remember": (("observed_at", "2026-01-01"), ("observed_at", "yesterday"), ("observed_at", "2199-01-01T00:00:00Z"),
                         ("text", ""), ("text", 5)),
            "recall": (("as_of", "2026-01-01T00:00:00"), ("as_of", "x")),
            "forget": (("text", 5), ("text", "")) if self.surface == "text" else (("value", None), ("value", ""), ("predicate", "no_such_predicate_here")),
            "history": (("question", 5), ("question", " ")) if self.surface == "text" else (("subject", 5),),
            "timeline": (("subject", 5), ("bogus", 1)),
            "diff": (("from", ""), ("from", "2026-01-01"), ("from", "2199-01-01T00:00:00Z"), ("to", "never"), ("bogus", 1)),
            "explain": (("question", ""), ("question", 7)),
            "predicates": (),
        }[operation]
        if self.surface != "text" and operation == "remember" and "statements" not in arguments:
            ways += (("subject", " "), ("predicate", "Not Snake" if self.surface == "typed" else 5), ("value", None), ("value", []),
                     ("kind", "x"), ("source", "x"), ("confidence", 1.5), ("confidence", "1"), ("replaces", "x"))
        if self.surface != "text" and operation == "recall":
            ways += (("limit", 1001), ("limit", 1.5), ("limit", "1"), ("min_confidence", 1.1), ("subject", 5))
        if self.surface == "text" and operation in ("remember", "recall"):
            ways += (("bogus", 1),)
        if ways:
            name, value = self.random.choice(ways)
            spoiled[name] = value
        return spoiled
