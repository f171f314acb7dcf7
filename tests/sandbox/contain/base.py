# SPDX-License-Identifier: Apache-2.0
"""What a check of the containment is, and how one is run and judged.

A check tries, inside a box, one thing that must not work: a shell text, mostly around the
program $TRY (attack.c). Before it a setup on the host, after it a verify on the host. What is
attacked is made for that check alone: a canary with a secret, a process with the same secret
in every place (target.c), a home, names in /tmp and /dev/shm.

  ESCAPED    verify says so, or the secret is in the output, or a line "escaped: ..."
  SKIP       there was nothing to try it on: "absent: ..." and no "refused: ..."
  ERROR      the text did not run at all
  CONTAINED  none of these

A check of use (usable=True) is the other way round: USABLE when it prints "usable", or BROKEN.
"""
import os
import secrets
import shutil
import signal
import socket
import subprocess
import threading
import time

CHECKS = []
OUTPUT_KEPT = 256 * 1024
DEADLINE = 20.0

# What every attack's text may call. Pid 1 counts as one above us only where it is the box's own.
PRELUDE = r"""
say() { echo "$1: $2"; }
try() { "$TRY" "$@"; r=$?; [ $r -le 128 ] || say refused "killed by signal $((r - 128))"; }
parent() { sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f2; }
above() {
	p=$PPID
	while [ "${p:-0}" -gt 1 ] && [ "$p" != "$RUNNER" ]; do echo "$p"; p=$(parent "$p"); done
	[ "$(cut -d' ' -f22 /proc/1/stat)" = "$HOST_INIT" ] || echo 1
} 2>/dev/null
cd "$WS" || exit 1
echo "begun"
"""


class Check:
    """mode: how the launcher is started: leak, pty, stdin, or poison (environment by setup).
    again: a second call's text, in the same state. quick: part of every test run."""

    def __init__(self, name, claim, attack, setup=None, verify=None, mode=None, again=None,
                 quick=False, usable=False, seconds=6):
        self.name, self.claim, self.attack = name, claim, attack
        self.setup, self.verify, self.mode, self.again = setup, verify, mode, again
        self.quick, self.usable, self.seconds = quick, usable, seconds
        CHECKS.append(self)


def check(name, claim, attack, **kw):
    return Check(name, claim, attack, **kw)


def usable(name, claim, attack, **kw):
    return Check(name, claim, attack, usable=True, **kw)


def quote(text):
    return "'%s'" % text.replace("'", "'\\''")


