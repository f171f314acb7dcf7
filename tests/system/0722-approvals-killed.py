#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A call that a person approves, and each process on its way killed at each step: it ends exactly
once, as done, as not started, or as of an outcome that is not known, and what it says is so."""
import os
import re
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import kills
import person
import shim_client

# Says that it runs, ends when the test opens the FIFO.
SCRIPT = """#!/bin/sh
read -r line
echo "$line" >> %(dir)s/ran
read -r go < %(dir)s/go
echo "did: $line"
"""
kills.ROLES["gateway"] = ("ats-gateway", "ats-spawner")
TEXT = {"type": "object", "properties": {"t": {"type": "string"}}, "required": ["t"]}


class World:
    def __init__(self, home):
        if not os.path.exists(ats.program("ats-gateway")):
            ats.skip("ats-gateway is not built")
        self.home = home
        script = os.path.join(home.dir, "script")
        with open(script, "w", encoding="ascii") as f:
            os.fchmod(f.fileno(), 0o755)
            f.write(SCRIPT % {"dir": home.dir})
        os.mkfifo(os.path.join(home.dir, "go"), 0o600)
        tool = {"description": "d", "input": TEXT, "argv": [script]}
        home.configure({"permissions": {"ask": ["box__reads"]}, "gateways": {"box": {
            "kind": "command", "tools": {
                "change": tool, "reads": dict(tool, read_only=True),
                "ready": dict(tool, argv=["/bin/true"], permission="allow")}}}})
        self.mcp = home.mcp()
        self.mcp.initialize()
        self.mcp.tool("box__ready", {"t": "x"})     # the gateway runs

    def pid(self, role):
        return kills.of_role(self.home, role)[-1]

    def approvals(self):
        return person.waiting(self.home)

    def waits(self):
        return person.the_one(self.home)

    def approve(self):
        person.approve(self.home)

    def runs(self, word):
        try:
            with open(os.path.join(self.home.dir, "ran"), encoding="ascii") as f:
                return sum('"%s"' % word in x for x in f)
        except FileNotFoundError:
            return 0

    def go(self):
        """Lets what runs end; false when nothing does."""
        try:
            fd = os.open(os.path.join(self.home.dir, "go"), os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return False
        os.write(fd, b"go\n")
        os.close(fd)
        return True

    def audit(self, event):
        return [x for x in person.audit(self.home) if x["event"] == event and
                x["tool"] != "box__ready"]


def kill(w, role):
    pid = w.pid(role)
    os.kill(pid, signal.SIGKILL)
    ats.equal(ats.wait_gone([pid], 30), [], role)


class stopped:
    """The process does not run within, if it is there; it goes on after it, if it is there yet."""

    def __init__(self, w, role):
        self.pid = w.pid(role)

    def __enter__(self):
        os.kill(self.pid, signal.SIGSTOP)

    def __exit__(self, *what):
        try:
            os.kill(self.pid, signal.SIGCONT)
        except ProcessLookupError:
            pass


def before_the_ask(w, role, tool):
    with stopped(w, "vault"):
        i = w.mcp.send("tools/call", {"name": tool, "arguments": {"t": role}})
        w.mcp.request("ping")           # the engine has read it
        if role == "gateway":
            os.kill(w.pid(role), signal.SIGKILL)
        else:
            kill(w, role)
    return i, True


def while_it_waits(w, role, tool):
    i = w.mcp.send("tools/call", {"name": tool, "arguments": {"t": role}})
    w.waits()
    kill(w, role)
    return i, True


def before_it_is_run(w, role, tool):
    i = w.mcp.send("tools/call", {"name": tool, "arguments": {"t": role}})
    with stopped(w, "gateway"):
        w.approve()
        ats.until(lambda: w.audit("ordered"), "it is ordered")
        kill(w, role)
    return i, False


def after_it_has_run(w, role, tool):
    i = w.mcp.send("tools/call", {"name": tool, "arguments": {"t": role}})
    w.approve()
    ats.until(lambda: w.runs(role), "it runs")
    with stopped(w, "engine"):
        ats.until(w.go, "it waits for us")
        ats.until(lambda: w.audit("ended"), "it has ended")
        kill(w, role)
    return i, False


def end(w, i, may_wait):
    """Its one answer. A person says yes once at most, and lets end what runs."""
    said, over = [], threading.Event()

    def decide():
        while not over.is_set():
            try:
                for one in w.approvals():
                    if may_wait and not said:
                        person.approve(w.home, one)
                    elif one.id not in said:
                        person.deny(w.home, one, "again?")
                    said.append(one.id)
            except (OSError, ats.Failure, ats.VaultError):
                pass                    # it is just being started
            w.go()
            over.wait(0.02)
    t = threading.Thread(target=decide)
    t.start()
    try:
        r = w.mcp.answer(i)["result"]
    finally:
        over.set()
        t.join()
    ats.check(len(said) <= may_wait, "asked %d times" % len(said))
    return r


def check(w, role, r):
    said = "".join(c.get("text", "") for c in r["content"])
    runs = w.runs(role)
    if not r.get("isError"):
        ats.equal((runs, said.strip()), (1, 'did: {"t":"%s"}' % role))
        return "done"
    if re.search("unknown|not known", said):
        ats.check(runs <= 1, runs)
        return "unknown"
    ats.matches(said, "not started|before it started|not run")
    ats.equal(runs, 0, said)
    return "not started"


def shim_killed(moment, tool):
    """A caller in the sandbox that is gone: what waited is not asked about any more, what was
    approved runs once at most."""
    def one(home):
        w = World(home)
        home.write("client.py", shim_client.CLIENT)
        i = w.mcp.send("tools/call", {"name": "Bash", "arguments": {
            "command": "python3 client.py %s '{\"t\":\"shim\"}'" % tool}})
        w.waits()
        shim = [p for p in ats.find(home.brain_pid(), "shim") if "ats-hands" in ats.cmdline(p)]
        ats.check(shim, "no shim")
        if moment != "while it waits":
            w.approve()
            ats.until(lambda: w.runs("shim"), "it runs")
        for p in shim:
            os.kill(p, signal.SIGKILL)
        text = "".join(c.get("text", "") for c in w.mcp.answer(i)["result"]["content"])
        ats.missing(text, "did:")
        if moment == "while it waits":
            ats.until(lambda: not w.approvals(), "nobody is asked any more")
            ats.until(lambda: w.audit("withdrawn"), "it is in the log")
            ats.equal((w.runs("shim"), w.audit("ordered")), (0, []))
        else:
            ats.until(lambda: w.go() or w.audit("ended"), "its end")
            ats.until(lambda: w.audit("ended"), "its end")
            ats.equal((w.runs("shim"), len(w.audit("ended")), w.approvals()), (1, 1, []))
    return one


for moment in ("while it waits", "while it runs"):
    for tool in ("box__change", "box__reads"):
        ats.test("%s, %s: the shim is killed" % (tool[5:], moment))(shim_killed(moment, tool))


def waiting_command(home):
    """A command of the sandbox that waits for a person: the world, without gateways, and its id."""
    home.configure({"permissions": {"ask": ["Bash(echo *)"]}})
    w = World.__new__(World)
    w.home, w.mcp = home, home.mcp()
    w.mcp.initialize()
    i = w.mcp.send("tools/call", {"name": "Bash", "arguments": {"command": "echo once >> n"}})
    w.waits()
    return w, i


@ats.test("a command that waits for a person, and the engine is killed: it runs once")
def _(home):
    w, i = waiting_command(home)
    asked = w.waits()
    kill(w, "engine")
    # The next engine knows it: the question that a person may have before them is the one.
    ats.until(lambda: os.path.exists(home.door_path), "the door")
    ats.equal(w.waits(), asked)
    w.approve()
    r = w.mcp.answer(i)["result"]
    ats.check(not r.get("isError"), r)
    ats.equal((home.read("n"), w.approvals()), (b"once\n", []))
    ats.equal((len(w.audit("asked")), len(w.audit("approved")), len(w.audit("permitted"))),
              (1, 1, 1))


@ats.test("a command that a person has agreed to, and the engine is killed at once: not asked again")
def _(home):
    w, i = waiting_command(home)
    pid = w.pid("engine")
    os.kill(pid, signal.SIGSTOP)            # it does not hear of the answer
    w.approve()
    os.kill(pid, signal.SIGKILL)
    ats.equal(ats.wait_gone([pid], 30), [])
    r = w.mcp.answer(i)["result"]
    ats.check(not r.get("isError"), r)
    ats.equal((home.read("n"), w.approvals()), (b"once\n", []))
    ats.equal((len(w.audit("asked")), len(w.audit("permitted"))), (1, 1))


# What it may end as, where more than that it is true is promised.
ENDS = {
    (before_the_ask, "engine"): {"done", "not started"},
    # The vault may hear of its end after it has ordered.
    (before_the_ask, "gateway"): {"done", "not started", "unknown"},
    (while_it_waits, "engine"): {"done"},
    (while_it_waits, "gateway"): {"done", "unknown"},
    (before_it_is_run, "engine"): {"done"},
    (before_it_is_run, "gateway"): {"unknown"},
    (after_it_has_run, "engine"): {"done"},
    (after_it_has_run, "gateway"): {"done", "unknown"},
    (after_it_has_run, "vault"): {"unknown", "done"},
}
for moment in (before_the_ask, while_it_waits, before_it_is_run, after_it_has_run):
    for role in ("vault", "engine", "gateway"):
        for tool in ats.some(("box__change", "box__reads")):
            def one(home, moment=moment, role=role, tool=tool):
                w = World(home)
                i, may_wait = moment(w, role, tool)
                how = check(w, role, end(w, i, may_wait))
                ends = ENDS.get((moment, role), {"done", "not started", "unknown"})
                ats.check(how in ends, "%s is none of %s" % (how, sorted(ends)))
                ats.check(w.runs(role) <= 1, "it ran twice")
            ats.case("%s, %s: the %s is killed" % (tool[5:], moment.__name__.replace("_", " "),
                                                   role), one)


if __name__ == "__main__":
    ats.main()
