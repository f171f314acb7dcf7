# SPDX-License-Identifier: Apache-2.0
"""The clients of the oracle, what they ask for, and how an answer is read. Tests import oracle."""
import json
import random
import time

import ats

WIDTH = 4               # calls of a client under way
FILES = 3               # of a client, that are edited, and that are written over
KINDS = ["bash"] * 6 + ["edit"] * 5 + ["write"] * 3 + ["over"] * 3 + ["read"] * 4 + \
    ["grep"] * 2 + ["validate"] * 2 + ["ctl"] + ["exec"]
KEPT = ("bash", "write", "over", "edit")        # whose answers are kept, to be asked for again
BY_ATSCTL = ("ctl", "exec")
UNCHANGED = "nothing was changed"       # a check whose sandbox was lost again and again


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
