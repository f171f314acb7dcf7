#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The filters of a running box: each process has as many as it should, what they leave to
programs works, and a monitor keeps nothing. What each filter says to each call is compared
with a table by tests/unit/test_filters.c."""
import contextlib
import os
import shutil
import subprocess
import tempfile

from box import ats, test
from roles import Running, processes, roles, status

HERE = os.path.dirname(os.path.abspath(__file__))
_dir = tempfile.mkdtemp(prefix="ats-probe-")
PROBE = os.path.join(_dir, "probe")
subprocess.run(["cc", "-static", "-O1", "-w", "-D_GNU_SOURCE", "-o", PROBE,
                os.path.join(HERE, "probe.c")], check=True)
# front's own and init's: calls that are unknown, the rest. Then each one's own.
FRONT = INIT = 2
HELPER = INIT + 1       # read and write zygotes
TOOLS = INIT + 2        # shell zygotes: with personality's
SANITIZED = os.environ.get("ATS_SANITIZED")


def filters(pid):
    return int(status(pid).get("Seccomp_filters", -1))


def have(pids):
    """What those that are still there have: the kind, no new privileges, the number of filters."""
    out = set()
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            s = status(pid)
            out.add((s["Seccomp"], s["NoNewPrivs"], s["Seccomp_filters"]))
    return out


@test("every process of the box has its filters")
def _(b):
    with Running(b) as found:
        if filters(found["sleep"][0]) < 0:
            ats.skip("this kernel does not tell how many filters a process has")
        for name, n in (("ats-init", INIT), ("ats-front", FRONT), ("zygote-read", HELPER),
                        ("zygote-write", HELPER), ("zygote-shell", TOOLS),
                        ("worker-read", HELPER + 1), ("worker-write", HELPER + 1),
                        ("monitor", TOOLS + 1), ("sleep", TOOLS + 2)):
            ats.check(found.get(name), "no process %s in %s" % (name, sorted(found)))
            # One that is just being made takes its own a moment later.
            ats.until(lambda name=name, n=n: have(roles(b).get(name, [])) == {("2", "1", str(n))},
                      "each %s has %d" % (name, n))


@test("a debugger, getifaddrs and setarch work")
def _(b):
    shutil.copy(PROBE, b.path("probe"))
    os.chmod(b.path("probe"), 0o755)
    for name in ("debug", "interfaces", "no_random", "ask_persona"):
        ats.equal(b.out("./probe " + name), "done", name)


@test("a monitor keeps no variable, no argument and no descriptor of others")
def _(b):
    call = b.start("Bash", command="exec sleep 60")
    found = ats.until(lambda: (lambda r: "sleep" in r and r)(roles(b)), "a call that runs")
    table = processes(b)
    pid = int(table[found["sleep"][0]]["PPid"])
    if os.geteuid() != 0:
        ats.check(not os.access("/proc/%d/environ" % pid, os.R_OK), "readable")
        ats.skip("only root can look into it")
    ats.equal(table[pid]["NSpid"].split()[-1], "1")
    with open("/proc/%d/environ" % pid, "rb") as f:
        ats.equal(f.read(), b"")
    with open("/proc/%d/cmdline" % pid, "rb") as f:
        ats.matches(f.read().decode("ascii"), "^ats-hands\0role-zygote\0+$")
    if not SANITIZED:
        ats.equal(os.stat("/proc/%d/environ" % pid).st_uid, 0, "it is dumpable")
    for fd in os.listdir("/proc/%d/fd" % pid):
        to = os.readlink("/proc/%d/fd/%s" % (pid, fd))
        if int(fd) > 2:
            ats.matches(to, r"^(pipe|socket|anon_inode):|^/dev/null$|"
                        r"^/memfd:(guard|command) \(deleted\)$|"  # the protected names' lock, the
                        # file of its own command: to end it is not on the call's way
                        r"^/sys/fs/cgroup/.*/(memory|pids)\.[a-z_]+$", "fd " + fd)
    for fd in os.listdir("/proc/%d/fd" % found["sleep"][0]):
        ats.check(int(fd) <= 2, "the command has descriptor %s" % fd)
    b.link.send("control.cancel", call, {})
    b.wait(call)


try:
    ats.main()
finally:
    shutil.rmtree(_dir)
