# SPDX-License-Identifier: Apache-2.0
"""A machine: a root of Debian whose first process is the systemd that is in it, in namespaces of its
own and below a control group of its own (cgroup v2), without a network. Nothing of it is seen, or
left, outside. As a program it is that machine's start: machine.py ROOT CGROUP, an error on stdout."""
import atexit
import ctypes
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

# Variables of the environment that may name a root of a suite.
GIVEN = {"bookworm": "ATS_SYSTEMD_ROOT", "trixie": "ATS_SYSTEMD13_ROOT"}
BOOT_SECONDS = 60
END_SECONDS = 20
PREFIX = "ats-machine-"
# systemd writes these where it finds them: they are the kernel's, not the machine's.
MASKED = ("systemd-sysctl.service", "systemd-modules-load.service", "systemd-udevd.service",
          "systemd-random-seed.service", "sys-kernel-debug.mount", "sys-kernel-tracing.mount",
          "sys-fs-fuse-connections.mount", "dev-hugepages.mount")
# As systemd-nspawn: not in the bounding set of the first process, and so of none.
DROPPED = {"sys_module": 16, "sys_rawio": 17, "sys_time": 25, "mac_override": 32, "mac_admin": 33,
           "syslog": 34, "wake_alarm": 35, "block_suspend": 36}


# ---- the start, in the new namespaces -------------------------------------------------------

BIND, REC, PRIVATE, SHARED, RDONLY = 1 << 12, 1 << 14, 1 << 18, 1 << 20, 1
PR_CAPBSET_DROP = 24
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}


def _done(libc, result, what):
    if result < 0:
        sys.exit("%s: %s" % (what, os.strerror(ctypes.get_errno())))


def _devices(dev):
    for name, a, b in (("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8),
                       ("urandom", 1, 9), ("tty", 5, 0)):
        os.mknod(dev + "/" + name, 0o666 | stat.S_IFCHR, os.makedev(a, b))
        os.chmod(dev + "/" + name, 0o666)
    os.symlink("pts/ptmx", dev + "/ptmx")
    for name in ("shm", "pts"):
        os.mkdir(dev + "/" + name)


def _start(top):
    """Becomes the machine's systemd. Everything that it cannot do it says before that."""
    libc = ctypes.CDLL(None, use_errno=True)

    def mount(what, where, kind, flags=0):
        _done(libc, libc.mount(what, where.encode(), kind, flags, None), "mount " + where)

    mount(None, "/", None, REC | PRIVATE)
    mount(top.encode(), top, None, BIND | REC)
    mount(b"proc", top + "/proc", b"proc")
    mount(b"sysfs", top + "/sys", b"sysfs", RDONLY)
    mount(b"cgroup2", top + "/sys/fs/cgroup", b"cgroup2")
    for name in ("dev", "run"):
        mount(b"tmpfs", "%s/%s" % (top, name), b"tmpfs")
    _devices(top + "/dev")
    os.chdir(top)
    _done(libc, libc.syscall(SYS_PIVOT_ROOT[os.uname().machine], b".", b"."), "pivot_root")
    _done(libc, libc.umount2(b".", 2), "umount")
    os.chdir("/")
    # As on a machine: what is mounted for a unit outside of it (its credentials) is seen in it.
    mount(None, "/", None, REC | SHARED)
    for name, number in DROPPED.items():
        _done(libc, libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0), name)
    os.execve("/lib/systemd/systemd", ["systemd", "--system", "--log-target=journal"],
              {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "container": "other", "LC_ALL": "C"})


if __name__ == "__main__":
    _start(sys.argv[1])


# ---- from outside ---------------------------------------------------------------------------

import debian_root  # noqa: E402
from debian_root import ats  # noqa: E402


class Cgroups:
    """The tree of cgroup v2 as this process sees it, in a mount that only our descriptor holds, and one
    group in it. What an earlier run that was killed has left goes, too."""

    def __init__(self):
        at = tempfile.mkdtemp(prefix="ats-cgroup-")
        try:
            r = subprocess.run(["mount", "-t", "cgroup2", "cgroup2", at], capture_output=True,
                               check=False, text=True)
            if r.returncode != 0:
                ats.skip("no cgroup v2 here: " + r.stderr.strip())
            self.fd = os.open(at, os.O_RDONLY | os.O_DIRECTORY)
            subprocess.run(["umount", "--lazy", at], check=True)
        finally:
            os.rmdir(at)
        self.top = "/proc/%d/fd/%d" % (os.getpid(), self.fd)
        self.group = os.path.join(self.top, PREFIX + str(os.getpid()))
        try:
            for name in os.listdir(self.top):
                if name.startswith(PREFIX):
                    self._remove(os.path.join(self.top, name))
            os.mkdir(self.group)
        except OSError as e:
            os.close(self.fd)
            ats.skip("no control group can be made here: %s" % e)

    @staticmethod
    def _remove(group):
        """False while somebody lives there."""
        for path, _, _ in os.walk(group, topdown=False):
            try:
                os.rmdir(path)
            except OSError:
                return False
        return True

    def close(self):
        try:
            # The dead are out of their groups a moment after they were waited for.
            ats.until(lambda: not os.path.isdir(self.group) or self._remove(self.group),
                      "the machine's control groups are empty", END_SECONDS)
        finally:
            os.close(self.fd)


