#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays an agent's turn over MCP against the programs in a build folder, and says what holds.

Usage: turn.py BUILD. Everything lives in a temporary folder: a brain of its own, which ends
with the turn, and a workspace.
"""
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ANSWER_S = 60


class Broken(Exception):
    pass


class Client:
    """An MCP client on the stdin and stdout of `atsctl mcp`, as an agent runtime is one."""

    def __init__(self, argv, env, cwd):
        self.proc = subprocess.Popen(argv, env=env, cwd=cwd, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, bufsize=0)
        self.buffer = b""
        self.last = 0

    def send(self, method, params=None, note=False):
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        if not note:
            self.last += 1
            message["id"] = self.last
        self.proc.stdin.write(json.dumps(message).encode() + b"\n")
        return self.last

    def answer(self, wanted):
        end = time.monotonic() + ANSWER_S
        while True:
            while b"\n" not in self.buffer:
                ready, _, _ = select.select([self.proc.stdout], [], [],
                                            max(0, end - time.monotonic()))
                data = os.read(self.proc.stdout.fileno(), 65536) if ready else b""
                if not data:
                    raise Broken("no answer to request %d" % wanted)
                self.buffer += data
            line, self.buffer = self.buffer.split(b"\n", 1)
            message = json.loads(line)
            if message.get("id") == wanted and "method" not in message:
                if "error" in message:
                    raise Broken(message["error"].get("message"))
                return message["result"]

    def call(self, tool, **arguments):
        """(text, is_error) of a tool call."""
        return self.finish(self.begin(tool, **arguments))

    def begin(self, tool, **arguments):
        return self.send("tools/call", {"name": tool, "arguments": arguments})

    def finish(self, id):
        result = self.answer(id)
        return ("".join(c.get("text", "") for c in result["content"]),
                bool(result.get("isError")))


def sandbox_processes(mark):
    """Pids of the ats-hands processes that were started with a folder of ours."""
    found = []
    for d in os.listdir("/proc"):
        if not d.isdigit():
            continue
        try:
            with open("/proc/%s/cmdline" % d, "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if words and words[0].endswith(b"ats-hands") and any(mark in w for w in words):
            found.append(int(d))
    return found


class Turn:
    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.dir = tempfile.mkdtemp(prefix="ats-quickstart.")
        self.ws = self.sub("workspace")
        self.env = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LANG": "C.UTF-8",
            "HOME": self.sub("home"), "XDG_RUNTIME_DIR": self.sub("run"),
            "XDG_STATE_HOME": self.sub("state"), "XDG_CONFIG_HOME": self.sub("config"),
            "QUICKSTART_SECRET": "secret-of-the-environment",
        }
        self.secret = os.path.join(self.dir, "home", "secret.txt")
        with open(self.secret, "w", encoding="utf-8") as f:
            f.write("secret-of-the-host\n")
        self.client = None
        self.begun = time.monotonic()

    def sub(self, name):
        path = os.path.join(self.dir, name)
        os.mkdir(path, 0o700)
        return path

    def ctl(self, *args):
        return subprocess.run([os.path.join(self.build, "atsctl"), *args], env=self.env,
                              cwd=self.ws, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=ANSWER_S, check=False)

    def holds(self, what, condition, detail=""):
        if not condition:
            raise Broken("%s\n%s" % (what, detail))
        print("  ok  %-66s %4.1f s" % (what, time.monotonic() - self.begun))
        sys.stdout.flush()

    # ---- the turn
    def connect(self):
        self.client = Client([os.path.join(self.build, "atsctl"), "mcp", "--workspace", self.ws],
                             self.env, self.ws)
        hello = self.client.answer(self.client.send("initialize", {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "quickstart", "version": "1"}}))
        self.client.send("notifications/initialized", note=True)
        tools = self.client.answer(self.client.send("tools/list"))["tools"]
        self.holds("an MCP client is connected, %d tools offered" % len(tools),
                   "serverInfo" in hello and len(tools) >= 13)

    def work(self):
        call = self.client.call
        text, bad = call("Write", file_path="greet.sh",
                         content="#!/bin/sh\nname=world\necho \"hello $name\"\n")
        self.holds("Write makes greet.sh", not bad, text)
        with open(os.path.join(self.ws, "greet.sh"), encoding="utf-8") as f:
            self.holds("the file is in the workspace on the host", "name=world" in f.read())
        text, bad = call("Read", file_path="greet.sh")
        self.holds("Read shows it with line numbers", not bad and "2\tname=world" in text, text)
        text, bad = call("Edit", file_path="greet.sh", old_string="world", new_string="agent")
        self.holds("Edit changes one line", not bad, text)
        text, bad = call("Grep", pattern="name=\\w+", output_mode="content")
        self.holds("Grep finds it", not bad and "name=agent" in text, text)
        text, bad = call("Bash", command="sh greet.sh && mkdir sub && cd sub && pwd")
        self.holds("Bash runs it", not bad and "hello agent" in text, text)

    def confined(self):
        call = self.client.call
        text, bad = call("Bash", command="cat %s; env" % self.secret)
        self.holds("a command cannot read the host's secret",
                   "secret-of-the" not in text and "No such file" in text, text)
        text, bad = call("Read", file_path=self.secret)
        self.holds("neither can Read", bad and "secret-of-the" not in text, text)
        door = socket.socket()
        door.bind(("127.0.0.1", 0))
        door.listen(1)
        text, bad = call("Bash", command="exec 3<>/dev/tcp/127.0.0.1/%d" % door.getsockname()[1])
        ready, _, _ = select.select([door], [], [], 0)
        door.close()
        self.holds("a command cannot connect to a port of the host", bad and not ready, text)

    def lose_the_sandbox(self):
        flag = os.path.join(self.ws, "sub", "running")
        late = self.client.begin("Bash", command="echo yes >running; sleep 300")
        end = time.monotonic() + ANSWER_S
        while not os.path.exists(flag):
            if time.monotonic() > end:
                raise Broken("the long command did not start")
            select.select([], [], [], 0.01)
        pids = sandbox_processes(self.dir.encode())
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.holds("the sandbox is killed while a command runs (kill -9, %d processes)" % len(pids),
                   len(pids) > 0)
        text, bad = self.client.finish(late)
        self.holds("that call is answered: its outcome is unknown", bad, text)
        text, bad = self.client.call("Edit", file_path=os.path.join(self.ws, "greet.sh"),
                                     old_string="agent", new_string="survivor")
        self.holds("the next Edit runs in a new sandbox, nothing to read again", not bad, text)
        text, bad = self.client.call("Bash", command="pwd; sh ../greet.sh")
        self.holds("the session is where it was",
                   not bad and "/sub" in text and "hello survivor" in text, text)

    def notes(self):
        """What of the confinement is not on here, and what to do about it."""
        try:
            report = json.loads(self.ctl("doctor", "--json").stdout)
        except ValueError:
            return      # what is wrong shows in what follows
        for row in report["layers"] + report["dependencies"]:
            if row["state"] != "on":
                print("  note  %s is %s: %s" % (row["name"], row["state"], row.get("why", "")))
                if row.get("remedy"):
                    print("        remedy: %s" % row["remedy"])

    def run(self):
        print("an agent's turn in %s" % self.ws)
        self.notes()
        self.connect()
        self.work()
        self.confined()
        self.lose_the_sandbox()

    def end(self):
        if self.client is not None:
            self.client.proc.stdin.close()
            try:
                self.client.proc.wait(10)
            except subprocess.TimeoutExpired:
                self.client.proc.kill()
                self.client.proc.wait()
        try:
            self.ctl("shutdown")
        except (OSError, subprocess.TimeoutExpired):
            pass

    def log(self):
        for root, _, files in os.walk(os.path.join(self.dir, "state")):
            for name in files:
                if name.endswith(".log"):
                    path = os.path.join(root, name)
                    with open(path, encoding="utf-8", errors="replace") as f:
                        sys.stderr.write("%s:\n%s" % (path, "".join(f.readlines()[-30:])))


def main():
    if len(sys.argv) != 2:
        sys.stderr.write(__doc__)
        return 2
    turn = Turn(sys.argv[1])
    try:
        turn.run()
        failed = None
    except (Broken, OSError, subprocess.TimeoutExpired) as e:
        failed = e
    turn.end()
    if failed is not None:
        sys.stderr.write("quickstart: broken: %s\n" % failed)
        turn.log()
        return 1
    shutil.rmtree(turn.dir, ignore_errors=True)
    ctl = os.path.join(turn.build, "atsctl")
    print("""
Each step held. To go on, in a folder that an agent may work in:
  a command in the sandbox of this folder
    %(ctl)s exec -- bash -c 'id; ls -la'
  what confines it on this machine
    %(ctl)s doctor
  what runs
    %(ctl)s status
With Claude Code (its own tools are off, so that it cannot fall back on the host):
    claude mcp add ats -- %(ctl)s mcp
    claude --tools "" --allowedTools mcp__ats
'sudo make install' puts the programs into /usr/local,
'make install PREFIX=$HOME/.local' into your home directory.""" % {"ctl": ctl})
    return 0


if __name__ == "__main__":
    sys.exit(main())
