# SPDX-License-Identifier: Apache-2.0
"""Brain's two sockets with a script behind them, for tests of a client of brain: sessions are there
at once, and each line that comes at the door is given to a function."""
import contextlib
import json
import os
import socket
import threading

from ats_wire import Vault


class FakeBrain:
    """on_line(door, message) for each line after the attachment; door.say(object or bytes)."""

    def __init__(self, runtime, on_line):
        os.makedirs(runtime, 0o700, exist_ok=True)
        self.on_line, self.doors = on_line, []
        self.vault = self.listen(runtime + "/vault.sock", socket.SOCK_SEQPACKET, self.serve_vault)
        self.door = self.listen(runtime + "/brain.sock", socket.SOCK_STREAM, self.serve_door)

    @staticmethod
    def listen(path, kind, serve):
        s = socket.socket(socket.AF_UNIX, kind)
        s.bind(path)
        s.listen(64)

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
        threading.Thread(target=accept, daemon=True).start()
        return s

    @staticmethod
    def serve_vault(conn):
        with conn:
            while data := conn.recv(65536):
                _, seq, _ = Vault.unpack(data)
                conn.send(Vault.pack("OK", seq, "s-0123456789ab", "b-0123456789ab"))

    def serve_door(self, conn):
        door = FakeDoor(conn)
        self.doors.append(door)
        with contextlib.suppress(OSError), conn:
            for line in conn.makefile("rb"):
                m = json.loads(line)
                if m.get("method") == "ats/session.attach":
                    door.say({"jsonrpc": "2.0", "id": m["id"], "result": {}})
                else:
                    self.on_line(door, m)

    def close(self):
        for s in (self.vault, self.door):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)
            s.close()
        for d in self.doors:
            d.conn.close()


class FakeDoor:
    def __init__(self, conn):
        self.conn = conn

    def say(self, what):
        data = what if isinstance(what, bytes) else json.dumps(what).encode()
        self.conn.sendall(data + b"\n")

    def result(self, m, **result):
        self.say({"jsonrpc": "2.0", "id": m["id"], "result": result})
