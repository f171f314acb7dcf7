#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules of permissions for tools of the sandbox: what is denied, asked about, and on which ways."""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine
import kills
from gateways import APPROVAL, CODES, REFUSED, STARTED, WAITS

DENY_RM = ("deny", "Bash(rm:*)")
WHY = "permissions.deny: Bash(rm:*)"


def up(home, rules, **settings):
    e = engine.Engine(home, rules=rules, **settings)
    s, b = e.session()
    return e, s, b, e.door(s)


def text(result):
    return "".join(c.get("text", "") for c in result["content"])


def bash(d, command, **more):
    return d.send("ats/tool.call", {"name": "Bash", "arguments": {"command": command}, **more})


def check_refused(r, why=WHY):
    ats.equal((r["outcome"], r["is_error"], r["code"]), ("not_started", True, "denied"))
    ats.contains(text(r), "Refused by policy (%s)" % why)
    ats.contains(text(r), "this is final")


@ats.test("what a rule denies is refused on every way in, without a sandbox")
def _(home):
    e, s, b, d = up(home, [DENY_RM, ("deny", "Read(*.pem)")])
    check_refused(d.answer(bash(d, "ls && sudo rm x"))["result"])
    r = d.request("tools/call", {"name": "Bash", "arguments": {"command": "rm x"}})
    ats.check(r["isError"], r)
    ats.contains(text(r), WHY)
    for argv in (["rm", "x"], ["/bin/rm"], ["sh", "-c", "ls; rm x"]):
        answer, out, err = d.exec(argv, "x" + argv[0])
        check_refused(answer)
        ats.equal((out, err), (b"", b""))
    r = d.request("ats/tool.validate", {"name": "Bash", "arguments": {"command": "rm x"}})
    ats.equal((r["valid"], r["code"]), (False, "denied"))
    ats.contains(r["text"], WHY)
    pem = d.request("ats/tool.call", {"name": "Read", "arguments": {"file_path": "a/x.pem"}})
    check_refused(pem, "permissions.deny: Read(*.pem)")
    r, w = os.pipe()
    i = d.send("ats/tool.call", {"name": "Read", "arguments": {"file_path": "x.pem"},
                                 "fds": ["data"]}, [w])
    os.close(w)
    check_refused(d.answer(i)["result"], "permissions.deny: Read(*.pem)")
    ats.equal(os.read(r, 1), b"")
    os.close(r)
    e.heard()
    ats.equal([m for m in e.inbox if m[0] == "GATEWAY_ASK"], [])
    h = e.hands(b)
    i = bash(d, "ls")
    f = h.call()
    ats.equal(f.json["input"], {"command": "ls"})
    h.result(f, "fine")
    ats.equal(text(d.answer(i)["result"]), "fine")


@ats.test("tools that a rule denies whole are in no list; what only some calls of are denied is")
def _(home):
    e, s, b, d = up(home, [("deny", "Edit"), ("deny", "Bash(rm:*)"), ("deny", "Read(*.pem)"),
                           ("ask", "Grep")])
    names = {t["name"] for t in d.request("tools/list", {})["tools"]}
    ats.check({"Bash", "Read", "Grep"} <= names, names)
    ats.equal(names & {"Edit", "Write", "MultiEdit", "NotebookEdit"}, set())
    i = d.send("ats/tool.call", {"name": "Write", "arguments": {"file_path": "a", "content": ""}})
    check_refused(d.answer(i)["result"], "permissions.deny: Edit")


@ats.test("the same call asked again is refused again, by its id, too")
def _(home):
    e, s, b, d = up(home, [DENY_RM])
    for _ in range(2):
        check_refused(d.answer(bash(d, "rm x", call_id="k"))["result"])


