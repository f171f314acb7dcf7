# SPDX-License-Identifier: Apache-2.0
"""The example runtimes of tests/example as programs of a test: lines in, answers out.

    rt = Runtime(home, "c", url="stdio")     or "c-static", "c-blocking", "js"
    rt.tool("Bash", command="pwd")           -> Said(kind, name, end, error, code, cwd, text)
"""
import collections
import contextlib
import json
import os
import re
import shutil
import subprocess

import ats

KINDS = ("c", "c-static", "c-blocking", "js")
Said = collections.namedtuple("Said", "kind name end error code cwd text")
LINE = re.compile(r"(\S+) (\S+) end=(\S+) error=([01]) code=(\S+) cwd=(\S+) (.*)", re.S)


def argv_of(kind):
    folder = os.path.join(ats.BUILD, "example")
    if kind == "js":
        node = shutil.which("node")
        if node is None:
            ats.skip("no node")
        return [node, os.path.join(folder, "runtime.mjs")]
    program = os.path.join(folder, "runtime-static" if kind == "c-static" else "runtime")
    return [program] + (["--blocking"] if kind == "c-blocking" else [])


class Runtime:
    def __init__(self, home, kind, *, url="stdio", session=None, atsctl=None, plans=None,
                 workspace=None, env=None, argv=None):
        self.home = home
        env = {**(env or home.env)}
        env.pop("REMOTE_TOOLS_URL", None)
        if url is not None:
            env["REMOTE_TOOLS_URL"] = url
        self.plans = plans or os.path.join(home.dir, "plans")
        os.makedirs(self.plans, exist_ok=True)
        args = [workspace or home.ws, self.plans, atsctl or ats.program("atsctl")]
        self.proc = home.popen(*(argv or argv_of(kind)), *args, *([session] if session else []),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=env)
        home.open_things.append(self)
        self.buffer, self.said_wrong = b"", ""

    def send(self, line):
        self.proc.stdin.write(line.encode() + b"\n")
        self.proc.stdin.flush()

    def ask(self, kind, name, value):
        self.send("%s %s %s" % (kind, name, json.dumps(value)))

    def said(self):
        """The next line."""
        while b"\n" not in self.buffer:
            ats.wait_readable(self.proc.stdout, ats.TIMEOUT)
            data = os.read(self.proc.stdout.fileno(), 65536)
            if not data:
                raise ats.Failure("the runtime ended: %s" % self.errors())
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        kind, name, end, error, code, cwd, text = LINE.fullmatch(line.decode()).groups()
        text = re.sub(r"\\(.)", lambda m: "\n" if m.group(1) == "n" else m.group(1), text)
        return Said(kind, name, end, error == "1", "" if code == "-" else code, cwd, text)

    def tool(self, name, **arguments):
        self.ask("tool", name, arguments)
        return self.said()

    def validate(self, name, **arguments):
        self.ask("validate", name, arguments)
        return self.said()

    def hook(self, event, **value):
        self.ask("hook", event, value)
        return self.said()

    def plan(self, name):
        self.send("plan " + name)
        return self.said()

    def end(self):
        """No more lines: (status, what it said on stderr)."""
        with contextlib.suppress(BrokenPipeError):
            self.proc.stdin.close()
        code = self.proc.wait(ats.TIMEOUT)
        # What it has started is not its child, and would start a brain when the test's is gone.
        ats.until(lambda: not any("session" in ats.cmdline(p) for p in self.home.ours()),
                  "atsctl has ended")
        return code, self.errors()

    def errors(self):
        """What it said on stderr, to its end."""
        self.said_wrong += self.proc.stderr.read().decode()
        return self.said_wrong

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.proc.stdin.close()
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()
        self.proc.stdout.close()
        self.proc.stderr.close()
