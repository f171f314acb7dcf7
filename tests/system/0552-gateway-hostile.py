#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a hostile gateway sends costs its link, and what a hostile upstream says of its tools is
left out."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine
from gateways import SCHEMA, Gateway

OK = {"outcome": "done"}


def up(home, **settings):
    e = engine.Engine(home, **settings)
    s, _ = e.session()
    d = e.door(s, "nonce")
    e.expect("NEED_SANDBOX")
    g = Gateway(e, "git", {"push": {}})
    e.heard()
    return e, s, d, g


def start(d, g, x=1):
    i = d.send("ats/tool.call", {"name": "%s__push" % g.name, "arguments": {"x": x}})
    call, _, _ = g.asked("push")
    g.started(call)
    g.e.heard()
    return i, call


def names(d):
    return [t["name"] for t in d.request("tools/list")["tools"] if "__" in t["name"]]


@ats.test("each breach ends that gateway's link alone, its call is unknown, the vault hears of it")
def _(home):
    e, s, d, g = up(home)
    other = Gateway(e, "other", {"push": {}})
    e.heard()
    kept, kept_call = start(d, other)
    tool_call, _ = d.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "x"}}), 0
    bash = int([c for c in d.request("ats/status")["calls"] if c["tool"] == "Bash"][0]["id"][2:])
    breaches = {
        "unknown frame": lambda c: g.link.send((9, 9), c, {}),
        "a frame of brain": lambda c: g.link.send("control.ack", c, {}),
        "a frame of hands": lambda c: g.link.send("control.ping", 0, {"seq": 1}),
        "hello": lambda c: g.link.send("control.goodbye", 0, {"code": "closed"}),
        "asks itself": lambda c: g.link.send("call.gateway", 1, {
            "name": "other__push", "input": {"x": 1}, "key": "k"}),
        "no JSON": lambda c: g.link.send("result", c, text=b"{"),
        "doubled": lambda c: g.link.send("result", c, text=b'{"outcome":"done","outcome":"done"}'),
        "unknown member": lambda c: g.link.send("result", c, dict(OK, more=1)),
        "unknown outcome": lambda c: g.link.send("result", c, {"outcome": "perhaps"}),
        "the engine's word": lambda c: g.link.send("result", c, {"outcome": "unknown"}),
        "bad blocks": lambda c: g.link.send("result", c, dict(OK, blocks=[
            {"type": "text", "len": 1000}]), b"x"),
        "an id that nobody has": lambda c: g.link.send("result", c + 1000, OK),
        "a pure id that nobody has": lambda c: g.link.send("result", (1 << 64) - 1, OK),
        "another gateway's call": lambda c: g.link.send("result", kept_call, OK),
        "a call of the sandbox": lambda c: g.link.send("result", bash, OK),
        "progress of another's": lambda c: g.link.send("event.progress", kept_call,
                                                       {"message": "m"}),
        "too long": lambda c: g.link.sock.sendall(b"\xff" * 20),
        "a large head": lambda c: g.link.sock.sendall(g.link.pack("result", c, OK)[:4].replace(
            b"\0", b"\x7f") + g.link.pack("result", c, OK)[4:]),
    }
    for name, breach in breaches.items():
        i, call = start(d, g)
        breach(call)
        r = d.answer(i)["result"]
        ats.equal((name, r["outcome"], r["code"]), (name, "unknown", "gateway_lost"))
        ats.equal((name, e.expect("GATEWAY_BROKEN")), (name, ["git", g.generation]))
        g.gone()
        g.refused(call, "sandbox_lost", "it ended")
        g.connect()
    other.result(kept_call, "well")
    ats.equal(d.answer(kept)["result"]["content"][0]["text"], "well")
    i, call = start(d, g)
    g.result(call, "well again")
    ats.equal(d.answer(i)["result"]["content"][0]["text"], "well again")


@ats.test("a link that is cut in a frame, or by its end, is no breach")
def _(home):
    e, s, d, g = up(home)
    i, call = start(d, g)
    g.link.sock.sendall(g.link.pack("result", call, OK, b"x" * 1000)[:500])
    g.link.close()
    ats.equal(d.answer(i)["result"]["outcome"], "unknown")
    g.connect()
    i, call = start(d, g)
    g.link.close()
    ats.equal(d.answer(i)["result"]["outcome"], "unknown")
    e.heard()
    ats.equal([m for m in e.inbox if m[0] == "GATEWAY_BROKEN"], [])


@ats.test("results of calls that do not run are held, up to a limit")
def _(home):
    e, s, d, g = up(home)
    calls = []
    for x in range(8):
        d.send("ats/tool.call", {"name": "git__push", "arguments": {"x": x}})
        calls.append(g.asked("push")[0])
    for call in calls:
        g.link.sock.settimeout(ats.TIMEOUT)
        try:
            g.result(call, b"y" * (3 << 20))
        except OSError:
            break
    ats.equal(e.expect("GATEWAY_BROKEN"), ["git", 1])
    ats.contains(e.log(), "too many results of calls that do not run")
    g.connect()
    for call in calls:
        g.refused(call)
    e.heard()
    i, call = start(d, g)
    g.result(call, "well")
    d.answer(i)
    e.check_memory(120000)


