#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hostile hands loses its sandbox, a hostile client its connection, a full disk no call."""
import json
import os
import select
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine


def send(d, tool="Bash", call_id=None, **a):
    p = {"name": tool, "arguments": a or {"command": "x"}}
    if call_id:
        p["call_id"] = call_id
    return d.send("ats/tool.call", p)


def text(answer):
    return "".join(c.get("text", "") for c in answer["result"]["content"])


def head(kind, call, body, length=None, payload=b"", zero=0):
    n = 20 + len(body) + len(payload) if length is None else length
    return struct.pack(">IBBHQI", n, kind[0], kind[1], zero, call, len(body)) + body + payload


RESULT = (3, 0)
OK = b'{"outcome":"done"}'


def hostile(f, x):
    """name -> bytes that no honest hands sends. f: a running Bash, x: a running exec."""
    window = x.json["window"]
    big = b'{"offset":0}'
    return {
        "a result for a call that nobody made": head(RESULT, 12345, OK),
        "a second hello": ats.Link.pack("control.hello", 0, {
            "version_min": 1, "version_max": 1, "digest": "x", "role": "hands", "boot": "b",
            "epoch": 1}),
        "a second ready": ats.Link.pack("control.ready", 0, {"confinement": {}}),
        "a frame that only brain sends": ats.Link.pack("control.ack", f.call),
        "a call": ats.Link.pack("call.tool", 1, {"name": "Read"}),
        "an unknown type": head((9, 9), 0, b"{}"),
        "an unknown kind": head((4, 99), 0, b"{}"),
        "a length that contradicts itself": head(RESULT, f.call, OK, length=21),
        "a length of 4 GiB": head(RESULT, f.call, OK, length=0xffffffff),
        "a result over its size": head(RESULT, f.call, OK, length=20 + len(OK) + (4 << 20)),
        "reserved bits": head(RESULT, f.call, OK, zero=1),
        "no JSON": head(RESULT, f.call, b"nonsense"),
        "JSON that is not an object": head(RESULT, f.call, b"[]"),
        "a doubled member": head(RESULT, f.call, b'{"outcome":"done","outcome":"done"}'),
        "an unknown member": head(RESULT, f.call, b'{"outcome":"done","x":1}'),
        "a missing member": head(RESULT, f.call, b"{}"),
        "a wrong type": head(RESULT, f.call, b'{"outcome":1}'),
        "invalid UTF-8": head(RESULT, f.call, b'{"outcome":"\xff"}'),
        "a depth bomb": head(RESULT, f.call, b'{"outcome":"done","output":' + b"[" * 9000),
        "an outcome that is the engine's to say": head(RESULT, f.call, b'{"outcome":"unknown"}'),
        "an outcome of its own": head(RESULT, f.call, b'{"outcome":"great"}'),
        "blocks that do not add up": head(RESULT, f.call,
                                          b'{"outcome":"done","blocks":[{"type":"text","len":9}]}'),
        "blocks of another kind": head(RESULT, f.call,
                                       b'{"outcome":"done","blocks":[{"type":"x","len":0}]}'),
        "an image without a type": head(RESULT, f.call,
                                        b'{"outcome":"done","blocks":[{"type":"image","len":0}]}'),
        "a malformed delta": head(RESULT, f.call, b'{"outcome":"done","ctx_delta":{"cwd":7}}'),
        "an unknown member in a delta": head(RESULT, f.call,
                                             b'{"outcome":"done","ctx_delta":{"uid":0}}'),
        "read-state that is no array": head(RESULT, f.call,
                                            b'{"outcome":"done","ctx_delta":{"reads":{}}}'),
        "output of a call that is no exec": ats.Link.pack("event.stdout", f.call, {"offset": 0},
                                                          b"x"),
        "output at another offset": ats.Link.pack("event.stdout", x.call, {"offset": 1}, b"x"),
        "output over the credit": b"".join(
            ats.Link.pack("event.stdout", x.call, {"offset": n * 65536}, b"x" * 65536)
            for n in range(window // 65536 + 1)),
        "a payload over its size": head((2, 2), x.call, big, length=20 + len(big) + 65537),
        "a gap backwards": ats.Link.pack("event.gap", x.call, {"stream": "stdout", "from": 0,
                                                               "to": 2**64 - 1}),
        "credit without end": ats.Link.pack("control.window", x.call,
                                            {"stream": "stdin", "bytes": 2**63}),
        "stdin that nobody resumed": ats.Link.pack("control.resumed", x.call,
                                                   {"in": 0, "in_window": 1}),
        "stdin of a call that is no exec": ats.Link.pack("control.resumed", f.call,
                                                         {"in": 0, "in_window": 1}),
        "a pong for no ping": ats.Link.pack("control.pong", 0, {"seq": 999999}),
        "half a frame and the end": head(RESULT, f.call, OK)[:25],
    }


@ats.test("an exec is resumed where it was; numbers that cannot be cost the link")
def _(home):
    e = engine.Engine(home, sandbox_url="unix:/nowhere")
    s, b = e.session()
    d = e.door(s)
    h = None
    for n, answers in enumerate(([{"in": 2, "in_window": 98}], [{"in": 7, "in_window": 9}],
                                 [{"in": 2, "in_window": 98}] * 2)):
        stdin, ours = os.pipe()
        r, stdout = os.pipe()
        k = d.send("ats/exec", {"argv": ["x"], "call_id": "r%d" % n, "fds": ["stdin", "stdout"]},
                   [stdin, stdout])
        os.close(stdin)
        os.close(stdout)
        h = h or e.hands(b)
        x = h.call()
        window = x.json["window"]
        h.send("control.window", x.call, {"stream": "stdin", "bytes": 100})
        os.write(ours, b"abcdef")
        ats.equal(h.expect("event.stdin").payload, b"abcdef")
        h.send("event.stdout", x.call, {"offset": 0}, b"01234")
        ats.equal(os.read(r, 9), b"01234")
        e.lose(h, b)
        e.need(b)
        h, boot = e.give(b), h.boot
        h.boot = boot
        h.hello()
        h.ready([x.call])
        ats.equal(h.expect("control.resume").json, {
            "out": 5, "err": 0, "out_window": window - 5, "err_window": window, "in": 6})
        for a in answers:
            h.send("control.resumed", x.call, a)
        if n == 0:
            f = h.expect("event.stdin")
            ats.equal((f.json["offset"], f.payload), (2, b"cdef"))
            h.send("event.stdout", x.call, {"offset": 5}, b"56")
            h.result(x, exit_kind="exit", exit_code=0)
            h.expect("control.ack")
            ats.equal(d.answer(k)["result"]["outcome"], "done")
            ats.equal(os.read(r, 9), b"56")
        else:
            ats.equal(d.answer(k)["result"]["outcome"], "unknown")
            e.expect("KILL_SANDBOX")
            e.exited(b)
            h = None
        os.close(ours)
        os.close(r)


@ats.test("each breach of the protocol costs its sandbox, and the next one works")
def _(home):
    e = engine.Engine(home)
    s, b = e.session()
    s2, b2 = e.session(workspace=home.dir + "/other", key="o")
    d, d2 = e.door(s), e.door(s2)
    e.need(b)
    bystander = e.hands(b2)
    h = None
    j = send(d2)
    waiting = bystander.call()
    names = None
    n = 0
    while names is None or n < len(names):
        r, w = os.pipe()
        os.set_blocking(w, False)
        i = send(d)
        k = d.send("ats/exec", {"argv": ["x"], "call_id": "x%d" % n, "fds": ["stdout"]}, [w])
        os.close(w)
        h = e.hands(b, need=n > 0)
        f, x = h.call(), h.call()
        table = hostile(f, x)
        names = names or list(table)
        h.sock.setblocking(True)
        try:
            h.sock.sendall(table[names[n]])
        except OSError:
            pass                # it noticed before the last byte
        if names[n].startswith("half"):
            h.close()
        ats.equal(e.expect("KILL_SANDBOX"), [b, e.generation[b]], names[n])
        e.exited(b)
        for q in (i, k):
            a = d.answer(q)["result"]
            ats.equal((a["outcome"], a["is_error"]), ("unknown", True), names[n])
        h.close()
        os.close(r)
        n += 1
    bystander.result(waiting, "untouched")
    ats.equal(text(d2.answer(j)), "untouched")
    print("# %d breaches" % n)


@ats.test("a handshake that is wrong is refused, with a reason that people can read")
def _(home):
    e = engine.Engine(home, rebuild_limit=1, start_ms=300)
    s, b = e.session()
    d = e.door(s)
    good = {"version_min": 1, "version_max": 1, "role": "hands", "boot": "b", "epoch": 1}
    for change, why in (({"version_min": 2, "version_max": 3}, "versions 2 to 3, brain 1: install both"),
                        ({"digest": "x"}, "other tables than brain: install both"),
                        ({"role": "brain"}, "not from hands"),
                        (None, "not ready in time")):
        i = send(d, "Read", file_path="a")
        while True:
            if not e.inbox:
                ready = select.select([d.sock, e.vault], [], [], 10)[0]
                ats.check(ready, "neither an answer nor a new try")
                if d.sock in ready:
                    break
            m = e.hear()
            if m[0] == "KILL_SANDBOX":
                e.exited(b)
            elif m[0] == "NEED_SANDBOX":
                h = e.give(b)
                digest = h.expect("control.hello").json["digest"]
                if change:
                    h.send("control.hello", 0, dict(dict(good, digest=digest), **change))
        r = d.answer(i)["result"]
        ats.equal((r["outcome"], r["code"]), ("not_started", "no_sandbox"))
        ats.contains(text({"result": r}), why)


@ats.test("a client that does not read is bounded, then dropped; others go on")
def _(home):
    e = engine.Engine(home, client_out_bytes=8 << 20)
    s, b = e.session()
    d, slow = e.door(s), e.door(s)
    h = e.hands(b)
    for n in range(64):
        send(slow, "Read", file_path="f")
    for n in range(64):
        f = h.call()
        h.result(f, "x" * 1000000)
    i = send(d, "Read", file_path="g")
    h.result(h.call(), "ok")
    ats.equal(text(d.answer(i)), "ok")
    total = 0
    while True:
        data = slow._recv(10)
        if not data:
            break
        total += len(data)
    ats.check(total < 20 << 20, "bounded: %d" % total)
    e.check_memory(60000)


@ats.test("requests are not read on while a client's answers wait")
def _(home):
    e = engine.Engine(home)
    d = e.door()
    d.sock.setblocking(False)
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n' * 1000
    sent = 0
    for _ in range(10000):
        try:
            sent += d.sock.send(line[sent % 47:])   # the last one may have ended in a line
        except BlockingIOError:
            if not select.select([], [d.sock], [], 0.3)[1]:
                break
    ats.check(sent < 4 << 20, "back-pressure: %d" % sent)
    e.check_memory(40000)
    other = e.door()
    ats.equal(other.request("ping"), {})
    got = 0
    d.sock.setblocking(True)
    while got < sent // 47:
        m = d.message(10)
        ats.check("result" in m)
        got += 1


@ats.test("descriptors that no request names, or too many, cost the connection")
def _(home):
    e = engine.Engine(home)
    s, b = e.session()
    d = e.door(s)
    r, w = os.pipe()
    d.send("ping", fds=[r])
    ats.equal(d.message(), None)
    d = e.door(s)
    try:
        d._send(b"x", [r] * 100)
        ats.equal(d.message(), None)
    except (BrokenPipeError, ConnectionResetError):
        pass
    if os.getuid() != 0:
        return      # the descriptors of a process that is not dumpable are root's to see
    before = len(os.listdir("/proc/%d/fd" % e.proc.pid))
    for _ in range(50):
        d = e.door(s)
        d._send(b'{"half', [r, w])
        d.close()
    d = e.door(s)
    d.request("ping")
    d.close()
    ats.until(lambda: len(os.listdir("/proc/%d/fd" % e.proc.pid)) <= before, "no fd is kept")
    os.close(r)
    os.close(w)


@ats.test("line breaks in a result's JSON make no lines of their own")
def _(home):
    e = engine.Engine(home)
    s, b = e.session()
    d = e.door(s)
    i = send(d)
    h = e.hands(b)
    forged = b'{"jsonrpc":"2.0","id":%d,"result":{}}' % (i + 1)
    for between in (b"\n", b"\r"):
        h.send("result", h.call().call, text=b'{"outcome":"done","output":[' + between + forged +
               between + b"]}")
        ats.equal(len(d.answer(i)["result"]["output"]), 1)
        i = send(d)
    h.result(h.call(), "ok")
    ats.equal(text(d.answer(i)), "ok")


@ats.test("too many clients, and too many calls of one client, are refused")
def _(home):
    e = engine.Engine(home, clients_max=4, client_calls_max=3)
    s, b = e.session()
    d = [e.door(s) for _ in range(4)]
    try:
        x = e.door()
        ats.equal(x.message(), None)
    except ConnectionResetError:
        pass
    ids = [send(d[0], "Read", file_path="f%d" % n) for n in range(4)]
    ats.equal(d[0].answer(ids[3])["error"]["data"]["code"], "table_full")
    h = e.hands(b)
    for _ in range(3):
        h.result(h.call(), "ok")
    for i in ids[:3]:
        ats.equal(text(d[0].answer(i)), "ok")


@ats.test("no user of the machine keeps another one out")
def _(home):
    if os.geteuid() != 0:
        ats.skip("needs root to be others")
    e = engine.Engine(home, clients_max=8, calls_max=8)
    for d in (home.dir, home.run, os.path.dirname(e.door_path)):
        os.chmod(d, 0o711)
    os.chmod(e.door_path, 0o666)

    def come(uid, n):
        """How many of n connections of that user are served."""
        doors = []
        os.seteuid(uid)
        try:
            doors = [e.door() for _ in range(n)]
        finally:
            os.seteuid(0)

        def served(d):
            try:
                return d.request("ping") == {}
            except (OSError, ats.Failure):
                return False
        return sum(map(served, doors))
    ats.equal([come(uid, 6) for uid in (12345, 12346, 12347)], [4, 2, 1])
    ats.equal(come(0, 1), 1)


@ats.test("nor by calls")
def _(home):
    if os.geteuid() != 0:
        ats.skip("needs root to be others")
    e = engine.Engine(home, calls_max=8)
    for d in (home.dir, home.run, os.path.dirname(e.door_path)):
        os.chmod(d, 0o711)
    os.chmod(e.door_path, 0o666)
    want = []
    for uid, taken in ((12345, 4), (12346, 2)):
        s, _b = e.session(uid=uid)
        os.seteuid(uid)
        try:
            d = e.door(s)
        finally:
            os.seteuid(0)
        ids = [send(d, "Read", file_path="f%d" % n) for n in range(taken + 1)]
        ats.equal(d.answer(ids[taken])["error"]["data"]["code"], "table_full")
        want.append((d, ids[:taken]))
    s, _b = e.session()
    d = e.door(s)
    want.append((d, [send(d, "Read", file_path="mine%d" % n) for n in range(2)]))
    d.request("ping")
    e.kill()
    for d, ids in want:     # each that was taken waited: none has an answer
        ats.equal([m for m in iter(d.message, None) if m.get("id") in ids], [])


@ats.test("the engine can exec nothing, open no network and read no file of others")
def _(home):
    e = engine.Engine(home)
    with open("/proc/%d/status" % e.proc.pid, encoding="ascii") as f:
        st = f.read()
    ats.matches(st, r"NoNewPrivs:\s+1\n")
    ats.matches(st, r"Seccomp:\s+2\n")
    # Only root can empty the bounding set; without new privileges it gives a user nothing.
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd")[:5 if os.getuid() == 0 else 4]:
        ats.matches(st, name + r":\s+0+\n")


def small_disk(home):
    if os.getuid() != 0:
        ats.skip("needs root to mount a small tmpfs")
    p = os.path.join(home.state, "ats", "engine")
    os.makedirs(p, 0o700)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "none", p],
                      stderr=subprocess.DEVNULL).returncode != 0:
        ats.skip("cannot mount a tmpfs here")
    return p


