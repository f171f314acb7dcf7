#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ats-brain under a service manager: sockets by LISTEN_FDS, readiness by NOTIFY_SOCKET. The
manager is played by this test; the units themselves are read by systemd-analyze where it is."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import ats  # noqa: E402

import far  # noqa: E402

# Keys of ours that older managers do not know and say so, with the version that knows them.
SINCE = {b"DelegateSubgroup": 254}
# Three users of a brain of the system, none of which is anybody here.
VAULT, ENGINE, CLIENT, OTHER = 64021, 64022, 64023, 64024
SYSTEM = ("ats-brain.service", "ats-brain.socket", "ats-engine.service", "ats-engine.socket",
          "ats-hands@.service")


def listeners(runtime, names=("brain.sock", "vault.sock")):
    os.makedirs(runtime, mode=0o700, exist_ok=True)
    out = []
    for name in names:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM if name == "brain.sock" else
                          socket.SOCK_SEQPACKET)
        s.bind(os.path.join(runtime, name))
        s.listen(16)
        out.append(s)
    return out


class Manager:
    """What systemd is to a service: descriptors from 3 on, and a place to be told things."""

    def __init__(self, home, name="notify"):
        self.home = home
        self.path = os.path.join(home.dir, name)
        self.said = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.said.bind(self.path)
        os.chmod(self.path, 0o777)
        self.said.settimeout(10)
        self.proc = None

    def start(self, program, *args, socks=(), names="", prefix=(), **env):
        """Execs the program with LISTEN_PID, and WATCHDOG_PID, of its process."""
        def child():
            # Out of the way first: they may stand where another must go.
            high = [os.dup2(s.fileno(), 100 + i) for i, s in enumerate(socks)]
            for i, fd in enumerate(high):
                os.dup2(fd, 3 + i)
        code = ('import os, sys; me = str(os.getpid()); os.environ["LISTEN_PID"] = me; '
                'os.environ["WATCHDOG_PID"] = me; os.execvp(sys.argv[1], sys.argv[1:])')
        full = dict(self.home.env, NOTIFY_SOCKET=self.path, LISTEN_FDS=str(len(socks)),
                    LISTEN_FDNAMES=names, **env)
        self.proc = subprocess.Popen(
            [sys.executable, "-c", code, *prefix, ats.program(program), *args], env=full,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            preexec_fn=child, pass_fds=[3 + i for i in range(len(socks))])
        return self.proc

    def hears(self, word):
        """The next word but signs of life, or the next sign of life."""
        while True:
            said = self.said.recv(100)
            if said == word:
                return
            ats.equal(said, b"WATCHDOG=1\n", "instead of %r" % word)

    def close(self):
        if self.proc is not None:
            if self.proc.poll() is None:
                self.proc.kill()
            self.proc.wait()
            self.proc.stderr.close()
        self.said.close()


@ats.test("sockets of the manager are served, and kept when brain ends; it hears of ready and stop")
def _(home):
    runtime = os.path.join(home.env["XDG_RUNTIME_DIR"], "ats")
    socks = listeners(runtime)
    m = Manager(home)
    try:
        p = m.start("ats-brain", "--foreground", socks=socks)
        ats.equal(m.said.recv(100), b"READY=1\n")
        r = home.ctl("--no-start", "exec", "--", "sh", "-c", "echo served; env", code=0)
        ats.contains(r.stdout, b"served\n")
        for word in (b"NOTIFY_SOCKET", b"LISTEN_", b"WATCHDOG_"):
            ats.missing(r.stdout, word)
        # The spawner is a fork: what it was started with stands there, too.
        looked = 0
        for pid in [x for x in ats.descendants(p.pid) if "ats-brain" not in ats.cmdline(x)]:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):    # a worker ends
                with open("/proc/%d/environ" % pid, "rb") as f:
                    ats.missing(f.read(), b"NOTIFY_SOCKET=/", ats.cmdline(pid))
                looked += 1
        ats.check(looked > 3, looked)
        home.ctl("shutdown")
        ats.equal(m.said.recv(100), b"STOPPING=1\n")
        p.wait(10)
        ats.equal(p.returncode, 0)
        ats.equal(sorted(x for x in os.listdir(runtime) if x in ("brain.sock", "vault.sock")),
                  ["brain.sock", "vault.sock"])
    finally:
        m.close()
        for s in socks:
            s.close()


