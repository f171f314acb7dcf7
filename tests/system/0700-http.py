#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MCP over Streamable HTTP with the real programs: who may ask, sessions that outlive every
process but brain, events, and what hostile bytes get for an answer."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import http_client
from http_client import Client, Server, write_token

INIT = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": http_client.INIT}


def serve(home, *args):
    home.start()
    return Server(home, *args)


@ats.test("a session over HTTP does what one over stdio does")
def _(home):
    server = serve(home)
    home.write("f.txt", "hello from a file\n")
    c = Client(server)
    ats.check(c.init["protocolVersion"] == "2025-11-25", c.init)
    ats.check(c.post("ping", {}).json()["result"] == {}, "ping")
    names = {t["name"] for t in c.post("tools/list", {}).json()["result"]["tools"]}
    ats.check({"Read", "Bash", "Grep"} <= names, names)
    ats.check("hello from a file" in c.text("Read", file_path="f.txt"), "Read")
    c.text("Bash", command="mkdir d; cd d")
    ats.check(c.text("Bash", command="pwd").strip().endswith("/d"), "the directory is kept")
    other = Client(server)
    ats.check(not other.text("Bash", command="pwd").strip().endswith("/d"), "sessions are apart")
    ats.check(c.post("no/such", {}).json()["error"]["code"] == -32601, "an unknown method")
    for id in ("ats-http", "", 1.5):
        a = c.conn.ask("POST", session=c.session,
                       body={"jsonrpc": "2.0", "id": id, "method": "ping"})
        ats.equal(a.json(), {"jsonrpc": "2.0", "id": id, "result": {}})
    a = c.conn.ask("DELETE", session=c.session)
    ats.check(a.status == 200, a.body)
    ats.check(c.post("ping", {}).status == 404, "it goes on after its end")
    server.again()
    ats.check(Client(server, c.session).post("ping", {}).status == 404,
              "it goes on after a restart")


@ats.test("who may ask is decided by the head, in order")
def _(home):
    server = serve(home, "--host", "tools.example", "--origin", "https://app.example")
    wrong = dict(Authorization="Bearer " + "0" * 64)
    rows = [
        (401, dict(Authorization=None)), (401, wrong),
        (401, dict(Authorization="Basic " + server.token)),
        (401, dict(Authorization="Bearer " + server.token[:-1])),
        (401, dict(Authorization="Bearer " + server.token + "0")),
        (401, dict(method="PUT", **wrong)), (401, dict(path="/", **wrong)),
        (401, dict(Host="evil.example", **wrong)),
        (403, dict(Host="evil.example")), (403, dict(Host=None)),
        (403, dict(Host="127.0.0.1.evil.example")), (403, dict(Host="evil.example:1")),
        (403, dict(Origin="http://evil.example")), (403, dict(Origin="null")),
        (403, dict(Origin="http://localhost.evil.example")),
        (404, dict(path="/")), (404, dict(path="/mcp/")), (404, dict(path="/mcpx")),
        (405, dict(method="PUT")), (405, dict(method="OPTIONS")), (405, dict(method="post")),
        (406, dict(Accept="text/html")),
        (411, dict(body=None, Content_Type="application/json")),
        (413, dict(body=None, Content_Type="application/json", Content_Length="99999999")),
        (415, dict(Content_Type="text/plain")), (415, dict(Content_Type=None)),
        (400, dict(MCP_Protocol_Version="1999-01-01", session="x",
                   body={"jsonrpc": "2.0", "id": 1, "method": "ping"})),
        (404, dict(session="x", body={"jsonrpc": "2.0", "id": 1, "method": "ping"})),
        (400, dict(body={"jsonrpc": "2.0", "id": 1, "method": "ping"})),
        (200, {}), (200, dict(Host="localhost")), (200, dict(Host="LOCALHOST:1")),
        (200, dict(Host="[::1]:80")), (200, dict(Host="tools.example")),
        (200, dict(Origin="http://localhost:3000")), (200, dict(Origin="https://app.example")),
        (200, dict(path="/mcp?x=1")), (200, dict(Content_Type="application/json; charset=utf-8")),
    ]
    for status, fields in rows:
        conn = server.connect()
        a = conn.ask(**{"body": INIT, **fields})
        ats.check(a.status == status, (fields, a.status, a.body))
        ats.check(a.status == 200 or server.token.encode() not in a.body, a.body)
        conn.close()