@ats.test("what a rule asks about waits for the vault, and runs when a person says so")
def _(home):
    e, s, b, d = up(home, [("ask", "Bash(git push:*)"), ("allow", "Bash(git push:*)")])
    i = bash(d, "git push")
    call, limit, asker, tool, args = e.expect("GATEWAY_ASK")
    ats.equal((asker, tool, json.loads(args)), (s, "Bash", {"command": "git push"}))
    e.tell("GATEWAY_STATE", call, WAITS, 0, "", APPROVAL)
    h = e.hands(b)
    j = bash(d, "git status")
    f = h.call()
    ats.equal(f.json["input"], {"command": "git status"})
    h.result(f, "s")
    d.answer(j)
    e.tell("GATEWAY_STATE", call, STARTED, 0, "", "")
    f = h.call()
    ats.equal((f.call, f.json["input"]), (call, {"command": "git push"}))
    h.result(f, "pushed")
    ats.equal(text(d.answer(i)["result"]), "pushed")
    i = bash(d, "git push")
    call = e.expect("GATEWAY_ASK")[0]
    e.tell("GATEWAY_STATE", call, REFUSED, CODES["denied"], "a person said no", "")
    r = d.answer(i)["result"]
    ats.equal((r["outcome"], r["code"], text(r)), ("not_started", "denied", "a person said no"))


@ats.test("an exec is asked about with its words, a check asks nobody and says so")
def _(home):
    e, s, b, d = up(home, [("ask", "Bash(git push:*)"), ("ask", "Edit")])
    r, w = os.pipe()
    i = d.send("ats/exec", {"argv": ["git", "push", "a b"], "call_id": "x", "fds": ["stdout"]}, [w])
    os.close(w)
    call, limit, asker, tool, args = e.expect("GATEWAY_ASK")
    ats.equal((tool, json.loads(args)), ("Bash", {"argv": ["git", "push", "a b"]}))
    e.tell("GATEWAY_STATE", call, STARTED, 0, "", "")
    h = e.hands(b)
    f = h.call()
    ats.equal((f.name, f.call, f.json["argv"]), ("call.exec", call, ["git", "push", "a b"]))
    h.result(f, exit_kind="exit", exit_code=0)
    ats.equal(d.answer(i)["result"]["outcome"], "done")
    os.close(r)
    i = d.send("ats/tool.validate", {"name": "Write", "arguments": {"file_path": "a",
                                                                    "content": ""}})
    h.result(h.call(), "Would write a")
    r = d.answer(i)["result"]
    ats.equal((r["valid"], r["text"]), (True, "Would write a"))
    ats.contains(r["notice"], "A person is asked")
    e.heard()
    ats.equal([m for m in e.inbox if m[0] == "GATEWAY_ASK"], [])


@ats.test("rules on files are about where the session is when the call is sent")
def _(home):
    e, s, b, d = up(home, [("deny", "Read(secret/**)"), ("deny", "Edit(secret/**)")],
                    inflight_max=1)
    h = e.hands(b)
    i = bash(d, "cd secret")
    f = h.call()
    found = d.send("ats/tool.call", {"name": "Grep", "arguments": {"pattern": "x"}})
    wrote = d.send("ats/tool.call", {"name": "Write", "arguments": {"file_path": "a",
                                                                    "content": ""}})
    d.request("ping")           # both wait behind it
    h.result(f, "", ctx_delta={"cwd": os.path.join(home.ws, "secret")})
    d.answer(i)
    r = d.answer(found)["result"]
    ats.equal((r["outcome"], r["code"]), ("not_started", "denied"))
    ats.contains(text(r), "the working directory has changed")
    # its path was settled when it was asked for, and is told so
    f = h.call()
    ats.equal((f.json["name"], f.json["ctx"]["cwd"]), ("Write", home.ws))
    h.result(f, "ok")
    d.answer(wrote)
    r = d.request("ats/tool.call", {"name": "Write", "arguments": {"file_path": "a",
                                                                   "content": ""}})
    check_refused(r, "permissions.deny: Edit(secret/**)")
    r = d.request("ats/tool.call", {"name": "LS", "arguments": {"path": "../secret"}})
    check_refused(r, "permissions.deny: Read(secret/**)")


def exec_of(d, call_id, *argv):
    """An exec without an answer yet; its request's id, and where its output would come."""
    r, w = os.pipe()
    i = d.send("ats/exec", {"argv": list(argv), "call_id": call_id, "fds": ["stdout"]}, [w])
    os.close(w)
    return i, r


