#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Out of descriptors: who listens waits for one, it does not spin, and goes on."""
import contextlib
import os
import resource
import select
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine

FOR_S = 0.6


def seconds(pid):
    """Processor time that it has used."""
    with open("/proc/%d/stat" % pid, encoding="latin-1") as f:
        times = f.read().rsplit(") ", 1)[1].split()[11:13]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def limit(pid, *new):
    """Root's own power over other users' limits may be missing: done as that user."""
    with open("/proc/%d/status" % pid, encoding="latin-1") as f:
        uid = int(f.read().split("\nUid:")[1].split()[0])

    def call():
        return "%d %d" % resource.prlimit(pid, resource.RLIMIT_NOFILE, *new)

    text = call() if uid == 0 else engine.as_user(uid, call)
    return tuple(map(int, text.split()))


def starve(pid):
    """No descriptor more than it has; returns the limits of before."""
    old = limit(pid)
    fds = [int(f) for f in os.listdir("/proc/%d/fd" % pid)]
    free = next(n for n in range(len(fds) + 1) if n not in fds)
    limit(pid, (free, old[1]))
    return old


def connect(path, kind):
    s = socket.socket(socket.AF_UNIX, kind)
    s.connect(path)
    return s


def waits(pid, path, kind):
    """A connection that comes while pid has no descriptor for it, and what it costs."""
    old = starve(pid)
    s = connect(path, kind)
    before = seconds(pid)
    select.select([s], [], [], FOR_S)
    spent = seconds(pid) - before
    limit(pid, old)
    ats.check(spent < FOR_S / 4, "%s: %.2f s of %.2f" % (ats.comm(pid), spent, FOR_S))
    return s


@ats.test("the vault, the engine and front")
def _(home):
    if os.geteuid() != 0:
        ats.skip("only root can limit other processes")
    home.start()
    vault = home.brain_pid()
    engine_pid = home.pids("ats-engine")[0]
    front = home.pids("ats-front")[0]
    waits(vault, home.vault_path, socket.SOCK_SEQPACKET).close()
    ats.check(home.vault().ask("VAULT_STATUS"))
    waits(engine_pid, home.door_path, socket.SOCK_STREAM).close()
    ats.equal(home.door().request("ping"), {})
    door = [n for n in os.listdir(os.path.join(home.run, "ats")) if n.startswith("sb-")][0]
    s = waits(front, os.path.join(home.run, "ats", door), socket.SOCK_STREAM)
    link = ats.Link(s)
    link.say_hello()
    f = link.recv(ats.TIMEOUT)
    ats.equal((f.name, f.json["code"]), ("control.goodbye", "busy"))
    ats.equal(home.ctl("exec", "--", "echo", "x", code=0).stdout, b"x\n")


@ats.test("whoever starts brain with few descriptors, it has what passing them takes")
def _(home):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        home.ctl("exec", "--", "true", code=0)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    brain = home.brain_pid()
    for pid in (brain, *ats.descendants(brain)):
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            with open("/proc/%d/comm" % pid, encoding="latin-1") as f:
                if f.read() == "bash\n":        # it waits for its command
                    continue
            # The least is a worker's of the default open_files.
            ats.check(limit(pid)[0] >= min(hard, 4096 + 1024), "pid %d: %s" % (pid, limit(pid)))


ats.main()
