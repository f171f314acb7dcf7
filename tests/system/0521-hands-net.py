#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hands on a network address: who attaches there, and who does not. The brain is scripted, and
without TLS."""
import os
import select
import signal
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
from net_hands import Brain, KEY, NetHands, sh, text

NOT_PROVEN = ("not_proven", "the peer did not prove who it is")


def alive(b, h, call):
    sh(b, h.ws, "echo hi", call)
    ats.equal(text(b, call), "hi")


@ats.test("who proves the key attaches, hands proves it too, and the key's file is gone",
          home=False)
def _():
    with NetHands() as h:
        b = h.brain()
        b.attach()
        ats.equal(b.hello.json["sandbox"], "b-000000000001")
        ats.check("confinement" not in b.hello.json, b.hello.json)
        alive(b, h, 1)
        ats.check(not os.path.exists(h.key_path), "the key's file is there")


@ats.test("wrong key, no proof, hands' own and a replayed one hear the same, and disturb nobody",
          home=False)
def _():
    with NetHands() as h:
        b = h.brain()
        b.attach()
        said = b.mac()
        for n, lie in enumerate(("key", "echo", "replay", "none", "nonce", "sandbox")):
            liar = h.brain()
            if lie == "none":
                liar.say_hello()
            elif lie == "sandbox":
                liar.greet(sandbox="b-000000000002")
            else:
                # The nonce of a brain that proved itself before does not help.
                liar.greet(nonce=b.nonce if lie == "replay" else None)
                wrong = {"key": lambda: liar.mac(key=bytes(32)), "replay": lambda: said,
                         "echo": lambda: liar.expect("control.prove").json["mac"],
                         "nonce": lambda: "0" * 64}[lie]()
                liar.send("control.prove", 0, {"mac": wrong})
            ats.equal(liar.bye(), NOT_PROVEN, lie)
            alive(b, h, n + 1)


@ats.test("a call instead of a proof ends the connection", home=False)
def _():
    with NetHands() as h:
        b = h.brain()
        b.greet()
        sh(b, h.ws, "touch made")
        ats.equal(b.bye()[0], "out_of_state")
        h.brain().attach()
        ats.equal(os.listdir(h.ws), [])


@ats.test("busy, and with a proof taken over", home=False)
def _():
    with NetHands() as h:
        first = h.brain()
        first.attach()
        sh(first, h.ws, "sleep 0.3; echo done", keep=True)
        ats.equal(h.brain().prove(epoch=2).bye(), ("busy", "another brain is attached"))
        stranger = h.brain()
        stranger.greet(epoch=2, takeover=True)
        stranger.send("control.prove", 0, {"mac": "0" * 64})
        ats.equal(stranger.bye(), NOT_PROVEN)
        second = h.brain()
        ready = second.attach(epoch=3, takeover=True)
        ats.equal(ready.json["running"], [1])
        ats.equal(first.bye()[0], "taken_over")
        ats.equal(text(second), "done")


@ats.test("who is slow to prove himself keeps his place while others say hello", home=False)
def _():
    with NetHands() as h:
        b = h.brain()
        ats.equal(h.brain().recv().name, "control.hello")
        for _i in range(20):
            h.brain().greet()
        b.attach()
        alive(b, h, 1)


def ended(links):
    """How many of them have been closed."""
    n = 0
    for link in links:
        while select.select([link.sock], [], [], 0)[0]:
            try:
                data = link.sock.recv(65536)
            except OSError:
                data = b""
            if not data:
                n += 1
                break
    return n


@ats.test("1000 connections that say nothing, and slow ones, keep nobody out for long", home=False)
def _():
    with NetHands() as h:
        b = h.brain()
        b.attach()
        front = [p for p in h.processes() if ats.comm(p) == "ats-front"][0]
        before = len(os.listdir("/proc/%d/fd" % front))
        port, flood = h.port, []
        for _i in range(1000):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", port))
            flood.append(ats.Link(s))
        slow = Brain.pack("control.hello", 0, {})
        begin, call = time.monotonic(), 0
        while time.monotonic() - begin < 1.5:
            for s in flood[call::50]:
                try:
                    s.sock.send(slow[call % len(slow):][:1])
                except OSError:
                    pass
            call += 1
            alive(b, h, call)
        ats.check(call >= 5, "%d calls in 1.5 s" % call)
        ats.check(len(os.listdir("/proc/%d/fd" % front)) <= before + 60, "front holds them")
        print("# %d calls, %d ended" % (call, ended(flood)))
        for s in flood:
            s.close()
        b.close()
        ats.until(lambda: attached(h, port), "another attaches", 30)


def attached(h, port):
    try:
        h.again = Brain.to(port)
        h.again.attach(epoch=2)
        return True
    except (ats.Failure, OSError):
        return False


@ats.test("a proof one byte a time is a proof", home=False)
def _():
    with NetHands() as h:
        b = h.brain()
        b.greet()
        for c in Brain.pack("control.prove", 0, {"mac": b.mac()}):
            b.sock.sendall(bytes([c]))
        b.expect("control.ready")


@ats.test("a brain that comes back has its results", home=False)
def _():
    with NetHands() as h:
        b = h.brain()
        b.attach()
        boot = b.hello.json["boot"]
        sh(b, h.ws, "sleep 0.2; echo kept", keep=True)
        b.close()
        b = h.brain()
        ready = b.attach(epoch=2, boot=boot)
        ats.equal(ready.json["running"], [1])
        ats.equal(b.hello.json["boot"], boot)
        ats.equal(text(b), "kept")
        ats.check(KEY.hex() not in h.log(), "the log has the key")


class Listener:
    """A brain that hands connects to."""

    def __init__(self, sock=None):
        self.sock = sock or socket.create_server(("127.0.0.1", 0))
        self.port = None if sock else self.sock.getsockname()[1]
        self.sock.settimeout(ats.TIMEOUT)

    def brain(self):
        return Brain(self.sock.accept()[0])


@ats.test("hands connects, and again with its results when the link was lost", home=False)
def _():
    at = Listener()
    for uid in (None, 12345) if os.geteuid() == 0 else (None,):
        with NetHands(address="tcp://127.0.0.1:%d" % at.port, how="--connect", uid=uid) as h:
            b = at.brain()
            b.attach()
            sh(b, h.ws, "sleep 0.2; echo kept", keep=True)
            boot = b.hello.json["boot"]
            b.close()
            b = at.brain()
            ats.equal(b.attach(epoch=2, boot=boot).json["running"], [1])
            ats.equal(text(b), "kept")
            dialer = [p for p in h.processes() if ats.comm(p) == "ats-dialer"][0]
            if os.geteuid() == 0:
                with open("/proc/%d/status" % dialer, encoding="ascii") as f:
                    status = dict(x.split(":\t", 1) for x in f.read().split("\n") if ":\t" in x)
                ats.equal((status["CapBnd" if uid is None else "CapPrm"], status["CapEff"],
                           status["NoNewPrivs"], status["Seccomp"]),
                          ("0" * 16, "0" * 16, "1", "2"))
                ats.equal(status["Uid"].split()[0], "64000" if uid is None else str(uid))
            fds = [os.readlink("/proc/%d/fd/%s" % (dialer, n))
                   for n in os.listdir("/proc/%d/fd" % dialer)]
            ats.equal(sorted(x.split(":")[0] for x in fds), [h.log_path, "socket"])


@ats.test("who listens and proves nothing gets nothing, and is asked less and less often",
          home=False)
def _():
    at, times = Listener(), []
    with NetHands(address="tcp://127.0.0.1:%d" % at.port, how="--connect"):
        for _i in range(5):
            b = at.brain()
            times.append(time.monotonic())
            b.greet()
            b.send("control.prove", 0, {"mac": "0" * 64})
            ats.equal(b.bye(), NOT_PROVEN)
        waits = [y - x for x, y in zip(times, times[1:])]
        ats.check(waits[3] > 0.7 > 0.3 > waits[0], waits)


@ats.test("a brain that was attached is not kept waiting, however often the link is lost",
          home=False)
def _():
    at, times = Listener(), []
    with NetHands(address="tcp://127.0.0.1:%d" % at.port, how="--connect"):
        for i in range(8):
            b = at.brain()
            times.append(time.monotonic())
            b.attach(epoch=i + 1)
            b.close()
        waits = [y - x for x, y in zip(times, times[1:])]
        ats.check(waits[6] < 2.0, waits)    # a stranger would wait for 5 s then


@ats.test("hands connects to a socket of this machine, without proof; it ends when told",
          home=False)
def _():
    sock = socket.socket(socket.AF_UNIX)
    path = "/tmp/ats-net-%d.sock" % os.getpid()
    sock.bind(path)
    sock.listen()
    try:
        with NetHands("--option", "retention_s=1", address="unix:" + path,
                      how="--connect") as h:
            b = Listener(sock).brain()
            b.hello_as_brain()
            sh(b, h.ws, "echo hi")
            ats.equal(text(b), "hi")
            sock.close()
            b.close()
            ats.equal(h.refused()[0], 0)
            ats.contains(h.log(), "cannot connect to brain")
    finally:
        os.unlink(path)


@ats.test("hands whose dialer was killed ends, and not as if it had been told to", home=False)
def _():
    at = Listener()
    with NetHands(address="tcp://127.0.0.1:%d" % at.port, how="--connect") as h:
        at.brain().attach()
        dialer = [p for p in h.processes() if ats.comm(p) == "ats-dialer"]
        os.kill(dialer[0], signal.SIGKILL)
        status, log = h.refused()
        ats.equal(status, 1)
        ats.contains(log, "the dialer ended before hands")


ats.main()
