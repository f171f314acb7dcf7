#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""atsctl exec through the whole chain: exit codes, streams of any size, signals, odd places."""
import hashlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

MIB = 1 << 20
PRIVATE_MAX = 32 * MIB


def start(home, *argv, options=(), **kw):
    kw.setdefault("stdin", subprocess.DEVNULL)
    kw.setdefault("bufsize", 0)
    kw.setdefault("stdout", subprocess.PIPE)
    kw.setdefault("stderr", subprocess.PIPE)
    return home.popen(*home.prefix, ats.program("atsctl"), "exec", *options, "--", *argv, **kw)


def line(p):
    """The next line of its stdout, within the time of a test."""
    got = b""
    while not got.endswith(b"\n"):
        ready, _, _ = select.select([p.stdout], [], [], ats.TIMEOUT)
        ats.check(ready, "silent after %r" % got)
        part = os.read(p.stdout.fileno(), 1)
        if not part:
            break
        got += part
    return got


def run(home, *argv, options=(), code=0, input=b""):
    r = home.ctl("exec", *options, "--", *argv, input=input)
    ats.equal(r.returncode, code, "%r: %r" % (argv, r.stderr))
    return r


@ats.test("the command's code, 128+n, 124, 126, 127", users=True)
def _(home):
    home.write("noexec", "x", 0o644)
    for n in (0, 1, 7, 124, 125, 255):
        r = run(home, "sh", "-c", "exit %d" % n, code=n)
        ats.equal((r.stdout, r.stderr), (b"", b""), n)
    for n in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGUSR1):
        run(home, "sh", "-c", "kill -%d $$" % n, code=128 + n)
    began = time.monotonic()
    r = run(home, "sh", "-c", "echo part; trap '' TERM; sleep 1000 & wait; sleep 1000",
            options=("--timeout", "1s"), code=124)
    ats.equal(r.stdout, b"part\n")
    ats.check(time.monotonic() - began < 10, "the timeout took too long")
    ats.contains(run(home, "no-such-program", code=127).stderr, b"no-such-program")
    ats.contains(run(home, "./noexec", code=126).stderr, b"noexec")
    run(home, "./none/x", code=127)
    run(home, "/", code=126)


@ats.test("arguments arrive as they are", users=True)
def _(home):
    args = ["", " ", "a b", "$HOME", "`id`", "*", "'\"\\", "--", "-x", "new\nline", "\u00e4\u4f60"]
    r = run(home, "printf", "%s\\0", *args)
    ats.equal(r.stdout, "".join(a + "\0" for a in args).encode())


@ats.test("64 MiB through stdin and stdout, stderr apart", users=True)
def _(home):
    data = os.urandom(MIB) * 64
    began = time.monotonic()
    r = run(home, "sh", "-c", "cat; echo apart >&2", input=data)
    spent = time.monotonic() - began
    ats.equal(hashlib.sha256(r.stdout).hexdigest(), hashlib.sha256(data).hexdigest())
    ats.equal(r.stderr, b"apart\n")
    print("# 64 MiB there and back in %.2f s" % spent)
    r = run(home, "sha256sum", input=data)
    ats.equal(r.stdout.decode().split()[0], hashlib.sha256(data).hexdigest())


@ats.test("both streams full at the same time, neither blocks the other")
def _(home):
    r = run(home, "bash", "-c", "head -c 20000000 /dev/zero >&2 & head -c 30000000 /dev/zero; wait")
    ats.equal((len(r.stdout), len(r.stderr)), (30000000, 20000000))


@ats.test("a command that does not read its stdin ends; what reads after the end sees it")
def _(home):
    run(home, "true", input=b"x" * (8 * MIB))
    run(home, "sh", "-c", "exec <&-; exit 3", input=b"x" * (8 * MIB), code=3)
    ats.equal(run(home, "sh", "-c", "cat; cat; echo end").stdout, b"end\n")


@ats.test("a reader that leaves early ends the command as SIGPIPE does", users=True)
def _(home):
    run(home, "true")
    p = start(home, "yes")
    ats.equal(p.stdout.read(4), b"y\ny\n")
    below = ats.find(home.brain_pid(), "yes")
    p.stdout.close()
    ats.equal((p.wait(ats.TIMEOUT), p.stderr.read()), (141, b""))
    ats.check(below)
    ats.equal(ats.wait_gone(below), [])
    p = start(home, "sh", "-c", "echo to stderr >&2; cat")
    p.stderr.close()
    ats.equal((p.stdout.read(), p.stdout.close()), (b"", None))
    p.wait(ats.TIMEOUT)


