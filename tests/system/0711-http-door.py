#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ats-http as a part of brain: started by its configuration, on ports and a Unix socket, started
again when it ends, shown by atsctl status; and what the configuration may say of it."""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import http_client
from http_client import Client, Place
from vault_rig import VaultRig


def section(home, **more):
    path, token = http_client.write_token(home)
    return token, {"listen": ["127.0.0.1:0", "unix:" + os.path.join(home.dir, "http.sock")],
                   "token_file": path, "workspace": home.ws, **more}


def status(home):
    return json.loads(home.ctl("--json", "status").stdout)["vault"]["http"]


def listening(home):
    ats.until(lambda: status(home)["state"] == "listens", "it listens")
    return status(home)


@ats.test("brain starts it, on a port and a socket, and starts it again")
def _(home):
    token, http = section(home, hosts=["tools.example"])
    home.configure({"http": http, "idle_exit_s": 1})
    brain = home.start()
    s = listening(home)
    places = [Place(w, token) for w in s["where"].split()]
    ats.check(len(places) == 2 and places[1].path == http["listen"][1][5:], s)
    ats.check(os.stat(places[1].path).st_mode & 0o777 == 0o600, "the socket's mode")
    for p in places:
        ats.check(Client(p).text("Bash", command="echo hi").strip() == "hi", p.path)
    for p in places:
        a = p.connect().ask(Host="tools.example", body={})
        ats.check(a.status == 400, a.status)
    ats.check(places[0].connect().ask(Host="evil.example", body={}).status == 403, "a name")
    ats.check(places[1].connect().ask(Host="evil.example", body={}).status == 400, "no name")
    text = home.ctl("status", code=0).stdout.decode()
    ats.check("listens" in text and s["where"].split()[0] in text, text)
    for pid in home.pids("ats-http"):
        for name in ("cmdline", "environ"):
            with open("/proc/%d/%s" % (pid, name), "rb") as f:
                ats.check(token.encode() not in f.read(), name)
    c = Client(places[1])
    c.text("Bash", command="cd /tmp")
    os.kill(s["pid"], signal.SIGKILL)
    ats.until(lambda: status(home)["starts"] == 2 and status(home)["state"] == "listens", "again")
    ats.check(Client(places[1], c.session).text("Bash", command="pwd").strip() == "/tmp",
              "the session is lost")
    ats.check(home.brain_pid() == brain, "another brain")
    home.ctl("shutdown", code=0)
    ats.check(not os.path.exists(places[1].path), "its socket is left over")


@ats.test("what keeps it from listening is said, and brain goes on without it")
def _(home):
    token, http = section(home)
    os.chmod(http["token_file"], 0o644)
    home.configure({"http": http})
    ats.contains(home.ctl("config", "check", code=0).stderr.decode(), "warning: http.token_file")
    home.start()
    ats.until(lambda: "chmod 600" in status(home).get("why", ""), "why")
    ats.check("chmod 600" in home.ctl("status", code=1).stdout.decode(), "for people")
    ats.until(lambda: status(home)["starts"] >= 2, "another try")
    os.chmod(http["token_file"], 0o600)
    ats.equal(home.ctl("config", "check", code=0).stderr, b"")
    ats.check("why" not in listening(home), "it is in order again")
    ats.check(status(home)["starts"] < 12, "no pause between its starts")


@ats.test("one that a signal ends before it listens is told so")
def _(home):
    _, http = section(home)
    rig = VaultRig(home, {"http": http})
    path = os.path.join(rig.bin, "ats-http")
    with open(path + ".new", "w", encoding="ascii") as f:
        f.write("#!/bin/sh\nkill -9 $$\n")
    os.chmod(path + ".new", 0o755)
    os.rename(path + ".new", path)

    def ends():
        with open(home.log_path, encoding="utf-8", errors="replace") as f:
            return [line for line in f if "ats-http failed" in line and "it ended with" in line]
    ats.until(lambda: len(ends()) > 2, "it ends, and again")
    ats.check(all("it ended with signal 9;" in line for line in ends()), ends())


@ats.test("off when nothing is said; what is said must be right")
def _(home):
    home.start()
    ats.check("http" not in json.loads(home.ctl("--json", "status").stdout)["vault"], "it runs")
    home.ctl("shutdown", code=0)
    _, good = section(home)
    rows = [
        ({}, None),
        (good, None),
        ({k: v for k, v in good.items() if k != "listen"}, "http.listen"),
        ({k: v for k, v in good.items() if k != "token_file"}, "http.token_file"),
        ({k: v for k, v in good.items() if k != "workspace"}, "http.workspace"),
        (dict(good, listen="127.0.0.1:1"), "http.listen"),
        (dict(good, listen=["0.0.0.0:1"]), "loopback"),
        (dict(good, listen=["example.org:1"]), "loopback"),
        (dict(good, listen=["127.0.0.1"]), "as in 127.0.0.1:8765"),
        (dict(good, listen=["unix:http.sock"]), "absolute"),
        (dict(good, listen=["127.0.0.1:1"] * 2), "twice"),
        (dict(good, listen=["127.0.0.1:%d" % i for i in range(5)]), "at most 4"),
        (dict(good, token_file="token"), "http.token_file"),
        (dict(good, metrics_token_file="token"), "http.metrics_token_file"),
        (dict(good, metrics_token_file=good["token_file"]), "http.metrics_token_file"),
        (dict(good, metrics_token_file=home.ws + "/token"), "http.metrics_token_file"),
        ({"metrics_token_file": "/x"}, "http.listen"),
        (dict(good, token_file=home.ws + "/token"), "http.token_file"),
        (dict(good, workspace="ws"), "http.workspace"),
        (dict(good, workspace=home.home), "http.workspace"),
        (dict(good, workspace="/no/where"), "http.workspace"),
        (dict(good, hosts=["a b"]), "http.hosts"),
        (dict(good, hosts=["a"] * 17), "http.hosts"),
        (dict(good, origins=[""]), "http.origins"),
        (dict(good, token="x"), "http.token"),
    ]
    for http, said in rows:
        home.configure({"http": http})
        r = home.ctl("config", "check")
        ats.check((r.returncode == 0) == (said is None), (http, r))
        ats.check(said is None or said in (r.stdout + r.stderr).decode(), (http, r))


if __name__ == "__main__":
    ats.main()
