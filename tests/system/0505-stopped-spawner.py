#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A spawner that is stopped (SIGSTOP) does not keep the next brain from starting."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

NEXT_S = 10


@ats.test("shutdown with a stopped spawner, then the next call")
def _(home):
    vault = home.start()
    spawner = home.pids("ats-spawner")[0]
    old = sorted(ats.descendants(vault))
    os.kill(spawner, signal.SIGSTOP)
    try:
        home.ctl("shutdown", code=0, timeout=30)
        before = time.monotonic()
        home.ctl("exec", "--", "true", code=0)
        took = time.monotonic() - before
        ats.check(took < NEXT_S, "the next call took %.1f s" % took)
        ats.equal(ats.wait_gone([vault] + old), [], "what is left of the first brain")
        ats.check(home.brain_pid() != vault)
    finally:
        if ats.alive(spawner):
            os.kill(spawner, signal.SIGCONT)


ats.main()
