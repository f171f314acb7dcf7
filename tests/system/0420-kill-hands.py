#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls go on while hands is killed over and over: each is answered once, and what is said
to be done was done once."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import kills


killed = []


def kill_hands(home, rng):
    role = rng.choice(["launcher", "init", "front"])
    try:
        pids = ats.until(lambda: kills.of_role(home, role), role, timeout=5)
    except ats.Failure:
        return      # two died in a row, all calls are answered: the next call starts one
    os.kill(pids[-1], signal.SIGKILL)
    killed.append(role)


def storm(home, *args, **kw):
    del killed[:]
    kills.Storm(home, *args, **kw).run().tell().verify(unknown=True)
    ats.check(killed, "nothing was killed")


@ats.test("every call is answered once and applied once, whoever of hands dies", users=True)
def _(home):
    storm(home, kills.count(), 50, kill_hands)


@ats.test("one call at a time: the same", users=True)
def _(home):
    storm(home, kills.count() // 4, 10, kill_hands, width=1)


@ats.test("a burst of 100 at a time: the same")
def _(home):
    storm(home, kills.count(), 50, kill_hands, width=100)


ats.main()
