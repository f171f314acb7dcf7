#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of each process in turn, while calls run: the next call is answered within seconds,
a call that ran is answered once and truly, and nothing is left over."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import kills

SOON_S = 10.0
# Who may die without that a running Bash call notices.
BESIDE = ("engine", "zygote read", "zygote write", "zygote shell", "worker read", "worker write")


def victims(home, role, running):
    """A monitor or bash: the one that runs our call, else any."""
    pids = kills.of_role(home, role)
    if role in ("monitor", "bash"):
        table = ats.parents()
        chain, p = set(), running
        while p > 1:
            chain.add(p)
            p = table.get(p, 0)
        pids = [p for p in pids if p in chain]
    return pids


def running_call(home, mcp):
    """A Bash call that waits for a line in go: (request id, pid of its cat)."""
    for name in ("go", "ran"):
        if os.path.exists(os.path.join(home.ws, name)):
            os.unlink(os.path.join(home.ws, name))
    fifo = os.path.join(home.ws, "go")
    os.mkfifo(fifo)
    os.chmod(fifo, 0o666)
    id = mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "echo run >> %s/ran; cat %s/go; echo last" % (home.ws, home.ws)}})

    def cat():
        found = [p for p in ats.descendants(home.brain_pid()) if ats.comm(p) == "cat"]
        return found and found[0]
    return id, ats.until(cat, "the call runs")


def text_of(m):
    ats.check("result" in m, m)
    return "".join(c.get("text", "") for c in m["result"]["content"])


def next_calls(home, mcp, role):
    start = time.monotonic()
    ats.equal(mcp.text("Bash", command="echo next", timeout=SOON_S), "next")
    mcp.text("Write", file_path="new-" + role, content="new\n", timeout=SOON_S)
    ats.equal(mcp.text("Read", file_path="new-" + role, timeout=SOON_S), "1\tnew")
    spent = time.monotonic() - start
    ats.check(spent < SOON_S, "the next calls took %.1f s" % spent)
    return spent


def kill_one(home, mcp, role):
    id, cat = running_call(home, mcp)
    pids = victims(home, role, cat)
    ats.check(pids, "nobody in the role of " + role)
    start = time.monotonic()
    os.kill(pids[-1], signal.SIGKILL)
    ats.equal(ats.wait_gone([pids[-1]]), [], "it lives")
    if role in BESIDE:
        next_calls(home, mcp, role)
        with open(os.path.join(home.ws, "go"), "w", encoding="ascii") as f:
            f.write("more\n")
        ats.equal(text_of(mcp.answer(id)), "more\nlast", role)
    else:
        text = text_of(mcp.answer(id, SOON_S))
        spent = time.monotonic() - start
        if role == "bash":
            ats.contains(text, "killed by signal 9")
        elif role == "monitor":
            ats.missing(text, "last")
            ats.matches(text, "unknown|killed|signal 9|SIGKILL", role)
        else:
            ats.contains(text, "outcome of this call is unknown", role)
        ats.equal(ats.wait_gone([cat], SOON_S), [], "its process is left")
        next_calls(home, mcp, role)
        print("# %s: answered after %.3f s" % (role, spent))
    ats.equal(home.read("ran"), b"run\n", "it ran twice")


def kill_and_look(role):
    @ats.test("kill -9 of %s" % role, users=True)
    def _(home):
        mcp = home.mcp()
        mcp.initialize()
        for _ in range(2):
            kill_one(home, mcp, role)
        mcp.end()
        everything = home.ours()
        home.ctl("shutdown", code=0)
        ats.equal([ats.cmdline(p) for p in ats.wait_gone(everything, SOON_S)], [])


for r in kills.ROLES:
    kill_and_look(r)


@ats.test("kill -9 of atsctl mcp: its call ends, another client of the session goes on",
          users=True)
def _(home):
    mcp = home.mcp("--session", "one")
    mcp.initialize()
    mcp.text("Bash", command="mkdir -p sub && cd sub")
    _, cat = running_call(home, mcp)
    mcp.proc.kill()
    mcp.proc.wait()
    other = home.mcp("--session", "one")
    other.initialize()
    ats.contains(other.text("Bash", command="pwd"), "/sub")
    other.end()
    home.ctl("shutdown", code=0)
    ats.equal(ats.wait_gone([cat], SOON_S), [])


@ats.test("kill -9 of every process at once: nothing is left, the next call works", users=True)
def _(home):
    mcp = home.mcp()
    mcp.initialize()
    mcp.text("Bash", command="sleep 1000", run_in_background=True)
    brain = home.brain_pid()
    for pid in [brain, *ats.descendants(brain)]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    next_calls(home, mcp, "all")


@ats.test("SIGTERM of the brain, and SIGSTOP of front: in order, and found by its silence")
def _(home):
    home.configure({"heartbeat_ms": 200})
    mcp = home.mcp()
    mcp.initialize()
    mcp.text("Bash", command="true")
    front = kills.of_role(home, "front")[-1]
    os.kill(front, signal.SIGSTOP)
    start = time.monotonic()
    ats.equal(mcp.text("Read", file_path=home.write("x", "x\n"), timeout=SOON_S), "1\tx")
    print("# silence was found and mended in %.2f s" % (time.monotonic() - start))
    ats.equal(ats.wait_gone([front], SOON_S), [], "the stopped one is left")
    everything = [home.brain_pid(), *ats.descendants(home.brain_pid())]
    os.kill(home.brain_pid(), signal.SIGTERM)
    ats.equal([ats.cmdline(p) for p in ats.wait_gone(everything, SOON_S)], [])
    next_calls(home, mcp, "term")


ats.main()
