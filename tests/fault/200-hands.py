#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hands in its box, with failing allocations in each of its processes and killed workers:
each call is answered once, files are the old ones or the new ones, and a later call works."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import faults

ANSWER_S = 30.0
OLD, NEW = b"one\ntwo\n", b"one\n2\n"


class Gone(Exception):
    """The box ended."""


class Brain:
    def __init__(self, home):
        self.hands = ats.Hands(home)
        self.link = self.hands.link
        self.id = 0
        self.home = home
        self.got = {}
        self.names = {}

    def hello(self):
        """False: the box did not start."""
        try:
            self.link.hello_as_brain()
        except (ats.Failure, OSError) as f:
            if "in time" in str(f):
                raise
            return False
        return True

    def send(self, name, validate=False, **arguments):
        self.id += 1
        self.names[self.id] = "%d %s %.60r" % (self.id, name, arguments)
        reads = arguments.pop("reads", None)
        ctx = {"cwd": self.home.ws}
        if reads:
            ctx["reads"] = reads
        call = {"name": name, "input": arguments, "ctx": ctx, "deadline_ms": 20000,
                "session": "s-000000000001"}
        if not validate:
            call["keep"] = True
        self.put("call.validate" if validate else "call.tool", self.id, call)
        return self.id

    def put(self, *frame):
        try:
            self.link.send(*frame)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def execute(self):
        self.id += 1
        self.names[self.id] = "%d exec" % self.id
        self.put("call.exec", self.id, {"argv": ["/bin/echo", "hi"], "session": "s-000000000001",
                                        "ctx": {"cwd": self.home.ws}, "window": 65536})
        return self.id

    def wait(self, *ids):
        """Results by id. Every one comes once; hands may say goodbye instead."""
        end = time.monotonic() + ANSWER_S
        while not all(i in self.got for i in ids):
            try:
                f = self.link.recv(end - time.monotonic())
            except ats.Failure:
                raise ats.Failure("not answered in time: %s" % [
                    self.names[i] for i in ids if i not in self.got]) from None
            if f is None or f.name == "control.goodbye":
                raise Gone()
            if f.name == "result":
                ats.check(f.call not in self.got, "call %d was answered twice" % f.call)
                ats.check(f.call <= self.id, "a result for a call that nobody made")
                self.got[f.call] = f
                self.put("control.ack", f.call, {})
            elif f.name == "control.ping":
                self.put("control.pong", 0, {"seq": f.json["seq"]})
        return [self.got[i] for i in ids]

    def call(self, name, **arguments):
        return self.wait(self.send(name, **arguments))[0]

    def again(self):
        """A new attachment, as an engine makes that lost its link."""
        self.link.close()
        self.link = self.hands.connect()
        if not self.hello():
            raise Gone()

    def stop(self):
        """An end in order, so that LeakSanitizer looks at front."""
        self.put("control.drain", 0, {})
        self.hands.proc.wait(ANSWER_S)


def beside(home):
    return [f for f in os.listdir(home.ws) if f not in ("f", "g", "h")]


def work(b, killed=False):
    """killed: a writer that was killed leaves one temporary, which the next one takes away."""
    home = b.home
    home.write("f", OLD)
    seen = b.call("Read", file_path="f")
    reads = seen.json.get("ctx_delta", {}).get("reads")
    for name, arguments in (("Edit", {"file_path": "f", "old_string": "two", "new_string": "2"}),
                            ("Write", {"file_path": "new/g", "content": "x"}),
                            ("Grep", {"pattern": "o"}), ("KillShell", {"shell_id": "bash_1"})):
        b.call(name, validate=True, reads=reads, **arguments)
    ats.check(home.read("f") == OLD and not beside(home), "a check wrote")
    edit = b.send("Edit", file_path="f", old_string="two", new_string="2", reads=reads)
    ids = [b.send("Write", file_path="g", content="x" * 70000), b.send("Bash", command="echo hi"),
           b.send("Grep", pattern="o", output_mode="content"), b.send("Glob", pattern="*"),
           b.send("LS", path=home.ws), b.send("Bash", command="seq 20000"), b.execute(),
           b.send("Bash", command="cat; echo bg", run_in_background=True)]
    b.wait(edit, *ids)
    edited = not b.got[edit].json.get("is_error")
    ats.check(home.read("f") in ((NEW,) if edited else (OLD, NEW)), home.read("f"))
    left = beside(home)
    ats.check(not left or killed and len(left) == 1 and left[0].startswith(".ats-"), left)
    b.call("BashOutput", bash_id="bash_1")
    b.call("KillShell", shell_id="bash_1")


def works(b):
    """Afterwards; one call may still meet the fault."""
    failed = []
    for name, arguments in 2 * (("Read", {"file_path": "f"}), ("Bash", {"command": "echo hi"}),
                                ("Write", {"file_path": "h", "content": "h"})):
        r = b.call(name, **arguments)
        if r.json.get("is_error") and "has not been read" not in r.payload.decode():
            failed.append((r.json, r.payload))
    ats.check(len(failed) < 2, "later calls do not work: %.600r" % failed)


def front(run):
    b = Brain(run.home)
    if not b.hello():
        return
    try:
        work(b)
        works(b)
    except Gone:
        # A link that had to end: the next attachment works.
        b.again()
        works(b)
    b.stop()


def box(run):
    """A process of the box: it may end with the box, never hang."""
    b = Brain(run.home)
    if not b.hello():
        return
    try:
        work(b)
    except Gone:
        pass


# In a static build the libraries' allocations are among them.
faults.each("front", "each tool, exec and background", about=230)(front)
for process, about in (("init", 12), ("worker-read", 40),
                       ("worker-write", 30), ("monitor", 2)):
    faults.each(process, "each tool, exec and background", about=about)(box)


@ats.test("a worker is killed right after its call was handed over, for each call in turn")
def _(home):
    # The first three serve the self-test, one of each profile: without their word the box ends.
    for n in range(4, 15, 4 if faults.SHORT else 1):
        os.environ["ATS_FAULT"] = "kill_worker:%d,in:front" % n
        one = ats.Home()
        try:
            b = Brain(one)
            ats.check(b.hello(), "no hello")
            work(b, killed=True)
            works(b)
            for name in ("f", "g", "h"):
                seen = b.call("Read", file_path=name)
                b.call("Write", file_path=name, content="last",
                       reads=seen.json.get("ctx_delta", {}).get("reads"))
            ats.equal(beside(one), [])
        except Gone:
            raise ats.Failure("kill_worker:%d: the box ended" % n) from None
        finally:
            del os.environ["ATS_FAULT"]
            left = one.close()
        ats.check(not left, left)


ats.main()
