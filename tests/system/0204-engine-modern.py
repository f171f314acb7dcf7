#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MCP 2026-07-28 at the engine's door: what each request says of itself, discovery, lists,
subscriptions, cancelling, and clients that mix the eras."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine
from ats import MCP_KEY, MODERN, modern_meta
from gateways import APPROVAL, Gateway

SUBSCRIPTION = MCP_KEY + "subscriptionId"
ACK = "notifications/subscriptions/acknowledged"
CHANGED = "notifications/tools/list_changed"


def error(d, id):
    m = d.answer(id)
    ats.check("error" in m, m)
    return m["error"]


def code(d, method, params=None, **kw):
    return error(d, d.modern(method, params, **kw))["code"]


def result(d, id):
    m = d.answer(id)
    ats.check("result" in m, m)
    return m["result"]


def said_by_us(r):
    ats.equal(r["resultType"], "complete")
    info = r["_meta"][MCP_KEY + "serverInfo"]
    ats.equal((info["name"], bool(info["version"])), ("agent-tool-server", True))
    return r


def may_be_kept(r):
    ats.check(isinstance(r["ttlMs"], int) and r["ttlMs"] >= 0, r)
    ats.equal(r["cacheScope"], "private")
    return r


def listen(d, id, notifications=None):
    """Opens a subscription; what was acknowledged."""
    d.modern("subscriptions/listen",
             {"notifications": {"toolsListChanged": True} if notifications is None
              else notifications}, id=id)
    m = d.message()
    ats.equal((m["method"], m["params"]["_meta"]), (ACK, {SUBSCRIPTION: id}))
    return m["params"]["notifications"]


def cancel(d, id, **more):
    d.notify("notifications/cancelled", {"requestId": id, **more})


@ats.test("server/discover tells revisions, capabilities, instructions, and who we are")
def _(home):
    e = engine.Engine(home)
    d = e.door()
    r = may_be_kept(said_by_us(result(d, d.modern("server/discover"))))
    ats.equal(r["supportedVersions"], [MODERN])
    ats.equal(r["capabilities"], {"tools": {"listChanged": True}})
    ats.contains(r["instructions"], "sandbox")
    ats.missing(r, "serverInfo")
    # Who asks need not be said; what is said must have the shape.
    said_by_us(result(d, d.modern("server/discover", info=None)))
    Gateway(e, "git", {"push": {}})
    e.heard()
    r = result(d, d.modern("server/discover"))
    ats.contains(r["instructions"], "two underscores")


@ats.test("what a request must say of itself: -32602 when it is missing or no such thing")
def _(home):
    e = engine.Engine(home)
    d = e.door()
    for params in (None, {}, {"_meta": {}}, {"_meta": {"progressToken": 1}}, {"_meta": 7},
                   {"_meta": {"version": MODERN}}):
        i = d.send("server/discover", params)
        m = error(d, i)
        ats.equal(m["code"], -32602, params)
        ats.contains(m["message"], "protocolVersion")
    for method in ("server/discover", "tools/list", "tools/call", "subscriptions/listen",
                   "no/such"):
        for change, what in (
                ({"version": None}, "protocolVersion"), ({"version": 7}, "protocolVersion"),
                ({"capabilities": []}, "clientCapabilities"),
                ({"capabilities": "x"}, "clientCapabilities"),
                ({"info": {}}, "clientInfo"), ({"info": "me"}, "clientInfo"),
                ({"info": {"name": "me"}}, "clientInfo"),
                ({"info": {"name": "me", "version": 1}}, "clientInfo")):
            m = error(d, d.modern(method, **change))
            ats.equal((m["code"], MCP_KEY + what in m["message"]), (-32602, True), (method, m))
        meta = modern_meta()
        del meta[MCP_KEY + "clientCapabilities"]
        m = error(d, d.send(method, {"_meta": meta}))
        ats.equal(m["code"], -32602)
        ats.contains(m["message"], "clientCapabilities: missing")
    # Keys and values are JSON, whatever escapes they are written with.
    line = json.dumps({"jsonrpc": "2.0", "id": "e", "method": "server/discover",
                       "params": {"_meta": modern_meta()}})
    line = line.replace("/", "\\/").replace("2026-", "2\\u0030\\u00326\\u002d")
    d._send(line.encode() + b"\n", ())
    said_by_us(d.message()["result"])


