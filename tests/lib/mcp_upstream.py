#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An MCP server for tests of ats-gateway, over stdio: what it does is told by its first argument,
words with commas between them."""
import json
import os
import sys
import threading
import time

MODE = set((sys.argv[1] if len(sys.argv) > 1 else "").split(","))
PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
       "rkJggg==")
_lock = threading.Lock()
cancelled = []
answers = []


def say(obj):
    text = obj if isinstance(obj, str) else json.dumps(obj)
    with _lock:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def tools():
    names = ["echo", "fail", "rpc_error", "content", "structured", "progress", "hang", "die",
             "ask", "slow", "big", "huge", "cancelled", "env", "grow", "bad_result", "dup", "a.b",
             "link", "cuts", "long_error"]
    out = [{"name": n, "description": "Tool " + n, "inputSchema": {"type": "object"}}
           for n in names]
    out[0]["annotations"] = {"readOnlyHint": True, "title": "Echo", "evil": {"x": 1}}
    out[0]["_meta"] = {"private": "x"}
    if "leaky" in MODE:
        token = os.environ["TOKEN"]
        out[0]["description"] = "logs in as " + token
        out[1]["inputSchema"]["properties"] = {"a": {"default": token}}
    if "odd" in MODE:
        out += [{"name": "a_b", "inputSchema": {"type": "object"}},
                {"name": "noschema"}, {"name": "arr", "inputSchema": []},
                {"name": "x" * 100, "inputSchema": {}}, {"name": "", "inputSchema": {}},
                {"name": "large", "inputSchema": {}, "description": "y" * 40000}, {"name": 5}]
    if "many" in MODE:
        out += [{"name": "t%d" % i, "inputSchema": {}} for i in range(400)]
    if os.path.exists(MARK) and "grow" in MODE:
        out.append({"name": "grown", "inputSchema": {}})
    return out


MARK = os.environ.get("MARK", "/nonexistent")


def content():
    return [
        {"type": "text", "text": "one \u00e9"},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
        {"type": "image", "data": "!", "mimeType": "image/png"},
        {"type": "image", "data": PNG, "mimeType": "image/tiff"},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "x://y", "text": "inner"}},
        {"type": "resource", "resource": {"uri": "x://z", "blob": "AAAA",
                                          "mimeType": "application/pdf"}},
        {"type": "resource_link", "uri": "f://g", "name": "G", "description": "d"},
        {"type": "new", "x": 1}, {"type": "text", "text": "nul\u0000"},
    ]


def call(i, params):
    name, args = params["name"], params.get("arguments", {})
    token = params.get("_meta", {}).get("progressToken")

    def result(blocks, **more):
        say({"jsonrpc": "2.0", "id": i, "result": {
            "content": [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks],
            **more}})

    def progress(n, text):
        say({"jsonrpc": "2.0", "method": "notifications/progress",
             "params": {"progressToken": token, "progress": n, "message": text}})

    if name == "echo":
        result([json.dumps(args)], structuredContent={"not": "shown"})
    elif name == "a.b":
        result(["dotted"])
    elif name == "fail":
        result(["it failed"], isError=True)
    elif name == "rpc_error":
        say({"jsonrpc": "2.0", "id": i, "error": {"code": -32602, "message": "bad argument"}})
    elif name == "content":
        result(content())
    elif name == "cuts":
        token, n = os.environ.get("TOKEN", ""), args.get("n", 0)
        result([{"type": "resource_link", "uri": "u" * (490 - n) + token,
                 "name": "n" * (190 - n) + token, "description": "d" * (240 - n) + token},
                {"type": "image", "data": PNG, "mimeType": "m" * (90 - n) + token},
                {"type": "resource", "resource": {"uri": "v" * (490 - n) + token, "text": "x"}}])
    elif name == "long_error":
        say({"jsonrpc": "2.0", "id": i, "error": {
            "code": 1, "message": "m" * (690 - args.get("n", 0)) + os.environ.get("TOKEN", "")}})
    elif name == "structured":
        say({"jsonrpc": "2.0", "id": i, "result": {"structuredContent": {"a": [1]}}})
    elif name == "progress":
        progress(3, "third " + os.environ.get("TOKEN", ""))
        progress("x", None)
        result(["done"])
    elif name == "hang":
        progress(1, "hanging")
    elif name == "slow":
        threading.Timer(0.3, result, [["slow %s" % args.get("n")]]).start()
    elif name == "die":
        sys.stderr.write("last words\n")
        sys.stderr.flush()
        os._exit(7)
    elif name == "ask":
        for n, method in enumerate(("ping", "sampling/createMessage", "elicitation/create",
                                    "roots/list")):
            say({"jsonrpc": "2.0", "id": "s%d" % n, "method": method, "params": {}})
        threading.Thread(target=lambda: (wait_answers(), result([json.dumps(
            {a["id"]: "ok" if "result" in a else a["error"]["code"] for a in answers})]))).start()
    elif name == "big":
        result(["z" * 300000])
    elif name == "huge":
        say("{\"jsonrpc\": \"" + "z" * (17 << 20))
    elif name == "cancelled":
        result([json.dumps(cancelled)])
    elif name == "env":
        result([json.dumps(dict(os.environ))])
    elif name == "grow":
        with open(MARK, "w", encoding="ascii"):
            pass
        for _ in range(50):
            say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        result(["ok"])
    elif name == "bad_result":
        say({"jsonrpc": "2.0", "id": i, "result": {"content": {"no": "array"}}})
    elif name == "dup":
        result(["first"])
        result(["second"])
        say({"jsonrpc": "2.0", "id": 99999, "result": {}})


def wait_answers():
    while len(answers) < 4:
        time.sleep(0.005)


def on_message(m):
    method = m.get("method")
    if method == "initialize":
        if "silent" in MODE:
            return
        if "late" in MODE:
            time.sleep(0.2)
        version = "2024-11-05" if "old" in MODE else \
            "1999-01-01" if "ancient" in MODE else m["params"]["protocolVersion"]
        say({"jsonrpc": "2.0", "id": m["id"], "result": {
            "protocolVersion": version, "serverInfo": {"name": "x", "version": "1"},
            "capabilities": {} if "toolless" in MODE else {"tools": {"listChanged": True}}}})
    elif method == "tools/list":
        all_tools = tools()
        at = int(m.get("params", {}).get("cursor", 0))
        size = 5 if "pages" in MODE else 1000
        r = {"tools": all_tools[at:at + size]}
        if at + size < len(all_tools):
            r["nextCursor"] = str(at + size)
        if "loop" in MODE:
            r = {"tools": [], "nextCursor": "0"}
        say({"jsonrpc": "2.0", "id": m["id"], "result": r})
    elif method == "tools/call":
        call(m["id"], m["params"])
    elif method == "notifications/cancelled":
        cancelled.append(m["params"]["requestId"])
    elif method is None:
        answers.append(m)


if __name__ == "__main__":
    if "dead" in MODE:
        sys.stderr.write("cannot start: %s\n" % os.environ.get("TOKEN", ""))
        sys.exit(1)
    if "once" in MODE:
        # Works at its first start, and not again.
        if os.path.exists(MARK):
            sys.exit(2)
        with open(MARK, "w", encoding="ascii"):
            pass
    if "junk" in MODE:
        for line in ("hello", "[1,2", "{}", "\"x\"", "[]", "[{\"jsonrpc\":\"2.0\",\"id\":null}]", ""):
            say(line)
    if "flood" in MODE:
        while True:
            say("junk")
    for line in sys.stdin:
        on_message(json.loads(line))
