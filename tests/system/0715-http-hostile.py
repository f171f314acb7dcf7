#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients of ats-http that take their time or never read, and a brain of a script behind it that
floods or says nonsense: each costs what its limit says, and nobody else."""
import os
import select
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from fake_brain import FakeBrain
from http_client import Client, Modern, Quiet, Server

MIB = 1 << 20
BIG = "x" * MIB
SEEN = []       # methods that came to the engine


def script(door, m):
    """The engine: a method's name says what it does."""
    SEEN.append(m["method"])
    if m["method"] == "initialize":
        door.result(m, protocolVersion=m["params"]["protocolVersion"])
    elif m["method"] == "flood":
        note = {"jsonrpc": "2.0", "method": "notifications/x", "params": {"x": BIG}}
        for _ in range(64):
            door.say(note)
        door.result(m)
    elif m["method"] == "subscriptions/listen":
        meta = {"io.modelcontextprotocol/subscriptionId": m["id"]}
        door.say({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                  "params": {"_meta": meta}})
        for _ in range(64):
            door.say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed",
                      "params": {"_meta": meta, "x": BIG}})
    elif m["method"] == "nonsense":
        for line in (b"", b"{", b"[]", b"1", b'{"id":null,"error":{}}', b"\xff\xfe",
                     b'{"jsonrpc":"2.0","id":"nobody","result":{}}', b'{"method":1,"params":[]}',
                     b'{"method":"notifications/progress","params":{"progressToken":"none"}}',
                     b'{"method":"a","params":{"_meta":{'
                     b'"io.modelcontextprotocol/subscriptionId":"none"}}}'):
            door.say(line)
        door.result(m, ok=True)
    elif m["method"] == "progress":
        door.say({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
            "progressToken": m["params"]["_meta"]["progressToken"], "progress": 1,
            "message": BIG * 24}})
        door.result(m)
    elif "id" in m and m["method"] != "silent":
        door.result(m, **({"text": BIG * 8} if m["method"] == "big" else {}))


def serve(home, *args):
    brain = FakeBrain(os.path.join(home.run, "ats"), script)
    home.open_things.append(brain)
    return Server(home, *args)


def rss(server):
    with open("/proc/%d/status" % server.proc.pid, encoding="ascii") as f:
        return int(next(x for x in f if x.startswith("VmHWM:")).split()[1]) // 1024


def fds(server):
    return len(os.listdir("/proc/%d/fd" % server.proc.pid))


def rest(conn):
    """Bytes that come up to the end of the connection."""
    n = 0
    while data := conn.sock.recv(MIB):
        n += len(data)
    return n