@ats.test("a revision that is not served is -32022 with those that are")
def _(home):
    e = engine.Engine(home)
    d = e.door()
    for version in ("2025-11-25", "2024-11-05", "2099-01-01", "1900-01-01", "", "v999.0.0",
                    MODERN + " ", MODERN.replace("-", ""), 'q"\\\u2028'):
        for method in ("server/discover", "tools/list", "subscriptions/listen", "ping", "no/such"):
            m = error(d, d.modern(method, version=version))
            ats.equal((m["code"], m["data"]),
                      (-32022, {"supported": [MODERN], "requested": version}))
    # Another revision may have other members; one that is too long is not sent back.
    meta = {MCP_KEY + "protocolVersion": "2030-01-01"}
    ats.equal(error(d, d.send("tools/list", {"_meta": meta}))["code"], -32022)
    m = error(d, d.modern("tools/list", version="9" * 100000))
    ats.equal((m["code"], m["data"]["requested"]), (-32022, ""))


@ats.test("methods of the other era, and none at all, are -32601 with the request's id")
def _(home):
    e = engine.Engine(home)
    d = e.door()
    for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe",
                   "resources/list", "prompts/list", "completion/complete", "roots/list",
                   "tasks/get", "tools/List", "", "x" * 5000):
        m = error(d, d.modern(method, id="id-" + method[:3]))
        ats.equal(m["code"], -32601, method)
    ats.equal(error(d, d.modern("notifications/initialized"))["code"], -32600)
    # In a handshake any revision may stand: it is one of before. So is what says nothing.
    i = d.modern("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}},
                 version="2025-11-25")
    ats.equal(result(d, i)["protocolVersion"], "2025-11-25")
    ats.equal(d.request("ping"), {})


@ats.test("tools/list: the same order each time, and how long it may be kept")
def _(home):
    e = engine.Engine(home, list_ms=300)
    s, _ = e.session()
    d = e.door(s)
    Gateway(e, "zoo", {"b": {}, "a": {}})
    Gateway(e, "ape", {"z": {}, "c": {}})
    e.heard()
    r = may_be_kept(said_by_us(result(d, d.modern("tools/list"))))
    ats.check(r["ttlMs"] > 0, r)
    names = [t["name"] for t in r["tools"]]
    ats.equal(names[-4:], ["ape__c", "ape__z", "zoo__a", "zoo__b"])
    legacy = d.request("tools/list")
    ats.equal(list(legacy), ["tools"])
    ats.equal(legacy["tools"], r["tools"])
    # The same tools in another order are no change.
    listen(d, "l")
    g = Gateway(e, "zoo", {"a": {}, "b": {}}, link=False)
    e.heard()
    ats.equal([t["name"] for t in result(d, d.modern("tools/list"))["tools"]], names)
    ats.equal(d.notes, [])
    # One that is not whole yet may not be kept.
    g = Gateway(e, "slow", {}, link=False)
    g.tell("again")
    e.heard()
    r = result(d, d.modern("tools/list"))
    ats.equal((r["ttlMs"], [t["name"] for t in r["tools"]]), (0, names))
    ats.equal(code(d, "tools/list", {"cursor": "x"}), -32602)


@ats.test("tools/call: results of the era, progress by its token, errors of our own")
def _(home):
    e = engine.Engine(home)
    s, box = e.session()
    d = e.door(s, "nonce")
    h = e.hands(box)
    i = d.modern("tools/call", {"name": "Bash", "arguments": {"command": "x"}},
                 meta={"progressToken": "tok"})
    call = h.call()
    h.send("event.progress", call.call, {"message": "one", "done": 3})
    m = d.message()
    ats.equal((m["method"], m["params"]),
              ("notifications/progress",
               {"progressToken": "tok", "progress": 1, "message": "one"}))
    h.result(call, b"out")
    r = said_by_us(result(d, i))
    ats.equal((r["content"], r["isError"]), ([{"type": "text", "text": "out"}], False))
    ats.equal(code(d, "tools/call", {"name": "Nope", "arguments": {}}), -32602)
    ats.equal(code(d, "tools/call", {"name": "Read", "arguments": []}), -32602)
    # Nobody has a state of ours, and nothing runs for one.
    for state in ("x", "", 7, None):
        m = error(d, d.modern("tools/call", {
            "name": "Bash", "arguments": {"command": "x"}, "requestState": state,
            "inputResponses": {"a": {"action": "accept"}}}))
        ats.equal(m["code"], -32602)
        ats.contains(m["message"], "requestState")
    # Answers that nobody asked for are passed over.
    i = d.modern("tools/call", {"name": "Bash", "arguments": {"command": "y"},
                                "inputResponses": {"a": {"action": "accept"}}})
    h.result(h.call(), b"y")
    said_by_us(result(d, i))
    # The codes from -32000 on are not ours.
    d2 = e.door()
    m = error(d2, d2.modern("tools/call", {"name": "Bash", "arguments": {"command": "x"}}))
    ats.equal((m["code"], m["data"]["code"]), (-32603, "out_of_state"))
    m = error(d2, d2.send("tools/call", {"name": "Bash", "arguments": {"command": "x"}}))
    ats.equal((m["code"], m["data"]["code"]), (-32000, "out_of_state"))


