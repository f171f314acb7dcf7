#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tools of gateways through the engine's doors: list, calls, approvals, ends, restarts."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine
from gateways import APPROVAL, Gateway

TOOLS = {"push": {}, "log": {"read_only": True}}


def up(home, tools=None, **settings):
    e = engine.Engine(home, **settings)
    s, _ = e.session()
    d = e.door(s, "nonce")
    e.box = e.expect("NEED_SANDBOX")[0]
    return e, s, d, Gateway(e, "git", TOOLS if tools is None else tools)


def send(d, tool="push", call_id=None, x=1, **more):
    params = {"name": "git__" + tool, "arguments": {"x": x}, **more}
    if call_id:
        params["call_id"] = call_id
    return d.send("ats/tool.call", params)


def text(answer):
    return "".join(c.get("text", "") for c in answer["result"]["content"])


def call_of(d, session):
    return [c for c in d.request("ats/status")["calls"] if c["session"] == session]


@ats.test("tools/list shows gateways' tools after our own, and nothing private")
def _(home):
    json = {"description": "d\u2028\\u001b", "timeoutMs": 5000, "_meta": {"secret": 1},
            "outputSchema": {}, "inputSchema": {"type": "object", "a\nb": "c"},
            "annotations": {"title": "T", "readOnlyHint": True, "openWorldHint": False,
                            "destructiveHint": True, "more": {"x": 1}}}
    e, s, d, g = up(home, {"log": {"json": json}, "push": {"read_only": True}})
    e.heard()
    own = [t for t in d.request("tools/list")["tools"]]
    ats.equal([t["name"] for t in own[-2:]], ["git__log", "git__push"])
    ats.equal(own[-2], {
        "name": "git__log", "description": json["description"],
        "inputSchema": json["inputSchema"],
        "annotations": {"title": "T", "readOnlyHint": False, "destructiveHint": True,
                        "openWorldHint": False},
        "_meta": {"anthropic/maxResultSizeChars": 500000}})
    ats.equal(own[-1]["annotations"], {"readOnlyHint": True, "openWorldHint": True})
    ats.equal(d.request("ats/gateway.list")["gateways"], [
        {"name": "git", "state": "running", "tools": ["git__log", "git__push"]}])
    i = d.send("ats/tool.call", {"name": "git__pull", "arguments": {}})
    ats.contains(d.answer(i)["error"]["message"], "there are git__log, git__push")


@ats.test("a list that changes is told to MCP clients that are ready, once a change")
def _(home):
    e, s, d, g = up(home)
    e.heard()
    r = d.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                 "clientInfo": {"name": "t", "version": "1"}})
    ats.equal(r["capabilities"], {"tools": {"listChanged": True}})
    ats.contains(r["instructions"], "two underscores")
    g.tools = {"pull": {}}
    g.tell()
    e.heard()
    d.request("ping")
    ats.equal(d.notes, [])
    d.notify("notifications/initialized")
    e.heard()
    g.tell()            # the same again
    g.tools = {}
    g.tell()
    e.heard()
    d.request("ping")
    ats.equal([n["method"] for n in d.notes], ["notifications/tools/list_changed"])
    i = d.send("tools/call", {"name": "git__pull", "arguments": {"x": 1}})
    ats.contains(d.answer(i)["error"]["message"],
                 "Unknown tool: git__pull; the gateway git has no tools")


@ats.test("tools of a gateway that has not told them are asked for when somebody comes")
def _(home):
    e = engine.Engine(home)
    s, _ = e.session()
    d = e.door(s)
    g = Gateway(e, "git", {}, link=False)
    g.tell("again")
    e.heard()
    ats.equal(d.request("ats/gateway.list")["gateways"],
              [{"name": "git", "state": "starting", "tools": []}])
    ats.equal(e.expect("GATEWAY_LIST"), ["git"])
    g.tell("closed", "it ended")
    e.heard()
    ats.equal(d.request("ats/gateway.list")["gateways"][0]["state"], "failed")
    ats.equal(e.expect("GATEWAY_LIST"), ["git"])
    # So is one by a call of a tool, which says why there is none.
    g.tell("closed", "it ended again")
    e.heard()

    def said():
        i = d.send("ats/tool.call", {"name": "git__pull", "arguments": {}})
        return d.answer(i)["error"]["message"]
    ats.contains(said(), "it ended again")
    ats.equal(e.expect("GATEWAY_LIST"), ["git"])
    g.tell("again")
    e.heard()
    ats.contains(said(), "is starting: call it again in a moment")


