#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands that fork without end, print without end, or play with terminals and pipes, while
others work beside them."""
import contextlib
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import kills

MIB = 1 << 20
LONG = bool(os.environ.get("ATS_LONG"))
PRIVATE_MAX = 24 * MIB  # of front and engine, whatever a command prints
CHARS = 30000


def mcp_of(home):
    mcp = home.mcp()
    mcp.initialize()
    return mcp


def bash(mcp, command, **kw):
    """(text, isError)"""
    r = mcp.tool("Bash", {"command": command, **kw}, timeout=300)
    return "".join(c.get("text", "") for c in r["content"]), bool(r.get("isError"))


def private(home):
    """The largest private memory of front and engine until now."""
    largest = 0
    for role in ("front", "engine"):
        for pid in kills.of_role(home, role):
            with contextlib.suppress(OSError), \
                    open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
                m = re.search(r"RssAnon:\s+(\d+)", f.read())
                largest = max(largest, int(m.group(1)) << 10 if m else 0)
    return largest


def answers(mcp, id, beside):
    """Calls beside() until the answer of id is there; it, and the slowest of beside()."""
    slowest = 0.0
    while id not in mcp.kept:
        began = time.monotonic()
        beside()
        slowest = max(slowest, time.monotonic() - began)
    return mcp.answer(id, 60)["result"], slowest


@ats.test("a fork bomb ends with its call, is told, and others go on meanwhile")
def _(home):
    home.configure({"sandbox": {"limits": "check"}})
    home.write("file", "text\n")
    bomb, mcp = mcp_of(home), mcp_of(home)
    bash(bomb, "true")
    bash(mcp, "true")
    id = bomb.send("tools/call", {"name": "Bash", "arguments": {
        "command": "f() { f | f & }; f; sleep 60", "timeout": 6000}})
    slowest, calls = 0.0, 0
    ats.until(lambda: len(ats.find(home.brain_pid(), "bash")) > 40, "it forks")
    began = time.monotonic()
    while time.monotonic() - began < 2:
        at = time.monotonic()
        if calls % 2:
            ats.contains(mcp.text("Read", file_path="file"), "text")
        else:
            ats.equal(bash(mcp, "echo on")[0], "on")
        slowest = max(slowest, time.monotonic() - at)
        calls += 1
    print("# %d calls meanwhile, the slowest took %.0f ms" % (calls, slowest * 1000))
    # A second on an idle machine; tests share theirs.
    ats.check(calls > 0 and slowest < 5, "a call beside it took %.1f s" % slowest)
    r = bomb.answer(id, 60)["result"]
    text = r["content"][0]["text"]
    ats.check(r["isError"], text)
    ats.matches(text, r"^Timed out.*process limit was reached")
    ats.until(lambda: not [p for p in ats.find(home.brain_pid(), "bash")
                           if ats.cmdline(p).startswith("bash")
                           and "f()" in ats.cmdline(p)], "nothing is left", 10)
    ats.equal(bash(mcp, "echo on; ls -d /proc/[0-9]* | wc -l")[0].split("\n")[0], "on")


@ats.test("outputs that are no text, one line, or without end: bounded, valid, with a file",
          long=ats.PARTLY)
def _(home):
    mcp = mcp_of(home)
    bash(mcp, "true")
    size = 10 << 30 if LONG else ats.rounds(160, 640) * MIB
    for command, total, kind in (
            ("head -c 200000 /dev/zero", 200000, "nul"),
            ("head -c 200000 /dev/zero | tr '\\0' '\\377'", 200000, "bad"),
            ("head -c 200000000 /dev/zero | tr '\\0' x", 200000000, "line"),
            ("truncate -s %d big && cat big" % size, size, "nul")):
        text, is_error = bash(mcp, command, timeout=290000)
        ats.check(not is_error, text[:300])
        text.encode("utf-8")
        ats.check(CHARS <= len(text) < CHARS + 500, "%s: %d" % (command, len(text)))
        ats.matches(text, r"\[\.\.\. cut: %d bytes in all" % total)
        path = re.search(r"Read (/run/ats/spill/\S+)", text).group(1)
        fill = {"nul": "\0", "bad": "\ufffd", "line": "x"}[kind]
        ats.equal((text[:CHARS // 2], set(text[-100:]) - set(fill) == set()),
                  (fill * (CHARS // 2), "MiB" not in text), command)
        ats.equal("first 32 and the last 32 MiB" in text, total > 64 * MIB, command)
        host = os.path.join(home.state, "ats", "sandbox")
        files = [os.path.join(r, n) for r, _, ns in os.walk(host) for n in ns
                 if n == os.path.basename(path)]
        ats.equal(len(files), 1)
        ats.equal(min(total, 64 * MIB) <= os.path.getsize(files[0]) < 64 * MIB + 200, True)
    print("# at most %.1f MiB private" % (private(home) / MIB))
    ats.small(private(home), PRIVATE_MAX, "front and engine")


@ats.test("the file of a long output is paged, and its gap is marked", users=True)
def _(home):
    mcp = mcp_of(home)
    text, is_error = bash(mcp, "echo first; yes 0123456789abcdef0123456789abcdef0123456789abcde"
                          "0123456789abcdef0123456789abcdef0123456789abcdef | head -c 100000000; "
                          "echo; echo the last line", timeout=120000)
    ats.check(not is_error, text[:300])
    ats.check(text.endswith("MiB of the output.]"), text[-200:])
    path = re.search(r"Read (/run/ats/spill/\S+)", text).group(1)
    ats.contains(mcp.text("Read", file_path=path, limit=1), "first")
    line = 96
    first = (32 * MIB - 6) // line  # whole lines before the gap
    page = mcp.text("Read", file_path=path, offset=first, limit=6)
    lost = 100000000 + 6 + 1 + 14 - 64 * MIB
    ats.matches(page, r"\n *\d+\t\[\.\.\. %d bytes were not kept \.\.\.\]\n" % lost)
    found = mcp.text("Grep", pattern="the last line|not kept", path=path, output_mode="content",
                     **{"-n": True})
    ats.matches(found, r"not kept.*the last line")


@ats.test("terminals: there is none to open, to take or to type into", users=True)
def _(home):
    mcp = mcp_of(home)
    for command in ("tty; echo end", "stty -a; echo end", "exec < /dev/tty; echo end",
                    "echo x > /dev/tty; echo end", "setsid -c true; echo end",
                    "python3 -c '\nimport fcntl, termios\nfor fd in range(3):\n"
                    "  try: fcntl.ioctl(fd, termios.TIOCSTI, b\"x\")\n"
                    "  except OSError as e: print(e.errno)\n'; echo end",
                    "python3 -c '\nimport os, pty\npid, fd = pty.fork()\n"
                    "if pid == 0: os.execvp(\"sh\", [\"sh\", \"-c\", \"read x; echo got $x\"])\n"
                    "os.write(fd, b\"hi\\n\")\nout = b\"\"\n"
                    "while b\"got hi\" not in out: out += os.read(fd, 100)\n'; echo end"):
        began = time.monotonic()
        text = bash(mcp, command, timeout=20000)[0]
        ats.check(time.monotonic() - began < 10, "slow: " + command)
        # A redirection of exec that fails ends the shell.
        ats.matches(text, r"end$|Exit code 1\n.*/dev/tty", command)
        ats.missing(text, "Traceback", command)


@ats.test("a shell that closes, keeps or swaps its streams ends all the same", users=True)
def _(home):
    mcp = mcp_of(home)
    for command, want in (
            ("exec 1>&- 2>&-; exit 3", r"^Exit code 3\n\(no output\)$"),
            ("exec > f; echo x; exit 4", r"^Exit code 4\n\(no output\)$"),
            ("exec 9>&1; (sleep 100 >&9 &) ; echo x", r"^x\n\[1 process was.*sleep"),
            ("coproc sleep 100; echo x", r"^x\n\[1 process was.*sleep"),
            ("echo x; trap 'echo trapped; exit 6' EXIT; exit 5", r"^Exit code 6\nx\ntrapped$"),
            ("mkfifo p; exec < p", r"Timed out"),
            ("kill -STOP $$; echo x", r"Timed out"),
            ("exec python3 -c 'import os; os.closerange(0, 99); os._exit(9)'", r"^Exit code 9")):
        began = time.monotonic()
        text = bash(mcp, command, timeout=1500)[0]
        ats.check(time.monotonic() - began < 10, "slow: " + command)
        ats.matches(text, want, command)
    ats.equal(bash(mcp, "echo on")[0], "on")


@ats.test("BashOutput filters what is new by lines, whole characters, with totals", users=True)
def _(home):
    mcp = mcp_of(home)
    text = bash(mcp, "for i in $(seq 3000); do echo \"l\u00edne $i \u4f60\"; done; printf 'a\\377b'",
                run_in_background=True)[0]
    id = re.search(r"bash_\d+", text).group(0)
    seen = ""

    def more():
        nonlocal seen
        seen += mcp.text("BashOutput", bash_id=id, filter="7 \u4f60$|^a")
        return "completed" in seen
    ats.until(more, "it ends")
    ats.equal(sorted(int(n) for n in re.findall(r"l\u00edne (\d+) ", seen)),
              list(range(7, 3001, 10)))
    ats.contains(seen, "a\ufffdb")
    ats.contains(mcp.text("BashOutput", bash_id=id), "no new output")


ats.main()
