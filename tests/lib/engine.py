# SPDX-License-Identifier: Apache-2.0
"""The real ats-engine between a fake vault and scripted fake hands.

    e = Engine(home)                  starts it, sends SETTINGS, waits for ENGINE_READY
                                      (rules=[("deny", "Bash(rm:*)")]: and RULE for each)
    s, b = e.session()                registers a session; its sandbox has no hands yet
    d = e.door(s)                     a client that is attached
    h = e.hands(b)                    waits for NEED_SANDBOX, gives it a link, shakes hands
    f = h.call()                      the next call that the engine sent
    h.result(f, "text")               its answer
"""
import hashlib
import os
import socket
import subprocess
import time

import ats


class FakeHands(ats.Link):
    """Hands' end of a link; boot is what it calls itself."""

    def __init__(self, sock, boot):
        super().__init__(sock)
        self.boot = boot

    def hello(self):
        f = self.expect("control.hello")
        self.send("control.hello", 0, {
            "version_min": 1, "version_max": 1, "digest": f.json["digest"], "role": "hands",
            "boot": self.boot, "epoch": f.json["epoch"]})
        return f

    def ready(self, running=()):
        self.send("control.ready", 0, {"confinement": {"level": "test"},
                                       "running": list(running), "shells": []})

    def call(self, timeout=ats.TIMEOUT):
        """The next call of any kind; pings are answered, acks and cancels are skipped."""
        end = time.monotonic() + timeout
        while True:
            f = self.recv(end - time.monotonic())
            if f is None:
                raise ats.Failure("the link ended before a call")
            if f.name in ("call.tool", "call.exec", "call.validate"):
                return f
            if f.name == "control.ping":
                self.send("control.pong", 0, {"seq": f.json["seq"]})

    def result(self, call, text=b"", **members):
        """call: a Frame or a call id."""
        obj = {"outcome": "done"}
        obj.update(members)
        self.send("result", call if isinstance(call, int) else call.call, obj,
                  text if isinstance(text, bytes) else text.encode())


