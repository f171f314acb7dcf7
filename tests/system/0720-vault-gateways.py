#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gateways and their calls as the vault sees them: a real vault and spawner, and an engine and
gateways that are the test (tests/lib/vault_rig.py)."""
import json
import os
import socket
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from vault_rig import REFUSED, STARTED, WAITS, VaultRig, sha256

INVAL, PERM, FULL, AGAIN, NOTFILE, JSON_CODE = 4, 7, 8, 9, 16, 11
FIELD, UNKNOWN_TOOL, UNKNOWN_ID, CANCELLED, NOT_STARTED, DENIED, GATEWAY_LOST = \
    103, 200, 201, 202, 205, 207, 209
CHANGED, TOOBIG = 211, 3
HIDDEN, ASKS = 8, 16
SECRET = "s3cret-of-the-test"


def schema(*required, **props):
    return {"type": "object", "properties": {k: {"type": v} for k, v in props.items()},
            "required": list(required)}


TOOLS = {
    "look": {"description": "d", "input": schema("a", a="string", b="number"),
             "argv": ["/bin/true"], "read_only": True},
    "push": {"description": "d", "input": schema("to", to="string"), "argv": ["/bin/true"]},
    "never": {"description": "d", "argv": ["/bin/true"], "permission": "deny"},
}


def conf(home, **more):
    """A program with a credential, another without, and an MCP server."""
    path = os.path.join(home.dir, "token")
    if not os.path.lexists(path):
        with open(path, "w", encoding="ascii") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write(SECRET + "\nsecond line\n")
    out = {
        "credentials": {"tok": {"file": path}},
        "gateways": {
            "run": {"kind": "command", "credential": "tok", "credential_env": "T",
                    "timeout_ms": 5000, "tools": TOOLS},
            "bare": {"kind": "command", "tools": {"t": dict(TOOLS["look"], input=schema())}},
            "up": {"kind": "mcp", "argv": ["/bin/server"], "allow": ["one", "two", "a.b", "a/b", "x"],
                   "tools": {"two": {"permission": "allow"}, "one": {"read_only": False}}},
        }}
    out.update(more)
    return out


def memfd(data):
    fd = os.memfd_create("args")
    os.write(fd, data)
    return fd


def status_error(vault, *question):
    try:
        vault.ask(*question)
    except ats.VaultError as e:
        return e.code, e.text
    raise ats.Failure("%r was not refused" % (question,))


@ats.test("the engine hears of the tools; an MCP server is asked when they are wanted")
def _(home):
    rig = VaultRig(home, conf(home))
    e = rig.engine
    got, lists = {}, {}
    while len(lists) < 3:
        name, values = e.recv()
        if name == "GATEWAY_TOOL":
            got[values[0] + "__" + values[1]] = (json.loads(values[2]), values[3])
        elif name == "GATEWAY_TOOLS":
            lists[values[0]] = values[1:]
    ats.equal(lists["run"], [3, 0, ""])
    ats.equal(lists["up"][:2], [0, AGAIN])
    ats.equal(sorted(got), ["bare__t", "run__look", "run__never", "run__push"])
    tool, flags = got["run__look"]
    ats.equal(flags, 1 | 4)
    ats.equal([got[n][1] & HIDDEN for n in sorted(got)], [0, 0, HIDDEN, 0])
    ats.equal(tool["annotations"], {"readOnlyHint": True, "destructiveHint": False,
                                    "idempotentHint": True, "openWorldHint": True})
    ats.equal(tool["inputSchema"]["required"], ["a"])
    ats.equal(tool["timeoutMs"], 5000)
    ats.check(rig.none_started())
    e.say("GATEWAY_LIST", "up")
    g = rig.gateway()
    ats.equal(g.argv[-1:], ["up"])
    name, text = g.expect("GW_SETUP")
    ats.equal((name, json.loads(text)["kind"], g.fds), ("up", "mcp", []))
    ok = json.dumps({"description": "d", "inputSchema": {"type": "object"}})
    g.say("GW_TOOL", 1, "one", ok)
    g.say("GW_TOOL", 1, "two", ok)
    g.say("GW_TOOL", 1, "a.b", ok)
    g.say("GW_TOOL", 1, "a/b", ok)              # the same name for agents
    g.say("GW_TOOL", 1, "three", ok)            # not in allow
    g.say("GW_TOOL", 1, "x", '{"description":"d","description":"e","inputSchema":{}}')
    g.say("GW_TOOL", 1, "x", '{"inputSchema":[]}')
    g.say("GW_TOOLS", 7)
    g.say("GW_READY", 0, "")
    told = []
    while not told or told[-1][0] != "GATEWAY_TOOLS":
        told.append(e.recv())
    ats.equal([(m[1][1], m[1][3]) for m in told[:-1]], [("one", 2 | ASKS), ("two", 1), ("a.b", 1)])
    ats.equal(told[-1][1], ["up", 3, 0, ""])
    g.say("GW_TOOLS", 0)                        # another list replaces it
    ats.equal(e.expect("GATEWAY_TOOLS"), ["up", 0, 0, ""])


@ats.test("a call that may run: told, ordered, linked, ended, in the audit log")
def _(home):
    rig = VaultRig(home, conf(home))
    s = rig.session()
    rig.engine.ask(7, s, "run__look", '{ "b": 1.0, "a": "x\\u0041" }')
    g = rig.gateway()
    name, text = g.expect("GW_SETUP")
    fd = g.take_fd()
    ats.equal(os.read(fd, 100).decode(), SECRET)
    ats.equal(os.read(fd, 100), b"")
    os.close(fd)
    ats.missing(text, SECRET)
    g.say("GW_READY", 0, "")
    ours, theirs = rig.link(g)
    ats.equal(rig.engine.state(7), (STARTED, 0, "", ""))
    args = '{"a":"xA","b":1}'
    ats.equal(g.expect("GW_ORDER"), [7, 5000, "look", args])
    theirs.sendall(b"result")
    ats.equal(ours.recv(10), b"result")
    g.say("GW_ENDED", 7, 0)
    rig.engine.ask(8, s, "run__look", '{"a":"y"}', 60000)
    ats.equal(rig.engine.state(8)[0], STARTED)
    ats.equal(g.expect("GW_ORDER")[:3], [8, 60000, "look"])
    rig.engine.say("GATEWAY_CANCEL", 8)
    ats.equal(g.expect("GW_CANCEL"), [8])
    g.say("GW_ENDED", 8, CANCELLED)
    ats.until(lambda: len(rig.audit()) == 4, "four lines")
    lines = rig.audit()
    ats.equal([x["event"] for x in lines], ["ordered", "ended", "ordered", "ended"])
    ats.equal((lines[0]["session"], lines[0]["gateway"], lines[0]["tool"], lines[0]["decision"],
               lines[0]["sha256"]), (s, "run", "run__look", "allow", sha256(args)))
    ats.equal([(x.get("outcome"), x.get("code")) for x in lines],
              [(None, None), ("done", None), (None, None), ("failed", "cancelled")])
    ats.check(not any("arguments" in x for x in lines))
    with open(os.path.join(ats.TOP, "proto", "schema", "audit.json"), encoding="utf-8") as f:
        known = json.load(f)
    for x in lines:
        ats.equal(set(x) - set(known["properties"]), set())
        ats.equal(set(known["required"]) - set(x), set())
    path = os.path.join(home.state, "ats", "vault", "audit.jsonl")
    ats.equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)


def long_args(n):
    return json.dumps({"to": "x" * n}, separators=(",", ":"))


@ats.test("what is shown is what runs, once")
def _(home):
    rig = VaultRig(home, conf(home))
    s = rig.session()
    rig.engine.ask(1, s, "run__push", '{"to":"b"}')
    state, _, _, id = rig.engine.state(1)
    ats.equal(state, WAITS)
    ats.check(rig.none_started())
    v = home.vault()
    v.sock.send(ats.Vault.pack("APPROVALS", 5, 0, "", "terminal"))
    name, seq, values = v.recv()
    ats.equal((name, seq, values[0], values[3:]),
              ("APPROVAL", 5, id, [s, "run", "run__push", '{"to":"b"}', home.ws]))
    ats.equal(values[2] - values[1], 600000)
    ats.equal(v.recv()[0], "OK")
    ats.equal(status_error(v, "APPROVE", id, sha256('{"to":"a"}'), "terminal")[0], CHANGED)
    ats.equal(status_error(v, "APPROVE", "a-000000000000", sha256('{"to":"b"}'), "terminal")[0],
              UNKNOWN_ID)
    ats.equal(status_error(v, "APPROVE", id, sha256('{"to":"b"}'), "elicitation X")[0], PERM)
    ats.equal(status_error(v, "APPROVE", id, sha256('{"to":"b"}'), "magic")[0], INVAL)
    ats.equal(status_error(v, "APPROVALS", 1, "", "elicitation X")[0], PERM)
    rig.engine.quiet()
    v.ask("APPROVE", id, sha256('{"to":"b"}'), "terminal")
    g = rig.gateway()
    rig.ready(g)
    ats.equal(rig.engine.state(1)[0], STARTED)
    ats.equal(g.expect("GW_ORDER")[2:], ["push", '{"to":"b"}'])
    ats.equal(status_error(v, "APPROVE", id, sha256('{"to":"b"}'), "terminal")[0], UNKNOWN_ID)
    g.say("GW_ENDED", 1, 0)
    # The same again, from this session and another: each waits anew.
    other = rig.session("name:other")
    for call, who in ((2, s), (3, other)):
        rig.engine.ask(call, who, "run__push", '{"to":"b"}')
        ats.equal(rig.engine.state(call)[0], WAITS)
    g.quiet()
    lines = rig.audit()
    ats.equal([x["event"] for x in lines[:4]], ["asked", "approved", "ordered", "ended"])
    ats.equal((lines[1]["way"], lines[1]["approval"], lines[2]["grant"], lines[2]["way"]),
              ("terminal", id, 1, "terminal"))


@ats.test("long arguments go by files of memory")
def _(home):
    rig = VaultRig(home, conf(home))
    s = rig.session()
    args = long_args(200000)
    fd = memfd(args.encode())
    rig.engine.ask(1, s, "run__push", "", fds=[fd])
    id = rig.engine.state(1)[3]
    os.ftruncate(fd, 0)                         # what is changed afterwards counts for nothing
    os.pwrite(fd, b'{"to":"evil"}', 0)
    v = home.vault()
    v.sock.send(ats.Vault.pack("APPROVALS", 1, 0, s, "terminal"))
    data, fds, _, _ = socket.recv_fds(v.sock, 65536, 8)
    ats.equal(ats.Vault.unpack(data)[2][6], "")
    with open(fds[0], "rb") as f:
        ats.equal(f.read().decode(), args)
    ats.equal(v.recv()[0], "OK")
    v.ask("APPROVE", id, sha256(args), "terminal")
    g = rig.gateway()
    rig.ready(g)
    ats.equal(g.expect("GW_ORDER")[3], "")
    with open(g.take_fd(), "rb") as f:
        ats.equal(f.read().decode(), args)
    os.close(fd)


@ats.test("denied, expired, cancelled, of a closed session: the engine hears why, followers that it is gone")
def _(home):
    rig = VaultRig(home, conf(home, approvals={"expire_s": 5}))
    s = rig.session()
    f = home.vault()
    f.ask("APPROVALS", 1, s, "terminal")
    ids = {}
    for call in (1, 2, 3, 4):
        who = s if call != 4 else rig.session("name:other")
        rig.engine.ask(call, who, "run__push", '{"to":"%d"}' % call)
        ids[call] = rig.engine.state(call)[3]
        if call != 4:                           # another session is not told of
            ats.equal(f.recv()[2][0], ids[call])
    v = home.vault()
    v.ask("DENY", ids[1], "not today\x1b[2J", "terminal")
    code, text = rig.engine.refused(1)
    ats.equal(code, DENIED)
    ats.contains(text, "A person denied it: not today\\x1b[2J. It was not run")
    ats.equal(f.recv()[2], [ids[1], "denied"])
    rig.engine.say("GATEWAY_CANCEL", 2)
    ats.equal(rig.engine.refused(2)[0], CANCELLED)
    ats.equal(f.recv()[2], [ids[2], "cancelled"])
    code, text = rig.engine.refused(3)          # after 5 s
    ats.equal(code, DENIED)
    ats.contains(text, "Nobody approved it within 5 s")
    ats.equal(f.recv()[2], [ids[3], "expired"])
    ats.equal(rig.engine.refused(4)[0], DENIED)
    rig.engine.ask(5, s, "run__push", '{"to":"5"}')
    id = rig.engine.state(5)[3]
    v.ask("CLOSE_SESSION", s)
    ats.equal(rig.engine.refused(5)[0], CANCELLED)
    ats.equal(status_error(v, "APPROVE", id, sha256('{"to":"5"}'), "terminal")[0], UNKNOWN_ID)
    ats.check(rig.none_started())
    ats.equal([x["event"] for x in rig.audit()], ["asked"] * 4 + ["denied", "withdrawn", "expired",
                                                  "expired", "asked", "withdrawn"])


@ats.test("two who answer at once: the first one counts, the other is told that nothing waits")
def _(home):
    rig = VaultRig(home, conf(home))
    s, e = rig.session(), rig.engine
    digest = sha256('{"to":"b"}')
    rig.engine.ask(1, s, "run__push", '{"to":"b"}')
    id = e.state(1)[3]
    people = [home.vault() for _ in range(8)]
    # All are in the sockets before the vault reads the first.
    with ats.paused(home.brain_pid()):
        for v in people:
            v.sock.send(v.pack("APPROVE", 1, id, digest, "terminal"))
    answers = [v.recv() for v in people]
    ats.equal(sorted(m[0] for m in answers), ["FAILED"] * 7 + ["OK"])
    ats.equal({m[2][0] for m in answers if m[0] == "FAILED"}, {UNKNOWN_ID})
    g = rig.gateway()
    rig.ready(g)
    ats.equal(e.state(1)[0], STARTED)
    ats.equal(g.expect("GW_ORDER")[2:], ["push", '{"to":"b"}'])
    g.say("GW_ENDED", 1, 0)
    ats.until(lambda: rig.audit()[-1]["event"] == "ended", "its end")
    # A yes and a no: one of them.
    e.ask(2, s, "run__push", '{"to":"b"}')
    id = e.state(2)[3]
    with ats.paused(home.brain_pid()):
        people[0].sock.send(people[0].pack("DENY", 2, id, "no", "terminal"))
        people[1].sock.send(people[1].pack("APPROVE", 2, id, digest, "terminal"))
    answers = [v.recv()[0] for v in people[:2]]
    ats.equal(sorted(answers), ["FAILED", "OK"])
    if answers[0] == "OK":
        ats.equal(e.refused(2)[0], DENIED)
    else:
        ats.equal(e.state(2)[0], STARTED)
        g.expect("GW_ORDER")
    # Two that wait with the same arguments: each answer is for one of them.
    for call in (3, 4):
        e.ask(call, s, "run__push", '{"to":"b"}')
    ids = [e.state(call)[3] for call in (3, 4)]
    people[2].ask("APPROVE", ids[1], digest, "terminal")
    ats.equal(e.state(4)[0], STARTED)
    ats.equal(g.expect("GW_ORDER")[0], 4)
    people[2].ask("DENY", ids[0], "", "terminal")
    ats.equal(e.refused(3)[0], DENIED)
    g.quiet()


@ats.test("an approval for a caller that is gone starts nothing")
def _(home):
    rig = VaultRig(home, conf(home))
    s, e = rig.session(), rig.engine
    digest = sha256('{"to":"b"}')
    v = home.vault()
    for call, gone in ((1, "cancelled"), (2, "closed")):
        who = s if gone == "cancelled" else rig.session("name:other")
        e.ask(call, who, "run__push", '{"to":"b"}')
        id = e.state(call)[3]
        if gone == "cancelled":
            e.say("GATEWAY_CANCEL", call)
        else:
            v.ask("CLOSE_SESSION", who)
        ats.equal(e.refused(call)[0], CANCELLED)
        ats.equal(status_error(v, "APPROVE", id, digest, "terminal")[0], UNKNOWN_ID)
        ats.equal(status_error(v, "DENY", id, "", "terminal")[0], UNKNOWN_ID)
    # Both at once: whichever is first, it runs or is refused, and not both.
    e.ask(3, s, "run__push", '{"to":"b"}')
    id = e.state(3)[3]
    with ats.paused(home.brain_pid()):
        e.say("GATEWAY_CANCEL", 3)
        v.sock.send(v.pack("APPROVE", 9, id, digest, "terminal"))
    ats.check(v.recv()[0] in ("OK", "FAILED"))
    ats.equal(e.refused(3)[0], CANCELLED)
    ats.equal([x["event"] for x in rig.audit() if x["event"] == "ordered"], [])


@ats.test("elicitation, where the configuration lets it")
def _(home):
    rig = VaultRig(home, conf(home, approvals={"elicitation": True}))
    s = rig.session()
    rig.engine.ask(1, s, "run__push", '{"to":"b"}')
    id = rig.engine.state(1)[3]
    v = home.vault()
    v.ask("APPROVALS", 1, "nobody", "elicitation some client")
    ats.equal(status_error(v, "APPROVE", id, sha256('{"to":"b"}'), "elicitation \n")[0], INVAL)
    v.ask("APPROVE", id, sha256('{"to":"b"}'), "elicitation some client")
    rig.ready(rig.gateway())
    ats.equal(rig.engine.state(1)[0], STARTED)
    ats.equal(rig.audit()[1]["way"], "elicitation some client")


@ats.test("the engine obtains nothing by what it says")
def _(home):
    c = conf(home, permissions={"deny": ["bare__*"]})
    one = schema("id", id="integer")
    c["gateways"]["web"] = {"kind": "http", "url": "http://127.0.0.1:1", "allow_private": True,
                            "tools": {
        "get": {"description": "d", "input": one, "method": "GET", "path": "/{id}",
                "query": {"q": "{q}"}, "read_only": True},
        "del": {"description": "d", "input": one, "method": "DELETE", "path": "/{id}"},
        "put": {"description": "d", "input": schema("id", "text", id="integer", text="string"),
                "method": "PUT", "path": "/{id}", "body": "text:{text}"}}}
    c["gateways"]["web"]["tools"]["get"]["input"] = schema("id", id="integer", q="string")
    rig = VaultRig(home, c)
    s = rig.session()
    e = rig.engine
    disk = os.open(home.write("args.json", '{"a":"x"}'), os.O_RDONLY)
    r, w = os.pipe()
    big = memfd(b'{"a":"' + b"x" * (1 << 20) + b'"}')
    for call, (session, tool, args, fds, code) in enumerate((
            ("s-000000000000", "run__look", '{"a":"x"}', [], UNKNOWN_ID),
            (s, "run__what", "{}", [], UNKNOWN_TOOL),
            (s, "nobody__look", "{}", [], UNKNOWN_TOOL),
            (s, "up__one", "{}", [], UNKNOWN_TOOL),
            (s, "run__look\n", "{}", [], UNKNOWN_TOOL),
            (s, "", "{}", [], UNKNOWN_TOOL),
            (s, "x" * 65, "{}", [], UNKNOWN_TOOL),
            (s, "x" * 40 + "__y", "{}", [], UNKNOWN_TOOL),
            (s, "run__look", '{"b":1}', [], FIELD),
            (s, "web__get", '{"id":1,"b\\u000ax":2}', [], FIELD),
            (s, "web__del", '{"id":1,"really":true}', [], FIELD),
            (s, "web__put", '{"id":1,"text":"x","more":1}', [], FIELD),
            (s, "run__look", '{"a":"x","a":"y"}', [], JSON_CODE),
            (s, "run__look", '{"a":1e400}', [], JSON_CODE),
            (s, "run__look", '{"a":"\\ud800"}', [], JSON_CODE),
            (s, "run__look", '["a"]', [], JSON_CODE),
            (s, "run__look", "", [], JSON_CODE),
            (s, "run__look", "junk", [], JSON_CODE),
            (s, "run__look", "", [disk], NOTFILE),
            (s, "run__look", "", [r], NOTFILE),
            (s, "run__look", "", [big], TOOBIG),
            (s, "run__look", "{}", [big], 100),
            (s, "run__never", "{}", [], DENIED),
            (s, "bare__t", "{}", [], DENIED)), 1):
        e.ask(call, session, tool, args, fds=fds)
        got, text = e.refused(call)
        ats.equal(got, code, (tool, args, text))
        e.say("GATEWAY_NOTED", call)
        if tool.startswith("web__"):
            ats.contains(text, 'It has no argument "%s". Nothing was run' %
                         {"web__get": "b\\nx", "web__del": "really", "web__put": "more"}[tool])
    ats.check(rig.none_started())
    for fd in (disk, r, w, big):
        os.close(fd)
    ats.equal({x["event"] for x in rig.audit()}, {"refused"})
    e.say("GATEWAY_CANCEL", 99)
    e.say("GATEWAY_LIST", "nobody")
    e.say("GATEWAY_BROKEN", "run", 1)
    e.quiet()
    # The id of a call that is under way.
    e.ask(50, s, "run__push", '{"to":"b"}')
    ats.equal(e.state(50)[0], WAITS)
    e.ask(50, s, "run__look", '{"a":"x"}')
    e.ended()
    e.leave()
    # The next one hears of what waits; nothing else was to be had.
    second = rig.next_engine()
    ats.equal(second.session(), s)
    ats.equal(second.state(50)[0], WAITS)
    ats.check(rig.none_started())


@ats.test("one session has its share of what may wait, and another one its own")
def _(home):
    rig = VaultRig(home, conf(home, limits={"approvals": 16}))
    one, other = rig.session(), rig.session("name:other")
    e = rig.engine
    for call in range(1, 10):
        e.ask(call, one, "run__push", '{"to":"b"}')
    ats.equal([e.state(c)[0] for c in range(1, 9)], [WAITS] * 8)
    code, text = e.refused(9)
    ats.equal(code, FULL)
    ats.contains(text, "its share of limits.approvals")
    e.ask(10, other, "run__push", '{"to":"b"}')
    ats.equal(e.state(10)[0], WAITS)
    e.leave()


@ats.test("a flood of questions ends the engine, and nothing else")
def _(home):
    rig = VaultRig(home, conf(home, limits={"approvals": 2, "gateway_calls": 1}))
    s = rig.session()
    e = rig.engine
    for call in (1, 2, 3):
        e.ask(call, s, "run__push", '{"to":"b"}')
    ats.equal([e.state(c)[0] for c in (1, 2)], [WAITS, WAITS])
    code, text = e.refused(3)
    ats.equal(code, FULL)
    ats.contains(text, "limits.approvals")
    e.ask(4, s, "run__look", '{"a":"x"}')       # waits for its gateway
    e.ask(5, s, "run__look", '{"a":"x"}')
    ats.equal(e.refused(5)[0], FULL)
    # It does not read what it is told.
    e.sock.setblocking(False)
    call, blocked = 100, 0
    while blocked < 200 and call < 20000:
        try:
            e.ask(call, s, "run__what" + "x" * 40, "{}")
            call += 1
        except BlockingIOError:
            blocked += 1
            if not ats.alive(e.pid):
                break
            home.vault().ask("VAULT_STATUS")    # the vault goes on meanwhile
        except (BrokenPipeError, ConnectionResetError):
            break
    e.leave()
    second = rig.next_engine()
    ats.equal(second.session(), s)
    ats.equal(json.loads(home.vault().ask("VAULT_STATUS")[0])["approvals"], 2)


@ats.test("a new engine: what waits and what runs goes on, what was not started is said so")
def _(home):
    rig = VaultRig(home, conf(home))
    s = rig.session()
    e = rig.engine
    e.ask(1, s, "run__look", '{"a":"x"}')
    g = rig.gateway()
    rig.ready(g)
    ats.equal(e.state(1)[0], STARTED)
    g.expect("GW_ORDER")
    e.ask(2, s, "run__push", '{"to":"b"}')
    id = e.state(2)[3]
    e.ask(3, s, "bare__t", "{}")
    slow = rig.gateway()                        # not set up
    slow.expect("GW_SETUP")
    e.leave()
    second = rig.next_engine()
    ats.equal(second.session(), s)
    ours, theirs = rig.link(g, second)
    ats.equal(second.state(1), (STARTED, 0, "", ""))
    ats.equal(second.state(2), (WAITS, 0, "", id))
    ats.equal(second.refused(3)[0], NOT_STARTED)
    theirs.sendall(b"kept")
    ats.equal(ours.recv(10), b"kept")
    g.quiet()                                   # no second order
    home.vault().ask("APPROVE", id, sha256('{"to":"b"}'), "terminal")
    ats.equal(second.state(2)[0], STARTED)
    ats.equal(g.expect("GW_ORDER")[0], 2)


def broken_by(home, act, kind="run"):
    """A gateway with a call does what it must not: its call is lost, and no other gateway's."""
    rig = VaultRig(home, conf(home))
    s = rig.session()
    e = rig.engine
    tool = {"run": "run__look", "bare": "bare__t"}[kind]
    e.ask(1, s, tool, '{"a":"x"}')
    g = rig.gateway()
    rig.ready(g)
    ats.equal(e.state(1)[0], STARTED)
    g.expect("GW_ORDER")
    e.ask(2, s, "bare__t" if kind == "run" else "run__look", '{"a":"x"}')
    other = rig.gateway()
    rig.ready(other)
    ats.equal(e.state(2)[0], STARTED)
    act(rig, g)
    ats.equal(e.refused(1)[0], GATEWAY_LOST)
    if g.sock.fileno() >= 0:
        g.ended()
        g.leave()
    other.say("GW_ENDED", 2, 0)
    e.ask(3, s, tool, '{"a":"x"}')              # after a while, by another process
    again = rig.gateway()
    rig.ready(again)
    ats.equal(e.state(3)[0], STARTED)
    ats.check(ats.alive(e.pid) and ats.alive(other.pid))


