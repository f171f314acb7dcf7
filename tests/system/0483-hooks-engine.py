#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The engine's side of hooks, between a vault and hands that the test plays: what it asks for, what
it believes of a sandbox's answers, what it does when nobody answers."""
import json
import os
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine
import promtext
from gateways import Gateway

PRE, POST = 0, 1


class Rig:
    """hooks: (event, matcher) of the configuration. box: hands says that there may be hooks."""

    def __init__(self, home, hooks=(), box=False, timeout_ms=60000, blocks=0, rules=(),
                 **settings):
        self.e = engine.Engine(home, rules=rules, **settings)
        for i, (event, matcher) in enumerate(hooks):
            self.e.tell("HOOK", i, event, timeout_ms, matcher, blocks)
        self.e.heard()
        self.s, self.b = self.e.session()
        self.d = self.e.door(self.s)
        self.e.need(self.b)
        self.h = self.ready(box)

    def ready(self, box=True):
        h = self.e.give(self.b)
        h.hello()
        h.send("control.ready", 0, {"confinement": {"level": "test"}, "running": [], "shells": [],
                                    **({"hooks": True} if box else {})})
        return h

    def bash(self, command="x", tool="Bash", **more):
        arguments = {"command": command} if tool == "Bash" else more.pop("arguments")
        return self.d.send("ats/tool.call", {"name": tool, "arguments": arguments, **more})

    def lose_engine(self, f, early):
        """It dies with the call at hands, whose result the next one gets; early: the call is asked
        for again before that. Its number, or None."""
        self.e.restart([self.b])
        self.h.close()
        self.d = self.e.door(self.s)
        nr = self.bash(call_id="k") if early else None
        ats.equal(self.d.request("ping", id="p"), {})
        self.h = self.e.accept(self.b, self.h.boot, [f.call])
        self.h.result(f.call, b"ok")
        return nr

    def outcome(self, nr):
        a = self.d.answer(nr)["result"]
        return a["outcome"], a.get("code"), [c["text"] for c in a["content"]]

    def run_hook(self):
        """(number, index, what it reads, stdout, stderr) of the next RUN_HOOK."""
        while True:
            ats.wait_readable(self.e.vault, ats.TIMEOUT)
            data, fds, _, _ = socket.recv_fds(self.e.vault, 65536, 4)
            name, _, values = ats.Vault.unpack(data)
            if name == "RUN_HOOK":
                break
            for fd in fds:
                os.close(fd)
        ats.equal((len(fds), values[2]), (3, self.s))
        with os.fdopen(fds[0], "rb") as f:
            data = json.load(f)
        return values[0], values[1], data, fds[1], fds[2]

    def ended(self, nr, code=0, exit=0, text="", out=b"", err=b""):
        number, _, _, stdout, stderr = nr
        os.write(stdout, out)
        os.write(stderr, err)
        os.close(stdout)
        os.close(stderr)
        self.e.tell("HOOK_ENDED", number, code, exit, text)

    def hook_call(self):
        f = self.h.recv()
        while f.name == "control.ping":
            self.h.send("control.pong", 0, {"seq": f.json["seq"]})
            f = self.h.recv()
        return f


def one(out=b"", err=b"", **more):
    return {"exit": "exit", "code": 0, "out": len(out), "err": len(err), "cut": False, "ms": 1,
            "blocks": False, **more}


