#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever is decided about a call is one line of the audit log, by whichever door the call came: a
client of MCP on stdio, a program on the socket, HTTP, a program in the sandbox, a relay directory,
atsctl, a runtime with libats."""
import contextlib
import json
import os
import re
import stat
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import http_client
import relay_shim
import shim_client
from person import approve, audit, deny, waiting
from runtime import KINDS, Runtime

TEXT = {"type": "object", "properties": {"t": {"type": "string"}}}
def stdio(home):
    mcp = home.mcp()
    mcp.initialize()
    return lambda tool, args: str(mcp.tool(tool, args))


def on_socket(home):
    d = home.door(home.register()[0])

    def call(tool, args):
        return str(d.request("ats/tool.call", {"name": tool, "arguments": args}))
    return call


def over_http(home):
    c = http_client.Client(http_client.Server(home))
    return lambda tool, args: str(c.post("tools/call", {"name": tool, "arguments": args}).body)


def shim(home):
    home.write("client.py", shim_client.CLIENT)
    mcp = home.mcp()
    mcp.initialize()

    def call(tool, args):
        ats.until(lambda: "here" in mcp.text("Bash", command='test -s "$ATS_MCP_CONFIG" && echo '
                                             'here; true'), "the sandbox has been told")
        return mcp.text("Bash", command="python3 client.py %s '%s'" % (tool, json.dumps(args)))
    return call


def relay_directory(home):
    server = relay_shim.Server(home).ready()
    return lambda tool, args: str(server.shim.call(tool, args))


def atsctl_call(home):
    return lambda tool, args: str(home.ctl("call", tool, json.dumps(args)))


def atsctl_exec(home):
    return lambda tool, args: str(home.ctl("exec", "--", "sh", "-c", args["command"]))


def libats(kind):
    def make(home):
        rt = Runtime(home, kind)
        return lambda tool, args: str(rt.tool(tool, **args))
    return make


def person(home, how):
    for one in waiting(home):
        if how == "APPROVE":
            approve(home, one)
        else:
            deny(home, one)


def said_of(call, tool, args, how):
    """Its answer as text; a person decides meanwhile, if one is wanted."""
    over = threading.Event()

    def watch():
        while how and not over.wait(0.05):
            with contextlib.suppress(OSError, ats.Failure, ats.VaultError):
                person(call.home, how)
    t = threading.Thread(target=watch)
    t.start()
    try:
        return call(tool, args)
    except (ats.RpcError, ats.Failure) as e:
        return str(e)
    finally:
        over.set()
        t.join()


# Which tools a door can call: of the sandbox, of gateways.
DOORS = [("stdio", stdio, 2), ("the socket", on_socket, 2), ("HTTP", over_http, 2),
         ("the shim", shim, 1), ("a relay directory", relay_directory, 1),
         ("atsctl call", atsctl_call, 2), ("atsctl exec", atsctl_exec, 0),
         *(("libats (%s)" % k, libats(k), 0) for k in KINDS)]


def check(home, make, can):
    if not os.path.exists(ats.program("ats-gateway")):
        ats.skip("ats-gateway is not built")
    tool = {"description": "d", "input": TEXT, "argv": ["/bin/echo", "did"]}
    hook = os.path.join(home.dir, "hook")
    with open(hook, "w", encoding="ascii") as f:
        os.fchmod(f.fileno(), 0o755)
        f.write("#!/bin/sh\ngrep -q hooked && { echo no >&2; exit 2; }; exit 0\n")
    home.configure({
        "permissions": {"deny": ["Bash(rm:*)", "box__gone"], "ask": ["Bash(touch:*)"]},
        "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command",
                                                                "args": [], "command": hook}]}]},
        "gateways": {"box": {"kind": "command", "tools": {
            "free": dict(tool, permission="allow"), "asks": dict(tool, permission="ask"),
            "gone": tool}}}})
    home.start()
    door = make(home)

    def call(tool, args):
        return door(tool, args)
    call.home = home
    total = 0

    def one(tool, args, *events, how=None, **want):
        nonlocal total
        said = said_of(call, tool, args, how)
        ats.until(lambda: len(audit(home)) >= total + len(events), (tool, args, said))
        lines = audit(home)[total:]
        total += len(events)
        ats.equal([x["event"] for x in lines], list(events), (tool, args, said))
        ats.equal({x["tool"] for x in lines}, {tool} if lines else set())
        ats.check(all(x["uid"] == os.getuid() and x["session"] and x["call"] for x in lines), lines)
        for k, v in want.items():
            ats.equal(lines[0][k], v, (tool, lines))
        return said
    if can != 1:
        one("Bash", {"command": "rm x"}, "refused", decision="deny", code="denied",
            rule="permissions.deny: Bash(rm:*)")
        one("Bash", {"command": "echo hooked"}, "refused", decision="deny",
            rule="a hook of the configuration")
        one("Bash", {"command": "touch x"}, "asked", "approved", "permitted", how="APPROVE",
            decision="ask")
        one("Bash", {"command": "touch y"}, "asked", "denied", how="DENY", decision="ask")
        one("Bash", {"command": "echo x"})      # its walls are the sandbox's: nobody decides
    if can != 0:
        one("box__free", {}, "ordered", "ended", decision="allow")
        if can == 2:
            one("box__gone", {}, "refused", decision="deny", code="denied",
                rule="permissions.deny: box__gone")
        else:   # no list has it: the sandbox's side knows no such tool, and the host is not asked
            ats.matches(one("box__gone", {}), "(?i)no tool|unknown tool")
        one("box__asks", {}, "asked", "approved", "ordered", "ended", how="APPROVE",
            decision="ask")
        one("box__asks", {}, "asked", "denied", how="DENY", decision="ask")
        ats.matches(one("box__none", {}), "(?i)no tool|unknown tool|box__none|400")
    home.ctl("shutdown", code=0)            # what was owed to the log is there then
    ats.equal(len(audit(home)), total, audit(home)[total:])


@ats.test("what nobody decides about is written down by the hook of docs/OPERATING.md, or does not run")
def _(home):
    with open(os.path.join(ats.TOP, "docs", "OPERATING.md"), encoding="utf-8") as f:
        (conf,) = re.findall(r"^```json\n(\{ \"hooks\".*?)^```$", f.read(), re.S | re.M)
    home.configure(json.loads(conf))
    os.makedirs(home.home, exist_ok=True)
    path = os.path.join(home.home, "agent-calls.jsonl")
    home.ctl("exec", "true", code=0)
    d = home.door(home.register()[0])

    def call(tool, **args):
        return d.send("ats/tool.call", {"name": tool, "arguments": args})
    for i in [call("Write", file_path="f%d" % i, content="x\n" * i) for i in range(9)]:
        ats.equal(d.answer(i)["result"]["outcome"], "done")
    d.answer(call("Read", file_path="f1"))
    with open(path, encoding="utf-8") as f:
        lines = list(map(json.loads, f))
    ats.equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)
    ats.equal(sorted((x["tool_name"], x["tool_input"].get("content")) for x in lines),
              [("Bash", None)] + [("Write", "x\n" * i) for i in range(9)])
    ats.check(all(x["session_id"].startswith("s-") and x["cwd"] == home.ws for x in lines), lines)
    os.unlink(path)
    os.mkdir(path)
    r = d.answer(call("Write", file_path="not", content="x"))["result"]
    ats.equal((r["outcome"], r["code"]), ("not_started", "denied"))
    ats.check(not os.path.exists(os.path.join(home.ws, "not")), "it was written")


for name, make, can in DOORS:
    def door(home, make=make, can=can):
        check(home, make, can)
    ats.test("by %s: each decision is a line, and each line a decision" % name)(door)


ats.main()
