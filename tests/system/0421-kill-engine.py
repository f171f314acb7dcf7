#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls go on while the engine is killed: hands runs on, so that no call may be unknown."""
import contextlib
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import kills


def kill_engine(home, _):
    pids = ats.until(lambda: kills.of_role(home, "engine"), "an engine")
    os.kill(pids[-1], signal.SIGKILL)


@ats.test("no call is unknown, none runs twice, running ones survive", users=True)
def _(home):
    hands = []

    def kill(home, rng):
        hands.append(kills.of_role(home, "launcher"))
        kill_engine(home, rng)
    # The vault gives up after five engines in ten seconds, as it should.
    s = kills.Storm(home, kills.count(), 50, kill, slow=0.3, gap_s=2.6)
    s.run().tell().verify(unknown=False)
    ats.equal([kills.of_role(home, "launcher")] * len(hands), hands, "hands was started anew")


@ats.test("a call that runs while the engine dies twice is answered with its output")
def _(home):
    mcp = home.mcp()
    mcp.initialize()
    os.mkfifo(os.path.join(home.ws, "go"), 0o666)
    os.chmod(os.path.join(home.ws, "go"), 0o666)
    id = mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "echo first; echo run >> ran; cat go; echo last"}})
    ats.until(lambda: os.path.exists(os.path.join(home.ws, "ran")), "the call runs")
    for _ in range(2):
        old = kills.of_role(home, "engine")[-1]
        os.kill(old, signal.SIGKILL)
        ats.until(lambda: [p for p in kills.of_role(home, "engine") if p != old], "a new one")
        ats.contains(mcp.text("Bash", command="echo beside"), "beside")
    with open(os.path.join(home.ws, "go"), "w", encoding="ascii") as f:
        f.write("from outside\n")
    r = mcp.answer(id)["result"]
    ats.equal(r, {"content": [{"type": "text", "text": "first\nfrom outside\nlast"}],
                  "isError": False})
    ats.equal(home.read("ran"), b"run\n")


@contextlib.contextmanager
def own_disk(at):
    """A small file system of its own."""
    if os.geteuid() != 0:
        ats.skip("only root mounts")
    r = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=800k", "tmpfs", at],
                       stderr=subprocess.PIPE, check=False)
    if r.returncode != 0:
        ats.skip("no tmpfs here: %s" % r.stderr.decode().strip())
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", at], check=False)


def fill(path):
    """Until the disk is full, to the last byte."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        with contextlib.suppress(OSError):
            while True:
                os.write(fd, bytes(4096))
    finally:
        os.close(fd)


def runs_until_told(home, mcp):
    """A Bash call that waits for a line in go: its request's id."""
    os.mkfifo(os.path.join(home.ws, "go"), 0o666)
    os.chmod(os.path.join(home.ws, "go"), 0o666)
    id = mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "echo run >> ran; cat go"}})
    ats.until(lambda: os.path.exists(os.path.join(home.ws, "ran")), "the call runs")
    return id


def tell(home):
    with open(os.path.join(home.ws, "go"), "w", encoding="ascii") as f:
        f.write("from outside\n")


@ats.test("a call that runs while the engine dies and its journal cannot be read is unknown")
def _(home):
    mcp = home.mcp()
    mcp.initialize()
    id = runs_until_told(home, mcp)
    journal = os.path.join(home.state, "ats", "engine", "journal.db")
    os.rename(journal, journal + ".away")
    os.symlink(journal + ".away", journal)      # which the engine does not follow
    os.kill(kills.of_role(home, "engine")[-1], signal.SIGKILL)
    r = mcp.answer(id)["result"]
    text = r["content"][0]["text"]
    ats.equal(r["isError"], True)
    ats.contains(text, "not known")
    ats.contains(text, "unable to open")
    ats.missing(str(r), "'retryable': True")
    # What changes nothing needs no journal.
    ats.contains(mcp.text("Read", file_path=os.path.join(home.ws, "ran")), "run")
    os.rename(journal + ".away", journal)
    ats.equal(home.read("ran"), b"run\n")


@ats.test("a full disk while the engine dies: calls go on, and what was written before is known")
def _(home):
    with own_disk(home.state):
        mcp = home.mcp()
        mcp.initialize()
        home.write("known", "old\n")
        mcp.text("Read", file_path="known")
        mcp.text("Bash", command="true")        # whose row brings what was read with it
        id = runs_until_told(home, mcp)
        filler = os.path.join(home.state, "filler")
        fill(filler)
        os.kill(kills.of_role(home, "engine")[-1], signal.SIGKILL)
        ats.matches(mcp.error("Write", file_path="new", content="x"),
                    "not started: .*no space left")
        # Who watches the brain is told, not only who calls.
        out = home.ctl("status", code=1).stdout.decode()
        ats.matches(out, r"(?m)^journal: no space left.*\nremedy: .*make room")
        tell(home)
        r = mcp.answer(id)["result"]
        ats.equal(r, {"content": [{"type": "text", "text": "from outside"}], "isError": False})
        os.unlink(filler)
        mcp.text("Edit", file_path="known", old_string="old", new_string="new")
        ats.matches(home.ctl("status", code=0).stdout.decode(), r"(?m)^health +healthy$")
        ats.equal((home.read("ran"), home.read("known")), (b"run\n", b"new\n"))


@ats.test("a limit on the size of files is an error of what is written, and no end of a process")
def _(home):
    home.popen("bash", "-c", "ulimit -f 300; exec \"$0\" exec -- true", ats.program("atsctl")).wait()
    brain, engine = home.brain_pid(), kills.of_role(home, "engine")
    home.write("known", "old\n")
    mcp = home.mcp()
    mcp.initialize()
    for _ in range(100):    # until the journal is as large as that
        r = mcp.tool("Bash", command="head -c 25000 /dev/zero | tr '\\0' x")
        if r["isError"]:
            break
    ats.matches(r["content"][0]["text"], r"not started: journal: ")
    ats.contains(mcp.text("Read", file_path="known"), "old")
    ats.equal((home.brain_pid(), kills.of_role(home, "engine")), (brain, engine))
    ats.matches(home.ctl("status", code=1).stdout.decode(), r"(?m)^journal: ")


ats.main()
