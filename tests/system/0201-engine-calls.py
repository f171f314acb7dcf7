#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls: answers, ids, cancel, deadlines, losses by class, many at once, exec."""
import base64
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine


def ask(d, tool, call_id=None, **arguments):
    params = {"name": tool, "arguments": arguments}
    if call_id:
        params["call_id"] = call_id
    return d.send("ats/tool.call", params)


def text(answer):
    return "".join(c.get("text", "") for c in answer["result"]["content"])


@ats.test("a result's text, blocks, output, exit and timings reach the client")
def _(home):
    e, s, b, d, h = engine.up(home)
    i = ask(d, "Bash", command="x")
    f = h.call()
    ats.equal((f.json["split"], f.json["keep"]), (True, True))
    h.result(f, b"te\xffxt\x00\x1b\"", is_error=True, code="timeout", output={"a": [1]},
             exit_kind="timeout", exit_code=15, queue_us=1, run_us=2)
    r = d.answer(i)["result"]
    ats.equal(r["content"], [{"type": "text", "text": "te\ufffdxt\x00\x1b\""}])
    ats.equal((r["outcome"], r["is_error"], r["code"], r["output"], r["exit"]),
              ("done", True, "timeout", {"a": [1]}, {"kind": "timeout", "code": 15}))
    ats.equal((r["timings"]["queue_us"], r["timings"]["run_us"]), (1, 2))
    ats.equal(r["call"], "c-%d" % f.call)
    for n in (0, 1, 2, 3, 4, 3000000):
        png = os.urandom(n)
        i = d.send("tools/call", {"name": "Read", "arguments": {"file_path": "i%d.png" % n}})
        h.result(h.call(), b"pic" + png, blocks=[{"type": "text", "len": 3},
                                               {"type": "image", "mime": "image/png", "len": n}])
        c = d.answer(i)["result"]["content"]
        ats.equal(c[0], {"type": "text", "text": "pic"})
        ats.equal((c[1]["type"], c[1]["mimeType"]), ("image", "image/png"))
        ats.check(base64.b64decode(c[1]["data"]) == png)


@ats.test("a large text is escaped whole")
def _(home):
    e, s, b, d, h = engine.up(home)
    i = ask(d, "Grep", pattern="x")
    big = ('"\\\n\x01\u00e9' * 400000)
    h.result(h.call(), big)
    ats.check(text(d.answer(i)) == big)


@ats.test("cwd and read-state travel, lies do not")
def _(home):
    e, s, b, d, h = engine.up(home)
    a, other = os.path.join(home.ws, "a"), os.path.join(home.ws, "b")
    read = {"path": a, "size": 3, "mtime_ns": 7, "sha256": "0" * 64}
    for delta in ({"cwd": "/etc"}, {"cwd": home.ws + "/../x"}, {"cwd": "tmp"},
                  {"reads": [read]}, {"shell_started": "../x"}):
        i = ask(d, "Bash", command="x")
        h.result(h.call(), "ok", ctx_delta=delta)
        d.answer(i)
    for delta in ({"cwd": "/tmp"}, {"reads": [dict(read, path=other)]},
                  {"reads": [dict(read, sha256="xyz")]}, {"shell_started": "bash_1"},
                  {"reads": [dict(read, size=2**63)]}):
        i = ask(d, "Read", file_path="a")
        f = h.call()
        ats.equal(f.json["ctx"], {"cwd": home.ws})
        h.result(f, "ok", ctx_delta=delta)
        d.answer(i)
    ats.equal(d.request("ats/session.show", {"id": s})["files_known"], 0)
    i = ask(d, "Read", file_path="./x/../a")
    h.result(h.call(), "ok", ctx_delta={"reads": [read]})
    d.answer(i)
    i = ask(d, "Bash", command="cd sub")
    h.result(h.call(), "ok", ctx_delta={"cwd": home.ws + "/sub"})
    d.answer(i)
    i = ask(d, "Edit", file_path=a, old_string="a", new_string="b")
    f = h.call()
    ats.equal(f.json["ctx"], {"cwd": home.ws + "/sub", "reads": [read]})
    h.result(f, "ok", ctx_delta={"reads": [dict(read, size=4)]})
    d.answer(i)
    i = ask(d, "Write", file_path="../a", content="x")
    f = h.call()
    ats.equal(f.json["ctx"]["reads"], [dict(read, size=4)])
    h.result(f, "ok")
    d.answer(i)
    ats.equal(e.log().count("ctx_delta was dropped"), 10)


