#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kill -9 of the engine in each state of a call, and of hands under load."""
import os
import select
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine

BASH = {"name": "Bash", "arguments": {"command": "x"}, "call_id": "k"}
EDIT = {"name": "Edit", "arguments": {"file_path": "a", "old_string": "x", "new_string": "y"},
        "call_id": "k"}


def up(home, **settings):
    return engine.up(home, "nonce", **settings)


def send(d, params):
    return d.send("ats/tool.call", params)


def text(answer):
    return "".join(c.get("text", "") for c in answer["result"]["content"])


@ats.test("who waits at the door of a new engine is asked in when that knows which sessions there are")
def _(home):
    e = engine.Engine(home)
    s, _ = e.session()
    (row,) = e.sessions
    e.kill()
    d = e.door()
    asked = d.send("ats/session.attach", {"session": s, "client": "n"})
    e.start(slowly=True)
    for key in "abc":           # the vault is slow: each answer is a turn of the engine's loop
        e.tell("SESSION", "s-%s00000000000" % key, row[1], *row[2:4], key)
        e.expect("SESSION_OK")
    ats.equal(select.select([d.sock], [], [], 0)[0], [])
    e.tell("SESSION", *row)
    e.tell("ARE_YOU_THERE", 0)
    ats.equal(d.answer(asked)["result"]["session"], s)


@ats.test("queued when the engine dies: asked again, it runs, once")
def _(home):
    e = engine.Engine(home)
    s, b = e.session()
    send(e.door(s, "nonce"), BASH)
    e.need(b)
    e.restart()
    d = e.door(s, "nonce")
    i = send(d, BASH)
    h = e.hands(b)
    h.result(h.call(), "once")
    ats.equal(text(d.answer(i)), "once")


@ats.test("sent and running when the engine dies: the result comes to who asks again")
def _(home):
    e, s, b, d, h = up(home)
    for params in (BASH, EDIT):
        for early in (True, False):      # asked again before, or after hands is back
            params = dict(params, call_id="k%s%s" % (params["name"], early))
            i = send(d, params)
            f = h.call()
            e.restart([b])
            h.close()
            d = e.door(s, "nonce")
            if early:
                i = send(d, params)
                ats.equal(d.request("ping", id="p"), {})
            h = e.accept(b, h.boot, [f.call])
            if not early:
                i = send(d, params)
                ats.equal(d.request("ping", id="q"), {})
            h.result(f.call, "survived")
            h.expect("control.ack", call=f.call)
            ats.equal(text(d.answer(i)), "survived")


@ats.test("finished while the engine was away: the kept result is the answer")
def _(home):
    e, s, b, d, h = up(home)
    read = {"path": home.ws + "/a", "size": 1, "mtime_ns": 2, "sha256": "1" * 64}
    send(d, EDIT)
    f = h.call()
    e.restart([b])
    h.close()
    h = e.accept(b, h.boot, [f.call])
    h.result(f.call, "kept", ctx_delta={"reads": [read]})
    h.expect("control.ack", call=f.call)
    d = e.door(s, "nonce")
    i = send(d, EDIT)
    ats.equal(text(d.answer(i)), "kept")
    i = send(d, {"name": "Write", "arguments": {"file_path": "a", "content": ""}})
    ats.equal(h.call().json["ctx"]["reads"], [read])


@ats.test("an edit that outlived the engine has its turn before those that come after")
def _(home):
    e, s, b, d, h = up(home)
    for ends in (True, False):           # hands still runs it; or never had it
        one, two = (dict(EDIT, call_id="%s%d" % (ends, n)) for n in (1, 2))
        send(d, one)
        f = h.call()
        e.restart([b])
        h.close()
        d = e.door(s, "nonce")
        j, i = send(d, two), send(d, one)
        ats.equal(d.request("ping", id="p"), {})
        h = e.accept(b, h.boot, [f.call] if ends else [])
        read = {"path": home.ws + "/a", "size": 1, "mtime_ns": 2, "sha256": "%064d" % ends}
        if not ends:
            f = h.call()
        h.result(f.call, "first", ctx_delta={"reads": [read]})
        g = h.call()
        ats.equal(g.json["ctx"]["reads"], [read])
        h.result(g, "second")
        ats.equal((text(d.answer(i)), text(d.answer(j))), ("first", "second"))


