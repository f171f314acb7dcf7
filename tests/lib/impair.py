# SPDX-License-Identifier: Apache-2.0
"""A network that misbehaves on order, for tests: a proxy of bytes between any two of
"unix:/PATH" and "tcp:HOST:PORT". (Packets are impaired by impair_tun.py.)

    p = Proxy("unix:/tmp/near.sock", "unix:/tmp/far.sock", seed=1)
    p.piece, p.delay_ms = 1, 20             single bytes, each 20 ms later
    p.stall(); p.flow()                     half-open: nothing passes, nobody is told
    p.cut("rst")                            rst, fin, or half: one direction ends
    p.arm(Fault("down", "call.tool", where="inside", how="fin"))    at a boundary of a frame
    p.arm(Fault("up", byte=1000, how="stall"))                      at a byte
    p.hold(); p.let()                       who connects waits meanwhile
    p.cut("orphan"); p.bury()               one end is told, the other is left alone, until then

"down" is what brain sends, "up" what hands sends; brain is the side that connects, unless
flipped. thread_in: a context manager that the proxy's thread enters (impair_tun's inside). A thread of its own carries
the bytes, and reads the headers of our frames (docs/PROTOCOL.md) as they pass; where frames are
hidden (TLS, WebSocket) only faults at a byte hit. A Unix socket knows no RST: there "rst" closes
with what is unread, which the peer sees as ECONNRESET."""
import contextlib
import os
import random
import selectors
import socket
import struct
import threading
import time

from ats_wire import Link

HEADER = 20
BUFFER_MAX = 1 << 20        # held for one direction: more is left in the kernel
READ = 65536
WHERES = ("before", "header", "inside", "after")
HOWS = ("rst", "fin", "half", "stall")
ORPHANS = "orphan"          # one how more, where no kernel tells both ends


def address(url):
    """(family, what connect and bind take)."""
    scheme, rest = url.split(":", 1)
    if scheme == "unix":
        return socket.AF_UNIX, rest
    if scheme != "tcp":
        raise ValueError("neither unix: nor tcp: " + url)
    host, port = rest.strip("/").rsplit(":", 1)
    return (socket.AF_INET6 if ":" in host else socket.AF_INET), (host.strip("[]"), int(port))


class Scanner:
    """Finds the frames in a stream of bytes that comes in any pieces. boundary is where the next
    frame begins."""

    def __init__(self):
        self.at = 0             # bytes seen
        self.head = b""
        self.boundary = 0
        self.broken = False     # these are not our frames

    def feed(self, data):
        """[(offset of the frame, its length, length of its JSON, name)] whose header ends here."""
        found, pos = [], 0
        while pos < len(data) and not self.broken:
            if self.at + pos < self.boundary:
                pos += min(len(data) - pos, self.boundary - self.at - pos)
                continue
            take = data[pos:pos + HEADER - len(self.head)]
            self.head += take
            pos += len(take)
            if len(self.head) < HEADER:
                break
            n, t, k, reserved, _, jn = struct.unpack(">IBBHQI", self.head)
            if reserved or n < HEADER + jn or (t, k) not in Link.names:
                self.broken = True
                break
            found.append((self.boundary, n, jn, Link.names[t, k]))
            self.boundary += n
            self.head = b""
        self.at += len(data)
        return found


class Fault:
    """What happens once, to the first link that comes there. way: down or up. frame: a name, or
    None for any; the nth of it from when the fault was armed. where: before it, in its header,
    inside (the rest), after it. byte instead: an offset of the link. The place within is the
    proxy's choice, by its seed. hit is set when it has happened, and then() called, by the proxy's
    thread."""

    def __init__(self, way, frame=None, nth=1, where="before", how="fin", byte=None, hold=False,
                 then=None):
        self.way, self.frame, self.nth, self.where = way, frame, nth, where
        self.how, self.byte, self.hold, self.then = how, byte, hold, then
        self.hit = threading.Event()

    def __repr__(self):
        place = "byte %d" % self.byte if self.byte is not None else "%s %s" % (
            self.where, self.frame or "any frame")
        return "%s %s, %s" % (self.how, place, self.way)

    def place(self, frame, rng):
        """The offset at which it strikes in this frame, None when it is not this one."""
        at, n, jn, name = frame
        if self.byte is not None or self.frame not in (None, name):
            return None
        self.nth -= 1
        if self.nth > 0:
            return None
        return {"before": at, "header": at + rng.randrange(1, HEADER),
                "inside": at + rng.randrange(HEADER, n) if n > HEADER else at + HEADER,
                "after": at + n}[self.where]


