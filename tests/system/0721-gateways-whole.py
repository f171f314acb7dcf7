#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tools of the host with all programs as they are: an MCP client, the engine, the vault, and
ats-gateway with a program of the user's and its credential."""
import contextlib
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import kills
import person
import small_upstream
import upstream

SECRET = "s3cret-of-the-test"
SCRIPT = """#!/bin/sh
read -r line
echo "in: $line"
echo "token: $TOKEN"
if test -n "$1"; then echo $$ >> "$1.ran"; exec cat "$1"; fi
"""
CALL = """
if args.get("t") == "die":
    os._exit(1)
return json.dumps(args) + os.environ["K"]
"""


def set_up(home, secret=SECRET):
    if not os.path.exists(ats.program("ats-gateway")):
        ats.skip("ats-gateway is not built")
    token = os.path.join(home.dir, "token")
    with open(token, "w", encoding="ascii") as f:
        os.fchmod(f.fileno(), 0o600)
        f.write(secret + "\n")
    script = os.path.join(home.dir, "say")
    with open(script, "w", encoding="ascii") as f:
        os.fchmod(f.fileno(), 0o755)
        f.write(SCRIPT)
    server = small_upstream.write(home, "server", [
        small_upstream.tool(name, {"t": {"type": "string"}}, name != "write.it", ["t"])
        for name in ("echo", "write.it", "hidden")], CALL)
    fifo = os.path.join(home.dir, "fifo")
    os.mkfifo(fifo, 0o600)
    text = {"type": "object", "properties": {"t": {"type": "string"}}, "required": ["t"]}
    home.configure({
        "credentials": {"tok": {"file": token}},
        "audit": {"arguments": True},
        "gateways": {"up": {"kind": "mcp", "argv": [server], "credential": "tok",
                            "credential_env": "K", "allow": ["echo", "write.it"]}, "box": {
            "kind": "command", "credential": "tok", "credential_env": "TOKEN", "tools": {
                "look": {"description": "Looks.", "input": text, "argv": [script],
                         "read_only": True},
                "change": {"description": "Changes.", "input": text, "argv": [script]},
                "wait": {"description": "Waits.", "input": text, "argv": [script, fifo],
                         "permission": "allow"},
                "never": {"description": "No.", "argv": [script], "permission": "deny"}}}}})
    mcp = home.mcp()
    mcp.initialize()
    return mcp, fifo


def text_of(answer):
    return answer["result"]["content"][0]["text"]


def call(mcp, name, **args):
    return mcp.send("tools/call", {"name": name, "arguments": args})


def approve(home, tool):
    ats.equal(person.approve(home).tool, tool)


@ats.test("a tool of the host is listed, called, and shows no credential")
def _(home):
    mcp, _ = set_up(home)
    tools = {t["name"]: t for t in mcp.answer(mcp.send("tools/list", {}))["result"]["tools"]}
    ats.check("Bash" in tools and "box__look" in tools, sorted(tools))
    ats.check("box__never" not in tools, sorted(tools))
    ats.equal(tools["box__look"]["annotations"]["readOnlyHint"], True)
    out = mcp.answer(call(mcp, "box__look", t="x"))
    ats.check(not out["result"].get("isError"), out)
    ats.contains(text_of(out), 'in: {"t":"x"}')
    ats.contains(text_of(out), "token: ***")
    ats.missing(json.dumps(out), SECRET)
    out = mcp.answer(call(mcp, "box__never"))
    ats.check(out["result"]["isError"], out)
    ats.contains(text_of(out), "Refused by policy")
    with open(home.log_path, encoding="utf-8") as f:
        ats.missing(f.read(), SECRET)


@ats.test("the audit log has lines of JSON, whatever the arguments and a credential have in common")
def _(home):
    mcp, _ = set_up(home, "n8765432")
    for text in ("\n8765432", "n8765432", "x"):
        ats.check("result" in mcp.answer(call(mcp, "box__look", t=text)), text)
    ats.equal([x["arguments"] for x in person.audit(home) if x["event"] == "ordered"],
              ["***", {"t": "***"}, {"t": "x"}])


@ats.test("a call that a person must see, also over the end of the engine")
def _(home):
    mcp, _ = set_up(home)
    first = call(mcp, "box__change", t="one")
    approve(home, "box__change")
    ats.contains(text_of(mcp.answer(first)), 'in: {"t":"one"}')
    second = call(mcp, "box__change", t="two")
    ats.until(lambda: person.waiting(home), "it waits")
    engine = kills.of_role(home, "engine")[-1]
    os.kill(engine, signal.SIGKILL)
    ats.equal(ats.wait_gone([engine], 30), [], "the engine")
    approve(home, "box__change")
    ats.contains(text_of(mcp.answer(second)), 'in: {"t":"two"}')
    third = call(mcp, "box__change", t="three")
    ats.until(lambda: person.waiting(home), "it waits")
    home.vault().ask("DENY", person.waiting(home)[0][0], "no", "terminal")
    out = mcp.answer(third)
    ats.check(out["result"]["isError"])
    ats.contains(text_of(out), "A person denied it: no.")


