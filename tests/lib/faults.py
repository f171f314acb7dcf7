# SPDX-License-Identifier: Apache-2.0
"""Loops over ATS_FAULT=alloc:N for one process, and what must hold under every N.

    @faults.each("engine")
    def _(run): ...         run.home, run.n; run.fired() tells whether the N-th one was reached

N goes up from 1 until a run ends without the fault. With ATS_FAULT_SHORT=K only K values of
N are taken, by ATS_SEED: from 10 on out of all that there are, below out of about so many.
A crash (signal, sanitizer) or a hang (deadline of what waits) fails the N at once.
"""
import os
import random
import select
import time

import ats

SHORT = int(os.environ.get("ATS_FAULT_SHORT", "0"))
SEED = int(os.environ.get("ATS_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
MOST = 20000
CLEAN_IN_A_ROW = 2
LEFT_S = float(os.environ.get("ATS_FAULT_S", "600"))

# A report is told from an exit of our own by its number.
os.environ.setdefault("ASAN_OPTIONS", "exitcode=99:allocator_may_return_null=1")
os.environ.setdefault("LSAN_OPTIONS", "exitcode=98")
os.environ.setdefault("UBSAN_OPTIONS", "exitcode=97:print_stacktrace=1")
CRASHES = (97, 98, 99)


class Run:
    def __init__(self, home, process, n):
        self.home, self.process, self.n = home, process, n

    def logs(self):
        text = ""
        for root, _, files in os.walk(self.home.state):
            for name in files:
                if name.endswith(".log"):
                    with open(os.path.join(root, name), encoding="utf-8", errors="replace") as f:
                        text += f.read()
        return text

    def fired(self):
        return "alloc fired" in self.logs()

    def ended_well(self, code, may=(0,)):
        """An exit status of the process under test: in order, never by a signal or report."""
        ats.check(code not in CRASHES and code >= 0, "crashed: exit status %s" % code)
        ats.check(code in may, "exit status %s, wanted %s" % (code, may))


def _one(fn, process, n, settings):
    old = os.environ.get("ATS_FAULT")
    os.environ["ATS_FAULT"] = "alloc:%d,in:%s%s" % (n, process, settings)
    home = ats.Home()
    run = Run(home, process, n)
    try:
        fn(run)
        return run.fired()
    except Exception:
        print("# ATS_FAULT=%s" % os.environ["ATS_FAULT"])
        for line in run.logs().splitlines()[-60:]:
            print("# %s" % line)
        raise
    finally:
        left = home.close()
        if old is None:
            del os.environ["ATS_FAULT"]
        else:
            os.environ["ATS_FAULT"] = old
        if left:
            raise ats.Failure("alloc:%d: %s" % (n, "\n".join(left)))


def _highest(fn, process, settings):
    """The last N that is reached, by doubling and halving: some 20 runs."""
    low, high = 0, 16
    while _one(fn, process, high, settings):
        low, high = high, high * 2
    while high - low > max(1, low // 16):
        middle = (low + high) // 2
        if _one(fn, process, middle, settings):
            low = middle
        else:
            high = middle
    return low


def _all(fn, process, settings):
    clean, n, fired, end = 0, 0, 0, time.monotonic() + LEFT_S
    while clean < CLEAN_IN_A_ROW and n < MOST:
        n += 1
        if time.monotonic() > end:
            print("# out of time (ATS_FAULT_S) at alloc:%d" % n)
            break
        if _one(fn, process, n, settings):
            clean, fired = 0, fired + 1
        else:
            clean += 1
    return n, fired


def _some(fn, process, settings, about):
    rng = random.Random(SEED)
    last = _highest(fn, process, settings) if SHORT >= 10 else about
    some = sorted(rng.sample(range(1, last + 1), min(SHORT, last)))
    return last, sum(_one(fn, process, n, settings) for n in some)


def each(process, name, settings="", about=1):
    """Registers a test that runs fn(run) once for each N."""
    def register(fn):
        def loop():
            if SHORT:
                n, fired = _some(fn, process, settings, about)
            else:
                n, fired = _all(fn, process, settings)
            ats.check(fired > 0 or SHORT, "no allocation of %s ever failed" % process)
            print("# %s: alloc:1..%d, %d of them failed (ATS_SEED=%d)" % (process, n, fired, SEED))
        ats.test("%s, while allocations of %s fail one by one" % (name, process), home=False)(loop)
        return fn
    return register


def readable(things, timeout):
    """Those of things (with fileno) that can be read."""
    return select.select(things, [], [], max(0.0, timeout))[0]
