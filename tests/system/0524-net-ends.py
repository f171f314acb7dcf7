#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Both ends of a link over a network, each the real one, by each transport: hands comes in to a
whole brain, and an engine is given connections to a hands that listens."""
import json
import os
import signal
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine
import kills
from net_hands import NetHands

KINDS = ("tcp", "tls", "ws", "wss")
NOW, BEFORE = b"\3" * 32, b"\4" * 32


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def listening(home, kind):
    """The address where brain will listen."""
    url = "%s://127.0.0.1:%d%s" % (kind, free_port(), "/ats" if kind[0] == "w" else "")
    home.configure({"sandbox": {"url": "listen:" + url}, "limits": {"queue_ms": 60000}})
    return url


class Comes:
    """A hands that connects to brain, or how says that it listens. text: an enrolment."""

    def __init__(self, home, url, text, name="k", how="--connect"):
        key = os.path.join(home.dir, name)
        with open(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as f:
            f.write(text)
        self.log_path = os.path.join(home.state, name + ".log")
        with open(self.log_path, "wb") as log:
            self.proc = home.popen(
                ats.program("ats-hands"), "--workspace", home.ws, how, url, "--key-file", key,
                stdin=log, stdout=log, stderr=log)

    def log(self):
        with open(self.log_path, encoding="utf-8") as f:
            return f.read()


def enroll(home, *more):
    return home.ctl("sandbox", "enroll", *more, code=0).stdout


def by(kind):
    @ats.test("hands comes in by " + kind)
    def _(home):
        url = listening(home, kind)
        Comes(home, url, enroll(home))
        r = home.ctl("exec", "--", "sh", "-c", "echo err >&2; head -c 3000000 /dev/zero; exit 3",
                     code=3)
        ats.equal((len(r.stdout), r.stderr), (3000000, b"err\n"))
        r = home.ctl("exec", "--", "wc", "-c", input=b"x" * 2000000, code=0)
        ats.equal(r.stdout.strip(), b"2000000")
        box = json.loads(home.ctl("--json", "sandbox", "ls").stdout)["sandboxes"][0]
        ats.equal((box["transport"], box["proven"]), (kind, True))


for k in KINDS:
    by(k)


@ats.test("again after a restart of brain, and with a new key")
def _(home):
    url = listening(home, "tls")
    h = Comes(home, url, enroll(home))
    home.ctl("exec", "--", "true", code=0)
    text = enroll(home, "--rotate")
    home.ctl("shutdown", code=0)
    ats.equal(home.ctl("exec", "--", "echo", "back", code=0).stdout, b"back\n")
    h.proc.send_signal(signal.SIGTERM)
    h.proc.wait(ats.TIMEOUT)
    Comes(home, url, text, "new")
    ats.equal(home.ctl("exec", "--", "echo", "new", code=0).stdout, b"new\n")


@ats.test("the engine ends: what runs over the network goes on; a copy of the key is busy")
def _(home):
    url = listening(home, "tls")
    text = enroll(home)
    Comes(home, url, text)
    mcp = home.mcp()
    mcp.initialize()
    go = os.path.join(home.ws, "go")
    os.mkfifo(go)
    os.chmod(go, 0o666)
    id = mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "echo run >> ran; cat go; echo last"}})
    ats.until(lambda: os.path.exists(os.path.join(home.ws, "ran")), "it runs")
    thief = Comes(home, url, text, "copy")
    ats.until(lambda: "busy" in thief.log() or "another hands is" in thief.log(), "it is told")
    os.kill(thief.proc.pid, signal.SIGKILL)
    thief.proc.wait()
    old = kills.of_role(home, "engine")[-1]
    os.kill(old, signal.SIGKILL)
    ats.until(lambda: [x for x in kills.of_role(home, "engine") if x != old], "a new one")
    with open(go, "w", encoding="ascii") as w:
        w.write("from outside\n")
    ats.equal(mcp.answer(id)["result"]["content"][0]["text"], "from outside\nlast")
    ats.equal(home.read("ran"), b"run\n")


# ---- hands listens ------------------------------------------------------------

def dialed(e, box, h, kind):
    """What the spawner's dialer would give."""
    e.need(box)
    s = socket.create_connection(("127.0.0.1", h.port))
    e.generation[box] = e.generation.get(box, 0) + 1
    e.tell("SANDBOX", box, e.generation[box], 0, "", "%s://127.0.0.1:%d%s" % (
        kind, h.port, "/ats" if kind[0] == "w" else ""), fds=[s.fileno()])
    s.close()


def to(kind):
    @ats.test("brain connects by " + kind + "; hands has the key before: found, too")
    def _(home):
        e = engine.Engine(home, sandbox_url="%s://127.0.0.1:1" % kind)
        ws = os.path.join(home.dir, "far")
        os.mkdir(ws, 0o755)
        s, b = e.session(workspace=ws)
        with NetHands("--workspace", ws, address="%s://127.0.0.1:0%s" % (
                kind, "/ats" if kind[0] == "w" else ""),
                key="ats1:%s:%d:%s\n" % (b, 5, BEFORE.hex())) as h:
            e.tell("LINK_KEY", b, 6, NOW.hex(), 5, BEFORE.hex())
            d = e.door(s)
            i = d.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "echo there"}})
            dialed(e, b, h, kind)
            if kind in ("tls", "wss"):      # its TLS key is of the generation before
                e.expect("KILL_SANDBOX")
                e.exited(b)
                dialed(e, b, h, kind)
            ats.contains(json.dumps(d.answer(i)), "there")
            # no other key will do
            e.tell("LINK_KEY", b, 7, NOW.hex(), 6, NOW.hex())
            d.request("ats/sandbox.restart", {"id": b})
            e.expect("KILL_SANDBOX")
            e.exited(b)
            dialed(e, b, h, kind)
            e.expect("KILL_SANDBOX")
            box = d.request("ats/sandbox.list")["sandboxes"][0]
            ats.equal(box["proven"], False)


for k in KINDS:
    to(k)


@ats.test("brain connects to a hands that listens; without its key it says what to do; revoked")
def _(home):
    url = "wss://localhost:%d/ats" % free_port()
    home.configure({"sandbox": {"url": url}})
    r = home.ctl("exec", "--", "true", code=125)
    ats.contains(r.stderr.decode(), "atsctl sandbox enroll")
    text = enroll(home)
    h = Comes(home, url, text, how="--listen")
    ats.until(lambda: "listening" in h.log(), "hands listens")
    ats.equal(home.ctl("exec", "--", "echo", "there", code=0).stdout, b"there\n")
    mcp = home.mcp()
    mcp.initialize()
    go = os.path.join(home.ws, "go")
    os.mkfifo(go)
    os.chmod(go, 0o666)
    id = mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "echo run >> ran; cat go; echo last"}})
    ats.until(lambda: os.path.exists(os.path.join(home.ws, "ran")), "it runs")
    os.kill(kills.of_role(home, "engine")[-1], signal.SIGKILL)
    with open(go, "w", encoding="ascii") as w:
        w.write("from outside\n")
    ats.equal(mcp.answer(id)["result"]["content"][0]["text"], "from outside\nlast")
    ats.equal(home.read("ran"), b"run\n")
    box = text.decode().split(":")[1]
    home.ctl("sandbox", "takeover", box, code=0)
    ats.equal(home.ctl("exec", "--", "echo", "mine", code=0).stdout, b"mine\n")
    home.ctl("sandbox", "revoke", box, code=0)
    r = home.ctl("exec", "--", "true", code=125)
    ats.contains(r.stderr.decode(), "atsctl sandbox enroll")

ats.main()
