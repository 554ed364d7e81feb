"""`tests/complaints.md` names for each complaint tests that exist, and leaves out none that is about one."""
from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMPLAINTS = 72
NAMED = re.compile(r"`([\w./-]+\.(?:rs|py))::(\w+)`")
FUNCTION = re.compile(r"^\s*(?:pub(?:\(\w+\))? )?(?:async )?(?:fn|def) (\w+)", re.MULTILINE)


def rows() -> list[list[str]]:
    """The cells of each line of the table."""
    lines = (ROOT / "tests/complaints.md").read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if re.match(r"\| \d", line)]


def functions(path: str) -> set[str]:
    """The names of all functions of a file; none if there is no such file."""
    file = ROOT / path
    return set(FUNCTION.findall(file.read_text(encoding="utf-8"))) if file.is_file() else set()


def test_every_complaint_stands_once_and_in_order():
    assert [int(row[0].removesuffix("★")) for row in rows()] == list(range(1, COMPLAINTS + 1))


def test_every_complaint_has_its_source_and_a_test():
    for row in rows():
        assert len(row) == 5 and all(row[1:3]), row
        assert row[3] and not NAMED.sub("", row[3]).strip(), f"complaint {row[0]} names no tests, or something that is none: {row[3]}"


def test_every_test_that_is_named_exists():
    named = {test for row in rows() for test in NAMED.findall(row[3])}
    missing = [f"{path}::{name}" for path, name in sorted(named) if name not in functions(path)]
    assert len(named) > COMPLAINTS and not missing, f"tests/complaints.md names tests that do not exist: {missing}"


def test_every_test_of_a_complaint_is_named():
    named = {test for row in rows() for test in NAMED.findall(row[3])}
    files = [path.relative_to(ROOT).as_posix() for path in Path(__file__).parent.glob("test_complaints*.py") if path != Path(__file__)]
    assert len(files) == 3, files
    left_out = [f"{path}::{name}" for path in files for name in functions(path) if name.startswith("test_") and (path, name) not in named]
    assert not left_out, f"tests/complaints.md leaves out {sorted(left_out)}"
