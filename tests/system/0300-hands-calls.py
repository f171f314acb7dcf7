#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hands behind a scripted brain: calls, results, limits, cancel, duplicates, resumption."""
import os
import random
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

PURE = 1 << 63


class Brain:
    """Calls over one link; ids count up."""

    def __init__(self, home, *options):
        self.home = home
        self.hands = ats.Hands(home, *options)
        self.link = self.hands.link
        self.hello, self.ready = self.link.hello_as_brain()
        self.id = 0
        self.results = {}
        self.cwd = home.ws

    def send(self, name, id=None, deadline_ms=60000, session="s-000000000001", keep=False,
             split=False, progress=False, attempt=None, **arguments):
        if id is None:
            self.id += 1
            id = self.id
        m = {"name": name, "input": arguments, "ctx": {"cwd": self.cwd},
             "deadline_ms": deadline_ms, "session": session}
        for k, v in (("keep", keep), ("split", split), ("progress", progress)):
            if v:
                m[k] = True
        if attempt is not None:
            m["attempt"] = attempt
        self.link.send("call.tool", id, m)
        return id

    def result(self, id, timeout=ats.TIMEOUT):
        while id not in self.results:
            r = self.link.expect("result", timeout=timeout)
            r.text = r.payload.decode()
            self.results[r.call] = r
        return self.results.pop(id)

    def call(self, name, **kw):
        return self.result(self.send(name, **kw))

    def bash(self, command, **kw):
        return self.call("Bash", command=command, **kw)

    def reconnect(self):
        self.link.close()
        self.link = self.hands.connect()
        return self.link.hello_as_brain(epoch=2)


def ok(r, what=""):
    ats.check(not r.json.get("is_error"), "%s: %r %r" % (what, r.json, r.text))
    return r


def failed(r, code=None):
    ats.check(r.json.get("is_error"), "should have failed: %r" % r.text)
    if code:
        ats.equal(r.json.get("code"), code)
    return r


@ats.test("each tool once")
def _(home):
    b = Brain(home)
    home.write("a.txt", "one\ntwo\n")
    r = ok(b.call("Read", file_path="a.txt"))
    ats.contains(r.text, "2\ttwo")
    state = r.json["ctx_delta"]["reads"]
    b.link.send("call.tool", 77, {
        "name": "Edit", "input": {"file_path": "a.txt", "old_string": "two", "new_string": "2"},
        "ctx": {"cwd": home.ws, "reads": state}, "deadline_ms": 9000, "session": "s-1"})
    ok(b.result(77))
    ats.equal(home.read("a.txt"), b"one\n2\n")
    ok(b.call("Write", file_path="b/c.txt", content="new"))
    ats.equal(home.read("b/c.txt"), b"new")
    ats.contains(ok(b.call("Glob", pattern="**/*.txt")).text, "c.txt")
    ats.contains(ok(b.call("Grep", pattern="ne", output_mode="content")).text, "one")
    ats.contains(ok(b.call("LS", path=home.ws)).text, "a.txt")
    ats.equal(ok(b.bash("echo hi")).text, "hi")


@ats.test("bash tells each kind of end")
def _(home):
    b = Brain(home)
    ats.equal(failed(b.bash("echo boom; exit 3")).text, "Exit code 3\nboom")
    ats.equal(failed(b.bash("false")).text, "Exit code 1\n(no output)")
    ats.contains(ok(b.bash("true")).text, "printed nothing")
    home.write("f", "x\n")
    ats.contains(ok(b.bash("grep nope f")).text, "no line matched")
    ats.contains(ok(b.bash("diff f /dev/null")).text, "the files differ")
    ats.contains(ok(b.bash("[ -e nope ]")).text, "condition is false")
    failed(b.bash("grep nope missing-file"))
    r = failed(b.bash("kill -SEGV $$"))
    ats.contains(r.text, "SIGSEGV")
    ats.equal(r.json["exit_kind"], "signal")
    r = failed(b.bash("nosuchcommand"))
    ats.contains(r.text, "Exit code 127 (a command was not found)")
    ats.equal(r.json["exit_code"], 127)
    ats.equal(ok(b.bash("echo out; echo err >&2; echo out2")).text, "out\nerr\nout2")


