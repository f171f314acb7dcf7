#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Protected names where the usual way does not work: repositories that are shut or whose call is
killed, more than can be remembered, no inotify, and names that cannot be put back."""
import os
import resource
import signal
import subprocess
import sys

from place import BARE, ats, each
from roles import processes, roles

ENDS = r"could not be put back; hands\.log names it\. This sandbox ends"


def need_root():
    if os.geteuid() != 0:
        ats.skip("needs root to make files of another user's")


def monitor_of(b, name):
    """The monitor of the call that runs a program of that name."""
    table = processes(b)
    pid = next((pid for pid, s in table.items() if s["Name"] == name), None)
    monitors = roles(b).get("monitor", ())
    while pid in table and pid not in monitors:
        pid = int(table[pid]["PPid"])
    return pid if pid in table else None


def ended(b):
    b.proc.wait(30)
    ats.contains(b.log(), "cannot be put back: the box ends")


# ---- repositories that a call makes ------------------------------------------------------------
@each("a repository that a call makes and shuts is looked at all the same")
def _(p):
    with p.box() as b:
        b.sh("git init -q . && echo evil > .git/hooks/pre-commit && chmod 000 .git")
        ats.equal(b.out("echo alive"), "alive")
        os.chmod(p.path(".git"), 0o755)
        ats.check(os.path.isdir(p.path(".git/objects")))
        ats.check(not os.path.lexists(p.path(".git/hooks/pre-commit")))


@each("a repository of which a part is shut is moved aside")
def _(p):
    with p.box() as b:
        text = b.sh("git init -q . && mkdir -p .git/modules/a/hooks && "
                    "echo x > .git/modules/a/HEAD "
                    "&& echo evil > .git/modules/a/hooks/pre-commit && chmod 000 .git/modules").text
        ats.contains(text, "quarantine")
        ats.check(not os.path.lexists(p.path(".git")))
        os.chmod(p.path(".git.quarantine/modules"), 0o755)
        ats.equal(b.out("echo alive"), "alive")


@each("a repository of a call whose monitor was killed is looked at as well")
def _(p):
    with p.box() as b:
        call = b.start("Bash", command="git init -q .; echo evil > .git/hooks/pre-commit; "
                       "exec sleep 60")
        os.kill(ats.until(lambda: monitor_of(b, "sleep"), "it is made"), signal.SIGKILL)
        b.wait(call)
        ats.until(lambda: not os.path.lexists(p.path(".git/hooks/pre-commit")), "moved aside")
        ats.check(os.path.isdir(p.path(".git/objects")))


# ---- more than is remembered ---------------------------------------------------------------------
def dig(p, name, depth):
    """name/d/d/d..."""
    os.makedirs(p.path(name + "/d" * depth))


@each("no command runs where not each name can be put back", BARE)
def _(p):
    dig(p, ".claude", 40)
    with p.box() as b:
        ats.contains(b.confinement["gaps"], "nested-repositories")
        r = b.sh("echo ran")
        ats.contains(r.text, "cannot be looked through as a whole")
        ats.missing(r.text, "ran\n")
        ats.check(not b.tool("Write", file_path=p.path("a"), content="x").error)


@each("... because there are too many, and runs again when they are gone", BARE)
def _(p):
    p.write(".claude/a")
    with p.box() as b:
        ats.missing(b.confinement["gaps"], "nested-repositories")
        ats.equal(b.out("echo on"), "on")
        deep = "%s/%s" % (p.path(".claude"), "/".join(["x" * 200] * 17))
        os.makedirs(deep)
        for i in range(700):
            os.mkdir("%s/%0100d" % (deep, i))
        r = b.sh("echo ran")
        ats.contains(r.text, "protected names")
        ats.missing(r.text, "ran\n")
        # The kernel tells nothing of what is below the name: the call itself looks.
        subprocess.run(["rm", "-rf", p.path(".claude/" + "x" * 200)], check=True)
        ats.equal(b.out("echo on"), "on")


@each("a file that is too large to be put back is a gap, and not left changed", BARE)
def _(p):
    p.write(".claude/big", "x" * (2 << 20))
    p.write(".claude/settings.json")
    with p.box() as b:
        ats.contains(b.confinement["gaps"], "protected-contents")
        ats.contains(b.sh("echo evil >> .claude/big; echo evil > .claude/settings.json").text,
                     "quarantine")
        ats.equal(p.read(".claude/settings.json"), "host\n")
        ats.check(not os.path.exists(p.path(".claude/big")))
    ats.equal(os.path.getsize(p.path(".claude.quarantine/big")), (2 << 20) + 5)


@each("small ones are no gap")
def _(p):
    p.write(".claude/settings.json")
    with p.box() as b:
        for gap in ("protected-contents", "protected-late", "nested-repositories"):
            ats.missing(b.confinement["gaps"], gap)


# ---- inotify -------------------------------------------------------------------------------------
_EXHAUST = """
import ctypes, os, sys
uid, libc, n = int(sys.argv[1]), ctypes.CDLL(None), 0
if uid != os.geteuid():
    os.setresuid(uid, uid, uid)
