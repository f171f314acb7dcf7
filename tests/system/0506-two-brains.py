#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One state directory, several runtime directories: a desktop login, ssh, cron. The second
brain says at once who has the state, and starts nothing."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine


def other_run(home, name="run2"):
    d = os.path.join(home.dir, name)
    os.mkdir(d, 0o700)
    if home.uid is not None:
        os.chown(d, home.uid, home.uid)
    return d


def lock_path(home):
    return os.path.join(home.state, "ats", "brain.lock")


def in_use(home, pid):
    return ("state directory %s is in use by the brain at %s (pid %d); use its XDG_RUNTIME_DIR, "
            "or give this one a state directory of its own (--state, XDG_STATE_HOME)" %
            (os.path.join(home.state, "ats"), os.path.join(home.run, "ats"), pid))


@ats.test("another runtime directory on the same state: refused at once, 125, one brain stays",
          users=True)
def _(home):
    pid = home.start()
    before = home.ours()
    run2 = other_run(home)
    for args in (("exec", "--", "true"), ("call", "Bash", '{"command":"true"}'), ("mcp",)):
        begin = time.monotonic()
        r = home.ctl(*args, code=125, env={"XDG_RUNTIME_DIR": run2})
        ats.check(time.monotonic() - begin < 20, "%s took long" % args[0])
        ats.contains(r.stderr.decode(), in_use(home, pid))
        ats.equal(r.stderr.count(b"\n"), 1)
    ats.equal(home.ctl("status", code=3, env={"XDG_RUNTIME_DIR": run2}).returncode, 3)
    ats.equal(ats.wait_gone(home.ours() - before, 10), [])
    home.ctl("exec", "--", "true", code=0)
    ats.equal(home.brain_pid(), pid)
    # A state directory of its own is what the text says.
    state2 = other_run(home, "state2")
    env = {"XDG_RUNTIME_DIR": run2, "XDG_STATE_HOME": state2}
    home.ctl("exec", "--", "true", code=0, env=env)
    home.ctl("shutdown", code=0, env=env)


@ats.test("after an end, in order or by force, any runtime directory may have the state")
def _(home):
    run2 = other_run(home)
    for by_force in (False, True):
        pid = home.start()
        if by_force:
            os.kill(pid, signal.SIGKILL)
            ats.wait_gone({pid})
        else:
            home.ctl("shutdown", code=0)
        env = {"XDG_RUNTIME_DIR": run2}
        home.ctl("exec", "--", "true", code=0, env=env)
        with open(lock_path(home), encoding="utf-8") as f:
            ats.check(f.read().endswith(" %s/ats\n" % run2))
        home.ctl("shutdown", code=0, env=env)


@ats.test("a lock that does not say who holds it is respected all the same")
def _(home):
    pid = home.start()
    with open(lock_path(home), "r+", encoding="utf-8") as f:
        f.truncate(0)
        f.write("%d /%s" % (pid, "x" * 9000))
    r = home.ctl("exec", "--", "true", code=125, env={"XDG_RUNTIME_DIR": other_run(home)})
    ats.contains(r.stderr.decode(), "is in use by another brain; end it, or give this one")


@ats.test("a lock file that is a link, a FIFO, a directory or unreadable is named")
def _(home):
    victim = os.path.join(home.dir, "victim")
    with open(victim, "w", encoding="ascii") as f:
        f.write("mine")
    os.makedirs(os.path.dirname(lock_path(home)), 0o700)
    os.mkdir(os.path.join(home.run, "ats"), 0o700)
    rows = [(lambda p: os.symlink(victim, p), "symbolic link"), (os.mkfifo, "not a file of ours"),
            (os.mkdir, "directory")]
    if os.geteuid() != 0:
        rows.append((lambda p: os.close(os.open(p, os.O_CREAT, 0)), "Permission denied"))
    for path in (lock_path(home), os.path.join(home.run, "ats", "brain.lock")):
        if os.path.exists(path):    # atsctl made it
            os.unlink(path)
        for make, text in rows:
            make(path)
            r = home.ctl("exec", "--", "true", code=125)
            ats.contains(r.stderr.decode(), path)
            ats.contains(r.stderr.decode(), text)
            if os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            else:
                os.unlink(path)
    with open(victim, encoding="ascii") as f:
        ats.equal(f.read(), "mine")
    home.ctl("exec", "--", "true", code=0)


@ats.test("an engine that an upgrade has put beside an older brain says so, and does not serve")
def _(home):
    e = engine.Engine(home, version="0.0.0-other", start=False)
    try:
        e.start()
    except ats.Failure as why:
        ats.contains(str(why), "the engine ended before")
    else:
        raise ats.Failure("it serves")
    with open(e.log_path, encoding="utf-8") as f:
        ats.matches(f.read(), r"brain is version 0\.0\.0-other, this ats-engine \S+: atsctl shutdown")
    ats.equal(os.listdir(e.dir), [])        # and has touched nothing


ats.main()
