#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where sandboxes come from: over a network, by a process that connects."""
import contextlib
import json
import os
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats


def full_listener():
    """A port of this machine that does not answer: its queue is full. (sockets, port)"""
    at = socket.socket()
    at.bind(("127.0.0.1", 0))
    at.listen(0)
    port = at.getsockname()[1]
    held = [at]
    for _ in range(4):
        s = socket.socket()
        s.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            s.connect(("127.0.0.1", port))
        held.append(s)
    return held, port


def to(home, url, **more):
    home.configure({"sandbox": {"url": url}, **more})


@ats.test("an address where nobody listens: the call is answered, and says so")
def _(home):
    at = socket.socket()
    at.bind(("127.0.0.1", 0))       # not listening, and nobody else's
    to(home, "tcp://127.0.0.1:%d" % at.getsockname()[1], retry_limit=0)
    r = home.ctl("exec", "--", "true", code=125)
    ats.contains(r.stderr.decode().lower(), "refused")
    at.close()


@ats.test("while one connects the spawner goes on, and an end of brain ends that")
def _(home):
    held, port = full_listener()
    to(home, "tcp://127.0.0.1:%d" % port)
    p = home.popen(ats.program("atsctl"), "exec", "--", "true", stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    dialers = set(ats.until(lambda: home.pids("ats-dialer"), "the dialer"))
    began = time.monotonic()
    home.ctl("shutdown", code=0)
    ats.check(time.monotonic() - began < 5, "brain waited for the dialer")
    ats.wait_gone(dialers)
    p.communicate(timeout=20)
    for s in held:
        s.close()


@ats.test("its last session is closed while it connects: that ends")
def _(home):
    held, port = full_listener()
    to(home, "tcp://127.0.0.1:%d" % port)
    p = home.popen(ats.program("atsctl"), "exec", "--", "true", stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ats.until(lambda: home.pids("ats-dialer"), "the dialer")
    for s in json.loads(home.ctl("--json", "session", "ls").stdout)["sessions"]:
        home.ctl("session", "close", s["id"], code=0)
    ats.until(lambda: not home.pids("ats-dialer"), "the dialer ends", 5)
    p.communicate(timeout=20)
    for s in held:
        s.close()


ats.main()
