#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""atsctl top and atsctl metrics: once, as JSON, and on a terminal."""
import fcntl
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import promtext
from terminal import Terminal


def top(home, **kw):
    return Terminal(home, ats.program("atsctl"), "top", **kw)


@ats.test("once, as text and as JSON, where it is no terminal")
def _(home):
    r = home.ctl("top", code=3)
    ats.contains(r.stderr.decode(), "brain")
    home.start()
    home.write("f.txt", "x\n")
    home.ctl("call", "Read", '{"file_path":"f.txt"}', code=0)
    home.ctl("call", "Read", '{"file_path":"no.txt"}', code=1)
    lines = home.ctl("top", code=0).stdout.decode().splitlines()
    ats.matches(lines[0], r"^engine up 0h00   sandboxes 1 \(1 ready\)   sessions \d+   clients \d+$")
    ats.matches(lines[1], r"^calls running 0   waiting 0   for a person 0$")
    ended = lines[lines.index(next(x for x in lines if x.startswith("ENDED"))) + 1:]
    ats.matches(ended[0], r"^c-\d+ +Read +s-\w+ +not_found +\d+[um]s")
    ats.matches(ended[1], r"^c-\d+ +Read +s-\w+ +done +\d+[um]s")
    ats.check("\033" not in "".join(lines), "it is no terminal")
    j = json.loads(home.ctl("--json", "top", code=0).stdout)
    ats.equal([(x["tool"], x["is_error"]) for x in j["ended"]["calls"][:2]],
              [("Read", True), ("Read", False)])
    ats.check(j["ended"]["calls"][0]["timings"]["total_us"] > 0 and j["status"]["sandboxes"], j)
    m = promtext.read(home.ctl("metrics", code=0).stdout.decode())
    ats.equal(m["ats_calls_total"].value(tool="Read", outcome="error"), 1)


