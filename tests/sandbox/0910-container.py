#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hands in a real container: which situation it finds there, and its tools in each."""
import atexit
import json
import os
import signal
import stat
import subprocess
import time

from pod import Container, ats, engine

# name, podman's options, the workspace's owner, the level that is reached
KINDS = (("root", (), 0, "uid+landlock"),
         ("root, a user's workspace", (), 4321, "uid+landlock"),
         ("user 1000", ("--user", "1000"), 1000, "landlock"),
         ("privileged", ("--privileged",), 0, "namespaces"))


_shared = {}


def shared(run, uid):
    """The one container of a kind: a start takes longer than what is asked of it."""
    if (run, uid) not in _shared:
        c = Container(run=run, uid=uid)
        atexit.register(c.__exit__, None)
        c.link()
        _shared[run, uid] = c
    return _shared[run, uid]


def each(name, kinds=KINDS, **more):
    def register(fn):
        for kind, run, uid, level in kinds:
            def go(run=run, uid=uid, level=level):
                if not more:
                    fn(shared(run, uid), uid, level)
                    return
                with Container(run=run, uid=uid, **more) as c:
                    c.link()
                    fn(c, uid, level)
            ats.test("%s (%s)" % (name, kind), home=False)(go)
        return fn
    return register


@each("the level that is there is found, verified and reported")
def _(c, uid, level):
    ats.equal(c.hello.json["confinement"]["level"], level)
    got = c.ready.json["confinement"]
    ats.equal(got["level"], level)
    ats.check(got["verified"] is True, got)
    worker = int(c.out("id -u"))
    ats.check(worker != 0, "a tool is uid 0")
    if level == "uid+landlock":
        ats.check(worker == uid or not uid and 63000 <= worker < 64000, worker)
    probe = c.engine.podman_argv("exec", c.id, "/ats-hands", "--probe")
    p = subprocess.run(probe, env=c.engine.env, capture_output=True, timeout=60, check=False)
    ats.equal(json.loads(p.stdout)["level"], level, p.stderr)


@each("the tools work")
def _(c, uid, level):
    ats.contains(c.tool("Write", file_path="/workspace/d/s.sh",
                        content="#!/bin/bash\necho one\n").payload.decode(), "s.sh")
    ats.equal(c.out("chmod +x d/s.sh && d/s.sh"), "one")
    ats.contains(c.tool("Read", file_path="d/s.sh").payload.decode(), "echo one")
    f = c.tool("Edit", file_path="/workspace/d/s.sh", old_string="one", new_string="two")
    ats.check(f.json.get("is_error"), "an edit of what this session has not read")
    ats.equal(c.out("for i in 1 2 3; do d/s.sh; done | grep -c one"), "3")
    ats.contains(c.tool("Glob", pattern="**/*.sh").payload.decode(), "s.sh")
    ats.contains(c.tool("Grep", pattern="echo").payload.decode(), "s.sh")
    c.out("echo x > made; mkdir m; touch -d 2001-01-01 made; mv made m/; echo t > $TMPDIR/t")
    owner = os.stat(c.ws + "/m/made").st_uid
    own = int(c.out("id -u"))
    ats.equal(owner, {"namespaces": 0, "uid+landlock": own}.get(level, uid))
    ats.equal(stat.S_IMODE(os.stat(c.ws + "/d/s.sh").st_mode), 0o755)


@each("an edit of a file that was read")
def _(c, uid, level):
    c.out("echo one > f")
    read = c.tool("Read", file_path="/workspace/f").json["ctx_delta"]["reads"]
    c.calls += 1
    c.peer.send("call.tool", c.calls, {
        "name": "Edit", "input": {"file_path": "/workspace/f", "old_string": "one",
                                  "new_string": "two"},
        "ctx": {"cwd": "/workspace", "reads": read}, "deadline_ms": 60000,
        "session": "s-000000000001"})
    f = c.wait(c.calls)
    ats.check(not f.json.get("is_error"), f.payload)
    ats.equal(c.out("cat f"), "two")


