#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""atsctl relay against a scripted brain: honest and hostile things in the directory."""
import json
import os
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from fake_door import Fail
from fake_vault import FakeVault
from relay_shim import Server, Shim

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [{"name": "Bash", "description": "a command", "inputSchema": {"type": "object"}},
         {"name": "g__echo", "description": "says it again", "inputSchema": SCHEMA,
          "annotations": {"readOnlyHint": True}},
         {"name": "g__wait", "description": "", "inputSchema": {"type": "object"}}]
SECRET = "root-only bytes of a host file"


def brain_of(home, tools=None):
    b = FakeVault(os.path.join(home.run, "ats"))
    home.open_things.append(b)
    b.tools = list(TOOLS if tools is None else tools)
    b.held = []
    b.on("tools/list")(lambda c, m, f: {"tools": b.tools})
    b.on("ats/call.cancel")(lambda c, m, f: {})

    def call(conn, message, fds):
        p = message["params"]
        if p["name"] == "g__wait":
            with b.changed:
                b.held.append((conn, message))
                b.changed.notify_all()
            return None
        if p["arguments"].get("fail"):
            return {"outcome": "done", "is_error": True,
                    "content": [{"type": "text", "text": "no such repository"}]}
        text = json.dumps(p["arguments"], ensure_ascii=False)
        return {"outcome": "done", "is_error": False, "content": [{"type": "text", "text": text}]}
    b.on("ats/tool.call")(call)
    return b


@ats.test("tools of gateways alone are offered and called; the specs file")
def _(home):
    b = brain_of(home)
    r = Server(home).ready()
    with open(r.shim.path("tools.json"), encoding="utf-8") as f:
        specs = json.load(f)
    ats.equal([(s["name"], s["kind"]) for s in specs],
              [("g__echo", "callback"), ("g__wait", "callback")])
    ats.equal(specs[0]["inputSchema"], SCHEMA)
    ats.check(specs[0]["timeoutMs"] > 600000, specs[0])
    ats.equal(r.shim.call("g__echo", {"text": "grün\x1b"}), {"ok": True, "text": '{"text": "grün\\u001b"}'})
    ats.equal(r.shim.call("g__echo", {"fail": True}), {"ok": False, "error": "no such repository"})
    for name in ("Bash", "g__other", "__", "tools/list"):
        a = r.shim.call(name, {"command": "id"})
        ats.equal((a["ok"], list(a)), (False, ["ok", "error"]))
        ats.contains(a["error"], "no tool of this name")
    ats.equal([m["params"]["name"] for m in b.requests("ats/tool.call")], ["g__echo"] * 2)
    # args may be absent or null
    for text in (b'{"toolName":"g__echo","toolCallId":"x"}',
                 b'{"toolName":"g__echo","toolCallId":"../../x","args":null}'):
        r.shim.put("plain%d.req.json" % len(text), text)
        ats.equal(r.shim.answer("plain%d" % len(text)), {"ok": True, "text": "{}"})
    ats.equal(r.shim.names(), ["tools.json"])
    name, values = b.registered[0]
    ats.matches(values[1], r"^relay:[0-9a-f]{16}$")
    ats.equal(r.end(), "")
    ats.equal(r.shim.names(), [])


@ats.test("what is not done is an error, never empty; images are named")
def _(home):
    b = brain_of(home)
    r = Server(home).ready()
    answers = iter((
        ({"outcome": "unknown", "content": []}, "outcome is unknown"),
        ({"outcome": "not_started", "is_error": True, "content": [{"type": "text", "text": "no"}]},
         "^no$"),
        ({"outcome": "done", "is_error": True, "content": []}, "said nothing"),
        ({}, "outcome is unknown"), ([], "outcome is unknown")))
    for result, want in answers:
        b.on("ats/tool.call")(lambda c, m, f, x=result: x)
        a = r.shim.call("g__echo", {"text": ""})
        ats.equal(a["ok"], False, a)
        ats.matches(a["error"], want)
    b.on("ats/tool.call")(lambda c, m, f: {"outcome": "done", "is_error": False, "content": [
        {"type": "text", "text": "one"}, {"type": "image", "data": "QUJD", "mimeType": "image/png"},
        {"type": "text", "text": "nul\0"}]})
    a = r.shim.call("g__echo", {"text": ""})
    ats.matches(a["text"], r"^one\n\[an image .*\]\nnul\\u0000$")
    b.on("ats/tool.call")(lambda c, m, f: {"outcome": "done", "content": [
        {"type": "text", "text": "x" * 3000000}]})
    ats.equal(r.shim.call("g__echo", {"text": ""}), {"ok": False, "error": "the answer is too long"})
    del b.handlers["ats/tool.call"]
    ats.equal(r.shim.call("g__echo", {"text": ""}), {"ok": False, "error": "no such method"})
    r.end()


