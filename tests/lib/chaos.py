# SPDX-License-Identifier: Apache-2.0
"""A real brain and a real hands with a bad line between them, and all that can happen to them.

    w = World(home, "unix", seed)
    events = w.plan(count, every)       [(after so many calls, a function)], by the seed
    w.close()

An event is a name and an argument; w.fired lists them as they came, with the seconds. What an event
takes away for a time (a stopped process, a partition, a full disk) comes back by itself. A hands
that has ended is started again, as a supervisor would."""
import contextlib
import os
import random
import select
import signal
import socket
import subprocess
import threading
import time

import ats
import far
import impair
import impair_tun

HEARTBEAT_MS = 200
ENGINE_GAP_S = 2.6      # the vault gives up after five engines in ten seconds, as it should
SHORT, LONG = 0.8, 3.5  # heartbeats: not noticed, and surely noticed
STATE_SIZE = "96m"

# Whom an event can hit: (comm, comm of the parent); None: the root of brain or of hands.
BRAIN = {"vault": ("ats-vault", None), "spawner": ("ats-spawner", "ats-vault"),
         "engine": ("ats-engine", "ats-spawner")}
HANDS = {"launcher": ("ats-hands", None), "init": ("ats-init", "ats-hands"),
         "front": ("ats-front", "ats-init"), "zygote read": ("zygote-read", "ats-init"),
         "zygote write": ("zygote-write", "ats-init"),
         "zygote shell": ("zygote-shell", "ats-init"),
         "worker read": ("zygote-read", "zygote-read"),
         "worker write": ("zygote-write", "zygote-write"),
         "monitor": ("zygote-shell", "zygote-shell"), "bash": ("bash", "zygote-shell")}
ROLES = {**BRAIN, **HANDS}
STOPPED = ("engine", "vault", "spawner", "launcher", "init", "front", "zygote read",
           "zygote write", "zygote shell")
DOWN = ("call.tool", "call.exec", "call.validate", "control.ack", "control.ping",
        "control.hello", "control.cancel", None)
LOSSY = {"loss": 0.01, "delay_ms": 1, "jitter_ms": 2, "reorder": 0.02, "duplicate": 0.01}
UP = ("result", "control.ready", "control.pong", "control.hello", "event.stdout", None)


# ---- kinds of links ----------------------------------------------------------------------------

class Plan:
    """url: brain's. near, far: the proxy's ends. hands: hands' command line. key: it has one, and
    is enrolled. dials: hands connects. line: packets go through it, hands' through its side a."""

    def __init__(self, url, near, far, hands, key=True, dials=False, line=None):
        self.url, self.near, self.far, self.hands = url, near, far, hands
        self.key, self.dials, self.line = key, dials, line


def over_unix(world):
    near, there = ("unix:" + os.path.join(world.home.run, n) for n in ("proxy.sock", "far.sock"))
    return Plan(near, near, there, there, key=False)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def to_hands(scheme):
    """Brain connects."""
    def plan(_):
        near, there = free_port(), free_port()
        return Plan("%s://127.0.0.1:%d" % (scheme, near), "tcp:127.0.0.1:%d" % near,
                    "tcp:127.0.0.1:%d" % there,
                    ["--listen", "%s://127.0.0.1:%d" % (scheme, there)])
    return plan


def to_brain(scheme):
    """Hands connects."""
    def plan(_):
        near, there = free_port(), free_port()
        return Plan("listen:%s://127.0.0.1:%d" % (scheme, there), "tcp:127.0.0.1:%d" % near,
                    "tcp:127.0.0.1:%d" % there,
                    ["--connect", "%s://127.0.0.1:%d" % (scheme, near)], dials=True)
    return plan


def through_line(scheme, dials=False):
    """Hands is in another network namespace."""
    def plan(world):
        line = impair_tun.Line(world.seed)
        a, b = impair_tun.ADDRESS["a"], impair_tun.ADDRESS["b"]
        if dials:
            return Plan("listen:%s://%s:7002" % (scheme, b), "tcp:%s:7001" % b,
                        "tcp:%s:7002" % b, ["--connect", "%s://%s:7001" % (scheme, b)],
                        dials=True, line=line)
        return Plan("%s://%s:7001" % (scheme, b), "tcp:%s:7001" % b, "tcp:%s:7002" % a,
                    ["--allow-plain", "--listen", "%s://%s:7002" % (scheme, a)], line=line)
    return plan


