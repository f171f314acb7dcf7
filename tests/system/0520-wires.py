#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wires against other programs: the npm package ws (pinned) as server and as client, with and
without TLS, and openssl s_client. What ours is made of is tests/lib/wirepeer.c."""
import functools
import hashlib
import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

WS = "ws@8.18.3"
LIB = os.path.join(ats.TOP, "tests", "lib")
SIZES = ("20", "21", "125", "126", "127", "65535", "65536", "100000", "5000000", "20")


@functools.lru_cache(maxsize=1)
def installed():
    r = subprocess.run([os.path.join(LIB, "npm-install"), WS], stdout=subprocess.PIPE,
                       check=False, env={**os.environ, "ATS_BUILD": ats.BUILD})
    return r.returncode, r.stdout.decode().strip()


def node(*args):
    code, text = installed()
    if code == 77:
        ats.skip(text)
    ats.equal(code, 0, text)
    return ["node", os.path.join(LIB, "ws_peer.mjs"), text, *args]


def wirepeer(*args):
    for d in (ats.BUILD, os.path.dirname(ats.BUILD)):
        path = os.path.join(d, "bench", "wirepeer")
        if os.path.exists(path):
            return [path, *args]
    return ats.skip("no bench/wirepeer: make check builds it")


class Server:
    """A program that prints what it has to say, and its port last."""

    def __init__(self, argv):
        self.said = {}
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, bufsize=0)
        while "port" not in self.said:
            key, value = self.line().split(" ", 1)
            self.said[key] = value

    def line(self):
        ats.wait_readable(self.process.stdout, ats.TIMEOUT)
        line = self.process.stdout.readline().decode().rstrip("\n")
        ats.check(line, "the server ended")
        return line

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def output(argv, data=b""):
    r = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, input=data,
                       check=False, timeout=120)
    return r.stdout.decode(errors="replace")


def certificate(d):
    """A certificate of openssl's, its key, and the pin of it."""
    cert, key = os.path.join(d, "cert.pem"), os.path.join(d, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x", "-keyout", key,
                    "-out", cert], check=True, stderr=subprocess.DEVNULL)
    return cert, key, pin_of(open(cert, "rb").read())


def pin_of(pem):
    text = subprocess.run(["openssl", "x509", "-pubkey", "-noout"], input=pem, check=True,
                          stdout=subprocess.PIPE).stdout
    der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "DER"], input=text,
                         check=True, stdout=subprocess.PIPE).stdout
    return hashlib.sha256(der).hexdigest()


def our_client(scheme, server, pin, closed):
    text = output(wirepeer("connect", "%s://localhost:%s/link" % (scheme, server.said["port"]),
                           pin, *SIZES))
    ats.contains(text, "echoed %d frames" % len(SIZES))
    ats.equal(server.line(), closed)


@ats.test("our client, the server of npm's ws: fragments and pings, a message is a frame",
          home=False)
def _():
    with Server(node("serve")) as server:
        our_client("ws", server, "-", "close 1000")
        text = output(wirepeer("connect", "ws://127.0.0.1:%s/other" % server.said["port"], "-",
                               "20"))
        ats.contains(text, "the server answered 400")


@ats.test("the same over TLS, pinned; with another pin it is refused")
def _(home):
    cert, key, pin = certificate(home.dir)
    with Server(node("serve", cert, key)) as server:
        our_client("wss", server, pin, "close 1000")
        text = output(wirepeer("connect", "wss://127.0.0.1:%s/link" % server.said["port"],
                               "0" * 64, "20"))
        ats.contains(text, "closed not_permitted: the peer's TLS key is not the one")


@ats.test("the client of npm's ws, our server", home=False)
def _():
    with Server(wirepeer("listen", "ws://127.0.0.1:0/link")) as server:
        url = "ws://127.0.0.1:%s/" % server.said["port"]
        text = output(node("connect", url + "link", *SIZES))
        ats.equal(text, "echoed %d frames, pongs true\nclose 1000\n" % len(SIZES))
        ats.equal(server.line(), "closed closed: the peer closed the connection")
        ats.contains(output(node("connect", url + "other", "20")), "server response: 404")
        ats.contains(server.line(), "another path")


@ats.test("the same over TLS", home=False)
def _():
    with Server(wirepeer("listen", "wss://localhost:0/link")) as server:
        text = output(node("connect", "wss://127.0.0.1:%s/link" % server.said["port"], *SIZES))
        ats.equal(text, "echoed %d frames, pongs true\nclose 1000\n" % len(SIZES))


@ats.test("openssl s_client: TLS 1.3 alone, the pin that was told, no session tickets", home=False)
def _():
    frame = struct.pack(">IBBHQI", 25, 4, 1, 0, 7, 0) + b"hello"
    with Server(wirepeer("listen", "tls://127.0.0.1:0")) as server:
        s_client = ["openssl", "s_client", "-connect", "127.0.0.1:" + server.said["port"]]
        p = subprocess.Popen([*s_client, "-quiet", "-tls1_3"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        p.stdin.write(frame)
        p.stdin.flush()
        got = b""
        while len(got) < len(frame):
            ats.wait_readable(p.stdout, ats.TIMEOUT)
            more = os.read(p.stdout.fileno(), 100)
            ats.check(more, "s_client ended")
            got += more
        ats.equal(got, frame)
        p.kill()
        p.communicate()
        ats.contains(server.line(), "closed closed: the connection ended without an end of TLS")
        text = output(s_client)
        ats.contains(text, "TLSv1.3")
        ats.check("Session-ID:" not in text, "a ticket came: " + text)
        ats.equal(pin_of(text.encode()), server.said["pin"])
        ats.contains(server.line(), "closed closed")
        ats.contains(output([*s_client, "-tls1_2"]), "alert protocol version")
        ats.contains(server.line(), "unsupported protocol")


ats.main()
