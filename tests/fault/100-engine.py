#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The engine between a fake vault and fake hands, with failing allocations and dropped links:
each request is answered once, or its connection ends; afterwards the engine works."""
import collections
import json
import os
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import engine
import faults

CALLS = (
    ("Read", {"file_path": "a"}), ("Bash", {"command": "x"}),
    ("Edit", {"file_path": "a", "old_string": "1", "new_string": "2"}),
    ("Write", {"file_path": "b", "content": "x"}), ("Grep", {"pattern": "x"}),
)
SENT_S = 20.0


class World:
    """Serves vault and hands while it waits for a client's answers."""

    def __init__(self, e):
        self.e = e
        self.hands = None
        self.box = None
        self.runs = collections.Counter()       # text of a call's input -> times it was sent
        self.door = None

    def turn(self, timeout):
        socks = [self.e.vault] + ([self.door.sock] if self.door else [])
        if self.hands:
            socks.append(self.hands.sock)
        for s in faults.readable(socks, timeout):
            if s is self.e.vault:
                self.vault()
            elif self.hands and s is self.hands.sock:
                self.serve()
            elif self.door and s is self.door.sock:
                return True
        return False

    def vault(self):
        m = self.e.hear()
        if m is None:
            raise ats.Failure("the engine ended: %s" % self.e.proc.wait(10))
        name, values = m
        if name == "NEED_SANDBOX":
            self.box = values[0]
            self.hands = self.e.give(self.box)
            self.hands.said = False
        elif name == "KILL_SANDBOX":
            self.lost()

    def lost(self):
        if self.hands:
            self.hands.close()
            self.hands = None
            self.e.exited(self.box)

    def serve(self):
        h = self.hands
        try:
            data = h.sock.recv(1 << 20)
        except ConnectionResetError:
            data = b""
        if not data:
            self.hands.close()
            self.hands = None
            self.e.exited(self.box)
            return
        h.buffer += data
        while True:
            size = int.from_bytes(h.buffer[:4], "big") if len(h.buffer) >= 20 else 1 << 62
            if len(h.buffer) < size:
                return
            self.frame(h, h.recv(1))

    def frame(self, h, f):
        try:
            if f.name == "control.hello":
                h.send("control.hello", 0, {
                    "version_min": 1, "version_max": 1, "digest": f.json["digest"],
                    "role": "hands", "boot": h.boot, "epoch": f.json["epoch"]})
                h.ready()
            elif f.name == "control.ping":
                h.send("control.pong", 0, {"seq": f.json["seq"]})
            elif f.name == "call.tool":
                self.runs[json.dumps(f.json["input"], sort_keys=True)] += 1
                h.result(f, "did " + f.json["name"], ctx_delta={"cwd": self.e.home.ws})
            elif f.name == "call.validate":
                h.result(f, "would do")
            elif f.name == "call.exec":
                h.send("event.stdout", f.call, {"offset": 0}, b"out")
                h.result(f, exit_kind="exit", exit_code=0)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def answers(self, door, ids):
        """Answers of these requests by id; stops at the end of the connection. Fails for one
        that was answered twice, for one that nobody asked, and when nothing comes."""
        self.door = door
        got = {}
        end = time.monotonic() + SENT_S
        while len(got) < len(ids):
            if b"\n" not in door.buffer:
                if time.monotonic() > end:
                    raise ats.Failure("no answer to %s" % sorted(set(ids) - set(got)))
                if not self.turn(end - time.monotonic()):
                    continue
                data = door._recv(1)
                if not data:
                    break
                door.buffer += data
                continue
            line, door.buffer = door.buffer.split(b"\n", 1)
            m = json.loads(line)
            if "method" in m:
                continue
            if m.get("id") is None:
                continue        # an error of the connection itself
            ats.check(m["id"] in ids and m["id"] not in got, "not asked, or twice: %r" % m)
            got[m["id"]] = m
        self.door = None
        return got


def try_send(door, method, params, fds=()):
    try:
        return door.send(method, params, fds)
    except (BrokenPipeError, ConnectionResetError):
        return -1


def attached(w, session, client):
    """A door with the session; a connection that the fault ended is opened once more."""
    for _ in range(3):
        door = w.e.door()
        i = try_send(door, "ats/session.attach", {"session": session, "client": client})
        m = w.answers(door, [i]).get(i)
        if m and "result" in m:
            return door
    raise ats.Failure("three connections were refused: %r" % m)


