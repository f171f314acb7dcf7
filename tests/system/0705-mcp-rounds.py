#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""atsctl mcp asks clients of MCP 2026-07-28 about approvals in the answers to their calls: a
scripted vault, a scripted engine, a scripted client."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from ats import MCP_KEY, modern_meta
from ctl_mcp import Client
from fake_vault import FakeVault, canonical, sha256

SESSION = "s-0123456789ab"
FORMS = {"elicitation": {}}
ARGS = {"title": "x\u202ey\x1b[2J", "n": 1}
CALL = {"name": "g__t", "arguments": ARGS}
WAY = "elicitation my_client__"
INFO = {"name": "my client\n\x1b", "version": "1"}


class Rig:
    def __init__(self, home):
        self.home = home
        self.vault = FakeVault(os.path.join(home.run, "ats"))
        home.open_things.append(self.vault)
        self.conn = None
        self.vault.on("ats/call.watch")(self.watch)
        self.vault.on("tools/call")(lambda c, m, f: None)
        self.vault.on("ping")(lambda c, m, f: {})
        self.client = Client(home)

    def watch(self, conn, message, fds):
        self.conn = conn
        return {}

    def calls(self, n=1):
        """The n-th tools/call that the engine saw."""
        return self.vault.wait_requests("tools/call", n)[n - 1]

    def engine_waits(self, id, approval):
        self.conn.send({"jsonrpc": "2.0", "method": "ats/call.waits",
                        "params": {"requestId": id, "approval": approval}})

    def engine_answers(self, id, text, **more):
        self.conn.send({"jsonrpc": "2.0", "id": id, "result": {
            "resultType": "complete", "content": [{"type": "text", "text": text}], **more}})

    def call(self, params=None, capabilities=None, meta=None, **more):
        return self.client.modern("tools/call", {**(params or CALL), **more}, meta=meta, info=INFO,
                                  capabilities=FORMS if capabilities is None else capabilities)

    def sync(self):
        """All that was sent before has been dealt with."""
        self.client.request("ping")

    def begin(self, args=None, n=1, **kw):
        """A call that waits for an approval; the client is asked. (id, approval, result)"""
        params = {"name": "g__t", "arguments": ARGS if args is None else args}
        id = self.call(params, **kw)
        self.calls(n)
        approval = self.vault.wants("g", "t", params["arguments"], workspace="/home/me/ws")
        self.engine_waits(id, approval)
        return id, approval, self.asked(id)

    def asked(self, id):
        m = self.client.answer(id)
        ats.check("result" in m, m)
        ats.equal(m["result"]["resultType"], "input_required")
        ats.equal(list(m["result"]["inputRequests"]), ["approval"])
        return m["result"]

    def retry(self, r, said, params=None, **kw):
        responses = {} if said is None else {"inputResponses": {"approval": said}}
        return self.call(params, requestState=r["requestState"], **responses, **kw)

    def error(self, id):
        m = self.client.answer(id)
        ats.check("error" in m, m)
        return m["error"]

    def text(self, id):
        m = self.client.answer(id)
        ats.check("result" in m, m)
        ats.equal(m["result"]["resultType"], "complete")
        return m["result"]["content"][0]["text"]

    def requests(self):
        """None is ever sent to the client."""
        return [m for m in self.client.notes if "id" in m]


def accept(decision):
    return {"action": "accept", "content": {"decision": decision}}