@ats.test("on a terminal it shows what happens until q, and leaves it as it was")
def _(home):
    t = top(home)
    t.expect(rb"\x1b\[\?1049h.*no.* run|brain")		# it waits for one to start
    home.start()
    t.expect(rb"engine up ")
    home.ctl("exec", "--", "true", code=0)
    t.expect(rb"c-\d+ +exec ")
    p = home.popen(ats.program("atsctl"), "exec", "--", "sh", "-c", "echo up; read x",
                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    p.stdout.readline()
    t.expect(rb"calls running 1 ")
    p.stdin.close()
    p.wait()
    t.type("x")			# any key draws anew
    t.type("q")
    t.end(0)
    ats.check(t.text.endswith(b"\033[?25h\033[?1049l"), t.text[-60:])


@ats.test("Ctrl-C ends it, and so does the end of the terminal; a stopped engine does not hold it")
def _(home):
    home.start()
    t = top(home)
    t.expect(rb"engine up ")
    t.type("\x03")
    t.end(0)
    ats.check(t.text.endswith(b"\033[?25h\033[?1049l"), t.text[-60:])
    t = top(home)
    t.expect(rb"engine up ")
    engine = home.pids("ats-engine")[0]
    os.kill(engine, signal.SIGSTOP)
    try:
        t.type("x")
        t.process.send_signal(signal.SIGTERM)
        ats.until(lambda: t.process.poll() is not None or
                  not t.process.send_signal(signal.SIGTERM) and False, "it ends")
    finally:
        os.kill(engine, signal.SIGCONT)
    ats.check(t.process.returncode in (0, 128 + signal.SIGTERM), t.process.returncode)


@ats.test("it fits a small terminal, and what a sandbox prints cannot steer one")
def _(home):
    home.start()
    home.ctl("exec", "--", "true", code=0)
    t = top(home, rows=5, columns=40)
    t.expect(rb"engine up ")
    fcntl.ioctl(t.master, termios.TIOCSWINSZ, struct.pack("HHHH", 6, 30, 0, 0))
    m = home.mcp()
    m.initialize()
    i = m.send("tools/call", {"name": "Bash", "arguments": {
        "command": "printf 'a\\033[31mb\\033]0;t\\007\\n'; mkfifo fifo; echo up > up; read x < fifo"},
        "_meta": {"progressToken": 1}})
    ats.until(lambda: os.path.exists(os.path.join(home.ws, "up")), "the command runs")
    t.expect(rb"running 1 ")
    m.notify("notifications/cancelled", {"requestId": i})
    t.type("q")
    t.end(0)
    ats.missing(t.text.decode("utf-8", "replace"), "\033[31m")
    ats.missing(t.text.decode("utf-8", "replace"), "\033]0;")
    for screen in t.text.split(b"\033[H")[1:]:
        lines = screen.split(b"\033[J")[0].split(b"\r\n")
        ats.check(len(lines) <= 6 and all(len(re.sub(rb"\x1b\[K", b"", x)) <= 40 for x in lines),
                  lines)


RUNNING = ["CALL", "TOOL", "SESSION", "STATE", "AGE", "LAST LINE"]
ENDED = ["ENDED", "TOOL", "SESSION", "OUTCOME", "TOTAL", "WAIT", "APPROVAL", "JOURNAL", "WIRE",
         "QUEUE", "WORKER", "RUN"]


@ats.test("a narrow terminal has fewer columns, each whole, and the last row says which key ends it")
def _(home):
    home.start()
    home.write("f.txt", "x\n")
    home.ctl("call", "Read", '{"file_path":"f.txt"}', code=0)
    left = {}
    for columns in (200, 120, 80, 50, 30, 22):
        t = top(home, rows=24, columns=columns)
        t.expect(rb"ENDED(?s:.)*\x1b\[24;1H[^\n]*quit")
        t.type("q")
        t.end(0)
        screen = t.text.decode().split("\033[H")[1]
        body, hint = screen.split("\033[24;1H")
        lines = [x.replace("\033[K", "") for x in body.split("\033[J")[0].split("\r\n")]
        ats.check(hint.startswith("q: quit") and len(lines) < 24, screen)
        ats.equal("any other key" in hint.split("\033")[0], columns >= 36)
        ats.check(all(len(x) <= columns for x in lines), lines)
        heads = {}
        for name, known in (("CALL", RUNNING), ("ENDED", ENDED)):
            (head,) = [x for x in lines if x.startswith(name + " ")]
            heads[name] = re.split(r" {2,}|(?<!LAST) ", head.strip())
            ats.equal([h for h in heads[name] if h not in known], [], head)
        # A row has as many cells as its head, and none is cut.
        row = next(x for x in lines[lines.index(head) + 1:] if x.startswith("c-"))
        ats.equal(len(row.split()), len(heads["ENDED"]), (head, row))
        left[columns] = (len(heads["CALL"]), len(heads["ENDED"]))
        sums = " ".join(lines[:lines.index(next(x for x in lines if not x))])
        for word in ("engine up", "(1 ready)", "sessions", "clients", "running", "for a person 0"):
            ats.contains(sums, word)
    ats.equal(left[200], (len(RUNNING), len(ENDED)))
    ats.check(4 < left[80][1] < left[120][1] < left[200][1] and left[50][1] >= 3, left)
    ats.check(list(left.values()) == sorted(left.values(), reverse=True), left)


@ats.test("tmux shows its screen, and what was there before when it has ended")
def _(home):
    if not shutil.which("tmux"):
        ats.skip("no tmux")
    home.start()
    home.ctl("exec", "--", "true", code=0)

    def tmux(*args):
        return subprocess.run(["tmux", "-S", os.path.join(home.dir, "tmux"), "-f", "/dev/null",
                               *args], env=home.env, cwd=home.ws, capture_output=True, text=True,
                              timeout=ats.TIMEOUT, check=True).stdout

    tmux("new-session", "-d", "-x", "160", "-y", "20", "sh")
    try:
        tmux("send-keys", "echo before; %s top; echo after" % ats.program("atsctl"), "Enter")
        ats.until(lambda: "engine up" in tmux("capture-pane", "-p"), "the screen")
        screen = tmux("capture-pane", "-p")
        ats.matches(screen, r"(?m)^engine up .*\n^calls running")
        ats.matches(screen, r"(?m)^c-\d+ +exec ")
        ats.missing(screen, "before")
        tmux("send-keys", "q")
        ats.until(lambda: "after" in tmux("capture-pane", "-p").replace("echo after", ""), "its end")
        ats.missing(tmux("capture-pane", "-p"), "engine up")
        ats.contains(tmux("capture-pane", "-p"), "before")
    finally:
        tmux("kill-server")


ats.main()
