# SPDX-License-Identifier: Apache-2.0
"""A real brain and a real hands with a bad line between them, and all that can happen to them.

    w = World(home, "unix", seed)
    events = w.plan(count, every)       [(after so many calls, a function)], by the seed
    w.close()

An event is a name and an argument; w.fired lists them as they came, so that two runs of a seed can
be compared. What an event takes away for a time (a stopped process, a partition, a full disk)
comes back by itself. A hands that has ended is started again, as a supervisor would."""
import contextlib
import os
import random
import select
import signal
import subprocess
import threading
import time

import ats
import far
import impair

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
UP = ("result", "control.ready", "control.pong", "control.hello", "event.stdout", None)


# ---- kinds of links: each is what hands listens on, what brain is told, and the proxy between ----

def link_unix(world):
    path = os.path.join(world.home.run, "proxy.sock")
    world.far = far.Far(world.home)
    return "unix:" + path, "unix:" + path, "unix:" + world.far.path


LINKS = {"unix": link_unix}


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
    def __init__(self, home, link, seed, heartbeat_ms=HEARTBEAT_MS):
        self.home, self.seed = home, seed
        self.beat = heartbeat_ms / 1000
        self.rng = random.Random("%d world" % seed)
        self.fired = []
        self.missed = 0         # events that found nobody to hit
        self.engine_s = 0.0     # when an engine was last ended
        self.over = threading.Event()
        self.timers = []
        self.disk = Disk(home)
        listen, url, to = LINKS[link](self)
        self.proxy = impair.Proxy(listen, to, seed)
        home.configure({"heartbeat_ms": heartbeat_ms, "sandbox": {"url": url}})
        self.keeper = threading.Thread(target=self.keep, daemon=True)
        self.keeper.start()

    # ---- what is around
    def keep(self):
        while not self.over.is_set():
            proc = self.far.proc
            fd = ats.pidfd(proc.pid)
            with contextlib.closing(os.fdopen(fd, "rb", buffering=0)):
                while proc.poll() is None and not self.over.is_set():
                    select.select([fd], [], [], 0.1)
            if not self.over.is_set():
                self.far.kill()         # what is left of it
                self.home.open_things.remove(proc)
                with contextlib.suppress(ats.Failure):
                    self.far.start()

    def close(self):
        self.over.set()
        self.keeper.join(10)
        for t in self.timers:
            t.join()
        self.proxy.flow()
        self.proxy.let()
        self.home.ctl("shutdown")
        self.far.kill()
        self.proxy.close()

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
        t = threading.Timer(seconds, fn)
        self.timers = [x for x in self.timers if x.is_alive()]
        self.timers.append(t)
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

    def cut_at(self, way, frame, where, how):
        """At the next such frame. A stall ends by itself; an order that nothing met is dropped
        when the next event comes."""
        fault = self.proxy.arm(impair.Fault(way, frame, 1, where, how))
        if how == "stall":
            def go_on():
                if fault.hit.wait(LONG * self.beat):
                    self.over.wait(LONG * self.beat)
                self.proxy.flow()
            self.after(0, go_on)

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

    def choose(self):
        """(name, arguments): what comes next, by the seed."""
        r = self.rng
        kind = r.choice(["kill"] * 5 + ["stop"] * 5 + ["partition"] * 3 + ["cut"] +
                        ["cut_at"] * 8 + ["slow"] + ["disk_full"])
        way, frame = r.choice([("down", f) for f in DOWN] + [("up", f) for f in UP])
        return kind, {
            "kill": lambda: (r.choice(sorted(ROLES)),),
            "stop": lambda: (r.choice(STOPPED), r.choice((SHORT, LONG))),
            "partition": lambda: (r.choice((("down",), ("up",), ("down", "up"))),
                                  r.choice((SHORT, LONG, 2 * LONG))),
            "cut": lambda: (r.choice(("rst", "fin")),),
            "cut_at": lambda: (way, frame, r.choice(impair.WHERES), r.choice(impair.HOWS)),
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
        self.fired.append("%s %s" % (name, " ".join(str(a) for a in arguments)))
        getattr(self, name)(*arguments)
        return True

    def plan(self, count, every):
        """Events for count calls, one after each so many."""
        out = []
        for n in range(every, count, every):
            name, arguments = self.choose()
            out.append((n, lambda name=name, a=arguments: self.fire(name, a)))
        return out
