# SPDX-License-Identifier: Apache-2.0
"""Calls of all kinds under kills, and an oracle that says whether each was applied once.

A Storm sends numbered calls over one MCP connection, keeps some in flight, and kills what it
is told to every so many calls. Which kind each call is, and who is killed, comes from a
seed (ATS_SEED repeats a run; it is printed).

    bash    appends its number to a file, prints it, and sometimes takes a while
    edit    puts its number before the last line of one of several files: applied twice shows
    write   a file of its own
    read    a file whose text is known
"""
import os
import random
import re
import select
import time

import ats

RETRY_LIMIT = 3         # the engine's own: after so many losses a call is given up

# name of a role -> (comm, comm of the parent)
ROLES = {
    "vault": ("ats-vault", None),
    "spawner": ("ats-spawner", "ats-vault"),
    "engine": ("ats-engine", "ats-spawner"),
    "launcher": ("ats-hands", "ats-spawner"),
    "init": ("ats-init", "ats-hands"),
    "front": ("ats-front", "ats-init"),
    "zygote read": ("zygote-read", "ats-init"),
    "zygote write": ("zygote-write", "ats-init"),
    "zygote shell": ("zygote-shell", "ats-init"),
    "worker read": ("zygote-read", "zygote-read"),
    "worker write": ("zygote-write", "zygote-write"),
    "monitor": ("zygote-shell", "zygote-shell"),
    "bash": ("bash", "zygote-shell"),
}


def of_role(home, role):
    """Pids of this home's processes in that role; the youngest last."""
    name, up = ROLES[role]
    brain = home.brain_pid()
    if brain is None:
        return []
    table = ats.parents()
    return [p for p in sorted(ats.descendants(brain) | {brain})
            if ats.comm(p) == name and (up is None or ats.comm(table.get(p, 0)) == up)]


def no_crash(home):
    """Fails when a program of ours ended by a signal that nobody sent it."""
    with open(home.log_path, encoding="utf-8", errors="replace") as f:
        crashes = [x for x in f if re.search(r"signal=(4|6|7|8|11|31)\b|Sanitizer", x)]
    ats.check(not crashes, "crashed:\n" + "".join(crashes))


def seed_of():
    seed = int(os.environ.get("ATS_SEED") or "0") or random.SystemRandom().randrange(1, 1 << 31)
    print("# ATS_SEED=%d" % seed)
    return seed


class Call:
    def __init__(self, number, kind, file=None):
        self.number, self.kind, self.file = number, kind, file
        self.id = None
        self.text = None
        self.state = None       # done, unknown, failed
        self.kills = 0          # before it was sent; then: while it waited