class Lane:
    """One direction of one connection."""

    def __init__(self, proxy, way, src, dst):
        self.proxy, self.way, self.src, self.dst = proxy, way, src, dst
        self.scanner = Scanner()
        self.queue = []         # (when it may leave, bytes)
        self.held = 0
        self.sent = 0           # bytes that left
        self.ends = False       # the source has ended: so shall the sink, after the queue
        self.over = False
        self.strike = None      # (offset, fault)

    def took(self, data):
        """The header of a frame is here before its fault's place has left: the lane is scanned
        when bytes come and struck when they go."""
        proxy = self.proxy
        for frame in self.scanner.feed(data):
            proxy.count(self.way, frame[3])
            for fault in proxy.faults if self.strike is None else ():
                if fault.way == self.way:
                    at = fault.place(frame, proxy.rng)
                    if at is not None:
                        self.claim(max(at, self.sent), fault)
                        break
        for fault in proxy.faults if self.strike is None else ():
            if fault.way == self.way and fault.byte is not None and \
                    self.sent <= fault.byte < self.sent + self.held + len(data):
                self.claim(fault.byte, fault)
                break
        self.queue.append((time.monotonic() + proxy.delay_ms / 1000, data))
        self.held += len(data)

    def claim(self, at, fault):
        self.strike = (at, fault)
        self.proxy.faults.remove(fault)

    def wait(self, now):
        """Seconds until there is something to write; None: nothing."""
        if self.over or self.proxy.stalled(self.way):
            return None
        if self.strike and self.strike[0] == self.sent:
            return 0.0
        if self.queue:
            return max(0.0, self.queue[0][0] - now)
        return 0.0 if self.ends else None

    def write(self, now):
        """What is due, up to the fault's place. True: the fault strikes."""
        while self.queue and self.queue[0][0] <= now:
            if self.strike and self.strike[0] == self.sent:
                return True
            when, data = self.queue[0]
            n = len(data)
            if self.strike:
                n = min(n, self.strike[0] - self.sent)
            if self.proxy.piece:
                n = min(n, self.proxy.piece)
            try:
                n = self.dst.send(data[:n])
            except BlockingIOError:
                return False
            self.sent += n
            self.held -= n
            if n < len(data):
                self.queue[0] = (when, data[n:])
            else:
                self.queue.pop(0)
            if self.proxy.piece:        # the others have a turn between two pieces
                break
        return bool(self.strike) and self.strike[0] == self.sent


class Pair:
    def __init__(self, proxy, near, far):
        self.near, self.far = near, far
        brain, hands = (far, near) if proxy.flipped else (near, far)
        self.lanes = {"down": Lane(proxy, "down", brain, hands),
                      "up": Lane(proxy, "up", hands, brain)}


