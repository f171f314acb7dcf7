#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""atsctl audit, credential and gateway against a scripted vault."""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from fake_vault import FakeVault
from terminal import Terminal

NOW = int(time.time() * 1000)


def line(**kw):
    return json.dumps({"time": NOW, "event": "call", "session": "s-0123456789ab",
                       "tool": "github__create_issue", "decision": "ask", "outcome": "done",
                       "way": "terminal", **kw}) + "\n"


def write(state, name, *lines):
    os.makedirs(os.path.join(state, "vault"), exist_ok=True)
    with open(os.path.join(state, "vault", name), "a", encoding="utf-8") as f:
        f.write("".join(lines))


def brain_of(home, **answers):
    b = FakeVault(os.path.join(home.run, "ats"))
    home.open_things.append(b)
    b.answer_vault = lambda name, values: answers.get(name) and answers[name](*values)
    return b


@ats.test("lines of all files, in order, filtered; damaged ones are told")
def _(home):
    state = os.path.join(home.state, "ats")
    ats.contains(home.ctl("audit", code=1).stderr, b"no audit log yet")
    write(state, "audit.jsonl.1", line(n=1, time=NOW - 7200000), line(n=2, tool="Bash\x1b[2J"))
    write(state, "audit.jsonl", line(n=3, session="s-ffffffffffff"), line(n=4), '{"time":')

    def numbers(*args, code=0):
        r = home.ctl("audit", "--json", *args, code=code)
        return [json.loads(x)["n"] for x in r.stdout.splitlines()]
    ats.equal(numbers(), [1, 2, 3, 4])
    ats.equal(numbers("--since", "1h"), [2, 3, 4])
    ats.equal(numbers("--since", "2d", "--session", "s-0123456789ab"), [1, 2, 4])
    ats.equal(numbers("--tool", "github__create_issue"), [1, 3, 4])
    home.ctl("audit", "--since", "x", code=2)
    out = home.ctl("audit", code=0).stdout.decode()
    ats.missing(out, "\x1b")
    ats.contains(out, "Bash\\u001b[2J")
    ats.equal(len(out.splitlines()), 4)
    t = Terminal(home, ats.program("atsctl"), "audit")
    ats.matches(t.end(0).decode(), r"^TIME +EVENT +SESSION .*\r\n.*github__create_issue")
    write(state, "audit.jsonl", "\n", line(n=5))
    r = home.ctl("audit", "--json", code=1)
    ats.equal(len(r.stdout.splitlines()), 5)
    ats.contains(r.stderr, b"audit.jsonl:3: no line of the audit log")


@ats.test("--follow sees what is written, and a rotation; the vault says where")
def _(home):
    state = os.path.join(home.ws, "elsewhere")
    brain_of(home, VAULT_STATUS=lambda: ("OK", json.dumps({"state_dir": state}), ""))
    write(state, "audit.jsonl", line(n=1))
    p = home.popen(ats.program("atsctl"), "audit", "--follow", "--json",
                   stdout=subprocess.PIPE)

    def number():
        return json.loads(p.stdout.readline())["n"]
    ats.equal(number(), 1)
    write(state, "audit.jsonl", line(n=2))
    ats.equal(number(), 2)
    vault = os.path.join(state, "vault")
    os.rename(vault + "/audit.jsonl", vault + "/audit.jsonl.1")
    write(state, "audit.jsonl", line(n=3))
    ats.equal(number(), 3)
    p.send_signal(signal.SIGINT)
    p.wait(ats.TIMEOUT)


@ats.test("credentials: names and states; a test that fails is an exit of 1")
def _(home):
    one = {"name": "github", "source": "file", "state": "ok"}
    two = {"name": "jira", "source": "command", "state": "not read"}
    asked = []

    def credentials(name):
        asked.append(name)
        if name == "none":
            return ("FAILED", 5, "none: no such credential")
        bad = dict(two, state="failed", error="/bin/false: exit 1")
        some = {"": [one, two], "github": [one], "jira": [bad]}[name]
        return ("OK", json.dumps({"credentials": some}), "")
    home.ctl("credential", "ls", code=3)
    brain_of(home, CREDENTIALS=credentials)
    out = home.ctl("credential", "ls", code=0).stdout.decode()
    ats.matches(out, r"github +file +ok\n.*jira +command +not read\n")
    ats.equal(json.loads(home.ctl("--json", "credential", "ls", code=0).stdout),
              {"credentials": [one, two]})
    home.ctl("credential", "test", "github", code=0)
    ats.contains(home.ctl("credential", "test", "jira", code=1).stdout, b"/bin/false: exit 1")
    ats.contains(home.ctl("credential", "test", "none", code=1).stderr, b"no such credential")
    del asked[:]
    out = json.loads(home.ctl("credential", "test", "--json", code=1).stdout)
    ats.equal([x["state"] for x in out["credentials"]], ["ok", "failed"])
    ats.equal(asked, ["", "github", "jira"])
    home.ctl("credential", "show", code=2)
    home.ctl("credential", "ls", "x", code=2)


@ats.test("gateways are listed, and their tools called as tools are")
def _(home):
    some = {"gateways": [{"name": "github", "kind": "http", "state": "idle", "tools": 2}]}
    b = brain_of(home, GATEWAYS=lambda: ("OK", json.dumps(some), ""))
    ats.matches(home.ctl("gateway", "ls", code=0).stdout.decode(), r"github +http +idle +2\n")
    ats.equal(json.loads(home.ctl("gateway", "ls", "--json", code=0).stdout), some)

    def call(conn, message, fds):
        error = message["params"]["arguments"].get("fail", False)
        return {"outcome": "done", "is_error": error,
                "content": [{"type": "text", "text": "issue 7"}]}
    b.on("ats/tool.call")(call)
    r = home.ctl("gateway", "call", "github__create_issue", '{"title":"x"}', code=0)
    ats.equal(r.stdout, b"issue 7\n")
    home.ctl("gateway", "call", "github__create_issue", "-", input='{"fail":true}', code=1)
    for args, exit_code in ((["call", "Bash", "{}"], 125), (["call", "a__b"], 125),
                            (["call", "a__b", "[]"], 125), (["fly"], 2), (["ls", "x"], 2)):
        home.ctl("gateway", *args, code=exit_code)
    ats.equal([m["params"]["name"] for m in b.requests("ats/tool.call")],
              ["github__create_issue"] * 2)


ats.main()
