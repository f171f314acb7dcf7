#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ats-brain with failing allocations in the vault and the spawner, and in reading the
configuration: a request is answered once, a start fails with words or succeeds, and a
registration that failed is whole or not there."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import faults

END_S = 20
CONFIG = {"limits": {"calls": 64}, "log_level": "info", "sandbox": {"read_only": ["/usr"]}}


def start(run):
    """The brain's process when it is ready, None when it said why not and ended."""
    r, w = os.pipe()
    log = os.path.join(run.home.state, "ats")
    os.makedirs(log, 0o700, exist_ok=True)
    os.makedirs(os.path.join(run.home.run, "ats"), 0o700, exist_ok=True)
    with open(os.path.join(log, "brain.log"), "ab") as f:
        p = run.home.popen(ats.program("ats-brain"), "--ready-fd", str(w), pass_fds=(w,),
                           stdin=subprocess.DEVNULL, stdout=f, stderr=f)
    os.close(w)
    ats.wait_readable(r, END_S)
    said = os.read(r, 1000)
    os.close(r)
    if said == b"ready\n":
        return p
    run.ended_well(p.wait(END_S), may=(1, 125))
    return None


def ask(run, p, *what):
    """Two tries; the second in a connection of its own."""
    for _ in range(2):
        try:
            v = run.home.vault()
            return v.ask(*what)
        except ats.VaultError as e:
            error = e
        except ats.Failure as e:
            if "closed" not in str(e):
                raise
            error = e
        except OSError as e:
            error = e
    ats.check(False, "%s failed twice: %s; the brain ended: %s" % (what, error, p.poll()))


def brain(run):
    p = start(run)
    if p is None:
        return
    first = ask(run, p, "REGISTER", run.home.ws, "name:a")
    ats.equal(ask(run, p, "REGISTER", run.home.ws, "name:a"), first, "registered twice")
    second = ask(run, p, "REGISTER", run.home.ws, "name:b")
    ats.equal(second[1], first[1], "the same workspace has one sandbox")
    ats.equal(ask(run, p, "FIND_SESSION", first[0]), first)
    ask(run, p, "VAULT_STATUS")
    door = run.home.door(first[0])
    listed = door.request("ats/session.list")
    ids = {s["id"] for s in listed["sessions"]}
    ats.check({first[0], second[0]} <= ids, listed)
    door.close()
    ask(run, p, "CLOSE_SESSION", second[0])
    try:
        ask(run, p, "SHUTDOWN")
    except ats.Failure:
        ats.check(p.poll() is not None or p.wait(END_S) is not None, "no shutdown")
    run.ended_well(p.wait(END_S))


for process, about in (("vault", 40), ("spawner", 3)):
    faults.each(process, "registrations, status and shutdown", about=about)(brain)


@faults.each("vault", "reading the configuration", about=9)
def _(run):
    run.home.configure(CONFIG)
    r = subprocess.run([ats.program("ats-brain"), "-n"], env=run.home.env, timeout=END_S,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    with open(os.path.join(run.home.state, "n.log"), "wb") as f:
        f.write(r.stdout)
    run.ended_well(r.returncode, may=(0, 1, 2))
    ats.check(r.stdout.strip(), "not a word")


ats.main()
