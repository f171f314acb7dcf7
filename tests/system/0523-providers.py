#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where sandboxes come from: over a network, by a process that connects, and by scripts that
make them, keep some of them warm, and remove them."""
import contextlib
import json
import os
import re
import socket
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import netlink
import scripts


def full_listener():
    """A port of this machine that does not answer: its queue is full. (sockets, port)"""
    at = socket.socket()
    at.bind(("127.0.0.1", 0))
    at.listen(0)
    port = at.getsockname()[1]
    held = [at]
    for _ in range(4):
        s = socket.socket()
        s.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            s.connect(("127.0.0.1", port))
        held.append(s)
    return held, port


def to(home, url, **more):
    home.configure({"sandbox": {"url": url}, **more})
    home.ctl("sandbox", "enroll", code=0)


@ats.test("an address where nobody listens: the call is answered, and says so")
def _(home):
    at = socket.socket()
    at.bind(("127.0.0.1", 0))       # not listening, and nobody else's
    to(home, "tcp://127.0.0.1:%d" % at.getsockname()[1], retry_limit=0)
    r = home.ctl("exec", "--", "true", code=125)
    ats.contains(r.stderr.decode().lower(), "refused")
    at.close()


@ats.test("while one connects the spawner goes on, and an end of brain ends that")
def _(home):
    held, port = full_listener()
    to(home, "tcp://127.0.0.1:%d" % port)
    p = home.popen(ats.program("atsctl"), "exec", "--", "true", stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    dialers = set(ats.until(lambda: home.pids("ats-dialer"), "the dialer"))
    began = time.monotonic()
    home.ctl("shutdown", code=0)
    ats.check(time.monotonic() - began < 5, "brain waited for the dialer")
    ats.wait_gone(dialers)
    p.communicate(timeout=20)
    for s in held:
        s.close()


@ats.test("its last session is closed while it connects: that ends")
def _(home):
    held, port = full_listener()
    to(home, "tcp://127.0.0.1:%d" % port)
    p = home.popen(ats.program("atsctl"), "exec", "--", "true", stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ats.until(lambda: home.pids("ats-dialer"), "the dialer")
    for s in json.loads(home.ctl("--json", "session", "ls").stdout)["sessions"]:
        home.ctl("session", "close", s["id"], code=0)
    ats.until(lambda: not home.pids("ats-dialer"), "the dialer ends", 5)
    p.communicate(timeout=20)
    for s in held:
        s.close()


# ---- scripts


def ids(asked):
    return [a["id"] for a in asked]


def text_of(result):
    return result["content"][0]["text"]


@ats.test("the schema agrees with its own examples")
def _(_home):
    for what in ("build", "built", "one", "alive"):
        for value in scripts.schema_examples(what):
            scripts.check_schema(value, what, what)


@ats.test("a script builds a sandbox, and removes it when brain ends")
def _(home):
    s = scripts.Scripts(home)
    home.write("a.txt", "made by a script\n")
    ats.contains(text_of(home.call("Read", file_path=home.ws + "/a.txt")), "made by a script")
    first = s.asked("build")
    ats.equal(len(first), 1)
    ats.equal((first[0]["version"], first[0]["workspace"], first[0]["keep"]), (1, home.ws, []))
    ats.equal(s.asked("destroy"), [])
    home.ctl("shutdown", code=0)
    ats.equal(s.asked("destroy"), [{"version": 1, "id": "box-1"}])
    ats.until(lambda: not s.lives(1), "hands ends")


@ats.test("it is lost: the next is built, the old one removed; so too when a person kills it")
def _(home):
    s = scripts.Scripts(home)
    home.call("Bash", command="true")
    s.kill(1)
    ats.contains(text_of(home.call("Bash", command="echo again")), "again")
    ats.equal([len(a["keep"]) for a in s.asked("build")], [0, 0])
    ats.until(lambda: ids(s.asked("destroy")) == ["box-1"], "the first is removed")
    a, b = (x["generation"] for x in s.asked("build"))
    ats.check(b > a, "generations do not grow")
    box = json.loads(home.ctl("--json", "sandbox", "ls").stdout)["sandboxes"][0]["id"]
    home.ctl("sandbox", "kill", box, code=0)
    ats.until(lambda: ids(s.asked("destroy")) == ["box-1", "box-2"], "the second, too")


@ats.test("its last session is closed: all that was made for it is removed")
def _(home):
    s = scripts.Scripts(home, warm=1)
    home.call("Bash", command="true")
    ats.until(lambda: os.path.exists(s.dir + "/2.sock"), "the warm one")
    ats.until(lambda: len(s.asked("build")) == 2, "two builds")
    for x in json.loads(home.ctl("--json", "session", "ls").stdout)["sessions"]:
        home.ctl("session", "close", x["id"], code=0)
    ats.until(lambda: "box-1" in ids(s.asked("destroy")), "the one in use is removed")


def rebuilt(home):
    """Milliseconds from the loss of the link to the next ready, by brain's log."""
    at = {}
    with open(os.path.join(home.state, "ats", "brain.log"), encoding="utf-8") as f:
        for line in f:
            for what in ("sandbox.unlinked", "sandbox.ready"):
                if 'msg="%s"' % what in line:
                    at[what] = float(line.split(" ", 1)[0][3:])
    return (at["sandbox.ready"] - at["sandbox.unlinked"]) * 1000


