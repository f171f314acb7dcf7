# SPDX-License-Identifier: Apache-2.0
"""A hands that a test starts by itself, as a person would on another machine, and a proxy before
its socket whose connections can be cut."""
import contextlib
import os
import socket
import threading

import ats


class Far:
    """ats-hands --listen. path: its socket. options: more of its command line."""

    def __init__(self, home, *options, path=None, uid=None):
        self.home = home
        self.path = path or os.path.join(home.run, "far.sock")
        self.options = options
        self.prefix = home.prefix if uid is None else [
            "setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "--"]
        self.proc = None
        self.start()

    def start(self):
        with open(os.path.join(self.home.state, "far.log"), "ab") as log:
            self.proc = self.home.popen(
                *self.prefix, ats.program("ats-hands"), "--listen", "unix:" + self.path,
                "--workspace", self.home.ws, *self.options, stdin=log, stdout=log, stderr=log)
        ats.until(self.listens, "hands listens")

    def listens(self):
        """By the kernel's list: a dead one's socket file stays behind."""
        with open("/proc/net/unix", encoding="utf-8", errors="replace") as f:
            return any(line.rstrip().endswith(" " + self.path) for line in f)

    def log(self):
        with open(os.path.join(self.home.state, "far.log"), encoding="utf-8") as f:
            return f.read()

    def kill(self):
        """The whole of it, at once; its socket stays behind."""
        below = ats.descendants(self.proc.pid) | {self.proc.pid}
        ats.kill_at_once(below)
        self.proc.wait()
        ats.wait_gone(below)

    def restart(self):
        self.kill()
        self.start()


class NetFar(Far):
    """One with a key, on an address of a network: args say whether it listens there or connects.
    The key's file is written anew for each start, as hands removes it."""

    def __init__(self, home, key, args, prefix=()):
        self.key, self.args, self.before = key, args, list(prefix)
        super().__init__(home)

    def start(self):
        path = os.path.join(self.home.dir, "link.key")
        with open(path, "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as f:
            f.write(self.key)
        with open(os.path.join(self.home.state, "far.log"), "ab") as log:
            self.proc = self.home.popen(
                *self.before, ats.program("ats-hands"), *self.args, "--key-file", path,
                "--workspace", self.home.ws, stdin=log, stdout=log, stderr=log)


class Proxy:
    """Carries bytes between path and to; cut() closes what is connected now, and holds back what
    comes until let(). budgets: so many bytes go over a connection, both ways together, then it is
    cut; each takes the next one, those after the last carry any number."""

    def __init__(self, home, to):
        self.to = to
        self.path = os.path.join(home.run, "proxy.sock")
        self.pairs = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        if home.uid is not None:
            os.chown(self.path, home.uid, home.uid)
        self.listener.listen(8)
        self.open = threading.Event()
        self.open.set()
        self.taken = 0
        self.budgets = []
        home.open_things.append(self)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            self.open.wait()
            far = socket.socket(socket.AF_UNIX)
            try:
                far.connect(self.to)
            except OSError:
                near.close()
                continue
            self.taken += 1
            self.pairs += [near, far]
            left = [self.budgets.pop(0)] if self.budgets else None
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self.carry, args=(a, b, left), daemon=True).start()

    @staticmethod
    def carry(a, b, left):
        with contextlib.suppress(OSError):
            while True:
                data = a.recv(65536)
                if not data:
                    break
                if left is not None:
                    data = data[:max(0, left[0])]
                    left[0] -= len(data)
                b.sendall(data)
                if left is not None and left[0] <= 0:
                    a.shutdown(socket.SHUT_RDWR)
                    b.shutdown(socket.SHUT_RDWR)
                    return
        with contextlib.suppress(OSError):
            b.shutdown(socket.SHUT_WR)

    def cut(self, hold=False):
        if hold:
            self.open.clear()
        pairs, self.pairs = self.pairs, []
        for s in pairs:
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)
            s.close()

    def let(self):
        self.open.set()

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.open.set()
        self.cut()
