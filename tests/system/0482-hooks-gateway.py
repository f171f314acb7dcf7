#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hooks around tools of gateways, from the door and from inside the sandbox; and what becomes of
hooks when engine, brain or sandbox are killed."""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import kills
import shim_client
from hook_conf import group, hook


def specific(**more):
    return "cat >/dev/null; printf %%s '%s'" % json.dumps({"hookSpecificOutput": more})


def configure(home, hooks, **more):
    """A gateway named local whose tool say gives its argument back."""
    home.configure({"hooks": hooks, "gateways": {"local": {"kind": "command", "tools": {"say": {
        "description": "Says it.", "permission": "allow",
        "argv": ["/bin/sh", "-c", "sed 's/.*\"text\": *\"//; s/\".*//' | tr -d '\\n'"],
        "input": {"type": "object", "properties": {"text": {"type": "string"}},
                  "required": ["text"]}, **more}}}}})


def texts(answer):
    return [c["text"] for c in answer["content"]]


class Session:
    def __init__(self, home):
        self.door = home.mcp("--session", "test")
        self.door.initialize()

    def call(self, tool, **arguments):
        return self.door.request("ats/tool.call", {"name": tool, "arguments": arguments})


def inside(home, *args):
    home.write("client.py", shim_client.CLIENT)
    r = home.ctl("exec", "--", "python3", "client.py", *args, code=0)
    return json.loads(r.stdout)["result"]


def of_command(text):
    return [int(p) for p in os.listdir("/proc")
            if p.isdigit() and ats.cmdline(int(p)).strip() == text]


@ats.test("a gateway's tool is mcp__GATEWAY__TOOL for matchers: denied, rewritten, added to")
def gateway(home):
    log = os.path.join(home.home, "log")
    configure(home, {
        "PreToolUse": [
            group("mcp__local__.*", "cat >>%s; echo >>%s; grep -q forbidden %s && "
                  "{ echo not that >&2; exit 2; }; exit 0" % (log, log, log)),
            group("mcp__local__say", "case $(cat) in *one*) echo '%s';; esac" % json.dumps(
                {"hookSpecificOutput": {"updatedInput": {"text": "two"}}})),
            group("local__say", "exit 2")],
        "PostToolUse": [group("mcp__local__say", specific(additionalContext="seen"))]})
    # What a workspace has to say of the host's tools is not asked.
    home.write(".claude/settings.json", json.dumps({"hooks": {
        "PreToolUse": [group("mcp__.*", "exit 2")], "PostToolUse": [group("mcp__.*", "exit 2")]}}))
    s = Session(home)
    ats.equal(texts(s.call("local__say", text="one")), ["two", "seen"])
    ats.equal(texts(inside(home, "local__say", '{"text": "in"}')), ["in", "seen"])
    a = s.call("local__say", text="forbidden")
    ats.equal((a["outcome"], a["code"]), ("not_started", "denied"))
    ats.contains(texts(a)[0], "PreToolUse:mcp__local__say hook refused this call: not that")
    a = inside(home, "local__say", '{"text": "forbidden"}')
    ats.equal(a["isError"], True)
    ats.contains(texts(a)[0], "not that")
    with open(log, encoding="utf-8") as f:
        first = json.loads(f.readline())
    ats.equal((first["tool_name"], first["tool_input"], first["mcp_server"]),
              ("mcp__local__say", {"text": "one"}, {"name": "local"}))


@ats.test("a hook's ask makes a person decide about a tool that would be allowed; its allow does not")
def asks(home):
    configure(home, {"PreToolUse": [group("mcp__.*", "grep -q ask && echo '%s'; exit 0" % json.dumps(
        {"hookSpecificOutput": {"permissionDecision": "ask"}})),
        group("mcp__.*", specific(permissionDecision="allow"))]})
    s = Session(home)
    ats.equal(texts(s.call("local__say", text="x")), ["x"])
    nr = s.door.send("ats/tool.call", {"name": "local__say", "arguments": {"text": "ask"}})
    waiting = []

    def look():
        waiting[:] = [json.loads(x) for x in home.ctl("--json", "approvals").stdout.splitlines()]
        return waiting
    ats.until(look, "an approval")
    home.ctl("deny", waiting[0]["id"], code=0)
    ats.equal(s.door.answer(nr)["result"]["outcome"], "not_started")
    configure(home, {"PreToolUse": [group("mcp__.*", specific(permissionDecision="allow"))]},
              permission="deny")
    s.door.close()
    home.ctl("shutdown", code=0)
    a = Session(home).call("local__say", text="x")
    ats.equal((a["outcome"], a["code"]), ("not_started", "denied"))


@ats.test("arguments that hooks cannot see whole are refused, where hooks have a say")
def too_large(home):
    home.configure({"hooks": {"PreToolUse": [group("Write", "exit 0")]}})
    s = Session(home)
    a = s.call("Write", file_path="big", content="x" * (5 << 20))
    ats.equal((a["outcome"], a["is_error"]), ("not_started", True))
    ats.contains(texts(a)[0], "hooks")
    ats.equal(os.listdir(home.ws), [])
    ats.equal(s.call("Write", file_path="big", content="x" * (3 << 20))["is_error"], False)


@ats.test("so many at once wait for each other, and all run")
def many(home):
    home.configure({"hooks": {"PreToolUse": [group("Bash", *["sleep 0.05"] * 10)]}})
    s = Session(home)
    nrs = [s.door.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "echo %d" % i}})
           for i in range(12)]
    ats.equal([texts(s.door.answer(nr)["result"])[0] for nr in nrs],
              ["%d" % i for i in range(12)])


@ats.test("hooks of a killed engine end; the call did not start and can be asked for again")
def engine_killed(home):
    mark = "sleep 41.%d" % os.getpid()
    home.configure({"hooks": {"PreToolUse": [group("Bash", mark)]}})
    s = Session(home)
    s.door.send("ats/tool.call", {"name": "Bash", "call_id": "k", "arguments": {"command": "x"}})
    pids = ats.until(lambda: of_command(mark), "the hook")
    os.kill(kills.of_role(home, "engine")[-1], signal.SIGKILL)
    ats.wait_gone(pids, 5)


@ats.test("nothing that hooks have started outlives brain, whose vault and spawner are killed")
def brain_killed(home):
    mark = "sleep 42.%d" % os.getpid()
    home.configure({"hooks": {"PreToolUse": [group(
        "Bash", "setsid nohup %s >/dev/null 2>&1 & %s" % (mark, mark))]}})
    for role in ("vault", "spawner"):
        s = Session(home)
        s.door.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "x"}})
        ats.until(lambda: len(of_command(mark)) == 2, "the hook and what it started")
        pids = of_command(mark)
        brain = home.brain_pid()
        victim = brain if role == "vault" else [
            p for p in ats.descendants(brain) if ats.comm(p) == "ats-spawner"][0]
        family = ats.descendants(brain) | {brain}
        os.kill(victim, signal.SIGKILL)
        ats.wait_gone(pids, 8)
        s.door.close()
        ats.wait_gone(family, 10)


@ats.test("a sandbox that is killed under its hooks: the call goes on in the next one")
def sandbox_killed(home):
    home.write(".claude/settings.json", json.dumps({"hooks": {"PreToolUse": [
        group("Bash", "test -e second || { touch first; sleep 60; }; exit 0")]}}))
    s = Session(home)
    nr = s.door.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "echo alive"}})
    ats.until(lambda: os.path.exists(os.path.join(home.ws, "first")), "the hook")
    home.write("second", "")
    box = json.loads(home.ctl("--json", "status").stdout)["engine"]["sandboxes"][0]["id"]
    home.ctl("sandbox", "restart", box, code=0)
    ats.equal(texts(s.door.answer(nr)["result"])[0], "alive")


@ats.test("config check names what is wrong in hooks, and shows what is right")
def check(home):
    for hooks, says in (({"PreToolUses": []}, "unknown event"),
                        ({"Stop": [group("", {"type": "prompt", "prompt": "x"})]}, "prompt"),
                        ({"Stop": [group("", hook("x", **{"async": True}))]}, "async"),
                        ({"PreToolUse": [group("(", "x")]}, "regular expression")):
        home.configure({"hooks": hooks})
        r = home.ctl("config", "check")
        ats.check(r.returncode != 0, "taken: %r" % hooks)
        ats.contains((r.stdout + r.stderr).decode(), says)
    home.configure({"hooks": {"PreToolUse": [group("Bash|Edit", hook("guard --secret", timeout=5,
                                                                     onFailure="block"))],
                              "Stop": [group("", "true")]}})
    ats.contains(home.ctl("config", "check", code=0).stdout.decode(),
                 "hooks run on this machine: PreToolUse 1, Stop 1\n")
    ats.equal(json.loads(home.ctl("--json", "config", "check", code=0).stdout)["hooks"],
              "PreToolUse 1, Stop 1")
    ats.contains(home.ctl("doctor").stdout.decode(), "PreToolUse 1, Stop 1: run on this machine")
    s = Session(home)
    status = s.door.request("ats/status")
    ats.equal(status["hooks"], [
        {"event": "PreToolUse", "matcher": "Bash|Edit", "timeout_ms": 5000, "blocks": True},
        {"event": "Stop", "matcher": "*", "timeout_ms": 60000, "blocks": False}])
    ats.contains(home.ctl("status", code=0).stdout.decode(), "PreToolUse")
    ats.missing(home.ctl("status", code=0).stdout.decode(), "--secret")


ats.main()