@ats.test("subscriptions are acknowledged, tagged, filtered, and end when they are cancelled")
def _(home):
    e = engine.Engine(home)
    s, _ = e.session()
    d = e.door(s)
    g = Gateway(e, "git", {"push": {}})
    e.heard()
    ats.equal(listen(d, "a"), {"toolsListChanged": True})
    ats.equal(listen(d, 1007, {"toolsListChanged": True, "promptsListChanged": True,
                            "resourcesListChanged": True, "resourceSubscriptions": ["x://y"],
                            "more": 1}), {"toolsListChanged": True})
    for none in ({}, {"toolsListChanged": False}, {"promptsListChanged": True}):
        ats.equal(listen(d, json.dumps(none), none), {})

    def change(want):
        g.tools = {"pull": {}} if "push" in g.tools else {"push": {}}
        g.tell()
        e.heard()
        d.request("ping")
        got = [(m["method"], m["params"]) for m in d.notes]
        d.notes = []
        ats.equal(got, [(CHANGED, {"_meta": {SUBSCRIPTION: id}}) for id in want])
    change(["a", 1007])
    cancel(d, "a", reason="done")
    change([1007])
    cancel(d, "a")
    cancel(d, 1007)
    cancel(d, 1007)
    change([])
    # The id may be used again, and the order is that of their coming.
    listen(d, 1008)
    listen(d, "a")
    change([1008, "a"])
    # Each connection has its own; an end of one is nothing to the others.
    other = e.door(s)
    listen(other, 1008)
    other.close()
    change([1008, "a"])
    for bad in ({}, {"notifications": []}, {"notifications": None},
                {"notifications": {"toolsListChanged": 1}},
                {"notifications": {"promptsListChanged": "x"}},
                {"notifications": {"resourceSubscriptions": {}}},
                {"notifications": {"resourceSubscriptions": [7]}}):
        ats.equal(code(d, "subscriptions/listen", bad), -32602, bad)
    change([1008, "a"])


@ats.test("subscriptions are bounded, and so is what waits for one who does not read")
def _(home):
    e = engine.Engine(home, client_listens_max=3, client_out_bytes=65536)
    s, _ = e.session()
    d = e.door(s)
    for id in "abc":
        listen(d, id)
    m = error(d, d.modern("subscriptions/listen", {"notifications": {}}))
    ats.equal((m["code"], m["data"]), (-32603, {"code": "table_full", "retryable": True}))
    cancel(d, "b")
    listen(d, "d")
    g, other = Gateway(e, "git", {"push": {}}), e.door(s)
    for _ in range(2000):
        g.tools = {"pull": {}} if "push" in g.tools else {"push": {}}
        g.tell()
        e.heard()
        if other.request("ats/status")["clients"] == 1:
            break
    ats.equal(other.request("ats/status")["clients"], 1)
    e.check_memory(60000)


