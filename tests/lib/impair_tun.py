# SPDX-License-Identifier: Apache-2.0
"""Two network namespaces with a bad line between them, for tests: what one sends reaches the
other through a process that reads IP packets from one tun and writes them to the other, and on
the way loses, delays, reorders and doubles them, or lets none through. Root only.

    with Line(seed=1) as line:
        line.set(loss=0.1, delay_ms=20, jitter_ms=5, reorder=0.05, duplicate=0.02)
        line.run("a", [program...])             in the namespace of A (10.99.0.1); B is 10.99.0.2
        line.set(partition="both")              both, a (what A sends is lost), b; None: none
        line.stats()                            what was read, lost, doubled... in each direction

Each setting is a part of 1, times are ms. A direction has a random sequence of its own, so that
a seed loses the same packets whatever the other side sends. Without reorder the order is kept,
jitter or not."""
import contextlib
import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454ca, 1, 0x1000
SIOCSIFADDR, SIOCSIFNETMASK, SIOCSIFFLAGS, SIOCSIFMTU = 0x8916, 0x891c, 0x8914, 0x8922
IFF_UP = 1
ADDRESS = {"a": "10.99.0.1", "b": "10.99.0.2"}
MTU = 1500
QUEUE_MAX = 20000           # packets under way in a direction; more are dropped, as a router does
REORDER_MS = 5              # how far a packet is put behind those after it
SETTINGS = {"loss": 0.0, "delay_ms": 0.0, "jitter_ms": 0.0, "reorder": 0.0, "duplicate": 0.0,
            "partition": None}


# ---- in the forwarder ------------------------------------------------------------------------

def _interface(request, name, value):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with s:
        fcntl.ioctl(s, request, struct.pack("16s", name.encode()) + value)


def _sockaddr(address):
    return struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))