@ats.test("an id is good for one request; many at once")
def _(home):
    b = brain_of(home)
    r = Server(home).ready()
    ats.equal(r.shim.call("g__echo", {"text": "1"}, id="same")["ok"], True)
    a = r.shim.call("g__echo", {"text": "2"}, id="same")
    ats.equal(a["ok"], False)
    ats.contains(a["error"], "used before")
    r.shim.ask("g__wait", {}, id="open")
    b.wait_for(lambda: len(b.held) == 1, "a call")
    ats.contains(r.shim.call("g__echo", {"text": "3"}, id="open")["error"], "used before")
    conn, message = b.held.pop()
    conn.answer(message, {"outcome": "done", "content": [{"type": "text", "text": "first"}]})
    ats.equal(r.shim.answer("open"), {"ok": True, "text": "first"})
    ats.equal(len(b.requests("ats/tool.call")), 2)
    # 64 at once: more wait in the directory, and come when there is room.
    ids = [r.shim.ask("g__wait", {"n": n}) for n in range(100)]
    b.wait_for(lambda: len(b.held) == 64, "64 calls")
    ats.equal(len([n for n in r.shim.names() if n.endswith(".req.json")]), 36)
    done = 0
    while done < 100:
        b.wait_for(lambda: b.held, "a call")
        conn, message = b.held.pop(0)
        conn.answer(message, {"outcome": "done", "content": [{"type": "text", "text": "x"}]})
        done += 1
    for id in ids:
        ats.equal(r.shim.answer(id)["ok"], True)
    r.end()


@ats.test("what is not a plain request of the owner is refused, and no byte of it is told")
def _(home):
    brain_of(home)
    host = os.path.join(home.ws, "host-file")
    with open(host, "w", encoding="utf-8") as f:
        f.write(SECRET)
    os.chmod(host, 0o600)
    r = Server(home).ready()
    p = r.shim.path
    os.symlink(host, p("link.req.json"))
    os.mkfifo(p("fifo.req.json"))
    os.link(host, p("hard.req.json"))
    os.symlink("/dev/zero", p("zero.req.json"))
    s = socket.socket(socket.AF_UNIX)
    s.bind(p("sock.req.json"))
    with open(p("x"), "wb") as f:
        f.truncate(1 << 30)
    os.rename(p("x"), p("sparse.req.json"))
    with open(p("x"), "wb") as f:
        f.truncate((1 << 20) - 10)
    os.rename(p("x"), p("zeros.req.json"))
    for name, text in (("empty", b""), ("text", SECRET.encode()), ("cut", b'{"toolName":"g__e'),
                       ("twice", b'{"toolName":"g__echo","toolName":"Bash","toolCallId":"x"}'),
                       ("more", b'{"toolName":"g__echo","toolCallId":"x","args":{},"y":1}'),
                       ("list", b'{"toolName":"g__echo","toolCallId":"x","args":[]}'),
                       ("none", b"[]"), ("utf8", b'{"toolName":"g__echo\xff","toolCallId":"x"}'),
                       ("deep", b'{"toolName":"g__echo","toolCallId":"x","args":' + b'{"a":' * 99)):
        r.shim.put(name + ".req.json", text)
    if os.geteuid() == 0:
        r.shim.put("x", b'{"toolName":"g__echo","toolCallId":"x","args":{}}')
        os.chown(p("x"), 4242, 4242)
        os.rename(p("x"), p("owner.req.json"))
        ats.contains(r.shim.answer("owner")["error"], "another user")
    # A wake came for each but what was made in place: the listing finds those.
    for name in ("link", "fifo", "hard", "zero", "sock", "sparse", "zeros", "empty", "text",
                 "cut", "twice", "more", "list", "none", "utf8", "deep"):
        a = r.shim.answer(name)
        ats.equal(a["ok"], False, name)
        ats.missing(a["error"], SECRET[:4])
        ats.missing(a["error"], host)
    s.close()
    with open(host, encoding="utf-8") as f:
        ats.equal(f.read(), SECRET)
    ats.equal(r.shim.call("g__echo", {"text": "on"})["ok"], True)
    r.end()


