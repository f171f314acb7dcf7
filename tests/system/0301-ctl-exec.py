#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""atsctl exec and call against a scripted brain: descriptors, relays, signals, exit codes."""
import fcntl
import hashlib
import json
import os
import pty
import select
import signal
import struct
import socket
import subprocess
import sys
import termios
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from fake_door import Fail, FakeBrain


def done(kind="exit", code=0):
    return {"call": "c-1", "outcome": "done", "exit": {"kind": kind, "code": code}}


def brain_of(home, run=None):
    """run(argv, fds by name, message, conn) gives the result of ats/exec."""
    b = FakeBrain(os.path.join(home.run, "ats"))
    home.open_things.append(b)
    if run:
        @b.on("ats/exec")
        def _(conn, message, fds):
            p = message["params"]
            ats.equal(len(fds), len(p["fds"]), "descriptors")
            named = dict(zip(p["fds"], fds))
            try:
                return run(p["argv"], named, message, conn)
            finally:
                for fd in named.values():
                    os.close(fd)
    return b


def write_all(fd, data):
    while data:
        try:
            data = data[os.write(fd, data):]
        except BlockingIOError:
            select.select([], [fd], [])


def read_all(fd):
    parts = []
    while True:
        try:
            part = os.read(fd, 1 << 20)
        except BlockingIOError:
            select.select([fd], [], [])
            continue
        if not part:
            return b"".join(parts)
        parts.append(part)


def echo(argv, fds, message, conn):
    write_all(fds["stdout"], read_all(fds["stdin"]))
    write_all(fds["stderr"], b"err\n")
    return done()


EXEC = ("--no-start", "exec", "--")


