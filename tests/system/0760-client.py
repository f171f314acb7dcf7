#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The client libraries against a scripted brain: what is sent, what is sent again, what is not
believed. Each test with the C library, its forms that wait, and the JavaScript one."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from fake_door import Fail, FakeBrain
from runtime import KINDS, Runtime

BOX = "b-0123456789ab"
HASH = "ab" * 32
SOME = ("c", "js")


def each(name, kinds=KINDS):
    """Registers the test once for each library; fn(home, kind)."""
    def register(fn):
        for kind in ats.some(kinds):
            ats.case("%s: %s" % (kind, name), lambda home, kind=kind: fn(home, kind))
        return fn
    return register


def brain_of(home, url="stdio"):
    """One that attaches and knows its address; tool calls get no answer."""
    b = FakeBrain(os.path.join(home.run, "ats"))
    home.open_things.append(b)
    b.on("ats/inspect")(lambda c, m, f: {"id": BOX, "kind": "sandbox", "url": url})

    @b.on("ats/session.attach")
    def _(conn, m, fds):
        b.attached.append(m["params"])
        return {"session": m["params"]["session"], "sandbox": BOX, "workspace": home.ws}
    b.on("ats/call.cancel")(lambda c, m, f: {})
    b.on("ats/tool.call")(lambda c, m, f: None)
    return b


def done(text, **more):
    return {"call": "c-1", "outcome": "done", "is_error": False,
            "content": [{"type": "text", "text": text}], **more}


def read(path, **more):
    return {"path": path, "size": 3, "mtime_ns": 1764530000123456789, "sha256": HASH, **more}


@each("REMOTE_TOOLS_URL unset: each tool is the host's, and nobody is asked")
def _(home, kind):
    rt = Runtime(home, kind, url=None)
    for tool in ("Bash", "Read", "Nope"):
        ats.equal(rt.tool(tool, command="x")[:3], ("tool", tool, "native"))
    rt.ask("validate", "Edit", {})
    ats.equal(rt.said().end, "native")
    rt.ask("hook", "PreToolUse", {})
    ats.equal(rt.said().end, "native")
    ats.equal(rt.end(), (0, ""))
    ats.equal(os.listdir(home.run), [])


@each("the five host calls: what is sent, and what comes of the answers")
def _(home, kind):
    b = brain_of(home)
    sub = os.path.join(home.ws, "sub")
    f = os.path.join(sub, "f")

    @b.on("ats/tool.call")
    def _(conn, m, fds):
        p = m["params"]
        if p["name"] == "Bash":
            return done("out\nmore\\", ctx_delta={"cwd": sub, "shells": ["bash_1"]})
        return done("text", ctx_delta={"cwd": sub, "reads": [read(f)]})

    @b.on("ats/tool.validate")
    def _(conn, m, fds):
        return {"valid": False, "code": "no_match", "text": "not there"}

    @b.on("ats/hook.run")
    def _(conn, m, fds):
        return {"decision": "block", "reason": "because"}
    rt = Runtime(home, kind)
    ats.equal(rt.tool("Bash", command="cd sub"),
              ("tool", "Bash", "done", False, "", sub, "out\nmore\\"))
    ats.equal(rt.tool("Read", file_path="f").text, "text")
    ats.equal(rt.validate("Edit", file_path="f", old_string="a", new_string="b"),
              ("validate", "Edit", "done", True, "no_match", sub, "not there"))
    ats.equal(json.loads(rt.hook("PreToolUse", tool_name="Bash").text),
              {"decision": "block", "reason": "because"})
    ats.equal(rt.end(), (0, ""))
    sent = [m["params"] for m in b.requests("ats/tool.call")]
    ats.equal([(p["name"], p["arguments"], p["ctx"]) for p in sent],
              [("Bash", {"command": "cd sub"}, {"cwd": home.ws}),
               ("Read", {"file_path": "f"}, {"cwd": sub})])
    # what was read goes with the next call on that file, every digit of it
    ats.equal(b.requests("ats/tool.validate")[0]["params"]["ctx"], {"cwd": sub, "reads": [read(f)]})
    hook = b.requests("ats/hook.run")[0]["params"]
    ats.equal((hook["event"], hook["input"]), ("PreToolUse", {"tool_name": "Bash"}))
    ids = [m["params"]["call_id"] for m in b.seen if "call_id" in m.get("params", {})]
    ats.equal(len(set(ids)), 4)