@ats.test("brain is shut down: an exec that waits is told that it did not start, one that runs is not")
def _(home):
    e, s, b, d = up(home, [("ask", "Bash(git push:*)")])
    runs, out = exec_of(d, "runs", "ls")
    h = e.hands(b)
    h.call()
    waits, out2 = exec_of(d, "waits", "git", "push")
    e.expect("GATEWAY_ASK")
    os.mkdir(os.path.join(home.dir, "other"))
    other = e.door(e.session(workspace=os.path.join(home.dir, "other"))[0])
    queued, out3 = exec_of(other, "queued", "ls")      # no sandbox has come
    other.request("ping")
    again = bash(d, "git push")     # its client can ask the next brain
    e.expect("GATEWAY_ASK")
    e.tell("QUIT")
    ats.equal(e.proc.wait(ats.TIMEOUT), 0)
    for door, i in ((d, waits), (other, queued)):
        r = door.answer(i)["result"]
        ats.equal((r["outcome"], r["code"]), ("not_started", "not_started"))
        ats.contains(text(r), "shut down")
    for i in (runs, again):
        try:
            r = d.answer(i)
        except ats.Failure as f:
            ats.contains(str(f), "the connection ended")
        else:
            raise ats.Failure("an answer, though it may run or be asked for again: %r" % r)
    for fd in (out, out2, out3):
        ats.equal(os.read(fd, 1), b"")
        os.close(fd)


@ats.test("atsctl exec that waits for a person while brain is shut down says that it did not start")
def _(home):
    home.configure({"permissions": {"ask": ["Bash(touch:*)"]}})
    home.ctl("exec", "true", code=0)
    p = home.popen(ats.program("atsctl"), "exec", "touch", "made", stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ats.until(lambda: home.ctl("approvals", "--json").stdout, "it waits")
    home.ctl("shutdown", code=0)
    out, err = p.communicate(timeout=ats.TIMEOUT)
    ats.equal((p.returncode, out), (125, b""))
    ats.matches(err.decode(), r"\Aatsctl: exec: not started: [^\n]*shut down[^\n]*\n\Z")
    ats.check(not os.path.exists(os.path.join(home.ws, "made")), "it ran")


@ats.test("an engine that is told a rule late, or one that is none, goes on with no session")
def _(home):
    for late, rule in ((True, "Bash(ls)"), (False, "Bash(ls")):
        e = engine.Engine(home) if late else None
        if late:
            e.session()
            e.tell("RULE", 3, rule)
        else:
            e = engine.Engine(ats.Home(), start=False, rules=[("deny", rule)])
            e.start(slowly=True)
        ats.equal(e.proc.wait(ats.TIMEOUT), 0)
        ats.contains(e.log(), "not for the engine" if late else "a rule cannot be read")
        if not late:
            ats.equal(e.home.close(), [])


@ats.test("brain takes rules from its configuration, and each engine has them")
def _(home):
    home.configure({"permissions": {"deny": ["Bash(rm:*)", "Edit(/.env)"], "allow": ["Bash"]}})
    mcp = home.mcp()
    mcp.initialize()
    for _ in range(2):
        r = mcp.tool("Bash", {"command": "touch a; rm a"})
        ats.check(r["isError"], r)
        ats.contains(text(r), WHY)
        ats.check(not os.path.exists(os.path.join(home.ws, "a")), "part of it ran")
        r = mcp.tool("Write", {"file_path": ".env", "content": "x"})
        ats.contains(text(r), "permissions.deny: Edit(/.env)")
        ats.contains(mcp.text("Bash", command="echo hello"), "hello")
        old = kills.of_role(home, "engine")[-1]
        os.kill(old, signal.SIGKILL)
        ats.until(lambda: [p for p in kills.of_role(home, "engine") if p != old], "a new one")
    r = home.ctl("exec", "--", "rm", "x", code=None)
    ats.check(r.returncode != 0, r)
    ats.contains(r.stderr.decode(), "Refused by policy (%s)" % WHY)


@ats.test("config check names the rule that is none")
def _(home):
    home.configure({"permissions": {"deny": ["Bash(rm:*)", "bash(rm:*)"]}})
    r = home.ctl("config", "check", code=2)
    ats.contains(r.stderr.decode(), '"permissions.deny": entry 2')
    ats.contains(r.stderr.decode(), "it is written Bash")


ats.main()