@each("kill -1 by a tool is the end of its own call only")
def _(c, uid, level):
    other = c.start("Bash", command="touch on; until [ -e go ]; do sleep 0.02; done; echo went")
    ats.until(lambda: os.path.exists(c.ws + "/on"), "the other call")
    # A worker has the name of its zygote until it takes its own; it may end at any time.
    below, parent = c.below(), ats.parents()
    before = [p for p in below if ats.comm(p) in ("ats-hands", "ats-init", "ats-front") or
              (ats.comm(p).startswith("zygote-") and
               ats.comm(parent.get(p, 0)) == "ats-init")]
    ats.equal(sum(ats.comm(p).startswith("zygote-") for p in before), 3)
    c.tool("Bash", command="setsid sleep 1000 & kill -KILL -1; kill -TERM 1; kill -STOP -1")
    c.out("touch go")
    ats.equal(c.wait(other).payload.decode().strip(), "went")
    for p in before:
        ats.check(ats.alive(p), "%d ended" % p)
    ats.equal(c.out("echo again"), "again")


@each("nothing of a call outlives it")
def _(c, uid, level):
    c.out("for i in 1 2 3; do (setsid sh -c '(trap \"\" HUP TERM; sleep 1001) & sleep 1001' &) "
          "done; setsid sleep 1001 & disown; true")
    ats.equal([p for p in c.below() if "1001" in ats.cmdline(p)], [])
    c.tool("Bash", ms=300, command="(setsid sleep 1001 &); setsid sleep 1001")
    ats.equal(ats.wait_gone([p for p in c.below() if "1001" in ats.cmdline(p)], 10), [])


@each("a monitor that is killed takes its call along")
def _(c, uid, level):
    call = c.start("Bash", command="setsid sleep 1003 & (setsid sleep 1003 &); touch on2; "
                   "sleep 1003")
    ats.until(lambda: os.path.exists(c.ws + "/on2"), "the call")
    other = c.start("Bash", command="until [ -e go2 ]; do sleep 0.02; done; echo went")
    mine = ats.until(lambda: [p for p in c.below() if ats.cmdline(p) == "sleep 1003"], "it runs")
    table = ats.parents()
    # Above a shell of the call is its monitor, whose parent is the zygote.
    zygote = next(p for p in c.below() if ats.comm(p) == "zygote-shell" and
                  ats.comm(table[p]) == "ats-init")
    monitor = mine[-1]
    while table[monitor] != zygote:
        monitor = table[monitor]
    os.kill(monitor, signal.SIGKILL)
    ats.equal(ats.wait_gone(mine, 10), [])
    f = c.wait(call)
    ats.check(f.json["outcome"] != "done" or f.json.get("is_error"), f.json)
    c.out("touch go2")
    ats.equal(c.wait(other).payload.decode().strip(), "went")


@each("a fork bomb ends with its call", options=("min_level=landlock", "limits=check"))
def _(c, uid, level):
    c.tool("Bash", ms=2000, command="f(){ f & f & }; f 2>/dev/null; sleep 1001")
    end = time.monotonic() + 20
    while c.tool("Bash", command="true").json.get("is_error") and time.monotonic() < end:
        pass
    ats.until(lambda: sum(ats.comm(p) == "bash" for p in c.below()) < 40, "the bomb's end")
    ats.equal(c.out("echo again"), "again")


@each("background shells go by their id")
def _(c, uid, level):
    f = c.tool("Bash", command="echo out; sleep 1002", run_in_background=True)
    shell = f.json["output"]["shell"] if "shell" in f.json.get("output", {}) else None
    text = f.payload.decode()
    shell = shell or next(w.strip(".,;:)") for w in text.split() if w.startswith("bash_"))
    mine = ats.until(lambda: [p for p in c.below() if "sleep 1002" in ats.cmdline(p)], "it runs")
    c.out("true")
    ats.check(all(ats.alive(p) for p in mine), "it ended with another call")
    ats.check(not c.tool("TaskStop", task_id=shell).json.get("is_error"), shell)
    ats.equal(ats.wait_gone(mine, 10), [])