@ats.test("who sends a head or a body slowly is told so, and not waited for")
def _(home):
    server = serve(home, "--head-seconds", "1", "--body-seconds", "1")
    other = Modern(server)
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n" \
        b"Content-Type: application/json\r\n" % server.token.encode()
    for start in (b"P", head, head + b"Content-Length: 9\r\n\r\n{",
                  head + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{"):
        conn = server.connect()
        conn.send(start)
        began = time.monotonic()
        a = conn.answer()
        ats.check(a.status == 408, (start, a.status))
        ats.check(0.5 < time.monotonic() - began < 20, "its time")
        ats.check(rest(conn) == 0, "it goes on")
    # a byte now and then is no progress of a head
    conn = server.connect()
    for b in head:
        conn.send(bytes([b]))
        if select.select([conn.sock], [], [], 0.1)[0]:
            break
    ats.check(conn.answer().status == 408, "a trickle")
    # who says nothing gets nothing
    conn = server.connect()
    ats.check(conn.sock.recv(1) == b"", "silence")
    ats.check(other.again() is None and other.ask("tools/list").status == 200, "the others")


@ats.test("a stream that is never read is ended, whatever comes for it")
def _(home):
    server = serve(home)
    c = Client(server)
    c.post("ping", {})
    before = fds(server)
    listener = Quiet(server)
    listener.request("GET", session=c.session)
    ats.check(listener.head()[0] == 200, "it listens")
    modern = Modern(server)
    modern.conn.close()
    modern.conn = Quiet(server)
    modern.send("subscriptions/listen", {"notifications": {}})
    ats.check(modern.conn.head()[0] == 200, "it listens, too")
    ats.check(c.post("flood", {}).status == 200, "64 MiB")
    # the way to brain of the other era stays
    ats.until(lambda: fds(server) <= before + 1, "they are ended")
    ats.check(rest(listener) < 40 * MIB and rest(modern.conn) < 40 * MIB, "what had left")
    ats.check(c.post("ping", {}).status == 200, "the others")
    ats.check(ats.SANITIZED or rss(server) < 160, "%d MiB" % rss(server))


@ats.test("an answer behind more than a stream may hold ends it, and only it")
def _(home):
    server = serve(home)
    other = Modern(server)
    ats.check(other.ask("ping").status == 200, "it is there")
    # nothing is read before it is ended; a session has a way to brain
    for path, ways in (("/mcp", 0), ("/mcp?session=one", 1)):
        before = fds(server)
        m = Modern(server)
        m.conn.close()
        m.conn, m.path = Quiet(server), path
        m.send("progress", meta={"progressToken": "p"})
        ats.equal(m.conn.head()[1]["content-type"], "text/event-stream")
        ats.until(lambda n=before + ways: fds(server) <= n, "it is ended")
        ats.check(rest(m.conn) < 24 * MIB, "what had left")
    c = Client(server)
    c.post("ping", {})
    before = fds(server)
    conn = Quiet(server)
    conn.request(body=c.message("progress", {"_meta": {"progressToken": "p"}}),
                 session=c.session)
    ats.equal(conn.head()[1]["content-type"], "text/event-stream")
    ats.until(lambda: fds(server) <= before, "of the other era")
    ats.check(rest(conn) < 24 * MIB, "of the other era")
    ats.check(other.ask("ping").status == 200, "the others")
    ats.check(server.proc.poll() is None, "it lives")


@ats.test("a notification of many lines is one for the engine, and has none of its own in it")
def _(home):
    c = Client(serve(home))
    SEEN.clear()
    body = b'{"jsonrpc":"2.0",\r\n"method":"notifications/many","params":[\n' \
        b'{"jsonrpc":"2.0","id":77,"method":"smuggled"}\n]}'
    ats.check(c.conn.ask(body=body, session=c.session).status == 202, "it is taken")
    ats.check(c.post("ping", {}).status == 200, "the next one")
    # What begins the session may come late.
    ats.equal([x for x in SEEN if x != "notifications/initialized"], ["notifications/many", "ping"])


@ats.test("a request that is taken back gives its connection free")
def _(home):
    server = serve(home)
    c, back = Client(server), Client(server)
    back.session = c.session
    for accept in ("application/json, text/event-stream", "application/json"):
        message = c.message("silent", {})
        c.conn.request(body=message, session=c.session, Accept=accept)
        ats.until(lambda: "silent" in SEEN, "the engine has it")
        SEEN.clear()
        back.note("notifications/cancelled", {"requestId": message["id"]})
        a = c.conn.answer()
        ats.check(a.status == 200, a.status)
        ats.equal((a.json()["id"], "error" in a.json()), (message["id"], True))
        ats.check(c.post("ping", {}).status == 200, "it is used again")
    # of what is not there, or is none
    for params in ({"requestId": 99}, {"requestId": None}, {}):
        back.note("notifications/cancelled", params)
    ats.check(c.post("ping", {}).status == 200, "it goes on")


@ats.test("the end of a client is seen behind what it has sent too early")
def _(home):
    server = serve(home)
    c, m = Client(server), Modern(server)
    ats.check(m.ask("ping").status == 200, "it is there")
    before = fds(server)
    listener = server.connect()
    listener.request("GET", session=c.session)
    ats.check(listener.head()[0] == 200, "it listens")
    listener.send(b"x" * 100000)
    other = Modern(server)
    other.send("silent")
    other.conn.send(b"POST /mcp HTTP/1.1\r\n")
    ats.until(lambda: "silent" in SEEN, "the engine has it")
    SEEN.clear()
    listener.close()
    other.close()
    ats.until(lambda: fds(server) == before, "both are ended")
    ats.until(lambda: "notifications/cancelled" in SEEN, "it is taken back")
    ats.check(m.ask("ping").status == 200, "the others")


@ats.test("an answer that is never taken ends its connection")
def _(home):
    server = serve(home, "--write-seconds", "1")
    c = Client(server)
    before = fds(server)
    conns = [Quiet(server) for _ in range(3)]
    for i, conn in enumerate(conns):
        conn.request(body={"jsonrpc": "2.0", "id": "big-%d" % i, "method": "big"},
                     session=c.session)
    ats.until(lambda: fds(server) > before, "they are there")
    ats.until(lambda: fds(server) <= before, "they are ended")
    ats.check(all(rest(conn) < 8 * MIB for conn in conns), "what had left")
    ats.check(c.post("ping", {}).status == 200, "the others")


@ats.test("what an engine says to nobody is heard by nobody")
def _(home):
    server = serve(home)
    ats.equal(Client(server).post("nonsense", {}).json()["result"], {"ok": True})
    ats.equal(Modern(server).ask("nonsense").json()["result"], {"ok": True})


@ats.test("an engine that is lost in a call, and the next one refuses it: nobody says that it did not run")
def _(home):
    code, seen = None, []

    def lost_once(door, m):
        if m["method"] not in ("tools/call", "x/call"):
            script(door, m)
            return
        seen.append(m["id"])
        if seen.count(m["id"]) == 1:
            door.conn.shutdown(socket.SHUT_RDWR)
        else:
            door.say({"jsonrpc": "2.0", "id": m["id"], "error": {
                "code": -32000, "message": "refused", "data": {"code": code}}})
    home.open_things.append(FakeBrain(os.path.join(home.run, "ats"), lost_once))
    server = Server(home)
    c, m = Client(server), Modern(server)
    for code, unknown in (("no_memory", True), ("table_full", False)):
        for ask in (c.post, m.ask):
            a = ask("tools/call", {"name": "Bash", "arguments": {}}).json()
            ats.equal(("unknown" in a["error"]["message"], a["error"]["data"]["code"]),
                      (unknown, code))
            ats.check(a["error"]["message"].endswith("refused"), a)
    ats.equal(c.post("x/call", {}).json()["error"]["message"], "refused")
    ats.equal({seen.count(i) for i in seen}, {2})


@ats.test("requests wait for a brain that is away, and are given up in time")
def _(home):
    server = serve(home)
    c, m = Client(server), Modern(server)
    ats.check(m.ask("x").status == 200, "it is there")
    ats.check(c.post("x", {}).status == 200, "it is there")
    home.open_things[0].close()
    for name in ("vault.sock", "brain.sock"):
        os.unlink(os.path.join(home.run, "ats", name))
    m.send("x")
    again = FakeBrain(os.path.join(home.run, "ats"), script)
    home.open_things.append(again)
    ats.check(m.conn.answer().status == 200, "the answer of the next one")


if __name__ == "__main__":
    ats.main()
