#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What make check-conformance makes of a result and of a row of tests/conformance/expected."""
import os
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(TOP, "lib"))
sys.path.insert(0, os.path.join(TOP, "conformance"))
import ats
import run

GOOD, BAD, WARNS = {"a": ("SUCCESS", "")}, {"a": ("FAILURE", "x")}, {"a": ("WARNING", "x")}
NOTHING = {"a": ("SKIPPED", ""), "b": ("INFO", "")}


@ats.test("a result that differs from its row fails, in either direction", home=False)
def _():
    rows = [
        ({"": None}, GOOD, True), ({"": None}, BAD, False), ({"": None}, WARNS, False),
        ({"": None}, NOTHING, False), ({"": None}, {**GOOD, **{"b": ("FAILURE", "")}}, False),
        ({"": "why"}, BAD, True), ({"": "why"}, WARNS, True), ({"": "why"}, NOTHING, True),
        ({"": "why"}, GOOD, False),
        ({"": None, "b": "why"}, {**GOOD, "b": ("FAILURE", "x")}, True),
        ({"": None, "b": "why"}, {**GOOD, "b": ("SUCCESS", "")}, False),
        ({"": None, "b": "why"}, {**BAD, "b": ("FAILURE", "x")}, False),
    ]
    for row, checks, passes in rows:
        wrong = run.judge("set", "s", checks, {("set", "s"): row})
        ats.check((wrong == []) == passes, (row, checks, wrong))
    ats.check(run.judge("set", "s", GOOD, {("set", "t"): {"": None}}), "one that is not listed")


@ats.test("the file can be read, and what it says of scenarios in scope is a pass", home=False)
def _():
    expected = run.read_expected()
    ats.equal({name for name, _ in expected}, set(run.SETS))
    out = ("prompts", "resource", "completion", "sampling", "roots", "tasks", "non-tool",
           "multiple-input")
    for (name, scenario), row in expected.items():
        ats.check(row[""] is None or any(w in scenario for w in out), (name, scenario, row))


if __name__ == "__main__":
    ats.main()