class Journal:
    """What journald is to a service: the other end of its standard error."""

    def __init__(self):
        self.ours, self.theirs = socket.socketpair()
        st = os.fstat(self.theirs.fileno())
        self.stream = "%d:%d" % (st.st_dev, st.st_ino)

    def lines(self):
        """All there is, once nobody else holds the other end."""
        self.theirs.close()
        self.ours.settimeout(20)
        with self.ours, self.ours.makefile("rb") as f:
            return f.read().decode().splitlines()


PRIORITY = {"error": "<3>", "warn": "<4>", "info": "<6>", "debug": "<7>"}


def check_priorities(lines, *procs):
    seen = set()
    for line in lines:
        m = re.match(r"(<\d>|)ts=\d+\.\d{3} level=(\w+) proc=(\w+) ", line)
        ats.check(m, line)
        ats.equal(m[1], PRIORITY[m[2]], line)
        seen.add(m[3])
    ats.equal(seen, set(procs))


@ats.test("to the journal each line says its priority, whichever process writes it")
def _(home):
    j = Journal()
    token = os.path.join(home.dir, "token")
    with open(os.open(token, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as f:
        f.write("0" * 64)
    home.configure({"log_level": "debug", "http": {
        "listen": ["unix:" + home.dir + "/http.sock"], "workspace": home.ws,
        "token_file": token},
        "gateways": {"say": {"kind": "command", "tools": {"it": {
            "description": "x", "input": {"type": "object"}, "read_only": True,
            "argv": ["/bin/sh", "-c", "env; echo words >&2"]}}}}})
    p = home.popen(ats.program("ats-brain"), "--foreground", stdin=subprocess.DEVNULL,
                   env=dict(home.env, JOURNAL_STREAM=j.stream), stdout=subprocess.DEVNULL,
                   stderr=j.theirs)
    ats.until(lambda: os.path.exists(home.door_path), "brain's door")
    home.ctl("exec", "--", "true", code=0)
    ats.missing(home.ctl("gateway", "call", "say__it", "{}", code=0).stdout, b"JOURNAL_STREAM")
    home.ctl("shutdown", code=0)
    p.wait(20)
    check_priorities(j.lines(), "vault", "engine", "http", "gateway")
    # A sandbox's own log is a file.
    (log,) = [os.path.join(x, "hands.log") for x, _, y in os.walk(home.state) if "hands.log" in y]
    with open(log, encoding="utf-8") as f:
        ats.matches(f.read(), r"\Ats=")


@ats.test("hands of a unit say their priority, each role; so does what is misused")
def _(home):
    j = Journal()
    env = dict(home.env, JOURNAL_STREAM=j.stream)
    path = home.dir + "/h.sock"
    home.configure({"sandbox": {"url": "unix:" + path}})
    p = home.popen(ats.program("ats-hands"), "--listen", "unix:" + path, "--workspace", home.ws,
                   stdin=subprocess.DEVNULL, env=env, stderr=j.theirs)
    ats.until(lambda: os.path.exists(path), "hands' socket")
    ats.missing(home.ctl("exec", "--", "env", code=0).stdout, b"JOURNAL_STREAM")
    home.ctl("shutdown", code=0)
    (init,) = [x for x, up in ats.parents().items() if up == p.pid]

    def zygotes():
        return {x for x, up in ats.parents().items() if up == init and "zygote" in ats.cmdline(x)}
    before = zygotes()
    os.kill(min(before), signal.SIGKILL)    # init says so before it starts the next one
    ats.until(lambda: len(zygotes()) == len(before) and zygotes() != before, "another zygote")
    p.terminate()
    p.wait(20)
    check_priorities(j.lines(), "init", "front")

    j = Journal()
    env = dict(home.env, JOURNAL_STREAM=j.stream)
    p = subprocess.Popen([ats.program("ats-hands"), "--listen", "unix:" + home.dir + "/h.sock",
                          "--workspace", home.ws, "--option", "nonsense=1"],
                         stdin=subprocess.DEVNULL, env=env, stderr=j.theirs)
    ats.equal(p.wait(20), 2)
    for words in (["ats-http", "--port", "1"], ["ats-brain", "word"]):
        subprocess.run([ats.program(words[0]), *words[1:]], stdin=subprocess.DEVNULL, env=env,
                       stderr=j.theirs, check=False)
    said = "\n".join(j.lines())
    for name in ("ats-hands", "ats-brain"):
        ats.matches(said, r"(?m)^<3>%s: " % name)


def stopped(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii") as f:
        return f.read().rpartition(")")[2].split()[0] == "T"


def drain(sock):
    try:
        while True:
            sock.recv(100)
    except BlockingIOError:
        pass


@ats.test("the watchdog hears of brain at half its time, and no more when the vault hangs")
def _(home):
    m = Manager(home)
    try:
        p = m.start("ats-brain", "--foreground", WATCHDOG_USEC="400000")
        m.hears(b"READY=1\n")
        for _ in range(3):
            m.hears(b"WATCHDOG=1\n")
        os.kill(p.pid, signal.SIGSTOP)
        m.said.setblocking(False)
        ats.until(lambda: stopped(p.pid), "it is stopped")
        drain(m.said)
        m.said.settimeout(0.8)
        try:
            m.said.recv(100)
        except TimeoutError:
            pass
        else:
            raise ats.Failure("a stopped vault says that it lives")
        os.kill(p.pid, signal.SIGCONT)
        m.said.settimeout(10)
        m.hears(b"WATCHDOG=1\n")
        p.terminate()
        m.hears(b"STOPPING=1\n")
        ats.equal(p.wait(20), 0)
    finally:
        m.close()


@ats.test("another's watchdog, or no number, is none")
def _(home):
    for env in ({"WATCHDOG_USEC": "20000", "WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "20ms"}):
        m = Manager(home)
        try:
            # Manager sets WATCHDOG_PID by itself; what is wanted here comes after it.
            prefix = ["env"] + ["%s=%s" % x for x in env.items()]
            p = m.start("ats-brain", "--foreground", prefix=prefix)
            m.hears(b"READY=1\n")
            p.terminate()
            ats.equal(m.said.recv(100), b"STOPPING=1\n")
            ats.equal(p.wait(20), 0)
        finally:
            m.close()
        os.unlink(m.path)


@ats.test("a credential that the manager loaded is read, one that it did not is named")
def _(home):
    d = os.path.join(home.dir, "credentials")
    os.mkdir(d, 0o700)
    with open(os.path.join(d, "token"), "w", encoding="ascii",
              opener=lambda p, f: os.open(p, f, 0o400)) as f:
        f.write("sesame\n")
    home.configure({"credentials": {"it": {"systemd": "token"}, "no": {"systemd": "other"}}})
    m = Manager(home)
    try:
        p = m.start("ats-brain", "--foreground", CREDENTIALS_DIRECTORY=d)
        m.hears(b"READY=1\n")
        home.ctl("--no-start", "credential", "test", "it", code=0)
        r = home.ctl("--no-start", "credential", "test", "no", code=1)
        ats.contains(r.stdout + r.stderr, b"other")
        ats.missing(r.stdout + r.stderr, b"sesame")
        p.terminate()
        ats.equal(p.wait(20), 0)
    finally:
        m.close()


@ats.test("other descriptors than the two sockets are refused by name")
def _(home):
    runtime = os.path.join(home.env["XDG_RUNTIME_DIR"], "ats")
    socks = listeners(runtime)
    for given in (socks[:1], [socks[0], socks[0]]):
        m = Manager(home)
        p = m.start("ats-brain", "--foreground", socks=given)
        err = p.communicate(timeout=10)[1]
        ats.equal(p.returncode, 1)
        ats.check(b"socket activation" in err, err)
        m.close()
        os.unlink(m.path)
    for s in socks:
        s.close()


# ---- a brain of the system: vault, engine and clients are three users -------------------------

def as_user(uid, *groups):
    more = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), *more, "--"]


def system_places(home):
    """Directories as the packages make them, and what clients of two users need."""
    if os.geteuid() != 0:
        ats.skip("only root can be a service manager of several users")
    os.chmod(home.dir, 0o755)
    places = {}
    for name, uid, mode in (("runtime", VAULT, 0o755), ("vault", VAULT, 0o700),
                            ("engine", ENGINE, 0o700)):
        places[name] = os.path.join(home.dir, "sys-" + name)
        os.mkdir(places[name], mode)
        os.chown(places[name], uid, uid)
    places["config"] = os.path.join(home.dir, "brain.json")
    return places


class System:
    def __init__(self, home, hands_socket):
        self.home = home
        self.at = system_places(home)
        with open(self.at["config"], "w", encoding="utf-8") as f:
            json.dump({"sandbox": {"url": "unix:" + hands_socket}, "idle_exit_s": 0}, f)
        self.socks = listeners(self.at["runtime"], ("brain.sock", "vault.sock", "engine.sock"))
        for s in self.socks:
            os.chmod(s.getsockname(), 0o666)        # groups are not what is tested here
        self.brain, self.engine = Manager(home, "n-brain"), Manager(home, "n-engine")

    def start_brain(self):
        self.brain.start("ats-brain", "--foreground", "--system", "--engine-user", str(ENGINE),
                         "--runtime", self.at["runtime"], "--state", self.at["vault"],
                         "--config", self.at["config"], socks=self.socks,
                         names="ats-brain.socket:ats-brain.socket:engine", prefix=as_user(VAULT),
                         WATCHDOG_USEC="2000000")

    def start_engine(self, uid=ENGINE, **env):
        self.engine.start("ats-engine", "--connect", self.at["runtime"] + "/engine.sock",
                          "--state", self.at["engine"], prefix=as_user(uid), **env)

    def ctl(self, uid, *args, **kw):
        env = dict(self.home.env, XDG_RUNTIME_DIR=self.home.dir)
        argv = as_user(uid) + [ats.program("atsctl"), "--socket",
                               self.at["runtime"] + "/brain.sock", *args]
        r = subprocess.run(argv, env=env, cwd="/", stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
        ats.equal(r.returncode, kw.get("code", 0), r.stderr)
        return r

    def close(self):
        self.brain.close()
        self.engine.close()
        for s in self.socks:
            s.close()


@ats.test("a brain of the system: vault and engine are users of their own, and clients only see theirs")
def _(home):
    os.chmod(home.run, 0o711)
    hands = far.Far(home, "--allow-uid", str(VAULT))
    s = System(home, hands.path)
    try:
        # The engine may come first: the manager's socket holds it.
        s.start_engine(WATCHDOG_USEC="400000")
        s.engine.hears(b"WATCHDOG=1\n")
        s.start_brain()
        s.brain.hears(b"READY=1\n")
        s.engine.hears(b"READY=1\n")
        for p, uid in ((s.brain.proc, VAULT), (s.engine.proc, ENGINE)):
            with open("/proc/%d/status" % p.pid, encoding="ascii") as f:
                ids = [x.split() for x in f if x.startswith(("Uid:", "CapEff:", "NoNewPrivs:"))]
            ats.equal(ids[0][1:], [str(uid)] * 4)
        ats.equal(ids[1:], [["CapEff:", "0" * 16], ["NoNewPrivs:", "1"]])
        ats.equal(os.stat(s.at["engine"] + "/journal.db").st_uid, ENGINE)
        r = s.ctl(CLIENT, "exec", "--workspace", home.ws, "--", "echo", "from the sandbox")
        ats.equal(r.stdout, b"from the sandbox\n")
        one = json.loads(s.ctl(CLIENT, "--json", "session", "ls").stdout)["sessions"]
        ats.equal(len(one), 1)
        ats.equal(json.loads(s.ctl(OTHER, "--json", "session", "ls").stdout)["sessions"], [])
        ats.contains(s.ctl(OTHER, "inspect", one[0]["id"], code=1).stderr, b"unknown id")
        # Root neither, but is told whom to ask; what nobody has is unknown to root, too.
        box = json.loads(s.ctl(CLIENT, "--json", "sandbox", "ls").stdout)["sandboxes"][0]["id"]
        says = b"it is of uid %d, and each user's are that user's alone: ask as that user" % CLIENT
        for words in (("inspect", box), ("sandbox", "upgrade", box), ("sandbox", "kill", box),
                      ("sandbox", "restart", box), ("sandbox", "logs", box),
                      ("session", "show", one[0]["id"]), ("session", "close", one[0]["id"])):
            ats.contains(s.ctl(0, *words, code=1).stderr, says)
            ats.missing(s.ctl(OTHER, *words, code=1).stderr, b"uid", words)
            ats.contains(s.ctl(0, *words[:-1], words[-1][:2] + "f" * 12, code=1).stderr,
                         b"unknown id")
        ats.contains(s.ctl(0, "sandbox", "upgrade", code=1).stderr, b"none is root's")
        ats.contains(s.ctl(OTHER, "sandbox", "upgrade", code=1).stderr, b"there is no sandbox")
        seen = json.loads(s.ctl(OTHER, "--json", "status").stdout)
        ats.equal(seen["vault"]["sandboxes"], [])
        ats.equal(len(json.loads(s.ctl(CLIENT, "--json", "status").stdout)["vault"]["sandboxes"]), 1)
        ats.contains(s.ctl(OTHER, "shutdown", code=1).stderr, b"only root may")
        # The engine's user is no client: what a sandbox breaks into cannot register a thing.
        r = s.ctl(ENGINE, "session", "new", "--workspace", "/srv/x", code=1)
        ats.contains(r.stderr, b"belongs to another user")
        # Nor is who is not in the group of the socket, and hears that, not that nobody is there.
        os.chmod(s.at["runtime"] + "/vault.sock", 0o600)
        r = s.ctl(CLIENT, "exec", "--workspace", home.ws, "--", "true", code=125)
        ats.matches(r.stderr, rb"vault\.sock: connect: Permission denied; members of the socket's")
        os.chmod(s.at["runtime"] + "/vault.sock", 0o666)
        # Another user at engine.sock is no engine, also while none is there.
        s.engine.proc.kill()
        s.engine.proc.wait()
        s.engine.proc.stderr.close()
        s.start_engine(uid=OTHER)
        ats.equal(s.engine.proc.wait(20), 1)
        ats.contains(s.engine.proc.stderr.read(), b"brain does not take us")
        s.engine.proc.stderr.close()
        s.start_engine()
        s.engine.hears(b"READY=1\n")
        r = s.ctl(CLIENT, "exec", "--workspace", home.ws, "--", "echo", "again")
        ats.equal(r.stdout, b"again\n")
        s.brain.proc.terminate()
        s.brain.hears(b"STOPPING=1\n")         # and not READY=1 once more
        ats.equal((s.brain.proc.wait(20), s.engine.proc.wait(20)), (0, 0))
    finally:
        s.close()
        hands.kill()


@ats.test("an engine that hangs loses its link, and the next one of the manager is taken")
def _(home):
    os.chmod(home.run, 0o711)
    hands = far.Far(home, "--allow-uid", str(VAULT))
    s = System(home, hands.path)
    try:
        s.start_brain()
        s.start_engine(WATCHDOG_USEC="400000")
        s.engine.hears(b"READY=1\n")
        s.brain.hears(b"READY=1\n")
        first = s.engine.proc
        os.kill(first.pid, signal.SIGSTOP)
        second = Manager(home, "n-second")
        s.engine, old = second, s.engine
        # The manager's watchdog would kill it now.
        first.kill()
        first.wait()
        s.start_engine()
        second.hears(b"READY=1\n")
        ats.equal(s.ctl(CLIENT, "exec", "--workspace", home.ws, "--", "echo", "on").stdout, b"on\n")
        s.brain.proc.terminate()
        ats.equal((s.brain.proc.wait(20), second.proc.wait(20)), (0, 0))
        old.close()
    finally:
        s.close()
        hands.kill()


@ats.test("a brain of the system without sandboxes elsewhere, or with a strange engine, does not start")
def _(home):
    at = system_places(home)
    argv = ("--system", "--runtime", at["runtime"], "--state", at["vault"], "--config", at["config"])
    m = Manager(home)
    try:
        with open(at["config"], "w", encoding="ascii") as f:
            f.write("{}")
        err = m.start("ats-brain", *argv, prefix=as_user(VAULT)).communicate(timeout=10)[1]
        ats.contains(err, b"a brain of the system starts no sandboxes")
        ats.equal(m.proc.returncode, 2)         # which the unit does not try again
        # Its configuration is anybody's to look at: no directory is needed, and none is made.
        look = argv[:1] + ("-n", "--runtime", home.dir + "/no", "--state", home.dir + "/none",
                           "--config", at["config"])
        for prefix in ((), as_user(CLIENT)):
            err = m.start("ats-brain", *look, prefix=prefix).communicate(timeout=10)[1]
            ats.contains(err, b"a brain of the system starts no sandboxes")
            ats.equal(m.proc.returncode, 2)
        with open(at["config"], "w", encoding="ascii") as f:
            f.write('{"sandbox": {"url": "unix:/run/x.sock"}}')
        for prefix in ((), as_user(CLIENT)):
            err = m.start("ats-brain", *look, prefix=prefix).communicate(timeout=10)[1]
            ats.equal((m.proc.returncode, err), (0, b"ats-brain: sandbox.url: unix:/run/x.sock\n"))
        ats.equal([os.path.exists(home.dir + x) for x in ("/no", "/none")], [False, False])
        with open(at["config"], "w", encoding="ascii") as f:
            f.write('{"sandbox": {"url": 1}}')
        err = m.start("ats-brain", *argv, prefix=as_user(VAULT)).communicate(timeout=10)[1]
        ats.matches(err, rb"level=error.*url")
        ats.equal(m.proc.returncode, 2)
        err = m.start("ats-brain", *argv, "--engine-user", "no-such-user",
                      prefix=as_user(VAULT)).communicate(timeout=10)[1]
        ats.contains(err, b"there is no such user")
        os.chmod(at["runtime"], 0o777)
        err = m.start("ats-brain", *argv, prefix=as_user(VAULT)).communicate(timeout=10)[1]
        ats.contains(err, b"open to others")
        err = m.start("ats-engine", "--connect", "/x").communicate(timeout=10)[1]
        ats.contains(err, b"--connect and an absolute --state go together")
    finally:
        m.close()


# ---- the units ---------------------------------------------------------------------------------

def installed(home):
    """A root that the units are installed in, with the manager's own."""
    if not shutil.which("systemd-analyze"):
        ats.skip("no systemd-analyze here")
    root = os.path.join(home.dir, "root")
    r = subprocess.run(["make", "-s", "-C", ats.TOP, "-o", "all", "install", "BUILD=" + ats.BUILD,
                        "DESTDIR=" + root, "PREFIX=/usr"], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, check=False)
    ats.equal(r.returncode, 0, r.stdout)
    for name in os.listdir("/usr/lib/systemd/system"):
        to = os.path.join(root, "usr/lib/systemd/system", name)
        if name.endswith((".target", ".slice")) and not os.path.exists(to):
            shutil.copyfile(os.path.join("/usr/lib/systemd/system", name), to)
    return root


def analyze(home, *args):
    r = subprocess.run(["systemd-analyze", "--no-pager", *args], env=home.env, check=False,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return r.returncode, r.stdout


@ats.test("the units are what systemd reads, without a complaint")
def _(home):
    root = installed(home)
    version = subprocess.run(["systemd-analyze", "--version"], stdout=subprocess.PIPE).stdout
    too_new = [key for key, since in SINCE.items() if int(version.split()[1]) < since]
    at = os.path.join(root, "usr/lib/systemd")
    for unit in SYSTEM:
        code, said = analyze(home, "--root=" + root, "--man=no", "verify",
                             os.path.join(at, "system", unit.replace("@.", "@x.")))
        ats.equal((code, said), (0, b""), unit)
    with open(os.path.join(at, "system/ats-engine.service"), "a", encoding="ascii") as f:
        f.write("[Service]\nNoSuchKey=1\n")
    ats.contains(analyze(home, "--root=" + root, "--man=no", "verify",
                         at + "/system/ats-engine.service")[1], b"NoSuchKey")
    said = analyze(home, "--man=no", "--user", "verify", at + "/user/ats-brain.socket",
                   at + "/user/ats-brain.service")[1]
    # Programs are looked for on this machine, where they need not be.
    ats.equal([x for x in said.splitlines() if (b"ats-" in x or b"Failed" in x) and
               b"is not executable" not in x and
               not any(b"Unknown key '%s'" % key in x for key in too_new)], [])


@ats.test("what systemd-analyze security says of the units only falls")
def _(home):
    root = installed(home)
    for unit, most in (("ats-brain.service", 1.5), ("ats-engine.service", 0.7),
                       ("ats-hands@.service", 3.0)):
        code, said = analyze(home, "security", "--offline=yes",
                             os.path.join(root, "usr/lib/systemd/system", unit))
        score = re.search(rb"Overall exposure level for \S+: ([0-9.]+)", said)
        ats.check(score, said)
        ats.check(float(score.group(1)) <= most, said)


@ats.test("users and directories of the units are made by sysusers and tmpfiles")
def _(home):
    if not shutil.which("systemd-sysusers") or os.geteuid() != 0:
        ats.skip("no systemd-sysusers here, or not root")
    root = installed(home)
    os.makedirs(root + "/etc", exist_ok=True)
    r = subprocess.run(["systemd-sysusers", "--root=" + root, "ats-brain.conf", "ats-hands.conf"],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    ats.equal(r.returncode, 0, r.stdout)
    with open(root + "/etc/passwd", encoding="ascii") as f:
        users = {x.split(":")[0]: x.split(":")[2] for x in f}
    with open(root + "/etc/group", encoding="ascii") as f:
        ats.check("ats" in [x.split(":")[0] for x in f])
    wanted = set()
    for unit in SYSTEM:
        with open(os.path.join(root, "usr/lib/systemd/system", unit), encoding="ascii") as f:
            wanted |= {x.strip()[5:] for x in f if x.startswith("User=")}
    ats.equal(sorted(wanted), sorted(users))
    r = subprocess.run(["systemd-tmpfiles", "--root=" + root, "--create", "ats-brain.conf"],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    ats.equal(r.returncode, 0, r.stdout)
    st = os.stat(root + "/run/ats")
    ats.equal((st.st_mode & 0o7777, str(st.st_uid)), (0o755, users["ats-brain"]))


if __name__ == "__main__":
    ats.main()