@each("three ends, each by its name")
def _(home, kind):
    b = brain_of(home)
    results = [{"outcome": "not_started", "is_error": True, "code": "cancelled",
                "content": [{"type": "text", "text": "no"}]},
               {"outcome": "unknown", "is_error": True, "code": "sandbox_lost", "content": []},
               {"outcome": "done", "is_error": True, "code": "not_read", "content": []}]
    errors = [Fail("name: missing", code=-32602), Fail("too many", "table_full")]

    @b.on("ats/tool.call")
    def _(conn, m, fds):
        if results:
            return results.pop(0)
        raise errors.pop(0)
    rt = Runtime(home, kind)
    ats.equal([rt.tool("Bash", command="x")[2:5] for _ in range(5)],
              [("not_started", True, "cancelled"), ("unknown", True, "sandbox_lost"),
               ("done", True, "not_read"), ("not_started", True, "bad_field"),
               ("not_started", True, "table_full")])


@each("a connection lost in a call: it is asked for again under its id, and answered once")
def _(home, kind):
    b = brain_of(home)
    rt = Runtime(home, kind)
    rt.ask("tool", "Bash", {"command": "x"})
    first = b.wait_requests("ats/tool.call")[0]
    b.on("ats/tool.call")(lambda c, m, f: done("once"))
    b.drop()
    ats.equal(rt.said()[2:], ("done", False, "", home.ws, "once"))
    again = b.requests("ats/tool.call")[1]
    ats.equal(again["params"], first["params"])
    ats.equal([name for name, _ in b.registered], ["REGISTER", "FIND_SESSION"])
    attached = b.requests("ats/session.attach")
    ats.equal(attached[0]["params"], attached[1]["params"])
    ats.equal(rt.end(), (0, ""))


@each("a call that a lost brain may have run, and the next one refuses, is not said to be undone")
def _(home, kind):
    b = brain_of(home)
    rt = Runtime(home, kind)
    for method, ask, code, ends in (
            ("ats/tool.call", "tool", "no_memory", "unknown"),
            ("ats/tool.call", "tool", "unknown_id", "unknown"),
            ("ats/tool.call", "tool", "table_full", "not_started"),     # it has looked for it
            ("ats/tool.validate", "validate", "no_memory", "not_started")):
        n = len(b.requests(method))
        b.on(method)(lambda c, m, f: None)
        rt.ask(ask, "Edit", {"file_path": "f", "old_string": "a", "new_string": "b"})
        b.wait_requests(method, n + 1)

        @b.on(method)
        def _(conn, m, fds, code=code):
            raise Fail("it was refused", code)
        b.drop()
        s = rt.said()
        ats.equal((s.end, s.error, s.code), (ends, True, code))
        ats.equal(("may have run" in s.text, "it was refused" in s.text), (ends == "unknown", True))
        ats.equal(len(b.requests(method)), n + 2)
    ats.equal(rt.end(), (0, ""))


@each("brain leaves while nothing is asked: the next call opens the session again", SOME)
def _(home, kind):
    b = brain_of(home)
    b.on("ats/tool.call")(lambda c, m, f: done("x"))
    rt = Runtime(home, kind)
    for n in range(7):      # more often than losses in a row are borne
        ats.equal(rt.tool("Bash", command="x").text, "x")
        ats.equal((len(b.attached), len(b.registered)), (n + 1, n + 1))
        b.drop()
        b.wait_for(lambda: not b.conns, "the connection is gone")
    ats.equal(rt.end(), (0, ""))


@each("a hook that was lost is not run a second time")
def _(home, kind):
    b = brain_of(home)
    b.on("ats/hook.run")(lambda c, m, f: c.close())
    rt = Runtime(home, kind)
    ats.equal(rt.hook("Stop", x=1)[2:5], ("unknown", True, "closed"))
    ats.equal(len(b.requests("ats/hook.run")), 1)
    ats.equal(rt.end(), (0, ""))