@ats.test("Ctrl-C and other signals reach the command", users=True)
def _(home):
    # bash: dash forgets an interrupt that comes while it starts a command.
    run(home, "true")
    for sig, code in ((signal.SIGINT, 33), (signal.SIGTERM, 33)):
        p = start(home, "bash", "-c", "trap 'echo caught; exit 33' INT TERM; echo ready; "
                  "while :; do sleep 0.1; done")
        ats.equal(line(p), b"ready\n")
        p.send_signal(sig)
        ats.equal((line(p), p.wait(ats.TIMEOUT)), (b"caught\n", code), sig)
    p = start(home, "bash", "-c", "echo ready; sleep 1000; echo not here")
    ats.equal(line(p), b"ready\n")
    p.send_signal(signal.SIGINT)
    ats.equal((line(p), p.wait(ats.TIMEOUT)), (b"", 130))


@ats.test("a killed atsctl leaves no command behind", users=True)
def _(home):
    run(home, "true")
    p = start(home, "sh", "-c", "echo ready; sleep 12345")
    ats.equal(line(p), b"ready\n")
    below = ats.find(home.brain_pid(), "sleep")
    ats.check(below, "no sleep")
    p.kill()
    ats.equal(ats.wait_gone(below, 15), [], "sleep is left")


@ats.test("without HOME, with nothing in the environment, stdin closed, from a removed place")
def _(home):
    run(home, "true")
    env = {k: home.env[k] for k in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    r = subprocess.run([ats.program("atsctl"), "exec", "--workspace", home.ws, "--", "pwd"],
                       env=env, cwd="/", stdout=subprocess.PIPE, check=False,
                       stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    ats.equal((r.returncode, r.stdout), (0, home.ws.encode() + b"\n"), r.stderr)
    r = subprocess.run(["sh", "-c", 'exec "$0" exec -- cat <&-', ats.program("atsctl")],
                       env=home.env, cwd=home.ws, stdout=subprocess.PIPE, check=False,
                       stderr=subprocess.PIPE)
    ats.equal((r.returncode, r.stdout), (0, b""), r.stderr)
    gone = os.path.join(home.dir, "gone")
    r = subprocess.run(["sh", "-c", 'mkdir "$1"; cd "$1"; rmdir "$1"; exec "$0" exec -- true',
                        ats.program("atsctl"), gone], env=home.env, check=False,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=home.dir)
    ats.equal(r.returncode, 125, r.stderr)
    ats.matches(r.stderr.decode(), r"^atsctl: .*\n$")
    ats.equal(r.stderr.count(b"\n"), 1, r.stderr)


@ats.test("a descriptor of ours that is no standard stream stays ours")
def _(home):
    r, w = os.pipe()
    p = start(home, "sh", "-c", "ls /proc/self/fd; echo leak >&%d" % w, pass_fds=(w,))
    os.close(w)
    out, err = p.communicate()
    ats.equal(out.split(), [b"0", b"1", b"2", b"3"], err)
    ats.check(p.returncode != 0)
    ats.equal(os.read(r, 100), b"")
    os.close(r)


@ats.test("--tty: a terminal with our size, Ctrl-C through it, its code")
def _(home):
    run(home, "true")
    m, s = pty.openpty()
    subprocess.run(["stty", "rows", "33", "cols", "77"], stdin=s, check=True)
    home.env["TERM"] = "vt220"
    p = start(home, "bash", "-c", "test -t 0 && test -t 1 && stty size; echo $TERM; "
              "trap 'exit 9' INT; echo ready; while :; do sleep 0.1; done", options=("--tty",),
              stdin=s, stdout=s, stderr=s, start_new_session=True)
    os.close(s)
    got = b""
    while b"ready" not in got:
        ready, _, _ = select.select([m], [], [], ats.TIMEOUT)
        ats.check(ready, "silent: %r" % got)
        got += os.read(m, 4096)
    ats.contains(got, b"33 77")
    ats.contains(got, b"vt220")
    os.write(m, b"\x03")
    ats.equal(p.wait(ats.TIMEOUT), 9, got)
    os.close(m)


@ats.test("--tty without a terminal is refused in a line, or works without one")
def _(home):
    r = home.ctl("exec", "--tty", "--", "sh", "-c", "echo fine")
    ats.check(r.returncode in (0, 2, 125), r)
    ats.check(b"fine" in r.stdout or r.stderr.count(b"\n") == 1, r)


# ---- output without end ---------------------------------------------------------------------

def private_bytes(pid):
    total = 0
    try:
        with open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as f:
            for line in f:
                if line.startswith(("Private_Dirty:", "Private_Clean:", "Swap:")):
                    total += int(line.split()[1]) << 10
    except OSError:
        pass
    return total


def big_output(home, size):
    """size bytes of a known pattern: checks each, samples every process's memory."""
    run(home, "true")
    p = start(home, "bash", "-c", "yes %s | head -c %d" % ("x" * 63, size))
    want = (b"x" * 63 + b"\n") * (MIB // 64 + 1)
    largest, done, began = {}, 0, time.monotonic()
    stop = threading.Event()

    def sample():
        while not stop.wait(0.2):
            brain = home.brain_pid()
            for pid in [p.pid, brain, *ats.descendants(brain)]:
                name = ats.comm(pid)
                if name in ("yes", "head", "bash"):
                    continue
                largest[name] = max(largest.get(name, 0), private_bytes(pid))
    t = threading.Thread(target=sample)
    t.start()
    try:
        while True:
            data = p.stdout.read(MIB)
            if not data:
                break
            at = done % 64
            ats.check(data == want[at:at + len(data)], "other bytes in MiB %d" % (done >> 20))
            done += len(data)
    finally:
        stop.set()
        t.join()
    spent = time.monotonic() - began
    ats.equal((p.wait(ats.TIMEOUT), done), (0, size))
    print("# %d MiB in %.1f s (%.0f MiB/s); private MiB at most: %s" % (
        size >> 20, spent, size / spent / MIB, ", ".join(
            "%s %.1f" % (k, v / MIB) for k, v in sorted(largest.items()))))
    fat = {k: v for k, v in largest.items() if v > PRIVATE_MAX}
    ats.check(ats.SANITIZED or not fat, "over 32 MiB: %r" % fat)
    ats.check(any("front" in k for k in largest), largest)


OUTPUT = ats.rounds(256, 1024)        # MiB


@ats.test("%d MiB of output, every byte checked, no process over 32 MiB" % OUTPUT, users=True,
          long=ats.PARTLY)
def _(home):
    big_output(home, OUTPUT << 20)


@ats.test("10 GiB of output, the same", long=ats.WHOLLY)
def _(home):
    if not os.environ.get("ATS_LONG"):
        ats.skip("make check-long")
    big_output(home, 10 << 30)


@ats.test("a reader that stands still holds nothing but its window")
def _(home):
    run(home, "true")
    p = start(home, "sh", "-c", "head -c 300000000 /dev/zero; echo end >&2")
    begun = len(p.stdout.read(1000))
    mcp = home.mcp()
    mcp.initialize()
    ats.equal(mcp.text("Bash", command="echo beside"), "beside")
    brain = home.brain_pid()
    fat = {ats.comm(x): private_bytes(x) for x in ats.descendants(brain)
           if private_bytes(x) > PRIVATE_MAX}
    ats.check(ats.SANITIZED or not fat, fat)
    ready, _, _ = select.select([p.stderr], [], [], 0.2)
    ats.check(not ready, "the command ran on without a reader: %r" % (
        os.read(p.stderr.fileno(), 100) if ready else b""))
    rest = len(p.stdout.read()) + begun
    ats.equal((rest, p.stderr.read(), p.wait(ats.TIMEOUT)), (300000000, b"end\n", 0))


@ats.test("the engine dies under an exec: 125 and a line that says so, nothing left")
def _(home):
    run(home, "true")
    p = start(home, "sh", "-c", "echo ready; sleep 1234")
    ats.equal(line(p), b"ready\n")
    below = ats.find(home.brain_pid(), "sleep")
    os.kill(home.pids("ats-engine")[0], signal.SIGKILL)
    out, err = p.communicate(timeout=ats.TIMEOUT)
    ats.equal((p.returncode, out), (125, b""), err)
    ats.check(re.match(rb"^atsctl: [^\n]*unknown[^\n]*\n$", err), err)
    ats.equal(ats.wait_gone(below, 15), [])


@ats.test("a stack of 200 KiB is enough, for the brain that it starts too")
def _(home):
    if ats.SANITIZED:
        ats.skip("sanitizers have larger frames")
    for args in (("exec", "--", "echo", "x"), ("status",), ("shutdown",)):
        r = subprocess.run(["sh", "-c", 'ulimit -s 200 && exec "$@"', "sh",
                            ats.program("atsctl"), *args], env=home.env, cwd=home.ws,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=ats.TIMEOUT)
        ats.equal((r.returncode, r.stderr), (0, b""), args)
        ats.check(args[0] != "exec" or r.stdout == b"x\n", r.stdout)


ats.main()
