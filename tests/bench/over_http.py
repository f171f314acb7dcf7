# SPDX-License-Identifier: Apache-2.0
"""MCP over HTTP: a call on a connection that stays open against the same over stdio, and many
clients at once against a server of the SDK."""
import contextlib
import json
import os
import socket
import statistics
import subprocess

from places import Place, ats, free_port
from rig import ATSCTL, DRIVERS

import http_client
import npm

EVERYTHING = "@modelcontextprotocol/server-everything"
VERSION = "2026.8.31"
CLIENTS = 64


def tool(name, **arguments):
    return "tools/call", {"name": name, "arguments": arguments}


READ = tool("Read", file_path="f4k.txt")
# What a client does: it looks, asks whether somebody is there, and calls. A tool of either server
# that gives back what it got; a Read of ours, in a sandbox, has nothing like it in theirs.
OURS = [("ping", {}), ("tools/list", {}), tool("host__echo", text="hello"),
        tool("host__echo", text="world")]
READS = [*OURS[:3], READ]
THEIRS = [("ping", {}), ("tools/list", {}), tool("echo", message="hello"),
          tool("get-sum", a=1, b=2)]


class Http:
    FIGURES = ("http_read", "http_many")

    @contextlib.contextmanager
    def http_place(self):
        """A brain that listens, with a tool of the host that does nothing; and its port."""
        p = Place("stdio", limits={"gateway_calls": 1024}, gateways={"host": {"kind": "mcp",
                                              "argv": [os.path.join(DRIVERS, "mcpecho")]}})
        with p:
            p.home.start()
            p.home.write("f4k.txt", "".join("%05d static int some_function(int argument)\n" % i
                                            for i in range(100))[:4096])
            server = http_client.Server(p.home)
            c = http_client.Client(server)
            ats.until(lambda: "host__echo" in c.post("tools/list", {}).body.decode(),
                      "the tools are there")
            c.close()
            yield p, server

    def httpbench(self, calls, port, *opts):
        path = os.path.join(self.dir, "http-spec")
        with open(path, "w", encoding="ascii") as f:
            for method, params in calls:
                f.write("%s\t%s\n" % (method, json.dumps(params, separators=(",", ":"))))
        r = subprocess.run([os.path.join(DRIVERS, "httpbench"), "-p", str(port), *opts, path],
                           stdout=subprocess.PIPE, check=True)
        return json.loads(r.stdout)

    def http_read(self):
        """Of the tenth of the calls that nothing else of the machine disturbed."""
        n, rounds = ("60", 3) if self.args.quick else ("400", 9)
        spec = [("server", "ats", ATSCTL, "mcp"), ("call", "ats", "read", json.dumps(READ[1]))]
        path = os.path.join(self.dir, "stdio-spec")
        with open(path, "w", encoding="ascii") as f:
            f.writelines("\t".join(line) + "\n" for line in spec)
        got = {"stdio": [], "2025-11-25": [], "2026-07-28": []}
        with self.http_place() as (p, server):
            for _ in range(rounds):
                r = subprocess.run([os.path.join(DRIVERS, "mcpbench"), "-n", n, path],
                                   stdout=subprocess.PIPE, check=True, **p.env())
                got["stdio"].append(json.loads(r.stdout.splitlines()[0])["p10_us"])
                for era, opts in (("2025-11-25", ()), ("2026-07-28", ("-m",))):
                    x = self.httpbench([READ], server.port, "-t", server.token, "-w", "20",
                                       "-n", n, *opts)
                    if x["errors"]:
                        raise ValueError("%d of the answers are errors" % x["errors"])
                    got[era].append(x["p10_us"])
        t = {k: statistics.median(v) / 1e6 for k, v in got.items()}
        for era in ("2025-11-25", "2026-07-28"):
            self.ratio("Read of 4 KiB over HTTP, " + era, t[era], t["stdio"], "stdio", 1.5)

    @contextlib.contextmanager
    def everything(self):
        """The port of a server of the SDK; None: it is not here."""
        try:
            node, folder = npm.node22(), npm.install(EVERYTHING + "@" + VERSION,
                                                     into="everything")
        except npm.Missing as e:
            self.skip("64 clients of another server", str(e))
            yield None
            return
        port = free_port()
        server = subprocess.Popen(
            [node, os.path.join(folder, "node_modules", EVERYTHING, "dist", "index.js"),
             "streamableHttp"], env={**os.environ, "PORT": str(port)}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            ats.until(lambda: self.listens(port), "it listens")
            yield port
        finally:
            server.terminate()
            server.wait(20)

    @staticmethod
    def listens(port):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0

    @staticmethod
    def anon_kib(pid):
        with open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as f:
            return int(next(x for x in f if x.startswith("Pss_Anon:")).split()[1])

    def http_many(self):
        """A minute of ours in slices, and between them some of theirs, so that a slow spell of the
        machine hits both."""
        slices, ours, theirs = (3, "3", "2") if self.args.quick else (6, "10", "3")
        many = ("-c", str(CLIENTS), "-w", str(4 * CLIENTS))
        mine, other, reads, errors = [], [], [], 0
        with self.everything() as port, self.http_place() as (p, server):
            key = ("-t", server.token, *many)

            def memory():
                return {"ats-http": self.anon_kib(server.proc.pid),
                        "ats-engine": self.anon_kib(p.engine())}
            self.httpbench(READS, server.port, *key, "-d", "4" if self.args.quick else "10")
            self.httpbench(OURS, server.port, *key, "-d", "4" if self.args.quick else "10")
            before = memory()
            for _ in range(slices):
                mine.append(self.httpbench(OURS, server.port, *key, "-d", ours))
                reads.append(self.httpbench(READS, server.port, *key, "-d", theirs))
                if port:
                    other.append(self.httpbench(THEIRS, port, *many, "-d", theirs))
            modern = self.httpbench(OURS[1:], server.port, *key, "-m", "-d", ours)
            after = memory()
        calls = sum(x["calls"] for x in (*mine, *reads, modern))
        errors = sum(x["errors"] for x in (*mine, *reads, modern))

        def rate_of(runs):
            return sum(x["calls"] for x in runs) / sum(x["seconds"] for x in runs)
        rate = rate_of(mine)
        self.row("64 clients over HTTP, mixed calls", rate, "/s", "p90 %.1f ms" % (
            max(x["p90_us"] for x in mine) / 1e3), "", None)
        self.row("  one in four of them a Read in the sandbox", rate_of(reads), "/s", "", "", None)
        self.row("  of 2026-07-28", modern["per_s"], "/s", "which has no ping", "", None)
        self.row("  answers that are errors", errors, "", "of %d" % calls, "<= 0", errors == 0)
        for name, kib in after.items():
            grown = kib - before[name]
            self.row("  memory that %s gained" % name, grown / 1024, "MiB",
                     "of %.1f MiB" % (before[name] / 1024), "<= 4", grown <= 4096)
        if other:
            peer = rate_of(other)
            self.row("  times server-everything's calls", rate / peer, "x", "%.0f /s" % peer,
                     ">= 10", rate >= 10 * peer)
