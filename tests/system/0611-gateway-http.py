#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gateways of kind http against a server of this test: what arguments can change, where the
credential goes, and answers of every kind."""
import base64
import contextlib
import functools
import gzip
import http.server
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from gateway import Gateway

SECRET = "tok/en+1234567="
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4"
                       "2mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


@functools.lru_cache(maxsize=1)
def bomb():
    return gzip.compress(b"\0" * 50000000, 9)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, body=b"", kind="text/plain", status=200, **headers):
        self.send_response(status)
        for k, v in headers.items():
            self.send_header(k.replace("_", "-"), v)
        if kind is not None:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def endless(self, chunk, total, **headers):
        self.send_response(200)
        for k, v in headers.items():
            self.send_header(k.replace("_", "-"), v)
        self.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(total // len(chunk)):
                self.wfile.write(chunk)
                self.server.sent += len(chunk)
        self.close_connection = True

    def any(self):
        self.server.connections.add(self.client_address)
        n = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(n).decode()
        path = self.path.split("?")[0]
        self.server.seen.append((self.command, self.path, dict(self.headers), body))
        if path.startswith("/echo"):
            self.answer(json.dumps({"method": self.command, "path": self.path, "body": body,
                                    "headers": dict(self.headers)}).encode(), "application/json")
        elif path.startswith("/status/"):
            code = int(path.split("/")[2])
            text = "details: " + self.headers.get("Authorization", "")
            self.answer(b"" if code in (204, 304) else text.encode(), status=code)
        elif path.startswith("/door") or path == "/left":
            known = self.headers.get("Authorization") == "Bearer " + self.server.wanted
            if path == "/door/left" and self.command == "POST":
                self.answer(status=303, Location="/left")
            else:
                self.answer(b"in: " + body.encode() if known else b"who are you?",
                            status=200 if known else 401)
        elif path.startswith("/redirect"):
            self.answer(status=int(self.headers.get("X-Status", 302)),
                        Location=self.server.location)
        elif path == "/huge":
            self.endless(b"x" * 65536, 4 << 30, Content_Length=str(4 << 30),
                         Content_Type="text/plain")
        elif path == "/hugebin":
            self.endless(b"\0" * 65536, 4 << 30, Content_Length=str(4 << 30),
                         Content_Type="application/octet-stream")
        elif path == "/bomb":
            self.answer(bomb(), "text/plain", Content_Encoding="gzip")
        elif path == "/bombbin":
            self.answer(bomb(), "application/zip", Content_Encoding="gzip")
        elif path == "/gzip":
            self.answer(gzip.compress(b"small"), Content_Encoding="gzip")
        elif path == "/png":
            self.answer(PNG, "image/png")
        elif path == "/hugepng":
            self.endless(b"\1" * 65536, 64 << 20, Content_Type="image/png")
        elif path == "/bin":
            self.answer(b"\0\1\2" * 100, "application/x-thing; a=b")
        elif path == "/type":
            self.answer(b"\0", self.server.kind)
        elif path == "/none":
            self.answer(b"\0\1\2", None)
        elif path == "/bad":
            self.answer(b"a\xff\xc3", "text/plain; charset=utf-8")
        elif path == "/headers":
            self.send_response(200)
            self.flush_headers()
            for i in range(20000):
                with contextlib.suppress(OSError):
                    self.wfile.write(b"X-%d: %s\r\n" % (i, b"y" * 1000))
            with contextlib.suppress(OSError):
                self.wfile.write(b"\r\n")
            self.close_connection = True
        elif path == "/drop":
            self.close_connection = True
        elif path == "/short":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"part")
            self.close_connection = True
        elif path == "/junk":
            self.wfile.write(b"\x00\x01nonsense\r\n\r\n")
            self.close_connection = True
        elif path == "/cookie":
            self.answer(b"ok", Set_Cookie="a=b; Path=/")
        elif path == "/hang":
            self.server.hanging.set()
            self.connection.settimeout(ats.TIMEOUT)
            with contextlib.suppress(OSError):
                self.server.gone.append(self.connection.recv(1) == b"")
            self.server.left.set()
            self.close_connection = True
        else:
            self.answer(b"no such place", status=404)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = any


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, tls=None, family=socket.AF_INET):
        self.address_family = family
        super().__init__(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0), Handler)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.seen, self.connections, self.sent, self.gone = [], set(), 0, []
        self.hanging, self.left = threading.Event(), threading.Event()
        self.location = ""
        self.port = self.server_address[1]
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def handle_error(self, request, client_address):
        pass

    def __exit__(self, *what):
        self.shutdown()
        self.server_close()


def tool(path, method="GET", **more):
    needed = re.findall(r"{(\w+)}", path + more.get("body", ""))
    names = set(needed + re.findall(r"{(\w+)}", " ".join(more.get("query", {}).values())))
    if more.get("body") in ("json", "form"):
        names |= {"a", "b", "c", "n"}
    return {"description": "A test.", "method": method, "path": path,
            "input": {"type": "object", "properties": {k: {} for k in sorted(names)},
                      "required": needed}, **more}


def conf(port, tools, host="127.0.0.1", scheme="http", prefix="", **more):
    c = {"kind": "http", "url": "%s://%s:%d%s" % (scheme, host, port, prefix), "tools": tools,
         "allow_private": True, "credential": "x", "auth": "bearer"}
    c.update(more)
    return {k: v for k, v in c.items() if v is not None}


def rss(g):
    with open("/proc/%d/status" % g.proc.pid, encoding="ascii") as f:
        return [int(x.split()[1]) for x in f if x.startswith("VmHWM")][0]


@ats.test("requests: path, query, bodies, headers; connections are kept", home=False)
def _():
    tools = {
        "get": tool("/echo/{a}/x{b}", query={"q": "{q}", "fix": "1&2", "both": "{a}:{n}"},
                    read_only=True),
        "post": tool("/echo/{a}", "POST", body="json"),
        "form": tool("/echo", "POST", body="form"),
        "text": tool("/echo", "PUT", body="text:{a}"),
        "none": tool("/echo", "POST"),
        "head": tool("/echo", "HEAD"),
        "del": tool("/echo/{a}", "DELETE"),
    }
    with Server() as s, Gateway(conf(s.port, tools, headers={"X-Fix": "yes"}), SECRET) as g:
        r = json.loads(g.call("get", {"a": "\u00e9 ?#%", "b": 12, "q": "x&y=z\r\nA: b"}).text)
        ats.equal(r["path"], "/echo/%C3%A9%20%3F%23%25/x12?q=x%26y%3Dz%0D%0AA%3A%20b&fix=1%262")
        ats.equal(r["headers"]["Authorization"], "Bearer ***")
        ats.equal(r["headers"]["X-Fix"], "yes")
        ats.equal(s.seen[0][2]["Authorization"], "Bearer " + SECRET)
        ats.equal(sorted(s.seen[0][2]), ["Accept", "Accept-Encoding", "Authorization", "Host",
                                         "User-Agent", "X-Fix"])
        g.call("post", {"a": "1", "b": {"x": [1, 2.5, "\u2028"]}, "c": None})
        ats.equal(s.seen[-1][1], "/echo/1")
        ats.equal(json.loads(s.seen[-1][3]), {"b": {"x": [1, 2.5, "\u2028"]}, "c": None})
        ats.equal(s.seen[-1][2]["Content-Type"], "application/json")
        g.call("form", {"a": "x y&", "b": True, "c": None})
        ats.equal(s.seen[-1][3], "a=x+y%26&b=true")
        g.call("text", {"a": "line\r\nline"})
        ats.equal((s.seen[-1][0], s.seen[-1][3]), ("PUT", "line\r\nline"))
        g.call("none")
        ats.equal(s.seen[-1][2]["Content-Length"], "0")
        ats.contains(g.call("head").text, "status 200")
        ats.equal(g.call("del", {"a": "z"}).is_error, False)
        count = len(s.connections)
        g.call("get", {"a": "a", "b": 1})
        g.call("get", {"a": "a", "b": 2})
        ats.equal(len(s.connections), count)
        big = {"a": "1", "b": "x" * 700000}
        g.call("post", big)
        ats.equal(json.loads(s.seen[-1][3]), {"b": big["b"]})


@ats.test("arguments cannot leave their place in the path", home=False)
def _():
    tools = {"one": tool("/echo/{a}/end"), "two": tool("/echo/{a}{b}"),
             "dot": tool("/echo/.{a}/x"), "body": tool("/echo", "POST", body="form")}
    with Server() as s, Gateway(conf(s.port, tools), SECRET) as g:
        for a in ("..", ".", "", "a/b", "/", "\\", "a\r\nX: y", "a\n", "\u0000", None, [], {}):
            r = g.call("one", {"a": a})
            ats.check(r.is_error and not r.started and r.code == "invalid", (a, r))
            ats.matches(r.text, "^a: |part of the path")
        ats.check(g.call("one").text.startswith("a: is required"), "absent")
        for t, args in (("two", {"a": ".", "b": "."}), ("dot", {"a": "."})):
            ats.contains(g.call(t, args).text, "which is refused")
        ats.check(g.call("body", {"a": [1]}).code == "invalid", "a form takes no arrays")
        ats.equal(s.seen, [])
        for a in ("...", "..a", "%2e%2e", "@evil.com", "a?b#c", ";x", "\u202e"):
            ats.check(not g.call("one", {"a": a}).is_error, a)
            ats.matches(s.seen[-1][1], r"^/echo/[^/?#]+/end$")
        r = g.call("one", {"a": "x" * 60000})
        ats.check(r.code == "too_big" and not r.started, r)


@ats.test("the credential: basic, a header, a query; and none", home=False)
def _():
    for auth, where in (("basic:me", "Authorization"), ("header:X-Key", "X-Key"),
                        ("query:key", None)):
        with Server() as s, Gateway(conf(s.port, {"e": tool("/echo"),
                                                  "q": tool("/echo", query={"a": "{a}"})},
                                         auth=auth), SECRET) as g:
            r = g.call("e")
            ats.missing(r.text, SECRET)
            if where:
                want = SECRET if where == "X-Key" else \
                    "Basic " + base64.b64encode(("me:" + SECRET).encode()).decode()
                ats.equal(s.seen[-1][2][where], want)
                ats.missing(r.text, want)
            else:
                ats.equal(s.seen[-1][1], "/echo?key=tok%2Fen%2B1234567%3D")
                ats.contains(r.text, "/echo?key=***")
                g.call("q", {"a": "1"})
                ats.equal(s.seen[-1][1], "/echo?a=1&key=tok%2Fen%2B1234567%3D")
            ats.missing(g.log_text(), SECRET)
    with Server() as s, Gateway(conf(s.port, {"e": tool("/echo")}, credential=None,
                                     auth=None)) as g:
        g.call("e")
        ats.check("Authorization" not in s.seen[-1][2], s.seen)
    # What cannot stand in a header is refused before anything is sent.
    with Server() as s, Gateway(conf(s.port, {"e": tool("/echo")}), "a\r\nX: y") as g:
        ats.equal(g.call("e").code, "invalid")
        ats.equal(s.seen, [])


@ats.test("errors of the upstream: a status and advice; the body stays in the log", home=False)
def _():
    tools = {"s": tool("/status/{n}")}
    with Server() as s, Gateway(conf(s.port, tools), SECRET) as g:
        for status in (400, 401, 403, 404, 409, 429, 500, 503, 304):
            r = g.call("s", {"n": status})
            ats.check(r.is_error and r.started and r.code == "upstream_failed", r)
            ats.contains(r.text, "status %d" % status)
            ats.missing(r.text, "details")
        ats.missing(g.log_text(), SECRET)
        ats.contains(g.call("s", {"n": 204}).text, "status 204")
        ats.contains(g.call("s", {"n": 401}).text, "atsctl credential test")
        ats.contains(g.call("s", {"n": 401}).text, "__s answered with status 401")
    with Server() as s, Gateway(conf(s.port, tools, credential=None, auth=None)) as g:
        ats.contains(g.call("s", {"n": 401}).text, "this gateway has none")


@ats.test("a refused credential is asked for again: once a call, of any method; masks know both",
          home=False)
def _():
    tools = {"get": tool("/door"), "post": tool("/door", "POST", body="json"),
             "left": tool("/door/left", "POST"), "e": tool("/echo")}
    new = "an/other-token+9="
    with Server() as s, Gateway(conf(s.port, tools), SECRET) as g:
        s.wanted = new
        g.renewals = [new]
        r = g.call("post", {"b": SECRET + " " + new})
        ats.equal((r.text, g.refused), ('in: {"b":"*** ***"}', 1))
        ats.equal([(x[0], x[3]) for x in s.seen], [("POST", json.dumps(
            {"b": SECRET + " " + new}, separators=(",", ":")))] * 2)
        ats.equal(g.call("get").text, "in: ")
        ats.equal(len(s.seen), 3)
        # It is not accepted either: the call ends; and the same when there is none.
        s.wanted = "third"
        g.renewals = ["not-the-third", "", None]
        for n in (2, 3):
            r = g.call("post", {"b": "x"})
            ats.check(r.is_error and r.started and r.code == "upstream_failed", r)
            ats.contains(r.text, "status 401")
            ats.equal(g.refused, n)
        ats.equal(len(s.seen), 3 + 2 + 1)
        # Many at once wait for one answer; a cancelled one is not sent again.
        calls = [g.order("post", {"b": str(i)}) for i in range(3)]
        gone = g.order("get")
        g.wait(lambda: g.refused == 4, "GW_UNAUTHORIZED")
        ats.until(lambda: len(s.seen) == 10, "four requests")
        g.cancel(gone)
        ats.equal(g.result(gone).code, "cancelled")
        s.wanted = "fourth-token"
        g.send_secret("fourth-token", "GW_CREDENTIAL")
        got = []
        for _ in calls:
            f = g.link.expect("result")
            g.link.send("control.ack", f.call)
            got.append((f.call, f.payload.decode()))
        ats.equal(sorted(got), [(c, 'in: {"b":"%d"}' % i) for i, c in enumerate(calls)])
        ats.equal((len(s.seen), g.refused), (13, 4))
        # What was redirected may have changed something: not again.
        s.wanted = "fifth"
        r = g.call("left")
        ats.contains(r.text, "status 401")
        ats.equal([x[:2] for x in s.seen[13:]], [("POST", "/door/left"), ("GET", "/left")])
        ats.equal(g.refused, 4)
        ats.missing(g.log_text(), new)
    with Server() as s, Gateway(conf(s.port, tools, credential=None, auth=None)) as g:
        s.wanted = "x"
        ats.contains(g.call("get").text, "status 401")
        ats.equal(g.refused, 0)


@ats.test("redirects: of the same origin alone, at most five", home=False)
def _():
    tools = {"r": tool("/redirect"), "p": tool("/redirect", "POST", body="json")}
    with Server() as s, Server() as other, Gateway(conf(s.port, tools), SECRET) as g:
        s.location = "/echo/there?x=1#frag"
        r = json.loads(g.call("r").text)
        ats.equal(r["path"], "/echo/there?x=1")
        ats.equal(s.seen[-1][2]["Authorization"], "Bearer " + SECRET)
        s.location = "http://127.0.0.1:%d/echo/abs" % s.port
        g.call("p", {"a": 1})
        ats.equal(s.seen[-1][:2] + s.seen[-1][3:], ("GET", "/echo/abs", ""))
        for to in ("http://127.0.0.1:%d/echo" % other.port, "//localhost:%d/echo" % s.port,
                   "https://127.0.0.1:%d/echo" % s.port, "http://evil.example/", "file:///etc/passwd",
                   "http://user:pw@127.0.0.2:%d/echo" % s.port, "gopher://127.0.0.1:%d/" % s.port):
            s.location = to
            n = len(s.seen)
            r = g.call("r")
            ats.check(r.is_error and r.code in ("denied", "upstream_failed"), (to, r))
            ats.equal((len(s.seen), other.seen), (n + 1, []))
        s.location = "/redirect"
        ats.contains(g.call("r").text, "more than 5 redirects")
    with Server() as s, Gateway(conf(s.port, {"p": tool("/redirect", "POST", body="json")},
                                     headers={"X-Status": "307"}), SECRET) as g:
        s.location = "/echo/again"
        g.call("p", {"a": 1})
        ats.equal((s.seen[-1][0], s.seen[-1][3]), ("POST", '{"a":1}'))


@ats.test("bodies: huge, bombs, images, binary, bad UTF-8", home=False)
def _():
    paths = ("huge", "hugebin", "bomb", "bombbin", "gzip", "png", "hugepng", "bin", "none", "bad",
             "headers", "drop", "short", "junk", "cookie", "echo")
    tools = {p: tool("/" + p) for p in paths}
    with Server() as s, Gateway(conf(s.port, tools), SECRET) as g:
        r = g.call("huge")
        ats.contains(r.text, "[cut: the first 100000 of at least 1")
        ats.check(s.sent < 64 << 20, "%d bytes were read" % s.sent)
        ats.contains(g.call("hugebin").text, "[application/octet-stream, 4294967296 bytes")
        # Zeros are text, if the server says so.
        ats.contains(g.call("bomb").text, "of at least 1")
        ats.contains(g.call("bombbin").text, "more than 1")
        ats.equal(g.call("gzip").text, "small")
        r = g.call("png")
        ats.equal(r.blocks, [("image", "image/png", PNG)])
        ats.contains(g.call("hugepng").text, "too large an image")
        ats.contains(g.call("bin").text, "[application/x-thing; a=b, 300 bytes: not shown")
        ats.contains(g.call("none").text, "[no type said, 3 bytes")
        ats.equal(g.call("bad").text, "a\ufffd\ufffd")
        ats.contains(g.call("headers").text, "headers are too long")
        for p in ("drop", "short", "junk"):
            r = g.call(p)
            ats.check(r.is_error and r.started and r.code == "upstream_failed", r)
            ats.contains(r.text, "not known")
        g.call("cookie")
        ats.check("Cookie" not in json.loads(g.call("echo").text)["headers"], "a cookie came back")
        ats.small(rss(g), 60000, "peak memory in KiB")


@ats.test("a server that hangs: deadline and cancelling close the connection", home=False)
def _():
    with Server() as s, Gateway(conf(s.port, {"h": tool("/hang"), "e": tool("/echo")}),
                                SECRET) as g:
        r = g.call("h", ms=300)
        ats.equal(r.code, "timeout")
        ats.check(s.left.wait(ats.TIMEOUT), "the connection stays")
        s.left.clear()
        s.hanging.clear()
        call = g.order("h")
        ats.check(s.hanging.wait(ats.TIMEOUT), "no request")
        ats.check(not g.call("e").is_error, "another call meanwhile")
        g.cancel(call)
        ats.equal(g.result(call).code, "cancelled")
        ats.check(s.left.wait(ats.TIMEOUT), "the connection stays")
        ats.equal(s.gone, [True, True])


@ats.test("private addresses are refused at the connection, whatever the name", home=False)
def _():
    tools = {"e": tool("/echo")}
    with Server() as s:
        for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0",
                     "169.254.169.254", "[fe80::1]", "10.0.0.1", "[fd00:ec2::254]", "224.0.0.1"):
            with Gateway(conf(s.port, tools, host=host, scheme="https", allow_private=None),
                         SECRET) as g:
                r = g.call("e", timeout=60)
                ats.check(r.is_error and not r.started and r.code == "denied", (host, r))
                ats.contains(r.text, "allow_private")
        # Allowed ones are not those that are never a server's, nor a link's that is not named.
        for host in ("0.0.0.0", "224.0.0.1"):
            with Gateway(conf(s.port, tools, host=host), SECRET) as g:
                ats.equal(g.call("e").code, "denied")
        with Gateway(conf(s.port, tools, host="localhost"), SECRET) as g:
            ats.check(not g.call("e").is_error, "localhost, allowed")
        ats.equal(len(s.seen), 1)


@ats.test("no proxy, no file of curl's, and no server: nothing was sent", home=False)
def _():
    tools = {"e": tool("/echo")}
    with Server() as s, tempfile.TemporaryDirectory() as home:
        with open(os.path.join(home, ".netrc"), "w", encoding="ascii") as f:
            f.write("default login a password b\n")
        env = {"http_proxy": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1",
               "HTTPS_PROXY": "http://127.0.0.1:1", "HOME": home}
        with Gateway(conf(s.port, tools, credential=None, auth=None), env=env) as g:
            r = json.loads(g.call("e").text)
            ats.check("Authorization" not in r["headers"], r)
    with Gateway(conf(s.port, tools), SECRET) as g:
        r = g.call("e")
        ats.check(r.is_error and not r.started, r)
        ats.contains(r.text, "Nothing was sent")
    with Gateway(conf(1, tools, host="nothing.invalid"), SECRET) as g:
        ats.check(not g.call("e", timeout=60).started, "a name that is none")


def certificate(where):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", where + "/key", "-out", where + "/ca.pem"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(where + "/ca.pem", where + "/key")
    return context


@ats.test("TLS: the configured certificate alone, and its name", home=False)
def _():
    tools = {"e": tool("/echo")}
    with tempfile.TemporaryDirectory() as where, Server(certificate(where)) as s:
        ca = where + "/ca.pem"
        with Gateway(conf(s.port, tools, "localhost", "https", ca=ca), SECRET) as g:
            ats.check(not g.call("e").is_error, "its own certificate")
        for host, path in (("localhost", None), ("127.0.0.1", ca)):
            with Gateway(conf(s.port, tools, host, "https", ca=path), SECRET) as g:
                r = g.call("e")
                ats.check(r.is_error and not r.started, r)
        ats.equal(len(s.seen), 1)


@ats.test("confined: no files, no programs, no other port", home=False)
def _():
    with Server() as s, Gateway(conf(s.port, {"e": tool("/echo")}), SECRET) as g:
        ats.check(not g.call("e").is_error, "a call")
        with open("/proc/%d/status" % g.proc.pid, encoding="ascii") as f:
            status = dict(line.split(":", 1) for line in f)
        ats.equal(status["Seccomp"].strip(), "2")
        ats.equal(status["NoNewPrivs"].strip(), "1")
        ats.equal(int(status["CapEff"], 16), 0)


@ats.test("what changes something is sent once, also where a connection was kept", home=False)
def _():
    tools = {"look": tool("/echo", read_only=True), "ok": tool("/echo", "POST", body="json"),
             "drop": tool("/drop", "POST", body="json"), "empty": tool("/drop", "DELETE")}
    with Server() as s, Gateway(conf(s.port, tools), SECRET) as g:
        for name in ("drop", "empty"):
            g.call("look")
            g.call("ok", {"a": 1})
            r = g.call(name)
            ats.equal((r.is_error, r.code), (True, "upstream_failed"))
            ats.contains(r.text, "Whether it took effect is not known.")
        ats.equal([x[1] for x in s.seen].count("/drop"), 2)


@ats.test("a header that is shown in part holds no part of the credential", home=False)
def _():
    with Server() as s, Gateway(conf(s.port, {"b": tool("/type")}), SECRET) as g:
        for n in range(180, 200):
            s.kind = "application/" + "x" * (n - 12) + SECRET
            ats.missing(g.call("b").text, SECRET[:2])


@ats.test("a flood of calls at a slow server ends each of them once", home=False)
def _():
    with Server() as s, Gateway(conf(s.port, {"e": tool("/echo", "POST", body="json")}),
                                SECRET) as g:
        begun = time.monotonic()
        want = {g.order("e", {"n": i}): i for i in range(200)}
        got = {}
        while len(got) < 200:
            f = g.link.expect("result")
            ats.check(f.call not in got, "twice")
            got[f.call] = json.loads(json.loads(f.payload)["body"])["n"]
            g.link.send("control.ack", f.call)
        ats.equal(got, want)
        print("# 200 calls in %.2f s over %d connections" % (time.monotonic() - begun,
                                                              len(s.connections)))


ats.main()
