# SPDX-License-Identifier: Apache-2.0
"""An empty Debian 12 with nothing but what the packages depend on, in BUILD/debian-root: made once,
copied for each test. ATS_DEBIAN_ROOT names one that is there already."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

# Becomes the first process of the root: a plain chroot would forbid user namespaces.
_ENTER = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def do(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "mount")
top = sys.argv[1].encode()
BIND, REC, PRIVATE = 1 << 12, 1 << 14, 1 << 18
do(libc.mount(None, b"/", None, REC | PRIVATE, None))
do(libc.mount(top, top, None, BIND | REC, None))
do(libc.mount(b"proc", top + b"/proc", b"proc", 0, None))
do(libc.mount(b"/dev", top + b"/dev", None, BIND | REC, None))
do(libc.mount(b"tmpfs", top + b"/run", b"tmpfs", 0, None))
os.chdir(top)
do(libc.syscall(155, b".", b"."))
do(libc.umount2(b".", 2))
os.chdir("/")
os.execve("/bin/sh", ["sh", "-eu", *sys.argv[2:]], {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"})
"""


def depends(debs):
    """The first of each alternative that the packages need, without one another."""
    own = {os.path.basename(d).split("_")[0] for d in debs}
    out = set()
    for deb in debs:
        said = subprocess.run(["dpkg-deb", "-f", deb, "Depends"], stdout=subprocess.PIPE,
                              check=True, text=True).stdout
        for one in said.replace("\n", " ").split(","):
            name = one.split("|")[0].split("(")[0].strip()
            if name and name not in own:
                out.add(name)
    return sorted(out)


def made(name, suite, packages, given):
    """A minimal root of that suite in BUILD/name, made once; skips where none can be made. given:
    the variable of the environment that may name one."""
    if os.environ.get(given):
        return os.environ[given]
    top = os.path.join(ats.BUILD, name)
    want = "\n".join(packages)
    mark = top + ".packages"
    if os.path.isdir(top) and os.path.exists(mark):
        with open(mark, encoding="ascii") as f:
            if f.read() == want:
                return top
    if not shutil.which("mmdebstrap"):
        ats.skip("no mmdebstrap here, and no " + given)
    shutil.rmtree(top, ignore_errors=True)
    r = subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase",
                        *(["--include=" + ",".join(packages)] if packages else []), suite, top],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if r.returncode != 0:
        shutil.rmtree(top, ignore_errors=True)
        ats.skip("no Debian root can be made: " + r.stdout.strip().splitlines()[-1])
    with open(mark, "w", encoding="ascii") as f:
        f.write(want)
    return top


def base(debs):
    """The directory of the root that is copied."""
    return made("debian-root", "bookworm", depends(debs), "ATS_DEBIAN_ROOT")


class Root:
    """A copy with the files put below /packages."""

    def __init__(self, debs):
        if os.geteuid() != 0:
            ats.skip("needs root for a root directory")
        if os.uname().machine != "x86_64":
            ats.skip("the number of pivot_root")
        self.top = tempfile.mkdtemp(prefix="ats-debian-")
        subprocess.run(["cp", "-a", "--reflink=auto", base(debs) + "/.", self.top], check=True)
        os.mkdir(self.top + "/packages")

    def put(self, debs, folder):
        os.mkdir(os.path.join(self.top, "packages", folder))
        for deb in debs:
            shutil.copy(deb, os.path.join(self.top, "packages", folder))

    def run(self, script, timeout=120):
        """Runs it with sh -eu as the first process of the root; everything ends with it."""
        r = subprocess.run(["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork",
                            "--kill-child", sys.executable, "-c", _ENTER, self.top, "-c", script],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=timeout, check=False, text=True)
        return r.returncode, r.stdout

    def close(self):
        shutil.rmtree(self.top, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
