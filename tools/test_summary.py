"""Adds up JUnit reports: names what failed, says why tests were skipped, closes with one line.

    python tools/test_summary.py build/reports/*.xml

Exits with 1 when a test failed or none ran.
"""

from __future__ import annotations

import itertools
import re
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict


def skip_reason(case: ET.Element, skipped: ET.Element) -> str:
    """pytest gives the reason as the message; GoogleTest says it in its output."""
    message = skipped.get("message", "")
    if not message.startswith("SKIP_REGULAR_EXPRESSION"):
        return message or "no reason given"
    output = case.findtext("system-out") or ""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for before, after in itertools.pairwise(lines):
        if re.search(r": Skipped$", before):
            return after
    return "no reason given"


def main(paths: list[str]) -> int:
    passed = 0
    failed: list[str] = []
    skipped: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        for case in ET.parse(path).getroot().iter("testcase"):
            name = ".".join(filter(None, (case.get("classname"), case.get("name"))))
            skip = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None:
                failed.append(name)
            elif skip is not None:
                skipped[skip_reason(case, skip)].append(name)
            else:
                passed += 1

    for reason, names in sorted(skipped.items()):
        print(f"skipped {len(names)}: {reason}")
        print("".join(f"    {name}\n" for name in names), end="")
    for name in failed:
        print(f"failed: {name}")
    count = sum(map(len, skipped.values()))
    print(f"{passed} passed, {len(failed)} failed" + (f", {count} skipped" if count else ""))
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
