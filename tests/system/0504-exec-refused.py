#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests that are refused or come fast, on the door: each is answered, the client stays."""
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine

NAMES = ["stdin", "stdout", "stderr"]


def pipes():
    r, w = os.pipe()
    for fd in (r, w):
        os.set_blocking(fd, False)
    return [r, w, w]


def open_fds(e):
    """Root alone sees those of a process that is not dumpable."""
    return len(os.listdir("/proc/%d/fd" % e.proc.pid)) if os.getuid() == 0 else None


@ats.test("an exec that is refused is answered; its descriptors are closed")
def _(home):
    e = engine.Engine(home)
    s, _ = e.session()
    d, stranger = e.door(s), e.door()
    d.request("ping")
    stranger.request("ping")
    before = open_fds(e)
    good = {"argv": ["x"], "call_id": "c", "fds": NAMES}
    for who, change in ((stranger, {}), (d, {"session": "s-000000000000"}), (d, {"x": 1}),
                        (d, {"argv": "x"}), (d, {"argv": []}), (d, {"argv": [1]}),
                        (d, {"rows": -1}), (d, {"fds": ["stdin", "stdin", "stdout"]}),
                        (d, {"fds": ["stdin", "nothing", "stdout"]}),
                        (d, {"fds": ["stdin", 1, "stdout"]}), (d, {"fds": NAMES + ["stdin"]}),
                        (d, {"fds": NAMES + ["stdin"], "x": 1})):
        fds = pipes()
        a = who.answer(who.send("ats/exec", dict(good, **change), fds))
        ats.check("error" in a, (change, a))
        ats.equal(who.request("ping"), {}, change)
        os.close(fds[0])
        os.close(fds[1])
    ats.equal(open_fds(e), before)


@ats.test("a named pipe that its client makes blocking again holds up nobody else")
def _(home):
    e = engine.Engine(home)
    s, b = e.session()
    path = os.path.join(home.dir, "fifo")
    os.mkfifo(path)
    r = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    w = os.open(path, os.O_WRONLY)
    d = e.door(s)
    i = d.send("ats/exec", {"argv": ["x"], "call_id": "c", "fds": ["stdout"]}, [w])
    h = e.hands(b)
    f = h.call()
    os.set_blocking(w, True)
    for n in range(8):
        h.send("event.stdout", f.call, {"offset": n * 65536}, b"x" * 65536)
    h.send("control.ping", 0, {"seq": 7})
    ats.equal(h.expect("control.pong").json["seq"], 7)
    ats.equal(e.door().request("ping"), {})
    h.result(f, "", exit_kind="exit", exit_code=0)
    os.close(r)
    ats.equal(d.answer(i)["result"]["outcome"], "done")
    os.close(w)


@ats.test("a reader as fast as the engine loses no request")
def _(home):
    e = engine.Engine(home)
    d = e.door()
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
    lines = 3000
    got = [0]

    def read():
        while got[0] < lines:
            data = d.sock.recv(1 << 20)
            if not data:
                return
            got[0] += data.count(b"\n")

    t = threading.Thread(target=read)
    t.start()
    d.sock.sendall(line * lines)
    t.join(ats.TIMEOUT)
    ats.equal(got[0], lines)


@ats.test("a sandbox that could not be started goes with its last session")
def _(home):
    e = engine.Engine(home)
    watcher = e.door()
    for n in range(5):
        s, b = e.session(key="k%d" % n, workspace=home.dir + "/w%d" % n)
        d = e.door(s)
        i = d.send("ats/tool.call", {"name": "Read", "arguments": {"file_path": "x"}})
        e.need(b)
        e.tell("SESSION_CLOSED", s)
        ats.equal(d.answer(i)["result"]["outcome"], "not_started")
        e.tell("SANDBOX", b, 1, 302, "no", "")
    ats.until(lambda: watcher.request("ats/sandbox.list")["sandboxes"] == [], "all are gone")


ats.main()