@ats.test("an approval is in the answer to its call, all of it; the retry decides and joins")
def _(home):
    g = Rig(home)
    id, approval, r = g.begin()
    ats.equal(g.vault.asked, [(1, SESSION, WAY)])
    ask = r["inputRequests"]["approval"]
    ats.equal((ask["method"], ask["params"]["mode"]), ("elicitation/create", "form"))
    for part in (approval, "g", "t", SESSION, "/home/me/ws",
                 '"title": "x\\u202ey\\u001b[2J"', '"n": 1'):
        ats.contains(ask["params"]["message"], part)
    ats.missing(ask["params"]["message"], "\u202e")
    ats.missing(ask["params"]["message"], "\x1b")
    schema = ask["params"]["requestedSchema"]
    ats.equal((list(schema["properties"]), schema["required"]), (["decision"], ["decision"]))
    ats.equal(schema["properties"]["decision"]["enum"], ["deny", "approve"])
    ats.equal(r["_meta"][MCP_KEY + "serverInfo"]["name"], "agent-tool-server")
    ats.equal(g.vault.decided, [])
    again = g.retry(r, accept("approve"))
    ats.equal(g.vault.wait_decided(), [("APPROVE", approval, sha256(canonical(ARGS)), WAY)])
    g.sync()
    ats.equal(len(g.vault.requests("tools/call")), 1)
    g.engine_answers(id, "done")
    ats.equal(g.text(again), "done")
    ats.missing(g.client.answers, id)
    other, second, r = g.begin({"x": 2}, n=2)
    for n, said in enumerate(({"action": "decline"}, accept("deny"))):
        if n:
            other, second, r = g.begin({"x": 3}, n=3)
        i = g.retry(r, said, {"name": "g__t", "arguments": {"x": 2 + n}})
        g.vault.wait_for(lambda s=second: ("DENY", s, "", WAY) in g.vault.decided, "a denial")
        g.engine_answers(other, "denied", isError=True)
        ats.equal(g.text(i), "denied")
    ats.equal(g.requests(), [])
    ats.equal(g.client.rest()[0], 0)


@ats.test("it does not matter whether vault or engine tells first; other sessions do not")
def _(home):
    g = Rig(home)
    g.vault.wants("g", "t", {}, session="s-ffffffffffff")
    id = g.call()
    g.calls()
    ats.until(lambda: g.vault.asked, "APPROVALS")
    first = g.vault.wants("g", "t", ARGS)
    g.sync()
    ats.equal(g.client.answers, {})
    g.engine_waits(id, first)
    g.engine_waits(id, first)
    r = g.asked(id)
    ats.contains(r["inputRequests"]["approval"]["params"]["message"], first)
    # One that the vault tells after the engine.
    second = "a-%012x" % (int(first[2:], 16) + 1)
    id = g.call()
    g.calls(2)
    g.engine_waits(id, second)
    g.sync()
    ats.equal(g.client.answers, {})
    ats.equal(g.vault.wants("g", "t", ARGS), second)
    g.asked(id)
    # Nonsense of the engine is passed over, and never passed on.
    for params in ({}, {"requestId": 77, "approval": first}, {"requestId": id},
                   {"requestId": id, "approval": 7}, {"requestId": id, "approval": "x" * 99}):
        g.conn.send({"jsonrpc": "2.0", "method": "ats/call.waits", "params": params})
    g.sync()
    ats.equal((g.client.notes, g.client.answers), ([], {}))


@ats.test("no answer, or half of one, is asked for again; to dismiss it leaves it to others")
def _(home):
    g = Rig(home)
    id, approval, r = g.begin()
    for said in (None, {"action": "accept"}, accept("Approve"), accept(True),
                 {"action": "accept", "content": {}}, {"action": "accept", "content": ["approve"]}):
        r = g.asked(g.retry(r, said))
    r2 = g.asked(g.call(requestState=r["requestState"], inputResponses={"x": accept("approve")}))
    for bad in (7, "approve", [accept("approve")], {"approval": "approve"}, {"approval": None},
                {"approval": {}}, {"approval": {"action": "Accept"}}):
        i = g.call(requestState=r2["requestState"], inputResponses=bad)
        ats.equal(g.error(i)["code"], -32602, bad)
    ats.equal(g.vault.decided, [])
    i = g.retry(r2, {"action": "cancel"})
    g.sync()
    ats.equal((g.client.answers, g.vault.decided), ({}, []))
    g.vault.goes(approval, "approved")
    g.engine_answers(id, "by atsctl approve")
    ats.equal(g.text(i), "by atsctl approve")
    ats.equal(len(g.vault.requests("tools/call")), 1)