for what, act in (
        ("a second GW_READY", lambda rig, g: g.say("GW_READY", 0, "")),
        ("the end of a call that it has not", lambda rig, g: g.say("GW_ENDED", 2, 0)),
        ("an unknown error", lambda rig, g: g.say("GW_ENDED", 1, 5000)),
        ("tools where the configuration has them", lambda rig, g: g.say("GW_TOOLS", 0)),
        ("a message of the engine's", lambda rig, g: g.say("GATEWAY_CANCEL", 1)),
        ("bytes", lambda rig, g: g.sock.send(b"\x00\x5a\x00\x00\x00\x00junk")),
        ("its end", lambda rig, g: g.leave(1)),
        ("a broken link", lambda rig, g: rig.engine.say("GATEWAY_BROKEN", "run", 1))):
    ats.test("a gateway breaks the rules: " + what)(
        lambda home, act=act: broken_by(home, act))


@ats.test("a gateway that cannot start: its calls are refused with its reason")
def _(home):
    rig = VaultRig(home, conf(home))
    s = rig.session()
    e = rig.engine
    e.ask(1, s, "run__look", '{"a":"x"}')
    g = rig.gateway()
    g.expect("GW_SETUP")
    g.say("GW_READY", INVAL, "no\x1bsuch program")
    code, text = e.refused(1)
    ats.equal(code, NOT_STARTED)
    ats.contains(text, "gateway run: no\\x1bsuch program")
    g.leave(1)
    e.ask(2, s, "run__look", '{"a":"x"}')
    g = rig.gateway()
    g.leave(3)                                  # before it is ready
    code, text = e.refused(2)
    ats.equal(code, NOT_STARTED)
    ats.contains(text, "ended before it was ready")
    e.say("GATEWAY_LIST", "up")
    g = rig.gateway()
    g.expect("GW_SETUP")
    g.say("GW_TOOL", 8, "one", "{}")            # unknown flags
    values = e.expect("GATEWAY_TOOLS")
    while values[0] != "up" or values[2] == AGAIN:
        values = e.expect("GATEWAY_TOOLS")
    ats.equal(values[1:3], [0, 100])
    states = {x["name"]: x for x in json.loads(home.vault().ask("GATEWAYS")[0])["gateways"]}
    ats.contains(states["up"]["error"], "unknown flags")
    ats.equal((states["run"]["kind"], states["run"]["tools"]), ("command", 3))


