#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every step of the confinement, made to fail, in every situation: nothing runs, or the step was
not one of that situation and the box is as strong as without the failure. Never a weaker one."""
import os
import shutil

from stages import ALL, ats, helper

DENY = helper("deny")
# Number of the call, its name, the situations that do without it.
NS = ("namespaces",)
CALLS = (
    (155, "pivot_root", ("uid+landlock", "landlock")),
    (165, "mount", ("uid+landlock", "landlock")),
    (166, "umount2", ("uid+landlock", "landlock")),
    (272, "unshare", ("uid+landlock", "landlock")),
    (428, "open_tree", ("uid+landlock", "landlock")),
    (429, "move_mount", ("uid+landlock", "landlock")),
    (442, "mount_setattr", ("uid+landlock", "landlock")),
    (112, "setsid", ("namespaces", "uid+landlock", "landlock")),    # it may be one already
    (302, "prlimit64", ()),
    (157, "prctl", ()),
    (116, "setgroups", ("landlock", "user")),
    (119, "setresgid", ("landlock", "user")),
    (117, "setresuid", ("landlock", "user")),
    (126, "capset", ()),
    (444, "landlock_create_ruleset", NS),
    (445, "landlock_add_rule", ()),
    (446, "landlock_restrict_self", ()),
    (317, "seccomp", ()),
    (436, "close_range", ()),
    (322, "execveat", ()),
)


def hold(stage, number, name, without):
    kind = "user" if stage.level == "namespaces" and stage.uid is not None else stage.level
    try:
        b = stage.box(DENY, str(number), "1")
    except ats.Failure as e:
        text = str(e)
        ats.check(any(w in text for w in ("confinement_", "not permitted", "not be")), text)
        return
    with b:
        v = b.confinement
        ats.check(kind in without or stage.level in without,
                  "a box without %s: %s; %s" % (name, v, b.log()))
        ats.equal((v["level"], v["verified"]), (stage.level, True))
        r = b.sh("echo ran")
        ats.check(r.text == "ran" or "was not started" in r.text, r.text)


for stage in ats.some(ALL):
    def run(stage=stage):
        for row in CALLS:
            hold(stage, *row)
    ats.case("a step that fails is the end of what it confines (%s)" % stage.name, run,
             home=False)


# The worker's own last steps: the call that fails inside, by the name of the step.
@ats.test("a monitor that cannot be confined says at which step", home=False, long=ats.PARTLY)
def _():
    for number, step in ((446, "landlock"), (317, "seccomp"), (126, "caps")):
        for stage in ats.some(ALL, ats.PARTLY):
            try:
                b = stage.box(DENY, str(number), "1")
            except ats.Failure as e:
                ats.contains(str(e), step)
                continue
            with b:
                raise ats.Failure("%s: a box without %s" % (stage.name, step))


try:
    ats.main()
finally:
    shutil.rmtree(os.path.dirname(DENY))
