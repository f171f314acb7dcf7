#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Links over a network, brain's side: who must prove what, keys that end, hands that comes in. The
engine between a fake vault and a scripted hands; then all of brain."""
import contextlib
import hashlib
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine
import kills
import netlink

CALL = {"name": "Read", "arguments": {"file_path": "/x"}}
KEY, OLD = b"\1" * 32, b"\2" * 32
GEN = 8


def text(answer):
    return "".join(c.get("text", "") for c in answer["result"]["content"])


class Net(engine.Engine):
    """Its sandboxes are reached over TCP."""

    def __init__(self, home, listen=False, **settings):
        self.port = None
        if listen:
            s = socket.create_server(("127.0.0.1", 0), backlog=2000)
            self.port = s.getsockname()[1]
            settings["sandbox_url"] = "listen:tcp://127.0.0.1:%d" % self.port
        else:
            settings["sandbox_url"] = "tcp://127.0.0.1:1"
        super().__init__(home, **settings)
        if listen:
            self.tell("LISTEN", settings["sandbox_url"][7:], "", fds=[s.fileno()])
            s.close()

    def key(self, box, generation=GEN, key=KEY, previous=0, old=b""):
        self.tell("LINK_KEY", box, generation, key.hex(), previous, old.hex())

    def made(self, box, generation=GEN, key=KEY, cls=netlink.NetHands, **more):
        """The next link that the engine asks for, with a hands that has this key."""
        self.need(box)
        pair = netlink.tcp_pair()
        k = netlink.Key("ats1:%s:%d:%s" % (box, generation, key.hex()))
        h = cls(pair[0], k, **more)
        self.home.open_things.append(h)
        self.give(box, (pair[0], pair[1]), "tcp://127.0.0.1:1")
        return h

    def give(self, box, pair=None, address=""):
        self.generation[box] = self.generation.get(box, 0) + 1
        self.tell("SANDBOX", box, self.generation[box], 0, "", address, fds=[pair[1].fileno()])
        pair[1].close()

    def unlinked(self, box):
        self.expect("KILL_SANDBOX")
        self.exited(box)


def up(home, **settings):
    e = Net(home, **settings)
    s, b = e.session()
    e.key(b)
    return e, s, b, e.door(s)


@ats.test("the right key: both prove, then calls run")
def _(home):
    e, _, b, d = up(home)
    h = e.made(b, workspace=home.ws)
    h.answer()
    ats.equal((h.theirs["sandbox"], h.theirs.get("takeover")), (b, None))
    h.check_brain()
    h.prove()
    h.ready()
    i = d.send("ats/tool.call", CALL)
    h.result(h.call(), "there")
    ats.equal(text(d.answer(i)), "there")
    box = d.request("ats/sandbox.list")["sandboxes"][0]
    ats.equal((box["transport"], box["proven"], box["state"]), ("tcp", True, "ready"))
    # the link is lost: the next one says that it takes over what is half dead
    h.close()
    e.unlinked(b)
    h = e.made(b)
    h.answer()
    ats.equal(h.theirs["takeover"], True)


def wrong(name, fn, **made):
    @ats.test("not proven: " + name)
    def _(home):
        e, _, b, d = up(home)
        d.send("ats/tool.call", CALL)
        h = e.made(b, **made)
        fn(h)
        h.is_refused()
        ats.equal(e.expect("KILL_SANDBOX")[0], b)
        ats.missing(e.log(), KEY.hex())


def answers(proof, **change):
    def fn(h):
        h.answer(**change)
        proof(h)
    return fn


def goes_on(h):
    h.check_brain()
    h.ready()


wrong("another key", answers(lambda h: h.prove()), key=OLD)
wrong("a generation that does not count", answers(lambda h: h.prove()), generation=GEN - 1)
wrong("brain's own mac, sent back",
      answers(lambda h: h.prove(h.expect("control.prove").json["mac"])))
wrong("another sandbox's id", answers(lambda h: None, sandbox="b-000000000000"))
wrong("no nonce", answers(lambda h: None, nonce=None))
wrong("no id", answers(lambda h: None, sandbox=None))
wrong("ready instead of a proof", answers(goes_on))


@ats.test("who does not prove himself is tried again, but not at once")
def _(home):
    e, _, b, d = up(home, queue_ms=1500)
    i = d.send("ats/tool.call", CALL)
    h = e.made(b, key=OLD)
    h.answer()
    h.prove()
    h.is_refused()
    e.unlinked(b)
    began = time.monotonic()
    e.need(b)
    ats.check(time.monotonic() - began > 0.7, "tried again at once")
    ats.contains(json.dumps(d.answer(i)), "did not prove that it has this sandbox's key")


@ats.test("a mac that was heard on another link is worth nothing")
def _(home):
    e, _, b, d = up(home)
    h = e.made(b)
    h.answer()
    h.prove()
    h.ready()
    i = d.send("ats/tool.call", CALL)
    h.result(h.call(), "there")
    d.answer(i)
    heard, epoch = (h.nonce, h.mac("hands")), h.theirs["epoch"]
    i = d.send("ats/tool.call", CALL)
    h.close()
    e.unlinked(b)
    thief = e.made(b)
    thief.nonce = heard[0]
    thief.answer(epoch=epoch)
    thief.prove(heard[1])
    thief.is_refused()
    # what the right one still has is not given up for it: it resumes
    e.unlinked(b)
    h = e.made(b)
    h.answer()
    h.prove()
    h.ready()
    h.result(h.call(), "back")
    ats.equal(text(d.answer(i)), "back")


@ats.test("a running call waits for the right hands, whoever else comes before it")
def _(home):
    e, _, b, d = up(home)
    h = e.made(b)
    h.answer()
    h.prove()
    h.ready()
    i = d.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "x"}})
    f = h.call()
    h.close()
    e.unlinked(b)
    thief = e.made(b, key=OLD, boot="another")
    thief.answer()
    thief.prove()
    thief.is_refused()
    e.unlinked(b)
    h = e.made(b)
    h.answer()
    h.prove()
    h.ready([f.call])
    h.result(f, "survived")
    ats.equal(text(d.answer(i)), "survived")


@ats.test("rotation: the key before counts until the new one is proven; revoked, none does")
def _(home):
    e, _, b, d = up(home)
    e.key(b, GEN + 1, OLD, GEN, KEY)
    d.send("ats/tool.call", CALL)
    h = e.made(b)
    h.answer()
    h.prove()
    h.ready()
    h.call()
    h.close()
    e.unlinked(b)
    h = e.made(b, GEN + 1, OLD)
    h.answer()
    h.prove()
    h.ready()
    h.call()
    ats.equal(e.expect("KEY_PROVEN"), [b, GEN + 1])
    h.close()
    e.unlinked(b)
    h = e.made(b)
    h.answer()
    h.prove()
    h.is_refused()
    e.unlinked(b)
    h = e.made(b, GEN + 1, OLD)
    h.answer()
    h.prove()
    h.ready()
    h.call()
    e.tell("LINK_KEY", b, 0, "", 0, "")
    ats.check(h.recv() is None, "the link of a revoked key goes on")


@ats.test("another brain took it over: told, not taken back but by order")
def _(home):
    e, _, b, d = up(home)
    h = e.made(b)
    h.answer()
    h.prove()
    h.ready()
    i = d.send("ats/tool.call", CALL)
    h.call()
    h.send("control.goodbye", 0, {"code": "taken_over", "text": "x"})
    h.close()
    e.unlinked(b)
    ats.contains(json.dumps(d.answer(i)), "atsctl sandbox takeover %s takes it back" % b)
    i = d.send("ats/tool.call", CALL)
    h = e.made(b)
    h.answer()
    ats.equal(h.theirs.get("takeover"), None)
    d.send("ats/sandbox.takeover", {"id": b})
    e.unlinked(b)
    h = e.made(b)
    h.answer()
    ats.equal(h.theirs["takeover"], True)
    h.prove()
    h.ready()
    h.result(h.call(), "mine")
    ats.equal(text(d.answer(i)), "mine")


# ---- hands comes in ---------------------------------------------------------------------------

def arrives(e, box, generation=GEN, key=KEY, **more):
    k = netlink.Key("ats1:%s:%d:%s" % (box, generation, key.hex()))
    h = netlink.NetHands.dial(e.port, k, **more)
    e.home.open_things.append(h)
    return h


def is_in(*args, **more):
    """One that arrives, has proven its key and is ready."""
    h = arrives(*args, **more)
    h.come_in()
    h.prove()
    h.ready()
    return h


@ats.test("listen: hands comes in, proves itself and is the sandbox; who is there is not put out")
def _(home):
    e, _, b, d = up(home, listen=True, queue_ms=60000)
    i = d.send("ats/tool.call", CALL)
    why = ats.until(lambda: d.request("ats/sandbox.list")["sandboxes"][0].get("last_error"), "why")
    ats.contains(why, "no sandbox has dialed in; on its side run: ats-hands --connect "
                 "tcp://127.0.0.1:%d --key-file FILE" % e.port)
    h = arrives(e, b, workspace=home.ws)
    h.come_in()
    h.check_brain()
    h.prove()
    h.ready()
    h.result(h.call(), "came")
    ats.equal(text(d.answer(i)), "came")
    # another start of it, while this one answers
    other = arrives(e, b, boot="boot2")
    other.come_in()
    other.prove()
    ats.equal(other.refused()["code"], "busy")
    # the same one again: its old link was half dead
    again = arrives(e, b)
    again.come_in()
    again.prove()
    ats.check(h.recv() is None, "the old link goes on")
    again.ready()
    i = d.send("ats/tool.call", CALL)
    again.result(again.call(), "again")
    ats.equal(text(d.answer(i)), "again")


@ats.test("listen: a link that is lost time and again is no reason to give up what runs")
def _(home):
    e, _, b, d = up(home, listen=True, queue_ms=60000)
    i = d.send("ats/tool.call", {"name": "Write", "call_id": "w",
                                 "arguments": {"file_path": "/x", "content": "y"}})
    call = None
    for _n in range(12):            # more than rebuild_limit
        h = arrives(e, b)
        h.come_in()
        h.check_brain()
        h.prove()
        h.ready(running=[call.call] if call else [])
        ats.until(lambda: d.request("ats/sandbox.list")["sandboxes"][0]["state"] == "ready", "up")
        call = call or h.call()
    h.result(call, "whole")
    ats.equal(text(d.answer(i)), "whole")


@ats.test("listen: an id that is not there, a wrong key and a wrong generation hear the same")
def _(home):
    e, _, b, _ = up(home, listen=True)
    seen = []
    for box, generation, key in (("b-000000000000", GEN, KEY), (b, GEN, OLD), (b, 3, KEY)):
        h = arrives(e, box, generation, key)
        h.come_in()
        hello = {k: type(v).__name__ for k, v in h.theirs.items()}
        h.expect("control.prove")
        h.prove()
        seen.append((hello, h.refused()))
    ats.equal(seen[0], seen[1])
    ats.equal(seen[0], seen[2])
    ats.equal(seen[0][1]["code"], "not_proven")
    for name in ("control.ready", "control.pong", "result"):
        h = arrives(e, b)
        h.send(name, 0, {"seq": 1})
        ats.check(h.recv() is None or True)
    h = arrives(e, b, workspace="/elsewhere")
    h.come_in()
    h.prove()
    ats.contains(h.refused()["text"], "has the workspace /elsewhere")


@ats.test("listen: who is waited for is forgotten with its last session")
def _(home):
    e, s, b, _ = up(home, listen=True)
    d = e.door()
    ats.equal(d.request("ats/sandbox.list")["sandboxes"][0]["state"], "starting")
    e.tell("SESSION_CLOSED", s)
    ats.until(lambda: not d.request("ats/sandbox.list")["sandboxes"], "it is forgotten")
    h = arrives(e, b)
    h.come_in()
    h.prove()
    h.is_refused()


@ats.test("listen: a thousand who say nothing, and one who says a byte a second")
def _(home):
    e, _, b, d = up(home, listen=True, queue_ms=60000)
    h = is_in(e, b)
    slow = socket.create_connection(("127.0.0.1", e.port))
    idle = [socket.create_connection(("127.0.0.1", e.port)) for _ in range(1000)]
    for n in range(20):             # who is in is not in their way
        slow.send(b"\0")
        i = d.send("ats/tool.call", CALL)
        h.result(h.call(), "%d" % n)
        ats.equal(text(d.answer(i)), "%d" % n)
    fds = len(os.listdir("/proc/%d/fd" % e.proc.pid))
    ats.check(fds < 120, "%d descriptors" % fds)
    e.check_memory(80000)
    for s in idle:
        s.close()
    with contextlib.suppress(OSError):
        slow.send(b"\0")
    h2 = arrives(e, b)              # and who has a key comes in behind them
    h2.come_in()
    h2.prove()
    ats.check(h.recv() is None)
    slow.close()


@ats.test("a restarted engine hears who comes in, and resumes what runs")
def _(home):
    e, s, b, d = up(home, listen=True, queue_ms=60000)
    h = is_in(e, b)
    i = d.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "x"}, "call_id": "k"})
    f = h.call()
    listener = socket.create_server(("127.0.0.1", 0))
    e.restart()
    ats.check(h.recv() is None)
    e.port = listener.getsockname()[1]
    e.key(b)
    e.tell("LISTEN", "tcp://127.0.0.1:%d" % e.port, "", fds=[listener.fileno()])
    d = e.door(s)
    i = d.send("ats/tool.call", {"name": "Bash", "arguments": {"command": "x"}, "call_id": "k"})
    h = arrives(e, b)
    h.come_in()
    h.prove()
    h.ready([f.call])
    h.result(f, "survived")
    ats.equal(text(d.answer(i)), "survived")
    listener.close()


# ---- TLS that ends before hands -----------------------------------------------------------------

def certificate(home):
    """(context, pin, path of the certificate): a server's that the configuration may name."""
    key, cert = os.path.join(home.dir, "key.pem"), os.path.join(home.dir, "cert.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-keyout", key,
                    "-out", cert, "-subj", "/CN=x", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-days", "2"], check=True, capture_output=True)
    pem = subprocess.run(["openssl", "x509", "-in", cert, "-noout", "-pubkey"], check=True,
                         capture_output=True).stdout
    spki = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "der"], input=pem, check=True,
                          capture_output=True).stdout
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context, hashlib.sha256(spki).hexdigest(), cert