@ats.test("credentials: files that are not fit, commands, reading again; no value is shown")
def _(home):
    c = conf(home)
    names = {"wide": 0o644, "ok": 0o400, "empty": 0o600, "tab": 0o600}
    for name, mode in names.items():
        path = os.path.join(home.dir, name)
        with open(path, "w", encoding="ascii") as f:
            os.fchmod(f.fileno(), mode)
            f.write({"empty": "\n", "tab": "a\tb\n"}.get(name, SECRET + "\r\n"))
        c["credentials"][name] = {"file": path}
    os.symlink(os.path.join(home.dir, "ok"), os.path.join(home.dir, "link"))
    os.mkfifo(os.path.join(home.dir, "fifo"), 0o600)
    for name in ("link", "fifo", "gone"):
        c["credentials"][name] = {"file": os.path.join(home.dir, name)}
    script = home.write("say", "#!/bin/sh\nprintf '%s-by-command\\nmore\\n' " + SECRET +
                        "\ntest \"$PASSWORD_STORE_DIR\" = x || exit 4\n", 0o755)
    home.env["PASSWORD_STORE_DIR"] = "x"
    c["credentials"]["said"] = {"command": [script]}
    c["credentials"]["fails"] = {"command": ["/bin/false"]}
    c["credentials"]["much"] = {"command": ["/bin/cat", "/dev/zero"]}
    c["credentials"]["none"] = {"command": ["/nonexistent/program"]}
    c["credentials"]["unit"] = {"systemd": "token"}
    c["gateways"]["cmd"] = dict(c["gateways"]["run"], credential="said")
    c["gateways"]["bad"] = dict(c["gateways"]["run"], credential="wide")
    c["gateways"]["up"].update(credential="tab", credential_env="T")
    rig = VaultRig(home, c)
    v = home.vault()
    all = {x["name"]: x for x in json.loads(v.ask("CREDENTIALS", "")[0])["credentials"]}
    ats.equal({n: x["state"] for n, x in all.items()}, {
        "tok": "ok", "wide": "failed", "ok": "ok", "empty": "failed", "tab": "failed",
        "link": "failed", "fifo": "failed", "gone": "failed", "said": "not read",
        "fails": "not read", "much": "not read", "none": "not read", "unit": "failed"})
    for name, why in (("wide", "chmod 600"), ("link", "symbolic link"), ("fifo", "regular file"),
                      ("gone", "No such file"), ("unit", "LoadCredential=token"),
                      ("tab", "control character"), ("empty", "empty")):
        ats.contains(all[name]["error"], why)
    ats.equal(all["tok"]["gateways"], ["run"])

    def test(name):
        return json.loads(v.ask("CREDENTIALS", name)[0])["credentials"]
    ats.equal([(x["name"], x["state"]) for x in test("said")], [("said", "ok")])
    for name, why in (("fails", "ended with code 1"), ("much", "more than 16 KiB"),
                      ("none", "/nonexistent/program"), ("link", "symbolic link")):
        ats.equal(test(name)[0]["state"], "failed")
        ats.contains(test(name)[0]["error"], why)
    ats.equal(status_error(v, "CREDENTIALS", "nobody")[0], UNKNOWN_ID)
    # Of a credential that cannot be read a call says why; mended, it is used.
    s = rig.session()
    rig.engine.ask(1, s, "bad__look", '{"a":"x"}')
    code, text = rig.engine.refused(1)
    ats.equal(code, NOT_STARTED)
    ats.contains(text, "chmod 600")
    os.chmod(os.path.join(home.dir, "wide"), 0o600)
    ats.equal(test("wide")[0]["state"], "ok")
    rig.engine.ask(2, s, "bad__look", '{"a":"x"}')
    g = rig.gateway()
    g.expect("GW_SETUP")
    ats.equal(os.read(g.fds[0], 100).decode(), SECRET)
    rig.engine.ask(3, s, "cmd__look", '{"a":"x"}')
    g2 = rig.gateway()
    g2.expect("GW_SETUP")
    ats.equal(os.read(g2.fds[0], 100).decode(), SECRET + "-by-command")
    # A server whose tools were wanted while it had no credential is asked for them.
    rig.engine.say("GATEWAY_LIST", "up")
    ats.until(lambda: [x for x in json.loads(v.ask("GATEWAYS")[0])["gateways"]
                       if x["name"] == "up" and "control character" in x.get("error", "")],
              "the gateway's failure")
    with open(os.path.join(home.dir, "tab"), "w", encoding="ascii") as f:
        f.write(SECRET)
    ats.equal(test("tab")[0]["state"], "ok")
    g3 = rig.gateway()
    ats.equal(g3.argv[-1:], ["up"])
    # A new value: the process that has the old one ends.
    with open(os.path.join(home.dir, "new"), "w", encoding="ascii") as f:
        os.fchmod(f.fileno(), 0o600)
        f.write("another value")
    os.rename(f.name, os.path.join(home.dir, "wide"))
    g.say("GW_READY", 0, "")
    ats.equal(rig.engine.state(2)[0], STARTED)
    g.expect("GW_ORDER")
    ats.equal(test("wide")[0]["state"], "ok")
    g.say("GW_ENDED", 2, 0)
    g.expect("QUIT")
    g.leave()
    rig.engine.ask(4, s, "bad__look", '{"a":"x"}')
    g = rig.gateway()
    g.expect("GW_SETUP")
    ats.equal(os.read(g.fds[0], 100).decode(), "another value")
    with open(home.log_path, encoding="utf-8") as f:
        ats.missing(f.read(), SECRET)
    ats.missing(json.dumps(all) + v.ask("VAULT_STATUS")[0] + v.ask("GATEWAYS")[0], SECRET)