def has_warm(home):
    ats.until(lambda: json.loads(home.ctl("--json", "status").stdout)["engine"]["sandboxes"][0]
              .get("warm") == 1, "a warm one is built")


@ats.test("warm: a loss costs a probe and no build; a dead warm one is not used")
def _(home):
    s = scripts.Scripts(home, warm=1)
    mcp = home.mcp()
    mcp.initialize()

    def timed():
        began = time.monotonic()
        ats.contains(text_of(mcp.tool("Bash", command="echo here")), "here")
        return (time.monotonic() - began) * 1000

    def warm(n):
        """Built, and its hands has started all of its processes."""
        ats.until(lambda: os.path.exists("%s/%d.sock" % (s.dir, n)), "it is built")
        ats.until(lambda: ats.find(s.pid(n), "role-zygote"), "it is warm")
        has_warm(home)

    cold = timed()
    ready = timed()
    warm(2)
    ats.equal(s.asked("build")[1]["keep"], ["box-1"])
    s.kill(1)
    lost = timed()
    print("# a call with a cold start %.0f ms, after a loss with a warm one %.0f ms (%.0f ms until it "
          "was ready), else %.0f ms" % (cold, lost, rebuilt(home), ready))
    ats.equal(ids(s.asked("probe")), ["box-2"])
    ats.check(s.lives(2), "the warm one is not used")
    warm(3)
    s.kill(3)
    s.kill(2)
    timed()
    ats.equal(ids(s.asked("probe"))[1:], ["box-3"])
    ats.check(s.lives(4), "no fourth was built")
    ats.until(lambda: set(ids(s.asked("destroy"))) == {"box-1", "box-2", "box-3"}, "removed")
    has_warm(home)
    home.ctl("shutdown", code=0)
    ats.check("box-4" in ids(s.asked("destroy")), "the last one was not removed")