@ats.test("a change that was lost with engine and sandbox is not made in another directory")
def _(home):
    e, s, b, d, h = up(home)
    write = {"name": "Write", "arguments": {"file_path": "new", "content": "x"}}
    here = dict(write, call_id="here")
    there = {"name": "Write", "arguments": {"file_path": "/tmp/t", "content": "x"},
             "call_id": "there"}
    send(d, here)
    send(d, there)
    h.call()
    h.call()
    i = send(d, BASH)
    h.result(h.call(), "ok", ctx_delta={"cwd": home.ws + "/sub"})
    d.answer(i)
    e.restart()
    h.close()
    d = e.door(s, "nonce")
    i, j, k = send(d, here), send(d, there), send(d, write)
    h = e.hands(b)
    calls = [h.call(), h.call()]
    ats.equal(sorted(f.json.get("attempt", 0) for f in calls), [0, 1])
    for f in calls:
        ats.equal(f.json["ctx"]["cwd"], home.ws + "/sub")
        h.result(f, "ok")
    ats.equal([d.answer(x)["result"]["outcome"] for x in (i, j, k)], ["unknown", "done", "done"])


@ats.test("answered, acknowledged or not, when the engine dies: the journal answers")
def _(home):
    e, s, b, d, h = up(home)
    i = send(d, BASH)
    f = h.call()
    h.result(f, "first", exit_kind="exit", exit_code=7, output={"o": 1}, is_error=True)
    first = d.answer(i)["result"]
    e.restart([b])
    h.close()
    h = e.accept(b, h.boot, [f.call])       # the ack was lost with the engine
    h.result(f.call, "first")
    h.expect("control.ack", call=f.call)
    d = e.door(s, "nonce")
    ats.equal(d.answer(send(d, BASH))["result"], first)
    m = d.answer(send(d, dict(BASH, arguments={"command": "other"})))
    ats.equal(m["error"]["data"]["code"], "id_reused")


@ats.test("never received by hands: asked again, it is sent again, whatever its class")
def _(home):
    e, s, b, d, h = up(home)
    for early in (True, False):
        params = dict(BASH, call_id="k%s" % early)
        i = send(d, params)
        f = h.call()
        e.restart([b])
        h.close()
        d = e.door(s, "nonce")
        if early:
            i = send(d, params)
            ats.equal(d.request("ping", id="p"), {})
        h = e.accept(b, h.boot, [])
        if not early:
            i = send(d, params)
        g = h.call()
        ats.missing(g.json, "attempt")
        if early:
            ats.equal(g.call, f.call)
        h.result(g, "once")
        ats.equal(text(d.answer(i)), "once")


@ats.test("engine and hands both gone: never is unknown, checked is checked, pure runs")
def _(home):
    e, s, b, d, h = up(home)
    for alive in (False, True):          # hands is not there, or is another one
        bash, edit = dict(BASH, call_id="b%s" % alive), dict(EDIT, call_id="e%s" % alive)
        send(d, bash)
        send(d, edit)
        send(d, {"name": "Read", "arguments": {"file_path": "r"}})
        calls = {c.json["name"]: c for c in (h.call(), h.call(), h.call())}
        e.restart([b] if alive else [])
        h.close()
        d = e.door(s, "nonce")
        if alive:
            h = e.accept(b, "another", [])
        i, j = send(d, bash), send(d, edit)
        k = send(d, {"name": "Read", "arguments": {"file_path": "r"}})
        if not alive:
            h = e.hands(b)
        r = d.answer(i)["result"]
        ats.equal((r["outcome"], r["code"]), ("unknown", "sandbox_lost"))
        for _ in range(2):
            f = h.call()
            if f.json["name"] == "Edit":
                ats.equal((f.call, f.json["attempt"]), (calls["Edit"].call, 1))
            else:
                ats.check(f.call != calls["Read"].call)
            h.result(f, "done " + f.json["name"])
        ats.equal(text(d.answer(j)), "done Edit")
        ats.equal(text(d.answer(k)), "done Read")
        ats.equal(d.answer(send(d, bash))["result"]["outcome"], "unknown")