@ats.test("what an engine before this one sent goes by the hooks when it is asked for again")
def _(home):
    r = Rig(home, hooks=[(PRE, "Write")])
    r.e.hooks = [(0, PRE, 60000, "Write", 0)]
    asked = {"file_path": home.ws + "/f", "content": "asked for"}
    made = {"file_path": home.ws + "/f", "content": "rewritten"}
    rewrites = json.dumps({"hookSpecificOutput": {"updatedInput": made}}).encode()
    for key, says, want in (("k", {"out": rewrites}, "done"),
                            ("l", {"exit": 2, "err": b"not now"}, "unknown")):
        r.bash(tool="Write", arguments=asked, call_id=key)
        r.ended(r.run_hook(), out=rewrites)
        ats.equal(r.h.call().json["input"], made)
        r.e.restart()
        r.h.close()
        r.d = r.e.door(r.s)
        nr = r.bash(tool="Write", arguments=asked, call_id=key)
        r.h = r.e.hands(r.b)
        hook = r.run_hook()
        ats.equal(hook[2]["tool_input"], asked)
        r.ended(hook, **says)
        if want == "done":
            f = r.h.call()
            ats.equal((f.json["input"], f.json["attempt"]), (made, 1))
            r.h.result(f, b"ok")
        a = r.d.answer(nr)["result"]
        ats.equal(a["outcome"], want)
        if want == "unknown":
            ats.contains(a["content"][0]["text"], "not now")


@ats.test("the engine dies while a call runs: the hooks that follow it run then, whoever asks")
def _(home):
    for early in (True, False):
        r = Rig(ats.Home(), hooks=[(PRE, "Bash"), (POST, "Bash")])
        r.e.hooks = [(0, PRE, 60000, "Bash", 0), (1, POST, 60000, "Bash", 0)]
        r.e.listen_for(r.b)
        r.bash(call_id="k")
        made = json.dumps({"hookSpecificOutput": {"updatedInput": {"command": "made"}}}).encode()
        r.ended(r.run_hook(), out=made)
        f = r.h.call()
        nr = r.lose_engine(f, early)
        hook = r.run_hook()
        ats.equal((hook[1], hook[2]["tool_input"], hook[2]["tool_response"]["text"]),
                  (1, {"command": "made"}, "ok"))
        r.ended(hook, out=b'{"hookSpecificOutput":{"additionalContext":"seen"}}')
        r.h.expect("control.ack", call=f.call)
        nr = nr or r.bash(call_id="k")
        ats.equal(r.outcome(nr), ("done", None, ["ok", "seen"]))
        r.e.close()


@ats.test("the engine dies while hooks follow a call: not run twice, and the answer says so")
def _(home):
    for early in (True, False):
        r = Rig(ats.Home(), hooks=[(POST, "Bash")])
        r.e.hooks = [(0, POST, 60000, "Bash", 0)]
        r.e.listen_for(r.b)
        r.bash(call_id="k")
        f = r.h.call()
        r.h.result(f.call, b"ok")
        r.run_hook()
        nr = r.lose_engine(f, early)
        r.h.expect("control.ack", call=f.call)
        nr = nr or r.bash(call_id="k")
        outcome, code, texts = r.outcome(nr)
        ats.equal((outcome, code, texts[0]), ("done", None, "ok"))
        ats.contains(texts[1], "not known; they were not run again")
        r.e.heard()
        ats.equal([m for m in r.e.inbox if m[0] == "RUN_HOOK"], [])
        r.e.close()


@ats.test("the engine dies between a workspace's hooks and the host's: the host's run, once")
def _(home):
    r = Rig(home, hooks=[(POST, "Bash")], box=True)
    r.e.hooks = [(0, POST, 60000, "Bash", 0)]
    r.e.listen_for(r.b)
    r.bash(call_id="k")
    f = r.hook_call()
    r.h.send("result", f.call, {"outcome": "done", "output": {
        "events": 3, "more": 0, "note": "", "hooks": [one()]}})
    f = r.h.call()
    r.h.result(f.call, b"ok")
    ats.equal(r.hook_call().json["event"], "PostToolUse")
    r.e.restart([r.b])
    r.h.close()
    r.d = r.e.door(r.s)
    ats.wait_readable(r.e.listening[r.b][1], ats.TIMEOUT)
    sock, _ = r.e.listening[r.b][1].accept()
    r.h = engine.FakeHands(sock, r.h.boot)
    home.open_things.append(r.h)
    r.h.hello()
    r.h.send("control.ready", 0, {"confinement": {"level": "test"}, "running": [f.call],
                                  "shells": [], "hooks": True})
    r.h.result(f.call, b"ok")
    hook = r.run_hook()
    ats.equal(hook[2]["tool_input"], {"command": "x"})
    r.ended(hook)
    r.h.expect("control.ack", call=f.call)
    outcome, _, texts = r.outcome(r.bash(call_id="k"))
    ats.equal((outcome, texts[0]), ("done", "ok"))
    ats.contains(texts[1], "they were not run again")