@ats.test("tools/list waits for gateways that are asked for theirs, and not for ever")
def _(home):
    e = engine.Engine(home, list_ms=300)
    s, _ = e.session()
    d = e.door(s)
    g = Gateway(e, "git", {}, link=False)
    g.tell("again")
    e.heard()
    i, j = d.send("tools/list"), d.send("tools/list")
    ats.equal(e.expect("GATEWAY_LIST"), ["git"])
    gone = e.door(s)
    gone.send("tools/list")
    gone.request("ping")
    gone.close()
    d.request("ping")
    ats.check(i not in d.answers and j not in d.answers)
    g.tools = {"push": {}}
    g.tell()
    for k in (i, j):
        ats.equal(d.answer(k)["result"]["tools"][-1]["name"], "git__push")
    slow = Gateway(e, "slow", {}, link=False)
    slow.tell("again")
    e.heard()
    for _ in range(2):
        ats.equal(d.request("tools/list")["tools"][-1]["name"], "git__push")
    slow.tools = {"late": {}}
    slow.tell()
    e.heard()
    ats.equal(d.request("tools/list")["tools"][-1]["name"], "slow__late")


@ats.test("a call is asked for, runs, is answered and acknowledged")
def _(home):
    e, s, d, g = up(home)
    e.heard()
    i = send(d, call_id="k", timeout_ms=7000)
    call, args, limit = g.asked("push", s)
    ats.equal((args, limit, call >> 63), ({"x": 1}, 7000, 0))
    g.started(call)
    g.result(call, "pushed")
    g.acked(call)
    r = d.answer(i)["result"]
    ats.equal((text({"result": r}), r["outcome"], r["is_error"]), ("pushed", "done", False))
    ats.equal(d.answer(send(d, call_id="k"))["result"], r)
    m = d.answer(send(d, call_id="k", x=2))
    ats.equal(m["error"]["data"]["code"], "id_reused")
    i = send(d, "log")
    call, _, limit = g.asked("log", s)
    ats.equal((limit, call >> 63), (60000, 1))
    g.started(call)
    g.result(call, b"\x89PNG!x", blocks=[{"type": "image", "mime": "image/png", "len": 5},
                                         {"type": "text", "len": 1}])
    g.acked(call)
    ats.equal([c["type"] for c in d.answer(i)["result"]["content"]], ["image", "text"])


@ats.test("over MCP: an error is isError, nothing is never an empty success, progress passes")
def _(home):
    e, s, d, g = up(home)
    e.heard()
    i = d.send("tools/call", {"name": "git__push", "arguments": {"x": 1},
                              "_meta": {"progressToken": "p"}})
    call, _, _ = g.asked("push")
    g.started(call)
    g.link.send("event.progress", call, {"message": "half"})
    g.result(call, "no such remote", is_error=True, code="not_found")
    r = d.answer(i)["result"]
    ats.equal(r, {"content": [{"type": "text", "text": "no such remote"}], "isError": True})
    ats.equal([n["params"]["message"] for n in d.notes], ["half"])
    i = d.send("tools/call", {"name": "git__push", "arguments": {"x": 1}})
    call, _, _ = g.asked("push")
    g.started(call)
    g.result(call, "")
    ats.equal(d.answer(i)["result"]["content"][0]["text"], "git__push ended and gave no text.")


@ats.test("arguments: what is required is looked at before anybody is asked, large ones go in a file")
def _(home):
    e, s, d, g = up(home)
    e.heard()
    i = d.send("tools/call", {"name": "git__push", "arguments": {"y": 1}})
    r = d.answer(i)["result"]
    ats.check(r["isError"])
    ats.contains(r["content"][0]["text"], "\"x\": missing, and required by git__push")
    r = d.answer(d.send("ats/tool.call", {"name": "git__push"}))["result"]
    ats.equal((r["outcome"], r["code"]), ("not_started", "bad_field"))
    for ok, args in ((False, {}), (True, {"x": None})):
        v = d.answer(d.send("ats/tool.validate", {"name": "git__push", "arguments": args}))
        ats.equal(v["result"]["valid"], ok)
    for size in (1000, 49 << 10, 1000 << 10):
        i = send(d, x="\u00e4" + "y" * size)
        call, args, _ = g.asked("push")
        ats.equal(len(args["x"]), size + 1)
        g.refused(call)
        d.answer(i)
    r = d.answer(send(d, x="y" * (1 << 20)))["result"]
    ats.equal((r["outcome"], r["code"]), ("not_started", "bad_field"))
    m = d.answer(d.send("ats/tool.call", {"name": "git__push", "arguments": {}, "fds": ["data"]}))
    ats.contains(m["error"]["message"], "fds")
    ats.equal([m for m in e.inbox if m[0] == "GATEWAY_ASK"], [])