@ats.test("bytes that two readers could read differently are refused, and only they")
def _(home):
    server = serve(home)
    auth = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n" \
        "Content-Type: application/json\r\n" % server.token
    body = json.dumps(INIT)
    n = len(body)
    rows = [
        auth + "Content-Length: %d\r\nContent-Length: %d\r\n\r\n%s" % (n, n, body),
        auth + "Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n%s" % (n, body),
        auth + "Content-Length : %d\r\n\r\n%s" % (n, body),
        auth + "Content-Length: +%d\r\n\r\n%s" % (n, body),
        auth + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        auth + "Transfer-Encoding: chunked\r\n\r\nZZ\r\n",
        auth + "Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\n\r\n",
        auth + "X: a\r\n b\r\nContent-Length: %d\r\n\r\n%s" % (n, body),
        auth + "X: a\nY: b\r\nContent-Length: %d\r\n\r\n%s" % (n, body),
        "POST /mcp HTTP/1.0\r\n\r\n", "GET http://localhost/mcp HTTP/1.1\r\n\r\n", "\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ]
    for row in rows:
        conn = server.connect()
        conn.send(row.encode("latin-1"))
        a = conn.answer()
        ats.check(a.status == 400, (row, a.status))
        ats.check(conn.sock.recv(10) == b"", "the connection goes on after " + row)
        conn.close()
    conn = server.connect()
    conn.send(b"GET /mcp HTTP/1.1\r\nX: " + b"a" * 20000)
    ats.check(conn.answer().status == 431, "a head that is too large")
    # in pieces, and two in one
    whole = auth + "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (
        10, body[:10], n - 10, body[10:])
    conn = server.connect()
    for i in range(0, len(whole), 7):
        conn.send(whole[i:i + 7].encode())
    ats.check(conn.answer().status == 200, "a body in chunks")
    conn.send((whole + whole).encode())
    ats.check(conn.answer().status == 200 and conn.answer().status == 200, "two at once")
    a = conn.ask(body=b"{", session="x")
    ats.check(a.status == 400 and a.json()["error"]["code"] == -32700, a.body)
    for bad in ([INIT], 1, {"jsonrpc": "2.0", "id": None, "method": "ping"}, {"id": 1}):
        a = conn.ask(body=bad)
        ats.check(a.status == 400 and a.json()["error"]["code"] == -32600, a.body)
    # a large body that is refused is answered, not reset
    conn = server.connect()
    conn.request(body=b"x" * 17000000)
    ats.check(conn.answer().status == 413, "a large body")


@ats.test("progress comes as events, and what was lost of them can be asked for")
def _(home):
    server = serve(home)
    c = Client(server)
    slow = {"name": "Bash", "arguments": {"command": "echo one; read x < go; echo two"},
            "_meta": {"progressToken": "t"}}
    os.mkfifo(os.path.join(home.ws, "go"))
    os.chmod(os.path.join(home.ws, "go"), 0o666)
    c.conn.request(body=c.message("tools/call", slow), session=c.session)
    status, fields = c.conn.head()
    ats.check(status == 200 and fields["content-type"] == "text/event-stream", fields)
    first = c.conn.event()
    ats.check(first[1] == "", first)
    progress = c.conn.event()
    ats.check(json.loads(progress[1])["params"]["progressToken"] == "t", progress)
    c.conn.close()      # in the middle
    with open(os.path.join(home.ws, "go"), "w", encoding="ascii") as f:
        f.write("\n")
    c.conn = server.connect()
    c.conn.request("GET", session=c.session, Last_Event_ID=first[0])
    ats.check(c.conn.head()[0] == 200, "GET")
    got = []
    while (event := c.conn.event()) is not None:
        got.append(event)
    ats.check(got[0] == progress, got)
    ats.check("two" in json.dumps(json.loads(got[-1][1])["result"]), got)
    # a stranger's
    c.conn = server.connect()
    ats.check(c.conn.ask("GET", session=c.session, Last_Event_ID="ffff-1").status == 404, "")
    ats.check(c.conn.ask("GET", session="0" * 64).status == 404, "a session that nobody made")
    # several streams at once
    listener = server.connect()
    listener.request("GET", session=c.session)
    ats.check(listener.head()[0] == 200, "a stream for what is no answer")
    ats.check("x" in c.text("Bash", command="echo x"), "beside it")


