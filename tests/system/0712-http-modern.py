#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MCP 2026-07-28 over HTTP with the real programs: requests that stand alone, what their head and
their body must say alike, streams whose end takes a request back, and many clients at once."""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import http_client
import small_upstream
from http_client import KEY, MODERN, Client, Modern, Server

SUB = KEY + "subscriptionId"


def serve(home, *args):
    home.start()
    return Server(home, *args)


def refused(a, status, code):
    ats.check((a.status, a.json()["error"]["code"]) == (status, code), (a.status, a.body))
    return a.json()


@ats.test("requests stand alone, and share a session by the name in their URL")
def _(home):
    server = serve(home)
    c = Modern(server)
    a = c.ask("server/discover")
    r = a.json()["result"]
    ats.equal(r["supportedVersions"], [MODERN])
    ats.check("mcp-session-id" not in a.fields, a.fields)
    tools = c.ask("tools/list").json()["result"]
    ats.check({"Read", "Bash"} <= {t["name"] for t in tools["tools"]}, tools)
    ats.check(tools["cacheScope"] == "private" and tools["resultType"] == "complete", tools)
    home.write("f.txt", "hello from a file\n")
    ats.check("hello from a file" in c.text("Read", file_path="f.txt"), "Read")
    for id in ("x", 7, 1.5, "h-1", ""):
        a = c.ask("tools/call", {"name": "Bash", "arguments": {"command": "echo"}}, id=id)
        ats.equal(a.json()["id"], id)
    c.text("Bash", command="mkdir -p d; cd d")
    ats.check(Modern(server).text("Bash", command="pwd").strip().endswith("/d"), "the same")
    other = Modern(server, "other")
    ats.check(not other.text("Bash", command="pwd").strip().endswith("/d"), "another name")
    legacy = Client(server)
    ats.check(not legacy.text("Bash", command="pwd").strip().endswith("/d"), "another era")
    server.again()
    ats.check(Modern(server).text("Bash", command="pwd").strip().endswith("/d"), "after a restart")
    for bad in ("?session=", "?session=a%20b", "?session=a&session=b", "?session=" + "a" * 65):
        a = server.connect().ask(path="/mcp" + bad, body={})
        ats.check(a.status == 400, (bad, a.status))
    ats.check(server.connect().ask(path="/mcp?x=1&session=a.b-c_9&y", body={}).status == 400 and
              Modern(server, "a.b-c_9&x=").ask("tools/list").status == 200, "others stay")


@ats.test("head and body say the same, or the request is refused by status and code")
def _(home):
    c = Modern(serve(home))
    read = {"name": "Read", "arguments": {"file_path": "f.txt"}}
    home.write("f.txt", "x\n")
    rows = [
        (-32020, dict(MCP_Protocol_Version=None)), (-32020, dict(MCP_Protocol_Version="2025-11-25")),
        (-32020, dict(Mcp_Method=None)), (-32020, dict(Mcp_Method="TOOLS/CALL")),
        (-32020, dict(Mcp_Method="tools/list")), (-32020, dict(Mcp_Name=None)),
        (-32020, dict(Mcp_Name="read")), (-32020, dict(Mcp_Name="=?base64?UmVhZA=?=")),
        (-32602, dict(meta={KEY + "protocolVersion": None})),
        (-32602, dict(meta={KEY + "clientCapabilities": None})),
        (-32602, dict(meta={KEY + "clientCapabilities": 1})),
        (-32020, dict(meta={KEY + "protocolVersion": "2099-01-01"})),
        (-32602, dict(meta={"ats/headers": {}})),
        (0, {}), (0, dict(Mcp_Name="=?base64?UmVhZA==?=")), (0, dict(Mcp_Name="  Read ")),
        (0, dict(meta={KEY + "clientInfo": None})), (0, dict(Mcp_Param_Any="x")),
        (0, dict(session="a" * 64)),
    ]
    for code, kw in rows:
        fields = {k.replace("_", "-") if k != "meta" and k != "session" else k: v
                  for k, v in kw.items()}
        a = c.ask("tools/call", read, **fields)
        got = a.json().get("error", {}).get("code", 0)
        ats.check(got == code and a.status == (400 if code else 200), (kw, a.status, a.body))
        ats.equal(a.json()["id"], c.last)
    e = refused(c.ask("server/discover", meta={KEY + "protocolVersion": "v9"},
                      **{"MCP-Protocol-Version": "v9"}), 400, -32022)
    ats.equal(e["error"]["data"], {"supported": [MODERN], "requested": "v9"})
    for method in ("initialize", "ping", "logging/setLevel", "no/such", "prompts/list"):
        refused(c.ask(method), 404, -32601)
    a = c.ask("tools/call", {"name": "NoSuch"})
    ats.check(a.status == 200 and a.json()["error"]["code"] == -32602, a.body)
    conn = c.server.connect()
    ok = {"MCP-Protocol-Version": MODERN}
    ats.check(conn.ask("GET", **ok).status == 405, "GET")
    conn = c.server.connect()
    ats.check(conn.ask("DELETE", **ok).status == 405, "DELETE")
    conn = c.server.connect()
    ats.check(conn.ask(body={"jsonrpc": "2.0", "method": "notifications/cancelled",
                             "params": {"requestId": 1}}, **ok).status == 202, "a notification")
    refused(conn.ask(body={"jsonrpc": "2.0", "id": 1, "result": {}}, **ok), 400, -32600)
    refused(conn.ask(body=[c.message("tools/list", {})], **ok), 400, -32600)
    refused(c.ask("subscriptions/listen", {"notifications": {}}, Accept="application/json"),
            406, -32600)


@ats.test("progress comes in the answer's stream under the client's own token and id")
def _(home):
    server = serve(home)
    a, b = Modern(server), Modern(server)
    os.mkfifo(os.path.join(home.ws, "go"))
    os.chmod(os.path.join(home.ws, "go"), 0o666)
    for c, word in ((a, "one"), (b, "two")):
        c.send("tools/call", {"name": "Bash", "arguments": {
            "command": "echo %s; read x < go; echo end-%s" % (word, word)}},
            meta={"progressToken": "t"}, id="same")
        status, fields = c.conn.head()
        ats.check(status == 200 and fields["content-type"] == "text/event-stream", fields)
        event = c.conn.event()
        ats.check(event[0] is None, "an event id, where nothing is resumed")
        p = json.loads(event[1])
        ats.check(p["params"]["progressToken"] == "t" and word in json.dumps(p), p)
    with open(os.path.join(home.ws, "go"), "w", encoding="ascii") as f:
        f.write("\n\n")
    for c, word in ((a, "one"), (b, "two")):
        got = []
        while (event := c.conn.event()) is not None:
            got.append(json.loads(event[1]))
        ats.check(got[-1]["id"] == "same" and "end-" + word in json.dumps(got[-1]), got)


@ats.test("closing the stream, or the connection before it, takes the call back")
def _(home):
    server = serve(home)
    for stream in (True, False):
        c = Modern(server)
        home.write("pid", "")
        os.chmod(os.path.join(home.ws, "pid"), 0o666)
        c.send("tools/call", {"name": "Bash", "arguments": {
            "command": "echo begun; echo $$ > pid; exec sleep 1000"}},
            meta={"progressToken": 1} if stream else {})
        if stream:
            ats.check(c.conn.head()[0] == 200 and c.conn.event() is not None, "a stream")
        ats.until(lambda: home.read("pid").strip(), "the command runs")
        ats.until(lambda: home.pids("sleep"), "it is there")
        c.close()
        ats.until(lambda: not home.pids("sleep"), "the command is ended")


@ats.test("a subscription tells of a changed list, also by a new engine; its end is heard")
def _(home):
    path = small_upstream.write(home, "upstream", [small_upstream.tool(
        "where", {"region": {"type": "string", "x-mcp-header": "Region"}}, True)],
        "return json.dumps(args)")
    home.configure({"gateways": {"up": {"kind": "mcp", "argv": [path]}}})
    server = serve(home)
    listener, c = Modern(server), Modern(server)
    listener.send("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, id="L")
    ats.check(listener.conn.head()[0] == 200, "a stream")
    ack = json.loads(listener.conn.event()[1])
    ats.equal(ack["method"], "notifications/subscriptions/acknowledged")
    ats.equal(ack["params"]["_meta"][SUB], "L")
    ats.check("up__where" in json.dumps(c.ask("tools/list").json()), "the gateway's tool")
    change = json.loads(listener.conn.event()[1])
    ats.equal((change["method"], change["params"]["_meta"][SUB]),
              ("notifications/tools/list_changed", "L"))
    # what the tool's schema has mirrored into the head
    where = {"name": "up__where", "arguments": {"region": "us"}}
    ats.check("us" in json.dumps(c.ask("tools/call", where, **{"Mcp-Param-Region": "us"}).json()
                                 ["result"]), "the call")
    for value in (None, "eu", "US"):
        refused(c.ask("tools/call", where, **{"Mcp-Param-Region": value}), 400, -32020)
    engine = home.pids("ats-engine")[0]
    os.kill(engine, signal.SIGKILL)
    ats.until(lambda: home.pids("ats-engine") not in ([], [engine]), "a new engine runs")
    ats.check("up__where" in json.dumps(c.ask("tools/list").json()), "the new engine's list")
    ats.equal(json.loads(listener.conn.event()[1])["method"], "notifications/tools/list_changed")
    listener.close()
    ats.check(c.ask("tools/list").status == 200, "the others go on")


@ats.test("many clients at once get each their own answer, whatever their ids")
def _(home):
    server = serve(home)

    def one(i):
        c = Modern(server)
        for k in range(8):
            word = "%d-%d" % (i, k)
            ats.check(c.text("Bash", command="echo " + word).strip() == word, "another's answer")
        c.close()
    http_client.together(16, one)


if __name__ == "__main__":
    ats.main()
