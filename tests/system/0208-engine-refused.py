#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A call that was sent once and is refused when it comes again: nobody knows whether the first time
had its effect, so the answer is that, whoever refuses, and never that it was not started."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine
from gateways import APPROVAL, CODES, STARTED, Gateway

WRITE = {"name": "Write", "arguments": {"file_path": "f", "content": "x"}, "call_id": "k"}


def up(home, **settings):
    return engine.up(home, "nonce", **settings)


def ask(d, **more):
    return d.send("ats/tool.call", {**WRITE, **more})


def ended(d, i, outcome, code, *words):
    a = d.answer(i)["result"]
    text = "".join(c.get("text", "") for c in a["content"])
    ats.equal((a["outcome"], a.get("code")), (outcome, code), text)
    for w in words:
        ats.contains(text, w)
    return text


def sent_and_died(home, **settings):
    """It was sent, then engine and sandbox died; the next engine is there, with other rules."""
    rules = settings.pop("then", ())
    e, s, b, d, h = up(home, **settings)
    ask(d)
    h.call()
    e.rules = rules
    e.restart()
    h.close()
    d = e.door(s, "nonce")
    i = ask(d)
    e.hands(b)                  # another one
    return e, s, b, d, i


@ats.test("a rule of the next engine denies it: unknown, and so when it is asked for again")
def _(home):
    e, s, b, d, i = sent_and_died(home, then=[("deny", "Write")])
    for i in (i, ask(d)):
        text = ended(d, i, "unknown", "denied", "may have run", "Refused by policy")
        ats.missing(text, "It was not run,")
    e.restart()
    d = e.door(s, "nonce")
    ended(d, ask(d), "unknown", "denied", "may have run")


@ats.test("a rule of the next engine asks, and the person says no: unknown")
def _(home):
    e, s, b, d, i = sent_and_died(home, then=[("ask", "Write")])
    call = e.expect("GATEWAY_ASK")[0]
    e.tell("GATEWAY_STATE", call, 3, CODES["denied"], "refused by a person", "")
    ended(d, i, "unknown", "denied", "may have run", "refused by a person")


@ats.test("who asks takes it back while a person thinks about it: unknown")
def _(home):
    e, s, b, d, i = sent_and_died(home, then=[("ask", "Write")])
    call = e.expect("GATEWAY_ASK")[0]
    e.tell("GATEWAY_STATE", call, 1, 0, "", APPROVAL)
    d.request("ats/call.cancel", {"call_id": "k"})
    ended(d, i, "unknown", "cancelled", "may have run")


@ats.test("no sandbox is ready in time for it: unknown")
def _(home):
    e, s, b, d, h = up(home, queue_ms=200)
    i = ask(d)
    h.call()
    e.lose(h, b)
    e.need(b)
    ended(d, i, "unknown", "no_sandbox", "may have run", "no sandbox was ready in time")


@ats.test("its sandbox dies, and the next one does not start it: unknown")
def _(home):
    e, s, b, d, h = up(home)
    i = ask(d)
    h.call()
    e.lose(h, b)
    h = e.hands(b)
    f = h.call()
    ats.equal(f.json["attempt"], 1)
    h.send("result", f.call, {"outcome": "not_started", "is_error": True, "code": "no_memory"},
           b"no worker")
    ended(d, i, "unknown", "no_memory", "may have run", "no worker")


@ats.test("its session is closed while it waits for the next sandbox: unknown")
def _(home):
    e, s, b, d, h = up(home)
    other, _ = e.session("other")           # the sandbox stays wanted
    i = ask(d)
    h.call()
    e.lose(h, b)
    e.need(b)
    e.tell("SESSION_CLOSED", s)
    ended(d, i, "unknown", "cancelled", "may have run")


@ats.test("one that hands never got did not start, whatever refuses it then")
def _(home):
    e, s, b, d, h = up(home)
    ask(d)
    h.call()
    e.rules = [("deny", "Write")]
    e.restart([b])
    h.close()
    d = e.door(s, "nonce")
    i = ask(d)
    ats.equal(d.request("ping", id="p"), {})
    e.accept(b, h.boot, [])             # it has nothing
    ended(d, i, "not_started", "denied", "It was not run,")


@ats.test("one of two attempts did not get there, the other may have: unknown, asked again or not")
def _(home):
    e, s, b, d, h = up(home)
    for early in (True, False):
        key = "k%d" % early
        e.rules = []
        i = ask(d, call_id=key)
        h.call()
        e.lose(h, b)
        h = e.hands(b)
        ats.equal(h.call().json["attempt"], 1)
        e.rules = [("deny", "Write")]
        e.restart([b])
        h.close()
        d = e.door(s, "nonce")
        if early:
            i = ask(d, call_id=key)
            d.request("ping", id="a")
        h = e.accept(b, h.boot, [])
        if not early:
            d.request("ats/status")
            i = ask(d, call_id=key)
        ended(d, i, "unknown", "denied", "may have run")
        e.rules = []
        e.restart([b])
        h.close()
        d = e.door(s, "nonce")
        h = e.accept(b, h.boot, [])


@ats.test("a gateway's tool is gone when its call is asked for again: its answer is kept, or unknown")
def _(home):
    e = engine.Engine(home)
    s, b = e.session()
    d = e.door(s, "nonce")
    g = Gateway(e, "git", {"push": {}})
    push = {"name": "git__push", "arguments": {"x": 1}}
    i = d.send("ats/tool.call", {**push, "call_id": "ended"})
    call = g.asked("push")[0]
    g.started(call)
    g.result(call, b"pushed")
    ats.equal(d.answer(i)["result"]["outcome"], "done")
    runs = d.send("ats/tool.call", {**push, "call_id": "runs"})
    call = g.asked("push")[0]
    e.tell("GATEWAY_STATE", call, STARTED, 0, "", "")
    g.tools = {}
    g.tell()
    e.heard()
    i = d.send("ats/tool.call", {**push, "call_id": "ended"})
    ats.contains(str(d.answer(i)["result"]), "pushed")
    again = d.send("ats/tool.call", {**push, "call_id": "runs"})
    i = d.send("ats/tool.call", {**push, "call_id": "new"})
    ats.contains(d.answer(i)["error"]["message"], "no tool is called git__push")
    g.result(call, b"done late")
    for i in (runs, again):
        ats.contains(str(d.answer(i)["result"]), "done late")
    i = d.send("ats/tool.call", {**push, "call_id": "lost"})
    ats.contains(d.answer(i)["error"]["message"], "no tool is called git__push")


@ats.test("who asks again for what runs and cannot wait for it is not told that it did not start")
def _(home):
    e, s, b, d, h = up(home, client_calls_max=2)
    i = d.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "x"}, "call_id": "b"})
    f = h.call()
    other = e.door(s, "second")
    for n in range(2):
        other.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "y"},
                                     "call_id": "y%d" % n})
        h.call()
    j = other.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "x"},
                                     "call_id": "b"})
    ended(other, j, "unknown", "table_full", "not run twice")
    h.result(f, b"once")
    ats.equal(d.answer(i)["result"]["outcome"], "done")


ats.main()
