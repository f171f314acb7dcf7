#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a client that lost its connection does: the same tools/call again. It carries the id of
the model's tool use, and runs once, by whatever way it comes the second time."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from gate import Gate
from http_client import Client, Server

WAITS = {"name": "Bash", "arguments": {"command": "echo x >> ran; read x < go; echo went"},
         "_meta": {"claudecode/toolUseId": "toolu_01"}}


def until_it_runs(home):
    ats.until(lambda: os.path.exists(os.path.join(home.ws, "ran")), "it runs")


def text(result):
    ats.check(not result.get("isError"), result)
    return result["content"][0]["text"]


def only_once(home, ask):
    """ask(params) -> result. The call is answered again, another one of that id is not."""
    ats.equal(text(ask(WAITS)), "went")
    ats.equal(home.read("ran"), b"x\n")
    other = {**WAITS, "arguments": {"command": "echo y >> ran"}}
    try:
        r = ask(other)
        ats.check(r.get("isError"), r)
    except (ats.RpcError, KeyError):
        pass            # a protocol error is a refusal, too
    ats.equal(home.read("ran"), b"x\n")


@ats.test("atsctl mcp is killed under a call, and the next one asks again: while it runs, and later")
def _(home):
    gate = Gate(home)
    first = home.mcp()
    first.initialize()
    first.send("tools/call", WAITS)
    until_it_runs(home)
    first.proc.kill()
    first.proc.wait()
    second = home.mcp()
    second.initialize()
    id = second.send("tools/call", WAITS)
    ats.equal(second.request("ping"), {})
    gate.open()
    ats.equal(text(second.answer(id)["result"]), "went")
    only_once(home, lambda p: second.request("tools/call", p))
    third = home.mcp()
    third.initialize()
    only_once(home, lambda p: third.request("tools/call", p))


@ats.test("everything of brain is killed under a call, and it is asked for again: unknown, not run")
def _(home):
    Gate(home)
    mcp = home.mcp()
    mcp.initialize()
    id = mcp.send("tools/call", WAITS)
    until_it_runs(home)
    brain = home.brain_pid()
    for pid in (brain, *ats.descendants(brain)):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass            # with its parent
    for r in (mcp.answer(id)["result"], mcp.request("tools/call", WAITS)):
        ats.check(r["isError"], r)
        ats.contains(r["content"][0]["text"], "not run again")
    ats.equal(home.read("ran"), b"x\n")


@ats.test("an HTTP connection is lost under a call, and it is asked for again on another one")
def _(home):
    home.start()
    server = Server(home)
    gate = Gate(home)
    c = Client(server)
    c.conn.request(body=c.message("tools/call", WAITS), session=c.session)
    until_it_runs(home)
    c.close()
    c.conn = server.connect()
    c.conn.request(body=c.message("tools/call", WAITS), session=c.session)
    d = Client(server, c.session)
    d.last = 100
    ats.equal(d.post("ping", {}).json()["result"], {})
    gate.open()
    ats.equal(text(c.conn.answer().json()["result"]), "went")
    only_once(home, lambda p: d.post("tools/call", p).json()["result"])


@ats.test("ats-http is killed under a call, and it is asked for again at the next one")
def _(home):
    home.start()
    server = Server(home)
    gate = Gate(home)
    c = Client(server)
    c.conn.request(body=c.message("tools/call", WAITS), session=c.session)
    until_it_runs(home)
    server.again()
    d = Client(server, c.session)
    d.conn.request(body=d.message("tools/call", WAITS), session=d.session)
    gate.open()
    ats.equal(text(d.conn.answer().json()["result"]), "went")
    only_once(home, lambda p: d.post("tools/call", p).json()["result"])


ats.main()
