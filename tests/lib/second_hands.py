#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Another hands, written from docs/PROTOCOL.md and the pages in docs/gen that it names, and from
nothing else: it reads their tables, refuses what they refuse, and serves Read to a real brain.
Usage: second_hands.py SOCKET WORKSPACE. It confines nothing and says so: it is for tests."""
import hashlib
import json
import os
import re
import secrets
import socket
import struct
import sys

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "gen")
FRAME_MAX, DEPTH_MAX = 20 << 20, 32
UNITS = {"": 1, "bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20}


class Refused(Exception):
    """code is a wire name of docs/gen/errors.md."""

    def __init__(self, code, text=""):
        super().__init__(text or code)
        self.code = code


# ---- the tables, as they are printed -------------------------------------------------------------

def number(text):
    if text == "2^64-1":
        return (1 << 64) - 1
    n, _, unit = text.partition(" ")
    return int(n) * UNITS[unit] if n else None


def page(name):
    """Rows of the first table, and {section: {field: (type, required, at most)}}."""
    first, sections, now = [], {}, None
    with open(os.path.join(DOCS, name), encoding="utf-8") as f:
        for line in f:
            cells = [c.strip().strip("`") for c in re.split(r"(?<!\\)\|", line)[1:-1]]
            if line.startswith("## "):
                now = sections[line[3:].strip()] = {}
            elif cells and cells[0] not in ("field", "frame", "---"):
                if now is None:
                    first.append(cells)
                else:
                    now[cells[0]] = (cells[1], cells[2] == "yes", number(cells[3]))
    return first, sections


ROWS, SHAPES = page("frames.md")
SHAPES.update(page("ctx.md")[1])
FRAMES = {(int(r[1]), int(r[2])): {"name": r[0], "from": r[3], "state": r[4], "json": number(r[5]),
                                   "payload": number(r[6])} for r in ROWS}
NUMBERS = {f["name"]: n for n, f in FRAMES.items()}


# ---- what is read --------------------------------------------------------------------------------

def head(data):
    """(length, type, kind, call, JSON length, payload length)"""
    length, kind, sub, zero, call, n = struct.unpack(">IBBHQI", data)
    if length > FRAME_MAX:
        raise Refused("too_big")
    if length < 20 or zero or n > length - 20:
        raise Refused("protocol")
    return length, kind, sub, call, n, length - 20 - n


def gate(h, peer, state):
    """The row of a frame that this peer may send in this state ("hello" or "ready")."""
    row = FRAMES.get((h[1], h[2]))
    if row is None:
        raise Refused("unknown_frame")
    if row["from"] not in ("either", peer):
        raise Refused("protocol", row["name"] + ": not for this side")
    if row["state"] not in ("any", {"hello": "before ready", "ready": "after ready"}[state]):
        raise Refused("out_of_state")
    if h[4] > row["json"] or h[5] > row["payload"]:
        raise Refused("too_big")
    return row


def once(pairs):
    if len({k for k, _ in pairs}) != len(pairs):
        raise ValueError("doubled")
    return dict(pairs)


def never(text):
    raise ValueError(text)


def look(value, depth=1):
    """No lone surrogate, no depth beyond the limit."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, (dict, list)):
        if depth > DEPTH_MAX:
            raise ValueError("depth")
        for k in value:
            look(k, depth + 1)
            if isinstance(value, dict):
                look(value[k], depth + 1)


def strict(data):
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise Refused("bad_utf8") from None
    try:
        value = json.loads(text, object_pairs_hook=once, parse_constant=never)
        look(value)
    except (ValueError, RecursionError):
        raise Refused("bad_json") from None
    return value


def fits(value, kind, most):
    if kind == "integer":
        return type(value) is int and 0 <= value <= most
    if kind == "boolean":
        return type(value) is bool
    if kind == "string":
        return isinstance(value, str) and "\0" not in value and len(value.encode()) <= most
    if kind == "strings":
        return isinstance(value, list) and all(isinstance(x, str) and "\0" not in x for x in value) \
            and sum(len(x.encode()) + 1 for x in value) <= most
    return isinstance(value, (dict, list)) and \
        len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()) <= most