def over_tls(e, box, context):
    """A hands behind something that ends TLS; None: brain does not take its certificate."""
    e.need(box)
    pair = netlink.tcp_pair()
    e.give(box, pair, "tls://127.0.0.1:1")
    pair[0].settimeout(ats.TIMEOUT)
    try:
        sock = context.wrap_socket(pair[0], server_side=True)
        k = netlink.Key("ats1:%s:%d:%s" % (box, GEN, KEY.hex()))
        h = netlink.NetHands(sock, k)
        e.home.open_things.append(h)
        h.answer()
        return h
    except (OSError, ats.Failure):
        return None


@ats.test("TLS by a certificate that the configuration names, by pin or authority, and no other")
def _(home):
    if not shutil.which("openssl"):
        ats.skip("takes openssl(1)")
    context, pin, cert = certificate(home)
    with open(cert, encoding="ascii") as f:
        pem = f.read()
    e, _, b, d = up(home)
    i = d.send("ats/tool.call", CALL)
    for pin_said, ca, right in ((pin, "", True), ("00" * 32, "", False), ("", pem, True),
                                ("", "", False)):
        e.tell("TRUST", pin_said, ca)
        h = over_tls(e, b, context)
        ats.equal(h is not None, right, (pin_said, ca))
        if right:
            h.prove()
            h.check_brain()
            h.ready()
            h.result(h.call(), "by tls")
            ats.equal(text(d.answer(i)), "by tls")
            box = d.request("ats/sandbox.list")["sandboxes"][0]
            ats.equal((box["transport"], box["proven"]), ("tls", True))
            i = d.send("ats/tool.call", CALL)
            h.close()
        e.unlinked(b)


