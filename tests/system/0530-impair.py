#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tests' own bad network: what it is told to do to bytes and packets happens, and nothing
else does."""
import contextlib
import os
import random
import select
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import impair
import impair_tun

PACKETS = 2000
SO_RCVBUFFORCE = 33      # Python has no name for it


# ---- bytes ---------------------------------------------------------------------------------

class Ends:
    """A proxy with a connection through it: near is the accepted side, far behind it."""

    def __init__(self, home, listen, to, seed=1):
        def listener(kind, name):
            s = socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET)
            s.bind(os.path.join(home.run, name) if kind == "unix" else ("127.0.0.1", 0))
            s.listen(8)
            s.settimeout(10)
            home.open_things.append(s)
            where = s.getsockname()
            return s, ("unix:" + where if kind == "unix" else "tcp:127.0.0.1:%d" % where[1])
        self.behind, self.to = listener(to, "behind")
        here = "unix:" + os.path.join(home.run, "proxy") if listen == "unix" else "tcp:127.0.0.1:0"
        self.proxy = impair.Proxy(here, self.to, seed)
        home.open_things.append(self.proxy)
        self.home, self.listen = home, listen
        self.near, self.far = self.connect()

    def dial(self):
        s = socket.socket(socket.AF_UNIX if self.listen == "unix" else socket.AF_INET)
        s.settimeout(10)
        s.connect(os.path.join(self.home.run, "proxy") if self.listen == "unix"
                  else ("127.0.0.1", self.proxy.port))
        self.home.open_things.append(s)
        return s

    def connect(self):
        near = self.dial()
        far, _ = self.behind.accept()
        far.settimeout(10)
        self.home.open_things.append(far)
        return near, far


def some_frames(rng, n=40):
    """Frames of many kinds and sizes, and the offsets at which each begins."""
    names = sorted(ats.Link.numbers)
    out, starts = b"", []
    for i in range(n):
        starts.append((len(out), names[i % len(names)]))
        out += ats.Link.pack(names[i % len(names)], i, {"n": i}, bytes(rng.randrange(0, 3000)))
    return out, starts


def all_of(sock, how=None):
    """Everything until the end, and how it ended."""
    data = b""
    while True:
        try:
            part = sock.recv(65536)
        except ConnectionResetError:
            return data, "rst"
        if not part:
            return data, "fin"
        data += part


def send_all(sock, data):
    """From a thread: the peer may not read yet."""
    def go():
        try:
            sock.sendall(data)
        except OSError:
            pass
    t = threading.Thread(target=go, daemon=True)
    t.start()
    return t


@ats.test("proxy: bytes arrive as they were, whole, in pieces and late, both ways, all kinds")
def _(home):
    rng = random.Random(1)
    for listen, to in (("unix", "unix"), ("tcp", "tcp"), ("unix", "tcp"), ("tcp", "unix")):
        if os.path.exists(os.path.join(home.run, "proxy")):
            for name in ("proxy", "behind"):
                if os.path.exists(os.path.join(home.run, name)):
                    os.unlink(os.path.join(home.run, name))
        e = Ends(home, listen, to)
        data, starts = some_frames(rng)
        t = send_all(e.near, data)
        got = b""
        while len(got) < len(data):
            got += e.far.recv(65536)
        ats.check(got == data, "other bytes")
        t.join()
        ats.equal(sum(n for (way, _), n in e.proxy.seen.items() if way == "down"), len(starts))
        e.proxy.piece, e.proxy.delay_ms = 1, 30
        start = time.monotonic()
        e.far.sendall(data[:300])
        got, pieces = b"", 0
        while len(got) < 300:
            part = e.near.recv(65536)
            pieces += 1
            got += part
        ats.check(got == data[:300], "other bytes")
        ats.check(time.monotonic() - start >= 0.03, "it was not late")
        ats.check(pieces > 1, "it came whole")
        e.near.shutdown(socket.SHUT_WR)
        ats.equal(e.far.recv(10), b"", "the half-close")
        e.far.sendall(b"back")
        ats.equal(e.near.recv(10)[:1], b"b", "the other half is open")
        e.proxy.close()
        home.open_things.remove(e.proxy)


@ats.test("proxy: it ends a link before, within and after the frame that was named, RST or FIN")
def _(home):
    rng = random.Random(2)
    e = Ends(home, "tcp", "tcp", seed=3)
    for how in ("rst", "fin"):
        for where in impair.WHERES:
            for nth in (1, 2):
                data, starts = some_frames(rng, 80)
                name = rng.choice(starts[:20])[1]
                begin = [at for at, n in starts if n == name][nth - 1]
                end = min([at for at, _ in starts if at > begin] + [len(data)])
                fault = e.proxy.arm(impair.Fault("down", name, nth, where, how))
                t = send_all(e.near, data)
                got, ended = all_of(e.far)
                t.join()
                ats.check(fault.hit.wait(5), fault)
                ats.equal(e.proxy.faults, [])
                ats.equal(ended, how)
                n = len(got)
                if ended == "fin":      # RST may overtake what was sent
                    ats.check(data.startswith(got), "other bytes")
                    lo, hi = {"before": (begin, begin), "header": (begin + 1, begin + 19),
                              "inside": (begin + 20, max(begin + 20, end - 1)),
                              "after": (end, end)}[where]
                    ats.check(lo <= n <= hi, "%s: %d bytes, not %d to %d" % (fault, n, lo, hi))
                else:
                    ats.check(n <= end, fault)
                e.near, e.far = e.connect()
    ats.until(lambda: e.proxy.taken == 17, "the last one was taken, too")


@ats.test("proxy: at a byte; half-closed; half-open until it is let go on; who connects waits")
def _(home):
    e = Ends(home, "unix", "tcp")
    f = e.proxy.arm(impair.Fault("up", byte=1000, how="fin"))
    e.far.sendall(bytes(5000))
    ats.equal(len(all_of(e.near)[0]), 1000)
    ats.check(f.hit.wait(5))

    e.near, e.far = e.connect()
    e.proxy.arm(impair.Fault("down", byte=4, how="half"))
    e.near.sendall(b"12345678")
    ats.equal(all_of(e.far), (b"1234", "fin"))
    e.far.sendall(b"still")
    ats.equal(e.near.recv(10), b"still")

    e.near, e.far = e.connect()
    e.proxy.stall()
    e.near.sendall(b"x" * 100000)
    late = e.dial()
    late.sendall(b"late")
    ats.equal(select.select([e.far, e.behind], [], [], 0.2)[0], [], "something passed")
    e.proxy.flow()
    got = b""
    while len(got) < 100000:
        got += e.far.recv(65536)
    there, _ = e.behind.accept()
    home.open_things.append(there)
    ats.equal(there.recv(10), b"late")

    e.near, e.far = e.connect()
    e.proxy.cut(impair.ORPHANS)
    told = select.select([e.near, e.far], [], [], 10)[0]
    ats.equal(len(told), 1)
    other = e.near if told == [e.far] else e.far
    ats.equal(select.select([other], [], [], 0.2)[0], [], "the other was told, too")
    e.proxy.bury()
    ats.equal(other.recv(10), b"")

    e.near, e.far = e.connect()
    e.proxy.cut("fin", hold=True)
    ats.equal(all_of(e.far), (b"", "fin"))
    late = e.dial()
    ats.equal(select.select([e.behind], [], [], 0.2)[0], [], "it connected")
    e.proxy.let()
    there, _ = e.behind.accept()
    home.open_things.append(there)


@ats.test("proxy: the same seed strikes at the same byte")
def _(home):
    data, _ = some_frames(random.Random(4))
    places = []
    e = Ends(home, "tcp", "tcp")
    for seed in (5, 5, 6):
        e.proxy.rng.seed(seed)
        e.proxy.arm(impair.Fault("down", "result", where="inside", how="fin"))
        t = send_all(e.near, data)
        places.append(len(all_of(e.far)[0]))
        t.join()
        e.near, e.far = e.connect()
    ats.equal(places[0], places[1])
    ats.check(places[2] != places[0], "the seed has no say")


# ---- packets -------------------------------------------------------------------------------

def line(seed):
    try:
        return impair_tun.Line(seed)
    except impair_tun.Unavailable as e:
        ats.skip(str(e))


class Udp:
    def __init__(self, line):
        self.ends = {}
        for side in ("a", "b"):
            with line.inside(side) as address:
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
                s.bind((address, 7))
                self.ends[side] = s
        self.line = line

    def send(self, side, n=PACKETS):
        """n numbered packets from there: the numbers that arrived, in their order."""
        other = "b" if side == "a" else "a"
        before = self.line.stats()
        for i in range(n):
            self.ends[side].sendto(b"%d" % i, (impair_tun.ADDRESS[other], 7))
            if i % 100 == 99:       # the tun's own queue holds 500
                self.settled(side, before, i + 1)
        self.settled(side, before, n)
        got = []
        while select.select([self.ends[other]], [], [], 0)[0]:
            got.append(int(self.ends[other].recv(100)))
        return got

    def settled(self, side, before, n):
        """All of them were read, and what was not dropped was written."""
        def done():
            now, old = self.line.stats()[side], before[side]
            d = {k: now[k] - old[k] for k in now}
            return d["read"] == n and \
                d["written"] == n + d["doubled"] - d["lost"] - d["cut"] - d["full"]
        ats.until(done, "the packets are through")

    def close(self):
        for s in self.ends.values():
            s.close()


@ats.test("line: nothing is lost that should not be, and the order is kept, late or not")
def _(home):
    with line(1) as n, contextlib.closing(Udp(n)) as u:
        for settings in ({}, {"delay_ms": 20, "jitter_ms": 10}):
            n.set(**settings)
            start = time.monotonic()
            ats.equal(u.send("a", 500), list(range(500)))
            spent = time.monotonic() - start
        ats.check(spent >= 0.02, "it was not late: %.3f s" % spent)


@ats.test("line: loss, doubles and order are as they were asked for, by the seed")
def _(home):
    runs = []
    for seed in (1, 1, 2):
        with line(seed) as n, contextlib.closing(Udp(n)) as u:
            n.set(loss=0.2)
            lossy = u.send("a")
            ats.equal(lossy, sorted(set(lossy)))
            n.set(loss=0, duplicate=0.1)
            doubled = u.send("b")
            n.set(duplicate=0, reorder=0.1)
            mixed = u.send("b", 500)
        ats.check(0.17 < 1 - len(lossy) / PACKETS < 0.23, "%d of %d" % (len(lossy), PACKETS))
        ats.check(0.07 < len(doubled) / PACKETS - 1 < 0.13, "%d of %d" % (len(doubled), PACKETS))
        ats.equal(sorted(set(doubled)), list(range(PACKETS)))
        ats.equal(sorted(mixed), list(range(500)))
        ats.check(mixed != sorted(mixed), "the order was kept")
        runs.append((lossy, doubled))
    print("# %d of %d lost, %d doubled" % (PACKETS - len(runs[0][0]), PACKETS,
                                           len(runs[0][1]) - PACKETS))
    ats.equal(runs[0], runs[1], "the same seed")
    ats.check(runs[0] != runs[2], "another seed")


@ats.test("line: a partition, whole or of one direction, lets nothing through until it is over")
def _(home):
    with line(1) as n, contextlib.closing(Udp(n)) as u:
        for partition, passes in (("both", ""), ("a", "b"), ("b", "a"), (None, "ab")):
            n.set(partition=partition)
            for side in "ab":
                ats.equal(len(u.send(side, 100)), 100 if side in passes else 0,
                          "%s, from %s" % (partition, side))


@ats.test("line: TCP gets across a bad one, whole")
def _(home):
    data = random.Random(1).randbytes(1 << 20)
    with line(1) as n:
        n.set(loss=0.02, delay_ms=2, jitter_ms=2, reorder=0.02, duplicate=0.02)
        with n.inside("a") as address:
            listener = socket.socket()
            listener.bind((address, 8))
            listener.listen(1)
        with n.inside("b"):
            s = socket.socket()
        with listener, s:
            s.settimeout(20)
            s.connect((impair_tun.ADDRESS["a"], 8))
            far, _ = listener.accept()
            with far:
                t = send_all(s, data)
                got = b""
                while len(got) < len(data):
                    got += far.recv(1 << 16)
                t.join()
        ats.check(got == data, "other bytes")
        stats = n.stats()["b"]
        ats.check(stats["lost"] and stats["reordered"] and stats["doubled"], stats)


ats.main()
