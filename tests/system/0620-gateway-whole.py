#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole way of a tool of the host: from a client, or a program in the sandbox, through engine,
vault, gateway and an upstream MCP server, and back."""
import hashlib
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import shim_client
import small_upstream

CALL = """
if name == "die":
    os._exit(1)
return "%s %s %s" % (name, json.dumps(args), os.environ.get("TOKEN"))
"""
SECRET = "s3cret-of-the-host"


def up(home, **more):
    if not os.path.exists(os.path.join(ats.BUILD, "ats-gateway")):
        ats.skip("no ats-gateway")
    server = small_upstream.write(home, "upstream", [
        small_upstream.tool(name, {"x": {}}, name == "look", ["x"])
        for name in ("look", "do", "die")], CALL)
    token = os.path.join(home.dir, "token")
    with open(os.open(token, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as f:
        f.write(SECRET + "\n")
    home.configure({"credentials": {"t": {"file": token}},
                    "gateways": {"up": {"kind": "mcp", "argv": [server],
                                        "credential": "t", "credential_env": "TOKEN"}}, **more})


def text(r):
    return "".join(c.get("text", "") for c in r["content"])


def approve(home, yes=True):
    """The one that waits, as a person would."""
    v = ats.Vault(home.vault_path)
    home.open_things.append(v)
    v.sock.send(v.pack("APPROVALS", 1, 1, "", "terminal"))
    seen = None
    while seen is None:
        m = v.recv()
        if m[0] == "APPROVAL":
            seen = m[2]
    w = ats.Vault(home.vault_path)
    home.open_things.append(w)
    if yes:
        w.ask("APPROVE", seen[0], hashlib.sha256(seen[6].encode()).hexdigest(), "terminal")
    else:
        w.ask("DENY", seen[0], "not today", "terminal")
    return seen


@ats.test("a client lists, reads, is asked for what changes things, and gets it when approved")
def _(home):
    up(home)
    mcp = home.mcp()
    mcp.initialize()
    names = [t["name"] for t in mcp.request("tools/list")["tools"] if "__" in t["name"]]
    ats.equal(names, ["up__die", "up__do", "up__look"])
    ats.equal(mcp.text("up__look", x=1), 'look {"x": 1} ***')
    i = mcp.send("tools/call", {"name": "up__do", "arguments": {"x": {"b": 1, "a": "\u00e4"}}})
    seen = approve(home)
    ats.equal(seen[5:7], ["up__do", '{"x":{"a":"\u00e4","b":1}}'])
    ats.equal(text(mcp.answer(i)["result"]), 'do {"x": {"a": "\\u00e4", "b": 1}} ***')
    i = mcp.send("tools/call", {"name": "up__do", "arguments": {"x": 2}})
    approve(home, False)
    r = mcp.answer(i)["result"]
    ats.check(r["isError"], r)
    ats.contains(text(r), "not today")
    ats.check(mcp.tool("up__do", {"y": 1})["isError"])
    with open(home.log_path, encoding="utf-8") as f:
        ats.check(SECRET not in f.read())


@ats.test("the upstream, the gateway and the engine die: answers say so, and the next calls work")
def _(home):
    up(home, permissions={"gateway_default": "allow"})
    mcp = home.mcp()
    mcp.initialize()
    mcp.request("tools/list")
    r = mcp.tool("up__die", {"x": 1})
    ats.check(r["isError"], r)
    ats.until(lambda: not mcp.tool("up__look", {"x": 2})["isError"], "its server again")
    gateway, = ats.find(home.brain_pid(), "ats-gateway")
    os.kill(gateway, signal.SIGKILL)
    ats.until(lambda: not mcp.tool("up__look", {"x": 3})["isError"], "its gateway again")
    engine, = ats.find(home.brain_pid(), "ats-engine")
    os.kill(engine, signal.SIGKILL)
    ats.contains(mcp.text("up__do", x=4), 'do {"x": 4}')


@ats.test("a call that waits for a person outlives the engine")
def _(home):
    up(home)
    mcp = home.mcp()
    mcp.initialize()
    mcp.request("tools/list")
    i = mcp.send("tools/call", {"name": "up__do", "arguments": {"x": 1}})
    v = ats.Vault(home.vault_path)
    home.open_things.append(v)
    v.sock.send(v.pack("APPROVALS", 1, 1, "", "terminal"))
    while v.recv()[0] != "APPROVAL":
        pass
    engine, = ats.find(home.brain_pid(), "ats-engine")
    os.kill(engine, signal.SIGKILL)
    ats.wait_gone([engine], 10)
    mcp.request("ping")
    approve(home)
    ats.contains(text(mcp.answer(i)["result"]), 'do {"x": 1}')


@ats.test("a program in the sandbox lists and calls them; what changes things waits for a person")
def _(home):
    up(home)
    mcp = home.mcp()
    mcp.initialize()
    mcp.request("tools/list")
    home.write("client.py", shim_client.CLIENT)
    ats.until(lambda: "tools" in mcp.text("Bash", command="echo ${ATS_MCP_CONFIG:+tools}"),
              "the tools in the sandbox")
    tools = json.loads(mcp.text("Bash", command="python3 client.py"))
    ats.equal([t["name"] for t in tools], ["up__die", "up__do", "up__look"])
    ask = """python3 client.py up__%s '{"x": 7}'"""
    r = json.loads(mcp.text("Bash", command=ask % "look"))["result"]
    ats.equal((r.get("isError", False), text(r)), (False, 'look {"x": 7} ***'))
    i = mcp.send("tools/call", {"name": "Bash", "arguments": {"command": ask % "do"}})
    seen = approve(home)
    ats.equal(seen[5], "up__do")
    r = json.loads(text(mcp.answer(i)["result"]))["result"]
    ats.equal((r.get("isError", False), text(r)), (False, 'do {"x": 7} ***'))


ats.main()
