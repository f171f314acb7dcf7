# SPDX-License-Identifier: Apache-2.0
"""A client of ats-http that says each byte itself, and the server it talks to."""
import json
import os
import secrets
import socket
import subprocess
import threading

import ats

INIT = {"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}


def write_token(home):
    """(file, token) of a new one."""
    token, path = secrets.token_hex(32), os.path.join(home.dir, "http-token")
    with open(path, "w", encoding="ascii") as f:
        f.write(token + "\n")
    os.chmod(path, 0o600)
    return path, token


class Place:
    """Where a server listens: by its token and a port, or a path."""

    def __init__(self, where, token):
        self.token = token
        self.path = where[5:] if where.startswith("unix:") else None
        self.port = 0 if self.path else int(where.rsplit(":", 1)[1].split("/")[0])

    def connect(self):
        return Connection(self)


class Server:
    """ats-http of a home, whose brain runs."""

    path = None

    def __init__(self, home, *args, listen="127.0.0.1:0"):
        self.home = home
        self.token_file, self.token = write_token(home)
        self.log_path = os.path.join(home.dir, "http.log")
        self.args = [ats.program("ats-http"), "--token-file", self.token_file,
                     "--listen", listen, *args]
        self.start()

    def start(self):
        with open(self.log_path, "ab") as log:
            self.proc = self.home.popen(*self.args, stdout=subprocess.PIPE, stderr=log)
        self.where = self.proc.stdout.readline().decode().strip()
        if self.where.startswith("http"):
            self.port = int(self.where.rsplit(":", 1)[1].split("/")[0])

    def again(self):
        """Killed, and started at the same port."""
        self.proc.kill()
        self.proc.wait()
        self.args[self.args.index("--listen") + 1] = "127.0.0.1:%d" % self.port
        self.start()

    def connect(self):
        return Connection(self)


class Answer:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body

    def json(self):
        return json.loads(self.body)


class Connection:
    def __init__(self, server):
        self.server = server
        if server.path:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(ats.TIMEOUT)
            self.sock.connect(server.path)
        else:
            self.sock = socket.create_connection(("127.0.0.1", server.port),
                                                 timeout=ats.TIMEOUT)
        self.buffer = b""

    def send(self, data):
        self.sock.sendall(data)

    def more(self):
        data = self.sock.recv(1 << 16)
        if not data:
            raise EOFError
        self.buffer += data

    def until(self, mark):
        while mark not in self.buffer:
            self.more()
        out, self.buffer = self.buffer.split(mark, 1)
        return out

    def head(self):
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        fields = {k.lower(): v for k, v in (x.split(": ", 1) for x in lines[1:])}
        return int(lines[0].split()[1]), fields

    def answer(self):
        status, fields = self.head()
        n = int(fields.get("content-length", 0))
        while len(self.buffer) < n:
            self.more()
        body, self.buffer = self.buffer[:n], self.buffer[n:]
        return Answer(status, fields, body)

    def event(self):
        """(id, data) of the next event of a stream; None at its end."""
        for _ in range(4):      # comments between them come every 15 seconds
            try:
                text = self.until(b"\n\n").decode()
            except EOFError:
                return None
            if not text.startswith(":"):
                lines = dict(x.split(": ", 1) if ": " in x else (x.rstrip(":"), "")
                             for x in text.split("\n"))
                return lines.get("id"), lines.get("data", "")
        raise ats.Failure("no event comes")

    def request(self, method="POST", path="/mcp", body=None, session=None, **fields):
        """Sends one; None takes a field away."""
        data = b"" if body is None else body
        if not isinstance(data, bytes):
            data = json.dumps(data).encode()
        all_fields = {"Host": "127.0.0.1:%d" % self.server.port,
                      "Authorization": "Bearer " + self.server.token,
                      "Accept": "application/json, text/event-stream",
                      "Content-Type": "application/json" if body is not None else None,
                      "Content-Length": str(len(data)) if body is not None else None,
                      "Mcp-Session-Id": session}
        all_fields.update({k.replace("_", "-"): v for k, v in fields.items()})
        head = "%s %s HTTP/1.1\r\n" % (method, path)
        head += "".join("%s: %s\r\n" % (k, v) for k, v in all_fields.items() if v is not None)
        self.send(head.encode() + b"\r\n" + data)

    def ask(self, *args, **kw):
        self.request(*args, **kw)
        return self.answer()

    def close(self):
        self.sock.close()


class Quiet(Connection):
    """One that takes little into its own buffers."""

    def __init__(self, server):
        super().__init__(server)
        self.sock.close()
        self.sock = socket.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.sock.settimeout(ats.TIMEOUT)
        self.sock.connect(("127.0.0.1", server.port))


class Client:
    """An MCP session."""

    def __init__(self, server, session=None):
        self.server = server
        self.conn = server.connect()
        self.session = session
        self.last = 0
        if session is None:
            a = self.post("initialize", INIT)
            ats.check(a.status == 200, (a.status, a.body))
            self.session = a.fields["mcp-session-id"]
            self.init = a.json()["result"]
            self.note("notifications/initialized")

    def message(self, method, params):
        self.last += 1
        return {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}

    def post(self, method, params, **fields):
        return self.conn.ask(body=self.message(method, params), session=self.session, **fields)

    def note(self, method, params=None):
        a = self.conn.ask(body={"jsonrpc": "2.0", "method": method, "params": params or {}},
                          session=self.session)
        ats.check(a.status == 202, (a.status, a.body))

    def tool(self, name, meta=None, **arguments):
        params = {"name": name, "arguments": arguments}
        if meta:
            params["_meta"] = meta
        a = self.post("tools/call", params)
        ats.check(a.status == 200, (a.status, a.body))
        return a.json()["result"]

    def text(self, name, **arguments):
        r = self.tool(name, **arguments)
        text = "".join(b.get("text", "") for b in r["content"])
        ats.check(not r.get("isError"), text)
        return text

    def close(self):
        self.conn.close()


def together(n, fn):
    """fn(i) in n threads; what they raised, first."""
    wrong = []

    def run(i):
        try:
            fn(i)
        except Exception as e:      # to be shown by the test
            wrong.append(e)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if wrong:
        raise wrong[0]


MODERN = "2026-07-28"
KEY = "io.modelcontextprotocol/"


class Modern:
    """A client of 2026-07-28: each request says all by itself. fields of head replace or, as
    None, take away what belongs there; _meta of params likewise."""

    def __init__(self, server, name=""):
        self.server, self.path = server, "/mcp" + ("?session=" + name if name else "")
        self.conn = server.connect()
        self.last = 0

    def message(self, method, params, meta=None, id=None):
        self.last += 1
        m = {KEY + "protocolVersion": MODERN, KEY + "clientCapabilities": {},
             KEY + "clientInfo": {"name": "test", "version": "1"}, **(meta or {})}
        m = {k: v for k, v in m.items() if v is not None}
        return {"jsonrpc": "2.0", "id": self.last if id is None else id, "method": method,
                "params": {**params, "_meta": m}}

    def send(self, method, params=None, meta=None, id=None, **fields):
        """Sends one; the answer is the connection's next. Returns its id."""
        body = self.message(method, params or {}, meta, id)
        head = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method,
                "Mcp-Name": (params or {}).get("name"), **fields}
        self.conn.request(path=self.path, body=body, **head)
        return body["id"]

    def ask(self, *args, **kw):
        self.send(*args, **kw)
        a = self.conn.answer()
        if a.fields.get("connection") == "close":
            self.again()
        return a

    def again(self):
        self.conn.close()
        self.conn = self.server.connect()

    def call(self, tool, **arguments):
        a = self.ask("tools/call", {"name": tool, "arguments": arguments})
        ats.check(a.status == 200, (a.status, a.body))
        return a.json()["result"]

    def text(self, tool, **arguments):
        r = self.call(tool, **arguments)
        text = "".join(b.get("text", "") for b in r["content"])
        ats.check(not r.get("isError"), text)
        return text

    def close(self):
        self.conn.close()
