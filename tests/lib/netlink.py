# SPDX-License-Identifier: Apache-2.0
"""Hands' end of a link over a network, as a script: the hello, the proof, and what is wrong with
them. Tests import ats."""
import hashlib
import hmac
import os
import socket
import struct

import ats


def mac(key, role, sandbox, generation, boot, epoch, nonce_brain, nonce_hands, exporter=b""):
    """proto/prove.h, once more."""
    parts = (b"ats prove 1", role.encode(), sandbox.encode(), struct.pack(">Q", generation),
             boot.encode(), struct.pack(">Q", epoch), nonce_brain.encode(), nonce_hands.encode(),
             exporter)
    data = b"".join(struct.pack(">H", len(p)) + p for p in parts)
    return hmac.new(key, data, hashlib.sha256).hexdigest()


class Key:
    """An enrolment."""

    def __init__(self, text):
        parts = text.strip().split(":")
        ats.equal(parts[0], "ats1", "an enrolment")
        self.sandbox, self.generation = parts[1], int(parts[2])
        self.bytes = bytes.fromhex(parts[3])
        self.pin = parts[4] if len(parts) > 4 else None


def tcp_pair():
    """Two ends of a TCP connection on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        a = socket.create_connection(s.getsockname())
        b, _ = s.accept()
    return a, b


class NetHands(ats.Link):
    def __init__(self, sock, key, boot="boot1", workspace=None):
        super().__init__(sock)
        self.key, self.boot, self.workspace = key, boot, workspace
        self.nonce = os.urandom(32).hex()
        self.theirs = None

    @classmethod
    def dial(cls, port, key, **more):
        return cls(socket.create_connection(("127.0.0.1", port)), key, **more)

    def hello(self, digest, first, **change):
        """first: brain's hello, or None when hands speaks first."""
        obj = {"version_min": 1, "version_max": 1, "digest": digest, "role": "hands",
               "boot": self.boot, "epoch": first["epoch"] if first else 0,
               "sandbox": self.key.sandbox, "generation": self.key.generation,
               "nonce": self.nonce}
        if self.workspace:
            obj["workspace"] = self.workspace
        obj.update(change)
        self.send("control.hello", 0, {k: v for k, v in obj.items() if v is not None})

    def mac(self, role, key=None):
        k, b = self.key, self.theirs
        return mac(key or k.bytes, role, k.sandbox, k.generation, self.boot, b["epoch"],
                   b["nonce"], self.nonce)

    def prove(self, text=None):
        self.send("control.prove", 0, {"mac": text or self.mac("hands")})

    def check_brain(self):
        ats.equal(self.expect("control.prove").json["mac"], self.mac("brain"), "brain's proof")

    def answer(self, **change):
        """As the one who was connected to: both hellos, and brain's proof."""
        self.theirs = self.expect("control.hello").json
        self.hello(self.theirs["digest"], self.theirs, **change)

    def come_in(self, **change):
        """As the one who connected: both hellos. It speaks a later version, too, and so need not
        have the digest of this one's tables."""
        self.hello("0" * 64, None, version_max=2, **change)
        self.theirs = self.expect("control.hello").json

    def ready(self, running=()):
        self.send("control.ready", 0, {"confinement": {"level": "test"},
                                       "running": list(running), "shells": []})

    def refused(self):
        """The goodbye that ends it, without its kind's name."""
        f = self.expect("control.goodbye")
        ats.check(self.recv() is None, "the link goes on")
        return f.json

    def is_refused(self):
        ats.equal(self.refused(), {"code": "not_proven", "text":
                                   "the other side did not prove that it has this sandbox's key"})

    def call(self):
        while True:
            f = self.recv()
            if f is None:
                raise ats.Failure("the link ended before a call")
            if f.name in ("call.tool", "call.exec", "call.validate"):
                return f
            if f.name == "control.ping":
                self.send("control.pong", 0, {"seq": f.json["seq"]})

    def result(self, call, text):
        self.send("result", call.call, {"outcome": "done"}, text.encode())
