#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workspaces that are not what one would like: other file systems, root's, full of sockets,
devices and setuid files."""
import contextlib
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile

from box import Box, OTHER_UID, USERS, ats

WORKER = r"63\d\d\d"     # ids that root gives to workers


def places(name, long=None):
    """A test of a directory of its own, for each user."""
    def register(fn):
        for uid in ats.some(USERS, long):
            def run(uid=uid):
                top = tempfile.mkdtemp(prefix="ats-place-")
                os.chmod(top, 0o755)
                mounted = []
                try:
                    fn(uid, top, mounted)
                finally:
                    for m in mounted:
                        subprocess.run(["umount", "-l", m], check=False)
                    shutil.rmtree(top, ignore_errors=True)
            ats.case("%s (uid %d)" % (name, os.geteuid() if uid is None else uid),
                     run, home=False)
        return fn
    return register


def mount(top, mounted, kind, options=""):
    """A new file system of that kind; skips where it cannot be had."""
    if os.geteuid() != 0:
        ats.skip("only root mounts")
    at = os.path.join(top, kind)
    os.mkdir(at)
    if kind == "overlay":
        for d in ("lower", "upper", "work"):
            os.mkdir(os.path.join(top, d))
        options = "lowerdir={0}/lower,upperdir={0}/upper,workdir={0}/work".format(top)
    r = subprocess.run(["mount", "-t", kind, *(["-o", options] if options else []), kind, at],
                       stderr=subprocess.PIPE, check=False)
    if r.returncode != 0:
        ats.skip("no %s here: %s" % (kind, r.stderr.decode().strip()))
    mounted.append(at)
    return at


def works(b):
    ats.equal(b.confinement["verified"], True, b.confinement)
    ats.equal(b.out("echo x > f && mkdir d && mv f d/g && cat d/g && rm -r d && echo gone"),
              "x\ngone")
    ats.check(not b.tool("Write", file_path="w", content="y").error)


@places("a workspace on another file system works")
def _(uid, top, mounted):
    ws = mount(top, mounted, "tmpfs", "size=4m,mode=755")
    with Box(uid, ws=ws) as b:
        works(b)
        ats.equal(os.stat(os.path.join(ws, "w")).st_uid, uid or os.geteuid())


@places("a workspace below /var/tmp works; that is no link to /tmp then")
def _(uid, _top, _mounted):
    with tempfile.TemporaryDirectory(prefix="ats-place-", dir="/var/tmp") as top:
        os.chmod(top, 0o755)
        with Box(uid, ws=os.path.join(top, "ws")) as b:
            works(b)
            ats.equal(b.out("pwd; ls /var/tmp; readlink /var/tmp || echo none"),
                      "%s\n%s\nnone" % (b.ws, os.path.basename(top)))
    with Box(uid) as b:
        ats.equal(b.out("readlink /var/tmp"), "../tmp")


@places("where ids cannot be mapped the owner's is used, and root's is refused")
def _(uid, top, mounted):
    ws = mount(top, mounted, "ramfs")
    if uid is not None:
        with Box(uid, ws=ws) as b:
            works(b)
        return
    os.chown(ws, OTHER_UID, OTHER_UID)
    with Box(None, ws=ws) as b:
        works(b)
        if "idmap" not in b.confinement["gaps"]:
            ats.skip("this kernel maps ids of ramfs")
        ats.equal(b.out("id -u"), str(OTHER_UID))
        ats.equal(os.stat(os.path.join(ws, "w")).st_uid, OTHER_UID)
    os.chown(ws, 0, 0)
    try:
        with Box(None, ws=ws):
            raise AssertionError("it started")
    except ats.Failure as e:
        ats.contains(str(e), "belongs to root")
        ats.contains(str(e), "give it to a user")


@places("a workspace of root's is worked in by another uid, and stays root's")
def _(uid, top, mounted):
    if uid is not None or os.geteuid() != 0:
        ats.skip("root's own")
    ws = os.path.join(top, "ws")
    os.mkdir(ws, 0o700)
    with open(os.path.join(ws, "a"), "w", encoding="ascii") as f:
        f.write("a")
    os.chmod(os.path.join(ws, "a"), 0o600)
    with Box(None, ws=ws) as b:
        works(b)
        ats.matches(b.out("cat a; id -u"), "^a%s$" % WORKER)
        st = os.stat(os.path.join(ws, "w"))
        ats.equal((st.st_uid, st.st_gid), (0, 0))


@places("a workspace that is named by a link is the directory")
def _(uid, top, mounted):
    os.mkdir(os.path.join(top, "real"))
    if uid is not None:
        os.chown(os.path.join(top, "real"), uid, uid)
    os.symlink("real", os.path.join(top, "link"))
    # Brain names what it has registered, resolved: a link there was put in its place later.
    try:
        with Box(uid, ws=os.path.join(top, "link")):
            raise AssertionError("it started")
    except ats.Failure as e:
        ats.contains(str(e), "symbolic link")


# Exchanges the names in its arguments until its parent ends.
EXCHANGE = """
import ctypes, os, sys
a, b = (os.fsencode(p) for p in sys.argv[1:3])
libc, parent = ctypes.CDLL(None), os.getppid()
print("ready", flush=True)
while os.getppid() == parent:
    for _ in range(1000):
        libc.renameat2(-100, a, -100, b, 2)