# ---- all of brain -------------------------------------------------------------------------------

def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def listening(home):
    port = free_port()
    home.configure({"sandbox": {"url": "listen:tcp://127.0.0.1:%d" % port}})
    return port


def enroll(home, *more):
    return netlink.Key(home.ctl("sandbox", "enroll", *more, code=0).stdout.decode())


def comes(home, port, key, **more):
    h = netlink.NetHands.dial(port, key, workspace=home.ws, **more)
    home.open_things.append(h)
    h.come_in()
    h.check_brain()
    h.prove()
    return h


def refuses(home, port, key):
    h = netlink.NetHands.dial(port, key, workspace=home.ws)
    home.open_things.append(h)
    h.come_in()
    h.prove()
    h.is_refused()


def reads(home, h):
    """A call goes all the way."""
    p = home.popen(ats.program("atsctl"), "call", "Read", json.dumps({"file_path": "/x"}),
                   stdout=-1)
    h.result(h.call(), "from afar")
    ats.contains(p.communicate(timeout=ats.TIMEOUT)[0].decode(), "from afar")


@ats.test("enrolled, attached, rotated, revoked; the engine and brain end in between")
def _(home):
    port = listening(home)
    first = enroll(home)
    ats.contains(home.ctl("sandbox", "enroll", code=1).stderr.decode(), "--rotate")
    h = comes(home, port, first)
    h.ready()
    reads(home, h)
    box = json.loads(home.ctl("--json", "inspect", first.sandbox).stdout)
    ats.equal((box["transport"], box["proven"]), ("tcp", True))
    # the master stays with the vault, and no key stands anywhere
    vault = os.path.join(home.state, "ats", "vault")
    ats.equal(os.stat(os.path.join(vault, "link.master")).st_mode & 0o777, 0o600)
    for name in ("enrolled", "sessions"):
        with open(os.path.join(vault, name), encoding="ascii") as f:
            ats.missing(f.read(), first.bytes.hex())
    second = enroll(home, "--rotate")
    ats.check(second.generation > first.generation and second.bytes != first.bytes)
    os.kill(kills.of_role(home, "engine")[-1], signal.SIGKILL)
    ats.check(h.recv() is None)
    h = until_in(home, port, first)
    reads(home, h)
    h.close()
    h = until_in(home, port, second)
    reads(home, h)
    refuses(home, port, first)
    home.ctl("shutdown", code=0)
    home.ctl("session", "new", code=0)
    h = until_in(home, port, second)
    reads(home, h)
    refuses(home, port, first)
    home.ctl("sandbox", "revoke", second.sandbox, code=0)
    ats.check(h.recv() is None, "the link of a revoked key goes on")
    refuses(home, port, second)
    third = enroll(home)
    refuses(home, port, second)
    until_in(home, port, third)
    with open(home.log_path, encoding="utf-8") as f:
        log = f.read()
    for key in (first, second, third):
        ats.missing(log, key.bytes.hex())
        ats.missing(home.ctl("--json", "status").stdout.decode(), key.bytes.hex())