@ats.test("a person's time does not count; refused, it is an answer with the vault's text")
def _(home):
    e, s, d, g = up(home, queue_ms=300, grace_ms=50)
    e.heard()
    d.request("ats/events.subscribe")
    i = send(d, timeout_ms=1)
    call, _, _ = g.asked("push")
    g.waits(call)
    e.heard()
    c, = call_of(d, s)
    ats.equal((c["state"], c["approval"]), ("waiting", APPROVAL))
    ats.equal(d.request("ats/inspect", {"id": c["id"]})["approval"], APPROVAL)
    ats.equal(d.request("ats/status")["approvals_waiting"], 1)
    j = send(d)                                  # nobody says a word about it: it times out
    other, _, _ = g.asked("push")
    ats.equal(e.expect("GATEWAY_CANCEL"), [other])
    g.refused(other, "cancelled", "cancelled")
    ats.equal(d.answer(j)["result"]["code"], "timeout")
    ats.equal(call_of(d, s)[0]["state"], "waiting")
    g.refused(call)
    r = d.answer(i)["result"]
    ats.equal((r["outcome"], r["is_error"], r["code"]), ("not_started", True, "denied"))
    ats.equal(text({"result": r}), "refused by a person; this is final")
    ats.equal(d.request("ats/status")["approvals_waiting"], 0)
    i = send(d)
    call, _, _ = g.asked("push")
    g.waits(call)
    g.started(call)
    g.result(call, "yes")
    ats.equal(text(d.answer(i)), "yes")
    d.request("ping")
    kinds = [(n["params"]["kind"], n["params"].get("text")) for n in d.notes
             if n["params"]["kind"].startswith("call.")]
    begin = ("call.begin", "git__push")
    ats.equal(kinds, [begin, ("call.waiting", APPROVAL), begin, ("call.end", "not_started"),
                      ("call.refused", "denied"), ("call.end", "not_started"),
                      begin, ("call.waiting", APPROVAL), ("call.started", None),
                      ("call.end", "done")])


@ats.test("a result that is read before the vault's word that it runs waits for that")
def _(home):
    e, s, d, g = up(home)
    e.heard()
    i = send(d)
    call, _, _ = g.asked("push")
    g.result(call, "early")
    g.waits(call)
    e.heard()
    ats.equal(call_of(d, s)[0]["state"], "waiting")
    g.started(call)
    ats.equal(text(d.answer(i)), "early")
    g.acked(call)
    i = send(d)
    call, _, _ = g.asked("push")
    g.result(call, "never asked for")
    g.refused(call)
    ats.contains(text(d.answer(i)), "refused by a person")


@ats.test("a call without any time limit has the engine's")
def _(home):
    e, s, d, g = up(home, gateway_ms=200, grace_ms=100, cancel_ms=200)
    e.heard()
    i = send(d)
    call, _, limit = g.asked("push")
    ats.equal(limit, 200)
    g.started(call)
    ats.equal(e.expect("GATEWAY_CANCEL"), [call])
    r = d.answer(i)["result"]
    ats.equal((r["outcome"], r["code"]), ("unknown", "timeout"))


@ats.test("a tool that is always denied is in no list; a call of it is still the vault's to refuse")
def _(home):
    e, s, d, g = up(home)
    e.heard()
    g.tools["never"] = {"hidden": True}
    g.tell()
    e.heard()
    names = [t["name"] for t in d.request("tools/list", {})["tools"]]
    ats.check("git__push" in names and "git__never" not in names, names)
    i = send(d, name="git__never")
    call, _, _ = g.asked("never")
    g.refused(call, "denied", "Refused by policy")
    ats.equal(text(d.answer(i)), "Refused by policy")
    i = d.send("ats/tool.call", {"name": "git__none", "arguments": {}})
    ats.missing(d.answer(i)["error"]["message"], "git__never")
    g.tools["never"] = {}
    g.tell()
    e.heard()
    names = [t["name"] for t in d.request("tools/list", {})["tools"]]
    ats.check("git__never" in names, names)


