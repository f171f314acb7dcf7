#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Start, ends, restarts, other ways to be started, and failing closed."""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from box import Box, USERS, ats, test

HERE = os.path.dirname(os.path.abspath(__file__))
_dir = tempfile.mkdtemp(prefix="ats-deny-")
DENY = os.path.join(_dir, "deny")
subprocess.run(["cc", "-static", "-O1", "-w", "-o", DENY, os.path.join(HERE, "deny.c")],
               check=True)
os.chmod(_dir, 0o755)


def role(b, name):
    """The first process of the box with that name, e.g. zygote-shell."""
    return min(p for p in b.processes() if ats.comm(p) == name)


@test("a zygote that dies is replaced and running calls go on")
def _(b):
    call = b.start("Bash", command="until [ -e go ]; do sleep 0.01; done; echo went")
    for name in ("zygote-shell", "zygote-read", "zygote-write"):
        p = role(b, name)
        os.kill(p, signal.SIGKILL)
        ats.wait_gone([p], 10)
    ats.equal(b.out("echo again"), "again")
    b.out("echo t > f")
    ats.contains(b.tool("Read", file_path="f").text, "t")
    ats.check(not b.tool("Write", file_path="w", content="x").error)
    b.out("touch go")
    ats.equal(b.wait(call).text, "went")


@test("front's end is the box's end")
def _(b):
    b.start("Bash", command="sleep 1000")
    below = b.processes()
    os.kill(role(b, "ats-front"), signal.SIGKILL)
    ats.wait_gone(below, 10)
    ats.check(b.proc.wait(10) != 0, "exit status 0")


@test("the launcher's death ends everything")
def _(b):
    b.start("Bash", command="setsid sleep 1000 & sleep 1000")
    b.out("true")
    below = b.processes()
    ats.check(len(below) > 8, below)
    b.proc.kill()
    ats.wait_gone(below, 10)


@test("the launcher's death at any moment of the start ends everything")
def _(b):
    argv = [ats.program("ats-hands"), "--workspace", b.ws, "--sandbox", "b-000000000002",
            "--state-dir", os.path.join(b.top, "state2"), "--link-fd"]
    for d in ("", "home", "spill"):
        os.makedirs(os.path.join(b.top, "state2", d), exist_ok=True)
        os.chown(os.path.join(b.top, "state2", d), b.uid or 0, b.uid or 0)
    who = {} if b.uid is None else {"user": b.uid, "group": b.uid, "extra_groups": []}

    def begun():
        ours, theirs = socket.socketpair()
        ours.settimeout(ats.TIMEOUT)
        with theirs, open(b.log_path, "ab") as log:
            p = subprocess.Popen([*argv, str(theirs.fileno())], env={}, cwd="/", stderr=log,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 pass_fds=[theirs.fileno()], **who)
        return p, ours, time.monotonic()

    p, ours, since = begun()
    ats.check(ours.recv(1) != b"", "no hello")
    whole = 1.5 * (time.monotonic() - since)
    for part in range(64):
        p.kill()
        p.wait()
        # Whoever of the box is left holds the other end.
        try:
            while ours.recv(1 << 16):
                pass
        except ConnectionResetError:
            pass
        except socket.timeout:
            raise ats.Failure("killed after %d/64 of %.4f s: the box lives" % (part, whole))
        ours.close()
        p, ours, since = begun()
        while time.monotonic() - since < whole * part / 64:
            pass
    p.kill()
    p.wait()
    ours.close()


@test("SIGTERM ends the box in order")
def _(b):
    b.out("true")
    below = b.processes()
    b.proc.terminate()
    ats.wait_gone(below, 10)
    ats.equal(b.proc.wait(10), 0)


@test("no process but init is uid 0, none of a tool has a capability")
def _(b):
    b.out("true")
    for p in b.processes():
        try:
            with open("/proc/%d/status" % p, encoding="ascii", errors="replace") as f:
                s = dict(x.split(":", 1) for x in f.read().splitlines() if ":" in x)
        except (FileNotFoundError, ProcessLookupError):
            continue        # the call's monitor has ended meanwhile
        uid, name = s["Uid"].split()[0], s["Name"].strip()
        if name != "ats-init":
            ats.check(uid != "0", "%s runs as uid 0" % name)
        if name not in ("ats-init", "zygote-shell"):
            ats.equal(int(s["CapEff"], 16) | int(s["CapPrm"], 16), 0, name)
        ats.equal(s["NoNewPrivs"].strip(), "1", name)
        ats.equal(s["Seccomp"].strip(), "2", name)


