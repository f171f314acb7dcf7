#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How commands end: each kind with real programs, in the text and in the structured form."""
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats


class Calls:
    """ats/tool.call of one session: over the door, or, as another user, by atsctl."""

    def __init__(self, home):
        self.home = home
        home.start()
        self.door = home.door(home.register()[0]) if home.uid is None else None

    def send(self, command, timeout_ms=None, **kw):
        more = {} if timeout_ms is None else {"timeout_ms": timeout_ms}
        return self.door.send("ats/tool.call", {
            "name": "Bash", "arguments": {"command": command, **kw}, **more})

    def answer(self, id, timeout=60):
        return Result(self.door.answer(id, timeout)["result"])

    def __call__(self, command, **kw):
        if self.door is None:
            return self.tool("Bash", command=command, **kw)
        return self.answer(self.send(command, **kw))

    def tool(self, name, **kw):
        if self.door is None:
            return Result(self.home.call(name, code=None, **kw))
        return Result(self.door.request("ats/tool.call", {"name": name, "arguments": kw},
                                        timeout=60))


class Result:
    def __init__(self, r):
        self.text = "".join(c.get("text", "") for c in r["content"])
        self.error = r["is_error"]
        self.output = r.get("output", {})
        self.code = r.get("code")
        self.exit = (r.get("exit", {}).get("kind"), r.get("exit", {}).get("code"),
                     self.output.get("exit_by"))


def until(calls, id, pattern, timeout=30):
    """All that BashOutput gives until it matches; the last result."""
    seen, r = "", None

    def more():
        nonlocal seen, r
        r = calls.tool("BashOutput", bash_id=id)
        seen += r.text + "\n"
        return re.search(pattern, seen, re.S)
    ats.until(more, "/%s/ in %.2000r" % (pattern, seen), timeout)
    r.text = seen
    return r


@ats.test("exit, signal, timeout and by whom, cancel, a forbidden call", users=True)
def _(home):
    call = Calls(home)
    for command, exit, text, error in (
            ("true", ("exit", 0, "command"), "succeeded and printed nothing", False),
            ("echo", ("exit", 0, "command"), "an empty line", False),
            ("exit 7", ("exit", 7, "command"), "Exit code 7", True),
            ("grep x /dev/null", ("exit", 1, "command"), "no line matched", False),
            ("rg_() { return 1; }; echo a | grep -q b", ("exit", 1, "command"),
             "no line matched", False),
            ("echo a > f; echo b | diff - f", ("exit", 1, "command"), "the files differ", False),
            ("test -e none", ("exit", 1, "command"), "the condition is false", False),
            ("grep x none", ("exit", 2, "command"), "Exit code 2", True),
            ("kill -9 $$", ("signal", 9, "command"), "SIGKILL", True),
            ("kill -TERM $$", ("signal", 15, "command"), "SIGTERM", True),
            ("bash -c 'kill -SEGV $$'", ("exit", 139, "command"), "SIGSEGV", True),
            ("none-such", ("exit", 127, "command"), "not found", True)):
        r = call(command)
        ats.equal((r.exit, r.error), (exit, error), "%s: %s" % (command, r.text))
        ats.contains(r.text, text, command)
    r = call("echo part; sleep 60", timeout=300)
    ats.equal((r.exit[0], r.exit[2], r.code, r.error), ("timeout", "timeout", "timeout", True))
    ats.matches(r.text, r"^Timed out after 0.3 s \(its timeout\).*\npart$")
    # An x32 call: no filter lets one through.
    r = call("python3 -c 'import ctypes; ctypes.CDLL(None).syscall(0x40000027)'")
    ats.equal((r.exit, r.error), (("seccomp", 159, "kernel"), True), r.text)
    ats.contains(r.text, "SIGSYS")
    r = call("exec python3 -c 'import ctypes; ctypes.CDLL(None).syscall(0x40000027)'")
    ats.equal(r.exit, ("seccomp", signal.SIGSYS, "kernel"), r.text)