def until_in(home, port, key):
    """Brain has just been started, or its engine."""
    def tries():
        with contextlib.suppress(OSError, ats.Failure):
            h = comes(home, port, key)
            h.ready()
            box = json.loads(home.ctl("--json", "inspect", key.sandbox).stdout)
            return h if box.get("proven") else None
    return ats.until(tries, "hands is in")


@ats.test("where nothing is proven nothing is enrolled; unknown ids; a master that others read")
def _(home):
    r = home.ctl("sandbox", "enroll", code=1)
    ats.contains(r.stderr.decode(), "sandbox.url is stdio")
    ats.contains(r.stderr.decode(), "set it to tls://HOST:PORT")
    ats.contains(home.ctl("sandbox", "revoke", "b-000000000000", code=1).stderr.decode(),
                 "not enrolled")
    for argv in (("enroll", "x"), ("revoke",), ("ls", "--rotate"), ("takeover",)):
        home.ctl("sandbox", *argv, code=2)
    home.ctl("shutdown", code=0)
    listening(home)
    enroll(home)
    home.ctl("shutdown", code=0)
    os.chmod(os.path.join(home.state, "ats", "vault", "link.master"), 0o644)
    r = home.ctl("sandbox", "enroll", "--rotate", code=1)
    ats.contains(r.stderr.decode(), "has mode 0644")


ats.main()
