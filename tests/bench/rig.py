# SPDX-License-Identifier: Apache-2.0
"""What the figures share: a brain of their own, its clients, and peers to hold it against."""
import json
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("ATS_BUILD", "build"))
ATSCTL = os.path.join(BUILD, "atsctl")
DRIVERS = os.path.join(BUILD, "bench")


class Mcp:
    """One MCP server on stdio. call() answers with seconds, and with the result."""

    def __init__(self, argv, env, cwd):
        self.proc = subprocess.Popen(argv, env=env, cwd=cwd, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.id = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                "clientInfo": {"name": "bench", "version": "1"}})
        self.proc.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def ask(self, method, params):
        self.id += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.id, "method": method,
                           "params": params}).encode() + b"\n"
        t0 = time.monotonic()
        self.proc.stdin.write(line)
        self.proc.stdin.flush()
        while True:
            line = self.proc.stdout.readline()
            t = time.monotonic() - t0
            if not line:
                raise OSError("the MCP server ended")
            m = json.loads(line)
            if m.get("id") == self.id and "method" not in m:
                return t, m

    def call(self, name, arguments):
        t, m = self.ask("tools/call", {"name": name, "arguments": arguments})
        if "error" in m or m["result"].get("isError"):
            raise ValueError("%s: %.200s" % (name, json.dumps(m)))
        return t, m["result"]

    def close(self):
        self.proc.stdin.close()
        self.proc.stdout.close()
        try:
            self.proc.wait(10)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()