@ats.test("engine and hands both gone, and no new one to be had: unknown all the same")
def _(home):
    e, s, b, d, h = up(home)
    send(d, BASH)
    send(d, dict(EDIT, call_id="e"))
    h.call()
    h.call()
    e.restart()
    d = e.door(s, "nonce")
    i, j = send(d, BASH), send(d, dict(EDIT, call_id="e"))
    e.need(b)
    e.tell("SANDBOX", b, 0, 300, "layer x is off", "")
    for k in (i, j):
        ats.equal(d.answer(k)["result"]["outcome"], "unknown")


@ats.test("an exec under way when the engine dies is unknown, and not run again")
def _(home):
    e, s, b, d, h = up(home)
    params = {"argv": ["x"], "call_id": "x"}
    d.send("ats/exec", params)
    h.call()
    e.restart([b])
    d = e.door(s, "nonce")
    h = e.accept(b, h.boot, [])
    r = d.answer(d.send("ats/exec", params))["result"]
    ats.equal((r["outcome"], r["is_error"]), ("unknown", True))


@ats.test("what hands runs and nobody knows is cancelled and acknowledged")
def _(home):
    e, s, b, d, h = up(home)
    e.restart([b])
    h = e.accept(b, h.boot, [5, 1 << 63 | 6])
    ats.equal({h.expect("control.cancel").call, h.expect("control.cancel").call}, {5, 1 << 63 | 6})
    h.result(5, "x")
    h.expect("control.ack", call=5)
    d = e.door(s)
    i = send(d, BASH)
    h.result(h.call(), "ok")
    ats.equal(text(d.answer(i)), "ok")


@ats.test("a listening socket that is dead costs a rebuild, no more")
def _(home):
    e, s, b, d, h = up(home)
    e.listening[b][1].close()
    e.restart([b])
    e.expect("KILL_SANDBOX")
    e.exited(b)
    d = e.door(s)
    i = send(d, BASH)
    h = e.hands(b)
    h.result(h.call(), "ok")
    ats.equal(text(d.answer(i)), "ok")


@ats.test("sessions keep cwd and read-state over a restart, another owner's row is dropped")
def _(home):
    e, s, b, d, h = up(home)
    read = {"path": home.ws + "/a", "size": 1, "mtime_ns": 2, "sha256": "1" * 64}
    i = send(d, {"name": "Read", "arguments": {"file_path": "a"}})
    h.result(h.call(), "ok", ctx_delta={"reads": [read]})
    d.answer(i)
    i = send(d, BASH)          # its commit takes the read-state with it
    h.result(h.call(), "ok", ctx_delta={"cwd": "/tmp"})
    d.answer(i)
    e.restart()
    d = e.door(s)
    i = send(d, {"name": "Edit", "arguments": {"file_path": home.ws + "/a", "old_string": "a",
                                               "new_string": "b"}})
    h = e.hands(b)
    ats.equal(h.call().json["ctx"], {"cwd": "/tmp", "reads": [read]})
    e.kill()
    e.sessions = [(s, b, 12345, home.ws, "test")]
    e.start()
    e.kill()
    e.sessions = [(s, b, os.getuid(), home.ws, "test")]
    e.start()
    ats.equal(e.door(s).request("ats/session.show", {"id": s})["cwd"], home.ws)


@ats.test("a journal that is no database is put aside")
def _(home):
    e = engine.Engine(home, start=False)
    with open(os.path.join(e.dir, "journal.db"), "wb") as f:
        f.write(b"this is not a database" * 100)
    e.start()
    s, b = e.session()
    d = e.door(s)
    h = e.hands(b)
    i = send(d, BASH)
    h.result(h.call(), "ok")
    ats.equal(text(d.answer(i)), "ok")
    ats.check(any(n.startswith("journal.db.damaged-") for n in os.listdir(e.dir)))