while libc.inotify_init() >= 0:
    n += 1
print(n, flush=True)
sys.stdin.read()
"""


@each("where inotify is used up names are noticed late, and the report says so", users=True)
def _(p):
    uid = os.geteuid() if p.uid is None else p.uid
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        hog = subprocess.Popen([sys.executable, "-c", _EXHAUST, str(uid)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with hog:
        n = int(hog.stdout.readline())
        with open("/proc/sys/fs/inotify/max_user_instances", encoding="ascii") as f:
            if n > int(f.read()) or n + 8 > hard:
                ats.skip("the limit of inotify's instances cannot be reached")
        p.write(".git/HEAD")
        p.write(".git/config")
        with p.box() as b:
            ats.contains(b.confinement["gaps"], "protected-late")
            # While it runs, too.
            call = b.start("Bash", command="echo evil > .envrc; exec sleep 60")
            ats.until(lambda: os.path.exists(p.path(".envrc.quarantine")), "moved aside")
            b.link.send("control.cancel", call, {})
            b.wait(call)
            ats.contains(b.sh("echo evil > .mcp.json; true").text, "quarantine")
            ats.check(not os.path.exists(p.path(".mcp.json")))
            # The user's is the user's, and held from the next call on.
            p.write(".mcp.json")
            if p.uid is not None:
                os.chown(p.path(".mcp.json"), p.uid, p.uid)
            b.sh("sleep 0.3; echo evil > .mcp.json")
            ats.equal(p.read(".mcp.json"), "host\n")
        hog.stdin.close()


# ---- names that cannot be put back --------------------------------------------------------
@each("a name that was made and cannot be moved aside ends the box, in words")
def _(p):
    need_root()
    if not ats.set_immutable(p.ws, True):
        ats.skip("no immutable directories here")
    ats.set_immutable(p.ws, False)
    os.mkfifo(p.path("go"))
    try:
        with p.box() as b:
            b.out("true")
            zygote = roles(b)["zygote-shell"][0]
            os.kill(zygote, signal.SIGSTOP)     # or it is moved before that is impossible
            call = b.start("Bash", command="echo evil > .mcp.json; cat go; echo printed")
            ats.until(lambda: os.path.exists(p.path(".mcp.json")), "made")
            ats.set_immutable(p.ws, True)
            os.kill(zygote, signal.SIGCONT)
            with open(p.path("go"), "w", encoding="ascii"):
                pass
            ats.matches(b.wait(call).text, r"printed\n(.*\n)*.*" + ENDS)
            ended(b)
    finally:
        ats.set_immutable(p.ws, False)
    # What is there now is looked at by who reads hands.log; another box starts.
    with p.box() as b:
        ats.equal(b.out("echo on"), "on")


@each("a name that was changed and cannot be put back ends the box, in words", BARE)
def _(p):
    need_root()
    p.write(".git/HEAD")
    p.write(".git/config")
    os.chmod(p.path(".git/config"), 0o666)
    os.chmod(p.path(".git"), 0o1777)
    with p.box(strange=(".git", ".git/config")) as b:
        r = b.sh("echo evil > .git/config; echo printed")
        ats.matches(r.text, r"printed\n(.*\n)*.*" + ENDS)
        ended(b)


ats.main()
