# SPDX-License-Identifier: Apache-2.0
"""ats-hands on a network address, and brains that prove a key to it. Without TLS: the ssl module
has no exporter."""
import hashlib
import hmac
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile

import ats

ID = "b-000000000001"
KEY = hashlib.sha256(b"a key of tests").digest()
GENERATION = 3


def key_text(key=KEY, sandbox=ID, pin=None):
    return "ats1:%s:%d:%s%s\n" % (sandbox, GENERATION, key.hex(), ":" + pin.hex() if pin else "")


def mac(key, role, boot, epoch, nonce_brain, nonce_hands, sandbox=ID, exporter=b""):
    """As proto/prove.c."""
    parts = [b"ats prove 1", role.encode(), sandbox.encode(), struct.pack(">Q", GENERATION),
             boot.encode(), struct.pack(">Q", epoch), nonce_brain.encode(), nonce_hands.encode(),
             exporter]
    text = b"".join(struct.pack(">H", len(p)) + p for p in parts)
    return hmac.new(key, text, hashlib.sha256).hexdigest()


class Brain(ats.Link):
    """One end of a network link, as brain. Each step may be left out or be wrong."""

    @classmethod
    def to(cls, port):
        return cls(socket.create_connection(("127.0.0.1", port), 10))

    def greet(self, epoch=1, nonce=None, **more):
        self.nonce = nonce or os.urandom(32).hex()
        self.epoch = epoch
        self.hello = self.say_hello(epoch, **{"sandbox": ID, "nonce": self.nonce, **more})

    def mac(self, role="brain", key=KEY):
        h = self.hello.json
        return mac(key, role, h["boot"], self.epoch, self.nonce, h["nonce"])

    def prove(self, **how):
        self.greet(**how)
        self.send("control.prove", 0, {"mac": self.mac()})
        return self

    def attach(self, **how):
        """Returns ready; hands has proven the key, too."""
        self.prove(**how)
        ats.equal(self.expect("control.prove").json["mac"], self.mac("hands"))
        return self.expect("control.ready")

    def bye(self):
        """(code, text) of the goodbye, and the end after it."""
        f = self.expect("control.goodbye")
        ats.equal(self.recv(), None)
        return f.json["code"], f.json.get("text")


class NetHands:
    """Started, not awaited. flags: further ones. address None: no peer and no key among them.
    key, mode, owner: of the key's file; keep_in: the directory below top where it is, of which it
    cannot be removed. env, or env_of(self): the environment. fds: that are passed on. command: a
    container's. ws: a workspace that is there."""

    def __init__(self, *flags, address="tcp://127.0.0.1:0", how="--listen", uid=None, prefix=(),
                 key=None, mode=0o600, owner=None, keep_in="", env=None, env_of=None, fds=(),
                 command=(), ws=None):
        self.top = tempfile.mkdtemp(prefix="ats-net-")
        os.chmod(self.top, 0o755)
        self.ws = ws or os.path.join(self.top, "ws")
        self.state = os.path.join(self.top, "state")
        self.key_path = os.path.join(self.top, keep_in, "key")
        for d in (self.ws, self.state, os.path.dirname(self.key_path)):
            os.makedirs(d, 0o755, exist_ok=True)
        with open(self.key_path, "w", encoding="ascii") as f:
            f.write(key_text() if key is None else key)
        os.chmod(self.key_path, mode)
        if uid is not None:
            for p in (self.ws, self.state, *(() if keep_in else (self.top,))):
                os.chown(p, uid, uid)
        if uid is not None or owner is not None:
            os.chown(self.key_path, owner or uid, -1)
        self.log_path = os.path.join(self.top, "log")
        peer = [] if address is None else [how, address, "--key-file", self.key_path]
        argv = [*prefix, ats.program("ats-hands"), "--workspace", self.ws, "--state-dir",
                self.state, "--option", "limits=check", *peer, *flags,
                *(["--", *command] if command else [])]
        if uid is not None:
            argv = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups",
                    "--", *argv]
        env = env_of(self) if env_of else env or {"PATH": os.environ["PATH"]}
        with open(self.log_path, "ab") as log:
            self.proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                         env={**env, **ats.test_env()}, pass_fds=fds, cwd="/")

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    @property
    def port(self):
        def listening():
            if self.proc.poll() is not None:
                raise ats.Failure("hands ended: " + self.log())
            return re.search(r"msg=\"?listening\"? .*port=(\d+)", self.log())
        return int(ats.until(listening, "hands listens").group(1))

    def brain(self):
        return Brain.to(self.port)

    def refused(self):
        """How it ended, of itself: (status, log)."""
        return self.proc.wait(ats.TIMEOUT), self.log()

    def processes(self):
        return ats.descendants(self.proc.pid)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            print("# log: %s" % self.log().replace("\n", "\n# "))
        if self.proc.poll() is None:
            below = self.processes()
            self.proc.send_signal(signal.SIGTERM)
            self.proc.wait(ats.TIMEOUT)
            ats.wait_gone(below, 10)
        subprocess.run(["rm", "-rf", self.top], check=False)


def sh(brain, ws, command, call=1, **more):
    brain.send("call.tool", call, {"name": "Bash", "input": {"command": command},
                                   "ctx": {"cwd": ws}, "deadline_ms": 30000,
                                   "session": "s-000000000001", **more})


def text(brain, call=1):
    return brain.expect("result", call=call).payload.decode()
