#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""atsctl mcp against a scripted brain: what a client sees when brain is lost."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from ctl_mcp import Client
from fake_door import Fail, FakeBrain


def brain_of(home):
    b = FakeBrain(os.path.join(home.run, "ats"))
    home.open_things.append(b)
    return b


@ats.test("lines are relayed and the session is keyed by the parent")
def _(home):
    brain = brain_of(home)
    brain.on("tools/list")(lambda c, m, f: {"tools": []})
    c = Client(home)
    ats.equal(c.initialize()["serverInfo"]["name"], "fake")
    ats.equal(c.request("tools/list"), {"tools": []})
    name, values = brain.registered[0]
    ats.equal(name, "REGISTER")
    ats.equal(values[0], os.path.realpath(home.ws))
    ats.matches(values[1], r"^mcp:%d:[1-9][0-9]+$" % os.getpid())
    ats.equal(c.rest(), (0, []))


@ats.test("--session takes an id or a name")
def _(home):
    brain = brain_of(home)
    for given in ("s-00112233aabb", "my name"):
        ats.equal(Client(home, "--session", given).rest(), (0, []))
    ats.equal(brain.registered[0], ("FIND_SESSION", ["s-00112233aabb"]))
    ats.equal(brain.registered[1][1][1], "name:my name")


def lose_twice(home, lose):
    """A call is open while brain is lost twice; returns the brain and the client."""
    brain = brain_of(home)
    brain.on("tools/call")(lambda c, m, f: None)
    c = Client(home)
    c.initialize()
    id = c.send("tools/call", {"name": "Bash", "arguments": {"command": "x" * 100000}})
    brain.wait_requests("tools/call", 1)
    lose(brain)
    brain.wait_requests("tools/call", 2)
    brain.on("tools/call")(lambda c, m, f: {"content": [], "n": 3})
    lose(brain)
    ats.equal(c.answer(id)["result"]["n"], 3)
    return brain, c


@ats.test("a lost engine is attached again, the handshake replayed, the call sent again")
def _(home):
    brain, c = lose_twice(home, lambda b: b.drop())
    ats.equal(len(brain.attached), 3)
    ats.equal(len({a["client"] for a in brain.attached}), 1)
    calls = brain.requests("tools/call")
    ats.check(calls[0] == calls[1] == calls[2], "not the same request")
    # in order on each connection, and the client sees one answer to initialize
    ats.equal([m["method"] for m in brain.seen],
              ["ats/session.attach", "initialize", "notifications/initialized",
               "tools/call"] * 3)
    ats.equal(c.rest(), (0, []))


@ats.test("a brain that comes back later is waited for")
def _(home):
    def lose(brain):
        brain.stop()
        brain.start()
    brain, c = lose_twice(home, lose)
    ats.equal(c.rest(), (0, []))


@ats.test("an error after a loss is about that sending: of a call the outcome is unknown")
def _(home):
    brain = brain_of(home)
    c = Client(home)
    c.initialize()
    for method, code, unknown in (("tools/call", "no_memory", True), ("tools/call", "table_full", False),
                                  ("tools/list", "no_memory", False)):
        n = len(brain.requests(method))
        brain.on(method)(lambda c, m, f: None)
        id = c.send(method, {"name": "Bash", "arguments": {"command": "x"}})
        brain.wait_requests(method, n + 1)

        @brain.on(method)
        def _(conn, m, f, code=code):
            raise Fail("it was \"refused\"", code)
        brain.drop()
        e = c.answer(id)["error"]
        ats.equal((e["code"], e["data"]["code"]), (-32000, code))
        ats.matches(e["message"], 'outcome of this call is unknown.*: it was "refused"$' if unknown
                    else '^it was "refused"$')
        ats.equal(len(brain.requests(method)), n + 2)

    @brain.on("tools/call")
    def _(conn, m, f):
        raise Fail("it was refused", "no_memory")
    id = c.send("tools/call", {"name": "Bash", "arguments": {"command": "x"}})
    ats.equal(c.answer(id)["error"]["message"], "it was refused")     # it was sent once alone
    ats.equal(c.rest(), (0, []))


@ats.test("an answered request is not sent again; a late second answer is dropped")
def _(home):
    brain = brain_of(home)
    brain.on("ping")(lambda c, m, f: {})
    c = Client(home)
    c.initialize()
    c.request("ping", id="one")
    brain.drop()
    brain.wait_requests("initialize", 2)
    brain.conns[-1].send({"jsonrpc": "2.0", "id": "one", "result": {"late": True}})
    brain.conns[-1].send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})
    ats.equal(c.message()["method"], "notifications/progress")
    ats.equal(len(brain.requests("ping")), 1)
    ats.equal(c.rest(), (0, []))