@ats.test("a gateway's call outlives the engine: so do the hooks that follow it")
def _(home):
    for begun in (False, True):
        r = Rig(ats.Home(), hooks=[(POST, "mcp__git__push")])
        r.e.hooks = [(0, POST, 60000, "mcp__git__push", 0)]
        g = Gateway(r.e, "git", {"push": {}})
        r.e.heard()
        push = {"name": "git__push", "arguments": {"x": 1}, "call_id": "k"}
        r.d.send("ats/tool.call", push)
        call = g.asked("push")[0]
        g.started(call)
        if begun:
            g.result(call, b"pushed")
            r.run_hook()
        r.e.owed = [("GATEWAY_TOOL", "git", "push", json.dumps({
            "description": "d", "inputSchema": {"type": "object"}}), 0),
            ("GATEWAY_TOOLS", "git", 1, 0, "")]
        r.e.restart()
        r.d = r.e.door(r.s)
        g.connect(again=True)
        g.started(call)
        g.result(call, b"pushed")
        if not begun:
            hook = r.run_hook()
            ats.equal(hook[2]["tool_input"], {"x": 1})
            r.ended(hook, out=b'{"hookSpecificOutput":{"additionalContext":"seen"}}')
        g.acked(call)
        _, _, texts = r.outcome(r.d.send("ats/tool.call", push))
        ats.equal(texts[0], "pushed")
        ats.contains(texts[1], "they were not run again" if begun else "seen")
        r.e.close()


@ats.test("how long hooks took, and how each ended, can be seen")
def _(home):
    r = Rig(home, hooks=[(PRE, "Bash"), (POST, "Bash")])
    r.d.request("ats/events.subscribe")
    nr = r.bash()
    pre = r.run_hook()
    began = time.monotonic_ns()
    r.d.request("ats/status")
    waited = (time.monotonic_ns() - began) // 1000
    r.ended(pre)
    r.h.result(r.h.call(), b"x")
    r.ended(r.run_hook(), exit=1, err=b"no")
    t = r.d.answer(nr)["result"]["timings"]
    ats.check(waited <= t["hooks_us"] <= t["total_us"], (waited, t))
    ats.check(sum(t.values()) - t["total_us"] - t["setup_us"] <= t["total_us"], t)
    told = [n["params"]["text"] for n in r.d.notes if n["params"]["kind"] == "hook.end"]
    ats.equal(told, ["PreToolUse host 0: ok", "PostToolUse host 1: failed"])
    m = promtext.read(r.d.request("ats/metrics")["text"])
    ats.equal([m["ats_hooks_total"].value(end=x) for x in ("ok", "failed", "timeout")], [1, 1, 0])
    ats.equal(m["ats_call_hop_seconds"].value("_count", hop="hooks"), 1)


@ats.test("the schema has the events and members of the table")
def schema(home):
    with open(os.path.join(ats.TOP, "proto/schema/hooks.json"), encoding="utf-8") as f:
        defs = json.load(f)["$defs"]
    rows = ats.def_rows("proto/hooks.def")
    ats.equal(defs["event"]["enum"], [ats.def_string(a[2]) for m, a in rows if m == "HOOK_EVENT"])
    for name, more in (("hook_out", []), ("hook_specific", ["updatedToolOutput",
                                                            "updatedMCPToolOutput"])):
        ats.equal(list(defs[name]["properties"]),
                  [ats.def_string(a[2]) for m, a in rows if m == "FIELD" and
                   a[0] == name.upper()] + more)
        for _, a in rows:
            if a[0] == name.upper() and len(a) > 3 and a[3] == "ENUM":
                ats.equal(defs[name]["properties"][ats.def_string(a[2])]["enum"],
                          ats.def_string(a[6]).split(":")[0].split("|"))


