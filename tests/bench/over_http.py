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
# What a client does: it looks, asks whether somebody is there, and calls.
OURS = [("ping", {}), ("tools/list", {}), tool("host__echo", text="hello"), READ]
THEIRS = [("ping", {}), ("tools/list", {}), tool("echo", message="hello"),
          tool("get-sum", a=1, b=2)]


class Http:
    FIGURES = ("http_read", "http_many")

    @contextlib.contextmanager
    def http_place(self):
        """A brain that listens, with a tool of the host that does nothing; and its port."""
        p = Place("stdio", gateways={"host": {"kind": "mcp",
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
                got["stdio"].append(json.loads(r.stdout.splitlines()[0])["median_us"])
                for era, opts in (("2025-11-25", ()), ("2026-07-28", ("-m",))):
                    x = self.httpbench([READ], server.port, "-t", server.token, "-w", "20",
                                       "-n", n, *opts)
                    if x["errors"]:
                        raise ValueError("%d of the answers are errors" % x["errors"])
                    got[era].append(x["median_us"])
        t = {k: statistics.median(v) / 1e6 for k, v in got.items()}
        for era in ("2025-11-25", "2026-07-28"):
            self.ratio("Read of 4 KiB over HTTP, " + era, t[era], t["stdio"], "stdio", 1.5)

    def everything(self, seconds):
        """Calls a second of the SDK's server with as many clients; None: it is not here."""
        try:
            node, folder = npm.node22(), npm.install(EVERYTHING + "@" + VERSION,
                                                     into="everything")
        except npm.Missing as e:
            self.skip("64 clients over HTTP", str(e))
            return None
        port = free_port()
        server = subprocess.Popen(
            [node, os.path.join(folder, "node_modules", EVERYTHING, "dist", "index.js"),
             "streamableHttp"], env={**os.environ, "PORT": str(port)}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            ats.until(lambda: self.listens(port), "it listens")
            return self.httpbench(THEIRS, port, "-c", str(CLIENTS), "-w", str(4 * CLIENTS), "-d",
                                  seconds)
        finally:
            server.terminate()
            server.wait(20)

    @staticmethod
    def listens(port):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0

    def http_many(self):
        seconds = "5" if self.args.quick else "60"
        peer = self.everything("5" if self.args.quick else "15")
        with self.http_place() as (p, server):
            def ask(secs, *opts, calls=OURS):
                return self.httpbench(calls, server.port, "-t", server.token, "-c", str(CLIENTS),
                                      "-w", str(4 * CLIENTS), "-d", secs, *opts)

            def memory():
                return {"ats-http": self.pss_kib(server.proc.pid),
                        "ats-engine": self.pss_kib(p.engine())}
            ask("6" if self.args.quick else "15")
            before = memory()
            got = ask(seconds)
            modern = ask("5", "-m", calls=OURS[1:])
            after = memory()
        errors = got["errors"] + modern["errors"]
        self.row("64 clients over HTTP, mixed calls", got["per_s"], "/s", "p90 %.1f ms" % (
            got["p90_us"] / 1e3), "", None)
        self.row("  of 2026-07-28", modern["per_s"], "/s", "which has no ping", "",
                 None)
        self.row("  answers that are errors", errors, "", "of %d" % (got["calls"] + modern["calls"]), "<= 0",
                 errors == 0)
        for name, kib in after.items():
            grown = kib - before[name]
            self.row("  memory that %s gained" % name, grown / 1024, "MiB",
                     "of %.1f MiB" % (before[name] / 1024), "<= 2", grown <= 2048)
        if peer:
            self.row("  times server-everything's calls", got["per_s"] / peer["per_s"], "x",
                     "%.0f /s" % peer["per_s"], ">= 10", got["per_s"] >= 10 * peer["per_s"])
