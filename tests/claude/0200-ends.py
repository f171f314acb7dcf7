#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Claude Code is interrupted, times out, ends: no command of its turn outlives that."""
import os
import signal

import cli
from cli import ALIASES, HTTP, MCP, Cli, ats

WORD = "86413"          # so long no sleep but ours


def sleeps(home):
    """Processes of the sandbox whose command line says so, seen from the host."""
    return home.pids("sleep " + WORD)


def begin_sleep(home, c, q):
    """A command that has left its session, another that cleans up when it is told to end."""
    c.begin(q, ("Bash", {"command": "top=$PWD; trap 'echo end >> $top/trapped; exit' TERM; "
                                    "setsid sleep %s & sleep %s; echo > $top/survived"
                                    % (WORD, WORD)}))
    ats.until(lambda: len(sleeps(home)) >= 2, "the command runs")
    return sleeps(home)


def all_gone(home, pids, trapped="trapped"):
    """trapped: the file that says that TERM came before KILL."""
    ats.equal(ats.wait_gone(pids), [])
    if trapped:
        path = os.path.join(home.ws, trapped)
        ats.until(lambda: os.path.exists(path) and home.read(trapped) == b"end\n", "the trap")
    ats.equal(sleeps(home), [])
    ats.check(not os.path.exists(os.path.join(home.ws, "survived")), "it went on")


@cli.test("SIGINT: the command and all that it started end, and so does atsctl mcp", MCP)
def _(home, wiring):
    c = Cli(home, wiring)
    pids = begin_sleep(home, c, c.model.request())
    mcp = ats.find(c.process.pid, "atsctl")
    ats.check(mcp, "atsctl mcp is the CLI's child")
    c.process.send_signal(signal.SIGINT)
    c.end()
    all_gone(home, pids)
    ats.equal(ats.wait_gone(mcp), [])
    ats.equal(home.ctl("exec", "--", "echo", "on", code=0).stdout, b"on\n")


@cli.test("an interrupt: the command ends, the session goes on with the next prompt", ALIASES)
def _(home, wiring):
    home.write("f", "one\n")
    c = Cli(home, wiring)
    q, _ = c.use(c.model.request(), "Read", file_path=os.path.join(home.ws, "f"))
    q, _ = c.use(q, "Bash", command="mkdir -m 777 d; cd d")
    pids = begin_sleep(home, c, q)
    c.control(subtype="interrupt")
    all_gone(home, pids, "d/trapped")
    c.turn_ends()
    c.prompt("go on")
    q = c.model.request()
    ats.contains(q.last_texts(), "go on")
    q, r = c.use(q, "Bash", command="pwd")
    ats.equal(r.text, os.path.join(home.ws, "d"))
    q, r = c.use(q, "Edit", file_path=os.path.join(home.ws, "f"), old_string="one",
                 new_string="1")
    ats.check(not r.is_error, r.text)
    q.say("done")
    c.turn_ends()
    ats.equal(c.end(), 0)


@cli.test("the CLI's own timeout of a call ends the command", MCP, ALIASES, HTTP)
def _(home, wiring):
    c = Cli(home, wiring, entry={"timeout": 3000})
    pids = begin_sleep(home, c, c.model.request())
    q = c.model.request()
    r = q.result()
    ats.check(r.is_error, r.text)
    ats.contains(r.text, "timed out")
    all_gone(home, pids)
    q, r = c.use(q, "Bash", command="echo next")
    ats.equal(r.text, "next")
    q.say("done")
    c.turn_ends()


@cli.test("a command's timeout: what it printed, and that it was ended", MCP, ALIASES)
def _(home, wiring):
    c = Cli(home, wiring)
    q, r = c.use(c.model.request(), "Bash", timeout=500, command="echo before; sleep " + WORD)
    ats.check(r.is_error, r.text)
    ats.contains(r.text, "before")
    ats.matches(r.text.lower(), "timed? ?out")
    ats.equal(sleeps(home), [])
    q.say("done")
    c.turn_ends()


@cli.test("several calls are cancelled together; those that only wait never start", ALIASES)
def _(home, wiring):
    c = Cli(home, wiring)
    q = c.model.request()
    c.begin(q, *[("Bash", {"command": "echo %d >> ran; sleep %s" % (i, WORD)}) for i in range(4)])
    ats.until(lambda: sleeps(home), "the first one runs")
    pids = sleeps(home)
    c.control(subtype="interrupt")
    all_gone(home, pids, None)
    c.turn_ends()
    ats.equal(home.read("ran"), b"0\n")
    c.prompt("more")
    q, r = c.use(c.model.request(), "Bash", command="cat ran")
    ats.equal(r.text, "0")
    q.say("done")
    c.turn_ends()


@cli.test("a background command outlives the turn and the CLI; its end is with the sandbox",
          MCP, ALIASES, HTTP)
def _(home, wiring):
    c = Cli(home, wiring)
    q, r = c.use(c.model.request(), "Bash", command="sleep " + WORD, run_in_background=True)
    ats.contains(r.text, "bash_")
    q.say("done")
    c.turn_ends()
    ats.equal(c.end(), 0)
    ats.equal(len(sleeps(home)), 1)
    pids = sleeps(home)
    home.ctl("shutdown", code=0)
    ats.equal(ats.wait_gone(pids), [])


ats.main()
