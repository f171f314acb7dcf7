#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Without namespaces: own uids with Landlock, or Landlock alone, and only when allowed."""
import os
import shutil
import stat
import tempfile

from bare import KINDS, ROOT, bare
from box import Box, ats


@bare("the level is told and verified")
def _(b, level):
    ats.equal(b.confinement["level"], level)
    ats.equal(b.confinement["verified"], True, b.confinement)
    ats.contains(b.confinement["gaps"], "metadata")


@bare("tools work")
def _(b, level):
    ats.equal(b.out("echo x > f; cat f; touch ~/h $TMPDIR/t && echo ok"), "x\nok")
    ats.contains(b.tool("Read", file_path="f").text, "x")
    ats.check(not b.tool("Write", file_path="g", content="y").error)
    ats.equal(b.execute(["cat", "g"]), (("exit", 0), b"y", b""))


@bare("outside is out of reach")
def _(b, level):
    secret = os.path.join(b.top, "secret")
    with open(secret, "w", encoding="ascii") as f:
        f.write("canary")
    os.chmod(secret, 0o666)
    for command in ("cat %s" % secret, "echo > %s" % secret, "ls /tmp", "ls /root /home",
                    "cat /proc/1/environ", "ls /proc", "kill -0 1", "touch /etc/x",
                    "exec 3<>/dev/tcp/127.0.0.1/22", "unshare -U true"):
        r = b.sh(command)
        ats.check(r.error, "%s: %s" % (command, r.text))
        ats.missing(r.text, "canary")


@bare("a call's processes end with it, others go on")
def _(b, level):
    other = b.start("Bash", command="until [ -e go ]; do sleep 0.01; done; echo went")
    r = b.sh("sleep 1000 & setsid sleep 1001 & (sleep 1002 &); kill -9 -1; echo done")
    ats.contains(r.text, "done")
    b.sh("touch go")
    ats.equal(b.wait(other).text, "went")
    ats.check(not [p for p in b.processes() if ats.comm(p) == "sleep"], "left")


@bare("the end of the launcher is the end of all")
def _(b, level):
    b.start("Bash", command="setsid sleep 1000 & sleep 1000")
    b.out("true")
    below = b.processes()
    b.proc.kill()
    ats.wait_gone(below, 10)


@ats.test("a level below min_level is refused with the reason and the remedy", home=False)
def _():
    if os.geteuid() != 0:
        ats.skip("needs root to set the stage")
    for level, uid, prefix in KINDS:
        for asked in ("namespaces",) + (("uid+landlock",) if level == "landlock" else ()):
            box = None
            try:
                box = Box(uid, ("min_level=" + asked,), prefix=prefix)
            except ats.Failure as e:
                ats.contains(str(e), "confinement_unavailable")
                ats.contains(str(e), "remedy")
            ats.check(box is None, "a box at %s though %s was asked" % (level, asked))


def as_root(name):
    """A test for a container's root."""
    def register(fn):
        def run():
            if os.geteuid() != 0:
                ats.skip("needs root to set the stage")
            fn()
        ats.test(name, home=False)(run)
    return register


LEVEL = ("min_level=uid+landlock", "limits=check")
CLOSED = ("/bin/sh", "-c", "for a; do [ \"$p\" = --state-dir ] && chmod 700 \"${a%/*}\"; p=$a; "
          "done; exec \"$@\"", "sh")


@as_root("a box's user id is its own, and that of its next start")
def _():
    seen = set()
    for _ in range(5):
        with Box(None, LEVEL, prefix=ROOT) as b:
            uid = int(b.out("id -u"))
            ats.check(63000 <= uid < 64000, uid)
            ats.equal(os.stat(b.ws).st_uid, uid)
            ats.equal(os.stat(b.state + "/home").st_uid, uid)
        seen.add(uid)
    ats.check(len(seen) > 1, "five boxes have the id %s" % seen)


@as_root("a state directory that others do not reach stays closed, home and tmp are elsewhere")
def _():
    ws = tempfile.mkdtemp(prefix="ats-open-")
    own = None
    try:
        os.chmod(ws, 0o755)
        with Box(None, LEVEL, ws=ws, prefix=(*ROOT, *CLOSED)) as b:
            mode = os.stat(b.state).st_mode
            home, tmp = b.out("echo x > ~/f; cat ~/f > $TMPDIR/t; echo $HOME $TMPDIR").split()
            own = os.path.dirname(home)
            ats.matches(own, "^/(var/lib/ats-hands|run/ats-hands-state)/[0-9a-f]{16}$")
            ats.equal(os.path.dirname(tmp), own)
            ats.contains(b.tool("Read", file_path=home + "/f").text, "x")
            ats.equal(b.confinement["verified"], True)
            ats.equal((stat.S_IMODE(os.stat(b.top).st_mode), os.stat(b.state).st_mode),
                      (0o700, mode))
            ats.equal(stat.S_IMODE(os.stat(own).st_mode), 0o711)
    finally:
        shutil.rmtree(ws, ignore_errors=True)
        if own is not None:
            shutil.rmtree(own, ignore_errors=True)


ats.main()