@ats.test("cancelled: before it is ordered, while it waits, while it runs, without an answer")
def _(home):
    e, s, d, g = up(home, cancel_ms=200)
    e.heard()
    for kind in ("asked", "waits", "runs", "ends", "silent"):
        i = send(d, call_id=kind)
        call, _, _ = g.asked("push")
        if kind == "waits":
            g.waits(call)
        elif kind != "asked":
            g.started(call)
        e.heard()
        d.request("ats/call.cancel", {"call_id": kind})
        ats.equal(e.expect("GATEWAY_CANCEL"), [call])
        if kind in ("asked", "waits"):
            g.refused(call, "cancelled", "cancelled")
        elif kind == "runs":
            g.result(call, "cancelled half way", is_error=True, code="cancelled")
        elif kind == "ends":
            g.result(call, "was done")
        r = d.answer(i)["result"]
        ats.equal((kind, r["outcome"]), (kind, {
            "asked": "not_started", "waits": "not_started", "runs": "done", "ends": "done",
            "silent": "unknown"}[kind]))
        if kind == "silent":
            ats.contains(text({"result": r}), "its gateway gave no result")
            g.result(call, "late")
            g.acked(call)
    ats.equal(call_of(d, s), [])


@ats.test("an MCP client takes its request back: nobody is asked any more")
def _(home):
    e, s, d, g = up(home)
    e.heard()
    i = d.send("tools/call", {"name": "git__push", "arguments": {"x": 1}})
    call, _, _ = g.asked("push")
    g.waits(call)
    e.heard()
    d.notify("notifications/cancelled", {"requestId": i})
    ats.equal(e.expect("GATEWAY_CANCEL"), [call])
    g.refused(call, "cancelled", "")
    e.heard()
    d.request("ping")
    ats.check(i not in d.answers)
    ats.equal(call_of(d, s), [])


@ats.test("the client leaves: asked again in time it is the same call, later it is cancelled")
def _(home):
    e, s, d, g = up(home, orphan_ms=300)
    e.heard()
    for tool in ("push", "log"):
        send(d, tool, call_id=tool)
        call, _, _ = g.asked(tool)
        g.waits(call)
        e.heard()
        d.close()
        d = e.door(s, "nonce")
        i = send(d, tool, call_id=tool)
        e.heard()
        g.started(call)
        g.result(call, "kept")
        ats.equal(text(d.answer(i)), "kept")
        send(d, tool, call_id="left" + tool)
        call, _, _ = g.asked(tool)
        g.waits(call)
        e.heard()
        d.close()
        ats.equal(e.expect("GATEWAY_CANCEL"), [call])
        g.refused(call, "cancelled", "")
        d = e.door(s, "nonce")


@ats.test("the gateway dies: what changes things is unknown, what reads is asked for again")
def _(home):
    e, s, d, g = up(home, retry_limit=1)
    e.heard()
    i, j = send(d, "push"), send(d, "log")
    push, log = g.asked("push")[0], g.asked("log")[0]
    g.started(push)
    g.started(log)
    k = send(d, "push", x=2)
    waits, _, _ = g.asked("push")
    g.waits(waits)
    e.heard()
    g.link.close()
    r = d.answer(i)["result"]
    ats.equal((r["outcome"], r["code"]), ("unknown", "gateway_lost"))
    ats.contains(text({"result": r}), "its gateway ended. It may have run in part or to its end; "
                 "it was not run again.")
    again, args, _ = g.asked("log")
    ats.check(again != log)
    ats.equal(args, {"x": 1})
    g.refused(log, "sandbox_lost", "it ended")       # late: nobody knows that id
    g.refused(push, "sandbox_lost", "it ended")
    g.connect()
    g.started(again)
    g.started(waits)
    g.result(again, "read")
    g.result(waits, "after")
    ats.equal((text(d.answer(j)), text(d.answer(k))), ("read", "after"))
    i = send(d, "log", x=3)
    for _ in range(2):
        log = g.asked("log")[0]
        g.started(log)
        e.heard()
        g.link.close()
        g.connect()
    r = d.answer(i)["result"]
    ats.equal((r["is_error"], r["code"]), (True, "gateway_lost"))


@ats.test("the vault says that the gateway is gone: a result in the link counts still")
def _(home):
    e, s, d, g = up(home)
    e.heard()
    i, j = send(d, "push"), send(d, "push", x=2)
    one, two = g.asked("push")[0], g.asked("push")[0]
    g.started(one)
    g.started(two)
    g.refused(one, "sandbox_lost", "it ended")
    g.refused(two, "sandbox_lost", "it ended")
    e.heard()
    g.result(one, "was done")
    old = g.link
    g.connect()                                      # the next one, before the end is seen
    ats.equal(text(d.answer(i)), "was done")
    old.close()
    ats.equal(d.answer(j)["result"]["outcome"], "unknown")
    k = send(d, "push", x=3)
    three = g.asked("push")[0]
    g.started(three)
    g.result(three, "on the new link")
    ats.equal(text(d.answer(k)), "on the new link")


