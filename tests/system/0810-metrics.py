#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""/metrics of ats-http: whom it answers, what a scraper reads, and what it says without brain."""
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import promtext
from http_client import Client, Server


def write_secret(home, name, text, mode=0o600):
    path = os.path.join(home.dir, name)
    with open(path, "w", encoding="ascii") as f:
        f.write(text + "\n")
    os.chmod(path, mode)
    return path


def serve(home, brain=True, **kw):
    if brain:
        home.start()
    token = secrets.token_hex(32)
    server = Server(home, "--metrics-token-file", write_secret(home, "metrics-token", token), **kw)
    server.metrics_token = token
    return server


def scrape(server, conn=None, **fields):
    conn = conn or server.connect()
    fields.setdefault("Authorization", "Bearer " + server.metrics_token)
    return conn.ask("GET", "/metrics", **fields)


@ats.test("what was called is in what a scraper reads, over a port and a Unix socket")
def _(home):
    server = serve(home)
    c = Client(server)
    home.write("f.txt", "hello\n")
    for _ in range(3):
        c.text("Read", file_path="f.txt")
    c.post("ping", {}, Authorization="Bearer wrong")
    a = scrape(server)
    ats.equal((a.status, a.fields["content-type"]),
              (200, "text/plain; version=0.0.4; charset=utf-8"))
    m = promtext.read(a.body.decode("ascii"))
    ats.equal(m["ats_calls_total"].value(tool="Read", outcome="ok"), 3)
    ats.equal(m["ats_up"].value(), 1)
    ats.equal((m["ats_sandboxes"].value(state="ready"), m["ats_http_sessions"].value()), (1, 1))
    answers = m["ats_http_responses_total"]
    ats.equal((answers.value(code="401"), answers.value(code="202")), (1, 1))
    ats.check(answers.value(code="200") >= 4, answers.series)
    hops = m["ats_call_hop_seconds"]
    all_calls = sum(m["ats_calls_total"].series.values())
    ats.check(hops.value("_count", hop="total") == all_calls >= 3, hops.series)
    if shutil.which("promtool"):
        p = subprocess.run(["promtool", "check", "metrics"], input=a.body, capture_output=True,
                           check=False)
        ats.check(p.returncode == 0, p.stdout + p.stderr)
    path = os.path.join(home.dir, "metrics.sock")
    other = serve(home, brain=False, listen="unix:" + path)
    other.path = path
    other.port = 0
    ats.equal(promtext.read(scrape(other).body.decode("ascii"))["ats_calls_total"].value(
        tool="Read", outcome="ok"), 3)


@ats.test("only its own token reads it, and reads nothing else")
def _(home):
    server = serve(home)
    conn = server.connect

    def status(method, path, token, **fields):
        return conn().ask(method, path, Authorization=token and "Bearer " + token,
                          **fields).status

    tools, metrics = server.token, server.metrics_token
    for token in (None, tools, metrics[:-1], metrics + "0", ""):
        ats.equal(status("GET", "/metrics", token), 401, token)
    for path in ("/mcp", "/", "/metrics/", "/metrics2", "//metrics", "/METRICS", "/mcp?metrics"):
        ats.equal(status("GET", path, metrics), 401, path)
    ats.equal(status("POST", "/metrics", tools, body={}), 401)
    for method in ("POST", "PUT", "HEAD", "get"):
        a = conn().ask(method, "/metrics", Authorization="Bearer " + metrics)
        ats.equal((a.status, a.fields["allow"]), (405, "GET"), method)
    ats.equal(status("GET", "/metrics", metrics, Host="evil.example"), 403)
    ats.equal(status("GET", "/metrics", metrics, Origin="https://evil.example"), 403)
    ats.equal(status("GET", "/metrics", metrics, body={}), 400)
    ats.equal(status("GET", "/metrics?name[]=x", metrics), 200)
    one = conn()
    for _ in range(3):		# one connection, request after request
        ats.equal(scrape(server, one).status, 200)