@ats.test("the caller's deadline and the caller's cancel")
def _(home):
    call = Calls(home)
    r = call("echo part; sleep 60", timeout_ms=400, timeout=30000)
    ats.equal((r.exit[0], r.exit[2], r.error), ("timeout", "deadline", True), r.text)
    ats.matches(r.text, r"the caller's deadline.*\npart$")
    id = call.door.send("ats/tool.call", {"name": "Bash", "call_id": "x", "arguments": {
        "command": "echo part; echo up > f; sleep 60"}})
    ats.until(lambda: os.path.exists(os.path.join(home.ws, "f")), "it runs")
    call.door.request("ats/call.cancel", {"call_id": "x"})
    r = call.answer(id)
    ats.equal((r.exit[0], r.exit[2], r.code), ("cancelled", "caller", "cancelled"), r.text)
    ats.matches(r.text, r"^Cancelled.*\npart$")


@ats.test("the process limit is a fact, not a guess", users=True)
def _(home):
    home.configure({"sandbox": {"limits": "check"}})
    call = Calls(home)
    r = call("python3 -c '\nimport os\nn = 0\ntry:\n  while n < 100000:\n"
             "    n += 1\n    if os.fork() == 0: os.execv(\"/bin/sleep\", [\"sleep\", \"99\"])\n"
             "except OSError: pass\nprint(\"made\", n)\nos._exit(3)'")
    ats.check(r.output.get("process_limit_reached"), r.output)
    ats.equal(r.exit[:2], ("pids", 3), r.text)
    ats.contains(r.text, "process limit")
    ats.check(100 < r.output["survivors"] < 600, r.output["survivors"])
    # What it prints is no proof.
    r = call("echo 'bash: fork: retry: Resource temporarily unavailable'; exit 3")
    ats.equal(r.exit, ("exit", 3, "command"))
    ats.contains(r.text, "Probably")
    ats.missing(r.output, "process_limit_reached")


@ats.test("threads count, a timeout does not hide the limit, background says it too")
def _(home):
    home.configure({"sandbox": {"limits": "check"}})
    call = Calls(home)
    threads = ("python3 -c '\nimport threading, time\nthreading.stack_size(65536)\ntry:\n"
               "  while True: threading.Thread(target=time.sleep, args=(60,), daemon=True)."
               "start()\nexcept RuntimeError: print(\"full\", flush=True)\ntime.sleep(60)'")
    r = call(threads, timeout=2000)
    ats.equal(r.exit[0], "timeout", r.text)
    ats.matches(r.text, "full.*process limit was reached")
    id = re.search(r"bash_\d+", call(threads, run_in_background=True).text).group(0)
    until(call, id, "full")
    call.tool("KillShell", shell_id=id)
    ats.matches(until(call, id, "killed").text, "process limit was reached")


@ats.test("out of memory: the kernel's kill is named, a kill of one's own is not")
def _(home):
    home.configure({"sandbox": {"memory_mib": 192}})
    call = Calls(home)
    # Shared: what one process may have for itself does not count it.
    eat = ("python3 -c 'import mmap\nm = mmap.mmap(-1, 512 << 20)\n"
           "for i in range(0, 512 << 20, 4096): m[i] = 1'")
    if not call(eat).error:
        ats.skip("no cgroup can be made here")
    for eat, exit in ((eat, ("oom", 137, "kernel")), ("exec " + eat, ("oom", 9, "kernel")),
                      (eat + " || exit 5", ("exit", 5, "command"))):
        r = call(eat)
        ats.equal(r.exit, exit, r.text)
        ats.check(r.output.get("out_of_memory"), r.output)
        ats.matches(r.text, "Out of memory|lack of memory")
    r = call("python3 -c 'import os; os.kill(os.getpid(), 9)'")
    ats.equal(r.exit, ("exit", 137, "command"), r.text)
    ats.missing(r.text.lower(), "memory")


