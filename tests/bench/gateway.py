# SPDX-License-Identifier: Apache-2.0
"""Tools of the host, called from inside a sandbox: how soon the shim is there, how much it takes,
and how long a call takes that does nothing."""
import json
import os
import shutil
import subprocess

from places import Place, ats
from rig import ATSCTL, DRIVERS

SHIM = ("/run/ats/ats-hands", "shim")
CALL = json.dumps({"name": "host__echo", "arguments": {"text": "x" * 64}})
# A process starts its server, greets it, and shows what of it is in memory.
PSS = """
import subprocess, sys
p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
p.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":'
              b'"2025-06-18","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}\\n')
p.stdin.flush()
p.stdout.readline()
print([l.split()[1] for l in open("/proc/%d/smaps_rollup" % p.pid) if l.startswith("Pss:")][0])
p.stdin.close()
p.wait()
"""


class Gateway:
    FIGURES = ("gateway_shim", "gateway_echo", "gateway_relay_dir")

    def gateway_place(self):
        """A brain whose host has one tool, and a workspace with the drivers in it."""
        p = Place("stdio", gateways={"host": {"kind": "mcp",
                                              "argv": [os.path.join(DRIVERS, "mcpecho")]}})
        shutil.copy(os.path.join(DRIVERS, "mcpbench"), p.home.ws)
        # The upstream is asked for its tools first; then commands are told where they are.
        ats.until(lambda: subprocess.run([ATSCTL, "exec", "--", "sh", "-c",
                                          "test -e \"$ATS_TOOLS_SPECS\""], **p.env(),
                                         check=False).returncode == 0, "the tools are there")
        return p

    def inside(self, p, spec, *opts):
        with open(os.path.join(p.home.ws, "spec"), "w", encoding="ascii") as f:
            for line in spec:
                f.write("\t".join(line) + "\n")
        r = subprocess.run([ATSCTL, "exec", "--", "./mcpbench", *opts, "spec"], check=True,
                           stdout=subprocess.PIPE, **p.env())
        return {x["label"]: x for x in map(json.loads, r.stdout.splitlines())}

    def gateway_shim(self):
        few = "3" if self.args.quick else "20"
        with self.gateway_place() as p:
            got = self.inside(p, [("server", "shim", *SHIM), ("call", "shim", "echo", CALL)],
                              "-n", "3", "-s", few)
            start = next(v for k, v in got.items() if "start" in k)
            r = subprocess.run([ATSCTL, "exec", "--", "python3", "-c", PSS, *SHIM], check=True,
                               stdout=subprocess.PIPE, **p.env())
        self.row("shim: start to the initialize answer", start["median_us"] / 1000, "ms", "",
                 "<= 10", start["median_us"] <= 10000)
        kib = int(r.stdout)
        self.row("shim: memory (PSS)", kib / 1024, "MiB", "", "<= 2", kib <= 2048)

    def gateway_echo(self):
        n = "50" if self.args.quick else "1000"
        with self.gateway_place() as p:
            spec = [("server", "shim", *SHIM), ("call", "shim", "echo", CALL)]
            one = self.inside(p, spec, "-n", n)["echo"]
            many = self.inside(p, spec, "-n", n, "-b", "32")["echo"]
        bare = self.mcpbench([("server", "bare", os.path.join(DRIVERS, "mcpecho")),
                              ("call", "bare", "echo", CALL)], "-n", n)["echo"]
        ms = one["median_us"] / 1000
        self.row("gateway echo, one after another", ms, "ms",
                 "%.3f ms without anything between" % (bare["median_us"] / 1000), "<= 0.6",
                 ms <= 0.6)
        rate = 1e6 / many["median_us"]
        self.row("gateway echo, 32 at once", rate, "/s", "", ">= 5000", rate >= 5000)

    def gateway_relay_dir(self):
        """A shim that shares a directory with the host, and nothing else."""
        n = "20" if self.args.quick else "300"
        with self.gateway_place() as p:
            relay = os.path.join(p.home.ws, "relay")
            os.mkdir(relay, 0o700)
            specs = os.path.join(relay, "tools.json")
            server = subprocess.Popen([ATSCTL, "relay", relay], stdout=subprocess.PIPE, **p.env())
            try:
                if b"READY" not in server.stdout.readline().upper():
                    raise OSError("atsctl relay is not ready")
                at = self.mcpbench(
                    [("server", "dir", "/usr/bin/env", "ATS_RELAY_DIR=" + relay,
                      "ATS_TOOLS_SPECS=" + specs, os.path.join(DRIVERS, "..", "ats-hands"), "shim"),
                     ("call", "dir", "echo", CALL)], "-n", n)["echo"]
            finally:
                server.terminate()
                server.wait(20)
        ms = at["median_us"] / 1000
        self.row("relay directory, echo", ms, "ms", "", "<= 0.9", ms <= 0.9)