@ats.test("a state that is not ours, not this call's, used or old decides nothing and runs nothing")
def _(home):
    g = Rig(home)
    g.vault.on("tools/call")(lambda c, m, f: {"refused": True} if "requestState" in m["params"]
                             else None)
    id, approval, r = g.begin()
    state = r["requestState"]
    seen = 1

    def to_engine(state, params=None):
        # The engine has given no state to anybody, and refuses each.
        nonlocal seen
        i = g.call(params, requestState=state, inputResponses={"approval": accept("approve")})
        ats.equal(g.client.answer(i).get("result"), {"refused": True}, state)
        seen += 1
        ats.equal(len(g.vault.requests("tools/call")), seen)
    for n in range(0, len(state), 7):
        to_engine(state[:n] + ("0" if state[n] != "0" else "1") + state[n + 1:])
    for bad in ("", ".", "1", state[:-1], state + "0", state + ".", state * 3, "x" * 100000, 7,
                None, [state], state.upper(), state.split(".")[-1]):
        to_engine(bad)
    for other in ({"name": "g__t", "arguments": {**ARGS, "n": 2}}, {"name": "g__t"},
                  {"name": "g__u", "arguments": ARGS}):
        to_engine(state, other)
    ats.equal(g.vault.decided, [])
    # What the client may not be asked cannot be answered.
    for capabilities in ({}, {"elicitation": {"url": {}}}, {"sampling": {}}):
        m = g.error(g.retry(r, accept("approve"), capabilities=capabilities))
        ats.equal((m["code"], m["data"]),
                  (-32021, {"requiredCapabilities": {"elicitation": {"form": {}}}}))
    ats.equal(g.vault.decided, [])
    i = g.retry(r, accept("approve"))
    g.vault.wait_decided()
    for _ in range(2):
        m = g.error(g.retry(r, accept("approve")))
        ats.equal(m["code"], -32602)
        ats.contains(m["message"], "used")
    g.engine_answers(id, "done")
    ats.equal(g.text(i), "done")
    ats.equal(len(g.vault.decided), 1)
    # Old: the approval's own time is over, and that of late answers.
    id = g.call({"name": "g__t", "arguments": {}})
    old = g.vault.wants("g", "t", {}, life_s=-100)
    g.vault.wait_requests("tools/call", seen + 1)
    g.engine_waits(id, old)
    r = g.asked(id)
    m = g.error(g.retry(r, accept("approve"), {"name": "g__t", "arguments": {}}))
    ats.equal(m["code"], -32602)
    ats.equal(len(g.vault.decided), 1)


@ats.test("an answer that comes before the retry is held for it")
def _(home):
    g = Rig(home)
    id, approval, r = g.begin()
    g.vault.goes(approval, "approved")
    g.engine_answers(id, "ran already")
    g.sync()
    ats.equal(g.client.answers, {})
    # Whatever is said now: it has run. It is given once.
    ats.equal(g.text(g.retry(r, accept("deny"))), "ran already")
    ats.equal(g.vault.decided, [])
    id, approval, r = g.begin({"n": 2}, n=2)
    g.vault.goes(approval, "expired")
    g.engine_answers(id, "nobody approved it", isError=True)
    g.sync()
    other = {"name": "g__t", "arguments": {"n": 2}}
    ats.equal(g.text(g.retry(r, None, other, capabilities={})), "nobody approved it")
    # Ended at the vault, and the engine has not said so yet: the retry waits for that.
    id, approval, r = g.begin({"n": 3}, n=3)
    g.vault.goes(approval, "denied")
    g.sync()
    i = g.retry(r, accept("approve"), {"name": "g__t", "arguments": {"n": 3}})
    g.sync()
    ats.equal(g.client.answers, {})
    g.engine_answers(id, "denied by another", isError=True)
    ats.equal(g.text(i), "denied by another")
    ats.equal(g.vault.decided, [])
    ats.equal(g.client.rest()[0], 0)


@ats.test("progress goes by the token of the request that waits, and by none while none does")
def _(home):
    g = Rig(home)

    def progress(n):
        g.conn.send({"jsonrpc": "2.0", "method": "notifications/progress",
                     "params": {"progressToken": "one", "progress": n}})
        g.sync()
        notes, g.client.notes = g.client.notes, []
        return [m["params"] for m in notes]
    id, _, r = g.begin(meta={"progressToken": "one"})
    ats.equal(progress(1), [])
    i = g.retry(r, {"action": "cancel"}, meta={"progressToken": "two"})
    ats.equal(progress(2), [{"progressToken": "two", "progress": 2}])
    g.engine_answers(id, "x")
    ats.equal(g.text(i), "x")
    ats.equal(progress(3), [{"progressToken": "one", "progress": 3}])    # nobody's
    id, _, r = g.begin({"n": 2}, n=2, meta={"progressToken": "one"})
    g.retry(r, {"action": "cancel"}, {"name": "g__t", "arguments": {"n": 2}})
    ats.equal(progress(4), [])