@ats.test("bash with split keeps stdout and stderr apart")
def _(home):
    b = Brain(home)
    r = ok(b.bash("echo out; echo err >&2", split=True))
    ats.equal(r.json["output"]["stdout"], "out\n")
    ats.equal(r.json["output"]["stderr"], "err\n")
    ats.equal(r.json["output"]["exit_code"], 0)


@ats.test("the working directory is a delta, and one outside is reset with a note")
def _(home):
    b = Brain(home)
    os.mkdir(os.path.join(home.ws, "sub"))
    r = ok(b.bash("cd sub"))
    ats.equal(r.json["ctx_delta"]["cwd"], os.path.join(home.ws, "sub"))
    ats.equal(ok(b.bash("cd /tmp && cd /tmp")).json["ctx_delta"]["cwd"], "/tmp")
    r = ok(b.bash("cd /usr; pwd"))
    ats.contains(r.text, "/usr\n[The working directory was reset to %s" % home.ws)
    ats.check("ctx_delta" not in r.json, r.json)
    b.cwd = os.path.join(home.ws, "gone")
    r = ok(b.bash("pwd"))
    ats.contains(r.text, home.ws + "\n[The working directory %s does not exist" % b.cwd)
    ats.equal(r.json["ctx_delta"]["cwd"], home.ws)


@ats.test("output is valid UTF-8, cut on characters, with more in a file that Read pages")
def _(home):
    b = Brain(home)
    r = ok(b.bash("printf '\\xe2'; sleep 0.1; printf '\\x80\\x94'"))
    ats.equal(r.text, "\u2014")
    r = ok(b.bash("printf 'a\\xff\\xfeb'"))
    ats.equal(r.text, "a\ufffd\ufffdb")
    r = ok(b.bash("for i in $(seq 5000); do printf '你你你你你你你你你你'; done"))
    ats.check("\ufffd" not in r.text, "a broken character")
    ats.equal(r.text.count("你"), 30000)
    path = r.json["output"]["file"]
    ats.contains(r.text, path)
    b.cwd = home.ws
    r = ok(b.bash("seq 200000; echo the end"))
    ats.contains(r.text, "1\n2\n3\n")
    ats.contains(r.text, "200000\nthe end")
    page = ok(b.call("Read", file_path=r.json["output"]["file"], offset=100000, limit=2))
    ats.contains(page.text, "100000\t100000")


@ats.test("a timeout ends the whole tree and gives what was printed")
def _(home):
    b = Brain(home)
    start = time.monotonic()
    r = failed(b.bash("echo before; (setsid sleep 300 &) ; sleep 300", timeout=700), "timeout")
    ats.check(time.monotonic() - start < 3, "too slow")
    ats.contains(r.text, "Timed out after 0.7 s")
    ats.contains(r.text, "before")
    ats.equal(r.json["exit_kind"], "timeout")
    start = time.monotonic()
    r = failed(b.bash("trap '' TERM; echo stubborn; while :; do sleep 1; done", timeout=1000), "timeout")
    took = time.monotonic() - start
    ats.check(2.7 < took < 7, "TERM, two seconds, KILL: %.1f" % took)
    ats.contains(r.text, "stubborn")
    ats.equal(ok(b.bash("ps -e -o comm= | grep -c sleep || true")).text, "0")


@ats.test("survivors are ended, named, and do not hold the call")
def _(home):
    b = Brain(home)
    start = time.monotonic()
    r = ok(b.bash("sleep 300 & echo started"))
    ats.check(time.monotonic() - start < 2, "the call was held")
    ats.contains(r.text, "started")
    ats.contains(r.text, "sleep")
    ats.contains(r.text, "run_in_background")


@ats.test("cancel ends a call; its result comes once")
def _(home):
    b = Brain(home)
    id = b.send("Bash", command="touch up; sleep 300")
    while not os.path.exists(os.path.join(home.ws, "up")):
        pass
    b.link.send("control.cancel", id, {"why": "cancelled"})
    r = failed(b.result(id), "cancelled")
    ats.equal(r.json["exit_kind"], "cancelled")
    id = b.send("Grep", pattern="x", path="/usr")
    b.link.send("control.cancel", id, {})
    r = b.result(id)
    b.link.send("control.ping", 0, {"seq": 1})
    while True:
        f = b.link.recv()
        ats.check(f.name != "result", "a second result")
        if f.name == "control.pong":
            break


