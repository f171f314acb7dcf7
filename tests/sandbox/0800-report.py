#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What hands says of its confinement, in each situation: all of it, and nothing that is not so.
A layer that only seems to be there is found by the self-test, and then nothing runs."""
import os
import shutil

from box import Box, OTHER_UID, USERS, ats
from stages import ALL, BARE, helper, refused

KERNEL, DENY = helper("kernel"), helper("deny")
FIELDS = {"level", "verified", "fs", "net", "pid", "uid", "landlock_abi", "seccomp", "limits",
          "protected", "gaps", "tests"}
MAN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/man/ats-hands.8")


def each(name, stages=ALL):
    def register(fn):
        for stage in ats.some(stages):
            def run(stage=stage):
                with stage.box() as b:
                    fn(b, stage.level)
            ats.case("%s (%s)" % (name, stage.name), run, home=False)
        return fn
    return register


@each("the vector has every field, before and after the self-test")
def _(b, level):
    first, v = b.hello.json["confinement"], b.confinement
    ats.equal(first["verified"], False)
    ats.equal(FIELDS - {"limits", "tests"} - set(first), set())
    ats.equal(set(v), FIELDS)
    ats.equal((v["verified"], v["level"]), (True, level))
    ats.equal(v["tests"]["failed"], 0)
    ats.check(v["tests"]["passed"] >= 18, v["tests"])
    ats.matches(v["seccomp"], r"^shell[a-z-]*-[0-9a-f]{12}$")
    view = level == "namespaces"
    ats.equal((v["fs"], v["net"], v["pid"]),
              ("view", "netns", "ns") if view else ("landlock", "seccomp", "landlock"))
    ats.equal(v["protected"], "ro" if view else "restore")
    ats.check({"pids", "mem", "disk"} <= set(v["limits"]), v["limits"])


@each("the gaps are those that can be seen from inside")
def _(b, level):
    gaps = set(b.confinement["gaps"])
    secret = os.path.join(b.top, "secret")
    with open(secret, "w", encoding="ascii"):
        pass
    # stat: whether a file that cannot be read is there.
    ats.equal("stat" in gaps, b.out("[ -e %s ] && echo there; true" % secret) == "there")
    # dev-shm: a place in shared memory.
    ats.equal("dev-shm" in gaps, b.sh("echo > /dev/shm/x").error)
    # metadata: a mode, of a file of the worker's own user.
    if b.uid is not None:
        os.chown(secret, b.uid, b.uid)
        b.sh("chmod 0700 %s" % secret)
        ats.equal("metadata" in gaps, os.stat(secret).st_mode & 0o777 == 0o700)
    ats.equal({"metadata", "stat", "inotify", "dev-shm"} & gaps,
              set() if level == "namespaces" else {"metadata", "stat", "inotify", "dev-shm"})
    ats.missing(gaps, "metadata-ip")
    with open(MAN, encoding="utf-8") as f:
        text = f.read()
    for gap in gaps:
        ats.contains(text, ".It Cm %s\n" % gap)


# A call that says it did what it did not: number, the check that notices, where. The last one: of
# those that name a place by its path, not by a descriptor.
LIES = (("446", "landlock_restrict_self", "abstract-socket|signal|state|workspace|write-outside",
         ALL),
        ("317/1", "seccomp", "filter|status|sockets|userns", ALL),
        ("442/80000000", "read-only mounts of readers", "read-only",
         [s for s in ALL if s.level == "namespaces"]))
for number, what, check, where in LIES:
    for stage in where:
        def lie(number=number, check=check, stage=stage):
            refused(stage, "confinement_failed", "self-test of a (shell|read|write) worker: .*(%s)"
                    % check, DENY, number, "0")
        ats.test("without %s the self-test fails by name (%s)" % (what, stage.name),
                 home=False)(lie)


# ---- an older Landlock, or none --------------------------------------------------------------
@ats.test("without Landlock namespaces say so, the other levels are refused", home=False)
def _():
    for uid in USERS:
        with Box(uid, prefix=(DENY, "444", "38")) as b:
            ats.equal((b.confinement["verified"], b.confinement["landlock_abi"]), (True, 0))
            ats.contains(b.confinement["gaps"], "landlock")
            ats.equal(b.out("echo x > f; cat f"), "x")
    for stage in BARE:
        refused(stage, "confinement_unavailable", "landlock: .*ABI 0 .*remedy: boot Linux",
                DENY, "444", "38")


@ats.test("an older Landlock: what it cannot do is a gap, or refused", home=False)
def _():
    for uid in USERS:
        with Box(uid, prefix=(KERNEL, "4")) as b:
            ats.equal((b.confinement["verified"], b.confinement["landlock_abi"]), (True, 4))
            ats.contains(b.confinement["gaps"], "landlock-scopes")
        refused(ALL[0], "confinement_unavailable", "net=host needs 6; remedy: .*6.12", KERNEL, "5",
                options=("net=host",))
    for stage in BARE:
        least = 6 if stage.level == "landlock" else 3
        refused(stage, "confinement_unavailable", "needs %d; remedy: boot Linux 6" % least, KERNEL,
                str(least - 1))
        with stage.box(KERNEL, str(least)) as b:
            ats.equal((b.confinement["verified"], b.confinement["landlock_abi"]), (True, least))


@ats.test("level none: only by that word, and told", home=False)
def _():
    for stage in BARE:
        with stage.box(DENY, "444", "38", level="none") as b:
            v = b.confinement
            ats.equal((v["level"], v["fs"], v["verified"]), ("none", "none", True))
            ats.contains(v["gaps"], "files")
            ats.matches(b.out("echo x > f; cat f; id -u"), r"^x\n%s$" % (b.uid or r"63\d\d\d"))
            ats.contains(b.tool("Read", file_path="f").text, "x")
            # What is left of it.
            ats.check(b.sh("exec 3<>/dev/tcp/127.0.0.1/1").error)
            ats.check(b.sh("unshare -U true").error)


try:
    ats.main()
finally:
    for p in (KERNEL, DENY):
        shutil.rmtree(os.path.dirname(p), ignore_errors=True)