@ats.test("calls on one file take turns: the next has what the one before made of it")
def _(home):
    e, s, b, d, h = engine.up(home)
    path = os.path.join(home.ws, "f")

    def state(n):
        return {"path": path, "size": n, "mtime_ns": n, "sha256": "%064d" % n}

    def write(n):
        return ask(d, "Edit", "k%d" % n, file_path="./f", old_string="a", new_string=str(n))
    ids = [ask(d, "Read", file_path="f"), ask(d, "Read", file_path=path)]
    reads = [h.call(), h.call()]                # side by side
    ids += [write(1), ask(d, "Read", file_path="f", offset=2), write(2)]
    for name in ("other", "../f", "f/x"):       # nobody's turn
        i = ask(d, "Write", file_path=name, content="x")
        h.result(h.call(), "ok")
        d.answer(i)
    for f in reads:
        h.result(f, "ok", ctx_delta={"reads": [state(1)]})
    f = h.call()
    ats.equal((f.json["name"], f.json["ctx"]["reads"]), ("Edit", [state(1)]))
    i = ask(d, "Bash", command="true")          # nor does a command wait
    h.result(h.call(), "ok")
    d.answer(i)
    h.result(f, "ok", ctx_delta={"reads": [state(2)]})
    f = h.call()
    ats.equal((f.json["name"], f.json["ctx"]["reads"]), ("Read", [state(2)]))
    h.result(f, "ok")
    f = h.call()
    ats.equal(f.json["input"]["new_string"], "2")
    h.result(f, "ok", ctx_delta={"reads": [state(3)]})
    for i in ids:
        ats.equal(d.answer(i)["result"]["outcome"], "done")


@ats.test("who waits for its turn is cancelled, timed out, or sent to the next sandbox in order")
def _(home):
    e, s, b, d, h = engine.up(home, queue_ms=1500, cancel_ms=100, grace_ms=100)

    def write(n, **kw):
        return ask(d, "Write", "k%d" % n, file_path="f", content=str(n), **kw)
    ids = [write(n) for n in range(4)]
    ats.equal(h.call().json["input"]["content"], "0")
    d.request("ats/call.cancel", {"call_id": "k1"})
    ats.equal(d.answer(ids[1])["result"]["outcome"], "not_started")
    e.lose(h, b)
    h = e.hands(b)
    for n in (0, 2, 3):
        f = h.call()
        ats.equal((f.json["input"]["content"], f.json.get("attempt", 0)), (str(n), int(n == 0)))
        h.result(f, "ok")
        ats.equal(d.answer(ids[n])["result"]["outcome"], "done")
    ids = [write(n) for n in (10, 11)]
    f = h.call()
    r = d.answer(ids[1])["result"]
    ats.equal((r["outcome"], r["code"]), ("not_started", "busy"))
    ats.contains(r["content"][0]["text"], "an earlier call on the same file")
    # one that was given up on holds nobody up
    d.request("ats/call.cancel", {"call_id": "k10"})
    i = write(12)
    d.answer(ids[0])
    f = h.call()
    ats.equal(f.json["input"]["content"], "12")
    h.result(f, "ok")
    d.answer(i)


@ats.test("a reader of raw data that waits holds up no change of the file, nor forgets it")
def _(home):
    e, s, b, d, h = engine.up(home)
    path = os.path.join(home.ws, "f")

    def state(n):
        return {"path": path, "size": n, "mtime_ns": n, "sha256": "%064d" % n}

    def data():
        r, w = os.pipe()
        i = d.send("ats/tool.call", {"name": "Read", "arguments": {"file_path": "f"},
                                     "fds": ["data"]}, [w])
        os.close(w)
        return i, r
    one, r1 = data()
    first = h.call()
    i = ask(d, "Write", file_path="f", content="x")
    f = h.call()                                # while nobody reads
    ats.equal(f.json["name"], "Write")
    two, r2 = data()
    j = ask(d, "Edit", file_path="f", old_string="x", new_string="y")
    h.result(f, "ok", ctx_delta={"reads": [state(2)]})
    d.answer(i)
    second, f = h.call(), h.call()              # each after the one before
    ats.equal((second.json["name"], f.json["name"]), ("Read", "Edit"))
    ats.equal(f.json["ctx"]["reads"], [state(2)])
    h.result(f, "ok", ctx_delta={"reads": [state(3)]})
    d.answer(j)
    h.result(first, "ok", ctx_delta={"reads": [state(1)]})      # of a file that is no more
    h.result(second, "ok", ctx_delta={"reads": [state(2)]})
    d.answer(one)
    d.answer(two)
    three, r3 = data()
    f = h.call()
    ats.equal(f.json["ctx"]["reads"], [state(3)])
    h.result(f, "ok", ctx_delta={"reads": [state(4)]})          # this one counts
    d.answer(three)
    ask(d, "Edit", file_path="f", old_string="x", new_string="y")
    ats.equal(h.call().json["ctx"]["reads"], [state(4)])
    for r in (r1, r2, r3):
        os.close(r)


