#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hands that is started before its key is there (--key-wait), and ats-hands take-key, which puts one
there: what comes is taken whole, what does not come ends it, and before it nothing is connected to."""
import contextlib
import ctypes
import errno
import os
import resource
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from net_hands import ID, KEY, NetHands, key_text, sh, text

USER = 54321                # nobody's elsewhere: what is counted for a user is used up below


def waiting(wait="30", how="LISTEN", address="tcp://127.0.0.1:0", there=None, **more):
    """A hands without a key yet: it is to come to h.late; there: a file's text before it starts."""
    def env(h):
        os.mkdir(h.top + "/late", 0o700)
        if "uid" in more:
            os.chown(h.top + "/late", more["uid"], -1)
        os.makedirs(h.ws + "/old", 0o755)
        h.late = h.top + "/late/key"
        if there is not None:
            with open(h.late, "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as f:
                f.write(there)
        return {"PATH": os.environ["PATH"], "ATS_HANDS_" + how: address,
                "ATS_HANDS_KEY_FILE": h.late, "ATS_HANDS_KEY_WAIT": wait}
    return NetHands(address=None, env_of=env, **more)


def until_waits(h):
    ats.until(lambda: "waits for its key" in h.log() or h.proc.poll() is not None, "it waits")
    ats.equal(h.proc.poll(), None, h.log())


def take(h, given, code=0, path=None):
    """What take-key printed, and said is wrong."""
    r = subprocess.run([ats.program("ats-hands"), "take-key", path or h.late], input=given.encode(),
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ats.TIMEOUT,
                       check=False)
    ats.equal(r.returncode, code, r.stderr)
    ats.missing(r.stdout + r.stderr, KEY.hex()[:16].encode())
    return r.stdout.decode(), r.stderr.decode()


def forgotten(pid):
    for part in ats.memory(pid):
        ats.check(KEY not in part and KEY.hex().encode() not in part, pid)


@ats.test("the key comes by take-key, and is there for the next start; with it comes a workspace",
          home=False)
def _():
    with waiting() as h:
        until_waits(h)
        ats.equal(h.processes(), set(), "no box, no dialer, no listener")
        ws = h.ws + "/old/of a/session"
        ats.equal(take(h, key_text() + "workspace=%s\n\nmore that is nobody's" % ws),
                  ("wants\ntook %s\n" % ID, ""))
        b = h.brain()
        b.attach()
        sh(b, ws, "pwd; touch made")
        ats.contains(text(b), ws)
        ats.check(os.path.exists(ws + "/made"))
        if os.geteuid() == 0 and not ats.SANITIZED:
            forgotten(h.proc.pid)
            for pid in h.processes():
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):    # has ended
                    if ats.comm(pid) != "ats-front":
                        forgotten(pid)
        ats.equal(os.listdir(h.top + "/late"), ["key"])
        ats.equal(os.stat(h.late).st_mode & 0o777, 0o400)
        # Who comes later hears of it, and changes nothing.
        ats.equal(take(h, key_text(sandbox="b-000000000002")), ("has %s\n" % ID, ""))
        with open(h.late, encoding="ascii") as f:
            ats.contains(f.read(), key_text())


