# SPDX-License-Identifier: Apache-2.0
"""The tables, and clients and peers that speak them: vault.sock, the frames. Tests import ats."""
import json
import os
import re
import socket
import struct
import subprocess
import sys
import time

from ats_base import TOP, TIMEOUT, test_env, program, Failure, descendants, wait_gone
from ats_rpc import wait_readable


# ---- the tables --------------------------------------------------------------------------------

def def_rows(name):
    """Rows of a .def file as (macro, [arguments as text])."""
    with open(os.path.join(TOP, name), encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    rows = []
    for m in re.finditer(r"^([A-Z_]+)\(", text, re.M):
        depth, quoted, args, cur, i = 1, False, [], "", m.end()
        while depth:
            c = text[i]
            if quoted and c == "\\":
                cur += c
                i += 1
                c = text[i]
            elif c == '"':
                quoted = not quoted
            elif not quoted and c == "(":
                depth += 1
            elif not quoted and c == ")":
                depth -= 1
            elif not quoted and c == "," and depth == 1:
                args.append(cur.strip())
                cur, c = "", ""
            if depth:
                cur += c
            i += 1
        args.append(cur.strip())
        rows.append((m.group(1), args))
    return rows


def def_string(arg):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', arg))


class Vault:
    """A client of vault.sock: the messages of proto/brain.def."""

    rows = {a[0]: (int(a[1]), def_string(a[3])) for _, a in def_rows("proto/brain.def")}
    names = {number: name for name, (number, _) in rows.items()}

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.connect(path)
        self.seq = 0

    @classmethod
    def pack(cls, name, seq, *values):
        number, sig = cls.rows[name]
        data = struct.pack(">HI", number, seq)
        for letter, v in zip(sig, values, strict=True):
            if letter == "u":
                data += struct.pack(">Q", v)
            else:
                v = v if isinstance(v, bytes) else v.encode()
                data += struct.pack(">I", len(v)) + v + b"\0"
        return data

    @classmethod
    def unpack(cls, data):
        number, seq = struct.unpack(">HI", data[:6])
        name = cls.names[number]
        at, values = 6, []
        for letter in cls.rows[name][1]:
            if letter == "u":
                values.append(struct.unpack_from(">Q", data, at)[0])
                at += 8
            else:
                n = struct.unpack_from(">I", data, at)[0]
                values.append(data[at + 4:at + 4 + n].decode("utf-8", "replace"))
                at += 5 + n
        return name, seq, values

    def send_raw(self, data):
        self.sock.send(data)

    def recv(self, timeout=TIMEOUT):
        """(name, seq, values), or None at the end."""
        wait_readable(self.sock, timeout)
        try:
            data = self.sock.recv(65536)
        except ConnectionResetError:
            # Told once, before what came earlier: that is still there (unix(7) keeps it).
            try:
                data = self.sock.recv(65536)
            except ConnectionResetError:
                return None
        return self.unpack(data) if data else None

    def ask(self, name, *values, timeout=TIMEOUT):
        """The values of OK; VaultError for FAILED."""
        self.seq += 1
        self.sock.send(self.pack(name, self.seq, *values))
        answer = self.recv(timeout)
        if answer is None:
            raise Failure("the vault closed the connection")
        if answer[0] == "FAILED":
            raise VaultError(*answer[2])
        return answer[2]

    def close(self):
        self.sock.close()


class VaultError(Exception):
    def __init__(self, code, text):
        super().__init__("%d %s" % (code, text))
        self.code = code
        self.text = text


# ---- frames --------------------------------------------------------------------------------------

class Frame:
    """name is the wire name of frames.def; json a decoded object; payload bytes."""

    def __init__(self, name, call=0, json=None, payload=b""):
        self.name, self.call, self.json, self.payload = name, call, json or {}, payload

    def __repr__(self):
        return "<%s call=%d %r +%d>" % (self.name, self.call, self.json, len(self.payload))


class Link:
    """One side of the wire, for fake hands and fake brains, over any connected socket."""

    numbers = {def_string(a[3]): (int(a[1]), int(a[2]))
               for m, a in def_rows("proto/frames.def") if m == "FRAME"}
    names = {v: k for k, v in numbers.items()}

    def __init__(self, sock):
        self.sock = sock
        self.buffer = b""

    @staticmethod
    def connect(path):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.connect(path)
        return Link(s)

    @staticmethod
    def connect_when_up(path, proc):
        """To a socket that proc is going to make."""
        end = time.monotonic() + TIMEOUT
        while True:
            try:
                return Link.connect(path)
            except (FileNotFoundError, ConnectionRefusedError):
                if proc.poll() is not None or time.monotonic() > end:
                    raise Failure("no socket %s; exit status %s" % (path, proc.poll())) from None
            time.sleep(0.01)

    @classmethod
    def pack(cls, name, call=0, obj=None, payload=b"", text=None):
        """The bytes of a frame. text: JSON bytes as they are, right or wrong."""
        kind = cls.numbers[name] if isinstance(name, str) else name
        body = text if text is not None else json.dumps(
            obj or {}, ensure_ascii=False, separators=(",", ":")).encode()
        return struct.pack(">IBBHQI", 20 + len(body) + len(payload), kind[0], kind[1], 0, call,
                           len(body)) + body + payload

    def send(self, name, call=0, obj=None, payload=b"", text=None):
        self.sock.sendall(self.pack(name, call, obj, payload, text))

    def recv(self, timeout=TIMEOUT):
        """The next Frame, or None at the end."""
        end = time.monotonic() + timeout
        while True:
            if len(self.buffer) >= 20:
                n, t, k, _, call, jn = struct.unpack(">IBBHQI", self.buffer[:20])
                if len(self.buffer) >= n:
                    f = Frame(self.names.get((t, k), (t, k)), call,
                              json.loads(self.buffer[20:20 + jn]), self.buffer[20 + jn:n])
                    self.buffer = self.buffer[n:]
                    return f
            wait_readable(self.sock, end - time.monotonic())
            try:
                data = self.sock.recv(1 << 20)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self.buffer += data

    def expect(self, name, timeout=TIMEOUT, call=None):
        """The next frame of that name; pings are answered, others are skipped."""
        end, bye = time.monotonic() + timeout, ""
        while True:
            f = self.recv(end - time.monotonic())
            if f is None:
                raise Failure("the link ended before %s%s" % (name, bye))
            if f.name == name and call in (None, f.call):
                return f
            if f.name == "control.goodbye":
                bye = ": %s: %s" % (f.json["code"], f.json.get("text"))
            if f.name == "control.ping":
                self.send("control.pong", 0, {"seq": f.json["seq"]})

    def say_hello(self, epoch=1, **more):
        """Our hello, as brain, after hands'; returns that."""
        hello = self.expect("control.hello")
        mine = {"version_min": 1, "version_max": 1, "digest": hello.json["digest"],
                "role": "brain", "epoch": epoch, **more}
        try:
            self.send("control.hello", 0, mine)
        except BrokenPipeError:
            raise Failure("the link ended before our hello") from None
        return hello

    def hello_as_brain(self, epoch=1, boot=None, **more):
        """Both hellos and hands' ready; returns (hello, ready)."""
        hello = self.say_hello(epoch, **({"boot": boot} if boot else {}), **more)
        return hello, self.expect("control.ready")

    def close(self):
        self.sock.close()


# Moves two descriptors to 3 and 4 (either may be in the other's place) and becomes the rest.
_AS_3_AND_4 = """
import os, sys
a, b = os.dup2(int(sys.argv[1]), 100), os.dup2(int(sys.argv[2]), 101)
os.dup2(a, 3)
os.dup2(b, 4)
os.closerange(5, 256)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Hands:
    """ats-hands by itself on a socketpair, without a brain: hands.link is the brain's end."""

    def __init__(self, home, *options):
        self.home = home
        ours, theirs = socket.socketpair()
        self.listen_path = os.path.join(home.run, "sb-test.sock")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(self.listen_path)
        listener.listen(8)
        self.state_dir = os.path.join(home.state, "sandbox")
        for d in ("", "home", "spill"):
            os.makedirs(os.path.join(self.state_dir, d), 0o700, exist_ok=True)
        argv = [program("ats-hands"), "--link-fd", "3", "--listen-fd", "4",
                "--workspace", home.ws, "--state-dir", self.state_dir,
                "--sandbox", "b-000000000001"]
        for o in options:
            argv += ["--option", o]
        self.log = open(os.path.join(home.state, "hands.log"), "ab")
        self.proc = subprocess.Popen(
            [sys.executable, "-c", _AS_3_AND_4, str(theirs.fileno()), str(listener.fileno()),
             *argv], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env=test_env(), pass_fds=(theirs.fileno(), listener.fileno()), cwd="/")
        theirs.close()
        listener.close()
        self.link = Link(ours)
        home.open_things.append(self)

    def connect(self):
        """A new attachment through the listening socket."""
        return Link.connect(self.listen_path)

    def close(self):
        self.link.close()
        if self.proc.poll() is None:
            below = descendants(self.proc.pid)
            self.proc.kill()
            self.proc.wait()
            wait_gone(below, 10)
        self.log.close()