class Case:
    """One check being run. setup and verify get it; names are paths on the host and inside."""

    def __init__(self, check, base, programs, launch):
        self.check, self.programs, self.launch = check, programs, launch
        self.base = base
        self.ws, self.out = os.path.join(base, "ws"), os.path.join(base, "out")
        self.home, self.state = os.path.join(base, "home"), os.path.join(base, "state")
        self.secret = "SECRET-" + secrets.token_hex(12)
        self.id = secrets.token_hex(6)
        self.tmp_file, self.shm_file = "/tmp/ats-canary-" + self.id, "/dev/shm/ats-canary-" + self.id
        self.poison = {}
        self.text, self.bytes, self.elapsed, self.code = "", 0, 0.0, None

    # ---- for setup and verify ----
    def path(self, *names):
        return os.path.join(self.ws, *names)

    def write(self, name, text="host\n", mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)

    def read(self, name):
        """The text of a file, through no symlink's fault; "" when it is not there."""
        try:
            with open(self.path(name), encoding="utf-8", errors="replace") as f:
                return f.read()
        except OSError:
            return ""

    def host(self, *argv):
        subprocess.run(argv, cwd=self.ws, check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def got(self):
        """What the target wrote down. Two marks of ours come after all that came before: the
        target looks at every socket once between them."""
        path = os.path.join(self.out, "got")
        text = ""
        for mark in ("mark-1", "mark-2"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
                s.sendto(mark.encode(), os.path.join(self.out, "dsock"))
            end = time.monotonic() + DEADLINE
            while mark not in text and time.monotonic() < end:
                time.sleep(0.002)
                with open(path, encoding="utf-8", errors="replace") as f:
                    text = f.read()
        return text

    # ---- running ----
    def make(self):
        # What the last one shut is opened to its owner.
        if os.path.isdir(self.base):
            subprocess.run(["chmod", "-R", "u+rwx", self.base], check=False,
                           stderr=subprocess.DEVNULL)
        shutil.rmtree(self.base, ignore_errors=True)
        for d in (self.path(".try"), os.path.join(self.out, "dir"), self.home, self.state):
            os.makedirs(d)
        os.chmod(self.out, 0o700)
        for path in (os.path.join(self.out, "canary"), self.tmp_file, self.shm_file,
                     os.path.join(self.out, "dir", "name-" + self.secret)):
            with open(path, "w", encoding="utf-8") as f:
                f.write(self.secret + "\n")
        with open(os.path.join(self.out, "kept"), "w", encoding="utf-8") as f:
            f.write("kept\n")
        shutil.copy(self.programs["attack"], self.path(".try", "attack"))
        self.start_target()
        if self.check.setup:
            self.check.setup(self)
        self.script("run.sh", self.check.attack)
        if self.check.again:
            self.script("again.sh", self.check.again)

    def start_target(self):
        self.target = subprocess.Popen([self.programs["target"], self.out, self.ws],
                                       env={"TARGET_SECRET": self.secret},
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        env = os.path.join(self.out, "target.env")
        end = time.monotonic() + DEADLINE
        while not os.path.exists(env):
            if self.target.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the target did not start")
            time.sleep(0.002)
        with open(env, encoding="utf-8") as f:
            self.where = f.read()

    def script(self, name, text):
        with open("/proc/1/stat", encoding="utf-8") as f:
            init = f.read().rsplit(") ", 1)[1].split()[19]
        names = {"OUT": self.out, "WS": self.ws, "HOST_HOME": self.home, "HOST_INIT": init,
                 "TMP_FILE": self.tmp_file, "SHM_FILE": self.shm_file, "ID": self.id,
                 "RUNNER": str(os.getpid()), "TRY": self.path(".try", "attack")}
        with open(self.path(".try", name), "w", encoding="utf-8") as f:
            f.write("set -a\n%s" % self.where)
            f.write("".join("%s=%s\n" % (k, quote(v)) for k, v in names.items()))
            f.write("set +a\n%s%s\n" % (PRELUDE, text))

    def call(self, script):
        argv = self.launch(self) + ["/bin/bash", self.path(".try", script)]
        if self.check.mode == "leak":
            argv = [self.programs["target"], "leak", self.out] + argv
        elif self.check.mode == "pty":
            argv = [self.programs["target"], "pty"] + argv
        env = {"HOME": self.home, "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
               "DUMMY_CREDENTIAL": self.secret, **self.poison}
        start = time.monotonic()
        mask = os.umask(0)
        proc = subprocess.Popen(argv, env=env, cwd=self.ws, stderr=subprocess.STDOUT,
                                stdout=subprocess.PIPE, start_new_session=True,
                                stdin=subprocess.PIPE if self.check.mode == "stdin"
                                else subprocess.DEVNULL)
        os.umask(mask)
        if proc.stdin:
            proc.stdin.write(("STDIN-%s\n" % self.secret).encode())
            proc.stdin.close()
        alarm = DeadlineOf(proc)
        kept = b""
        while True:
            data = proc.stdout.read1(65536)
            if not data:
                break
            self.bytes += len(data)
            if len(kept) < OUTPUT_KEPT:
                kept += data
        self.code = proc.wait()
        alarm.done()
        self.elapsed = max(self.elapsed, time.monotonic() - start)
        self.text += kept.decode("utf-8", "replace")

    def judge(self):
        why = self.check.verify(self) if self.check.verify else None
        lines = [x.strip("\r") for x in self.text.splitlines()]
        found = {k: [x.split(": ", 1)[1] for x in lines if x.startswith(k + ": ")]
                 for k in ("escaped", "refused", "absent")}
        if "begun" not in lines:
            return "ERROR", "did not run (%s): %s" % (self.code, self.text[-300:])
        if self.check.usable:
            if found["absent"]:
                return "SKIP", found["absent"][0]
            good = "usable" in lines
            return ("USABLE", "") if good else ("BROKEN", " ".join(lines[-3:])[-200:])
        if why:
            return "ESCAPED", why
        if self.secret in self.text:
            return "ESCAPED", "the secret came out"
        if found["escaped"]:
            return "ESCAPED", "; ".join(found["escaped"][:3])
        if found["absent"] and not found["refused"]:
            return "SKIP", found["absent"][0]
        return "CONTAINED", "; ".join(found["refused"][:2])

    def run(self):
        """(verdict, why)"""
        try:
            self.make()
            self.call("run.sh")
            if self.check.again:
                self.call("again.sh")
            verdict = self.judge()
        except (OSError, RuntimeError) as e:
            verdict = "ERROR", "%s: %s" % (type(e).__name__, e)
        finally:
            self.end()
        return verdict

    def end(self):
        target = getattr(self, "target", None)
        if target:
            target.send_signal(signal.SIGKILL)
            target.wait()
        for path in (self.tmp_file, self.shm_file):
            try:
                os.unlink(path)
            except OSError:
                pass


class DeadlineOf:
    """Ends a process group that takes too long, so that a hang is a verdict, not a hang."""

    def __init__(self, proc):
        self.timer = threading.Timer(DEADLINE, self.fire, [proc])
        self.timer.start()

    @staticmethod
    def fire(proc):
        try:
            os.killpg(proc.pid, signal.SIGKILL)
        except OSError:
            pass

    def done(self):
        self.timer.cancel()
