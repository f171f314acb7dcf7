# SPDX-License-Identifier: Apache-2.0
"""Links: echoes and streams by each transport, a network that is slow or breaks, and how much a
thousand idle sandboxes take."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import threading
import time

import places
from places import Boxes, Place, ats
from rig import ATSCTL, DRIVERS, Mcp
import impair       # by places: of tests/lib
import scripts

KINDS = ("stdio", "tcp", "tls", "wss")
LINE = "1024"
MIB = 1 << 20
RTT_MS = 20


def pump(source, sink):
    """What comes goes back, until the end."""
    with contextlib.suppress(OSError):
        while True:
            data = source.recv(65536)
            if not data:
                return
            sink.sendall(data)


def cpu_s(pids):
    """Seconds of processor time that these have had."""
    total = 0
    for p in pids:
        for tid in os.listdir("/proc/%d/task" % p):
            with open("/proc/%d/task/%s/schedstat" % (p, tid), encoding="ascii") as f:
                total += int(f.read().split()[0])
    return total / 1e9


class Links:
    def few(self):
        return 3 if self.args.quick else 9

    # ---- one line there and back ------------------------------------------------------
    def pingpong(self, *argv, **kw):
        n = "200" if self.args.quick else "2000"
        out = subprocess.run([os.path.join(DRIVERS, "pingpong"), n, LINE, *argv], check=True,
                             stdout=subprocess.PIPE, **kw).stdout
        return json.loads(out)["median_us"]

    def echo_by(self, kind):
        """Medians in us: ats, the same hops with nothing in them, and without the last one."""
        raw = [os.path.join(DRIVERS, "linkfloor"), "unix" if kind == "stdio" else kind, LINE]
        t = {"ats": [], "same hops": [], "two hops": []}
        with Place(kind) as p:
            for _ in range(2 if self.args.quick else 7):
                t["ats"].append(self.pingpong(ATSCTL, "exec", "--", "cat", **p.env()))
                t["same hops"].append(self.pingpong(*raw, "leaf"))
                t["two hops"].append(self.pingpong(*raw))
        return {k: statistics.median(v) for k, v in t.items()}

    def link_echo(self):
        """Through exec's pipes: client, brain, hands, a cat, and back."""
        t = {}
        for kind in KINDS:
            t[kind] = at = self.echo_by(kind)
            self.row("1 KiB echo by %s" % kind, at["ats"], "us", "", "", None)
            self.ratio("  ratio to the same hops, bare", at["ats"], at["same hops"], "floor", 2,
                       "us", 1)
            self.row("  ratio to two hops without a cat", at["ats"] / at["two hops"], "x",
                     "%.0f us" % at["two hops"], "", None)
        added = t["tls"]["ats"] - t["tcp"]["ats"]
        self.row("TLS adds to an echo", added, "us", "floor %.0f us" % (
            t["tls"]["same hops"] - t["tcp"]["same hops"]), "<= 60", added <= 60)

    # ---- much of it -------------------------------------------------------------------
    def link_stream(self):
        size = 256 * MIB
        ssh = self.ssh_start()
        sink = os.path.join(DRIVERS, "sink")
        with Place("tls") as p:
            big = os.path.join(p.home.ws, "big.bin")
            with open(big, "wb") as f:
                for _ in range(size // MIB):
                    f.write(os.urandom(MIB))
            commands = {"ats": lambda: p.run(sink, ATSCTL, "exec", "--", "cat", big)}
            if ssh:
                commands["ssh"] = lambda: p.run(sink, *ssh, "cat", big)
            t = self.interleave(commands, 2 if self.args.quick else 7)
        rate, gcm = size / t["ats"] / 1e9, self.gcm()
        self.row("256 MiB of output through exec, TLS", rate, "GB/s", "AES-128-GCM alone, one "
                 "way: %.1f" % gcm if gcm else "no openssl(1)", ">= 0.5", rate >= 0.5)
        if ssh:
            self.faster("  faster than ssh mux", t["ats"], t["ssh"], "", 1.5)
        else:
            self.skip("  ssh mux", "no sshd, or not prepared (tests/bench/setup)")

    def gcm(self):
        """GB/s of one processor with the cipher alone."""
        if not shutil.which("openssl"):
            return None
        out = subprocess.run(["openssl", "speed", "-elapsed", "-seconds", "1", "-bytes", "16384",
                              "-evp", "aes-128-gcm"], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL).stdout.decode()
        found = re.search(r"AES-128-GCM\s+([\d.]+)k", out, re.I)
        return float(found.group(1)) * 1e3 / 1e9 if found else None

    # ---- far away ---------------------------------------------------------------------
    def round_trip(self):
        """Seconds of a message and its echo through such a proxy."""
        with socket.create_server(("127.0.0.1", 0)) as at:
            proxy = impair.Proxy("tcp:127.0.0.1:0", "tcp:127.0.0.1:%d" % at.getsockname()[1])
            proxy.delay_ms = RTT_MS / 2
            near = socket.create_connection(("127.0.0.1", proxy.port))
            near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            back, _ = at.accept()
            times = []
            for _ in range(20):
                t0 = time.monotonic()
                near.sendall(b"x" * 300)
                back.sendall(back.recv(4096))
                near.recv(4096)
                times.append(time.monotonic() - t0)
            near.close()
            back.close()
            proxy.close()
        return statistics.median(times)

    def link_delay(self):
        rtt = self.round_trip()
        with Place("tcp", delayed=True) as p:
            ws = p.home.ws
            p.home.write("f.txt", "unique marker AAAA here\n" + "a line of the file\n" * 214)
            mcp = p.mcp()
            marks = ["unique marker AAAA here", "unique marker BBBB here"]
            read = {"file_path": ws + "/f.txt"}
            mcp.call("Read", read)

            def edit():
                t = mcp.call("Edit", dict(read, old_string=marks[0], new_string=marks[1]))[0]
                marks.reverse()
                return t

            calls = {"Read": lambda: mcp.call("Read", read)[0], "Edit": edit,
                     "Bash": lambda: mcp.call("Bash", {"command": "true"})[0],
                     "Grep": lambda: mcp.call("Grep", {"pattern": "marker", "path": ws})[0]}
            n = 5 if self.args.quick else 25
            near = self.interleave(calls, n)
            p.proxy.delay_ms = RTT_MS / 2
            away = self.interleave(calls, n)
            mcp.close()
        for name, t in away.items():
            self.row("%s, %d ms away, round trips" % (name, RTT_MS), t / rtt, "", "one %.1f ms; "
                     "near by %.1f ms" % (rtt * 1e3, near[name] * 1e3), "<= 1.15",
                     t / rtt <= 1.15)
            self.row("  beyond what it takes near by", (t - near[name]) / rtt, "", "", "<= 1.15",
                     (t - near[name]) / rtt <= 1.15)

    # ---- broken and mended --------------------------------------------------------------
    def replay(self, p):
        """Seconds from the network's return to the last of 1 MiB that a command printed while
        it was away."""
        go, done = os.path.join(p.home.ws, "go"), os.path.join(p.home.ws, "done")
        os.mkfifo(go)
        e = p.home.popen(ATSCTL, "exec", "--", "sh", "-c", "echo begun; cat go; head -c %d "
                         "/dev/zero; : > done" % MIB, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, bufsize=0)
        if os.read(e.stdout.fileno(), 6) != b"begun\n":
            raise ValueError("the command did not begin")
        p.proxy.cut(hold=True)
        with open(go, "w", encoding="ascii"):
            pass
        ats.until(lambda: os.path.exists(done) and p.proxy.waiting, "printed, and brain knocks")
        t0 = time.monotonic()
        p.proxy.let()
        left = MIB
        while left:
            got = len(os.read(e.stdout.fileno(), MIB))
            if not got:
                raise ValueError("%d bytes were lost" % left)
            left -= got
        t = time.monotonic() - t0
        if e.wait(ats.TIMEOUT) != 0:
            raise ValueError("the command failed")
        os.unlink(go)
        os.unlink(done)
        return t

    def bare_replay(self):
        """The same bytes, sent as soon as a new connection of such a proxy is there."""
        with socket.create_server(("127.0.0.1", 0)) as at:
            proxy = impair.Proxy("tcp:127.0.0.1:0", "tcp:127.0.0.1:%d" % at.getsockname()[1])
            proxy.hold()
            near = socket.create_connection(("127.0.0.1", proxy.port))
            ats.until(lambda: proxy.waiting, "it is held back")
            sender = threading.Thread(target=lambda: at.accept()[0].sendall(bytes(MIB)))
            sender.start()
            t0 = time.monotonic()
            proxy.let()
            left = MIB
            while left:
                left -= len(near.recv(MIB)) or left
            t = time.monotonic() - t0
            sender.join()
            near.close()
            proxy.close()
        return t

    def link_back(self):
        t, bare = [], []
        with Place("tcp", delayed=True) as p:
            p.home.ctl("exec", "--", "true", code=0)
            for _ in range(self.few()):
                bare.append(self.bare_replay() * 1e3)
                t.append(self.replay(p) * 1e3)
        v = statistics.median(t)
        self.row("network back to 1 MiB replayed, tcp", v, "ms", "bare connection, 1 MiB "
                 "%.1f ms" % statistics.median(bare), "<= 20", v <= 20)

    def kill_engine(self, sessions):
        """ms from the kill to the next answer, with so many sessions that vault and engine know."""
        t = []
        with Place() as p:
            mcp = p.mcp()
            path = p.home.write("f.txt", "a line\n")
            mcp.call("Read", {"file_path": path})
            v = p.home.vault()
            for i in range(1, sessions):
                v.ask("REGISTER", p.home.ws, "name:%d" % i)
            for _ in range(self.few()):
                pid = p.engine()
                t0 = time.monotonic()
                os.kill(pid, signal.SIGKILL)
                mcp.call("Read", {"file_path": path})
                t.append((time.monotonic() - t0) * 1e3)
            mcp.close()
        return statistics.median(t)

    def engine_back(self):
        one, many = self.kill_engine(1), self.kill_engine(1000)
        self.row("kill -9 of the engine, 1,000 sessions", many, "ms", "with one %.0f ms" % one,
                 "<= 200", many <= 200)

    def warm_back(self):
        """A sandbox of a script is lost: the next one stands ready."""
        t = []
        with contextlib.closing(ats.Home()) as home:
            s = scripts.Scripts(home, warm=1)
            mcp = Mcp([ATSCTL, "mcp"], home.env, home.ws)
            read = {"file_path": home.write("f.txt", "a line\n")}
            cold = mcp.call("Read", read)[0] * 1e3
            for n in range(1, 1 + self.few()):
                ats.until(lambda: os.path.exists("%s/%d.sock" % (s.dir, n + 1)) and
                          ats.find(s.pid(n + 1), "role-zygote"), "a warm one")
                tree = ats.descendants(s.pid(n)) | {s.pid(n)}
                t0 = time.monotonic()
                places.kill_all(tree)
                mcp.call("Read", read)
                t.append((time.monotonic() - t0) * 1e3)
            mcp.close()
            home.ctl("shutdown")
        v = statistics.median(t)
        self.row("loss of a sandbox to an answer, warm pool", v, "ms", "first one of all, built: "
                 "%.0f ms" % cold, "<= 50", v <= 50)

    # ---- many of them -------------------------------------------------------------------
    def idle_boxes(self):
        count, wait = (100, 12) if self.args.quick else (1000, 20)
        with Place() as p:
            path = os.path.join(p.home.run, "far.sock")
            p.home.configure({"sandbox": {"url": "unix:" + path}, "idle_exit_s": 0,
                              "limits": {"sandboxes": 1024}})
            with contextlib.closing(Boxes(path)) as boxes:
                self.many_boxes(p.home, boxes, count, wait)

    def many_boxes(self, home, boxes, count, wait):
        home.ctl("session", "new", code=0)
        v = home.vault()
        pss = []
        for n in (1, count):
            for i in range(boxes.ready, n):
                os.mkdir(home.ws + "/%d" % i)
                session = v.ask("REGISTER", home.ws + "/%d" % i, "name:%d" % i)[0]
                with contextlib.closing(ats.Door(home.door_path)) as d:     # who asks for it
                    d.request("ats/session.attach", {"session": session, "client": "1"})
            ats.until(lambda: boxes.ready >= n, "%d sandboxes, %d are ready" % (n, boxes.ready),
                      120)
            pids = self.children(home.brain_pid())
            pss.append(sum(self.pss_kib(pid) for pid in pids))
        each = (pss[1] - pss[0]) / (count - 1)
        self.row("PSS of brain for an idle sandbox, each", each, "KiB", "of %d; with one %.1f MiB"
                 % (count, pss[0] / 1024), "<= 40", each <= 40)
        pings, cpu, t0 = boxes.pings, cpu_s(pids), time.monotonic()
        time.sleep(wait)
        share = (cpu_s(pids) - cpu) / (time.monotonic() - t0) * 100
        self.row("  CPU of brain for all their heartbeats", share, "%", "%d pings in %d s" % (
            boxes.pings - pings, wait), "<= 1", share <= 1)


    FIGURES = ("link_echo", "link_stream", "link_delay", "link_back", "engine_back", "warm_back",
               "idle_boxes")
