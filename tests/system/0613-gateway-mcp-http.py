#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gateways of kind mcp whose server is elsewhere: Streamable HTTP, with answers as JSON and as
streams, sessions that end, and what a server says by itself."""
import contextlib
import http.server
import json
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from gateway import Gateway

LIB = os.path.join(ats.TOP, "tests", "lib")
SECRET = "bearer-of-the-server"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def plain(self, status, body=b"", kind="application/json", **headers):
        self.send_response(status)
        for k, v in headers.items():
            self.send_header(k.replace("_", "-"), v)
        if body:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, obj, text=None):
        with contextlib.suppress(OSError):
            self.wfile.write((text or "event: message\r\nid: 1\r\ndata: %s\r\n\r\n"
                              % json.dumps(obj)).encode())
            self.wfile.flush()

    def do_GET(self):
        s = self.server
        s.seen.append(("GET", dict(self.headers), None))
        if not s.has_stream:
            self.plain(405)
            return
        self.stream()
        self.event(None, ": hello\n\n")
        while s.stream_says.acquire(timeout=ats.TIMEOUT) and not s.closing:
            self.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})

    def do_POST(self):
        s = self.server
        m = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        s.seen.append(("POST", dict(self.headers), m))
        if s.wanted and self.headers["Authorization"] != "Bearer " + s.wanted:
            self.plain(401, b"who are you?", "text/plain")
            return
        if self.path == "/old":
            self.plain(307, Location="/mcp")
            return
        if s.need_session and m.get("method") != "initialize" and \
                self.headers.get("Mcp-Session-Id") != s.session:
            self.plain(404)
            return
        if "id" not in m:
            self.plain(202)
            return
        i, method = m["id"], m["method"]
        if method == "initialize":
            s.session = "session-%d" % len(s.seen)
            r = {"protocolVersion": m["params"]["protocolVersion"], "serverInfo": {},
                 "capabilities": {"tools": {}}}
            self.plain(200, json.dumps({"jsonrpc": "2.0", "id": i, "result": r}).encode(),
                       Mcp_Session_Id=s.session)
        elif method == "tools/list":
            r = {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in s.tools]}
            self.answer(i, r)
        else:
            self.call(i, m["params"]["name"], m["params"])

    def answer(self, i, r):
        obj = {"jsonrpc": "2.0", "id": i, "result": r}
        if self.server.by_stream:
            self.stream()
            # In pieces, and in more than one line of data.
            text = json.dumps(obj)
            self.event(None, "data: %s\ndata:%s\n\n" % (text[:1], text[1:]))
        else:
            self.plain(200, json.dumps(obj).encode())

    def call(self, i, name, params):
        if name == "echo":
            self.answer(i, {"content": [{"type": "text", "text": json.dumps(
                [params["arguments"], self.headers["Authorization"]])}]})
        elif name == "progress":
            self.stream()
            self.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                "progressToken": params["_meta"]["progressToken"], "progress": 1,
                "message": "step"}})
            self.event({"jsonrpc": "2.0", "id": "q", "method": "ping"})
            self.server.ponged.wait(ats.TIMEOUT)
            self.event({"jsonrpc": "2.0", "id": i, "result": {
                "content": [{"type": "text", "text": "after"}]}})
        elif name == "hang":
            self.stream()
            self.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                "progressToken": params["_meta"]["progressToken"], "progress": 1,
                "message": "hanging"}})
            self.server.hung.wait(ats.TIMEOUT)
        elif name == "cut":
            self.stream()
        elif name == "denied":
            self.plain(403, b"secret details")
        elif name == "broken":
            self.plain(500)
        elif name == "junk":
            self.plain(200, b"<html>", "text/html")
        elif name == "endless":
            self.stream()
            with contextlib.suppress(OSError):
                for _ in range(1000):
                    self.wfile.write(b"data: " + b"x" * 65536)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, **more):
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen, self.session, self.wanted = [], None, None
        self.need_session, self.by_stream, self.has_stream = True, False, False
        self.stream_says, self.closing = threading.Semaphore(0), False
        self.hung, self.ponged = threading.Event(), threading.Event()
        self.tools = ["echo", "progress", "hang", "cut", "denied", "broken", "junk", "endless"]
        vars(self).update(more)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass

    def __exit__(self, *what):
        self.closing = True
        self.stream_says.release()
        self.hung.set()
        self.shutdown()
        self.server_close()


def conf(s, path="/mcp", **more):
    return {"kind": "mcp", "url": "http://127.0.0.1:%d%s" % (s.server_address[1], path),
            "allow_private": True, "credential": "x", "auth": "bearer", **more}


@ats.test("answers as JSON and as streams; session, version and credential go along", home=False)
def _():
    for by_stream in (False, True):
        with Server(by_stream=by_stream) as s, Gateway(conf(s), SECRET) as g:
            ats.equal([t[0] for t in g.listed], s.tools)
            ats.equal(json.loads(g.call("echo", {"a": 1}).text), [{"a": 1}, "Bearer ***"])
            first, last = s.seen[0][1], s.seen[-1][1]
            ats.equal(first["Authorization"], "Bearer " + SECRET)
            ats.equal(first["Accept"], "application/json, text/event-stream")
            ats.check("MCP-Protocol-Version" not in first and "Mcp-Session-Id" not in first, first)
            ats.equal((last["MCP-Protocol-Version"], last["Mcp-Session-Id"]),
                      ("2025-11-25", s.session))
            ats.missing(g.log_text(), SECRET)


@ats.test("a refused credential is asked for again, also before there is a session", home=False)
def _():
    new = "the-next-bearer"
    with Server(wanted=new) as s, Gateway(conf(s), SECRET, ready=False) as g:
        g.renewals = [new]
        g.wait(lambda: g.is_ready is not None, "GW_READY")
        ats.equal((g.is_ready, g.refused), ([0, ""], 1))
        ats.equal(json.loads(g.call("echo", {"a": 1}).text), [{"a": 1}, "Bearer ***"])
        s.wanted = "yet-another-one"
        n = len(s.seen)
        g.renewals = ["yet-another-one"]
        ats.equal(json.loads(g.call("echo", {"a": 2}).text), [{"a": 2}, "Bearer ***"])
        ats.equal(len(s.seen), n + 2)
        s.wanted = "nobody-has-this"
        r = g.call("echo", {"a": 3})
        ats.check(r.is_error, r)
        ats.contains(r.text, "does not accept the credential")
        ats.equal(g.refused, 3)
    with Server(wanted="x") as s, Gateway(conf(s), SECRET, ready=False) as g:
        g.wait(lambda: g.is_ready is not None, "GW_READY")
        ats.contains(g.is_ready[1], "does not accept the credential")


@ats.test("progress, and a request of the server within the stream of a call", home=False)
def _():
    with Server() as s, Gateway(conf(s), SECRET) as g:
        call = g.order("progress")
        f = g.link.expect("event.progress")
        ats.equal((f.call, f.json["message"]), (call, "step"))
        ats.until(lambda: [m for _, _, m in s.seen if m and m.get("id") == "q"], "a pong")
        ats.equal([m for _, _, m in s.seen if m and m.get("id") == "q"][0]["result"], {})
        s.ponged.set()
        ats.equal(g.result(call).text, "after")


@ats.test("cancelling and the deadline tell the server", home=False)
def _():
    with Server() as s, Gateway(conf(s), SECRET) as g:
        call = g.order("hang")
        g.link.expect("event.progress")
        g.cancel(call)
        ats.equal(g.result(call).code, "cancelled")
        ats.until(lambda: [m for _, _, m in s.seen
                           if m and m.get("method") == "notifications/cancelled"], "a word of it")
        ats.equal(g.call("hang", ms=200).code, "timeout")
        ats.equal(json.loads(g.call("echo").text)[0], {})


@ats.test("answers that are none: each ends its call alone", home=False)
def _():
    with Server() as s, Gateway(conf(s), SECRET) as g:
        for name, part in (("cut", "without a result"), ("denied", "does not accept"),
                           ("broken", "status 500"), ("junk", "without a result"),
                           ("endless", "too long")):
            r = g.call(name)
            ats.check(r.is_error and r.code == "upstream_failed", r)
            ats.contains(r.text, part)
            ats.contains(r.text, "not known")
        ats.missing(g.log_text(), "secret details")
        ats.equal(json.loads(g.call("echo").text)[0], {})


@ats.test("a session that the server has ended is begun again", home=False)
def _():
    with Server() as s, Gateway(conf(s), SECRET) as g:
        s.session = "another"
        r = g.call("echo")
        ats.check(r.is_error and r.code == "closed", r)
        ats.equal(json.loads(g.call("echo", {"n": 1}).text)[0], {"n": 1})
        ats.equal(len([m for _, _, m in s.seen if m and m.get("method") == "initialize"]), 2)


@ats.test("the stream of the server's own words: its list of tools changes", home=False)
def _():
    with Server(has_stream=True) as s, Gateway(conf(s), SECRET) as g:
        ats.equal(len(g.listed), len(s.tools))
        ats.until(lambda: [1 for kind, _, _ in s.seen if kind == "GET"], "the stream")
        s.tools.append("new")
        s.stream_says.release()
        g.wait(lambda: len(g.listed) == len(s.tools), "the longer list")
        ats.equal([h for kind, h, _ in s.seen if kind == "GET"][0]["Mcp-Session-Id"], s.session)


@ats.test("a server at another path says so; one that is not there is told of", home=False)
def _():
    with Server() as s, Gateway(conf(s, "/old"), SECRET) as g:
        ats.equal(json.loads(g.call("echo").text)[0], {})
    with Server() as s:
        c = conf(s)
    with Gateway(c, SECRET, ready=False) as g:
        g.wait(lambda: g.is_ready is not None, "GW_READY")
        ats.contains(g.is_ready[1], "could not be asked")
        ats.equal(g.wait_end(), 0)
    with Server() as s, Gateway(conf(s, allow_private=False, url="https://127.0.0.1:%d/mcp"
                                     % s.server_address[1]), SECRET, ready=False) as g:
        g.wait(lambda: g.is_ready is not None, "GW_READY")
        ats.contains(g.is_ready[1], "private")


@ats.test("@modelcontextprotocol/server-everything over HTTP", home=False)
def _():
    r = subprocess.run([os.path.join(LIB, "npm-install"),
                        "@modelcontextprotocol/server-everything@2026.8.31"],
                       stdout=subprocess.PIPE, check=False,
                       env={**os.environ, "ATS_BUILD": ats.BUILD})
    if r.returncode == 77:
        ats.skip(r.stdout.decode().strip())
    main = os.path.join(r.stdout.decode().strip(), "node_modules/@modelcontextprotocol",
                        "server-everything/dist/index.js")
    with Server() as free:
        port = free.server_address[1]
    server = subprocess.Popen(["node", main, "streamableHttp"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              env={**os.environ, "PORT": str(port)})
    try:
        while b"listening" not in server.stderr.readline():
            ats.check(server.poll() is None, "the server ended")
        c = {"kind": "mcp", "url": "http://127.0.0.1:%d/mcp" % port, "allow_private": True}
        with Gateway(c) as g:
            ats.equal(g.call("echo", {"message": "hi"}).text, "Echo: hi")
            r = g.call("trigger-long-running-operation", {"duration": 1, "steps": 4})
            ats.contains(r.text, "Long running operation completed")
            ats.check(g.progress, "no progress came")
    finally:
        server.kill()
        server.communicate()


ats.main()