class Proxy:
    def __init__(self, listen, to, seed=0, owner=None, flipped=False, thread_in=None):
        self.listen_url, self.to, self.flipped = listen, to, flipped
        self.thread_in = thread_in or contextlib.nullcontext
        self.rng = random.Random(seed)
        self.piece = 0          # bytes in one write; 0: what is there
        self.delay_ms = 0
        self.faults = []
        self.seen = {}          # (way, frame) -> how many passed
        self.taken = 0          # connections
        self.struck = []        # faults that happened, as text
        self.pairs = []
        self.waiting = []       # accepted, and held back
        self.orphans = []       # left alone
        self._held = False
        self._stalled = set()
        self._ending = False
        with self.thread_in():
            self.listener = self._listen(listen, owner)
        self.port = None if self.listener.family == socket.AF_UNIX else \
            self.listener.getsockname()[1]
        self.wake_r, self.wake_w = os.pipe()
        os.set_blocking(self.wake_r, False)
        self.lock = threading.RLock()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    @staticmethod
    def _listen(url, owner):
        family, where = address(url)
        listener = socket.socket(family, socket.SOCK_STREAM)
        if family != socket.AF_UNIX:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        if owner is not None and family == socket.AF_UNIX:
            os.chown(where, owner, owner)
        listener.listen(32)
        listener.setblocking(False)
        return listener

    # ---- orders, from any thread
    def arm(self, fault):
        with self.lock:
            self.faults.append(fault)
        return fault

    def disarm(self):
        """Forgets what has not happened."""
        with self.lock:
            self.faults.clear()
            for pair in self.pairs:
                for lane in pair.lanes.values():
                    lane.strike = None

    def stall(self, ways=("down", "up")):
        """Nothing passes that way, new connections neither; nobody is told."""
        with self.lock:
            self._stalled |= set(ways)
        self._wake()

    def flow(self):
        with self.lock:
            self._stalled.clear()
        self._wake()

    def stalled(self, way):
        return way in self._stalled

    def hold(self):
        with self.lock:
            self._held = True

    def let(self):
        with self.lock:
            self._held = False
        self._wake()

    def cut(self, how="rst", hold=False):
        """Every connection there is."""
        with self.lock:
            self._held |= hold
            for pair in list(self.pairs):
                self._end(pair, how, "down" if self.rng.random() < 0.5 else "up")
        self._wake()

    def bury(self):
        """The ends that were left alone hear of it now."""
        with self.lock:
            orphans, self.orphans = self.orphans, []
            for s in orphans:
                s.close()

    def count(self, way, frame):
        self.seen[way, frame] = self.seen.get((way, frame), 0) + 1

    def close(self):
        self._ending = True
        self._wake()
        self.thread.join(10)
        for s in [self.listener, *self.waiting, *self.orphans, *(x for p in self.pairs
                                                 for x in (p.near, p.far))]:
            s.close()
        os.close(self.wake_r)
        os.close(self.wake_w)

    # ---- the loop
    def _wake(self):
        with contextlib.suppress(OSError):
            os.write(self.wake_w, b"x")

    def _end(self, pair, how, way):
        if how == "half":       # that direction says that it is over; the other goes on
            lane = pair.lanes[way]
            lane.over = True
            lane.queue.clear()
            with contextlib.suppress(OSError):
                lane.dst.shutdown(socket.SHUT_WR)
            return
        told = [pair.near, pair.far]
        if how == ORPHANS:
            self.orphans.append(told.pop(self.rng.randrange(2)))
        for s in told:
            if how == "rst" and s.family != socket.AF_UNIX:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()
        self.pairs.remove(pair)

    def _strike(self, pair, lane):
        fault = lane.strike[1]
        lane.strike = None
        self.struck.append(repr(fault))
        if fault.hold:
            self._held = True
        if fault.how == "stall":
            self._stalled |= {"down", "up"}
        else:
            self._end(pair, fault.how, lane.way)
        fault.hit.set()
        if fault.then:
            fault.then()

    def _accept(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                s, _ = self.listener.accept()
                s.setblocking(False)
                self.waiting.append(s)

    def _connect(self):
        """Whoever waits, unless connections are held or the network is away."""
        if self._held or self._stalled:
            return
        waiting, self.waiting = self.waiting, []
        for near in waiting:
            family, where = address(self.to)
            far = socket.socket(family, socket.SOCK_STREAM)
            far.settimeout(5)
            try:
                far.connect(where)
            except OSError:
                far.close()
                near.close()
                continue
            far.setblocking(False)
            for s in (near, far):
                if s.family != socket.AF_UNIX:
                    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.taken += 1
            self.pairs.append(Pair(self, near, far))

    def _read(self, lane):
        if lane.ends or lane.over or self.stalled(lane.way):
            return
        try:
            data = lane.src.recv(READ)
        except BlockingIOError:
            return
        if data:
            lane.took(data)
        else:
            lane.ends = True

    def _write(self, pair, lane, now):
        if lane.over or self.stalled(lane.way):
            return
        if lane.write(now) or (lane.strike and lane.strike[0] == lane.sent):
            self._strike(pair, lane)
        elif lane.ends and not lane.queue:
            lane.over = True
            with contextlib.suppress(OSError):
                lane.dst.shutdown(socket.SHUT_WR)
            if all(x.over for x in pair.lanes.values()):
                self._end(pair, "fin", lane.way)

    def _serve(self, pair, ready, now):
        try:
            for lane in pair.lanes.values():
                if lane.src in ready:
                    self._read(lane)
            for lane in pair.lanes.values():
                if pair in self.pairs:
                    self._write(pair, lane, now)
        except OSError:
            if pair in self.pairs:      # one side is gone: the other hears of it
                self._end(pair, "rst", "down")

    def _wants(self, selector, now):
        """Registers what to wait for; the seconds until something is due by itself."""
        due = None
        events = {self.listener: selectors.EVENT_READ}
        for pair in self.pairs:
            for lane in pair.lanes.values():
                if not lane.ends and not lane.over and lane.held < BUFFER_MAX and \
                        not self.stalled(lane.way):
                    events[lane.src] = events.get(lane.src, 0) | selectors.EVENT_READ
                wait = lane.wait(now)
                if wait == 0.0:
                    events[lane.dst] = events.get(lane.dst, 0) | selectors.EVENT_WRITE
                elif wait is not None:
                    due = wait if due is None else min(due, wait)
        for s, what in events.items():
            selector.register(s, what)
        return due

    def _turn(self, found):
        with contextlib.suppress(BlockingIOError):
            os.read(self.wake_r, 4096)
        ready = {key.fileobj for key, what in found if what & selectors.EVENT_READ}
        self._accept()
        self._connect()
        now = time.monotonic()
        for pair in list(self.pairs):
            self._serve(pair, ready, now)

    def _run(self):
        with self.thread_in():
            self._loop()

    def _loop(self):
        while not self._ending:
            with selectors.DefaultSelector() as selector:
                selector.register(self.wake_r, selectors.EVENT_READ)
                with self.lock:
                    due = self._wants(selector, time.monotonic())
                found = selector.select(due)
                with self.lock:
                    self._turn(found)
