#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tools of gateways for programs in a sandbox: what it is told, what it may ask, what it gets."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine
from gateways import SCHEMA, Gateway

TOOLS = {"push": {}, "log": {"read_only": True}}


def up(home, tools=None, **settings):
    e = engine.Engine(home, **settings)
    s, b = e.session()
    e.listen_for(b)
    d = e.door(s, "nonce")
    g = Gateway(e, "git", TOOLS if tools is None else tools)
    e.heard()
    return e, s, b, d, g, e.hands(b)


def ask(h, call, tool="push", key=None, **more):
    h.send("call.gateway", call, {"name": "git__" + tool, "input": {"x": 1},
                                  "key": key or "k%d" % call, **more})


def result(h, call, **want):
    f = h.expect("result", call=call)
    for k, v in want.items():
        ats.equal((k, f.json.get(k)), (k, v))
    return f.payload.decode()


@ats.test("a sandbox is told of the tools when it is ready, and when they change")
def _(home):
    e, s, b, d, g, h = up(home)
    tool = {"description": "does push", "inputSchema": SCHEMA}
    g.tools = {"push": {"json": dict(tool, timeoutMs=3000)}}
    ats.equal([t["name"] for t in h.expect("control.tools").json["tools"]],
              ["git__log", "git__push"])
    g.tell()
    ats.equal(h.expect("control.tools").json["tools"], [dict(
        tool, name="git__push", timeoutMs=3000,
        annotations={"readOnlyHint": False, "openWorldHint": True})])
    g.tools = {}
    g.tell()
    ats.equal(h.expect("control.tools").json["tools"], [])
    e.heard()
    e.lose(h, b)
    d.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "x"}})
    h = e.hands(b)
    ats.equal(h.expect("control.tools").json["tools"], [])


@ats.test("no gateways: a sandbox hears nothing of tools")
def _(home):
    e = engine.Engine(home)
    s, b = e.session()
    d = e.door(s)
    h = e.hands(b)
    d.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "x"}})
    ats.equal(h.recv().name, "call.tool")


@ats.test("a call from inside is asked for, with its session, and answered; progress passes")
def _(home):
    e, s, b, d, g, h = up(home)
    other, _ = e.session("younger")
    ask(h, 7, deadline_ms=900, progress=True)
    call, args, limit = g.asked("push", s)
    ats.equal((args, limit), ({"x": 1}, 900))
    g.started(call)
    g.link.send("event.progress", call, {"message": "half"})
    f = h.expect("event.progress", call=7)
    ats.equal(f.json, {"message": "half"})
    g.result(call, b"textPNG", blocks=[{"type": "text", "len": 4},
                                       {"type": "image", "mime": "image/png", "len": 3}])
    g.acked(call)
    f = h.expect("result", call=7)
    ats.equal((f.json["outcome"], f.json["blocks"][1]["mime"], f.payload),
              ("done", "image/png", b"textPNG"))
    ask(h, 8, session=other)
    call, _, _ = g.asked("push", other)
    g.waits(call)
    g.refused(call)
    ats.equal(result(h, 8, outcome="not_started", is_error=True, code="denied"),
              "refused by a person; this is final")
    ask(h, 9, progress=True)
    call, _, _ = g.asked("push")
    g.waits(call)
    ats.contains(h.expect("event.progress", call=9).json["message"], "atsctl approve a-")
    g.started(call)
    e.heard()
    g.link.close()
    ats.contains(result(h, 9, outcome="unknown", is_error=True), "its gateway ended")


@ats.test("what it may not ask is refused with a text, and nobody is asked")
def _(home):
    e, s, b, d, g, h = up(home)
    elsewhere = os.path.join(home.dir, "other")
    os.mkdir(elsewhere)
    foreign, _ = e.session(workspace=elsewhere)
    for more, code in (
            ({"name": "git__none"}, "unknown_tool"),
            ({"name": "Bash", "input": {"command": "id"}}, "unknown_tool"),
            ({"name": "git__push\n\x1b[2J"}, "unknown_tool"),
            ({"input": {"y": 1}}, "bad_field"),
            ({"input": []}, "bad_field"),
            ({"session": foreign}, "unknown_id"),
            ({"session": "s-000000000000"}, "unknown_id")):
        obj = {"name": "git__push", "input": {"x": 1}, "key": "k", **more}
        h.send("call.gateway", 5, obj)
        text = result(h, 5, outcome="not_started", is_error=True, code=code)
        ats.check(text and "\n" not in text and "\x1b" not in text, text)
    e.heard()
    ats.equal([m for m in e.inbox if m[0].startswith("GATEWAY")], [])


@ats.test("what is asked for again is not said to be not started, though nothing new may be asked")
def _(home):
    e, s, b, d, g, h = up(home)
    other, _ = e.session("other")
    for n, session in ((1, s), (2, other)):
        ask(h, n, session=session)
        g.started(g.asked("push")[0])
    e.heard()
    g.tools = {}
    g.tell()
    e.tell("SESSION_CLOSED", other)
    result(h, 2, outcome="unknown")
    e.sessions = [x for x in e.sessions if x[0] != other]
    e.restart([b])
    h.close()
    h = e.accept(b, h.boot)
    for n, session in ((1, s), (2, other), (3, s)):
        ask(h, n, session=session)
    got = {f.call: (f.json["outcome"], f.json["code"]) for f in
           (h.expect("result") for _ in range(3))}
    ats.equal(got, {1: ("unknown", "gateway_lost"), 2: ("unknown", "unknown_id"),
                    3: ("not_started", "unknown_tool")})