@ats.test("cancelling and ids that are in use, in each state of a round")
def _(home):
    g = Rig(home)

    def cancel(id):
        g.client.notify("notifications/cancelled", {"requestId": id})
        g.sync()
        return [m["params"]["requestId"] for m in g.vault.requests("notifications/cancelled")]
    # Waiting: the engine's to end.
    id = g.call()
    g.calls()
    g.engine_waits(id, "a-00000000ffff")
    ats.equal(cancel(id), [id])
    # Parked: the request is answered, the one that comes may still do so.
    id, approval, r = g.begin(n=2)
    ats.equal(cancel(id), cancel("nobody")[:1])
    before = len(g.vault.requests("notifications/cancelled"))
    for method in ("tools/call", "tools/list", "ping"):
        g.client.modern(method, CALL, id=id)
        m = g.error(id)
        ats.equal(m["code"], -32600)
        ats.contains(m["message"], "not over yet")
    g.client.modern("tools/call", {**CALL, "requestState": r["requestState"]}, id=id, info=INFO,
                    capabilities=FORMS)
    ats.equal(g.error(id)["code"], -32600)
    # Joined: what the client cancels the engine does, by the id that it knows.
    i = g.retry(r, {"action": "cancel"})
    g.sync()
    ats.equal(len(g.vault.requests("tools/call")), 2)
    for used in (id, i):
        g.client.modern("tools/call", CALL, id=used)
        ats.equal(g.error(used)["code"], -32600)
    ats.equal(cancel(id)[before:], [])
    ats.equal(cancel(i)[before:], [id])
    ats.equal(cancel(i)[before + 1:], [i])
    g.engine_answers(id, "late")
    g.sync()
    ats.equal(g.client.answers, {})
    ats.equal(g.vault.decided, [])


@ats.test("a brain that is lost is asked again, and so is the person about a new approval")
def _(home):
    g = Rig(home)
    id, first, r = g.begin()
    g.vault.drop()
    g.calls(2)
    g.vault.wait_requests("ats/call.watch", 2)
    ats.equal(g.calls(2)["id"], id)
    # The same approval: nothing has changed for the client.
    g.engine_waits(id, first)
    g.sync()
    ats.equal(g.client.answers, {})
    # Another vault, which has forgotten it.
    with g.vault.vault_lock:
        g.vault.waiting.clear()
    g.vault.drop_followers()
    g.vault.wait_for(lambda: len(g.vault.asked) > 1, "APPROVALS again")
    second = g.vault.wants("g", "t", ARGS)
    g.engine_waits(id, second)
    g.sync()
    r = g.asked(g.retry(r, accept("approve")))
    ats.contains(r["inputRequests"]["approval"]["params"]["message"], second)
    ats.equal(g.vault.decided, [])
    i = g.retry(r, {"action": "cancel"})
    g.sync()
    # Joined, and lost once more.
    g.vault.drop()
    g.calls(3)
    g.vault.wait_requests("ats/call.watch", 3)
    third = g.vault.wants("g", "t", ARGS)
    g.engine_waits(id, third)
    r = g.asked(i)
    i = g.retry(r, accept("approve"))
    ats.equal(g.vault.wait_decided()[0][:2], ("APPROVE", third))
    g.engine_answers(id, "done")
    ats.equal(g.text(i), "done")


