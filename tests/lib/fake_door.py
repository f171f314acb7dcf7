#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A brain without an engine: vault.sock and brain.sock, scripted by a test.

    brain = FakeBrain(home.run + "/ats")
    @brain.on("tools/call")
    def _(conn, message, fds): return {"content": []}       # the result; None: no answer yet

Handlers run in the thread of their connection. What came is kept in brain.seen (messages)
and brain.attached (parameters of attach); brain.wait_for waits for it. Run as a program it
takes the arguments of ats-brain, so that tests can let atsctl start it.
"""
import array
import fcntl
import json
import os
import socket
import struct
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ats


class Fail(Exception):
    """Raised by a handler: the answer is this error."""

    def __init__(self, message, name=None, code=-32000):
        super().__init__(message)
        self.error = {"code": code, "message": message}
        if name:
            self.error["data"] = {"code": name}


class Conn:
    def __init__(self, brain, sock):
        self.brain = brain
        self.sock = sock
        self.lock = threading.Lock()

    def send(self, obj):
        line = obj if isinstance(obj, bytes) else json.dumps(obj).encode() + b"\n"
        with self.lock:
            try:
                self.sock.sendall(line)
            except OSError:
                pass

    def answer(self, message, result):
        self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def serve(self):
        data, fds = b"", []
        while True:
            try:
                part, anc, _, _ = self.sock.recvmsg(1 << 16, socket.CMSG_SPACE(8 * 4))
            except OSError:
                break
            for level, kind, raw in anc:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    got = array.array("i")
                    got.frombytes(raw[:len(raw) - len(raw) % got.itemsize])
                    fds.extend(got)
            if not part:
                break
            data += part
            while b"\n" in data:
                line, data = data.split(b"\n", 1)
                taken, fds = fds, []
                self.line(line, taken)
        self.sock.close()
        self.brain.left(self)

    def line(self, line, fds):
        try:
            message = json.loads(line)
        except ValueError:
            self.send({"jsonrpc": "2.0", "id": None,
                       "error": {"code": -32700, "message": "parse error"}})
            return
        self.brain.note(message)
        handler = self.brain.handlers.get(message.get("method"))
        try:
            result = handler(self, message, fds) if handler else None
            if handler is None and "id" in message:
                raise Fail("no such method", code=-32601)
        except Fail as e:
            self.send({"jsonrpc": "2.0", "id": message.get("id"), "error": e.error})
            return
        if result is not None and "id" in message:
            self.answer(message, result)


class FakeBrain:
    def __init__(self, directory):
        self.directory = directory
        self.handlers = {
            "ats/session.attach": self.attach,
            "initialize": lambda c, m, f: {"protocolVersion": "2025-06-18", "capabilities": {},
                                           "serverInfo": {"name": "fake", "version": "0"}},
            "notifications/initialized": lambda c, m, f: None,
            "notifications/cancelled": lambda c, m, f: None,
        }
        self.changed = threading.Condition()
        self.seen, self.attached, self.registered, self.conns = [], [], [], []
        self.socks = []
        self.stopping = threading.Event()
        self.answer_vault = None
        os.makedirs(directory, 0o700, exist_ok=True)
        self.start()

    def on(self, method):
        def register(fn):
            self.handlers[method] = fn
            return fn
        return register

    # state, shared by threads
    def note(self, message):
        with self.changed:
            self.seen.append(message)
            self.changed.notify_all()

    def left(self, conn):
        with self.changed:
            self.conns.remove(conn)
            self.changed.notify_all()

    def wait_for(self, condition, what, timeout=ats.TIMEOUT):
        with self.changed:
            if not self.changed.wait_for(condition, timeout):
                raise ats.Failure("not within %g s: %s; seen %r" % (timeout, what, self.seen))

    def requests(self, method):
        return [m for m in self.seen if m.get("method") == method]

    def wait_requests(self, method, n=1):
        self.wait_for(lambda: len(self.requests(method)) >= n, "%d %s" % (n, method))
        return self.requests(method)

    def attach(self, conn, message, fds):
        with self.changed:
            self.attached.append(message["params"])
            self.changed.notify_all()
        return {"session": message["params"]["session"], "sandbox": "b-0123456789ab",
                "workspace": "/"}

    # sockets
    def listen(self, name, kind):
        path = os.path.join(self.directory, name)
        if os.path.exists(path):
            os.unlink(path)
        s = socket.socket(socket.AF_UNIX, kind)
        s.bind(path)
        s.listen(64)
        self.socks.append(s)
        return s

    def start(self):
        vault = self.listen("vault.sock", socket.SOCK_SEQPACKET)
        door = self.listen("brain.sock", socket.SOCK_STREAM)
        self.thread(self.accept, vault, self.serve_vault)
        self.thread(self.accept, door, self.serve_door)

    @staticmethod
    def thread(fn, *args):
        threading.Thread(target=fn, args=args, daemon=True).start()

    def accept(self, listener, serve):
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            self.thread(serve, sock)

    def serve_door(self, sock):
        conn = Conn(self, sock)
        with self.changed:
            self.conns.append(conn)
        conn.serve()

    def serve_vault(self, sock):
        with sock:
            while True:
                data = sock.recv(65536)
                if not data:
                    return
                name, seq, values = ats.Vault.unpack(data)
                answer = self.answer_vault and self.answer_vault(name, values)
                if not answer and name in ("REGISTER", "FIND_SESSION"):
                    with self.changed:
                        self.registered.append((name, values))
                    answer = ("OK", "s-0123456789ab", "b-0123456789ab")
                elif not answer:
                    answer = ("OK", '{"pid":1}' if name == "VAULT_STATUS" else "", "")
                sock.sendall(ats.Vault.pack(answer[0], seq, *answer[1:]))
                if name == "SHUTDOWN":
                    self.stopping.set()
                    threading.Event().wait()    # the connection ends with the process

    def drop(self):
        """The engine dies: its connections end."""
        with self.changed:
            conns = list(self.conns)
        for c in conns:
            c.close()

    def stop(self):
        """Brain dies: nothing listens any more."""
        for s in self.socks:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()
        self.socks = []
        for name in ("vault.sock", "brain.sock"):
            try:
                os.unlink(os.path.join(self.directory, name))
            except FileNotFoundError:
                pass
        self.drop()

    close = stop


def main():
    """ats-brain --ready-fd N --runtime DIR --state DIR, until SHUTDOWN."""
    args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    lock = os.open(os.path.join(args["--runtime"], "brain.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    ready = int(args["--ready-fd"])
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.write(ready, b"another brain runs\n")
        sys.exit(1)
    with open(os.path.join(args["--state"], "starts"), "a", encoding="utf-8") as f:
        f.write("%s\n" % " ".join(sorted(os.environ)))
    if os.environ.get("LANG") == "broken":
        os.write(ready, b"this brain is broken\n")
        sys.exit(1)
    brain = FakeBrain(args["--runtime"])
    brain.on("ats/status")(lambda c, m, f: {"sandboxes": [
        {"id": "b-0123456789ab", "state": "ready", "confinement": {"level": "namespaces"}}]})
    os.write(ready, b"ready\n")
    os.close(ready)
    brain.stopping.wait()
    brain.stop()


if __name__ == "__main__":
    main()