class Machine:
    """A copy of the root that made(NAME, SUITE, ...) has, booted. Skips where a machine cannot."""

    def __init__(self, base):
        self.proc = self.groups = None
        self.top = tempfile.mkdtemp(prefix="ats-root-")
        atexit.register(self.close)
        # tests/run says so before it kills.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        self.groups = Cgroups()
        subprocess.run(["cp", "-a", "--reflink=auto", base + "/.", self.top], check=True)
        for unit in MASKED:
            self._link("/dev/null", "/etc/systemd/system/" + unit)
        self._link("/lib/systemd/system/multi-user.target", "/etc/systemd/system/default.target")
        self._boot()

    def _link(self, to, name):
        if os.path.lexists(self.top + name):
            os.unlink(self.top + name)
        os.symlink(to, self.top + name)

    def _boot(self):
        inner = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--net", "--cgroup", "--fork",
                 "--kill-child", sys.executable, os.path.abspath(__file__), self.top]
        self.proc = subprocess.Popen(
            ["sh", "-c", "echo $$ > \"$1/cgroup.procs\" && shift && exec \"$@\"", "sh",
             self.groups.group, *inner],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        ats.until(lambda: self.proc.poll() is not None or self._inits(), "systemd is started",
                  BOOT_SECONDS)
        if self.proc.poll() is not None:
            ats.skip("no machine can be started here: " + self.proc.stderr.read().strip())
        (self.init,) = self._inits()
        # From here on it is no fault of where we are. It answers some time later, and says when it
        # is done with its start.
        ats.until(lambda: self.sh("systemctl is-system-running --wait", check=False).stdout.strip()
                  in ("running", "degraded"), "systemd comes up", BOOT_SECONDS)
        ats.equal(self.sh("systemctl --failed --plain --no-legend").stdout, "")

    def _inits(self):
        return [p for p, above in ats.parents().items()
                if above == self.proc.pid and ats.comm(p) == "systemd"]

    def put(self, files, folder):
        os.makedirs(self.top + folder)
        for name in files:
            shutil.copy(name, self.top + folder)

    def write(self, path, text, mode=0o644):
        """A file of root's in the machine."""
        os.makedirs(os.path.dirname(self.top + path), exist_ok=True)
        with open(self.top + path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.top + path, mode)

    def argv(self, script):
        return ["nsenter", "--target", str(self.init), "--mount", "--pid", "--ipc", "--uts", "--net",
                "--cgroup", "--root", "env", "-i", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME=/root", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive", "SYSTEMD_PAGER=",
                "sh", "-euc", "cd /; " + script]

    def sh(self, script, check=True, timeout=90):
        """What root types there. stdout and stderr are one."""
        r = subprocess.run(self.argv(script), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=timeout, text=True, check=False)
        if check:
            ats.equal(r.returncode, 0, "%s\n%s" % (script, r.stdout[-3000:]))
        return r

    def has(self, path):
        return os.path.lexists(self.top + path)

    def close(self):
        if self.proc is not None:
            self.proc.kill()            # and with it the first process there, so all
            self.proc.wait()
            self.proc.stderr.close()
            self.proc = None
        if self.groups is not None:
            self.groups.close()
            self.groups = None
        shutil.rmtree(self.top, ignore_errors=True)


def booted(suite, packages):
    """A Machine of that suite with these packages of Debian in it."""
    if os.geteuid() != 0:
        ats.skip("needs root for a machine")
    if os.uname().machine not in SYS_PIVOT_ROOT:
        ats.skip("the number of pivot_root")
    for program in ("unshare", "nsenter", "mount"):
        if not shutil.which(program):
            ats.skip("no %s here" % program)
    return Machine(debian_root.made("systemd-" + suite, suite, packages, GIVEN[suite]))