@each("lost again and again: unknown, and a later call is not started")
def _(home, kind):
    b = brain_of(home)
    b.on("ats/tool.call")(lambda c, m, f: c.close())
    rt = Runtime(home, kind)
    s = rt.tool("Bash", command="x")
    ats.equal((s.end, s.error, s.code), ("unknown", True, "closed"))
    ats.contains(s.text, "may have run")
    ats.equal(len(b.requests("ats/tool.call")), 4)
    rt.end()


@each("brain dies and none can be started: what was sent is unknown")
def _(home, kind):
    b = brain_of(home)
    rt = Runtime(home, kind, env={**home.env, "PATH": "/nonexistent"})
    rt.ask("tool", "Bash", {"command": "x"})
    b.wait_requests("ats/tool.call")
    # what atsctl would start instead cannot make its directory
    b.answer_vault = lambda name, values: ("FAILED", 201, "unknown session")
    b.drop()
    s = rt.said()
    ats.equal((s.end, s.error), ("unknown", True))
    ats.contains(s.text, "unknown session")
    s = rt.tool("Bash", command="y")
    ats.equal((s.end, s.code), ("not_started", "refused"))


def hostile(line):
    """A brain that answers the first call with these bytes, and the second well."""
    def fn(home, kind):
        b = brain_of(home)
        turn = []

        @b.on("ats/tool.call")
        def _(conn, m, fds):
            turn.append(m)
            if len(turn) > 1:
                return done("well")
            text = line(m["id"]) if callable(line) else line
            conn.send(text if isinstance(text, bytes) else json.dumps(text).encode() + b"\n")
            return None
        rt = Runtime(home, kind)
        ats.equal(rt.tool("Bash", command="x").text, "well")
        ats.equal(rt.end(), (0, ""))
    return fn


each("a line that is not JSON ends the connection only", SOME)(hostile(b"\x00\xff{}\n"))
each("nor is bad UTF-8", SOME)(hostile(
    lambda i: b'{"jsonrpc":"2.0","id":%d,"result":{"outcome":"done\xff"}}\n' % i))
each("nor is an array", SOME)(hostile([]))
each("nor is JSON nested too deep", ("c",))(hostile(b'{"a":' * 10000 + b"1" + b"}" * 10000 + b"\n"))


@each("answers for nobody are passed over", SOME)
def _(home, kind):
    b = brain_of(home)

    @b.on("ats/tool.call")
    def _(conn, m, fds):
        for other in (0, -1, 2 ** 64, 2 ** 53, m["id"] + 1, str(m["id"]), None, 1.5, [], {},
                      m["id"] - 1):
            conn.send({"jsonrpc": "2.0", "id": other, "result": done("not this")})
        conn.send({"jsonrpc": "2.0", "method": "ats/event", "id": m["id"], "params": {}})
        conn.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})
        conn.send({"jsonrpc": "2.0", "id": m["id"], "result": done("this")})
        conn.send({"jsonrpc": "2.0", "id": m["id"], "result": done("twice")})
    rt = Runtime(home, kind)
    ats.equal(rt.tool("Bash", command="x").text, "this")
    ats.equal(rt.tool("Bash", command="x").text, "this")
    ats.equal(rt.end(), (0, ""))


@each("answers of no use are unknown, whatever stands in them", SOME)
def _(home, kind):
    b = brain_of(home)
    bad = [{"outcome": 1}, {}, {"outcome": "done ", "content": {}}, {"content": [1, None, "x"]},
           {"outcome": "perhaps", "code": "x" * 5000, "ctx_delta": 7},
           {"__proto__": {"outcome": "done"}}]

    @b.on("ats/tool.call")
    def _(conn, m, fds):
        if bad:
            return bad.pop()
        conn.send({"jsonrpc": "2.0", "id": m["id"], "result": "text"})
        return None
    rt = Runtime(home, kind)
    for _ in range(7):
        ats.equal(rt.tool("Bash", command="x")[2:4], ("unknown", True))
    ats.equal(rt.end(), (0, ""))


