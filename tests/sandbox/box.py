# SPDX-License-Identifier: Apache-2.0
"""A box without a brain: ats-hands started as the spawner does, calls by name.

Each test runs once for each user that can be had: the one who runs the tests, and, when
that is root, uid 12345 (user namespaces). Nothing sleeps; calls have deadlines.
"""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

OTHER_UID = 12345
USERS = [None, OTHER_UID] if os.geteuid() == 0 else [None]


# Descriptors 3 and 4, then the user, then hands. The interpreter itself may be out of the
# other user's reach.
_STARTER = """
import os, sys
uid = int(sys.argv[1])
a, b = os.dup2(int(sys.argv[2]), 100), os.dup2(int(sys.argv[3]), 101)
os.dup2(a, 3)
os.dup2(b, 4)
os.closerange(5, 256)
if uid != os.geteuid():
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
os.execv(sys.argv[4], sys.argv[4:])
"""


def _remove_groups(name):
    """What a kill -9 left, which the next box would remove."""
    for root, dirs, _ in os.walk("/sys/fs/cgroup"):
        for d in dirs:
            if d == name:
                with contextlib.suppress(OSError):
                    os.rmdir(os.path.join(root, d))


class Result:
    """json of the RESULT and its text."""

    def __init__(self, frame):
        self.json = frame.json
        self.text = frame.payload.decode("utf-8", "strict")
        self.error = bool(frame.json.get("is_error"))
        self.exit = (frame.json.get("exit_kind"), frame.json.get("exit_code"))


class Box:
    """options: k=v strings. ws: the workspace, made when absent. prefix: argv before hands."""

    def __init__(self, uid=None, options=(), ws=None, prefix=()):
        self.top = tempfile.mkdtemp(prefix="ats-box-")
        os.chmod(self.top, 0o755)
        self.ws = ws or os.path.join(self.top, "ws")
        self.state = os.path.join(self.top, "state")
        for d in (self.ws, self.state + "/home", self.state + "/spill"):
            os.makedirs(d, exist_ok=True)
        self.uid = uid
        if uid is not None:
            for d in (self.ws, self.state, self.state + "/home", self.state + "/spill"):
                os.chown(d, uid, uid)
        ours, theirs = socket.socketpair()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listen_path = os.path.join(self.top, "sb.sock")
        listener.bind(self.listen_path)
        listener.listen(8)
        argv = [*prefix, ats.program("ats-hands"), "--link-fd", "3", "--listen-fd", "4",
                "--workspace", self.ws, "--state-dir", self.state,
                "--sandbox", "b-000000000001"]
        for o in options:
            argv += ["--option", o]
        self.log_path = os.path.join(self.top, "hands.log")
        log = open(self.log_path, "ab")
        self.proc = subprocess.Popen(
            [sys.executable, "-c", _STARTER, str(os.geteuid() if uid is None else uid),
             str(theirs.fileno()), str(listener.fileno()), *argv],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={}, cwd="/",
            pass_fds=(theirs.fileno(), listener.fileno()))
        for x in (theirs, listener, log):
            x.close()
        self.link = ats.Link(ours)
        self.calls = 0
        self.results = {}
        try:
            self.hello, self.ready = self.link.hello_as_brain()
        except ats.Failure as e:
            text = self.log()
            self.close()
            raise ats.Failure("%s; log: %s" % (e, text)) from None

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        log = self.log()
        self.close()
        if kind is not None:
            print("# log: %s" % log.replace("\n", "\n# "))

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    @property
    def confinement(self):
        return self.ready.json["confinement"]

    def start(self, tool, cwd=None, env=None, ms=30000, **arguments):
        self.calls += 1
        ctx = {"cwd": cwd or self.ws}
        if env:
            ctx["env"] = env
        self.link.send("call.tool", self.calls, {
            "name": tool, "input": arguments, "ctx": ctx, "deadline_ms": ms,
            "session": "s-000000000001"})
        return self.calls

    def wait(self, call, timeout=ats.TIMEOUT):
        while call not in self.results:
            f = self.link.expect("result", timeout)
            self.results[f.call] = Result(f)
        return self.results.pop(call)

    def tool(self, tool, **kw):
        return self.wait(self.start(tool, **kw))

    def sh(self, command, **kw):
        """The Result of a Bash call."""
        return self.tool("Bash", command=command, **kw)

    def out(self, command, **kw):
        """The text of a Bash call that must succeed."""
        r = self.sh(command, **kw)
        ats.check(not r.error, "%s\nfailed: %s" % (command, r.text))
        return r.text

    def execute(self, argv, ms=30000, stdin=None, **kw):
        """An exec; returns (exit, stdout, stderr)."""
        self.calls += 1
        call = self.calls
        self.link.send("call.exec", call, {
            "argv": argv, "ctx": {"cwd": self.ws}, "session": "s-000000000001",
            "window": 1 << 20, "deadline_ms": ms, **({"want_stdin": True} if stdin else {}),
            **kw})
        if stdin:
            self.link.send("event.stdin", call, {"offset": 0, "eof": True}, stdin)
        got = {"event.stdout": b"", "event.stderr": b""}
        while True:
            f = self.link.recv()
            if f is None:
                raise ats.Failure("the link ended")
            if f.name in got and f.call == call:
                got[f.name] += f.payload
                self.link.send("control.window", call, {
                    "stream": f.name[6:], "bytes": len(f.payload)})
            elif f.name == "result" and f.call == call:
                r = Result(f)
                return r.exit, got["event.stdout"], got["event.stderr"]

    def path(self, name):
        return os.path.join(self.ws, name)

    def processes(self):
        """Processes of the box, seen from outside."""
        return ats.descendants(self.proc.pid)

    def close(self):
        self.link.close()
        below = self.processes()
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGKILL)
            self.proc.wait()
        ats.wait_gone(below, 10)
        _remove_groups("ats-box-%d" % self.proc.pid)
        shutil.rmtree(self.top, ignore_errors=True)


def test(name, options=(), long=None):
    """Registers a test of a Box for each user; long: see ats.some()."""
    def register(fn):
        for uid in ats.some(USERS, long):
            def run(uid=uid):
                with Box(uid, options) as b:
                    fn(b)
            ats.case("%s (%s)" % (name, "uid %d" % (os.geteuid() if uid is None else uid)),
                     run, home=False)
        return fn
    return register