@ats.test("without hooks nothing is asked; with one of another tool neither")
def quiet(home):
    r = Rig(home, [(PRE, "Read"), (POST, "^R")])
    nr = r.bash()
    f = r.h.call()
    ats.equal(f.name, "call.tool")
    r.h.result(f, b"ok")
    ats.equal(r.outcome(nr), ("done", None, ["ok"]))
    r.e.heard()
    ats.equal(r.e.inbox, [m for m in r.e.inbox if m[0] == "IDLE"])


@ats.test("all that match are asked for at once, and the answers count in their order")
def parallel(home):
    r = Rig(home, [(PRE, "Bash"), (PRE, ""), (PRE, "Read"), (PRE, "B|Bash")])
    nr = r.bash(call_id="k")
    asked = [r.run_hook() for _ in range(3)]
    ats.equal([a[1] for a in asked], [0, 1, 3])
    ats.equal(asked[0][2]["tool_input"], {"command": "x"})
    r.ended(asked[2], exit=2, err=b"third")
    r.ended(asked[1], exit=2, err=b"second\n")
    r.ended(asked[0], out=b'{"decision":"approve"}')
    ats.equal(r.outcome(nr), ("not_started", "denied",
                              ["PreToolUse:Bash hook refused this call: second\nIt was not run."]))


@ats.test("a hook that the vault cannot run denies; one that fails by itself does not")
def not_run(home):
    r = Rig(home, [(PRE, "Bash")])
    nr = r.bash()
    a = r.run_hook()
    r.ended(a, code=8, text="64 hooks run already")
    ats.equal(r.outcome(nr)[:2], ("not_started", "denied"))
    nr = r.bash()
    r.ended(r.run_hook(), exit=1, out=b"\xff\x00{", err=b"\xff" * 70000)
    f = r.h.call()
    r.h.result(f, b"ok")
    ats.equal(r.outcome(nr), ("done", None, ["ok"]))


@ats.test("one that neither the vault nor its own time ends is given up after that")
def late(home):
    r = Rig(home, [(PRE, "Bash")], timeout_ms=1)
    nr = r.bash()
    number, _, _, stdout, stderr = r.run_hook()
    ats.equal(r.e.expect("KILL_HOOK"), [number])
    f = r.h.call()
    r.h.result(f, b"ok")
    ats.equal(r.outcome(nr), ("done", None, ["ok"]))
    # Its end comes too late, and is nobody's.
    os.close(stdout)
    os.close(stderr)
    r.e.tell("HOOK_ENDED", number, 0, 0, "")
    r.e.heard()


@ats.test("a flood of output is read and dropped, and does not count")
def flood(home):
    r = Rig(home, [(PRE, "Bash")])
    nr = r.bash()
    number, _, _, stdout, stderr = r.run_hook()
    for _ in range(160):
        os.write(stdout, b"y" * 65536)
    os.close(stdout)
    os.close(stderr)
    r.e.tell("HOOK_ENDED", number, 0, 0, "")
    f = r.h.call()
    r.h.result(f, b"ok")
    ats.equal(r.outcome(nr), ("done", None, ["ok"]))
    r.e.check_memory(80000)


@ats.test("more than thirty-two at once wait for their turn")
def turns(home):
    r = Rig(home, [(PRE, "Bash")])
    nrs = [r.bash() for _ in range(40)]
    asked = [r.run_hook() for _ in range(32)]
    r.e.heard()
    ats.equal([m for m in r.e.inbox if m[0] == "RUN_HOOK"], [])
    for a in asked:
        r.ended(a, exit=2, err=b"no")
    for _ in range(8):
        r.ended(r.run_hook(), exit=2, err=b"no")
    ats.equal({r.outcome(nr)[0] for nr in nrs}, {"not_started"})