@ats.test("a call that hands does not end: its pipe ends with the answer")
def _(home):
    e, s, b, d, h = engine.up(home, cancel_ms=50, grace_ms=50)
    r, w = os.pipe()
    i = d.send("ats/tool.call", {"name": "Read", "arguments": {"file_path": "f"},
                                 "timeout_ms": 50, "fds": ["data"]}, [w])
    os.close(w)
    f = h.call()
    h.send("event.stdout", f.call, {"offset": 0}, b"part")
    ats.equal(os.read(r, 10), b"part")
    ats.equal(d.answer(i)["result"]["is_error"], True)
    ats.wait_readable(r, ats.TIMEOUT)
    ats.equal(os.read(r, 10), b"")
    os.close(r)
    for n in range(100):                        # takes and drops, with credit
        h.send("event.stdout", f.call, {"offset": 4 + 65536 * n}, b"x" * 65536)
        if n % 8 == 7:
            h.expect("control.window", call=f.call)
    h.result(f, "late")
    i = ask(d, "Bash", command="true")
    h.result(h.call(), "ok")
    d.answer(i)


@ats.test("data with a gap are an error, and not whole")
def _(home):
    e, s, b, d, h = engine.up(home)
    r, w = os.pipe()
    i = d.send("ats/tool.call", {"name": "Read", "arguments": {"file_path": "f"},
                                 "fds": ["data"]}, [w])
    os.close(w)
    f = h.call()
    h.send("event.stdout", f.call, {"offset": 0}, b"part")
    h.send("event.gap", f.call, {"stream": "stdout", "from": 4, "to": 10})
    h.result(f, "ok")
    got = d.answer(i)["result"]
    ats.equal((got["is_error"], got["code"]), (True, "sandbox_lost"))
    ats.contains(json.dumps(got), "lost a part")
    ats.equal(os.read(r, 10), b"part")
    os.close(r)


@ats.test("a file is where it was when it was asked for, whatever cd comes before it is sent")
def _(home):
    e, s, b, d, h = engine.up(home)

    def cd(to):
        i = ask(d, "Bash", command="cd " + to)
        h.result(h.call(), "ok", ctx_delta={"cwd": to})
        d.answer(i)
    ids = [ask(d, "Write", file_path="f", content=c) for c in "12"]
    f = h.call()
    cd(os.path.join(home.ws, "sub"))
    ids += [ask(d, "Write", file_path="f", content="3")]        # another file
    g = h.call()
    ats.equal((g.json["input"]["content"], g.json["ctx"]["cwd"]), ("3", home.ws + "/sub"))
    h.result(g, "ok")
    h.result(f, "ok")
    f = h.call()
    ats.equal((f.json["input"]["content"], f.json["ctx"]["cwd"]), ("2", home.ws))
    e.lose(h, b)
    h = e.hands(b)
    f = h.call()
    ats.equal((f.json["attempt"], f.json["ctx"]["cwd"]), (1, home.ws))
    h.result(f, "ok")
    for i in ids:
        d.answer(i)