@ats.test("a process that comes near its memory limit: said, as a guess")
def _(home):
    if ats.SANITIZED:
        ats.skip("the sanitizers have no limit of a process's memory")
    home.configure({"sandbox": {"limits": "check"}})
    call = Calls(home)
    r = call("python3 -c '\nx = []\nwhile True: x.append(bytearray(b\"x\") * (8 << 20))'")
    ats.equal(r.exit[:2], ("exit", 1), r.text)
    ats.matches(r.text, r"MemoryError.*limit for one process is \d+ MiB: probably")


@ats.test("survivors are named with the way to keep one; a pipe given away is told", users=True)
def _(home):
    call = Calls(home)
    r = call("sleep 7655 & echo x")
    ats.equal((r.output["survivors"], r.output["survivor_names"]), (1, "sleep"))
    ats.matches(r.text, r"x\n\[1 process was still running.*sleep.*run_in_background")
    ats.equal(call("for i in 1 2 3; do sleep 7655 & done; tail -f /dev/null & echo").output[
        "survivor_names"], "sleep (3), tail")
    # No terminal obeys a name.
    r = call("cp /bin/sleep $'sl\\e[31mx'; ./sl* 7655 & until grep -q ^sl /proc/$!/comm; do :; done")
    ats.equal(r.output["survivor_names"], "sl\\x1b[31mx")
    ats.contains(r.text, "sl\\x1b[31mx")
    ats.missing(r.text, "\x1b")
    ats.missing(r.output, "pipe_held")
    id = re.search(r"bash_\d+", call("sleep 7655 & echo x", run_in_background=True).text).group(0)
    r = until(call, id, "completed")
    ats.matches(r.text, "1 process was still running.*sleep")
    ats.equal((r.output["survivors"], r.output["exit_kind"], r.output["exit_by"]),
              (1, "exit", "command"))
    # The holder is another call's process, which got the pipe over a socket.
    home.write("keep.py", (
        "import array, os, socket\n"
        "s = socket.socket(socket.AF_UNIX)\ns.bind('/tmp/keep')\ns.listen()\n"
        "print('up', flush=True)\nwhile True:\n  c = s.accept()[0]\n"
        "  fds = socket.recv_fds(c, 1, 4)[1]\n  c.send(b'x')\n"), 0o644)
    id = re.search(r"bash_\d+", call("python3 keep.py", run_in_background=True).text).group(0)
    until(call, id, "up")
    began = time.monotonic()
    r = call("echo x; python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); "
             "s.connect('/tmp/keep'); socket.send_fds(s, [b'x'], [1]); s.recv(1)\"")
    ats.check(time.monotonic() - began < 5, "slow")
    ats.equal((r.exit[:2], r.output.get("pipe_held")), (("exit", 0), True), r.text)
    ats.matches(r.text, r"x\n\[A process outside of this call holds its output open")
    call.tool("KillShell", shell_id=id)


@ats.test("background: by whom it ended, and with which code", users=True)
def _(home):
    call = Calls(home)

    def start(command):
        return re.search(r"bash_\d+", call(command, run_in_background=True).text).group(0)
    for command, status, code, kind in (
            ("true", "completed", 0, "exit"), ("bash -c 'exit 7'", "failed", 7, "exit"),
            ("kill -9 $$", "killed", 137, "signal"), ("kill -TERM $$", "killed", 143, "signal"),
            ("bash -c 'kill -9 $$'", "failed", 137, "exit")):
        r = until(call, start(command), "completed|failed|killed")
        ats.equal((r.output["status"], r.output["exit_code"], r.output["exit_kind"],
                   r.output["exit_by"]), (status, code, kind, "command"), command)
    for command, code in (("echo up; sleep 1000", 137),
                          ("trap '' TERM; echo up; while :; do sleep 0.1; done", 137),
                          ("trap 'exit 5' TERM; echo up; sleep 1000 & wait", 5)):
        id = start(command)
        until(call, id, "up")
        text = call.tool("KillShell", shell_id=id).text
        ats.contains(text, "killed, exit code %d" % code, command)
        r = call.tool("TaskOutput", task_id=id)
        ats.equal((r.output["status"], r.output["exit_code"], r.output["exit_by"]),
                  ("killed", code, "kill"), command)


ats.main()