@ats.test("what a sandbox says of its hooks: denies, adds, rewrites once, and is not asked in vain")
def of_the_box(home):
    r = Rig(home, box=True)
    nr = r.bash()
    f = r.hook_call()
    ats.equal((f.name, f.json["event"], f.json["name"], f.json["input"]["tool_input"]),
              ("call.hook", "PreToolUse", "Bash", {"command": "x"}))
    r.h.send("result", f.call, {"outcome": "done", "output": {
        "events": 3, "more": 0, "note": "", "hooks": [one(err=b"not here", code=2)]}}, b"not here")
    ats.contains(r.outcome(nr)[2][0], "not here")
    nr = r.bash()
    f = r.hook_call()
    said = b'{"hookSpecificOutput":{"updatedInput":{"command":"y"},"additionalContext":"c"}}'
    r.h.send("result", f.call, {"outcome": "done", "output": {
        "events": 3, "more": 0, "note": "", "hooks": [one(said)]}}, said)
    f = r.h.call()
    ats.equal(f.json["input"], {"command": "y"})
    r.h.result(f, b"ok")
    f = r.hook_call()
    ats.equal((f.name, f.json["event"], f.json["input"]["tool_response"]["text"]),
              ("call.hook", "PostToolUse", "ok"))
    said = b'{"hookSpecificOutput":{"updatedToolOutput":{"a":1}}}'
    r.h.send("result", f.call, {"outcome": "done", "output": {
        "events": 0, "more": 0, "note": "", "hooks": [one(said)]}}, said)
    ats.equal(r.outcome(nr), ("done", None, ['{"a":1}', "c"]))
    nr = r.bash()
    f = r.hook_call()
    ats.equal(f.name, "control.ack")
    f = r.h.call()
    ats.equal(f.name, "call.tool")
    r.h.result(f, b"ok")
    ats.equal(r.outcome(nr)[0], "done")


@ats.test("what a person has agreed to is not what a workspace makes of it: asked again")
def agreed(home):
    r = Rig(home, [(PRE, "Bash")], box=True, rules=[("ask", "Bash(x:*)"), ("ask", "Bash(y:*)")])
    nr = r.bash("x 1")
    r.ended(r.run_hook())
    for command in ("x 1", "y 2"):
        call, _, _, tool, args = r.e.expect("GATEWAY_ASK")
        ats.equal((tool, json.loads(args)), ("Bash", {"command": command}))
        r.e.tell("GATEWAY_STATE", call, 2, 0, "", "")
        if command == "y 2":
            break
        f = r.hook_call()
        said = b'{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":' \
               b'{"command":"y 2"}}}'
        r.h.send("result", f.call, {"outcome": "done", "output": {
            "events": 1, "more": 0, "note": "", "hooks": [one(said)]}}, said)
        a = r.run_hook()
        ats.equal(a[2]["tool_input"], {"command": "y 2"})
        r.ended(a)
    f = r.h.call()
    ats.equal(f.json["input"], {"command": "y 2"})
    r.h.result(f, b"ok")
    ats.equal(r.outcome(nr), ("done", None, ["ok"]))


@ats.test("a runtime's event waits for the sandbox, and not when there can be none")
def waits(home):
    r = Rig(home, rebuild_limit=1)
    r.e.lose(r.h, r.b)
    nr = r.d.send("ats/hook.run", {"event": "Stop"})
    r.e.need(r.b)
    r.h = r.ready(False)
    ats.equal(r.d.answer(nr)["result"], {"decision": "none", "continue": True, "hooks": []})
    r.e.lose(r.h, r.b)
    nr = r.d.send("ats/hook.run", {"event": "Stop"})
    r.e.need(r.b)
    for _ in range(3):
        r.e.tell("SANDBOX", r.b, 9, 2, "no such machine", "")
        r.e.heard()
    a = r.d.answer(nr)["result"]
    ats.equal([h["outcome"] for h in a["hooks"]], ["failed"])
    ats.contains(a["hooks"][0]["why"], "no such machine")


