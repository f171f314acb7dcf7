#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sandbox.url exec: a configured command is the link; what it does wrong is told, and ends by the
budget of any sandbox. And ats-hands attach, which such a command runs on the far side."""
import json
import os
import select
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import far


def by_command(home, *argv, **more):
    home.configure({"sandbox": {"url": "exec:far"}, "commands": {"far": list(argv)}, **more})


def by_attach(home, *options, **more):
    f = far.Far(home, *options)
    by_command(home, ats.program("ats-hands"), "attach", "--socket", f.path, **more)
    return f


def carriers(home):
    return [p for p in home.pids("attach") if ats.alive(p)]


@ats.test("calls and exec by ats-hands attach", users=True)
def _(home):
    f = by_attach(home)
    ats.contains(json.dumps(home.call("Bash", command="echo there")), "there")
    data = os.urandom(1 << 20)
    r = home.ctl("exec", "--", "cat", input=data, code=0)
    ats.equal(r.stdout == data, True, "a MiB both ways")
    ats.contains(home.ctl("sandbox", "ls").stdout.decode(), "exec:far")
    ats.equal(len(carriers(home)), 1)
    old = carriers(home)
    home.ctl("shutdown", code=0)
    ats.wait_gone(old)
    ats.check(f.proc.poll() is None, "hands is not brain's to end")


@ats.test("the command dies: it is started again and calls go on", users=True)
def _(home):
    by_attach(home)
    mcp = home.mcp()
    mcp.initialize()
    os.mkfifo(os.path.join(home.ws, "go"), 0o666)
    os.chmod(os.path.join(home.ws, "go"), 0o666)
    id = mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "echo run >> ran; cat go; echo last"}})
    ats.until(lambda: os.path.exists(home.ws + "/ran"), "the call runs")
    os.kill(carriers(home)[0], signal.SIGKILL)
    with open(os.path.join(home.ws, "go"), "w", encoding="ascii") as w:
        w.write("from outside\n")
    ats.equal(mcp.answer(id)["result"]["content"][0]["text"], "from outside\nlast")
    ats.equal(home.read("ran"), b"run\n")


@ats.test("hands dies and is started again: what ran is unknown, the turn goes on")
def _(home):
    f = by_attach(home)
    mcp = home.mcp()
    mcp.initialize()
    id = mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "echo run >> ran; sleep 1000"}})
    ats.until(lambda: os.path.exists(home.ws + "/ran"), "the call runs")
    f.restart()
    ats.contains(json.dumps(mcp.answer(id)["result"]), "unknown")
    ats.contains(mcp.text("Bash", command="echo on"), "on")
    ats.equal(home.read("ran"), b"run\n")


def last_error(home):
    r = home.ctl("--json", "sandbox", "ls")
    boxes = json.loads(r.stdout)["sandboxes"] if r.returncode == 0 else []
    return boxes[0].get("last_error") if boxes else None


WRONG = (
    ("is not there", ("/no/such/program",), "/no/such/program: exec: No such file"),
    ("exits 1", ("/bin/sh", "-c", "echo one >&2; echo 'no such host' >&2; exit 1"),
     'its last words: "no such host"'),
    ("says nothing and ends", ("/bin/sh", "-c", "exit 0"), "exec:far gave no sandbox"),
    ("prints junk", ("/bin/sh", "-c", "echo Welcome to this machine; exec sleep 1000"),
     "exec:far gave no sandbox"),
    ("hangs", ("/bin/sh", "-c", "echo asking for a password >&2; sleep 1000; :"),
     'hands was not ready in time; its last words: "asking for a password"'),
    ("closes stdout", ("/bin/sh", "-c", "exec <&- >&-; sleep 1000; :"),
     "exec:far gave no sandbox"),
)


def wrong(what, argv, why):
    @ats.test("a command that " + what)
    def _(home):
        by_command(home, *argv, limits={"start_ms": 400})
        e = home.popen(ats.program("atsctl"), "exec", "--", "true", stdin=subprocess.DEVNULL,
                       stderr=subprocess.PIPE)
        ats.until(lambda: why in (last_error(home) or ""), why)
        home.ctl("shutdown", code=0)
        e.wait(ats.TIMEOUT)
        ats.until(lambda: not [p for p in ats.find(1, "sleep 1000") if p in home.ours()],
                  "what it started ends")


for row in WRONG:
    wrong(*row)


@ats.test("one that always fails is given up, with its last words")
def _(home):
    by_command(home, "/bin/sh", "-c", "echo 'no such host' >&2; exit 1")
    r = home.ctl("exec", "--", "true", code=125)
    ats.contains(r.stderr.decode(), 'its last words: "no such host"')
    with open(home.log_path, encoding="utf-8") as f:
        ats.contains(f.read(), "sandbox.given_up")
    ats.contains(home.ctl("sandbox", "logs", json.loads(home.ctl(
        "--json", "sandbox", "ls").stdout)["sandboxes"][0]["id"]).stdout.decode(), "no such host")


@ats.test("its environment is a short list, and its group ends with it")
def _(home):
    f = far.Far(home)
    home.env["SECRET"] = "hidden"
    by_command(home, "/bin/sh", "-c", "env >&2; sleep 1000 & exec %s attach --socket %s" % (
        ats.program("ats-hands"), f.path))
    box = home.call("Bash", command="true") and json.loads(
        home.ctl("--json", "sandbox", "ls").stdout)["sandboxes"][0]["id"]
    log = home.ctl("sandbox", "logs", box).stdout.decode()
    ats.contains(log, "HOME=" + home.home)
    for part in ("SECRET", "XDG_STATE_HOME"):
        ats.missing(log, part)
    sleepers = home.pids("sleep 1000")
    ats.equal(len(sleepers), 1)
    home.ctl("sandbox", "kill", box, code=0)
    ats.wait_gone(sleepers)


# ---- ats-hands attach by itself ---------------------------------------------------------------

def attach(home, path, **kw):
    return home.popen(ats.program("ats-hands"), "attach", "--socket", path,
                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)


@ats.test("attach: no socket, nobody there, wrong usage: one line and a status")
def _(home):
    path = os.path.join(home.run, "s")
    for _ in range(2):
        p = attach(home, path)
        out, err = p.communicate(timeout=ats.TIMEOUT)
        ats.equal((p.returncode, out, err.count(b"\n")), (1, b"", 1))
        ats.contains(err.decode(), "is \"ats-hands --listen unix:%s\" running here?" % path)
        s = socket.socket(socket.AF_UNIX)       # a file without a listener
        if not os.path.exists(path):
            s.bind(path)
        s.close()
    r = subprocess.run([ats.program("ats-hands"), "attach", "more"], capture_output=True,
                       check=False, env=home.env)
    ats.equal(r.returncode, 2)


@ats.test("attach: each way ends by itself, the last bytes arrive, and nothing spins")
def _(home):
    path = os.path.join(home.run, "s")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1)
    for first in ("stdin", "socket"):
        p = attach(home, path)
        conn, _ = listener.accept()
        conn.settimeout(ats.TIMEOUT)
        data = os.urandom(100000)
        if first == "stdin":
            p.stdin.write(b"last")
            p.stdin.close()
            got = b""
            while len(got) < 4:
                got += conn.recv(100)
            ats.equal((got, conn.recv(100)), (b"last", b""))
            conn.sendall(data)      # the other way is still open
            conn.close()
        else:
            # more than its buffers hold waits, and costs nothing
            p.stdin.write(b"x" * 1000)
            p.stdin.flush()
            conn.sendall(data)
            conn.close()            # with bytes that it did not read
        ats.equal(p.stdout.read() == data, True, "all that was sent arrives")
        ats.equal(p.wait(ats.TIMEOUT), 0)
    p = attach(home, path)
    conn, _ = listener.accept()

    def confined():
        with open("/proc/%d/status" % p.pid, encoding="ascii") as f:
            return "Seccomp:\t2" in f.read()
    ats.until(confined, "a filter")
    conn.sendall(b"y" * 60000)      # nobody reads stdout
    conn.setblocking(False)
    try:
        while True:
            conn.send(b"y" * 60000)
    except BlockingIOError:
        pass

    def ticks():
        with open("/proc/%d/stat" % p.pid, encoding="ascii") as f:
            return sum(int(x) for x in f.read().rsplit(")", 1)[1].split()[11:13])
    before = ticks()
    ats.equal(select.select([conn], [], [], 0.3)[0], [], "nothing to read")
    ats.check(ticks() - before <= 2, "it spins")
    p.kill()


ats.main()
