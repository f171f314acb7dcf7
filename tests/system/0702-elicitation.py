#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""atsctl mcp shows approvals as dialogs of its client: a scripted vault and a scripted client."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from ctl_mcp import Client
from fake_vault import FakeVault, canonical, sha256

SESSION = "s-0123456789ab"
ARGS = {"title": "x\u202ey\x1b[2J", "n": 1}


def vault_of(home):
    b = FakeVault(os.path.join(home.run, "ats"))
    home.open_things.append(b)
    b.on("ping")(lambda c, m, f: {})
    return b


def client_of(home, capabilities, name="my client\n\x1b"):
    c = Client(home)
    c.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": capabilities,
                             "clientInfo": {"name": name, "version": "1"}})
    c.notify("notifications/initialized")
    return c


def asked_of(b, n=1):
    b.wait_for(lambda: len(b.asked) >= n, "%d APPROVALS" % n)
    return b.asked[n - 1]


def reply(c, id, **kw):
    c._send(json.dumps({"jsonrpc": "2.0", "id": id, **kw}).encode() + b"\n", ())


def decision(said):
    return {"result": {"action": "accept", "content": {"decision": said}}}


@ats.test("an approval is a dialog with all of it, escaped; its answer decides")
def _(home):
    b = vault_of(home)
    c = client_of(home, {"elicitation": {}})
    ats.equal(asked_of(b), (1, SESSION, "elicitation my_client__"))
    id = b.wants("github", "create_issue", ARGS, workspace="/home/me/ws")
    m = c.message()
    ats.equal(m["method"], "elicitation/create")
    text = m["params"]["message"]
    for part in (id, "github", "create_issue", SESSION, "/home/me/ws",
                 '"title": "x\\u202ey\\u001b[2J"', '"n": 1'):
        ats.contains(text, part)
    ats.missing(text, "\u202e")
    ats.missing(text, "\x1b")
    schema = m["params"]["requestedSchema"]
    ats.equal((list(schema["properties"]), schema["required"]), (["decision"], ["decision"]))
    ats.equal(schema["properties"]["decision"]["enum"], ["deny", "approve"])
    reply(c, m["id"], **decision("approve"))
    ats.equal(b.wait_decided(),
              [("APPROVE", id, sha256(canonical(ARGS)), "elicitation my_client__")])
    # Neither dialogs nor their answers pass the engine.
    c.request("ping")
    ats.missing(json.dumps(b.seen), m["id"])
    for said in ({"action": "decline"}, decision("deny")["result"]):
        other = b.wants("g", "t", {})
        reply(c, c.message()["id"], result=said)
        b.wait_for(lambda n=other: ("DENY", n, "", "elicitation my_client__") in b.decided,
                   "a denial")
    ats.equal(c.rest()[0], 0)


@ats.test("what waits already is asked about, and ids are never the client's own")
def _(home):
    b = vault_of(home)
    ids = [b.wants("g", "t", {"n": n}) for n in range(3)]
    b.wants("g", "other", {}, session="s-ffffffffffff")
    b.on("tools/call")(lambda c, m, f: None)
    c = client_of(home, {"elicitation": {"form": {}}, "roots": {}})
    shown = [c.message() for _ in ids]
    ats.equal(len({m["id"] for m in shown}), 3)
    for m, id in zip(shown, ids, strict=True):
        ats.contains(m["params"]["message"], id)
        # A request of the client with the id of ours is a request of the client.
        c.send("tools/call", {"name": "x", "arguments": {}}, id=m["id"])
    b.wait_requests("tools/call", 3)
    ats.equal(b.decided, [])
    reply(c, shown[1]["id"], **decision("approve"))
    ats.equal(b.wait_decided()[0][1], ids[1])


@ats.test("one that goes takes its dialog away; a late answer decides nothing")
def _(home):
    b = vault_of(home)
    c = client_of(home, {"elicitation": {}})
    asked_of(b)
    gone, stays = b.wants("g", "t", {}), b.wants("g", "t", {"x": 1})
    first, second = c.message(), c.message()
    b.goes(gone, "expired")
    m = c.message()
    ats.equal((m["method"], m["params"]["requestId"], m["params"]["reason"]),
              ("notifications/cancelled", first["id"], "expired"))
    reply(c, first["id"], **decision("approve"))
    reply(c, second["id"], **decision("approve"))
    reply(c, second["id"], **decision("deny"))
    b.wait_decided()
    c.request("ping")
    ats.equal([d[:2] for d in b.decided], [("APPROVE", stays)])