@ats.test("without its token file it is not there")
def _(home):
    home.start()
    server = Server(home)
    ats.equal(server.connect().ask("GET", "/metrics").status, 404)
    ats.equal(server.connect().ask("GET", "/metrics", Authorization=None).status, 401)


@ats.test("a bad token file, or one token for both, does not start")
def _(home):
    home.start()
    token = secrets.token_hex(32)
    tools = write_secret(home, "tools", token)
    for name, text, mode, why in (("short", "x" * 31, 0o600, "32"),
                                  ("same", token, 0o600, "another"),
                                  ("open", "y" * 32, 0o644, "nobody else")):
        p = subprocess.run([ats.program("ats-http"), "--token-file", tools, "--listen",
                            "127.0.0.1:0", "--metrics-token-file",
                            write_secret(home, name, text, mode)], env=home.env, cwd=home.ws,
                           capture_output=True, timeout=ats.TIMEOUT, check=False)
        ats.equal(p.returncode, 1, name)
        ats.contains(p.stderr.decode(), why)
        ats.contains(p.stderr.decode(), "--metrics-token-file")


@ats.test("without brain it says so, with what ats-http itself has counted")
def _(home):
    server = serve(home)
    ats.equal(promtext.read(scrape(server).body.decode())["ats_up"].value(), 1)
    home.ctl("shutdown", code=0)
    m = promtext.read(scrape(server).body.decode())
    ats.equal((m["ats_up"].value(), "ats_calls_total" in m), (0, False))
    ats.equal(m["ats_http_responses_total"].value(code="200"), 1)


@ats.test("an engine that does not answer holds up nobody but the scrapers, and those not for long")
def _(home):
    server = serve(home)
    c = Client(server)
    engine = home.pids("ats-engine")[0]
    os.kill(engine, signal.SIGSTOP)
    try:
        conns = [server.connect() for _ in range(9)]
        for conn in conns:
            conn.request("GET", "/metrics", Authorization="Bearer " + server.metrics_token)
        gone = server.connect()
        gone.request("GET", "/metrics", Authorization="Bearer " + server.metrics_token)
        gone.close()
        ats.equal(server.connect().ask("GET", "/no", Authorization=None).status, 401)
        answers = [conn.answer() for conn in conns]
    finally:
        os.kill(engine, signal.SIGCONT)
    ats.equal(sorted(a.status for a in answers), [200] * 8 + [503])
    for a in answers:
        if a.status == 200:
            ats.equal(promtext.read(a.body.decode())["ats_up"].value(), 0)
    ats.equal(promtext.read(scrape(server).body.decode())["ats_up"].value(), 1)
    ats.equal(c.post("ping", {}).status, 200)


@ats.test("what is at brain's door instead of it ends up as no metrics, whatever it says")
def _(home):
    os.makedirs(os.path.join(home.run, "ats"), mode=0o700, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(home.door_path)
    listener.listen(8)
    home.open_things.append(listener)
    server = serve(home, brain=False)
    for said in (b"", b"\n", b"{}\n", b"nonsense\n", b'{"result":1}\n', b'{"result":{"text":1}}\n',
                 b'{"error":{"code":1,"message":"x"}}\n', b'{"result":{"text":"\\ud800"}}\n',
                 b"x" * (3 << 20), b'{"result":{"text":"ats_x 1\\n"'):
        conn = server.connect()
        conn.request("GET", "/metrics", Authorization="Bearer " + server.metrics_token)
        ats.wait_readable(listener, ats.TIMEOUT)
        peer, _ = listener.accept()
        peer.recv(1 << 16)
        try:
            peer.sendall(said)
        except BrokenPipeError:
            pass		# it had enough
        peer.close()
        m = promtext.read(conn.answer().body.decode())
        ats.equal((m["ats_up"].value(), "ats_x" in m), (0, False), said[:40])


ats.main()