@each("a delta is taken whole or not at all", SOME)
def _(home, kind):
    b = brain_of(home)
    os.symlink(os.path.join(home.dir, "plans"), os.path.join(home.ws, "plans"))
    plans = os.path.join(home.dir, "plans")
    f = os.path.join(home.ws, "f")
    sub = os.path.join(home.ws, "sub")
    bad = [{"cwd": "/etc"}, {"cwd": "sub"}, {"cwd": home.ws + "/../x"}, {"cwd": sub + "\0"},
           {"cwd": sub, "reads": [read(home.ws + "/g")]}, {"cwd": sub, "reads": [read("f")]},
           {"cwd": sub, "reads": [read(f), read(plans + "/a.md")]},
           {"cwd": sub, "reads": [read(home.ws + "/../plans/f")]},
           {"cwd": sub, "reads": [read(home.ws + "/plans/f")]},
           {"cwd": sub, "reads": [read(f, sha256="x")]}, {"cwd": sub, "reads": [read(f, size=-1)]},
           {"cwd": sub, "reads": [read(f, size=2 ** 63)]}, {"cwd": sub, "reads": "x"},
           {"cwd": sub, "reads": [read(f)] * 9}, {"cwd": sub, "plan": "a.md"},
           {"cwd": sub, "shells": ["../x"]}, {"cwd": sub, "shells": ["x"] * 65},
           {"cwd": plans}, {"cwd": home.ws + "/plans"}, {"reads": [read(f)]}, {}]
    n = len(bad)
    b.on("ats/tool.call")(lambda c, m, x: done("x", ctx_delta=bad.pop(0) if bad else {"cwd": sub}))
    rt = Runtime(home, kind)
    for _ in range(n):
        ats.equal(rt.tool("Read", file_path="f")[2:6], ("done", False, "", home.ws))
    ats.equal(rt.tool("Read", file_path="f").cwd, sub)
    code, said = rt.end()
    ats.equal((code, said.count("a delta was refused")), (0, n))
    ats.equal([m["params"]["ctx"] for m in b.requests("ats/tool.call")], [{"cwd": home.ws}] * (n + 1))


@each("plan files are the host's alone: not one is asked for", SOME)
def _(home, kind):
    b = brain_of(home)
    rt = Runtime(home, kind)
    home.write("../plans/a.md", b"a plan")
    home.write("../secret", b"a secret")
    os.symlink("../secret", os.path.join(rt.plans, "out.md"))
    os.symlink("a.md", os.path.join(rt.plans, "in.md"))
    os.symlink(rt.plans, os.path.join(home.ws, "there"))
    os.mkdir(os.path.join(rt.plans, "sub"))
    os.mkfifo(os.path.join(rt.plans, "fifo"))
    os.symlink(os.path.join(rt.plans, "not-yet.md"), os.path.join(home.ws, "new"))
    os.symlink("loop", os.path.join(home.ws, "loop"))
    for p in ("a.md", "new.md", "sub/x.md", "../plans/a.md"):
        for tool in ("Read", "Write", "Edit"):
            ats.equal(rt.tool(tool, file_path=os.path.join(rt.plans, p)).end, "native")
    for p in ("there/a.md", "../plans/a.md", "./../ws/../plans/a.md", "there", "new", "loop"):
        ats.equal(rt.tool("Read", file_path=p).end, "native")
    ats.equal(rt.plan("a.md")[2:4] + (rt.plan("a.md").text,), ("native", False, "a plan"))
    for p in ("..", ".", "../secret", "/etc/passwd", "sub/../a.md", "out.md", "in.md", "sub", "fifo",
              "x" * 256, "a.md\0", os.path.join(rt.plans, "a.md")):
        if "\0" not in p or kind == "js":
            ats.equal(rt.plan(p)[2:5], ("refused", True, "plan"), p)
    ats.equal(b.requests("ats/tool.call"), [])
    ats.equal(rt.end(), (0, ""))