@ats.test("what a credential's command says on stderr is in the log: its end, escaped, masked")
def _(home):
    c = conf(home)
    says = {"short": "printf 'warn\\033[31m %s-new %s\\n' >&2; echo %s-new" %
                     (SECRET, SECRET, SECRET),
            "long": "for i in $(seq 999); do echo %s $i; done >&2; echo the end >&2; exit 3" %
                    SECRET,
            "line": "head -c 100000 /dev/zero | tr '\\0' x >&2; echo fine-value",
            "held": "(exec sleep 1000 >/dev/null) & echo still here >&2; echo held-value",
            "none": "echo quiet-value"}
    for name, script in says.items():
        path = home.write(name, "#!/bin/sh\n" + script + "\n", 0o755)
        c["credentials"][name] = {"command": [path]}
    VaultRig(home, c)
    v = home.vault()
    for name in says:
        state = json.loads(v.ask("CREDENTIALS", name)[0])["credentials"][0]["state"]
        ats.equal(state, "failed" if name == "long" else "ok")
    with open(home.log_path, encoding="utf-8") as f:
        log = f.read()
    ats.missing(log, SECRET)
    ats.missing(log, "\033")
    lines = {x.split("credential=")[1].split()[0]: x for x in log.splitlines()
             if "the command of a credential said" in x}
    ats.equal(sorted(lines), ["held", "line", "long", "short"])
    ats.contains(lines["short"], 'stderr="warn\\x1b[31m *** ***')
    ats.contains(lines["long"], "*** 999")
    ats.contains(lines["long"], "the end")
    ats.contains(lines["long"], "level=warn")
    ats.missing(lines["long"], "*** 100\\n")
    ats.contains(lines["line"], "too long to be shown")
    ats.contains(lines["held"], "still here")
    ats.small(max(len(x) for x in lines.values()), 6000, "bytes of a line")


