#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packaging/container/podman-sandbox by itself, with a podman that only notes what it is asked: a
broken engine writes what it wants on the script's input, and gets no container but its own and no
directory but those that were named."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ats

SCRIPT = os.path.join(ats.TOP, "packaging", "container", "podman-sandbox")
BOX = "b-0123456789ab"
# Notes its arguments; "run" makes the socket where the second mount leads.
PODMAN = """#!/usr/bin/env python3
import json, sys
with open(%r, "a", encoding="utf-8") as f:
    f.write(json.dumps(sys.argv[1:]) + "\\n")
if sys.argv[1] == "run":
    at = [a for a in sys.argv if a.endswith(",target=/run/ats-hands")][0]
    open(at.split("source=")[1].split(",")[0] + "/hands.sock", "w").close()
"""


class Rig:
    def __init__(self, home):
        self.home, self.log = home, home.dir + "/asked"
        self.boxes, self.podman = home.dir + "/boxes", home.dir + "/podman"
        os.mkdir(self.boxes)
        with open(self.podman, "w", encoding="utf-8") as f:
            f.write(PODMAN % self.log)
        os.chmod(self.podman, 0o755)

    def run(self, step, line, *more):
        """(exit status, stdout, stderr, what podman was asked)"""
        with open(self.log, "w", encoding="utf-8"):
            pass
        r = subprocess.run([SCRIPT, step, *more], input=line + "\n", capture_output=True, text=True,
                           env={**self.home.env, "ATS_PODMAN": json.dumps([self.podman])}, timeout=60,
                           check=False)
        with open(self.log, encoding="utf-8") as f:
            return r.returncode, r.stdout, r.stderr, [json.loads(x) for x in f]

    def build(self, **order):
        line = {"version": 1, "sandbox": BOX, "workspace": self.home.ws, "generation": 7, "keep": [],
                **order}
        return self.run("build", json.dumps(line), self.boxes, "tools", self.home.dir)


@ats.test("what brain writes makes one container, with the workspace and the socket's directory")
def _(home):
    r = Rig(home)
    os.mkdir(r.boxes + "/ats-%s-6" % BOX)
    os.mkdir(r.boxes + "/ats-%s-5" % BOX)
    os.mkdir(r.boxes + "/other")
    code, out, err, asked = r.build(keep=["ats-%s-6" % BOX])
    ats.equal((code, err), (0, ""))
    name = "ats-%s-7" % BOX
    ats.equal(json.loads(out), {"version": 1, "id": name,
                                "url": "unix:%s/%s/hands.sock" % (r.boxes, name)})
    ats.equal([a[0] for a in asked], ["ps", "run"])
    ats.equal([a for a in asked[1] if a.startswith("type=")], [
        "type=bind,source=%s,target=%s" % (home.ws, home.ws),
        "type=bind,source=%s/%s,target=/run/ats-hands" % (r.boxes, name)])
    ats.contains(asked[1], "none")
    ats.equal(sorted(os.listdir(r.boxes)), ["ats-%s-6" % BOX, name, "other"])
    for step in ("probe", "destroy"):
        code, _out, err, asked = r.run(step, json.dumps({"version": 1, "id": name}))
        ats.equal((code, err), (0, ""))
        for a in asked:
            ats.check(a[-1] in (name, "name=^%s$" % name), a)


@ats.test("what no brain writes is refused before podman is asked")
def _(home):
    r = Rig(home)
    os.symlink("/etc", home.dir + "/etc")
    os.mkdir(home.dir + "/a,readonly")
    for order in ({"workspace": "/"}, {"workspace": "/etc"}, {"workspace": home.dir},
                  {"workspace": home.dir + "/etc"}, {"workspace": home.ws + "/../../.."},
                  {"workspace": home.dir + "/none"}, {"workspace": home.dir + "/a,readonly"},
                  {"workspace": home.ws + "\n"}, {"workspace": "--privileged"}, {"workspace": 1},
                  {"sandbox": "../../x"}, {"sandbox": BOX + "\n"}, {"sandbox": "b-x --privileged"},
                  {"sandbox": None}, {"generation": "7 --privileged"}):
        code, out, err, asked = r.build(**order)
        ats.check(code != 0 and out == "" and err != "", order)
        ats.equal(asked, [], order)
    ats.equal(os.listdir(r.boxes), [])
    for step in ("probe", "destroy"):
        for id in ("postgres", "--all", "-a", "ats-%s-1 postgres" % BOX, "", 5, "ats-.*"):
            code, out, err, asked = r.run(step, json.dumps({"version": 1, "id": id}))
            ats.check(code != 0 and out == "" and err != "", id)
            ats.equal(asked, [], id)


ats.main()