@ats.test("progress is sent on long calls with the newest line")
def _(home):
    b = Brain(home)
    id = b.send("Bash", command="for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.25; done",
                progress=True)
    seen = []
    while True:
        f = b.link.recv()
        if f.name == "event.progress":
            seen.append(f.json["message"])
        elif f.name == "result":
            break
    ats.check(2 <= len(seen) <= 6, seen)
    ats.check(all(re.match(r"line \d", s) for s in seen), seen)


@ats.test("an id runs once, whatever is sent again")
def _(home):
    b = Brain(home)
    id = b.send("Bash", command="echo x >> count; cat count; sleep 0.3", keep=True)
    b.send("Bash", id=id, command="echo x >> count; cat count; sleep 0.3", keep=True)
    ats.equal(ok(b.result(id)).text, "x")
    b.send("Bash", id=id, command="echo x >> count; cat count; sleep 0.3", keep=True, attempt=1)
    ats.equal(ok(b.result(id)).text, "x")
    b.send("Bash", id=id, command="echo other", keep=True)
    failed(b.result(id), "id_reused")
    ats.equal(home.read("count"), b"x\n")


@ats.test("a lost link: Bash goes on, its result is kept until acknowledged")
def _(home):
    b = Brain(home)
    boot = b.hello.json["boot"]
    a = b.send("Bash", command="sleep 0.5; echo done", keep=True)
    c = b.send("Bash", command="echo quick", keep=True)
    b.result(c)
    hello, ready = b.reconnect()
    ats.equal(hello.json["boot"], boot)
    ats.equal(sorted(ready.json["running"]), [a, c])
    ats.equal(ok(b.result(c)).text, "quick")
    ats.equal(ok(b.result(a)).text, "done")
    b.link.send("control.ack", a)
    hello, ready = b.reconnect()
    ats.equal(ready.json["running"], [c])
    ats.equal(ok(b.result(c)).text, "quick")


@ats.test("a second attachment is refused and the first goes on")
def _(home):
    b = Brain(home)
    other = b.hands.connect()
    other.say_hello()
    f = other.recv()
    ats.equal((f.name, f.json["code"]), ("control.goodbye", "busy"))
    other.close()
    ats.equal(ok(b.bash("echo hi")).text, "hi")


@ats.test("a takeover ends the attachment, and what runs goes on")
def _(home):
    b = Brain(home)
    c = b.send("Bash", command="sleep 0.5; echo done", keep=True)
    old = b.link
    b.link = b.hands.connect()
    _hello, ready = b.link.hello_as_brain(epoch=2, takeover=True)
    ats.equal(ready.json["running"], [c])
    f = old.expect("control.goodbye")
    ats.equal(f.json, {"code": "taken_over", "text": "another brain took this sandbox over"})
    ats.equal(old.recv(), None)
    ats.equal(ok(b.result(c)).text, "done")


@ats.test("a brain that is silent for two heartbeats is let go, one that answers is not")
def _(home):
    b = Brain(home, "heartbeat_s=1")
    for _i in range(3):
        ping = b.link.expect("control.ping", 5)
        b.link.send("control.pong", 0, {"seq": ping.json["seq"]})
    f = b.link.recv(5)
    while f.name == "control.ping":
        f = b.link.recv(5)
    ats.equal((f.name, f.json["code"]), ("control.goodbye", "silent"))
    b.reconnect()
    ats.equal(ok(b.bash("echo hi")).text, "hi")


@ats.test("without a peer hands ends after the retention time")
def _(home):
    b = Brain(home, "retention_s=1")
    b.link.close()
    b.hands.proc.wait(10)


