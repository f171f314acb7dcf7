#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A call that prints without end, among 64 in flight, delays the others' answers little."""
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

FACTOR = 3.0
ROUNDS = 40
TRIES = 6


def one(mcp, name, **args):
    began = time.monotonic()
    mcp.text(name, **args)
    return (time.monotonic() - began) * 1000


def waiting(home, mcp, n):
    """n calls in flight that only wait, until go is closed."""
    ids = [mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "echo >> waiting; cat go"}}) for _ in range(n)]
    ats.until(lambda: os.path.exists(os.path.join(home.ws, "waiting")) and
              len(home.read("waiting")) >= n, "%d calls run" % n)
    return ids


def flood(home):
    """An endless exec whose output is taken as fast as it comes."""
    with open(os.devnull, "wb") as null:
        p = home.popen(*home.prefix, ats.program("atsctl"), "exec", "--", "sh", "-c",
                       "touch flooding; exec yes", stdin=subprocess.DEVNULL, stdout=null,
                       stderr=subprocess.DEVNULL)
    ats.until(lambda: os.path.exists(os.path.join(home.ws, "flooding")), "the flood")
    return p


def end(home, p):
    p.terminate()
    p.wait(ats.TIMEOUT)
    os.unlink(os.path.join(home.ws, "flooding"))


def measure(home, mcp, make_flood):
    """Medians (alone, beside), interleaved so that the machine's noise meets both."""
    alone, beside = [], []
    for _ in range(4):
        alone += [one(mcp, "Read", file_path="f") for _ in range(ROUNDS // 4)]
        p = make_flood(home)
        try:
            beside += [one(mcp, "Read", file_path="f") for _ in range(ROUNDS // 4)]
        finally:
            end(home, p)
    return statistics.median(alone), statistics.median(beside)


def fair(home, make_flood, what):
    home.write("f", "text\n")
    os.mkfifo(os.path.join(home.ws, "go"))
    os.chmod(os.path.join(home.ws, "go"), 0o666)
    mcp = home.mcp()
    mcp.initialize()
    mcp.text("Read", file_path="f")
    ids = waiting(home, mcp, 62)
    tries = []
    for _ in range(TRIES):
        alone, beside = measure(home, mcp, make_flood)
        tries.append("%.2f ms alone, %.2f ms beside" % (alone, beside))
        if beside <= FACTOR * alone:
            break
    print("# %s: %s" % (what, "; ".join(tries)))
    fd = os.open(os.path.join(home.ws, "go"), os.O_WRONLY)
    os.close(fd)
    for id in ids:
        ats.check(not mcp.answer(id)["result"].get("isError"))
    ats.check(beside <= FACTOR * alone, "%s: %s" % (what, tries))


@ats.test("an exec that prints without end", users=True)
def _(home):
    fair(home, flood, "exec")


@ats.test("a Bash call that prints without end", users=True)
def _(home):
    class Flood:
        def __init__(self, home):
            self.mcp = home.mcp("--session", "flood")
            self.mcp.initialize()
            self.mcp.send("tools/call", {"name": "Bash", "arguments": {
                "command": "touch flooding; exec yes"}})
            ats.until(lambda: os.path.exists(os.path.join(home.ws, "flooding")), "the flood")

        def terminate(self):
            self.mcp.notify("notifications/cancelled", {"requestId": self.mcp.last_id})
            self.mcp.text("Read", file_path="f")

        def wait(self, _):
            brain = home.brain_pid()
            ats.until(lambda: not [p for p in ats.descendants(brain) if ats.comm(p) == "yes"],
                      "the flood ends")
            self.mcp.end()
    fair(home, Flood, "Bash")


@ats.test("64 calls at once are each answered, the quick ones first")
def _(home):
    mcp = home.mcp()
    mcp.initialize()
    mcp.text("Bash", command="true")
    slow = [mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "sleep 2; echo slow"}}) for _ in range(32)]
    quick = [mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "echo quick"}}) for _ in range(32)]
    order = []
    while len(order) < 64:
        m = mcp.message()
        if "id" in m:
            order.append(m["id"])
    late = [i for i in order[:32] if i in slow]
    ats.check(len(late) <= 4 and set(order) == set(slow + quick),
              "%d slow ones came before quick ones" % len(late))


ats.main()
