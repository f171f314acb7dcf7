#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ats-brain alone: vault and spawner with a scripted engine and scripted hands beside it.

The scripts connect to sockets of this test, report what they were given and do as they are
told, so nothing here depends on the real engine or on a sandbox."""
import array
import contextlib
import hashlib
import json
import os
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import textwrap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

LIB = os.path.join(ats.TOP, "tests", "lib")

FAKE = """\
#!%s
import array, json, os, socket, sys
sys.dont_write_bytecode = True
sys.path.insert(0, %r)
"""

# Forwards what the vault says; sends what the test says.
ENGINE = FAKE + """
import select
import ats
vault = socket.socket(fileno=3)
test = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
test.connect(os.path.join(os.path.dirname(os.path.abspath(__file__)), "engine.ctl"))
mode = json.loads(test.recv(65536))
if mode.get("exit") is not None:
    os._exit(mode["exit"])
test.send(json.dumps({"pid": os.getpid(), "argv": sys.argv[1:], "env": dict(os.environ),
    "fds": sorted(int(f) for f in os.listdir("/proc/self/fd") if int(f) < test.fileno())}).encode())
def say(name, *values):
    vault.send(ats.Vault.pack(name, 0, *values))
while True:
    ready, _, _ = select.select([vault, test], [], [])
    if vault in ready:
        data, fds, _, _ = socket.recv_fds(vault, 65536, 8)
        if not data:
            os._exit(0)
        name, seq, values = ats.Vault.unpack(data)
        if name == "SETTINGS" and mode.get("ready", True):
            say("ENGINE_READY")
        if name == "SESSION" and mode.get("ok", True):
            say("SESSION_OK", values[0], 0, "")
        socket.send_fds(test, [json.dumps([name, *values]).encode()], fds)
        for fd in fds:
            os.close(fd)
        if name == "QUIT":
            os._exit(0)
    if test in ready:
        order = json.loads(test.recv(65536) or b'{"exit": 0}')
        if "exit" in order:
            os._exit(order["exit"])
        if "raw" in order:
            vault.send(bytes.fromhex(order["raw"]))
        if "say" in order:
            say(*order["say"])
"""

# Reports, echoes on its link, and stays until that is closed and the test is gone.
HANDS = FAKE + """
test = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
test.connect(os.path.join(os.path.dirname(os.path.abspath(__file__)), "hands.ctl"))
print("hands says hello", file=sys.stderr, flush=True)
test.send(json.dumps({"pid": os.getpid(), "argv": sys.argv[1:], "env": dict(os.environ),
    "cwd": os.getcwd(), "fds": sorted(int(f) for f in os.listdir("/proc/self/fd")
    if int(f) < test.fileno())}).encode())
link = socket.socket(fileno=3)
link.send(b"from hands")
while test.recv(10):
    pass