@ats.test("directories in the place of files, answers that are there already, foreign names")
def _(home):
    brain_of(home)
    host = os.path.join(home.ws, "host-file")
    with open(host, "w", encoding="utf-8") as f:
        f.write(SECRET)
    r = Server(home).ready()
    p = r.shim.path
    os.mkdir(p("dir.req.json"))
    os.mkdir(p("taken.res.json"))
    os.symlink(host, p("linked.res.json"))
    for name in ("ünïcode.req.json", "dots..req.json", ".req.json", "x" * 130 + ".req.json",
                 "new\nline.req.json"):
        r.shim.put(name, b'{"toolName":"g__echo","toolCallId":"x","args":{}}')
    for name in ("notes.txt", "a.req.json.bak", "b.tmp.1", "req.json"):
        r.shim.put(name, b"mine")
    r.shim.ask("g__echo", {"text": "1"}, id="taken")
    r.shim.ask("g__echo", {"text": "2"}, id="linked")
    ats.until(lambda: not os.path.islink(p("linked.res.json")), "an answer instead of the link")
    ats.equal(r.shim.answer("linked")["ok"], True)
    with open(host, encoding="utf-8") as f:
        ats.equal(f.read(), SECRET)
    ats.equal(r.shim.call("g__echo", {"text": "3"})["ok"], True)
    # names that are no id of a call are taken away; what is not ours stays
    want = ["a.req.json.bak", "b.tmp.1", "dir.req.json", "notes.txt", "req.json",
            "taken.res.json", "tools.json"]
    ats.until(lambda: r.shim.names() == want, "nothing else: %r" % r.shim.names())
    os.rmdir(p("taken.res.json"))
    ats.equal(r.shim.answer("taken"), {"ok": True, "text": '{"text": "1"}'})
    ats.contains(r.end(), "cannot be written yet")


@ats.test("what is stale is swept before it is ready, and nothing else is touched")
def _(home):
    b = brain_of(home)
    d = os.path.join(home.ws, "relay")
    os.mkdir(d)
    p = Shim(d).path
    stale = ("a.req.json", "a.res.json", "b.req.json.tmp.12ab", "b.res.json.tmp.1", "ü.req.json")
    mine = ("notes", "b.tmp.3", "c.json", "req.json.tmp.4")
    for name in stale + mine:
        with open(p(name), "w", encoding="utf-8") as f:
            f.write('{"toolName":"g__echo","toolCallId":"x","args":{}}')
    os.mkdir(p("d.req.json"))
    r = Server(home).ready()
    ats.equal(r.shim.names(), sorted([*mine, "d.req.json", "tools.json"]))
    ats.equal(b.requests("ats/tool.call"), [])
    r.end()


@ats.test("a hundred thousand files do not wedge it", long=ats.PARTLY)
def _(home):
    brain_of(home)
    r = Server(home).ready()
    n = ats.rounds(20000, 20000 if ats.SANITIZED else 100000)
    d = os.open(r.dir, os.O_RDONLY)
    for i in range(n):
        os.close(os.open("junk%d.json" % i, os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=d))
    for i in range(2000):
        os.close(os.open("junk%d.req.json" % i, os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=d))
        os.close(os.open("junk%d.res.json.tmp.1" % i, os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=d))
    started = time.monotonic()
    for i in range(50):
        ats.equal(r.shim.call("g__echo", {"n": i})["ok"], True)
    took = time.monotonic() - started
    ats.check(took < 20, "50 calls took %.1f s" % took)
    os.close(d)
    # ... nor its end, nor the next start
    r.end()
    started = time.monotonic()
    r = Server(home).ready()
    ats.equal(r.shim.call("g__echo", {"n": 1})["ok"], True)
    ats.check(time.monotonic() - started < 30, "start")
    with open("/proc/%d/status" % r.process.pid, encoding="utf-8") as f:
        kib = int([x.split()[1] for x in f if x.startswith("VmHWM")][0])
    ats.small(kib, 40000, "memory")
    r.end()


