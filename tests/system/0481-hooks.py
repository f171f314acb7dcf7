#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hooks with the real programs: those of the configuration on the host, those of a workspace in
its sandbox, and what both may do to a call through each door."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import http_client
from hook_conf import group, hook


def say(**specific):
    """A command that prints hookSpecificOutput of PreToolUse."""
    event = specific.pop("event", "PreToolUse")
    text = json.dumps({"hookSpecificOutput": {"hookEventName": event, **specific}})
    return "cat >/dev/null; printf %%s '%s'" % text


class Session:
    """The door through atsctl mcp, by the two ways to call."""

    def __init__(self, home):
        self.door = home.mcp("--session", "test")
        self.door.initialize()

    def call(self, tool, **arguments):
        return self.door.request("ats/tool.call", {"name": tool, "arguments": arguments})

    def mcp(self, tool, **arguments):
        r = self.door.request("tools/call", {"name": tool, "arguments": arguments})
        return r.get("isError", False), [c["text"] for c in r["content"]]

    def bash(self, command, **more):
        return self.call("Bash", command=command, **more)

    def run(self, event, **data):
        return self.door.request("ats/hook.run", {"event": event, "input": data})


def text(answer):
    return "\n".join(c["text"] for c in answer["content"])


def log_to(home, name="log"):
    return os.path.join(home.home, name)