def held(p):
    """What a process of the zygotes has open; the low numbers of what a shell will have are held
    free by /dev/null."""
    try:
        if not ats.comm(p).startswith("zygote-"):
            return []
        links = [os.readlink("/proc/%d/fd/%s" % (p, f)) for f in os.listdir("/proc/%d/fd" % p)]
    except (FileNotFoundError, ProcessLookupError):
        return []           # forked, and not yet called something else; or gone
    return [x for x in links if x != "/dev/null"]


@test("a worker holds no descriptor of its zygote or of the link")
def _(b):
    b.out("true")
    if os.geteuid() != 0:
        ats.skip("needs root to look")
    for p in b.processes():
        # A monitor that is being made has both ends of its pipes for a moment.
        ats.until(lambda p=p: len(held(p)) < 28 - 8, "few descriptors, not %s" % held(p))
    fds = b.out("ls -l /proc/self/fd | awk '{print $NF}'").split()
    ats.check(all(f.startswith(("/dev/null", "pipe:", "/proc/")) for f in fds[1:]), fds)


# ---- failing closed: number, name, what the log must say ------------------------------------
STEPS = ((155, "pivot_root", "pivot_root"), (442, "mount_setattr", "mount_setattr"),
         (428, "open_tree", "open_tree"), (429, "move_mount", "move_mount"),
         (446, "landlock_restrict_self", "landlock"), (126, "capset", "caps"),
         (317, "seccomp", "seccomp"), (302, "prlimit64", "limits"))


def fails_closed(number, name, said):
    def run():
        for uid in ats.some(USERS, ats.PARTLY):
            options = () if name != "seccomp" else ()
            try:
                b = Box(uid, options, prefix=(DENY, str(number), "1"))
            except ats.Failure:
                continue
            # Front may have been told of the failure by its zygotes: then nothing runs.
            with b:
                ats.check(b.confinement["verified"] is False, "verified without " + name)
                ats.check(b.sh("echo hi").error, "ran without " + name)
                ats.contains(b.log(), said)
    return run


for step in STEPS:
    ats.test("without %s nothing runs" % step[1], home=False, long=ats.PARTLY)(fails_closed(*step))


# ---- other ways to start ----------------------------------------------------------------------
def start(argv, **kw):
    return subprocess.Popen([ats.program("ats-hands"), *argv], stderr=subprocess.PIPE, **kw)


def places():
    top = tempfile.mkdtemp(prefix="ats-life-", dir=_dir)
    os.makedirs(top + "/ws")
    os.makedirs(top + "/state")
    return top


def talk(link):
    _, ready = link.hello_as_brain()
    link.send("call.tool", 1, {"name": "Bash", "input": {"command": "echo hi; exit 3"},
                               "ctx": {"cwd": "/tmp"}, "deadline_ms": 9000,
                               "session": "s-000000000001"})
    r = link.expect("result", call=1)
    ats.equal(r.json["exit_code"], 3)
    return ready


@ats.test("--stdio over one socket and over two pipes", home=False)
def _():
    top = places()
    argv = ["--stdio", "--workspace", top + "/ws", "--state-dir", top + "/state"]
    ours, theirs = socket.socketpair()
    p = start(argv, stdin=theirs, stdout=theirs)
    theirs.close()
    talk(ats.Link(ours))
    ours.close()
    p.terminate()
    p.communicate(timeout=10)
    ours, theirs = socket.socketpair()
    p = start(argv, stdin=subprocess.PIPE, stdout=theirs)
    theirs.close()

    class Pipes(ats.Link):
        def send(self, *a, **kw):
            p.stdin.write(self.pack(*a, **kw))
            p.stdin.flush()

    talk(Pipes(ours))
    p.terminate()
    p.communicate(timeout=10)