@ats.test("a cancelled request is forgotten: no answer passes, nothing is sent again")
def _(home):
    brain = brain_of(home)
    brain.on("tools/call")(lambda c, m, f: None)
    brain.on("ping")(lambda c, m, f: {})
    c = Client(home)
    c.initialize()
    id = c.send("tools/call", {"name": "Bash", "arguments": {}})
    c.notify("notifications/cancelled", {"requestId": id})
    brain.wait_requests("notifications/cancelled")
    brain.drop()
    c.request("ping")
    ats.equal(len(brain.requests("tools/call")), 1)
    ats.equal(c.rest(), (0, []))


@ats.test("many open requests are each answered once over several losses")
def _(home):
    brain = brain_of(home)
    brain.on("tools/call")(lambda c, m, f: None)
    c = Client(home)
    c.initialize()
    ids = [c.send("tools/call", {"name": "Read", "arguments": {"n": n}}) for n in range(200)]
    brain.wait_requests("tools/call", 200)
    brain.drop()
    brain.wait_requests("tools/call", 400)
    # half of them answered, then lost again
    for m in brain.requests("tools/call")[200:300]:
        brain.conns[-1].answer(m, {"n": m["params"]["arguments"]["n"]})
    for n in range(100):
        ats.equal(c.answer(ids[n])["result"], {"n": n})
    brain.on("tools/call")(lambda c, m, f: {"n": m["params"]["arguments"]["n"]})
    brain.drop()
    for n in range(100, 200):
        ats.equal(c.answer(ids[n])["result"], {"n": n})
    ats.equal(len(brain.requests("tools/call")), 500)
    ats.equal(c.rest(), (0, []))


@ats.test("at the end of stdin answers still come, then open requests are cancelled")
def _(home):
    brain = brain_of(home)
    brain.on("ping")(lambda c, m, f: {})
    brain.on("tools/call")(lambda c, m, f: None)
    c = Client(home)
    c.send("ping", id=1)
    c.send("tools/call", {"name": "Bash", "arguments": {}}, id=2)
    code, lines = c.rest()
    ats.equal((code, lines), (0, [{"jsonrpc": "2.0", "id": 1, "result": {}}]))
    ats.equal(brain.wait_requests("notifications/cancelled")[0]["params"]["requestId"], 2)


@ats.test("a last line without a newline counts")
def _(home):
    brain = brain_of(home)
    brain.on("ping")(lambda c, m, f: {})
    c = Client(home)
    c._send(b'{"jsonrpc":"2.0","id":7,"method":"ping"}', ())
    ats.equal(c.rest(), (0, [{"jsonrpc": "2.0", "id": 7, "result": {}}]))


for sig in (signal.SIGINT, signal.SIGTERM):
    @ats.test("%s cancels what is open and exits 0" % sig.name)
    def _(home, sig=sig):
        brain = brain_of(home)
        brain.on("tools/call")(lambda c, m, f: None)
        c = Client(home)
        c.initialize()
        c.send("tools/call", {"name": "Bash", "arguments": {}}, id="x")
        brain.wait_requests("tools/call")
        c.process.send_signal(sig)
        ats.equal(c.process.wait(ats.TIMEOUT), 0)
        ats.equal(brain.wait_requests("notifications/cancelled")[0]["params"]["requestId"], "x")


@ats.test("nonsense and over-long lines get an error and the relay goes on")
def _(home):
    brain = brain_of(home)
    brain.on("ping")(lambda c, m, f: {})
    c = Client(home)
    c._send(b"not json\n\n", ())
    ats.equal(c.message()["error"]["code"], -32700)
    c._send(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":"' + b"x" * (18 << 20) + b'"}\n', ())
    ats.equal(c.message()["error"]["code"], -32600)
    ats.equal(c.request("ping", id=5), {})
    ats.equal(c.rest(), (0, []))


@ats.test("big lines pass both ways")
def _(home):
    brain = brain_of(home)
    brain.on("echo")(lambda c, m, f: m["params"])
    c = Client(home)
    text = "é\n\"" * (1 << 20)
    ats.equal(c.request("echo", {"text": text}), {"text": text})
    ats.equal(c.rest(), (0, []))


@ats.test("without a brain mcp says so on stderr alone")
def _(home):
    r = home.ctl("--no-start", "mcp", input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n', code=125)
    ats.equal(r.stdout, b"")
    ats.matches(r.stderr.decode(), r"\Aatsctl: mcp: no brain runs; [^\n]+\n\Z")


ats.main()
