#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hooks of the workspace's settings in the real ats-hands: which run, where, on what, and how they
end."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

SETTINGS = ".claude/settings.json"
LOCAL = ".claude/settings.local.json"
STDOUT_MAX, STDERR_MAX = 128 << 10, 16 << 10


def hooks(event="PreToolUse", *groups):
    """groups: (matcher, command or a hook's object)."""
    return {"hooks": {event: [
        {"matcher": m, "hooks": [h if isinstance(h, dict) else {"type": "command", "command": h}]}
        for m, h in groups]}}


class Rig:
    def __init__(self, home):
        self.hands = ats.Hands(home)
        self.link = self.hands.link
        _, self.ready = self.link.hello_as_brain()
        self.nr = 0

    def start(self, event="PreToolUse", name="Bash", deadline=20000, **data):
        self.nr += 1
        self.link.send("call.hook", self.nr, {
            "event": event, "name": name, "input": data, "deadline_ms": deadline, "session": "s"})
        return self.nr

    def result(self, nr):
        r = self.link.expect("result", call=nr)
        at, out = 0, []
        for h in (r.json.get("output") or {}).get("hooks", []):
            h["stdout"] = r.payload[at:at + h["out"]].decode(errors="replace")
            at += h["out"]
            h["stderr"] = r.payload[at:at + h["err"]].decode(errors="replace")
            at += h["err"]
            out.append(h)
        ats.equal(at, len(r.payload) if out else at, "all of the payload is somebody's")
        return r, out

    def run(self, *args, **kw):
        return self.result(self.start(*args, **kw))


def with_settings(home, value, path=SETTINGS):
    home.write(path, value if isinstance(value, (str, bytes)) else json.dumps(value))


@ats.test("a workspace without settings says so, one with them says that, too")
def ready_says(home):
    rig = Rig(home)
    ats.equal(rig.ready.json.get("hooks"), None)
    rig.hands.close()
    os.unlink(rig.hands.listen_path)
    with_settings(home, "{}")
    ats.equal(Rig(home).ready.json.get("hooks"), True)


@ats.test("a hook runs in the sandbox: input, directory, environment, and what it printed")
def what_it_gets(home):
    with_settings(home, hooks("PreToolUse", (
        "Bash", "cat; echo; pwd; echo $CLAUDE_PROJECT_DIR; env | cut -d= -f1 | sort | tr '\\n' ' ';"
                "echo oops >&2; ls %s 2>&1; exit 3" % home.home)))
    os.environ["ATS_TEST_SECRET"] = "planted"
    open(os.path.join(home.home, "outside"), "w").close()
    r, (h,) = Rig(home).run(tool_name="Bash", tool_input={"command": "x"})
    lines = h["stdout"].split("\n")
    ats.equal(json.loads(lines[0]), {"tool_name": "Bash", "tool_input": {"command": "x"}})
    ats.equal(lines[1:3], [home.ws, home.ws])
    ats.missing(lines[3], "ATS_TEST_SECRET")
    ats.missing(lines[3], "XDG")
    ats.missing(h["stdout"], "outside")
    ats.equal((h["exit"], h["code"], h["cut"], h["blocks"]), ("exit", 3, False, False))
    ats.contains(h["stderr"], "oops")
    ats.equal(r.json["output"]["events"], 1)


@ats.test("both files count, matchers choose, all that match run at once")
def matchers(home):
    with_settings(home, hooks("PreToolUse", ("Bash", "echo word; sleep 0.4"), ("Bas", "echo no"),
                              ("Edit|Bash", "echo list; sleep 0.4"), ("Edit, Write", "echo no"),
                              ("^Ba", "echo regex; sleep 0.4"), ("", "echo all"),
                              ("mcp__.*", "echo no")))
    with_settings(home, hooks("PreToolUse", ("*", "echo local"), ("B.sh$", "echo local regex")),
                  LOCAL)
    rig = Rig(home)
    begin = time.monotonic()
    _, out = rig.run()
    took = time.monotonic() - begin
    ats.equal([h["stdout"].strip() for h in out],
              ["word", "list", "regex", "all", "local", "local regex"])
    ats.check(took < 1.1, "three times 0.4 s in parallel took %.1f s" % took)
    _, out = rig.run(name="mcp__github__get")
    ats.equal([h["stdout"].strip() for h in out], ["all", "no", "local"])
    _, out = rig.run("PostToolUse")
    ats.equal(out, [])


@ats.test("a program with its arguments runs without a shell")
def exec_form(home):
    with_settings(home, hooks("Stop", ("", {"type": "command", "command": "printf",
                                            "args": ["%s|", "a b", "$HOME", ""]})))
    _, (h,) = Rig(home).run("Stop", name="")
    ats.equal(h["stdout"], "a b|$HOME||")


@ats.test("one that hangs ends by its time with all that it started; what holds its stdout does not")
def hangs(home):
    mark = "31.%d" % os.getpid()
    with_settings(home, hooks("PreToolUse", (
        "*", {"type": "command", "timeout": 1, "onFailure": "block",
              "command": "setsid nohup sleep %s & (trap '' TERM; echo started; sleep %s)" %
              (mark, mark)}), ("*", "(setsid sleep %s &) ; echo quick" % mark)))
    rig = Rig(home)
    begin = time.monotonic()
    _, (slow, quick) = rig.run()
    took = time.monotonic() - begin
    ats.equal((slow["exit"], slow["stdout"], slow["blocks"]), ("timeout", "started\n", True))
    ats.equal((quick["exit"], quick["code"], quick["stdout"]), ("exit", 0, "quick\n"))
    ats.check(quick["ms"] < 900, "%d ms" % quick["ms"])
    ats.check(took < 6, "%.1f s" % took)
    ats.wait_gone([p for p in ats.descendants(rig.hands.proc.pid) if mark in ats.cmdline(p)], 5)


