#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The static file: its size, and that an empty root directory is enough for it."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

MIB = 1000 * 1000

# Becomes the first process of an empty root, as uid: argv is directory, uid, program...
_ENTER = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def do(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "mount")
top, uid = sys.argv[1].encode(), int(sys.argv[2])
do(libc.mount(None, b"/", None, (1 << 18) | (1 << 14), None))
do(libc.mount(top, top, None, 1 << 12 | 1 << 14, None))
os.chdir(top)
do(libc.syscall(155, b".", b"."))
do(libc.umount2(b".", 2))
os.chdir("/")
if uid:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
os.execve(sys.argv[3], sys.argv[3:], {})
"""


class Empty:
    """hands as pid 1 of a root directory that holds it, a workspace and a place for a socket."""

    def __init__(self, uid, *argv, proc=False):
        if os.geteuid() != 0:
            ats.skip("needs root for the empty root directory")
        if os.uname().machine != "x86_64":
            ats.skip("the number of pivot_root")
        self.top = tempfile.mkdtemp(prefix="ats-empty-")
        shutil.copy(ats.program("ats-hands"), self.top)
        os.chmod(self.top, 0o755)
        for d in ("ws", "sockets", *(["proc", "state"] if uid else [])):
            os.mkdir(os.path.join(self.top, d))
            os.chown(os.path.join(self.top, d), uid, uid)
        self.sock = self.top + "/sockets/s"
        self.log_path = self.top + "/log"
        mount = ["--mount-proc=" + self.top + "/proc"] if proc else []
        with open(self.log_path, "ab") as log:
            self.proc = subprocess.Popen(
                ["unshare", "--mount", "--pid", "--fork", "--kill-child", *mount,
                 sys.executable, "-c", _ENTER, self.top, str(uid), "/ats-hands", *argv],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def __enter__(self):
        return self

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def __exit__(self, kind, *_):
        if kind is not None:
            print("# log: %s" % self.log().replace("\n", "\n# "))
        below = ats.descendants(self.proc.pid)
        self.proc.kill()
        self.proc.wait()
        ats.wait_gone(below, 10)
        shutil.rmtree(self.top, ignore_errors=True)


LISTEN = ("--listen", "unix:/sockets/s", "--workspace", "/ws")


@ats.test("one static file, at most 7 MiB", home=False)
def _():
    if ats.SANITIZED:
        ats.skip("the sanitizers' runtimes are not static")
    path = ats.program("ats-hands")
    said = subprocess.run(["file", "-L", path], capture_output=True, check=True).stdout
    ats.contains(said, b"statically linked")
    # 4 of them are TLS; a build with TLS=no has 2.5.
    ats.check(os.path.getsize(path) <= 7 * MIB, os.path.getsize(path))


@ats.test("an empty root directory, as root: mounts what is missing, then namespaces", home=False)
def _():
    if ats.SANITIZED:
        ats.skip("the sanitizers' runtimes are not static")
    with Empty(0, *LISTEN) as e:
        link = ats.Link.connect_when_up(e.sock, e.proc)
        _, ready = link.hello_as_brain()
        c = ready.json["confinement"]
        ats.equal((c["level"], c["verified"]), ("namespaces", True), c)
        for path in ("/proc", "/dev", "/dev/shm", "/tmp", "/run"):
            ats.contains(e.log(), "path=%s\n" % path)
        for n, (tool, given) in enumerate((
                ("Write", {"file_path": "f", "content": "here\n"}),
                ("Read", {"file_path": "f"}), ("Grep", {"pattern": "here"}),
                ("Glob", {"pattern": "*"})), 1):
            link.send("call.tool", n, {"name": tool, "input": given, "ctx": {"cwd": "/ws"},
                                       "deadline_ms": 9000, "session": "s-000000000001"})
            f = link.expect("result", call=n)
            ats.check(not f.json.get("is_error"), f.payload)
        link.send("call.tool", 9, {"name": "Bash", "input": {"command": "echo"},
                                   "ctx": {"cwd": "/ws"}, "deadline_ms": 9000,
                                   "session": "s-000000000001"})
        f = link.expect("result", call=9)
        ats.matches(f.payload.decode(), "bash: command not found")
        link.close()
    with Empty(0, "--probe") as e:
        ats.check(e.proc.wait(20) in (0, 1), e.log())      # 1: it has no cgroups, say
        ats.contains(e.log(), '"level":"namespaces"')


@ats.test("an empty root directory, as a user: with /proc Landlock, without it nothing",
          home=False)
def _():
    if ats.SANITIZED:
        ats.skip("the sanitizers' runtimes are not static")
    argv = (*LISTEN, "--state-dir", "/state", "--option", "min_level=landlock")
    with Empty(1000, *argv) as e:
        ats.equal(e.proc.wait(20), 125, e.log())
        ats.contains(e.log(), "/proc is not mounted")
    with Empty(1000, *argv, proc=True) as e:
        link = ats.Link.connect_when_up(e.sock, e.proc)
        _, ready = link.hello_as_brain()
        ats.equal(ready.json["confinement"]["level"], "landlock", e.log())
        link.close()
    with Empty(1000, *LISTEN, "--option", "min_level=landlock") as e:
        ats.check(e.proc.wait(20) != 0, e.log())
        ats.contains(e.log(), "--state-dir")


ats.main()