@ats.test("an id that is not answered yet is not taken twice; what ends it ends it once")
def _(home):
    e = engine.Engine(home, list_ms=60000)
    s, box = e.session()
    d = e.door(s)
    h = e.hands(box)
    bash = {"name": "Bash", "arguments": {"command": "x"}}

    def refused(id, send, modern=True):
        for method, params in (("tools/call", bash), ("tools/list", {}),
                               ("subscriptions/listen", {"notifications": {}}))[:2 + modern]:
            send(method, params, id=id)
            m = error(d, id)
            ats.equal(m["code"], -32600, method)
            ats.contains(m["message"], "not answered yet")
    d.modern("tools/call", bash, id="x")
    first = h.call()
    refused("x", d.modern)
    h.result(first, b"one")
    said_by_us(result(d, "x"))
    listen(d, "x")
    refused("x", d.modern)
    cancel(d, "x")
    Gateway(e, "git", {}, link=False).tell("again")
    e.heard()
    d.modern("tools/list", id="x")
    refused("x", d.modern)
    # Cancelled: no answer, and the id is free.
    cancel(d, "x")
    cancel(d, "x")
    listen(d, "x")
    cancel(d, "x")
    d.modern("tools/call", bash, id="z")
    call = h.call()
    for params in ({"requestId": "Z"}, {"requestId": None}, {"requestId": ["z"]}, {}, None,
                   {"reason": "z"}):
        d.notify("notifications/cancelled", params)
    cancel(d, "z")
    h.expect("control.cancel", call=call.call)
    cancel(d, "z")
    d.request("ping")
    ats.equal((d.notes, d.answers), ([], {}))
    # Of before 2026-07-28 the same.
    d.send("tools/list", id="y")
    refused("y", d.send, False)
    cancel(d, "y")
    d.request("ping")
    ats.equal(d.answers, {})


@ats.test("both eras on one connection: each request is what it says")
def _(home):
    e = engine.Engine(home)
    s, _ = e.session()
    d = e.door(s)
    g = Gateway(e, "git", {"push": {}})
    e.heard()
    # Told of nothing: ready without a handshake, or with one of 2026-07-28.
    d.notify("notifications/initialized")
    d.notify("notifications/initialized", {"_meta": modern_meta()})
    d.notify("notifications/progress", {"progressToken": 1, "progress": 1})
    d.notify("no/such", {"_meta": modern_meta(version="x")})
    d._send(b'{"jsonrpc":"2.0","id":"r","result":{}}\n', ())
    g.tools = {"pull": {}}
    g.tell()
    e.heard()
    d.request("ping")
    ats.equal(d.notes, [])
    listen(d, "l")
    ats.equal(d.initialize("2025-03-26")["protocolVersion"], "2025-03-26")
    g.tools = {"push": {}}
    g.tell()
    e.heard()
    d.request("ping")
    ats.equal([m.get("params") for m in d.notes], [{"_meta": {SUBSCRIPTION: "l"}}, None])
    said_by_us(result(d, d.modern("tools/list")))
    ats.equal(list(d.request("tools/list")), ["tools"])
    # Arrays are of one revision of before.
    batch = [{"jsonrpc": "2.0", "id": 1, "method": "ping"},
             {"jsonrpc": "2.0", "id": 2, "method": "tools/list",
              "params": {"_meta": modern_meta()}},
             {"jsonrpc": "2.0", "id": 3, "method": "subscriptions/listen",
              "params": {"_meta": modern_meta(), "notifications": {}}}]
    d._send(json.dumps(batch).encode() + b"\n", ())
    ats.equal([(m["id"], m.get("error", {}).get("code")) for m in d.message()],
              [(1, None), (2, -32600), (3, -32600)])
    d2 = e.door()
    d2._send(json.dumps(batch[1:2]).encode() + b"\n", ())
    ats.equal((m := d2.message())["error"]["code"], -32600, m)
    # Our own methods have no era.
    ats.equal(d.request("ats/session.list")["sessions"][0]["id"], s)


@ats.test("who watches hears which of its calls waits for a person, also when it joins late")
def _(home):
    e = engine.Engine(home)
    s, _ = e.session()
    d, deaf = e.door(s, "nonce"), e.door(s)
    g = Gateway(e, "git", {"push": {}})
    e.heard()
    ats.equal(d.request("ats/call.watch"), {})
    params = {"name": "git__push", "arguments": {"x": 1}}
    said = ("ats/call.waits", {"requestId": "q", "approval": APPROVAL})
    d.modern("tools/call", params, id="q")
    deaf.send("tools/call", {**params, "arguments": {"x": 2}})
    one, two = g.asked("push")[0], g.asked("push")[0]
    g.waits(one)
    g.waits(one)
    g.waits(two, "a-000000000002")
    m = d.message()
    ats.equal((m["method"], m["params"]), said)
    d.request("ping")
    deaf.request("ping")
    ats.equal((d.notes, deaf.notes), ([], []))
    d.close()
    d = e.door(s, "nonce")
    d.request("ats/call.watch")
    d.modern("tools/call", params, id="q")
    m = d.message()
    ats.equal((m["method"], m["params"]), said)
    g.started(one)
    g.result(one, "pushed")
    ats.equal(result(d, "q")["content"][0]["text"], "pushed")


ats.main()
