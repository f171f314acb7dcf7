#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The turn that packaging/quickstart plays, and the helpers against a real brain."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats


@ats.test("quickstart's turn holds in each step", home=False)
def _():
    r = subprocess.run([sys.executable, os.path.join(ats.TOP, "packaging", "turn.py"), ats.BUILD],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    ats.equal(r.returncode, 0, r.stdout.decode("utf-8", "replace"))


@ats.test("MCP, door and vault speak of the same session")
def _(home):
    home.write("a.txt", "one\n")
    mcp = home.mcp("--session", "test")
    mcp.initialize()
    ats.contains(mcp.text("Read", file_path="a.txt"), "1\tone")
    session, sandbox = home.register(key="name:test")
    door = home.door(session)
    r = door.request("ats/tool.call", {"name": "Edit", "call_id": "e1", "arguments": {
        "file_path": "a.txt", "old_string": "one", "new_string": "two"}})
    ats.equal((r["outcome"], r["is_error"]), ("done", False), r)
    ats.equal(home.read("a.txt"), b"two\n")
    ats.contains(str(door.request("ats/sandbox.list")), sandbox)


@ats.test("exec through the door streams both ways")
def _(home):
    home.start()
    session, _ = home.register()
    door = home.door(session)
    data = os.urandom(300000)
    r, out, err = door.exec(["sh", "-c", "cat; echo end >&2; exit 3"], "x1", data)
    ats.equal((r["outcome"], r["exit"]), ("done", {"kind": "exit", "code": 3}))
    ats.check(out == data, "stdout differs")
    ats.equal(err, b"end\n")


@ats.test("after shutdown nothing runs")
def _(home):
    pid = home.start()
    everything = [pid, *ats.descendants(pid)]
    ats.check(len(everything) > 5, everything)
    home.ctl("shutdown", code=0)
    ats.equal(ats.wait_gone(everything), [])


ats.main()
