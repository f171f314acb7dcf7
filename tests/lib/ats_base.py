# SPDX-License-Identifier: Apache-2.0
"""Where things are, what a test may claim, and processes. Tests import ats."""
import contextlib
import ctypes
import fcntl
import os
import re
import select
import signal
import struct
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.path.abspath(os.environ.get("ATS_BUILD", os.path.join(TOP, "build")))
TIMEOUT = 30.0
OTHER_UID = 12345       # the ordinary user whom root becomes for tests with users=True

# A shell that starts tests in the background has them ignore these, and they what they start.
for _sig in (signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(_sig) == signal.SIG_IGN:
        signal.signal(_sig, signal.default_int_handler if _sig == signal.SIGINT else
                      signal.SIG_DFL)


def test_env():
    """What steers faults and sanitizers, for a program that is started with nothing else."""
    return {k: os.environ[k] for k in ("ATS_FAULT", "ASAN_OPTIONS", "UBSAN_OPTIONS",
                                       "LSAN_OPTIONS") if k in os.environ}


def program(name):
    """The path of a program that was built."""
    return os.path.join(BUILD, name)


# ---- who runs a test ------------------------------------------------------------------------

# Which part of the tests is run. "quick": make check; "rest": what that leaves
# out, make check-rest; else both, make check-full.
_PART = os.environ.get("ATS_PART", "all")
QUICK, REST = _PART == "quick", _PART == "rest"
PARTLY, WHOLLY = "partly", "wholly"     # what is long of a test
_turn = 0


def some(ways, long=None):
    """All of them: users, situations, kinds. Where the tests are to be quick one of them, each test
    taking the next by turns; the others in the rest. long, of a test: WHOLLY has none of them in the
    quick part, PARTLY one there in a short form (rounds()), and all in the rest."""
    global _turn
    ways = list(ways)
    if not (QUICK or REST) or long == WHOLLY:
        return [] if QUICK else ways
    now, _turn = _turn % max(1, len(ways)), _turn + (len(ways) > 1)
    return ways if REST and long else [w for i, w in enumerate(ways) if (i == now) == QUICK]


def rounds(few, all_):
    """How often, how many: few where the tests are to be quick. Such a test is PARTLY long."""
    return few if QUICK else all_


# ---- checks ---------------------------------------------------------------------------------

class Skip(Exception):
    """Raised by skip(): the reason is printed."""


class Failure(Exception):
    """Raised by the checks below."""


def skip(why):
    raise Skip(why)


def check(condition, what="condition does not hold"):
    if not condition:
        raise Failure(what)


def equal(got, want, what=""):
    if got != want:
        raise Failure("%s\n got: %.2000r\nwant: %.2000r" % (what, got, want))


def contains(text, part, what=""):
    if part not in text:
        raise Failure("%s\n%.300r is not in: %.4000r" % (what, part, text))


# A sanitizer keeps freed memory and has shadows of its own: sizes say nothing there.
SANITIZED = bool(os.environ.get("ATS_SANITIZED"))


# Short reads and writes: how bytes are cut into pieces says nothing.
SHORT_IO = "short_" in os.environ.get("ATS_FAULT", "")


def small(size, limit, what):
    """A memory size that must stay under a limit, except in a build with sanitizers."""
    check(SANITIZED or size < limit, "%s: %d, wanted less than %d" % (what, size, limit))


def missing(text, part, what=""):
    if part in text:
        raise Failure("%s\n%.300r is in: %.4000r" % (what, part, text))


def matches(text, pattern, what=""):
    if not re.search(pattern, text, re.S):
        raise Failure("%s\n/%s/ does not match: %.4000r" % (what, pattern, text))


# ---- processes -----------------------------------------------------------------------------

def alive(pid):
    """True for a process that is there and not a zombie."""
    try:
        with open("/proc/%d/stat" % pid, encoding="latin-1") as f:
            return f.read().rsplit(") ", 1)[1][0] not in "ZX"
    except OSError:
        return False


def parents():
    """pid -> parent pid of every process that we see."""
    out = {}
    for d in os.listdir("/proc"):
        if d.isdigit():
            try:
                with open("/proc/%s/stat" % d, encoding="latin-1") as f:
                    out[int(d)] = int(f.read().rsplit(") ", 1)[1].split()[1])
            except OSError:
                pass
    return out


def descendants(*roots):
    """Pids below the roots, without them."""
    table = parents()
    found = set(roots)
    grew = True
    while grew:
        more = {p for p, up in table.items() if up in found} - found
        found |= more
        grew = bool(more)
    return found - set(roots)


def cmdline(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            return f.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def comm(pid):
    try:
        with open("/proc/%d/comm" % pid, encoding="utf-8", errors="replace") as f:
            return f.read().strip()
    except OSError:
        return ""


def memory(pid):
    """The bytes of each readable mapping of a process; for root. Without the kernel's own, and what
    the sanitizers only reserve."""
    with open("/proc/%d/maps" % pid, encoding="utf-8", errors="replace") as maps, \
            open("/proc/%d/mem" % pid, "rb", buffering=0) as mem:
        for line in maps:
            span, mode = line.split()[:2]
            start, end = (int(x, 16) for x in span.split("-"))
            if mode[0] != "r" or "[v" in line or end - start > 1 << 30:
                continue
            mem.seek(start)
            with contextlib.suppress(OSError):
                yield mem.read(end - start)


def find(root, text):
    """Pids below root whose command line or name holds text. The process above a program of a
    gateway has the command line of what it was forked from, and a name of its own."""
    return sorted(p for p in descendants(root) if text in comm(p) or
                  (text in cmdline(p) and comm(p) != "ats-tree"))


@contextlib.contextmanager
def paused(pid):
    """The process does not run within; what it is sent meanwhile it finds all at once."""
    os.kill(pid, signal.SIGSTOP)
    try:
        until(lambda: state_of(pid) == "T", "it stops")
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def kill_at_once(pids):
    """Kills them all, and none sees another's end before its own: first they stand still. So does
    one that waits in the kernel (D, as for a child by vfork that stands still): it stops before
    anything else."""
    def still(pid):
        try:
            return state_of(pid) in "TtZXD"
        except OSError:
            return True
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, number)
        until(lambda: all(still(p) for p in pids), "they stand still")


def state_of(pid):
    with open("/proc/%d/stat" % pid, encoding="latin-1") as f:
        return f.read().rsplit(") ", 1)[1][0]


def pidfd(pid):
    try:
        return os.pidfd_open(pid)
    except AttributeError:
        fd = ctypes.CDLL(None, use_errno=True).syscall(434, pid, 0)
        if fd < 0:
            raise OSError(ctypes.get_errno(), "pidfd_open")
        return fd


def wait_gone(pids, timeout=TIMEOUT):
    """Waits until none of them runs; returns those that still do."""
    end = time.monotonic() + timeout
    for pid in pids:
        try:
            fd = pidfd(pid)
        except OSError:
            continue
        try:
            if alive(pid):
                select.select([fd], [], [], max(0.0, end - time.monotonic()))
        finally:
            os.close(fd)
    return [p for p in pids if alive(p)]


def until(condition, what, timeout=TIMEOUT):
    """For what gives no event (a file of another program, say): asks until it is true."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure("not within %g s: %s" % (timeout, what))
        select.select([], [], [], 0.01)


# ---- files --------------------------------------------------------------------------------

_GET_FLAGS, _SET_FLAGS, _IMMUTABLE = 0x80086601, 0x40086602, 0x10


def set_immutable(path, on):
    """Nothing in the directory can be made, renamed or removed then; False: not possible here."""
    fd = os.open(path, os.O_RDONLY)
    try:
        flags = struct.unpack("l", fcntl.ioctl(fd, _GET_FLAGS, struct.pack("l", 0)))[0]
        flags = flags | _IMMUTABLE if on else flags & ~_IMMUTABLE
        fcntl.ioctl(fd, _SET_FLAGS, struct.pack("l", flags))
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