@ats.test("the same id and input give the same answer, another input is an error")
def _(home):
    e, s, b, d, h = engine.up(home)
    for tool, one, two in (("Bash", {"command": "a"}, {"command": "b"}),
                           ("Write", {"file_path": "a", "content": "1"}, {"file_path": "b", "content": "1"}),
                           ("Read", {"file_path": "a"}, {"file_path": "b"})):
        i = ask(d, tool, "k" + tool, **one)
        j = ask(d, tool, "k" + tool, **one)     # while it runs
        f = h.call()
        h.result(f, "the answer of " + tool)
        first = d.answer(i)["result"]
        ats.equal(d.answer(j)["result"], first)
        d2 = e.door(s)
        again = d2.answer(ask(d2, tool, "k" + tool, **one))["result"]
        ats.equal(again, first)
        m = d.answer(ask(d, tool, "k" + tool, **two))
        ats.equal(m["error"]["data"]["code"], "id_reused")
    i = ask(d, "Bash", command="new")
    f = h.call()
    ats.equal(f.json["input"], {"command": "new"})
    h.result(f, "new")
    d.answer(i)
    meta = {"claudecode/toolUseId": "toolu_1"}
    m = {"name": "Bash", "arguments": {"command": "once"}, "_meta": meta}
    i = d.send("tools/call", m)
    h.result(h.call(), "one")
    ats.equal(d.answer(d.send("tools/call", m))["result"], d.answer(i)["result"])


@ats.test("a large answer is kept beside the journal and given again")
def _(home):
    e, s, b, d, h = engine.up(home)
    i = ask(d, "Bash", "big", command="x")
    f = h.call()
    h.result(f, "y" * 100000)
    first = d.answer(i)["result"]
    e.restart()
    d = e.door(s)
    ats.check(d.answer(ask(d, "Bash", "big", command="x"))["result"]["content"] == first["content"])
    os.unlink(os.path.join(e.dir, "results", "c-%d" % f.call))
    ats.contains(text(d.answer(ask(d, "Bash", "big", command="x"))), "100000 bytes (sha256 ")


@ats.test("cancel: waiting, running, and by MCP without an answer")
def _(home):
    e = engine.Engine(home)
    s, b = e.session()
    d = e.door(s)
    i = ask(d, "Bash", "q", command="x")
    d.request("ats/call.cancel", {"call_id": "q"})
    r = d.answer(i)["result"]
    ats.equal((r["outcome"], r["code"]), ("not_started", "cancelled"))
    h = e.hands(b)
    i = ask(d, "Bash", "r", command="x")
    f = h.call()
    d.request("ats/call.cancel", {"call_id": "r"})
    c = h.expect("control.cancel")
    ats.equal((c.call, c.json), (f.call, {"why": "cancelled"}))
    h.result(f, "partial", is_error=True, code="cancelled", exit_kind="cancelled")
    r = d.answer(i)["result"]
    ats.equal((r["outcome"], r["code"], text({"result": r})), ("done", "cancelled", "partial"))
    i = d.send("tools/call", {"name": "Bash", "arguments": {"command": "x"}})
    f = h.call()
    d.notify("notifications/cancelled", {"requestId": i, "reason": "timeout"})
    ats.equal(h.expect("control.cancel").call, f.call)
    h.result(f, "never told")
    h.expect("control.ack")
    ats.equal(d.request("ping"), {})
    ats.equal(d.answers, {})
    d.notify("notifications/cancelled", {"requestId": 12345})
    try:
        d.request("ats/call.cancel", {"call_id": "r"})
        ats.check(False)
    except ats.RpcError as x:
        ats.equal(x.data["code"], "unknown_id")


@ats.test("a call that hands does not end is ended by the engine")
def _(home):
    e, s, b, d, h = engine.up(home, grace_ms=50, cancel_ms=50)
    i = d.send("ats/tool.call", {"name": "Read", "arguments": {"file_path": "a"},
                                 "timeout_ms": 50})
    f = h.call()
    ats.equal(f.json["deadline_ms"], 50)
    ats.equal(h.expect("control.cancel").json, {"why": "timeout"})
    r = d.answer(i)["result"]
    ats.equal((r["outcome"], r["code"]), ("done", "timeout"))
    i = d.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "x", "timeout": "60"}})
    g = h.call()
    ats.equal(g.json["deadline_ms"], 60)
    r = d.answer(i)["result"]
    ats.equal((r["outcome"], r["code"]), ("unknown", "timeout"))
    h.result(f, "late")      # both come late: no offence
    h.result(g, "late")
    i = ask(d, "Read", file_path="b")
    h.result(h.call(), "alive")
    ats.equal(text(d.answer(i)), "alive")


