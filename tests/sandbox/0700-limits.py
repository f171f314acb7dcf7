#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Limits: each is reached by a real program, and its behaviour at the limit is what limits.md
says, named in the result."""
import contextlib
import os
import subprocess
import sys

from box import Box, OTHER_UID, ats, test

MIB = 1 << 20
# Memory that RLIMIT_DATA does not count.
SHARED = ("python3 -c 'import mmap\nm = mmap.mmap(-1, %d << 20)\n"
          "for i in range(0, %d << 20, 4096): m[i] = 1\n%s'")


def shared(mib, then="pass"):
    return SHARED % (mib, mib, then)


def output(r):
    return r.json.get("output", {})


def named(r, kind, code, fact=None):
    ats.equal(r.exit, (kind, code), r.text)
    ats.check(r.error, r.text)
    ats.equal(output(r)["exit_by"], "kernel" if kind in ("oom", "cpu", "file_size") else
              "command", r.text)
    if fact:
        ats.check(output(r).get(fact), output(r))


# ---- a process ----------------------------------------------------------------------------
@test("file size: SIGXFSZ is named, EFBIG is guessed, 1 MiB less is fine", ["file_mib=2"])
def _(b):
    named(b.sh("head -c 3000000 /dev/zero > f"), "file_size", 153)
    named(b.sh("exec head -c 3000000 /dev/zero > f"), "file_size", 25)
    r = b.sh("python3 -c 'open(\"f\", \"wb\").write(b\"x\" * 3000000)'")
    ats.equal(r.exit, ("exit", 1))
    ats.contains(r.text, "limit for the size of one file")
    ats.equal(b.out("head -c 1000000 /dev/zero > f; stat -c %s f"), "1000000")
    # What it prints is no limit when it went well.
    ats.missing(b.out("echo File too large"), "sandbox's limit")


@test("processor time: SIGXCPU is named, and SIGKILL where that one is ignored", ["cpu_s=1"],
      long=ats.PARTLY)
def _(b):
    endless = (("while :; do :; done", 24), ("trap '' XCPU; while :; do :; done", 9),
               ("python3 -c 'while True: pass'", 152))
    for command, code in endless[:ats.rounds(2, 3)]:
        named(b.sh(command), "cpu", code)
    if ats.QUICK:
        return
    ats.equal(b.sh("kill -9 $$").exit, ("signal", 9))
    # It is a process's own: ten that use a tenth each are fine.
    b.out("for i in 1 2 3 4 5; do python3 -c 'import time\n"
          "while time.process_time() < 0.3: pass'; done")
    id = output(b.sh("while :; do :; done", run_in_background=True))["id"]
    r = b.tool("TaskOutput", task_id=id, block=True, timeout=20000)
    ats.equal(output(r)["exit_kind"], "cpu", output(r))
    ats.contains(r.text, "processor time")


@test("without cpu_s a process is as long at work as it likes")
def _(b):
    ats.equal(b.out("ulimit -t"), "unlimited")


@test("open files: EMFILE is guessed", ["open_files=64"])
def _(b):
    ats.equal(b.out("ulimit -n; ulimit -Hn").split(), ["64", "64"])
    r = b.sh("python3 -c 'f = [open(\"/dev/null\") for i in range(99)]'")
    ats.equal(r.exit, ("exit", 1))
    ats.contains(r.text, "limit of open files")


@test("memory of one process: it is refused, and the note says how near it was",
      ["memory_mib=256"])
def _(b):
    r = b.sh("python3 -c '\nx = []\nwhile True: x.append(bytearray(b\"x\") * (4 << 20))'")
    ats.equal(r.exit, ("exit", 1), r.text)
    ats.matches(r.text, r"MemoryError.*limit for one process is 256 MiB: probably")
    ats.missing(output(r), "out_of_memory")


# ---- a command ----------------------------------------------------------------------------
@test("processes of a command: a fact; another command has its own", ["processes=320"])
def _(b):
    fork = ("python3 -c 'import os\nn = 0\ntry:\n  while n < 2000:\n    n += 1\n"
            "    if os.fork() == 0: os.execv(\"/bin/sleep\", [\"sleep\", \"99\"])\n"
            "except OSError: pass\nprint(n, flush=True)\n%s'")
    first = b.start("Bash", command=fork % "import time\nwhile not os.path.exists(\"go\"): "
                    "time.sleep(0.01)\nos._exit(3)")
    ats.until(lambda: len(b.processes()) > 250, "it forks")
    if b.confinement["limits"]["pids"] == "pid_max":
        ats.equal(b.out("echo other"), "other")
    b.tool("Write", file_path="go", content="x")
    r = b.wait(first)
    named(r, "pids", 3, "process_limit_reached")
    ats.contains(r.text, "process limit")
    ats.check(250 < output(r)["survivors"] < 320, output(r))


# ---- what a user has once, on the host, too --------------------------------------------------
# Puts as many descriptors under way as can be, says how many, and keeps them there.
UNDER_WAY = """
import array, os, resource, socket, sys
if len(sys.argv) > 2:       # not earlier: the interpreter may be out of that user's reach
    os.setresuid(*[int(sys.argv[2])] * 3)
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
null, pairs, n, more = os.open("/dev/null", os.O_RDONLY), [], 0, True
while more and n < 60000:
    pairs.append(socket.socketpair())
    pairs[-1][0].setblocking(False)
    try:
        while n < 60000:
            pairs[-1][0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                           array.array("i", [null] * 250))])
            n += 250
    except BlockingIOError:
        pass
    except OSError:
        more = False
