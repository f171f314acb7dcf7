#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that go with calls of gateways, with all programs as they are: from a client and from
inside the sandbox to a program and a web service, and paths of every bad kind."""
import contextlib
import hashlib
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import shim_client
import upstream
from person import approve, audit, the_one, waiting
from terminal import Terminal

SCRIPT = """#!/bin/sh
cat; echo
sha256sum < /dev/fd/10
test ! -e /dev/fd/11 || cat /dev/fd/11
if (echo evil > /dev/fd/10) 2> /dev/null; then echo written; fi
"""
FILE = {"type": "file"}
LIMIT = 300000


def up(home, url="http://127.0.0.1:9", **more):
    if not os.path.exists(ats.program("ats-gateway")):
        ats.skip("ats-gateway is not built")
    token = os.path.join(home.dir, "token")
    with open(os.open(token, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as f:
        f.write("s3cret-of-the-test\n")
    script = os.path.join(home.dir, "show")
    with open(script, "w", encoding="ascii") as f:
        os.fchmod(f.fileno(), 0o755)
        f.write(SCRIPT)

    def tool(permission):
        return {"description": "d", "permission": permission,
                "input": {"type": "object", "required": ["f"], "properties": {"f": FILE}}}
    command = {name: {**tool(permission), "argv": [script]}
               for name, permission in (("ask", "ask"), ("send", "allow"))}
    command["two"] = {**command["send"], "input": {
        "type": "object", "required": ["f"], "properties": {"f": FILE, "g": FILE}}}
    put = {**tool("allow"), "method": "PUT", "path": "/store/{name}", "body": "file:{f}",
           "input": {"type": "object", "required": ["name", "f"],
                     "properties": {"name": {"type": "string"}, "f": FILE}}}
    home.configure({"credentials": {"c": {"file": token}}, "limits": {"file_bytes": LIMIT},
                    "gateways": {"box": {"kind": "command", "tools": command},
                                 "web": {"kind": "http", "url": url, "allow_private": True,
                                         "credential": "c", "tools": {"put": put}}}, **more})
    mcp = home.mcp()
    mcp.initialize()
    return mcp


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def shown(path, data):
    return {"path": path, "sha256": sha256(data), "size": len(data)}


def text(r):
    return "".join(c.get("text", "") for c in r["content"])


def send(mcp, name, **args):
    return mcp.send("tools/call", {"name": name, "arguments": args})


@ats.test("a person sees the file's hash; what is approved is used, whatever is at its path then")
def _(home):
    mcp = up(home)
    data = os.urandom(200000)
    path = home.write("out/report.bin", data)
    tools = {t["name"]: t for t in mcp.request("tools/list")["tools"]}
    props = tools["box__ask"]["inputSchema"]["properties"]
    ats.equal(props["f"]["type"], "string")
    ats.check("files" not in tools["box__ask"], tools["box__ask"])
    i = send(mcp, "box__ask", f="out/report.bin")
    one = the_one(home)
    want = shown("out/report.bin", data)
    ats.equal(json.loads(one.args), {"f": want})
    home.write("out/report.bin", b"another")
    os.unlink(path)
    person = Terminal(home, ats.program("atsctl"), "approve", one[0])
    for part in ("out/report.bin", want["sha256"], str(len(data))):
        person.expect(part.encode())
    person.expect(rb"\[y/N\] $")
    person.type("y\n")
    person.end(0)
    got = text(mcp.answer(i)["result"])
    ats.equal(json.loads(got.split("\n")[0]), {"f": want})
    ats.contains(got, sha256(data))
    ats.missing(got, "written")
    # The same path, other bytes: asked again, and another hash.
    home.write("out/report.bin", b"another")
    i = send(mcp, "box__ask", f=path)
    one = the_one(home)
    ats.equal(json.loads(one.args), {"f": shown(path, b"another")})
    home.vault().ask("DENY", one[0], "no", "terminal")
    ats.check(mcp.answer(i)["result"]["isError"])


@ats.test("one that was approved after the engine's end is the one that was shown")
def _(home):
    mcp = up(home)
    home.write("a", b"shown")
    i = send(mcp, "box__ask", f="a")
    one = the_one(home)
    engine, = ats.find(home.brain_pid(), "ats-engine")
    os.kill(engine, signal.SIGKILL)
    ats.wait_gone([engine], 10)
    home.write("a", b"later")
    mcp.request("ping")
    approve(home, one)
    ats.contains(text(mcp.answer(i)["result"]), sha256(b"shown"))


@ats.test("to a web service as a body, to a program on descriptors; empty and of two files")
def _(home):
    with contextlib.closing(upstream.Upstream("s3cret-of-the-test")) as web:
        mcp = up(home, web.url)
        data = bytes(range(256)) * 1000
        home.write("blob", data)
        home.write("empty", b"")
        r = mcp.tool("web__put", {"name": "a b", "f": "blob"})
        ats.check(not r.get("isError"), r)
        r = mcp.tool("web__put", {"name": "none", "f": "empty"})
        ats.check(not r.get("isError"), r)
        ats.equal([(m, p, sha256(b)) for m, p, b in web.asked],
                  [("PUT", "/store/a%20b", sha256(data)), ("PUT", "/store/none", sha256(b""))])
    home.write("second", b"of the second\n")
    got = mcp.text("box__two", f="blob", g="second")
    ats.equal(json.loads(got.split("\n")[0]),
              {"f": shown("blob", data), "g": shown("second", b"of the second\n")})
    ats.contains(got, sha256(data))
    ats.contains(got, "of the second")
    got = mcp.text("box__two", f="empty")
    ats.contains(got, sha256(b""))
    for _ in range(20):                 # nothing is left of one for the next
        ats.contains(mcp.text("box__send", f="blob"), sha256(data))


@ats.test("what is no file of the workspace is a clear error, and nothing starts")
def _(home):
    mcp = up(home, permissions={"deny": ["Read(*.pem)"]}, sandbox={"deny_read": ["secret.txt"]})
    outside = os.path.join(home.dir, "token")
    home.write("large", b"x" * (LIMIT + 1))
    home.write("endless", b"")
    os.truncate(os.path.join(home.ws, "endless"), 1 << 40)
    home.write("half", b"x" * (LIMIT // 2 + 1))
    home.write("unreadable", b"x", 0)
    home.write("key.pem", b"x")
    home.write("secret.txt", b"x")
    home.write("dir/in", b"x")
    os.symlink(outside, os.path.join(home.ws, "out"))
    os.symlink("loop", os.path.join(home.ws, "loop"))
    os.mkfifo(os.path.join(home.ws, "fifo"))
    with contextlib.suppress(OSError):
        os.link(outside, os.path.join(home.ws, "hard"))     # its owner may; no test of it
    for path in ("large", "endless", "missing", "dir", "out", "loop", "fifo", "key.pem",
                 "secret.txt", outside, "../token", "/etc/shadow", "/dev/zero", "/proc/self/mem",
                 "", "x" * 5000, "a\u0000b", 7, None, ["a"], {"path": "large"}):
        r = mcp.tool("box__send", {"f": path})
        ats.check(r.get("isError"), (path, r))
        ats.matches(text(r), "not started|Refused|Nothing was run", repr(path))
        ats.missing(text(r), "s3cret-of-the-test")
    r = mcp.tool("box__send", {"f": "large"})
    ats.contains(text(r), "limits.file_bytes")
    if os.getuid() != 0:
        ats.check(mcp.tool("box__send", {"f": "unreadable"})["isError"])
    r = mcp.tool("box__two", {"f": "half", "g": "half"})
    ats.check(r["isError"], r)
    ats.contains(text(r), "limits.file_bytes")
    ats.equal(ats.find(home.brain_pid(), "ats-gateway"), [])
    home.write("good", b"good")
    ats.contains(mcp.text("box__send", f="good"), sha256(b"good"))
    # But for what a rule refuses it never came to a decision: no line of it.
    def events():
        return [x["event"] for x in audit(home)]
    ats.until(lambda: events() == ["refused"] * 3 + ["ordered", "ended"], "one call alone")


@ats.test("a call that is cancelled while its file is read starts nothing, nor one of a closed session")
def _(home):
    mcp = up(home, permissions={"ask": ["Read(slow)"]})
    home.write("slow", b"x")
    i = send(mcp, "box__send", f="slow")
    ats.equal(the_one(home).tool, "Read")      # a rule on Read is one on this, too
    mcp.notify("notifications/cancelled", {"requestId": i})
    ats.until(lambda: not waiting(home), "nothing waits")
    i = send(mcp, "box__send", f="slow")
    one = the_one(home)
    approve(home, one)
    ats.contains(text(mcp.answer(i)["result"]), sha256(b"x"))
    i = send(mcp, "box__send", f="slow")
    one = the_one(home)
    home.vault().ask("DENY", one[0], "private", "terminal")
    r = mcp.answer(i)["result"]
    ats.check(r["isError"], r)
    ats.contains(text(r), "private")
    many = [send(mcp, "box__send", f="slow") for _ in range(33)]
    ats.until(lambda: len(waiting(home)) == 32, "a session's share of them")
    ats.contains(text(mcp.answer(many[32])["result"]), "too many files")
    for i in many[:32]:
        mcp.notify("notifications/cancelled", {"requestId": i})
    ats.until(lambda: not waiting(home), "nothing waits")
    i = send(mcp, "box__send", f="slow")
    home.vault().ask("CLOSE_SESSION", the_one(home)[3])
    ats.check(mcp.answer(i).get("result", {"isError": True})["isError"])


@ats.test("an engine that ends while a file is read: it did not start, and is asked for again")
def _(home):
    mcp = up(home, permissions={"ask": ["Read(slow)"]})
    home.write("slow", b"x")
    i = send(mcp, "box__send", f="slow")
    first = the_one(home)
    engine, = ats.find(home.brain_pid(), "ats-engine")
    os.kill(engine, signal.SIGKILL)
    ats.wait_gone([engine], 10)
    ats.until(lambda: [w[0] for w in waiting(home)] not in ([], [first[0]]), "it is asked again")
    ats.until(lambda: len(waiting(home)) == 1, "once")
    one = the_one(home)
    approve(home, one)
    ats.contains(text(mcp.answer(i)["result"]), sha256(b"x"))
    ats.equal([x["event"] for x in audit(home) if x["tool"] == "box__send"][:1], ["ordered"])


@ats.test("a program in the sandbox gives a path of its own world, and no other one")
def _(home):
    mcp = up(home)
    home.write("client.py", shim_client.CLIENT)
    ats.until(lambda: "tools" in mcp.text("Bash", command="echo ${ATS_MCP_CONFIG:+tools}"),
              "the tools in the sandbox")
    token = os.path.join(home.dir, "token")
    asks = " ".join("""box__send '{"f": "%s"}'""" % path for path in ("made", "link", token))
    out = mcp.text("Bash", command="printf made-inside > made; ln -sf %s link; "
                                   "python3 client.py %s" % (token, asks))
    results = [json.loads(line)["result"] for line in out.strip().split("\n")]
    ats.equal([r.get("isError", False) for r in results], [False, True, True], out)
    ats.contains(text(results[0]), sha256(b"made-inside"))
    ats.missing(out, "s3cret-of-the-test")


ats.main()