@ats.test("progress reaches the client that gave a token, and no other")
def _(home):
    e, s, b, d, h = engine.up(home)
    d.initialize()
    i = d.send("tools/call", {"name": "Bash", "arguments": {"command": "x"},
                              "_meta": {"progressToken": "tok\n"}})
    f = h.call()
    ats.equal(f.json["progress"], True)
    h.send("event.progress", f.call, {"message": "line 1"})
    m = d.message()
    ats.equal((m["method"], m["params"]), ("notifications/progress", {
        "progressToken": "tok\n", "progress": 1, "message": "line 1"}))
    for n in range(500):
        h.send("event.progress", f.call, {"message": "line %d" % n})
    h.result(f, "ok")
    d.answer(i)
    ats.check(len(d.notes) < 20, "progress is limited: %d" % len(d.notes))
    i = d.send("tools/call", {"name": "Bash", "arguments": {"command": "x"}})
    f = h.call()
    ats.missing(f.json, "progress")
    h.send("event.progress", f.call, {"message": "no"})
    h.result(f, "ok")
    n = len(d.notes)
    d.answer(i)
    ats.equal(len(d.notes), n)


@ats.test("a lost sandbox: pure and checked calls go on, others are unknown")
def _(home):
    e, s, b, d, h = engine.up(home)
    i = {t: ask(d, t, t, **a) for t, a in (
        ("Read", {"file_path": "a"}), ("Edit", {"file_path": "b", "old_string": "x", "new_string": "y"}),
        ("Bash", {"command": "x"}))}
    first = {}
    for _ in i:
        f = h.call()
        first[f.json["name"]] = f
        if f.json["name"] == "Bash":
            h.send("event.progress", f.call, {"message": "half way"})
    ats.equal(d.request("ping"), {})
    e.lose(h, b)
    r = d.answer(i["Bash"])["result"]
    ats.equal((r["outcome"], r["code"], r["is_error"]), ("unknown", "sandbox_lost", True))
    ats.contains(text({"result": r}), "half way")
    h = e.hands(b)
    again = {}
    for _ in range(2):
        f = h.call()
        again[f.json["name"]] = f
        ats.equal((f.call, f.json["attempt"]), (first[f.json["name"]].call, 1))
        h.result(f, "now " + f.json["name"])
    for t in ("Read", "Edit"):
        ats.equal(text(d.answer(i[t])), "now " + t)
    ats.equal(d.answer(ask(d, "Bash", "Bash", command="x"))["result"]["content"], r["content"])


@ats.test("retries of a call are limited")
def _(home):
    e, s, b, d, h = engine.up(home, retry_limit=2)
    i, j = ask(d, "Read", file_path="a"), ask(d, "Write", file_path="b", content="")
    for n in range(3):
        ats.equal({h.call().json.get("attempt", 0), h.call().json.get("attempt", 0)}, {n})
        e.lose(h, b)
        if n < 2:
            h = e.hands(b)
    r = d.answer(i)["result"]
    ats.equal((r["outcome"], r["code"]), ("not_started", "sandbox_lost"))
    r = d.answer(j)["result"]
    ats.equal((r["outcome"], r["code"]), ("unknown", "sandbox_lost"))


@ats.test("background shells that were lost are told to the model once")
def _(home):
    e, s, b, d, h = engine.up(home)
    i = ask(d, "Bash", command="x", run_in_background=True)
    h.result(h.call(), "bash_1", ctx_delta={"shell_started": "bash_1"})
    d.answer(i)
    e.lose(h, b)
    h = e.hands(b)
    for n in range(2):
        i = d.send("tools/call", {"name": "Read", "arguments": {"file_path": "a"}})
        h.result(h.call(), "ok")
        c = d.answer(i)["result"]["content"]
        ats.equal(len(c), 2 - n)
        if n == 0:
            ats.contains(c[1]["text"], "background")
    ats.equal(d.request("ats/session.show", {"id": s})["shells"], [])


@ats.test("a sandbox that cannot be had: back-off, then not_started; later it is tried again")
def _(home):
    e = engine.Engine(home, rebuild_limit=3)
    s, b = e.session()
    d = e.door(s)
    i = ask(d, "Read", file_path="a")
    for _ in range(4):
        e.need(b)
        e.tell("SANDBOX", b, 0, 1, "no memory for it", "")
    r = d.answer(i)["result"]
    ats.equal((r["outcome"], r["code"]), ("not_started", "no_sandbox"))
    ats.contains(text({"result": r}), "no memory for it")
    i = ask(d, "Read", file_path="a")
    e.need(b)
    e.tell("SANDBOX", b, 0, 300, "layer x is off", "")    # not worth a retry
    ats.contains(text(d.answer(i)), "layer x is off")
    i = ask(d, "Read", file_path="a")
    h = e.hands(b)
    h.result(h.call(), "at last")
    ats.equal(text(d.answer(i)), "at last")


