#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Links by an HTTP proxy that is scripted, in both directions: the real ends find each other behind
it by names that only it knows, it hears nothing of what passes, and what it does wrong is told in one
line without its words or its password."""
import json
import os
import re
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

GOOD = b"HTTP/1.1 200 Connection established\r\n\r\n"
AUTH = "bWU6aGlkZGVu"           # me:hidden
QUIET = {k: "" for k in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy")}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


class Proxy:
    """Connects whoever asks, for whatever name, to the port to. answer: what it says in place of
    that. asked: the heads that came; bytes: all that
    passed."""

    def __init__(self, home, to=None):
        self.to, self.answer, self.asked, self.bytes = to, GOOD, [], b""
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.held = []
        home.open_things.append(self)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                s = self.server.accept()[0]
            except OSError:
                return
            self.held.append(s)
            threading.Thread(target=self.one, args=(s,), daemon=True).start()

    def one(self, s):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            got = s.recv(1)
            if not got:
                return
            head += got
        self.asked.append(head.decode())
        far = None
        answer = self.answer
        try:
            if answer == GOOD:
                far = socket.create_connection(("127.0.0.1", self.to))
                self.held.append(far)
        except OSError:
            answer = b"HTTP/1.1 502 hidden\r\n\r\n"
        try:
            s.sendall(answer)
        except OSError:
            pass
        if far is None:
            s.close()
            return
        threading.Thread(target=self.pass_on, args=(far, s), daemon=True).start()
        self.pass_on(s, far)

    def pass_on(self, a, b):
        try:
            while got := a.recv(65536):
                self.bytes += got
                b.sendall(got)
        except OSError:
            pass
        self.cut((a, b))

    @staticmethod
    def cut(socks):
        for s in socks:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.cut([self.server, *self.held])
        for s in (self.server, *self.held):
            s.close()


class Hands:
    """env: more of the environment. It knows no proxy but that of flags and env."""

    def __init__(self, home, *flags, **env):
        key = os.path.join(home.dir, "key")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as f:
            f.write(home.ctl("sandbox", "enroll", "--rotate", code=0).stdout)
        self.log_path = os.path.join(home.state, "hands.log")
        with open(self.log_path, "wb") as log:
            self.proc = home.popen(ats.program("ats-hands"), "--workspace", home.ws, "--key-file",
                                   key, *flags, env={**home.env, **QUIET, **env}, stdin=log,
                                   stdout=log, stderr=log)

    def log(self):
        with open(self.log_path, encoding="utf-8") as f:
            return f.read()

    def logged(self, pattern):
        ats.until(lambda: re.search(pattern, self.log()) or self.proc.poll() is not None, pattern)
        ats.matches(self.log(), pattern)


def serves(home, proxy, marker):
    """Bytes go both ways, and the proxy has not seen them, nor the key."""
    with open(os.path.join(home.dir, "key-seen"), "wb") as f:
        f.write(marker)
    r = home.ctl("exec", "--", "sh", "-c", "cat; env", input=marker * 1000, code=0)
    ats.contains(r.stdout, marker * 1000)
    ats.missing(r.stdout, b"PROXY=")
    ats.check(len(proxy.bytes) > 12000)
    ats.missing(proxy.bytes, marker)
    ats.missing(proxy.bytes, b"ats1:")


def brain_listens(home):
    port = free_port()
    home.configure({"sandbox": {"url": "listen:wss://127.0.0.1:%d/ats" % port},
                    "limits": {"queue_ms": 60000}})
    return Proxy(home, port)


FAR = "wss://brain.corp.example:443/ats"


@ats.test("hands comes in by a proxy: by --proxy with a file, and by the environment")
def _(home):
    p = brain_listens(home)
    path = os.path.join(home.dir, "proxy")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as f:
        f.write("http://me:hidden@127.0.0.1:%d\n" % p.port)
    h = Hands(home, "--connect", FAR, "--proxy", "file:" + path,
              HTTPS_PROXY="http://127.0.0.1:1", NO_PROXY="*")
    serves(home, p, b"a-secret-of-the-link")
    ats.equal(p.asked[0].split("\r\n"), [
        "CONNECT brain.corp.example:443 HTTP/1.1", "Host: brain.corp.example:443",
        "Proxy-Authorization: Basic " + AUTH, "", ""])
    h.logged('msg="connects by a proxy".* proxy=127.0.0.1:%d' % p.port)
    for secret in ("hidden", AUTH):
        ats.missing(h.log(), secret)
    # When the link is lost it comes again the same way, and a call that runs goes on.
    before = len(p.asked)
    p.cut(p.held[:])
    serves(home, p, b"another-secret-of-it")
    ats.check(len(p.asked) > before)
    home.ctl("shutdown", code=0)
    h.proc.kill()
    h.proc.wait()
    p.bytes = b""
    Hands(home, "--connect", FAR, HTTPS_PROXY="http://127.0.0.1:%d" % p.port)
    serves(home, p, b"once-more-a-secret-x")
    ats.missing(p.asked[-1], "Proxy-Authorization")
    home.ctl("shutdown", code=0)


@ats.test("brain reaches a hands by sandbox.proxy; on this machine it needs none")
def _(home):
    p = Proxy(home, free_port())
    home.configure({"sandbox": {"url": "wss://hands.corp.example:443/ats",
                                "proxy": "http://me:hidden@127.0.0.1:%d/" % p.port}})
    h = Hands(home, "--listen", "wss://127.0.0.1:%d/ats" % p.to)
    serves(home, p, b"a-secret-of-the-link")
    ats.contains(p.asked[0], "CONNECT hands.corp.example:443 HTTP/1.1\r\n")
    ats.contains(p.asked[0], "Basic %s\r\n" % AUTH)
    said = [home.ctl("--json", c).stdout for c in ("status", "doctor")]
    said.append(home.ctl("--json", "inspect", json.loads(
        home.ctl("--json", "sandbox", "ls").stdout)["sandboxes"][0]["id"]).stdout)
    for root, _dirs, files in os.walk(home.dir):
        for name in files:
            path = os.path.join(root, name)
            if name != "brain.json" and os.path.isfile(path):
                with open(path, "rb") as f:
                    said.append(f.read())
    for text in said:
        ats.missing(text, b"hidden")
        ats.missing(text, AUTH.encode())
    home.ctl("shutdown", code=0)
    ats.until(lambda: h.proc.poll() is not None or "msg=" in h.log(), "hands is let go")
    asked = len(p.asked)
    home.configure({"sandbox": {"url": "wss://127.0.0.1:%d/ats" % p.to,
                                "proxy": "http://127.0.0.1:%d" % p.port}})
    ats.equal(home.ctl("exec", "--", "echo", "direct", code=0).stdout, b"direct\n")
    ats.equal(len(p.asked), asked)
    home.ctl("shutdown", code=0)


WRONG = (
    ("wants a password", b"HTTP/1.1 407 hidden\r\nProxy-Authenticate: Basic\r\n\r\n", r"\(407\)"),
    ("refuses", b"HTTP/1.0 403 hidden\r\n\r\n<html>hidden", r"does not let us there \(403\)"),
    ("reaches nobody", b"HTTP/1.1 502 hidden\r\n\r\n", "it answers 502"),
    ("says too much", b"HTTP/1.1 200 OK\r\n" + b"A: hidden\r\n" * 10000, "more than 8192 bytes"),
    ("closes", b"", "it closed the connection|receive: Connection reset"),
    ("speaks no HTTP", b"\x15\x03\x01hidden\r\n\r\n", "not a response of HTTP/1.1"))


@ats.test("a proxy that %s: told in one line, and it is tried again" % "; ".join(
    w[0] for w in WRONG))
def _(home):
    p = brain_listens(home)
    h = Hands(home, "--connect", FAR, "--proxy", "http://me:hidden@127.0.0.1:%d" % p.port)
    for what, answer, says in WRONG:
        p.answer = answer
        h.logged('msg="cannot connect to brain" addr=%s why="[^"\n]*127.0.0.1:%d, asked for '
                 "brain.corp.example:443: [^\"\n]*(%s)" % (re.escape(FAR), p.port, says))
        ats.missing(h.log(), "hidden", what)
    p.answer = GOOD
    serves(home, p, b"a-secret-of-the-link")
    home.ctl("shutdown", code=0)


@ats.test("brain tells of a proxy that does not work, in the answer of a call")
def _(home):
    p = Proxy(home)
    p.answer = WRONG[0][1]
    home.configure({"sandbox": {"url": "wss://hands.corp.example:443/ats",
                                "proxy": "http://me:hidden@127.0.0.1:%d" % p.port},
                    "limits": {"start_ms": 2000, "queue_ms": 3000}})
    home.ctl("sandbox", "enroll", code=0)
    r = home.ctl("exec", "--", "true", code=125)
    ats.matches(r.stderr.decode(), r"the proxy 127.0.0.1:%d, asked for hands.corp.example:443: it "
                r"wants another user name and password.* \(407\)" % p.port)
    ats.missing(r.stderr, b"hidden")
    home.ctl("shutdown", code=0)


@ats.test("who is named in NO_PROXY, or without TLS, is reached directly; what is no proxy is told")
def _(home):
    p = brain_listens(home)
    # Where TCP leads to nobody, on any machine and at once.
    for connect, no in (("wss://255.255.255.255:443/ats", "10.0.0.0/8,255.0.0.0/8"),
                        ("ws://255.255.255.255:443/ats", "")):
        h = Hands(home, "--allow-plain", "--connect", connect, NO_PROXY=no,
                  HTTPS_PROXY="http://127.0.0.1:%d" % p.port)
        h.logged('msg="cannot connect to brain"')
        ats.missing(h.log(), "by a proxy")
        h.proc.kill()
        h.proc.wait()
    ats.equal(p.asked, [])
    for flags, env, says in (
            (("--proxy", "https://me:hidden@p:1"), {}, "--proxy: .*no other kind is spoken"),
            (("--proxy", "file:" + home.dir + "/none"), {}, "--proxy: .*/none: No such file"),
            ((), {"HTTPS_PROXY": "socks5://me:hidden@p:1"}, "HTTPS_PROXY: .*no other kind")):
        h = Hands(home, "--connect", FAR, *flags, **env)
        ats.check(h.proc.wait(20) != 0)
        ats.matches(h.log(), says)
        ats.missing(h.log(), "hidden")
    h = Hands(home, "--listen", "tls://127.0.0.1:0", "--proxy", "http://p:1")
    ats.equal(h.proc.wait(20), 2)
    ats.contains(h.log(), "--proxy needs --connect")
    home.ctl("shutdown")


ats.main()
