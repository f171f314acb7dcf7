#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Validate with the real programs: what it says is what the tool then does, nothing is left
behind, and it is answered when its sandbox is killed under it."""
import json
import os
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import kills

NOTEBOOK = json.dumps({"cells": [{"cell_type": "code", "id": "aa", "metadata": {}, "outputs": [],
                                  "execution_count": None, "source": ["a"]}],
                       "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def snapshot(home):
    """Names, modes, sizes, times and content of all that is in the workspace."""
    out = []
    for top, dirs, files in sorted(os.walk(home.ws)):
        for name in sorted(dirs + files):
            path = os.path.join(top, name)
            st = os.lstat(path)
            data = b""
            if name in files and not os.path.islink(path) and st.st_size < 1 << 20:
                with open(path, "rb") as f:
                    data = f.read()
            out.append((path, st.st_mode, st.st_size, st.st_mtime_ns, st.st_ctime_ns, data))
    return out


class Session:
    """The door's methods through atsctl mcp, which any user can start."""

    def __init__(self, home):
        self.home = home
        self.door = home.mcp("--session", "test")
        self.door.initialize()

    def validate(self, tool, **arguments):
        return self.door.request("ats/tool.validate", {"name": tool, "arguments": arguments})

    def call(self, tool, **arguments):
        return self.door.request("ats/tool.call", {"name": tool, "arguments": arguments})


# what, its arguments, the code or None
FIRST = [       # before anything was read
    ("Read", {"file_path": "f"}, None),
    ("Read", {"file_path": "none"}, "not_found"),
    ("Read", {"file_path": "/etc/shadow"}, "escapes"),
    ("Read", {"file_path": "dir"}, "not_a_file"),
    ("Read", {"file_path": "f", "limit": 0}, "bad_field"),
    ("Edit", {"file_path": "f", "old_string": "one", "new_string": "1"}, "not_read"),
    ("MultiEdit", {"file_path": "f", "edits": [{"old_string": "one", "new_string": "1"}]},
     "not_read"),
    ("Write", {"file_path": "f", "content": "x"}, "not_read"),
    ("Write", {"file_path": "new/deep/f", "content": "x"}, None),
    ("Write", {"file_path": ".mcp.json", "content": "x"}, "denied"),
    ("Write", {"file_path": ".git/hooks/pre-commit", "content": "x"}, "denied"),
    ("Write", {"file_path": "/usr/f", "content": "x"}, "escapes"),
    ("Write", {"file_path": "/tmp/f", "content": "x"}, None),
    ("NotebookEdit", {"notebook_path": "n.ipynb", "cell_id": "aa", "new_source": "b"}, "not_read"),
    ("Glob", {"pattern": "**/*.c"}, None),
    ("Glob", {"pattern": "[a"}, "invalid"),
    ("Grep", {"pattern": "one", "glob": "*.{c,h}", "type": "c"}, None),
    ("Grep", {"pattern": "("}, "invalid"),
    ("Grep", {"pattern": "a", "type": "klingon"}, "invalid"),
    ("LS", {"path": "dir"}, None),
    ("LS", {"path": "f"}, "invalid"),
    ("Bash", {"command": "echo > made; exit 1"}, None),
    ("Bash", {"command": ""}, "bad_field"),
    ("BashOutput", {"bash_id": "bash_1"}, "unknown_id"),
    ("TaskOutput", {"task_id": "bash_1"}, "unknown_id"),
    ("KillShell", {"shell_id": "bash_1"}, "unknown_id"),
    ("KillBash", {"shell_id": "bash_1"}, "unknown_id"),
    ("TaskStop", {"task_id": "bash_1"}, "unknown_id"),
]
THEN = [        # f and n.ipynb were read
    ("Edit", {"file_path": "f", "old_string": "one", "new_string": "1"}, None),
    ("Edit", {"file_path": "f", "old_string": "two", "new_string": "2"}, "ambiguous"),
    ("Edit", {"file_path": "f", "old_string": "two", "new_string": "2", "replace_all": True},
     None),
    ("Edit", {"file_path": "f", "old_string": "six", "new_string": "6"}, "no_match"),
    ("MultiEdit", {"file_path": "f", "edits": [{"old_string": "one", "new_string": "1"},
                                               {"old_string": "1\ntwo", "new_string": "2"}]}, None),
    ("MultiEdit", {"file_path": "f", "edits": [{"old_string": "one", "new_string": "1"},
                                               {"old_string": "one", "new_string": "2"}]},
     "no_match"),
    ("Write", {"file_path": "f", "content": "x"}, None),
    ("NotebookEdit", {"notebook_path": "n.ipynb", "cell_id": "aa", "new_source": "b"}, None),
    ("NotebookEdit", {"notebook_path": "n.ipynb", "cell_id": "zz", "new_source": "b"}, "no_match"),
]


def furnish(home):
    home.write("f", "one\ntwo\ntwo\n")
    home.write("n.ipynb", NOTEBOOK)
    home.write("dir/x", "")
    home.write(".git/hooks/old", "")


