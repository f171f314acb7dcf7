#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gateways of kind mcp whose server is a program: its tools, its answers, and its ends. The server
is tests/lib/mcp_upstream.py, and two of npm (pinned) where there is npm."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from gateway import Gateway

LIB = os.path.join(ats.TOP, "tests", "lib")
SECRET = "upstream-token-1"


def conf(mode="", **more):
    return {"kind": "mcp", "argv": [sys.executable, os.path.join(LIB, "mcp_upstream.py"), mode],
            **more}


def names(listed):
    return [t[0] for t in listed]


@ats.test("its tools: pages, annotations, nothing private", home=False)
def _():
    for mode in ("", "pages", "old", "late", "junk"):
        with Gateway(conf(mode)) as g:
            ats.equal(len(g.listed), 21)
            name, flags, j = g.listed[0]
            ats.equal((name, flags), ("echo", 1))
            ats.equal(sorted(j), ["annotations", "description", "inputSchema", "timeoutMs"])
            ats.equal(j["annotations"], {"title": "Echo", "readOnlyHint": True,
                                         "destructiveHint": False, "idempotentHint": False,
                                         "openWorldHint": True})
            ats.equal(g.listed[1][1], 2)
            ats.equal(json.loads(g.call("echo", {"a": 1}).text), {"a": 1})
    with Gateway(conf("toolless")) as g:
        ats.equal(g.listed, [])


@ats.test("tools that cannot be offered are left out; allow and read_only choose", home=False)
def _():
    with Gateway(conf("odd")) as g:
        ats.equal(len(g.listed), 21)
        ats.contains(g.log_text(), "another tool has that name")
        ats.equal(g.call("a_b").text, "dotted")
    with Gateway(conf("many")) as g:
        ats.equal(len(g.listed), 256)
    with Gateway(conf("odd", allow=["fail", "echo", "gone"],
                      tools={"fail": {"read_only": True}})) as g:
        ats.equal(names(g.listed), ["echo", "fail"])
        ats.equal(g.listed[1][1] & 1, 1)
        r = g.call("content")
        ats.check(r.code == "unknown_tool" and not r.started, r)


@ats.test("answers: content of each kind, errors, structure, order", home=False)
def _():
    with Gateway(conf()) as g:
        ats.equal(g.call("echo", {"x": "\u00e9"}).text, '{"x": "\\u00e9"}')
        r = g.call("fail")
        ats.check(r.is_error and r.started and r.code == "upstream_failed", r)
        ats.equal(r.text, "it failed")
        r = g.call("rpc_error")
        ats.check(r.is_error, r)
        ats.contains(r.text, "error -32602: bad argument")
        r = g.call("content")
        ats.equal([b[0] for b in r.blocks], ["text", "image"] + ["text"] * 8)
        ats.equal(r.blocks[0][2].decode(), "one \u00e9")
        ats.equal(r.blocks[1][1], "image/png")
        ats.equal(r.blocks[1][2][:4], b"\x89PNG")
        for part in ("it is not base64", "[image/tiff, 70 bytes: not shown]",
                     "[Audio] [audio/wav, 3 bytes: not shown]", "[Resource from gw at x://y] inner",
                     "[Resource from gw at x://z] [application/pdf, 3 bytes: not shown]",
                     "[Resource link: G] f://g (d)", "of an unknown type", "it holds a NUL"):
            ats.contains(r.text, part)
        ats.equal(g.call("structured").text, '{"a": [1]}')
        ats.contains(g.call("big").text, "[cut: the first 100000 of 300000 bytes")
        ats.contains(g.call("bad_result").text, "not with a result")
        ats.equal(g.call("dup").text, "first")
        calls = {g.order("slow", {"n": i}): i for i in range(30)}
        got = {}
        while len(got) < 30:
            f = g.link.expect("result")
            got[f.call] = f.payload.decode()
            g.link.send("control.ack", f.call)
        ats.equal(got, {c: "slow %d" % i for c, i in calls.items()})


@ats.test("what is shown in part, and what tools say of themselves, is masked", home=False)
def _():
    with Gateway(conf("leaky", credential="x", credential_env="TOKEN"), SECRET) as g:
        listed = json.dumps(g.listed)
        ats.missing(listed, SECRET)
        ats.contains(listed, "logs in as ***")
        for n in range(0, 30, 3):
            for name in ("cuts", "long_error"):
                text = g.call(name, {"n": n}).text
                ats.missing(text, SECRET[:3])
        ats.missing(g.log_text(), SECRET[:9])


@ats.test("progress comes, masked; cancelling reaches the server", home=False)
def _():
    with Gateway(conf(credential="x", credential_env="TOKEN"), SECRET) as g:
        g.call("progress")
        ats.equal([p[1] for p in g.progress], [{"message": "third ***", "done": 3}])
        call = g.order("hang")
        f = g.link.expect("event.progress")
        ats.equal((f.call, f.json["message"]), (call, "hanging"))
        g.cancel(call)
        ats.equal(g.result(call).code, "cancelled")
        ats.equal(len(json.loads(g.call("cancelled").text)), 1)
        ats.equal(g.call("hang", ms=200).code, "timeout")
        ats.equal(len(json.loads(g.call("cancelled").text)), 2)
        env = json.loads(g.call("env").text)
        ats.equal(env["TOKEN"], "***")
        ats.missing(g.log_text(), SECRET)