@ats.test("a second result of a call that does not run yet is a breach, of one answered is not")
def _(home):
    e, s, d, g = up(home)
    i, call = start(d, g)
    g.result(call, "one")
    d.answer(i)
    g.result(call, "two")
    g.acked(call)
    g.acked(call)
    d.send("ats/tool.call", {"name": "git__push", "arguments": {"x": 1}})
    call, _, _ = g.asked("push")
    g.result(call, "one")
    g.result(call, "two")
    e.expect("GATEWAY_BROKEN")


@ats.test("tools whose names or JSON are not usable are left out, the others are there")
def _(home):
    e, s, d, g = up(home)
    deep = "{" + '"a":{' * 40 + "}" * 40 + "}"
    at_limit = '{"type":"object","x":' + "[" * 29 + "]" * 29 + "}"
    schemas = {
        "not_json": "{", "list": "[]", "text": '"x"', "empty": "", "two": "{}{}",
        "no_schema": "{}", "schema_list": '{"inputSchema":[]}',
        "schema_type": '{"inputSchema":{"type":"string"}}',
        "untyped": '{"inputSchema":{}}',
        "twice": '{"inputSchema":{"type":"object"},"inputSchema":{"type":"object"}}',
        "description": '{"description":1,"inputSchema":{"type":"object"}}',
        "annotations": '{"annotations":[],"inputSchema":{"type":"object"}}',
        "required": '{"inputSchema":{"type":"object","required":{}}}',
        "timeout": '{"timeoutMs":-1,"inputSchema":{"type":"object"}}',
        "deep": '{"inputSchema":{"type":"object","x":%s}}' % deep,
        "at_limit": '{"inputSchema":%s}' % at_limit,
        "long": '{"description":"%s","inputSchema":{"type":"object"}}' % ("x" * 33000),
        "breaks_out": '{"inputSchema":{"type":"object"}},"x":{"inputSchema":{}}',
        "closes": '1}]]]],[[[[{"tool":1',
        "surrogate": '{"description":"\\ud800","inputSchema":{"type":"object"}}',
        "keys": '{"inputSchema":{"type":"object",%s}}' % ",".join(
            '"k%d":1' % n for n in range(600)),
    }
    g.tools = {n: {"json": j} for n, j in schemas.items()}
    g.tools["x" * 60] = {}
    g.tools[""] = {}
    g.tools["caf\u00e9 \n/.."] = {}
    g.tools["good"] = {"json": '{"inputSchema" :\n{"type":\r\n"object","required":[1,null]}}'}
    g.tools["goo_d"] = {}
    g.tools["goo.d"] = {}
    g.tell()
    e.heard()
    ats.equal(names(d), ["git__caf_______", "git__goo_d", "git__good"])
    log = e.log()
    for n in schemas:
        ats.contains(log, 'tool="%s"' % n)
    ats.contains(log, "another has the name git__goo_d")
    i = d.send("tools/call", {"name": "git__good", "arguments": {}})
    call, _, _ = g.asked("good")
    g.refused(call)
    ats.check(d.answer(i)["result"]["isError"])


@ats.test("gateways' names, numbers and sizes have limits, a sandbox gets a list that it can read")
def _(home):
    e, s, d, g = up(home)
    for name in ("", "Git", "1x", "a__b", "x" * 33, "a b", "../x"):
        e.tell("GATEWAY_TOOL", name, "t", json.dumps({"inputSchema": SCHEMA}), 0)
        e.tell("GATEWAY_TOOLS", name, 1, 0, "")
    g.tools = {"t%d" % n: {} for n in range(300)}
    g.tell()
    e.heard()
    ats.equal(len(names(d)), 256)
    big = {"description": "d" * 30000, "inputSchema": SCHEMA}
    more = [Gateway(e, "g%d" % n, {"t%d" % k: {"json": big} for k in range(10)}, link=False)
            for n in range(4)]
    same = Gateway(e, "a", {"_b": {}}, link=False)
    e.heard()
    Gateway(e, "a_", {"b": {}}, link=False)
    e.heard()
    ats.check(256 < len(names(d)) < 256 + 40)
    ats.equal([n for n in names(d) if n.startswith("a_")], ["a___b"])
    ats.contains(e.log(), "another gateway's tool has that name")
    for m in more + [same]:
        m.tools = {}
        m.tell()
    e.heard()
    ats.equal(len(names(d)), 256)
    for m in more:
        m.tools = {"t%d" % k: {"json": big} for k in range(10)}
        m.tell()
    d.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "x"}})
    h = e.hands(e.sessions[0][1], need=False)
    ats.check(len(h.expect("control.tools").json["tools"]) > 257)


@ats.test("what the vault says that makes no sense ends nothing")
def _(home):
    e, s, d, g = up(home)
    i, call = start(d, g)
    e.tell("GATEWAY_STATE", call, 77, 0, "", "")
    r = d.answer(i)["result"]
    ats.equal(r["outcome"], "not_started")
    e.tell("GATEWAY_TOOLS", "git", 5, 0, "")
    e.heard()
    ats.contains(e.log(), "not as many tools as were said")
    ats.equal(names(d), [])


ats.main()