@ats.test("the engine dies while a script runs: that ends with it")
def _(home):
    s = scripts.Scripts(home, build="read -r line; echo $$ > {dir}/runs; exec sleep 300\n")
    p = home.popen(ats.program("atsctl"), "exec", "--", "true", stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def runs():
        with contextlib.suppress(OSError, ValueError):
            with open(s.dir + "/runs", encoding="utf-8") as f:
                return int(f.read())
        return None

    first = ats.until(runs, "the script")
    os.kill(home.pids("ats-engine")[0], signal.SIGKILL)
    ats.wait_gone({first})
    home.ctl("shutdown", code=0)
    p.communicate(timeout=ats.TIMEOUT)


def new_engine(home):
    """Ends the engine, and waits for the one after it."""
    old = home.pids("ats-engine")[0]
    os.kill(old, signal.SIGKILL)
    ats.wait_gone({old})
    ats.until(lambda: home.pids("ats-engine"), "the next engine")


@ats.test("the engine dies: the next one goes on with the same sandbox, and its commands with it")
def _(home):
    s = scripts.Scripts(home, warm=1)
    started = home.call("Bash", command="sleep 300", run_in_background=True)
    shell = re.search(r"bash_\w+", text_of(started)).group()
    has_warm(home)
    new_engine(home)
    ats.contains(text_of(home.call("BashOutput", bash_id=shell)).lower(), "running")
    ats.equal(len(s.asked("build")), 2)
    s.kill(1)
    ats.contains(text_of(home.call("Bash", command="echo again")), "again")
    ats.equal(ids(s.asked("probe")), ["box-2"])     # the warm one was known as well
    has_warm(home)      # a build that is ended has nothing that could be removed
    home.ctl("shutdown", code=0)
    ats.check({"box-1", "box-2"} <= set(ids(s.asked("destroy"))), "not all was removed")


@ats.test("the engine dies, and its sandbox with it: that is removed, and the next one built")
def _(home):
    s = scripts.Scripts(home)
    home.call("Bash", command="true")
    os.kill(home.pids("ats-engine")[0], signal.SIGSTOP)     # it must not see it
    s.kill(1)
    new_engine(home)
    ats.contains(text_of(home.call("Bash", command="echo again")), "again")
    ats.equal(len(s.asked("build")), 2)
    ats.until(lambda: ids(s.asked("destroy")) == ["box-1"], "it is removed")


@ats.test("the engine dies, and nobody comes back: what was made is removed when brain ends")
def _(home):
    s = scripts.Scripts(home)
    home.call("Bash", command="true")
    new_engine(home)
    home.ctl("shutdown", code=0)
    ats.equal(ids(s.asked("destroy")), ["box-1"])
    ats.until(lambda: not s.lives(1), "hands ends")


NET = """read -r line
echo "build $line" >> {dir}/log
read -r port < {dir}/port
echo '{{"version":1,"id":"far","url":"tcp://127.0.0.1:'$port'"}}'
"""


@ats.test("a script's sandbox over a network: it is told a key, and has to prove it")
def _(home):
    with socket.create_server(("127.0.0.1", 0)) as at:
        port = at.getsockname()[1]
        s = scripts.Scripts(home, build=NET, probe=None, destroy=None,
                            script_hosts=["127.0.0.1:%d" % port])
        s.write("port", "%d\n" % port)
        p = home.popen(ats.program("atsctl"), "call", "Read", json.dumps({"file_path": "/x"}),
                       stdout=subprocess.PIPE)
        at.settimeout(ats.TIMEOUT)
        key = netlink.Key(ats.until(lambda: s.asked("build"), "the build")[0]["key"])
        h = netlink.NetHands(at.accept()[0], key, workspace=home.ws)
        home.open_things.append(h)
        h.answer()
        h.check_brain()
        h.prove()
        h.ready()
        h.result(h.call(), "from afar")
        ats.contains(p.communicate(timeout=ats.TIMEOUT)[0].decode(), "from afar")
    # Another port of the same host is a service of somebody else's.
    s.write("port", "1\n")
    h.close()
    r = home.ctl("exec", "--", "true", code=125)
    ats.contains(r.stderr.decode(), "not in sandbox.script_hosts")


SAY = "read -r line; echo x >> {dir}/runs; "
BAD = [
    ("prints nothing", "", "it printed nothing"),
    ("prints junk", "echo hello", "not strict JSON"),
    ("prints no whole line", "printf '{{}}'", "no whole line"),
    ("prints two lines", "echo '{{}}'; echo '{{}}'", "did not print one line"),
    ("prints no object", "echo 7", "no JSON object"),
    ("another version", """echo '{{"version":2,"id":"a","url":"unix:{dir}/s"}}'""", "is not 1"),
    ("no url", """echo '{{"version":1,"id":"a"}}'""", 'has no "url"'),
    ("more members", """echo '{{"version":1,"id":"a","url":"unix:{dir}/s","x":1}}'""",
     "does not belong there"),
    ("a strange id", """echo '{{"version":1,"id":"a b","url":"unix:{dir}/s"}}'""", '"id" of what'),
    ("a program", """echo '{{"version":1,"id":"a","url":"exec:own"}}'""", '"url" of what'),
    ("another directory", """echo '{{"version":1,"id":"a","url":"unix:/run/x.sock"}}'""",
     "outside of sandbox.script_dir"),
    ("a way out", """echo '{{"version":1,"id":"a","url":"unix:{dir}/../x.sock"}}'""",
     "outside of sandbox.script_dir"),
    ("a link out", """ln -sf {dir}/../ats/brain.sock {dir}/s
     echo '{{"version":1,"id":"a","url":"unix:{dir}/s"}}'""", "leads outside of sandbox.script_dir"),
    ("a link out on the way", """ln -sfn {dir}/../ats {dir}/d
     echo '{{"version":1,"id":"a","url":"unix:{dir}/d/brain.sock"}}'""",
     "leads outside of sandbox.script_dir"),
    ("prints too much", "head -c 70000 /dev/zero", "more than 64 KiB"),
]


def fails(home, what, script, want, **more):
    s = scripts.Scripts(home, build=SAY + script, conf={"limits": {"queue_ms": 1500}}, **more)
    r = home.ctl("exec", "--", "true", code=125)
    said = r.stderr.decode()
    ats.contains(said, want, what)
    with open(s.dir + "/runs", encoding="utf-8") as f:
        return len(f.readlines())


for _what, _script, _want in BAD:
    @ats.test("a script that breaks the contract is not asked again: " + _what)
    def _(home, what=_what, script=_script, want=_want):
        runs = fails(home, what, script, want)
        # The session's start was one, and its call another where that came after the failure.
        ats.check(1 <= runs <= 2, "%d runs" % runs)
        with open(home.log_path, encoding="utf-8") as f:
            ats.equal(f.read().count('msg="sandbox.given_up"'), runs)


@ats.test("a script that fails is asked again, a little later each time, and its words are told")
def _(home):
    runs = fails(home, "fails", "echo no room >&2; exit 3", "exit status 3; its last words: ")
    ats.check(2 <= runs <= 8, "%d runs" % runs)


@ats.test("a script that hangs is killed")
def _(home):
    fails(home, "hangs", "sleep 60", "had not ended after 1 s", build_timeout_s=1)
    running = ats.descendants(home.brain_pid())
    home.ctl("shutdown", code=0)
    ats.wait_gone(running)


@ats.test("a script that dies by a signal")
def _(home):
    fails(home, "dies", "kill -9 $$", "ended by signal 9")


@ats.test("a script that names a socket where nobody listens")
def _(home):
    s = """echo '{{"version":1,"id":"a","url":"unix:{dir}/nobody"}}'"""
    ats.check(fails(home, "nobody", s, "No such file") > 1, "not asked again")


ats.main()