@ats.test("what the server asks is refused, but ping", home=False)
def _():
    with Gateway(conf()) as g:
        ats.equal(json.loads(g.call("ask").text),
                  {"s0": "ok", "s1": -32601, "s2": -32601, "s3": -32601})


@ats.test("a server that dies: calls say so, and it is started again", home=False)
def _():
    with Gateway(conf()) as g:
        hanging = g.order("hang")
        g.link.expect("event.progress")
        dying = g.order("die")
        ends = {}
        for _ in range(2):
            f = g.link.expect("result")
            ends[f.call] = f
            g.link.send("control.ack", f.call)
        for call in (hanging, dying):
            ats.equal(ends[call].json["code"], "closed")
            ats.contains(ends[call].payload.decode(), "not known")
        ats.contains(g.log_text(), "last words")
        # It waits for the next start.
        ats.equal(json.loads(g.call("echo", {"n": 2}).text), {"n": 2})
        r = g.call("huge")
        ats.equal(r.code, "closed")
        ats.contains(r.text, "more than 16 MiB")
        ats.equal(json.loads(g.call("echo", {"n": 3}).text), {"n": 3})
    with tempfile.TemporaryDirectory() as d:
        with Gateway(conf("once", env={"MARK": d + "/m"})) as g:
            ats.equal(g.call("die").code, "closed")
            r = g.call("echo", ms=30000, timeout=60)
            ats.check(r.code == "not_started" and not r.started, r)
            r = g.call("echo")
            ats.contains(r.text, "started again")


@ats.test("a changed list is asked for again, once for many words of it", home=False)
def _():
    with tempfile.TemporaryDirectory() as d:
        with Gateway(conf("grow", env={"MARK": d + "/m"})) as g:
            ats.equal(len(g.listed), 21)
            g.call("grow")
            g.wait(lambda: len(g.listed) == 22, "the longer list")
            ats.equal(names(g.listed)[-1], "grown")


@ats.test("servers that do not come up: READY says why, and the gateway ends", home=False)
def _():
    for mode, why in (("dead", "exit code 1"), ("ancient", "no version"), ("flood", "not MCP")):
        with Gateway(conf(mode, credential="x", credential_env="TOKEN"), SECRET,
                     ready=False) as g:
            g.wait(lambda g=g: g.is_ready is not None, "GW_READY")
            ats.check(g.is_ready[0] != 0, g.is_ready)
            ats.contains(g.is_ready[1], why)
            ats.missing(g.is_ready[1] + g.log_text(), SECRET)
            ats.equal(g.wait_end(), 0)
    with Gateway({"kind": "mcp", "argv": ["/nonexistent"]}, ready=False) as g:
        g.wait(lambda: g.is_ready is not None, "GW_READY")
        ats.contains(g.is_ready[1], "No such file")
    with Gateway(conf("loop")) as g:
        ats.equal(g.listed, [])


def npm(*packages):
    r = subprocess.run([os.path.join(LIB, "npm-install"), *packages], stdout=subprocess.PIPE,
                       check=False, env={**os.environ, "ATS_BUILD": ats.BUILD})
    if r.returncode == 77:
        ats.skip(r.stdout.decode().strip())
    ats.equal(r.returncode, 0, r.stdout)
    return os.path.join(r.stdout.decode().strip(), "node_modules")


def node():
    return os.path.realpath(subprocess.run(["sh", "-c", "command -v node"], check=True,
                                           stdout=subprocess.PIPE).stdout.decode().strip())


@ats.test("@modelcontextprotocol/server-filesystem", home=False)
def _():
    modules = npm("@modelcontextprotocol/server-filesystem@2026.8.31")
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/f.txt", "w", encoding="ascii") as f:
            f.write("content\n")
        main = os.path.join(modules, "@modelcontextprotocol/server-filesystem/dist/index.js")
        with Gateway({"kind": "mcp", "argv": [node(), main, d]}) as g:
            ats.contains(names(g.listed), "read_text_file")
            ats.equal(g.call("read_text_file", {"path": d + "/f.txt"}).text, "content\n")
            r = g.call("read_text_file", {"path": "/etc/passwd"})
            ats.check(r.is_error and "denied" in r.text, r)


@ats.test("@modelcontextprotocol/server-everything", home=False)
def _():
    modules = npm("@modelcontextprotocol/server-everything@2026.8.31")
    main = os.path.join(modules, "@modelcontextprotocol/server-everything/dist/index.js")
    with Gateway({"kind": "mcp", "argv": [node(), main, "stdio"]}) as g:
        print("# " + " ".join(names(g.listed)))
        ats.equal(g.call("echo", {"message": "hi"}).text, "Echo: hi")
        call = g.order("trigger-long-running-operation", {"duration": 1, "steps": 4})
        ats.contains(g.result(call).text, "Long running operation completed")
        ats.check(g.progress, "no progress came")
        image = [n for n in names(g.listed) if "iny" in n][0]
        ats.check("image" in [b[0] for b in g.call(image).blocks], "no image")


ats.main()
