#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The control group of a box: who is in it, what is left of it, and who cleans up."""
import concurrent.futures
import os
import signal
import subprocess

from box import Box, OTHER_UID, ats


def parents():
    """Where this process's groups of memory and processes are, as directories."""
    found = []
    with open("/proc/self/cgroup", encoding="ascii") as f:
        rows = [x.rstrip("\n").split(":", 2) for x in f]
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        mounts = [x.split() for x in f]
    for _, names, path in rows:
        for m in mounts:
            kind, options = m[m.index("-") + 1], m[-1].split(",")
            v1 = kind == "cgroup" and {"memory", "pids"} & set(names.split(",")) & set(options)
            if v1 or (kind == "cgroup2" and names == ""):
                below = os.path.relpath(path, m[3])
                d = os.path.normpath(os.path.join(m[4], below))
                if os.path.isdir(d):
                    found.append(d)
    return found


def of(*pids):
    """Of these launchers; other tests have theirs."""
    names = {"ats-box-%d" % p for p in pids}
    return {os.path.join(d, n) for d in parents() for n in os.listdir(d) if n in names}


def a_box_with_one():
    b = Box()
    if b.confinement["limits"]["mem"] != "cgroup":
        b.close()
        ats.skip("no cgroup can be made by this user")
    return b


def members(group):
    with open(os.path.join(group, "cgroup.procs"), encoding="ascii") as f:
        return {int(x) for x in f.read().split()}


@ats.test("what runs tools is in the group of its box, the launcher is not", home=False)
def _():
    with a_box_with_one() as b:
        b.start("Bash", command="touch up; sleep 1000")
        ats.until(lambda: os.path.exists(b.path("up")), "it runs")
        mine = of(b.proc.pid)
        ats.check(mine)
        for g in mine:
            inside = members(g)
            ats.check(b.proc.pid not in inside)
            names = {ats.comm(p) for p in inside}
            ats.check({"ats-init", "zygote-shell", "bash"} <= names, names)


@ats.test("a box that ends in order takes its group along", home=False)
def _():
    with a_box_with_one() as b:
        b.out("true")
        mine = of(b.proc.pid)
        ats.check(mine)
        b.proc.terminate()
        ats.equal(b.proc.wait(10), 0)
        ats.equal(of(b.proc.pid), set())


@ats.test("a group that a kill -9 left is removed by the next box, a living one is not",
          home=False)
def _():
    with a_box_with_one() as living, a_box_with_one() as b:
        b.start("Bash", command="setsid sleep 1000 & sleep 1000")
        b.out("true")
        below, mine = b.processes(), of(b.proc.pid)
        b.proc.send_signal(signal.SIGKILL)
        b.proc.wait()
        ats.wait_gone(below, 10)
        ats.equal(of(b.proc.pid), mine)
        with a_box_with_one():
            ats.equal(of(b.proc.pid), set())
            ats.check(of(living.proc.pid))
        ats.equal(living.out("echo alive"), "alive")


def run(*args):
    p = subprocess.Popen([ats.program("ats-hands"), *args], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return p.pid, p.communicate(timeout=60)[0].decode()


@ats.test("a refused start and the probe leave no group", home=False)
def _():
    probe, out = run("--probe")
    ats.contains(out, '"cgroup"')
    refused, _ = run("--stdio", "--workspace", "/no/such")
    ats.equal(of(probe, refused), set())


@ats.test("twenty launchers at once get a group each, and leave none", home=False, long=ats.PARTLY)
def _():
    with a_box_with_one():
        pass
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        for pid, out in pool.map(lambda _: run("--probe"), range(ats.rounds(40, 200))):
            ats.contains(out, '{"name":"cgroup","state":"on"}')
            ats.equal(of(pid), set())


@ats.test("who may not write a group gets a box without one, and a reason", home=False)
def _():
    if os.geteuid() != 0:
        ats.skip("needs root to become another user")
    p = subprocess.run([ats.program("ats-hands"), "--probe"], capture_output=True, timeout=20,
                       check=False, user=OTHER_UID, group=OTHER_UID, extra_groups=[])
    out = p.stdout.decode()
    if '{"name":"cgroup","state":"on"}' in out:
        ats.skip("that user may")
    ats.matches(out, '"cgroup","state":"off","why":"[^"]+","remedy":"[^"]*Delegate=yes')


@ats.test("tools see no cgroup file system", home=False)
def _():
    with a_box_with_one() as b:
        ats.equal(b.out("ls -A /sys 2>/dev/null; grep -c cgroup /proc/self/mountinfo; true"), "0")
        r = b.sh("mkdir c; mount -t cgroup2 none c || mount -t cgroup -o memory none c")
        ats.check(r.error, r.text)


ats.main()
