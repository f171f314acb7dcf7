#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests for a call that ends, was given up, or has too many that wait for it."""
import os
import select
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine


def text(answer):
    return "".join(c.get("text", "") for c in answer["result"]["content"])


def ask(d, tool, call_id, timeout_ms=None, **arguments):
    p = {"name": tool, "arguments": arguments, "call_id": call_id}
    if timeout_ms is not None:
        p["timeout_ms"] = timeout_ms
    return d.send("ats/tool.call", p)


def given_up(home, tool, **arguments):
    """(engine, session, its fake hands, the call that it never answered)."""
    e = engine.Engine(home, cancel_ms=100, grace_ms=100)
    s, b = e.session()
    d = e.door(s)
    i = ask(d, tool, "k", 100, **arguments)
    h = e.hands(b)
    f = h.call()
    d.answer(i)
    d.close()
    return e, s, h, f


@ats.test("a call that was given up: asked again it is answered from the journal, at once")
def _(home):
    e, s, h, f = given_up(home, "Bash", command="x")
    d = e.door(s)
    r = d.answer(ask(d, "Bash", "k", command="x"))["result"]
    ats.equal(r["outcome"], "unknown", r)
    h.result(f, "late")
    h.expect("control.ack", call=f.call)
    d.close()
    ats.equal(e.door(s).request("ping"), {})
    ats.equal(e.proc.poll(), None)


@ats.test("a pure call that was given up: asked again it runs again, the late result is nobody's")
def _(home):
    e, s, h, f = given_up(home, "Read", file_path="x")
    d = e.door(s)
    i = ask(d, "Read", "k", file_path="x")
    g = h.call()
    ats.check(g.call != f.call, "another call")
    h.result(f, "late")
    h.expect("control.ack", call=f.call)
    # The late one's end leaves the key to the one that runs.
    j = ask(d, "Read", "k", file_path="x")
    d.request("ping")
    h.result(g, "now")
    ats.equal((text(d.answer(i)), text(d.answer(j))), ("now", "now"))
    ats.equal(e.proc.poll(), None)


@ats.test("a client that is dropped while one call answers it many times")
def _(home):
    e = engine.Engine(home, client_out_bytes=200000, client_calls_max=4000, queue_ms=700)
    s, _ = e.session()
    for tool, arguments in (("Bash", {"command": "x"}), ("Read", {"file_path": "x"})):
        slow = e.door(s)
        for _ in range(3000):
            ask(slow, tool, "q" + tool, **arguments)
        hup = select.poll()
        hup.register(slow.sock, 0)      # the end only, not what there is to read
        ats.check(hup.poll(10000), "it was not dropped")
        ats.equal(e.door(s).request("ping"), {})
    ats.equal(e.proc.poll(), None)


@ats.test("requests that join a call count as calls of their client")
def _(home):
    e = engine.Engine(home, client_calls_max=3)
    s, b = e.session()
    d = e.door(s)
    ids = [ask(d, "Bash", "k", command="x") for _ in range(4)]
    a = d.answer(ids[3])["result"]      # it may run: that it did not start would be a lie
    ats.equal((a["outcome"], a["code"]), ("unknown", "table_full"))
    h = e.hands(b)
    h.result(h.call(), "once")
    ats.equal([text(d.answer(i)) for i in ids[:3]], ["once"] * 3)


@ats.test("the inputs of calls that wait are bounded in all")
def _(home):
    e = engine.Engine(home)
    s, b = e.session()
    d = e.door(s)
    big = "x" * (15 << 20)
    ids = [ask(d, "Write", "w%d" % n, file_path="f", content=big) for n in range(20)]
    ats.equal(d.answer(ids[-1])["error"]["data"], {"code": "table_full", "retryable": True})
    e.check_memory(600000)
    ats.equal(e.door(s).request("ping"), {})
    d.close()
    d = e.door(s)
    i = ask(d, "Write", "again", file_path="f", content=big)
    h = e.hands(b)
    h.result(h.call(), "written")   # those that waited left with their client
    ats.equal(text(d.answer(i)), "written")


ats.main()
