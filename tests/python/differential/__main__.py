"""The command line: plays both servers, prints what differs, ends with the counts."""
from __future__ import annotations

import argparse
import sys
import threading
from collections import defaultdict
from datetime import datetime, timedelta, timezone
from pathlib import Path

from . import listed
from .rules import RULES, proposed
from .run import Finding, Lane, scenarios
from .wire import Server

SURFACES = ("typed", "open", "text")


def main() -> int:
    """Run the comparison; 0 when every difference is listed and every listed class occurred."""
    options = _options()
    known = set() if options.no_list else listed.classes(options.differences or listed.find(Path(__file__)))
    lanes = _lanes(options)
    base = (datetime.now(timezone.utc) - timedelta(minutes=10)).replace(minute=0, second=0, microsecond=0)
    threads = [threading.Thread(target=_play, args=(lane, options, base), name=lane.surface) for lane in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole_run = options.only is None and {lane.surface for lane in lanes} == set(SURFACES)
    return _report(lanes, known, whole_run and not options.no_list, options.show)


def _play(lane: Lane, options: argparse.Namespace, base: datetime) -> None:
    for scenario in scenarios(lane.surface, range(options.seed, options.seed + options.seeds), options.sessions, base):
        if options.only is None or options.only in scenario.name:
            try:
                lane.play(scenario.name, scenario.steps, scenario.setup)
            except (OSError, SystemExit) as error:
                lane.failed = f"{lane.surface}/{scenario.name}: {error!r}"
                return


def _report(lanes: list[Lane], known: set[str], check_stale: bool, show: int) -> int:
    by_class: dict[str, list[Finding]] = defaultdict(list)
    for lane in lanes:
        for finding in lane.result.findings:
            by_class[finding.name or proposed(finding.case)].append(finding)
        print(f"{lane.surface}: {lane.result.sessions} sessions, {lane.result.requests} requests, "
              f"parted {lane.result.parted} times")
    failures = [lane.failed for lane in lanes if lane.failed]
    for broken in failures:
        print(f"FAIL not finished: {broken}")
    failed = len(failures)
    for name in sorted(by_class):
        findings = by_class[name]
        if name in known:
            print(f"listed    {name}: {len(findings)} times, first at {findings[0].place}")
            continue
        failed += 1
        print(f"FAIL unlisted {name}: {len(findings)} times")
        for finding in findings[:show]:
            print(finding.describe())
    stale = sorted(known - by_class.keys()) if check_stale else []
    named = {name for name, _ in RULES}
    for name in stale:
        why = "no longer occurs" if name in named else "no longer occurs (and no rule gives this name)"
        print(f"FAIL stale {name}: {why}; take it out of the list")
    failed += len(stale)
    findings = sum(len(lane.result.findings) for lane in lanes)
    requests = sum(lane.result.requests for lane in lanes)
    print(f"{requests} requests to each server, {findings} differences in {len(by_class)} classes")
    print(f"{len(known & by_class.keys()) + (requests > 0)} passed, {failed} failed")
    return 1 if failed or not requests else 0


def _lanes(options: argparse.Namespace) -> list[Lane]:
    theirs, ours = _servers(options.theirs, options.theirs_admin_key_file or options.admin_key_file), \
        _servers(options.ours, options.ours_admin_key_file or options.admin_key_file)
    if theirs.keys() != ours.keys():
        raise SystemExit("--theirs and --ours must name the same surfaces")
    return [Lane(surface, theirs[surface], ours[surface]) for surface in SURFACES if surface in theirs]


def _servers(named: list[str], key_file: Path | None) -> dict[str, Server]:
    if key_file is None:
        raise SystemExit("give --admin-key-file, or one for each server")
    key = key_file.read_text(encoding="utf-8").strip()
    servers = {}
    for text in named:
        surface, separator, url = text.partition("=")
        if not separator or surface not in SURFACES:
            raise SystemExit(f"{text!r} must be SURFACE=URL with SURFACE one of {', '.join(SURFACES)}")
        servers[surface] = Server(url, key)
    return servers


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m differential", description=__doc__)
    parser.add_argument("--ours", action="append", required=True, metavar="SURFACE=URL", help="our server of that surface (repeat)")
    parser.add_argument("--theirs", action="append", required=True, metavar="SURFACE=URL", help="the published server of that surface (repeat)")
    parser.add_argument("--admin-key-file", type=Path, help="an admin key that all servers know")
    parser.add_argument("--ours-admin-key-file", type=Path)
    parser.add_argument("--theirs-admin-key-file", type=Path)
    parser.add_argument("--seed", type=int, default=1, help="first seed (default 1)")
    parser.add_argument("--seeds", type=int, default=3, help="how many seeds (default 3)")
    parser.add_argument("--sessions", type=int, default=3, help="random sessions a seed and surface (default 3)")
    parser.add_argument("--only", help="only sessions whose name contains this, as 'seed 3.1' or 'fixed: value 4'")
    parser.add_argument("--differences", type=Path, help="the list of known classes (default: docs/differences.md above this package)")
    parser.add_argument("--no-list", action="store_true", help="know no class: every difference fails")
    parser.add_argument("--show", type=int, default=2, help="examples printed for each unlisted class (default 2)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