@ats.test("a credential that an upstream refuses is read again, once a minute at most")
def _(home):
    c = conf(home)
    count = os.path.join(home.dir, "count")
    path = home.write("again", "#!/bin/sh\necho x >> %s\nprintf 'value-%%d' $(wc -l < %s)\n" %
                      (count, count), 0o755)
    c["credentials"]["cmd"] = {"command": [path]}
    for name in ("one", "two", "other"):
        c["gateways"][name] = dict(c["gateways"]["run"], credential="cmd")
    c["gateways"]["none"] = dict(c["gateways"]["bare"])
    rig = VaultRig(home, c)
    s, e = rig.session(), rig.engine
    rigs = {}
    for i, name in enumerate(("one", "two", "other", "run", "none")):
        e.ask(i + 1, s, name + ("__t" if name == "none" else "__look"), '{"a":"x"}')
        g = rigs[name] = rig.gateway()
        g.expect("GW_SETUP")
        if name in ("one", "two", "other"):
            ats.equal(os.read(g.fds[0], 100), b"value-1")
        g.say("GW_READY", 0, "")
        ats.equal(e.state(i + 1)[0], STARTED)
        g.expect("GW_ORDER")
    one, two, other = rigs["one"], rigs["two"], rigs["other"]
    # Both wait for the same reading; who did not ask gets it by a new process.
    one.say("GW_UNAUTHORIZED")
    one.say("GW_UNAUTHORIZED")
    one.expect("GW_CREDENTIAL")
    ats.equal(os.read(one.fds[0], 100), b"value-2")
    other.say("GW_ENDED", 3, 0)
    other.expect("QUIT")
    # Not again within the minute: by nobody who has it.
    for g in (two, one):
        g.say("GW_UNAUTHORIZED")
        g.expect("GW_CREDENTIAL")
        ats.equal(g.fds, [])
    with open(count, encoding="ascii") as f:
        ats.equal(f.read(), "x\nx\n")
    # A file that is the same still.
    rigs["run"].say("GW_UNAUTHORIZED")
    rigs["run"].expect("GW_CREDENTIAL")
    ats.equal(rigs["run"].fds, [])
    # The gateway that has none has nothing to say about it.
    rigs["none"].say("GW_UNAUTHORIZED")
    ats.equal([m[0] for m in rigs["none"].ended()], [])
    ats.equal(e.refused(5)[0], GATEWAY_LOST)
    one.say("GW_ENDED", 1, 0)
    e.ask(9, s, "one__look", '{"a":"x"}')
    ats.equal(e.state(9)[0], STARTED)
    one.expect("GW_ORDER")
    with open(home.log_path, encoding="utf-8") as f:
        ats.missing(f.read(), "value-")


