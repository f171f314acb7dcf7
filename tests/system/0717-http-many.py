#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who has the token of ats-http and opens many sessions and connections: there are limits of all of
them together, each with its status, and what is asked for later, when there is room, is served."""
import itertools
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from fake_brain import FakeBrain
from http_client import Client, Modern, Quiet, Server

MIB = 1 << 20
SEEN = []
LIMITS = {a[0]: eval(a[1].replace("u", "")) for m, a in ats.def_rows("brain/http/limits.def")
          if m == "LIMIT"}


def script(door, m):
    SEEN.append(m["method"])
    if m["method"] == "initialize":
        door.result(m, protocolVersion=m["params"]["protocolVersion"])
    elif m["method"] == "large":
        door.result(m, x="x" * (64 * MIB))
    elif m["method"] == "ping":
        door.result(m)


def serve(home):
    home.open_things.append(FakeBrain(os.path.join(home.run, "ats"), script))
    return Server(home, "--workspace", home.ws)


def rss(server):
    with open("/proc/%d/status" % server.proc.pid, encoding="ascii") as f:
        return int(f.read().split("VmRSS:")[1].split()[0]) // 1024


def fds(server):
    return len(os.listdir("/proc/%d/fd" % server.proc.pid))


def full(a, status):
    ats.equal((a.status, a.fields.get("retry-after")), (status, "1"), a.body)


def leave_one(server, c, **params):
    """A request that is not answered, and whose connection is lost: it goes on."""
    conn = server.connect()
    conn.request(body=c.message("silent", params), session=c.session)
    return conn


@ats.test("requests of all sessions together have a limit, and a session that is ended gives room")
def _(home):
    server = serve(home)
    clients = [Client(server) for _ in range(LIMITS["REQUESTS_ALL"] // LIMITS["REQUESTS"] + 1)]
    n = 0
    for c in clients[:-1]:
        for _ in range(LIMITS["REQUESTS"]):
            SEEN.clear()
            conn = leave_one(server, c)
            ats.until(lambda: "silent" in SEEN, "it is there")
            conn.close()
            n += 1
    ats.equal(n, LIMITS["REQUESTS_ALL"])
    full(clients[-1].post("ping", {}), 429)
    full(Modern(server).ask("ping"), 429)
    a = clients[0].conn.ask("DELETE", session=clients[0].session)
    ats.check(a.status in (200, 202, 204), a.status)
    ats.until(lambda: clients[-1].post("ping", {}).status == 200, "there is room")
    ats.check(rss(server) < 200 or ats.SANITIZED, rss(server))


@ats.test("sessions that are opened in a loop have a rate: 429, whoever works goes on; then there is room")
def _(home):
    server = serve(home)
    c = Client(server)                  # the first of them
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
             "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}
    conn, modern, opened, began = server.connect(), Modern(server), 0, time.monotonic()

    def refused(ask):
        """The first answer of the kind, asked for faster than there is room."""
        a = ats.until(lambda: [a for a in [ask()] if a.status != 200], "it is refused")[0]
        full(a, 429)

    def open_one():
        nonlocal opened
        a = conn.ask(body=hello)
        if a.status == 200:
            opened += 1
            ats.equal(conn.ask("DELETE", session=a.fields["mcp-session-id"]).status, 200)
        return a

    def other_name():
        modern.path = "/mcp?session=%d" % next(names)
        return modern.ask("ping")
    names = itertools.count()
    while open_one().status == 200:
        took = time.monotonic() - began
    ats.check(opened >= LIMITS["OPENS"] - 1, opened)
    ats.small(opened, LIMITS["OPENS"] + took * LIMITS["OPENS_S"], "sessions opened")
    refused(open_one)
    refused(other_name)                 # it costs brain a session, too
    ats.equal(c.post("ping", {}).status, 200)
    ats.until(lambda: open_one().status == 200, "there is room again")


@ats.test("so have the bytes of these")
def _(home):
    server = serve(home)
    clients = [Client(server) for _ in range(4)]
    left = []
    for i in range(LIMITS["HELD_ALL"] // (8 * MIB) + 1):
        conn = leave_one(server, clients[i % 4], x="x" * (8 * MIB - 65536))
        left.append(conn)
        if i >= LIMITS["HELD_ALL"] // (8 * MIB):
            full(conn.answer(), 429)
    ats.check(clients[0].post("ping", {}).status == 200, "a small one")
    ats.check(rss(server) < 400 or ats.SANITIZED, rss(server))


@ats.test("bodies under way of many connections: one too many is refused, a small one is not")
def _(home):
    server = serve(home)
    c = Client(server)
    piece, conns = b" " * (15 * MIB), []
    head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n" \
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" \
        "Content-Length: %d\r\n\r\n" % (server.token, 15 * MIB + 1)
    for _ in range(LIMITS["BODIES_ALL"] // (15 * MIB)):
        conn = server.connect()
        conn.send(head.encode())
        conn.sock.sendall(piece)
        conns.append(conn)
    last = server.connect()
    last.send(head.encode())
    try:
        last.sock.sendall(piece)
    except OSError:
        pass                            # it is answered before all of it
    full(last.answer(), 503)
    ats.check(c.post("ping", {}).status == 200, "a small one")
    conns[0].close()
    ats.until(lambda: c.post("ping", {"x": "x" * (10 * MIB)}).status == 200, "there is room again")
    ats.check(rss(server) < 300 or ats.SANITIZED, rss(server))


@ats.test("answers that nobody reads, over many connections: the fullest is closed, no other")
def _(home):
    server = serve(home)
    c = Client(server)
    c.post("ping", {})
    before, n = fds(server), LIMITS["OUT_ALL"] // (64 * MIB) + 1
    quiet = []
    for i in range(n):
        SEEN.clear()
        conn = Quiet(server)
        conn.request(body=c.message("large", {}), session=c.session)
        quiet.append(conn)
        # Written, as far as it goes, before the next is asked for.
        ats.until(lambda w=min(i + 1, n - 1): rss(server) > w * 56, "%d of them" % i)
    ats.check(c.post("ping", {}).status == 200, "the others")
    ats.until(lambda: rss(server) < LIMITS["OUT_ALL"] // MIB + 150 or ats.SANITIZED, "it is bounded")
    # Its end is behind what nobody reads: the server has one less.
    ats.until(lambda: fds(server) == before + n - 1, "one is closed")
    for conn in quiet:
        conn.close()


ats.main()