class Engine:
    def __init__(self, home, start=True, rules=(), **settings):
        self.home = home
        self.rules = rules
        self.settings = settings
        self.hooks = []         # the values of HOOK, for the next engine
        self.owed = []          # messages that the vault has for it, last
        self.runtime = os.path.join(home.run, "ats")
        self.state = os.path.join(home.state, "ats")
        self.dir = os.path.join(self.state, "engine")
        for d in (self.runtime, self.state, self.dir):
            os.makedirs(d, 0o700, exist_ok=True)
        self.door_path = os.path.join(self.runtime, "brain.sock")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.door_path)
        self.listener.listen(128)
        self.log_path = os.path.join(self.state, "brain.log")
        self.sessions = []
        self.listening = {}
        self.generation = {}
        self.inbox = []
        self.proc = None
        self.boots = 0
        self.doors = 0
        home.open_things.append(self)
        if start:
            self.start()

    # ---- the process

    def start(self, alive=(), slowly=False):
        """alive: sandbox ids whose listening socket (listen_for) is still there. slowly: the vault
        says nothing but its settings (and rules); the test says the rest."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with open(self.log_path, "ab") as log:
            self.proc = subprocess.Popen(
                [ats.program("ats-engine"), "--vault-fd", str(theirs.fileno()), "--door-fd",
                 str(self.listener.fileno())],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                env=ats.test_env(),
                pass_fds=(theirs.fileno(), self.listener.fileno()))
        theirs.close()
        self.vault = ours
        self.inbox = []
        self.tell("SETTINGS", "".join("%s=%s\n" % kv for kv in self.settings.items()), self.dir)
        for effect, rule in self.rules:
            self.tell("RULE", {"allow": 1, "ask": 2, "deny": 3}[effect], rule)
        for h in self.hooks:
            self.tell("HOOK", *h)
        if slowly:
            self.expect("ENGINE_READY")
            return
        for s in self.sessions:
            self.tell("SESSION", *s)
        for b in alive:
            self.tell("SANDBOX_ALIVE", b, self.generation.get(b, 1), self.listening[b][0])
        for m in self.owed:
            self.tell(*m)
        self.owed = []
        self.tell("ARE_YOU_THERE", 0)       # that was all: it opens its door
        self.expect("ENGINE_READY")
        for s in self.sessions:
            self.expect("SESSION_OK")

    def kill(self):
        self.proc.kill()
        self.proc.wait()
        self.vault.close()

    def restart(self, alive=()):
        self.kill()
        self.start(alive)

    def close(self):
        if self.proc and self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()
        if self.proc:
            self.vault.close()
        self.listener.close()
        for _, s in self.listening.values():
            s.close()

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    # ---- the vault's side

    def tell(self, name, *values, fds=()):
        data = ats.Vault.pack(name, 0, *values)
        if fds:
            socket.send_fds(self.vault, [data], list(fds))
        else:
            self.vault.send(data)

    def hear(self, timeout=ats.TIMEOUT):
        """The next (name, values) from the engine, None at the end. Arguments that came in a file
        are where they would be without it."""
        if self.inbox:
            return self.inbox.pop(0)
        ats.wait_readable(self.vault, timeout)
        try:
            data, fds, _, _ = socket.recv_fds(self.vault, 65536, 4)
        except ConnectionResetError:
            return None
        if not data:
            return None
        name, _, values = ats.Vault.unpack(data)
        for fd in fds:
            with os.fdopen(fd, "rb") as f:
                values[-1] += f.read().decode()
        if (name, values) == ("HERE", [0]):     # to the word of start() that this was all
            return self.hear(timeout)
        return name, values

    def expect(self, name, timeout=ats.TIMEOUT):
        """The values of the next message of that name; others are kept in order."""
        kept = []
        while True:
            m = self.hear(timeout)
            if m is None:
                raise ats.Failure("the engine ended before %s\n%s" % (name, self.log()))
            if m[0] == name:
                self.inbox = kept + self.inbox
                return m[1]
            kept.append(m)

    def heard(self):
        """The engine has read all that it was told."""
        self.tell("ARE_YOU_THERE", 1)
        self.expect("HERE")

    def session(self, key="test", uid=None, workspace=None):
        """(session id, sandbox id)."""
        uid = os.getuid() if uid is None else uid
        workspace = workspace or self.home.ws
        h = hashlib.sha256(("%d %s" % (uid, workspace)).encode()).hexdigest()[:12]
        s = "s-" + hashlib.sha256((h + key).encode()).hexdigest()[:12]
        row = (s, "b-" + h, uid, workspace, key)
        self.sessions.append(row)
        self.tell("SESSION", *row)
        code = self.expect("SESSION_OK")[1]
        ats.equal(code, 0, "SESSION_OK")
        return s, row[1]

    def door(self, session=None, client=None):
        """client: the nonce; a new one for each door unless given."""
        d = ats.Door(self.door_path)
        self.doors += 1
        client = client or "n%d" % self.doors
        self.home.open_things.append(d)
        if session:
            d.request("ats/session.attach", {"session": session, "client": client})
        return d

    def need(self, box):
        ats.equal(self.expect("NEED_SANDBOX"), [box])

    def give(self, box, pair=None, address=""):
        """Answers NEED_SANDBOX; the link is not ready yet. address: it wants proof."""
        ours, theirs = pair or socket.socketpair()
        self.generation[box] = self.generation.get(box, 0) + 1
        self.tell("SANDBOX", box, self.generation[box], 0, "", address, fds=[theirs.fileno()])
        theirs.close()
        self.boots += 1
        h = FakeHands(ours, "boot%d" % self.boots)
        self.home.open_things.append(h)
        return h

    def hands(self, box, need=True):
        if need:
            self.need(box)
        h = self.give(box)
        h.hello()
        h.ready()
        return h

    def exited(self, box):
        self.tell("SANDBOX_EXITED", box, self.generation[box], 0, 9)

    def lose(self, h, box):
        """Hands ends as by kill -9."""
        h.close()
        self.expect("KILL_SANDBOX")
        self.exited(box)

    def listen_for(self, box):
        """The socket on which a restarted engine finds these hands."""
        path = os.path.join(self.runtime, "sb-%s.sock" % box)
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.bind(path)
        s.listen(4)
        self.listening[box] = (path, s)

    def accept(self, box, boot, running=()):
        """The engine that resumed: its new link, ready."""
        ats.wait_readable(self.listening[box][1], ats.TIMEOUT)
        sock, _ = self.listening[box][1].accept()
        h = FakeHands(sock, boot)
        self.home.open_things.append(h)
        h.hello()
        h.ready(running)
        return h

    # ---- what it uses

    def check_memory(self, max_kb):
        with open("/proc/%d/status" % self.proc.pid, encoding="ascii") as f:
            kb = int(f.read().split("VmRSS:")[1].split()[0])
        ats.small(kb, max_kb, "kB of the engine")


def as_user(uid, fn):
    """Runs fn in a child of another uid; returns its text. Root only."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(r)
            os.setgid(uid)
            os.setuid(uid)
            os.write(w, str(fn()).encode())
            code = 0
        except BaseException as e:  # the child must end here, whatever happens
            os.write(w, ("failed: %r" % e).encode())
        finally:
            os._exit(code)
    os.close(w)
    out = b""
    while True:
        data = os.read(r, 65536)
        if not data:
            break
        out += data
    os.close(r)
    os.waitpid(pid, 0)
    return out.decode()


def up(home, client=None, **settings):
    """One with a session, a door and a sandbox: (engine, session id, sandbox id, door, hands). With
    client, the nonce of the door, the next engine will find the sandbox, too."""
    e = Engine(home, **settings)
    s, b = e.session()
    if client:
        e.listen_for(b)
    d = e.door(s, client)
    return e, s, b, d, e.hands(b)