@ats.test("64 calls at once, one printing without end, do not delay others")
def _(home):
    b = Brain(home)
    home.write("a.txt", "text\n")
    noisy = b.send("Bash", command="yes", timeout=20000)
    sleepers = [b.send("Bash", command="sleep 1; echo %d" % i) for i in range(30)]
    worst = 0.0
    for _i in range(60):
        start = time.monotonic()
        ok(b.result(b.send("Read", id=PURE + 1000 + _i, file_path="a.txt")))
        worst = max(worst, time.monotonic() - start)
    print("# worst Read beside yes and 30 others: %.1f ms" % (worst * 1000))
    ats.check(worst < 1.0, "a Read took %.2f s" % worst)
    for id in sleepers:
        ok(b.result(id))
    b.link.send("control.cancel", noisy, {})
    r = failed(b.result(noisy), "cancelled")
    ats.contains(r.text, "first 32 and the last 32 MiB")


@ats.test("what breaks a worker breaks one call")
def _(home):
    b = Brain(home)
    b.bash("kill -9 $PPID; kill -9 -1; echo x")
    ats.equal(ok(b.bash("echo alive")).text, "alive")


@ats.test("a fork bomb runs into the limit of its box", long=ats.WHOLLY)
def _(home):
    b = Brain(home)
    b.bash("bomb() { bomb | bomb & }; bomb; sleep 2; echo after", timeout=15000)
    ats.equal(ok(b.bash("echo alive")).text, "alive")


@ats.test("mangled frames end at most their own connection")
def _(home):
    b = Brain(home)
    front = pid_of(b.hands.proc.pid, "ats-front")
    home.write("a", "hi\n")
    rng = random.Random(20)
    good = [
        ats.Link.pack("call.tool", 1, {"name": "Bash", "input": {"command": "echo hi"},
                      "ctx": {"cwd": home.ws}, "deadline_ms": 900, "session": "s-1"}),
        ats.Link.pack("call.tool", 2, {"name": "Read", "input": {"file_path": "a"},
                      "ctx": {"cwd": home.ws}, "deadline_ms": 900, "session": "s-1"}),
        ats.Link.pack("call.exec", 3, {"argv": ["cat"], "ctx": {"cwd": home.ws},
                      "session": "s-1", "window": 9999, "want_stdin": True}),
        ats.Link.pack("event.stdin", 3, {"offset": 0}, b"abc"),
        ats.Link.pack("control.window", 3, {"stream": "stdout", "bytes": 100}),
        ats.Link.pack("control.cancel", 3, {}),
        ats.Link.pack("control.ping", 0, {"seq": 3}),
        ats.Link.pack("control.signal", 3, {"number": 15}),
    ]
    for _round in range(250):
        try:
            for _i in range(rng.randint(1, 6)):
                data = bytearray(rng.choice(good))
                for _k in range(rng.choice((0, 0, 1, 1, 2, 8))):
                    data[rng.randrange(len(data))] = rng.choice(
                        (0, 255, 34, 44, 48, 123, 125, rng.randrange(256)))
                if rng.random() < 0.1:
                    del data[rng.randrange(len(data)):]
                b.link.sock.sendall(data)
        except OSError:
            pass
        b.link.close()
        ats.check(ats.alive(front), "front died in round %d" % _round)
        b.link = b.hands.connect()
        b.link.hello_as_brain(epoch=_round)
    b.results.clear()
    ats.equal(ok(b.bash("echo alive", id=10**9)).text, "alive")


@ats.test("kill -9 of each inner process: hands answers or ends, the host keeps nothing")
def _(home):
    for role in ("zygote-read", "zygote-write", "zygote-shell", "ats-front", "ats-init"):
        sub = ats.Home()
        try:
            b = Brain(sub)
            sub.write("a", "hi\n")
            os.kill(pid_of(b.hands.proc.pid, role), signal.SIGKILL)
            if role in ("ats-front", "ats-init"):
                b.hands.proc.wait(10)
            else:
                ats.equal(ok(b.bash("echo hi")).text, "hi")
                ok(b.call("Read", file_path="a"))
                ok(b.call("Write", file_path="b", content="x"))
        finally:
            left = sub.close()
        ats.check(not left, "%s: left over %s" % (role, left))


def pid_of(top, role):
    """The process of that role: workers have their zygote's name, so the one nearest to top."""
    up = ats.parents()
    names = {p: ats.comm(p) for p in ats.descendants(top)}
    found = [p for p, n in names.items() if n == role and p in up and
             names.get(up[p]) != role]
    ats.equal(len(found), 1, "processes named %s among %r" % (role, names))
    return found[0]


ats.main()
