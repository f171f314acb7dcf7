#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sandbox.url exec: with programs that people use: ssh to a real sshd on loopback, and socat."""
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats
import far

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/bin")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def listens(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def serve_ssh(home):
    """A sshd of this test's own: (the process, the start of an ssh command line)."""
    d = os.path.join(home.dir, "ssh")
    os.mkdir(d, 0o700)
    for key in ("client", "host"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", d + "/" + key],
                       check=True)
    shutil.copy(d + "/client.pub", d + "/authorized_keys")
    port = free_port()
    with open(d + "/host.pub", encoding="ascii") as f:
        host_key = " ".join(f.read().split()[:2])
    with open(d + "/known", "w", encoding="ascii") as f:
        f.write("[127.0.0.1]:%d %s\n" % (port, host_key))
    with open(d + "/sshd_config", "w", encoding="ascii") as f:
        f.write("Port %d\nListenAddress 127.0.0.1\nHostKey %s/host\nStrictModes no\n"
                "AuthorizedKeysFile %s/authorized_keys\nPermitRootLogin prohibit-password\n"
                "PasswordAuthentication no\nUsePAM no\nPidFile none\n" % (port, d, d))
    os.makedirs("/run/sshd", exist_ok=True)
    with open(d + "/log", "wb") as log:
        daemon = home.popen(SSHD, "-D", "-e", "-f", d + "/sshd_config", stderr=log)
    ats.until(lambda: listens(port), "sshd listens")
    return daemon, ["/usr/bin/ssh", "-T", "-F", "none", "-o", "BatchMode=yes", "-p", str(port),
                    "-i", d + "/client", "-o", "IdentitiesOnly=yes",
                    "-o", "UserKnownHostsFile=" + d + "/known"]


def use(home, f, *argv, lost=None):
    """Tools, streams and a large file by that command; then its process dies in a call."""
    home.configure({"sandbox": {"url": "exec:far"}, "commands": {"far": list(argv)}})
    mcp = home.mcp()
    mcp.initialize()
    mcp.text("Write", file_path=home.ws + "/a.txt", content="one\n")
    ats.contains(mcp.text("Bash", command="cat a.txt; echo there"), "one\nthere")
    data = os.urandom(4 << 20)
    r = home.ctl("exec", "--", "cat", input=data, code=0)
    ats.check(r.stdout == data, "four MiB both ways")
    os.mkfifo(os.path.join(home.ws, "go"), 0o666)
    id = mcp.send("tools/call", {"name": "Bash", "arguments": {
        "command": "echo run >> ran; cat go; echo last"}})
    ats.until(lambda: os.path.exists(home.ws + "/ran"), "the call runs")
    lost()
    with open(os.path.join(home.ws, "go"), "w", encoding="ascii") as w:
        w.write("from outside\n")
    ats.equal(mcp.answer(id)["result"]["content"][0]["text"], "from outside\nlast")
    ats.equal(home.read("ran"), b"run\n")
    box = json.loads(home.ctl("--json", "sandbox", "ls").stdout)["sandboxes"][0]
    ats.equal((box["url"], box["state"]), ("exec:far", "ready"))
    home.ctl("shutdown", code=0)
    ats.check(f.proc.poll() is None, "hands is not brain's to end")


@ats.test("ssh and ats-hands attach, and the connection is killed in a call")
def _(home):
    if SSHD is None or not shutil.which("ssh"):
        ats.skip("no sshd or ssh: the package openssh-server")
    if os.geteuid() != 0:
        ats.skip("only root starts a sshd that lets root in")
    daemon, ssh = serve_ssh(home)
    f = far.Far(home)

    def lost():
        for pid in ats.descendants(daemon.pid):
            with contextlib.suppress(ProcessLookupError):   # its end was another's
                os.kill(pid, signal.SIGKILL)
    use(home, f, *ssh, "root@127.0.0.1", ats.program("ats-hands"), "attach", "--socket", f.path,
        lost=lost)


@ats.test("socat alone, and it is killed in a call")
def _(home):
    socat = shutil.which("socat")
    if socat is None:
        ats.skip("no socat: the package of that name")
    f = far.Far(home)
    use(home, f, socat, "-", "UNIX-CONNECT:" + f.path,
        lost=lambda: os.kill(home.pids("UNIX-CONNECT")[0], signal.SIGKILL))


ats.main()