@ats.test("a request outlives the engine; a session outlives ats-http")
def _(home):
    server = serve(home)
    c = Client(server)
    c.text("Bash", command="cd /tmp")
    home.write("n", "0")
    c.conn.request(body=c.message("tools/call", {
        "name": "Bash", "arguments": {"command": "echo $(($(cat %s/n)+1)) > %s/n; read x < %s/go"
                                      % ((home.ws,) * 3)}}), session=c.session)
    os.mkfifo(os.path.join(home.ws, "go"))
    os.chmod(os.path.join(home.ws, "go"), 0o666)
    ats.until(lambda: home.read("n").strip() == b"1", "the command runs")
    engine = home.pids("ats-engine")[0]
    os.kill(engine, signal.SIGKILL)
    ats.until(lambda: home.pids("ats-engine") not in ([], [engine]), "a new engine runs")
    with open(os.path.join(home.ws, "go"), "w", encoding="ascii") as f:
        f.write("\n")
    a = c.conn.answer()
    ats.check(a.status == 200 and not a.json()["result"].get("isError"), a.body)
    ats.check(home.read("n").strip() == b"1", "it ran twice")
    server.again()
    later = Client(server, c.session)
    ats.check(later.text("Bash", command="pwd").strip() == "/tmp", "the session is another one")
    forged = c.session[:-1] + ("0" if c.session[-1] != "0" else "1")
    ats.check(Client(server, forged).post("ping", {}).status == 404, "a forged id")


@ats.test("404 is only for what never ran: a client sends that again")
def _(home):
    server = serve(home)
    c = Client(server)
    c.text("Bash", command="true")
    c.conn.request(body=c.message("tools/call", {"name": "Bash", "arguments": {
        "command": "echo x >> ran; sleep 1000"}}), session=c.session)
    ats.until(lambda: os.path.exists(os.path.join(home.ws, "ran")), "it runs")
    sleeps = home.pids("sleep 1000")
    other = server.connect()
    ats.check(other.ask("DELETE", session=c.session).status == 200, "DELETE")
    a = c.conn.answer()
    ats.check(a.status == 200 and "may have run" in a.json()["error"]["message"], a.body)
    ats.equal(ats.wait_gone(sleeps), [])
    a = c.post("tools/call", {"name": "Bash", "arguments": {"command": "echo x >> ran"}})
    ats.check(a.status == 404, a.body)
    # brain dies, and what it knew of the session with it
    server.again()
    c = Client(server)
    c.text("Bash", command="true")
    server.again()
    again = Client(server, c.session)
    again.conn.request(body=c.message("tools/call", {"name": "Bash", "arguments": {
        "command": "echo y >> ran; sleep 1000"}}), session=c.session)
    ats.until(lambda: home.read("ran") == b"x\ny\n", "it runs")
    home.ctl("shutdown", code=0)
    shutil.rmtree(os.path.join(home.state, "ats"))
    home.start()
    a = again.conn.answer()
    ats.check(a.status == 200 and "may have run" in a.json()["error"]["message"], a.body)
    ats.check(again.post("ping", {}).status == 404, "a session that nobody knows")
    ats.equal(home.read("ran"), b"x\ny\n")


@ats.test("many clients; strangers who say nothing keep nobody out; the end is an end")
def _(home):
    server = serve(home)
    home.write("f.txt", "x\n")
    idle = []
    for _ in range(300):
        idle.append(socket.create_connection(("127.0.0.1", server.port)))
    idle[-1].sendall(b"POST /mcp HTTP/1.1\r\n")

    def one(i):
        c = Client(server)
        for k in range(5):
            ats.check(c.text("Bash", command="echo %d-%d" % (i, k)).strip() == "%d-%d" % (i, k),
                      "another's answer")
        c.close()
    http_client.together(12, one)
    for s in idle:
        s.close()
    c = Client(server)
    a = c.conn.ask(body=c.message("tools/call", {"name": "Bash", "arguments": {"command": "echo"}}),
                   session=c.session, Accept="text/event-stream")
    ats.check(a.status == 200 and a.fields["content-type"] == "text/event-stream", a.fields)
    home.ctl("shutdown", code=0)
    server.proc.send_signal(signal.SIGTERM)
    ats.check(server.proc.wait(20) == 0, "its end")


