#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The official MCP client (TypeScript SDK, pinned) against atsctl mcp: each revision, each
tool, errors, progress, cancelling, and deaths in the middle."""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import kills
import leash

SDK = "@modelcontextprotocol/sdk@1.32.2"
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


class Sdk(leash.Leash):
    def __init__(self, home, version=None, session=None):
        super().__init__(home, "mcp_sdk.mjs", SDK)
        self.info = self.do("connect", version=version, **self.server(session))


def each_tool(sdk, home):
    """Every tool of the list once; fails when the list has one that is not called here."""
    named = {t["name"] for t in sdk.do("list")["tools"]}
    used = set()

    def use(name, **args):
        used.add(name)
        return sdk.text(name, **args)
    ats.contains(use("Write", file_path="d/a.txt", content="one\ntwo\n"), "Created")
    ats.equal(use("Read", file_path="d/a.txt"), "1\tone\n2\ttwo")
    ats.contains(use("Edit", file_path="d/a.txt", old_string="two", new_string="2"), "+2")
    ats.equal(home.read("d/a.txt"), b"one\n2\n")
    ats.contains(use("LS", path="d"), "a.txt")
    ats.contains(use("Glob", pattern="**/*.txt"), "a.txt")
    ats.contains(use("Grep", pattern="^on", output_mode="content"), "one")
    ats.equal(use("Bash", command="cat d/a.txt"), "one\n2")
    started = use("Bash", command="echo out; exec sleep 1000", run_in_background=True)
    id = started[started.index("bash_"):].split()[0].strip(".,:;\"'")
    ats.until(lambda: "out" in use("BashOutput", bash_id=id), "the output of " + id)
    ats.contains(use("KillShell", shell_id=id).lower(), "kill")
    if "MultiEdit" in named:
        use("MultiEdit", file_path="d/a.txt",
            edits=[{"old_string": "one", "new_string": "1"}])
    if "NotebookEdit" in named:
        home.write("n.ipynb", json.dumps({"cells": [], "metadata": {}, "nbformat": 4,
                                          "nbformat_minor": 5}))
        sdk.text("Read", file_path="n.ipynb")
        use("NotebookEdit", notebook_path="n.ipynb", new_source="1", edit_mode="insert",
            cell_type="code")
    if "TaskOutput" in named:
        started = sdk.text("Bash", command="sleep 1000", run_in_background=True)
        id = started[started.index("bash_"):].split()[0].strip(".,:;\"'")
        use("TaskOutput", task_id=id, block=False)
        use("TaskStop", task_id=id)
    ats.equal(named - used, set(), "tools that were not called")


def revision(version):
    last = version == REVISIONS[-1]

    @ats.test("revision %s: handshake, list, every tool" % version, users=last,
              long=None if last else ats.WHOLLY)
    def _(home):
        sdk = Sdk(home, version)
        ats.equal(sdk.info["server"]["name"], "agent-tool-server")
        ats.check("tools" in sdk.info["capabilities"])
        if sdk.info.get("version"):
            ats.equal(sdk.info["version"], version)
        sdk.do("ping")
        for t in sdk.do("list")["tools"]:
            ats.check("outputSchema" not in t, t["name"])
            ats.equal(t["inputSchema"]["type"], "object")
            ats.check(t["description"], t["name"])
        each_tool(sdk, home)
        sdk.do("close")


for v in REVISIONS:
    revision(v)


@ats.test("an unknown revision is answered with our newest")
def _(home):
    mcp = home.mcp()
    ats.equal(mcp.initialize("2099-01-01")["protocolVersion"], REVISIONS[-1])


@ats.test("unknown tool, unknown method, bad arguments, isError results")
def _(home):
    sdk = Sdk(home)
    m = sdk.answer(sdk.call("NoSuchTool"))
    ats.check("error" in m or m["result"].get("isError"), m)
    ats.contains(json.dumps(m), "NoSuchTool")
    ats.contains(json.dumps(m), "there are Bash, ")
    for wrong, near in (("Raed", "Read"), ("bash", "Bash"), ("MultEdit", "MultiEdit")):
        ats.contains(json.dumps(sdk.answer(sdk.call(wrong))), "did you mean %s?" % near)
    m = sdk.answer(sdk.send("request", method="resources/list", params={}))
    ats.equal(m["error"]["code"], -32601)
    ats.contains(sdk.error("Read"), "file_path")
    ats.contains(sdk.error("Read", file_path=7), "file_path")
    ats.contains(sdk.error("Read", file_path="a", bogus=1), "bogus")
    ats.contains(sdk.error("Bash", command="x", timeout="soon"), "timeout")
    ats.contains(sdk.error("Bash", command="a\0b"), "command")
    home.write("n", "1\n2\n3\n")
    ats.equal(sdk.text("Read", file_path="n", limit="1", offset="2").split("\n")[0], "2\t2")
    ats.equal(sdk.error("Bash", command="echo why >&2; exit 3"), "Exit code 3\nwhy")
    ats.contains(sdk.error("Edit", file_path="n", old_string="nothing", new_string="x"), "")


@ats.test("progress tells the newest line of a call that takes longer than a second")
def _(home):
    sdk = Sdk(home)
    os.mkfifo(os.path.join(home.ws, "go"))
    os.chmod(os.path.join(home.ws, "go"), 0o666)
    tag = sdk.call("Bash", progress=True, command="echo early; sleep 1.2; echo middle; cat go")
    seen = []
    while "middle" not in json.dumps(seen):
        e = sdk.take_event("progress")
        ats.equal(e["tag"], tag)
        ats.check(not seen or e["progress"]["progress"] > seen[-1]["progress"], "not growing")
        seen.append(e["progress"])
    with open(os.path.join(home.ws, "go"), "w", encoding="ascii") as f:
        f.write("end\n")
    ats.equal(sdk.result(tag), ("early\nmiddle\nend", False))
    quick = sdk.call("Bash", progress=True, command="echo quick")
    sdk.result(quick)
    ats.check(not [e for e in sdk.events if e.get("tag") == quick], sdk.events)


@ats.test("cancelling ends the whole tree; the client's timeout does too; others go on")
def _(home):
    sdk = Sdk(home)
    sdk.text("Bash", command="true")

    def sleepers():
        return ats.find(home.brain_pid(), "sleep 7777")
    tag = sdk.call("Bash", command="setsid sleep 7777 & sleep 7777")
    beside = sdk.call("Bash", command="read x < <(sleep 1; echo fine); echo $x")
    ats.until(lambda: len(sleepers()) >= 2, "it runs")
    pids = sleepers()
    sdk.do("cancel", of=tag)
    ats.check("error" in sdk.answer(tag))
    ats.equal(ats.wait_gone(pids), [])
    ats.equal(sdk.result(beside), ("fine", False))
    m = sdk.answer(sdk.send("call", name="Bash", args={"command": "sleep 7777"}, timeout=700))
    ats.contains(m["error"]["message"].lower(), "timed out")
    ats.until(lambda: not sleepers(), "the one that timed out is gone")
    ats.equal(sdk.text("Bash", command="echo on"), "on")


@ats.test("100 calls at once, answered each with its own", users=True)
def _(home):
    sdk = Sdk(home)
    home.write("f", "text\n")
    tags = {}
    for i in range(100):
        if i % 3:
            tags[sdk.call("Bash", command="echo n%d" % i)] = "n%d" % i
        else:
            tags[sdk.call("Read", file_path="f")] = "1\ttext"
    for tag, want in tags.items():
        ats.equal(sdk.result(tag), (want, False))


def killed_inside(role, lost):
    @ats.test("%s is killed during a call; the client sees no broken connection" % role,
              users=True)
    def _(home):
        sdk = Sdk(home)
        sdk.text("Bash", command="mkdir -p d && cd d")
        tag = sdk.call("Bash", command="echo x > ../started; sleep 1.5; echo end")
        ats.until(lambda: os.path.exists(os.path.join(home.ws, "started")), "it runs")
        os.kill(kills.of_role(home, role)[-1], signal.SIGKILL)
        text, is_error = sdk.result(tag)
        if lost:
            ats.contains(text, "unknown")
        ats.equal((is_error, lost or text), (lost, lost or "end"))
        ats.contains(sdk.text("Bash", command="pwd"), "/d")
        ats.equal([e for e in sdk.events if e["event"] == "close"], [])
        sdk.do("ping")


killed_inside("front", True)
killed_inside("engine", False)
killed_inside("vault", True)


@ats.test("atsctl mcp is killed: the client sees its end; a new one finds the session")
def _(home):
    sdk = Sdk(home, session="mine")
    home.write("f", "one\n")
    sdk.text("Bash", command="mkdir -p d && cd d")
    sdk.text("Read", file_path="../f")
    tag = sdk.call("Bash", command="sleep 1000")
    os.kill(sdk.info["pid"], signal.SIGKILL)
    sdk.event("close")
    ats.contains(sdk.answer(tag)["error"]["message"], "closed")
    again = Sdk(home, session="mine")
    ats.contains(again.text("Bash", command="pwd"), "/d")
    ats.contains(again.text("Edit", file_path="../f", old_string="one", new_string="1"), "+1")


@ats.test("the client closes: atsctl mcp ends, the brain stays for the next one")
def _(home):
    sdk = Sdk(home)
    sdk.text("Bash", command="true")
    brain = home.brain_pid()
    sdk.do("close")
    ats.equal(ats.wait_gone([sdk.info["pid"]]), [])
    ats.equal(Sdk(home).text("Bash", command="echo next"), "next")
    ats.equal(home.brain_pid(), brain)


ats.main()
