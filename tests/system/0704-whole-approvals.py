#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A gateway's tool that needs a person, all of it real: asked for by atsctl, an MCP client and a
relay directory; decided at a terminal and in a dialog; and what the audit log says of it."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from ctl_mcp import Client
from relay_shim import Server
from terminal import Terminal

TOOL = {"description": "says it again", "argv": ["/bin/cat"],
        "input": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}}


def configured(home, **approvals):
    home.configure({"approvals": approvals, "gateways": {"run": {"kind": "command", "tools": {
        "push": TOOL, "look": dict(TOOL, read_only=True)}}}})


def waiting(home):
    """The one approval that waits."""
    return json.loads(ats.until(lambda: home.ctl("approvals", "--json").stdout, "an approval"))


def approve(home, id):
    t = Terminal(home, ats.program("atsctl"), "approve", id)
    t.expect(rb"\[y/N\] $")
    t.type("y\n")
    t.end(0)


def events(home, session):
    lines = home.ctl("audit", "--json", "--session", session, code=0).stdout.splitlines()
    return [(x["event"], x["tool"], x.get("way")) for x in map(json.loads, lines)]


@ats.test("a call of the command line waits for the terminal; what only reads does not")
def _(home):
    configured(home)
    r = home.ctl("gateway", "call", "run__look", '{"to":"x"}', code=0)
    ats.equal(r.stdout, b'{"to":"x"}\n')
    p = home.popen(ats.program("atsctl"), "gateway", "call", "run__push", '{"to":"y"}',
                   stdout=subprocess.PIPE)
    a = waiting(home)
    ats.equal((a["gateway"], a["tool"], a["arguments"]), ("run", "run__push", {"to": "y"}))
    approve(home, a["id"])
    ats.equal(p.communicate(timeout=ats.TIMEOUT)[0], b'{"to":"y"}\n')
    ats.equal(p.returncode, 0)
    ats.equal([e[0] for e in events(home, a["session"])],
              ["ordered", "ended", "asked", "approved", "ordered", "ended"])


@ats.test("who calls at a terminal is told what is waited for")
def _(home):
    configured(home)
    for words in (["gateway", "call", "run__push", '{"to":"y"}'], ["exec", "--", "echo", "y"]):
        home.configure({"permissions": {"ask": ["Bash(echo:*)"]}, "gateways": {
            "run": {"kind": "command", "tools": {"push": TOOL}}}})
        t = Terminal(home, ats.program("atsctl"), *words)
        t.expect(rb"a person's approval; in another terminal: atsctl approve (a-[0-9a-f]{12})\r")
        id = waiting(home)["id"]
        ats.contains(t.text, id.encode())
        approve(home, id)
        ats.contains(t.end(0), b"y")


@ats.test("a relay directory: tools, missing arguments, tools of the sandbox, a denial")
def _(home):
    configured(home)
    home.ctl("gateway", "call", "run__look", '{"to":"x"}', code=0)
    r = Server(home).ready()
    with open(r.shim.path("tools.json"), encoding="utf-8") as f:
        ats.equal(sorted(s["name"] for s in json.load(f)), ["run__look", "run__push"])
    ats.equal(r.shim.call("run__look", {"to": "z"}), {"ok": True, "text": '{"to":"z"}'})
    ats.contains(r.shim.call("run__look", {})["error"], "missing")
    ats.contains(r.shim.call("Bash", {"command": "id"})["error"], "no tool of this name")
    id = r.shim.ask("run__push", {"to": "relay"})
    home.ctl("deny", waiting(home)["id"], "--reason", "not today", code=0)
    answer = r.shim.answer(id)
    ats.equal(answer["ok"], False)
    ats.contains(answer["error"], "not today")
    id = r.shim.ask("run__push", {"to": "again"})
    approve(home, waiting(home)["id"])
    ats.equal(r.shim.answer(id), {"ok": True, "text": '{"to":"again"}'})
    # The end of the server takes back what waits.
    id = r.shim.ask("run__push", {"to": "late"})
    a = waiting(home)
    r.end()
    ats.equal(r.shim.answer(id)["ok"], False)
    ats.until(lambda: events(home, a["session"])[-1][0] == "withdrawn", "a withdrawn call")


def last_audit(home):
    last = json.loads(home.ctl("audit", "--json", code=0).stdout.splitlines()[-1])
    return last["event"], last["way"]


@ats.test("a dialog of the client decides, where the configuration lets it")
def _(home):
    for allowed in (True, False):
        configured(home, elicitation=allowed)
        c = Client(home, start=True)
        c.request("initialize", {"protocolVersion": "2025-06-18",
                                 "capabilities": {"elicitation": {}},
                                 "clientInfo": {"name": "the client", "version": "1"}})
        c.notify("notifications/initialized")
        id = c.send("tools/call", {"name": "run__push", "arguments": {"to": "dialog"}})
        if allowed:
            m = c.message()
            while m.get("method") != "elicitation/create":
                m = c.message()
            c._send(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {
                "action": "accept", "content": {"decision": "approve"}}}).encode() + b"\n", ())
        a = None if allowed else waiting(home)
        if a:
            approve(home, a["id"])
        ats.equal(c.answer(id)["result"]["content"], [{"type": "text", "text": '{"to":"dialog"}'}])
        ats.missing([n["method"] for n in c.notes], "elicitation/create")
        c.rest()
        way = "elicitation the_client" if allowed else "terminal"
        # It may be written after the client has its answer.
        ats.until(lambda w=way: last_audit(home) == ("ended", w), "the end in the audit log")
        home.ctl("shutdown", code=0)


ats.main()
