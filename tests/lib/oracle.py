# SPDX-License-Identifier: Apache-2.0
"""Calls of all kinds from several clients at once, and the truth about each of them afterwards.

    o = Oracle(home, seed=1, count=300)
    o.run(events)           events: [(n, fire)], fire() before call n + 1 is sent; False: not yet
    o.verify()              counts (o.figures), and says what is wrong (o.wrong)
    print(o.summary())

Each call leaves a mark of its own in the workspace: a line in a log, a line in a file that is
edited, a file with its number. So the files tell how often a call was done, whatever was answered:
what is done was done once; not_started, not at all; unknown or failed, at most once. Clients ask
again under the same ids when the door is lost, and now and then for an answer that they have: it
must be the same. All random choices are the seed's, a client's by its own sequence.

    bash    appends its line, prints it; sometimes slowly, sometimes much
    write   a new file        over    an old file anew        edit    a line before the last one
    read, grep, validate      of what is known
    ctl     `atsctl call Bash`       exec    `atsctl exec`, its output compared"""
import json
import os
import random
import re
import selectors
import subprocess
import time

import ats
from oracle_calls import FILES, WIDTH, Client, read_answer, read_ctl

CLIENTS = 6
LOST_S = 90.0           # no answer for so long: lost
# Ways to fail that are honest: somebody killed the worker, or the one before it is not known.
HONEST = re.compile(r"killed by |worker (was|ended)|has changed|was changed|not been read|"
                    r"was not read|read it (again|first)|Cancelled|cancelled")
NOTHING = "nothing was written"
AGAIN = "has been answered before"      # of a long answer the journal has only the digest


