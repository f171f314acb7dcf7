# SPDX-License-Identifier: Apache-2.0
"""Calls of all kinds from several clients at once, and the truth about each of them afterwards.

    o = Oracle(home, seed=1, count=300)
    o.run(events)           events: [(n, fire)], fire() before call n + 1 is sent; False: not yet
    o.verify()              raises with all that is wrong
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

CLIENTS = 6
WIDTH = 4               # calls of a client under way
FILES = 3               # of a client, that are edited, and that are written over
LOST_S = 90.0           # no answer for so long: lost
KINDS = ["bash"] * 6 + ["edit"] * 5 + ["write"] * 3 + ["over"] * 3 + ["read"] * 4 + \
    ["grep"] * 2 + ["validate"] * 2 + ["ctl"] + ["exec"]
KEPT = ("bash", "write", "over", "edit")        # whose answers are kept, to be asked for again
BY_ATSCTL = ("ctl", "exec")
# Ways to fail that are honest: somebody killed the worker, or the one before it is not known.
HONEST = re.compile(r"killed by |worker (was|ended)|has changed|was changed|not been read|"
                    r"was not read|read it (again|first)|Cancelled|cancelled")
NOTHING = "nothing was written"
UNCHANGED = "nothing was changed"       # a check whose sandbox was lost again and again
AGAIN = "has been answered before"      # of a long answer the journal has only the digest


class Call:
    def __init__(self, client, number, kind, file=None):
        self.client, self.number, self.kind, self.file = client, number, kind, file
        self.id = "call-%d" % number
        self.mark = "m%d" % number
        self.params = None
        self.content = None     # what a file is to hold
        self.want = None        # the text of a good answer, or its end
        self.state = None       # done, failed, not_started, unknown
        self.text = ""
        self.answer = None
        self.asked_s = None
        self.asks = 0
        self.starts = 0         # with not_started between


class Client:
    """One session, one connection to the door; and what it has under way."""

    def __init__(self, oracle, number):
        self.oracle, self.home, self.number = oracle, oracle.home, number
        self.rng = random.Random("%d client %d" % (oracle.seed, number))
        self.key = "chaos%d" % number
        self.session = None
        self.door = None
        self.attached = False
        self.retry_s = 0.0
        self.waiting = {}       # call id -> Call
        self.rpc = {}           # request id -> what it is about
        self.idle = {(kind, i) for kind in ("edit", "over") for i in range(FILES)}
        self.edits = {i: [] for i in range(FILES)}      # marks of calls, in the order of answers
        self.overs = dict.fromkeys(range(FILES), None)  # the call whose content should be there
        self.known = set()      # files that were read in this session
        for kind, i in self.idle:
            self.home.write(self.path(kind, i), "head\nend\n")
        self.home.write("log/%d" % number, "")

    def path(self, kind, i):
        return "%s/%d-%d" % (kind, self.number, i)

    # ---- the door
    def connect(self):
        """Tries; a brain that is not there is started, as atsctl would."""
        try:
            self.door = ats.Door(self.home.door_path)
        except OSError:
            self.oracle.need_brain()
            self.retry_s = time.monotonic() + 0.1
            return
        self.door.sock.setblocking(False)
        self.attached = False
        self.rpc = {}
        try:
            if self.session is None:
                self.session = self.home.register(key="name:" + self.key)[0]
            self.ask("attach", "ats/session.attach",
                     {"session": self.session, "client": self.key})
        except (OSError, ats.Failure, ats.VaultError):
            self.lost()

    def lost(self):
        if self.door is not None:
            self.oracle.watch(self, None)
            self.door.close()
        self.door = None
        self.attached = False
        self.retry_s = time.monotonic() + 0.05

    def ask(self, about, method, params):
        self.door.sock.settimeout(10)
        self.rpc[self.door.send(method, params)] = about
        self.door.sock.setblocking(False)
        self.oracle.watch(self, self.door.sock)

    def on_attached(self, m):
        if "error" in m:
            self.session = None         # a new brain, which has not heard of it
            self.lost()
            return
        self.attached = True
        for call in list(self.waiting.values()):
            if call.kind not in BY_ATSCTL:
                self.oracle.reasked += 1
                self.send(call)

    def on_readable(self):
        try:
            data = self.door.sock.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.lost()
            return
        self.door.buffer += data
        while self.door is not None and b"\n" in self.door.buffer:
            line, self.door.buffer = self.door.buffer.split(b"\n", 1)
            m = json.loads(line)
            about = self.rpc.pop(m.get("id"), None)
            if about == "attach":
                self.on_attached(m)
            elif isinstance(about, Call):
                self.on_answer(about, m)

    def send(self, call):
        if self.door is None:
            return
        method = "ats/tool.validate" if call.kind == "validate" else "ats/tool.call"
        try:
            self.ask(call, method, call.params)
        except (OSError, ats.Failure):
            self.lost()

    # ---- what is asked
    def new(self, number):
        """Begins a call of this client."""
        kind = self.rng.choice(KINDS)
        file = None
        if kind in ("edit", "over"):
            free = sorted(i for k, i in self.idle if k == kind and (k, i) in self.known)
            unread = sorted(x for x in self.idle - self.known if x[0] == kind)
            if free:
                file = self.rng.choice(free)
            elif unread:
                kind, file = "read", unread[0]
            else:
                kind = "bash"
            self.idle.discard(file if kind == "read" else (kind, file))
        call = Call(self, number, kind, file)
        call.asked_s = time.monotonic()
        getattr(self, "make_" + kind)(call)
        self.waiting[call.id] = call
        if kind in BY_ATSCTL:
            self.oracle.start_ctl(call)
        elif self.attached:
            self.send(call)
        return call

    def tool(self, call, name, **arguments):
        call.params = {"name": name, "arguments": arguments, "call_id": call.id}

    def command(self, call):
        nap = self.rng.choice(["", "", "", "sleep 0.05; ", "sleep 0.3; "])
        first, then = (nap, "") if self.rng.random() < 0.5 else ("", nap)
        return "%secho %s >> log/%d; %s" % (first, call.mark, self.number, then)

    def make_bash(self, call):
        n = self.rng.choice([0, 0, 0, 2000])
        call.want = "did %s" % call.mark
        self.tool(call, "Bash", command="cd %s; %sseq %d; echo did %s" % (
            self.home.ws, self.command(call), n, call.mark))

    def make_write(self, call):
        call.content = self.text_of(call)
        self.tool(call, "Write", file_path="%s/new/%s" % (self.home.ws, call.mark),
                  content=call.content)

    def make_over(self, call):
        call.content = self.text_of(call)
        self.tool(call, "Write", content=call.content,
                  file_path="%s/%s" % (self.home.ws, self.path("over", call.file)))

    def text_of(self, call):
        return (call.mark + "\n") * self.rng.choice([1, 50, 2000, 20000])

    def make_edit(self, call):
        self.tool(call, "Edit", old_string="\nend\n", new_string="\n%s\nend\n" % call.mark,
                  file_path="%s/%s" % (self.home.ws, self.path("edit", call.file)))

    def make_read(self, call):
        """Of a file that is not known yet, or one that never changes."""
        name = "known" if call.file is None else self.path(*call.file)
        call.want = "\tknown text" if call.file is None else ""
        self.tool(call, "Read", file_path="%s/%s" % (self.home.ws, name))

    def make_grep(self, call):
        call.want = "known text"
        self.tool(call, "Grep", pattern="kn[o]wn text", path=self.home.ws + "/known",
                  output_mode="content")

    def make_validate(self, call):
        call.content = self.rng.random() < 0.5
        self.tool(call, "Bash" if call.content else "Read", **(
            {"command": "true"} if call.content else {"file_path": self.home.ws + "/none"}))

    def make_ctl(self, call):
        call.want = "did %s" % call.mark
        call.params = ["--json", "call", "--session", self.key, "Bash", json.dumps({
            "command": "cd %s; %secho did %s" % (self.home.ws, self.command(call), call.mark)})]

    def make_exec(self, call):
        n = self.rng.choice([10, 3000, 100000])
        call.want = "".join("%d\n" % i for i in range(1, n + 1))
        call.params = ["exec", "--session", self.key, "--no-stdin", "--", "sh", "-c",
                       "cd %s; %sseq %d" % (self.home.ws, self.command(call), n)]

    # ---- what was answered
    def on_answer(self, call, m):
        if call.state is not None:
            self.oracle.same(call, m)
            return
        state, text = read_answer(m)
        if state == "not_started" and call.starts < 20 and call.kind != "validate":
            call.starts += 1        # it may be sent again, under its id
            self.oracle.later(0.1, lambda: self.again(call))
            return
        call.answer = m
        self.ended(call, state, text)
        if state in ("done", "failed", "unknown") and call.kind in KEPT and \
                self.rng.random() < 0.2:
            self.oracle.reasked += 1
            self.again(call)

    def again(self, call):
        if self.attached:
            self.send(call)

    def ended(self, call, state, text):
        call.state, call.text = state, text
        call.asks += 1
        self.waiting.pop(call.id)
        self.oracle.on_ended(call)
        if call.kind == "read" and call.file is not None:
            if state == "done":
                self.known.add(call.file)
            self.idle.add(call.file)
        if call.kind in ("edit", "over"):
            key = (call.kind, call.file)
            if state != "done":     # as a model does: look before the next change
                self.known.discard(key)
            self.idle.add(key)


def text_of(r):
    return "".join(c.get("text", "") for c in r.get("content", ()))


def read_answer(m):
    """(state, text) of an answer of the door."""
    if "error" in m:
        data = m["error"].get("data") or {}
        undone = data.get("retryable") or UNCHANGED in m["error"]["message"]
        return "not_started" if undone else "failed", json.dumps(m["error"])
    r = m["result"]
    if "valid" in r:
        return "done", json.dumps(r["valid"])
    if r["outcome"] == "done":
        return "failed" if r["is_error"] else "done", text_of(r)
    return r["outcome"], text_of(r)


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


def read_ctl(call, code, out, err):
    """(state, text) of an atsctl that ended."""
    out = out.decode("utf-8", "replace")
    if call.kind == "exec":
        if code == 0:
            return "done", out
        if code == 137:
            return "failed", "its shell was killed by signal 9"
        if code != 125:
            return "failed", "exit %d: %s" % (code, err)
        return "unknown" if "unknown" in err or "not known" in err else "not_started", err
    if code == 125 and not out:     # there was no brain to ask, or it refused
        return "not_started", err
    try:
        m = json.loads(out)
    except ValueError:
        return "failed", "exit %d: %s%s" % (code, out, err)
    return read_answer({"result": m})
