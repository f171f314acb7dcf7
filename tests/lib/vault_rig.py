# SPDX-License-Identifier: Apache-2.0
"""A real ats-brain (vault and spawner) whose engine and gateways are the test itself: their
programs are scripts that hand their socket to the vault over to the test, and wait.

    rig = VaultRig(home, {"gateways": {...}})
    rig.engine.say("GATEWAY_ASK", 1, 0, session, "g__tool", "{}")
    gateway = rig.gateway()
    gateway.expect("GW_SETUP")
"""
import contextlib
import hashlib
import json
import os
import select
import shutil
import socket
import subprocess
import sys

import ats

SCRIPT = """\
#!%s
import os, socket, sys
vault = socket.socket(fileno=3)
test = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
test.connect(os.path.join(os.path.dirname(os.path.abspath(__file__)), %r))
socket.send_fds(test, [(str(os.getpid()) + " " + " ".join(sys.argv[1:])).encode()], [3])
vault.close()
os._exit(int(test.recv(10) or b"0"))
"""


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


class Side:
    """What stands at the other end of one of the vault's sockets."""

    def __init__(self, ctl):
        self.ctl = ctl
        data, fds, _, _ = socket.recv_fds(ctl, 4096, 1)
        words = data.decode().split()
        self.pid, self.argv = int(words[0]), words[1:]
        self.sock = socket.socket(fileno=fds[0])
        self.sock.setblocking(True)
        self.fds = []

    def say(self, name, *values, fds=()):
        socket.send_fds(self.sock, [ats.Vault.pack(name, 0, *values)], list(fds))

    def recv(self, timeout=ats.TIMEOUT):
        """(name, values), its descriptors in self.fds; None at the end."""
        ready, _, _ = select.select([self.sock], [], [], timeout)
        ats.check(ready, "the vault says nothing")
        for fd in self.fds:
            os.close(fd)
        self.fds = []
        try:
            data, self.fds, _, _ = socket.recv_fds(self.sock, 65536, 8)
        except ConnectionResetError:
            return None
        if not data:
            return None
        name, _, values = ats.Vault.unpack(data)
        return name, values

    def expect(self, name):
        """The values of the next message of that name; others before it are skipped."""
        while True:
            m = self.recv()
            ats.check(m is not None, "closed before %s" % name)
            if m[0] == name:
                return m[1]

    def ended(self):
        """Reads up to the end; the messages before it."""
        seen = []
        while (m := self.recv()) is not None:
            seen.append(m)
        return seen

    def quiet(self):
        """Nothing is there now but questions whether we are."""
        while select.select([self.sock], [], [], 0)[0]:
            m = Side.recv(self)
            ats.check(m is not None and m[0] == "ARE_YOU_THERE", m)

    def take_fd(self):
        return self.fds.pop(0)

    def leave(self, code=0):
        """Its process ends."""
        self.sock.close()
        with contextlib.suppress(OSError):
            self.ctl.send(b"%d" % code)
        self.ctl.close()

    def close(self):
        for fd in self.fds:
            os.close(fd)
        self.fds = []
        self.sock.close()
        self.ctl.close()


class Engine(Side):
    def recv(self, timeout=ats.TIMEOUT):
        """Without the word that a new engine has heard all."""
        m = super().recv(timeout)
        return self.recv(timeout) if m == ("ARE_YOU_THERE", [0]) else m

    def hello(self):
        self.expect("SETTINGS")
        self.say("ENGINE_READY")
        return self

    def session(self):
        s = self.expect("SESSION")[0]
        self.say("SESSION_OK", s, 0, "")
        return s

    def ask(self, call, session, tool, args="{}", limit=0, fds=()):
        self.say("GATEWAY_ASK", call, limit, session, tool, args, fds=fds)

    def state(self, call):
        """(state, code, text, approval) of the next GATEWAY_STATE, which is about this call."""
        values = self.expect("GATEWAY_STATE")
        ats.equal(values[0], call, "the call of GATEWAY_STATE: %r" % values)
        return tuple(values[1:])

    def refused(self, call):
        state, code, text, _ = self.state(call)
        ats.equal(state, REFUSED, (code, text))
        return code, text


WAITS, STARTED, REFUSED = 1, 2, 3


class VaultRig:
    def __init__(self, home, conf):
        self.home = home
        self.bin = os.path.join(home.dir, "bin")
        os.mkdir(self.bin)
        shutil.copy(ats.program("ats-brain"), self.bin)
        self.listeners = {}
        for name in ("engine", "gateway"):
            path = os.path.join(self.bin, "ats-" + name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(SCRIPT % (sys.executable, name + ".ctl"))
            os.chmod(path, 0o755)
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.bind(os.path.join(self.bin, name + ".ctl"))
            s.listen(64)
            home.open_things.append(s)
            self.listeners[name] = s
        os.makedirs(os.path.dirname(home.log_path), 0o700, exist_ok=True)
        home.configure(conf)
        r, w = os.pipe()
        os.set_inheritable(w, True)
        with open(home.log_path, "ab") as log:
            self.proc = home.popen(os.path.join(self.bin, "ats-brain"), "--ready-fd", str(w),
                                   pass_fds=[w], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=log)
        os.close(w)
        self.engine = self.next_engine()
        with open(r, encoding="utf-8") as f:
            ats.equal(f.read(), "ready\n")

    def _next(self, name, kind):
        ready, _, _ = select.select([self.listeners[name]], [], [], ats.TIMEOUT)
        ats.check(ready, "no %s was started" % name)
        side = kind(self.listeners[name].accept()[0])
        self.home.open_things.append(side)
        return side

    def next_engine(self):
        return self._next("engine", Engine).hello()

    def gateway(self):
        return self._next("gateway", Side)

    def none_started(self):
        return not select.select([self.listeners["gateway"]], [], [], 0)[0]

    def session(self, key="name:test", engine=None):
        v = self.home.vault()
        v.seq += 1
        v.sock.send(ats.Vault.pack("REGISTER", v.seq, self.home.ws, key))
        s = (engine or self.engine).session()
        ats.equal(v.recv()[2][0], s)
        return s

    def ready(self, gateway):
        """It takes its setup and says that it takes orders; its link: (engine's end, its own)."""
        gateway.expect("GW_SETUP")
        gateway.say("GW_READY", 0, "")
        return self.link(gateway)

    def link(self, gateway, engine=None):
        engine = engine or self.engine
        engine.expect("GATEWAY_LINK")
        ours = socket.socket(fileno=engine.take_fd())
        gateway.expect("GW_LINK")
        theirs = socket.socket(fileno=gateway.take_fd())
        for s in (ours, theirs):
            s.settimeout(ats.TIMEOUT)
            self.home.open_things.append(s)
        return ours, theirs

    def audit(self):
        """The lines of the log."""
        path = os.path.join(self.home.state, "ats", "vault", "audit.jsonl")
        with open(path, encoding="utf-8") as f:
            return [json.loads(line) for line in f]
