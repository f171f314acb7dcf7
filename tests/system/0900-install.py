#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make install honours DESTDIR and installs what packaging/manifest says."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats


def install(root, target="install"):
    r = subprocess.run(["make", "-s", "-C", ats.TOP, target, "BUILD=" + ats.BUILD,
                        "DESTDIR=" + root, "PREFIX=/usr"], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, check=False)
    ats.equal(r.returncode, 0, r.stdout.decode("utf-8", "replace"))


@ats.test("make install fills DESTDIR as the manifest says")
def _(home):
    root = os.path.join(home.dir, "root")
    install(root)
    found = sorted(os.path.relpath(os.path.join(d, f), root)
                   for d, _, files in os.walk(root) for f in files)
    with open(os.path.join(ats.TOP, "packaging", "manifest"), encoding="utf-8") as f:
        wanted = sorted(line.strip() for line in f if line.strip() and line[0] != "#")
    ats.equal(found, wanted)
    install(root, "uninstall")
    ats.equal([f for _, _, files in os.walk(root) for f in files], [])


@ats.test("what was installed runs wherever it stands")
def _(home):
    root = os.path.join(home.dir, "root")
    install(root)
    ctl = os.path.join(root, "usr", "bin", "atsctl")
    p = home.popen(ctl, "exec", "--", "echo", "here", stdout=subprocess.PIPE,
                   stderr=subprocess.PIPE)
    out, err = p.communicate(timeout=30)
    ats.equal((p.returncode, out), (0, b"here\n"), err)
    r = subprocess.run([ctl, "--json", "doctor"], env=home.env, stdout=subprocess.PIPE, check=False)
    ats.equal([d["state"] for d in json.loads(r.stdout)["dependencies"]][:3], ["on"] * 3)


ats.main()