@ats.test("junk for an answer decides nothing, and the client goes on")
def _(home):
    b = vault_of(home)
    c = client_of(home, {"elicitation": {}})
    asked_of(b)
    bad = ({"result": {"action": "cancel"}}, {"result": {"action": "accept"}},
           {"result": {"action": "accept", "content": {"decision": "Approve"}}},
           {"result": {"action": "accept", "content": {"decision": True}}},
           {"result": {"action": "accept", "content": ["approve"]}}, {"result": None},
           {"result": {"action": ["accept"], "content": {"decision": "approve"}}},
           {"error": {"code": -32601, "message": "no dialogs"}}, {},
           {"result": {"decision": "approve"}}, {"result": "approve"})
    for kw in bad:
        b.wants("g", "t", {})
        reply(c, c.message()["id"], **kw)
    b.wants("g", "t", {})
    id = c.message()["id"]
    line = '{"jsonrpc":"2.0","id":"%s","result":{"action":"accept","action":"accept",' \
        '"content":{"decision":"approve"}}}\n' % id
    c._send(line.encode(), ())
    for id in (id + "0", id[:-1] + "99", 7, None, "ats-approval-"):
        reply(c, id, **decision("approve"))
    c.request("ping")
    ats.equal(b.decided, [])
    ats.equal(len(b.waiting), len(bad) + 1)


@ats.test("no dialogs: not declared, only by URL, not let by the configuration, too long")
def _(home):
    b = vault_of(home)
    b.wants("g", "t", {})
    for capabilities in ({}, {"elicitation": {"url": {}}}, {"elicitation": True},
                         {"roots": {"elicitation": {}}}):
        c = client_of(home, capabilities)
        c.request("ping")
        ats.equal(c.rest(), (0, []))
    ats.equal(b.asked, [])
    b.elicitation = False
    c = client_of(home, {"elicitation": {}})
    asked_of(b)
    b.wants("g", "t", {})
    c.request("ping")
    ats.equal(c.rest(), (0, []))
    b.elicitation = True
    c = client_of(home, {"elicitation": {}})
    c.message()
    c.message()
    b.wants("g", "long", {"x": "y" * 40000})
    b.wants("g", "longer", {"x": "y" * 400000})
    ats.contains(c.process.stderr.readline(), b"atsctl approve a-")
    ats.contains(c.process.stderr.readline(), b"atsctl approve a-")
    c.request("ping")


@ats.test("a lost vault takes all dialogs away; what waits at the next one is asked again")
def _(home):
    b = vault_of(home)
    c = client_of(home, {"elicitation": {}})
    asked_of(b)
    id = b.wants("g", "t", {})
    first = c.message()
    b.drop_followers()
    m = c.message()
    ats.equal((m["method"], m["params"]["requestId"]), ("notifications/cancelled", first["id"]))
    again = c.message()
    ats.equal(again["method"], "elicitation/create")
    ats.check(again["id"] != first["id"], "the same id")
    reply(c, first["id"], **decision("approve"))
    reply(c, again["id"], **decision("deny"))
    ats.equal([d[:2] for d in b.wait_decided()], [("DENY", id)])
    # The engine alone is lost: dialogs stay.
    other = b.wants("g", "t", {})
    m = c.message()
    b.drop()
    b.wait_requests("initialize", 2)
    reply(c, m["id"], **decision("approve"))
    ats.equal(b.wait_decided(2)[1][:2], ("APPROVE", other))
    # Brain is another one, which lets no dialogs, and then one that does.
    b.elicitation = False
    b.drop_followers()
    asked_of(b, 3)
    b.elicitation = True
    b.drop()
    asked_of(b, 4)
    b.wants("g", "t", {})
    ats.equal(c.message()["method"], "elicitation/create")


ats.main()