@ats.test("the same key is the same call; another input with it is refused; keys of clients are others")
def _(home):
    e, s, b, d, g, h = up(home)
    ask(h, 1, key="same")
    call, _, _ = g.asked("push")
    ask(h, 2, key="same")
    ask(h, 3, key="same", input={"x": 2})
    result(h, 3, code="id_reused")
    g.started(call)
    g.result(call, "once")
    ats.equal((result(h, 1), result(h, 2)), ("once", "once"))
    ask(h, 4, key="same")
    ats.equal(result(h, 4, outcome="done"), "once")
    d.send("ats/tool.call", {"name": "git__push", "arguments": {"x": 1}, "call_id": "same"})
    g.asked("push")


@ats.test("cancel: the call ends if nobody else waits, and its result comes")
def _(home):
    e, s, b, d, g, h = up(home)
    ask(h, 1, key="a")
    call, _, _ = g.asked("push")
    ask(h, 2, key="a")
    h.send("control.cancel", 1, {"why": "cancelled"})
    result(h, 1, code="cancelled")
    h.send("control.cancel", 2)
    ats.equal(e.expect("GATEWAY_CANCEL"), [call])
    g.refused(call, "cancelled", "")
    result(h, 2, outcome="not_started", code="cancelled")
    h.send("control.cancel", 2)                      # crossed with the result
    ask(h, 3)
    g.asked("push")


@ats.test("the link is lost: asked again with the key it goes on; else it is cancelled")
def _(home):
    e, s, b, d, g, h = up(home, orphan_ms=300)
    ask(h, 1, key="again")
    ask(h, 2, key="left", tool="log")
    again, left = g.asked("push")[0], g.asked("log")[0]
    g.waits(again)
    g.started(left)
    e.heard()
    e.lose(h, b)
    d.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "x"}})
    e.need(b)
    boot = h.boot
    h = e.give(b)
    h.boot = boot
    h.hello()
    h.ready()
    ask(h, 1, key="again")
    ats.equal(e.expect("GATEWAY_CANCEL"), [left])
    g.result(left, "cancelled", is_error=True, code="cancelled")
    g.acked(left)
    g.started(again)
    g.result(again, "still")
    ats.equal(result(h, 1, outcome="done"), "still")


@ats.test("engine restarted: asked again with the key, running and ended calls are answered")
def _(home):
    e, s, b, d, g, h = up(home)
    ask(h, 1)
    ask(h, 2)
    ask(h, 3)
    runs, ended, answered = (g.asked("push")[0] for _ in range(3))
    g.started(runs)
    g.started(answered)
    g.result(answered, "before")
    ats.equal(result(h, 3), "before")
    e.restart([b])
    h.close()
    g.tell()
    g.connect(again=True)
    g.started(runs)
    h = e.accept(b, h.boot)
    for i in (1, 2, 3):
        ask(h, i)
    ats.equal(result(h, 3, outcome="done"), "before")
    g.result(ended, "kept")
    g.acked(ended)
    ats.equal(result(h, 2, outcome="done"), "kept")
    g.result(runs, "ran on")
    ats.equal(result(h, 1, outcome="done"), "ran on")


@ats.test("a flood of calls has a limit, and other clients go on")
def _(home):
    e, s, b, d, g, h = up(home)
    full = 0
    for i in range(1100):
        ask(h, i + 1)
    asked = [g.asked("push")[0] for _ in range(1024)]
    for _ in range(76):
        full += h.expect("result").json["code"] == "table_full"
    ats.equal(full, 76)
    for call in asked:
        g.refused(call)
    for _ in asked:
        h.expect("result")
    for i in range(20):
        ask(h, 5000 + i, input={"x": "y" * 1000000})
    full = [h.expect("result").json["code"] for _ in range(4)]
    ats.equal(set(full), {"table_full"})
    i = d.send("ats/tool.call", {"name": "git__push", "arguments": {"x": 2}})
    for _ in range(16):
        g.asked("push")
    call, args, _ = g.asked("push")
    ats.equal(args, {"x": 2})
    g.refused(call)
    ats.equal(d.answer(i)["result"]["code"], "denied")


@ats.test("a sandbox that reads nothing gets its answers when it reads; the rest goes on")
def _(home):
    e, s, b, d, g, h = up(home)
    n, size = 14, 2 << 20
    for i in range(n):
        ask(h, i + 1)
    for i in range(n):
        call, _, _ = g.asked("push")
        g.started(call)
        g.result(call, b"%02d" % i + b"z" * size)
        g.acked(call)
    i = d.send("ats/tool.call", {"name": "git__push", "arguments": {"x": 2}})
    call, _, _ = g.asked("push")
    g.refused(call)
    d.answer(i)
    for i in range(n):
        f = h.expect("result")
        ats.equal((f.call, len(f.payload), f.payload[:2]), (i + 1, size + 2, b"%02d" % i))


@ats.test("the same id twice ends the link of that sandbox")
def _(home):
    e, s, b, d, g, h = up(home)
    ask(h, 1)
    g.asked("push")
    ask(h, 1, key="other")
    e.expect("KILL_SANDBOX")
    ats.contains(e.log(), "this call runs already")


ats.main()
