#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ats-brain under a service manager: sockets by LISTEN_FDS, readiness by NOTIFY_SOCKET. The
manager is played by this test; the units themselves are read by systemd-analyze where it is."""
import os
import shutil
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import ats  # noqa: E402

UNITS = os.path.join(os.path.dirname(__file__), "..", "..", "packaging", "systemd")
# Keys of ours that older managers do not know and say so, with the version that knows them.
SINCE = {b"DelegateSubgroup": 254}


def listeners(runtime):
    os.makedirs(runtime, mode=0o700, exist_ok=True)
    out = []
    for name, kind in (("brain.sock", socket.SOCK_STREAM), ("vault.sock", socket.SOCK_SEQPACKET)):
        s = socket.socket(socket.AF_UNIX, kind)
        s.bind(os.path.join(runtime, name))
        s.listen(16)
        out.append(s)
    return out


def start(home, socks, notify):
    """Execs ats-brain as systemd does: descriptors from 3 on, LISTEN_PID of the process."""
    env = dict(home.env, NOTIFY_SOCKET=notify)

    def child():
        # Out of the way first: they may stand where another must go.
        high = [os.dup2(s.fileno(), 100 + i) for i, s in enumerate(socks)]
        for i, fd in enumerate(high):
            os.dup2(fd, 3 + i)
    code = ('import os, sys; os.environ["LISTEN_PID"] = str(os.getpid()); '
            'os.environ["LISTEN_FDS"] = sys.argv[1]; os.execv(sys.argv[2], sys.argv[2:])')
    return subprocess.Popen([sys.executable, "-c", code, str(len(socks)),
                             ats.program("ats-brain"), "--foreground"], env=env,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, preexec_fn=child,
                            pass_fds=[3 + i for i in range(len(socks))])


@ats.test("sockets of the manager are served, and kept when brain ends")
def _(home):
    runtime = os.path.join(home.env["XDG_RUNTIME_DIR"], "ats")
    socks = listeners(runtime)
    path = os.path.join(home.dir, "notify")
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(path)
    notify.settimeout(10)
    p = start(home, socks, path)
    try:
        ats.equal(notify.recv(100), b"READY=1\n")
        r = home.ctl("--no-start", "exec", "--", "echo", "served", code=0)
        ats.equal(r.stdout, b"served\n")
        home.ctl("shutdown")
        p.wait(10)
        ats.equal(p.returncode, 0)
        ats.equal(sorted(x for x in os.listdir(runtime) if x in ("brain.sock", "vault.sock")),
                  ["brain.sock", "vault.sock"])
    finally:
        if p.poll() is None:
            p.kill()
        p.wait()
        p.stderr.close()
        for s in socks + [notify]:
            s.close()


@ats.test("other descriptors than the two sockets are refused by name")
def _(home):
    runtime = os.path.join(home.env["XDG_RUNTIME_DIR"], "ats")
    socks = listeners(runtime)
    for given in (socks[:1], [socks[0], socks[0]]):
        p = start(home, given, "")
        err = p.communicate(timeout=10)[1]
        ats.equal(p.returncode, 1)
        ats.check(b"socket activation" in err, err)
    for s in socks:
        s.close()


@ats.test("the units are what systemd reads")
def _(home):
    if not shutil.which("systemd-analyze"):
        ats.skip("no systemd-analyze here")
    prefix = os.path.join(home.dir, "root")
    shutil.copytree(UNITS, os.path.join(prefix, "etc/systemd/user"))
    user = [os.path.join(prefix, "etc/systemd/user", u)
            for u in ("ats-brain.socket", "ats-brain.service")]
    system = [os.path.join(prefix, "etc/systemd/user", "ats-hands@.service")]
    version = subprocess.run(["systemd-analyze", "--version"], stdout=subprocess.PIPE).stdout
    too_new = [key for key, since in SINCE.items() if int(version.split()[1]) < since]
    for argv in (["--user"] + user, system):
        r = subprocess.run(["systemd-analyze", "--man=no", "verify"] + argv, env=home.env,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        # The programs are not installed on this machine; that is all that may be said.
        lines = [x for x in r.stdout.splitlines()
                 if (b"ats-" in x or b"Failed" in x) and b"is not executable" not in x and
                 not any(b"Unknown key '%s'" % key in x for key in too_new)]
        ats.equal(lines, [])


if __name__ == "__main__":
    ats.main()
