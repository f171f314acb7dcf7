#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ats-hands shim against a relay socket of the test's: each line that a client may send, and each
thing that the host may do."""
import base64
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from shim import INITIALIZE, PROGRAM, SCHEMA, WIRE, Lines, Shim, text


@ats.test("initialize answers a version that it knows with that, another with its newest")
def _(home):
    shim = Shim(home)
    for i, v in enumerate(("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")):
        shim.send("initialize", i, {**INITIALIZE, "protocolVersion": v})
        ats.equal(shim.answer(i)["result"]["protocolVersion"], v)
    for i, p in enumerate(({"protocolVersion": "1999-01-01"}, {"protocolVersion": 7}, {}, None)):
        shim.send("initialize", i, p)
        r = shim.answer(i)["result"]
        ats.equal((r["protocolVersion"], r["capabilities"], r["serverInfo"]["name"]),
                  ("2025-11-25", {"tools": {"listChanged": True}}, "ats-tools"))
    ats.equal(shim.end(), "")


@ats.test("the list has names, descriptions, schemas, and nothing else")
def _(home):
    shim = Shim(home, greet=False)
    shim.initialize()
    shim.send("tools/list", "l", {})
    anything = {"type": "object", "properties": {}, "additionalProperties": True}
    ats.equal(shim.answer("l"), {"result": {"tools": [
        {"name": "gh__issue", "description": "Makes an \"issue\"\n", "inputSchema": SCHEMA},
        {"name": "gh__list", "inputSchema": {"type": "object"}},
        {"name": "bare", "inputSchema": anything}]}})
    shim.end()


@ats.test("lines that are wrong have their codes, and the next one is answered")
def _(home):
    shim = Shim(home)
    null = None
    for line, ident, code in (
            ("{", null, -32700), ("\xff", null, -32700), ("{\"a\":1,\"a\":2}", null, -32700),
            ("[" * 40 + "]" * 40, null, -32700), ("NaN", null, -32700),
            ("null", null, -32600), ("[]", null, -32600), ("7", null, -32600),
            ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", null, -32600),
            ("{}", null, -32600), ("{\"jsonrpc\":\"2.0\",\"id\":5}", 5, -32600),
            ("{\"jsonrpc\":\"1.0\",\"id\":5,\"method\":\"ping\"}", 5, -32600),
            ("{\"id\":5,\"method\":\"ping\"}", 5, -32600),
            ("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":7}", 5, -32600),
            ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", null, -32600),
            ("{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", null, -32600),
            ("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"ping\"}" % ("x" * 1100), null,
             -32600),
            ("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\",\"params\":[]}", 5, -32602),
            ("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"resources/list\"}", 5, -32601),
            ("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"server/discover\"}", 5, -32601),
            ("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"%s\"}" % ("m" * 300), 5, -32601),
            ("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"notifications/initialized\"}", 5,
             -32601)):
        shim.raw(line.encode("latin-1"), "\n")
        e = shim.answer(ident)["error"]
        ats.equal(e["code"], code, line[:60])
        ats.check(e["message"], line)
    shim.raw("\n", "  \r\n", "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}\r\n")
    ats.equal(shim.answer(0), {"result": {}})
    shim.end()


@ats.test("notifications and answers to nothing are not answered")
def _(home):
    shim = Shim(home)
    shim.send("notifications/unknown")
    shim.send("notifications/cancelled", None, {"requestId": 99})
    shim.send("notifications/cancelled")
    shim.send("ping")
    shim.send("tools/call", None, {"name": "bare"})
    shim.raw("{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}\n",
             "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":1,\"message\":\"\"}}\n")
    shim.ping()
    shim.end()


@ats.test("ids are given back as they came")
def _(home):
    shim = Shim(home)
    for ident in ("0", "-1", "\"\"", "\"0\"", "1.5", "\"\\u00e9\\n\"", "9007199254740993"):
        shim.raw("{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}\n" % ident)
        shim.answer(json.loads(ident))
    shim.end()


@ats.test("a line over 16 MiB is refused, and the next one answered")
def _(home):
    shim = Shim(home)
    shim.raw(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\"",
             b"x" * (17 << 20), b"\"}}\n")
    ats.equal(shim.answer(None)["error"]["code"], -32700)
    shim.ping()
    shim.end()


@ats.test("a call goes to the host with its session, and its result comes back")
def _(home):
    shim = Shim(home)
    shim.initialize()
    shim.call(0, "gh__issue", {"text": "a\u00e9\n", "n": 1e2})
    q = shim.request()
    ats.equal((q.json["name"], q.json["input"], q.json["session"]),
              ("gh__issue", {"text": "a\u00e9\n", "n": 100.0}, "s-000000000001"))
    ats.check(q.json["key"] and "deadline_ms" not in q.json and "progress" not in q.json, q)
    shim.result(q.call, "done \u2713\n".encode())
    ats.equal(shim.answer(0), text("done \u2713\n"))
    shim.call("s", "bare")
    q = shim.request()
    ats.equal(q.json["input"], {})
    shim.result(q.call)
    ats.equal(shim.answer("s"), text(""))
    shim.end()


@ats.test("without a session none is named")
def _(home):
    for session in (None, "", "s" * 40):
        shim = Shim(home, session=session)
        shim.call(1, "bare")
        ats.check("session" not in shim.request().json)
        shim.end()
        shim.close()


@ats.test("what fails is an error with its reason, never an empty success")
def _(home):
    shim = Shim(home)
    for i, (fields, payload, want) in enumerate((
            ({"is_error": True, "code": "denied"}, b"The user said no.", "The user said no."),
            ({"is_error": True, "code": "denied"}, b"", "refused by policy"),
            ({"is_error": True}, b"", "the tool failed, and the host did not say why"),
            ({"outcome": "not_started"}, b"later", "later"),
            ({"outcome": "unknown", "is_error": True}, b"lost", "lost"))):
        shim.call(i, "bare", {})
        shim.result(shim.request().call, payload, **fields)
        ats.equal(shim.answer(i), text(want, isError=True))
    shim.end()


@ats.test("text and images keep their order; parts that do not fit are an error")
def _(home):
    shim = Shim(home)
    shim.call(1, "bare", {})
    shim.result(shim.request().call, b"ab\xff\x89PNGz", blocks=[
        {"type": "text", "len": 3}, {"type": "image", "mime": "image/png", "len": 4},
        {"type": "text", "len": 1}])
    ats.equal(shim.answer(1), {"result": {"content": [
        {"type": "text", "text": "ab\ufffd"},
        {"type": "image", "data": base64.b64encode(b"\x89PNG").decode(), "mimeType": "image/png"},
        {"type": "text", "text": "z"}]}})
    for blocks in ([{"type": "text", "len": 9}], [{"type": "text", "len": 1}], [{"type": "text"}],
                   [{"type": "image", "len": 3}], [{"type": "odd", "len": 3}], [7]):
        shim.call(2, "bare", {})
        shim.result(shim.request().call, b"abc", blocks=blocks)
        r = shim.answer(2)["result"]
        ats.check(r["isError"] and "cannot be shown" in r["content"][0]["text"], r)
    shim.call(3, "bare", {})
    shim.result(shim.request().call, b"x" * (3 << 20))
    ats.equal(len(shim.answer(3)["result"]["content"][0]["text"]), 3 << 20)
    shim.end()


@ats.test("a wrong call is refused without asking the host")
def _(home):
    shim = Shim(home)
    for params, code in (({}, -32602), ({"name": 7}, -32602), ({"name": "nope"}, -32602),
                         ({"name": "n" * 300}, -32602), ({"name": "a\0b"}, -32602),
                         ({"name": "bare", "arguments": []}, -32602),
                         ({"name": "bare", "arguments": None}, -32602),
                         ({"name": "bare", "arguments": "x"}, -32602)):
        shim.send("tools/call", 1, params)
        ats.equal(shim.answer(1)["error"]["code"], code, params)
    shim.send("tools/call", 1)
    ats.equal(shim.answer(1)["error"]["code"], -32602)
    shim.call(2, "bare", {"x": "y" * (1 << 20)})
    r = shim.answer(2)["result"]
    ats.check(r["isError"] and "1 MiB" in r["content"][0]["text"], r)
    shim.call(3, "bare")
    q = shim.request()
    ats.equal(q.json["input"], {})
    shim.call(3, "bare")
    ats.equal(shim.answer(3)["error"]["code"], -32600)
    shim.result(q.call, b"one")
    ats.equal(shim.answer(3), text("one"))
    shim.end()


@ats.test("calls run side by side; one more than 64 is told so")
def _(home):
    shim = Shim(home)
    for i in range(64):
        shim.call(i, "gh__list", {"i": i})
    ids = {}
    for _ in range(64):
        q = shim.request()
        ids[q.json["input"]["i"]] = q.call
    shim.call("more", "gh__list", {})
    ats.contains(shim.answer("more")["result"]["content"][0]["text"], "not started")
    for i in reversed(range(64)):
        shim.result(ids[i], b"%d" % i)
    for i in reversed(range(64)):
        ats.equal(shim.answer(i), text(str(i)))
    shim.end()


@ats.test("cancelling reaches the host, and the client hears no more of it")
def _(home):
    shim = Shim(home)
    shim.call("c", "bare")
    q = shim.request()
    shim.send("notifications/cancelled", None, {"requestId": "c", "reason": "x"})
    ats.equal(shim.relay.expect("control.cancel", call=q.call).json, {"why": "cancelled"})
    shim.call("c", "bare")      # the id is free again
    again = shim.request()
    shim.result(q.call, b"late", is_error=True)
    shim.result(again.call, b"second")
    ats.equal(shim.answer("c"), text("second"))
    shim.end()


@ats.test("progress goes to who asked for it, and counts up")
def _(home):
    shim = Shim(home)
    shim.call(1, "bare", {}, _meta={"progressToken": "t"})
    shim.call(2, "bare", {}, _meta={"progressToken": {"no": 1}})
    a, b = shim.request(), shim.request()
    ats.equal((a.json.get("progress"), b.json.get("progress")), (True, None))
    for q in (b, a, a):
        shim.relay.send("event.progress", q.call, {"message": "waits for a person", "done": 7})
    shim.relay.send("event.progress", 12345, {"message": "of nothing"})
    shim.result(a.call)
    for n in (1, 2):
        ats.equal(shim.line(), {"method": "notifications/progress", "params": {
            "progressToken": "t", "progress": n, "message": "waits for a person"}})
    ats.equal(shim.answer(1), text(""))
    shim.end()


@ats.test("other tools: the client hears of it once, and gets the new list")
def _(home):
    shim = Shim(home)
    shim.initialize()
    shim.ping()
    shim.relay.send("control.tools", 0, {"tools": WIRE})
    shim.relay.send("control.tools", 0, {"tools": WIRE[:1]})
    ats.equal(shim.line(), {"method": "notifications/tools/list_changed"})
    shim.send("tools/list", 1)
    ats.equal([t["name"] for t in shim.answer(1)["result"]["tools"]], ["gh__issue"])
    shim.relay.send("control.tools", 0, {"tools": []})
    ats.equal(shim.line(), {"method": "notifications/tools/list_changed"})
    shim.call(2, "gh__issue", {})
    ats.equal(shim.answer(2)["error"]["code"], -32602)
    shim.end()


@ats.test("a lost socket fails what was under way, is connected again, and told")
def _(home):
    shim = Shim(home)
    shim.initialize()
    shim.ping()
    shim.call(1, "bare")
    shim.request()
    shim.relay.close()
    r = shim.line()
    ats.check(r["result"]["isError"] and "not known" in r["result"]["content"][0]["text"], r)
    shim.relay = shim.accept()
    shim.relay.send("control.tools", 0, {"tools": WIRE})
    ats.equal(shim.line(), {"method": "notifications/tools/list_changed"})
    shim.call(2, "bare")
    shim.result(shim.request().call, b"again")
    ats.equal(shim.answer(2), text("again"))
    shim.listener.close()
    shim.relay.close()
    shim.call(3, "bare")
    r = shim.line()["result"]
    ats.check(r["isError"], r)
    shim.end()


@ats.test("junk on the socket ends that connection only")
def _(home):
    for junk in (b"\xff" * 64, ats.Link.pack("call.tool", 1, {}),
                 ats.Link.pack("result", 1, {"outcome": "done", "odd": 1}),
                 ats.Link.pack("control.tools", 0, {"tools": [7]}),
                 ats.Link.pack("control.ping", 0, {"seq": 1}), b"\0" * 19):
        shim = Shim(home, greet=False)
        shim.relay.sock.sendall(junk)
        shim.relay.sock.shutdown(socket.SHUT_WR)
        shim.relay = shim.accept()
        shim.ping()
        shim.end()
        shim.close()


@ats.test("it ends at the end of stdin, TERM and HUP, with calls under way")
def _(home):
    for how in (None, signal.SIGTERM, signal.SIGHUP):
        shim = Shim(home)
        shim.call(1, "bare")
        shim.request()
        if how is None:
            ats.equal(shim.end(), "")
        else:
            shim.proc.send_signal(how)
            ats.equal(shim.proc.wait(timeout=ats.TIMEOUT), 0)
        ats.equal(shim.relay.recv(), None)
        shim.close()


@ats.test("it ends with its parent, while others hold its pipes")
def _(home):
    shim = Shim(home)
    code = ("import subprocess, sys, os\n"
            "p = subprocess.Popen(%r)\n"
            "print(p.pid, file=sys.stderr, flush=True)\n"
            "sys.stderr.close()\nos.read(3, 1)\n" % (PROGRAM,))
    hold, r = os.pipe()[::-1]
    middle = subprocess.Popen(
        [sys.executable, "-c", "import os\nos.dup2(%d, 3)\n%s" % (r, code)], pass_fds=(r,),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", **ats.test_env(), "ATS_TOOLS_SPECS": shim.specs,
             "ATS_RELAY_SOCKET": shim.path})
    child = int(middle.stderr.readline())
    fd = ats.pidfd(child)
    link = shim.accept()
    middle.kill()
    middle.wait()
    ats.wait_readable(fd, ats.TIMEOUT)
    ats.equal(link.recv(), None)
    for f in (fd, hold, r):
        os.close(f)
    shim.end()


@ats.test("a thread that started it may end: its process lives on")
def _(home):
    shim = Shim(home)
    shim.ping()
    shim.proc.send_signal(signal.SIGUSR1)   # as PDEATHSIG sends then
    shim.ping()
    shim.end()


@ats.test("several start at once, and each is served")
def _(home):
    first = Shim(home)
    more = [Lines(home, {"ATS_TOOLS_SPECS": first.specs, "ATS_RELAY_SOCKET": first.path})
            for _ in range(3)]
    for m in more:
        link = first.accept()
        link.send("control.tools", 0, {"tools": WIRE})
    for m in [first, *more]:
        m.initialize("2025-11-25")
        m.end()


@ats.test("without specs or a way it says so in one line and ends with 1")
def _(home):
    good = os.path.join(home.run, "good.json")
    bad = os.path.join(home.run, "bad.json")
    for path, data in ((good, "[]"), (bad, "{\"name\":1}")):
        with open(path, "w", encoding="utf-8") as f:
            f.write(data)
    sock, folder = os.path.join(home.run, "no.sock"), os.path.join(home.run, "no")
    for env, part in (
            ({}, "ATS_TOOLS_SPECS"),
            ({"ATS_TOOLS_SPECS": good + "x", "ATS_RELAY_SOCKET": sock}, "good.jsonx"),
            ({"ATS_TOOLS_SPECS": bad, "ATS_RELAY_SOCKET": sock}, "not a JSON array"),
            ({"ATS_TOOLS_SPECS": good}, "ATS_RELAY_SOCKET"),
            ({"ATS_TOOLS_SPECS": good, "ATS_RELAY_SOCKET": ""}, "ATS_RELAY_SOCKET"),
            ({"ATS_TOOLS_SPECS": good, "ATS_RELAY_SOCKET": sock}, "no.sock"),
            ({"ATS_TOOLS_SPECS": good, "ATS_RELAY_SOCKET": "/" + "x" * 200}, "relay socket"),
            ({"ATS_TOOLS_SPECS": good, "ATS_RELAY_DIR": folder}, folder),
            ({"ATS_TOOLS_SPECS": good, "ATS_RELAY_DIR": good}, good)):
        shim = Lines(home, env)
        out, err = shim.proc.communicate(timeout=ats.TIMEOUT)
        ats.equal((shim.proc.returncode, out), (1, b""), env)
        ats.check(part in err.decode() and err.count(b"\n") == 1, (env, err))
    r = subprocess.run([*PROGRAM, "-h"], stdout=subprocess.PIPE, check=True)
    ats.contains(r.stdout.decode(), "ATS_RELAY_DIR")
    ats.equal(subprocess.run([*PROGRAM, "x"], stderr=subprocess.PIPE, check=False).returncode, 2)


@ats.test("a client that does not read does not make it grow, and gets everything then")
def _(home):
    shim = Shim(home)
    big = b"x" * (256 << 10)
    for i in range(16):
        shim.call(i, "bare", {"i": i})
    for q in [shim.request() for _ in range(16)]:
        shim.result(q.call, big)
    pings = b"".join(b"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}\n" % i
                     for i in range(100, 30000))
    os.set_blocking(shim.proc.stdin.fileno(), False)
    sent = 0
    with contextlib.suppress(BlockingIOError):
        while sent < len(pings):
            sent += os.write(shim.proc.stdin.fileno(), pings[sent:sent + 65536])
    ats.check(sent < len(pings), "it reads on")
    os.set_blocking(shim.proc.stdin.fileno(), True)
    for i in range(16):
        ats.equal(len(shim.answer(i)["result"]["content"][0]["text"]), len(big))
    shim.proc.kill()
    shim.proc.wait()


ats.main()
