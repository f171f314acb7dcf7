#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tools of gateways under Claude Code: its dialogs decide, or a terminal does; their results."""
import json

import cli
from cli import ALIASES, MCP, Cli, ats
from terminal import Terminal

SAY = {"description": "says it again", "argv": ["/bin/cat"],
       "input": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}}


def configured(home, elicitation):
    home.configure({"approvals": {"elicitation": elicitation}, "gateways": {"run": {
        "kind": "command", "tools": {"push": SAY, "look": dict(SAY, read_only=True)}}}})


def waiting(home):
    return [json.loads(x) for x in home.ctl("approvals", "--json", code=0).stdout.splitlines()]


def dialog(c):
    """The next one that Claude Code wants shown."""
    return c.event(lambda e: e.get("type") == "control_request" and
                   e["request"]["subtype"] == "elicitation")


def answer(c, asked, **response):
    c.say(type="control_response", response={
        "subtype": "success", "request_id": asked["request_id"], "response": response})


@ats.test("a dialog of Claude Code's shows all of it, and its answer decides")
def _(home):
    configured(home, True)
    c = Cli(home, ALIASES)
    q, r = c.use(c.model.request(), "run__look", to="x")
    ats.equal((r.is_error, r.text), (False, '{"to":"x"}'))
    for said, content in (("approve", '{"to":"y"}'), ("deny", "denied")):
        c.begin(q, ("run__push", {"to": "y"}))
        asked = dialog(c)
        ats.contains(asked["request"]["message"], '"to": "y"')
        ats.contains(asked["request"]["message"], home.ws)
        ats.equal(len(waiting(home)), 1)
        answer(c, asked, action="accept", content={"decision": said})
        q = c.model.request()
        ats.equal(q.result().is_error, said == "deny")
        ats.contains(q.result().text, content)
        ats.equal(waiting(home), [])
    q.say("done")
    c.turn_ends()


@ats.test("an interrupt under a dialog: the session goes on, the question goes with Claude Code")
def _(home):
    configured(home, True)
    c = Cli(home, ALIASES)
    c.begin(c.model.request(), ("run__push", {"to": "y"}))
    dialog(c)
    c.control(subtype="interrupt")
    c.turn_ends()
    c.prompt("on")
    q, r = c.use(c.model.request(), "run__look", to="z")
    ats.equal(r.text, '{"to":"z"}')
    q.say("done")
    c.turn_ends()
    # With 2026-07-28 nobody has said that it is not wanted any more.
    ats.equal(len(waiting(home)), 0 if cli.is_older() else 1)
    ats.equal(c.end(), 0)
    ats.until(lambda: waiting(home) == [], "nothing waits")


@ats.test("without dialogs a terminal decides, while the model waits")
def _(home):
    configured(home, False)
    c = Cli(home, MCP)
    c.begin(c.model.request(), ("run__push", {"to": "y"}))
    ats.until(lambda: waiting(home), "an approval")
    t = Terminal(home, ats.program("atsctl"), "approve", waiting(home)[0]["id"])
    t.expect(rb"\[y/N\] $")
    t.type("y\n")
    t.end(0)
    q = c.model.request()
    ats.equal((q.result().is_error, q.result().text), (False, '{"to":"y"}'))
    c.begin(q, ("run__push", {"to": "z"}))
    ats.until(lambda: waiting(home), "another one")
    home.ctl("deny", waiting(home)[0]["id"], "--reason", "not now", code=0)
    q = c.model.request()
    ats.check(q.result().is_error, q.result().text)
    ats.contains(q.result().text, "not now")
    q.say("done")
    c.turn_ends()


@cli.test("a large result of a gateway comes whole, and in no file of the host")
def _(home, wiring):
    home.configure({"gateways": {"run": {"kind": "command", "tools": {"look": dict(
        SAY, argv=["/bin/sh", "-c", "seq 20000 | head -c 98000; echo END"], read_only=True)}}}})
    c = Cli(home, wiring)
    q, r = c.use(c.model.request(), "run__look", to="x")
    ats.check(not r.is_error and len(r.text) > 98000, r.text)
    ats.check(r.text.rstrip().endswith("END"), r.text[-300:])
    q.say("done")
    c.turn_ends()


ats.main()
