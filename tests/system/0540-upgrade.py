#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""atsctl sandbox upgrade: another file takes front's place, and what runs does not notice, on
every kind of link; a file that cannot take it is refused, and the old front goes on."""
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import upgrades

MIB = 1 << 20


def fifo(home, name):
    path = os.path.join(home.ws, name)
    os.mkfifo(path)
    os.chmod(path, 0o666)
    return path


def release(path, word="go"):
    with open(path, "w", encoding="ascii") as w:
        w.write(word + "\n")


def until_file(home, name):
    ats.until(lambda: os.path.exists(os.path.join(home.ws, name)), name)


def start_bash(home, mcp, command):
    """A Bash that has printed "before" and waits for the fifo go."""
    go = fifo(home, "go")
    id = mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "echo before; touch began; %s cat go; echo after" % command}})
    until_file(home, "began")
    return id, go


def text_of(answer):
    ats.check("result" in answer, answer)
    return "".join(c["text"] for c in answer["result"]["content"])


def on_all(name):
    """A test for each kind of link."""
    def register(fn):
        for kind in ats.some(upgrades.KINDS):
            def run(home, kind=kind):
                fn(home, upgrades.Place(home, kind))
            ats.case("%s: %s" % (kind, name), run)
    return register


# ---- what goes on ----------------------------------------------------------------------------
@on_all("a running Bash, with its output of before and after; the version is told")
def _(home, place):
    mcp = home.mcp()
    mcp.initialize()
    was = place.box()
    ats.equal((was["upgrades"], was["version"], was["init_version"]),
              (0, was["init_version"], was["version"]))
    id, go = start_bash(home, mcp, "")
    data, build = upgrades.newer()
    upgrades.install(data)
    a = place.upgrade()
    ats.equal((a["id"], a["was"]["build"], a["is"]["build"], a["fronts"]),
              (was["id"], was["build"], build, 2))
    box = json.loads(home.ctl("--json", "inspect", was["id"], code=0).stdout)
    ats.equal((box["build"], box["upgrades"], box["losses"], box["state"]),
              (build, 1, was["losses"], "ready"))
    ats.equal(len(place.fronts()), 1)
    release(go)
    ats.equal(text_of(mcp.answer(id)), "before\ngo\nafter\n".rstrip("\n"))
    ats.equal(mcp.text("Bash", command="echo next"), "next")


@on_all("an exec with megabytes of stdin, stdout and stderr, each byte once, over three upgrades")
def _(home, place):
    data = os.urandom(6 * MIB)
    p = home.popen(upgrades.ats.program("atsctl"), "exec", "--", "sh", "-c",
                   "tee /dev/stderr", bufsize=0, stdin=subprocess.PIPE,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    got, half = [b"", b""], threading.Event()

    def read(i, f):
        while True:
            piece = f.read(65536)
            if not piece:
                return
            got[i] += piece
            if len(got[0]) > MIB:
                half.set()

    def write():
        p.stdin.write(data[:3 * MIB])
        half.wait(ats.TIMEOUT)
        for n in range(3):
            upgrades.install(upgrades.newer(n + 1)[0])
            place.upgrade()
            p.stdin.write(data[(3 + n) * MIB:(4 + n) * MIB])
        p.stdin.close()
    jobs = [threading.Thread(target=read, args=(0, p.stdout)),
            threading.Thread(target=read, args=(1, p.stderr)), threading.Thread(target=write)]
    for t in jobs:
        t.start()
    for t in jobs:
        t.join(2 * ats.TIMEOUT)
    ats.equal(p.wait(ats.TIMEOUT), 0)
    for g in got:
        ats.equal((len(g), hashlib.sha256(g).hexdigest()),
                  (len(data), hashlib.sha256(data).hexdigest()))
    ats.equal(place.box()["upgrades"], 3)


@on_all("commands in the background: read before and after, waited for, ended")
def _(home, place):
    mcp = home.mcp()
    mcp.initialize()
    go = fifo(home, "go")
    for n in (1, 2):
        started = mcp.text("Bash", run_in_background=True,
                           command="echo one; touch began%d; cat go; echo two" % n)
        ats.contains(started, "bash_%d" % n)
        until_file(home, "began%d" % n)
    ended = mcp.text("Bash", command="echo gone", run_in_background=True)
    ats.contains(ended, "bash_3")
    ats.contains(mcp.text("TaskOutput", task_id="bash_3", block=True), "gone")
    ats.until(lambda: "one" in mcp.text("BashOutput", bash_id="bash_1"), "its first line")
    wait = mcp.send("tools/call", {"name": "TaskOutput",
                                   "arguments": {"task_id": "bash_1", "block": True}})
    upgrades.install(upgrades.newer()[0])
    place.upgrade()
    ats.contains(mcp.text("BashOutput", bash_id="bash_3"), "completed")
    ats.contains(mcp.text("KillShell", shell_id="bash_2"), "killed")
    release(go)
    text = text_of(mcp.answer(wait))
    ats.contains(text, "go\ntwo")
    ats.contains(text, "<status>completed</status>")
    ats.missing(text, "one\n")
    ats.contains(mcp.text("Bash", command="true", run_in_background=True), "bash_4")


@on_all("small calls under way, while it is upgraded again and again: each once")
def _(home, place):
    mcp = home.mcp()
    mcp.initialize()
    home.write("f.txt", "a line\n", 0o666)
    stop, done, failed = threading.Event(), [], []

    def storm():
        n = 0
        try:
            while not stop.is_set():
                ids = [(k, mcp.send("tools/call", {"name": "Bash", "arguments": {
                    "command": "echo %d >> log; echo %d" % (k, k)}}))
                       for k in range(n, n + 6)]
                read = mcp.send("tools/call", {"name": "Read", "arguments": {
                    "file_path": home.ws + "/f.txt"}})
                for k, id in ids:
                    ats.equal(text_of(mcp.answer(id)), "%d" % k)
                ats.contains(text_of(mcp.answer(read)), "a line")
                n += 6
                done.append(n)
        except Exception as e:
            failed.append(e)
    t = threading.Thread(target=storm)
    t.start()
    for n in range(5):
        upgrades.install(upgrades.newer(n + 1)[0])
        place.upgrade()
        at = len(done)
        ats.until(lambda: len(done) > at or failed, "a round of calls")
    stop.set()
    t.join(ats.TIMEOUT)
    if failed:
        raise failed[0]
    lines = sorted(int(x) for x in home.read("log").split())
    ats.equal(lines, list(range(done[-1])))


@ats.test("a result that nobody has acknowledged is sent again by the new front")
def _(home):
    upgrades.original()
    hands = ats.Hands(home)
    hello, _ = hands.link.hello_as_brain()
    call = {"name": "Bash", "input": {"command": "echo kept; touch ran$$"},
            "ctx": {"cwd": home.ws}, "deadline_ms": 60000, "session": "s-000000000001",
            "keep": True}
    hands.link.send("call.tool", 7, call)
    first = hands.link.expect("result", call=7)
    upgrades.install(upgrades.newer()[0])
    hands.link.send("control.upgrade", 0, {})
    bye = hands.link.expect("control.goodbye")
    ats.equal((bye.json["code"], bye.json["text"]), ("closed", "upgrade"))
    ats.equal(hands.link.recv(), None)
    link = hands.connect()
    again, ready = link.hello_as_brain(2, boot=hello.json["boot"])
    ats.equal(again.json["boot"], hello.json["boot"])
    ats.equal((ready.json["running"], ready.json["fronts"]), ([7], 2))
    second = link.expect("result", call=7)
    ats.equal((second.json, second.payload), (first.json, first.payload))
    link.send("call.tool", 7, call)     # known: it is not run again
    ats.equal(link.expect("result", call=7).payload, first.payload)
    ats.equal(len([x for x in os.listdir(home.ws) if x.startswith("ran")]), 1)
    link.send("control.ack", 7, {})
    link.send("control.upgrade", 0, {})
    link.expect("control.goodbye")
    third = hands.connect()
    _, ready = third.hello_as_brain(3)
    ats.equal((ready.json["running"], ready.json["fronts"]), ([], 3))
    third.close()
    link.close()


@ats.test("a large output with its file, and a deadline, go over")
def _(home):
    place = upgrades.Place(home)
    mcp = home.mcp()
    mcp.initialize()
    id, go = start_bash(home, mcp, "seq 200000;")
    upgrades.install(upgrades.newer()[0])
    place.upgrade()
    release(go)
    text = text_of(mcp.answer(id))
    ats.check(text.startswith("before\n1\n2\n") and
              text.endswith("\n200000\ngo\nafter"), text[-200:])
    ats.matches(text, r"(?s)cut: \d+ bytes in all.*Read (/\S+) with offset")
    os.unlink(os.path.join(home.ws, "go"))
    os.unlink(os.path.join(home.ws, "began"))
    fifo(home, "go")
    id = mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "touch began; cat go", "timeout": 4000}})
    until_file(home, "began")
    place.upgrade()
    ats.contains(text_of(mcp.answer(id)), "Timed out after 4.0 s")


# ---- what does not take its place ------------------------------------------------------------
def refuses(name, says, make):
    @ats.test("the old front goes on: " + name)
    def _(home):
        place = upgrades.Place(home)
        mcp = home.mcp()
        mcp.initialize()
        was = place.box()
        id, go = start_bash(home, mcp, "")
        make(home)
        ats.matches(place.refused(), says)
        ats.equal(mcp.text("Bash", command="echo as before"), "as before")
        box = place.box()
        for k in ("build", "upgrades", "losses", "generation"):
            ats.equal(box[k], was[k], k)
        upgrades.install(upgrades.newer()[0])     # and a good one takes it then
        ats.equal(place.upgrade()["fronts"] > 1, True)
        release(go)
        ats.equal(text_of(mcp.answer(id)), "before\ngo\nafter")


refuses("a file that is no program", "ended before it was there",
        lambda home: upgrades.install(b"no program\n"))
refuses("a program that ends at once", "ended before it was there",
        lambda home: upgrades.install(open(shutil.which("false"), "rb").read()))
refuses("a program that says nothing", "not there in time",
        lambda home: upgrades.install(upgrades.that_hangs()))
refuses("one of other tables", "built from other tables",
        lambda home: upgrades.install(upgrades.of_other_tables()))
refuses("no file at all", "No such file", lambda home: os.unlink(upgrades.HANDS))
refuses("a file that others may write", "written by others.*chmod go-w",
        lambda home: upgrades.install(upgrades.newer()[0], mode=0o757))


def another_users(home):
    if os.geteuid() != 0:
        ats.skip("only root can give a file away")
    upgrades.install(upgrades.newer()[0], owner=ats.OTHER_UID)


refuses("a file of another user", "belongs to user %d" % ats.OTHER_UID, another_users)


def in_the_workspace(home):
    path = os.path.join(home.ws, "ats-hands")
    upgrades.install(upgrades.newer()[0], path=path)
    os.unlink(upgrades.HANDS)
    os.symlink(path, upgrades.HANDS)


refuses("a link that leads where tools write", "lies where tools write", in_the_workspace)


@ats.test("a hands whose link is the only way in says so, and goes on")
def _(home):
    upgrades.original()
    ours, theirs = socket.socketpair()
    home.popen(ats.program("ats-hands"), "--stdio", "--workspace", home.ws,
               stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL)
    theirs.close()
    link = ats.Link(ours)
    link.hello_as_brain()
    link.send("control.upgrade", 0, {})
    f = link.expect("control.unchanged")
    ats.equal(f.json["code"], "invalid")
    ats.contains(f.json["text"], "no other way in")
    link.send("control.ping", 0, {"seq": 5})
    ats.equal(link.expect("control.pong").json["seq"], 5)
    link.close()


@ats.test("an unknown id, and a sandbox that does not run")
def _(home):
    place = upgrades.Place(home)
    ats.contains(home.ctl("sandbox", "upgrade", "b-no", code=1).stderr.decode(), "unknown id")
    home.ctl("sandbox", "kill", place.box()["id"], code=0)
    ats.contains(home.ctl("sandbox", "upgrade", code=1).stderr.decode(), "it does not run")


# ---- ends in between -------------------------------------------------------------------------
def is_lost(home, mcp, id):
    """What ran ends as when a front dies, and the next call finds another sandbox."""
    r = mcp.answer(id)["result"]
    ats.check(r["isError"], r)
    ats.contains(r["content"][0]["text"], "outcome of this call is unknown")
    ats.equal(mcp.text("Bash", command="echo next"), "next")


@ats.test("the new front is killed as soon as it goes on: as when any front is")
def _(home):
    place = upgrades.Place(home)
    mcp = home.mcp()
    mcp.initialize()
    id, _ = start_bash(home, mcp, "")
    place.upgrade()
    os.kill(place.fronts()[-1], signal.SIGKILL)
    is_lost(home, mcp, id)


def second_front(place, old):
    """The new one, stopped before it is there."""
    found = []

    def look():
        found[:] = [p for p in ats.descendants(place.root())
                    if p not in old and ats.cmdline(p).startswith("ats-hands role-front")]
        return bool(found)
    ats.until(look, "a new front")
    os.kill(found[0], signal.SIGSTOP)
    return found[0]


def begun(home, place):
    """(mcp, Bash, old front, new front that hangs, atsctl that waits)."""
    mcp = home.mcp()
    mcp.initialize()
    id, go = start_bash(home, mcp, "")
    old = place.fronts()
    upgrades.install(upgrades.that_hangs())
    p = home.popen(upgrades.ats.program("atsctl"), "sandbox", "upgrade",
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return mcp, id, go, old[0], second_front(place, old), p


@ats.test("the old front is killed while the new one is not there yet: as when any front is")
def _(home):
    place = upgrades.Place(home)
    mcp, id, _, old, _, p = begun(home, place)
    upgrades.original()
    os.kill(old, signal.SIGKILL)
    is_lost(home, mcp, id)
    ats.equal(p.wait(60), 1)


@ats.test("the new front is killed before it is there: the old one goes on")
def _(home):
    place = upgrades.Place(home)
    mcp, id, go, old, new, p = begun(home, place)
    os.kill(new, signal.SIGKILL)
    ats.equal(p.wait(60), 1)
    ats.contains(p.stderr.read().decode(), "ended before it was there")
    ats.equal(place.fronts(), [old])
    release(go)
    ats.equal(text_of(mcp.answer(id)), "before\ngo\nafter")


ats.main()