@ats.test("pipes are passed themselves, in a description of their own that does not block")
def _(home):
    seen = {}

    def run(argv, fds, message, conn):
        for name, fd in fds.items():
            seen[name] = (os.fstat(fd).st_ino, fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK)
        return echo(argv, fds, message, conn)
    brain_of(home, run)
    p = home.popen(ats.program("atsctl"), *EXEC, "cat", stdin=subprocess.PIPE,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ours = {n: os.fstat(f.fileno()).st_ino
            for n, f in (("stdin", p.stdin), ("stdout", p.stdout), ("stderr", p.stderr))}
    out, err = p.communicate(b"hello")
    ats.equal((p.returncode, out, err), (0, b"hello", b"err\n"))
    ats.equal({n: i for n, (i, _) in seen.items()}, ours)
    ats.check(all(nb for _, nb in seen.values()), "blocking: %r" % seen)


@ats.test("our own pipes keep their flags")
def _(home):
    brain_of(home, echo)
    r, w = os.pipe()
    p = home.popen(ats.program("atsctl"), *EXEC, "cat", stdin=subprocess.DEVNULL, stdout=w,
                   stderr=subprocess.DEVNULL)
    ats.equal(p.wait(ats.TIMEOUT), 0)
    ats.equal(fcntl.fcntl(w, fcntl.F_GETFL) & os.O_NONBLOCK, 0)
    os.close(r)
    os.close(w)


def through_files(home, mode):
    brain_of(home, echo)
    data = os.urandom(1 << 20) * 5
    home.write("in", data)
    home.write("out", b"before" if mode == "ab" else b"")
    with open(os.path.join(home.ws, "in"), "rb") as i, \
            open(os.path.join(home.ws, "out"), mode) as o:
        p = home.popen(ats.program("atsctl"), *EXEC, "cat", stdin=i, stdout=o,
                       stderr=subprocess.PIPE)
        ats.equal(p.communicate()[1], b"err\n")
        ats.equal(p.returncode, 0)
    got = home.read("out")
    want = (b"before" if mode == "ab" else b"") + data
    ats.equal(hashlib.sha256(got).hexdigest(), hashlib.sha256(want).hexdigest())


@ats.test("files are relayed whole")
def _(home):
    through_files(home, "wb")


@ats.test("a file opened for appending is relayed too")
def _(home):
    through_files(home, "ab")


@ats.test("sockets are relayed")
def _(home):
    brain_of(home, echo)
    a, b = socket.socketpair()
    p = home.popen(ats.program("atsctl"), *EXEC, "cat", stdin=b, stdout=b,
                   stderr=subprocess.DEVNULL)
    b.close()
    data = os.urandom(1 << 20)
    threading.Thread(target=lambda: (a.sendall(data), a.shutdown(1)), daemon=True).start()
    got = b""
    while len(got) < len(data):
        part = a.recv(1 << 20)
        ats.check(part, "the socket ended after %d bytes" % len(got))
        got += part
    ats.equal(p.wait(ats.TIMEOUT), 0)
    ats.check(got == data, "other bytes")
    a.close()


@ats.test("all output comes even when the answer is faster than a slow reader")
def _(home):
    def run(argv, fds, message, conn):
        write_all(fds["stdout"], b"x" * 900000)
        return done()
    brain_of(home, run)
    m, s = pty.openpty()
    tty = termios.tcgetattr(s)
    tty[1] &= ~termios.OPOST
    termios.tcsetattr(s, termios.TCSANOW, tty)
    p = home.popen(ats.program("atsctl"), *EXEC, "x", stdin=subprocess.DEVNULL, stdout=s,
                   stderr=subprocess.DEVNULL)
    os.close(s)
    select.select([m], [], [], 10)
    select.select([], [], [], 2.5)      # longer than a silent pipe is waited for
    got = 0
    while got < 900000:
        got += len(os.read(m, 65536))
    ats.equal(p.wait(ats.TIMEOUT), 0)
    os.close(m)


@ats.test("a closed stdin, stdout or stderr is no accident")
def _(home):
    brain_of(home, echo)
    p = home.popen("sh", "-c", 'exec "$0" "$@" <&- 2>&-', ats.program("atsctl"), *EXEC, "cat",
                   stdout=subprocess.PIPE)
    ats.equal((p.communicate()[0], p.returncode), (b"", 0))


@ats.test("exit codes follow CLI: code, signal, timeout, unknown")
def _(home):
    answers = {
        "7": (done("exit", 7), 7), "255": (done("exit", 255), 255),
        "term": (done("signal", 15), 143), "kill": (done("signal", 9), 137),
        "slow": (done("timeout", 0), 124), "oom": (done("oom", 0), 137),
        "cancelled": (done("cancelled", 0), 130), "sys": (done("seccomp", 0), 159),
        "odd": (done("exit", 256), 125), "new": (done("other", 0), 125),
        "unknown": ({"call": "c-1", "outcome": "unknown"}, 125),
        "never": ({"call": "c-1", "outcome": "not_started"}, 125),
    }
    brain_of(home, lambda argv, *_: answers[argv[0]][0])
    for name, (_, code) in answers.items():
        r = home.ctl(*EXEC, name, code=code)
        loud = name in ("oom", "sys", "odd", "new", "unknown", "never")
        ats.equal(r.stderr.count(b"\n"), 1 if loud else 0, name)


@ats.test("errors of brain are one line and 125")
def _(home):
    def run(argv, *_):
        raise Fail("refused\nby \x1b[31mpolicy", "denied")
    brain_of(home, run)
    r = home.ctl(*EXEC, "x", code=125)
    ats.equal(r.stderr, b"atsctl: exec: refused by  [31mpolicy\n")


@ats.test("a lost brain is 125 and said to be unknown")
def _(home):
    def run(argv, fds, message, conn):
        conn.close()
    brain_of(home, run)
    r = home.ctl(*EXEC, "x", code=125)
    ats.matches(r.stderr.decode(), r"\Aatsctl: exec: [^\n]*outcome is unknown[^\n]*\n\Z")


@ats.test("arguments, timeout and options arrive; -- and the first word end the options")
def _(home):
    b = brain_of(home, lambda *_: done())
    home.ctl("--no-start", "exec", "--timeout", "1.5m", "ls", "--json", "-l", "--", "é\n", code=0)
    p = b.requests("ats/exec")[0]["params"]
    ats.equal(p["argv"], ["ls", "--json", "-l", "--", "é\n"])
    ats.equal(p["timeout_ms"], 90000)
    ats.equal(p["fds"], ["stdin", "stdout", "stderr"])
    ats.equal("tty" in p, False)
    home.ctl("--no-start", "exec", "-n", "x", code=0)
    ats.equal(b.requests("ats/exec")[1]["params"]["fds"], ["stdout", "stderr"])
    r = home.ctl("--no-start", "--json", "exec", "x", code=0)
    ats.equal(json.loads(r.stderr)["outcome"], "done")


@ats.test("wrong use is 125, before anything is started")
def _(home):
    for args in (["exec"], ["exec", "--timeout", "0", "x"], ["exec", "--timeout", "2d", "x"],
                 ["exec", "--foo", "x"], ["exec", "--timeout"], ["call", "Bash"],
                 ["call", "Bash", "[]"], ["call", "Bash", "{"], ["call", "Bash", "{}", "x"]):
        r = home.ctl("--no-start", *args, code=125)
        ats.matches(r.stderr.decode(), r"\Aatsctl: [^\n]+\n\Z")


def signalled(home, *sigs):
    """Sends signals one after the other, each when the one before has arrived."""
    came = threading.Semaphore(0)
    state = {}

    def run(argv, fds, message, conn):
        state["message"] = message
        came.release()
    b = brain_of(home, run)
    b.on("ats/call.signal")(lambda c, m, f: (came.release(), {})[1])

    @b.on("ats/call.cancel")
    def _(conn, m, fds):
        conn.answer(state["message"], done("cancelled"))
        return {}
    p = home.popen(ats.program("atsctl"), *EXEC, "x", stdin=subprocess.PIPE,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for s in sigs:
        ats.check(came.acquire(timeout=ats.TIMEOUT), "no request")
        p.send_signal(s)
    return b, p, state


@ats.test("signals are passed on; the third cancels")
def _(home):
    b, p, state = signalled(home, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
    ats.equal(p.wait(ats.TIMEOUT), 130)
    ats.equal([m["params"]["signal"] for m in b.requests("ats/call.signal")],
              [signal.SIGINT, signal.SIGTERM])
    ats.equal(b.requests("ats/call.cancel")[0]["params"],
              {"call_id": state["message"]["params"]["call_id"]})


@ats.test("a signal that found no process cancels")
def _(home):
    def run(argv, fds, message, conn):
        threading.Thread(target=lambda: os.kill(p[0].pid, signal.SIGINT)).start()
        p.append(message)
    p = []
    b = brain_of(home, run)

    @b.on("ats/call.signal")
    def _(c, m, f):
        raise Fail("not an exec that runs", "out_of_state")

    @b.on("ats/call.cancel")
    def _(conn, m, fds):
        conn.answer(p[1], done("cancelled"))
        return {}
    p.append(home.popen(ats.program("atsctl"), *EXEC, "x", stdin=subprocess.PIPE,
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    ats.equal(p[0].wait(ats.TIMEOUT), 130)


def reader_leaves(home, stdout):
    state = {}

    def run(argv, fds, message, conn):
        state["message"] = message
        # keeps the descriptor, as the engine would
        state["fd"] = os.dup(fds["stdout"])
        write_all(fds["stdout"], b"y\n")
    b = brain_of(home, run)

    @b.on("ats/call.cancel")
    def _(conn, m, fds):
        os.close(state["fd"])
        conn.answer(state["message"], done("cancelled"))
        return {}
    p = home.popen(ats.program("atsctl"), *EXEC, "yes", stdin=subprocess.DEVNULL, stdout=stdout,
                   stderr=subprocess.PIPE)
    return b, p, state


@ats.test("when nobody reads a piped stdout the command is cancelled: 141")
def _(home):
    _, p, _ = reader_leaves(home, subprocess.PIPE)
    ats.equal(os.read(p.stdout.fileno(), 2), b"y\n")
    p.stdout.close()
    ats.equal(p.wait(ats.TIMEOUT), 141)
    ats.equal(p.stderr.read(), b"")


@ats.test("when a socket as stdout closes the command is cancelled: 141")
def _(home):
    a, s = socket.socketpair()
    b, p, state = reader_leaves(home, s)
    s.close()
    ats.equal(a.recv(2), b"y\n")
    a.close()
    write_all(state["fd"], b"y\n")
    ats.equal(p.wait(ats.TIMEOUT), 141)


def set_size(fd, rows, cols):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


@ats.test("--tty: raw while it runs, size and resize passed, restored at the end")
def _(home):
    state = {}
    running = threading.Event()

    def run(argv, fds, message, conn):
        state.update(message=message, fds=sorted(fds))
        running.set()
    b = brain_of(home, run)

    @b.on("ats/call.resize")
    def _(conn, m, fds):
        conn.answer(state["message"], done("exit", 3))
        return {}
    m, s = pty.openpty()
    set_size(s, 33, 101)
    before = termios.tcgetattr(s)

    def child():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    p = home.popen(ats.program("atsctl"), "--no-start", "exec", "--tty", "--", "vi", stdin=s,
                   stdout=s, stderr=subprocess.PIPE, preexec_fn=child)
    ats.check(running.wait(ats.TIMEOUT), "no request")
    params = state["message"]["params"]
    ats.equal((params["tty"], params["rows"], params["cols"]), (True, 33, 101))
    ats.equal(state["fds"], ["stdin", "stdout"])
    ats.until(lambda: not termios.tcgetattr(s)[3] & termios.ICANON, "raw mode")
    set_size(m, 40, 120)
    ats.equal(p.wait(ats.TIMEOUT), 3)
    got = b.requests("ats/call.resize")[-1]["params"]
    ats.equal((got["rows"], got["cols"]), (40, 120))
    ats.equal(termios.tcgetattr(s)[:4], before[:4])
    os.close(m)
    os.close(s)


# ---- call ------------------------------------------------------------------------------------

def result(text, is_error=False, outcome="done"):
    return {"call": "c-1", "outcome": outcome, "is_error": is_error,
            "content": [{"type": "text", "text": text}, {"type": "image", "mimeType": "image/png",
                                                         "data": ""}]}


@ats.test("call: a terminal is sent nothing that it would obey, a pipe the text as it is")
def _(home):
    b = brain_of(home, lambda *a: done())
    text = "one\tn\x1b]0;t\x07\x9b2J\u202e\ntwo"
    b.on("ats/tool.call")(lambda c, m, f: result(text))
    args = (ats.program("atsctl"), "--no-start", "call", "LS", "{}")
    m, s = pty.openpty()
    tty = termios.tcgetattr(s)
    tty[1] &= ~termios.OPOST
    termios.tcsetattr(s, termios.TCSANOW, tty)
    p = home.popen(*args, stdin=subprocess.DEVNULL, stdout=s, stderr=subprocess.DEVNULL)
    ats.equal(p.wait(ats.TIMEOUT), 0)
    want = b"one\tn?]0;t??2J?\ntwo\n[image/png; --json shows it]\n"
    got = b""
    while len(got) < len(want):
        got += os.read(m, 65536)
    ats.equal(got, want)
    os.close(m)
    os.close(s)
    p = home.popen(*args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    ats.check(p.communicate()[0].startswith(text.encode()), "the text")


@ats.test("call prints the text, --json the whole; exit codes")
def _(home):
    b = brain_of(home)
    b.on("ats/tool.call")(lambda c, m, f: result("a\tb\né", m["params"]["name"] == "Bad",
                                                 m["params"]["arguments"].get("o", "done")))
    r = home.ctl("--no-start", "call", "Read", '{"file_path":"x"}', code=0)
    ats.equal(r.stdout.decode(), "a\tb\né\n[image/png; --json shows it]\n")
    ats.equal(b.seen[-1]["params"]["arguments"], {"file_path": "x"})
    home.ctl("--no-start", "call", "Bad", "{}", code=1)
    home.ctl("--no-start", "call", "Read", '{"o":"unknown"}', code=125)
    r = home.ctl("--no-start", "call", "--json", "Read", "-", input='{"n": 1}', code=0)
    ats.equal(json.loads(r.stdout)["content"][0]["text"], "a\tb\né")
    ats.equal(b.seen[-1]["params"]["arguments"], {"n": 1})


@ats.test("call asks for the same call again after a loss")
def _(home):
    b = brain_of(home)

    @b.on("ats/tool.call")
    def _(conn, m, f):
        if len(b.requests("ats/tool.call")) < 3:
            conn.close()
            return None
        return result("x")
    home.ctl("--no-start", "call", "Edit", "{}", code=0)
    ats.equal(len({m["params"]["call_id"] for m in b.requests("ats/tool.call")}), 1)


@ats.test("a call that a lost brain may have run is not said to be undone, whatever comes of it then")
def _(home):
    b = brain_of(home)

    def lost_once(code):
        n = len(b.requests("ats/tool.call"))

        @b.on("ats/tool.call")
        def _(conn, m, f):
            if len(b.requests("ats/tool.call")) > n + 1:
                raise Fail("it was refused", code)
            conn.close()
    for code, unknown in (("no_memory", True), ("unknown_id", True), ("table_full", False)):
        lost_once(code)
        said = home.ctl("--no-start", "call", "Edit", "{}", code=125).stderr.decode()
        ats.contains(said, "it was refused")
        ats.equal("may have run" in said, unknown, said)
    b.on("ats/tool.validate")(lambda c, m, f: c.close())
    said = home.ctl("--no-start", "call", "--validate", "Edit", "{}", code=125).stderr.decode()
    ats.equal(("was lost" in said, "may have run" in said), (True, False), said)
    # and when no brain can be had
    b.answer_vault = lambda name, values: ("FAILED", 201, "unknown session") if \
        b.requests("ats/tool.call")[n:] else None
    n = len(b.requests("ats/tool.call"))
    lost_once("")
    said = home.ctl("--no-start", "call", "Edit", "{}", code=125).stderr.decode()
    ats.matches(said, r"may have run.*unknown session")


@ats.test("Ctrl-C cancels a call")
def _(home):
    b = brain_of(home)
    open_call = []
    b.on("ats/tool.call")(lambda c, m, f: open_call.append(m))

    @b.on("ats/call.cancel")
    def _(conn, m, f):
        conn.answer(open_call[0], result("cancelled", True))
        return {}
    p = home.popen(ats.program("atsctl"), "--no-start", "call", "Bash", "{}",
                   stdout=subprocess.PIPE)
    b.wait_requests("ats/tool.call")
    p.send_signal(signal.SIGINT)
    ats.equal(p.wait(ats.TIMEOUT), 1)


ats.main()
