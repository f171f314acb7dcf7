#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""atsctl mcp waits for a brain that does not come, and its client leaves: it ends with it, wherever
it waits. Who has asked and then closed its pipe gets what a brain that comes soon answers."""
import contextlib
import fcntl
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from fake_door import FakeBrain

LIB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib")
ASKED = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n'
SOON = 3        # s; each of the waits would be 15 or more


def with_brain(home, script):
    """atsctl beside an ats-brain that is that script."""
    d = os.path.join(home.dir, "bin")
    os.mkdir(d)
    shutil.copy(ats.program("atsctl"), d)
    with open(d + "/ats-brain", "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n" + script)
    os.chmod(d + "/ats-brain", 0o755)
    return d + "/atsctl"


def runtime(home):
    d = os.path.join(home.run, "ats")
    os.makedirs(d, 0o700, exist_ok=True)
    return d


def lock(home, name):
    fd = os.open(os.path.join(runtime(home), name), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd


def has_open(p, name):
    with contextlib.suppress(OSError):
        return any(os.readlink("/proc/%d/fd/%s" % (p.pid, fd)).endswith(name)
                   for fd in os.listdir("/proc/%d/fd" % p.pid))
    return False


class Started:
    """atsctl mcp with a pipe, or a socket as Node gives it, for standard input."""

    def __init__(self, home, program=None, node=False):
        self.ours, theirs = socket.socketpair() if node else (None, None)
        self.p = home.popen(program or ats.program("atsctl"), "mcp",
                            stdin=theirs or subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
        if node:
            theirs.close()

    def leaves(self):
        if self.ours is not None:
            self.ours.shutdown(socket.SHUT_WR)
        else:
            self.p.stdin.close()

    def ends(self, within=SOON, code=0):
        began = time.monotonic()
        try:
            self.p.wait(ats.TIMEOUT)
            took = time.monotonic() - began
            said = self.p.stderr.read().decode()
            ats.equal(self.p.returncode, code, said)
            ats.check(took < within, "%.1f s: %s" % (took, said))
        finally:
            if self.ours is not None:
                self.ours.close()
        return said


@contextlib.contextmanager
def starts(home):
    """A brain that never is ready; yields when it waits."""
    fifo = os.path.join(home.dir, "started")
    os.mkfifo(fifo)
    program = with_brain(home, "echo $$ > %s; exec sleep 1000\n" % fifo)
    s = Started(home, program, node=True)
    with open(fifo, encoding="ascii") as f:
        pid = int(f.read())
    try:
        yield s
    finally:
        os.kill(pid, 9)


@contextlib.contextmanager
def starts_elsewhere(home):
    """Another atsctl starts one, and does not come to an end."""
    fd = lock(home, "start.lock")
    s = Started(home)
    ats.until(lambda: has_open(s.p, "start.lock"), "it waits for start.lock")
    yield s
    os.close(fd)


@contextlib.contextmanager
def ends_slowly(home):
    """An old brain holds its lock, and does not listen any more."""
    fd = lock(home, "brain.lock")
    s = Started(home, node=True)
    ats.until(lambda: has_open(s.p, "brain.lock"), "it waits for brain.lock")
    yield s
    os.close(fd)


@contextlib.contextmanager
def accepts_alone(home):
    """A socket that takes the question, and says nothing."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(os.path.join(runtime(home), "vault.sock"))
        listener.listen(4)
        s = Started(home)
        conn, _ = listener.accept()
        with conn:
            ats.check(len(conn.recv(65536)) > 0)
            yield s


@contextlib.contextmanager
def attaches_nobody(home):
    """A brain whose door is silent."""
    brain = FakeBrain(runtime(home))
    home.open_things.append(brain)
    asked = threading.Event()
    brain.on("ats/session.attach")(lambda c, m, f: asked.set())
    s = Started(home)
    ats.check(asked.wait(ats.TIMEOUT), "it asks at the door")
    yield s


@contextlib.contextmanager
def is_lost(home):
    """One that was there, and whose successor does not come."""
    brain = FakeBrain(runtime(home))
    home.open_things.append(brain)
    s = Started(home)
    brain.wait_for(lambda: brain.attached, "it is attached")
    fd = lock(home, "brain.lock")
    brain.stop()
    ats.until(lambda: has_open(s.p, "brain.lock"), "it waits for the next one")
    yield s
    os.close(fd)


for way in (starts, starts_elsewhere, ends_slowly, accepts_alone, attaches_nobody, is_lost):
    def _(home, way=way):
        with way(home) as s:
            s.leaves()
            ats.equal(s.ends(), "")
    ats.case("the client leaves while brain %s" % way.__name__.replace("_", " "), _)


@ats.test("what was asked before is answered by a brain that comes after the end of stdin")
def _(home):
    gate = os.path.join(home.dir, "gate")
    os.mkfifo(gate)
    program = with_brain(home, "echo > %s; read x < %s\nexec %s %s/fake_door.py \"$@\"\n" % (
        gate, gate, sys.executable, os.path.abspath(LIB)))
    s = Started(home, program)
    s.p.stdin.write(ASKED)
    s.p.stdin.flush()
    with open(gate, encoding="ascii") as f:
        f.read()
    s.leaves()
    with open(gate, "w", encoding="ascii") as f:
        f.write("\n")
    ats.contains(s.p.stdout.read(), b'"serverInfo"')
    s.ends()
    subprocess.run([program, "shutdown"], env=home.env, check=True)


@ats.test("who asks for nothing hears why a brain refuses")
def _(home):
    program = with_brain(home, "echo not this one >&3\n")
    r = subprocess.run([program, "mcp"], input=b"", env=home.env, cwd=home.ws, check=False,
                       capture_output=True, timeout=ats.TIMEOUT)
    ats.equal(r.returncode, 125)
    ats.contains(r.stderr, b"brain did not start: not this one; see ")


@ats.test("and when none comes it says so, soon")
def _(home):
    with ends_slowly(home) as s:
        s.ours.sendall(ASKED)
        s.leaves()
        ats.equal(s.ends(9, 125), "atsctl: mcp: standard input has ended, and no brain came soon "
                  "after that\n")


ats.main()
