# SPDX-License-Identifier: Apache-2.0
"""Clients of the JSON doors: brain.sock and MCP over stdio. Tests import ats."""
import array
import contextlib
import errno
import json
import os
import select
import socket
import subprocess
import time

from ats_base import TIMEOUT, Failure


# ---- JSON lines -------------------------------------------------------------------------------

class RpcError(Exception):
    def __init__(self, error):
        super().__init__("%s (%s)" % (error.get("message"), error.get("data", error.get("code"))))
        self.code = error.get("code")
        self.data = error.get("data") or {}


MODERN = "2026-07-28"
MCP_KEY = "io.modelcontextprotocol/"


def modern_meta(more=None, version=MODERN, capabilities=None, info=True):
    """What each request of MCP 2026-07-28 has in _meta; None leaves a member out."""
    meta = {MCP_KEY + "protocolVersion": version,
            MCP_KEY + "clientCapabilities": {} if capabilities is None else capabilities,
            MCP_KEY + "clientInfo": {"name": "test", "version": "1"} if info is True else info}
    return {**{k: v for k, v in meta.items() if v is not None}, **(more or {})}


class Rpc:
    """JSON-RPC 2.0, one object a line. Subclasses give _send(bytes, fds) and _recv(timeout)."""

    def __init__(self):
        self.last_id = 0
        self.answers = {}
        self.notes = []
        self.buffer = b""

    def send(self, method, params=None, fds=(), id=None):
        """Sends a request and returns its id."""
        if id is None:
            self.last_id += 1
            id = self.last_id
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        if params is not None:
            message["params"] = params
        self._send(json.dumps(message).encode() + b"\n", fds)
        return id

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self._send(json.dumps(message).encode() + b"\n", ())

    def message(self, timeout=TIMEOUT):
        """The next message from the peer; None at its end."""
        end = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            data = self._recv(end - time.monotonic())
            if not data:
                return None
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def answer(self, id, timeout=TIMEOUT):
        """The whole answer to a request; others and notifications are kept."""
        end = time.monotonic() + timeout
        while id not in self.answers:
            m = self.message(end - time.monotonic())
            if m is None:
                raise Failure("the connection ended before the answer to %r" % (id,))
            if "method" in m:
                self.notes.append(m)
            else:
                self.answers[m.get("id")] = m
        return self.answers.pop(id)

    def request(self, method, params=None, fds=(), timeout=TIMEOUT, id=None):
        """The result; RpcError when it is an error."""
        m = self.answer(self.send(method, params, fds, id), timeout)
        if "error" in m:
            raise RpcError(m["error"])
        return m["result"]

    # MCP
    def modern(self, method, params=None, meta=None, id=None, **claim):
        """Sends a request of MCP 2026-07-28 (modern_meta) and returns its id."""
        return self.send(method, {**(params or {}), "_meta": modern_meta(meta, **claim)}, id=id)

    def initialize(self, version="2025-06-18"):
        r = self.request("initialize", {"protocolVersion": version, "capabilities": {},
                                        "clientInfo": {"name": "test", "version": "1"}})
        self.notify("notifications/initialized")
        return r

    def tool(self, name, arguments=None, timeout=TIMEOUT, meta=None, **kw):
        """tools/call: the result with content and isError."""
        params = {"name": name, "arguments": kw if arguments is None else arguments}
        if meta:
            params["_meta"] = meta
        return self.request("tools/call", params, timeout=timeout)

    def text(self, name, timeout=TIMEOUT, **kw):
        """The text of a call that must succeed."""
        r = self.tool(name, kw, timeout)
        text = "".join(c.get("text", "") for c in r["content"])
        if r.get("isError"):
            raise Failure("%s: %s" % (name, text))
        return text

    def error(self, name, timeout=TIMEOUT, **kw):
        """The text of a call that must be a tool error."""
        r = self.tool(name, kw, timeout)
        text = "".join(c.get("text", "") for c in r["content"])
        if not r.get("isError"):
            raise Failure("%s should have failed: %.500s" % (name, text))
        return text


def wait_readable(fd, timeout):
    ready, _, _ = select.select([fd], [], [], max(0.0, timeout))
    if not ready:
        raise Failure("no answer in time")


class Door(Rpc):
    """A client of brain.sock."""

    def __init__(self, path):
        super().__init__()
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(path)

    def _send(self, data, fds):
        while data:
            anc = []
            if fds:
                anc = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
            n = self.sock.sendmsg([data], anc)
            data = data[n:]
            fds = ()

    def _recv(self, timeout):
        wait_readable(self.sock, timeout)
        try:
            return self.sock.recv(1 << 20)
        except ConnectionResetError:
            return b""

    def exec(self, argv, call_id, stdin=b"", timeout=TIMEOUT, **kw):
        """ats/exec with pipes of ours: (answer, stdout, stderr). stdin None: no descriptor."""
        names, pass_fds, close = [], [], []
        in_w = None
        if stdin is not None:
            in_r, in_w = os.pipe()
            names.append("stdin")
            pass_fds.append(in_r)
        out = {}
        for name in ("stdout", "stderr"):
            r, w = os.pipe()
            os.set_blocking(w, False)
            names.append(name)
            pass_fds.append(w)
            out[name] = [r, b""]
        params = {"argv": argv, "call_id": call_id, "fds": names}
        params.update(kw)
        id = self.send("ats/exec", params, pass_fds)
        close.extend(pass_fds)
        for fd in close:
            os.close(fd)
        end = time.monotonic() + timeout
        readers = {v[0]: v for v in out.values()}
        if in_w is not None:
            os.set_blocking(in_w, False)
        try:
            while readers:
                r, w, _ = select.select(list(readers), [in_w] if in_w is not None else [], [],
                                        max(0.0, end - time.monotonic()))
                if not r and not w:
                    raise Failure("exec: no end of output in time")
                for fd in r:
                    data = os.read(fd, 65536)
                    readers[fd][1] += data
                    if not data:
                        del readers[fd]
                if w:
                    try:
                        stdin = stdin[os.write(in_w, stdin[:65536]):]
                    except OSError as e:
                        if e.errno not in (errno.EPIPE, errno.EAGAIN):
                            raise
                        stdin = b"" if e.errno == errno.EPIPE else stdin
                    if not stdin:
                        os.close(in_w)
                        in_w = None
        finally:
            if in_w is not None:
                os.close(in_w)
            for v in out.values():
                os.close(v[0])
        m = self.answer(id, max(0.1, end - time.monotonic()))
        if "error" in m:
            raise RpcError(m["error"])
        return m["result"], out["stdout"][1], out["stderr"][1]

    def close(self):
        self.sock.close()


class Mcp(Rpc):
    """A client of `atsctl mcp` (or any MCP server on stdio)."""

    def __init__(self, argv, env, cwd):
        super().__init__()
        self.proc = subprocess.Popen(argv, env=env, cwd=cwd, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)

    def _send(self, data, fds):
        self.proc.stdin.write(data)

    def _recv(self, timeout):
        wait_readable(self.proc.stdout, timeout)
        return os.read(self.proc.stdout.fileno(), 1 << 20)

    def end(self, timeout=TIMEOUT):
        """Closes stdin as a client does and returns (exit status, stderr)."""
        self.proc.stdin.close()
        err = self.proc.stderr.read()
        return self.proc.wait(timeout), err

    def close(self):
        for f in (self.proc.stdin, self.proc.stdout, self.proc.stderr):
            with contextlib.suppress(OSError):
                f.close()
        try:
            self.proc.wait(5)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