@ats.test("a refused credential that cannot be read any more ends the process that has it")
def _(home):
    c = conf(home)
    rig = VaultRig(home, c)
    s, e = rig.session(), rig.engine
    e.ask(1, s, "run__look", '{"a":"x"}')
    g = rig.gateway()
    rig.ready(g)
    ats.equal(e.state(1)[0], STARTED)
    g.expect("GW_ORDER")
    os.unlink(os.path.join(home.dir, "token"))
    g.say("GW_UNAUTHORIZED")
    g.expect("GW_CREDENTIAL")
    ats.equal(g.fds, [])
    g.say("GW_ENDED", 1, 0)
    g.expect("QUIT")
    g.leave()
    e.ask(2, s, "run__look", '{"a":"x"}')
    code, text = e.refused(2)
    ats.equal(code, NOT_STARTED)
    ats.contains(text, "No such file")


@ats.test("the audit log: no call without its line; rotation; arguments with values masked")
def _(home):
    c = conf(home, audit={"arguments": True, "max_bytes": 65536})
    rig = VaultRig(home, c)
    s = rig.session()
    e = rig.engine
    where = os.path.join(home.state, "ats", "vault")
    log = os.path.join(where, "audit.jsonl")
    e.ask(1, s, "run__look", json.dumps({"a": "x " + SECRET}))
    g = rig.gateway()
    rig.ready(g)
    ats.equal(e.state(1)[0], STARTED)
    ats.contains(g.expect("GW_ORDER")[3], SECRET)
    line = rig.audit()[0]
    ats.equal(line["arguments"], {"a": "x ***"})
    ats.equal(line["sha256"], sha256('{"a":"x %s"}' % SECRET))
    g.say("GW_ENDED", 1, 0)
    for call in range(2, 30):
        e.ask(call, s, "run__look", json.dumps({"a": "y" * 9000}))
        ats.equal(e.state(call)[0], STARTED)
        g.expect("GW_ORDER")
        g.say("GW_ENDED", call, 0)
    ats.until(lambda: [x["event"] for x in rig.audit() if x["call"] == "c-29"][-1:] == ["ended"],
              "lines")
    kept = sorted(n for n in os.listdir(where) if n.startswith("audit"))
    ats.equal(kept, ["audit.jsonl"] + ["audit.jsonl.%d" % i for i in range(1, 5)])
    ats.check(all(os.stat(os.path.join(where, n)).st_size <= 65536 for n in kept))