def check_rows(s, rows):
    for tool, arguments, code in rows:
        r = s.validate(tool, **arguments)
        ats.equal((r["valid"], r.get("code")), (code is None, code), "%s %r: %r" % (
            tool, arguments, r))
        ats.check(r["text"], "no text")


@ats.test("each tool, valid and not; nothing is left behind", users=True)
def _(home):
    furnish(home)
    s = Session(home)
    before = snapshot(home)
    check_rows(s, FIRST)
    ats.equal(snapshot(home), before)
    s.call("Read", file_path="f")
    s.call("Read", file_path="n.ipynb")
    check_rows(s, THEN)
    ats.equal(snapshot(home), before)
    ats.equal(s.call("Bash", command="ls /tmp/f /tmp/new")["exit"]["code"], 2)
    # What was said to be valid is: the tool itself agrees, row by row.
    for tool, arguments, code in FIRST[:-6] + THEN:
        if tool == "Bash":
            continue
        furnish(home)
        for name in ("f", "n.ipynb"):
            if (tool, arguments, code) in THEN:
                s.call("Read", file_path=name)
        if code == "not_read":
            continue    # by now it was
        r = s.call(tool, **arguments)
        ats.equal((r["is_error"], r.get("code")), (code is not None, code), "%s %r: %r" % (
            tool, arguments, r))


@ats.test("a validated Read is not a Read, a validated BashOutput leaves the output there")
def _(home):
    furnish(home)
    s = Session(home)
    ats.equal(s.validate("Read", file_path="f")["valid"], True)
    r = s.call("Edit", file_path="f", old_string="one", new_string="1")
    ats.equal(r["code"], "not_read")
    s.call("Bash", command="echo out; trap 'exit 3' TERM; while :; do sleep 0.05; done",
           run_in_background=True)
    for tool, arguments in (("BashOutput", {"bash_id": "bash_1"}),
                            ("TaskOutput", {"task_id": "bash_1"}),
                            ("KillShell", {"shell_id": "bash_1"}),
                            ("TaskStop", {"task_id": "bash_1"})):
        r = s.validate(tool, **arguments)
        ats.equal((r["valid"], r["output"]["status"]), (True, "running"), r)
    ats.equal(s.validate("BashOutput", bash_id="bash_1", filter="(")["code"], "invalid")
    got = [""]

    def told():
        got[0] += s.call("BashOutput", bash_id="bash_1")["content"][0]["text"]
        return "out\n" in got[0]
    ats.until(told, "the output that no validate took")
    r = s.call("KillShell", shell_id="bash_1")
    ats.equal(r["is_error"], False)
    ats.equal(s.validate("KillShell", shell_id="bash_1")["output"]["status"], "killed")


@ats.test("hands is killed under it: made again in the next sandbox", users=True)
def _(home):
    furnish(home)
    s = Session(home)
    s.call("Read", file_path="f")
    for role in ("front", "init", "launcher"):
        front = ats.until(lambda: kills.of_role(home, "front"), "a front")[-1]
        os.kill(front, signal.SIGSTOP)      # so that it cannot answer before it dies
        ids = [s.door.send("ats/tool.validate", {"name": t, "arguments": a}) for t, a in (
            ("Edit", {"file_path": "f", "old_string": "one", "new_string": "1"}),
            ("Edit", {"file_path": "f", "old_string": "six", "new_string": "1"}),
            ("Bash", {"command": "touch made"}))]
        ats.until(lambda: sum(c["state"] == "running" and c.get("validate", False)
                              for c in s.door.request("ats/status")["calls"]) == 3,
                  "three under way")
        os.kill(kills.of_role(home, role)[-1], signal.SIGKILL)
        got = [s.door.answer(i) for i in ids]
        ats.equal([a["result"]["valid"] for a in got], [True, False, True], got)
    ats.equal(home.read("f"), b"one\ntwo\ntwo\n")
    ats.check(not os.path.exists(os.path.join(home.ws, "made")), "the command ran")
    kills.no_crash(home)


@ats.test("workers are killed under it: an error that is no verdict, or the verdict",
          long=ats.PARTLY)
def _(home):
    furnish(home)
    s = Session(home)
    s.call("Read", file_path="f")
    stop = threading.Event()

    def killer():
        while not stop.is_set():
            for p in kills.of_role(home, "worker read"):
                try:
                    os.kill(p, signal.SIGKILL)
                except ProcessLookupError:
                    pass
    t = threading.Thread(target=killer)
    t.start()
    won = said = 0
    try:
        for n in range(4000):
            a = s.door.answer(s.door.send("ats/tool.validate", {
                "name": "Edit", "arguments": {"file_path": "f", "old_string": "one",
                                              "new_string": "%d" % n}}))
            if "error" in a:
                won += 1
            else:
                ats.equal(a["result"]["valid"], True)
                said += 1
            if min(won, said) > ats.rounds(0, 2):
                break
    finally:
        stop.set()
        t.join()
    ats.check(won and said, "won %d, answered %d" % (won, said))
    # Of the last ones killed some are still counted as ready.
    ats.until(lambda: "result" in s.door.answer(s.door.send("ats/tool.validate", {
        "name": "Edit", "arguments": {"file_path": "f", "old_string": "one", "new_string": "1"}})),
        "a verdict")