@ats.test("a silent hands is lost after two heartbeats")
def _(home):
    e, s, b, d, h = engine.up(home, heartbeat_ms=60)
    i = ask(d, "Read", file_path="a")
    h.recv()
    ats.equal(h.recv().name, "control.ping")
    e.expect("KILL_SANDBOX")
    e.exited(b)
    h = e.hands(b)
    f = h.call()
    h.result(f, "ok")
    ats.equal(text(d.answer(i)), "ok")


@ats.test("restart and kill of a sandbox by its owner")
def _(home):
    e, s, b, d, h = engine.up(home)
    d.request("ats/sandbox.restart", {"id": b})
    e.expect("KILL_SANDBOX")
    e.exited(b)
    h = e.hands(b)
    d.request("ats/sandbox.kill", {"id": b})
    e.expect("KILL_SANDBOX")
    e.exited(b)
    ats.until(lambda: d.request("ats/inspect", {"id": b})["state"] == "none", "no sandbox")
    i = ask(d, "Read", file_path="a")
    h = e.hands(b)
    h.result(h.call(), "back")
    ats.equal(text(d.answer(i)), "back")


@ats.test("64 calls in flight while one exec prints: all answered, memory bounded")
def _(home):
    e, s, b, d, h = engine.up(home)
    r, w = os.pipe()
    os.set_blocking(w, False)
    x = d.send("ats/exec", {"argv": ["yes"], "call_id": "yes", "fds": ["stdout"]}, [w])
    os.close(w)
    f = h.call()
    got = [0]

    def reader():
        while True:
            data = os.read(r, 65536)
            if not data:
                return
            got[0] += len(data)

    t = threading.Thread(target=reader)
    t.start()
    ids = [ask(d, "Read", file_path="f%d" % n) for n in range(64)]
    offset, credit, chunk = 0, f.json["window"], b"y\n" * 32768
    answered = 0
    while offset < 200 << 20 or answered < 64:
        if credit >= len(chunk) and offset < 200 << 20:
            h.send("event.stdout", f.call, {"offset": offset}, chunk)
            offset += len(chunk)
            credit -= len(chunk)
            if answered or offset < 1 << 20:
                continue
        m = h.recv()
        if m.name == "control.window":
            credit += m.json["bytes"]
        elif m.name == "call.tool":
            h.result(m, m.json["input"]["file_path"])
            answered += 1
    for n, i in enumerate(ids):
        ats.equal(text(d.answer(i)), "f%d" % n)
    h.result(f, b"", exit_kind="exit", exit_code=3)
    a = d.answer(x)["result"]
    t.join()
    os.close(r)
    ats.equal((a["exit"], a["outcome"]), ({"kind": "exit", "code": 3}, "done"))
    ats.equal(got[0], offset)
    e.check_memory(40000)