@ats.test("who takes events alone has even its handshake as one")
def _(home):
    server = serve(home)
    c = Client(server)
    for close in (False, True):
        conn = server.connect()
        conn.request(body=c.message("initialize", http_client.INIT), Accept="text/event-stream")
        status, fields = conn.head()
        ats.equal((status, fields["content-type"]), (200, "text/event-stream"))
        data = ""
        while not data:         # the first event has none, only its id
            data = conn.event()[1]
        ats.contains(json.loads(data)["result"], "protocolVersion")
        if not close:
            ats.equal(conn.event(), None)
        other = Client(server, fields["mcp-session-id"])
        other.note("notifications/initialized")
        ats.check(other.post("ping", {}).status == 200, "the session is there")
        conn.close()
    ats.check(c.post("ping", {}).status == 200, "the server is there")
    ats.equal(server.proc.poll(), None)


@ats.test("what it is started with is checked")
def _(home):
    home.start()
    token = os.path.join(home.dir, "t")

    def fails(*args, code=1):
        r = subprocess.run([ats.program("ats-http"), *args], env=home.env, cwd=home.ws,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ats.TIMEOUT)
        ats.check(r.returncode == code, r)
        return r.stderr.decode()
    ats.check("--token-file is missing" in fails(code=2), "no token")
    for where in ("0.0.0.0:1", "example.org:1", "[::]:1", "192.0.2.1:80"):
        ats.check("loopback" in fails("--token-file", token, "--listen", where, code=2), where)
    ats.check(token in fails("--token-file", token), "no file")
    for mode, text, said in ((0o644, "a" * 64, "chmod 600"), (0o600, "short", "32"),
                             (0o600, "a" * 30 + " " + "b" * 30, "visible")):
        with open(token, "w", encoding="ascii") as f:
            f.write(text)
        os.chmod(token, mode)
        ats.check(said in fails("--token-file", token), (mode, text))
    os.symlink("t", os.path.join(home.dir, "l"))
    ats.check("l" in fails("--token-file", os.path.join(home.dir, "l")), "a link")


@ats.test("a workspace that brain would refuse is refused before it listens, in the same words")
def _(home):
    home.start()
    token, _ = write_token(home)
    os.symlink(home.home, os.path.join(home.ws, "link"))
    os.mkdir(os.path.join(home.home, "project"))
    inside = home.write("token", "x" * 64, 0o600)
    for where, says in (("/", "the root directory cannot be given"), (home.home, "a home directory"),
                        (home.ws + "/link", "a home directory"), (home.dir, "contains the home"),
                        (home.run + "/ats", "brain's own directory"),
                        (home.state + "/ats/engine", "lies in brain's own directory"),
                        ("/etc", "belongs to the system"), ("/var", "as a whole"),
                        ("/proc", "the kernel's"), (inside, "not a directory")):
        r = subprocess.run([ats.program("ats-http"), "--token-file", token, "--workspace", where],
                           env=home.env, cwd=home.ws, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=ats.TIMEOUT, check=False)
        said = r.stderr.decode()
        ats.equal((r.returncode, said.count("\n")), (2, 1), said)
        ats.matches(said, r"\Aats-http: --workspace: .*%s" % says)
        brains = home.ctl("exec", "--workspace", os.path.realpath(where), "--", "true", code=125)
        ats.contains(brains.stderr.decode(), says)
    absent = subprocess.run([ats.program("ats-http"), "--token-file", token, "--workspace", "no"],
                            env=home.env, cwd=home.ws, stderr=subprocess.PIPE, check=False)
    ats.equal(absent.returncode, 2)
    # Nor is a token served that the tools can read.
    for words in (["--token-file", inside], ["--token-file", token, "--metrics-token-file", inside]):
        r = subprocess.run([ats.program("ats-http"), *words], env=home.env, cwd=home.ws,
                           stderr=subprocess.PIPE, timeout=ats.TIMEOUT, check=False)
        ats.equal(r.returncode, 2)
        ats.contains(r.stderr, b"token must not lie in the workspace")


if __name__ == "__main__":
    ats.main()