def _make_end(side):
    """Enters a new namespace: (its descriptor, the tun that leads out of it)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) < 0:
        raise OSError(ctypes.get_errno(), "unshare(CLONE_NEWNET)")
    ns = os.open("/proc/self/ns/net", os.O_RDONLY)
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"line", IFF_TUN | IFF_NO_PI))
    _interface(SIOCSIFFLAGS, "lo", struct.pack("H14x", IFF_UP))
    _interface(SIOCSIFADDR, "line", _sockaddr(ADDRESS[side]))
    _interface(SIOCSIFNETMASK, "line", _sockaddr("255.255.255.0"))
    _interface(SIOCSIFMTU, "line", struct.pack("i12x", MTU))
    _interface(SIOCSIFFLAGS, "line", struct.pack("H14x", IFF_UP))
    return ns, tun


class Direction:
    """What comes from one tun and goes to the other."""

    def __init__(self, side, source, sink, seed):
        self.side, self.source, self.sink = side, source, sink
        self.rng = random.Random("%d %s" % (seed, side))
        self.queue = []         # heap of (when, number, packet)
        self.number = 0
        self.last = 0.0         # when the one before leaves
        self.stats = dict.fromkeys(
            ("read", "lost", "cut", "doubled", "reordered", "full", "written"), 0)

    def take(self, now, s):
        while True:
            try:
                packet = os.read(self.source, MTU + 100)
            except BlockingIOError:
                return
            if packet[0] >> 4 != 4:     # the kernel's own IPv6 chatter has no say in the seed
                continue
            self.stats["read"] += 1
            # Four numbers for each packet, whatever becomes of it: the sequence is the seed's.
            lose, double, order, jitter = (self.rng.random() for _ in range(4))
            if s["partition"] in ("both", self.side):
                self.stats["cut"] += 1
            elif lose < s["loss"]:
                self.stats["lost"] += 1
            else:
                when = max(self.last, now + (s["delay_ms"] + jitter * s["jitter_ms"]) / 1000)
                self.last = when
                if order < s["reorder"]:
                    self.stats["reordered"] += 1
                    when += REORDER_MS / 1000
                self.put(when, packet)
                if double < s["duplicate"]:
                    self.stats["doubled"] += 1
                    self.put(when, packet)

    def put(self, when, packet):
        if len(self.queue) >= QUEUE_MAX:
            self.stats["full"] += 1
            return
        self.number += 1
        heapq.heappush(self.queue, (when, self.number, packet))

    def deliver(self, now):
        while self.queue and self.queue[0][0] <= now:
            with contextlib.suppress(OSError):      # the interface is down: lost
                os.write(self.sink, self.queue[0][2])
                self.stats["written"] += 1
            heapq.heappop(self.queue)


def _obey(control, settings, ways):
    """One order; False: the end."""
    data = control.recv(65536)
    if not data:
        return False
    for line in data.decode().splitlines():
        settings.update(json.loads(line))
        if settings["partition"] == "both":     # what is under way does not arrive
            for w in ways:
                w.stats["cut"] += len(w.queue)
                w.queue.clear()
        control.sendall(json.dumps({w.side: w.stats for w in ways}).encode() + b"\n")
    return True


def _forward(control, seed):
    (ns_a, a), (ns_b, b) = _make_end("a"), _make_end("b")
    ways = [Direction("a", a, b, seed), Direction("b", b, a, seed)]
    settings = dict(SETTINGS)
    control.sendall(json.dumps({"a": ns_a, "b": ns_b}).encode() + b"\n")
    poll = select.epoll()
    for fd in (control.fileno(), a, b):
        poll.register(fd, select.EPOLLIN)
    while True:
        now = time.monotonic()
        due = [w.queue[0][0] - now for w in ways if w.queue]
        events = dict(poll.poll(max(0.0, min(due)) if due else None))
        if control.fileno() in events and not _obey(control, settings, ways):
            return
        now = time.monotonic()
        for w in ways:
            w.take(now, settings)
            w.deliver(time.monotonic())


# ---- in the test -----------------------------------------------------------------------------

class Unavailable(Exception):
    """This machine has no such line; the text says why."""


class Line:
    def __init__(self, seed=0):
        if os.geteuid() != 0:
            raise Unavailable("only root makes network namespaces")
        if not os.path.exists("/dev/net/tun"):
            raise Unavailable("no /dev/net/tun")
        self.control, theirs = socket.socketpair()
        self.control.settimeout(10)
        self.buffer = b""
        with theirs:
            self.proc = subprocess.Popen(
                [sys.executable, os.path.abspath(__file__), str(theirs.fileno()), str(seed)],
                pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            self.ns = {k: "/proc/%d/fd/%d" % (self.proc.pid, fd)
                       for k, fd in self._hear().items()}
        except Unavailable:
            self.close()
            raise

    def _hear(self):
        while b"\n" not in self.buffer:
            data = self.control.recv(65536)
            if not data:
                raise Unavailable("no line: " + self.proc.stderr.read().decode()[-300:].strip())
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def _ask(self, **settings):
        unknown = set(settings) - set(SETTINGS)
        if unknown:
            raise ValueError("no such setting: %s" % sorted(unknown))
        self.control.sendall(json.dumps(settings).encode() + b"\n")
        return self._hear()

    def set(self, **settings):
        """Holds from the next packet on; what is not named stays."""
        self._ask(**settings)

    def stats(self):
        return self._ask()

    def argv(self, side, argv):
        """A command line that runs argv in the namespace of that side."""
        return ["nsenter", "--net=" + self.ns[side], "--", *argv]

    def run(self, side, argv, **kw):
        return subprocess.Popen(self.argv(side, argv), **kw)

    @contextlib.contextmanager
    def inside(self, side):
        """This thread is in that namespace meanwhile: sockets that it makes stay there."""
        libc = ctypes.CDLL(None, use_errno=True)
        back = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(self.ns[side], os.O_RDONLY)
        try:
            if libc.setns(there, CLONE_NEWNET) < 0:
                raise OSError(ctypes.get_errno(), "setns")
            yield ADDRESS[side]
        finally:
            libc.setns(back, CLONE_NEWNET)
            os.close(there)
            os.close(back)

    def close(self):
        self.control.close()
        try:
            self.proc.wait(5)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
        self.proc.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


if __name__ == "__main__":
    _forward(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
