#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""atsctl exec over a link that breaks: the program runs on, and each byte comes once."""
import hashlib
import os
import random
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import far
import kills

MIB = 1 << 20


def elsewhere(home, **more):
    f = far.Far(home)
    p = far.Proxy(home, f.path)
    home.configure({"sandbox": {"url": "unix:" + p.path}, **more})
    home.ctl("exec", "--", "true", code=0)
    return f, p


def start(home, *argv, options=(), **kw):
    kw.setdefault("stdin", subprocess.DEVNULL)
    return home.popen(ats.program("atsctl"), "exec", *options, "--", *argv, bufsize=0,
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)


def finish(p, input=None):
    """(code, stdout, stderr), read as they come."""
    got = [b"", b""]

    def read(i, f):
        got[i] = f.read()

    def write():
        p.stdin.write(input)
        p.stdin.close()
    jobs = [threading.Thread(target=read, args=(i, f)) for i, f in
            enumerate((p.stdout, p.stderr))]
    jobs += [threading.Thread(target=write)] if input is not None else []
    for t in jobs:
        t.start()
    for t in jobs:
        t.join(ats.TIMEOUT)
    return (p.wait(ats.TIMEOUT), *got)


def seq(n, word=b""):
    return b"".join(b"%s%d\n" % (word, i) for i in range(1, n + 1))


def digest(data):
    return len(data), hashlib.sha256(data).hexdigest()


def fifo(home, name="go"):
    path = os.path.join(home.ws, name)
    os.mkfifo(path)
    os.chmod(path, 0o666)
    return path


def release(path):
    with open(path, "w", encoding="ascii") as w:
        w.write("go\n")


@ats.test("cut 50 times anywhere: both outputs and the input, each byte once")
def _(home):
    _, p = elsewhere(home)
    dice = random.Random(524)
    lines, text = 60000, os.urandom(2 * MIB)
    # The handshake has some thousand bytes, and links that carry nothing are given up.
    p.budgets = [dice.randrange(6000, dice.choice((12000, 150000))) for _ in range(50)]
    e = start(home, "sh", "-c", "seq %d >&2 & seq %d; cat; wait; exit 7" % (lines, lines),
              stdin=subprocess.PIPE)
    p.cut()
    code, out, err = finish(e, text)
    ats.equal(digest(err), digest(seq(lines)))
    ats.equal(digest(out), digest(seq(lines) + text))
    ats.equal(code, 7)
    ats.check(p.taken > 40, p.taken)


@ats.test("a program ends while the link is down: its last output and its result come after")
def _(home):
    _, p = elsewhere(home)
    go = fifo(home)
    e = start(home, "sh", "-c", "echo begun; cat go; echo last; echo err >&2; : > done; exit 5")
    ats.equal(os.read(e.stdout.fileno(), 6), b"begun\n")
    p.cut(hold=True)
    release(go)
    ats.until(lambda: os.path.exists(home.ws + "/done"), "it ends")
    p.let()
    ats.equal(finish(e), (5, b"go\nlast\n", b"err\n"))


@ats.test("a program runs on for megabytes while the link is down: nothing is lost")
def _(home):
    f, p = elsewhere(home)
    go = fifo(home)
    e = start(home, "sh", "-c", "echo begun; cat go; seq 1000000; : > done; seq 9 >&2")
    ats.equal(os.read(e.stdout.fileno(), 6), b"begun\n")
    p.cut(hold=True)
    release(go)
    ats.until(lambda: os.path.exists(home.ws + "/done"), "nearly 7 MiB are printed")
    p.let()
    code, out, err = finish(e)
    ats.equal((code, digest(out), err), (0, digest(b"go\n" + seq(1000000)), seq(9)))


@ats.test("a cancel and a client that leaves while the link is down are heard after")
def _(home):
    f, p = elsewhere(home)
    for end in ("cancel", "leave"):
        e = start(home, "sh", "-c", "echo begun; exec sleep 1000")
        ats.equal(os.read(e.stdout.fileno(), 6), b"begun\n")
        p.cut(hold=True)
        e.send_signal(signal.SIGINT if end == "cancel" else signal.SIGKILL)
        p.let()
        ats.equal(e.wait(ats.TIMEOUT), 130 if end == "cancel" else -signal.SIGKILL)
        ats.until(lambda: not ats.find(f.proc.pid, "sleep 1000"), "its command has ended")
        home.ctl("exec", "--", "true", code=0)


@ats.test("an engine that is new ends the execs of the one before it")
def _(home):
    f, _ = elsewhere(home)
    e = start(home, "sh", "-c", "echo begun; exec sleep 1000")
    ats.equal(os.read(e.stdout.fileno(), 6), b"begun\n")
    old = kills.of_role(home, "engine")[-1]
    os.kill(old, signal.SIGKILL)
    code, _, err = finish(e)
    ats.equal(code, 125)
    ats.contains(err.decode(), "unknown")
    home.ctl("exec", "--", "true", code=0)
    ats.until(lambda: not ats.find(f.proc.pid, "sleep 1000"), "its command has ended")


@ats.test("another hands than before: the outcome is unknown")
def _(home):
    f, p = elsewhere(home)
    e = start(home, "sh", "-c", "echo begun; exec sleep 1000")
    ats.equal(os.read(e.stdout.fileno(), 6), b"begun\n")
    p.cut(hold=True)        # or the front that ends still says how its command ended
    f.restart()
    p.let()
    code, _, err = finish(e)
    ats.equal(code, 125)
    ats.contains(err.decode(), "the outcome of the command is unknown")


ats.main()