@ats.test("--listen with a command: its exit code, its signals", home=False)
def _():
    top = places()
    sock = top + "/s"
    argv = ["--listen", "unix:" + sock, "--workspace", top + "/ws", "--state-dir",
            top + "/state", "--"]
    p = start(argv + ["sh", "-c", "trap 'exit 9' TERM; echo up; while :; do sleep 0.05; done"],
              stdout=subprocess.PIPE)
    ats.equal(p.stdout.readline(), b"up\n")
    talk(ats.Link.connect(sock))
    p.terminate()
    ats.equal(p.wait(10), 9)
    for script, code in (("exit 5", 5), ("kill -KILL $$", 137)):
        p = start(argv + ["sh", "-c", script], stdout=subprocess.PIPE)
        ats.equal(p.wait(10), code)
    p = start(argv + ["/no/such"], stdout=subprocess.PIPE)
    ats.equal(p.wait(10), 127)


@ats.test("what cannot listen, or has no key, leaves no directory of its own", home=False)
def _():
    if os.getuid() != 0:
        ats.skip("needs a user of its own, whose directories no other test makes")
    uid = 61000 + os.getpid() % 4000
    for argv in (["--listen", "unix:/no/such"], ["--stdio", "--key-file", "/no/such"],
                 ["--listen", "tls://127.0.0.1:0", "--key-file", "/no/such"]):
        r = subprocess.run([ats.program("ats-hands"), "--workspace", "/usr", *argv], user=uid,
                           group=uid, extra_groups=[], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=10, check=False)
        ats.equal(r.returncode, 1, r)
        ats.contains(r.stderr, b"No such file")
        left = []
        for e in os.scandir("/tmp"):
            with contextlib.suppress(FileNotFoundError):    # another test's
                if e.name.startswith("ats-hands-") and e.stat(follow_symlinks=False).st_uid == uid:
                    left.append(e.name)
        ats.equal(left, [], argv)


@ats.test("wrong arguments are refused with a reason", home=False)
def _():
    for argv, said in ((["--stdio"], b"--workspace"), (["--workspace", "/x"], b"no peer"),
                       (["--stdio", "--workspace", "x"], b"absolute"),
                       (["--option", "limits=x"], b"limits"), (["--nope"], b"--help"),
                       (["--listen", "tcp:1"], b"--listen: an address is unix:/PATH"),
                       (["atach"], b"atach is not attach, take-key or shim"),
                       (["--option", "x=1"], b"unknown option x=1; see ats-hands --help"),
                       (["--option", "min_level=any"], b"min_level")):
        p = start(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        _, err = p.communicate(timeout=10)
        ats.equal(p.returncode, 2, argv)
        ats.contains(err, said)
    top = places()
    for ws, said in (("/", b"workspace"), (top + "/none", b"workspace"), ("/dev/null", b"work")):
        p = start(["--stdio", "--workspace", ws, "--state-dir", top + "/state"],
                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        _, err = p.communicate(timeout=10)
        ats.equal(p.returncode, 1, ws)
        ats.contains(err, said)
    os.mkdir(top + "/ws/state")
    p = start(["--stdio", "--workspace", top + "/ws", "--state-dir", top + "/ws/state"],
              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, err = p.communicate(timeout=10)
    ats.equal(p.returncode, 1)
    ats.contains(err, b"tools may read")


@ats.test("the probe names each layer", home=False)
def _():
    import json
    p = subprocess.run([ats.program("ats-hands"), "--probe"], capture_output=True,
                       timeout=20, check=False)
    probe = json.loads(p.stdout)
    names = [x["name"] for x in probe["layers"]]
    ats.check({"namespaces", "uid", "landlock", "seccomp"} <= set(names), names)
    ats.equal(p.returncode, 0 if all(x["state"] == "on" for x in probe["layers"]) else 1)
    if os.geteuid() == 0:
        chroot = tempfile.mkdtemp(prefix="ats-chroot-")
        os.makedirs(chroot + "/tmp")
        os.chmod(chroot, 0o755)
        os.chmod(chroot + "/tmp", 0o1777)
        shutil.copy(ats.program("ats-hands"), chroot + "/ats-hands")
        p = subprocess.run(["chroot", "--userspec=12345:12345", chroot, "/ats-hands",
                            "--probe"], capture_output=True, timeout=20, check=False)
        shutil.rmtree(chroot)
        off = [x for x in json.loads(p.stdout)["layers"] if x["name"] == "namespaces"][0]
        ats.equal(off["state"], "off")
        ats.contains(off["why"], "chroot")
        ats.contains(off["remedy"], "pivot_root")


try:
    ats.main()
finally:
    shutil.rmtree(_dir)