@each("hands itself is out of a tool's sight")
def _(c, uid, level):
    for path in ("environ", "mem", "maps", "cwd/", "root/etc", "fd/0", "exe"):
        f = c.tool("Bash", command="ls -l /proc/1/%s && cat /proc/1/%s" % (path, path))
        ats.check(f.json.get("is_error") or level == "namespaces", path)
    if level != "namespaces":
        # Everything of hands lies beside $HOME: none of it is a tool's but home and tmp.
        state = c.out("echo ${HOME%/home}")
        ats.check(c.tool("Bash", command="ls " + state).json.get("is_error"), state)
        ats.check(c.tool("Bash", command="echo x > %s/x" % state).json.get("is_error"), state)
        ats.check(c.tool("Bash", command="cat /etc/shadow; ls /sockets").json.get("is_error"))
        root = "/proc/%d/root%s" % (c.pid, state)
        ats.equal(stat.S_IMODE(os.stat(root).st_mode) & 0o066, 0)


@each("1000 double forks leave no zombie", kinds=KINDS[:1] + KINDS[2:])
def _(c, uid, level):
    c.out("for i in {1..1000}; do (true &); done")

    def zombies():
        n = 0
        for p in c.below():
            try:
                with open("/proc/%d/stat" % p, encoding="latin-1") as f:
                    n += f.read().rsplit(") ", 1)[1][0] == "Z"
            except OSError:
                pass
        return n

    ats.until(lambda: zombies() == 0, "no zombie")


# ---- images and root directories that lack things --------------------------------------------

@ats.test("an image of nothing but hands: the file tools, and what Bash says", home=False)
def _():
    argv = ["--listen", "unix:/sockets/s", "--workspace", "/workspace"]
    for run, more, level in (((), [], "uid+landlock"),
                             (("--user", "1000"), ["--option", "min_level=landlock"],
                              "landlock"),
                             (("--privileged",), [], "namespaces")):
        with Container("alone", run=run, argv=argv + more,
                       uid=1000 if level == "landlock" else 0) as c:
            c.link()
            ats.equal(c.ready.json["confinement"]["level"], level)
            ats.check(not c.tool("Write", file_path="f", content="here\n").json.get("is_error"))
            ats.contains(c.tool("Grep", pattern="here").payload.decode(), "f")
            f = c.tool("Bash", command="echo x")
            ats.check(f.json.get("is_error"), "there is no shell")
            ats.matches(f.payload.decode(), r"\bbash\b.*(not found|no such)")


@ats.test("hands in an image of Debian's, with a command and without", home=False)
def _():
    for run, argv, level in (((), [], "uid+landlock"),
                             ((), ["--", "sh", "-c", "until [ -e /workspace/go ]; do sleep 0.05; "
                                   "done; exit 6"], "uid+landlock"),
                             (("--privileged",), [], "namespaces")):
        with Container("debian", run=run, argv=argv, sockets="/run/ats-hands",
                       socket="hands.sock") as c:
            c.link()
            ats.equal(c.ready.json["confinement"]["level"], level)
            ats.equal(c.out("echo x > f; cat f"), "x")
            if argv:
                c.out("touch go")
                ats.equal(c.code(), 6)


@ats.test("a root directory that cannot be written", home=False)
def _():
    for run, uid in ((("--read-only", "--tmpfs", "/tmp"), 0),
                     (("--read-only", "--read-only-tmpfs=false"), 0),
                     (("--read-only", "--user", "1000"), 1000),
                     (("--read-only", "--read-only-tmpfs=false", "--user", "1000"), 1000),
                     (("--read-only", "--privileged"), 0)):
        with Container(run=run, uid=uid) as c:
            ats.equal(c.out("echo x > f; cat f; echo y > $HOME/y; cat $HOME/y"), "x\ny")


@ats.test("below the level that was asked for nothing runs: 125 and the reason", home=False)
def _():
    for run, options, said in (((), (), "CAP_SYS_ADMIN"),
                               (("--user", "1000"), (), "min_level")):
        with Container(run=run, options=options, uid=1000 if run else 0) as c:
            ats.equal(c.code(), 125)
            ats.contains(c.log(), said)


@ats.test("the container has no way to this machine's network", home=False)
def _():
    engine()
    with Container() as c:
        ats.check(c.tool("Bash", command="exec 3<>/dev/tcp/127.0.0.1/1").json.get("is_error"))
        with open("/proc/%d/net/dev" % c.pid, encoding="ascii") as f:
            ats.equal([x.split(":")[0].strip() for x in f if ":" in x], ["lo"])


ats.main()