@ats.test("a client's pipe that nobody reads holds back its own exec only")
def _(home):
    if ats.SHORT_IO:
        ats.skip("looks at how bytes are cut")
    e, s, b, d, h = engine.up(home)
    r, w = os.pipe()
    os.set_blocking(w, False)
    x = d.send("ats/exec", {"argv": ["yes"], "call_id": "a", "fds": ["stderr"]}, [w])
    os.close(w)
    f = h.call()
    window = f.json["window"]
    for n in range(window // 65536):
        h.send("event.stderr", f.call, {"offset": n * 65536}, b"e" * 65536)
    i = ask(d, "Read", file_path="a")
    m = h.recv()
    ats.equal(m.name, "call.tool", "no credit before the pipe drains")
    h.result(m, "ok")
    ats.equal(text(d.answer(i)), "ok")
    h.result(f, b"", exit_kind="exit", exit_code=0)
    total = 0
    while total < window:
        total += len(os.read(r, 1 << 20))
    ats.equal(d.answer(x)["result"]["exit"]["code"], 0)
    ats.equal(os.read(r, 1), b"")
    os.close(r)


@ats.test("exec: stdin under credit, its end, signals, resize, a reader that goes away")
def _(home):
    if ats.SHORT_IO:
        ats.skip("looks at how bytes are cut")
    e, s, b, d, h = engine.up(home)
    in_r, in_w = os.pipe()
    out_r, out_w = os.pipe()
    os.set_blocking(out_w, False)
    x = d.send("ats/exec", {"argv": ["cat", "\u00e9"], "call_id": "k", "tty": True, "rows": 5,
                            "cols": 6, "fds": ["stdin", "stdout"], "timeout_ms": 1000},
               [in_r, out_w])
    os.close(in_r)
    os.close(out_w)
    f = h.call()
    ats.equal((f.json["argv"], f.json["want_stdin"], f.json["tty"], f.json["rows"],
               f.json["cols"], f.json["deadline_ms"]), (["cat", "\u00e9"], True, True, 5, 6, 1000))
    os.write(in_w, b"hello")
    h.send("control.window", f.call, {"stream": "stdin", "bytes": 3})
    m = h.recv()
    ats.equal((m.name, m.json, m.payload), ("event.stdin", {"offset": 0}, b"hel"))
    h.send("control.window", f.call, {"stream": "stdin", "bytes": 100})
    m = h.recv()
    ats.equal((m.json, m.payload), ({"offset": 3}, b"lo"))
    os.close(in_w)
    m = h.recv()
    ats.equal((m.name, m.json, m.payload), ("event.stdin", {"offset": 5, "eof": True}, b""))
    d.request("ats/call.signal", {"call_id": "k", "signal": 2})
    ats.equal(h.recv().json, {"number": 2})
    d.request("ats/call.resize", {"call_id": "k", "rows": 7, "cols": 8})
    ats.equal(h.recv().json, {"rows": 7, "cols": 8})
    os.close(out_r)
    h.send("event.stdout", f.call, {"offset": 0}, b"into nothing")
    ats.equal(h.recv().json, {"number": 13})
    h.result(f, b"", exit_kind="signal", exit_code=13)
    ats.equal(d.answer(x)["result"]["exit"], {"kind": "signal", "code": 13})
    for argv, fds, n in ((["a"], ["stdout"], 0), (["a"], ["stdin", "stdin"], 2), (["a"], ["x"], 1)):
        d = e.door(s)
        pipes = [os.pipe() for _ in range(n)]
        try:
            d.request("ats/exec", {"argv": argv, "call_id": "z", "fds": fds}, [p[0] for p in pipes])
            ats.check(False)
        except ats.RpcError as err:
            ats.equal(err.code, -32602)
        for p in pipes:
            os.close(p[0])
            os.close(p[1])
    with open("/dev/null") as null:
        try:
            d.request("ats/exec", {"argv": ["a"], "call_id": "z", "fds": ["stdin"]}, [null.fileno()])
            ats.check(False)
        except ats.RpcError as err:
            ats.equal(err.code, -32602)


@ats.test("an exec whose client leaves is cancelled; a Bash is given time to be asked again")
def _(home):
    e, s, b, d, h = engine.up(home, orphan_ms=200)
    d.send("ats/exec", {"argv": ["sleep"], "call_id": "x"})
    f = h.call()
    ask(d, "Bash", "b", command="x")
    g = h.call()
    d.close()
    ats.equal(h.expect("control.cancel").call, f.call)
    d = e.door(s)
    i = ask(d, "Bash", "b", command="x")
    h.result(g, "not lost")
    ats.equal(text(d.answer(i)), "not lost")
    ask(d, "Bash", "c", command="x")
    g = h.call()
    d.close()
    ats.equal(h.expect("control.cancel").call, g.call)


@ats.test("a closed session ends its calls, the last one its sandbox")
def _(home):
    e, s, b, d, h = engine.up(home)
    s2, b2 = e.session(key="second")
    ats.equal(b2, b)
    d2 = e.door(s2)
    i, j = ask(d, "Bash", command="x"), ask(d2, "Bash", command="y")
    f, g = sorted((h.call(), h.call()), key=lambda c: c.json["session"] != s)
    e.tell("SESSION_CLOSED", s)
    ats.equal(d.answer(i)["result"]["code"], "cancelled")
    h.result(f, "late")
    h.result(g, "second")
    ats.equal(text(d2.answer(j)), "second")
    try:
        d.request("tools/call", {"name": "Read"})
        ats.check(False)
    except ats.RpcError as x:
        ats.equal(x.data["code"], "out_of_state")
    e.tell("SESSION_CLOSED", s2)
    e.expect("KILL_SANDBOX")
    e.exited(b)
    ats.until(lambda: d.request("ats/sandbox.list") == {"sandboxes": []}, "sandbox forgotten")


ats.main()
