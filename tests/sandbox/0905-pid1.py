#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hands as the first process of a pid namespace, with a command beside it: what a container's
init must do. 0910-container.py asks the same of a real container."""
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

LIMIT = 60.0


class Init:
    """ats-hands as pid 1 of a new pid namespace; first: as an ordinary process instead."""

    def __init__(self, *command, peer="listen", plain=False, prefix=(), **kw):
        if os.geteuid() != 0:
            ats.skip("needs root for a pid namespace")
        self.top = tempfile.mkdtemp(prefix="ats-pid1-")
        os.chmod(self.top, 0o755)
        for d in ("ws", "state"):
            os.mkdir(os.path.join(self.top, d))
        self.sock = os.path.join(self.top, "s")
        self.log_path = os.path.join(self.top, "log")
        argv = [ats.program("ats-hands"), "--workspace", self.top + "/ws", "--state-dir",
                self.top + "/state"]
        argv += ["--stdio"] if peer == "stdio" else ["--listen", "unix:" + self.sock]
        if command:
            argv += ["--", *command]
        new = [] if plain else ["unshare", "--pid", "--fork", "--mount-proc",
                                "--kill-child"]
        with open(self.log_path, "ab") as log:
            kw.setdefault("stdin", subprocess.DEVNULL)
            kw.setdefault("stdout", subprocess.PIPE)
            self.proc = subprocess.Popen([*prefix, *new, *argv], stderr=log,
                                         env={"PATH": os.environ["PATH"], **ats.test_env()},
                                         **kw)
        self.plain = plain
        self.below = set()

    def __enter__(self):
        return self

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    @property
    def pid(self):
        """Of hands, as we see it."""
        if self.plain:
            return self.proc.pid
        return ats.until(lambda: min(ats.descendants(self.proc.pid), default=0), "a start")

    def link(self):
        link = ats.Link.connect_when_up(self.sock, self.proc)
        link.hello_as_brain()
        return link

    def line(self):
        """The next line of the command's output."""
        ats.wait_readable(self.proc.stdout, LIMIT)
        return self.proc.stdout.readline().decode().strip()

    def note(self):
        """Remembers all processes that run now; gone() is about them."""
        self.below = ats.descendants(self.proc.pid)
        return self.below

    def gone(self):
        ats.equal(ats.wait_gone(self.below, LIMIT), [], "left running")

    def code(self, timeout=LIMIT):
        """The exit status as a shell would say it."""
        code = self.proc.wait(timeout)
        return code if code >= 0 else 128 - code

    def signal(self, *numbers):
        for n in numbers:
            os.kill(self.pid, n)

    def __exit__(self, kind, *_):
        if self.proc.poll() is None:
            self.below |= ats.descendants(self.proc.pid)
            for p in self.below:
                try:
                    os.kill(p, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.proc.kill()
            self.proc.wait()
        if kind is not None:
            print("# log: %s" % self.log().replace("\n", "\n# "))
        shutil.rmtree(self.top, ignore_errors=True)


def call(link, number, command, **more):
    link.send("call.tool", number, {
        "name": "Bash", "input": {"command": command, **more}, "ctx": {"cwd": "/tmp"},
        "deadline_ms": 60000, "session": "s-000000000001"})


def both(name):
    """As pid 1, and as any process."""
    def register(fn):
        for plain in (False, True):
            ats.test("%s (%s)" % (name, "plain" if plain else "pid 1"), home=False)(
                lambda plain=plain: fn(plain))
        return fn
    return register


@both("the command's exit status is ours")
def _(plain):
    for argv, code in ((["sh", "-c", "exit 5"], 5), (["true"], 0), (["/no/such"], 127),
                       (["/etc/passwd"], 126), (["sh", "-c", "kill -KILL $$"], 137),
                       (["sh", "-c", "kill -TERM $$"], 143)):
        with Init(*argv, plain=plain) as i:
            ats.equal(i.code(), code, argv)


@both("every signal is the command's")
def _(plain):
    names = ("HUP", "USR1", "USR2", "WINCH", "ALRM", "INT", "QUIT", "RTMIN", "IO", "VTALRM")
    script = "\n".join("trap 'echo %s' %s" % (n, n) for n in names) + """
        trap 'echo TERM; exit 9' TERM
        echo up
        while :; do sleep 0.01; done"""
    with Init("bash", "-c", script, plain=plain) as i:
        ats.equal(i.line(), "up")
        for n in names:
            i.signal(getattr(signal, "SIG" + n))
            ats.equal(i.line(), n)
        i.signal(signal.SIGTERM)
        ats.equal(i.line(), "TERM")
        ats.equal(i.code(), 9)


FORKS = """
import os, sys, time
def zombies():
    n = 0
    for d in os.listdir("/proc"):
        try:
            n += d.isdigit() and open("/proc/%s/stat" % d).read().rsplit(") ", 1)[1][0] == "Z"
        except OSError:
            pass
    return n
for _ in range(1000):
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.waitpid(pid, 0)
end = time.monotonic() + 20
while zombies() and time.monotonic() < end:
    time.sleep(0.01)
print("zombies", zombies())
"""


@ats.test("1000 double forks leave no zombie, of the command or of a tool", home=False,
          long=ats.WHOLLY)
def _():
    python = shutil.which("python3", path="/usr/bin:/bin")
    if not python:
        ats.skip("no python3 among the system's programs")
    with Init(python, "-c", FORKS + "\nsys.stdout.flush(); sys.stdin.read()",
              stdin=subprocess.PIPE) as i:
        ats.equal(i.line(), "zombies 0")
        link = i.link()
        with open(i.top + "/ws/f.py", "w", encoding="utf-8") as f:
            f.write(FORKS)
        call(link, 1, "python3 %s/ws/f.py" % i.top)
        ats.contains(link.expect("result", 60, call=1).payload.decode(), "zombies 0")
        i.proc.stdin.close()
        ats.equal(i.code(), 0)


@both("TERM ends calls, background shells and command")
def _(plain):
    with Init("sh", "-c", "trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done",
              plain=plain) as i:
        ats.equal(i.line(), "up")
        link = i.link()
        call(link, 1, "setsid sleep 1000 & sleep 1000", run_in_background=True)
        link.expect("result", call=1)
        call(link, 2, "trap '' TERM; touch %s/ws/on; setsid sleep 1000 & sleep 1000" % i.top)
        ats.until(lambda: os.path.exists(i.top + "/ws/on"), "the call runs")
        ats.check(len(i.note()) > 8, i.below)
        i.signal(signal.SIGTERM)
        # What ran is never said to be done.
        f = link.recv()
        while f is not None and f.name != "control.goodbye":
            ats.check(f.name != "result" or f.json["outcome"] != "done" or
                      f.json.get("is_error"), f.json if f else f)
            f = link.recv()
        ats.equal(i.code(), 3)
        i.gone()


@both("TERM without a command: an end in order, status 0")
def _(plain):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        with Init(plain=plain) as i:
            i.link()
            i.note()
            i.signal(number)
            ats.equal(i.code(), 0, number)
            i.gone()


@both("a command that takes no notice is killed by a second TERM")
def _(plain):
    script = "trap 'echo T' TERM; echo up; while :; do sleep 0.01; done"
    with Init("sh", "-c", script, plain=plain) as i:
        ats.equal(i.line(), "up")
        i.link()
        i.note()
        i.signal(signal.SIGTERM)
        ats.equal(i.line(), "T")
        i.signal(signal.SIGTERM)
        ats.equal(i.code(7), 137)
        i.gone()


@ats.test("a command that takes no notice is killed within an engine's time", home=False)
def _():
    with Init("sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.01; done") as i:
        ats.equal(i.line(), "up")
        i.note()
        i.signal(signal.SIGTERM)
        ats.equal(i.code(), 137)
        ats.contains(i.log(), "what does not end is killed")
        i.gone()


@both("daemons of the command do not outlive it")
def _(plain):
    with Init("sh", "-c", "setsid sh -c 'sleep 1000 & sleep 1000' & read x",
              stdin=subprocess.PIPE, plain=plain) as i:
        i.link()
        ats.until(lambda: sum(ats.comm(p) == "sleep" for p in i.note()) == 2, "daemons")
        i.proc.stdin.close()
        ats.equal(i.code(), 1)
        i.gone()


@both("a box that fails takes the command along; one that ends in order does not")
def _(plain):
    script = "trap 'echo T; exit 0' TERM; echo up; while :; do sleep 0.01; done"
    with Init("sh", "-c", script, plain=plain) as i:
        ats.equal(i.line(), "up")
        i.link()
        init = min(p for p in i.note() if ats.comm(p) == "ats-init")
        os.kill(init, signal.SIGKILL)
        ats.equal(i.line(), "T")
        ats.equal(i.code(), 137)
        i.gone()
    with Init("sh", "-c", script, plain=plain) as i:
        ats.equal(i.line(), "up")
        i.link()
        init = min(p for p in i.note() if ats.comm(p) == "ats-init")
        os.kill(init, signal.SIGTERM)
        ats.equal(ats.wait_gone([init], LIMIT), [])
        ats.check(i.proc.poll() is None, "the command was ended")
        i.signal(signal.SIGTERM)
        ats.equal(i.line(), "T")
        ats.equal(i.code(), 0)


@both("the command has the base filter and nothing of ours")
def _(plain):
    show = "grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t'; " \
           "ls /proc/self/fd | tr '\\n' ' '; echo; id -u; readlink /proc/self/fd/0; pwd"
    for peer in ("listen", "stdio"):
        with Init("sh", "-c", show + " >&1", plain=plain, peer=peer,
                  stdin=subprocess.PIPE) as i:
            code = i.code()
            out = i.proc.stdout.read().decode() if peer == "listen" else i.log()
            ats.equal(code, 0, out)
            ats.contains(out, "NoNewPrivs:1\nSeccomp:2\n0 1 2 3 \n0\n")   # 3: ls itself
            if peer == "stdio":
                ats.contains(out, "/dev/null")


@both("Ctrl-C on a terminal is the command's, once")
def _(plain):
    ours, theirs = pty.openpty()
    script = "trap 'echo I' INT; trap 'exit 4' TERM; echo up; while :; do sleep 0.01; done"
    with Init("bash", "-c", script, plain=plain, prefix=("setsid", "-c", "-w"), stdin=theirs,
              stdout=theirs) as i:
        os.close(theirs)
        seen = b""
        while b"up" not in seen:
            ats.wait_readable(ours, LIMIT)
            seen += os.read(ours, 1000)
        os.write(ours, b"\x03")
        while b"I" not in seen:
            ats.wait_readable(ours, LIMIT)
            seen += os.read(ours, 1000)
        hands = min(p for p in ats.descendants(i.proc.pid) | {i.proc.pid}
                    if ats.comm(p) == "ats-hands")
        os.kill(hands, signal.SIGTERM)
        while True:
            try:
                ats.wait_readable(ours, LIMIT)
                more = os.read(ours, 1000)
            except OSError:
                break
            if not more:
                break
            seen += more
        os.close(ours)
        ats.equal(seen.count(b"I"), 1, seen)
        ats.equal(i.code(), 4)


ats.main()