LINKS = {"unix": over_unix, "tcp": to_hands("tcp"), "tls": to_hands("tls"), "ws": to_hands("ws"),
         "wss": to_hands("wss"), "listen:tcp": to_brain("tcp"), "listen:tls": to_brain("tls"),
         "tcp, packets lost": through_line("tcp"), "tls, packets lost": through_line("tls"),
         "listen:tls, packets lost": through_line("tls", dials=True)}


def is_spoken(url):
    """Whether the programs that were built speak it (TLS may be left out)."""
    scheme = url.rsplit("://", 1)[0].rsplit(":", 1)[-1]
    usage = subprocess.run([ats.program("ats-hands"), "--help"], stdout=subprocess.PIPE,
                           check=False).stdout.decode()
    return scheme + "://" in usage


class Disk:
    """The state directory on a small disk of its own, where that can be had. It is there until the
    home is closed: the logs are on it."""

    def __init__(self, home):
        self.path = home.state
        self.there = os.geteuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=" + STATE_SIZE, "tmpfs", self.path],
            stderr=subprocess.DEVNULL, check=False).returncode == 0
        home.open_things.insert(0, self)

    def close(self):
        if self.there:
            subprocess.run(["umount", "-l", self.path], check=False)


class World:
    """link: a row of LINKS. only_link: both sides live, whatever happens between them."""

    def __init__(self, home, link, seed, only_link=False, heartbeat_ms=HEARTBEAT_MS):
        self.home, self.seed, self.only_link = home, seed, only_link
        self.beat = heartbeat_ms / 1000
        self.rng = random.Random("%d world" % seed)
        self.fired = []
        self.started_s = time.monotonic()
        self.missed = 0         # events that found nobody to hit
        self.engine_s = 0.0     # when an engine was last ended
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.timers = []
        self.plan_of = plan = LINKS[link](self)
        self.line = plan.line
        if plan.key and not is_spoken(plan.url):
            self.end_line()
            ats.skip("these programs do not speak " + plan.url.rsplit("://", 1)[0])
        self.disk = Disk(home)
        sandbox = {"url": plan.url}
        if self.line:
            home.prefix = self.line.argv("b", [])
            self.line.set(**LOSSY)
            sandbox["allow_plain"] = True
        home.configure({"heartbeat_ms": heartbeat_ms, "sandbox": sandbox})
        self.proxy = impair.Proxy(plan.near, plan.far, seed, flipped=plan.dials,
                                  thread_in=self.line and (lambda: self.line.inside("b")))
        self.far = self.make_hands(plan)
        self.keeper = threading.Thread(target=self.keep, daemon=True)
        self.keeper.start()

    # ---- what is around
    def make_hands(self, plan):
        if not plan.key:
            return far.Far(self.home, path=plan.hands[5:])
        key = self.home.ctl("sandbox", "enroll", code=0).stdout.decode()
        return far.NetFar(self.home, key, [*plan.hands, "--option", "heartbeat_s=1"],
                          self.line.argv("a", []) if self.line else ())

    def keep(self):
        while not self.over.is_set():
            proc = self.far.proc
            if proc.poll() is None:     # else it has no pidfd any more
                with contextlib.closing(os.fdopen(ats.pidfd(proc.pid), "rb", buffering=0)) as fd:
                    while proc.poll() is None and not self.over.is_set():
                        select.select([fd], [], [], 0.1)
            if not self.over.is_set():
                self.far.kill()         # what is left of it
                self.home.open_things.remove(proc)
                with contextlib.suppress(ats.Failure):
                    self.far.start()

    def close(self):
        self.over.set()
        self.proxy.disarm()
        self.keeper.join(10)
        for t in self.timers:
            t.join()
        self.proxy.flow()
        self.proxy.let()
        self.proxy.bury()
        self.home.ctl("shutdown")
        self.far.kill()
        self.proxy.close()
        self.end_line()

    def end_line(self):
        if self.line:
            self.line.close()
            self.home.prefix = []

    def of_role(self, role):
        """Pids in that role; the youngest last."""
        root = self.far.proc.pid if role in HANDS else self.home.brain_pid()
        if root is None:
            return []
        name, up = ROLES[role]
        if up is None:
            return [root] if ats.alive(root) else []
        table = ats.parents()
        return [p for p in sorted(ats.descendants(root) | {root})
                if ats.comm(p) == name and ats.comm(table.get(p, 0)) == up]

    def naps(self):
        """Commands that are still asleep: they may do something yet."""
        return ats.find(self.far.proc.pid, "sleep 0.")

    def after(self, seconds, fn):
        """By any thread."""
        t = threading.Timer(seconds, fn)
        with self.lock:
            self.timers = [x for x in self.timers if x.is_alive()] + [t]
            t.start()

    # ---- events
    def signal(self, role, number):
        pids = self.of_role(role)
        if not pids:
            self.missed += 1
            return None
        pid = pids[-1]
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            self.missed += 1
            return None
        return pid

    def kill(self, role):
        self.signal(role, signal.SIGKILL)

    def stop(self, role, beats):
        pid = self.signal(role, signal.SIGSTOP)
        if pid is not None:
            def go_on():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            self.after(beats * self.beat, go_on)

    def partition(self, ways, beats):
        self.proxy.stall(ways)
        self.after(beats * self.beat, self.proxy.flow)

    def cut(self, how):
        self.proxy.cut(how)

    def orphan(self, beats):
        """One end hears that the link is gone; the other takes it for a silent one."""
        self.proxy.cut(impair.ORPHANS)
        self.after(beats * self.beat, self.proxy.bury)

    def packets(self, loss, ways, beats):
        """More of them are lost; all, in one direction or both."""
        self.line.set(loss=loss, partition=ways)

        def end():
            self.line.set(**LOSSY, partition=None)
        self.after(beats * self.beat, end)

    def cut_at(self, way, frame, where, how):
        """At the next such frame. A stall ends by itself, whenever it began; an order that nothing
        met is dropped when the next event comes."""
        def then():
            self.after(LONG * self.beat, self.proxy.flow)
        self.proxy.arm(impair.Fault(way, frame, 1, where, how,
                                    then=then if how == "stall" else None))

    def slow(self, piece, delay_ms):
        self.proxy.piece, self.proxy.delay_ms = piece, delay_ms

        def end():
            self.proxy.piece = self.proxy.delay_ms = 0
        self.after(4 * self.beat, end)

    def disk_full(self, beats):
        if not self.disk.there:
            self.missed += 1
            return
        filler = os.path.join(self.home.state, "filler")
        fd = os.open(filler, os.O_WRONLY | os.O_CREAT, 0o600)
        with contextlib.suppress(OSError):
            while True:
                os.write(fd, bytes(65536))
        with contextlib.suppress(OSError):
            while True:
                os.write(fd, bytes(512))
        os.close(fd)

        def free():
            with contextlib.suppress(FileNotFoundError):    # filled twice, freed twice
                os.unlink(filler)
        self.after(beats * self.beat, free)

    def kinds(self):
        """Names of events, as often as they shall come."""
        link = ["partition"] * 3 + ["cut"] + ["cut_at"] * 8 + ["slow"] + \
            ["orphan"] * (3 if self.plan_of.key else 0) + ["packets"] * (5 if self.line else 0)
        return link if self.only_link else link + ["kill"] * 5 + ["stop"] * 5 + ["disk_full"]

    def choose(self):
        """(name, arguments): what comes next, by the seed."""
        r = self.rng
        kind = r.choice(self.kinds())
        way, frame = r.choice([("down", f) for f in DOWN] + [("up", f) for f in UP])
        return kind, {
            "kill": lambda: (r.choice(sorted(ROLES)),),
            "stop": lambda: (r.choice(STOPPED), r.choice((SHORT, LONG))),
            "partition": lambda: (r.choice((("down",), ("up",), ("down", "up"))),
                                  r.choice((SHORT, LONG, 2 * LONG))),
            "cut": lambda: (r.choice(("rst", "fin")),),
            "cut_at": lambda: (way, frame, r.choice(impair.WHERES), r.choice(impair.HOWS)),
            "orphan": lambda: (r.choice((SHORT, LONG)),),
            "packets": lambda: (r.choice((0.05, 0.3)), r.choice((None, "both", "a", "b")),
                                r.choice((SHORT, LONG))),
            "slow": lambda: (r.choice((1, 7, 0)), r.choice((0, 5, 20))),
            "disk_full": lambda: (r.choice((1, 5)),),
        }[kind]()

    def fire(self, name, arguments):
        """False: not yet."""
        if name in ("kill", "stop") and arguments[0] in BRAIN and arguments[-1] != SHORT:
            if time.monotonic() < self.engine_s + ENGINE_GAP_S:
                return False
            self.engine_s = time.monotonic()
        self.proxy.disarm()
        self.fired.append("%.1f s %s %s" % (time.monotonic() - self.started_s, name,
                                            " ".join(str(a) for a in arguments)))
        getattr(self, name)(*arguments)
        return True

    def plan(self, count, every):
        """Events for count calls, one after each so many."""
        out = []
        for n in range(every, count, every):
            name, arguments = self.choose()
            out.append((n, lambda name=name, a=arguments: self.fire(name, a)))
        return out