@ats.test("one that floods, one that dies, one that is not there, one that reads nothing")
def bad_ones(home):
    with_settings(home, hooks("PreToolUse", ("*", "yes | head -c 3000000;"
                                             "head -c 100000 /dev/zero >&2"),
                              ("*", "kill -9 $$"), ("*", "/no/such/hook"), ("*", "exit 0")))
    rig = Rig(home)
    _, (flood, dead, none, quiet) = rig.run(content="x" * 1000000)
    ats.equal((flood["exit"], flood["out"], flood["err"], flood["cut"]),
              ("exit", STDOUT_MAX, STDERR_MAX, True))
    ats.equal((dead["exit"], dead["code"]), ("signal", 9))
    ats.equal((none["exit"], none["code"]), ("exit", 127))
    ats.equal((quiet["exit"], quiet["code"], quiet["out"]), ("exit", 0, 0))
    with_settings(home, hooks("PreToolUse", ("*", "yes & yes >&2")))
    _, (endless,) = rig.run(deadline=500)
    ats.equal((endless["exit"], endless["out"], endless["err"], endless["cut"]),
              ("timeout", STDOUT_MAX, STDERR_MAX, True))


@ats.test("settings that are wrong have no hooks, and a note; a wrong entry is left out alone")
def wrong_settings(home):
    with_settings(home, '{"hooks": {"PreToolUse": [}')
    with_settings(home, hooks("PreToolUse", ("*", "echo local")), LOCAL)
    rig = Rig(home)
    r, (h,) = rig.run()
    ats.equal(h["stdout"], "local\n")
    ats.contains(r.json["output"]["note"], SETTINGS)
    value = hooks("PreToolUse", ("*", {"type": "prompt", "prompt": "x"}), ("(", "echo no"),
                  ("*", {"type": "command"}), ("*", "echo yes"))
    value["hooks"]["PermissionRequest"] = [{"hooks": []}]
    value["permissions"] = {"allow": ["Bash(*)"]}
    with_settings(home, value)
    r, out = rig.run()
    ats.equal([h["stdout"] for h in out], ["yes\n", "local\n"])
    ats.contains(r.json["output"]["note"], "prompt")
    ats.contains(r.json["output"]["note"], "4 are left out")
    with_settings(home, {"disableAllHooks": True, **value})
    r, out = rig.run()
    ats.equal((out, r.json["output"]["events"]), ([], 0))


@ats.test("settings that are no file within the workspace are not read")
def no_files(home):
    outside = os.path.join(home.home, "settings.json")
    with open(outside, "w", encoding="utf-8") as f:
        json.dump(hooks("PreToolUse", ("*", "echo outside")), f)
    os.mkdir(os.path.join(home.ws, ".claude"))
    os.symlink(outside, os.path.join(home.ws, SETTINGS))
    os.mkfifo(os.path.join(home.ws, LOCAL))
    r, out = Rig(home).run()
    ats.equal(out, [])
    ats.contains(r.json["output"]["note"], SETTINGS)


@ats.test("more than sixteen that match are counted, and the rest does not run")
def many(home):
    with_settings(home, hooks("PreToolUse", *[("*", "echo %d" % i) for i in range(20)]))
    r, out = Rig(home).run(deadline=60000)
    ats.equal([h["stdout"] for h in out], ["%d\n" % i for i in range(16)])
    ats.equal(r.json["output"]["more"], 4)


@ats.test("a cancel ends them at once, and so does the end of all their time; one answer each")
def cancelled(home):
    with_settings(home, hooks("PreToolUse", ("*", "echo on; sleep 60"), ("*", "echo two")))
    rig = Rig(home)
    _, out = rig.run(deadline=700)
    ats.equal([(h["exit"], h["stdout"]) for h in out], [("timeout", "on\n"), ("exit", "two\n")])
    nr = rig.start()
    rig.link.send("control.cancel", nr, {})
    r, out = rig.result(nr)
    ats.check(r.json.get("code") == "cancelled" or
              [h["exit"] for h in out if h["exit"] == "cancelled"], "not cancelled: %r" % r.json)
    rig.link.send("control.ping", 0, {"seq": 7})
    ats.equal(rig.link.expect("control.pong").json["seq"], 7)


@ats.test("a workspace's .mcp.json starts nothing")
def mcp_json(home):
    home.write(".mcp.json", json.dumps({"mcpServers": {"x": {
        "command": "sh", "args": ["-c", "touch %s/started" % home.ws]}}}))
    with_settings(home, {"enableAllProjectMcpServers": True,
                         **hooks("PreToolUse", ("*", "echo ran"))})
    _, (h,) = Rig(home).run()
    ats.equal(h["stdout"], "ran\n")
    ats.check(not os.path.exists(os.path.join(home.ws, "started")), "it was started")


ats.main()
