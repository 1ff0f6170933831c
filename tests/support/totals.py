#!/usr/bin/env python3
"""Reads the reports that test.sh left in a folder; prints failures, what was skipped and why, and one line of totals.

A program of cmocka counts by its own cases, a driver by the line "N passed, N failed, N skipped" that it ends with, anything
else as one. Exit status 1 when anything failed or nothing ran.
"""
import collections
import os
import re
import sys
import xml.etree.ElementTree


def count(output, status):
    """(passed, failed, skipped) of one test's output."""
    line = re.findall(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", output, re.M)
    if line:
        passed, failed, skipped = (int(n or 0) for n in line[-1])
        return passed, max(failed, 1) if status == "fail" else failed, skipped
    passed = sum(int(n) for n in re.findall(r"^\[  PASSED  \] (\d+) test\(s\)", output, re.M))
    failed = sum(int(n) for n in re.findall(r"^\[  FAILED  \] .*?(\d+) test\(s\)", output, re.M))
    skipped = sum(int(n) for n in re.findall(r"^\[  SKIPPED \] (\d+) test\(s\)", output, re.M))
    if status == "fail":
        return passed, max(failed, 1), skipped
    if status == "skip":
        return passed, failed, max(skipped, 1)
    return (passed, failed, skipped) if passed else (1, failed, skipped)


def main():
    folder = sys.argv[1]
    totals, reasons = [0, 0, 0], collections.Counter()
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".xml"):
            continue
        preset = name[:-len(".xml")]
        for case in xml.etree.ElementTree.parse(os.path.join(folder, name)).getroot().iter("testcase"):
            output = case.findtext("system-out") or ""
            status = {"run": "pass", "fail": "fail", "notrun": "skip", "disabled": "skip"}.get(case.get("status"), "fail")
            said_by_ctest = case.find("skipped")
            # ctest also calls a program that is not there "notrun".
            if case.find("failure") is not None or (
                    said_by_ctest is not None and not said_by_ctest.get("message", "").startswith("SKIP_RETURN_CODE")):
                status = "fail"
            counts = count(output, status)
            totals = [a + b for a, b in zip(totals, counts)]
            if counts[1]:
                print("FAILED %s (%s)\n%s\n" % (case.get("name"), preset, output[-6000:].rstrip()))
            said = re.findall(r"^skipped: [^:\n]+: (.+)$", output, re.M)
            for reason in said:
                reasons[reason.strip()] += 1
            if counts[2] > len(said):
                reasons["%s gave no reason" % case.get("name")] += counts[2] - len(said)
    checks = os.path.join(folder, "checks.txt")
    if os.path.exists(checks):
        with open(checks) as file:
            for line in file:
                word, _, name = line.strip().partition(" ")
                totals[{"ok": 0, "failed": 1, "skipped": 2}[word]] += 1
                if word == "failed":
                    print("FAILED %s" % name)
                elif word == "skipped":
                    reasons[name] += 1
    for reason, number in sorted(reasons.items()):
        print("skipped %d: %s" % (number, reason))
    print("%d passed, %d failed, %d skipped" % tuple(totals))
    sys.exit(1 if totals[1] or not totals[0] else 0)


if __name__ == "__main__":
    main()
