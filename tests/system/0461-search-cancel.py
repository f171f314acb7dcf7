#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A search is cancelled in the middle of a tree of 20,000 files that would take minutes: from
the cancel to the worker's death and to the answer, by both ways of asking."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

TICKS = os.sysconf("SC_CLK_TCK")
SLOW = "x*x*x*[yz]"             # cubic in the length of a line, below the limit of steps


def big_tree(home):
    """20,000 names of one file; to a search they are 20,000 files."""
    home.write("one", ("x" * 120 + "\n") * 200)
    home.write("small/a", "text\n")
    for d in range(ats.rounds(30, 100)):
        os.mkdir(os.path.join(home.ws, "d%d" % d))
        for i in range(200):
            os.link(os.path.join(home.ws, "one"), os.path.join(home.ws, "d%d" % d, "f%d" % i))


def processor(pid):
    """Seconds of processor time that a process has used."""
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS
    except OSError:
        return 0.0


def busy_worker(home, before):
    """The process that has used 0.2 s since before was taken."""
    found = []

    def look():
        found[:] = [p for p in ats.descendants(home.brain_pid())
                    if processor(p) - before.get(p, 0.0) > 0.2]
        return found
    ats.until(look, "no worker searches")
    ats.equal(len(found), 1, [(p, ats.comm(p), ats.cmdline(p)) for p in found])
    return found[0]


def times(home):
    return {p: processor(p) for p in ats.descendants(home.brain_pid())}


def slowest(peer, call):
    """The longest of twenty small calls: what this machine takes now for any answer at all."""
    worst = 0.0
    for _ in range(20):
        began = time.monotonic()
        call(peer)
        worst = max(worst, time.monotonic() - began)
    return worst


@ats.test("ats/call.cancel ends a search in the middle of a big tree", long=ats.PARTLY)
def _(home):
    big_tree(home)
    home.start()
    door = home.door(home.register()[0])
    limit = 1 + 10 * slowest(door, lambda d: d.request(
        "ats/tool.call", {"name": "LS", "arguments": {"path": "small"}}))
    for n in range(3):
        before = times(home)
        call = door.send("ats/tool.call", {"name": "Grep", "arguments": {"pattern": SLOW},
                                           "call_id": "k%d" % n})
        worker = busy_worker(home, before)
        began = time.monotonic()
        cancel = door.send("ats/call.cancel", {"call_id": "k%d" % n})
        r = door.answer(call)["result"]
        answered = time.monotonic() - began
        ats.equal(ats.wait_gone([worker], 10), [], "the worker goes on")
        gone = time.monotonic() - began
        door.answer(cancel)
        ats.equal((r["is_error"], r["code"]), (True, "cancelled"), r)
        print("# answered after %.1f ms, worker gone after %.1f ms (bound %.0f ms)" % (
            answered * 1000, gone * 1000, limit * 1000))
        ats.check(answered < limit and gone < limit, "too late")


@ats.test("notifications/cancelled does too, and the next call is answered", long=ats.PARTLY)
def _(home):
    big_tree(home)
    mcp = home.mcp()
    mcp.initialize()
    limit = 1 + 10 * slowest(mcp, lambda m: m.text("LS", path="small"))
    before = times(home)
    call = mcp.send("tools/call", {"name": "Grep", "arguments": {"pattern": SLOW}})
    worker = busy_worker(home, before)
    began = time.monotonic()
    mcp.notify("notifications/cancelled", {"requestId": call, "reason": "enough"})
    ats.equal(ats.wait_gone([worker], 10), [], "the worker goes on")
    gone = time.monotonic() - began
    print("# worker gone after %.1f ms (bound %.0f ms)" % (gone * 1000, limit * 1000))
    ats.check(gone < limit, "too late")
    ats.contains(mcp.text("LS", path="small"), "a")
    ats.check(call not in mcp.answers, "a cancelled request was answered")


ats.main()