"""


class Peer:
    """One run of a script, as the test sees it."""

    def __init__(self, sock, mode=None):
        self.sock = sock
        self.pid = None
        if mode is not None:
            sock.send(json.dumps(mode).encode())

    def recv(self):
        """A decoded message (and its descriptors), or None at the end."""
        ready, _, _ = select.select([self.sock], [], [], ats.TIMEOUT)
        ats.check(ready, "the script says nothing")
        with contextlib.suppress(ConnectionResetError):
            data, self.fds, _, _ = socket.recv_fds(self.sock, 65536, 8)
            if data:
                return json.loads(data)
        return None

    def hello(self):
        self.info = self.recv()
        ats.check(self.info is not None, "the script ended")
        self.pid = self.info["pid"]
        return self

    def expect(self, name):
        """The values of the next message of that name; others before it are skipped."""
        while True:
            m = self.recv()
            ats.check(m is not None, "the script ended before %s" % name)
            if m[0] == name:
                return m[1:]

    def say(self, *message):
        self.order(say=message)

    def order(self, **order):
        self.sock.send(json.dumps(order).encode())

    def close(self):
        self.sock.close()


class Brain:
    def __init__(self, home, start=True, **mode):
        self.home = home
        self.bin = os.path.join(home.dir, "bin")
        os.mkdir(self.bin)
        shutil.copy(ats.program("ats-brain"), self.bin)
        self.listeners = {}
        for name, text in (("engine", ENGINE), ("hands", HANDS)):
            path = os.path.join(self.bin, "ats-" + name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text % (sys.executable, LIB))
            os.chmod(path, 0o755)
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.bind(os.path.join(self.bin, name + ".ctl"))
            s.listen(64)
            home.open_things.append(s)
            self.listeners[name] = s
        os.makedirs(os.path.dirname(home.log_path), 0o700, exist_ok=True)
        self.proc = None
        if start:
            self.start(**mode)

    def run(self, *args):
        """Starts ats-brain; returns the pipe that says ready."""
        r, w = os.pipe()
        os.set_inheritable(w, True)
        with open(self.home.log_path, "ab") as log:
            self.proc = self.home.popen(os.path.join(self.bin, "ats-brain"), "--ready-fd", str(w),
                                        *args, pass_fds=[w], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=log)
        os.close(w)
        return r

    def start(self, **mode):
        r = self.run()
        self.engine = self.next("engine", mode).hello()
        ats.equal(self.said(r), "ready\n")

    def said(self, r):
        """All that came on the ready descriptor."""
        with open(r, encoding="utf-8") as f:
            ready, _, _ = select.select([f], [], [], ats.TIMEOUT)
            ats.check(ready, "nothing on the ready descriptor")
            return f.read()

    def next(self, name, mode=None):
        ready, _, _ = select.select([self.listeners[name]], [], [], ats.TIMEOUT)
        ats.check(ready, "no %s was started" % name)
        p = Peer(self.listeners[name].accept()[0], mode)
        self.home.open_things.append(p)
        return p

    def none_started(self, name):
        return not select.select([self.listeners[name]], [], [], 0)[0]

    def status(self):
        return json.loads(self.home.vault().ask("VAULT_STATUS")[0])

    def sandbox(self, engine=None):
        """Registers the workspace and starts its sandbox: (id, generation, hands)."""
        engine = engine or self.engine
        _, box = self.home.register()
        engine.expect("SESSION")
        engine.say("NEED_SANDBOX", box)
        hands = self.next("hands").hello()
        got = engine.expect("SANDBOX")
        ats.equal((got[0], got[2], got[3]), (box, 0, ""))
        return box, got[1], hands

    def wait(self):
        return self.proc.wait(ats.TIMEOUT)


def status_of(pid):
    out = {}
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        for line in f:
            key, _, value = line.partition(":")
            out[key] = value.strip()
    return out


def refused(vault, what, *values):
    """The error of a refused question: (code, text)."""
    try:
        vault.ask(what, *values)
    except ats.VaultError as e:
        return e.code, e.text
    raise ats.Failure("%s %r was not refused" % (what, values))


INVAL, NOENT, PERM, BUSY, UNKNOWN_ID = 4, 5, 7, 14, 201


@ats.test("the start says ready, makes private sockets and hands over settings")
def _(home):
    home.configure({"heartbeat_ms": 1234, "sandbox": {"env": {"A": "b"}}})
    b = Brain(home)
    ats.equal(b.engine.info["argv"], ["--vault-fd", "3", "--door-fd", "4"])
    ats.equal(b.engine.info["fds"], [0, 1, 2, 3, 4])
    ats.check(not set(b.engine.info["env"]) - {"LC_CTYPE", "ASAN_OPTIONS", "UBSAN_OPTIONS",
                                               "ATS_FAULT"}, b.engine.info["env"])
    lines, state = b.engine.expect("SETTINGS")
    ats.contains(lines, "heartbeat_ms=1234\n")
    ats.contains(lines, "log_level=info\n")
    ats.missing(lines, "env=")
    ats.equal(state, os.path.join(home.state, "ats", "engine"))
    for path in (home.door_path, home.vault_path):
        st = os.stat(path)
        ats.check(stat.S_ISSOCK(st.st_mode))
        ats.equal(stat.S_IMODE(st.st_mode), 0o600)


@ats.test("the vault is confined, the spawner is not")
def _(home):
    b = Brain(home)
    vault = status_of(b.proc.pid)
    ats.equal((vault["NoNewPrivs"], vault["Seccomp"]), ("1", "2"))
    ats.check(int(vault["CapEff"], 16) in (0, 4), vault["CapEff"])
    ats.check(int(vault["CapPrm"], 16) in (0, 4), vault["CapPrm"])
    spawner = status_of(b.status()["spawner_pid"])
    ats.equal((spawner["NoNewPrivs"], spawner["Seccomp"], spawner["Name"]),
              ("0", "0", "ats-spawner"))


@ats.test("a second brain on the same sockets says that one runs")
def _(home):
    b = Brain(home)
    other = subprocess.run([os.path.join(b.bin, "ats-brain")], env=home.env, timeout=30,
                           stderr=subprocess.PIPE)
    ats.equal(other.returncode, 1)
    ats.contains(other.stderr.decode(), "another brain runs on " + os.path.join(home.run, "ats"))
    b.status()


@ats.test("stale sockets are replaced, a file in their place is an error")
def _(home):
    os.mkdir(os.path.join(home.run, "ats"), 0o700)
    for path in (home.vault_path, home.door_path):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.bind(path)
        s.close()
    b = Brain(home)
    b.home.vault().ask("SHUTDOWN")
    b.wait()
    with open(home.door_path, "w", encoding="utf-8"):
        pass
    r = b.run()
    ats.contains(b.said(r), "brain.sock: exists and is not a socket")
    ats.equal(b.wait(), 1)


@ats.test("a killed engine is replaced and told everything again")
def _(home):
    b = Brain(home)
    session, box = home.register()
    for _ in range(3):
        os.kill(b.engine.pid, signal.SIGKILL)
        b.engine = b.next("engine", {}).hello()
        b.engine.expect("SETTINGS")
        ats.equal(b.engine.expect("SESSION"), [session, box, os.getuid(), home.ws, "name:test"])
        ats.equal(home.register(), (session, box))
    ats.equal(b.status()["engine"]["starts"], 4)


@ats.test("a registration waits for the engine that takes over")
def _(home):
    b = Brain(home, ok=False)
    v = home.vault()
    v.send_raw(ats.Vault.pack("REGISTER", 9, home.ws, "name:w"))
    b.engine.expect("SESSION")
    v.send_raw(ats.Vault.pack("VAULT_STATUS", 10))
    ats.equal(v.recv()[:2], ("FAILED", 10))
    os.kill(b.engine.pid, signal.SIGKILL)
    b.engine = b.next("engine", {"ok": False}).hello()
    session = b.engine.expect("SESSION")[0]
    b.engine.say("SESSION_OK", session, 0, "")
    ats.equal(v.recv(), ("OK", 9, [session, b.status() and ats_box(home)]))
    # and an engine that refuses is passed on
    v.send_raw(ats.Vault.pack("REGISTER", 11, home.ws, "name:x"))
    session = b.engine.expect("SESSION")[0]
    b.engine.say("SESSION_OK", session, 8, "no room")
    ats.equal(v.recv(), ("FAILED", 11, [8, "no room"]))


def digest(*parts):
    return hashlib.sha256(b"\0".join(str(p).encode() for p in parts)).hexdigest()[:12]


def ats_box(home):
    return "b-" + digest(os.getuid(), home.ws)


@ats.test("an engine that ends at once makes the start fail with a text")
def _(home):
    b = Brain(home, start=False)
    r = b.run()
    b.next("engine", {"exit": 3})
    b.next("engine", {"exit": 3})
    ats.contains(b.said(r), "the engine ends while it starts")
    ats.equal(b.wait(), 1)


@ats.test("an engine that keeps crashing ends brain")
def _(home):
    b = Brain(home)
    os.kill(b.engine.pid, signal.SIGKILL)
    for _ in range(4):
        b.next("engine", {"exit": 1})
    ats.equal(b.wait(), 1)
    ats.contains(open(home.log_path, encoding="utf-8").read(), "ended too often")


@ats.test("a missing engine is named")
def _(home):
    b = Brain(home, start=False)
    os.unlink(os.path.join(b.bin, "ats-engine"))
    r = b.run()
    ats.contains(b.said(r), "ats-engine is neither beside ats-brain nor in")
    ats.equal(b.wait(), 1)


@ats.test("without its spawner brain ends, and so does all else")
def _(home):
    b = Brain(home)
    _, _, hands = b.sandbox()
    spawner = b.status()["spawner_pid"]
    os.kill(spawner, signal.SIGKILL)
    ats.equal(b.wait(), 1)
    ats.equal(ats.wait_gone([spawner, b.engine.pid, hands.pid], 10), [])


@ats.test("without its vault everything ends and a new brain starts at once")
def _(home):
    b = Brain(home)
    _, _, hands = b.sandbox()
    spawner = b.status()["spawner_pid"]
    b.proc.kill()
    b.proc.wait()
    old = [spawner, b.engine.pid, hands.pid]
    b.start()
    ats.equal(ats.wait_gone(old, 10), [])
    b.status()


@ats.test("shutdown ends engine, sandboxes and brain in order")
def _(home):
    b = Brain(home)
    _, _, hands = b.sandbox()
    spawner = b.status()["spawner_pid"]
    v = home.vault()
    ats.equal(v.ask("SHUTDOWN"), ["", ""])
    b.engine.expect("QUIT")
    ats.equal(v.recv(), None)
    ats.equal(b.wait(), 0)
    ats.equal(ats.wait_gone([spawner, b.engine.pid, hands.pid], 10), [])
    ats.check(not os.path.exists(home.vault_path) and not os.path.exists(home.door_path))
    ats.equal([n for n in os.listdir(os.path.join(home.run, "ats"))], ["brain.lock"])


@ats.test("SIGTERM is a shutdown")
def _(home):
    b = Brain(home)
    b.proc.terminate()
    b.engine.expect("QUIT")
    ats.equal(b.wait(), 0)


@ats.test("an idle brain leaves, a busy one stays")
def _(home):
    home.configure({"idle_exit_s": 1})
    b = Brain(home)
    b.engine.say("IDLE", 0)
    ats.until(lambda: not b.status()["engine"]["idle"], "the engine is busy")
    for v in home.open_things:
        if isinstance(v, ats.Vault):
            v.close()
    b.engine.say("IDLE", 1)
    b.engine.expect("QUIT")
    ats.equal(b.wait(), 0)


@ats.test("registrations are checked")
def _(home):
    b = Brain(home)
    state, run = os.path.join(home.state, "ats"), os.path.join(home.run, "ats")
    os.symlink(home.home, os.path.join(home.ws, "link"))
    os.symlink(state, os.path.join(home.ws, "own"))
    with open(os.path.join(home.ws, "file"), "w", encoding="utf-8"):
        pass
    rows = [
        ("/", INVAL, "root directory"), (home.home, INVAL, "home directory"),
        (home.dir, INVAL, "contains"), (home.ws + "/link", INVAL, "home directory"),
        (home.home + "/../home/.", INVAL, "home directory"),
        (state, INVAL, "brain's own"), (state + "/vault", INVAL, "lies in brain's own"),
        (run, INVAL, "brain's own"), (home.state, INVAL, "contains brain's own"),
        (home.ws + "/own", INVAL, "brain's own"), (home.config, INVAL, "contains brain's own"),
        ("ws", INVAL, "not an absolute path"), ("", INVAL, "not an absolute path"),
        (home.ws + "/none", NOENT, "No such file"), (home.ws + "/file", INVAL, "not a directory"),
    ]
    v = home.vault()
    for path, code, text in rows:
        got = refused(v, "REGISTER", path, "name:k")
        ats.equal(got[0], code, "%s: %s" % (path, got[1]))
        ats.contains(got[1], text)
    ats.equal(refused(v, "REGISTER", home.ws, "")[0], INVAL)
    ats.equal(refused(v, "REGISTER", home.ws, "k" * 257)[0], INVAL)
    ats.equal(b.status()["sessions"], 0)


@ats.test("ids follow from uid, directory and key, and survive a restart")
def _(home):
    b = Brain(home)
    session, box = home.register(key="name:ä b%\n")
    ats.equal(session, "s-" + digest(os.getuid(), home.ws, "name:ä b%\n"))
    ats.equal(box, ats_box(home))
    ats.equal(home.register(workspace=home.ws + "/../ws/.", key="name:ä b%\n"), (session, box))
    ats.check(home.register(key="name:other")[0] != session)
    v = home.vault()
    ats.equal(v.ask("FIND_SESSION", session), [session, box])
    ats.equal(refused(v, "FIND_SESSION", "s-000000000000")[0], UNKNOWN_ID)
    v.ask("SHUTDOWN")
    b.wait()
    b.start()
    v = home.vault()
    ats.equal(v.ask("FIND_SESSION", session), [session, box])
    ats.equal(b.status()["sessions"], 2)
    os.rmdir(home.ws)
    ats.equal(refused(v, "FIND_SESSION", session)[0], NOENT)
    os.symlink(home.home, home.ws)
    ats.equal(refused(v, "FIND_SESSION", session)[0], INVAL)


@ats.test("a closed session is gone for clients and engine")
def _(home):
    b = Brain(home)
    session, box = home.register()
    b.engine.say("NEED_SANDBOX", box)
    hands = b.next("hands").hello()
    b.engine.expect("SANDBOX")
    v = home.vault()
    ats.equal(v.ask("CLOSE_SESSION", session), ["", ""])
    ats.equal(b.engine.expect("SESSION_CLOSED"), [session])
    ats.equal(refused(v, "CLOSE_SESSION", session)[0], UNKNOWN_ID)
    ats.equal(b.engine.expect("SANDBOX_EXITED")[0], box)
    ats.equal(ats.wait_gone([hands.pid], 10), [])
    b.engine.say("NEED_SANDBOX", box)
    ats.equal(b.engine.expect("SANDBOX")[2], UNKNOWN_ID)
    # one of two sessions leaves: the sandbox stays
    s1, box = home.register(key="name:1")
    home.register(key="name:2")
    b.engine.say("NEED_SANDBOX", box)
    hands = b.next("hands").hello()
    b.engine.expect("SANDBOX")
    v.ask("CLOSE_SESSION", s1)
    b.engine.expect("SESSION_CLOSED")
    ats.equal([x["state"] for x in b.status()["sandboxes"]], ["up"])


@ats.test("hands get the named descriptors, no environment, and the configured options")
def _(home):
    home.configure({"retention_s": 7, "sandbox": {
        "min_level": "landlock", "limits": "check", "read_only": ["/usr/share"],
        "env": {"K": "v=w x"}}})
    b = Brain(home)
    box, _, hands = b.sandbox()
    d = os.path.join(home.state, "ats", "sandbox", box)
    limits = [w for n in ("memory_mib", "processes", "box_processes", "cpu_s", "open_files",
                          "file_mib", "disk_mib", "background_jobs", "background_life_s")
              for w in ("--option", n + "=0")]
    want = ["--link-fd", "3", "--listen-fd", "4", "--workspace", home.ws, "--state-dir", d,
            "--sandbox", box, "--option", "retention_s=7", "--option", "min_level=landlock",
            "--option", "net=off", "--option", "limits=check", *limits,
            "--option", "ro=/usr/share", "--option", "git_config=0",
            "--option", "env=K=v=w x"]
    ats.equal(hands.info["argv"], want)
    ats.equal(hands.info["fds"], [0, 1, 2, 3, 4])
    ats.equal(hands.info["cwd"], "/")
    ats.check(not set(hands.info["env"]) - {"LC_CTYPE", "ASAN_OPTIONS", "UBSAN_OPTIONS",
                                            "ATS_FAULT"}, hands.info["env"])
    for name in ("", "home", "spill"):
        st = os.stat(os.path.join(d, name))
        ats.equal(stat.S_IMODE(st.st_mode), 0o700)
    ats.contains(open(os.path.join(d, "hands.log"), encoding="utf-8").read(), "hands says hello")
    link = socket.socket(fileno=b.engine.fds[0])
    ats.equal(link.recv(100), b"from hands")
    link.close()
    path = os.path.join(home.run, "ats", "sb-%s.sock" % box)
    ats.equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.connect(path)
    s.close()


@ats.test("a new engine hears of living sandboxes and gets the next when one dies")
def _(home):
    b = Brain(home)
    box, generation, hands = b.sandbox()
    os.kill(b.engine.pid, signal.SIGKILL)
    b.engine = b.next("engine", {}).hello()
    path = os.path.join(home.run, "ats", "sb-%s.sock" % box)
    ats.equal(b.engine.expect("SANDBOX_ALIVE"), [box, generation, path])
    ats.check(ats.alive(hands.pid))
    # asked for while it lives: told that it does; it dies: a new one comes by itself
    b.engine.say("NEED_SANDBOX", box)
    ats.equal(b.engine.expect("SANDBOX_ALIVE"), [box, generation, path])
    os.kill(hands.pid, signal.SIGKILL)
    ats.equal(b.engine.expect("SANDBOX_EXITED"), [box, generation, 0, 9])
    b.next("hands").hello()
    ats.equal(b.engine.expect("SANDBOX")[:3], [box, generation + 1, 0])


@ats.test("the engine may end a sandbox, by id and generation")
def _(home):
    b = Brain(home)
    box, generation, hands = b.sandbox()
    b.engine.say("KILL_SANDBOX", box, generation + 1)
    b.engine.say("KILL_SANDBOX", "b-000000000000", generation)
    ats.check(ats.alive(hands.pid))
    b.engine.say("KILL_SANDBOX", box, generation)
    ats.equal(b.engine.expect("SANDBOX_EXITED"), [box, generation, 0, 9])
    ats.check(not os.path.exists(os.path.join(home.run, "ats", "sb-%s.sock" % box)))
    b.engine.say("NEED_SANDBOX", box)
    b.next("hands").hello()
    ats.equal(b.engine.expect("SANDBOX")[1], generation + 1)


@ats.test("hands that cannot be started are an answer")
def _(home):
    b = Brain(home)
    os.unlink(os.path.join(b.bin, "ats-hands"))
    _, box = home.register()
    b.engine.say("NEED_SANDBOX", box)
    got = b.engine.expect("SANDBOX")
    ats.equal(got[2], 302)
    ats.contains(got[3], "ats-hands is neither")


@ats.test("an engine obtains no sandbox of nobody, and messages of others end it")
def _(home):
    b = Brain(home)
    for box in ("b-123456789012", "../../etc", "", "x" * 60000):
        b.engine.say("NEED_SANDBOX", box)
        got = b.engine.expect("SANDBOX")
        ats.equal((got[0], got[2]), (box, UNKNOWN_ID))
    ats.check(b.none_started("hands"))
    bad = [ats.Vault.pack("REGISTER", 1, "/etc", "x"), ats.Vault.pack("STARTED", 1, "b-1", 1, 0, ""),
           ats.Vault.pack("START_HANDS", 1, "b-123456789012", "/etc", 0, 1, ""),
           ats.Vault.pack("IDLE", 0, 1) + b"\0"]
    for data in bad:
        b.engine.order(raw=data.hex())
        ats.equal(ats.wait_gone([b.engine.pid], 10), [])
        b.engine = b.next("engine", {}).hello()
    ats.check(b.none_started("hands"))
    home.register()


@ats.test("a client that breaks the rules loses its connection only")
def _(home):
    b = Brain(home)
    good = home.vault()
    bad = [b"\xff" * 10, b"\0", ats.Vault.pack("ENGINE_READY", 1), ats.Vault.pack("STOP", 1),
           ats.Vault.pack("REGISTER", 1, home.ws, "k") + b"x", ats.Vault.pack("IDLE", 1, 1),
           ats.Vault.pack("REGISTER", 1, home.ws, "k")[:-1], b"\0\x28" + b"\xff" * 60000]
    for data in bad:
        v = home.vault()
        v.send_raw(data)
        ats.equal(v.recv(), None, repr(data[:40]))
    # descriptors where none belong
    v = home.vault()
    v.sock.sendmsg([ats.Vault.pack("VAULT_STATUS", 1)],
                   [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))])
    ats.equal(v.recv(), None)
    ats.equal(json.loads(good.ask("VAULT_STATUS")[0])["clients"], 1)
    ats.equal(b.engine.pid, b.status()["engine"]["pid"])


@ats.test("a client that does not read, and too many of them, are dropped")
def _(home):
    home.configure({"limits": {"vault_clients": 5}})
    b = Brain(home)
    v = home.vault()
    v.sock.settimeout(ats.TIMEOUT)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        while True:
            v.send_raw(ats.Vault.pack("VAULT_STATUS", 1))
    n = 0
    while v.recv() is not None:
        n += 1
    ats.check(n > 1 or ats.SHORT_IO)    # a reset may be told before what came
    many = [home.vault() for _ in range(5)]
    for m in many:
        m.ask("VAULT_STATUS")
    ats.equal(home.vault().recv(), None)
    many.pop().close()
    ats.until(lambda: Ask(home).ok(), "a place became free")
    ats.equal(b.proc.poll(), None)


class Ask:
    def __init__(self, home):
        self.v = ats.Vault(home.vault_path)

    def ok(self):
        try:
            return self.v.ask("VAULT_STATUS")
        except (ats.Failure, OSError):
            return None
        finally:
            self.v.close()


@ats.test("-n checks the configuration, and mistakes in it are named")
def _(home):
    def check(value):
        home.configure(value)
        return subprocess.run([ats.program("ats-brain"), "-n"], env=home.env, timeout=30,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    r = check("{} // nothing\n")
    path = os.path.join(home.config, "ats", "brain.json")
    ats.equal((r.returncode, r.stdout.decode()), (0, "configuration OK: %s\n" % path))
    os.unlink(path)
    r = subprocess.run([ats.program("ats-brain"), "-n"], env=home.env, timeout=30,
                       stdout=subprocess.PIPE)
    ats.equal((r.returncode, r.stdout.decode()),
              (0, "no configuration at %s: defaults\n" % path))
    rows = [('{"nope": 1}', "nope"), ('{"idle_exit_s": -1}', "idle_exit_s"),
            ('{"log_level": "loud"}', "log_level"), ('{"limits": {"calls": "x"}}', "limits.calls"),
            ('{"sandbox": {"read_only": ["/"]}}', "root directory"),
            ('{"sandbox": {"read_only": [%s]}}' % json.dumps(home.home), "home directory"),
            ('{"sandbox": {"read_only": [%s]}}' % json.dumps(home.state), "brain's own"),
            ('{"sandbox": {"read_only": ["/nonexistent"]}}', "/nonexistent"),
            ('{"sandbox": {"min_level": "any"}}', "sandbox.min_level"),
            ('{"sandbox": {"env": {"A": "b\\nc"}}}', "newline"), ("{", "brain.json")]
    for value, text in rows:
        r = check(value)
        ats.equal((r.returncode, r.stdout), (2, b""), value)
        ats.contains(r.stderr.decode(), text, value)
        ats.equal(r.stderr.count(b"\n"), 1)
    r = subprocess.run([ats.program("ats-brain"), "-n", "--config", "/nonexistent"], env=home.env,
                       stderr=subprocess.PIPE, timeout=30)
    ats.equal(r.returncode, 2)


ats.main()
