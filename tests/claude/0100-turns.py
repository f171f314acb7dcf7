#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Claude Code itself with our tools: what the model is sent, what is in the files, which keys
commands can see."""
import base64
import json
import os
import struct
import zlib

import cli
from cli import ALIASES, HTTP, MCP, NATIVE, PREFIX, Cli, ats
from gate import Gate

OURS = {"Bash", "BashOutput", "KillShell", "TaskOutput", "TaskStop", "Read", "Write", "Edit",
        "MultiEdit", "Glob", "Grep", "LS", "NotebookEdit"}


@cli.test("a turn: it writes, edits, searches and runs", MCP, ALIASES, HTTP, users=True)
def _(home, wiring):
    home.write("notes.txt", "one\ntwo\nthree\n")
    c = Cli(home, wiring)
    q = c.model.request()
    q, r = c.use(q, "Read", file_path=os.path.join(home.ws, "notes.txt"))
    ats.equal((r.is_error, r.text), (False, "1\tone\n2\ttwo\n3\tthree"))
    q, r = c.use(q, "Edit", file_path=os.path.join(home.ws, "notes.txt"), old_string="two",
                 new_string="2 $& \\1")
    ats.check(not r.is_error, r.text)
    ats.contains(r.text, "+2 $& \\1")
    ats.equal(home.read("notes.txt"), b"one\n2 $& \\1\nthree\n")
    q, r = c.use(q, "Write", file_path=os.path.join(home.ws, "d", "new.txt"), content="new\n")
    ats.check(not r.is_error, r.text)
    ats.equal(home.read("d/new.txt"), b"new\n")
    q, r = c.use(q, "Grep", pattern="^(three|new)$", output_mode="content")
    ats.contains(r.text, "notes.txt:3:three")
    ats.contains(r.text, "d/new.txt:1:new")
    q, r = c.use(q, "Glob", pattern="**/*.txt")
    ats.contains(r.text, "d/new.txt")
    q, r = c.use(q, "Bash", command="cd d; wc -c < new.txt", description="Count bytes")
    ats.equal((r.is_error, r.text), (False, "4"))
    q, r = c.use(q, "Bash", command="pwd; echo err >&2; exit 3")
    ats.equal((r.is_error, r.text), (True, "Exit code 3\n%s/d\nerr" % home.ws))
    q, r = c.use(q, "Edit", file_path=os.path.join(home.ws, "notes.txt"),
                 old_string="not there", new_string="x")
    ats.check(r.is_error, r.text)
    ats.equal(home.read("notes.txt"), b"one\n2 $& \\1\nthree\n")
    q, r = c.use(q, "Bash", comand="typo")
    ats.check(r.is_error, r.text)
    ats.contains(r.text, "comand")
    q.say("done")
    ats.equal(c.turn_ends()["result"], "done")
    ats.equal(c.end(), 0)


@cli.test("what the model is told: our tools, their schemas, where they run")
def _(home, wiring):
    c = Cli(home, wiring)
    q = c.model.request()
    ats.equal({n for n in q.tools if n.startswith(PREFIX)}, {PREFIX + n for n in OURS})
    ats.equal(OURS & set(q.tools), set(NATIVE) if wiring == ALIASES else set())
    for name in OURS:
        t = q.tools[PREFIX + name]
        ats.equal(t["input_schema"]["type"], "object", name)
        ats.check(len(t["description"]) > 20, name)
    told = json.dumps([q.body.get("system"), q.body["messages"]])
    ats.contains(told, "These tools run in a sandbox")
    if wiring == ALIASES:       # what its own schemas allow is something that we take
        for name in NATIVE:
            theirs = set(q.tools[name]["input_schema"]["properties"])
            ours = set(q.tools[PREFIX + name]["input_schema"]["properties"])
            ats.equal(theirs - ours, set(), name)
    q.say("done")
    c.turn_ends()


@cli.test("calls in one message: those that only read run at the same time, others in turn")
def _(home, wiring):
    gate = Gate(home)
    c = Cli(home, wiring)
    q, r = c.use(c.model.request(), "Bash", command="read x < go; echo went; exit 7",
                 run_in_background=True)
    id = r.text[r.text.index("bash_"):].split()[0].strip(".,:;\"'")
    c.begin(q, *[("TaskOutput", {"task_id": id, "timeout": 60000})] * 3)

    def running():
        status = json.loads(home.ctl("--json", "status", code=0).stdout)
        return [x for x in status["engine"]["calls"] if x["tool"] == "TaskOutput"]
    ats.until(lambda: len(running()) == 3, "three of them run")
    gate.open()
    q = c.model.request()
    for i in range(3):
        ats.contains(q.result(i).text, "7")
    ats.contains("".join(q.result(i).text for i in range(3)), "went")
    c.begin(q, *[("Bash", {"command": "echo %d >> order; cat order" % i}) for i in range(4)])
    q = c.model.request()
    ats.equal([q.result(i).text for i in range(4)],
              ["0", "0\n1", "0\n1\n2", "0\n1\n2\n3"])
    q.say("done")
    c.turn_ends()


@cli.test("large results come whole or are cut by us; what was cut can be read")
def _(home, wiring):
    lines = ["%05d %s" % (i, "x" * 60) for i in range(1500)]
    home.write("long.txt", "\n".join(lines) + "\n")
    c = Cli(home, wiring)
    q, r = c.use(c.model.request(), "Read", file_path=os.path.join(home.ws, "long.txt"))
    ats.check(len(r.text) > 90000, len(r.text))
    ats.contains(r.text, "1500\t01499 ")
    q, r = c.use(q, "Bash", command="seq 100000")
    ats.check(20000 < len(r.text) <= 31000, len(r.text))
    ats.matches(r.text, "^1\n2\n")
    ats.contains(r.text, "\n100000")
    path = next(w.strip("().,;:[]") for w in r.text.split() if "/spill" in w or "spill/" in w)
    q, r = c.use(q, "Read", file_path=path, offset=50000, limit=2)
    ats.equal(r.text.split("\n")[0].split("\t")[-1], "50000", r.text)
    q.say("done")
    c.turn_ends()


def png():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)) + \
        chunk(b"IDAT", zlib.compress(b"\0" + b"\xff\0\0" * 2 + b"\0" + b"\0\xff\0" * 2)) + \
        chunk(b"IEND", b"")


@cli.test("an image is an image for the model; no result is structured")
def _(home, wiring):
    home.write("p.png", png())
    c = Cli(home, wiring)
    q, r = c.use(c.model.request(), "Read", file_path=os.path.join(home.ws, "p.png"))
    image = next(b for b in r.blocks if b["type"] == "image")
    ats.equal(image["source"]["media_type"], "image/png")
    ats.equal(base64.b64decode(image["source"]["data"])[:8], b"\x89PNG\r\n\x1a\n")
    for tool, arguments in (("Bash", {"command": "echo text"}), ("Glob", {"pattern": "*.png"}),
                            ("LS", {"path": home.ws})):
        q, r = c.use(q, tool, **arguments)
        ats.check(not r.is_error and r.text[:1] not in "{[", r.text)
    q.say("done")
    c.turn_ends()


@cli.test("no command sees a key, nor the API", MCP, ALIASES, HTTP, users=True)
def _(home, wiring):
    c = Cli(home, wiring)
    looks = ["env; export -p; set",
             "for f in /proc/[0-9]*/environ /proc/self/task/*/environ; do tr '\\0' '\\n' < $f; done",
             "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'",
             "cat %s/mcp.json %s/*; ls -R %s" % (c.config, c.config, home.dir),
             "grep -raF sk-ant-canary /etc /run /tmp /var /dev ~ . --devices=skip",
             "cd /proc; grep -aF sk-ant-canary [0-9]*/environ [0-9]*/cmdline"]
    q = c.model.request()
    for command in looks:
        q, r = c.use(q, "Bash", command="{ %s; } 2>&1; echo it ran" % command)
        ats.contains(r.text, "it ran")
        ats.missing(r.text, c.key)
        ats.missing(r.text, "ANTHROPIC")
        if wiring == HTTP:
            ats.missing(r.text, c.http.token)
    q, r = c.use(q, "Bash", command="cat /proc/self/environ | tr '\\0' '\\n' | grep ^PATH=")
    ats.contains(r.text, "PATH=", "an environment can be looked at")
    q, r = c.use(q, "Bash", command="exec 3<> /dev/tcp/127.0.0.1/%d" % c.model.port)
    ats.check(r.is_error, r.text)
    for tool in ("Read", "Grep"):
        arguments = {"file_path": "/proc/self/environ"} if tool == "Read" else \
            {"pattern": "canary", "path": "/proc/self/environ"}
        q, r = c.use(q, tool, **arguments)
        ats.check(r.is_error, r.text)
        ats.missing(r.text, c.key)
    brain = home.brain_pid()
    for pid in sorted(ats.descendants(brain) | {brain}):
        with open("/proc/%d/environ" % pid, "rb") as f:
            ats.missing(f.read(), c.key.encode(), ats.comm(pid))
    q.say("done")
    c.turn_ends()


ats.main()
