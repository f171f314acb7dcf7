# SPDX-License-Identifier: Apache-2.0
"""Brains of the figures of links: each in directories of its own, with its sandbox over a
transport, behind a network that delays, or a thousand of them that are scripts of ours."""
import contextlib
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats  # noqa: E402
import far  # noqa: E402
import impair  # noqa: E402
from rig import ATSCTL, Mcp  # noqa: E402

Failure = ats.Failure


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def of_name(pid, comm):
    return [p for p in ats.descendants(pid) if ats.comm(p) == comm]


class Place:
    """A brain and its sandbox. kind: stdio, or tcp, tls, ws, wss, where ats-hands listens.
    delayed: behind a proxy (self.proxy) of bytes; without a delay until it is given one."""

    def __init__(self, kind="stdio", delayed=False, **conf):
        self.home = ats.Home()
        self.proxy = None
        port = free_port()
        url = "%s://127.0.0.1:%%d%s" % (kind, "/ats" if kind[0] == "w" else "")
        if delayed:
            self.proxy = impair.Proxy("tcp:127.0.0.1:0", "tcp:127.0.0.1:%d" % port)
            self.home.open_things.append(self.proxy)
        if kind != "stdio":
            near = self.proxy.port if self.proxy else port
            conf = {"sandbox": {"url": url % near}, **conf}
        self.home.configure(conf)
        self.far = None
        if kind != "stdio":
            key = self.home.ctl("sandbox", "enroll", code=0).stdout.decode()
            self.far = far.NetFar(self.home, key, ["--listen", url % port])
            ats.until(lambda: "msg=listening" in self.far.log().replace('"', ""), "hands listens")

    def env(self):
        return dict(env=self.home.env, cwd=self.home.ws)

    def mcp(self):
        return Mcp([ATSCTL, "mcp"], self.home.env, self.home.ws)

    def run(self, *argv, **kw):
        """Seconds of a command."""
        t0 = time.monotonic()
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       **self.env(), **kw)
        return time.monotonic() - t0

    def engine(self):
        return of_name(self.home.brain_pid(), "ats-engine")[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.home.ctl("shutdown")
        if self.far:
            self.far.kill()
        self.home.close()


def kill_all(pids):
    """At once, and not waited for."""
    for p in pids:
        with contextlib.suppress(OSError):
            os.kill(p, signal.SIGKILL)


class Boxes:
    """Hands' end of any number of links at one Unix socket: each answers the hello, is ready,
    and answers pings. In a thread of this process."""

    def __init__(self, path):
        self.ready = self.pings = 0
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        self.listener.listen(1024)
        self.listener.setblocking(False)
        self.links = selectors.DefaultSelector()
        self.links.register(self.listener, selectors.EVENT_READ)
        self.over = False
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.over:
            for key, _ in self.links.select(0.5):
                if key.fileobj is self.listener:
                    s, _ = self.listener.accept()
                    self.links.register(s, selectors.EVENT_READ, ats.Link(s))
                else:
                    self.heard(key.data)

    def heard(self, link):
        try:
            data = link.sock.recv(65536)
        except OSError:
            data = b""
        if not data:
            self.links.unregister(link.sock)
            link.close()
            return
        link.buffer += data
        while len(link.buffer) >= 20 and len(link.buffer) >= struct.unpack(
                ">I", link.buffer[:4])[0]:
            f = link.recv()
            if f.name == "control.hello":
                self.ready += 1
                link.send("control.hello", 0, {
                    "version_min": 1, "version_max": 1, "digest": f.json["digest"],
                    "role": "hands", "boot": "boot%d" % self.ready, "epoch": f.json["epoch"]})
                link.send("control.ready", 0, {"confinement": {"level": "bench"}, "running": [],
                                               "shells": []})
            elif f.name == "control.ping":
                self.pings += 1
                link.send("control.pong", 0, {"seq": f.json["seq"]})

    def close(self):
        self.over = True
        self.thread.join(5)
        for key in list(self.links.get_map().values()):
            key.fileobj.close()
