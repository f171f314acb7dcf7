# SPDX-License-Identifier: Apache-2.0
"""Helpers for system tests: TAP, private directories, the programs, and clients for each door.

A test file:

    import os, sys
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
    import ats

    @ats.test("read after write gives the text")
    def _(home):
        mcp = home.mcp()
        mcp.initialize()
        ats.equal(mcp.text("Write", file_path="a", content="x\\n"), ...)

    ats.main()

Each test gets a Home with directories of its own. When it ends, the brain is shut down and
every process that it left is found and killed: one left over fails the test. Nothing here
sleeps to wait: descriptors, pidfds and deadlines only.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback

# Tests use these as ats.NAME.
from ats_base import (
    TOP, BUILD, TIMEOUT, OTHER_UID, test_env, program, Skip, Failure, skip, check, equal,
    contains, some, rounds, QUICK, PARTLY, WHOLLY, SANITIZED, SHORT_IO, small, missing, matches, alive,
    parents, paused, descendants, cmdline, comm, memory, find, pidfd, wait_gone, until,
    kill_at_once, set_immutable)
from ats_rpc import MCP_KEY, MODERN, RpcError, Rpc, modern_meta, wait_readable, Door, Mcp
from ats_wire import def_rows, def_string, Vault, VaultError, Frame, Link, Hands


# ---- TAP -----------------------------------------------------------------------------------

_tests = []


def test(name, home=True, users=False, long=None):
    """Registers a test. With home it is called with a Home, else without arguments. With users
    it runs once more with a Home whose programs belong to an ordinary user. long: WHOLLY is no part
    of make check; PARTLY is a short form there (rounds()), and runs in its long form in the rest."""
    def register(fn):
        for uid in some((None, OTHER_UID) if users else (None,), long):
            who = "" if uid is None else ", as uid %d" % uid
            _tests.append((name + who, fn, home, uid))
        return fn
    return register


def case(name, fn, home=True):
    """Registers one of several that some() chose."""
    _tests.append((name, fn, home, None))


def _diag(text):
    for line in str(text).splitlines():
        print("# %s" % line)


def _run_one(fn, wants_home, uid):
    if not wants_home:
        fn()
        return
    if uid is not None and os.geteuid() != 0:
        skip("only root can become another user")
    if uid is not None and not shutil.which("setpriv"):
        skip("no setpriv")
    home = Home(uid)
    try:
        fn(home)
    except Skip:
        raise
    except Exception:
        home.show_log()
        raise
    finally:
        left = home.close()
    if left:
        raise Failure("left over: %s" % "\n".join(left))


def main():
    """Runs the registered tests (or those whose number or text is an argument), prints TAP."""
    wanted = sys.argv[1:]
    failed = 0
    print("1..%d" % len(_tests))
    for i, (name, fn, wants_home, uid) in enumerate(_tests, 1):
        if wanted and not any(w == str(i) or w in name for w in wanted):
            print("ok %d - %s # SKIP not asked for" % (i, name))
            continue
        start = time.monotonic()
        try:
            _run_one(fn, wants_home, uid)
            print("ok %d - %s" % (i, name))
        except Skip as e:
            print("ok %d - %s # SKIP %s" % (i, name, e))
        except Failure as e:
            failed += 1
            print("not ok %d - %s" % (i, name))
            _diag(e)
            _diag(traceback.format_exc().splitlines()[-4:-1])
        except Exception:
            failed += 1
            print("not ok %d - %s" % (i, name))
            _diag(traceback.format_exc())
        if os.environ.get("ATS_SLOWEST"):
            print("# took %.2f s: %s" % (time.monotonic() - start, name))
        sys.stdout.flush()
    sys.exit(1 if failed else 0)


# ---- private directories and the brain -------------------------------------------------------

class Home:
    """Directories of one test, and the brain that runs with them.

    dir/run (XDG_RUNTIME_DIR), dir/state, dir/config, dir/home (HOME), dir/ws (workspace).
    With a uid the directories belong to it, and atsctl (ctl, mcp) runs as that user."""

    def __init__(self, uid=None):
        self.uid = uid
        self.prefix = [] if uid is None else [
            "setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "--"]
        self.dir = tempfile.mkdtemp(prefix="ats.")
        self.run = os.path.join(self.dir, "run")
        self.state = os.path.join(self.dir, "state")
        self.config = os.path.join(self.dir, "config")
        self.home = os.path.join(self.dir, "home")
        self.ws = os.path.join(self.dir, "ws")
        for d in (self.run, self.state, self.config, self.home, self.ws):
            os.mkdir(d, 0o700)
        if uid is not None:
            for d in (self.dir, self.run, self.state, self.config, self.home, self.ws):
                os.chown(d, uid, uid)
        self.env = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": self.home,
            "USER": os.environ.get("USER", "user"),
            "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": self.run,
            "XDG_STATE_HOME": self.state,
            "XDG_CONFIG_HOME": self.config,
        }
        self.env.update(test_env())
        self.open_things = []

    # paths
    @property
    def door_path(self):
        return os.path.join(self.run, "ats", "brain.sock")

    @property
    def vault_path(self):
        return os.path.join(self.run, "ats", "vault.sock")

    @property
    def log_path(self):
        return os.path.join(self.state, "ats", "brain.log")

    def write(self, name, data, mode=None):
        """A file of the workspace; returns its absolute path."""
        path = os.path.join(self.ws, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
        if mode is not None:
            os.chmod(path, mode)
        if self.uid is not None:
            top = os.path.dirname(path)
            while len(top) > len(self.ws):
                os.chown(top, self.uid, self.uid)
                top = os.path.dirname(top)
            os.chown(path, self.uid, self.uid)
        return path

    def read(self, name):
        with open(os.path.join(self.ws, name), "rb") as f:
            return f.read()

    def configure(self, value):
        """Writes brain.json (an object, or text)."""
        d = os.path.join(self.config, "ats")
        os.makedirs(d, 0o700, exist_ok=True)
        with open(os.path.join(d, "brain.json"), "w", encoding="utf-8") as f:
            f.write(value if isinstance(value, str) else json.dumps(value))
        if self.uid is not None:
            os.chown(d, self.uid, self.uid)
            os.chown(f.name, self.uid, self.uid)

    # programs
    def popen(self, *argv, **kw):
        kw.setdefault("env", self.env)
        kw.setdefault("cwd", self.ws)
        p = subprocess.Popen(list(argv), **kw)
        self.open_things.append(p)
        return p

    def ctl(self, *args, input=b"", timeout=TIMEOUT, code=None, cwd=None, env=None):
        """Runs atsctl; result has returncode, stdout, stderr (bytes). code: what is expected."""
        if isinstance(input, str):
            input = input.encode()
        e = dict(self.env)
        e.update(env or {})
        r = subprocess.run([*self.prefix, program("atsctl"), *args], input=input, env=e,
                           timeout=timeout, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           cwd=cwd or self.ws)
        if code is not None and r.returncode != code:
            raise Failure("atsctl %s: exit %d, wanted %d\nstdout: %.2000r\nstderr: %.2000r" % (
                " ".join(args), r.returncode, code, r.stdout, r.stderr))
        return r

    def call(self, tool, code=0, **arguments):
        """atsctl --json call TOOL: the decoded answer."""
        r = self.ctl("--json", "call", tool, json.dumps(arguments), code=code)
        return json.loads(r.stdout)

    def start(self):
        """Starts a brain as a person would: by a first call. Returns its pid."""
        self.ctl("exec", "--", "true", code=0)
        return self.brain_pid()

    def brain_pid(self):
        """The process that listens on vault.sock (SO_PEERCRED), or None."""
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            s.connect(self.vault_path)
            cred = s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            return struct.unpack("iII", cred)[0]
        except OSError:
            return None
        finally:
            s.close()

    def pids(self, what):
        """Pids of this brain's processes whose command line or name holds what."""
        brain = self.brain_pid()
        return find(brain, what) if brain else []

    # clients
    def vault(self):
        v = Vault(self.vault_path)
        self.open_things.append(v)
        return v

    def register(self, workspace=None, key="name:test"):
        """(session id, sandbox id) of a workspace at the running brain."""
        v = self.vault()
        return tuple(v.ask("REGISTER", workspace or self.ws, key))

    def door(self, session=None, client=1):
        d = Door(self.door_path)
        self.open_things.append(d)
        if session:
            d.request("ats/session.attach", {"session": session, "client": str(client)})
        return d

    def mcp(self, *args, workspace=None):
        m = Mcp([*self.prefix, program("atsctl"), "mcp", "--workspace", workspace or self.ws,
                 *args], self.env, self.ws)
        self.open_things.append(m)
        return m

    # the end
    def show_log(self, last=60):
        try:
            with open(self.log_path, encoding="utf-8", errors="replace") as f:
                _diag("brain.log:")
                _diag("".join(f.readlines()[-last:]))
        except OSError:
            pass
        sandboxes = os.path.join(self.state, "ats", "sandbox")
        for root, _, files in os.walk(sandboxes):
            for name in files:
                if name == "hands.log":
                    with open(os.path.join(root, name), encoding="utf-8", errors="replace") as f:
                        _diag(os.path.join(root, name) + ":")
                        _diag("".join(f.readlines()[-last:]))

    def sanitizer_reports(self):
        """What the sanitizers' runtimes wrote into logs of this test. That LeakSanitizer could
        not look, since its process was being ended, is no finding."""
        found = []
        for root, _, files in os.walk(self.state):
            for name in files:
                if name.endswith(".log") or ".log." in name or name.startswith("san."):
                    with contextlib.suppress(OSError):
                        with open(os.path.join(root, name), encoding="utf-8",
                                  errors="replace") as f:
                            text = f.read()
                        m = re.search(r"^(?:==\d+==ERROR: |.*: runtime error: ).*", text, re.M)
                        if m:
                            found.append("%s: %s" % (name, text[m.start():m.start() + 3000]))
        return found

    def ours(self):
        """Every process that was started for this test: by its directories, and below those."""
        found = set()
        mark = self.dir.encode()
        me = os.getpid()
        for pid in parents():
            if pid == me:
                continue
            for name in ("cmdline", "environ"):
                with contextlib.suppress(OSError):
                    with open("/proc/%d/%s" % (pid, name), "rb") as f:
                        if mark in f.read():
                            found.add(pid)
        if found:
            found |= descendants(*found)
        found.discard(me)
        return {p for p in found if alive(p)}

    def close(self):
        """Ends all; returns what should have ended by itself and did not."""
        for thing in reversed(self.open_things):
            if isinstance(thing, subprocess.Popen):
                with contextlib.suppress(OSError):
                    thing.kill()
                thing.wait()
                for f in (thing.stdin, thing.stdout, thing.stderr):
                    if f:
                        f.close()
            else:
                thing.close()
        before = self.ours()
        if before and os.path.exists(self.vault_path):
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                self.ctl("shutdown", timeout=20)
        wait_gone(before, 10)
        # What a brain began while it was told to stop is killed with it, and dies in its time.
        left = sorted(wait_gone(self.ours(), 10))
        names = ["%d %s" % (p, cmdline(p)[:120] or comm(p)) for p in left]
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        wait_gone(left, 10)
        names += self.sanitizer_reports()
        shutil.rmtree(self.dir, ignore_errors=True)
        return names