class Storm:
    """count calls, width at a time, kill(home, rng) after each every sent ones."""

    EDITED = 8

    def __init__(self, home, count, every, kill, width=8, slow=0.05, gap_s=0.0):
        self.home, self.count, self.every, self.kill = home, count, every, kill
        self.width, self.slow, self.gap_s = width, slow, gap_s
        self.rng = random.Random(seed_of())
        self.waiting = {}
        self.calls = []
        self.kills = 0
        self.worst_s = 0.0
        self.extra = []
        for i in range(self.EDITED):
            home.write("edit/%d" % i, "head\nend\n")
        home.write("text", "known text\n")
        home.write("log", "")
        home.write("w/.keep", "")
        self.mcp = home.mcp("--session", "storm")
        self.mcp.initialize()
        for i in range(self.EDITED):
            self.mcp.text("Read", file_path="edit/%d" % i)
        self.free = set(range(self.EDITED))

    # ---- sending
    def request(self, call):
        n = call.number
        if call.kind == "bash":
            wait = self.rng.choice(["", "", "sleep %g; " % self.slow])
            return "Bash", {"command": "%secho %d >> log; %secho did-%d" % (
                self.rng.choice(["", wait]), n, wait, n)}
        if call.kind == "edit":
            return "Edit", {"file_path": "edit/%d" % call.file, "old_string": "end\n",
                            "new_string": "%d\nend\n" % n}
        if call.kind == "write":
            return "Write", {"file_path": "w/%d" % n, "content": "%d\n" % n * 50}
        return "Read", {"file_path": "text"}

    def send(self, number):
        kind = self.rng.choice(["bash", "bash", "edit", "edit", "write", "read"])
        file = None
        if kind == "edit":
            if not self.free:
                kind = "read"
            else:
                file = self.rng.choice(sorted(self.free))
                self.free.discard(file)
        call = Call(number, kind, file)
        name, arguments = self.request(call)
        call.id = self.mcp.send("tools/call", {"name": name, "arguments": arguments})
        call.sent, call.kills = time.monotonic(), self.kills
        self.calls.append(call)
        self.waiting[call.id] = call

    # ---- answers
    def receive(self):
        m = self.mcp.message()
        ats.check(m is not None, "atsctl mcp ended: %s" % (
            self.mcp.proc.stderr.read() if m is None else ""))
        call = self.waiting.pop(m.get("id"), None)
        if call is None:
            self.extra.append(m)
            return
        self.worst_s = max(self.worst_s, time.monotonic() - call.sent)
        self.judge(call, m)
        if call.kind == "edit":
            if call.state != "done":        # as a model does: look, then go on
                self.mcp_read(call.file)
            self.free.add(call.file)

    def mcp_read(self, file):
        """Reads again; other answers that come meanwhile are kept for later."""
        id = self.mcp.send("tools/call", {"name": "Read", "arguments": {
            "file_path": "edit/%d" % file}})
        self.waiting[id] = c = Call(-1, "again")
        c.sent, c.kills = time.monotonic(), self.kills
        while id in self.waiting:
            self.receive()

    def judge(self, call, m):
        if "result" not in m:
            call.state, call.text = "failed", str(m.get("error"))
            return
        call.kills = self.kills - call.kills
        call.text = "".join(c.get("text", "") for c in m["result"]["content"])
        if not m["result"].get("isError"):
            call.state = "done"
        elif "outcome of this call is unknown" in call.text:
            call.state = "unknown"
        else:
            call.state = "failed"

    # ---- the run
    def run(self):
        sent, last = 0, time.monotonic()
        limit = 0
        while sent < self.count or self.waiting:
            limit = min(self.count, (self.kills + 1) * self.every)
            while sent < limit and len(self.waiting) < self.width:
                sent += 1
                self.send(sent)
            if sent == limit and sent < self.count:
                if time.monotonic() - last >= self.gap_s:
                    self.kill(self.home, self.rng)
                    self.kills += 1
                    last = time.monotonic()
                    continue
                if not self.waiting:        # the gap between two kills is not over
                    select.select([], [], [], self.gap_s - (time.monotonic() - last))
                    continue
            self.receive()
        return self

    # ---- the oracle
    def lines(self, name):
        return self.home.read(name).decode().split("\n")[:-1]

    def verify(self, unknown):
        """unknown: whether calls may end as that. Raises with all that is wrong."""
        wrong = ["an answer that nobody waits for: %.200r" % m for m in self.extra]
        log = self.lines("log")
        edits = [self.lines("edit/%d" % i) for i in range(self.EDITED)]
        for i, f in enumerate(edits):
            if f[:1] != ["head"] or f[-1:] != ["end"]:
                wrong.append("edit/%d lost its first or last line: %r" % (i, f))
        for c in self.calls:
            wrong += self.verify_call(c, log, edits, unknown)
        strangers = set(log) - {str(c.number) for c in self.calls if c.kind == "bash"}
        if strangers:
            wrong.append("lines that no call wrote: %r" % sorted(strangers))
        ats.check(not wrong, "\n".join(wrong[:40]))
        no_crash(self.home)
        return self

    def verify_call(self, c, log, edits, unknown):
        n = str(c.number)
        times = {"bash": lambda: log.count(n),
                 "edit": lambda: edits[c.file].count(n),
                 "write": lambda: self.written(c),
                 "read": lambda: 1}[c.kind]()
        may = {"done": (1,), "unknown": (0, 1)}.get(c.state, ())
        out = []
        if times not in may:
            out.append("call %s (%s) is %s but applied %d times: %.300s" % (
                n, c.kind, c.state, times, c.text))
        if c.kills > RETRY_LIMIT and c.state in ("unknown", "failed"):
            return [] if times in (0, 1) else out
        if c.state == "unknown" and (c.kind != "bash" or not unknown):
            out.append("call %s (%s) ended as unknown: %.300s" % (n, c.kind, c.text))
        if c.state == "done" and c.kind == "bash" and c.text != "did-" + n:
            out.append("call %s answered %.300r" % (n, c.text))
        if c.state == "done" and c.kind == "read" and c.text != "1\tknown text":
            out.append("call %s read %.300r" % (n, c.text))
        return out

    def written(self, c):
        try:
            data = self.home.read("w/%d" % c.number).decode()
        except OSError:
            return 0
        return 1 if data == "%d\n" % c.number * 50 else -1

    def tell(self):
        states = {}
        for c in self.calls:
            states[c.kind, c.state] = states.get((c.kind, c.state), 0) + 1
        print("# %d calls, %d kills, slowest answer %.2f s: %s" % (
            len(self.calls), self.kills, self.worst_s,
            ", ".join("%s %s %d" % (k, s, v) for (k, s), v in sorted(states.items()))))
        return self


def count():
    """Calls of a run: few in make check, all in make check-long."""
    return int(os.environ.get("ATS_CALLS", "1000" if os.environ.get("ATS_LONG") else "200"))
