#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever dies in the middle of a turn of Claude Code, the turn goes on: the model hears what
became of the call, nothing runs twice, and the session is the same one."""
import os
import signal

import cli
import kills
from cli import ALIASES, HTTP, MCP, Cli, ats
from gate import Gate

def pid_of(home, role):
    """The newest of that role; roles as in kills."""
    return ats.until(lambda: kills.of_role(home, role), "a process: " + role)[-1]


def kill(pid):
    os.kill(pid, signal.SIGKILL)
    ats.equal(ats.wait_gone([pid]), [])


def prepare(home, wiring):
    """A session with a past: a file that was read, a directory."""
    home.write("f", "one\n")
    gate = Gate(home)
    c = Cli(home, wiring)
    q, _ = c.use(c.model.request(), "Read", file_path=os.path.join(home.ws, "f"))
    q, _ = c.use(q, "Bash", command="mkdir d; cd d")
    q, _ = c.use(q, "Bash", command="cd ..; mkdir e; cd e")
    return c, gate, q


def is_same(home, c, q):
    """The session knows what it knew. Ends the turn."""
    q, r = c.use(q, "Bash", command="pwd")
    ats.equal(r.text, os.path.join(home.ws, "e"))
    q, r = c.use(q, "Edit", file_path=os.path.join(home.ws, "f"), old_string="one",
                 new_string="1")
    ats.check(not r.is_error, r.text)
    ats.equal(home.read("f"), b"1\n")
    q.say("done")
    ats.equal(c.turn_ends()["result"], "done")


def begin_one(home, c, q):
    """It has run once, and waits at the gate."""
    c.begin(q, ("Bash", {"command": "cd ..; echo x >> ran; read x < go; echo went; cd e"}))
    ats.until(lambda: os.path.exists(os.path.join(home.ws, "ran")), "the command runs")


@cli.test("the sandbox dies under a command: the model hears so, the next call has another one",
          MCP, ALIASES, HTTP)
def _(home, wiring):
    for role in ("front", "init"):
        c, _, q = prepare(home, wiring)
        begin_one(home, c, q)
        kill(pid_of(home, role))
        q = c.model.request()
        r = q.result()
        ats.check(r.is_error, r.text)
        ats.contains(r.text, "sandbox")
        ats.equal(home.read("ran"), b"x\n")
        is_same(home, c, q)
        c.end()
        for name in ("f", "go", "ran"):
            os.unlink(os.path.join(home.ws, name))
        for name in ("d", "e"):
            os.rmdir(os.path.join(home.ws, name))


@cli.test("the engine dies under a command: it goes on, and its result comes", MCP, ALIASES, HTTP)
def _(home, wiring):
    c, gate, q = prepare(home, wiring)
    begin_one(home, c, q)
    engine = pid_of(home, "engine")
    kill(engine)
    ats.until(lambda: kills.of_role(home, "engine") not in ([], [engine]), "a new engine")
    gate.open()
    q = c.model.request()
    ats.equal((q.result().is_error, q.result().text), (False, "went"))
    ats.equal(home.read("ran"), b"x\n")
    is_same(home, c, q)


@cli.test("the engine dies between two calls", MCP, ALIASES, HTTP)
def _(home, wiring):
    c, _, q = prepare(home, wiring)
    kill(pid_of(home, "engine"))
    is_same(home, c, q)


@cli.test("atsctl mcp dies under a command: the CLI starts it again, the session is the same",
          MCP, ALIASES)
def _(home, wiring):
    c, gate, q = prepare(home, wiring)
    begin_one(home, c, q)
    mcp = ats.find(c.process.pid, "atsctl")
    kill(mcp[-1])
    q = c.model.request()
    r = q.result()
    ats.check(r.is_error, r.text)
    gate.open()
    is_same(home, c, q)
    ats.equal(home.read("ran"), b"x\n")
    again = ats.find(c.process.pid, "atsctl")
    ats.check(again and again != mcp, (mcp, again))


@cli.test("atsctl mcp dies between two calls", MCP, ALIASES)
def _(home, wiring):
    c, _, q = prepare(home, wiring)
    kill(ats.find(c.process.pid, "atsctl")[-1])
    # A call before the CLI has seen it fails as any that was under way; it says so.
    q, r = c.use(q, "Bash", command="true")
    ats.check(not r.is_error or "Connection closed" in r.text, r.text)
    is_same(home, c, q)


@cli.test("brain dies as a whole: the next call starts another one with the same session",
          MCP, ALIASES)
def _(home, wiring):
    c, _, q = prepare(home, wiring)
    begin_one(home, c, q)
    brain = home.brain_pid()
    kill(brain)
    q = c.model.request()
    r = q.result()
    ats.check(r.is_error, r.text)
    ats.equal(home.read("ran"), b"x\n")
    is_same(home, c, q)
    ats.check(home.brain_pid() not in (None, brain), "another brain")


@cli.test("everything of ours dies at once", MCP, ALIASES)
def _(home, wiring):
    c, _, q = prepare(home, wiring)
    begin_one(home, c, q)
    brain = home.brain_pid()
    pids = [*ats.find(c.process.pid, "atsctl"), brain, *ats.descendants(brain)]
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass            # with its parent
    q = c.model.request()
    ats.check(q.result().is_error, q.result().text)
    is_same(home, c, q)
    ats.equal(home.read("ran"), b"x\n")


@cli.test("ats-http dies between two calls, and is started again", HTTP)
def _(home, wiring):
    c, _, q = prepare(home, wiring)
    c.http.again()
    is_same(home, c, q)


@cli.test("ats-http dies under a command: it ran once, the session is the same", HTTP)
def _(home, wiring):
    c, gate, q = prepare(home, wiring)
    begin_one(home, c, q)
    c.http.again()
    q = c.model.request()
    ats.check(q.result().is_error, q.result().text)
    gate.open()
    is_same(home, c, q)
    ats.equal(home.read("ran"), b"x\n")


ats.main()