@ats.test("brain is lost: the same calls are asked for again, once answered")
def _(home):
    b = brain_of(home)
    r = Server(home).ready()
    id = r.shim.ask("g__wait", {})
    b.wait_for(lambda: len(b.held) == 1, "a call")
    b.drop()
    b.wait_for(lambda: len(b.held) == 2, "the call again")
    ats.equal(b.held[0][1]["params"], b.held[1][1]["params"])
    b.stop()
    b.start()
    b.wait_for(lambda: len(b.held) == 3, "the call again")
    ats.equal(len({a["client"] for a in b.attached}), 1)
    conn, message = b.held[2]
    conn.answer(message, {"outcome": "done", "content": [{"type": "text", "text": "once"}]})
    ats.equal(r.shim.answer(id), {"ok": True, "text": "once"})
    ats.contains(r.end(), "brain was lost")


@ats.test("brain is lost, then refuses the call that it may have run: that is not said to be undone")
def _(home):
    b = brain_of(home)
    r = Server(home).ready()
    for name, unknown in (("no_memory", True), ("table_full", False)):
        b.on("ats/tool.call")(lambda c, m, f: b.held.append((c, m)))
        b.held.clear()
        id = r.shim.ask("g__wait", {})
        b.wait_for(lambda: len(b.held) == 1, "a call")

        @b.on("ats/tool.call")
        def _(conn, m, fds, name=name):
            raise Fail("it was refused", name)
        b.drop()
        said = r.shim.answer(id)["error"]
        ats.contains(said, "it was refused")
        ats.equal("may have run" in said, unknown, said)
    r.end()


@ats.test("tools that change change the specs file; none, no file")
def _(home):
    b = brain_of(home, [])
    r = Server(home).ready()
    ats.equal(r.shim.names(), [])
    ats.contains(r.shim.call("g__echo", {})["error"], "no tool of this name")

    def change(tools):
        b.tools = tools
        b.conns[-1].send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    change(TOOLS)
    ats.until(lambda: r.shim.names() == ["tools.json"], "a specs file")
    ats.equal(r.shim.call("g__echo", {})["ok"], True)
    change(TOOLS[:1])
    ats.until(lambda: r.shim.names() == [], "no specs file")
    ats.contains(r.shim.call("g__echo", {})["error"], "no tool of this name")
    ats.contains(r.end(), "no gateway has a tool")
    elsewhere = os.path.join(home.ws, "specs.json")
    b.tools = TOOLS
    r = Server(home, "--specs", elsewhere).ready()
    ats.equal((os.path.exists(elsewhere), r.shim.names()), (True, []))
    r.end()
    ats.equal(os.path.exists(elsewhere), False)


@ats.test("its end answers what is open and cancels it; wrong arguments")
def _(home):
    b = brain_of(home)
    r = Server(home).ready()
    id = r.shim.ask("g__wait", {})
    b.wait_for(lambda: len(b.held) == 1, "a call")
    r.end()
    ats.contains(r.shim.answer(id)["error"], "may have been done")
    cancel = b.wait_requests("ats/call.cancel")[0]
    ats.equal(cancel["params"]["call_id"], b.held[0][1]["params"]["call_id"])
    r = Server(home, name="missing", make=False)
    ats.equal(r.process.wait(ats.TIMEOUT), 125)
    r = Server(home, "--owner", "1x")
    ats.equal(r.process.wait(ats.TIMEOUT), 125)
    # an answer to a removed directory goes nowhere, and that is said
    r = Server(home, name="gone").ready()
    os.unlink(r.shim.path("tools.json"))
    os.rmdir(r.dir)
    ats.equal(r.process.wait(ats.TIMEOUT), 125)
    ats.contains(r.process.stderr.read(), b"was removed")


@ats.test("it is confined: no new privileges, no capability, two filters")
def _(home):
    brain_of(home)
    r = Server(home).ready()
    with open("/proc/%d/status" % r.process.pid, encoding="utf-8") as f:
        status = dict(x.split(":", 1) for x in f.read().splitlines() if ":" in x)
    ats.equal(status["NoNewPrivs"].strip(), "1")
    ats.equal(int(status["CapEff"], 16), 0)
    ats.equal(status["Seccomp"].strip(), "2")
    r.end()


ats.main()
