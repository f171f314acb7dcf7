#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same calls through `claude mcp serve` and through `atsctl mcp`, and their differences.

Usage: run.py [--table] [--report FILE] [--version V]... [--propose] [CASE...]

Prints TAP, or with --table one line for each difference. A difference must stand in
expected/*.txt with its verdict; one that does not, and one that stands there and no longer
shows, fail. --propose prints blocks for those files, to be judged and put there by hand.
CASE is an id or the beginning of one. Needs node and npm, or the packages in BUILD/npm.
"""
import argparse
import os
import shutil
import stat
import sys
import time

import calls_bash  # noqa: F401
import calls_edit  # noqa: F401
import calls_search  # noqa: F401
import rules
import schemas
import sides
import table
import verdicts
import views
from sides import ats, claude


# ---- one case on one side -------------------------------------------------------------------

def snapshot(where, outside):
    """What stands in a case's directory and outside."""
    return {**entries(where, ""), **entries(outside, "$O/")}


def entries(where, prefix):
    """name -> text that says all of it that is compared."""
    out = {}
    for root, dirs, files in os.walk(where.encode()):
        for name in dirs + files:
            path = os.path.join(root, name)
            shown = os.path.relpath(path, where.encode()).decode("utf-8", "backslashreplace")
            if shown.startswith(".git/") and name not in (b"config", b"pre-commit"):
                continue
            s = os.lstat(path)
            kind = stat.filemode(s.st_mode)
            if stat.S_ISLNK(s.st_mode):
                text = "link to " + os.readlink(path).decode("utf-8", "backslashreplace")
            elif stat.S_ISREG(s.st_mode):
                text = "%d bytes" % s.st_size
                if s.st_size < 1 << 20:
                    with open(path, "rb") as f:
                        text = f.read().decode("utf-8", "backslashreplace")
                if s.st_nlink > 1:
                    kind += " %d names" % s.st_nlink
            else:
                text = ""
            out[prefix + shown] = ("%s %s" % (kind, text)).rstrip(" ")
    return out


def changes(before, after):
    out = []
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            out.append("%s %s" % (name, after.get(name, "is gone")))
    return " ; ".join(out) or "unchanged"


def fill(value, marks):
    if isinstance(value, str):
        for mark, text in marks.items():
            value = value.replace(mark, text)
        return value
    if isinstance(value, list):
        return [fill(v, marks) for v in value]
    if isinstance(value, dict):
        return {k: fill(v, marks) for k, v in value.items()}
    return value


def ask(side, name, view, case, tool, args, marks):
    # A native call that is known to hang is not waited for long; ours may not hang at all.
    short = case.deadline is not None and name == "native"
    kind, answer = side.call(tool, fill(args, marks), case.deadline if short else sides.DEADLINE)
    if kind != "answer":
        return "the server hangs" if kind == "hangs" else "the server is gone", ""
    is_error, text = view(tool, answer)
    m = views.BACKGROUND_ID.search(text)
    if m and args.get("run_in_background"):
        marks["$ID"] = m.group(1)
    return rules.canonical(name, tool, is_error, text, args, case, side), text


def observe(side, name, view, case, calls):
    """What came out: a line for each step, and one for the files."""
    where = table.make(side.home.ws, case, side.uid, side.outside)
    before = snapshot(where, side.outside)
    marks = {"$W": where, "$R": side.home.ws, "$O": side.outside,
             "$ID": "none-1"}
    seen = []
    for step, resolved in zip(case.steps, calls, strict=True):
        if isinstance(step, table.Host):
            step.act(where)
        elif isinstance(step, table.Survivors):
            seen.append("some" if side.survivors(step.word) else "none")
        else:
            end = time.monotonic() + sides.DEADLINE
            line, text = ask(side, name, view, case, *resolved, marks)
            printed = ""
            while step.pause and "<status>running" in text and time.monotonic() < end:
                printed += views.printed(line)
                line, text = ask(side, name, view, case, *resolved, marks)
            seen.append(line + printed)
    seen.append(rules.canonical(name, "files", False, changes(before, snapshot(where, side.outside)), {}, case,
                                side))
    if case.alone and side.server:
        kind, _ = side.call("Bash", {"command": "cd " + side.home.ws})
        pwd = side.call("Bash", {"command": "pwd"})[1] if kind == "answer" else None
        if not pwd or side.home.ws not in str(pwd):
            side.disconnect()
    clean(where, side)
    return seen


def clean(where, side):
    """Takes the case's directory away, and what was made outside."""
    for root, dirs, _ in os.walk(where):
        for d in dirs:
            if not os.path.islink(os.path.join(root, d)):
                os.chmod(os.path.join(root, d), 0o700)
    shutil.rmtree(where)
    for name in os.listdir(side.outside):
        if name != "secret":
            os.unlink(os.path.join(side.outside, name))
    with open(os.path.join(side.outside, "secret"), "w", encoding="ascii") as f:
        f.write("outside\n")


def resolve(case, version):
    """The calls of a case as this version names them."""
    return [s.as_in(version) if isinstance(s, table.Call) else None for s in case.steps]


def has_tools(calls, offered):
    return all(c is None or c[0] in offered for c in calls)


# ---- all cases --------------------------------------------------------------------------------

def labels(case):
    """The names of the lines that observe() gives."""
    out = [("%s %d" % (s.tool, i) if isinstance(s, table.Call) else "survivors")
           for i, s in enumerate(case.steps, 1) if not isinstance(s, table.Host)]
    return [*out, "files"]


def compare(version, cases, ours, known, wanted):
    """Yields (case, [(label, native, ours)] of what differs, or None where the version or
    the machine has not what it takes)."""
    native = sides.Native(version)
    try:
        offered = native.tools()
        for case, differences in schemas.compare(offered, ours.tools(), native.folder):
            if is_wanted(case, wanted):
                yield case, differences
        for case in cases:
            calls = resolve(case, version)
            if not has_tools(calls, offered) or case.needs and not shutil.which(case.needs):
                yield case, None
                continue
            key = (case.id, repr(calls))
            if key not in known:
                known[key] = observe(ours, "ours", views.ours, case, calls)
            theirs = observe(native, "native", views.native, case, calls)
            yield case, [(label, n, o) for label, n, o in
                         zip(labels(case), theirs, known[key], strict=True) if n != o]
    finally:
        native.close()


def is_wanted(case, wanted):
    return not wanted or any(case.id == w or case.id.startswith(w + ".") for w in wanted)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--table", action="store_true")
    p.add_argument("--propose", action="store_true")
    p.add_argument("--report")
    p.add_argument("--version", action="append", choices=sides.VERSIONS)
    p.add_argument("case", nargs="*")
    args = p.parse_args()
    versions = args.version or sides.VERSIONS
    cases = [c for c in table.CASES if is_wanted(c, args.case)]
    if rules.unshown(table.CASES):
        sys.exit("no case is without the rules: " + " ".join(rules.unshown(table.CASES)))
    expected = verdicts.load()
    out = verdicts.Output(args, expected)
    ours, known = sides.Ours(), {}
    try:
        for version in versions:
            try:
                for case, differences in compare(version, cases, ours, known, args.case):
                    out.judge(version, case, differences)
            except claude.Missing as e:
                out.skip(version, str(e))
    finally:
        left = ours.close()
    for line in left:
        out.fail("left over: " + line)
    if not out.number:
        sys.exit("no such case")
    return out.end()


if __name__ == "__main__":
    sys.exit(main())