@ats.test("engine restarted: waiting, running, ended and unknown calls")
def _(home):
    e, s, d, g = up(home, grace_ms=300)
    e.heard()
    ids = {}
    for kind in ("waits", "runs", "kept", "refused", "unknown"):
        send(d, call_id=kind)
        ids[kind], _, _ = g.asked("push")
    send(d, "log", call_id="read")
    read, _, _ = g.asked("log")
    e.restart()
    g.tell()
    g.connect(again=True)
    g.waits(ids["waits"])
    g.started(ids["runs"])
    g.refused(ids["refused"])
    g.waits(read)                                    # not journaled: nobody waits for it
    g.result(ids["kept"], "kept")
    g.acked(ids["kept"])
    ats.equal(e.expect("GATEWAY_CANCEL"), [read])
    d = e.door(s, "nonce")
    answers = {kind: send(d, call_id=kind) for kind in ids}
    ats.equal(text(d.answer(answers["kept"])), "kept")
    ats.equal(d.answer(answers["refused"])["result"]["code"], "denied")
    r = d.answer(answers["unknown"])["result"]
    ats.equal((r["outcome"], r["code"]), ("unknown", "gateway_lost"))
    ats.contains(text({"result": r}), "nobody knows of it now")
    g.result(ids["runs"], "ran on")
    ats.equal(text(d.answer(answers["runs"])), "ran on")
    ats.equal([c["state"] for c in call_of(d, s)], ["waiting"])
    g.started(ids["waits"])
    g.result(ids["waits"], "approved")
    ats.equal(text(d.answer(answers["waits"])), "approved")
    g.result(ids["kept"], "kept")                    # the ack was lost: acknowledged again
    g.acked(ids["kept"])


@ats.test("engine restarted without a gateway: what was open is unknown at once")
def _(home):
    e, s, d, g = up(home)
    e.heard()
    send(d, call_id="k")
    g.asked("push")
    e.restart()
    d = e.door(s, "nonce")
    i = send(d, call_id="k")
    # Its tool is not there now; what is known of the call is.
    ats.equal(d.answer(i)["result"]["outcome"], "unknown")
    i = send(d, call_id="another")
    ats.contains(d.answer(i)["error"]["message"], "no tool is called git__push")
    g.tell()
    e.heard()
    ats.equal(d.answer(send(d, call_id="k"))["result"]["outcome"], "unknown")


@ats.test("the vault dies: what it had not said to be started is asked anew, what it had is unknown")
def _(home):
    e, s, d, g = up(home)
    e.heard()
    for key in ("asked", "waits", "runs"):
        send(d, call_id=key)
    asked, waits, runs = (g.asked("push")[0] for _ in range(3))
    g.waits(waits)
    g.started(runs)
    e.vault.close()                     # all of it has been read by then, or is there to be read
    e.proc.wait(ats.TIMEOUT)
    e.start()
    g.tell()
    e.heard()
    d = e.door(s, "nonce")
    r = d.answer(send(d, call_id="runs"))["result"]
    ats.equal((r["outcome"], r["code"]), ("unknown", "gateway_lost"))
    ats.contains(text({"result": r}), "given to its gateway, with these arguments, and brain ended")
    for key, old in (("asked", asked), ("waits", waits)):
        send(d, call_id=key)
        ats.check(g.asked("push")[0] not in (asked, waits, runs), key)


@ats.test("a session that is closed takes its calls with it")
def _(home):
    e, s, d, g = up(home)
    e.heard()
    i, j = send(d), send(d, "log")
    one, two = g.asked("push")[0], g.asked("log")[0]
    g.started(one)
    g.waits(two)
    e.heard()
    e.tell("SESSION_CLOSED", s)
    ats.equal({e.expect("GATEWAY_CANCEL")[0], e.expect("GATEWAY_CANCEL")[0]}, {one, two})
    for k in (i, j):
        ats.equal(d.answer(k)["result"]["code"], "cancelled")
    g.result(one, "late")
    g.acked(one)
    g.refused(two, "cancelled", "")
    e.heard()


@ats.test("a vault that reads nothing for a while hears of all of it then")
def _(home):
    e, s, d, g = up(home)
    e.heard()
    n = 600
    ids = [send(d, call_id="k%d" % i, x="y" * 2000) for i in range(n)]
    e.heard()
    d.request("ats/call.cancel", {"call_id": "k%d" % (n - 1)})   # it was not told yet
    ats.equal(d.answer(ids.pop())["result"]["outcome"], "not_started")
    for i in ids:
        call, _, _ = g.asked("push")
        g.refused(call)
        ats.equal(d.answer(i)["result"]["code"], "denied")
    e.heard()


ats.main()