@ats.test("a log that cannot be written: no call of a gateway runs, and nobody is asked")
def _(home):
    where = os.path.join(home.state, "ats", "vault")
    log = os.path.join(where, "audit.jsonl")
    for d in (os.path.dirname(where), where):
        os.mkdir(d, 0o700)
    os.symlink("/dev/null", log)
    rig = VaultRig(home, conf(home))
    s = rig.session()
    e = rig.engine
    e.ask(1, s, "run__look", '{"a":"x"}')
    rig.ready(rig.gateway())
    code, text = e.refused(1)
    ats.equal(code, 10)
    ats.contains(text, "the audit log cannot be written")
    e.ask(2, s, "run__push", '{"to":"b"}')
    ats.equal(e.refused(2)[0], 10)
    ats.equal(json.loads(home.vault().ask("VAULT_STATUS")[0])["approvals"], 0)
    os.unlink(log)
    with open(log, "wb") as f:                  # torn by a crash
        os.fchmod(f.fileno(), 0o600)
        f.write(b'{"time":1,"ev')
    e.ask(3, s, "run__look", '{"a":"x"}')
    ats.equal(e.state(3)[0], STARTED)
    with open(log, "rb") as f:
        lines = f.read().split(b"\n")
    ats.equal(lines[0], b'{"time":1,"ev')
    ats.equal(json.loads(lines[1])["call"], "c-3")


