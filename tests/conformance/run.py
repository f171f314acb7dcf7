#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The MCP conformance suite against ats-http and an engine with fixture tools:
run.py [--show] [WORD]. Each scenario of each set must end as tests/conformance/expected says, in
either direction; one that is not listed fails, and so does one that is listed and not there.

The suite sends no bearer token, so that what it says goes through a door that puts one in, and
changes nothing else. Skipped with a line that says why when npm cannot be reached."""
import argparse
import contextlib
import glob
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import ats
import http_client
import npm

SUITE = "@modelcontextprotocol/conformance"
# name in the file: version of the suite, its arguments
SETS = {
    "0.1.16": ("0.1.16", ["--suite", "all"]),
    "2025-11-25": ("0.2.0-alpha.12", ["--requirements", "2025-11-25"]),
    "2026-07-28": ("0.2.0-alpha.12", ["--requirements", "2026-07-28"]),
}
SET_SECONDS = 600


# ---- the door that knows the token -----------------------------------------------------

class Door:
    """One request for a connection: its head with the token, then bytes both ways."""

    def __init__(self, port, token):
        self.port, self.token = port, token
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d/mcp" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            conn, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(conn,), daemon=True).start()

    def serve(self, conn):
        with contextlib.suppress(OSError), conn:
            head = b""
            while b"\r\n\r\n" not in head:
                data = conn.recv(65536)
                if not data:
                    return
                head += data
            head, rest = head.split(b"\r\n\r\n", 1)
            lines = [x for x in head.split(b"\r\n")
                     if not x.lower().startswith((b"connection:", b"authorization:"))]
            lines += [b"Authorization: Bearer " + self.token.encode(), b"Connection: close"]
            with socket.create_connection(("127.0.0.1", self.port)) as up:
                up.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + rest)
                back = threading.Thread(target=self.pump, args=(up, conn), daemon=True)
                back.start()
                self.pump(conn, up)
                back.join()

    @staticmethod
    def pump(a, b):
        with contextlib.suppress(OSError):
            while data := a.recv(65536):
                b.sendall(data)
        for s in (a, b):        # each end is the end of both
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)


# ---- results ------------------------------------------------------------------------------

def read_expected():
    """{(set, scenario): {check or "": reason, or None for pass}}."""
    rows = {}
    with open(os.path.join(HERE, "expected"), encoding="utf-8") as f:
        for n, line in enumerate(f, 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            m = re.fullmatch(r"(\S+)\s+([^\s:]+)(?::(\S+))?\s+(pass|out)(?:\s+(\S.*))?", line)
            if not m or (m.group(4) == "out") != bool(m.group(5)):
                sys.exit("expected:%d: SET SCENARIO[:CHECK] pass, or out and a reason" % n)
            checks = rows.setdefault((m.group(1), m.group(2)), {})
            if (m.group(3) or "") in checks:
                sys.exit("expected:%d: again" % n)
            checks[m.group(3) or ""] = m.group(5)
    return rows


def run_set(node, name, url, out):
    """{scenario: {check: (worst status, text)}} of one set, one process of the suite."""
    version, args = SETS[name]
    folder = npm.install(SUITE + "@" + version, into="conformance-" + version)
    r = subprocess.run([node, os.path.join(folder, "node_modules", SUITE, "dist", "index.js"),
                        "server", "--url", url, "-o", out, *args],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                       timeout=SET_SECONDS, cwd=out)
    results = {}
    for path in sorted(glob.glob(os.path.join(out, "**", "checks.json"), recursive=True)):
        scenario = os.path.basename(os.path.dirname(path))
        scenario = re.sub(r"^server-(.*)-\d{4}-\d\d-\d\dT.*$", r"\1", scenario)
        checks = results.setdefault(scenario, {})
        with open(path, encoding="utf-8") as f:
            for c in json.load(f):
                old = checks.get(c["id"])
                if old is None or (old[0] not in ("FAILURE", "WARNING")):
                    checks[c["id"]] = (c["status"], c.get("errorMessage") or "")
    if not results:
        sys.exit("the suite has left no results:\n" + r.stdout.decode()[-3000:])
    return results


def judge(name, scenario, checks, expected):
    """Lines of what is not as expected; [] is a pass."""
    if (name, scenario) not in expected:
        return ["not in tests/conformance/expected"]
    rows = expected[name, scenario]
    bad = {k: v for k, v in checks.items() if v[0] in ("FAILURE", "WARNING")}
    some = any(v[0] == "SUCCESS" for v in checks.values())
    if rows.get("") is not None:
        return [] if bad or not some else ["it passes, and is listed as out"]
    wrong = ["%s: %s: %s" % (k, *v) for k, v in bad.items() if k not in rows]
    wrong += ["%s: listed as out, and does not fail" % k for k in rows if k and k not in bad]
    if not some:
        wrong.append("no check of it succeeded")
    return wrong


def start(home):
    path, token = http_client.write_token(home)
    home.configure({"http": {"listen": ["127.0.0.1:0"], "token_file": path,
                             "workspace": home.ws}})
    home.start()
    got = {}

    def listens():
        got.update(json.loads(home.ctl("--json", "status", code=0).stdout)["vault"]["http"])
        return got["state"] == "listens"
    ats.until(listens, "it listens")
    return Door(http_client.Place(got["where"], token).port, token)


def run(home, node, args, count):
    expected = read_expected()
    door = start(home)
    for name in SETS:
        with tempfile.TemporaryDirectory(prefix="ats-conformance.") as out:
            results = run_set(node, name, door.url, out)
        for scenario in sorted(set(results) | {s for n, s in expected if n == name}):
            if args.word and args.word not in scenario:
                continue
            checks = results.get(scenario)
            wrong = judge(name, scenario, checks, expected) if checks is not None else \
                ["listed, and not run"]
            count["failed" if wrong else "passed"] += 1
            what = expected.get((name, scenario), {}).get("")
            print("%s - %s %s%s" % ("not ok" if wrong else "ok", name, scenario,
                                    " (out: %s)" % what if what and not wrong else ""))
            for line in wrong:
                print("#   " + line[:400])
            for k, v in sorted((checks or {}).items()) if args.show else ():
                print("#   %-8s %s %s" % (v[0], k, v[1][:200]))
            sys.stdout.flush()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--show", action="store_true")
    p.add_argument("word", nargs="?")
    args = p.parse_args()
    try:
        node = npm.node22()
        for version in sorted({v for v, _ in SETS.values()}):
            npm.install(SUITE + "@" + version, into="conformance-" + version)
    except npm.Missing as e:
        print("skipped: %s\n0 passed, 0 failed, 1 skipped" % e)
        return
    home, count = ats.Home(), {"passed": 0, "failed": 0}
    try:
        run(home, node, args, count)
    except Exception:
        home.show_log()
        raise
    finally:
        home.close()
    print("%d passed, %d failed, 0 skipped" % (count["passed"], count["failed"]))
    sys.exit(1 if count["failed"] else 0)


if __name__ == "__main__":
    main()
