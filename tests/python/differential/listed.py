"""Reads the classes that docs/differences.md describes."""
from __future__ import annotations

import re
from pathlib import Path

_HEADING = re.compile(r"^## `?([a-z0-9][a-z0-9-]*)`?\s*$", re.M)


def find(start: Path) -> Path:
    """docs/differences.md of the project that holds this package."""
    for folder in start.resolve().parents:
        page = folder / "docs" / "differences.md"
        if page.is_file():
            return page
    raise SystemExit("docs/differences.md was not found above this package; name it with --differences FILE")


def classes(page: Path) -> set[str]:
    """The class names, one a second-level heading."""
    names = _HEADING.findall(page.read_text(encoding="utf-8"))
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise SystemExit(f"{page} describes {', '.join(sorted(twice))} twice")
    return set(names)