@ats.test("many beside edits of the same file: each edit is made once")
def _(home):
    furnish(home)
    home.write("g", "0\n")
    s = Session(home)
    s.call("Read", file_path="g")
    ids = []
    for n in range(40):
        a = {"file_path": "g", "old_string": "%d\n" % n, "new_string": "%d\n" % (n + 1)}
        ids.append((True, s.door.send("ats/tool.validate", {"name": "Edit", "arguments": a})))
        ids.append((None, s.door.send("ats/tool.call", {"name": "Edit", "arguments": a})))
        ids.append((False, s.door.send("ats/tool.validate", {"name": "Edit", "arguments": a})))
    for want, i in ids:
        r = s.door.answer(i)["result"]
        if want is None:
            ats.equal(r["is_error"], False, r)
        else:
            ats.equal(r["valid"], want, r)
    ats.equal(home.read("g"), b"40\n")


@ats.test("hostile values: a verdict or an error, and on it goes")
def _(home):
    furnish(home)
    s = Session(home)
    s.call("Read", file_path="f")
    os.mkfifo(os.path.join(home.ws, "fifo"))
    os.symlink("/etc/passwd", os.path.join(home.ws, "out"))
    os.symlink("loop", os.path.join(home.ws, "loop"))
    with open(os.path.join(home.ws, "huge"), "wb") as f:
        f.truncate(10 << 30)
    big = "x" * (1 << 20)
    for tool, arguments in (
            ("Write", {"file_path": "fifo", "content": "x"}),
            ("Edit", {"file_path": "fifo", "old_string": "a", "new_string": "b"}),
            ("Write", {"file_path": "out", "content": "x"}),
            ("Edit", {"file_path": "out", "old_string": "root", "new_string": "b"}),
            ("Write", {"file_path": "loop", "content": "x"}),
            ("Write", {"file_path": "a/" * 3000 + "b", "content": "x"}),
            ("Write", {"file_path": "n" * 300, "content": "x"}),
            ("Edit", {"file_path": "huge", "old_string": "a", "new_string": "b"}),
            ("MultiEdit", {"file_path": "f", "edits": [
                {"old_string": "one", "new_string": "one"}] * 1000}),
            ("MultiEdit", {"file_path": "f", "edits": []}),
            ("Grep", {"pattern": "(" * 60000}),
            ("Glob", {"pattern": "{" * 2000}),
            ("LS", {"path": "/proc/self/root"}),
            ("Read", {"file_path": "/dev/zero"}),
            ("Read", {"file_path": "fifo"}),
            ("Bash", {"command": 7}),
            ("Bash", {"command": "a\u0000b"}),
            ("KillShell", {"shell_id": "bash_1 "}),
            ("BashOutput", {"bash_id": "x" * 33})):
        r = s.validate(tool, **arguments)
        ats.equal(r["valid"], False, "%s %.80r: %.300r" % (tool, arguments, r))
    for tool, arguments in (
            ("Write", {"file_path": "big", "content": big}),
            ("Read", {"file_path": "./../%s/f" % os.path.basename(home.ws)}),
            ("Bash", {"command": ":(){ :|:& };:"}),
            ("Bash", {"command": "kill -9 -1"})):
        ats.equal(s.validate(tool, **arguments)["valid"], True, tool)
    ats.check(not os.path.exists(os.path.join(home.ws, "big")), "it was written")


@ats.test("atsctl call --validate: text, JSON and exit codes")
def _(home):
    furnish(home)
    edit = json.dumps({"file_path": "f", "old_string": "one", "new_string": "1"})
    r = home.ctl("call", "--validate", "Edit", edit, code=1)
    ats.contains(r.stdout, b"has not been read in this session")
    home.ctl("call", "Read", '{"file_path":"f"}', code=0)
    r = home.ctl("call", "--validate", "Edit", edit, code=0)
    ats.matches(r.stdout.decode(), r"^Would edit .*/f: 1 replacement\.\n$")
    r = home.ctl("--json", "call", "--validate", "Edit", "-", input=edit.encode(), code=0)
    ats.equal(json.loads(r.stdout)["output"]["changes"], 1)
    r = home.ctl("--json", "call", "--validate", "Read", '{"file_path":"no"}', code=1)
    ats.equal(json.loads(r.stdout)["code"], "not_found")
    ats.equal(home.read("f"), b"one\ntwo\ntwo\n")
    for args in (("Nope", "{}"), ("Edit", "[]"), ("Edit", "{")):
        r = home.ctl("call", "--validate", *args, code=125)
        ats.check(not r.stdout and r.stderr.startswith(b"atsctl: "), r)
    ats.contains(home.ctl("completion", "bash", code=0).stdout, b"--validate")
    ats.contains(home.ctl("call", "--help", code=0).stdout, b"--validate")


ats.main()
