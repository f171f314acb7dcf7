# SPDX-License-Identifier: Apache-2.0
"""The vault of a FakeBrain with approvals: a test adds them and sees what is decided.

    brain = FakeVault(home.run + "/ats")
    a = brain.wants("github", "create_issue", {"title": "x"}, session="s-...")
    brain.wait_decided()    # [("APPROVE", id, sha256, way)]
"""
import array
import hashlib
import itertools
import json
import os
import socket
import threading
import time

import ats
from fake_door import FakeBrain

INLINE = 48 << 10           # ATS_GATEWAY_INLINE
NOT_PERMITTED, UNKNOWN_ID = 7, 201


def canonical(args):
    return json.dumps(args, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class FakeVault(FakeBrain):
    def __init__(self, directory):
        self.waiting = {}           # id -> values of APPROVAL, in the order of their coming
        self.decided = []
        self.asked = []             # values of APPROVALS
        self.followers = []         # (socket, session or "")
        self.numbers = itertools.count(1)
        self.elicitation = True
        self.refuse = None          # (code, text) for APPROVE and DENY
        self.vault_lock = threading.RLock()
        super().__init__(directory)

    def send(self, sock, name, seq, values, args=None):
        """args: bytes that go inline or, when they are long, by a file."""
        fds = []
        if args is not None:
            if len(args) > INLINE:
                fds.append(os.memfd_create("args"))
                os.write(fds[0], args)
                args = b""
            values = [*values[:6], args, values[6]]
        anc = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        try:
            sock.sendmsg([ats.Vault.pack(name, seq, *values)], anc)
        except OSError:
            pass
        for fd in fds:
            os.close(fd)

    def wants(self, gateway, tool, args, session="s-0123456789ab", workspace="/ws", life_s=600):
        """One more that waits; args: an object, or the bytes themselves. Returns its id."""
        now = int(time.time() * 1000)
        data = args if isinstance(args, bytes) else canonical(args)
        with self.vault_lock:
            id = "a-%012x" % next(self.numbers)
            values = [id, now, now + life_s * 1000, session, gateway, tool, workspace]
            self.waiting[id] = (values, data)
            for sock, wanted in self.followers:
                if wanted in ("", session):
                    self.send(sock, "APPROVAL", 0, values, data)
        return id

    def goes(self, id, why):
        with self.vault_lock:
            values, _ = self.waiting.pop(id)
            for sock, wanted in self.followers:
                if wanted in ("", values[3]):
                    self.send(sock, "APPROVAL_GONE", 0, [id, why])

    def drop_followers(self):
        with self.vault_lock:
            for sock, _ in self.followers:
                sock.shutdown(socket.SHUT_RDWR)

    def serve_vault(self, sock):
        while True:
            try:
                data = sock.recv(65536)
            except OSError:
                data = b""
            if not data:
                break
            name, seq, values = ats.Vault.unpack(data)
            with self.vault_lock:
                self.vault_message(sock, name, seq, values)
        with self.vault_lock:
            self.followers = [f for f in self.followers if f[0] is not sock]
        sock.close()

    def vault_message(self, sock, name, seq, values):
        special = self.answer_vault and self.answer_vault(name, values)
        if special:
            self.send(sock, special[0], seq, special[1:])
        elif name == "APPROVALS":
            self.approvals(sock, seq, *values)
        elif name in ("APPROVE", "DENY"):
            self.decide(sock, name, seq, *values)
        elif name in ("REGISTER", "FIND_SESSION", "FIND_NAMED"):
            with self.changed:
                self.registered.append((name, values))
            self.send(sock, "OK", seq, ["s-0123456789ab", "b-0123456789ab"])
        else:
            self.send(sock, "OK", seq, ['{"pid":1}' if name == "VAULT_STATUS" else "", ""])

    def approvals(self, sock, seq, follow, session, way):
        with self.changed:
            self.asked.append((follow, session, way))
            self.changed.notify_all()
        if way.startswith("elicitation") and not self.elicitation:
            self.send(sock, "FAILED", seq, [NOT_PERMITTED, "approvals.elicitation is off"])
            return
        for values, args in self.waiting.values():
            if session in ("", values[3]):
                self.send(sock, "APPROVAL", seq, values, args)
        if follow:
            self.followers.append((sock, session))
        self.send(sock, "OK", seq, ["", ""])

    def decide(self, sock, name, seq, id, text, way):
        with self.changed:
            self.decided.append((name, id, text, way))
            self.changed.notify_all()
        if self.refuse:
            self.send(sock, "FAILED", seq, list(self.refuse))
        elif id not in self.waiting:
            self.send(sock, "FAILED", seq, [UNKNOWN_ID, "no such approval waits"])
        elif name == "APPROVE" and text != sha256(self.waiting[id][1]):
            self.send(sock, "FAILED", seq, [NOT_PERMITTED, "not what was shown"])
        else:
            self.goes(id, "approved" if name == "APPROVE" else "denied")
            self.send(sock, "OK", seq, ["", ""])

    def wait_decided(self, n=1):
        self.wait_for(lambda: len(self.decided) >= n, "%d decisions" % n)
        return self.decided