class Oracle:
    def __init__(self, home, seed, count, tell=None):
        self.home, self.seed, self.count = home, seed, count
        self.tell = tell            # called with a line, now and then
        self.rng = random.Random("%d oracle" % seed)
        home.write("known", "known text\n")
        home.write("new/.keep", "")
        self.clients = [Client(self, i) for i in range(CLIENTS)]
        self.calls = []
        self.ended = 0
        self.reasked = 0
        self.wrong = []             # what was seen to be wrong while it ran
        self.started = time.monotonic()
        self.slowest_s = 0.0
        self.seconds = 0.0
        self.selector = selectors.DefaultSelector()
        self.watched = {}
        self.procs = {}             # stdout of an atsctl -> (proc, call, bytes)
        self.timers = []
        self.brain_s = 0.0
        self.figures = {}

    # ---- what the clients use
    def watch(self, client, sock):
        old = self.watched.pop(client, None)
        if old is not None and old is not sock:
            self.selector.unregister(old)
        elif old is sock:
            self.watched[client] = old
            return
        if sock is not None:
            self.selector.register(sock, selectors.EVENT_READ, client)
            self.watched[client] = sock

    def later(self, seconds, fn):
        self.timers.append((time.monotonic() + seconds, fn))

    def need_brain(self):
        """A brain that died is started anew by the next who needs it: some atsctl."""
        now = time.monotonic()
        if now - self.brain_s < 0.5:
            return
        self.brain_s = now
        self.home.popen(*self.home.prefix, ats.program("atsctl"), "session", "new",
                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL)

    def start_ctl(self, call):
        proc = self.home.popen(*self.home.prefix, ats.program("atsctl"), *call.params,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        self.procs[proc.stdout] = [proc, call, b""]
        self.selector.register(proc.stdout, selectors.EVENT_READ, None)

    def on_ctl(self, out):
        entry = self.procs[out]
        proc, call, _ = entry
        data = os.read(out.fileno(), 1 << 16)
        entry[2] += data
        if data:
            return
        self.selector.unregister(out)
        del self.procs[out]
        err = proc.stderr.read().decode("utf-8", "replace")
        code = proc.wait()
        out.close()
        proc.stderr.close()
        self.home.open_things.remove(proc)
        call.client.ended(call, *read_ctl(call, code, entry[2], err))

    def on_ended(self, call):
        self.ended += 1
        self.slowest_s = max(self.slowest_s, time.monotonic() - call.asked_s)
        if call.state == "failed" and not HONEST.search(call.text):
            self.wrong.append("%s (%s) failed: %.300s" % (call.id, call.kind, call.text))
        if call.state == "done" and call.want is not None and not self.is_good(call):
            self.wrong.append("%s (%s) answered %.200r, not %.100r" % (
                call.id, call.kind, call.text, call.want))
        if call.kind == "validate" and call.state == "done" and \
                call.text != json.dumps(call.content):
            self.wrong.append("%s: the verdict is %s" % (call.id, call.text))

    @staticmethod
    def is_good(call):
        if call.kind == "exec":
            return call.text == call.want
        return call.want in call.text

    def same(self, call, m):
        """A second answer to a call that was answered."""
        state, text = read_answer(m)
        if (state, text) == (call.state, call.text) or AGAIN in text:
            return
        self.wrong.append("%s (%s) was first %s, %.200r; asked again it is %s, %.200r" % (
            call.id, call.kind, call.state, call.text, state, text))

    # ---- the run
    def run(self, events=()):
        events = sorted(events, key=lambda e: e[0])
        told = time.monotonic()
        while self.ended < self.count:
            while events and events[0][0] <= len(self.calls) and events[0][1]():
                events.pop(0)
            limit = min([self.count] + [n for n, _ in events[:1]])
            self.begin(limit)
            self.turn()
            self.look_for_lost()
            if self.tell and time.monotonic() - told > 5:
                told = time.monotonic()
                self.tell(self.summary())
        self.seconds = time.monotonic() - self.started
        return self

    def begin(self, limit):
        """Each client in turn has as many under way as it may; whose turn is the seed's."""
        while len(self.calls) < limit:
            free = [c for c in self.clients if len(c.waiting) < WIDTH]
            if not free:
                return
            self.calls.append(self.rng.choice(free).new(len(self.calls) + 1))

    def turn(self):
        now = time.monotonic()
        for c in self.clients:
            if c.door is None and now >= c.retry_s:
                c.connect()
        for key, _ in self.selector.select(0.02):
            if key.data is None:
                self.on_ctl(key.fileobj)
            elif key.data.door is not None and key.data.door.sock is key.fileobj:
                key.data.on_readable()
        now = time.monotonic()
        due = [t for t in self.timers if t[0] <= now]
        self.timers = [t for t in self.timers if t[0] > now]
        for _, fn in due:
            fn()

    def look_for_lost(self):
        now = time.monotonic()
        for c in self.clients:
            for call in list(c.waiting.values()):
                if now - call.asked_s > LOST_S:
                    if not self.wrong:
                        self.wrong.append("status: %s" % self.status())
                    c.ended(call, "lost", "no answer")

    def status(self):
        """What brain says of itself, when something hangs."""
        try:
            r = self.home.ctl("--json", "--no-start", "status", timeout=5)
            return (r.stdout + r.stderr).decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            return "brain does not answer"

    # ---- the truth
    def lines(self, name):
        return self.home.read(name).decode().split("\n")[:-1]

    def times(self, call):
        """How often it was done, by the files. -1: wrong bytes."""
        c = call.client
        if call.kind in ("bash", "ctl", "exec"):
            return self.logs[c.number].count(call.mark)
        if call.kind == "edit":
            return self.edited[c.number, call.file].count(call.mark)
        if call.kind == "write":
            return self.is_written("new/" + call.mark, [call.content])
        return None

    def is_written(self, name, contents):
        try:
            data = self.home.read(name).decode("utf-8", "replace")
        except FileNotFoundError:
            return 0
        return 1 if data in contents else -1

    def read_files(self):
        self.logs = {c.number: self.lines("log/%d" % c.number) for c in self.clients}
        self.edited = {(c.number, i): self.lines(c.path("edit", i))
                       for c in self.clients for i in range(FILES)}

    @staticmethod
    def says_undone(call):
        return call.state == "not_started" or NOTHING in call.text

    def judge(self, call):
        """Adds to the figures, and to what is wrong."""
        n = self.times(call)
        f = self.figures
        f[call.state] = f.get(call.state, 0) + 1
        if n is None:
            return
        what = None
        if n < 0:
            f["wrong_bytes"] += 1
            what = "wrong bytes"
        elif n > 1:
            f["twice"] += 1
            what = "done %d times" % n
        elif call.state == "done" and n == 0:
            f["undone"] += 1
            what = "not done"
        elif n == 1 and self.says_undone(call):
            f["twice"] += 1         # sent again, as it says that it may be, it would be
            what = "done"
        if what:
            self.wrong.append("%s (%s) is %s, and was %s: %.300s" % (
                call.id, call.kind, call.state, what, call.text))

    def judge_files(self):
        f = self.figures
        marks = {c: {x.mark for x in self.calls if x.client is c} for c in self.clients}
        for c in self.clients:
            strangers = set(self.logs[c.number]) - marks[c]
            for i in range(FILES):
                lines = self.edited[c.number, i]
                strangers |= set(lines[1:-1]) - marks[c]
                if lines[:1] != ["head"] or lines[-1:] != ["end"]:
                    f["wrong_bytes"] += 1
                    self.wrong.append("%s: %.200r" % (c.path("edit", i), lines))
                self.judge_over(c, i)
            if strangers:
                f["wrong_bytes"] += 1
                self.wrong.append("lines that no call wrote: %r" % sorted(strangers)[:20])

    def judge_over(self, client, i):
        """The last one that is done, or one after it whose outcome is not known."""
        may = ["head\nend\n"]
        for call in self.calls:     # one client, one file: one after the other
            if call.kind == "over" and call.client is client and call.file == i:
                if call.state == "done":
                    may = [call.content]
                elif not self.says_undone(call):
                    may.append(call.content)
        if self.is_written(client.path("over", i), may) != 1:
            self.figures["wrong_bytes"] += 1
            self.wrong.append("%s is not what was last written" % client.path("over", i))

    def verify(self):
        self.figures = dict.fromkeys(("done", "not_started", "unknown", "failed", "lost", "twice",
                                      "undone", "wrong_bytes"), 0)
        self.read_files()
        for call in self.calls:
            self.judge(call)
        self.judge_files()
        if self.figures["lost"]:
            self.wrong.append("without an answer: %s" % ", ".join(
                "%s (%s)" % (c.id, c.kind) for c in self.calls if c.state == "lost"))
        return self

    def summary(self):
        """One line, also in the middle of a run."""
        f = self.figures or {}
        if not f:
            return "%d of %d calls, %.0f s, seed %d" % (
                self.ended, self.count, time.monotonic() - self.started, self.seed)
        return ("%d calls: %d done, %d not_started, %d unknown, %d failed, %d lost, %d run twice, "
                "%d undone, %d wrong bytes; %d asked again; slowest %.1f s; %.1f s, seed %d" % (
                    len(self.calls), f["done"], f["not_started"], f["unknown"], f["failed"],
                    f["lost"], f["twice"], f["undone"], f["wrong_bytes"], self.reasked,
                    self.slowest_s, self.seconds, self.seed))

    def reasons(self):
        """How the calls ended that are not done, for people: {text: how many}."""
        found = {}
        for c in self.calls:
            if c.state != "done":
                why = "%s %s: %.160s" % (c.kind, c.state, re.sub(r"m?\d+", "N", c.text))
                found[why] = found.get(why, 0) + 1
        return found

    def close(self):
        for c in self.clients:
            c.lost()
        self.selector.close()