@ats.test("two who give a key at once: one is taken, and the other told of it", home=False)
def _():
    with waiting() as h:
        until_waits(h)
        ids = ["b-00000000000%d" % n for n in range(2, 8)]
        runs = [subprocess.Popen([ats.program("ats-hands"), "take-key", h.late],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in ids]
        for p in runs:
            ats.equal(p.stdout.readline(), b"wants\n")
        for p, i in zip(runs, ids):
            p.stdin.write(key_text(sandbox=i).encode())
            p.stdin.close()
        said = [p.stdout.read().decode().split() for p in runs]
        ats.equal([p.wait(ats.TIMEOUT) for p in runs], [0] * len(ids))
        with open(h.late, encoding="ascii") as f:
            won = f.read().split(":")[1]
        ats.equal(sorted(said), sorted([["took", won]] + [["has", won]] * (len(ids) - 1)))
        ats.equal(os.listdir(h.top + "/late"), ["key"])


@ats.test("a volume of a cluster: the directory of a name that is exchanged", home=False)
def _():
    with waiting() as h:
        late = os.path.dirname(h.late)
        os.symlink("..data/key", h.late)        # of nothing yet
        until_waits(h)
        os.mkdir(late + "/..1")
        with open(late + "/..1/key", "w", encoding="ascii",
                  opener=lambda p, f: os.open(p, f, 0o400)) as f:
            f.write(key_text())
        os.symlink("..1", late + "/..data_tmp")
        os.rename(late + "/..data_tmp", late + "/..data")
        h.brain().attach()


@ats.test("no key in that time: it ends, says what to do, and has connected to nobody", home=False)
def _():
    with socket.create_server(("127.0.0.1", 0)) as s:
        s.settimeout(0)
        with waiting("1", "CONNECT", "tcp://127.0.0.1:%d" % s.getsockname()[1]) as h:
            status, log = h.refused()
            ats.equal(status, 1)
            ats.contains(log, "no key came to %s in 1 s (--key-wait)" % h.late)
            ats.contains(log, "remedy: start it again, and give it one in that time")
            try:
                s.accept()
            except BlockingIOError:
                pass
            else:
                raise ats.Failure("it has connected")


@ats.test("asked to end while it waits it does, at once and in order", home=False)
def _():
    for sig in (signal.SIGTERM, signal.SIGINT):
        with waiting() as h:
            until_waits(h)
            before = time.monotonic()
            h.proc.send_signal(sig)
            ats.equal(h.proc.wait(ats.TIMEOUT), 0, h.log())
            ats.check(time.monotonic() - before < 5)


@ats.test("what is wrong about a key is said to who gives it; hands still waits", home=False)
def _():
    with waiting() as h:
        until_waits(h)
        good = key_text()
        for given, says in (
                ("", "the key is not one line"),
                ("\n", "the key is not one line"),
                (good[:-3] + "\n", "the key is not one line"),
                ("x" * 10000, "more than"),
                (good + "workspace=relative\n", "workspace=PATH"),
                (good + "workspace=/a/../b\n", "workspace=PATH"),
                (good + "workspace=/a//b\n", "workspace=PATH"),
                (good + "workspace=\n", "workspace=PATH"),
                (good + "workspace=/a\nworkspace=/b\n", "workspace=PATH"),
                (good + "workspace=/a\0b\n", "workspace=PATH"),
                (good + "min_level=none\n", "workspace=PATH"),
                (good + "workspace=/" + "d" * 4096 + "\n", "workspace=PATH")):
            out, err = take(h, given, code=1)
            ats.equal(out, "wants\n")
            ats.contains(err, "ats-hands: take-key: ")
            ats.contains(err, says)
            ats.equal(os.listdir(h.top + "/late"), [])
        ats.contains(take(h, good, code=1, path=h.top + "/nowhere/key")[1], "No such file")
        ats.contains(take(h, good, code=2, path="key")[1], "usage:")
        with open(h.top + "/junk", "w", encoding="ascii") as f:
            f.write("junk")
        out, err = take(h, good, code=1, path=h.top + "/junk")
        ats.equal(out, "")
        ats.contains(err, "is there, and no key")
        ats.equal(h.proc.poll(), None)
        take(h, good)
        h.brain().attach()


@ats.test("a workspace that is elsewhere, or behind a link that was left there: not started",
          home=False)
def _():
    for path, says in (("/etc", "or below it"), ("%s-not", "or below it"), ("%s/..x/link/a", "link")):
        with waiting() as h:
            until_waits(h)
            if "%s" in path:
                path %= h.ws
            if "link" in path:
                os.mkdir(h.ws + "/..x")
                os.mkdir(h.top + "/else")
                os.symlink(h.top + "/else", h.ws + "/..x/link")
            take(h, key_text() + "workspace=%s\n" % path)
            status, log = h.refused()
            ats.equal(status, 1)
            ats.contains(log, says)
            if "link" in path:
                ats.equal(os.listdir(h.top + "/else"), [])


@ats.test("a key put there with a mode that others can read, an empty one, one that is there before",
          home=False)
def _():
    with waiting() as h:
        until_waits(h)
        os.umask(0o022)
        with open(h.late, "w", encoding="ascii") as f:
            f.flush()
            f.write(key_text())
        ats.contains(h.refused()[1], "can be read by others (mode 644)")
    with waiting("1", there="") as h:
        ats.contains(h.refused()[1], "no key came")
    with waiting("1", there=key_text()) as h:
        h.brain().attach()
        ats.missing(h.log(), "waits for its key")
        ats.check(os.path.exists(h.late))


@ats.test("where inotify's instances are used up it looks by itself", home=False)
def _():
    if os.geteuid() != 0:
        ats.skip("a user of its own is wanted")
    ready, held = os.pipe()
    user = os.fork()
    if user == 0:                       # all that this user may have, until the pipe's end
        try:
            os.close(ready)
            libc = ctypes.CDLL(None, use_errno=True)
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
            os.setuid(USER)
            n = 0
            while libc.inotify_init1(os.O_CLOEXEC) >= 0:
                n += 1
            os.write(held, b"x" if ctypes.get_errno() == errno.EMFILE and n < most - 9 else b"-")
            signal.pause()
        finally:
            os._exit(1)
    try:
        os.close(held)
        if os.read(ready, 1) != b"x":
            ats.skip("a user may have more instances than this process descriptors")
        with waiting(uid=USER) as h:
            until_waits(h)
            ats.contains(h.log(), "looked at once a second")
            with open(h.late + ".1", "w", encoding="ascii",
                      opener=lambda p, f: os.open(p, f, 0o600)) as f:
                f.write(key_text())
            os.chown(h.late + ".1", USER, USER)
            os.rename(h.late + ".1", h.late)
            h.brain().attach()
    finally:
        os.kill(user, signal.SIGKILL)
        os.waitpid(user, 0)
        os.close(ready)


@ats.test("wrong flags", home=False)
def _():
    for flags, says in ((("--key-wait", "5"), "--key-wait needs --key-file"),
                        (("--key-file", "/x", "--key-wait", "no"), "key-wait"),
                        (("--key-file", "/x", "--key-wait", "99999999"), "key-wait")):
        r = subprocess.run([ats.program("ats-hands"), "--workspace", "/tmp", "--connect",
                            "tcp://127.0.0.1:1", *flags], stderr=subprocess.PIPE, check=False,
                           timeout=ats.TIMEOUT)
        ats.equal(r.returncode, 2)
        ats.contains(r.stderr.decode(), says)


ats.main()