print(n, flush=True)
open(sys.argv[1], "w").write(str(n))
sys.stdin.read()
"""


# A user of its own: others' tests run beside these.
UNDER_WAY_UID = 12347


def under_way(name):
    def register(fn):
        def run():
            if os.geteuid() != 0:
                ats.skip("needs a user of its own")
            with Box(UNDER_WAY_UID) as b:
                fn(b)
        ats.case(name, run, home=False)
        return fn
    return register


@under_way("descriptors that a command has under way do not keep others from theirs")
def _(b):
    b.tool("Write", file_path="under_way.py", content=UNDER_WAY)
    b.sh("mkfifo wait; exec 3<>wait; python3 under_way.py n <&3", run_in_background=True)
    ats.until(lambda: os.path.exists(b.path("n")) and open(b.path("n")).read(), "they are there")
    ats.check(int(open(b.path("n")).read()) > 3000, "thousands")
    for i in range(6):      # more than wait ready
        ats.equal(b.out("echo %d" % i), str(i))
        ats.check(not b.tool("Read", file_path="under_way.py").error)


@under_way("a worker that cannot come is said not to, and the next one comes")
def _(b):
    hold = subprocess.Popen([sys.executable, "-c", UNDER_WAY, "/dev/null", str(b.uid)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        ats.check(int(hold.stdout.readline()) > 10000)
        b.sh("echo the one that was ready")
        r = b.sh("echo next")
        ats.check(r.error, r.text)
        ats.contains(r.text, "could not be passed on")
    finally:
        hold.stdin.close()
        hold.wait()
    ats.equal(b.out("echo after"), "after")


@test("of what is counted for a user half is left")
def _(b):
    if b.uid is None and os.geteuid() == 0:
        ats.skip("the box of root has a user of its own")
    with open("/proc/sys/fs/inotify/max_user_instances", encoding="ascii") as f:
        most = int(f.read())
    n = int(b.out("python3 -c 'import ctypes\nn = 0\nc = ctypes.CDLL(None)\n"
                  "while c.inotify_init() >= 0: n += 1\nprint(n)'"))
    ats.check(0 < n <= most // 2, "%d of %d" % (n, most))


# ---- the sandbox --------------------------------------------------------------------------
@test("memory of all together: out of memory is named, or the gap is", ["memory_mib=192"])
def _(b):
    limits, gaps = b.confinement["limits"], b.confinement["gaps"]
    ats.equal("memory-sum" in gaps, limits["mem"] != "cgroup", b.confinement)
    ats.equal(limits["mem"] in ("cgroup", "rlimit"), True)
    if limits["mem"] != "cgroup":
        ats.check(not b.sh(shared(400)).error)
        ats.skip("no cgroup can be made by this user; the gap is reported")
    named(b.sh(shared(400)), "oom", 137, "out_of_memory")
    named(b.sh("exec " + shared(400)), "oom", 9, "out_of_memory")
    # Two processes, neither of which is too big by itself; files in /dev/shm.
    hold = shared(160, "import time; time.sleep(9)")
    r = b.sh("%s & %s & wait -n; kill %%1 %%2 2>/dev/null; exit 5" % (hold, hold))
    ats.equal(r.exit, ("exit", 5), r.text)
    ats.check(output(r).get("out_of_memory"), output(r))
    ats.contains(r.text, "of this sandbox for lack of memory")
    # The box lives on, with all its parts.
    ats.equal(b.out("echo alive"), "alive")
    ats.missing(b.log(), "zygote")


@test("files in /dev/shm and /tmp are the sandbox's memory, half of it at most",
      ["memory_mib=256"])
def _(b):
    for d in ("/dev/shm", "/tmp"):
        r = b.sh("head -c 300M /dev/zero > %s/x" % d)
        ats.equal(r.exit, ("exit", 1), r.text)
        ats.contains(r.text, "No space left")
        ats.equal(b.out("stat -c %%s %s/x" % d), str(64 * MIB))
    if b.confinement["limits"]["mem"] == "cgroup":
        named(b.sh(shared(200)), "oom", 137, "out_of_memory")
        b.out("rm /tmp/x /dev/shm/x")
        ats.check(not b.sh(shared(200)).error)
    ats.missing(b.log(), "zygote")


class MemoryGroup:
    """A memory cgroup of the host, v1 or v2, or a skip."""

    def __init__(self, limit):
        for root, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                           ("/sys/fs/cgroup", "memory.max")):
            self.dir = os.path.join(root, "ats-test-%d" % os.getpid())
            try:
                os.mkdir(self.dir)
            except OSError:
                continue
            try:
                with open(os.path.join(self.dir, name), "r+", encoding="ascii") as f:
                    f.write(str(limit))
                return
            except OSError:
                os.rmdir(self.dir)
        ats.skip("no memory cgroup can be made here")

    def take(self, pid):
        with open(os.path.join(self.dir, "cgroup.procs"), "w", encoding="ascii") as f:
            f.write(str(pid))

    def remove(self):
        def gone():
            with contextlib.suppress(OSError):
                os.rmdir(self.dir)
            return not os.path.exists(self.dir)
        ats.until(gone, "the cgroup is empty", 10)


@ats.test("without a cgroup of its own a box is told by the machine's count", home=False)
def _():
    if os.geteuid() != 0:
        ats.skip("needs root to make a group around a user's shell")
    group = MemoryGroup(64 * MIB)
    try:
        with Box(OTHER_UID) as b:
            if b.confinement["limits"]["mem"] == "cgroup":
                ats.skip("this user has a cgroup of its own")
            ats.contains(b.confinement["gaps"], "memory-sum")
            for name in ("in", "out"):
                os.mkfifo(b.path(name))
                os.chmod(b.path(name), 0o666)
            call = b.start("Bash", command="echo > out; read < in; " + shared(256))
            with open(b.path("out"), encoding="ascii") as f:
                f.readline()
            for p in b.processes():
                if ats.comm(p) == "bash":
                    group.take(p)
            with open(b.path("in"), "w", encoding="ascii") as f:
                f.write("\n")
            named(b.wait(call), "oom", 137, "out_of_memory")
    finally:
        group.remove()


# ---- the disk -----------------------------------------------------------------------------
@test("the disk budget: told when a command leaves more, until it is less", ["disk_mib=8"])
def _(b):
    ats.equal(b.confinement["limits"]["disk"], "at-end")
    ats.missing(b.confinement["gaps"], "disk-sum")
    fill = "for i in 1 2 3; do head -c 2000000 /dev/urandom > %s$i; done"
    ats.missing(output(b.sh(fill % "a")), "disk_budget_exceeded")
    r = b.sh(fill % "~/b")
    ats.equal(r.exit, ("exit", 0))
    ats.equal(output(r)["disk_budget_exceeded"], True)
    ats.matches(r.text, r"workspace and HOME hold 1[12] MiB, and may hold 8 MiB")
    ats.check(output(b.sh("true"))["disk_budget_exceeded"])     # it still is
    r = b.sh("rm ~/b*")
    ats.missing(output(r), "disk_budget_exceeded")
    ats.missing(r.text, "budget")
    ats.missing(output(b.sh("true")), "disk_budget_exceeded")


@test("the disk budget is told though others free as much meanwhile", ["disk_mib=8"])
def _(b):
    other = os.path.join(b.top, "other")
    with open(other, "wb") as f:
        f.write(os.urandom(24 << 20))
        f.flush()
        os.fsync(f.fileno())
    if subprocess.run(["stat", "-f", "-c", "%T", b.top], capture_output=True,
                      check=True).stdout.strip() == b"tmpfs":
        ats.skip("a tmpfs does not count who writes")
    ats.missing(output(b.sh("true")), "disk_budget_exceeded")       # counted once
    os.mkfifo(b.path("go"), 0o666)
    os.chmod(b.path("go"), 0o666)
    call = b.start("Bash", command="head -c 12000000 /dev/urandom > a; sync a; : > done; cat go")
    ats.until(lambda: os.path.exists(b.path("done")), "it has written")
    os.remove(other)
    with open(b.path("go"), "w", encoding="ascii") as f:
        f.write("\n")
    ats.equal(output(b.wait(call)).get("disk_budget_exceeded"), True)


@test("the disk budget counts what its owner made unreadable", ["disk_mib=8"])
def _(b):
    for _ in range(5):      # others of this file system may free as much at that moment
        r = b.sh("mkdir d; head -c 20000000 /dev/urandom > d/x; sync d/x; chmod 0 d")
        if output(r).get("disk_budget_exceeded"):
            break
        b.out("chmod 700 d; rm -r d; sync .")
    ats.check(output(r).get("disk_budget_exceeded"), r.text)
    r = b.sh("chmod 700 d; rm -r d; sync .")
    ats.missing(output(r), "disk_budget_exceeded")


@test("without disk_mib nothing is counted, and the gap says so")
def _(b):
    ats.equal(b.confinement["limits"]["disk"], "none")
    ats.contains(b.confinement["gaps"], "disk-sum")


# ---- the background -----------------------------------------------------------------------
@test("background: one more than there may be is refused, a life has an end",
      ["background_jobs=2", "background_life_s=1"])
def _(b):
    ids = [output(b.sh("exec sleep 100", run_in_background=True))["id"] for _ in range(2)]
    r = b.sh("sleep 100", run_in_background=True)
    ats.equal((r.error, r.json.get("code")), (True, "table_full"))
    ats.contains(r.text, "2 commands")
    for id in ids:
        r = b.tool("TaskOutput", task_id=id, block=True, timeout=20000)
        o = output(r)
        ats.equal((o["status"], o["exit_code"], o["exit_by"]), ("killed", 137, "life_limit"))
        ats.contains(r.text, "had run for 1 s")
    ats.check(not b.sh("sleep 100", run_in_background=True).error)


# ---- what may be asked for ------------------------------------------------------------------
@ats.test("a limit that cannot be is refused with what can", home=False)
def _():
    import subprocess
    for text in ("processes=10", "cpu_s=-1", "file_mib=1x", "memory_mib=", "disk_mib=" + "9" * 30,
                 "open_files= 64", "background_jobs=49"):
        p = subprocess.run([ats.program("ats-hands"), "--option", text], check=False,
                           capture_output=True, timeout=10)
        ats.equal(p.returncode, 2, text)
        ats.matches(p.stderr.decode(), r"0, or a number from \d+ to \d+")


ats.main()