@ats.test("approved while there is no engine: it runs once, is logged first, and is answered")
def _(home):
    mcp, _ = set_up(home)
    for text in ("one", "two"):
        waits = call(mcp, "box__change", t=text)
        ats.until(lambda: person.waiting(home), "it waits")
        os.kill(kills.of_role(home, "engine")[-1], signal.SIGKILL)
        approve(home, "box__change")
        answer = text_of(mcp.answer(waits))
        events = [x["event"] for x in person.audit(home) if x["arguments"] == {"t": text}]
        # The old engine may not be missed yet: then it is the one that the call ends with.
        if "was not started" not in answer:
            ats.contains(answer, 'in: {"t":"%s"}' % text)
            ats.equal(events[:3], ["asked", "approved", "ordered"])


@ats.test("the end of a gateway: what ran in it is unknown, and the next call runs")
def _(home):
    mcp, fifo = set_up(home)
    one = call(mcp, "box__wait", t="x")
    ats.until(lambda: os.path.exists(fifo + ".ran"), "it runs")
    gateway = home.pids("ats-gateway")
    ats.check(gateway, "no gateway")
    for pid in gateway:
        os.kill(pid, signal.SIGKILL)
    out = mcp.answer(one)
    ats.check(out["result"]["isError"], out)
    ats.matches(text_of(out), "unknown|gateway ended")
    # Who asks before the vault has seen its end is told so, and asks again.
    text = text_of(mcp.answer(call(mcp, "box__look", t="y")))
    while "It can be called again" in text:
        text = text_of(mcp.answer(call(mcp, "box__look", t="y")))
    ats.contains(text, 'in: {"t":"y"}')
    ats.until(lambda: person.audit(home)[-1].get("outcome") == "done", "the end is in the log")
    lines = person.audit(home)
    # What only reads may have met the gateway that was ending, and was asked for again.
    ats.equal([(x["event"], x.get("outcome")) for x in lines if x["tool"] == "box__wait"],
              [("ordered", None), ("ended", "unknown")])
    ats.equal(lines[0]["arguments"], {"t": "x"})


@ats.test("a token that has expired is fetched anew, and the call that met that is done once")
def _(home):
    if not os.path.exists(ats.program("ats-gateway")):
        ats.skip("ats-gateway is not built")
    now = os.path.join(home.dir, "now")
    says = home.write("fetch", "#!/bin/sh\nexec cat %s\n" % now, 0o755)
    with contextlib.closing(upstream.Upstream("first-token")) as up:
        with open(now, "w", encoding="ascii") as f:
            f.write("first-token\n")
        home.configure({"credentials": {"c": {"command": [says]}}, "gateways": {"web": {
            "kind": "http", "url": up.url, "allow_private": True, "credential": "c", "tools": {
                "post": {"description": "d", "input": {"type": "object", "properties": {
                    "t": {"type": "string"}}}, "method": "POST", "path": "/echo", "body": "json",
                    "permission": "allow"}}}}})
        mcp = home.mcp()
        mcp.initialize()
        ats.contains(mcp.text("web__post", t="one"), "one")
        up.password = "second-token"
        with open(now, "w", encoding="ascii") as f:
            f.write("second-token\n")
        said = mcp.text("web__post", t="two, not second-token")
        ats.contains(said, "two, not ***")
        ats.equal(([x[2] for x in up.asked], up.refused),
                  ([b'{"t":"one"}', b'{"t":"two, not second-token"}'], 1))
        up.password = "third-token"
        r = mcp.tool("web__post", {"t": "three"})
        ats.check(r["isError"], r)
        ats.contains(r["content"][0]["text"], "does not accept the credential")


@ats.test("tools of an MCP server: listed, asked about, called; its end is no end of brain")
def _(home):
    mcp, _ = set_up(home)

    def names():
        return {t["name"] for t in mcp.answer(mcp.send("tools/list", {}))["result"]["tools"]}
    ats.until(lambda: "up__echo" in names(), "its tools")
    ats.equal({n for n in names() if n.startswith("up__")}, {"up__echo", "up__write_it"})
    ats.equal(text_of(mcp.answer(call(mcp, "up__echo", t="a"))), '{"t": "a"}***')
    waits = call(mcp, "up__write_it", t="b")
    approve(home, "up__write_it")
    ats.equal(text_of(mcp.answer(waits)), '{"t": "b"}***')
    ats.check(mcp.answer(call(mcp, "up__echo", t="die"))["result"]["isError"])
    ats.equal(text_of(mcp.answer(call(mcp, "up__echo", t="c"))), '{"t": "c"}***')


ats.main()