def lines(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


@ats.test("host hooks see each call and its end, on the host, with a clean environment")
def host_sees(home):
    log, env = log_to(home), log_to(home, "env")
    home.env["ATS_PLANTED"] = "planted-secret"
    home.configure({"hooks": {
        "PreToolUse": [group("Bash|Read", "cat >>%s; echo >>%s; env >%s; pwd >>%s; ls -l "
                             "/proc/self/fd >>%s" % (log, log, env, env, env))],
        "PostToolUse": [group("", "cat >>%s; echo >>%s" % (log, log))],
        "PostToolUseFailure": [group("B.sh", "cat >>%s; echo >>%s" % (log, log))]}})
    s = Session(home)
    ats.equal(text(s.bash("echo one")), "one")
    ats.equal(s.bash("exit 3")["is_error"], True)
    home.write("f", "text\n")
    ats.contains(s.mcp("Read", file_path="f")[1][0], "text")
    s.call("Glob", pattern="*")
    got = lines(log)
    ats.equal([(e["hook_event_name"], e["tool_name"]) for e in got],
              [("PreToolUse", "Bash"), ("PostToolUse", "Bash"), ("PreToolUse", "Bash"),
               ("PostToolUseFailure", "Bash"), ("PreToolUse", "Read"), ("PostToolUse", "Read"),
               ("PostToolUse", "Glob")])
    ats.equal(got[0]["tool_input"], {"command": "echo one"})
    ats.equal((got[0]["cwd"], got[0]["permission_mode"]), (home.ws, "default"))
    ats.equal(got[1]["tool_response"]["text"], "one")
    ats.contains(got[3]["error"], "3")
    ats.check(isinstance(got[1]["duration_ms"], int), "duration")
    with open(env, encoding="utf-8") as f:
        env = f.read()
    ats.contains(env, "CLAUDE_PROJECT_DIR=%s\n" % home.ws)
    ats.contains(env, "HOME=%s\n" % home.home)
    ats.missing(env, "planted-secret")
    ats.contains(env, "\n/\n")
    fds = [line.split(" -> ")[0].split()[-1] for line in env.split("\n") if " -> " in line]
    ats.equal(sorted(fds)[:3], ["0", "1", "2"])
    ats.check(len(fds) <= 4, "descriptors of others: %r" % env)


@ats.test("PreToolUse denies by its code 2 or its JSON, and nothing is run; deny wins over allow")
def denies(home):
    home.configure({"hooks": {"PreToolUse": [
        group("Bash", "grep -q forbidden && { echo not this >&2; exit 2; }; exit 0",
              say(permissionDecision="allow")),
        group("Write", say(permissionDecision="deny", permissionDecisionReason="no files"),
              say(permissionDecision="allow")),
        group("Glob", "echo '{\"continue\": false, \"stopReason\": \"enough\"}'")]}})
    s = Session(home)
    ats.equal(text(s.bash("echo fine")), "fine")
    a = s.bash("echo forbidden > made")
    ats.equal((a["outcome"], a["code"], a["is_error"]), ("not_started", "denied", True))
    ats.contains(text(a), "PreToolUse:Bash hook refused this call: not this")
    failed, said = s.mcp("Write", file_path="made", content="x")
    ats.equal(failed, True)
    ats.contains(said[0], "no files")
    ats.contains(text(s.call("Glob", pattern="*")), "enough")
    ats.equal(os.listdir(home.ws), [])
    # exec is a Bash.
    r = home.ctl("exec", "--", "sh", "-c", "echo forbidden; touch made")
    ats.check(r.returncode != 0, "it ran")
    ats.contains(r.stderr.decode(), "not this; It was not run.\n")
    ats.equal(os.listdir(home.ws), [])
    ats.equal(home.ctl("exec", "--", "echo", "a b", code=0).stdout, b"a b\n")


@ats.test("over HTTP and from a terminal it is the same")
def doors(home):
    home.configure({"hooks": {"PreToolUse": [
        group("Bash", "grep -q forbidden && { echo not this >&2; exit 2; }; exit 0")]}})
    home.start()
    c = http_client.Client(http_client.Server(home))
    r = c.tool("Bash", command="echo forbidden > made")
    ats.equal(r["isError"], True)
    ats.contains(r["content"][0]["text"], "PreToolUse:Bash hook refused this call: not this")
    ats.equal(c.text("Bash", command="echo fine").strip(), "fine")
    a = home.call("Bash", code=125, command="echo forbidden > made")
    ats.equal((a["outcome"], a["code"]), ("not_started", "denied"))
    ats.equal(os.listdir(home.ws), [])


@ats.test("PreToolUse rewrites: the tool's schema and the rules judge what came of it")
def rewrites(home):
    home.configure({"permissions": {"deny": ["Bash(touch:*)"]}, "hooks": {"PreToolUse": [
        group("Bash", "case $(cat) in *one*) printf %s '{\"hookSpecificOutput\":{\"updatedInput\":"
              "{\"command\":\"echo two\"}}}';; *evil*) printf %s '{\"hookSpecificOutput\":"
              "{\"permissionDecision\":\"allow\",\"updatedInput\":{\"command\":\"touch made\"}}}';; "
              "*wrong*) printf %s '{\"hookSpecificOutput\":{\"updatedInput\":{\"commando\":1}}}';; "
              "esac")]}})
    s = Session(home)
    ats.equal(text(s.bash("echo one")), "two")
    a = s.bash("evil")
    ats.equal((a["outcome"], a["code"]), ("not_started", "denied"))
    ats.contains(text(a), "Refused by policy")
    a = s.bash("wrong")
    ats.equal((a["is_error"], a["code"]), (True, "bad_field"))
    ats.equal(os.listdir(home.ws), [])
    ats.equal(home.ctl("exec", "--", "echo", "one", code=0).stdout, b"two\n")
    ats.check(home.ctl("exec", "--", "echo", "evil").returncode != 0, "it ran")
    ats.equal(os.listdir(home.ws), [])


@ats.test("PostToolUse adds, replaces, and its reasons reach the model; a result stays one")
def after(home):
    home.configure({"hooks": {
        "PreToolUse": [group("Bash", say(additionalContext="before"))],
        "PostToolUse": [
            group("Bash", say(event="PostToolUse", additionalContext="after"),
                  "echo mind the gap >&2; exit 2"),
            group("Read", say(event="PostToolUse", updatedToolOutput="other"))],
        "PostToolUseFailure": [group("*", say(event="PostToolUseFailure",
                                              additionalContext="try again"))]}})
    s = Session(home)
    ats.equal(s.mcp("Bash", command="echo hi"), (False, ["hi", "before\nafter\nmind the gap"]))
    ats.equal(s.mcp("Bash", command="false")[1][1], "before\ntry again")
    home.write("f", "text\n")
    ats.equal(s.mcp("Read", file_path="f"), (False, ["other"]))
    # What was answered is what is answered again.
    first = s.door.request("ats/tool.call", {"name": "Bash", "call_id": "k",
                                             "arguments": {"command": "echo again >> n; cat n"}})
    again = s.door.request("ats/tool.call", {"name": "Bash", "call_id": "k",
                                             "arguments": {"command": "echo again >> n; cat n"}})
    ats.equal(first["content"], again["content"])
    ats.equal(home.read("n"), b"again\n")


@ats.test("one that hangs, floods, dies, prints junk or is not there stops nothing, unless it blocks")
def failing(home):
    mark = "33.%d" % os.getpid()
    ways = [hook("setsid nohup sleep %s & sleep %s" % (mark, mark), timeout=1),
            hook("yes", timeout=1), "kill -9 $$", "echo '{\"decision\":\"maybe\"}'", "echo '{{{'",
            "/no/such/program", hook("/no/such/program", args=["x"]), "exit 7",
            "(setsid sleep %s &); exit 0" % mark, "yes | head -c 300000"]
    home.configure({"hooks": {"PreToolUse": [
        group("Bash", *ways), group("Read", hook("exit 7", onFailure="block"))]}})
    s = Session(home)
    begin = time.monotonic()
    ats.equal(text(s.bash("echo on")), "on")
    ats.check(time.monotonic() - begin < 8, "slow")
    a = s.run("PreToolUse", tool_name="Bash", tool_input={"command": "x"})
    ats.equal([(h["outcome"], h["exit_code"]) for h in a["hooks"]],
              [("timeout", 124), ("timeout", 124), ("failed", 137), ("failed", 0), ("failed", 0),
               ("failed", 127), ("failed", 127), ("failed", 7), ("ok", 0), ("failed", 0)])
    ats.equal(a["decision"], "none")
    ats.check(a["hooks"][8]["ms"] < 900, "held by its child: %d ms" % a["hooks"][8]["ms"])
    a = s.call("Read", file_path="f")
    ats.equal((a["outcome"], a["code"]), ("not_started", "denied"))
    ats.contains(text(a), "ended with code 7")
    ats.equal([p for p in os.listdir("/proc") if p.isdigit() and mark in ats.cmdline(int(p))], [])


@ats.test("workspace hooks run in the sandbox, and may deny; a .mcp.json starts nothing")
def workspace(home):
    outside = os.path.join(home.home, "outside")
    home.write(".claude/settings.json", json.dumps({"hooks": {
        "PreToolUse": [group("Bash", "touch ran-here %s; cat > seen; grep -q secret && "
                             "{ echo not that >&2; exit 2; }; exit 0" % outside),
                       group("Edit|Write", "exit 2")],
        "PostToolUse": [group("Bash", say(event="PostToolUse", additionalContext="from the ws"))]}}))
    home.write(".mcp.json", json.dumps({"mcpServers": {"x": {"command": "touch",
                                                             "args": [outside + "2"]}}}))
    s = Session(home)
    ats.equal(s.mcp("Bash", command="echo hi"), (False, ["hi", "from the ws"]))
    ats.check(os.path.exists(os.path.join(home.ws, "ran-here")), "it did not run")
    a = s.call("Write", file_path="x", content="x")
    ats.equal((a["outcome"], a["code"]), ("not_started", "denied"))
    ats.equal(sorted(os.listdir(home.home)), [])
    ats.equal(s.mcp("Glob", pattern="ran*")[0], False)


@ats.test("a workspace hook cannot weaken: its allow overrides nothing, its rewrite is judged again")
def never_weaker(home):
    log = log_to(home)
    home.configure({"permissions": {"deny": ["Bash(touch:*)"]}, "hooks": {"PreToolUse": [
        group("Bash", "cat >>%s; echo >>%s; grep -q rewritten %s && exit 2; exit 0" % (
            log, log, log))]}})
    home.write(".claude/settings.local.json", json.dumps({"hooks": {"PreToolUse": [group(
        "Bash", "case $(cat) in *touch*) echo '%s';; *plain*) echo '%s';; *policy*) echo '%s';; esac"
        % tuple(json.dumps({"hookSpecificOutput": {"permissionDecision": "allow", **more}})
                for more in ({}, {"updatedInput": {"command": "echo rewritten > made"}},
                             {"updatedInput": {"command": "touch made"}})))]}}))
    s = Session(home)
    for command, why in (("touch made", "policy"), ("echo policy", "policy"),
                         ("echo plain", "hook refused")):
        a = s.bash(command)
        ats.equal((a["outcome"], a["code"]), ("not_started", "denied"), command)
        ats.contains(text(a), why)
    ats.equal([e["tool_input"]["command"] for e in lines(log)],
              ["touch made", "echo policy", "touch made", "echo plain", "echo rewritten > made"])
    ats.check(not os.path.exists(os.path.join(home.ws, "made")), "it ran")


@ats.test("workspace hooks can be switched off")
def switched_off(home):
    home.write(".claude/settings.json", json.dumps({"hooks": {
        "PreToolUse": [group("*", "exit 2")]}}))
    home.configure({"workspace_hooks": False})
    s = Session(home)
    ats.equal(text(s.bash("echo hi")), "hi")


@ats.test("a person decides when a hook says ask, whatever allows it")
def asks(home):
    home.configure({"hooks": {"PreToolUse": [group("Bash", say(
        permissionDecision="ask", permissionDecisionReason="look at it"))]}})
    s = Session(home)
    nr = s.door.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "echo hi"}})
    waiting = []

    def there():
        waiting[:] = [json.loads(x) for x in home.ctl("--json", "approvals").stdout.splitlines()]
        return waiting

    ats.until(there, "an approval")
    ats.equal((waiting[0]["tool"], waiting[0]["arguments"]), ("Bash", {"command": "echo hi"}))
    home.ctl("deny", waiting[0]["id"], code=0)
    a = s.door.answer(nr)["result"]
    ats.equal((a["outcome"], a["is_error"]), ("not_started", True))