def decode(shape, data):
    """The object of the shape that these bytes are."""
    value = strict(data)
    if not isinstance(value, dict):
        raise Refused("bad_field", "not an object")
    for name, (kind, required, most) in SHAPES[shape].items():
        if name in value and not fits(value[name], kind, most):
            raise Refused("bad_field", name)
        if required and name not in value:
            raise Refused("bad_field", name + ": missing")
    if set(value) - set(SHAPES[shape]):
        raise Refused("bad_field", "unknown")
    return value


# ---- serving -------------------------------------------------------------------------------------

class Link:
    def __init__(self, sock, workspace, boot):
        self.sock, self.workspace, self.boot, self.state = sock, workspace, boot, "hello"

    def send(self, name, obj, call=0, payload=b""):
        body = json.dumps(obj, separators=(",", ":")).encode()
        self.sock.sendall(struct.pack(">IBBHQI", 20 + len(body) + len(payload), *NUMBERS[name], 0,
                                      call, len(body)) + body + payload)

    def exactly(self, n):
        data = b""
        while len(data) < n:
            more = self.sock.recv(n - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def recv(self):
        h = head(self.exactly(20))
        row = gate(h, "brain", self.state)
        return row["name"], h[3], decode(row["name"], self.exactly(h[4])), self.exactly(h[5])

    def start(self):
        # The digest is brain's own: what differs in the tables would show as a bad field.
        name, _, hello, _ = self.recv()
        if name != "control.hello" or not hello["version_min"] <= 1 <= hello["version_max"]:
            raise Refused("version")
        self.send("control.hello", {"version_min": 1, "version_max": 1, "digest": hello["digest"],
                                    "role": "hands", "boot": self.boot, "epoch": hello["epoch"],
                                    "workspace": self.workspace})
        self.send("control.ready", {"confinement": {"level": "none", "verified": False}})
        self.state = "ready"

    def read(self, call, m):
        """The tool Read, of a whole text file beneath the workspace."""
        path = os.path.realpath(os.path.join(decode("ctx_in", json.dumps(m["ctx"]).encode())["cwd"],
                                             m["input"]["file_path"]))
        if os.path.commonpath([path, self.workspace]) != self.workspace:
            raise Refused("escapes", "outside of the workspace")
        with open(path, "rb") as f:
            data, st = f.read(), os.fstat(f.fileno())
        lines = data.decode().splitlines()
        seen = {"path": path, "size": st.st_size, "mtime_ns": st.st_mtime_ns,
                "sha256": hashlib.sha256(data).hexdigest()}
        text = "\n".join("%6d\t%s" % x for x in enumerate(lines, 1))
        self.send("result", {"outcome": "done", "ctx_delta": {"reads": [seen]}}, call, text.encode())

    def serve(self):
        self.start()
        while True:
            name, call, m, _ = self.recv()
            if name == "control.goodbye":
                return
            if name == "control.ping":
                self.send("control.pong", {"seq": m["seq"]})
            elif name.startswith("call."):
                try:
                    if name != "call.tool" or m["name"] != "Read":
                        raise Refused("unknown_tool", "this hands has Read alone")
                    self.read(call, m)
                except (Refused, OSError, KeyError) as e:
                    self.send("result", {"outcome": "done", "is_error": True,
                                         "code": getattr(e, "code", "not_found")}, call,
                              str(e).encode())


def main():
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(sys.argv[1])
    listener.listen(4)
    boot = secrets.token_hex(16)
    while True:
        link = Link(listener.accept()[0], os.path.realpath(sys.argv[2]), boot)
        try:
            link.serve()
        except Refused as e:
            link.send("control.goodbye", {"code": e.code, "text": str(e)})
        except (EOFError, OSError):
            pass
        link.sock.close()


if __name__ == "__main__":
    main()
