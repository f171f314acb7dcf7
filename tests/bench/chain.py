# SPDX-License-Identifier: Apache-2.0
"""The chain itself: latency, streams, starts, memory, recovery, fairness."""
import json
import os
import shutil
import signal
import statistics
import subprocess
import time

from rig import ATSCTL, BUILD, DRIVERS


class Chain:
    def read4k(self):
        path = os.path.join(self.ws, "f4k.txt")
        spec = [("server", "ats", ATSCTL, "mcp"),
                ("server", "chain", os.path.join(DRIVERS, "mcpchain")),
                ("server", "relay", os.path.join(DRIVERS, "mcpchain"), "relay")]
        calls = [("call", "ats", "ats read", json.dumps(
                    {"name": "Read", "arguments": {"file_path": path}})),
                 ("call", "chain", "chain read", json.dumps(
                    {"name": "read", "arguments": {"path": path}}).replace('": "', '":"')),
                 ("call", "relay", "relay read", json.dumps(
                    {"name": "read", "arguments": {"path": path}}).replace('": "', '":"'))]
        fs = self.npm("mcp-server-filesystem")
        if fs:
            spec.append(("server", "fs", "node", fs, self.ws))
            calls.append(("call", "fs", "fs read", json.dumps(
                {"name": "read_text_file", "arguments": {"path": path}})))
        n = "100" if self.args.quick else "400"
        r = self.mcpbench(spec + calls, "-n", n, "-w", "60", "-p", "1000", "-s", "5")
        ats = r["ats read"]["median_us"]
        self.row("Read 4 KiB over MCP, confined", ats, "us", "", "", None)
        # The skeleton of the same hops has a relay, as atsctl mcp is one.
        for k, label, reach in (("relay read", "mcpchain, the same hops", 1.6),
                                ("chain read", "mcpchain without the relay", None)):
            base = r[k]["median_us"]
            self.row("  ratio to " + label, ats / base, "x", "%.0f us" % base,
                     "<= %.1f" % reach if reach else "", ats / base <= reach if reach else None)
        if fs:
            base = r["fs read"]["median_us"]
            self.row("  faster than server-filesystem", base / ats, "x", "%.0f us" % base,
                     ">= 3", base / ats >= 3)
            self.row("atsctl mcp start to initialize", r["ats start"]["median_us"] / 1e3, "ms",
                     "server-filesystem %.0f ms" % (r["fs start"]["median_us"] / 1e3), "", None)
        else:
            self.skip("  server-filesystem", "not installed (tests/bench/setup)")

    def bash_true(self):
        bash = json.dumps({"name": "Bash", "arguments": {"command": "true"}})
        spec = [("server", "ats", ATSCTL, "mcp")]
        calls = [("call", "ats", "ats true", bash)]
        cmds = self.npm("mcp-server-commands")
        if cmds:
            spec.append(("server", "cmds", "node", cmds))
            calls.append(("call", "cmds", "cmds true", json.dumps(
                {"name": "run_command", "arguments": {"command": "true"}})))
        # Alone: a peer's milliseconds in between would be the pace, and its caches ours.
        n = "60" if self.args.quick else "300"
        ats = self.mcpbench([spec[0], calls[0]], "-n", n, "-w", "30", "-p", "5000")[
            "ats true"]["median_us"] / 1e3
        self.row("Bash true over MCP, one each 5 ms", ats, "ms", "", "<= 1.0", ats <= 1.0)
        if cmds:
            x = self.mcpbench(spec[1:] + calls[1:], "-n", n, "-w", "30", "-p", "5000")[
                "cmds true"]["median_us"] / 1e3
            self.row("  faster than mcp-server-commands", x / ats, "x", "%.2f ms" % x,
                     ">= 2.5", x / ats >= 2.5)
        b = self.mcpbench([spec[0], calls[0]], "-n", "5", "-w", "1", "-b", "100",
                          "-p", "200000")["ats true"]["median_us"] / 1e3
        self.row("Bash true, burst of 100, each", b, "ms", "", "<= 4", b <= 4)
        peers = {}
        if shutil.which("bwrap"):
            peers["bwrap"] = (["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc",
                               "/proc", "--unshare-all", "--die-with-parent", "/bin/bash",
                               "-c", "true"], 8, 25)
        ssh = self.ssh_start()
        if ssh:
            peers["ssh mux"] = (ssh + ["true"], 11, 25)
        srt = self.npm("srt")
        if srt:
            conf = os.path.join(self.dir, "srt.json")
            with open(conf, "w") as f:
                f.write('{"network":{"allowedDomains":[],"deniedDomains":[]},'
                        '"filesystem":{"denyRead":[],"allowWrite":["."],"denyWrite":[]}}')
            peers["srt"] = ([srt, "-s", conf, "true"], 400, 5)
        for name, (argv, reach, rounds) in peers.items():
            t = self.interleave({name: argv}, 5 if self.args.quick else rounds)[name] * 1e3
            self.row("  faster than " + name, t / ats, "x", "%.1f ms" % t, ">= %d" % reach,
                     t / ats >= reach)

    def stream(self):
        size = 256 << 20
        big = os.path.join(self.ws, "big.bin")
        with open(big, "wb") as f:
            for _ in range(size >> 20):
                f.write(os.urandom(1 << 20))
        sink = os.path.join(DRIVERS, "sink")
        cmds = {"ats": [sink, ATSCTL, "exec", "--", "cat", big], "cat": [sink, "cat", big]}
        ssh = self.ssh_start()
        if ssh:
            cmds["ssh"] = [sink] + ssh + ["cat", big]
        t = self.interleave(cmds, 3 if self.args.quick else 9)
        os.unlink(big)
        rate = size / t["ats"] / 1e9
        self.row("256 MiB of output through exec", rate, "GB/s",
                 "cat %.2f GB/s" % (size / t["cat"] / 1e9), ">= 1.0", rate >= 1.0)
        if ssh:
            self.row("  faster than ssh mux", t["ssh"] / t["ats"], "x",
                     "%.2f GB/s" % (size / t["ssh"] / 1e9), ">= 3", t["ssh"] / t["ats"] >= 3)

    def starts(self):
        brain, hello, ready = [], [], []
        for _ in range(3 if self.args.quick else 9):
            self.atsctl("shutdown", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            t0 = time.monotonic()
            self.atsctl("session", "new", stdout=subprocess.DEVNULL)
            brain.append((time.monotonic() - t0) * 1e3)
        b = statistics.median(brain)
        self.row("brain start to first reply", b, "ms", "", "<= 30", b <= 30)
        d = os.path.join(self.dir, "hands")
        os.mkdir(d)
        r = subprocess.run([os.path.join(DRIVERS, "handsstart"),
                            os.path.join(BUILD, "ats-hands"), d,
                            "3" if self.args.quick else "15"], stdout=subprocess.PIPE)
        if r.returncode == 0:
            h = json.loads(r.stdout)
            self.row("hands start to hello", h["hello_ms"], "ms", "", "<= 5",
                     h["hello_ms"] <= 5)
            self.row("hands start to ready", h["ready_ms"], "ms", "", "<= 40",
                     h["ready_ms"] <= 40)
        else:
            self.skip("hands start", "the driver failed")

    def memory(self):
        self.atsctl("call", "Bash", '{"command":"true"}', stdout=subprocess.DEVNULL)
        time.sleep(1.5)     # settle: replacements are made when idle
        pids = self.children(self.brain_pid())
        hands = set()
        for p in self.named(pids, "ats-hands"):
            hands.update(self.children(p))
        h = sum(self.pss_kib(p) for p in hands) / 1024
        b = sum(self.pss_kib(p) for p in set(pids) - hands) / 1024
        self.row("idle PSS of hands, workers, ready bash", h, "MiB",
                 "%d processes" % len(hands), "<= 6", h <= 6)
        self.row("idle PSS of brain and engine", b, "MiB",
                 "%d processes" % (len(pids) - len(hands)), "<= 8", b <= 8)

    def recovery(self):
        t = []
        read = '{"file_path":"f4k.txt"}'
        for _ in range(3 if self.args.quick else 9):
            self.atsctl("call", "Read", read, stdout=subprocess.DEVNULL)
            pid = self.hands_pid()
            t0 = time.monotonic()
            os.kill(pid, signal.SIGKILL)
            r = self.atsctl("call", "Read", read, stdout=subprocess.PIPE)
            if r.returncode != 0:
                print("     the call after the kill failed")
            t.append((time.monotonic() - t0) * 1e3)
        v = statistics.median(t)
        self.row("kill -9 of hands to the next answer", v, "ms", "", "<= 150", v <= 150)

    def fairness(self):
        read = json.dumps({"name": "Read", "arguments": {
            "file_path": os.path.join(self.ws, "f4k.txt")}})
        spec = [("server", "ats", ATSCTL, "mcp"), ("call", "ats", "r", read)]
        n = "20" if self.args.quick else "60"
        alone = self.mcpbench(spec, "-n", n, "-w", "5", "-b", "63", "-p", "20000")["r"]
        noisy = subprocess.Popen([ATSCTL, "exec", "--", "cat", "/dev/zero"], env=self.env,
                                 cwd=self.ws, stdout=subprocess.PIPE)
        drain = subprocess.Popen([os.path.join(DRIVERS, "sink")], stdin=noisy.stdout)
        noisy.stdout.close()
        time.sleep(0.3)
        busy = self.mcpbench(spec, "-n", n, "-w", "5", "-b", "63", "-p", "20000")["r"]
        noisy.send_signal(signal.SIGINT)
        noisy.wait()
        drain.wait()
        x = busy["median_us"] / alone["median_us"]
        self.row("63 Reads beside one endless printer", x, "x", "alone %.0f us each" %
                 alone["median_us"], "<= 3", x <= 3)

    FIGURES = ("read4k", "bash_true", "stream", "starts", "memory", "recovery", "fairness")
