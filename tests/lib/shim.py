# SPDX-License-Identifier: Apache-2.0
"""ats-hands shim with a client on pipes, and a relay socket of the test's."""
import contextlib
import json
import os
import socket
import subprocess
import time

import ats

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [{"name": "gh__issue", "description": "Makes an \"issue\"\n", "inputSchema": SCHEMA,
          "kind": "callback", "timeoutMs": 30000, "permission": "ask"},
         {"name": "gh__list", "input_schema": {"type": "object"}}, {"name": "bare"}]
# The same as control.tools has them.
WIRE = [{"name": "gh__issue", "description": "Makes an \"issue\"\n", "inputSchema": SCHEMA,
         "timeoutMs": 30000, "annotations": {"readOnlyHint": False}},
        {"name": "gh__list", "inputSchema": {"type": "object"}}, {"name": "bare"}]
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {},
              "clientInfo": {"name": "test", "version": "1"}}
PROGRAM = [ats.program("ats-hands"), "shim"]


class Lines:
    """A client on pipes."""

    def __init__(self, home, env):
        self.buffer = b""
        self.spawn(home, env)

    def spawn(self, home, env):
        self.proc = home.popen(*PROGRAM, env={"PATH": "/usr/bin:/bin", **ats.test_env(), **env},
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)

    def raw(self, *lines):
        self.proc.stdin.write(b"".join(x if isinstance(x, bytes) else x.encode() for x in lines))
        self.proc.stdin.flush()

    def send(self, method, ident=None, params=None):
        m = {"jsonrpc": "2.0", "method": method}
        if ident is not None:
            m["id"] = ident
        if params is not None:
            m["params"] = params
        self.raw(json.dumps(m), "\n")

    def call(self, ident, name, arguments=None, **more):
        self.send("tools/call", ident, {"name": name, **more, **(
            {} if arguments is None else {"arguments": arguments})})

    def line(self, timeout=ats.TIMEOUT):
        end = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            ats.wait_readable(self.proc.stdout, end - time.monotonic())
            data = os.read(self.proc.stdout.fileno(), 1 << 20)
            ats.check(data, "the shim ended: %r" % self.buffer)
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        m = json.loads(line)
        ats.equal(m.pop("jsonrpc"), "2.0")
        return m

    def answer(self, ident):
        """The next line, which answers that."""
        m = self.line()
        ats.equal(m.pop("id"), ident)
        return m

    def initialize(self, version="2025-06-18"):
        self.send("initialize", 0, {**INITIALIZE, "protocolVersion": version})
        r = self.answer(0)["result"]
        self.send("notifications/initialized")
        return r

    def ping(self):
        """What was sent before has been read."""
        self.send("ping", "p")
        ats.equal(self.answer("p"), {"result": {}})

    def end(self, code=0):
        """Nothing more comes, and it ends by itself."""
        self.proc.stdin.close()
        rest = self.proc.stdout.read()
        ats.equal((self.proc.wait(timeout=ats.TIMEOUT), rest), (code, b""))
        return self.proc.stderr.read().decode()


class Shim(Lines):
    """With a relay socket, whose other end is relay."""

    def __init__(self, home, session="s-000000000001", greet=True):
        self.path = os.path.join(home.run, "relay.sock")
        self.specs = os.path.join(home.run, "tools.json")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        home.open_things.append(self)
        self.listener.bind(self.path)
        self.listener.listen(8)
        self.listener.settimeout(ats.TIMEOUT)
        with open(self.specs, "w", encoding="utf-8") as f:
            json.dump(TOOLS, f, indent=2)
        super().__init__(home, {"ATS_TOOLS_SPECS": self.specs, "ATS_RELAY_SOCKET": self.path,
                                **({"ATS_SESSION_ID": session} if session else {})})
        if greet is not None:
            self.greet(greet)

    def greet(self, tools=True):
        """It connects, and hears, with tools, which there are: the same as its file says."""
        self.relay = self.accept()
        if tools:
            self.relay.send("control.tools", 0, {"tools": WIRE})

    def accept(self):
        return ats.Link(self.listener.accept()[0])

    def close(self):
        self.listener.close()

    def request(self):
        return self.relay.expect("call.gateway")

    def result(self, call, payload=b"", **more):
        self.relay.send("result", call, {"outcome": "done", **more}, payload)


def text(s, **more):
    return {"result": {"content": [{"type": "text", "text": s}], **more}}