BAD = [
    ("no output", {"outcome": "done"}, b""),
    ("an array", {"outcome": "done", "output": []}, b""),
    ("no events", {"outcome": "done", "output": {"hooks": []}}, b""),
    ("events that there are not", {"outcome": "done", "output": {"events": 1 << 10, "hooks": []}},
     b""),
    ("hooks that are no array", {"outcome": "done", "output": {"events": 1, "hooks": {}}}, b""),
    ("a hook that is none", {"outcome": "done", "output": {"events": 1, "hooks": [1]}}, b""),
    ("seventeen", {"outcome": "done", "output": {"events": 1, "hooks": [one()] * 17}}, b""),
    ("more than came", {"outcome": "done", "output": {"events": 1, "hooks": [one(out=b"xx")]}},
     b"x"),
    ("a size over its limit", {"outcome": "done", "output": {
        "events": 1, "hooks": [{**one(), "out": 1 << 40}]}}, b""),
    ("a code over its limit", {"outcome": "done", "output": {
        "events": 1, "hooks": [one(code=256)]}}, b""),
    ("an exit that is no word", {"outcome": "done", "output": {
        "events": 1, "hooks": [one(exit=7)]}}, b""),
    ("an outcome of the engine's", {"outcome": "unknown"}, b""),
]


@ats.test("what hands would not say costs the link; the call goes on in the next sandbox")
def hostile(home):
    r = Rig(home, box=True, rebuild_limit=100)
    for what, result, payload in BAD:
        nr = r.bash()
        f = r.hook_call()
        if f.name == "control.ack":
            f = r.hook_call()
        ats.equal(f.name, "call.hook", what)
        r.h.send("result", f.call, result, payload)
        r.e.expect("KILL_SANDBOX")
        r.e.exited(r.b)
        r.e.need(r.b)
        r.h = r.ready()
        f = r.h.call()
        r.h.result(f, b"ok")
        while f.name != "call.hook":
            f = r.hook_call()
        r.h.send("result", f.call, {"outcome": "done", "output": {
            "events": 3, "more": 0, "note": "", "hooks": []}})
        ats.equal(r.outcome(nr)[0], "done", what)


@ats.test("hooks of the workspace that hands refuses, or that a lost link ends, stop no call")
def refused(home):
    r = Rig(home, box=True)
    nr = r.bash()
    f = r.hook_call()
    r.h.send("result", f.call, {"outcome": "not_started", "is_error": True, "code": "table_full"},
             b"too many calls at once")
    f = r.h.call()
    r.h.result(f, b"ok")
    f = r.hook_call()
    while f.name != "call.hook":
        f = r.hook_call()
    r.e.lose(r.h, r.b)
    ats.equal(r.outcome(nr), ("done", None, ["ok"]))


@ats.test("a session that is closed ends what runs for it, and so does a cancel")
def closed(home):
    r = Rig(home, [(PRE, "Bash")])
    nr = r.bash(call_id="c")
    a = r.run_hook()
    r.d.request("ats/call.cancel", {"call_id": "c"})
    ats.equal(r.e.expect("KILL_HOOK"), [a[0]])
    ats.equal(r.outcome(nr)[:2], ("not_started", "cancelled"))
    nr = r.bash()
    other = r.d.send("ats/hook.run", {"event": "PreToolUse", "input": {"tool_name": "Bash"}})
    b = [r.run_hook(), r.run_hook()]
    r.e.tell("SESSION_CLOSED", r.s)
    ats.equal(sorted(r.e.expect("KILL_HOOK")[0] for _ in b), sorted(x[0] for x in b))
    ats.equal(r.outcome(nr)[:2], ("not_started", "cancelled"))
    ats.contains(r.d.answer(other)["error"]["message"], "closed")
    for x in [a, *b]:
        os.close(x[3])
        os.close(x[4])


ats.main()