@ats.test("a tool of the sandbox: a person says yes, and nothing else happens")
def _(home):
    rig = VaultRig(home, conf(home, permissions={"ask": ["Bash(git push:*)"], "deny": ["Write"]}))
    s = rig.session()
    e = rig.engine
    e.ask(1, s, "Bash", '{"command":"git push"}')
    id = e.state(1)[3]
    e.ask(2, s, "Write", '{"file_path":"x","content":"y"}')
    ats.equal(e.refused(2)[0], DENIED)
    v = home.vault()
    v.sock.send(ats.Vault.pack("APPROVALS", 5, 0, "", "terminal"))
    ats.equal(v.recv()[2][4:6], ["", "Bash"])
    ats.equal(v.recv()[0], "OK")
    v.ask("APPROVE", id, sha256('{"command":"git push"}'), "terminal")
    ats.equal(e.state(1), (STARTED, 0, "", ""))
    ats.check(rig.none_started())
    ats.equal([x["event"] for x in rig.audit()], ["asked", "refused", "approved", "permitted"])
    # Its id is free again, and needs another yes.
    e.ask(1, s, "Bash", '{"command":"git push"}')
    ats.equal(e.state(1)[0], WAITS)


@ats.test("an answer is the next engine's to hear until this one has written it down")
def _(home):
    rig = VaultRig(home, conf(home, permissions={"ask": ["Bash(git push:*)"]}))
    s = rig.session()
    e = rig.engine
    args = '{"command":"git push"}'
    for call, how in ((1, "APPROVE"), (2, "DENY"), (3, "APPROVE")):
        e.ask(call, s, "Bash", args)
        id = e.state(call)[3]
        home.vault().ask(how, id, sha256(args) if how == "APPROVE" else "no", "terminal")
        ats.equal(e.state(call)[0], STARTED if how == "APPROVE" else REFUSED)
    e.say("GATEWAY_NOTED", 3)              # it has that
    e.say("GATEWAY_LIST", "none")
    e.leave()
    e = rig.next_engine()
    e.session()
    ats.equal(e.state(1)[0], STARTED)
    ats.contains(e.refused(2)[1], "no")
    e.say("GATEWAY_NOTED", 1)
    e.say("GATEWAY_NOTED", 2)
    e.leave()
    e = rig.next_engine()
    e.session()
    e.ask(1, s, "Bash", args)
    ats.equal(e.state(1)[0], WAITS)         # of the others there is nothing to say
    ats.equal([x["event"] for x in rig.audit()].count("asked"), 4)


@ats.test("an engine that takes no note of answers: the last ones are kept, and it may go on asking")
def _(home):
    rig = VaultRig(home, conf(home, permissions={"deny": ["Write"]}))
    s = rig.session()
    e = rig.engine
    for call in range(1, 500):
        e.ask(call, s, "Write", '{"file_path":"x","content":"y"}')
        ats.equal(e.refused(call)[0], DENIED)
    e.leave()
    e = rig.next_engine()
    e.session()
    ats.equal([e.refused(call)[0] for call in range(500 - 32, 500)], [DENIED] * 32)
    e.ask(1, s, "Bash", '{"command":"x"}')
    ats.equal(e.state(1)[0], WAITS)


@ats.test("a follower that reads late hears of all that still matters")
def _(home):
    rig = VaultRig(home, conf(home))
    s = rig.session()
    f = home.vault()
    f.ask("APPROVALS", 1, "", "terminal")
    waiting = {}
    for call in range(1, 250):
        rig.engine.ask(call, s, "run__push", '{"to":"%s"}' % ("x" * 20000))
        waiting[call] = rig.engine.state(call)[3]
        if call > 20:
            rig.engine.say("GATEWAY_CANCEL", call - 20)
            ats.equal(rig.engine.refused(call - 20)[0], CANCELLED)
            del waiting[call - 20]
    known = []
    while not known or known[-1] != waiting[249]:
        name, _, values = f.recv()
        if name == "APPROVAL":
            known.append(values[0])
        else:
            known.remove(values[0])
    ats.equal(known, list(waiting.values()))
    # A whole list of long ones comes, too.
    v = home.vault()
    v.sock.send(ats.Vault.pack("APPROVALS", 5, 0, "", "terminal"))
    names = [v.recv()[0]]
    while names[-1] != "OK":
        names.append(v.recv()[0])
    ats.equal(names, ["APPROVAL"] * 20 + ["OK"])


@ats.test("a follower that does not read is dropped, and blocks nobody")
def _(home):
    rig = VaultRig(home, conf(home, limits={"approvals": 1024}))
    s = rig.session()
    f = home.vault()
    f.ask("APPROVALS", 1, "", "terminal")
    for call in range(1, 251):
        rig.engine.ask(call, s, "run__push", '{"to":"b"}')
        ats.equal(rig.engine.state(call)[0], WAITS)
    for turn in range(4):
        for call in range(1 + turn, 251, 4):
            rig.engine.say("GATEWAY_CANCEL", call)
            ats.equal(rig.engine.refused(call)[0], CANCELLED)
    while f.recv() is not None:
        pass
    with open(home.log_path, encoding="utf-8") as log:
        ats.contains(log.read(), "a client that does not read is dropped")


@ats.test("a gateway without a call ends after a while, and is started again")
def _(home):
    rig = VaultRig(home, conf(home, gateway_idle_s=1))
    s = rig.session()
    for call in (1, 2):
        rig.engine.ask(call, s, "run__look", '{"a":"x"}')
        g = rig.gateway()
        rig.ready(g)
        ats.equal(rig.engine.state(call)[0], STARTED)
        g.expect("GW_ORDER")
        g.say("GW_ENDED", call, 0)
        g.expect("QUIT")
        g.leave()
    home.vault().ask("SHUTDOWN")
    rig.engine.ended()
    rig.engine.leave()
    ats.equal(rig.proc.wait(ats.TIMEOUT), 0)


ats.main()