"""


@contextlib.contextmanager
def exchanged(a, b):
    """Another process exchanges two names all the time."""
    p = subprocess.Popen([sys.executable, "-c", EXCHANGE, a, b], stdout=subprocess.PIPE)
    try:
        p.stdout.readline()
        yield
    finally:
        p.kill()
        p.wait()
        p.stdout.close()


@places("a workspace exchanged with a link while a box starts is that workspace or none",
        long=ats.PARTLY)
def _(uid, top, mounted):
    sub, secret = os.path.join(top, "sub"), os.path.join(top, "secret")
    for d in (sub, secret):
        os.mkdir(d)
        if uid is not None:
            os.chown(d, uid, uid)
    for d, text in ((sub, "own"), (secret, "secret")):
        with open(os.path.join(d, "f"), "w", encoding="ascii") as f:
            f.write(text)
    os.symlink(secret, os.path.join(top, "link"))
    refused = 0
    with exchanged(sub, os.path.join(top, "link")):
        for _ in range(ats.rounds(12, 40)):
            try:
                with Box(uid, ws=sub, options=["min_level=none"]) as b:
                    ats.equal(b.confinement["level"], "namespaces")
                    ats.equal(b.tool("Read", file_path=sub + "/f").text.split()[-1], "own")
            except ats.Failure as e:
                ats.missing(str(e), "secret")
                ats.contains(str(e), "taken")
                refused += 1
    ats.check(refused > 0, "no start met the link")


@places("sockets, devices and setuid files in it give nothing")
def _(uid, top, mounted):
    ws = os.path.join(top, "ws")
    os.makedirs(os.path.join(ws, "deep"))
    held = []
    for i in range(40):
        s = socket.socket(socket.AF_UNIX)
        s.bind(os.path.join(ws, "s%d" % i) if i % 2 else os.path.join(ws, "deep/s%d" % i))
        s.listen(1)
        held.append(s)
    if os.geteuid() == 0:
        os.mknod(os.path.join(ws, "mem"), stat.S_IFCHR | 0o666, os.makedev(1, 1))
        os.mknod(os.path.join(ws, "null"), stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.mknod(os.path.join(ws, "disk"), stat.S_IFBLK | 0o666, os.makedev(7, 0))
    os.mkfifo(os.path.join(ws, "fifo"))
    shutil.copy("/usr/bin/id", os.path.join(ws, "id"))
    for at, dirs, files in os.walk(ws):
        for n in dirs + files + ["."]:
            p = os.path.join(at, n)
            os.chmod(p, os.stat(p).st_mode | 0o777)
            if uid is not None and n != "id":
                os.chown(p, uid, uid)
    os.chmod(os.path.join(ws, "id"), 0o6755)
    with Box(uid, ws=ws) as b:
        ats.equal(b.confinement["verified"], True, b.confinement)
        own = b.out("id -u")
        ats.equal(b.out("./id -u"), own)
        ats.equal(b.out("for f in mem null disk; do test -e $f && cat $f 2>&1 | head -c 1; done;"
                        " echo end").replace("cat: ", "")[-3:], "end")
        ats.missing(b.sh("echo x > null && echo written").text, "written")
        text = b.out("""python3 - <<'E'
import socket
n = 0
for i in range(40):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect("s%d" % i if i % 2 else "deep/s%d" % i)
        n += 1
    except OSError:
        pass
print("reached", n)
E""")
        ats.equal(text, "reached 0")
        ats.contains(b.tool("Read", file_path="fifo").text, "FIFO")
        # One that a tool makes is for its own use.
        ats.equal(b.out("python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.bind(\"own\");"
                        " s.listen(1); c=socket.socket(socket.AF_UNIX); c.connect(\"own\"); print(1)'"),
                  "1")
    for s in held:
        s.close()


ats.main()