@ats.test("a journal with damaged pages is replaced")
def _(home):
    e, s, b, d, h = up(home)
    for n in range(300):
        i = send(d, {"name": "Bash", "arguments": {"command": "echo %d" % n}})
        h.result(h.call(), "ok %d" % n)
        d.answer(i)
    e.vault.close()         # it ends in order, and all of its log is in the file
    e.proc.wait(ats.TIMEOUT)
    with open(os.path.join(e.dir, "journal.db"), "r+b") as f:
        size = f.seek(0, os.SEEK_END)
        ats.check(size > 10 * 4096)
        f.seek(4096)
        f.write(b"\xa5" * (size - 4096))
    e.start()
    d = e.door(s)
    h = e.hands(b)
    for n in range(3):
        i = send(d, {"name": "Bash", "arguments": {"command": "x"}})
        h.result(h.call(), "ok")
        ats.equal(text(d.answer(i)), "ok")
    aside = [n for n in os.listdir(e.dir) if n.startswith("journal.db.damaged-")]
    ats.equal(len(aside), 1)


@ats.test("kill -9 of hands under 1000 calls: none lost, none run twice")
def _(home):
    e, s, b, d, h = up(home, retry_limit=100)
    kinds = ("Read", "Edit", "Bash")
    ids = {}
    for n in range(1000):
        t = kinds[n % 3]
        a = {"Read": {"file_path": "f%d" % n},
             "Edit": {"file_path": "f%d" % n, "old_string": "a", "new_string": "b"},
             "Bash": {"command": "f%d" % n}}[t]
        ids[send(d, {"name": t, "arguments": a, "call_id": "c%d" % n})] = (t, "f%d" % n)
    run = {}        # name -> how often it was received
    lives = 0
    while True:
        seen = []
        try:
            while len(seen) < 150 or lives == 5:
                f = h.recv(1)
                if f is None:
                    break
                if f.name != "call.tool":
                    continue
                name = f.json["input"].get("file_path") or f.json["input"]["command"]
                run.setdefault(name, []).append(f.json["name"])
                seen.append(f)
                if len(seen) % 2 or lives == 5:      # each other one ends before the kill
                    h.result(f, name)
        except ats.Failure:
            pass            # nothing more comes
        if lives == 5:
            break
        e.lose(h, b)
        lives += 1
        h = e.hands(b)
    outcomes = {}
    for i, (t, name) in ids.items():
        r = d.answer(i, 20)["result"]
        outcomes[(t, r["outcome"])] = outcomes.get((t, r["outcome"]), 0) + 1
        if r["outcome"] == "done":
            ats.equal(text({"result": r}), name)
    ats.equal(sum(outcomes.values()), 1000)
    ats.equal({k for k in outcomes} - {("Read", "done"), ("Edit", "done"), ("Bash", "done"),
                                       ("Bash", "unknown")}, set())
    ats.equal([n for n, times in run.items() if "Bash" in times and len(times) > 1], [])
    ats.check(outcomes[("Bash", "unknown")] > 0 and outcomes[("Bash", "done")] > 0)
    print("# %s" % outcomes)


@ats.test("a vault that writes faster than it reads has the answer to each of 1,000 sessions")
def _(home):
    e = engine.Engine(home, sessions_max=4000)
    rows = [("s-%012x" % n, "b-000000000000", os.getuid(), home.ws, "k%d" % n)
            for n in range(1000)]
    unsaid, heard = list(rows), []
    e.vault.setblocking(False)
    while len(heard) < len(rows):
        while unsaid and select.select([], [e.vault], [], 0.1)[1]:
            e.tell("SESSION", *unsaid.pop(0))
        heard.append(e.expect("SESSION_OK", 5))
        while select.select([e.vault], [], [], 0)[0]:
            heard.append(e.expect("SESSION_OK", 5))
    ats.equal(heard, [[r[0], 0, ""] for r in rows])


ats.main()