@ats.test("a rule's ask is answered by an allow of the host's hooks, not by one of the workspace's")
def allows(home):
    allow = say(permissionDecision="allow")
    home.write(".claude/settings.json", json.dumps({"hooks": {
        "PreToolUse": [group("Bash", allow)]}}))
    home.configure({"permissions": {"ask": ["Bash(touch:*)"]}, "hooks": {"PreToolUse": [
        group("Bash", "grep -q second && exit 0; " + allow[len("cat >/dev/null; "):])]}})
    s = Session(home)
    ats.equal(s.bash("touch first")["outcome"], "done")
    nr = s.door.send("ats/tool.call", {"name": "Bash", "call_id": "x",
                                       "arguments": {"command": "touch second"}})
    ats.until(lambda: home.ctl("--json", "approvals").stdout, "an approval")
    s.door.request("ats/call.cancel", {"call_id": "x"})
    ats.equal(s.door.answer(nr)["result"]["outcome"], "not_started")
    ats.check(not os.path.exists(os.path.join(home.ws, "second")), "it ran")


@ats.test("ats/hook.run: a runtime's events, plain text as context, matchers by their member")
def runtime(home):
    home.configure({"hooks": {
        "UserPromptSubmit": [{"hooks": [hook("grep -o 'secret' && exit 2; echo remember this")]}],
        "SessionStart": [group("startup", "echo welcome"), group("resume", "echo back")],
        "Stop": [{"hooks": [hook("echo '{\"decision\":\"block\",\"reason\":\"go on\"}'")]}]}})
    home.write(".claude/settings.json", json.dumps({"hooks": {
        "SessionStart": [{"hooks": [hook("echo from the ws; cat >started")]}]}}))
    s = Session(home)
    a = s.run("UserPromptSubmit", prompt="hello")
    ats.equal((a["decision"], a["additional_context"]), ("none", "remember this"))
    a = s.run("UserPromptSubmit", prompt="secret")
    ats.equal(a["decision"], "deny")
    a = s.run("SessionStart", source="startup", session_id="theirs")
    ats.equal(a["additional_context"], "from the ws\nwelcome")
    ats.equal([h["source"] for h in a["hooks"]], ["workspace", "host"])
    with open(os.path.join(home.ws, "started"), encoding="utf-8") as f:
        data = json.load(f)
    ats.equal(data, {"hook_event_name": "SessionStart", "session_id": "theirs", "cwd": home.ws,
                     "source": "startup"})
    a = s.run("Stop")
    ats.equal((a["decision"], a["reason"], a["continue"]), ("deny", "go on", True))
    ats.equal(s.run("Notification", message="x")["hooks"], [])
    for params in ({"event": "Nothing"}, {"event": "Stop", "input": []}, {}, {"event": "Stop",
                                                                             "more": 1}):
        try:
            s.door.request("ats/hook.run", params)
        except ats.RpcError as e:
            ats.equal(e.code, -32602)
        else:
            raise ats.Failure("taken: %r" % params)


@ats.test("a cancelled call ends its hooks, and so does the end of its client")
def cancelled(home):
    mark = "34.%d" % os.getpid()
    home.configure({"hooks": {"PreToolUse": [group("Bash", "sleep %s" % mark)]}})
    s = Session(home)

    def running():
        return [int(p) for p in os.listdir("/proc") if p.isdigit() and ats.cmdline(int(p)).strip()
                == "sleep %s" % mark]

    nr = s.door.send("ats/tool.call", {"name": "Bash", "call_id": "x",
                                       "arguments": {"command": "echo hi"}})
    ats.until(running, "the hook")
    pids = running()
    s.door.request("ats/call.cancel", {"call_id": "x"})
    a = s.door.answer(nr)["result"]
    ats.equal((a["outcome"], a["code"]), ("not_started", "cancelled"))
    ats.wait_gone(pids, 5)
    s.door.send("ats/hook.run", {"event": "PreToolUse", "input": {"tool_name": "Bash"}})
    ats.until(running, "the hook")
    pids = running()
    s.door.close()
    ats.wait_gone(pids, 5)


ats.main()