@ats.test("who shows no dialogs, or is of before 2026-07-28, is not asked in an answer")
def _(home):
    g = Rig(home)
    approval = "a-%012x"
    for n, kw in enumerate(({"capabilities": {}}, {"capabilities": {"elicitation": {"url": {}}}},
                            {"capabilities": {"sampling": {}, "roots": {}}})):
        g.call(**kw)
        g.calls(n + 1)
    g.client.send("tools/call", CALL)
    g.calls(4)
    g.sync()
    ats.equal((g.vault.asked, g.vault.requests("ats/call.watch")), ([], []))
    # Not let by the configuration: it waits, as for anybody.
    g.vault.elicitation = False
    id = g.call()
    g.calls(5)
    ats.until(lambda: g.vault.asked, "APPROVALS")
    g.engine_waits(id, approval % 1)
    g.sync()
    ats.equal(g.client.answers, {})
    g.engine_answers(id, "done")
    ats.equal(g.text(id), "done")
    # Too long for a dialog.
    g.vault.elicitation = True
    g.client.process.stdin.close()
    g = Rig2(home, g.vault)
    id = g.call()
    g.vault.wait_for(lambda: len(g.vault.asked) > 1, "APPROVALS")
    long = g.vault.wants("g", "t", {"x": "y" * 40000})
    g.engine_waits(id, long)
    ats.contains(g.client.process.stderr.readline(), b"atsctl approve " + long.encode())
    g.sync()
    ats.equal(g.client.answers, {})


class Rig2(Rig):
    """Another client of the same brain."""

    def __init__(self, home, vault):
        self.home, self.vault, self.conn = home, vault, None
        vault.on("ats/call.watch")(self.watch)
        self.client = Client(home)


@ats.test("64 are asked about at once; the others wait for atsctl approve")
def _(home):
    g = Rig(home)
    ids = [g.call({"name": "g__t", "arguments": {"n": n}}) for n in range(66)]
    g.calls(66)
    for n, id in enumerate(ids):
        g.engine_waits(id, g.vault.wants("g", "t", {"n": n}))
    asked = [g.asked(id) for id in ids[:64]]
    ats.equal(len({r["requestState"] for r in asked}), 64)
    g.sync()
    ats.equal(g.client.answers, {})
    i = g.retry(asked[5], accept("approve"), {"name": "g__t", "arguments": {"n": 5}})
    g.vault.wait_decided()
    g.engine_answers(ids[5], "five")
    ats.equal(g.text(i), "five")


@ats.test("subscriptions outlive the engine with one acknowledgement; the end waits for no round")
def _(home):
    g = Rig(home)
    listens = g.vault.on("subscriptions/listen")

    @listens
    def _(conn, m, fds):
        conn.send({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                   "params": {"_meta": {MCP_KEY + "subscriptionId": m["id"]},
                              "notifications": m["params"]["notifications"]}})
    for id, kept in (("a", {}), (7, {}), ("t", {"toolsListChanged": True})):
        g.client.modern("subscriptions/listen", {"notifications": kept}, id=id)
        m = g.client.message()
        ats.equal((m["method"], m["params"]["_meta"], m["params"]["notifications"]),
                  ("notifications/subscriptions/acknowledged",
                   {MCP_KEY + "subscriptionId": id}, kept))
    g.client.notify("notifications/cancelled", {"requestId": "a"})
    g.vault.wait_requests("notifications/cancelled")
    g.vault.drop()
    ats.equal([m["id"] for m in g.vault.wait_requests("subscriptions/listen", 5)[3:]], [7, "t"])
    g.sync()
    # What may have changed meanwhile is told as changed.
    ats.equal([(m["method"], m["params"]) for m in g.client.notes],
              [("notifications/tools/list_changed",
                {"_meta": {MCP_KEY + "subscriptionId": "t"}})])
    g.begin()
    code, rest = g.client.rest()
    ats.equal((code, rest), (0, []))
    ats.equal([m["params"]["requestId"] for m in g.vault.requests("notifications/cancelled")][1:],
              [7, "t", g.client.last_id])


@ats.test("a brain that is gone for good ends what somebody waits for, and nothing twice")
def _(home):
    g = Rig(home)
    id, _, r = g.begin()
    other, _, r2 = g.begin({"n": 2}, n=2)
    i = g.retry(r2, {"action": "cancel"}, {"name": "g__t", "arguments": {"n": 2}})
    w = g.client.modern("tools/call", CALL, info=INFO)
    g.sync()
    g.vault.answer_vault = lambda name, values: ("FAILED", 7, "no more")
    g.vault.drop()
    for x in (i, w):
        m = g.error(x)
        ats.equal((m["code"], m["data"]["code"]), (-32603, "closed"))
    ats.equal(g.client.message(), None)


ats.main()