@each("cancelled: brain is asked to end it, its answer comes", SOME)
def _(home, kind):
    b = brain_of(home)
    rt = Runtime(home, kind)
    rt.ask("tool", "Bash", {"command": "x"})
    m = b.wait_requests("ats/tool.call")[0]

    @b.on("ats/call.cancel")
    def _(conn, c, fds):
        conn.send({"jsonrpc": "2.0", "id": m["id"], "result": {
            "outcome": "done", "is_error": True, "code": "cancelled", "content": []}})
        return {}
    rt.send("cancel")
    ats.equal(rt.said()[2:5], ("done", True, "cancelled"))
    ats.equal(b.requests("ats/call.cancel")[0]["params"], {"call_id": m["params"]["call_id"]})
    ats.equal(rt.end(), (0, ""))


@each("many calls at once, answered in any order", SOME)
def _(home, kind):
    b = brain_of(home)
    held = []

    @b.on("ats/tool.call")
    def _(conn, m, fds):
        held.append((conn, m))
        if len(held) == 200:
            for c, q in reversed(held):
                c.answer(q, done(q["params"]["arguments"]["command"] * 50))
    rt = Runtime(home, kind)
    for i in range(200):
        rt.ask("tool", "Bash", {"command": "%03d" % i})
    got = {rt.said().text for _ in range(200)}
    ats.equal(got, {"%03d" % i * 50 for i in range(200)})
    ats.equal(rt.end(), (0, ""))


def fails(home, kind, *words, **how):
    rt = Runtime(home, kind, **how)
    code, said = rt.end()
    ats.equal(code, 1)
    for w in words:
        ats.contains(said, w)


@each("a brain with another address is not used, and the text names both")
def _(home, kind):
    brain_of(home, url="unix:/run/hands.sock")
    fails(home, kind, "unix:/run/hands.sock", "tcp://127.0.0.1:1", "atsctl shutdown",
          url="tcp://127.0.0.1:1")


@each("what atsctl says is looked at as a stranger's", SOME)
def _(home, kind):
    script = os.path.join(home.dir, "fake-atsctl")

    def says(text, code=0):
        with open(script, "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o755)) as f:
            f.write("#!/bin/sh\ncat <<'END'\n%s\nEND\nexit %d\n" % (text, code))
        return {"atsctl": script}
    fails(home, kind, "atsctl did not say", **says(""))
    fails(home, kind, "atsctl did not say", **says("junk\n[1]\n{}\n\"x\"\n{\"session\":7}"))
    fails(home, kind, "no brain runs", **says('{"error":{"code":"x","message":"no brain runs"}}', 3))
    fails(home, kind, **says("x" * 200000))
    fails(home, kind, **says(json.dumps({"session": "s" * 100, "sandbox": BOX, "door": "/x"})))
    fails(home, kind, **says(json.dumps({"session": "s-1", "sandbox": BOX, "door": "/x" * 200})))
    fails(home, kind, "again and again" if kind == "c" else "", **says(json.dumps(
        {"session": "s-1", "sandbox": BOX, "door": os.path.join(home.run, "nobody")})))
    fails(home, kind, "atsctl is not", atsctl=os.path.join(home.dir, "none"))


@each("a session that brain does not attach is no session", SOME)
def _(home, kind):
    b = brain_of(home)

    @b.on("ats/session.attach")
    def _(conn, m, fds):
        raise Fail("unknown id", "unknown_id")
    fails(home, kind, "unknown id")
    b.on("ats/session.attach")(lambda c, m, f: {"workspace": 7})
    fails(home, kind, "attach")


@each("a session of a name is found again, one without is closed at the end", SOME)
def _(home, kind):
    b = brain_of(home)
    b.on("ats/tool.call")(lambda c, m, f: done("x"))
    closed = []
    b.answer_vault = lambda name, values: closed.append(values[0]) if name == "CLOSE_SESSION" else None
    rt = Runtime(home, kind, session="mine")
    rt.tool("Bash", command="x")
    ats.equal(rt.end(), (0, ""))
    ats.equal(b.registered[-1], ("REGISTER", [home.ws, "name:mine"]))
    rt = Runtime(home, kind)
    ats.equal(rt.end(), (0, ""))
    ats.until(lambda: closed, "the session is closed")
    ats.equal(closed, ["s-0123456789ab"])


ats.main()