class Rig:
    def __init__(self, args):
        self.args = args
        self.peers = os.path.abspath(args.peers) if args.peers else None
        self.dir = tempfile.mkdtemp(prefix="ats-bench-")
        self.ws = os.path.join(self.dir, "ws")
        os.mkdir(self.ws)
        with open(os.path.join(self.ws, "f4k.txt"), "w") as f:
            f.write("".join("%05d static int some_function(int argument)\n" % i
                            for i in range(100))[:4096])
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
        for name in ("RUNTIME_DIR", "STATE_HOME", "CONFIG_HOME"):
            d = os.path.join(self.dir, name.lower())
            os.mkdir(d, 0o700)
            self.env["XDG_" + name] = d
        self.rows = []
        self.sshd = None
        self.ats_mcp = (ATSCTL, "mcp")

    # ---- helpers ------------------------------------------------------------------
    def row(self, figure, value, unit, against, reach, ok):
        self.rows.append(dict(figure=figure, value=value, unit=unit, against=against,
                              reach=reach, ok=ok))
        mark = {True: "ok  ", False: "MISS", None: "    "}[ok]
        print("%s %-46s %10.3f %-5s %-38s %s" % (mark, figure, value, unit, against, reach),
              flush=True)

    def skip(self, figure, why):
        print("skip %-46s %s" % (figure, why), flush=True)

    def npm(self, name):
        if not self.peers:
            return None
        p = os.path.join(self.peers, "npm/node_modules/.bin", name)
        return p if os.path.exists(p) and shutil.which("node") else None

    def atsctl(self, *args, **kw):
        return subprocess.run([ATSCTL, *args], env=self.env, cwd=self.ws, **kw)

    def status(self):
        r = self.atsctl("--json", "status", stdout=subprocess.PIPE)
        return json.loads(r.stdout)

    def mcpbench(self, spec, *opts):
        path = os.path.join(self.dir, "spec")
        with open(path, "w") as f:
            for line in spec:
                f.write("\t".join(line) + "\n")
        r = subprocess.run([os.path.join(DRIVERS, "mcpbench"), *opts, path], env=self.env,
                           cwd=self.ws, stdout=subprocess.PIPE, check=True)
        out = [json.loads(x) for x in r.stdout.splitlines()]
        for x in out:
            if x["errors"]:
                print("     %s: %d of its answers were errors" % (x["label"], x["errors"]))
        return {x["label"]: x for x in out}

    def interleave(self, commands, rounds):
        """Seconds of whole commands and MCP calls, round-robin; medians by label."""
        t = {k: [] for k in commands}
        for r in range(rounds + 1):
            for label, argv in commands.items():
                t0 = time.monotonic()
                if callable(argv):      # answers with seconds
                    took = argv()
                else:
                    subprocess.run(argv, env=self.env, cwd=self.ws,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
                    took = time.monotonic() - t0
                if r:
                    t[label].append(took)
        return {k: statistics.median(v) for k, v in t.items()}

    def children(self, pid):
        out = [pid]
        try:
            for tid in os.listdir("/proc/%d/task" % pid):
                with open("/proc/%d/task/%s/children" % (pid, tid)) as f:
                    for c in f.read().split():
                        out += self.children(int(c))
        except OSError:
            pass
        return out

    def pss_kib(self, pid):
        try:
            with open("/proc/%d/smaps_rollup" % pid) as f:
                for line in f:
                    if line.startswith("Pss:"):
                        return int(line.split()[1])
        except OSError:
            pass
        return 0

    def named(self, pids, name):
        out = []
        for p in pids:
            try:
                with open("/proc/%d/cmdline" % p, "rb") as f:
                    if os.path.basename(f.read().split(b"\0")[0]).decode() == name:
                        out.append(p)
            except OSError:
                pass
        return out

    def peak_kib(self, pids):
        """The largest resident size that one of these ever had."""
        most = 0
        for p in pids:
            try:
                with open("/proc/%d/status" % p) as f:
                    most = max([most] + [int(x.split()[1]) for x in f if x.startswith("VmHWM")])
            except OSError:
                pass
        return most

    def mcp(self, *args):
        return Mcp([ATSCTL, "mcp", *args], self.env, self.ws)

    def rg15(self):
        for root, _, files in os.walk(os.path.join(self.peers or "",
                                                   "npm/node_modules/@vscode")):
            if "rg" in files:
                return os.path.join(root, "rg")
        return None

    def tree(self):
        t = os.path.join(self.peers or "", "linux")
        return t if self.peers and os.path.isdir(t) else None

    def ratio(self, figure, ats, peer, label, reach, unit="ms", scale=1e3):
        self.row(figure, ats / peer, "x", "%s %.4g %s, ats %.4g" % (
            label, peer * scale, unit, ats * scale), "<= %g" % reach, ats / peer <= reach)

    def faster(self, figure, ats, peer, label, reach, unit="ms", scale=1e3):
        self.row(figure, peer / ats, "x", "%s %.4g %s, ats %.4g" % (
            label, peer * scale, unit, ats * scale), ">= %g" % reach, peer / ats >= reach)

    def brain_pid(self):
        return self.status()["vault"]["pid"]

    def hands_pid(self):
        """The outermost process of the workspace's sandbox."""
        hands = self.named(self.children(self.brain_pid()), "ats-hands")
        return hands[0] if hands else None

    def ssh_start(self):
        """The command of a connection that is up, of the first call; None: not here."""
        d = os.path.join(self.dir, "ssh")
        argv = ["ssh", "-F", d + "/config", "h"]
        if self.sshd:
            return argv
        if not self.peers or not shutil.which("sshd", path="/usr/sbin:/usr/bin"):
            return None
        if not os.path.exists(os.path.join(self.peers, "ssh")) or os.getuid() != 0:
            return None
        os.mkdir(d, 0o700)
        for k in ("client", "host"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                            os.path.join(d, k)], check=True)
        shutil.copy(d + "/client.pub", d + "/authorized_keys")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        with open(d + "/sshd_config", "w") as f:
            f.write("Port %d\nListenAddress 127.0.0.1\nHostKey %s/host\n"
                    "AuthorizedKeysFile %s/authorized_keys\nStrictModes no\n"
                    "PermitRootLogin prohibit-password\nPasswordAuthentication no\n"
                    "UsePAM no\nPidFile none\nMaxSessions 100\n" % (port, d, d))
        with open(d + "/config", "w") as f:
            f.write("Host h\n HostName 127.0.0.1\n Port %d\n User root\n"
                    " IdentityFile %s/client\n IdentitiesOnly yes\n"
                    " StrictHostKeyChecking no\n UserKnownHostsFile %s/known\n"
                    " ControlPath %s/mux\n LogLevel ERROR\n" % (port, d, d, d))
        os.makedirs("/run/sshd", exist_ok=True)
        self.sshd = subprocess.Popen(["/usr/sbin/sshd", "-D", "-f", d + "/sshd_config"],
                                     stderr=subprocess.DEVNULL)
        for _ in range(100):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        subprocess.run(["ssh", "-F", d + "/config", "-M", "-N", "-f", "h"], check=True)
        return argv

    def ssh_stop(self):
        if self.sshd:
            subprocess.run(["ssh", "-F", self.dir + "/ssh/config", "-O", "exit", "h"],
                           stderr=subprocess.DEVNULL)
            self.sshd.terminate()
            self.sshd.wait()
