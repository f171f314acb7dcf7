#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The official MCP client (TypeScript SDK, pinned) against ats-hands shim: each revision, the list,
calls side by side, errors, progress, cancelling, and a list that changes."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from shim import PROGRAM, SCHEMA, WIRE, Shim

LIB = os.path.join(ats.TOP, "tests", "lib")
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


def folder():
    r = subprocess.run([os.path.join(LIB, "npm-install"), "@modelcontextprotocol/sdk@1.32.2"],
                       stdout=subprocess.PIPE, check=False,
                       env={**os.environ, "ATS_BUILD": ats.BUILD})
    if r.returncode == 77:
        ats.skip(r.stdout.decode().strip())
    ats.equal(r.returncode, 0, r.stdout)
    return r.stdout.decode().strip()


class Sdk(Shim):
    """node is the client, and starts the shim."""

    def spawn(self, home, env):
        self.env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), **ats.test_env(), **env}
        self.tag, self.answers, self.events = 0, {}, []
        self.node_buffer = b""
        self.proc = home.popen("node", os.path.join(LIB, "mcp_sdk.mjs"), folder(), env=self.env,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def greet(self, tools=True):
        """Later: there is no shim yet."""

    def connect(self, version=None):
        tag = self.op("connect", command=PROGRAM[0], args=PROGRAM[1:], env=self.env,
                      version=version)
        self.relay = self.accept()
        self.relay.send("control.tools", 0, {"tools": WIRE})
        return self.get(tag)

    def op(self, op, **kw):
        self.tag += 1
        self.raw(json.dumps({"op": op, "tag": self.tag, **kw}), "\n")
        return self.tag

    def pump(self, timeout):
        end = time.monotonic() + timeout
        while b"\n" not in self.node_buffer:
            ats.wait_readable(self.proc.stdout, end - time.monotonic())
            data = os.read(self.proc.stdout.fileno(), 1 << 20)
            ats.check(data, "node ended")
            self.node_buffer += data
        line, self.node_buffer = self.node_buffer.split(b"\n", 1)
        m = json.loads(line)
        if "event" in m:
            self.events.append(m)
        else:
            self.answers[m["tag"]] = m

    def get(self, tag):
        while tag not in self.answers:
            self.pump(ats.TIMEOUT)
        m = self.answers.pop(tag)
        ats.check("result" in m, m)
        return m["result"]

    def do(self, op, **kw):
        return self.get(self.op(op, **kw))


@ats.test("each revision: the list, and a call", long=ats.PARTLY)
def _(home):
    for version in ats.some(REVISIONS, ats.PARTLY):
        sdk = Sdk(home)
        info = sdk.connect(version)
        ats.equal((info["server"]["name"], info["capabilities"]["tools"]),
                  ("ats-tools", {"listChanged": True}))
        tools = sdk.do("list")["tools"]
        ats.equal([t["name"] for t in tools], ["gh__issue", "gh__list", "bare"])
        ats.equal(tools[0]["inputSchema"], SCHEMA)
        ats.equal(sdk.do("ping"), {})
        tag = sdk.op("call", name="gh__issue", args={"text": "x"})
        q = sdk.request()
        ats.equal(q.json["input"], {"text": "x"})
        sdk.result(q.call, b"made")
        r = sdk.get(tag)
        ats.equal((r["content"], r.get("isError")), ([{"type": "text", "text": "made"}], None))
        sdk.do("close")
        ats.equal(sdk.relay.recv(), None)
        sdk.close()


@ats.test("calls side by side, a failure, progress, a cancelled one")
def _(home):
    sdk = Sdk(home)
    sdk.connect()
    tags = [sdk.op("call", name="bare", args={"i": i}, progress=i == 0) for i in range(8)]
    ids = {}
    for _ in tags:
        q = sdk.request()
        ids[q.json["input"]["i"]] = q.call
    sdk.relay.send("event.progress", ids[0], {"message": "half"})
    while not sdk.events:
        sdk.pump(ats.TIMEOUT)
    sdk.op("cancel", of=tags[1])
    sdk.relay.expect("control.cancel", call=ids[1])
    for i in reversed(range(2, 8)):
        sdk.result(ids[i], b"%d" % i)
    sdk.result(ids[0], b"no", is_error=True, code="denied")
    for i in range(2, 8):
        ats.equal(sdk.get(tags[i])["content"][0]["text"], str(i))
    r = sdk.get(tags[0])
    ats.equal((r["isError"], r["content"][0]["text"]), (True, "no"))
    ats.equal([e["progress"]["message"] for e in sdk.events if e["event"] == "progress"], ["half"])
    sdk.do("close")


@ats.test("a tool that there is not is an error of the protocol")
def _(home):
    sdk = Sdk(home)
    sdk.connect()
    tag = sdk.op("call", name="nope", args={})
    while tag not in sdk.answers:
        sdk.pump(ats.TIMEOUT)
    ats.equal(sdk.answers[tag]["error"]["code"], -32602)
    sdk.do("close")


ats.main()