def execute(door):
    r, wr = os.pipe()
    os.set_blocking(wr, False)
    i = try_send(door, "ats/exec", {"argv": ["true"], "call_id": "x1", "fds": ["stdout"]}, [wr])
    os.close(wr)
    os.close(r)
    return i


def session(e):
    """As Engine.session, but the engine may answer with an error once."""
    for _ in range(2):
        try:
            return e.session()
        except ats.Failure as f:
            if "SESSION_OK" not in str(f) or "ended" in str(f):
                raise
            e.sessions.clear()
    raise ats.Failure("the session was refused twice")


def work(run, e):
    s, _ = session(e)
    w = World(e)
    door = attached(w, s, "c1")
    asked = {}
    for k, (tool, arguments) in enumerate(CALLS):
        asked[try_send(door, "ats/tool.call", {"name": tool, "arguments": arguments,
                                               "call_id": "k%d" % k})] = k
    asked[try_send(door, "ats/tool.validate", {"name": "Edit", "arguments": CALLS[2][1]})] = None
    for method in ("ats/status", "ats/session.list", "tools/list", "ats/events.subscribe"):
        asked[try_send(door, method, {})] = None
    asked[execute(door)] = None
    asked.pop(-1, None)
    got = w.answers(door, list(asked))
    # What got no answer because its connection ended: asked again under its id, answered then.
    again = [k for i, k in asked.items() if k is not None and i not in got]
    door = attached(w, s, "c1")
    for k in again:
        tool, arguments = CALLS[k]
        i = try_send(door, "ats/tool.call", {"name": tool, "arguments": arguments,
                                             "call_id": "k%d" % k})
        ats.check(i in w.answers(door, [i]), "no answer to call %d when it was repeated" % k)
    # Afterwards everything works; one call may still meet the fault.
    failed = []
    for k, (tool, arguments) in enumerate(CALLS * 2):
        i = try_send(door, "ats/tool.call", {"name": tool, "arguments": arguments,
                                             "call_id": "later%d" % k})
        m = w.answers(door, [i]).get(i, {})
        if "result" not in m or m["result"]["is_error"]:
            failed.append(m)
            door = attached(w, s, "c1")
    ats.check(len(failed) < 2, "later calls do not work: %.600r" % failed)
    return w


def stop(run, e):
    e.tell("QUIT")
    e.vault.shutdown(socket.SHUT_WR)
    run.ended_well(e.proc.wait(20))


@faults.each("engine", "calls of each class, exec and questions", about=230)
def _(run):
    e = engine.Engine(run.home, start=False)
    try:
        e.start()
    except ats.Failure:
        run.ended_well(e.proc.wait(20), may=(1,))
        return
    work(run, e)
    stop(run, e)


def dropped(frame, n):
    @ats.test("the link is dropped after frame %d of %s: each class as its rule says" % (n, frame))
    def _(home):
        os.environ["ATS_FAULT"] = "drop_after:%s:%d,in:engine" % (frame, n)
        try:
            run = faults.Run(home, "engine", n)
            e = engine.Engine(home)
            s, _ = e.session()
            w = World(e)
            door = attached(w, s, "c1")
            ids = {door.send("ats/tool.call", {"name": t, "arguments": a}): (t, a)
                   for t, a in CALLS}
            got = w.answers(door, list(ids))
            ats.equal(sorted(got), sorted(ids))
            ats.contains(run.logs(), "sandbox.lost")
            for i, (tool, arguments) in ids.items():
                r = got[i]["result"]
                times = w.runs[json.dumps(arguments, sort_keys=True)]
                if tool == "Bash":
                    ats.check(times <= 1, "a call that never repeats was sent again")
                    ats.check(r["outcome"] in ("done", "unknown"), r)
                else:
                    ats.check(times >= 1, "%s was never sent" % tool)
                    ats.equal((r["outcome"], r["is_error"]), ("done", False), tool)
            stop(run, e)
        finally:
            del os.environ["ATS_FAULT"]


for frame, n in (("control.hello", 1), ("control.ready", 1), ("result", 1), ("result", 2),
                 ("result", 3), ("0", 4)):
    dropped(frame, n)


ats.main()
