# SPDX-License-Identifier: Apache-2.0
"""A program of npm packages on a leash: it takes one JSON command a line and answers each by its
tag; what happens meanwhile are events (mcp_sdk.mjs, mcp_sdk2.mjs)."""
import functools
import json
import os
import subprocess
import time

import ats

LIB = os.path.join(ats.TOP, "tests", "lib")


@functools.lru_cache(maxsize=None)
def installed(spec):
    r = subprocess.run([os.path.join(LIB, "npm-install"), spec], stdout=subprocess.PIPE,
                       check=False, env={**os.environ, "ATS_BUILD": ats.BUILD})
    return r.returncode, r.stdout.decode().strip()


def folder(spec):
    """Where NAME@VERSION is installed; skips the test where it cannot be."""
    code, text = installed(spec)    # once: a registry out of reach takes its time to say so
    if code == 77:
        ats.skip(text)
    ats.equal(code, 0, text)
    return text


class Leash:
    """call() sends and answer() waits, so that calls can overlap."""

    def __init__(self, home, script, spec):
        self.home, self.tag, self.buffer = home, 0, b""
        self.answers, self.events = {}, []
        self.node = subprocess.Popen(
            ["node", os.path.join(LIB, script), folder(spec)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=home.env, cwd=home.ws)
        home.open_things.append(self)

    def server(self, session=None):
        """What "connect" needs to start atsctl mcp."""
        argv = [*self.home.prefix, ats.program("atsctl"), "mcp", "--workspace", self.home.ws]
        if session:
            argv += ["--session", session]
        return {"command": argv[0], "args": argv[1:], "env": self.home.env, "cwd": self.home.ws}

    def send(self, op, **kw):
        self.tag += 1
        self.node.stdin.write(json.dumps({"op": op, "tag": self.tag, **kw}).encode() + b"\n")
        self.node.stdin.flush()
        return self.tag

    def pump(self, timeout):
        end = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            ats.wait_readable(self.node.stdout, end - time.monotonic())
            data = os.read(self.node.stdout.fileno(), 1 << 20)
            ats.check(data, "node ended")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        m = json.loads(line)
        if "event" in m:
            self.events.append(m)
        else:
            self.answers[m["tag"]] = m

    def answer(self, tag, timeout=ats.TIMEOUT):
        end = time.monotonic() + timeout
        while tag not in self.answers:
            self.pump(end - time.monotonic())
        return self.answers.pop(tag)

    def is_answered(self, tag, name, timeout=ats.TIMEOUT):
        """Which comes first, the answer or such an event."""
        end = time.monotonic() + timeout
        while tag not in self.answers:
            if any(e["event"] == name for e in self.events):
                return False
            self.pump(end - time.monotonic())
        return True

    def event(self, name, timeout=ats.TIMEOUT):
        end = time.monotonic() + timeout
        while True:
            for e in self.events:
                if e["event"] == name:
                    return e
            self.pump(end - time.monotonic())

    def take_event(self, name):
        e = self.event(name)
        self.events.remove(e)
        return e

    def do(self, op, timeout=ats.TIMEOUT, **kw):
        m = self.answer(self.send(op, **kw), timeout)
        ats.check("result" in m, m)
        return m["result"]

    def call(self, name, progress=False, **args):
        return self.send("call", name=name, args=args, progress=progress)

    def result(self, tag, timeout=ats.TIMEOUT):
        m = self.answer(tag, timeout)
        ats.check("result" in m, m)
        text = "".join(c.get("text", "") for c in m["result"]["content"])
        return text, bool(m["result"].get("isError"))

    def text(self, name, **args):
        text, is_error = self.result(self.call(name, **args))
        ats.check(not is_error, text)
        return text

    def error(self, name, **args):
        text, is_error = self.result(self.call(name, **args))
        ats.check(is_error, "%s should have failed: %s" % (name, text))
        return text

    def close(self):
        self.node.stdin.close()
        try:
            self.node.wait(10)
        except subprocess.TimeoutExpired:
            self.node.kill()
            self.node.wait()
        self.node.stdout.close()