def fill(path):
    fd = os.open(os.path.join(path, "ballast"), os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        while True:
            os.write(fd, b"x" * 4096)
    except OSError:
        pass
    try:
        while True:
            os.write(fd, b"x")
    except OSError:
        os.close(fd)


@ats.test("disk full: calls that need the journal do not start, pure ones go on, nothing is lost")
def _(home):
    p = small_disk(home)
    try:
        e = engine.Engine(home)
        s, b = e.session()
        d = e.door(s)
        h = e.hands(b)
        i = send(d, call_id="before")
        h.result(h.call(), "kept")
        first = d.answer(i)["result"]
        i = send(d, call_id="under way")
        f = h.call()
        fill(p)
        refused = 0
        for n in range(200):
            i2 = send(d, call_id="full%d" % n)
            r = None
            while r is None:
                ready = select.select([d.sock, h.sock], [], [], 10)[0]
                if h.sock in ready:
                    g = h.recv()
                    if g.name == "call.tool":
                        h.result(g, "y" * 30000)
                if d.sock in ready:
                    r = d.answer(i2)["result"]
            if r["outcome"] == "not_started":
                ats.equal(r["code"], "disk_full")
                refused += 1
        ats.check(refused > 0, "the disk was not full")
        i2 = send(d, "Read", file_path="a")
        while True:
            g = h.recv()
            if g.name == "call.tool":
                break
        h.result(g, "pure")
        ats.equal(text(d.answer(i2)), "pure")
        h.result(f, "under way, done")
        ats.equal(text(d.answer(i)), "under way, done")
        # The same id again: the one answer, from memory.
        ats.equal(text(d.answer(send(d, call_id="under way"))), "under way, done")
        os.unlink(os.path.join(p, "ballast"))
        if h.expect("control.ack", call=f.call):     # when there was room again
            pass
        ats.equal(d.answer(send(d, call_id="before"))["result"], first)
        e.restart()
        d = e.door(s)
        ats.equal(text(d.answer(send(d, call_id="under way"))), "under way, done")
        ats.equal(d.answer(send(d, call_id="before"))["result"], first)
    finally:
        subprocess.run(["umount", "-l", p])


@ats.test("disk full: an answer that is written later is written with what its call changed")
def _(home):
    p = small_disk(home)
    read = {"path": home.ws + "/a", "size": 1, "mtime_ns": 2, "sha256": "1" * 64}
    write = {"name": "Write", "arguments": {"file_path": "a", "content": "x"}}
    try:
        e = engine.Engine(home)
        s, b = e.session()
        d = e.door(s)
        h = e.hands(b)
        j, i = send(d, "Read", file_path="b"), d.send("ats/tool.call", dict(write, call_id="w"))
        g, f = sorted((h.call(), h.call()), key=lambda x: x.json["name"])
        fill(p)
        # The session is tried again a second after the first time, the answer a second after its.
        h.result(g, "b", ctx_delta={"reads": [dict(read, path=home.ws + "/b")]})
        d.answer(j)
        ats.until(lambda: e.log().count("session not written") == 1, "it is not written")
        select.select([], [], [], 0.3)
        h.result(f, "written", ctx_delta={"reads": [read]})
        ats.equal(text(d.answer(i)), "written")
        ats.until(lambda: e.log().count("session not written") == 2, "nor a second later")
        os.unlink(os.path.join(p, "ballast"))
        h.expect("control.ack", call=f.call)    # hands forgets it
        e.restart()
        h.close()
        e.door(s).send("ats/tool.call", write)
        ats.equal(e.hands(b).call().json["ctx"]["reads"], [read])
    finally:
        subprocess.run(["umount", "-l", p])


@ats.test("disk full at the start: pure calls are served, the journal opens when it can")
def _(home):
    p = small_disk(home)
    try:
        fill(p)
        e = engine.Engine(home)
        s, b = e.session()
        d = e.door(s)
        h = e.hands(b)
        i = send(d, "Read", file_path="a")
        h.result(h.call(), "pure")
        ats.equal(text(d.answer(i)), "pure")
        r = d.answer(send(d, call_id="x"))
        ats.contains(json.dumps(r), "disk_full")
        os.unlink(os.path.join(p, "ballast"))

        def served():
            j = send(d, call_id="x")
            while True:
                ready = select.select([d.sock, h.sock], [], [], 10)[0]
                if d.sock in ready:
                    d.answer(j)
                    return False
                g = h.recv()
                if g.name == "call.tool":
                    h.result(g, "journaled")
                    return text(d.answer(j)) == "journaled"

        ats.until(served, "the journal is open again", 5)
    finally:
        subprocess.run(["umount", "-l", p])


ats.main()
