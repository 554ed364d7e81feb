"""Finds where two comparable answers differ."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MISSING = "<absent>"


@dataclass(frozen=True)
class Difference:
    """One place where the answers differ."""

    path: tuple[str | int, ...]
    theirs: Any
    ours: Any

    def describe(self) -> str:
        """The place and both values."""
        where = "/".join(map(str, self.path)) or "(whole answer)"
        return f"{where}: original {_short(self.theirs)}, ours {_short(self.ours)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else text[:300] + "…"


def differences(theirs: Any, ours: Any, path: tuple[str | int, ...] = ()) -> list[Difference]:
    """Every place where `ours` is not `theirs`."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        found = []
        for name in sorted(theirs.keys() | ours.keys()):
            found += differences(theirs.get(name, MISSING), ours.get(name, MISSING), (*path, name))
        return found
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        found = []
        for index, (one, other) in enumerate(zip(theirs, ours)):
            found += differences(one, other, (*path, index))
        return found
    same = theirs == ours and isinstance(theirs, bool) == isinstance(ours, bool)
    return [] if same else [Difference(path, theirs, ours)]
